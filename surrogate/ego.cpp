#include "surrogate/ego.hpp"

#include <algorithm>
#include <cmath>
#include <deque>
#include <limits>
#include <nlopt.hpp>
#include <numeric>
#include <optional>
#include <sstream>
#include <stdexcept>

#include "surrogate/acquisition.hpp"
#include "surrogate/random.hpp"
#include "surrogate/sampling.hpp"
#include "surrogate/viability.hpp"
#include "surrogate/warp.hpp"

namespace dodyn::surrogate {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double same_design = 1e-7;      // of the range
constexpr double apart = 5e-3;            // the same, where costs are lumpy but repeat
constexpr Index likelihood_rows = 400;    // rows of a model whose hyperparameters are fitted; beyond: of a part
constexpr double longest_in_doubt = 0.5;  // length of the model, of the range, when looking away from the best
constexpr int most_imputed = 100;         // failed designs
constexpr Index niche_variables = 4;      // from here on other basins are looked into
constexpr double niche_radius = 0.15;     // without a better sample, of the diagonal of the range
constexpr double niche_side = 0.2;        // half of the box about the best of a basin, of the range
constexpr int niche_patience = 8;         // designs in a row without a gain there
constexpr Index most_rows = 1500;         // beyond: gradients of the costliest samples are left out

std::string text(double value, int digits = 4) {
  std::ostringstream out;
  out.precision(digits);
  out << value;
  return out.str();
}

// A kriging model of one quantity that grows with the samples and refits its hyperparameters now and then.
class Tracked {
 public:
  // `samples` must begin with those of the last call unless `restart`.
  void update(const Samples& samples, const KrigingOptions& options, bool warps, bool restart);
  const Kriging& model() const { return *model_; }
  // The model with no length above `longest`: one that trusts its extrapolation less.
  Kriging doubting(double longest) const {
    Hyperparameters h = model_->hyperparameters();
    h.log_length = h.log_length.cwiseMin(std::log(longest));
    return Kriging::with(warped(seen_, warp_), options_, h);
  }
  const Warp& warp() const { return warp_; }
  bool empty() const { return !model_; }
  void clear() { model_.reset(), fitted_ = 0; }

 private:
  Samples warped(const Samples& samples, const Warp& warp) const;
  static Samples part(const Samples& samples);
  static Index rows(const Samples& s) {
    Index rows = s.size();
    for (Index i = 0; i < s.gradient.cols(); ++i) rows += s.gradient.col(i).allFinite() ? s.gradient.rows() : 0;
    return rows;
  }

  std::optional<Kriging> model_;
  Samples seen_;
  KrigingOptions options_;
  Warp warp_;
  int decades_ = 0;                  // width of the warp: spread of the costs / 10^(decades - 1); 0: none
  Index fitted_ = 0, in_model_ = 0;  // samples at the last fit, and now
};

Samples Tracked::warped(const Samples& samples, const Warp& warp) const {
  Samples s = samples;
  for (Index i = 0; i < s.size(); ++i) {
    const double slope = warp.slope(samples.y(i));
    s.y(i) = warp.forward(samples.y(i));
    if (s.gradient.size() > 0) s.gradient.col(i) *= slope;
    if (s.variance.size() > 0) s.variance(i) *= slope * slope;
  }
  return s;
}

// The best half and every k-th of the others, so that the rows stay within the limit.
Samples Tracked::part(const Samples& s) {
  const Index most = std::max<Index>(likelihood_rows * s.size() / rows(s), 2);
  if (s.size() <= most) return s;
  std::vector<Index> order(s.size());
  std::iota(order.begin(), order.end(), Index(0));
  std::stable_sort(order.begin(), order.end(), [&](Index a, Index b) { return s.y(a) < s.y(b); });
  std::vector<Index> chosen(order.begin(), order.begin() + most / 2);
  const Index rest = s.size() - most / 2, wanted = most - most / 2;
  for (Index i = 0; i < wanted; ++i) chosen.push_back(order[most / 2 + i * rest / wanted]);
  Samples out;
  out.x = s.x(Eigen::all, chosen);
  out.y = s.y(chosen);
  if (s.gradient.size() > 0) out.gradient = s.gradient(Eigen::all, chosen);
  if (s.variance.size() > 0) out.variance = s.variance(chosen);
  return out;
}

void Tracked::update(const Samples& samples, const KrigingOptions& options, bool warps, bool restart) {
  const Index n = samples.size();
  if (restart) model_.reset();
  if (model_ && n == in_model_) return;
  seen_ = samples;
  options_ = options;
  const bool refit = !model_ || n < 25 || n >= fitted_ + std::max<Index>(fitted_ / 10, 3);
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
  if (rows(all) > most_rows && all.gradient.size() > 0) {  // memory and time of O(rows^2): the costliest go without
    std::vector<Index> order(n);
    std::iota(order.begin(), order.end(), Index(0));
    std::stable_sort(order.begin(), order.end(), [&](Index a, Index b) { return all.y(a) > all.y(b); });
    for (const Index i : order) {
      if (rows(all) <= most_rows) break;
      all.gradient.col(i).setConstant(not_a_number);
    }
  }
  const Samples few = part(all);

  VectorXd sorted = few.y;
  std::sort(sorted.begin(), sorted.end());
  const double least = sorted(0), middle = sorted(sorted.size() / 2) - least;
  const auto warp_of = [&](int decades) {
    Warp w{least, infinity};
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
  double best_likelihood = -infinity;
  int best_decades = 0;
  for (const int decades : candidates) {
    const Warp w = warp_of(decades);
    KrigingOptions o = options;
    if (n > 60)
      o.starts = 1;
    else if (decades != decades_)
      o.starts = 2;
    const Hyperparameters* const before = model_ ? &model_->hyperparameters() : nullptr;
    Kriging model = Kriging::fit(warped(few, w), o, before);
    double likelihood = model.hyperparameters().likelihood;  // of the costs themselves: times the slope of each row
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

// What to do next.
struct Plan {
  VectorXd design;  // the variables' units
  double score = -infinity;
  double predicted = not_a_number, deviation = not_a_number;  // cost units
  std::string note, stopped;
};

class Ego final : public Strategy {
 public:
  Ego(const std::vector<Variable>& variables, const EgoOptions& options);

  std::vector<VectorXd> ask(int at_most) override;
  void tell(const Evaluation& evaluation) override;
  std::string stopped() const override;
  std::string reason() const override { return options_.reason; }
  std::vector<std::string> numbers() const override;
  Iteration describe(int grid_points) const override;

 private:
  Index dimensions() const { return static_cast<Index>(variables_.size()); }
  bool real(Index i) const { return options_.domains.empty() || options_.domains[i] == Domain::real; }
  bool all_real() const {
    for (Index i = 0; i < dimensions(); ++i)
      if (!real(i)) return false;
    return true;
  }
  VectorXd unit(const VectorXd& design) const;
  VectorXd design(const VectorXd& unit) const;  // whole numbers rounded
  VectorXd embed(const VectorXd& unit) const;   // as the models see it
  double objective(const Evaluation& e, std::size_t which) const;
  bool feasible(const Evaluation& e) const;
  bool usable(const Evaluation& e) const;
  bool noisy() const;
  const Evaluation* best() const;
  void start_initial();
  void update_models() const;
  void believe_pending() const;
  bool settling() const;
  void look_elsewhere();
  bool in_niche(const VectorXd& design) const {
    return (unit(design) - unit(told_[niche_].design)).cwiseAbs().maxCoeff() <= niche_side + same_design;
  }
  double margin() const;
  double quantile(double part, const Warp& warp) const;
  double score(const VectorXd& unit, VectorXd* gradient) const;
  VectorXd scores(const MatrixXd& units) const;
  Plan maximise() const;
  const Plan& plan() const;
  bool tried(const VectorXd& unit, double within) const;
  std::string say_best() const;

  std::vector<Variable> variables_;
  EgoOptions options_;
  VectorXd lower_, range_;
  Index embedded_ = 0;

  std::deque<VectorXd> initial_;  // not yet asked
  std::size_t initial_total_ = 0;
  std::vector<Evaluation> told_;
  std::vector<VectorXd> pending_;  // asked, not told
  VectorXd last_asked_;
  std::uint64_t asked_ = 0;

  // Trust region.
  double side_ = 0.8;
  int successes_ = 0, failures_ = 0, restarts_ = 0;
  std::size_t region_from_ = 0;  // told_ of this region begin there
  VectorXd region_lower_, region_upper_;

  // Another basin than that of the best.
  std::ptrdiff_t niche_ = -1;   // its best in told_; -1: none
  int stalled_ = 0;             // designs there without a gain
  std::vector<VectorXd> left_;  // minima of those done with, in the unit cube

  // Models, brought up to date when needed.
  mutable std::size_t modelled_ = 0, modelled_from_ = 0;
  mutable bool stale_ = true;
  mutable std::vector<Tracked> objectives_, constraints_;
  mutable std::optional<Viability> viability_;
  mutable std::vector<std::vector<Kriging>> fantasies_;  // per objective: with the pending designs; several for joint
  mutable std::vector<double> incumbent_;                // per fantasy, as the model sees costs
  mutable double noise_variance_ = 0;
  mutable MatrixXd front_;  // 2 x m, first ascending, second descending, and the reference point last
  mutable bool any_feasible_ = false;
  mutable VectorXd box_lower_, box_upper_;
  mutable std::optional<Plan> plan_;
};

Ego::Ego(const std::vector<Variable>& variables, const EgoOptions& options) : variables_(variables), options_(options) {
  const Index d = dimensions();
  lower_.resize(d);
  range_.resize(d);
  for (Index i = 0; i < d; ++i) {
    Variable& v = variables_[i];
    if (!real(i)) v.lower = std::ceil(v.lower), v.upper = std::floor(v.upper);
    lower_(i) = v.lower;
    range_(i) = v.upper - v.lower;
    embedded_ += !real(i) && options_.domains[i] == Domain::category ? static_cast<Index>(range_(i)) + 1 : 1;
  }
  if (!all_real()) options_.gradient = false;
  objectives_.resize(options_.objectives.empty() ? 1 : options_.objectives.size());
  constraints_.resize(options_.constraints.size());
  region_lower_ = VectorXd::Zero(d);
  region_upper_ = VectorXd::Ones(d);
  const Evaluation* least = nullptr;
  for (const Evaluation& e : options_.known)
    if (feasible(e) && (!least || objective(e, 0) < objective(*least, 0))) least = &e;
  if (least) initial_.push_back(least->design);
  for (Index i = 0; i < options_.given.cols(); ++i) initial_.push_back(options_.given.col(i));
  for (const Evaluation& e : options_.known) {
    if (&e == least) continue;
    told_.push_back(e);
    told_.back().id = -1;
    if (std::isnan(e.cost_stderr)) told_.back().cost_stderr = 0;
  }
  start_initial();
}

void Ego::start_initial() {
  const int d = static_cast<int>(dimensions());
  int n = options_.initial_samples > 0 ? options_.initial_samples : default_initial_samples(d, options_.gradient);
  if (restarts_ == 0)
    for (const Evaluation& e : options_.known) n -= n > 0 && usable(e);
  const std::uint64_t seed = options_.seed + 7919ULL * static_cast<std::uint64_t>(restarts_);
  MatrixXd x;
  if (n > 0) switch (options_.initial_design) {
      case InitialDesign::latin_hypercube:
        x = latin_hypercube(d, n, seed);
        break;
      case InitialDesign::sobol:
        x = sobol(d, n, seed);
        break;
      case InitialDesign::halton:
        x = halton(d, n, seed);
        break;
      case InitialDesign::corners:
        x = corners(d);
        break;
    }
  std::vector<VectorXd> added;
  for (Index i = 0; i < x.cols(); ++i) {
    const VectorXd next = design(x.col(i));
    const bool repeated =
        !all_real() && std::any_of(added.begin(), added.end(), [&](const auto& a) { return a == next; });
    if (repeated) continue;
    added.push_back(next);
    initial_.push_back(next);
  }
  initial_total_ = initial_.size() + (restarts_ == 0 ? told_.size() : 0);
}

VectorXd Ego::unit(const VectorXd& x) const {
  return (x - lower_).cwiseQuotient(range_.cwiseMax(1e-300)).cwiseMax(0).cwiseMin(1);
}

VectorXd Ego::design(const VectorXd& u) const {
  VectorXd x(u.size());
  for (Index i = 0; i < u.size(); ++i) {
    x(i) = u(i) >= 1 ? variables_[i].upper
                     : std::clamp(lower_(i) + u(i) * range_(i), variables_[i].lower, variables_[i].upper);
    if (!real(i)) x(i) = std::round(x(i));
  }
  return x;
}

VectorXd Ego::embed(const VectorXd& u) const {
  if (all_real()) return u;
  VectorXd z = VectorXd::Zero(embedded_);
  Index k = 0;
  for (Index i = 0; i < u.size(); ++i) {
    if (real(i)) {
      z(k++) = u(i);
    } else if (options_.domains[i] == Domain::integer) {
      z(k++) = range_(i) > 0 ? std::round(u(i) * range_(i)) / range_(i) : 0;
    } else {
      z(k + static_cast<Index>(std::round(u(i) * range_(i)))) = 1;
      k += static_cast<Index>(range_(i)) + 1;
    }
  }
  return z;
}

double Ego::objective(const Evaluation& e, std::size_t which) const {
  const int metric = options_.objectives.empty() ? -1 : options_.objectives[which];
  if (metric < 0) return e.cost;
  return metric < e.metrics.size() ? e.metrics(metric) : not_a_number;
}

bool Ego::usable(const Evaluation& e) const {
  if (!e.ok()) return false;
  for (std::size_t i = 0; i < objectives_.size(); ++i)
    if (!(std::abs(objective(e, i)) <= Kriging::most_magnitude)) return false;
  for (const Constraint& c : options_.constraints)
    if (c.metric >= e.metrics.size() || (c.metric >= 0 && !(std::abs(e.metrics(c.metric)) <= Kriging::most_magnitude)))
      return false;
  return true;
}

bool Ego::feasible(const Evaluation& e) const {
  return usable(e) && std::all_of(options_.constraints.begin(), options_.constraints.end(),
                                  [&](const Constraint& c) { return c.kept(e); });
}

bool Ego::noisy() const {
  return options_.noise ||
         std::any_of(told_.begin(), told_.end(), [&](const auto& e) { return usable(e) && e.cost_stderr > 0; });
}

const Evaluation* Ego::best() const {
  const Evaluation* found = nullptr;
  for (const Evaluation& e : told_)
    if (feasible(e) && (!found || objective(e, 0) < objective(*found, 0))) found = &e;
  return found;
}

bool Ego::tried(const VectorXd& u, double within) const {
  const auto close = [&](const VectorXd& x) { return (unit(x) - u).cwiseAbs().maxCoeff() < within; };
  return std::any_of(told_.begin(), told_.end(), [&](const auto& e) { return close(e.design); }) ||
         std::any_of(pending_.begin(), pending_.end(), close);
}

void Ego::tell(const Evaluation& e) {
  if (e.design.size() != dimensions()) throw std::invalid_argument("ego: told a design of another number of variables");
  const Evaluation* const before = best();
  const double best_before = before ? objective(*before, 0) : infinity;
  const auto same = [&](const VectorXd& x) { return x == e.design; };
  if (const auto at = std::find_if(pending_.begin(), pending_.end(), same); at != pending_.end()) {
    pending_.erase(at);
  } else if (const auto first = std::find_if(initial_.begin(), initial_.end(), same); first != initial_.end()) {
    initial_.erase(first);  // told without having been asked: a replay
  }
  const bool was_initial = told_.size() < initial_total_ + region_from_;
  told_.push_back(e);
  if (std::isnan(e.cost_stderr)) told_.back().cost_stderr = 0;
  stale_ = true;
  plan_.reset();
  if (was_initial) return;
  look_elsewhere();
  if (!options_.trust_region) return;

  const bool success = feasible(e) && objective(e, 0) < best_before - 1e-3 * std::abs(best_before);
  successes_ = success ? successes_ + 1 : 0;
  failures_ = success ? 0 : failures_ + 1;
  if (successes_ >= 3) side_ = std::min(2 * side_, 1.6), successes_ = 0;
  if (failures_ >= std::max<Index>(4, dimensions()) / (options_.gradient ? 2 : 1)) side_ /= 2, failures_ = 0;
  if (side_ < 0x1p-10 && pending_.empty()) {  // nothing more to gain here: elsewhere
    ++restarts_;
    side_ = 0.8;
    successes_ = failures_ = 0;
    region_from_ = told_.size();
    start_initial();
  }
}

void Ego::update_models() const {
  if (!stale_) return;
  stale_ = false;
  const bool restart = modelled_from_ != region_from_;
  modelled_from_ = region_from_;
  KrigingOptions o;
  o.kernel = options_.kernel;
  o.trend = options_.trend;
  o.nugget = options_.noise;
  o.scale = VectorXd::Ones(embedded_);

  std::vector<const Evaluation*> good;
  for (std::size_t i = region_from_; i < told_.size(); ++i)
    if (usable(told_[i])) good.push_back(&told_[i]);
  const auto n = static_cast<Index>(good.size());
  if (n > 0) {
    Samples s;
    s.x.resize(embedded_, n);
    for (Index i = 0; i < n; ++i) s.x.col(i) = embed(unit(good[i]->design));
    const auto model = [&](Tracked& tracked, auto&& value, bool of_cost, bool warps) {
      Samples own = s;
      own.y.resize(n);
      for (Index i = 0; i < n; ++i) own.y(i) = value(*good[i]);
      if (of_cost && options_.gradient) {
        own.gradient.resize(embedded_, n);
        for (Index i = 0; i < n; ++i) {
          const VectorXd& g = good[i]->gradient;
          own.gradient.col(i) = g.size() == dimensions() && g.allFinite() ? VectorXd(g.cwiseProduct(range_))
                                                                          : VectorXd::Constant(embedded_, not_a_number);
        }
      }
      if (of_cost && noisy()) {
        own.variance.resize(n);
        for (Index i = 0; i < n; ++i) own.variance(i) = std::pow(good[i]->cost_stderr, 2);
      }
      tracked.update(own, o, warps && !noisy(), restart);
    };
    for (std::size_t k = 0; k < objectives_.size(); ++k)
      model(
          objectives_[k], [&](const Evaluation& e) { return objective(e, k); },
          options_.objectives.empty() || options_.objectives[k] < 0, options_.objectives.empty());
    for (std::size_t k = 0; k < constraints_.size(); ++k) {
      const int metric = options_.constraints[k].metric;
      model(
          constraints_[k], [&](const Evaluation& e) { return metric < 0 ? e.cost : e.metrics(metric); }, metric < 0,
          false);
    }
  } else {
    for (Tracked& t : objectives_) t.clear();
    for (Tracked& t : constraints_) t.clear();
  }
  // The last few hundred designs tell where it fails well enough, at a bounded price.
  const std::size_t from = told_.size() > 400 ? told_.size() - 400 : 0;
  MatrixXd x(embedded_, static_cast<Index>(told_.size() - from));
  std::vector<bool> viable;
  for (std::size_t i = from; i < told_.size(); ++i) {
    x.col(static_cast<Index>(i - from)) = embed(unit(told_[i].design));
    viable.push_back(usable(told_[i]));
  }
  viability_.emplace(x, viable);
}

// Takes up another basin, or goes on with it: decided by what was told alone.
void Ego::look_elsewhere() {
  const Evaluation* const least = best();
  if (!least || dimensions() < niche_variables || !all_real()) return;
  if (niche_ >= 0) {
    const Evaluation &e = told_.back(), &before = told_[niche_];
    if (!in_niche(e.design)) return;
    const bool better = feasible(e) && e.cost < before.cost;
    stalled_ = better && before.cost - e.cost > 0.02 * (before.cost - least->cost) ? 0 : stalled_ + 1;
    if (better) niche_ = static_cast<std::ptrdiff_t>(told_.size()) - 1;
    if (stalled_ < niche_patience + 2 * (options_.batch - 1) && told_[niche_].cost > least->cost) return;
    left_.push_back(unit(told_[niche_].design));
    niche_ = -1;
    return;
  }
  if (!settling()) return;
  const double radius = niche_radius * std::sqrt(static_cast<double>(dimensions()));
  const auto near = [&](const VectorXd& u, const VectorXd& other) { return (u - other).norm() <= radius; };
  for (std::size_t i = 0; i < told_.size(); ++i) {
    const Evaluation& e = told_[i];
    if (!feasible(e) || (niche_ >= 0 && e.cost >= told_[niche_].cost)) continue;
    const VectorXd u = unit(e.design);
    if (near(u, unit(least->design)) ||
        std::any_of(left_.begin(), left_.end(), [&](const VectorXd& other) { return near(u, other); }) ||
        std::any_of(told_.begin(), told_.end(), [&](const Evaluation& other) {
          return feasible(other) && other.cost < e.cost && near(u, unit(other.design));
        }))
      continue;
    niche_ = static_cast<std::ptrdiff_t>(i);
  }
  stalled_ = 0;
}

// Whether the last designs, two or a batch, did no more than polish the best one: two of them beside it, none gaining
// more than next to nothing. Before the next such step something that would gain more is looked for, so that a local
// minimum does not hold the search.
bool Ego::settling() const {
  const int last = std::max(2, options_.batch);
  if (noisy() || options_.trust_region || objectives_.size() > 1 ||
      told_.size() < initial_total_ + static_cast<std::size_t>(last) + 1)
    return false;
  const Evaluation* least = nullptr;
  for (std::size_t i = 0; i + last < told_.size(); ++i)
    if (feasible(told_[i]) && (!least || told_[i].cost < least->cost)) least = &told_[i];
  if (!least) return false;
  int beside = 0;
  for (std::size_t i = told_.size() - last; i < told_.size(); ++i) {
    const Evaluation& e = told_[i];
    if (!feasible(e)) continue;
    beside += (unit(e.design) - unit(least->design)).cwiseAbs().maxCoeff() <= 0.1;
    if (e.cost < least->cost - 0.01 * quantile(0.25, Warp())) return false;
  }
  return beside >= 2;
}

// A gain worth looking for elsewhere: a hundredth of what costs vary by, as the model sees them.
double Ego::margin() const { return 0.01 * quantile(0.5, objectives_[0].warp()); }

// How far above the best that part of the costs reaches.
double Ego::quantile(double part, const Warp& warp) const {
  std::vector<double> costs;
  for (const Evaluation& e : told_)
    if (feasible(e)) costs.push_back(warp.forward(e.cost));
  if (costs.empty()) return 0;
  const auto at = costs.begin() + static_cast<std::ptrdiff_t>(part * static_cast<double>(costs.size()));
  std::nth_element(costs.begin(), at, costs.end());
  return *at - *std::min_element(costs.begin(), costs.end());
}

// Puts the pending designs into the models, and what the acquisition compares with.
void Ego::believe_pending() const {
  update_models();
  fantasies_.assign(objectives_.size(), {});
  incumbent_.clear();
  any_feasible_ = false;
  box_lower_ = VectorXd::Zero(dimensions());
  box_upper_ = VectorXd::Ones(dimensions());
  if (objectives_[0].empty()) return;
  for (std::size_t k = 0; k < objectives_.size(); ++k) {
    Kriging model = niche_ < 0 && settling() ? objectives_[k].doubting(longest_in_doubt) : objectives_[k].model();
    // A design that failed will not improve: imputed by its prediction plus a standard deviation, so that the doubt
    // about a cost that cannot be had attracts no more.
    int imputed = 0;
    for (auto e = told_.rbegin(); e != told_.rend() && imputed < most_imputed; ++e) {
      if (usable(*e)) continue;
      const VectorXd z = embed(unit(e->design));
      const Prediction p = model.predict(z);
      model = model.grown(z, p.mean + std::sqrt(p.variance));
      ++imputed;
    }
    double lie = infinity;
    for (const Evaluation& e : told_)
      if (usable(e)) lie = std::min(lie, objectives_[k].warp().forward(objective(e, k)));
    MatrixXd grown(embedded_, 0);
    for (const VectorXd& x : pending_) {
      const VectorXd z = embed(unit(x));
      const Index before = model.samples();
      model = model.grown(z, options_.pending == Pending::liar ? lie : model.predict(z).mean, {}, noise_variance_);
      if (model.samples() == before) continue;
      grown.conservativeResize(Eigen::NoChange, grown.cols() + 1);
      grown.col(grown.cols() - 1) = z;
    }
    if (options_.pending != Pending::joint || grown.cols() == 0 || objectives_.size() > 1) {
      fantasies_[k] = {model};
      continue;
    }
    VectorXd mean, variance;
    objectives_[k].model().predict(grown, mean, variance);
    MatrixXd c = objectives_[k].model().covariance(grown);
    c.diagonal().array() += 1e-10 * (1e-300 + c.diagonal().maxCoeff());
    const Eigen::LLT<MatrixXd> llt(c);
    const MatrixXd root =
        llt.info() == Eigen::Success ? MatrixXd(llt.matrixL()) : MatrixXd(variance.cwiseSqrt().asDiagonal());
    Random random(options_.seed + 31 * told_.size());
    for (int m = 0; m < 16; ++m) {  // antithetic pairs
      static thread_local VectorXd normal;
      if (m % 2 == 0)
        normal = VectorXd::NullaryExpr(grown.cols(), [&] { return random.normal(); });
      else
        normal = -normal;
      fantasies_[k].push_back(model.with_last_values(mean + root * normal));
    }
  }

  // With noise: the variance of one more sample.
  noise_variance_ = 0;
  if (noisy()) {
    double sum = 0;
    int n = 0;
    for (const Evaluation& e : told_)
      if (usable(e)) sum += e.cost_stderr * e.cost_stderr, ++n;
    noise_variance_ = objectives_[0].model().noise_variance() + sum / std::max(n, 1);
  }

  if (objectives_.size() == 2) {
    std::vector<Eigen::Vector2d> points;
    for (const Evaluation& e : told_)
      if (feasible(e))
        points.push_back(
            {objectives_[0].warp().forward(objective(e, 0)), objectives_[1].warp().forward(objective(e, 1))});
    any_feasible_ = !points.empty();
    std::sort(points.begin(), points.end(),
              [](const auto& a, const auto& b) { return a[0] < b[0] || (a[0] == b[0] && a[1] < b[1]); });
    std::vector<Eigen::Vector2d> front;
    Eigen::Vector2d high = Eigen::Vector2d::Constant(-infinity), low = -high;
    for (const auto& p : points) {
      high = high.cwiseMax(p), low = low.cwiseMin(p);
      if (front.empty() || p[1] < front.back()[1]) front.push_back(p);
    }
    front_.resize(2, static_cast<Index>(front.size()) + 1);
    for (std::size_t i = 0; i < front.size(); ++i) front_.col(static_cast<Index>(i)) = front[i];
    if (any_feasible_) front_.col(front_.cols() - 1) = high + 0.1 * (high - low).cwiseMax(1e-9);
    return;
  }

  for (const Kriging& fantasy : fantasies_[0]) {
    double least = infinity;
    for (std::size_t i = region_from_; i < told_.size(); ++i) {
      const Evaluation& e = told_[i];
      if (!feasible(e)) continue;
      any_feasible_ = true;
      if (!noisy()) {
        least = std::min(least, objectives_[0].warp().forward(e.cost));
      } else {
        const Prediction p = fantasy.predict(embed(unit(e.design)));
        least = std::min(least, p.mean + std::sqrt(p.variance));
      }
    }
    if (!noisy())
      for (const VectorXd& x : pending_) least = std::min(least, fantasy.predict(embed(unit(x))).mean);
    if (niche_ >= 0)
      incumbent_.push_back(objectives_[0].warp().forward(told_[niche_].cost));
    else
      incumbent_.push_back(least - (settling() ? margin() : 0));
  }

  if (niche_ >= 0) {
    box_lower_ = (unit(told_[niche_].design).array() - niche_side).cwiseMax(0);
    box_upper_ = (unit(told_[niche_].design).array() + niche_side).cwiseMin(1);
  }
  const Evaluation* centre = nullptr;
  for (std::size_t i = region_from_; i < told_.size(); ++i)
    if (feasible(told_[i]) && (!centre || told_[i].cost < centre->cost)) centre = &told_[i];
  if (options_.trust_region && centre) {
    const VectorXd& lengths = objectives_[0].model().hyperparameters().log_length;
    VectorXd weights = VectorXd::Ones(dimensions());
    if (all_real()) weights = (lengths.array() - lengths.mean()).exp().max(0.1).min(10);
    box_lower_ = (unit(centre->design) - 0.5 * side_ * weights).cwiseMax(0);
    box_upper_ = (unit(centre->design) + 0.5 * side_ * weights).cwiseMin(1);
  }
}

// Log acquisition at a point of the unit cube, and its gradient with respect to the real variables (0 for the others).
double Ego::score(const VectorXd& u, VectorXd* gradient) const {
  const VectorXd z = embed(u);
  VectorXd dz = VectorXd::Zero(embedded_);
  double value = 0;
  if (any_feasible_ && objectives_.size() == 2) {
    const Prediction p[2] = {fantasies_[0][0].predict(z), fantasies_[1][0].predict(z)};
    const double s[2] = {std::sqrt(p[0].variance + 1e-300), std::sqrt(p[1].variance + 1e-300)};
    // psi(t) = E[max(t - f, 0)] = s h((t - m) / s) for each objective
    struct Psi {
      double value, by_mean, by_variance;
    };
    const auto psi = [&](int k, double t) {
      const double at = (t - p[k].mean) / s[k];
      const double cdf = normal_cdf(at), density = normal_density(at);
      return Psi{std::max(s[k] * (density + at * cdf), 0.0), -cdf, density / (2 * s[k])};
    };
    const Index n = front_.cols() - 1;
    double sum = 0, first_mean = 0, first_variance = 0, second_mean = 0, second_variance = 0;
    Psi left{0, 0, 0};
    for (Index i = 0; i <= n; ++i) {  // strips of the first objective, each free below the second of the one before
      const Psi right = psi(0, front_(0, i)), below = psi(1, i == 0 ? front_(1, n) : front_(1, i - 1));
      const double width = right.value - left.value;
      sum += width * below.value;
      first_mean += (right.by_mean - left.by_mean) * below.value;
      first_variance += (right.by_variance - left.by_variance) * below.value;
      second_mean += width * below.by_mean;
      second_variance += width * below.by_variance;
      left = right;
    }
    const double floor = 1e-280;
    value = std::log(sum + floor);
    dz = (first_mean * p[0].mean_gradient + first_variance * p[0].variance_gradient + second_mean * p[1].mean_gradient +
          second_variance * p[1].variance_gradient) /
         (sum + floor);
  } else if (any_feasible_) {
    double largest = -infinity;
    std::vector<double> values;
    std::vector<VectorXd> slopes;
    for (std::size_t m = 0; m < fantasies_[0].size(); ++m) {
      const Prediction p = fantasies_[0][m].predict(z);
      const Acquisition a =
          options_.acquisition == AcquisitionKind::lower_confidence_bound
              ? lower_confidence_bound(p.mean, p.variance, options_.confidence_weight)
              : log_augmented_expected_improvement(p.mean, p.variance, incumbent_[m], noise_variance_);
      values.push_back(a.value);
      slopes.push_back(a.by_mean * p.mean_gradient + a.by_variance * p.variance_gradient);
      largest = std::max(largest, a.value);
    }
    double sum = 0;  // log of the mean of exponentials
    for (std::size_t m = 0; m < values.size(); ++m) {
      const double weight = std::exp(values[m] - largest);
      sum += weight;
      dz += weight * slopes[m];
    }
    dz /= sum;
    value = largest + std::log(sum / static_cast<double>(values.size()));
    if (options_.acquisition == AcquisitionKind::lower_confidence_bound && values.size() == 1) value = values[0];
  }
  for (std::size_t k = 0; k < constraints_.size(); ++k) {
    if (constraints_[k].empty()) continue;
    const Constraint& c = options_.constraints[k];
    const Prediction p = constraints_[k].model().predict(z);
    const double limit = constraints_[k].warp().forward(c.limit), sign = c.below ? 1 : -1;
    const Acquisition a = log_probability_below(sign * p.mean, p.variance, sign * limit);
    value += a.value;
    dz += sign * a.by_mean * p.mean_gradient + a.by_variance * p.variance_gradient;
  }
  if (viability_ && !viability_->certain()) {
    VectorXd slope;
    value += viability_->log_probability(z, &slope);
    dz += slope;
  }
  if (gradient) {
    gradient->setZero(u.size());
    for (Index i = 0, k = 0; i < u.size(); ++i) {
      if (real(i)) (*gradient)(i) = dz(k);
      k += !real(i) && options_.domains[i] == Domain::category ? static_cast<Index>(range_(i)) + 1 : 1;
    }
  }
  return std::isfinite(value) ? value : -1e300;
}

// The same for many points, without gradients; the plain case by matrices.
VectorXd Ego::scores(const MatrixXd& units) const {
  VectorXd out = VectorXd::Zero(units.cols());
  const bool plain = any_feasible_ && objectives_.size() == 1 && fantasies_[0].size() == 1;
  if (!plain) {
    for (Index i = 0; i < units.cols(); ++i) out(i) = score(units.col(i), nullptr);
    return out;
  }
  MatrixXd z(embedded_, units.cols());
  for (Index i = 0; i < units.cols(); ++i) z.col(i) = embed(units.col(i));
  VectorXd mean, variance;
  fantasies_[0][0].predict(z, mean, variance);
  for (Index i = 0; i < units.cols(); ++i)
    out(i) = options_.acquisition == AcquisitionKind::lower_confidence_bound
                 ? lower_confidence_bound(mean(i), variance(i), options_.confidence_weight).value
                 : log_augmented_expected_improvement(mean(i), variance(i), incumbent_[0], noise_variance_).value;
  for (std::size_t k = 0; k < constraints_.size(); ++k) {
    const Constraint& c = options_.constraints[k];
    constraints_[k].model().predict(z, mean, variance);
    const double sign = c.below ? 1 : -1, limit = constraints_[k].warp().forward(c.limit);
    for (Index i = 0; i < units.cols(); ++i)
      out(i) += log_probability_below(sign * mean(i), variance(i), sign * limit).value;
  }
  if (!viability_->certain())
    for (Index i = 0; i < units.cols(); ++i) out(i) += viability_->log_probability(z.col(i));
  return out;
}

Plan Ego::maximise() const {
  believe_pending();
  const Index d = dimensions();
  Plan plan;
  const std::uint64_t seed = options_.seed * 1000003 + told_.size() * 101 + pending_.size();
  Random random(seed);
  const VectorXd box = box_upper_ - box_lower_;
  const Index rows = objectives_[0].empty() ? 0 : objectives_[0].model().samples();
  const Index spread = std::min<Index>(200 + 100 * d, rows > 300 ? 300 : 1500);
  MatrixXd candidates =
      (box.asDiagonal() * sobol(static_cast<int>(d), static_cast<int>(spread), seed)).colwise() + box_lower_;

  // No cost yet: where it may evaluate, far from what was tried.
  if (!any_feasible_ && constraints_.empty()) {
    for (Index i = 0; i < candidates.cols(); ++i) {
      double nearest = 1;
      for (const Evaluation& e : told_) nearest = std::min(nearest, (unit(e.design) - candidates.col(i)).norm());
      for (const VectorXd& x : pending_) nearest = std::min(nearest, (unit(x) - candidates.col(i)).norm());
      const double value = std::log(nearest + 1e-12) + viability_->log_probability(embed(candidates.col(i)));
      if (value > plan.score) plan.score = value, plan.design = design(candidates.col(i));
    }
    plan.note = "no usable cost yet: where it may evaluate, far from what was tried";
    return plan;
  }

  // Around the best: steps of every size along some of the variables.
  std::vector<std::pair<double, VectorXd>> good;
  for (std::size_t i = region_from_; i < told_.size(); ++i)
    if (feasible(told_[i]) && (niche_ < 0 || in_niche(told_[i].design)))
      good.emplace_back(objective(told_[i], 0), unit(told_[i].design));
  std::stable_sort(good.begin(), good.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  const Index seeds = std::min<Index>(static_cast<Index>(good.size()), 3),
              around = seeds * std::min<Index>(40 + 10 * d, 100);
  candidates.conservativeResize(Eigen::NoChange, spread + around + (noisy() ? static_cast<Index>(good.size()) : 0));
  for (Index i = 0; i < around; ++i) {
    VectorXd u = good[i % seeds].second;
    const double size = std::pow(10.0, -0.5 - 3 * random.uniform());
    const double share = std::max(1.0 / static_cast<double>(d), random.uniform());
    for (Index k = 0; k < d; ++k)
      if (random.uniform() < share) u(k) += size * random.normal();
    for (Index k = 0; k < d; ++k)
      if (!real(k) && random.uniform() < share) u(k) = random.uniform();
    candidates.col(spread + i) = u.cwiseMax(box_lower_).cwiseMin(box_upper_);
  }
  if (noisy())
    for (std::size_t i = 0; i < good.size(); ++i)
      candidates.col(spread + around + static_cast<Index>(i)) = good[i].second;
  const VectorXd values = scores(candidates);

  std::vector<Index> order(candidates.cols());
  std::iota(order.begin(), order.end(), Index(0));
  std::stable_sort(order.begin(), order.end(), [&](Index a, Index b) { return values(a) > values(b); });
  std::vector<VectorXd> starts;
  const std::size_t most_starts = rows > 300 ? 2 : 5;
  for (const Index i : order) {
    if (starts.size() >= most_starts) break;
    if (std::all_of(starts.begin(), starts.end(),
                    [&](const auto& s) { return (s - candidates.col(i)).cwiseAbs().maxCoeff() > 0.05; }))
      starts.push_back(candidates.col(i));
  }
  const std::size_t refined = starts.size();
  starts.push_back(candidates.col(order[0]));  // as it is: the refinement may end on a sample

  struct Found {
    double value;
    VectorXd at;
  };
  std::vector<Found> found;
  for (std::size_t s = 0; s < starts.size(); ++s) {
    Found best{score(starts[s], nullptr), starts[s]};
    if (s < refined) {
      struct Context {
        const Ego& ego;
        Found& best;
      } context{*this, best};
      nlopt::opt search(nlopt::LD_SLSQP, static_cast<unsigned>(d));
      search.set_max_objective(
          [](unsigned n, const double* x, double* slope, void* data) {
            auto& c = *static_cast<Context*>(data);
            const VectorXd at = Eigen::Map<const VectorXd>(x, n);
            if (!at.allFinite()) return -1e300;
            VectorXd g;
            const double value = c.ego.score(at, &g);
            if (slope) Eigen::Map<VectorXd>(slope, n) = g.allFinite() ? g : VectorXd::Zero(n);
            if (value > c.best.value) c.best = {value, at};
            return value;
          },
          &context);
      VectorXd low = box_lower_, high = box_upper_;
      for (Index k = 0; k < d; ++k)
        if (!real(k)) low(k) = high(k) = starts[s](k);
      search.set_lower_bounds(std::vector<double>(low.begin(), low.end()));
      search.set_upper_bounds(std::vector<double>(high.begin(), high.end()));
      search.set_maxeval(rows > 300 ? 25 : 60);
      search.set_xtol_abs(1e-8);
      search.set_ftol_abs(1e-6);
      std::vector<double> x(starts[s].begin(), starts[s].end());
      double value;
      try {
        search.optimize(x, value);
      } catch (const std::runtime_error&) {  // rounding; the best so far stands
      }
      // Integers and categories: every other value of one variable at a time.
      for (Index k = 0; k < d; ++k) {
        if (real(k)) continue;
        for (double level = 0; level <= std::min(range_(k), 50.0); ++level) {
          VectorXd u = best.at;
          u(k) = range_(k) > 0 ? level / range_(k) : 0;
          const double other = score(u, nullptr);
          if (other > best.value) best = {other, u};
        }
      }
    }
    found.push_back(best);
  }
  std::stable_sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.value > b.value; });
  const Evaluation* const least = best();
  const double too_near = noisy() && !options_.repeat ? apart : same_design;
  for (const Found& f : found) {
    if (!(noisy() && options_.repeat) && tried(unit(design(f.at)), too_near)) continue;
    plan.design = design(f.at);
    plan.score = f.value;
    break;
  }
  if (plan.design.size() == 0) {
    // every maximum is a sample already
    if (pending_.empty() && least && niche_ < 0 && !noisy())
      plan.stopped = "the model has its best where it was evaluated already; " + say_best();
    if (plan.stopped.empty()) plan.design = design(candidates.col(order.back()));
    for (const Index i : order) {
      if (!plan.stopped.empty() || tried(unit(design(candidates.col(i))), too_near)) continue;
      plan.design = design(candidates.col(i));
      plan.score = values(i);
      break;
    }
    if (!plan.stopped.empty()) return plan;
  }
  const VectorXd z = embed(unit(plan.design));
  const Prediction p = objectives_[0].model().predict(z);
  const Warp& warp = objectives_[0].warp();
  plan.predicted = warp.backward(p.mean);
  plan.deviation = std::sqrt(p.variance);
  std::ostringstream note;
  note.precision(3);
  if (!any_feasible_) {
    note << "likeliest to keep the constraints";
  } else if (objectives_.size() == 2) {
    note << "front of " << front_.cols() - 1 << ", expected hypervolume gain " << std::exp(plan.score);
  } else if (options_.acquisition == AcquisitionKind::lower_confidence_bound) {
    note << "lower confidence bound " << -plan.score;
  } else {
    note << (niche_ >= 0  ? "in another basin, for the best is settling: "
             : settling() ? "away from the best, which is settling: "
                          : "")
         << "expected improvement " << std::exp(plan.score);
  }
  plan.note = note.str();

  // The incumbent's scale: its magnitude, or a little of what costs vary by where it is near 0.
  if (least && objectives_.size() == 1 && pending_.empty() && any_feasible_ && niche_ < 0 && !settling() &&
      options_.acquisition == AcquisitionKind::expected_improvement && !options_.trust_region) {
    std::vector<double> costs;
    for (const auto& [cost, where] : good) costs.push_back(cost);
    const double scale = std::max(std::abs(costs.front()), 1e-3 * (costs[costs.size() / 2] - costs.front()));
    if (plan.score < std::log(options_.tolerance * std::max(scale, 1e-300)))
      plan.stopped = "expected improvement below the tolerance; " + say_best();
  }
  return plan;
}

std::string Ego::say_best() const {
  const Evaluation* const least = best();
  if (!least) return "no usable cost";
  std::ostringstream out;
  out.precision(9);
  out << "best cost " << objective(*least, 0);
  if (least->id >= 0)
    out << " (evaluation " << least->id << ") at ";
  else
    out << " (known beforehand) at ";
  out.precision(6);
  for (Index i = 0; i < dimensions(); ++i) {
    const Variable& v = variables_[i];
    out << (i ? ", " : "") << v.name << " = " << least->design(i) << unit_after(v);
    if (least->design(i) == v.lower) out << " (its lower bound)";
    if (least->design(i) == v.upper) out << " (its upper bound)";
  }
  return out.str();
}

const Plan& Ego::plan() const {
  if (plan_) return *plan_;
  const auto usable_now = std::count_if(told_.begin(), told_.end(), [&](const auto& e) { return usable(e); });
  if (usable_now == 0 && static_cast<int>(told_.size()) >= options_.max_failures && pending_.empty()) {
    plan_ = Plan();
    plan_->stopped = "no usable cost in " + std::to_string(told_.size()) + " evaluations";
    if (!told_.back().reason.empty()) plan_->stopped += "; the last: " + told_.back().reason;
  } else {
    plan_ = maximise();
  }
  return *plan_;
}

std::string Ego::stopped() const {
  if (!initial_.empty() || told_.empty() || !pending_.empty()) return {};
  return plan().stopped;
}

std::vector<VectorXd> Ego::ask(int at_most) {
  std::vector<VectorXd> designs;
  const auto take = [&](const VectorXd& x) {
    designs.push_back(x);
    pending_.push_back(x);
    last_asked_ = x;
    ++asked_;
  };
  while (!initial_.empty() && static_cast<int>(designs.size()) < at_most) {
    take(initial_.front());
    initial_.pop_front();
  }
  if (!designs.empty()) {
    plan_.reset();
    return designs;
  }
  while (static_cast<int>(designs.size()) < std::min(at_most, std::max(options_.batch, 1))) {
    if (told_.empty()) {  // asked for more than the initial designs before any was told
      const MatrixXd more = sobol(static_cast<int>(dimensions()), 1, options_.seed, 1 + asked_);
      take(design(more.col(0)));
      continue;
    }
    if (!plan().stopped.empty()) break;
    take(plan().design);
    plan_.reset();
  }
  return designs;
}

// Lengths are in units of the variables' ranges; a category has one for each of its values.
std::vector<std::string> Ego::numbers() const {
  std::vector<std::string> names = {"log_acquisition",  "leave_one_out_quality", "log_likelihood",
                                    "process_variance", "noise_variance",        "warp_width"};
  for (Index i = 0; i < dimensions(); ++i) {
    const bool category = !real(i) && options_.domains[i] == Domain::category;
    for (double level = 0; level <= (category ? range_(i) : 0); ++level)
      names.push_back("length_" + variables_[i].name + (category ? "_" + text(variables_[i].lower + level) : ""));
  }
  if (options_.trust_region) names.push_back("trust_region_side");
  return names;
}

Iteration Ego::describe(int grid_points) const {
  Iteration out;
  out.next = last_asked_;
  if (const Evaluation* const least = best()) {
    out.best_cost = least->cost;
    out.best_id = least->id;
  }
  if (told_.empty() || !initial_.empty() || !pending_.empty()) {
    out.note = (options_.reason.empty() ? "" : options_.reason + "; ") + std::to_string(told_.size()) +
               " designs told, " + std::to_string(initial_.size() + pending_.size()) + " to come before the next model";
    return out;
  }
  const Plan& p = plan();
  if (noisy() && incumbent_.size() > 0) {
    double least = infinity;
    for (const Evaluation& e : told_) {
      if (!feasible(e)) continue;
      const double predicted = objectives_[0].model().predict(embed(unit(e.design))).mean;
      if (predicted < least) least = predicted, out.recommended = e.design;
    }
  }
  out.note = p.stopped.empty() ? p.note : p.stopped;
  if (!options_.reason.empty() && told_.size() <= initial_total_) out.note = options_.reason + "; " + out.note;
  if (p.design.size() > 0 && p.stopped.empty()) out.next = p.design;
  out.predicted_cost = p.predicted;
  if (objectives_[0].empty()) return out;
  const Kriging& model = objectives_[0].model();
  const Warp& warp = objectives_[0].warp();
  const Hyperparameters& h = model.hyperparameters();
  const double quality = model.leave_one_out().quality();
  std::vector<double> values = {
      p.score, quality, h.likelihood, h.variance, model.noise_variance(), warp.identity() ? 0 : warp.width};
  for (Index i = 0; i < h.log_length.size(); ++i) values.push_back(std::exp(h.log_length(i)));
  if (options_.trust_region) values.push_back(side_);
  const auto names = numbers();
  for (std::size_t i = 0; i < names.size(); ++i) out.numbers.emplace_back(names[i], values[i]);
  std::string lengths;
  for (Index i = 0; i < h.log_length.size(); ++i) lengths += (i ? " " : "") + text(std::exp(h.log_length(i)), 3);
  out.note += "; leave-one-out quality " + text(quality, 3) + ", lengths " + lengths +
              (warp.identity() ? "" : ", costs warped");
  if (dimensions() != 1 || grid_points < 2 || !all_real()) return out;
  out.grid = VectorXd::LinSpaced(grid_points, variables_[0].lower, variables_[0].upper);
  VectorXd mean, variance;
  model.predict(((out.grid.array() - lower_(0)) / range_(0)).matrix().transpose(), mean, variance);
  const VectorXd band = 1.96 * variance.cwiseSqrt();
  const auto back = [&](double w) { return warp.backward(w); };
  out.value = mean.unaryExpr(back);
  out.lower = (mean - band).unaryExpr(back);
  out.upper = (mean + band).unaryExpr(back);
  return out;
}

}  // namespace

int default_initial_samples(int variables, bool gradient) {
  if (gradient) return std::max(3, variables + 1);
  return variables < niche_variables ? 2 * variables + 2 : std::min(3 * variables, 40);
}

std::unique_ptr<Strategy> make_ego(const std::vector<Variable>& variables, const EgoOptions& options) {
  if (variables.empty()) throw std::invalid_argument("ego: no free variable");
  for (const Variable& v : variables)
    if (!std::isfinite(v.lower) || !std::isfinite(v.upper) || !(v.lower < v.upper))
      throw std::invalid_argument("ego: the range of " + v.name + " is empty");
  if (!options.domains.empty()) {
    if (options.domains.size() != variables.size())
      throw std::invalid_argument("ego: a domain for each variable, or none");
    for (std::size_t i = 0; i < variables.size(); ++i) {
      if (options.domains[i] == Domain::real) continue;
      const double levels = std::floor(variables[i].upper) - std::ceil(variables[i].lower) + 1;
      if (!(levels >= 1))
        throw std::invalid_argument("ego: the range of " + variables[i].name + " holds no whole number");
      if (options.domains[i] == Domain::category && levels > 30)
        throw std::invalid_argument("ego: " + variables[i].name + " has more than 30 categories");
    }
  }
  if (options.initial_samples < 0) throw std::invalid_argument("ego: initial samples must not be negative");
  if (options.batch < 1) throw std::invalid_argument("ego: the batch must be at least 1");
  if (!(options.tolerance >= 0)) throw std::invalid_argument("ego: the tolerance must not be negative");
  if (options.max_failures < 1) throw std::invalid_argument("ego: max failures must be at least 1");
  if (!options.objectives.empty() && options.objectives.size() != 2)
    throw std::invalid_argument("ego: one objective, the cost, or two");
  if (options.given.size() > 0 && options.given.rows() != static_cast<Index>(variables.size()))
    throw std::invalid_argument("ego: given designs of another number of variables");
  for (const Evaluation& e : options.known)
    if (e.design.size() != static_cast<Index>(variables.size()))
      throw std::invalid_argument("ego: known evaluations of another number of variables");
  return std::make_unique<Ego>(variables, options);
}

}  // namespace dodyn::surrogate
