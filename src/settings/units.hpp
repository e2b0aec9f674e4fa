// Units as users write them behind numbers, and as keys have them: "mm", "N m/rad", "kg/m3", "1/(N m s)".
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

namespace dodyn {

using Dimension = std::array<double, 5>;  // exponents of m, kg, s, A and byte; an angle has none

struct Unit {
  double in_si = 1.0;  // what one of it is
  Dimension dimension = {};
  int angle = 0;  // exponent of rad or deg, 0 where a text leaves it out, as in 60 N m
  bool is_pure() const { return dimension == Dimension{}; }
};

// Whether a number of unit `given` can stand where `wanted` is expected: "N m" for "N m/rad", not "deg" for a ratio.
bool fits(const Unit& given, const Unit& wanted);

// One word: "mm", "N", "m2" (a digit behind it is an exponent). Nothing where it is no unit.
std::optional<Unit> unit(std::string_view word);

// Words with blanks or * between them; '/' takes the word or the parenthesis behind it below the line; "" and "1" are
// pure numbers. Nothing where it is no unit.
std::optional<Unit> parse_unit(std::string_view text);

// The unit that a comment begins with, as "kg m2, of the motor", where it is an SI unit: that of the number before it.
std::optional<Unit> unit_of_comment(std::string_view comment);

// The unit behind a number: "mm" of "50 mm"; empty where it has none.
std::string_view unit_behind(std::string_view number);

// In SI, the unit that a number's text has ("50 mm": "m") or its comment begins with; "1" where neither has any.
std::string stated_unit(std::string_view number, std::string_view comment = {});

// The SI unit of a dimension: "N m", "kg/m3"; of none "1".
std::string si_unit(const Dimension& dimension);

// What a unit measures, for messages: "a length (m, cm, mm)", "a number without a unit", "a number in kg/m3"; `name`: how
// the unit is written there.
std::string described(const Unit& unit, std::string_view name = {});

}  // namespace dodyn
