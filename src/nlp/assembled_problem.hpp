// A nonlinear program that is a sum of small elements, linear terms and squares: what a transcription produces.
//
//   f(x)   = sum of objective terms,      c_r(x) = sum of the terms added to row r
//
// Every coefficient, bound and parameter of an element may carry its gradient with respect to the design, so that the
// gradient of the optimal cost is at hand at a solution: by the envelope theorem it is the partial derivative of the
// Lagrangian, one sweep for all design variables.
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

  // Output `output` of an element, times a coefficient, adds to a row (or the objective).
  struct Term {
    int output, row;
    Coefficient coefficient;
  };

  // Building. Variables and rows are numbered in the order added; the first new index is returned.
  int add_variables(int count, const Coefficient& lower_bound, const Coefficient& upper_bound);
  int add_rows(int count, const Coefficient& lower_bound, const Coefficient& upper_bound);
  void add_element(std::shared_ptr<const autodiff::Element> element, std::vector<int> inputs, std::vector<Term> terms);
  void add_linear(int row, int variable, Coefficient coefficient);
  void add_constant(int row, Coefficient constant);
  void add_square(int variable, Coefficient coefficient);  // coefficient * x^2, in the objective
  // Fixes the patterns; nothing may be added afterwards.
  void finish();

  // Gradient of the optimal cost with respect to the design, [designs], at a solution x with these multipliers: that of
  // f + multipliers . c at fixed x, and the bounds' share, whose multipliers follow from stationarity.
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
    std::size_t jacobian_at = 0, hessian_at = 0;  // where its values begin
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
  // A bound that moves with the design, of a variable or a row.
  struct Moving {
    int index;
    bool row, upper;
    Coefficient bound;
  };
  void note_moving(bool row, int first, int count, const Coefficient& lower_bound, const Coefficient& upper_bound);

  // Room for the inputs, outputs and derivatives of some blocks of one element.
  struct Workspace {
    std::vector<double> z, values, weights, jacobians, hessians;
  };
  Workspace& workspace() const;  // this thread's

  // Calls f(element, blocks, count) for all blocks that are wanted, in their order: several at a time where neighbours
  // share their element.
  template <class Wanted, class F>
  void for_batches(Wanted wanted, F f) const;
  // f of the blocks as they stand in the rows chosen, added to add(row, value).
  template <class Wanted, class Add>
  void add_values(const Eigen::VectorXd& x, Wanted wanted, Add add) const;
  // What is not a null pointer.
  void differentiate(const Eigen::VectorXd& x, double objective_factor, const Eigen::VectorXd* multipliers,
                     double* gradient, double* jacobian_values, double* hessian_values) const;
  static void gather(const Block& block, const Eigen::VectorXd& x, double* z);
  static void weigh(const Block& block, double objective_factor, const Eigen::VectorXd& multipliers, int outputs,
                    double* weights);

  int most_inputs_ = 0, most_outputs_ = 0;
  std::vector<Block> blocks_;
  std::vector<Linear> linear_;  // rows and, with objective_row, the objective
  std::vector<Constant> constants_;
  std::vector<Square> squares_;
  std::vector<Moving> moving_;
  std::vector<double> lower_, upper_, row_lower_, row_upper_;
};

}  // namespace dodyn::nlp
