#include "evaluators/motion/pinned.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include "record/text.hpp"

namespace dodyn::evaluators {

namespace {

using Values = PinnedPositions::Values;

constexpr double zero = 1e-9;        // m or rad; the default tolerance of the solver
constexpr double violated = 1e-7;    // beyond the rounding of numbers in a text with seven digits
constexpr double difference = 1e-5;  // m or rad, change of coordinates in the difference quotient of a position
constexpr double linear = 1e-9;      // deviation of an equality from a linear one, relative to its slope

// An expression, and the names in it that are parameters.
struct PinnedExpression {
  const Expression& expression;
  const std::vector<std::string>& parameters;
  PinnedExpression(const dmoc::PathFunction& f) : expression(f.expression), parameters(f.parameters) {}  // NOLINT
  PinnedExpression(const Expression& e, const std::vector<std::string>& names) : expression(e), parameters(names) {}
};

bool is_parameter(const PinnedExpression& f, const Expression::Quantity& q) {
  return std::ranges::find(f.parameters, q.text()) != f.parameters.end();
}

// Returns an expression's value, where `of` has the values of quantities that are not parameters.
double value_of(const PinnedExpression& f, const MotionValues& values, const Values& of) {
  std::vector<double> numbers;
  for (const auto& q : f.expression.quantities())
    numbers.push_back(is_parameter(f, q) ? values.named(q.text()).value : of.at(q.text()));
  return f.expression.evaluate<double>(numbers);
}

// Returns whether parameters and these values determine an expression.
bool is_determined(const PinnedExpression& f, const Values& of) {
  const auto& quantities = f.expression.quantities();
  return std::ranges::all_of(quantities, [&](const auto& q) { return is_parameter(f, q) || of.contains(q.text()); });
}

// Adds the position that an equality of this position alone determines, if it is linear.
void pin(const dmoc::PathFunction& equality, const MotionValues& values, Values& pinned) {
  std::optional<std::string> only;
  for (const auto& q : equality.expression.quantities()) {
    if (is_parameter(equality, q)) continue;
    if (only || !q.arguments.empty()) return;
    only = q.text();
  }
  if (!only) return;
  const auto at = [&](double position) { return value_of(equality, values, {{*only, position}}); };
  const double slope = at(1.0) - at(0.0);
  if (slope == 0.0 || !(std::abs(at(2.0) - at(0.0) - 2.0 * slope) <= linear * std::abs(slope))) return;
  pinned.emplace(*only, -at(0.0) / slope);
}

// Adds coordinates, [coordinates], nullopt: unknown, and the points whose place follows from them.
void add_positions(const PhasedMotion& motion, const MotionValues& values,
                   const std::vector<std::optional<double>>& given, Values& pinned) {
  const dmoc::System& system = *motion.system;
  std::vector<double> q;
  for (std::size_t c = 0; c < given.size(); ++c) {
    q.push_back(given[c].value_or(0.0));
    if (given[c]) pinned.emplace(system.structure().coordinate_names[c], *given[c]);
  }
  const auto tree = system.model().tree<double>(autodiff::values_of(values.model.numbers));
  const auto frames = tree.frames(q.data());
  for (const auto& [name, place] : tree.named_points) {
    const std::vector<int> coordinates = system.coordinates_of(place.link);
    if (place.link < 0 || !std::ranges::all_of(coordinates, [&](int c) { return given[c].has_value(); })) continue;
    const auto at = frames[place.link].point(place.at);
    for (int axis = 0; axis < tree.dimension; ++axis) pinned.emplace(name + "." + "xyz"[axis], at[axis]);
  }
}

// Returns the coordinates, or rates, that the start or the goal gives, [coordinates]; nullopt: not given.
std::vector<std::optional<double>> given_at(const PhasedMotion& motion, const MotionValues& values, bool end,
                                            bool rates) {
  std::vector<std::optional<double>> given(motion.system->n());
  for (const GivenCoordinate& g : motion.at(end).given)
    if (g.rate == rates) given[g.coordinate] = values.evaluated(g.value).value;
  return given;
}

Values pinned_at(const PhasedMotion& motion, const MotionValues& values, bool end) {
  const auto given = given_at(motion, values, end, false);
  Values pinned, required;
  for (const auto& [function, equality] : motion.at(end).conditions)
    if (equality) pin(function, values, required);
  add_positions(motion, values, given, pinned);
  pinned.insert(required.begin(), required.end());
  return pinned;
}

// Returns the pinned positions that a phase holds.
Values held(const PhasedMotion& motion, const MotionPhase& phase, const Values& pinned) {
  Values all;
  const auto keep = [&](const std::string& name) {
    if (const auto at = pinned.find(name); at != pinned.end()) all.insert(*at);
  };
  for (const int c : phase.held) keep(motion.system->structure().coordinate_names[c]);
  if (!phase.holds) return all;
  // skips pairs of points: a pair has the name of its first point, but does not hold the position of that point
  for (std::size_t i = 0; i < phase.holds->names.size(); ++i)
    if (phase.holds->expressions[i].text() == phase.holds->names[i]) keep(phase.holds->names[i]);
  return all;
}

// Returns the value of a condition that pinned positions alone determine.
std::optional<double> pinned_value(const dmoc::PathFunction& condition, const Values& pinned,
                                   const MotionValues& values) {
  if (condition.place != dmoc::PathFunction::Place::knots || condition.of_time || !is_determined(condition, pinned))
    return std::nullopt;
  return value_of(condition, values, pinned);
}

// Returns the time of a knot if all durations up to it are given, s.
std::optional<double> given_time(const PhasedMotion& motion, int phase, int knot, const MotionValues& values) {
  double time = 0.0;
  for (int i = 0; i <= phase; ++i) {
    const MotionPhase& one = motion.phases[i];
    if (one.timed()) return std::nullopt;
    const double share = i < phase ? 1.0 : motion.system->scheme().position(knot) / one.intervals;
    time += share * values.evaluated(one.shortest).value;
  }
  return time;
}

// Returns the value of a condition that parameters, and the time if it is given, alone determine.
std::optional<double> settled_value(const PhasedMotion& motion, int phase, int knot,
                                    const dmoc::PathFunction& condition, const MotionValues& values) {
  if (condition.place != dmoc::PathFunction::Place::knots) return std::nullopt;
  Values known;
  for (const auto& q : condition.expression.quantities()) {
    if (is_parameter(condition, q)) continue;
    const std::optional<double> time =
        condition.of_time && q.text() == "t" ? given_time(motion, phase, knot, values) : std::nullopt;
    if (!time) return std::nullopt;
    known.emplace("t", *time);
  }
  return value_of(condition, values, known);
}

bool is_violated(double value, bool equality) { return (equality ? std::abs(value) : -value) > violated; }

// Returns the first condition of a phase or an end that parameters or given times violate; empty: none.
std::string settled_violation(const PhasedMotion& motion, int phase, int knots, const std::string& title,
                              const std::vector<std::pair<dmoc::PathFunction, bool>>& conditions,
                              const MotionValues& values) {
  for (const auto& [condition, equality] : conditions)
    for (int knot = 0; knot < knots; ++knot) {
      const std::optional<double> value = settled_value(motion, phase, knot, condition, values);
      if (!value) break;
      if (!is_violated(*value, equality)) continue;
      const std::string text =
          title + " require = " + condition.expression.text() + formatted(" is violated by %.3g", std::abs(*value));
      return condition.of_time
                 ? text + formatted(" at t = %.4g s in every motion; change the durations, or the condition",
                                    *given_time(motion, phase, knot, values))
                 : text + " in every motion, because it is of parameters alone; change them, or the condition";
    }
  return "";
}

// Returns the first constraint of the model that pinned positions of the start or the goal violate; empty: none.
std::string violated_constraint(const PhasedMotion& motion, bool end, const Values& pinned,
                                const MotionValues& values) {
  const std::optional<HeldPlaces>& holds = (end ? motion.phases.back() : motion.phases.front()).holds;
  for (std::size_t i = 0; holds && i < holds->names.size(); ++i) {
    const PinnedExpression constraint(holds->expressions[i], holds->function.parameters);
    if (!holds->at_zero[i] || !is_determined(constraint, pinned)) continue;
    const double value = value_of(constraint, values, pinned);
    if (is_violated(value, true))
      return formatted("the %s violates [constraint %s], zero = %s, by %.3g; change its positions",
                       end ? "goal" : "initial state", holds->names[i].c_str(), constraint.expression.text().c_str(),
                       std::abs(value));
  }
  return "";
}

// Returns the first constraint or hold that the given rates of the start or the goal violate; empty: none.
std::string violated_rate(const PhasedMotion& motion, bool end, const MotionValues& values) {
  const MotionPhase& phase = end ? motion.phases.back() : motion.phases.front();
  if (!phase.holds) return "";
  const auto positions = given_at(motion, values, end, false), rates = given_at(motion, values, end, true);
  double fastest = 0.0;
  for (const auto& rate : rates) fastest = std::max(fastest, std::abs(rate.value_or(0.0)));
  const double step = difference / (1.0 + fastest);  // s; a fixed one would be too long for fast motions
  const auto moved = [&](double time) {
    auto at = positions;
    for (std::size_t c = 0; c < at.size(); ++c) {
      if (at[c] && rates[c])
        *at[c] += time * *rates[c];
      else
        at[c].reset();
    }
    Values all;
    add_positions(motion, values, at, all);
    return all;
  };
  const Values before = moved(-step), after = moved(step);
  for (std::size_t i = 0; i < phase.holds->names.size(); ++i) {
    const PinnedExpression held_one(phase.holds->expressions[i], phase.holds->function.parameters);
    if (!is_determined(held_one, before)) continue;
    const double rate = (value_of(held_one, values, after) - value_of(held_one, values, before)) / (2.0 * step);
    if (std::abs(rate) > violated * (1.0 + fastest))
      return formatted("the rates of the %s change %s, which %s, by %.3g per second; change the rates",
                       end ? "goal" : "initial state", held_one.expression.text().c_str(),
                       (phase.holds->at_zero[i] ? "[constraint " + phase.holds->names[i] + "] holds at zero"
                                                : "[phase " + phase.name + "] holds")
                           .c_str(),
                       std::abs(rate));
  }
  return "";
}

// Returns the first position for which the goal gives another value than the initial state, although all phases hold
// it; empty: none.
std::string moved_hold(const PhasedMotion& motion, const MotionValues& values) {
  Values now = pinned_at(motion, values, false);
  for (const MotionPhase& phase : motion.phases) now = held(motion, phase, now);
  const Values goal = pinned_at(motion, values, true);
  for (const auto& [name, value] : now)
    if (const auto at = goal.find(name); at != goal.end() && is_violated(at->second - value, true))
      return formatted(
          "the goal has %s = %.6g, but every phase holds it at %.6g, its value in the initial state; "
          "change one of them, or hold",
          name.c_str(), at->second, value);
  return "";
}

}  // namespace

std::vector<PinnedPositions> pinned_positions(const PhasedMotion& motion, const MotionValues& values) {
  const std::size_t count = motion.phases.size();
  std::vector<PinnedPositions> all(count);
  // emplace() and insert() keep the first value of a name
  Values now = pinned_at(motion, values, false);
  for (std::size_t i = 0; i < count; ++i) {
    all[i].first.insert(now.begin(), now.end());
    now = held(motion, motion.phases[i], now);
    all[i].inner.insert(now.begin(), now.end());
    all[i].last.insert(now.begin(), now.end());
  }
  now = pinned_at(motion, values, true);
  for (std::size_t i = count; i-- > 0;) {
    all[i].last.insert(now.begin(), now.end());
    now = held(motion, motion.phases[i], now);
    all[i].inner.insert(now.begin(), now.end());
    all[i].first.insert(now.begin(), now.end());
  }
  return all;
}

bool is_pinned_at_zero(const dmoc::PathFunction& inequality, const Values& pinned, const MotionValues& values) {
  const std::optional<double> value = pinned_value(inequality, pinned, values);
  return value && std::abs(*value) <= zero;
}

bool is_settled(const PhasedMotion& motion, int phase, int knot, const dmoc::PathFunction& condition,
                const MotionValues& values) {
  return settled_value(motion, phase, knot, condition, values).has_value();
}

std::string pinned_violation(const PhasedMotion& motion, const MotionValues& values) {
  const int count = motion.phases.size();
  for (const bool end : {false, true})
    if (std::string text = settled_violation(motion, end ? count - 1 : 0, 1, end ? "[goal]" : "[initial-state]",
                                             motion.at(end).conditions, values);
        !text.empty())
      return text;
  const std::vector<PinnedPositions> pinned = pinned_positions(motion, values);
  for (const bool end : {false, true})
    if (std::string text = violated_constraint(motion, end, end ? pinned.back().last : pinned.front().first, values);
        !text.empty())
      return text;
  for (const bool end : {false, true})
    if (std::string text = violated_rate(motion, end, values); !text.empty()) return text;
  if (std::string text = moved_hold(motion, values); !text.empty()) return text;
  for (std::size_t i = 0; i < motion.phases.size(); ++i) {
    const MotionPhase& phase = motion.phases[i];
    if (std::string text = settled_violation(motion, i, phase.intervals * motion.degree() + 1,
                                             "[phase " + phase.name + "]", phase.constraints, values);
        !text.empty())
      return text;
    for (const auto& [condition, equality] : phase.constraints)
      for (const bool end : {false, true}) {
        const std::optional<double> value = pinned_value(condition, end ? pinned[i].last : pinned[i].first, values);
        if (!value || !is_violated(*value, equality)) continue;
        return formatted(
            "[phase %s] require = %s is violated by %.3g at its %s, where the initial state, the goal and hold give "
            "all positions; change these, or the condition",
            phase.name.c_str(), condition.expression.text().c_str(), std::abs(*value), end ? "end" : "beginning");
      }
  }
  return "";
}

}  // namespace dodyn::evaluators
