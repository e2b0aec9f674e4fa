#include "dmoc/balance.hpp"

#include <Eigen/SparseCholesky>
#include <algorithm>
#include <cmath>
#include <vector>

namespace dodyn::dmoc {

using Eigen::VectorXd;
using Matrix = Eigen::SparseMatrix<double>;

namespace {

// Regularisation: squared weight of a force, relative to the largest squared derivative. The rows contain means of
// neighbouring controls, so alternating controls would be undetermined without it.
constexpr double damping = 1e-6;

// Returns for every unknown its index among the controls and forces of position constraints; -1: neither.
std::vector<int> places_of_forces(const MotionProblem& problem) {
  std::vector<int> place(problem.problem().variables(), -1);
  int count = 0;
  const auto add_places = [&](int first, int size) {
    for (int i = 0; first >= 0 && i < size; ++i) place[first + i] = count++;
  };
  for (int p = 0; p < problem.phases(); ++p) {
    const PhaseIndex& index = problem.index(p);
    for (int k = 0; k < index.intervals; ++k) add_places(index.control(k), index.degree * index.controls);
    for (const PositionConstraint& constraint : problem.position_constraints(p))
      for (const int first : constraint.multipliers) add_places(first, constraint.function.size);
  }
  return place;
}

std::vector<int> places_of_balances(const MotionProblem& problem) {
  std::vector<int> place(problem.problem().constraints(), -1);
  int count = 0;
  for (int p = 0; p < problem.phases(); ++p)
    for (int k = 0; k < problem.index(p).knots(); ++k)
      if (const int row = problem.momentum_row(p, k); row >= 0)
        for (int i = 0; i < problem.index(p).moving; ++i) place[row + i] = count++;
  return place;
}

// Minimises |A y + residuals|^2 plus a small multiple of |y|^2.
VectorXd least_squares(const Matrix& A, const VectorXd& residuals) {
  Matrix normal = A.transpose() * A, one(A.cols(), A.cols());
  one.setIdentity();
  normal += damping * normal.diagonal().maxCoeff() * one;
  return Eigen::SimplicialLDLT<Matrix>(normal).solve(-(A.transpose() * residuals));
}

}  // namespace

VectorXd with_balancing_forces(const MotionProblem& problem, const VectorXd& x) {
  const nlp::AssembledProblem& nlp = problem.problem();
  const std::vector<int> forces = places_of_forces(problem), rows = places_of_balances(problem);
  const auto count = [](const std::vector<int>& places) { return 1 + *std::ranges::max_element(places); };
  if (count(forces) == 0 || count(rows) == 0) return x;
  VectorXd values(nlp.constraints()), slopes(nlp.jacobian_pattern.size()), residuals = VectorXd::Zero(count(rows));
  nlp.constraint_values(x, values);
  nlp.jacobian(x, slopes);
  for (std::size_t r = 0; r < rows.size(); ++r)
    if (rows[r] >= 0) residuals(rows[r]) = values(r);
  std::vector<Eigen::Triplet<double>> entries;
  for (int e = 0; e < nlp.jacobian_pattern.size(); ++e) {
    const int row = rows[nlp.jacobian_pattern.rows[e]], column = forces[nlp.jacobian_pattern.columns[e]];
    if (row >= 0 && column >= 0) entries.emplace_back(row, column, slopes(e));
  }
  Matrix A(count(rows), count(forces));
  A.setFromTriplets(entries.begin(), entries.end());
  const VectorXd change = least_squares(A, residuals);
  if (!change.allFinite()) return x;
  VectorXd balanced = x;
  for (std::size_t i = 0; i < forces.size(); ++i)
    if (forces[i] >= 0) balanced(i) += change(forces[i]);
  return balanced.cwiseMax(nlp.lower).cwiseMin(nlp.upper);
}

double imbalance(const MotionProblem& problem, const VectorXd& x) {
  VectorXd values(problem.problem().constraints());
  problem.problem().constraint_values(x, values);
  const std::vector<int> rows = places_of_balances(problem);
  double squares = 0.0;
  for (std::size_t r = 0; r < rows.size(); ++r)
    if (const double value = values(r); rows[r] >= 0) squares += value * value;
  return std::sqrt(squares);
}

}  // namespace dodyn::dmoc
