// Transcribes the motion of a design: phases, events, conditions and cost.
#include "evaluators/motion/transcription.hpp"

#include <algorithm>
#include <functional>

#include "dmoc/link_rows.hpp"
#include "evaluators/motion/avoid.hpp"
#include "evaluators/motion/contacts.hpp"
#include "evaluators/motion/pinned.hpp"

namespace dodyn::evaluators {

using dmoc::Coefficient;

namespace {

// Returns an expression that is linear in forces on held coordinates or components. `index_of`: the
// coordinate or component on which a force acts; -1: the quantity is not a force.
dmoc::ForceCondition force_condition(const Expression& e, const MotionValues& values,
                                     const std::function<int(const Expression::Quantity&)>& index_of) {
  std::vector<int> pushed;
  for (const auto& q : e.quantities()) pushed.push_back(index_of(q));
  const auto at = [&](const auto& force) {
    std::vector<Coefficient> numbers;
    for (std::size_t i = 0; i < pushed.size(); ++i)
      numbers.push_back(pushed[i] >= 0 ? Coefficient(force(pushed[i])) : values.named(e.quantities()[i].name));
    return e.evaluate<Coefficient>(numbers);
  };
  dmoc::ForceCondition condition;
  condition.constant = at([](int) { return 0.0; });
  double sum = condition.constant.value;
  std::vector<int> forces = pushed;
  std::ranges::sort(forces);
  forces.erase(std::unique(forces.begin(), forces.end()), forces.end());
  for (const int c : forces) {
    if (c < 0) continue;
    condition.forces.emplace_back(c, at([c](int other) { return other == c ? 1.0 : 0.0; }) - condition.constant);
    sum += (2.0 + c) * condition.forces.back().second.value;
  }
  if (std::abs(at([](int c) { return 2.0 + c; }).value - sum) > 1e-9 * (1 + std::abs(sum)))
    throw ConfigError("'" + e.text() +
                      "' is not linear in the forces; allowed: such as abs(tangential(foot)) <= 0.8*normal(foot)");
  return condition;
}

// Adds the phases, the events between them and the conditions at the ends to `problem`, with the functions for their
// rows.
void lay_out(const PhasedMotion& motion, dmoc::MotionProblem& problem, const MotionValues& all,
             const MotionPath& path) {
  const int count = motion.phases.size();
  const auto tree = motion.system->model().tree<Coefficient>(all.model.numbers);
  for (const MotionPhase& p : motion.phases) {
    dmoc::Phase phase;
    phase.name = p.name;
    phase.held = p.held;
    phase.intervals = p.intervals;
    phase.duration = all.evaluated(p.shortest);
    if (p.timed()) phase.free_duration = {all.evaluated(p.shortest), all.evaluated(p.longest)};
    phase.work = phase.work_at_ends = motion.effort.work();
    for (const auto& actuator : tree.actuators) {
      const Coefficient limit = actuator.limit.value_or(nlp::infinity);
      phase.controls.emplace_back(-limit, limit);
    }
    for (const auto& range : tree.ranges)
      if (range.from || range.to)
        phase.ranges.push_back(
            {range.coordinate, {range.from.value_or(-nlp::infinity), range.to.value_or(nlp::infinity)}});
    for (const Expression& e : p.forces)
      phase.forces.push_back(force_condition(e, all, [&motion](const auto& q) {
        return held_coordinate(motion.system->structure().coordinate_names, q);
      }));
    if (!path.references.empty()) phase.references = path.references[problem.phases()];
    problem.add_phase(std::move(phase));
  }
  for (int i = 0; i < (motion.periodic ? count : count - 1); ++i) {
    dmoc::Event event;
    event.from = i;
    event.to = (i + 1) % count;
    if (i == count - 1) {
      event.shift.assign(motion.system->n(), 0.0);
      for (const GivenCoordinate& g : motion.shift) event.shift[g.coordinate] = all.evaluated(g.value);
      if (motion.exchange) {
        event.configuration = dmoc::element(motion.exchange->configuration, all.model.numbers);
        event.momentum = dmoc::element(motion.exchange->momentum, all.model.numbers);
      }
    }
    problem.add_event(std::move(event));
  }
  for (const bool end : {false, true}) {
    dmoc::Boundary boundary;
    boundary.phase = end ? count - 1 : 0;
    boundary.end = end;
    for (const GivenCoordinate& g : motion.at(end).given)
      (g.rate ? boundary.rates : boundary.coordinates).emplace_back(g.coordinate, all.evaluated(g.value));
    for (const Placement& p : motion.at(end).placements) boundary.moving = boundary.moving || p.moves();
    boundary.moving = boundary.moving || motion.at(end).has_functions();
    if (!boundary.coordinates.empty() || !boundary.rates.empty() || boundary.moving)
      problem.add_boundary(std::move(boundary));
  }
  problem.transcribe();
}

// Records `what` as the source of the rows that are added next, and of the last `before` rows.
void ask(TranscribedMotion& planned, const std::string& what, std::size_t before = 0) {
  planned.asked.emplace_back(planned.problem.problem().add_rows(0, 0.0, 0.0) - static_cast<int>(before), what);
}

void name_ends(const PhasedMotion& motion, TranscribedMotion& planned) {
  const dmoc::MotionProblem& problem = planned.problem;
  const int count = motion.phases.size();
  for (int i = 0; i < (motion.periodic ? count : count - 1); ++i)
    planned.asked.emplace_back(problem.jump_row(i),
                               "transition from [phase " + problem.phase(i).name + "] to the next");
  std::size_t forces = 0, given = motion.start.given.size() + motion.goal.given.size();
  for (int i = 0; i < count; ++i)
    forces += problem.phase(i).forces.size() * static_cast<std::size_t>(problem.index(i).knots());
  for (int i = 0; i < (motion.periodic ? count : count - 1); ++i)
    forces += problem.phase((i + 1) % count).forces.size();
  if (forces > 0) ask(planned, "require of forces", forces + given);
  for (const bool end : {false, true})
    for (const bool rates : {false, true})
      for (const GivenCoordinate& g : motion.at(end).given)
        if (g.rate == rates) ask(planned, g.source, given--);
}

void add_holds(const PhasedMotion& motion, TranscribedMotion& planned, const MotionValues& values) {
  const int count = motion.phases.size();
  for (int i = 0; i < count; ++i) {
    const MotionPhase& phase = motion.phases[i];
    if (!phase.holds) continue;
    ask(planned, phase.holds->described(phase.name));
    dmoc::PositionConstraint hold = std::move(holds_of(motion, i, values).front());
    if (i > 0 || motion.periodic) hold.event = i > 0 ? i - 1 : count - 1;
    hold.inherited = i > 0 || (motion.periodic && !motion.exchange && motion.shift.empty());
    const auto component = [&](const Expression::Quantity& force) {
      return phase.holds->component(force, motion.system->structure().dimension);
    };
    for (const Expression& e : phase.hold_forces) hold.conditions.push_back(force_condition(e, values, component));
    add_position_constraint(planned.problem, std::move(hold));
  }
}

}  // namespace

std::vector<dmoc::PositionConstraint> holds_of(const PhasedMotion& motion, int i, const MotionValues& values) {
  const MotionPhase& phase = motion.phases[i];
  if (!phase.holds) return {};
  dmoc::PositionConstraint hold{i, phase.holds->function.function, {}, phase.holds->at_zero};
  for (const std::string& name : phase.holds->function.parameters) hold.parameters.push_back(values.named(name));
  return {std::move(hold)};
}

TranscribedMotion transcribe(const PhasedMotion& motion, const Eigen::VectorXd& design, const MotionPath& path,
                             double size) {
  const MotionValues all = motion_values(motion, design);
  const auto lookup = [&all](const std::string& name) { return all.named(name); };
  TranscribedMotion planned{dmoc::MotionProblem(motion.system, all.model.numbers), {}};
  dmoc::MotionProblem& problem = planned.problem;
  const int count = motion.phases.size();
  lay_out(motion, problem, all, path);
  name_ends(motion, planned);
  const auto evaluate = [&](const Expression& e) { return all.evaluated(e); };
  for (const bool end : {false, true}) {
    const int phase = end ? count - 1 : 0;
    for (const Placement& p : motion.at(end).placements) {
      ask(planned, p.source);
      add_pose(problem, phase, end ? problem.index(phase).intervals : 0,
               pose_of(p, evaluate, motion.system->structure().dimension));
      if (p.moves()) add_twist(problem, phase, end, twist_of(p, evaluate));
    }
    ask(planned, end ? "require in [goal]" : "require in [initial-state]");
    for (const auto& [function, equality] : motion.at(end).conditions)
      if (!is_settled(motion, phase, 0, function, all))
        add_end_constraint(problem, phase, end, function, lookup, equality);
  }
  add_contacts(motion, planned, all, path);
  add_holds(motion, planned, all);
  if (motion.period) {
    ask(planned, "period in [periodic]");
    Coefficient rest = all.evaluated(*motion.period);
    for (int i = 0; i < count; ++i)
      if (problem.index(i).duration < 0) rest = rest - problem.phase(i).duration;
    const int row = problem.problem().add_rows(1, rest, rest);
    for (int i = 0; i < count; ++i)
      if (problem.index(i).duration >= 0) problem.problem().add_linear(row, problem.index(i).duration, 1.0);
  }
  for (const auto& range : motion.system->model().tree<Coefficient>(all.model.numbers).ranges) {
    if (!range.speed) continue;
    ask(planned, "speed of [joint-limit " + range.name + "]");
    for (int i = 0; i < count; ++i) add_speed_limit(problem, i, range.coordinate, *range.speed);
  }
  ask(planned, "turn in [avoid]");
  if (motion.system->directors() || !motion.avoided.empty())
    for (int i = 0; i < count; ++i) add_turn_limit(problem, i, all.evaluated(motion.max_rotation).value);
  ask(planned, "");
  if (!motion.avoided.empty())
    planned.separation = dmoc::SeparatingPlanes(problem, avoided_parts(motion, design), size);

  const std::vector<PinnedPositions> pinned = pinned_positions(motion, all);
  const Coefficient per = 1.0 / all.evaluated(motion.per);
  dmoc::Effort effort = motion.effort;
  if (motion.loss)
    for (const auto& actuator : motion.system->model().tree<Coefficient>(all.model.numbers).actuators)
      effort.loss.push_back(all.evaluated(*motion.loss) * actuator.loss);
  for (const auto& cost : motion.goal.costs) add_end_cost(problem, count - 1, true, cost, lookup, per);
  for (int i = 0; i < count; ++i) {
    const MotionPhase& p = motion.phases[i];
    ask(planned, "require in [phase " + p.name + "]");
    const PinnedPositions& at = pinned[i];
    const auto pinned_at = [&, last = problem.index(i).knots() - 1](int knot) -> const PinnedPositions::Values& {
      return knot == 0 ? at.first : knot == last ? at.last : at.inner;
    };
    for (const auto& constraint : p.constraints)
      add_path_constraint(problem, i, constraint.first, lookup, constraint.second, [&](int knot) {
        return is_settled(motion, i, knot, constraint.first, all) ||
               (!constraint.second && is_pinned_at_zero(constraint.first, pinned_at(knot), all));
      });
    ask(planned, "");
    problem.add_effort(i, effort, per);
    for (const auto& cost : p.costs) add_path_cost(problem, i, cost, lookup, per);
    if (!motion.time) continue;
    const Coefficient weight = all.evaluated(*motion.time) * per;
    if (problem.index(i).duration >= 0)
      problem.problem().add_linear(nlp::AssembledProblem::objective_row, problem.index(i).duration, weight);
    else
      problem.problem().add_constant(nlp::AssembledProblem::objective_row, weight * problem.phase(i).duration);
  }
  problem.problem().finish();
  return planned;
}

}  // namespace dodyn::evaluators
