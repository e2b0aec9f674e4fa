#include "elastic/elements.hpp"

#include <Eigen/Geometry>
#include <Eigen/LU>
#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "record/text.hpp"

namespace dodyn::elastic {
namespace {

// returns J F^-T
Matrix<2> cofactor(const Matrix<2>& F) { return (Matrix<2>() << F(1, 1), -F(1, 0), -F(0, 1), F(0, 0)).finished(); }
Matrix<3> cofactor(const Matrix<3>& F) {
  Matrix<3> C;
  C << F.col(1).cross(F.col(2)), F.col(2).cross(F.col(0)), F.col(0).cross(F.col(1));
  return C;
}

}  // namespace

template <int n>
Matrix<n> Elements<n>::deformation(const Cell& cell, const Nodes<n>& x) {
  Matrix<n> F = x.col(cell.node[0]) * cell.gradient.col(0).transpose();
  for (int j = 1; j <= n; ++j) F.noalias() += x.col(cell.node[j]) * cell.gradient.col(j).transpose();
  return F;
}

template <int n>
void Elements<n>::add(const std::string& name, const Mesh<n>& mesh, const Material& material) {
  mesh.check(name);
  const auto require = [&](bool good, const char* what, double value) {
    if (!good)
      throw std::invalid_argument(std::string(what) + " of '" + name + "' is " + to_text(value) +
                                  ", which no material has; allowed: density, mu and lambda + 2 mu/" +
                                  std::to_string(n) + " above zero");
  };
  require(material.density > 0.0, "density", material.density);
  require(material.mu > 0.0, "mu", material.mu);
  require(material.lambda + 2.0 * material.mu / n > 0.0, "lambda", material.lambda);
  const int first = nodes();
  mass_.resize(mass_.size() + mesh.nodes.size(), 0.0);
  for (const auto& corners : mesh.cells) {
    const Matrix<n> D = mesh.edges(corners);
    Cell cell;
    cell.volume = D.determinant() / (n == 2 ? 2.0 : 6.0);
    cell.gradient.template rightCols<n>() = D.inverse().transpose();
    cell.gradient.col(0) = -cell.gradient.template rightCols<n>().rowwise().sum();
    cell.lambda = material.lambda;
    cell.mu = material.mu;
    for (std::size_t i = 0; i <= n; ++i) {
      cell.node[i] = first + corners[i];
      mass_[cell.node[i]] += material.density * cell.volume / (n + 1);
    }
    cells_.push_back(cell);
  }
}

template <int n>
double Elements<n>::forces(const Nodes<n>& x, Nodes<n>& force, int& inverted) const {
  inverted = -1;
  force.setZero(n, nodes());
  double energy = 0.0;
  for (std::size_t c = 0; c < cells_.size(); ++c) {
    const Cell& cell = cells_[c];
    const Matrix<n> F = deformation(cell, x), C = cofactor(F);
    const double J = F.col(0).dot(C.col(0));
    if (!(J > 0.0)) {
      inverted = c;
      return energy;
    }
    const double log_J = std::log(J);
    energy += cell.volume * (0.5 * cell.mu * (F.squaredNorm() - n) + log_J * (0.5 * cell.lambda * log_J - cell.mu));
    const Matrix<n> P = (-cell.volume * cell.mu) * F + (cell.volume * (cell.mu - cell.lambda * log_J) / J) * C;
    for (int j = 0; j <= n; ++j) force.col(cell.node[j]).noalias() += P * cell.gradient.col(j);
  }
  return energy;
}

template <int n>
double Elements<n>::smallest_jacobian(const Nodes<n>& x) const {
  double smallest = std::numeric_limits<double>::infinity();
  for (const Cell& cell : cells_) smallest = std::min(smallest, deformation(cell, x).determinant());
  return smallest;
}

template class Elements<2>;
template class Elements<3>;

}  // namespace dodyn::elastic
