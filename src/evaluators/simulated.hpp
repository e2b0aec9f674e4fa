// One simulated motion, as `dodyn simulate` shows it.
#pragma once

#include <string>

#include "record/trajectory.hpp"

namespace dodyn::evaluators {

struct Simulated {
  bool completed = false;  // it ran to its end; false: a contact could not be resolved, and the report says which
  std::string report;      // several lines: how it ended, energies and momenta, what it took
  Channels channels;       // as many nodes as the motion has: "t" first, then pose, twist, energies ...
  Trajectory trajectory;   // one matrix per channel
};

}  // namespace dodyn::evaluators
