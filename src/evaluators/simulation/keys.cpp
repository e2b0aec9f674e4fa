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
          .add("force", &D::force, number(from(0, 1e6), "N", "root mean square of each force component of the field"))
          .add("arm", &D::arm,
               number(from(0, 1e3), "m",
                      "lever arm of the field; root mean square of its torque over that of its force"))
          .add("length", &D::wave_length, number(above(0, 1e6), "m", "shortest wavelength of the field"))
          .add("time", &D::time,
               or_word("steady", 0.0,
                       number(above(0, 1e9), "s",
                              "correlation time of the forces at a place; steady: the field does not change")))
          .add("seed", &D::seed, number(from(0, 2147483647), "seed of the random fields"));
  return table;
}

struct CoilKeys {
  std::string table;
  rigid::CoilRange range;
};

const KeyTable<CoilKeys>& coil_table() {
  const auto range = members_of(&CoilKeys::range);
  using R = rigid::CoilRange;
  static const auto table =
      KeyTable<CoilKeys>("coils.")
          .add("table", &CoilKeys::table,
               {.type = Type::path,
                .description = "force law (B.1) between coils of a planar model, a CSV file; empty: forces between "
                               "their poles (docs/electromagnets.md)"})
          .add("min-distance", range(&R::least),
               number(from(0, 1e3), "m", "smallest distance of coil centres for which coils.table is valid"))
          .add("max-distance", range(&R::most),
               number(above(0, 1e3), "m", "largest distance of coil centres for which coils.table is valid"))
          .add("angle", range(&R::angle),
               number(above(0, 90), "deg",
                      "largest bearing and attitude for which coils.table is valid; to either side"));
  return table;
}

}  // namespace

std::vector<Key> coil_keys() { return coil_table().keys(); }

// Returns the table of the keys, in the order of --help.
const KeyTable<SimulationSettings>& simulation_keys() {
  using S = SimulationSettings;
  const auto option = members_of(&S::run_options, &SimulationOptions::options);
  const auto run_options = members_of(&S::run_options);
  using O = rigid::Options;
  static const auto table = with_initial_state_keys(
      KeyTable<S>("simulation.")
          .add("model", &S::model,
               {.type = Type::path, .description = "the system: a shipped model or a model file (docs/models.md)"})
          .add("end", run_options(&SimulationOptions::end),
               number(above(0, 1e6), "s", "end time of a run that no outcome ends earlier"))
          .add("step", option(&O::step), number(above(0, 10), "s", "time step"))
          .add("max-step", run_options(&SimulationOptions::largest_step),
               or_word("step", 0.0,
                       number(from(0, 10), "s",
                              "longest time step; far from contact, steps grow to 4, 16, ... times simulation.step; "
                              "step: no growth; for free bodies without springs")))
          .add("contact-method", option(&O::response),
               {{"none", rigid::Response::none},
                {"penalty", rigid::Response::penalty},
                {"event-driven", rigid::Response::exact},
                {"projection", rigid::Response::decomposition}},
               {.description = "how contacts push; penalty: by a potential of the overlap; event-driven: by impulses "
                               "when a gap closes within a step; projection: by reversing the closing momenta at the "
                               "end of a step; none: bodies pass through each other"})
          .add("stepper", option(&O::stepper),
               {{"variational", rigid::Stepper::variational},
                {"newmark-explicit", rigid::Stepper::newmark_explicit},
                {"newmark-implicit", rigid::Stepper::newmark_implicit}},
               {.description = "integrator of the motion between contacts"})
          .add("jump", option(&O::jump),
               {{"kinetic-energy", rigid::JumpCondition::kinetic_energy},
                {"discrete-energy", rigid::JumpCondition::discrete_energy}},
               {.description = "quantity that an impact conserves, with contact-method = event-driven"})
          .add("restitution-law", option(&O::restitution),
               {{"newton", rigid::Restitution::newton}, {"poisson", rigid::Restitution::poisson}},
               {.description = "restitution is a ratio of velocities (newton) or of impulses (poisson), with "
                               "contact-method = projection; event-driven has newton only"})
          .add("stiffness", option(&O::stiffness),
               number(above(0, 1e15), "N/m", "stiffness of the overlap, with contact-method = penalty"))
          .add("contact-damping", run_options(&SimulationOptions::contact_drag),
               number(from(0, 1e15), "N s/m",
                      "damping of the overlap, with contact-method = penalty; takes energy from collisions"))
          .add("tolerance", option(&O::tolerance),
               number(above(0, 1), "m", "largest overlap of two bodies that may remain after a step"))
          .add("rest-speed", run_options(&SimulationOptions::rest_speed),
               number(above(0, 1e3), "m/s",
                      "speed below which a body rests; for all of its points, relative to fixed bodies (or to "
                      "the first body), if contact forces can hold its loads"))
          .add("fixed", &S::hold,
               {.description = "links that do not move, separated by commas; their parent must be the ground; none: "
                               "all joints move"})
          .add("nodes", run_options(&SimulationOptions::nodes),
               number(from(2, 1000000), "number of stored rows of a trajectory, evenly spaced in time"))
          .add("frames", &S::frames,
               number(from(0, 1000),
                      "stored moments of each run, for pictures, with several initial states; 0: the whole "
                      "motion of the first run instead")));
  return table;
}

const Key& dwell_key() {
  static const Key key{.name = "dwell", .default_value = "0", .unit = "s", .minimum = 0, .maximum = 1e6};
  return key;
}

std::vector<std::pair<std::string, std::string>> idle_simulation_keys(const Settings& settings) {
  const std::string method = settings.text("simulation.contact-method");
  std::vector<std::pair<std::string, std::string>> idle;
  for (const auto& [key, user] : {std::pair("simulation.stiffness", "penalty"),
                                  {"simulation.contact-damping", "penalty"},
                                  {"simulation.jump", "event-driven"},
                                  {"simulation.restitution-law", "projection"}})
    if (method != user) idle.emplace_back(key, "simulation.contact-method = " + method);
  for (const CustomSection* section : settings.sections_of("outcome"))
    if (section->real(dwell_key()) > settings.real("simulation.end"))
      idle.emplace_back("outcome." + section->name + ".dwell",
                        "it is longer than simulation.end, so no run ends as " + section->name);
  if (method == "penalty" || method == "none")
    idle.emplace_back("simulation.tolerance", "simulation.contact-method = " + method);
  const double longest = settings.real("simulation.max-step"), step = settings.real("simulation.step");
  if (settings.given("simulation.max-step") && longest > step && longest < 4.0 * step)
    idle.emplace_back("simulation.max-step", "steps grow to 4 times simulation.step, which is more");
  const auto is_noise = [](const Setting& one) {
    return one.key.name.starts_with("control.") && one.key.name.ends_with("-noise");
  };
  if (std::ranges::none_of(settings.all,
                           [&](const Setting& one) { return is_noise(one) && settings.real(one.key.name) > 0.0; }))
    idle.emplace_back("control.seed", "measurements have no noise");
  if (settings.sections_of("initial-states").empty())
    for (const char* key : {"frames", "initial-states-per-task", "initial-state"})
      idle.emplace_back(std::string("simulation.") + key, "there is no [initial-states]");
  const auto names_resting = [](const CustomSection& section) {
    return std::ranges::any_of(
        section.entries, [](const CustomEntry& entry) { return entry.value.find("resting") != std::string::npos; });
  };
  if (std::ranges::none_of(settings.sections, names_resting))
    idle.emplace_back("simulation.rest-speed", "no expression has resting");
  return idle;
}

SimulationSettings read_simulation(const Settings& settings) {
  SimulationSettings own = simulation_keys().read(settings);
  SimulationOptions& run_options = own.run_options;
  if (run_options.end < run_options.options.step)
    throw settings.error("simulation.end", "is shorter than simulation.step; choose a longer one");
  if (run_options.largest_step > 0.0 && run_options.largest_step < run_options.options.step)
    throw settings.error("simulation.max-step",
                         "is shorter than simulation.step; allowed: step, or a time from simulation.step up");
  if (run_options.contact_drag > 0.0 && run_options.options.response != rigid::Response::penalty)
    throw settings.error(
        "simulation.contact-damping",
        "has no effect with this contact method; remove it, or choose simulation.contact-method = penalty");
  if (run_options.options.restitution == rigid::Restitution::poisson &&
      run_options.options.response == rigid::Response::exact)
    throw settings.error("simulation.restitution-law",
                         "event-driven contacts have the law newton only; choose newton, or "
                         "simulation.contact-method = projection");
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
    throw settings.error("coils.min-distance", "is not below coils.max-distance; choose a smaller one");
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
    const auto at = std::ranges::find_if(links, [&](const auto& link) { return link.name == name; });
    if (at == links.end() || at->parent >= 0)
      throw settings.error("simulation.fixed",
                           (at == links.end() ? "there is no link '" : "not on the ground: link '") + shown(name) +
                               "'" + did_you_mean(name, roots) +
                               "; allowed: none, links on the ground: " + listed(roots));
    held.push_back(at - links.begin());
  }
  return held;
}

std::vector<std::string> disturbance_keys() {
  auto names = names_of(disturbance_table().keys());
  return names;
}

}  // namespace dodyn::evaluators::simulation
