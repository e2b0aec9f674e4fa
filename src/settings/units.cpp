#include "settings/units.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <numbers>

#include "record/text.hpp"
#include "settings/unit_names.hpp"

namespace dodyn {
namespace {

struct Named {
  std::string_view name;
  Unit unit;
};
constexpr std::array units = {Named{"m", {1.0, {1}}},
                              Named{"mm", {1e-3, {1}}},
                              Named{"um", {1e-6, {1}}},
                              Named{"cm", {1e-2, {1}}},
                              Named{"km", {1e3, {1}}},
                              Named{"kg", {1.0, {0, 1}}},
                              Named{"g", {1e-3, {0, 1}}},
                              Named{"s", {1.0, {0, 0, 1}}},
                              Named{"ms", {1e-3, {0, 0, 1}}},
                              Named{"us", {1e-6, {0, 0, 1}}},
                              Named{"min", {60.0, {0, 0, 1}}},
                              Named{"h", {3600.0, {0, 0, 1}}},
                              Named{"Hz", {1.0, {0, 0, -1}}},
                              Named{"rad", {1.0, {}, 1}},
                              Named{"deg", {std::numbers::pi / 180.0, {}, 1}},
                              Named{"rpm", {std::numbers::pi / 30.0, {0, 0, -1}, 1}},
                              Named{"N", {1.0, {1, 1, -2}}},
                              Named{"mN", {1e-3, {1, 1, -2}}},
                              Named{"kN", {1e3, {1, 1, -2}}},
                              Named{"J", {1.0, {2, 1, -2}}},
                              Named{"W", {1.0, {2, 1, -3}}},
                              Named{"Pa", {1.0, {-1, 1, -2}}},
                              Named{"kPa", {1e3, {-1, 1, -2}}},
                              Named{"MPa", {1e6, {-1, 1, -2}}},
                              Named{"A", {1.0, {0, 0, 0, 1}}},
                              Named{"T", {1.0, {0, 1, -2, -1}}},
                              Named{"V", {1.0, {2, 1, -3, -1}}},
                              Named{"kB", {1e3, {0, 0, 0, 0, 1}}},
                              Named{"MB", {1e6, {0, 0, 0, 0, 1}}},
                              Named{"GB", {1e9, {0, 0, 0, 0, 1}}}};

void multiply(Unit& product, const Unit& by, int exponent) {
  product.in_si *= std::pow(by.in_si, exponent);
  for (std::size_t i = 0; i < by.dimension.size(); ++i) product.dimension[i] += exponent * by.dimension[i];
  product.angle += exponent * by.angle;
}

// Returns the words of a comment before its first comma, semicolon or colon.
std::string_view first_words(std::string_view comment) {
  return trimmed(comment.substr(0, comment.find_first_of(",;:")));
}

struct Kind {
  std::string_view unit, text;
};
constexpr std::array kinds = {Kind{"rad", "an angle (rad, deg)"},
                              Kind{"1", "a number without a unit"},
                              Kind{"m", "a length (m, cm, mm)"},
                              Kind{"kg", "a mass (kg, g)"},
                              Kind{"s", "a time (s, ms, min, h)"},
                              Kind{"Hz", "a frequency (Hz)"},
                              Kind{"rad/s", "an angular velocity (rad/s, deg/s, rpm)"},
                              Kind{"N", "a force (N, kN, mN)"},
                              Kind{"N m", "a torque or an energy (N m, J)"},
                              Kind{"m/s", "a speed (m/s, mm/s)"},
                              Kind{"m/s2", "an acceleration (m/s2)"},
                              Kind{"W", "a power (W)"},
                              Kind{"Pa", "a pressure (Pa, kPa, MPa)"},
                              Kind{"N/m", "a stiffness (N/m, N/mm)"},
                              Kind{"kg m2", "a moment of inertia (kg m2)"},
                              Kind{"MB", "a size (kB, MB, GB)"}};

// product = word { (blank | "*" | "/") word }, word = NAME [ "^" INTEGER ] | "1" | "(" product ")"
class UnitParser {
 public:
  explicit UnitParser(std::string_view text) : text_(text) {}
  std::optional<Unit> parse() {
    if (next() == '\0') return Unit{};
    auto product = this->product(0);
    return next() == '\0' ? product : std::nullopt;
  }

 private:
  char next() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  std::optional<Unit> product(int depth) {
    Unit all;
    for (bool first = true;; first = false) {
      const char c = next();
      if (!first && (c == '\0' || c == ')')) return all;
      const bool below = c == '/';
      if ((c == '*' || c == '/') && !first) ++at_;
      const auto one = word(depth);
      if (!one) return {};
      multiply(all, *one, below ? -1 : 1);
    }
  }
  std::optional<Unit> word(int depth) {
    if (next() == '(') {
      ++at_;
      auto inner = depth < 5 ? product(depth + 1) : std::nullopt;
      if (next() != ')') return {};
      ++at_;
      return inner;
    }
    const std::size_t from = at_;
    while (at_ < text_.size() && std::isalnum(static_cast<unsigned char>(text_[at_]))) ++at_;
    const auto name = text_.substr(from, at_ - from);
    const auto found = name == "1" ? Unit{} : unit(name);
    const auto exponent = unit_exponent(text_, at_);
    return found && exponent ? std::optional(unit_power(*found, *exponent)) : std::nullopt;
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace

std::vector<std::vector<std::string>> unit_names() {
  std::vector<std::vector<std::string>> groups;
  const Unit* last = nullptr;
  for (const Named& named : units) {
    const Unit& own = named.unit;
    if (!last || last->dimension != own.dimension || last->angle != own.angle) groups.emplace_back();
    groups.back().emplace_back(named.name);
    last = &own;
  }
  return groups;
}

Unit unit_power(const Unit& base, int exponent) {
  Unit product;
  multiply(product, base, exponent);
  return product;
}

std::optional<int> unit_exponent(std::string_view text, std::size_t& at) {
  constexpr int most = 9;
  if (at >= text.size() || text[at] != '^') return 1;
  int exponent = 0;
  const auto [to, error] = std::from_chars(text.data() + at + 1, text.data() + text.size(), exponent);
  const std::size_t end = to - text.data();
  const bool goes_on = end < text.size() &&
                       (std::isalnum(static_cast<unsigned char>(text[end])) || text[end] == '_' || text[end] == '.');
  if (error != std::errc{} || std::abs(exponent) > most || goes_on) return {};
  at = end;
  return exponent;
}

std::optional<Unit> unit(std::string_view word) {
  int exponent = 1;
  if (word.size() > 1 && word.back() >= '2' && word.back() <= '9') {
    exponent = word.back() - '0';
    word.remove_suffix(1);
  }
  for (const Named& named : units)
    if (named.name == word) return unit_power(named.unit, exponent);
  return {};
}

std::optional<Unit> parse_unit(std::string_view text) { return UnitParser(text).parse(); }

std::string_view unit_not_si(std::string_view comment) {
  const std::string_view word = first_words(comment);
  const auto found = word.empty() ? std::nullopt : parse_unit(word);
  return found && found->in_si != 1.0 ? word : std::string_view();
}

std::optional<Unit> unit_of_comment(std::string_view comment) {
  const std::string_view word = first_words(comment);
  const auto found = word.empty() ? std::nullopt : parse_unit(word);
  return found && found->in_si == 1.0 ? found : std::nullopt;
}

std::string_view unit_behind(std::string_view number) {
  auto end = number.find_first_not_of("0123456789.+-eE ");
  if (end == std::string_view::npos || end == 0) return {};
  if (number.substr(0, end).ends_with(" 1") && number[end] == '/') --end;  // "3 1/s"
  const std::string_view behind = trimmed(number.substr(end));
  return parse_unit(behind) ? behind : std::string_view();
}

std::string stated_unit(std::string_view number, std::string_view comment) {
  if (const std::string_view behind = unit_behind(number); !behind.empty()) {
    const Unit own = *parse_unit(behind);
    return own.in_si == 1.0 ? std::string(behind) : own.is_pure() && own.angle == 1 ? "rad" : si_unit(own.dimension);
  }
  return unit_of_comment(comment) ? std::string(trimmed(comment.substr(0, comment.find_first_of(",;:")))) : "1";
}

std::string not_a_unit(std::string_view word) {
  struct Written {
    std::string_view word, unit;
  };
  static constexpr std::array others = {Written{"sec", "s"},      Written{"second", "s"},    Written{"seconds", "s"},
                                        Written{"Nm", "N m"},     Written{"Nms", "N m s"},   Written{"Ns", "N s"},
                                        Written{"degree", "deg"}, Written{"degrees", "deg"}, Written{"radian", "rad"},
                                        Written{"rads", "rad"},   Written{"meter", "m"},     Written{"meters", "m"},
                                        Written{"metre", "m"},    Written{"metres", "m"},    Written{"rev", "rpm"},
                                        Written{"newton", "N"},   Written{"hertz", "Hz"},    Written{"minutes", "min"}};
  const auto is_like = [&](std::string_view name) {
    return std::equal(word.begin(), word.end(), name.begin(), name.end(),
                      [](unsigned char a, unsigned char b) { return std::tolower(a) == std::tolower(b); });
  };
  std::string_view meant;
  for (const Named& named : units)
    if (is_like(named.name)) meant = named.name;
  for (const Written& other : others)
    if (is_like(other.word)) meant = other.unit;
  return "'" + std::string(word) + "' is not a unit" +
         (meant.empty() ? "; dodyn help units lists them" : " (did you mean '" + std::string(meant) + "'?)");
}

bool fits(const Unit& given, const Unit& wanted) {
  return given.dimension == wanted.dimension && (given.angle == 0 || given.angle == wanted.angle);
}

std::string si_unit(const Dimension& dimension) {
  for (const std::string_view name : {"N", "N m", "N/m", "N s/m", "N m s", "N s", "W", "Pa"})
    if (parse_unit(name)->dimension == dimension) return std::string(name);
  static constexpr std::array<std::string_view, 5> names = {"m", "kg", "s", "A", "B"};
  std::string above, below;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const double exponent = dimension[i], size = std::abs(exponent);
    if (exponent == 0.0) continue;
    std::string& side = exponent > 0.0 ? above : below;
    side += (side.empty() ? "" : " ") + std::string(names[i]);
    if (size != 1.0) side += (size == std::floor(size) ? "" : "^") + to_text(size);
  }
  if (above.empty()) above = "1";
  if (below.empty()) return above;
  return above + "/" + (below.find(' ') == std::string::npos ? below : "(" + below + ")");
}

std::string described(const Unit& unit, std::string_view name) {
  for (const Kind& kind : kinds)
    if (const Unit one = *parse_unit(kind.unit); one.dimension == unit.dimension && one.angle == unit.angle)
      return std::string(kind.text);
  return "a number in " + (name.empty() ? si_unit(unit.dimension) : std::string(name));
}

}  // namespace dodyn
