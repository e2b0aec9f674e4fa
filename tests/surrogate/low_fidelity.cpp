// Searches and models that use a cheaper study of the same variables.
#include <gtest/gtest.h>

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "search.hpp"
#include "surrogate/archive_model.hpp"
#include "surrogate/ego.hpp"
#include "surrogate/kriging.hpp"
#include "surrogate/random.hpp"
#include "surrogate/sampling.hpp"
#include "two_fidelities.hpp"

namespace dodyn::surrogate::test_low_fidelity {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

double rough(const VectorXd& x) { return std::sin(5 * x(0)) + std::cos(4 * x(1)) * x(0); }
double precise(const VectorXd& x) { return 1.7 * rough(x) + 0.3 * x(0) * x(0) - 2 + 0.2 * x(1); }

VectorXd slope_of(double (*f)(const VectorXd&), const VectorXd& x) {
  VectorXd slope(x.size());
  for (Index i = 0; i < x.size(); ++i) {
    VectorXd up = x, down = x;
    up(i) += 1e-6, down(i) -= 1e-6;
    slope(i) = (f(up) - f(down)) / 2e-6;
  }
  return slope;
}

Samples samples_of(double (*f)(const VectorXd&), Index n, std::uint64_t seed, bool gradients) {
  Samples s;
  s.x = latin_hypercube(2, n, seed);
  s.y = VectorXd::NullaryExpr(n, [&](Index i) { return f(s.x.col(i)); });
  if (!gradients) return s;
  s.gradient.resize(2, n);
  for (Index i = 0; i < n; ++i) s.gradient.col(i) = slope_of(f, s.x.col(i));
  return s;
}

struct TwoModels {
  Samples low_samples, samples;
  KrigingOptions options;
  std::shared_ptr<const Kriging> low;
};

TwoModels two_models(Index cheap, Index n, bool gradients) {
  TwoModels t{samples_of(rough, cheap, 3, gradients), samples_of(precise, n, 5, gradients), KrigingOptions(), {}};
  t.low = std::make_shared<const Kriging>(Kriging::fit(t.low_samples, t.options));
  t.options.low_fidelity = t.low;
  return t;
}

double matern(const VectorXd& a, const VectorXd& b, const VectorXd& log_length) {
  const double s = std::sqrt(5.0) * ((a - b).array() / log_length.array().exp()).matrix().norm();
  return (1 + s + s * s / 3) * std::exp(-s);
}

MatrixXd kernel(const MatrixXd& a, const MatrixXd& b, const Hyperparameters& h) {
  MatrixXd k(a.cols(), b.cols());
  for (Index i = 0; i < a.cols(); ++i)
    for (Index j = 0; j < b.cols(); ++j) k(i, j) = h.variance * matern(a.col(i), b.col(j), h.log_length);
  return k;
}

// The model of both sets of samples at once, as Kennedy and O'Hagan (2000) write it: the covariances of low with low,
// low with high and high with high. With the same factor, the sequence of two models has the same mean, since a
// Gaussian distribution may be conditioned in steps. Its variance is larger, since it does not take the factor for
// known.
TEST(LowFidelity, AgreesWithTheJointModelOfBothSamples) {
  const TwoModels t = two_models(14, 6, false);
  const Kriging model = Kriging::fit(t.samples, t.options);
  const Hyperparameters of_low = t.low->hyperparameters(), of_rest = model.hyperparameters();
  const double factor = model.factor();
  // The factor in the covariances is that of a fit with the factor of least squares, one step before.
  const double in_covariance = of_rest.factor;
  EXPECT_NEAR(factor, in_covariance, 0.05 * std::abs(factor));
  EXPECT_NEAR(factor, 1.7, 0.3);

  const Kriging same = Kriging::with(t.samples, t.options, of_rest);
  const MatrixXd xl = t.low_samples.x, xh = t.samples.x;
  const Index l = xl.cols(), h = xh.cols();
  const double rho = same.factor();
  MatrixXd all(l + h, l + h);
  all.topLeftCorner(l, l) = kernel(xl, xl, of_low);
  all.topRightCorner(l, h) = rho * kernel(xl, xh, of_low);
  all.bottomLeftCorner(h, l) = all.topRightCorner(l, h).transpose();
  all.bottomRightCorner(h, h) = rho * rho * kernel(xh, xh, of_low) + kernel(xh, xh, of_rest);
  MatrixXd trend = MatrixXd::Zero(l + h, 2);  // the constants of low and of the rest
  trend.topLeftCorner(l, 1).setOnes();
  trend.bottomLeftCorner(h, 1).setConstant(rho);
  trend.bottomRightCorner(h, 1).setOnes();
  VectorXd y(l + h);
  y << t.low_samples.y, t.samples.y;
  const Eigen::LDLT<MatrixXd> ldlt(all);
  const MatrixXd weighted = ldlt.solve(trend), information = trend.transpose() * weighted;
  const VectorXd beta = information.ldlt().solve(weighted.transpose() * y), alpha = ldlt.solve(y - trend * beta);
  const MatrixXd at = sobol(2, 20, 1);
  for (Index i = 0; i < at.cols(); ++i) {
    VectorXd k(l + h);
    k << rho * kernel(xl, at.col(i), of_low),
        rho * rho * kernel(xh, at.col(i), of_low) + kernel(xh, at.col(i), of_rest);
    const Eigen::Vector2d f(rho, 1);
    const double mean = f.dot(beta) + k.dot(alpha);
    const VectorXd rest = f - weighted.transpose() * k;
    const double variance = rho * rho * of_low.variance + of_rest.variance - k.dot(ldlt.solve(k)) +
                            rest.dot(information.ldlt().solve(rest));
    const Prediction p = same.predict(at.col(i));
    EXPECT_NEAR(p.mean, mean, 2e-3) << i;
    EXPECT_GE(p.variance, 0.99 * variance - 1e-6) << i;
    EXPECT_LE(p.variance, 3 * variance + 1e-4) << i;
  }
}

template <class Check>
void for_models(Check&& check) {
  for (const bool gradients : {false, true}) {
    SCOPED_TRACE(testing::Message() << "gradients " << gradients);
    const TwoModels t = two_models(12, 7, gradients);
    const Kriging model = Kriging::fit(t.samples, t.options);
    ASSERT_NE(model.factor(), 0);
    check(t, model);
  }
}

TEST(LowFidelity, InterpolatesAndHasTheGradientsOfItsPredictions) {
  for_models([](const TwoModels& t, const Kriging& model) {
    for (Index i = 0; i < t.samples.size(); ++i)
      EXPECT_NEAR(model.predict(t.samples.x.col(i)).mean, t.samples.y(i), 1e-5);
    constexpr double step = 1e-5;
    const MatrixXd at = sobol(2, 8, 4);
    VectorXd mean, variance, difference, of_difference;
    model.predict(at, mean, variance);
    model.predict_difference(at, at.col(0), difference, of_difference);
    const MatrixXd joint = model.covariance(at);
    for (Index i = 0; i < at.cols(); ++i) {
      const Prediction p = model.predict(at.col(i));
      EXPECT_NEAR(mean(i), p.mean, 1e-9);
      EXPECT_NEAR(variance(i), p.variance, 1e-9);
      EXPECT_NEAR(joint(i, i), p.variance, 1e-8);
      EXPECT_NEAR(difference(i), mean(i) - mean(0), 1e-8);
      EXPECT_NEAR(of_difference(i), joint(i, i) + joint(0, 0) - 2 * joint(i, 0), 1e-8);
      for (Index k = 0; k < 2; ++k) {
        VectorXd up = at.col(i), down = at.col(i);
        up(k) += step, down(k) -= step;
        const Prediction a = model.predict(up), b = model.predict(down);
        EXPECT_NEAR(p.mean_gradient(k), (a.mean - b.mean) / (2 * step), 1e-4 * (1 + std::abs(p.mean_gradient(k))));
        EXPECT_NEAR(p.variance_gradient(k), (a.variance - b.variance) / (2 * step),
                    1e-4 * (1 + std::abs(p.variance_gradient(k))));
      }
    }
  });
}

TEST(LowFidelity, GrowsToTheModelOfAllSamples) {
  for_models([](const TwoModels& t, const Kriging& model) {
    const std::vector<Index> first = {0, 1, 2, 3, 4, 5};
    const Kriging part = Kriging::with(t.samples.chosen(first), t.options, model.hyperparameters());
    const Kriging grown = part.grown(t.samples.x.col(6), t.samples.y(6),
                                     t.samples.gradient.size() > 0 ? VectorXd(t.samples.gradient.col(6)) : VectorXd());
    const Kriging all = Kriging::with(t.samples, t.options, model.hyperparameters());
    const MatrixXd at = sobol(2, 6, 4);
    for (Index i = 0; i < at.cols(); ++i) {
      EXPECT_NEAR(grown.predict(at.col(i)).mean, all.predict(at.col(i)).mean, 1e-6);
      EXPECT_NEAR(grown.predict(at.col(i)).variance, all.predict(at.col(i)).variance, 1e-6);
    }
  });
}

// Leaving a sample out is a model of the other samples with the same hyperparameters.
TEST(LowFidelity, LeavesOneOut) {
  for_models([](const TwoModels& t, const Kriging& model) {
    const Kriging::LeaveOneOut left_out = model.leave_one_out();
    for (Index i = 0; i < t.samples.size(); ++i) {
      std::vector<Index> others;
      for (Index j = 0; j < t.samples.size(); ++j)
        if (j != i) others.push_back(j);
      const Prediction p =
          Kriging::with(t.samples.chosen(others), t.options, model.hyperparameters()).predict(t.samples.x.col(i));
      EXPECT_NEAR(left_out.mean(i), p.mean, 1e-5);
      EXPECT_NEAR(left_out.variance(i), p.variance, 1e-5);
    }
  });
}

TEST(LowFidelity, TheLikelihoodHasItsGradient) {
  for (const bool gradients : {false, true}) {
    const TwoModels t = two_models(8, 6, gradients);
    VectorXd at(3), gradient;  // log lengths and log variance
    at << std::log(0.6), std::log(0.9), std::log(0.7);
    Kriging::log_posterior(t.samples, t.options, at, &gradient);
    ASSERT_EQ(gradient.size(), 3);
    for (Index k = 0; k < 3; ++k) {
      VectorXd up = at, down = at;
      up(k) += 1e-5, down(k) -= 1e-5;
      const double slope = (Kriging::log_posterior(t.samples, t.options, up, nullptr) -
                            Kriging::log_posterior(t.samples, t.options, down, nullptr)) /
                           2e-5;
      EXPECT_NEAR(gradient(k), slope, 1e-4 * (1 + std::abs(slope))) << k;
    }
  }
}

// Functions drawn from (1) of kriging.hpp, with few samples of the cheaper function: the intervals contain as many values
// as those of the model without it, which are too narrow with few samples, and the errors are smaller.
TEST(LowFidelity, IntervalsHoldWhereTheCheaperFunctionIsUncertain) {
  Random random(1);
  const auto normal = [&](Index n) { return VectorXd::NullaryExpr(n, [&] { return random.normal(); }); };
  int inside = 0, inside_alone = 0, all = 0;
  double square = 0, square_alone = 0;  // of the errors
  for (int problem = 0; problem < 60; ++problem) {
    const MatrixXd x = sobol(2, 60, static_cast<std::uint64_t>(problem + 1));
    const auto drawn = [&](double length, double variance) {
      const Hyperparameters h{VectorXd::Constant(2, std::log(length)), 0, variance};
      const MatrixXd k = kernel(x, x, h) + 1e-9 * MatrixXd::Identity(60, 60);
      return VectorXd(k.llt().matrixL() * normal(60));
    };
    const VectorXd low = drawn(0.5, 1), high = 1.5 * low + drawn(0.8, 0.1);
    const auto chosen = [&](const VectorXd& y, Index from, Index count) {
      Samples s;
      s.x = x.middleCols(from, count);
      s.y = y.segment(from, count);
      return s;
    };
    KrigingOptions options = KrigingOptions();
    options.low_fidelity = std::make_shared<const Kriging>(Kriging::fit(chosen(low, 0, 10), options));
    const Kriging model = Kriging::fit(chosen(high, 6, 10), options);  // 4 of the 10 are at points of the cheaper ones
    const Kriging alone = Kriging::fit(chosen(high, 6, 10), KrigingOptions());
    for (Index i = 16; i < 60; ++i) {
      const Prediction p = model.predict(x.col(i)), q = alone.predict(x.col(i));
      inside += std::abs(high(i) - p.mean) <= 1.96 * std::sqrt(p.variance);
      inside_alone += std::abs(high(i) - q.mean) <= 1.96 * std::sqrt(q.variance);
      square += std::pow(high(i) - p.mean, 2);
      square_alone += std::pow(high(i) - q.mean, 2);
      ++all;
    }
  }
  const double share = static_cast<double>(inside) / all, share_alone = static_cast<double>(inside_alone) / all;
  EXPECT_GT(share, share_alone - 0.05) << share << " " << share_alone;
  EXPECT_GT(share, 0.75);
  EXPECT_LT(square, 0.7 * square_alone) << square << " " << square_alone;
}

Function evaluation_of(const std::function<double(const VectorXd&)>& f) {
  return [f](const VectorXd& x) {
    Evaluation e;
    e.status = Status::ok;
    e.cost = f(x);
    return e;
  };
}

std::vector<Evaluation> cheap_study(const TwoFidelities& pair, const std::function<double(const VectorXd&)>& f,
                                    std::uint64_t seed) {
  const int d = pair.box.size();
  const DesignSpace space(pair.box, {}, "");
  const MatrixXd units = latin_hypercube(d, 20 * d, seed);
  std::vector<Evaluation> all;
  for (Index i = 0; i < units.cols(); ++i) {
    all.push_back(evaluation_of(f)(space.design(units.col(i))));
    all.back().design = space.design(units.col(i));
  }
  return all;
}

// Returns the number of evaluations until the target; the limit + 1 if it is not reached.
int evaluations_to_target(const TwoFidelities& pair, EgoOptions options, std::uint64_t seed, int limit) {
  options.seed = seed;
  const auto strategy = make_ego(pair.box, options);
  for (int count = 1; count <= limit && strategy->stopped().empty(); ++count) {
    const auto designs = strategy->ask(1);
    if (designs.empty()) break;
    Evaluation e = evaluation_of(pair.high)(designs[0]);
    if (e.cost <= pair.target) return count;
    e.design = designs[0];
    e.id = count - 1;
    strategy->tell(e);
    strategy->decide();
  }
  return limit + 1;
}

double mean_to_target(const TwoFidelities& pair, const std::function<double(const VectorXd&)>* low, int seeds,
                      int limit) {
  double sum = 0;
  for (int seed = 1; seed <= seeds; ++seed) {
    EgoOptions options;
    if (low) options.low_fidelity = cheap_study(pair, *low, static_cast<std::uint64_t>(seed));
    sum += evaluations_to_target(pair, options, static_cast<std::uint64_t>(seed), limit);
  }
  return sum / seeds;
}

// An equal function at 20 evaluations a variable: the best of these is first, and few steps lead to the optimum.
TEST(LowFidelity, AnEqualFunctionLeadsToTheOptimumAtOnce) {
  const TwoFidelities branin = published_two_fidelities()[1];
  for (int seed = 1; seed <= 5; ++seed) {
    EgoOptions options;
    options.low_fidelity = cheap_study(branin, branin.high, static_cast<std::uint64_t>(seed));
    const auto strategy = make_ego(branin.box, options);
    const auto first = strategy->ask(1);
    ASSERT_EQ(first.size(), 1u);
    double least = infinity;
    for (const Evaluation& e : options.low_fidelity) least = std::min(least, e.cost);
    EXPECT_EQ(branin.high(first[0]), least);
    EXPECT_LE(evaluations_to_target(branin, options, static_cast<std::uint64_t>(seed), 30), 5) << seed;
  }
}

// Where conditions exclude the best design of the cheaper study, the best one that satisfies them is the first.
TEST(LowFidelity, TheFirstDesignSatisfiesTheConditions) {
  const TwoFidelities branin = published_two_fidelities()[1];
  EgoOptions options;
  options.low_fidelity = cheap_study(branin, branin.high, 1);
  options.possible = [](const VectorXd& x) { return x(0) + x(1) <= 2; };
  options.within = options.possible;
  double least = infinity, least_of_all = infinity;
  for (const Evaluation& e : options.low_fidelity) {
    least_of_all = std::min(least_of_all, e.cost);
    if (options.possible(e.design)) least = std::min(least, e.cost);
  }
  ASSERT_GT(least, least_of_all);
  const auto first = make_ego(branin.box, options)->ask(1);
  ASSERT_EQ(first.size(), 1u);
  EXPECT_EQ(branin.high(first[0]), least);
}

TEST(LowFidelity, PublishedPairsNeedFewerEvaluations) {
  const auto pairs = published_two_fidelities();
  for (const std::size_t which : {0, 1, 2}) {
    const double with = mean_to_target(pairs[which], &pairs[which].low, 20, 60),
                 without = mean_to_target(pairs[which], nullptr, 20, 60);
    EXPECT_LT(with, without) << pairs[which].name;
  }
}

// Branin's function within a disc of designs, as a metric that must not be positive. The cheaper study has other costs
// and another metric, whose limit is elsewhere.
TEST(LowFidelity, ConstraintsHaveModelsOfTheCheaperStudy) {
  const TwoFidelities branin = published_two_fidelities()[1];
  const auto evaluation = [](const std::function<double(const VectorXd&)>& cost, double middle, double factor) {
    return [cost, middle, factor](const VectorXd& x) {
      Evaluation e = evaluation_of(cost)(x);
      e.metrics = VectorXd::Constant(1, factor * (std::pow(x(0) - middle, 2) + std::pow(x(1) - 6, 2) - 16));
      return e;
    };
  };
  const Function high = evaluation(branin.high, 5, 1), low = evaluation(branin.low, 4.5, 0.3);
  const DesignSpace space(branin.box, {}, "");
  double least = infinity;  // on a grid
  for (int i = 0; i <= 400; ++i)
    for (int j = 0; j <= 400; ++j) {
      const Evaluation e = high(space.design(Eigen::Vector2d(i / 400.0, j / 400.0)));
      if (e.metrics(0) <= 0) least = std::min(least, e.cost);
    }
  double sums[2] = {0, 0};  // evaluations to within 0.1 of the least cost
  for (std::uint64_t seed = 1; seed <= 10; ++seed)
    for (const bool with : {false, true}) {
      EgoOptions options;
      options.seed = seed;
      options.constraints = {{.name = "g", .metric = 0, .limit = 0, .below = true}};
      if (with) {
        const Search cheap = search(*make_ego(branin.box, options), low, 1, 30);
        options.low_fidelity = cheap.evaluations;
      }
      const auto strategy = make_ego(branin.box, options);
      const Search found = search(*strategy, high, 1, 30);
      std::size_t count = 0;
      while (count < found.evaluations.size() &&
             !(found.evaluations[count].metrics(0) <= 0 && found.evaluations[count].cost < least + 0.1))
        ++count;
      sums[with] += static_cast<double>(count + 1);
      const Iteration last = strategy->describe(0);
      EXPECT_EQ(with, std::any_of(last.numbers.begin(), last.numbers.end(),
                                  [](const auto& one) { return one.first == "low_fidelity_factor_g<=0"; }));
    }
  EXPECT_LT(sums[true], 0.8 * sums[false]) << sums[true] << " with, " << sums[false] << " without";
}

// A cheaper study without any design that satisfies the constraints still helps.
TEST(LowFidelity, ACheaperStudyWithoutAFeasibleDesign) {
  const TwoFidelities branin = published_two_fidelities()[1];
  EgoOptions options;
  options.low_fidelity = cheap_study(branin, branin.low, 1);
  for (Evaluation& e : options.low_fidelity) e.metrics = VectorXd::Constant(1, 1 + e.design.squaredNorm());
  options.constraints = {{.name = "g", .metric = 0, .limit = 0, .below = true}};
  const auto strategy = make_ego(branin.box, options);
  const Search found = search(
      *strategy,
      [&](const VectorXd& x) {
        Evaluation e = evaluation_of(branin.high)(x);
        e.metrics = VectorXd::Constant(1, x.squaredNorm() - 4);
        return e;
      },
      1, 20);
  EXPECT_TRUE(std::any_of(found.evaluations.begin(), found.evaluations.end(),
                          [](const Evaluation& e) { return e.metrics(0) <= 0; }));
}

// An unrelated cheaper function is left out, and costs little.
TEST(LowFidelity, AnUnrelatedFunctionIsLeftOut) {
  const TwoFidelities branin = published_two_fidelities()[1];
  const std::function<double(const VectorXd&)> unrelated = [](const VectorXd& x) {
    return std::sin(1.3 * x(0)) + std::cos(0.9 * x(1) + 1);
  };
  const double with = mean_to_target(branin, &unrelated, 10, 80), without = mean_to_target(branin, nullptr, 10, 80);
  EXPECT_LE(with, 1.25 * without) << with << " with, " << without << " without";
  EgoOptions options;
  options.low_fidelity = cheap_study(branin, unrelated, 1);
  const auto strategy = make_ego(branin.box, options);
  search(*strategy, evaluation_of(branin.high), 1, 25);
  const Iteration last = strategy->describe(0);
  EXPECT_NE(last.note.find("low-fidelity left out"), std::string::npos) << last.note;
  const auto number = std::find_if(last.numbers.begin(), last.numbers.end(),
                                   [](const auto& one) { return one.first == low_fidelity_factor; });
  ASSERT_NE(number, last.numbers.end());
  EXPECT_EQ(number->second, 0);
}

// A replay receives the results without asking.
TEST(LowFidelity, AReplayProposesTheSameDesigns) {
  const TwoFidelities currin = published_two_fidelities()[2];
  EgoOptions options;
  options.low_fidelity = cheap_study(currin, currin.low, 2);
  const Search all = search(*make_ego(currin.box, options), evaluation_of(currin.high), 1, 12);
  const auto again = make_ego(currin.box, options);
  for (std::size_t i = 0; i < 8; ++i) {
    again->tell(all.evaluations[i]);
    again->decide();
  }
  const auto next = again->ask(1);
  ASSERT_EQ(next.size(), 1u);
  EXPECT_EQ(next[0], all.evaluations[8].design);
}

TEST(LowFidelity, TooFewEvaluationsAreRefused) {
  const TwoFidelities branin = published_two_fidelities()[1];
  EgoOptions options;
  options.low_fidelity = cheap_study(branin, branin.low, 1);
  options.low_fidelity.resize(1);
  EXPECT_THROW(make_ego(branin.box, options), std::invalid_argument);
  options.low_fidelity[0].design.resize(1);
  EXPECT_THROW(make_ego(branin.box, options), std::invalid_argument);
}

}  // namespace
}  // namespace dodyn::surrogate::test_low_fidelity
