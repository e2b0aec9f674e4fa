#include "evaluators/simulation/feedback_law.hpp"

#include <algorithm>

#include "settings/key_table.hpp"

namespace dodyn::evaluators::simulation {
namespace {

struct SampleKeys {
  double rate = 0.0, delay = 0.0;
};

const KeyTable<SampleKeys>& sample_table() {
  static const auto table =
      KeyTable<SampleKeys>("")
          .add("sample-rate", &SampleKeys::rate,
               or_word("continuous", 0.0, number(above(0, 1e6), "1/s", "rate of the samples of the law")))
          .add("delay", &SampleKeys::delay, number(from(0, 1e3), "s", "delay from a sample to its controls"));
  return table;
}

bool is_sample_key(const std::string& key) { return key == "sample-rate" || key == "delay"; }

void expect_new_state(const CustomEntry& entry, const std::string& name, const Settings& settings,
                      const systems::Model& model) {
  const auto refuse = [&](const std::string& what) {
    return entry.error("the state '" + name + "' " + what + "; choose another name");
  };
  if (name.find('.') != std::string::npos) throw refuse("has a dot in its name");
  if (const auto variable = model.variable({name, {}}))
    throw refuse(std::string("is a ") + (variable->kind == systems::Variable::parameter ? "parameter" : "coordinate") +
                 " of the model");
  if (std::ranges::any_of(model.structure.actuators, [&](const auto& one) { return one.name == name; }))
    throw refuse("is an actuator of the model");
  if (name == "pi") throw refuse("is the number pi");
  if (is_sample_key(name) || is_run_quantity(name)) throw refuse("is a quantity of every run");
  for (const CustomSection* section : settings.sections_of("initial-states"))
    if (section->find(name)) throw refuse("is a name of [initial-states]");
}

int actuator_named(const CustomEntry& entry, const systems::Model& model, const std::vector<std::string>& states) {
  const auto names = names_of(model.structure.actuators);
  const auto at = std::ranges::find(names, entry.key);
  if (at != names.end()) return static_cast<int>(at - names.begin());
  std::vector<std::string> allowed = names_of(sample_table().keys());
  for (const auto* list : {&names, &states}) allowed.insert(allowed.end(), list->begin(), list->end());
  for (const auto& coordinate : model.structure.coordinate_names)
    if (coordinate == entry.key)
      throw entry.error("'" + shown(entry.key) +
                        "' is a coordinate; a law has the name of an actuator: " + listed(names));
  throw entry.error("'" + shown(entry.key) + "' is not an actuator" + did_you_mean(entry.key, allowed) +
                    "; allowed: actuators (" + listed(names) + "), rate(STATE), initial values of states, " +
                    "sample-rate, delay");
}

// Throws if the actuator acts on a link that simulation.fixed holds.
void expect_moving(const CustomEntry& entry, int number, const systems::Model& model, const std::vector<int>& held) {
  const auto& actuator = model.structure.actuators[number];
  const auto& links = model.structure.links;
  int link = model.structure.carrier(actuator.place.link);
  for (int l = 0; l < std::ssize(links) && actuator.coordinate >= 0; ++l)
    if (actuator.coordinate >= links[l].first && actuator.coordinate < links[l].first + std::ssize(links[l].moves))
      link = l;
  if (std::ranges::find(held, link) != held.end())
    throw entry.error("has no effect, because simulation.fixed holds link " + links[link].name + "; remove it");
}

void check_samples(const CustomSection& section, const SampleKeys& keys, double step) {
  if (keys.rate == 0.0 && keys.delay > 0.0)
    throw section.find("delay")->error("needs samples; set sample-rate, or remove it");
  if (keys.rate > 0.0 && 1.0 / keys.rate < step * (1.0 - 1e-9))
    throw section.find("sample-rate")
        ->error(formatted("is faster than one sample per simulation.step; allowed: at most %g 1/s", 1.0 / step));
}

}  // namespace

std::string rated_state(const CustomEntry& entry) {
  if (is_sample_key(entry.key)) return "";
  Expression::Quantity quantity;
  try {
    const Expression key = Expression::parse(entry.key);
    if (key.quantities().size() == 1) quantity = key.quantities()[0];
  } catch (const ExpressionError&) {
    return "";
  }
  return quantity.name == "rate" && quantity.arguments.size() == 1 && quantity.text() == entry.key
             ? quantity.arguments[0]
             : "";
}

bool FeedbackLaw::drives(int actuator) const {
  return std::ranges::find(controls, actuator, &ControlFormula::actuator) != controls.end();
}

bool FeedbackLaw::uses(StateQuantity::Kind kind) const {
  return std::ranges::any_of(controls, [&](const ControlFormula& one) { return one.value.uses(kind); }) ||
         std::ranges::any_of(states, [&](const LawState& one) {
           return one.rate.uses(kind) || (one.initial && one.initial->uses(kind));
         });
}

Controllers controllers(const Settings& settings, const systems::Model& model) {
  Controllers all;
  all.craft = !settings.text("control.craft").empty();
  for (const CustomSection* section : settings.sections_of("feedback")) {
    all.feedback = true;
    for (const CustomEntry& entry : section->entries)
      if (const std::string name = rated_state(entry); !name.empty()) {
        expect_new_state(entry, name, settings, model);
        all.states.push_back(name);
      }
  }
  return all;
}

std::optional<FeedbackLaw> read_feedback(const Settings& settings, const systems::Model& model, FormulaReader& reader,
                                         double step, const std::vector<int>& held) {
  const auto sections = settings.sections_of("feedback");
  if (sections.empty()) return std::nullopt;
  const CustomSection& section = *sections[0];
  if (!settings.text("control.craft").empty())
    throw section.error("control.craft is given, too, and effort and work are those of one controller; remove one");
  if (model.structure.actuators.empty()) throw section.error("the model has no actuators; add [actuator NAME] to it");
  for (const Key& key : sample_table().keys())
    for (const auto& actuator : model.structure.actuators)
      if (actuator.name == key.name)
        throw section.error("the model has an actuator '" + key.name + "', which is a key here; rename the actuator");
  FeedbackLaw law;
  const SampleKeys keys = sample_table().read(section);
  check_samples(section, keys, step);
  law.period = keys.rate > 0.0 ? 1.0 / keys.rate : 0.0;
  law.delay = keys.delay;
  std::vector<std::string> names;
  for (const CustomEntry& entry : section.entries)
    if (const std::string name = rated_state(entry); !name.empty()) {
      names.push_back(name);
      law.states.push_back({name, reader.law(entry, FormulaReader::Law::rate), {}});
    }
  for (const CustomEntry& entry : section.entries) {
    if (is_sample_key(entry.key) || !rated_state(entry).empty()) continue;
    if (const auto at = std::ranges::find(names, entry.key); at != names.end()) {
      law.states[at - names.begin()].initial = reader.law(entry, FormulaReader::Law::initial);
      continue;
    }
    const int actuator = actuator_named(entry, model, names);
    expect_moving(entry, actuator, model, held);
    law.controls.push_back({actuator, reader.law(entry, FormulaReader::Law::control)});
  }
  if (law.controls.empty())
    throw section.error("has no law; add ACTUATOR = expression for one of the actuators: " +
                        listed(names_of(model.structure.actuators)));
  return law;
}

Channel feedback_channel(const FeedbackLaw& law, const systems::Model& model, int nodes) {
  Channel channel{"feedback", "", "controls, states of the law, effort and work up to now", nodes, {}};
  const auto add = [&](const std::string& name, const std::string& unit) {
    channel.coordinates.push_back(name);
    channel.units.push_back(unit);
  };
  for (const auto& control : law.controls)
    add("u." + model.structure.actuators[control.actuator].name,
        std::string(model.unit({systems::Variable::control, control.actuator})));
  for (const auto& state : law.states) add(state.name, "");
  add("effort", effort_unit(law, model));
  add("work", "J");
  return channel;
}

std::string effort_unit(const FeedbackLaw& law, const systems::Model& model) {
  std::string unit;
  for (const auto& control : law.controls) {
    const bool force = model.unit({systems::Variable::control, control.actuator}) == "N";
    const std::string own = force ? "N2 s" : "N2 m2 s";
    if (!unit.empty() && own != unit) return "";
    unit = own;
  }
  return unit;
}

ini::SectionKind feedback_section() {
  return {.kind = "feedback",
          .any_key = true,
          .description =
              "a feedback law of the model's actuators; ACTUATOR = expression: its control; rate(STATE) = "
              "expression: a state of the law; STATE = its initial value; sample-rate, delay"};
}

}  // namespace dodyn::evaluators::simulation
