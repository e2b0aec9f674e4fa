#include <algorithm>
#include <limits>

#include "geometry/hyperplane_solver.hpp"

namespace dodyn::geometry {
namespace {

// Solves h x = b for a small symmetric positive definite h, by h = L D L^T.
template <int m>
Eigen::Matrix<double, m, 1> solve_definite(const Eigen::Matrix<double, m, m>& h, Eigen::Matrix<double, m, 1> b) {
  double l[m][m], d[m];
  for (int i = 0; i < m; ++i) {
    d[i] = h(i, i);
    for (int j = 0; j < i; ++j) {
      double v = h(i, j);
      for (int k = 0; k < j; ++k) v -= l[i][k] * d[k] * l[j][k];
      l[i][j] = v / d[j];
    }
    for (int j = 0; j < i; ++j) d[i] -= l[i][j] * l[i][j] * d[j];
    for (int j = 0; j < i; ++j) b[i] -= l[i][j] * b[j];
  }
  for (int i = m - 1; i >= 0; --i) {
    b[i] /= d[i];
    for (int j = i + 1; j < m; ++j) b[i] -= l[j][i] * b[j];
  }
  return b;
}

}  // namespace

// Degenerate optimum: computes the multipliers of minimum norm, and alpha of minimum norm if it is not unique.
template <int n>
void HyperplaneSolver<n>::resolve(Contact<n>& c) {
  least_norm_multipliers();
  if (is_well_inside()) return;
  // Directions across beta in which the multipliers' support extends. alpha is unique if they span all.
  Eigen::Matrix<double, across, across> spread = Eigen::Matrix<double, across, across>::Zero();
  Across centre[2];
  double extent = 0.0;
  for (int side = 0; side < 2; ++side) {
    centre[side].setZero();
    for (int a = 0; a < active_[side]; ++a) centre[side] += pi_[side][a] * across_[side][a];
    for (int a = 0; a < active_[side]; ++a) {
      const Across d = across_[side][a] - centre[side];
      spread += pi_[side][a] * d * d.transpose();
      extent = std::max(extent, d.squaredNorm());
    }
  }
  const double min_extent = feature_tolerance * std::max(extent, size_ * size_ * 1e-12);
  Across along = Across::Zero();  // if the face's projection is a line: its unit vector
  int rank = 0;
  if constexpr (n == 2) {
    rank = spread(0, 0) > min_extent ? 1 : 0;
  } else {
    const double half = 0.5 * (spread(0, 0) - spread(1, 1)), mean = 0.5 * spread.trace();
    const double root = std::hypot(half, spread(0, 1));
    rank = (mean + root > min_extent) + (mean - root > min_extent);
    if (rank == 1) {
      along = half >= 0.0 ? Across(half + root, spread(0, 1)) : Across(spread(0, 1), root - half);
      along.normalize();
    }
  }
  if (rank == across) return;
  const Across optimal = t_;
  c.dual_degenerate = true;
  least_norm_slope(rank, along);
  // Only corners in the affine hull of the multipliers' support are active for every optimal alpha.
  find_active();
  for (int side = 0; side < 2; ++side) {
    int kept = 0;
    for (int a = 0; a < active_[side]; ++a) {
      Across d = project(side, list_[side][a]).template head<across>();
      if (side == 0) d += offset_.template head<across>();
      d -= centre[side];
      if constexpr (n == 3)
        if (rank == 1) d -= d.dot(along) * along;
      if (d.norm() <= 100.0 * feature_) list_[side][kept++] = list_[side][a];
    }
    active_[side] = kept;
  }
  if (active_[0] > 0 && active_[1] > 0 && least_norm_multipliers()) {
    c.primal_degenerate = active_[0] + active_[1] > rank + 2;
  } else {  // features that differ by rounding: uses the vertex where the simplex method ended
    t_ = optimal;
    basic_multipliers();
  }
}

// min |pi|^2 s.t. sum of pi over either side = 1, sum_1 pi z - sum_2 pi z = 0, pi >= 0: (2.70) with the sign
// constraint. Returns false if rounding leaves no such multipliers; then basic_multipliers() sets them.
template <int n>
bool HyperplaneSolver<n>::least_norm_multipliers() {
  for (int side = 0; side < 2; ++side) {
    const Eigen::Matrix<double, n, across> axes = turned_[side].template leftCols<across>();
    const Across offset = side == 0 ? Across(offset_.template head<across>()) : Across(Across::Zero());
    for (int a = 0; a < active_[side]; ++a)
      across_[side][a].noalias() = axes.transpose() * k_[side]->corner(list_[side][a]) + offset;
  }
  if (multipliers_on_support()) return true;
  newton_multipliers();
  if (is_on_line()) return true;
  basic_multipliers();
  return false;
}

// Returns whether the multipliers' point is on the line, within the tolerance of a feature.
template <int n>
bool HyperplaneSolver<n>::is_on_line() const {
  Across off = Across::Zero();
  for (int side = 0; side < 2; ++side)
    for (int a = 0; a < active_[side]; ++a) off += (side == 0 ? pi_[side][a] : -pi_[side][a]) * across_[side][a];
  return off.norm() <= feature_;
}

// On a given support (corners with pi > 0) the optimum is pi = 1/m +- <z - mean z, lambda>. m: number of its corners on
// the side; lambda = -(S_1 + S_2)^-1 (mean z_1 - mean z_2); S: sums of squares about the means. Starts from all
// corners. Every round uses the support of the last multipliers: Newton's method with the sums eliminated, which ends
// when the support is unchanged. Returns false if it does not end within six rounds, or if the multipliers miss the
// line.
template <int n>
bool HyperplaneSolver<n>::multipliers_on_support() {
  constexpr int rounds = 6;
  for (int round = 0; round < rounds; ++round) {
    std::array<double, 2> share;
    std::array<Across, 2> mean;
    Eigen::Matrix<double, across, across> s = Eigen::Matrix<double, across, across>::Zero();
    for (int side = 0; side < 2; ++side) {
      int size = 0;
      Across sum = Across::Zero();
      for (int a = 0; a < active_[side]; ++a)
        if (round == 0 || pi_[side][a] > 0.0) {
          sum += across_[side][a];
          ++size;
        }
      if (size == 0) return false;
      share[side] = 1.0 / size;
      mean[side] = share[side] * sum;
      if (size == 1) continue;
      for (int a = 0; a < active_[side]; ++a)
        if (round == 0 || pi_[side][a] > 0.0) {
          const Across d = across_[side][a] - mean[side];
          s += d * d.transpose();
        }
    }
    const Across apart = mean[0] - mean[1];
    Across lambda = Across::Zero();
    if constexpr (n == 2) {
      if (s(0, 0) > 0.0) lambda = -apart / s(0, 0);
    } else {
      const double trace = s.trace(), determinant = s(0, 0) * s(1, 1) - s(0, 1) * s(0, 1);
      if (determinant > 1e-12 * trace * trace)
        lambda =
            -Across(s(1, 1) * apart[0] - s(0, 1) * apart[1], s(0, 0) * apart[1] - s(0, 1) * apart[0]) / determinant;
      else if (trace > 0.0)  // all points are collinear: S = trace u u^T
        lambda = -s * apart / (trace * trace);
    }
    bool same = true;
    Across off = Across::Zero();
    for (int side = 0; side < 2; ++side) {
      const Across slope = side == 0 ? lambda : Across(-lambda);
      const double at_zero = share[side] - slope.dot(mean[side]);
      Across sum = Across::Zero();
      for (int a = 0; a < active_[side]; ++a) {
        const double pi = at_zero + slope.dot(across_[side][a]);
        same = same && (pi > 0.0) == (round == 0 || pi_[side][a] > 0.0);
        pi_[side][a] = std::max(pi, 0.0);
        sum += pi_[side][a] * across_[side][a];
      }
      off += side == 0 ? sum : Across(-sum);
    }
    if (same) return off.norm() <= 0.1 * feature_;
  }
  return false;
}

// Takes the multipliers of the basic columns.
template <int n>
void HyperplaneSolver<n>::basic_multipliers() {
  for (int side = 0; side < 2; ++side) {
    int count = 0;
    for (int k = 0; k < count_; ++k) {
      const auto corner = static_cast<std::int16_t>(side == 0 ? p_[k].i : p_[k].j);
      int a = 0;
      while (a < count && list_[side][a] < corner) ++a;
      if (a == count || list_[side][a] != corner) {
        for (int b = count++; b > a; --b) {
          list_[side][b] = list_[side][b - 1];
          pi_[side][b] = pi_[side][b - 1];
        }
        list_[side][a] = corner;
        pi_[side][a] = 0.0;
      }
      pi_[side][a] += weight_[k];
    }
    active_[side] = count;
  }
}

// Returns whether the line is well inside a well-shaped triangle (in the plane a segment) of basic columns. Then alpha
// is unique.
template <int n>
bool HyperplaneSolver<n>::is_well_inside() const {
  if (count_ < n || weight_.minCoeff() < 1e-3) return false;
  if constexpr (n == 2) {
    return std::abs(p_[1].z[0] - p_[0].z[0]) > 1e-3 * size_;
  } else {
    const Across e1 = p_[1].z - p_[0].z, e2 = p_[2].z - p_[0].z;
    return std::abs(cross(e1, e2)) > 1e-3 * std::max(e1.squaredNorm() + e2.squaredNorm(), size_ * size_);
  }
}

// The optimum is pi = max(0, C^T lambda), C the n + 1 rows of the constraints. Newton's method on C pi(lambda) = d.
template <int n>
void HyperplaneSolver<n>::newton_multipliers() {
  constexpr int rows = n + 1;
  using Small = Eigen::Matrix<double, rows, 1>;
  using Square = Eigen::Matrix<double, rows, rows>;
  double extent = 0.0;
  for (int side = 0; side < 2; ++side)
    for (int a = 0; a < active_[side]; ++a) extent = std::max(extent, across_[side][a].cwiseAbs().maxCoeff());
  const double scale = extent > 0.0 ? 1.0 / extent : 0.0;
  const auto row = [&](int side, int a) {
    Small r;
    r[0] = side == 0 ? 1.0 : 0.0;
    r[1] = side == 0 ? 0.0 : 1.0;
    r.template tail<across>() = (side == 0 ? scale : -scale) * across_[side][a];
    return r;
  };
  Small wanted = Small::Zero(), lambda = Small::Zero();
  wanted[0] = wanted[1] = 1.0;
  const auto potential = [&](const Small& l) {  // concave; its gradient is the residual
    double half_norm2 = 0.0;
    for (int side = 0; side < 2; ++side)
      for (int a = 0; a < active_[side]; ++a) {
        const double pi = std::max(0.0, row(side, a).dot(l));
        half_norm2 += 0.5 * pi * pi;
      }
    return wanted.dot(l) - half_norm2;
  };
  // Full steps usually converge in a few iterations. The line search ensures convergence from any start.
  for (int iteration = 0; iteration < 60; ++iteration) {
    Square h = Square::Zero();
    Small residual = wanted;
    for (int side = 0; side < 2; ++side)
      for (int a = 0; a < active_[side]; ++a) {
        const Small r = row(side, a);
        const double pi = r.dot(lambda);
        pi_[side][a] = std::max(0.0, pi);
        if (iteration > 0 && pi <= 0.0) continue;
        residual -= pi * r;
        h += r * r.transpose();
      }
    if (iteration > 0 && residual.cwiseAbs().maxCoeff() < 1e-14) break;
    h.diagonal().array() += 1e-12;  // C may be rank-deficient; the iteration corrects the effect of this shift
    Small step = solve_definite<rows>(h, residual);
    if (iteration >= 8) {
      const double value = potential(lambda);
      for (int halved = 0; halved < 40 && potential(lambda + step) < value - 1e-15 * std::abs(value); ++halved)
        step *= 0.5;
    }
    lambda += step;
  }
  for (int side = 0; side < 2; ++side) {
    double sum = 0.0;
    for (int a = 0; a < active_[side]; ++a) sum += pi_[side][a];
    for (int a = 0; a < active_[side]; ++a) pi_[side][a] /= sum;
  }
}

// min |t| s.t. <t, z_w> >= F - mu_w for every corner w of M. Constraints are found one by one by pricing. If the face's
// projection is a line (rank 1), the component of t along it is given.
template <int n>
void HyperplaneSolver<n>::least_norm_slope(int rank, const Across& along) {
  struct Cut {
    Across z;
    double min_height;
  };
  std::array<Cut, 24> cuts;
  int count = 0;
  const Across optimal = t_;
  const Across base = rank == 0 ? Across(Across::Zero()) : Across(along.dot(t_) * along);
  t_ = base;
  for (;;) {
    const double tolerance = 50.0 * rounding_ * (1.0 + t_.norm());
    if (price() >= value_ - tolerance) return;
    const Column w = lowest_column();
    Cut cut{w.z, value_ - w.mu};
    if (rank == 1) {  // only the component across `along` is free
      if constexpr (n == 3) {
        cut.z -= along.dot(w.z) * along;
        cut.min_height -= along.dot(w.z) * along.dot(base);
      }
    }
    if (count == std::ssize(cuts) || cut.z.norm() <= feature_) break;
    cuts[count++] = cut;
    // The point of minimum norm that satisfies all cuts is on one or two cuts.
    double best = std::numeric_limits<double>::infinity();
    Across chosen = optimal - base;
    const auto consider = [&](const Across& s) {
      if (!(s.squaredNorm() < best)) return;
      for (int k = 0; k < count; ++k)
        if (cuts[k].z.dot(s) < cuts[k].min_height - 20.0 * rounding_ * (1.0 + s.norm())) return;
      best = s.squaredNorm();
      chosen = s;
    };
    for (int a = 0; a < count; ++a) {
      consider(cuts[a].min_height / cuts[a].z.squaredNorm() * cuts[a].z);
      if constexpr (n == 3) {
        for (int b = 0; rank == 0 && b < a; ++b) {
          const double det = cross(cuts[a].z, cuts[b].z);
          if (std::abs(det) <= 1e-12 * cuts[a].z.norm() * cuts[b].z.norm()) continue;
          consider(Across(cuts[a].min_height * cuts[b].z[1] - cuts[b].min_height * cuts[a].z[1],
                          cuts[a].z[0] * cuts[b].min_height - cuts[b].z[0] * cuts[a].min_height) /
                   det);
        }
      }
    }
    t_ = base + chosen;
    if (!std::isfinite(best)) break;
  }
  t_ = optimal;
  price();
}

template void HyperplaneSolver<2>::resolve(Contact<2>&);
template void HyperplaneSolver<3>::resolve(Contact<3>&);
template void HyperplaneSolver<2>::basic_multipliers();
template void HyperplaneSolver<3>::basic_multipliers();

}  // namespace dodyn::geometry
