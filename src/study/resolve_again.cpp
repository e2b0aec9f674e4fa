// Solves designs again if their neighbours' costs show that a lower cost is possible.
#include <algorithm>
#include <cmath>
#include <utility>

#include "study/study.hpp"

namespace dodyn::study {
namespace {

// near: maximum distance of two neighbours (ranges scaled to one, root mean square over the variables). doubtful:
// minimum relative excess of a cost over a neighbour's prediction for which the design is solved again.
constexpr double near = 0.15, doubtful = 1e-3;

// Number of neighbours whose motions are tried, in descending order of the excess. Local optima may differ by
// neighbour.
constexpr std::size_t heard = 2;

}  // namespace

// Returns the latest row of each evaluation that the strategy has received or is about to receive.
std::map<std::int64_t, const Evaluation*> Study::latest() const {
  std::map<std::int64_t, const Evaluation*> rows;
  for (const auto& [id, row] : evaluations_)
    if (is_observed(id) || pending_.contains(id)) rows.emplace_hint(rows.end(), id, &row);
  for (const auto& again : reevaluations_)
    if (const auto row = rows.find(again.row.id); row != rows.end()) row->second = &again.row;
  return rows;
}

// Returns the relative excess of a design's cost over the prediction from a neighbour's cost and both slopes
// (trapezoidal rule). It is positive if the neighbour is on a better branch of local optima, and infinite if the design
// has no cost.
double Study::excess(const Evaluation& of, const Evaluation& by) const {
  double square = 0;
  for (Eigen::Index k = 0; k < of.design.size(); ++k) {
    const Variable& v = layout_.variables[k];
    square += std::pow((of.design(k) - by.design(k)) / (v.upper - v.lower), 2);
  }
  if (square > near * near * static_cast<double>(of.design.size())) return 0.0;
  if (of.status == Status::not_converged) return HUGE_VAL;
  if (!of.ok() || of.gradient.size() == 0 || by.gradient.size() == 0) return 0.0;
  const double expected = by.cost + 0.5 * (of.gradient + by.gradient).dot(of.design - by.design);
  return (of.cost - expected) / std::abs(by.cost);
}

// Evaluates designs with an excess again, from the motion of the neighbour with the largest excess. Ends when no
// attempt improves a design. A better result becomes a second row of the id, which the strategy receives after the
// first. Other results are dropped. Batches that the archive already contains were processed when they were new.
bool Study::resolve_again() {
  if (!evaluator_.uses_warm_start() || asynchronous_ || iterations_ < archived_iterations_) return true;
  read_trajectories();
  const auto batch = pending_;
  std::set<std::int64_t> changed;  // designs whose results changed since the last comparison with neighbours
  for (const auto& [id, asked] : batch) changed.insert(id);
  while (!changed.empty()) {
    const auto rows = latest();
    std::set<std::int64_t> parents, later;
    for (const auto& [id, row] : rows) {
      // Returns the excess of the cost over the neighbour's prediction; 0 if the neighbour predicts none.
      const auto doubt = [&, id = id, row = row](std::int64_t other, const Evaluation& neighbour) {
        const auto motion = trajectories_.find(other);
        if (other == id || !neighbour.ok() || motion == trajectories_.end() || motion->second.empty()) return 0.0;
        return excess(*row, neighbour);
      };
      // Skips a design if neither it nor a neighbour has changed since the last comparison.
      const bool is_news = changed.contains(id) || std::ranges::any_of(changed, [&](std::int64_t other) {
                             const auto at = rows.find(other);
                             return at != rows.end() && doubt(other, *at->second) > doubtful;
                           });
      if (!is_news) continue;
      std::vector<std::pair<double, std::int64_t>> against;  // excess and id of the neighbours, in descending order of
                                                             // the excess
      for (const auto& [other, neighbour] : rows)
        if (const double by = doubt(other, *neighbour); by > doubtful) against.emplace_back(-by, other);
      std::ranges::sort(against);
      against.resize(std::min(against.size(), heard));
      std::int64_t parent = -1;
      for (const auto& [by, other] : against)
        if (parent < 0 && (changed.contains(id) || changed.contains(other)) && !tried_.contains({id, other}))
          parent = other;
      if (parent < 0) continue;
      if (resolved_again_.contains(parent) ||
          parents.contains(id)) {  // a replay must reproduce from which motion a row started
        later.insert(id);
        continue;
      }
      tried_.insert({id, parent});
      parents.insert(parent);
      resolved_again_[id] = *row;
      Evaluation& asked = pending_[id];
      asked.id = id;
      asked.design = row->design;
      asked.seed = row->seed;
      asked.parent = parent;
      new_.push_back(id);
    }
    std::map<std::int64_t, Evaluation> first;
    for (const auto& [id, row] : resolved_again_)
      first[id] = std::exchange(evaluations_[id], {}), evaluations_.erase(id);
    const bool on = resolved_again_.empty() || evaluate();
    changed = std::move(later);
    std::vector<Evaluation> better;
    for (auto& [id, row] : first) {
      if (const auto at = evaluations_.find(id); at != evaluations_.end()) better.push_back(at->second);
      evaluations_[id] = std::move(row);
      changed.insert(id);
    }
    resolved_again_count_ += static_cast<int>(better.size());
    for (Evaluation& row : better) {
      std::erase_if(tried_, [&](const auto& pair) { return pair.first == row.id || pair.second == row.id; });
      reevaluations_.push_back({evaluations_.size(), std::move(row)});
    }
    resolved_again_.clear();
    pending_ = batch;
    if (!on) return false;
  }
  return true;
}

// Whether another attempt at a design has improved its result.
bool Study::better_than_before(const Evaluation& row) const {
  const Evaluation& before = resolved_again_.at(row.id);
  return row.ok() && (!before.ok() || row.cost < before.cost - 1e-6 * std::abs(before.cost));
}

}  // namespace dodyn::study
