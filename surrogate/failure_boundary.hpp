// The edge between usable designs and others, which failed or lie on the plateau.
#pragma once

#include <Eigen/Core>

#include "surrogate/observed_data.hpp"
#include "surrogate/success_classifier.hpp"

namespace dodyn::surrogate {

// Whether a point lies nearer to a design worth having than to one that is not (it failed, or is on the plateau): the
// edge between the two runs halfway, so that the best design on this side closes in on it by bisection, and slides
// along it.
class FailureBoundary {
 public:
  explicit FailureBoundary(const ObservedData& observed);
  bool inside(const Eigen::VectorXd& unit) const;
  // log of the distances' ratio beyond the edge, to unusable designs over that to usable ones; 0 on this side. `embedded`: as models
  // see the point; adds `weight` times the gradient where wanted.
  double beyond(const Eigen::VectorXd& embedded, double weight = 0, Eigen::VectorXd* gradient = nullptr) const;
  bool exists() const { return bad_.cols() > 0 && good_.cols() > 0; }

 private:
  const DesignSpace& space_;
  Eigen::MatrixXd good_, bad_;  // embedded
};

// What the designs nearest to a place tell of the edge there. Lengths are measured in `scale`, of the range: however short the steps, the
// edge is as sharp as they need it, which a classifier of the whole box is not; and it may be a plane, or a paraboloid, beside what a
// Gaussian process makes of it.
class LocalFailureBoundary {
 public:
  LocalFailureBoundary(const ObservedData& observed, const Eigen::VectorXd& centre, double scale);
  double logit(const Eigen::VectorXd& unit) const;  // of the odds that a design is usable
  bool exists() const { return !success_.has_no_failures(); }

 private:
  const DesignSpace& space_;
  Eigen::VectorXd centre_;  // embedded
  double scale_;
  SuccessClassifier success_;
};

}  // namespace dodyn::surrogate
