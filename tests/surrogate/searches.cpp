// The mesh search and NLopt's searches.
#include <gtest/gtest.h>

#include <cmath>
#include <stdexcept>

#include "surrogate/strategy_options.hpp"
#include "tests/surrogate/search.hpp"

namespace dodyn::surrogate::test_searches {
namespace {

using Eigen::VectorXd;

const std::vector<Variable> box = {{"a", "m", -1, 3}, {"b", "", 10, 30}};

Evaluation bowl(const VectorXd& x) {
  Evaluation e;
  e.status = Status::ok;
  e.cost = 2 + std::pow(x(0) - 0.7, 2) + 0.04 * std::pow(x(1) - 17, 2) + 0.1 * (x(0) - 0.7) * (x(1) - 17);
  e.gradient = Eigen::Vector2d(2 * (x(0) - 0.7) + 0.1 * (x(1) - 17), 0.08 * (x(1) - 17) + 0.1 * (x(0) - 0.7));
  return e;
}

std::unique_ptr<Strategy> by_name(const std::string& name) {
  StrategyOptions choice;
  choice.name = name;
  return make_strategy(choice, box);
}

TEST(Searches, FindTheMinimumWithinTheBounds) {
  for (const char* name : {"mesh-search", "bobyqa", "cobyla", "direct-l", "crs", "auto", "trust-region"}) {
    const Search s = search(*by_name(name), bowl, 4, 150);
    EXPECT_NEAR(s.best().cost, 2, 0.02) << name << ": " << s.stopped;
    for (const Evaluation& e : s.evaluations)
      EXPECT_TRUE(e.design(0) >= -1 && e.design(0) <= 3 && e.design(1) >= 10 && e.design(1) <= 30) << name;
  }
}

TEST(Searches, LocalOnesConverge) {
  for (const char* name : {"mesh-search", "bobyqa", "cobyla"}) {
    const Search s = search(*by_name(name), bowl, 4, 400);
    EXPECT_NEAR(s.best().cost, 2, 1e-6) << name << ": " << s.stopped;
    EXPECT_FALSE(s.stopped.empty()) << name;
  }
}

// Replay with and without ask() before each tell().
TEST(Searches, ReplayGoesOnWhereItStopped) {
  for (const char* name : {"bobyqa", "cobyla", "direct-l", "crs"}) {
    const Search whole = search(*by_name(name), bowl, 1, 40);
    const auto replayed = by_name(name);
    const std::size_t half = whole.evaluations.size() / 2;
    for (std::size_t i = 0; i < half; ++i) replayed->tell(whole.evaluations[i]);
    const Search rest = search(*replayed, bowl, 1, whole.evaluations.size() - half);
    for (std::size_t i = 0; i < rest.evaluations.size(); ++i)
      EXPECT_EQ(rest.evaluations[i].design, whole.evaluations[half + i].design) << name;
  }
  const Search a = search(*by_name("mesh-search"), bowl, 3, 60), b = search(*by_name("mesh-search"), bowl, 3, 60);
  ASSERT_EQ(a.evaluations.size(), b.evaluations.size());
  for (std::size_t i = 0; i < a.evaluations.size(); ++i) EXPECT_EQ(a.evaluations[i].design, b.evaluations[i].design);
}

TEST(Searches, LiveWithFailures) {
  const Function half = [](const VectorXd& x) {
    Evaluation e = bowl(x);
    if (x(0) > 1.2) e.status = Status::infeasible, e.cost = NAN;
    return e;
  };
  for (const char* name : {"mesh-search", "cobyla", "direct-l", "crs"})
    EXPECT_NEAR(search(*by_name(name), half, 1, 300).best().cost, 2, 0.05) << name;
  const Function never = [](const VectorXd&) {
    Evaluation e;
    e.reason = "no licence";
    return e;
  };
  for (const char* name : {"mesh-search", "bobyqa", "cobyla", "direct-l", "crs", "ego"}) {
    const Search s = search(*by_name(name), never, 1, 100);
    EXPECT_LE(s.evaluations.size(), 50u) << name;
    EXPECT_NE(s.stopped.find("no licence"), std::string::npos) << name << ": " << s.stopped;
  }
}

// A kink that misleads any smooth model: the poll still gets there.
TEST(Searches, MeshSearchConvergesWhereTheModelIsWrong) {
  const Function kink = [](const VectorXd& x) {
    Evaluation e;
    e.status = Status::ok;
    e.cost = std::abs(x(0) - 0.3) + 0.3 * std::abs(x(1) - 21) + 0.2 * std::sin(40 * x(0)) * std::abs(x(0) - 0.3);
    return e;
  };
  const Search s = search(*by_name("mesh-search"), kink, 4, 600);
  EXPECT_LT(s.best().cost, 5e-3) << s.stopped;
  EXPECT_NE(s.stopped.find("no neighbour on the mesh of size"), std::string::npos);
}

// A cost that no model can take is no reason to end.
TEST(Searches, MeshSearchLivesWithACostBeyondTheModel) {
  for (const double huge : {1e200, -1e200, HUGE_VAL}) {
    int told = 0;
    const Search s = search(
        *by_name("mesh-search"),
        [&](const VectorXd& x) {
          Evaluation e = bowl(x);
          if (++told == 3) e.cost = huge;
          return e;
        },
        4, 400);
    EXPECT_FALSE(s.stopped.empty()) << huge;
    double least = HUGE_VAL;
    for (const Evaluation& e : s.evaluations)
      if (std::abs(e.cost) < 1e100) least = std::min(least, e.cost);
    EXPECT_NEAR(least, 2, 1e-6) << huge << ": " << s.stopped;
  }
}

TEST(Searches, AutomaticChoiceSaysWhy) {
  StrategyOptions choice;
  std::string reason;
  choice.name = "mesh-search";
  EXPECT_EQ(automatic_choice(choice, box, reason).name, "mesh-search");
  EXPECT_EQ(reason, "");
  choice.name = "auto";
  choice.ego.gradient = true;
  EXPECT_EQ(automatic_choice(choice, box, reason).name, "ego");
  EXPECT_EQ(reason, "ego (kriging of costs and gradients), chosen for 2 variables, gradients");
  choice.ego.gradient = false;
  choice.ego.paired = true;
  automatic_choice(choice, box, reason);
  EXPECT_EQ(reason, "ego (kriging of costs), chosen for 2 variables, no gradients, paired costs");
  EXPECT_EQ(automatic_choice(choice, std::vector<Variable>(12, box[0]), reason).name, "trust-region");
  EXPECT_NE(reason.find("12 variables"), std::string::npos);
}

TEST(Searches, ConstraintsAndNamesAsText) {
  const std::vector<std::string> metrics = {"torque", "force"};
  const auto two = parse_constraints("torque <= 15,force>= -0.5", metrics);
  ASSERT_EQ(two.size(), 2u);
  EXPECT_TRUE(two[0].metric == 0 && two[0].limit == 15 && two[0].below);
  EXPECT_TRUE(two[1].metric == 1 && two[1].limit == -0.5 && !two[1].below);
  EXPECT_TRUE(parse_constraints("", metrics).empty());
  EXPECT_EQ(constrained_names("0 <= slow:force <= 3, mass >= 1"),
            (std::vector<std::string>{"slow:force", "slow:force", "mass"}));
  EXPECT_EQ(parse_names("cost, force", metrics, true), (std::vector<int>{-1, 1}));
  for (const char* bad : {"torque = 3", "torque <= much", "torque <=", "speed <= 3"})
    EXPECT_THROW(parse_constraints(bad, metrics), std::invalid_argument) << bad;
  EXPECT_THROW(parse_names("cost", metrics, false), std::invalid_argument);
  EXPECT_THROW(parse_names("cost, force, cost", metrics, true), std::invalid_argument);
}

TEST(Searches, RejectBadOptions) {
  EXPECT_THROW(make_nlopt_search({}, {}), std::invalid_argument);
  EXPECT_THROW(make_nlopt_search({box[0]}, {}), std::invalid_argument);  // BOBYQA on one variable
  EXPECT_THROW(make_mesh_search({{"x", "", 1, 1}}, {}), std::invalid_argument);
  MeshSearchOptions coarse;
  coarse.design_tolerance = 0.5;
  EXPECT_THROW(make_mesh_search(box, coarse), std::invalid_argument);
}

}  // namespace
}  // namespace dodyn::surrogate::test_searches
