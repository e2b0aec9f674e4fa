// Scheduled contacts: rows of the optimisation, touching corners and edges, and energies of penalty contacts.
#pragma once

#include <utility>
#include <vector>

#include "dmoc/contact_rows.hpp"
#include "evaluators/motion/description.hpp"
#include "evaluators/motion/phased_motion.hpp"

namespace dodyn::evaluators {

dmoc::ContactEvent contact_event(const PhasedMotion& motion, const MotionContact& contact, const MotionValues& values);
// Returns restitution and friction of a contact; friction 1e6: it sticks without limit.
std::pair<double, double> bounce(const PhasedMotion& motion, const MotionContact& contact,
                                 const Eigen::VectorXd& design);
// Returns the indices of the part's link and of the shape's link.
std::pair<int, int> links_of(const PhasedMotion& motion, const MotionContact& contact);
// Adds the contacts to the system as penalty energies. Throws ConfigError.
void add_penalties(PhasedMotion& motion);
// Returns the overlap of a contact at each row of q, m; negative: minus the distance. q: coordinates without
// references, [rows, n].
Eigen::VectorXd depths(const PhasedMotion& motion, const MotionContact& contact, const Eigen::VectorXd& design,
                       const Eigen::MatrixXd& q);
// Returns for every contact the corner of the part that is lowest above the face at the contact's node, or the nearest
// edges; neither for a contact of a named point. Empty: contacts are penalties.
std::vector<TouchingFeature> touching(const PhasedMotion& motion, const MotionValues& values, const MotionPath& path);
// Changes a posture so that the contact's point, or the lowest corner, touches.
void touch(const PhasedMotion& motion, const MotionContact& contact, const MotionValues& values, Eigen::VectorXd& q);
// Adds the rows of the contacts, and the limits of the total durations of the phases that contacts split.
void add_contacts(const PhasedMotion& motion, TranscribedMotion& planned, const MotionValues& values,
                  const MotionPath& path);

}  // namespace dodyn::evaluators
