// Reads the scene for a design from the configuration: deformable and rigid bodies, walls.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "elastic/simulation.hpp"
#include "settings/expression.hpp"
#include "settings/settings.hpp"

namespace dodyn::evaluators::elastic_text {

// Returns the entries of [parameters]: NAME = an expression of earlier entries.
std::vector<DesignVariable> variables(const Settings& so_far);
std::vector<ini::SectionKind> sections();

using Numbers = std::map<std::string, double>;

// Returns the value of an entry's expression. `known`: the quantities that it may use. Throws ConfigError.
double value(const CustomEntry& entry, const std::string& text, const Numbers& known);
double value(const CustomEntry& entry, const Expression& parsed, const Numbers& known);

// Returns all parameters for a design. `before`: further numbers, such as the variables of an initial state; they
// override parameters of the same name. Throws ConfigError.
Numbers parameters(const Settings& settings, const Eigen::VectorXd& design, const Numbers& before = {});

// Returns the dimension in [world]: 2 or 3.
int dimension(const Settings& settings);

template <int n>
struct Scene {
  elastic::World<n> world;
  elastic::Start<n> start;
  double stiffness = 300.0;  // stiffness of contact, N/m; used by penalty only
};
// Throws ConfigError, also if bodies are invalid.
template <int n>
Scene<n> scene(const Settings& settings, const Numbers& parameters);

}  // namespace dodyn::evaluators::elastic_text
