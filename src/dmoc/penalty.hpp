// Penalty contact instead of an event: an energy of overlap in the discrete Lagrangian (Johnson 2013, section 4.4.1).
//
//   V = sum over corners of C/2 s(d)^2,   s(d) = (d + sqrt(d^2 + w^2))/2,
//
// d: depth of a corner of the part, or of the named point, behind the plane of the face. In (3.38) s = max(d, 0), whose
// slope jumps at contact; w smooths it. At a distance |d| >> w in front of the plane the force is C w^4/(16 |d|^3).
#pragma once

#include "dmoc/contact_rows.hpp"

namespace dodyn::dmoc {

// Returns the energy of overlap. `stiffness`: C, N/m; `width`: w, m. `numbers`: numbers of any design; they determine
// which corner of the face's shape lies in the plane of the face. Ignores ContactEvent::corner and ContactEvent::edges.
Energy penalty(const systems::Model& model, const std::vector<double>& numbers, const ContactEvent& contact,
               double stiffness, double width);

}  // namespace dodyn::dmoc
