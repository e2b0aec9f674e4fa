// Configurations of motions on both sides of each limit: wrong ones get one line, right ones are read.
#include <gtest/gtest.h>

#include <filesystem>

#include "evaluators/motion/avoid.hpp"
#include "evaluators/motion/design.hpp"
#include "record/text.hpp"
#include "tests/message_of.hpp"
#include "whole.hpp"
#include "written.hpp"

namespace dodyn::evaluators::test_motion_mistakes {
namespace {

constexpr const char* model =
    "[model]\nname = crane\ndimension = 2\ngravity = 0\n[parameters]\nreach = 1\n"
    "[link wall]\nparent = ground\njoint = fixed\n[shape wall]\nlink = wall\nbox = 2, 0.2\nat = 0, -2\noutward = 0, 1\n"
    "[link cube]\nparent = ground\njoint = planar\ncoordinates = x, y, a\nmass = 1\ninertia = 1\n"
    "[shape cube]\nlink = cube\nbox = 0.1, 0.1\n[point tip]\nlink = cube\nat = 0, -0.05\n"
    "[link lorry]\nparent = ground\njoint = prismatic x\ncoordinates = r\nmass = 1\n"
    "[shape lorry]\nlink = lorry\nbox = 1, 0.2\nat = 0, -1\noutward = 0, 1\n"
    "[link bare]\nparent = ground\njoint = prismatic x\ncoordinates = s\nmass = 1\n"
    "[actuator push]\ncoordinate = x\n";

const std::string phases =
    "[phase first]\nintervals = 6\nduration = 0.5\n[phase second]\nintervals = 4\nduration = 1 .. 2\n";
const std::string ends =
    "[initial-state]\nx = 0\ny = 0\na = 0\ns = 0\nr = 0\nmomentum = 0\n[goal]\nx = reach\ny = 0\na = 0\ns = 0\nr = 0\n";

// The line that a study with these sections gets; empty where it is read.
std::string line(const std::string& text) {
  const std::filesystem::path path =
      written_study(model, own_model + text + (text.find("[cost]") == std::string::npos ? "[cost]\ntime = 1\n" : ""));
  std::string what;
  try {
    MotionDesigns designs(read_settings(path.string(), {}));
  } catch (const ConfigError& error) {
    what = error.what();
    EXPECT_EQ(what.find('\n'), std::string::npos);
  }
  std::filesystem::remove_all(path.parent_path());
  return what;
}

void expect(const std::string& text, const std::string& words) {
  const std::string what = line(phases + ends + text);
  if (words.empty())
    EXPECT_EQ(what, "") << text;
  else
    EXPECT_NE(what.find(words), std::string::npos) << text << what;
}

TEST(MotionMistakes, Avoid) {
  expect("[avoid]\ncube, wall = 0\n", "");
  expect("[avoid]\ncube, wall = 0\nwall, cube = 1 cm\n", "wall, cube = 1 cm: is given twice; remove one of them");
  for (const std::string value : {"0.1", "2.99", "3 deg"})
    expect("[avoid]\ncube, wall = 0\nmax-rotation = " + value + "\n", "");
  for (const std::string value : {"0", "-0.1", "3", "reach*0.5 rad/m"})
    expect("[avoid]\nmax-rotation = " + value + "\n", "allowed: an angle in (0, 3) rad");
  for (const std::string value : {"0", "7", "100"})
    expect("[avoid]\ncube, wall = 0\ngrowth-steps = " + value + "\n", "");
  for (const std::string value : {"-1", "101", "2.5"})
    expect("[avoid]\ngrowth-steps = " + value + "\n", "allowed: an integer in [0, 100]");
  expect("[avoid]\ncube, wal = 0\n", "there is no link 'wal' (did you mean 'wall'?)");
  expect("[avoid]\ncube, bare = 0\n", "link 'bare' has no [shape]");
  expect("[avoid]\ncube, cube = 0\n", "a link cannot stay clear of itself");
  expect("[avoid]\ncube = 0\n", "allowed: LINK, LINK = margin");
  expect("[avoid]\ngrowth-steps = 2\n", "names no pair of links");
  expect("[avoid]\ncube, wall, bare = 0\n", "allowed: LINK, LINK = margin");
}

TEST(MotionMistakes, Durations) {
  const auto phase = [](const std::string& duration) {
    return line("[phase first]\nintervals = 4\nduration = " + duration + "\n" + ends);
  };
  for (const char* duration : {"1", "0.5 .. 2", "reach*1 s/m"}) EXPECT_EQ(phase(duration), "") << duration;
  for (const char* duration : {"3 .. 1", "0", "-1", "-1 .. 2"})
    EXPECT_NE(phase(duration).find("allowed: more than 0, and LONGEST not below SHORTEST"), std::string::npos)
        << duration << ": " << phase(duration);
}

TEST(MotionMistakes, NamesOfParameters) {
  expect("[parameters]\nfar = 2*reach\n", "");
  expect("[parameters]\nreach = 2\n", "is a parameter of the model; set it by design.reach");
  expect("[parameters]\nx = 1\n", "is a coordinate of the model");
  expect("[parameters]\nt = 1\n", "is the time");
  expect("[parameters]\npi = 3\n", "is the number pi");
}

TEST(MotionMistakes, Waypoints) {
  const auto way = [](const std::string& name, const std::string& share) {
    return "[waypoint " + name + "]\nshare = " + share + "\nx = 0.5\n";
  };
  expect(way("one", "0.01"), "");
  expect(way("one", "0.99"), "");
  expect(way("one", "0.3") + way("two", "0.4"), "");
  for (const std::string share : {"0", "1", "-0.2", "1.5"}) expect(way("one", share), "a number between 0 and 1");
  for (const std::string share : {"0.3", "0.2"}) expect(way("one", "0.3") + way("two", share), "larger than that of");
  expect("[waypoint one]\nx = 0.5\n", "has no share");
  expect("[waypoint one]\nshare = 0.5\nrate(x) = 1\n", "rates are not supported here");
}

TEST(MotionMistakes, Contacts) {
  const auto contact = [](const std::string& more, const std::string& touch = "tip, wall") {
    return "[contact one]\ntouch = " + touch + "\n" + more;
  };
  expect(contact("phase = first\nnode = 1\n"), "");
  expect(contact("phase = first\nnode = 5\n"), "");
  expect(contact("phase = second\nnode = 3\n"), "");
  for (const std::string node : {"0", "6", "2.5", "-1"})
    expect(contact("phase = first\nnode = " + node + "\n"),
           "is not a node inside [phase first]; allowed: an integer in [1, 5]");
  expect(contact("phase = second\nnode = 4\n"), "is not a node inside [phase second]; allowed: an integer in [1, 3]");
  expect(contact("node = 2\n"), "there are several phases; add phase = PHASE");
  expect(contact("phase = frist\nnode = 2\n"), "there is no [phase frist] (did you mean 'first'?)");
  const std::string here = "phase = first\nnode = 3\n";
  expect(contact(here + "law = stay\nrelease = 5\n"), "");
  for (const std::string node : {"3", "6"})
    expect(contact(here + "law = stay\nrelease = " + node + "\n"), "allowed: an integer in [4, 5]");
  expect(contact(here, "cube, wall"), "");
  for (const std::string side : {"+x", "-x", "+y", "-y"}) expect(contact(here, "tip, wall " + side), "");
  for (const std::string side : {"+z", "x", "*y", "+xy", "+w"})
    expect(contact(here, "tip, wall " + side), "'" + side + "' is not a side; allowed: +x, -x, +y, -y");
  expect(contact(here, "tip, wal"), "there is no [shape wal] (did you mean 'wall'?)");
  expect(contact(here, "tpi, wall"), "there is no [point tpi] or [shape tpi]");
  expect(contact(here, "tip"), "expected two, separated by a comma: POINT, SHAPE");
  expect(contact(here, "tip, cube +x"), "both belong to the same link");
  expect(contact(here, "cube, cube +x"), "both belong to the same link");
  expect(contact(here, "wall, cube"), "shape 'cube' has no outward direction");
  expect(contact(here, "edges cube, wall"), "edges need a model in space");
}

// A contact next to an end of its phase leaves one interval there, between whose controls there is no change.
TEST(MotionMistakes, RatesOfControlsNeedTwoIntervals) {
  const std::string jerk = "[cost]\njerk = rate(u.push)^2\n";
  const auto contact = [](int node) {
    return "[contact one]\ntouch = tip, wall\nphase = first\nnode = " + std::to_string(node) + "\n";
  };
  const std::string words = "contacts leave phase 'first_";
  expect(contact(2) + jerk, "");
  expect(contact(4) + jerk, "");
  expect(contact(1) + jerk, words + "1' one");
  expect(contact(5) + jerk, words + "2' one");
  expect(contact(3) + "law = stay\nrelease = 4\n" + jerk, words + "2' one");
  expect(contact(1) + "[cost]\ntime = 1\npower = u.push^2\n", "");
  const auto required = [&](int node) {
    return line("[phase first]\nintervals = 6\nduration = 0.5\nrequire = rate(u.push) <= 9 N/s\n" + ends +
                contact(node));
  };
  EXPECT_EQ(required(2), "");
  EXPECT_NE(required(1).find(words + "1' one"), std::string::npos) << required(1);
}

TEST(MotionMistakes, ConditionsOfForces) {
  const auto line_of = [](const std::string& condition) {
    return line("[phase first]\nfixed = s\nintervals = 4\nduration = 1\nrequire = " + condition +
                "\n[initial-state]\nx = 0\ny = 0\na = 0\nr = 0\nmomentum = 0\n[goal]\nx = reach\n");
  };
  EXPECT_EQ(line_of("reaction(s) >= 0"), "");
  EXPECT_EQ(line_of("reaction(s) <= 1 N"), "");
  for (const auto& [other, unit] : {std::pair{"x", "m"}, {"rate(x)", "m/s"}, {"t", "s"}}) {
    const std::string said = line_of(formatted("reaction(s) >= %s/(1 %s)*reaction(s)", other, unit));
    EXPECT_NE(said.find(formatted("'%s' is neither a force nor a parameter", other)), std::string::npos) << said;
  }
}

// A link and its turn have one name where the model gives none. What follows the name tells which is meant.
TEST(MotionMistakes, ALinkMayHaveTheNameOfItsCoordinate) {
  const std::string alone =
      "[model]\ndimension = 2\ngravity = 0\n[link mover]\nparent = ground\njoint = planar\nmass = 1\ninertia = 1\n"
      "[actuator push]\nlink = mover\nforce = 1, 0\n[actuator spin]\ncoordinate = mover\n";
  const auto line_of = [&](const std::string& start) {
    const std::filesystem::path path =
        written_study(alone, own_model + "[phase only]\nintervals = 4\nduration = 1\n[initial-state]\n" + start +
                                 "\n[goal]\nmover = pose 1 0, turn 90 deg, rest\n[cost]\nsquared-control = 1\n");
    std::string what;
    try {
      const MotionDesigns designs(read_settings(path.string(), {}));
      EXPECT_TRUE(designs.pushes_at_a_point());
    } catch (const ConfigError& error) {
      what = error.what();
    }
    std::filesystem::remove_all(path.parent_path());
    return what;
  };
  EXPECT_EQ(line_of("mover = pose 0 0, rest"), "");
  EXPECT_EQ(line_of("x = 0\ny = 0\nmover = 0.3 rad"), "");
}

TEST(MotionMistakes, LawsOfContacts) {
  const auto law = [](const std::string& text) {
    return line(phases + ends + "[contact one]\ntouch = tip, wall\nphase = first\nnode = 3\nlaw = " + text + "\n");
  };
  for (const char* text : {"restitution 0", "restitution 1", "restitution 0.5, stick, friction 0.3", "stick"})
    EXPECT_EQ(law(text), "") << text;
  for (const char* text : {"restitution 1.5", "restitution -0.5", "stick, friction -0.3"})
    EXPECT_NE(law(text).find("allowed: restitution from 0 to 1, friction of 0 or more"), std::string::npos) << text;
  EXPECT_NE(law("restitution 0.6, restitution 0.2").find("gives the restitution again"), std::string::npos);
  EXPECT_NE(law("stick, friction 0.6, friction 0.2").find("gives the friction again"), std::string::npos);
}

TEST(MotionMistakes, Placements) {
  const auto start = [](const std::string& value, const std::string& key = "cube") {
    return line(phases + "[initial-state]\n" + key + " = " + value + "\ns = 0\n[goal]\nx = 1\n");
  };
  for (const std::string value : {"pose 0 0", "place 0 0.1", "place free 0", "place -1 .. 1 0", "pose 0 0, turn 0.3",
                                  "pose 0 0, velocity 1 2, spin 3", "pose 0 0, rest", "pose 0 0, momentum 0"})
    EXPECT_EQ(start(value), "") << value;
  EXPECT_EQ(start("pose 0 0", "cube from wall"), "");
  EXPECT_EQ(start("pose 0 0", "cube from ground"), "");
  const auto says = [](const std::string& what, const std::string& words) {
    EXPECT_NE(what.find(words), std::string::npos) << what;
  };
  says(start("pose 0 0", "cube from wlal"), "there is no link 'wlal' (did you mean 'wall'?)");
  says(start("pose 0 0", "cub"), "there is no link 'cub' (did you mean 'cube'?)");
  for (const std::string value : {"pose 0", "pose 0 0 0"})
    says(start(value), "pose needs 2 numbers (m); allowed: pose X Y");
  for (const std::string value : {"place 0", "place 0 0 0"}) says(start(value), "place needs 2 numbers (m)");
  for (const std::string value : {"turn z 0.3", "turn"})
    says(start(value), "is not a turn; allowed: pose X Y, place, turn ANGLE");
  says(start("pose 0 0, velocity 1"), "velocity needs 2 numbers (m/s)");
  says(start("pose 0 0, spin 1 2"), "spin needs 1 number (rad/s)");
  says(start("pose 0 0, pose 1 1"), "'pose 1 1' gives the place again");
  says(start("pose 0 0, place 1 1"), "gives the place again");
  for (const char* twice : {"velocity 1 0, velocity 2 0", "rest, velocity 1 0", "velocity 1 0, rest"})
    says(start(std::string("pose 0 0, ") + twice), "gives the velocity again");
  says(start("pose 0 0, spin 1, spin 2"), "gives the spin again");
  says(start("pose 0 0, rset"), "'rset' is not understood; allowed: pose X Y, place, turn ANGLE");
}

TEST(MotionMistakes, MomentumSetsAllRates) {
  const auto said = [](const std::string& start) {
    return line(phases + "[initial-state]\nmomentum = 0\n" + start + "[goal]\nx = 1\n");
  };
  EXPECT_EQ(said("cube = pose 0 0\n"), "");
  for (const std::string entry :
       {"rate(x) = 2", "rate(x) = 0", "cube = pose 0 0, velocity 1 0", "cube = pose 0 0, rest"}) {
    const std::string what = said(entry + "\n");
    EXPECT_NE(what.find(entry + ": momentum = 0 of [initial-state] sets all rates to zero; remove one of them"),
              std::string::npos)
        << what;
  }
}

TEST(MotionMistakes, Ends) {
  const std::string held = "[phase first]\nfixed = s\nintervals = 4\nduration = 1 .. 2\n";
  const auto says = [](const std::string& text, const std::string& words) {
    const std::string what = line(text);
    if (words.empty())
      EXPECT_EQ(what, "") << text;
    else
      EXPECT_NE(what.find(words), std::string::npos) << what;
  };
  says(held + "[initial-state]\nx = 0\n[goal]\n", "");
  says(held + "[initial-state]\nx = 0\n", "the motion has no end");
  says(held + "[goal]\n", "has neither [periodic] nor a value in [initial-state] or [goal]");
  says(held + "[initial-state]\ns = 0\n[goal]\n", "s is fixed at zero in [phase first], so it has no other value");
  says(held + "[initial-state]\n[goal]\ns = 0\n", "s is fixed at zero in [phase first], so it has no other value");
  says(held + "[initial-state]\nmomentum = 0\n[goal]\nmomentum = 0\n", "");
  says(held + "[initial-state]\nmomentum = 1\n[goal]\n", "allowed: 0 (everything is at rest)");
  says(held + "[periodic]\nx = reach\n[goal]\ny = 0\n", "a motion has [periodic] or [goal], not both");
  says(held + "[periodic]\nx = reach\n[goal]\ncube = place 0 0\n", "a motion has [periodic] or [goal], not both");
  says(held + "[periodic]\nx = reach\n", "");
  says(held + "[periodic]\nx = reach\nreset = swap\n", "is not a reset of the model; allowed: none");
  says(held + "[initial-state]\nx = 0\n[goal]\n[cost]\n", "[cost] has no entries");
  says(held + "[initial-state]\nx = 0\n[goal]\n[parameters]\nreach = 2\n", "is a parameter of the model");
}

// Coordinates and rates at the ends that a joint does not allow.
TEST(MotionMistakes, EndsWithinJointLimits) {
  const auto contradiction = [](const std::string& start, const std::string& goal) {
    const std::filesystem::path path = written_study(
        std::string(model) + "[joint-limit reach_of_push]\ncoordinate = x\nfrom = -1\nto = 2 m\nspeed = 3\n",
        own_model + phases + "[initial-state]\n" + start + "\n[goal]\n" + goal + "\n[cost]\ntime = 1\n");
    const std::string what = message_of<ConfigError>([&] { MotionDesigns(read_settings(path.string(), {})); }, "none");
    std::filesystem::remove_all(path.parent_path());
    return what;
  };
  for (const char* inside : {"x = -1", "x = 2", "rate(x) = -3", "rate(x) = 3", "y = 9"})
    EXPECT_EQ(contradiction(inside, inside), "none") << inside;
  const auto expect = [](const std::string& what, const std::string& words) {
    EXPECT_NE(what.find(words), std::string::npos) << what;
  };
  expect(contradiction("x = -1.1", "x = 0"),
         "-1.1 is below from = -1 of [joint-limit reach_of_push]; change one of them");
  expect(contradiction("x = 0", "x = 2.1"), "2.1 is above to = 2 of [joint-limit reach_of_push]");
  expect(contradiction("x = 0\nrate(x) = -4", "x = 0"), "-4 exceeds speed = 3 of [joint-limit reach_of_push]");
}

// A weight of controls needs controls, and a weight of losses needs losses.
TEST(MotionMistakes, WeightsThatCountNothing) {
  const auto cost = [](const std::string& more, const std::string& weight) {
    const std::string bare = std::string(model).substr(0, std::string(model).find("[actuator"));
    const std::filesystem::path path =
        written_study(bare + more, own_model + phases + ends + "[cost]\ntime = 1\n" + weight + "\n");
    const std::string what = message_of<ConfigError>([&] { MotionDesigns(read_settings(path.string(), {})); }, "none");
    std::filesystem::remove_all(path.parent_path());
    return what;
  };
  const std::string motor = "[actuator push]\ncoordinate = x\n";
  for (const char* weight : {"squared-control = 1", "absolute-work = 1", "positive-work = 1", "loss = 1"})
    EXPECT_NE(cost("", weight).find("the model has no [actuator]"), std::string::npos) << cost("", weight);
  EXPECT_NE(cost(motor, "loss = 1").find("no [actuator] of the model has a loss"), std::string::npos);
  EXPECT_EQ(cost(motor, "squared-control = 1"), "none");
  EXPECT_EQ(cost(motor + "loss = 0.1\n", "loss = 1"), "none");
}

// The unit of a cost is open. Weights with units must agree on one; a plain number agrees with any.
TEST(MotionMistakes, WeightsWithUnitsGiveOneUnitOfTheCost) {
  const auto cost = [](const std::string& weights) { return line(phases + ends + "[cost]\n" + weights); };
  for (const char* weights :
       {"squared-control = 2 1/(N2 s)\ntime = 3 1/s\n", "squared-control = 2\ntime = 3 1/s\n", "time = 3 kg/s\n",
        "absolute-work = 2 1/J\nsquared-control = 1 1/(N2 s)\n", "time = 1 J/s\nabsolute-work = 1 m/m\n",
        "squared-control = 2 1/(N2 s)\ndistance = 3*x^2\n"})
    EXPECT_EQ(cost(weights), "") << weights;
  EXPECT_NE(cost("squared-control = 2 kg\ntime = 3 1/s\n").find("time = 3 1/s: makes a cost that is a number without"),
            std::string::npos)
      << cost("squared-control = 2 kg\ntime = 3 1/s\n");
  const std::string named =
      line("[parameters]\nprice = 2 kg/s\n" + phases + ends + "[cost]\nabsolute-work = 1 1/J\ntime = price\n");
  EXPECT_NE(named.find("time = price: makes a cost that is a mass (kg, g)"), std::string::npos) << named;
}

// No motion changes parameters, or a time that given durations determine. A condition of these alone is refused, or needs
// no row.
TEST(MotionMistakes, ConditionsThatNoMotionChanges) {
  const auto said = [](const std::string& first, const std::string& second = "", const std::string& goal = "") {
    const auto require = [](const std::string& condition) {
      return condition.empty() ? "" : "require = " + condition + "\n";
    };
    return line("[phase first]\nintervals = 6\nduration = 0.5\n" + require(first) +
                "[phase second]\nintervals = 4\nduration = 1 .. 2\n" + require(second) + ends + require(goal));
  };
  for (const char* fine : {"reach >= 1", "reach == 1", "t <= 0.5", "t >= 0 s", "2*t <= 1"})
    EXPECT_EQ(said(fine), "") << fine;
  EXPECT_EQ(said("", "t <= 0.6"), "");  // the second duration is free
  EXPECT_EQ(said("", "reach >= 1", "reach <= 1"), "");
  const auto expect = [](const std::string& what, const std::string& words) {
    EXPECT_NE(what.find(words), std::string::npos) << what;
  };
  const std::string alone = " in every motion, because it is of parameters alone; change them, or the condition";
  expect(said("reach >= 3"), "[phase first] require = reach >= 3 is violated by 2" + alone);
  expect(said("", "reach == 3"), "[phase second] require = reach == 3 is violated by 2" + alone);
  expect(said("", "", "reach >= 3"), "[goal] require = reach >= 3 is violated by 2" + alone);
  expect(said("t <= 0.4"), "[phase first] require = t <= 0.4 is violated by 0.0167 at t = 0.4167 s in every motion");
}

// Numbers of placements, waypoints and [avoid] have the dimension of their place.
TEST(MotionMistakes, NumbersOfPlacesHaveTheirDimension) {
  const auto said = [](const std::string& place, const std::string& more = "") {
    std::string text = ends;
    text.replace(text.find("x = 0\ny = 0\na = 0\n"), 18, "cube = " + place + "\n");
    text.erase(text.find("momentum = 0\n"), 13);
    const std::filesystem::path file =
        written_study(model, own_model + phases + text + more + "[cost]\nsquared-control = 1\n");
    const std::string what = message_of<ConfigError>([&] { MotionDesigns(read_settings(file.string(), {})); });
    std::filesystem::remove_all(file.parent_path());
    return what;
  };
  const auto expect = [](const std::string& what, const std::string& part) {
    EXPECT_NE(what.find(part), std::string::npos) << what;
  };
  EXPECT_EQ(said("pose reach/2 5 cm, turn 20 deg, velocity 1 0, spin 0.1"), "");
  EXPECT_EQ(said("pose free 0.1..0.2, rest"), "");
  expect(said("pose 0.5 kg 0"), "is a mass (kg, g); expected a length (m, cm, mm)");
  expect(said("pose free 0.1 s..0.2 s"), "is a time (s, ms, min, h); expected a length (m, cm, mm)");
  expect(said("pose 0 0, turn 2 m"), "is a length (m, cm, mm); expected an angle (rad, deg)");
  expect(said("pose 0 0, velocity 1 m 0"), "is a length (m, cm, mm); expected a speed (m/s, mm/s)");
  expect(said("pose 0 0, spin 1 m"), "is a length (m, cm, mm); expected an angular velocity (rad/s, deg/s, rpm)");
  EXPECT_EQ(said("pose 0 0", "[avoid]\ncube, wall = 1 mm\nmax-rotation = 20 deg\n"), "");
  expect(said("pose 0 0", "[avoid]\ncube, wall = 1 kg\n"), "is a mass (kg, g); expected a length");
  expect(said("pose 0 0", "[avoid]\ncube, wall = 0\nmax-rotation = 1 m\n"), "expected an angle (rad, deg)");
  EXPECT_EQ(said("pose 0 0", "[waypoint w]\nshare = 0.5\nx = 5 cm\n"), "");
  expect(said("pose 0 0", "[waypoint w]\nshare = 0.5\nx = 5 deg\n"), "is an angle (rad, deg); expected a length");
  expect(said("pose 0 0", "[waypoint w]\nshare = 0.5\ncube = pose 1 1, rest\n"),
         "a waypoint is a place, without velocity");
  expect(said("pose 0 0", "[waypoint w]\nshare = 0.5\n"), "names no place; add LINK = pose ..., or COORDINATE = value");
  expect(said("pose 0 0\ncube from cube = pose 1 1"), "a link has no place relative to itself; name two links");
}

// A coordinate with which no mass moves needs a force that depends on it, or it is undetermined.
TEST(MotionMistakes, CoordinatesWithoutMassOrForce) {
  const auto said = [](const std::string& more, const std::string& phase = "") {
    const std::filesystem::path path = written_study(
        model + ("[link arm]\nparent = lorry\njoint = revolute\ncoordinates = q\nmass = 0\n" + more),
        own_model + "[phase first]\nduration = 0.5\n" + phase + "[initial-state]\nx = 0\n[goal]\n[cost]\ntime = 1\n");
    const std::string what = message_of<ConfigError>([&] { MotionDesigns(read_settings(path.string(), {})); });
    std::filesystem::remove_all(path.parent_path());
    return what;
  };
  EXPECT_NE(said("").find("motion.model = own.model: no mass moves with coordinate q, and no force acts on it; "
                          "give a link that it moves mass or inertia, or fix its joint"),
            std::string::npos)
      << said("");
  EXPECT_EQ(said("", "fixed = q\n"), "");
  EXPECT_EQ(said("[spring s]\ncoordinate = q\nstiffness = 2\n"), "");
  EXPECT_EQ(said("[drag d]\nlink = arm\nangular = 2\n"), "");
  EXPECT_EQ(said("[rotor r]\nplace = q\nmass = 1\n"), "");
}

// A phase fixes coordinates or a point.
TEST(MotionMistakes, FixedNamesAreCoordinatesOrPoints) {
  const auto said = [](const std::string& fixed) {
    return line("[phase first]\nfixed = " + fixed + "\nduration = 0.5\n[initial-state]\nx = 1\n[goal]\n");
  };
  EXPECT_EQ(said("y, a"), "");
  const std::string wrong = said("tipp");
  EXPECT_NE(wrong.find("'tipp' is neither a coordinate nor a [point] (did you mean 'tip'?); allowed: x, y, a, r, s, or "
                       "a [point] at the origin of the first link"),
            std::string::npos)
      << wrong;
}

// A guess of a coordinate that the start gives would have no effect.
TEST(MotionMistakes, GuessesOfWhatIsGiven) {
  expect("[guess]\nx = 2\n", "[initial-state] gives x, so this guess has no effect");
  EXPECT_EQ(line(phases + "[initial-state]\ny = 0\n[goal]\nx = reach\n[guess]\nx = 2\n"), "");
}

// Parts of two moving bodies in planned contact have a plane per node, if the study asks for it. They may come nearer
// at the nodes next to the contact.
TEST(MotionPairs, PlanesOfNodesAreForBodiesThatMoveTogether) {
  const auto pair = [](const std::string& carrier, const std::string& planes, const std::string& more = "") {
    const std::filesystem::path path =
        written_study(model, own_model + "contact-planes = " + planes + "\n" + more + phases + ends +
                                 "[contact one]\nphase = first\nnode = 3\ntouch = tip, " + carrier +
                                 "\n[avoid]\nmax-rotation = 0.3\ncube, " + carrier + " = 0.05\n[cost]\ntime = 1\n");
    const MotionDesigns designs(read_settings(path.string(), {}));
    std::filesystem::remove_all(path.parent_path());
    const auto all = avoided_parts(designs.motion(), middle_design(designs.motion()));
    EXPECT_EQ(all.size(), 1u);
    return all.front();
  };
  EXPECT_EQ(pair("lorry", "node").plane_turn, 0.3);
  EXPECT_EQ(pair("lorry", "interval").plane_turn, std::nullopt);
  EXPECT_EQ(pair("wall", "node").plane_turn, std::nullopt);
  EXPECT_FALSE(pair("wall", "node").affine);
  EXPECT_TRUE(pair("wall", "interval", "planes = affine\n").affine);
  const std::string line = message_of<ConfigError>([&] { pair("lorry", "node", "planes = affine\n"); });
  EXPECT_NE(line.find("node is a choice for motion.planes = interval"), std::string::npos) << line;
  for (const std::string carrier : {"lorry", "wall"}) {
    const auto one = pair(carrier, "interval");
    EXPECT_EQ(one.margin.value, 0.05);
    ASSERT_EQ(one.nearer.size(), 2u);  // the contact cuts the phase into 3 and 3 intervals
    EXPECT_EQ(one.nearer[0].first, (std::pair{0, 2}));
    EXPECT_EQ(one.nearer[1].first, (std::pair{1, 0}));
    for (const auto& [where, margin] : one.nearer) EXPECT_LT(margin.value, 0.0);
  }
}

// A period that phases can last together is accepted, up to both ends.
TEST(MotionMistakes, APeriodIsWithinWhatPhasesLastAndACostIsPerAPositiveNumber) {
  const auto rejection = [](const std::string& period, const std::string& duration = "1 .. 2",
                            const std::string& cost = "time = 1\n") {
    const std::filesystem::path path = written_study(
        model, own_model + "[phase first]\nintervals = 4\nduration = 0.5\n[phase second]\nintervals = 4\n" +
                   "duration = " + duration + "\n[periodic]\nx = reach\nperiod = " + period + "\n[cost]\n" + cost);
    const MotionDesigns designs(read_settings(path.string(), {}));
    std::filesystem::remove_all(path.parent_path());
    return designs.rejection(middle_design(designs.motion())).reason;
  };
  for (const std::string period : {"1.5", "2", "2.5"}) EXPECT_EQ(rejection(period), "") << period;
  EXPECT_EQ(rejection("1.4"), "[periodic] period = 1.4 s: the phases last 1.5 to 2.5 s together");
  EXPECT_EQ(rejection("2.6"), "[periodic] period = 2.6 s: the phases last 1.5 to 2.5 s together");
  EXPECT_EQ(rejection("2", "2 s*reach/1 m .. 1 s*reach/1 m"), "[phase second] would last 2 to 1 s");
  EXPECT_EQ(rejection("2", "0 s*reach/1 m .. 1"), "[phase second] would last 0 to 1 s");
  EXPECT_EQ(rejection("2", "-1 s*reach/1 m .. 1"), "[phase second] would last -1 to 1 s");
  EXPECT_EQ(rejection("2", "1 .. 2", "time = 1\nper = 0\n"), "[cost] per = 0 is not positive");
}

}  // namespace
}  // namespace dodyn::evaluators::test_motion_mistakes
