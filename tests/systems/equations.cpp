// Prints the equations of motion M(q) a + b(q, v) = 0 of a model by its Lagrangian, for independent programs.
//
//   equations MODEL                 the names of the coordinates, in one line
//   equations MODEL < states        of every line "q v" of 2n numbers: M row by row, then b, n n + n numbers in one line
//
// b: forces of inertia, gravity and springs; without damping and controls.
#include <cstdio>
#include <iostream>
#include <sstream>
#include <vector>

#include "systems/mass_matrix.hpp"
#include "systems/model.hpp"

using namespace dodyn;

int main(int argc, char** argv) try {
  if (argc != 2) return 2;
  const systems::Model model = systems::find_model(argv[1]);
  const systems::Tree<double> tree = model.tree<double>(model.evaluate<double>().numbers);
  const std::size_t n = tree.n();
  for (const auto& name : tree.coordinate_names) std::printf("%s ", name.c_str());
  std::printf("\n");
  using Once = autodiff::Dual<double>;
  using Twice = autodiff::Dual<Once>;
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream numbers(line);
    std::vector<double> q(n), v(n);
    for (auto* of : {&q, &v})
      for (double& x : *of) numbers >> x;
    const auto M = systems::mass_matrix(tree, q);
    for (Eigen::Index i = 0; i < M.rows(); ++i)
      for (Eigen::Index j = 0; j < M.cols(); ++j) std::printf("%.17g ", M(i, j));
    // b = d/ds dL/dv(q + s v, v) - dL/dq
    for (std::size_t i = 0; i < n; ++i) {
      std::vector<Twice> moving(n), rates(n);
      std::vector<Once> at(q.begin(), q.end()), still(v.begin(), v.end());
      for (std::size_t j = 0; j < n; ++j) {
        moving[j] = Twice(Once(q[j], v[j]), Once(0.0));
        rates[j] = Twice(Once(v[j]), Once(i == j ? 1.0 : 0.0));
      }
      at[i].tangent = 1.0;
      const double carried = tree.lagrangian(moving.data(), rates.data()).tangent.tangent;
      std::printf("%.17g ", carried - tree.lagrangian(at.data(), still.data()).tangent);
    }
    std::printf("\n");
  }
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 2;
}
