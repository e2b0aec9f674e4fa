// Every section of a model with every evaluator that takes one: honoured, or refused by name; and the manual's table.
#include "systems/sections.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "evaluators/evaluator.hpp"
#include "tests/directory.hpp"
#include "tests/message_of.hpp"

namespace dodyn::evaluators::test_sections {
namespace {

using systems::model_evaluators;
using systems::model_sections;

const char* const slider = R"([model]
dimension = 2
gravity = 0
[parameters]
mass = 1
[link body]
parent = ground
joint = prismatic x
coordinates = s
mass = mass
)";

// A base configuration of an evaluator with its model, and names of a link, a coordinate and a parameter of that model.
struct Base {
  std::string study, model, link, coordinate, parameter;
};
const std::map<std::string, Base>& bases() {
  static const std::map<std::string, Base> all = {
      {"gait",
       {"[study]\nevaluator = gait\n[gait]\nmodel = it.model\nintervals = 8\ninitial-guesses = 1\n",
        systems::model_text("planar-biped"), "swing_shank", "swing_knee", "knee"}},
      {"motion",
       {"[study]\nevaluator = motion\n[motion]\nmodel = it.model\ninitial-guesses = 1\n[phase only]\nintervals = 4\n"
        "duration = 1\n[initial-state]\ns = 0\n[goal]\ns = 1\n[cost]\ntime = 1\n",
        slider, "body", "s", "mass"}},
      {"hybrid", {"[study]\nevaluator = hybrid\n[hybrid]\nmodel = it.model\nend = 0.1\n", slider, "body", "s", "mass"}},
      {"simulation",
       {"[study]\nevaluator = simulation\n[simulation]\nmodel = it.model\nend = 0.1\nstep = 1 ms\n[cost]\ncost = t\n",
        slider, "body", "s", "mass"}}};
  return all;
}

// Returns the text of a section that does not change the base model.
std::string text_of(const std::string& title, const Base& base) {
  const std::string on = "coordinate = " + base.coordinate + "\n", at = "link = " + base.link + "\n";
  const std::map<std::string, std::string> all = {
      {"mass NAME", "[mass it]\n" + at + "mass = 0\n"},
      {"shape NAME", "[shape it]\n" + at + "box = 0.1, 0.1\n"},
      {"point NAME", "[point it]\n" + at},
      {"spring NAME", "[spring it]\n" + on + "stiffness = 0\n"},
      {"charge NAME", "[charge it]\n" + at + "value = 0\n"},
      {"drag NAME", "[drag it]\n" + at + "linear = 0\n"},
      {"potential NAME", "[potential it]\nenergy = 0 J*" + base.coordinate + "^0\n"},
      {"rotor NAME", "[rotor it]\nplace = " + base.coordinate + "\nmass = 0\n"},
      {"force NAME", "[force it]\n" + on + "force = 0\n"},
      {"actuator NAME", "[actuator it]\n" + on},
      {"joint-limit NAME", "[joint-limit it]\n" + on + "from = -10\nto = 10\n"},
      {"knee NAME", "[knee it]\n" + on + "flexion = -1\n"},
      {"surface", "[surface]\nfriction = 0.5\n"},
      {"contact", "[contact]\nothers = no\n"},
      {"contact NAME", "[contact it]\ngap = 100 + " + base.coordinate + "\n"},
      {"stop NAME", "[stop it]\n" + on + "from = -100\n"},
      {"constraint NAME", "[constraint it]\nzero = " + base.coordinate + "\n"},
      {"reset NAME", "[reset it]\nguard = 100 + " + base.coordinate + "\nrate(" + base.coordinate + ") = 0\n"},
      {"initial-state", "[initial-state]\n" + base.coordinate + " = 0\n"},
      {"require", "[require]\nfine = " + base.parameter + " > 0\n"}};
  const auto found = all.find(title);
  return found == all.end() ? "" : found->second;
}

class Sections : public testing::Test {
 protected:
  // Empty, or what is wrong.
  std::string complaint(const Base& base, const std::string& more) const {
    std::ofstream(folder_ / "it.model") << base.model << more;
    std::ofstream(folder_ / "it.cfg") << base.study;
    return message_of<ConfigError>([&] { make_evaluator(read_settings(folder_ / "it.cfg", {})); });
  }
  const Directory folder_;
};

TEST_F(Sections, AreHonouredOrRefusedByName) {
  for (const auto& [evaluator, base] : bases()) ASSERT_EQ(complaint(base, ""), "") << evaluator;
  for (const auto& row : model_sections()) {
    const std::string title = row.title;
    if (title == "model" || title == "parameters" || title == "link NAME") continue;  // every base has them
    for (std::size_t i = 0; i < model_evaluators.size(); ++i) {
      const std::string evaluator(model_evaluators[i]);
      const Base& base = bases().at(evaluator);
      const std::string text = text_of(title, base);
      ASSERT_FALSE(text.empty()) << "no example of [" << title << "]";
      ASSERT_NE(row.honoured[i], nullptr) << title;
      std::string expected;
      if (std::string(row.honoured[i]) == "no") {
        std::string others;
        for (std::size_t k = 0; k < model_evaluators.size(); ++k)
          if (std::string(row.honoured[k]) != "no")
            others += (others.empty() ? "" : " or ") + std::string(model_evaluators[k]);
        const auto line = std::count(base.model.begin(), base.model.end(), '\n') + 1;
        expected = folder_ / "it.model" + ":" + std::to_string(line) + ": " + text.substr(0, text.find('\n')) +
                   " is not supported by evaluator " + evaluator + "; use evaluator " + others + " or remove it";
      }
      if (std::string(row.honoured[i]) == "`[periodic]`") {  // where [periodic] names it
        const std::string all = complaint(base, text);
        EXPECT_NE(all.find("[reset it] acts in a motion only if [periodic] reset = it names it"), std::string::npos)
            << all;
        continue;
      }
      EXPECT_EQ(complaint(base, text), expected) << title << " by " << evaluator;
    }
  }
}

// Expressions of a study's own sections have the dimension of their place.
TEST_F(Sections, DimensionsAreChecked) {
  const auto said = [&](const std::string& evaluator, const std::string& more) {
    Base base = bases().at(evaluator);
    base.study += more;
    return complaint(base, "");
  };
  const auto expect = [](const std::string& message, const std::string& part) {
    EXPECT_NE(message.find(part), std::string::npos) << message << "\n" << part;
  };
  EXPECT_EQ(said("motion", "[parameters]\nfar = 30 cm\n[guess]\ns = far/2\n"), "");
  expect(said("motion", "[guess]\ns = 20 deg\n"), "is an angle (rad, deg); expected a length (m, cm, mm)");
  expect(said("motion", "[parameters]\nload = 3 kg\n[guess]\ns = load\n"),
         "is a mass (kg, g); expected a length (m, cm, mm)");
  expect(said("motion", "[require]\nlight = mass < 3 m\n"),
         "a mass (kg, g) and a length (m, cm, mm) are compared in 'mass < 3 m'; allowed: one dimension");
  expect(said("simulation", "[initial-state]\nrate(s) = 3 m\n"),
         "is a length (m, cm, mm); expected a speed (m/s, mm/s)");
  expect(said("simulation", "[metrics]\nmixed = kinetic + s\n"),
         "a torque or an energy (N m, J) and a length (m, cm, mm) are added in 'kinetic + s'");
  expect(said("hybrid", "[initial-state]\ns = 2 s\n"), "is a time (s, ms, min, h); expected a length (m, cm, mm)");
  expect(said("gait", "[require]\nshort = knee < 3 kg\n"), "are compared in 'knee < 3 kg'");
  expect(said("gait", "[require]\nfast = step-length/period > 1 kg\n"), "are compared in 'step-length/period > 1 kg'");
  expect(said("simulation", "[initial-states]\ncount = 2\nfar = 8 deg .. 20 mm\n"),
         "far = 8 deg .. 20 mm: is a range from an angle (rad, deg) to a length (m, cm, mm); allowed: one dimension");
  expect(said("simulation", "[initial-state]\ns = far\n[initial-states]\ncount = 2\nfar = 8 kg .. 20 kg\n"),
         "is a mass (kg, g); expected a length (m, cm, mm)");
  expect(said("simulation", "[outcome late]\nwhen = s > 3 kg\n"), "are compared in 's > 3 kg'");
  expect(said("simulation", "[initial-state]\ns = 0/0\n"), "s = 0/0: is not a finite number");
  Base motion = bases().at("motion");
  motion.study.replace(motion.study.find("intervals = 4"), 13, "intervals = 4 kg");
  expect(complaint(motion, ""), "is a mass (kg, g); expected a number without a unit");
  motion = bases().at("motion");
  motion.study.replace(motion.study.find("time = 1"), 8, "time = 0/0");
  expect(complaint(motion, ""), "time = 0/0: is not a finite number");
}

// An evaluator that takes a model has a column.
TEST_F(Sections, EveryEvaluatorOfModelsHasAColumn) {
  std::set<std::string> of_models;
  for (const auto& kind : evaluator_kinds())
    for (const Key& key : kind.keys)
      if (key.name.ends_with(".model")) of_models.insert(kind.name);
  EXPECT_EQ(of_models, std::set<std::string>(model_evaluators.begin(), model_evaluators.end()));
}

TEST_F(Sections, TheManualsTableIsTheProgramsTable) {
  std::string expected = "| section |";
  for (const auto& evaluator : model_evaluators) expected += " " + std::string(evaluator) + " |";
  expected += "\n|---|---|---|---|---|\n";
  for (const auto& row : model_sections()) {
    expected += "| `[" + std::string(row.title) + "]` |";
    for (const char* cell : row.honoured) expected += " " + std::string(cell) + " |";
    expected += "\n";
  }
  std::ifstream file(std::string(CONFIGS) + "/../docs/models.md");
  std::stringstream manual;
  manual << file.rdbuf();
  EXPECT_NE(manual.str().find("\n" + expected + "\n"), std::string::npos) << expected;
}

}  // namespace
}  // namespace dodyn::evaluators::test_sections
