// Impulses at contact points: momenta p of all dofs before -> after. The normal and tangential decompositions of
// Johnson 2013, section 3.5.4, and the complementarity problem they become with several contacts.
#pragma once

#include <Eigen/Core>
#include <span>
#include <vector>

#include "mechanics/contact_points.hpp"
#include "mechanics/multibody.hpp"

namespace dodyn::mechanics {

// The directions of one contact point in dof space: row k takes dof velocities to the velocity of body 1 relative to
// body 2 along direction k (normal first, then tangents), column k of M^-1 row^T what a unit impulse changes.
template <int n>
class ContactRows {
 public:
  // `multibody.set` holds the configuration. Both sides act at the same point, so impulses keep all momenta.
  void build(const Multibody<n>& multibody, std::span<const ContactPoint<n>> points, bool tangents);

  int size() const { return static_cast<int>(contacts_.size()); }
  double relative_velocity(int contact, int direction, const Eigen::VectorXd& nu) const;
  void add_impulse(int contact, int direction, double impulse, Eigen::VectorXd& nu) const;
  // the kinetic metric between two directions of one contact
  double metric(int contact, int i, int j) const;
  // adds impulse * row to a momentum
  void add_momentum(int contact, int direction, double impulse, Eigen::VectorXd& p) const;
  Vector<n> direction(int contact, int k) const { return contacts_[contact].direction.col(k); }

 private:
  struct Side {
    int first = 0, size = 0, data = 0;  // dofs; where its rows stand in values_
  };
  struct Entry {
    Matrix<n> direction;  // columns
    std::array<Side, 2> side;
  };
  int directions_ = n;
  std::vector<Entry> contacts_;
  std::vector<double> rows_, columns_;
};

// Normal impulses >= 0 that bring each relative normal velocity to at least `target`, and are zero where it is more;
// tangential impulses that oppose sliding, at most mu times the normal one. Projected Gauss-Seidel, contacts in order;
// changes nu in place and returns the largest violation left (m/s). `impulse` holds n numbers per contact: the start
// (zero: none applied yet), then the result.
template <int n>
double solve_contacts(const ContactRows<n>& rows, std::span<const double> target, std::span<const double> friction,
                      double tolerance, int max_sweeps, Eigen::VectorXd& nu, std::vector<double>& impulse);

extern template class ContactRows<2>;
extern template class ContactRows<3>;

}  // namespace dodyn::mechanics
