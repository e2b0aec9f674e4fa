#include "geometry/collision_detection.hpp"

#include <algorithm>
#include <stdexcept>

namespace dodyn::geometry {

template <int n>
CollisionDetection<n>::CollisionDetection(std::vector<Body<n>> bodies) : bodies_(std::move(bodies)) {
  int parts = 0;
  for (const auto& body : bodies_) {
    first_part_.push_back(parts);
    parts += static_cast<int>(body.parts.size());
  }
  body_boxes_.resize(bodies_.size());
  part_boxes_.resize(parts);
}

template <int n>
void CollisionDetection<n>::ignore(int body, int other) {
  ignored_.emplace(std::min(body, other), std::max(body, other));
}

template <int n>
void CollisionDetection<n>::sweep(const std::vector<Frame<n>>& from, const std::vector<Frame<n>>& to, double margin) {
  const std::size_t count = bodies_.size();
  if (from.size() != count || to.size() != count)
    throw std::invalid_argument("sweep: " + std::to_string(from.size()) + " and " + std::to_string(to.size()) +
                                " frames for " + std::to_string(count) + " bodies");
  for (std::size_t b = 0; b < count; ++b) {
    const double reach = bodies_[b].radius + 0.5 * margin;  // a ball: holds the body however it turns
    body_boxes_[b] = {from[b].position.cwiseMin(to[b].position).array() - reach,
                      from[b].position.cwiseMax(to[b].position).array() + reach};
  }
  boxed_.assign(count, 0);
  const auto parts_boxed = [&](int b) {
    Box<n>* boxes = part_boxes_.data() + first_part_[b];
    if (!boxed_[b])
      for (std::size_t p = 0; p < bodies_[b].parts.size(); ++p) {
        boxes[p] = swept_box(bodies_[b].parts[p], bodies_[b].radius, from[b], to[b]);
        boxes[p].low.array() -= 0.5 * margin;
        boxes[p].high.array() += 0.5 * margin;
      }
    boxed_[b] = 1;
    return boxes;
  };
  candidates_.swap(previous_);
  candidates_.clear();
  for (auto [a, b] : grid_.overlapping(body_boxes_)) {
    if ((bodies_[a].still && bodies_[b].still) || (!ignored_.empty() && ignored_.contains({a, b}))) continue;
    if (bodies_[a].beta && !bodies_[b].beta) std::swap(a, b);
    const Box<n>*boxes_a = parts_boxed(a), *boxes_b = parts_boxed(b);
    for (int p = 0; p < static_cast<int>(bodies_[a].parts.size()); ++p) {
      if (!boxes_a[p].overlaps(body_boxes_[b])) continue;
      for (int q = 0; q < static_cast<int>(bodies_[b].parts.size()); ++q)
        if (boxes_a[p].overlaps(boxes_b[q])) candidates_.push_back({{a, b}, {p, q}, {}});
    }
  }
  const auto before = [](const Candidate<n>& x, const Candidate<n>& y) { return x.key() < y.key(); };
  std::sort(candidates_.begin(), candidates_.end(), before);
  // Pairs that were candidates before start from where they ended.
  auto old = previous_.begin();
  for (auto& candidate : candidates_) {
    while (old != previous_.end() && before(*old, candidate)) ++old;
    if (old != previous_.end() && old->key() == candidate.key()) candidate.basis = old->basis;
  }
}

template <int n>
void CollisionDetection<n>::contact(int candidate, const std::vector<Frame<n>>& frames, Contact<n>& contact) {
  auto& c = candidates_[candidate];
  contact.body = c.body;
  contact.part = c.part;
  const auto& second = bodies_[c.body[1]];
  const auto &k1 = bodies_[c.body[0]].parts[c.part[0]], &k2 = second.parts[c.part[1]];
  const auto &f1 = frames[c.body[0]], &f2 = frames[c.body[1]];
  if (second.beta)
    find_contact(k1, f1, k2, f2, *second.beta, c.basis, contact);
  else
    find_contact(k1, f1, k2, f2, c.basis[0], contact);
}

template <int n>
void CollisionDetection<n>::contacts(const std::vector<Frame<n>>& frames, double margin,
                                     std::vector<Contact<n>>& found) {
  found.clear();
  for (int k = 0; k < static_cast<int>(candidates_.size()); ++k) {
    contact(k, frames, found.emplace_back());
    if (found.back().normal_gap() < -margin) found.pop_back();
  }
}

template class CollisionDetection<2>;
template class CollisionDetection<3>;

}  // namespace dodyn::geometry
