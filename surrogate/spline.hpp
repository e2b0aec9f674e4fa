// Surrogate optimisation by a spline, for one free variable. Each new sample is at the minimum of a cubic spline
// through all samples, until a new sample changes the best cost by less than a relative tolerance.
//
// Source: D. N. Pekarek, Variational Methods for Control and Design of Bipedal Robot Models, PhD thesis, Caltech
// (2010), sections 5.2 and 5.3. The plain rule has two faults: a spline through two points is a line, and a new sample
// without improvement does not change the best cost although it may be far from the optimum. Therefore:
//   1. `initial_samples` equidistant designs, both bounds among them.
//   2. Fit: the natural spline through values, or with `gradient` the Hermite spline through values and gradients.
//   3. The target is the spline's exact minimum over the bounds, kept away from failed designs: a run of failed designs
//      forbids everything up to halfway to the neighbouring good ones, so an optimum beyond a failing region is
//      approached by bisection. The natural spline approaches a minimum from one side and halves the distance each
//      time. If the target moves on in the direction of the last improvement, the sample goes further and
//      brackets the minimum.
//   4. Settled if the target is the best sample. Settled too if the last sample, at a target, is within `tolerance` of
//      the best cost and the refitted spline predicts no larger gain. With gradients also: if the gradient at the best
//      sample times the distance to the target is below `tolerance`.
//   5. Stop if settled, with at least four good samples, and if an independent test agrees. The test uses the parabola
//      through the best sample and its neighbours with a bound on its error (at a bound the natural spline has no
//      curvature), or for the Hermite spline at a bound the sign of the gradient. Otherwise sample the larger gap
//      beside the best.
// Designs are at least `design_tolerance` apart, so noise below this scale has no effect. The optimum found is a local
// one. More initial samples make the search wider.
#pragma once

#include <memory>

#include "surrogate/strategy.hpp"

namespace dodyn::surrogate {

struct SplineOptions {
  int initial_samples = 3;         // >= 2
  double tolerance = 1e-7;         // relative to the best cost; > 0. A larger standard error of that cost replaces it
  double design_tolerance = 3e-4;  // relative to the variable's range; in (0, 0.1]. Choose about the square root of
                                   // `tolerance`
  int max_failures = 10;           // evaluations without a usable cost after which the search gives up; >= 1
  bool gradient = false;           // Hermite spline; the natural one as long as a good sample has no gradient
};

// Throws std::invalid_argument if the variable has no range, or an option is out of range.
std::unique_ptr<Strategy> make_spline(const Variable& variable, const SplineOptions& options);

// The keys of [surrogate] that fill the options.
const KeyTable<SplineOptions>& spline_keys();

}  // namespace dodyn::surrogate
