// Provenance of a study: where, when and by which program its archive is made.
#pragma once

#include <string>
#include <vector>

#include "archive/archive.hpp"

namespace dodyn::apps {

// Returns the provenance for a study of this process and machine, started as `dodyn run` with these words; without its
// configuration.
archive::Provenance provenance(const std::vector<std::string>& words, int ranks);

}  // namespace dodyn::apps
