// [control] of the evaluator `simulation`: runs without control, energy balance with contact and magnets, design
// variables, mistakes.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>

#include "evaluators/evaluator.hpp"
#include "tests/directory.hpp"
#include "tests/message_of.hpp"
#include "whole.hpp"

namespace dodyn::evaluators::test_control {
namespace {

// Two craft in the plane whose ports pull.
const char* const docking = R"([study]
evaluator = simulation
[design]
charge_constant = 1.7e-4
[simulation]
model = docking-craft
fixed = female
frames = 0
end = 6 s
step = 2 ms
[initial-state]
x = 0.3*cos(bearing)
y = 0.3*sin(bearing)
male = bearing + pi + 0.1
rate(y) = 5e-3
[initial-states]
count = 3
bearing = -20 deg .. 20 deg
[outcome docked]
when = distance(tip_a, seat_a) <= 1 mm and distance(tip_b, seat_b) <= 1 mm
dwell = 0.5 s
)";
const char* const control = R"([control]
craft = male
receiver = female
docked = length + depth + mount_height, 0
)";
const char* const dipole = "[design]\ndipole-offset = 0.1\nlast-leg = 30 mm\n";

class Controlled : public testing::Test {
 protected:
  std::unique_ptr<Evaluator> evaluator(const std::string& text, const std::vector<std::string>& words = {}) const {
    std::ofstream(folder_ / "study.cfg") << text;
    return make_evaluator(read_settings(folder_ / "study.cfg", words));
  }
  std::string complaint(const std::vector<std::string>& words,
                        const std::string& text = std::string(docking) + control) {
    return message_of<ConfigError>([&] { evaluator(text, words); });
  }

  const Directory folder_;
};

// To the last bit.
TEST_F(Controlled, WithZeroGainsTheMagnetsAloneAct) {
  const auto free = evaluator(docking);
  const auto off = evaluator(std::string(docking) + control, {"--design.gain-position=0", "--design.gain-velocity=0",
                                                              "--design.gain-attitude=0", "--design.gain-spin=0"});
  const Outcome one = whole(*free), other = whole(*off);
  ASSERT_TRUE(one.evaluation.ok()) << one.evaluation.reason;
  ASSERT_TRUE(other.evaluation.ok()) << other.evaluation.reason;
  for (const char* name : {"t", "q", "v", "energy"}) {
    const auto &a = channel(*free, one, name), &b = channel(*off, other, name);
    ASSERT_EQ(a.rows(), b.rows());
    for (Eigen::Index i = 0; i < a.size(); ++i) ASSERT_TRUE(a(i) == b(i) || (std::isnan(a(i)) && std::isnan(b(i))));
  }
  EXPECT_EQ(metric(*off, other, "effort"), 0.0);
  EXPECT_EQ(one.evaluation.cost, other.evaluation.cost);
}

// Magnets, contact and the controller's work: the unaccounted energy is small compared with each of them.
TEST_F(Controlled, DocksAndItsEnergyIsAccountedFor) {
  const auto flown =
      evaluator(std::string(docking) + control, {"--design.dipole-offset=0.1", "--design.last-leg=30 mm"});
  const Outcome outcome = whole(*flown);
  ASSERT_TRUE(outcome.evaluation.ok()) << outcome.evaluation.reason;
  EXPECT_EQ(metric(*flown, outcome, "docked"), 1.0);
  EXPECT_GT(metric(*flown, outcome, "contacts"), 0.0);
  const auto& commands = channel(*flown, outcome, "control");
  const Eigen::Index last = (commands.col(0).array() == commands.col(0).array()).count() - 1;
  EXPECT_GT(std::abs(commands(last, 7)), 1e-4);  // its work, J
  EXPECT_LT(metric(*flown, outcome, "energy_change"), 2e-6);
  // the columns are those of the law: what it says at the first node, at rest but for a drift
  EXPECT_NEAR(metric(*flown, outcome, "effort"), commands(last, 6), 0.5 * commands(last, 6));
}

TEST_F(Controlled, PartsAreTheWholeWithNoise) {
  const std::vector<std::string> noisy = {"--control.sample-rate=20",         "--control.position-noise=1 mm",
                                          "--control.attitude-noise=0.5 deg", "--control.delay=20 ms",
                                          "--design.gain-spin=0.02",          "--design.gain-attitude=0.05"};
  auto divided = noisy;
  divided.emplace_back("--simulation.initial-states-per-task=1");
  const auto at_once = evaluator(std::string(docking) + control, noisy),
             in_parts = evaluator(std::string(docking) + control, divided);
  EXPECT_EQ(in_parts->parts(), 3);
  const Outcome one = whole(*at_once), other = whole(*in_parts);
  ASSERT_TRUE(one.evaluation.ok()) << one.evaluation.reason;
  EXPECT_EQ(one.evaluation.cost, other.evaluation.cost);
  for (Eigen::Index i = 0; i < one.evaluation.metrics.size(); ++i)
    if (!std::isnan(one.evaluation.metrics[i])) {
      EXPECT_EQ(one.evaluation.metrics[i], other.evaluation.metrics[i]);
    }
  EXPECT_TRUE(channel(*at_once, one, "outcome") == channel(*in_parts, other, "outcome"));
}

// Effort is a quantity of rules and costs, and a mean may be over the starts that dock.
TEST_F(Controlled, CostsSpeakOfEffortAmongStartsThatDock) {
  const std::string text = std::string(docking) + control + dipole;
  const auto flown = evaluator(text + "[cost]\ncost = effort\ngiven-outcome = docked\nmax-other-share = 0.5\n");
  const Outcome outcome = whole(*flown);
  ASSERT_TRUE(outcome.evaluation.ok()) << outcome.evaluation.reason;
  EXPECT_NEAR(outcome.evaluation.cost, metric(*flown, outcome, "effort"), 1e-12);
  // the second start is the one that ends early
  const auto some =
      evaluator(text + "[outcome early]\nwhen = y > 0.05\n[cost]\ncost = effort\ngiven-outcome = docked\n");
  const Outcome among = whole(*some);
  ASSERT_GT(metric(*some, among, "early"), 0.0);
  EXPECT_GT(among.evaluation.cost, metric(*some, among, "effort"));
  const auto few = evaluator(
      text +
      "[outcome early]\nwhen = y > 0.05\n[cost]\ncost = effort\ngiven-outcome = docked\nmax-other-share = 0.1\n");
  EXPECT_EQ(whole(*few).evaluation.status, Status::infeasible);
  EXPECT_NE(complaint({}, std::string(docking) + "[cost]\ncost = effort\n").find("'effort' is unknown"),
            std::string::npos);
}

TEST_F(Controlled, MistakesAreTold) {
  const auto complaint_about = [&](const std::string& word) { return complaint({word}); };
  EXPECT_NE(complaint_about("--control.craft=mal").find("did you mean 'male'?"), std::string::npos);
  EXPECT_NE(complaint({"--control.craft=female", "--control.receiver=ground"}).find("does not move"),
            std::string::npos);
  EXPECT_NE(complaint_about("--control.receiver=male").find("is the craft itself"), std::string::npos);
  EXPECT_NE(complaint_about("--control.docked=0.1").find("has 1 numbers; expected 2"), std::string::npos);
  EXPECT_NE(complaint_about("--control.docked=lenth, 0").find("did you mean 'length'?"), std::string::npos);
  EXPECT_NE(complaint_about("--control.sample-rate=1000")
                .find("faster than one sample per simulation.step; allowed: at most 500"),
            std::string::npos);
  EXPECT_NE(complaint_about("--control.delay=0.1").find("set control.sample-rate"), std::string::npos);
  EXPECT_NE(complaint_about("--design.gain-spin=0").find("gain-spin is not positive"), std::string::npos);
  // ranges of a study may include designs that are refused
  EXPECT_EQ(complaint({"--design.gain-position.min=1", "--design.gain-position.max=2", "--design.gain-spin=0"}), "");
  EXPECT_NE(complaint_about("--design.dipole-offset=0.2").find("in front of the dock"), std::string::npos);
  EXPECT_NE(complaint({"--control.replan=1 cm"}, docking).find("has no effect without control.craft"),
            std::string::npos);
  EXPECT_NE(complaint({"--design.gain-spin=1"}, docking), "");
}

// No curve leads from behind: the design is refused, not the program.
TEST_F(Controlled, StartsWithoutACurveAreTold) {
  const auto behind = evaluator(std::string(docking) + control,
                                {"--initial-state.x=-0.4", "--initial-state.y=0", "--initial-states.bearing=0 .. 1"});
  const Outcome outcome = whole(*behind);
  EXPECT_EQ(outcome.evaluation.status, Status::infeasible);
  EXPECT_NE(outcome.evaluation.reason.find("behind the dipole"), std::string::npos) << outcome.evaluation.reason;
}

}  // namespace
}  // namespace dodyn::evaluators::test_control
