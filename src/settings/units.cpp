#include "settings/units.hpp"

#include <cctype>
#include <cmath>
#include <numbers>

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
                              Named{"rad", {1.0, {}}},
                              Named{"deg", {std::numbers::pi / 180.0, {}}},
                              Named{"N", {1.0, {1, 1, -2}}},
                              Named{"mN", {1e-3, {1, 1, -2}}},
                              Named{"kN", {1e3, {1, 1, -2}}},
                              Named{"J", {1.0, {2, 1, -2}}},
                              Named{"W", {1.0, {2, 1, -3}}},
                              Named{"Pa", {1.0, {-1, 1, -2}}},
                              Named{"kPa", {1e3, {-1, 1, -2}}},
                              Named{"MPa", {1e6, {-1, 1, -2}}},
                              Named{"A", {1.0, {0, 0, 0, 1}}},
                              Named{"kB", {1e3, {0, 0, 0, 0, 1}}},
                              Named{"MB", {1e6, {0, 0, 0, 0, 1}}},
                              Named{"GB", {1e9, {0, 0, 0, 0, 1}}}};

void multiply(Unit& product, const Unit& by, int exponent) {
  product.in_si *= std::pow(by.in_si, exponent);
  for (std::size_t i = 0; i < by.dimension.size(); ++i) product.dimension[i] += exponent * by.dimension[i];
}

// product = word { (blank | "*" | "/") word }, word = NAME | "1" | "(" product ")"
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
    return name == "1" ? Unit{} : unit(name);
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace

std::optional<Unit> unit(std::string_view word) {
  int exponent = 1;
  if (word.size() > 1 && word.back() >= '2' && word.back() <= '9') {
    exponent = word.back() - '0';
    word.remove_suffix(1);
  }
  for (const Named& named : units)
    if (named.name == word) {
      Unit power;
      multiply(power, named.unit, exponent);
      return power;
    }
  return {};
}

std::optional<Unit> parse_unit(std::string_view text) { return UnitParser(text).parse(); }

}  // namespace dodyn
