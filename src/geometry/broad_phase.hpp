// Broad phase: finds the pairs of bodies whose bounding boxes overlap.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "geometry/frame.hpp"

namespace dodyn::geometry {

// An axis-parallel box in world coordinates, m.
template <int n>
struct Box {
  Vector<n> low, high;
  bool overlaps(const Box& other) const {
    return (low.array() <= other.high.array()).all() && (other.low.array() <= high.array()).all();
  }
};

// Finds pairs of overlapping boxes by a uniform grid. Boxes larger than four times the median size, such as a floor,
// are tested against all others. The cells are at least as large as the largest remaining box. For boxes of similar
// size the time is linear in the number of boxes and pairs, except for the sort of the cells. Keeps its memory between
// calls.
template <int n>
class Grid {
 public:
  // Returns the pairs (i, j), i < j, in ascending order. The reference is valid until the next call. Boxes must be
  // finite.
  const std::vector<std::pair<int, int>>& overlapping(const std::vector<Box<n>>& boxes);

 private:
  struct Entry {
    std::int64_t cell;  // cell of the box's low corner
    int box;
    bool operator<(const Entry& o) const { return cell != o.cell ? cell < o.cell : box < o.box; }
  };
  std::vector<double> extents_;
  std::vector<int> large_;
  std::vector<Entry> entries_;
  std::vector<std::pair<int, int>> pairs_;
};

}  // namespace dodyn::geometry
