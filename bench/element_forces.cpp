// Times the forces of neo-Hookean elements next to a direct implementation of the formula with Eigen: edges, F by a
// product with the stored inverse, its determinant and inverse, P, a scatter.
//
//   bench/element_forces [rounds]
//
// The meshes are tetrahedra of sixteen cubes and a plate of triangles, both deformed. Prints the largest difference of
// the forces, then CPU times, the minimum of interleaved rounds.
#include <Eigen/LU>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>

#include "elastic/elements.hpp"

using namespace dodyn::elastic;

template <int n>
struct Plain {
  struct Cell {
    std::array<int, n + 1> node;
    Matrix<n> inverse;  // inverse of the edges at rest
    double volume;
  };
  std::vector<Cell> cells;
  Material material;

  Plain(const Mesh<n>& mesh, const Material& m) : material(m) {
    for (const auto& corners : mesh.cells) {
      const Matrix<n> D = mesh.edges(corners);
      cells.push_back({corners, D.inverse(), D.determinant() / (n == 2 ? 2.0 : 6.0)});
    }
  }
  double forces(const Nodes<n>& x, Nodes<n>& force) const {
    force.setZero(n, x.cols());
    double energy = 0.0;
    for (const Cell& cell : cells) {
      Matrix<n> D;
      for (int i = 0; i < n; ++i) D.col(i) = x.col(cell.node[i + 1]) - x.col(cell.node[0]);
      const Matrix<n> F = D * cell.inverse, inverse_transposed = F.inverse().transpose();
      const double J = F.determinant(), log_J = std::log(J);
      energy += cell.volume * (0.5 * material.mu * (F.squaredNorm() - n) - material.mu * log_J +
                               0.5 * material.lambda * log_J * log_J);
      const Matrix<n> P = material.mu * (F - inverse_transposed) + material.lambda * log_J * inverse_transposed;
      const Matrix<n> H = -cell.volume * P * cell.inverse.transpose();
      for (int i = 0; i < n; ++i) {
        force.col(cell.node[i + 1]) += H.col(i);
        force.col(cell.node[0]) -= H.col(i);
      }
    }
    return energy;
  }
};

template <int n>
void compare(const char* name, const Mesh<n>& mesh, int rounds) {
  const Material material;
  Elements<n> elements;
  elements.add("block", mesh, material);
  const Plain<n> plain(mesh, material);
  Nodes<n> x(n, mesh.nodes.size()), ours, theirs;
  for (Eigen::Index i = 0; i < x.cols(); ++i)
    for (int a = 0; a < n; ++a) x(a, i) = mesh.nodes[i][a] + 0.01 * std::sin(10.0 * mesh.nodes[i].sum() + a);
  int inverted = -1;
  double best[2] = {1e300, 1e300}, sum = 0.0;
  const int repeats = 2000000 / elements.size() + 1;
  for (int round = 0; round < rounds; ++round)
    for (const int which : {0, 1}) {
      const std::clock_t begin = std::clock();
      for (int k = 0; k < repeats; ++k)
        sum += which == 0 ? elements.forces(x, ours, inverted) : plain.forces(x, theirs);
      best[which] = std::min(best[which], static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC);
    }
  const double count = static_cast<double>(repeats) * elements.size();
  std::printf(
      "%-12s %6d elements, forces differ by %.1e of %.1e N; %.3g a second, plain loop %.3g: time ratio %.2f  (%g)\n",
      name, elements.size(), (ours - theirs).cwiseAbs().maxCoeff(), ours.cwiseAbs().maxCoeff(), count / best[0],
      count / best[1], best[0] / best[1], sum > 0 ? 1.0 : 0.0);
}

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 5;
  compare<3>("tetrahedra", block<3>({0.3, 0.3, 0.075}, {16, 16, 4}), rounds);
  compare<2>("triangles", block<2>({0.6, 0.45}, {60, 45}), rounds);
}
