// Triangles in the plane and tetrahedra in space: what a deformable body is cut into.
#pragma once

#include <array>
#include <functional>
#include <string>
#include <vector>

#include "geometry/frame.hpp"

namespace dodyn::elastic {

using geometry::Matrix;
using geometry::Vector;

template <int n>
struct Mesh {
  std::vector<Vector<n>> nodes;               // at rest, in body coordinates, m
  std::vector<std::array<int, n + 1>> cells;  // corners, of positive volume

  Matrix<n> edges(const std::array<int, n + 1>& cell) const;  // from its first corner to the others, columns

  // Throws std::invalid_argument, naming the mesh: no cells, nodes that no cell has, a cell without volume, parts that do
  // not hang together by faces.
  void check(const std::string& name) const;
};

// A box about the origin, in `cells` boxes along each axis, each of n! simplices (Todd's triangulation J1, its own mirror
// image where the numbers are even). `inside` says by their centres which boxes are there; null: all of them.
template <int n>
Mesh<n> block(const Vector<n>& size, const std::array<int, n>& cells,
              const std::function<bool(const Vector<n>& centre)>& inside = nullptr);

// The faces (in the plane edges) that one cell alone has, by their nodes; and the cells that have one.
template <int n>
std::vector<std::array<int, n>> boundary_faces(const Mesh<n>& mesh);
template <int n>
std::vector<int> boundary_cells(const Mesh<n>& mesh);

}  // namespace dodyn::elastic
