#include "dmoc/path_function.hpp"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "dmoc/position_constraint.hpp"
#include "dmoc/vectors.hpp"
#include "settings/config_error.hpp"

namespace dodyn::dmoc {

using autodiff::Var;
using systems::Variable;

namespace {

using Place = PathFunction::Place;

struct Argument {
  enum { parameter, time, control_rate, of_model } kind = parameter;
  std::size_t index = 0;   // index of a recorded parameter, or of an actuator
  Variable variable = {};  // a variable of the model
};

// Returns the argument for a quantity that the model does not define; nullopt: unknown.
std::optional<Argument> own_argument(const System& system, const Expression::Quantity& quantity) {
  if (quantity.arguments.empty() && quantity.name == "t") return Argument{Argument::time};
  if (quantity.name != "rate" || quantity.arguments.size() != 1) return std::nullopt;
  const auto control = system.model().variable({quantity.arguments.front(), {}});
  if (!control || control->kind != Variable::control) return std::nullopt;
  return Argument{Argument::control_rate, static_cast<std::size_t>(control->index)};
}

// Returns the arguments of an expression; sets the `place` of `f` accordingly.
std::vector<Argument> arguments_of(const System& system, const Expression& expression,
                                   const std::vector<std::string>& motion_parameters, PathFunction& f) {
  std::vector<Argument> arguments;
  f.place = Place::knots;
  for (const Expression::Quantity& quantity : expression.quantities()) {
    const auto variable = system.model().variable(quantity);
    const bool of_motion =
        quantity.arguments.empty() && std::ranges::find(motion_parameters, quantity.name) != motion_parameters.end();
    if (of_motion || (variable && variable->kind == Variable::parameter)) {
      arguments.push_back({Argument::parameter, f.parameters.size()});
      f.parameters.push_back(quantity.name);
      continue;
    }
    if (const auto own = variable ? std::nullopt : own_argument(system, quantity)) {
      f.of_time |= own->kind == Argument::time;
      if (own->kind == Argument::control_rate) f.place = Place::jumps;
      arguments.push_back(*own);
      continue;
    }
    if (!variable) {
      std::vector<std::string> known = motion_parameters;
      for (const auto& p : system.model().parameters) known.push_back(p.name);
      for (const auto& name : system.structure().coordinate_names) known.push_back(name);
      for (const auto& a : system.structure().actuators) known.push_back("u." + a.name);
      if (!quantity.arguments.empty()) {  // compares rate(arn) with rate(arm)
        for (std::size_t i = system.model().parameters.size() + motion_parameters.size(), end = known.size(); i < end;
             ++i)
          known.push_back("rate(" + known[i] + ")");
        for (const auto& p : system.structure().named_points) known.push_back("speed(" + p.name + ")");
      }
      throw ExpressionError("unknown name '" + quantity.text() + "'" + did_you_mean(quantity.text(), known) +
                            "; allowed: parameters, coordinates, rate(coordinate), POINT.x, speed(POINT), u.ACTUATOR, "
                            "rate(u.ACTUATOR), t");
    }
    const bool moves = variable->kind == Variable::rate || variable->kind == Variable::velocity ||
                       variable->kind == Variable::speed || variable->kind == Variable::control;
    if (moves && f.place == Place::knots) f.place = Place::points;
    arguments.push_back({Argument::of_model, 0, *variable});
  }
  return arguments;
}

// Index of the first parameter among the numbers of a path function.
constexpr std::size_t first_parameter = 4;

// Throws ExpressionError for angles of spherical joints. They are relative to references, so neither they nor their
// differences have a meaning.
void refuse_charts(const System& system, const std::vector<Argument>& arguments, bool at_midpoints) {
  if (system.charts().empty()) return;
  for (const Argument& a : arguments) {
    if (a.kind != Argument::of_model || a.variable.kind == Variable::control) continue;
    const bool of_coordinate = a.variable.kind == Variable::coordinate || a.variable.kind == Variable::rate;
    if (of_coordinate ? system.is_chart(a.variable.index) : at_midpoints)
      throw ExpressionError(of_coordinate ? "angles of a spherical joint cannot be used here; allowed: points"
                                          : "in space, expressions with points cannot be integrated or contain rates "
                                            "or controls; allowed: points alone");
  }
}

// Arguments of an expression at its place: coordinates [n], rates [n], controls, and rates of controls. At knots `u` is
// empty and the rates are zero; control_rates is empty except at jumps.
struct StateAt {
  std::vector<Var> q, v, u, control_rates;
};

// Returns the state from the unknowns `z` of an element. knots: coordinates alone. points: state at quadrature point
// `point` of an interval, with the control at that point. jumps: state at an inner node, from both neighbouring nodes
// and from the controls before and after it.
StateAt state_at(Place place, const System& system, int point, const std::vector<int>& moving, const Var* z,
                 const Var& h) {
  const int n = system.n(), controls = system.inputs();
  const auto m = moving.size();
  StateAt s{whole(n, moving, z), std::vector<Var>(n, Var(0.0)), {}, {}};
  if (place == Place::knots) return s;
  if (place == Place::points) {
    const auto count = static_cast<std::size_t>(system.scheme().degree) + 1;
    std::vector<std::vector<Var>> knots;
    for (std::size_t knot = 0; knot < count; ++knot) knots.push_back(whole(n, moving, z + knot * m));
    AtPoint at = at_point(system.scheme(), point, knots);
    s.q = std::move(at.q);
    for (std::size_t i = 0; i < s.v.size(); ++i) s.v[i] = at.change[i] / h;
    s.u.assign(z + count * m, z + count * m + controls);
    return s;
  }
  const std::vector<Var> first = s.q, next = whole(n, moving, z + m);
  const std::vector<Var> last = whole(n, moving, z + 2 * m);
  for (std::size_t i = 0; i < s.q.size(); ++i) s.v[i] = (last[i] - first[i]) / (2.0 * h);
  s.q = next;
  const Var *before = z + 3 * m, *after = before + controls;
  for (int i = 0; i < controls; ++i) {
    s.u.push_back(0.5 * (before[i] + after[i]));
    s.control_rates.push_back((after[i] - before[i]) / h);
  }
  return s;
}

}  // namespace

// The recorded function has these parameters: the step (1/K if the duration is an unknown); the number of steps that a
// value represents; the part of the time that does not depend on unknown durations, s; the steps since the start of the
// phase; the parameters of the expression.
PathFunction path_function(const System& system, const std::vector<int>& held, const PhaseClock& clock,
                           const Expression& expression, const std::vector<std::string>& motion_parameters,
                           bool integrated) {
  const PinnedSystem& functions = system.pinned(held);
  const std::vector<int>& moving = functions.moving;
  const int m = moving.size(), controls = system.inputs(), degree = system.scheme().degree;
  PathFunction f;
  f.expression = expression;
  const std::vector<Argument> arguments = arguments_of(system, expression, motion_parameters, f);
  if (integrated && f.place == Place::knots) f.place = Place::points;
  if (integrated && f.parameters.size() == arguments.size())
    throw ExpressionError("the integral of '" + expression.text() + "' does not depend on the motion");
  refuse_charts(system, arguments, f.place != Place::knots);
  const Place place = f.place;
  if (place == Place::jumps && degree > 1)
    throw ExpressionError("rates of controls need order = 2; change the order, or remove rate(u.ACTUATOR)");
  const int unknowns = place == Place::knots    ? m
                       : place == Place::points ? (degree + 1) * m + controls
                                                : 3 * m + 2 * controls;
  const bool uses_duration = clock.is_timed && (place != Place::knots || f.of_time);
  const int inputs = unknowns + (uses_duration ? 1 : 0) + (f.of_time ? clock.timed_earlier : 0);
  for (int point = 0; point < (place == Place::points ? degree : 1); ++point)
    f.functions.push_back(system.record_at_node(
        inputs, first_parameter + std::ssize(f.parameters),
        [&](const auto& tree, const std::vector<Var>& z, const std::vector<Var>& extra) {
          const Var h = uses_duration ? z[unknowns] * extra[0] : extra[0];
          const auto time = [&] {
            Var t = extra[2] + extra[3] * h;
            for (std::size_t i = z.size() - static_cast<std::size_t>(clock.timed_earlier); i < z.size(); ++i)
              t = t + z[i];
            return t;
          };
          const StateAt at = state_at(place, system, point, moving, z.data(), h);
          const auto frames = tree.frames(at.q.data(), at.v.data());
          std::vector<Var> values;
          for (const Argument& a : arguments)
            values.push_back(a.kind == Argument::parameter ? extra[first_parameter + a.index]
                             : a.kind == Argument::time    ? time()
                             : a.kind == Argument::control_rate
                                 ? at.control_rates[a.index]
                                 : tree.value(a.variable, frames, at.q.data(), at.v.data(), at.u.data()));
          const Var value = expression.template evaluate<Var>(values);
          return std::vector<Var>{value, place == Place::knots ? Var(0.0) : extra[1] * h * value};
        }));
  return f;
}

PathFunction end_function(const System& system, const std::vector<int>& held, const Expression& expression,
                          const std::vector<std::string>& motion_parameters) {
  const std::vector<int>& moving = system.pinned(held).moving;
  const int n = system.n(), m = moving.size();
  PathFunction f;
  f.expression = expression;
  const std::vector<Argument> arguments = arguments_of(system, expression, motion_parameters, f);
  for (const Argument& a : arguments) {
    if (a.kind == Argument::control_rate || (a.kind == Argument::of_model && a.variable.kind == Variable::control))
      throw ExpressionError("controls have no value at an end; allowed: coordinates, rates, points");
    if (a.kind == Argument::time)
      throw ExpressionError("t cannot be used at an end; limit the durations of the phases, or use time in [cost]");
  }
  refuse_charts(system, arguments, false);
  f.functions = {system.record_at_node(
      2 * m, first_parameter + f.parameters.size(),
      [&](const auto& tree, const std::vector<Var>& z, const std::vector<Var>& extra) {
        const std::vector<Var> q = whole(n, moving, z.data()), v = whole(n, moving, z.data() + m);
        const auto frames = tree.frames(q.data(), v.data());
        const Var* none = nullptr;
        std::vector<Var> values;
        for (const Argument& a : arguments)
          values.push_back(a.kind == Argument::of_model ? tree.value(a.variable, frames, q.data(), v.data(), none)
                                                        : extra[first_parameter + a.index]);
        return std::vector<Var>{expression.template evaluate<Var>(values)};
      })};
  return f;
}

namespace {

// Returns the arguments of an expression of positions; adds its parameters to all.parameters. Throws ExpressionError as
// check_position() does.
std::vector<Argument> position_arguments(const System& system, const Expression& expression,
                                         const std::vector<std::string>& motion_parameters, PathFunction& all) {
  std::vector<Argument> arguments = arguments_of(system, expression, motion_parameters, all);
  const auto of_model = [](const Argument& a) { return a.kind == Argument::of_model; };
  if (all.place != Place::knots || all.of_time || std::ranges::none_of(arguments, of_model))
    throw ExpressionError("'" + expression.text() +
                          "' is not an expression of positions; allowed: coordinates, POINT.x, distance(POINT, POINT)");
  refuse_charts(system, arguments, false);
  return arguments;
}

}  // namespace

void check_position(const System& system, const Expression& expression,
                    const std::vector<std::string>& motion_parameters) {
  PathFunction f;
  position_arguments(system, expression, motion_parameters, f);
}

NamedPositionFunction position_function(const System& system, const std::vector<int>& held,
                                        const std::vector<Expression>& expressions,
                                        const std::vector<std::string>& motion_parameters) {
  PathFunction all;  // collects the parameters of all expressions
  std::vector<std::vector<Argument>> arguments;
  for (const Expression& expression : expressions)
    arguments.push_back(position_arguments(system, expression, motion_parameters, all));
  using Vars = std::vector<Var>;
  const auto values = [=](const auto& tree, const Vars&, const Vars& q, const Vars& extra) {
    const Vars v(q.size(), Var(0.0));
    const auto frames = tree.frames(q.data());
    const Var* none = nullptr;
    Vars found;
    for (std::size_t i = 0; i < expressions.size(); ++i) {
      Vars given;
      for (const Argument& a : arguments[i])
        given.push_back(a.kind == Argument::parameter ? extra[a.index]
                                                      : tree.value(a.variable, frames, q.data(), v.data(), none));
      found.push_back(expressions[i].template evaluate<Var>(given));
    }
    return found;
  };
  const int parameters = all.parameters.size(), size = expressions.size();
  return {record_position_function(system, held, parameters, size, values), all.parameters};
}

namespace {

// Returns the element at knot k, at quadrature point `point` of interval k, or at the jump at node k.
Element element_of(const MotionProblem& problem, int phase, const PathFunction& f, const Lookup& values, int k,
                   int point = 0) {
  const int intervals = problem.index(phase).intervals;
  const Scheme& scheme = problem.system().scheme();
  const bool timed = problem.index(phase).duration >= 0;
  const bool at_end = f.place == Place::jumps && (k == 1 || k == intervals - 1);
  Coefficient earlier = 0.0, steps = 0.0;
  if (f.of_time) {
    for (int i = 0; i < phase; ++i)
      if (problem.index(i).duration < 0) earlier = earlier + problem.step(i) * problem.index(i).intervals;
    steps = f.place == Place::points ? k + scheme.points(point) : f.place == Place::knots ? scheme.position(k) : k;
  }
  // a single jump represents the whole phase
  const double stands_for = f.place == Place::points ? scheme.weights(point)
                            : !at_end                ? 1.0
                            : intervals == 2         ? 2.0
                                                     : 1.5;
  std::vector<Coefficient> extra = {timed ? Coefficient(1.0 / intervals) : problem.step(phase), stands_for, earlier,
                                    steps};
  for (const std::string& name : f.parameters) extra.push_back(values(name));
  return element(f.functions[point], problem.numbers(), extra, {problem.reference(phase, k)});
}

// Returns the elements of the knots, intervals or jumps [first, end); equal neighbours share one.
std::vector<Element> elements_of(const MotionProblem& problem, int phase, const PathFunction& f, const Lookup& values,
                                 int first, int end, int point) {
  std::vector<Element> all;
  for (int k = first; k < end; ++k)
    all.push_back(k > first && !f.of_time && f.place != Place::jumps &&
                          problem.reference(phase, k) == problem.reference(phase, k - 1)
                      ? all.back()
                      : element_of(problem, phase, f, values, k, point));
  return all;
}

std::vector<int> inputs_of(const MotionProblem& problem, int phase, const PathFunction& f, int k, int point) {
  const PhaseIndex& index = problem.index(phase);
  std::vector<int> inputs = f.place == Place::knots ? problem.knot(phase, k)
                            : f.place == Place::points
                                ? problem.interval(phase, k)
                                : dmoc::joined(problem.interval(phase, k - 1), problem.node(phase, k + 1));
  for (int interval = f.place == Place::jumps ? k - 1 : k; f.place != Place::knots && interval <= k; ++interval)
    for (int i = 0; i < index.controls; ++i) inputs.push_back(index.control(interval, point) + i);
  if (index.duration >= 0 && (f.place != Place::knots || f.of_time)) inputs.push_back(index.duration);
  for (int i = 0; f.of_time && i < phase; ++i)
    if (problem.index(i).duration >= 0) inputs.push_back(problem.index(i).duration);
  return inputs;
}

// Calls add(element, inputs, place) at all knots, points or jumps of a phase.
template <class Add>
void for_places(const MotionProblem& problem, int phase, const PathFunction& f, const Lookup& values, Add add) {
  const PhaseIndex& index = problem.index(phase);
  const int first = f.place == Place::jumps ? 1 : 0, end = f.place == Place::knots ? index.knots() : index.intervals;
  for (int point = 0; point < (f.place == Place::points ? index.degree : 1); ++point) {
    const std::vector<Element> e = elements_of(problem, phase, f, values, first, end, point);
    for (int k = first; k < end; ++k) add(e[k - first], inputs_of(problem, phase, f, k, point), k);
  }
}

}  // namespace

void add_path_constraint(MotionProblem& problem, int phase, const PathFunction& f, const Lookup& values, bool equality,
                         const std::function<bool(int place)>& skips) {
  for_places(problem, phase, f, values, [&](const Element& e, std::vector<int> inputs, int place) {
    if (skips && skips(place)) return;
    const int row = problem.problem().add_rows(1, 0.0, equality ? 0.0 : nlp::infinity);
    problem.problem().add_element(e, std::move(inputs), {{0, row, 1.0}});
  });
}

void add_speed_limit(MotionProblem& problem, int phase, int coordinate, const Coefficient& speed) {
  const auto& moving = problem.functions(phase).moving;
  const auto at = std::ranges::find(moving, coordinate);
  if (at == moving.end()) return;
  const PhaseIndex& index = problem.index(phase);
  const int i = at - moving.begin();
  const Scheme& scheme = problem.system().scheme();
  for (int k = 0; k < index.intervals; ++k)
    for (int point = 0; point < index.degree; ++point) {
      const auto row = [&](const Coefficient& lower, const Coefficient& upper) {
        const int added = problem.problem().add_rows(1, lower, upper);
        for (int knot = index.degree; knot >= 0; --knot)
          problem.problem().add_linear(added, index.knot(k * index.degree + knot) + i, scheme.slopes(point, knot));
        return added;
      };
      if (index.duration < 0) {
        const Coefficient limit = speed * problem.step(phase);
        row(-limit, limit);
        continue;
      }
      const Coefficient per_duration = speed * (1.0 / index.intervals);
      problem.problem().add_linear(row(-nlp::infinity, 0.0), index.duration, -per_duration);
      problem.problem().add_linear(row(0.0, nlp::infinity), index.duration, per_duration);
    }
}

void add_path_cost(MotionProblem& problem, int phase, const PathFunction& f, const Lookup& values,
                   const Coefficient& weight) {
  for_places(problem, phase, f, values, [&](const Element& e, std::vector<int> inputs, int) {
    problem.problem().add_element(e, std::move(inputs), {{1, nlp::AssembledProblem::objective_row, weight}});
  });
}

Eigen::MatrixXd path_values(const MotionProblem& problem, int phase, const PathFunction& f, const Lookup& values,
                            const Eigen::VectorXd& x) {
  std::vector<Eigen::VectorXd> rows;
  for_places(problem, phase, f, values,
             [&](const Element& e, const std::vector<int>& inputs, int) { rows.push_back(value(*e, x(inputs))); });
  Eigen::MatrixXd all(rows.size(), 2);
  for (std::size_t i = 0; i < rows.size(); ++i) all.row(i) = rows[i].transpose();
  return all;
}

namespace {

std::pair<Element, std::vector<int>> at_end(const MotionProblem& problem, int phase, bool end, const PathFunction& f,
                                            const Lookup& values) {
  const PhaseIndex& index = problem.index(phase);
  const int node = end ? index.intervals : 0;
  std::vector<int> inputs = problem.node(phase, node);
  for (int i = 0; i < index.moving; ++i) inputs.push_back((end ? index.velocity_before : index.velocity_after) + i);
  return {end_element(f, problem.numbers(), values, problem.reference(phase, node * index.degree)), std::move(inputs)};
}

}  // namespace

Element end_element(const PathFunction& f, const std::vector<Coefficient>& numbers, const Lookup& values,
                    const Reference& reference) {
  std::vector<Coefficient> extra(first_parameter, 0.0);  // an end function has no step and no time
  for (const std::string& name : f.parameters) extra.push_back(values(name));
  return element(f.functions.front(), numbers, extra, {reference});
}

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

double end_value(const MotionProblem& problem, int phase, bool end, const PathFunction& f, const Lookup& values,
                 const Eigen::VectorXd& x) {
  const PhaseIndex& index = problem.index(phase);
  const int node = end ? index.intervals : 0;
  Eigen::VectorXd rates = Eigen::VectorXd::Zero(index.moving);
  if (f.place != Place::knots) {
    // Momenta at an end without unknown velocities include half an interval's impulse of the constraints.
    if ((end ? index.velocity_before : index.velocity_after) < 0 && !problem.position_constraints(phase).empty())
      return std::numeric_limits<double>::quiet_NaN();
    rates = problem.node_rates(phase, x).row(node).transpose();
  }
  const Eigen::VectorXd theta = x.segment(index.theta(node), index.moving);
  const Element e = end_element(f, problem.numbers(), values, problem.reference(phase, node * index.degree));
  return value(*e, joined(theta, rates))(0);
}

}  // namespace dodyn::dmoc
