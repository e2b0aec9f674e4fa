// Points of a contact between faces.
#include "rigid/contact_points.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <random>

#include "rigid/detection.hpp"
#include "rigid/director.hpp"
#include "tests/geometry/solids.hpp"

namespace dodyn::rigid::test_contact_points {
namespace {

// Cubes face to face, or edge to edge, whose edges are collinear but for rounding: every point lies on both.
TEST(ContactPoints, LieOnTheFacesWhereEdgesAreCollinearButForRounding) {
  World<3> world;
  for (const char* name : {"left", "right"}) world.bodies.push_back(solid<3>(name, {geometry::box(1, 1, 1)}, 1.0).body);
  const ContactPoints<3> find(world);
  std::mt19937_64 random(1);
  std::normal_distribution<double> normal(0.0, 1e-12);
  for (int k = 0; k < 20000; ++k) {
    std::vector<geometry::Frame<3>> frames(2);
    frames[1].position = Vector<3>(1.0 - 1e-6, k % 2 ? 1.0 + normal(random) : normal(random), normal(random));
    frames[1].directors = exponential({normal(random), normal(random), normal(random)});
    Detection<3> detection(world);
    detection.find(frames, 1e-3);
    std::vector<ContactPoint<3>> points;
    find.collect(detection, frames, 1e-3, true, points);
    for (const auto& point : points) {
      ASSERT_LE((point.point - Vector<3>(0.5, 0.0, 0.0)).cwiseAbs().maxCoeff(), 0.5 + 1e-6) << k;
      ASSERT_LE(point.gap, 1e-6 + 1e-9) << k;
      ASSERT_GE(point.gap, -1e-9) << k;
    }
  }
}

// A disc of a hundred corners on a table: each corner is a contact point.
TEST(ContactPoints, AFaceMayHaveAnyNumberOfCorners) {
  const int corners = 100;
  World<3> world;
  world.bodies.push_back(
      solid<3>("disc", {geometry::regular_prism(corners, 2.0 * 0.5 * std::sin(std::numbers::pi / corners), 0.1)}, 1.0)
          .body);
  world.bodies.push_back(solid<3>("table", {geometry::box(4, 4, 1)}, 1.0).body);
  std::vector<geometry::Frame<3>> frames(2);
  frames[1].position[2] = -0.55 + 1e-6;
  Detection<3> detection(world);
  detection.find(frames, 1e-3);
  std::vector<ContactPoint<3>> points;
  ContactPoints<3>(world).collect(detection, frames, 1e-3, false, points);
  ASSERT_EQ(points.size(), corners);
  Vector<3> sum = Vector<3>::Zero();
  for (const auto& point : points) {
    EXPECT_NEAR(point.point.head<2>().norm(), 0.5, 1e-9);
    sum += point.point;
  }
  EXPECT_LE(sum.head<2>().norm(), 1e-9 * corners);  // all around
}

}  // namespace
}  // namespace dodyn::rigid::test_contact_points
