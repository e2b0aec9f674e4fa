// Vectors of Program::lanes numbers, and their sines and cosines.
#pragma once

#include <cmath>
#include <cstdint>

#include "autodiff/tape.hpp"

namespace dodyn::autodiff {

using Lanes = double __attribute__((vector_size(Program::lanes * sizeof(double)), may_alias));
using LaneBits = std::int64_t __attribute__((vector_size(Program::lanes * sizeof(double)), may_alias));

// Returns the sine (quarter = 0) or cosine (quarter = 1) of x within one unit in the last place, by additions and
// multiplications only. The digits do not depend on the C library, and eight values cost as much as two library calls.
// Reduction by multiples of pi/2 in three parts (Cody and Waite 1980, Software Manual for the Elementary Functions) to
// |r| <= pi/4, r + s with twice the digits. Then the polynomials of fdlibm (Sun Microsystems 1993, k_sin.c and
// k_cos.c). |x| <= 10^6 (see sine_reaches); the results of other lanes are meaningless.
[[gnu::always_inline]] inline void sine_of_lanes(const Lanes& x, int quarter, Lanes& to) {
  constexpr double two_over_pi = 6.36619772367581382433e-01;
  // pi/2 in three parts: the first two have 33 bits each, so their multiples up to 2^20 are exact
  constexpr double first = 1.57079632673412561417e+00, second = 6.07710050630396597660e-11,
                   third = 2.02226624879595063154e-21;
  // Adding and subtracting this number rounds to the nearest integer. The last bits of the sum are the integer's bits.
  constexpr double rounder = 0x1.8p52;
  const Lanes shifted = x * two_over_pi + rounder, multiple = shifted - rounder;
  const LaneBits turns = reinterpret_cast<const LaneBits&>(shifted) + quarter;
  const Lanes rough = x - multiple * first, next = multiple * second, rest = rough - next;
  const Lanes small = ((rough - rest) - next) - multiple * third;
  const Lanes r = rest + small, s = (rest - r) + small, z = r * r;

  const Lanes p =
      8.33333333332248946124e-03 +
      z * (-1.98412698298579493134e-04 +
           z * (2.75573137070700676789e-06 + z * (-2.50507602534068634195e-08 + z * 1.58969099521155010221e-10)));
  const Lanes sine = r - ((z * (0.5 * s - z * r * p) - s) + 1.66666666666666324348e-01 * (z * r));

  const Lanes c = z * (4.16666666666666019037e-02 +
                       z * (-1.38888888888741095749e-03 +
                            z * (2.48015872894767294178e-05 +
                                 z * (-2.75573143513906633035e-07 +
                                      z * (2.08757232129817482790e-09 + z * -1.13596475577881948265e-11)))));
  const Lanes half = 0.5 * z, leading = 1.0 - half;
  const Lanes cosine = leading + (((1.0 - leading) - half) + (z * c - r * s));

  const LaneBits odd = -(turns & 1), negative = (turns & 2) << 62;  // masks with all bits set, and the sign bit
  const LaneBits value =
      (odd & reinterpret_cast<const LaneBits&>(cosine)) | (~odd & reinterpret_cast<const LaneBits&>(sine));
  const LaneBits signed_value = value ^ negative;
  to = reinterpret_cast<const Lanes&>(signed_value);
}

// Returns whether sine_of_lanes is valid for a number. For others, including NaN, use the library.
inline bool sine_reaches(double x) { return std::abs(x) <= 1e6; }
// Returns whether it is valid for every lane.
[[gnu::always_inline]] inline bool sines_reach(const Lanes& x) {
  bool all = true;
  for (int l = 0; l < Program::lanes; ++l) all = all & sine_reaches(x[l]);
  return all;
}

}  // namespace dodyn::autodiff
