#include "geometry/hyperplanes.hpp"

#include <stdexcept>

#include "geometry/hyperplane_solver.hpp"

namespace dodyn::geometry {

template <int n>
int find_contact(const Polytope<n>& k1, const Frame<n>& frame1, const Polytope<n>& k2, const Frame<n>& frame2,
                 Basis<n>& basis, Contact<n>& contact) {
  const Vector<n> between =
      frame1.position - frame2.position + frame1.directors * k1.centroid() - frame2.directors * k2.centroid();
  const double distance = between.norm();
  if (distance <= 1e-9 * std::min(k1.radius(), k2.radius())) {
    std::array<Basis<n>, 2> both{basis, Basis<n>{}};
    const int passes = find_contact<n>(k1, frame1, k2, frame2, Vector<n>::Unit(n - 1), both, contact);
    basis = both[0];
    return passes;
  }
  const Vector<n> beta = between / distance;
  HyperplaneSolver<n> program(k1, frame1, k2, frame2, beta);
  auto ending = program.solve(basis);
  if (ending == HyperplaneSolver<n>::Termination::unbounded) {
    basis.size = 0;  // the line pierces both bodies, so the program is bounded: the given basis was misleading
    ending = program.solve(basis);
  }
  if (ending != HyperplaneSolver<n>::Termination::optimal)
    throw std::runtime_error("contact between polytopes: no supporting planes on the line of centroids");
  program.read(frame1, frame2, contact);
  contact.beta = beta;
  contact.beta_force = contact.gap / distance * program.across_beta();
  contact.beta_lever = {k1.centroid(), k2.centroid()};
  return program.passes();
}

template <int n>
int find_contact(const Polytope<n>& k1, const Frame<n>& frame1, const Polytope<n>& k2, const Frame<n>& frame2,
                 const Vector<n>& beta_in_body2, std::array<Basis<n>, 2>& basis, Contact<n>& contact) {
  const Vector<n> beta = frame2.directors * beta_in_body2;
  const double length = beta.norm();
  HyperplaneSolver<n> program(k1, frame1, k2, frame2, beta / length);
  const bool bounded = program.solve(basis[0]) == HyperplaneSolver<n>::Termination::optimal;
  const bool coincident = (frame1(k1.centroid()) - frame2(k2.centroid())).norm() <= 1e-9 * k1.radius();
  if (bounded) {
    program.read(frame1, frame2, contact);
    contact.alpha /= length;
    contact.gap /= length;
    contact.beta = beta;
    contact.beta_force.setZero();
    contact.beta_lever = {k1.centroid(), k2.centroid()};
    contact.lever[1] -= contact.gap * beta_in_body2;
    if (contact.gap <= 0.0 || coincident) return program.passes();
  }
  Contact<n> check;
  const int passes = program.passes() + find_contact<n>(k1, frame1, k2, frame2, basis[1], check);
  if (bounded && check.gap > 0.0) return passes;
  check.body = contact.body;
  check.part = contact.part;
  contact = check;
  return passes;
}

template <int n>
bool overlap(const Polytope<n>& k1, const Frame<n>& frame1, const Polytope<n>& k2, const Frame<n>& frame2,
             Basis<n>& basis, Vector<n>& plane) {
  std::array<std::array<double, max_corners>, 2> heights;
  if (plane != Vector<n>::Zero()) {
    const Vector<n> d1 = frame1.directors.transpose() * plane, d2 = -(frame2.directors.transpose() * plane);
    const Vector<n> offset = frame1.position - frame2.position;
    const double apart =
        lowest(k1, d1, heights[0].data()).height + lowest(k2, d2, heights[1].data()).height + plane.dot(offset);
    if (apart > 1e-14 * plane.norm() * (k1.radius() + k2.radius() + offset.norm())) return false;
  }
  const Vector<n> between =
      frame1.position - frame2.position + frame1.directors * k1.centroid() - frame2.directors * k2.centroid();
  const double distance = between.norm();
  if (distance <= 1e-9 * std::min(k1.radius(), k2.radius())) return true;  // both centroids are further inside
  HyperplaneSolver<n> program(k1, frame1, k2, frame2, between / distance);
  using Termination = typename HyperplaneSolver<n>::Termination;
  const Termination ending = program.solve(basis, HyperplaneSolver<n>::Query::sign);
  if (ending == Termination::overlapping) return true;
  if (ending == Termination::separated) {
    plane = program.alpha();
    return false;
  }
  if (ending == Termination::optimal) {  // they touch within rounding
    if (program.gap() < 0.0) plane = program.alpha();
    return program.gap() >= 0.0;
  }
  Contact<n> contact;
  find_contact(k1, frame1, k2, frame2, basis, contact);
  if (contact.gap < 0.0) plane = contact.alpha;
  return contact.gap >= 0.0;
}

template bool overlap(const Polytope<2>&, const Frame<2>&, const Polytope<2>&, const Frame<2>&, Basis<2>&, Vector<2>&);
template bool overlap(const Polytope<3>&, const Frame<3>&, const Polytope<3>&, const Frame<3>&, Basis<3>&, Vector<3>&);

template int find_contact(const Polytope<2>&, const Frame<2>&, const Polytope<2>&, const Frame<2>&, Basis<2>&,
                          Contact<2>&);
template int find_contact(const Polytope<3>&, const Frame<3>&, const Polytope<3>&, const Frame<3>&, Basis<3>&,
                          Contact<3>&);
template int find_contact(const Polytope<2>&, const Frame<2>&, const Polytope<2>&, const Frame<2>&, const Vector<2>&,
                          std::array<Basis<2>, 2>&, Contact<2>&);
template int find_contact(const Polytope<3>&, const Frame<3>&, const Polytope<3>&, const Frame<3>&, const Vector<3>&,
                          std::array<Basis<3>, 2>&, Contact<3>&);

}  // namespace dodyn::geometry
