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

  Matrix<n> edges(const std::array<int, n + 1>& cell) const;  // vectors from its first corner to the others, as columns

  // Throws std::invalid_argument with the mesh's name: no cells, nodes without a cell, a cell without volume, or parts
  // that are not connected by faces.
  void check(const std::string& name) const;
};

// Meshes a box centred at the origin. `cells`: number of boxes along each axis; each is divided into n! simplices
// (Todd's triangulation J1, symmetric if the numbers are even). `inside`: tests by its centre whether a box exists;
// null: all exist.
template <int n>
Mesh<n> block(const Vector<n>& size, const std::array<int, n>& cells,
              const std::function<bool(const Vector<n>& centre)>& inside = nullptr);

// Return the faces (in the plane edges) that belong to one cell only, by their nodes; and the cells with such a face.
template <int n>
std::vector<std::array<int, n>> boundary_faces(const Mesh<n>& mesh);
template <int n>
std::vector<int> boundary_cells(const Mesh<n>& mesh);

}  // namespace dodyn::elastic
