// Two or three objectives, all minimised: the front of what was found, the area or volume it dominates, and the gain to expect.
//
// Source: M. Emmerich, A. Deutz, J. Klinkenberg, Hypervolume-based expected improvement: monotonicity properties and
// exact computation (2011); in three objectives by slices along the third.
#pragma once

#include <Eigen/Core>
#include <vector>

#include "surrogate/kriging.hpp"

namespace dodyn::surrogate {

struct Front {
  // objectives x n. Two: the first ascending, the second descending; three: the third ascending.
  Eigen::MatrixXd points;
  Eigen::VectorXd reference;
  // Of three objectives: for each slice between two values of the third, the front of the other two below it, as columns of `points` with
  // the first ascending; one slice more than there are points, the first empty. Of two: the one front.
  std::vector<std::vector<Eigen::Index>> slices;

  // The points that no other is as good as in all; the reference beyond the worst of all by a tenth of the ranges. `all`: objectives x n.
  static Front of(const Eigen::MatrixXd& all);
  template <class Vector>
  static Front of(const std::vector<Vector>& all) {
    Eigen::MatrixXd columns(all.empty() ? 2 : all[0].size(), static_cast<Eigen::Index>(all.size()));
    for (std::size_t i = 0; i < all.size(); ++i) columns.col(static_cast<Eigen::Index>(i)) = all[i];
    return of(columns);
  }
  // Between the front and the reference.
  double hypervolume() const;
};

// Returns the log of the expected gain in hypervolume of a design with these independent predictions of its objectives. Writes
// its gradient if the pointer is not null.
double log_expected_gain(const Front& front, const std::vector<Prediction>& objectives, Eigen::VectorXd* gradient);

}  // namespace dodyn::surrogate
