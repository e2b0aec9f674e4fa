#include "surrogate/ego.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <stdexcept>

#include "surrogate/basin_search.hpp"
#include "surrogate/random.hpp"
#include "surrogate/success_classifier.hpp"
#include "tests/surrogate/search.hpp"

namespace dodyn::surrogate::test_ego {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

const std::vector<Variable> square = {{"a", "m", -1, 3}, {"b", "", 10, 30}};

Evaluation bowl(const VectorXd& x) {  // minimum 2 at (0.7, 17)
  Evaluation e;
  e.status = Status::ok;
  e.cost = 2 + std::pow(x(0) - 0.7, 2) + 0.04 * std::pow(x(1) - 17, 2) + 0.1 * (x(0) - 0.7) * (x(1) - 17);
  e.gradient = Eigen::Vector2d(2 * (x(0) - 0.7) + 0.1 * (x(1) - 17), 0.08 * (x(1) - 17) + 0.1 * (x(0) - 0.7));
  return e;
}

Evaluation forrester(const VectorXd& v) {
  const double x = v(0), a = 6 * x - 2;
  Evaluation e;
  e.status = Status::ok;
  e.cost = a * a * std::sin(12 * x - 4);
  e.gradient = VectorXd::Constant(1, 12 * a * std::sin(12 * x - 4) + 12 * a * a * std::cos(12 * x - 4));
  return e;
}

TEST(Ego, FindsTheMinimumAndStops) {
  for (const bool gradient : {false, true}) {
    EgoOptions o;
    o.gradient = gradient;
    const Search s = search(*make_ego(square, o), bowl, 1, 60);
    EXPECT_NEAR(s.best().cost, 2, 2e-4) << s.stopped;
    EXPECT_FALSE(s.stopped.empty());
    EXPECT_LE(s.evaluations.size(), 45u) << s.stopped;
  }
}

// A nearly linear function has its minimum in a corner, and a model with long lengths. The check with short lengths must
// not be uncertain by the variance of the long ones.
TEST(Ego, KnowsTheCornerOfALinearFunction) {
  const auto slope = [](const VectorXd& x) {
    Evaluation e;
    e.status = Status::ok;
    e.cost = 3 * x(0) - 5 * x(1) + 4 * x(2) + 0.01 * x(0) * x(1);
    e.gradient = Eigen::Vector3d(3 + 0.01 * x(1), -5 + 0.01 * x(0), 4);
    return e;
  };
  for (const bool gradient : {false, true}) {
    EgoOptions o;
    o.gradient = gradient;
    const Search s = search(*make_ego({{"a", "", 0, 1}, {"b", "", 0, 1}, {"c", "", 0, 1}}, o), slope, 1, 60);
    EXPECT_EQ(s.best().cost, -5);
    EXPECT_LE(s.evaluations.size(), 25u) << s.stopped;
    EXPECT_EQ(s.stopped.find("undecided"), std::string::npos) << s.stopped;
  }
}

TEST(Ego, FindsTheGlobalMinimumOfForrester) {
  for (const bool gradient : {false, true}) {
    EgoOptions o;
    o.gradient = gradient;
    const auto strategy = make_ego({{"x", "", 0, 1}}, o);
    const Search s = search(*strategy, forrester, 1, 40);
    EXPECT_NEAR(s.best().cost, -6.02074, 2e-3) << s.stopped;
    EXPECT_LE(s.evaluations.size(), 25u) << s.stopped;
    const Iteration i = strategy->describe(50);
    ASSERT_EQ(i.grid.size(), 50);
    EXPECT_TRUE(i.value.allFinite() && i.lower.allFinite() && i.upper.allFinite());
    EXPECT_TRUE(((i.upper - i.lower).array() >= 0).all());
    EXPECT_FALSE(i.numbers.empty());
  }
}

TEST(Ego, EveryDesignLiesWithinAndNoneIsAskedTwice) {
  EgoOptions o;
  o.batch = 3;
  const Search s = search(*make_ego(square, o), bowl, 3, 25);
  for (std::size_t i = 0; i < s.evaluations.size(); ++i) {
    const VectorXd& x = s.evaluations[i].design;
    EXPECT_TRUE(x(0) >= -1 && x(0) <= 3 && x(1) >= 10 && x(1) <= 30);
    for (std::size_t j = 0; j < i; ++j) EXPECT_GT((x - s.evaluations[j].design).cwiseAbs().maxCoeff(), 1e-8);
  }
}

TEST(Ego, ReplayGoesOnAsBefore) {
  for (const bool gradient : {false, true}) {
    EgoOptions o;
    o.gradient = gradient;
    o.batch = 2;
    const auto one = make_ego(square, o), two = make_ego(square, o);
    const Search a = search(*one, bowl, 2, 18), b = search(*two, bowl, 2, 18);
    ASSERT_EQ(a.evaluations.size(), b.evaluations.size());
    for (std::size_t i = 0; i < a.evaluations.size(); ++i) EXPECT_EQ(a.evaluations[i].design, b.evaluations[i].design);
  }
}

// Asynchronous use: each ask() comes while other designs are pending, and results come in another order.
TEST(Ego, AsksAgainWhileDesignsArePending) {
  EgoOptions o;
  const auto strategy = make_ego(square, o);
  std::vector<VectorXd> out;
  std::int64_t id = 0;
  double least = HUGE_VAL;
  for (int i = 0; i < 30; ++i) {
    while (out.size() < 4) {
      const auto designs = strategy->ask(1);
      if (designs.empty()) break;
      for (const VectorXd& x : out) EXPECT_GT((x - designs[0]).cwiseAbs().maxCoeff(), 1e-8);
      out.push_back(designs[0]);
    }
    if (out.empty()) break;
    const std::size_t which = static_cast<std::size_t>(i) % out.size();
    Evaluation e = bowl(out[which]);
    e.design = out[which];
    e.id = id++;
    least = std::min(least, e.cost);
    out.erase(out.begin() + which);
    strategy->tell(e);
  }
  EXPECT_NEAR(least, 2, 0.02);
}

TEST(Ego, WorksAroundWhatFails) {
  const Function f = [](const VectorXd& x) {
    Evaluation e = bowl(x);
    if (x(0) > 1.5) e.status = Status::infeasible, e.cost = -1e9, e.reason = "too long";
    return e;
  };
  const Search s = search(*make_ego(square, {}), f, 1, 45);
  EXPECT_NEAR(s.best().cost, 2, 0.01);
  int late_failures = 0;
  for (std::size_t i = 15; i < s.evaluations.size(); ++i) late_failures += !s.evaluations[i].ok();
  EXPECT_LE(late_failures, 15);
}

// Designs that `possible` excludes are never proposed. The best design lies on the boundary of the excluded region.
TEST(Ego, ThinksOnlyOfDesignsThatCanBe) {
  EgoOptions o;
  o.possible = [](const VectorXd& x) { return x(0) <= 0.2 && x(1) >= 20; };  // 15 % of the box
  const Search s = search(*make_ego(square, o), bowl, 1, 45);
  for (const Evaluation& e : s.evaluations) EXPECT_TRUE(o.possible(e.design)) << e.design.transpose();
  EXPECT_NEAR(s.best().cost, 2.46, 0.03) << s.stopped;  // at (0.2, 20)
}

// Conditions on designs apply to each design: the first ones, those before any result, and the best known one.
TEST(Ego, NoDesignViolatesTheConditions) {
  EgoOptions o;
  o.within = o.possible = [](const VectorXd& x) { return x(0) <= 0.2 && x(1) >= 20; };
  o.initial_samples = 2;
  const auto eager = make_ego(square, o);
  std::vector<VectorXd> asked;
  for (int i = 0; i < 10; ++i)
    for (const VectorXd& x : eager->ask(3)) asked.push_back(x);
  EXPECT_GE(asked.size(), 10u);  // the last ones are beyond the initial designs
  for (const VectorXd& x : asked) EXPECT_TRUE(o.within(x)) << x.transpose();

  Evaluation best = bowl(Eigen::Vector2d(0.7, 17)), allowed = bowl(Eigen::Vector2d(0, 22));
  best.design = Eigen::Vector2d(0.7, 17);
  allowed.design = Eigen::Vector2d(0, 22);
  o.known = {best, allowed};
  const Search s = search(*make_ego(square, o), bowl, 1, 12);
  EXPECT_EQ(s.evaluations.front().design, allowed.design);
  for (const Evaluation& e : s.evaluations) EXPECT_TRUE(o.within(e.design)) << e.design.transpose();

  o.within = o.possible = [](const VectorXd& x) { return x(0) > 5; };
  EXPECT_THROW(make_ego(square, o), std::invalid_argument);
}

TEST(Ego, GivesUpWhereNothingEvaluates) {
  const Function f = [](const VectorXd&) {
    Evaluation e;
    e.status = Status::failed;
    e.reason = "no licence";
    return e;
  };
  EgoOptions o;
  EXPECT_EQ(search(*make_ego(square, o), f, 1, 60).evaluations.size(), 50u);  // 20, and 15 for each variable
  o.max_failures = 20;
  const Search s = search(*make_ego(square, o), f, 1, 60);
  EXPECT_EQ(s.evaluations.size(), 20u);
  EXPECT_NE(s.stopped.find("no licence"), std::string::npos);
}

// The table of considered designs: the chosen one first, with the columns of candidate_columns().
TEST(Ego, DescribesTheDesignsThatItConsidered) {
  const auto strategy = make_ego(square, {});
  const auto columns = strategy->candidate_columns();
  ASSERT_GE(columns.size(), 5u);
  EXPECT_EQ((std::vector<std::string>{columns.begin(), columns.begin() + 5}),
            (std::vector<std::string>{"a", "b", "rule", "score", "fresh"}));
  search(*strategy, bowl, 1, 20);
  const Iteration i = strategy->describe(0);
  ASSERT_GE(i.candidates.rows(), 2);
  ASSERT_EQ(i.candidates.cols(), columns.size());
  EXPECT_EQ(Eigen::VectorXd(i.candidates.row(0).head(2)), i.next);
  for (Eigen::Index k = 0; k < i.candidates.rows(); ++k) {
    const auto row = i.candidates.row(k);
    EXPECT_TRUE(row(0) >= -1 && row(0) <= 3 && row(1) >= 10 && row(1) <= 30) << row;
    EXPECT_TRUE(row(2) == std::round(row(2)) && row(2) >= 0 && row(2) <= 5) << row;
    EXPECT_TRUE(std::isfinite(row(3))) << row;
    EXPECT_TRUE(row(4) == 0 || row(4) == 1) << row;
  }
}

TEST(Ego, KeepsConstraintsOnMetrics) {
  const Function f = [](const VectorXd& x) {
    Evaluation e = bowl(x);
    e.metrics = Eigen::Vector2d(7, x(0) + 0.1 * x(1));
    return e;
  };
  EgoOptions o;
  o.constraints = {{"reach", 1, 2.0, true}};  // the minimum of the bowl has 2.4
  const auto strategy = make_ego(square, o);
  const Search s = search(*strategy, f, 1, 50);
  double least = HUGE_VAL;
  for (const Evaluation& e : s.evaluations)
    if (e.metrics(1) <= 2.0) least = std::min(least, e.cost);
  // on x0 + 0.1 x1 = 2 the least cost, by substitution
  double exact = HUGE_VAL;
  for (double b = 10; b <= 30; b += 1e-3) exact = std::min(exact, bowl(Eigen::Vector2d(2 - 0.1 * b, b)).cost);
  EXPECT_NEAR(least, exact, 1e-2) << s.stopped;
  EXPECT_EQ(strategy->describe(0).best_cost, least);
}

// G6 of the 2006 CEC collection: a crescent of 1e-4 of the box, the least cost in one tip, known in closed form as a
// corner of two circles. Near it the cost falls by half a percent over 3e-4 of the range.
TEST(Ego, FollowsLimitsIntoATip) {
  const Function f = [](const VectorXd& x) {
    Evaluation e;
    e.status = Status::ok;
    e.cost = std::pow(x(0) - 10, 3) + std::pow(x(1) - 20, 3);
    e.metrics = Eigen::Vector2d(100 - std::pow(x(0) - 5, 2) - std::pow(x(1) - 5, 2),
                                std::pow(x(0) - 6, 2) + std::pow(x(1) - 5, 2) - 82.81);
    return e;
  };
  for (const std::uint64_t seed : {1, 2, 3}) {
    EgoOptions o;
    o.seed = seed;
    o.constraints = {{"outside", 0, 0, true}, {"inside", 1, 0, true}};
    const auto strategy = make_ego({{"a", "", 13, 100}, {"b", "", 0, 100}}, o);
    const Search s = search(*strategy, f, 1, 80);
    EXPECT_LT(strategy->describe(0).best_cost, -6961.81388 * 0.99) << seed << ": " << s.stopped;
  }
}

TEST(Ego, IntegersAndCategories) {
  const std::vector<Variable> mixed = {{"x", "", 0, 1}, {"n", "", 1, 6}, {"kind", "", 0, 3}};
  const double shift[4] = {0.4, 0.0, 0.7, 0.2};
  const Function f = [&](const VectorXd& v) {
    EXPECT_EQ(v(1), std::round(v(1)));
    EXPECT_EQ(v(2), std::round(v(2)));
    Evaluation e;
    e.status = Status::ok;
    e.cost = 1 + std::pow(v(0) - 0.3, 2) + 0.1 * std::pow(v(1) - 4, 2) + shift[static_cast<int>(v(2))];
    return e;
  };
  EgoOptions o;
  o.domains = {Domain::real, Domain::integer, Domain::category};
  const Search s = search(*make_ego(mixed, o), f, 1, 60);
  EXPECT_NEAR(s.best().cost, 1, 1e-3) << s.stopped;
}

TEST(Ego, TwoObjectivesSpreadAlongTheFront) {
  const Function f = [](const VectorXd& x) {  // the front: x1 = 0, f1 from 0 to 1, f2 = (1 - f1)^2
    Evaluation e;
    e.status = Status::ok;
    e.cost = x(0) + x(1);
    e.metrics = VectorXd::Constant(1, std::pow(1 - x(0), 2) + x(1));
    return e;
  };
  EgoOptions o;
  o.objectives = {-1, 0};
  const Search s = search(*make_ego({{"u", "", 0, 1}, {"v", "", 0, 1}}, o), f, 1, 30);
  // hypervolume below (1.1, 1.1): exact 1.21 less what lies below the front
  std::vector<std::pair<double, double>> points;
  for (const Evaluation& e : s.evaluations) points.emplace_back(e.cost, e.metrics(0));
  std::sort(points.begin(), points.end());
  double volume = 0, below = 1.1;
  for (const auto& [a, b] : points)
    if (a < 1.1 && b < below) volume += (1.1 - a) * (below - b), below = b;
  EXPECT_GT(volume, 0.95 * (1.21 - 1.0 / 3));
}

// Every design from 0 to 0.5 is on the front. Only two initial designs satisfy the constraint; their front is short.
TEST(Ego, AFrontReachesItsEndsBesideAConstraint) {
  const Function f = [](const VectorXd& x) {
    Evaluation e;
    e.status = Status::ok;
    e.cost = x(0);
    e.metrics = VectorXd::Constant(1, 1 - x(0));
    return e;
  };
  EgoOptions o;
  o.objectives = {-1, 0};
  o.constraints = {{"m", 0, 0.5, false}};
  const Search s = search(*make_ego({{"x", "", 0, 1}}, o), f, 1, 15);
  double least = 1, most = 0;
  for (const Evaluation& e : s.evaluations)
    if (e.cost <= 0.5) least = std::min(least, e.cost), most = std::max(most, e.cost);
  EXPECT_LT(least, 0.01);
  EXPECT_GT(most, 0.49);
}

// Three objectives: the distances to the corners of a triangle. The triangle is the Pareto set.
TEST(Ego, ThreeObjectivesFillTheTriangle) {
  const Eigen::Matrix<double, 2, 3> corners{{0.2, 0.8, 0.5}, {0.3, 0.3, 0.8}};
  const Function f = [&](const VectorXd& x) {
    Evaluation e;
    e.status = Status::ok;
    e.cost = (x - corners.col(0)).norm();
    e.metrics = Eigen::Vector2d((x - corners.col(1)).norm(), (x - corners.col(2)).norm());
    return e;
  };
  EgoOptions o;
  o.objectives = {-1, 0, 1};
  const auto strategy = make_ego({{"u", "", 0, 1}, {"v", "", 0, 1}}, o);
  const Search s = search(*strategy, f, 1, 40);
  int inside = 0;
  for (std::size_t i = 6; i < s.evaluations.size(); ++i) {
    const VectorXd& x = s.evaluations[i].design;
    const auto side = [&](int a, int b) {
      const Eigen::Vector2d along = corners.col(b) - corners.col(a), to = x - corners.col(a);
      return along(0) * to(1) - along(1) * to(0) > -0.02;
    };
    inside += side(0, 1) && side(1, 2) && side(2, 0);
  }
  EXPECT_GT(inside, 25);  // of 34; the triangle is 0.15 of the square
  const auto& numbers = strategy->describe(0).numbers;
  EXPECT_TRUE(std::any_of(numbers.begin(), numbers.end(),
                          [](const auto& n) { return n.first == "hypervolume" && n.second > 0; }));
}

// The search ends by itself when the front is found, and not earlier. The reported hypervolume has its reference point
// beyond all evaluations.
TEST(Ego, TwoObjectivesStopWhenTheFrontStandsStill) {
  const Function f = [](const VectorXd& x) {  // the front: the segment between (0.2, 0.5) and (0.8, 0.5)
    Evaluation e;
    e.status = Status::ok;
    e.cost = (x - Eigen::Vector2d(0.2, 0.5)).squaredNorm();
    e.metrics = VectorXd::Constant(1, (x - Eigen::Vector2d(0.8, 0.5)).squaredNorm());
    return e;
  };
  EgoOptions o;
  o.objectives = {-1, 0};
  const auto strategy = make_ego({{"u", "", 0, 1}, {"v", "", 0, 1}}, o);
  const Search s = search(*strategy, f, 1, 150);
  EXPECT_LT(s.evaluations.size(), 150u);
  const Iteration last = strategy->describe(0);
  EXPECT_NE(last.note.find("the front's hypervolume grew by"), std::string::npos) << last.note;
  // f2 = (0.6 - sqrt(f1))^2 along the front; below (0.4, 0.4)
  std::vector<std::pair<double, double>> points;
  for (const Evaluation& e : s.evaluations) points.emplace_back(e.cost, e.metrics(0));
  std::sort(points.begin(), points.end());
  double volume = 0, below = 0.4;
  for (const auto& [a, b] : points)
    if (a < 0.4 && b < below) volume += (0.4 - a) * (below - b), below = b;
  double exact = 0.4 * 0.4;
  for (int i = 0; i < 100000; ++i) exact -= 0.36 / 100000 * std::pow(0.6 - std::sqrt(0.36 * (i + 0.5) / 100000), 2);
  EXPECT_GT(volume, 0.98 * exact);
  EXPECT_LE(volume, exact);
  const auto number = [&](const std::string& name) {
    for (const auto& [known, value] : last.numbers)
      if (known == name) return value;
    return not_a_number;
  };
  EXPECT_GT(number("front_size"), 10);
  EXPECT_GT(number("hypervolume"), volume);  // its reference lies beyond all evaluations
  o.front_tolerance = 0;
  EXPECT_EQ(search(*make_ego({{"u", "", 0, 1}, {"v", "", 0, 1}}, o), f, 1, 60).evaluations.size(), 60u);
}

TEST(Ego, NoiseIsSmoothedAndTheModelRecommends) {
  Random random(3);
  const Function f = [&](const VectorXd& x) {
    Evaluation e = bowl(x);
    e.gradient.resize(0);
    e.cost += 0.4 * random.normal();
    return e;
  };
  EgoOptions o;
  o.noise = true;
  const auto strategy = make_ego(square, o);
  search(*strategy, f, 1, 45);
  const Iteration i = strategy->describe(0);
  ASSERT_EQ(i.recommended.size(), 2);
  EXPECT_LT(bowl(i.recommended).cost, 2.5);
}

// Stepped costs with a standard error that repeat exactly: a second evaluation of a design brings no information.
TEST(Ego, KeepsApartWhereCostsRepeat) {
  const Function f = [](const VectorXd& x) {
    Evaluation e = bowl(x);
    e.gradient.resize(0);
    e.cost = std::round(e.cost * 5) / 5;
    e.cost_stderr = 0.3;
    return e;
  };
  for (const bool repeat : {true, false}) {
    EgoOptions o;
    o.repeat = repeat;
    o.tolerance = 0;
    const Search found = search(*make_ego(square, o), f, 1, 40);
    double nearest = 1;
    for (const auto& a : found.evaluations)
      for (const auto& b : found.evaluations)
        if (a.id < b.id)
          nearest =
              std::min(nearest, std::max(std::abs(a.design(0) - b.design(0)) / (square[0].upper - square[0].lower),
                                         std::abs(a.design(1) - b.design(1)) / (square[1].upper - square[1].lower)));
    if (repeat)
      EXPECT_LT(nearest, 4e-3);
    else
      EXPECT_GE(nearest, 4.9e-3);
    EXPECT_EQ(found.evaluations.size(), 40u);
  }
}

// A wide basin and a narrow, deeper one far from it.
TEST(Ego, LooksBeyondTheBasinOfItsBest) {
  const std::vector<Variable> cube(4, {"x", "", 0, 1});
  const auto basins = [](const VectorXd& x) {
    Evaluation e;
    e.status = Status::ok;
    e.cost = -std::exp(-4 * (x.array() - 0.75).matrix().squaredNorm()) -
             1.5 * std::exp(-10 * (x.array() - 0.2).matrix().squaredNorm());
    return e;
  };
  for (const std::uint64_t seed : {5, 9}) {  // where expected improvement alone stays in the wide one
    EgoOptions o;
    o.seed = seed;
    o.tolerance = 0;
    EXPECT_LT(search(*make_ego(cube, o), basins, 1, 80).best().cost, -1.4);
  }
}

// Known evaluations of another study reduce the number of evaluations. The best of them is evaluated first.
TEST(Ego, GoesOnFromKnownEvaluations) {
  EgoOptions o;
  const Search before = search(*make_ego(square, o), bowl, 1, 12);
  o.known = before.evaluations;
  o.known.push_back(o.known.front());
  o.known.back().status = Status::failed;
  o.known.back().cost = NAN;
  o.known.back().design = Eigen::Vector2d(-0.9, 29);
  const auto strategy = make_ego(square, o);
  const auto first = strategy->ask(10);
  ASSERT_EQ(first.size(), 1u);
  EXPECT_EQ(first[0], before.best().design);
  const Search after = search(*make_ego(square, o), bowl, 1, 60);
  EXPECT_NEAR(after.best().cost, 2, 2e-4) << after.stopped;
  EXPECT_LT(after.evaluations.size(), search(*make_ego(square, {}), bowl, 1, 60).evaluations.size());
  o.known = {before.evaluations.front()};
  EXPECT_EQ(make_ego(square, o)->ask(20).size(), 6u);  // one known design does not replace initial designs
  o.known[0].design.resize(1);
  EXPECT_THROW(make_ego(square, o), std::invalid_argument);
}

TEST(Ego, NumbersHaveTheNamesDeclared) {
  for (const bool mixed : {false, true}) {
    EgoOptions o;
    o.trust_region = o.noise = !mixed;  // a descent makes no model, so it has no numbers
    if (mixed) o.domains = {Domain::category, Domain::integer};
    const auto strategy = make_ego(square, o);
    search(*strategy, bowl, 1, 8);
    const auto numbers = strategy->describe(0).numbers;
    const auto names = strategy->numbers();
    ASSERT_EQ(numbers.size(), names.size());
    for (std::size_t i = 0; i < names.size(); ++i) EXPECT_EQ(numbers[i].first, names[i]);
    EXPECT_EQ(names[7], mixed ? "length_a_-1" : "length_a");
  }
}

TEST(Ego, OddCostsNeverBreakIt) {
  const std::vector<std::function<double(const VectorXd&)>> costs = {
      [](const VectorXd&) { return 5.0; },
      [](const VectorXd& x) { return std::exp(x(1)) * 1e-3; },
      [](const VectorXd& x) { return x(0) > 1 ? 1e10 : x(0); },
      [](const VectorXd& x) { return x(0) < 1 ? NAN : x(0); },
      [](const VectorXd& x) { return x(0) < 1 ? 1e200 : x(0); },
      [](const VectorXd& x) { return 1e-30 * x(0); },
  };
  for (const auto& cost : costs) {
    for (const bool gradient : {false, true}) {
      EgoOptions o;
      o.gradient = gradient;
      o.tolerance = 0;
      const Search s = search(
          *make_ego(square, o),
          [&](const VectorXd& x) {
            Evaluation e;
            e.status = Status::ok;
            e.cost = cost(x);
            e.gradient = VectorXd::Zero(2);
            return e;
          },
          1, 16);
      for (const Evaluation& e : s.evaluations) EXPECT_TRUE(e.design.allFinite());
    }
  }
}

TEST(Ego, TrustRegionDescendsInManyVariables) {
  std::vector<Variable> box;
  for (int i = 0; i < 12; ++i) box.push_back({std::string(1, static_cast<char>('a' + i)), "", -2, 2});
  EgoOptions o;
  o.trust_region = true;
  const auto sphere = [](const VectorXd& x) {
    Evaluation e;
    e.status = Status::ok;
    e.cost = (x.array() - 0.5).square().sum();
    return e;
  };
  const Search s = search(*make_ego(box, o), sphere, 1, 40);
  EXPECT_LT(s.best().cost, 1e-4);
  // Variables that do not matter give equal costs, which are no plateau.
  const auto of_three = [](const VectorXd& x) {
    Evaluation e;
    e.status = Status::ok;
    e.cost = 1 + (x.head(3).array() - 0.5).square().sum();
    return e;
  };
  EXPECT_LT(search(*make_ego(box, o), of_three, 1, 60).best().cost, 1 + 1e-4);
}

// The first designs of a descent without gradients: a centre, and two designs along each axis.
TEST(Ego, TrustRegionBeginsWithAStar) {
  EgoOptions o;
  o.trust_region = true;
  const auto units_of = [](const EgoOptions& options) {
    std::vector<Eigen::Vector2d> units;
    for (const VectorXd& x : make_ego(square, options)->ask(20))
      units.emplace_back((x(0) - square[0].lower) / (square[0].upper - square[0].lower),
                         (x(1) - square[1].lower) / (square[1].upper - square[1].lower));
    return units;
  };
  const std::vector<Eigen::Vector2d> middle = {{0.5, 0.5}, {0.7, 0.5}, {0.3, 0.5}, {0.5, 0.7}, {0.5, 0.3}};
  const auto about_middle = units_of(o);
  ASSERT_EQ(about_middle.size(), middle.size());
  for (std::size_t i = 0; i < middle.size(); ++i) EXPECT_LT((about_middle[i] - middle[i]).norm(), 0.003) << i;

  // About a given design, on the near side of the bounds.
  o.given = Eigen::Vector2d(square[0].upper, square[1].lower);
  const std::vector<Eigen::Vector2d> corner = {{1, 0}, {0.6, 0}, {0.8, 0}, {1, 0.2}, {1, 0.4}};
  const auto about_corner = units_of(o);
  ASSERT_EQ(about_corner.size(), corner.size());
  for (std::size_t i = 0; i < corner.size(); ++i) EXPECT_LT((about_corner[i] - corner[i]).norm(), 0.003) << i;

  // No further than the conditions allow.
  o.given.resize(2, 0);
  o.possible = [](const VectorXd& x) { return x(0) <= square[0].lower + 0.6 * (square[0].upper - square[0].lower); };
  const auto allowed = units_of(o);
  ASSERT_EQ(allowed.size(), middle.size());
  EXPECT_NEAR(allowed[1](0), 0.6, 1e-6);

  // With noise there is no descent, so the first designs fill the range.
  o.noise = true;
  EXPECT_NE(units_of(o).size(), middle.size());
}

TEST(Ego, RejectsBadOptions) {
  EgoOptions o;
  EXPECT_THROW(make_ego({}, o), std::invalid_argument);
  EXPECT_THROW(make_ego({{"x", "", 1, 1}}, o), std::invalid_argument);
  o.batch = 0;
  EXPECT_THROW(make_ego(square, o), std::invalid_argument);
  o = {}, o.objectives = {0};
  EXPECT_THROW(make_ego(square, o), std::invalid_argument);
  for (const Index rows : {1, 3}) {
    o = {}, o.given = MatrixXd::Constant(rows, 2, 0.5);
    EXPECT_THROW(make_ego(square, o), std::invalid_argument) << rows;
  }
  o.given = MatrixXd::Constant(2, 1, 0.5);
  EXPECT_NO_THROW(make_ego(square, o));
}

// The search for other basins needs real variables only: whole numbers have no box around a design.
TEST(BasinSearch, NoneWithWholeNumbers) {
  const std::vector<Variable> four = {{"a", "", 0, 1}, {"b", "", 0, 1}, {"c", "", 0, 1}, {"n", "", 0, 8}};
  for (const bool whole : {false, true}) {
    std::vector<Domain> domains(4, Domain::real);
    if (whole) domains[3] = Domain::integer;
    ObservedData observed{.space = DesignSpace(four, domains, "test"), .constraints = {}, .objectives = {-1}};
    for (int i = 0; i < 9; ++i) {
      Evaluation e;
      e.status = Status::ok;
      e.design = Eigen::Vector4d(i % 2, i / 2 % 2, i / 4 % 2, i);
      e.cost = 1 + i;
      observed.evaluations.push_back(e);
    }
    BasinSearch basin_search;
    basin_search.observe(observed, true, false, 1);
    EXPECT_EQ(basin_search.taken(), !whole);
  }
}

TEST(SuccessClassifier, LearnsTheEdgeAndItsGradient) {
  MatrixXd x = MatrixXd::Zero(1, 11);
  std::vector<bool> viable;
  for (int i = 0; i < 11; ++i) x(0, i) = 0.1 * i, viable.push_back(i < 6);
  const SuccessClassifier v(x, viable);
  const auto at = [&](double t) { return std::exp(v.log_probability(VectorXd::Constant(1, t))); };
  EXPECT_GT(at(0.2), 0.8);
  EXPECT_LT(at(0.9), 0.3);
  EXPECT_GT(at(0.5), at(0.6));
  for (double t = 0.03; t < 1; t += 0.07) {
    VectorXd g;
    v.log_probability(VectorXd::Constant(1, t), &g);
    EXPECT_NEAR(g(0), (std::log(at(t + 1e-5)) - std::log(at(t - 1e-5))) / 2e-5, 1e-4 * (1 + std::abs(g(0))));
  }
  const SuccessClassifier all(x, std::vector<bool>(11, true));
  EXPECT_EQ(all.log_probability(VectorXd::Constant(1, 0.4)), 0);
}

// With `smooth`, the boundary between success and failure continues as a plane beyond the evaluated designs.
TEST(SuccessClassifier, AnEdgeKnownToBeSmoothGoesOn) {
  MatrixXd x(2, 12);
  std::vector<bool> viable;
  for (int i = 0; i < 12; ++i) {
    const double along = 0.1 * (i / 2) - 0.25, across = i % 2 ? 0.05 : -0.05;
    x.col(i) << along + across, along - across;
    viable.push_back(across < 0);
  }
  const SuccessClassifier smooth(x, viable, 0.01), any(x, viable);
  const Eigen::Vector2d beyond(2.3, 1.7), before(1.7, 2.3);
  EXPECT_GT(smooth.logit(before), 0.1);
  EXPECT_LT(smooth.logit(beyond), -0.1);
  EXPECT_NEAR(any.logit(before) - any.logit(beyond), 0, 0.1);  // without `smooth` the distant model is constant
  for (const Eigen::Vector2d& at : {Eigen::Vector2d(0.2, 0.1), Eigen::Vector2d(-0.6, 0.4), before}) {
    VectorXd g;
    smooth.log_probability(at, &g);
    for (int k = 0; k < 2; ++k) {
      const Eigen::Vector2d h = 1e-6 * Eigen::Vector2d::Unit(k);
      const double slope = (smooth.log_probability(at + h) - smooth.log_probability(at - h)) / 2e-6;
      EXPECT_NEAR(g(k), slope, 1e-4 * (1 + std::abs(slope)));
    }
  }
}

}  // namespace
}  // namespace dodyn::surrogate::test_ego
