// Parses settings that use names: kinds of variables, limits on metrics, conditions on designs.
#pragma once

#include <Eigen/Core>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "record/evaluation.hpp"
#include "surrogate/design_space.hpp"
#include "surrogate/observed_data.hpp"

namespace dodyn::surrogate {

// Values of [surrogate] that contain names or files.
struct Named {
  std::string designs, samples, low_fidelity;                 // file names
  std::string constraints, objectives, integers, categories;  // lists of names
  std::string logarithmic, conditional, within;
};

// Returns the text for a name that is not a free variable: the value of a fixed variable, or the text of its list;
// empty: unknown.
using TextOf = std::function<std::string(const std::string& variable)>;

// Parses limits on metrics, or on "cost":
//   max_torque <= 15, min_normal_force >= 0, 0.2 <= lean <= 0.4, speed = 1 +- 0.01
// The last two are two constraints each. Empty text: none. Throws std::invalid_argument, one line with the valid names.
std::vector<Constraint> parse_constraints(const std::string& text, const std::vector<std::string>& metrics);

// Returns the names in such limits, in their order. Throws if the text has no such limits; any name is valid.
std::vector<std::string> constrained_names(const std::string& text);

// Parses names such as "cost, max_torque" to indices in `names`; -1 for "cost" if `cost` allows it. Throws as
// parse_constraints().
std::vector<int> parse_names(const std::string& text, const std::vector<std::string>& names, bool cost);

// Returns the kind of each variable. It follows from integers, categories, log-scale, conditional ("stiffness if
// springs > 0"), and the lists that `text_of` returns for free variables (syntax: settings/choices.hpp). Empty: all
// real. Throws as parse_constraints().
std::vector<Domain> parse_domains(const Named& named, const std::vector<Variable>& variables, const TextOf& text_of);

// Parses conditions such as "x + y <= 1, knee < 2*hip". The result is true for designs that satisfy all conditions; an
// empty function for an empty text. Throws as parse_constraints().
std::function<bool(const Eigen::VectorXd& design)> parse_conditions(const std::string& text,
                                                                    const std::vector<Variable>& variables,
                                                                    const TextOf& text_of);

// Returns the margin of each comparison of these conditions, at least 0 where it is satisfied. Empty if a condition is
// not a conjunction of inequalities. Throws as parse_constraints().
std::vector<std::function<double(const Eigen::VectorXd& design)>> parse_margins(const std::string& text,
                                                                                const std::vector<Variable>& variables,
                                                                                const TextOf& text_of);

}  // namespace dodyn::surrogate
