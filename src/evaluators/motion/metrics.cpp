#include "evaluators/motion/metrics.hpp"

#include <algorithm>
#include <cctype>
#include <numeric>

#include "evaluators/motion/phased_motion.hpp"
#include "evaluators/motion/read_motion.hpp"

namespace dodyn::evaluators {

namespace {

// Returns the indices of the phases with this name; of a phase that contacts split, all pieces. Empty name: all phases.
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
  const bool at_end = is_at_end(aggregate.function),
             sums = aggregate.function == "integral" || aggregate.function == "mean";
  if (at_end) phases = {aggregate.function == "at_start" ? phases.front() : phases.back()};
  Term term{aggregate.function, {}};
  for (const int i : phases) {
    const PhaseOutline& phase = outline[i];
    const auto earlier = std::count_if(outline.begin(), outline.begin() + i, [](const auto& one) { return one.timed; });
    const dmoc::PhaseClock clock{phase.timed, static_cast<int>(earlier)};
    const dmoc::System& system = description.system();
    PhaseFunction part{i, at_end ? end_function(system, phase.held, aggregate.argument, parameters_)
                                 : path_function(system, phase.held, clock, aggregate.argument, parameters_, sums)};
    if (part.function.parameters.size() == aggregate.argument.quantities().size())
      throw ExpressionError("'" + aggregate.argument.text() + "' does not depend on the motion; remove " +
                            aggregate.function);
    check_places(part.function, phase.name, phase.intervals);
    term.parts.push_back(std::move(part));
  }
  return term;
}

double MotionMetrics::value(const Term& term, const dmoc::MotionProblem& problem, const Eigen::VectorXd& x,
                            const dmoc::Lookup& lookup) {
  if (is_at_end(term.function)) {
    const auto& [phase, function] = term.parts.front();
    return end_value(problem, phase, term.function == "at_end", function, lookup, x);
  }
  double integral = 0.0, time = 0.0, least = nlp::infinity, most = -nlp::infinity;
  for (const auto& [phase, function] : term.parts) {
    const Eigen::MatrixXd values = path_values(problem, phase, function, lookup, x);
    const dmoc::PhaseIndex& index = problem.index(phase);
    integral += values.col(1).sum();
    time += index.duration >= 0 ? x(index.duration) : problem.phase(phase).duration.value;
    least = std::min(least, values.col(0).minCoeff());
    most = std::max(most, values.col(0).maxCoeff());
  }
  if (term.function == "max_over") return most;
  if (term.function == "min_over") return least;
  return term.function == "mean" ? integral / time : integral;
}

std::vector<double> MotionMetrics::values(const dmoc::MotionProblem& problem, const Eigen::VectorXd& x,
                                          const MotionValues& values, std::vector<double> metrics) const {
  const dmoc::Lookup lookup = [&](const std::string& name) { return values.named(name); };
  std::vector<double> aggregates;
  for (const Term& term : terms_) aggregates.push_back(value(term, problem, x, lookup));
  return expressions_.values(
      std::move(metrics), [&](const std::string& name) { return values.named(name).value; }, aggregates);
}

}  // namespace dodyn::evaluators
