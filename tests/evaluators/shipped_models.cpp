// Texts of models/ against what the program builds by itself.
#include <gtest/gtest.h>

#include <algorithm>
#include <numbers>

#include "evaluators/docking_craft.hpp"
#include "systems/bodies.hpp"

namespace dodyn::evaluators {
namespace {

using rigid::Vector;

std::vector<std::array<double, 2>> sorted_corners(const geometry::Polytope<2>& part) {
  std::vector<std::array<double, 2>> all;
  for (const auto& corner : part.corners())
    all.push_back({std::round(1e12 * corner[0]) * 1e-12, std::round(1e12 * corner[1]) * 1e-12});
  std::sort(all.begin(), all.end());
  return all;
}

TEST(ShippedModels, DockingCraftAreThoseOfTheDockingEvaluator) {
  const auto model = systems::find_model("docking-craft");
  for (const double spacing : {0.03, 0.05, 0.07}) {
    Docking docking;
    docking.spacing = spacing;
    docking.half_angle = 20.0 * std::numbers::pi / 180.0;
    docking.mount_angle = 0.25 * std::numbers::pi;
    const auto view =
        systems::bodies<2>(model, model.evaluate<double>({{"spacing", spacing}, {"half_angle", docking.half_angle}}));
    const auto &one = view.world, other = docking_world(docking);
    ASSERT_EQ(one.bodies.size(), 2u);
    for (int b = 0; b < 2; ++b) {
      const auto &x = one.bodies[b], &y = other.bodies[b];
      EXPECT_EQ(x.fixed, y.fixed);
      EXPECT_EQ(x.surface.restitution, y.surface.restitution);
      EXPECT_EQ(x.surface.friction, y.surface.friction);
      if (!x.fixed) {
        EXPECT_DOUBLE_EQ(x.mass, y.mass);
        EXPECT_NEAR(x.euler_tensor.trace(), y.euler_tensor.trace(), 1e-17);
      }
      ASSERT_EQ(x.parts.size(), y.parts.size());
      std::vector<std::vector<std::array<double, 2>>> p, q;
      for (const auto& part : x.parts) p.push_back(sorted_corners(part));
      for (const auto& part : y.parts) q.push_back(sorted_corners(part));
      std::sort(p.begin(), p.end());
      std::sort(q.begin(), q.end());
      for (std::size_t i = 0; i < p.size(); ++i) {
        ASSERT_EQ(p[i].size(), q[i].size());
        for (std::size_t k = 0; k < p[i].size(); ++k)
          for (int a = 0; a < 2; ++a) EXPECT_NEAR(p[i][k][a], q[i][k][a], 2e-12);
      }
    }
    EXPECT_EQ(one.charge_constant, other.charge_constant);
    ASSERT_EQ(one.charges.size(), other.charges.size());
    for (const auto& charge : other.charges)
      EXPECT_TRUE(std::any_of(one.charges.begin(), one.charges.end(), [&](const auto& c) {
        return c.body == charge.body && (c.at - charge.at).norm() < 1e-15 && c.value == charge.value;
      })) << charge.at.transpose();
    const auto& points = view.tree.named_points;
    for (int port = 0; port < 2; ++port) {
      const auto at = [&](int point) { return Vector<2>(points[point].place.at[0], points[point].place.at[1]); };
      EXPECT_LT((at(2 * port) - seat(docking, port)).norm(), 1e-15);
      EXPECT_LT((at(2 * port + 1) - cone_tip(docking, port)).norm(), 1e-15);
    }
  }
  EXPECT_THROW(model.evaluate<double>({{"spacing", 0.01}}), ConfigError);
}

}  // namespace
}  // namespace dodyn::evaluators
