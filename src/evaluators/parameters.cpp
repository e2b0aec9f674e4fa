#include "evaluators/parameters.hpp"

#include <algorithm>

namespace dodyn::evaluators {

std::vector<DesignVariable> parameter_variables(const systems::Model& model) {
  std::vector<DesignVariable> all;
  const auto values = model.evaluate<double>();
  for (std::size_t i = 0; i < model.parameters.size(); ++i) {
    const systems::Parameter& p = model.parameters[i];
    all.push_back({p.name, p.unit,
                   p.comment.empty() ? "parameter of the model, without a comment in the model file" : p.comment,
                   values.parameters[i], -1e300, 1e300});
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

void expect_new_name(const systems::Model& model, const CustomEntry& entry) {
  const auto& coordinates = model.structure.coordinate_names;
  if (model.parameter(entry.key) >= 0) throw entry.error("is a parameter of the model; set it by design." + entry.key);
  if (entry.key == "pi" || entry.key == "t" ||
      std::find(coordinates.begin(), coordinates.end(), entry.key) != coordinates.end())
    throw entry.error(entry.key == "pi"  ? "is the number pi; choose another name"
                      : entry.key == "t" ? "is the time; choose another name"
                                         : "is a coordinate of the model; choose another name");
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
