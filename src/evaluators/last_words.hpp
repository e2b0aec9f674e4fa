// The last words of a program, without those of the launcher that started it.
#pragma once

#include <string>
#include <string_view>

namespace dodyn::evaluators {

struct LastWords {
  std::string program;        // its last line with a word in it; empty: none
  std::string launcher;       // the first line of what mpiexec or srun said last; empty: nothing
  bool cannot_start = false;  // the launcher says that it did not start the program
};

// From the end of a program's error stream. Words of a launcher are lines between two rules of dashes, as Open MPI frames
// them, and lines that begin as srun's and Hydra's do.
LastWords last_words(std::string_view error_stream);

}  // namespace dodyn::evaluators
