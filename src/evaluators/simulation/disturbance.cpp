#include "evaluators/simulation/disturbance.hpp"

#include <cmath>
#include <numbers>
#include <random>

namespace dodyn::evaluators::simulation {

template <int n>
DisturbanceField<n>::DisturbanceField(const Disturbance& disturbance, std::uint64_t seed) {
  if (disturbance.force == 0.0) return;
  std::mt19937_64 random(seed);
  // not from <random>, whose distributions differ between standard libraries
  const auto uniform = [&] { return static_cast<double>(random() >> 11) * 0x1p-53; };
  const auto normal = [&] {
    const double u = 1.0 - uniform(), v = uniform();
    return std::sqrt(-2.0 * std::log(u)) * std::cos(2.0 * std::numbers::pi * v);
  };
  const int count = 16;
  const double scale = disturbance.force * std::sqrt(2.0 / count);  // the mean square of a cosine is 1/2
  for (int i = 0; i < count; ++i) {
    Wave wave;
    const double around = 2.0 * std::numbers::pi * uniform();
    wave.number.template head<2>() << std::cos(around), std::sin(around);
    if constexpr (n == 3) {  // uniform on the sphere
      const double z = 2.0 * uniform() - 1.0;
      wave.number.template head<2>() *= std::sqrt(1.0 - z * z);
      wave.number[2] = z;
    }
    wave.number *= 2.0 * std::numbers::pi / disturbance.wave_length *
                   (0.5 + 0.5 * uniform());  // lengths from one to two wave_length
    wave.phase = 2.0 * std::numbers::pi * uniform();
    for (int c = 0; c < wave.amplitude.size(); ++c)
      wave.amplitude[c] = scale * (c >= n ? disturbance.arm : 1.0) * normal();
    waves_.push_back(wave);
  }
  // drawn last, so that steady fields do not change
  for (Wave& wave : waves_) wave.frequency = disturbance.time > 0.0 ? normal() / disturbance.time : 0.0;
}

template <int n>
rigid::Twist<n> DisturbanceField<n>::operator()(const rigid::Vector<n>& at, double t) const {
  rigid::Twist<n> sum = rigid::Twist<n>::Zero();
  for (const auto& wave : waves_)
    sum += std::cos(wave.number.dot(at) + wave.phase - wave.frequency * t) * wave.amplitude;
  return sum;
}

template class DisturbanceField<2>;
template class DisturbanceField<3>;

}  // namespace dodyn::evaluators::simulation
