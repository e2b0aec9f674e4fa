// Names and expressions that are repeated with a number: box_i, rate(box_i_x), 2*i + 1.
#pragma once

#include <string>
#include <string_view>

namespace dodyn {

// Replaces i by the number if i is a separate word or a part of a name after a _, such as in box_i or box_i_x.
std::string numbered(std::string_view text, int number);

}  // namespace dodyn
