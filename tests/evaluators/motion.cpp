#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include "evaluators/evaluator.hpp"
#include "evaluators/motion/design.hpp"
#include "tests/message_of.hpp"
#include "whole.hpp"
#include "written.hpp"

namespace dodyn::evaluators::test_motion {
namespace {

const std::string slider = R"(
[model]
name = slider
dimension = 2
gravity = 0
[parameters]
mass = 1
[link body]
parent = ground
joint = prismatic x
coordinates = s
mass = mass
[actuator push]
coordinate = s
)";

// Returns the evaluator of a study of the slider's model file.
std::unique_ptr<Evaluator> study(const std::string& text, const std::vector<std::string>& words = {},
                                 Settings* settings = nullptr) {
  const std::filesystem::path path = written_study(slider, text, "slider.model");
  const Settings read = read_settings(path.string(), words);
  if (settings) *settings = read;
  auto evaluator = make_evaluator(read);
  std::filesystem::remove_all(path.parent_path());
  return evaluator;
}

// Returns the number of rows of a study's problem.
int rows_of(const std::string& text) {
  const std::filesystem::path path = written_study(slider, text, "slider.model");
  const MotionDesigns designs(read_settings(path.string(), {}));
  std::filesystem::remove_all(path.parent_path());
  const Eigen::VectorXd design;
  return designs.plan(design, designs.initial_guess(design, 0, 0)).problem.problem().constraints();
}

const std::string rest_to_rest = R"(
[motion]
model = slider.model
initial-guesses = 2
[parameters]
way = 1
time = 1
[phase only]
intervals = 10
duration = time
[initial-state]
s = 0
rate(s) = 0
[goal]
s = way
rate(s) = 0
[cost]
squared-control = 0.5
[design]
mass.min = 0.5
mass.max = 2
way.min = 0.5
way.max = 2
time.min = 0.5
time.max = 2
)";

// From rest to rest: m^2 d^2/T^3 times 6/(1 - 1/N^2), exactly, and so are the derivatives.
TEST(Motion, DoubleIntegratorHasItsClosedForm) {
  Settings settings;
  const auto evaluator = study(rest_to_rest, {}, &settings);
  std::vector<std::string> names;
  for (const auto& v : settings.variables) names.push_back(v.name);
  ASSERT_EQ(names, (std::vector<std::string>{"mass", "way", "time"}));
  const double m = 1.3, d = 0.7, T = 0.9;
  const Outcome outcome = evaluator->evaluate(task({m, d, T}));
  ASSERT_EQ(outcome.evaluation.status, Status::ok) << outcome.evaluation.reason;
  const double cost = m * m * d * d / (T * T * T) * 6.0 / (1.0 - 0.01);
  EXPECT_NEAR(outcome.evaluation.cost, cost, 1e-8 * cost);
  const auto& gradient = outcome.evaluation.gradient;
  EXPECT_NEAR(gradient(0), 2.0 * cost / m, 1e-6 * cost);
  EXPECT_NEAR(gradient(1), 2.0 * cost / d, 1e-6 * cost);
  EXPECT_NEAR(gradient(2), -3.0 * cost / T, 1e-6 * cost);
  EXPECT_LE(metric(*evaluator, outcome, "reintegration_error"), 1e-8);
}

// Conditions of parameters and given times have no rows, at knots of order 4 neither.
TEST(Motion, ConditionsThatNoMotionChangesHaveNoRows) {
  const std::string text = rest_to_rest.substr(0, rest_to_rest.find("[design]"));
  const auto with = [&](const std::string& phase, const std::string& goal, const std::string& duration = "time") {
    std::string all = text;
    all.replace(all.find("rate(s) = 0\n[cost]"), 12, "rate(s) = 0\n" + goal);
    return rows_of(all.replace(all.find("duration = time"), 15, "duration = " + duration + "\n" + phase));
  };
  const int plain = with("", "");
  EXPECT_EQ(with("require = mass <= 2, mass == 1, t <= time\n", "require = way >= 1\n"), plain);
  EXPECT_EQ(with("require = s <= 2 m + 1 m/s*t\n", ""), plain + 11);
  EXPECT_EQ(with("require = t <= 2\n", "", "1 .. 3"), with("", "", "1 .. 3") + 11);
}

// Where there is one optimum, time-warped starts lead back to it: the search ends, with the same motion.
TEST(Motion, ShiftsOfASingleOptimumChangeNothing) {
  const std::string text = rest_to_rest.substr(0, rest_to_rest.find("[design]"));
  double cost = 0.0;
  for (const char* shifts : {"0", "1", "2"}) {
    const Outcome outcome = study(text, {"--motion.shifts", shifts})->evaluate(task({}));
    ASSERT_EQ(outcome.evaluation.status, Status::ok) << outcome.evaluation.reason;
    if (cost == 0.0) cost = outcome.evaluation.cost;
    EXPECT_NEAR(outcome.evaluation.cost, cost, 1e-9 * cost) << shifts;
  }
}

// A duration that is an unknown: 6 c/T^3 + w T is least at T = (18 c/w)^(1/4).
// A cart that advances against a drag: u = c v has the cost c^2 way^2/T. Its place has no meaning, so all guesses find one
// motion, and the place stays where the guess has it.
TEST(Motion, MotionsThatDifferByAPlaceAreOne) {
  const std::filesystem::path path =
      written_study(slider + "[drag air]\nlink = body\nlinear = 0.5\n",
                    "[motion]\nmodel = own.model\ninitial-guesses = 6\n[phase only]\nintervals = 20\nduration = 2\n"
                    "[periodic]\ns = 3\n[guess]\ns = 40\n[cost]\nsquared-control = 1\n");
  const auto evaluator = make_evaluator(read_settings(path.string(), {}));
  std::filesystem::remove_all(path.parent_path());
  const Outcome outcome = evaluator->evaluate(task());
  ASSERT_EQ(outcome.evaluation.status, Status::ok) << outcome.evaluation.reason;
  EXPECT_NEAR(outcome.evaluation.cost, 0.25 * 9.0 / 2.0, 1e-8);
  EXPECT_EQ(metric(*evaluator, outcome, "guesses_solved"), 6.0);
  EXPECT_EQ(metric(*evaluator, outcome, "optima"), 1.0);
  EXPECT_EQ(outcome.trajectory.values[1](0, 0), 40.0);
}

TEST(Motion, FreeDurationHasItsClosedForm) {
  std::string text = rest_to_rest.substr(0, rest_to_rest.find("[design]"));
  text.replace(text.find("duration = time"), 15, "duration = 0.2 .. 5");
  const auto evaluator = study(text + "time = 0.8\n");
  const Outcome outcome = evaluator->evaluate(task({}));
  ASSERT_EQ(outcome.evaluation.status, Status::ok) << outcome.evaluation.reason;
  const double c = 1.0 / (1.0 - 0.01), T = std::pow(18.0 * c / 0.8, 0.25);
  EXPECT_NEAR(metric(*evaluator, outcome, "duration"), T, 1e-6);
  EXPECT_NEAR(outcome.evaluation.cost, 6.0 * c / (T * T * T) + 0.8 * T, 1e-7);
}

// As fast as possible where the force changes by at most `jerk` per second and may have any value at the ends: it falls
// evenly, and T^3 = 12 m d / jerk; on K intervals that over 1 - 1/K^2.
TEST(Motion, ABoundOfTheControlsRateHasItsClosedForm) {
  std::string text = rest_to_rest;
  text.replace(text.find("duration = time"), 15, "duration = 0.1 .. 5\nrequire = abs(rate(u.push)) <= jerk");
  text.replace(text.find("time = 1"), 8, "jerk = 9");
  text.replace(text.find("squared-control = 0.5"), 21, "time = 1");
  text.replace(text.find("time.min = 0.5\ntime.max = 2"), 27, "jerk.min = 1\njerk.max = 100");
  const auto evaluator = study(text);
  const double m = 1.3, d = 0.7, jerk = 8.0;
  const Outcome outcome = evaluator->evaluate(task({m, d, jerk}));
  ASSERT_EQ(outcome.evaluation.status, Status::ok) << outcome.evaluation.reason;
  const double T = std::cbrt(12.0 * m * d / jerk / (1.0 - 0.01));
  EXPECT_NEAR(outcome.evaluation.cost, T, 1e-7);
  EXPECT_NEAR(outcome.evaluation.gradient(0), T / (3.0 * m), 1e-5);
  EXPECT_NEAR(outcome.evaluation.gradient(1), T / (3.0 * d), 1e-5);
  EXPECT_NEAR(outcome.evaluation.gradient(2), -T / (3.0 * jerk), 1e-5);
}

// The integral of (1 + t) u^2 over a second, in two phases: u = (a + b t)/(1 + t), where a and b follow from the way
// and the rest.
TEST(Motion, ACostOfTimeHasItsClosedForm) {
  const auto cost = [](int intervals) {
    std::string text = rest_to_rest.substr(0, rest_to_rest.find("[design]"));
    text.replace(text.find("[phase only]\nintervals = 10\nduration = time"), 43,
                 "[phase one]\nintervals = " + std::to_string(2 * intervals) +
                     "\nduration = 0.4\n[phase two]\nintervals = " + std::to_string(3 * intervals) +
                     "\nduration = 0.6");
    text.replace(text.find("squared-control = 0.5"), 21, "weighted = (1 + t)*u.push^2");
    const Outcome outcome = whole(*study(text));
    EXPECT_EQ(outcome.evaluation.status, Status::ok) << outcome.evaluation.reason;
    return outcome.evaluation.cost;
  };
  // of 1/(1 + t) and t/(1 + t) from 0 to 1: the integrals, and those times 1 - t
  const double log2 = std::log(2.0), force[] = {log2, 1.0 - log2}, way[] = {2.0 * log2 - 1.0, 1.5 - 2.0 * log2};
  const double b = 1.0 / (way[1] - way[0] * force[1] / force[0]), a = -b * force[1] / force[0];
  const double exact = a * a * log2 + 2.0 * a * b * (1.0 - log2) + b * b * (log2 - 0.5);
  const double coarse = cost(10), fine = cost(20);
  EXPECT_NEAR(coarse / exact, 1.0, 1e-3);
  EXPECT_NEAR((4.0 * fine - coarse) / 3.0 / exact, 1.0, 1e-6);
}

// An actuator that rests in the second of three phases: the least integral of u^2 is 48/13 then.
TEST(Motion, AnActuatorMayRestInAPhase) {
  const auto cost = [](int intervals) {
    std::string text = rest_to_rest.substr(0, rest_to_rest.find("[design]")), phases;
    for (const char* name : {"push", "glide", "brake"})
      phases += "[phase " + std::string(name) + "]\nintervals = " + std::to_string(intervals) + "\nduration = 0.5\n" +
                (std::string(name) == "glide" ? "require = u.push == 0\n" : "");
    text.replace(text.find("[phase only]\nintervals = 10\nduration = time\n"), 44, phases);
    text.replace(text.find("squared-control = 0.5"), 21, "squared-control = 1");
    const auto evaluator = study(text);
    const Outcome outcome = whole(*evaluator);
    EXPECT_EQ(outcome.evaluation.status, Status::ok) << outcome.evaluation.reason;
    return outcome.evaluation.cost;
  };
  EXPECT_NEAR((4.0 * cost(20) - cost(10)) / 3.0, 48.0 / 13.0, 1e-6);
}

// The search of gaits serves motions: on any mesh and in any tasks the cost is that of the mesh it is said to be of.
TEST(Motion, CoarseMeshesRefinementsAndTasksKeepTheClosedForm) {
  const std::string text = rest_to_rest.substr(0, rest_to_rest.find("[design]"));
  const auto closed_form = [](double intervals) { return 6.0 / (1.0 - 1.0 / (intervals * intervals)); };
  const auto found = [&](const std::vector<std::string>& words, double intervals) {
    const auto evaluator = study(text, words);
    const Outcome outcome = whole(*evaluator);
    EXPECT_EQ(outcome.evaluation.status, Status::ok) << outcome.evaluation.reason;
    EXPECT_EQ(metric(*evaluator, outcome, "intervals"), intervals);
    EXPECT_EQ(metric(*evaluator, outcome, "guesses"), 2.0);
    EXPECT_EQ(metric(*evaluator, outcome, "optima"), 1.0);
    EXPECT_NEAR(outcome.evaluation.cost, closed_form(intervals), 1e-8 * outcome.evaluation.cost);
    EXPECT_EQ(channel(*evaluator, outcome, "q").rows(), 11);
    const std::string report = evaluator->report(outcome);
    EXPECT_NE(report.find(" s, on " + std::to_string(static_cast<int>(intervals)) + " intervals\n"), std::string::npos)
        << report;
    EXPECT_EQ(report.find("rounding alone"), std::string::npos) << report;
    return outcome;
  };
  const Outcome plain = found({}, 10.0);
  found({"--motion.coarse-intervals", "5"}, 10.0);
  const Outcome split = found({"--motion.tasks", "2"}, 10.0);
  EXPECT_EQ(split.evaluation.cost, plain.evaluation.cost);
  EXPECT_EQ(split.trajectory.values[1], plain.trajectory.values[1]);
  // from 10 to 20 intervals the cost changes by 0.75 %, from 20 to 40 by 0.19 %
  found({"--motion.accuracy", "0", "--motion.refine-tolerance", "2e-3", "--motion.refinements", "5"}, 40.0);
  for (const char* wrong : {"1", "10", "11"})
    EXPECT_THROW(study(text, {"--motion.coarse-intervals", wrong}), ConfigError) << wrong;
  EXPECT_THROW(study(text, {"--motion.tasks", "3"}), ConfigError);
}

// A residual above the tolerance is either a failure or rounding, and the report states which.
TEST(Motion, AResidualOfRoundingIsCalledSo) {
  const auto evaluator = study(rest_to_rest.substr(0, rest_to_rest.find("[design]")),
                               {"--motion.tolerance", "1e-14", "--cost.squared-control", "1000"});
  const Outcome outcome = whole(*evaluator);
  ASSERT_EQ(outcome.evaluation.status, Status::ok) << outcome.evaluation.reason;
  ASSERT_GT(metric(*evaluator, outcome, "kkt_residual"), 1e-14);
  const std::string report = evaluator->report(outcome);
  EXPECT_NE(report.find("(tolerance 1e-14, exceeded by rounding alone)\n"), std::string::npos) << report;
}

// The cost's integrand by expression is the built-in one; a path constraint binds.
TEST(Motion, CostsAndConstraintsMayBeExpressions) {
  const std::string text = rest_to_rest.substr(0, rest_to_rest.find("[design]"));
  std::string own = text;
  own.replace(own.find("squared-control = 0.5"), 21, "mine = 0.5*u.push^2");
  const double built_in = study(text)->evaluate(task({})).evaluation.cost;
  EXPECT_NEAR(study(own)->evaluate(task({})).evaluation.cost, built_in, 1e-8 * built_in);
  std::string limited = text;
  limited.replace(limited.find("duration = time"), 15, "duration = time\nrequire = rate(s) <= 1.2");
  const auto evaluator = study(limited);
  const Outcome outcome = evaluator->evaluate(task({}));
  ASSERT_EQ(outcome.evaluation.status, Status::ok) << outcome.evaluation.reason;
  EXPECT_GT(outcome.evaluation.cost, 1.001 * built_in);
  const auto& q = outcome.trajectory.values[1];
  for (Eigen::Index k = 0; k + 1 < q.rows(); ++k) EXPECT_LE((q(k + 1, 0) - q(k, 0)) / 0.1, 1.2 + 1e-7);
}

// A study of a model's text, for designs of its own.
Settings written(const std::string& model, const std::string& text) {
  return read_settings(written_study(model, own_model + text).string(), {});
}

// Detours make a path faster: they are smaller where the joint would exceed its speed.
TEST(Motion, GuessesKeepToTheSpeedOfAJoint) {
  const auto fastest = [](double speed) {
    const MotionDesigns designs(
        written(slider + "[joint-limit s]\ncoordinate = s\nspeed = " + std::to_string(speed) + "\n",
                "[phase only]\nintervals = 20\nduration = 2\n[initial-state]\ns = 0\n[goal]\ns = 0.2\n[cost]\n"
                "squared-control = 1\n"));
    double rate = 0.0;
    for (int number = 0; number < 6; ++number) {
      const Eigen::VectorXd s = designs.initial_guess(Eigen::VectorXd(0), 5, number).q[0];
      EXPECT_NEAR(s(20), 0.2, 1e-12);
      rate = std::max(rate, 10.0 * (s.tail(20) - s.head(20)).cwiseAbs().maxCoeff());
    }
    return rate;
  };
  EXPECT_GT(fastest(100.0), 1.0);
  EXPECT_NEAR(fastest(0.3), 0.9 * 0.3, 1e-12);
  EXPECT_NEAR(fastest(0.05), 0.1, 1e-12);  // the straight way is too fast, and nothing is added
}

// A range that ends at -a is the mirror image of one that begins at a, and so are the initial guesses in them.
TEST(Motion, GuessesInARangeOfOneEndAreMirrored) {
  const auto guesses = [](const std::string& range) {
    const MotionDesigns designs(written(slider + "[joint-limit s]\ncoordinate = s\n" + range + "\n",
                                        "[phase only]\nintervals = 20\nduration = 1\n[initial-state]\nrate(s) = 0\n"
                                        "[goal]\nrate(s) = 0\n[cost]\nsquared-control = 1\n"));
    std::vector<Eigen::MatrixXd> all;
    for (int number = 0; number < 6; ++number) all.push_back(designs.initial_guess(Eigen::VectorXd(0), 5, number).q[0]);
    return all;
  };
  for (const double a : {0.3, 0.5, 0.6, 2.0}) {
    const auto above = guesses("from = " + std::to_string(a)), below = guesses("to = " + std::to_string(-a));
    for (std::size_t i = 0; i < above.size(); i += 2) {  // straight ways with detours of the same size
      EXPECT_NEAR(below[i](0, 0), -above[i](0, 0), 1e-12) << a;
      EXPECT_NEAR(below[i](10, 0) - below[i](0, 0), above[i](10, 0) - above[i](0, 0), 1e-12) << a;
      EXPECT_GT(std::abs(below[i](10, 0) - below[i](0, 0)), 1e-4) << a;
    }
    for (std::size_t i = 1; i < above.size(); i += 2) {  // large ones, which stay in the range
      EXPECT_LE(below[i].maxCoeff(), -a) << a;
      EXPECT_GE(above[i].minCoeff(), a) << a;
    }
  }
}

TEST(Motion, APlaceThatEndsBeforeItBeginsIsRefused) {
  const std::string text =
      "[phase only]\nintervals = 4\nduration = 1\n[initial-state]\nbox = pose 0.2..-0.2 0\n[goal]\nbox = pose 1 0\n"
      "[cost]\nsquared-control = 1\n";
  const std::string box =
      "[model]\nname = box\ndimension = 2\ngravity = 0\n[link box]\nparent = ground\njoint = planar\ncoordinates = x, "
      "y, a\n"
      "[shape box]\nlink = box\nbox = 0.1, 0.1\ndensity = 100\n[actuator push]\nlink = box\nforce = 1, 0\n";
  const std::string line = message_of<ConfigError>([&] { make_evaluator(written(box, text)); });
  EXPECT_NE(line.find("the place 0.2..-0.2 ends before it begins; allowed: A..B"), std::string::npos) << line;
}

// From rest to rest over d in T, no faster than v: t = 3/2 (T - d/v) with a force that falls to zero, steadily on, and
// as long to brake; 4/3 v^2/t in all. A plan on K intervals tends to it.
TEST(Motion, ASpeedLimitHasItsClosedForm) {
  const double d = 1.0, T = 1.0, v = 1.2, exact = 4.0 / 3.0 * v * v / (1.5 * (T - d / v));
  for (const std::string dimension : {"2", "3"}) {
    std::string model = slider + "[joint-limit s]\ncoordinate = s\nspeed = 1.2\n";
    model.replace(model.find("dimension = 2"), 13, "dimension = " + dimension);
    if (dimension == "3") model.replace(model.find("mass = mass"), 11, "mass = mass\ninertia = 1, 1, 1");
    const auto found = [&](int intervals, const std::string& duration) {
      const auto evaluator = make_evaluator(
          written(model, "initial-guesses = 1\n[phase only]\nintervals = " + std::to_string(intervals) +
                             "\nduration = " + duration +
                             "\n[initial-state]\ns = 0\nrate(s) = 0\n[goal]\ns = 1\nrate(s) = 0\n[cost]\n"
                             "squared-control = 0.5\n"));
      const Outcome outcome = evaluator->evaluate(task({}));
      EXPECT_EQ(outcome.evaluation.status, Status::ok) << outcome.evaluation.reason;
      const auto &t = channel(*evaluator, outcome, "t"), &q = channel(*evaluator, outcome, "q");
      double fastest = 0.0;
      for (Eigen::Index k = 0; k + 1 < q.rows(); ++k)
        fastest = std::max(fastest, (q(k + 1, 0) - q(k, 0)) / (t(k + 1, 0) - t(k, 0)));
      EXPECT_NEAR(fastest, v, 1e-7);
      return outcome.evaluation.cost;
    };
    const double coarse = found(20, "1"), fine = found(40, "1");
    EXPECT_NEAR(fine, exact, 0.01 * exact) << dimension;
    EXPECT_LT(std::abs(fine - exact), 0.5 * std::abs(coarse - exact)) << dimension;
    EXPECT_NEAR(found(20, "0.5 .. 1"), coarse, 1e-6 * coarse) << dimension;  // a duration that is an unknown
  }
}

// A rotor behind a gear is a mass more, m + ratio^2 rotor, in the plane and in space; so are the derivatives.
TEST(Motion, ARotorInSpaceWeighsInByItsGear) {
  for (const std::string dimension : {"2", "3"}) {
    std::string model = slider + "[rotor motor]\nplace = 20*s\nmass = 0.01\n";
    model.replace(model.find("dimension = 2"), 13, "dimension = " + dimension);
    if (dimension == "3") model.replace(model.find("mass = mass"), 11, "mass = mass\ninertia = 1, 1, 1");
    const auto settings =
        written(model,
                "initial-guesses = 1\n[phase only]\nintervals = 10\nduration = 1\n[initial-state]\ns = 0\nrate(s) = 0\n"
                "[goal]\ns = 1\nrate(s) = 0\n[cost]\nsquared-control = 0.5\n[design]\nmass.min = 0.5\nmass.max = 2\n");
    const auto evaluator = make_evaluator(settings);
    const Outcome outcome = evaluator->evaluate(task({1.3}));
    ASSERT_EQ(outcome.evaluation.status, Status::ok) << outcome.evaluation.reason;
    const double m = 1.3 + 400 * 0.01, cost = m * m * 6.0 / (1.0 - 0.01);
    EXPECT_NEAR(outcome.evaluation.cost, cost, 1e-8 * cost) << dimension;
    EXPECT_NEAR(outcome.evaluation.gradient(0), 2.0 * cost / m, 1e-6 * cost) << dimension;
    EXPECT_LE(metric(*evaluator, outcome, "end_error"), 1e-6) << dimension;
  }
}

class Hopper : public testing::Test {
 protected:
  static std::string text() {
    return "[motion]\nmodel = hopper\ninitial-guesses = 6\n[parameters]\nstride = 0.4\nmu = 0.8\n"
           "[phase stance]\nfixed = foot\nintervals = 12\nduration = 0.05 .. 0.4\n"
           "require = abs(tangential(foot)) <= mu*normal(foot)\n"
           "[phase flight]\nintervals = 12\nduration = 0.1 .. 0.5\nrequire = foot.y >= 0\n"
           "[periodic]\nx = stride\n[guess]\nstretch = -0.05\n[cost]\nloss = 1\nper = weight*stride\n"
           "[design]\nleg_stiffness.min = 500\nleg_stiffness.max = 8000\nstride.min = 0.2\nstride.max = 0.8\n";
  }
};

// In flight nothing pushes: forward momentum stays, upward momentum loses the weight's impulse in every interval.
TEST_F(Hopper, FliesAsThrown) {
  const auto evaluator = study(text());
  const Outcome outcome = evaluator->evaluate(task({2000, 0.4}));
  ASSERT_EQ(outcome.evaluation.status, Status::ok) << outcome.evaluation.reason;
  const auto &t = outcome.trajectory.values[0], &q = outcome.trajectory.values[1], &p = outcome.trajectory.values[2],
             &force = outcome.trajectory.values[4];
  const double weight = 9.0 * 9.81;
  for (Eigen::Index k = 14; k < 26; ++k) {  // flight: rows 13 to 25; the momentum that leaves node 13 arrives at 14
    EXPECT_NEAR(p(k, 0), p(14, 0), 1e-7);
    if (k < 25) {
      EXPECT_NEAR(p(k + 1, 1) - p(k, 1), -weight * (t(k + 1, 0) - t(k, 0)), 1e-7);
    }
  }
  EXPECT_NEAR(q(25, 0), 0.4, 1e-8);  // it lands a stride ahead
  EXPECT_NEAR(q(25, 1), 0.0, 1e-8);
  for (Eigen::Index c = 2; c < q.cols(); ++c) EXPECT_NEAR(q(25, c), q(0, c), 1e-8);
  for (Eigen::Index k = 0; k <= 12; ++k) {
    EXPECT_LE(std::abs(force(k, 0)), 0.8 * force(k, 1) + 1e-6);
    EXPECT_EQ(q(k, 0), 0.0);
  }
  EXPECT_LE(metric(*evaluator, outcome, "reintegration_error"), 1e-6);
}

TEST_F(Hopper, GradientIsTheSlopeOfTheCost) {
  // enough starts that no neighbour finds a better family of hops; those start from this one
  const auto evaluator = study(text(), {"--motion.tolerance", "1e-11", "--motion.initial-guesses", "40"});
  const auto beside = study(text(), {"--motion.tolerance", "1e-11", "--motion.initial-guesses", "1"});
  const Outcome middle = evaluator->evaluate(task({2000, 0.4}));
  ASSERT_EQ(middle.evaluation.status, Status::ok) << middle.evaluation.reason;
  const double steps[] = {2.0, 1e-4};
  for (int i : {0, 1}) {
    const auto cost = [&](double share) {
      std::vector<double> design = {2000, 0.4};
      design[i] += share * steps[i];
      Task t = task(design);
      t.warm_start = middle.trajectory;
      return beside->evaluate(t).evaluation.cost;
    };
    const double slope = (8.0 * (cost(1) - cost(-1)) - (cost(2) - cost(-2))) / (12.0 * steps[i]);
    EXPECT_NEAR(middle.evaluation.gradient(i), slope, 1e-5 * std::abs(slope) + 1e-12) << i;
  }
}

// Limits the force of the ground, which is 292 N without a limit. The phases have unknown durations.
TEST_F(Hopper, TheForceOfTheGroundMayHaveALimit) {
  std::string limited = text();
  limited.replace(limited.find("mu = 0.8\n"), 9, "mu = 0.8\nlimit = 300 N\n");
  limited.replace(limited.find("mu*normal(foot)\n"), 16, "mu*normal(foot), normal(foot) <= limit\n");
  limited += "limit.min = 150\nlimit.max = 400\n";
  const auto evaluator = study(limited, {"--motion.tolerance", "1e-11"});
  const auto beside = study(limited, {"--motion.tolerance", "1e-11", "--motion.initial-guesses", "1"});
  const Outcome outcome = evaluator->evaluate(task({2000, 0.4, 200}));
  ASSERT_EQ(outcome.evaluation.status, Status::ok) << outcome.evaluation.reason;
  EXPECT_NEAR(channel(*evaluator, outcome, "held_force").col(1).maxCoeff(), 200.0, 1e-4);
  const auto cost = [&](double limit) {
    Task t = task({2000, 0.4, limit});
    t.warm_start = outcome.trajectory;
    return beside->evaluate(t).evaluation.cost;
  };
  const double slope = cost(200.5) - cost(199.5);
  EXPECT_NEAR(outcome.evaluation.gradient(2), slope, 1e-3 * std::abs(slope));
}

// A four-bar loop, closed by two rows at every node, and by rows besides that follow from these: linearly, squared, or
// of joints.
TEST(Motion, ARedundantConstraintChangesNothing) {
  std::string model = "[model]\nname = bars\ndimension = 2\ngravity = 9.81\n";
  for (const std::string i : {"0", "1", "2"})
    model += "[link bar" + i + "]\nparent = " + (i == "0" ? "ground" : "bar" + std::to_string(std::stoi(i) - 1)) +
             "\njoint = revolute\ncoordinates = q" + i +
             "\nend = 0.3, 0\nmass = 1\ninertia = 0.01\ncentre = 0.15, 0\n[actuator m" + i + "]\ncoordinate = q" + i +
             "\n";
  model += "[point tip]\nlink = bar2\nat = 0.3, 0\n";
  const std::filesystem::path folder = std::filesystem::path(testing::TempDir()) / "motion-redundant";
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "bars.model") << model;
  std::ofstream(folder / "study.cfg")
      << "[study]\nevaluator = motion\n[motion]\nmodel = bars.model\ninitial-guesses = "
         "1\n[phase only]\nduration = 1\nintervals = 20\n"
         "require = tip.x == 0.3, tip.y == 0\n[initial-state]\nq0 = 90 deg\nq1 = -90 "
         "deg\nq2 = -90 deg\nmomentum = 0\n[goal]\n"
         "q0 = 60 deg\nq1 = -60 deg\nq2 = -120 deg\nmomentum = 0\n[cost]\nsquared-control = 1\n";
  const auto solved = [&](const std::string& more) {
    const auto settings =
        read_settings((folder / "study.cfg").string(), {"--phase.only.require", "tip.x == 0.3, tip.y == 0" + more});
    const Outcome outcome = make_evaluator(settings)->evaluate(task({}));
    EXPECT_EQ(outcome.evaluation.status, Status::ok) << more << ": " << outcome.evaluation.reason;
    return outcome;
  };
  const Outcome plain = solved("");
  for (const std::string more :
       {", tip.x == 0.3", ", tip.x + 2*tip.y == 0.3", ", tip.x^2 + tip.y^2 == 0.09", ", q0 + q1 == 0, q0 - q2 == pi"}) {
    const Outcome redundant = solved(more);
    EXPECT_NEAR(redundant.evaluation.cost, plain.evaluation.cost, 1e-8 * plain.evaluation.cost) << more;
    EXPECT_LE((redundant.trajectory.values[1] - plain.trajectory.values[1]).cwiseAbs().maxCoeff(), 1e-5) << more;
  }
}

// A four-bar loop, turned by an angle (degrees) together with gravity, that swings its crank by 60 degrees.
std::unique_ptr<Evaluator> four_bar(int turn, const std::string& keys, const std::string& more_held = "") {
  const auto bar = [](const std::string& name, const std::string& parent, const std::string& more) {
    return "[link " + name + "]\nparent = " + parent + "\njoint = revolute\n" + more;
  };
  const auto angle = [&](int degrees) { return std::to_string(degrees) + " deg"; };
  const std::string model =
      "[model]\ndimension = 2\ngravity = 9.81*sin(" + angle(turn) + "), -9.81*cos(" + angle(turn) + ")\n" +
      bar("crank", "ground", "coordinates = q1\nend = 0.2, 0\nmass = 1\ninertia = 0.004\ncentre = 0.1, 0\n") +
      bar("coupler", "crank", "coordinates = q2\nend = 0.5, 0\nmass = 2\ninertia = 0.05\ncentre = 0.25, 0\n") +
      bar("rocker", "ground",
          "at = 0.4*cos(" + angle(turn) + "), 0.4*sin(" + angle(turn) +
              ")\ncoordinates = q3\nend = 0.4, 0\nmass = 1.5\ninertia = 0.02\ncentre = 0.2, 0\n") +
      "[point coupler_end]\nlink = coupler\nat = 0.5, 0\n[point rocker_end]\nlink = rocker\nat = 0.4, 0\n"
      "[actuator motor]\ncoordinate = q1\n";
  return make_evaluator(written(
      model, keys + "refinements = 0\n[phase turn]\nduration = 1\nintervals = 20\nhold = coupler_end - rocker_end" +
                 more_held + "\n[initial-state]\nq1 = " + angle(90 + turn) +
                 "\nmomentum = 0\nrequire = coupler_end.x - rocker_end.x == 0, coupler_end.y - rocker_end.y == 0\n" +
                 "[guess]\nq2 = -60 deg\nq3 = " + angle(80 + turn) + "\n[goal]\nq1 = " + angle(150 + turn) +
                 "\nrate(q1) = 0\n[cost]\nsquared-control = 1\n"));
}

// One guess ends at a motion in which a joint turns by more than half a turn within a time step: it costs less, and the mesh does
// not resolve it. The true optimum, which other guesses found, is the answer.
TEST(Motion, AMotionThatTheMeshDoesNotResolveDoesNotHideTheTrueOne) {
  Task it = task({});
  it.evaluation.seed = 6834246370698672527U;
  const Evaluation e = four_bar(40, "initial-guesses = 6\n")->evaluate(it).evaluation;
  EXPECT_EQ(e.status, Status::ok) << e.reason;
  EXPECT_NEAR(e.cost, 5.01471924146, 1e-8);
  EXPECT_NE(e.reason.find("a motion that costs 2.7895 was refused: a joint turns by 223 degrees in one time step"),
            std::string::npos)
      << e.reason;
}

// Points held together by more conditions than they need: each guess converges, to the motion without them.
TEST(Motion, ARedundantHoldChangesNothingAtOrderFour) {
  const auto evaluator = four_bar(0, "order = 4\naccuracy = 0\ninitial-guesses = 1\n",
                                  ", coupler_end.x - rocker_end.x, 2*(coupler_end.y - rocker_end.y)");
  for (const std::uint64_t seed : {1, 3, 4}) {
    Task it = task({});
    it.evaluation.seed = seed;
    const Evaluation e = evaluator->evaluate(it).evaluation;
    EXPECT_EQ(e.status, Status::ok) << seed << ": " << e.reason;
    EXPECT_NEAR(e.cost, 5.01764687886, 1e-8) << seed;
  }
}

// Conditions at the goal that follow from others, linearly or not: every guess finds the same motion as without them.
TEST(Motion, ARedundantGoalChangesNothing) {
  std::string model = "[model]\nname = arm\ndimension = 2\n";
  for (const std::string i : {"0", "1"})
    model += "[link bar" + i + "]\nparent = " + (i == "0" ? "ground" : "bar0") + "\njoint = revolute\ncoordinates = q" +
             i + "\nend = 0, -1\nmass = 1\ninertia = 0.08\n[actuator m" + i + "]\ncoordinate = q" + i + "\n";
  model += "[point tip]\nlink = bar1\nat = 0, -1\n";
  const auto solved = [&](const std::string& goal) {
    const Outcome outcome =
        make_evaluator(written(model,
                               "initial-guesses = 4\n[phase only]\nduration = 1\nintervals = 20\n[initial-state]\n"
                               "q0 = 0\nq1 = 0\nmomentum = 0\n[goal]\nmomentum = 0\n" +
                                   goal + "\n[cost]\nsquared-control = 1\n"))
            ->evaluate(task({}));
    EXPECT_EQ(outcome.evaluation.status, Status::ok) << goal << ": " << outcome.evaluation.reason;
    EXPECT_EQ(outcome.evaluation.reason, "") << goal;  // names the number of guesses that fail
    return outcome.evaluation.cost;
  };
  const double posture = solved("q0 = 1\nq1 = 1"), place = solved("require = tip.x == 1, tip.y == 0.5");
  for (const std::string goal :
       {"q0 = 1\nq1 = 1\nrequire = q0 + q1 == 2", "require = q0 + q1 == 2, q0 - q1 == 0, q0 + 2*q1 == 3",
        "require = q0 == 1, q1 == 1, rate(q0) + rate(q1) == 0"})
    EXPECT_NEAR(solved(goal), posture, 1e-8 * posture) << goal;
  EXPECT_NEAR(solved("require = tip.x == 1, tip.y == 0.5, tip.x + tip.y == 1.5"), place, 1e-8 * place);
}

// The double integrator with conditions at the goal that follow from two of them has its closed form.
TEST(Motion, RedundantGoalsOfADoubleIntegratorKeepTheClosedForm) {
  const auto evaluator = make_evaluator(
      written(slider,
              "initial-guesses = 2\n[phase only]\nduration = 0.9\nintervals = 10\n[initial-state]\n"
              "s = 0\nrate(s) = 0\n[goal]\nrequire = 3*s + (1 s)*rate(s) == 2.1, 0.3*s - (1 s)*rate(s) == 0.21, "
              "s == 0.7, 1.7*rate(s) == 0\n[cost]\nsquared-control = 0.5\n"));
  const Outcome outcome = evaluator->evaluate(task({}));
  EXPECT_EQ(outcome.evaluation.status, Status::ok) << outcome.evaluation.reason;
  EXPECT_EQ(metric(*evaluator, outcome, "guesses_solved"), 2.0);
  const double cost = 0.7 * 0.7 / (0.9 * 0.9 * 0.9) * 6.0 / (1.0 - 0.01);
  EXPECT_NEAR(outcome.evaluation.cost, cost, 1e-8 * cost);
}

TEST(Motion, EachMistakeGetsItsLine) {
  const std::string text = rest_to_rest.substr(0, rest_to_rest.find("[design]"));
  const auto complaint = [&](const std::string& what, const std::string& by) -> std::string {
    std::string wrong = text;
    wrong.replace(wrong.find(what), what.size(), by);
    try {
      study(wrong);
      return "";
    } catch (const ConfigError& error) {
      EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos);
      return error.what();
    }
  };
  const auto says = [](const std::string& line, const std::string& words) {
    EXPECT_NE(line.find(words), std::string::npos) << line;
  };
  says(complaint("s = 0", "z = 0"), "'z' is not a coordinate (did you mean 's'?); allowed: s");
  says(complaint("s = way", "s = wya"), "unknown parameter 'wya' (did you mean 'way'?)");
  says(complaint("duration = time", "fixed = s"), "has no duration");
  says(complaint("intervals = 10", "intervals = 1.5"), "allowed: an integer in [2, 10000]");
  says(complaint("duration = time", "duration = time\nrequire = rate(z) <= 1"), "unknown name 'rate(z)'");
  says(complaint("duration = time", "duration = time\nrequire = normal(s) >= 0"),
       "a point that this phase does not hold");
  says(complaint("duration = time", "duration = time\nrequire = reaction(s) >= 0"),
       "this phase does not fix that coordinate");
  says(complaint("[goal]\ns = way\nrate(s) = 0\n", "[periodic]\nperiod = 1\n"), "every phase has a given duration");
  says(complaint("squared-control = 0.5", "squared-control = -1"), "allowed: a number, 0 or more");
  says(complaint("squared-control = 0.5", "squared-contrl = 0.5"),
       "the integral of '0.5' does not depend on the motion (did you mean 'squared-control'?)");
  says(complaint("rate(s) = 0\n[cost]", "rate(s) = 0\nrequire = t <= 2\n[cost]"), "t cannot be used at an end");
  says(complaint("duration = time", "duration = time\nrequire = rate(u.push) <= 2 kg"), "kg");
  says(complaint("model = slider.model", "model = slidre.model"), "cannot be read");
  says(complaint("[initial-state]", "[stat]"), "unknown key 'stat.");
  says(complaint("[goal]\ns = way\nrate(s) = 0\n", ""), "the motion has no end; add [goal]");
  EXPECT_EQ(complaint("s = way\nrate(s) = 0\n", ""), "");  // anywhere
}

// A changed model file makes another study: the archive has the content of the file.
TEST(Motion, AChangedModelFileIsAnotherStudy) {
  const std::string path = testing::TempDir() + "motion-changed.model";
  const auto input_files = [&](const std::string& mass) {
    std::string text = slider;
    text.replace(text.find("mass = 1"), 8, "mass = " + mass);
    std::ofstream(path) << text;
    std::string words = rest_to_rest;
    words.replace(words.find("slider.model"), 12, path);
    return study(words)->input_files();
  };
  const auto first = input_files("1"), again = input_files("1"), changed = input_files("2");
  ASSERT_EQ(first.size(), 1u);
  EXPECT_EQ(first, again);
  EXPECT_NE(first, changed);
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace dodyn::evaluators::test_motion
