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
  most_inputs_ = std::max(most_inputs_, block.element->inputs);
  most_outputs_ = std::max(most_outputs_, block.element->outputs);
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

AssembledProblem::Workspace AssembledProblem::workspace() const {
  const auto inputs = static_cast<std::size_t>(most_inputs_), outputs = static_cast<std::size_t>(most_outputs_);
  Workspace w;
  w.z.resize(inputs);
  w.values.resize(outputs);
  w.weights.resize(outputs);
  w.jacobian.resize(outputs * inputs);
  w.hessian.resize(inputs * inputs);
  return w;
}

void AssembledProblem::gather(const Block& block, const Eigen::VectorXd& x, Workspace& w) {
  for (std::size_t i = 0; i < block.inputs.size(); ++i) w.z[i] = x(block.inputs[i]);
}

// What each output of the element counts in  objective_factor * f + multipliers . c
void AssembledProblem::weigh(const Block& block, double objective_factor, const Eigen::VectorXd& multipliers,
                             Workspace& w) {
  std::fill_n(w.weights.begin(), block.element->outputs, 0.0);
  for (const Term& term : block.terms)
    w.weights[term.output] +=
        term.coefficient.value * (term.row == objective_row ? objective_factor : multipliers(term.row));
}

bool AssembledProblem::weighs_nothing(const Block& block, const Workspace& w) {
  return std::all_of(w.weights.begin(), w.weights.begin() + block.element->outputs, [](double a) { return a == 0.0; });
}

double AssembledProblem::objective(const Eigen::VectorXd& x) const {
  double sum = 0.0;
  for (const Constant& c : constants_)
    if (c.row == objective_row) sum += c.value.value;
  for (const Linear& term : linear_)
    if (term.row == objective_row) sum += term.coefficient.value * x(term.variable);
  for (const Square& term : squares_) sum += term.coefficient.value * x(term.variable) * x(term.variable);
  Workspace w = workspace();
  for (const Block& block : blocks_) {
    if (!block.in_objective) continue;
    gather(block, x, w);
    block.element->evaluate(w.z.data(), w.values.data());
    for (const Term& term : block.terms)
      if (term.row == objective_row) sum += term.coefficient.value * w.values[term.output];
  }
  return sum;
}

void AssembledProblem::constraint_values(const Eigen::VectorXd& x, Eigen::Ref<Eigen::VectorXd> values) const {
  values.setZero();
  for (const Constant& c : constants_)
    if (c.row != objective_row) values(c.row) += c.value.value;
  for (const Linear& term : linear_)
    if (term.row != objective_row) values(term.row) += term.coefficient.value * x(term.variable);
  Workspace w = workspace();
  for (const Block& block : blocks_) {
    if (!block.in_rows) continue;
    gather(block, x, w);
    block.element->evaluate(w.z.data(), w.values.data());
    for (const Term& term : block.terms)
      if (term.row != objective_row) values(term.row) += term.coefficient.value * w.values[term.output];
  }
}

void AssembledProblem::add_linear_gradient(const Eigen::VectorXd& x, double* gradient) const {
  for (const Linear& term : linear_)
    if (term.row == objective_row) gradient[term.variable] += term.coefficient.value;
  for (const Square& term : squares_) gradient[term.variable] += 2.0 * term.coefficient.value * x(term.variable);
}

void AssembledProblem::add_gradient(const Block& block, const double* jacobian, double* gradient) {
  const std::size_t inputs = block.inputs.size();
  for (const Term& term : block.terms)
    if (term.row == objective_row)
      for (std::size_t i = 0; i < inputs; ++i)
        gradient[block.inputs[i]] += term.coefficient.value * jacobian[term.output * inputs + i];
}

double* AssembledProblem::put_linear_jacobian(double* values) const {
  for (const Linear& term : linear_)
    if (term.row != objective_row) *values++ = term.coefficient.value;
  return values;
}

double* AssembledProblem::put_jacobian(const Block& block, const double* jacobian, double* values) {
  const std::size_t inputs = block.inputs.size();
  for (const Term& term : block.terms) {
    if (term.row == objective_row) continue;
    const double* row = jacobian + term.output * inputs;
    for (std::size_t i = 0; i < inputs; ++i) values[i] = term.coefficient.value * row[i];
    values += inputs;
  }
  return values;
}

double* AssembledProblem::put_square_hessian(double objective_factor, double* values) const {
  for (const Square& term : squares_) *values++ = 2.0 * objective_factor * term.coefficient.value;
  return values;
}

double* AssembledProblem::put_hessian(const Block& block, const double* hessian, double* values) {
  const std::size_t inputs = block.inputs.size();
  for (std::size_t i = 0; i < inputs; ++i)
    for (std::size_t j = 0; j <= i; ++j) *values++ = hessian[i * inputs + j];
  return values;
}

void AssembledProblem::objective_gradient(const Eigen::VectorXd& x, Eigen::Ref<Eigen::VectorXd> gradient) const {
  gradient.setZero();
  add_linear_gradient(x, gradient.data());
  Workspace w = workspace();
  for (const Block& block : blocks_) {
    if (!block.in_objective) continue;
    gather(block, x, w);
    block.element->jacobian(w.z.data(), w.jacobian.data());
    add_gradient(block, w.jacobian.data(), gradient.data());
  }
}

void AssembledProblem::jacobian(const Eigen::VectorXd& x, Eigen::Ref<Eigen::VectorXd> values) const {
  double* next = put_linear_jacobian(values.data());
  Workspace w = workspace();
  for (const Block& block : blocks_) {
    if (!block.in_rows) continue;
    gather(block, x, w);
    block.element->jacobian(w.z.data(), w.jacobian.data());
    next = put_jacobian(block, w.jacobian.data(), next);
  }
}

void AssembledProblem::hessian(const Eigen::VectorXd& x, double objective_factor, const Eigen::VectorXd& multipliers,
                               Eigen::Ref<Eigen::VectorXd> values) const {
  double* next = put_square_hessian(objective_factor, values.data());
  Workspace w = workspace();
  for (const Block& block : blocks_) {
    gather(block, x, w);
    weigh(block, objective_factor, multipliers, w);
    if (weighs_nothing(block, w))
      std::fill(w.hessian.begin(), w.hessian.end(), 0.0);
    else
      block.element->hessian(w.z.data(), w.weights.data(), w.hessian.data());
    next = put_hessian(block, w.hessian.data(), next);
  }
}

void AssembledProblem::derivatives(const Eigen::VectorXd& x, double objective_factor,
                                   const Eigen::VectorXd& multipliers, Eigen::Ref<Eigen::VectorXd> gradient,
                                   Eigen::Ref<Eigen::VectorXd> jacobian_values,
                                   Eigen::Ref<Eigen::VectorXd> hessian_values) const {
  gradient.setZero();
  add_linear_gradient(x, gradient.data());
  double* next_jacobian = put_linear_jacobian(jacobian_values.data());
  double* next_hessian = put_square_hessian(objective_factor, hessian_values.data());
  Workspace w = workspace();
  for (const Block& block : blocks_) {
    gather(block, x, w);
    weigh(block, objective_factor, multipliers, w);
    block.element->derivatives(w.z.data(), w.weights.data(), w.jacobian.data(), w.hessian.data());
    if (block.in_objective) add_gradient(block, w.jacobian.data(), gradient.data());
    if (block.in_rows) next_jacobian = put_jacobian(block, w.jacobian.data(), next_jacobian);
    next_hessian = put_hessian(block, w.hessian.data(), next_hessian);
  }
}

double AssembledProblem::design_derivative(const Eigen::VectorXd& x, const Eigen::VectorXd& multipliers) const {
  const auto factor = [&](int row) { return row == objective_row ? 1.0 : multipliers(row); };
  double sum = 0.0;
  for (const Constant& c : constants_) sum += factor(c.row) * c.value.tangent;
  for (const Linear& term : linear_) sum += factor(term.row) * term.coefficient.tangent * x(term.variable);
  for (const Square& term : squares_) sum += term.coefficient.tangent * x(term.variable) * x(term.variable);
  Workspace w = workspace();
  for (const Block& block : blocks_) {
    gather(block, x, w);
    weigh(block, 1.0, multipliers, w);
    block.element->evaluate(w.z.data(), w.values.data());
    for (const Term& term : block.terms) sum += factor(term.row) * term.coefficient.tangent * w.values[term.output];
    sum += block.element->design_derivative(w.z.data(), w.weights.data());
  }
  return sum;
}

}  // namespace dodyn::nlp
