// Lines of pictures: in every posture a line from joint to end is as long as in every other one, unless the joint slides.
#include "systems/skeleton.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace dodyn::systems::test_skeleton {
namespace {

std::size_t place_of(const Tree<double>& tree, const std::string& name, const std::string& root) {
  if (name == root) return 0;
  for (std::size_t l = 0; l < tree.links.size(); ++l)
    if (tree.links[l].name + "_end" == name) return l + 1;
  throw std::logic_error(name);
}

TEST(Skeleton, LinesOfLinksThatTurnKeepTheirLengths) {
  int checked = 0;
  for (const auto& [name, text] : shipped_models()) {
    const Model model = read_model(text, name);
    const Tree<double> tree = model.tree(model.evaluate<double>().numbers);
    const auto pairs = joined_points(model.structure, "root");
    ASSERT_EQ(pairs.size() % 2, 0u) << name;
    std::mt19937 random(7);
    std::uniform_real_distribution<double> uniform(-1.0, 1.0);
    std::vector<std::vector<double>> postures;
    for (int k = 0; k < 3; ++k) {
      std::vector<double> q(tree.n());
      for (double& x : q) x = uniform(random);
      postures.push_back(tree.points(q.data()));
    }
    for (std::size_t i = 0; i < pairs.size(); i += 2) {
      const std::size_t a = place_of(tree, pairs[i], "root"), b = place_of(tree, pairs[i + 1], "root");
      const auto& moves = tree.links[b - 1].moves;
      if (tree.links[b - 1].parent >= 0 &&
          std::any_of(moves.begin(), moves.end(), [](const Move& m) { return m.kind == Move::slide; }))
        continue;
      const auto length = [&](const std::vector<double>& p) {
        double square = 0;
        for (int x = 0; x < tree.dimension; ++x) {
          const std::size_t axis = x, d = tree.dimension;
          square += std::pow(p[a * d + axis] - p[b * d + axis], 2);
        }
        return std::sqrt(square);
      };
      for (const auto& posture : postures) {
        EXPECT_NEAR(length(posture), length(postures[0]), 1e-12) << name << ": " << pairs[i] << " to " << pairs[i + 1];
        EXPECT_GT(length(posture), 0.0) << name << ": " << pairs[i] << " to " << pairs[i + 1];
      }
      ++checked;
    }
  }
  EXPECT_GT(checked, 40);
}

// RABBIT's swing thigh hangs on the hip, where its trunk begins; two craft are joined by nothing.
TEST(Skeleton, ALinkBeginsAtItsJoint) {
  const Model rabbit = read_model(model_text("rabbit"), "rabbit");
  const std::vector<std::string> wanted = {
      "foot",      "stance_shank_end", "stance_shank_end", "stance_thigh_end", "stance_thigh_end",
      "trunk_end", "stance_thigh_end", "swing_thigh_end",  "swing_thigh_end",  "swing_shank_end"};
  EXPECT_EQ(joined_points(rabbit.structure, "foot"), wanted);
  const Model craft = read_model(model_text("satellites"), "satellites");
  EXPECT_TRUE(joined_points(craft.structure, "root").empty());
}

}  // namespace
}  // namespace dodyn::systems::test_skeleton
