// Every section of a model with every evaluator that takes one: honoured, or refused by name; and the manual's table.
#include "systems/sections.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "evaluators/evaluator.hpp"
#include "settings/unused.hpp"
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

// Returns a model without its [require], so that a test may add one.
std::string without_requirements(std::string model) {
  const auto begin = model.find("[require]");
  return model.erase(begin, model.find("\n[", begin) + 1 - begin);
}

// A base configuration of an evaluator with its model, and names of a link, a coordinate and a parameter of that model.
struct Base {
  std::string study, model, link, coordinate, parameter;
};
const std::map<std::string, Base>& bases() {
  static const std::map<std::string, Base> all = {
      {"gait",
       {"[study]\nevaluator = gait\n[gait]\nmodel = it.model\nintervals = 8\ninitial-guesses = 1\n",
        without_requirements(systems::model_text("planar-biped")), "swing_shank", "swing_knee", "knee"}},
      {"motion",
       {"[study]\nevaluator = motion\n[motion]\nmodel = it.model\ninitial-guesses = 1\n[phase only]\nintervals = 4\n"
        "duration = 1\n[initial-state]\nrate(s) = 0\n[goal]\ns = 0\n[cost]\ntime = 1\n",
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
  expect(said("simulation", "[metrics]\nmixed = mean(kinetic + s)\n"),
         "a torque or an energy (N m, J) and a length (m, cm, mm) are added in 'kinetic + s'");
  expect(said("hybrid", "[initial-state]\ns = 2 s\n"), "is a time (s, ms, min, h); expected a length (m, cm, mm)");
  // The cost of a gait is a number: a work divided by a weight and a length.
  EXPECT_EQ(said("gait", "[cost]\nabsolute-work = 2\nsquared-torque = 0.1 1/(N m s)\n"), "");
  expect(said("gait", "[cost]\nsquared-torque = 0.1 kg\n"), "is a mass (kg, g); expected a number in 1/(N m s)");
  expect(said("gait", "[cost]\npositive-work = 1 1/J\n"), "expected a number without a unit");
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

// A key that the other settings leave without effect is marked, with the reason.
TEST_F(Sections, KeysWithoutEffectAreMarked) {
  const auto note = [&](const std::string& evaluator, const std::string& key,
                        const std::vector<std::string>& words = {}, const std::string& sections = "",
                        const std::string& more = "") {
    Base base = bases().at(evaluator);
    std::ofstream(folder_ / "it.model") << base.model << more;
    std::ofstream(folder_ / "it.cfg") << base.study << sections;
    const Settings settings = read_settings(folder_ / "it.cfg", words);
    for (const Setting& setting : settings.all)
      if (setting.key.name == key || setting.key.name == evaluator + "." + key) return setting.note;
    return std::string("no such key");
  };
  const std::string contact = "[contact NAME]\nnode = 1\ntouch = a, b\n", no_contact = "there is no [contact NAME]";
  EXPECT_EQ(note("motion", "contact-width", {"--motion.contact-width=1 mm"}), "not used: " + no_contact);
  EXPECT_EQ(note("motion", "contact", {"--motion.contact=penalty"}), "not used: " + no_contact);
  EXPECT_EQ(note("motion", "contact-stiffness", {}, contact), "not used: motion.contact = schedule");
  EXPECT_EQ(note("motion", "contact-stiffness", {"--motion.contact=penalty"}, contact), "");
  EXPECT_EQ(note("motion", "contact-corners", {"--motion.contact=penalty"}, contact),
            "not used: motion.contact = penalty");
  EXPECT_EQ(note("motion", "contact-corners", {}, contact), "");
  EXPECT_EQ(note("motion", "planes", {"--motion.planes=affine"}), "not used: there is no [avoid]");
  EXPECT_EQ(note("motion", "rollout.step", {"--rollout.step=2e-3"}), "not used: no phase has fixed");
  EXPECT_EQ(note("motion", "steps"), "");
  const std::string fixed = "[phase more]\nfixed = s\nduration = 1\n";
  EXPECT_EQ(note("motion", "rollout.step", {}, fixed), "");
  EXPECT_EQ(note("motion", "steps", {"--motion.steps=3"}, fixed),
            "not used: a phase has fixed, so rollout.step applies");
  EXPECT_EQ(note("motion", "planes", {}, "[avoid]\na, b = 0\n"), "");
  EXPECT_EQ(note("motion", "contact-planes", {}, contact + "[avoid]\na, b = 0\n"), "");
  for (const std::string evaluator : {"motion", "gait"}) {
    const std::string is = "not used: " + evaluator + ".", given = "--" + evaluator + ".";
    EXPECT_EQ(note(evaluator, "refine-count", {given + "refine-count=3"}), is + "coarse-intervals = 0");
    EXPECT_EQ(note(evaluator, "refine-count", {given + "coarse-intervals=4"}), "");
    EXPECT_EQ(note(evaluator, "refine-tolerance", {given + "refinements=0"}), is + "refinements = 0");
    EXPECT_EQ(note(evaluator, "refine-tolerance", {given + "refinements=1"}), "");
  }
  EXPECT_EQ(note("gait", "leg-radius", {"--gait.leg-radius=0.1"}), "not used: the walker is planar");
  EXPECT_EQ(note("hybrid", "projection-k", {"--hybrid.projection-k=3"}), "not used: hybrid.method = midpoint");
  EXPECT_EQ(note("hybrid", "projection-k", {"--hybrid.method=projected"}), "");
  EXPECT_EQ(note("hybrid", "max-strides"), "not used: hybrid.solve-for = motion");
  EXPECT_EQ(note("hybrid", "max-strides", {"--hybrid.solve-for=gait"}), "");
  EXPECT_EQ(note("hybrid", "gradient", {"--hybrid.gradient=true"}), "not used: no design variable is free");
  EXPECT_EQ(note("hybrid", "rest-speed"), "not used: the model has no contacts");
  EXPECT_EQ(note("hybrid", "rest-speed", {}, "", "[stop it]\ncoordinate = s\nfrom = -100\n"), "");
  EXPECT_EQ(note("hybrid", "rest-speed", {"--hybrid.method=projected"}), "not used: hybrid.method = projected");
  EXPECT_EQ(note("simulation", "rest-speed"), "not used: no expression has resting");
  EXPECT_EQ(note("simulation", "rest-speed", {}, "[outcome still]\nwhen = resting\n"), "");
  EXPECT_EQ(note("simulation", "frames", {"--simulation.frames=5"}), "not used: there is no [initial-states]");
  EXPECT_EQ(note("simulation", "frames", {}, "[initial-states]\ncount = 2\n"), "");
  EXPECT_EQ(note("simulation", "tolerance", {"--simulation.contact-method=none"}),
            "not used: simulation.contact-method = none");
  EXPECT_EQ(note("simulation", "tolerance"), "");
  const auto dwell = [&](const std::string& time) {
    return note("simulation", "outcome.still.dwell", {}, "[outcome still]\nwhen = resting\ndwell = " + time + "\n");
  };
  EXPECT_EQ(dwell("0.1 s"), "");
  EXPECT_EQ(dwell("0.2 s"), "not used: it is longer than simulation.end, so no run ends as still");
  EXPECT_EQ(note("simulation", "max-step", {"--simulation.step=1 ms", "--simulation.max-step=3 ms"}),
            "not used: steps grow to 4 times simulation.step, which is more");
  EXPECT_EQ(note("simulation", "max-step", {"--simulation.step=1 ms", "--simulation.max-step=4 ms"}), "");
  EXPECT_EQ(note("simulation", "control.seed", {"--control.seed=3"}), "not used: measurements have no noise");
  EXPECT_EQ(note("simulation", "control.seed", {"--control.seed=3", "--control.spin-noise=1"}), "");
}

// A parameter that is given or free although no expression uses it is marked: of the model, or of [parameters].
TEST_F(Sections, ParametersWithoutUseAreMarked) {
  const auto notes = [&](const std::string& evaluator, const std::string& sections, const std::string& more = "") {
    const Base base = bases().at(evaluator);
    std::string text = base.model + more;
    if (evaluator != "gait") text.insert(text.find("mass = 1\n"), "idle = 3\nchain = 2*idle\n");
    std::ofstream(folder_ / "it.model") << text;
    std::ofstream(folder_ / "it.cfg") << base.study << sections;
    std::string all;
    for (const std::string& line : notes_on_unused(read_settings(folder_ / "it.cfg", {})))
      all += line.substr(line.find(": ") + 2) + "\n";
    return all;
  };
  const std::string because = " is not used: nothing uses this parameter\n";
  for (const std::string evaluator : {"motion", "hybrid", "simulation"}) {
    EXPECT_EQ(notes(evaluator, ""), "");
    EXPECT_EQ(notes(evaluator, "[design]\nmass = 2\n"), "");
    const std::string given = notes(evaluator, "[design]\nidle = 2\n");
    EXPECT_TRUE(given.ends_with(": design.idle = 2" + because)) << given;
    EXPECT_EQ(notes(evaluator, "[design]\nidle = 2\n", "[point far]\nlink = body\nat = idle, 0\n"), "");
    EXPECT_EQ(notes(evaluator, "[design]\nidle = 2\n[require]\nfew = idle < 5\n"), "");
    EXPECT_EQ(notes(evaluator, "[design]\nidle = 2\n[require]\nfew = chain < 9\n"), "");
    const std::string replaced = notes(evaluator, "[design]\nidle = 2\nchain = 4\n[require]\nfew = chain < 9\n");
    EXPECT_TRUE(replaced.ends_with(": design.idle = 2" + because)) << replaced;
  }
  const std::string drawn = notes("simulation", "[initial-states]\ncount = 2\nidle = 1 .. 2\n");
  EXPECT_TRUE(drawn.ends_with(": initial-states.idle = 1 .. 2" + because)) << drawn;
  const std::string free = notes("motion", "[design]\nidle.min = 2\nidle.max = 4\n");
  EXPECT_NE(free.find(": design.idle.min = 2" + because), std::string::npos) << free;
  for (const std::string evaluator : {"motion", "gait"}) {
    const std::string own = notes(evaluator, "[parameters]\nspare = 3\n");
    EXPECT_TRUE(own.ends_with(": parameters.spare = 3" + because)) << own;
  }
  EXPECT_EQ(notes("gait", "[parameters]\nspare = 3\nperiod = spare\n"), "");
}

// A name that a run and the model have would have two meanings.
TEST_F(Sections, NamesOfRunsAreNotThoseOfModels) {
  for (const auto& [evaluator, name] : {std::pair("hybrid", "impacts"), {"simulation", "kinetic"}}) {
    Base base = bases().at(evaluator);
    base.model.insert(base.model.find("mass = 1\n"), std::string(name) + " = 3\n");
    if (const auto at = base.study.find("[cost]"); at != base.study.npos) base.study.resize(at);
    base.study += "[cost]\ncost = " + std::string(name) + "\n";
    const std::string what = complaint(base, "");
    EXPECT_NE(what.find("and a name of the model; rename it in the model"), std::string::npos) << what;
  }
}

// A stride ends at its reset; a number of impacts would end it before.
TEST_F(Sections, AGaitDoesNotStopAfterImpacts) {
  Base base = bases().at("hybrid");
  base.study += "solve-for = gait\nstop-after-impacts = 1\n";
  EXPECT_NE(complaint(base, "[reset it]\nguard = 100 + s\nrate(s) = 0\n").find("would end a stride before its reset"),
            std::string::npos);
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
