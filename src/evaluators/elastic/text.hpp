// What the sections of a configuration describe: deformable and rigid bodies, walls, for a design.
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

// The value of an expression in which an entry of a section consists; `known` are the quantities that it may have.
// Throws ConfigError.
double value(const CustomEntry& entry, const std::string& text, const Numbers& known);
double value(const CustomEntry& entry, const Expression& parsed, const Numbers& known);

// All parameters, for a design, beside numbers that are known before them (a start's), which count more than parameters of
// the same names. Throws ConfigError.
Numbers parameters(const Settings& settings, const Eigen::VectorXd& design, const Numbers& before = {});

// [world] dimension: 2 or 3.
int dimension(const Settings& settings);

template <int n>
struct Scene {
  elastic::World<n> world;
  elastic::Start<n> start;
  double stiffness = 300.0;  // of contact, N/m
};
// Throws ConfigError, also where bodies make no sense.
template <int n>
Scene<n> scene(const Settings& settings, const Numbers& parameters);

}  // namespace dodyn::evaluators::elastic_text
