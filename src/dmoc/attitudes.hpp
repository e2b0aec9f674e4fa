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
  // Sets the angles of chart `c` in q such that its attitude is `rotation`.
  void set(std::size_t c, const Eigen::Matrix3d& rotation, const Reference& reference, Eigen::VectorXd& q) const;
  // Returns q, relative to `from`, converted to angles relative to `to`.
  Eigen::VectorXd moved(const Eigen::VectorXd& q, const Reference& from, const Reference& to) const;
  // Returns the attitudes of posture q as references. Relative to them, all angles of charts are zero.
  Reference at(const Eigen::VectorXd& q, const Reference& reference) const;
  // Interpolates between two postures at the fraction s, relative to `from`. Slides and hinges move at a constant rate.
  // Spherical joints rotate about the axis that leads from one attitude to the other.
  Eigen::VectorXd between(const Eigen::VectorXd& q, const Reference& from, const Eigen::VectorXd& next,
                          const Reference& to, double s) const;
  // Converts momenta p: the momenta of charts' angles become components along the axes of the joint's parent frame.
  Eigen::VectorXd along_axes(const Eigen::VectorXd& p, const Eigen::VectorXd& q, const Reference& reference) const;
  // Inverts along_axes(): returns the momenta of the charts' angles.
  Eigen::VectorXd about_angles(const Eigen::VectorXd& p, const Eigen::VectorXd& q, const Reference& reference) const;

 private:
  const System* system_;
};

// Returns one reference per row of a path q, and converts q to these references. On entry, q is relative to
// no_reference(). A node shares the reference of the node before, unless a chart has turned by 1 rad or more from it;
// then the node's own attitude is the new reference. `first`: reference of the first node; null: its own attitude.
// Without charts: returns an empty list, and q does not change.
std::vector<Reference> references_along(const System& system, Eigen::MatrixXd& q, Reference first = nullptr);

}  // namespace dodyn::dmoc
