// The certainty of the recommended design of a search with uncertain costs, noisy or paired: the probability that it is
// the best evaluated design, and the region of the box where a better design may be.
//
// Both use the model's joint distribution. So an error that all designs share, such as that of common initial states,
// cancels.
#pragma once

#include <Eigen/Core>
#include <optional>
#include <string>
#include <utility>

#include "surrogate/acquisition_model.hpp"

namespace dodyn::surrogate {

struct Selection {
  std::optional<Evaluation> recommended = {};  // the evaluation of the lowest predicted cost; empty: none
  double cost = not_a_number;                  // mean of the model at the recommended design
  double deviation = not_a_number;             // standard deviation of the model at the recommended design
  double optimism = not_a_number;              // expected excess of the true cost over `cost`, because the lowest of
                                               // several uncertain costs was chosen
  double indifference = not_a_number;          // a smaller difference of costs does not matter
  double probability = not_a_number;  // probability that no evaluated design is better by more than the indifference
};

// Returns the standard error of an evaluation's cost: its own, and the noise that the model has found.
double error_of_cost(const Models& models, const Evaluation& e);

// Returns the recommended design and its certainty. `indifference`: 0 stands for half the standard error of the
// recommended evaluation. Needs a model of one objective.
Selection select(const ObservedData& observed, const Models& models, double indifference);

// Returns the ends of the 95 % interval of the recommended design's cost. Its middle is cost + optimism, and its
// variance is deviation^2 + optimism^2. The second term is the uncertainty of the optimism, which is an estimate.
std::pair<double, double> interval_of_choice(double cost, double deviation, double optimism);

// Returns a probability in percent, rounded down: "87". From 99 % on the text is "at least 99", since the probability
// comes from a finite number of draws.
std::string percent_text(double probability);

// Returns the rival: the design whose costs are lower than those of the recommended one by more than the indifference,
// on the initial states that both have. If there are several, returns the one with the largest difference. For a rival,
// the model treats the difference as noise, so more initial states are needed. Empty: none.
Eigen::VectorXd rival_of(const ObservedData& observed, const Selection& selection);

// The region where a design may be better than the recommended one by more than the indifference. It excludes designs
// that probably fail or violate a constraint.
struct UndecidedRegion {
  double probability = 1;  // probability that there is such a design among the points
  double fraction = 1;     // share of the points that are such a design with a probability above `undecided_chance`
};
inline constexpr double undecided_chance = 0.05;

// Returns the region's probability and fraction from `points`, designs in the unit cube, one per column. Without a
// recommended design or points, both are 1.
UndecidedRegion undecided_region(const ObservedData& observed, const Models& models, const Selection& selection,
                                 const Eigen::MatrixXd& points);

}  // namespace dodyn::surrogate
