// Small dense problems written as formulas: a number that carries its gradient and Hessian supplies the derivatives.
#pragma once

#include <Eigen/Core>
#include <cmath>
#include <functional>
#include <vector>

#include "nlp/problem.hpp"

namespace dodyn::nlp {

struct Jet {
  double value;
  Eigen::VectorXd gradient;
  Eigen::MatrixXd hessian;

  // g(this) for a scalar function with value v and derivatives d1, d2
  Jet chain(double v, double d1, double d2) const {
    return {v, d1 * gradient, d1 * hessian + d2 * gradient * gradient.transpose()};
  }
};

inline Jet operator+(const Jet& a, const Jet& b) {
  return {a.value + b.value, a.gradient + b.gradient, a.hessian + b.hessian};
}
inline Jet operator*(const Jet& a, const Jet& b) {
  const Eigen::MatrixXd cross = a.gradient * b.gradient.transpose();
  return {a.value * b.value, a.value * b.gradient + b.value * a.gradient,
          a.value * b.hessian + b.value * a.hessian + cross + cross.transpose()};
}
inline Jet operator*(double a, const Jet& b) { return b.chain(a * b.value, a, 0.0); }
inline Jet operator+(const Jet& a, double b) { return a.chain(a.value + b, 1.0, 0.0); }
inline Jet operator+(double a, const Jet& b) { return b + a; }
inline Jet operator-(const Jet& a) { return -1.0 * a; }
inline Jet operator-(const Jet& a, const Jet& b) { return a + -b; }
inline Jet operator-(const Jet& a, double b) { return a + (-b); }
inline Jet operator-(double a, const Jet& b) { return a + -b; }
inline Jet sin(const Jet& a) { return a.chain(std::sin(a.value), std::cos(a.value), -std::sin(a.value)); }
inline Jet log(const Jet& a) { return a.chain(std::log(a.value), 1.0 / a.value, -1.0 / (a.value * a.value)); }
inline Jet power(const Jet& a, int n) {
  return a.chain(std::pow(a.value, n), n * std::pow(a.value, n - 1), n * (n - 1) * std::pow(a.value, n - 2));
}
inline Jet squared(const Jet& a) { return power(a, 2); }

using Jets = std::vector<Jet>;

class JetProblem : public Problem {
 public:
  std::function<Jet(const Jets&)> f;
  std::function<Jets(const Jets&)> c;

  // Constraints are empty without `constraint_function`; bounds are infinite until set.
  JetProblem(int variable_count, std::function<Jet(const Jets&)> objective_function, int constraint_count = 0,
             std::function<Jets(const Jets&)> constraint_function = {})
      : f(std::move(objective_function)), c(std::move(constraint_function)) {
    lower.setConstant(variable_count, -infinity);
    upper.setConstant(variable_count, infinity);
    constraint_lower.setZero(constraint_count);
    constraint_upper.setZero(constraint_count);
    for (int i = 0; i < constraint_count; ++i)
      for (int j = 0; j < variable_count; ++j)
        jacobian_pattern.rows.push_back(i), jacobian_pattern.columns.push_back(j);
    for (int i = 0; i < variable_count; ++i)
      for (int j = 0; j <= i; ++j) hessian_pattern.rows.push_back(i), hessian_pattern.columns.push_back(j);
  }

  double objective(const Eigen::VectorXd& x) const override { return f(seeded(x)).value; }
  void objective_gradient(const Eigen::VectorXd& x, Eigen::Ref<Eigen::VectorXd> gradient) const override {
    gradient = f(seeded(x)).gradient;
  }
  void constraint_values(const Eigen::VectorXd& x, Eigen::Ref<Eigen::VectorXd> values) const override {
    const Jets jets = constraint_jets(x);
    for (std::size_t i = 0; i < jets.size(); ++i) values[i] = jets[i].value;
  }
  void jacobian(const Eigen::VectorXd& x, Eigen::Ref<Eigen::VectorXd> values) const override {
    const Jets jets = constraint_jets(x);
    for (int k = 0; k < jacobian_pattern.size(); ++k)
      values[k] = jets[jacobian_pattern.rows[k]].gradient[jacobian_pattern.columns[k]];
  }
  void hessian(const Eigen::VectorXd& x, double objective_factor, const Eigen::VectorXd& multipliers,
               Eigen::Ref<Eigen::VectorXd> values) const override {
    Eigen::MatrixXd sum = objective_factor * f(seeded(x)).hessian;
    const Jets jets = constraint_jets(x);
    for (std::size_t i = 0; i < jets.size(); ++i) sum += multipliers[i] * jets[i].hessian;
    for (int k = 0; k < hessian_pattern.size(); ++k)
      values[k] = sum(hessian_pattern.rows[k], hessian_pattern.columns[k]);
  }

 private:
  static Jets seeded(const Eigen::VectorXd& x) {
    const auto n = x.size();
    Jets jets;
    for (int i = 0; i < n; ++i) jets.push_back({x[i], Eigen::VectorXd::Unit(n, i), Eigen::MatrixXd::Zero(n, n)});
    return jets;
  }
  Jets constraint_jets(const Eigen::VectorXd& x) const { return c ? c(seeded(x)) : Jets{}; }
};

}  // namespace dodyn::nlp
