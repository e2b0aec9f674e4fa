// Converts an archive's evaluations to the form in which a strategy receives them. The configuration in the archive
// gives the types of variables, constraints, objectives and noise. The last row of each id counts; evaluations whose
// last row has the status `lost` are left out.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "archive/archive.hpp"
#include "surrogate/observed_data.hpp"

namespace dodyn::study {

// Returns the value of a key; empty if the key is missing.
std::string text_in(const std::vector<std::pair<std::string, std::string>>& configuration, const std::string& key);

// Returns the quantities of an archive that are rates, from 0 to 1: index of a metric, -1 for the cost. The metrics of
// all evaluations determine which quantities are rates. A failure rate has the Wilson interval that two metrics state.
// Fractions of outcomes add up to 1. The joint cost of scenarios lies between their failure rates.
std::vector<int> rates_of(const archive::Contents& contents);

// Throws ConfigError if the archive's configuration cannot be read.
surrogate::ObservedData observed_data(const archive::Contents& contents);
// If the search compared paired costs, reads the cost of each initial state (Evaluation::paired_costs) for the rows in
// `contents`.
void read_paired_costs(const std::string& path, archive::Contents& contents);

// Returns the evaluation that the study recommends. Costs without noise: the feasible evaluation with the lowest
// objective. Costs with noise: the evaluation of the design that an iteration recommended last, since the lowest
// observed cost is partly luck. Null: none is feasible, or there are several objectives, and the front is the result.
const Evaluation* recommended_of(const archive::Contents& contents, const surrogate::ObservedData& observed);
// Returns the design that the last iteration of a study recommends if its strategy has no model, such as a sweep: the
// evaluated one of the lowest objective that a model of all evaluations predicts. Empty: costs have no noise, all
// designs have the same initial states, there are several objectives, or too few evaluations for a model.
Eigen::VectorXd recommended_by_model(const archive::Contents& contents);

// The model's statement about the recommended design of a study with paired costs (docs/surrogates.md, Paired costs).
struct StatedChoice {
  double cost, deviation;  // mean and standard deviation of the model there
  double optimism;         // see surrogate::Selection; 0 in archives of earlier versions, which do not have it
  double indifference;     // a smaller difference of costs does not matter
  double probability;      // that no evaluated design is better by more than the indifference
};
// Returns the statement of the last iteration. Empty: it has none.
std::optional<StatedChoice> stated_choice(const archive::Contents& contents);

// Returns how the study of surrogate.low-fidelity contributed to the last model of the cost, as one line. Empty: the
// study has no such key, or no model yet.
std::string low_fidelity_text(const archive::Contents& contents);

}  // namespace dodyn::study
