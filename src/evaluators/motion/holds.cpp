#include "evaluators/motion/holds.hpp"

#include <algorithm>

#include "record/text.hpp"

namespace dodyn::evaluators {

namespace {

constexpr const char* letters[] = {"x", "y", "z"};

bool is_point(const dmoc::System& system, const std::string& name) {
  const auto& points = system.structure().named_points;
  return std::ranges::any_of(points, [&](const auto& point) { return point.name == name; });
}

// Returns the names A and B of "A - B"; nullopt: A or B is not a point.
std::optional<std::pair<std::string, std::string>> pair_of(const dmoc::System& system, const std::string& text) {
  const auto minus = text.find('-');
  if (minus == std::string::npos) return std::nullopt;
  const std::string one(trimmed(std::string_view(text).substr(0, minus))),
      other(trimmed(std::string_view(text).substr(minus + 1)));
  if (!is_point(system, one) || !is_point(system, other)) return std::nullopt;
  return std::pair{one, other};
}

}  // namespace

std::string HeldPlaces::described(const std::string& phase) const {
  std::string all;
  for (std::size_t i = 0; i < names.size(); ++i)
    if (at_zero[i]) all += (all.empty() ? "" : ", ") + ("[constraint " + names[i] + "]");
  const bool holds = std::ranges::find(at_zero, false) != at_zero.end();
  return holds ? all + (all.empty() ? "" : ", ") + "hold in [phase " + phase + "]" : all;
}

bool HeldPlaces::continues(const HeldPlaces& before) const {
  return std::ranges::all_of(
      names, [&](const std::string& name) { return std::ranges::find(before.names, name) != before.names.end(); });
}

int HeldPlaces::component(const Expression::Quantity& force, int dimension) const {
  if (force.arguments.size() != 1) return -1;
  std::string name = force.arguments.front();
  if (force.name == "normal")
    name += dimension == 2 ? ".y" : ".z";
  else if (force.name == "tangential" && dimension == 2)
    name += ".x";
  else if (force.name != "reaction")
    return -1;
  const auto at = std::ranges::find(names, name);
  return at == names.end() ? -1 : static_cast<int>(at - names.begin());
}

std::optional<HeldPlaces> read_holds(const dmoc::System& system,
                                     const std::vector<systems::HolonomicConstraint>& constraints,
                                     const CustomEntry* entry, const std::vector<int>& fixed,
                                     const std::vector<std::string>& parameters) {
  HeldPlaces held;
  std::vector<Expression> expressions;
  const auto add = [&](const std::string& name, Expression what, bool at_zero) {
    held.names.push_back(name);
    held.at_zero.push_back(at_zero);
    expressions.push_back(std::move(what));
  };
  for (const systems::HolonomicConstraint& constraint : constraints)
    add(constraint.name, constraint.zero.expression, true);
  for (const std::string& text : entry ? split_list(entry->value) : std::vector<std::string>()) {
    const auto pair = pair_of(system, text);
    if (!pair && !is_point(system, text)) {
      Expression what = entry->parsed(text);
      if (const auto& quantities = what.quantities();
          quantities.size() == 1 && quantities.front().text() == text && !system.model().variable(quantities.front()))
        throw entry->error("'" + text + "' is no [point] of the model" +
                           did_you_mean(text, names_of(system.structure().named_points)) +
                           "; allowed: POINT, POINT - POINT, or an expression of positions, by commas");
      add(text, std::move(what), false);
      continue;
    }
    for (int axis = 0; axis < system.structure().dimension; ++axis) {
      const std::string letter = std::string(".") + letters[axis];
      const std::string one = (pair ? pair->first : text) + letter;
      add(one, Expression::parse(pair ? one + " - " + pair->second + letter : one), false);
    }
  }
  if (expressions.empty()) return std::nullopt;
  // one by one, so that an error names its expression
  for (std::size_t i = 0; i < expressions.size(); ++i) try {
      dmoc::check_position(system, expressions[i], parameters);
    } catch (const ExpressionError& error) {
      if (i >= constraints.size()) throw entry->error(error.what());
      throw ConfigError(system.model().origin + ": [constraint " + held.names[i] + "]: " + error.what());
    }
  held.function = dmoc::position_function(system, fixed, expressions, parameters);
  held.expressions = std::move(expressions);
  return held;
}

}  // namespace dodyn::evaluators
