#include "surrogate/wrong_gradients.hpp"

#include <Eigen/QR>
#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>
#include <utility>

#include "record/text.hpp"

namespace dodyn::surrogate {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

namespace {

constexpr std::size_t most_designs = 400;  // number of the latest designs; the pairs of more would take a second
constexpr int neighbours = 3;              // pairs per design
constexpr double accepted = 3;             // factor up to which, and down to whose inverse, a gradient is accepted
constexpr double relative_error = 0.05;    // relative error of the differences of costs in a pair without curvature
constexpr double rounding = 1e-9;          // error of a cost, relative to the range of the costs
// Fractions of the sum of absolute differences of costs. The fit explains them if its error is below `explained`, and
// the unchanged gradient if its error is below `plausible`. A factor matters if the value 1 in its place raises the
// error by `significant`, and to at least `worse` times the error of the fit.
constexpr double explained = 0.3, plausible = 0.5, significant = 0.05, worse = 3;

// Minimum number of pairs for a fit.
Index min_pairs(Index variables) { return 3 * variables + 4; }

// Differences between near designs: costs, and the changes that the mean gradient predicts along each variable.
struct Differences {
  MatrixXd predicted;     // [pair, variable]
  VectorXd cost, weight;  // [pair]; inverse of the error that curvature may cause
  double error(const VectorXd& factors) const { return weight.dot((cost - predicted * factors).cwiseAbs()); }
};

// Returns the pairs of each design with its nearest ones, smaller index first.
std::set<std::pair<Index, Index>> near_pairs(const MatrixXd& x) {
  std::set<std::pair<Index, Index>> pairs;
  for (Index i = 0; i < x.cols(); ++i) {
    const VectorXd distance = (x.colwise() - x.col(i)).cwiseAbs().colwise().maxCoeff();
    std::vector<Index> order;
    for (Index j = 0; j < x.cols(); ++j)
      if (distance(j) > 0) order.push_back(j);
    const auto count = std::min<std::size_t>(neighbours, order.size());
    std::partial_sort(order.begin(), order.begin() + count, order.end(),
                      [&](Index a, Index b) { return std::pair(distance(a), a) < std::pair(distance(b), b); });
    for (std::size_t k = 0; k < count; ++k) pairs.emplace(std::min(i, order[k]), std::max(i, order[k]));
  }
  return pairs;
}

Differences differences_of(const MatrixXd& x, const VectorXd& cost, const MatrixXd& slope) {
  const double range = cost.maxCoeff() - cost.minCoeff();
  std::vector<VectorXd> predicted;
  std::vector<double> change, weight;
  for (const auto& [i, j] : near_pairs(x)) {
    const VectorXd step = x.col(j) - x.col(i);
    const VectorXd mean = 0.5 * (slope.col(i) + slope.col(j)).cwiseProduct(step);
    const double bend = (slope.col(j) - slope.col(i)).cwiseProduct(step).cwiseAbs().sum();
    const double size = mean.cwiseAbs().sum(), error = bend + relative_error * (size + std::abs(cost(j) - cost(i)));
    if (bend > size || !(error + rounding * range > 0)) continue;  // a kink or a minimum between them
    predicted.push_back(mean);
    change.push_back(cost(j) - cost(i));
    weight.push_back(1 / (error + rounding * range));
  }
  Differences all{MatrixXd(predicted.size(), x.rows()), Eigen::Map<const VectorXd>(change.data(), change.size()),
                  Eigen::Map<const VectorXd>(weight.data(), weight.size())};
  for (std::size_t k = 0; k < predicted.size(); ++k) all.predicted.row(k) = predicted[k].transpose();
  return all;
}

// Returns the factors with the least weighted sum of absolute deviations, by iteratively reweighted least squares.
// `fixed`: a factor that stays 1; -1: none.
VectorXd fitted_factors(const Differences& all, Index fixed) {
  constexpr int iterations = 60;
  constexpr double smallest = 1e-6;  // deviation, relative to the mean of all, that has the largest weight
  VectorXd factors = VectorXd::Ones(all.predicted.cols());
  std::vector<Index> free(factors.size());
  std::iota(free.begin(), free.end(), Index(0));
  std::erase(free, fixed);
  if (free.empty()) return factors;
  const MatrixXd columns = all.predicted(Eigen::all, free);
  VectorXd rest = all.cost;
  if (fixed >= 0) rest -= all.predicted.col(fixed);
  const double least = smallest * all.weight.dot(all.cost.cwiseAbs()) / static_cast<double>(rest.size());
  VectorXd squares = all.weight;
  for (int i = 0; i < iterations; ++i) {
    const VectorXd roots = squares.cwiseSqrt();
    const VectorXd found = (roots.asDiagonal() * columns).colPivHouseholderQr().solve(roots.cwiseProduct(rest));
    factors(free) = found;
    const VectorXd deviations = all.weight.cwiseProduct((rest - columns * found).cwiseAbs()).cwiseMax(least);
    squares = all.weight.cwiseAbs2().cwiseQuotient(deviations);
  }
  return factors;
}

}  // namespace

std::vector<DoubtfulGradient> doubtful_gradients(const ObservedData& observed) {
  if (!observed.space.all_real() || observed.noisy()) return {};
  std::vector<const Evaluation*> with;
  for (std::size_t i = observed.evaluations.size(); i-- > 0 && with.size() < most_designs;)
    if (const Evaluation& e = observed.evaluations[i]; observed.usable(e) && observed.slope(e).size() > 0)
      with.push_back(&e);
  const Index d = observed.space.dimensions(), n = with.size();
  if (n < 2) return {};
  MatrixXd x(d, n), slope(d, n);
  VectorXd cost(n);
  for (Index i = 0; i < n; ++i) {
    const Evaluation& e = *with[i];
    x.col(i) = observed.unit(e);
    slope.col(i) = observed.slope(e);
    cost(i) = e.cost;
  }
  const Differences all = differences_of(x, cost, slope);
  if (all.cost.size() < min_pairs(d)) return {};
  const double total = all.error(VectorXd::Zero(d));
  if (all.error(VectorXd::Ones(d)) <= plausible * total) return {};
  const VectorXd factors = fitted_factors(all, -1);
  const double error = all.error(factors);
  if (!(error <= explained * total)) return {};
  std::vector<DoubtfulGradient> doubtful;
  for (Index k = 0; k < d; ++k) {
    if (factors(k) >= 1 / accepted && factors(k) <= accepted) continue;
    const double otherwise = all.error(fitted_factors(all, k));
    if (otherwise >= worse * error && otherwise - error >= significant * total) doubtful.push_back({k, factors(k)});
  }
  return doubtful;
}

std::string doubt_text(const std::vector<Variable>& variables, const std::vector<DoubtfulGradient>& doubtful) {
  std::string text;
  for (const DoubtfulGradient& one : doubtful) {
    const double size = std::abs(one.factor);
    const bool is_sign = one.factor < 0, is_unit = size < 1 / accepted || size > accepted;
    text += (text.empty() ? "" : "; ") + std::string("between near designs the cost changes by ") +
            formatted("%.3g", one.factor) + " times what the gradient by " + variables[one.variable].name +
            " predicts: check its " +
            (is_sign && is_unit ? "sign and unit"
             : is_sign          ? "sign"
                                : "unit");
  }
  return text;
}

}  // namespace dodyn::surrogate
