#include "evaluators/parameters.hpp"

#include <cstdlib>
#include <iterator>
#include <optional>

#include "settings/units.hpp"

namespace dodyn::evaluators {
namespace {

// The SI unit that numbers with a unit have, as "kg m/s2".
std::string si_unit(const Unit& unit, bool angle) {
  static const char* const names[] = {"m", "kg", "s", "A", "B"};
  std::string above, below;
  for (std::size_t i = 0; i < std::size(names); ++i) {
    const int exponent = unit.dimension[i];
    if (exponent == 0) continue;
    std::string& side = exponent > 0 ? above : below;
    side += (side.empty() ? "" : " ") + std::string(names[i]);
    if (std::abs(exponent) > 1) side += std::to_string(std::abs(exponent));
  }
  if (above.empty() && below.empty()) return angle ? "rad" : "1";
  if (above.empty()) above = "1";
  return below.empty() ? above : above + "/" + (below.find(' ') == std::string::npos ? below : "(" + below + ")");
}

}  // namespace

std::string parameter_unit(const std::string& number, const Expression& parsed, const std::string& comment) {
  const auto end = number.find_first_not_of("0123456789.+-eE ");
  if (end != std::string::npos && end > 0)
    if (const auto unit = parse_unit(number.substr(end)))
      return unit->in_si == 1.0 ? number.substr(end) : si_unit(*unit, number.substr(end) == "deg");
  if (parsed.has_units()) return "1";
  std::string word = comment.substr(0, comment.find_first_of(",;:"));
  word = word.substr(0, word.find_last_not_of(' ') + 1);
  const auto unit = word.empty() ? std::nullopt : parse_unit(word);
  return unit && unit->in_si == 1.0 ? word : "1";
}

std::vector<DesignVariable> parameter_variables(const systems::Model& model) {
  std::vector<DesignVariable> all;
  const auto values = model.evaluate<double>();
  for (std::size_t i = 0; i < model.parameters.size(); ++i) {
    const systems::Parameter& p = model.parameters[i];
    all.push_back({p.name, parameter_unit(p.definition.text, p.definition.expression, p.comment),
                   p.comment.empty() ? "parameter of the model" : p.comment, values.parameters[i], -1e300, 1e300});
    if (!p.definition.uses.empty()) all.back().formula = p.definition.text;
  }
  return all;
}

autodiff::Differential design_value(const Settings& settings, const std::string& name, const Eigen::VectorXd& design) {
  autodiff::Differential value(settings.design(name, design));
  for (std::size_t i = 0; i < settings.variables.size(); ++i)
    if (settings.variables[i].name == name)
      value.gradient = Eigen::VectorXd::Unit(design.size(), static_cast<Eigen::Index>(i));
  return value;
}

NamedModel named_model(const Settings& settings, const std::string& key) {
  const std::string path = settings.path(key);
  try {
    return {path, systems::model_text(path)};
  } catch (const ConfigError& error) {
    throw settings.error(key, error.what());
  }
}

}  // namespace dodyn::evaluators
