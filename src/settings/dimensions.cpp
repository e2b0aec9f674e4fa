#include "settings/dimensions.hpp"

#include <cmath>
#include <utility>

#include "record/text.hpp"

namespace dodyn {
namespace {

constexpr double rounding = 1e-9;  // error of exponents after roots and powers

double rounded(double exponent) {
  const double nearest = std::round(exponent);
  return std::abs(exponent - nearest) < rounding ? nearest + 0.0 : exponent;
}

}  // namespace

Measure Measure::of(const Unit& unit) { return {unit.dimension, {}, false, unit.is_pure() && unit.angle == 1}; }

Measure Measure::times(const Measure& other, double power) const {
  const auto plain = [](const Measure& m) { return m.any || (m.is_pure() && !m.angle); };
  if (plain(*this) && plain(other) && (any || other.any)) return anything();
  Measure product = *this;
  product.any = false;
  product.angle = (angle && other.any) || (any && other.angle && power == 1.0);
  for (std::size_t i = 0; i < product.exponents.size(); ++i)
    product.exponents[i] = rounded(product.exponents[i] + power * other.exponents[i]);
  for (const auto& [unknown, exponent] : other.unknowns) {
    double& sum = product.unknowns[unknown];
    sum = rounded(sum + power * exponent);
    if (sum == 0.0) product.unknowns.erase(unknown);
  }
  return product;
}

Measure Dimensions::unknown(std::string name) {
  unknowns_.push_back({std::move(name), {}});
  Measure m;
  m.unknowns[std::ssize(unknowns_) - 1] = 1.0;
  return m;
}

Measure Dimensions::resolved(const Measure& measure) const {
  Measure known = measure;
  known.unknowns.clear();
  for (const auto& [unknown, power] : measure.unknowns) {
    const Unknown& u = unknowns_[unknown];
    Measure one;
    if (u.value)
      one = resolved(*u.value);
    else
      one.unknowns[unknown] = 1.0;
    const bool angle = known.angle || (power == 1.0 && measure.unknowns.size() == 1 && one.angle);
    known = known.times(one, power);
    known.angle = angle && known.is_pure();
  }
  return known;
}

bool Dimensions::agree(const Measure& one, const Measure& other) {
  if (one.any || other.any) return true;
  for (const auto& [a, b] : {std::pair(resolved(one), resolved(other)), std::pair(resolved(other), resolved(one))})
    if (b.angle && a.unknowns.size() == 1 && a.unknowns.begin()->second == 1.0 && a.exponents == Dimension{}) {
      unknowns_[a.unknowns.begin()->first].value = b;
      return true;
    }
  Measure zero = resolved(one).times(resolved(other), -1.0);
  if (zero.unknowns.empty()) return zero.exponents == Dimension{};
  const auto [unknown, power] = *zero.unknowns.rbegin();
  zero.unknowns.erase(unknown);
  Measure value = Measure{}.times(zero, -1.0 / power);
  unknowns_[unknown].value = value;
  return true;
}

std::string Dimensions::described(const Measure& measure) const {
  const Measure m = resolved(measure);
  if (m.any) return "a number without a unit";
  if (!m.unknowns.empty()) {  // [k]: the dimension of k
    std::string text = "a number in";
    for (const auto& [unknown, power] : m.unknowns) {
      text += " [" + unknowns_[unknown].name + "]";
      if (power != 1.0) text += "^" + to_text(power);
    }
    return m.exponents == Dimension{} ? text : text + " " + si_unit(m.exponents);
  }
  return dodyn::described(Unit{1.0, m.exponents, m.angle ? 1 : 0});
}

}  // namespace dodyn
