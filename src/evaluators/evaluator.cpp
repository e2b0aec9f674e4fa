#include "evaluators/evaluator.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "evaluators/gait/design.hpp"
#include "evaluators/kinds.hpp"
#include "surrogate/strategy_options.hpp"

namespace dodyn::evaluators {

Outcome Evaluator::join(const Evaluation&, std::vector<Outcome> parts) const { return std::move(parts.front()); }

namespace {

using IdleKeys = std::vector<std::pair<std::string, std::string>>;

// Returns keys that are given and have no effect, because no cost of the evaluator has a standard error.
IdleKeys idle_with_exact_costs(const Settings& settings) {
  const char* const replicate = "surrogate.replicate";
  const bool has_key = std::find(settings.idle.begin(), settings.idle.end(), replicate) == settings.idle.end();
  if (!has_key || !settings.given(replicate) || settings.text("surrogate.noise") == "true") return {};
  return {{replicate, "costs of " + settings.evaluator + " have no noise"}};
}

IdleKeys idle_of_gait(const Settings& settings) {
  IdleKeys idle = idle_gait_keys(settings);
  for (auto& more : idle_with_exact_costs(settings)) idle.push_back(std::move(more));
  return idle;
}

std::vector<EvaluatorKind> all_kinds() {
  std::vector<EvaluatorKind> exact = {gait_kind(),    motion_kind(),    hybrid_kind(),
                                      elastic_kind(), air_table_kind(), coil_fit_kind()};
  for (EvaluatorKind& kind : exact) kind.idle = kind.idle ? idle_of_gait : idle_with_exact_costs;
  return {exact[0],      exact[1], exact[2], simulation_kind(), exact[3], exact[4], exact[5], testfunction_kind(),
          command_kind()};
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
