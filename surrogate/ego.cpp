#include "surrogate/ego.hpp"

#include <algorithm>
#include <cmath>
#include <deque>
#include <limits>
#include <numeric>
#include <optional>
#include <sstream>
#include <stdexcept>

#include "surrogate/bounded_search.hpp"
#include "surrogate/niche.hpp"
#include "surrogate/random.hpp"
#include "surrogate/sampling.hpp"
#include "surrogate/trust_region.hpp"

namespace dodyn::surrogate {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double same_design = 1e-7;      // of the range
constexpr double apart = 5e-3;            // the same, where costs are lumpy but repeat
constexpr double longest_in_doubt = 0.5;  // length of the model, of the range, when looking away from the best

std::string text(double value, int digits = 4) {
  std::ostringstream out;
  out.precision(digits);
  out << value;
  return out.str();
}

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
  Plan somewhere_that_evaluates(const MatrixXd& candidates) const;
  MatrixXd candidates(const VectorXd& lower, const VectorXd& upper) const;
  std::vector<const Evaluation*> good_designs() const;
  Found refine(const Beliefs& beliefs, const VectorXd& start, const VectorXd& lower, const VectorXd& upper) const;
  Plan next() const;
  void plan();

  EgoOptions options_;
  Evidence evidence_;
  Models models_;
  TrustRegion region_;
  Niche niche_;
  std::deque<VectorXd> initial_;  // not yet asked
  std::size_t initial_total_ = 0;
  VectorXd last_asked_;
  std::uint64_t asked_ = 0;
  std::optional<Plan> plan_;  // of what was told and asked so far
};

Ego::Ego(const std::vector<Variable>& variables, const EgoOptions& options)
    : options_(options),
      evidence_{.space = DesignSpace(variables, options.domains, "ego"),
                .constraints = options.constraints,
                .objectives = options.objectives.empty() ? std::vector<int>{-1} : options.objectives,
                .costs_noisy = options.noise},
      models_(evidence_.objectives.size(), options.constraints.size()) {
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
  std::vector<VectorXd> added;
  for (Index i = 0; i < x.cols(); ++i) {
    const VectorXd next = evidence_.space.design(x.col(i));
    const bool repeated = !evidence_.space.all_real() &&
                          std::any_of(added.begin(), added.end(), [&](const auto& a) { return a == next; });
    if (repeated) continue;
    added.push_back(next);
    initial_.push_back(next);
  }
  initial_total_ = initial_.size() + (restarts == 0 ? evidence_.told.size() : 0);
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
  const bool was_initial = evidence_.told.size() < initial_total_ + evidence_.from;
  evidence_.told.push_back(e);
  if (std::isnan(e.cost_stderr)) evidence_.told.back().cost_stderr = 0;
  plan_.reset();
  if (was_initial) return;
  niche_.told(evidence_, is_settling(), options_.batch);
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
  BeliefOptions o{options_.acquisition, options_.confidence_weight, options_.pending, options_.seed, 0, {}, 0};
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

// No cost yet: where it may evaluate, far from what was tried.
Plan Ego::somewhere_that_evaluates(const MatrixXd& candidates) const {
  Plan plan;
  for (Index i = 0; i < candidates.cols(); ++i) {
    double nearest = 1;
    for (const Evaluation& e : evidence_.told)
      nearest = std::min(nearest, (evidence_.unit(e) - candidates.col(i)).norm());
    for (const VectorXd& x : evidence_.pending)
      nearest = std::min(nearest, (evidence_.space.unit(x) - candidates.col(i)).norm());
    const double value =
        std::log(nearest + 1e-12) + models_.viability().log_probability(evidence_.space.embed(candidates.col(i)));
    if (value > plan.score) plan.score = value, plan.design = evidence_.space.design(candidates.col(i));
  }
  plan.note = "no usable cost yet: where it may evaluate, far from what was tried";
  return plan;
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
  return good;
}

// Quasi-random points of the box, and about the best designs: steps of every size along some of the variables.
MatrixXd Ego::candidates(const VectorXd& lower, const VectorXd& upper) const {
  const Index d = dimensions();
  const TrackedModel& model = models_.objectives()[0];
  const std::uint64_t seed = options_.seed * 1000003 + evidence_.told.size() * 101 + evidence_.pending.size();
  const Index rows = model.empty() ? 0 : model.model().samples();
  const Index spread = std::min<Index>(200 + 100 * d, rows > 300 ? 300 : 1500);
  const VectorXd box = upper - lower;
  MatrixXd points = (box.asDiagonal() * sobol(static_cast<int>(d), static_cast<int>(spread), seed)).colwise() + lower;
  const auto good = good_designs();
  if (good.empty()) return points;
  Random random(seed);
  const Index seeds = std::min<Index>(static_cast<Index>(good.size()), 3),
              around = seeds * std::min<Index>(40 + 10 * d, 100);
  const bool repeats = evidence_.noisy();
  points.conservativeResize(Eigen::NoChange, spread + around + (repeats ? static_cast<Index>(good.size()) : 0));
  for (Index i = 0; i < around; ++i) {
    VectorXd u = evidence_.unit(*good[static_cast<std::size_t>(i % seeds)]);
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
  return points;
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
    for (double level = 0; level <= std::min(space.range()(k), 50.0); ++level) {
      VectorXd u = best.at;
      u(k) = space.range()(k) > 0 ? level / space.range()(k) : 0;
      const double other = beliefs.score(u, nullptr);
      if (other > best.value) best = {u, other};
    }
  }
  return best;
}

Plan Ego::next() const {
  const DesignSpace& space = evidence_.space;
  VectorXd lower, upper;
  search_box(lower, upper);
  const Beliefs beliefs = this->beliefs();
  const MatrixXd candidates = this->candidates(lower, upper);
  if (models_.objectives()[0].empty() || (!beliefs.any_feasible() && evidence_.constraints.empty()))
    return somewhere_that_evaluates(candidates);

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
  const bool noisy = evidence_.noisy();
  const double too_near = noisy && !options_.repeat ? apart : same_design;
  const auto fresh = [&](const VectorXd& u) { return !evidence_.tried(space.unit(space.design(u)), too_near); };
  for (const Found& f : found) {
    if (!(noisy && options_.repeat) && !fresh(f.at)) continue;
    plan.design = space.design(f.at);
    plan.score = f.value;
    break;
  }
  const Evaluation* const least = evidence_.best();
  if (plan.design.size() == 0) {
    // every maximum is a sample already
    if (evidence_.pending.empty() && least && !niche_.taken() && !noisy) {
      plan.stopped = "the model has its best where it was evaluated already; " + evidence_.say_best();
      return plan;
    }
    plan.design = space.design(candidates.col(order.back()));
    for (const Index i : order) {
      if (!fresh(candidates.col(i))) continue;
      plan.design = space.design(candidates.col(i));
      plan.score = values(i);
      break;
    }
  }
  const TrackedModel& cost = models_.objectives()[0];
  plan.predicted = cost.warp().backward(cost.model().predict(space.embed(space.unit(plan.design))).mean);
  const bool by_bound = options_.acquisition == AcquisitionKind::lower_confidence_bound;
  std::ostringstream note;
  note.precision(3);
  if (!beliefs.any_feasible()) {
    note << "likeliest to keep the constraints";
  } else if (evidence_.objectives.size() == 2) {
    note << "front of " << beliefs.front().points.cols() << ", expected hypervolume gain " << std::exp(plan.score);
  } else if (by_bound) {
    note << "lower confidence bound " << -plan.score;
  } else {
    note << (niche_.taken()  ? "in another basin, for the best is settling: "
             : is_settling() ? "away from the best, which is settling: "
                             : "")
         << "expected improvement " << std::exp(plan.score);
  }
  plan.note = note.str();

  // The incumbent's scale: its magnitude, or a little of what costs vary by where it is near 0.
  if (least && evidence_.objectives.size() == 1 && evidence_.pending.empty() && beliefs.any_feasible() &&
      !niche_.taken() && !is_settling() && !by_bound && !options_.trust_region) {
    const auto good = good_designs();
    const double best = evidence_.objective(*good.front(), 0);
    const double scale = std::max(std::abs(best), 1e-3 * (evidence_.objective(*good[good.size() / 2], 0) - best));
    if (plan.score < std::log(options_.tolerance * std::max(scale, 1e-300)))
      plan.stopped = "expected improvement below the tolerance; " + evidence_.say_best();
  }
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
  models_.update(evidence_, kriging, options_.gradient);
  const auto& told = evidence_.told;
  if (evidence_.count_usable() == 0 && static_cast<int>(told.size()) >= options_.max_failures &&
      evidence_.pending.empty()) {
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
  model.predict(((out.grid.array() - v.lower) / space.range()(0)).matrix().transpose(), mean, variance);
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
