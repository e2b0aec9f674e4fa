// Units as users write them behind numbers, and as keys have them: "mm", "N m/rad", "kg/m3", "1/(N m s)".
#pragma once

#include <array>
#include <optional>
#include <string_view>

namespace dodyn {

struct Unit {
  double in_si = 1.0;                 // what one of it is
  std::array<int, 5> dimension = {};  // exponents of m, kg, s, A and byte; an angle has none
};

// One word: "mm", "N", "m2" (a digit behind it is an exponent). Nothing where it is no unit.
std::optional<Unit> unit(std::string_view word);

// Words with blanks or * between them; '/' takes the word or the parenthesis behind it below the line; "" and "1" are
// pure numbers. Nothing where it is no unit.
std::optional<Unit> parse_unit(std::string_view text);

}  // namespace dodyn
