#include "surrogate/sweep.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <sstream>
#include <stdexcept>

#include "settings/key_table.hpp"

namespace dodyn::surrogate {
namespace {

constexpr double most_points = 1e6;

// Returns the level of each index 0 .. n-1 of one axis: 0 for the ends; each further level halves the intervals.
std::vector<int> axis_levels(int n) {
  std::vector<int> levels(n, -1);
  std::vector<int> known = n == 1 ? std::vector<int>{0} : std::vector<int>{0, n - 1};
  for (int level = 0; !known.empty(); ++level) {
    for (const int i : known) levels[i] = level;
    known.clear();
    for (int i = 0, last = 0; i < n; ++i) {
      if (levels[i] < 0) continue;
      if (i - last > 1) known.push_back((last + i) / 2);
      last = i;
    }
  }
  return levels;
}

struct GridPoint {
  Eigen::VectorXd design;
  int level = 0;
  bool asked = false, observed = false;
};

class Sweep final : public Strategy {
 public:
  Sweep(const DesignSpace& space, const std::vector<int>& points,
        const std::function<bool(const Eigen::VectorXd&)>& possible)
      : variables_(space.variables()) {
    std::vector<std::vector<int>> levels;
    for (const int n : points) levels.push_back(axis_levels(n));
    // Sorts by level (stable); within a level the last variable varies fastest.
    const auto dimensions = static_cast<Eigen::Index>(points.size());
    std::vector<int> index(points.size(), 0);
    for (bool more = true; more;) {
      GridPoint point;
      Eigen::VectorXd unit(dimensions);
      for (Eigen::Index k = 0; k < dimensions; ++k) {
        const int i = index[k], last = points[k] - 1;
        unit(k) = !space.real(k) ? space.unit_of_level(k, i) : last > 0 ? static_cast<double>(i) / last : 0.5;
        point.level = std::max(point.level, levels[k][i]);
      }
      point.design = space.design(unit);
      // conditional variables make some designs equal
      const bool repeated = !space.plain() && std::any_of(grid_.begin(), grid_.end(), [&](const GridPoint& other) {
        return same(other.design, point.design);
      });
      if (!repeated && (!possible || possible(point.design))) grid_.push_back(std::move(point));
      more = false;
      for (std::size_t k = points.size(); k-- > 0 && !more;) {
        more = ++index[k] < points[k];
        if (!more) index[k] = 0;
      }
    }
    if (grid_.empty())
      throw std::invalid_argument(
          "sweep: no point of the grid is allowed by surrogate.design-constraints or by the evaluator; change the "
          "conditions, the ranges or surrogate.points");
    std::stable_sort(grid_.begin(), grid_.end(), [](const auto& a, const auto& b) { return a.level < b.level; });
  }

  std::vector<Eigen::VectorXd> ask(int at_most) override {
    std::vector<Eigen::VectorXd> designs;
    for (std::size_t i = open_; i < grid_.size() && grid_[i].level == grid_[open_].level; ++i) {
      if (std::ssize(designs) >= at_most) break;
      GridPoint& p = grid_[i];
      if (p.asked || p.observed) continue;
      p.asked = true;
      designs.push_back(p.design);
    }
    if (!designs.empty()) {
      last_asked_ = designs.back();
      const int levels = grid_.back().level + 1;
      note_ = "level " + std::to_string(grid_[open_].level + 1) + " of " + std::to_string(levels) + ": " +
              std::to_string(designs.size()) + " points";
    }
    return designs;
  }

  void tell(const Evaluation& e) override {
    if (e.design.size() != static_cast<Eigen::Index>(variables_.size()))
      throw std::invalid_argument("sweep: an evaluated design has another number of variables");
    for (std::size_t i = open_; i < grid_.size(); ++i) {
      if (same(grid_[i].design, e.design)) {
        grid_[i].observed = true;
        break;
      }
    }
    while (open_ < grid_.size() && grid_[open_].observed) ++open_;
    if (!e.ok() || !std::isfinite(e.cost)) return;
    good_.emplace_back(e.design[0], e.cost);
    if (!best_ || e.cost < best_->cost) best_ = {e.id, e.cost, e.design};
  }

  void decide() override {
    const auto added = good_.begin() + sorted_;
    std::sort(added, good_.end());
    std::inplace_merge(good_.begin(), added, good_.end());
    sorted_ = good_.size();
  }

  std::string stopped() const override {
    if (open_ < grid_.size()) return {};
    std::ostringstream out;
    out << "swept all " << grid_.size() << " points";
    if (!best_) {
      out << ", none with a usable cost";
      return out.str();
    }
    out << ": lowest cost ";
    out.precision(9);
    out << best_->cost << " (evaluation " << best_->id << ") at ";
    out << place_of(variables_, best_->design);
    return out.str();
  }

  Iteration describe(int grid_points) const override {
    Iteration out;
    out.next = last_asked_;
    const std::string end = stopped();
    out.note = end.empty() ? note_ : end;
    if (!best_) return out;
    out.best_cost = best_->cost;
    out.best_id = best_->id;
    if (variables_.size() != 1 || grid_points < 2) return out;
    const auto& samples = good_;
    out.grid = Eigen::VectorXd::LinSpaced(grid_points, variables_[0].lower, variables_[0].upper);
    out.value = out.grid.unaryExpr([&](double x) {
      const auto right = std::lower_bound(samples.begin(), samples.end(), std::pair(x, -HUGE_VAL));
      if (right == samples.begin()) return right->second;  // beyond the outermost good samples the cost is constant
      if (right == samples.end()) return samples.back().second;
      const auto left = right - 1;
      const double t = (x - left->first) / (right->first - left->first);
      return (1 - t) * left->second + t * right->second;
    });
    return out;
  }

 private:
  bool same(const Eigen::VectorXd& a, const Eigen::VectorXd& b) const {
    for (std::size_t k = 0; k < variables_.size(); ++k) {
      if (!(std::abs(a[k] - b[k]) <= 1e-12 * (variables_[k].upper - variables_[k].lower))) return false;
    }
    return true;
  }

  std::vector<Variable> variables_;
  std::vector<GridPoint> grid_;                  // in the order asked
  std::size_t open_ = 0;                         // index of the first point that is not evaluated yet
  std::vector<std::pair<double, double>> good_;  // first variable and cost of evaluations with a usable cost
  std::size_t sorted_ = 0;                       // number of elements at the beginning of good_ that are sorted
  struct Best {
    std::int64_t id;
    double cost;
    Eigen::VectorXd design;
  };
  std::optional<Best> best_;
  Eigen::VectorXd last_asked_;
  std::string note_;
};

}  // namespace

std::unique_ptr<Strategy> make_sweep(const std::vector<Variable>& variables, const SweepOptions& options) {
  if (variables.empty()) throw std::invalid_argument("sweep: no free variable");
  const DesignSpace space(variables, options.domains, "sweep");
  std::vector<int> points = options.points;
  if (points.size() == 1) points.assign(variables.size(), points[0]);
  if (points.size() != variables.size())
    throw std::invalid_argument("sweep: give one number of points, or one for each of the " +
                                std::to_string(variables.size()) + " free variables");
  double total = 1;
  for (std::size_t k = 0; k < variables.size(); ++k) {
    if (!space.real(k)) points[k] = space.levels(k);
    if (points[k] < 1) throw std::invalid_argument("sweep: the points of " + variables[k].name + " must be at least 1");
    total *= points[k];
  }
  if (total > most_points) throw std::invalid_argument("sweep: the grid has more than a million points");
  return std::make_unique<Sweep>(space, points, options.possible);
}

const KeyTable<SweepOptions>& sweep_keys() {
  static const auto table =
      KeyTable<SweepOptions>("surrogate.")
          .add("points", [](SweepOptions& o) -> int& { return o.points.front(); },
               {.description = "number of points along each free variable, both ends included; 1: its middle",
                .minimum = 1});
  return table;
}

}  // namespace dodyn::surrogate
