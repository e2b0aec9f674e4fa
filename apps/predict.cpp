// dodyn predict and dodyn sensitivity: predictions from an archive's evaluations for designs that were not evaluated.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <iostream>
#include <limits>
#include <map>

#include "archive/archive.hpp"
#include "command.hpp"
#include "record/text.hpp"
#include "report/predictions.hpp"
#include "settings/command_line.hpp"
#include "settings/settings.hpp"
#include "study/observed_data.hpp"
#include "surrogate/strategy_options.hpp"

namespace dodyn::apps {

namespace po = boost::program_options;
namespace {

struct Study {
  archive::Contents contents;
  surrogate::ObservedData observed;
};

Study study_of(const std::string& path) {
  try {
    archive::Contents contents = archive::read(path);
    study::read_paired_costs(path, contents);
    surrogate::ObservedData observed = study::observed_data(contents);
    return {std::move(contents), std::move(observed)};
  } catch (const archive::Error& error) {
    throw ConfigError(error.what());
  }
}

// States on standard error that evaluations of other archives do not count here.
void note_other_evaluations(const Study& study, const std::string& path) {
  for (const char* key : {"surrogate.low-fidelity", "surrogate.prior-evaluations"})
    if (const std::string file = study::text_in(study.contents.provenance.configuration, key); !file.empty())
      std::cerr << "note: only the evaluations of " << path << " count here, not those of " << key << " = " << file
                << "\n";
}

// Returns the indices of the metrics in --quantity, -1 for the cost.
std::vector<int> quantities(const std::string& names, const Study& study) {
  try {
    return surrogate::parse_names(names, names_of(study.contents.layout.metrics), true);
  } catch (const std::invalid_argument& error) {
    throw ConfigError("command line: --quantity: " + std::string(error.what()));
  }
}

// Returns the design of --design.NAME VALUE. Variables without a value have their values in the recommended design.
Eigen::VectorXd design_of(const std::vector<std::string>& words, const Study& study) {
  std::map<std::string, std::string> given;
  for (const auto& [key, value, has_value] : parse_words(words))
    if (!given.emplace("--" + key, has_value ? value : "").second)
      throw ConfigError("command line: --" + shown(key) + " is given twice");
  const auto& variables = study.contents.layout.variables;
  std::vector<std::string> names;
  for (const auto& variable : variables) names.push_back("--design." + variable.name);
  Eigen::VectorXd design = Eigen::VectorXd::Constant(variables.size(), not_a_number);
  const Evaluation* best = dodyn::study::recommended_of(study.contents, study.observed);
  if (!best) best = study.observed.best();  // several objectives: the design with the lowest first objective
  if (best) design = best->design;
  for (std::size_t i = 0; i < variables.size(); ++i) {
    const auto& [name, unit, lower, upper, choices] = variables[i];
    const std::string range = !choices.empty() ? listed(choices)
                                               : "a number from " + to_text(lower) + " to " + to_text(upper) +
                                                     (unit.empty() || unit == "1" ? "" : " " + unit);
    const auto at_name = given.find(names[i]);
    const std::string text = at_name == given.end() ? "" : at_name->second;
    auto& value = design(i);
    if (at_name != given.end() && text.empty())
      throw ConfigError("command line: " + names[i] + " has no value; allowed: " + range);
    if (text.empty()) {
      if (std::isnan(value))
        throw ConfigError("command line: " + names[i] +
                          " is missing, and no best design has a value for it; allowed: " + range);
      continue;
    }
    if (const auto at = std::ranges::find(choices, text); at != choices.end()) {
      value = static_cast<double>(at - choices.begin());
      continue;
    }
    if (!choices.empty())
      throw ConfigError("command line: " + names[i] + " = " + shown(text) + " is unknown; allowed: " + range +
                        did_you_mean(text, choices));
    const Key key{.name = names[i], .type = Type::real, .unit = unit};
    value = number_of(key, canonical(key, text, "command line"));
    if (!(value >= lower && value <= upper))
      throw ConfigError("command line: " + names[i] + " = " + shown(text) +
                        " is outside the study's range; allowed: " + range);
  }
  const surrogate::DesignSpace& space = study.observed.space;
  const Eigen::VectorXd levels = space.design(space.unit(design));
  for (Eigen::Index i = 0; i < design.size(); ++i)
    if (!space.real(i) && std::abs(levels(i) - design(i)) > 1e-9 * std::max(1.0, std::abs(design(i))))
      throw ConfigError("command line: " + names[i] + " = " + to_text(design(i)) + surrogate::not_a_value(levels(i)));
  for (const auto& [name, value] : given)
    if (std::ranges::find(names, name) == names.end())
      throw ConfigError("command line: '" + shown(name) + "' is not understood" + did_you_mean(name, names) +
                        "; the study's variables: " + listed(names));
  return design;
}

}  // namespace

void add_predict_options(AddOptions add) {
  const auto text = [] { return po::value<std::string>(); };
  add("quantity", text()->value_name("NAME,..."), "cost, or names of metrics");
  add("json", po::bool_switch(), "as JSON");
  add("export", text()->value_name("FILE.h5"), "a file for the model, as HDF5");
  add("optimum", po::bool_switch(), "find the best design of the model");
  add("slices", po::bool_switch(), "as JSON: the model of the cost along each variable and pair through the design");
  add_units_option(add, "of the design and the predictions");
}

ExitCode predict(const Invocation& call) {
  const Arguments given = parse(call);
  const bool json = given.flag("json"), optimum = given.flag("optimum");
  const std::string &path = given.operands.front(), of = given.text("quantity"), file = given.text("export");
  const bool slices = given.flag("slices");
  if (optimum + slices + !file.empty() > 1 || ((optimum || slices) && !of.empty()) ||
      ((optimum || !file.empty()) && json))
    throw ConfigError("these options cannot be combined; usage: " + call.command.usage());
  expect_archive(path, "predict");
  const report::OutputUnits units = units_of(given);
  if (!units.empty() && !file.empty())
    throw ConfigError("command line: --units is not for --export, which has the archive's units");
  const Study study = study_of(path);
  note_unused(units, study.contents.layout, path);
  note_other_evaluations(study, path);
  if ((optimum || !file.empty()) && !given.keys.empty())
    throw ConfigError(std::string("command line: ") + (optimum ? "--optimum" : "--export") +
                      " takes no design; leave --design.* out");
  const Eigen::VectorXd design = optimum || !file.empty() ? Eigen::VectorXd() : design_of(given.keys, study);
  if (!file.empty() && std::filesystem::exists(file))
    throw ConfigError(file + ": exists already; choose another name, or remove it");
  try {
    if (!file.empty()) {
      std::vector<archive::Group> groups;
      for (const int metric : quantities(of.empty() ? "cost" : of, study))
        groups.push_back(report::exported(study.contents, study.observed, metric));
      archive::write_plain(file, groups);
      std::cout << file << ": the model of " << (of.empty() ? "cost" : of)
                << " as plain datasets (docs/surrogates.md)\n";
      return finished;
    }
    if (optimum) {
      std::cout << report::optimum_text(study.contents, study.observed, units);
      return finished;
    }
    if (slices) {
      std::cout << report::slices_json(study.contents, study.observed, design, units);
      return finished;
    }
    const auto prediction = report::prediction_of(study.contents, study.observed, design, quantities(of, study), units);
    std::cout << (json ? report::as_json(prediction) : report::as_text(prediction));
  } catch (const std::invalid_argument& error) {
    throw ConfigError(path + ": " + error.what());
  } catch (const archive::Error& error) {
    throw ConfigError(error.what());
  }
  return finished;
}

void add_sensitivity_options(AddOptions add) {
  add("quantity", po::value<std::string>()->value_name("NAME"), "cost, or the name of a metric");
  add("samples", po::value<int>()->value_name("N"), "a number from 64 to 1048576");
  add("json", po::bool_switch(), "as JSON");
  add_units_option(add, "of variables and the quantity");
}

ExitCode sensitivity(const Invocation& call) {
  constexpr int fewest = 64, most = 1 << 20, usual = 4096;
  const Arguments given = parse(call);
  const bool json = given.flag("json");
  const std::string &path = given.operands.front(), of = given.text("quantity");
  const int samples = given.options.count("samples") ? given.options["samples"].as<int>() : usual;
  if (samples < fewest || samples > most)
    throw ConfigError("command line: --samples = " + std::to_string(samples) +
                      " is not allowed; allowed: a number from 64 to 1048576");
  expect_archive(path, "sensitivity");
  const report::OutputUnits units = units_of(given);
  const Study study = study_of(path);
  note_unused(units, study.contents.layout, path);
  note_other_evaluations(study, path);
  const std::vector<int> metrics = quantities(of.empty() ? "cost" : of, study);
  if (metrics.size() != 1) throw ConfigError("command line: --quantity takes one name");
  try {
    const auto found = report::sensitivity_of(study.contents, study.observed, metrics[0], samples, units);
    std::cout << (json ? report::as_json(found) : report::as_text(found));
  } catch (const std::invalid_argument& error) {
    throw ConfigError(path + ": " + error.what());
  }
  return finished;
}

}  // namespace dodyn::apps
