// An evaluation taken back out of an archive, for what a configuration says of it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "archive/archive.hpp"
#include "evaluators/evaluator.hpp"
#include "record/task.hpp"
#include "settings/settings.hpp"
#include "study/problem.hpp"

namespace dodyn::study {

// Empty, or in which setting that says what a design costs an archive differs from these; how designs are searched for is
// none of them.
std::string problem_mismatch(Settings settings, const evaluators::Evaluator& evaluator,
                             const archive::Contents& contents);

// The evaluation with this id, or the best one, with its trajectory. How a study is run and which range its variables
// have need not agree with the settings, all else must. Throws ConfigError, one line: no such file, an archive of other
// settings or another model, no such evaluation, none that is ok, one without a motion.
Outcome archived(const std::string& path, const Settings& settings, const evaluators::Evaluator& evaluator,
                 std::optional<std::int64_t> id);

// The study that an archive is of, as the words of a command line change it, and one of its evaluations.
struct ArchivedStudy {
  Problem problem;  // before the evaluator, which reads its files
  std::unique_ptr<evaluators::Evaluator> evaluator;
  Evaluation evaluation;  // the one with this id, or the best
};
// Throws ConfigError, one line: no archive, no such evaluation, and as read_problem() and make_evaluator() do.
ArchivedStudy archived_study(const std::string& path, const std::vector<std::string>& words,
                             std::optional<std::int64_t> id, bool trusts);

}  // namespace dodyn::study
