// A monotone map of costs that compresses costs far above the minimum:
//   (1) w(y) = width log(1 + (y - least) / width) for y >= least,  y - least below,
// with slope 1 at the minimum, so that improvements there keep their size. For a quantity with a limit, values near the
// limit matter most. So values on both sides are compressed, with slope 1 at the limit, which is stored as `least`:
//   (2) w(y) = width asinh((y - limit) / width).
// Infinite width: no compression.
#pragma once

#include <cmath>
#include <limits>

namespace dodyn::surrogate {

struct Warp {
  double least = 0, width = std::numeric_limits<double>::infinity();
  bool either_side = false;  // use (2), not (1)

  bool identity() const { return std::isinf(width); }
  double forward(double y) const {
    const double t = y - least;
    if (identity()) return t;
    if (either_side) return width * std::asinh(t / width);
    return t < 0 ? t : width * std::log1p(t / width);
  }
  double slope(double y) const {
    const double t = y - least;
    if (identity()) return 1;
    if (either_side) return 1 / std::hypot(1, t / width);
    return t < 0 ? 1 : 1 / (1 + t / width);
  }
  double backward(double w) const {
    if (identity()) return least + w;
    if (either_side) return least + width * std::sinh(w / width);
    return least + (w < 0 ? w : width * std::expm1(w / width));
  }
};

}  // namespace dodyn::surrogate
