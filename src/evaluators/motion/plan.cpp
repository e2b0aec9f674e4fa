// The transcription of a design's motion: phases, what joins them, what is asked of it, and its cost.
#include <algorithm>

#include "evaluators/motion/design.hpp"

namespace dodyn::evaluators {

void MotionDesigns::lay_out(dmoc::MotionProblem& problem, const Values& all, const MotionPath& path) const {
  const int count = static_cast<int>(phases_.size());
  const auto tree = system_->model().tree<Coefficient>(all.model.numbers);
  for (const Phase& p : phases_) {
    dmoc::Phase phase;
    phase.name = p.name;
    phase.held = p.held;
    phase.intervals = p.intervals;
    phase.duration = evaluated(p.shortest, all);
    if (p.timed()) phase.free_duration = {evaluated(p.shortest, all), evaluated(p.longest, all)};
    phase.work = phase.work_at_ends = effort_.work();
    for (const auto& actuator : tree.actuators) {
      const Coefficient limit = actuator.limit.value_or(nlp::infinity);
      phase.controls.emplace_back(-limit, limit);
    }
    for (const auto& range : tree.ranges)
      if (range.from || range.to)
        phase.ranges.push_back(
            {range.coordinate, {range.from.value_or(-nlp::infinity), range.to.value_or(nlp::infinity)}});
    for (const Expression& e : p.forces)
      phase.forces.push_back(force_condition(e, all, [this](const auto& q) { return held_coordinate(q); }));
    if (!path.references.empty()) phase.references = path.references[static_cast<std::size_t>(problem.phases())];
    problem.add_phase(std::move(phase));
  }
  for (int i = 0; i < (periodic_ ? count : count - 1); ++i) {
    dmoc::Event event;
    event.from = i;
    event.to = (i + 1) % count;
    if (i == count - 1) {
      event.shift.assign(static_cast<std::size_t>(system_->n()), 0.0);
      for (const Given& g : shift_) event.shift[static_cast<std::size_t>(g.coordinate)] = evaluated(g.value, all);
      if (exchange_) {
        event.configuration = dmoc::element(exchange_->configuration, all.model.numbers);
        event.momentum = dmoc::element(exchange_->momentum, all.model.numbers);
      }
    }
    problem.add_event(std::move(event));
  }
  for (const bool end : {false, true}) {
    dmoc::Boundary boundary;
    boundary.phase = end ? count - 1 : 0;
    boundary.end = end;
    for (const Given& g : end ? goal_ : start_)
      (g.rate ? boundary.rates : boundary.coordinates).emplace_back(g.coordinate, evaluated(g.value, all));
    for (const Placement& p : end ? goal_places_ : start_places_) boundary.moving = boundary.moving || p.moves();
    boundary.moving = boundary.moving || !(end ? goal_ends_ : start_ends_).empty();
    if (!boundary.coordinates.empty() || !boundary.rates.empty() || boundary.moving)
      problem.add_boundary(std::move(boundary));
  }
  problem.transcribe();
}

namespace {

// What rows ask for that come next, or as many before.
void ask(TranscribedMotion& planned, const std::string& what, std::size_t before = 0) {
  planned.asked.emplace_back(planned.problem.problem().add_rows(0, 0.0, 0.0) - static_cast<int>(before), what);
}

}  // namespace

void MotionDesigns::name_ends(TranscribedMotion& planned) const {
  const dmoc::MotionProblem& problem = planned.problem;
  const int count = static_cast<int>(phases_.size());
  for (int i = 0; i < (periodic_ ? count : count - 1); ++i)
    planned.asked.emplace_back(problem.jump_row(i), "what joins [phase " + problem.phase(i).name + "] to the next");
  std::size_t forces = 0, given = start_.size() + goal_.size();
  for (int i = 0; i < count; ++i)
    forces += problem.phase(i).forces.size() * static_cast<std::size_t>(problem.index(i).knots());
  for (int i = 0; i < (periodic_ ? count : count - 1); ++i) forces += problem.phase((i + 1) % count).forces.size();
  if (forces > 0) ask(planned, "require of forces", forces + given);
  for (const bool end : {false, true})
    for (const bool rates : {false, true})
      for (const Given& g : end ? goal_ : start_)
        if (g.rate == rates) ask(planned, g.source, given--);
}

std::vector<dmoc::Hold> MotionDesigns::holds_of(int i, const Values& values) const {
  const Phase& phase = phases_[static_cast<std::size_t>(i)];
  if (!phase.holds) return {};
  dmoc::Hold hold{i, phase.holds->function.function, {}, phase.holds->at_zero};
  for (const std::string& name : phase.holds->function.parameters) hold.parameters.push_back(named(values, name));
  return {std::move(hold)};
}

void MotionDesigns::add_holds(TranscribedMotion& planned, const Values& values) const {
  const int count = static_cast<int>(phases_.size());
  for (int i = 0; i < count; ++i) {
    const Phase& phase = phases_[static_cast<std::size_t>(i)];
    if (!phase.holds) continue;
    ask(planned, "hold in [phase " + phase.name + "]");
    dmoc::Hold hold = std::move(holds_of(i, values).front());
    if (i > 0 || periodic_) hold.event = i > 0 ? i - 1 : count - 1;
    hold.inherited = i > 0 || (periodic_ && !exchange_ && shift_.empty());
    const auto component = [&](const Expression::Quantity& force) {
      return phase.holds->component(force, system_->structure().dimension);
    };
    for (const Expression& e : phase.hold_forces) hold.conditions.push_back(force_condition(e, values, component));
    add_hold(planned.problem, std::move(hold));
  }
}

TranscribedMotion MotionDesigns::plan(const Eigen::VectorXd& design, const MotionPath& path, double size) const {
  const Values all = values(design);
  const auto lookup = [this, &all](const std::string& name) { return named(all, name); };
  TranscribedMotion planned{dmoc::MotionProblem(system_, all.model.numbers), {}};
  dmoc::MotionProblem& problem = planned.problem;
  const int count = static_cast<int>(phases_.size());
  lay_out(problem, all, path);
  name_ends(planned);
  const auto evaluate = [&](const Expression& e) { return evaluated(e, all); };
  for (const bool end : {false, true}) {
    const int phase = end ? count - 1 : 0;
    for (const Placement& p : end ? goal_places_ : start_places_) {
      ask(planned, p.source);
      add_pose(problem, phase, end ? problem.index(phase).intervals : 0,
               pose_of(p, evaluate, system_->structure().dimension));
      if (p.moves()) add_twist(problem, phase, end, twist_of(p, evaluate));
    }
    ask(planned, end ? "require in [goal]" : "require in [initial-state]");
    for (const auto& [function, equality] : (end ? goal_ends_ : start_ends_).conditions)
      add_end_constraint(problem, phase, end, function, lookup, equality);
  }
  add_contacts(planned, all, path);
  add_holds(planned, all);
  if (period_) {
    ask(planned, "period in [periodic]");
    Coefficient rest = evaluated(*period_, all);
    for (int i = 0; i < count; ++i)
      if (problem.index(i).duration < 0) rest = rest - problem.phase(i).duration;
    const int row = problem.problem().add_rows(1, rest, rest);
    for (int i = 0; i < count; ++i)
      if (problem.index(i).duration >= 0) problem.problem().add_linear(row, problem.index(i).duration, 1.0);
  }
  for (const auto& range : system_->model().tree<Coefficient>(all.model.numbers).ranges) {
    if (!range.speed) continue;
    ask(planned, "speed of [joint-limit " + range.name + "]");
    for (int i = 0; i < count; ++i) add_speed_limit(problem, i, range.coordinate, *range.speed);
  }
  ask(planned, "turn in [avoid]");
  if (system_->directors() || !clear_.empty())
    for (int i = 0; i < count; ++i) add_turn_limit(problem, i, evaluated(turn_, all).value);
  ask(planned, "");
  if (!clear_.empty()) planned.separation = dmoc::SeparatingPlanes(problem, pairs(design), size);

  const Coefficient per = 1.0 / evaluated(per_, all);
  dmoc::Effort effort = effort_;
  if (has_loss_)
    for (const auto& actuator : system_->model().tree<Coefficient>(all.model.numbers).actuators)
      effort.loss.push_back(evaluated(loss_, all) * actuator.loss);
  for (const auto& cost : goal_ends_.costs) add_end_cost(problem, count - 1, true, cost, lookup, per);
  for (int i = 0; i < count; ++i) {
    const Phase& p = phases_[static_cast<std::size_t>(i)];
    ask(planned, "require in [phase " + p.name + "]");
    for (const auto& [function, equality] : p.constraints) add_path_constraint(problem, i, function, lookup, equality);
    ask(planned, "");
    problem.add_effort(i, effort, per);
    for (const auto& cost : p.costs) add_path_cost(problem, i, cost, lookup, per);
    if (!has_time_) continue;
    const Coefficient weight = evaluated(time_, all) * per;
    if (problem.index(i).duration >= 0)
      problem.problem().add_linear(nlp::AssembledProblem::objective_row, problem.index(i).duration, weight);
    else
      problem.problem().add_constant(nlp::AssembledProblem::objective_row, weight * problem.phase(i).duration);
  }
  problem.problem().finish();
  return planned;
}

}  // namespace dodyn::evaluators
