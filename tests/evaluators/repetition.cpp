// Links that are repeated ([link box_i], count = boxes).
#include "systems/repetition.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "evaluators/evaluator.hpp"
#include "settings/numbered.hpp"
#include "systems/bodies.hpp"
#include "tests/message_of.hpp"

namespace dodyn::evaluators::test_repetition {
namespace {

using Given = std::map<std::string, double>;

TEST(Repetition, AStackOfAsManyAsAreAskedFor) {
  const auto evaluator = make_evaluator(
      read_settings(std::string(CONFIGS) + "/scene-stack.cfg", {"--design.boxes=9", "--simulation.end=0.02"}));
  Task task;
  task.evaluation.design.resize(0);
  const Outcome outcome = evaluator->evaluate(task);
  ASSERT_TRUE(outcome.evaluation.ok()) << outcome.evaluation.reason;
  const auto channels = evaluator->channels();
  for (std::size_t k = 0; k < channels.size(); ++k)
    if (channels[k].name == "q") {
      const auto& q = outcome.trajectory.values[k];
      ASSERT_EQ(q.cols(), 10 * 7);  // the floor, too
      for (int i = 1; i <= 9; ++i) {
        EXPECT_NEAR(q(0, 7 * i), i % 2 == 0 ? 0.01 : 0.0, 1e-12);
        EXPECT_NEAR(q(0, 7 * i + 2), 0.1 * (i - 0.5), 1e-12);
      }
    }
}

// Polyhedra that do not fit in the ring of the shipped scene start above it, without overlap.
TEST(Repetition, PolyhedraBeyondARingStartAboveIt) {
  const auto evaluator = make_evaluator(
      read_settings(std::string(CONFIGS) + "/scene-polyhedra.cfg",
                    {"--design.cubes=6", "--design.pyramids=5", "--design.octahedra=5", "--simulation.end=0.01"}));
  Task task;
  task.evaluation.design.resize(0);
  const Outcome outcome = evaluator->evaluate(task);
  EXPECT_TRUE(outcome.evaluation.ok()) << outcome.evaluation.reason;
}

// A count can be set, but it cannot be a design variable: the number of links depends on it.
TEST(Repetition, ACountIsNoDesignVariable) {
  const std::string line = message_of<ConfigError>([&] {
    make_evaluator(read_settings(std::string(CONFIGS) + "/scene-stack.cfg",
                                 {"--design.boxes.min=2", "--design.boxes.max=9", "--study.archive=none.h5"}));
  });
  EXPECT_NE(line.find("the number of links depends on this parameter"), std::string::npos) << line;
}

TEST(Repetition, NumbersNamesAndExpressions) {
  EXPECT_EQ(numbered("box_i", 3), "box_3");
  EXPECT_EQ(numbered("rate(box_i_x)", 12), "rate(box_12_x)");
  EXPECT_EQ(numbered("sin(pi*i)*side_in + _i", 2), "sin(pi*2)*side_in + _2");
  EXPECT_EQ(numbered("pi + bi_i_x", 4), "pi + bi_4_x");
  EXPECT_EQ(numbered("i", 1), "1");
}

// A link with a count equals links that are written one by one.
TEST(Repetition, IsWhatIsWrittenOut) {
  const std::string head = "[model]\ndimension = 2\n[parameters]\nn = 3\na = 0.1\n";
  const std::string counted =
      head +
      "[link box_i]\ncount = n\nparent = ground\njoint = planar\n[shape box_i]\nlink = box_i\n"
      "box = a*i, a\ndensity = 10\n[point top]\nlink = box_i\nat = 0, a/2\n[spring pull_i]\nfrom = "
      "top_i\nto = ground : i, 0\nstiffness = 2*i\n";
  std::string written = head;
  for (const char* k : {"1", "2", "3"})
    written += std::string("[link box_") + k + "]\nparent = ground\njoint = planar\n[shape box_" + k +
               "]\nlink = box_" + k + "\nbox = a*" + k + ", a\ndensity = 10\n[point top_" + k + "]\nlink = box_" + k +
               "\nat = 0, a/2\n";
  for (const char* k : {"1", "2", "3"})
    written += std::string("[spring pull_") + k + "]\nfrom = top_" + k + "\nto = ground : " + k +
               ", 0\nstiffness = 2*" + k + "\n";
  std::string springs = counted;  // a spring uses the points, so it has a count of its own
  springs.replace(springs.find("from = top_i"), 12, "from = box_i : 0, a/2");
  const auto one = systems::read_model(springs, "one"), other = systems::read_model(written, "other");
  EXPECT_EQ(one.structure.coordinate_names, other.structure.coordinate_names);
  const auto a = one.tree(one.evaluate<double>().numbers), b = other.tree(other.evaluate<double>().numbers);
  std::vector<double> q, v;
  for (int i = 0; i < a.n(); ++i) {
    q.push_back(std::sin(1.0 + i));
    v.push_back(std::cos(2.0 * i));
  }
  ASSERT_EQ(a.n(), 9);
  EXPECT_NEAR(a.lagrangian(q.data(), v.data()), b.lagrangian(q.data(), v.data()), 1e-13);
  EXPECT_EQ(systems::read_model(springs, "five", {{"n", 5.0}}).structure.links.size(), 5u);
  // a single link has the name of the first of several
  const auto single = systems::read_model(springs, "single", {{"n", 1.0}}).structure.coordinate_names;
  EXPECT_TRUE(std::equal(single.begin(), single.end(), one.structure.coordinate_names.begin()));
  EXPECT_EQ(single.size(), 3u);
  const auto complaint = [&](const std::string& from, const std::string& to, const Given& given = {}) -> std::string {
    std::string changed = springs;
    changed.replace(changed.find(from), from.size(), to);
    return message_of<ConfigError>([&] {
      systems::read_model(changed, "box.model", given).evaluate<double>({{"n", 4.0}});
    });
  };
  EXPECT_NE(complaint("n = 3", "n = 2.5").find("allowed: a whole number"), std::string::npos);
  EXPECT_NE(complaint("count = n", "count = m").find("unknown parameter 'm'"), std::string::npos);
  EXPECT_NE(complaint("n = 3", "n = 3\ni = 1").find("rename the parameter"), std::string::npos);
  EXPECT_NE(complaint("a = 0.1", "a = 0.2").find("count of box_i"), std::string::npos);  // read for 3, asked for 4
  EXPECT_EQ(complaint("a = 0.1", "a = 0.2", {{"n", 4.0}}), "");
}

}  // namespace
}  // namespace dodyn::evaluators::test_repetition
