#include "surrogate/morris.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <sstream>
#include <stdexcept>

#include "settings/key_table.hpp"
#include "surrogate/random.hpp"

namespace dodyn::surrogate {
namespace {

using Eigen::Index;
using Eigen::VectorXd;

constexpr int grid_levels = 8;  // for a real variable
constexpr double step =
    grid_levels / (2.0 * (grid_levels - 1));  // 4/7: from the lower half of the levels to the upper half
constexpr int drawn = 20;                     // number of random trajectories from which one is chosen
constexpr double same_unit = 1e-9;

using Trajectory = std::vector<VectorXd>;  // points of the unit cube

Trajectory random_trajectory(const DesignSpace& space, Random& random) {
  const Index d = space.dimensions();
  VectorXd u(d);
  for (Index i = 0; i < d; ++i)
    u(i) = space.real(i) ? random.below(grid_levels) / (grid_levels - 1.0)
                         : space.unit_of_level(i, random.below(space.levels(i)));
  std::vector<Index> order(d);
  std::iota(order.begin(), order.end(), Index(0));
  for (std::size_t i = order.size(); i > 1; --i)
    std::swap(order[i - 1], order[static_cast<std::size_t>(random.below(i))]);
  Trajectory out = {u};
  for (const Index i : order) {
    if (space.real(i)) {
      u(i) += u(i) < 0.5 ? step : -step;
    } else {
      const int n = space.levels(i);
      int level = 0;
      while (level + 1 < n && std::abs(space.unit_of_level(i, level) - u(i)) > same_unit) ++level;
      u(i) = space.unit_of_level(i, (level + std::max(n / 2, 1)) % n);
    }
    out.push_back(u);
  }
  return out;
}

class Morris final : public Strategy {
 public:
  Morris(const std::vector<Variable>& variables, const MorrisOptions& options)
      : space_(variables, options.domains, "morris"), trajectories_(options.trajectories) {
    Random random(options.seed);
    Trajectory all;
    for (int i = 0; i < options.trajectories; ++i) {
      Trajectory best;
      double farthest = -1;
      for (int k = 0; k < drawn; ++k) {
        Trajectory other = random_trajectory(space_, random);
        double nearest = 1e300;
        for (const VectorXd& u : other)
          for (const VectorXd& there : all) nearest = std::min(nearest, (u - there).squaredNorm());
        if (nearest > farthest) farthest = nearest, best = std::move(other);
      }
      all.insert(all.end(), best.begin(), best.end());
    }
    for (const VectorXd& u : all) {
      const VectorXd design = space_.design(u);
      if (options.possible && !options.possible(design)) continue;
      if (!designs_.empty() && designs_.back() == design) continue;  // the design does not have this variable
      designs_.push_back(design);
    }
    if (designs_.empty())
      throw std::invalid_argument(
          "morris: no design of its trajectories is allowed by surrogate.design-constraints or by the evaluator; "
          "change the conditions or the ranges");
    observed_.assign(designs_.size(), false);
  }

  std::vector<VectorXd> ask(int at_most) override {
    std::vector<VectorXd> out;
    for (; asked_ < designs_.size() && std::ssize(out) < at_most; ++asked_)
      if (!observed_[asked_]) out.push_back(designs_[asked_]);
    return out;
  }

  void tell(const Evaluation& e) override {
    if (e.design.size() != space_.dimensions())
      throw std::invalid_argument("morris: an evaluated design has another number of variables");
    for (std::size_t i = 0; i < designs_.size(); ++i)
      if (!observed_[i] && designs_[i] == e.design) {
        observed_[i] = true;
        ++count_;
        break;
      }
    evaluations_.push_back(e);
    if (e.ok() && std::isfinite(e.cost) && (best_ < 0 || e.cost < evaluations_[best_].cost))
      best_ = static_cast<std::ptrdiff_t>(evaluations_.size()) - 1;
  }

  std::string stopped() const override {
    if (count_ < designs_.size()) return {};
    const ElementaryEffects found = elementary_effects(space_, evaluations_, [](const Evaluation& e) {
      return e.ok() && std::isfinite(e.cost) ? e.cost : not_a_number;
    });
    std::vector<Index> order(space_.dimensions());
    std::iota(order.begin(), order.end(), Index(0));
    const auto size = [&](Index i) { return std::isnan(found.mean_magnitude(i)) ? -1.0 : found.mean_magnitude(i); };
    std::stable_sort(order.begin(), order.end(), [&](Index a, Index b) { return size(a) > size(b); });
    std::ostringstream out;
    out.precision(4);
    out << "screened " << space_.dimensions() << " variables by " << trajectories_
        << " trajectories; a variable moves the cost, over its range, by";
    for (std::size_t k = 0; k < order.size(); ++k) {
      out << (k ? ", " : " ") << space_.variables()[order[k]].name << ' ';
      if (found.count(order[k]) == 0)
        out << "unknown";
      else
        out << found.mean_magnitude(order[k]);
    }
    if (best_ < 0) return out.str() + "; no usable cost";
    const Evaluation& best = evaluations_[best_];
    out.precision(9);
    out << "; lowest cost " << best.cost << " (evaluation " << best.id << ") at "
        << place_of(space_.variables(), best.design);
    return out.str();
  }

  Iteration describe(int) const override {
    Iteration out;
    if (asked_ > 0) out.next = designs_[asked_ - 1];
    const std::string end = stopped();
    out.note =
        end.empty() ? std::to_string(count_) + " of " + std::to_string(designs_.size()) + " designs evaluated" : end;
    if (best_ < 0) return out;
    out.best_cost = evaluations_[best_].cost;
    out.best_id = evaluations_[best_].id;
    return out;
  }

 private:
  DesignSpace space_;
  int trajectories_;
  std::vector<VectorXd> designs_;
  std::vector<bool> observed_;
  std::size_t asked_ = 0, count_ = 0;  // index of the next design to ask for; number of evaluated designs
  std::vector<Evaluation> evaluations_;
  std::ptrdiff_t best_ = -1;  // index in evaluations_
};

}  // namespace

ElementaryEffects elementary_effects(const DesignSpace& space, const std::vector<Evaluation>& evaluations,
                                     const std::function<double(const Evaluation&)>& value) {
  const Index d = space.dimensions();
  std::map<std::int64_t, const Evaluation*> by_id;
  for (const Evaluation& e : evaluations) by_id[e.id] = &e;
  std::vector<std::vector<double>> effects(d);
  for (const auto& [id, before] : by_id) {
    const auto after = by_id.find(id + 1);
    if (after == by_id.end()) continue;
    const VectorXd moved = space.unit(after->second->design) - space.unit(before->design);
    if ((moved.array().abs() > same_unit).count() != 1) continue;
    Index i = 0;
    moved.cwiseAbs().maxCoeff(&i);
    const double change = value(*after->second) - value(*before);
    if (!std::isfinite(change)) continue;
    const bool label = space.domain(i) == Domain::category;
    effects[i].push_back(label ? std::abs(change) : change / moved(i));
  }
  ElementaryEffects out{VectorXd::Constant(d, not_a_number), VectorXd::Constant(d, not_a_number),
                        VectorXd::Constant(d, not_a_number), Eigen::VectorXi::Zero(d)};
  for (Index i = 0; i < d; ++i) {
    const auto& own = effects[i];
    out.count(i) = static_cast<int>(own.size());
    if (own.empty()) continue;
    const Eigen::Map<const VectorXd> e(own.data(), own.size());
    out.mean_magnitude(i) = e.cwiseAbs().mean();
    out.mean(i) = e.mean();
    if (own.size() > 1) out.deviation(i) = std::sqrt((e.array() - e.mean()).square().sum() / (e.size() - 1.0));
  }
  return out;
}

std::unique_ptr<Strategy> make_morris(const std::vector<Variable>& variables, const MorrisOptions& options) {
  if (options.trajectories < 2) throw std::invalid_argument("morris: the trajectories must be at least 2");
  return std::make_unique<Morris>(variables, options);
}

const KeyTable<MorrisOptions>& morris_keys() {
  static const auto table = KeyTable<MorrisOptions>("surrogate.")
                                .add("trajectories", &MorrisOptions::trajectories,
                                     {.description = "number of trajectories; each is a design from which one variable "
                                                     "after the other is moved; each move is an evaluation",
                                      .minimum = 2});
  return table;
}

}  // namespace dodyn::surrogate
