// Every kind of row of a transcription at some point, against a formula written here.
#include "rows.hpp"

#include <gtest/gtest.h>

#include "dmoc/path_function.hpp"
#include "tests/nlp/check_derivatives.hpp"

namespace dodyn::dmoc::test_rows {
namespace {

using Eigen::VectorXd;

// ---- a pendulum: a bob of mass m at the end of a rod of length l, which hangs at an angle a from a pivot
//   L = m (x'^2 + y'^2)/2 + m l a' (x' cos a + y' sin a) + m l^2 a'^2/2 - m g (y - l cos a)

constexpr double m = 1.3, l = 0.7, g = 9.0, T = 0.6;
constexpr int K = 4;
constexpr double h = T / K;

constexpr const char* pendulum =
    "[model]\ndimension = 2\ngravity = 9\n[link rod]\nparent = ground\njoint = point + revolute\n"
    "coordinates = x, y, a\n[mass bob]\nlink = rod\nat = 0, -0.7\nmass = 1.3\n[point bob]\nlink = rod\nat = 0, -0.7\n"
    "[actuator push]\ncoordinate = x\n[actuator motor]\ncoordinate = a\n";
const std::vector<int> pivot = {0, 1};

struct Slots {  // of an interval: D2 and D4 of the discrete Lagrangian with respect to x, y and a, the pivot at rest
  double D2[3], D4[3];
};
Slots slots(double a, double next) {
  const double middle = 0.5 * (a + next), w = (next - a) / h;
  const double momentum[3] = {m * l * w * std::cos(middle), m * l * w * std::sin(middle), m * l * l * w};
  const double pull[3] = {0.0, -m * g, -m * g * l * std::sin(middle)};
  Slots s;
  for (int i = 0; i < 3; ++i) {
    s.D2[i] = -momentum[i] + 0.5 * h * pull[i];
    s.D4[i] = momentum[i] + 0.5 * h * pull[i];
  }
  return s;
}
Phase swing(std::vector<ForceCondition> forces = {}) {
  Phase phase;
  phase.name = "swing";
  phase.held = pivot;
  phase.intervals = K;
  phase.duration = T;
  phase.controls = {{-1.0, 1.0}, {-5.0, 7.0}};
  phase.forces = std::move(forces);
  return phase;
}

TEST(Rows, DynamicsAreTheForcedDiscreteEulerLagrangeEquations) {
  MotionProblem problem = problem_of(pendulum);
  problem.add_phase(swing());
  problem.add_boundary({0, false, {{2, 0.4}}, {{2, -0.3}}});
  problem.add_boundary({0, true, {}, {}, true});
  problem.transcribe();
  const int given = next_row(problem) - 2;
  problem.problem().finish();
  const VectorXd x = some_point(problem.problem()), c = rows_at(problem.problem(), x);
  const PhaseIndex& at = problem.index(0);
  const auto a = [&](int k) { return x(at.theta(k)); };
  const auto u = [&](int k) { return x(at.control(k) + 1); };
  for (int k = 1; k < K; ++k) {
    const double expected = (slots(a(k - 1), a(k)).D4[2] + slots(a(k), a(k + 1)).D2[2]) / h + 0.5 * (u(k - 1) + u(k));
    EXPECT_NEAR(c(problem.momentum_row(0, k)), expected, 1e-12) << k;
  }
  // at the ends, N m s: the momenta of the rates there
  EXPECT_NEAR(c(problem.momentum_row(0, 0)),
              -slots(a(0), a(1)).D2[2] - 0.5 * h * u(0) - m * l * l * x(at.velocity_after), 1e-13);
  EXPECT_NEAR(c(problem.momentum_row(0, K)),
              slots(a(K - 1), a(K)).D4[2] + 0.5 * h * u(K - 1) - m * l * l * x(at.velocity_before), 1e-13);
  EXPECT_NEAR(c(given), a(0) - 0.4, 1e-15);
  EXPECT_NEAR(c(given + 1), x(at.velocity_after) + 0.3, 1e-15);
  for (int row = 0; row < c.size(); ++row) {
    EXPECT_EQ(problem.problem().constraint_lower(row), 0.0);
    EXPECT_EQ(problem.problem().constraint_upper(row), 0.0);
  }
  EXPECT_EQ(problem.problem().lower(at.control(2)), -1.0);
  EXPECT_EQ(problem.problem().upper(at.control(2) + 1), 7.0);
}

// A damper at the pivot, in parallel with the motor. Its moment is that of the rate at the midpoint. Half of it acts at
// each end of the interval.
TEST(Rows, DampersPushAtMidpoints) {
  constexpr double damping = 0.4;
  for (const bool timed : {false, true}) {
    MotionProblem problem = problem_of(std::string(pendulum) + "[spring pivot]\ncoordinate = a\ndamping = 0.4\n");
    EXPECT_FALSE(problem.system().simply_actuated());
    Phase phase = swing();
    if (timed) phase.free_duration = {{0.1, 2.0}};
    problem.add_phase(std::move(phase));
    problem.add_boundary({0, true, {}, {}, true});
    problem.transcribe();
    problem.problem().finish();
    const PhaseIndex& at = problem.index(0);
    VectorXd x = some_point(problem.problem());
    if (timed) x(at.duration) = T;
    const VectorXd c = rows_at(problem.problem(), x);
    const auto a = [&](int k) { return x(at.theta(k)); };
    const auto push = [&](int k) { return x(at.control(k) + 1) - damping * (a(k + 1) - a(k)) / h; };
    for (int k = 1; k < K; ++k)
      EXPECT_NEAR(c(problem.momentum_row(0, k)) * (timed ? 1.0 : h),
                  slots(a(k - 1), a(k)).D4[2] + slots(a(k), a(k + 1)).D2[2] + 0.5 * h * (push(k - 1) + push(k)), 1e-13);
    EXPECT_NEAR(c(problem.momentum_row(0, K)),
                slots(a(K - 1), a(K)).D4[2] + 0.5 * h * push(K - 1) - m * l * l * x(at.velocity_before), 1e-13);
  }
}

// So do loads: a constant moment, and a force on the bob.
TEST(Rows, LoadsPushNextToControls) {
  for (const bool turns : {true, false}) {
    MotionProblem problem =
        problem_of(std::string(pendulum) + (turns ? "[force wind]\ncoordinate = a\nforce = 0.4\n"
                                                  : "[force wind]\nlink = rod\nat = 0, -0.7\nforce = 0.5, 0.3\n"));
    EXPECT_FALSE(problem.system().simply_actuated());
    problem.add_phase(swing());
    problem.transcribe();
    problem.problem().finish();
    const VectorXd x = some_point(problem.problem()), c = rows_at(problem.problem(), x);
    const PhaseIndex& at = problem.index(0);
    const auto a = [&](int k) { return x(at.theta(k)); };
    const auto push = [&](int k) {
      const double middle = 0.5 * (a(k) + a(k + 1));
      return x(at.control(k) + 1) + (turns ? 0.4 : l * (0.5 * std::cos(middle) + 0.3 * std::sin(middle)));
    };
    for (int k = 1; k < K; ++k)
      EXPECT_NEAR(c(problem.momentum_row(0, k)) * h,
                  slots(a(k - 1), a(k)).D4[2] + slots(a(k), a(k + 1)).D2[2] + 0.5 * h * (push(k - 1) + push(k)), 1e-13);
  }
  EXPECT_TRUE(problem_of(pendulum).system().simply_actuated());
}

// With the duration an unknown the rows are momenta, N m s.
TEST(Rows, DynamicsOfAFreeDurationAreThoseTimesTheStep) {
  MotionProblem problem = problem_of(pendulum);
  Phase phase = swing();
  phase.free_duration = {{0.1, 2.0}};
  problem.add_phase(std::move(phase));
  problem.add_boundary({0, false, {}, {}, true});
  problem.transcribe();
  problem.problem().finish();
  const PhaseIndex& at = problem.index(0);
  VectorXd x = some_point(problem.problem());
  x(at.duration) = T;
  const VectorXd c = rows_at(problem.problem(), x);
  const auto a = [&](int k) { return x(at.theta(k)); };
  const auto u = [&](int k) { return x(at.control(k) + 1); };
  for (int k = 1; k < K; ++k)
    EXPECT_NEAR(c(problem.momentum_row(0, k)),
                slots(a(k - 1), a(k)).D4[2] + slots(a(k), a(k + 1)).D2[2] + 0.5 * h * (u(k - 1) + u(k)), 1e-13);
  EXPECT_NEAR(c(problem.momentum_row(0, 0)),
              -slots(a(0), a(1)).D2[2] - 0.5 * h * u(0) - m * l * l * x(at.velocity_after), 1e-13);
  EXPECT_EQ(problem.momentum_row(0, K), -1);
  EXPECT_EQ(problem.problem().lower(at.duration), 0.1);
  EXPECT_EQ(problem.problem().upper(at.duration), 2.0);
}

// Conditions on the force on the pivot, N: on 0.8 f_y + 0.5 f_x and on f_y - 3 N, at every node.
TEST(Rows, ForceConditionsWeighTheForceOnWhatIsHeld) {
  MotionProblem problem = problem_of(pendulum);
  problem.add_phase(swing({{.forces = {{1, 0.8}, {0, 0.5}}}, {.forces = {{1, 1.0}}, .constant = -3.0}}));
  problem.transcribe();
  const int first = next_row(problem) - 2 * (K + 1);
  problem.problem().finish();
  const VectorXd x = some_point(problem.problem()), c = rows_at(problem.problem(), x);
  const PhaseIndex& at = problem.index(0);
  const auto a = [&](int k) { return x(at.theta(k)); };
  const auto momentum = [&](int node, double rate, int i) {
    return m * l * rate * (i == 0 ? std::cos(a(node)) : std::sin(a(node)));
  };
  for (int k = 0; k <= K; ++k) {
    double force[2];
    for (int i = 0; i < 2; ++i) {
      if (k == 0)
        force[i] = -2.0 / h * (slots(a(0), a(1)).D2[i] + momentum(0, x(at.velocity_after), i));
      else if (k == K)
        force[i] = 2.0 / h * (momentum(K, x(at.velocity_before), i) - slots(a(K - 1), a(K)).D4[i]);
      else
        force[i] = -(slots(a(k - 1), a(k)).D4[i] + slots(a(k), a(k + 1)).D2[i]) / h;
    }
    // an actuator pushes the pivot, too, and the ground takes that
    force[0] -= k == 0   ? x(at.control(0))
                : k == K ? x(at.control(K - 1))
                         : 0.5 * (x(at.control(k - 1)) + x(at.control(k)));
    EXPECT_NEAR(c(first + 2 * k), 0.8 * force[1] + 0.5 * force[0], 1e-11) << k;
    EXPECT_NEAR(c(first + 2 * k + 1), force[1] - 3.0, 1e-11) << k;
    EXPECT_EQ(problem.problem().constraint_lower(first + 2 * k), 0.0);
    EXPECT_EQ(problem.problem().constraint_upper(first + 2 * k), nlp::infinity);
  }
}

// The pivot falls, lands and stays. The only impulse of the landing acts on the pivot.
TEST(Rows, AnEventCarriesMomentaOverAndPushesOnlyWhatIsHeldAfterwards) {
  MotionProblem problem = problem_of(pendulum);
  Phase fall = swing();
  fall.held = {};
  problem.add_phase(std::move(fall));
  problem.add_phase(swing({{.forces = {{1, 0.8}, {0, 0.5}}}, {.forces = {{1, 1.0}}, .constant = 2.0}}));
  const int event = problem.add_event({0, 1, {}, {}, {0.3, 0.0, -0.1}});
  problem.transcribe();
  const int impulse = next_row(problem) - 2;
  problem.problem().finish();
  const VectorXd x = some_point(problem.problem()), c = rows_at(problem.problem(), x);
  const VectorXd before = x.segment(problem.index(0).theta(K), 3),
                 rate = x.segment(problem.index(0).velocity_before, 3);
  const double after = x(problem.index(1).theta(0)), rate_after = x(problem.index(1).velocity_after);
  const auto momentum = [](double a, double vx, double vy, double va) {
    return Eigen::Vector3d(m * (vx + l * va * std::cos(a)), m * (vy + l * va * std::sin(a)),
                           m * l * (vx * std::cos(a) + vy * std::sin(a) + l * va));
  };
  const Eigen::Vector3d arrives = momentum(before(2), rate(0), rate(1), rate(2)),
                        leaves = momentum(after, 0.0, 0.0, rate_after), push = leaves - arrives;
  const int jump = problem.jump_row(event);
  EXPECT_NEAR(c(jump), arrives(2) - leaves(2), 1e-13);
  EXPECT_NEAR(c(jump + 1), before(0) - 0.3, 1e-15);
  EXPECT_NEAR(c(jump + 2), before(1), 1e-15);
  EXPECT_NEAR(c(jump + 3), before(2) - after + 0.1, 1e-15);
  EXPECT_NEAR(c(impulse), 0.8 * push(1) + 0.5 * push(0), 1e-13);
  EXPECT_EQ(problem.problem().constraint_lower(impulse), 0.0);
  EXPECT_EQ(problem.problem().constraint_upper(impulse), nlp::infinity);
  // a condition with a constant is one of forces alone
  EXPECT_EQ(problem.problem().constraint_lower(impulse + 1), -nlp::infinity);
  EXPECT_EQ(problem.problem().constraint_upper(impulse + 1), nlp::infinity);
}

TEST(Rows, AConstantMayBeZeroAtThisDesignAlone) {
  ForceCondition condition{.forces = {{1, 1.0}}};
  EXPECT_FALSE(condition.has_constant());
  condition.constant.gradient = VectorXd::Zero(2);  // mu in mu*normal - tangential
  EXPECT_FALSE(condition.has_constant());
  condition.constant.gradient(1) = 1.0;  // limit in limit - 100 N, at 100 N
  EXPECT_TRUE(condition.has_constant());
}

// With an unknown duration the rows of forces are times the step.
TEST(Rows, AConstantForceIsTimesTheStepOfAnUnknownDuration) {
  const auto row_of = [](double constant) {
    MotionProblem problem = problem_of(pendulum);
    Phase phase = swing({{.forces = {{1, 1.0}}, .constant = constant}});
    phase.free_duration = {{0.1, 2.0}};
    problem.add_phase(std::move(phase));
    problem.transcribe();
    const int first = next_row(problem) - (K + 1);
    problem.problem().finish();
    VectorXd x = some_point(problem.problem());
    x(problem.index(0).duration) = T;
    return VectorXd(rows_at(problem.problem(), x).segment(first, K + 1));
  };
  EXPECT_NEAR((row_of(5.0) - row_of(0.0) - VectorXd::Constant(K + 1, 5.0 * T / K)).norm(), 0.0, 1e-12);
}

// Rows: the work u (theta' - theta), or with work_at_ends (h/2) u times the rate at each node, equals w+ - w-. The cost
// weighs w+ and w-.
TEST(Rows, WorkIsSplitIntoPositiveAndNegative) {
  for (const bool at_ends : {true, false})
    for (const bool timed : {true, false}) {
      MotionProblem problem = problem_of(pendulum);
      Phase phase = swing();
      phase.work = true;
      phase.work_at_ends = at_ends;
      if (timed) phase.free_duration = {{0.1, 2.0}};
      problem.add_phase(std::move(phase));
      problem.add_boundary({0, false, {}, {}, true});  // the rate at the start is an unknown, that at the end is not
      problem.transcribe();
      const int first = next_row(problem);
      problem.add_effort(0, {0.7, 0.3, 0.05, {0.01, 0.02}}, 2.0);
      problem.problem().finish();
      const PhaseIndex& at = problem.index(0);
      VectorXd x = some_point(problem.problem());
      if (timed) x(at.duration) = T;
      const VectorXd c = rows_at(problem.problem(), x);
      double cost = 0.0;
      int row = first;
      for (int k = 0; k < K; ++k)
        for (int i = 0; i < 2; ++i) {
          const double u = x(at.control(k) + i);
          cost += 2.0 * (0.05 + 0.01 * (i + 1)) * h * u * u;
          for (int half = 0; half < at.halves; ++half) {
            const auto a = [&](int node) { return x(at.theta(node)); };
            double work = u * (a(k + 1) - a(k));
            if (at_ends) {
              const int node = k + half;
              const double rate = node == 0   ? x(at.velocity_after)
                                  : node == K ? (a(K) - a(K - 1)) / h
                                              : (a(node + 1) - a(node - 1)) / (2.0 * h);
              work = 0.5 * h * u * rate;
            }
            if (i == 0) work = 0.0;  // the pivot does not move
            const double done = x(at.positive(k, half) + i), taken = x(at.negative(k, half) + i);
            EXPECT_NEAR(c(row++), work - done + taken, 1e-14) << at_ends << timed << k << i << half;
            cost += 2.0 * (0.7 * (done + taken) + 0.3 * done);
          }
        }
      EXPECT_EQ(row, c.size());
      EXPECT_NEAR(problem.problem().objective(x), cost, 1e-13);
    }
}

// ---- expressions along a phase

TEST(Rows, PathFunctionsAreTakenAtNodesOrAtMidpoints) {
  MotionProblem problem = problem_of(pendulum);
  problem.add_phase(swing());
  problem.add_boundary({0, true, {}, {}, true});
  problem.transcribe();
  const System& system = problem.system();
  const auto parsed = [](const char* text) { return Expression::parse(text); };
  const Lookup lookup = [](const std::string& name) { return Coefficient(name == "most" ? 2.5 : -1e9); };
  const PathFunction height = path_function(system, pivot, {}, parsed("bob.y + most"), {"most"}),
                     power = path_function(system, pivot, {}, parsed("u.motor*rate(a)*most"), {"most"}),
                     posture = path_function(system, pivot, {}, parsed("a^2"), {}, true),
                     end = end_function(system, pivot, parsed("most*rate(a) + sin(a)"), {"most"});
  EXPECT_EQ(height.place, PathFunction::Place::knots);
  EXPECT_EQ(power.place, PathFunction::Place::points);
  EXPECT_EQ(posture.place, PathFunction::Place::points);
  const int first = next_row(problem);
  add_path_constraint(problem, 0, height, lookup, false);
  add_path_constraint(problem, 0, power, lookup, true);
  add_path_cost(problem, 0, posture, lookup, 3.0);
  add_end_constraint(problem, 0, true, end, lookup, false);
  add_end_cost(problem, 0, true, end, lookup, 0.2);
  problem.problem().finish();
  const VectorXd x = some_point(problem.problem()), c = rows_at(problem.problem(), x);
  const PhaseIndex& at = problem.index(0);
  const auto a = [&](int k) { return x(at.theta(k)); };
  double cost = 0.0;
  for (int k = 0; k <= K; ++k) EXPECT_NEAR(c(first + k), 2.5 - l * std::cos(a(k)), 1e-14);
  for (int k = 0; k < K; ++k) {
    const int row = first + K + 1 + k;
    EXPECT_NEAR(c(row), 2.5 * x(at.control(k) + 1) * (a(k + 1) - a(k)) / h, 1e-13);
    EXPECT_EQ(problem.problem().constraint_upper(row), 0.0);
    cost += 3.0 * h * std::pow(0.5 * (a(k) + a(k + 1)), 2);
  }
  EXPECT_EQ(problem.problem().constraint_upper(first), nlp::infinity);
  const double at_end = 2.5 * x(at.velocity_before) + std::sin(a(K));
  EXPECT_NEAR(c(first + 2 * K + 1), at_end, 1e-14);
  EXPECT_EQ(c.size(), first + 2 * K + 2);
  EXPECT_NEAR(problem.problem().objective(x), cost + 0.2 * at_end, 1e-14);
}

// Time counts from the start of the first phase; rates of controls are those of the nodes inside.
TEST(Rows, PathFunctionsOfTimeAndOfRatesOfControls) {
  constexpr double T_first = 0.37, T_second = 0.8;
  for (const bool first_timed : {false, true})
    for (const bool second_timed : {false, true}) {
      MotionProblem problem = problem_of(pendulum);
      Phase one = swing(), two = swing();
      one.duration = T_first, two.duration = T_second;
      if (first_timed) one.free_duration = {{0.1, 2.0}};
      if (second_timed) two.free_duration = {{0.1, 2.0}};
      problem.add_phase(one);
      problem.add_phase(two);
      problem.transcribe();
      const System& system = problem.system();
      const auto parsed = [](const char* text) { return Expression::parse(text); };
      const Lookup lookup = [](const std::string&) { return Coefficient(2.5); };
      const PhaseClock clock{second_timed, first_timed};
      const PathFunction height = path_function(system, pivot, clock, parsed("bob.y + most*t"), {"most"}),
                         power = path_function(system, pivot, clock, parsed("u.motor*t"), {}),
                         jerk = path_function(system, pivot, clock, parsed("most*rate(u.motor)"), {"most"}),
                         mixed = path_function(system, pivot, clock,
                                               parsed("rate(u.motor)*t + a*rate(a) + u.push*rate(u.push)"), {}, true),
                         time = path_function(system, pivot, clock, parsed("t^2"), {}, true);
      EXPECT_EQ(height.place, PathFunction::Place::knots);
      EXPECT_EQ(power.place, PathFunction::Place::points);
      EXPECT_EQ(jerk.place, PathFunction::Place::jumps);
      EXPECT_EQ(mixed.place, PathFunction::Place::jumps);
      const int first = next_row(problem);
      for (const PathFunction* f : {&height, &power, &jerk}) add_path_constraint(problem, 1, *f, lookup, false);
      add_path_cost(problem, 1, mixed, lookup, 3.0);
      add_path_cost(problem, 1, time, lookup, 1.0);
      problem.problem().finish();
      VectorXd x = some_point(problem.problem());
      if (first_timed) x(problem.index(0).duration) = T_first;
      if (second_timed) x(problem.index(1).duration) = T_second;
      const VectorXd c = rows_at(problem.problem(), x);
      const PhaseIndex& at = problem.index(1);
      const double step = T_second / K;
      const auto a = [&](int k) { return x(at.theta(k)); };
      const auto u = [&](int k, int i) { return x(at.control(k) + i); };
      const auto rate = [&](int k, int i) { return (u(k, i) - u(k - 1, i)) / step; };
      int row = first;
      for (int k = 0; k <= K; ++k) EXPECT_NEAR(c(row++), -l * std::cos(a(k)) + 2.5 * (T_first + k * step), 1e-13) << k;
      for (int k = 0; k < K; ++k) EXPECT_NEAR(c(row++), u(k, 1) * (T_first + (k + 0.5) * step), 1e-12) << k;
      for (int k = 1; k < K; ++k) EXPECT_NEAR(c(row++), 2.5 * rate(k, 1), 1e-12) << k;
      EXPECT_EQ(c.size(), row);
      double cost = 0.0;
      for (int k = 1; k < K; ++k)
        cost += 3.0 * step * (k == 1 || k == K - 1 ? 1.5 : 1.0) *
                (rate(k, 1) * (T_first + k * step) + a(k) * (a(k + 1) - a(k - 1)) / (2.0 * step) +
                 0.5 * (u(k - 1, 0) + u(k, 0)) * rate(k, 0));
      for (int k = 0; k < K; ++k) cost += step * std::pow(T_first + (k + 0.5) * step, 2);
      EXPECT_NEAR(problem.problem().objective(x), cost, 1e-12);
      const auto errors = nlp::check_derivatives(problem.problem(), x);
      EXPECT_LT(errors.max(), 1e-7) << errors.worst;
    }
}

// A phase of two intervals has one jump of controls, which stands for the whole phase. Parameters are distinguished by
// their places.
TEST(Rows, PathFunctionsOfShortPhasesAndOfSeveralParameters) {
  for (const int intervals : {1, 2, 3, 5})
    for (const bool timed : {false, true}) {
      MotionProblem problem = problem_of(pendulum);
      Phase phase = swing();
      phase.intervals = intervals;
      if (timed) phase.free_duration = {{0.1, 2.0}};
      problem.add_phase(phase);
      problem.add_boundary({0, true, {}, {}, true});
      problem.transcribe();
      const System& system = problem.system();
      const auto parsed = [](const char* text) { return Expression::parse(text); };
      const std::vector<std::string> names = {"low", "high"};
      const Lookup lookup = [](const std::string& name) { return Coefficient(name == "high" ? 2.5 : 0.3); };
      const PhaseClock clock{timed, 0};
      const PathFunction height = path_function(system, pivot, clock, parsed("a + low - 2*high"), names),
                         effort = path_function(system, pivot, clock, parsed("u.motor*high + low"), names),
                         jump = path_function(system, pivot, clock, parsed("rate(u.motor)*rate(a)"), {}, true),
                         end = end_function(system, pivot, parsed("low*rate(a) + high*a"), names);
      EXPECT_EQ(height.place, PathFunction::Place::knots);
      EXPECT_EQ(effort.place, PathFunction::Place::points);
      EXPECT_EQ(jump.place, PathFunction::Place::jumps);
      int row = next_row(problem);
      add_path_constraint(problem, 0, height, lookup, false);
      add_path_constraint(problem, 0, effort, lookup, false);
      add_path_cost(problem, 0, jump, lookup, 1.0);
      add_end_constraint(problem, 0, true, end, lookup, true);
      problem.problem().finish();
      VectorXd x = some_point(problem.problem());
      const PhaseIndex& at = problem.index(0);
      if (timed) x(at.duration) = T;
      const VectorXd c = rows_at(problem.problem(), x);
      const double step = T / intervals;
      const auto a = [&](int k) { return x(at.theta(k)); };
      const auto u = [&](int k) { return x(at.control(k) + 1); };
      for (int k = 0; k <= intervals; ++k) EXPECT_NEAR(c(row++), a(k) + 0.3 - 5.0, 1e-13) << k;
      for (int k = 0; k < intervals; ++k) EXPECT_NEAR(c(row++), 2.5 * u(k) + 0.3, 1e-13) << k;
      EXPECT_NEAR(c(row++), 0.3 * x(at.velocity_before) + 2.5 * a(intervals), 1e-13);
      EXPECT_EQ(c.size(), row);
      double cost = 0.0;
      for (int k = 1; k < intervals; ++k) {
        const double stands_for = intervals == 2 ? 2.0 : k == 1 || k == intervals - 1 ? 1.5 : 1.0;
        cost += stands_for * step * (u(k) - u(k - 1)) / step * (a(k + 1) - a(k - 1)) / (2.0 * step);
      }
      EXPECT_NEAR(problem.problem().objective(x), cost, 1e-12) << intervals;
      EXPECT_LT(nlp::check_derivatives(problem.problem(), x).max(), 1e-7);
    }
}

TEST(Rows, EndsHaveNoTimeAndNoRatesOfControls) {
  MotionProblem problem = problem_of(pendulum);
  problem.add_phase(swing());
  for (const char* text : {"t", "rate(u.motor)", "u.motor"})
    EXPECT_THROW(end_function(problem.system(), pivot, Expression::parse(text), {}), ExpressionError) << text;
}

std::string complaint_of(const System& system, const char* text, bool integrated = false) {
  try {
    path_function(system, {}, {}, Expression::parse(text), {"most"}, integrated);
  } catch (const ExpressionError& error) {
    return error.what();
  }
  return "";
}

TEST(Rows, PathFunctionsOfUnknownNamesAreRefused) {
  MotionProblem problem = problem_of(pendulum);
  const System& system = problem.system();
  for (const char* text :
       {"t(a)", "rate(bob)", "rate(u.motor, a)", "speed(u.motor)", "u.moter", "rate(u.moter)", "mots"})
    EXPECT_NE(complaint_of(system, text).find("unknown name"), std::string::npos) << text;
  const MotionProblem sized = problem_of("[parameters]\nsize = 2\n" + std::string(pendulum));
  EXPECT_EQ(complaint_of(sized.system(), "size*a"), "");
  EXPECT_NE(complaint_of(sized.system(), "rate(size)").find("unknown name"), std::string::npos);
  EXPECT_NE(complaint_of(system, "u.moter").find("did you mean 'u.motor'?"), std::string::npos);
  EXPECT_NE(complaint_of(system, "mots").find("did you mean 'most'?"), std::string::npos);
  // Inside parentheses, too: of an expression the message names the fault alone.
  for (const auto& [text, meant] :
       {std::pair("a + 2*rate(u.moter) <= 3", "'rate(u.moter)' (did you mean 'rate(u.motor)'?)"),
        {"rate(yy)^2 + x", "'rate(yy)' (did you mean 'rate(y)'?)"},
        {"speed(bub) + rate(a)", "'speed(bub)' (did you mean 'speed(bob)'?)"}})
    EXPECT_NE(complaint_of(system, text).find(std::string("unknown name ") + meant), std::string::npos)
        << complaint_of(system, text);
  EXPECT_NE(complaint_of(system, "most + 1", true).find("does not depend on the motion"), std::string::npos);
  EXPECT_EQ(complaint_of(system, "most + t", true), "");
  EXPECT_EQ(complaint_of(system, "most + 1"), "");  // a condition on the design
  EXPECT_EQ(complaint_of(system, "rate(u.motor)*rate(a) + speed(bob)", true), "");
}

// Angles of a spherical joint are about a reference; points between two of them are not the points of means.
TEST(Rows, InSpacePathFunctionsUsePointsAtNodesAlone) {
  MotionProblem problem = problem_of(
      "[model]\ndimension = 3\ngravity = 9\n[link craft]\nparent = ground\njoint = spatial ZXY\n"
      "coordinates = x, y, z, a, b, c\nmass = 1\ninertia = 1, 1, 1\ncentre = 0, 0, 0\n"
      "[point nose]\nlink = craft\nat = 0.2, 0, 0\n[actuator jet]\ncoordinate = x\n",
      true);
  const System& system = problem.system();
  ASSERT_EQ(system.charts().size(), 1u);
  for (const char* text : {"a", "b + nose.x", "rate(c)"})
    EXPECT_NE(complaint_of(system, text).find("angles of a spherical joint"), std::string::npos) << text;
  for (const char* text : {"nose.x*u.jet", "speed(nose)"})
    EXPECT_NE(complaint_of(system, text).find("allowed: points alone"), std::string::npos) << text;
  EXPECT_NE(complaint_of(system, "nose.x", true).find("allowed: points alone"), std::string::npos);
  for (const char* text : {"nose.x", "x + t", "rate(x)*u.jet", "rate(u.jet)"})
    EXPECT_EQ(complaint_of(system, text), "") << text;
  EXPECT_THROW(end_function(system, {}, Expression::parse("rate(a)"), {}), ExpressionError);
  EXPECT_NO_THROW(end_function(system, {}, Expression::parse("nose.x*rate(x)"), {}));
}

}  // namespace
}  // namespace dodyn::dmoc::test_rows
