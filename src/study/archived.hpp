// Reads one evaluation out of an archive, together with its study.
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

// Reads an archive. Throws ConfigError if it cannot be read.
archive::Contents contents_of(const std::string& path);

// Returns the keys of a merged archive's problem whose values differ between its sources, in order.
std::vector<std::string> differing_keys(const archive::Contents& merged);

// Whether a setting belongs to the search, not to the evaluation of one design.
bool of_the_search(const std::string& key);

// Returns the first setting in which an archive's problem differs from these settings, as a message; empty if the
// problems agree. Settings of the search do not count.
std::string problem_mismatch(Settings settings, const evaluators::Evaluator& evaluator,
                             const archive::Contents& contents);

// Returns the first difference by which costs in the archive may differ from costs with these settings, as a message.
// Empty: the archive's evaluations are samples of the same costs. Ranges, numbers of lists, and settings of the search
// do not count.
std::string cost_mismatch(Settings settings, const evaluators::Evaluator& evaluator, const archive::Contents& contents);

// Returns the evaluation with this id, or the recommended one, with its trajectory. Settings of the search and the
// ranges of the variables may differ from those of the archive; all other settings must agree. Throws ConfigError, one
// line: no such file, other settings or another model, no such evaluation, none that is ok, or one without a
// trajectory.
Outcome archived(const std::string& path, const Settings& settings, const evaluators::Evaluator& evaluator,
                 std::optional<std::int64_t> id);

// The study of an archive, as changed by the words of a command line, and one of its evaluations.
struct ArchivedStudy {
  Problem problem;  // must precede the evaluator, which reads the problem's files
  std::unique_ptr<evaluators::Evaluator> evaluator;
  Evaluation evaluation;  // the evaluation with the given id, or the best one
};
// Reads the study of an archive and chooses an evaluation. Throws ConfigError, one line: no archive, no such
// evaluation, words that set or free design variables, and the errors of read_problem() and make_evaluator().
ArchivedStudy archived_study(const std::string& path, const std::vector<std::string>& words,
                             std::optional<std::int64_t> id, bool trusts);

}  // namespace dodyn::study
