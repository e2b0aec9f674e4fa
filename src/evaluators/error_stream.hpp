// Finds the last message of a program on its error stream, without the messages of its launcher.
#pragma once

#include <string>
#include <string_view>

namespace dodyn::evaluators {

struct ErrorStreamSummary {
  std::string program;        // the program's last line that contains a word; empty: none
  std::string launcher;       // first line of the last message of mpiexec or srun; empty: none
  bool cannot_start = false;  // the launcher reports that it did not start the program
};

// Parses the end of a program's error stream. Messages of a launcher are the lines between two separator lines (Open
// MPI), and lines with the prefixes of srun or Hydra.
ErrorStreamSummary summarise_error_stream(std::string_view error_stream);

}  // namespace dodyn::evaluators
