#include "surrogate/nlopt_search.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <nlopt.hpp>
#include <optional>
#include <sstream>
#include <stdexcept>

#include "settings/key_table.hpp"
#include "surrogate/design_space.hpp"
#include "surrogate/sampling.hpp"

namespace dodyn::surrogate {
namespace {

using Eigen::Index;
using Eigen::VectorXd;

class NloptSearch final : public Strategy {
 public:
  NloptSearch(const std::vector<Variable>& variables, const NloptOptions& options)
      : variables_(variables), options_(options) {}

  std::vector<VectorXd> ask(int) override {
    decide();
    if (pending_ || !stopped_.empty()) return {};
    pending_ = question_;
    asked_ = *pending_;
    return {*pending_};
  }

  void tell(const Evaluation& e) override {
    if (e.design.size() != static_cast<Index>(variables_.size()))
      throw std::invalid_argument("nlopt: an evaluated design has another number of variables");
    ++observed_;
    if (pending_ && *pending_ == e.design) pending_.reset();
    question_.reset();
    const bool usable = e.ok() && std::isfinite(e.cost);
    const std::vector<double> key(e.design.begin(), e.design.end());
    if (usable && (!best_ || e.cost < best_->cost)) best_ = e;
    if (usable) worst_ = std::max(worst_, e.cost);
    if (!usable) last_failure_ = e.reason;
    // failed before any cost is known: large, but small enough for the arithmetic of a quadratic model
    answers_[key] = usable ? e.cost : worst_ > -HUGE_VAL ? worst_ : 1e10;
  }

  void decide() override {
    if (pending_ || question_ || !stopped_.empty()) return;
    if (!best_ && observed_ >= options_.max_failures) {
      stopped_ = "no usable cost in " + std::to_string(observed_) + " evaluations" +
                 (last_failure_.empty() ? "" : "; the last: " + last_failure_);
      return;
    }
    question_ = next();
    if (question_->size() > 0) return;
    std::ostringstream out;
    out << "the search has converged";
    if (!best_) out << " without a usable cost" << (last_failure_.empty() ? "" : "; the last: ") << last_failure_;
    if (best_) {
      out.precision(9);
      out << ": lowest cost " << best_->cost << " (evaluation " << best_->id << ") at "
          << place_of(variables_, best_->design);
    }
    stopped_ = out.str();
  }

  std::string stopped() const override { return stopped_; }

  Iteration describe(int) const override {
    Iteration out;
    out.next = asked_;
    out.note = stopped_;
    if (out.note.empty()) out.note = "the next design of the search";
    if (best_) out.best_cost = best_->cost, out.best_id = best_->id;
    return out;
  }

 private:
  struct Replay {
    const NloptSearch& self;
    VectorXd question;  // first design of the search without a result
  };

  // Returns the first design of the search that is not evaluated; empty if the search ends before.
  VectorXd next() const {
    Replay replay{*this, {}};
    const auto n = static_cast<unsigned>(variables_.size());
    static constexpr nlopt::algorithm algorithms[] = {nlopt::LN_BOBYQA, nlopt::LN_COBYLA, nlopt::GN_DIRECT_L,
                                                      nlopt::GN_CRS2_LM};
    const bool local = options_.algorithm == NloptAlgorithm::bobyqa || options_.algorithm == NloptAlgorithm::cobyla;
    nlopt::srand(static_cast<unsigned long>(options_.seed));
    for (int run = 0; run <= (local ? options_.restarts : 0) && replay.question.size() == 0; ++run) {
      nlopt::opt search(algorithms[static_cast<int>(options_.algorithm)], n);
      search.set_min_objective(
          [](unsigned d, const double* u, double*, void* data) {
            auto& [self, question] = *static_cast<Replay*>(data);
            std::vector<double> x(d);
            for (unsigned k = 0; k < d; ++k) {
              const Variable& v = self.variables_[k];
              x[k] = u[k] >= 1 ? v.upper : std::clamp(v.lower + u[k] * (v.upper - v.lower), v.lower, v.upper);
            }
            if (const auto at = self.answers_.find(x); at != self.answers_.end()) return at->second;
            question = Eigen::Map<const VectorXd>(x.data(), d);
            throw nlopt::forced_stop();
          },
          &replay);
      search.set_lower_bounds(0.0);
      search.set_upper_bounds(1.0);
      if (local) search.set_xtol_abs(options_.tolerance);
      search.set_maxeval(100000);
      std::vector<double> x(n, 0.5);
      if (local) {
        search.set_initial_step(0.2);
        if (run > 0) {
          const VectorXd from = sobol(n, 1, options_.seed, static_cast<std::uint64_t>(run)).col(0);
          x.assign(from.begin(), from.end());
        }
      }
      double value = 0;
      try {
        search.optimize(x, value);
      } catch (const nlopt::forced_stop&) {
      } catch (const std::runtime_error&) {  // this run ends because of rounding errors
      }
    }
    return replay.question;
  }

  std::vector<Variable> variables_;
  NloptOptions options_;
  std::map<std::vector<double>, double> answers_;
  std::optional<VectorXd> pending_;
  std::optional<Evaluation> best_;
  double worst_ = -HUGE_VAL;
  int observed_ = 0;
  std::string last_failure_;
  VectorXd asked_;
  std::optional<VectorXd> question_;  // next design to ask for; empty: the search has ended
  std::string stopped_;
};

}  // namespace

std::unique_ptr<Strategy> make_nlopt_search(const std::vector<Variable>& variables, const NloptOptions& options) {
  check_ranges(variables, "nlopt");
  if (options.algorithm == NloptAlgorithm::bobyqa && variables.size() < 2)
    throw std::invalid_argument("bobyqa: needs two free variables at least; cobyla takes one");
  if (!(options.tolerance > 0)) throw std::invalid_argument("nlopt: the tolerance must be above 0");
  if (options.restarts < 0) throw std::invalid_argument("nlopt: restarts must not be negative");
  if (options.max_failures < 1) throw std::invalid_argument("nlopt: max failures must be at least 1");
  return std::make_unique<NloptSearch>(variables, options);
}

const KeyTable<NloptOptions>& nlopt_keys(bool local) {
  using Options = NloptOptions;
  static const auto any =
      KeyTable<Options>("surrogate.")
          .add("tolerance", &Options::tolerance,
               {.unit = "1",
                .description = "step at which a local search ends, as a fraction of the range",
                .minimum = 0,
                .open_minimum = true,
                .identity = false})
          .add("max-failures", &Options::max_failures,
               {.description = "number of evaluations after which a search without a usable cost ends",
                .minimum = 1,
                .identity = false});
  static const auto restarting = KeyTable<Options>(any).add(
      "restarts", &Options::restarts,
      {.description = "number of restarts of the search, from quasi-random designs", .minimum = 0});
  return local ? restarting : any;
}

}  // namespace dodyn::surrogate
