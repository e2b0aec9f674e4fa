#include "evaluators/evaluator.hpp"

#include <stdexcept>
#include <utility>

#include "evaluators/air_table.hpp"
#include "evaluators/coil_fit.hpp"
#include "evaluators/command.hpp"
#include "evaluators/elastic/elastic.hpp"
#include "evaluators/gait/gait.hpp"
#include "evaluators/hybrid/hybrid.hpp"
#include "evaluators/motion/motion.hpp"
#include "evaluators/simulation.hpp"
#include "evaluators/testfunction.hpp"
#include "surrogate/strategy_options.hpp"

namespace dodyn::evaluators {

Outcome Evaluator::join(const Evaluation&, std::vector<Outcome> parts) const { return std::move(parts.front()); }

const std::vector<EvaluatorKind>& evaluator_kinds() {
  static const std::vector<EvaluatorKind> kinds = [] {
    std::vector<EvaluatorKind> all;
    all.push_back(gait_kind());
    all.push_back(motion_kind());
    all.push_back(hybrid_kind());
    all.push_back(simulation_kind());
    all.push_back(elastic_kind());
    all.push_back(air_table_kind());
    all.push_back(coil_fit_kind());
    all.push_back(testfunction_kind());
    all.push_back(command_kind());
    return all;
  }();
  return kinds;
}

Settings read_settings(const std::string& path, const std::vector<std::string>& words) {
  return dodyn::read_settings(path, words, evaluator_kinds(), surrogate::strategy_keys());
}

}  // namespace dodyn::evaluators
