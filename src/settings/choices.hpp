// Lists as design variables. `design.bore = 20 mm, 25 mm, 32 mm` frees it to be one of these numbers. `design.material
// = steel, aluminium` frees it to be one of these names; its value is the position 0, 1, ...
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace dodyn {

// Returns the elements of a list; empty if the text is not a list (it has no comma).
std::vector<std::string> choices_in(std::string_view text);
// Whether the elements are numbers: the first begins like one.
bool are_numbers(const std::vector<std::string>& choices);

}  // namespace dodyn
