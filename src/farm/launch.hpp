// While MPI starts, every rank waits for every other one, and under mpirun --enable-recovery for ever for one that was
// killed meanwhile: nothing that MPI offers tells. The system does; of a rank 0 that is killed later, too.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <string>
#include <thread>

namespace dodyn::farm {

// From construction to destruction, on a thread of its own: where fewer ranks of this host live than mpirun has started
// here, for a few seconds on end, asks mpirun to end all, and ends this process (exit code 1). Does nothing where
// another launcher than Open MPI's started this process.
class LaunchWatch {
 public:
  LaunchWatch();

 private:
  std::jthread thread_;
};

// 'R', 'S', 'T', 'Z', ... of a process of this host, as proc(5) has them; 0 where there is none.
char process_state(pid_t pid);

// Where this process can be looked for: its number, the host's name and the namespace that the number is of.
std::string process_address();

// Another process, as far as the system of this host tells of it: nothing of one on another host or in another container.
class RemoteProcess {
 public:
  explicit RemoteProcess(const std::string& process_address);
  // Whether it was gone at this look and at the one before, a quarter of a second ago: what it had sent is here by then.
  bool gone();

 private:
  pid_t pid_ = 0;  // 0: unknown
  std::chrono::steady_clock::time_point next_look_ = {};
  bool missed_ = false;
};

}  // namespace dodyn::farm
