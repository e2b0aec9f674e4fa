#include "dmoc/position_constraint.hpp"

#include <Eigen/Cholesky>
#include <Eigen/QR>
#include <functional>
#include <limits>

namespace dodyn::dmoc {

using Eigen::MatrixXd;
using Eigen::VectorXd;
using Term = nlp::AssembledProblem::Term;

namespace {

// Relative size of a pivot. Below it, constraints depend on each other.
constexpr double dependent = 1e-10;

std::vector<int> followed_by(std::vector<int> inputs, int first, int count) {
  for (int i = 0; i < count; ++i) inputs.push_back(first + i);
  return inputs;
}

// Returns the terms of output i in row `first` + i, [count].
std::vector<Term> in_rows(int first, int count, double factor = 1.0) {
  std::vector<Term> terms;
  for (int i = 0; i < count; ++i) terms.push_back({i, first + i, factor});
  return terms;
}

// Adds conditions on the unknowns from `multiplier` on, which are forces times a factor, or impulses. `add_constant`
// adds the constant of a condition, times this factor, to a row; null: the unknowns are impulses, and conditions with a
// constant are left out.
void add_conditions(nlp::AssembledProblem& nlp, const std::vector<ForceCondition>& conditions, int multiplier,
                    const std::function<void(int row, const Coefficient& constant)>& add_constant) {
  for (const ForceCondition& condition : conditions) {
    if (!add_constant && condition.has_constant()) continue;
    const int row = nlp.add_rows(1, 0.0, nlp::infinity);
    for (const auto& [component, coefficient] : condition.forces)
      nlp.add_linear(row, multiplier + component, coefficient);
    if (condition.has_constant()) add_constant(row, condition.constant);
  }
}

// Adds a constant force to a row of conditions on multipliers. The force is divided by force_per_multiplier().
void add_constant_force(MotionProblem& problem, int phase, int knot, int row, const Coefficient& force) {
  const PhaseIndex& index = problem.index(phase);
  const Coefficient weighted = problem.knot_weight(phase, knot) * force;
  if (index.duration >= 0)
    problem.problem().add_linear(row, index.duration, weighted * (1.0 / index.intervals));
  else
    problem.problem().add_constant(row,
                                   knot == 0 || knot == index.knots() - 1 ? weighted * problem.step(phase) : weighted);
}

// Adds the rows of g: zero at the knots, or equal at neighbouring knots. Differences of neighbours keep the problem
// banded.
void add_positions(MotionProblem& problem, const PositionConstraint& constraint, const std::vector<Element>& values) {
  nlp::AssembledProblem& nlp = problem.problem();
  const int K = problem.index(constraint.phase).knots() - 1, size = constraint.function.size;
  std::vector<int> first;  // row of each component's knot 0, or of its first pair of knots
  for (int i = 0; i < size; ++i) {
    const bool zero = constraint.at_zero[i];
    const int left_out = zero && constraint.inherited ? 1 : 0;
    first.push_back(nlp.add_rows(zero ? K + 1 - left_out : K, 0.0, 0.0) - left_out);
  }
  for (int k = 0; k <= K; ++k) {
    std::vector<Term> terms;
    for (int i = 0; i < size; ++i) {
      const int row = first[i];
      if (constraint.at_zero[i]) {
        if (k > 0 || !constraint.inherited) terms.push_back({i, row + k, 1.0});
        continue;
      }
      if (k > 0) terms.push_back({i, row + k - 1, 1.0});
      if (k < K) terms.push_back({i, row + k, -1.0});
    }
    if (!terms.empty()) nlp.add_element(values[k], problem.knot(constraint.phase, k), std::move(terms));
  }
}

// Returns an element for every knot of the phase; neighbours with the same reference share one.
std::vector<Element> at_knots(const MotionProblem& problem, int phase, const Function& function,
                              const std::vector<Coefficient>& parameters) {
  std::vector<Element> all;
  for (int k = 0; k < problem.index(phase).knots(); ++k)
    all.push_back(k > 0 && problem.reference(phase, k) == problem.reference(phase, k - 1)
                      ? all.back()
                      : element(function, problem.numbers(), parameters, {problem.reference(phase, k)}));
  return all;
}

std::vector<Coefficient> push_parameters(const MotionProblem& problem, const PositionConstraint& constraint) {
  std::vector<Coefficient> all = constraint.parameters;
  all.resize(all.size() + problem.functions(constraint.phase).held.size(), 0.0);
  return all;
}

}  // namespace

void add_position_constraint(MotionProblem& problem, PositionConstraint constraint) {
  nlp::AssembledProblem& nlp = problem.problem();
  const PhaseIndex& index = problem.index(constraint.phase);
  const int K = index.knots() - 1, size = constraint.function.size;
  const std::vector<int>& moving = problem.functions(constraint.phase).moving;
  const std::vector<Element> push = at_knots(problem, constraint.phase, constraint.function.push,
                                             push_parameters(problem, constraint)),
                             rates =
                                 at_knots(problem, constraint.phase, constraint.function.rates, constraint.parameters);
  add_positions(problem, constraint,
                at_knots(problem, constraint.phase, constraint.function.values, constraint.parameters));
  // returns terms of the forces on moving coordinates in the rows from `row` on, appended to `terms`
  const auto pushed = [&](int row, double factor, std::vector<Term> terms) {
    for (std::size_t i = 0; i < moving.size(); ++i) terms.push_back({moving[i], row + static_cast<int>(i), factor});
    return terms;
  };
  for (int k = 0; k <= K; ++k) {
    const int momenta = problem.momentum_row(constraint.phase, k);
    constraint.multipliers.push_back(momenta < 0 ? -1 : nlp.add_variables(size, -nlp::infinity, nlp::infinity));
    if (momenta < 0) continue;
    const int multiplier = constraint.multipliers.back();
    const std::vector<int> knot = problem.knot(constraint.phase, k);
    // at the first knot the row has the opposite sign: -dL/dv+ - D2 L_d - ...
    nlp.add_element(push[k], followed_by(knot, multiplier, size),
                    pushed(momenta, k == 0 ? -1.0 : 1.0, problem.reactions(constraint.phase, k)));
    add_conditions(nlp, constraint.conditions, multiplier, [&](int row, const Coefficient& force) {
      add_constant_force(problem, constraint.phase, k, row, force);
    });
    if (k > 0 && k < K) continue;
    if (problem.rests(constraint.phase, k == K) || (k == 0 && constraint.stopped))
      continue;  // redundant rows slow the solver down
    const int velocity = k == 0 ? index.velocity_after : index.velocity_before;
    nlp.add_element(rates[k], followed_by(knot, velocity, index.moving), in_rows(nlp.add_rows(size, 0.0, 0.0), size));
  }
  if (constraint.event) {
    constraint.impulse = nlp.add_variables(size, -nlp::infinity, nlp::infinity);
    nlp.add_element(push.front(), followed_by(problem.node(constraint.phase, 0), constraint.impulse, size),
                    pushed(problem.jump_row(*constraint.event), 1.0, problem.impulse_reactions(*constraint.event)));
    add_conditions(nlp, constraint.conditions, constraint.impulse, nullptr);
  }
  problem.store(std::move(constraint));
}

VectorXd generalised_constraint_force(const MotionProblem& problem, const PositionConstraint& constraint, int knot,
                                      int first, const VectorXd& x) {
  const Element push = element(constraint.function.push, problem.numbers(), push_parameters(problem, constraint),
                               {problem.reference(constraint.phase, knot)});
  return value(*push, x(followed_by(problem.knot(constraint.phase, knot), first, constraint.function.size)));
}

// A multiplier has the unit of its momentum balance: N at inner knots if h is known, otherwise and at both ends N s.
double force_per_multiplier(const MotionProblem& problem, int phase, int knot, const VectorXd& x) {
  const PhaseIndex& index = problem.index(phase);
  const double h = index.duration >= 0 ? x(index.duration) / index.intervals : problem.step(phase).value,
               per_weight = 1.0 / problem.knot_weight(phase, knot);
  return knot == 0 || knot == index.knots() - 1 || index.duration >= 0 ? per_weight / h : per_weight;
}

MatrixXd constraint_forces(const MotionProblem& problem, const PositionConstraint& constraint, const VectorXd& x) {
  const int knots = problem.index(constraint.phase).knots(), size = constraint.function.size;
  MatrixXd forces = MatrixXd::Constant(knots, size, std::numeric_limits<double>::quiet_NaN());
  for (int k = 0; k < knots; ++k)
    if (const int first = constraint.multipliers[k]; first >= 0)
      forces.row(k) = force_per_multiplier(problem, constraint.phase, k, x) * x.segment(first, size).transpose();
  return forces;
}

void ConstraintEvaluator::refer(const Reference& reference) {
  if (reference == reference_ && values_.size() == constraints_.size()) return;
  reference_ = reference;
  values_.clear();
  rates_.clear();
  for (const PositionConstraint& constraint : constraints_) {
    values_.push_back(element(constraint.function.values, numbers_, constraint.parameters, {reference}));
    rates_.push_back(element(constraint.function.rates, numbers_, constraint.parameters, {reference}));
  }
}

VectorXd ConstraintEvaluator::values(const Reference& reference, const VectorXd& theta) {
  refer(reference);
  VectorXd all(0);
  for (const Element& f : values_) {
    all.conservativeResize(all.size() + f->outputs);
    all.tail(f->outputs) = value(*f, theta);
  }
  return all;
}

MatrixXd ConstraintEvaluator::slopes(const Reference& reference, const VectorXd& theta) {
  refer(reference);
  MatrixXd all(0, theta.size());
  for (const Element& f : values_) {
    all.conservativeResize(all.rows() + f->outputs, theta.size());
    all.bottomRows(f->outputs) = jacobian(*f, theta);
  }
  return all;
}

VectorXd ConstraintEvaluator::bias(const Reference& reference, const VectorXd& theta, const VectorXd& v) {
  refer(reference);
  VectorXd z(2 * theta.size()), all(0);
  z << theta, v;
  for (const Element& f : rates_) {
    all.conservativeResize(all.size() + f->outputs);
    all.tail(f->outputs) = jacobian(*f, z).leftCols(theta.size()) * v;
  }
  return all;
}

VectorXd with_constraint_force(const MatrixXd& mass, const MatrixXd& slopes, const VectorXd& p,
                               const VectorXd& wanted) {
  if (slopes.rows() == 0) return p;
  const Eigen::LDLT<MatrixXd> M(mass);
  VectorXd missing = -slopes * M.solve(p);
  if (wanted.size() > 0) missing += wanted;
  const MatrixXd compliance = slopes * M.solve(slopes.transpose());
  Eigen::CompleteOrthogonalDecomposition<MatrixXd> factor;
  factor.setThreshold(dependent);
  return p + slopes.transpose() * factor.compute(compliance).solve(missing);
}

}  // namespace dodyn::dmoc
