#include "surrogate/archive_model.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>
#include <utility>
#include <vector>

#include "surrogate/acquisition.hpp"
#include "surrogate/random.hpp"
#include "surrogate/sampling.hpp"

namespace dodyn::surrogate {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

namespace {

constexpr double band = 1.959963984540054;       // half width of the 95 % interval, in standard deviations
constexpr Index most_with_alternatives = 300;    // number of rows above which length scales are almost certain
constexpr Index most_left_out = 500;             // limit of the number of samples in cross-validation
constexpr std::size_t max_quickly_fitted = 500;  // number of evaluations up to which a model is fitted for a note
constexpr double at_bound = 1e-6;                // relative to the range: a design nearer to a bound lies on it
constexpr double secant = 2e-3;                  // relative to the range: distance over which the model's slope is
                                                 // measured
constexpr double flat = 1e-3;                    // relative to the variation of costs: a smaller gain is not
                                                 // significant

// Returns the 97.5 % quantile of Student's distribution (M. Abramowitz and I. Stegun, Handbook of Mathematical
// Functions, 1964, 26.7.5). The relative error is below 1e-2 from 4 degrees of freedom on. For one degree of freedom
// the result is a quarter too small.
double student_band(int degrees_of_freedom) {
  constexpr double z = band, z3 = z * z * z, z5 = z3 * z * z, z7 = z5 * z * z;
  const double v = degrees_of_freedom;
  return z + (z3 + z) / (4 * v) + (5 * z5 + 16 * z3 + 3 * z) / (96 * v * v) +
         (3 * z7 + 19 * z5 + 17 * z3 - 15 * z) / (384 * v * v * v);
}

// Converts points of the unit cube to the models' coordinates, one column each.
MatrixXd embedded(const DesignSpace& space, const MatrixXd& units) {
  MatrixXd z(space.embedded(), units.cols());
  for (Index i = 0; i < units.cols(); ++i) z.col(i) = space.embed(space.unit(space.design(units.col(i))));
  return z;
}

// Returns for each sample (column of `x`) the fraction of the box to which it is the nearest. Duplicates share one
// fraction equally.
VectorXd parts_of_box(const DesignSpace& space, const MatrixXd& x) {
  constexpr int points = 4096;
  const MatrixXd box = embedded(space, sobol(space.dimensions(), points, 1));
  VectorXd parts = VectorXd::Zero(x.cols());
  for (Index i = 0; i < box.cols(); ++i) {
    const VectorXd squares = (x.colwise() - box.col(i)).colwise().squaredNorm();
    const double least = squares.minCoeff();
    const auto nearest = (squares.array() <= least).cast<double>().matrix().eval();
    parts += nearest / nearest.sum();
  }
  return parts / points;
}

// Returns the equivalent number of evenly spread samples: (sum of parts)^2 / (sum of squared parts). A sample on a
// bound, such as a grid point, has a half-sized cell there. So its part is doubled for each bound.
double even_samples_of(const MatrixXd& x, VectorXd parts) {
  constexpr double near = 1e-6;
  for (Index i = 0; i < x.cols(); ++i)
    parts(i) *= std::exp2(static_cast<double>((x.col(i).array() < near || x.col(i).array() > 1 - near).count()));
  return parts.sum() * parts.sum() / parts.squaredNorm();
}

// Selects `most` of the samples (columns of `x`). `ranked`: their indices, best first. The first tenth are the best
// samples. The others are added one by one: always the sample farthest from all selected ones.
std::vector<Index> best_then_filling(const MatrixXd& x, std::vector<Index> ranked, Index most) {
  const Index n = ranked.size();
  VectorXd nearest = VectorXd::Constant(n, HUGE_VAL);  // squared distance to the nearest selected sample, by position
                                                       // in `ranked`
  for (Index chosen = 0; chosen < most; ++chosen) {
    if (chosen >= most / 10) {
      Index farthest = 0;
      nearest.tail(n - chosen).maxCoeff(&farthest);
      std::swap(ranked[chosen], ranked[chosen + farthest]);
      std::swap(nearest(chosen), nearest(chosen + farthest));
    }
    const auto place = x.col(ranked[chosen]);
    for (Index i = chosen + 1; i < n; ++i) nearest(i) = std::min(nearest(i), (x.col(ranked[i]) - place).squaredNorm());
  }
  ranked.resize(most);
  return ranked;
}

// Returns the indices of the evaluations, best first. Evaluations that satisfy the constraints precede the others; both
// groups are sorted by the first objective.
std::vector<Index> ranking(const ObservedData& observed, const std::vector<const Evaluation*>& evaluations) {
  std::vector<std::pair<bool, double>> rank;
  for (const Evaluation* e : evaluations) {
    const double objective = observed.objective(*e, 0);
    rank.emplace_back(!observed.feasible(*e), std::isfinite(objective) ? objective : HUGE_VAL);
  }
  std::vector<Index> order(evaluations.size());
  std::iota(order.begin(), order.end(), Index(0));
  std::stable_sort(order.begin(), order.end(), [&](Index a, Index b) { return rank[a] < rank[b]; });
  return order;
}

// Returns all indices below n, or `most_left_out` random ones if there are more.
std::vector<Index> drawn_samples(Index n) {
  std::vector<Index> all(n);
  std::iota(all.begin(), all.end(), Index(0));
  if (n <= most_left_out) return all;
  Random random(1);
  for (Index i = 0; i < most_left_out; ++i) std::swap(all[i], all[static_cast<std::size_t>(i + random.below(n - i))]);
  all.resize(most_left_out);
  return all;
}

// Returns 1 - sum of squared errors / sum of squares about the mean, weighted by the samples' parts, which sum to 1.
double weighted_quality(const Kriging::LeaveOneOut& predicted, const VectorXd& parts) {
  const double mean = parts.dot(predicted.observed);
  const double spread = parts.dot((predicted.observed.array() - mean).square().matrix());
  const double error = parts.dot((predicted.observed - predicted.mean).cwiseAbs2());
  return spread > 0 ? 1 - error / spread : 0;
}

}  // namespace

ArchiveModel::ArchiveModel(const ObservedData& observed, int metric, Index most, bool nugget)
    : observed_(observed), metric_(metric) {
  const DesignSpace& space = observed.space;
  const auto value = [&](const Evaluation& e) {
    return metric < 0 ? e.cost : metric < e.metrics.size() ? e.metrics(metric) : not_a_number;
  };
  const bool scatters = observed.noisy(), noisy = metric < 0 && scatters;  // the noise of gradients is unknown
  std::vector<const Evaluation*> good;
  bool gradient = false;
  for (const Evaluation& e : observed.evaluations) {
    if (!e.ok() || !(std::abs(value(e)) <= Kriging::most_magnitude)) continue;
    good.push_back(&e);
    gradient |= metric < 0 && !noisy && space.all_real() && observed.slope(e).size() > 0;
  }
  available_ = good.size();
  if (available_ < 2) {
    std::string what = metric < 0 ? "cost" : "value";
    for (const Constraint& c : observed.constraints)
      if (metric >= 0 && c.metric == metric) what = c.name;
    throw std::invalid_argument("only " + std::to_string(available_) +
                                (available_ == 1 ? " evaluation has" : " evaluations have") + " a usable " + what +
                                "; two are needed");
  }
  Samples s;
  s.x.resize(space.embedded(), available_);
  s.y.resize(available_);
  if (gradient) s.gradient = MatrixXd::Constant(space.embedded(), available_, not_a_number);
  for (Index i = 0; i < available_; ++i) {
    const Evaluation& e = *good[i];
    s.x.col(i) = space.embed(observed.unit(e));
    s.y(i) = value(e);
    if (const VectorXd slope = gradient ? observed.slope(e) : VectorXd(); slope.size() > 0) s.gradient.col(i) = slope;
  }
  if (noisy) ObservedData::add_errors(good, s);
  if (available_ > most) s = s.chosen(best_then_filling(s.x, ranking(observed, good), most));
  used_ = s.size();
  KrigingOptions options;
  // The standard errors of costs are known, as in the search. The standard errors of metrics are not.
  options.nugget = nugget || (metric < 0 ? observed.costs_noisy : scatters);
  // The width of the warp changes by a factor of ten per fit; repeat until it is constant.
  for (double width = not_a_number; tracked_.empty() || tracked_.warp().width != width;) {
    width = tracked_.empty() ? not_a_number : tracked_.warp().width;
    tracked_.update(s, options, !scatters, true);
    if (scatters) break;
  }
  if (tracked_.model().rows() <= most_with_alternatives)
    alternatives_ = tracked_.alternatives();
  else
    alternatives_ = {{tracked_.model(), 1}};
  const MatrixXd places = tracked_.model().sample_places();
  const VectorXd parts = parts_of_box(space, places);
  even_samples_ = even_samples_of(places, parts);
  const MatrixXd filling = embedded(space, sobol(space.dimensions(), places.cols(), 2));
  even_samples_of_filling_ = even_samples_of(filling, parts_of_box(space, filling));
  const std::vector<Index> drawn = drawn_samples(places.cols());
  const Kriging::LeaveOneOut left_out = tracked_.model().leave_one_out(drawn);
  quality_ = left_out.quality();
  quality_over_box_ = weighted_quality(left_out, parts(drawn) / parts(drawn).sum());
}

std::pair<double, double> ArchiveModel::middle_and_half_width(const VectorXd& design) const {
  const MatrixXd z = observed_.space.embed(observed_.space.unit(design));
  VectorXd mean, variance, other_mean, other_variance;
  tracked_.model().predict(z, mean, variance);
  double square = 0;
  for (const auto& [model, share] : alternatives_) {
    model.predict(z, other_mean, other_variance);
    square += share * (other_variance(0) + std::pow(other_mean(0) - mean(0), 2));
  }
  return {mean(0), student_band(degrees_of_freedom()) * std::sqrt(std::max(square, 0.0))};
}

PredictionInterval ArchiveModel::at(const VectorXd& design) const {
  const auto [middle, half_width] = middle_and_half_width(design);
  const auto value = [&](double w) { return observed_.nearest_possible(metric_, tracked_.warp().backward(w)); };
  return {value(middle), value(middle - half_width), value(middle + half_width)};
}

MatrixXd ArchiveModel::drawn(const MatrixXd& z, int draws, Random& random) const {
  MatrixXd functions(z.cols(), draws);
  int first = 0;
  double shares = 0;
  const auto add = [&](const Kriging& model, int count) {
    MatrixXd normal(z.cols(), count);
    for (double& value : normal.reshaped()) value = random.normal();
    VectorXd mean, variance;
    model.predict(z, mean, variance);
    const MatrixXd deviations = model.drawn(z, normal).colwise() - mean;
    for (int i = 0; i < count; ++i) {
      double chi_squared = 0;
      for (int k = 0; k < degrees_of_freedom(); ++k) chi_squared += std::pow(random.normal(), 2);
      functions.col(first + i) = mean + std::sqrt(degrees_of_freedom() / chi_squared) * deviations.col(i);
    }
    first += count;
  };
  for (const auto& [model, share] : alternatives_) {
    shares += share;
    const int count = std::min(static_cast<int>(std::lround(shares * draws)), draws) - first;
    if (count > 0) add(model, count);
  }
  return functions;
}

double ArchiveModel::probability_below(const VectorXd& design, double limit) const {
  if (observed_.nearest_possible(metric_, limit) != limit) return limit > 0 ? 1 : 0;
  const auto [middle, half_width] = middle_and_half_width(design);
  const double distance = tracked_.warp().forward(limit) - middle, sd = half_width / band;
  if (sd == 0) return distance >= 0 ? 1 : 0;
  return 0.5 * std::erfc(-distance / (sd * std::sqrt(2.0)));
}

VectorXd ArchiveModel::middles(const MatrixXd& units) const {
  VectorXd mean, variance;
  tracked_.model().predict(embedded(observed_.space, units), mean, variance);
  const Warp& warp = tracked_.warp();
  return mean.unaryExpr([&](double w) { return warp.backward(w); });
}

namespace {

// Returns mean and standard deviation of the change of a quantity from u - step * outwards to u, in the model's scale.
std::pair<double, double> outward_change(const ArchiveModel& model, const DesignSpace& space, const VectorXd& u,
                                         const VectorXd& outwards, double step = secant) {
  MatrixXd z(space.embedded(), 2);
  z << space.embed(u), space.embed(u - step * outwards);
  VectorXd mean, variance;
  model.model().model().predict(z, mean, variance);
  const MatrixXd c = model.model().model().covariance(z);
  return {mean(0) - mean(1), std::sqrt(std::max(c(0, 0) + c(1, 1) - 2 * c(0, 1), 0.0))};
}

// Returns the largest decrease of the model's cost within `widening` beyond u.
double gain_beyond(const ArchiveModel& cost, const DesignSpace& space, const VectorXd& u, const VectorXd& outwards) {
  constexpr int steps = 10;
  const Kriging& model = cost.model().model();
  const Warp& warp = cost.model().warp();
  const double here = warp.backward(model.predict(space.embed(u)).mean);
  double least = here;
  for (int i = 1; i <= steps; ++i)
    least = std::min(least, warp.backward(model.predict(space.embed(u + i * widening / steps * outwards)).mean));
  return here - least;
}

// Whether the constraints' models predict a violation within `widening` beyond the design, by their slopes at the
// design. True also if the evaluation lacks a constrained metric.
bool violates_beyond(const ObservedData& observed, const Evaluation& at, const VectorXd& u, const VectorXd& outwards) {
  for (const Constraint& c : observed.constraints) {
    if (c.metric >= at.metrics.size()) return true;
    const ArchiveModel metric(observed, c.metric);
    const double value = c.metric < 0 ? at.cost : at.metrics(c.metric);
    const double change = outward_change(metric, observed.space, u, outwards).first /
                          metric.model().warp().slope(value) * widening / secant;
    if (c.below ? value + change > c.limit : value + change < c.limit) return true;
  }
  return false;
}

}  // namespace

std::vector<BoundToWiden> bounds_to_widen(const ObservedData& observed, const Evaluation& at) {
  const DesignSpace& space = observed.space;
  const VectorXd u = observed.unit(at);
  const double little = flat * observed.quantile(0.5, Warp());
  const bool exact = !observed.noisy() && at.gradient.size() == u.size();
  const bool has_negative_cost =
      std::ranges::any_of(observed.evaluations, [](const Evaluation& e) { return e.ok() && e.cost < 0; });
  std::vector<BoundToWiden> found;
  for (Index k = 0; k < u.size(); ++k) {
    if (space.domain(k) == Domain::category || !space.active(k, at.design)) continue;
    const bool levels = !space.real(k);
    if (levels && space.levels(k) < 2) continue;
    const double first = levels ? space.unit_of_level(k, 0) : 0,
                 last = levels ? space.unit_of_level(k, space.levels(k) - 1) : 1;
    if (u(k) <= first + at_bound || u(k) >= last - at_bound) found.push_back({k, u(k) >= last - at_bound});
  }
  std::optional<ArchiveModel> cost;
  if (!found.empty() && observed.evaluations.size() <= max_quickly_fitted && observed.count_usable() > 2)
    cost.emplace(observed, -1);
  std::erase_if(found, [&](BoundToWiden& bound) {
    const Index k = bound.variable;
    VectorXd outwards = VectorXd::Zero(u.size());
    outwards(k) = bound.is_upper ? 1 : -1;
    if (!space.real(k)) {  // the model does not extend beyond the last value: only whether the cost falls towards it
      const int inner = bound.is_upper ? space.levels(k) - 2 : 1;
      if (!cost) return false;
      const auto [change, deviation] =
          outward_change(*cost, space, u, outwards, std::abs(u(k) - space.unit_of_level(k, inner)));
      return !(change < -band * deviation);
    }
    if (exact && std::isfinite(at.gradient(k))) {
      bound.gain = -at.gradient(k) * space.slope(at.design)(k) * outwards(k) * widening;
    } else if (cost) {
      const auto [change, deviation] = outward_change(*cost, space, u, outwards);
      const bool significant = change < -band * deviation;
      bound.gain = significant ? -change / cost->model().warp().slope(at.cost) * widening / secant : 0;
    }
    if (!bound.gain) return false;
    if (!(*bound.gain > little)) return true;
    // Far from its samples the model returns to their mean, so it does not limit the gain there.
    if (cost) bound.gain = std::min(*bound.gain, gain_beyond(*cost, space, u, outwards));
    const bool is_limited = !observed.constraints.empty() && (!cost || violates_beyond(observed, at, u, outwards));
    // A cost that was never negative may not become so, however steep it is at the bound.
    const bool is_beyond_all = !has_negative_cost && *bound.gain > at.cost;
    if (is_limited || is_beyond_all || !(*bound.gain > little)) bound.gain.reset();
    return false;
  });
  return found;
}

namespace {

// Numbers of candidate points of sample_optimum(): a filling of the box, points around the best design, and the number
// of points at which functions are drawn.
constexpr int filling_points = 4000, nearby_points = 4000, drawn_points = 400;

// Returns points of the unit cube, one column each: a filling, points at random distances around `centre`, and the
// centre itself.
MatrixXd candidate_points(const DesignSpace& space, const VectorXd& centre, Random& random) {
  const Index d = space.dimensions();
  MatrixXd units(d, filling_points + nearby_points + 1);
  units.leftCols(filling_points) = sobol(d, filling_points, 1);
  for (Index i = 0; i < nearby_points; ++i) {
    const double size = std::pow(10.0, -0.5 - 3 * random.uniform());
    for (Index k = 0; k < d; ++k)
      units(k, filling_points + i) = std::clamp(centre(k) + size * random.normal(), 0.0, 1.0);
  }
  units.col(filling_points + nearby_points) = centre;
  return units;
}

}  // namespace

OptimumDistribution sample_optimum(const ObservedData& observed, int draws) {
  const ArchiveModel cost(observed, -1);
  const DesignSpace& space = observed.space;
  const SuccessClassifier success = viability_of(observed);
  std::vector<ArchiveModel> limits;
  for (const Constraint& c : observed.constraints) limits.emplace_back(observed, c.metric);
  const Evaluation* const best = observed.best();
  if (!best) throw std::invalid_argument("no evaluation is ok and keeps the constraints");

  Random random(1);
  const MatrixXd units = candidate_points(space, observed.unit(*best), random);
  const Index d = space.dimensions(), at_best = units.cols() - 1;
  const MatrixXd z = embedded(space, units);
  const Kriging& model = cost.model().model();
  VectorXd mean, variance;
  model.predict(z, mean, variance);
  std::vector<Index> order;
  for (Index i = 0; i < units.cols(); ++i) {
    bool possible = i == at_best || success.log_probability(z.col(i)) >= std::log(0.5);
    for (std::size_t k = 0; possible && i < at_best && k < limits.size(); ++k) {
      const double p = limits[k].probability_below(space.design(units.col(i)), observed.constraints[k].limit);
      possible = (observed.constraints[k].below ? p : 1 - p) >= 0.5;
    }
    if (possible) order.push_back(i);
  }
  // The largest values of log weight + Gumbel noise are a weighted sample without replacement (Efraimidis and Spirakis
  // 2006). The points of largest weight alone would lie close together, and a flat model would seem to have its minimum
  // there.
  double level = mean(at_best);
  for (const Index i : order) level = std::min(level, mean(i));
  VectorXd key(units.cols());
  for (const Index i : order)
    key(i) =
        log_probability_below(mean(i), std::max(variance(i), 0.0), level).value - std::log(-std::log(random.uniform()));
  std::stable_sort(order.begin(), order.end(), [&](Index a, Index b) { return key(a) > key(b); });
  // Takes equally many points from the filling and from the points around the best, which would otherwise dominate.
  // Takes each design once, although many points may round to it. The minimum of several draws at a design is too low.
  std::vector<Index> chosen = {at_best};
  const auto is_new = [&](Index i) {
    return std::none_of(chosen.begin(), chosen.end(), [&](Index other) { return z.col(i) == z.col(other); });
  };
  for (const bool near : {false, true}) {
    int count = 0;
    for (const Index i : order)
      if ((i >= filling_points) == near && count < drawn_points / 2 && is_new(i)) chosen.push_back(i), ++count;
  }
  MatrixXd drawn = cost.drawn(z(Eigen::all, chosen), draws, random);
  // The best cost is known exactly
  if (!observed.noisy()) drawn.row(0).setConstant(cost.model().warp().forward(best->cost));
  std::vector<double> costs;
  MatrixXd minima(d, draws);
  for (int i = 0; i < draws; ++i) {
    Index at = 0;
    const double least = drawn.col(i).minCoeff(&at);
    costs.push_back(observed.nearest_possible(-1, cost.model().warp().backward(least)));
    minima.col(i) = space.design(units.col(chosen[at]));
  }
  const auto quantile = [](std::vector<double> values, double part) {
    std::sort(values.begin(), values.end());
    return values[static_cast<std::size_t>(part * static_cast<double>(values.size() - 1))];
  };
  OptimumDistribution out{
      VectorXd(d), VectorXd(d), VectorXd(d), {quantile(costs, 0.5), quantile(costs, 0.025), quantile(costs, 0.975)}};
  for (Index k = 0; k < d; ++k) {
    const VectorXd row = minima.row(k);
    const std::vector<double> values(row.begin(), row.end());
    out.lower(k) = quantile(values, 0.05), out.middle(k) = quantile(values, 0.5), out.upper(k) = quantile(values, 0.95);
  }
  return out;
}

SuccessClassifier viability_of(const ObservedData& observed) {
  MatrixXd x(observed.space.embedded(), observed.evaluations.size());
  std::vector<bool> viable;
  for (std::size_t i = 0; i < observed.evaluations.size(); ++i) {
    x.col(i) = observed.space.embed(observed.unit(observed.evaluations[i]));
    viable.push_back(observed.evaluations[i].ok());
  }
  return SuccessClassifier(x, viable);
}

}  // namespace dodyn::surrogate
