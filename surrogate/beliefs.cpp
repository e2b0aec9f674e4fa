#include "surrogate/beliefs.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "surrogate/acquisition.hpp"

namespace dodyn::surrogate {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

namespace {

constexpr int most_imputed = 100;  // failed designs
constexpr double distrust = 2;     // of what lies nearer to failures than to others: power of the ratio of distances
constexpr std::size_t most_viable = 400;  // designs told last that say where it fails: well enough, at a bounded price

}  // namespace

void Models::update(const Evidence& evidence, KrigingOptions options, bool gradient) {
  const DesignSpace& space = evidence.space;
  const std::vector<Evaluation>& told = evidence.told;
  options.scale = VectorXd::Ones(space.embedded());

  std::vector<const Evaluation*> good;
  std::vector<std::size_t> modelled;
  for (std::size_t i = evidence.from; i < told.size(); ++i)
    if (evidence.telling(told[i])) good.push_back(&told[i]), modelled.push_back(i);
  // a plateau found takes its samples out of the models
  const bool restart =
      modelled.size() < modelled_.size() || !std::equal(modelled_.begin(), modelled_.end(), modelled.begin());
  modelled_ = modelled;
  const auto n = static_cast<Index>(good.size());
  if (n > 0) {
    Samples s;
    s.x.resize(space.embedded(), n);
    for (Index i = 0; i < n; ++i) s.x.col(i) = space.embed(evidence.unit(*good[i]));
    const auto model = [&](TrackedModel& tracked, auto&& value, bool of_cost, bool warps,
                           std::optional<double> limit = {}) {
      Samples own = s;
      own.y.resize(n);
      for (Index i = 0; i < n; ++i) own.y(i) = value(*good[i]);
      if (of_cost && gradient) {
        own.gradient.resize(space.embedded(), n);
        for (Index i = 0; i < n; ++i) {
          const VectorXd& g = good[i]->gradient;
          own.gradient.col(i) = g.size() == space.dimensions() && g.allFinite()
                                    ? VectorXd(g.cwiseProduct(space.slope(good[i]->design)))
                                    : VectorXd::Constant(space.embedded(), not_a_number);
        }
      }
      if (of_cost && evidence.noisy()) {
        own.variance.resize(n);
        for (Index i = 0; i < n; ++i) own.variance(i) = std::pow(good[i]->cost_stderr, 2);
      }
      tracked.update(own, options, warps && !evidence.noisy(), restart, limit);
    };
    const bool single = evidence.objectives.size() == 1;
    for (std::size_t k = 0; k < objectives_.size(); ++k)
      model(
          objectives_[k], [&](const Evaluation& e) { return evidence.objective(e, k); }, evidence.objectives[k] < 0,
          single);
    for (std::size_t k = 0; k < constraints_.size(); ++k) {
      const int metric = evidence.constraints[k].metric;
      model(
          constraints_[k], [&](const Evaluation& e) { return metric < 0 ? e.cost : e.metrics(metric); }, metric < 0,
          true, evidence.constraints[k].limit);
    }
  } else {
    for (TrackedModel& t : objectives_) t.clear();
    for (TrackedModel& t : constraints_) t.clear();
  }
  const std::size_t first = told.size() > most_viable ? told.size() - most_viable : 0;
  MatrixXd x(space.embedded(), static_cast<Index>(told.size() - first));
  std::vector<bool> viable;
  for (std::size_t i = first; i < told.size(); ++i) {
    x.col(static_cast<Index>(i - first)) = space.embed(evidence.unit(told[i]));
    viable.push_back(evidence.telling(told[i]));
  }
  viability_.emplace(x, viable);
}

Beliefs::Beliefs(const Evidence& evidence, const Models& models, const BeliefOptions& options)
    : evidence_(evidence), models_(models), options_(options), edge_(evidence) {
  if (models.objectives()[0].empty()) return;
  if (evidence.noisy()) {  // the variance of one more sample
    double sum = 0;
    int n = 0;
    for (const Evaluation& e : evidence.told)
      if (evidence.usable(e)) sum += e.cost_stderr * e.cost_stderr, ++n;
    noise_variance_ = models.objectives()[0].model().noise_variance() + sum / std::max(n, 1);
  }
  for (const TrackedModel& tracked : models.objectives()) fantasies_.push_back(with_pending(tracked));
  compare();
}

// A design that failed will not improve: imputed, so that the doubt about a cost that cannot be had attracts no more.
Kriging Beliefs::with_failures(Kriging model) const {
  int imputed = 0;
  for (auto e = evidence_.told.rbegin(); e != evidence_.told.rend() && imputed < most_imputed; ++e) {
    if (evidence_.telling(*e)) continue;
    const VectorXd z = evidence_.space.embed(evidence_.unit(*e));
    const Prediction p = model.predict(z);
    model = model.grown(z, p.mean + std::sqrt(p.variance));
    ++imputed;
  }
  return model;
}

// At the pending designs the model believes its own mean (kriging believer).
Kriging Beliefs::with_pending(const TrackedModel& tracked) const {
  Kriging model = with_failures(options_.longest > 0 ? tracked.doubting(options_.longest) : tracked.model());
  for (const VectorXd& x : evidence_.pending) {
    const VectorXd z = evidence_.space.embed(evidence_.space.unit(x));
    model = model.grown(z, model.predict(z).mean, {}, noise_variance_);
  }
  return model;
}

// What the acquisition compares with: the best, or with noise the least of the predictions at the samples plus one
// standard deviation; with two objectives the front.
void Beliefs::compare() {
  const Warp& warp = models_.objectives()[0].warp();
  if (fantasies_.size() > 1) {
    std::vector<VectorXd> points;
    for (const Evaluation& e : evidence_.told)
      if (evidence_.feasible(e)) {
        VectorXd point = evidence_.outcome(e);
        for (std::size_t k = 0; k < fantasies_.size(); ++k)
          point(static_cast<Index>(k)) = models_.objectives()[k].warp().forward(point(static_cast<Index>(k)));
        points.push_back(point);
      }
    any_feasible_ = !points.empty();
    front_ = Front::of(points);
    return;
  }
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t i = evidence_.from; i < evidence_.told.size(); ++i) {
    const Evaluation& e = evidence_.told[i];
    if (!evidence_.feasible(e)) continue;
    any_feasible_ = true;
    if (!evidence_.noisy()) {
      least = std::min(least, warp.forward(evidence_.objective(e, 0)));
    } else if (!evidence_.telling(e)) {  // on the plateau
      least = std::min(least, warp.forward(evidence_.plateau->cost));
    } else {
      const Prediction p = fantasies_[0].predict(evidence_.space.embed(evidence_.unit(e)));
      least = std::min(least, p.mean + std::sqrt(p.variance));
    }
  }
  if (!evidence_.noisy())
    for (const VectorXd& x : evidence_.pending)
      least = std::min(least, fantasies_[0].predict(evidence_.space.embed(evidence_.space.unit(x))).mean);
  incumbent_ = options_.incumbent ? *options_.incumbent : least - options_.margin;
}

double Beliefs::log_gain(const VectorXd& z, VectorXd& dz) const {
  if (!any_feasible_) return 0;
  if (fantasies_.size() > 1) {
    std::vector<Prediction> predicted;
    for (const Kriging& fantasy : fantasies_) predicted.push_back(fantasy.predict(z));
    return log_expected_gain(front_, predicted, &dz);
  }
  const Prediction p = fantasies_[0].predict(z);
  const Acquisition a = log_augmented_expected_improvement(p.mean, p.variance, incumbent_, noise_variance_);
  dz += a.by_mean * p.mean_gradient + a.by_variance * p.variance_gradient;
  return a.value;
}

double Beliefs::log_kept(std::size_t k, const VectorXd& z, VectorXd& dz) const {
  if (models_.constraints()[k].empty()) return 0;
  const Constraint& c = evidence_.constraints[k];
  const Prediction p = models_.constraints()[k].model().predict(z);
  const double limit = models_.constraints()[k].warp().forward(c.limit), sign = c.below ? 1 : -1;
  const Acquisition a = log_probability_below(sign * p.mean, p.variance, sign * limit);
  dz += sign * a.by_mean * p.mean_gradient + a.by_variance * p.variance_gradient;
  return a.value;
}

double Beliefs::score(const VectorXd& u, VectorXd* gradient) const {
  const VectorXd z = evidence_.space.embed(u);
  VectorXd dz = VectorXd::Zero(z.size());
  double value = log_gain(z, dz);
  for (std::size_t k = 0; k < evidence_.constraints.size(); ++k) value += log_kept(k, z, dz);
  if (!models_.viability().certain()) {
    VectorXd slope;
    value += options_.care * models_.viability().log_probability(z, &slope);
    dz += options_.care * slope;
    value += distrust * edge_.beyond(z, distrust, &dz);
  }
  if (gradient) *gradient = evidence_.space.pull_back(dz);
  return std::isfinite(value) ? value : -1e300;
}

std::vector<std::string> Beliefs::parts(const Evidence& evidence) {
  std::vector<std::string> names;
  for (std::size_t k = 0; k < evidence.objectives.size(); ++k)
    for (const char* what : {"mean", "deviation"}) names.push_back(what + evidence.label_of_objective(k));
  names.push_back("log_gain");
  for (const Constraint& c : evidence.constraints) names.push_back("log_probability_" + c.label());
  names.insert(names.end(), {"log_probability_to_evaluate", "log_distrust"});
  return names;
}

VectorXd Beliefs::parts_of_score(const VectorXd& u) const {
  const VectorXd z = evidence_.space.embed(u);
  VectorXd dz = VectorXd::Zero(z.size());
  std::vector<double> parts;
  for (const Kriging& fantasy : fantasies_) {
    const Prediction p = fantasy.predict(z);
    parts.insert(parts.end(), {p.mean, std::sqrt(std::max(p.variance, 0.0))});
  }
  parts.push_back(log_gain(z, dz));
  for (std::size_t k = 0; k < evidence_.constraints.size(); ++k) parts.push_back(log_kept(k, z, dz));
  const bool certain = models_.viability().certain();
  parts.insert(parts.end(), {certain ? 0 : options_.care * models_.viability().log_probability(z),
                             certain ? 0 : distrust * edge_.beyond(z)});
  return Eigen::Map<VectorXd>(parts.data(), static_cast<Index>(parts.size()));
}

VectorXd Beliefs::scores(const MatrixXd& units) const {
  VectorXd out = VectorXd::Zero(units.cols());
  if (!any_feasible_ || fantasies_.size() > 1) {
    for (Index i = 0; i < units.cols(); ++i) out(i) = score(units.col(i), nullptr);
    return out;
  }
  MatrixXd z(evidence_.space.embedded(), units.cols());
  for (Index i = 0; i < units.cols(); ++i) z.col(i) = evidence_.space.embed(units.col(i));
  VectorXd mean, variance;
  fantasies_[0].predict(z, mean, variance);
  for (Index i = 0; i < units.cols(); ++i)
    out(i) = log_augmented_expected_improvement(mean(i), variance(i), incumbent_, noise_variance_).value;
  for (std::size_t k = 0; k < evidence_.constraints.size(); ++k) {
    const Constraint& c = evidence_.constraints[k];
    models_.constraints()[k].model().predict(z, mean, variance);
    const double sign = c.below ? 1 : -1, limit = models_.constraints()[k].warp().forward(c.limit);
    for (Index i = 0; i < units.cols(); ++i)
      out(i) += log_probability_below(sign * mean(i), variance(i), sign * limit).value;
  }
  if (!models_.viability().certain())
    for (Index i = 0; i < units.cols(); ++i)
      out(i) += options_.care * models_.viability().log_probability(z.col(i)) + distrust * edge_.beyond(z.col(i));
  return out;
}

}  // namespace dodyn::surrogate
