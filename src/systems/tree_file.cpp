#include "systems/tree_file.hpp"

#include <algorithm>

#include "systems/model.hpp"

namespace dodyn::systems {

Tree<autodiff::Dual<double>> parse_tree(const std::string& text, const std::string& origin, const Parameters& given) {
  const Model model = read_model(text, origin, false);
  const auto tree = model.tree(model.evaluate(given).numbers);
  if (tree.swing_link >= 0) model.check_walker(tree.plain());
  return tree;
}

std::vector<std::string> tree_parameters(const std::string& text, const std::string& origin) {
  std::vector<std::string> names;
  for (const auto& parameter : read_model(text, origin, false).parameters) names.push_back(parameter.name);
  return names;
}

std::string tree_text(const std::string& name_or_path) { return model_text(name_or_path); }

}  // namespace dodyn::systems
