// Parameters of a model as design variables.
#pragma once

#include <string>
#include <vector>

#include "autodiff/differential.hpp"
#include "settings/settings.hpp"
#include "systems/model.hpp"

namespace dodyn::evaluators {

// One for every parameter, in their order.
std::vector<DesignVariable> parameter_variables(const systems::Model& model);

// The text of the model that the setting `key` names, and the path or name it was found by; throws ConfigError of that key.
struct NamedModel {
  std::string path, text;
};
NamedModel named_model(const Settings& settings, const std::string& key);

// A design variable's value for a design of the free ones, with its gradient with respect to them.
autodiff::Differential design_value(const Settings& settings, const std::string& name, const Eigen::VectorXd& design);

}  // namespace dodyn::evaluators
