#include "nlp/assembled_problem.hpp"

#include <algorithm>
#include <utility>

namespace dodyn::nlp {

int AssembledProblem::add_variables(int count, double lower_bound, double upper_bound) {
  const int first = static_cast<int>(lower_.size());
  lower_.insert(lower_.end(), count, lower_bound);
  upper_.insert(upper_.end(), count, upper_bound);
  return first;
}

int AssembledProblem::add_rows(int count, double lower_bound, double upper_bound) {
  const int first = static_cast<int>(row_lower_.size());
  row_lower_.insert(row_lower_.end(), count, lower_bound);
  row_upper_.insert(row_upper_.end(), count, upper_bound);
  return first;
}

void AssembledProblem::add_element(std::shared_ptr<const autodiff::Element> element, std::vector<int> inputs,
                                   std::vector<Term> terms) {
  Block block{std::move(element), std::move(inputs), std::move(terms)};
  for (const Term& term : block.terms) (term.row == objective_row ? block.in_objective : block.in_rows) = true;
  blocks_.push_back(std::move(block));
}

void AssembledProblem::add_linear(int row, int variable, Coefficient coefficient) {
  linear_.push_back({row, variable, coefficient});
}

void AssembledProblem::add_constant(int row, Coefficient constant) { constants_.push_back({row, constant}); }

void AssembledProblem::add_square(int variable, Coefficient coefficient) {
  squares_.push_back({variable, coefficient});
}

void AssembledProblem::finish() {
  const auto vector_of = [](const std::vector<double>& v) {
    return Eigen::VectorXd(Eigen::Map<const Eigen::VectorXd>(v.data(), static_cast<Eigen::Index>(v.size())));
  };
  lower = vector_of(lower_);
  upper = vector_of(upper_);
  constraint_lower = vector_of(row_lower_);
  constraint_upper = vector_of(row_upper_);

  const auto put = [](Pattern& pattern, int row, int column) {
    pattern.rows.push_back(row);
    pattern.columns.push_back(column);
  };
  // The order of the values in jacobian() and hessian() is the order of these loops.
  for (const Linear& term : linear_)
    if (term.row != objective_row) put(jacobian_pattern, term.row, term.variable);
  for (const Square& term : squares_) put(hessian_pattern, term.variable, term.variable);
  for (const Block& block : blocks_) {
    for (const Term& term : block.terms)
      if (term.row != objective_row)
        for (const int input : block.inputs) put(jacobian_pattern, term.row, input);
    for (std::size_t i = 0; i < block.inputs.size(); ++i)
      for (std::size_t j = 0; j <= i; ++j)
        put(hessian_pattern, std::max(block.inputs[i], block.inputs[j]), std::min(block.inputs[i], block.inputs[j]));
  }
}

const double* AssembledProblem::gather(const Block& block, const Eigen::VectorXd& x, std::vector<double>& z) const {
  z.resize(block.inputs.size());
  for (std::size_t i = 0; i < z.size(); ++i) z[i] = x(block.inputs[i]);
  return z.data();
}

double AssembledProblem::objective(const Eigen::VectorXd& x) const {
  double sum = 0.0;
  for (const Constant& c : constants_)
    if (c.row == objective_row) sum += c.value.value;
  for (const Linear& term : linear_)
    if (term.row == objective_row) sum += term.coefficient.value * x(term.variable);
  for (const Square& term : squares_) sum += term.coefficient.value * x(term.variable) * x(term.variable);
  std::vector<double> z, y;
  for (const Block& block : blocks_) {
    if (!block.in_objective) continue;
    y.resize(block.element->outputs);
    block.element->evaluate(gather(block, x, z), y.data());
    for (const Term& term : block.terms)
      if (term.row == objective_row) sum += term.coefficient.value * y[term.output];
  }
  return sum;
}

void AssembledProblem::objective_gradient(const Eigen::VectorXd& x, Eigen::Ref<Eigen::VectorXd> gradient) const {
  gradient.setZero();
  for (const Linear& term : linear_)
    if (term.row == objective_row) gradient(term.variable) += term.coefficient.value;
  for (const Square& term : squares_) gradient(term.variable) += 2.0 * term.coefficient.value * x(term.variable);
  std::vector<double> z, J;
  for (const Block& block : blocks_) {
    if (!block.in_objective) continue;
    const std::size_t inputs = block.inputs.size();
    J.resize(block.element->outputs * inputs);
    block.element->jacobian(gather(block, x, z), J.data());
    for (const Term& term : block.terms)
      if (term.row == objective_row)
        for (std::size_t i = 0; i < inputs; ++i)
          gradient(block.inputs[i]) += term.coefficient.value * J[term.output * inputs + i];
  }
}

void AssembledProblem::constraint_values(const Eigen::VectorXd& x, Eigen::Ref<Eigen::VectorXd> values) const {
  values.setZero();
  for (const Constant& c : constants_)
    if (c.row != objective_row) values(c.row) += c.value.value;
  for (const Linear& term : linear_)
    if (term.row != objective_row) values(term.row) += term.coefficient.value * x(term.variable);
  std::vector<double> z, y;
  for (const Block& block : blocks_) {
    if (!block.in_rows) continue;
    y.resize(block.element->outputs);
    block.element->evaluate(gather(block, x, z), y.data());
    for (const Term& term : block.terms)
      if (term.row != objective_row) values(term.row) += term.coefficient.value * y[term.output];
  }
}

void AssembledProblem::jacobian(const Eigen::VectorXd& x, Eigen::Ref<Eigen::VectorXd> values) const {
  Eigen::Index next = 0;
  for (const Linear& term : linear_)
    if (term.row != objective_row) values(next++) = term.coefficient.value;
  std::vector<double> z, J;
  for (const Block& block : blocks_) {
    if (!block.in_rows) continue;
    const std::size_t inputs = block.inputs.size();
    J.resize(block.element->outputs * inputs);
    block.element->jacobian(gather(block, x, z), J.data());
    for (const Term& term : block.terms)
      if (term.row != objective_row)
        for (std::size_t i = 0; i < inputs; ++i) values(next++) = term.coefficient.value * J[term.output * inputs + i];
  }
}

void AssembledProblem::hessian(const Eigen::VectorXd& x, double objective_factor, const Eigen::VectorXd& multipliers,
                               Eigen::Ref<Eigen::VectorXd> values) const {
  Eigen::Index next = 0;
  for (const Square& term : squares_) values(next++) = 2.0 * objective_factor * term.coefficient.value;
  std::vector<double> z, weights, H;
  for (const Block& block : blocks_) {
    const std::size_t inputs = block.inputs.size();
    weights.assign(block.element->outputs, 0.0);
    for (const Term& term : block.terms)
      weights[term.output] +=
          term.coefficient.value * (term.row == objective_row ? objective_factor : multipliers(term.row));
    H.resize(inputs * inputs);
    block.element->hessian(gather(block, x, z), weights.data(), H.data());
    for (std::size_t i = 0; i < inputs; ++i)
      for (std::size_t j = 0; j <= i; ++j) values(next++) = H[i * inputs + j];
  }
}

double AssembledProblem::design_derivative(const Eigen::VectorXd& x, const Eigen::VectorXd& multipliers) const {
  const auto factor = [&](int row) { return row == objective_row ? 1.0 : multipliers(row); };
  double sum = 0.0;
  for (const Constant& c : constants_) sum += factor(c.row) * c.value.tangent;
  for (const Linear& term : linear_) sum += factor(term.row) * term.coefficient.tangent * x(term.variable);
  for (const Square& term : squares_) sum += term.coefficient.tangent * x(term.variable) * x(term.variable);
  std::vector<double> z, y, weights;
  for (const Block& block : blocks_) {
    gather(block, x, z);
    y.resize(block.element->outputs);
    weights.assign(block.element->outputs, 0.0);
    block.element->evaluate(z.data(), y.data());
    for (const Term& term : block.terms) {
      weights[term.output] += factor(term.row) * term.coefficient.value;
      sum += factor(term.row) * term.coefficient.tangent * y[term.output];
    }
    sum += block.element->design_derivative(z.data(), weights.data());
  }
  return sum;
}

}  // namespace dodyn::nlp
