// Impulses at contact points: momenta p of all dofs before -> after. The normal and tangential decompositions of
// Johnson 2013, section 3.5.4, and the complementarity problem they become with several contacts.
#pragma once

#include <Eigen/Core>
#include <Eigen/LU>
#include <span>
#include <vector>

#include "rigid/contact_points.hpp"
#include "rigid/inertia.hpp"
#include "rigid/island.hpp"

namespace dodyn::rigid {

// The directions of one contact point in dof space: row k takes dof velocities to the velocity of body 1 relative to
// body 2 along direction k (normal first, then tangents), column k of M^-1 row^T what a unit impulse changes.
template <int n>
class ContactRows {
 public:
  // `inertia` is that at the configuration, and must outlive the rows. Both sides act at the same point, so impulses keep all momenta.
  void build(const Inertia<n>& inertia, std::span<const ContactPoint<n>> points, bool tangents);

  int size() const { return static_cast<int>(contacts_.size()); }
  double relative_velocity(int contact, int direction, const Eigen::VectorXd& nu) const {
    double sum = 0.0;
    for (const auto& side : contacts_[contact].side)
      if (side.size > 0) sum += dot(row(side, direction), nu.data() + side.first, side.size);
    return sum;
  }
  // the same with each body's share taken as closing
  double speed(int contact, int direction, const Eigen::VectorXd& nu) const;
  void add_impulse(int contact, int direction, double impulse, Eigen::VectorXd& nu) const {
    for (const auto& side : contacts_[contact].side)
      if (side.size > 0)
        add(impulse, columns_.data() + side.data + direction * side.size, nu.data() + side.first, side.size);
  }
  // the kinetic metric between two directions of one contact
  double metric(int contact, int i, int j) const { return contacts_[contact].metric(i, j); }
  // velocity of contact `a` along direction i that a unit impulse at `b` along direction j gives
  double coupling(int a, int i, int b, int j) const {
    double sum = 0.0;
    for (const auto& p : contacts_[a].side)
      for (const auto& q : contacts_[b].side)
        if (p.first == q.first && p.size > 0 && q.size > 0)
          sum += dot(row(p, i), columns_.data() + q.data + j * q.size, p.size);
    return sum;
  }
  // adds impulse * row to a momentum
  void add_momentum(int contact, int direction, double impulse, Eigen::VectorXd& p) const;
  // Contacts that share moving bodies, directly or through others.
  int islands() const { return static_cast<int>(starts_.size()) - 1; }
  std::span<const int> island(int i) const { return {order_.data() + starts_[i], order_.data() + starts_[i + 1]}; }
  Vector<n> direction(int contact, int k) const { return contacts_[contact].direction.col(k); }

  // One body's share of a contact; size 0: it is fixed, or the other side carries both.
  struct Side {
    int body = -1, first = 0, size = 0, data = 0;  // dofs; where its rows stand in rows_
  };
  const std::array<Side, 2>& sides(int contact) const { return contacts_[contact].side; }
  const double* row(const Side& side, int direction) const { return rows_.data() + side.data + direction * side.size; }
  const Inertia<n>& inertia() const { return *inertia_; }

 private:
  struct Entry {
    Matrix<n> direction = Matrix<n>::Zero();  // columns
    Matrix<n> metric = Matrix<n>::Zero();
    std::array<Side, 2> side;
  };
  void find_islands(int dofs);

  // Sums over one side's dofs: of a free body, whose number is known, without a loop.
  static double dot(const double* a, const double* b, int size) {
    if (size == Multibody<n>::twist) return Eigen::Map<const Twist<n>>(a).dot(Eigen::Map<const Twist<n>>(b));
    double sum = 0.0;
    for (int i = 0; i < size; ++i) sum += a[i] * b[i];
    return sum;
  }
  static void add(double factor, const double* a, double* b, int size) {
    if (size == Multibody<n>::twist) {
      Eigen::Map<Twist<n>> to(b);
      to += factor * Eigen::Map<const Twist<n>>(a);
      return;
    }
    for (int i = 0; i < size; ++i) b[i] += factor * a[i];
  }

  int directions_ = n;
  const Inertia<n>* inertia_ = nullptr;
  std::vector<Entry> contacts_;
  std::vector<int> parent_, member_, order_, starts_;
  std::vector<double> rows_, columns_;
};

// Normal impulses >= 0 that bring each relative normal velocity to at least `target`, and are zero where it is more;
// tangential impulses that oppose sliding, at most mu times the normal one.
//
// Bodies that contacts connect form islands, solved one by one. Sweeps of projected Gauss-Seidel, contacts in order,
// find which contacts press and which slide. The linear system of the pressing contacts then gives their impulses to
// round-off. Where the impulses are not unique (four corners on a floor) the system's correction is that of minimum
// norm. Large islands, and islands where this does not converge (in space slides turn), are solved on their bodies (island.hpp).
template <int n>
class ContactSolver {
 public:
  // `impulse` holds n numbers per contact: those already in nu at the start (zero, or a guess), then the result; nu
  // changes with them. `friction` may be empty. Returns the largest change (m/s) of the last sweep, at most
  // `tolerance` unless that many digits do not come.
  // Islands whose contacts are marked in `skip` stay as they are. `given`: normal impulses that act anyway, in nu but not
  // in `impulse`, and count for the limits of friction.
  double solve(const ContactRows<n>& rows, std::span<const double> target, std::span<const double> friction,
               double tolerance, Eigen::VectorXd& nu, std::vector<double>& impulse, std::span<const char> skip = {},
               std::span<const double> given = {});

 private:
  double sweep(const ContactRows<n>& rows, std::span<const int> island, Eigen::VectorXd& nu,
               std::vector<double>& impulse) const;
  bool refine(const ContactRows<n>& rows, std::span<const int> island, Eigen::VectorXd& nu,
              std::vector<double>& impulse);

  template <int directions>
  double solve_large(Island<n, directions>& bodies, const ContactRows<n>& rows, std::span<const int> island,
                     double tolerance, Eigen::VectorXd& nu, std::vector<double>& impulse);

  double limit(int c, double normal) const { return friction_[c] * (given_.empty() ? normal : normal + given_[c]); }

  std::span<const double> target_, friction_, given_;
  std::vector<double> saved_;
  struct Unknown {
    int contact, direction;
    Vector<n> along;  // what a unit of it adds to the contact's impulse
  };
  std::vector<Unknown> unknowns_;
  // number of unknowns up to which a vector needs no heap
  static constexpr int small = 12;
  using SmallVector = Eigen::Matrix<double, Eigen::Dynamic, 1, 0, small, 1>;
  using SmallMatrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, 0, small, small>;
  static void solve_small(const SmallMatrix& system, const SmallVector& right, SmallVector& solution);
  template <int fixed>  // size, where it is known
  static void eliminate(const SmallMatrix& system, const SmallVector& right, SmallVector& solution);
  Eigen::MatrixXd system_;
  Eigen::VectorXd right_, solution_, correction_, rest_;
  Eigen::PartialPivLU<Eigen::MatrixXd> factor_;

  Island<n, 1> smooth_;
  Island<n, n> rough_;
};

extern template class ContactRows<2>;
extern template class ContactRows<3>;
extern template class ContactSolver<2>;
extern template class ContactSolver<3>;

}  // namespace dodyn::rigid
