// Settings: what is accepted and how it is written back, who wins, and the one line that each mistake gets.
#include "settings/settings.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "evaluators/evaluator.hpp"

namespace dodyn::evaluators {
namespace {

const std::vector<EvaluatorKind>& kinds() {
  static const std::vector<EvaluatorKind> all = {
      {"walk",
       "a kind with a bit of everything",
       {{"knee", "m", "thigh length", 0.5, 0.01, 0.99}, {"mass", "kg", "of the trunk", 10, 0, 100}},
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
        {.name = "walk.offset", .default_value = "0"}},
       nullptr},
      {"swim", "another kind", {{"fin", "m", "length of a fin", 0.1, 0, 1}}, {{.name = "swim.depth"}}, nullptr}};
  return all;
}

class SettingsTest : public ::testing::Test {
 protected:
  Settings read(const std::string& text, const std::vector<std::string>& words = {}) {
    std::ofstream(path) << text;
    return read_settings(path, words, kinds());
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
  void SetUp() override { std::filesystem::create_directories(directory); }
  void TearDown() override { std::filesystem::remove_all(directory); }

  const std::string directory =
      ::testing::TempDir() + "dodyn-settings-" + ::testing::UnitTest::GetInstance()->current_test_info()->name();
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

  // A value on the command line fixes what the file frees, and the other way round.
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
  EXPECT_EQ(complaint(w + "zzzzzzzzzzz = 1"), "knee.cfg:3: unknown key 'study.zzzzzzzzzzz'");
  EXPECT_EQ(complaint(w + "seed ="), "knee.cfg:3: study.seed has no value; allowed: an integer >= 0");
  EXPECT_EQ(complaint(w + "archive ="), "knee.cfg:3: study.archive has no value; allowed: text");
  EXPECT_EQ(complaint(w + "seed = many"), "knee.cfg:3: study.seed = many is not an integer; allowed: an integer >= 0");
  EXPECT_EQ(complaint(w + "seed = 1.5"), "knee.cfg:3: study.seed = 1.5 is not an integer; allowed: an integer >= 0");
  EXPECT_EQ(complaint(w + "seed = 3000000000"),
            "knee.cfg:3: study.seed = 3000000000 is out of range; allowed: an integer >= 0");
  EXPECT_EQ(complaint(w + "[walk]\nstep-length = 1 m"),
            "knee.cfg:4: walk.step-length = 1 m is not a number; allowed: a number in (0, 2] m");
  for (const std::string bad : {"nan", "inf", "-inf", "0x10", "1e999", "1,5"})
    EXPECT_EQ(complaint(w + "[walk]\nstep-length = " + bad),
              "knee.cfg:4: walk.step-length = " + bad + " is not a number; allowed: a number in (0, 2] m");
  for (const std::string bad : {"0", "2.01", "-1"})
    EXPECT_EQ(complaint(w + "[walk]\nstep-length = " + bad),
              "knee.cfg:4: walk.step-length = " + bad + " is out of range; allowed: a number in (0, 2] m");
  EXPECT_EQ(complaint(w + "[walk]\nfree-knees = maybe"),
            "knee.cfg:4: walk.free-knees = maybe is neither yes nor no; allowed: true or false");
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
  EXPECT_EQ(complaint(walk, {"--study.seed"}), "command line: study.seed has no value; allowed: an integer >= 0");
  EXPECT_EQ(complaint(walk, {"--study.seed="}), "command line: study.seed has no value; allowed: an integer >= 0");
  EXPECT_EQ(complaint(walk, {"--study.seed", "--walk.offset", "1"}),
            "command line: study.seed has no value; allowed: an integer >= 0");
  EXPECT_EQ(complaint(walk, {"--study.seed", "-1"}),
            "command line: study.seed = -1 is out of range; allowed: an integer >= 0");
  EXPECT_EQ(complaint(walk, {"--study.seed", "1", "--study.seed", "2"}),
            "command line: study.seed is given twice (already at command line)");
  EXPECT_EQ(complaint(walk, {"extra"}), "command line: 'extra' is not understood; allowed: --section.key value");
  const std::string strategies = "strawman, ego, trust-region, smf, bobyqa, cobyla, direct-l, crs, auto, sweep";
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
  EXPECT_EQ(complaint(design + "knee = 0.5\nknee.min = 0.1"),
            "knee.cfg:5: design.knee.min frees what design.knee fixes (knee.cfg:4); give a value or a range");
  EXPECT_EQ(complaint(design + "kneee = 0.5"), "knee.cfg:4: unknown key 'design.kneee' (did you mean 'design.knee'?)");
}

TEST_F(SettingsTest, FilesThatCannotBeRead) {
  try {
    read_settings("/nowhere/knee.cfg", {}, kinds());
    FAIL();
  } catch (const ConfigError& error) {
    EXPECT_STREQ(error.what(), "/nowhere/knee.cfg: cannot be read: No such file or directory");
  }
  try {
    read_settings(directory, {}, kinds());
    FAIL();
  } catch (const ConfigError& error) {
    EXPECT_EQ(error.what(), directory + ": cannot be read: Is a directory");
  }
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
  EXPECT_EQ(did_you_mean("xyz", keys), "");
  EXPECT_EQ(did_you_mean("anything", {}), "");
  // A swap of neighbours is one edit, two substitutions are two.
  EXPECT_EQ(did_you_mean("ba", {"xy", "ab"}), " (did you mean 'ab'?)");
}

TEST(Evaluators, TableIsConsistent) {
  // Every default of every key is itself allowed, and no two keys of a study share a name.
  for (const auto& kind : evaluator_kinds()) {
    auto keys = study_keys(evaluator_kinds());
    for (const auto& key : evaluator_keys(kind)) keys.push_back(key);
    std::vector<std::string> names;
    for (const auto& key : keys) names.push_back(key.name);
    std::sort(names.begin(), names.end());
    EXPECT_EQ(std::adjacent_find(names.begin(), names.end()), names.end()) << kind.name;
    const std::string path = ::testing::TempDir() + "dodyn-table.cfg";
    std::ofstream(path) << "[study]\nevaluator = " << kind.name << "\n"
                        << (kind.name == "command" ? "[command]\nrun = true\n" : "");  // has no default
    const Settings settings = read_settings(path, {});
    EXPECT_NE(kind.make(settings), nullptr);
    std::filesystem::remove(path);
  }
}

}  // namespace
}  // namespace dodyn::evaluators
