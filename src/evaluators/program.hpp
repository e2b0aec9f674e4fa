// One program and everything that it starts, from its first process to the last one that is gone.
//
// Between this process and the program stands a guardian: a fork of this process in a session of its own, which makes
// nothing but a few system calls. It is the subreaper (prctl(2), PR_SET_CHILD_SUBREAPER) of all that the program
// starts, also of what has left the program's process group or session; and it notices when this process is gone,
// however that came about. So whatever ends a run (a second Ctrl-C, mpirun, kill -9), no process of the program is
// left. What a program asks others to start (a daemon, a batch system) is theirs.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "record/task.hpp"

namespace dodyn::evaluators {

struct Program {
  std::string line;                      // for /bin/sh -c
  std::filesystem::path directory;       // where it runs; its streams go to the files stdout and stderr there
  std::vector<std::string> environment;  // NAME=value
  // s between SIGTERM and SIGKILL where all is to end at once: for what a launcher has others start for it (srun), which it
  // ends when it is asked to, and cannot when it is killed
  double farewell = 0;
};

// How a program ended.
struct End {
  int status = 0;        // of its first process, as waitpid has it
  bool stopped = false;  // by us, at its time limit or since the run ends
  bool good() const;     // exit code 0
  double code() const;   // exit code, or 128 + the number of the signal
  // Exit code 126 or 127, by which a shell reports that it could not start what it was asked to.
  bool not_found() const;
  std::string text() const;
  // It was ended by a signal that others send (the batch system, the kernel for want of memory, a person), not by one
  // that it brought on itself: then its end says nothing of the design.
  bool from_outside() const;
};

// Runs a program to its end, and to the end of all that it started: what the first process leaves running is killed.
// At the task's time limit all of them get SIGTERM, to write their best result, and `grace` seconds later, or where the
// run ends, SIGKILL. Throws std::system_error where the shell cannot be started: no more processes, handles or memory, no
// such directory.
End run(const Program& program, const Task& task, double grace);

}  // namespace dodyn::evaluators
