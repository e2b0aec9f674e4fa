#include "surrogate/spline.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <stdexcept>

#include "surrogate/strategy_options.hpp"
#include "tests/message_of.hpp"
#include "tests/surrogate/search.hpp"

namespace dodyn::surrogate::test_spline {
namespace {

using Scalar = std::function<double(double)>;

// Returns the value and its gradient by central differences.
Function smooth(const Scalar& f, double step = 1e-6) {
  return [=](const Eigen::VectorXd& design) {
    const double x = design[0];
    Evaluation e;
    e.status = Status::ok;
    e.cost = f(x);
    e.gradient = Eigen::VectorXd::Constant(1, (f(x + step) - f(x - step)) / (2 * step));
    return e;
  };
}

Function failing_where(const Scalar& f, const std::function<bool(double)>& fails) {
  return [=](const Eigen::VectorXd& design) {
    if (!fails(design[0])) return smooth(f)(design);
    Evaluation e;
    e.status = Status::infeasible;
    e.reason = "no gait";
    e.cost = -1e9;  // the cost of a failed evaluation must be ignored
    return e;
  };
}

std::unique_ptr<Strategy> spline(double lower, double upper, bool gradient = false, int initial = 3) {
  SplineOptions options;
  options.gradient = gradient;
  options.initial_samples = initial;
  return make_spline({"knee", "m", lower, upper}, options);
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

struct Case {
  std::string name;
  double lower, upper, minimum;
  Scalar f;
  int natural, hermite;  // evaluations allowed
};
std::ostream& operator<<(std::ostream& out, const Case& c) { return out << c.name; }

// Smooth costs with one minimum. The last four resemble a cost over the knee's position.
const Case smooth_cases[] = {
    {"quadratic", 0, 1, 0.37, [](double x) { return 1 + (x - 0.37) * (x - 0.37); }, 9, 4},
    {"quadratic_near_a_bound", 0, 1, 0.05, [](double x) { return 1 + (x - 0.05) * (x - 0.05); }, 10, 4},
    {"zero_at_the_minimum", 0, 1, 0.37, [](double x) { return (x - 0.37) * (x - 0.37); }, 9, 4},
    {"negative", 0, 1, 0.63, [](double x) { return -5 + (x - 0.63) * (x - 0.63); }, 9, 4},
    {"two_hyperbolas", 0.2, 0.5, 0.24281614, [](double x) { return 0.02 / x + 0.05 / (0.7 - x) + 0.1 * x; }, 10, 6},
    {"steep_walls", 0.2, 0.5, 0.37257982, [](double x) { return 0.01 / (x * x) + 0.02 / (0.6 - x); }, 10, 6},
    {"catenary", 0.2, 0.5, 0.29, [](double x) { return 0.1 + 0.05 * std::cosh(12 * (x - 0.29)); }, 10, 6},
    {"exponential_and_line", 0.2, 0.5, 0.35157158, [](double x) { return 0.3 + x + std::exp(-10 * x) * 3.364; }, 10, 6},
};

class SmoothCost : public testing::TestWithParam<Case> {};
INSTANTIATE_TEST_SUITE_P(Spline, SmoothCost, testing::ValuesIn(smooth_cases),
                         [](const auto& named) { return named.param.name; });

TEST_P(SmoothCost, BothSplinesFindTheMinimum) {
  const Case& c = GetParam();
  const double range = c.upper - c.lower;
  for (const bool gradient : {false, true}) {
    const auto strategy = spline(c.lower, c.upper, gradient);
    const Search r = search(*strategy, smooth(c.f));
    RecordProperty(gradient ? "hermite" : "natural", static_cast<int>(r.evaluations.size()));
    EXPECT_NEAR(r.x(), c.minimum, 5e-4 * range);
    EXPECT_LE(r.best().cost - c.f(c.minimum), 3e-7 * std::max(std::abs(c.f(c.minimum)), 0.3)) << r.stopped;
    EXPECT_LE(std::ssize(r.evaluations), gradient ? c.hermite : c.natural) << r.stopped;
    EXPECT_GE(r.evaluations.size(), 4u);
    EXPECT_TRUE(contains(r.stopped, "inside the bounds of knee")) << r.stopped;
  }
}

TEST_P(SmoothCost, NeverAsksTwiceNorOutside) {
  const Case& c = GetParam();
  for (const bool gradient : {false, true}) {
    for (const int initial : {2, 3, 4, 5, 8}) {
      const Search r = search(*spline(c.lower, c.upper, gradient, initial), smooth(c.f));
      EXPECT_FALSE(r.stopped.empty());
      for (std::size_t i = 0; i < r.evaluations.size(); ++i) {
        EXPECT_GE(r.evaluations[i].design[0], c.lower);
        EXPECT_LE(r.evaluations[i].design[0], c.upper);
        for (std::size_t j = 0; j < i; ++j)
          EXPECT_GE(std::abs(r.evaluations[i].design[0] - r.evaluations[j].design[0]), 2.99e-4 * (c.upper - c.lower));
      }
    }
  }
}

TEST_P(SmoothCost, FollowsTheScalesOfCostAndVariable) {
  const Case& c = GetParam();
  const double a = 1024, b = 1.0 / 4096;  // powers of two: the same arithmetic
  for (const bool gradient : {false, true}) {
    const Search plain = search(*spline(c.lower, c.upper, gradient), smooth(c.f, std::ldexp(1.0, -20)));
    const Search scaled = search(*spline(a * c.lower, a * c.upper, gradient),
                                 smooth([&](double x) { return b * c.f(x / a); }, a * std::ldexp(1.0, -20)));
    ASSERT_EQ(plain.evaluations.size(), scaled.evaluations.size());
    for (std::size_t i = 0; i < plain.evaluations.size(); ++i)
      EXPECT_NEAR(scaled.evaluations[i].design[0] / a, plain.evaluations[i].design[0], 1e-9);
  }
}

// A resumed study replays its rows, with or without ask() before each tell().
TEST_P(SmoothCost, ReplayGoesOnWhereItStopped) {
  const Case& c = GetParam();
  for (const bool gradient : {false, true}) {
    const Search whole = search(*spline(c.lower, c.upper, gradient), smooth(c.f));
    for (std::size_t known = 0; known <= whole.evaluations.size(); ++known) {
      const auto by_tell = spline(c.lower, c.upper, gradient);
      for (std::size_t i = 0; i < known; ++i) by_tell->tell(whole.evaluations[i]);
      const Search rest = search(*by_tell, smooth(c.f));
      ASSERT_EQ(known + rest.evaluations.size(), whole.evaluations.size());
      for (std::size_t i = 0; i < rest.evaluations.size(); ++i)
        EXPECT_EQ(rest.evaluations[i].design, whole.evaluations[known + i].design);
    }
    const Search one_by_one = search(*spline(c.lower, c.upper, gradient), smooth(c.f), 1);
    ASSERT_EQ(one_by_one.evaluations.size(), whole.evaluations.size());
    for (std::size_t i = 0; i < whole.evaluations.size(); ++i)
      EXPECT_EQ(one_by_one.evaluations[i].design, whole.evaluations[i].design);
  }
}

TEST(Spline, FlatBottom) {
  for (const bool gradient : {false, true}) {
    const Search r = search(*spline(0, 1, gradient), smooth([](double x) { return 1 + std::pow(x - 0.37, 4); }));
    EXPECT_LE(r.best().cost - 1, 1e-7) << r.stopped;
    EXPECT_LE(r.evaluations.size(), 14u) << r.stopped;
  }
}

TEST(Spline, KinkOfAnAbsoluteValue) {
  for (const bool gradient : {false, true}) {
    for (const double at : {0.37, 0.5, 0.81}) {
      const Search r = search(*spline(0, 1, gradient), smooth([=](double x) { return 1 + std::abs(x - at); }));
      EXPECT_NEAR(r.x(), at, 1e-3) << r.stopped;
      EXPECT_LE(r.evaluations.size(), 20u) << r.stopped;
    }
  }
}

// Forrester's function: global minimum -6.02074 at 0.757249, a local one -0.98632 at 0.142590. The spline exploits
// and may take the local one; more initial samples look wider.
TEST(Spline, ForresterFindsAMinimumAndWithFourSamplesTheGlobalOne) {
  const Scalar f = [](double x) { return std::pow(6 * x - 2, 2) * std::sin(12 * x - 4); };
  for (const bool gradient : {false, true}) {
    const Search three = search(*spline(0, 1, gradient, 3), smooth(f));
    EXPECT_NEAR(std::min(std::abs(three.x() - 0.757249), std::abs(three.x() - 0.142590)), 0, 1e-3) << three.stopped;
    const Search four = search(*spline(0, 1, gradient, 4), smooth(f));
    EXPECT_NEAR(four.x(), 0.757249, 1e-3) << four.stopped;
    EXPECT_LE(four.evaluations.size(), 14u);
    EXPECT_LE(three.evaluations.size(), 40u) << "the plain spline first has to leave a flat inflection, of cost 0";
  }
}

TEST(Spline, ManyMinimaEndInOneOfThem) {
  const Scalar f = [](double x) { return std::sin(15 * x) + 2 * (x - 0.6) * (x - 0.6); };
  for (const bool gradient : {false, true}) {
    for (const int initial : {2, 3, 4, 5, 6, 7}) {
      const Search r = search(*spline(0, 1, gradient, initial), smooth(f));
      ASSERT_TRUE(contains(r.stopped, "inside")) << r.stopped;
      const double slope = 15 * std::cos(15 * r.x()) + 4 * (r.x() - 0.6);
      EXPECT_NEAR(slope, 0, 0.25) << r.stopped;  // curvature 225: within 1e-3 of a stationary point
      EXPECT_LT(r.best().cost, -0.8);
    }
  }
}

TEST(Spline, AnOptimumAtABoundIsReportedAsOne) {
  const Scalar down[] = {[](double x) { return std::exp(-3 * x); }, [](double x) { return 2 - x; },
                         [](double x) { return 1 + std::pow(1 - x, 4); }, [](double x) { return 1 + 1 / (0.1 + x); }};
  for (const bool gradient : {false, true}) {
    for (const Scalar& f : down) {
      const Search upper = search(*spline(0, 1, gradient), smooth(f));
      EXPECT_EQ(upper.x(), 1.0);
      EXPECT_TRUE(contains(upper.stopped, "optimum at the upper bound of knee: 1 m")) << upper.stopped;
      EXPECT_LE(upper.evaluations.size(), 12u) << upper.stopped;
      const Search lower = search(*spline(0, 1, gradient), smooth([&](double x) { return f(1 - x); }));
      EXPECT_EQ(lower.x(), 0.0);
      EXPECT_TRUE(contains(lower.stopped, "optimum at the lower bound of knee: 0 m")) << lower.stopped;
      EXPECT_EQ(upper.evaluations.size(), lower.evaluations.size());
    }
  }
}

// The spline through both ends and the middle has its minimum at the bound; the function has it inside, near the bound.
TEST(Spline, AMinimumCloseToABoundIsNotMistakenForTheBound) {
  for (const double at : {0.01, 0.02, 0.05, 0.08}) {
    for (const bool gradient : {false, true}) {
      const Search r = search(*spline(0, 1, gradient), smooth([=](double x) { return 1 + (x - at) * (x - at); }));
      EXPECT_NEAR(r.x(), at, 1e-3) << r.stopped;
      EXPECT_FALSE(contains(r.stopped, "bound of")) << r.stopped;
    }
  }
}

TEST(Spline, AConstantCostIsSaidToBeOne) {
  for (const bool gradient : {false, true}) {
    for (const double cost : {0.0, 3.0, -2.5}) {
      const Search r = search(*spline(0, 1, gradient), smooth([=](double) { return cost; }));
      EXPECT_TRUE(contains(r.stopped, "does not vary with knee")) << r.stopped;
      EXPECT_EQ(r.evaluations.size(), 4u);
    }
  }
}

// f(0.25) equals f(0.5), and (0, 0.5, 1) is symmetric about neither: a sample that changes the best cost by nothing
// must not end the search.
TEST(Spline, ASampleThatIsNoImprovementIsNotConvergence) {
  const Scalar f = [](double x) { return 1 + (x - 0.375) * (x - 0.375) * (1 + 40 * (x - 0.25) * (x - 0.5)); };
  for (const int initial : {2, 3, 5}) {
    const Search r = search(*spline(0, 1, false, initial), smooth(f));
    double least = HUGE_VAL;
    for (int i = 0; i <= 100000; ++i) least = std::min(least, f(i * 1e-5));
    const double slope = (f(r.x() + 1e-5) - f(r.x() - 1e-5)) / 2e-5;
    EXPECT_NEAR(slope, 0, 5e-3) << r.stopped;
    EXPECT_NEAR(r.best().cost, least, 1e-6) << r.stopped;
  }
}

// The Hermite spline must not stop either if its target has exactly the best cost, but with a slope.
TEST(Spline, AnEqualCostOnASlopeIsNotConvergence) {
  const auto strategy = spline(0, 1, true);
  const auto tell = [&](double x, double cost, double gradient) {
    Evaluation e;
    e.status = Status::ok;
    e.design = Eigen::VectorXd::Constant(1, x);
    e.cost = cost;
    e.gradient = Eigen::VectorXd::Constant(1, gradient);
    strategy->tell(e);
  };
  tell(0, 2, -4);
  tell(0.5, 1, 1);
  tell(1, 3, 5);
  const double target = strategy->ask(1).at(0)[0];
  ASSERT_LT(target, 0.5);
  tell(target, 1, -2);
  EXPECT_EQ(strategy->stopped(), "");
  const double next = strategy->ask(1).at(0)[0];
  EXPECT_GT(next, target);
  EXPECT_LT(next, 0.5);
}

// 1400 random costs that resemble one over the knee's position, with one or more minima, some at a bound, and with
// noise of 1e-9. False reports of convergence are rare; the number of evaluations is limited.
TEST(Spline, SurveyOfRandomCosts) {
  for (const bool gradient : {false, true}) {
    std::vector<std::size_t> evaluations;
    int wrong = 0;
    for (unsigned seed = 0; seed < 1400; ++seed) {
      std::mt19937 random(seed);
      std::uniform_real_distribution<> unit(0, 1);
      std::normal_distribution<> normal(0, 1e-9);
      const double a = 0.005 + 0.03 * unit(random), b = 0.005 + 0.05 * unit(random), pole = 0.55 + 0.4 * unit(random);
      const double c = 0.3 * (unit(random) - 0.5), d = 0.02 * unit(random), w = 5 + 10 * unit(random);
      const double phase = 6 * unit(random), power = 1 + 2 * unit(random);
      const Scalar f = [=](double x) {
        return 0.05 + a / 0.3 * std::pow(0.3 / x, power) + b / (pole - x) + c * x + d * std::sin(w * x + phase);
      };
      const Function exact = smooth(f);
      const Search r = search(*spline(0.2, 0.5, gradient), [&](const Eigen::VectorXd& x) {
        Evaluation e = exact(x);
        e.cost *= 1 + normal(random);
        return e;
      });
      double least = HUGE_VAL;
      for (int i = 0; i <= 3000; ++i) least = std::min(least, f(0.2 + 1e-4 * i));
      wrong += f(r.x()) > least * (1 + 1e-6);
      evaluations.push_back(r.evaluations.size());
      for (std::size_t i = 0; i < r.evaluations.size(); ++i) {
        for (std::size_t j = 0; j < i; ++j)
          ASSERT_GE(std::abs(r.evaluations[i].design[0] - r.evaluations[j].design[0]), 2.99e-4 * 0.3);
      }
    }
    std::sort(evaluations.begin(), evaluations.end());
    EXPECT_LE(wrong, gradient ? 0 : 2);
    EXPECT_LE(evaluations[700], gradient ? 5u : 9u);
    EXPECT_LE(evaluations[1330], gradient ? 6u : 12u);
    EXPECT_LE(evaluations.back(), gradient ? 8u : 25u);
    for (const int percent : {50, 95, 100})
      RecordProperty((gradient ? "hermite_" : "natural_") + std::to_string(percent),
                     static_cast<int>(evaluations[(evaluations.size() - 1) * percent / 100]));
    RecordProperty(gradient ? "hermite_wrong" : "natural_wrong", wrong);
  }
}

TEST(Spline, SolverNoiseIsNotChased) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    for (const Case& c : smooth_cases) {
      for (const bool gradient : {false, true}) {
        std::mt19937 random(seed);
        std::normal_distribution<> normal(0, 1e-8);
        const Function exact = smooth(c.f);
        const auto strategy = spline(c.lower, c.upper, gradient);
        const Search r = search(*strategy, [&](const Eigen::VectorXd& x) {
          Evaluation e = exact(x);
          e.cost *= 1 + normal(random);
          e.gradient *= 1 + normal(random);
          return e;
        });
        EXPECT_LE(std::ssize(r.evaluations), (gradient ? c.hermite : c.natural) + 3) << c.name << r.stopped;
        EXPECT_NEAR(r.x(), c.minimum, 1e-3 * (c.upper - c.lower)) << c.name << r.stopped;
      }
    }
  }
}

TEST(Spline, AStandardErrorStopsTheSearchEarlier) {
  const Function exact = smooth(smooth_cases[4].f);
  const Search fine = search(*spline(0.2, 0.5), exact);
  const Search coarse = search(*spline(0.2, 0.5), [&](const Eigen::VectorXd& x) {
    Evaluation e = exact(x);
    e.cost_stderr = 1e-3;
    return e;
  });
  EXPECT_LT(coarse.evaluations.size(), fine.evaluations.size());
  EXPECT_LE(coarse.best().cost - fine.best().cost, 1e-3);
}

TEST(Spline, AFailingRegionIsLeftAlone) {
  const Scalar f = [](double x) { return 1 + (x - 0.6) * (x - 0.6); };
  for (const bool gradient : {false, true}) {
    for (const int initial : {2, 3, 4, 5}) {
      const Search r = search(*spline(0, 1, gradient, initial), failing_where(f, [](double x) { return x < 1 / 3.0; }));
      EXPECT_NEAR(r.x(), 0.6, 1e-3) << r.stopped;
      EXPECT_LE(r.evaluations.size(), 13u) << r.stopped;
      EXPECT_TRUE(contains(r.stopped, "inside")) << r.stopped;
    }
  }
}

TEST(Spline, AnOptimumInsideAFailingRegionIsApproachedByBisection) {
  for (const bool gradient : {false, true}) {
    for (const double at : {0.1, 0.2, 0.3}) {
      const Scalar f = [=](double x) { return 1 + (x - at) * (x - at); };
      const Search r = search(*spline(0, 1, gradient), failing_where(f, [](double x) { return x < 1 / 3.0; }));
      EXPECT_GE(r.x(), 1 / 3.0);
      EXPECT_LE(r.x(), 1 / 3.0 + 5e-3) << r.stopped;
      EXPECT_LE(r.evaluations.size(), 25u);
      EXPECT_FALSE(r.stopped.empty());
      EXPECT_TRUE(contains(r.stopped, "that fail") || contains(r.stopped, "failed evaluations")) << r.stopped;
    }
  }
}

// No design between two failed ones is proposed, and none that is nearer to a failed design than to its good neighbour.
TEST(Spline, KeepsItsDistanceFromFailedDesigns) {
  int beside_failed = 0;
  for (unsigned seed = 0; seed < 200; ++seed) {
    std::mt19937 random(seed);
    std::uniform_real_distribution<> unit(0, 1);
    const double at = unit(random), from = unit(random), to = from + 0.3;
    std::vector<std::pair<double, bool>> tried;
    const Function f =
        failing_where([=](double x) { return std::cosh(3 * (x - at)); }, [=](double x) { return x > from && x < to; });
    search(*spline(0, 1, seed % 2), [&](const Eigen::VectorXd& x) {
      if (tried.size() >= 3) {
        std::sort(tried.begin(), tried.end());
        const auto right = std::lower_bound(tried.begin(), tried.end(), std::pair(x[0], false)), left = right - 1;
        EXPECT_TRUE(left->second || right->second);
        if (!left->second) {
          EXPECT_GE(x[0], (left->first + right->first) / 2 - 1e-12);
        }
        if (!right->second) {
          EXPECT_LE(x[0], (left->first + right->first) / 2 + 1e-12);
        }
        beside_failed += !left->second || !right->second;
      }
      const Evaluation e = f(x);
      tried.emplace_back(x[0], e.ok());
      return e;
    });
  }
  EXPECT_GT(beside_failed, 200);
}

TEST(Spline, AHoleOfFailuresInTheMiddle) {
  const Scalar f = [](double x) { return 1 + (x - 0.45) * (x - 0.45); };
  const Search r = search(*spline(0, 1), failing_where(f, [](double x) { return x > 0.35 && x < 0.65; }));
  EXPECT_FALSE(r.stopped.empty());
  EXPECT_NEAR(r.x(), 0.35, 1e-2) << r.stopped;
  EXPECT_LE(r.evaluations.size(), 30u);
}

TEST(Spline, GivesUpWhereNothingWorks) {
  for (const bool gradient : {false, true}) {
    const auto strategy = spline(0, 1, gradient);
    const Search r = search(*strategy, failing_where([](double x) { return x; }, [](double) { return true; }));
    EXPECT_EQ(r.evaluations.size(), 10u);
    EXPECT_TRUE(contains(r.stopped, "gave up after 10 failed evaluations")) << r.stopped;
    EXPECT_TRUE(contains(r.stopped, "infeasible, no gait")) << r.stopped;
    EXPECT_TRUE(contains(r.stopped, "none succeeded")) << r.stopped;
    EXPECT_EQ(strategy->describe(11).grid.size(), 0);
  }
}

TEST(Spline, HasNoNextDesignBeforeItIsAsked) {
  const auto strategy = spline(0, 1, false);
  EXPECT_EQ(strategy->describe(11).next.size(), 0);
  ASSERT_FALSE(strategy->ask(1).empty());
  EXPECT_EQ(strategy->describe(11).next.size(), 1);
}

// Random failures and NaN costs: the search ends, and reports no NaN.
TEST(Spline, RandomFailuresNeverStallOrSpoil) {
  for (unsigned seed = 0; seed < 300; ++seed) {
    std::mt19937 random(seed);
    const auto strategy = spline(0.2, 0.5, seed % 2, 2 + seed % 4);
    std::vector<double> asked;
    const Search r = search(*strategy, [&](const Eigen::VectorXd& x) {
      EXPECT_TRUE(x.allFinite() && x[0] >= 0.2 && x[0] <= 0.5);
      for (const double other : asked) EXPECT_NE(other, x[0]);
      asked.push_back(x[0]);
      Evaluation e = smooth(smooth_cases[4].f)(x);
      switch (random() % 8) {
        case 0:
          e.status = Status::not_converged;
          break;
        case 1:
          e.cost = NAN;
          break;
        case 2:
          e.cost = -INFINITY;
          break;
        case 3:
          e.gradient[0] = NAN;
          break;  // usable without
        default:
          break;
      }
      if (random() % 16 == 0) e.gradient.resize(0);
      const Iteration seen = strategy->describe(21);
      EXPECT_TRUE(seen.value.allFinite());
      return e;
    });
    EXPECT_FALSE(r.stopped.empty());
    EXPECT_LT(r.evaluations.size(), 60u) << r.stopped;
  }
}

// A cost that jumps between local optima of the inner problem: the search must end; it need not converge.
TEST(Spline, AJumpEnds) {
  for (const bool gradient : {false, true}) {
    for (const double at : {0.21, 0.45, 0.7}) {
      const Search r = search(*spline(0, 1, gradient),
                              smooth([=](double x) { return 1 + (x - 0.4) * (x - 0.4) + (x > at ? 0.1 : 0); }));
      EXPECT_FALSE(r.stopped.empty());
      EXPECT_LE(r.evaluations.size(), 80u);
    }
  }
}

TEST(Spline, WaitsForWhatItAsked) {
  const auto strategy = spline(0, 1);
  EXPECT_EQ(strategy->ask(2).size(), 2u);
  const auto rest = strategy->ask(2);
  ASSERT_EQ(rest.size(), 1u);
  EXPECT_EQ(rest[0][0], 1.0);
  EXPECT_TRUE(strategy->ask(2).empty());
  const Function f = smooth([](double x) { return 1 + (x - 0.4) * (x - 0.4); });
  for (const double x : {1.0, 0.0, 0.5}) {  // in any order
    Evaluation e = f(Eigen::VectorXd::Constant(1, x));
    e.design = Eigen::VectorXd::Constant(1, x);
    strategy->tell(e);
  }
  EXPECT_EQ(strategy->ask(8).size(), 1u);
  EXPECT_TRUE(strategy->ask(8).empty());
}

TEST(Spline, DescribesItsSpline) {
  const Case& c = smooth_cases[4];
  for (const bool gradient : {false, true}) {
    const auto strategy = spline(c.lower, c.upper, gradient);
    EXPECT_EQ(strategy->describe(11).grid.size(), 0);
    const Search r = search(*strategy, [&](const Eigen::VectorXd& x) {
      const Iteration seen = strategy->describe(301);
      EXPECT_FALSE(seen.note.empty());
      EXPECT_EQ(seen.next.size(), 1);
      if (std::isfinite(seen.predicted_cost)) {
        EXPECT_EQ(seen.next[0], x[0]);
        EXPECT_NEAR(seen.predicted_cost, c.f(x[0]), 0.05);
        EXPECT_EQ(seen.grid.size(), 301);
        EXPECT_LE(seen.value.minCoeff(), seen.best_cost + 1e-5);
      }
      return smooth(c.f)(x);
    });
    const Iteration last = strategy->describe(301);
    EXPECT_EQ(last.note, r.stopped);
    EXPECT_EQ(last.next.size(), 0);
    EXPECT_EQ(last.best_id, r.best().id);
    EXPECT_EQ(last.best_cost, r.best().cost);
    EXPECT_EQ(last.lower.size(), 0);
    EXPECT_EQ(last.grid[0], c.lower);
    EXPECT_EQ(last.grid[300], c.upper);
    for (int i = 0; i < 301; ++i) EXPECT_NEAR(last.value[i], c.f(last.grid[i]), 0.01);
  }
}

TEST(Spline, RejectsBadInput) {
  const Variable knee{"knee", "m", 0.2, 0.5};
  const auto with = [](auto change) {
    SplineOptions options;
    change(options);
    return options;
  };
  EXPECT_THROW(make_spline({"knee", "m", 0.5, 0.5}, {}), std::invalid_argument);
  EXPECT_THROW(make_spline({"knee", "m", 0.5, NAN}, {}), std::invalid_argument);
  EXPECT_THROW(make_spline(knee, with([](auto& o) { o.initial_samples = 1; })), std::invalid_argument);
  EXPECT_THROW(make_spline(knee, with([](auto& o) { o.tolerance = 0; })), std::invalid_argument);
  EXPECT_THROW(make_spline(knee, with([](auto& o) { o.design_tolerance = 0.2; })), std::invalid_argument);
  EXPECT_THROW(make_spline(knee, with([](auto& o) { o.max_failures = 0; })), std::invalid_argument);
  Evaluation e;
  e.design = Eigen::Vector2d(0, 1);
  EXPECT_THROW(make_spline(knee, {})->tell(e), std::invalid_argument);
}

TEST(StrategyOptions, MakesStrategiesByName) {
  const Variable knee{"knee", "m", 0.2, 0.5};
  for (const StrategyKind& kind : strategy_kinds()) {
    StrategyOptions choice;
    choice.name = kind.name;
    const std::vector<Variable> free(kind.name == "bobyqa" ? 2 : 1, knee);  // it takes no fewer
    EXPECT_FALSE(make_strategy(choice, free)->ask(1).empty());
  }
  StrategyOptions unknown;
  unknown.name = "stravman";
  const std::string line = message_of<std::invalid_argument>([&] { make_strategy(unknown, {knee}); });
  EXPECT_TRUE(contains(line, "no strategy 'stravman'; there are: auto, spline, ")) << line;
  EXPECT_FALSE(make_strategy({}, {knee, knee})->ask(1).empty());
  StrategyOptions one;
  one.name = "spline";
  EXPECT_THROW(make_strategy(one, {knee, knee}), std::invalid_argument);
}

}  // namespace
}  // namespace dodyn::surrogate::test_spline
