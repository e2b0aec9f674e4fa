#include "study/evidence.hpp"

#include <algorithm>

#include "settings/settings.hpp"
#include "study/study.hpp"
#include "surrogate/choice.hpp"

namespace dodyn::study {

surrogate::Evidence evidence_of(const archive::Contents& contents) {
  const auto text = [&](const std::string& key) {
    for (const auto& [name, value] : contents.provenance.configuration)
      if (name == key) return value;
    return std::string();
  };
  const auto& layout = contents.layout;
  std::vector<std::string> variables, metrics;
  for (const auto& variable : layout.variables) variables.push_back(variable.name);
  for (const auto& metric : layout.metrics) metrics.push_back(metric.name);
  try {
    std::vector<surrogate::Domain> domains;
    for (const auto& [key, domain] : {std::pair("surrogate.integers", surrogate::Domain::integer),
                                      std::pair("surrogate.categories", surrogate::Domain::category)})
      for (const int i : surrogate::parse_names(text(key), variables, false)) {
        domains.resize(variables.size(), surrogate::Domain::real);
        domains[static_cast<std::size_t>(i)] = domain;
      }
    std::vector<int> objectives = surrogate::parse_names(text("surrogate.objectives"), metrics, true);
    if (objectives.empty()) objectives = {-1};
    surrogate::Evidence evidence{surrogate::DesignSpace(layout.variables, domains, "archive"),
                                 constraints_of(text("surrogate.constraints"), layout.metrics), std::move(objectives),
                                 text("surrogate.noise") == "true"};
    for (const auto& [id, row] : archive::latest(contents))
      if (const Evaluation& e = contents.evaluations[row]; e.status != Status::lost) evidence.told.push_back(e);
    return evidence;
  } catch (const std::invalid_argument& error) {
    throw ConfigError("the archive's configuration: " + std::string(error.what()));
  }
}

}  // namespace dodyn::study
