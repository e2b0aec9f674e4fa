// Scheduled contacts: at the event between two phases a point of a link touches a face of another link and bounces off
// it. In 3D two edges may touch instead (edge_pair.hpp).
//
//   g(theta_K) = 0                                     the point lies in the plane of the face, or the edges meet
//   n_i.(x - c_i) <= 0                                 the point is inside the face: for every side i
//   0 <= s, t <= 1                                     or the edges meet between their ends
//   dL/dv+ = dL/dv- + D lambda,  lambda_n >= 0          normal and, if it sticks, tangential impulses
//   n.w+ = -e n.w-,  n.w- <= 0                          w: velocity of the point relative to the face
//   t.w+ = 0,  |lambda_t| <= mu lambda_n                if it sticks
//   t.w+ = c s,  lambda_t = -mu lambda_n s              if it slides: unknowns s, |s|^2 = 1, and c >= 0
//
// If the contact persists, the next phase has a point joint there, with multipliers lambda_k at its nodes:
//
//   x(theta_k) = x(theta_0),  DEL_k + D lambda_k = 0     x: the point, in the frame of the face
//   w = 0                                               if the phase's last velocities are unknowns
//
// This is (4.27) of Johnson 2013 with the impulses as unknowns instead of projections of momenta. The contact
// simulation uses the same law for one point. The configuration specifies whether the point sticks or slides
// afterwards.
#pragma once

#include <array>
#include <functional>
#include <optional>

#include "dmoc/edge_pair.hpp"
#include "dmoc/link_rows.hpp"

namespace dodyn::dmoc {

struct ContactEvent {
  int event = 0;                       // index in the events of the MotionProblem
  int point = -1;                      // index of a named point of the model; -1: a corner or an edge touches
  int part = -1, corner = -1;          // index of the touching shape and of its corner; -1: named point
  std::optional<EdgePair> edges = {};  // edges of `part` and of `shape` that touch; nullopt: a point or a corner
  int shape = 0;                       // index of the other shape; its face is the supporting plane along `outward`
  std::array<double, 3> outward = {0, 0, 1};  // outward normal of the face in its link, unit length
  Coefficient restitution = 1.0;
  bool sticks = false, slides = false;    // neither: frictionless
  std::array<double, 3> way = {0, 0, 0};  // mean direction of the tangential motion, in the face's link. In 2D the
                                          // point slides in this direction; in 3D without effect
  bool stays = false;                     // the contact persists: it sticks, and the next phase has a joint there
  // Coulomb coefficient. Sticking: it limits the tangential impulse; nullopt: no limit. Sliding: required.
  std::optional<Coefficient> friction = {};
};

// Returns the index of the corner that is farthest in the direction `outward`; if several are (within 1e-12 m), the
// first one.
int farthest(const std::vector<systems::Vector3<double>>& corners, const std::array<double, 3>& outward);

// Returns the positions of the named point, or of all corners of the part, in the frame of the face's link, m. q:
// posture [n] relative to a reference.
std::vector<systems::Vector3<double>> seen_from_face(const System& system, const std::vector<double>& numbers,
                                                     const ContactEvent& contact, const Reference& reference,
                                                     const Eigen::VectorXd& q);
// Returns the heights of the same points above the plane of the face, m.
std::vector<double> heights(const System& system, const std::vector<double>& numbers, const ContactEvent& contact,
                            const Reference& reference, const Eigen::VectorXd& q);

// Returns the edges of the part and of the face's shape that touch or are nearest to each other, and their gap, m
// (negative: overlap). 3D only.
std::pair<EdgePair, double> edges_at(const System& system, const std::vector<double>& numbers,
                                     const ContactEvent& contact, const Reference& reference, const Eigen::VectorXd& q);

// Adds the unknowns (impulses; for sliding c and s) and rows of a contact to a transcribed problem. Throws
// std::logic_error if the phases hold different coordinates, or if the event relabels them. Returns a function that
// sets c and s in an initial guess which already has its velocities: a sliding point keeps its direction. The function
// does not set impulses, and has no effect if the point does not slide.
std::function<void(Eigen::VectorXd&)> add_contact(MotionProblem& problem, const ContactEvent& contact);

}  // namespace dodyn::dmoc
