// dodyn predict and dodyn sensitivity: what an archive's evaluations say of designs that were never evaluated.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <iostream>
#include <limits>

#include "archive/archive.hpp"
#include "command.hpp"
#include "report/hindsight.hpp"
#include "settings/settings.hpp"
#include "study/evidence.hpp"
#include "surrogate/choice.hpp"

namespace dodyn::apps {
namespace {

struct Study {
  archive::Contents contents;
  surrogate::Evidence evidence;
};

Study study_of(const std::string& path) {
  try {
    archive::Contents contents = archive::read(path);
    surrogate::Evidence evidence = study::evidence_of(contents);
    return {std::move(contents), std::move(evidence)};
  } catch (const archive::Error& error) {
    throw ConfigError(error.what());
  }
}

// Indices of the metrics that --of names, -1 for the cost.
std::vector<int> quantities(const std::string& names, const Study& study) {
  std::vector<std::string> metrics;
  for (const auto& metric : study.contents.layout.metrics) metrics.push_back(metric.name);
  try {
    return surrogate::parse_names(names, metrics, true);
  } catch (const std::invalid_argument& error) {
    throw ConfigError("command line: --of: " + std::string(error.what()));
  }
}

// The design that --design.NAME VALUE gives; what is not given is as in the design that the study recommends.
Eigen::VectorXd design_of(std::vector<std::string>& words, const Study& study) {
  const auto& variables = study.contents.layout.variables;
  std::vector<std::string> names;
  for (const auto& variable : variables) names.push_back("--design." + variable.name);
  Eigen::VectorXd design = Eigen::VectorXd::Constant(static_cast<Eigen::Index>(variables.size()), not_a_number);
  const Evaluation* best = dodyn::study::recommended_of(study.contents, study.evidence);
  if (!best) best = study.evidence.best();  // of several objectives the least in the first
  if (best) design = best->design;
  for (std::size_t i = 0; i < variables.size(); ++i) {
    const auto& [name, unit, lower, upper, choices] = variables[i];
    const std::string range = !choices.empty() ? listed(choices)
                                               : "a number from " + to_text(lower) + " to " + to_text(upper) +
                                                     (unit.empty() || unit == "1" ? "" : " " + unit);
    const std::string text = take_option(words, names[i], range);
    auto& value = design(static_cast<Eigen::Index>(i));
    if (text.empty()) {
      if (std::isnan(value))
        throw ConfigError("command line: " + names[i] +
                          " is missing, and there is no best design to take it from; allowed: " + range);
      continue;
    }
    if (const auto at = std::find(choices.begin(), choices.end(), text); at != choices.end()) {
      value = static_cast<double>(at - choices.begin());
      continue;
    }
    std::size_t end = 0;
    try {
      value = std::stod(text, &end);
    } catch (const std::exception&) {
    }
    if (end != text.size() || !(value >= lower && value <= upper))
      throw ConfigError("command line: " + names[i] + " = " + shown(text) + " is not allowed; allowed: " + range);
  }
  if (!words.empty()) {
    const std::string name = words[0].substr(0, words[0].find('='));
    names.insert(names.end(), {"--of", "--json", "--export", "--optimum"});
    throw ConfigError("command line: '" + shown(words[0]) + "' is not understood" + did_you_mean(name, names));
  }
  return design;
}

}  // namespace

ExitCode predict(Invocation call) {
  const bool json = std::erase(call.words, "--json") > 0, optimum = std::erase(call.words, "--optimum") > 0;
  const std::string path = take_path(
      call.words,
      "dodyn predict ARCHIVE [--design.NAME VALUE ...] [--of NAME,...] [--json] [--export FILE.h5] [--optimum]");
  const std::string of = take_option(call.words, "--of", "cost, or names of metrics");
  const std::string file = take_option(call.words, "--export", "a file to write as HDF5");
  const Study study = study_of(path);
  const Eigen::VectorXd design = design_of(call.words, study);
  if (!file.empty() && std::filesystem::exists(file))
    throw ConfigError(file + ": is there already; choose another name or remove it");
  try {
    if (!file.empty()) {
      std::vector<archive::Group> groups;
      for (const int metric : quantities(of.empty() ? "cost" : of, study))
        groups.push_back(report::exported(study.contents, study.evidence, metric));
      archive::write_plain(file, groups);
      std::cout << file << ": the model of " << (of.empty() ? "cost" : of)
                << " as plain datasets (docs/surrogates.md)\n";
      return finished;
    }
    if (optimum) {
      std::cout << report::optimum_text(study.contents, study.evidence);
      return finished;
    }
    const auto prediction = report::prediction_of(study.contents, study.evidence, design, quantities(of, study));
    std::cout << (json ? report::as_json(prediction) : report::as_text(prediction));
  } catch (const std::invalid_argument& error) {
    throw ConfigError(path + ": " + error.what());
  } catch (const archive::Error& error) {
    throw ConfigError(error.what());
  }
  return finished;
}

ExitCode sensitivity(Invocation call) {
  const bool json = std::erase(call.words, "--json") > 0;
  const std::string path = take_path(call.words, "dodyn sensitivity ARCHIVE [--of NAME] [--samples N] [--json]");
  const std::string of = take_option(call.words, "--of", "cost, or the name of a metric");
  const std::string count = take_option(call.words, "--samples", "a number from 64 to 1048576");
  int samples = 4096;
  if (!count.empty()) {
    std::size_t end = 0;
    try {
      samples = std::stoi(count, &end);
    } catch (const std::exception&) {
    }
    if (end != count.size() || samples < 64 || samples > 1 << 20)
      throw ConfigError("command line: --samples = " + shown(count) +
                        " is not allowed; allowed: a number from 64 to 1048576");
  }
  const Study study = study_of(path);
  if (!call.words.empty()) {
    const std::string name = call.words[0].substr(0, call.words[0].find('='));
    throw ConfigError("command line: '" + shown(call.words[0]) + "' is not understood" +
                      did_you_mean(name, {"--of", "--samples", "--json"}));
  }
  const std::vector<int> metrics = quantities(of.empty() ? "cost" : of, study);
  if (metrics.size() != 1) throw ConfigError("command line: --of takes one name");
  try {
    const auto found = report::sensitivity_of(study.contents, study.evidence, metrics[0], samples);
    std::cout << (json ? report::as_json(found) : report::as_text(found));
  } catch (const std::invalid_argument& error) {
    throw ConfigError(path + ": " + error.what());
  }
  return finished;
}

}  // namespace dodyn::apps
