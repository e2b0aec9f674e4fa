// Meshes of deformable bodies: triangles in the plane, tetrahedra in space.
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
  std::vector<Vector<n>> nodes;               // at rest, body coordinates, m
  std::vector<std::array<int, n + 1>> cells;  // indices of corners; positive volume

  // Returns the vectors from the first corner of a cell to its other corners, as columns.
  Matrix<n> edges(const std::array<int, n + 1>& cell) const;

  // Throws std::invalid_argument with the mesh's name if there are no cells, unknown nodes, nodes without a cell, a
  // cell without positive volume, or parts that are not connected by faces.
  void check(const std::string& name) const;
};

// Meshes a box centred at the origin. `cells`: number of boxes along each axis; each is divided into n! simplices
// (Todd's triangulation J1, symmetric if the numbers are even). `inside`: returns whether the box with this centre
// exists; null: all exist. Throws std::invalid_argument if a size or a number is not positive.
template <int n>
Mesh<n> block(const Vector<n>& size, const std::array<int, n>& cells,
              const std::function<bool(const Vector<n>& centre)>& inside = nullptr);

// Returns the faces (2D: edges) that belong to one cell only, as ascending indices of their nodes.
template <int n>
std::vector<std::array<int, n>> boundary_faces(const Mesh<n>& mesh);
// Returns the cells with a boundary face.
template <int n>
std::vector<int> boundary_cells(const Mesh<n>& mesh);

}  // namespace dodyn::elastic
