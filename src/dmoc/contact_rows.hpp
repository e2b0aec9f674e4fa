// Contacts on schedule: at the event between two phases a point of a link touches a face of another, or in space an edge one
// of another (edge_pair.hpp), and bounces off it.
//
//   g(theta_K) = 0                                     the point lies in the plane of the face, or the edges meet
//   n_i.(x - c_i) <= 0                                 between its edges: for every side i of the shape beside it
//   0 <= s, t <= 1                                     or do edges meet between their ends
//   dL/dv+ = dL/dv- + D lambda,  lambda_n >= 0          impulses along the normal and, where it sticks, across it
//   n.w+ = -e n.w-,  n.w- <= 0                          w: velocity of the point against the face
//   t.w+ = 0,  |lambda_t| <= mu lambda_n                where it sticks
//   t.w+ = c s,  lambda_t = -mu lambda_n s              where it slides: unknowns s, |s|^2 = 1, and c >= 0
//
// and where it stays, in the phase that follows, on a joint of one point, with multipliers lambda_k at its nodes,
//
//   x(theta_k) = x(theta_0),  DEL_k + D lambda_k = 0     x: the point, seen from the face
//   w = 0 where the phase's last velocities are unknowns
//
// (Johnson 2013, 4.27, with the impulses as unknowns instead of projections of momenta; it is the law of the contact
// simulation for one point; whether that sticks or slides afterwards is given, not found.)
#pragma once

#include <array>
#include <functional>
#include <optional>

#include "dmoc/edge_pair.hpp"
#include "dmoc/link_rows.hpp"

namespace dodyn::dmoc {

struct ContactEvent {
  int event = 0;                              // of the problem
  int point = -1;                             // a named point of the model; -1: none, but
  int part = -1, corner = -1;                 // a corner of one of its shapes, or
  std::optional<EdgePair> edges = {};         // an edge of it that meets one of `shape`
  int shape = 0;                              // and a shape, whose face is its supporting plane
  std::array<double, 3> outward = {0, 0, 1};  // in this direction of its link, of unit length
  Coefficient restitution = 1.0;
  bool sticks = false, slides = false;    // one of them, or neither
  std::array<double, 3> way = {0, 0, 0};  // in that link: where it goes on the whole; in the plane it slides that way
  bool stays = false;                     // it sticks, and a joint holds it in the phase that follows
  std::optional<Coefficient> friction = {};  // where it sticks: the limit of what holds it; it is there where it slides
};

// The corner of a face's shape that is farthest out.
int farthest(const std::vector<systems::Vector3<double>>& corners, const std::array<double, 3>& outward);

// Of a posture, q [n] about a reference: the named point, or all corners of the part, in the link of the face; and their
// heights over the face, m.
std::vector<systems::Vector3<double>> seen_from_face(const System& system, const std::vector<double>& numbers,
                                                     const ContactEvent& contact, const Reference& reference,
                                                     const Eigen::VectorXd& q);
std::vector<double> heights(const System& system, const std::vector<double>& numbers, const ContactEvent& contact,
                            const Reference& reference, const Eigen::VectorXd& q);

// Of a posture the edges of the part and of the face's shape that touch or come next to it, and their gap, m.
std::pair<EdgePair, double> edges_at(const System& system, const std::vector<double>& numbers,
                                     const ContactEvent& contact, const Reference& reference, const Eigen::VectorXd& q);

// Adds unknowns (impulses) and rows to a problem that is transcribed. Both phases must move the same coordinates.
// Returns what gives a point that has its velocities a start of the others: it slides on as it comes.
std::function<void(Eigen::VectorXd&)> add_contact(MotionProblem& problem, const ContactEvent& contact);

}  // namespace dodyn::dmoc
