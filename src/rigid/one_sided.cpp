#include "rigid/one_sided.hpp"

#include <algorithm>
#include <limits>

namespace dodyn::rigid {

template <int n>
double largest_violation(const Multibody<n>& bodies, const std::vector<Pose<n>>& poses) {
  double largest = -std::numeric_limits<double>::infinity();
  for (const auto& constraint : bodies.one_sided()) largest = std::max(largest, -constraint.gap(poses, {}, {}));
  return largest;
}

template <int n>
void add_constraint_points(const Multibody<n>& bodies, const std::vector<Pose<n>>& poses, double margin,
                           std::vector<ContactPoint<n>>& out) {
  const auto& all = bodies.one_sided();
  for (int i = 0; i < std::ssize(all); ++i) {
    const auto& constraint = all[i];
    if (std::ranges::all_of(constraint.bodies, [&](int b) { return bodies.is_fixed(b); })) continue;
    ContactPoint<n> point;
    point.gap = -constraint.gap(poses, {}, {});
    if (point.gap <= -margin) continue;
    point.pair = constraint_key(i);
    point.point.setZero();
    point.normal.setZero();
    point.constraint = i;
    out.push_back(point);
  }
}

template double largest_violation(const Multibody<2>&, const std::vector<Pose<2>>&);
template double largest_violation(const Multibody<3>&, const std::vector<Pose<3>>&);
template void add_constraint_points(const Multibody<2>&, const std::vector<Pose<2>>&, double,
                                    std::vector<ContactPoint<2>>&);
template void add_constraint_points(const Multibody<3>&, const std::vector<Pose<3>>&, double,
                                    std::vector<ContactPoint<3>>&);

}  // namespace dodyn::rigid
