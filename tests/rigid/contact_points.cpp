// Points of a contact between faces.
#include "rigid/contact_points.hpp"

#include <gtest/gtest.h>

#include <random>

#include "rigid/detection.hpp"
#include "rigid/director.hpp"

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

}  // namespace
}  // namespace dodyn::rigid::test_contact_points
