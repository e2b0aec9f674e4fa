// Articulated trees (tree.hpp) written as text; docs/walkers.md shows and explains the format.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "systems/model.hpp"

namespace dodyn::systems {

using TreeError = ConfigError;

using Parameters = std::map<std::string, autodiff::Dual<double>>;

// Reads a tree. `origin` names the text in messages. `given`: values, with their derivatives with respect to the
// design, that win over those of the text's [parameters]; each must be one of them. Throws TreeError.
Tree<autodiff::Dual<double>> parse_tree(const std::string& text, const std::string& origin,
                                        const Parameters& given = {});

// The text of a model: of a file, or of one that is built in. Throws TreeError.
std::string tree_text(const std::string& name_or_path);

// Names of the parameters a text declares, in order.
std::vector<std::string> tree_parameters(const std::string& text, const std::string& origin);

}  // namespace dodyn::systems
