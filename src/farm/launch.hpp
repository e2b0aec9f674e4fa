// While MPI starts, every rank waits for every other one, and under mpirun --enable-recovery for ever for one that was
// killed meanwhile: nothing that MPI offers tells. The system does.
#pragma once

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

}  // namespace dodyn::farm
