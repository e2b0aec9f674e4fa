#include "report/predictions.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>
#include <utility>

#include "report/cells.hpp"
#include "report/report.hpp"
#include "study/observed_data.hpp"
#include "study/study.hpp"
#include "surrogate/hypervolume.hpp"
#include "surrogate/sampling.hpp"
#include "surrogate/selection.hpp"
#include "surrogate/strategy.hpp"
#include "surrogate/wrong_gradients.hpp"

namespace dodyn::report {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

namespace {

constexpr int effect_points = 21, effect_samples = 512;
constexpr std::size_t most_fitted = 500;  // number of evaluations up to which a model is fitted quickly
constexpr double poor = 0.8;              // R2 below which the figures of a model need a warning
// The evaluations are crowded if even_samples / even_samples_of_filling is below this value. The ratio is about 1 for
// grids and 0.4 to 0.7 for designs of finished searches (docs/measured/surrogates.md).
constexpr double crowded = 0.75;

Quantity quantity_of(const archive::Contents& contents, int metric) {
  if (metric < 0) return {"cost", "1", ""};
  return contents.layout.metrics[metric];
}

surrogate::ArchiveModel fitted(const archive::Contents& contents, const surrogate::ObservedData& observed, int metric) {
  try {
    return surrogate::ArchiveModel(observed, metric);
  } catch (const std::invalid_argument& error) {
    throw std::invalid_argument(quantity_of(contents, metric).name + ": " + error.what());
  }
}

// Returns how many evaluations a model uses, and its quality. `samples`: number of evaluations in the model, among
// `available` ones.
std::string model_text(Index samples, Index available, double quality) {
  return std::to_string(samples) + (available > samples ? " of " + std::to_string(available) : "") + " evaluations" +
         formatted(", quality %.3f", quality);
}

// Returns a note in place of warning() if costs have noise: then even an exact model predicts single evaluations
// poorly.
std::string noise_note(double quality) {
  return formatted("note: costs have noise. The model predicts single evaluations with quality %.2f (1 is exact); ",
                   quality) +
         "its intervals are for the mean of many\n";
}

std::string warning(const std::string& quantity, double quality) {
  return quality < poor ? "warning: the model of " + quantity +
                              formatted(" predicts evaluations from the others with quality %.2f only ", quality) +
                              "(1 is exact, 0 no better than their mean): its figures are rough\n"
                        : "";
}

// Returns a constraint as text, "max_torque <= 15". The limit has a unit only if `units` converts it.
std::string constraint_text(const archive::Contents& contents, const surrogate::Constraint& c,
                            const OutputUnits& units) {
  Quantity quantity = quantity_of(contents, c.metric);
  const double factor = units.convert(quantity.unit);
  return quantity.name + (c.below ? " <= " : " >= ") +
         (factor == 1.0 ? to_text(c.limit) : with_unit(short_number(factor * c.limit), quantity.unit));
}

// Returns the intervals of failure rates in the metrics, by scenario, such as "0.12 to 0.22".
std::string intervals_text(const archive::Contents& contents, const Evaluation& e) {
  constexpr std::string_view low = "failure_rate_low", high = "failure_rate_high";
  std::string text;
  const auto& metrics = contents.layout.metrics;
  for (std::size_t i = 0; i + 1 < metrics.size(); ++i) {
    const std::string& name = metrics[i].name;
    if (!name.ends_with(low) || !metrics[i + 1].name.ends_with(high) || std::cmp_greater_equal(i + 1, e.metrics.size()))
      continue;
    if (!std::isfinite(e.metrics(i)) || !std::isfinite(e.metrics(i + 1))) continue;
    const std::string scenario = name.substr(0, name.size() - low.size());  // with its colon
    text += (text.empty() ? "" : ", ") + (scenario.empty() ? "" : scenario + " ") +
            formatted("%.3g to %.3g", e.metrics(i), e.metrics(i + 1));
  }
  return text;
}

// Predicts the objective at a design, if there are enough evaluations and few enough for a quick fit.
std::optional<surrogate::PredictionInterval> forecast_at(const archive::Contents& contents,
                                                         const surrogate::ObservedData& observed,
                                                         const VectorXd& design) {
  if (observed.evaluations.size() > most_fitted || observed.count_usable() < 2) return {};
  return fitted(contents, observed, observed.objectives.front()).at(design);
}

// Returns the cost of the recommended design of a search with paired costs. Its interval accounts for the choice of the
// lowest of several uncertain costs. Empty: the search states none.
std::optional<surrogate::PredictionInterval> stated_cost(const archive::Contents& contents,
                                                         const surrogate::ObservedData& observed) {
  const auto stated = study::stated_choice(contents);
  if (!stated) return {};
  const auto [lower, upper] = surrogate::interval_of_choice(stated->cost, stated->deviation, stated->optimism);
  surrogate::PredictionInterval cost = {stated->cost, lower, upper};
  for (double* value : {&cost.middle, &cost.lower, &cost.upper})  // at() of the model cuts to possible values, too
    *value = observed.nearest_possible(observed.objectives.front(), *value);
  return cost;
}

std::string interval_line(const archive::Contents& contents, const Evaluation& e) {
  const std::string text = intervals_text(contents, e);
  return text.empty() ? "" : "failure rate: 95 % interval " + text + " (Wilson)\n";
}

}  // namespace

std::vector<const Evaluation*> front_of(const surrogate::ObservedData& observed) {
  const std::size_t count = observed.objectives.size();
  std::vector<const Evaluation*> front;
  for (const Evaluation& one : observed.evaluations) {
    if (!observed.feasible(one)) continue;
    const bool dominated = std::ranges::any_of(observed.evaluations, [&](const Evaluation& other) {
      if (!observed.feasible(other)) return false;
      bool better = false;
      for (std::size_t k = 0; k < count; ++k) {
        const double theirs = observed.objective(other, k), ours = observed.objective(one, k);
        if (theirs > ours) return false;
        better |= theirs < ours;
      }
      return better || other.id < one.id;  // equal values: the first evaluation wins
    });
    if (!dominated) front.push_back(&one);
  }
  std::ranges::sort(
      front, [&](const auto* a, const auto* b) { return observed.objective(*a, 0) < observed.objective(*b, 0); });
  return front;
}

std::string broken_text(const archive::Contents& contents, const surrogate::ObservedData& observed, const Evaluation& e,
                        const OutputUnits& units) {
  std::string text;
  if (!e.ok()) return text;
  for (const auto& c : observed.constraints)
    if (!c.is_satisfied(e)) {
      const double value = c.metric < 0 ? e.cost : c.metric < e.metrics.size() ? e.metrics(c.metric) : not_a_number;
      std::string unit = quantity_of(contents, c.metric).unit;
      text += (text.empty() ? "violates " : ", ") + constraint_text(contents, c, units) +
              (std::isnan(value) ? " (no value)" : formatted(" (%.6g)", units.convert(unit) * value));
    }
  return text;
}

std::string bound_note(const archive::Contents& contents, const surrogate::ObservedData& observed, const Evaluation& e,
                       const OutputUnits& units) {
  std::string text;
  std::vector<Variable> variables = contents.layout.variables;
  convert(variables, units);
  for (const surrogate::BoundToWiden& bound : surrogate::bounds_to_widen(observed, e)) {
    const auto& [name, unit, lower, upper, choices] = variables[bound.variable];
    text += (text.empty() ? "" : "; ") + name + " is at its " + (bound.is_upper ? "upper" : "lower") + " bound " +
            with_unit(short_number(bound.is_upper ? upper : lower), unit) +
            (bound.gain ? formatted(": widen it, another %.0f %% of the range lowers the cost by about %.2g",
                                    100 * surrogate::widening, *bound.gain)
                        : ": the optimum may lie beyond the range");
  }
  return text;
}

namespace {

std::string result_text(const archive::Contents& contents, const surrogate::ObservedData& observed,
                        const OutputUnits& units) {
  std::vector<Variable> variables = contents.layout.variables;
  const VectorXd factors = convert(variables, units);
  std::vector<Quantity> objectives;
  VectorXd objective_factors(observed.objectives.size());
  for (const int metric : observed.objectives) {
    objectives.push_back(quantity_of(contents, metric));
    objective_factors(static_cast<Index>(objectives.size()) - 1) = units.convert(objectives.back().unit);
  }
  std::string doubt = surrogate::doubt_text(variables, surrogate::doubtful_gradients(observed));
  if (!doubt.empty()) doubt = "warning: " + doubt + "\n";
  if (study::text_in(contents.provenance.configuration, "surrogate.gradient") == "true" &&
      observed.count_usable() > 0 &&
      std::ranges::none_of(observed.evaluations, [](const Evaluation& e) { return e.gradient.size() > 0; }))
    doubt += "warning: no evaluation has a gradient, so surrogate.gradient = true has no effect\n";
  if (observed.objectives.size() > 1) {
    const auto front = front_of(observed);
    if (front.empty()) return best_text(nullptr, variables, "");
    std::vector<std::vector<std::string>> rows = {{"id"}};
    std::string names;
    for (const Quantity& quantity : objectives) {
      names += (names.empty() ? "" : " and ") + quantity.name;
      rows[0].push_back(quantity.name +
                        (quantity.unit.empty() || quantity.unit == "1" ? "" : " [" + quantity.unit + "]"));
    }
    const bool intervals = !intervals_text(contents, *front.front()).empty();
    if (intervals) rows[0].emplace_back("fails, 95 %");
    rows[0].emplace_back("design");
    std::vector<VectorXd> points;
    for (const Evaluation* e : front) {
      rows.push_back({std::to_string(e->id)});
      for (std::size_t k = 0; k < observed.objectives.size(); ++k)
        rows.back().push_back(formatted("%.6g", objective_factors(k) * observed.objective(*e, k)));
      if (intervals) rows.back().push_back(intervals_text(contents, *e));
      rows.back().push_back(design_text(variables, e->design.cwiseProduct(factors)));
    }
    for (const Evaluation& e : observed.evaluations)
      if (observed.feasible(e)) points.push_back(observed.outcome(e).cwiseProduct(objective_factors));
    const surrogate::Front all = surrogate::Front::of(points);
    std::string to;
    for (const double value : all.reference) to += formatted("%s%.6g", to.empty() ? "" : ", ", value);
    const std::string area = formatted(", hypervolume %.6g to (%s)", all.hypervolume(), to.c_str());
    return "front of " + names + ": " + counted(front.size(), "design") + area + "\n" + columns(rows) + doubt;
  }
  const Evaluation* const best = observed.best();
  const Quantity& objective = objectives.front();
  const double factor = objective_factors(0);
  const Evaluation* const recommended = study::recommended_of(contents, observed);
  const std::string note = recommended ? bound_note(contents, observed, *recommended, units) : "";
  const bool noisy = best && observed.noisy();
  Evaluation shown = best ? *best : Evaluation();
  if (best) shown.design = shown.design.cwiseProduct(factors);
  std::string seen =
      best_text(best ? &shown : nullptr, variables, noisy ? "" : note) + (best ? interval_line(contents, *best) : "");
  if (best && observed.objectives.front() >= 0)
    seen += "objective: " + objective.name + " " +
            with_unit(formatted("%.12g", factor * observed.objective(*best, 0)), objective.unit) + "\n";
  seen += doubt;
  if (!noisy) return seen;
  std::string text = "recommended: " + design_text(variables, recommended->design.cwiseProduct(factors)) +
                     formatted(" (evaluation %lld)", static_cast<long long>(recommended->id));
  const auto stated = study::stated_choice(contents);
  const auto there = stated ? stated_cost(contents, observed) : forecast_at(contents, observed, recommended->design);
  if (there)
    text += ", where the model's " + objective.name +
            formatted(" is %.6g (95 %%: %.6g to %.6g)", factor * there->middle, factor * there->lower,
                      factor * there->upper);
  if (stated)
    text += formatted("\nof the evaluated designs it is the best within %.2g with a probability of %s %%",
                      factor * stated->indifference, surrogate::percent_text(stated->probability).c_str());
  return text + "\n" + (note.empty() ? "" : "note: " + note + "\n") +
         "lowest cost seen, noise included: " + seen.substr(std::string("best: ").size());
}

}  // namespace

std::string outcome_text(const archive::Contents& contents, const surrogate::ObservedData& observed,
                         const OutputUnits& units) {
  const std::string low = study::low_fidelity_text(contents);
  return result_text(contents, observed, units) + (low.empty() ? "" : low + "\n");
}

std::string optimum_text(const archive::Contents& contents, const surrogate::ObservedData& observed,
                         const OutputUnits& units) {
  const surrogate::OptimumDistribution where = surrogate::sample_optimum(observed);
  std::vector<Variable> variables = contents.layout.variables;
  const VectorXd factors = convert(variables, units);
  const bool noisy = observed.noisy();
  const Evaluation* const recommended = study::recommended_of(contents, observed);
  const Evaluation* const best = noisy && recommended ? recommended : observed.best();
  std::vector<std::vector<std::string>> rows = {
      {"variable", "5 %", "median", "95 %", noisy ? "recommended" : "best evaluation"}};
  for (std::size_t k = 0; k < variables.size(); ++k) {
    rows.push_back({variables[k].name + surrogate::unit_after(variables[k])});
    for (const double value : {where.lower(k), where.middle(k), where.upper(k), best->design(k)}) {
      const std::string* const name = variables[k].choice(value);
      rows.back().push_back(name ? *name : formatted("%.6g", factors(k) * value));
    }
  }
  return formatted("lowest cost, by the model: %.6g (95 %%: %.6g to %.6g)", where.cost.middle, where.cost.lower,
                   where.cost.upper) +
         (noisy ? "" : formatted("; best evaluation: %.6g", best->cost)) + "\n" + columns(rows) +
         (observed.objectives.size() < 2 ? ""
                                         : "note: this is the optimum of the cost alone; the other objectives do not "
                                           "count, and dodyn show lists the front\n");
}

DesignPrediction prediction_of(const archive::Contents& contents, const surrogate::ObservedData& observed,
                               const VectorXd& design, std::vector<int> metrics, const OutputUnits& units) {
  DesignPrediction out;
  out.variables = contents.layout.variables;
  out.design = observed.space.design(observed.space.unit(design));
  std::vector<int> wanted = {-1};
  for (const int i : observed.objectives) wanted.push_back(i);
  for (const auto& c : observed.constraints) wanted.push_back(c.metric);
  wanted.insert(wanted.end(), metrics.begin(), metrics.end());
  const Evaluation* const recommended = study::recommended_of(contents, observed);
  const auto stated = recommended && observed.space.design(observed.unit(*recommended)) == out.design
                          ? stated_cost(contents, observed)
                          : std::nullopt;
  out.is_recommended = stated.has_value();
  std::vector<int> done;
  for (const int metric : wanted) {
    if (std::ranges::count(done, metric) > 0) continue;
    done.push_back(metric);
    const surrogate::ArchiveModel model = fitted(contents, observed, metric);
    Quantity quantity = quantity_of(contents, metric);
    const double factor = units.convert(quantity.unit);
    surrogate::PredictionInterval forecast =
        stated && metric == observed.objectives.front() ? *stated : model.at(out.design);
    for (double* value : {&forecast.middle, &forecast.lower, &forecast.upper}) *value *= factor;
    out.quantities.push_back(
        {quantity.name, quantity.unit, forecast, model.samples(), model.available(), model.quality()});
    for (const auto& c : observed.constraints)
      if (c.metric == metric) {
        const double below = model.probability_below(out.design, c.limit);
        out.kept.emplace_back(constraint_text(contents, c, units), c.below ? below : 1 - below);
      }
  }
  const VectorXd unit = observed.space.unit(out.design);
  out.evaluates = std::exp(surrogate::viability_of(observed).log_probability(observed.space.embed(unit)));
  out.distance = HUGE_VAL;
  for (const Evaluation& e : observed.evaluations) {
    const double distance = (observed.unit(e) - unit).cwiseAbs().maxCoeff();
    if (distance < out.distance) out.distance = distance, out.nearest = e.id;
  }
  out.design = out.design.cwiseProduct(convert(out.variables, units));
  out.is_noisy = observed.noisy();
  return out;
}

std::string as_text(const DesignPrediction& p) {
  std::string text = "at " + design_text(p.variables, p.design) + "\n\n";
  std::vector<std::vector<std::string>> rows = {{"quantity", "median", "95 % from", "to", "unit", "model"}};
  double worst = 1;
  std::string worst_name;
  for (const Predicted& q : p.quantities) {
    rows.push_back({q.name, formatted("%.6g", q.forecast.middle), formatted("%.6g", q.forecast.lower),
                    formatted("%.6g", q.forecast.upper), q.unit.empty() || q.unit == "1" ? "-" : q.unit,
                    model_text(q.samples, q.available, q.quality)});
    if (q.quality < worst) worst = q.quality, worst_name = q.name;
  }
  text += columns(rows) + "\n" + formatted("has a cost with probability %.3f\n", p.evaluates);
  for (const auto& [constraint, probability] : p.kept)
    text += "satisfies " + constraint + formatted(" with probability %.3f\n", probability);
  if (p.is_recommended)
    text +=
        "note: this design is the recommended one, the lowest of several uncertain costs; "
        "the range of its cost accounts for the choice\n";
  if (p.distance == 0)
    text += formatted("evaluation %lld has this design\n", static_cast<long long>(p.nearest));
  else
    text += formatted("nearest evaluation: %lld, at a distance of %.2g of the ranges\n",
                      static_cast<long long>(p.nearest), p.distance);
  return text + (p.is_noisy ? noise_note(worst) : warning(worst_name, worst));
}

std::string as_json(const DesignPrediction& p) {
  nlohmann::ordered_json all;
  for (std::size_t i = 0; i < p.variables.size(); ++i) {
    all["design"][p.variables[i].name] = p.design(i);
    all["units"][p.variables[i].name] = p.variables[i].unit;
  }
  for (const Predicted& q : p.quantities)
    all["quantities"][q.name] = {
        {"middle", q.forecast.middle}, {"lower", q.forecast.lower}, {"upper", q.forecast.upper}, {"unit", q.unit},
        {"samples", q.samples},        {"available", q.available},  {"quality", q.quality}};
  all["evaluates"] = p.evaluates;
  for (const auto& [constraint, probability] : p.kept) all["keeps"][constraint] = probability;
  all["nearest"] = p.nearest;
  all["distance"] = p.distance;
  return all.dump(2) + "\n";
}

archive::Group exported(const archive::Contents& contents, const surrogate::ObservedData& observed, int metric) {
  const auto& variables = contents.layout.variables;
  const Index d = variables.size();
  if (!observed.space.plain())
    throw std::invalid_argument("only a model of real variables on a linear scale is exported");
  const surrogate::ArchiveModel fit = fitted(contents, observed, metric);
  const surrogate::Kriging::Mean m = fit.model().model().mean();
  const Quantity quantity = quantity_of(contents, metric);
  std::string names;
  VectorXd lower(d), range(d);
  for (Index i = 0; i < d; ++i) {
    const Variable& variable = variables[i];
    names += (i ? " " : "") + variable.name;
    lower(i) = variable.lower;
    range(i) = variable.upper - variable.lower;
  }
  const surrogate::Warp& warp = fit.model().warp();
  const auto one = [](double value) { return MatrixXd::Constant(1, 1, value); };
  return {quantity.name,
          {{"variables", names}, {"unit", quantity.unit}, {"kernel", "matern52"}},
          {{"lower", "of the variables: x = (design - lower) / range", lower},
           {"range", "of the variables", range},
           {"samples", "x of the evaluations, [variable, sample]", m.samples},
           {"inverse_square", "1 / length^2 of each variable", m.inverse_square},
           {"values", "weights of the correlations with the samples", m.values},
           {"gradients", "weights of those with their gradients, [variable, sample]", m.gradients},
           {"beta", "trend", one(m.beta)},
           {"centre", "w = centre + spread * (trend + weighted correlations)", one(m.centre)},
           {"spread", "see centre", one(m.spread)},
           {"least", "quantity = least + w where w < 0 or width is infinite", one(warp.least)},
           {"width", "quantity = least + width * (exp(w / width) - 1) elsewhere", one(warp.width)}}};
}

namespace {

// Returns the points of the unit cube at quantiles [variables, points]. Rounding in the unit cube would give the first
// and the last level half of the others' probability. Here all levels have equal probability.
MatrixXd units_of_quantiles(const surrogate::DesignSpace& space, MatrixXd quantiles) {
  for (Index i = 0; i < quantiles.rows(); ++i) {
    if (space.real(i)) continue;
    const int levels = space.levels(i);
    for (Index k = 0; k < quantiles.cols(); ++k)
      quantiles(i, k) = space.unit_of_level(i, std::min(static_cast<int>(quantiles(i, k) * levels), levels - 1));
  }
  return quantiles;
}

// Returns the value of a variable at a quantile, among designs that have this variable.
double value_at_quantile(const surrogate::DesignSpace& space, Index variable, double quantile) {
  MatrixXd quantiles = surrogate::sobol(space.dimensions(), effect_samples, 1);
  quantiles.row(variable).setConstant(quantile);
  const MatrixXd units = units_of_quantiles(space, quantiles);
  VectorXd design;
  for (Index k = 0; k < units.cols(); ++k) {
    design = space.design(units.col(k));
    if (space.active(variable, design)) break;
  }
  return design(variable);
}

}  // namespace

Sensitivity sensitivity_of(const archive::Contents& contents, const surrogate::ObservedData& observed, int metric,
                           int samples, const OutputUnits& units) {
  const surrogate::ArchiveModel model = fitted(contents, observed, metric);
  Quantity quantity = quantity_of(contents, metric);
  const double factor = units.convert(quantity.unit);
  const auto f = [&](const MatrixXd& quantiles) {
    return model.middles(units_of_quantiles(observed.space, quantiles));
  };
  const int d = observed.space.dimensions();
  Sensitivity out{contents.layout.variables,
                  quantity.name,
                  quantity.unit,
                  model.samples(),
                  model.available(),
                  model.quality(),
                  model.quality_over_box(),
                  model.even_samples(),
                  model.even_samples_of_filling(),
                  0,
                  surrogate::sobol_indices(f, d, samples, 1),
                  surrogate::main_effects(f, d, effect_points, effect_samples, 1),
                  VectorXd::Zero(d)};
  for (Index i = 0; i < d; ++i) {
    Index least;
    out.effects.row(i).minCoeff(&least);
    out.least_at(i) = value_at_quantile(observed.space, i, static_cast<double>(least) / (effect_points - 1));
  }
  const surrogate::SuccessClassifier success = surrogate::viability_of(observed);
  const MatrixXd points = units_of_quantiles(observed.space, surrogate::sobol(d, effect_samples, 1));
  for (Index i = 0; i < points.cols(); ++i)
    out.unlikely += success.log_probability(observed.space.embed(points.col(i))) < std::log(0.5);
  out.unlikely /= static_cast<double>(points.cols());
  if (study::text_in(contents.provenance.configuration, "surrogate.strategy") == "morris")
    out.elementary = surrogate::elementary_effects(observed.space, observed.evaluations, [metric](const Evaluation& e) {
      return !e.ok()                     ? not_a_number
             : metric < 0                ? e.cost
             : metric < e.metrics.size() ? e.metrics(metric)
                                         : not_a_number;
    });
  out.least_at = out.least_at.cwiseProduct(convert(out.variables, units));
  out.effects *= factor;
  out.indices.mean *= factor;
  out.indices.variance *= factor * factor;
  if (out.elementary)
    for (VectorXd* effect : {&out.elementary->mean_magnitude, &out.elementary->mean, &out.elementary->deviation})
      *effect *= factor;
  return out;
}

namespace {

// Returns the elementary effects as a table, largest first.
std::string elementary_text(const Sensitivity& s) {
  const surrogate::ElementaryEffects& e = *s.elementary;
  std::vector<std::size_t> order(s.variables.size());
  std::iota(order.begin(), order.end(), std::size_t(0));
  const auto size = [&](std::size_t v) {
    const double value = e.mean_magnitude(v);
    return std::isnan(value) ? -1 : value;
  };
  std::ranges::stable_sort(order, [&](auto a, auto b) { return size(a) > size(b); });
  std::vector<std::vector<std::string>> rows = {{"variable", "size", "mean", "deviation", "steps"}};
  for (const std::size_t v : order) {
    rows.push_back({s.variables[v].name});
    for (const double value : {e.mean_magnitude(v), e.mean(v), e.deviation(v)})
      rows.back().push_back(std::isfinite(value) ? formatted("%.4g", value) : "-");
    rows.back().push_back(std::to_string(e.count(v)));
  }
  return "Elementary effects (Morris): change of " + s.name +
         " as a variable moves over its range, from the evaluations:\n\n" + columns(rows) + "\n";
}

}  // namespace

std::string as_text(const Sensitivity& s) {
  const std::string effects = s.elementary ? elementary_text(s) : "";
  if (!(s.indices.variance > surrogate::min_relative_variance * s.indices.mean * s.indices.mean))
    return effects + s.name + " = " + with_unit(formatted("%.6g", s.indices.mean), s.unit) + " for every design, by " +
           std::to_string(s.samples) + " evaluations: it has no variance, and no variable matters\n";
  std::string text = effects + "Shares of the variance of " + s.name + " over the ranges, by a model of " +
                     model_text(s.samples, s.available, s.quality) + ":\n\n";
  std::vector<std::vector<std::string>> rows = {
      {"variable", "alone", "+-", "with others", "+-", s.name + " on average from", "to", "least at"}};
  for (std::size_t v = 0; v < s.variables.size(); ++v) {
    const Variable& variable = s.variables[v];
    const double low = s.effects.row(v).minCoeff(), high = s.effects.row(v).maxCoeff(), at = s.least_at(v);
    const std::string* const name = variable.choice(at);
    rows.push_back({variable.name, formatted("%.3f", s.indices.first(v)), formatted("%.3f", s.indices.first_error(v)),
                    formatted("%.3f", s.indices.total(v)), formatted("%.3f", s.indices.total_error(v)),
                    formatted("%.6g", low), formatted("%.6g", high),
                    variable.name + " = " + (name ? *name : formatted("%.4g", at)) +
                        (variable.unit.empty() || variable.unit == "1" ? "" : " " + variable.unit)});
  }
  text +=
      columns(rows) + "\n" +
      formatted("mean %.6g, standard deviation %.6g", s.indices.mean, std::sqrt(s.indices.variance)) +
      (s.unit.empty() || s.unit == "1" ? "" : " " + s.unit) +
      formatted("; share of interactions: %.3f\n", std::max(1 - s.indices.first.sum(), 0.0)) +
      formatted("averages at %d quantiles of each variable's range; least: at one of these quantiles\n", effect_points);
  if (s.unlikely > 0)
    text += formatted(
        "note: in %.0f %% of the ranges designs fail more often than they evaluate; there the model extrapolates\n",
        100 * s.unlikely);
  const bool crowd = s.even_samples < crowded * s.even_samples_of_filling, rough = s.quality_over_box < poor;
  if (crowd || rough) {
    text += "warning: these figures may be wrong:";
    if (crowd)
      text += formatted(
          " the evaluations are close together: %lld of them cover the ranges as well as %.0f evenly spread ones",
          static_cast<long long>(s.samples), s.even_samples);
    if (rough)
      text += formatted("%s over the ranges the model predicts evaluations with quality %.2f (below %.1f)",
                        crowd ? ";" : "", s.quality_over_box, poor);
    text += crowd ? "; first evaluate a sweep, or more designs that fill the ranges (surrogate.initial-samples)\n"
                  : "; first evaluate more designs\n";
  }
  return text + (rough ? "" : warning(s.name, s.quality));
}

std::string as_json(const Sensitivity& s) {
  nlohmann::ordered_json all = {{"quantity", s.name},
                                {"unit", s.unit},
                                {"samples", s.samples},
                                {"available", s.available},
                                {"quality", s.quality},
                                {"quality_over_box", s.quality_over_box},
                                {"even_samples", s.even_samples},
                                {"even_samples_of_filling", s.even_samples_of_filling},
                                {"mean", s.indices.mean},
                                {"variance", s.indices.variance},
                                {"unlikely", s.unlikely}};
  for (std::size_t v = 0; v < s.variables.size(); ++v) {
    nlohmann::ordered_json effect = nlohmann::ordered_json::array();
    for (Index k = 0; k < s.effects.cols(); ++k) effect.push_back(s.effects(v, k));
    all["variables"][s.variables[v].name] = {{"first", s.indices.first(v)},
                                             {"first_error", s.indices.first_error(v)},
                                             {"total", s.indices.total(v)},
                                             {"total_error", s.indices.total_error(v)},
                                             {"main_effect", effect}};
    if (!s.elementary) continue;
    const auto number = [](double value) {
      return std::isfinite(value) ? nlohmann::ordered_json(value) : nlohmann::ordered_json();
    };
    all["variables"][s.variables[v].name]["elementary"] = {{"mean_magnitude", number(s.elementary->mean_magnitude(v))},
                                                           {"mean", number(s.elementary->mean(v))},
                                                           {"deviation", number(s.elementary->deviation(v))},
                                                           {"steps", s.elementary->count(v)}};
  }
  return all.dump(2) + "\n";
}

}  // namespace dodyn::report
