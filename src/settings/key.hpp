// A setting described once: the table of keys serves --help, `dodyn check`, validation, the "did you mean" of an unknown
// key, and the configuration text stored in the archive.
#pragma once

#include <string>
#include <vector>

#include "settings/config_error.hpp"

namespace dodyn {

// path: the name of a file that is read; one in a configuration is looked for beside it first, then in the working
// directory.
enum class Type { real, integer, boolean, text, choice, duration, path };

struct Key {
  std::string name = {};  // "gait.step-length"
  Type type = Type::real;
  std::string default_value = {};            // as text; empty: the key must be given (a text or path may be empty)
  std::string unit = {};                     // of a number without one: "m", "N m", "deg"; "1" or "": a pure number
  std::string description = {};              // one line
  double minimum = -1e308, maximum = 1e308;  // real and integer: allowed range, in `unit`, closed ...
  bool open_minimum = false;                 // ... or open below: value > minimum
  std::vector<std::string> choices = {};     // choice: allowed words
  bool identity = true;                      // part of what makes a study this study: a resumed archive must agree
  // Real, integer and duration: a word that may stand for the number, as "none" for a limit that there is not, and what
  // the program reads then. With `zero_means_named`, 0 is that word, too, as older texts have it.
  std::string word = {};
  double named_number = 0.0;
  bool zero_means_named = false;

  bool operator==(const Key&) const = default;
};

// "a number in (0, 2] m", "one of spline, sweep": what a key allows, for messages and --help.
std::string allowed(const Key& key);

// The canonical text of a value: of numbers, in the key's unit, the shortest text that reads back as the same; true or
// false; hh:mm:ss; the key's word. A number may have another unit of the same dimension ("5 mm", "130 deg") or be an
// expression of numbers ("2*pi/3", in the key's unit unless units stand in it). Throws ConfigError, "WHERE: KEY = VALUE
// is ...; allowed: ...".
std::string canonical(const Key& key, const std::string& value, const std::string& where);

// canonical() of the default; empty where there is none.
std::string default_text(const Key& key);

// The number that a canonical text of a real, integer or duration (in s) stands for.
double number_of(const Key& key, const std::string& canonical);

}  // namespace dodyn
