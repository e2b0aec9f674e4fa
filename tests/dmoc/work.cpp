// Costs of work for a mass on a rail, whose minimum work is known.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "dmoc/motion_problem.hpp"
#include "nlp/solve.hpp"
#include "tests/nlp/check_derivatives.hpp"

namespace dodyn::dmoc::test_work {
namespace {

constexpr double mass = 2.0, speed = 1.5;

constexpr const char* rail =
    "[model]\ndimension = 2\ngravity = 0\n[link cart]\nparent = ground\njoint = prismatic x\nmass = 2\n"
    "[actuator push]\ncoordinate = x\n";

// Initial position and speed, final position and speed; the duration is 1 s.
struct Ends {
  double x0, v0, x1, v1;
};

// A cart on a rail that moves between given states at the minimum of |work| + `weight` times the squared force.
struct Cart {
  MotionProblem problem;
  Cart(int intervals, double limit, Ends ends, double weight, bool at_ends = true, bool free_duration = false,
       int order = 2)
      : problem(std::make_shared<System>(systems::read_model(rail, "cart"), false, std::vector<Energy>(), order),
                systems::read_model(rail, "cart").evaluate<Coefficient>({}).numbers) {
    Phase phase;
    phase.name = "rail";
    phase.intervals = intervals;
    phase.controls = {{-limit, limit}};
    phase.work = true;
    phase.work_at_ends = at_ends;
    if (free_duration) phase.free_duration = {{1.0, 1.0 + 1e-9}};
    problem.add_phase(std::move(phase));
    problem.add_boundary({0, false, {{0, ends.x0}}, {{0, ends.v0}}});
    problem.add_boundary({0, true, {{0, ends.x1}}, {{0, ends.v1}}});
    problem.transcribe();
    problem.add_effort(0, {1.0, 0.0, weight}, 1.0);
    problem.problem().finish();
    start = Eigen::VectorXd::Zero(problem.size());
    const PhaseIndex& index = problem.index(0);
    for (int r = 0; r < index.knots(); ++r) {  // a parabola
      const double t = problem.system().scheme().position(r) / intervals;
      start(index.knot(r)) = ends.x0 + ends.v0 * t + (ends.x1 - ends.x0 - ends.v0) * t * t;
    }
    for (int k = 0; k < intervals; ++k)
      for (int point = 0; point < index.degree; ++point) start(index.control(k, point)) = mass * (ends.v1 - ends.v0);
    if (index.duration >= 0) start(index.duration) = 1.0;
    problem.fill(start);
  }
  double min_cost() const {
    nlp::Options options;
    options.max_iterations = 1000;
    const nlp::Solution s = nlp::solve(problem.problem(), start, options);
    EXPECT_EQ(s.status, nlp::SolveStatus::solved) << s.reason;
    return s.objective;
  }
  Eigen::VectorXd start;
};

// The cart arrives at `speed` and leaves from the same place at the opposite speed.
constexpr Ends turned_round = {0.0, speed, 0.0, -speed};

// Braking takes the work m v^2/2, and accelerating takes it again, for any force. If the optimum turns round within one
// or two time steps, the discrete work is smaller by at most 25 %. With a limit of the force it converges to the exact
// work.
TEST(WorkCost, ReversingAMassCosts75PercentOfItsWork) {
  const double minimum = mass * speed * speed;
  double before = 0.0;
  for (const int intervals : {20, 40, 80}) {
    EXPECT_NEAR(Cart(intervals, 1000.0, turned_round, 1e-6).min_cost(), 0.75 * minimum, 0.01 * minimum);
    const double limited = Cart(intervals, 100.0, turned_round, 1e-6).min_cost();
    EXPECT_GT(limited, before);
    EXPECT_LE(limited, 1.01 * minimum);
    before = limited;
  }
  EXPECT_GT(before, 0.95 * minimum);
}

// From rest to rest over 1 m in 1 s at |u v| + c u^2. By the maximum principle u falls linearly from s t1 to 0 at t1,
// is 0 until 1 - t1, and falls linearly to -s t1. In between V = s t1^2/(2 m), where t1^2 = 2 m c (1 - 2 t1). The force
// is continuous, so the cost converges with second order.
TEST(WorkCost, ConvergesToTheMinimumOfAContinuousForceWithOrderTwo) {
  constexpr double c = 0.05, b = 2.0 * mass * c;
  const double t1 = std::sqrt(b * b + b) - b, coast = 1.0 - 2.0 * t1,
               s = 1.0 / (2.0 * t1 * t1 * t1 / (3.0 * mass) + t1 * t1 / (2.0 * mass) * coast),
               V = s * t1 * t1 / (2.0 * mass), minimum = mass * V * V + c * 2.0 * s * s * t1 * t1 * t1 / 3.0;
  double before = 0.0;
  for (const int intervals : {40, 80, 160}) {
    const double error = Cart(intervals, 1000.0, {0.0, 0.0, 1.0, 0.0}, c).min_cost() - minimum;
    EXPECT_LT(std::abs(error), 20.0 / (intervals * intervals) * minimum);
    EXPECT_TRUE(before == 0.0 || std::abs(before / error - 4.0) < 0.8) << intervals << ": " << before << ", " << error;
    before = error;
  }
}

// A gap of work by intervals: a force pulse that reverses the cart within an interval costs almost no work.
TEST(WorkCost, ByIntervalsAKickCostsAlmostNothing) {
  EXPECT_LT(Cart(20, 1000.0, turned_round, 1e-6, false).min_cost(), 0.2 * mass * speed * speed);
}

// At orders 4 and 6 a force pulse saves nothing, because the mass accelerates with the force within an interval.
TEST(WorkCost, OfHigherOrdersAKickSavesNothing) {
  const double minimum = mass * speed * speed;
  for (const int order : {4, 6})
    for (const double limit : {100.0, 1000.0})
      for (const int intervals : {20, 40})
        EXPECT_NEAR(Cart(intervals, limit, turned_round, 1e-5, true, false, order).min_cost() / minimum, 1.0, 0.02)
            << order << ", " << intervals << ", " << limit;
}

// A given motion: a growing force turns a cart round. Its work is known, wherever the turn lies in its interval.
TEST(WorkCost, OfHigherOrdersConvergesForAGivenMotionThatTurnsRound) {
  const auto error = [](int order, int intervals, bool at_ends) {
    Cart cart(intervals, 100.0, turned_round, 1.0, at_ends, false, order);
    const PhaseIndex& at = cart.problem.index(0);
    const Scheme& scheme = cart.problem.system().scheme();
    const auto rate = [](double t) { return std::exp(1.2 * t) - 1.7; };
    Eigen::VectorXd x = cart.start;
    for (int r = 0; r < at.knots(); ++r) {
      const double t = scheme.position(r) / intervals;
      x(at.knot(r)) = std::exp(1.2 * t) / 1.2 - 1.7 * t;
    }
    for (int k = 0; k < intervals; ++k)
      for (int i = 0; i < at.degree; ++i)
        x(at.control(k, i)) = mass * 1.2 * std::exp(1.2 * (k + scheme.points(i)) / intervals);
    for (int node = 0; node <= intervals && at_ends; ++node)
      x(at.rate(node)) = rate(static_cast<double>(node) / intervals);
    const double exact = 0.5 * mass * (rate(0.0) * rate(0.0) + rate(1.0) * rate(1.0));
    return std::abs(cart.problem.work(0, x, at_ends).absolute / exact - 1.0);
  };
  for (const int order : {4, 6})
    for (const bool at_ends : {true, false}) {
      // the maximum of neighbouring numbers of intervals, since the place of the turn differs
      const auto max_error = [&](int intervals) {
        double largest = 0.0;
        for (int more = 0; more < 5; ++more) largest = std::max(largest, error(order, intervals + more, at_ends));
        return largest;
      };
      const double coarse = max_error(10), fine = max_error(20);
      EXPECT_GT(std::log2(coarse / fine), order / 2 + (at_ends ? 1.0 : 0.5)) << order << at_ends << ": " << coarse;
      EXPECT_LT(coarse, at_ends ? 1e-5 : 1e-3) << order << at_ends;
    }
}

// The cart of the maximum principle: 20 intervals of order 4 come nearer than 160 of order 2.
TEST(WorkCost, OfHigherOrdersConvergesToTheMinimumOfAContinuousForce) {
  constexpr double c = 0.05, b = 2.0 * mass * c;
  const double t1 = std::sqrt(b * b + b) - b, coast = 1.0 - 2.0 * t1,
               s = 1.0 / (2.0 * t1 * t1 * t1 / (3.0 * mass) + t1 * t1 / (2.0 * mass) * coast),
               V = s * t1 * t1 / (2.0 * mass), minimum = mass * V * V + c * 2.0 * s * s * t1 * t1 * t1 / 3.0;
  for (const int order : {4, 6})
    for (const bool at_ends : {true, false})
      for (const int intervals : {20, 80}) {
        const double cost = Cart(intervals, 1000.0, {0.0, 0.0, 1.0, 0.0}, c, at_ends, false, order).min_cost();
        EXPECT_NEAR(cost / minimum, 1.0, intervals == 20 ? 7e-5 : 2e-6) << order << at_ends;
      }
}

TEST(WorkCost, DerivativesAreExact) {
  for (const bool timed : {false, true}) {
    const Cart cart(4, 100.0, turned_round, 1e-6, true, timed);
    Eigen::VectorXd x = cart.start;
    for (Eigen::Index i = 0; i < x.size(); ++i) x(i) += 0.1 * std::sin(1.0 + static_cast<double>(i));
    const auto errors = nlp::check_derivatives(cart.problem.problem(), x);
    EXPECT_LE(errors.max(), 1e-7) << errors.worst;
  }
}

}  // namespace
}  // namespace dodyn::dmoc::test_work
