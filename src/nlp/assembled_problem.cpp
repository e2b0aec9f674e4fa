#include "nlp/assembled_problem.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <utility>

namespace dodyn::nlp {

namespace {

// Number of blocks evaluated together: the batch of recorded programs, and small enough for the cache.
constexpr int batch = 8;

}  // namespace

int AssembledProblem::add_variables(int count, const Coefficient& lower_bound, const Coefficient& upper_bound) {
  const int first = lower_.size();
  lower_.insert(lower_.end(), count, lower_bound.value);
  upper_.insert(upper_.end(), count, upper_bound.value);
  add_design_dependent_bounds(false, first, count, lower_bound, upper_bound);
  return first;
}

int AssembledProblem::add_rows(int count, const Coefficient& lower_bound, const Coefficient& upper_bound) {
  const int first = row_lower_.size();
  row_lower_.insert(row_lower_.end(), count, lower_bound.value);
  row_upper_.insert(row_upper_.end(), count, upper_bound.value);
  add_design_dependent_bounds(true, first, count, lower_bound, upper_bound);
  return first;
}

void AssembledProblem::add_design_dependent_bounds(bool row, int first, int count, const Coefficient& lower_bound,
                                                   const Coefficient& upper_bound) {
  for (int i = first; i < first + count; ++i) {
    if (lower_bound.gradient.size() > 0) design_dependent_bounds_.push_back({i, row, false, lower_bound});
    if (upper_bound.gradient.size() > 0) design_dependent_bounds_.push_back({i, row, true, upper_bound});
  }
}

void AssembledProblem::add_element(std::shared_ptr<const autodiff::Element> element, std::vector<int> inputs,
                                   std::vector<Term> terms) {
  [[maybe_unused]] const auto below = [](int i, std::size_t count) { return i >= 0 && i < static_cast<int>(count); };
  assert(std::ssize(inputs) == element->inputs && "an unknown for each input");
  for ([[maybe_unused]] const int input : inputs) assert(below(input, lower_.size()));
  for ([[maybe_unused]] const Term& term : terms)
    assert(below(term.output, element->outputs) && (term.row == objective_row || below(term.row, row_lower_.size())));
  Block block{std::move(element), std::move(inputs), std::move(terms)};
  for (const Term& term : block.terms) (term.row == objective_row ? block.in_objective : block.in_rows) = true;
  // terms of one row are adjacent and make one row of the Jacobian
  std::ranges::stable_sort(block.terms, [](const Term& a, const Term& b) { return a.row < b.row; });
  max_inputs_ = std::max(max_inputs_, block.element->inputs);
  max_outputs_ = std::max(max_outputs_, block.element->outputs);
  blocks_.push_back(std::move(block));
}

void AssembledProblem::add_linear(int row, int variable, Coefficient coefficient) {
  assert(row >= objective_row && row < std::ssize(row_lower_));
  assert(variable >= 0 && variable < std::ssize(lower_));
  linear_.push_back({row, variable, coefficient});
}

void AssembledProblem::add_constant(int row, Coefficient constant) {
  assert(row >= objective_row && row < std::ssize(row_lower_));
  constants_.push_back({row, constant});
}

void AssembledProblem::add_square(int variable, Coefficient coefficient) {
  assert(variable >= 0 && variable < std::ssize(lower_));
  squares_.push_back({variable, coefficient});
}

void AssembledProblem::finish() {
  assert(jacobian_pattern.size() == 0 && hessian_pattern.size() == 0 && "finished once");
  const auto vector_of = [](const std::vector<double>& v) {
    return Eigen::VectorXd(Eigen::Map<const Eigen::VectorXd>(v.data(), v.size()));
  };
  lower = vector_of(lower_);
  upper = vector_of(upper_);
  constraint_lower = vector_of(row_lower_);
  constraint_upper = vector_of(row_upper_);

  const auto put = [](Pattern& pattern, int row, int column) {
    pattern.rows.push_back(row);
    pattern.columns.push_back(column);
  };
  // These loops define the order of the values in jacobian() and hessian().
  for (const Linear& term : linear_)
    if (term.row != objective_row) put(jacobian_pattern, term.row, term.variable);
  for (const Square& term : squares_) put(hessian_pattern, term.variable, term.variable);
  for (Block& block : blocks_) {
    block.jacobian_at = jacobian_pattern.rows.size();
    block.hessian_at = hessian_pattern.rows.size();
    int row = objective_row;
    for (const Term& term : block.terms)
      if (std::exchange(row, term.row) != term.row)
        for (const int input : block.inputs) put(jacobian_pattern, term.row, input);
    for (std::size_t i = 0; i < block.inputs.size(); ++i)
      for (std::size_t j = 0; j <= i; ++j)
        put(hessian_pattern, std::max(block.inputs[i], block.inputs[j]), std::min(block.inputs[i], block.inputs[j]));
  }
}

AssembledProblem::Workspace& AssembledProblem::workspace() const {
  thread_local Workspace w;
  const auto reserve = [](std::vector<double>& v, int size) {
    if (v.size() < static_cast<std::size_t>(size)) v.resize(size);
  };
  reserve(w.z, batch * max_inputs_);
  reserve(w.values, batch * max_outputs_);
  reserve(w.weights, batch * max_outputs_);
  reserve(w.jacobians, batch * max_outputs_ * max_inputs_);
  reserve(w.hessians, batch * max_inputs_ * max_inputs_);
  return w;
}

template <class Wanted, class F>
void AssembledProblem::for_batches(Wanted wanted, F f) const {
  std::array<const Block*, batch> blocks;
  int count = 0;
  const auto flush = [&] {
    if (count > 0) f(*blocks[0]->element, blocks.data(), count);
    count = 0;
  };
  for (const Block& block : blocks_) {
    if (!wanted(block)) continue;
    if (count == batch || (count > 0 && blocks[0]->element != block.element)) flush();
    blocks[count++] = &block;
  }
  flush();
}

void AssembledProblem::gather(const Block& block, const Eigen::VectorXd& x, double* z) {
  for (const int input : block.inputs) *z++ = x(input);
}

// Computes the weight of each output of the element in objective_factor * f + multipliers . c.
void AssembledProblem::weigh(const Block& block, double objective_factor, const Eigen::VectorXd& multipliers,
                             int outputs, double* weights) {
  std::fill_n(weights, outputs, 0.0);
  for (const Term& term : block.terms)
    weights[term.output] +=
        term.coefficient.value * (term.row == objective_row ? objective_factor : multipliers(term.row));
}

template <class Wanted, class Add>
void AssembledProblem::add_values(const Eigen::VectorXd& x, Wanted wanted, Add add) const {
  Workspace& w = workspace();
  for_batches(wanted, [&](const autodiff::Element& element, const Block* const* blocks, int count) {
    for (int k = 0; k < count; ++k) gather(*blocks[k], x, &w.z[k * element.inputs]);
    element.evaluate_all(count, w.z.data(), w.values.data());
    for (int k = 0; k < count; ++k)
      for (const Term& term : blocks[k]->terms) add(term, w.values[k * element.outputs + term.output]);
  });
}

double AssembledProblem::objective(const Eigen::VectorXd& x) const {
  double sum = 0.0;
  for (const Constant& c : constants_)
    if (c.row == objective_row) sum += c.value.value;
  for (const Linear& term : linear_)
    if (term.row == objective_row) sum += term.coefficient.value * x(term.variable);
  for (const Square& term : squares_) sum += term.coefficient.value * x(term.variable) * x(term.variable);
  add_values(
      x, [](const Block& block) { return block.in_objective; },
      [&](const Term& term, double value) {
        if (term.row == objective_row) sum += term.coefficient.value * value;
      });
  return sum;
}

void AssembledProblem::constraint_values(const Eigen::VectorXd& x, Eigen::Ref<Eigen::VectorXd> values) const {
  values.setZero();
  for (const Constant& c : constants_)
    if (c.row != objective_row) values(c.row) += c.value.value;
  for (const Linear& term : linear_)
    if (term.row != objective_row) values(term.row) += term.coefficient.value * x(term.variable);
  add_values(
      x, [](const Block& block) { return block.in_rows; },
      [&](const Term& term, double value) {
        if (term.row != objective_row) values(term.row) += term.coefficient.value * value;
      });
}

void AssembledProblem::differentiate(const Eigen::VectorXd& x, double objective_factor,
                                     const Eigen::VectorXd* multipliers, double* gradient, double* jacobian_values,
                                     double* hessian_values) const {
  double *next_jacobian = jacobian_values, *next_hessian = hessian_values;
  for (const Linear& term : linear_) {
    if (gradient && term.row == objective_row) gradient[term.variable] += term.coefficient.value;
    if (jacobian_values && term.row != objective_row) *next_jacobian++ = term.coefficient.value;
  }
  for (const Square& term : squares_) {
    if (gradient) gradient[term.variable] += 2.0 * term.coefficient.value * x(term.variable);
    if (hessian_values) *next_hessian++ = 2.0 * objective_factor * term.coefficient.value;
  }
  Workspace& w = workspace();
  const auto wanted = [&](const Block& block) {
    return hessian_values || (gradient && block.in_objective) || (jacobian_values && block.in_rows);
  };
  for_batches(wanted, [&](const autodiff::Element& element, const Block* const* blocks, int count) {
    const int inputs = element.inputs, outputs = element.outputs;
    for (int k = 0; k < count; ++k) {
      gather(*blocks[k], x, &w.z[k * inputs]);
      if (hessian_values) weigh(*blocks[k], objective_factor, *multipliers, outputs, &w.weights[k * outputs]);
    }
    element.derivatives_all(count, w.z.data(), w.weights.data(),
                            gradient || jacobian_values ? w.jacobians.data() : nullptr,
                            hessian_values ? w.hessians.data() : nullptr);
    for (int k = 0; k < count; ++k) {
      const double* jacobian = &w.jacobians[k * outputs * inputs];
      double* to = jacobian_values ? jacobian_values + blocks[k]->jacobian_at : nullptr;  // where the next row goes
      int last = objective_row;
      for (const Term& term : blocks[k]->terms) {
        const double *row = jacobian + term.output * inputs, coefficient = term.coefficient.value;
        if (term.row == objective_row) {
          for (int i = 0; gradient && i < inputs; ++i) gradient[blocks[k]->inputs[i]] += coefficient * row[i];
        } else if (to && std::exchange(last, term.row) == term.row) {
          for (int i = 0; i < inputs; ++i) to[i - inputs] += coefficient * row[i];
        } else if (to) {
          for (int i = 0; i < inputs; ++i) *to++ = coefficient * row[i];
        }
      }
      if (!hessian_values) continue;
      const double* hessian = &w.hessians[k * inputs * inputs];
      double* next = hessian_values + blocks[k]->hessian_at;
      for (int i = 0; i < inputs; ++i, hessian += inputs) next = std::copy_n(hessian, i + 1, next);
    }
  });
}

void AssembledProblem::objective_gradient(const Eigen::VectorXd& x, Eigen::Ref<Eigen::VectorXd> gradient) const {
  gradient.setZero();
  differentiate(x, 0.0, nullptr, gradient.data(), nullptr, nullptr);
}

void AssembledProblem::jacobian(const Eigen::VectorXd& x, Eigen::Ref<Eigen::VectorXd> values) const {
  differentiate(x, 0.0, nullptr, nullptr, values.data(), nullptr);
}

void AssembledProblem::hessian(const Eigen::VectorXd& x, double objective_factor, const Eigen::VectorXd& multipliers,
                               Eigen::Ref<Eigen::VectorXd> values) const {
  differentiate(x, objective_factor, &multipliers, nullptr, nullptr, values.data());
}

void AssembledProblem::derivatives(const Eigen::VectorXd& x, double objective_factor,
                                   const Eigen::VectorXd& multipliers, Eigen::Ref<Eigen::VectorXd> gradient,
                                   Eigen::Ref<Eigen::VectorXd> jacobian_values,
                                   Eigen::Ref<Eigen::VectorXd> hessian_values) const {
  gradient.setZero();
  differentiate(x, objective_factor, &multipliers, gradient.data(), jacobian_values.data(), hessian_values.data());
}

Eigen::VectorXd AssembledProblem::design_gradient(const Eigen::VectorXd& x, const Eigen::VectorXd& multipliers,
                                                  int designs) const {
  Eigen::VectorXd sum = Eigen::VectorXd::Zero(designs);
  if (designs == 0) return sum;
  const auto factor = [&](int row) { return row == objective_row ? 1.0 : multipliers(row); };
  for (const Constant& c : constants_) c.value.add_gradient(factor(c.row), sum);
  for (const Linear& term : linear_) term.coefficient.add_gradient(factor(term.row) * x(term.variable), sum);
  for (const Square& term : squares_) term.coefficient.add_gradient(x(term.variable) * x(term.variable), sum);
  const auto all = [](const Block&) { return true; };
  add_values(x, all, [&](const Term& term, double value) {
    if (term.coefficient.gradient.size() > 0) term.coefficient.add_gradient(factor(term.row) * value, sum);
  });
  Workspace& w = workspace();
  for_batches(all, [&](const autodiff::Element& element, const Block* const* blocks, int count) {
    for (int k = 0; k < count; ++k) {
      gather(*blocks[k], x, &w.z[k * element.inputs]);
      weigh(*blocks[k], 1.0, multipliers, element.outputs, &w.weights[k * element.outputs]);
    }
    element.add_design_gradient(count, w.z.data(), w.weights.data(), sum);
  });
  if (design_dependent_bounds_.empty()) return sum;
  // The Lagrangian's derivative with respect to a variable is the multiplier of its active bound: positive at the
  // lower bound, negative at the upper bound. Because of c - bound = 0, a row's multiplier is minus the derivative of
  // the cost with respect to the row's bound.
  Eigen::VectorXd slope = Eigen::VectorXd::Zero(x.size());
  differentiate(x, 1.0, nullptr, slope.data(), nullptr, nullptr);
  Eigen::VectorXd jacobian_values(jacobian_pattern.size());
  jacobian(x, jacobian_values);
  for (int e = 0; e < jacobian_pattern.size(); ++e)
    slope(jacobian_pattern.columns[e]) += multipliers(jacobian_pattern.rows[e]) * jacobian_values(e);
  for (const DesignDependentBound& b : design_dependent_bounds_) {
    const double multiplier = b.row ? -multipliers(b.index) : slope(b.index);
    if (b.upper ? multiplier < 0.0 : multiplier > 0.0) b.bound.add_gradient(multiplier, sum);
  }
  return sum;
}

}  // namespace dodyn::nlp
