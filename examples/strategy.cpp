// A strategy of one's own: golden-section search.
//
//   examples/strategy
//
// A strategy chooses designs by ask and tell. It knows nothing of ranks, files or robots, only of variables and of
// evaluations (surrogate/strategy.hpp). This one has a single variable and a cost with a single minimum: it keeps an
// interval that holds the minimum and two points inside it, and drops the end beyond the worse of the two. The points
// divide the interval by the golden ratio, so that one of them is where the next pair needs it: each evaluation
// shrinks the interval to 0.618 of it (J. Kiefer, 1953).
//
// CONTRIBUTING.md tells how it would get a name and keys of its own in a configuration.
#include "surrogate/strategy.hpp"

#include <cmath>
#include <cstdio>
#include <optional>
#include <string>
#include <utility>
#include <vector>

using namespace dodyn;

namespace {

const double golden = (std::sqrt(5.0) - 1) / 2;  // 0.618

class GoldenSection final : public surrogate::Strategy {
 public:
  // Stops when the interval is shorter than `tolerance`, in the variable's unit.
  GoldenSection(Variable variable, double tolerance)
      : variable_(std::move(variable)), tolerance_(tolerance), lower_(variable_.lower), upper_(variable_.upper) {}

  // 1. What to evaluate next: the inner points that have no cost yet and are not under way. Two at the beginning, then
  //    one at a time; nothing while that is being evaluated.
  std::vector<Eigen::VectorXd> ask(int at_most) override {
    std::vector<Eigen::VectorXd> designs;
    for (Point* p : {&left(), &right()}) {
      if (std::ssize(designs) == at_most || !stopped().empty()) break;
      if (p->asked) continue;
      p->asked = true;
      designs.push_back(Eigen::VectorXd::Constant(1, p->x));
    }
    return designs;
  }

  // 2. What came of it. An evaluation may have failed: a failure counts as worse than any cost. Never let a number that is
  //    not finite into a comparison.
  void tell(const Evaluation& evaluation) override {
    const bool usable = evaluation.ok() && std::isfinite(evaluation.cost);
    const double cost = usable ? evaluation.cost : surrogate::infinity;
    for (Point* p : {&left(), &right()})
      if (p->x == evaluation.design(0)) p->cost = cost;
    if (!usable || (best_.ok() && best_.cost <= cost)) return;
    best_ = evaluation;
  }

  // 3. All that was asked has been told: shrink the interval.
  void decide() override {
    if (!left().cost || !right().cost) return;
    if (*left().cost <= *right().cost) {
      upper_ = right().x;
      inner_ = {Point{upper_ - golden * (upper_ - lower_)}, left()};
    } else {
      lower_ = left().x;
      inner_ = {right(), Point{lower_ + golden * (upper_ - lower_)}};
    }
  }

  // 4. Why it asks for no more, in one line.
  std::string stopped() const override {
    if (upper_ - lower_ > tolerance_) return {};
    return "the minimum lies between " + std::to_string(lower_) + " and " + std::to_string(upper_) +
           surrogate::unit_after(variable_);
  }

  // 5. What goes into the archive and the report at each iteration.
  surrogate::Iteration describe(int) const override {
    surrogate::Iteration now;
    now.best_id = best_.id;
    now.best_cost = best_.cost;
    now.note = stopped().empty() ? "an interval of " + std::to_string(upper_ - lower_) : stopped();
    return now;
  }

 private:
  struct Point {
    double x = 0;
    std::optional<double> cost = {};
    bool asked = false;
  };
  Point& left() { return inner_.first; }
  Point& right() { return inner_.second; }

  const Variable variable_;
  const double tolerance_;
  double lower_, upper_;
  std::pair<Point, Point> inner_{Point{upper_ - golden * (upper_ - lower_)},
                                 Point{lower_ + golden * (upper_ - lower_)}};
  Evaluation best_;
};

// What is to be made small, and where nothing comes of it: an evaluation beyond 0.9 fails.
Evaluation evaluate(std::int64_t id, const Eigen::VectorXd& design) {
  Evaluation e;
  e.id = id;
  e.design = design;
  if (design(0) > 0.9) {
    e.reason = "beyond 0.9 there is none";
    return e;
  }
  e.status = Status::ok;
  e.cost = std::cosh(3 * (design(0) - 0.3));
  return e;
}

}  // namespace

int main() {
  // The loop that a study runs, without its archive and its ranks (src/study/study.cpp).
  GoldenSection strategy({"x", "m", 0.0, 2.0}, 1e-6);
  std::int64_t id = 0;
  while (strategy.stopped().empty()) {
    const auto designs = strategy.ask(8);
    if (designs.empty()) return 1;  // it would wait for ever
    for (const auto& design : designs) strategy.tell(evaluate(id++, design));
    strategy.decide();
    if (id % 5 == 0) std::printf("%2d evaluations: %s\n", static_cast<int>(id), strategy.describe(0).note.c_str());
  }
  const surrogate::Iteration end = strategy.describe(0);
  std::printf("%d evaluations: %s; best cost %.9f\n", static_cast<int>(id), end.note.c_str(), end.best_cost);

  // From 2 to 1e-6 by a factor of 0.618 each: 31 evaluations, and the first one more. The minimum is cosh(0) = 1.
  const int needed = static_cast<int>(std::ceil(std::log(2.0 / 1e-6) / -std::log(golden)));
  return id == needed + 1 && end.best_cost - 1 < 1e-11 ? 0 : 1;
}
