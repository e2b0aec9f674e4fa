// Noisy costs: a search ends by its own rule, and states how sure its choice is.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <string>
#include <vector>

#include "search.hpp"
#include "surrogate/ego.hpp"
#include "surrogate/random.hpp"
#include "surrogate/sampling.hpp"

namespace dodyn::surrogate::test_noisy {
namespace {

using Eigen::VectorXd;

constexpr double noise = 0.1;  // standard deviation

// A smooth random function on the unit cube, with a standard deviation of 1: a sum of cosines of random frequencies and phases,
// which is nearly a draw of a Gaussian process.
class RandomFunction {
 public:
  RandomFunction(std::uint64_t seed, int variables) {
    Random random(seed);
    for (int i = 0; i < waves; ++i) {
      VectorXd frequency(variables);
      for (double& f : frequency) f = 3 * random.normal();
      frequencies_.push_back(frequency);
      phases_.push_back(2 * std::numbers::pi * random.uniform());
    }
    lowest_ = 1e300;
    const Eigen::MatrixXd points = sobol(variables, 20000, 1);
    for (Eigen::Index i = 0; i < points.cols(); ++i) lowest_ = std::min(lowest_, at(points.col(i)));
  }

  double at(const VectorXd& x) const {
    double sum = 0;
    for (int i = 0; i < waves; ++i) sum += std::cos(frequencies_[i].dot(x) + phases_[i]);
    return sum * std::sqrt(2.0 / waves);
  }
  double lowest() const { return lowest_; }

 private:
  static constexpr int waves = 40;
  std::vector<VectorXd> frequencies_;
  std::vector<double> phases_;
  double lowest_;
};

struct Outcome {
  bool stopped = false;
  std::string reason;
  double excess = 0;  // of the recommended design's true cost over the lowest one
  double indifference = 0, probability = 0;
};

// With `errors` each cost carries its standard error; otherwise the search only knows that costs are noisy.
Outcome searched(std::uint64_t seed, int variables, bool errors, double indifference = 0) {
  const RandomFunction function(seed, variables);
  EgoOptions options;
  options.seed = seed;
  options.noise = !errors;
  options.indifference = indifference;
  Random random(1000 + seed);
  const auto strategy = make_ego(std::vector<Variable>(variables, {"x", "", 0, 1}), options);
  const Search s = search(
      *strategy,
      [&](const VectorXd& x) {
        Evaluation e;
        e.status = Status::ok;
        e.cost = function.at(x) + noise * random.normal();
        if (errors) e.cost_stderr = noise;
        return e;
      },
      1, 60 * variables);
  const Iteration last = strategy->describe(0);
  Outcome out{.stopped = !s.stopped.empty(), .reason = s.stopped};
  out.excess = function.at(last.recommended) - function.lowest();
  for (const auto& [name, value] : last.numbers) {
    if (name == "indifference") out.indifference = value;
    if (name == "probability_best") out.probability = value;
  }
  return out;
}

TEST(Noisy, ASearchEndsAndIsSeldomWrong) {
  for (const bool errors : {false, true}) {
    int stopped = 0, wrong = 0;
    for (std::uint64_t seed = 0; seed < 8; ++seed) {
      const Outcome o = searched(seed, 1 + static_cast<int>(seed % 2), errors);
      if (!o.stopped) continue;
      ++stopped;
      wrong += o.excess > 0.5 * noise;
      EXPECT_NE(o.reason.find("no design is better by more than"), std::string::npos) << o.reason;
    }
    EXPECT_GE(stopped, 6) << errors;
    EXPECT_LE(wrong, 1) << errors;
  }
}

TEST(Noisy, TheChoiceIsStated) {
  for (const bool errors : {false, true}) {
    const Outcome o = searched(3, 2, errors);
    EXPECT_GT(o.probability, 0.5);
    EXPECT_LE(o.probability, 1);
    EXPECT_NEAR(o.indifference, 0.5 * noise, errors ? 1e-12 : 0.25 * noise);  // the model finds the noise
  }
  EXPECT_EQ(searched(3, 2, false, 0.3).indifference, 0.3);
}

TEST(Noisy, AnExactSearchStatesNoChoice) {
  const auto strategy = make_ego({{"x", "", 0, 1}}, {});
  search(*strategy, [](const VectorXd& x) {
    Evaluation e;
    e.status = Status::ok;
    e.cost = std::sin(7 * x(0));
    return e;
  });
  for (const auto& [name, value] : strategy->describe(0).numbers) {
    const bool of_choice = name.starts_with("probability") || name.starts_with("recommended") || name == "indifference";
    EXPECT_TRUE(!of_choice || std::isnan(value)) << name << value;
  }
}

TEST(Noisy, TheSameTellsGiveTheSameAsks) {
  const RandomFunction function(5, 2);
  EgoOptions options;
  options.noise = true;
  const auto first = make_ego({{"x", "", 0, 1}, {"y", "", 0, 1}}, options);
  const auto second = make_ego({{"x", "", 0, 1}, {"y", "", 0, 1}}, options);
  Random random(1);
  for (int i = 0; i < 30; ++i) {
    const auto designs = first->ask(1);
    ASSERT_EQ(designs, second->ask(1));
    if (designs.empty()) break;
    Evaluation e;
    e.design = designs[0];
    e.id = i;
    e.status = Status::ok;
    e.cost = function.at(e.design) + noise * random.normal();
    first->tell(e), second->tell(e);
    first->decide();  // the second decides when it is asked
  }
}

}  // namespace
}  // namespace dodyn::surrogate::test_noisy
