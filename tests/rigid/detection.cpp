// Detection against every pair of parts, cold.
#include "rigid/detection.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <random>

#include "drawn.hpp"
#include "rigid/director.hpp"

namespace dodyn::rigid::test_detection {
namespace {

template <int n>
struct Cloud {
  static constexpr int moving = 24;
  World<n> world;
  std::vector<geometry::Frame<n>> frames;
  std::mt19937 engine{4};

  double uniform(double size) { return std::uniform_real_distribution<double>(-size, size)(engine); }
  Vector<n> vector(double size) {
    Vector<n> v;
    for (int k = 0; k < n; ++k) v[k] = uniform(size);
    return v;
  }
  Matrix<n> rotation(double size) {
    if constexpr (n == 2)
      return Eigen::Rotation2Dd(uniform(size)).toRotationMatrix();
    else
      return exponential(vector(size));
  }

  Cloud() {
    geometry::Frame<n> aside, below, deep;
    aside.position[0] = 0.2;
    below.position[n - 1] = -0.5;
    deep.position[n - 1] = -4.0;
    // a floor with a direction of its own in the middle of the list, a wall without one at its end
    for (int i = 0; i < moving; ++i) {
      if (i == moving / 2)
        world.bodies.push_back(fixed_body<n>("floor", {cube_shape<n>(1.0).moved(below), cube_shape<n>(8.0).moved(deep)},
                                             Vector<n>(Vector<n>::Unit(n - 1))));
      world.bodies.push_back(solid<n>("pair", {cube_shape<n>(0.2), cube_shape<n>(0.2).moved(aside)}, 100.0).body);
    }
    geometry::Frame<n> left;
    left.position[0] = -1.6;
    world.bodies.push_back(fixed_body<n>("wall", {cube_shape<n>(2.0).moved(left)}));
    world.no_contact = {{4, 2}, {moving / 2, 3}};
    for (const auto &body : world.bodies) {
      geometry::Frame<n> frame;
      if (!body.fixed) {
        frame.position = vector(n == 2 ? 2.5 : 0.9);
        frame.directors = rotation(3.0);
      }
      frames.push_back(frame);
    }
  }
  void move(double far) {
    for (std::size_t b = 0; b < frames.size(); ++b)
      if (!world.bodies[b].fixed) {
        frames[b].position += vector(far);
        frames[b].directors = rotation(0.5 * far) * frames[b].directors;
      }
  }
};

template <int n>
void finds_all(double far, double within) {
  Cloud<n> cloud;
  Detection<n> detection(cloud.world);
  const int count = cloud.world.bodies.size();
  int near = 0, asked = 0;
  for (int step = 0; step < 40; ++step, cloud.move(far)) {
    std::map<std::array<int, 4>, double> gaps;
    PairKey last = -1;
    for (const auto &c : detection.find(cloud.frames, within)) {
      const PairKey key = detection.key(gaps.size());
      EXPECT_LT(last, key);
      last = key;
      EXPECT_TRUE(gaps.emplace(std::array{c.body[0], c.part[0], c.body[1], c.part[1]}, c.normal_gap()).second);
    }
    asked += static_cast<int>(gaps.size());
    double largest = -1e300;
    for (int a = 0; a < count; ++a)
      for (int b = a + 1; b < count; ++b) {
        const auto &A = cloud.world.bodies[a], &B = cloud.world.bodies[b];
        const bool none = (A.fixed && B.fixed) || (a == 2 && b == 4) || (a == 3 && b == cloud.moving / 2);
        const int one = A.has_outward() ? b : a, two = A.has_outward() ? a : b;
        for (int i = 0; i < std::ssize(cloud.world.bodies[one].parts); ++i)
          for (int j = 0; j < std::ssize(cloud.world.bodies[two].parts); ++j) {
            const auto it = gaps.find({one, i, two, j});
            if (none) {
              EXPECT_EQ(it, gaps.end());
              continue;
            }
            geometry::Contact<n> c;
            std::array<geometry::Basis<n>, 2> basis;
            const auto &k1 = cloud.world.bodies[one].parts[i], &k2 = cloud.world.bodies[two].parts[j];
            if (const auto *outward = cloud.world.bodies[two].outward_of(j))
              geometry::find_contact(k1, cloud.frames[one], k2, cloud.frames[two], *outward, basis, c);
            else
              geometry::find_contact(k1, cloud.frames[one], k2, cloud.frames[two], basis[0], c);
            largest = std::max(largest, c.normal_gap());
            // the gap along the normal is at most the distance, which is at most that of the witness points
            const bool is_near = c.gap >= 0.0 || c.separation().norm() <= within;
            near += is_near;
            if (is_near) {
              ASSERT_NE(it, gaps.end()) << one << ' ' << i << ' ' << two << ' ' << j << " at " << step;
            }
            if (it != gaps.end()) {
              EXPECT_NEAR(it->second, c.normal_gap(), 1e-10);
            }
          }
      }
    // if no shapes overlap: an upper bound; otherwise: the largest overlap
    EXPECT_GE(detection.overlap(), largest - 1e-12);
    if (largest > 0.0) {
      EXPECT_NEAR(detection.overlap(), largest, 1e-10);
    }
  }
  EXPECT_GT(near, 100);
  EXPECT_LT(asked, 0.7 * 40 * 4 * count * (count - 1) / 2);
}

TEST(Detection, FindsAllThatIsNear) {
  finds_all<2>(0.01, 0.0);
  finds_all<2>(0.2, 0.05);  // farther in a step than the list reaches
  finds_all<3>(0.01, 0.0);
  finds_all<3>(0.05, 0.3);
}

// Two bodies that pass through each other in one step are detected, however far apart they end.
TEST(Detection, LooksAtThoseThatPassedThroughEachOther) {
  World<2> world;
  world.bodies = {solid<2>("one", {geometry::rectangle(0.1, 0.1)}, 100.0).body,
                  solid<2>("two", {geometry::rectangle(0.1, 0.1)}, 100.0).body};
  for (const double start : {-0.16, -0.5, -3.0})
    for (const double end : {0.16, 0.5, 3.0}) {
      Detection<2> detection(world);
      std::vector<geometry::Frame<2>> frames(2);
      frames[0].position[0] = start;
      detection.find(frames);
      frames[0].position[0] = end;
      EXPECT_EQ(detection.find(frames).size(), 1u) << start << ' ' << end;
      frames[0].position[0] = end + 0.001;  // only in that step
      detection.find(frames);
      EXPECT_EQ(detection.find(frames).size(), 0u);
    }
}

// Nothing is left of an earlier run: contacts after restart() are those of a detection that is new.
TEST(Detection, RestartForgets) {
  Cloud<3> cloud;
  Detection<3> used(cloud.world);
  const auto start = cloud.frames;
  for (int step = 0; step < 10; ++step, cloud.move(0.05)) used.find(cloud.frames);
  used.restart();
  Detection<3> fresh(cloud.world);
  const auto &a = used.find(start), &b = fresh.find(start);
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(a[i].gap, b[i].gap);
    EXPECT_EQ(a[i].witness[0], b[i].witness[0]);
  }
}

}  // namespace
}  // namespace dodyn::rigid::test_detection
