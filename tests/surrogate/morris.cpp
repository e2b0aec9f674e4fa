#include "surrogate/morris.hpp"

#include <gtest/gtest.h>

#include <set>

#include "search.hpp"

namespace dodyn::surrogate::test_morris {
namespace {

using Eigen::VectorXd;

const std::vector<Variable> four = {{"a", "m", -1, 3}, {"b", "", 0, 1}, {"c", "", 10, 20}, {"d", "", 0, 2}};

double cost_of(const Evaluation& e) { return e.ok() ? e.cost : not_a_number; }

Search screened(const Function& f, const MorrisOptions& options, int at_most = 100) {
  return search(*make_morris(four, options), f, at_most);
}

ElementaryEffects effects_of(const Search& s) {
  return elementary_effects(DesignSpace(four, {}, "test"), s.evaluations, cost_of);
}

// Steps of a linear function are its slopes, wherever they are.
TEST(Morris, LinearFunctionsExactly) {
  const Eigen::Vector4d slope(2, -30, 0, 0.5);
  const Function f = [&](const VectorXd& x) {
    Evaluation e;
    e.status = Status::ok;
    e.cost = 7 + slope.dot(x);
    return e;
  };
  for (const std::uint64_t seed : {1, 2, 3}) {
    const Search s = screened(f, {.trajectories = 6, .seed = seed});
    EXPECT_EQ(s.evaluations.size(), 6u * 5u);
    const ElementaryEffects found = effects_of(s);
    for (int i = 0; i < 4; ++i) {
      const double change = slope(i) * (four[i].upper - four[i].lower);
      EXPECT_GE(found.count(i), 6);
      EXPECT_NEAR(found.mean(i), change, 1e-9);
      EXPECT_NEAR(found.mean_magnitude(i), std::abs(change), 1e-9);
      EXPECT_NEAR(found.deviation(i), 0, 1e-9);
    }
    EXPECT_LT(s.stopped.find("b 30"), s.stopped.find("a 8")) << s.stopped;
  }
}

// An effect of second order has the slope at the middle of its step, a product the value of the other factor.
TEST(Morris, NonlinearAndJointEffectsSpread) {
  const Function f = [](const VectorXd& x) {
    Evaluation e;
    e.status = Status::ok;
    e.cost = 3 * x(1) * (x(3) / 2 - 0.5) + 0.1 * (x(0) + 1) / 4;
    return e;
  };
  const Search s = screened(f, {.trajectories = 60, .seed = 5});
  const ElementaryEffects found = effects_of(s);
  // factor of b, in steps that change b alone
  double sum = 0, magnitude = 0;
  int steps = 0;
  for (std::size_t i = 1; i < s.evaluations.size(); ++i) {
    const VectorXd moved = s.evaluations[i].design - s.evaluations[i - 1].design;
    if (moved(1) == 0 || moved(0) != 0 || moved(2) != 0 || moved(3) != 0) continue;
    const double factor = 3 * (s.evaluations[i].design(3) / 2 - 0.5);
    sum += factor, magnitude += std::abs(factor), ++steps;
  }
  EXPECT_EQ(found.count(1), steps);
  EXPECT_NEAR(found.mean_magnitude(1), magnitude / steps, 1e-9);
  EXPECT_NEAR(found.mean(1), sum / steps, 1e-9);
  EXPECT_LT(std::abs(found.mean(1)), 0.4 * found.mean_magnitude(1));
  EXPECT_GT(found.deviation(1), found.mean_magnitude(1));
  EXPECT_NEAR(found.mean(0), 0.1, 1e-9);
  EXPECT_EQ(found.mean_magnitude(2), 0);
}

TEST(Morris, AFailureCostsTheStepsThatTouchIt) {
  int count = 0;
  const Function f = [&](const VectorXd& x) {
    Evaluation e;
    e.status = count++ == 7 ? Status::failed : Status::ok;  // within the second trajectory
    e.cost = x.sum();
    return e;
  };
  const Search whole = screened(
      [](const VectorXd& x) {
        Evaluation e;
        e.status = Status::ok;
        e.cost = x.sum();
        return e;
      },
      {.seed = 3});
  const Search s = screened(f, {.seed = 3});
  EXPECT_EQ(effects_of(whole).count.sum() - effects_of(s).count.sum(), 2);
  EXPECT_NE(s.stopped.find("10 trajectories"), std::string::npos) << s.stopped;
}

TEST(Morris, AsksTheSameHoweverManyAtATimeAndStaysWhereDesignsCanBe) {
  const Function f = [](const VectorXd& x) {
    Evaluation e;
    e.status = Status::ok;
    e.cost = x.squaredNorm();
    return e;
  };
  MorrisOptions o{.seed = 9};
  o.possible = [](const VectorXd& x) { return x(1) + x(3) <= 2.5; };
  const Search one = screened(f, o, 1), many = screened(f, o, 7);
  ASSERT_EQ(one.evaluations.size(), many.evaluations.size());
  EXPECT_LT(one.evaluations.size(), 50u);
  for (std::size_t i = 0; i < one.evaluations.size(); ++i) {
    EXPECT_EQ(one.evaluations[i].design, many.evaluations[i].design);
    EXPECT_TRUE(o.possible(one.evaluations[i].design));
  }
  EXPECT_THROW(make_morris(four, {.trajectories = 1}), std::invalid_argument);
}

}  // namespace
}  // namespace dodyn::surrogate::test_morris
