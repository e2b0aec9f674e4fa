#include "dmoc/hold.hpp"

#include <Eigen/Cholesky>
#include <Eigen/QR>
#include <limits>

namespace dodyn::dmoc {

using Eigen::MatrixXd;
using Eigen::VectorXd;
using Term = nlp::AssembledProblem::Term;

namespace {

// Pivots of holds that depend on each other, relative to the largest.
constexpr double dependent = 1e-10;

std::vector<int> followed_by(std::vector<int> inputs, int first, int count) {
  for (int i = 0; i < count; ++i) inputs.push_back(first + i);
  return inputs;
}

// Terms of output i in row `first` + i, [count].
std::vector<Term> in_rows(int first, int count, double factor = 1.0) {
  std::vector<Term> terms;
  for (int i = 0; i < count; ++i) terms.push_back({i, first + i, factor});
  return terms;
}

void add_conditions(nlp::AssembledProblem& nlp, const std::vector<ForceCondition>& conditions, int multiplier) {
  for (const ForceCondition& condition : conditions) {
    const int row = nlp.add_rows(1, 0.0, nlp::infinity);
    for (const auto& [component, coefficient] : condition) nlp.add_linear(row, multiplier + component, coefficient);
  }
}

// g is zero at the nodes, or the same at both ends of each interval, which leaves the problem banded.
void add_positions(MotionProblem& problem, const Hold& hold, const std::vector<Element>& values) {
  nlp::AssembledProblem& nlp = problem.problem();
  const int K = problem.index(hold.phase).intervals, size = hold.function.size;
  std::vector<int> first;  // row of each component's node or interval 0
  for (int i = 0; i < size; ++i) {
    const bool zero = hold.at_zero[static_cast<std::size_t>(i)];
    const int left_out = zero && hold.inherited ? 1 : 0;
    first.push_back(nlp.add_rows(zero ? K + 1 - left_out : K, 0.0, 0.0) - left_out);
  }
  for (int k = 0; k <= K; ++k) {
    std::vector<Term> terms;
    for (int i = 0; i < size; ++i) {
      const int row = first[static_cast<std::size_t>(i)];
      if (hold.at_zero[static_cast<std::size_t>(i)]) {
        if (k > 0 || !hold.inherited) terms.push_back({i, row + k, 1.0});
        continue;
      }
      if (k > 0) terms.push_back({i, row + k - 1, 1.0});
      if (k < K) terms.push_back({i, row + k, -1.0});
    }
    if (!terms.empty())
      nlp.add_element(values[static_cast<std::size_t>(k)], problem.node(hold.phase, k), std::move(terms));
  }
}

// At every node of a phase; one for neighbours about the same reference.
std::vector<Element> at_nodes(const MotionProblem& problem, const Hold& hold, const Function& function) {
  std::vector<Element> all;
  for (int k = 0; k <= problem.index(hold.phase).intervals; ++k)
    all.push_back(k > 0 && problem.reference(hold.phase, k) == problem.reference(hold.phase, k - 1)
                      ? all.back()
                      : element(function, problem.numbers(), hold.parameters, {problem.reference(hold.phase, k)}));
  return all;
}

}  // namespace

HoldIndex add_hold(MotionProblem& problem, const Hold& hold) {
  problem.keep(hold);
  nlp::AssembledProblem& nlp = problem.problem();
  const PhaseIndex& index = problem.index(hold.phase);
  const int K = index.intervals, size = hold.function.size, moving = index.moving;
  const std::vector<Element> push = at_nodes(problem, hold, hold.function.push),
                             rates = at_nodes(problem, hold, hold.function.rates);
  add_positions(problem, hold, at_nodes(problem, hold, hold.function.values));
  HoldIndex found{hold.phase, size, {}};
  for (int k = 0; k <= K; ++k) {
    const int momenta = problem.momentum_row(hold.phase, k);
    found.multipliers.push_back(momenta < 0 ? -1 : nlp.add_variables(size, -nlp::infinity, nlp::infinity));
    if (momenta < 0) continue;
    const int multiplier = found.multipliers.back();
    const std::vector<int> node = problem.node(hold.phase, k);
    // the row of momenta that leave the first node has the opposite sign: -dL/dv+ - D2 L_d - ...
    nlp.add_element(push[static_cast<std::size_t>(k)], followed_by(node, multiplier, size),
                    in_rows(momenta, moving, k == 0 ? -1.0 : 1.0));
    add_conditions(nlp, hold.conditions, multiplier);
    if (k > 0 && k < K) continue;
    if (problem.rests(hold.phase, k == K) || (k == 0 && hold.stopped))
      continue;  // rows that follow from others slow the solver down
    const int velocity = k == 0 ? index.velocity_after : index.velocity_before;
    nlp.add_element(rates[static_cast<std::size_t>(k)], followed_by(node, velocity, moving),
                    in_rows(nlp.add_rows(size, 0.0, 0.0), size));
  }
  if (!hold.event) return found;
  const int impulse = nlp.add_variables(size, -nlp::infinity, nlp::infinity);
  nlp.add_element(push.front(), followed_by(problem.node(hold.phase, 0), impulse, size),
                  in_rows(problem.jump_row(*hold.event), moving));
  add_conditions(nlp, hold.conditions, impulse);
  return found;
}

MatrixXd hold_forces(const MotionProblem& problem, const HoldIndex& index, const VectorXd& x) {
  const int K = problem.index(index.phase).intervals, duration = problem.index(index.phase).duration;
  const double h = duration >= 0 ? x(duration) / K : problem.step(index.phase).value;
  // rows inside are in N where h is known, otherwise in N s as those at the ends, of half an interval
  const double inside = duration >= 0 ? 1.0 / h : 1.0, at_end = 2.0 / h;
  MatrixXd forces = MatrixXd::Constant(K + 1, index.size, std::numeric_limits<double>::quiet_NaN());
  for (int k = 0; k <= K; ++k)
    if (const int first = index.multipliers[static_cast<std::size_t>(k)]; first >= 0)
      forces.row(k) = (k == 0 || k == K ? at_end : inside) * x.segment(first, index.size).transpose();
  return forces;
}

void HeldPostures::refer(const Reference& reference) {
  if (reference == reference_ && values_.size() == holds_.size()) return;
  reference_ = reference;
  values_.clear();
  rates_.clear();
  for (const Hold& hold : holds_) {
    values_.push_back(element(hold.function.values, numbers_, hold.parameters, {reference}));
    rates_.push_back(element(hold.function.rates, numbers_, hold.parameters, {reference}));
  }
}

VectorXd HeldPostures::values(const Reference& reference, const VectorXd& theta) {
  refer(reference);
  VectorXd all(0);
  for (const Element& f : values_) {
    all.conservativeResize(all.size() + f->outputs);
    all.tail(f->outputs) = value(*f, theta);
  }
  return all;
}

MatrixXd HeldPostures::slopes(const Reference& reference, const VectorXd& theta) {
  refer(reference);
  MatrixXd all(0, theta.size());
  for (const Element& f : values_) {
    all.conservativeResize(all.rows() + f->outputs, theta.size());
    all.bottomRows(f->outputs) = jacobian(*f, theta);
  }
  return all;
}

VectorXd HeldPostures::bias(const Reference& reference, const VectorXd& theta, const VectorXd& v) {
  refer(reference);
  VectorXd z(2 * theta.size()), all(0);
  z << theta, v;
  for (const Element& f : rates_) {
    all.conservativeResize(all.size() + f->outputs);
    all.tail(f->outputs) = jacobian(*f, z).leftCols(theta.size()) * v;
  }
  return all;
}

VectorXd holding_force(const MatrixXd& mass, const MatrixXd& slopes, const VectorXd& p, const VectorXd& wanted) {
  const Eigen::LDLT<MatrixXd> M(mass);
  const VectorXd free = M.solve(p);
  const MatrixXd compliance = slopes * M.solve(slopes.transpose());
  Eigen::CompleteOrthogonalDecomposition<MatrixXd> factor;
  factor.setThreshold(dependent);
  return factor.compute(compliance).solve(wanted - slopes * free);
}

}  // namespace dodyn::dmoc
