// Attitudes of joints of three turns, in the frame that the joint stands in, and their angles about references.
#pragma once

#include <Eigen/Core>
#include <vector>

#include "dmoc/system.hpp"

namespace dodyn::dmoc {

class Attitudes {
 public:
  explicit Attitudes(const System& system) : system_(&system) {}

  // Of chart `c` (a place in system.charts()) at coordinates q, [n].
  Eigen::Matrix3d rotation(std::size_t c, const Eigen::VectorXd& q, const Reference& reference) const;
  // Sets the angles of chart `c` in q to those of an attitude.
  void set(std::size_t c, const Eigen::Matrix3d& rotation, const Reference& reference, Eigen::VectorXd& q) const;
  // The coordinates with other references.
  Eigen::VectorXd moved(const Eigen::VectorXd& q, const Reference& from, const Reference& to) const;
  // References at which all angles are zero.
  Reference at(const Eigen::VectorXd& q, const Reference& reference) const;
  // A share s of the way from one posture to another, about `from`: slides and hinges go at a steady rate, and joints of
  // three turns about the axis that leads from one attitude to the other.
  Eigen::VectorXd between(const Eigen::VectorXd& q, const Reference& from, const Eigen::VectorXd& next,
                          const Reference& to, double s) const;
  // Momenta with those of charts' angles replaced by the components along the axes that the joints stand in.
  Eigen::VectorXd along_axes(const Eigen::VectorXd& p, const Eigen::VectorXd& q, const Reference& reference) const;
  // The inverse of it.
  Eigen::VectorXd about_angles(const Eigen::VectorXd& p, const Eigen::VectorXd& q, const Reference& reference) const;

 private:
  const System* system_;
};

// References for a path, rows of q about none: the attitude of a node serves until a chart has turned by a radian. Turns
// the rows of q to be about them.
std::vector<Reference> references_along(const System& system, Eigen::MatrixXd& q, Reference first = nullptr);

}  // namespace dodyn::dmoc
