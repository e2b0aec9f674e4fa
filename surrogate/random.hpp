// Random numbers that are equal with every standard library. The engines of <random> are portable, its distributions
// are not.
#pragma once

#include <cmath>
#include <cstdint>
#include <numbers>
#include <random>

namespace dodyn::surrogate {

class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}
  std::uint64_t bits() { return engine_(); }
  double uniform() { return static_cast<double>(engine_() >> 11) * 0x1p-53; }  // uniform in [0, 1)
  int below(int n) { return static_cast<int>(uniform() * n); }                 // uniform in 0 .. n - 1
  double normal() {  // standard normal, by Box and Muller (1958)
    const double radius = std::sqrt(-2 * std::log(1 - uniform()));
    return radius * std::cos(2 * std::numbers::pi * uniform());
  }

 private:
  std::mt19937_64 engine_;
};

}  // namespace dodyn::surrogate
