// A local descent beside the global model: a quadratic model of the evaluations about the best design, and its minimum
// in a trust region.
//
// The model goes through the best design. Weighted least squares over the other evaluations give its slope and
// curvature. Near evaluations count most, in few variables by distances in the metric of the curvature. Every
// evaluation of the study may count. Where too few evaluations determine the curvature, a wide prior chooses a small
// one. The next step is the minimum of the model in the region. If no gain is predicted there, the step goes where the
// posterior of the coefficients leaves room for a gain. If there is no such point, the descent has converged.
//
// If the best design has a gradient, the model is that of quasi_newton.hpp instead. Its minimum in the region is the
// next step; the region follows the ratio of the actual to the predicted gain. Every evaluation with a gradient counts.
// So the model needs no memory of the descent's path, and fits the basin of the best design when that changes. The
// descent has converged when a few steps with an insignificant predicted gain had none.
//
// Sources: A. Conn, K. Scheinberg, L. Vicente, Introduction to derivative-free optimization (2009), for models by least
// squares in a trust region; M. Powell, The BOBYQA algorithm (2009), for the minimum Frobenius norm.
#pragma once

#include <Eigen/Core>
#include <vector>

#include "surrogate/bounded_search.hpp"
#include "surrogate/observed_data.hpp"

namespace dodyn::surrogate {

// Options of the model without gradients. The defaults are for few variables, where evaluations soon determine each
// curvature.
struct DescentOptions {
  double first_radius = 0.1;  // relative to the range
  double shrinkage = 0.8;     // factor on the radius after a step that gains too little
  double equal = 0;           // relative to the radius: nearer evaluations count equally
  double prior = 1;           // factor on the prior standard deviations of the coefficients
  int fits = 3;               // number of fits: the first with distances in the unit cube, each further one in the
                              // metric of the fit before it
};
// For `trust-region`, which `auto` takes from ten variables on. Many steps pass before the curvatures are known. Until
// then the metric of the last fit misleads, and a region that shrinks soon does not help. Chosen on instances 1 to 3 of
// BBOB in ten variables (docs/measured/bbob.md).
inline constexpr DescentOptions many_variables = {
    .first_radius = 0.2, .shrinkage = 0.9, .equal = 0.5, .prior = 1000, .fits = 1};

class LocalDescent {
 public:
  LocalDescent() = default;
  explicit LocalDescent(const DescentOptions& options) : options_(options) {}

  struct Step {
    Eigen::VectorXd at;     // proposed design, in the unit cube; empty: the descent has converged at the best design
    double gain = 0;        // predicted gain, in the unit of the cost; for an exploring step without gradients: the
                            // possible gain within the model's error
    double length = 0;      // largest change of a variable, relative to the radius of the region
    bool explores = false;  // the model predicts a gain below least_gain; without gradients the step goes where the
                            // model's error leaves room for a gain
    bool by_gradients = false;
  };

  // Returns the next step from the best design. Real variables move; the others stay. `least_gain`: a smaller gain does
  // not matter. `gradient`: whether gradients count. `at_most_zero`: conditions on points of the unit cube; without
  // gradients the step satisfies them.
  Step step(const ObservedData& observed, double least_gain, bool gradient = false,
            const std::vector<Smooth>& at_most_zero = {}) const;

  // Processes an evaluation. `step`: the step that proposed the design; empty if another rule has chosen the design.
  // `gain`: by how much the best cost fell.
  void observe(const ObservedData& observed, const Step& step, double gain, double least_gain);

 private:
  Step step_by_gradients(const ObservedData& observed, const Evaluation& best, const std::vector<Eigen::Index>& free,
                         double least_gain) const;

  DescentOptions options_;
  double radius_ = options_.first_radius;
  int stalled_ = 0;         // exploring steps since the last significant gain
  Eigen::VectorXd centre_;  // best design at the last observe(), in the unit cube; empty: none yet
};

}  // namespace dodyn::surrogate
