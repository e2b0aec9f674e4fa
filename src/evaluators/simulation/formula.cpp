#include "evaluators/simulation/formula.hpp"

#include <algorithm>
#include <map>

namespace dodyn::evaluators::simulation {
namespace {

const std::map<std::string, StateQuantity::Kind> plain = {
    {"t", StateQuantity::time},
    {"at_end", StateQuantity::at_end},
    {"in_contact", StateQuantity::touching},
    {"has_touched", StateQuantity::touched},
    {"time_since_contact", StateQuantity::since_touch},
    {"resting", StateQuantity::resting},
    {"kinetic", StateQuantity::kinetic},
    {"potential", StateQuantity::potential},
    {"energy_change", StateQuantity::energy_change},
    {"max_overlap", StateQuantity::largest_overlap},
    {"max_spin", StateQuantity::largest_spin},
    {"max_impulse", StateQuantity::largest_impulse},
    {"cluster", StateQuantity::cluster},
    {"radius_of_gyration", StateQuantity::radius_of_gyration},
    {"effort", StateQuantity::effort},
    {"position_error", StateQuantity::position_error},
    {"attitude_error", StateQuantity::attitude_error},
};
const std::map<std::string, StateQuantity::Kind> of_links = {{"in_contact", StateQuantity::touching_links},
                                                             {"gap", StateQuantity::gap}};

// Returns the relative cost of evaluating a condition: flags are free, times nearly so, `resting` needs some speeds.
int effort(const Condition& condition) {
  int most = 0;
  for (const Condition& part : condition.parts) most = std::max(most, effort(part));
  for (const StateQuantity& seen : condition.one.arguments) {
    const bool flag = seen.kind == StateQuantity::at_end || seen.kind == StateQuantity::touching ||
                      seen.kind == StateQuantity::touched;
    const bool known = flag || seen.kind == StateQuantity::time || seen.kind == StateQuantity::since_touch ||
                       seen.kind == StateQuantity::start;
    const bool truth = condition.kind == Condition::truth;
    most = std::max(most, truth && flag ? 0 : truth && seen.kind == StateQuantity::resting ? 1 : known ? 2 : 3);
  }
  return most;
}

int link(const systems::Model& model, const std::string& name) {
  const auto& links = model.structure.links;
  const auto at = std::ranges::find_if(links, [&](const auto& one) { return one.name == name; });
  return at == links.end() ? -1 : static_cast<int>(at - links.begin());
}

bool is_spatial_angle(const systems::Model& model, const systems::Variable& variable) {
  if (model.dimension != 3 || variable.kind != systems::Variable::coordinate) return false;
  return std::ranges::any_of(model.structure.links, [&](const auto& link) {
    const int move = variable.index - link.first;
    return move >= 0 && move < std::ssize(link.moves) && link.moves[move].kind == systems::Move::turn;
  });
}

}  // namespace

bool is_run_quantity(const std::string& name) { return plain.contains(name); }

bool Formula::uses(StateQuantity::Kind kind) const {
  return std::ranges::any_of(arguments, [&](const StateQuantity& seen) { return seen.kind == kind; });
}

bool Formula::is_truth() const {
  if (expression.is_condition()) return true;
  return arguments.size() == 1 && expression == Expression::parse(expression.quantities()[0].text()) &&
         (uses(StateQuantity::touching) || uses(StateQuantity::touched) || uses(StateQuantity::at_end) ||
          uses(StateQuantity::resting) || uses(StateQuantity::touching_links));
}

bool Condition::uses(StateQuantity::Kind seen) const {
  return one.uses(seen) || std::ranges::any_of(parts, [&](const Condition& c) { return c.uses(seen); });
}

Condition FormulaReader::condition(const CustomEntry& entry) { return condition(entry, entry.parsed()); }

Condition FormulaReader::condition(const CustomEntry& entry, const Expression& expression) {
  if (const Expression::Parts parts = expression.parts(); !parts.list.empty()) {
    Condition joined{parts.kind == Expression::Parts::all   ? Condition::all
                     : parts.kind == Expression::Parts::any ? Condition::any
                                                            : Condition::opposite,
                     {},
                     {}};
    for (const Expression& part : parts.list) joined.parts.push_back(condition(entry, part));
    std::ranges::stable_sort(joined.parts, {}, effort);
    return joined;
  }
  Formula f = read(entry, expression, Scope::run);
  if (!f.is_truth())
    throw entry.error(
        "is not a condition on a run; allowed: comparisons that use a name, in_contact, has_touched, resting, joined "
        "by and, or, not");
  const bool truth = !f.expression.is_condition();
  return {truth ? Condition::truth : Condition::comparison, std::move(f), {}};
}

Formula FormulaReader::number(const CustomEntry& entry) { return read(entry, entry.number(), Scope::run); }

Formula FormulaReader::start(const CustomEntry& entry, const Expression& expression) {
  if (expression.is_condition()) throw entry.error("is a condition; allowed: a number");
  return read(entry, expression, Scope::parameters);
}

Formula FormulaReader::law(const CustomEntry& entry, Law law) {
  return read(entry, entry.number(),
              law == Law::control ? Scope::control
              : law == Law::rate  ? Scope::rate
                                  : Scope::initial);
}

Formula FormulaReader::requirement(const CustomEntry& entry) {
  Formula f = read(entry, entry.condition(), Scope::parameters);
  if (f.uses(StateQuantity::start)) throw entry.error("depends on the initial state; allowed: parameters of the model");
  return f;
}

Formula FormulaReader::read(const CustomEntry& entry, const Expression& expression, Scope scope) {
  Formula f{expression, {}};
  for (const auto& name : expression.quantities()) {
    const auto found = quantity(entry, name, scope);
    if (!found) throw unknown(entry, name, scope);
    f.arguments.push_back(*found);
  }
  return f;
}

std::optional<StateQuantity> FormulaReader::quantity(const CustomEntry& entry, const Expression::Quantity& quantity,
                                                     Scope scope) {
  const bool of_state = scope != Scope::parameters;
  const auto variable = model_.variable(quantity);
  if (const auto at = std::ranges::find(starts_, quantity.text()); at != starts_.end() && (!variable || !of_state)) {
    // a coordinate, rate or parameter that the initial states set is the model's
    const std::size_t index = at - starts_.begin();
    used_[index] = true;
    return StateQuantity{StateQuantity::start, {}, static_cast<int>(index)};
  }
  if (variable && variable->kind == systems::Variable::control) {
    if (!controllers_.feedback || (scope != Scope::run && scope != Scope::rate)) return std::nullopt;
    return StateQuantity{StateQuantity::control, {}, variable->index};
  }
  if (variable && scope == Scope::run && quantity.arguments.empty() && plain.contains(quantity.name))
    throw entry.error("'" + quantity.name + "' is a quantity of a run and a name of the model; rename it in the model");
  if (variable && (of_state || variable->kind == systems::Variable::parameter))
    return StateQuantity{is_spatial_angle(model_, *variable) ? StateQuantity::spatial_angle : StateQuantity::model,
                         *variable};
  if (!of_state) return std::nullopt;
  if (const auto& states = controllers_.states; quantity.arguments.empty() && scope != Scope::initial)
    if (const auto at = std::ranges::find(states, quantity.name); at != states.end())
      return StateQuantity{StateQuantity::law_state, {}, static_cast<int>(at - states.begin())};
  if (quantity.arguments.empty())
    if (const auto at = plain.find(quantity.name);
        at != plain.end() && (scope == Scope::run ? known_in_run(at->second) : at->second == StateQuantity::time))
      return StateQuantity{at->second, {}};
  // x(POINT, LINK): coordinate of POINT in the frame of that link
  if (quantity.arguments.size() == 2 && quantity.name.size() == 1 && quantity.name[0] >= 'x' &&
      quantity.name[0] < 'x' + model_.dimension) {
    const auto point = model_.variable(entry.parsed(quantity.arguments[0] + ".x").quantities()[0]);
    const int by = link(model_, quantity.arguments[1]);
    if (point && point->kind == systems::Variable::position && by >= 0)
      return StateQuantity{StateQuantity::seen_from, {point->kind, point->index, -1, quantity.name[0] - 'x'}, by};
  }
  return scope == Scope::run ? of_run(entry, quantity) : std::nullopt;
}

// Whether there is the controller to which the quantity belongs, if it belongs to one.
bool FormulaReader::known_in_run(StateQuantity::Kind kind) const {
  if (kind == StateQuantity::effort) return controllers_.craft || controllers_.feedback;
  return controllers_.craft || (kind != StateQuantity::position_error && kind != StateQuantity::attitude_error);
}

// Returns a quantity of two links.
std::optional<StateQuantity> FormulaReader::of_run(const CustomEntry& entry,
                                                   const Expression::Quantity& quantity) const {
  const auto at = of_links.find(quantity.name);
  if (quantity.arguments.size() != 2 || at == of_links.end()) return std::nullopt;
  const int one = link(model_, quantity.arguments[0]), other = link(model_, quantity.arguments[1]);
  const auto links = names_of(model_.structure.links);
  for (const auto& [index, name] : {std::pair(one, quantity.arguments[0]), std::pair(other, quantity.arguments[1])})
    if (index < 0)
      throw entry.error("no link '" + shown(name) + "'" + did_you_mean(name, links) + "; links: " + listed(links));
  return StateQuantity{at->second, {}, one, other};
}

ConfigError FormulaReader::unknown(const CustomEntry& entry, const Expression::Quantity& quantity, Scope scope) const {
  const bool run = scope == Scope::run, law = !run && scope != Scope::parameters;
  const std::string name = "'" + shown(quantity.text()) + "'";
  const auto variable = model_.variable(quantity);
  if (variable && variable->kind == systems::Variable::control && scope != Scope::parameters)
    return entry.error(!controllers_.feedback
                           ? name + " is 0, because actuators rest; add [feedback] with a law for the actuator"
                           : name + " is a control; the " +
                                 (scope == Scope::control ? "control of an actuator depends on states, not on controls"
                                                          : "initial value of a state depends on no control"));
  if (law && ((quantity.arguments.empty() && plain.contains(quantity.name)) ||
              (quantity.arguments.size() == 2 && of_links.contains(quantity.name))))
    return entry.error(name + " is known at the end of a step only, so no law can use it; allowed: t, quantities of " +
                       "the model, states of [feedback]");
  std::vector<std::string> known = starts_;
  for (const auto& parameter : model_.parameters) known.push_back(parameter.name);
  if (run || law) {
    for (const auto& one : model_.structure.coordinate_names) known.push_back(one);
    for (const auto& one : model_.structure.coordinate_names) known.push_back("rate(" + one + ")");
    for (const auto& point : model_.structure.named_points) known.push_back(point.name + ".x");
    if (scope != Scope::initial) known.insert(known.end(), controllers_.states.begin(), controllers_.states.end());
  }
  if (controllers_.feedback && (run || scope == Scope::rate))
    for (const auto& actuator : model_.structure.actuators) known.push_back("u." + actuator.name);
  for (const auto& [one, kind] : plain)
    if (run ? known_in_run(kind) : law && kind == StateQuantity::time) known.push_back(one);
  const std::string of_state =
      "parameters, coordinates, rate(COORDINATE), POINT.x, speed(POINT), distance(POINT, POINT), x(POINT, LINK), "
      "angle(LINK, LINK)";
  return entry.error(name + " is unknown" + did_you_mean(quantity.text(), known) + "; allowed: " +
                     (run   ? of_state + ", gap(LINK, LINK), in_contact(LINK, LINK)"
                      : law ? of_state + ", states of [feedback]"
                            : "parameters and variables of [initial-states]") +
                     "; known here: " + (known.empty() ? "none" : listed(known)));
}

}  // namespace dodyn::evaluators::simulation
