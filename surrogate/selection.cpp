#include "surrogate/selection.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "surrogate/acquisition.hpp"
#include "surrogate/random.hpp"

namespace dodyn::surrogate {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

namespace {

constexpr int joint_draws = 1000;  // the standard error of a probability is at most 0.016

// Returns the probability that f at some column of `z` is below f at `from` by more than `indifference`.
double probability_of_better(const Kriging& model, const MatrixXd& z, const VectorXd& from, double indifference) {
  MatrixXd all(z.rows(), z.cols() + 1);
  all << from, z;
  Random random(static_cast<std::uint64_t>(z.cols()));
  MatrixXd normal(all.cols(), joint_draws);
  for (double& value : normal.reshaped()) value = random.normal();
  const MatrixXd drawn = model.drawn(all, normal);
  int better = 0;
  for (Index i = 0; i < joint_draws; ++i) better += drawn.col(i).tail(z.cols()).minCoeff() < drawn(0, i) - indifference;
  return static_cast<double>(better) / joint_draws;
}

}  // namespace

Selection select(const ObservedData& observed, const Models& models, double indifference) {
  Selection out;
  if (const Evaluation* const best = models.recommended(observed)) out.recommended = *best;
  if (!out.recommended) return out;
  const Kriging& model = models.objectives()[0].model();
  const VectorXd from = observed.space.embed(observed.unit(*out.recommended));
  const Prediction there = model.predict(from);
  out.cost = models.objectives()[0].warp().backward(there.mean);
  out.deviation = std::sqrt(there.variance);
  out.indifference = indifference > 0 ? indifference : 0.5 * out.recommended->cost_stderr;
  std::vector<VectorXd> others;
  for (const Evaluation& e : observed.evaluations)
    if (observed.feasible(e) && observed.is_informative(e) && e.design != out.recommended->design &&
        std::none_of(others.begin(), others.end(), [&](const VectorXd& x) { return x == e.design; }))
      others.push_back(e.design);
  MatrixXd z(observed.space.embedded(), static_cast<Index>(others.size()));
  for (Index i = 0; i < z.cols(); ++i)
    z.col(i) = observed.space.embed(observed.space.unit(others[static_cast<std::size_t>(i)]));
  out.probability = z.cols() == 0 ? 1 : 1 - probability_of_better(model, z, from, out.indifference);
  return out;
}

std::string percent_text(double probability) {
  constexpr int highest = 99;
  return probability >= 0.01 * highest ? "at least " + std::to_string(highest)
                                       : std::to_string(static_cast<int>(100 * probability));
}

VectorXd rival_of(const ObservedData& observed, const Selection& selection) {
  struct Difference {
    VectorXd design;
    double sum = 0, count = 0;
  };
  std::vector<Difference> all;
  for (const Evaluation& own : observed.evaluations) {
    if (own.design != selection.recommended->design || !observed.usable(own)) continue;
    for (const Evaluation& e : observed.evaluations) {
      if (e.design == own.design || e.seed != own.seed || !observed.feasible(e) ||
          e.paired_costs.size() != own.paired_costs.size())
        continue;
      auto at = std::find_if(all.begin(), all.end(), [&](const Difference& d) { return d.design == e.design; });
      if (at == all.end()) at = all.insert(at, {.design = e.design});
      at->sum += (e.paired_costs - own.paired_costs).sum();
      at->count += static_cast<double>(e.paired_costs.size());
    }
  }
  VectorXd rival;
  double least = -selection.indifference;
  for (const Difference& d : all)
    if (d.count > 0 && d.sum / d.count < least) least = d.sum / d.count, rival = d.design;
  return rival;
}

UndecidedRegion undecided_region(const ObservedData& observed, const Models& models, const Selection& selection,
                                 const MatrixXd& points) {
  if (!selection.recommended || points.cols() == 0) return {};
  const Kriging& model = models.objectives()[0].model();
  const VectorXd from = observed.space.embed(observed.unit(*selection.recommended));
  MatrixXd all(observed.space.embedded(), points.cols());
  for (Index i = 0; i < points.cols(); ++i) all.col(i) = observed.space.embed(points.col(i));
  const VectorXd kept = models.log_feasible(observed, all);
  std::vector<Index> usable;
  for (Index i = 0; i < all.cols(); ++i)
    if (models.success().log_probability(all.col(i)) + kept(i) > std::log(least_usable)) usable.push_back(i);
  if (usable.empty()) return {.probability = 0, .fraction = 0};
  const MatrixXd z = all(Eigen::all, usable);
  VectorXd mean, variance;
  model.predict_difference(z, from, mean, variance);
  UndecidedRegion out;
  Index open = 0;
  for (Index i = 0; i < z.cols(); ++i)
    open += normal_cdf((-selection.indifference - mean(i)) / std::sqrt(variance(i) + 1e-300)) > undecided_chance;
  out.fraction = static_cast<double>(open) / static_cast<double>(points.cols());
  out.probability = probability_of_better(model, z, from, selection.indifference);
  return out;
}

}  // namespace dodyn::surrogate
