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
#include "surrogate/random.hpp"
#include "surrogate/sampling.hpp"

namespace dodyn::surrogate {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

constexpr double irregular_quality = 0.9;  // leave-one-out R2 below which the costs are irregular for the
                                           // model
constexpr double beside = 0.1;             // relative to the range: designs this near to the best carry no information
                                           // about the rest
constexpr double least_explained = 0.5;    // leave-one-out R2 that a model of noisy costs must have to end the search
constexpr int points_of_open_part = 200;   // number of points in the whole box for undecided_region()
constexpr int points_around = 100;         // for noisy costs: number of further points around the recommended design
constexpr int max_tries_of_filling = 1000;
constexpr double minor_gain_factor = 1000;  // near the best design, a gain below this multiple of least_gain() does not
                                            // reset the stop rule

std::string text(double value, int digits = 4) { return formatted("%.*g", digits, value); }

class Ego final : public Strategy, private EgoState {
 public:
  Ego(const std::vector<Variable>& variables, const EgoOptions& chosen);

  std::vector<VectorXd> ask(int at_most) override;
  void tell(const Evaluation& evaluation) override;
  void decide() override;
  std::string stopped() const override { return plan_ ? plan_->stopped : ""; }
  double undecided_fraction() const override;
  bool uses_paired_costs() const override { return options.paired; }
  std::string reason() const override { return options.reason; }
  std::vector<std::string> numbers() const override { return names_of_numbers(*this); }
  std::vector<std::string> candidate_columns() const override { return surrogate::candidate_columns(observed); }
  Iteration describe(int grid_points) const override;

 private:
  void start_initial();
  std::optional<VectorXd> next_of_filling();
  int max_failures() const {
    return options.max_failures > 0 ? options.max_failures : 20 + 15 * static_cast<int>(dimensions());
  }
  Proposal next(std::optional<AcquisitionModel>& acquisition);
  std::optional<Proposal> without_model(const MatrixXd& candidates, std::ptrdiff_t informative, std::ptrdiff_t failed);
  bool best_is_near_an_edge() const;
  bool descends_locally() const;
  void step_or_check(Proposal& proposal, const MatrixXd& candidates, bool failures);
  void check_or_end(Proposal& proposal, double gain);
  void choose();
  bool explains_noisy_costs() const;
  void compare_or_check(Proposal& proposal);
  void proposal();
  // Ends the search. If designs are still running it waits instead, since their results may continue it.
  void end(Proposal& proposal, const std::string& why) const {
    (observed.pending.empty() ? proposal.stopped : proposal.note) = why;
    proposal.waits = !observed.pending.empty();
  }

  std::deque<VectorXd> initial_;  // not yet asked
  VectorXd last_asked_;
  // skipped_: number of points of the space-filling sequence that were not allowed
  std::uint64_t asked_ = 0, skipped_ = 0;
  struct Running {
    VectorXd design;
    Rule rule;
    LocalDescent::Step step;  // next step of the descent
  };
  std::vector<Running> running_;  // designs of a proposal that are not evaluated yet
  std::optional<Proposal> plan_;  // the proposal for the present results and requests
};

Ego::Ego(const std::vector<Variable>& variables, const EgoOptions& chosen)
    : EgoState{.options = chosen,
               .observed = {.space = DesignSpace(variables, chosen.domains, "ego"),
                            .constraints = chosen.constraints,
                            .objectives = chosen.objectives.empty() ? std::vector<int>{-1} : chosen.objectives,
                            .costs_noisy = chosen.noise,
                            .costs_paired = chosen.paired},
               .models = {std::max<std::size_t>(chosen.objectives.size(), 1), chosen.constraints.size()},
               .stop_rule = StopRule(variables.size())} {
  if (!observed.space.all_real()) options.gradient = false;
  std::erase_if(options.known, [this](const Evaluation& e) { return !is_within(e.design); });
  is_local_turn = descends_first();
  local = new_descent();
  const Evaluation* least = nullptr;
  for (const Evaluation& e : options.known)
    if (observed.feasible(e) && (!least || observed.objective(e, 0) < observed.objective(*least, 0))) least = &e;
  if (least) initial_.push_back(least->design);
  if (!options.low_fidelity.empty()) {
    ObservedData low = observed;
    low.costs_noisy = options.low_fidelity_noise;
    low.evaluations = options.low_fidelity;
    for (Evaluation& e : low.evaluations)
      if (std::isnan(e.cost_stderr)) e.cost_stderr = 0;
    const Evaluation* const best =
        models.set_low_fidelity(low, [this](const VectorXd& unit) { return possible(unit); });
    if (best) initial_.push_back(best->design);
  }
  for (Index i = 0; i < options.given.cols(); ++i) initial_.push_back(options.given.col(i));
  for (const Evaluation& e : options.known) {
    if (&e == least) continue;
    observed.evaluations.push_back(e);
    observed.evaluations.back().id = -1;
    if (std::isnan(e.cost_stderr)) observed.evaluations.back().cost_stderr = 0;
  }
  start_initial();
  if (initial_.empty() && observed.evaluations.empty())
    throw std::invalid_argument("ego: " + std::string(nothing_within));
}

void Ego::start_initial() {
  const auto is_new = [&](const VectorXd& x) {  // few values of the variables: designs repeat
    return std::find(initial_.begin(), initial_.end(), x) == initial_.end() && observed.count_of(x) == 0;
  };
  for (const VectorXd& x : initial_designs(*this))
    if (is_within(x) && is_new(x)) initial_.push_back(x);
  initial_total = initial_.size() + (region.restarts == 0 ? observed.evaluations.size() : 0);
}

void Ego::tell(const Evaluation& e) {
  if (e.design.size() != dimensions())
    throw std::invalid_argument("ego: an evaluated design has another number of variables");
  const Evaluation* const before = observed.best();
  const double best_before = before ? observed.objective(*before, 0) : infinity;
  const Evaluation* const before_here = observed.best_of_region();
  const double best_before_here = before_here ? observed.objective(*before_here, 0) : infinity;
  const VectorXd before_at = before ? observed.unit(*before) : VectorXd();
  const auto same = [&](const VectorXd& x) { return x == e.design; };
  auto& pending = observed.pending;
  if (const auto at = std::find_if(pending.begin(), pending.end(), same); at != pending.end()) {
    pending.erase(at);
  } else if (const auto first = std::find_if(initial_.begin(), initial_.end(), same); first != initial_.end()) {
    initial_.erase(first);  // a replay evaluates designs without ask()
  }
  Rule rule = Rule::acquisition;
  LocalDescent::Step step;
  if (const auto at =
          std::find_if(running_.begin(), running_.end(), [&](const auto& r) { return r.design == e.design; });
      at != running_.end()) {
    rule = at->rule;
    step = at->step;
    running_.erase(at);
  }
  const double worth = before ? least_gain() : 0;
  const bool was_initial = observed.evaluations.size() < initial_total + observed.from;
  observed.evaluations.push_back(e);
  if (std::isnan(e.cost_stderr)) observed.evaluations.back().cost_stderr = 0;
  plan_.reset();
  if (was_initial) return;
  consecutive_failures = observed.is_informative(e) ? 0 : consecutive_failures + 1;
  if (rule == Rule::edge || rule == Rule::limits) {
    const bool kept = observed.constraints.empty() ? observed.is_informative(e) : observed.feasible(e);
    required_log_odds = std::clamp(required_log_odds + (kept ? -0.5 : 0.7), -2.0, 4.0);
    const bool gains = observed.feasible(e) && observed.objective(e, 0) < best_before - worth;
    edge_side = std::clamp(edge_side * (gains ? 1.6 : 0.7), 4 * resolution, longest_edge_step);
  } else {
    unpredicted_failures = observed.is_informative(e) ? unpredicted_failures / 2 : unpredicted_failures + 1;
  }
  const double gained = observed.feasible(e) ? best_before - observed.objective(e, 0) : 0;
  if (before_here) {
    const double gain = observed.feasible(e) ? std::max(best_before_here - observed.objective(e, 0), 0.0) : 0;
    local.observe(observed, step, gain, worth);
    is_local_turn = rule == Rule::descent ? gain > worth || options.trust_region : gain <= worth || descends_first();
  }
  const bool elsewhere = before_at.size() > 0 && (observed.unit(e) - before_at).cwiseAbs().maxCoeff() > beside;
  std::optional<double> seen;
  if (observed.is_informative(e)) seen = observed.objective(e, 0);
  const bool was_check = rule == Rule::check && !observed.noisy();
  const bool gains = !costs_uncertain() && gained > (elsewhere ? 1 : minor_gain_factor) * worth;
  const bool lower = stop_rule.observe(e.design, seen, gains);
  basin_search.observe(observed, is_settling() || was_check, lower && was_check, batch());
  if (!options.trust_region) return;
  const bool success = observed.feasible(e) && observed.objective(e, 0) < best_before - 1e-3 * std::abs(best_before);
  const int patience = static_cast<int>(std::max<Index>(4, dimensions())) / (has_descent() ? 2 : 1);
  const double side = region.side;
  if (rule != Rule::descent) region.observe(success, patience);
  // Ends the region if it shrinks after the descent has converged: smaller regions about that minimum gain nothing.
  if (region.side < side && descends_locally() && step_of_descent(*this).design.size() == 0) region.exhaust();
  if (region.spent() && pending.empty()) {  // the search restarts elsewhere
    region.restart();
    local = new_descent();
    observed.from = observed.evaluations.size();
    start_initial();
  }
}

// Returns a proposal if there are too few informative evaluations for a model; nullopt: there are enough.
// `informative`: their number.
std::optional<Proposal> Ego::without_model(const MatrixXd& candidates, std::ptrdiff_t informative,
                                           std::ptrdiff_t failed) {
  if (observed.plateau && informative == 0) {  // all costs are equal up to now
    stop_rule.undecided_fraction(1);
    const std::string same = std::string(same_cost) + (observed.noisy() ? ", within its standard errors," : "") +
                             " wherever it was evaluated";
    if (stop_rule.satisfied()) {
      Proposal proposal;
      end(proposal, same + ", but a better design may lie between these; " + observed.say_best());
      return proposal;
    }
    Proposal proposal = fill(*this, candidates, false, same + ": where there is most room");
    stop_rule.expect(proposal.design, {});
    return proposal;
  }
  if (models.objectives()[0].empty() || (!observed.best_of_region() && observed.constraints.empty()))
    return fill(*this, candidates, false, "no usable cost yet: where it may evaluate, far from what was tried");
  if (failed > 0 && informative < dimensions() + 1)
    return fill(*this, candidates, true,
                std::to_string(informative) + " designs to model yet: where there may be more");
  return std::nullopt;
}

// Whether a design that failed or is on the plateau is near the best design. Steps along an edge far from the best
// design would refine another design.
bool Ego::best_is_near_an_edge() const {
  const VectorXd centre = observed.unit(*observed.best_of_region());
  return std::any_of(observed.evaluations.begin() + static_cast<std::ptrdiff_t>(observed.from),
                     observed.evaluations.end(), [&](const Evaluation& e) {
                       return !observed.is_informative(e) &&
                              (observed.unit(e) - centre).cwiseAbs().maxCoeff() < std::max(2 * edge_side, 0.1);
                     });
}

// Whether the local descent takes part, and has no running design. The best design must be away from failures.
bool Ego::descends_locally() const {
  return has_descent() && observed.best_of_region() && !best_is_near_an_edge() &&
         std::none_of(running_.begin(), running_.end(), [](const Running& r) { return r.rule == Rule::descent; });
}

// Replaces a proposal of the acquisition by a step along an edge if the step is predicted to gain. If the acquisition
// predicts no gain either, replaces the proposal by a check of the model, or ends the search if checks suffice.
void Ego::step_or_check(Proposal& proposal, const MatrixXd& candidates, bool failures) {
  const Kriging& cost = models.objectives()[0].model();
  const double gain = least_gain();
  const bool nothing = proposal.design.size() == 0 || proposal.score < std::log(gain);
  const bool edges = failures || !observed.constraints.empty();
  // A poor model expects gains everywhere. Between its proposals the search still descends the best basin.
  const bool irregular = !edges && !descends() && next_number() % 3 == 1 && cost.samples() <= 300 &&
                         observed.evaluations.size() > initial_total &&
                         cost.leave_one_out().quality() < irregular_quality;
  Proposal step;
  if (irregular && !nothing) step = along_the_edge(*this);
  if (edges && (!observed.constraints.empty() || best_is_near_an_edge()) &&
      (nothing || consecutive_failures >= 2 || next_number() % 2 == 1)) {
    step = observed.constraints.empty() ? along_the_edge(*this) : along_the_constraints(*this, candidates);
    if (!(step.score > gain)) required_log_odds = std::max(required_log_odds - 0.3, -2.0);
  }
  step.considered.insert(step.considered.end(), proposal.considered.begin(), proposal.considered.end());
  proposal.considered = step.considered;
  if (step.design.size() > 0 && step.score > gain) {
    proposal = step;
  } else if (nothing && !descends()) {
    check_or_end(proposal, gain);
  }
}

// Replaces a proposal by a check of the model. Ends the search once checks suffice.
void Ego::check_or_end(Proposal& proposal, double gain) {
  Proposal step = check(*this, gain);
  stop_rule.undecided_fraction(step.undecided_fraction);
  step.note = "nothing to gain by the model; check " + std::to_string(static_cast<int>(stop_rule.confirmed()) + 1) +
              " of " + std::to_string(stop_rule.needed());
  step.considered.insert(step.considered.begin(), proposal.considered.begin(), proposal.considered.end());
  proposal = step;
  if (!stop_rule.satisfied()) return;
  // Noisy costs: the model and the model with shorter length scales contradict each other, so the search continues.
  if (compares_designs() && !compares_pairs() && stop_rule.is_mostly_undecided()) return;
  const std::string open_first = stop_rule.is_mostly_undecided() ? std::string(mostly_undecided) + ": " : "";
  end(proposal, compares_designs() ? "with a probability of " + percent_text(1 - open.probability) +
                                         " % no design is better by more than " + text(selection.indifference, 2) +
                                         ", and the surrogate " + stop_rule.verdict(!compares_pairs())
                                   : open_first + "the surrogate expects no further gain, and " + stop_rule.verdict() +
                                         "; " + observed.say_best());
}

// Appends points at distances of all sizes from a point of the unit cube.
void add_points_around(const VectorXd& unit, std::uint64_t seed, MatrixXd& points) {
  Random random(seed);
  const Index from = points.cols();
  points.conservativeResize(Eigen::NoChange, from + points_around);
  for (Index i = from; i < points.cols(); ++i) {
    const double size = std::pow(10.0, -0.5 - 1.5 * random.uniform());
    for (Index k = 0; k < unit.size(); ++k) points(k, i) = std::clamp(unit(k) + size * random.normal(), 0.0, 1.0);
  }
}

// Updates the choice among uncertain costs. Confirmations of the model count from the last change of the choice.
void Ego::choose() {
  if (!costs_uncertain() || models.objectives()[0].empty()) return;
  const std::optional<Evaluation> before = selection.recommended;
  selection = select(observed, models, options.indifference);
  MatrixXd points = sobol(dimensions(), points_of_open_part, options.seed);
  if (!observed.costs_paired && selection.recommended)
    add_points_around(observed.unit(*selection.recommended), options.seed, points);
  open = undecided_region(observed, models, selection, possible_ones(points));
  if (!before || !selection.recommended || selection.recommended->design == before->design) return;
  // Between neighbours whose noisy costs are about equal, the choice may change with every evaluation.
  const Prediction there = models.objectives()[0].model().predict(observed.space.embed(observed.unit(*before)));
  if (observed.costs_paired || there.mean - selection.cost > selection.indifference)
    stop_rule.observe(before->design, {}, true);
}

// Whether the probabilities of a model of noisy costs may end the search. A model that takes all variation of the costs
// for noise predicts equal costs everywhere, so it cannot exclude a better design. With constraints the feasible part
// of the box may be thin, so that hardly a point of undecided_region() tests it.
bool Ego::explains_noisy_costs() const {
  return observed.constraints.empty() && models.objectives()[0].model().leave_one_out().quality() >= least_explained;
}

// For uncertain costs: replaces a proposal of the acquisition by a check of the model if no better design is likely, or
// ends the search. If costs are paired and there is a rival, compares the recommended design with its rival instead:
// in every second proposal, and in each one if no better design is likely.
void Ego::compare_or_check(Proposal& proposal) {
  const bool nothing = open.probability < undecided_chance && (compares_pairs() || explains_noisy_costs());
  const VectorXd rival = options.repeat && compares_pairs() ? rival_of(observed, selection) : VectorXd();
  if (rival.size() > 0 && (nothing || next_number() % 2 == 0)) {
    proposal.design = recommended_or(rival);
    proposal.considered.insert(proposal.considered.begin(), {proposal.design, proposal.score, Rule::acquisition});
    proposal.note = "more initial states for the recommended design and for one that was better on its own";
  } else if (nothing) {
    check_or_end(proposal, selection.indifference);
  }
}

Proposal Ego::next(std::optional<AcquisitionModel>& thought) {
  VectorXd lower, upper;
  search_box(*this, lower, upper);
  const MatrixXd candidates = candidates_in(*this, lower, upper);
  const std::ptrdiff_t count = observed.evaluations.size() - observed.from;
  const std::ptrdiff_t informative = std::count_if(observed.evaluations.end() - count, observed.evaluations.end(),
                                                   [&](const auto& e) { return observed.is_informative(e); });
  const std::ptrdiff_t failed = count - informative;
  if (auto proposal = without_model(candidates, informative, failed)) return *std::move(proposal);

  stop_rule.set_failed_fraction(static_cast<double>(failed) / static_cast<double>(count));
  bool may_descend = !options.trust_region && descends_locally();
  // Few designs settle in many variables, where expected improvement leads from one side of the best basin to another.
  const bool many_variables = dimensions() >= BasinSearch::least_variables;
  if (may_descend && is_local_turn && (many_variables || is_settling())) {
    if (Proposal descent = step_of_descent(*this); descent.design.size() > 0) return descent;
    may_descend = false;  // the descent has converged
  }
  const AcquisitionModel& acquisition = thought.emplace(make_acquisition_model(*this));
  Proposal proposal = by_acquisition(*this, acquisition, candidates, lower, upper);
  const bool improves = observed.objectives.size() == 1 && acquisition.any_feasible() && !observed.noisy();
  const bool compares = compares_designs() && !options.trust_region;
  if (improves && !options.trust_region) step_or_check(proposal, candidates, failed > 0);
  // A search does not end before its descent has converged.
  if (may_descend && proposal.rule == Rule::check)
    if (Proposal descent = step_of_descent(*this); descent.design.size() > 0) return descent;
  if (compares) compare_or_check(proposal);
  if (observed.objectives.size() > 1 && acquisition.any_feasible() && !observed.noisy() && !options.trust_region)
    if (const std::string settled = settled_front(*this, proposal, acquisition); !settled.empty())
      end(proposal, settled);
  if (proposal.waits) return proposal;
  if (proposal.design.size() == 0 && proposal.stopped.empty())
    proposal = fill(*this, candidates, false, "every maximum is evaluated already: where there is room");
  if (proposal.design.size() == 0) return proposal;
  const IncrementalKriging& cost = models.objectives()[0];
  const VectorXd unit = observed.space.unit(proposal.design);
  const Prediction p = cost.model().predict(observed.space.embed(unit));
  proposal.predicted = cost.warp().backward(p.mean);
  if (compares ? observed.count_of(proposal.design) > 0 : !improves || descends()) return proposal;
  const Evaluation& best = compares ? *selection.recommended : *observed.best();
  if (proposal.rule == Rule::check || (unit - observed.unit(best)).cwiseAbs().maxCoeff() > beside) {
    const double of_error = compares ? error_of_cost(models, best) : 0;
    // With paired costs, the undecided region already accounts for the uncertainty of the model, by cost differences.
    const double unexplained = compares && compares_pairs() ? 0 : p.variance / (cost.model().prior_variance() + 1e-300);
    stop_rule.expect(proposal.design, {cost.warp(), p.mean, std::sqrt(p.variance + of_error * of_error),
                                       observed.quantile(0.5, cost.warp()), unexplained});
  }
  return proposal;
}

void Ego::decide() {
  if (initial_.empty() && !observed.evaluations.empty() && observed.pending.empty()) proposal();
}

void Ego::proposal() {
  if (plan_) return;
  KrigingOptions kriging;
  kriging.nugget = options.noise;
  observed.find_plateau();
  // A descent that has the first turn does without the model, which takes longer by far in many variables.
  if (descends_first() && is_local_turn && descends_locally()) {
    if (Proposal descent = step_of_descent(*this); descent.design.size() > 0) {
      plan_ = descent;
      plan_->candidates = candidates_of(*this, *plan_, {});
      return;
    }
  }
  models.update(observed, kriging, options.gradient);
  choose();
  const auto& evaluations = observed.evaluations;
  if (observed.count_usable() == 0 && std::ssize(evaluations) >= max_failures()) {
    plan_ = Proposal();
    end(*plan_, "no usable cost in " + std::to_string(evaluations.size()) + " evaluations" +
                    (evaluations.back().reason.empty() ? "" : "; the last: " + evaluations.back().reason));
  } else {
    std::optional<AcquisitionModel> acquisition;
    plan_ = next(acquisition);
    const Proposal& p = *plan_;
    if (p.stopped.empty() && !p.waits && p.design.size() > 0 && !is_within(p.design))
      end(*plan_, "no further design that satisfies surrogate.design-constraints was found");
    plan_->candidates = candidates_of(*this, *plan_, acquisition);
    if (acquisition) plan_->compared = acquisition->incumbent(), plan_->trusted = acquisition->options();
  }
}

std::vector<VectorXd> Ego::ask(int at_most) {
  std::vector<VectorXd> designs;
  const auto take = [&](const VectorXd& x) {
    designs.push_back(x);
    observed.pending.push_back(x);
    last_asked_ = x;
    ++asked_;
    plan_.reset();
  };
  while (!initial_.empty() && std::ssize(designs) < at_most) {
    take(VectorXd(initial_.front()));
    initial_.pop_front();
  }
  if (!designs.empty()) return designs;
  if (options.trust_region && region.spent() && !observed.pending.empty())
    return {};  // the next ask() follows when these are evaluated
  while (std::ssize(designs) < std::min(at_most, std::max(options.batch, 1))) {
    if (observed.evaluations.empty()) {  // more designs were requested than the initial ones, before any was evaluated
      const std::optional<VectorXd> more = next_of_filling();
      if (!more) break;
      take(*more);
      continue;
    }
    proposal();
    if (!plan_->stopped.empty() || plan_->waits) break;
    running_.push_back({plan_->design, plan_->rule, plan_->step});
    take(VectorXd(plan_->design));
  }
  return designs;
}

// Returns the next allowed design of a sequence that fills the range, for requests before any result; nullopt: none was
// found.
std::optional<VectorXd> Ego::next_of_filling() {
  for (int tries = 0; tries < max_tries_of_filling; ++tries, ++skipped_) {
    const MatrixXd unit = sobol(dimensions(), 1, options.seed, 1 + asked_ + skipped_);
    if (possible(unit.col(0))) return observed.space.design(unit.col(0));
  }
  return std::nullopt;
}

double Ego::undecided_fraction() const {
  if (!plan_ || observed.objectives.size() > 1 || options.trust_region || models.objectives()[0].empty())
    return not_a_number;
  if (compares_pairs()) return open.fraction;
  if (!observed.best() || (observed.noisy() && !compares_designs())) return not_a_number;
  return check(*this, least_gain()).undecided_fraction;
}

Iteration Ego::describe(int grid_points) const {
  Iteration out;
  const auto& evaluations = observed.evaluations;
  out.next = last_asked_;
  if (const Evaluation* const least = observed.best()) {
    out.best_cost = least->cost;
    out.best_id = least->id;
  }
  if (!plan_ || !observed.pending.empty()) {
    const std::size_t count = evaluations.size();
    out.note = (options.reason.empty() ? "" : options.reason + "; ") + counted(count, "evaluation") + ", " +
               std::to_string(initial_.size() + observed.pending.size()) + " to come before the next model";
    return out;
  }
  const Proposal& p = *plan_;
  const IncrementalKriging& cost = models.objectives()[0];
  if (observed.noisy() && observed.objectives.size() == 1)
    if (const Evaluation* const best = models.recommended(observed)) out.recommended = best->design;
  out.note = p.stopped.empty() ? p.note : p.stopped;
  if (!options.reason.empty() && evaluations.size() <= initial_total) out.note = options.reason + "; " + out.note;
  if (p.design.size() > 0 && p.stopped.empty()) out.next = p.design;
  out.predicted_cost = p.predicted;
  out.candidates = p.candidates;
  if (cost.empty() || (p.rule == Rule::descent && descends_first()))
    return out;  // no model of these evaluations was used
  const Kriging& model = cost.model();
  const Hyperparameters& h = model.hyperparameters();
  const auto names = numbers();
  const auto values = numbers_of(*this, p);
  for (std::size_t i = 0; i < names.size(); ++i) out.numbers.emplace_back(names[i], values[i]);
  std::string lengths;
  for (Index i = 0; i < h.log_length.size(); ++i) lengths += (i ? " " : "") + text(std::exp(h.log_length(i)), 3);
  out.note += "; leave-one-out quality " + text(model.leave_one_out().quality(), 3) + ", lengths " + lengths +
              (cost.warp().identity() ? "" : ", costs warped");
  if (!options.low_fidelity.empty())
    out.note += cost.factor() != 0 ? ", low-fidelity factor " + text(cost.factor(), 3) : ", low-fidelity left out";
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
  for (const auto* evaluations : {&options.known, &options.low_fidelity})
    for (const Evaluation& e : *evaluations)
      if (e.design.size() != static_cast<Index>(variables.size()))
        throw std::invalid_argument("ego: known evaluations of another number of variables");
  return std::make_unique<Ego>(variables, options);
}

}  // namespace dodyn::surrogate
