// A sparse nonlinear program with exact derivatives,
//
//   minimise f(x)   subject to   constraint_lower <= c(x) <= constraint_upper,   lower <= x <= upper,
//
// where +-infinity means no bound and equal bounds an equality. Sign of the multipliers: the Lagrangian is
//   L = f + y . c(x) - z_lower . (x - lower) + z_upper . (x - upper),   z >= 0,
// so that y_i <= 0 where c_i rests on its lower bound and y_i >= 0 on its upper one (Ipopt's convention).
#pragma once

#include <Eigen/Core>
#include <limits>
#include <vector>

namespace dodyn::nlp {

inline constexpr double infinity = std::numeric_limits<double>::infinity();

// Positions of the structural nonzeros, fixed for the life of a problem. A position may repeat: values add up.
struct Pattern {
  std::vector<int> rows, columns;
  int size() const { return static_cast<int>(rows.size()); }
};

class Problem {
 public:
  virtual ~Problem() = default;

  Eigen::VectorXd lower, upper;                        // [variables]
  Eigen::VectorXd constraint_lower, constraint_upper;  // [constraints]
  Pattern jacobian_pattern;                            // of c, [constraints x variables]
  Pattern hessian_pattern;                             // of the Lagrangian, lower triangle (row >= column)

  int variables() const { return static_cast<int>(lower.size()); }
  int constraints() const { return static_cast<int>(constraint_lower.size()); }

  // Callbacks fill outputs that already have their sizes. They may return non-finite numbers (the solver backs off),
  // they must not throw. `x` may be any point within the bounds.
  virtual double objective(const Eigen::VectorXd& x) const = 0;
  virtual void objective_gradient(const Eigen::VectorXd& x, Eigen::Ref<Eigen::VectorXd> gradient) const = 0;
  virtual void constraint_values(const Eigen::VectorXd& x, Eigen::Ref<Eigen::VectorXd> values) const = 0;
  virtual void jacobian(const Eigen::VectorXd& x, Eigen::Ref<Eigen::VectorXd> values) const = 0;
  // Hessian of  objective_factor * f + multipliers . c
  virtual void hessian(const Eigen::VectorXd& x, double objective_factor, const Eigen::VectorXd& multipliers,
                       Eigen::Ref<Eigen::VectorXd> values) const = 0;
  // Gradient, Jacobian and Hessian of one point, for a solver that wants all; a problem may share work between them.
  virtual void derivatives(const Eigen::VectorXd& x, double objective_factor, const Eigen::VectorXd& multipliers,
                           Eigen::Ref<Eigen::VectorXd> gradient, Eigen::Ref<Eigen::VectorXd> jacobian_values,
                           Eigen::Ref<Eigen::VectorXd> hessian_values) const {
    objective_gradient(x, gradient);
    jacobian(x, jacobian_values);
    hessian(x, objective_factor, multipliers, hessian_values);
  }
};

}  // namespace dodyn::nlp
