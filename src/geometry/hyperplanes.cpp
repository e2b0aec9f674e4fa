#include "geometry/hyperplanes.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <stdexcept>

namespace dodyn::geometry {
namespace {

// Four lanes of numbers, as one register or as two. Both give the same results, bit for bit.
template <int lanes>
struct Register;
template <>
struct Register<2> {
  using Numbers = double __attribute__((vector_size(16)));
  using Indices = long long __attribute__((vector_size(16)));
};
template <>
struct Register<4> {
  using Numbers = double __attribute__((vector_size(32)));
  using Indices = long long __attribute__((vector_size(32)));
};

// The corner lowest in direction d, the first such in its lane; leaves the height of every corner in `heights`.
// `axes`: coordinates axis by axis, `size` a multiple of 4.
template <int n, int lanes>
[[gnu::always_inline]] inline int lowest_lanes(const double* axes, int size, const double* d, double* heights) {
  using Numbers = typename Register<lanes>::Numbers;
  using Indices = typename Register<lanes>::Indices;
  constexpr int registers = 4 / lanes;
  Numbers low[registers];
  Indices at[registers], number[registers];
  for (int r = 0; r < registers; ++r)
    for (int lane = 0; lane < lanes; ++lane) {
      low[r][lane] = std::numeric_limits<double>::infinity();
      at[r][lane] = 0;
      number[r][lane] = r * lanes + lane;
    }
  for (int i = 0; i < size; i += 4)
    for (int r = 0; r < registers; ++r) {
      Numbers height, x;
      std::memcpy(&x, axes + i + r * lanes, sizeof x);
      height = d[0] * x;
      for (int a = 1; a < n; ++a) {
        std::memcpy(&x, axes + a * size + i + r * lanes, sizeof x);
        height += d[a] * x;
      }
      std::memcpy(heights + i + r * lanes, &height, sizeof height);
      const Indices lower = height < low[r];
      low[r] = lower ? height : low[r];
      at[r] = lower ? number[r] : at[r];
      number[r] += 4;
    }
  double best = low[0][0];
  long long corner = at[0][0];
  for (int k = 1; k < 4; ++k)
    if (low[k / lanes][k % lanes] < best) {
      best = low[k / lanes][k % lanes];
      corner = at[k / lanes][k % lanes];
    }
  return static_cast<int>(corner);
}

template <int n>
int lowest_plain(const double* axes, int size, const double* d, double* heights) {
  return lowest_lanes<n, 2>(axes, size, d, heights);
}

#if defined(__x86_64__) && defined(__GNUC__)
template <int n>
[[gnu::target("avx2")]] int lowest_wide(const double* axes, int size, const double* d, double* heights) {
  return lowest_lanes<n, 4>(axes, size, d, heights);
}
const bool wide = __builtin_cpu_supports("avx2");
#else
template <int n>
constexpr auto lowest_wide = lowest_plain<n>;
constexpr bool wide = false;
#endif

template <int n>
int lowest(const Polytope<n>& k, const Vector<n>& d, double* heights) {
  return (wide ? lowest_wide<n> : lowest_plain<n>)(k.axis(0), k.padded_size(), d.data(), heights);
}

// A column of the dual: the corner x_i - y_j of the Minkowski difference, across beta (z) and along it (mu).
template <int n>
struct Column {
  using Across = Eigen::Matrix<double, n - 1, 1>;
  Across z;
  double mu;
  int i, j;
};

double cross(const Vector<2>& a, const Vector<2>& b) { return a[0] * b[1] - a[1] * b[0]; }

// h x = b for a small symmetric positive definite h, by h = L D L^T.
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

// Axes across beta and beta itself, orthonormal.
Matrix<2> axes_along(const Vector<2>& beta) {
  Matrix<2> axes;
  axes << beta[1], beta[0], -beta[0], beta[1];
  return axes;
}
Matrix<3> axes_along(const Vector<3>& b) {  // Duff et al., "Building an orthonormal basis, revisited", JCGT 2017
  const double s = std::copysign(1.0, b[2]), a = -1.0 / (s + b[2]), c = b[0] * b[1] * a;
  Matrix<3> axes;
  axes << 1.0 + s * b[0] * b[0] * a, c, b[0], s * c, s + b[1] * b[1] * a, b[1], -s * b[0], -b[1], b[2];
  return axes;
}

template <int n>
class Program {
  static constexpr int across = n - 1;
  using Across = Eigen::Matrix<double, across, 1>;

 public:
  Program(const Polytope<n>& k1, const Frame<n>& f1, const Polytope<n>& k2, const Frame<n>& f2, const Vector<n>& beta)
      : k_{&k1, &k2}, axes_(axes_along(beta)) {
    turned_[0].noalias() = f1.directors.transpose() * axes_;
    turned_[1].noalias() = f2.directors.transpose() * axes_;
    offset_.noalias() = axes_.transpose() * (f1.position - f2.position);
    const double r1 = k1.radius(), r2 = k2.radius();
    size_ = r1 + r2;
    rounding_ = 1e-15 * (size_ + offset_.cwiseAbs().maxCoeff());
    feature_ = feature_tolerance * std::min(r1, r2) + 10.0 * rounding_;
  }

  // The simplex method. False: unbounded, the bodies are apart. On return `basis` is the optimal one.
  bool solve(Basis<n>& basis) {
    count_ = 0;
    const auto valid = [](int corner, const Polytope<n>& k) { return corner >= 0 && corner < k.size(); };
    for (int k = 0; k < std::min<int>(basis.size, n); ++k)
      if (valid(basis.first[k], *k_[0]) && valid(basis.second[k], *k_[1]))
        p_[count_++] = column(basis.first[k], basis.second[k]);
    if (count_ == 0) {
      t_.setZero();
      p_[count_++] = price();
    }
    double slope_limit = 4.0, previous = std::numeric_limits<double>::infinity();
    int last_loosened = passes_;
    for (int stalled = 0;;) {
      // Facets tilted against each other by less than rounding can be told apart only within it: ask for less.
      if (passes_ > last_loosened + 60) {
        last_loosened = passes_;
        rounding_ *= 10.0;
        previous = std::numeric_limits<double>::infinity();
      }
      if (passes_ > 1000) throw std::runtime_error("contact between polytopes: the simplex method does not end");
      Across direction = Across::Zero();
      const double distance = make_basis(direction);
      if (distance > 0.0) {
        if (!(distance < previous)) slope_limit *= 8.0;  // phase one must come closer
        previous = distance;
        t_ -= slope_limit * direction;
      }
      const double height = p_[0].mu + t_.dot(p_[0].z);
      const Column<n> entering = price();
      const double gain = height - (entering.mu + t_.dot(entering.z));
      if (!(gain > 20.0 * rounding_ * (1.0 + t_.cwiseAbs().sum()))) {
        if (distance == 0.0) {
          if (!shifted_) break;
          shift(Across::Zero());
          shifted_ = false;
          break;
        }
        if (slope_limit > 1e12) return false;
        slope_limit *= 64.0;
        previous = std::numeric_limits<double>::infinity();
        continue;
      }
      if (count_ == n) {
        replace(entering);
        // Pivots that gain nothing (the line meets a ridge of M) could cycle: move the line off the ridge for a while.
        if (!shifted_ && ++stalled > 12 * n) {
          shifted_ = true;
          Across off;
          for (int a = 0; a < across; ++a) off[a] = (a == 0 ? 0.8 : 0.6) * 1e3 * rounding_;
          shift(off);
        }
      } else {
        p_[count_++] = entering;
      }
    }
    basis.size = static_cast<std::int16_t>(count_);
    for (int k = 0; k < count_; ++k) {
      basis.first[k] = static_cast<std::int16_t>(p_[k].i);
      basis.second[k] = static_cast<std::int16_t>(p_[k].j);
    }
    return true;
  }

  // Value, alpha, multipliers, features; chooses by minimum norm where there is a choice.
  void read(const Frame<n>& f1, const Frame<n>& f2, Contact<n>& c) {
    weigh();
    find_active();
    c.many_duals = active_[0] + active_[1] > n + 1;
    c.many_alphas = false;
    if (count_ == n && !c.many_duals && weight_.head(count_).minCoeff() > feature_tolerance) {
      for (int side = 0; side < 2; ++side)
        for (int a = 0; a < active_[side]; ++a) {
          double sum = 0.0;
          for (int k = 0; k < n; ++k)
            if ((side == 0 ? p_[k].i : p_[k].j) == list_[side][a]) sum += weight_[k];
          pi_[side][a] = sum;
        }
    } else {
      resolve(c);
    }
    c.gap = -value_;
    c.alpha.noalias() = axes_.template leftCols<across>() * t_ + axes_.col(across);
    for (int side = 0; side < 2; ++side) {
      Vector<n> arm = Vector<n>::Zero();
      for (int a = 0; a < active_[side]; ++a) arm += pi_[side][a] * k_[side]->corner(list_[side][a]);
      c.arm[side] = c.lever[side] = arm;
      c.witness[side] = (side == 0 ? f1 : f2)(arm);
      list_feature(c, side);
    }
  }

  Vector<n> across_beta() const { return axes_.template leftCols<across>() * t_; }  // (I - beta beta^T) alpha
  int passes() const { return passes_; }

 private:
  // Coordinates of a body's point across beta and along it.
  Vector<n> project(int side, int corner) const { return turned_[side].transpose() * k_[side]->corner(corner); }

  Column<n> column(int i, int j) const {
    const Vector<n> w = project(0, i) - project(1, j) + offset_;
    return {w.template head<across>() - shift_, w[across], i, j};
  }

  // Pricing: the corner of M lowest in the direction alpha = beta + t.
  Column<n> price() {
    ++passes_;
    const Vector<n> d1 = turned_[0].template leftCols<across>() * t_ + turned_[0].col(across);
    const Vector<n> d2 = -(turned_[1].template leftCols<across>() * t_) - turned_[1].col(across);
    const int i = lowest(*k_[0], d1, heights_[0].data());
    const int j = lowest(*k_[1], d2, heights_[1].data());
    return column(i, j);
  }

  void shift(const Across& to) {
    shift_ = to;
    for (int k = 0; k < count_; ++k) p_[k] = column(p_[k].i, p_[k].j);
  }

  // The segment between columns a and b nearest to the line: keeps both, or the nearer one.
  // Returns the squared distance; u: share of b at the nearest point.
  double segment(int a, int b, double& u) const {
    const Across e = p_[b].z - p_[a].z;
    const double length2 = e.squaredNorm();
    u = length2 > 0.0 ? std::clamp(-e.dot(p_[a].z) / length2, 0.0, 1.0) : 0.0;
    return (p_[a].z + u * e).squaredNorm();
  }

  // Reduces the columns to those of the face nearest to the line and sets the slope t that puts these at one height, of
  // minimum norm if they are fewer than n. Returns the distance from the line, 0 if it pierces the face, and the unit
  // vector from the face to the line.
  double make_basis(Across& direction) {
    const double touching = 100.0 * rounding_;
    if constexpr (n == 3) {
      if (count_ == 3) {
        Across e1 = p_[1].z - p_[0].z, e2 = p_[2].z - p_[0].z;
        double area = cross(e1, e2);
        if (area < 0.0) {
          std::swap(p_[1], p_[2]);
          std::swap(e1, e2);
          area = -area;
        }
        bool pierced = area > 1e-13 * (e1.squaredNorm() + e2.squaredNorm());
        for (int k = 0; pierced && k < 3; ++k)
          pierced = cross(p_[k].z, p_[(k + 1) % 3].z) >= -touching * (p_[k].z - p_[(k + 1) % 3].z).cwiseAbs().sum();
        if (pierced) {
          const double h1 = p_[1].mu - p_[0].mu, h2 = p_[2].mu - p_[0].mu;
          t_ = Across(-(h1 * e2[1] - h2 * e1[1]), -(e1[0] * h2 - e2[0] * h1)) / area;
          return 0.0;
        }
        // the nearest edge; among edges the line touches, the lowest there
        int edge = 0;
        double best = std::numeric_limits<double>::infinity(), best_height = best;
        for (int k = 0; k < 3; ++k) {
          double u;
          const int b = (k + 1) % 3;
          const double d = std::max(segment(k, b, u), touching * touching);
          const double h = (1.0 - u) * p_[k].mu + u * p_[b].mu;
          if (d < best || (d == best && h < best_height)) best = d, best_height = h, edge = k;
        }
        const Column<n> first = p_[edge], second = p_[(edge + 1) % 3];
        p_[0] = first;
        p_[1] = second;
        count_ = 2;
      }
    }
    if (count_ == 2) {
      double u;
      const double distance = std::sqrt(segment(0, 1, u));
      const bool touches = distance <= touching;
      const Across e = p_[1].z - p_[0].z;
      const double length2 = e.squaredNorm();
      if (length2 <= touching * touching) {  // one above the other: the lower counts
        if (p_[1].mu < p_[0].mu) p_[0] = p_[1];
        count_ = 1;
      } else if (touches || (u > 0.0 && u < 1.0)) {
        t_ = (p_[0].mu - p_[1].mu) / length2 * e;
        if (touches) return 0.0;
        direction = -(p_[0].z + u * e) / distance;
        direction -= direction.dot(e) / length2 * e;
        direction.normalize();
        return distance;
      } else {
        if (u > 0.5) p_[0] = p_[1];
        count_ = 1;
      }
    }
    t_.setZero();
    const double distance = p_[0].z.norm();
    if (distance <= touching) return 0.0;
    direction = -p_[0].z / distance;
    return distance;
  }

  // Ratio test: the one column whose place the entering one can take so that the line still pierces the face.
  void replace(const Column<n>& entering) {
    if constexpr (n == 2) {
      const int right = p_[0].z[0] < p_[1].z[0] ? 1 : 0;
      p_[entering.z[0] > 0.0 ? right : 1 - right] = entering;
    } else {
      // The ray from the entering column through the line leaves the triangle (counter-clockwise) by the edge k, k + 1
      // with the one on its left and the other on its right; the third column leaves the basis.
      std::array<double, 3> turn;
      for (int k = 0; k < 3; ++k) turn[k] = cross(p_[k].z, entering.z);
      int leaving = 0;
      double best = -std::numeric_limits<double>::infinity();
      for (int k = 0; k < 3; ++k) {
        const double clear = std::min(-turn[(k + 1) % 3], turn[(k + 2) % 3]);
        if (clear > best) best = clear, leaving = k;
      }
      p_[leaving] = entering;
    }
  }

  // Weights of the basic columns and the value.
  void weigh() {
    weight_.setZero();
    if (count_ == 3) {
      if constexpr (n == 3) {
        weight_[0] = cross(p_[1].z, p_[2].z);
        weight_[1] = cross(p_[2].z, p_[0].z);
        weight_[2] = cross(p_[0].z, p_[1].z);
      }
      weight_ = weight_.cwiseMax(0.0);
      weight_ /= weight_.sum();
    } else if (count_ == 2) {
      double u;
      segment(0, 1, u);
      weight_[0] = 1.0 - u;
      weight_[1] = u;
    } else {
      weight_[0] = 1.0;
    }
    value_ = 0.0;
    for (int k = 0; k < count_; ++k) value_ += weight_[k] * p_[k].mu;
  }

  // Corners on the supporting planes of the last pricing.
  void find_active() {
    const double reach = feature_ * std::sqrt(1.0 + t_.squaredNorm());
    for (int side = 0; side < 2; ++side) {
      const double* h = heights_[side].data();
      const int size = k_[side]->size();
      double low = h[0];
      for (int i = 1; i < size; ++i) low = std::min(low, h[i]);
      int count = 0;
      for (int i = 0; i < size; ++i) {
        list_[side][count] = static_cast<std::int16_t>(i);
        count += h[i] <= low + reach;
      }
      active_[side] = count;
    }
  }

  // Degenerate optimum: multipliers, and where it is not unique alpha, of minimum norm.
  void resolve(Contact<n>& c) {
    least_multipliers();
    // Directions across beta in which the multipliers spread: alpha is unique if they span all.
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
    const double little = feature_tolerance * std::max(extent, size_ * size_ * 1e-12);
    Across along = Across::Zero();  // unit vector of the face's shadow if that is a line
    int rank = 0;
    if constexpr (n == 2) {
      rank = spread(0, 0) > little ? 1 : 0;
    } else {
      const double half = 0.5 * (spread(0, 0) - spread(1, 1)), mean = 0.5 * spread.trace();
      const double root = std::hypot(half, spread(0, 1));
      rank = (mean + root > little) + (mean - root > little);
      if (rank == 1) {
        along = half >= 0.0 ? Across(half + root, spread(0, 1)) : Across(spread(0, 1), root - half);
        along.normalize();
      }
    }
    if (rank == across) return;
    c.many_alphas = true;
    least_slope(rank, along);
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
    c.many_duals = false;
    least_multipliers();
    c.many_duals = active_[0] + active_[1] > rank + 2;
  }

  // min |pi|^2  s.t.  sum of pi over either side = 1,  sum_1 pi z - sum_2 pi z = 0,  pi >= 0: (2.70) with the sign
  // constraint. The optimum is pi = max(0, C^T lambda); Newton's method on C pi(lambda) = d, whose first iterate is the
  // pseudo-inverse (2.70) itself. C has n + 1 rows.
  void least_multipliers() {
    constexpr int rows = n + 1;
    using Small = Eigen::Matrix<double, rows, 1>;
    using Square = Eigen::Matrix<double, rows, rows>;
    double extent = 0.0;
    for (int side = 0; side < 2; ++side)
      for (int a = 0; a < active_[side]; ++a) {
        Across z = project(side, list_[side][a]).template head<across>();
        if (side == 0) z += offset_.template head<across>();
        across_[side][a] = z;
        extent = std::max(extent, z.cwiseAbs().maxCoeff());
      }
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
    // Full steps end the iteration within a few; should they not, the line search makes it converge from anywhere.
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
      h.diagonal().array() += 1e-12;  // C may lack rank; the iteration removes what this adds
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

  // min |t|  s.t.  <t, z_w> >= F - mu_w for every corner w of M. Constraints are found one by one by pricing. If the
  // face's shadow is a line (rank 1), t along it is given.
  void least_slope(int rank, const Across& along) {
    struct Cut {
      Across z;
      double least;
    };
    std::array<Cut, 24> cuts;
    int count = 0;
    const Across optimal = t_;
    const Across base = rank == 0 ? Across(Across::Zero()) : Across(along.dot(t_) * along);
    t_ = base;
    for (;;) {
      const double tolerance = 50.0 * rounding_ * (1.0 + t_.norm());
      const Column<n> w = price();
      if (w.mu + t_.dot(w.z) >= value_ - tolerance) return;
      Cut cut{w.z, value_ - w.mu};
      if (rank == 1) {  // only the part across `along` can still move
        if constexpr (n == 3) {
          cut.z -= along.dot(w.z) * along;
          cut.least -= along.dot(w.z) * along.dot(base);
        }
      }
      if (count == static_cast<int>(cuts.size()) || cut.z.norm() <= feature_) break;
      cuts[count++] = cut;
      // the point of least norm that all cuts allow: on none, one or two of them
      double best = std::numeric_limits<double>::infinity();
      Across chosen = optimal - base;
      const auto consider = [&](const Across& s) {
        if (!(s.squaredNorm() < best)) return;
        for (int k = 0; k < count; ++k)
          if (cuts[k].z.dot(s) < cuts[k].least - 20.0 * rounding_ * (1.0 + s.norm())) return;
        best = s.squaredNorm();
        chosen = s;
      };
      for (int a = 0; a < count; ++a) {
        consider(cuts[a].least / cuts[a].z.squaredNorm() * cuts[a].z);
        if constexpr (n == 3) {
          for (int b = 0; rank == 0 && b < a; ++b) {
            const double det = cross(cuts[a].z, cuts[b].z);
            if (std::abs(det) <= 1e-12 * cuts[a].z.norm() * cuts[b].z.norm()) continue;
            consider(Across(cuts[a].least * cuts[b].z[1] - cuts[b].least * cuts[a].z[1],
                            cuts[a].z[0] * cuts[b].least - cuts[b].z[0] * cuts[a].least) /
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

  void list_feature(Contact<n>& c, int side) const {
    const int count = active_[side];
    c.feature_size[side] = count;
    for (int a = 0; a < std::min(count, max_listed); ++a) {
      c.vertex[side][a] = list_[side][a];
      c.dual[side][a] = pi_[side][a];
    }
    // Corners of a convex polytope: two make an edge, three are never in line.
    c.feature[side] = count == 1 ? Feature::vertex : count == 2 || n == 2 ? Feature::edge : Feature::face;
  }

  std::array<const Polytope<n>*, 2> k_;
  Matrix<n> axes_;                   // columns: directions across beta, then beta
  std::array<Matrix<n>, 2> turned_;  // the same in body coordinates
  Vector<n> offset_;                 // position of body 1 seen from body 2, in these axes
  Across shift_ = Across::Zero();    // where the line is, off its place against cycling
  bool shifted_ = false;
  double size_, rounding_, feature_;  // lengths, m
  int passes_ = 0;

  std::array<Column<n>, n> p_;  // basic columns
  int count_ = 0;
  Across t_;  // alpha = beta + t
  Vector<n> weight_;
  double value_ = 0.0;

  std::array<std::array<double, max_corners>, 2> heights_;  // of the last pricing
  std::array<std::array<std::int16_t, max_corners + 1>, 2> list_;
  std::array<int, 2> active_;
  std::array<std::array<double, max_corners>, 2> pi_;
  std::array<std::array<Across, max_corners>, 2> across_;
};

}  // namespace

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
  Program<n> program(k1, frame1, k2, frame2, beta);
  if (!program.solve(basis))
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
  Program<n> program(k1, frame1, k2, frame2, beta / length);
  const bool bounded = program.solve(basis[0]);
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

template int find_contact(const Polytope<2>&, const Frame<2>&, const Polytope<2>&, const Frame<2>&, Basis<2>&,
                          Contact<2>&);
template int find_contact(const Polytope<3>&, const Frame<3>&, const Polytope<3>&, const Frame<3>&, Basis<3>&,
                          Contact<3>&);
template int find_contact(const Polytope<2>&, const Frame<2>&, const Polytope<2>&, const Frame<2>&, const Vector<2>&,
                          std::array<Basis<2>, 2>&, Contact<2>&);
template int find_contact(const Polytope<3>&, const Frame<3>&, const Polytope<3>&, const Frame<3>&, const Vector<3>&,
                          std::array<Basis<3>, 2>&, Contact<3>&);

}  // namespace dodyn::geometry
