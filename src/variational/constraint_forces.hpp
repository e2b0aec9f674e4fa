// Shared by hybrid.cpp and impacts.cpp: the closed state of a gap, and the constraint forces of a mode.
#pragma once

#include "variational/hybrid.hpp"

namespace dodyn::variational {

inline constexpr double closed = 1e-10;       // m (or rad): a gap of at most this is closed
inline constexpr double force_noise = 1e-11;  // relative to the applied forces: a constraint force below this is zero

// Multipliers lambda of the held rows and acceleration a: G a + curvature = 0, M a = bias + B^T lambda.
struct ConstraintForces {
  Eigen::VectorXd lambda;        // [held], N
  Eigen::VectorXd acceleration;  // [n]
  Eigen::VectorXd curvature;     // of all rows, see Mechanics::State
  double scale = 0.0;            // max-norm of the bias, N
};
// Computes the constraint forces at (q, v).
ConstraintForces constraint_forces(const Mechanics& mechanics, const HybridIntegrator::ActiveRows& held,
                                   const Eigen::VectorXd& q, const Eigen::VectorXd& v);

}  // namespace dodyn::variational
