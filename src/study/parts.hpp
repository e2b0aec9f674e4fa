// Evaluations that are split into parts (Evaluator::parts): which answers are there, and which are missing.
//
// An answer is in a file beside the archive, ARCHIVE.parts, before anyone acts on it, so that a run that is killed
// repeats only the parts that were running. So is an attempt that was lost, which counts against its part alone: many
// ranks that die at one moment are one attempt each at many parts. Once an evaluation is whole it is a row of the
// archive; the file goes when no other is under way.
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
  // `count` parts each. An answer that a kill cut short at the end of the file is dropped. Without `resume` so is the
  // whole file: it is another study's.
  Parts(std::string file, int count, bool resume);

  int count() const { return count_; }
  // Those of an evaluation without an answer. Answers to another question (design, seed, parent) are forgotten.
  std::vector<int> missing(const Evaluation& asked);
  // Keeps an answer; of several to the same part the first. Throws std::runtime_error where it cannot be written.
  // Returns whether the evaluation is whole.
  bool add(Outcome answer);
  // Keeps an attempt at a part that was lost. Returns all of those at this part.
  std::vector<Outcome> record_lost_attempt(const Outcome& attempt);
  // The answers to all parts of an evaluation that is whole, in order.
  std::vector<Outcome> answers(std::int64_t id) const;
  // The evaluation is in the archive, or given up.
  void forget(std::int64_t id);

 private:
  void read();
  void write(const Outcome& answer) const;

  struct Entry {
    std::map<int, Outcome> answers;
    std::map<int, std::vector<Outcome>> lost;  // attempts
    const Evaluation& question() const {
      return answers.empty() ? lost.begin()->second.front().evaluation : answers.begin()->second.evaluation;
    }
  };
  std::string file_;
  int count_;
  std::map<std::int64_t, Entry> entries_;
};

// The outcome of an evaluation from the answers to all its parts: by the evaluator's join(), whose exceptions become
// `failed`; seconds are those of all parts together, rank and host those of the first.
Outcome join(const Evaluator& evaluator, const Evaluation& asked, std::vector<Outcome> parts);

// An outcome of another shape than the evaluator declares becomes `failed`; a gradient that is not finite is none.
Outcome validated(const Evaluator& evaluator, const Evaluation& asked, Outcome outcome);

// One evaluation on a farm that has nothing else to do.
Outcome evaluate(const Evaluator& evaluator, farm::Farm& farm, Task task);

}  // namespace dodyn::study
