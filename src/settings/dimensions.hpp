// Dimensions of expressions, checked before any expression is evaluated.
//
// A number without a unit may have any dimension; as a factor it is pure. If the unit of a name is not known yet, its
// dimension is an unknown. Sums, comparisons and the expected dimension of an entry are equations between the
// exponents, and each determines one unknown (Kennedy, Relational parametricity and units of measure, 1997).
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
  std::map<int, double> unknowns;  // powers by index of the unknown; each power is nonzero
  bool any = false;                // a number without a unit, which agrees with any dimension
  bool angle = false;              // rad or deg, if the exponents are 0

  static Measure of(const Unit& unit);
  static Measure anything() { return {{}, {}, true, false}; }
  bool is_pure() const { return exponents == Dimension{} && unknowns.empty(); }
  // Returns this * other^power.
  Measure times(const Measure& other, double power) const;
  bool operator==(const Measure&) const = default;
};

class Dimensions {
 public:
  // Makes a new unknown; `name` is used in messages.
  Measure unknown(std::string name);

  // Returns the measure with the values of the unknowns that are determined by now.
  Measure resolved(const Measure& measure) const;

  // Makes both dimensions equal by a value for one of their unknowns. Returns false if they differ and have no unknown.
  // A number without a unit agrees with every dimension, an angle with a pure number.
  bool agree(const Measure& one, const Measure& other);

  // Returns text for messages: "a length (m, cm, mm)", "a number in [motor] m".
  std::string described(const Measure& measure) const;

 private:
  struct Unknown {
    std::string name;
    std::optional<Measure> value;
  };
  std::vector<Unknown> unknowns_;
};

}  // namespace dodyn
