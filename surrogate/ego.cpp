#include "surrogate/ego.hpp"

#include <algorithm>
#include <cmath>
#include <deque>
#include <limits>
#include <optional>
#include <sstream>
#include <stdexcept>

#include "record/text.hpp"
#include "surrogate/ego_report.hpp"
#include "surrogate/ego_search.hpp"
#include "surrogate/sampling.hpp"

namespace dodyn::surrogate {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

constexpr double lumpy_quality = 0.9;  // leave-one-out, below which costs are lumpy to the model
constexpr double beside = 0.1;         // of the best, of the range: what lies there tells nothing of the rest
constexpr double polish = 1000;        // a gain of less than so many times the least is no news there

std::string text(double value, int digits = 4) { return formatted("%.*g", digits, value); }

class Ego final : public Strategy, private EgoState {
 public:
  Ego(const std::vector<Variable>& variables, const EgoOptions& chosen);

  std::vector<VectorXd> ask(int at_most) override;
  void tell(const Evaluation& evaluation) override;
  void decide() override;
  std::string stopped() const override { return plan_ ? plan_->stopped : ""; }
  std::string reason() const override { return options.reason; }
  std::vector<std::string> numbers() const override { return names_of_numbers(*this); }
  std::vector<std::string> candidate_columns() const override { return surrogate::candidate_columns(evidence); }
  Iteration describe(int grid_points) const override;

 private:
  void start_initial();
  int max_failures() const {
    return options.max_failures > 0 ? options.max_failures : 20 + 15 * static_cast<int>(dimensions());
  }
  Plan next(std::optional<Beliefs>& beliefs);
  void plan();
  // The search ends, or waits for the designs that are out: what comes of them may reopen it.
  void end(Plan& plan, const std::string& why) const {
    (evidence.pending.empty() ? plan.stopped : plan.note) = why;
    plan.waits = !evidence.pending.empty();
  }

  std::deque<VectorXd> initial_;  // not yet asked
  VectorXd last_asked_;
  std::uint64_t asked_ = 0;
  std::vector<std::pair<VectorXd, Rule>> out_;  // designs asked by a plan and not told yet
  std::optional<Plan> plan_;                    // of what was told and asked so far
};

Ego::Ego(const std::vector<Variable>& variables, const EgoOptions& chosen)
    : EgoState{.options = chosen,
               .evidence = {.space = DesignSpace(variables, chosen.domains, "ego"),
                            .constraints = chosen.constraints,
                            .objectives = chosen.objectives.empty() ? std::vector<int>{-1} : chosen.objectives,
                            .costs_noisy = chosen.noise},
               .models = {std::max<std::size_t>(chosen.objectives.size(), 1), chosen.constraints.size()},
               .account = StopAccount(static_cast<Index>(variables.size()))} {
  if (!evidence.space.all_real()) options.gradient = false;
  const Evaluation* least = nullptr;
  for (const Evaluation& e : options.known)
    if (evidence.feasible(e) && (!least || evidence.objective(e, 0) < evidence.objective(*least, 0))) least = &e;
  if (least) initial_.push_back(least->design);
  for (Index i = 0; i < options.given.cols(); ++i) initial_.push_back(options.given.col(i));
  for (const Evaluation& e : options.known) {
    if (&e == least) continue;
    evidence.told.push_back(e);
    evidence.told.back().id = -1;
    if (std::isnan(e.cost_stderr)) evidence.told.back().cost_stderr = 0;
  }
  start_initial();
}

void Ego::start_initial() {
  for (const VectorXd& x : initial_designs(*this)) initial_.push_back(x);
  initial_total = initial_.size() + (region.restarts == 0 ? evidence.told.size() : 0);
}

void Ego::tell(const Evaluation& e) {
  if (e.design.size() != dimensions()) throw std::invalid_argument("ego: told a design of another number of variables");
  const Evaluation* const before = evidence.best();
  const double best_before = before ? evidence.objective(*before, 0) : infinity;
  const VectorXd before_at = before ? evidence.unit(*before) : VectorXd();
  const auto same = [&](const VectorXd& x) { return x == e.design; };
  auto& pending = evidence.pending;
  if (const auto at = std::find_if(pending.begin(), pending.end(), same); at != pending.end()) {
    pending.erase(at);
  } else if (const auto first = std::find_if(initial_.begin(), initial_.end(), same); first != initial_.end()) {
    initial_.erase(first);  // told without having been asked: a replay
  }
  Rule rule = Rule::acquisition;
  if (const auto at = std::find_if(out_.begin(), out_.end(), [&](const auto& o) { return o.first == e.design; });
      at != out_.end()) {
    rule = at->second;
    out_.erase(at);
  }
  const double worth = before ? least_gain() : 0;
  const bool was_initial = evidence.told.size() < initial_total + evidence.from;
  evidence.told.push_back(e);
  if (std::isnan(e.cost_stderr)) evidence.told.back().cost_stderr = 0;
  plan_.reset();
  if (was_initial) return;
  failed_in_a_row = evidence.telling(e) ? 0 : failed_in_a_row + 1;
  if (rule == Rule::edge || rule == Rule::limits) {
    const bool kept = evidence.constraints.empty() ? evidence.telling(e) : evidence.feasible(e);
    caution = std::clamp(caution + (kept ? -0.5 : 0.7), -2.0, 4.0);
    const bool gains = evidence.feasible(e) && evidence.objective(e, 0) < best_before - worth;
    edge_side = std::clamp(edge_side * (gains ? 1.6 : 0.7), 4 * resolution, longest_edge_step);
  } else {
    hopes_failed = evidence.telling(e) ? hopes_failed / 2 : hopes_failed + 1;
  }
  const double gained = evidence.feasible(e) ? best_before - evidence.objective(e, 0) : 0;
  const bool elsewhere = before_at.size() > 0 && (evidence.unit(e) - before_at).cwiseAbs().maxCoeff() > beside;
  std::optional<double> seen;
  if (evidence.telling(e)) seen = evidence.objective(e, 0);
  const bool was_check = rule == Rule::check && !evidence.noisy();
  const bool lower = account.told(e.design, seen, gained > (elsewhere ? 1 : polish) * worth);
  niche.told(evidence, is_settling() || was_check, lower && was_check, options.batch);
  if (!options.trust_region) return;
  const bool success = evidence.feasible(e) && evidence.objective(e, 0) < best_before - 1e-3 * std::abs(best_before);
  const int patience = static_cast<int>(std::max<Index>(4, dimensions())) / (options.gradient ? 2 : 1);
  if (region.told(success, patience) && pending.empty()) {  // nothing more to gain here: elsewhere
    region.restart();
    evidence.from = evidence.told.size();
    start_initial();
  }
}

Plan Ego::next(std::optional<Beliefs>& thought) {
  VectorXd lower, upper;
  search_box(*this, lower, upper);
  const MatrixXd candidates = candidates_in(*this, lower, upper);
  const TrackedModel& cost = models.objectives()[0];
  const auto telling = std::count_if(evidence.told.begin() + static_cast<std::ptrdiff_t>(evidence.from),
                                     evidence.told.end(), [&](const auto& e) { return evidence.telling(e); });
  if (evidence.plateau && telling == 0) {  // the same everywhere so far
    account.not_ruled_out(1);
    const std::string same = evidence.noisy()
                                 ? "the cost is the same, within its standard errors, wherever it was evaluated"
                                 : "the cost is the same wherever it was evaluated";
    if (account.satisfied()) {
      Plan plan;
      end(plan, same + ", which rules out nothing between; " + evidence.say_best());
      return plan;
    }
    Plan plan = fill(*this, candidates, false, same + ": where there is most room");
    account.expect(plan.design, {});
    return plan;
  }
  const bool none = cost.empty() || (!evidence.best_of_region() && evidence.constraints.empty());
  if (none) return fill(*this, candidates, false, "no usable cost yet: where it may evaluate, far from what was tried");
  const auto bad = static_cast<std::ptrdiff_t>(evidence.told.size() - evidence.from) - telling;
  if (bad > 0 && telling < dimensions() + 1)
    return fill(*this, candidates, true, std::to_string(telling) + " designs to model yet: where there may be more");

  account.without_cost(static_cast<double>(bad) / static_cast<double>(evidence.told.size() - evidence.from));
  const Beliefs& beliefs = thought.emplace(beliefs_of(*this));
  Plan plan = by_acquisition(*this, beliefs, candidates, lower, upper);
  const bool improves = evidence.objectives.size() == 1 && beliefs.any_feasible() && !evidence.noisy();
  if (improves && !options.trust_region) {
    const double gain = least_gain();
    const bool nothing = plan.design.size() == 0 || plan.score < std::log(gain);
    const bool edges = bad > 0 || !evidence.constraints.empty();
    // A model that tells its samples badly hopes everywhere: between its hopes the best basin is descended all the same.
    const bool lumpy = !edges && !niche.taken() && evidence.told.size() % 3 == 1 && cost.model().samples() <= 300 &&
                       evidence.told.size() > initial_total && cost.model().leave_one_out().quality() < lumpy_quality;
    Plan step;
    if (lumpy && !nothing) step = along_the_edge(*this);
    // An edge far from the best is no matter: the steps would only polish it.
    const auto near = [&] {
      const VectorXd centre = evidence.unit(*evidence.best_of_region());
      return std::any_of(evidence.told.begin() + static_cast<std::ptrdiff_t>(evidence.from), evidence.told.end(),
                         [&](const Evaluation& e) {
                           return !evidence.telling(e) &&
                                  (evidence.unit(e) - centre).cwiseAbs().maxCoeff() < std::max(2 * edge_side, 0.1);
                         });
    };
    if (edges && (!evidence.constraints.empty() || near()) &&
        (nothing || failed_in_a_row >= 2 || evidence.told.size() % 2 == 1)) {
      step = evidence.constraints.empty() ? along_the_edge(*this) : along_the_constraints(*this, candidates);
      if (!(step.score > gain)) caution = std::max(caution - 0.3, -2.0);
    }
    step.considered.insert(step.considered.end(), plan.considered.begin(), plan.considered.end());
    plan.considered = step.considered;
    if (step.design.size() > 0 && step.score > gain) {
      plan = step;
    } else if (nothing && !niche.taken()) {
      step = check(*this, gain);
      step.considered.insert(step.considered.begin(), plan.considered.begin(), plan.considered.end());
      plan = step;
      if (account.satisfied())
        end(plan, "nothing more to gain by the model, and " + account.verdict() + "; " + evidence.say_best());
    }
  }
  if (evidence.objectives.size() > 1 && beliefs.any_feasible() && !evidence.noisy() && !options.trust_region)
    if (const std::string settled = settled_front(*this, plan, beliefs); !settled.empty()) end(plan, settled);
  if (plan.waits) return plan;
  if (plan.design.size() == 0 && plan.stopped.empty())
    plan = fill(*this, candidates, false, "every maximum is evaluated already: where there is room");
  if (plan.design.size() == 0) return plan;
  const VectorXd unit = evidence.space.unit(plan.design);
  const Prediction p = cost.model().predict(evidence.space.embed(unit));
  plan.predicted = cost.warp().backward(p.mean);
  if (improves && !niche.taken() &&
      (plan.rule == Rule::check || (unit - evidence.unit(*evidence.best())).cwiseAbs().maxCoeff() > beside))
    account.expect(plan.design, {cost.warp(), p.mean, std::sqrt(p.variance), evidence.quantile(0.5, cost.warp())});
  return plan;
}

void Ego::decide() {
  if (initial_.empty() && !evidence.told.empty() && evidence.pending.empty()) plan();
}

void Ego::plan() {
  if (plan_) return;
  KrigingOptions kriging;
  kriging.trend = options.trend;
  kriging.nugget = options.noise;
  evidence.find_plateau();
  models.update(evidence, kriging, options.gradient);
  const auto& told = evidence.told;
  if (evidence.count_usable() == 0 && static_cast<int>(told.size()) >= max_failures()) {
    plan_ = Plan();
    end(*plan_, "no usable cost in " + std::to_string(told.size()) + " evaluations" +
                    (told.back().reason.empty() ? "" : "; the last: " + told.back().reason));
  } else {
    std::optional<Beliefs> beliefs;
    plan_ = next(beliefs);
    plan_->candidates = candidates_of(*this, *plan_, beliefs);
    if (beliefs) plan_->compared = beliefs->incumbent(), plan_->trusted = beliefs->options();
  }
}

std::vector<VectorXd> Ego::ask(int at_most) {
  std::vector<VectorXd> designs;
  const auto take = [&](const VectorXd& x) {
    designs.push_back(x);
    evidence.pending.push_back(x);
    last_asked_ = x;
    ++asked_;
    plan_.reset();
  };
  while (!initial_.empty() && static_cast<int>(designs.size()) < at_most) {
    take(VectorXd(initial_.front()));
    initial_.pop_front();
  }
  if (!designs.empty()) return designs;
  if (options.trust_region && region.spent() && !evidence.pending.empty()) return {};  // elsewhere, once these are told
  while (static_cast<int>(designs.size()) < std::min(at_most, std::max(options.batch, 1))) {
    if (evidence.told.empty()) {  // asked for more than the initial designs before any was told
      const MatrixXd more = sobol(static_cast<int>(dimensions()), 1, options.seed, 1 + asked_);
      take(evidence.space.design(more.col(0)));
      continue;
    }
    plan();
    if (!plan_->stopped.empty() || plan_->waits) break;
    out_.emplace_back(plan_->design, plan_->rule);
    take(VectorXd(plan_->design));
  }
  return designs;
}

Iteration Ego::describe(int grid_points) const {
  Iteration out;
  const DesignSpace& space = evidence.space;
  const auto& told = evidence.told;
  out.next = last_asked_;
  if (const Evaluation* const least = evidence.best()) {
    out.best_cost = least->cost;
    out.best_id = least->id;
  }
  if (!plan_ || !evidence.pending.empty()) {
    out.note = (options.reason.empty() ? "" : options.reason + "; ") + std::to_string(told.size()) + " designs told, " +
               std::to_string(initial_.size() + evidence.pending.size()) + " to come before the next model";
    return out;
  }
  const Plan& p = *plan_;
  const TrackedModel& cost = models.objectives()[0];
  if (evidence.noisy() && evidence.objectives.size() == 1 && !cost.empty()) {
    double least = infinity;
    for (const Evaluation& e : told) {
      if (!evidence.feasible(e)) continue;
      const double predicted =
          evidence.telling(e) ? cost.model().predict(space.embed(evidence.unit(e))).mean : evidence.plateau->cost;
      if (predicted < least) least = predicted, out.recommended = e.design;
    }
  }
  out.note = p.stopped.empty() ? p.note : p.stopped;
  if (!options.reason.empty() && told.size() <= initial_total) out.note = options.reason + "; " + out.note;
  if (p.design.size() > 0 && p.stopped.empty()) out.next = p.design;
  out.predicted_cost = p.predicted;
  out.candidates = p.candidates;
  if (cost.empty()) return out;
  const Kriging& model = cost.model();
  const Hyperparameters& h = model.hyperparameters();
  const auto names = numbers();
  const auto values = numbers_of(*this, p);
  for (std::size_t i = 0; i < names.size(); ++i) out.numbers.emplace_back(names[i], values[i]);
  std::string lengths;
  for (Index i = 0; i < h.log_length.size(); ++i) lengths += (i ? " " : "") + text(std::exp(h.log_length(i)), 3);
  out.note += "; leave-one-out quality " + text(model.leave_one_out().quality(), 3) + ", lengths " + lengths +
              (cost.warp().identity() ? "" : ", costs warped");
  add_curve(*this, grid_points, out);
  return out;
}

}  // namespace

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
