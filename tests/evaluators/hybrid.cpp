// Evaluator `hybrid`: shipped configurations, refused designs, mistakes in one line, and its output.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include "evaluators/evaluator.hpp"
#include "tests/message_of.hpp"
#include "written.hpp"

namespace dodyn::evaluators::test_hybrid {
namespace {

const std::string folder = std::string(CONFIGS) + "/";

Settings settings(const std::string& name, const std::vector<std::string>& words = {}) {
  return read_settings(folder + name, words);
}
Outcome solved(const std::string& name, const std::vector<std::string>& words = {}) {
  const auto evaluator = make_evaluator(settings(name, words));
  Task task;
  task.evaluation.design.resize(0);
  return evaluator->evaluate(task);
}
double metric(const std::string& name, const std::vector<std::string>& words, const std::string& what) {
  const auto evaluator = make_evaluator(settings(name, words));
  Task task;
  task.evaluation.design.resize(0);
  const auto outcome = evaluator->evaluate(task);
  EXPECT_TRUE(outcome.evaluation.ok()) << outcome.evaluation.reason;
  const auto list = evaluator->metrics();
  for (std::size_t i = 0; i < list.size(); ++i)
    if (list[i].name == what) return outcome.evaluation.metrics(i);
  return not_a_number;
}
std::string complaint(const std::string& name, const std::vector<std::string>& words) {
  return message_of<ConfigError>([&] { make_evaluator(settings(name, words)); });
}

TEST(Nonsmooth, PendulumTicksEveryHalfSecondAtItsWall) {
  const Outcome outcome = solved("pendulum-tick.cfg", {"--design.wall=0.42267531"});
  ASSERT_TRUE(outcome.evaluation.ok()) << outcome.evaluation.reason;
  EXPECT_LT(outcome.evaluation.cost, 1e-15);
}

TEST(Nonsmooth, RecoveryOfTheWalkerIsThatOfItsMultiplier) {
  const Outcome outcome = solved("walker-recovery.cfg", {"--design.mu=1e6", "--design.a=0.343052"});
  ASSERT_TRUE(outcome.evaluation.ok()) << outcome.evaluation.reason;
  EXPECT_NEAR(outcome.evaluation.cost, 1.14056367, 1e-7);
  const Outcome slips = solved("walker-recovery.cfg", {"--design.a=0.23995"});
  EXPECT_NEAR(slips.evaluation.cost, 1.340792, 2e-6);
  // what a stride loses is what gravity gives, less the work of friction
  const std::vector<std::string> stick = {"--design.mu=1e6"};
  EXPECT_NEAR(metric("slip-walker.cfg", stick, "dissipated_energy"),
              9.8 * std::sin(0.08) * metric("slip-walker.cfg", stick, "stride"), 1e-9);
  EXPECT_NEAR(metric("slip-walker.cfg", stick, "energy_change"), 0.0, 1e-9);
  const Outcome none = solved("walker-recovery.cfg", {"--design.mu=1e6", "--design.a=0.49"});
  EXPECT_EQ(none.evaluation.status, Status::infeasible);
  EXPECT_NE(none.evaluation.reason.find("no gait"), std::string::npos);
}

// At 0.417 s the woodpecker's sleeve lands. Steps of 0.5 ms cannot resolve whether the contact presses or opens.
// A rimless wheel of mass m at the hub, with spokes of length L and half angle a, on a slope g: a stride loses what its
// reset raises, 2 m g L sin a sin g, whatever the step. Forces do no work.
TEST(Nonsmooth, AStrideLosesWhatItsResetRaises) {
  const std::filesystem::path place = std::filesystem::path(testing::TempDir()) / "rimless-wheel";
  std::filesystem::create_directories(place);
  std::ofstream(place / "wheel.model")
      << "[model]\ndimension = 2\ngravity = 9.81*sin(slope), -9.81*cos(slope)\n[parameters]\nhalf = 0.3\nslope = 0.08\n"
         "length = 0.9 m\nhub = 0.15 kg m2\n[link spoke]\nparent = ground\njoint = revolute\nend = 0, length\nmass = "
         "2\n"
         "centre = 0, length\ninertia = hub\n[reset step]\nguard = spoke + half\nspoke = spoke + 2*half\n"
         "rate(spoke) = rate(spoke)*(2 kg*length^2*cos(2*half) + hub)/(2 kg*length^2 + hub)\n[initial-state]\nspoke = "
         "half\n"
         "rate(spoke) = -1.2\n";
  std::ofstream(place / "wheel.cfg") << "[study]\nevaluator = hybrid\n[hybrid]\nmodel = wheel.model\nsolve-for = gait\n"
                                        "end = 5\nstep = 5 ms\norder = 4\n";
  const double raised = 2 * 2 * 9.81 * 0.9 * std::sin(0.3) * std::sin(0.08), rotating = 2 * 0.9 * 0.9 + 0.15,
               kept = (2 * 0.9 * 0.9 * std::cos(0.6) + 0.15) / rotating;
  for (const char* step : {"5 ms", "7.3 ms", "2 ms"}) {
    const auto evaluator = make_evaluator(read_settings((place / "wheel.cfg").string(), {"--hybrid.step", step}));
    Task task;
    task.evaluation.design.resize(0);
    const Outcome outcome = evaluator->evaluate(task);
    ASSERT_TRUE(outcome.evaluation.ok()) << outcome.evaluation.reason;
    const auto list = evaluator->metrics();
    const auto of = [&](const char* name) {
      for (std::size_t i = 0; i < list.size(); ++i)
        if (list[i].name == name) return outcome.evaluation.metrics(i);
      return not_a_number;
    };
    EXPECT_NEAR(of("dissipated_energy"), raised, 1e-8) << step;
    EXPECT_NEAR(of("energy_change"), 0, 1e-8) << step;
    EXPECT_NEAR(of("floquet_multiplier"), kept * kept, 1e-6) << step;
    EXPECT_NEAR(outcome.evaluation.cost, raised, 1e-8) << step;
  }
  std::filesystem::remove_all(place);
}

TEST(Nonsmooth, WoodpeckerGoesOnWhereAContactHovers) {
  const Outcome outcome = solved("woodpecker.cfg", {"--hybrid.step=0.5 ms", "--hybrid.end=0.6", "--hybrid.nodes=601"});
  EXPECT_TRUE(outcome.evaluation.ok()) << outcome.evaluation.reason;
}

// The time between walls is the integral of 1/rate between them, so its slope is 2/rate there.
TEST(Nonsmooth, GradientGoesThroughImpacts) {
  const auto pendulum = make_evaluator(
      read_settings(folder + "pendulum-tick.cfg",
                    {"--hybrid.gradient=yes", "--cost.cost=impact_interval", "--hybrid.stop-after-impacts=4"}));
  ASSERT_TRUE(pendulum->has_gradients());
  Task task;
  task.evaluation.design = Eigen::VectorXd::Constant(1, 0.45);
  Outcome outcome = pendulum->evaluate(task);
  ASSERT_EQ(outcome.evaluation.gradient.size(), 1);
  const double rate = std::sqrt(25.0 - 2.0 * 9.81 * (1.0 - 0.45));
  EXPECT_NEAR(outcome.evaluation.gradient(0), -2.0 / (rate * std::sqrt(1.0 - 0.45 * 0.45)), 1e-8);

  // of a foot that sticks the multiplier is known: ((I + m r2 cos 2a)/(I + m r2))^2
  const auto walker = make_evaluator(read_settings(
      folder + "walker-recovery.cfg", {"--hybrid.gradient=yes", "--cost.cost=floquet_multiplier", "--design.mu=1e6"}));
  task.evaluation.design = Eigen::VectorXd::Constant(1, 0.3);
  outcome = walker->evaluate(task);
  ASSERT_EQ(outcome.evaluation.gradient.size(), 1) << outcome.evaluation.reason;
  const double c = (0.5 + std::cos(0.6)) / 1.5;
  EXPECT_NEAR(outcome.evaluation.gradient(0), -2.0 * c * 2.0 * std::sin(0.6) / 1.5, 1e-6);
}

TEST(Nonsmooth, ShowsStepsAndBothSidesOfImpacts) {
  const auto evaluator = make_evaluator(settings("bar-drop.cfg"));
  Task task;
  task.evaluation.design.resize(0);
  const auto told = evaluator->simulate(task);
  ASSERT_TRUE(told && told->completed);
  EXPECT_EQ(told->trajectory.values[0].rows(), 201 + 2 * 5);
  for (std::size_t i = 0; i < told->channels.size(); ++i) {
    EXPECT_EQ(told->trajectory.values[i].rows(), told->channels[i].nodes) << told->channels[i].name;
    EXPECT_EQ(told->trajectory.values[i].cols(), told->channels[i].coordinates.size());
  }
  // energies of a numpy-like reader: kinetic + potential is the same in all rows
  const auto& energy = told->trajectory.values[3];
  const Eigen::VectorXd total = energy.col(0) + energy.col(1);
  EXPECT_LT((total.array() - total(0)).abs().maxCoeff(), 1e-11);
}

TEST(Nonsmooth, MethodsAgreeOnThePendulum) {
  const double exact = 0.454083068;
  EXPECT_NEAR(metric("pendulum-wall.cfg", {}, "impact_interval"), exact, 1e-9);
  EXPECT_NEAR(metric("pendulum-wall.cfg", {"--hybrid.method=stoermer-verlet"}, "impact_interval"), exact, 1e-9);
}

TEST(Nonsmooth, ProjectedMotionIsTheResetOne) {
  for (const std::string name : {"bar-drop.cfg", "particle-drop.cfg", "wire-bar.cfg", "pendulum-wall.cfg"}) {
    const auto final_row = [&](const std::vector<std::string>& words) {
      const Outcome outcome = solved(name, words);
      EXPECT_TRUE(outcome.evaluation.ok()) << name << ": " << outcome.evaluation.reason;
      return Eigen::VectorXd(outcome.trajectory.values.at(1).bottomRows(1).transpose());
    };
    const auto reset = final_row({"--hybrid.order=6", "--hybrid.step=0.001"});
    const auto projected = final_row({"--hybrid.order=6", "--hybrid.step=0.001", "--hybrid.method=projected"});
    EXPECT_LT((reset - projected).norm(), 1e-6) << name;
  }
}

// Figures of an independent program, on the same meshes.
TEST(Nonsmooth, TrackHasTheFiguresOfAnIndependentProgram) {
  const auto cost = [](const std::vector<std::string>& words) {
    const Outcome outcome = solved("slip-walker-track.cfg", words);
    EXPECT_TRUE(outcome.evaluation.ok()) << outcome.evaluation.reason;
    return outcome.evaluation.cost;
  };
  EXPECT_NEAR(cost({"--phase.stand.intervals=40"}), 6.27746383, 1e-8);
  EXPECT_NEAR(cost({}), 6.27780628, 1e-8);
  EXPECT_NEAR(cost({"--phase.stand.intervals=320"}), 6.27792946, 1e-8);
  EXPECT_NEAR(cost({"--cost.squared-control=1.25e-4"}), 1.43684723, 1e-8);
}

TEST(Nonsmooth, DrivenGaitTendsToTheFigureOfOtherCoordinates) {
  const auto cost = [](int intervals) {  // times the stride: the integral of u^2/2
    const Outcome outcome =
        solved("walker-period.cfg", {"--design.period=0.6", "--phase.stance.intervals=" + std::to_string(intervals)});
    EXPECT_TRUE(outcome.evaluation.ok()) << outcome.evaluation.reason;
    return outcome.evaluation.cost * 2 * std::sin(0.3);
  };
  const double c20 = cost(20), c40 = cost(40), c80 = cost(80);
  EXPECT_NEAR(std::log2((c40 - c20) / (c80 - c40)), 2.0, 0.25);
  // on centre of mass and angle: .13353790 on 20, .13371927 on 40 intervals
  EXPECT_NEAR((4 * c80 - c40) / 3, (4 * 0.13371927 - 0.13353790) / 3, 2e-7);
}

// `dodyn simulate` and `dodyn solve` refuse the same designs.
TEST(Nonsmooth, SimulatesOnlyWhatTheStudyRequires) {
  Settings study = settings("bar-drop.cfg");
  study.sections.push_back({"require", "", "study.cfg:8", {{"high", "height > 100", "study.cfg:9"}}});
  const auto evaluator = make_evaluator(study);
  Task task;
  task.evaluation.design.resize(0);
  EXPECT_EQ(evaluator->evaluate(task).evaluation.status, Status::infeasible);
  EXPECT_EQ(message_of<ConfigError>([&] { evaluator->simulate(task); }),
            "study.cfg:9: high: 'height > 100' does not hold");
}

// A pendulum on a spherical joint passes the attitude at which its angles are singular: at a distance of 0.0005 rad, and
// of some tenths of a radian.
TEST(Nonsmooth, AnglesThatPassTheirSingularAttitudeGetAWarning) {
  const auto reason = [](const std::string& spin) {
    const std::string top =
        "[model]\ndimension = 3\ngravity = 9.81\n"
        "[link top]\nparent = ground\njoint = spherical ZXY\ncoordinates = a, b, c\n"
        "mass = 1\ncentre = 0, 0, 0.3\ninertia = 0.02, 0.02, 0.01\n"
        "[initial-state]\nb = 1.2\nrate(b) = 2\nrate(c) = ";
    const auto file =
        written_study(top + spin + "\n", "[hybrid]\nmodel = own.model\nend = 1\nstep = 1e-3\n", "own.model", "hybrid");
    const auto evaluator = make_evaluator(read_settings(file.string(), {}));
    Task task;
    task.evaluation.design.resize(0);
    const Evaluation e = evaluator->evaluate(task).evaluation;
    std::filesystem::remove_all(file.parent_path());
    EXPECT_TRUE(e.ok()) << e.reason;
    return e.reason;
  };
  EXPECT_NE(reason("0.001").find("warning: angle a of [link top] turns by"), std::string::npos) << reason("0.001");
  EXPECT_EQ(reason("5"), "");
}

// A bead on a circle. A start beside it is refused with the constraint's name. Rates that leave it are replaced, which is a
// warning with the rates that replace them.
TEST(Nonsmooth, StartsThatViolateAConstraint) {
  const auto ended = [](const std::string& start) {
    const std::filesystem::path file = written_study(
        "[model]\ndimension = 2\n[link p]\nparent = ground\njoint = point\ncoordinates = x, y\nmass = 1\n"
        "[constraint wire]\nzero = x^2 + y^2 - 1\n",
        "[hybrid]\nmodel = own.model\nend = 0.1\n[initial-state]\n" + start, "own.model", "hybrid");
    std::string what = message_of<ConfigError>([&] { make_evaluator(read_settings(file.string(), {})); });
    if (what.empty()) {
      Task task;
      task.evaluation.design.resize(0);
      const Evaluation e = make_evaluator(read_settings(file.string(), {}))->evaluate(task).evaluation;
      EXPECT_TRUE(e.ok()) << e.reason;
      what = e.reason;
    }
    std::filesystem::remove_all(file.parent_path());
    return what;
  };
  EXPECT_EQ(ended("x = 0.6\ny = -0.8\nrate(x) = 4\nrate(y) = 3\n"), "");
  EXPECT_EQ(ended("y = -1\n"), "");
  EXPECT_NE(
      ended("x = 1\ny = -1\n").find("the initial state violates [constraint wire], by 1 (SI); change its positions"),
      std::string::npos);
  const std::string replaced = ended("x = 0.6\ny = -0.8\nrate(x) = 1\n");
  EXPECT_NE(
      replaced.find("warning: the initial rates violate [constraint wire]; the nearest ones that satisfy it replace "
                    "them: rate(x) = 0.64, rate(y) = 0.48"),
      std::string::npos)
      << replaced;
}

// A message names a section as the model has it, also if a stop makes two contacts, and a coordinate by its name.
TEST(Nonsmooth, MistakesNameSectionsAndCoordinates) {
  const auto refused = [](const std::string& mass, const std::string& end, const std::string& restitution) {
    const std::filesystem::path file =
        written_study("[model]\ndimension = 2\n[link arm]\nparent = ground\njoint = revolute\nend = 0, -1\n" + mass +
                          "[stop r]\ncoordinate = arm\nfrom = -0.5\n" + end + "restitution = " + restitution +
                          "\n[initial-state]\narm = 1\n",
                      "[hybrid]\nmodel = own.model\nend = 0.1\n", "own.model", "hybrid");
    const std::string what = message_of<ConfigError>([&] { make_evaluator(read_settings(file.string(), {})); });
    std::filesystem::remove_all(file.parent_path());
    return what;
  };
  const auto has = [](const std::string& what, const char* text) {
    EXPECT_NE(what.find(text), std::string::npos) << what;
  };
  has(refused("mass = 1\n", "to = 0.5\n", "0"),
      "the initial state violates [stop r], whose gap is -0.5 (SI); change its positions");
  has(refused("mass = 1\n", "", "1.5"), "own.model:11: restitution = 1.5 is above 1; allowed: 0 to 1");
  has(refused("", "", "0"), "no mass moves with coordinate arm; give a link that it moves mass or inertia");
  const auto evaluator = make_evaluator(read_settings(std::string(CONFIGS) + "/bar-drop.cfg", {}));
  EXPECT_EQ(evaluator->input_files().front().key, "hybrid.model-checksum");
}

// A cost that has no value states the quantity that is missing, and a jump that applies to no contact is noted.
TEST(Nonsmooth, AQuantityThatAMotionLacksIsNamed) {
  const auto reason = [](const std::vector<std::string>& words) {
    return make_evaluator(read_settings(folder + "bar-drop.cfg", words))->evaluate({}).evaluation.reason;
  };
  EXPECT_EQ(reason({"--cost.cost=period"}), "the cost uses period, which only hybrid.solve-for = gait gives");
  EXPECT_EQ(reason({"--cost.cost=first_impact", "--hybrid.end=0.1 s"}),
            "the cost uses first_impact, which this motion does not have");
  EXPECT_EQ(reason({"--cost.cost=first_impact"}), "");
  EXPECT_EQ(reason({"--hybrid.jump=discrete-energy"}), "");
  EXPECT_NE(reason({"--hybrid.jump=discrete-energy", "--design.restitution=0.5"})
                .find("hybrid.jump = discrete-energy has no effect: it applies to contacts without friction"),
            std::string::npos);
}

TEST(Nonsmooth, MistakesAreOneLine) {
  EXPECT_NE(complaint("walker-period.cfg", {"--periodic.reset=stop"}).find("not a reset of the model"),
            std::string::npos);
  EXPECT_NE(complaint("bar-drop.cfg", {"--hybrid.method=projected", "--hybrid.projection-k=30"}).find("k_c = 36"),
            std::string::npos);
  EXPECT_NE(complaint("pendulum-wall.cfg", {"--hybrid.method=projected", "--design.wall=0.72"}).find("sqrt(1/2)"),
            std::string::npos);
  EXPECT_NE(complaint("wedge.cfg", {"--hybrid.method=projected"}).find("allowed: one"), std::string::npos);
  EXPECT_NE(complaint("bar-drop.cfg", {"--design.height=-0.1"})
                .find("the initial state violates [contact tip], whose gap is -"),
            std::string::npos);
  EXPECT_NE(complaint("bar-drop.cfg", {"--design.restitution=1.2"}).find("allowed: 0 to 1"), std::string::npos);
  EXPECT_NE(complaint("bar-drop.cfg", {"--design.mass=0"}).find("mass"), std::string::npos);
  EXPECT_NE(complaint("bar-drop.cfg", {"--hybrid.solve-for=gait"}).find("no [reset]"), std::string::npos);
  EXPECT_NE(complaint("bar-drop.cfg", {"--hybrid.order=3"}).find("allowed: 2, 4, 6"), std::string::npos);
  EXPECT_NE(complaint("slip-walker.cfg", {"--hybrid.translating-coordinates=z"}).find("not a coordinate"),
            std::string::npos);
  for (const auto& words : {std::vector<std::string>{"--design.height=-0.1"}, {"--design.restitution=-1"}})
    EXPECT_EQ(complaint("bar-drop.cfg", words).find('\n'), std::string::npos);
}

}  // namespace
}  // namespace dodyn::evaluators::test_hybrid
