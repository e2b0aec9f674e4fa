#include "dmoc/crossing.hpp"

#include <Eigen/Core>
#include <algorithm>
#include <cmath>

namespace dodyn::dmoc {

using Eigen::Vector3d;

// Computes s for unbounded lines and clamps it to its part. Then computes the t nearest to s, clamped, and at last the
// s nearest to t (Ericson, Real-Time Collision Detection, 2005, section 5.1.9). For parallel lines the first s is the
// part's start.
double squared_distance(const double* ends, const Pair& pair) {
  const double *p = ends + 6 * pair.one, *q = ends + 6 * pair.other;
  const Eigen::Map<const Vector3d> a(p), b(p + 3), c(q), d(q + 3);
  const Vector3d u = b - a, v = d - c, r = a - c;
  const double uu = u.dot(u), vv = v.dot(v), uv = u.dot(v), ur = u.dot(r), vr = v.dot(r);
  const double determinant = uu * vv - uv * uv;
  const auto keep = [](double x, const Part& part) { return std::clamp(x, part.from, part.to); };
  double s = determinant <= 1e-12 * uu * vv ? pair.first.from : keep((uv * vr - ur * vv) / determinant, pair.first);
  const double t = vv > 0.0 ? keep((uv * s + vr) / vv, pair.second) : pair.second.from;
  if (uu > 0.0) s = keep((uv * t - ur) / uu, pair.first);
  return (r + s * u - t * v).squaredNorm();
}

bool passes_on_the_right(const double* ends, const Pair& pair, double width) {
  const double *p = ends + 6 * pair.one, *q = ends + 6 * pair.other;
  const Eigen::Map<const Vector3d> a(p), b(p + 3), c(q), d(q + 3);
  const Vector3d u = b - a, v = d - c, r = c - a;
  const auto to_the_right = [&](double s, double t) { return r.y() + t * v.y() - s * u.y() < -1e-9; };
  const double determinant = u.x() * v.z() - u.z() * v.x();
  if (std::abs(determinant) > 1e-9) {
    const double s = (r.x() * v.z() - r.z() * v.x()) / determinant, t = (r.x() * u.z() - r.z() * u.x()) / determinant;
    if (s >= pair.first.from && s <= pair.first.to && t >= pair.second.from && t <= pair.second.to &&
        to_the_right(s, t))
      return true;
  }
  const double uu = u.x() * u.x() + u.z() * u.z();
  for (int i = 0; i <= 10; ++i) {
    const double t = pair.second.from + 0.1 * i * (pair.second.to - pair.second.from);
    const double x = r.x() + t * v.x(), z = r.z() + t * v.z();
    const double s = std::clamp(uu > 0.0 ? (x * u.x() + z * u.z()) / uu : 0.0, pair.first.from, pair.first.to);
    if (std::hypot(x - s * u.x(), z - s * u.z()) < width && to_the_right(s, t)) return true;
  }
  return false;
}

}  // namespace dodyn::dmoc
