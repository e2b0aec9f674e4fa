// Impulses at contact points: momenta p of all degrees of freedom (dofs), before -> after. The normal and tangential
// decompositions of Johnson 2013, section 3.5.4. Several contacts make them a complementarity problem.
#pragma once

#include <Eigen/Core>
#include <Eigen/LU>
#include <span>
#include <vector>

#include "rigid/contact_points.hpp"
#include "rigid/inertia.hpp"
#include "rigid/island.hpp"

namespace dodyn::rigid {

// The directions of one contact point in dof space, normal first, then tangents. Row k maps dof velocities to the
// velocity of body 1 relative to body 2 along direction k. Column k of M^-1 row^T is the velocity change by a unit
// impulse.
template <int n>
class ContactRows {
 public:
  // Builds the rows. `inertia` is set to the configuration and must outlive the rows. Impulses act on both sides at the
  // same point, so they conserve all momenta.
  void build(const Inertia<n>& inertia, std::span<const ContactPoint<n>> points, bool tangents);

  int size() const { return static_cast<int>(contacts_.size()); }
  double relative_velocity(int contact, int direction, const Eigen::VectorXd& nu) const {
    double sum = 0.0;
    for (const auto& side : contacts_[contact].side)
      if (side.size > 0) sum += dot(row(side, direction), nu.data() + side.first, side.size);
    return sum;
  }
  // Returns the sum over both sides of the absolute velocities along the direction.
  double speed(int contact, int direction, const Eigen::VectorXd& nu) const;
  void add_impulse(int contact, int direction, double impulse, Eigen::VectorXd& nu) const {
    for (const auto& side : contacts_[contact].side)
      if (side.size > 0)
        add(impulse, columns_.data() + side.data + direction * side.size, nu.data() + side.first, side.size);
  }
  // Returns the entry of the inverse mass between two directions of one contact. An entry of the diagonal is infinite
  // if no impulse can change the relative velocity.
  double metric(int contact, int i, int j) const { return contacts_[contact].metric(i, j); }
  // Returns the velocity change of contact `a` along direction i by a unit impulse at `b` along direction j.
  double coupling(int a, int i, int b, int j) const {
    double sum = 0.0;
    for (const auto& p : contacts_[a].side)
      for (const auto& q : contacts_[b].side)
        if (p.first == q.first && p.size > 0 && q.size > 0)
          sum += dot(row(p, i), columns_.data() + q.data + j * q.size, p.size);
    return sum;
  }
  // Adds impulse * row to a momentum vector.
  void add_momentum(int contact, int direction, double impulse, Eigen::VectorXd& p) const;
  // Returns the number of islands: groups of contacts that share moving bodies, directly or through other contacts.
  int islands() const { return static_cast<int>(starts_.size()) - 1; }
  std::span<const int> island(int i) const { return {order_.data() + starts_[i], order_.data() + starts_[i + 1]}; }
  Vector<n> direction(int contact, int k) const { return contacts_[contact].direction.col(k); }
  // Returns the slope of a one-sided constraint's gap (direction 0) or position on the surface (1) for its body number
  // `i`.
  const Twist<n>& slope(int contact, int direction, int i) const {
    return slopes_[contacts_[contact].slopes + direction * contacts_[contact].bodies + i];
  }

  // One body's part of a contact. size 0: it is fixed, or the other side carries both bodies.
  struct Side {
    int body = -1, first = 0, size = 0, data = 0;  // first, size: dofs; data: offset of its rows in rows_
  };
  const std::array<Side, 2>& sides(int contact) const { return contacts_[contact].side; }
  const double* row(const Side& side, int direction) const { return rows_.data() + side.data + direction * side.size; }
  const Inertia<n>& inertia() const { return *inertia_; }

 private:
  struct Entry {
    Matrix<n> direction = Matrix<n>::Zero();  // one direction per column
    Matrix<n> metric = Matrix<n>::Zero();
    std::array<Side, 2> side;
    int slopes = 0, bodies = 0;  // one-sided constraints: index of the first slope in slopes_; number of bodies
  };
  void add_constraint(const Inertia<n>& inertia, const OneSidedConstraint<n>& constraint, Entry& entry);
  double inverse_mass(const Multibody<n>& multibody, const ContactPoint<n>& point, const Entry& entry, int k) const;
  void find_islands(int dofs);

  // Returns the dot product over the dofs of one side; unrolled for a free body, whose number of dofs is known.
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
  std::vector<Twist<n>> slopes_;
  Eigen::VectorXd reduced_;
};

// Normal impulses >= 0 raise each relative normal velocity to at least `target`; they are zero if it is larger.
// Tangential impulses oppose sliding; they are at most mu times the normal impulse.
//
// Bodies that contacts connect form islands, solved one by one. Sweeps of projected Gauss-Seidel, contacts in order,
// find which contacts press and which slide. The linear system of the pressing contacts then gives their impulses to
// round-off. Where the impulses are not unique (four corners on a floor) the system's correction is that of minimum
// norm. Large islands, and islands where this does not converge (in 3D the direction of sliding turns), are solved on
// their bodies (island.hpp).
template <int n>
class ContactSolver {
 public:
  // Solves for the impulses. `impulse` holds n numbers per contact: on entry the impulses already in nu (zero, or a
  // guess), on return the result; nu is updated. `friction` may be empty. Islands whose contacts are marked in `skip`
  // stay unchanged. `given`: normal impulses in nu but not in `impulse`, which raise the friction limits. Returns the
  // largest remaining velocity change (m/s), at most `tolerance` if that accuracy is attainable. With friction the
  // limit is 1e4 `tolerance` in large islands, and 1e2 `tolerance` in smaller islands that are solved on their bodies.
  double solve(const ContactRows<n>& rows, std::span<const double> target, std::span<const double> friction,
               double tolerance, Eigen::VectorXd& nu, std::vector<double>& impulse, std::span<const char> skip = {},
               std::span<const double> given = {});

 private:
  double sweep(const ContactRows<n>& rows, std::span<const int> island, Eigen::VectorXd& nu,
               std::vector<double>& impulse) const;
  // Sets the impulses of an island to `saved_`, and changes nu accordingly.
  void restore(const ContactRows<n>& rows, std::span<const int> island, Eigen::VectorXd& nu,
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
    Vector<n> along;  // change of the contact's impulse when the unknown grows by 1
  };
  std::vector<Unknown> unknowns_;
  // up to this number of unknowns vectors are on the stack
  static constexpr int small = 12;
  using SmallVector = Eigen::Matrix<double, Eigen::Dynamic, 1, 0, small, 1>;
  using SmallMatrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, 0, small, small>;
  static void solve_small(const SmallMatrix& system, const SmallVector& right, SmallVector& solution);
  template <int fixed>  // size at compile time, if known
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
