// Problems assembled of elements: the sum of their parts, whatever is worked out together.
#include "nlp/assembled_problem.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "autodiff/tape.hpp"
#include "nlp/check_derivatives.hpp"

namespace dodyn::nlp {
namespace {

using autodiff::Dual;
using Eigen::VectorXd;

template <class P>
struct Pendulum {
  P length;
  template <class T>
  std::vector<T> operator()(const std::vector<T>& z) const {
    const T height = length * cos(z[0] + 0.5 * z[1]);
    return {height * z[2], length * sin(z[0]) / (2.0 + z[2] * z[2])};
  }
};
template <class P>
struct Product {
  P factor;
  template <class T>
  std::array<T, 1> operator()(const std::array<T, 2>& z) const {
    return {factor * z[0] * z[1] * z[1]};
  }
};

// 21 pendulums in a row, some of them in the objective only, some in rows only, with a few products amid them.
struct Row {
  std::shared_ptr<const autodiff::Element> pendulum =
      autodiff::record(3, Pendulum<double>{1.3}, Pendulum<Dual<double>>{{1.3, 0.7}});
  std::shared_ptr<const autodiff::Element> product =
      autodiff::make_element<2, 1>(Product<double>{0.4}, Product<Dual<double>>{{0.4, -0.2}});
  struct Part {
    std::shared_ptr<const autodiff::Element> element;
    std::vector<int> inputs;
    std::vector<AssembledProblem::Term> terms;
  };
  std::vector<Part> parts;
  AssembledProblem problem;

  Row() {
    problem.add_variables(24, -infinity, infinity);
    problem.add_rows(22, 0.0, 0.0);
    for (int k = 0; k < 21; ++k) {
      const Coefficient c(0.1 * k - 1.0, 0.3);
      if (k % 5 == 1)
        parts.push_back({pendulum, {k, k + 1, k + 3}, {{0, AssembledProblem::objective_row, c}}});
      else
        parts.push_back({pendulum, {k, k + 1, k + 3}, {{1, k, 0.5 * c}, {0, k + 1, c}, {0, k, c * c}}});
      if (k % 5 == 1) parts.back().terms.push_back({1, AssembledProblem::objective_row, c});
      if (k == 6 || k == 17) parts.push_back({product, {k, 23}, {{0, k, c}, {0, AssembledProblem::objective_row, c}}});
    }
    problem.add_linear(3, 4, 2.0);
    problem.add_square(5, 1.5);
    for (const Part& part : parts) problem.add_element(part.element, part.inputs, part.terms);
    problem.finish();
  }
};

const VectorXd x = VectorXd::LinSpaced(24, -0.9, 1.4).array().sin(), y = VectorXd::LinSpaced(22, 1.0, -0.6);

TEST(AssembledProblem, IsTheSumOfItsPartsInTheOrderTheyWereAdded) {
  const Row row;
  const AssembledProblem& p = row.problem;
  VectorXd c = VectorXd::Zero(22), gradient = VectorXd::Zero(24);
  double f = 1.5 * x(5) * x(5);
  std::vector<double> jacobian = {2.0}, hessian = {2.0 * 0.7 * 1.5};
  c(3) += 2.0 * x(4);
  gradient(5) += 2.0 * 1.5 * x(5);
  for (const auto& [element, inputs, terms] : row.parts) {
    const int in = element->inputs, out = element->outputs;
    std::vector<double> z, values(out), weights(out, 0.0), J(out * in), H(in * in);
    for (const int input : inputs) z.push_back(x(input));
    element->evaluate(z.data(), values.data());
    for (const auto& term : terms) {
      const bool objective = term.row == AssembledProblem::objective_row;
      (objective ? f : c(term.row)) += term.coefficient.value * values[term.output];
      weights[term.output] += term.coefficient.value * (objective ? 0.7 : y(term.row));
    }
    element->derivatives(z.data(), weights.data(), J.data(), H.data());
    std::map<int, std::vector<double>> rows;  // of the Jacobian, one for all terms of a row
    for (const auto& term : terms)
      for (int i = 0; i < in; ++i) {
        const double slope = term.coefficient.value * J[term.output * in + i];
        if (term.row == AssembledProblem::objective_row)
          gradient(inputs[i]) += slope;
        else
          rows.try_emplace(term.row, in, 0.0).first->second[i] += slope;
      }
    for (const auto& [r, slopes] : rows) jacobian.insert(jacobian.end(), slopes.begin(), slopes.end());
    for (int i = 0; i < in; ++i)
      for (int j = 0; j <= i; ++j) hessian.push_back(H[i * in + j]);
  }
  const auto vector = [](const std::vector<double>& v) {
    return VectorXd(Eigen::Map<const VectorXd>(v.data(), static_cast<Eigen::Index>(v.size())));
  };
  ASSERT_EQ(p.jacobian_pattern.size(), static_cast<int>(jacobian.size()));
  ASSERT_EQ(p.hessian_pattern.size(), static_cast<int>(hessian.size()));
  VectorXd values(22), g(24), J(p.jacobian_pattern.size()), H(p.hessian_pattern.size());
  p.constraint_values(x, values);
  p.derivatives(x, 0.7, y, g, J, H);
  EXPECT_EQ(p.objective(x), f);
  EXPECT_EQ(values, c);
  EXPECT_EQ(g, gradient);
  EXPECT_EQ(J, vector(jacobian));
  EXPECT_EQ(H, vector(hessian));
  // one by one they are the same
  VectorXd g1(24), J1(J.size()), H1(H.size());
  p.objective_gradient(x, g1);
  p.jacobian(x, J1);
  p.hessian(x, 0.7, y, H1);
  EXPECT_EQ(g1, g);
  EXPECT_EQ(J1, J);
  EXPECT_EQ(H1, H);
}

TEST(AssembledProblem, DerivativesAreExact) {
  const Row row;
  const auto errors = check_derivatives(row.problem, x);
  EXPECT_LE(errors.largest(), 1e-8) << errors.worst;
}

TEST(AssembledProblem, DesignDerivativeIsThatOfCoefficientsAndElements) {
  const Row row;
  double expected = 0.0;
  for (const auto& [element, inputs, terms] : row.parts) {
    std::vector<double> z, values(element->outputs), weights(element->outputs, 0.0);
    for (const int input : inputs) z.push_back(x(input));
    element->evaluate(z.data(), values.data());
    for (const auto& term : terms) {
      const double multiplier = term.row == AssembledProblem::objective_row ? 1.0 : y(term.row);
      expected += multiplier * term.coefficient.tangent * values[term.output];
      weights[term.output] += multiplier * term.coefficient.value;
    }
    expected += element->design_derivative(z.data(), weights.data());
  }
  EXPECT_NEAR(row.problem.design_derivative(x, y), expected, 1e-13);
}

}  // namespace
}  // namespace dodyn::nlp
