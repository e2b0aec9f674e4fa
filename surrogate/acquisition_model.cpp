#include "surrogate/acquisition_model.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "surrogate/acquisition.hpp"
#include "surrogate/archive_model.hpp"

namespace dodyn::surrogate {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

namespace {

constexpr int most_imputed = 100;  // number of failed designs that get imputed costs
constexpr double distrust = 2;     // exponent on the ratio of distances, for points nearer to failures than to usable
                                   // designs
constexpr std::size_t most_viable =
    400;  // number of latest designs from which the success classifier learns; it limits the classifier's cost

// Number of evaluations of a cheaper study in the models. Each prediction needs the square of this number of
// operations.
constexpr Index most_of_low_fidelity = 200;

}  // namespace

const Evaluation* Models::set_low_fidelity(const ObservedData& low,
                                           const std::function<bool(const VectorXd& unit)>& possible) {
  const auto base = [&](IncrementalKriging& tracked, int metric) {
    // with a nugget: costs of cheaper studies scatter because of few initial guesses, coarse meshes or loose tolerances
    const IncrementalKriging model = ArchiveModel(low, metric, most_of_low_fidelity, true).model();
    tracked.set_low_fidelity({std::make_shared<const Kriging>(model.model()), model.warp()});
    return model;
  };
  for (std::size_t k = 0; k < constraints_.size(); ++k) base(constraints_[k], low.constraints[k].metric);
  for (std::size_t k = objectives_.size(); k-- > 1;) base(objectives_[k], low.objectives[k]);
  const IncrementalKriging first = base(objectives_[0], low.objectives[0]);
  const Evaluation* best = nullptr;
  double least = std::numeric_limits<double>::infinity();
  for (const Evaluation& e : low.evaluations) {
    if (!low.feasible(e) || !possible(low.unit(e))) continue;
    const double predicted = first.model().predict(low.space.embed(low.unit(e))).mean;
    if (predicted < least) least = predicted, best = &e;
  }
  return best;
}

void Models::update(const ObservedData& observed, const KrigingOptions& options, bool gradient) {
  const DesignSpace& space = observed.space;
  const std::vector<Evaluation>& evaluations = observed.evaluations;

  std::vector<const Evaluation*> good;
  std::vector<std::size_t> modelled;
  for (std::size_t i = observed.from; i < evaluations.size(); ++i)
    if (observed.is_informative(evaluations[i])) good.push_back(&evaluations[i]), modelled.push_back(i);
  // A new plateau removes samples. Then the models are fitted again, without the last hyperparameters.
  const bool restart =
      modelled.size() < modelled_.size() || !std::equal(modelled_.begin(), modelled_.end(), modelled.begin());
  modelled_ = modelled;
  const Index n = good.size();
  if (n > 0) {
    Samples s;
    s.x.resize(space.embedded(), n);
    for (Index i = 0; i < n; ++i) s.x.col(i) = space.embed(observed.unit(*good[i]));
    const auto model = [&](IncrementalKriging& tracked, auto&& value, bool of_cost, bool warps,
                           std::optional<double> limit = {}) {
      Samples own = s;
      own.y.resize(n);
      for (Index i = 0; i < n; ++i) own.y(i) = value(*good[i]);
      if (of_cost && gradient) {
        own.gradient.resize(space.embedded(), n);
        for (Index i = 0; i < n; ++i) {
          const VectorXd slope = observed.slope(*good[i]);
          own.gradient.col(i) = slope.size() > 0 ? slope : VectorXd::Constant(space.embedded(), not_a_number);
        }
      }
      if (of_cost && observed.noisy()) ObservedData::add_errors(good, own), covariance_ = own.covariance;
      tracked.update(own, options, warps && !observed.noisy(), restart, limit);
    };
    const bool single = observed.objectives.size() == 1;
    for (std::size_t k = 0; k < objectives_.size(); ++k)
      model(
          objectives_[k], [&](const Evaluation& e) { return observed.objective(e, k); }, observed.objectives[k] < 0,
          single);
    for (std::size_t k = 0; k < constraints_.size(); ++k) {
      const int metric = observed.constraints[k].metric;
      model(
          constraints_[k], [&](const Evaluation& e) { return metric < 0 ? e.cost : e.metrics(metric); }, metric < 0,
          true, observed.constraints[k].limit);
    }
  } else {
    for (IncrementalKriging& t : objectives_) t.clear();
    for (IncrementalKriging& t : constraints_) t.clear();
  }
  const std::size_t first = evaluations.size() > most_viable ? evaluations.size() - most_viable : 0;
  MatrixXd x(space.embedded(), evaluations.size() - first);
  std::vector<bool> viable;
  for (std::size_t i = first; i < evaluations.size(); ++i) {
    x.col(i - first) = space.embed(observed.unit(evaluations[i]));
    viable.push_back(observed.is_informative(evaluations[i]));
  }
  success_.emplace(x, viable);
}

VectorXd Models::log_feasible(const ObservedData& observed, const MatrixXd& z) const {
  VectorXd out = VectorXd::Zero(z.cols()), mean, variance;
  for (std::size_t k = 0; k < observed.constraints.size(); ++k) {
    const IncrementalKriging& tracked = constraints_[k];
    if (tracked.empty()) continue;
    const Constraint& c = observed.constraints[k];
    tracked.model().predict(z, mean, variance);
    const double sign = c.below ? 1 : -1, limit = tracked.warp().forward(c.limit);
    for (Index i = 0; i < z.cols(); ++i)
      out(i) += log_probability_below(sign * mean(i), variance(i), sign * limit).value;
  }
  return out;
}

const Evaluation* Models::recommended(const ObservedData& observed) const {
  const Evaluation* found = nullptr;
  double least = std::numeric_limits<double>::infinity();
  for (const Evaluation& e : observed.evaluations) {
    if (objectives_[0].empty() || !observed.feasible(e)) continue;
    const double predicted = observed.is_informative(e)
                                 ? objectives_[0].model().predict(observed.space.embed(observed.unit(e))).mean
                                 : observed.plateau->cost;
    if (predicted < least) least = predicted, found = &e;
  }
  return found;
}

double Models::difference_variance(const ObservedData& observed, const Evaluation& from) const {
  double sum = 0;
  int count = 0;
  for (std::size_t i = 0; i < modelled_.size() && covariance_.size() > 0; ++i) {
    if (&observed.evaluations[modelled_[i]] != &from) continue;
    for (std::size_t j = 0; j < modelled_.size(); ++j) {
      const Evaluation& other = observed.evaluations[modelled_[j]];
      if (other.design == from.design || other.seed != from.seed) continue;
      const auto a = static_cast<Index>(i), b = static_cast<Index>(j);
      sum += covariance_(a, a) + covariance_(b, b) - 2 * covariance_(a, b);
      ++count;
    }
  }
  return count > 0 ? sum / count : not_a_number;
}

AcquisitionModel::AcquisitionModel(const ObservedData& observed, const Models& models,
                                   const AcquisitionModelOptions& options)
    : observed_(observed), models_(models), options_(options), edge_(observed) {
  if (models.objectives()[0].empty()) return;
  if (observed.noisy()) {  // the variance of one more sample at a design
    double sum = 0;
    int n = 0;
    for (const Evaluation& e : observed.evaluations)
      if (observed.usable(e)) sum += e.cost_stderr * e.cost_stderr, ++n;
    noise_variance_ = models.objectives()[0].model().noise_variance() + sum / std::max(n, 1);
    if (const Evaluation* const best = observed.costs_paired ? models.recommended(observed) : nullptr)
      if (const double of_difference = models.difference_variance(observed, *best); !std::isnan(of_difference))
        noise_variance_ = of_difference;
  }
  for (const IncrementalKriging& tracked : models.objectives()) fantasies_.push_back(with_pending(tracked));
  compare();
}

// Imputes costs for failed designs. Without them, the model is uncertain in failing regions, and the acquisition would
// choose further designs there.
Kriging AcquisitionModel::with_failures(Kriging model) const {
  int imputed = 0;
  for (auto e = observed_.evaluations.rbegin(); e != observed_.evaluations.rend() && imputed < most_imputed; ++e) {
    if (observed_.is_informative(*e)) continue;
    const VectorXd z = observed_.space.embed(observed_.unit(*e));
    const Prediction p = model.predict(z);
    model = model.grown(z, p.mean + std::sqrt(p.variance));
    ++imputed;
  }
  return model;
}

// Adds the pending designs with the model's mean as their cost (kriging believer).
Kriging AcquisitionModel::with_pending(const IncrementalKriging& tracked) const {
  Kriging model = with_failures(options_.longest > 0 ? tracked.with_max_length(options_.longest) : tracked.model());
  for (const VectorXd& x : observed_.pending) {
    const VectorXd z = observed_.space.embed(observed_.space.unit(x));
    model = model.grown(z, model.predict(z).mean, {}, noise_variance_);
  }
  return model;
}

// Sets the reference of the acquisition: the best cost. With noise: the minimum over the samples of the predicted mean
// plus one standard deviation. With paired costs: the predicted mean at the recommended design, and the model is
// conditioned on it. Then uncertainty that all designs share does not affect the acquisition. With several objectives:
// the front.
void AcquisitionModel::compare() {
  const Warp& warp = models_.objectives()[0].warp();
  if (fantasies_.size() > 1) {
    std::vector<VectorXd> points, all;
    for (const Evaluation& e : observed_.evaluations) {
      if (!observed_.usable(e)) continue;
      VectorXd point = observed_.outcome(e);
      for (std::size_t k = 0; k < fantasies_.size(); ++k) point(k) = models_.objectives()[k].warp().forward(point(k));
      all.push_back(point);
      if (observed_.feasible(e)) points.push_back(point);
    }
    any_feasible_ = !points.empty();
    front_ = Front::of(points);
    // A design beyond the reference point gains nothing. If the reference point followed from few feasible designs, the
    // front would grow by 10 % of their ranges at a time. So all usable designs count.
    if (any_feasible_) front_.reference = Front::of(all).reference;
    return;
  }
  double least = std::numeric_limits<double>::infinity();
  if (const Evaluation* const best = observed_.costs_paired ? models_.recommended(observed_) : nullptr) {
    any_feasible_ = true;
    const VectorXd z = observed_.space.embed(observed_.unit(*best));
    least = fantasies_[0].predict(z).mean;
    fantasies_[0] = fantasies_[0].grown(z, least);
    incumbent_ = options_.incumbent ? *options_.incumbent : least - options_.margin;
    return;
  }
  for (std::size_t i = observed_.from; i < observed_.evaluations.size(); ++i) {
    const Evaluation& e = observed_.evaluations[i];
    if (!observed_.feasible(e)) continue;
    any_feasible_ = true;
    if (!observed_.noisy()) {
      least = std::min(least, warp.forward(observed_.objective(e, 0)));
    } else if (!observed_.is_informative(e)) {  // on the plateau
      least = std::min(least, warp.forward(observed_.plateau->cost));
    } else {
      const Prediction p = fantasies_[0].predict(observed_.space.embed(observed_.unit(e)));
      least = std::min(least, p.mean + std::sqrt(p.variance));
    }
  }
  if (!observed_.noisy())
    for (const VectorXd& x : observed_.pending)
      least = std::min(least, fantasies_[0].predict(observed_.space.embed(observed_.space.unit(x))).mean);
  incumbent_ = options_.incumbent ? *options_.incumbent : least - options_.margin;
}

double AcquisitionModel::log_gain(const VectorXd& z, VectorXd& dz) const {
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

double AcquisitionModel::log_feasible(std::size_t k, const VectorXd& z, VectorXd& dz) const {
  if (models_.constraints()[k].empty()) return 0;
  const Constraint& c = observed_.constraints[k];
  const Prediction p = models_.constraints()[k].model().predict(z);
  const double limit = models_.constraints()[k].warp().forward(c.limit), sign = c.below ? 1 : -1;
  const Acquisition a = log_probability_below(sign * p.mean, p.variance, sign * limit);
  dz += sign * a.by_mean * p.mean_gradient + a.by_variance * p.variance_gradient;
  return a.value;
}

double AcquisitionModel::score(const VectorXd& u, VectorXd* gradient) const {
  const VectorXd z = observed_.space.embed(u);
  VectorXd dz = VectorXd::Zero(z.size());
  double value = log_gain(z, dz);
  for (std::size_t k = 0; k < observed_.constraints.size(); ++k) value += log_feasible(k, z, dz);
  if (!models_.success().has_no_failures()) {
    VectorXd slope;
    value += options_.success_power * models_.success().log_probability(z, &slope);
    dz += options_.success_power * slope;
    value += distrust * edge_.beyond(z, distrust, &dz);
  }
  if (gradient) *gradient = observed_.space.pull_back(dz);
  return std::isfinite(value) ? value : -1e300;
}

std::vector<std::string> AcquisitionModel::parts(const ObservedData& observed) {
  std::vector<std::string> names;
  for (std::size_t k = 0; k < observed.objectives.size(); ++k)
    for (const char* what : {"mean", "deviation"}) names.push_back(what + observed.label_of_objective(k));
  names.push_back("log_gain");
  for (const Constraint& c : observed.constraints) names.push_back("log_probability_" + c.label());
  names.insert(names.end(), {"log_probability_to_evaluate", "log_distrust"});
  return names;
}

VectorXd AcquisitionModel::parts_of_score(const VectorXd& u) const {
  const VectorXd z = observed_.space.embed(u);
  VectorXd dz = VectorXd::Zero(z.size());
  std::vector<double> parts;
  for (const Kriging& fantasy : fantasies_) {
    const Prediction p = fantasy.predict(z);
    parts.insert(parts.end(), {p.mean, std::sqrt(std::max(p.variance, 0.0))});
  }
  parts.push_back(log_gain(z, dz));
  for (std::size_t k = 0; k < observed_.constraints.size(); ++k) parts.push_back(log_feasible(k, z, dz));
  const bool has_no_failures = models_.success().has_no_failures();
  parts.insert(parts.end(), {has_no_failures ? 0 : options_.success_power * models_.success().log_probability(z),
                             has_no_failures ? 0 : distrust * edge_.beyond(z)});
  return Eigen::Map<VectorXd>(parts.data(), parts.size());
}

VectorXd AcquisitionModel::scores(const MatrixXd& units) const {
  VectorXd out = VectorXd::Zero(units.cols());
  if (!any_feasible_ || fantasies_.size() > 1) {
    for (Index i = 0; i < units.cols(); ++i) out(i) = score(units.col(i), nullptr);
    return out;
  }
  MatrixXd z(observed_.space.embedded(), units.cols());
  for (Index i = 0; i < units.cols(); ++i) z.col(i) = observed_.space.embed(units.col(i));
  VectorXd mean, variance;
  fantasies_[0].predict(z, mean, variance);
  for (Index i = 0; i < units.cols(); ++i)
    out(i) = log_augmented_expected_improvement(mean(i), variance(i), incumbent_, noise_variance_).value;
  out += models_.log_feasible(observed_, z);
  if (!models_.success().has_no_failures())
    for (Index i = 0; i < units.cols(); ++i)
      out(i) +=
          options_.success_power * models_.success().log_probability(z.col(i)) + distrust * edge_.beyond(z.col(i));
  return out;
}

}  // namespace dodyn::surrogate
