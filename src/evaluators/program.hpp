// Runs one program and controls all processes that it starts, until the last one has ended.
//
// A guardian process is the program's parent: a fork of this process in a session of its own, which makes only a few
// system calls. It is the subreaper (prctl(2), PR_SET_CHILD_SUBREAPER) of all processes that the program starts, even
// if they leave the program's process group or session. It detects every end of this process. So whatever ends a run (a
// second Ctrl-C, mpirun, kill -9), no process of the program remains. Processes that other services start for the
// program (a daemon, a batch system) are not controlled.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "record/task.hpp"

namespace dodyn::evaluators {

struct Program {
  std::string line;                      // executed by /bin/sh -c
  std::filesystem::path directory;       // working directory; contains the files stdout and stderr for its streams
  std::vector<std::string> environment;  // NAME=value
  // Time between SIGTERM and SIGKILL if everything must end at once, s. A launcher (srun) needs it to end processes
  // that it started elsewhere.
  double farewell = 0;
};

// The end of a program.
struct ProgramResult {
  int status = 0;          // of its first process, from waitpid
  bool stopped = false;    // ended by dodyn: at its time limit, or because the run ends
  bool succeeded() const;  // exit code 0, and not ended by dodyn
  double code() const;     // exit code, or 128 + the number of the signal
  // Whether the exit code is 126 or 127, by which a shell reports that it could not start a command.
  bool not_found() const;
  std::string text() const;
  // Whether a signal from outside ended the program (from the batch system, the kernel when memory is exhausted, or a
  // user), not a signal that the program caused itself. Then its end carries no information about the design.
  bool from_outside() const;
};

// Runs a program until it and all its descendants have ended: processes that outlive the first one are killed. At the
// task's time limit all get SIGTERM, so that they can write their best result. They get SIGKILL `grace` seconds later,
// or when the run ends. Throws std::system_error if the shell cannot be started: no processes, handles or memory left,
// or no such directory.
ProgramResult run(const Program& program, const Task& task, double grace);

}  // namespace dodyn::evaluators
