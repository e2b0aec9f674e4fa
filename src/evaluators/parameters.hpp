// Makes the parameters of a model design variables.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "autodiff/differential.hpp"
#include "settings/settings.hpp"
#include "systems/model.hpp"

namespace dodyn::evaluators {

// Returns one design variable for every parameter, in their order.
std::vector<DesignVariable> parameter_variables(const systems::Model& model);

// Throws if an entry of [parameters] has a name that expressions have already: pi, t (the time), a coordinate or a
// parameter of the model.
void expect_new_name(const systems::Model& model, const CustomEntry& entry);

// Adds the entries of [parameters] to the parameters of the model, with their units. Throws ConfigError.
void add_parameters(const Settings& settings, systems::Model& model);

// A model file: the path or name under which it was found, and its text.
struct NamedModel {
  std::string path, text;
};
// Returns the model that the setting `key` names. Throws ConfigError for that key.
NamedModel named_model(const Settings& settings, const std::string& key);

// Returns the values of the model's parameters that the study sets or frees, for a design of the free variables. T:
// double, or Differential with gradients with respect to the free variables.
template <class T>
std::map<std::string, T> given_parameters(const Settings& settings, const systems::Model& model,
                                          const Eigen::VectorXd& design);

// Returns the settings of parameters, of the model or of [parameters], that are given although no expression uses the
// parameter: "design.reach.min", "parameters.reach", "initial-states.reach". A word in any other place counts as a use.
// `model`: text of the model file; empty: none.
std::vector<std::string> unused_parameters(const Settings& settings, const std::string& model);

// Returns the value of a design variable for a design of the free variables, with its gradient with respect to them.
autodiff::Differential design_value(const Settings& settings, const std::string& name, const Eigen::VectorXd& design);

}  // namespace dodyn::evaluators
