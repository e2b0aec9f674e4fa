#include "rigid/projection.hpp"

#include <algorithm>
#include <limits>

namespace dodyn::rigid {

template <int n>
Projection<n>::Projection(const ResponseContext<n>& pieces)
    : context_(pieces), find_points_(pieces.world), inertia_(pieces.bodies) {}

template <int n>
bool Projection<n>::operator()(const Poses& from, double margin, Poses& to, std::vector<ContactPoint<n>>& points,
                               FailureCause& cause) {
  const double tolerance = context_.options.tolerance;
  offset_.setZero(context_.bodies.dofs());
  to = from;
  pressing_.clear();
  double last = std::numeric_limits<double>::infinity();
  for (int k = 0; k < 40; ++k) {
    frames_of(to, frames_);
    context_.detection.find(frames_, margin);  // bodies that no longer move are still obstacles
    find_points_.collect(context_.detection, frames_, margin, false, points);
    add_constraint_points(context_.bodies, to, margin, points);
    double worst = 0.0;
    for (const auto& point : points)
      if (point.gap > worst) {
        worst = point.gap;
        cause = {point.body, point.gap, "closest-point projection did not converge", point.constraint};
      }
    // Near a corner successive programs may alternate between two planes, so that the pair never touches. Such pairs
    // are closed explicitly.
    unsettled_.assign(points.size(), 0.0);
    if (k < 4) worst = std::max(worst, widest_pressing(points));
    if (worst <= 0.1 * tolerance || (worst <= tolerance && k > 10 && worst >= last)) {
      mark_touching(points);
      return true;
    }
    last = worst;
    inertia_.set(to);
    rows_.build(inertia_, points, false);
    target_.resize(points.size());
    for (std::size_t i = 0; i < points.size(); ++i) target_[i] = points[i].gap + rows_.relative_velocity(i, 0, offset_);
    guess_.give(points, impulse_);
    // An island stays unchanged if it was solved twice, nothing in it overlaps, and all pressing points touch.
    skip_.assign(points.size(), 0);
    kept_ = offset_;
    offset_.setZero();
    for (int i = 0; i < rows_.islands(); ++i) {
      const auto island = rows_.island(i);
      const bool settled = k > 1 && std::ranges::all_of(island, [&](int c) {
                             return std::max(points[c].gap, unsettled_[c]) <= 0.1 * tolerance;
                           });
      for (const int c : island)
        if (settled) {
          skip_[c] = 1;
          for (const auto& side : rows_.sides(c))
            offset_.segment(side.first, side.size) = kept_.segment(side.first, side.size);
        } else if (impulse_[n * c] != 0.0) {
          rows_.add_impulse(c, 0, impulse_[n * c], offset_);
        }
    }
    solver_.solve(rows_, target_, {}, std::max(1e-2 * tolerance, 1e-5 * worst), offset_, impulse_, skip_);
    guess_.keep(points, impulse_);
    pressing_.clear();
    for (std::size_t i = 0; i < points.size(); ++i)
      if (impulse_[n * i] > 0.0 && (pressing_.empty() || pressing_.back() != points[i].pair))
        pressing_.push_back(points[i].pair);
    context_.bodies.reparametrise(from, offset_, to);
  }
  return false;
}

// Returns the largest present distance of a pair that pressed in the last program. Stores each pair's distance in
// `unsettled_` at its first point.
template <int n>
double Projection<n>::widest_pressing(const std::vector<ContactPoint<n>>& points) {
  double widest = 0.0;
  std::size_t i = 0;  // both lists are sorted by key
  for (const PairKey pair : pressing_) {
    double nearest = std::numeric_limits<double>::infinity();
    while (i < points.size() && points[i].pair < pair) ++i;
    const std::size_t first = i;
    for (; i < points.size() && points[i].pair == pair; ++i) nearest = std::min(nearest, -points[i].gap);
    if (first == i) continue;
    widest = std::max(widest, nearest);
    unsettled_[first] = nearest;
  }
  return widest;
}

template <int n>
void Projection<n>::mark_touching(std::vector<ContactPoint<n>>& points) const {
  const double tolerance = context_.options.tolerance;
  for (std::size_t first = 0, end; first < points.size(); first = end) {
    double nearest = -std::numeric_limits<double>::infinity();
    for (end = first; end < points.size() && points[end].pair == points[first].pair; ++end)
      nearest = std::max(nearest, points[end].gap);
    const bool pressed = std::ranges::binary_search(pressing_, points[first].pair);
    for (std::size_t i = first; i < end; ++i)
      points[i].touches = points[i].gap >= -tolerance || (pressed && points[i].gap >= nearest - tolerance);
  }
}

template class Projection<2>;
template class Projection<3>;

}  // namespace dodyn::rigid
