#include "surrogate/local_descent.hpp"

#include <gtest/gtest.h>

#include <Eigen/QR>
#include <cmath>
#include <functional>

#include "surrogate/ego.hpp"
#include "surrogate/sampling.hpp"
#include "tests/surrogate/search.hpp"

namespace dodyn::surrogate::test_local_descent {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

// A quadratic with curvatures from 1 to 10^decades along directions that are no axes.
struct Bowl {
  explicit Bowl(Index d, std::uint64_t seed, double decades = 2) : at(0.3 + 0.4 * latin_hypercube(d, 1, seed).array()) {
    const MatrixXd random = latin_hypercube(d, d, seed + 7).array() - 0.5;
    const MatrixXd axes = random.householderQr().householderQ();
    hessian = axes *
              VectorXd::LinSpaced(d, 0, decades).unaryExpr([](double e) { return std::pow(10, e); }).asDiagonal() *
              axes.transpose();
  }
  Evaluation operator()(const VectorXd& unit) const {
    Evaluation e;
    e.status = Status::ok;
    e.cost = 1 + 0.5 * (unit - at).dot(hessian * (unit - at));
    e.gradient = hessian * (unit - at);
    return e;
  }
  VectorXd at;
  MatrixXd hessian;
};

ObservedData observed_in(const std::vector<Variable>& box, const std::vector<Domain>& domains = {}) {
  return {.space = DesignSpace(box, domains, "test"), .constraints = {}, .objectives = {-1}};
}

// Descends from a Latin hypercube until the descent has converged.
std::vector<VectorXd> descend(ObservedData& observed, const Function& f, double tolerance, bool gradient = false,
                              std::size_t limit = 200) {
  const int d = observed.space.dimensions();
  const MatrixXd first = latin_hypercube(d, gradient ? 3 : 2 * d + 2, 1);
  std::vector<VectorXd> units;
  LocalDescent descent;
  while (units.size() < limit) {
    const std::size_t i = units.size();
    LocalDescent::Step step;
    VectorXd unit;
    if (i < static_cast<std::size_t>(first.cols())) {
      unit = first.col(i);
    } else {
      step = descent.step(observed, tolerance, gradient);
      if (step.at.size() == 0) break;
      unit = step.at;
    }
    const double before = observed.best() ? observed.best()->cost : NAN;
    Evaluation e = f(unit);
    e.design = observed.space.design(unit);
    observed.evaluations.push_back(e);
    descent.observe(observed, step, std::max(0.0, before - observed.best()->cost), tolerance);
    units.push_back(unit);
  }
  return units;
}

TEST(LocalDescent, SolvesAQuadraticToTheTolerance) {
  for (Index d = 1; d <= 5; ++d)
    for (const std::uint64_t seed : {1, 2, 3}) {
      const Bowl bowl(d, seed);
      ObservedData observed = observed_in(std::vector<Variable>(d, {"x", "", 0, 1}));
      const auto units = descend(observed, bowl, 1e-6);
      EXPECT_LT(observed.best()->cost - 1, 1e-6) << d << ", seed " << seed;
      // the first ones, 4 for each variable, and those that determine a quadratic
      const auto most = static_cast<std::size_t>((d + 1) * (d + 2) / 2 + 4 * d + 6);
      EXPECT_LE(units.size(), most) << d << ", seed " << seed;
    }
}

// A valley that is 1000 times longer than wide needs at most twice the evaluations that determine a quadratic.
TEST(LocalDescent, FollowsANarrowValley) {
  for (const Index d : {2, 5})
    for (const std::uint64_t seed : {1, 2, 3, 4, 5}) {
      const Bowl bowl(d, seed, 6);
      ObservedData observed = observed_in(std::vector<Variable>(d, {"x", "", 0, 1}));
      const auto units = descend(observed, bowl, 1e-6);
      EXPECT_LT(observed.best()->cost - 1, 1e-6) << d << ", seed " << seed;
      EXPECT_LE(units.size(), (d + 1) * (d + 2)) << d << ", seed " << seed;
    }
}

// With gradients at most two evaluations for each variable and a few more solve a quadratic, however narrow its valley is.
TEST(LocalDescent, GradientsSpareEvaluations) {
  for (const Index d : {1, 2, 5, 9, 20, 40})
    for (const std::uint64_t seed : {1, 2, 3}) {
      const Bowl bowl(d, seed, 4);
      ObservedData observed = observed_in(std::vector<Variable>(d, {"x", "", -1, 3}));
      const auto units = descend(
          observed,
          [&](const VectorXd& unit) {
            Evaluation e = bowl(unit);
            e.gradient /= 4;  // by the design, whose range is 4
            return e;
          },
          1e-6, true);
      EXPECT_LT(observed.best()->cost - 1, 1e-6) << d << ", seed " << seed;
      EXPECT_LE(units.size(), 2 * d + 16) << d << ", seed " << seed;
    }
}

// A minimum at bounds is found as soon, and no step leaves the box.
TEST(LocalDescent, GradientsLeadToAMinimumAtBounds) {
  for (const Index d : {2, 5, 20}) {
    Bowl bowl(d, 1, 0);
    const VectorXd minimum = VectorXd::LinSpaced(d, -0.5, 1.5);
    bowl.at = minimum;  // axes of one curvature: the minimum in the box is the nearest point
    ObservedData observed = observed_in(std::vector<Variable>(d, {"x", "", 0, 1}));
    const auto units = descend(observed, bowl, 1e-6, true);
    for (const VectorXd& u : units) EXPECT_TRUE(u.minCoeff() >= 0 && u.maxCoeff() <= 1) << u.transpose();
    EXPECT_LT((observed.best()->design - minimum.cwiseMax(0).cwiseMin(1)).cwiseAbs().maxCoeff(), 1e-6) << d;
    EXPECT_LE(units.size(), 20u) << d;
  }
}

// Rosenbrock's function on [-2, 2], with its gradient.
Evaluation rosenbrock(const VectorXd& x) {
  Evaluation e;
  e.status = Status::ok;
  e.cost = 0;
  e.gradient = VectorXd::Zero(x.size());
  for (Index i = 0; i + 1 < x.size(); ++i) {
    const double valley = x(i + 1) - x(i) * x(i), to_one = 1 - x(i);
    e.cost += 100 * valley * valley + to_one * to_one;
    e.gradient(i) += -400 * x(i) * valley - 2 * to_one;
    e.gradient(i + 1) += 200 * valley;
  }
  return e;
}

// Runs a search with gradients on Rosenbrock's function until its cost is below 1e-8.
std::vector<Evaluation> follow_valley(int variables, std::size_t limit) {
  EgoOptions o;
  o.gradient = true;
  o.trust_region = variables > 9;
  o.seed = 2;
  const auto strategy = make_ego(std::vector<Variable>(variables, {"x", "", -2, 2}), o);
  std::vector<Evaluation> all;
  while (all.size() < limit && (all.empty() || all.back().cost > 1e-8)) {
    const auto designs = strategy->ask(1);
    if (designs.empty()) break;
    all.push_back(rosenbrock(designs[0]));
    all.back().design = designs[0];
    strategy->tell(all.back());
    strategy->decide();
  }
  return all;
}

// `ego` follows a curved valley to its end in few variables, `trust-region` in many; again by the same designs.
TEST(LocalDescent, ASearchWithGradientsFollowsACurvedValley) {
  for (const int d : {5, 10, 20}) {
    const std::size_t limit = 10 * d + 50;
    const auto all = follow_valley(d, limit), again = follow_valley(d, limit);
    EXPECT_LT(all.back().cost, 1e-8) << d << ", after " << all.size();
    ASSERT_EQ(all.size(), again.size());
    for (std::size_t i = 0; i < all.size(); ++i) EXPECT_EQ(all[i].design, again[i].design) << d << ", " << i;
  }
}

// Neither the units of the design and of the cost nor a constant cost changes a step.
TEST(LocalDescent, DoesNotDependOnUnits) {
  const Bowl bowl(2, 4);
  ObservedData one = observed_in({{"a", "", 0, 1}, {"b", "", 0, 1}}),
               other = observed_in({{"a", "", -3, 5}, {"b", "", 1000, 1004}});
  const auto curved = [&](const VectorXd& unit) {
    Evaluation e = bowl(unit);
    e.cost += std::pow(unit(0), 4);
    return e;
  };
  const auto expected = descend(one, curved, 1e-6);
  const auto found = descend(
      other,
      [&](const VectorXd& unit) {
        Evaluation e = curved(unit);
        e.cost = 8 * e.cost - 16;
        return e;
      },
      8e-6);
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) EXPECT_LT((found[i] - expected[i]).cwiseAbs().maxCoeff(), 1e-4) << i;
}

TEST(LocalDescent, KeepsToTheBoundsAndEndsInTheCorner) {
  ObservedData observed = observed_in({{"a", "", 0, 1}, {"b", "", 0, 1}});
  const auto units = descend(
      observed,
      [](const VectorXd& unit) {
        Evaluation e;
        e.status = Status::ok;
        e.cost = std::pow(unit(0) + 0.5, 2) + std::pow(unit(1) - 1.5, 2);
        return e;
      },
      1e-6);
  for (const VectorXd& u : units) EXPECT_TRUE(u.minCoeff() >= 0 && u.maxCoeff() <= 1) << u.transpose();
  EXPECT_NEAR(observed.best()->cost, 0.5, 1e-6);
}

TEST(LocalDescent, LeavesWholeNumbersAsTheBestHasThem) {
  ObservedData observed = observed_in({{"a", "", 0, 1}, {"n", "", 0, 3}}, {Domain::real, Domain::integer});
  LocalDescent descent;
  for (int i = 0; i < 8; ++i) {
    Evaluation e;
    e.status = Status::ok;
    e.design = Eigen::Vector2d(0.1 * i, i % 4);
    e.cost = std::pow(e.design(0) - 0.42, 2) + 0.5 * std::abs(e.design(1) - 1);
    observed.evaluations.push_back(e);
  }
  const LocalDescent::Step step = descent.step(observed, 1e-6);
  ASSERT_EQ(step.at.size(), 2);
  EXPECT_EQ(observed.space.design(step.at)(1), 1);
}

// Each step onto a failure shortens the next one.
TEST(LocalDescent, FailuresShrinkTheRegion) {
  ObservedData observed = observed_in({{"a", "", 0, 1}});
  LocalDescent descent;
  for (const double x : {0.1, 0.3, 0.5}) {
    Evaluation e;
    e.status = Status::ok;
    e.design = VectorXd::Constant(1, x);
    e.cost = 1 - x;
    observed.evaluations.push_back(e);
  }
  double before = 1;
  for (int i = 0; i < 5; ++i) {
    const LocalDescent::Step step = descent.step(observed, 1e-6);
    ASSERT_EQ(step.at.size(), 1);
    EXPECT_LT(step.at(0) - 0.5, before);
    before = step.at(0) - 0.5;
    Evaluation e;
    e.status = Status::failed;
    e.design = step.at;
    observed.evaluations.push_back(e);
    descent.observe(observed, step, 0, 1e-6);
  }
}

// In many variables the search descends as soon as the global model does not gain, in a valley 1000 times longer than
// wide, too.
TEST(LocalDescent, ASearchOfManyVariablesDescends) {
  for (const std::uint64_t seed : {1, 2}) {
    const Bowl bowl(5, seed, 6);
    const Search s = search(*make_ego(std::vector<Variable>(5, {"x", "", 0, 1}), {}), bowl, 1, 120);
    EXPECT_LT(s.best().cost - 1, 1e-5) << "seed " << seed;
  }
}

// Ten and twenty variables without gradients: a bowl in fewer evaluations than it has curvatures.
TEST(LocalDescent, ATrustRegionDescendsWithoutGradients) {
  for (const Index d : {10, 20})
    for (const std::uint64_t seed : {1, 2}) {
      EgoOptions o;
      o.trust_region = true;
      const Bowl bowl(d, seed, 1);
      const Search s = search(*make_ego(std::vector<Variable>(d, {"x", "", 0, 1}), o), bowl, 1, d * (d + 1) / 2 + d);
      EXPECT_LT(s.best().cost - 1, 1e-3) << d << ", seed " << seed;
    }
}

// The search ends within its tolerance, however many designs run at a time.
TEST(LocalDescent, ASearchEndsWithinItsTolerance) {
  const Function valley = [](const VectorXd& x) {
    Evaluation e;
    e.status = Status::ok;
    e.cost = 5 + std::pow(x(0) - 0.6, 2) + 20 * std::pow(x(1) - x(0) * x(0), 2);
    return e;
  };
  for (const int batch : {1, 2, 4}) {
    EgoOptions o;
    o.batch = batch;
    const Search s = search(*make_ego({{"a", "", -1, 1}, {"b", "", -1, 1}}, o), valley, batch, 150);
    EXPECT_FALSE(s.stopped.empty()) << batch;
    EXPECT_LT(s.best().cost - 5, 5 * o.tolerance) << batch << ": " << s.stopped;
  }
}

}  // namespace
}  // namespace dodyn::surrogate::test_local_descent
