// Contacts on schedule: their rows, their touching corners and edges, and their energies if they are penalties.
#pragma once

#include <utility>
#include <vector>

#include "dmoc/contact_rows.hpp"
#include "evaluators/motion/description.hpp"
#include "evaluators/motion/phased_motion.hpp"

namespace dodyn::evaluators {

dmoc::ContactEvent contact_event(const PhasedMotion& motion, const MotionContact& contact, const MotionValues& values);
// Returns restitution and friction of a contact; infinite friction: it sticks without limit.
std::pair<double, double> bounce(const PhasedMotion& motion, const MotionContact& contact,
                                 const Eigen::VectorXd& design);
// Returns the links of the part and of the shape.
std::pair<int, int> links_of(const PhasedMotion& motion, const MotionContact& contact);
// Adds the contacts to the system as penalty energies. Throws ConfigError.
void add_penalties(PhasedMotion& motion);
// Returns the overlap of a contact at each row of coordinates without references, m.
Eigen::VectorXd depths(const PhasedMotion& motion, const MotionContact& contact, const Eigen::VectorXd& design,
                       const Eigen::MatrixXd& q);
// Returns for every contact the lowest corner of the part at its node, or the nearest edges.
std::vector<TouchingFeature> touching(const PhasedMotion& motion, const MotionValues& values, const MotionPath& path);
// Changes a posture so that the contact's point, or the lowest corner, touches.
void touch(const PhasedMotion& motion, const MotionContact& contact, const MotionValues& values, Eigen::VectorXd& q);
// Adds the rows of the contacts, and the limits of the total durations of the phases that contacts split.
void add_contacts(const PhasedMotion& motion, TranscribedMotion& planned, const MotionValues& values,
                  const MotionPath& path);

}  // namespace dodyn::evaluators
