#include "evaluators/motion/metrics.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>

#include "dmoc/position_constraint.hpp"
#include "evaluators/motion/phased_motion.hpp"
#include "evaluators/motion/read_motion.hpp"

namespace dodyn::evaluators {

namespace {

// Returns the indices of the phases with this name, or of all pieces if contacts split the phase. Empty name: all
// phases.
std::vector<int> phases_named(const std::vector<PhaseOutline>& outline, const std::string& name) {
  std::vector<int> exact, pieces;
  for (std::size_t i = 0; i < outline.size(); ++i) {
    const std::string& own = outline[i].name;
    const bool is_piece =
        own.starts_with(name + "_") && std::all_of(own.begin() + static_cast<std::ptrdiff_t>(name.size()) + 1,
                                                   own.end(), [](unsigned char c) { return std::isdigit(c); });
    if (name.empty() || own == name) exact.push_back(static_cast<int>(i));
    if (is_piece) pieces.push_back(static_cast<int>(i));
  }
  return exact.empty() ? pieces : exact;
}

MetricExpressions::Names metric_names(const MotionDescription& description, const std::vector<std::string>& of_motion,
                                      const std::vector<Quantity>& built_in) {
  std::vector<std::string> parameters = of_motion;
  for (const auto& parameter : description.system().model().parameters) parameters.push_back(parameter.name);
  return {{"max_over", "min_over", "integral", "mean", "at_start", "at_end"}, std::move(parameters), built_in};
}

std::vector<std::string> names_of_parameters(const Settings& settings, const MotionDescription& description) {
  std::vector<std::string> names;
  for (const auto& [name, value] : description.values(MotionDescription::middle(settings)).motion)
    names.push_back(name);
  return names;
}

bool is_at_end(const std::string& function) { return function == "at_start" || function == "at_end"; }

}  // namespace

ini::SectionKind motion_metrics_section() {
  return {.kind = "metrics",
          .any_key = true,
          .description =
              "further metrics: NAME = an expression of max_over, min_over, integral, mean, at_start, at_end "
              "of an expression of the motion, of parameters and of metrics above"};
}

MotionMetrics::MotionMetrics(const Settings& settings, const MotionDescription& description,
                             const std::vector<Quantity>& built_in)
    : parameters_(names_of_parameters(settings, description)),
      expressions_(settings, description.system().model(), metric_names(description, parameters_, built_in),
                   [&](const CustomEntry&, const Aggregate& one) { terms_.push_back(read(description, one)); }) {}

MotionMetrics::Term MotionMetrics::read(const MotionDescription& description, const Aggregate& aggregate) const {
  const std::vector<PhaseOutline> outline = description.outline();
  std::vector<int> phases = phases_named(outline, aggregate.phase);
  if (phases.empty())
    throw ExpressionError("there is no phase '" + aggregate.phase + "'" +
                          did_you_mean(aggregate.phase, names_of(outline)) + "; allowed: " + listed(names_of(outline)));
  const auto& quantities = aggregate.argument.quantities();
  if (std::ranges::any_of(quantities, is_force)) return read_forces(description, aggregate, phases);
  const bool at_end = is_at_end(aggregate.function),
             sums = aggregate.function == "integral" || aggregate.function == "mean";
  if (at_end && std::ranges::any_of(quantities, [](const auto& one) { return one.text() == "t"; }))
    throw ExpressionError("t cannot be used at an end; use the metric duration of a motion, or the period of a gait");
  if (at_end) phases = {aggregate.function == "at_start" ? phases.front() : phases.back()};
  Term term{aggregate.function, {}};
  for (const int i : phases) {
    const PhaseOutline& phase = outline[i];
    const auto earlier = std::count_if(outline.begin(), outline.begin() + i, [](const auto& one) { return one.timed; });
    const dmoc::PhaseClock clock{phase.timed, static_cast<int>(earlier)};
    const dmoc::System& system = description.system();
    PhaseFunction part{i, at_end ? end_function(system, phase.held, aggregate.argument, parameters_)
                                 : path_function(system, phase.held, clock, aggregate.argument, parameters_, sums)};
    if (part.function.parameters.size() == quantities.size())
      throw ExpressionError("'" + aggregate.argument.text() + "' does not depend on the motion; remove " +
                            aggregate.function);
    check_places(part.function, phase.name, phase.intervals);
    term.parts.push_back(std::move(part));
  }
  return term;
}

MotionMetrics::Term MotionMetrics::read_forces(const MotionDescription& description, const Aggregate& aggregate,
                                               const std::vector<int>& phases) const {
  if (is_at_end(aggregate.function))
    throw ExpressionError("forces have no value at an end; allowed: max_over, min_over, integral, mean");
  Term term{aggregate.function, {}};
  std::string missing;
  for (const int i : phases) {
    PhaseFunction part{i, {}};
    part.function.expression = aggregate.argument;
    bool has_all = true;
    for (const Expression::Quantity& quantity : aggregate.argument.quantities()) {
      part.forces.push_back(description.held_force(i, quantity));
      const bool is_parameter =
          quantity.arguments.empty() && (description.system().model().parameter(quantity.name) >= 0 ||
                                         std::ranges::count(parameters_, quantity.name) > 0);
      if (!is_force(quantity) && !is_parameter)
        throw ExpressionError("'" + quantity.text() +
                              "' is neither a force nor a parameter; an expression of forces has "
                              "only these, such as normal(foot)");
      if (is_parameter || part.forces.back()) continue;
      has_all = false;
      missing = quantity.text();
    }
    if (has_all) term.parts.push_back(std::move(part));
  }
  if (term.parts.empty())
    throw ExpressionError("'" + missing +
                          "' is no force of a phase here; allowed: forces on what a phase fixes or holds");
  return term;
}

Eigen::MatrixXd MotionMetrics::force_values(const PhaseFunction& part, const MotionDescription::MetricInputs& seen,
                                            const dmoc::Lookup& lookup) {
  const dmoc::MotionProblem& problem = seen.solved.planned.problem;
  const dmoc::PhaseMotion& motion = seen.motion.phases[part.phase];
  const dmoc::PhaseIndex& index = problem.index(part.phase);
  const auto& holds = problem.position_constraints(part.phase);
  // The hold of a contact that stays, if any, comes first.
  const Eigen::MatrixXd of_points =
      holds.empty() ? Eigen::MatrixXd() : constraint_forces(problem, holds.back(), seen.solved.solution.x);
  const Expression& expression = part.function.expression;
  Eigen::MatrixXd all(index.knots(), 2);
  const int last = index.knots() - 1;
  for (int knot = 0; knot <= last; ++knot) {
    std::vector<double> given;
    for (std::size_t i = 0; i < part.forces.size(); ++i) {
      const auto& force = part.forces[i];
      given.push_back(!force             ? lookup(expression.quantities()[i].name).value
                      : force->of_points ? of_points(knot, force->index)
                                         : motion.held_force(knot, force->index));
    }
    const double value = expression.evaluate<double>(given);
    all.row(knot) << value, value * problem.knot_weight(part.phase, knot) * motion.h;
  }
  // An end without unknown rates leaves its force undetermined. The next knot's counts there: an error of order h^2.
  const auto take_next = [&](int end, int next) {
    all.row(end) << all(next, 0), all(next, 0) * problem.knot_weight(part.phase, end) * motion.h;
  };
  if (index.velocity_after < 0) take_next(0, 1);
  if (index.velocity_before < 0) take_next(last, last - 1);
  return all;
}

double MotionMetrics::value(const Term& term, const MotionDescription::MetricInputs& seen, const dmoc::Lookup& lookup) {
  const dmoc::MotionProblem& problem = seen.solved.planned.problem;
  const Eigen::VectorXd& x = seen.solved.solution.x;
  if (is_at_end(term.function)) {
    const PhaseFunction& part = term.parts.front();
    return end_value(problem, part.phase, term.function == "at_end", part.function, lookup, x);
  }
  double integral = 0.0, time = 0.0, least = nlp::infinity, most = -nlp::infinity;
  for (const PhaseFunction& part : term.parts) {
    const Eigen::MatrixXd values = part.forces.empty() ? path_values(problem, part.phase, part.function, lookup, x)
                                                       : force_values(part, seen, lookup);
    if (values.col(0).hasNaN()) return not_a_number;
    integral += values.col(1).sum();
    time += seen.motion.phases[part.phase].h * problem.index(part.phase).intervals;
    least = std::min(least, values.col(0).minCoeff());
    most = std::max(most, values.col(0).maxCoeff());
  }
  if (term.function == "max_over") return most;
  if (term.function == "min_over") return least;
  return term.function == "mean" ? integral / time : integral;
}

std::vector<double> MotionMetrics::values(const MotionDescription::MetricInputs& seen, const MotionValues& values,
                                          std::vector<double> metrics) const {
  const dmoc::Lookup lookup = [&](const std::string& name) { return values.named(name); };
  std::vector<double> aggregates;
  for (const Term& term : terms_) aggregates.push_back(value(term, seen, lookup));
  return expressions_.values(
      std::move(metrics), [&](const std::string& name) { return values.named(name).value; }, aggregates);
}

}  // namespace dodyn::evaluators
