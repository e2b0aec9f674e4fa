#include "systems/mass_matrix.hpp"

#include <vector>

namespace dodyn::systems {

Eigen::MatrixXd mass_matrix(const Tree<double>& tree, std::span<const double> q) {
  using autodiff::Dual;
  const int n = tree.n();
  Eigen::MatrixXd M(n, n);
  const std::vector<Dual<double>> at(q.begin(), q.end());
  std::vector<Dual<double>> v(at.size(), 0.0);
  for (int j = 0; j < n; ++j) {
    v[static_cast<std::size_t>(j)].value = 1.0;
    for (int i = 0; i < n; ++i) {
      v[static_cast<std::size_t>(i)].tangent = 1.0;
      M(i, j) = tree.lagrangian(at.data(), v.data()).tangent;
      v[static_cast<std::size_t>(i)].tangent = 0.0;
    }
    v[static_cast<std::size_t>(j)].value = 0.0;
  }
  return M;
}

}  // namespace dodyn::systems
