// Finds periodic gaits of hybrid motions: fixed points of the return map from one reset to the next, and their
// Floquet multipliers.
#pragma once

#include <Eigen/Core>
#include <complex>
#include <string>
#include <vector>

#include "variational/hybrid.hpp"

namespace dodyn::variational {

struct GaitOptions {
  std::vector<int> translating_coordinates;  // may change over a stride: the dynamics do not depend on them
  int strides = 20;                          // maximum number of strides that are simulated before the search
  double max_period = 10.0;                  // maximum duration of a stride, s
  double tolerance = 1e-11;                  // on the difference between a state and its image
  int max_iterations = 30;                   // limit on Newton iterations
};

struct Gait {
  std::string reason;                             // why no gait was found; empty: found
  HybridState before;                             // the state just before a reset
  int reset = -1;                                 // index of that reset
  double period = 0.0;                            // s
  Eigen::VectorXd stride;                         // change of each coordinate from reset to reset
  Eigen::MatrixXd jacobian;                       // Jacobian of the return map on the section, [m, m]
  std::vector<std::complex<double>> multipliers;  // eigenvalues of the Jacobian, the largest modulus first
  double miss = 0.0;                              // max-norm of the difference between the state and its image
  int strides = 0;                                // total number of strides computed
};

// Searches from the integrator's current state by Newton's method. On success the integrator is then at `before`, at
// time 0; otherwise at any state. `steps`: options of the integrator. The Jacobian is from central differences of
// fourth order, so the multipliers have about eight digits.
Gait find_gait(HybridIntegrator& integrator, const Assembly& assembly, const IntegratorOptions& steps,
               const GaitOptions& options);

}  // namespace dodyn::variational
