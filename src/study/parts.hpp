// Answers to the parts of evaluations that are not complete yet. They are stored in a file beside the archive, so a
// killed run does not lose them. The file is deleted when no evaluation is incomplete.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "evaluators/evaluator.hpp"
#include "farm/farm.hpp"

namespace dodyn::study {

using evaluators::Evaluator;

class Parts {
 public:
  // Reads the file of an earlier run. Each evaluation has `count` parts. An incomplete answer at the end of the file,
  // left by a killed process, is dropped. Without `resume` the whole file is dropped, because it belongs to another
  // study.
  Parts(std::string file, int count, bool resume);

  int count() const { return count_; }
  // Returns the parts of an evaluation without an answer. Drops answers of the same id to another question (design,
  // seed, parent).
  std::vector<int> missing(const Evaluation& asked);
  // Stores an answer. If a part has several answers, the first one counts. Returns whether the evaluation is complete.
  // Throws std::runtime_error if the file cannot be written.
  bool add(Outcome answer);
  // Stores a lost attempt at a part. Returns all lost attempts at this part, the oldest first.
  std::vector<Outcome> record_lost_attempt(const Outcome& attempt);
  // Returns the answers to all parts of a complete evaluation, in the order of the parts.
  std::vector<Outcome> answers(std::int64_t id) const;
  // Drops an evaluation that is in the archive, or that was given up.
  void forget(std::int64_t id);

 private:
  void read();
  void write(const Outcome& answer) const;

  struct Entry {
    std::map<int, Outcome> answers;
    std::map<int, std::vector<Outcome>> lost;  // lost attempts by part
    const Evaluation& question() const {
      return answers.empty() ? lost.begin()->second.front().evaluation : answers.begin()->second.evaluation;
    }
  };
  std::string file_;
  int count_;
  std::map<std::int64_t, Entry> entries_;
};

// Joins the answers to all parts into one outcome by the evaluator's join(). Exceptions of join() become status
// `failed`. The seconds are the sum over the parts; rank and host are taken from the first part.
Outcome join(const Evaluator& evaluator, const Evaluation& asked, std::vector<Outcome> parts);

// Checks an outcome against the evaluator's declarations. An outcome of another shape becomes `failed`; a gradient that
// is not finite is removed.
Outcome validated(const Evaluator& evaluator, const Evaluation& asked, Outcome outcome);

// Evaluates one task, all its parts, on an idle farm.
Outcome evaluate(const Evaluator& evaluator, farm::Farm& farm, Task task);

}  // namespace dodyn::study
