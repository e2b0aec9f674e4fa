// Disturbing forces that differ from start to start, as an uneven air table has them.
#pragma once

#include <cstdint>
#include <vector>

#include "rigid/world.hpp"

namespace dodyn::evaluators::simulation {

struct Disturbance {
  double force = 0.0;        // root mean square of each component, N
  double arm = 0.02;         // m: the torque is that of the force at this arm
  double wave_length = 0.3;  // least one in space, m
  int seed = 1;
};

// A smooth random force field, fixed in space: a sum of plane waves with random directions and phases.
template <int n>
class DisturbanceField {
 public:
  DisturbanceField() = default;  // none
  DisturbanceField(const Disturbance& disturbance, std::uint64_t seed);
  // On a body whose centre of mass is there.
  rigid::Twist<n> operator()(const rigid::Vector<n>& at) const;

 private:
  struct Wave {
    rigid::Vector<n> number;
    double phase;
    rigid::Twist<n> amplitude;
  };
  std::vector<Wave> waves_;
};

extern template class DisturbanceField<2>;
extern template class DisturbanceField<3>;

}  // namespace dodyn::evaluators::simulation
