#include "evaluators/motion/read_motion.hpp"

#include <algorithm>
#include <cmath>

#include "evaluators/dimensions.hpp"
#include "evaluators/motion/avoid.hpp"
#include "evaluators/motion/contacts.hpp"
#include "evaluators/motion/initial_guess.hpp"
#include "evaluators/motion/metrics.hpp"
#include "evaluators/motion/pinned.hpp"
#include "evaluators/motion/postures.hpp"
#include "evaluators/motion/search.hpp"
#include "evaluators/parameters.hpp"
#include "evaluators/rollout/rollout.hpp"
#include "settings/units.hpp"
#include "systems/sections.hpp"
#include "systems/spherical.hpp"

namespace dodyn::evaluators {

namespace {

systems::HybridModel model_of(const NamedModel& named) {
  systems::HybridModel system = systems::read_hybrid_model(named.text, named.path);
  systems::check_honoured(system.model, "motion");
  return system;
}

}  // namespace

std::vector<DesignVariable> motion_variables(const Settings& so_far) {
  std::vector<DesignVariable> all;
  if (so_far.text("motion.model").empty() && so_far.file.empty()) return all;  // --help: no configuration names a model
  const systems::Model model = model_of(named_model(so_far, "motion.model")).model;
  all = parameter_variables(model);
  for (const CustomSection* section : so_far.sections_of("parameters"))
    for (const CustomEntry& entry : section->entries) {
      expect_new_name(model, entry);
      const Expression e = entry.parsed();
      DesignVariable v{
          entry.key, stated_unit(entry.value), "of the motion", e.is_constant() ? e.constant() : 0.0, -1e308, 1e308};
      if (!e.is_constant()) v.formula = entry.value;
      all.push_back(std::move(v));
    }
  return all;
}

std::vector<ini::SectionKind> motion_sections() {
  using Name = ini::SectionKind::Name;
  const auto kind = [](const char* name, Name named, const char* description) {
    return ini::SectionKind{.kind = name, .name = named, .any_key = true, .description = description};
  };
  return {
      kind("parameters", Name::none, "parameters of the motion, in addition to the model's: NAME = expression"),
      {.kind = "phase",
       .name = Name::required,
       .keys = {"fixed", "hold", "intervals", "duration", "require"},
       .description =
           "a phase of the motion, in the order of the file; fixed = the point of the first link, or coordinates, that "
           "stay at zero; hold = POINT, POINT - POINT or expressions of positions that stay constant; intervals = "
           "number of time steps; duration = s, or SHORTEST .. LONGEST; require = conditions, separated by commas",
       .may_be_empty = true},
      {.kind = "contact",
       .name = Name::required,
       .keys = {"phase", "node", "touch", "law", "release"},
       .needed = {"node", "touch"},
       .description = "a planned contact; phase = its phase (if there are several); node = its node in the phase; "
                      "touch = POINT or SHAPE, SHAPE [+x, -x, ...] or edges SHAPE, SHAPE; law = restitution E, stick, "
                      "slide, stay, friction MU, separated by commas; release = the node at which the contact ends"},
      {.kind = "periodic",
       .any_key = true,
       .description = "the motion repeats itself; COORDINATE = expression by which it advances; reset = NAME of the "
                      "model's reset at the end; period = expression: the duration of all phases, s",
       .may_be_empty = true},
      {.kind = "initial-state",
       .any_key = true,
       .description = "values at the start: COORDINATE = expression, rate(COORDINATE) = expression; LINK = pose, "
                      "place, turn, velocity, spin, rest; LINK from LINK = the same, relative to the second link; "
                      "momentum = 0; require = conditions, separated by commas",
       .may_be_empty = true},
      {.kind = "goal",
       .any_key = true,
       .description = "values at the end, as in [initial-state]; cost = expression: a further term of the cost",
       .may_be_empty = true},
      {.kind = "waypoint",
       .name = Name::required,
       .any_key = true,
       .description = "values that initial guesses pass on the way; share = fraction of the time that has passed; "
                      "further keys as in [initial-state]"},
      kind("avoid", Name::none,
           "links that stay apart: LINK, LINK = margin (m); max-rotation = largest rotation of a link in an interval "
           "(rad); growth-steps = number of steps in which bodies grow from small ones to their size"),
      kind("guess", Name::none, "values near which initial guesses start: COORDINATE = expression"),
      kind("cost", Name::none,
           "weights: squared-control, absolute-work, positive-work, loss, time; per = expression that divides the "
           "cost; any other NAME = an expression whose integral is added"),
      kind("require", Name::none, "NAME = a condition of parameters that a design must satisfy"),
      motion_metrics_section()};
}

const KeyTable<MotionKeys>& motion_keys() {
  using M = MotionKeys;
  static const KeyTable<M> table =
      KeyTable<M>("motion.")
          .add("model", &M::model,
               {.type = Type::path, .description = "the system: a shipped model or a model file (docs/models.md)"})
          .add("order", &M::order, {{"2", 2}, {"4", 4}, {"6", 6}},
               {.description = "order of the integrator; the error falls with this power of the interval; an interval "
                               "has order/2 controls, and order/2 - 1 knots between its nodes"})
          .add("steps", &M::steps,
               may_change(number(from(1, 10000),
                                 "steps of the contact simulation in an interval of the motion; for dodyn simulate")))
          .add("first-guess", &M::simulated, {{"straight", false}, {"simulated", true}},
               {.description = "first initial guess; straight: lines between the ends and [waypoint] sections; "
                               "simulated: the contact simulation without controls"})
          .add("contact", &M::penalty, {{"schedule", false}, {"penalty", true}},
               {.description = "how planned contacts act; schedule: by an impulse at their node; penalty: by a force "
                               "from the energy of the overlap"})
          .add("contact-corners", &M::corners, {{"search", true}, {"lowest", false}},
               {.description = "corner of a shape that touches; search: the best of all, each tried near the best "
                               "motion on a coarse mesh; lowest: the lowest one in the initial guess"})
          .add("planes", &M::affine_planes, {{"interval", false}, {"affine", true}},
               {.description = "separating planes of [avoid]; interval: one per interval; affine: one per node, which "
                               "turns and moves evenly to the next; motions of bodies that turn past each other then "
                               "cost less on the same mesh"})
          .add("contact-planes", &M::node_planes, {{"interval", false}, {"node", true}},
               {.description = "separating planes of [avoid] for two moving bodies in planned contact; interval: one "
                               "per interval; bodies that move on together must then stop; node: one per node; fewer "
                               "initial guesses then converge"})
          .add("contact-stiffness", &M::stiffness,
               number(from(1e-6, 1e12), "N/m",
                      "stiffness C in the energy C/2 overlap^2 of each corner; for contact = penalty"))
          .add("contact-width", &M::width,
               number(from(1e-9, 1.0), "m", "overlap over which the force sets in smoothly, with contact = penalty"));
  return table;
}

std::vector<std::pair<std::string, std::string>> idle_motion_keys(const Settings& settings) {
  std::vector<std::pair<std::string, std::string>> idle = idle_search_keys(settings, "motion.");
  const auto add = [&](const std::string& reason, std::initializer_list<const char*> keys) {
    for (const char* key : keys) idle.emplace_back(std::string("motion.") + key, reason);
  };
  const bool contacts = !settings.sections_of("contact").empty();
  if (!contacts)
    add("there is no [contact NAME]",
        {"contact", "contact-corners", "contact-planes", "contact-stiffness", "contact-width"});
  else if (settings.text("motion.contact") == "penalty")
    add("motion.contact = penalty", {"contact-corners"});
  else
    add("motion.contact = schedule", {"contact-stiffness", "contact-width"});
  if (settings.sections_of("avoid").empty()) {
    add("there is no [avoid]", {"planes"});
    if (contacts) add("there is no [avoid]", {"contact-planes"});
  }
  const auto phases = settings.sections_of("phase");
  if (std::ranges::any_of(phases, [](const CustomSection* phase) { return phase->find("fixed"); }))
    add("a phase has fixed, so rollout.step applies", {"steps"});
  else
    for (const Key& key : rollout_keys().keys()) idle.emplace_back(key.name, "no phase has fixed");
  return idle;
}

namespace {

void check_order(const PhasedMotion& motion) {
  const auto refuse = [&](const std::string& what) {
    throw motion.settings.error("motion.order", what + "; allowed: 2");
  };
  for (const auto& link : motion.system->structure().links)
    if (systems::has_chart(link.moves))
      refuse("[link " + link.name + "] has a spherical joint, whose integrator has order 2");
  if (!motion.avoided.empty()) refuse("[avoid] needs straight motion between nodes, which has order 2");
}

void read_parameters(PhasedMotion& motion) {
  for (const CustomSection* section : motion.settings.sections_of("parameters"))
    for (const CustomEntry& entry : section->entries) {
      motion.parameters.emplace_back(entry.key, parameter_expression(motion, entry, entry.value));
      motion.names.push_back(entry.key);
    }
  motion.names.push_back("weight");
}

}  // namespace

PhasedMotion read_motion(const Settings& settings) {
  PhasedMotion motion;
  motion.settings = settings;
  motion.keys = motion_keys().read(settings);
  if (motion.keys.affine_planes && motion.keys.node_planes)
    throw settings.error("motion.contact-planes",
                         "node is a choice for motion.planes = interval; affine planes are at the nodes of all pairs");
  const NamedModel named = named_model(settings, "motion.model");
  motion.text = named.text;
  systems::HybridModel read = model_of(named);
  check_dimensions(settings, read.model);
  const bool directors = read.model.dimension == 3 && motion.keys.order == 2;
  motion.system = std::make_shared<const dmoc::System>(std::move(read.model), directors, std::vector<dmoc::Energy>(),
                                                       motion.keys.order);
  if (motion.keys.penalty) motion.penalty = motion.keys.stiffness;
  read_parameters(motion);
  read_phases(motion, read.pieces.constraints);
  if (motion.penalty > 0.0) add_penalties(motion);
  read_ends(motion);
  read_waypoints(motion);
  read_avoided(motion);
  read_cost(motion);
  if (motion.keys.order > 2) check_order(motion);
  const Eigen::VectorXd middle = middle_design(motion);
  const MotionValues all = motion_values(motion, middle);         // throws if the model refuses these numbers
  if (motion.keys.simulated) initial_path(motion, middle, 0, 0);  // throws if the simulation does not support the model
  if (!settings.variables.empty()) return motion;
  if (const std::string complaint = postures(motion, all).contradiction; !complaint.empty())
    throw ConfigError(complaint);
  if (const std::string complaint = overlap(motion, all, middle); !complaint.empty())
    throw ConfigError(settings.file + ": " + complaint);
  if (const std::string complaint = pinned_violation(motion, all); !complaint.empty())
    throw ConfigError(settings.file + ": " + complaint);
  if (const std::string complaint = behind_face(motion, all); !complaint.empty())
    throw ConfigError(settings.file + ": " + complaint);
  return motion;
}

Expression parameter_expression(const PhasedMotion& motion, const CustomEntry& entry, const std::string& text) {
  Expression e = entry.parsed(text);
  for (const auto& q : e.quantities()) {
    const bool known = q.arguments.empty() && (std::ranges::find(motion.names, q.name) != motion.names.end() ||
                                               motion.system->model().parameter(q.name) >= 0);
    if (known) continue;
    std::vector<std::string> all = motion.names;
    for (const auto& p : motion.system->model().parameters) all.push_back(p.name);
    throw entry.error("unknown parameter '" + q.text() + "'" + did_you_mean(q.text(), all));
  }
  return e;
}

int read_coordinate(const PhasedMotion& motion, const CustomEntry& entry, const std::string& name) {
  const auto& names = motion.system->structure().coordinate_names;
  const auto at = std::ranges::find(names, name);
  if (at != names.end()) return static_cast<int>(at - names.begin());
  std::string list;
  for (const auto& n : names) list += (list.empty() ? "" : ", ") + n;
  throw entry.error("'" + name + "' is not a coordinate" + did_you_mean(name, names) + "; allowed: " + list);
}

void check_places(const dmoc::PathFunction& function, const std::string& phase, int intervals) {
  if (function.place == dmoc::PathFunction::Place::jumps && intervals < 2)
    throw ExpressionError("rate(u.ACTUATOR) is a change between two intervals, but contacts leave phase '" + phase +
                          "' one; choose another node for the contact, or more intervals");
}

dmoc::PhaseClock clock_of(const PhasedMotion& motion, const MotionPhase& phase, std::size_t earlier) {
  const auto end = motion.phases.begin() + earlier;
  const auto timed = std::count_if(motion.phases.begin(), end, [](const MotionPhase& other) { return other.timed(); });
  return {phase.timed(), static_cast<int>(timed)};
}

}  // namespace dodyn::evaluators
