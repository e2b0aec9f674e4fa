#include "geometry/hyperplanes.hpp"

#include <gtest/gtest.h>

#include <Eigen/QR>
#include <numbers>

#include "aligned_pairs.hpp"
#include "scenes.hpp"
#include "tests/geometry/solids.hpp"

namespace dodyn::geometry::test_hyperplanes {
namespace {

template <int n>
struct Pair {
  Polytope<n> k1, k2;
  Frame<n> f1, f2;

  Contact<n> contact() const {
    Basis<n> basis;
    return contact(basis);
  }
  Contact<n> contact(Basis<n>& basis) const {
    Contact<n> c;
    find_contact(k1, f1, k2, f2, basis, c);
    return c;
  }
  Contact<n> contact(const Vector<n>& beta) const {
    Contact<n> c;
    std::array<Basis<n>, 2> basis;
    find_contact(k1, f1, k2, f2, beta, basis, c);
    return c;
  }
};

template <int n>
Pair<n> random_pair(Random& random, int corners1, int corners2, double distance = 1.0) {
  return {random_polytope<n>(random, corners1),
          random_polytope<n>(random, corners2),
          {random_vector<n>(random, distance), random_rotation<n>(random)},
          {random_vector<n>(random, distance), random_rotation<n>(random)}};
}

Frame<3> at(double x, double y, double z, const Matrix<3>& directors = Matrix<3>::Identity()) {
  return {{x, y, z}, directors};
}

Matrix<3> turn(double angle, const Vector<3>& axis) {
  return Eigen::AngleAxisd(angle, axis.normalized()).toRotationMatrix();
}

// Both kinds of corners are on their supporting planes, the multipliers are convex weights, and h = -g beta.
template <int n>
void expect_optimal(const Pair<n>& p, const Contact<n>& c) {
  EXPECT_NEAR(c.alpha.dot(c.beta), 1.0, 1e-12);
  double a1 = 1e300, a2 = -1e300;
  for (const auto& v : p.k1.corners()) a1 = std::min(a1, c.alpha.dot(p.f1(v)));
  for (const auto& v : p.k2.corners()) a2 = std::max(a2, c.alpha.dot(p.f2(v)));
  const double tolerance = 1e-8 * c.alpha.norm();
  EXPECT_NEAR(a1 - a2, -c.gap, tolerance);
  EXPECT_LT((c.separation() + c.gap * c.beta).norm(), tolerance);
  for (int side = 0; side < 2; ++side) {
    if (c.feature_size[side] > max_listed) continue;
    double sum = 0.0;
    Vector<n> arm = Vector<n>::Zero();
    for (int i = 0; i < c.feature_size[side]; ++i) {
      EXPECT_GE(c.dual[side][i], 0.0);
      sum += c.dual[side][i];
      const Vector<n> v = (side == 0 ? p.k1 : p.k2).corner(c.vertex[side][i]);
      arm += c.dual[side][i] * v;
      EXPECT_NEAR(c.alpha.dot((side == 0 ? p.f1 : p.f2)(v)), side == 0 ? a1 : a2, tolerance);
    }
    EXPECT_NEAR(sum, 1.0, 1e-12);
    EXPECT_LT((arm - c.arm[side]).norm(), 1e-12);
  }
}

template <int n>
void expect_brute_force_value(int pairs, int corners1, int corners2) {
  Random random(1);
  for (int i = 0; i < pairs; ++i) {
    const auto p = random_pair<n>(random, corners1, corners2);
    const auto c = p.contact();
    const BruteForce<n> brute(p.k1, p.f1, p.k2, p.f2);
    EXPECT_NEAR(-c.gap, brute.along(c.beta), 1e-11 * c.alpha.norm());
    if (std::abs(c.normal_gap()) > 1e-9) {
      EXPECT_EQ(c.gap<0.0, brute.slab()> 0.0);
    }
    expect_optimal(p, c);
  }
}

TEST(Hyperplanes, ValueIsThatOfBruteForceInThePlane) {
  expect_brute_force_value<2>(2000, 3, 3);
  expect_brute_force_value<2>(1000, 8, 5);
}

TEST(Hyperplanes, ValueIsThatOfBruteForceInSpace) {
  expect_brute_force_value<3>(2000, 4, 4);
  expect_brute_force_value<3>(300, 8, 12);
  expect_brute_force_value<3>(3, 60, 40);
}

// Neighbours of a tiling have every degenerate contact: face on face, edge on edge, corner on corner, touching or not.
TEST(Hyperplanes, DegenerateContactsHaveTheBruteForceValue) {
  const auto cube = box(1.0, 1.0, 1.0);
  const auto prism = regular_prism(6, 0.5, 1.0);
  const auto pyramid = square_pyramid(1.0, 1.0);
  const std::vector<Polytope<3>> shapes{cube, prism, pyramid, octahedron(1.0)};
  const std::vector<Matrix<3>> turns{Matrix<3>::Identity(), turn(std::numbers::pi / 2, {0, 0, 1}),
                                     turn(std::numbers::pi / 4, {0, 0, 1}), turn(std::numbers::pi, {1, 0, 0}),
                                     turn(2.0 * std::numbers::pi / 3, {1, 1, 1})};
  int checked = 0;
  for (const auto& k1 : shapes)
    for (const auto& k2 : shapes)
      for (const auto& r : turns)
        for (double x : {-0.5, 0.0, 0.5, 1.0})
          for (double y : {0.0, 0.5, 1.0})
            for (double z : {0.25, 1.0}) {
              const Pair<3> p{k1, k2, at(x, y, z, r), at(0.0, 0.0, 0.0)};
              const auto c = p.contact();
              EXPECT_NEAR(-c.gap, (BruteForce<3>(p.k1, p.f1, p.k2, p.f2).along(c.beta)), 1e-11 * c.alpha.norm());
              expect_optimal(p, c);
              ++checked;
            }
  EXPECT_EQ(checked, 4 * 4 * 5 * 24);
}

// Compares derivatives with central differences with respect to each coordinate. Directors with one varied coordinate
// are no rotation matrix. Returns the number of compared derivatives.
template <int n, class Evaluate>
int expect_gradients(Pair<n> p, const Evaluate& evaluate) {
  const Contact<n> c = evaluate(p);
  constexpr double h = 1e-6;
  int checked = 0;
  for (int side = 0; side < 2; ++side) {
    const auto d = gradient(c, side);
    Frame<n>& f = side == 0 ? p.f1 : p.f2;
    for (int i = 0; i < Contact<n>::coordinates; ++i) {
      double& q = i < n ? f.position[i] : f.directors(i % n, i / n - 1);
      const double keep = q;
      q = keep + h;
      const Contact<n> up = evaluate(p);
      q = keep - h;
      const Contact<n> down = evaluate(p);
      q = keep;
      const auto same = [&](const Contact<n>& other) {  // a kink in between has no derivative
        for (int s = 0; s < 2; ++s)
          if (other.feature_size[s] != c.feature_size[s] ||
              !std::equal(c.vertex[s].begin(), c.vertex[s].begin() + c.feature_size[s], other.vertex[s].begin()))
            return false;
        return true;
      };
      if (!same(up) || !same(down)) continue;
      ++checked;
      EXPECT_NEAR(d[i], (up.gap - down.gap) / (2.0 * h), 1e-7 * (1.0 + c.alpha.squaredNorm() * (1.0 + std::abs(c.gap))))
          << "side " << side << " coordinate " << i;
    }
  }
  return checked;
}

template <int n>
void expect_gradients(int corners1, int corners2) {
  Random random(2);
  int checked = 0, possible = 0;
  for (int i = 0; i < 100; ++i) {
    auto p = random_pair<n>(random, corners1, corners2);
    if (i % 3 == 0) p.f1.directors += 0.1 * random_rotation<n>(random);
    if (i % 3 == 1) p.f2.directors += 0.1 * random_rotation<n>(random);
    if (p.contact().alpha.norm() > 20.0) continue;
    checked += expect_gradients<n>(p, [](const Pair<n>& q) { return q.contact(); });
    const Vector<n> beta = p.f2.directors.transpose() * (p.f1.position - p.f2.position).normalized();
    if (p.contact(beta).alpha.norm() > 20.0) continue;
    checked += expect_gradients<n>(p, [&](const Pair<n>& q) { return q.contact(beta); });
    possible += 4 * Contact<n>::coordinates;
  }
  EXPECT_GT(checked, 0.95 * possible);
}

TEST(Hyperplanes, GradientInThePlane) { expect_gradients<2>(4, 6); }
TEST(Hyperplanes, GradientInSpace) {
  expect_gradients<3>(4, 4);
  expect_gradients<3>(8, 12);
}

// Returns dg/dq for a rigid body, P_int^T dg/dq (section 3.2.4): the derivative with respect to [translation; rotation],
// the rotation in world axes about the body's position.
template <int n>
Eigen::VectorXd twist_gradient(const Contact<n>& c, int side, const Matrix<n>& directors) {
  const auto q = gradient(c, side);
  Eigen::VectorXd d = Eigen::VectorXd::Zero(n == 2 ? 3 : 6);
  d.template head<n>() = q.template head<n>();
  for (int k = 0; k < n; ++k) {
    const Vector<n> director = directors.col(k), f = q.template segment<n>(n * (k + 1));
    if constexpr (n == 2)
      d[2] += director[0] * f[1] - director[1] * f[0];
    else
      d.template tail<3>() += director.cross(f);
  }
  return d;
}

// Expects no net force and no net moment on the pair, so that every response conserves momentum (section 3.3.3). This
// is true in degenerate contact too, where the gradient is not unique.
template <int n>
void expect_balance(const Pair<n>& p, const Contact<n>& c) {
  const auto d1 = twist_gradient(c, 0, p.f1.directors), d2 = twist_gradient(c, 1, p.f2.directors);
  EXPECT_LT((d1.template head<n>() + d2.template head<n>()).norm(), 1e-13 * (1.0 + c.alpha.norm()));
  const Vector<n> x = p.f1.position - p.f2.position, f = d1.template head<n>();
  const double size = 1.0 + x.norm() + c.arm[0].norm() + c.arm[1].norm();
  const double tolerance = 1e-12 * size * c.alpha.norm() * c.alpha.norm();
  if constexpr (n == 2)
    EXPECT_LT(std::abs(x[0] * f[1] - x[1] * f[0] + d1[2] + d2[2]), tolerance);
  else
    EXPECT_LT((x.cross(f) + d1.template tail<3>() + d2.template tail<3>()).norm(), tolerance);
}

TEST(Hyperplanes, ForcesAndMomentsBalance) {
  Random random(5);
  for (int i = 0; i < 500; ++i) {
    const auto plane = random_pair<2>(random, 4, 6);
    expect_balance(plane, plane.contact());
    const auto space = random_pair<3>(random, 5, 9);
    expect_balance(space, space.contact());
    expect_balance(space, space.contact(Vector<3>::UnitZ()));
  }
}

TEST(Hyperplanes, RigidMotionSwapAndScale) {
  Random random(6);
  for (int i = 0; i < 300; ++i) {
    const auto p = random_pair<3>(random, 4 + i % 9, 8);
    const auto c = p.contact();
    const double tolerance = 1e-12 * c.alpha.norm();

    const Frame<3> move{random_vector<3>(random), random_rotation<3>(random)};
    auto moved = p;
    for (Frame<3>* f : {&moved.f1, &moved.f2}) *f = {move(f->position), move.directors * f->directors};
    const auto m = moved.contact();
    EXPECT_NEAR(m.gap, c.gap, tolerance);
    EXPECT_LT((m.alpha - move.directors * c.alpha).norm(), tolerance * c.alpha.norm());
    EXPECT_LT((m.arm[0] - c.arm[0]).norm(), tolerance * c.alpha.norm());

    const auto s = Pair<3>{p.k2, p.k1, p.f2, p.f1}.contact();
    EXPECT_NEAR(s.gap, c.gap, tolerance);
    EXPECT_LT((gradient(s, 0) - gradient(c, 1)).norm(), tolerance * c.alpha.norm());

    for (const double scale : {1e-3, 1e3}) {
      const Frame<3> grow{Vector<3>::Zero(), scale * Matrix<3>::Identity()};
      const auto g = Pair<3>{p.k1.moved(grow),
                             p.k2.moved(grow),
                             {scale * p.f1.position, p.f1.directors},
                             {scale * p.f2.position, p.f2.directors}}
                         .contact();
      EXPECT_NEAR(g.gap, scale * c.gap, scale * tolerance);
      EXPECT_LT((g.alpha - c.alpha).norm(), tolerance * c.alpha.norm());
    }
  }
}

TEST(Hyperplanes, AnyBasisIsAStart) {
  Random random(7);
  std::uniform_int_distribution<int> any(-3, 40);
  for (int i = 0; i < 1000; ++i) {
    const auto p = random_pair<3>(random, 12, 20);
    Basis<3> cold, wild;
    const auto c = p.contact(cold);
    wild.size = static_cast<std::int16_t>(1 + i % 3);
    for (int k = 0; k < 3; ++k) {
      wild.first[k] = static_cast<std::int16_t>(any(random));
      wild.second[k] = static_cast<std::int16_t>(any(random));
    }
    EXPECT_NEAR(p.contact(wild).gap, c.gap, 1e-12 * c.alpha.norm());
    Contact<3> again;
    EXPECT_EQ(find_contact(p.k1, p.f1, p.k2, p.f2, cold, again), 1);  // warm: one pass over the corners
    EXPECT_EQ(again.gap, c.gap);
    EXPECT_EQ(again.alpha, c.alpha);
  }
}

TEST(Hyperplanes, AnyBasisIsAStartOfTheDistance) {
  Random random(18);
  std::uniform_int_distribution<int> any(-30000, 30000);
  for (int i = 0; i < 200; ++i) {
    const auto p = random_pair<3>(random, 12, 20, 2.0);
    Basis<3> cold, wild;
    wild.size = static_cast<std::int16_t>(1 + i % 3);
    for (int k = 0; k < 3; ++k) {
      wild.first[k] = static_cast<std::int16_t>(any(random));
      wild.second[k] = static_cast<std::int16_t>(any(random));
    }
    EXPECT_NEAR(find_distance(p.k1, p.f1, p.k2, p.f2, wild).distance,
                find_distance(p.k1, p.f1, p.k2, p.f2, cold).distance, 1e-12);
  }
}

TEST(Hyperplanes, ContactTypes) {
  const auto cube = box(1.0, 1.0, 1.0);
  const Matrix<3> on_edge = turn(std::numbers::pi / 4, {1, 0, 0});
  const Matrix<3> on_corner = turn(std::acos(1 / std::sqrt(3.0)), {1, -1, 0});  // the diagonal upwards
  const double edge = std::numbers::sqrt2 / 2, corner = std::sqrt(3.0) / 2;
  const auto feature = [&](const Matrix<3>& upper, const Matrix<3>& lower, double height) {
    const auto c = Pair<3>{cube, cube, at(0.0, 0.0, height, upper), at(0.0, 0.0, 0.0, lower)}.contact();
    EXPECT_NEAR(c.gap, 0.0, 1e-12);
    return c.feature;
  };
  using F = Feature;
  using Type = std::array<Feature, 2>;
  const Matrix<3> flat = Matrix<3>::Identity(), other_edge = turn(std::numbers::pi / 2, {0, 0, 1}) * on_edge;
  EXPECT_EQ(feature(flat, flat, 1.0), (Type{F::face, F::face}));
  EXPECT_EQ(feature(on_edge, flat, 0.5 + edge), (Type{F::edge, F::face}));
  EXPECT_EQ(feature(flat, on_corner, 0.5 + corner), (Type{F::face, F::vertex}));
  EXPECT_EQ(feature(on_edge, on_edge, 2 * edge), (Type{F::edge, F::edge}));
  EXPECT_EQ(feature(on_edge, other_edge, 2 * edge), (Type{F::edge, F::edge}));
  EXPECT_EQ(feature(on_edge, on_corner, edge + corner), (Type{F::edge, F::vertex}));
  EXPECT_EQ(feature(on_corner, on_corner, 2 * corner), (Type{F::vertex, F::vertex}));
  EXPECT_EQ((Pair<2>{rectangle(1, 1), rectangle(1, 1), {{0.3, 1.0}}, {}}.contact().feature), (Type{F::edge, F::edge}));
}

// Two tetrahedra, corner on face: one multiplier that is not zero against three (Johnson 2013, L888).
TEST(Hyperplanes, CornerOnFaceHasOneAndThreeMultipliers) {
  const Polytope<3> tetrahedron({{1, 0, 0}, {-0.5, 0.9, 0}, {-0.5, -0.8, 0}, {0.1, 0.05, 1}});
  const auto c =
      Pair<3>{tetrahedron, tetrahedron, at(0, 0, 2.3, turn(std::numbers::pi, {1, 0, 0}) * turn(0.1, {0, 1, 0})),
              at(0.3, 0.1, 0.3, turn(std::numbers::pi, {1, 0, 0}))}
          .contact();
  EXPECT_EQ(c.feature_size, (std::array<int, 2>{1, 3}));
  EXPECT_FALSE(c.primal_degenerate || c.dual_degenerate);
}

// Finds the minimum norm over { pi >= 0 } by brute force: the pseudo-inverse on every support, the smallest feasible
// one.
template <int n>
double min_norm(const Pair<n>& p, const Contact<n>& c) {
  const int m1 = c.feature_size[0], m = m1 + c.feature_size[1];
  double best = 1e300;
  for (int support = 1; support < (1 << m); ++support) {
    Eigen::MatrixXd a = Eigen::MatrixXd::Zero(n + 2, m);
    for (int k = 0; k < m; ++k) {
      if (!(support >> k & 1)) continue;
      const int side = k < m1 ? 0 : 1;
      const auto v = side == 0 ? p.k1.corner(c.vertex[0][k]) : p.k2.corner(c.vertex[1][k - m1]);
      a.col(k).template head<n>() = side == 0 ? Vector<n>(p.f1(v) - c.witness[0]) : Vector<n>(c.witness[1] - p.f2(v));
      a(n + side, k) = 1.0;
    }
    Eigen::VectorXd b = Eigen::VectorXd::Zero(n + 2);
    b.tail<2>().setOnes();
    const Eigen::CompleteOrthogonalDecomposition<Eigen::MatrixXd> factors(a);
    const Eigen::VectorXd pi = factors.solve(b);
    if ((a * pi - b).norm() > 1e-8 || pi.minCoeff() < -1e-10) continue;
    best = std::min(best, pi.squaredNorm());
  }
  return best;
}

TEST(Hyperplanes, FaceOnFaceHasTheMultipliersOfMinimumNorm) {
  Random random(8);
  std::uniform_real_distribution<double> offset(-0.7, 0.7);
  int clipped = 0;
  for (int i = 0; i < 60; ++i) {
    const Pair<3> p{box(1.0, 0.6, 0.4), i % 2 ? box(0.5, 1.2, 0.3) : square_pyramid(0.8, 0.9),
                    at(offset(random), 0.7 * offset(random), 0.2, turn(random_vector<3>(random)[0], {0, 0, 1})),
                    at(0, 0, i % 2 ? -0.15 : -0.225, turn(std::numbers::pi * (i % 2), {1, 0, 0}))};
    Pair<3> upright = p;
    if (i % 2 == 0) upright.f2 = at(0, 0, -0.225, turn(std::numbers::pi, {1, 0, 0}));
    const auto c = upright.contact();
    if (c.gap < -1e-9 || c.feature[0] != Feature::face || c.feature[1] != Feature::face) continue;
    double norm = 0.0;
    for (int side = 0; side < 2; ++side)
      for (int k = 0; k < c.feature_size[side]; ++k) {
        norm += c.dual[side][k] * c.dual[side][k];
        clipped += c.dual[side][k] == 0.0;
      }
    EXPECT_TRUE(c.primal_degenerate);
    EXPECT_NEAR(norm, min_norm(upright, c), 1e-9);
    expect_optimal(upright, c);
    expect_balance(upright, c);
  }
  EXPECT_GT(clipped, 0);  // the sign constraint was at work

  // A counterexample to (2.70): edges [0, 1] and [0.9, 5]; its pseudo-inverse has a multiplier of -0.064.
  const Pair<2> edges{Polytope<2>({{0, 0}, {1, 0}, {0.5, 1}}), Polytope<2>({{0.9, 0}, {5, 0}, {1.2, -1}}), {}, {}};
  const auto c = edges.contact();
  EXPECT_NEAR(c.gap, 0.0, 1e-13);
  expect_optimal(edges, c);
}

// Aligned cubes: each corner carries a quarter of the impulse, and there is no moment.
TEST(Hyperplanes, SymmetricImpactsStaySymmetric) {
  Random random(9);
  for (int i = 0; i < 50; ++i) {
    const double side = 0.2 * std::numbers::sqrt2, apart = i % 2 ? side : 0.999 * side;
    const Matrix<3> r = i < 2 ? Matrix<3>(Matrix<3>::Identity()) : random_rotation<3>(random);
    const Vector<3> from = i < 2 ? Vector<3>(Vector<3>::Zero()) : random_vector<3>(random);
    auto corners = box(side, side, side).corners();
    std::shuffle(corners.begin(), corners.end(), random);  // the numbering of the corners does not matter
    const Pair<3> p{Polytope<3>(corners), box(side, side, side), {from + apart * r.col(0), r}, {from, r}};
    const auto c = p.contact();
    EXPECT_NEAR(c.gap, side - apart, 1e-14);
    EXPECT_EQ(c.feature_size, (std::array<int, 2>{4, 4}));
    for (int k = 0; k < 4; ++k) {
      EXPECT_NEAR(c.dual[0][k], 0.25, 1e-13);
      EXPECT_NEAR(c.dual[1][k], 0.25, 1e-13);
    }
    EXPECT_LT((c.alpha - r.col(0)).norm(), 1e-13);
    for (int s = 0; s < 2; ++s)
      EXPECT_LT(twist_gradient(c, s, s ? p.f2.directors : p.f1.directors).tail<3>().norm(), 1e-13);
  }
}

// Corner on corner: alpha is the direction nearest to beta, for any origin and any order of the corners.
TEST(Hyperplanes, CornerOnCornerTakesTheAlphaOfMinimumNorm) {
  // beta inside the cone of normals: alpha = beta
  for (const Vector<2>& origin : {Vector<2>(0, 0), Vector<2>(10, 3)}) {
    const Polytope<2> right({{0, 0}, {1.2, -0.2}, {1.3, 0.9}}), left({{0, 0}, {-1, 0.4}, {-1.1, -0.8}});
    const auto c = Pair<2>{right, left, {origin}, {origin}}.contact();
    EXPECT_NEAR(c.gap, 0.0, 1e-13);
    EXPECT_TRUE(c.dual_degenerate);
    EXPECT_EQ(c.feature_size, (std::array<int, 2>{1, 1}));
    EXPECT_LT((c.alpha - c.beta).norm(), 1e-12);
  }
  // beta outside of it: brute force over the cone, given by rays r_i: alpha in { a : <a, w> >= 0 } for edges w
  Random random(10);
  int outside = 0;
  for (int i = 0; i < 200; ++i) {
    const auto k = random_polytope<3>(random, 6), l = random_polytope<3>(random, 6);
    const auto r1 = random_rotation<3>(random), r2 = random_rotation<3>(random);
    const Vector<3> d = random_vector<3>(random).normalized();
    // corner on corner in direction d
    int low = 0, high = 0;
    for (int j = 0; j < 6; ++j) {
      if (d.dot(r1 * k.corner(j)) < d.dot(r1 * k.corner(low))) low = j;
      if (d.dot(r2 * l.corner(j)) > d.dot(r2 * l.corner(high))) high = j;
    }
    const Vector<3> shift = random_vector<3>(random);
    const Pair<3> p{k, l, {shift - r1 * k.corner(low), r1}, {shift - r2 * l.corner(high), r2}};
    const auto c = p.contact();
    EXPECT_NEAR(c.gap, 0.0, 1e-12);
    EXPECT_TRUE(c.dual_degenerate);
    expect_optimal(p, c);
    expect_balance(p, c);
    EXPECT_EQ(c.feature_size, (std::array<int, 2>{1, 1}));
    // no feasible direction nearby is shorter: descend from alpha and project back by halving
    const auto feasible = [&](const Vector<3>& a) {
      for (const auto& v : p.k1.corners())
        if (a.dot(p.f1(v) - shift) < -1e-12) return false;
      for (const auto& v : p.k2.corners())
        if (a.dot(p.f2(v) - shift) > 1e-12) return false;
      return true;
    };
    outside += (c.alpha - c.beta).norm() > 1e-6;
    for (int t = 0; t < 200; ++t) {
      Vector<3> step = random_vector<3>(random, 0.1);
      step -= step.dot(c.beta) * c.beta;
      if (feasible(c.alpha + step)) {
        EXPECT_GE((c.alpha + step).norm(), c.alpha.norm() - 1e-9);
      }
    }
  }
  EXPECT_GT(outside, 20);
}

TEST(Hyperplanes, FloorWithItsNormal) {
  const auto floor = box(20.0, 20.0, 1.0);
  const auto cube = box(0.2, 0.2, 0.2);
  const auto over = [&](double x, double z, const Matrix<3>& r = Matrix<3>::Identity()) {
    return Pair<3>{cube, floor, at(x, 0, z, r), at(0, 0, -0.5)}.contact(Vector<3>::UnitZ());
  };
  for (const double x : {0.0, 3.0, 9.95}) {
    EXPECT_NEAR(over(x, 0.09).gap, 0.01, 1e-14);
    EXPECT_NEAR(over(x, 0.11).gap, -0.01, 1e-14);
    EXPECT_LT((over(x, 0.09).alpha - Vector<3>::UnitZ()).norm(), 1e-12);
  }
  EXPECT_LT(over(3.0, 5.0, turn(0.7, {1, 2, 3})).gap, -4.8);
  // beyond the rim the program along the normal is unbounded: apart, measured along the centroids' line
  const auto beyond = over(11.0, 0.05);
  EXPECT_LT(beyond.gap, 0.0);
  EXPECT_LT(std::abs(beyond.beta[2]), 0.2);
  // below the floor a direction along +z sees an overlap; they are apart
  EXPECT_LT(over(0.0, -1.2).gap, 0.0);
  EXPECT_GT(over(0.0, -1.05).gap, 0.0);
}

TEST(Hyperplanes, CoincidentCentroidsOverlap) {
  const auto cube = box(1, 1, 1);
  const auto c = Pair<3>{cube, cube, at(1, 2, 3), at(1, 2, 3)}.contact();
  EXPECT_NEAR(c.gap, 1.0, 1e-14);
  EXPECT_EQ(c.beta, Vector<3>(0, 0, 1));
}

TEST(Hyperplanes, ExtremeProportions) {
  // a plate a thousand times wider than thick, and a needle, by brute force
  Random random(11);
  for (int i = 0; i < 300; ++i) {
    const Pair<3> p{box(1.0, 1.0, 1e-3),
                    box(1e-3, 2e-3, 1.0),
                    {random_vector<3>(random, 0.3), random_rotation<3>(random)},
                    {random_vector<3>(random, 0.3), random_rotation<3>(random)}};
    const auto c = p.contact();
    const BruteForce<3> brute(p.k1, p.f1, p.k2, p.f2);
    EXPECT_NEAR(c.gap, -brute.along(c.beta), 1e-11 * c.alpha.norm());
    if (std::abs(brute.slab()) > 1e-9) {
      EXPECT_EQ(c.gap<0.0, brute.slab()> 0.0);
    }
  }
}

// Prisms that rest side by side after a long simulation, their faces tilted by 1e-13 rad against each other: pivots
// among facets that differ by rounding must end.
TEST(Hyperplanes, FacesTiltedByRoundingDoNotCycle) {
  const Polytope<3> prism = regular_prism(6, 0.2, 0.4);
  Frame<3> one, two;
  one.position = {-0.00078617636144075523, -0.0035703320728628645, 0.19999999999999954};
  one.directors << 0.86489780936232252, -0.50194798471580238, -3.7423333436969574e-14, 0.50194798471580238,
      0.86489780936232274, -1.9592466687120939e-14, 4.220175810643479e-14, -1.8390853995563846e-15, 1.0;
  two.position = {0.34562213285064741, -0.0023575313961560363, 0.19999999999999393};
  two.directors << 0.86489780936189697, -0.50194798471653557, 4.9354008968903977e-13, 0.50194798471653557,
      0.86489780936189697, -2.226314162218784e-13, -3.1511235159278433e-13, 4.4028487756980238e-13, 1.0;
  Basis<3> basis;
  Contact<3> contact;
  find_contact(prism, one, prism, two, basis, contact);
  EXPECT_NEAR(contact.normal().dot(one.directors * Vector<3>(-std::sqrt(0.75), 0.5, 0.0)), 1.0, 1e-9);
  std::mt19937 engine(9);
  std::normal_distribution<double> normal;
  const double gap = contact.normal_gap();
  for (int k = 0; k < 20000; ++k) {
    Frame<3> tilted = two;
    for (int i = 0; i < 9; ++i) tilted.directors.data()[i] += 1e-13 * std::pow(10.0, k % 4) * normal(engine);
    find_contact(prism, one, prism, tilted, basis, contact);
    EXPECT_NEAR(contact.normal_gap(), gap, 1e-9);
    Basis<3> fresh;
    find_contact(prism, one, prism, tilted, fresh, contact);
    EXPECT_NEAR(contact.normal_gap(), gap, 1e-9);
  }
}

// A million of these run under the label long (agreement.cpp).
TEST(Hyperplanes, AlignedPairsFromKeptBases) {
  const auto plane = meet_aligned_pairs<2>(20000, 1), space = meet_aligned_pairs<3>(20000, 2);
  for (const auto& met : {plane, space}) {
    EXPECT_LT(met.max_error, 1e-10);
    EXPECT_LT(met.max_plane_error, 1e-8);
    EXPECT_GT(met.touching, 5000);
    EXPECT_GT(met.tilted, 5000);
  }
}

// For bodies with many corners the solver walks along edges. Except for rounding, the distance of the bodies changes
// neither the walk nor the pivots. Duality proves the optimum: the slab of normal alpha is as wide as the gap.
TEST(Hyperplanes, ManyCornersFarApartCostNoMorePasses) {
  Random random(21);
  const Vector<3> up = Vector<3>::UnitZ();
  for (int trial = 0; trial < 20; ++trial) {
    const Pair<3> near = {random_polytope<3>(random, 150),
                          random_polytope<3>(random, 120),
                          {Vector<3>(0.3, -0.2, 4.0), random_rotation<3>(random)},
                          at(0, 0, 0)};
    int passes = 0;
    for (const double away : {0.0, 40.0, 400.0}) {
      Pair<3> pair = near;
      pair.f1.position[2] += away;
      std::array<Basis<3>, 2> basis;
      Contact<3> c;
      const int taken = find_contact(pair.k1, pair.f1, pair.k2, pair.f2, up, basis, c);
      if (away == 0.0) passes = taken;
      EXPECT_NEAR(taken, passes, 2) << "trial " << trial << ", " << away << " m away";
      double low = 1e300, high = -1e300;
      for (const auto& v : pair.k1.corners()) low = std::min(low, c.alpha.dot(pair.f1(v)));
      for (const auto& v : pair.k2.corners()) high = std::max(high, c.alpha.dot(pair.f2(v)));
      const double rounding = 1e-14 * (1.0 + away);
      EXPECT_NEAR(low - high, -c.gap, rounding * c.alpha.norm());
      EXPECT_LE((c.separation() + c.gap * up).norm(), rounding);
    }
    EXPECT_LE(passes, 40);
  }
}

// A start basis with columns above each other along beta gives the result of the lower column alone, on the line and
// next to it.
TEST(Hyperplanes, ColumnsOneAboveTheOtherAreOne) {
  const auto cube = box(1, 1, 1);
  const Vector<3> up = Vector<3>::UnitZ();
  for (const double aside : {1.0, 0.75, 0.3})
    for (std::int16_t low = 0; low < 8; ++low)
      for (std::int16_t high = 0; high < 8; ++high) {
        const Vector<3> edge = cube.corner(high) - cube.corner(low);
        if (edge.head<2>().norm() > 0.0 || !(edge[2] > 0.0)) continue;
        for (std::int16_t of = 0; of < 8; ++of) {
          const auto passes = [&](std::initializer_list<std::int16_t> corners, double& gap) {
            std::array<Basis<3>, 2> basis;
            for (const std::int16_t corner : corners) {
              basis[0].first[basis[0].size] = corner;
              basis[0].second[basis[0].size++] = of;
            }
            Contact<3> c;
            const int taken = find_contact(cube, at(aside, aside, 2.5), cube, at(0, 0, 0), up, basis, c);
            gap = c.gap;
            EXPECT_TRUE(c.alpha.allFinite());
            return taken;
          };
          double gap[3];
          const int alone = passes({low}, gap[0]);
          EXPECT_EQ(passes({low, high}, gap[1]), alone) << low << ' ' << high << ' ' << of << ' ' << aside;
          EXPECT_EQ(passes({high, low}, gap[2]), alone) << high << ' ' << low << ' ' << of << ' ' << aside;
          for (const double g : gap) EXPECT_NEAR(g, -1.5, 1e-14);
        }
      }
}

// Unit cubes that touch exactly, offset along one axis, from every kind of basis. Some bases once gave a gap of 0.234
// m.
TEST(Hyperplanes, FlushCubesFromAnyBasisTouch) {
  const auto cube = box(1, 1, 1);
  const Frame<3> offset = at(0.51308486001349862, 0, 1), origin = at(0, 0, 0);
  Random random(13);
  for (int i = 0; i < 20000; ++i) {
    Basis<3> basis;
    basis.size = static_cast<std::int16_t>(1 + random() % 3);
    for (int k = 0; k < 3; ++k) {
      basis.first[k] = static_cast<std::int16_t>(random() % 8);
      basis.second[k] = static_cast<std::int16_t>(random() % 8);
    }
    Contact<3> c;
    find_contact(cube, i % 2 ? offset : origin, cube, i % 2 ? origin : offset, basis, c);
    ASSERT_NEAR(c.gap, 0.0, 1e-14);
  }
}

// Pairs at all distances, also aligned ones: overlap() agrees with brute force for any start plane and basis.
TEST(Hyperplanes, OverlapIsThatOfBruteForce) {
  Random random(15);
  Basis<3> basis;
  Vector<3> plane = Vector<3>::Zero();
  const auto cube = box(1, 1, 1);
  int overlapping = 0;
  for (int i = 0; i < 3000; ++i) {
    auto p = random_pair<3>(random, 4 + i % 9, 8, 0.6);
    if (i % 3 == 0) p = {cube, cube, at(0.5 * (i % 4), 0.3, 0.25 * (i % 7)), at(0, 0, 0)};
    const double slab = BruteForce<3>(p.k1, p.f1, p.k2, p.f2).slab();
    if (std::abs(slab) < 1e-9) continue;
    EXPECT_EQ(overlap(p.k1, p.f1, p.k2, p.f2, basis, plane), slab < 0.0);
    overlapping += slab < 0.0;
    if (slab > 0.0) {  // the plane is between them
      double low = 1e300, high = -1e300;
      for (const auto& v : p.k1.corners()) low = std::min(low, plane.dot(p.f1(v)));
      for (const auto& v : p.k2.corners()) high = std::max(high, plane.dot(p.f2(v)));
      EXPECT_GT(low, high);
    }
  }
  EXPECT_GT(overlapping, 500);
  EXPECT_LT(overlapping, 2500);
}

// Bodies with many corners, near each other: the plane proves "apart", the multipliers of the optimum prove "overlap".
TEST(Hyperplanes, OverlapOfManyCornersIsProved) {
  Random random(22);
  int overlapping = 0;
  constexpr int pairs = 200;
  for (int i = 0; i < pairs; ++i) {
    const auto p = random_pair<3>(random, 100 + i % 60, 80 + i % 70, 1.0);
    Basis<3> basis;
    Vector<3> plane = Vector<3>::Zero();
    if (overlap(p.k1, p.f1, p.k2, p.f2, basis, plane)) {
      ++overlapping;
      const auto c = p.contact();
      EXPECT_GE(c.gap, 0.0) << i;
      expect_optimal(p, c);
      continue;
    }
    double low = 1e300, high = -1e300;
    for (const auto& v : p.k1.corners()) low = std::min(low, plane.dot(p.f1(v)));
    for (const auto& v : p.k2.corners()) high = std::max(high, plane.dot(p.f2(v)));
    EXPECT_GT(low, high) << i;
  }
  EXPECT_GT(overlapping, pairs / 8);
  EXPECT_LT(overlapping, pairs - pairs / 8);
}

// Proves by duality that the points are the nearest ones: each point is in its body, and the slab perpendicular to
// their line separates the bodies and is as wide as the distance. The distance is at least that of the hyperplane
// program.
TEST(Hyperplanes, DistanceIsThatOfASlabBetweenNearestPoints) {
  Random random(16);
  const auto inside = [](const Polytope<3>& k, const Frame<3>& f, const Vector<3>& x) {
    for (const auto& facet : k.facets()) {
      const Vector<3> a = f(k.corner(facet[0])), b = f(k.corner(facet[1])), c = f(k.corner(facet[2]));
      if ((b - a).cross(c - a).normalized().dot(x - a) > 1e-10) return false;
    }
    return true;
  };
  int apart = 0;
  for (int i = 0; i < 1500; ++i) {
    auto p = random_pair<3>(random, 4 + i % 20, 8, 1.0);
    if (i % 3 == 0) p = {box(1, 1, 1), box(2, 1, 1), at(0.5 * (i % 7), 0.3, 0.25 * (i % 9)), at(0, 0, 0)};
    Basis<3> basis;
    const auto d = find_distance(p.k1, p.f1, p.k2, p.f2, basis);
    const auto c = p.contact();
    EXPECT_TRUE(inside(p.k1, p.f1, d.nearest[0]) && inside(p.k2, p.f2, d.nearest[1])) << i;
    if (c.gap >= 0.0) {
      EXPECT_EQ(d.distance, 0.0);
      continue;
    }
    ++apart;
    EXPECT_GE(d.distance, -c.normal_gap() - 1e-12);
    const Vector<3> across = (d.nearest[0] - d.nearest[1]).normalized();
    double low = 1e300, high = -1e300;
    for (const auto& v : p.k1.corners()) low = std::min(low, across.dot(p.f1(v)));
    for (const auto& v : p.k2.corners()) high = std::max(high, across.dot(p.f2(v)));
    if (d.distance > 1e-6) {
      EXPECT_NEAR(low - high, d.distance, 1e-10);
    }
  }
  EXPECT_GT(apart, 500);
  Basis<2> basis;
  const auto d = find_distance(rectangle(2, 2), Frame<2>{{4, 5}}, rectangle(2, 2), Frame<2>{}, basis);
  EXPECT_NEAR(d.distance, std::sqrt(13.0), 1e-14);
  EXPECT_LT((d.nearest[0] - Vector<2>(3, 4)).norm() + (d.nearest[1] - Vector<2>(1, 1)).norm(), 1e-14);
}

// If bodies overlap, the distance is zero, and both nearest points are one point in both bodies.
TEST(Hyperplanes, BodiesThatOverlapInThePlaneShareTheirNearestPoint) {
  for (const double x : {-1.7, -0.9, 0.05, 0.6, 1.3})
    for (const double y : {-1.6, -0.4, 0.15, 0.8, 1.9}) {
      const Vector<2> middle(x, y);
      Basis<2> basis;
      const auto d = find_distance(rectangle(2, 2), Frame<2>{middle}, rectangle(2, 2), Frame<2>{}, basis);
      EXPECT_EQ(d.distance, 0.0);
      EXPECT_EQ(d.nearest[0], d.nearest[1]);
      EXPECT_LE(d.nearest[0].lpNorm<Eigen::Infinity>(), 1.0 + 1e-14) << x << " " << y;
      EXPECT_LE((d.nearest[0] - middle).lpNorm<Eigen::Infinity>(), 1.0 + 1e-14) << x << " " << y;
    }
}

// Moving a body along the line of the nearest points changes the distance by the same amount, to rounding, from far
// apart to almost touching. A basis of another query gives the same result as no basis.
TEST(Hyperplanes, DistanceFallsByWhatBodiesAreMovedTogether) {
  Random random(17);
  Basis<3> kept;
  int pairs = 0, apart = 0, overlapping = 0;  // corners that face each other may pass each other
  for (int i = 0; i < 1000; ++i) {
    auto p = random_pair<3>(random, 4 + i % 30, 6, 2.0);
    if (i % 4 == 0) p = {box(1, 1, 1), box(2, 1, 1), at(2.0 + 0.1 * (i % 7), 0.3, 0.25 * (i % 9)), at(0, 0, 0)};
    Basis<3> none;
    const auto far = find_distance(p.k1, p.f1, p.k2, p.f2, none);
    if (far.distance == 0.0) continue;
    ++pairs;
    const Vector<3> line = (far.nearest[0] - far.nearest[1]) / far.distance;
    const Frame<3> start = p.f1;
    for (double left = 0.1; left > 1e-13; left *= 0.1) {
      p.f1.position = start.position - (far.distance - left) * line;
      EXPECT_NEAR(find_distance(p.k1, p.f1, p.k2, p.f2, kept).distance, left, 1e-14) << i;
    }
    p.f1.position = start.position - (far.distance + 1e-6) * line;
    const double past = find_distance(p.k1, p.f1, p.k2, p.f2, kept).distance, gap = p.contact().gap;
    if (std::abs(gap) > 1e-12) {
      EXPECT_EQ(past > 0.0, gap < 0.0) << i;
      past > 0.0 ? ++apart : ++overlapping;
    }
  }
  EXPECT_GT(pairs, 700);
  EXPECT_GT(apart, 5);
  EXPECT_GT(overlapping, 200);
}

TEST(Hyperplanes, RefusesWhatIsNotANumber) {
  const auto cube = box(1, 1, 1);
  EXPECT_THROW((Pair<3>{cube, cube, at(std::nan(""), 0, 0), at(0, 0, 0)}.contact()), std::runtime_error);
}

}  // namespace
}  // namespace dodyn::geometry::test_hyperplanes
