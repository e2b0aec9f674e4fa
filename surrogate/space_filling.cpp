#include "surrogate/space_filling.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace dodyn::surrogate {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

namespace {

double distance(const MatrixXd& set, const VectorXd& z) {
  return set.cols() == 0 ? std::numeric_limits<double>::infinity()
                         : std::sqrt((set.colwise() - z).colwise().squaredNorm().minCoeff());
}

}  // namespace

NearestDistance::NearestDistance(const ObservedData& observed) : space_(observed.space) {
  at_.resize(space_.embedded(), observed.evaluations.size() + observed.pending.size());
  Index n = 0;
  for (const Evaluation& e : observed.evaluations) at_.col(n++) = space_.embed(observed.unit(e));
  for (const VectorXd& x : observed.pending) at_.col(n++) = space_.embed(space_.unit(x));
}

double NearestDistance::nearest(const VectorXd& u) const { return distance(at_, space_.embed(u)); }

double NearestDistance::room(const VectorXd& u) const {
  double least = nearest(u);
  for (Index k = 0; k < u.size(); ++k)
    if (space_.real(k)) least = std::min(least, 2 * std::min(u(k), 1 - u(k)));
  return least;
}

}  // namespace dodyn::surrogate
