#include "dmoc/ignorable.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <numbers>

namespace dodyn::dmoc {

using Eigen::VectorXd;

namespace {

constexpr double rounding = 1e-9;  // relative difference of equal values
// Constants that no symmetry of a machine has by chance, m or rad. The large ones find costs and conditions that
// depend on a coordinate only far away, such as contacts with a wall by penalty.
constexpr std::array any_constants = {0.3719, -0.3719, 5.917, -5.917, 97.31, -97.31, 1613.3, -1613.3};
constexpr double full_turn = 2.0 * std::numbers::pi;  // rad
constexpr double highest_start = 2.3;                 // upper limit of a start without full turns, rad

// Returns the index of the unknown of a coordinate at a knot; -1: the coordinate is held in that phase.
int unknown_of(const MotionProblem& problem, int phase, int knot, int coordinate) {
  const auto& moving = problem.functions(phase).moving;
  const auto at = std::ranges::find(moving, coordinate);
  return at == moving.end() ? -1 : problem.index(phase).knot(knot) + static_cast<int>(at - moving.begin());
}

bool has_range(const nlp::AssembledProblem& nlp, int unknown) {
  return std::isfinite(nlp.lower(unknown)) || std::isfinite(nlp.upper(unknown));
}

bool equal(const VectorXd& a, const VectorXd& b) {
  return (a - b).lpNorm<Eigen::Infinity>() <= rounding * (1.0 + a.lpNorm<Eigen::Infinity>());
}

VectorXd rows_at(const nlp::AssembledProblem& nlp, const VectorXd& x) {
  VectorXd values = VectorXd::Zero(nlp.constraints());
  nlp.constraint_values(x, values);
  return values;
}

bool is_equal(const nlp::AssembledProblem& nlp, const VectorXd& x, const VectorXd& shifted) {
  const double cost = nlp.objective(x);
  return std::abs(nlp.objective(shifted) - cost) <= rounding * (1.0 + std::abs(cost)) &&
         equal(rows_at(nlp, x), rows_at(nlp, shifted));
}

}  // namespace

bool has_no_effect(const MotionProblem& problem, const VectorXd& x, int coordinate) {
  for (int phase = 0; phase < problem.phases(); ++phase) {
    const int unknown = unknown_of(problem, phase, 1, coordinate);
    if (unknown < 0) continue;
    VectorXd shifted = x;
    shifted(unknown) += any_constants.front();
    if (!is_equal(problem.problem(), x, shifted)) return false;
  }
  return true;
}

bool is_ignorable(const MotionProblem& problem, const VectorXd& x, int coordinate, double constant) {
  const nlp::AssembledProblem& nlp = problem.problem();
  assert(x.size() == nlp.variables());
  if (problem.system().is_chart(coordinate)) return false;
  VectorXd shifted = x;
  for (int phase = 0; phase < problem.phases(); ++phase)
    for (int knot = 0; knot < problem.index(phase).knots(); ++knot) {
      const int unknown = unknown_of(problem, phase, knot, coordinate);
      if (unknown < 0 || has_range(nlp, unknown)) return false;
      shifted(unknown) += constant;
    }
  return is_equal(nlp, x, shifted);
}

void fix_ignorable(MotionProblem& problem, const VectorXd& x) {
  for (int c = 0; c < problem.system().n(); ++c) {
    if (!std::ranges::all_of(any_constants, [&](double constant) { return is_ignorable(problem, x, c, constant); }))
      continue;
    const int start = unknown_of(problem, 0, 0, c);
    problem.problem().lower(start) = problem.problem().upper(start) = x(start);
  }
}

double ignorable_start(const MotionProblem& problem, const VectorXd& x, int coordinate) {
  const int start = unknown_of(problem, 0, 0, coordinate), next = unknown_of(problem, 0, 1, coordinate);
  if (start < 0) return 0.0;
  const nlp::AssembledProblem& nlp = problem.problem();
  if (nlp.lower(start) == nlp.upper(start) && !has_range(nlp, next)) return x(start);
  const double turns = std::floor((x(start) - highest_start) / full_turn) + 1.0;
  const bool turned = turns != 0.0 && !problem.system().model().slides(coordinate);
  return turned && is_ignorable(problem, x, coordinate, full_turn) ? turns * full_turn : 0.0;
}

}  // namespace dodyn::dmoc
