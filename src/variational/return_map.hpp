// Periodic gaits of motions in pieces: fixed points of the map from one exchange to the next, and their multipliers.
#pragma once

#include <Eigen/Core>
#include <complex>
#include <string>
#include <vector>

#include "variational/hybrid.hpp"

namespace dodyn::variational {

struct GaitOptions {
  std::vector<int> travels;  // coordinates that a stride may move on: nothing depends on them
  int strides = 20;          // at most, that the motion takes by itself before the search
  double longest = 10.0;     // s: a stride that takes longer is none
  double tolerance = 1e-11;  // of a state and its image
  int max_iterations = 30;
};

struct Gait {
  std::string reason;  // empty: found
  Piece before;        // the state just before an exchange
  int exchange = -1;
  double period = 0.0;                            // s
  Eigen::VectorXd stride;                         // of each coordinate, from exchange to exchange
  Eigen::MatrixXd jacobian;                       // of the map on the section, [m x m]
  std::vector<std::complex<double>> multipliers;  // its eigenvalues, the largest first
  double miss = 0.0;                              // of the state and its image
  int strides = 0;                                // taken in all
};

// From the integrator's present state. The integrator is left at `before`. The Jacobian is one of central differences of
// order four, so that multipliers have about eight digits.
Gait find_gait(HybridIntegrator& integrator, const Assembly& assembly, const PieceOptions& steps,
               const GaitOptions& options);

}  // namespace dodyn::variational
