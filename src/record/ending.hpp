// How a study ended. For readers of the archive and for messages of the commands.
#pragma once

#include <array>
#include <string_view>

namespace dodyn {

enum class Ending {
  none,         // the study is running or was killed, or the archive was merged from several
  finished,     // the search ended by its own rule
  undecided,    // the search ended, but cannot rule out a better design in most of the design range
  equal_costs,  // the search found no difference between designs
  limit,        // study.max-evaluations was reached
  repeated,     // `dodyn rerun` repeated evaluations; the search has not received the results
  interrupted,  // a signal, the time limit, or lack of evaluators: the same command continues
  failed,       // too many evaluations failed, no evaluation has a usable cost, or the machine failed
};

// Names in the archive, in the order of Ending.
inline constexpr std::array<std::string_view, 8> ending_names = {"",      "finished", "undecided",   "equal_costs",
                                                                 "limit", "repeated", "interrupted", "failed"};

constexpr std::string_view to_string(Ending ending) { return ending_names[static_cast<int>(ending)]; }

// Returns `none` for an unknown name.
constexpr Ending parse_ending(std::string_view name) {
  for (std::size_t i = 0; i < ending_names.size(); ++i)
    if (ending_names[i] == name) return static_cast<Ending>(i);
  return Ending::none;
}

}  // namespace dodyn
