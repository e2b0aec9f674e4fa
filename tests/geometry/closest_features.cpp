// Distance, overlap and closest features against closed forms, in rotated frames, and against a search over directions.
#include "geometry/closest_features.hpp"

#include <gtest/gtest.h>

#include <optional>

#include "scenes.hpp"
#include "tests/geometry/solids.hpp"

namespace dodyn::geometry {
namespace {

const double root2 = std::sqrt(2.0), root3 = std::sqrt(3.0);

template <int n>
struct Body {
  Polytope<n> polytope;
  Frame<n> frame;
};

template <int n>
std::array<Vector<n>, 2> both(const Vector<n>& one, const Vector<n>& other) {
  return {one, other};
}

// The same pair in several frames of the world. distance: negative for an overlap. points: none if many are nearest; then
// the frame must not matter.
template <int n>
void expect(const char* what, const Body<n>& one, const Body<n>& other, double distance, const Vector<n>& normal,
            const std::array<Feature, 2>& feature, const std::array<int, 2>& sizes,
            std::optional<std::array<Vector<n>, 2>> points) {
  Random random(7);
  for (int turn = 0; turn < 20; ++turn) {
    Frame<n> world;
    if (turn > 0) world = {random_vector<n>(random, 3.0), random_rotation<n>(random)};
    const auto placed = [&](const Frame<n>& f) {
      return Frame<n>{world(f.position), Matrix<n>(world.directors * f.directors)};
    };
    const Contact<n> found =
        find_closest_features(one.polytope, placed(one.frame), other.polytope, placed(other.frame));
    EXPECT_NEAR(-found.normal_gap(), distance, 1e-12) << what;
    EXPECT_LE((found.witness[0] - found.witness[1] - distance * found.normal()).norm(), 1e-9) << what;
    EXPECT_LE((found.normal() - world.directors * normal).norm(), 1e-9) << what << " " << turn;
    if (!points) points = found.witness;
    for (std::size_t side = 0; side < 2; ++side) {
      EXPECT_EQ(found.feature[side], feature[side]) << what << " " << turn;
      EXPECT_EQ(found.feature_size[side], sizes[side]) << what << " " << turn;
      EXPECT_LE((found.witness[side] - world((*points)[side])).norm(), 1e-9) << what << " " << turn;
    }
  }
}

Matrix<3> turned(double angle, const Vector<3>& axis) {
  return Eigen::AngleAxisd(angle, axis.normalized()).toRotationMatrix();
}

TEST(ClosestFeatures, BoxesInSpace) {
  const Polytope<3> cube = box(1.0, 1.0, 1.0), slab = box(4.0, 4.0, 1.0);
  const Vector<3> x = Vector<3>::UnitX(), y = Vector<3>::UnitY(), z = Vector<3>::UnitZ();
  const Frame<3> home;
  const auto at = [](double a, double b, double c, const Matrix<3>& R = Matrix<3>::Identity()) {
    return Frame<3>{{a, b, c}, R};
  };
  constexpr auto corner = Feature::vertex, edge = Feature::edge, face = Feature::face;
  const double up = 0.5 * root2;
  for (const double d : {0.3, 1e-6, 0.0, -0.1}) {
    expect<3>("face on face", {cube, at(0.0, 0.0, 1.0 + d)}, {slab, home}, d, z, {face, face}, {4, 4},
              both<3>({0.0, 0.0, 0.5 + d}, {0.0, 0.0, 0.5}));
    expect<3>("face on face, off centre", {cube, at(0.2, -1.8, 1.0 + d, turned(0.3, z))}, {slab, home}, d, z,
              {face, face}, {4, 4}, std::nullopt);
    expect<3>("edge on face", {cube, at(0.0, 0.0, 0.5 + up + d, turned(M_PI / 4, y))}, {slab, home}, d, z, {edge, face},
              {2, 4}, both<3>({0.0, 0.0, 0.5 + d}, {0.0, 0.0, 0.5}));
    expect<3>("edge across edge", {cube, at(0.1, 0.2, 2.0 * up + d, turned(M_PI / 4, y))},
              {cube, at(0.0, 0.0, 0.0, turned(M_PI / 4, x))}, d, z, {edge, edge}, {2, 2},
              both<3>({0.1, 0.0, up + d}, {0.1, 0.0, up}));
    const Matrix<3> on_corner =
        Eigen::Quaterniond::FromTwoVectors(Vector<3>(1.0, 1.0, 1.0), Vector<3>(-z)).toRotationMatrix();
    expect<3>("corner on face", {cube, at(0.1, 0.2, 0.5 + 0.5 * root3 + d, on_corner)}, {slab, home}, d, z,
              {corner, face}, {1, 4}, both<3>({0.1, 0.2, 0.5 + d}, {0.1, 0.2, 0.5}));
    expect<3>("face on corner", {slab, home}, {cube, at(0.1, 0.2, 0.5 + 0.5 * root3 + d, on_corner)}, d, -z,
              {face, corner}, {4, 1}, both<3>({0.1, 0.2, 0.5}, {0.1, 0.2, 0.5 + d}));
  }
  expect<3>("edges side by side", {cube, at(1.3, 1.4, 0.0)}, {cube, home}, 0.5, Vector<3>(0.6, 0.8, 0.0), {edge, edge},
            {2, 2}, both<3>({0.8, 0.9, 0.0}, {0.5, 0.5, 0.0}));
  expect<3>("corner from corner", {cube, at(1.2, 1.3, 1.6)}, {cube, home}, 0.7, Vector<3>(2.0, 3.0, 6.0) / 7.0,
            {corner, corner}, {1, 1}, both<3>({0.7, 0.8, 1.1}, {0.5, 0.5, 0.5}));
  expect<3>("corner from edge", {octahedron(root2), at(1.9, 0.8, 0.2)}, {cube, home}, 0.5, Vector<3>(0.8, 0.6, 0.0),
            {corner, edge}, {1, 2}, both<3>({0.9, 0.8, 0.2}, {0.5, 0.5, 0.2}));
}

TEST(ClosestFeatures, BoxesInThePlane) {
  const Polytope<2> square = rectangle(1.0, 1.0), floor = rectangle(6.0, 1.0);
  const Matrix<2> eighth = Eigen::Rotation2Dd(M_PI / 4).toRotationMatrix();
  const Frame<2> home;
  constexpr auto corner = Feature::vertex, edge = Feature::edge;
  for (const double d : {0.3, 1e-6, 0.0, -0.1}) {
    expect<2>("edge on edge", {square, {{0.0, 1.0 + d}, Matrix<2>::Identity()}}, {floor, home}, d, {0.0, 1.0},
              {edge, edge}, {2, 2}, both<2>({0.0, 0.5 + d}, {0.0, 0.5}));
    expect<2>("edge on edge, off centre", {square, {{2.9, 1.0 + d}, Matrix<2>::Identity()}}, {floor, home}, d,
              {0.0, 1.0}, {edge, edge}, {2, 2}, std::nullopt);
    expect<2>("corner on edge", {square, {{0.4, 0.5 + 0.5 * root2 + d}, eighth}}, {floor, home}, d, {0.0, 1.0},
              {corner, edge}, {1, 2}, both<2>({0.4, 0.5 + d}, {0.4, 0.5}));
  }
  expect<2>("corner from corner", {square, {{1.3, 1.4}, Matrix<2>::Identity()}}, {square, home}, 0.5, {0.6, 0.8},
            {corner, corner}, {1, 1}, both<2>({0.8, 0.9}, {0.5, 0.5}));
}

// Separation along a direction from body 2 to body 1: negative where they overlap.
template <int n>
double gap_along(const Vector<n>& direction, const std::vector<Vector<n>>& x, const std::vector<Vector<n>>& y) {
  double low = 1e300, high = -1e300;
  for (const auto& corner : x) low = std::min(low, direction.dot(corner));
  for (const auto& corner : y) high = std::max(high, direction.dot(corner));
  return (low - high) / direction.norm();
}

// The widest gap over all directions: the best of a sample, improved by ever smaller random steps.
template <int n>
double widest_gap(Random& random, const std::vector<Vector<n>>& x, const std::vector<Vector<n>>& y) {
  std::vector<std::pair<double, Vector<n>>> sample;
  for (int i = 0; i < 2000; ++i) {
    const Vector<n> d = random_vector<n>(random).normalized();
    sample.emplace_back(gap_along<n>(d, x, y), d);
  }
  std::sort(sample.begin(), sample.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  double widest = sample.front().first;
  for (std::size_t s = 0; s < 30; ++s) {
    auto [gap, d] = sample[s];
    for (double step = 0.1; step > 1e-9;) {
      bool improved = false;
      for (int i = 0; i < 12 && !improved; ++i) {
        const Vector<n> next = (d + step * random_vector<n>(random)).normalized();
        if (const double other = gap_along<n>(next, x, y); other > gap) {
          gap = other;
          d = next;
          improved = true;
        }
      }
      if (!improved) step *= 0.7;
    }
    widest = std::max(widest, gap);
  }
  return widest;
}

template <int n>
void expect_as_sampled() {
  Random random(11);
  int apart = 0, overlapping = 0;
  for (int round = 0; round < 60; ++round) {
    const Polytope<n> one = random_polytope<n>(random, n == 2 ? 7 : 14),
                      other = random_polytope<n>(random, n == 2 ? 5 : 9);
    const Frame<n> at{random_vector<n>(random, 1.0), random_rotation<n>(random)},
        other_at{random_vector<n>(random, 0.3), random_rotation<n>(random)};
    std::vector<Vector<n>> x, y;
    for (const auto& corner : one.corners()) x.push_back(at(corner));
    for (const auto& corner : other.corners()) y.push_back(other_at(corner));
    const Contact<n> found = find_closest_features(one, at, other, other_at);
    const double distance = -found.normal_gap(), widest = widest_gap<n>(random, x, y);
    (distance > 0.0 ? apart : overlapping) += 1;
    EXPECT_NEAR(distance, widest, 1e-4) << round;  // the search ends near the widest gap
    EXPECT_GE(distance, widest - 1e-12) << round;  // no sampled direction is better
    EXPECT_NEAR(gap_along<n>(found.normal(), x, y), distance, 1e-12) << round;
    EXPECT_LE((found.witness[0] - found.witness[1] - distance * found.normal()).norm(), 1e-9) << round;
    for (std::size_t side = 0; side < 2; ++side) {
      const auto& corners = side == 0 ? x : y;
      Vector<n> point = Vector<n>::Zero();
      double sum = 0.0;
      for (int i = 0; i < found.feature_size[side]; ++i) {
        EXPECT_GE(found.dual[side][i], 0.0);
        point += found.dual[side][i] * corners[found.vertex[side][i]];
        sum += found.dual[side][i];
        EXPECT_NEAR(found.normal().dot(corners[found.vertex[side][i]] - found.witness[side]), 0.0, 1e-8);
      }
      EXPECT_NEAR(sum, 1.0, 1e-9);
      EXPECT_LE((point - found.witness[side]).norm(), 1e-9) << round;
    }
    if (n == 3 && distance < 0.0) {  // general position: an overlap ends at a face or at two edges
      EXPECT_TRUE(found.feature[0] == Feature::face || found.feature[1] == Feature::face ||
                  (found.feature[0] == Feature::edge && found.feature[1] == Feature::edge));
    }
  }
  EXPECT_GT(apart, 10);
  EXPECT_GT(overlapping, 10);
}

TEST(ClosestFeatures, AsASearchOverDirectionsInThePlane) { expect_as_sampled<2>(); }
TEST(ClosestFeatures, AsASearchOverDirectionsInSpace) { expect_as_sampled<3>(); }

// Bodies inside each other, with one centre: the shortest way out of a cube is half its height and half that of the other.
TEST(ClosestFeatures, OneBodyInTheOther) {
  const Frame<3> home;
  const Contact<3> found = find_closest_features(box(0.2, 0.4, 0.6), home, box(2.0, 3.0, 1.0), home);
  EXPECT_NEAR(found.normal_gap(), 0.5 + 0.3, 1e-12);
  EXPECT_NEAR(std::abs(found.normal()[2]), 1.0, 1e-12);
}

}  // namespace
}  // namespace dodyn::geometry
