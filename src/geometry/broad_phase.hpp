// Which pairs can meet at all: the overlapping pairs of boxes around bodies.
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

// Pairs of overlapping boxes by a uniform grid whose cells are as large as the largest usual box; the few much larger
// ones (a floor) are tested against all. Linear in the number of boxes and of overlapping pairs where the boxes are of
// similar size, up to the sort of the cells. Keeps its memory between calls.
template <int n>
class Grid {
 public:
  // Pairs (i, j), i < j, in ascending order.
  const std::vector<std::pair<int, int>>& overlapping(const std::vector<Box<n>>& boxes);

 private:
  struct Entry {
    std::int64_t cell;  // of the box's low corner
    int box;
    bool operator<(const Entry& o) const { return cell != o.cell ? cell < o.cell : box < o.box; }
  };
  std::vector<double> extents_;
  std::vector<int> large_;
  std::vector<Entry> entries_;
  std::vector<std::pair<int, int>> pairs_;
};

}  // namespace dodyn::geometry
