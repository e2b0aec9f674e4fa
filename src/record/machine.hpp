// Trouble of the machine: a program that cannot be started, no handles, no memory, no disk. It says nothing of a design, so
// no strategy sees it.
#pragma once

#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "record/evaluation.hpp"

namespace dodyn {

// Thrown by an evaluation that the machine did not let do its work. Errors of the operating system (std::system_error)
// count as such, too.
struct MachineTrouble : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// How the reason of such an attempt begins; its status is `lost`.
inline constexpr std::string_view machine_mark = "machine: ";

inline bool is_machine_trouble(const Evaluation& evaluation) {
  return evaluation.status == Status::lost && evaluation.reason.starts_with(machine_mark);
}

// The reason without its mark.
inline std::string trouble_of(const Evaluation& evaluation) {
  return is_machine_trouble(evaluation) ? evaluation.reason.substr(machine_mark.size()) : evaluation.reason;
}

// Whose doing it is that an evaluation has no usable answer.
enum class Cause {
  none,     // it has one
  design,   // the evaluator answered: failed, infeasible, not converged
  machine,  // a rank was lost, or the machine did not let it do its work
  study,    // its time limit
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

// Returns the cause of each row, given all rows of an archive. A design whose attempts were lost on two hosts, and that has no answer, is
// itself the cause: it ends whatever evaluates it.
std::vector<Cause> causes_of(std::span<const Evaluation> rows);

// Makes an evaluation an attempt that the machine ended.
inline void mark_machine_trouble(Evaluation& evaluation, const std::string& trouble) {
  evaluation.status = Status::lost;
  evaluation.reason = std::string(machine_mark) + trouble;
}

}  // namespace dodyn
