#include "surrogate/stop_rule.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <deque>
#include <numbers>

#include "surrogate/ego.hpp"
#include "surrogate/random.hpp"
#include "surrogate/space_filling.hpp"
#include "tests/surrogate/search.hpp"

namespace dodyn::surrogate::test_stop_rule {
namespace {

using Eigen::Vector2d;
using Eigen::VectorXd;

const std::vector<Variable> square = {{"a", "", 0, 1}, {"b", "", 0, 1}};

TEST(StopRule, TakesDesignsInARowAsPredictedAndASurpriseOrAGainOpensItAnew) {
  StopRule stop_rule(2);
  const int needed = stop_rule.needed();
  ASSERT_GT(needed, 3);
  int designs = 0;
  const auto next = [&] {
    const VectorXd x = VectorXd::Constant(2, ++designs);
    stop_rule.expect(x, {Warp(), 1.0, 0.1, 1.0});
    return x;
  };
  const auto confirmed = [&](int times) {
    for (int i = 0; i < times; ++i) stop_rule.observe(next(), 1.05, false);
  };
  confirmed(needed - 1);
  EXPECT_FALSE(stop_rule.satisfied());
  stop_rule.observe(next(), 1.5, false);  // five standard deviations off
  EXPECT_EQ(stop_rule.confirmed(), 0);
  confirmed(needed - 1);
  stop_rule.observe(VectorXd::Zero(2), 0.2, true);  // without a prediction, but a gain
  EXPECT_EQ(stop_rule.confirmed(), 0);
  const VectorXd first = next(), second = next();  // observed in another order than expected
  EXPECT_FALSE(stop_rule.observe(second, 1.05, false));
  EXPECT_TRUE(stop_rule.observe(first, 0.8, false));  // lower than likely, within the band
  EXPECT_EQ(stop_rule.confirmed(), 2);
  stop_rule.observe(next(), {}, false);  // a failed check counts half
  EXPECT_EQ(stop_rule.confirmed(), 2.5);
  confirmed(needed - 2);
  EXPECT_TRUE(stop_rule.satisfied());
  stop_rule.set_failed_fraction(0.5);  // half of the designs failed
  EXPECT_FALSE(stop_rule.satisfied());
  stop_rule.set_failed_fraction(0);
  stop_rule.undecided_fraction(0.5);  // half of the box is undecided: more checks, and the verdict states it
  EXPECT_FALSE(stop_rule.satisfied());
  EXPECT_NE(stop_rule.verdict().find("50 %"), std::string::npos) << stop_rule.verdict();
  const double before = stop_rule.confirmed();
  stop_rule.observe(VectorXd::Zero(2), 7.0, false);  // neither expected nor a gain: changes nothing
  EXPECT_EQ(stop_rule.confirmed(), before);
}

// Far from all samples any result agrees with the model.
TEST(StopRule, APredictionThatSaysLittleConfirmsNothing) {
  StopRule stop_rule(2);
  const VectorXd near = Vector2d(0.1, 0.1), far = Vector2d(0.9, 0.9), surprising = Vector2d(0.5, 0.9);
  stop_rule.expect(near, {.warp = Warp(), .mean = 1, .deviation = 0.1, .scale = 1, .unexplained = 0.01});
  stop_rule.expect(far, {.warp = Warp(), .mean = 1, .deviation = 1, .scale = 1, .unexplained = 0.9});
  stop_rule.expect(surprising, {.warp = Warp(), .mean = 1, .deviation = 1, .scale = 1, .unexplained = 0.9});
  stop_rule.observe(near, 1.05, false);
  EXPECT_EQ(stop_rule.confirmed(), 1);
  stop_rule.observe(far, 1.5, false);
  EXPECT_EQ(stop_rule.confirmed(), 1);
  stop_rule.observe(surprising, 9, false);
  EXPECT_EQ(stop_rule.confirmed(), 0);
}

Evaluation worth(double cost) {
  Evaluation e;
  e.status = Status::ok;
  e.cost = cost;
  return e;
}

// With one or two usable samples there is no reliable model: the search continues until more designs evaluate.
TEST(Stopping, NotOnAHandfulOfUsableSamples) {
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    EgoOptions o;
    o.seed = seed;
    const Vector2d centre(0.3, 0.7), best(0.33, 0.66);
    const Search s = search(
        *make_ego(square, o),
        [&](const VectorXd& x) {
          Evaluation e = worth(1 + (x - best).squaredNorm());
          if ((x - centre).norm() > 0.15) e.status = Status::failed;
          return e;
        },
        8, 60);
    EXPECT_LT(s.best().cost, 1.01) << seed << ": " << s.stopped;
  }
}

// A rate of 1 nearly everywhere.
TEST(Stopping, NotOnAPlateau) {
  int solved = 0;
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    EgoOptions o;
    o.seed = seed;
    Random random(seed);
    const Vector2d centre(0.15 + 0.7 * random.uniform(), 0.15 + 0.7 * random.uniform());
    const Search s = search(
        *make_ego(square, o),
        [&](const VectorXd& x) { return worth(std::min(1.0, (x - centre).squaredNorm() / 0.0225)); }, 8, 60);
    solved += s.best().cost < 0.02;
    for (std::size_t i = 0; i < s.evaluations.size(); ++i)
      for (std::size_t j = 0; j < i; ++j)
        EXPECT_GT((s.evaluations[i].design - s.evaluations[j].design).cwiseAbs().maxCoeff(), 1e-8);
  }
  EXPECT_GE(solved, 7);
}

// The same with standard errors, and with a rate of failed trials, which has an error even if all trials fail.
TEST(Stopping, NotOnAPlateauOfNoisyCosts) {
  for (const bool rate : {false, true}) {
    int solved = 0;
    for (std::uint64_t seed = 0; seed < 6; ++seed) {
      EgoOptions o;
      o.seed = seed;
      Random random(40 + seed);
      const Vector2d centre(0.15 + 0.7 * random.uniform(), 0.15 + 0.7 * random.uniform());
      const auto truth = [&](const VectorXd& x) { return std::min(1.0, (x - centre).squaredNorm() / 0.0225); };
      const auto strategy = make_ego(square, o);
      search(
          *strategy,
          [&](const VectorXd& x) {
            Evaluation e = worth(truth(x) + 0.05 * random.normal());
            e.cost_stderr = 0.05;
            if (!rate) return e;
            constexpr int trials = 48;
            int failed = 0;
            for (int i = 0; i < trials; ++i) failed += random.uniform() < truth(x);
            const double p = (failed + 2.0) / (trials + 4);
            e.cost = static_cast<double>(failed) / trials;
            e.cost_stderr = std::sqrt(p * (1 - p) / (trials + 4));
            return e;
          },
          8, 80);
      const VectorXd recommended = strategy->describe(0).recommended;
      ASSERT_EQ(recommended.size(), 2);
      solved += truth(recommended) < 0.1;
    }
    EXPECT_GE(solved, 5) << rate;
  }
}

TEST(Stopping, AConstantCostEndsAndIsSaidToBeOne) {
  const Search s = search(
      *make_ego(square, {}), [](const VectorXd&) { return worth(3); }, 1, 100);
  EXPECT_LT(s.evaluations.size(), 60u);
  EXPECT_NE(s.stopped.find("the same wherever it was evaluated"), std::string::npos) << s.stopped;
  EXPECT_TRUE(s.stopped.starts_with(same_cost)) << s.stopped;
  Random random(3);
  const Search noisy = search(
      *make_ego(square, {}),
      [&](const VectorXd&) {
        Evaluation e = worth(3 + 0.2 * random.normal());
        e.cost_stderr = 0.2;
        return e;
      },
      1, 100);
  EXPECT_LT(noisy.evaluations.size(), 120u);
  EXPECT_NE(noisy.stopped.find("the same, within its standard errors"), std::string::npos) << noisy.stopped;
  EXPECT_TRUE(noisy.stopped.starts_with(same_cost)) << noisy.stopped;
}

// The optimum is on the edge of the region in which designs evaluate.
TEST(Stopping, AnEdgeIsApproachedFromInside) {
  int solved = 0;
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    EgoOptions o;
    o.seed = seed;
    const Search s = search(
        *make_ego(square, o),
        [&](const VectorXd& x) {
          Evaluation e = worth(0.6 + x(1) - 0.4 * x(0) + std::pow(x(0) - 0.6, 2));
          if (x(1) < 0.5 - 0.2 * x(0)) e.status = Status::failed;
          return e;
        },
        8, 60);
    // on the edge b = 0.5 - 0.2 a: 1.1 - 0.6 a + (a - 0.6)^2, minimum at a = 0.9
    solved += s.best().cost < 1.01 * (1.1 - 0.54 + 0.09);
  }
  EXPECT_GE(solved, 6);
}

// A ball fails, the cost falls towards a place within it: in three variables the search must slide along a curved edge.
TEST(Stopping, ACurvedEdgeInThreeVariablesIsFollowed) {
  const std::vector<Variable> box = {{"a", "", 0, 1}, {"b", "", 0, 1}, {"c", "", 0, 1}};
  int solved = 0;
  for (std::uint64_t seed = 0; seed < 2; ++seed) {
    EgoOptions o;
    o.seed = seed;
    const VectorXd centre = Eigen::Vector3d(0.5, 0.45, 0.55), goal = centre + Eigen::Vector3d(0.06, -0.04, 0.05);
    const double radius = 0.3, least = 0.1 + radius - (goal - centre).norm();
    const Search s = search(
        *make_ego(box, o),
        [&](const VectorXd& x) {
          Evaluation e = worth(0.1 + (x - goal).norm());
          if ((x - centre).norm() < radius) e.status = Status::failed;
          return e;
        },
        8, 80);
    solved += s.best().cost < 1.01 * least;
  }
  EXPECT_EQ(solved, 2);
}

// Designs of batches are compared with their predictions, too.
TEST(Stopping, BatchesEnd) {
  EgoOptions o;
  o.batch = 4;
  const Search s = search(
      *make_ego(square, o), [](const VectorXd& x) { return worth(1 + (x - Vector2d(0.3, 0.6)).squaredNorm()); }, 4,
      120);
  EXPECT_FALSE(s.stopped.empty());
  EXPECT_LT(s.best().cost, 1.0001);
}

// Returns a search in which `count` designs run at a time, and the oldest of them ends first.
Search search_with_running(Strategy& strategy, const Function& f, std::size_t count, std::size_t limit) {
  Search out;
  std::deque<VectorXd> running;
  const auto fill = [&] {
    while (running.size() < count) {
      const auto designs = strategy.ask(count - running.size());
      if (designs.empty()) return;
      running.insert(running.end(), designs.begin(), designs.end());
    }
  };
  for (fill(); !running.empty() && out.evaluations.size() < limit; fill()) {
    Evaluation e = f(running.front());
    e.design = running.front();
    e.id = static_cast<std::int64_t>(out.evaluations.size());
    running.pop_front();
    out.evaluations.push_back(e);
    strategy.tell(e);
    strategy.decide();
  }
  out.stopped = strategy.stopped();
  return out;
}

// Branin's function: three minima of equal depth. Designs near them always run, and are no reason to mistrust the
// model.
TEST(Stopping, SearchesWithManyRunningDesignsEnd) {
  const std::vector<Variable> box = {{"a", "", -5, 10}, {"b", "", 0, 15}};
  const auto branin = [](const VectorXd& x) {
    using std::numbers::pi;
    const double valley = x(1) - 5.1 / (4 * pi * pi) * x(0) * x(0) + 5 / pi * x(0) - 6;
    return worth(valley * valley + 10 * (1 - 1 / (8 * pi)) * std::cos(x(0)) + 10);
  };
  int ended = 0;
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    EgoOptions o;
    o.seed = seed;
    const Search s = search_with_running(*make_ego(box, o), branin, 16, 180);
    ended += !s.stopped.empty();
    EXPECT_LT(s.best().cost, 0.3983) << "seed " << seed;
  }
  EXPECT_GE(ended, 4);
}

// A kink: the smooth model extrapolates wrongly, and a model with shorter lengths decides nothing.
TEST(Stopping, AnEndThatLeavesMostOfTheBoxOpenSaysSo) {
  const Search s = search(
      *make_ego(square, {}), [](const VectorXd& x) { return worth(1 + std::abs(x(0) - 0.3) + std::abs(x(1) - 0.6)); },
      1, 150);
  EXPECT_TRUE(s.stopped.starts_with(mostly_undecided)) << s.stopped;
  const std::size_t share = s.stopped.find('(');
  ASSERT_NE(share, std::string::npos) << s.stopped;
  EXPECT_GT(std::stod(s.stopped.substr(share + 1)), 90.0) << s.stopped;
  EXPECT_NE(s.stopped.find(" % of the design range may still contain a better one)"), std::string::npos) << s.stopped;
}

// 90 % of the box cost less than the optimum, but violate the constraint. They are not better designs.
TEST(Stopping, DesignsThatViolateAConstraintAreDecided) {
  EgoOptions o;
  o.constraints = {{"product", 0, 0.5, false}};
  const Search s = search(
      *make_ego(square, o),
      [](const VectorXd& x) {
        Evaluation e = worth(x.sum());
        e.metrics = VectorXd::Constant(1, x.prod());
        return e;
      },
      1, 60);
  EXPECT_TRUE(s.stopped.starts_with("the surrogate expects no further gain")) << s.stopped;
  double least = infinity;
  for (const Evaluation& e : s.evaluations)
    if (e.metrics(0) >= 0.5) least = std::min(least, e.cost);
  EXPECT_NEAR(least, 2 * std::sqrt(0.5), 1e-3);
}

// The shares of the designs that run and of those in the searched basin.
TEST(BasinSearch, FewOfManyRunningDesignsDescend) {
  EgoOptions o;
  o.initial_samples = 10;
  std::vector<Variable> box(4, {"a", "", 0, 1});
  const auto ego = make_ego(box, o);
  // a deep hollow and a wide one
  const VectorXd deep = VectorXd::Constant(4, 0.8), wide = VectorXd::Constant(4, 0.2);
  const auto hollows = [&](const VectorXd& x) {
    return worth(-2 * std::exp(-20 * (x - deep).squaredNorm()) - std::exp(-4 * (x - wide).squaredNorm()));
  };
  const Search s = search_with_running(*ego, hollows, 32, 160);
  std::size_t most = 0;
  for (std::size_t first = 0; first + 32 <= s.evaluations.size(); ++first) {
    std::size_t inside = 0;
    for (std::size_t i = first; i < first + 32; ++i)
      inside += (s.evaluations[i].design - s.evaluations[first].design).cwiseAbs().maxCoeff() < 0.3;
    most = std::max(most, inside);
  }
  EXPECT_LT(most, 32U);
}

// Designs of the first batch cost no more time than the automatic number of initial designs.
TEST(Stopping, AutomaticInitialDesignsFillABatch) {
  EgoOptions o;
  o.batch = 16;
  EXPECT_EQ(make_ego(square, o)->ask(64).size(), 16U);
  o.initial_samples = 5;
  EXPECT_EQ(make_ego(square, o)->ask(64).size(), 5U);
}

TEST(NearestDistance, AWallIsAMirror) {
  ObservedData observed{.space = DesignSpace(square, {}, "test"), .constraints = {}, .objectives = {-1}};
  Evaluation e = worth(1);
  e.design = Vector2d(0.5, 0.5);
  observed.evaluations.push_back(e);
  const NearestDistance crowd(observed);
  EXPECT_DOUBLE_EQ(crowd.room(Vector2d(0.5, 0.5)), 0);
  EXPECT_DOUBLE_EQ(crowd.room(Vector2d(0.1, 0.5)), 0.2);
  EXPECT_DOUBLE_EQ(crowd.room(Vector2d(0.25, 0.5)), 0.25);
  EXPECT_DOUBLE_EQ(crowd.room(Vector2d(0, 0)), 0);
}

TEST(ObservedData, APlateauIsACostThatManyShareAndSomeBeat) {
  ObservedData observed{.space = DesignSpace(square, {}, "test"), .constraints = {}, .objectives = {-1}};
  const auto tell = [&](double cost, int times) {
    for (int i = 0; i < times; ++i) observed.evaluations.push_back(worth(cost));
    observed.find_plateau();
  };
  tell(1, 3);
  EXPECT_FALSE(observed.plateau);
  tell(1, 2);
  ASSERT_TRUE(observed.plateau);
  EXPECT_EQ(observed.plateau->cost, 1);  // the same everywhere
  tell(0.5, 1);
  ASSERT_TRUE(observed.plateau);
  EXPECT_EQ(observed.plateau->cost, 1);
  EXPECT_FALSE(observed.is_informative(worth(1)));
  EXPECT_TRUE(observed.is_informative(worth(0.5)));
  tell(0.5, 9);  // the best is no plateau, however many have it
  ASSERT_TRUE(observed.plateau);
  EXPECT_EQ(observed.plateau->cost, 1);
  tell(0.2, 20);
  EXPECT_FALSE(observed.plateau && observed.plateau->cost == 0.2);
}

// Costs with standard errors. Costs that agree within their errors are a plateau; a slope with equally small steps is
// none, nor are many similar costs of a smooth function.
TEST(ObservedData, APlateauIsSharedWithinStandardErrors) {
  int found = 0, of_slope = 0, of_waves = 0;
  constexpr int seeds = 40;
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    Random random(seed);
    ObservedData flat{.space = DesignSpace(square, {}, "test"), .constraints = {}, .objectives = {-1}}, slope = flat,
                                                                                                        waves = flat;
    for (int i = 0; i < 40; ++i) {
      Evaluation e = worth(0);
      const VectorXd x = e.design = Vector2d(random.uniform(), random.uniform());
      e.cost_stderr = 0.05;
      const auto tell = [&](ObservedData& to, double cost) {
        to.evaluations.push_back(e);
        to.evaluations.back().cost = cost + e.cost_stderr * random.normal();
      };
      tell(flat, i % 8 == 7 ? 0.3 : 1.0);
      tell(slope, 1 + 0.25 * x(0) + 0.1 * x(1));
      tell(waves, std::sin(5 * x(0)) + std::cos(4 * x(1)));
    }
    flat.find_plateau();
    slope.find_plateau();
    waves.find_plateau();
    if (flat.plateau) {
      ++found;
      EXPECT_NEAR(flat.plateau->cost, 1, 0.05);
      for (const Evaluation& e : flat.evaluations) EXPECT_EQ(flat.is_informative(e), e.cost < 0.65) << e.cost;
    }
    of_slope += slope.plateau.has_value();
    of_waves += waves.plateau.has_value();
  }
  EXPECT_GE(found, 36);  // a permutation test refuses 5 %
  EXPECT_LE(of_slope, 4);
  EXPECT_LE(of_waves, 2);
}

}  // namespace
}  // namespace dodyn::surrogate::test_stop_rule
