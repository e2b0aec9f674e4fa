#include "rigid/detection.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

namespace dodyn::rigid {
namespace {

// Returns twice the distance from the centroid to the nearest facet, a lower bound of the width of the part.
template <int n>
double width(const geometry::Polytope<n>& part) {
  double nearest = std::numeric_limits<double>::infinity();
  for (const auto& f : part.facets())
    nearest = std::min(nearest, std::abs(part.normal(f).normalized().dot(part.centroid() - part.corner(f[0]))));
  return 2.0 * nearest;
}

constexpr double never = -std::numeric_limits<double>::infinity();

}  // namespace

template <int n>
Detection<n>::Detection(const World<n>& world, std::vector<int> kin) : world_(&world), kin_(std::move(kin)) {
  const int count = world.bodies.size();
  thickness_.resize(count);
  std::vector<double> moving;
  std::int64_t fixed = 0;
  for (int b = 0; b < count; ++b) {
    const auto& body = world.bodies[b];
    radius_.push_back(radius(body));
    if (!body.fixed) moving.push_back(radius_.back());
    fixed += body.fixed;
    for (const auto& part : body.parts) thickness_[b].push_back(width(part));
    most_parts_ = std::max(most_parts_, static_cast<std::int64_t>(body.parts.size()));
  }
  for (const auto& [a, b] : world.no_contact)
    if ((!world.bodies[a].fixed || !world.bodies[b].fixed) && !are_kin(a, b))
      ignored_.emplace_back(std::min(a, b), std::max(a, b));
  std::ranges::sort(ignored_);
  ignored_.erase(std::unique(ignored_.begin(), ignored_.end()), ignored_.end());
  ball_ = radius_;
  all_pairs_ = (static_cast<std::int64_t>(count) * (count - 1) - fixed * (fixed - 1)) / 2 -
               static_cast<std::int64_t>(ignored_.size());
  std::map<int, std::int64_t> families;
  for (const int k : kin_)
    if (k >= 0) all_pairs_ -= families[k]++;
  if (!moving.empty()) {
    std::nth_element(moving.begin(), moving.begin() + moving.size() / 2, moving.end());
    usual_reach_ = moving[moving.size() / 2];
  }
  restart();
}

template <int n>
void Detection<n>::restart() {
  reach_ = -1.0;
  used_ = 0.0;
  path_.assign(world_->bodies.size(), 0.0);
  path_then_ = path_;
  moved_.assign(world_->bodies.size(), 0);
  last_.clear();
  bodies_.clear();
  parts_.clear();
  found_.clear();
  pair_.clear();
}

// Adds the bodies' motion to these frames to their path lengths.
template <int n>
void Detection<n>::follow(Frames<n> frames) {
  if (last_.empty()) {
    last_.assign(frames.begin(), frames.end());
    return;
  }
  double most = 0.0, second = 0.0;
  for (std::size_t b = 0; b < frames.size(); ++b) {
    if (world_->bodies[b].fixed) continue;
    moved_[b] = motion(b, last_[b], frames[b]);
    path_[b] += moved_[b];
    last_[b] = frames[b];
    second = std::max(second, path_[b] - path_then_[b]);
    if (second > most) std::swap(most, second);
  }
  used_ = most + second;
}

// Lists the pairs of bodies whose bounding balls are within the reach of each other, or may have been since the last
// call.
template <int n>
void Detection<n>::gather(Frames<n> frames, double reach) {
  boxes_.resize(frames.size());
  for (std::size_t b = 0; b < frames.size(); ++b) {
    const double arm = ball_[b] + moved_[b] + 0.5 * reach;
    boxes_[b] = {frames[b].position.array() - arm, frames[b].position.array() + arm};
  }
  bodies_.swap(bodies_before_);
  parts_.swap(parts_before_);
  bodies_.clear();
  parts_.clear();
  auto old = bodies_before_.begin();
  for (const auto& [a, b] : grid_.overlapping(boxes_)) {
    if (world_->bodies[a].fixed && world_->bodies[b].fixed) continue;
    if (are_kin(a, b)) continue;
    if (std::ranges::binary_search(ignored_, std::pair(a, b))) continue;
    // in the source's convention a floor is body 2, and its normal points to body 1
    const bool floor = world_->bodies[a].has_outward();
    Bodies pair{floor ? b : a, floor ? a : b, static_cast<int>(parts_.size()), 0, never};
    const auto before = [](const Bodies& x, const Bodies& y) {
      return std::pair(std::min(x.a, x.b), std::max(x.a, x.b)) < std::pair(std::min(y.a, y.b), std::max(y.a, y.b));
    };
    while (old != bodies_before_.end() && before(*old, pair)) ++old;
    if (old != bodies_before_.end() && !before(pair, *old)) {
      pair.count = old->count;
      pair.apart_until = old->apart_until;
      const auto first = parts_before_.begin() + old->first;
      parts_.insert(parts_.end(), first, first + old->count);
    } else {
      const std::int64_t bodies = static_cast<std::int64_t>(world_->bodies.size());
      for (int i = 0; i < std::ssize(world_->bodies[pair.a].parts); ++i)
        for (int j = 0; j < std::ssize(world_->bodies[pair.b].parts); ++j)
          parts_.push_back(
              {{pair.a, pair.b}, {i, j}, ((a * bodies + b) * most_parts_ + i) * most_parts_ + j, {}, never});
      pair.count = std::ssize(parts_) - pair.first;
    }
    bodies_.push_back(pair);
  }
  reach_ = reach;
  used_ = 0.0;
  path_then_ = path_;
}

template <int n>
void Detection<n>::solve(const Parts& p, Frames<n> frames, std::array<geometry::Basis<n>, 2>& basis, Contact& c) const {
  const auto &one = world_->bodies[p.body[0]], &two = world_->bodies[p.body[1]];
  c.body = p.body;
  c.part = p.part;
  if (const Vector<n>* outward = two.outward_of(p.part[1]))
    geometry::find_contact(one.parts[p.part[0]], frames[p.body[0]], two.parts[p.part[1]], frames[p.body[1]], *outward,
                           basis, c);
  else
    geometry::find_contact(one.parts[p.part[0]], frames[p.body[0]], two.parts[p.part[1]], frames[p.body[1]], basis[0],
                           c);
}

template <int n>
const std::vector<geometry::Contact<n>>& Detection<n>::find(Frames<n> frames, double within) {
  found_.swap(found_before_);
  key_before_.clear();
  for (const int k : pair_) key_before_.push_back(parts_[k].key);
  found_.clear();
  pair_.clear();
  follow(frames);
  for (std::size_t b = 0; b < kin_.size(); ++b)
    if (kin_[b] >= 0) {
      const Matrix<n> C = frames[b].directors.transpose() * frames[b].directors;
      ball_[b] = radius_[b] * std::sqrt(C.cwiseAbs().colwise().sum().maxCoeff());  // bound on the stretch
    }
  if (used_ + within > reach_) gather(frames, std::max(usual_reach_, 2.0 * within));
  std::size_t before = 0;  // both lists are sorted by key
  for (auto& pair : bodies_) {
    const double path = path_[pair.a] + path_[pair.b];
    if (path + within < pair.apart_until) continue;
    const double gap = (frames[pair.a].position - frames[pair.b].position).norm() - ball_[pair.a] - ball_[pair.b];
    const double moved = moved_[pair.a] + moved_[pair.b], gap_before = std::max(0.0, pair.apart_until - path + moved);
    if (gap > within && moved <= gap_before + gap) {
      pair.apart_until = path + gap;
      continue;
    }
    double next = std::numeric_limits<double>::infinity();
    for (int k = pair.first; k < pair.first + pair.count; ++k) {
      auto& parts = parts_[k];
      if (path + within >= parts.apart_until) {
        found_.emplace_back();
        pair_.push_back(k);
        while (before < key_before_.size() && key_before_[before] < parts.key) ++before;
        const bool known = before < key_before_.size() && key_before_[before] == parts.key;
        if (known && moved == 0.0)
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
  if (static_cast<std::int64_t>(bodies_.size()) < all_pairs_) worst = std::max(worst, used_ - reach_);
  return worst == never ? 0.0 : worst;
}

template <int n>
geometry::Contact<n> Detection<n>::look(int i, Frames<n> frames) const {
  const auto& parts = parts_[pair_[i]];
  auto basis = parts.basis;
  Contact c;
  solve(parts, frames, basis, c);
  return c;
}

template <int n>
double Detection<n>::separation(int i, Frames<n> frames, const Vector<n>& normal) const {
  const auto& p = parts_[pair_[i]];
  double low = std::numeric_limits<double>::infinity(), high = -low;
  const auto& one = world_->bodies[p.body[0]].parts[p.part[0]];
  const auto& two = world_->bodies[p.body[1]].parts[p.part[1]];
  for (int k = 0; k < one.size(); ++k) low = std::min(low, normal.dot(frames[p.body[0]](one.corner(k))));
  for (int k = 0; k < two.size(); ++k) high = std::max(high, normal.dot(frames[p.body[1]](two.corner(k))));
  return low - high;
}

template <int n>
double Detection<n>::thickness(int i) const {
  const auto& p = parts_[pair_[i]];
  return std::min(thickness_[p.body[0]][p.part[0]], thickness_[p.body[1]][p.part[1]]);
}

template class Detection<2>;
template class Detection<3>;

}  // namespace dodyn::rigid
