// What work costs measure, on a mass on a rail, where the least work is known.
#include <gtest/gtest.h>

#include <cmath>

#include "dmoc/motion_problem.hpp"
#include "nlp/check_derivatives.hpp"
#include "nlp/solve.hpp"

namespace dodyn::dmoc {
namespace {

constexpr double mass = 2.0, speed = 1.5;

// A cart that comes at `speed` and is to leave from the same place a second later with as much the other way.
struct Reversal {
  MotionProblem problem;
  Reversal(int intervals, double limit, bool at_ends, bool free_duration = false)
      : problem(std::make_shared<System>(
                    systems::read_model("[model]\ndimension = 2\ngravity = 0\n[link cart]\nparent = ground\n"
                                        "joint = prismatic x\nmass = 2\n[actuator push]\n"
                                        "coordinate = x\n",
                                        "cart")),
                systems_numbers()) {
    Phase phase;
    phase.name = "rail";
    phase.intervals = intervals;
    phase.controls = {{-limit, limit}};
    phase.work = true;
    phase.work_at_ends = at_ends;
    if (free_duration) phase.free_duration = {{1.0, 1.0 + 1e-9}};
    problem.add_phase(std::move(phase));
    problem.add_boundary({0, false, {{0, 0.0}}, {{0, speed}}});
    problem.add_boundary({0, true, {{0, 0.0}}, {{0, -speed}}});
    problem.transcribe();
    problem.add_effort(0, {1.0, 0.0, 1e-6}, 1.0);
    problem.problem().finish();
  }
  static std::vector<Coefficient> systems_numbers() {
    return systems::read_model(
               "[model]\ndimension = 2\ngravity = 0\n[link cart]\nparent = ground\njoint = prismatic x\n"
               "mass = 2\n[actuator push]\ncoordinate = x\n",
               "cart")
        .evaluate<Coefficient>({})
        .numbers;
  }
  Eigen::VectorXd start() const {
    Eigen::VectorXd x = Eigen::VectorXd::Zero(problem.size());
    const PhaseIndex& index = problem.index(0);
    for (int k = 0; k <= index.intervals; ++k) {
      const double s = static_cast<double>(k) / index.intervals;
      x(index.theta(k)) = speed * s * (1.0 - s);
    }
    for (int k = 0; k < index.intervals; ++k) x(index.control(k)) = -2.0 * mass * speed;
    if (index.duration >= 0) x(index.duration) = 1.0;
    problem.fill(x);
    return x;
  }
  double least_work() const {
    nlp::Options options;
    options.max_iterations = 1000;
    const nlp::Solution s = nlp::solve(problem.problem(), start(), options);
    EXPECT_EQ(s.status, nlp::SolveStatus::solved) << s.reason;
    return s.objective;
  }
};

// To brake takes m v^2 / 2, to accelerate as much again, whatever the force. An optimum that turns round within a time step
// or two saves a quarter of it, no more, however much force there is; with a limit of the force it converges to the truth.
TEST(WorkCost, TurningAMassRoundCostsWhatBrakingAndAcceleratingTakeButAQuarter) {
  const double least = mass * speed * speed;
  double before = 0.0;
  for (const int intervals : {20, 40, 80}) {
    EXPECT_NEAR(Reversal(intervals, 1000.0, true).least_work(), 0.75 * least, 0.01 * least);
    const double limited = Reversal(intervals, 100.0, true).least_work();
    EXPECT_GT(limited, before);
    EXPECT_LE(limited, 1.01 * least);
    before = limited;
  }
  EXPECT_GT(before, 0.95 * least);
}

// The hole of the work by intervals: a kick while it stands still is for nothing.
TEST(WorkCost, ByIntervalsAKickIsAllButForNothing) {
  EXPECT_LT(Reversal(20, 1000.0, false).least_work(), 0.2 * mass * speed * speed);
}

TEST(WorkCost, DerivativesAreExact) {
  for (const bool timed : {false, true}) {
    const Reversal reversal(4, 100.0, true, timed);
    Eigen::VectorXd x = reversal.start();
    for (Eigen::Index i = 0; i < x.size(); ++i) x(i) += 0.1 * std::sin(1.0 + static_cast<double>(i));
    const auto errors = nlp::check_derivatives(reversal.problem.problem(), x);
    EXPECT_LE(errors.largest(), 1e-7) << errors.worst;
  }
}

}  // namespace
}  // namespace dodyn::dmoc
