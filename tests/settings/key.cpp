// Values of single keys: their canonical texts on either side of each limit, and the line that a wrong one gets.
#include "settings/key.hpp"

#include <gtest/gtest.h>

namespace dodyn::test_key {
namespace {

std::string complaint(const Key& key, const std::string& value) {
  try {
    return "none: " + canonical(key, value, "here");
  } catch (const ConfigError& error) {
    return error.what();
  }
}

TEST(Key, NumbersAreWithinTheirRange) {
  const Key closed{.name = "a", .unit = "m", .minimum = 0.0, .maximum = 2.0};
  EXPECT_EQ(allowed(closed), "a number in [0, 2] m");
  EXPECT_EQ(canonical(closed, "0", ""), "0");
  EXPECT_EQ(canonical(closed, "-0", ""), "0");
  EXPECT_EQ(canonical(closed, "2", ""), "2");
  EXPECT_EQ(canonical(closed, "5 mm", ""), "0.005");
  EXPECT_EQ(canonical(closed, "1/4", ""), "0.25");
  for (const std::string bad : {"2.001", "-0.001", "2001 mm"})
    EXPECT_EQ(complaint(closed, bad), "here: a = " + bad + " is out of range; allowed: a number in [0, 2] m");
  EXPECT_EQ(complaint(closed, "many"), "here: a = many is not a number; allowed: a number in [0, 2] m");
  EXPECT_EQ(complaint(closed, ""), "here: a has no value; allowed: a number in [0, 2] m");
  EXPECT_EQ(complaint(closed, "1 metre"),
            "here: a = 1 metre: 'metre' is not a unit (did you mean 'm'?); allowed: a number in [0, 2] m");
  EXPECT_EQ(complaint(closed, "1 inch"),
            "here: a = 1 inch: 'inch' is not a unit; dodyn help units lists them; allowed: a number in [0, 2] m");
  const Key rate{.name = "r", .unit = "1/s"}, speed{.name = "w", .unit = "rad/s"};
  for (const char* text : {"3", "3 1/s", "3 Hz", "0.003 1/ms"}) EXPECT_EQ(canonical(rate, text, ""), "3") << text;
  EXPECT_EQ(canonical(speed, "30 rpm", ""), canonical(speed, "180 deg/s", ""));
  EXPECT_TRUE(complaint(rate, "30 rpm").starts_with("here: r = 30 rpm has the unit rpm; expected a frequency"));
  EXPECT_TRUE(complaint(closed, "1 kg").starts_with("here: a = 1 kg has the unit kg; expected a length"));

  const Key open{.name = "a", .minimum = 0.0, .open_minimum = true};
  EXPECT_EQ(allowed(open), "a number > 0");
  EXPECT_EQ(canonical(open, "1e-9", ""), "1e-09");
  EXPECT_EQ(complaint(open, "0"), "here: a = 0 is out of range; allowed: a number > 0");
  EXPECT_EQ(allowed({.name = "a", .minimum = 0.0}), "a number >= 0");
  EXPECT_EQ(allowed({.name = "a", .maximum = 3.0}), "a number <= 3");
  EXPECT_EQ(allowed({.name = "a"}), "a number");
  EXPECT_EQ(number_of(closed, "0.25"), 0.25);
}

TEST(Key, IntegersAreWhole) {
  const Key key{.name = "n", .type = Type::integer, .minimum = 1, .maximum = 2147483647.0};
  EXPECT_EQ(canonical(key, "1", ""), "1");
  EXPECT_EQ(canonical(key, "1e3", ""), "1000");
  EXPECT_EQ(canonical(key, "2147483647", ""), "2147483647");
  EXPECT_EQ(complaint(key, "1.5"), "here: n = 1.5 is not an integer; allowed: an integer >= 1");
  EXPECT_EQ(complaint(key, "0"), "here: n = 0 is out of range; allowed: an integer >= 1");
  EXPECT_EQ(complaint({.name = "n", .type = Type::integer}, "2147483648"),
            "here: n = 2147483648 is out of range; allowed: an integer");
  EXPECT_EQ(complaint({.name = "n", .type = Type::integer}, "-2147483648"),
            "here: n = -2147483648 is out of range; allowed: an integer");
}

// A word that stands for a number; where 0 is that word too, and where it is not.
TEST(Key, AWordStandsForANumber) {
  Key key{.name = "limit", .minimum = 0.0, .word = "none", .named_number = 1e300};
  EXPECT_EQ(allowed(key), "a number >= 0, or none");
  EXPECT_EQ(canonical(key, "none", ""), "none");
  EXPECT_EQ(canonical(key, "0", ""), "0");
  EXPECT_EQ(number_of(key, "none"), 1e300);
  EXPECT_EQ(number_of(key, "0"), 0.0);
  key.zero_means_named = true;
  EXPECT_EQ(canonical(key, "0", ""), "none");
  EXPECT_EQ(canonical(key, "1", ""), "1");
  key.type = Type::duration;
  EXPECT_EQ(canonical(key, "0", ""), "none");
  EXPECT_EQ(canonical(key, "90", ""), "00:01:30");
}

TEST(Key, ARangeIsWrittenAsTwoKeys) {
  const Key design{.name = "design.knee", .unit = "m"};
  EXPECT_EQ(complaint(design, "0.1 .. 0.4"),
            "here: design.knee = 0.1 .. 0.4 is a range; write design.knee.min = 0.1 and design.knee.max = 0.4");
  EXPECT_EQ(complaint(design, "low"), "here: design.knee = low is not a number; allowed: a number in m");
  EXPECT_EQ(canonical(design, "0.1", ""), "0.1");
  EXPECT_EQ(complaint({.name = "walk.knee"}, "0.1 .. 0.4"),
            "here: walk.knee = 0.1 .. 0.4 is not a number; allowed: a number");
}

TEST(Key, Durations) {
  const Key key{.name = "t", .type = Type::duration};
  const std::pair<std::string, std::string> right[] = {
      {"0", "00:00:00"},        {"59", "00:00:59"},         {"3661", "01:01:01"},
      {"15 min", "00:15:00"},   {"2 h", "02:00:00"},        {"12:30", "00:12:30"},
      {"01:02:03", "01:02:03"}, {"100:00:59", "100:00:59"}, {"999999999", "277777:46:39"}};
  for (const auto& [value, text] : right) EXPECT_EQ(canonical(key, value, ""), text) << value;
  for (const std::string bad : {"-1", "1.5", "1:60", "1:60:00", "1:2:3:4", "1:", "1e9", "1:-2", "1:x", "soon"})
    EXPECT_TRUE(complaint(key, bad).starts_with("here: t = " + bad + " is not a duration; allowed: hh:mm:ss")) << bad;
  EXPECT_EQ(number_of(key, "01:02:03"), 3723.0);
}

TEST(Key, BooleansAndChoices) {
  const Key yes{.name = "b", .type = Type::boolean},
      choice{.name = "c", .type = Type::choice, .choices = {"one", "two"}};
  for (const char* word : {"true", "yes", "on", "1"}) EXPECT_EQ(canonical(yes, word, ""), "true");
  for (const char* word : {"false", "no", "off", "0"}) EXPECT_EQ(canonical(yes, word, ""), "false");
  EXPECT_EQ(complaint(yes, "2"), "here: b = 2 is neither true nor false; allowed: true or false");
  EXPECT_EQ(canonical(choice, "two", ""), "two");
  EXPECT_EQ(complaint(choice, "tow"), "here: c = tow is unknown; allowed: one, two (did you mean 'two'?)");
}

}  // namespace
}  // namespace dodyn::test_key
