#include "dmoc/worst_row.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <iterator>

namespace dodyn::dmoc {

namespace {

constexpr double allowed = 1e-6;      // violation that is not reported, in the unit of the row
constexpr std::size_t max_named = 4;  // limit of the conditions in a message

std::string short_number(double x) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g", x);
  return text;
}

// Returns the actuators that are within 0.1 % of their range of a limit in some interval of a phase: " (at the limit:
// hip in 19, knee in 17 of 20 intervals)". Empty: none.
std::string limited(const MotionProblem& problem, const Eigen::VectorXd& x, int phase) {
  const auto& index = problem.index(phase);
  const auto& actuators = problem.system().structure().actuators;
  std::string words;
  for (int a = 0; a < index.controls; ++a) {
    const auto& [low, high] = problem.phase(phase).controls[a];
    const double near = 1e-3 * (high.value - low.value);
    if (!std::isfinite(near)) continue;
    int count = 0;
    const auto at_limit = [upper = high.value - near, lower = low.value + near](double u) {
      return u > upper || u < lower;
    };
    for (int k = 0; k < index.intervals; ++k) {
      int points = 0;
      for (int point = 0; point < index.degree; ++point) points += at_limit(x(index.control(k, point) + a));
      count += points > 0;
    }
    if (count == 0) continue;
    words += words.empty() ? " (at the limit: " : ", ";
    words += actuators[a].name + " in " + std::to_string(count);
  }
  if (!words.empty()) words += " of " + std::to_string(index.intervals) + " intervals";
  return words.empty() ? "" : words + ")";
}

// Description of a momentum balance: its coordinate and time, and the actuators at their limits.
struct MomentumRow {
  std::string what, limits;  // both empty: the row is not a momentum balance
};
MomentumRow momentum_row_at(const MotionProblem& problem, const Eigen::VectorXd& x, int row) {
  const auto& tree = problem.system().structure();
  double begin = 0.0;
  for (int i = 0; i < problem.phases(); ++i) {
    const auto& index = problem.index(i);
    const auto& moving = problem.functions(i).moving;
    const double T = index.duration >= 0 ? x(index.duration) : problem.phase(i).duration.value;
    for (int k = 0; k < index.knots(); ++k) {
      const int first = problem.momentum_row(i, k);
      if (first < 0 || row < first || row >= first + std::ssize(moving)) continue;
      const int coordinate = moving[row - first];
      return {"momentum of " + tree.coordinate_names[coordinate] +
                  " at t = " + short_number(begin + T * problem.system().scheme().position(k) / index.intervals) + " s",
              limited(problem, x, i)};
    }
    begin += T;
  }
  return {};
}

}  // namespace

std::string worst_row(const MotionProblem& problem, const NamedRows& conditions, const Eigen::VectorXd& x) {
  if (!x.allFinite()) return "";
  const auto& nlp = problem.problem();
  Eigen::VectorXd c(nlp.constraints());
  nlp.constraint_values(x, c);
  const Eigen::VectorXd violation = (nlp.constraint_lower - c).cwiseMax(c - nlp.constraint_upper);
  // The maximum violation of each condition, and of all momentum balances together.
  struct Violation {
    std::string what;
    double by = 0.0;
  };
  Violation momentum;
  std::string limits;
  std::vector<Violation> all;
  for (int row = 0; row < nlp.constraints(); ++row) {
    if (!(violation(row) > allowed)) continue;
    if (auto [what, at_limits] = momentum_row_at(problem, x, row); !what.empty()) {
      if (violation(row) > momentum.by) momentum = {std::move(what), violation(row)}, limits = std::move(at_limits);
      continue;
    }
    const auto after = std::ranges::upper_bound(conditions, row, {}, [](const auto& group) { return group.first; });
    if (after == conditions.begin() || std::prev(after)->second.empty()) continue;
    const std::string& what = std::prev(after)->second;
    auto known = std::ranges::find_if(all, [&](const Violation& one) { return one.what == what; });
    if (known == all.end()) known = all.insert(all.end(), Violation{what, 0.0});
    known->by = std::max(known->by, violation(row));
  }
  if (momentum.by > 0.0) all.push_back(momentum);
  std::ranges::sort(all, std::greater(), &Violation::by);
  std::string words;
  for (std::size_t i = 0; i < std::min(all.size(), max_named); ++i)
    words += (i == 0 ? "; " + all[i].what + " is missed by " : ", " + all[i].what + " by ") + short_number(all[i].by);
  return words + (words.empty() ? "" : limits);
}

}  // namespace dodyn::dmoc
