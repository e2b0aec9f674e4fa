// Disturbing forces that differ between initial states, such as the forces of an uneven air table.
#pragma once

#include <cstdint>
#include <vector>

#include "rigid/world.hpp"

namespace dodyn::evaluators::simulation {

struct Disturbance {
  double force = 0.0;        // root mean square of each component, N
  double arm = 0.02;         // lever arm, m: torque = force times arm
  double wave_length = 0.3;  // smallest wave length in space, m
  double time = 0.0;         // correlation time, s; 0: the field is steady
  int seed = 1;
};

// A smooth random force field: a sum of plane waves with random directions and phases. They are steady, or travel with
// random frequencies, so that forces at one point are correlated as exp(-(t/time)^2/2).
template <int n>
class DisturbanceField {
 public:
  DisturbanceField() = default;  // no field
  DisturbanceField(const Disturbance& disturbance, std::uint64_t seed);
  // Returns the wrench on a body with this centre of mass at time t (s).
  rigid::Twist<n> operator()(const rigid::Vector<n>& at, double t = 0.0) const;

 private:
  struct Wave {
    rigid::Vector<n> number;
    double phase, frequency;
    rigid::Twist<n> amplitude;
  };
  std::vector<Wave> waves_;
};

extern template class DisturbanceField<2>;
extern template class DisturbanceField<3>;

}  // namespace dodyn::evaluators::simulation
