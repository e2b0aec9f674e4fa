// A setting, described once. The table of keys serves --help, `dodyn check`, validation, suggestions for unknown keys,
// and the configuration text in the archive.
#pragma once

#include <string>
#include <vector>

#include "settings/config_error.hpp"

namespace dodyn {

// path: the name of an input file. In a configuration it is searched in the folder of the configuration, then in the
// working directory.
enum class Type { real, integer, boolean, text, choice, duration, path };

struct Key {
  std::string name = {};  // "gait.leg-radius"
  Type type = Type::real;
  std::string default_value = {};            // as text; empty: the key must be given (a text or path may be empty)
  std::string unit = {};                     // unit of a number without one: "m", "N m", "deg"; "1" or "": a pure
                                             // number
  std::string description = {};              // one line
  double minimum = -1e308, maximum = 1e308;  // real and integer: closed range in `unit`
  bool open_minimum = false;                 // open lower bound: value > minimum
  std::vector<std::string> choices = {};     // choice: allowed words
  bool identity = true;                      // identifies the study: a resumed archive must have the same value
  // Real, integer and duration: a word that may replace the number, such as "none" for no limit, and the number that it
  // represents. With `zero_means_named`, 0 means that word too, as in older configurations.
  std::string word = {};
  double named_number = 0.0;
  bool zero_means_named = false;

  bool operator==(const Key&) const = default;
};

// Returns the allowed values for messages and --help: "a number in (0, 2] m", "one of spline, sweep", "a number >= 0 s,
// or none; 0: none".
std::string allowed(const Key& key);

// Returns the canonical text of a value. Numbers: the shortest text that reads back as the same number, in the key's
// unit. Others: true or false; hh:mm:ss; the key's word. A number may have another unit of the same dimension ("5 mm",
// "130 deg") or be an expression ("2*pi/3", in the key's unit unless it has units). Throws ConfigError, "WHERE: KEY =
// VALUE is ...; allowed: ...".
std::string canonical(const Key& key, const std::string& value, const std::string& where);

// Returns canonical() of the default; empty: there is no default.
std::string default_text(const Key& key);

// Returns the number of a canonical text of a real, integer or duration (in s).
double number_of(const Key& key, const std::string& canonical);

}  // namespace dodyn
