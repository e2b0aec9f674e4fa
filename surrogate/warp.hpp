// A monotone map of costs that compresses what lies far above the least one:
//   (1) w(y) = width log(1 + (y - least) / width) for y >= least,  y - least below,
// with slope 1 at the least cost, so an improvement there keeps its size. Infinite width: no compression.
#pragma once

#include <cmath>
#include <limits>

namespace dodyn::surrogate {

struct Warp {
  double least = 0, width = std::numeric_limits<double>::infinity();

  bool identity() const { return std::isinf(width); }
  double forward(double y) const {
    const double t = y - least;
    return identity() || t < 0 ? t : width * std::log1p(t / width);
  }
  double slope(double y) const {
    const double t = y - least;
    return identity() || t < 0 ? 1 : 1 / (1 + t / width);
  }
  double backward(double w) const { return least + (identity() || w < 0 ? w : width * std::expm1(w / width)); }
};

}  // namespace dodyn::surrogate
