// Settings: accepted values and their output, precedence of sources, and the one line for each mistake.
#include "settings/settings.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>

#include "evaluators/evaluator.hpp"
#include "surrogate/strategy_options.hpp"
#include "tests/directory.hpp"
#include "tests/message_of.hpp"

namespace dodyn::evaluators::test_settings {
namespace {

const std::vector<EvaluatorKind>& kinds() {
  static const std::vector<EvaluatorKind> all = {
      {"walk",
       "a kind with a bit of everything",
       always({{"knee", "m", "thigh length", 0.5, 0.01, 0.99}, {"mass", "kg", "of the trunk", 10, 0, 100}}),
       {{.name = "walk.step-length",
         .default_value = "0.56",
         .unit = "m",
         .description = "length of a step",
         .minimum = 0,
         .maximum = 2,
         .open_minimum = true},
        {.name = "walk.intervals", .type = Type::integer, .default_value = "80", .minimum = 2, .maximum = 1000},
        {.name = "walk.free-knees", .type = Type::boolean, .default_value = "yes"},
        {.name = "walk.cost", .type = Type::choice, .default_value = "work", .choices = {"work", "squared-torque"}},
        {.name = "walk.offset", .default_value = "0"}}},
      {"swim",
       "another kind",
       always({{"fin", "m", "length of a fin", 0.1, 0, 1}, {"gears", "1", "of the motor", 1, 0, 5}}),
       {{.name = "swim.depth"}}}};
  return all;
}

class SettingsTest : public ::testing::Test {
 protected:
  Settings read(const std::string& text, const std::vector<std::string>& words = {}) {
    std::ofstream(path) << text;
    return dodyn::read_settings(path, words, kinds(), surrogate::strategy_keys());
  }
  // The message, with the path cut to the file's name.
  std::string complaint(const std::string& text, const std::vector<std::string>& words = {}) {
    try {
      read(text, words);
    } catch (const ConfigError& error) {
      std::string message = error.what();
      for (std::size_t at; (at = message.find(path)) != std::string::npos;)
        message.replace(at, path.size(), "knee.cfg");
      return message;
    }
    return "accepted";
  }
  static const Setting& setting(const Settings& settings, const std::string& key) {
    for (const auto& one : settings.all)
      if (one.key.name == key) return one;
    throw std::out_of_range(key);
  }
  const Directory own;
  const std::string directory = own.path.string();
  const std::string path = directory + "/knee.cfg";
  const std::string walk = "[study]\nevaluator = walk\n";
};

TEST_F(SettingsTest, DefaultsAreComplete) {
  const Settings settings = read(walk);
  EXPECT_EQ(settings.evaluator, "walk");
  EXPECT_TRUE(settings.variables.empty());
  EXPECT_EQ(settings.text("study.archive"), "knee.h5");
  EXPECT_EQ(settings.integer("study.max-evaluations"), 40);
  EXPECT_EQ(settings.real("walk.step-length"), 0.56);
  EXPECT_TRUE(settings.boolean("walk.free-knees"));
  EXPECT_EQ(settings.text("walk.cost"), "work");
  EXPECT_EQ(settings.design("knee", {}), 0.5);
  EXPECT_EQ(setting(settings, "walk.cost").source, "default");
  EXPECT_EQ(setting(settings, "study.evaluator").source, path + ":2");
  EXPECT_THROW(settings.real("walk.nothing"), std::logic_error);
}

TEST_F(SettingsTest, FileSyntax) {
  const Settings settings = read(
      "# a comment\n\n[study]\r\n  evaluator=walk # the kind\n[walk]\nstep-length =  0.6\n"
      "free-knees = off\n[design]\nknee.min = 0.2\nknee.max = 0.5\n");
  EXPECT_EQ(settings.real("walk.step-length"), 0.6);
  EXPECT_FALSE(settings.boolean("walk.free-knees"));
  ASSERT_EQ(settings.variables.size(), 1u);
  EXPECT_EQ(settings.variables[0].name, "knee");
  EXPECT_EQ(settings.variables[0].unit, "m");
  EXPECT_EQ(settings.variables[0].lower, 0.2);
  EXPECT_EQ(settings.variables[0].upper, 0.5);
  EXPECT_EQ(settings.design("knee", Eigen::VectorXd::Constant(1, 0.33)), 0.33);
  EXPECT_EQ(settings.design("mass", Eigen::VectorXd::Constant(1, 0.33)), 10);
  EXPECT_EQ(setting(settings, "walk.step-length").source, path + ":6");
}

TEST_F(SettingsTest, AVariableIsOneOfAList) {
  const std::string design = "[study]\nevaluator = swim\n[swim]\ndepth = 1\n[design]\n";
  const Settings numbers = read(design + "fin = 0.4, 0.2, 0.3\n"), names = read(design + "gears = low, high\n");
  ASSERT_EQ(numbers.variables.size(), 1u);
  EXPECT_EQ(numbers.variables[0].lower, 0.2);
  EXPECT_EQ(numbers.variables[0].upper, 0.4);
  EXPECT_EQ(setting(numbers, "design.fin").value, "0.2, 0.3, 0.4");
  ASSERT_EQ(names.variables.size(), 1u);
  EXPECT_EQ(names.variables[0].upper, 1);
  EXPECT_EQ(names.variables[0].choices, (std::vector<std::string>{"low", "high"}));
  for (const auto& [entry, refusal] : std::vector<std::pair<std::string, std::string>>{
           {"fin = low, high", "names need a variable without a unit; allowed: "},
           {"gears = low, high, low", "a name is given twice"},
           {"gears = low, so so", "'so so' is not a name; allowed: letters, digits, _, - and dots"},
           {"gears = a, b, c, d, e, f, g", "names stand for the numbers 0, 1, ..., which are out of range; allowed: "},
           {"fin = 0.2, 0.3, 0.2", "a value is given twice"}})
    EXPECT_EQ(complaint(design + entry).find("knee.cfg:6: design." + entry + ": " + refusal), 0u)
        << complaint(design + entry);
}

TEST_F(SettingsTest, ValuesAreCanonical) {
  for (const auto& [given, canonical] : std::vector<std::pair<std::string, std::string>>{
           {"0.10", "0.1"}, {"1e0", "1"}, {"+0.5", "0.5"}, {".25", "0.25"}, {"0.1000000000000000055", "0.1"}})
    EXPECT_EQ(setting(read(walk + "[walk]\nstep-length = " + given), "walk.step-length").value, canonical);
  for (const auto& yes : {"true", "yes", "on", "1"})
    EXPECT_EQ(setting(read(walk + "[walk]\nfree-knees = " + yes), "walk.free-knees").value, "true");
  for (const auto& no : {"false", "no", "off", "0"})
    EXPECT_EQ(setting(read(walk + "[walk]\nfree-knees = " + no), "walk.free-knees").value, "false");
  EXPECT_EQ(setting(read(walk + "[walk]\nintervals = +040"), "walk.intervals").value, "40");
  for (const double value : {0.1, 1.0 / 3, 1e-300, -2.5e17}) EXPECT_EQ(std::stod(to_text(value)), value);
}

TEST_F(SettingsTest, NumbersMayHaveUnits) {
  const auto step = [&](const std::string& text) {
    return setting(read(walk + "[walk]\nstep-length = " + text), "walk.step-length").value;
  };
  EXPECT_EQ(step("500 mm"), "0.5");
  EXPECT_EQ(step("50cm"), "0.5");
  EXPECT_EQ(step("+0.5 m"), "0.5");
  EXPECT_EQ(step("2*(1 - 3/4)"), "0.5");
  EXPECT_EQ(step("0.2 + 30 cm"), "0.5");
  for (const std::string bad : {"0.5 kg", "0.5 m2", "1 rad", "knee", "0.5 < 1", "1/0", "0.5 furlongs", "(1", "3 m"})
    EXPECT_NE(complaint(walk + "[walk]\nstep-length = " + bad).find("; allowed: a number in (0, 2] m"),
              std::string::npos)
        << bad;
  EXPECT_EQ(read(walk + "[design]\nknee.min = 100 mm\nknee.max = 2*25 cm\n").variables.at(0).upper, 0.5);

  // A unit of the key that is not SI: what has none is in it.
  Key angle{.name = "tilt", .unit = "deg", .minimum = -180, .maximum = 180};
  EXPECT_EQ(canonical(angle, "25", "x"), "25");
  EXPECT_EQ(canonical(angle, "50/2", "x"), "25");
  EXPECT_EQ(canonical(angle, "25 deg", "x"), "25");
  EXPECT_NEAR(number_of(angle, canonical(angle, "0.5 rad", "x")), 28.6478897565, 1e-9);
  EXPECT_NEAR(number_of(angle, canonical(angle, "pi/4*1 rad", "x")), 45, 1e-12);

  // The dimension must agree, whatever the unit: "N m" is "J", and nothing else is like it.
  const std::vector<std::pair<std::string, std::string>> units = {
      {"N m", "J"}, {"1/(N m s)", "1/(J s)"}, {"kg/m3", "g/cm3"}, {"m/s2", "mm/ms2"}, {"N m/rad", "N m/deg"}};
  for (const auto& [unit, like] : units)
    for (const auto& [other, again] : units) {
      const Key key{.name = "x", .unit = unit};
      const bool same = unit == other || (unit == "N m/rad" && other == "N m");  // a radian may be left out
      for (const auto& text : {other, again})
        EXPECT_EQ(
            [&] {
              try {
                canonical(key, "2 " + text, "here");
                return true;
              } catch (const ConfigError&) {
                return false;
              }
            }(),
            same)
            << unit << ", " << text;
    }
  EXPECT_NEAR(number_of({.name = "x", .unit = "kg/m3"}, canonical({.name = "x", .unit = "kg/m3"}, "2.7 g/cm3", "")),
              2700, 1e-9);
}

TEST_F(SettingsTest, DurationsMayHaveUnits) {
  for (const auto& [given, canonical] : std::vector<std::pair<std::string, std::string>>{{"5s", "00:00:05"},
                                                                                         {"90", "00:01:30"},
                                                                                         {"15 min", "00:15:00"},
                                                                                         {"2 h", "02:00:00"},
                                                                                         {"1:30", "00:01:30"},
                                                                                         {"none", "none"},
                                                                                         {"0", "none"}})
    EXPECT_EQ(setting(read(walk + "wall-time = " + given), "study.wall-time").value, canonical) << given;
  for (const std::string bad : {"5 m", "-1", "1:60", "1:2:3:4", ":", "1.5", "soon"})
    EXPECT_EQ(complaint(walk + "wall-time = " + bad),
              "knee.cfg:3: study.wall-time = " + bad +
                  " is not a duration; allowed: hh:mm:ss, mm:ss, seconds, or with a unit as 15 min, or none; 0: none");
  EXPECT_EQ(read(walk, {"--wall-time", "2 min"}).real("study.wall-time"), 120);
}

// "none" is the value for no limit. In older files and archives 0 has the same meaning.
TEST_F(SettingsTest, NoneIsAWord) {
  const Settings none = read(walk + "time-limit = 0");
  EXPECT_EQ(none.text("study.time-limit"), "none");
  EXPECT_TRUE(std::isinf(none.real("study.time-limit")));
  EXPECT_TRUE(std::isinf(read(walk + "time-limit = none").real("study.time-limit")));
  EXPECT_EQ(read(walk + "time-limit = 2").real("study.time-limit"), 2);
  auto archived = none.configuration();
  for (auto& [key, value] : archived)
    if (value == "none") value = "0";
  EXPECT_EQ(differences(none, archived), "");
}

// Design variables that a model names (here the letters of walk.model), some of them formulas.
TEST_F(SettingsTest, VariablesMayDependOnOtherSettings) {
  auto kind = kinds()[0];
  kind.keys.push_back({.name = "walk.model", .type = Type::path, .default_value = "ab"});
  kind.variables = [](const Settings& so_far) {
    std::vector<DesignVariable> variables;
    for (const char letter : so_far.text("walk.model"))
      variables.push_back({std::string(1, letter), "m", "", 0.5, 0, 1, letter == 'c' ? "1 - a" : ""});
    return variables;
  };
  const auto read_with = [&](const std::string& text, const std::vector<std::string>& words = {}) {
    std::ofstream(path) << walk << text;
    return dodyn::read_settings(path, words, {kind}, surrogate::strategy_keys());
  };
  EXPECT_EQ(read_with("").design("b", {}), 0.5);
  const Settings settings = read_with("[walk]\nmodel = abc\n[design]\na.min = 0\na.max = 1\nb = 20 cm\n");
  EXPECT_EQ(settings.design("b", Eigen::VectorXd::Constant(1, 0.7)), 0.2);
  EXPECT_EQ(settings.design("a", Eigen::VectorXd::Constant(1, 0.7)), 0.7);
  EXPECT_EQ(settings.text("design.c"), "1 - a");
  EXPECT_FALSE(settings.design_given("c"));
  EXPECT_TRUE(settings.design_given("a"));
  EXPECT_EQ(read_with("", {"--walk.model", "bc", "--design.c", "0.25"}).design("c", {}), 0.25);
  EXPECT_THROW(read_with("", {"--design.c", "0.25"}), ConfigError);
  EXPECT_EQ(differences(settings, settings.configuration()), "");
  auto before = settings.configuration();
  before.emplace_back("surrogate.kernel", "matern52");  // removed since, and as it was by default
  EXPECT_EQ(differences(settings, before), "");
  before.back().second = "matern32";
  EXPECT_EQ(differences(settings, before), "surrogate.kernel: matern32 / none (archive / now)");
  before.back() = {"gait.leg-radius-from", "0"};
  EXPECT_EQ(differences(settings, before), "");
  before.back() = {"simulation.resting-contact", "2"};
  EXPECT_EQ(differences(settings, before), "");
}

TEST_F(SettingsTest, AnErrorOfADefaultSaysSo) {
  const Settings settings = read(walk);
  EXPECT_EQ(std::string(settings.error("study.seed", "why").what()),
            settings.file + ": study.seed (its default) = " + settings.text("study.seed") + ": why");
}

// If the command line fixes a variable, its range in the file is still known, if it is valid.
TEST_F(SettingsTest, OverruledRanges) {
  const std::vector<std::string> fixed = {"--design.knee", "0.4"};
  const Settings settings = read(walk + "[design]\nknee.min = 0.2\nknee.max = 0.5\n", fixed);
  EXPECT_TRUE(settings.variables.empty());
  ASSERT_EQ(settings.overruled.size(), 1u);
  EXPECT_EQ(settings.overruled[0].lower, 0.2);
  for (const std::string range : {"knee.max = 0.5", "knee.min = 0.5\nknee.max = 0.2", "knee.min = 7\nknee.max = 8",
                                  "knee.min = 0.4\nknee.max = 0.4", ""})
    EXPECT_TRUE(read(walk + "[design]\n" + range, fixed).overruled.empty()) << range;
}

// Sections that the evaluator reads itself.
class FreeSections : public SettingsTest {
 protected:
  FreeSections() {
    using Name = ini::SectionKind::Name;
    all[0].sections = {
        {.kind = "phase", .name = Name::required, .keys = {"fixed", "intervals", "duration"}, .may_be_empty = true},
        {.kind = "initial-state", .any_key = true},
        {.kind = "situation", .name = Name::required, .any_key = true, .may_be_empty = true}};
  }
  Settings read(const std::string& text, const std::vector<std::string>& words = {}) {
    std::ofstream(path) << walk << text;
    return dodyn::read_settings(path, words, all, surrogate::strategy_keys());
  }
  std::string complaint(const std::string& text, const std::vector<std::string>& words = {}) {
    try {
      read(text, words);
    } catch (const ConfigError& error) {
      std::string message = error.what();
      for (std::size_t at; (at = message.find(path)) != std::string::npos;) message.replace(at, path.size(), "f");
      return message;
    }
    return "accepted";
  }
  std::vector<EvaluatorKind> all = kinds();
  const std::string motion =
      "[phase stance]\nfixed = foot\nintervals = 30\n[initial-state]\nrate(theta) = 1.3\n[phase low flight]\n"
      "[walk]\nintervals = 7\n[situation nominal]\n";
};

TEST_F(FreeSections, AreHandedOutInTheirOrder) {
  const Settings settings = read(motion);
  ASSERT_EQ(settings.sections.size(), 4u);
  EXPECT_EQ(settings.sections[0].title(), "[phase stance]");
  EXPECT_EQ(settings.sections[0].source, path + ":3");
  EXPECT_EQ(settings.sections[0].find("intervals")->source, path + ":5");
  EXPECT_EQ(settings.sections[1].find("rate(theta)")->value, "1.3");
  EXPECT_EQ(settings.sections[2].name, "low flight");
  EXPECT_TRUE(settings.sections[3].entries.empty());
  EXPECT_EQ(settings.sections_of("phase").size(), 2u);
  EXPECT_EQ(settings.integer("walk.intervals"), 7);

  const Key intervals{.name = "intervals", .type = Type::integer, .default_value = "20", .minimum = 1};
  const Key duration{.name = "duration", .unit = "s"};
  EXPECT_EQ(settings.sections[0].integer(intervals), 30);
  EXPECT_EQ(settings.sections[2].integer(intervals), 20);
  EXPECT_THROW(settings.sections[0].real(duration), ConfigError);
}

TEST_F(FreeSections, CommandLineOverrides) {
  const Settings settings = read(motion, {"--phase.stance.intervals", "40", "--phase.low flight.duration=0.1 .. 0.2",
                                          "--initial-state.foot.x", "-1", "--situation.nominal.friction", "0.2"});
  EXPECT_EQ(settings.sections[0].find("intervals")->value, "40");
  EXPECT_EQ(settings.sections[0].find("intervals")->source, "command line");
  EXPECT_EQ(settings.sections[0].find("fixed")->value, "foot");
  EXPECT_EQ(settings.sections[2].find("duration")->value, "0.1 .. 0.2");
  EXPECT_EQ(settings.sections[1].find("foot.x")->value, "-1");
  EXPECT_STREQ(settings.sections[1].find("foot.x")->error("why").what(),
               "command line: initial-state.foot.x = -1: why");
  const Key intervals{.name = "intervals", .type = Type::integer, .maximum = 30};
  const std::string line = message_of<ConfigError>([&] { settings.sections[0].integer(intervals); });
  EXPECT_TRUE(line.starts_with("command line: phase.stance.intervals = 40 is out of range")) << line;
  EXPECT_EQ(settings.sections[3].find("friction")->value, "0.2");
  EXPECT_EQ(read("", {"--initial-state.x", "1"}).sections.at(0).find("x")->value, "1");
}

TEST_F(FreeSections, AreTheStudysIdentity) {
  const auto archived = read(motion).configuration();
  EXPECT_EQ(differences(read(motion), archived), "");
  EXPECT_EQ(differences(read(motion, {"--phase.stance.intervals", "40"}), archived),
            "phase.stance.intervals: 30 / 40 (archive / now)");
  EXPECT_EQ(differences(read(motion, {"--initial-state.x", "1"}), archived),
            "initial-state.x: none / 1 (archive / now)");
  EXPECT_EQ(differences(read(motion + "[situation rough]\n"), archived),
            "sections: [phase stance] [initial-state] [phase low flight] [situation nominal] / [phase stance] "
            "[initial-state] [phase "
            "low flight] [situation nominal] [situation rough] (archive / now)");
  EXPECT_EQ(differences(read("[walk]\nintervals = 7\n[phase stance]\nfixed = foot\nintervals = 30\n"), archived),
            "sections: [phase stance] [initial-state] [phase low flight] [situation nominal] / [phase stance], "
            "initial-state.rate(theta): 1.3 / none (archive / now)");
}

TEST_F(FreeSections, EachMistakeGetsItsLine) {
  EXPECT_EQ(complaint("[phsae stance]"),
            "f:3: unknown section [phsae stance] (did you mean 'phase'?); allowed: study, surrogate, design, walk, "
            "phase, initial-state, situation, scenario");
  EXPECT_EQ(complaint("[phase]"), "f:3: [phase] has no name; allowed: [phase NAME]");
  EXPECT_EQ(complaint("[initial-state x]"), "f:3: [initial-state x] has a name; allowed: [initial-state]");
  EXPECT_EQ(complaint("[phase a]\n[phase a]"), "f:4: [phase a] is given twice (already at line 3)");
  EXPECT_EQ(
      complaint("[phase a]\nintervalls = 3"),
      "f:4: unknown key 'intervalls' in [phase] (did you mean 'intervals'?); allowed: fixed, intervals, duration");
  EXPECT_EQ(complaint("[phase a]\nfixed ="), "f:4: fixed has no value; allowed: key = value");
  EXPECT_EQ(complaint("[initial-state]"), "f:3: [initial-state] has no entries; give one, or leave the section out");
  EXPECT_EQ(complaint(motion, {"--phase.stnace.intervals", "3"}),
            "command line: --phase.stnace.intervals: no section [phase stnace] (did you mean 'stance'?); there are: "
            "stance, low flight");
  EXPECT_EQ(complaint(motion, {"--phase.stance.intervalls", "3"}),
            "command line: --phase.stance.intervalls: unknown key 'intervalls' (did you mean 'intervals'?); allowed: "
            "fixed, intervals, duration");
  EXPECT_EQ(complaint(motion, {"--phase.stance.fixed"}), "command line: --phase.stance.fixed: has no value");
  EXPECT_EQ(complaint("", {"--phase.stance.fixed", "x"}),
            "command line: --phase.stance.fixed: no section [phase NAME] in f");
  EXPECT_EQ(complaint(motion, {"--initial-state.x", "1", "--initial-state.x=2"}),
            "command line: --initial-state.x: is given twice");
  all[0].name = "run", all[0].keys.clear();
  std::ofstream(path) << "[study]\nevaluator = swim\n[swim]\ndepth = 1\n[phase stance]\n";
  EXPECT_THROW(dodyn::read_settings(path, {}, all, surrogate::strategy_keys()), ConfigError);
}

// [scenario NAME]: the study's settings, with those of the scenario in their place.
class ScenariosTest : public FreeSections {
 protected:
  const std::string text =
      "[design]\nknee.min = 0.2\nknee.max = 0.7\nmass = 20\n[walk]\nstep-length = 0.5\n[initial-state]\nx = 1\n"
      "[scenario slow]\nstep-length = 40 cm\n"
      "[scenario heavy]\nweight = 3\nreference = 0.5\nmass = 30\ninitial-state.x = 2\nwalk.intervals = 40\n";
};

TEST_F(ScenariosTest, AreTheStudyButForWhatTheySay) {
  const Settings study = read(text);
  EXPECT_EQ(study.real("walk.step-length"), 0.5);
  EXPECT_EQ(study.sections_of("initial-state")[0]->find("x")->value, "1");
  ASSERT_EQ(study.scenarios.size(), 2u);
  const auto& [slow, heavy] = std::tie(study.scenarios[0], study.scenarios[1]);
  EXPECT_EQ(slow.name, "slow");
  EXPECT_EQ(slow.weight, 1.0);
  EXPECT_EQ(slow.reference, 1.0);
  EXPECT_EQ(slow.settings.real("walk.step-length"), 0.4);
  EXPECT_EQ(slow.settings.design("mass", Eigen::VectorXd::Constant(1, 0.3)), 20.0);
  EXPECT_EQ(heavy.weight, 3.0);
  EXPECT_EQ(heavy.reference, 0.5);
  EXPECT_EQ(heavy.settings.real("walk.step-length"), 0.5);
  EXPECT_EQ(heavy.settings.integer("walk.intervals"), 40);
  EXPECT_EQ(heavy.settings.design("mass", Eigen::VectorXd::Constant(1, 0.3)), 30.0);
  EXPECT_TRUE(heavy.settings.design_given("mass"));
  EXPECT_EQ(heavy.settings.sections_of("initial-state")[0]->find("x")->value, "2");
  EXPECT_TRUE(heavy.settings.sections_of("scenario").empty());
  for (const Scenario& one : study.scenarios) {
    EXPECT_TRUE(one.settings.scenarios.empty());
    ASSERT_EQ(one.settings.variables.size(), 1u);
    EXPECT_EQ(one.settings.variables[0].lower, 0.2);
  }
  EXPECT_TRUE(read("").scenarios.empty());
}

// A scenario's entry wins over a setting of the whole study on the command line. The command line can also set entries
// of a scenario.
TEST_F(ScenariosTest, TheCommandLineSpeaksOfTheStudyOrOfOne) {
  const Settings study =
      read(text, {"--walk.step-length", "0.6", "--scenario.heavy.mass", "31", "--walk.cost", "work"});
  EXPECT_EQ(study.scenarios[0].settings.real("walk.step-length"), 0.4);
  EXPECT_EQ(study.scenarios[1].settings.real("walk.step-length"), 0.6);
  EXPECT_EQ(study.scenarios[1].settings.design("mass", Eigen::VectorXd::Constant(1, 0.3)), 31.0);
  EXPECT_EQ(study.scenarios[1].settings.text("walk.cost"), "work");
  const Settings one = read(text, {"--study.scenarios", "heavy"});
  ASSERT_EQ(one.scenarios.size(), 1u);
  EXPECT_EQ(one.scenarios[0].name, "heavy");
  EXPECT_EQ(read(text, {"--study.scenarios", "heavy, slow"}).scenarios[0].name, "slow");
  // fixed for `dodyn solve`
  EXPECT_TRUE(read(text, {"--design.knee", "0.4"}).scenarios[0].settings.variables.empty());
}

TEST_F(ScenariosTest, AreTheStudysIdentity) {
  const auto archived = read(text).configuration();
  EXPECT_EQ(differences(read(text), archived), "");
  EXPECT_EQ(differences(read(text, {"--scenario.heavy.weight", "4"}), archived),
            "scenario.heavy.weight: 3 / 4 (archive / now)");
  EXPECT_EQ(differences(read(text, {"--study.scenario-aggregate", "worst"}), archived),
            "study.scenario-aggregate: mean / worst (archive / now)");
  EXPECT_EQ(differences(read(text, {"--study.scenarios", "slow"}), archived),
            "study.scenarios: none / slow (archive / now)");
}

TEST_F(ScenariosTest, EachMistakeGetsItsLine) {
  const std::string at = "f:" + std::to_string(3 + std::count(text.begin(), text.end(), '\n'));
  const auto more = [&](const std::string& entry) { return complaint(text + entry); };
  EXPECT_EQ(more("stepp-length = 1"), at + ": unknown key 'stepp-length' in [scenario heavy] (did you mean "
                                           "'step-length'?); allowed: weight, reference, step-length, intervals, "
                                           "free-knees, cost, offset, knee, mass");
  EXPECT_EQ(more("walk.step = 1"), at + ": unknown key 'walk.step' (did you mean 'walk.step-length'?)");
  EXPECT_EQ(more("design.mas = 1"),
            at + ": unknown key 'design.mas' (did you mean 'design.mass'?); variables: knee, mass");
  EXPECT_EQ(more("intervals = 3"), at + ": walk.intervals is given twice (already at f:" + std::to_string(18) + ")");
  EXPECT_EQ(more("step-length = 3"), at + ": walk.step-length = 3 is out of range; allowed: a number in (0, 2] m");
  EXPECT_EQ(more("knee = 0.3"),
            at + ": knee in [scenario heavy]: design.knee is free in this study, so it is the same in all scenarios");
  EXPECT_EQ(more("design.mass.min = 3"),
            at + ": design.mass.min in [scenario heavy]: a scenario gives values; free a variable in [design]");
  EXPECT_EQ(more("study.seed = 2"),
            at + ": study.seed in [scenario heavy] is a key of the whole study; a scenario sets keys and "
                 "sections of the evaluator walk, and values of [design]");
  EXPECT_EQ(more("[scenario slow]"), at + ": [scenario slow] is given twice (already at line 11)");
  EXPECT_EQ(more("[scenario]"), at + ": [scenario] has no name; allowed: [scenario NAME]");
  EXPECT_EQ(more("[scenario very slow]"),
            at + ": [scenario very slow]: has other characters in its name; allowed: letters, digits, - and _");
  for (const std::string wrong : {"0", "-1"}) {
    const std::string line = "f:" + std::to_string(4 + std::count(text.begin(), text.end(), '\n'));
    EXPECT_EQ(more("[scenario s]\nweight = " + wrong),
              line + ": weight = " + wrong + " is out of range; allowed: a number > 0");
    EXPECT_EQ(more("[scenario s]\nreference = " + wrong),
              line + ": reference = " + wrong + " is out of range; allowed: a number > 0");
  }
  EXPECT_EQ(complaint(text, {"--scenario.hevy.mass", "1"}),
            "command line: --scenario.hevy.mass: no section [scenario hevy] (did you mean 'heavy'?); there are: slow, "
            "heavy");
  EXPECT_EQ(complaint(text, {"--scenario.heavy.mas", "1"}),
            "command line: unknown key 'mas' in [scenario heavy] (did you mean 'mass'?); allowed: weight, reference, "
            "step-length, intervals, free-knees, cost, offset, knee, mass");
  EXPECT_EQ(complaint(text, {"--study.scenarios", "slow, hevy"}),
            "command line: study.scenarios = slow, hevy: no [scenario hevy] (did you mean 'heavy'?); there are: slow, "
            "heavy");
  EXPECT_EQ(complaint("", {"--study.scenario-aggregate", "worst"}),
            "command line: study.scenario-aggregate = worst: has no effect without [scenario NAME]; add a scenario, or "
            "remove it");
}

// Strategies have their own keys and defaults; some keys have the same name.
TEST_F(SettingsTest, StrategiesHaveKeys) {
  const auto value = [&](const std::string& text, const std::string& key, const std::vector<std::string>& words = {}) {
    return setting(read(walk + "[surrogate]\n" + text, words), key);
  };
  EXPECT_EQ(value("strategy = spline", "surrogate.initial-samples").value, "3");
  EXPECT_EQ(value("strategy = ego", "surrogate.initial-samples").value, "automatic");
  EXPECT_EQ(value("strategy = ego\ninitial-samples = 0", "surrogate.initial-samples").value, "automatic");
  EXPECT_THROW(value("strategy = sweep", "surrogate.initial-samples"), std::out_of_range);
  // A file may serve several strategies; what is not used is read all the same.
  EXPECT_EQ(value("points = 9", "surrogate.points").note, "not used by auto");
  EXPECT_EQ(value("points = 9", "surrogate.points", {"--strategy", "sweep"}).note, "");
  const std::string front = "surrogate.front-tolerance";
  EXPECT_EQ(value("front-tolerance = 1e-3", front).note, "not used: there is one objective");
  EXPECT_EQ(value("front-tolerance = 1e-3\nobjectives = cost", front).note, "not used: there is one objective");
  EXPECT_EQ(value("front-tolerance = 1e-3\nobjectives = cost, speed", front).note, "");
  EXPECT_EQ(complaint(walk, {"--study.memory-limit", "100"}),
            "command line: study.memory-limit = 100: has no effect without study.isolate = process; add it, or remove "
            "the limit");
  EXPECT_EQ(
      setting(read(walk, {"--study.memory-limit", "100", "--study.isolate", "process"}), "study.memory-limit").value,
      "100");
  EXPECT_EQ(complaint(walk + "[surrogate]\npoints = no"),
            "knee.cfg:4: surrogate.points = no is not an integer; allowed: an integer >= 1");
  EXPECT_EQ(complaint(walk, {"--surrogate.points", "9"}),
            "command line: surrogate.points belongs to sweep; this study's strategy is auto");
  EXPECT_EQ(complaint(walk + "[surrogate]\npiont = 9"),
            "knee.cfg:4: unknown key 'surrogate.piont' (did you mean 'surrogate.points'?)");
  // An archive that was written with another default belongs to another study.
  const Settings ego = read(walk + "[surrogate]\nstrategy = ego\npoints = 9\n");
  auto other = ego.configuration();
  EXPECT_EQ(differences(ego, other), "");
  for (auto& [key, text] : other)
    if (key == "surrogate.initial-samples") text = "3";
  EXPECT_EQ(differences(ego, other), "surrogate.initial-samples: 3 / automatic (archive / now)");
}

enum class Colour { red, green };
struct Options {
  double angle = 0.5235987755982988;  // rad
  double limit = std::numeric_limits<double>::infinity();
  double wait = 90;
  int count = 4;
  int mesh = 0;
  bool quick = true;
  std::string name = "a";
  Colour colour = Colour::green;
  std::vector<int> points = {5};
};
struct Whole {
  Options options;
};

// The default of a key is the value in the struct. Reading the defaults gives the struct again.
TEST(KeyTable, BindsKeysToMembers) {
  const auto table =
      KeyTable<Options>("walk.")
          .add("angle", &Options::angle, {.unit = "deg", .minimum = 0, .maximum = 90})
          .add("limit", &Options::limit,
               {.unit = "N m", .minimum = 0, .word = "none", .named_number = std::numeric_limits<double>::infinity()})
          .add("wait", &Options::wait, {.type = Type::duration})
          .add("count", &Options::count, {.minimum = 1})
          .add("mesh", &Options::mesh, {.minimum = 2, .word = "automatic", .zero_means_named = true})
          .add("quick", &Options::quick, {})
          .add("name", &Options::name, {})
          .add("colour", &Options::colour, {{"red", Colour::red}, {"green", Colour::green}}, {})
          .add("points", [](Options& o) -> int& { return o.points.front(); }, {});
  std::vector<std::string> defaults;
  for (const auto& key : table.keys()) defaults.push_back(key.default_value);
  EXPECT_EQ(defaults, (std::vector<std::string>{"30", "none", "90", "4", "automatic", "true", "a", "green", "5"}));

  std::vector<EvaluatorKind> all = {{.name = "walk", .description = "", .variables = always({}), .keys = table.keys()}};
  const std::string path = ::testing::TempDir() + "dodyn-table.cfg";
  const auto read = [&](const std::string& text) {
    std::ofstream(path) << "[study]\nevaluator = walk\n[walk]\n" << text;
    const Settings settings = dodyn::read_settings(path, {}, all, surrogate::strategy_keys());
    EXPECT_EQ(table.within(&Whole::options).read(settings).options.angle, table.read(settings).angle);
    return table.read(settings);
  };
  const Options same = read("");
  EXPECT_NEAR(same.angle, Options().angle, 1e-15);
  EXPECT_TRUE(std::isinf(same.limit));
  EXPECT_EQ(same.wait, 90);
  EXPECT_EQ(same.count, 4);
  EXPECT_EQ(same.mesh, 0);
  EXPECT_TRUE(same.quick);
  EXPECT_EQ(same.name, "a");
  EXPECT_EQ(same.colour, Colour::green);
  EXPECT_EQ(same.points, std::vector<int>{5});
  const Options other = read(
      "angle = 1 rad\nlimit = 5\nwait = 2 min\ncount = 7\nmesh = 40\nquick = no\nname = b c\ncolour = red\n"
      "points = 6\n");
  EXPECT_NEAR(other.angle, 1, 1e-15);
  EXPECT_EQ(other.limit, 5);
  EXPECT_EQ(other.wait, 120);
  EXPECT_EQ(other.count, 7);
  EXPECT_EQ(other.mesh, 40);
  EXPECT_FALSE(other.quick);
  EXPECT_EQ(other.name, "b c");
  EXPECT_EQ(other.colour, Colour::red);
  EXPECT_EQ(other.points, std::vector<int>{6});

  // and from a section that an evaluator reads itself
  const auto own = KeyTable<Options>("").add("count", &Options::count, {.minimum = 1});
  EXPECT_EQ(own.read(CustomSection{"phase", "a", "f:1", {{"count", "9", "f:2"}}}).count, 9);
  EXPECT_EQ(own.read(CustomSection{"phase", "a", "f:1", {}}).count, 4);
  EXPECT_THROW(own.read(CustomSection{"phase", "a", "f:1", {{"count", "0", "f:2"}}}), ConfigError);
  std::filesystem::remove(path);
}

// A file that a configuration names is searched next to the configuration, then in the working directory.
TEST_F(SettingsTest, PathsAreRelativeToTheConfiguration) {
  auto all = kinds();
  all[0].keys.push_back({.name = "walk.model", .type = Type::path, .default_value = "built-in"});
  const auto file = [&](const std::string& text, const std::vector<std::string>& words = {}) {
    std::ofstream(path) << walk << text;
    const Settings settings = dodyn::read_settings(path, words, all, surrogate::strategy_keys());
    return std::pair(settings.path("walk.model"), setting(settings, "walk.model").note);
  };
  const std::string name = "dodyn-settings-a.model", named = "[walk]\nmodel = " + name;
  const auto here = std::filesystem::current_path();
  std::filesystem::current_path(::testing::TempDir());
  EXPECT_EQ(file(named), std::pair(name, std::string()));
  std::ofstream{name} << "here";
  EXPECT_EQ(file(named), std::pair(name, "file " + name));
  std::ofstream(directory + "/" + name) << "beside";
  EXPECT_EQ(file(named), std::pair(directory + "/" + name, "file " + directory + "/" + name));
  EXPECT_EQ(file(named, {"--walk.model", name}).first, name);
  EXPECT_EQ(file("[walk]\nmodel = /nowhere/a").first, "/nowhere/a");
  EXPECT_EQ(file("").first, "built-in");
  // An archive's study is the same where the file has moved, and another where its name differs.
  const auto read_named = [&](const std::string& value) {
    std::ofstream(path) << walk << "[walk]\nmodel = " << value;
    return dodyn::read_settings(path, {}, all, surrogate::strategy_keys());
  };
  EXPECT_EQ(differences(read_named(name), read_named("configs/" + name).configuration()), "");
  EXPECT_NE(differences(read_named(name), read_named("configs/other.model").configuration()), "");
  std::filesystem::remove(name);
  std::filesystem::current_path(here);
}

TEST_F(SettingsTest, CommandLineWins) {
  const std::string text = walk + "[walk]\nstep-length = 0.6\n[design]\nknee.min = 0.2\nknee.max = 0.5\n";
  const Settings settings = read(
      text, {"--walk.step-length", "0.7", "--design.knee.min=0.35", "--walk.offset", "-1.5", "--strategy", "sweep"});
  EXPECT_EQ(settings.real("walk.step-length"), 0.7);
  EXPECT_EQ(setting(settings, "walk.step-length").source, "command line");
  EXPECT_EQ(settings.variables.at(0).lower, 0.35);
  EXPECT_EQ(settings.variables.at(0).upper, 0.5);
  EXPECT_EQ(settings.real("walk.offset"), -1.5);
  EXPECT_EQ(settings.text("surrogate.strategy"), "sweep");
  EXPECT_EQ(read(text, {"--walk.offset=-2"}).real("walk.offset"), -2);

  // A value on the command line fixes a variable that the file frees, and vice versa.
  const Settings fixed = read(text, {"--design.knee", "0.62"});
  EXPECT_TRUE(fixed.variables.empty());
  EXPECT_EQ(fixed.design("knee", {}), 0.62);
  const Settings freed = read(walk + "[design]\nknee = 0.3", {"--design.knee.min=0.1", "--design.knee.max=0.2"});
  EXPECT_EQ(freed.variables.at(0).upper, 0.2);
}

TEST_F(SettingsTest, EachMistakeGetsItsLine) {
  const auto& w = walk;
  EXPECT_EQ(complaint(w + "[walk]\nstep-lenght = 1"),
            "knee.cfg:4: unknown key 'walk.step-lenght' (did you mean 'walk.step-length'?)");
  EXPECT_EQ(complaint(w + "step-length = 1"),
            "knee.cfg:3: unknown key 'study.step-length' (did you mean 'walk.step-length'?)");
  EXPECT_EQ(complaint(w + "stratgy = ego"),
            "knee.cfg:3: unknown key 'study.stratgy' (did you mean 'surrogate.strategy'?)");
  EXPECT_EQ(complaint(w + "zzzzzzzzzzz = 1"),
            "knee.cfg:3: unknown key 'study.zzzzzzzzzzz'; dodyn help keys study lists them");
  EXPECT_EQ(complaint(w + "seed ="), "knee.cfg:3: study.seed has no value; allowed: an integer >= 0");
  EXPECT_EQ(complaint(w + "archive ="), "knee.cfg:3: study.archive has no value; allowed: text");
  EXPECT_EQ(complaint(w + "seed = many"), "knee.cfg:3: study.seed = many is not an integer; allowed: an integer >= 0");
  EXPECT_EQ(complaint(w + "seed = 1.5"), "knee.cfg:3: study.seed = 1.5 is not an integer; allowed: an integer >= 0");
  EXPECT_EQ(complaint(w + "seed = 3000000000"),
            "knee.cfg:3: study.seed = 3000000000 is out of range; allowed: an integer >= 0");
  EXPECT_EQ(
      complaint(w + "[walk]\nstep-length = 1 s"),
      "knee.cfg:4: walk.step-length = 1 s has the unit s; expected a length (m, cm, mm); allowed: a number in (0, 2] "
      "m");
  for (const std::string bad : {"nan", "inf", "-inf", "0x10", "1e999", "1,5"})
    EXPECT_EQ(complaint(w + "[walk]\nstep-length = " + bad),
              "knee.cfg:4: walk.step-length = " + bad + " is not a number; allowed: a number in (0, 2] m");
  for (const std::string bad : {"0", "2.01", "-1"})
    EXPECT_EQ(complaint(w + "[walk]\nstep-length = " + bad),
              "knee.cfg:4: walk.step-length = " + bad + " is out of range; allowed: a number in (0, 2] m");
  EXPECT_EQ(complaint(w + "[walk]\nfree-knees = maybe"),
            "knee.cfg:4: walk.free-knees = maybe is neither true nor false; allowed: true or false");
  EXPECT_EQ(complaint(w + "[walk]\ncost = squared-torqeu"),
            "knee.cfg:4: walk.cost = squared-torqeu is unknown; allowed: work, squared-torque "
            "(did you mean 'squared-torque'?)");
  EXPECT_EQ(complaint(w + "seed = 1\nseed = 1"), "knee.cfg:4: seed is given twice (already at line 3)");
  EXPECT_EQ(complaint(w + "seed = 1\n[study]\nseed = 1"),
            "knee.cfg:5: study.seed is given twice (already at knee.cfg:3)");
  EXPECT_EQ(complaint(w + "[walk fast]\n"), "knee.cfg:3: [walk fast] has a name; allowed: [walk]");
  EXPECT_EQ(
      complaint(w + "seed = \x1b[31m" + std::string(100000, '9')),
      "knee.cfg:3: study.seed = \\x1b[31m" + std::string(75, '9') + "... is not an integer; allowed: an integer >= 0");
  EXPECT_EQ(complaint(w + "[swim]\ndepth = 1"),
            "knee.cfg:4: swim.depth belongs to evaluator swim; this study's is walk (knee.cfg:2)");
  EXPECT_EQ(complaint(w + "nonsense"),
            "knee.cfg:3: 'nonsense' is not understood; allowed: [section], key = value, # comment");
  EXPECT_EQ(complaint("[study]\nseed = 1"), "knee.cfg: study.evaluator is missing; allowed: walk, swim");
  EXPECT_EQ(complaint("[study]\nseed = 1\nevalutor = walk"),
            "knee.cfg:3: unknown key 'study.evalutor' (did you mean 'study.evaluator'?)");
  EXPECT_EQ(complaint("[study]\nmax-evaluations = 1"), "knee.cfg: study.evaluator is missing; allowed: walk, swim");
  EXPECT_EQ(complaint("[study]\nevaluator = wlak"),
            "knee.cfg:2: study.evaluator = wlak is unknown; allowed: walk, swim (did you mean 'walk'?)");
  EXPECT_EQ(complaint("[study]\nevaluator = swim"), "knee.cfg: swim.depth is missing; allowed: a number");
}

TEST_F(SettingsTest, MistakesOnTheCommandLine) {
  EXPECT_EQ(complaint(walk, {"--walk.step-lenght", "1"}),
            "command line: unknown key 'walk.step-lenght' (did you mean 'walk.step-length'?)");
  EXPECT_EQ(complaint(walk, {"--walk.step-lenght=1"}),
            "command line: unknown key 'walk.step-lenght' (did you mean 'walk.step-length'?)");
  EXPECT_EQ(complaint(walk, {"--step-length", "1"}),
            "command line: unknown key 'step-length' (did you mean 'walk.step-length'?)");
  EXPECT_EQ(complaint(walk, {"--surrogate.kernel", "matern52"}),
            "command line: the key 'surrogate.kernel' was removed; leave it out: kriging has one kernel, matern52");
  EXPECT_EQ(complaint(walk, {"--study.seed"}), "command line: study.seed has no value; allowed: an integer >= 0");
  EXPECT_EQ(complaint(walk, {"--study.seed="}), "command line: study.seed has no value; allowed: an integer >= 0");
  EXPECT_EQ(complaint(walk, {"--study.seed", "--walk.offset", "1"}),
            "command line: study.seed has no value; allowed: an integer >= 0");
  EXPECT_EQ(complaint(walk, {"--study.seed", "-1"}),
            "command line: study.seed = -1 is out of range; allowed: an integer >= 0");
  EXPECT_EQ(complaint(walk, {"--study.seed", "1", "--study.seed", "2"}),
            "command line: study.seed is given twice (already at command line)");
  EXPECT_EQ(complaint(walk, {"extra"}), "command line: 'extra' is not understood; allowed: --section.key value");
  const std::string strategies =
      "auto, spline, ego, trust-region, mesh-search, bobyqa, cobyla, direct-l, crs, sweep, morris";
  EXPECT_EQ(complaint(walk, {"--strategy", "swep"}),
            "command line: surrogate.strategy = swep is unknown; allowed: " + strategies + " (did you mean 'sweep'?)");
  EXPECT_EQ(complaint(walk, {"--strategy"}), "command line: surrogate.strategy has no value; allowed: " + strategies);
  EXPECT_EQ(complaint(walk, {"--swim.depth", "1"}),
            "command line: swim.depth belongs to evaluator swim; this study's is walk (knee.cfg:2)");
}

TEST_F(SettingsTest, MistakesInARange) {
  const std::string design = walk + "[design]\n";
  EXPECT_EQ(complaint(design + "knee.min = 0.5\nknee.max = 0.5"),
            "knee.cfg:5: the range of design.knee is empty: min 0.5 >= max 0.5; allowed: min < max, each a number in "
            "[0.01, 0.99] m");
  EXPECT_EQ(complaint(design + "knee.min = 0.5"),
            "knee.cfg:4: design.knee.min is given without design.knee.max; allowed: a number in [0.01, 0.99] m");
  EXPECT_EQ(complaint(design + "knee.max = 0.5"),
            "knee.cfg:4: design.knee.max is given without design.knee.min; allowed: a number in [0.01, 0.99] m");
  EXPECT_EQ(complaint(design + "knee.min = 0\nknee.max = 0.5"),
            "knee.cfg:4: design.knee.min = 0 is out of range; allowed: a number in [0.01, 0.99] m");
  EXPECT_EQ(complaint(design + "knee = -0.5"),
            "knee.cfg:4: design.knee = -0.5 is out of range; allowed: a number in [0.01, 0.99] m");
  EXPECT_EQ(
      complaint(design + "knee = 0.5\nknee.min = 0.1"),
      "knee.cfg:5: design.knee.min frees the variable that design.knee fixes (knee.cfg:4); give a value or a range");
  EXPECT_EQ(complaint(design + "kneee = 0.5"),
            "knee.cfg:4: unknown key 'design.kneee' (did you mean 'design.knee'?); variables: knee, mass");
  EXPECT_EQ(complaint(design + "fin = 0.5"),
            "knee.cfg:4: design.fin belongs to evaluator swim; this study's is walk (knee.cfg:2)");
}

TEST_F(SettingsTest, FilesThatCannotBeRead) {
  const auto complaint_about = [](const std::string& file) {
    return message_of<ConfigError>([&] { dodyn::read_settings(file, {}, kinds(), surrogate::strategy_keys()); });
  };
  EXPECT_EQ(complaint_about("/nowhere/knee.cfg"), "/nowhere/knee.cfg: cannot be read: No such file or directory");
  EXPECT_EQ(complaint_about(directory), directory + ": cannot be read: Is a directory");
}

TEST_F(SettingsTest, DifferencesNameWhatDefinesTheStudy) {
  const std::string text = walk + "[design]\nknee.min = 0.2\nknee.max = 0.5\n";
  const auto archived = read(text).configuration();
  EXPECT_EQ(differences(read(text), archived), "");
  EXPECT_EQ(differences(read(text, {"--study.max-evaluations", "99", "--study.archive", "other.h5"}), archived), "");
  EXPECT_EQ(differences(read(text, {"--walk.step-length", "0.7", "--study.seed", "2"}), archived),
            "study.seed: 1 / 2, walk.step-length: 0.56 / 0.7 (archive / now)");
  EXPECT_EQ(differences(read(text, {"--design.knee", "0.4"}), archived),
            "design.knee: 0.5 / 0.4, design.knee.max: 0.5 / none, design.knee.min: 0.2 / none (archive / now)");
  // A key that the archive does not know agrees at its default, however given, and at no other value.
  auto older = archived;
  std::erase_if(older, [](const auto& pair) { return pair.first == "walk.step-length"; });
  EXPECT_EQ(differences(read(text, {"--walk.step-length", "0.560"}), older), "");
  EXPECT_EQ(differences(read(text, {"--walk.step-length", "0.7"}), older),
            "walk.step-length: 0.56 / 0.7 (archive / now)");
}

TEST_F(SettingsTest, NearestKey) {
  const std::vector<std::string> keys = {"walk.step-length", "walk.intervals", "study.seed"};
  EXPECT_EQ(did_you_mean("walk.setp-length", keys), " (did you mean 'walk.step-length'?)");
  EXPECT_EQ(did_you_mean("sudty.seed", keys), " (did you mean 'study.seed'?)");
  EXPECT_EQ(did_you_mean("intervals", keys), " (did you mean 'walk.intervals'?)");
  // a misspelt section, and the same rest in another one
  EXPECT_EQ(did_you_mean("surogate.batch", {"study.batch", "surrogate.batch"}), " (did you mean 'surrogate.batch'?)");
  EXPECT_EQ(did_you_mean("xyz", keys), "");
  EXPECT_EQ(did_you_mean("anything", {}), "");
  // A swap of neighbours is one edit, two substitutions are two.
  EXPECT_EQ(did_you_mean("ba", {"xy", "ab"}), " (did you mean 'ab'?)");
}

TEST(Evaluators, TableIsConsistent) {
  // Every default of every key is itself allowed, and no two keys of a study share a name.
  for (const auto& kind : evaluator_kinds()) {
    auto keys = study_keys(evaluator_kinds());
    keys.push_back(strategy_key(surrogate::strategy_keys()));
    for (const auto& key : evaluator_keys(kind)) keys.push_back(key);
    std::vector<std::string> names;
    for (const auto& key : keys) names.push_back(key.name);
    std::sort(names.begin(), names.end());
    EXPECT_EQ(std::adjacent_find(names.begin(), names.end()), names.end()) << kind.name;
    const std::string path = ::testing::TempDir() + "dodyn-consistent.cfg";
    // what has no default
    static const std::map<std::string, std::string> needed = {
        {"command", "[command]\nrun = true\n"},
        {"elastic",
         "[world]\ndimension = 2\nstiffness = 1\n[body a]\nsize = 1, 1\ncells = 1, 1\nlambda = 1\nmu = 1\ndensity = "
         "1\n"},
        {"motion",
         "[motion]\nmodel = hopper\n[phase a]\nduration = 1\n[initial-state]\nx = 0\n[goal]\nx = 1\n[cost]\ntime = "
         "1\n"},
        {"hybrid", "[hybrid]\nmodel = bar-drop\nstep = 10 ms\nend = 2 s\nnodes = 201\n"},
        {"simulation", "[simulation]\nmodel = sliding-box\nend = 1\nstep = 0.01\n[cost]\ncost = t\n"}};
    std::ofstream(path) << "[study]\nevaluator = " << kind.name << "\n"
                        << (needed.count(kind.name) ? needed.at(kind.name) : "");
    const Settings settings = read_settings(path, {});
    EXPECT_NE(kind.make(settings), nullptr);
    std::filesystem::remove(path);
  }
}

}  // namespace
}  // namespace dodyn::evaluators::test_settings
