#include "surrogate/ego.hpp"

#include <algorithm>
#include <cmath>
#include <deque>
#include <limits>
#include <numeric>
#include <optional>
#include <sstream>
#include <stdexcept>

#include "record/text.hpp"
#include "surrogate/bounded_search.hpp"
#include "surrogate/edge.hpp"
#include "surrogate/filling.hpp"
#include "surrogate/niche.hpp"
#include "surrogate/random.hpp"
#include "surrogate/sampling.hpp"
#include "surrogate/stopping.hpp"
#include "surrogate/trust_region.hpp"

namespace dodyn::surrogate {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

constexpr double resolution = 3e-4;  // no two designs closer than that, of the range
constexpr double finest = 3e-6;      // the same, of steps along limits: what they leave of a box may be small
constexpr double apart = 5e-3;       // the same, where costs are lumpy but repeat
constexpr double longest_edge_step = 0.25;
constexpr double lumpy_quality = 0.9;     // leave-one-out, below which costs are lumpy to the model
constexpr double longest_in_doubt = 0.5;  // length of the model, of the range, when looking away from the best

std::string text(double value, int digits = 4) { return formatted("%.*g", digits, value); }

// What to do next.
struct Plan {
  VectorXd design;  // the variables' units
  double score = -infinity;
  double predicted = not_a_number;  // cost units
  std::string note, stopped;
};

class Ego final : public Strategy {
 public:
  Ego(const std::vector<Variable>& variables, const EgoOptions& options);

  std::vector<VectorXd> ask(int at_most) override;
  void tell(const Evaluation& evaluation) override;
  void decide() override;
  std::string stopped() const override { return plan_ ? plan_->stopped : ""; }
  std::string reason() const override { return options_.reason; }
  std::vector<std::string> numbers() const override;
  Iteration describe(int grid_points) const override;

 private:
  Index dimensions() const { return evidence_.space.dimensions(); }
  void start_initial();
  bool is_settling() const { return !options_.trust_region && settling(evidence_, initial_total_, options_.batch); }
  Beliefs beliefs() const;
  void search_box(VectorXd& lower, VectorXd& upper) const;
  MatrixXd candidates(const VectorXd& lower, const VectorXd& upper) const;
  std::vector<const Evaluation*> good_designs() const;
  Found refine(const Beliefs& beliefs, const VectorXd& start, const VectorXd& lower, const VectorXd& upper) const;
  bool fresh(const VectorXd& unit, double within = resolution) const;
  bool possible(const VectorXd& unit) const {
    return !options_.possible || options_.possible(evidence_.space.design(unit));
  }
  MatrixXd possible_ones(const MatrixXd& units) const;
  Plan by_acquisition(const Beliefs& beliefs, const MatrixXd& candidates, const VectorXd& lower,
                      const VectorXd& upper) const;
  Plan fill(const MatrixXd& candidates, bool local, const std::string& why) const;
  Plan along_the_edge() const;
  Plan along_the_constraints(const MatrixXd& candidates) const;
  Plan step_of(const Found& found, const char* edge) const;
  Plan check(double gain);
  double least_gain() const;
  std::vector<VectorXd> outcomes(std::size_t but_last) const;
  double growth_of_front(std::size_t last) const;
  std::string settled_front(const Plan& plan, const Beliefs& beliefs) const;
  int max_failures() const {
    return options_.max_failures > 0 ? options_.max_failures : 20 + 15 * static_cast<int>(dimensions());
  }
  Plan next();
  void plan();

  EgoOptions options_;
  Evidence evidence_;
  Models models_;
  TrustRegion region_;
  Niche niche_;
  StopAccount account_;
  std::deque<VectorXd> initial_;  // not yet asked
  std::size_t initial_total_ = 0;
  VectorXd last_asked_;
  std::uint64_t asked_ = 0;
  int failed_in_a_row_ = 0;               // last told, not worth having
  double caution_ = 0;                    // logit of the probability that a step at an edge must have
  double edge_side_ = longest_edge_step;  // of the box that those steps stay in, of the range
  std::optional<VectorXd> at_edge_;       // the last of those steps
  std::optional<Plan> plan_;              // of what was told and asked so far
};

Ego::Ego(const std::vector<Variable>& variables, const EgoOptions& options)
    : options_(options),
      evidence_{.space = DesignSpace(variables, options.domains, "ego"),
                .constraints = options.constraints,
                .objectives = options.objectives.empty() ? std::vector<int>{-1} : options.objectives,
                .costs_noisy = options.noise},
      models_(evidence_.objectives.size(), options.constraints.size()),
      account_(static_cast<Index>(variables.size())) {
  if (!evidence_.space.all_real()) options_.gradient = false;
  const Evaluation* least = nullptr;
  for (const Evaluation& e : options_.known)
    if (evidence_.feasible(e) && (!least || evidence_.objective(e, 0) < evidence_.objective(*least, 0))) least = &e;
  if (least) initial_.push_back(least->design);
  for (Index i = 0; i < options_.given.cols(); ++i) initial_.push_back(options_.given.col(i));
  for (const Evaluation& e : options_.known) {
    if (&e == least) continue;
    evidence_.told.push_back(e);
    evidence_.told.back().id = -1;
    if (std::isnan(e.cost_stderr)) evidence_.told.back().cost_stderr = 0;
  }
  start_initial();
}

void Ego::start_initial() {
  const int d = static_cast<int>(dimensions()), restarts = region_.restarts;
  int n = options_.initial_samples > 0 ? options_.initial_samples : default_initial_samples(d, options_.gradient);
  if (restarts == 0)
    for (const Evaluation& e : options_.known) n -= n > 0 && evidence_.usable(e);
  const std::uint64_t seed = options_.seed + 7919ULL * static_cast<std::uint64_t>(restarts);
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
  // Where not all of them can be, those that can of a filling with more points.
  if (options_.possible && options_.initial_design != InitialDesign::corners) {
    MatrixXd all = x;
    const auto count = [&] {
      Index sum = 0;
      for (Index i = 0; i < all.cols(); ++i) sum += possible(all.col(i));
      return sum;
    };
    for (int more = n; count() < n && more < 1024 * n;) {
      more *= 2;
      all = options_.initial_design == InitialDesign::halton  ? halton(d, more, seed)
            : options_.initial_design == InitialDesign::sobol ? sobol(d, more, seed)
                                                              : latin_hypercube(d, more, seed);
    }
    const MatrixXd kept = possible_ones(all);
    x = kept.leftCols(std::min<Index>(n, kept.cols()));
  }
  std::vector<VectorXd> added;
  for (Index i = 0; i < x.cols(); ++i) {
    const VectorXd next = evidence_.space.design(x.col(i));
    const bool repeated =
        !evidence_.space.plain() && std::any_of(added.begin(), added.end(), [&](const auto& a) { return a == next; });
    if (repeated) continue;
    added.push_back(next);
    initial_.push_back(next);
  }
  initial_total_ = initial_.size() + (restarts == 0 ? evidence_.told.size() : 0);
}

// Those columns that can be; all, if none can.
MatrixXd Ego::possible_ones(const MatrixXd& units) const {
  if (!options_.possible) return units;
  std::vector<Index> kept;
  for (Index i = 0; i < units.cols(); ++i)
    if (possible(units.col(i))) kept.push_back(i);
  return kept.empty() ? units : MatrixXd(units(Eigen::all, kept));
}

void Ego::tell(const Evaluation& e) {
  if (e.design.size() != dimensions()) throw std::invalid_argument("ego: told a design of another number of variables");
  const Evaluation* const before = evidence_.best();
  const double best_before = before ? evidence_.objective(*before, 0) : infinity;
  const auto same = [&](const VectorXd& x) { return x == e.design; };
  auto& pending = evidence_.pending;
  if (const auto at = std::find_if(pending.begin(), pending.end(), same); at != pending.end()) {
    pending.erase(at);
  } else if (const auto first = std::find_if(initial_.begin(), initial_.end(), same); first != initial_.end()) {
    initial_.erase(first);  // told without having been asked: a replay
  }
  const double least_gain = before ? this->least_gain() : 0;
  const bool was_initial = evidence_.told.size() < initial_total_ + evidence_.from;
  evidence_.told.push_back(e);
  if (std::isnan(e.cost_stderr)) evidence_.told.back().cost_stderr = 0;
  plan_.reset();
  if (was_initial) return;
  failed_in_a_row_ = evidence_.telling(e) ? 0 : failed_in_a_row_ + 1;
  if (at_edge_ && *at_edge_ == e.design) {
    caution_ = std::clamp(caution_ + (evidence_.telling(e) ? -0.5 : 0.7), -2.0, 4.0);
    const bool gains = evidence_.feasible(e) && evidence_.objective(e, 0) < best_before - least_gain;
    edge_side_ = std::clamp(edge_side_ * (gains ? 1.6 : 0.7), 4 * resolution, longest_edge_step);
  }
  std::optional<double> seen;
  if (evidence_.telling(e) && !models_.objectives()[0].empty())
    seen = models_.objectives()[0].warp().forward(evidence_.objective(e, 0));
  const bool was_check = account_.checking() && !evidence_.noisy();
  const bool promising =
      account_.told(seen, evidence_.feasible(e) && evidence_.objective(e, 0) < best_before - least_gain);
  niche_.told(evidence_, is_settling() || was_check, promising && !evidence_.noisy(), options_.batch);
  if (!options_.trust_region) return;
  const bool success = evidence_.feasible(e) && evidence_.objective(e, 0) < best_before - 1e-3 * std::abs(best_before);
  const int patience = static_cast<int>(std::max<Index>(4, dimensions())) / (options_.gradient ? 2 : 1);
  if (region_.told(success, patience) && pending.empty()) {  // nothing more to gain here: elsewhere
    region_.restart();
    evidence_.from = evidence_.told.size();
    start_initial();
  }
}

// Looking away from a best design that is settling takes a model that trusts its extrapolation less, and a gain that is
// worth the while: a hundredth of what costs vary by.
Beliefs Ego::beliefs() const {
  BeliefOptions o;
  o.acquisition = options_.acquisition;
  o.confidence_weight = options_.confidence_weight;
  o.pending = options_.pending;
  o.seed = options_.seed;
  o.care = 1 + 0.5 * std::min(failed_in_a_row_, 8);
  if (!models_.objectives()[0].empty()) {
    const Warp& warp = models_.objectives()[0].warp();
    if (niche_.taken()) {
      o.incumbent = warp.forward(niche_.best(evidence_).cost);
    } else if (is_settling()) {
      o.longest = longest_in_doubt;
      o.margin = 0.01 * evidence_.quantile(0.5, warp);
    }
  }
  return Beliefs(evidence_, models_, o);
}

// Where to search, in the unit cube: about the best of a basin, in the trust region, or everywhere.
void Ego::search_box(VectorXd& lower, VectorXd& upper) const {
  lower = VectorXd::Zero(dimensions());
  upper = VectorXd::Ones(dimensions());
  if (models_.objectives()[0].empty()) return;
  if (niche_.taken()) {
    lower = niche_.lower(evidence_);
    upper = niche_.upper(evidence_);
  }
  const Evaluation* const centre = evidence_.best_of_region();
  if (!options_.trust_region || !centre) return;
  const VectorXd lengths =
      evidence_.space.all_real() ? models_.objectives()[0].model().hyperparameters().log_length : VectorXd();
  lower = region_.lower(evidence_.unit(*centre), lengths);
  upper = region_.upper(evidence_.unit(*centre), lengths);
}

// The designs that the search starts beside, the best first.
std::vector<const Evaluation*> Ego::good_designs() const {
  std::vector<const Evaluation*> good;
  for (std::size_t i = evidence_.from; i < evidence_.told.size(); ++i) {
    const Evaluation& e = evidence_.told[i];
    if (evidence_.feasible(e) && (!niche_.taken() || niche_.holds(evidence_, e))) good.push_back(&e);
  }
  std::stable_sort(good.begin(), good.end(),
                   [&](auto* a, auto* b) { return evidence_.objective(*a, 0) < evidence_.objective(*b, 0); });
  if (evidence_.objectives.size() < 2) return good;
  std::vector<const Evaluation*> front;  // the first objective ascending, so that none is dominated by a later one
  for (const Evaluation* e : good) {
    const VectorXd own = evidence_.outcome(*e);
    if (std::none_of(front.begin(), front.end(),
                     [&](auto* other) { return (evidence_.outcome(*other).array() <= own.array()).all(); }))
      front.push_back(e);
  }
  return front;
}

// Quasi-random points of the box, and about the best designs: steps of every size along some of the variables.
MatrixXd Ego::candidates(const VectorXd& lower, const VectorXd& upper) const {
  const Index d = dimensions();
  const TrackedModel& model = models_.objectives()[0];
  const std::uint64_t seed = options_.seed * 1000003 + evidence_.told.size() * 101 + evidence_.pending.size();
  const Index rows = model.empty() ? 0 : model.model().samples();
  // predictions at all of them take rows^2 each
  const Index spread = std::min<Index>(200 + 100 * d, rows > 600 ? 150 : rows > 300 ? 300 : 1500);
  const VectorXd box = upper - lower;
  MatrixXd points = (box.asDiagonal() * sobol(static_cast<int>(d), static_cast<int>(spread), seed)).colwise() + lower;
  const auto good = good_designs();
  if (good.empty()) return possible_ones(points);
  Random random(seed);
  const bool front = evidence_.objectives.size() > 1;
  const Index seeds = std::min<Index>(static_cast<Index>(good.size()), front ? 60 : 3),
              around = seeds * std::min<Index>(front ? 20 : 40 + 10 * d, rows > 600 ? 40 : 100);
  const bool repeats = evidence_.noisy();
  points.conservativeResize(Eigen::NoChange, spread + around + (repeats ? static_cast<Index>(good.size()) : 0));
  for (Index i = 0; i < around; ++i) {
    // the best few, or all along the front
    const Index which = front ? i % seeds * static_cast<Index>(good.size()) / seeds : i % seeds;
    VectorXd u = evidence_.unit(*good[static_cast<std::size_t>(which)]);
    const double size = std::pow(10.0, -0.5 - 3 * random.uniform());
    const double share = std::max(1.0 / static_cast<double>(d), random.uniform());
    for (Index k = 0; k < d; ++k)
      if (random.uniform() < share) u(k) += size * random.normal();
    for (Index k = 0; k < d; ++k)
      if (!evidence_.space.real(k) && random.uniform() < share) u(k) = random.uniform();
    points.col(spread + i) = u.cwiseMax(lower).cwiseMin(upper);
  }
  if (repeats)
    for (std::size_t i = 0; i < good.size(); ++i)
      points.col(spread + around + static_cast<Index>(i)) = evidence_.unit(*good[i]);
  return possible_ones(points);
}

// Gradient steps in the real variables, then every other value of each whole number, one at a time.
Found Ego::refine(const Beliefs& beliefs, const VectorXd& start, const VectorXd& lower, const VectorXd& upper) const {
  const DesignSpace& space = evidence_.space;
  const bool large = models_.objectives()[0].model().samples() > 300;
  BoundedSearch limits{lower, upper, large ? 25 : 60, 1e-8, 1e-6};
  for (Index k = 0; k < dimensions(); ++k)
    if (!space.real(k)) limits.lower(k) = limits.upper(k) = start(k);
  Found best{start, beliefs.score(start, nullptr)};
  const Found found =
      maximise([&](const VectorXd& u, VectorXd* slope) { return beliefs.score(u, slope); }, start, limits);
  if (found.value > best.value) best = found;
  for (Index k = 0; k < dimensions(); ++k) {
    if (space.real(k)) continue;
    for (int level = 0; level < std::min(space.levels(k), 50); ++level) {
      VectorXd u = best.at;
      u(k) = space.unit_of_level(k, level);
      const double other = beliefs.score(u, nullptr);
      if (other > best.value) best = {u, other};
    }
  }
  return best;
}

bool Ego::fresh(const VectorXd& u, double within) const {
  const bool noisy = evidence_.noisy();
  if (noisy && options_.repeat) return true;
  return !evidence_.tried(evidence_.space.unit(evidence_.space.design(u)), noisy ? apart : within);
}

// What the acquisition says: without a design where all its maxima were evaluated already.
Plan Ego::by_acquisition(const Beliefs& beliefs, const MatrixXd& candidates, const VectorXd& lower,
                         const VectorXd& upper) const {
  const VectorXd values = beliefs.scores(candidates);
  std::vector<Index> order(static_cast<std::size_t>(candidates.cols()));
  std::iota(order.begin(), order.end(), Index(0));
  std::stable_sort(order.begin(), order.end(), [&](Index a, Index b) { return values(a) > values(b); });
  std::vector<VectorXd> starts;
  const bool large = models_.objectives()[0].model().samples() > 300;
  for (const Index i : order) {
    if (starts.size() >= (large ? 2 : 5)) break;
    if (std::all_of(starts.begin(), starts.end(),
                    [&](const auto& s) { return (s - candidates.col(i)).cwiseAbs().maxCoeff() > 0.05; }))
      starts.push_back(candidates.col(i));
  }
  std::vector<Found> found;
  for (const VectorXd& start : starts) found.push_back(refine(beliefs, start, lower, upper));
  // The best candidate as it is: the refinement may end on a sample.
  found.push_back({candidates.col(order[0]), beliefs.score(candidates.col(order[0]), nullptr)});
  std::stable_sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.value > b.value; });

  Plan plan;
  for (const Found& f : found) {
    if (!fresh(f.at) || !possible(f.at)) continue;
    plan.design = evidence_.space.design(f.at);
    plan.score = f.value;
    break;
  }
  for (std::size_t i = 0; i < order.size() && plan.design.size() == 0; ++i) {
    if (!fresh(candidates.col(order[i]))) continue;
    plan.design = evidence_.space.design(candidates.col(order[i]));
    plan.score = values(order[i]);
  }
  std::ostringstream note;
  note.precision(3);
  if (!beliefs.any_feasible()) {
    note << "likeliest to keep the constraints";
  } else if (evidence_.objectives.size() > 1) {
    note << "front of " << beliefs.front().points.cols() << ", expected hypervolume gain " << std::exp(plan.score);
  } else if (options_.acquisition == AcquisitionKind::lower_confidence_bound) {
    note << "lower confidence bound " << -plan.score;
  } else {
    note << (niche_.taken()  ? "in another basin, for the best is settling: "
             : is_settling() ? "away from the best, which is settling: "
                             : "")
         << "expected improvement " << std::exp(plan.score);
  }
  plan.note = note.str();
  return plan;
}

// Where nothing is known, or too little for a model: with room about it, likely to evaluate and to lie off the plateau.
Plan Ego::fill(const MatrixXd& candidates, bool local, const std::string& why) const {
  Plan plan;
  const Crowd crowd(evidence_);
  const Edge edge(evidence_);
  for (Index i = 0; i < candidates.cols(); ++i) {
    const VectorXd u = candidates.col(i);
    const double value = std::log((local ? crowd.nearest(u) : crowd.room(u)) + 1e-12) +
                         (local ? 2 : 1) * models_.viability().log_probability(evidence_.space.embed(u)) -
                         (local && !edge.inside(u) ? 100 : 0);
    if (value > plan.score) plan.score = value, plan.design = evidence_.space.design(u);
  }
  plan.note = why;
  return plan;
}

// `best` becomes the one of the points inside that the model predicts to cost least, if that is less.
template <class Inside>
static void keep_least(const Kriging& cost, const DesignSpace& space, const MatrixXd& points, const Inside& inside,
                       Found& best) {
  MatrixXd z(space.embedded(), points.cols());
  for (Index i = 0; i < points.cols(); ++i) z.col(i) = space.embed(points.col(i));
  VectorXd mean, variance;
  cost.predict(z, mean, variance);
  for (Index i = 0; i < points.cols(); ++i)
    if (-mean(i) > best.value && inside(points.col(i))) best = {points.col(i), -mean(i)};
}

// The least cost that the model predicts on this side of what fails or is flat: expected improvement keeps its distance from
// an edge, where half of what it hopes for fails. Within a box about the best that grows and shrinks, so that the edge, learned from the
// designs nearest to it, is as sharp as the steps are short.
Plan Ego::along_the_edge() const {
  const DesignSpace& space = evidence_.space;
  const Kriging& cost = models_.objectives()[0].model();
  const VectorXd centre = evidence_.unit(*evidence_.best_of_region());
  const LocalEdge edge(evidence_, centre, edge_side_);
  Found best;
  const auto inside = [&](const VectorXd& u) { return edge.logit(u) > caution_ && fresh(u) && possible(u); };
  const auto consider = [&](const MatrixXd& points) { keep_least(cost, space, points, inside, best); };
  const auto within = [&](VectorXd u) {
    for (Index k = 0; k < dimensions(); ++k)
      u(k) = space.real(k)
                 ? std::clamp(u(k), std::max(0.0, centre(k) - edge_side_), std::min(1.0, centre(k) + edge_side_))
                 : centre(k);
    return u;
  };
  const std::uint64_t seed = options_.seed * 7001 + evidence_.told.size();
  MatrixXd points = sobol(static_cast<int>(dimensions()), static_cast<int>(200 * dimensions()), seed);
  for (Index i = 0; i < points.cols(); ++i)
    points.col(i) = within(centre + edge_side_ * (2 * points.col(i).array() - 1).matrix());
  consider(points);
  Random random(seed);
  for (double size = edge_side_ / 4; size > edge_side_ / 100 && best.at.size() > 0; size /= 3) {
    MatrixXd about(dimensions(), 60);
    for (Index i = 0; i < about.cols(); ++i) {
      VectorXd u = best.at;
      for (double& coordinate : u) coordinate += size * random.normal();
      about.col(i) = within(u);
    }
    consider(about);
  }
  return step_of(best, "what fails or is flat");
}

// The same within the constraints, as far as their models are sure.
Plan Ego::along_the_constraints(const MatrixXd& candidates) const {
  const Kriging& cost = models_.objectives()[0].model();
  const DesignSpace& space = evidence_.space;
  BoundedSearch limits{VectorXd::Zero(dimensions()), VectorXd::Ones(dimensions()), 60, 1e-9, 0};
  for (std::size_t k = 0; k < evidence_.constraints.size(); ++k) {
    const TrackedModel& model = models_.constraints()[k];
    const double limit = model.warp().forward(evidence_.constraints[k].limit);
    const double sign = evidence_.constraints[k].below ? 1 : -1;
    const double unit = std::sqrt(model.model().hyperparameters().variance + 1e-300);
    limits.at_most_zero.push_back([&, limit, sign, unit](const VectorXd& u, VectorXd* slope) {
      const Prediction p = model.model().predict(space.embed(u));
      const double s = std::sqrt(p.variance + 1e-300);
      if (slope) *slope = space.pull_back(sign * p.mean_gradient + 0.5 / s * p.variance_gradient) / unit;
      return (sign * (p.mean - limit) + s) / unit;
    });
  }
  const Edge edge(evidence_);
  const auto inside = [&](const VectorXd& u) {
    return (!edge.exists() || models_.viability().logit(space.embed(u)) > caution_) && fresh(u, finest) && possible(u) &&
           std::all_of(limits.at_most_zero.begin(), limits.at_most_zero.end(),
                       [&](const Smooth& g) { return g(u, nullptr) <= 1e-9; });
  };
  Found best;
  const auto consider = [&](const MatrixXd& points) { keep_least(cost, space, points, inside, best); };
  consider(candidates);
  std::vector<VectorXd> starts = {evidence_.unit(*evidence_.best_of_region())};
  if (best.at.size() > 0) starts.push_back(best.at);
  for (const VectorXd& start : starts) {
    BoundedSearch own = limits;
    for (Index k = 0; k < dimensions(); ++k)
      if (!space.real(k)) own.lower(k) = own.upper(k) = start(k);
    const Found found = maximise(
        [&](const VectorXd& u, VectorXd* slope) {
          const Prediction p = cost.predict(space.embed(u));
          if (slope) *slope = space.pull_back(-p.mean_gradient);
          return -p.mean;
        },
        start, own);
    if (found.value > best.value && inside(found.at)) best = found;
  }
  Random random(options_.seed * 7001 + evidence_.told.size());
  for (double size = 0.05; size > finest && best.at.size() > 0; size /= 3) {
    MatrixXd about(dimensions(), 100);
    for (Index i = 0; i < about.cols(); ++i)
      for (Index k = 0; k < dimensions(); ++k)
        about(k, i) = space.real(k) ? std::clamp(best.at(k) + size * random.normal(), 0.0, 1.0) : best.at(k);
    consider(about);
  }
  return step_of(best, "the constraints");
}

// Its score is the gain that is predicted.
Plan Ego::step_of(const Found& found, const char* edge) const {
  Plan plan;
  if (found.at.size() == 0) return plan;
  plan.design = evidence_.space.design(found.at);
  plan.score =
      models_.objectives()[0].warp().forward(evidence_.objective(*evidence_.best_of_region(), 0)) + found.value;
  plan.note =
      "the least cost on this side of " + std::string(edge) + ": a gain of " + text(plan.score, 3) + " predicted";
  return plan;
}

// A check, where the model sees nothing more to gain: with room about it, and where a model that trusts its
// extrapolation less can rule out least.
Plan Ego::check(double gain) {
  const DesignSpace& space = evidence_.space;
  const TrackedModel& tracked = models_.objectives()[0];
  const int d = static_cast<int>(dimensions());
  const std::uint64_t seed = options_.seed * 1000003 + evidence_.told.size() * 101;
  const MatrixXd points =
      possible_ones(sobol(d, std::min(200 + 100 * d, tracked.model().samples() > 300 ? 300 : 1500), seed));
  MatrixXd z(space.embedded(), points.cols());
  for (Index i = 0; i < points.cols(); ++i) z.col(i) = space.embed(points.col(i));
  VectorXd mean, variance;
  tracked.doubting(longest_in_doubt).predict(z, mean, variance);
  const double least = tracked.warp().forward(evidence_.objective(*evidence_.best(), 0));
  const Crowd crowd(evidence_);
  Plan plan;
  Index doubtful = 0, at = 0;
  for (Index i = 0; i < points.cols(); ++i) {
    const double s = std::sqrt(variance(i) + 1e-300), likely = models_.viability().log_probability(z.col(i));
    doubtful += mean(i) - 2 * s < least - gain && likely > std::log(0.1);
    if (!fresh(points.col(i))) continue;
    const double value =
        std::log(crowd.room(points.col(i)) + 1e-12) + likely - 0.25 * std::clamp((mean(i) - least) / s, 0.0, 8.0);
    if (value > plan.score) plan.score = value, at = i;
  }
  plan.design = space.design(points.col(at));
  account_.not_ruled_out(static_cast<double>(doubtful) / static_cast<double>(points.cols()));
  const Prediction p = tracked.model().predict(z.col(at));
  account_.check(p.mean, std::sqrt(p.variance), evidence_.quantile(0.5, tracked.warp()));
  plan.note = "nothing to gain by the model; check " + std::to_string(account_.quiet() + 1) + " of " +
              std::to_string(account_.needed());
  return plan;
}

// The incumbent's scale: its magnitude, or a little of what costs vary by where it is near 0.
double Ego::least_gain() const {
  const double best = std::abs(evidence_.objective(*evidence_.best(), 0));
  return options_.tolerance * std::max({best, 1e-3 * evidence_.quantile(0.5, Warp()), 1e-300});
}

// The objectives of what was told, without the last ones.
std::vector<VectorXd> Ego::outcomes(std::size_t but_last) const {
  std::vector<VectorXd> all;
  for (std::size_t i = 0; i + but_last < evidence_.told.size(); ++i)
    if (const Evaluation& e = evidence_.told[i]; evidence_.feasible(e)) all.push_back(evidence_.outcome(e));
  return all;
}

// Share of the front's hypervolume that the last evaluations brought.
double Ego::growth_of_front(std::size_t last) const {
  if (evidence_.told.size() < initial_total_ + last) return infinity;
  const Front now = Front::of(outcomes(0));
  Front before = Front::of(outcomes(last));
  before.reference = now.reference;
  return before.points.cols() == 0 ? infinity : 1 - before.hypervolume() / now.hypervolume();
}

// Empty, or why the front of two objectives needs no more designs. The model's word alone is not taken: what it expects
// must be as small as what the last designs brought.
std::string Ego::settled_front(const Plan& plan, const Beliefs& beliefs) const {
  const std::size_t last = 10 + 5 * static_cast<std::size_t>(dimensions());
  const double tolerance = options_.front_tolerance, grown = growth_of_front(last);
  if (!(grown < tolerance)) return {};
  const double expected =
      plan.design.size() == 0 ? 0.0 : std::exp(plan.score) / std::max(beliefs.front().hypervolume(), 1e-300);
  if (!(expected < tolerance)) return {};
  return "the front's hypervolume grew by " + text(100 * grown, 2) + " % in the last " + std::to_string(last) +
         " evaluations, and the model expects the next one to bring " + text(100 * expected, 2) + " %";
}

Plan Ego::next() {
  VectorXd lower, upper;
  search_box(lower, upper);
  const MatrixXd candidates = this->candidates(lower, upper);
  const TrackedModel& cost = models_.objectives()[0];
  account_.no_check();
  const auto telling = std::count_if(evidence_.told.begin() + static_cast<std::ptrdiff_t>(evidence_.from),
                                     evidence_.told.end(), [&](const auto& e) { return evidence_.telling(e); });
  if (evidence_.plateau && telling == 0) {  // the same everywhere so far
    account_.not_ruled_out(1);
    account_.check(0, 0, 0);
    if (account_.satisfied() && evidence_.pending.empty()) {
      Plan plan;
      plan.stopped =
          "the cost is the same wherever it was evaluated, which rules out nothing between; " + evidence_.say_best();
      return plan;
    }
    return fill(candidates, false, "the cost is the same wherever it was evaluated: where there is most room");
  }
  const bool none = cost.empty() || (!evidence_.best_of_region() && evidence_.constraints.empty());
  if (none) return fill(candidates, false, "no usable cost yet: where it may evaluate, far from what was tried");
  const auto bad = static_cast<std::ptrdiff_t>(evidence_.told.size() - evidence_.from) - telling;
  if (bad > 0 && telling < dimensions() + 1)
    return fill(candidates, true, std::to_string(telling) + " designs to model yet: where there may be more");

  const Beliefs beliefs = this->beliefs();
  Plan plan = by_acquisition(beliefs, candidates, lower, upper);
  const bool improves = options_.acquisition == AcquisitionKind::expected_improvement &&
                        evidence_.objectives.size() == 1 && beliefs.any_feasible() && !evidence_.noisy();
  if (improves && !options_.trust_region) {
    const double gain = least_gain();
    const bool nothing = plan.design.size() == 0 || plan.score < std::log(gain);
    const bool edges = bad > 0 || !evidence_.constraints.empty();
    // A model that tells its samples badly hopes everywhere: between its hopes the best basin is descended all the same.
    const bool lumpy = !edges && !niche_.taken() && evidence_.told.size() % 3 == 1 && cost.model().samples() <= 300 &&
                       evidence_.told.size() > initial_total_ && cost.model().leave_one_out().quality() < lumpy_quality;
    Plan step;
    if (lumpy && !nothing) step = along_the_edge();
    // An edge far from the best is no matter: the steps would only polish it.
    const auto near = [&] {
      const VectorXd centre = evidence_.unit(*evidence_.best_of_region());
      return std::any_of(evidence_.told.begin() + static_cast<std::ptrdiff_t>(evidence_.from), evidence_.told.end(),
                         [&](const Evaluation& e) {
                           return !evidence_.telling(e) &&
                                  (evidence_.unit(e) - centre).cwiseAbs().maxCoeff() < std::max(2 * edge_side_, 0.1);
                         });
    };
    if (edges && (!evidence_.constraints.empty() || near()) &&
        (nothing || failed_in_a_row_ >= 2 || evidence_.told.size() % 2 == 1)) {
      step = evidence_.constraints.empty() ? along_the_edge() : along_the_constraints(candidates);
      if (!(step.score > gain)) caution_ = std::max(caution_ - 0.3, -2.0);
    }
    if (step.design.size() > 0 && step.score > gain) {
      plan = step;
      at_edge_ = plan.design;
    } else if (nothing && !niche_.taken() && evidence_.pending.empty()) {
      plan = check(gain);
      if (account_.satisfied())
        plan.stopped = "nothing more to gain by the model, and " + account_.verdict() + "; " + evidence_.say_best();
    }
  }
  if (evidence_.objectives.size() > 1 && beliefs.any_feasible() && !evidence_.noisy() && !options_.trust_region &&
      evidence_.pending.empty())
    plan.stopped = settled_front(plan, beliefs);
  if (plan.design.size() == 0 && plan.stopped.empty())
    plan = fill(candidates, false, "every maximum is evaluated already: where there is room");
  if (plan.design.size() > 0)
    plan.predicted =
        cost.warp().backward(cost.model().predict(evidence_.space.embed(evidence_.space.unit(plan.design))).mean);
  return plan;
}

void Ego::decide() {
  if (initial_.empty() && !evidence_.told.empty() && evidence_.pending.empty()) plan();
}

void Ego::plan() {
  if (plan_) return;
  KrigingOptions kriging;
  kriging.kernel = options_.kernel;
  kriging.trend = options_.trend;
  kriging.nugget = options_.noise;
  evidence_.find_plateau();
  models_.update(evidence_, kriging, options_.gradient);
  const auto& told = evidence_.told;
  if (evidence_.count_usable() == 0 && static_cast<int>(told.size()) >= max_failures() && evidence_.pending.empty()) {
    plan_ = Plan();
    plan_->stopped = "no usable cost in " + std::to_string(told.size()) + " evaluations";
    if (!told.back().reason.empty()) plan_->stopped += "; the last: " + told.back().reason;
  } else {
    plan_ = next();
  }
}

std::vector<VectorXd> Ego::ask(int at_most) {
  std::vector<VectorXd> designs;
  const auto take = [&](const VectorXd& x) {
    designs.push_back(x);
    evidence_.pending.push_back(x);
    last_asked_ = x;
    ++asked_;
    plan_.reset();
  };
  while (!initial_.empty() && static_cast<int>(designs.size()) < at_most) {
    take(VectorXd(initial_.front()));
    initial_.pop_front();
  }
  if (!designs.empty()) return designs;
  while (static_cast<int>(designs.size()) < std::min(at_most, std::max(options_.batch, 1))) {
    if (evidence_.told.empty()) {  // asked for more than the initial designs before any was told
      const MatrixXd more = sobol(static_cast<int>(dimensions()), 1, options_.seed, 1 + asked_);
      take(evidence_.space.design(more.col(0)));
      continue;
    }
    plan();
    if (!plan_->stopped.empty()) break;
    take(VectorXd(plan_->design));
  }
  return designs;
}

// Lengths are in units of the variables' ranges; a category has one for each of its values.
std::vector<std::string> Ego::numbers() const {
  std::vector<std::string> names = {"log_acquisition",  "leave_one_out_quality", "log_likelihood",
                                    "process_variance", "noise_variance",        "warp_width"};
  const DesignSpace& space = evidence_.space;
  for (Index i = 0; i < dimensions(); ++i) {
    const Variable& v = space.variables()[static_cast<std::size_t>(i)];
    const bool category = space.domain(i) == Domain::category;
    for (Index level = 0; level < space.width(i); ++level)
      names.push_back("length_" + v.name + (category ? "_" + text(v.lower + static_cast<double>(level)) : ""));
  }
  if (options_.trust_region) names.push_back("trust_region_side");
  if (evidence_.objectives.size() > 1) names.insert(names.end(), {"front_size", "hypervolume"});
  return names;
}

Iteration Ego::describe(int grid_points) const {
  Iteration out;
  const DesignSpace& space = evidence_.space;
  const auto& told = evidence_.told;
  out.next = last_asked_;
  if (const Evaluation* const least = evidence_.best()) {
    out.best_cost = least->cost;
    out.best_id = least->id;
  }
  if (!plan_ || !evidence_.pending.empty()) {
    out.note = (options_.reason.empty() ? "" : options_.reason + "; ") + std::to_string(told.size()) +
               " designs told, " + std::to_string(initial_.size() + evidence_.pending.size()) +
               " to come before the next model";
    return out;
  }
  const Plan& p = *plan_;
  const TrackedModel& cost = models_.objectives()[0];
  if (evidence_.noisy() && evidence_.objectives.size() == 1 && !cost.empty()) {
    double least = infinity;
    for (const Evaluation& e : told) {
      if (!evidence_.feasible(e)) continue;
      const double predicted = cost.model().predict(space.embed(evidence_.unit(e))).mean;
      if (predicted < least) least = predicted, out.recommended = e.design;
    }
  }
  out.note = p.stopped.empty() ? p.note : p.stopped;
  if (!options_.reason.empty() && told.size() <= initial_total_) out.note = options_.reason + "; " + out.note;
  if (p.design.size() > 0 && p.stopped.empty()) out.next = p.design;
  out.predicted_cost = p.predicted;
  if (cost.empty()) return out;
  const Kriging& model = cost.model();
  const Warp& warp = cost.warp();
  const Hyperparameters& h = model.hyperparameters();
  const double quality = model.leave_one_out().quality();
  std::vector<double> values = {
      p.score, quality, h.likelihood, h.variance, model.noise_variance(), warp.identity() ? 0 : warp.width};
  for (Index i = 0; i < h.log_length.size(); ++i) values.push_back(std::exp(h.log_length(i)));
  if (options_.trust_region) values.push_back(region_.side);
  if (evidence_.objectives.size() > 1) {
    const Front front = Front::of(outcomes(0));
    values.push_back(static_cast<double>(front.points.cols()));
    values.push_back(front.hypervolume());
  }
  const auto names = numbers();
  for (std::size_t i = 0; i < names.size(); ++i) out.numbers.emplace_back(names[i], values[i]);
  std::string lengths;
  for (Index i = 0; i < h.log_length.size(); ++i) lengths += (i ? " " : "") + text(std::exp(h.log_length(i)), 3);
  out.note += "; leave-one-out quality " + text(quality, 3) + ", lengths " + lengths +
              (warp.identity() ? "" : ", costs warped");
  if (dimensions() != 1 || grid_points < 2 || !space.all_real()) return out;
  const Variable& v = space.variables()[0];
  out.grid = VectorXd::LinSpaced(grid_points, v.lower, v.upper);
  VectorXd mean, variance;
  MatrixXd at(1, grid_points);
  for (Index i = 0; i < grid_points; ++i) at.col(i) = space.embed(space.unit(out.grid.segment(i, 1)));
  model.predict(at, mean, variance);
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
  return variables < Niche::least_variables ? 2 * variables + 2 : std::min(3 * variables, 40);
}

std::unique_ptr<Strategy> make_ego(const std::vector<Variable>& variables, const EgoOptions& options) {
  if (options.initial_samples < 0) throw std::invalid_argument("ego: initial samples must not be negative");
  if (options.batch < 1) throw std::invalid_argument("ego: the batch must be at least 1");
  if (!(options.front_tolerance >= 0)) throw std::invalid_argument("ego: the front tolerance must not be negative");
  if (!(options.tolerance >= 0)) throw std::invalid_argument("ego: the tolerance must not be negative");
  if (options.max_failures < 0) throw std::invalid_argument("ego: max failures must not be negative");
  if (!options.objectives.empty() && options.objectives.size() != 2 && options.objectives.size() != 3)
    throw std::invalid_argument("ego: one objective, the cost, or two or three");
  if (options.given.size() > 0 && options.given.rows() != static_cast<Index>(variables.size()))
    throw std::invalid_argument("ego: given designs of another number of variables");
  for (const Evaluation& e : options.known)
    if (e.design.size() != static_cast<Index>(variables.size()))
      throw std::invalid_argument("ego: known evaluations of another number of variables");
  return std::make_unique<Ego>(variables, options);
}

}  // namespace dodyn::surrogate
