// Detects a rank that is killed while MPI starts, and a rank 0 that is killed later. During the start every rank waits
// for all others. Under mpirun --enable-recovery that wait would be endless, and MPI offers no function to detect the
// loss. So this file asks the operating system.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <string>
#include <thread>

namespace dodyn::farm {

// Watches the start of a run on a thread of its own, from construction to destruction. If fewer ranks of this host live
// than mpirun has started here, for several seconds, the thread asks mpirun to end all ranks. Then it ends this process
// (exit code 1). The watch does nothing if a launcher other than Open MPI's mpirun has started this process.
class LaunchWatch {
 public:
  LaunchWatch();

 private:
  std::jthread thread_;
};

// Returns the state of a process of this host: 'R', 'S', 'T', 'Z', ... as in proc(5). 0: no such process.
char process_state(pid_t pid);

// Returns the address of this process: process id, host name, and the namespace of the process id.
std::string process_address();

// Another process, observed through the operating system of this host. Processes on other hosts or in other containers
// are unknown.
class RemoteProcess {
 public:
  explicit RemoteProcess(const std::string& process_address);
  // Returns true if the process is absent at this check and was absent at the previous one, so that its last messages
  // have arrived. Checks at most every 0.25 s; returns false between checks and for an unknown process.
  bool has_exited();

 private:
  pid_t pid_ = 0;  // 0: unknown
  std::chrono::steady_clock::time_point next_look_ = {};
  bool missed_ = false;
};

}  // namespace dodyn::farm
