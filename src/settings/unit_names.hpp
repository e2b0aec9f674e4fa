// Lists the units that texts can have (settings/units.hpp), for help.
#pragma once

#include <string>
#include <vector>

namespace dodyn {

// Returns the names of all units, those that measure the same together: {"m", "mm", ...}, {"kg", "g"}, ...
std::vector<std::vector<std::string>> unit_names();

}  // namespace dodyn
