// Right gradients raise no doubt, whatever the function and the designs. Wrong ones do, with the variable and the factor.
#include "surrogate/wrong_gradients.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numbers>

#include "surrogate/random.hpp"

namespace dodyn::surrogate::test_wrong_gradients {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

using Cost = std::function<double(const VectorXd& x)>;
using Gradient = std::function<VectorXd(const VectorXd& x)>;

VectorXd differences(const Cost& f, const VectorXd& x) {
  constexpr double h = 1e-6;
  VectorXd slope(x.size()), at = x;
  for (Index k = 0; k < x.size(); ++k) {
    at(k) = x(k) + h;
    const double above = f(at);
    at(k) = x(k) - h;
    slope(k) = (above - f(at)) / (2 * h);
    at(k) = x(k);
  }
  return slope;
}

struct Function {
  const char* name;
  int dimensions;
  Cost cost;           // of a point of the unit cube
  Cost smooth = cost;  // whose gradient the program states, where `gradient` is empty
  Gradient gradient = {};

  VectorXd slope(const VectorXd& x) const { return gradient ? gradient(x) : differences(smooth, x); }
};

Cost quadratic(int d, double condition) {
  return [=](const VectorXd& x) {
    double sum = 0;
    for (int i = 0; i < d; ++i) {  // in rotated coordinates
      const double along = x(i) + 0.5 * x((i + 1) % d) - 0.4 - 0.07 * i;
      sum += std::pow(condition, d == 1 ? 0.0 : static_cast<double>(i) / (d - 1)) * along * along;
    }
    return sum;
  };
}

double rosenbrock(const VectorXd& u) {
  double sum = 0;
  const VectorXd y = (4 * u.array() - 2).matrix();
  for (Index i = 0; i + 1 < y.size(); ++i) sum += 100 * std::pow(y(i + 1) - y(i) * y(i), 2) + std::pow(1 - y(i), 2);
  return sum;
}

double branin(const VectorXd& u) {
  const double pi = std::numbers::pi, x = -5 + 15 * u(0), y = 15 * u(1);
  return std::pow(y - 5.1 / (4 * pi * pi) * x * x + 5 / pi * x - 6, 2) + 10 * (1 - 1 / (8 * pi)) * std::cos(x) + 10;
}

double hartman(const VectorXd& x) {
  const Eigen::Matrix<double, 4, 3> a{{3, 10, 30}, {0.1, 10, 35}, {3, 10, 30}, {0.1, 10, 35}};
  const Eigen::Matrix<double, 4, 3> p{
      {0.3689, 0.1170, 0.2673}, {0.4699, 0.4387, 0.7470}, {0.1091, 0.8732, 0.5547}, {0.0381, 0.5743, 0.8828}};
  const double weights[] = {1, 1.2, 3, 3.2};
  double sum = 0;
  for (int i = 0; i < 4; ++i) sum -= weights[i] * std::exp(-a.row(i).dot((x.transpose() - p.row(i)).cwiseAbs2()));
  return sum;
}

std::vector<Function> functions() {
  const Cost bowl = quadratic(2, 10);
  const auto stairs = [=](double number, double height) {
    return
        [=](const VectorXd& x) { return bowl(x) + height * (std::floor(number * x(0)) + std::floor(number * x(1))); };
  };
  const auto clipped = [](const Cost& f, double level) {
    return [=](const VectorXd& x) { return std::max(f(x), level); };
  };
  const auto wave = [](double number) {
    return [=](const VectorXd& x) { return (number * x).array().sin().sum() + x.sum(); };
  };
  return {{"bowl", 2, bowl},
          {"line", 1, quadratic(1, 1)},
          {"valley", 2, quadratic(2, 1e4)},
          {"bowl of five", 5, quadratic(5, 100)},
          {"rosenbrock", 2, rosenbrock},
          {"rosenbrock of five", 5, rosenbrock},
          {"branin", 2, branin},
          {"hartman", 3, hartman},
          {"exponential", 4, [](const VectorXd& x) { return std::exp(2 * x.sum()); }},
          {"kinks", 3, [](const VectorXd& x) { return (x.array() - 0.4).abs().sum(); }},
          {"stairs", 2, stairs(5, 0.3), bowl},
          {"small stairs", 2, stairs(40, 0.02), bowl},
          {"clipped below", 2, clipped(bowl, 0.05)},
          {"clipped far below", 4, clipped(quadratic(4, 10), 1)},
          {"waves", 2, wave(8)},
          {"waves of few designs", 2, wave(50)},
          {"waves of few designs along a line", 1, wave(50)}};
}

// Designs as a search asks for them: spread over the box, about the best, and along the stated gradient.
ObservedData observed_by(const Function& f, const Gradient& stated, int count, std::uint64_t seed) {
  std::vector<Variable> box;
  const std::string names = "abcdefgh";
  for (int k = 0; k < f.dimensions; ++k) box.push_back({names.substr(k, 1), "m", 0, 1});
  ObservedData observed{DesignSpace(box, {}, "test"), {}, {-1}, false};
  Random random(seed);
  const auto anywhere = [&] {
    VectorXd x(f.dimensions);
    for (double& value : x) value = random.uniform();
    return x;
  };
  for (int i = 0; i < count; ++i) {
    VectorXd x = anywhere();
    const Evaluation* const best = observed.best();
    const double turn = random.uniform();
    if (best && seed % 3 > 0 && turn > 0.3) {
      const double size = std::pow(10.0, -4 + 3.3 * random.uniform());
      x = best->design;
      if (seed % 3 == 2 && turn > 0.6) x -= 10 * size * best->gradient / (1e-300 + best->gradient.norm());
      for (double& value : x) value = std::clamp(value + size * random.normal(), 0.0, 1.0);
    }
    Evaluation e;
    e.id = i;
    e.status = Status::ok;
    e.design = x;
    e.cost = f.cost(x);
    e.gradient = stated(x);
    observed.evaluations.push_back(e);
  }
  return observed;
}

const int counts[] = {10, 20, 40, 80};
constexpr std::uint64_t seeds = 30;

TEST(WrongGradients, RightOnesRaiseNoDoubt) {
  for (const Function& f : functions())
    for (const int count : counts)
      for (std::uint64_t seed = 0; seed < seeds; ++seed) {
        const auto stated = [&](const VectorXd& x) { return f.slope(x); };
        EXPECT_TRUE(doubtful_gradients(observed_by(f, stated, count, seed)).empty())
            << f.name << ' ' << count << ' ' << seed;
      }
}

TEST(WrongGradients, NoisyOnesRaiseNoDoubt) {
  for (const Function& f : functions())
    for (const int count : counts)
      for (std::uint64_t seed = 0; seed < seeds; ++seed) {
        Random random(100 + seed);
        const auto stated = [&](const VectorXd& x) {
          VectorXd slope = f.slope(x);
          for (double& value : slope) value *= 1 + 0.3 * random.normal();
          return slope;
        };
        EXPECT_TRUE(doubtful_gradients(observed_by(f, stated, count, seed)).empty())
            << f.name << ' ' << count << ' ' << seed;
      }
}

// Noise that the study does not declare: the differences of near designs are noise alone.
TEST(WrongGradients, NoisyCostsRaiseNoDoubt) {
  for (const Function& f : functions())
    for (const double noise : {1e-4, 1e-2, 1e-1})
      for (const int count : counts)
        for (std::uint64_t seed = 0; seed < seeds / 3; ++seed) {
          ObservedData observed = observed_by(
              f, [&](const VectorXd& x) { return f.slope(x); }, count, seed);
          Random random(200 + seed);
          for (Evaluation& e : observed.evaluations) e.cost += noise * random.normal();
          EXPECT_TRUE(doubtful_gradients(observed).empty()) << f.name << ' ' << noise << ' ' << count << ' ' << seed;
        }
}

// Of smooth functions, 40 designs reveal a factor on one variable or on all, and no other variable is named.
TEST(WrongGradients, WrongSignsAndUnitsAreNamed) {
  for (const Function& f : functions()) {
    if (std::string_view(f.name) != "bowl" && std::string_view(f.name) != "line" &&
        std::string_view(f.name) != "valley" && std::string_view(f.name) != "rosenbrock" &&
        std::string_view(f.name) != "branin" && std::string_view(f.name) != "exponential")
      continue;
    for (const double factor : {-1.0, 1000.0, 180 / std::numbers::pi, -1e-3})
      for (const bool all : {true, false}) {
        if (!all && std::abs(factor) < 1) continue;  // the others decide the differences of most pairs
        int found = 0;
        for (std::uint64_t seed = 0; seed < seeds; ++seed) {
          const auto stated = [&](const VectorXd& x) {
            VectorXd slope = f.slope(x);
            slope(0) *= factor;
            if (all) slope.tail(slope.size() - 1) *= factor;
            return slope;
          };
          const auto doubtful = doubtful_gradients(observed_by(f, stated, 40, seed));
          found += !doubtful.empty();
          for (const DoubtfulGradient& one : doubtful) {
            EXPECT_TRUE(all || one.variable == 0) << f.name << ' ' << factor << ' ' << seed;
            EXPECT_NEAR(one.factor * factor, 1.0, 0.5) << f.name << ' ' << factor << ' ' << seed;
          }
        }
        EXPECT_GE(found, 0.8 * seeds) << f.name << ' ' << factor << ' ' << all;
      }
  }
}

TEST(WrongGradients, TheWarningNamesTheVariableAndTheCheck) {
  const std::vector<Variable> box = {{"knee", "m", 0, 1}, {"hip", "m", 0, 1}};
  EXPECT_EQ(doubt_text(box, {}), "");
  EXPECT_EQ(doubt_text(box, {{0, -1.02}}),
            "between near designs the cost changes by -1.02 times what the gradient by knee predicts: check its sign");
  EXPECT_EQ(
      doubt_text(box, {{1, 0.001}, {0, -57.3}}),
      "between near designs the cost changes by 0.001 times what the gradient by hip predicts: check its unit; "
      "between near designs the cost changes by -57.3 times what the gradient by knee predicts: check its sign and "
      "unit");
}

// Costs that are declared noisy, and designs without gradients, are not examined.
TEST(WrongGradients, OtherCostsAreNotExamined) {
  const Function f = functions().front();
  ObservedData observed = observed_by(
      f, [&](const VectorXd& x) { return VectorXd(-f.slope(x)); }, 40, 1);
  ASSERT_EQ(doubtful_gradients(observed).size(), 2u);
  observed.costs_noisy = true;
  EXPECT_TRUE(doubtful_gradients(observed).empty());
  observed.costs_noisy = false;
  for (Evaluation& e : observed.evaluations) e.gradient.resize(0);
  EXPECT_TRUE(doubtful_gradients(observed).empty());
  observed.evaluations.clear();
  EXPECT_TRUE(doubtful_gradients(observed).empty());
}

}  // namespace
}  // namespace dodyn::surrogate::test_wrong_gradients
