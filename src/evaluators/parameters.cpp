#include "evaluators/parameters.hpp"

#include "settings/units.hpp"

namespace dodyn::evaluators {

std::vector<DesignVariable> parameter_variables(const systems::Model& model) {
  std::vector<DesignVariable> all;
  const auto values = model.evaluate<double>();
  for (std::size_t i = 0; i < model.parameters.size(); ++i) {
    const systems::Parameter& p = model.parameters[i];
    const std::string unit = p.comment.substr(0, p.comment.find_first_of(",:;"));
    all.push_back({p.name, parse_unit(unit) ? unit : "", p.comment, values.parameters[i], -1e308, 1e308});
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

}  // namespace dodyn::evaluators
