// Finds the root of a function of one variable between two points of opposite signs.
#pragma once

#include <algorithm>
#include <cmath>

namespace dodyn::variational {

// Returns the root to round-off, by Chandrupatla's method (1997) with a secant as the first step. The method uses
// inverse quadratic interpolation if that is safe, otherwise bisection. fa, fb: values at a and b. If they have the
// same sign, returns the end with the smaller absolute value.
template <class F>
double located_root(F f, double a, double fa, double b, double fb) {
  if (fa == 0.0) return a;
  if (fb == 0.0 || (fa > 0.0) == (fb > 0.0)) return fb == 0.0 || std::abs(fb) < std::abs(fa) ? b : a;
  double x1 = a, f1 = fa, x2 = b, f2 = fb, t = std::clamp(fa / (fa - fb), 1e-6, 1.0 - 1e-6);
  const double finest = 1e-16 * std::abs(b - a), small = 1e-12 * std::max(std::abs(fa), std::abs(fb));
  double nearest = std::abs(fa) < std::abs(fb) ? a : b, size = std::min(std::abs(fa), std::abs(fb));
  for (int iteration = 0; iteration < 200; ++iteration) {
    const double x = x1 + t * (x2 - x1), y = f(x);
    // A value that no longer decreases although the steps should reduce it is the function's round-off.
    const bool rounding = size <= small && std::abs(y) > 0.25 * size;
    if (std::abs(y) < size) nearest = x, size = std::abs(y);
    if (rounding) return nearest;
    double x3 = x1, f3 = f1;
    if ((y > 0.0) != (f1 > 0.0)) {
      x3 = x2;
      f3 = f2;
      x2 = x1;
      f2 = f1;
    }
    x1 = x;
    f1 = y;
    const double best = std::abs(f1) < std::abs(f2) ? x1 : x2;
    const double min_fraction = (4e-16 * std::abs(best) + finest) / std::abs(x2 - x1);
    if (f1 == 0.0) return x1;
    if (!(min_fraction < 0.5)) return best;
    const double xi = (x1 - x2) / (x3 - x2), phi = (f1 - f2) / (f3 - f2);
    const bool smooth = phi * phi < xi && (1.0 - phi) * (1.0 - phi) < 1.0 - xi;
    t = smooth ? f1 / (f2 - f1) * f3 / (f2 - f3) + (x3 - x1) / (x2 - x1) * f1 / (f3 - f1) * f2 / (f3 - f2) : 0.5;
    if (smooth && t < min_fraction) return x1;  // the next step would not change x1
    t = std::clamp(t, min_fraction, 1.0 - min_fraction);
  }
  return x1;
}

}  // namespace dodyn::variational
