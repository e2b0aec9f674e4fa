// A sparse nonlinear program with exact derivatives,
//
//   minimise f(x)   subject to   constraint_lower <= c(x) <= constraint_upper,   lower <= x <= upper,
//
// where +-infinity means no bound and equal bounds mean an equality. Sign of the multipliers: the Lagrangian is
//   L = f + y . c(x) - z_lower . (x - lower) + z_upper . (x - upper),   z >= 0,
// so y_i <= 0 if c_i is at its lower bound and y_i >= 0 at its upper bound (Ipopt's convention).
#pragma once

#include <Eigen/Core>
#include <limits>
#include <vector>

namespace dodyn::nlp {

inline constexpr double infinity = std::numeric_limits<double>::infinity();

// Positions of the structural nonzeros, constant for a problem. A position may repeat: its values are added.
struct Pattern {
  std::vector<int> rows, columns;
  int size() const { return static_cast<int>(rows.size()); }
};

class Problem {
 public:
  virtual ~Problem() = default;

  Eigen::VectorXd lower, upper;                        // [variables]
  Eigen::VectorXd constraint_lower, constraint_upper;  // [constraints]
  Pattern jacobian_pattern;                            // Jacobian of c, [constraints, variables]
  Pattern hessian_pattern;                             // Hessian of the Lagrangian, lower triangle (row >= column)

  int variables() const { return static_cast<int>(lower.size()); }
  int constraints() const { return static_cast<int>(constraint_lower.size()); }

  // Callbacks fill outputs of the correct size. They may return non-finite numbers (the solver then shortens the step).
  // They must not throw. `x` may be any point within the bounds.
  virtual double objective(const Eigen::VectorXd& x) const = 0;
  virtual void objective_gradient(const Eigen::VectorXd& x, Eigen::Ref<Eigen::VectorXd> gradient) const = 0;
  virtual void constraint_values(const Eigen::VectorXd& x, Eigen::Ref<Eigen::VectorXd> values) const = 0;
  virtual void jacobian(const Eigen::VectorXd& x, Eigen::Ref<Eigen::VectorXd> values) const = 0;
  // Computes the Hessian of objective_factor * f + multipliers . c, in the order of hessian_pattern.
  virtual void hessian(const Eigen::VectorXd& x, double objective_factor, const Eigen::VectorXd& multipliers,
                       Eigen::Ref<Eigen::VectorXd> values) const = 0;
  // Computes gradient, Jacobian and Hessian at one point. A problem may override this function to share work.
  virtual void derivatives(const Eigen::VectorXd& x, double objective_factor, const Eigen::VectorXd& multipliers,
                           Eigen::Ref<Eigen::VectorXd> gradient, Eigen::Ref<Eigen::VectorXd> jacobian_values,
                           Eigen::Ref<Eigen::VectorXd> hessian_values) const {
    objective_gradient(x, gradient);
    jacobian(x, jacobian_values);
    hessian(x, objective_factor, multipliers, hessian_values);
  }
};

}  // namespace dodyn::nlp
