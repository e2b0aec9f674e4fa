// Failures of the machine: a program that cannot be started; no file handles, memory or disk space. They contain no
// information about a design, so no strategy receives them.
#pragma once

#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "record/evaluation.hpp"

namespace dodyn {

// Thrown by an evaluation that a failure of the machine prevented. Errors of the operating system (std::system_error)
// count too.
struct MachineTrouble : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Prefix of the reason of an attempt that MachineTrouble ended. The status of such an attempt is `lost`.
inline constexpr std::string_view machine_mark = "machine: ";

inline bool is_machine_trouble(const Evaluation& evaluation) {
  return evaluation.status == Status::lost && evaluation.reason.starts_with(machine_mark);
}

// Returns the reason of an evaluation, without machine_mark if the machine was the cause.
inline std::string trouble_of(const Evaluation& evaluation) {
  return is_machine_trouble(evaluation) ? evaluation.reason.substr(machine_mark.size()) : evaluation.reason;
}

// The cause of an evaluation without a usable answer.
enum class Cause {
  none,     // the evaluation has an answer
  design,   // the evaluator reported failed, infeasible or not converged
  machine,  // a rank was lost, or there was trouble of the machine
  study,    // the time limit of the study
};
inline constexpr Cause unsuccessful_causes[] = {Cause::design, Cause::machine, Cause::study};

constexpr std::string_view to_string(Cause cause) {
  return cause == Cause::design    ? "design"
         : cause == Cause::machine ? "machine"
         : cause == Cause::study   ? "study"
                                   : "none";
}

constexpr Cause cause_of(Status status) {
  switch (status) {
    case Status::ok:
      return Cause::none;
    case Status::lost:
      return Cause::machine;
    case Status::timed_out:
      return Cause::study;
    default:
      return Cause::design;
  }
}

// Returns the cause of each row, given all rows of an archive: cause_of(), with one exception. The design is the cause
// of the lost rows of an id if attempts were lost on two hosts or more, and the last attempt was lost, too. Such a
// design probably ends every process that evaluates it. Trouble of the machine does not count as such a loss.
std::vector<Cause> causes_of(std::span<const Evaluation> rows);

// Marks an evaluation as an attempt that trouble of the machine ended.
inline void mark_machine_trouble(Evaluation& evaluation, const std::string& trouble) {
  evaluation.status = Status::lost;
  evaluation.reason = std::string(machine_mark) + trouble;
}

}  // namespace dodyn
