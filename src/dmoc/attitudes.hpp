// Attitudes of spherical joints, in the joint's parent frame, and their angles relative to references.
#pragma once

#include <Eigen/Core>
#include <vector>

#include "dmoc/system.hpp"

namespace dodyn::dmoc {

class Attitudes {
 public:
  explicit Attitudes(const System& system) : system_(&system) {}

  // Returns the attitude of chart `c` (an index in system.charts()) at coordinates q, [n].
  Eigen::Matrix3d rotation(std::size_t c, const Eigen::VectorXd& q, const Reference& reference) const;
  // Sets the angles of chart `c` in q to an attitude.
  void set(std::size_t c, const Eigen::Matrix3d& rotation, const Reference& reference, Eigen::VectorXd& q) const;
  // Converts coordinates to other references.
  Eigen::VectorXd moved(const Eigen::VectorXd& q, const Reference& from, const Reference& to) const;
  // Returns the references at which all angles are zero.
  Reference at(const Eigen::VectorXd& q, const Reference& reference) const;
  // Interpolates between two postures at the fraction s, relative to `from`. Slides and hinges move at a constant rate.
  // Spherical joints rotate about the axis that leads from one attitude to the other.
  Eigen::VectorXd between(const Eigen::VectorXd& q, const Reference& from, const Eigen::VectorXd& next,
                          const Reference& to, double s) const;
  // Converts momenta: those of charts' angles become components along the axes of the joint's parent frame.
  Eigen::VectorXd along_axes(const Eigen::VectorXd& p, const Eigen::VectorXd& q, const Reference& reference) const;
  // The inverse of along_axes().
  Eigen::VectorXd about_angles(const Eigen::VectorXd& p, const Eigen::VectorXd& q, const Reference& reference) const;

 private:
  const System* system_;
};

// Returns references for a path, and converts q, given without references, to them. Nodes share the attitude of an
// earlier node as reference until a chart has turned by 1 rad from it.
std::vector<Reference> references_along(const System& system, Eigen::MatrixXd& q, Reference first = nullptr);

}  // namespace dodyn::dmoc
