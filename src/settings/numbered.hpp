// Names and expressions that are repeated with a number: box_i, rate(box_i_x), 2*i + 1.
#pragma once

#include <string>
#include <string_view>

namespace dodyn {

// The text with i replaced by the number, where it is a word of its own or a part of a name behind a _, as in box_i or
// box_i_x.
std::string numbered(std::string_view text, int number);

}  // namespace dodyn
