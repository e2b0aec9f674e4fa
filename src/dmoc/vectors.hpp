// Parts of vectors.
#pragma once

#include <Eigen/Core>
#include <vector>

namespace dodyn::dmoc {

inline Eigen::VectorXd joined(const Eigen::VectorXd& a, const Eigen::VectorXd& b) {
  Eigen::VectorXd z(a.size() + b.size());
  z << a, b;
  return z;
}
// Returns these components of a vector.
inline Eigen::VectorXd picked(const Eigen::VectorXd& whole, const std::vector<int>& which) { return whole(which); }
// Returns a vector of size n that has these components, and zeros elsewhere.
inline Eigen::VectorXd spread(const Eigen::VectorXd& part, const std::vector<int>& which, int n) {
  Eigen::VectorXd v = Eigen::VectorXd::Zero(n);
  v(which) = part;
  return v;
}

}  // namespace dodyn::dmoc
