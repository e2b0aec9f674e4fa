#include "evaluators/parameters.hpp"

#include <algorithm>
#include <set>
#include <sstream>

#include "record/text.hpp"

namespace dodyn::evaluators {

namespace {

void add_words(std::string_view text, std::set<std::string>& words) {
  constexpr std::string_view letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
  for (std::size_t at = 0; (at = text.find_first_of(letters, at)) != text.npos;) {
    const std::size_t end = std::min(text.find_first_not_of(letters, at), text.size());
    words.emplace(text.substr(at, end - at));
    at = end;
  }
}

// Adds the parameters that a model file defines to `names`, and the words of its expressions to `words`.
void add_model(const std::string& model, std::set<std::string>& names, std::set<std::string>& words) {
  std::istringstream lines(model);
  bool defines = false;
  for (std::string line; std::getline(lines, line);) {
    const std::string_view text = trimmed(std::string_view(line).substr(0, line.find('#')));
    if (text.starts_with('[')) defines = text.starts_with("[parameters]");
    const std::size_t equals = text.find('=');
    if (!defines || equals == text.npos) {
      add_words(text, words);
      continue;
    }
    names.emplace(trimmed(text.substr(0, equals)));
    add_words(text.substr(equals + 1), words);
  }
}

}  // namespace

std::vector<std::string> unused_parameters(const Settings& settings, const std::string& model) {
  std::set<std::string> names, unused;
  std::set<std::string> words = {"period"};  // a gait uses it, and [parameters] may define it
  add_model(model, names, words);
  for (const CustomSection& section : settings.sections)
    for (const CustomEntry& entry : section.entries) {
      add_words(entry.value, words);
      if (section.kind != "parameters")
        add_words(entry.key, words);
      else if (entry.key.find('-') == std::string::npos)  // step-length and step-width of a gait are used, too
        names.insert(entry.key);
    }
  for (const Setting& setting : settings.all)
    if (!setting.key.name.starts_with("design.") && !setting.key.name.starts_with("parameters."))
      add_words(setting.value, words);
  for (const std::string& name : names)
    if (!words.contains(name))
      for (const char* key : {"design.", "parameters."})
        for (const char* end : {"", ".min", ".max"}) unused.insert(key + name + end);
  std::vector<std::string> given;
  for (const Setting& setting : settings.all)
    if (setting.source != "default" && unused.contains(setting.key.name)) given.push_back(setting.key.name);
  return given;
}

std::vector<DesignVariable> parameter_variables(const systems::Model& model) {
  std::vector<DesignVariable> all;
  const auto values = model.evaluate<double>();
  for (std::size_t i = 0; i < model.parameters.size(); ++i) {
    const systems::Parameter& p = model.parameters[i];
    all.push_back({p.name, p.unit,
                   p.comment.empty() ? "parameter of the model, without a comment in the model file" : p.comment,
                   values.parameters[i], -1e300, 1e300});
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

void expect_new_name(const systems::Model& model, const CustomEntry& entry) {
  const auto& coordinates = model.structure.coordinate_names;
  if (model.parameter(entry.key) >= 0) throw entry.error("is a parameter of the model; set it by design." + entry.key);
  if (entry.key == "pi" || entry.key == "t" ||
      std::find(coordinates.begin(), coordinates.end(), entry.key) != coordinates.end())
    throw entry.error(entry.key == "pi"  ? "is the number pi; choose another name"
                      : entry.key == "t" ? "is the time; choose another name"
                                         : "is a coordinate of the model; choose another name");
}

NamedModel named_model(const Settings& settings, const std::string& key) {
  const std::string path = settings.path(key);
  try {
    return {path, systems::model_text(path)};
  } catch (const ConfigError& error) {
    throw settings.error(key, error.what());
  }
}

}  // namespace dodyn::evaluators
