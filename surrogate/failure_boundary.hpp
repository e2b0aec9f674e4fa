// The boundary between usable designs and unusable ones, which failed or lie on the plateau.
#pragma once

#include <Eigen/Core>

#include "surrogate/observed_data.hpp"
#include "surrogate/success_classifier.hpp"

namespace dodyn::surrogate {

// Separates points that are nearer to a usable design than to an unusable one (failed, or on the plateau). The boundary
// is halfway between the two. So successive best designs approach it by bisection, and move along it.
class FailureBoundary {
 public:
  explicit FailureBoundary(const ObservedData& observed);
  bool inside(const Eigen::VectorXd& unit) const;
  // Returns the log of the ratio of the distances to unusable and usable designs beyond the boundary; 0 on the usable
  // side. `embedded`: coordinates of the models. Adds `weight` times the gradient if the pointer is not null.
  double beyond(const Eigen::VectorXd& embedded, double weight = 0, Eigen::VectorXd* gradient = nullptr) const;
  bool exists() const { return bad_.cols() > 0 && good_.cols() > 0; }

 private:
  const DesignSpace& space_;
  Eigen::MatrixXd good_, bad_;  // embedded designs, one per column
};

// The boundary near a centre, learned from the nearest designs. Lengths are relative to `scale` (a fraction of the
// range). So the accuracy matches the step size; a classifier of the whole box has a fixed accuracy. The model is a
// plane or a paraboloid plus a Gaussian process.
class LocalFailureBoundary {
 public:
  LocalFailureBoundary(const ObservedData& observed, const Eigen::VectorXd& centre, double scale);
  double logit(const Eigen::VectorXd& unit) const;  // log odds that a design is usable
  bool exists() const { return !success_.has_no_failures(); }

 private:
  const DesignSpace& space_;
  Eigen::VectorXd centre_;  // embedded
  double scale_;
  SuccessClassifier success_;
};

}  // namespace dodyn::surrogate
