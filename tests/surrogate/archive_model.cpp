// A model of a finished study against the function behind it, and Sobol indices against closed forms.
#include "surrogate/archive_model.hpp"

#include <gtest/gtest.h>

#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>
#include <numbers>

#include "surrogate/random.hpp"
#include "surrogate/sampling.hpp"
#include "surrogate/sobol_indices.hpp"
#include "tests/message_of.hpp"

namespace dodyn::surrogate::test_archive_model {
namespace {

using Eigen::MatrixXd;
using Eigen::VectorXd;

const std::vector<Variable> box = {{"a", "m", -1, 3}, {"b", "", 10, 20}};

double bowl(const VectorXd& x) { return std::exp(0.8 * x(0)) + 0.02 * (x(1) - 14) * (x(1) - 14) + 0.1 * x(0) * x(1); }

ObservedData observations(int count, double noise, bool gradient) {
  ObservedData observed{DesignSpace(box, {}, "test"), {}, {-1}, noise > 0};
  const MatrixXd points = sobol(2, count, 5);
  Random random(11);
  for (int i = 0; i < count; ++i) {
    Evaluation e;
    e.id = i;
    e.design = observed.space.design(points.col(i));
    e.status = Status::ok;
    e.cost = bowl(e.design) + noise * random.normal();
    if (gradient) {
      const double a = e.design(0), b = e.design(1);
      e.gradient = Eigen::Vector2d(0.8 * std::exp(0.8 * a) + 0.1 * b, 0.04 * (b - 14) + 0.1 * a);
    }
    e.metrics = VectorXd::Constant(1, e.design(0) * e.design(0));
    observed.evaluations.push_back(e);
  }
  return observed;
}

TEST(ArchiveModel, OfOneEvaluationNamesTheQuantity) {
  ObservedData observed = observations(1, 0, false);
  const auto complaint = [&](auto&& act) -> std::string { return message_of<std::invalid_argument>([&] { act(); }); };
  EXPECT_EQ(complaint([&] { sample_optimum(observed); }), "only 1 evaluation has a usable cost; two are needed");
  observed.constraints = {{"square", 0, 1.0, true}};
  EXPECT_EQ(complaint([&] { ArchiveModel(observed, 0); }), "only 1 evaluation has a usable square; two are needed");
}

// A failure rate of 0 over half of the range: without the knowledge that it is a rate, the interval contains negative
// numbers there.
TEST(ArchiveModel, RatesAreFromZeroToOne) {
  ObservedData observed{DesignSpace({{"a", "m", -1, 3}}, {}, "test"), {}, {-1}, true};
  const auto rate = [](double a) { return std::clamp(0.8 * (a - 1), 0.0, 1.0); };
  for (int i = 0; i <= 12; ++i) {
    Evaluation e;
    e.id = i;
    e.status = Status::ok;
    e.design = VectorXd::Constant(1, -1 + i / 3.0);
    e.cost = rate(e.design(0));
    e.cost_stderr = 0.04;
    e.metrics = VectorXd::Constant(1, 1 - e.cost);
    observed.evaluations.push_back(e);
  }
  const VectorXd here = VectorXd::Constant(1, -0.4), there = VectorXd::Constant(1, 2.9);
  EXPECT_LT(ArchiveModel(observed, -1).at(here).lower, -0.01);
  EXPECT_GT(ArchiveModel(observed, -1).at(there).upper, 1.01);
  constexpr int draws = 100;
  EXPECT_LT(sample_optimum(observed, draws).cost.lower, -0.01);
  const double wide = ArchiveModel(observed, -1).at(here).upper;
  observed.rates = {-1, 0};
  const ArchiveModel model(observed, -1);
  EXPECT_EQ(model.at(here).lower, 0.0);
  EXPECT_EQ(model.at(here).upper, wide);
  EXPECT_EQ(model.at(there).upper, 1.0);
  EXPECT_GE(model.at(here).middle, 0.0);
  EXPECT_EQ(model.probability_below(here, -0.001), 0.0);
  EXPECT_EQ(model.probability_below(there, 1.001), 1.0);
  EXPECT_GE(sample_optimum(observed, draws).cost.lower, 0.0);
  EXPECT_LE(ArchiveModel(observed, 0).at(here).upper, 1.0);
}

// A quarter of the samples fill the box; the others lie within 1 % of it around the minimum, as after a search.
TEST(ArchiveModel, SamplesThatCrowdSayLittleOfTheBox) {
  const auto wavy = [](const VectorXd& x) { return std::sin(2 * x(0)) * std::cos(0.4 * x(1)) + 0.1 * x(0) * x(0); };
  constexpr int count = 40;
  ObservedData even{DesignSpace(box, {}, "test"), {}, {-1}, false}, crowd = even;
  const MatrixXd points = sobol(2, count, 3);
  for (int i = 0; i < count; ++i) {
    Evaluation e;
    e.id = i;
    e.status = Status::ok;
    e.design = even.space.design(points.col(i));
    e.cost = wavy(e.design);
    even.evaluations.push_back(e);
    if (i >= count / 4) e.design = even.space.design(VectorXd(0.3 + 0.01 * points.col(i).array()));
    e.cost = wavy(e.design);
    crowd.evaluations.push_back(e);
  }
  const ArchiveModel good(even, -1), bad(crowd, -1);
  EXPECT_NEAR(good.even_samples(), good.even_samples_of_filling(), 0.1 * count);
  EXPECT_NEAR(good.quality_over_box(), good.quality(), 0.1);
  EXPECT_LT(bad.even_samples(), 0.35 * bad.even_samples_of_filling());
  EXPECT_GT(bad.even_samples(), 0.5 * count / 4);
  // The predictions have large errors, and the quality shows it.
  double off = 0, spread = 0;
  const MatrixXd everywhere = sobol(2, 500, 9);
  for (int i = 0; i < everywhere.cols(); ++i) {
    const VectorXd x = even.space.design(everywhere.col(i));
    off += std::pow(bad.at(x).middle - wavy(x), 2), spread += std::pow(wavy(x), 2);
  }
  EXPECT_LT(bad.quality_over_box(), 0.8) << "of an error of " << off / spread;
  EXPECT_GT(good.quality_over_box(), 0.8);
  EXPECT_GT(off / spread, 0.2);
}

// Adds an evaluation at this design and returns it.
const Evaluation& with_best(ObservedData& observed, const VectorXd& design, double cost,
                            const VectorXd& gradient = {}) {
  Evaluation e;
  e.id = 1000;
  e.status = Status::ok;
  e.design = design;
  e.cost = cost;
  e.gradient = gradient;
  e.metrics = VectorXd::Constant(1, design(0) * design(0));
  observed.evaluations.push_back(e);
  return observed.evaluations.back();
}

// The bowl decreases beyond the lower bound of `a`; its minimum in `b` is at 16.5.
TEST(BoundsToWiden, TellWhatWideningGains) {
  const Eigen::Vector2d corner(-1, 16.5);
  const double gain = bowl(corner) - bowl(Eigen::Vector2d(-1.4, 16.5));
  for (const bool gradient : {false, true}) {
    ObservedData observed = observations(gradient ? 12 : 30, 0, gradient);
    const Evaluation& best =
        with_best(observed, corner, bowl(corner),
                  gradient ? VectorXd(Eigen::Vector2d(0.8 * std::exp(-0.8) + 1.65, 0.04 * 2.5 - 0.1)) : VectorXd());
    const auto found = bounds_to_widen(observed, best);
    ASSERT_EQ(found.size(), 1u);
    EXPECT_EQ(found[0].variable, 0);
    EXPECT_FALSE(found[0].is_upper);
    ASSERT_TRUE(found[0].gain);
    EXPECT_NEAR(*found[0].gain, gain, 0.15 * gain) << gradient;
    // The metric a^2 would exceed its limit there.
    observed.constraints = {{"square", 0, 1.1, true}};
    const auto limited = bounds_to_widen(observed, best);
    ASSERT_EQ(limited.size(), 1u);
    EXPECT_FALSE(limited[0].gain);
  }
  // Without a model and without a gradient the gain beyond the bound is unknown.
  ObservedData alone = observations(0, 0, false);
  const auto unknown = bounds_to_widen(alone, with_best(alone, corner, 1));
  ASSERT_EQ(unknown.size(), 1u);
  EXPECT_FALSE(unknown[0].gain);
}

TEST(BoundsToWiden, AreNotNamedWhereTheCostIsFlatOrRises) {
  for (const bool gradient : {false, true}) {
    ObservedData observed = observations(30, 0, gradient), rising = observed;
    for (Evaluation& e : observed.evaluations) {  // does not depend on `a`
      e.cost = std::pow(e.design(1) - 14, 2);
      if (gradient) e.gradient = Eigen::Vector2d(0, 2 * (e.design(1) - 14));
    }
    const auto slope = [&](double a, double b) { return gradient ? VectorXd(Eigen::Vector2d(a, b)) : VectorXd(); };
    EXPECT_TRUE(bounds_to_widen(observed, with_best(observed, Eigen::Vector2d(-1, 14), 0, slope(0, 0))).empty());
    for (Evaluation& e : rising.evaluations) {  // minimum at the bound
      e.cost = std::pow(e.design(0) + 1, 2) + 0.1 * e.design(1);
      if (gradient) e.gradient = Eigen::Vector2d(2 * (e.design(0) + 1), 0.1);
    }
    const auto found = bounds_to_widen(rising, with_best(rising, Eigen::Vector2d(-1, 10), 1, slope(0, 0.1)));
    ASSERT_EQ(found.size(), 1u) << gradient;
    EXPECT_EQ(found[0].variable, 1);
    ASSERT_TRUE(found[0].gain);
    EXPECT_NEAR(*found[0].gain, 0.1, 0.01);
  }
  // A slope that the noise hides, and one that it does not.
  ObservedData hidden = observations(30, 1.0, false), seen = hidden;
  Random random(3);
  for (Evaluation& e : hidden.evaluations) e.cost = 0.01 * e.design(0) + random.normal(), e.cost_stderr = 1;
  EXPECT_TRUE(bounds_to_widen(hidden, with_best(hidden, Eigen::Vector2d(-1, 14), -2)).empty());
  for (Evaluation& e : seen.evaluations) e.cost = 3 * e.design(0) + 0.1 * random.normal(), e.cost_stderr = 0.1;
  const auto found = bounds_to_widen(seen, with_best(seen, Eigen::Vector2d(-1, 14), -3.1));
  ASSERT_EQ(found.size(), 1u);
  ASSERT_TRUE(found[0].gain);
  EXPECT_NEAR(*found[0].gain, 1.2, 0.4);
}

// A cost whose values are all positive, such as an effort, has no gain larger than itself.
TEST(BoundsToWiden, PromiseNoNegativeCostIfNoneWasSeen) {
  for (const double least : {0.05, -0.05}) {
    ObservedData observed = observations(30, 0, false);
    for (Evaluation& e : observed.evaluations) e.cost = e.design(0) + 1 + least + std::pow(e.design(1) - 14, 2);
    const auto found = bounds_to_widen(observed, with_best(observed, Eigen::Vector2d(-1, 14), least));
    ASSERT_EQ(found.size(), 1u);
    EXPECT_EQ(found[0].gain.has_value(), least < 0);
  }
}

// Whole numbers, labels, and variables that a design does not have, are never at a bound.
TEST(BoundsToWiden, AreThoseOfNumbers) {
  const std::vector<Variable> all = {{"a", "", 0, 1}, {"n", "", 0, 4}, {"label", "", 0, 2}, {"part", "", 0, 1}};
  Domain part;
  part.active = [](const VectorXd& x) { return x(1) > 0; };
  ObservedData observed{DesignSpace(all, {Domain::real, Domain::integer, Domain::category, part}, "test"), {}, {-1}};
  const MatrixXd points = sobol(4, 30, 5);
  for (int i = 0; i < points.cols(); ++i) {
    Evaluation e;
    e.id = i;
    e.status = Status::ok;
    e.design = observed.space.design(points.col(i));
    e.cost = e.design.sum() + 1;
    observed.evaluations.push_back(e);
  }
  const auto found = bounds_to_widen(observed, with_best(observed, VectorXd::Zero(4), 1));
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].variable, 0);
  EXPECT_EQ(found[1].variable, 1);
  EXPECT_FALSE(found[1].is_upper);
  EXPECT_FALSE(found[1].gain);  // a model of whole numbers ends at the last one
  for (Evaluation& e : observed.evaluations) e.cost = e.design(0) - e.design(1);  // n = 0 is the worst end
  EXPECT_EQ(bounds_to_widen(observed, with_best(observed, VectorXd::Zero(4), -5)).size(), 1u);
}

TEST(ArchiveModel, PredictsWhatItWasNotToldAndKnowsHowWell) {
  for (const bool gradient : {false, true}) {
    const ObservedData observed = observations(gradient ? 12 : 30, 0, gradient);
    const ArchiveModel model(observed, -1);
    EXPECT_GT(model.quality(), 0.99);
    Random random(3);
    int inside = 0;
    for (int i = 0; i < 200; ++i) {
      const VectorXd x = observed.space.design(Eigen::Vector2d(random.uniform(), random.uniform()));
      const PredictionInterval f = model.at(x);
      EXPECT_NEAR(f.middle, bowl(x), 0.3) << "gradients: " << gradient;
      inside += f.lower <= bowl(x) && bowl(x) <= f.upper;
    }
    EXPECT_GE(inside, 180);
    for (const Evaluation& e : observed.evaluations) EXPECT_NEAR(model.at(e.design).middle, e.cost, 1e-3);
  }
}

// Functions and their length scales are drawn from the model's prior. The interval contains the true value about as
// often as stated, even with few samples. With the most likely lengths alone it contained 76, 84 and 93 % of them.
TEST(ArchiveModel, TheIntervalHoldsAsOftenAsItSays) {
  for (const int count : {5, 10, 20}) {
    int held = 0, asked = 0;
    for (int study = 0; study < 60; ++study) {
      Random random(static_cast<std::uint64_t>(1000 * count + study));
      const VectorXd lengths = VectorXd::NullaryExpr(2, [&] { return std::sqrt(0.5) * std::exp(random.normal()); });
      MatrixXd units(2, count + 20);
      for (double& u : units.reshaped()) u = random.uniform();
      MatrixXd covariance(units.cols(), units.cols());
      for (Eigen::Index i = 0; i < units.cols(); ++i)
        for (Eigen::Index j = 0; j < units.cols(); ++j) {
          const double s = std::sqrt(5.0) * (units.col(i) - units.col(j)).cwiseQuotient(lengths).norm();
          covariance(i, j) = (1 + s + s * s / 3) * std::exp(-s);
        }
      const Eigen::SelfAdjointEigenSolver<MatrixXd> modes(covariance);
      const VectorXd values = modes.eigenvectors() * modes.eigenvalues().cwiseMax(0).cwiseSqrt().asDiagonal() *
                              VectorXd::NullaryExpr(units.cols(), [&] { return random.normal(); });
      ObservedData observed{DesignSpace({{"a", "", 0, 1}, {"b", "", 0, 1}}, {}, "test"), {}, {-1}, false};
      for (int i = 0; i < count; ++i) {
        Evaluation e;
        e.id = i;
        e.status = Status::ok;
        e.design = units.col(i);
        e.cost = values(i);
        observed.evaluations.push_back(e);
      }
      const ArchiveModel model(observed, -1);
      for (Eigen::Index i = count; i < units.cols(); ++i, ++asked) {
        const PredictionInterval f = model.at(units.col(i));
        held += f.lower <= values(i) && values(i) <= f.upper;
      }
    }
    EXPECT_GT(held, 0.88 * asked) << count;
    EXPECT_LT(held, 0.99 * asked) << count;
  }
}

// The model of a large archive uses some of the evaluations: the best ones, and others that fill the box.
TEST(ArchiveModel, TakesTheBestAndAFillingOfManyEvaluations) {
  const ObservedData observed = observations(ArchiveModel::most_modelled + 500, 0, true);
  const ArchiveModel model(observed, -1);
  EXPECT_EQ(model.samples(), ArchiveModel::most_modelled);
  EXPECT_EQ(model.available(), ArchiveModel::most_modelled + 500);
  EXPECT_GT(model.quality(), 0.9999);
  EXPECT_GT(model.quality_over_box(), 0.9999);
  EXPECT_GT(model.even_samples(), 0.7 * model.even_samples_of_filling());
  for (const Evaluation& e : observed.evaluations) ASSERT_NEAR(model.at(e.design).middle, e.cost, 1e-3) << e.id;
}

// The best feasible design is in every model, although many designs that violate a constraint cost less.
TEST(ArchiveModel, TakesTheBestFeasibleOfManyEvaluations) {
  ObservedData observed = observations(ArchiveModel::most_modelled + 700, 0, false);
  observed.constraints = {{"square", 0, 0.25, true}};
  const Evaluation& best = *observed.best();
  const auto cheaper = [&](const Evaluation& e) { return e.cost < best.cost; };
  ASSERT_GT(std::count_if(observed.evaluations.begin(), observed.evaluations.end(), cheaper),
            ArchiveModel::most_modelled / 10);
  for (const int metric : {-1, 0}) {
    const MatrixXd places = ArchiveModel(observed, metric).model().model().sample_places();
    EXPECT_LT((places.colwise() - observed.unit(best)).colwise().norm().minCoeff(), 1e-12) << metric;
  }
}

// Random costs: the quality is about 0, whatever the number of evaluations in the archive and in the model.
TEST(ArchiveModel, QualityIsLowWhereNothingCanBePredicted) {
  for (const int count : {501, 2001, 2010}) {
    ObservedData noise = observations(count, 0, false);
    Random random(5);
    for (Evaluation& e : noise.evaluations) e.cost = random.normal();
    const ArchiveModel model(noise, -1);
    EXPECT_LT(model.quality(), 0.1) << count;
    EXPECT_LT(model.quality_over_box(), 0.1) << count;
  }
}

// Exact costs: a design that was evaluated twice is one sample.
TEST(ArchiveModel, CopiesSayNothingNew) {
  const ObservedData once = observations(30, 0, false);
  ObservedData twice = once;
  twice.evaluations.insert(twice.evaluations.end(), once.evaluations.begin(), once.evaluations.end());
  const ArchiveModel one(once, -1), two(twice, -1);
  EXPECT_NEAR(two.quality(), one.quality(), 1e-3);
  EXPECT_NEAR(two.quality_over_box(), one.quality_over_box(), 1e-3);
  EXPECT_NEAR(two.even_samples(), one.even_samples(), 1e-3);
  EXPECT_NEAR(two.even_samples_of_filling(), one.even_samples_of_filling(), 1e-3);
}

// Noisy samples of several studies: the 90 % ranges of the optimum contain the true optimum about as often as stated.
// More samples narrow them.
TEST(ArchiveModel, WhereaboutsHoldTheOptimum) {
  VectorXd true_place;
  double least = INFINITY;
  for (double a = -1; a <= 3; a += 0.01)
    for (double b = 10; b <= 20; b += 0.02)
      if (const VectorXd x = Eigen::Vector2d(a, b); bowl(x) < least) least = bowl(x), true_place = x;
  int held = 0;
  double few = 0, many = 0;
  for (int study = 0; study < 8; ++study) {
    ObservedData observed = observations(40, 0, false);
    Random random(100 + static_cast<std::uint64_t>(study));
    for (Evaluation& e : observed.evaluations) e.cost += 0.3 * random.normal(), e.cost_stderr = 0.3;
    const OptimumDistribution all = sample_optimum(observed, 300);
    for (int k = 0; k < 2; ++k) held += all.lower(k) - 0.02 <= true_place(k) && true_place(k) <= all.upper(k) + 0.02;
    many += all.upper(1) - all.lower(1);
    observed.evaluations.resize(10);
    const OptimumDistribution part = sample_optimum(observed, 300);
    few += part.upper(1) - part.lower(1);
  }
  EXPECT_GE(held, 12);  // of 16, 90 % each
  EXPECT_LT(many, few);
}

// One variable: the same quantiles from functions drawn on a grid, by the eigenvectors of the model's covariance there.
TEST(ArchiveModel, WhereaboutsAreQuantilesOfMinimaOfDrawnFunctions) {
  ObservedData observed{DesignSpace({{"a", "m", -1, 3}}, {}, "test"), {}, {-1}, true};
  Random random(5);
  for (int i = 0; i < 24; ++i) {
    Evaluation e;
    e.id = i;
    e.status = Status::ok;
    e.design = VectorXd::Constant(1, -1 + 4 * (i + 0.5) / 24);
    e.cost = 0.05 * std::pow(e.design(0) - 1.4, 2) + 0.2 * random.normal();
    e.cost_stderr = 0.2;
    observed.evaluations.push_back(e);
  }
  const ArchiveModel model(observed, -1);
  constexpr int points = 401, draws = 4000;
  const MatrixXd grid = VectorXd::LinSpaced(points, 0, 1).transpose();
  std::vector<double> places, costs;
  ASSERT_GT(model.alternatives().size(), 1u);
  for (const auto& [alternative, share] : model.alternatives()) {
    VectorXd mean, variance;
    alternative.predict(grid, mean, variance);
    const Eigen::SelfAdjointEigenSolver<MatrixXd> modes(alternative.covariance(grid));
    const MatrixXd root = modes.eigenvectors() * modes.eigenvalues().cwiseMax(0).cwiseSqrt().asDiagonal();
    for (int i = 0; i < share * draws; ++i) {
      double chi_squared = 0;
      for (int k = 0; k < 23; ++k) chi_squared += std::pow(random.normal(), 2);
      Eigen::Index at = 0;
      const VectorXd deviation = root * VectorXd::NullaryExpr(points, [&] { return random.normal(); });
      const double least = (mean + std::sqrt(23 / chi_squared) * deviation).minCoeff(&at);
      places.push_back(-1 + 4 * grid(0, at));
      costs.push_back(model.model().warp().backward(least));
    }
  }
  std::sort(places.begin(), places.end());
  std::sort(costs.begin(), costs.end());
  // Returns the distance of `part` from the interval between the fractions < value and <= value: many minima are equal,
  // at the ends of the range.
  const auto miss = [](const std::vector<double>& sorted, double value, double part) {
    const auto share = [&](auto at) {
      return static_cast<double>(at - sorted.begin()) / static_cast<double>(sorted.size());
    };
    return std::max({share(std::lower_bound(sorted.begin(), sorted.end(), value)) - part,
                     part - share(std::upper_bound(sorted.begin(), sorted.end(), value)), 0.0});
  };
  const OptimumDistribution found = sample_optimum(observed, draws);
  EXPECT_GT(found.upper(0) - found.lower(0), 0.2);  // the noise leaves the place open
  EXPECT_LT(miss(places, found.lower(0), 0.05), 0.02);
  EXPECT_LT(miss(places, found.middle(0), 0.5), 0.04);
  EXPECT_LT(miss(places, found.upper(0), 0.95), 0.02);
  EXPECT_LT(miss(costs, found.cost.lower, 0.025), 0.012);
  EXPECT_LT(miss(costs, found.cost.middle, 0.5), 0.04);
  EXPECT_LT(miss(costs, found.cost.upper, 0.975), 0.012);
}

// Exact costs that determine the function: the lowest cost is known, too, and not lowered by rounding.
TEST(ArchiveModel, TheLowestCostOfAWellKnownValley) {
  ObservedData observed{DesignSpace({{"x", "", 0, 1}}, {}, "test"), {}, {-1}, false};
  for (int i = 0; i <= 20; ++i) {
    Evaluation e;
    e.id = i;
    e.status = Status::ok;
    e.design = VectorXd::Constant(1, i / 20.0);
    e.cost = 300 * std::pow(e.design(0) - 0.4, 2);
    observed.evaluations.push_back(e);
  }
  const OptimumDistribution found = sample_optimum(observed, 300);
  EXPECT_NEAR(found.cost.middle, 0, 3e-3);
  EXPECT_NEAR(found.cost.upper, 0, 1e-12);
}

// A whole number with all its costs known: the optimum is the lowest of them, and no draw is lower.
TEST(ArchiveModel, WhereaboutsOfAWholeNumberAreTheLowestCost) {
  ObservedData observed{DesignSpace({{"n", "", 0, 8}}, {Domain{Domain::integer}}, "test"), {}, {-1}, false};
  for (int n = 0; n <= 8; ++n) {
    Evaluation e;
    e.id = n;
    e.status = Status::ok;
    e.design = VectorXd::Constant(1, n);
    e.cost = std::pow(n - 8.3, 2);
    observed.evaluations.push_back(e);
  }
  const OptimumDistribution found = sample_optimum(observed, 300);
  EXPECT_EQ(found.lower(0), 8);
  EXPECT_EQ(found.upper(0), 8);
  EXPECT_NEAR(found.cost.lower, 0.09, 1e-12);
  EXPECT_NEAR(found.cost.upper, 0.09, 1e-12);
}

TEST(ArchiveModel, SmoothsNoise) {
  const ObservedData observed = observations(60, 0.5, false);
  const ArchiveModel model(observed, -1);
  double squares = 0, noisy = 0;
  for (const Evaluation& e : observed.evaluations) {
    squares += std::pow(model.at(e.design).middle - bowl(e.design), 2);
    noisy += std::pow(e.cost - bowl(e.design), 2);
  }
  EXPECT_LT(squares, 0.5 * noisy);
}

TEST(ArchiveModel, ProbabilityAgreesWithTheBand) {
  const ObservedData observed = observations(10, 0, false);
  const ArchiveModel metric(observed, 0), cost(observed, -1);
  for (const ArchiveModel* model : {&metric, &cost}) {
    const VectorXd x = observed.space.design(Eigen::Vector2d(0.9, 0.37));
    const PredictionInterval f = model->at(x);
    EXPECT_NEAR(model->probability_below(x, f.lower), 0.025, 1e-6);
    EXPECT_NEAR(model->probability_below(x, f.middle), 0.5, 1e-6);
    EXPECT_NEAR(model->probability_below(x, f.upper), 0.975, 1e-6);
  }
}

TEST(ArchiveModel, NeedsTwoEvaluations) {
  ObservedData observed = observations(2, 0, false);
  EXPECT_NO_THROW(ArchiveModel(observed, -1));
  observed.evaluations[1].status = Status::failed;
  EXPECT_THROW(ArchiveModel(observed, -1), std::invalid_argument);
  EXPECT_THROW(ArchiveModel(observed, 5), std::invalid_argument);
}

TEST(ArchiveModel, LearnsWhereDesignsFail) {
  ObservedData observed = observations(60, 0, false);
  for (Evaluation& e : observed.evaluations)
    if (e.design(0) > 1) e.status = Status::failed;
  const SuccessClassifier success = viability_of(observed);
  EXPECT_GT(std::exp(success.log_probability(Eigen::Vector2d(0.1, 0.5))), 0.8);
  EXPECT_LT(std::exp(success.log_probability(Eigen::Vector2d(0.9, 0.5))), 0.2);
}

// T. Ishigami, T. Homma (1990): sin x + 7 sin^2 y + 0.1 z^4 sin x on [-pi, pi]^3, indices in closed form.
TEST(SobolIndices, OfIshigamisFunction) {
  const double pi = std::numbers::pi, a = 7, b = 0.1;
  const auto f = [&](const MatrixXd& u) {
    VectorXd y(u.cols());
    for (Eigen::Index i = 0; i < u.cols(); ++i) {
      const Eigen::Array3d x = pi * (2 * u.col(i).array() - 1);
      y(i) = std::sin(x[0]) + a * std::pow(std::sin(x[1]), 2) + b * std::pow(x[2], 4) * std::sin(x[0]);
    }
    return y;
  };
  const double v1 = 0.5 * std::pow(1 + b * std::pow(pi, 4) / 5, 2), v2 = a * a / 8,
               v13 = b * b * std::pow(pi, 8) * (1.0 / 18 - 1.0 / 50), all = v1 + v2 + v13;
  const SobolIndices s = sobol_indices(f, 3, 4096, 2);
  EXPECT_NEAR(s.mean, a / 2, 0.05);
  EXPECT_NEAR(s.variance / all, 1, 0.03);
  const Eigen::Vector3d first(v1 / all, v2 / all, 0), total((v1 + v13) / all, v2 / all, v13 / all);
  for (int i = 0; i < 3; ++i) {
    EXPECT_NEAR(s.first(i), first(i), std::min(0.03, 4 * s.first_error(i))) << i;
    EXPECT_NEAR(s.total(i), total(i), std::min(0.03, 4 * s.total_error(i))) << i;
  }
  const MatrixXd effects = main_effects(f, 3, 8, 1024, 2);
  for (int k = 0; k < 8; ++k) {
    const double x = pi * (2 * k / 7.0 - 1);
    EXPECT_NEAR(effects(0, k), a / 2 + std::sin(x) * (1 + b * std::pow(pi, 4) / 5), 0.1);
    EXPECT_NEAR(effects(1, k), a * std::pow(std::sin(x), 2), 0.1);
    EXPECT_NEAR(effects(2, k), a / 2, 0.1);
  }
}

TEST(SobolIndices, OfAConstantAreNone) {
  const SobolIndices s = sobol_indices([](const MatrixXd& u) { return VectorXd::Constant(u.cols(), 3.0); }, 2, 64, 1);
  EXPECT_EQ(s.variance, 0);
  EXPECT_EQ(s.total.norm(), 0);
}

}  // namespace
}  // namespace dodyn::surrogate::test_archive_model
