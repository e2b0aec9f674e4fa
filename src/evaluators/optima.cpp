#include "evaluators/optima.hpp"

#include <algorithm>
#include <cmath>

#include "record/evaluation.hpp"

namespace dodyn::evaluators {

namespace {

bool same(const Optimum& a, const Optimum& b) {
  return std::abs(a.cost - b.cost) <= 1e-6 * std::abs(a.cost) &&
         (a.joints - b.joints).norm() <= 1e-3 * std::sqrt(static_cast<double>(a.joints.size()));
}

}  // namespace

void add(std::vector<Optimum>& optima, Optimum found) {
  for (Optimum& known : optima)
    if (same(known, found)) {
      found.count += known.count;
      known.count = found.count;
      if (found.cost < known.cost) known = std::move(found);
      return;
    }
  optima.insert(std::upper_bound(optima.begin(), optima.end(), found,
                                 [](const Optimum& a, const Optimum& b) { return a.cost < b.cost; }),
                std::move(found));
}

Eigen::MatrixXd table(const std::vector<Optimum>& optima, int rows) {
  Eigen::MatrixXd m = Eigen::MatrixXd::Constant(rows, 4, not_a_number);
  for (int i = 0; i < rows && i < static_cast<int>(optima.size()); ++i) {
    const Optimum& o = optima[static_cast<std::size_t>(i)];
    m.row(i) << o.cost, o.count, o.residual,
        (o.joints - optima.front().joints).norm() / std::sqrt(static_cast<double>(o.joints.size()));
  }
  return m;
}
Eigen::MatrixXd joints_of(const std::vector<Optimum>& optima) {
  Eigen::MatrixXd m(static_cast<Eigen::Index>(optima.size()), optima.empty() ? 0 : optima.front().joints.size());
  for (std::size_t i = 0; i < optima.size(); ++i) m.row(static_cast<Eigen::Index>(i)) = optima[i].joints.transpose();
  return m;
}

}  // namespace dodyn::evaluators
