#include "evaluators/simulation/keys.hpp"

#include <algorithm>
#include <stdexcept>

#include "evaluators/initial_state_keys.hpp"
#include "settings/ini.hpp"

namespace dodyn::evaluators::simulation {
namespace {

// Keys of the section [disturbance], which has no name.
const KeyTable<Disturbance>& disturbance_table() {
  using D = Disturbance;
  static const auto table =
      KeyTable<D>("")
          .add("force", &D::force,
               {.unit = "N", .description = "root mean square of each component", .minimum = 0, .maximum = 1e6})
          .add(
              "arm", &D::arm,
              {.unit = "m", .description = "its torque is that of the force at this arm", .minimum = 0, .maximum = 1e3})
          .add("length", &D::wave_length,
               {.unit = "m",
                .description = "smallest wave length in space",
                .minimum = 0,
                .maximum = 1e6,
                .open_minimum = true})
          .add("time", &D::time,
               {.unit = "s",
                .description = "correlation time of the forces at a place",
                .minimum = 0,
                .maximum = 1e9,
                .open_minimum = true,
                .word = "steady",
                .named_number = 0.0})
          .add("seed", &D::seed, {.description = "of the fields", .minimum = 0, .maximum = 2147483647});
  return table;
}

struct CoilKeys {
  std::string table;
  rigid::CoilRange range;
};

const KeyTable<CoilKeys>& coil_table() {
  const auto range = [](auto member) {
    return [member](CoilKeys & c) -> auto& { return c.range.*member; };
  };
  using R = rigid::CoilRange;
  static const auto table =
      KeyTable<CoilKeys>("coils.")
          .add("table", &CoilKeys::table,
               {.type = Type::path,
                .description =
                    "coefficients of (B.1), by which a planar model's coils act instead of by their poles: a CSV "
                    "file; empty: none (docs/control.md)"})
          .add("min-distance", range(&R::least),
               {.unit = "m", .description = "of centres that the table is for", .minimum = 0, .maximum = 1e3})
          .add("max-distance", range(&R::most),
               {.unit = "m",
                .description = "of centres that it is for",
                .minimum = 0,
                .maximum = 1e3,
                .open_minimum = true})
          .add("angle", range(&R::angle),
               {.unit = "deg",
                .description = "largest bearing and attitude, either way, that it is for",
                .minimum = 0,
                .maximum = 90,
                .open_minimum = true});
  return table;
}

}  // namespace

std::vector<Key> coil_keys() { return coil_table().keys(); }

// Whole: it is a table, one entry for each key in the order of --help.
const KeyTable<SimulationSettings>& simulation_keys() {
  using S = SimulationSettings;
  const auto option = [](auto member) {
    return [member](S & s) -> auto& { return s.run_options.options.*member; };
  };
  const auto run_options = [](auto member) {
    return [member](S & s) -> auto& { return s.run_options.*member; };
  };
  using O = rigid::Options;
  static const auto table = with_initial_state_keys(
      KeyTable<S>("simulation.")
          .add("model", &S::model, {.type = Type::path, .description = "the system: a model file (docs/models.md)"})
          .add("end", run_options(&SimulationOptions::end),
               {.unit = "s",
                .description = "duration of runs that no outcome ends",
                .minimum = 0,
                .maximum = 1e6,
                .open_minimum = true})
          .add("step", option(&O::step),
               {.unit = "s", .description = "h", .minimum = 0, .maximum = 10, .open_minimum = true})
          .add("max-step", run_options(&SimulationOptions::largest_step),
               {.unit = "s",
                .description = "steps of 4, 16, ... times step up to this, where bodies are far from each other",
                .minimum = 0,
                .maximum = 10,
                .word = "step",
                .named_number = 0.0})
          .add("contact-method", option(&O::response),
               {{"none", rigid::Response::none},
                {"penalty", rigid::Response::penalty},
                {"event-driven", rigid::Response::exact},
                {"projection", rigid::Response::decomposition}},
               {.description =
                    "how contacts push: by a potential of the overlap (penalty), by impulses when a gap closes within "
                    "a step (event-driven), or by reversing the closing momenta at the end of a step (projection)"})
          .add("stepper", option(&O::stepper),
               {{"variational", rigid::Stepper::variational},
                {"newmark-explicit", rigid::Stepper::newmark_explicit},
                {"newmark-implicit", rigid::Stepper::newmark_implicit}},
               {.description = "integrator of the motion between contacts"})
          .add("jump", option(&O::jump),
               {{"kinetic-energy", rigid::JumpCondition::kinetic_energy},
                {"discrete-energy", rigid::JumpCondition::discrete_energy}},
               {.description = "contact-method = event-driven: what an impact keeps"})
          .add("restitution-law", option(&O::restitution),
               {{"newton", rigid::Restitution::newton}, {"poisson", rigid::Restitution::poisson}},
               {.description = "of velocities, or of impulses"})
          .add("stiffness", option(&O::stiffness),
               {.unit = "N/m",
                .description = "of the penalty response",
                .minimum = 0,
                .maximum = 1e15,
                .open_minimum = true})
          .add("contact-damping", run_options(&SimulationOptions::contact_drag),
               {.unit = "N s/m",
                .description = "penalty response: force against the rate of an overlap; takes energy from collisions",
                .minimum = 0,
                .maximum = 1e15})
          .add("tolerance", option(&O::tolerance),
               {.unit = "m",
                .description = "largest overlap that is left at a node",
                .minimum = 0,
                .maximum = 1,
                .open_minimum = true})
          .add("rest-speed", run_options(&SimulationOptions::rest_speed),
               {.unit = "m/s",
                .description = "a body rests if no point of it moves faster than this, relative to fixed bodies (or to "
                               "the first body), and contact forces can hold its loads",
                .minimum = 0,
                .maximum = 1e3,
                .open_minimum = true})
          .add("fixed", &S::hold,
               {.description =
                    "links on the ground, separated by commas, that do not move; none: all links move that can"})
          .add("nodes", run_options(&SimulationOptions::nodes),
               {.description = "rows of a trajectory, evenly spaced", .minimum = 2, .maximum = 1000000})
          .add("frames", &S::frames,
               {.description = "with several initial states: number of moments of each run that the archive keeps for "
                               "pictures; 0: the whole motion of the first run instead",
                .minimum = 0,
                .maximum = 1000}));
  return table;
}

SimulationSettings read_simulation(const Settings& settings) {
  SimulationSettings own = simulation_keys().read(settings);
  SimulationOptions& run_options = own.run_options;
  if (own.model.empty()) throw ConfigError(settings.file + ": simulation.model is missing; allowed: a model file");
  if (run_options.end < run_options.options.step) throw settings.error("simulation.end", "is less than a step");
  if (run_options.largest_step > 0.0 && run_options.largest_step < run_options.options.step)
    throw settings.error("simulation.max-step", "is less than simulation.step; allowed: step, or more than that");
  if (run_options.contact_drag > 0.0 && run_options.options.response != rigid::Response::penalty)
    throw settings.error("simulation.contact-damping",
                         "is of overlaps, which only simulation.contact-method = penalty has");
  for (const CustomSection* section : settings.sections_of("disturbance"))
    run_options.disturbance = disturbance_table().read(*section);
  const CoilKeys coils = coil_table().read(settings);
  if (coils.table.empty()) {
    for (const Key& key : coil_table().keys())
      if (settings.given(key.name))
        throw settings.error(key.name, "has no effect without coils.table; add coils.table = FILE.csv");
    return own;
  }
  if (coils.range.least >= coils.range.most)
    throw settings.error("coils.min-distance", "is not below coils.max-distance");
  try {
    own.coil_text = ini::read_file(coils.table);
    run_options.coils = CoilTable{rigid::read_coil_form(own.coil_text), coils.range};
  } catch (const ConfigError& error) {
    throw settings.error("coils.table", error.what());
  } catch (const std::invalid_argument& error) {
    throw settings.error("coils.table", error.what());
  }
  return own;
}

std::vector<int> held_links(const Settings& settings, const systems::Model& model) {
  const std::string text = settings.text("simulation.fixed");
  std::vector<int> held;
  if (text.empty() || text == "none") return held;
  std::vector<std::string> roots;
  for (const auto& link : model.structure.links)
    if (link.parent < 0) roots.push_back(link.name);
  for (const std::string& name : split_list(text)) {
    const auto& links = model.structure.links;
    const auto at = std::find_if(links.begin(), links.end(), [&](const auto& link) { return link.name == name; });
    if (at == links.end() || at->parent >= 0)
      throw settings.error("simulation.fixed", (at == links.end() ? "there is no link '" : "on another link is '") +
                                                   shown(name) + "'" + did_you_mean(name, roots) +
                                                   "; allowed: none, links on the ground: " + listed(roots));
    held.push_back(static_cast<int>(at - links.begin()));
  }
  return held;
}

std::vector<std::string> disturbance_keys() {
  std::vector<std::string> names;
  for (const Key& key : disturbance_table().keys()) names.push_back(key.name);
  return names;
}

}  // namespace dodyn::evaluators::simulation
