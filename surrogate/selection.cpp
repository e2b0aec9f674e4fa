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

// Returns functions drawn at `from` (the first row) and at the columns of `z`: [1 + points, draws].
MatrixXd drawn_with(const Kriging& model, const MatrixXd& z, const VectorXd& from) {
  MatrixXd all(z.rows(), z.cols() + 1);
  all << from, z;
  Random random(static_cast<std::uint64_t>(z.cols()));
  MatrixXd normal(all.cols(), joint_draws);
  for (double& value : normal.reshaped()) value = random.normal();
  return model.drawn(all, normal);
}

// Returns the share of the draws in which some point is below the first by more than `indifference`.
double probability_of_better(const MatrixXd& drawn, double indifference) {
  int better = 0;
  for (Index i = 0; i < drawn.cols(); ++i)
    better += drawn.col(i).tail(drawn.rows() - 1).minCoeff() < drawn(0, i) - indifference;
  return static_cast<double>(better) / static_cast<double>(drawn.cols());
}

// Returns by how much the lowest mean is below the true cost of its design, on average over the draws. In a draw the
// model's means take the place of the true costs, and the drawn costs take the place of the means. So the errors of a
// draw have the model's covariance.
double optimism_of(const MatrixXd& drawn, const VectorXd& means) {
  double sum = 0;
  for (Index i = 0; i < drawn.cols(); ++i) {
    Index lowest = 0;
    const double least = drawn.col(i).minCoeff(&lowest);
    sum += means(lowest) - least;
  }
  return sum / static_cast<double>(drawn.cols());
}

}  // namespace

double error_of_cost(const Models& models, const Evaluation& e) {
  return std::sqrt(std::pow(e.cost_stderr, 2) + models.objectives()[0].model().noise_variance());
}

Selection select(const ObservedData& observed, const Models& models, double indifference) {
  Selection out;
  if (const Evaluation* const best = models.recommended(observed)) out.recommended = *best;
  if (!out.recommended) return out;
  const Kriging& model = models.objectives()[0].model();
  const VectorXd from = observed.space.embed(observed.unit(*out.recommended));
  const Prediction there = model.predict(from);
  out.cost = models.objectives()[0].warp().backward(there.mean);
  out.deviation = std::sqrt(there.variance);
  out.indifference = indifference > 0 ? indifference : 0.5 * error_of_cost(models, *out.recommended);
  std::vector<VectorXd> others;
  for (const Evaluation& e : observed.evaluations)
    if (observed.feasible(e) && observed.is_informative(e) && e.design != out.recommended->design &&
        std::none_of(others.begin(), others.end(), [&](const VectorXd& x) { return x == e.design; }))
      others.push_back(e.design);
  MatrixXd z(observed.space.embedded(), others.size());
  for (Index i = 0; i < z.cols(); ++i) z.col(i) = observed.space.embed(observed.space.unit(others[i]));
  if (z.cols() == 0) {
    out.probability = 1, out.optimism = 0;
    return out;
  }
  const MatrixXd drawn = drawn_with(model, z, from);
  VectorXd others_means, variances;
  model.predict(z, others_means, variances);
  VectorXd means(drawn.rows());
  means << there.mean, others_means;
  out.probability = 1 - probability_of_better(drawn, out.indifference);
  out.optimism = optimism_of(drawn, means);
  return out;
}

std::pair<double, double> interval_of_choice(double cost, double deviation, double optimism) {
  const double half = 1.96 * std::hypot(deviation, optimism);
  return {cost + optimism - half, cost + optimism + half};
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
  out.probability = probability_of_better(drawn_with(model, z, from), selection.indifference);
  return out;
}

}  // namespace dodyn::surrogate
