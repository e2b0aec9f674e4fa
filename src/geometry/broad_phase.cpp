#include "geometry/broad_phase.hpp"

#include <algorithm>
#include <cmath>

namespace dodyn::geometry {
namespace {

template <int n>
void extend(Box<n>& box, const Polytope<n>& k, const Frame<n>& f) {
  for (int axis = 0; axis < n; ++axis) {
    double low = std::numeric_limits<double>::infinity(), high = -low;
    for (int i = 0; i < k.padded_size(); ++i) {
      double x = 0.0;
      for (int a = 0; a < n; ++a) x += f.directors(axis, a) * k.axis(a)[i];
      low = x < low ? x : low;
      high = x > high ? x : high;
    }
    box.low[axis] = std::min(box.low[axis], f.position[axis] + low);
    box.high[axis] = std::max(box.high[axis], f.position[axis] + high);
  }
}

constexpr int bits = 20;  // of a cell number per axis

template <int n>
std::uint64_t key(const std::array<std::int64_t, n>& cell) {
  std::uint64_t k = 0;
  for (int a = 0; a < n; ++a) k = k << bits | static_cast<std::uint64_t>(cell[a]);
  return k;
}

}  // namespace

template <int n>
Box<n> swept_box(const Polytope<n>& polytope, double arm, const Frame<n>& from, const Frame<n>& to) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  Box<n> box{Vector<n>::Constant(infinity), Vector<n>::Constant(-infinity)};
  extend(box, polytope, from);
  if (from.position == to.position && from.directors == to.directors) return box;
  extend(box, polytope, to);
  // A point turning by theta on a circle of radius r leaves its chord by at most r (1 - cos(theta/2)).
  const double trace = from.directors.cwiseProduct(to.directors).sum();
  const double cosine = std::clamp(0.5 * (n == 2 ? trace : trace - 1.0), -1.0, 1.0);
  const double bulge = arm * (1.0 - std::sqrt(0.5 * (1.0 + cosine)));
  return {box.low.array() - bulge, box.high.array() + bulge};
}

template <int n>
const std::vector<std::pair<int, int>>& Grid<n>::overlapping(const std::vector<Box<n>>& boxes) {
  const int count = static_cast<int>(boxes.size());
  pairs_.clear();
  large_.clear();
  entries_.clear();
  if (count < 2) return pairs_;
  extents_.resize(count);
  const auto extent = [&](int i) { return (boxes[i].high - boxes[i].low).maxCoeff(); };
  for (int i = 0; i < count; ++i) extents_[i] = extent(i);
  std::nth_element(extents_.begin(), extents_.begin() + count / 2, extents_.end());
  const double usual = 4.0 * extents_[count / 2];
  double edge = 0.0;
  Vector<n> origin = boxes[0].low, end = boxes[0].low;
  for (int i = 0; i < count; ++i) {
    if (extent(i) > usual) {
      large_.push_back(i);
      continue;
    }
    edge = std::max(edge, extent(i));
    origin = origin.cwiseMin(boxes[i].low);
    end = end.cwiseMax(boxes[i].low);
  }
  // cells beyond what a number holds: larger cells
  edge = std::max({edge, (end - origin).maxCoeff() / ((1 << bits) - 8), std::numeric_limits<double>::min()});
  const auto cell_of = [&](const Vector<n>& x) {
    std::array<std::int64_t, n> cell;
    for (int a = 0; a < n; ++a) cell[a] = static_cast<std::int64_t>((x[a] - origin[a]) / edge);
    return cell;
  };
  for (int i = 0; i < count; ++i) {
    if (extent(i) > usual) continue;
    const auto low = cell_of(boxes[i].low), high = cell_of(boxes[i].high);
    auto cell = low;
    for (int a = 0; a < n;) {  // all cells from low to high
      if (a == 0) entries_.push_back({key<n>(cell), i});
      if (cell[a] < high[a]) {
        ++cell[a];
        a = 0;
      } else {
        cell[a] = low[a];
        ++a;
      }
    }
  }
  std::sort(entries_.begin(), entries_.end());
  for (std::size_t i = 0; i < entries_.size(); ++i)
    for (std::size_t j = i + 1; j < entries_.size() && entries_[j].cell == entries_[i].cell; ++j) {
      const int a = entries_[i].box, b = entries_[j].box;
      if (!boxes[a].overlaps(boxes[b])) continue;
      // two boxes share several cells; the lowest corner of what they share is in one of them
      if (key<n>(cell_of(boxes[a].low.cwiseMax(boxes[b].low))) == entries_[i].cell) pairs_.emplace_back(a, b);
    }
  for (const int i : large_)
    for (int j = 0; j < count; ++j) {
      const bool twice = extent(j) > usual && j <= i;
      if (!twice && boxes[i].overlaps(boxes[j])) pairs_.emplace_back(std::min(i, j), std::max(i, j));
    }
  std::sort(pairs_.begin(), pairs_.end());
  return pairs_;
}

template Box<2> swept_box(const Polytope<2>&, double, const Frame<2>&, const Frame<2>&);
template Box<3> swept_box(const Polytope<3>&, double, const Frame<3>&, const Frame<3>&);
template class Grid<2>;
template class Grid<3>;

}  // namespace dodyn::geometry
