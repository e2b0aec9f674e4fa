#include "geometry/broad_phase.hpp"

#include <algorithm>
#include <array>
#include <limits>

namespace dodyn::geometry {
namespace {

// The cell indices of all axes form one key, with this number of bits for each, the last axis in the lowest bits. So
// neighbours along that axis have consecutive keys.
constexpr int bits = 20;

// Offsets of keys to the rows of cells that touch a cell and come after it.
template <int n>
constexpr auto forward_rows() {
  constexpr std::int64_t one = 1, y = one << bits, x = one << 2 * bits;
  if constexpr (n == 2)
    return std::array{y};
  else
    return std::array{y, x - y, x, x + y};
}

}  // namespace

template <int n>
const std::vector<std::pair<int, int>>& Grid<n>::overlapping(const std::vector<Box<n>>& boxes) {
  const int count = boxes.size();
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
  // slightly larger than the largest box: rounding must not put two cells between low corners of overlapping boxes
  edge = std::max(
      {(1.0 + 1e-9) * edge, (end - origin).maxCoeff() / ((1 << bits) - 8), std::numeric_limits<double>::min()});
  for (int i = 0; i < count; ++i) {
    if (extent(i) > usual) continue;
    std::int64_t key = 0;
    for (int a = 0; a < n; ++a)
      key = (key << bits) + static_cast<std::int64_t>((boxes[i].low[a] - origin[a]) / edge) + 1;
    entries_.push_back({key, i});
  }
  std::sort(entries_.begin(), entries_.end());
  // No box is larger than a cell. So the low corners of overlapping boxes are in the same or in adjacent cells.
  const auto test = [&](int a, int b) {
    if (boxes[a].overlaps(boxes[b])) pairs_.emplace_back(std::min(a, b), std::max(a, b));
  };
  constexpr auto rows = forward_rows<n>();
  std::array<std::size_t, rows.size()> start{};  // first of the three cells of each row; it only moves forward
  const std::size_t end_of_list = entries_.size();
  for (std::size_t i = 0; i < end_of_list; ++i) {
    const auto [cell, box] = entries_[i];
    for (std::size_t j = i + 1; j < end_of_list && entries_[j].cell <= cell + 1; ++j) test(box, entries_[j].box);
    for (std::size_t r = 0; r < rows.size(); ++r) {
      const std::int64_t middle = cell + rows[r];
      while (start[r] < end_of_list && entries_[start[r]].cell < middle - 1) ++start[r];
      for (std::size_t j = start[r]; j < end_of_list && entries_[j].cell <= middle + 1; ++j) test(box, entries_[j].box);
    }
  }
  for (const int i : large_)
    for (int j = 0; j < count; ++j) {
      const bool twice = extent(j) > usual && j <= i;
      if (!twice && boxes[i].overlaps(boxes[j])) pairs_.emplace_back(std::min(i, j), std::max(i, j));
    }
  std::ranges::sort(pairs_);
  return pairs_;
}

template class Grid<2>;
template class Grid<3>;

}  // namespace dodyn::geometry
