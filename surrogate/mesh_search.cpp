#include "surrogate/mesh_search.hpp"

#include <algorithm>
#include <cmath>
#include <deque>
#include <optional>
#include <sstream>
#include <stdexcept>

#include "settings/key_table.hpp"
#include "surrogate/bounded_search.hpp"
#include "surrogate/design_space.hpp"
#include "surrogate/ego.hpp"
#include "surrogate/kriging.hpp"
#include "surrogate/sampling.hpp"

namespace dodyn::surrogate {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

class MeshSearch final : public Strategy {
 public:
  MeshSearch(const std::vector<Variable>& variables, const MeshSearchOptions& options)
      : variables_(variables), options_(options) {
    const int d = dimensions();
    const int n =
        options_.initial_samples > 0 ? options_.initial_samples : default_initial_samples(d, options_.gradient);
    const MatrixXd x = latin_hypercube(d, n, options_.seed);
    for (Index i = 0; i < x.cols(); ++i) want(x.col(i));
  }

  std::vector<VectorXd> ask(int at_most) override {
    decide();
    std::vector<VectorXd> designs;
    while (!wanted_.empty() && std::ssize(designs) < at_most) {
      pending_.push_back(wanted_.front());
      designs.push_back(design(wanted_.front()));
      wanted_.pop_front();
    }
    if (!designs.empty()) asked_ = designs.back();
    return designs;
  }

  void tell(const Evaluation& e) override {
    if (e.design.size() != dimensions())
      throw std::invalid_argument("mesh-search: an evaluated design has another number of variables");
    VectorXd u(dimensions());
    for (Index k = 0; k < dimensions(); ++k)
      u(k) = std::clamp((e.design(k) - variables_[k].lower) / (variables_[k].upper - variables_[k].lower), 0.0, 1.0);
    const auto same = [&](const VectorXd& other) { return (other - u).cwiseAbs().maxCoeff() < 1e-9; };
    if (const auto at = std::find_if(pending_.begin(), pending_.end(), same); at != pending_.end()) pending_.erase(at);
    if (const auto at = std::find_if(wanted_.begin(), wanted_.end(), same); at != wanted_.end()) wanted_.erase(at);
    observed_.push_back(e);
    units_.push_back(u);
    const bool usable = e.ok() && std::abs(e.cost) <= Kriging::most_magnitude;
    if (!usable && best_ < 0 && std::ssize(observed_) >= options_.max_failures)
      stopped_ = "no usable cost in " + std::to_string(observed_.size()) + " evaluations" +
                 (e.reason.empty() ? "" : "; the last: " + e.reason);
    if (!usable) return;
    if (best_ >= 0 && !(e.cost < observed_[best_].cost)) return;
    best_ = static_cast<std::ptrdiff_t>(observed_.size()) - 1;
    if (step_ != Step::initial) {
      improved_ = true;
      wanted_.clear();  // drops the remaining points of the poll
    }
  }

  void decide() override {
    if (wanted_.empty() && pending_.empty() && stopped_.empty()) next();
  }

  std::string stopped() const override { return stopped_; }

  std::vector<std::string> numbers() const override { return {"mesh_size"}; }

  Iteration describe(int) const override {
    Iteration out;
    out.next = asked_;
    out.note = stopped_.empty() ? note_ : stopped_;
    out.predicted_cost = predicted_;
    out.numbers = {{"mesh_size", delta_}};
    if (best_ >= 0) out.best_cost = observed_[best_].cost, out.best_id = observed_[best_].id;
    return out;
  }

 private:
  enum class Step { initial, search, poll };

  Index dimensions() const { return variables_.size(); }
  VectorXd design(const VectorXd& u) const {
    VectorXd x(u.size());
    for (Index k = 0; k < u.size(); ++k) {
      const Variable& v = variables_[k];
      x(k) = u(k) >= 1 ? v.upper : std::clamp(v.lower + u(k) * (v.upper - v.lower), v.lower, v.upper);
    }
    return x;
  }
  bool known(const VectorXd& u) const {
    const auto same = [&](const VectorXd& other) { return (other - u).cwiseAbs().maxCoeff() < 0.25 * delta_; };
    return std::any_of(units_.begin(), units_.end(), same) || std::any_of(pending_.begin(), pending_.end(), same) ||
           std::any_of(wanted_.begin(), wanted_.end(), same);
  }
  // Adds the nearest mesh point. Returns false if that design was already asked for.
  bool want(const VectorXd& u) {
    const VectorXd on_mesh = ((u / delta_).array().round() * delta_).max(0).min(1);
    if (known(on_mesh)) return false;
    wanted_.push_back(on_mesh);
    return true;
  }

  std::optional<Kriging> model() const {
    Samples s;
    std::vector<Index> good;
    for (std::size_t i = 0; i < observed_.size(); ++i)
      if (observed_[i].ok() && std::abs(observed_[i].cost) <= Kriging::most_magnitude) good.push_back(i);
    // the best 200, to limit the time of a fit
    std::stable_sort(good.begin(), good.end(), [&](Index a, Index b) { return observed_[a].cost < observed_[b].cost; });
    if (good.size() > 200) good.resize(200);
    if (good.size() < 2) return {};
    const Index n = good.size();
    s.x.resize(dimensions(), n);
    s.y.resize(n);
    if (options_.gradient) s.gradient.setConstant(dimensions(), n, not_a_number);
    for (Index i = 0; i < n; ++i) {
      const Evaluation& e = observed_[good[i]];
      s.x.col(i) = units_[good[i]];
      s.y(i) = e.cost;
      if (options_.gradient && e.gradient.size() == dimensions())
        for (Index k = 0; k < dimensions(); ++k)
          s.gradient(k, i) = e.gradient(k) * (variables_[k].upper - variables_[k].lower);
    }
    KrigingOptions o;
    o.starts = n < 40 ? 2 : 1;
    return Kriging::fit(s, o, hyper_ ? &*hyper_ : nullptr);
  }

  // Returns the point of the lowest prediction, from a few initial points.
  VectorXd least_prediction(const Kriging& kriging) const {
    const int d = dimensions();
    MatrixXd starts(d, 4);
    starts << units_[best_], sobol(d, 3, options_.seed, observed_.size());
    VectorXd best = starts.col(0);
    double least = kriging.predict(best).mean;
    BoundedSearch limits{VectorXd::Zero(d), VectorXd::Ones(d), 100};
    limits.step_tolerance = 1e-8;
    for (Index i = 0; i < starts.cols(); ++i) {
      const Maximum found = maximise(
          [&](const VectorXd& at, VectorXd* gradient) {
            const Prediction p = kriging.predict(at);
            if (gradient) *gradient = -p.mean_gradient;
            return -p.mean;
          },
          starts.col(i), limits);
      if (-found.value < least) least = -found.value, best = found.at;
    }
    return best;
  }

  // Chooses the next points when all that were asked for are evaluated.
  void next() {
    predicted_ = not_a_number;
    if (best_ < 0) {  // no usable evaluation yet: sample more of the box
      for (std::uint64_t i = 0; wanted_.empty(); ++i) {
        if (i > 0 && i % 64 == 0) delta_ /= 2;  // the points of this mesh are exhausted
        want(sobol(dimensions(), 1, options_.seed, observed_.size() + i).col(0));
      }
      note_ = "no usable cost yet";
      return;
    }
    const std::optional<Kriging> kriging = model();
    if (kriging) hyper_ = kriging->hyperparameters();
    for (;;) {
      if (step_ == Step::poll) {  // the poll has ended
        delta_ = improved_ ? std::min(2 * delta_, 0.25) : delta_ / 2;
        step_ = Step::initial;
      }
      if (delta_ < options_.design_tolerance) {
        std::ostringstream out;
        out.precision(9);
        out << "no neighbour on the mesh of size " << 2 * delta_ << " is better: lowest cost " << observed_[best_].cost
            << " (evaluation " << observed_[best_].id << ")";
        stopped_ = out.str();
        return;
      }
      if (step_ == Step::initial || improved_) {
        step_ = Step::search;
        improved_ = false;
        if (kriging) {
          const VectorXd target = least_prediction(*kriging);
          predicted_ = kriging->predict(target).mean;
          note_ = "search: the model's minimum on the mesh of size " + std::to_string(delta_);
          if (want(target)) return;
        }
      }
      step_ = Step::poll;
      improved_ = false;
      std::vector<std::pair<double, VectorXd>> neighbours;
      for (Index k = 0; k < dimensions(); ++k)
        for (const double sign : {-1.0, 1.0}) {
          VectorXd u = units_[best_];
          u(k) += sign * delta_;
          if (u(k) < -1e-12 || u(k) > 1 + 1e-12) continue;
          neighbours.emplace_back(kriging ? kriging->predict(u).mean : 0, u);
        }
      std::stable_sort(neighbours.begin(), neighbours.end(),
                       [](const auto& a, const auto& b) { return a.first < b.first; });
      for (const auto& [prediction, u] : neighbours) want(u);
      note_ = "poll: " + std::to_string(wanted_.size()) + " neighbours of the best on the mesh of size " +
              std::to_string(delta_);
      if (!wanted_.empty()) return;
    }
  }

  std::vector<Variable> variables_;
  MeshSearchOptions options_;
  std::vector<Evaluation> observed_;
  std::vector<VectorXd> units_;  // points of observed_ in the unit cube
  std::deque<VectorXd> wanted_;  // points to ask for
  std::vector<VectorXd> pending_;
  std::ptrdiff_t best_ = -1;  // index in observed_
  double delta_ = 0.25;
  Step step_ = Step::initial;
  bool improved_ = false;
  std::optional<Hyperparameters> hyper_;
  double predicted_ = not_a_number;
  VectorXd asked_;
  std::string note_ = "initial designs", stopped_;
};

}  // namespace

std::unique_ptr<Strategy> make_mesh_search(const std::vector<Variable>& variables, const MeshSearchOptions& options) {
  check_ranges(variables, "mesh-search");
  if (options.initial_samples < 0) throw std::invalid_argument("mesh-search: initial samples must not be negative");
  if (!(options.design_tolerance > 0 && options.design_tolerance <= 0.1))
    throw std::invalid_argument("mesh-search: the design tolerance must be in (0, 0.1]");
  if (options.max_failures < 1) throw std::invalid_argument("mesh-search: max failures must be at least 1");
  return std::make_unique<MeshSearch>(variables, options);
}

const KeyTable<MeshSearchOptions>& mesh_search_keys() {
  using Options = MeshSearchOptions;
  static const auto table =
      KeyTable<Options>("surrogate.")
          .add("initial-samples", &Options::initial_samples,
               {.description =
                    "number of designs evaluated before the first model; automatic: from the number of variables",
                .minimum = 2,
                .word = "automatic",
                .zero_means_named = true})
          .add("gradient", &Options::gradient, {.description = "use gradients of costs, if the evaluator has them"})
          .add("design-tolerance", &Options::design_tolerance,
               {.unit = "1",
                .description = "mesh size at which the search stops, as a fraction of the range",
                .minimum = 0,
                .maximum = 0.1,
                .open_minimum = true})
          .add("max-failures", &Options::max_failures,
               {.description = "number of evaluations after which a search without a usable cost ends",
                .minimum = 1,
                .identity = false});
  return table;
}

}  // namespace dodyn::surrogate
