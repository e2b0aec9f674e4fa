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
// Whether the quantity belongs to a controller.
bool of_controller(StateQuantity::Kind kind) {
  return kind == StateQuantity::effort || kind == StateQuantity::position_error ||
         kind == StateQuantity::attitude_error;
}
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

}  // namespace

bool is_run_quantity(const std::string& name) { return plain.contains(name); }

bool Formula::uses(StateQuantity::Kind kind) const {
  return std::ranges::any_of(arguments, [&](const StateQuantity& seen) { return seen.kind == kind; });
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
  Formula f = read(entry, expression, true);
  // a single quantity that is true or false is a condition too
  const bool truth =
      f.arguments.size() == 1 && f.expression == entry.parsed(f.expression.quantities()[0].text()) &&
      (f.uses(StateQuantity::touching) || f.uses(StateQuantity::touched) || f.uses(StateQuantity::at_end) ||
       f.uses(StateQuantity::resting) || f.uses(StateQuantity::touching_links));
  if (!f.expression.is_condition() && !truth)
    throw entry.error(
        "is not a condition on a run; allowed: comparisons that use a name, in_contact, has_touched, resting, joined "
        "by and, or, not");
  return {truth ? Condition::truth : Condition::comparison, std::move(f), {}};
}

Formula FormulaReader::number(const CustomEntry& entry) { return read(entry, entry.number(), true); }

Formula FormulaReader::start(const CustomEntry& entry, const Expression& expression) {
  if (expression.is_condition()) throw entry.error("is a condition; allowed: a number");
  return read(entry, expression, false);
}

Formula FormulaReader::requirement(const CustomEntry& entry) { return of_parameters(entry, entry.condition()); }

Formula FormulaReader::property(const CustomEntry& entry) { return of_parameters(entry, entry.number()); }

Formula FormulaReader::of_parameters(const CustomEntry& entry, const Expression& expression) {
  Formula f = read(entry, expression, false);
  if (f.uses(StateQuantity::start)) throw entry.error("depends on the initial state; allowed: parameters of the model");
  return f;
}

Formula FormulaReader::read(const CustomEntry& entry, const Expression& expression, bool of_state) {
  Formula f{expression, {}};
  for (const auto& quantity : expression.quantities()) {
    if (const auto at = std::ranges::find(starts_, quantity.text()); at != starts_.end()) {
      const std::size_t index = at - starts_.begin();
      const bool known = model_.variable(quantity).has_value();  // a coordinate, rate or parameter that the initial
                                                                 // states set
      if (!known || !of_state) {
        used_[index] = true;
        f.arguments.push_back({StateQuantity::start, {}, static_cast<int>(index)});
        continue;
      }
    }
    const auto variable = model_.variable(quantity);
    if (variable && of_state && quantity.arguments.empty() && plain.contains(quantity.name))
      throw entry.error("'" + quantity.name +
                        "' is a quantity of a run and a name of the model; rename it in the model");
    if (variable && (of_state || variable->kind == systems::Variable::parameter) &&
        variable->kind != systems::Variable::control) {
      f.arguments.push_back({StateQuantity::model, *variable});
      continue;
    }
    if (of_state && quantity.arguments.empty())
      if (const auto at = plain.find(quantity.name); at != plain.end() && (controlled_ || !of_controller(at->second))) {
        f.arguments.push_back({at->second, {}});
        continue;
      }
    // x(POINT, LINK): coordinate of POINT in the frame of that link
    if (of_state && quantity.arguments.size() == 2 && quantity.name.size() == 1 && quantity.name[0] >= 'x' &&
        quantity.name[0] < 'x' + model_.dimension) {
      const auto point = model_.variable(entry.parsed(quantity.arguments[0] + ".x").quantities()[0]);
      const int by = link(model_, quantity.arguments[1]);
      if (point && point->kind == systems::Variable::position && by >= 0) {
        f.arguments.push_back({StateQuantity::seen_from, {point->kind, point->index, -1, quantity.name[0] - 'x'}, by});
        continue;
      }
    }
    if (of_state && quantity.arguments.size() == 2)
      if (const auto at = of_links.find(quantity.name); at != of_links.end()) {
        const int one = link(model_, quantity.arguments[0]), other = link(model_, quantity.arguments[1]);
        const auto links = names_of(model_.structure.links);
        for (const auto& [index, name] :
             {std::pair(one, quantity.arguments[0]), std::pair(other, quantity.arguments[1])})
          if (index < 0)
            throw entry.error("no link '" + shown(name) + "'" + did_you_mean(name, links) +
                              "; links: " + listed(links));
        f.arguments.push_back({at->second, {}, one, other});
        continue;
      }
    std::vector<std::string> known = starts_;
    for (const auto& parameter : model_.parameters) known.push_back(parameter.name);
    if (of_state) {
      for (const auto& name : model_.structure.coordinate_names) known.push_back(name);
      for (const auto& name : model_.structure.coordinate_names) known.push_back("rate(" + name + ")");
      for (const auto& point : model_.structure.named_points) known.push_back(point.name + ".x");
      for (const auto& [name, kind] : plain)
        if (controlled_ || !of_controller(kind)) known.push_back(name);
    }
    throw entry.error("'" + shown(quantity.text()) + "' is unknown" + did_you_mean(quantity.text(), known) +
                      "; allowed: " +
                      (of_state ? "parameters, coordinates, rate(COORDINATE), POINT.x, speed(POINT), "
                                  "distance(POINT, POINT), x(POINT, LINK), angle(LINK, LINK), gap(LINK, LINK), "
                                  "in_contact(LINK, LINK)"
                                : "parameters and variables of [initial-states]") +
                      "; known here: " + (known.empty() ? "none" : listed(known)));
  }
  return f;
}

}  // namespace dodyn::evaluators::simulation
