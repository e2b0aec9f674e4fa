// What a study's archive says of where it was made.
#pragma once

#include <string>
#include <vector>

#include "archive/archive.hpp"

namespace dodyn::apps {

// Of a study of this process and machine, called as `dodyn run` with these words; without its configuration.
archive::Provenance provenance(const std::vector<std::string>& words, int ranks);

}  // namespace dodyn::apps
