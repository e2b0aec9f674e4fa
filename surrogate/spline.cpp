#include "surrogate/spline.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <sstream>
#include <stdexcept>

#include "record/text.hpp"
#include "settings/key_table.hpp"
#include "surrogate/cubic_spline.hpp"
#include "surrogate/design_space.hpp"

namespace dodyn::surrogate {
namespace {

struct Sample {
  double x;
  bool ok;
  double cost, cost_stderr, gradient;
  std::int64_t id;
};

// The next action, computed again after each tell().
struct Proposal {
  double x = not_a_number;  // the design to evaluate, unless stopped
  double predicted = not_a_number;
  bool at_minimum = false;  // x is the minimum of the spline
  std::string note;
  std::string stopped;
};

std::string text(double value, int digits = 6) { return formatted("%.*g", digits, value); }

class Spline final : public Strategy {
 public:
  Spline(const Variable& variable, const SplineOptions& options) : variable_(variable), options_(options) {}

  std::vector<Eigen::VectorXd> ask(int at_most) override;
  void tell(const Evaluation& evaluation) override;
  std::string stopped() const override { return plan_.stopped; }
  Iteration describe(int grid_points) const override;

 private:
  double range() const { return variable_.upper - variable_.lower; }
  double spacing() const { return options_.design_tolerance * range(); }
  bool same(double a, double b) const { return std::abs(a - b) <= 1e-12 * range(); }
  double initial(int i) const {
    const int last = options_.initial_samples - 1;
    return i == last ? variable_.upper : variable_.lower + range() * i / last;
  }
  bool tried(double x) const {
    return std::any_of(samples_.begin(), samples_.end(), [&](const Sample& s) { return same(s.x, x); });
  }
  bool near_sample(double x) const {
    return std::any_of(samples_.begin(), samples_.end(),
                       [&](const Sample& s) { return std::abs(s.x - x) < spacing(); });
  }
  const Sample* best() const;  // null: no good evaluation yet
  bool all_gradients() const;
  CubicSpline fit() const;                          // requires a good sample
  Minimum target(const CubicSpline& spline) const;  // requires a good sample
  bool confirmed(const Sample& least, double significant) const;
  double overshoot(double least, double goal, double step) const;
  Proposal split_gap(const Sample* beside, const std::string& why) const;
  Proposal proposal_of(double change, double step) const;
  std::string say(const Sample& s) const;

  Variable variable_;
  SplineOptions options_;
  std::vector<Sample> samples_;    // all evaluated designs, ascending
  int handed_out_ = 0;             // number of initial samples that ask() has returned
  std::optional<double> pending_;  // design of the last proposal, not evaluated yet
  std::string last_failure_;
  Proposal plan_;
};

const Sample* Spline::best() const {
  const Sample* found = nullptr;
  for (const Sample& s : samples_) {
    if (s.ok && (!found || s.cost < found->cost || (s.cost == found->cost && s.id < found->id))) found = &s;
  }
  return found;
}

bool Spline::all_gradients() const {
  return options_.gradient && std::all_of(samples_.begin(), samples_.end(),
                                          [](const Sample& s) { return !s.ok || std::isfinite(s.gradient); });
}

CubicSpline Spline::fit() const {
  Eigen::Matrix3Xd good(3, samples_.size());
  Eigen::Index n = 0;
  for (const Sample& s : samples_) {
    if (s.ok) good.col(n++) << s.x, s.cost, s.gradient;
  }
  good.conservativeResize(3, n);
  return all_gradients() ? hermite_spline(good.row(0), good.row(1), good.row(2))
                         : natural_spline(good.row(0), good.row(1));
}

// Step 3: searches around each good sample, up to its good neighbours or halfway to failed ones.
Minimum Spline::target(const CubicSpline& spline) const {
  Minimum least{not_a_number, infinity};
  const auto reach = [&](const Sample& from, std::size_t neighbour, double bound) {
    if (neighbour >= samples_.size()) return bound;
    const Sample& to = samples_[neighbour];
    return to.ok ? to.x : (from.x + to.x) / 2;
  };
  for (std::size_t i = 0; i < samples_.size(); ++i) {
    if (!samples_[i].ok) continue;
    const Minimum m =
        minimum(spline, reach(samples_[i], i - 1, variable_.lower),  // for the first sample i - 1 overflows: no
                                                                     // neighbour
                reach(samples_[i], i + 1, variable_.upper));
    if (m.value < least.value) least = m;
  }
  return least;
}

// Step 5: an independent test whether the best sample is an optimum. Uses the parabola through it and the good samples
// on both sides (at an end: the next two). The parabola has the slope y' and the second derivative 2 c there. A fourth
// sample bounds the error of y', e = 2 |[x0, xa, xb, xc] y (xa - x0) (xb - x0)|, twice the first neglected term.
// Confirmed if a minimum at the distance that |y'| + e permits is within the design tolerance or gives no significant
// gain. Confirmed too if the cost rises from an end by more than e (with at least five samples). With gradients: if the
// best sample is inside the bounds, or its gradient at a bound points outwards.
bool Spline::confirmed(const Sample& least, double significant) const {
  if (all_gradients()) {
    if (least.x == variable_.lower) return least.gradient >= 0;
    if (least.x == variable_.upper) return least.gradient <= 0;
    return true;
  }
  std::vector<Sample> good;
  std::copy_if(samples_.begin(), samples_.end(), std::back_inserter(good), [](const Sample& s) { return s.ok; });
  std::sort(good.begin(), good.end(),
            [&](const Sample& a, const Sample& b) { return std::abs(a.x - least.x) < std::abs(b.x - least.x); });
  // good[0] is the best; then the nearest on either side, or the two nearest at an end
  const auto other_side = std::find_if(good.begin() + 2, good.end(),
                                       [&](const Sample& s) { return (s.x - least.x) * (good[1].x - least.x) < 0; });
  const Sample& a = good[1];
  const Sample& b = other_side == good.end() ? good[2] : *other_side;
  const Sample& c = &b == &good[2] ? good[3] : good[2];
  const double sa = a.x - least.x, sb = b.x - least.x, sc = c.x - least.x;
  const double da = (a.cost - least.cost) / sa, db = (b.cost - least.cost) / sb, dc = (c.cost - least.cost) / sc;
  const double curvature = (db - da) / (sb - sa), slope = da - curvature * sa;
  const double error = 2 * std::abs(((dc - da) / (sc - sa) - curvature) / (sc - sb) * sa * sb);
  if (other_side == good.end()) {
    if (good.size() < 5) return false;                    // four points at an end agree by chance too often
    if (slope * sa >= error * std::abs(sa)) return true;  // the cost rises from the end
  }
  const double steepest = std::abs(slope) + error;
  return steepest <= 2 * curvature * spacing() || steepest * steepest <= 4 * curvature * significant;
}

// Step 3: if the target moves on in the direction of the last improvement (`step`), goes three times as far from the
// best sample. Limits: half the distance to the next sample, and the range that failed samples exclude.
double Spline::overshoot(double least, double goal, double step) const {
  const double onward = goal - least;
  if (onward * step <= 0) return goal;
  double x = least + 3 * onward;
  for (const Sample& s : samples_) {
    if ((s.x - goal) * onward <= 0) continue;
    double limit = ((s.ok ? goal : least) + s.x) / 2;
    if ((limit - goal) * onward < 0) limit = goal;
    if ((limit - x) * onward < 0) x = limit;
  }
  return near_sample(x) ? goal : x;
}

// Proposes the middle of the largest gap. With `beside`: of the larger gap beside this sample, and a point nearer to
// the sample if twice the distance to its other neighbour is less than half the gap. Stops if every gap is too narrow.
Proposal Spline::split_gap(const Sample* beside, const std::string& why) const {
  Proposal proposal;
  double widest = 2 * spacing() * (1 + 1e-12);
  for (std::size_t i = 0; i + 1 < samples_.size(); ++i) {
    const Sample &left = samples_[i], &right = samples_[i + 1];
    if (beside && beside != &left && beside != &right) continue;
    if (right.x - left.x <= widest) continue;  // Of equal gaps, the leftmost one is used.
    widest = right.x - left.x;
    proposal.x = (left.x + right.x) / 2;
    const std::size_t other = beside == &left ? i - 1 : i + 2;  // at either end there is no neighbour on that side
    if (!beside || other >= samples_.size()) continue;
    const double step = 2 * (beside->x - samples_[other].x);  // doubles the gap, so that repeated steps grow
    if (std::abs(step) < widest / 2) proposal.x = beside->x + step;
  }
  if (std::isnan(proposal.x)) {
    proposal.stopped = beside ? say(*beside) + "; its neighbours are as close as the design tolerance allows"
                              : "no usable cost anywhere in " + variable_.name + ": " + last_failure_;
  }
  proposal.note = why + ": next in the widest gap" + (beside ? " next to the best" : "");
  return proposal;
}

std::string Spline::say(const Sample& s) const {
  std::string place;
  if (s.x == variable_.lower)
    place = "optimum at the lower bound of " + variable_.name;
  else if (s.x == variable_.upper)
    place = "optimum at the upper bound of " + variable_.name;
  else {
    place = "optimum inside the bounds of " + variable_.name;
    for (std::size_t i = 1; i + 1 < samples_.size(); ++i) {
      const bool failing_beside = (!samples_[i - 1].ok && s.x - samples_[i - 1].x <= 2 * spacing()) ||
                                  (!samples_[i + 1].ok && samples_[i + 1].x - s.x <= 2 * spacing());
      if (&samples_[i] == &s && failing_beside) place = "optimum next to designs of " + variable_.name + " that fail";
    }
  }
  return place + ": " + text(s.x) + unit_after(variable_) + ", cost " + text(s.cost, 9) + " (evaluation " +
         std::to_string(s.id) + ")";
}

// Steps 2 to 5. `change`: cost of the latest sample minus the previous best, if it was a good sample at the spline's
// minimum; otherwise infinite. `step`: the resulting displacement of the best sample; 0 if it did not move.
Proposal Spline::proposal_of(double change, double step) const {
  const Sample* const least = best();
  const auto good = std::count_if(samples_.begin(), samples_.end(), [](const Sample& s) { return s.ok; });
  if (const auto failures = static_cast<std::ptrdiff_t>(samples_.size()) - good; failures >= options_.max_failures) {
    Proposal proposal;
    proposal.stopped = "gave up after " + std::to_string(failures) + " failed evaluations (the last: " + last_failure_ +
                       ")" +
                       (least ? "; best up to then: " + variable_.name + " = " + text(least->x) + ", cost " +
                                    text(least->cost, 9) + " (evaluation " + std::to_string(least->id) + ")"
                              : "; none succeeded");
    return proposal;
  }
  if (good < 2) return split_gap(least, "fewer than two good samples");

  const CubicSpline spline = fit();
  const Minimum goal = target(spline);
  const double standard_error = std::isfinite(least->cost_stderr) ? least->cost_stderr : 0.0;
  const double significant = std::max(options_.tolerance * std::abs(least->cost), standard_error);
  const std::string model =
      std::string(all_gradients() ? "Hermite" : "natural") + " spline through " + std::to_string(good) + " samples";

  const bool revisits_best = std::abs(goal.x - least->x) <= spacing();
  const bool no_more_to_gain = std::abs(change) <= significant && least->cost - goal.value <= significant;
  const bool gradient_vanishes =
      all_gradients() && std::abs(least->gradient * (goal.x - least->x)) <= significant && !revisits_best;

  Proposal proposal;
  if (revisits_best || no_more_to_gain || gradient_vanishes) {
    const auto worst = std::max_element(samples_.begin(), samples_.end(), [](const Sample& a, const Sample& b) {
      return (a.ok ? a.cost : -infinity) < (b.ok ? b.cost : -infinity);
    });
    if (good < 4) {
      proposal = split_gap(least, "too few samples to trust a minimum at the best one");
    } else if (worst->cost - least->cost <= significant) {
      proposal.stopped = "the cost does not vary with " + variable_.name + ": " + text(least->cost, 9) + " at all " +
                         std::to_string(good) + " samples";
    } else if (!confirmed(*least, significant)) {
      proposal = split_gap(least, "a parabola through the best sample and its neighbours still descends");
    } else {
      proposal.stopped =
          say(*least) + (revisits_best     ? "; the spline's minimum agrees with it within the design tolerance"
                         : no_more_to_gain ? "; the last sample changed the best cost by no more than the "
                                             "tolerance, and the spline promises no more"
                                           : "; its gradient promises a gain below the tolerance");
    }
  } else if (near_sample(goal.x)) {
    proposal = split_gap(least, "the spline's minimum is a sample that is not the best");
  } else {
    proposal.x = all_gradients() ? goal.x : overshoot(least->x, goal.x, step);
    proposal.at_minimum = true;
    proposal.note = model + ": next at its minimum";
  }
  if (proposal.stopped.empty())
    proposal.predicted = spline.value(proposal.x);
  else
    proposal.note = model + ": stop";
  return proposal;
}

std::vector<Eigen::VectorXd> Spline::ask(int at_most) {
  std::vector<Eigen::VectorXd> designs;
  const auto add = [&](double x) { designs.push_back(Eigen::VectorXd::Constant(1, x)); };
  for (; handed_out_ < options_.initial_samples && std::ssize(designs) < at_most; ++handed_out_) {
    if (!tried(initial(handed_out_))) add(initial(handed_out_));
  }
  if (designs.empty() && at_most > 0 && plan_.stopped.empty() && !pending_ && std::isfinite(plan_.x)) {
    pending_ = plan_.x;
    add(plan_.x);
  }
  return designs;
}

void Spline::tell(const Evaluation& e) {
  if (e.design.size() != 1) throw std::invalid_argument("spline: an evaluated design has other than one variable");
  const double x = e.design[0];
  if (!std::isfinite(x)) throw std::invalid_argument("spline: an evaluated design is not a number");
  const bool ok = e.ok() && std::isfinite(e.cost);
  const Sample sample{x, ok, e.cost, e.cost_stderr, e.gradient.size() == 1 ? e.gradient[0] : not_a_number, e.id};
  if (!ok) {
    last_failure_ = "evaluation " + std::to_string(e.id) + " at " + variable_.name + " = " + text(x) + ", " +
                    (e.ok() ? "cost not a finite number" : std::string(to_string(e.status))) +
                    (e.reason.empty() ? "" : ", " + e.reason);
  }

  double change = infinity;
  const Sample* const before = best();
  if (ok && before && plan_.at_minimum && same(x, plan_.x)) change = e.cost - before->cost;
  const double step = change < 0 ? x - before->x : 0.0;

  const auto place =
      std::find_if(samples_.begin(), samples_.end(), [&](const Sample& s) { return s.x >= x || same(s.x, x); });
  if (place == samples_.end() || !same(place->x, x)) {
    samples_.insert(place, sample);
  } else if (ok && (!place->ok || e.cost < place->cost)) {
    *place = sample;  // evaluated twice: keep the lower cost
  }

  if (pending_ && same(*pending_, x)) pending_.reset();
  for (int i = 0; i < options_.initial_samples; ++i) {
    if (!tried(initial(i))) return;
  }
  if (!pending_) plan_ = proposal_of(change, step);
}

Iteration Spline::describe(int grid_points) const {
  Iteration out;
  out.note = plan_.stopped.empty() ? plan_.note : plan_.stopped;
  if (std::isfinite(plan_.x)) {
    out.next = Eigen::VectorXd::Constant(1, plan_.x);
    out.predicted_cost = plan_.predicted;
  } else if (plan_.stopped.empty() && handed_out_ > 0) {
    out.next = Eigen::VectorXd::Constant(1, initial(handed_out_ - 1));
    out.note = "initial sample " + std::to_string(handed_out_) + " of " + std::to_string(options_.initial_samples);
  }
  const Sample* const least = best();
  if (!least) return out;
  out.best_cost = least->cost;
  out.best_id = least->id;
  if (grid_points < 2) return out;
  const CubicSpline spline = fit();
  out.grid = Eigen::VectorXd::LinSpaced(grid_points, variable_.lower, variable_.upper);
  out.value = out.grid.unaryExpr([&](double x) { return spline.value(x); });
  return out;
}

}  // namespace

std::unique_ptr<Strategy> make_spline(const Variable& variable, const SplineOptions& options) {
  check_ranges({variable}, "spline");
  if (options.initial_samples < 2) throw std::invalid_argument("spline: initial samples must be at least 2");
  if (!(options.tolerance > 0)) throw std::invalid_argument("spline: the tolerance must be above 0");
  if (!(options.design_tolerance > 0 && options.design_tolerance <= 0.1))
    throw std::invalid_argument("spline: the design tolerance must be in (0, 0.1]");
  if (options.max_failures < 1) throw std::invalid_argument("spline: max failures must be at least 1");
  return std::make_unique<Spline>(variable, options);
}

const KeyTable<SplineOptions>& spline_keys() {
  using Options = SplineOptions;
  static const auto table =
      KeyTable<Options>("surrogate.")
          .add("initial-samples", &Options::initial_samples,
               {.description = "number of designs evaluated before the first spline", .minimum = 2})
          .add("gradient", &Options::gradient, {.description = "use gradients of costs, if the evaluator has them"})
          .add("tolerance", &Options::tolerance,
               {.unit = "1",
                .description = "relative improvement of the best cost below which the search stops; the improvement by "
                               "the last sample counts",
                .minimum = 0,
                .open_minimum = true,
                .identity = false})
          .add("design-tolerance", &Options::design_tolerance,
               {.unit = "1",
                .description = "smallest distance of two designs, as a fraction of the range",
                .minimum = 0,
                .maximum = 0.1,
                .open_minimum = true})
          .add("max-failures", &Options::max_failures,
               {.description = "number of evaluations without a usable cost after which the search ends",
                .minimum = 1,
                .identity = false});
  return table;
}

}  // namespace dodyn::surrogate
