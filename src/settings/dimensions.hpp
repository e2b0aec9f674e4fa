// Dimensions of expressions, checked before any of them is evaluated.
//
// A number without a unit may stand for any dimension; as a factor of what has one it is pure. The dimension of a name
// whose unit is not known yet is an unknown. It follows from the first place that decides it: sums, comparisons and
// places are equations between the exponents, and each fixes one unknown (Kennedy, Relational parametricity and units
// of measure, 1997).
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "settings/units.hpp"

namespace dodyn {

// The dimension of a value: known exponents times powers of unknown dimensions.
struct Measure {
  Dimension exponents = {};
  std::map<int, double> unknowns;  // powers by number, none of them 0
  bool any = false;                // a number without a unit
  bool angle = false;              // rad or deg, where the exponents are 0

  static Measure of(const Unit& unit);
  static Measure anything() { return {{}, {}, true, false}; }
  bool is_pure() const { return exponents == Dimension{} && unknowns.empty(); }
  Measure times(const Measure& other, double power) const;  // this * other^power
  bool operator==(const Measure&) const = default;
};

class Dimensions {
 public:
  // A new unknown; `name` is what messages call it.
  Measure unknown(std::string name);

  // With what is known of its unknowns by now.
  Measure resolved(const Measure& measure) const;

  // Makes both the same dimension, where that can be. An angle agrees with a pure number.
  bool agree(const Measure& one, const Measure& other);

  // For messages: "a length (m, cm, mm)", "a number in [motor] m".
  std::string described(const Measure& measure) const;

 private:
  struct Unknown {
    std::string name;
    std::optional<Measure> value;
  };
  std::vector<Unknown> unknowns_;
};

}  // namespace dodyn
