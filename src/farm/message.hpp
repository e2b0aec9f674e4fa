// Tasks and outcomes as bytes, written and read in this one place. The ranks of a study run the same program on the
// same kind of machine: numbers travel as they lie in memory (so not-a-numbers keep their bits), sizes before contents.
#pragma once

#include <cstddef>
#include <vector>

#include "record/task.hpp"

namespace dodyn::farm {

using Bytes = std::vector<std::byte>;

Bytes pack(const Task& task);
Bytes pack(const Outcome& outcome);

// Throw std::runtime_error for bytes that `pack` did not write: too few, too many, impossible sizes.
Task unpack_task(const Bytes& bytes);
Outcome unpack_outcome(const Bytes& bytes);

}  // namespace dodyn::farm
