// Reads a motion from the sections of a configuration.
#pragma once

#include <string>
#include <vector>

#include "evaluators/motion/phased_motion.hpp"
#include "settings/key_table.hpp"

namespace dodyn::evaluators {

// Returns the possible design variables: parameters of the model, and of [parameters] in the configuration.
std::vector<DesignVariable> motion_variables(const Settings& so_far);
std::vector<ini::SectionKind> motion_sections();
const KeyTable<MotionKeys>& motion_keys();
// Returns keys that have no effect because of other keys or missing sections, and why (EvaluatorKind::idle).
std::vector<std::pair<std::string, std::string>> idle_motion_keys(const Settings& settings);

// Reads a motion from all sections of the configuration. Throws ConfigError.
PhasedMotion read_motion(const Settings& settings);

// Steps of read_motion(). Each reads its sections and appends to the motion, and throws ConfigError.

void read_phases(PhasedMotion& motion, const std::vector<systems::HolonomicConstraint>& model_constraints);
// Reads [periodic], [initial-state], [goal] and [guess].
void read_ends(PhasedMotion& motion);
void read_waypoints(PhasedMotion& motion);
// Reads [cost] and [require].
void read_cost(PhasedMotion& motion);

// A node at which a phase is split because a contact begins there or, with `release`, ends.
struct Cut {
  int node = 0;
  const CustomSection* contact = nullptr;
  bool release = false;
};
// Returns the cuts of a phase, sorted by node.
std::vector<Cut> cuts_of(const PhasedMotion& motion, const CustomSection& phase, int intervals);
void read_contact(PhasedMotion& motion, const CustomSection& section, int phase);

// Parses an expression of parameters alone.
Expression parameter_expression(const PhasedMotion& motion, const CustomEntry& entry, const std::string& text);
// Returns the index of a coordinate.
int read_coordinate(const PhasedMotion& motion, const CustomEntry& entry, const std::string& name);
// Returns the clock of a phase. `earlier`: number of phases before it.
dmoc::PhaseClock clock_of(const PhasedMotion& motion, const MotionPhase& phase, std::size_t earlier);
// Throws ExpressionError if a phase has no node at which an expression has a value.
void check_places(const dmoc::PathFunction& function, const std::string& phase, int intervals);

}  // namespace dodyn::evaluators
