// Gait problems that several tests solve.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "dmoc/gait.hpp"
#include "nlp/solve.hpp"

namespace dodyn::dmoc {

// The source's planar walkers are free to fold their knees either way, as gait.joint-limits = none has them.
inline std::shared_ptr<const Walker> walker_of(const std::string& name, int order = 2) {
  systems::Model model = systems::find_model(name);
  if (model.dimension == 2) model.structure.ranges.clear();
  return std::make_shared<const Walker>(std::move(model), order);
}
// A walker whose tangent is with respect to the shank's length.
struct Design {
  std::shared_ptr<const Walker> walker;
  std::vector<Coefficient> numbers;
};
inline Design built_in(const std::string& name, double shank, int order = 2) {
  auto walker = walker_of(name, order);
  auto numbers = walker->numbers({{"knee", Coefficient(shank, 1.0)}});
  return {std::move(walker), std::move(numbers)};
}
// The source's masses, and 5 kg/m.
inline Design fixed_masses(double shank, int order = 2) { return built_in("planar-biped", shank, order); }
inline Design uniform(double shank) {
  auto walker = walker_of("planar-biped");
  const Coefficient knee(shank, 1.0);
  auto numbers = walker->numbers({{"knee", knee}, {"shank_mass", 5.0 * knee}, {"thigh_mass", 5.0 * (1.0 - knee)}});
  return {std::move(walker), std::move(numbers)};
}

inline WalkerGait gait_of(const Design& design, const GaitSettings& settings) {
  return WalkerGait(design.walker, design.numbers, settings);
}

// The largest difference of an angle to the gait's when the torques drive it forward from its first node, rad.
inline double reintegration_error(const WalkerGait& gait, const Eigen::VectorXd& x) {
  const MotionProblem& problem = gait.motion_problem();
  return problem.reintegrate(problem.motion(x));
}

// d cost / d design of the one design variable
inline double slope(const WalkerGait& gait, const Eigen::VectorXd& x, const Eigen::VectorXd& multipliers) {
  return gait.problem().design_gradient(x, multipliers, 1)(0);
}

// Expects the derivative of the Lagrangian with respect to the design to be that of differences. `gait_at`: step of the design
// variable -> gait.
template <class GaitAt>
void expect_exact_slope(const GaitAt& gait_at, const std::string& name) {
  const WalkerGait gait = gait_at(0.0);
  const Eigen::VectorXd x = gait.cold_start(5);
  const Eigen::VectorXd y = Eigen::VectorXd::LinSpaced(gait.problem().constraints(), -1.0, 1.3);
  const auto lagrangian = [&](double step) {
    const WalkerGait other = gait_at(step);
    Eigen::VectorXd c(y.size());
    other.problem().constraint_values(x, c);
    return other.problem().objective(x) + y.dot(c);
  };
  const double h = 1e-3;
  const double expected =
      (8.0 * (lagrangian(h) - lagrangian(-h)) - (lagrangian(2 * h) - lagrangian(-2 * h))) / (12.0 * h);
  EXPECT_NEAR(slope(gait, x, y), expected, 1e-7 * std::abs(expected)) << name;
}

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

inline nlp::Solution best_of(const WalkerGait& gait, int first_seed, int seeds, int iterations = 500) {
  nlp::Options options;
  options.max_iterations = iterations;
  nlp::Solution best;
  for (int seed = first_seed; seed < first_seed + seeds; ++seed) {
    auto s = nlp::solve(gait.problem(), gait.cold_start(static_cast<std::uint64_t>(seed)), options);
    if (s.status != nlp::SolveStatus::solved) continue;
    if (best.status != nlp::SolveStatus::solved || s.objective < best.objective) best = std::move(s);
  }
  return best;
}

}  // namespace dodyn::dmoc
