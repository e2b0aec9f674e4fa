#include "study/evaluator.hpp"

#include <stdexcept>
#include <utility>

#include "study/command.hpp"
#include "study/docking.hpp"
#include "study/gait.hpp"
#include "study/scene.hpp"
#include "study/testfunction.hpp"

namespace dodyn::study {

Outcome Evaluator::join(const Evaluation&, std::vector<Outcome> parts) const { return std::move(parts.front()); }

const std::vector<EvaluatorKind>& evaluator_kinds() {
  static const std::vector<EvaluatorKind> kinds = [] {
    std::vector<EvaluatorKind> all;
    all.push_back(gait_kind());
    all.push_back(docking_kind());
    all.push_back(scene_kind());
    all.push_back(testfunction_kind());
    all.push_back(command_kind());
    return all;
  }();
  return kinds;
}

std::unique_ptr<Evaluator> make_evaluator(const Settings& settings) {
  for (const auto& kind : evaluator_kinds())
    if (kind.name == settings.evaluator) return kind.make(settings);
  throw std::logic_error("no evaluator '" + settings.evaluator + "'");
}

}  // namespace dodyn::study
