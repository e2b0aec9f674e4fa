#include "surrogate/radial_basis.hpp"

#include <Eigen/QR>
#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <vector>

namespace dodyn::surrogate {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

// phi(r) and phi'(r) / r, which stays finite.
struct Radial {
  double value, slope;
};

Radial radial(Basis basis, double r, double length) {
  switch (basis) {
    case Basis::cubic:
      return {r * r * r, 3 * r};
    case Basis::thin_plate:
      return r > 0 ? Radial{r * r * std::log(r), 2 * std::log(r) + 1} : Radial{0, 0};
    case Basis::gaussian:
      break;
  }
  const double e = std::exp(-0.5 * r * r / (length * length));
  return {e, -e / (length * length)};
}

}  // namespace

RadialBasis::RadialBasis(const MatrixXd& x, const VectorXd& y, const RadialBasisOptions& options) : options_(options) {
  const Index d = x.rows();
  if (d < 1 || x.cols() < 1) throw std::invalid_argument("radial basis: no sample");
  if (y.size() != x.cols() || (options.scale.size() > 0 && options.scale.size() != d))
    throw std::invalid_argument("radial basis: the samples' shapes differ");
  if (!x.allFinite() || !y.allFinite() || !(options.smoothing >= 0) || !(options.length >= 0))
    throw std::invalid_argument("radial basis: a number is not finite or negative");
  scale_ = options.scale.size() > 0 ? options.scale : VectorXd(x.rowwise().maxCoeff() - x.rowwise().minCoeff());
  for (double& length : scale_)
    if (!(length > 0)) length = 1;
  const MatrixXd scaled = scale_.cwiseInverse().asDiagonal() * x;
  std::vector<Index> kept;
  std::vector<double> sum, count;
  for (Index i = 0; i < x.cols(); ++i) {
    std::size_t k = 0;
    while (k < kept.size() && (scaled.col(kept[k]) - scaled.col(i)).cwiseAbs().maxCoeff() >= 1e-7) ++k;
    if (k == kept.size()) kept.push_back(i), sum.push_back(0), count.push_back(0);
    sum[k] += y(i), count[k] += 1;
  }
  const auto n = static_cast<Index>(kept.size());
  x_ = scaled(Eigen::all, kept);
  VectorXd values(n);
  for (Index i = 0; i < n; ++i) values(i) = sum[i] / count[i];
  centre_ = values.mean();
  spread_ = (values.array() - centre_).abs().maxCoeff();
  if (!(spread_ > 0)) spread_ = 1;
  if (options_.length == 0) options_.length = std::pow(static_cast<double>(n), -1.0 / static_cast<double>(d));

  MatrixXd system = MatrixXd::Zero(n + 1 + d, n + 1 + d);
  for (Index i = 0; i < n; ++i) {
    for (Index j = 0; j <= i; ++j)
      system(i, j) = system(j, i) = radial(options_.basis, (x_.col(i) - x_.col(j)).norm(), options_.length).value;
    // phi of cubic and thin plate is conditionally positive definite of order 2: a ridge adds to its diagonal
    system(i, i) += options_.smoothing + (options_.basis == Basis::gaussian ? 1e-10 : 0.0);
    system(i, n) = system(n, i) = 1;
    system.block(i, n + 1, 1, d) = x_.col(i).transpose();
    system.block(n + 1, i, d, 1) = x_.col(i);
  }
  VectorXd right = VectorXd::Zero(n + 1 + d);
  right.head(n) = (values.array() - centre_) / spread_;
  Eigen::CompleteOrthogonalDecomposition<MatrixXd> solver;
  solver.setThreshold(1e-13);
  solver.compute(system);
  const VectorXd solution = solver.solve(right);
  weights_ = solution.head(n);
  tail_ = solution.tail(1 + d);
}

double RadialBasis::value(const VectorXd& at, VectorXd* gradient) const {
  const VectorXd u = at.cwiseQuotient(scale_);
  double s = tail_(0) + tail_.tail(u.size()).dot(u);
  VectorXd slope = tail_.tail(u.size());
  for (Index i = 0; i < x_.cols(); ++i) {
    const VectorXd delta = u - x_.col(i);
    const Radial phi = radial(options_.basis, delta.norm(), options_.length);
    s += weights_(i) * phi.value;
    slope += weights_(i) * phi.slope * delta;
  }
  if (gradient) *gradient = spread_ * slope.cwiseQuotient(scale_);
  return centre_ + spread_ * s;
}

}  // namespace dodyn::surrogate
