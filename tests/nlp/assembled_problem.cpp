// Problems assembled of elements equal the sum of their elements, whichever elements are evaluated together.
#include "nlp/assembled_problem.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "autodiff/tape.hpp"
#include "nlp/solve.hpp"
#include "tests/nlp/check_derivatives.hpp"

namespace dodyn::nlp::test_assembled_problem {
namespace {

using Eigen::VectorXd;

using autodiff::Differential;
using autodiff::Var;

const auto pendulum_function = autodiff::record(3, 1, [](const auto& z, const auto& length) {
  const Var height = length[0] * cos(z[0] + 0.5 * z[1]);
  return std::vector<Var>{height * z[2], length[0] * sin(z[0]) / (2.0 + z[2] * z[2])};
});
const auto product_function = autodiff::record(
    2, 1, [](const auto& z, const auto& factor) { return std::vector<Var>{factor[0] * z[0] * z[1] * z[1]}; });
std::shared_ptr<const autodiff::Element> element(const auto& function, const Differential& parameter) {
  return std::make_shared<autodiff::RecordedElement>(function, std::vector<Differential>{parameter});
}

// 21 pendulums in a row, some of them in the objective only, some in rows only, with a few products between them.
struct Row {
  std::shared_ptr<const autodiff::Element> pendulum = element(pendulum_function, {1.3, 0.7});
  std::shared_ptr<const autodiff::Element> product = element(product_function, {0.4, -0.2});
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
    return VectorXd(Eigen::Map<const VectorXd>(v.data(), v.size()));
  };
  ASSERT_EQ(p.jacobian_pattern.size(), std::ssize(jacobian));
  ASSERT_EQ(p.hessian_pattern.size(), std::ssize(hessian));
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
  EXPECT_LE(errors.max(), 1e-8) << errors.worst;
}

TEST(AssembledProblem, DesignGradientIsThatOfCoefficientsAndElements) {
  const Row row;
  double expected = 0.0;
  for (const auto& [element, inputs, terms] : row.parts) {
    std::vector<double> z, values(element->outputs), weights(element->outputs, 0.0);
    for (const int input : inputs) z.push_back(x(input));
    element->evaluate(z.data(), values.data());
    for (const auto& term : terms) {
      const double multiplier = term.row == AssembledProblem::objective_row ? 1.0 : y(term.row);
      expected += multiplier * term.coefficient.slope(0) * values[term.output];
      weights[term.output] += multiplier * term.coefficient.value;
    }
    Eigen::VectorXd share = VectorXd::Zero(1);
    element->add_design_gradient(1, z.data(), weights.data(), share);
    expected += share(0);
  }
  EXPECT_NEAR(row.problem.design_gradient(x, y, 1)(0), expected, 1e-13);
}

// Minimise (x - 3)^2 + (y + 2)^2, x <= a, x + y >= b. The optimum is at both bounds, which depend on the design.
TEST(AssembledProblem, BoundsThatMoveCount) {
  const auto solved = [](double a, double b) {
    AssembledProblem p;
    p.add_variables(1, -infinity, Coefficient(a, Eigen::Vector2d(1.0, 0.0)));
    p.add_variables(1, -infinity, infinity);
    const int row = p.add_rows(1, Coefficient(b, Eigen::Vector2d(0.0, 1.0)), infinity);
    p.add_linear(row, 0, 1.0);
    p.add_linear(row, 1, 1.0);
    for (const int i : {0, 1}) p.add_square(i, 1.0);
    p.add_linear(AssembledProblem::objective_row, 0, -6.0);
    p.add_linear(AssembledProblem::objective_row, 1, 4.0);
    p.add_constant(AssembledProblem::objective_row, 13.0);
    p.finish();
    auto s = solve(p, Eigen::Vector2d(0.0, 0.0));
    EXPECT_EQ(s.status, SolveStatus::solved) << s.reason;
    return std::pair{s.objective, p.design_gradient(s.x, s.multipliers, 2)};
  };
  const auto [cost, gradient] = solved(1.0, 0.5);
  // closed form: x = a, y = b - a: (a - 3)^2 + (b - a + 2)^2
  EXPECT_NEAR(cost, 4.0 + 2.25, 1e-7);
  EXPECT_NEAR(gradient(0), 2.0 * (1.0 - 3.0) - 2.0 * 1.5, 1e-6);
  EXPECT_NEAR(gradient(1), 2.0 * 1.5, 1e-6);
}

}  // namespace
}  // namespace dodyn::nlp::test_assembled_problem
