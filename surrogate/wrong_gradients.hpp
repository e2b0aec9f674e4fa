// Tests the gradients of evaluations by the costs of near designs: a program may state a gradient with a wrong sign, or
// per another unit than that of the variable. The search then descends in a wrong direction.
//
// For a pair of near designs, the difference of the costs is the mean gradient times the step, if the gradient hardly
// changes along the step. One factor per variable is fitted to all such pairs by least absolute deviations, which
// jumps of the cost do not disturb: 1 if the gradient is right. A gradient is doubtful only if other factors explain
// the differences of the costs, and 1 does not. So noise, jumps and too few designs raise no doubt.
#pragma once

#include <Eigen/Core>
#include <string>
#include <vector>

#include "surrogate/observed_data.hpp"

namespace dodyn::surrogate {

struct DoubtfulGradient {
  Eigen::Index variable = 0;
  double factor = 1;  // the costs change by this number times the prediction of the gradient
};

// Returns the variables whose gradients disagree with the costs, by a factor below 1/3 or above 3. Empty also if costs
// have noise, if not all variables are real, or if too few designs with gradients are near each other.
std::vector<DoubtfulGradient> doubtful_gradients(const ObservedData& observed);

// Returns a sentence on each doubtful gradient: what disagrees, and what to check; empty: none is doubtful.
std::string doubt_text(const std::vector<Variable>& variables, const std::vector<DoubtfulGradient>& doubtful);

}  // namespace dodyn::surrogate
