// Anderson acceleration (1965): finds the fixed point of a map from its last iterates. On a linear map it needs about
// as many iterates as the map has distinct eigenvalues. It also converges where plain iteration is slow or diverges.
#pragma once

#include <Eigen/Core>
#include <algorithm>
#include <vector>

namespace dodyn::rigid {

class AndersonAcceleration {
 public:
  // `depth`: number of stored iterates.
  explicit AndersonAcceleration(int depth)
      : depth_(depth),
        residuals_(depth),
        images_(residuals_.size()),
        base_(residuals_.size()),
        above_(residuals_.size()) {}

  void restart(Eigen::Index size) {
    count_ = 0;
    if (residual_.size() == size) return;
    for (auto* v : {&residual_, &image_}) v->resize(size);
    for (auto* list : {&residuals_, &images_, &base_, &above_})
      for (auto& v : *list) v.resize(size);
  }

  // Replaces the argument `x`, whose image under the map is `image`, by the next argument.
  void next(Eigen::VectorXd& x, const Eigen::VectorXd& image) {
    x = image - x;  // the residual
    if (count_ > 0) {
      const std::size_t at = (count_ - 1) % depth_;
      residuals_[at] = x - residual_;
      images_[at] = image - image_;
    }
    residual_ = x;
    image_ = image;
    x = image;
    // Orthonormalises the residual differences, the newest first, and applies the same operations to the image
    // differences.
    std::size_t accepted = 0;
    for (int back = 1; back <= std::min(count_, depth_); ++back) {
      const std::size_t at = (count_ - back) % depth_;
      auto &a = base_[accepted], &b = above_[accepted];
      a = residuals_[at];
      b = images_[at];
      const double whole = a.norm();
      for (std::size_t i = 0; i < accepted; ++i) {
        const double share = base_[i].dot(a);
        a -= share * base_[i];
        b -= share * above_[i];
      }
      const double left = a.norm();
      if (!(left > rounding * whole)) continue;  // linearly dependent up to rounding
      a /= left;
      b /= left;
      x -= a.dot(residual_) * b;
      ++accepted;
    }
    ++count_;
  }

 private:
  static constexpr double rounding = 1e-6;  // a difference whose remainder is below this fraction counts as dependent
  int depth_, count_ = 0;
  Eigen::VectorXd residual_, image_;                 // residual and image of the last call
  std::vector<Eigen::VectorXd> residuals_, images_;  // differences between consecutive calls
  std::vector<Eigen::VectorXd> base_, above_;
};

}  // namespace dodyn::rigid
