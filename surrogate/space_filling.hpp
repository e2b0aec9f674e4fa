// Where nothing is known: designs far from all others, and from the walls by half as much, so that they do not pile up in
// the corners of the box.
#pragma once

#include <Eigen/Core>
#include <vector>

#include "surrogate/observed_data.hpp"

namespace dodyn::surrogate {

// The distances of points of the unit cube to what is there.
class NearestDistance {
 public:
  explicit NearestDistance(const ObservedData& observed);  // of evaluated and pending designs

  // To the nearest design, or twice the distance to the nearest wall where that is less: a wall counts as a mirror.
  // Labels and whole numbers count in the coordinates that models see, and have no walls.
  double room(const Eigen::VectorXd& unit) const;
  double nearest(const Eigen::VectorXd& unit) const;

 private:
  const DesignSpace& space_;
  Eigen::MatrixXd at_;  // embedded
};

}  // namespace dodyn::surrogate
