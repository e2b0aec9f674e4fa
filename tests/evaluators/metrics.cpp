// [metrics]: expressions over motions and gaits, against closed forms and against the cost; refused entries.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "evaluators/evaluator.hpp"
#include "tests/message_of.hpp"
#include "whole.hpp"
#include "written.hpp"

namespace dodyn::evaluators::test_metrics {
namespace {

const std::string mass_model =
    "[model]\ndimension = 2\ngravity = 0\n[parameters]\nload = 2\n[link body]\nparent = ground\njoint = prismatic x\n"
    "coordinates = s\nmass = load\n[point tip]\nlink = body\nat = 0, 0.5\n[actuator push]\ncoordinate = s\n";
// From rest to rest over 1 m in 1 s.
std::string straight(int order, int intervals, const std::string& more) {
  return own_model + "order = " + std::to_string(order) +
         "\naccuracy = 0\ninitial-guesses = 1\ntolerance = 1e-11\nvalidity-check = warn\n"
         "[phase only]\nduration = 1\nintervals = " +
         std::to_string(intervals) + "\n[initial-state]\ns = 0\nmomentum = 0\n[goal]\ns = 1\nmomentum = 0\n" + more;
}
const std::string squares = "[cost]\nsquared-control = 1\n";

std::unique_ptr<Evaluator> study(const std::string& model, const std::string& text,
                                 const std::vector<std::string>& words = {}, const std::string& evaluator = "motion") {
  const std::filesystem::path path = written_study(model, text, "own.model", evaluator);
  auto made = make_evaluator(read_settings(path.string(), words));
  std::filesystem::remove_all(path.parent_path());
  return made;
}
std::string complaint(const std::string& metrics) {
  const std::string line =
      message_of<ConfigError>([&] { study(mass_model, straight(2, 8, squares + "[metrics]\n" + metrics + "\n")); });
  EXPECT_EQ(line.find('\n'), std::string::npos) << line;
  return line;
}
Quantity quantity(const Evaluator& evaluator, const std::string& name) {
  for (const Quantity& one : evaluator.metrics())
    if (one.name == name) return one;
  ADD_FAILURE() << "no metric " << name;
  return {};
}

// Minimum squared force on a mass m from rest to rest, distance 1, time 1: u = m (6 - 12 t), v = 6 t (1 - t).
TEST(Metrics, OfAMassBesideItsClosedForm) {
  const std::string metrics =
      "[metrics]\npeak = max_over(abs(u.push))\nlowest = min_over(u.push)\neffort = integral(u.push^2)\n"
      "pushed = integral(max(u.push*rate(s), 0))\nrms = sqrt(mean(u.push^2))\nfastest = max_over(speed(tip))\n"
      "mean_rate = mean(rate(s))\nway = at_end(s) - at_start(s)\nlast_rate = at_end(rate(s))\n"
      "half = 0.5*load*fastest^2\nratio = pushed/half + 0*duration/1 s\nlater = mean(t)\nhigh = min_over(tip.y)\n";
  for (const int order : {2, 4, 6}) {
    const int K = 60;
    const auto evaluator = study(mass_model, straight(order, K, squares + metrics));
    const Outcome outcome = evaluator->evaluate(task());
    ASSERT_EQ(outcome.evaluation.status, Status::ok) << outcome.evaluation.reason;
    const auto value = [&](const std::string& name) { return metric(*evaluator, outcome, name); };
    const double h = 1.0 / K, first = 0.5 * h *
                                      (1.0 - (order == 2   ? 0.0
                                              : order == 4 ? std::sqrt(1.0 / 3)
                                                           : std::sqrt(0.6)));
    const double slack = order == 2 ? 1e-3 : 1e-6;
    EXPECT_NEAR(value("peak"), 2.0 * (6.0 - 12.0 * first), 24.0 * slack) << order;
    EXPECT_NEAR(value("lowest"), -value("peak"), 1e-7);
    EXPECT_NEAR(value("effort"), 48.0, 48.0 * slack);
    EXPECT_NEAR(value("effort"), outcome.evaluation.cost, 1e-13 * outcome.evaluation.cost);
    EXPECT_NEAR(value("rms"), std::sqrt(48.0), slack * 7.0);
    EXPECT_NEAR(value("pushed"), 2.25, 4e-3);  // the sign changes within an interval
    EXPECT_NEAR(value("fastest"), 1.5, 5e-4);
    EXPECT_NEAR(value("mean_rate"), 1.0, 1e-12);
    EXPECT_NEAR(value("way"), 1.0, 1e-12);
    EXPECT_NEAR(value("last_rate"), 0.0, 1e-12);
    EXPECT_NEAR(value("half"), value("fastest") * value("fastest"), 1e-12);
    EXPECT_NEAR(value("ratio"), value("pushed") / value("half"), 1e-14);
    EXPECT_NEAR(value("later"), 0.5, 1e-12);
    EXPECT_EQ(value("high"), 0.5);
    const std::pair<const char*, const char*> units[] = {{"peak", "N"},     {"fastest", "m/s"}, {"way", "m"},
                                                         {"pushed", "N m"}, {"later", "s"},     {"rms", "N"}};
    for (const auto& [name, unit] : units) EXPECT_EQ(quantity(*evaluator, name).unit, unit) << name;
    EXPECT_EQ(quantity(*evaluator, "peak").description, "value of max_over(abs(u.push))");
  }
}

// An integral is the contribution of the same [cost], also with unknown durations, time and rates of controls.
TEST(Metrics, AnIntegralIsTheCost) {
  for (const int order : {2, 4, 6}) {
    const std::string formula =
        std::string("u.push^2/(1 N^2) + 3*s^2*t/(1 m^2*1 s) + load/(1 kg)*(rate(s)/(1 m/s) - 0.4)^2") +
        (order == 2 ? " + 0.01*rate(u.push)^2/(1 N/s)^2" : "");
    const std::string text =
        own_model + "order = " + std::to_string(order) +
        "\naccuracy = 0\ninitial-guesses = 1\nvalidity-check = warn\n[parameters]\nshare = 3\n"
        "[phase one]\nduration = 0.6\nintervals = 7\n[phase two]\n"
        "duration = 0.3 .. 2\nintervals = 5\n[initial-state]\ns = 0\nmomentum = 0\n[goal]\ns = 1\n"
        "momentum = 0\n[cost]\nown = " +
        formula + "\ntime = 1\nper = share\n[metrics]\nown = integral(" + formula + ")\nboth = integral(" + formula +
        ", one) + integral(" + formula +
        ", two)\nall = (own/1 s + duration/1 s)/share\nlast = duration_one/1 s + at_start(s, two)/1 m\n";
    const auto evaluator = study(mass_model, text);
    const Outcome outcome = evaluator->evaluate(task());
    ASSERT_EQ(outcome.evaluation.status, Status::ok) << outcome.evaluation.reason;
    const auto value = [&](const std::string& name) { return metric(*evaluator, outcome, name); };
    EXPECT_NEAR(value("all"), outcome.evaluation.cost, 1e-13 * outcome.evaluation.cost) << order;
    EXPECT_NEAR(value("both"), value("own"), 1e-13 * value("own"));
    const Eigen::MatrixXd& q = channel(*evaluator, outcome, "q");
    EXPECT_NEAR(value("last"), value("duration_one") + q(7 * order / 2 + 1, 0), 1e-13);
  }
}

// Before and after an impact the rates differ by the law; a phase that a contact splits has its pieces.
TEST(Metrics, AtTheEndsOfPhases) {
  const std::string ball =
      "[model]\ndimension = 2\ngravity = 9.81\n[link floor]\nparent = ground\njoint = fixed\n[shape floor]\n"
      "link = floor\nbox = 4, 0.2\nat = 0, -0.1\noutward = 0, 1\n[link ball]\nparent = ground\njoint = point\n"
      "coordinates = x, y\nmass = 2\n[point ball]\nlink = ball\nat = 0, 0\n[actuator lift]\ncoordinate = y\n"
      "[actuator push]\ncoordinate = x\n";
  for (const int order : {2, 4}) {
    const std::string text =
        own_model + "order = " + std::to_string(order) +
        "\naccuracy = 0\ninitial-guesses = 1\ntolerance = 1e-10\nvalidity-check = warn\n[phase only]\nduration = 0.9\n"
        "intervals = 20\n[contact floor]\nnode = 10\ntouch = ball, floor\nlaw = restitution 0.5\n[initial-state]\n"
        "x = 0\ny = 1\nmomentum = 0\n[goal]\nx = 0\ny = 0.5\nmomentum = 0\n[cost]\nsquared-control = 1\n[metrics]\n"
        "arrives = at_end(rate(y), only_1)\nleaves = at_start(rate(y), only_2)\n"
        "lost = 0.5*2 kg*(arrives^2 - leaves^2) - impact_loss\nlow = min_over(ball.y)\nhigh = max_over(y, only_2)\n"
        "whole = max_over(y, only) + at_end(y, only)\nend = at_end(y)\n";
    const auto evaluator = study(ball, text);
    const Outcome outcome = evaluator->evaluate(task());
    ASSERT_EQ(outcome.evaluation.status, Status::ok) << outcome.evaluation.reason;
    const auto value = [&](const std::string& name) { return metric(*evaluator, outcome, name); };
    EXPECT_LT(value("arrives"), -1.0);
    EXPECT_NEAR(value("leaves"), -0.5 * value("arrives"), 1e-9) << order;
    EXPECT_NEAR(value("lost"), 0.0, 1e-9);
    EXPECT_NEAR(value("low"), 0.0, 1e-10);
    EXPECT_GT(value("high"), 0.2);
    EXPECT_LT(value("high"), 1.0);
    EXPECT_NEAR(value("whole"), 1.5, 1e-10);
    EXPECT_NEAR(value("end"), 0.5, 1e-10);
    EXPECT_EQ(quantity(*evaluator, "lost").unit, "N m");
    EXPECT_EQ(quantity(*evaluator, "arrives").unit, "m/s");
  }
}

// Without a goal the rates at the end are no unknowns; without a start neither.
TEST(Metrics, RatesAtAFreeEnd) {
  const std::string text =
      own_model +
      "accuracy = 0\ninitial-guesses = 1\nvalidity-check = warn\n[phase only]\nduration = 1\n"
      "intervals = 40\n[initial-state]\ns = 0\nrate(s) = 3\n[goal]\n[cost]\nown = u.push^2 + (s - 1)^2\n[metrics]\n"
      "last = at_end(rate(s))\nfirst = at_start(rate(s))\ngain = load*(last - first)\npush = integral(u.push)\n";
  const auto evaluator = study(mass_model, text);
  const Outcome outcome = evaluator->evaluate(task());
  ASSERT_EQ(outcome.evaluation.status, Status::ok) << outcome.evaluation.reason;
  EXPECT_NEAR(metric(*evaluator, outcome, "first"), 3.0, 1e-10);
  EXPECT_NEAR(metric(*evaluator, outcome, "gain"), metric(*evaluator, outcome, "push"), 1e-8);  // momentum balance
  EXPECT_GT(std::abs(metric(*evaluator, outcome, "gain")), 1e-3);
}

// On a refined mesh the metrics are those of its motion, as the cost is.
TEST(Metrics, OfARefinedMesh) {
  const std::string metrics = "[metrics]\neffort = integral(u.push^2)\npeak = max_over(u.push)\n";
  const auto evaluator = study(mass_model, straight(2, 10, squares + metrics),
                               {"--motion.refine-tolerance=1e-9", "--motion.refinements=2"});
  const Outcome outcome = evaluator->evaluate(task());
  ASSERT_EQ(metric(*evaluator, outcome, "intervals"), 40.0) << outcome.evaluation.reason;
  EXPECT_NEAR(metric(*evaluator, outcome, "effort"), outcome.evaluation.cost, 1e-12 * outcome.evaluation.cost);
  const auto fine = study(mass_model, straight(2, 40, squares + metrics));
  EXPECT_NEAR(metric(*evaluator, outcome, "peak"), metric(*fine, fine->evaluate(task()), "peak"), 1e-6);
}

// A gait: [metrics] repeats two of its own metrics, and a step's length.
TEST(Metrics, OfAGait) {
  for (const int order : {2, 4}) {
    const std::string text =
        "[gait]\nmodel = rabbit\nintervals = 12\norder = " + std::to_string(order) +
        "\ninitial-guesses = 1\nshifts = 0\naccuracy = 0\nvalidity-check = warn\n[parameters]\nstep-length = 0.45\n"
        "period = 0.45\n[cost]\nsquared-torque = 0.02\nlift = 3000*(swing_foot.y - 0.2*(t/period)*(1 - "
        "t/period))^2\n[metrics]\nheight = max_over(swing_foot.y)\nstep = at_end(swing_foot.x)\n"
        "speed = step/step-length*(step-length/period)\nseconds = integral(u.stance_hip*0/(1 N m) + 1 + 0*t/1 s)\n"
        "push = integral(normal(foot))\nleast = min_over(normal(foot))\nslips = max_over(abs(tangential(foot)) - "
        "reaction(y))\n";
    const std::filesystem::path path = written_study("", text, "none.model", "gait");
    const Settings settings = read_settings(path.string(), {});
    const auto names = [&] {
      std::string list;
      for (const Channel& c : make_evaluator(settings)->channels())
        if (c.name == "u")
          for (const std::string& name : c.coordinates) list += name + " ";
      return list;
    };
    const auto evaluator = make_evaluator(settings);
    const Outcome outcome = evaluator->evaluate(task());
    ASSERT_EQ(outcome.evaluation.status, Status::ok) << outcome.evaluation.reason << names();
    const auto value = [&](const std::string& name) { return metric(*evaluator, outcome, name); };
    EXPECT_NEAR(value("height"), value("max_foot_height"), 1e-14);
    EXPECT_NEAR(value("step"), 0.45, 1e-9);
    EXPECT_NEAR(value("speed"), 1.0, 1e-9);
    EXPECT_NEAR(value("seconds"), 0.45, 1e-13);
    // The ground carries the weight of 40 kg over a step, by forces and by the impulse of touch-down.
    EXPECT_NEAR(value("push") + channel(*evaluator, outcome, "impulse")(0, 1), 40.0 * 9.81 * 0.45, 1e-6) << order;
    EXPECT_EQ(value("least"), value("min_normal_force"));
    const Eigen::MatrixXd& force = channel(*evaluator, outcome, "contact_force");
    EXPECT_EQ(value("slips"), (force.col(0).cwiseAbs() - force.col(1)).maxCoeff());
    EXPECT_EQ(quantity(*evaluator, "push").unit, "N s");
    EXPECT_EQ(quantity(*evaluator, "step").unit, "m");
  }
}

TEST(Metrics, MistakesAreOneLine) {
  const auto expect = [](const std::string& entry, const std::string& words) {
    const std::string line = complaint(entry);
    EXPECT_NE(line.find(words), std::string::npos) << entry << "\n" << line;
  };
  EXPECT_EQ(complaint("peak = max_over(u.push)"), "");
  expect("peak = max_over(u.pusj)", "unknown name 'u.pusj' (did you mean 'u.push'?)");
  expect("peak = u.push", "'u.push' has many values; take one of them, such as max_over(u.push)");
  expect("peak = maxover(s)", "unknown name 'maxover(s)' (did you mean 'max_over'?)");
  expect("peak = maxover(abs(s))", "unknown function 'maxover' (did you mean 'max_over'?)");
  expect("peak = laod*2", "unknown name 'laod' (did you mean 'load'?)");
  expect("peak = max_over(mean(s))", "has an aggregate in an aggregate");
  expect("peak = max_over(load)", "'load' does not depend on the motion; remove max_over");
  expect("peak = max_over(s, fligt)", "there is no phase 'fligt'; allowed: only");
  expect("peak = max_over(s, onli)", "there is no phase 'onli' (did you mean 'only'?)");
  expect("peak = max_over()", "has 0 arguments");
  expect("peak = max_over(s", "'max_over(s' is incomplete");
  expect("peak = max_over(s) > 3", "is a condition; allowed: a number");
  expect("peak = max_over(s > 3)", "is a condition");
  expect("peak = max_over(s) + max_over(u.push)", "are added");
  expect("peak = max_over(s + u.push)", "are added in 's + u.push'");
  expect("peak = at_end(u.push)", "controls have no value at an end");
  expect("peak = at_end(t)", "t cannot be used at an end; use the metric duration");
  expect("peak = max_over(normal(tip))", "'normal(tip)' is no force of a phase here");
  expect("peak = max_over(reaction(s))", "'reaction(s)' is no force of a phase here");
  expect("peak = max_over(normal(tip) + s)", "'s' is neither a force nor a parameter");
  expect("peak = at_start(normal(tip))", "forces have no value at an end");
  expect("peak = other + 1\nother = max_over(s)", "uses other, which is not above it");
  expect("max_control = max_over(s)", "has the name of another metric; choose another name");
  expect("cost = max_over(s)", "has the name of a column of every study");
  expect("load = max_over(s)", "is a parameter of the model");
  expect("s = max_over(s)", "is a coordinate of the model; choose another name");
  expect("a-b = max_over(s)", "not a valid name; allowed: letters, digits and _");
  expect("a = max_over(s)\na = max_over(s)", "a is given twice");
}

// Evaluators without metrics of a configuration refuse the section by name.
TEST(Metrics, OtherEvaluatorsRefuseThem) {
  for (const std::string evaluator : {"hybrid", "elastic", "command", "testfunction", "air-table", "coil-fit"}) {
    const std::string line =
        message_of<ConfigError>([&] { study(mass_model, "[" + evaluator + "]\n[metrics]\na = 1\n", {}, evaluator); });
    EXPECT_NE(line.find("metrics.a belongs to evaluator gait, motion, simulation; this study's is " + evaluator),
              std::string::npos)
        << line;
    EXPECT_EQ(line.find('\n'), std::string::npos) << line;
  }
}

}  // namespace
}  // namespace dodyn::evaluators::test_metrics
