// Units after numbers and of keys: "mm", "N m/rad", "kg/m3", "1/(N m s)".
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

namespace dodyn {

using Dimension = std::array<double, 5>;  // exponents of m, kg, s, A and byte; angles have none

struct Unit {
  double in_si = 1.0;  // value of the unit in SI
  Dimension dimension = {};
  int angle = 0;  // exponent of rad or deg; 0 if the text omits it, as in 60 N m
  bool is_pure() const { return dimension == Dimension{}; }
};

// Whether a number with the unit `given` is valid where `wanted` is expected: "N m" for "N m/rad", but not "deg" for a
// pure number.
bool fits(const Unit& given, const Unit& wanted);

// Parses one word: "mm", "N", "m2" (a final digit is an exponent). nullopt: not a unit.
std::optional<Unit> unit(std::string_view word);

// Returns a power of a unit: its factor, dimension and angle.
Unit unit_power(const Unit& base, int exponent);

// Takes an exponent such as ^2 or ^-1 at text[at] and moves `at` behind it; 1 if there is none. nullopt: the exponent
// is not a whole number of one digit.
std::optional<int> unit_exponent(std::string_view text, std::size_t& at);

// Parses words separated by blanks or *; '/' applies to the next word or parenthesis. "" and "1" are pure numbers.
// nullopt: not a unit.
std::optional<Unit> parse_unit(std::string_view text);

// Returns the SI unit at the beginning of a comment, such as "kg m2, of the motor": the unit of the number before the
// comment. nullopt: the comment begins with no unit, or with a unit other than an SI unit.
std::optional<Unit> unit_of_comment(std::string_view comment);
// Returns the unit that a comment begins with if it is not an SI unit, such as mm; empty: there is none.
std::string_view unit_not_si(std::string_view comment);

// Returns the unit after a number: "mm" for "50 mm"; empty: none.
std::string_view unit_behind(std::string_view number);

// Returns the SI unit of a number from its text ("50 mm": "m") or from its comment; "1" if neither has one.
std::string stated_unit(std::string_view number, std::string_view comment = {});

// Returns the SI unit of a dimension: "N m", "kg/m3"; "1" for none.
std::string si_unit(const Dimension& dimension);

// Returns the quantity of a unit for messages: "a length (m, cm, mm)", "a number without a unit", "a number in kg/m3".
// `name`: text of the unit in the last form; empty: si_unit().
std::string described(const Unit& unit, std::string_view name = {});

}  // namespace dodyn
