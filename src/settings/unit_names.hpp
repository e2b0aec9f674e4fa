// Lists the units that texts can have (settings/units.hpp), for help.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace dodyn {

// Returns the names of all units, those that measure the same together: {"m", "mm", ...}, {"kg", "g"}, ...
std::vector<std::vector<std::string>> unit_names();

// Returns a message about a word that is not a unit: "'sec' is not a unit (did you mean 's'?)".
std::string not_a_unit(std::string_view word);

}  // namespace dodyn
