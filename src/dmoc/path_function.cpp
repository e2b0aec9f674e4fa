#include "dmoc/path_function.hpp"

#include <algorithm>

#include "settings/config_error.hpp"

namespace dodyn::dmoc {

using autodiff::Var;
using systems::Variable;

namespace {

struct Argument {
  std::optional<Variable> variable;  // none: a parameter,
  std::size_t parameter = 0;         // its place among the recorded ones
};

// What an expression speaks of; sets `moves` where that has rates or controls.
std::vector<Argument> arguments_of(const System& system, const Expression& expression,
                                   const std::vector<std::string>& motion_parameters, PathFunction& f, bool& moves) {
  std::vector<Argument> arguments;
  for (const Expression::Quantity& quantity : expression.quantities()) {
    const auto variable = system.model().variable(quantity);
    const bool of_motion = quantity.arguments.empty() && std::find(motion_parameters.begin(), motion_parameters.end(),
                                                                   quantity.name) != motion_parameters.end();
    if (of_motion || (variable && variable->kind == Variable::parameter)) {
      arguments.push_back({std::nullopt, f.parameters.size()});
      f.parameters.push_back(quantity.name);
      continue;
    }
    if (!variable) {
      std::vector<std::string> known = motion_parameters;
      for (const auto& p : system.model().parameters) known.push_back(p.name);
      for (const auto& name : system.structure().coordinate_names) known.push_back(name);
      for (const auto& a : system.structure().actuators) known.push_back("u." + a.name);
      throw ExpressionError("unknown name '" + quantity.text() + "'" + did_you_mean(quantity.text(), known) +
                            "; allowed: parameters, coordinates, rate(coordinate), POINT.x, speed(POINT), u.ACTUATOR");
    }
    moves = moves || variable->kind == Variable::rate || variable->kind == Variable::velocity ||
            variable->kind == Variable::speed || variable->kind == Variable::control;
    arguments.push_back({variable, 0});
  }
  return arguments;
}

// Angles of joints of three turns are about references, and mean nothing by themselves; nor do their differences.
void refuse_charts(const System& system, const std::vector<Argument>& arguments, bool at_midpoints) {
  if (system.charts().empty()) return;
  for (const Argument& a : arguments) {
    if (!a.variable || a.variable->kind == Variable::control) continue;
    const bool of_coordinate = a.variable->kind == Variable::coordinate || a.variable->kind == Variable::rate;
    if (of_coordinate ? system.is_chart(a.variable->index) : at_midpoints)
      throw ExpressionError(of_coordinate
                                ? "angles of joints of three turns are not to be had here; allowed: points"
                                : "points together with rates or controls, or in integrals, are not to be had in "
                                  "space; allowed: points alone");
  }
}

}  // namespace

PathFunction path_function(const System& system, const std::vector<int>& held, bool timed, const Expression& expression,
                           const std::vector<std::string>& motion_parameters, bool on_intervals) {
  const PinnedSystem& functions = system.pinned(held);
  const std::vector<int>& moving = functions.moving;
  const int n = system.n(), m = static_cast<int>(moving.size()), controls = system.inputs();
  PathFunction f{expression, !on_intervals, {}, {}};
  bool moves = false;
  const std::vector<Argument> arguments = arguments_of(system, expression, motion_parameters, f, moves);
  f.at_nodes = f.at_nodes && !moves;
  refuse_charts(system, arguments, !f.at_nodes);
  const bool at_nodes = f.at_nodes;
  const int inputs = at_nodes ? m : 2 * m + controls + (timed ? 1 : 0);
  f.function =
      system.record_at_node(inputs, 1 + static_cast<int>(f.parameters.size()),
                            [&](const auto& tree, const std::vector<Var>& z, const std::vector<Var>& extra) {
                              const Var h = timed && !at_nodes ? z.back() * extra[0] : extra[0];
                              std::vector<Var> q = whole(n, moving, z.data()), v(static_cast<std::size_t>(n), Var(0.0));
                              if (!at_nodes) {
                                const std::vector<Var> next = whole(n, moving, z.data() + m);
                                for (std::size_t i = 0; i < q.size(); ++i) {
                                  v[i] = (next[i] - q[i]) / h;
                                  q[i] = 0.5 * (q[i] + next[i]);
                                }
                              }
                              const Var* u = at_nodes ? nullptr : z.data() + 2 * m;
                              const auto frames = tree.frames(q.data(), v.data());
                              std::vector<Var> values;
                              for (const Argument& a : arguments)
                                values.push_back(a.variable ? tree.value(*a.variable, frames, q.data(), v.data(), u)
                                                            : extra[1 + a.parameter]);
                              const Var value = expression.template evaluate<Var>(values);
                              return std::vector<Var>{value, at_nodes ? Var(0.0) : h * value};
                            });
  return f;
}

PathFunction end_function(const System& system, const std::vector<int>& held, const Expression& expression,
                          const std::vector<std::string>& motion_parameters) {
  const std::vector<int>& moving = system.pinned(held).moving;
  const int n = system.n(), m = static_cast<int>(moving.size());
  PathFunction f{expression, true, {}, {}};
  bool moves = false;
  const std::vector<Argument> arguments = arguments_of(system, expression, motion_parameters, f, moves);
  for (const Argument& a : arguments)
    if (a.variable && a.variable->kind == Variable::control)
      throw ExpressionError("controls have no value at an end; allowed: coordinates, rates, points");
  refuse_charts(system, arguments, false);
  f.function =
      system.record_at_node(2 * m, 1 + static_cast<int>(f.parameters.size()),
                            [&](const auto& tree, const std::vector<Var>& z, const std::vector<Var>& extra) {
                              const std::vector<Var> q = whole(n, moving, z.data()), v = whole(n, moving, z.data() + m);
                              const auto frames = tree.frames(q.data(), v.data());
                              const Var* none = nullptr;
                              std::vector<Var> values;
                              for (const Argument& a : arguments)
                                values.push_back(a.variable ? tree.value(*a.variable, frames, q.data(), v.data(), none)
                                                            : extra[1 + a.parameter]);
                              return std::vector<Var>{expression.template evaluate<Var>(values)};
                            });
  return f;
}

namespace {

Element element_of(const MotionProblem& problem, int phase, const PathFunction& f, const Lookup& values, int k) {
  const bool timed = problem.index(phase).duration >= 0;
  std::vector<Coefficient> extra = {timed ? Coefficient(1.0 / problem.phase(phase).intervals) : problem.step(phase)};
  for (const std::string& name : f.parameters) extra.push_back(values(name));
  return element(f.function, problem.numbers(), extra, {problem.reference(phase, k)});
}

// Of every interval or node, one for all that have the same reference.
std::vector<Element> elements_of(const MotionProblem& problem, int phase, const PathFunction& f, const Lookup& values,
                                 int count) {
  std::vector<Element> all;
  for (int k = 0; k < count; ++k)
    all.push_back(k > 0 && problem.reference(phase, k) == problem.reference(phase, k - 1)
                      ? all.back()
                      : element_of(problem, phase, f, values, k));
  return all;
}

std::vector<int> inputs_of(const MotionProblem& problem, int phase, const PathFunction& f, int k) {
  if (f.at_nodes) return problem.node(phase, k);
  std::vector<int> inputs = problem.interval(phase, k);
  const PhaseIndex& index = problem.index(phase);
  for (int i = 0; i < index.controls; ++i) inputs.push_back(index.control(k) + i);
  if (index.duration >= 0) inputs.push_back(index.duration);
  return inputs;
}

}  // namespace

void add_path_constraint(MotionProblem& problem, int phase, const PathFunction& f, const Lookup& values,
                         bool equality) {
  const int count = problem.index(phase).intervals + (f.at_nodes ? 1 : 0);
  const std::vector<Element> e = elements_of(problem, phase, f, values, count);
  for (int k = 0; k < count; ++k) {
    const int row = problem.problem().add_rows(1, 0.0, equality ? 0.0 : nlp::infinity);
    problem.problem().add_element(e[static_cast<std::size_t>(k)], inputs_of(problem, phase, f, k), {{0, row, 1.0}});
  }
}

void add_speed_limit(MotionProblem& problem, int phase, int coordinate, const Coefficient& speed) {
  const auto& moving = problem.functions(phase).moving;
  const auto at = std::find(moving.begin(), moving.end(), coordinate);
  if (at == moving.end()) return;
  const PhaseIndex& index = problem.index(phase);
  const int i = static_cast<int>(at - moving.begin());
  const auto row = [&](const Coefficient& lower, const Coefficient& upper, int k) {
    const int added = problem.problem().add_rows(1, lower, upper);
    problem.problem().add_linear(added, index.theta(k + 1) + i, 1.0);
    problem.problem().add_linear(added, index.theta(k) + i, -1.0);
    return added;
  };
  for (int k = 0; k < index.intervals; ++k) {
    if (index.duration < 0) {
      const Coefficient most = speed * problem.step(phase);
      row(-most, most, k);
      continue;
    }
    const Coefficient per_duration = speed * (1.0 / index.intervals);
    problem.problem().add_linear(row(-nlp::infinity, 0.0, k), index.duration, -per_duration);
    problem.problem().add_linear(row(0.0, nlp::infinity, k), index.duration, per_duration);
  }
}

void add_path_cost(MotionProblem& problem, int phase, const PathFunction& f, const Lookup& values,
                   const Coefficient& weight) {
  const std::vector<Element> e = elements_of(problem, phase, f, values, problem.index(phase).intervals);
  for (int k = 0; k < problem.index(phase).intervals; ++k)
    problem.problem().add_element(e[static_cast<std::size_t>(k)], inputs_of(problem, phase, f, k),
                                  {{1, nlp::AssembledProblem::objective_row, weight}});
}

namespace {

std::pair<Element, std::vector<int>> at_end(const MotionProblem& problem, int phase, bool end, const PathFunction& f,
                                            const Lookup& values) {
  const PhaseIndex& index = problem.index(phase);
  const int node = end ? index.intervals : 0;
  std::vector<int> inputs = problem.node(phase, node);
  for (int i = 0; i < index.moving; ++i) inputs.push_back((end ? index.velocity_before : index.velocity_after) + i);
  return {element_of(problem, phase, f, values, node), std::move(inputs)};
}

}  // namespace

void add_end_constraint(MotionProblem& problem, int phase, bool end, const PathFunction& f, const Lookup& values,
                        bool equality) {
  auto [e, inputs] = at_end(problem, phase, end, f, values);
  const int row = problem.problem().add_rows(1, 0.0, equality ? 0.0 : nlp::infinity);
  problem.problem().add_element(e, std::move(inputs), {{0, row, 1.0}});
}

void add_end_cost(MotionProblem& problem, int phase, bool end, const PathFunction& f, const Lookup& values,
                  const Coefficient& weight) {
  auto [e, inputs] = at_end(problem, phase, end, f, values);
  problem.problem().add_element(e, std::move(inputs), {{0, nlp::AssembledProblem::objective_row, weight}});
}

}  // namespace dodyn::dmoc
