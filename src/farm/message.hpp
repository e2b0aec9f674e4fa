// Converts tasks and outcomes to bytes and back. All ranks run the same program on the same kind of machine. So numbers
// are copied as they are in memory, which keeps the bits of NaNs. Sizes precede contents.
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
