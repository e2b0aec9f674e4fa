// Finds models by name or path.
#include "systems/model.hpp"

namespace dodyn::systems {

std::string model_text(const std::string& name_or_path) {
  const auto& shipped = shipped_models();
  if (const auto at = shipped.find(name_or_path); at != shipped.end()) return at->second;
  try {
    return ini::read_file(name_or_path);
  } catch (const ConfigError& error) {
    std::vector<std::string> names;
    for (const auto& [one, text] : shipped) names.push_back(one);
    throw ConfigError(error.what() + did_you_mean(name_or_path, names) +
                      "; allowed: the path of a model file, or a name that dodyn help models lists");
  }
}

Model find_model(const std::string& name_or_path) { return read_model(model_text(name_or_path), name_or_path); }

}  // namespace dodyn::systems
