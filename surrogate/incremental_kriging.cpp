#include "surrogate/incremental_kriging.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <vector>

#include "record/evaluation.hpp"

namespace dodyn::surrogate {

using Eigen::Index;
using Eigen::VectorXd;

namespace {

constexpr Index likelihood_rows = 300;  // number of rows up to which hyperparameters are fitted to all samples; beyond:
                                        // to a subset
constexpr Index most_rows = 600;        // number of rows beyond which gradients of the samples of highest cost are
                                        // dropped
constexpr double tie = 1e-12;           // relative to the largest cost: costs that differ by less are equal to rounding
constexpr int few_evaluations = 15;     // likelihood evaluations of a fit that starts from the last hyperparameters

}  // namespace

Samples IncrementalKriging::warped(const Samples& samples, const Warp& warp) const {
  Samples s = samples;
  for (Index i = 0; i < s.size(); ++i) {
    const double slope = warp.slope(samples.y(i));
    if (s.covariance.size() > 0) s.covariance.row(i) *= slope, s.covariance.col(i) *= slope;
    if (s.working.size() > 0) s.working.row(i) *= slope, s.working.col(i) *= slope;
    s.y(i) = warp.forward(samples.y(i));
    if (s.gradient.size() > 0) s.gradient.col(i) *= slope;
    if (s.variance.size() > 0) s.variance(i) *= slope * slope;
  }
  return s;
}

// Returns the best half and every k-th of the others, so that the number of rows stays within the limit.
Samples IncrementalKriging::part(const Samples& s) {
  const Index most = std::max<Index>(likelihood_rows * s.size() / rows(s), 2);
  if (s.size() <= most) return s;
  std::vector<Index> order(s.size());
  std::iota(order.begin(), order.end(), Index(0));
  std::stable_sort(order.begin(), order.end(), [&](Index a, Index b) { return s.y(a) < s.y(b); });
  std::vector<Index> chosen(order.begin(), order.begin() + most / 2);
  const Index rest = s.size() - most / 2, wanted = most - most / 2;
  for (Index i = 0; i < wanted; ++i) chosen.push_back(order[most / 2 + i * rest / wanted]);
  return s.chosen(chosen);
}

void IncrementalKriging::update(const Samples& samples, const KrigingOptions& options, bool warps, bool restart,
                                std::optional<double> limit) {
  const Index n = samples.size();
  if (restart) model_.reset();
  if (model_ && n == in_model_) return;
  seen_ = samples;
  std::shared_ptr<const Kriging> low_fidelity = options_.low_fidelity;
  options_ = options;
  options_.low_fidelity = low_fidelity;
  const bool refit = !model_ || n < 25 || n >= fitted_ + std::max<Index>(fitted_ / 10, 3);
  if (!refit && samples.covariance.size() > 0) {  // the covariances of earlier samples may have changed
    in_model_ = n;
    model_ = Kriging::with(warped(samples, warp_), options_, model_->hyperparameters());
    return;
  }
  if (!refit) {
    for (; in_model_ < n; ++in_model_) {
      const double slope = warp_.slope(samples.y(in_model_));
      const VectorXd gradient =
          samples.gradient.size() > 0 ? VectorXd(slope * samples.gradient.col(in_model_)) : VectorXd();
      model_ = model_->grown(samples.x.col(in_model_), warp_.forward(samples.y(in_model_)), gradient,
                             samples.variance.size() > 0 ? slope * slope * samples.variance(in_model_) : 0);
    }
    return;
  }
  in_model_ = fitted_ = n;
  if (!model_)
    plain_.last.reset(), with_low_.last.reset();
  else
    (low_fidelity ? with_low_ : plain_).last = model_->hyperparameters();
  Samples all = samples;
  if (rows(all) > most_rows && all.gradient.size() > 0) {  // memory and time are O(rows^2): drops gradients of the
                                                           // samples of highest cost
    std::vector<Index> order(n);
    std::iota(order.begin(), order.end(), Index(0));
    std::stable_sort(order.begin(), order.end(), [&](Index a, Index b) { return all.y(a) > all.y(b); });
    for (const Index i : order) {
      if (rows(all) <= most_rows) break;
      all.gradient.col(i).setConstant(not_a_number);
    }
  }
  const Samples few = part(all);

  const auto fit_variant = [&](const KrigingOptions& of, Variant& variant) {
    Fitted fitted = fit(few, of, warps, limit, variant);
    variant = {fitted.decades, fitted.model.hyperparameters()};
    return fitted;
  };
  options_ = options;
  Fitted best = fit_variant(options, plain_);
  if (low_) {
    KrigingOptions extended = options;
    extended.low_fidelity = low_->model;
    Fitted with_low = fit_variant(extended, with_low_);
    if (with_low.model.factor() != 0 && with_low.log_density_left_out() >= best.log_density_left_out())
      best = std::move(with_low), options_ = extended;
  }
  warp_ = best.warp;
  model_ = few.size() == all.size() ? std::move(best.model)
                                    : Kriging::with(warped(all, warp_), options_, best.model.hyperparameters());
}

// Returns the most probable model among models with different warps: the warp of the last fit, the two neighbouring
// warps, and the warp of the approximation, if there is one.
IncrementalKriging::Fitted IncrementalKriging::fit(const Samples& few, const KrigingOptions& options, bool warps,
                                                   std::optional<double> limit, const Variant& before) const {
  const double least = limit.value_or(few.y.minCoeff());
  VectorXd sorted = (few.y.array() - least).abs();
  std::sort(sorted.begin(), sorted.end());
  const double rounding = tie * std::max(sorted(sorted.size() - 1), std::abs(least));
  const double middle = sorted(sorted.size() / 2) > rounding ? sorted(sorted.size() / 2) : 0;
  const auto warp_of = [&](int decades) {
    Warp w{least, std::numeric_limits<double>::infinity(), limit.has_value()};
    if (decades > 0 && middle > 0) w.width = middle * std::pow(10.0, 1 - decades);
    return w;
  };
  std::vector<std::pair<int, Warp>> candidates = {{before.decades, warp_of(before.decades)}};
  if (warps && few.size() >= 6 && middle > 0) {
    if (before.decades > 0) candidates.emplace_back(before.decades - 1, warp_of(before.decades - 1));
    if (before.decades < 6) candidates.emplace_back(before.decades + 1, warp_of(before.decades + 1));
  } else {
    candidates = {{0, warp_of(0)}};
  }
  if (warps && options.low_fidelity && !low_->warp.identity()) candidates.emplace_back(before.decades, low_->warp);
  // The likelihood of a warp counts its slope at each cost. Many lowest costs that are equal to rounding would prove a
  // deep warp. So only the first lowest cost counts with the slope there, the others with the slope at the median.
  std::vector<bool> tied(few.size());
  for (Index i = 0, first = 1; i < few.size(); ++i)
    if (std::abs(few.y(i) - least) <= rounding) tied[i] = first == 0, first = 0;
  std::optional<Fitted> best;
  double best_likelihood = -std::numeric_limits<double>::infinity();
  for (const auto& [decades, w] : candidates) {
    KrigingOptions o = options;
    if (in_model_ > 60)
      o.starts = 1, o.max_evaluations = before.last ? few_evaluations : o.max_evaluations;
    else if (decades != before.decades)
      o.starts = 2;
    Kriging model = Kriging::fit(warped(few, w), o, before.last ? &*before.last : nullptr);
    double likelihood = model.hyperparameters().likelihood;  // likelihood of the unwarped costs: multiplied by the
                                                             // warp's slope at each row
    for (Index i = 0; i < few.size(); ++i) {
      const bool enhanced = few.gradient.size() > 0 && few.gradient.col(i).allFinite();
      likelihood += (enhanced ? 1.0 + static_cast<double>(few.x.rows()) : 1.0) *
                    std::log(w.slope(tied[i] ? least + middle : few.y(i)));
    }
    if (likelihood > best_likelihood || !best) best_likelihood = likelihood, best = {std::move(model), w, decades};
  }
  return *std::move(best);
}

double IncrementalKriging::Fitted::log_density_left_out() const {
  const Kriging::LeaveOneOut left_out = model.leave_one_out();
  double sum = left_out.log_density();
  for (const double w : left_out.observed) sum += std::log(warp.slope(warp.backward(w)));
  return sum;
}

}  // namespace dodyn::surrogate
