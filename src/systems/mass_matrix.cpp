#include "systems/mass_matrix.hpp"

namespace dodyn::systems {

Eigen::MatrixXd mass_matrix(const Tree<double>& tree, std::span<const double> q) {
  using autodiff::Dual;
  const int n = tree.n();
  Eigen::MatrixXd M(n, n);
  const std::vector<Dual<double>> at(q.begin(), q.end());
  std::vector<Dual<double>> v(at.size(), 0.0);
  for (int j = 0; j < n; ++j) {
    v[j].value = 1.0;
    for (int i = 0; i < n; ++i) {
      v[i].tangent = 1.0;
      M(i, j) = tree.lagrangian(at.data(), v.data()).tangent;
      v[i].tangent = 0.0;
    }
    v[j].value = 0.0;
  }
  return M;
}

Eigen::Matrix3d inertia_of(const Link<double>& link) {
  Eigen::Matrix3d J = Eigen::Vector3d(link.inertia[0], link.inertia[1], link.inertia[2]).asDiagonal();
  for (int i = 0; i < 3; ++i) {
    const int j = (i + 1) % 3, k = (i + 2) % 3;
    J(j, k) = J(k, j) = link.products[i];
  }
  return J;
}

std::vector<int> massless_coordinates(const Tree<double>& tree, std::span<const double> q) {
  const Eigen::VectorXd masses = mass_matrix(tree, q).diagonal();
  std::vector<int> all;
  for (int c = 0; c < masses.size(); ++c)
    if (!(masses(c) > 0.0)) all.push_back(c);
  return all;
}

std::string massless_text(const Tree<double>& tree, int coordinate, const char* more) {
  return "no mass moves with coordinate " + tree.coordinate_names[static_cast<std::size_t>(coordinate)] + more +
         "; give a link that it moves mass or inertia, or fix its joint";
}

}  // namespace dodyn::systems
