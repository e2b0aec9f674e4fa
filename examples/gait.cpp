// The best gait of a walker, and what it would gain from a longer shank.
//
//   examples/gait            knee at 0.45 m
//   examples/gait 0.6        elsewhere, m above the foot
//
// A gait is the solution of a nonlinear program: the unknowns are the joint angles at the nodes of a time grid and the
// torques between them, the equations are discrete mechanics (docs/theory.md, "Optimal motions"). At the solution the
// derivative of the best cost with respect to the design comes for free, and that is what a design study lives on. The
// last step does not take it on trust: it solves the neighbours and takes differences.
#include "dmoc/gait.hpp"

#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "nlp/solve.hpp"

using namespace dodyn;

namespace {

// 1. The walker is a text, models/planar-biped.model. Numbers that are to be a design variable carry their derivative
//    with respect to it: `knee` is one, and the two masses follow from it (5 kg per metre of leg).
dmoc::WalkerGait gait_of(const std::shared_ptr<const dmoc::Walker>& walker, double knee_height) {
  const dmoc::Coefficient knee(knee_height, 1.0);
  dmoc::GaitSettings motion;
  motion.intervals = 40;
  motion.period = 0.9;          // s, one step
  motion.step_length = 0.56;    // m
  motion.squared_torque = 1.0;  // the cost: int u^2 dt / (weight * step length)
  return {walker, walker->numbers({{"knee", knee}, {"shank_mass", 5.0 * knee}, {"thigh_mass", 5.0 * (1.0 - knee)}}),
          motion};
}

}  // namespace

int main(int argc, char** argv) {
  const double knee = argc > 1 ? std::atof(argv[1]) : 0.45;
  const auto walker = std::make_shared<const dmoc::Walker>(systems::find_model("planar-biped"));
  const auto gait = gait_of(walker, knee);
  std::printf("%d unknowns, %d equations and inequalities\n", gait.problem().variables(), gait.problem().constraints());

  // 2. What a solver finds is a local optimum, so start it from several places and keep the best. A solver does not
  //    throw when it gets nowhere: it returns a status and a reason.
  nlp::Options options;
  options.push = dmoc::push_of_cold_start;
  nlp::Solution best;
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    const auto solution = nlp::solve(gait.problem(), gait.cold_start(seed), options);
    std::printf("start %d: cost %.6f, %d iterations, %s\n", static_cast<int>(seed), solution.objective,
                solution.iterations, solution.reason.c_str());
    if (solution.status != nlp::SolveStatus::solved) continue;
    if (best.status != nlp::SolveStatus::solved || solution.objective < best.objective) best = solution;
  }
  if (best.status != nlp::SolveStatus::solved) return 1;

  // 3. Judge the motion by itself, whatever the solver says: its torques, driven forward from the first node through
  //    touch-down, must lead to where it began; and what they work, touch-down takes, up to O(h^2).
  const dmoc::GaitReport report = gait.report(best.x);
  const dmoc::MotionProblem& problem = gait.motion_problem();
  const double reintegration_error = problem.reintegrate(problem.motion(best.x));
  std::printf(
      "best gait: largest torque %.2f N m, driven forward again within %.1e rad, work less impact loss %.2f J\n",
      report.max_torque, reintegration_error, report.energy_balance);

  // 4. The gradient of the optimal cost: one sweep at the solution.
  const double slope = gait.problem().design_gradient(best.x, best.multipliers, 1)(0);

  // 5. Solve both neighbours from this solution, multipliers included. The slope between them is the same number.
  const double d = 1e-4;
  const auto lower = nlp::solve(gait_of(walker, knee - d).problem(), best);
  const auto upper = nlp::solve(gait_of(walker, knee + d).problem(), best);
  const double difference = (upper.objective - lower.objective) / (2 * d);
  std::printf("d cost / d knee: %.6f per metre; by differences %.6f\n", slope, difference);

  const bool sound = reintegration_error < 1e-5 && std::abs(slope - difference) < 1e-4 * (1 + std::abs(slope));
  return sound ? 0 : 1;
}
