// A design variable as a list: `design.bore = 20 mm, 25 mm, 32 mm` frees it to be one of these, `design.material = steel,
// aluminium` one of these names, by their places 0, 1, ...
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace dodyn {

// The words of a list; none where the text is not one (it has no comma).
std::vector<std::string> choices_in(std::string_view text);
// Whether they are meant as numbers: the first begins like one.
bool are_numbers(const std::vector<std::string>& choices);

}  // namespace dodyn
