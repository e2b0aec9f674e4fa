#include "evaluators/motion/driven_guess.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

#include "dmoc/balance.hpp"
#include "evaluators/continuous.hpp"
#include "evaluators/motion/initial_guess.hpp"
#include "evaluators/motion/trajectory.hpp"

namespace dodyn::evaluators {

namespace {

constexpr int random_paths = 8;
// Factors of the controls. An actuator that moves other coordinates through the mechanism often needs less than the
// controls that balance the path.
constexpr double amplitudes[] = {1.0, 0.5, 0.25, 0.125};
// Actuators can follow a path if the best controls leave at most this fraction of the imbalance of its momenta.
constexpr double followed = 0.1;

// Limit of coordinates. Simulations of larger machines would take longer than the solution.
constexpr int most_coordinates = 12;

bool can_simulate(const PhasedMotion& motion) {
  const auto holds = [](const MotionPhase& phase) { return phase.holds.has_value(); };
  return motion.system->inputs() > 0 && motion.system->n() <= most_coordinates && motion.contacts.empty() &&
         !motion.periodic && motion.start.placements.empty() && motion.goal.placements.empty() &&
         motion.system->charts().empty() && !motion.system->directors() && std::ranges::none_of(motion.phases, holds);
}

// Adds a change to the coordinates, in proportion to the time, so that the end changes by `change`.
void drift(const PhasedMotion& motion, const Eigen::RowVectorXd& change, MotionPath& path) {
  const double whole = std::accumulate(path.duration.begin(), path.duration.end(), 0.0);
  double begin = 0.0;
  for (std::size_t i = 0; i < path.q.size(); ++i) {
    for (Eigen::Index k = 0; k < path.q[i].rows(); ++k) {
      const double share = motion.system->scheme().position(k) / motion.phases[i].intervals;
      path.q[i].row(k) += (begin + path.duration[i] * share) / whole * change;
    }
    begin += path.duration[i];
  }
}

}  // namespace

MotionPath driven_path(const MotionDescription& mesh, const PhasedMotion& motion, const Eigen::VectorXd& design,
                       const std::function<MotionPath(int)>& random_path) {
  MotionPath best = random_path(0);
  if (!can_simulate(motion)) return best;
  Eigen::VectorXd rates = Eigen::VectorXd::Constant(mesh.system().n(), not_a_number);
  const MotionValues all = motion_values(motion, design);
  for (const GivenCoordinate& g : motion.start.given)
    if (g.rate) rates(g.coordinate) = all.evaluated(g.value).value;
  double nearest = std::numeric_limits<double>::infinity();
  for (int number = 0; number < random_paths; ++number) {
    const MotionPath path = number == 0 ? best : random_path(number);
    SolvedMotion balanced{mesh.plan(design, path), {}, 0};
    const dmoc::MotionProblem& problem = balanced.planned.problem;
    const Eigen::VectorXd x = mesh.start(balanced.planned, path);
    balanced.solution.x = dmoc::with_balancing_forces(problem, x);
    if (dmoc::imbalance(problem, balanced.solution.x) <= followed * dmoc::imbalance(problem, x)) {
      if (number == 0) return best;
      continue;
    }
    const Trajectory guessed = read_off(mesh, design, balanced, problem.motion(balanced.solution.x));
    const auto phases = planned_phases(mesh, guessed, problem);
    if (phases.size() != path.q.size()) return best;
    for (const double amplitude : amplitudes) {
      auto driven = phases;
      for (PlannedPhase& phase : driven) phase.u *= amplitude;
      auto q = simulate_controls(mesh.system(), autodiff::values_of(problem.numbers()), driven, rates);
      if (q.empty()) continue;
      Eigen::RowVectorXd missed = Eigen::RowVectorXd::Zero(mesh.system().n());
      for (const GivenCoordinate& g : motion.goal.given)
        if (!g.rate)
          missed(g.coordinate) =
              path.q.back()(path.q.back().rows() - 1, g.coordinate) - q.back()(q.back().rows() - 1, g.coordinate);
      if (!(missed.norm() < nearest)) continue;
      nearest = missed.norm();
      best = path;
      best.q = std::move(q);
      best.controls.clear();
      for (PlannedPhase& phase : driven) best.controls.push_back(std::move(phase.u));
      drift(motion, missed, best);
    }
  }
  move_into_ranges(motion, all, best);
  return best;
}

}  // namespace dodyn::evaluators
