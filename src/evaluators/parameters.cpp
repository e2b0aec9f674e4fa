#include "evaluators/parameters.hpp"

#include <algorithm>
#include <map>
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

using Definitions = std::map<std::string, std::set<std::string>>;  // of parameters: words of their expressions

// Adds the parameters that a model file defines to `definitions`, and the words of its other expressions to `words`.
void add_model(const std::string& model, Definitions& definitions, std::set<std::string>& words) {
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
    add_words(text.substr(equals + 1), definitions[std::string(trimmed(text.substr(0, equals)))]);
  }
}

}  // namespace

std::vector<std::string> unused_parameters(const Settings& settings, const std::string& model) {
  Definitions definitions;
  std::set<std::string> words = {"period"};  // a gait uses it, and [parameters] may define it
  add_model(model, definitions, words);
  for (const CustomSection& section : settings.sections)
    for (const CustomEntry& entry : section.entries)
      if (section.kind == "parameters" && entry.key.find('-') == std::string::npos) {
        add_words(entry.value, definitions[entry.key]);
      } else {  // step-length and step-width of a gait are used, too
        add_words(entry.value, words);
        if (section.kind != "initial-states") add_words(entry.key, words);
      }
  // Words of paths and of other texts count, too: a superfluous word may suppress a note, but causes no wrong note.
  for (const Setting& setting : settings.all)
    if (!setting.key.name.starts_with("design.") && !setting.key.name.starts_with("parameters."))
      add_words(setting.value, words);
  // The expression of a used parameter uses further parameters, unless the study replaces this expression.
  for (std::size_t before = 0; before != words.size();) {
    before = words.size();
    for (const auto& [name, uses] : definitions)
      if (words.contains(name) && !settings.design_given(name)) words.insert(uses.begin(), uses.end());
  }
  std::set<std::string> unused;
  for (const auto& [name, uses] : definitions)
    if (!words.contains(name))
      for (const char* key : {"design.", "parameters.", "initial-states."})
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
    if (settings.variables[i].name == name) value.gradient = Eigen::VectorXd::Unit(design.size(), i);
  return value;
}

template <class T>
std::map<std::string, T> given_parameters(const Settings& settings, const systems::Model& model,
                                          const Eigen::VectorXd& design) {
  std::map<std::string, T> given;
  for (const systems::Parameter& parameter : model.parameters) {
    const std::string& name = parameter.name;
    if (!settings.design_given(name)) continue;
    if constexpr (std::is_same_v<T, double>)
      given[name] = settings.design(name, design);
    else
      given[name] = design_value(settings, name, design);
  }
  return given;
}
template std::map<std::string, double> given_parameters(const Settings&, const systems::Model&, const Eigen::VectorXd&);
template std::map<std::string, autodiff::Differential> given_parameters(const Settings&, const systems::Model&,
                                                                        const Eigen::VectorXd&);

void expect_new_name(const systems::Model& model, const CustomEntry& entry) {
  const auto& coordinates = model.structure.coordinate_names;
  if (model.parameter(entry.key) >= 0) throw entry.error("is a parameter of the model; set it by design." + entry.key);
  if (entry.key == "pi" || entry.key == "t" || std::ranges::find(coordinates, entry.key) != coordinates.end())
    throw entry.error(entry.key == "pi"  ? "is the number pi; choose another name"
                      : entry.key == "t" ? "is the time; choose another name"
                                         : "is a coordinate of the model; choose another name");
}

void add_parameters(const Settings& settings, systems::Model& model) {
  for (const CustomSection* section : settings.sections_of("parameters"))
    for (const CustomEntry& entry : section->entries) {
      expect_new_name(model, entry);
      constexpr std::string_view digits = "0123456789_";
      const bool is_name = std::ranges::all_of(entry.key, [&](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || digits.find(c) != digits.npos;
      });
      if (!is_name || digits.find(entry.key[0]) != digits.npos)
        throw entry.error("not a valid name; allowed: letters, digits and _, a letter first");
      systems::Definition definition{entry.number(), {}, entry.value, 0};
      for (const auto& quantity : definition.expression.quantities()) {
        const auto known = names_of(model.parameters);
        definition.uses.push_back(model.parameter(quantity.text()));
        if (definition.uses.back() < 0)
          throw entry.error("unknown parameter '" + shown(quantity.text()) + "'" +
                            did_you_mean(quantity.text(), known) +
                            "; allowed: parameters of the model, and earlier entries");
      }
      model.parameters.push_back({.name = entry.key,
                                  .definition = std::move(definition),
                                  .comment = "parameter of [parameters]",
                                  .unit = stated_unit(entry.value)});
    }
}

NamedModel named_model(const Settings& settings, const std::string& key) {
  const std::string path = settings.path(key);
  if (path.empty())
    throw ConfigError(settings.file + ": " + key +
                      " is missing; allowed: a shipped model (dodyn help models lists them) or a model file");
  try {
    return {path, systems::model_text(path)};
  } catch (const ConfigError& error) {
    throw settings.error(key, error.what());
  }
}

}  // namespace dodyn::evaluators
