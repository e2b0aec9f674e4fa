// What a phase holds besides coordinates: functions g of the posture that keep their values, as a second foot that stands or a
// loop that is closed, by forces lambda along their slopes.
//
//   g(theta_k) = g(theta_0), or = 0          at the nodes k; G = dg/dtheta
//   DEL_k + G(theta_k)^T lambda_k = 0        at every node that balances momenta
//   G v = 0                                  where the velocities at the phase's start or end are unknowns, not given as zero
//   dL/dv+ = dL/dv- + G^T mu                 where an event begins the phase: a plastic impact
//
// (discrete mechanics with holonomic constraints, by multipliers: Leyendecker, Ober-Bloebaum, Marsden and Ortiz 2010)
#pragma once

#include <Eigen/Core>
#include <vector>

#include "dmoc/motion_problem.hpp"

namespace dodyn::dmoc {

// Records g of what moves, [m]: values(tree, numbers, theta, parameters) -> g, [size], at a node of a motion.
template <class F>
PositionFunction record_position_function(const System& system, int m, int parameters, int size, F values) {
  using Vars = std::vector<autodiff::Var>;
  // of a node of the recording with respect to theta, [m]
  const auto slope = [m](const autodiff::Var& of, const Vars& z) {
    std::vector<int> theta;
    for (int i = 0; i < m; ++i) theta.push_back(z[static_cast<std::size_t>(i)].node);
    Vars slopes;
    for (const int node : autodiff::Recording::current->gradient(of.node, theta))
      slopes.push_back(autodiff::Var::at(node));
    return slopes;
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
          const Vars slopes = slope(value, z);
          for (std::size_t i = 0; i < slopes.size(); ++i) rate += slopes[i] * v[i];
          rates.push_back(rate);
        }
        return rates;
      });
  f.push = system.record_at_node_with_numbers(
      m + size, parameters, [=](const auto& tree, const auto& numbers, const Vars& z, const Vars& extra) {
        const Vars forces = rest(z), g = values(tree, numbers, z, extra);
        autodiff::Var work(0.0);
        for (std::size_t i = 0; i < g.size(); ++i) work += forces[i] * g[i];
        return slope(work, z);
      });
  return f;
}

// Where a hold's forces stand among the unknowns.
struct HoldIndex {
  int phase = 0, size = 0;
  std::vector<int> multipliers;  // [K + 1] the first of each node; -1: the node balances no momenta
};

// Adds unknowns and rows to a problem that is transcribed.
HoldIndex add_hold(MotionProblem& problem, const Hold& hold);

// Forces at the nodes of the phase at x, [K + 1, size], per unit of g (N where g is a length); not a number at a node that
// balances no momenta.
Eigen::MatrixXd hold_forces(const MotionProblem& problem, const HoldIndex& index, const Eigen::VectorXd& x);

// Several holds, their components one below the other, at postures of what a phase moves.
class HeldPostures {
 public:
  HeldPostures(const std::vector<Hold>& holds, const std::vector<Coefficient>& numbers)
      : holds_(holds), numbers_(numbers) {}

  Eigen::VectorXd values(const Reference& reference, const Eigen::VectorXd& theta);  // g [size]
  Eigen::MatrixXd slopes(const Reference& reference, const Eigen::VectorXd& theta);  // G [size, moving]
  // (d/dt G) v, [size]
  Eigen::VectorXd bias(const Reference& reference, const Eigen::VectorXd& theta, const Eigen::VectorXd& v);
  bool empty() const { return holds_.empty(); }

 private:
  void refer(const Reference& reference);

  std::vector<Hold> holds_;
  std::vector<Coefficient> numbers_;
  Reference reference_;  // of the elements
  std::vector<Element> values_, rates_;
};

// The force or impulse lambda [size] with G M^-1 (p + G^T lambda) = wanted, the least one where holds depend on each other.
Eigen::VectorXd holding_force(const Eigen::MatrixXd& mass, const Eigen::MatrixXd& slopes, const Eigen::VectorXd& p,
                              const Eigen::VectorXd& wanted);

}  // namespace dodyn::dmoc
