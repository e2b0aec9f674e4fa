// The trajectory of a motion in the form of its archive: channels with one row per knot (dmoc/scheme.hpp), phase after
// phase.
#pragma once

#include "dmoc/resample.hpp"
#include "evaluators/motion/description.hpp"

namespace dodyn::evaluators {

// Indices of the channels of every motion. Channels of the description follow.
struct MotionChannel {
  enum : std::size_t { time, coordinates, momenta, controls, forces, energies, points, phase };
};

Channels motion_channels(const MotionDescription& description);

// Returns the trajectory of a solution on the description's mesh.
Trajectory read_off(const MotionDescription& mesh, const Eigen::VectorXd& design, const SolvedMotion& solved,
                    const dmoc::Motion& motion);

// Returns the trajectory on a mesh with 1/stride of the intervals. Controls and energies are averaged.
Trajectory thinned(const MotionDescription& mesh, const Trajectory& fine, int stride);

// Returns an initial guess from the trajectory of another design, with its controls and without references.
MotionPath path_from(const MotionDescription& mesh, const Trajectory& trajectory);
// Applies `map` (phase, index of the phase) to each phase of a path, such as a map of dmoc/resample.hpp.
MotionPath mapped(const MotionPath& path, const std::function<dmoc::Sampled(const dmoc::Sampled&, std::size_t)>& map);

// Returns the phases for drive_continuously(). `problem`: any mesh of the motion; for its holds.
std::vector<PlannedPhase> planned_phases(const MotionDescription& mesh, const Trajectory& trajectory,
                                         const dmoc::MotionProblem& problem);

// Returns the channels of the feedback: gains, feedforward and rates, with one row per knot.
Channels feedback_channels(const MotionDescription& description);
// Returns the values of feedback_channels() for a trajectory on the description's mesh. Deviations of fixed coordinates
// have zero gains. Missing values are NaN.
std::vector<Eigen::MatrixXd> feedback_values(const MotionDescription& mesh, const Trajectory& trajectory,
                                             const dmoc::MotionProblem& problem);

// Returns an archived motion as a plan for the contact simulation. `archived`: its channels are motion_channels().
// Throws ConfigError if a phase fixes anything except the first link's position, or if the order is 6. `loss`: kinetic
// energy lost at touch-downs, J; used if exactly one phase ends with a touch-down.
PlannedMotion planned(const MotionDescription& description, const Outcome& archived, double loss);

}  // namespace dodyn::evaluators
