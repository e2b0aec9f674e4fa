// Two objectives, both minimised: the front of what was found, the area it dominates, and the gain to expect.
//
// Source: M. Emmerich, A. Deutz, J. Klinkenberg, Hypervolume-based expected improvement: monotonicity properties and
// exact computation (2011).
#pragma once

#include <Eigen/Core>
#include <vector>

#include "surrogate/kriging.hpp"

namespace dodyn::surrogate {

struct Front {
  Eigen::Matrix2Xd points;  // first objective ascending, second descending
  Eigen::Vector2d reference = Eigen::Vector2d::Zero();

  // The points that no other is better than in both; the reference beyond the worst of all by a tenth of the ranges.
  static Front of(std::vector<Eigen::Vector2d> all);
  // Area between the front and the reference.
  double hypervolume() const;
};

// log of the gain in hypervolume to expect of a design where the objectives are predicted, independently, as `first` and
// `second`; its gradient where wanted.
double log_expected_gain(const Front& front, const Prediction& first, const Prediction& second,
                         Eigen::VectorXd* gradient);

}  // namespace dodyn::surrogate
