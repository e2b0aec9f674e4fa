// Where nothing is known: designs far from all others, and from the walls by half as much, so that they do not pile up in
// the corners of the box.
#pragma once

#include <Eigen/Core>
#include <vector>

#include "surrogate/evidence.hpp"

namespace dodyn::surrogate {

// The distances of points of the unit cube to what is there.
class Crowd {
 public:
  explicit Crowd(const Evidence& evidence);  // told and pending designs

  // To the nearest design, or twice the distance to the nearest wall where that is less: a wall counts as a mirror.
  // Labels and whole numbers count in the coordinates that models see, and have no walls.
  double room(const Eigen::VectorXd& unit) const;
  double nearest(const Eigen::VectorXd& unit) const;

 private:
  const DesignSpace& space_;
  Eigen::MatrixXd at_;  // embedded
};

// Whether a point lies nearer to a design worth having than to one that is not (it failed, or is on the plateau): the
// edge between the two runs halfway, so that the best design on this side closes in on it by bisection, and slides
// along it.
class Edge {
 public:
  explicit Edge(const Evidence& evidence);
  bool inside(const Eigen::VectorXd& unit) const;
  bool exists() const { return bad_.cols() > 0 && good_.cols() > 0; }

 private:
  const DesignSpace& space_;
  Eigen::MatrixXd good_, bad_;  // embedded
};

}  // namespace dodyn::surrogate
