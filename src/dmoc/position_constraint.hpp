// Constraints of a phase in addition to its fixed coordinates: functions g of the posture with constant values, for
// example the position of a second foot. Their forces lambda act along the gradients of g.
//
//   g(theta_k) = g(theta_0), or = 0          at the knots k; G = dg/dtheta
//   DEL_k + G(theta_k)^T lambda_k = 0        at every knot with rows of momenta
//   G v = 0                                  at the phase's ends, if the velocities are unknowns and not given as zero
//   dL/dv+ = dL/dv- + G^T mu                 if an event begins the phase: a plastic impact
//
// This is discrete mechanics with holonomic constraints and multipliers (Leyendecker, Ober-Bloebaum, Marsden and Ortiz
// 2010).
#pragma once

#include <Eigen/Core>
#include <vector>

#include "autodiff/vars.hpp"
#include "dmoc/motion_problem.hpp"

namespace dodyn::dmoc {

// Records the functions of a constraint in a phase that holds the coordinates `held`. `values_of`:
// (tree, numbers, q, parameters) -> g, [size], at a node. q: all coordinates.
template <class F>
PositionFunction record_position_function(const System& system, const std::vector<int>& held, int parameters, int size,
                                          F values_of) {
  using Vars = std::vector<autodiff::Var>;
  const int n = system.n();
  const std::vector<int> moving = system.pinned(held).moving;
  const int m = moving.size();
  const auto values = [=](const auto& tree, const auto& numbers, const Vars& z, const Vars& extra) {
    return values_of(tree, numbers, whole(n, moving, z.data()), extra);
  };
  const auto rest = [m](const Vars& z) { return Vars(z.begin() + m, z.end()); };
  PositionFunction f;
  f.size = size;
  f.values = system.record_at_node_with_numbers(m, parameters, values);
  f.rates = system.record_at_node_with_numbers(
      2 * m, parameters, [=](const auto& tree, const auto& numbers, const Vars& z, const Vars& extra) {
        const Vars v = rest(z);
        Vars rates;
        for (const autodiff::Var& value : values(tree, numbers, z, extra)) {
          autodiff::Var rate(0.0);
          const Vars slopes = autodiff::gradient(value, Vars(z.begin(), z.begin() + m));
          for (std::size_t i = 0; i < slopes.size(); ++i) rate += slopes[i] * v[i];
          rates.push_back(rate);
        }
        return rates;
      });
  f.push = system.record_at_node_with_numbers(
      m + size, parameters + n - m, [=](const auto& tree, const auto& numbers, const Vars& z, const Vars& extra) {
        Vars q = whole(n, moving, z.data());
        for (std::size_t i = 0; i < held.size(); ++i) q[held[i]] = extra[parameters + i];
        const Vars forces = rest(z), g = values_of(tree, numbers, q, extra);
        autodiff::Var work(0.0);
        for (std::size_t i = 0; i < g.size(); ++i) work += forces[i] * g[i];
        return autodiff::gradient(work, q);
      });
  return f;
}

// Adds the unknowns and rows of a position constraint to a transcribed problem, and stores the constraint there.
void add_position_constraint(MotionProblem& problem, PositionConstraint constraint);

// Returns G^T lambda on all coordinates, [n], at a knot of the phase. lambda: values in x of the unknowns from index
// `first` on, not yet converted to forces (see force_per_multiplier()).
Eigen::VectorXd generalised_constraint_force(const MotionProblem& problem, const PositionConstraint& constraint,
                                             int knot, int first, const Eigen::VectorXd& x);

// Returns the forces at the knots of the phase, [Kd + 1, size], in J per unit of g: N if g is a length. At a knot
// without rows of momenta they are not a number.
Eigen::MatrixXd constraint_forces(const MotionProblem& problem, const PositionConstraint& constraint,
                                  const Eigen::VectorXd& x);
// Returns the factor that converts the multipliers of a constraint at a knot to forces.
double force_per_multiplier(const MotionProblem& problem, int phase, int knot, const Eigen::VectorXd& x);

// Evaluates the constraints of a phase. Their components are stacked.
class ConstraintEvaluator {
 public:
  ConstraintEvaluator(const std::vector<PositionConstraint>& constraints, const std::vector<Coefficient>& numbers)
      : constraints_(constraints), numbers_(numbers) {}

  // Returns g, [size].
  Eigen::VectorXd values(const Reference& reference, const Eigen::VectorXd& theta);
  // Returns G, [size, moving].
  Eigen::MatrixXd slopes(const Reference& reference, const Eigen::VectorXd& theta);
  // Returns (d/dt G) v, [size].
  Eigen::VectorXd bias(const Reference& reference, const Eigen::VectorXd& theta, const Eigen::VectorXd& v);
  bool empty() const { return constraints_.empty(); }

 private:
  void refer(const Reference& reference);

  std::vector<PositionConstraint> constraints_;
  std::vector<Coefficient> numbers_;
  Reference reference_;  // reference of the current elements
  std::vector<Element> values_, rates_;
};

// Returns p + G^T lambda such that G M^-1 (p + G^T lambda) = wanted; empty: zero. p: momenta or forces. If
// constraints depend on each other, lambda has minimum norm.
Eigen::VectorXd with_constraint_force(const Eigen::MatrixXd& mass, const Eigen::MatrixXd& slopes,
                                      const Eigen::VectorXd& p, const Eigen::VectorXd& wanted = {});

}  // namespace dodyn::dmoc
