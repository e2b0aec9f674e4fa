#include "mechanics/impulses.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace dodyn::mechanics {
namespace {

// Islands of more contacts than this are solved on their bodies.
constexpr std::size_t large = 24;
// Resistance of a contact there, times its metric: at first and at most.
constexpr double soft = 1e4, stiff = 1e6;

// Sums over one side's dofs: of a free body, whose number is known, without a loop.
template <int n>
inline double dot(const double* a, const double* b, int size) {
  if (size == Multibody<n>::twist) return Eigen::Map<const Twist<n>>(a).dot(Eigen::Map<const Twist<n>>(b));
  double sum = 0.0;
  for (int i = 0; i < size; ++i) sum += a[i] * b[i];
  return sum;
}
template <int n>
inline void add(double factor, const double* a, double* b, int size) {
  if (size == Multibody<n>::twist) {
    Eigen::Map<Twist<n>> to(b);
    to += factor * Eigen::Map<const Twist<n>>(a);
    return;
  }
  for (int i = 0; i < size; ++i) b[i] += factor * a[i];
}

}  // namespace

template <int n>
void ContactRows<n>::build(const Multibody<n>& multibody, std::span<const ContactPoint<n>> points, bool tangents) {
  directions_ = tangents ? n : 1;
  multibody_ = &multibody;
  contacts_.clear();
  rows_.clear();
  for (const auto& point : points) {
    Entry entry;
    entry.direction.col(0) = point.normal;
    if constexpr (n == 2) {
      entry.direction.col(1) << -point.normal[1], point.normal[0];
    } else {
      entry.direction.col(1) = point.normal.unitOrthogonal();
      entry.direction.col(2) = point.normal.cross(entry.direction.col(1));
    }
    for (int s = 0; s < 2; ++s) {
      const int body = point.body[s];
      const auto range = multibody.range(body);
      auto& side = entry.side[s];
      side = {body, range.first, range.size, static_cast<int>(rows_.size())};
      // two bodies of one tree share its dofs: one side carries both
      const bool joined = s == 1 && range.size > 0 && range.first == entry.side[0].first && entry.side[0].size > 0;
      if (joined) side.size = 0;
      if (range.size == 0) continue;
      if (!joined) rows_.resize(rows_.size() + directions_ * range.size);
      const Vector<n> arm = point.point - multibody.position(body);
      for (int k = 0; k < directions_; ++k) {
        const Vector<n> d = s == 0 ? Vector<n>(entry.direction.col(k)) : Vector<n>(-entry.direction.col(k));
        Twist<n> w;
        w.template head<n>() = d;
        w.template tail<Multibody<n>::spin>() = cross(arm, d);
        if (joined) {
          Eigen::VectorXd both(range.size);
          multibody.reduce(body, w, both.data());
          Eigen::Map<Eigen::VectorXd>(rows_.data() + entry.side[0].data + k * range.size, range.size) += both;
        } else {
          multibody.reduce(body, w, rows_.data() + side.data + k * range.size);
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
        multibody.solve(points[i].body[s], columns_.data() + side.data + k * side.size);
    }
  for (int c = 0; c < size(); ++c)
    for (int i = 0; i < directions_; ++i)
      for (int j = 0; j < directions_; ++j) contacts_[c].metric(i, j) = coupling(c, i, c, j);
  // Where a joint or a fixed body allows no relative motion (two bodies that touch in their joint), no impulse changes
  // it: an infinite resistance keeps the impulse at zero.
  for (int c = 0; c < size(); ++c) {
    double free = 0.0;
    for (const int b : points[c].body) free += multibody.is_fixed(b) ? 0.0 : 1.0 / multibody.mass(b);
    for (int k = 0; k < directions_; ++k)
      if (double& own = contacts_[c].metric(k, k); !(own > 1e-9 * free)) own = std::numeric_limits<double>::infinity();
  }
  find_islands(multibody.dofs());
}

template <int n>
double ContactRows<n>::relative_velocity(int contact, int direction, const Eigen::VectorXd& nu) const {
  double sum = 0.0;
  for (const auto& side : contacts_[contact].side)
    if (side.size > 0)
      sum += dot<n>(rows_.data() + side.data + direction * side.size, nu.data() + side.first, side.size);
  return sum;
}

template <int n>
double ContactRows<n>::speed(int contact, int direction, const Eigen::VectorXd& nu) const {
  double sum = 0.0;
  for (const auto& side : contacts_[contact].side)
    if (side.size > 0)
      sum += std::abs(dot<n>(rows_.data() + side.data + direction * side.size, nu.data() + side.first, side.size));
  return sum;
}

template <int n>
void ContactRows<n>::add_impulse(int contact, int direction, double impulse, Eigen::VectorXd& nu) const {
  for (const auto& side : contacts_[contact].side)
    if (side.size > 0)
      add<n>(impulse, columns_.data() + side.data + direction * side.size, nu.data() + side.first, side.size);
}

template <int n>
void ContactRows<n>::add_momentum(int contact, int direction, double impulse, Eigen::VectorXd& p) const {
  for (const auto& side : contacts_[contact].side)
    if (side.size > 0)
      add<n>(impulse, rows_.data() + side.data + direction * side.size, p.data() + side.first, side.size);
}

template <int n>
double ContactRows<n>::coupling(int a, int i, int b, int j) const {
  double sum = 0.0;
  for (const auto& p : contacts_[a].side)
    for (const auto& q : contacts_[b].side)
      if (p.first == q.first && p.size > 0 && q.size > 0)
        sum += dot<n>(rows_.data() + p.data + i * p.size, columns_.data() + q.data + j * q.size, p.size);
  return sum;
}

template <int n>
void ContactRows<n>::find_islands(int dofs) {
  // bodies are told apart by their first dof
  parent_.resize(dofs);
  for (int i = 0; i < dofs; ++i) parent_[i] = i;
  const auto root = [&](int i) {
    while (parent_[i] != i) i = parent_[i] = parent_[parent_[i]];
    return i;
  };
  const auto member = [&](const Entry& e) { return root(e.side[e.side[0].size > 0 ? 0 : 1].first); };
  for (const auto& e : contacts_)
    if (e.side[0].size > 0 && e.side[1].size > 0) parent_[root(e.side[0].first)] = root(e.side[1].first);
  order_.resize(contacts_.size());
  for (std::size_t c = 0; c < order_.size(); ++c) order_[c] = static_cast<int>(c);
  std::stable_sort(order_.begin(), order_.end(),
                   [&](int a, int b) { return member(contacts_[a]) < member(contacts_[b]); });
  starts_.clear();
  for (std::size_t k = 0; k < order_.size(); ++k)
    if (k == 0 || member(contacts_[order_[k]]) != member(contacts_[order_[k - 1]]))
      starts_.push_back(static_cast<int>(k));
  starts_.push_back(static_cast<int>(order_.size()));
}

namespace {

// The 2 by 2 block of the tangents in space.
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
    const double limit = friction_[c] * own[0];
    if (limit == 0.0 && own[1] == 0.0 && own[n - 1] == 0.0) continue;
    if constexpr (n == 2) {
      change(c, 1, std::clamp(own[1] - rows.relative_velocity(c, 1, nu) / rows.metric(c, 1, 1), -limit, limit));
    } else {
      // the impulse that stops sliding if the cone holds it, else the projection of a step of safe length
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

// One Newton step: contacts keep pressing or not, sticking or sliding as they do.
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
    const bool slides = mu > 0.0 && slide >= mu * own[0] * (1.0 - 1e-9);
    if (slides)
      for (int k = 1; k < n; ++k) normal.along[k] = mu * own[k] / slide;
    unknowns_.push_back(normal);
    if (mu > 0.0 && !slides)
      for (int k = 1; k < n; ++k) unknowns_.push_back({c, k, Vector<n>(Vector<n>::Unit(k))});
  }
  const int size = static_cast<int>(unknowns_.size());
  if (size == 0) return false;
  system_.resize(size, size);
  right_.resize(size);
  for (int r = 0; r < size; ++r) {
    const auto& row = unknowns_[r];
    right_[r] =
        (row.direction == 0 ? target_[row.contact] : 0.0) - rows.relative_velocity(row.contact, row.direction, nu);
    for (int s = 0; s < size; ++s) {
      const auto& column = unknowns_[s];
      double sum = 0.0;
      for (int k = 0; k < n; ++k)
        if (column.along[k] != 0.0)
          sum += column.along[k] * rows.coupling(row.contact, row.direction, column.contact, k);
      system_(r, s) = sum;
    }
  }
  // redundant contacts make it singular but consistent: shift, factor, and correct for the shift
  factor_.compute(system_ + 1e-9 * system_.diagonal().mean() * Eigen::MatrixXd::Identity(size, size));
  solution_.setZero(size);
  rest_ = right_;
  for (int k = 0; k < 4; ++k) {
    solution_ += factor_.solve(rest_);
    rest_.noalias() = right_ - system_ * solution_;
  }
  if (!solution_.allFinite()) return false;
  for (int s = 0; s < size; ++s) {
    const auto& column = unknowns_[s];
    for (int k = 0; k < n; ++k)
      if (column.along[k] != 0.0) {
        rows.add_impulse(column.contact, k, column.along[k] * solution_[s], nu);
        impulse[n * column.contact + k] += column.along[k] * solution_[s];
      }
  }
  return true;
}

// The nodes of an island's equation: free bodies, and the dofs of trees in pieces of a body's width.
template <int n>
void ContactSolver<n>::gather(const ContactRows<n>& rows, std::span<const int> island) {
  const auto pieces = [](int size) { return (size + width - 1) / width; };
  const int directions = friction_.empty() ? 1 : n;
  live_.clear();
  pairs_.clear();
  node_of_.assign(rows.multibody().dofs(), -1);
  int nodes = 0;
  for (const int c : island) {
    if (!std::isfinite(rows.metric(c, 0, 0)) || !std::isfinite(target_[c])) continue;
    Live live;
    live.contact = c;
    live.admittance.setZero();
    live.admittance[0] = 1.0 / rows.metric(c, 0, 0);
    for (int k = 1; k < directions; ++k)
      live.admittance[k] = 1.0 / std::max(rows.metric(c, 1, 1), rows.metric(c, n - 1, n - 1));
    live_.push_back(live);
    int from[2], to[2];
    for (int s = 0; s < 2; ++s) {
      const auto& side = rows.sides(c)[s];
      from[s] = to[s] = 0;
      if (side.size == 0) continue;
      if (node_of_[side.first] < 0) {
        node_of_[side.first] = nodes;
        nodes += pieces(side.size);
        for (int i = node_of_[side.first]; i < nodes; ++i)
          for (int j = node_of_[side.first]; j < i; ++j) pairs_.emplace_back(i, j);
      }
      from[s] = node_of_[side.first];
      to[s] = from[s] + pieces(side.size);
    }
    for (int i = from[0]; i < to[0]; ++i)
      for (int j = from[1]; j < to[1]; ++j) pairs_.emplace_back(i, j);
  }
  cholesky_.analyse(nodes, pairs_);
  factored_ = false;

  mass_.clear();
  shares_.clear();
  links_.clear();
  const auto link = [&](int i, int j) { return i == j ? -1 : cholesky_.find(std::max(i, j), std::min(i, j)); };
  for (auto& live : live_) {
    live.shares = static_cast<int>(shares_.size());
    live.links = static_cast<int>(links_.size());
    for (const auto& side : rows.sides(live.contact)) {
      if (side.size == 0) continue;
      const int first = node_of_[side.first], count = pieces(side.size);
      for (int i = 0; i < count; ++i) {
        Share share{cholesky_.place(first + i), Eigen::Matrix<double, width, n>::Zero()};
        const int size = std::min(width, side.size - width * i);
        for (int k = 0; k < directions; ++k)
          share.rows.col(k).head(size) = Eigen::Map<const Eigen::VectorXd>(rows.row(side, k) + width * i, size);
        shares_.push_back(share);
      }
    }
    for (std::size_t i = live.shares; i < shares_.size(); ++i)
      for (std::size_t j = live.shares; j < i; ++j) links_.push_back(link(shares_[i].place, shares_[j].place));
  }
  for (auto& live : live_)
    for (const auto& side : rows.sides(live.contact)) {
      if (side.size == 0 || node_of_[side.first] < 0) continue;
      const int first = std::exchange(node_of_[side.first], -1), count = pieces(side.size);
      Eigen::MatrixXd mass = Eigen::MatrixXd::Identity(width * count, width * count);
      mass.topLeftCorner(side.size, side.size) = rows.multibody().mass_matrix(side.body);
      for (int i = 0; i < count; ++i)
        for (int j = 0; j <= i; ++j) {
          int row = cholesky_.place(first + i), column = cholesky_.place(first + j);
          typename BlockCholesky<width>::Block block = mass.block<width, width>(width * i, width * j);
          if (row < column) {
            std::swap(row, column);
            block.transposeInPlace();
          }
          mass_.push_back({row, column, link(row, column), block});
        }
    }
}

// The projection of what a contact's impulse would be on to what is allowed: pressing, and within the limit of
// friction.
template <int n>
Vector<n> ContactSolver<n>::allowed(Live& live, const Vector<n>& wanted) const {
  Vector<n> out = Vector<n>::Zero();
  live.mode = wanted[0] > 0.0 ? Live::on : Live::off;
  out[0] = std::max(0.0, wanted[0]);
  if (friction_.empty()) return out;
  const Vector<n - 1> along = wanted.template tail<n - 1>();
  const double size = along.norm();
  if (size <= live.limit) {
    out.template tail<n - 1>() = along;
  } else {
    out.template tail<n - 1>() = live.limit / size * along;
    if (live.mode == Live::on) live.mode = Live::slides;
  }
  return out;
}

// Reads errors and impulses; the largest change (m/s) that the projection would make.
template <int n>
double ContactSolver<n>::residual(const ContactRows<n>& rows, const Eigen::VectorXd& nu,
                                  const std::vector<double>& impulse) {
  const int directions = friction_.empty() ? 1 : n;
  double worst = 0.0;
  for (auto& live : live_) {
    const int c = live.contact;
    live.error.setZero();
    live.impulse.setZero();
    for (int k = 0; k < directions; ++k) {
      live.error[k] = (k == 0 ? target_[c] : 0.0) - rows.relative_velocity(c, k, nu);
      live.impulse[k] = impulse[n * c + k];
    }
    live.limit = friction_.empty() ? 0.0 : friction_[c] * live.impulse[0];
    const Vector<n> change = allowed(live, live.impulse + live.admittance.cwiseProduct(live.error)) - live.impulse;
    for (int k = 0; k < directions; ++k)
      if (change[k] != 0.0) worst = std::max(worst, std::abs(change[k]) / live.admittance[k]);
  }
  return worst;
}

// One step of the augmented Lagrangian method (proximal multipliers): with impulses l, minimises over the change x of
// the velocities 1/2 x^T M x + sum over contacts of the envelope of resistance K = stiffness/metric, whose slope is the
// projection P(l + K (error - J x)) on to the impulses allowed, and takes P for the next l. The limits of friction are
// those of the normal impulses at the start. Newton's method with an exact search along the line: where P is linear,
// which it is but for sliding in space, it ends after finitely many steps.
template <int n>
bool ContactSolver<n>::step(const ContactRows<n>& rows, double stiffness, Eigen::VectorXd& nu,
                            std::vector<double>& impulse) {
  if (stiffness != std::exchange(stiffness_, stiffness)) factored_ = false;
  const int directions = friction_.empty() ? 1 : n;
  const auto shares_of = [&](const Live& live) {
    const auto end = &live == &live_.back() ? shares_.size() : static_cast<std::size_t>((&live + 1)->shares);
    return std::span<const Share>(shares_.data() + live.shares, shares_.data() + end);
  };
  const auto along = [&](const Live& live, const Eigen::VectorXd& x) {
    Vector<n> sum = Vector<n>::Zero();
    for (const auto& share : shares_of(live))
      sum.noalias() += share.rows.transpose() * x.segment<width>(width * share.place);
    return sum;
  };
  const int size = width * cholesky_.nodes();
  moved_.setZero(size);
  momentum_.setZero(size);
  for (auto& live : live_) {
    live.stiffness = stiffness * live.admittance;
    live.moved.setZero();
  }
  bool full = false, done = false;  // whether the last step went all the way
  for (int k = 0; k < 20; ++k) {
    residual_ = -momentum_;
    bool same = factored_;
    for (auto& live : live_) {
      live.wanted = live.impulse + live.stiffness.cwiseProduct(live.error - live.moved);
      live.result = allowed(live, live.wanted);
      same = same && live.mode == live.factored;
      const Vector<n> change = live.result - live.impulse;
      if (change.isZero(0.0)) continue;
      for (const auto& share : shares_of(live))
        residual_.segment<width>(width * share.place).noalias() += share.rows * change;
    }
    if ((done = same && full)) break;
    if (!same) {
      cholesky_.set_zero();
      for (const auto& m : mass_) (m.index < 0 ? cholesky_.diagonal(m.row) : cholesky_.below(m.index)) += m.block;
      for (auto& live : live_) {
        live.factored = live.mode;
        if (live.mode == Live::off) continue;
        Matrix<n> slope = live.stiffness.asDiagonal();
        if (live.mode == Live::slides) {
          const Vector<n - 1> t = live.wanted.template tail<n - 1>();
          const double length = t.norm();
          slope.template bottomRightCorner<n - 1, n - 1>() =
              live.stiffness[1] * live.limit / length *
              (Matrix<n - 1>::Identity() - t * t.transpose() / (length * length));
        }
        const auto shares = shares_of(live);
        const int* link = links_.data() + live.links;
        for (std::size_t i = 0; i < shares.size(); ++i) {
          const Eigen::Matrix<double, width, n> weighted = shares[i].rows * slope;
          cholesky_.diagonal(shares[i].place).noalias() += weighted * shares[i].rows.transpose();
          for (std::size_t j = 0; j < i; ++j, ++link)
            if (shares[i].place > shares[j].place)
              cholesky_.below(*link).noalias() += weighted * shares[j].rows.transpose();
            else
              cholesky_.below(*link).noalias() += shares[j].rows * weighted.transpose();
        }
      }
      factored_ = cholesky_.factor();
      if (!factored_) return false;
    }
    direction_ = residual_;
    cholesky_.solve(direction_);
    if (!direction_.allFinite()) {
      factored_ = false;
      return false;
    }
    const double steepest = -direction_.dot(residual_);
    if (k > 0 && -steepest * stiffness <= 1e-6 * moved_.dot(momentum_)) {
      done = true;
      break;
    }
    pushed_.setZero(size);
    for (const auto& m : mass_) {
      pushed_.segment<width>(width * m.row).noalias() += m.block * direction_.segment<width>(width * m.column);
      if (m.row != m.column)
        pushed_.segment<width>(width * m.column).noalias() +=
            m.block.transpose() * direction_.segment<width>(width * m.row);
    }
    // the slope of what is minimised, along the direction
    const double inertia = direction_.dot(momentum_), curvature = direction_.dot(pushed_);
    for (auto& live : live_) live.wanted = along(live, direction_);
    const auto slope = [&](double s) {
      double sum = inertia + s * curvature;
      for (auto& live : live_) {
        const Vector<n> at = live.impulse + live.stiffness.cwiseProduct(live.error - live.moved - s * live.wanted);
        sum -= live.wanted.dot(allowed(live, at) - live.impulse);
      }
      return sum;
    };
    double s = 1.0;
    if (double high = slope(1.0); high > -0.1 * steepest) {
      double low = steepest, left = 0.0, right = 1.0;
      for (int i = 0; i < 20; ++i) {
        s = left + (right - left) * low / (low - high);
        const double here = slope(s);
        if (std::abs(here) <= -0.1 * steepest) break;
        if (here > 0.0) {
          right = s;
          high = here;
          low *= 0.5;
        } else {
          left = s;
          low = here;
          high *= 0.5;
        }
      }
    }
    full = s == 1.0;
    moved_ += s * direction_;
    momentum_ += s * pushed_;
    for (auto& live : live_) live.moved += s * live.wanted;
  }
  if (!done) return false;
  for (auto& live : live_) {
    const int c = live.contact;
    for (int k = 0; k < directions; ++k)
      if (const double change = live.result[k] - live.impulse[k]; change != 0.0) {
        rows.add_impulse(c, k, change, nu);
        impulse[n * c + k] = live.result[k];
      }
  }
  return true;
}

template <int n>
double ContactSolver<n>::solve_large(const ContactRows<n>& rows, std::span<const int> island, double tolerance,
                                     Eigen::VectorXd& nu, std::vector<double>& impulse) {
  double worst = sweep(rows, island, nu, impulse);
  if (worst <= tolerance) return worst;
  gather(rows, island);
  double stiffness = soft;
  for (int round = 0; round < 30 && (worst = residual(rows, nu, impulse)) > tolerance; ++round) {
    if (!step(rows, stiffness, nu, impulse))
      stiffness *= 0.01;
    else if (friction_.empty())
      stiffness = std::min(10.0 * stiffness, stiff);
  }
  return worst;
}

template <int n>
double ContactSolver<n>::solve(const ContactRows<n>& rows, std::span<const double> target,
                               std::span<const double> friction, double tolerance, Eigen::VectorXd& nu,
                               std::vector<double>& impulse) {
  target_ = target;
  friction_ = friction;
  double left = 0.0;
  for (int i = 0; i < rows.islands(); ++i) {
    const auto island = rows.island(i);
    if (island.size() > large) {
      left = std::max(left, solve_large(rows, island, friction.empty() ? tolerance : 1e6 * tolerance, nu, impulse));
      continue;
    }
    double worst = 0.0;
    for (int round = 0; round < 30; ++round) {
      // digits that do not come soon are not worth waiting for
      const double enough = round < 6 ? tolerance : round < 15 ? 1e2 * tolerance : 1e5 * tolerance;
      for (int k = 0; k < (round < 5 ? 1 : round < 10 ? 5 : 30); ++k)
        if ((worst = sweep(rows, island, nu, impulse)) <= enough) break;
      if (worst <= enough) break;
      saved_ = impulse;
      if (!refine(rows, island, nu, impulse)) continue;
      const double after = sweep(rows, island, nu, impulse);
      if (after <= worst) {
        if ((worst = after) <= enough) break;
        continue;
      }
      for (const int c : island)
        for (int k = 0; k < n; ++k)
          if (const double back = saved_[n * c + k] - impulse[n * c + k]; back != 0.0) {
            rows.add_impulse(c, k, back, nu);
            impulse[n * c + k] = saved_[n * c + k];
          }
    }
    left = std::max(left, worst);
  }
  return left;
}

template class ContactRows<2>;
template class ContactRows<3>;
template class ContactSolver<2>;
template class ContactSolver<3>;

}  // namespace dodyn::mechanics
