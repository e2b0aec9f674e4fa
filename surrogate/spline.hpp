// The "spline" of surrogate optimisation, for one free variable: a cubic spline through all samples, the next
// sample at its minimum, until a new sample changes the best cost by less than a set relative amount.
//
// Source: D. N. Pekarek, Variational Methods for Control and Design of Bipedal Robot Models, PhD thesis, Caltech
// (2010), sections 5.2 and 5.3. The plain rule has two faults, guarded here: a spline through two points is a line, and
// a new sample that is no improvement at all changes the best cost by nothing without being at the optimum. So:
//   1. `initial_samples` equidistant designs, both bounds among them.
//   2. Fit: the natural spline through values, or with `gradient` the Hermite spline through values and gradients.
//   3. The target is the spline's exact minimum over the bounds, kept away from failed designs: a run of failed designs
//      forbids everything up to halfway to the neighbouring good ones, so an optimum beyond a failing region is
//      approached by bisection. The natural spline creeps up on a minimum from one side, halving the distance each
//      time; where the target moves on in the direction of the last improvement, the sample goes twice as far and
//      brackets it.
//   4. Settled when the target is the best sample we have; or when the last sample, put at a target, came within
//      `tolerance` of the best cost and the refitted spline promises no more than that; or, with gradients, when the
//      gradient at the best sample times the distance to the target is below it.
//   5. Stop when settled, with four good samples at least, if a second opinion agrees: the parabola through the best
//      sample and its neighbours with a bound on its error (at a bound the natural spline is blind to the curvature),
//      or for the Hermite spline at a bound the sign of the gradient. Otherwise a sample in the larger gap beside the
//      best.
// Step by step no two designs closer than `design_tolerance` are asked, so noise below it is not chased. The optimum
// found is a local one: more initial samples look wider.
#pragma once

#include <memory>

#include "surrogate/strategy.hpp"

namespace dodyn::surrogate {

struct SplineOptions {
  int initial_samples = 3;  // >= 2
  double tolerance = 1e-7;  // of the best cost's magnitude; > 0. A larger standard error of that cost replaces it
  double design_tolerance = 3e-4;  // of the variable's range; in (0, 0.1]. The square root of `tolerance` resolves it
  int max_failures = 10;           // evaluations without a usable cost before giving up; >= 1
  bool gradient = false;           // Hermite spline; falls back to the natural one while a good sample lacks a gradient
};

// Throws std::invalid_argument on a variable without a range or an option out of range.
std::unique_ptr<Strategy> make_spline(const Variable& variable, const SplineOptions& options);

// The keys of [surrogate] that fill the options.
const KeyTable<SplineOptions>& spline_keys();

}  // namespace dodyn::surrogate
