#include "settings/expression.hpp"

#include <gtest/gtest.h>

#include <numbers>

#include "autodiff/dual.hpp"
#include "tests/message_of.hpp"

namespace dodyn::test_expression {
namespace {

double value(const std::string& text) { return Expression::parse(text).constant(); }

TEST(Expression, ComputesAsMathematicsDoes) {
  EXPECT_EQ(value("1 + 2*3"), 7.0);
  EXPECT_EQ(value("-2^2"), -4.0);
  EXPECT_EQ(value("2^-2"), 0.25);
  EXPECT_EQ(value("(-1)^4999"), -1.0);
  EXPECT_EQ(value("8/4/2"), 1.0);
  EXPECT_EQ(value("5 - 3 - 1"), 1.0);
  EXPECT_EQ(value("max(1, 5, 3) + min(2, -1)"), 4.0);
  EXPECT_DOUBLE_EQ(value("sin(1)^2 + cos(1)^2"), 1.0);
  EXPECT_DOUBLE_EQ(value("tan(pi/4)"), 1.0);
  EXPECT_DOUBLE_EQ(value("exp(log(3)) + sqrt(4) + abs(-1)"), 6.0);
  EXPECT_DOUBLE_EQ(value("2^0.5"), std::sqrt(2.0));
  EXPECT_EQ(value("1e-3"), 1e-3);
  EXPECT_EQ(value("floor(2.7) + floor(-2.7)"), -1.0);
}

TEST(Expression, NoiseIsNormalRepeatableAndIndependent) {
  double mean = 0.0, square = 0.0, fourth = 0.0, next = 0.0;
  const auto noise = Expression::parse("noise(k)");
  const auto at = [&](double k) { return noise.evaluate<double>(std::vector<double>{k}); };
  const int n = 20000;
  for (int k = 0; k < n; ++k) {
    const double x = at(k);
    mean += x / n;
    square += x * x / n;
    fourth += x * x * x * x / n;
    next += x * at(k + 1) / n;
  }
  const double error = 4.0 / std::sqrt(n);  // four standard errors of a mean of unit variance
  EXPECT_NEAR(mean, 0.0, error);
  EXPECT_NEAR(square, 1.0, std::sqrt(2.0) * error);
  EXPECT_NEAR(fourth, 3.0, std::sqrt(96.0) * error);
  EXPECT_NEAR(next, 0.0, error);
  EXPECT_EQ(at(7.9), at(7.0));
  EXPECT_NE(at(-1.0), at(1.0));
}

TEST(Expression, ConvertsUnits) {
  EXPECT_DOUBLE_EQ(value("130 deg"), 130.0 * std::numbers::pi / 180.0);
  EXPECT_DOUBLE_EQ(value("5 mm + 1 cm"), 0.015);
  EXPECT_EQ(value("60 N m"), 60.0);
  EXPECT_DOUBLE_EQ(value("180 deg/s"), std::numbers::pi);
  EXPECT_DOUBLE_EQ(value("2*5 mm"), 0.01);
  EXPECT_DOUBLE_EQ(value("3 g/cm"), 0.3);
  // An exponent behind a unit is the unit's, as on paper.
  EXPECT_DOUBLE_EQ(value("5 m^2"), 5.0);
  EXPECT_DOUBLE_EQ(value("5 cm^2"), 5e-4);
  EXPECT_DOUBLE_EQ(value("4 kg/s^2"), 4.0);
  EXPECT_DOUBLE_EQ(value("2000 kg mm^2"), 2e-3);
  EXPECT_DOUBLE_EQ(value("3 s^-1"), 3.0);
  EXPECT_DOUBLE_EQ(value("3 m^2/s^2 + 1 J/kg"), 4.0);
  EXPECT_DOUBLE_EQ(value("(5 m)^2"), 25.0);
  EXPECT_DOUBLE_EQ(value("5^2"), 25.0);
  for (const char* text : {"m^2", "kg m^2/s^2", "1/s^2"}) EXPECT_TRUE(parse_unit(text)) << text;
  EXPECT_DOUBLE_EQ(parse_unit("mm^2")->in_si, 1e-6);
  for (const char* text : {"m^", "m^x", "m^99", "m^1.5", "^2"}) EXPECT_FALSE(parse_unit(text)) << text;
}

// Units as users write them: SI's of mechanics, those in parentheses that messages print, and turns of a motor.
TEST(Expression, ReadsUnitsWithoutANumerator) {
  const auto read = [](const std::string& text, double expected, const char* unit) {
    const Expression e = Expression::parse(text);
    EXPECT_DOUBLE_EQ(e.constant(), expected) << text;
    EXPECT_TRUE(e.has_units()) << text;
    Dimensions dimensions;
    EXPECT_EQ(si_unit(e.measure(dimensions, {}).exponents), unit) << text;
  };
  read("3 1/s", 3.0, "1/s");
  read("3 1/s^2", 3.0, "1/s2");
  read("3 1/ms + 1 Hz", 3001.0, "1/s");
  read("2*3 1/s/4", 1.5, "1/s");
  read("5 1/m", 5.0, "1/m");
  read("5 1/mm", 5000.0, "1/m");
  read("7 1/(N m s)", 7.0, "s/(m2 kg)");
  read("7 kg/(m s)", 7.0, "kg/(m s)");
  read("8 N/m", 8.0, "N/m");
  read("8 N s/m", 8.0, "N s/m");
  read("30 rpm", std::numbers::pi, "1/s");
  read("180 deg/s", std::numbers::pi, "1/s");
  EXPECT_EQ(value("6/(1 + 1)"), 3.0);
  EXPECT_EQ(value("3 1/s * 2 s"), 6.0);
  EXPECT_EQ(parse_unit("rpm")->angle, 1);
  EXPECT_EQ(unit_behind("3 1/s"), "1/s");
  EXPECT_EQ(unit_behind("31/s"), "");
  const auto mistake = [](const std::string& text) {
    return message_of<ExpressionError>([&] { Expression::parse(text); }, "none");
  };
  EXPECT_EQ(mistake("3 1/x"),
            "'3 1/x' is not understood at '1/x'; allowed: numbers with units, names, + - * / ^, "
            "comparisons, and, or, not, parentheses");
  EXPECT_EQ(mistake("2*(x +"), "'2*(x +' is incomplete; it ends where a number, a name or ) is expected");
  EXPECT_EQ(mistake("2*(x"), "'2*(x' is incomplete; it ends where a number, a name or ) is expected");
  EXPECT_EQ(mistake("5 sec"), "'5 sec': 'sec' is not a unit (did you mean 's'?); a product needs *");
  EXPECT_EQ(mistake("5 Nm"), "'5 Nm': 'Nm' is not a unit (did you mean 'N m'?); a product needs *");
  EXPECT_EQ(mistake("5 hz"), "'5 hz': 'hz' is not a unit (did you mean 'Hz'?); a product needs *");
  EXPECT_EQ(mistake("2 x + 1"), "'2 x + 1': 'x' is not a unit; dodyn help units lists them; a product needs *");
  EXPECT_EQ(mistake("2 < x and 3 m > y or 4 < z"), "none");
}

TEST(Expression, NamesWhatItNeeds) {
  const auto e = Expression::parse("abs(tangential(foot)) <= mu*normal(foot) and distance(a.tip, b.seat) < 1 mm");
  std::vector<std::string> names;
  for (const auto& q : e.quantities()) names.push_back(q.text());
  EXPECT_EQ(names, (std::vector<std::string>{"tangential(foot)", "mu", "normal(foot)", "distance(a.tip, b.seat)"}));
  EXPECT_TRUE(e.is_condition());
  EXPECT_TRUE(e.holds(std::vector<double>{-3.0, 0.5, 7.0, 0.0005}));
  EXPECT_FALSE(e.holds(std::vector<double>{-3.0, 0.5, 5.0, 0.0005}));
  const auto parts = e.comparisons();
  ASSERT_EQ(parts.size(), 3u);  // of |a| <= b two
  EXPECT_EQ(parts[2].what.quantities().size(), 1u);
  EXPECT_NEAR(parts[2].what.evaluate<double>(std::vector<double>{0.0004}), 0.0006, 1e-15);
}

TEST(Expression, SplitsConditionsAtTheOutermostWord) {
  using Parts = Expression::Parts;
  const Parts either = Expression::parse("(a > 1 and b) or not (c == 2)").parts();
  EXPECT_EQ(either.kind, Parts::any);
  ASSERT_EQ(either.list.size(), 2u);
  const Parts both = either.list[0].parts(), opposite = either.list[1].parts();
  EXPECT_EQ(both.kind, Parts::all);
  EXPECT_EQ(both.list, (std::vector{Expression::parse("a > 1"), Expression::parse("b")}));
  EXPECT_EQ(opposite.kind, Parts::opposite);
  EXPECT_EQ(opposite.list, std::vector{Expression::parse("c == 2")});
  for (const char* text : {"a > 1", "b", "1 + a"}) EXPECT_EQ(Expression::parse(text).parts().kind, Parts::none);
}

TEST(Expression, HyphenatedNamesAreNamesWhereKnown) {
  const std::vector<std::string> known = {"step-length"};
  EXPECT_EQ(Expression::parse("step-length/period", known).quantities()[0].name, "step-length");
  EXPECT_EQ(Expression::parse("step-length/period").quantities().size(), 3u);
}

TEST(Expression, DerivativesFollow) {
  using Dual = autodiff::Dual<double>;
  const auto e = Expression::parse("density*knee^3/12 + sin(knee)");
  const std::vector<Dual> at = {Dual(2.0, 0.0), Dual(0.4, 1.0)};
  const Dual y = e.evaluate<Dual>(at);
  EXPECT_DOUBLE_EQ(y.value, 2.0 * 0.4 * 0.4 * 0.4 / 12.0 + std::sin(0.4));
  EXPECT_DOUBLE_EQ(y.tangent, 2.0 * 3.0 * 0.4 * 0.4 / 12.0 + std::cos(0.4));
}

TEST(Expression, ComparesItsText) {
  EXPECT_EQ(Expression::parse("a+ b"), Expression::parse("a + b"));
  EXPECT_FALSE(Expression::parse("a + b") == Expression::parse("b + a"));
}

TEST(Expression, ListsAndRanges) {
  EXPECT_EQ(split_list("a, f(b, c), 3 "), (std::vector<std::string>{"a", "f(b, c)", "3"}));
  EXPECT_TRUE(split_list(" ").empty());
  const auto [from, to] = parse_range("-60 deg .. 60 deg");
  EXPECT_DOUBLE_EQ(from.constant(), -to.constant());
}

TEST(Expression, MistakesAreOneShortLine) {
  for (const std::string& text : std::vector<std::string>{"",
                                                          "1 +",
                                                          "(1",
                                                          "1)",
                                                          "2 3",
                                                          "a b",
                                                          "sin()",
                                                          "sin(1, 2)",
                                                          "max(1)",
                                                          "1 & 2",
                                                          "and",
                                                          "f(1)",
                                                          "x.",
                                                          "1..2",
                                                          "5 m^x",
                                                          "5 m^2.5",
                                                          "5 m^",
                                                          "5 m^(2)",
                                                          std::string(100000, '-'),
                                                          std::string(5000, '('),
                                                          "\x01\x02"}) {
    const std::string line = message_of<ExpressionError>([&] { Expression::parse(text); });
    EXPECT_NE(line, "") << text.substr(0, 50);
    EXPECT_LT(line.size(), 400u);
    EXPECT_EQ(line.find('\n'), std::string::npos);
  }
}

TEST(Expression, TextsThatAreTooLongOrNestTooDeepSayWhatIsAllowed) {
  const auto mistake = [](const std::string& text) -> std::string {
    return message_of<ExpressionError>([&] { Expression::parse(text); }, "none");
  };
  EXPECT_NE(mistake(std::string(100000, '-')).find("an expression of 100000 characters"), std::string::npos);
  EXPECT_NE(mistake(std::string(5000, '(')).find("nests too deep"), std::string::npos);
}

}  // namespace
}  // namespace dodyn::test_expression
