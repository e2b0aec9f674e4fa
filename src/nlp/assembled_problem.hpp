// A nonlinear program as a sum of small elements, linear terms and squares, such as a transcription.
//
//   f(x)   = sum of objective terms,      c_r(x) = sum of the terms added to row r
//
// Every coefficient, bound and parameter of an element may carry its gradient with respect to the design. By the
// envelope theorem the gradient of the optimal cost is the partial derivative of the Lagrangian at a solution: one
// sweep for all design variables.
#pragma once

#include <memory>
#include <vector>

#include "autodiff/differential.hpp"
#include "autodiff/element.hpp"
#include "nlp/problem.hpp"

namespace dodyn::nlp {

// A number and its gradient with respect to the design.
using Coefficient = autodiff::Differential;

class AssembledProblem : public Problem {
 public:
  static constexpr int objective_row = -1;

  // Output `output` of an element, times a coefficient, is added to a row (or the objective).
  struct Term {
    int output, row;
    Coefficient coefficient;
  };

  // Functions that build the problem. Variables and rows are numbered in the order in which they are added; the first
  // new index is returned.
  int add_variables(int count, const Coefficient& lower_bound, const Coefficient& upper_bound);
  int add_rows(int count, const Coefficient& lower_bound, const Coefficient& upper_bound);
  // `inputs`: the variable of each input of the element. Adds each term's output times its coefficient to its row.
  void add_element(std::shared_ptr<const autodiff::Element> element, std::vector<int> inputs, std::vector<Term> terms);
  // Adds coefficient * x to a row or to the objective (objective_row).
  void add_linear(int row, int variable, Coefficient coefficient);
  void add_constant(int row, Coefficient constant);        // row: index of a row, or objective_row
  void add_square(int variable, Coefficient coefficient);  // adds coefficient * x^2 to the objective
  // Fixes bounds and patterns. Call it once; afterwards nothing can be added.
  void finish();

  // Returns the gradient of the optimal cost with respect to the design, [designs], at a solution x with these
  // multipliers: the derivative of f + multipliers . c at fixed x, plus the contribution of bounds that depend on the
  // design. The multipliers of variables' bounds follow from stationarity.
  Eigen::VectorXd design_gradient(const Eigen::VectorXd& x, const Eigen::VectorXd& multipliers, int designs) const;

  double objective(const Eigen::VectorXd& x) const override;
  void objective_gradient(const Eigen::VectorXd& x, Eigen::Ref<Eigen::VectorXd> gradient) const override;
  void constraint_values(const Eigen::VectorXd& x, Eigen::Ref<Eigen::VectorXd> values) const override;
  void jacobian(const Eigen::VectorXd& x, Eigen::Ref<Eigen::VectorXd> values) const override;
  void hessian(const Eigen::VectorXd& x, double objective_factor, const Eigen::VectorXd& multipliers,
               Eigen::Ref<Eigen::VectorXd> values) const override;
  void derivatives(const Eigen::VectorXd& x, double objective_factor, const Eigen::VectorXd& multipliers,
                   Eigen::Ref<Eigen::VectorXd> gradient, Eigen::Ref<Eigen::VectorXd> jacobian_values,
                   Eigen::Ref<Eigen::VectorXd> hessian_values) const override;

 private:
  struct Block {
    std::shared_ptr<const autodiff::Element> element;
    std::vector<int> inputs;
    std::vector<Term> terms;
    bool in_objective = false, in_rows = false;
    std::size_t jacobian_at = 0, hessian_at = 0;  // first index of its values
  };
  struct Linear {
    int row, variable;
    Coefficient coefficient;
  };
  struct Constant {
    int row;
    Coefficient value;
  };
  struct Square {
    int variable;
    Coefficient coefficient;
  };
  // A bound of a variable or a row that depends on the design.
  struct DesignDependentBound {
    int index;
    bool row, upper;  // row: of a row, not a variable
    Coefficient bound;
  };
  void add_design_dependent_bounds(bool row, int first, int count, const Coefficient& lower_bound,
                                   const Coefficient& upper_bound);

  // Buffers for inputs, outputs and derivatives of some blocks of one element.
  struct Workspace {
    std::vector<double> z, values, weights, jacobians, hessians;
  };
  Workspace& workspace() const;  // returns the buffers of the calling thread, large enough for a batch

  // Calls f(element, blocks, count) for all blocks for which `wanted` is true, in their order. Neighbours that share
  // their element are passed together.
  template <class Wanted, class F>
  void for_batches(Wanted wanted, F f) const;
  // Evaluates all blocks for which `wanted` is true; calls add(term, value of its output) for each term.
  template <class Wanted, class Add>
  void add_values(const Eigen::VectorXd& x, Wanted wanted, Add add) const;
  // Adds to `gradient` and sets the values of Jacobian and Hessian; a null pointer: not computed. `multipliers` may be
  // null if `hessian_values` is null.
  void differentiate(const Eigen::VectorXd& x, double objective_factor, const Eigen::VectorXd* multipliers,
                     double* gradient, double* jacobian_values, double* hessian_values) const;
  static void gather(const Block& block, const Eigen::VectorXd& x, double* z);
  static void weigh(const Block& block, double objective_factor, const Eigen::VectorXd& multipliers, int outputs,
                    double* weights);

  int max_inputs_ = 0, max_outputs_ = 0;
  std::vector<Block> blocks_;
  std::vector<Linear> linear_;  // linear terms of the rows; row objective_row: of the objective
  std::vector<Constant> constants_;
  std::vector<Square> squares_;
  std::vector<DesignDependentBound> design_dependent_bounds_;
  std::vector<double> lower_, upper_, row_lower_, row_upper_;
};

}  // namespace dodyn::nlp
