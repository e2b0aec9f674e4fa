// What a study says by names: which variables are what, limits on metrics, conditions on designs.
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

// Texts and files of [surrogate].
struct Named {
  std::string designs, samples;                               // files
  std::string constraints, objectives, integers, categories;  // lists
  std::string logarithmic, conditional, within;
};

// What a name that is no free variable stands for: the value of a fixed one, or the text of its list; empty: nothing.
using TextOf = std::function<std::string(const std::string& variable)>;

// Limits on metrics, or on "cost":
//   max_torque <= 15, min_normal_force >= 0, 0.2 <= lean <= 0.4, speed = 1 +- 0.01
// The last two are two constraints each. Empty text: none. Throws std::invalid_argument, in one line that shows the names there are.
std::vector<Constraint> parse_constraints(const std::string& text, const std::vector<std::string>& metrics);

// "cost, max_torque": indices in `names`, -1 for "cost" where `cost` allows it. Errors as above.
std::vector<int> parse_names(const std::string& text, const std::vector<std::string>& names, bool cost);

// What each variable may be, from integers, categories, logarithmic, conditional ("stiffness if springs > 0"), and the lists that
// `text_of` gives of free variables, as settings/choices.hpp reads them. Empty: all real. Errors as above.
std::vector<Domain> parse_domains(const Named& named, const std::vector<Variable>& variables, const TextOf& text_of);

// "x + y <= 1, knee < 2*hip": whether a design keeps all of it. Empty text: an empty function. Errors as above.
std::function<bool(const Eigen::VectorXd& design)> parse_conditions(const std::string& text,
                                                                    const std::vector<Variable>& variables,
                                                                    const TextOf& text_of);

}  // namespace dodyn::surrogate
