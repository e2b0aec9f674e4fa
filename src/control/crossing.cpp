#include "control/crossing.hpp"

#include <Eigen/Core>
#include <algorithm>
#include <array>
#include <utility>

#include "autodiff/jet.hpp"

namespace dodyn::control {

namespace {

using autodiff::value_of;

template <class T>
T dot(const std::array<T, 3>& a, const std::array<T, 3>& b) {
  return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}
template <class T>
std::array<T, 3> difference(const T* a, const T* b) {
  return {a[0] - b[0], a[1] - b[1], a[2] - b[2]};
}

// A number kept within [0, 1]; at a bound it is constant.
template <class T>
T kept(const T& x) {
  return value_of(x) <= 0.0 ? T(0.0) : value_of(x) >= 1.0 ? T(1.0) : x;
}

// Nearest points a + s (b - a) and c + t (d - c): unconstrained s, kept; the t nearest to it, kept; the s nearest to
// that (Ericson, Real-Time Collision Detection, 2005, section 5.1.9).
template <class T>
T squared_distance_of(const T* p) {
  const auto u = difference(p + 3, p), v = difference(p + 9, p + 6), r = difference(p, p + 6);
  const T uu = dot(u, u), vv = dot(v, v), uv = dot(u, v), ur = dot(u, r), vr = dot(v, r);
  const T determinant = uu * vv - uv * uv;
  const bool parallel = value_of(determinant) <= 1e-12 * value_of(uu) * value_of(vv);
  T s = parallel ? T(0.0) : kept((uv * vr - ur * vv) / determinant);
  T t = (uv * s + vr) / vv;
  if (value_of(t) <= 0.0 || value_of(t) >= 1.0) {
    t = kept(t);
    s = kept((uv * t - ur) / uu);
  }
  T sum = T(0.0);
  for (int i = 0; i < 3; ++i) {
    const T x = r[i] + s * u[i] - t * v[i];
    sum += x * x;
  }
  return sum;
}

class CrossingElement final : public autodiff::Element {
 public:
  explicit CrossingElement(std::shared_ptr<const Element> segments)
      : Element(segments->inputs, 1), segments_(std::move(segments)) {}

  void evaluate(const double* z, double* values) const override {
    std::array<double, 12> p;
    segments_->evaluate(z, p.data());
    values[0] = squared_distance_of(p.data());
  }
  void jacobian(const double* z, double* jacobian) const override {
    const auto d = distance<1>(z);
    Eigen::Map<Eigen::RowVectorXd>(jacobian, inputs) = d.gradient.transpose() * points_jacobian(z);
  }
  void hessian(const double* z, const double* weights, double* hessian) const override {
    const auto d = distance<2>(z);
    const Eigen::Matrix<double, 12, 1> slope = weights[0] * d.gradient;
    segments_->hessian(z, slope.data(), hessian);
    const Jacobian J = points_jacobian(z);
    Eigen::Map<Eigen::MatrixXd>(hessian, inputs, inputs) += weights[0] * J.transpose() * d.hessian * J;
  }
  double design_derivative(const double* z, const double* weights) const override {
    const Eigen::Matrix<double, 12, 1> slope = weights[0] * distance<1>(z).gradient;
    return segments_->design_derivative(z, slope.data());
  }

 private:
  using Jacobian = Eigen::Matrix<double, 12, Eigen::Dynamic, Eigen::RowMajor>;
  Jacobian points_jacobian(const double* z) const {
    Jacobian J(12, inputs);
    segments_->jacobian(z, J.data());
    return J;
  }
  template <int order>
  autodiff::Jet<12, order> distance(const double* z) const {
    using Jet = autodiff::Jet<12, order>;
    std::array<double, 12> at;
    segments_->evaluate(z, at.data());
    std::array<Jet, 12> p;
    for (int i = 0; i < 12; ++i) p[i] = Jet::variable(at[i], i);
    return squared_distance_of(p.data());
  }

  std::shared_ptr<const Element> segments_;
};

}  // namespace

double squared_distance(const double* points) { return squared_distance_of(points); }

std::shared_ptr<const autodiff::Element> crossing_element(std::shared_ptr<const autodiff::Element> segments) {
  return std::make_shared<CrossingElement>(std::move(segments));
}

}  // namespace dodyn::control
