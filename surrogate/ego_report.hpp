// What ego says of its choice, enough to make it again: the models' numbers, and the designs that were considered.
#pragma once

#include <Eigen/Core>
#include <optional>
#include <string>
#include <vector>

#include "surrogate/ego_search.hpp"

namespace dodyn::surrogate {

// A row for each design: the chosen one first, then by rule those of the highest scores. Where there is no model yet, no
// parts of the score.
Eigen::MatrixXd candidates_of(const EgoState& ego, const Proposal& proposal,
                              const std::optional<AcquisitionModel>& acquisition);
std::vector<std::string> candidate_columns(const ObservedData& observed);

// Numbers of the models and of the search, once there is a model of the cost.
std::vector<std::string> names_of_numbers(const EgoState& ego);
std::vector<double> numbers_of(const EgoState& ego, const Proposal& proposal);

// The model's curve and its band over one real variable; nothing of others.
void add_curve(const EgoState& ego, int grid_points, Iteration& out);

}  // namespace dodyn::surrogate
