// Space filling when nothing is known: designs far from all others. The distance to a wall counts double, so that
// designs do not concentrate in the corners of the box.
#pragma once

#include <Eigen/Core>
#include <vector>

#include "surrogate/observed_data.hpp"

namespace dodyn::surrogate {

// Distances of points of the unit cube to evaluated and pending designs.
class NearestDistance {
 public:
  explicit NearestDistance(const ObservedData& observed);  // from evaluated and pending designs

  // Returns the distance to the nearest design, or twice the distance to the nearest wall if that is less (a wall acts
  // as a mirror). Labels and whole numbers count in the models' coordinates and have no walls.
  double room(const Eigen::VectorXd& unit) const;
  double nearest(const Eigen::VectorXd& unit) const;

 private:
  const DesignSpace& space_;
  Eigen::MatrixXd at_;  // embedded
};

}  // namespace dodyn::surrogate
