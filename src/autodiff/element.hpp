// A small vector function of a few of the variables of a large problem, with its derivatives. Large sparse problems are
// sums of elements: a transcription has one per interval of the motion and a few at its ends.
#pragma once

#include <array>
#include <memory>
#include <utility>

#include "autodiff/dual.hpp"
#include "autodiff/jet.hpp"

namespace dodyn::autodiff {

class Element {
 public:
  Element(int input_count, int output_count) : inputs(input_count), outputs(output_count) {}
  virtual ~Element() = default;
  const int inputs, outputs;

  // f(z): values[outputs]
  virtual void evaluate(const double* z, double* values) const = 0;
  // df/dz: row-major [outputs x inputs]
  virtual void jacobian(const double* z, double* jacobian) const = 0;
  // d2(weights . f)/dz2: symmetric [inputs x inputs]
  virtual void hessian(const double* z, const double* weights, double* hessian) const = 0;
  // The two above at once, which may share work.
  virtual void derivatives(const double* z, const double* weights, double* jacobian_values,
                           double* hessian_values) const {
    jacobian(z, jacobian_values);
    hessian(z, weights, hessian_values);
  }
  // The same for `count` points: every array holds what one point has, point after point. A point's numbers are those
  // of the calls above to the last bit, whatever the others are. Of a Hessian, its lower triangle is written; where
  // Jacobians or Hessians (then weights too) are a null pointer, they are not asked for.
  virtual void evaluate_all(int count, const double* z, double* values) const {
    for (int k = 0; k < count; ++k) evaluate(z + k * inputs, values + k * outputs);
  }
  virtual void derivatives_all(int count, const double* z, const double* weights, double* jacobians,
                               double* hessians) const {
    for (int k = 0; k < count; ++k, z += inputs) {
      if (jacobians && hessians)
        derivatives(z, weights, jacobians, hessians);
      else if (jacobians)
        jacobian(z, jacobians);
      else
        hessian(z, weights, hessians);
      if (jacobians) jacobians += outputs * inputs;
      if (hessians) hessians += inputs * inputs, weights += outputs;
    }
  }
  // d(weights . f)/d(design) at fixed z, where the design is the parameter the element was built to vary; 0 for none.
  virtual double design_derivative(const double* z, const double* weights) const = 0;
};

// An element from two callables  std::array<T, Out> f(const std::array<T, In>& z),  templated on the scalar T: `f` with
// plain parameters, `f_design` with parameters that are Dual<double> and carry the tangent of the design.
template <int In, int Out, class F, class FDesign>
class FunctionElement final : public Element {
 public:
  FunctionElement(F f, FDesign f_design) : Element(In, Out), f_(std::move(f)), f_design_(std::move(f_design)) {}

  void evaluate(const double* z, double* values) const override {
    std::array<double, In> x;
    for (int i = 0; i < In; ++i) x[i] = z[i];
    const std::array<double, Out> y = f_(x);
    for (int j = 0; j < Out; ++j) values[j] = y[j];
  }

  void jacobian(const double* z, double* jacobian) const override {
    const auto y = f_(variables<Jet<In, 1>>(z));
    for (int j = 0; j < Out; ++j)
      for (int i = 0; i < In; ++i) jacobian[j * In + i] = y[j].gradient(i);
  }

  void hessian(const double* z, const double* weights, double* hessian) const override {
    const auto y = f_(variables<Jet<In, 2>>(z));
    Eigen::Map<Eigen::Matrix<double, In, In>> sum(hessian);
    sum.setZero();
    for (int j = 0; j < Out; ++j) sum += weights[j] * y[j].hessian;
  }

  void derivatives(const double* z, const double* weights, double* jacobian, double* hessian) const override {
    const auto y = f_(variables<Jet<In, 2>>(z));
    Eigen::Map<Eigen::Matrix<double, In, In>> sum(hessian);
    sum.setZero();
    for (int j = 0; j < Out; ++j) {
      for (int i = 0; i < In; ++i) jacobian[j * In + i] = y[j].gradient(i);
      sum += weights[j] * y[j].hessian;
    }
  }

  double design_derivative(const double* z, const double* weights) const override {
    std::array<Dual<double>, In> x;
    for (int i = 0; i < In; ++i) x[i] = z[i];
    const std::array<Dual<double>, Out> y = f_design_(x);
    double sum = 0.0;
    for (int j = 0; j < Out; ++j) sum += weights[j] * y[j].tangent;
    return sum;
  }

 private:
  template <class T>
  static std::array<T, In> variables(const double* z) {
    std::array<T, In> x;
    for (int i = 0; i < In; ++i) x[i] = T::variable(z[i], i);
    return x;
  }

  F f_;
  FDesign f_design_;
};

template <int In, int Out, class F, class FDesign>
std::shared_ptr<const Element> make_element(F f, FDesign f_design) {
  return std::make_shared<FunctionElement<In, Out, F, FDesign>>(std::move(f), std::move(f_design));
}

}  // namespace dodyn::autodiff
