#include "study/observed_data.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <stdexcept>
#include <string_view>

#include "record/text.hpp"
#include "settings/expression.hpp"
#include "settings/settings.hpp"
#include "study/study.hpp"
#include "surrogate/archive_model.hpp"
#include "surrogate/strategy_options.hpp"

namespace dodyn::study {

std::string text_in(const std::vector<std::pair<std::string, std::string>>& configuration, const std::string& key) {
  const auto at = std::ranges::find_if(configuration, [&](const auto& one) { return one.first == key; });
  return at == configuration.end() ? "" : at->second;
}

namespace {

constexpr double rounding = 1e-9;            // maximum rounding error of a rate, a sum of rates or a cost
constexpr Eigen::Index most_modelled = 500;  // number of evaluations up to which a model is fitted within seconds

// Whether low and high are the ends of the Wilson interval of a rate at some number of tries. The ends are the
// solutions x of (rate - x)^2 = s x (1 - x), whose product is rate^2/(1 + s) and whose sum is (2 rate + s)/(1 + s).
bool is_wilson_interval(double rate, double low, double high) {
  if (!(low >= 0 && low <= rate && rate <= high && high <= 1)) return false;
  if (rate == 0) return low <= rounding;
  const double scale = rate * rate / (low * high);
  return std::abs(2 * rate + scale - 1 - (low + high) * scale) <= rounding * scale;
}

}  // namespace

std::vector<int> rates_of(const archive::Contents& contents) {
  constexpr std::string_view low = "failure_rate_low", high = "failure_rate_high";
  const auto& metrics = contents.layout.metrics;
  const auto always = [&](auto&& is_so) {
    bool any = false;
    for (const Evaluation& e : contents.evaluations) {
      if (!e.ok() || e.metrics.size() != static_cast<Eigen::Index>(metrics.size())) continue;
      if (!is_so(e)) return false;
      any = true;
    }
    return any;
  };
  const auto value = [](const Evaluation& e, int quantity) { return quantity < 0 ? e.cost : e.metrics(quantity); };
  std::vector<int> rates, of_scenarios;
  for (int i = 0; i + 1 < std::ssize(metrics); ++i) {
    const auto name = [&](int k) -> const std::string& { return metrics[k].name; };
    if (!name(i).ends_with(low) || !name(i + 1).ends_with(high)) continue;
    const std::string scenario = name(i).substr(0, name(i).size() - low.size());  // with its colon
    int first = i;  // index of the first fraction of an outcome; the fractions are before the interval
    while (first > 0 && name(first - 1).starts_with(scenario) && name(first - 1) != scenario + "cost") --first;
    const int cost = scenario.empty() ? -1 : first - 1;
    if (always([&](const Evaluation& e) { return is_wilson_interval(value(e, cost), value(e, i), value(e, i + 1)); })) {
      rates.insert(rates.end(), {cost, i, i + 1});
      if (cost >= 0) of_scenarios.push_back(cost);
    }
    const bool are_fractions = always([&](const Evaluation& e) {
      const auto fractions = e.metrics.segment(first, i - first);
      return (fractions.array() >= 0).all() && std::abs(fractions.sum() - 1) <= rounding;
    });
    for (int k = first; are_fractions && k < i; ++k) rates.push_back(k);
  }
  const bool is_between = !of_scenarios.empty() && always([&](const Evaluation& e) {
    const Eigen::VectorXd costs = e.metrics(of_scenarios);
    return e.cost >= costs.minCoeff() - rounding && e.cost <= costs.maxCoeff() + rounding;
  });
  if (is_between) rates.push_back(-1);
  return rates;
}

surrogate::ObservedData observed_data(const archive::Contents& contents) {
  const auto text = [&](const std::string& key) { return text_in(contents.provenance.configuration, key); };
  const auto& layout = contents.layout;
  const auto metrics = names_of(layout.metrics);
  try {
    surrogate::Named named;
    named.integers = text("surrogate.integers");
    named.categories = text("surrogate.categories");
    named.logarithmic = text("surrogate.log-scale");
    named.conditional = text("surrogate.conditional");
    const auto domains = surrogate::parse_domains(
        named, layout.variables, [&](const std::string& variable) { return text("design." + variable); });
    std::vector<int> objectives = surrogate::parse_names(text("surrogate.objectives"), metrics, true);
    if (objectives.empty()) objectives = {-1};
    surrogate::ObservedData observed{surrogate::DesignSpace(layout.variables, domains, "archive"),
                                     constraints_of(text("surrogate.constraints"), layout.metrics),
                                     std::move(objectives), text("surrogate.noise") == "true"};
    observed.rates = rates_of(contents);
    observed.evaluations.reserve(contents.evaluations.size());
    for (const auto& [id, row] : archive::latest(contents))
      if (const Evaluation& e = contents.evaluations[row]; e.status != Status::lost) observed.evaluations.push_back(e);
    return observed;
  } catch (const std::invalid_argument& error) {
    throw ConfigError("the archive's configuration: " + std::string(error.what()));
  }
}

namespace {

// Whether trajectories have the cost of each initial state. All designs then share these states.
bool has_costs_of_states(const Channels& channels) {
  return std::ranges::any_of(channels, [](const Channel& channel) {
    return channel.name == channel_of_states &&
           std::ranges::find(channel.coordinates, cost_of_state) != channel.coordinates.end();
  });
}

}  // namespace

void read_paired_costs(const std::string& path, archive::Contents& contents) {
  const Channels& channels = contents.layout.channels;
  // Evaluations that share initial states have the same seed; without such ones there is no covariance.
  std::set<std::uint64_t> seeds;
  for (const Evaluation& e : contents.evaluations) seeds.insert(e.seed);
  if (seeds.size() == contents.evaluations.size() || !has_costs_of_states(channels)) return;
  archive::for_each_trajectory(path, contents.evaluations.size(), [&](std::size_t row, const Trajectory& trajectory) {
    if (Evaluation& e = contents.evaluations[row]; e.ok()) e.paired_costs = costs_of_states(channels, trajectory);
  });
}

const Evaluation* recommended_of(const archive::Contents& contents, const surrogate::ObservedData& observed) {
  if (observed.objectives.size() > 1) return nullptr;
  const Evaluation* const least = observed.best();
  if (!least || !observed.noisy()) return least;
  for (std::size_t i = contents.iterations.size(); i-- > 0;) {
    const Eigen::VectorXd& design = contents.iterations[i].recommended;  // NaN before the first model
    if (design.size() != least->design.size() || !design.allFinite()) continue;
    const Evaluation* found = nullptr;  // for a repeated design the evaluation with the smallest standard error
    for (const Evaluation& e : observed.evaluations)
      if (e.design == design && observed.feasible(e) && (!found || e.cost_stderr < found->cost_stderr)) found = &e;
    if (found) return found;
  }
  return least;
}

Eigen::VectorXd recommended_by_model(const archive::Contents& contents) {
  const surrogate::ObservedData observed = observed_data(contents);
  // On shared initial states the lowest cost is better known than a model that takes errors for independent.
  if (observed.objectives.size() > 1 || !observed.noisy() || has_costs_of_states(contents.layout.channels)) return {};
  Eigen::VectorXd found;
  try {
    const surrogate::ArchiveModel model(observed, observed.objectives.front(), most_modelled);
    double lowest = std::numeric_limits<double>::infinity();
    for (const Evaluation& e : observed.evaluations) {
      if (!observed.feasible(e)) continue;
      if (const double predicted = model.at(e.design).middle; predicted < lowest) lowest = predicted, found = e.design;
    }
  } catch (const std::invalid_argument&) {  // too few evaluations for a model
  }
  return found;
}

namespace {

// Returns a number of an iteration's model; NaN: it has none.
double number_of(const surrogate::Iteration& iteration, std::string_view name) {
  for (const auto& [key, value] : iteration.numbers)
    if (key == name) return value;
  return not_a_number;
}

}  // namespace

std::optional<StatedChoice> stated_choice(const archive::Contents& contents) {
  if (contents.iterations.empty()) return {};
  const auto number = [&](const char* name) { return number_of(contents.iterations.back(), name); };
  const double optimism = number("recommended_optimism");
  const StatedChoice stated{number("recommended_cost"), number("recommended_deviation"),
                            std::isnan(optimism) ? 0 : optimism, number("indifference"), number("probability_best")};
  if (!(stated.probability >= 0)) return {};
  return stated;
}

std::string low_fidelity_text(const archive::Contents& contents) {
  const std::string path = text_in(contents.provenance.configuration, "surrogate.low-fidelity");
  if (path.empty()) return {};
  std::vector<std::string> objectives = split_list(text_in(contents.provenance.configuration, "surrogate.objectives"));
  if (objectives.empty() || objectives[0] == "cost")
    objectives.resize(std::max<std::size_t>(objectives.size(), 1)), objectives[0] = "the costs";
  for (auto i = contents.iterations.rbegin(); i != contents.iterations.rend(); ++i) {
    const double factor = number_of(*i, surrogate::low_fidelity_factor);
    if (std::isnan(factor)) continue;                                         // an iteration without a model
    const double count = number_of(*i, surrogate::low_fidelity_evaluations);  // earlier archives do not have it
    const std::string of = (count > 0 ? formatted("%g evaluations of ", count) : "") + path;
    const std::string& what = objectives[0];
    std::string text =
        factor == 0 ? "left out; without " + of + " the model predicts " + what + " at least as well"
                    : "the model of " + what + " has that of " + of + " with the factor " + formatted("%.3g", factor);
    // further objectives, and limits
    const std::string first = std::string(surrogate::low_fidelity_factor) + '_', objective = "objective_";
    for (const auto& [name, value] : i->numbers) {
      if (!name.starts_with(first)) continue;
      const std::string label = name.substr(first.size());
      std::size_t which = 0;
      while (which < objectives.size() && label != objective + std::to_string(which + 1)) ++which;
      text += "; " + (which < objectives.size() ? objectives[which] : label) + ": " +
              (value == 0 ? "left out" : "factor " + formatted("%.3g", value));
    }
    return "low fidelity: " + text;
  }
  return "low fidelity: " + path + " gave a first design only; there is no model of " + objectives[0] + " yet";
}

}  // namespace dodyn::study
