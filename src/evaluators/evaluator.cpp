#include "evaluators/evaluator.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "evaluators/kinds.hpp"
#include "evaluators/parameters.hpp"
#include "surrogate/strategy_options.hpp"

namespace dodyn::evaluators {

Outcome Evaluator::join(const Evaluation&, std::vector<Outcome> parts) const { return std::move(parts.front()); }

namespace {

using IdleKeys = std::vector<std::pair<std::string, std::string>>;

// Returns keys without effect: keys that the kind itself reports, and parameters that nothing uses.
template <EvaluatorKind (*make)()>
IdleKeys idle_with_parameters(const Settings& settings) {
  static const auto own = make().idle;
  IdleKeys idle = own ? own(settings) : IdleKeys();
  const std::string model = settings.evaluator + ".model";
  const bool has_model = std::ranges::any_of(
      settings.all, [&](const Setting& one) { return one.key.name == model && !one.value.empty(); });
  for (const std::string& key : unused_parameters(settings, has_model ? named_model(settings, model).text : ""))
    idle.emplace_back(key, "nothing uses this parameter");
  return idle;
}

// Returns keys without effect as idle_with_parameters(), and keys that need costs with a standard error.
template <EvaluatorKind (*make)()>
IdleKeys idle_with_exact_costs(const Settings& settings) {
  IdleKeys idle = idle_with_parameters<make>(settings);
  const char* const replicate = "surrogate.replicate";
  const bool has_key = std::ranges::find(settings.idle, replicate) == settings.idle.end();
  if (has_key && settings.given(replicate) && settings.text("surrogate.noise") != "true")
    idle.emplace_back(replicate, "costs of " + settings.evaluator + " have no noise");
  return idle;
}

// Returns a kind whose costs have no standard error.
template <EvaluatorKind (*make)()>
EvaluatorKind exact_kind() {
  EvaluatorKind kind = make();
  kind.idle = idle_with_exact_costs<make>;
  return kind;
}

// Returns a kind whose costs may have a standard error.
template <EvaluatorKind (*make)()>
EvaluatorKind noisy_kind() {
  EvaluatorKind kind = make();
  kind.idle = idle_with_parameters<make>;
  return kind;
}

std::vector<EvaluatorKind> all_kinds() {
  return {exact_kind<gait_kind>(),       exact_kind<motion_kind>(),  exact_kind<hybrid_kind>(),
          noisy_kind<simulation_kind>(), exact_kind<elastic_kind>(), exact_kind<air_table_kind>(),
          exact_kind<coil_fit_kind>(),   testfunction_kind(),        command_kind()};
}

}  // namespace

const std::vector<EvaluatorKind>& evaluator_kinds() {
  static const std::vector<EvaluatorKind> kinds = all_kinds();
  return kinds;
}

Settings read_settings(const std::string& path, const std::vector<std::string>& words) {
  return dodyn::read_settings(path, words, evaluator_kinds(), surrogate::strategy_keys());
}

}  // namespace dodyn::evaluators
