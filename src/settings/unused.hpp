// Settings that are given without effect, for notes to the user.
#pragma once

#include <string>
#include <vector>

#include "settings/settings.hpp"

namespace dodyn {

// Returns a line for each setting that is set explicitly and has no effect, with the reason. A range has one line, for
// its minimum. `searches`: whether keys of [surrogate] count.
std::vector<std::string> notes_on_unused(const Settings& settings, bool searches = true);

}  // namespace dodyn
