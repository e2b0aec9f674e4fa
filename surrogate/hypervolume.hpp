// Two or three objectives, all minimised: the Pareto front, the area or volume that it dominates, and the expected
// gain.
//
// Source: M. Emmerich, A. Deutz, J. Klinkenberg, Hypervolume-based expected improvement: monotonicity properties and
// exact computation (2011); in three objectives by slices along the third.
#pragma once

#include <Eigen/Core>
#include <vector>

#include "surrogate/kriging.hpp"

namespace dodyn::surrogate {

struct Front {
  // [objectives, points]. Two objectives: ascending by the first, descending by the second; three: ascending by the
  // third.
  Eigen::MatrixXd points;
  Eigen::VectorXd reference;
  // Three objectives: slices[k] holds the two-objective front of the points whose third objective lies below slice k.
  // Entries are columns of `points`, ascending by the first objective. There is one slice more than points, and the
  // first is empty. Two objectives: one slice, the front.
  std::vector<std::vector<Eigen::Index>> slices;

  // Returns the front of `all` [objectives, points]. The reference point is beyond the worst point by 10 % of the
  // ranges.
  static Front of(const Eigen::MatrixXd& all);
  template <class Vector>
  static Front of(const std::vector<Vector>& all) {
    Eigen::MatrixXd columns(all.empty() ? 2 : all[0].size(), all.size());
    for (std::size_t i = 0; i < all.size(); ++i) columns.col(i) = all[i];
    return of(columns);
  }
  // Returns the area or volume between the front and the reference point.
  double hypervolume() const;
};

// Returns the log of the expected gain in hypervolume of a design with these independent predictions of its objectives.
// Writes its gradient if the pointer is not null.
double log_expected_gain(const Front& front, const std::vector<Prediction>& objectives, Eigen::VectorXd* gradient);

}  // namespace dodyn::surrogate
