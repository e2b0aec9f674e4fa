#include "settings/key.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <limits>
#include <optional>
#include <sstream>

#include "record/text.hpp"
#include "settings/expression.hpp"
#include "settings/unit_names.hpp"
#include "settings/units.hpp"

namespace dodyn {
namespace {

constexpr double unlimited_number = 1e300;  // larger bounds count as unlimited

// Takes a number from the beginning of `text`.
std::optional<double> take_number(std::string_view& text) {
  std::string_view digits = text;
  if (digits.starts_with('+') && digits.size() > 1 && digits[1] != '-') digits.remove_prefix(1);  // for from_chars
  double value{};
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc() || !std::isfinite(value)) return {};
  text = digits.substr(end - digits.data());
  return value;
}

// Parses a number, a number with a unit of the dimension of `its_unit`, or an expression of numbers. Returns the number
// in `its_unit`; nullopt: the text is none of these, or its dimension differs.
std::optional<double> parse_number(std::string_view text, const std::string& its_unit) {
  const Unit own = parse_unit(its_unit).value_or(Unit{});
  std::string_view rest = text;
  if (const auto value = take_number(rest)) {
    if (rest.empty()) return value;
    if (const auto given = parse_unit(rest); given && rest.find_first_not_of(' ') != std::string_view::npos) {
      if (!fits(*given, own)) return {};
      return given->in_si == own.in_si ? *value : *value * (given->in_si / own.in_si);
    }
  }
  if (text.find_first_of("<>=") != std::string_view::npos) return {};  // a condition is not a number
  try {
    const Expression expression = Expression::parse(text);
    if (!expression.is_constant()) return {};
    Dimensions dimensions;
    const Measure given = expression.measure(dimensions, {});
    if (!given.any && !fits({1.0, given.exponents, given.angle ? 1 : 0}, own)) return {};
    const double value = expression.constant();
    if (!std::isfinite(value)) return {};
    return expression.has_units() ? value / own.in_si : value;
  } catch (const ExpressionError&) {
    return {};
  }
}

// Returns the unit of a number if its dimension differs from the dimension of the key; otherwise empty.
std::string foreign_unit(std::string_view text, const std::string& its_unit) {
  if (!take_number(text)) return "";
  const auto given = parse_unit(text);
  const auto word = trimmed(text);
  return given && !word.empty() && !fits(*given, parse_unit(its_unit).value_or(Unit{})) ? std::string(word) : "";
}

// Returns the word behind a number if it is not a unit; otherwise empty, also for digits among letters, as in 0x10.
std::string_view word_behind(std::string_view text) {
  if (!take_number(text)) return {};
  text = trimmed(text);
  const auto is_letter = [](unsigned char c) { return std::isalpha(c) != 0; };
  const auto end = std::ranges::find_if_not(text, is_letter);
  const std::string_view word = text.substr(0, end - text.begin());
  const bool has_digit = end != text.end() && std::isdigit(static_cast<unsigned char>(*end)) != 0;
  return word.empty() || has_digit || unit(word) ? std::string_view() : word;
}

std::optional<bool> parse_boolean(const std::string& text) {
  if (text == "true" || text == "yes" || text == "on" || text == "1") return true;
  if (text == "false" || text == "no" || text == "off" || text == "0") return false;
  return {};
}

// Parses "90", "12:30", "01:30:00", "5 s", "15 min", "2 h"; returns whole seconds.
std::optional<double> parse_duration(const std::string& text) {
  if (text.find(':') == std::string::npos) {
    const auto value = parse_number(text, "s");
    return value && *value >= 0 && *value == std::floor(*value) && *value < 1e9 ? value : std::nullopt;
  }
  double seconds = 0;
  std::istringstream parts(text);
  int count = 0;
  for (std::string part; std::getline(parts, part, ':'); ++count) {
    int value{};
    const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), value);
    if (error != std::errc() || end != part.data() + part.size() || value < 0 || (count > 0 && value > 59)) return {};
    seconds = 60 * seconds + value;
  }
  return count > 3 || text.ends_with(':') ? std::nullopt : std::optional(seconds);
}

}  // namespace

std::string allowed(const Key& key) {
  const std::string unit = key.unit.empty() || key.unit == "1" ? "" : " " + key.unit;
  const std::string zero = key.zero_means_named ? "; 0: " + key.word : "";
  const std::string or_word = key.word.empty() ? "" : ", or " + key.word + zero;
  const double all_int = std::numeric_limits<int>::max();
  const bool integer = key.type == Type::integer;
  const double unlimited = integer ? all_int : unlimited_number;
  const bool below = key.minimum > -unlimited, above = key.maximum < unlimited;
  switch (key.type) {
    case Type::boolean:
      return "true or false";
    case Type::text:
      return "text";
    case Type::path:
      return "the name of a file";
    case Type::duration:
      return "hh:mm:ss, mm:ss, seconds, or with a unit as 15 min" + or_word;
    case Type::choice:
      return listed(key.choices);
    case Type::real:
    case Type::integer:
      break;
  }
  const std::string what = integer ? "an integer" : "a number";
  if (below && above)
    return what + " in " + (key.open_minimum ? "(" : "[") + to_text(key.minimum) + ", " + to_text(key.maximum) + "]" +
           unit + or_word;
  if (below) return what + (key.open_minimum ? " > " : " >= ") + to_text(key.minimum) + unit + or_word;
  if (above) return what + " <= " + to_text(key.maximum) + unit + or_word;
  return what + (unit.empty() ? "" : " in" + unit) + or_word;
}

std::string canonical(const Key& key, const std::string& value, const std::string& where) {
  const auto fail = [&](const std::string& complaint) {
    throw ConfigError(where + ": " + shown(key.name) + complaint + "; allowed: " + allowed(key));
  };
  const std::string is = " = " + shown(value) + " is ";
  if (value.empty()) fail(" has no value");
  if (!key.word.empty() && value == key.word) return key.word;
  switch (key.type) {
    case Type::real:
    case Type::integer: {
      const bool integer = key.type == Type::integer;
      const auto number = parse_number(value, key.unit);
      if (const auto dots = value.find(".."); !number && dots != std::string::npos && key.name.starts_with("design."))
        throw ConfigError(where + ": " + key.name + is + "a range; write " + key.name +
                          ".min = " + shown(trimmed(std::string_view(value).substr(0, dots))) + " and " + key.name +
                          ".max = " + shown(trimmed(std::string_view(value).substr(dots + 2))));
      if (const std::string unit = number ? "" : foreign_unit(value, key.unit); !unit.empty())
        throw ConfigError(where + ": " + key.name + " = " + shown(value) + " has the unit " + unit + "; expected " +
                          described(parse_unit(key.unit).value_or(Unit{}), key.unit) +
                          (key.maximum < unlimited_number ? "; allowed: " + allowed(key) : ""));
      if (const std::string_view word = number ? std::string_view() : word_behind(value); !word.empty())
        throw ConfigError(where + ": " + key.name + " = " + shown(value) + ": " + not_a_unit(shown(word)) +
                          "; allowed: " + allowed(key));
      if (!number || (integer && *number != std::floor(*number)))
        fail(is + (integer ? "not an integer" : "not a number"));
      if (key.zero_means_named && *number == 0) return key.word;
      if (!(*number <= key.maximum) || *number < key.minimum || (key.open_minimum && *number == key.minimum) ||
          (integer && std::abs(*number) > std::numeric_limits<int>::max()))
        fail(is + "out of range");
      return integer ? std::to_string(static_cast<int>(*number)) : to_text(*number == 0 ? 0.0 : *number);  // avoids -0
    }
    case Type::boolean: {
      const auto truth = parse_boolean(value);
      if (!truth) fail(is + "neither true nor false");
      return *truth ? "true" : "false";
    }
    case Type::duration: {
      const auto seconds = parse_duration(value);
      if (!seconds) fail(is + "not a duration");
      if (key.zero_means_named && *seconds == 0) return key.word;
      const auto whole = static_cast<long>(*seconds);
      return formatted("%02ld:%02ld:%02ld", whole / 3600, whole / 60 % 60, whole % 60);
    }
    case Type::choice:
      if (std::ranges::find(key.choices, value) == key.choices.end())
        throw ConfigError(where + ": " + key.name + is + "unknown; allowed: " + allowed(key) +
                          did_you_mean(value, key.choices));
      return value;
    case Type::text:
    case Type::path:
      return value;
  }
  return value;
}

std::string default_text(const Key& key) {
  return key.default_value.empty() ? "" : canonical(key, key.default_value, "default");
}

double number_of(const Key& key, const std::string& canonical) {
  if (!key.word.empty() && canonical == key.word) return key.named_number;
  return (key.type == Type::duration ? parse_duration(canonical) : parse_number(canonical, key.unit)).value();
}

}  // namespace dodyn
