#include "rigid/detection.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

namespace dodyn::rigid {
namespace {

// Twice the distance from the centroid to the nearest facet: at most the width of the part.
template <int n>
double width(const geometry::Polytope<n>& part) {
  double nearest = std::numeric_limits<double>::infinity();
  for (const auto& f : part.facets()) {
    Vector<n> normal;
    const Vector<n> a = part.corner(f[0]), e = part.corner(f[1]) - a;
    if constexpr (n == 2)
      normal = {e[1], -e[0]};
    else
      normal = e.cross(part.corner(f[2]) - a);
    nearest = std::min(nearest, std::abs(normal.normalized().dot(part.centroid() - a)));
  }
  return 2.0 * nearest;
}

constexpr double never = -std::numeric_limits<double>::infinity();

}  // namespace

template <int n>
Detection<n>::Detection(const World<n>& world) : world_(&world) {
  const int count = static_cast<int>(world.bodies.size());
  radius_.assign(count, 0.0);
  thickness_.resize(count);
  for (int b = 0; b < count; ++b)
    for (const auto& part : world.bodies[b].parts) {
      for (const auto& x : part.corners()) radius_[b] = std::max(radius_[b], x.norm());
      thickness_[b].push_back(width(part));
    }
  for (int a = 0; a < count; ++a)
    for (int b = a + 1; b < count; ++b) {
      if (world.bodies[a].fixed && world.bodies[b].fixed) continue;
      const bool ignored = std::any_of(world.no_contact.begin(), world.no_contact.end(), [&](const auto& pair) {
        return (pair.first == a && pair.second == b) || (pair.first == b && pair.second == a);
      });
      if (ignored) continue;
      // a floor is body 2 of the source: its normal points to body 1
      const bool floor = world.bodies[a].outward.has_value();
      const int first = floor ? b : a, second = floor ? a : b;
      const int from = static_cast<int>(parts_.size());
      for (int i = 0; i < static_cast<int>(world.bodies[first].parts.size()); ++i)
        for (int j = 0; j < static_cast<int>(world.bodies[second].parts.size()); ++j) {
          Parts pair;
          pair.body = {first, second};
          pair.part = {i, j};
          parts_.push_back(pair);
        }
      bodies_.push_back({first, second, from, static_cast<int>(parts_.size()) - from, never});
    }
  for (auto* list : {&found_, &found_before_}) list->reserve(parts_.size());
  for (auto* list : {&pair_, &pair_before_}) list->reserve(parts_.size());
  restart();
}

template <int n>
void Detection<n>::restart() {
  for (auto& p : parts_) p.apart_until = never;
  for (auto& b : bodies_) b.apart_until = never;
  path_.assign(world_->bodies.size(), 0.0);
  last_.clear();
  moved_.assign(world_->bodies.size(), 0);
  found_.clear();
  pair_.clear();
}

template <int n>
double Detection<n>::motion(int body, const geometry::Frame<n>& from, const geometry::Frame<n>& to) const {
  const double turn = (to.directors - from.directors).norm();  // Frobenius, at least the spectral norm
  return (to.position - from.position).norm() + radius_[body] * turn;
}

template <int n>
void Detection<n>::solve(const Parts& p, const FrameList& frames, std::array<geometry::Basis<n>, 2>& basis,
                         Contact& c) const {
  const auto &one = world_->bodies[p.body[0]], &two = world_->bodies[p.body[1]];
  c.body = p.body;
  c.part = p.part;
  if (two.outward)
    geometry::find_contact(one.parts[p.part[0]], frames[p.body[0]], two.parts[p.part[1]], frames[p.body[1]],
                           *two.outward, basis, c);
  else
    geometry::find_contact(one.parts[p.part[0]], frames[p.body[0]], two.parts[p.part[1]], frames[p.body[1]], basis[0],
                           c);
}

template <int n>
const std::vector<geometry::Contact<n>>& Detection<n>::find(const FrameList& frames, double within) {
  if (last_.empty())
    last_ = frames;
  else
    for (std::size_t b = 0; b < frames.size(); ++b) {
      if (world_->bodies[b].fixed) continue;
      const double motion_now = motion(static_cast<int>(b), last_[b], frames[b]);
      moved_[b] = motion_now > 0.0;
      path_[b] += motion_now;
      last_[b] = frames[b];
    }
  found_.swap(found_before_);
  pair_.swap(pair_before_);
  found_.clear();
  pair_.clear();
  std::size_t before = 0;  // both lists are in the order of pairs
  for (auto& pair : bodies_) {
    const double path = path_[pair.a] + path_[pair.b];
    if (path + within < pair.apart_until) continue;
    const double gap = (frames[pair.a].position - frames[pair.b].position).norm() - radius_[pair.a] - radius_[pair.b];
    if (gap > within) {
      pair.apart_until = path + gap;
      continue;
    }
    double next = std::numeric_limits<double>::infinity();
    for (int k = pair.first; k < pair.first + pair.count; ++k) {
      auto& parts = parts_[k];
      if (path + within >= parts.apart_until) {
        found_.emplace_back();
        pair_.push_back(k);
        while (before < pair_before_.size() && pair_before_[before] < k) ++before;
        const bool known = before < pair_before_.size() && pair_before_[before] == k;
        if (known && !moved_[pair.a] && !moved_[pair.b])
          found_.back() = found_before_[before];
        else
          solve(parts, frames, parts.basis, found_.back());
        const double g = found_.back().normal_gap();
        parts.apart_until = g < 0.0 ? path - g : never;
      }
      next = std::min(next, parts.apart_until);
    }
    pair.apart_until = next;
  }
  return found_;
}

template <int n>
double Detection<n>::overlap() const {
  double worst = never;
  for (const auto& c : found_) worst = std::max(worst, c.normal_gap());
  for (const auto& pair : bodies_)
    if (pair.apart_until != never) worst = std::max(worst, path_[pair.a] + path_[pair.b] - pair.apart_until);
  return worst == never ? 0.0 : worst;
}

template <int n>
geometry::Contact<n> Detection<n>::look(int pair, const FrameList& frames) const {
  auto basis = parts_[pair].basis;
  Contact c;
  solve(parts_[pair], frames, basis, c);
  return c;
}

template <int n>
double Detection<n>::separation(int pair, const FrameList& frames, const Vector<n>& normal) const {
  const auto& p = parts_[pair];
  double low = std::numeric_limits<double>::infinity(), high = -low;
  const auto& one = world_->bodies[p.body[0]].parts[p.part[0]];
  const auto& two = world_->bodies[p.body[1]].parts[p.part[1]];
  for (int i = 0; i < one.size(); ++i) low = std::min(low, normal.dot(frames[p.body[0]](one.corner(i))));
  for (int i = 0; i < two.size(); ++i) high = std::max(high, normal.dot(frames[p.body[1]](two.corner(i))));
  return low - high;
}

template <int n>
double Detection<n>::thickness(int pair) const {
  const auto& p = parts_[pair];
  return std::min(thickness_[p.body[0]][p.part[0]], thickness_[p.body[1]][p.part[1]]);
}

template class Detection<2>;
template class Detection<3>;

}  // namespace dodyn::rigid
