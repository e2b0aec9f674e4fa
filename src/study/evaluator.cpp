#include "study/evaluator.hpp"

#include "study/testfunction.hpp"

namespace dodyn::study {

const std::vector<EvaluatorKind>& evaluator_kinds() {
  static const std::vector<EvaluatorKind> kinds = [] {
    std::vector<EvaluatorKind> all;
    all.push_back(testfunction_kind());
    return all;
  }();
  return kinds;
}

}  // namespace dodyn::study
