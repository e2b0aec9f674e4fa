// Keys of earlier versions, for messages that name their replacement.
#pragma once

#include <string>
#include <vector>

namespace dodyn {

struct RemovedKey {
  std::string key;     // "surrogate.kernel"
  std::string value;   // value that corresponds to the present behaviour, as an archive may contain it; empty: none
  std::string advice;  // "leave it out: kriging has one kernel, matern52"
};

// Returns the entry of a key; null: it was not removed.
const RemovedKey* find_removed(const std::string& key);

}  // namespace dodyn
