#include "evaluators/dimensions.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <optional>

#include "record/text.hpp"
#include "settings/dimensions.hpp"
#include "settings/expression.hpp"

namespace dodyn::evaluators {
namespace {

constexpr std::array<std::string_view, 9> checked = {
    "parameters", "phase", "initial-state", "initial-states", "goal", "guess", "periodic", "require", "metrics"};

// Quantities that are not the model's (docs/motions.md, docs/simulation.md).
const std::map<std::string, std::string_view> others = {
    {"t", "s"},           {"time_since_contact", "s"}, {"kinetic", "J"},        {"potential", "J"},
    {"max_overlap", "m"}, {"energy_change", "J"},      {"max_spin", "rad/s"},   {"max_impulse", "N s"},
    {"gap", "m"},         {"radius_of_gyration", "m"}, {"position_error", "m"}, {"attitude_error", "rad"},
    {"normal", "N"},      {"tangential", "N"}};

class Check {
 public:
  Check(const Settings& settings, const systems::Model& model) : settings_(settings), model_(model) {}

  void run() {
    for (const CustomSection& section : settings_.sections)
      if (std::find(checked.begin(), checked.end(), section.kind) != checked.end())
        for (const CustomEntry& entry : section.entries) check(section, entry);
  }

 private:
  static Measure of_unit(std::string_view unit) { return Measure::of(parse_unit(unit).value()); }

  // Returns the dimension of a name; nullopt: the name is unknown here.
  std::optional<Measure> of(const Expression::Quantity& quantity) {
    if (const auto at = own_.find(quantity.text()); at != own_.end()) return at->second;
    if (const auto variable = model_.variable(quantity)) {
      const std::string_view unit = model_.unit(*variable);
      if (variable->kind != systems::Variable::parameter || unit != "1") return of_unit(unit);
      return own_.emplace(quantity.text(), dimensions_.unknown(quantity.text())).first->second;
    }
    if (quantity.name == "rate" && quantity.arguments.size() == 1)
      if (const auto control = model_.variable({quantity.arguments[0], {}}))
        return of_unit(std::string(model_.unit(*control)) + "/s");
    if (quantity.name == "reaction" && quantity.arguments.size() == 1)
      if (const auto coordinate = model_.variable({quantity.arguments[0], {}}))
        return of_unit(model_.slides(coordinate->index) ? "N" : "N m");
    if (quantity.name == "gap" && quantity.arguments.size() != 2) return std::nullopt;  // a name of the study
    const auto at = others.find(quantity.name);
    return at == others.end() ? std::nullopt : std::optional(of_unit(at->second));
  }

  // Returns the unit that the entry must have; empty: any.
  std::string_view wanted(const CustomSection& section, const CustomEntry& entry) const {
    if (section.kind == "phase") return entry.key == "duration" ? "s" : "";
    if (section.kind == "periodic" && entry.key == "period") return "s";
    if (section.kind == "parameters" || section.kind == "require" || section.kind == "metrics") return "";
    try {
      const Expression name = Expression::parse(entry.key);
      if (name.quantities().size() != 1) return "";
      const auto variable = model_.variable(name.quantities()[0]);
      return variable ? model_.unit(*variable) : "";
    } catch (const ExpressionError&) {
      return "";
    }
  }

  void check(const CustomSection& section, const CustomEntry& entry) {
    if (entry.key == "cost") return;  // the cost of [goal] may have any unit
    std::string_view text = entry.value;
    std::vector<std::string> parts;
    if (const auto dots = text.find(".."); dots != text.npos)
      parts = {std::string(text.substr(0, dots)), std::string(text.substr(dots + 2))};
    else
      parts = split_list(text);
    for (const std::string& part : parts) {
      const std::optional<Measure> found = measured(entry, part);
      if (section.kind == "parameters" && parts.size() == 1) {
        if (found) own_[entry.key] = found->any ? dimensions_.unknown(entry.key) : *found;
        continue;
      }
      const std::string_view unit = wanted(section, entry);
      if (!found || unit.empty() || unit == "1") continue;
      const Unit place = parse_unit(unit).value();
      if (!dimensions_.agree(*found, Measure::of(place)))
        throw entry.error("is " + dimensions_.described(*found) + "; expected " + described(place, unit));
    }
  }

  // Returns nullopt if the text is not an expression of names that are known here.
  std::optional<Measure> measured(const CustomEntry& entry, const std::string& text) {
    Expression expression;
    try {
      expression = Expression::parse(text);
    } catch (const ExpressionError&) {
      return std::nullopt;
    }
    std::vector<Measure> used;
    for (const auto& quantity : expression.quantities()) {
      const auto one = of(quantity);
      if (!one) return std::nullopt;
      used.push_back(*one);
    }
    try {
      return expression.measure(dimensions_, used);
    } catch (const ExpressionError& error) {
      throw entry.error(error.what());
    }
  }

  const Settings& settings_;
  const systems::Model& model_;
  Dimensions dimensions_;
  std::map<std::string, Measure> own_;  // parameters of the configuration, and parameters of the model without a unit
};

}  // namespace

void check_dimensions(const Settings& settings, const systems::Model& model) { Check(settings, model).run(); }

}  // namespace dodyn::evaluators
