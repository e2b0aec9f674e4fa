#include "surrogate/failure_boundary.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

namespace dodyn::surrogate {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

namespace {

constexpr double bend = 3;                // expected curvature of an edge, 1/range
constexpr Index local_designs_each = 10;  // the local edge uses ten designs per variable and ten more

double nearest(const MatrixXd& set, const VectorXd& z) {
  return set.cols() == 0 ? std::numeric_limits<double>::infinity()
                         : std::sqrt((set.colwise() - z).colwise().squaredNorm().minCoeff());
}

SuccessClassifier learned(const ObservedData& observed, const VectorXd& centre, double scale) {
  const DesignSpace& space = observed.space;
  std::vector<std::size_t> order(observed.evaluations.size() - observed.from);
  std::iota(order.begin(), order.end(), observed.from);
  MatrixXd z(space.embedded(), observed.evaluations.size());
  for (const std::size_t i : order) z.col(i) = (space.embed(observed.unit(observed.evaluations[i])) - centre) / scale;
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return z.col(a).squaredNorm() < z.col(b).squaredNorm(); });
  order.resize(std::min(order.size(), static_cast<std::size_t>(local_designs_each * (space.dimensions() + 1))));
  MatrixXd x(space.embedded(), order.size());
  std::vector<bool> viable;
  for (const std::size_t i : order) {
    x.col(viable.size()) = z.col(i);
    viable.push_back(observed.is_informative(observed.evaluations[i]));
  }
  return SuccessClassifier(x, viable, bend * scale);
}

}  // namespace

FailureBoundary::FailureBoundary(const ObservedData& observed) : space_(observed.space) {
  std::vector<VectorXd> good, bad;
  for (std::size_t i = observed.from; i < observed.evaluations.size(); ++i) {
    const Evaluation& e = observed.evaluations[i];
    (observed.is_informative(e) ? good : bad).push_back(space_.embed(observed.unit(e)));
  }
  const auto matrix = [&](const std::vector<VectorXd>& points) {
    MatrixXd out(space_.embedded(), points.size());
    for (std::size_t i = 0; i < points.size(); ++i) out.col(i) = points[i];
    return out;
  };
  good_ = matrix(good);
  bad_ = matrix(bad);
}

bool FailureBoundary::inside(const VectorXd& u) const {
  const VectorXd z = space_.embed(u);
  return nearest(good_, z) < nearest(bad_, z);
}

double FailureBoundary::beyond(const VectorXd& z, double weight, VectorXd* gradient) const {
  if (!exists()) return 0;
  Index at_good = 0, at_bad = 0;
  const double good = (good_.colwise() - z).colwise().squaredNorm().minCoeff(&at_good) + 1e-16;
  const double bad = (bad_.colwise() - z).colwise().squaredNorm().minCoeff(&at_bad) + 1e-16;
  if (bad >= good) return 0;
  if (gradient) *gradient += weight * ((z - bad_.col(at_bad)) / bad - (z - good_.col(at_good)) / good);
  return 0.5 * std::log(bad / good);
}

LocalFailureBoundary::LocalFailureBoundary(const ObservedData& observed, const VectorXd& centre, double scale)
    : space_(observed.space),
      centre_(space_.embed(centre)),
      scale_(scale),
      success_(learned(observed, centre_, scale)) {}

double LocalFailureBoundary::logit(const VectorXd& u) const {
  return success_.logit((space_.embed(u) - centre_) / scale_);
}

}  // namespace dodyn::surrogate
