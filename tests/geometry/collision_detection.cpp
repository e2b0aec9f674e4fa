#include "geometry/collision_detection.hpp"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "scenes.hpp"

namespace dodyn::geometry {
namespace {

template <int n>
void expect_all_pairs(int count, double spread, double large) {
  Random random(1);
  std::uniform_real_distribution<double> place(-spread, spread), size(0.1, 1.0);
  Grid<n> grid;
  for (int repeat = 0; repeat < 20; ++repeat) {
    std::vector<Box<n>> boxes(count);
    for (int i = 0; i < count; ++i) {
      Vector<n> x, d;
      for (int a = 0; a < n; ++a) x[a] = place(random), d[a] = size(random) * (i % 17 == 3 ? large : 1.0);
      boxes[i] = {x - d, x + d};
    }
    std::vector<std::pair<int, int>> expected;
    for (int i = 0; i < count; ++i)
      for (int j = i + 1; j < count; ++j)
        if (boxes[i].overlaps(boxes[j])) expected.emplace_back(i, j);
    EXPECT_EQ(grid.overlapping(boxes), expected);
  }
}

TEST(Grid, FindsAllPairsOnce) {
  expect_all_pairs<2>(60, 8.0, 1.0);
  expect_all_pairs<2>(60, 8.0, 30.0);
  expect_all_pairs<3>(200, 5.0, 1.0);
  expect_all_pairs<3>(200, 5.0, 20.0);
  expect_all_pairs<3>(5, 1e9, 1.0);  // more cells than a number holds
  expect_all_pairs<3>(1, 1.0, 1.0);
  expect_all_pairs<3>(30, 0.0, 1.0);  // all in one place
}

// The box holds the body all the way, not only at both ends.
template <int n>
void expect_swept() {
  Random random(2);
  for (int i = 0; i < 200; ++i) {
    const auto k = random_polytope<n>(random, n + 3);
    double arm = 0.0;
    for (const auto& v : k.corners()) arm = std::max(arm, v.norm());
    const Frame<n> from{random_vector<n>(random), random_rotation<n>(random)};
    const Vector<n> travel = random_vector<n>(random);
    const double angle = std::uniform_real_distribution<double>(-3.0, 3.0)(random);
    const Vector<3> axis = random_vector<3>(random).normalized();
    const auto frame = [&](double t) {
      Matrix<n> turn;
      if constexpr (n == 2)
        turn = Eigen::Rotation2Dd(t * angle).toRotationMatrix();
      else
        turn = Eigen::AngleAxisd(t * angle, axis).toRotationMatrix();
      return Frame<n>{from.position + t * travel, turn * from.directors};
    };
    const auto box = swept_box(k, arm, from, frame(1.0));
    for (double t = 0.0; t <= 1.0; t += 0.05)
      for (const auto& v : k.corners()) {
        const Vector<n> x = frame(t)(v);
        EXPECT_TRUE((x.array() >= box.low.array() - 1e-9).all() && (x.array() <= box.high.array() + 1e-9).all());
      }
  }
}

TEST(SweptBox, HoldsTheWholeMotion) {
  expect_swept<2>();
  expect_swept<3>();
}

// A cloud of two-part bodies over a floor, moving: contacts are those of testing every pair of parts, cold.
TEST(CollisionDetection, FindsTheContactsOfAllPairs) {
  Random random(3);
  std::vector<Body<3>> bodies;
  for (int i = 0; i < 30; ++i)
    bodies.push_back(make_body<3>("L", {box(0.2, 0.2, 0.2), box(0.2, 0.2, 0.3).moved({{0.2, 0, 0.05}})}, 1000.0));
  bodies.push_back(make_body<3>("floor", {box(30, 30, 1)}, 1000.0));
  bodies.push_back(make_body<3>("wall", {box(30, 1, 30)}, 1000.0));
  bodies[30].beta = Vector<3>::UnitZ();
  bodies[30].still = bodies[31].still = true;
  CollisionDetection<3> detection(bodies);
  detection.ignore(4, 2);

  std::vector<Frame<3>> from(32), to;
  for (int i = 0; i < 30; ++i)
    from[i] = {Vector<3>(0.5, 0.5, 0.3) + random_vector<3>(random, 0.3), random_rotation<3>(random)};
  from[30].position = {0, 0, -0.5};
  from[31].position = {0, -1.0, 0};
  constexpr double margin = 0.05;
  std::vector<Contact<3>> found;
  std::size_t total = 0;
  for (int step = 0; step < 30; ++step, from = to) {
    to = from;
    for (int i = 0; i < 30; ++i) {
      to[i].position += random_vector<3>(random, 0.02);
      to[i].directors = Eigen::AngleAxisd(0.1, random_vector<3>(random).normalized()) * to[i].directors;
    }
    detection.sweep(from, to, margin);
    detection.contacts(to, margin, found);
    std::map<std::array<int, 4>, double> gaps;
    for (const auto& c : found) {
      EXPECT_TRUE(gaps.emplace(std::array<int, 4>{c.body[0], c.part[0], c.body[1], c.part[1]}, c.gap).second);
      EXPECT_GE(c.normal_gap(), -margin);
    }
    total += gaps.size();
    for (int a = 0; a < 32; ++a)
      for (int b = a + 1; b < 32; ++b) {
        int first = a, second = b;
        if (a == 30) std::swap(first, second);
        const bool skipped = a >= 30 || (a == 2 && b == 4);
        for (int p = 0; p < static_cast<int>(bodies[first].parts.size()); ++p)
          for (int q = 0; q < static_cast<int>(bodies[second].parts.size()); ++q) {
            Contact<3> c;
            std::array<Basis<3>, 2> basis;
            const auto &k1 = bodies[first].parts[p], &k2 = bodies[second].parts[q];
            if (bodies[second].beta)
              find_contact(k1, to[first], k2, to[second], *bodies[second].beta, basis, c);
            else
              find_contact(k1, to[first], k2, to[second], basis[0], c);
            const auto it = gaps.find({first, p, second, q});
            if (skipped) {
              EXPECT_EQ(it, gaps.end());
              continue;
            }
            // near the margin the box test may reject what the slab along alpha underestimates: overlaps must be there
            if (c.gap >= 0.0) {
              ASSERT_NE(it, gaps.end()) << first << ' ' << p << ' ' << second << ' ' << q;
            }
            if (it != gaps.end()) {
              EXPECT_NEAR(it->second, c.gap, 1e-12 * c.alpha.norm());
            }
          }
      }
  }
  EXPECT_GT(total, 1000u);
  EXPECT_THROW(detection.sweep({}, to, 0.0), std::invalid_argument);
}

}  // namespace
}  // namespace dodyn::geometry
