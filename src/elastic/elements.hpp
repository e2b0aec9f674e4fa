// Linear simplices of a neo-Hookean material with lumped masses.
//
//   W = mu/2 (tr F^T F - n) - mu ln J + lambda/2 (ln J)^2,   F = sum_j x_j (x) grad N_j,   J = det F     J/m^3 (J/m^2)
//   P = dW/dF = mu (F - F^-T) + lambda ln J F^-T,            force on node j = -volume P grad N_j
//
// 2D means plane strain, per metre of depth. For small strains lambda and mu are Lame's constants.
#pragma once

#include <Eigen/Core>
#include <vector>

#include "elastic/mesh.hpp"

namespace dodyn::elastic {

struct Material {
  double lambda = 1e4, mu = 5e3;  // Pa (2D: N/m)
  double density = 1000.0;        // kg/m^3 (2D: kg/m^2)
};

// Positions, velocities or forces of nodes, [n, nodes].
template <int n>
using Nodes = Eigen::Matrix<double, n, Eigen::Dynamic>;

template <int n>
class Elements {
 public:
  // Adds the cells of a body. Its nodes are numbered from nodes() on. Throws std::invalid_argument for an invalid mesh
  // (Mesh::check()) or material.
  void add(const std::string& name, const Mesh<n>& mesh, const Material& material);

  int nodes() const { return static_cast<int>(mass_.size()); }
  int size() const { return static_cast<int>(cells_.size()); }
  const std::vector<double>& mass() const { return mass_; }  // kg; a cell's mass is shared equally by its corners

  // Returns W over all cells, J; sets `force` to the force on each node, N. Stops at the first inverted cell:
  // `inverted` is its index (otherwise -1), and `force` is then not valid.
  double forces(const Nodes<n>& x, Nodes<n>& force, int& inverted) const;
  // Returns the minimum J over all cells.
  double smallest_jacobian(const Nodes<n>& x) const;

  struct Cell {
    std::array<int, n + 1> node;
    Eigen::Matrix<double, n, n + 1> gradient;  // gradients of the shape functions at rest, columns, 1/m
    double volume, lambda, mu;
  };
  const Cell& cell(int i) const { return cells_[i]; }
  // Returns the deformation gradient F.
  static Matrix<n> deformation(const Cell& cell, const Nodes<n>& x);

 private:
  std::vector<Cell> cells_;
  std::vector<double> mass_;
};

extern template class Elements<2>;
extern template class Elements<3>;

}  // namespace dodyn::elastic
