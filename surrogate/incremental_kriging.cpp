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
  options_ = options;
  const bool refit = !model_ || n < 25 || n >= fitted_ + std::max<Index>(fitted_ / 10, 3);
  if (!refit && samples.covariance.size() > 0) {  // the covariances of earlier samples may have changed
    in_model_ = n;
    model_ = Kriging::with(warped(samples, warp_), options, model_->hyperparameters());
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

  const double least = limit.value_or(few.y.minCoeff());
  VectorXd sorted = (few.y.array() - least).abs();
  std::sort(sorted.begin(), sorted.end());
  const double middle = sorted(sorted.size() / 2);
  const auto warp_of = [&](int decades) {
    Warp w{least, std::numeric_limits<double>::infinity(), limit.has_value()};
    if (decades > 0 && middle > 0) w.width = middle * std::pow(10.0, 1 - decades);
    return w;
  };
  std::vector<int> candidates = {decades_};
  if (warps && few.size() >= 6 && middle > 0) {
    if (decades_ > 0) candidates.push_back(decades_ - 1);
    if (decades_ < 6) candidates.push_back(decades_ + 1);
  } else {
    candidates = {0};
  }
  std::optional<Kriging> best;
  double best_likelihood = -std::numeric_limits<double>::infinity();
  int best_decades = 0;
  for (const int decades : candidates) {
    const Warp w = warp_of(decades);
    KrigingOptions o = options;
    if (n > 60)
      o.starts = 1, o.max_evaluations = model_ ? few_evaluations : o.max_evaluations;
    else if (decades != decades_)
      o.starts = 2;
    const Hyperparameters* const before = model_ ? &model_->hyperparameters() : nullptr;
    Kriging model = Kriging::fit(warped(few, w), o, before);
    double likelihood = model.hyperparameters().likelihood;  // likelihood of the unwarped costs: multiplied by the
                                                             // warp's slope at each row
    for (Index i = 0; i < few.size(); ++i) {
      const bool enhanced = few.gradient.size() > 0 && few.gradient.col(i).allFinite();
      likelihood += (enhanced ? 1.0 + static_cast<double>(few.x.rows()) : 1.0) * std::log(w.slope(few.y(i)));
    }
    if (likelihood > best_likelihood || !best)
      best_likelihood = likelihood, best = std::move(model), best_decades = decades;
  }
  decades_ = best_decades;
  warp_ = warp_of(decades_);
  model_ =
      few.size() == all.size() ? std::move(*best) : Kriging::with(warped(all, warp_), options, best->hyperparameters());
}

}  // namespace dodyn::surrogate
