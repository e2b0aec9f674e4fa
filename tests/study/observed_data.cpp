// The recommended evaluation of an archive, and the settings that it depends on.
#include "study/observed_data.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "evaluators/simulation/outcome_statistics.hpp"
#include "settings/config_error.hpp"
#include "tests/message_of.hpp"

namespace dodyn::study::test_observed_data {
namespace {

Eigen::VectorXd at(double x) { return Eigen::VectorXd::Constant(1, x); }

// Costs 3, 1, 2, 4 at 0, 1, 2, 3. The first design is evaluated twice, the second time with less noise.
archive::Contents five_evaluations(double noise) {
  archive::Contents contents;
  contents.layout.variables = {{"x", "m", 0, 4}};
  contents.layout.metrics = {{"work", "J", ""}};
  const double costs[] = {3, 1, 2, 4, 3.5};
  for (int id = 0; id < 5; ++id) {
    Evaluation e;
    e.id = id;
    e.status = Status::ok;
    e.design = at(id % 4);
    e.cost = costs[id];
    e.cost_stderr = id == 4 ? 0.5 * noise : noise;
    e.metrics = at(5 - id);
    contents.evaluations.push_back(e);
  }
  return contents;
}

std::int64_t recommended(const archive::Contents& contents) {
  const surrogate::ObservedData observed = observed_data(contents);
  const Evaluation* const found = recommended_of(contents, observed);
  return found ? found->id : -1;
}

TEST(Recommended, IsTheLowestCostWithoutNoise) {
  archive::Contents contents = five_evaluations(0.0);
  contents.iterations.resize(1);
  contents.iterations[0].recommended = at(3);
  EXPECT_EQ(recommended(contents), 1);
  contents.evaluations[1].status = Status::failed;
  EXPECT_EQ(recommended(contents), 2);
  contents.provenance.configuration = {{"surrogate.objectives", "work"}};
  EXPECT_EQ(recommended(contents), 4);
  contents.provenance.configuration = {{"surrogate.objectives", "cost, work"}};  // a front
  EXPECT_EQ(recommended(contents), -1);
  contents.provenance.configuration = {{"surrogate.constraints", "work <= 2"}};
  EXPECT_EQ(recommended(contents), 4);
  contents.provenance.configuration = {{"surrogate.constraints", "work <= 0.5"}};
  EXPECT_EQ(recommended(contents), -1);
  contents.provenance.configuration = {{"surrogate.constraints", "wrok <= 2"}};
  const std::string line = message_of<ConfigError>([&] { observed_data(contents); });
  EXPECT_TRUE(line.starts_with("the archive's configuration: ")) << line;
}

// Metrics of `simulation` after n tries: fractions of two outcomes and of breakdowns, and the Wilson interval.
archive::Contents tried(const std::string& scenario, const std::vector<int>& failures, int n, bool cost_is_rate) {
  archive::Contents contents;
  contents.layout.variables = {{"x", "m", 0, 4}};
  for (const char* name : {"cost", "docked", "lost", "failed", "failure_rate_low", "failure_rate_high", "time"})
    if (!scenario.empty() || std::string(name) != "cost") contents.layout.metrics.push_back({scenario + name, "1", ""});
  for (const int count : failures) {
    Evaluation e;
    e.id = static_cast<std::int64_t>(contents.evaluations.size());
    e.status = Status::ok;
    e.design = at(1);
    const double rate = static_cast<double>(count) / n;
    const auto [low, high] = evaluators::simulation::wilson_interval(count, n);
    e.cost = cost_is_rate ? rate : 0.5 * (low + high);  // another number within the interval
    const std::vector<double> numbers = {e.cost, 1 - rate, 0.75 * rate, 0.25 * rate, low, high, 0.3};
    const Eigen::Index first = scenario.empty();
    e.metrics = Eigen::Map<const Eigen::VectorXd>(numbers.data(), 7).tail(7 - first);
    contents.evaluations.push_back(e);
  }
  return contents;
}

TEST(Rates, AreKnownByTheMetrics) {
  for (const int n : {1, 7, 500}) {
    EXPECT_EQ(rates_of(tried("", {0, n}, n, true)), (std::vector{-1, 3, 4, 0, 1, 2})) << n;
    EXPECT_EQ(rates_of(tried("near:", {0, n / 2, n}, n, true)), (std::vector{0, 4, 5, 1, 2, 3, -1})) << n;
  }
  EXPECT_EQ(rates_of(tried("", {1, 3, 250, 499}, 500, true)).front(), -1);
  EXPECT_EQ(rates_of(tried("", {3, 11}, 20, false)), (std::vector{0, 1, 2}));  // another cost: only the fractions
  EXPECT_TRUE(rates_of(five_evaluations(0.2)).empty());
  archive::Contents scenarios = tried("near:", {3, 4}, 9, true);
  scenarios.evaluations[1].cost = 4.0;  // a sum with large weights
  EXPECT_EQ(rates_of(scenarios), (std::vector{0, 4, 5, 1, 2, 3}));
  archive::Contents more = tried("", {2, 3}, 9, true);
  more.evaluations[1].metrics(1) = 0.9;  // not fractions of one whole
  EXPECT_EQ(rates_of(more), (std::vector{-1, 3, 4}));
  more.evaluations[1].status = Status::failed;  // its numbers do not count
  EXPECT_EQ(rates_of(more), (std::vector{-1, 3, 4, 0, 1, 2}));
}

// Costs (x - 2)^2 with errors of 0.2, and a lucky cost away from the minimum.
TEST(RecommendedByModel, IsNotTheLuckyDesign) {
  archive::Contents contents;
  contents.layout.variables = {{"x", "m", 0, 4}};
  constexpr int count = 41, lucky = 24;
  for (int id = 0; id < count; ++id) {
    Evaluation e;
    e.id = id;
    e.status = Status::ok;
    e.design = at(0.1 * id);
    e.cost = std::pow(e.design(0) - 2, 2) + (id == lucky ? -0.5 : id % 2 ? 0.15 : -0.15);
    e.cost_stderr = 0.2;
    contents.evaluations.push_back(e);
  }
  EXPECT_EQ(observed_data(contents).best()->id, lucky);
  EXPECT_NEAR(recommended_by_model(contents)(0), 2, 0.3);
  contents.layout.channels.resize(1);  // shared initial states
  contents.layout.channels[0].name = channel_of_states;
  contents.layout.channels[0].coordinates = {std::string(cost_of_state)};
  EXPECT_EQ(recommended_by_model(contents).size(), 0);
  contents.layout.channels.clear();
  for (Evaluation& e : contents.evaluations) e.cost_stderr = 0;  // exact costs need no model
  EXPECT_EQ(recommended_by_model(contents).size(), 0);
  contents.evaluations.resize(1);  // too few for a model
  contents.evaluations[0].cost_stderr = 0.2;
  EXPECT_EQ(recommended_by_model(contents).size(), 0);
}

TEST(Recommended, IsTheSearchsLastOneWithNoise) {
  archive::Contents contents = five_evaluations(0.2);
  EXPECT_EQ(recommended(contents), 1);  // of a search without a model
  contents.iterations.resize(4);
  contents.iterations[0].recommended = at(3);
  contents.iterations[1].recommended = at(0);
  contents.iterations[2].recommended = at(not_a_number);
  contents.iterations[3].recommended = Eigen::VectorXd();
  EXPECT_EQ(recommended(contents), 4);           // of two evaluations of a design, the one with less noise
  contents.iterations[1].recommended = at(0.5);  // which was not evaluated
  EXPECT_EQ(recommended(contents), 3);
  contents.evaluations[3].status = Status::failed;
  EXPECT_EQ(recommended(contents), 1);
}

TEST(TextIn, IsEmptyWithoutTheKey) {
  EXPECT_EQ(text_in({{"a", "1"}, {"b", "2"}}, "b"), "2");
  EXPECT_EQ(text_in({{"a", "1"}}, "b"), "");
}

}  // namespace
}  // namespace dodyn::study::test_observed_data
