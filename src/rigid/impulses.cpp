#include "rigid/impulses.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <limits>

namespace dodyn::rigid {
namespace {

// Number of contacts above which an island is solved on its bodies (island.hpp).
constexpr std::size_t large = 24;
// Number of rounds of sweeps and Newton steps after which a smaller island is solved on its bodies too.
constexpr int rounds = 4;
// Stiffness of the augmented Lagrangian: initial without friction, initial with friction, maximum.
constexpr double soft = 1e4, rough = 10.0, stiff = 1e7;
// System of the pressing or sticking contacts: relative shift of its diagonal, and number of corrections for the shift.
constexpr double shift = 1e-9;
constexpr int corrections = 4;

}  // namespace

template <int n>
void ContactRows<n>::build(const Inertia<n>& inertia, std::span<const ContactPoint<n>> points, bool tangents) {
  const Multibody<n>& multibody = inertia.bodies();
  directions_ = tangents ? n : 1;
  inertia_ = &inertia;
  contacts_.clear();
  rows_.clear();
  slopes_.clear();
  for (const auto& point : points) {
    Entry entry;
    if (point.constraint >= 0) {
      add_constraint(inertia, multibody.one_sided()[point.constraint], entry);
      contacts_.push_back(entry);
      continue;
    }
    entry.direction.col(0) = point.normal;
    if constexpr (n == 2) {
      entry.direction.col(1) << -point.normal[1], point.normal[0];
    } else {
      // the same axis in every step, however rounding changes the normals of flat contacts
      const int axis = std::abs(point.normal[2]) < 0.9 ? 2 : 0;
      entry.direction.col(1) = Vector<3>::Unit(axis).cross(point.normal).normalized();
      entry.direction.col(2) = point.normal.cross(entry.direction.col(1));
    }
    for (int s = 0; s < 2; ++s) {
      const int body = point.body[s];
      const auto range = multibody.range(body);
      auto& side = entry.side[s];
      side = {body, range.first, range.size, static_cast<int>(rows_.size())};
      // if both bodies belong to one tree, they share its degrees of freedom: one side carries both
      const bool joined = s == 1 && range.size > 0 && range.first == entry.side[0].first && entry.side[0].size > 0;
      if (joined) side.size = 0;
      if (range.size == 0) continue;
      if (!joined) rows_.resize(rows_.size() + directions_ * range.size);
      for (int k = 0; k < directions_; ++k) {
        const Vector<n> d = s == 0 ? Vector<n>(entry.direction.col(k)) : Vector<n>(-entry.direction.col(k));
        if (joined) {
          Eigen::VectorXd both(range.size);
          inertia.point_row(body, point.point, d, both.data());
          Eigen::Map<Eigen::VectorXd>(rows_.data() + entry.side[0].data + k * range.size, range.size) += both;
        } else {
          inertia.point_row(body, point.point, d, rows_.data() + side.data + k * range.size);
        }
      }
    }
    contacts_.push_back(entry);
  }
  columns_ = rows_;
  for (std::size_t i = 0; i < contacts_.size(); ++i)
    for (int s = 0; s < 2; ++s) {
      const auto& side = contacts_[i].side[s];
      for (int k = 0; k < directions_ && side.size > 0; ++k)
        inertia.solve(side.body, columns_.data() + side.data + k * side.size);
    }
  for (int c = 0; c < size(); ++c)
    for (int i = 0; i < directions_; ++i)
      for (int j = 0; j < directions_; ++j) contacts_[c].metric(i, j) = coupling(c, i, c, j);
  // If a joint or a fixed body prevents relative motion (two bodies that touch at their joint), no impulse changes it.
  // An infinite resistance keeps the impulse at zero.
  for (int c = 0; c < size(); ++c)
    for (int k = 0; k < directions_; ++k)
      if (double& own = contacts_[c].metric(k, k); !(own > 1e-9 * inverse_mass(multibody, points[c], contacts_[c], k)))
        own = std::numeric_limits<double>::infinity();
  find_islands(multibody.dofs());
}

// Fills the rows of the gap and of the position on the surface. In space the third direction is zero.
template <int n>
void ContactRows<n>::add_constraint(const Inertia<n>& inertia, const OneSidedConstraint<n>& constraint, Entry& entry) {
  const std::size_t count = constraint.bodies.size();
  entry.slopes = slopes_.size();
  entry.bodies = count;
  slopes_.resize(slopes_.size() + 2 * count);
  const std::span<Twist<n>> slopes(slopes_.data() + entry.slopes, 2 * count);
  constraint.gap(inertia.poses(), slopes.first(count), slopes.last(count));
  for (std::size_t i = 0; i < count; ++i) {
    const int body = constraint.bodies[i];
    const auto range = inertia.bodies().range(body);
    if (range.size == 0) continue;
    const bool taken = entry.side[0].size > 0 && entry.side[0].first != range.first;
    Side& side = entry.side[taken ? 1 : 0];
    if (side.size == 0) {
      side = {body, range.first, range.size, static_cast<int>(rows_.size())};
      rows_.resize(rows_.size() + directions_ * range.size);
    }
    reduced_.resize(range.size);
    for (int k = 0; k < std::min(directions_, 2); ++k) {
      inertia.reduce(body, slopes[k * count + i], reduced_.data());
      Eigen::Map<Eigen::VectorXd>(rows_.data() + side.data + k * side.size, side.size) += reduced_;
    }
  }
}

// Returns a bound on the inverse mass of the bodies without joints along a direction.
template <int n>
double ContactRows<n>::inverse_mass(const Multibody<n>& multibody, const ContactPoint<n>& point, const Entry& entry,
                                    int k) const {
  double sum = 0.0;
  if (point.constraint < 0) {
    for (const int b : point.body) sum += multibody.is_fixed(b) ? 0.0 : 1.0 / multibody.body(b).mass;
    return sum;
  }
  for (int i = 0; i < entry.bodies && k < 2; ++i) {
    const auto& body = multibody.body(multibody.one_sided()[point.constraint].bodies[i]);
    const Twist<n>& slope = slopes_[entry.slopes + k * entry.bodies + i];
    if (!body.fixed)
      sum += slope.template head<n>().squaredNorm() / body.mass +
             body.inverse.trace() * slope.template tail<Multibody<n>::spin>().squaredNorm();
  }
  return sum;
}

template <int n>
double ContactRows<n>::speed(int contact, int direction, const Eigen::VectorXd& nu) const {
  assert(contact >= 0 && contact < std::ssize(contacts_) && direction >= 0 && direction < n);
  double sum = 0.0;
  for (const auto& side : contacts_[contact].side)
    if (side.size > 0)
      sum += std::abs(dot(rows_.data() + side.data + direction * side.size, nu.data() + side.first, side.size));
  return sum;
}

template <int n>
void ContactRows<n>::add_momentum(int contact, int direction, double impulse, Eigen::VectorXd& p) const {
  assert(contact >= 0 && contact < std::ssize(contacts_) && direction >= 0 && direction < n);
  for (const auto& side : contacts_[contact].side)
    if (side.size > 0) add(impulse, rows_.data() + side.data + direction * side.size, p.data() + side.first, side.size);
}

template <int n>
void ContactRows<n>::find_islands(int dofs) {
  // a body is identified by its first degree of freedom
  parent_.resize(dofs);
  for (int i = 0; i < dofs; ++i) parent_[i] = i;
  const auto root = [&](int i) {
    while (parent_[i] != i) i = parent_[i] = parent_[parent_[i]];
    return i;
  };
  for (const auto& e : contacts_)
    if (e.side[0].size > 0 && e.side[1].size > 0) parent_[root(e.side[0].first)] = root(e.side[1].first);
  member_.clear();
  for (const auto& e : contacts_) member_.push_back(root(e.side[e.side[0].size > 0 ? 0 : 1].first));
  order_.resize(contacts_.size());
  for (std::size_t c = 0; c < order_.size(); ++c) order_[c] = c;
  std::ranges::sort(order_, [&](int a, int b) { return member_[a] != member_[b] ? member_[a] < member_[b] : a < b; });
  starts_.clear();
  for (std::size_t k = 0; k < order_.size(); ++k)
    if (k == 0 || member_[order_[k]] != member_[order_[k - 1]]) starts_.push_back(k);
  starts_.push_back(order_.size());
}

namespace {

// The 2 by 2 block of the two tangential directions in space.
struct Tangents {
  double a, b, m;
  Vector<2> solve(const Vector<2>& v) const {
    const double det = a * b - m * m;
    if (!(det > 1e-12 * a * b)) return v / (a + b);
    return Vector<2>(b * v[0] - m * v[1], a * v[1] - m * v[0]) / det;
  }
  double largest() const { return 0.5 * (a + b) + std::sqrt(0.25 * (a - b) * (a - b) + m * m); }
};

}  // namespace

template <int n>
double ContactSolver<n>::sweep(const ContactRows<n>& rows, std::span<const int> island, Eigen::VectorXd& nu,
                               std::vector<double>& impulse) const {
  double worst = 0.0;
  const auto change = [&](int c, int k, double to) {
    double& own = impulse[n * c + k];
    if (to == own) return;
    worst = std::max(worst, rows.metric(c, k, k) * std::abs(to - own));
    rows.add_impulse(c, k, to - own, nu);
    own = to;
  };
  for (const int c : island) {
    const double* own = impulse.data() + n * c;
    change(c, 0, std::max(0.0, own[0] + (target_[c] - rows.relative_velocity(c, 0, nu)) / rows.metric(c, 0, 0)));
    if (friction_.empty()) continue;
    const double limit = this->limit(c, own[0]);
    if (limit == 0.0 && own[1] == 0.0 && own[n - 1] == 0.0) continue;
    if constexpr (n == 2) {
      change(c, 1, std::clamp(own[1] - rows.relative_velocity(c, 1, nu) / rows.metric(c, 1, 1), -limit, limit));
    } else if (!std::isfinite(rows.metric(c, 2, 2))) {  // in space, with one direction of sliding
      change(c, 1, std::clamp(own[1] - rows.relative_velocity(c, 1, nu) / rows.metric(c, 1, 1), -limit, limit));
    } else {
      // the impulse that stops sliding, if it is inside the cone; otherwise a projected step of safe length
      const Tangents block{rows.metric(c, 1, 1), rows.metric(c, 2, 2), rows.metric(c, 1, 2)};
      const Vector<2> velocity(rows.relative_velocity(c, 1, nu), rows.relative_velocity(c, 2, nu));
      const Vector<2> before(own[1], own[2]);
      Vector<2> slide = before - block.solve(velocity);
      if (slide.norm() > limit) {
        slide = before - velocity / block.largest();
        if (const double size = slide.norm(); size > limit) slide *= limit / size;
      }
      change(c, 1, slide[0]);
      change(c, 2, slide[1]);
    }
  }
  return worst;
}

// Gaussian elimination with column pivoting of a shifted system, and iterative correction for the shift.
template <int n>
template <int fixed>
void ContactSolver<n>::eliminate(const SmallMatrix& system, const SmallVector& right, SmallVector& solution) {
  const int size = fixed > 0 ? fixed : static_cast<int>(right.size());
  SmallMatrix factor = system;
  factor.diagonal().array() += shift * system.diagonal().mean();
  std::array<int, small> from;
  for (int k = 0; k < size; ++k) {
    int best = k;
    for (int i = k + 1; i < size; ++i)
      if (std::abs(factor(i, k)) > std::abs(factor(best, k))) best = i;
    from[k] = best;
    if (best != k)
      for (int j = 0; j < size; ++j) std::swap(factor(k, j), factor(best, j));
    const double inverse = 1.0 / factor(k, k);
    for (int i = k + 1; i < size; ++i) {
      const double share = factor(i, k) *= inverse;
      if (share == 0.0) continue;
      for (int j = k + 1; j < size; ++j) factor(i, j) -= share * factor(k, j);
    }
  }
  solution.setZero(size);
  SmallVector rest = right, x;
  double last = 0.0;
  for (int round = 0; round < corrections; ++round) {
    x = rest;
    for (int k = 0; k < size; ++k) {
      if (from[k] != k) std::swap(x[k], x[from[k]]);
    }
    for (int k = 0; k < size; ++k)
      for (int i = k + 1; i < size; ++i) x[i] -= factor(i, k) * x[k];
    for (int k = size - 1; k >= 0; --k) {
      x[k] /= factor(k, k);
      for (int i = 0; i < k; ++i) x[i] -= factor(i, k) * x[k];
    }
    solution += x;
    // corrections decrease by a ratio that the last two determine
    const double size_of = x.template lpNorm<Eigen::Infinity>();
    if (round > 0 && size_of * size_of <= 2e-16 * last * solution.template lpNorm<Eigen::Infinity>()) break;
    last = size_of;
    rest = right;
    for (int j = 0; j < size; ++j)
      for (int i = 0; i < size; ++i) rest[i] -= system(i, j) * solution[j];
  }
}

template <int n>
void ContactSolver<n>::solve_small(const SmallMatrix& system, const SmallVector& right, SmallVector& solution) {
  switch (right.size()) {
    case 1:
      return eliminate<1>(system, right, solution);
    case 2:
      return eliminate<2>(system, right, solution);
    case 3:
      return eliminate<3>(system, right, solution);
    case 4:
      return eliminate<4>(system, right, solution);
    default:
      return eliminate<0>(system, right, solution);
  }
}

// Makes one Newton step with the present modes: pressing or open, sticking or sliding. Returns false, without a step,
// if no contact presses or the solution is not finite.
template <int n>
bool ContactSolver<n>::refine(const ContactRows<n>& rows, std::span<const int> island, Eigen::VectorXd& nu,
                              std::vector<double>& impulse) {
  unknowns_.clear();
  for (const int c : island) {
    const double* own = impulse.data() + n * c;
    if (!(own[0] > 0.0)) continue;
    Unknown normal{c, 0, Vector<n>::Unit(0)};
    const double mu = friction_.empty() ? 0.0 : friction_[c];
    double slide = 0.0;
    for (int k = 1; k < n; ++k) slide += own[k] * own[k];
    slide = std::sqrt(slide);
    const bool slides = mu > 0.0 && slide >= limit(c, own[0]) * (1.0 - 1e-9);
    if (slides)
      for (int k = 1; k < n; ++k) normal.along[k] = mu * own[k] / slide;
    unknowns_.push_back(normal);
    if (mu > 0.0 && !slides)
      for (int k = 1; k < n; ++k) unknowns_.push_back({c, k, Vector<n>(Vector<n>::Unit(k))});
  }
  const int size = unknowns_.size();
  if (size == 0) return false;
  const auto fill = [&](auto& system, auto& right) {
    system.resize(size, size);
    right.resize(size);
    for (int r = 0; r < size; ++r) {
      const auto& row = unknowns_[r];
      right[r] =
          (row.direction == 0 ? target_[row.contact] : 0.0) - rows.relative_velocity(row.contact, row.direction, nu);
      for (int s = 0; s < size; ++s) {
        const auto& column = unknowns_[s];
        double sum = 0.0;
        for (int k = 0; k < n; ++k)
          if (column.along[k] != 0.0)
            sum += column.along[k] * rows.coupling(row.contact, row.direction, column.contact, k);
        system(r, s) = sum;
      }
    }
  };
  const auto take = [&](const auto& solution) {
    if (!solution.allFinite()) return false;
    for (int s = 0; s < size; ++s) {
      const auto& column = unknowns_[s];
      for (int k = 0; k < n; ++k)
        if (column.along[k] != 0.0) {
          rows.add_impulse(column.contact, k, column.along[k] * solution[s], nu);
          impulse[n * column.contact + k] += column.along[k] * solution[s];
        }
    }
    return true;
  };
  // Redundant contacts make the system singular but consistent: shift, factor, and correct for the shift.
  if (size <= small) {
    SmallMatrix system;
    SmallVector right, solution;
    fill(system, right);
    solve_small(system, right, solution);
    return take(solution);
  }
  fill(system_, right_);
  factor_.compute(system_ + shift * system_.diagonal().mean() * Eigen::MatrixXd::Identity(size, size));
  solution_.setZero(size);
  rest_ = right_;
  for (int k = 0; k < corrections; ++k) {
    correction_ = factor_.solve(rest_);
    solution_ += correction_;
    rest_.noalias() = right_ - system_ * solution_;
  }
  return take(solution_);
}

template <int n>
void ContactSolver<n>::restore(const ContactRows<n>& rows, std::span<const int> island, Eigen::VectorXd& nu,
                               std::vector<double>& impulse) const {
  for (const int c : island)
    for (int k = 0; k < n; ++k)
      if (const double back = saved_[n * c + k] - impulse[n * c + k]; back != 0.0) {
        rows.add_impulse(c, k, back, nu);
        impulse[n * c + k] = saved_[n * c + k];
      }
}

// Method of multipliers with the largest stiffness for which Newton's method converges. If Newton's method does not
// converge, reduces the stiffness and, with friction, makes more sweeps.
template <int n>
template <int directions>
double ContactSolver<n>::solve_large(Island<n, directions>& bodies, const ContactRows<n>& rows,
                                     std::span<const int> island, double tolerance, Eigen::VectorXd& nu,
                                     std::vector<double>& impulse) {
  double worst = sweep(rows, island, nu, impulse);
  if (worst <= tolerance) return worst;
  bodies.gather(rows, island, target_, friction_, given_);
  constexpr int most = 20;
  double stiffness = directions == 1 || worst < 1e6 * tolerance ? soft : rough;
  double best = std::numeric_limits<double>::infinity(), last = best;
  bool kept = true;  // the present iterate is the best
  int slow = 0;
  for (int round = 0; round < (directions == 1 ? 40 : 200); ++round) {
    worst = bodies.residual(nu, impulse);
    if ((kept = worst < best)) {
      best = worst;
      if (best <= tolerance) return best;
      saved_ = impulse;
    }
    if (worst > 0.5 * last && stiffness == stiff && best < 1e3 * tolerance && ++slow > 2) break;  // stalled
    last = worst;
    const int used = bodies.step(stiffness, most, nu, impulse);
    if (used > most) {
      stiffness = std::max(1e-3, 0.1 * stiffness);
      if (directions > 1)
        for (int k = 0; k < 20; ++k) sweep(rows, island, nu, impulse);
    } else if (used < 6) {
      stiffness = std::min(stiff, 10.0 * stiffness);
    }
  }
  if (!kept) restore(rows, island, nu, impulse);
  return best;
}

template <int n>
double ContactSolver<n>::solve(const ContactRows<n>& rows, std::span<const double> target,
                               std::span<const double> friction, double tolerance, Eigen::VectorXd& nu,
                               std::vector<double>& impulse, std::span<const char> skip,
                               std::span<const double> given) {
  target_ = target;
  friction_ = friction;
  given_ = given;
  double left = 0.0;
  for (int i = 0; i < rows.islands(); ++i) {
    const auto island = rows.island(i);
    if (!skip.empty() && skip[island.front()]) continue;
    const auto on_bodies = [&](double enough) {
      return friction.empty() ? solve_large(smooth_, rows, island, enough, nu, impulse)
                              : solve_large(rough_, rows, island, enough, nu, impulse);
    };
    if (island.size() > large) {
      left = std::max(left, on_bodies(friction.empty() ? tolerance : 1e4 * tolerance));
      continue;
    }
    double worst = 0.0;
    int round = 0;
    for (; round < rounds; ++round) {
      if ((worst = sweep(rows, island, nu, impulse)) <= tolerance) break;
      saved_ = impulse;
      if (!refine(rows, island, nu, impulse)) continue;
      const double after = sweep(rows, island, nu, impulse);
      if (after <= worst) {
        if ((worst = after) <= tolerance) break;
        continue;
      }
      restore(rows, island, nu, impulse);
    }
    if (round == rounds) worst = on_bodies(friction.empty() ? tolerance : 1e2 * tolerance);
    left = std::max(left, worst);
  }
  return left;
}

template class ContactRows<2>;
template class ContactRows<3>;
template class ContactSolver<2>;
template class ContactSolver<3>;

}  // namespace dodyn::rigid
