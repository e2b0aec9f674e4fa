// Every strategy on every kind of variable, condition and constraint: each proposed design satisfies them, or the
// strategy refuses them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <stdexcept>

#include "search.hpp"
#include "surrogate/strategy_options.hpp"
#include "tests/message_of.hpp"

namespace dodyn::surrogate::test_kinds {
namespace {

using Eigen::VectorXd;

const std::vector<Variable> box = {{"x", "m", 1, 100}, {"n", "", 0, 6}};

struct Kind {
  std::string name;
  std::vector<Domain> domains;
  std::function<bool(const VectorXd&)> kept;  // what every design must keep
  std::function<bool(const VectorXd&)> possible = {};
};

std::vector<Kind> kinds() {
  const auto whole = [](const VectorXd& x) { return x(1) == std::round(x(1)); };
  Domain logarithmic_whole(Domain::integer);
  logarithmic_whole.on_log_scale = true;
  Domain conditional;
  conditional.active = [](const VectorXd& x) { return x(0) > 40; };
  return {
      {"integer", {Domain::real, Domain::integer}, whole},
      {"category", {Domain::real, Domain::category}, whole},
      {"logarithmic", {Domain::logarithmic, Domain::real}, [](const VectorXd&) { return true; }},
      {"whole on a log scale",
       {logarithmic_whole, Domain::real},
       [](const VectorXd& x) { return x(0) == std::round(x(0)); }},
      {"list",
       {Domain::real, Domain({0, 1.5, 6})},
       [](const VectorXd& x) { return x(1) == 0 || x(1) == 1.5 || x(1) == 6; }},
      {"conditional", {Domain::real, conditional}, [](const VectorXd& x) { return x(0) > 40 || x(1) == 0; }},
  };
}

Evaluation bowl(const VectorXd& x) {
  Evaluation e;
  e.status = Status::ok;
  e.cost = 1 + std::pow(std::log(x(0) / 7), 2) + std::pow((x(1) - 4) / 3, 2);
  return e;
}

// A strategy that does not support a kind of variable refuses it. The others propose designs of that kind in the box.
TEST(Kinds, EveryStrategyHonoursOrRefuses) {
  const std::set<std::string> take = {"auto", "ego", "trust-region", "sweep", "morris"};
  for (const StrategyKind& strategy : strategy_kinds()) {
    for (const Kind& kind : kinds()) {
      SCOPED_TRACE(strategy.name + " on " + kind.name);
      StrategyOptions choice;
      choice.name = strategy.name;
      choice.sweep.points = {5};
      choice.ego.domains = kind.domains;
      const bool one = strategy.name == "spline";
      if (!take.contains(strategy.name)) {
        const std::string line = message_of<std::invalid_argument>(
            [&] { make_strategy(choice, one ? std::vector<Variable>{box[0]} : box); });
        EXPECT_NE(line.find(strategy.name), std::string::npos);
        EXPECT_EQ(line.find('\n'), std::string::npos);
        continue;
      }
      const auto search_of = make_strategy(choice, box);
      const Search found = search(*search_of, bowl, 4, 25);
      EXPECT_GE(found.evaluations.size(), 10u);
      for (const Evaluation& e : found.evaluations) {
        EXPECT_TRUE(kind.kept(e.design)) << e.design.transpose();
        EXPECT_TRUE(e.design(0) >= 1 && e.design(0) <= 100 && e.design(1) >= 0 && e.design(1) <= 6)
            << e.design.transpose();
      }
    }
  }
}

// With few values the filling contains designs that were given or are known.
TEST(Kinds, NoInitialDesignIsAskedForTwice) {
  EgoOptions options;
  options.domains = {Domain::integer};
  options.given = Eigen::RowVector2d(2, 3);
  options.initial_samples = 8;
  const std::vector<Variable> few = {{"n", "", 1, 5}};
  const auto values_of = [&] {
    std::vector<double> values;
    for (const VectorXd& x : make_ego(few, options)->ask(20)) values.push_back(x(0));
    return values;
  };
  const std::vector<double> values = values_of();
  EXPECT_EQ(std::set<double>(values.begin(), values.end()).size(), values.size());
  EXPECT_EQ(values.size(), 5u);
  Evaluation known;
  known.status = Status::ok;
  for (const double n : {4.0, 5.0}) {
    known.design = VectorXd::Constant(1, n);
    known.cost = n;
    options.known.push_back(known);
  }
  EXPECT_EQ(values_of(), (std::vector<double>{4, 2, 3, 1}));  // the best known one first
}

// Every strategy either has the key of a condition or a constraint, or its table refuses it before a study begins.
TEST(Kinds, ConditionsAndConstraints) {
  const std::map<std::string, std::set<std::string>> takers = {
      {"surrogate.design-constraints", {"auto", "ego", "trust-region", "sweep", "morris"}},
      {"surrogate.integers", {"auto", "ego", "trust-region", "sweep", "morris"}},
      {"surrogate.constraints", {"auto", "ego", "trust-region"}},
      {"surrogate.objectives", {"auto", "ego", "trust-region"}}};
  for (const StrategyKind& strategy : strategy_kinds()) {
    const std::vector<Key> keys = strategy.keys.keys();
    for (const auto& [name, those] : takers)
      EXPECT_EQ(std::any_of(keys.begin(), keys.end(), [&name = name](const Key& key) { return key.name == name; }),
                those.contains(strategy.name))
          << strategy.name << " " << name;
    if (!takers.at("surrogate.design-constraints").contains(strategy.name)) continue;
    StrategyOptions choice;
    choice.name = strategy.name;
    choice.sweep.points = {5};
    const auto kept = parse_conditions("x + 10*n <= 60, x < 50", box, [](const std::string&) { return std::string(); });
    choice.ego.possible = kept;
    const Search found = search(*make_strategy(choice, box), bowl, 4, 25);
    EXPECT_GE(found.evaluations.size(), 6u) << strategy.name;
    for (const Evaluation& e : found.evaluations)
      EXPECT_TRUE(kept(e.design)) << strategy.name << ": " << e.design.transpose();
  }
}

// A cost that is a parabola with a ripple in the logarithm of its variable. On the logarithmic scale the search finds
// the minimum, whatever the unit.
TEST(Kinds, LogarithmicScaleFindsWhatTheLinearOneOverlooks) {
  const std::vector<Variable> wide = {{"stiffness", "N/m", 1e-3, 1e6}};
  const auto cost = [](const VectorXd& x) {
    Evaluation e;
    e.status = Status::ok;
    const double t = std::log10(x(0)) + 1.3;
    e.cost = 1 + t * t + 0.3 * std::sin(4 * t);
    e.gradient = VectorXd::Constant(1, (2 * t + 1.2 * std::cos(4 * t)) / (x(0) * std::log(10.0)));
    return e;
  };
  for (const bool gradient : {false, true}) {
    StrategyOptions choice;
    choice.name = "ego";
    choice.ego.domains = {Domain::logarithmic};
    choice.ego.gradient = gradient;
    const Search found = search(*make_strategy(choice, wide), cost, 1, gradient ? 15 : 25);
    double least = INFINITY;
    for (double t = -2; t < 2; t += 1e-4) least = std::min(least, 1 + t * t + 0.3 * std::sin(4 * t));
    EXPECT_LT(found.best().cost, least * 1.01) << gradient;
  }
}

// A whole number of many values moves as a real variable.
TEST(Kinds, WholeNumbersOfManyValues) {
  const std::vector<Variable> wide = {{"x", "m", 0, 1}, {"tubes", "", 1, 9000}};
  const auto cost = [](const VectorXd& x) {
    Evaluation e;
    e.status = Status::ok;
    e.cost = std::pow(std::log(x(1) / 700) + x(0) - 0.4, 2) + 4 * std::pow(x(0) - 0.4, 2);
    e.metrics = VectorXd::Constant(1, x(1));
    return e;
  };
  Named named;
  named.integers = "tubes";
  named.logarithmic = "tubes";
  for (const bool limited : {false, true}) {  // the minimum is inside, or at a constraint
    StrategyOptions choice;
    choice.name = "ego";
    choice.ego.domains = parse_domains(named, wide, [](const std::string&) { return ""; });
    if (limited) choice.ego.constraints = parse_constraints("n >= 1500", {"n"});
    const Search found = search(*make_strategy(choice, wide), cost, 1, 30);
    double least = infinity;
    for (const Evaluation& e : found.evaluations) {
      EXPECT_EQ(e.design(1), std::round(e.design(1)));
      if (!limited || e.design(1) >= 1500) least = std::min(least, e.cost);
    }
    const double t = std::log(1500.0 / 700);  // at the limit: the minimum over x of (t + x - 0.4)^2 + 4 (x - 0.4)^2
    EXPECT_LT(least, limited ? 0.8 * t * t + 1e-4 : 1e-4) << limited;
  }
}

// The minimum is where two conditions on designs meet. Maxima of the acquisition lie beyond them.
TEST(Kinds, TheMinimumAtAConditionOnDesigns) {
  const std::vector<Variable> square = {{"x", "", 0, 1}, {"y", "", 0, 1}, {"z", "", 0, 1}};
  const auto cost = [](const VectorXd& x) {
    Evaluation e;
    e.status = Status::ok;
    e.cost = (x.array() - 1).matrix().squaredNorm();
    return e;
  };
  int reached = 0;
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    StrategyOptions choice;
    choice.name = "ego";
    choice.ego.seed = seed;
    const std::string conditions = "x + y <= 1, z <= x*y + 0.25";
    choice.ego.possible = parse_conditions(conditions, square, [](const std::string&) { return ""; });
    choice.ego.margins = parse_margins(conditions, square, [](const std::string&) { return ""; });
    const Search found = search(*make_strategy(choice, square), cost, 1, 25);
    for (const Evaluation& e : found.evaluations) EXPECT_TRUE(choice.ego.possible(e.design)) << e.design.transpose();
    reached += found.best().cost < 0.75 + 1e-4;  // at x = y = z = 1/2
  }
  EXPECT_EQ(reached, 5);
}

TEST(Kinds, MarginsOfConditions) {
  const auto text_of = [](const std::string& name) { return name == "fixed" ? std::string("40") : std::string(); };
  const auto margins = parse_margins("x + n <= fixed, 2 <= x and x > n^2", box, text_of);
  ASSERT_EQ(margins.size(), 3u);
  const Eigen::Vector2d at(20, 5);
  EXPECT_DOUBLE_EQ(margins[0](at), 15);
  EXPECT_DOUBLE_EQ(margins[1](at), 18);
  EXPECT_DOUBLE_EQ(margins[2](at), -5);
  EXPECT_TRUE(parse_margins("x <= 3 or n <= 1", box, text_of).empty());
  EXPECT_TRUE(parse_margins("", box, text_of).empty());
}

TEST(Kinds, ListsAndConditionsAsText) {
  const auto text_of = [](const std::string& name) {
    return name == "n" ? std::string("0, 1.5, 6") : name == "fixed" ? std::string("40") : std::string();
  };
  Named named;
  named.logarithmic = "x";
  named.conditional = "n if x > fixed";
  const auto domains = parse_domains(named, box, text_of);
  ASSERT_EQ(domains.size(), 2u);
  EXPECT_EQ(domains[0].kind, Domain::logarithmic);
  EXPECT_EQ(domains[1].kind, Domain::list);
  EXPECT_EQ(domains[1].values, (std::vector<double>{0, 1.5, 6}));
  EXPECT_FALSE(domains[1].active(Eigen::Vector2d(30, 1.5)));
  EXPECT_TRUE(domains[1].active(Eigen::Vector2d(50, 1.5)));
  const auto names = parse_domains({}, box, [](const std::string& name) { return name == "n" ? "steel, brass" : ""; });
  EXPECT_EQ(names[1].kind, Domain::category);
  EXPECT_TRUE(parse_domains({}, box, [](const std::string&) { return ""; }).empty());
  Named whole;
  whole.integers = whole.logarithmic = "x";
  const auto both = parse_domains(whole, box, [](const std::string&) { return ""; });
  EXPECT_EQ(both[0].kind, Domain::integer);
  EXPECT_TRUE(both[0].on_log_scale);
  named.integers = "n";
  EXPECT_THROW(parse_domains(named, box, text_of), std::invalid_argument);  // a list already
  const auto refusal = [](const std::string& integers, const std::string& categories, const std::string& conditional) {
    Named of;
    of.integers = integers;
    of.categories = categories;
    of.conditional = conditional;
    try {
      parse_domains(of, box, [](const std::string&) { return ""; });
    } catch (const std::invalid_argument& error) {
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  EXPECT_EQ(refusal("n", "n", ""), "n has a type already, by surrogate.integers");
  EXPECT_EQ(refusal("", "", "n if x > 5, n if x < 3"), "n has two conditions; join them with 'and' into one");
  EXPECT_EQ(refusal("", "", "x if x > 5"), "'x > 5' uses x itself; a condition is on other variables");
  EXPECT_EQ(refusal("", "", "n if x > 5 and x < 9"), "accepted");
  EXPECT_EQ(refusal("", "", "n if x > 5, x if n > 1"),
            "'x if n > 1' closes a circle: whether n exists depends on x; remove one of the conditions");
  for (const char* bad : {"x + n", "x <= z", "x <=", "abs(x, n) < 1"})
    EXPECT_THROW(parse_conditions(bad, box, text_of), std::invalid_argument) << bad;
  EXPECT_TRUE(parse_conditions("min(x, n) < 2", box, text_of)(Eigen::Vector2d(5, 1)));
}

// A variable whose condition is on a variable that does not exist itself, whatever their order is.
TEST(Kinds, ConditionsOnConditionalVariables) {
  const std::vector<Variable> variables = {{"a", "", 0, 1}, {"b", "", 0, 1}, {"c", "", 0, 1}, {"d", "", 0, 1}};
  const auto no_text = [](const std::string&) { return std::string(); };
  Named named;
  named.conditional = "a if b > 0.3, b if c > 0.6, d if a < 0.2";
  const DesignSpace space(variables, parse_domains(named, variables, no_text), "test");
  EXPECT_EQ(space.design(Eigen::Vector4d(0.7, 0.9, 0.1, 0.5)), Eigen::Vector4d(0, 0, 0.1, 0.5));
  EXPECT_EQ(space.design(Eigen::Vector4d(0.7, 0.9, 0.8, 0.5)), Eigen::Vector4d(0.7, 0.9, 0.8, 0));
  EXPECT_EQ(space.design(Eigen::Vector4d(0.1, 0.9, 0.8, 0.5)), Eigen::Vector4d(0.1, 0.9, 0.8, 0.5));
  named.conditional = "a if b > 0.3, b if c > 0.6, c if a > 0.2";
  EXPECT_THROW(parse_domains(named, variables, no_text), std::invalid_argument);
}

TEST(Kinds, EveryStrategyRefusesADesignOfAnotherSize) {
  for (const StrategyKind& kind : strategy_kinds()) {
    StrategyOptions choice;
    choice.name = kind.name;
    choice.sweep.points = {5};
    const std::size_t variables = kind.name == "spline" ? 1 : 2;
    const auto strategy = make_strategy(choice, {box.begin(), box.begin() + variables});
    for (const std::size_t size : {std::size_t{0}, variables - 1, variables + 1}) {
      Evaluation e = bowl(Eigen::Vector2d(7, 4));
      e.design = VectorXd::Constant(size, 3);
      EXPECT_THROW(strategy->tell(e), std::invalid_argument) << kind.name << ", " << size;
    }
    const Search after = search(
        *strategy, [](const VectorXd& x) { return bowl(x.replicate(2, 1)); }, 4, 6);
    EXPECT_GE(after.evaluations.size(), 5u) << kind.name;
  }
}

// Asynchronous use: the strategy receives each result at once, while other designs are pending, in another order than asked.
TEST(Kinds, EveryStrategyThatEndsEndsAsynchronously) {
  for (const StrategyKind& kind : strategy_kinds()) {
    SCOPED_TRACE(kind.name);
    StrategyOptions choice;
    choice.name = kind.name;
    choice.sweep.points = {5};
    choice.morris.trajectories = 3;
    const std::vector<Variable> free(box.begin(), box.begin() + (kind.name == "spline" ? 1 : 2));
    const Function cost = [](const VectorXd& x) { return bowl(Eigen::Vector2d(x(0), x.size() == 2 ? x(1) : 4)); };
    const bool ends = !search(*make_strategy(choice, free), cost, 4, 150).stopped.empty();
    const auto strategy = make_strategy(choice, free);
    std::vector<Evaluation> out;
    int asked = 0, told = 0;
    for (; told < 150 && strategy->stopped().empty(); ++told) {
      for (const VectorXd& x : strategy->ask(4 - std::ssize(out))) {
        out.push_back(cost(x));
        out.back().design = x;
        out.back().id = asked++;
      }
      ASSERT_FALSE(out.empty()) << "asks for none, and does not stop";
      const auto next = out.begin() + told % static_cast<std::ptrdiff_t>(out.size());
      const Evaluation e = *next;
      out.erase(next);
      strategy->tell(e);
      strategy->decide();
    }
    EXPECT_EQ(!strategy->stopped().empty(), ends) << told;
    EXPECT_TRUE(!ends || out.empty()) << out.size() << " designs are out";
  }
}

// The same tells give the same asks, also along a boundary of failures. A resumed study depends on it.
TEST(Kinds, TheSameSequenceAlongAnEdge) {
  const auto edge = [](const VectorXd& x) {
    Evaluation e = bowl(x);
    if ((x - Eigen::Vector2d(30, 4)).norm() < 25) e.status = Status::failed, e.cost = not_a_number;
    return e;
  };
  StrategyOptions choice;
  choice.name = "ego";
  const Search first = search(*make_strategy(choice, box), edge, 1, 30);
  const std::vector<double> elsewhere(100000, 0.7);  // other memory
  const Search second = search(*make_strategy(choice, box), edge, 1, 30);
  ASSERT_EQ(first.evaluations.size(), second.evaluations.size());
  for (std::size_t i = 0; i < first.evaluations.size(); ++i)
    EXPECT_EQ(first.evaluations[i].design, second.evaluations[i].design) << i;
}

TEST(Kinds, LimitsOnBothSidesAndEqualities) {
  const std::vector<std::string> metrics = {"lean", "speed"};
  const auto sides = parse_constraints("0.2 <= lean <= 0.4, speed = 1 +- 0.25, 3 >= cost >= 1", metrics);
  ASSERT_EQ(sides.size(), 6u);
  Evaluation e;
  e.status = Status::ok;
  e.cost = 2;
  const auto kept = [&](double lean, double speed) {
    e.metrics = Eigen::Vector2d(lean, speed);
    return std::all_of(sides.begin(), sides.end(), [&](const Constraint& c) { return c.is_satisfied(e); });
  };
  EXPECT_TRUE(kept(0.3, 1));
  EXPECT_TRUE(kept(0.2, 0.75));
  EXPECT_FALSE(kept(0.1, 1));
  EXPECT_FALSE(kept(0.5, 1));
  EXPECT_FALSE(kept(0.3, 0.7));
  EXPECT_FALSE(kept(0.3, 1.3));
  e.cost = 4;
  EXPECT_FALSE(kept(0.3, 1));
  for (const char* bad : {"0.4 <= lean <= 0.2", "speed = 1", "speed = 1 +- 0", "speed = 1 +- x", "1 <= 2 <= lean"})
    EXPECT_THROW(parse_constraints(bad, metrics), std::invalid_argument) << bad;
  const auto refusal = [&](const std::string& text) {
    return message_of<std::invalid_argument>([&] { parse_constraints(text, metrics); });
  };
  EXPECT_EQ(parse_constraints("lean <= 0.4, speed <= 1, lean >= 0.2", metrics).size(), 3u);
  EXPECT_EQ(refusal("lean <= 0.4, lean <= 0.3"), "'lean' has two upper limits; remove one of them");
  EXPECT_EQ(refusal("speed = 1 +- 0.1, speed >= 0"), "'speed' has two lower limits; remove one of them");
  for (const char* none : {"lean <= 0.2, lean >= 0.4", "0.4 <= lean <= 0.2", "0.2 >= lean >= 0.4"})
    EXPECT_EQ(refusal(none), "no value satisfies both lean >= 0.4 and lean <= 0.2");
  EXPECT_EQ(refusal("lean <= 20 deg"),
            "'lean <= 20 deg': '20 deg' is not a number; a limit is a number in the unit of its metric");
}

}  // namespace
}  // namespace dodyn::surrogate::test_kinds
