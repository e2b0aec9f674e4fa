#include "surrogate/observed_data.hpp"

#include <algorithm>
#include <boost/math/special_functions/digamma.hpp>
#include <boost/math/special_functions/trigamma.hpp>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <numbers>
#include <sstream>
#include <utility>

#include "record/text.hpp"
#include "surrogate/random.hpp"

namespace dodyn::surrogate {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

std::string Constraint::label() const { return name + (below ? "<=" : ">=") + formatted("%.9g", limit); }

double ObservedData::nearest_possible(int metric, double value) const {
  return std::find(rates.begin(), rates.end(), metric) == rates.end() ? value : std::clamp(value, 0.0, 1.0);
}

double ObservedData::objective(const Evaluation& e, std::size_t which) const {
  const int metric = objectives[which];
  if (metric < 0) return e.cost;
  return metric < e.metrics.size() ? e.metrics(metric) : not_a_number;
}

VectorXd ObservedData::outcome(const Evaluation& e) const {
  VectorXd all(objectives.size());
  for (std::size_t k = 0; k < objectives.size(); ++k) all(k) = objective(e, k);
  return all;
}

bool ObservedData::usable(const Evaluation& e) const {
  if (!e.ok()) return false;
  for (std::size_t i = 0; i < objectives.size(); ++i)
    if (!(std::abs(objective(e, i)) <= Kriging::most_magnitude)) return false;
  for (const Constraint& c : constraints)
    if (c.metric >= e.metrics.size() || (c.metric >= 0 && !(std::abs(e.metrics(c.metric)) <= Kriging::most_magnitude)))
      return false;
  return true;
}

bool ObservedData::feasible(const Evaluation& e) const {
  return usable(e) &&
         std::all_of(constraints.begin(), constraints.end(), [&](const Constraint& c) { return c.is_satisfied(e); });
}

bool ObservedData::noisy() const {
  return costs_noisy || std::any_of(evaluations.begin(), evaluations.end(),
                                    [&](const auto& e) { return usable(e) && e.cost_stderr > 0; });
}

namespace {

// Returns the x with trigamma(x) = value. trigamma falls from infinity to 0.
double inverse_trigamma(double value) {
  double low = -20, high = 20;  // ln(x)
  for (int i = 0; i < 60; ++i) {
    const double middle = 0.5 * (low + high);
    (boost::math::trigamma(std::exp(middle)) > value ? low : high) = middle;
  }
  return std::exp(low);
}

struct Scatter {
  double squares = 0;  // sum of squared deviations of the costs of each evaluation from their mean
  double degrees = 0;  // degrees of freedom
};

// Returns the variance of one cost of each design. A few costs hardly determine it, so it is moderated: other designs
// count as observations of a common variance, as far as the variances of designs agree. G. Smyth, Linear models and
// empirical Bayes methods for assessing differential expression in microarray experiments (2004), section 6.
std::vector<double> moderated_variances(const std::vector<Scatter>& designs) {
  std::vector<double> logs, spreads;
  Scatter all;
  for (const Scatter& own : designs) {
    if (own.squares == 0) continue;
    const double half = 0.5 * own.degrees;
    logs.push_back(std::log(own.squares / own.degrees) - boost::math::digamma(half) + std::log(half));
    spreads.push_back(boost::math::trigamma(half));
    all.squares += own.squares, all.degrees += own.degrees;
  }
  const auto count = static_cast<double>(logs.size());
  double mean = 0, excess = 0;
  for (const double value : logs) mean += value / count;
  for (std::size_t i = 0; i < logs.size(); ++i)
    excess += std::pow(logs[i] - mean, 2) / (count - 1) - spreads[i] / count;
  std::vector<double> out;
  for (const Scatter& own : designs) {
    if (own.squares == 0 || count < 2) {
      out.push_back(own.squares / own.degrees);
    } else if (excess <= 0) {  // the variances agree within their errors
      out.push_back(all.squares / all.degrees);
    } else {
      const double half = inverse_trigamma(excess),
                   common = std::exp(mean + boost::math::digamma(half) - std::log(half));
      out.push_back((2 * half * common + own.squares) / (2 * half + own.degrees));
    }
  }
  return out;
}

// Returns the variances of the errors of these evaluations. The standard error of a rate is sound for few states, so
// it remains.
VectorXd variances_of_errors(const std::vector<const Evaluation*>& of) {
  VectorXd out(of.size());
  std::vector<const VectorXd*> designs;
  std::vector<Scatter> scatters;
  std::vector<std::size_t> design_of(of.size());
  bool are_rates = true;
  for (std::size_t i = 0; i < of.size(); ++i) {
    const VectorXd& costs = of[i]->paired_costs;
    out(i) = std::pow(of[i]->cost_stderr, 2);
    if (costs.size() < 2) continue;
    are_rates = are_rates && (costs.array() == 0 || costs.array() == 1).all();
    const auto at = std::find_if(designs.begin(), designs.end(), [&](const auto* x) { return *x == of[i]->design; });
    design_of[i] = static_cast<std::size_t>(at - designs.begin());
    if (at == designs.end()) designs.push_back(&of[i]->design), scatters.emplace_back();
    scatters[design_of[i]].squares += (costs.array() - costs.mean()).square().sum();
    scatters[design_of[i]].degrees += static_cast<double>(costs.size() - 1);
  }
  if (are_rates) return out;
  const std::vector<double> variances = moderated_variances(scatters);
  for (std::size_t i = 0; i < of.size(); ++i)
    if (const Index count = of[i]->paired_costs.size(); count > 1)
      out(i) = variances[design_of[i]] / static_cast<double>(count);
  return out;
}

}  // namespace

// The diagonal of the covariance of errors has variances_of_errors(). The other entries are sample covariances of the n
// costs with four added observations that do not correlate, as in the standard errors of rates (Agresti and Coull
// 1998). So two designs with the same costs still differ by an error. With this covariance as the noise of a model, the
// mean would be wrong. Errors on the same initial states depend on the design as smoothly as the costs do. So
// generalised least squares mistakes a step of the costs for an error, and its mean can lie outside the range of all
// samples (G. D'Agostini, On the use of the covariance matrix to fit correlated data, 1994). The working covariance has
// two parts: an error that all designs share, and an independent error of each design. The latter is half the variance
// of the best known difference to another design. Errors that only neighbours share remain in the mean, and in its
// variance. For weights from a working covariance and intervals from the true one: K. Liang, S. Zeger, Longitudinal
// data analysis using generalized linear models (1986).
void ObservedData::add_errors(const std::vector<const Evaluation*>& of, Samples& samples) {
  samples.variance = variances_of_errors(of);
  std::map<std::pair<std::uint64_t, Index>, std::vector<Index>> blocks;  // by seed and number of states
  for (Index i = 0; i < samples.variance.size(); ++i) {
    const Evaluation& e = *of[i];
    if (e.paired_costs.size() > 1) blocks[{e.seed, e.paired_costs.size()}].push_back(i);
  }
  if (blocks.empty()) return;
  samples.covariance = samples.working = samples.variance.asDiagonal();
  for (const auto& [block, members] : blocks) {
    constexpr double added = 4;  // observations
    const auto count = static_cast<Index>(members.size());
    if (count < 2) continue;
    MatrixXd deviations(block.second, count);
    for (Index k = 0; k < count; ++k) {
      const Evaluation& e = *of[members[k]];
      deviations.col(k) = e.paired_costs.array() - e.paired_costs.mean();
      if (e.cost_stderr > 0) deviations.col(k) *= std::sqrt(samples.variance(members[k])) / e.cost_stderr;
    }
    MatrixXd between = deviations.transpose() * deviations / std::pow(static_cast<double>(block.second) + added, 2);
    between.diagonal().setZero();
    samples.covariance(members, members) += between;
    const VectorXd own = samples.variance(members);
    const double shared = std::max(between.sum() / static_cast<double>(count * (count - 1)), 0.0);
    MatrixXd working = MatrixXd::Constant(count, count, shared);
    for (Index k = 0; k < count; ++k) {
      double least = std::numeric_limits<double>::infinity();
      for (Index j = 0; j < count; ++j)
        if (j != k) least = std::min(least, own(k) + own(j) - 2 * between(k, j));
      working(k, k) += 0.5 * least;
    }
    samples.working(members, members) = working;
  }
  samples.variance = samples.working.diagonal();
}

int ObservedData::count_of(const VectorXd& design) const {
  return static_cast<int>(
      std::count_if(evaluations.begin(), evaluations.end(), [&](const auto& e) { return e.design == design; }) +
      std::count(pending.begin(), pending.end(), design));
}

namespace {

constexpr double chance = 0.05;          // significance level of the plateau tests
constexpr int orders = 99;               // number of random permutations in the test
constexpr std::size_t least_shared = 4;  // minimum number of designs on a plateau
constexpr std::size_t part_shared = 4;   // a plateau has at least 1/4 of the designs
// Minimum with standard errors: this number times (variables + 1). Fewer designs do not reveal a slope whose steps are
// as small as the errors.
constexpr std::size_t least_within_errors = 10;

struct ObservedCost {
  const Evaluation* of;
  double cost;
};

double mean_of(const std::vector<ObservedCost>& all) {
  double sum = 0;
  for (const ObservedCost& s : all) sum += s.cost;
  return sum / static_cast<double>(all.size());
}

// Likelihood ratio test: whether the costs fit a mixture, with members normal about `cost` with their standard errors,
// better than one normal distribution of all costs. True if a member has no standard error.
bool shares_one_cost(const std::vector<ObservedCost>& all, const std::vector<ObservedCost>& members, double cost) {
  const double mean = mean_of(all);
  double variance = 0;
  for (const ObservedCost& s : all) variance += std::pow(s.cost - mean, 2);
  variance /= static_cast<double>(all.size());
  const auto log_density = [](double delta, double square) {
    return -0.5 * (delta * delta / square + std::log(2 * std::numbers::pi * square));
  };
  const auto n = static_cast<double>(all.size()), k = static_cast<double>(members.size());
  double sum = k * std::log(k / n) + (k < n ? (n - k) * std::log(1 - k / n) : 0);
  for (const ObservedCost& s : members) {
    if (s.of->cost_stderr == 0) return true;
    sum += log_density(s.cost - cost, std::pow(s.of->cost_stderr, 2)) - log_density(s.cost - mean, variance);
  }
  return sum > 0;
}

// Whether the costs of nearby designs differ less than those of random pairs. Then the costs depend on the design, even
// if the differences between neighbours are smaller than their errors. Permutation test: compares the differences
// between nearest designs with the differences after permutations of the costs.
bool depends_on_place(const ObservedData& observed, const std::vector<ObservedCost>& members) {
  std::vector<std::size_t> beside(members.size());
  std::vector<VectorXd> at;
  for (const ObservedCost& s : members) at.push_back(observed.space.embed(observed.unit(*s.of)));
  for (std::size_t i = 0; i < at.size(); ++i) {
    double least = INFINITY;
    for (std::size_t j = 0; j < at.size(); ++j)
      if (const double square = (at[i] - at[j]).squaredNorm(); j != i && square < least) least = square, beside[i] = j;
  }
  std::vector<double> costs;
  for (const ObservedCost& s : members) costs.push_back(s.cost);
  const auto differences = [&] {
    double sum = 0;
    for (std::size_t i = 0; i < costs.size(); ++i) sum += std::pow(costs[i] - costs[beside[i]], 2);
    return sum;
  };
  const double seen = differences();
  Random random(costs.size());
  int as_small = 1;
  for (int order = 0; order < orders; ++order) {
    for (std::size_t i = costs.size(); i > 1; --i)
      std::swap(costs[i - 1], costs[static_cast<std::size_t>(random.uniform() * static_cast<double>(i))]);
    as_small += differences() <= seen;
  }
  return as_small <= chance * (orders + 1);
}

}  // namespace

void ObservedData::find_plateau() {
  plateau.reset();
  if (objectives.size() != 1) return;
  std::vector<ObservedCost> all;
  bool exact = true;
  for (std::size_t i = from; i < evaluations.size(); ++i) {
    if (!usable(evaluations[i])) continue;
    all.push_back({&evaluations[i], objective(evaluations[i], 0)});
    exact = exact && (evaluations[i].cost_stderr == 0 || evaluations[i].paired_costs.size() > 0);
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const ObservedCost& a, const ObservedCost& b) { return a.cost < b.cost; });
  const std::size_t n = all.size();
  const std::size_t least =
      exact ? least_shared : least_within_errors * static_cast<std::size_t>(space.dimensions() + 1);
  const std::size_t needed = std::max(least, n / part_shared);
  if (n < needed) return;
  // the largest of n normal errors stays below the band with probability 1 - chance
  const double band = std::sqrt(2 * std::log(static_cast<double>(n) / chance));
  const auto members_of = [&](const Plateau& p) {
    std::vector<ObservedCost> members;
    for (const ObservedCost& s : all)
      if (p.holds(*s.of, s.cost)) members.push_back(s);
    return members;
  };
  std::size_t most = 0;
  for (std::size_t i = 0; i < n; ++i) {
    if (i > 0 && all[i].cost == all[i - 1].cost) continue;
    Plateau found{all[i].cost, band};
    std::vector<ObservedCost> members = members_of(found);
    if (members.size() < 2) continue;
    found.cost = members[members.size() / 2].cost;
    members = members_of(found);
    const bool beaten = !found.holds(*all[0].of, all[0].cost) && all[0].cost < found.cost;
    if (members.size() < needed || members.size() <= most || (members.size() < n && !beaten)) continue;
    if (!exact &&
        ((members.size() < n && !shares_one_cost(all, members, found.cost)) || depends_on_place(*this, members)))
      continue;
    most = members.size();
    plateau = found;
  }
}

std::size_t ObservedData::count_usable() const {
  return static_cast<std::size_t>(
      std::count_if(evaluations.begin(), evaluations.end(), [&](const auto& e) { return usable(e); }));
}

namespace {

const Evaluation* least_of(const ObservedData& observed, std::size_t from) {
  const Evaluation* found = nullptr;
  for (std::size_t i = from; i < observed.evaluations.size(); ++i) {
    const Evaluation& e = observed.evaluations[i];
    if (observed.feasible(e) && (!found || observed.objective(e, 0) < observed.objective(*found, 0))) found = &e;
  }
  return found;
}

}  // namespace

const Evaluation* ObservedData::best() const { return least_of(*this, 0); }
const Evaluation* ObservedData::best_of_region() const { return least_of(*this, from); }

VectorXd ObservedData::slope(const Evaluation& e) const {
  if (e.gradient.size() != space.dimensions() || !e.gradient.allFinite()) return {};
  return e.gradient.cwiseProduct(space.slope(e.design));
}

bool ObservedData::tried(const VectorXd& u, double within) const {
  const auto close = [&](const VectorXd& x) { return (space.unit(x) - u).cwiseAbs().maxCoeff() < within; };
  return std::any_of(evaluations.begin(), evaluations.end(), [&](const auto& e) { return close(e.design); }) ||
         std::any_of(pending.begin(), pending.end(), close);
}

double ObservedData::quantile(double part, const Warp& warp) const {
  std::vector<double> costs;
  for (const Evaluation& e : evaluations)
    if (feasible(e)) costs.push_back(warp.forward(objective(e, 0)));
  if (costs.empty()) return 0;
  const auto at = costs.begin() + static_cast<std::ptrdiff_t>(part * static_cast<double>(costs.size()));
  std::nth_element(costs.begin(), at, costs.end());
  return *at - *std::min_element(costs.begin(), costs.end());
}

std::string ObservedData::say_best() const {
  const Evaluation* const least = best();
  if (!least) return "no usable cost";
  std::ostringstream out;
  out.precision(9);
  out << "lowest cost " << objective(*least, 0);
  if (least->id >= 0)
    out << " (evaluation " << least->id << ")";
  else
    out << " (known beforehand)";
  return out.str() + " at " + place_of(space.variables(), least->design);
}

}  // namespace dodyn::surrogate
