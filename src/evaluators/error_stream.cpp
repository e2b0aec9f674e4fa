#include "evaluators/error_stream.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>
#include <vector>

#include "record/text.hpp"

namespace dodyn::evaluators {
namespace {

constexpr std::size_t rule_length = 60;  // Open MPI's separator lines have 74 dashes, Hydra's 83 equals signs

bool is_rule(std::string_view line) {
  return line.size() >= rule_length && line.find_first_not_of(line.front()) == line.npos &&
         (line.front() == '-' || line.front() == '=');
}

bool has_word(std::string_view line) {
  return std::ranges::any_of(line, [](unsigned char c) { return std::isalnum(c) || c >= 0x80; });
}

bool begins_as_a_launcher(std::string_view line) {
  constexpr std::array beginnings = {"srun: ",    "slurmstepd: ", "slurmstepd-",
                                     "mpiexec: ", "mpirun: ",     "[mpiexec@",
                                     "[proxy:",   "=   ",         "YOUR APPLICATION TERMINATED"};
  return std::ranges::any_of(beginnings, [&](const char* beginning) { return line.starts_with(beginning); });
}

bool says_that_nothing_started(std::string_view line) {
  constexpr std::array phrases = {"attempt to run as root",
                                  "not enough slots",
                                  "unable to find the specified",
                                  "unable to launch",
                                  "could not launch",
                                  "unable to access or execute",
                                  "execve()",
                                  "execvp error",
                                  "Unable to create step",
                                  "Unable to confirm alloc",
                                  "Job has expired",
                                  "Invalid job id",
                                  "unable to start a daemon",
                                  "daemon failed to start"};
  return std::ranges::any_of(phrases, [&](const char* phrase) { return line.find(phrase) != line.npos; });
}

}  // namespace

ErrorStreamSummary summarise_error_stream(std::string_view stream) {
  std::vector<std::string_view> lines;
  for (std::size_t from = 0; from < stream.size();) {
    const auto end = std::min(stream.find('\n', from), stream.size());
    lines.push_back(trimmed(stream.substr(from, end - from)));
    from = end + 1;
  }
  // Separator lines come in pairs. A single one at the end is ignored.
  auto rules = std::ranges::count_if(lines, is_rule);
  ErrorStreamSummary words;
  bool framed = false, begins = true;  // framed: within a pair of separator lines; begins: at the first line of a
                                       // launcher's message
  for (const std::string_view line : lines) {
    if (is_rule(line)) {
      framed = !framed && rules > 1;
      begins = framed;
      --rules;
      continue;
    }
    if (!has_word(line)) continue;
    if (!framed && !begins_as_a_launcher(line)) {
      words.program = line;
      begins = true;
      continue;
    }
    words.cannot_start = words.cannot_start || says_that_nothing_started(line);
    if (std::exchange(begins, false)) words.launcher = line;
  }
  return words;
}

}  // namespace dodyn::evaluators
