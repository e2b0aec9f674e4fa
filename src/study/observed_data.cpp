#include "study/observed_data.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include "record/text.hpp"
#include "settings/settings.hpp"
#include "study/study.hpp"
#include "surrogate/strategy_options.hpp"

namespace dodyn::study {

std::string text_in(const std::vector<std::pair<std::string, std::string>>& configuration, const std::string& key) {
  const auto at =
      std::find_if(configuration.begin(), configuration.end(), [&](const auto& one) { return one.first == key; });
  return at == configuration.end() ? "" : at->second;
}

surrogate::ObservedData observed_data(const archive::Contents& contents) {
  const auto text = [&](const std::string& key) { return text_in(contents.provenance.configuration, key); };
  const auto& layout = contents.layout;
  std::vector<std::string> metrics;
  for (const auto& metric : layout.metrics) metrics.push_back(metric.name);
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
    observed.evaluations.reserve(contents.evaluations.size());
    for (const auto& [id, row] : archive::latest(contents))
      if (const Evaluation& e = contents.evaluations[row]; e.status != Status::lost) observed.evaluations.push_back(e);
    return observed;
  } catch (const std::invalid_argument& error) {
    throw ConfigError("the archive's configuration: " + std::string(error.what()));
  }
}

void read_paired_costs(const std::string& path, archive::Contents& contents) {
  const Channels& channels = contents.layout.channels;
  const auto has_costs = [](const Channel& channel) {
    return channel.name == channel_of_states && std::find(channel.coordinates.begin(), channel.coordinates.end(),
                                                          cost_of_state) != channel.coordinates.end();
  };
  // Evaluations that share initial states have the same seed; without such ones there is no covariance.
  std::set<std::uint64_t> seeds;
  for (const Evaluation& e : contents.evaluations) seeds.insert(e.seed);
  if (seeds.size() == contents.evaluations.size() || std::none_of(channels.begin(), channels.end(), has_costs)) return;
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
    const Evaluation* found = nullptr;  // of a repeated design: the evaluation with the smallest standard error
    for (const Evaluation& e : observed.evaluations)
      if (e.design == design && observed.feasible(e) && (!found || e.cost_stderr < found->cost_stderr)) found = &e;
    if (found) return found;
  }
  return least;
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
  const StatedChoice stated{number("recommended_cost"), number("recommended_deviation"), number("indifference"),
                            number("probability_best")};
  if (!(stated.probability >= 0)) return {};
  return stated;
}

std::string low_fidelity_text(const archive::Contents& contents) {
  const std::string path = text_in(contents.provenance.configuration, "surrogate.low-fidelity");
  if (path.empty()) return {};
  for (auto i = contents.iterations.rbegin(); i != contents.iterations.rend(); ++i) {
    const double factor = number_of(*i, surrogate::low_fidelity_factor);
    if (std::isnan(factor)) continue;  // an iteration without a model
    return factor == 0 ? "low fidelity: left out; without " + path + " the model predicts the costs at least as well"
                       : "low fidelity: the model of the costs has that of " + path + " with the factor " +
                             formatted("%.3g", factor);
  }
  return {};
}

}  // namespace dodyn::study
