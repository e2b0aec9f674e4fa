// What benchmarks measure by.
#pragma once

#include <algorithm>
#include <cmath>
#include <ctime>
#include <vector>

namespace dodyn::bench {

// Of this thread, whoever else uses the machine.
inline double cpu_seconds() {
  timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

// Of an even number the mean of the two in the middle; of none not a number.
inline double median(std::vector<double> all) {
  if (all.empty()) return std::nan("");
  std::sort(all.begin(), all.end());
  return 0.5 * (all[(all.size() - 1) / 2] + all[all.size() / 2]);
}

}  // namespace dodyn::bench
