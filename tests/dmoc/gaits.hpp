// Gait problems that several tests solve.
#pragma once

#include "dmoc/gait.hpp"
#include "nlp/solve.hpp"
#include "systems/planar_biped.hpp"

namespace dodyn::dmoc {

using Biped = systems::PlanarBiped<Coefficient>;
using PlanarGait = Gait<systems::PlanarBiped>;

// The source's masses; the tangent is with respect to the shank's length.
inline Biped fixed_masses(double shank) {
  return Biped::with_masses(Coefficient(shank, 1.0), Coefficient(1.0), {2.0, 3.0, 3.0, 2.0});
}
inline Biped uniform(double shank) { return Biped::with_density(Coefficient(shank, 1.0), Coefficient(1.0), 5.0); }

// Absolute work with everything that makes it a well-posed problem.
inline GaitSettings bounded_work(int intervals) {
  GaitSettings s;
  s.intervals = intervals;
  s.absolute_work = 1.0;
  s.squared_torque = 0.02;
  s.torque_limit = 20.0;
  s.friction = 0.8;
  return s;
}

inline nlp::Solution best_of(const PlanarGait& gait, int first_seed, int seeds) {
  nlp::Options options;
  options.max_iterations = 500;
  nlp::Solution best;
  for (int seed = first_seed; seed < first_seed + seeds; ++seed) {
    auto s = nlp::solve(gait.problem(), gait.cold_start(static_cast<std::uint64_t>(seed)), options);
    if (s.status != nlp::SolveStatus::solved) continue;
    if (best.status != nlp::SolveStatus::solved || s.objective < best.objective) best = std::move(s);
  }
  return best;
}

}  // namespace dodyn::dmoc
