// What hybrid.cpp and impacts.cpp share: when a gap is closed, and the forces of what is held.
#pragma once

#include "variational/hybrid.hpp"

namespace dodyn::variational {

inline constexpr double closed = 1e-10;       // m: gaps up to this are closed
inline constexpr double force_noise = 1e-11;  // of the forces that act: what counts as none

// Multipliers of what is held at a state, at the level of accelerations: G a + curvature = 0, M a = bias + B^T lambda.
struct ConstraintForces {
  Eigen::VectorXd lambda, acceleration, curvature;
  double scale = 0.0;
};
ConstraintForces balance(const Mechanics& mechanics, const HybridIntegrator::Held& held, const Eigen::VectorXd& q,
                         const Eigen::VectorXd& v);

}  // namespace dodyn::variational
