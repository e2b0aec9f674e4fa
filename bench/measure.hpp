// Measures for benchmarks.
#pragma once

#include <algorithm>
#include <cmath>
#include <ctime>
#include <vector>

namespace dodyn::bench {

// Returns the processor time of this thread, s. Other programs on the machine do not change it.
inline double cpu_seconds() {
  timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

// Returns the median: for an even number of values the mean of the middle two, NaN for none.
inline double median(std::vector<double> all) {
  if (all.empty()) return std::nan("");
  std::sort(all.begin(), all.end());
  return 0.5 * (all[(all.size() - 1) / 2] + all[all.size() / 2]);
}

}  // namespace dodyn::bench
