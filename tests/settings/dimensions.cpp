#include "settings/dimensions.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "settings/expression.hpp"

namespace dodyn {
namespace {

// Returns the dimension of an expression as an SI unit. `units`: those of its quantities; "?": unknown.
std::string measured(const std::string& text, const std::map<std::string, std::string>& units,
                     Dimensions&& dimensions = {}) {
  const Expression e = Expression::parse(text);
  std::vector<Measure> quantities;
  for (const auto& q : e.quantities())
    quantities.push_back(units.at(q.name) == "?" ? dimensions.unknown(q.name)
                                                 : Measure::of(parse_unit(units.at(q.name)).value()));
  const Measure m = dimensions.resolved(e.measure(dimensions, quantities));
  return m.any ? "any" : m.angle ? "rad" : !m.unknowns.empty() ? "unknown" : si_unit(m.exponents);
}

std::string complaint(const std::string& text, const std::map<std::string, std::string>& units) {
  try {
    return measured(text, units) + " is no complaint";
  } catch (const ExpressionError& error) {
    return error.what();
  }
}

// A dimension says how a value changes when the base units do: the definition, which uses none of the rules.
TEST(Dimensions, AValueScalesWithItsUnits) {
  const std::map<std::string, std::string> units = {{"l", "m"}, {"w", "m"}, {"m", "kg"}, {"t", "s"}, {"v", "m/s"}};
  const std::map<std::string, double> values = {{"l", 0.7}, {"w", 0.4}, {"m", 3.1}, {"t", 0.9}, {"v", 2.3}};
  for (const char* const text :
       {"m*l^2/12", "sqrt(l/w)*m/t", "l + v*t - w", "m*v^2/2 + m*l*w/t^2", "max(l, w)/sqrt(l^2 + w^2)", "1/t + v/l",
        "m*abs(l - w)^3/(t*v)", "sin(l/w)*v", "sqrt(m*l/t^2)", "exp(-t*v/l)*l", "min(v, l/t)^-2", "(m + m)^0*l"}) {
    const Expression e = Expression::parse(text);
    Dimensions dimensions;
    std::vector<Measure> measures;
    for (const auto& q : e.quantities()) measures.push_back(Measure::of(parse_unit(units.at(q.name)).value()));
    const Dimension exponents = e.measure(dimensions, measures).exponents;
    const std::array<double, 5> base = {1.7, 0.6, 2.9, 1.0, 1.0};
    const auto scale = [&](const Dimension& d) {
      double product = 1.0;
      for (std::size_t i = 0; i < d.size(); ++i) product *= std::pow(base[i], d[i]);
      return product;
    };
    std::vector<double> before, after;
    for (std::size_t i = 0; i < measures.size(); ++i) {
      before.push_back(values.at(e.quantities()[i].name));
      after.push_back(before.back() * scale(measures[i].exponents));
    }
    EXPECT_NEAR(e.evaluate<double>(after) / e.evaluate<double>(before), scale(exponents), 1e-12) << text;
  }
}

TEST(Dimensions, NumbersWithoutAUnitFitTheirPlace) {
  EXPECT_EQ(measured("0.3 + l", {{"l", "m"}}), "m");
  EXPECT_EQ(measured("2*l", {{"l", "m"}}), "m");
  EXPECT_EQ(measured("2*3 - 1", {}), "any");
  EXPECT_EQ(measured("2*sin(a)", {{"a", "rad"}}), "any");
  EXPECT_EQ(measured("2 kg/m*l", {{"l", "m"}}), "kg");
  EXPECT_EQ(measured("90 deg - a/2", {{"a", "rad"}}), "rad");
  EXPECT_EQ(measured("sqrt(4 m2)", {}), "m");
  EXPECT_EQ(measured("1/(2 s)", {}), "1/s");
}

TEST(Dimensions, UnknownsFollowFromTheirFirstUse) {
  Dimensions dimensions;
  const Measure k = dimensions.unknown("k"), c = dimensions.unknown("c"), length = Measure::of(*parse_unit("m"));
  const std::vector<Measure> used = {k, length, c};
  EXPECT_TRUE(dimensions.agree(Expression::parse("k*l^2/c").measure(dimensions, used), Measure::of(*parse_unit("J"))));
  EXPECT_TRUE(dimensions.agree(c, Measure::of(*parse_unit("s"))));
  EXPECT_EQ(si_unit(dimensions.resolved(k).exponents), "N s/m");
  EXPECT_FALSE(dimensions.agree(k, Measure::of(*parse_unit("N/m"))));
  EXPECT_TRUE(dimensions.agree(k, Measure::anything()));
}

TEST(Dimensions, WhatDoesNotFitIsRefused) {
  EXPECT_EQ(complaint("l + m", {{"l", "m"}, {"m", "kg"}}),
            "a length (m, cm, mm) and a mass (kg, g) are added in 'l + m'; allowed: one dimension");
  EXPECT_EQ(complaint("5 mm - 2 kg", {}),
            "a length (m, cm, mm) and a mass (kg, g) are subtracted in '5 mm - 2 kg'; allowed: one dimension");
  EXPECT_EQ(complaint("l < 2 s", {{"l", "m"}}),
            "a length (m, cm, mm) and a time (s, ms, min, h) are compared in 'l < 2 s'; allowed: one dimension");
  EXPECT_EQ(complaint("sin(l)", {{"l", "m"}}),
            "a sine, cosine or tangent is taken of a length (m, cm, mm) in 'sin(l)'; allowed: an angle or a number "
            "without a unit; divide it by 1 m");
  EXPECT_EQ(complaint("k + k*l", {{"k", "?"}, {"l", "m"}}),
            "a number in [k] and a number in [k] m are added in 'k + k*l'; allowed: one dimension");
}

}  // namespace
}  // namespace dodyn
