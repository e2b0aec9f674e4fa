// A small vector function of some variables of a large problem, with its derivatives. Large sparse problems are sums of
// elements: a transcription has one per interval of the motion and a few at its ends.
#pragma once

#include <Eigen/Core>

namespace dodyn::autodiff {

class Element {
 public:
  Element(int input_count, int output_count) : inputs(input_count), outputs(output_count) {}
  virtual ~Element() = default;
  const int inputs, outputs;

  // Computes f(z): values [outputs].
  virtual void evaluate(const double* z, double* values) const = 0;
  // Computes df/dz: [outputs, inputs], row-major.
  virtual void jacobian(const double* z, double* jacobian) const = 0;
  // Computes d2(weights . f)/dz2: symmetric [inputs, inputs]; weights [outputs].
  virtual void hessian(const double* z, const double* weights, double* hessian) const = 0;
  // Computes Jacobian and Hessian together, which may share work.
  virtual void derivatives(const double* z, const double* weights, double* jacobian_values,
                           double* hessian_values) const {
    jacobian(z, jacobian_values);
    hessian(z, weights, hessian_values);
  }
  // Evaluate `count` points; every array has the data of one point after the other. The results of a point are
  // bit-identical to the results of the functions above and do not depend on the other points. An implementation may
  // write only the lower triangle of a Hessian. `jacobians` or `hessians` null: not computed; without Hessians
  // `weights` may be null.
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
  // Adds the gradient with respect to the design, [designs], of the sum of weights . f over all points, at fixed z.
  virtual void add_design_gradient(int count, const double* z, const double* weights,
                                   Eigen::Ref<Eigen::VectorXd> gradient) const = 0;
};

}  // namespace dodyn::autodiff
