#include "surrogate/sweep.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <stdexcept>

#include "tests/surrogate/search.hpp"

namespace dodyn::surrogate::test_sweep {
namespace {

Evaluation bowl(const Eigen::VectorXd& x) {
  Evaluation e;
  e.status = Status::ok;
  e.cost = (x.array() - 0.3).square().sum();
  return e;
}

std::vector<Variable> box(int dimensions) {
  std::vector<Variable> variables;
  for (int k = 0; k < dimensions; ++k) variables.push_back({"x" + std::to_string(k), "m", -1.0 * k, 1.0});
  return variables;
}

std::set<std::vector<double>> designs(const Search& r) {
  std::set<std::vector<double>> out;
  for (const Evaluation& e : r.evaluations) out.emplace(e.design.begin(), e.design.end());
  return out;
}

TEST(Sweep, AsksEveryPointOfTheGridOnce) {
  for (const auto& points : std::vector<std::vector<int>>{{1}, {2}, {3}, {7}, {16}, {25}, {5, 4}, {3, 1, 6}}) {
    const auto variables = box(points.size());
    const auto sweep = make_sweep(variables, {points});
    const Search r = search(*sweep, bowl, 1000000, 1000);
    std::size_t total = 1;
    for (const int n : points) total *= n;
    EXPECT_EQ(r.evaluations.size(), total);
    EXPECT_EQ(designs(r).size(), total);
    EXPECT_TRUE(r.stopped.find("swept all " + std::to_string(total) + " points: lowest cost") == 0) << r.stopped;
    for (std::size_t k = 0; k < points.size(); ++k) {
      std::set<double> values;
      for (const Evaluation& e : r.evaluations) values.insert(e.design[k]);
      ASSERT_EQ(std::ssize(values), points[k]);
      if (points[k] == 1) continue;
      EXPECT_EQ(*values.begin(), variables[k].lower);
      EXPECT_EQ(*values.rbegin(), variables[k].upper);
      const double step = (variables[k].upper - variables[k].lower) / (points[k] - 1);
      for (auto v = values.begin(); std::next(v) != values.end(); ++v) EXPECT_NEAR(*std::next(v) - *v, step, 1e-12);
    }
  }
}

TEST(Sweep, GoesFromCoarseToFine) {
  const auto sweep = make_sweep(box(1), {{9}});
  const Search r = search(*sweep, bowl);
  EXPECT_EQ(r.batches, (std::vector<std::size_t>{2, 1, 2, 4}));
  // after each batch the largest gap between evaluated points has halved
  const auto two = make_sweep(box(2), {{5, 5}});
  EXPECT_EQ(search(*two, bowl).batches, (std::vector<std::size_t>{4, 5, 16}));
}

TEST(Sweep, AFinerPointFindsAnEvaluatedNeighbour) {
  const int n = 25;
  const auto sweep = make_sweep(box(1), {{n}});
  std::vector<double> known;
  double gap = 1.0;
  while (sweep->stopped().empty()) {
    const auto batch = sweep->ask(100);
    for (const auto& x : batch) {
      double nearest = known.empty() ? 0 : HUGE_VAL;
      for (const double k : known) nearest = std::min(nearest, std::abs(k - x[0]));
      EXPECT_LE(nearest, gap);
    }
    for (const auto& x : batch) {
      known.push_back(x[0]);
      Evaluation e = bowl(x);
      e.design = x;
      sweep->tell(e);
    }
    std::sort(known.begin(), known.end());
    gap = 0;
    for (std::size_t i = 1; i < known.size(); ++i) gap = std::max(gap, (known[i] - known[i - 1]) / 2 + 0.5 / (n - 1));
  }
}

TEST(Sweep, TheSequenceDoesNotDependOnHowManyAreAskedAtATime) {
  const auto order = [](int at_most) {
    Search r = search(*make_sweep(box(2), {{6, 5}}), bowl, at_most);
    std::vector<std::vector<double>> out;
    for (const Evaluation& e : r.evaluations) out.emplace_back(e.design.begin(), e.design.end());
    return out;
  };
  EXPECT_EQ(order(1), order(1000));
  EXPECT_EQ(order(3), order(1000));
}

TEST(Sweep, WaitsForALevelBeforeTheNext) {
  const auto sweep = make_sweep(box(1), {{5}});
  const auto ends = sweep->ask(10);
  ASSERT_EQ(ends.size(), 2u);
  EXPECT_TRUE(sweep->ask(10).empty());
  Evaluation e = bowl(ends[1]);
  e.design = ends[1];
  sweep->tell(e);
  EXPECT_TRUE(sweep->ask(10).empty());
  e.design = ends[0];
  sweep->tell(e);
  EXPECT_EQ(sweep->ask(10).size(), 1u);
}

TEST(Sweep, ReplayGoesOnWhereItStopped) {
  const Search whole = search(*make_sweep(box(2), {{4, 5}}), bowl, 3);
  for (std::size_t known = 0; known <= whole.evaluations.size(); ++known) {
    const auto sweep = make_sweep(box(2), {{4, 5}});
    for (std::size_t i = 0; i < known; ++i) sweep->tell(whole.evaluations[i]);
    const Search rest = search(*sweep, bowl, 3);
    ASSERT_EQ(known + rest.evaluations.size(), whole.evaluations.size());
    for (std::size_t i = 0; i < rest.evaluations.size(); ++i)
      EXPECT_EQ(rest.evaluations[i].design, whole.evaluations[known + i].design);
  }
}

TEST(Sweep, ItsCurveInterpolatesTheGoodSamplesLinearly) {
  const auto sweep = make_sweep(box(1), {{9}});
  EXPECT_EQ(sweep->describe(17).grid.size(), 0);
  const Search r = search(*sweep, [](const Eigen::VectorXd& x) {
    Evaluation e = bowl(x);
    if (x[0] == 0.5) e.status = Status::infeasible;
    if (x[0] == 1.0) e.cost = NAN;
    return e;
  });
  const Iteration seen = sweep->describe(17);
  const auto f = [](double x) { return (x - 0.3) * (x - 0.3); };
  ASSERT_EQ(seen.value.size(), 17);
  for (int i = 0; i < 17; ++i) {
    const double x = i / 16.0;
    double expected = i % 2 == 0 ? f(x) : (f(x - 1 / 16.0) + f(x + 1 / 16.0)) / 2;
    if (x > 0.375 && x < 0.625) expected = f(0.375) + (f(0.625) - f(0.375)) * (x - 0.375) / 0.25;
    if (x > 0.875) expected = f(0.875);
    EXPECT_NEAR(seen.value[i], expected, 1e-14) << x;
  }
  EXPECT_EQ(seen.best_cost, f(0.25));
  EXPECT_EQ(seen.best_id, r.best().id);
  EXPECT_EQ(seen.lower.size(), 0);
  EXPECT_EQ(make_sweep(box(2), {{3}})->describe(17).grid.size(), 0);
}

TEST(Sweep, SaysWhereTheBestIs) {
  const Search bound = search(*make_sweep({{"knee", "m", 0.4, 0.8}}, {{5}}), bowl);
  EXPECT_NE(bound.stopped.find("at knee = 0.4 m (its lower bound)"), std::string::npos) << bound.stopped;
  const Search none = search(*make_sweep(box(1), {{3}}), [](const Eigen::VectorXd&) { return Evaluation{}; });
  EXPECT_EQ(none.stopped, "swept all 3 points, none with a usable cost");
}

TEST(Sweep, RejectsBadInput) {
  EXPECT_THROW(make_sweep({}, {}), std::invalid_argument);
  EXPECT_THROW(make_sweep(box(2), {{3, 3, 3}}), std::invalid_argument);
  EXPECT_THROW(make_sweep(box(2), {{3, 0}}), std::invalid_argument);
  EXPECT_THROW(make_sweep({{"x", "", 1.0, 1.0}}, {}), std::invalid_argument);
  EXPECT_THROW(make_sweep(box(5), {{100}}), std::invalid_argument);
  Evaluation e;
  e.design = Eigen::Vector2d(0, 1);
  EXPECT_THROW(make_sweep(box(1), {})->tell(e), std::invalid_argument);
}

}  // namespace
}  // namespace dodyn::surrogate::test_sweep
