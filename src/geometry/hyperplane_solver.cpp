#include "geometry/hyperplane_solver.hpp"

#include <algorithm>
#include <limits>

namespace dodyn::geometry {
namespace {

constexpr double off_ridge = 1e3;  // shift of the line from a ridge, in multiples of rounding

// Returns orthonormal axes: those across beta, then beta.
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

}  // namespace

double cancelled_cross(const Vector<2>& a, const Vector<2>& b) {
  const double product = a[1] * b[0];
  return std::fma(a[0], b[1], -product) - std::fma(a[1], b[0], -product);
}

template <int n>
HyperplaneSolver<n>::HyperplaneSolver(const Polytope<n>& k1, const Frame<n>& f1, const Polytope<n>& k2,
                                      const Frame<n>& f2, const Vector<n>& beta)
    : k_{&k1, &k2}, axes_(axes_along(beta)) {
  turned_[0].noalias() = f1.directors.transpose() * axes_;
  turned_[1].noalias() = f2.directors.transpose() * axes_;
  offset_.noalias() = axes_.transpose() * (f1.position - f2.position);
  const double r1 = k1.radius(), r2 = k2.radius();
  size_ = r1 + r2;
  rounding_ = 1e-15 * (size_ + offset_.cwiseAbs().maxCoeff());
  feature_ = feature_tolerance * std::min(r1, r2) + 10.0 * rounding_;
}

// Finds the optimal basis from the given one. If pivoting does not terminate (rounding makes a face nearly degenerate),
// the solver starts again without a basis, with tolerances 1, 10^2 and 10^4 times as large.
template <int n>
auto HyperplaneSolver<n>::solve(Basis<n>& basis, Query query) -> Termination {
  const double rounding = rounding_;
  Termination ending = simplex(basis, query);
  for (const double coarser : {1.0, 1e2, 1e4}) {
    if (ending != Termination::not_terminated) break;
    basis.size = 0;
    rounding_ = coarser * rounding;
    ending = simplex(basis, query);
  }
  return ending;
}

// Takes the valid columns of a given basis. Returns whether the basis has a valid column.
template <int n>
bool HyperplaneSolver<n>::begin_at(const Basis<n>& basis) {
  count_ = 0;
  shifted_ = false;
  shift_.setZero();
  for (int k = 0; k < std::min<int>(basis.size, n); ++k)
    if (basis.is_valid(k, k_[0]->size(), k_[1]->size())) p_[count_++] = column(basis.first[k], basis.second[k]);
  return count_ > 0;
}

// Runs the simplex method. Sets `basis` to the last basis, unless the result is unbounded or not_terminated.
template <int n>
[[gnu::flatten]]  // saves about 17 % of the instructions of a warm query
auto HyperplaneSolver<n>::simplex(Basis<n>& basis, Query query) -> Termination {
  bool looked_at_all = begin_at(basis);  // with a given basis, one pass over all corners shows whether it is optimal
  if (count_ == 0) {
    t_.setZero();
    descend();
    p_[count_++] = lowest_column();
  }
  const bool edges = std::max(k_[0]->size(), k_[1]->size()) > few_corners;
  constexpr double infinity = std::numeric_limits<double>::infinity();
  double slope_limit = 4.0, previous = infinity, lowest_height = infinity;
  const int last_pass = passes_ + 100;
  for (int stalled = 0;;) {
    if (passes_ > last_pass) return Termination::not_terminated;
    Across direction = Across::Zero();
    const double distance = make_basis(direction);
    if (distance > 0.0) {
      if (!(distance < previous)) slope_limit *= 8.0;  // phase one must come closer to the line
      previous = distance;
      t_ -= slope_limit * direction;
    }
    const double height = p_[0].height(t_);
    const double tolerance = 20.0 * rounding_ * (1.0 + t_.cwiseAbs().sum());
    const bool along_edges = edges && !looked_at_all;
    const double unshifted = along_edges ? descend() : price();
    looked_at_all = false;
    const double lowest = unshifted - t_.dot(shift_), gain = height - lowest;
    if (query == Query::sign && !shifted_) {  // F is between lowest and height
      const bool overlaps = distance == 0.0 && height <= 0.0;
      if (lowest > tolerance || overlaps) {
        keep(basis);
        return overlaps ? Termination::overlapping : Termination::separated;
      }
    }
    if (!(gain > tolerance)) {
      if (along_edges) {
        looked_at_all = true;
        previous = infinity;
        continue;
      }
      if (distance == 0.0) {
        if (shifted_) {
          shifted_ = false;
          shift(Across::Zero());
          compute_areas();
        }
        if (!is_certain(unshifted)) return Termination::not_terminated;
        break;
      }
      if (slope_limit > 1e12) return Termination::unbounded;
      slope_limit *= 64.0;
      previous = infinity;
      continue;
    }
    if (count_ == n)
      replace(lowest_column());
    else
      p_[count_++] = lowest_column();
    // Pivots without gain (the line meets a ridge of M) could cycle. The line is moved off the ridge for a while.
    if (height < lowest_height - tolerance) {
      lowest_height = height;
      stalled = 0;
    } else if (++stalled > 12 * n && !shifted_) {
      shifted_ = true;
      Across off;
      for (int a = 0; a < across; ++a) off[a] = (a == 0 ? 0.8 : 0.6) * off_ridge * rounding_;
      shift(off);
      previous = lowest_height = infinity;
    }
  }
  keep(basis);
  return Termination::optimal;
}

template <int n>
void HyperplaneSolver<n>::keep(Basis<n>& basis) const {
  basis.size = static_cast<std::int16_t>(count_);
  for (int k = 0; k < count_; ++k) {
    basis.first[k] = static_cast<std::int16_t>(p_[k].i);
    basis.second[k] = static_cast<std::int16_t>(p_[k].j);
  }
}

// Returns whether the face is optimal by weak duality: its point on the line may be above `lowest`, the height of the
// lowest plane of slope alpha, only by rounding. Sets weights and value.
template <int n>
bool HyperplaneSolver<n>::is_certain(double lowest) {
  weigh();
  Across off = Across::Zero();
  for (int k = 0; k < count_; ++k) off += weight_[k] * p_[k].z;
  const double slope = t_.cwiseAbs().sum();
  return off.cwiseAbs().sum() <= 2.0 * off_ridge * rounding_ &&
         value_ - lowest <= (40.0 + 2.0 * off_ridge * slope) * rounding_;
}

// Pricing: finds the corner of M that is lowest in the direction alpha = beta + t. Returns its height, with the line
// not shifted.
template <int n>
double HyperplaneSolver<n>::price() {
  ++passes_;
  const Vector<n> d1 = turned_[0].template leftCols<across>() * t_ + turned_[0].col(across);
  const Vector<n> d2 = -(turned_[1].template leftCols<across>() * t_) - turned_[1].col(across);
  lowest_ = {lowest(*k_[0], d1, heights_[0].data()), lowest(*k_[1], d2, heights_[1].data())};
  return lowest_[0].height + lowest_[1].height + offset_[across] + t_.dot(offset_.template head<across>());
}

// Does the pricing of price() by walks along edges. Does not set heights_.
template <int n>
double HyperplaneSolver<n>::descend() {
  ++passes_;
  const Vector<n> d1 = turned_[0].template leftCols<across>() * t_ + turned_[0].col(across);
  const Vector<n> d2 = -(turned_[1].template leftCols<across>() * t_) - turned_[1].col(across);
  lowest_ = {descend_edges(*k_[0], d1), descend_edges(*k_[1], d2)};
  return lowest_[0].height + lowest_[1].height + offset_[across] + t_.dot(offset_.template head<across>());
}

template <int n>
void HyperplaneSolver<n>::shift(const Across& to) {
  shift_ = to;
  for (int k = 0; k < count_; ++k) p_[k] = column(p_[k].i, p_[k].j);
}

// Sets the weights to twice the areas of the triangles of the line and the edges of the basic triangle,
// counter-clockwise positive. They are the weights of the opposite columns before normalisation.
template <int n>
void HyperplaneSolver<n>::compute_areas() {
  if constexpr (n == 3)
    if (count_ == 3)
      for (int k = 0; k < 3; ++k) weight_[k] = cross(p_[(k + 1) % 3].z, p_[(k + 2) % 3].z);
}

// Finds the point nearest to the line on the segment between columns a and b. Returns the squared distance; sets u, the
// weight of b.
template <int n>
double HyperplaneSolver<n>::segment(int a, int b, double& u) const {
  const Across e = p_[b].z - p_[a].z;
  const double length2 = e.squaredNorm();
  u = length2 > 0.0 ? std::clamp(-e.dot(p_[a].z) / length2, 0.0, 1.0) : 0.0;
  return (p_[a].z + u * e).squaredNorm();
}

// Reduces the columns to the columns of the face nearest to the line. Sets the slope t at which these columns have
// equal heights; with fewer than n columns the t of minimum norm. Returns the distance of the face from the line (0 if
// the line pierces the face). Sets `direction`, the unit vector from the face to the line, if the distance is not 0.
template <int n>
double HyperplaneSolver<n>::make_basis(Across& direction) {
  const double touching = 100.0 * rounding_;
  if constexpr (n == 3) {
    if (count_ == 3) {
      compute_areas();
      double area = weight_.sum();
      if (area < 0.0) {
        std::swap(p_[1], p_[2]);
        weight_ = Vector<n>(-weight_[0], -weight_[2], -weight_[1]);
        area = -area;
      }
      const Across e1 = p_[1].z - p_[0].z, e2 = p_[2].z - p_[0].z;
      const double length2 = e1.squaredNorm() + e2.squaredNorm();
      const bool flat = area <= 1e-13 * length2;
      bool pierced = !flat && weight_.minCoeff() >= 0.0;
      int edge = 0;
      if (!pierced) {  // finds the nearest edge; of several edges that the line touches, the lowest one
        double best = std::numeric_limits<double>::infinity(), best_height = best;
        for (int k = 0; k < 3; ++k) {
          double u;
          const int b = (k + 1) % 3;
          const double d = std::max(segment(k, b, u), touching * touching);
          const double h = (1.0 - u) * p_[k].mu + u * p_[b].mu;
          if (d < best || (d == best && h < best_height)) best = d, best_height = h, edge = k;
        }
        pierced = !flat && best == touching * touching;
      }
      if (pierced) {
        double h1 = p_[1].mu - p_[0].mu, h2 = p_[2].mu - p_[0].mu;
        const auto slope = [&] { return Across(Across(h2 * e1[1] - h1 * e2[1], e2[0] * h1 - e1[0] * h2) / area); };
        t_ = slope();
        if (area <= 1e-4 * length2) {  // a nearly degenerate triangle: refines the slope
          h1 += t_.dot(e1);
          h2 += t_.dot(e2);
          t_ += slope();
        }
        return 0.0;
      }
      const Column first = p_[edge], second = p_[(edge + 1) % 3];
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
    if (length2 <= touching * touching) {  // the columns coincide across beta: the lower one counts
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

// Ratio test: replaces the column that must leave, so that the line still pierces the face.
template <int n>
void HyperplaneSolver<n>::replace(const Column& entering) {
  if constexpr (n == 2) {
    const int right = p_[0].z[0] < p_[1].z[0] ? 1 : 0;
    p_[entering.z[0] > 0.0 ? right : 1 - right] = entering;
  } else {
    // The ray from the entering column through the line leaves the triangle (counter-clockwise) through one edge.
    // Its first corner is on the right of the ray, its second one on the left. The third column leaves the basis.
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

// Computes the weights of the basic columns and the value.
template <int n>
void HyperplaneSolver<n>::weigh() {
  if (count_ == 3) {
    if (weight_.minCoeff() < 0.0) {  // the line touches an edge from outside
      double u, best = std::numeric_limits<double>::infinity();
      for (int k = 0; k < 3; ++k)
        if (const double d = segment(k, (k + 1) % 3, u); d < best) {
          best = d;
          weight_.setZero();
          weight_[k] = 1.0 - u;
          weight_[(k + 1) % 3] = u;
        }
    } else {
      weight_ *= 1.0 / weight_.sum();
    }
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

// Finds the corners on the supporting planes of the last pricing.
template <int n>
void HyperplaneSolver<n>::find_active() {
  const double reach = feature_ * std::sqrt(1.0 + t_.squaredNorm());
  for (int side = 0; side < 2; ++side)
    active_[side] =
        list_below(heights_[side].data(), k_[side]->size(), lowest_[side].height + reach, list_[side].data());
}

template <int n>
void HyperplaneSolver<n>::read(const Frame<n>& f1, const Frame<n>& f2, Contact<n>& c) {
  find_active();
  c.primal_degenerate = active_[0] + active_[1] > n + 1;
  c.dual_degenerate = false;
  if (count_ == n && !c.primal_degenerate && weight_.minCoeff() > feature_tolerance) {
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
  c.alpha = alpha();
  for (int side = 0; side < 2; ++side) {
    Vector<n> arm = Vector<n>::Zero();
    for (int a = 0; a < active_[side]; ++a) arm += pi_[side][a] * k_[side]->corner(list_[side][a]);
    c.arm[side] = c.lever[side] = arm;
    c.witness[side] = (side == 0 ? f1 : f2)(arm);
    list_feature(c, side);
  }
}

template <int n>
void HyperplaneSolver<n>::list_feature(Contact<n>& c, int side) const {
  const int count = active_[side];
  c.feature_size[side] = count;
  for (int a = 0; a < std::min(count, max_listed); ++a) {
    c.vertex[side][a] = list_[side][a];
    c.dual[side][a] = pi_[side][a];
  }
  // Two active corners are an edge, three or more a face: no three corners of a convex polytope are collinear.
  c.feature[side] = count == 1 ? Feature::vertex : count == 2 || n == 2 ? Feature::edge : Feature::face;
}

template class HyperplaneSolver<2>;
template class HyperplaneSolver<3>;

}  // namespace dodyn::geometry
