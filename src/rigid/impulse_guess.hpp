// Reuses the contact impulses of one solution as the initial guess of the next, by pair of parts.
#pragma once

#include <vector>

#include "rigid/contact_points.hpp"

namespace dodyn::rigid {

// In all arguments, points are sorted by the key of their pair.
template <int n>
class ImpulseGuess {
 public:
  void clear() { pairs_.clear(); }
  void keep(const std::vector<ContactPoint<n>>& points, const std::vector<double>& impulse) {
    pairs_.clear();
    places_.clear();
    for (const auto& point : points) {
      pairs_.push_back(point.pair);
      places_.push_back(point.point);
    }
    impulses_ = impulse;
  }
  // Fills `impulse` (n per point) with the stored impulses of the same pairs, each at the nearest present point; zero
  // for new pairs.
  void give(const std::vector<ContactPoint<n>>& points, std::vector<double>& impulse) const {
    impulse.assign(n * points.size(), 0.0);
    const auto run = [](std::size_t from, std::size_t size, auto pair) {
      std::size_t to = from + 1;
      while (to < size && pair(to) == pair(from)) ++to;
      return to;
    };
    const auto now = [&](std::size_t i) { return points[i].pair; };
    const auto then = [&](std::size_t i) { return pairs_[i]; };
    for (std::size_t i = 0, j = 0; i < points.size() && j < pairs_.size();) {
      const std::size_t i_end = run(i, points.size(), now), j_end = run(j, pairs_.size(), then);
      if (now(i) == then(j))  // points appear and disappear: assigns each impulse to the nearest present point
        for (std::size_t from = j; from < j_end; ++from) {
          std::size_t to = i;
          for (std::size_t k = i; k < i_end; ++k)
            if ((points[k].point - places_[from]).squaredNorm() < (points[to].point - places_[from]).squaredNorm())
              to = k;
          for (int k = 0; k < n; ++k) impulse[n * to + k] += impulses_[n * from + k];
        }
      const bool both = now(i) == then(j), first = now(i) < then(j);
      if (both || first) i = i_end;
      if (both || !first) j = j_end;
    }
  }

 private:
  std::vector<PairKey> pairs_;
  std::vector<Vector<n>> places_;
  std::vector<double> impulses_;
};

}  // namespace dodyn::rigid
