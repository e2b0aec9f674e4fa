#include "evaluators/evaluator.hpp"

#include <stdexcept>
#include <utility>

#include "evaluators/kinds.hpp"
#include "surrogate/strategy_options.hpp"

namespace dodyn::evaluators {

Outcome Evaluator::join(const Evaluation&, std::vector<Outcome> parts) const { return std::move(parts.front()); }

const std::vector<EvaluatorKind>& evaluator_kinds() {
  static const std::vector<EvaluatorKind> kinds = {gait_kind(),       motion_kind(),       hybrid_kind(),
                                                   simulation_kind(), elastic_kind(),      air_table_kind(),
                                                   coil_fit_kind(),   testfunction_kind(), command_kind()};
  return kinds;
}

Settings read_settings(const std::string& path, const std::vector<std::string>& words) {
  return dodyn::read_settings(path, words, evaluator_kinds(), surrogate::strategy_keys());
}

}  // namespace dodyn::evaluators
