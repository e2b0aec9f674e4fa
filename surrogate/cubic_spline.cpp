#include "surrogate/cubic_spline.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <vector>

namespace dodyn::surrogate {
namespace {

constexpr double merge_distance = 1e-9;  // relative to the sampled range

// The coefficients of (1) on the piece that contains `at`. Outside the nodes c2 = c3 = 0.
struct Piece {
  double s, y, m, c2, c3;
};

Piece piece(const CubicSpline& spline, Eigen::Index i) {
  const double h = spline.x[i + 1] - spline.x[i], d = (spline.y[i + 1] - spline.y[i]) / h;
  const double m0 = spline.slope[i], m1 = spline.slope[i + 1];
  return {0.0, spline.y[i], m0, (3 * d - 2 * m0 - m1) / h, (m0 + m1 - 2 * d) / (h * h)};
}

Piece piece_at(const CubicSpline& spline, double at) {
  const Eigen::VectorXd& x = spline.x;
  const Eigen::Index last = x.size() - 1;
  const Eigen::Index i = std::upper_bound(x.begin(), x.end(), at) - x.begin() - 1;
  const Eigen::Index node = std::clamp<Eigen::Index>(i, 0, last);
  Piece p = i < 0 || i >= last ? Piece{0.0, spline.y[node], spline.slope[node], 0.0, 0.0} : piece(spline, i);
  p.s = at - x[node];
  return p;
}

// Sorts the samples by x. Of near duplicates it keeps the lower value. `slope` may be empty.
CubicSpline sorted_nodes(const Eigen::VectorXd& x, const Eigen::VectorXd& y, const Eigen::VectorXd& slope) {
  if (x.size() == 0) throw std::invalid_argument("cubic spline: no sample");
  if (y.size() != x.size() || (slope.size() != 0 && slope.size() != x.size()))
    throw std::invalid_argument("cubic spline: abscissae, values and gradients differ in number");
  if (!x.allFinite() || !y.allFinite() || !slope.allFinite())
    throw std::invalid_argument("cubic spline: a sample is not finite");

  std::vector<Eigen::Index> order(x.size()), kept;
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return x[a] < x[b]; });
  const double apart = merge_distance * (x.maxCoeff() - x.minCoeff());
  for (const Eigen::Index i : order) {
    if (kept.empty() || x[i] - x[kept.back()] > apart) {
      kept.push_back(i);
    } else if (y[i] < y[kept.back()]) {
      kept.back() = i;
    }
  }
  CubicSpline spline{x(kept), y(kept), Eigen::VectorXd::Zero(kept.size())};
  if (slope.size() != 0) spline.slope = slope(kept);
  return spline;
}

}  // namespace

double CubicSpline::value(double at) const {
  const Piece p = piece_at(*this, at);
  return p.y + p.s * (p.m + p.s * (p.c2 + p.s * p.c3));
}

double CubicSpline::derivative(double at) const {
  const Piece p = piece_at(*this, at);
  return p.m + p.s * (2 * p.c2 + p.s * 3 * p.c3);
}

double CubicSpline::second_derivative(double at) const {
  const Piece p = piece_at(*this, at);
  return 2 * p.c2 + 6 * p.c3 * p.s;
}

// The slopes make S'' continuous at the inner nodes and zero at the ends (de Boor, chapter IV, (7) and (15)):
//   m_i-1 / h_i-1 + 2 (1 / h_i-1 + 1 / h_i) m_i + m_i+1 / h_i = 3 (d_i-1 / h_i-1 + d_i / h_i)
// with the terms of a piece that does not exist left out. Diagonally dominant: elimination needs no pivoting.
CubicSpline natural_spline(const Eigen::VectorXd& x, const Eigen::VectorXd& y) {
  CubicSpline spline = sorted_nodes(x, y, {});
  const Eigen::Index n = spline.x.size();
  if (n == 1) return spline;
  Eigen::VectorXd diagonal = Eigen::VectorXd::Zero(n), off(n - 1), right = Eigen::VectorXd::Zero(n);
  for (Eigen::Index i = 0; i + 1 < n; ++i) {
    const double h = spline.x[i + 1] - spline.x[i], d = (spline.y[i + 1] - spline.y[i]) / h;
    off[i] = 1 / h;
    diagonal[i] += 2 / h;
    diagonal[i + 1] += 2 / h;
    right[i] += 3 * d / h;
    right[i + 1] += 3 * d / h;
  }
  for (Eigen::Index i = 1; i < n; ++i) {
    const double factor = off[i - 1] / diagonal[i - 1];
    diagonal[i] -= factor * off[i - 1];
    right[i] -= factor * right[i - 1];
  }
  spline.slope[n - 1] = right[n - 1] / diagonal[n - 1];
  for (Eigen::Index i = n - 2; i >= 0; --i) spline.slope[i] = (right[i] - off[i] * spline.slope[i + 1]) / diagonal[i];
  return spline;
}

CubicSpline hermite_spline(const Eigen::VectorXd& x, const Eigen::VectorXd& y, const Eigen::VectorXd& gradient) {
  if (gradient.size() != x.size())
    throw std::invalid_argument("cubic spline: abscissae, values and gradients differ in number");
  return sorted_nodes(x, y, gradient);
}

Minimum minimum(const CubicSpline& spline, double lower, double upper) {
  if (!(lower <= upper)) throw std::invalid_argument("cubic spline: minimum over an empty range");
  Minimum best{lower, std::numeric_limits<double>::infinity()};
  const auto consider = [&](double x) {
    if (x < lower || x > upper) return;
    if (const double value = spline.value(x); value < best.value) best = {x, value};
  };
  for (const double node : spline.x) consider(node);
  consider(lower);
  consider(upper);
  for (Eigen::Index i = 0; i + 1 < spline.x.size(); ++i) {
    // S' = m + 2 c2 s + 3 c3 s^2; the minimum of S is at s = (-c2 + r) / (3 c3) = -m / (c2 + r), r^2 = c2^2 - 3 c3 m.
    // The second form avoids cancellation.
    const Piece p = piece(spline, i);
    const double r = std::sqrt(p.c2 * p.c2 - 3 * p.c3 * p.m);
    const double s = p.c2 >= 0 ? -p.m / (p.c2 + r) : (r - p.c2) / (3 * p.c3);
    if (s > 0 && s < spline.x[i + 1] - spline.x[i]) consider(spline.x[i] + s);  // false if s is NaN or infinite
  }
  return best;
}

}  // namespace dodyn::surrogate
