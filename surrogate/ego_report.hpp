// Reports how ego chose a design: the models' numbers, and the candidate designs. They suffice to reproduce the choice.
#pragma once

#include <Eigen/Core>
#include <optional>
#include <string>
#include <vector>

#include "surrogate/ego_search.hpp"

namespace dodyn::surrogate {

// Returns one row per candidate, at most `most_candidates`: first the chosen one, then other candidates with high
// scores by their rules. Columns: candidate_columns(). Without an acquisition the terms of the score are NaN.
Eigen::MatrixXd candidates_of(const EgoState& ego, const Proposal& proposal,
                              const std::optional<AcquisitionModel>& acquisition);
std::vector<std::string> candidate_columns(const ObservedData& observed);

// Returns the names of the numbers of the models and of the search. Requires a model of the cost.
std::vector<std::string> names_of_numbers(const EgoState& ego);
std::vector<double> numbers_of(const EgoState& ego, const Proposal& proposal);

// Adds the model's curve and its interval if there is one real variable.
void add_curve(const EgoState& ego, int grid_points, Iteration& out);

}  // namespace dodyn::surrogate
