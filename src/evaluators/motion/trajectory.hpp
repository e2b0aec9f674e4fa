// The trajectory of a motion as its archive has it: channels, one row a node, phase after phase.
#pragma once

#include "dmoc/resample.hpp"
#include "evaluators/motion/description.hpp"

namespace dodyn::evaluators {

// Channels that every motion has, in their order; those of the description follow.
struct MotionChannel {
  enum : std::size_t { time, coordinates, momenta, controls, forces, energies, points, phase };
};

Channels motion_channels(const MotionDescription& description);

// Of a point of a problem on the description's mesh.
Trajectory read_off(const MotionDescription& mesh, const Eigen::VectorXd& design, const SolvedMotion& solved,
                    const dmoc::Motion& motion);

// At the nodes of a mesh with `stride` times fewer intervals; controls and energies are the mean of these.
Trajectory thinned(const MotionDescription& mesh, const Trajectory& fine, int stride);

// A guess from a neighbour's trajectory: about no reference, with its controls.
MotionPath path_from(const MotionDescription& mesh, const Trajectory& trajectory);
// The same, each phase mapped (dmoc/resample.hpp).
MotionPath mapped(const MotionPath& path, const std::function<dmoc::Sampled(const dmoc::Sampled&, std::size_t)>& map);

// What drive_continuously() takes.
std::vector<PlannedPhase> planned_phases(const MotionDescription& mesh, const Trajectory& trajectory);

// An archived motion as one to drive through the contact simulation. `archived`: channels as above. Throws ConfigError where
// something else is held than the first link's place. `loss`: kinetic energy that landings take, J.
PlannedMotion planned(const MotionDescription& description, const Outcome& archived, double loss);

}  // namespace dodyn::evaluators
