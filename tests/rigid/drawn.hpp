// Numbers and shapes that several tests draw.
#pragma once

#include <random>

#include "geometry/polytope.hpp"
#include "rigid/world.hpp"

namespace dodyn::rigid {

class Random {
 public:
  explicit Random(unsigned seed) : engine_(seed) {}
  // Returns a number in [-1, 1).
  double operator()() { return uniform_(engine_); }
  template <int rows>
  Vector<rows> vector(double scale = 1.0) {
    Vector<rows> v;
    for (int i = 0; i < rows; ++i) v[i] = scale * uniform_(engine_);
    return v;
  }

 private:
  std::mt19937 engine_;
  std::uniform_real_distribution<double> uniform_{-1.0, 1.0};
};

// Returns a square or a cube.
template <int n>
geometry::Polytope<n> cube_shape(double side) {
  if constexpr (n == 2)
    return geometry::rectangle(side, side);
  else
    return geometry::box(side, side, side);
}

}  // namespace dodyn::rigid
