// Reads the ends of a motion, its waypoints, cost and requirements.
#include <algorithm>

#include "evaluators/motion/read_motion.hpp"

namespace dodyn::evaluators {

namespace {

GivenCoordinate read_one(const PhasedMotion& motion, const CustomEntry& entry, bool rates) {
  const bool rate = entry.key.starts_with("rate(") && entry.key.ends_with(")");
  if (rate && !rates) throw entry.error("rates are not supported here; give a coordinate");
  const std::string name = rate ? entry.key.substr(5, entry.key.size() - 6) : entry.key;
  const int c = read_coordinate(motion, entry, name);
  if (motion.system->is_chart(c))
    throw entry.error("is an angle of a spherical joint; allowed: LINK = turn AXIS ANGLE, spin X Y Z");
  return {c, rate, parameter_expression(motion, entry, entry.value), entry.source};
}

std::vector<GivenCoordinate> read_given(const PhasedMotion& motion, const std::string& kind, bool rates) {
  std::vector<GivenCoordinate> all;
  for (const CustomSection* section : motion.settings.sections_of(kind))
    for (const CustomEntry& entry : section->entries)
      if (kind != "periodic" || (entry.key != "reset" && entry.key != "period"))
        all.push_back(read_one(motion, entry, rates));
  return all;
}

void read_end(const PhasedMotion& motion, const std::string& kind, MotionEnd& end) {
  for (const CustomSection* section : motion.settings.sections_of(kind)) {
    const auto refuse_rate = [&](const CustomEntry& entry, bool gives_rate) {
      if (gives_rate && section->find("momentum"))
        throw entry.error("momentum = 0 of " + section->title() + " sets all rates to zero; remove one of them");
    };
    for (const CustomEntry& entry : section->entries) {
      if (entry.key == "momentum") {
        if (entry.value != "0") throw entry.error("allowed: 0 (everything is at rest)");
        const auto& held = kind == "goal" ? motion.phases.back().held : motion.phases.front().held;
        for (int c = 0; c < motion.system->n(); ++c)
          if (std::ranges::find(held, c) == held.end()) end.given.push_back({c, true, 0.0, entry.source});
      } else if (entry.key == "require" || (entry.key == "cost" && kind == "goal")) {
        const auto& held = kind == "goal" ? motion.phases.back().held : motion.phases.front().held;
        try {
          if (entry.key == "cost") {
            end.costs.push_back(dmoc::end_function(*motion.system, held, entry.parsed(), motion.names));
            continue;
          }
          for (const std::string& text : split_list(entry.value))
            for (const auto& comparison : Expression::parse(text).comparisons())
              end.conditions.emplace_back(dmoc::end_function(*motion.system, held, comparison.what, motion.names),
                                          comparison.equality);
        } catch (const ExpressionError& error) {
          throw entry.error(error.what());
        }
      } else if (is_placement(entry, *motion.system)) {
        end.placements.push_back(read_placement(
            entry, *motion.system, [&](const std::string& text) { return parameter_expression(motion, entry, text); }));
        refuse_rate(entry, end.placements.back().moves());
      } else {
        end.given.push_back(read_one(motion, entry, true));
        refuse_rate(entry, end.given.back().rate);
      }
    }
  }
}

void read_requirements(PhasedMotion& motion) {
  for (const CustomSection* section : motion.settings.sections_of("require"))
    for (const CustomEntry& entry : section->entries) {
      Expression e = parameter_expression(motion, entry, entry.value);
      if (!e.is_condition())
        throw entry.error("is not a condition; allowed: comparisons (<, <=, ==, >=, >), and, or, not");
      motion.requirements.emplace_back(entry.key + ": " + entry.value + " (" + entry.source + ")", std::move(e));
    }
}

// Throws if the model has a reset that the motion does not apply at its end, because a motion does not evaluate guards.
void expect_resets_applied(const PhasedMotion& motion, const std::string& applied) {
  const auto& model = motion.system->model();
  for (const auto& section : model.sections)
    if (section.kind == "reset" && section.name != applied)
      model.fail(section.line, "[reset " + section.name + "] acts in a motion only if [periodic] reset = " +
                                   section.name + " names it; use evaluator hybrid or remove it");
}

}  // namespace

void read_ends(PhasedMotion& motion) {
  const auto sections = motion.settings.sections_of("periodic");
  std::string applied;  // name of the reset at the end
  motion.periodic = !sections.empty();
  motion.shift = read_given(motion, "periodic", false);
  for (const CustomSection* section : sections) {
    if (const CustomEntry* entry = section->find("period")) {
      motion.period = parameter_expression(motion, *entry, entry->value);
      if (std::ranges::none_of(motion.phases, [](const MotionPhase& phase) { return phase.timed(); }))
        throw entry->error(
            "every phase has a given duration, so period changes nothing; give a phase duration = SHORTEST .. LONGEST, "
            "or remove period");
    }
    if (const CustomEntry* entry = section->find("reset")) {
      const auto& model = motion.system->model();
      const auto resets = systems::read_hybrid_model(systems::model_text(model.origin), model.origin).pieces.resets;
      std::vector<std::string> names;
      for (const auto& one : resets) {
        names.push_back(one.name);
        if (one.name == entry->value)
          motion.exchange = relabelling(model, one, motion.system->pinned(motion.phases.back().held).moving);
      }
      if (!motion.exchange)
        throw entry->error("is not a reset of the model" + did_you_mean(entry->value, names) +
                           "; allowed: " + (names.empty() ? "none" : listed(names)));
      applied = entry->value;
    }
  }
  expect_resets_applied(motion, applied);
  read_end(motion, "initial-state", motion.start);
  read_end(motion, "goal", motion.goal);
  motion.guess = read_given(motion, "guess", false);
  for (const GivenCoordinate& g : motion.guess)
    if (motion.start.gives(g.coordinate))
      throw ConfigError(g.source + ": [initial-state] gives " +
                        motion.system->structure().coordinate_names[g.coordinate] +
                        ", so this guess has no effect; remove it");
  const auto refuse_held = [&](const std::vector<GivenCoordinate>& all, const MotionPhase& phase) {
    for (const GivenCoordinate& g : all)
      if (std::ranges::find(phase.held, g.coordinate) != phase.held.end())
        throw ConfigError(g.source + ": " + motion.system->structure().coordinate_names[g.coordinate] +
                          " is fixed at zero in [phase " + phase.name +
                          "], so it has no other value; remove this entry");
  };
  refuse_held(motion.start.given, motion.phases.front());
  refuse_held(motion.goal.given, motion.phases.back());
  if (motion.periodic && (!motion.goal.given.empty() || !motion.goal.placements.empty()))
    throw ConfigError(
        (motion.goal.given.empty() ? motion.goal.placements.front().source : motion.goal.given.front().source) +
        ": a motion has [periodic] or [goal], not both; remove one of them");
  if (motion.periodic) return;
  if (motion.start.given.empty() && motion.goal.given.empty() && motion.start.placements.empty() &&
      motion.goal.placements.empty())
    throw ConfigError(motion.settings.file +
                      ": the motion has neither [periodic] nor a value in [initial-state] or [goal]; add one of them");
  if (motion.settings.sections_of("goal").empty())
    throw ConfigError(
        motion.settings.file +
        ": the motion has no end; add [goal] with the values there (without values: it ends anywhere), or [periodic]");
}

void read_waypoints(PhasedMotion& motion) {
  for (const CustomSection* section : motion.settings.sections_of("waypoint")) {
    Waypoint way;
    const CustomEntry* share = section->find("share");
    if (!share) throw section->error("has no share; add share = fraction of the time that has passed, between 0 and 1");
    const Expression e = parameter_expression(motion, *share, share->value);
    way.share = e.is_constant() ? e.constant() : -1.0;
    if (!(way.share > (motion.waypoints.empty() ? 0.0 : motion.waypoints.back().share)) || !(way.share < 1.0))
      throw share->error("allowed: a number between 0 and 1, larger than that of the [waypoint] before");
    for (const CustomEntry& entry : section->entries) {
      if (entry.key == "share") continue;
      if (is_placement(entry, *motion.system))
        way.placements.push_back(read_placement(
            entry, *motion.system, [&](const std::string& text) { return parameter_expression(motion, entry, text); }));
      else
        way.given.push_back(read_one(motion, entry, false));
      if (!way.placements.empty() && way.placements.back().moves())
        throw entry.error("a waypoint is a place, without velocity and spin; remove them");
    }
    if (way.placements.empty() && way.given.empty())
      throw section->error("names no place; add LINK = pose ..., or COORDINATE = value");
    motion.waypoints.push_back(std::move(way));
  }
}

void read_cost(PhasedMotion& motion) {
  const auto sections = motion.settings.sections_of("cost");
  if (sections.empty() && !motion.goal.costs.empty()) return read_requirements(motion);
  if (sections.empty() || sections.front()->entries.empty())
    throw ConfigError(motion.settings.file +
                      ": there is no cost; add [cost] with squared-control, absolute-work, positive-work, loss or time "
                      "= weight, or NAME = an expression whose integral counts");
  for (const CustomEntry& entry : sections.front()->entries) {
    const auto weight = [&] {
      const Expression e = parameter_expression(motion, entry, entry.value);
      if (!e.is_constant() || !(e.constant() >= 0.0)) throw entry.error("is a weight; allowed: a number, 0 or more");
      return e.constant();
    };
    if (entry.key == "squared-control")
      motion.effort.squared_control = weight();
    else if (entry.key == "absolute-work")
      motion.effort.absolute_work = weight();
    else if (entry.key == "positive-work")
      motion.effort.positive_work = weight();
    else if (entry.key == "loss")
      motion.loss = parameter_expression(motion, entry, entry.value);
    else if (entry.key == "time")
      motion.time = parameter_expression(motion, entry, entry.value);
    else if (entry.key == "per")
      motion.per = parameter_expression(motion, entry, entry.value);
    else
      for (std::size_t i = 0; i < motion.phases.size(); ++i) try {
          MotionPhase& phase = motion.phases[i];
          phase.costs.push_back(dmoc::path_function(*motion.system, phase.held, clock_of(motion, phase, i),
                                                    entry.parsed(), motion.names, true));
          check_places(phase.costs.back(), phase.name, phase.intervals);
        } catch (const ExpressionError& error) {
          throw entry.error(error.what() + did_you_mean(entry.key, {"squared-control", "absolute-work", "positive-work",
                                                                    "loss", "time", "per"}));
        }
  }
  const auto& actuators = motion.system->structure().actuators;
  for (const char* weight : {"squared-control", "absolute-work", "positive-work", "loss"})
    if (const CustomEntry* entry = sections.front()->find(weight); entry && actuators.empty())
      throw entry->error("counts controls, but the model has no [actuator]; add one, or remove this entry");
  if (const CustomEntry* entry = sections.front()->find("loss");
      entry && std::ranges::all_of(actuators, [](const auto& one) { return one.loss.is_zero(); }))
    throw entry->error("no [actuator] of the model has a loss; add loss to one, or remove this entry");
  if (motion.effort.work())
    for (const auto& actuator : actuators)
      if (actuator.coordinate < 0)
        throw sections.front()->error("absolute-work and positive-work need actuators on coordinates, but " +
                                      actuator.name + " pushes at a point; use squared-control");
  read_requirements(motion);
}

}  // namespace dodyn::evaluators
