// [feedback] of the evaluator `simulation`: closed loops against closed forms and recursions, orders of convergence,
// work, limits, mistakes.
#include <gtest/gtest.h>

#include <Eigen/Eigenvalues>
#include <cmath>
#include <complex>
#include <deque>
#include <fstream>
#include <numbers>

#include "box_on_floor.hpp"
#include "evaluators/evaluator.hpp"
#include "tests/directory.hpp"
#include "tests/message_of.hpp"
#include "whole.hpp"

namespace dodyn::evaluators::test_feedback {
namespace {

const char* const cart = R"([model]
dimension = 2
[parameters]
m = 2                     # kg
most = 1e9                # N
[link cart]
parent = ground
joint = prismatic x
coordinates = x
mass = m
[actuator push]
coordinate = x
limit = most
)";
// A rod of 1 m with a motor at its pivot; theta = 0 hangs.
const char* const pendulum = R"([model]
dimension = 2
gravity = 9.8
[link rod]
parent = ground
joint = revolute
coordinates = theta
mass = 1
centre = 0, -0.5
inertia = 0.08
[actuator motor]
coordinate = theta
)";
const char* const study = R"([study]
evaluator = simulation
[simulation]
model = it.model
contact-method = none
end = 2 s
step = 10 ms
nodes = 11
[cost]
cost = 1
)";

class Feedback : public testing::Test {
 protected:
  void write(const std::string& name, const std::string& text) const { std::ofstream(folder_ / name) << text; }
  std::unique_ptr<Evaluator> evaluator(const std::string& model, const std::string& text,
                                       const std::vector<std::string>& words = {}) const {
    write("it.model", model);
    write("study.cfg", study + text);
    return make_evaluator(read_settings(folder_ / "study.cfg", words));
  }
  // The motion of the only initial state; rows are nodes.
  Outcome run(const std::string& model, const std::string& text, const std::vector<std::string>& words = {}) const {
    const Outcome outcome = whole(*evaluator(model, text, words));
    EXPECT_TRUE(outcome.evaluation.ok()) << outcome.evaluation.reason;
    return outcome;
  }
  Eigen::MatrixXd rows(const std::string& model, const std::string& text, const std::string& name,
                       const std::vector<std::string>& words = {}) const {
    return channel(*evaluator(model, text, words), run(model, text, words), name);
  }
  double cost(const std::string& model, const std::string& text, const std::vector<std::string>& words = {}) const {
    return run(model, text, words).evaluation.cost;
  }
  std::string complaint(const std::string& model, const std::string& text,
                        const std::vector<std::string>& words = {}) const {
    return message_of<ConfigError>([&] { evaluator(model, text, words); });
  }

  const Directory folder_;
};

std::string step(double seconds) { return "--simulation.step=" + std::to_string(seconds); }

// exp(A t) x by eigenvalues, which differ.
Eigen::VectorXd flow(const Eigen::MatrixXd& A, double t, const Eigen::VectorXd& x) {
  const Eigen::EigenSolver<Eigen::MatrixXd> of(A);
  const Eigen::VectorXcd weights = of.eigenvectors().partialPivLu().solve(x.cast<std::complex<double>>());
  return (of.eigenvectors() * (of.eigenvalues() * t).array().exp().matrix().asDiagonal() * weights).real();
}

TEST_F(Feedback, SpringAndDamperAreTheDampedOscillator) {
  const std::string law = "[initial-state]\nx = 0.3\nrate(x) = -0.2\n[feedback]\npush = -8 N/m*x - 2 N s/m*rate(x)\n";
  const double decay = 0.5, omega = std::sqrt(4.0 - 0.25), end = 2.0;
  const double exact =
      std::exp(-decay * end) * (0.3 * std::cos(omega * end) + (-0.2 + decay * 0.3) / omega * std::sin(omega * end));
  const auto error = [&](double h) { return cost(cart, law, {"--cost.cost=x", step(h)}) - exact; };
  const double coarse = error(0.02), fine = error(0.01);
  EXPECT_LT(std::abs(fine), 2e-5);
  EXPECT_NEAR(coarse / fine, 4.0, 0.05);
}

// A law may measure points of the ground: they rest.
TEST_F(Feedback, PointsOfTheGroundRest) {
  const std::string points = "[point post]\nlink = ground\nat = 1, 2\n[point tip]\nlink = cart\nat = 0.5, 0\n";
  const std::string state = "[initial-state]\nx = 0.3\nrate(x) = -0.2\n[feedback]\n";
  const double exact = cost(cart, state + "push = -8 N/m*x - 2 N s/m*rate(x)\n", {"--cost.cost=x"});
  EXPECT_NEAR(cost(cart + points,
                   state + "push = -8 N/m*(tip.x - post.x + 0.5 m) - 2 N s/m*(rate(tip.x) - rate(post.x)) - 3 N "
                           "s/m*speed(post)\n",
                   {"--cost.cost=x"}),
              exact, 1e-12);
}

// A wheel turns beyond half a turn. Attitudes in space do not contain full turns; laws count them.
TEST_F(Feedback, TurnsOfAWheelInSpaceCount) {
  const auto wheel = [](const std::string& dimension, const std::string& rest) {
    return "[model]\ndimension = " + dimension +
           "\ngravity = 0\n[link wheel]\nparent = ground\ncoordinates = turn\nmass = 1\n" + rest +
           "[actuator motor]\ncoordinate = turn\n";
  };
  const std::string plane = wheel("2", "joint = revolute\ncentre = 0, 0\ninertia = 0.5\n"),
                    space = wheel("3", "joint = revolute z\ncentre = 0, 0, 0\ninertia = 0.5, 0.5, 0.5\n");
  const std::string pull = "[feedback]\nmotor = -2 N m/rad*(turn - 16 rad) - 2 N m s/rad*rate(turn)\n";
  for (const std::string sampling : {"", "sample-rate = 50\n"}) {
    SCOPED_TRACE(sampling);
    const double end = cost(space, pull + sampling, {"--cost.cost=turn", "--simulation.end=8"});
    EXPECT_NEAR(end, 16.0, 0.01);
    EXPECT_NEAR(end, cost(plane, pull + sampling, {"--cost.cost=turn", "--simulation.end=8"}), 1e-3);
  }
}

// States converge with order 2, too: a PID law with a filter of its rate, and no quantity of the model has its rate.
TEST_F(Feedback, PidConvergesWithOrder2) {
  const std::string law =
      "[initial-state]\n"
      "x = 0.3\n"
      "rate(x) = -0.2\n"
      "[feedback]\n"
      "push = -20 N/m*(x - 0.1) - 30 N/(m s)*sum - 6 N s/m*(x - slow)/0.05 s\n"
      "rate(sum) = x - 0.1\n"
      "rate(slow) = (x - slow)/0.05 s\n"
      "slow = x\n";
  Eigen::MatrixXd A(5, 5);  // x, v, sum, slow, 1
  const double m = 2.0, kd = 6.0 / 0.05;
  A << 0, 1, 0, 0, 0,                                    //
      -(20 + kd) / m, 0, -30 / m, kd / m, 20 * 0.1 / m,  //
      1, 0, 0, 0, -0.1,                                  //
      1 / 0.05, 0, 0, -1 / 0.05, 0,                      //
      0, 0, 0, 0, 0;
  Eigen::VectorXd x(5);
  x << 0.3, -0.2, 0, 0.3, 1;
  const Eigen::VectorXd exact = flow(A, 2.0, x);
  const auto errors = [&](double h) {
    const auto motion = rows(cart, law, "q", {step(h)});
    const auto states = rows(cart, law, "feedback", {step(h)});
    Eigen::Vector3d e(motion(motion.rows() - 1, 3) - exact[0], states(states.rows() - 1, 1) - exact[2],
                      states(states.rows() - 1, 2) - exact[3]);
    return e;
  };
  const Eigen::Vector3d coarse = errors(0.01), fine = errors(0.005);
  for (int i = 0; i < 3; ++i) {
    EXPECT_LT(std::abs(fine[i]), 1e-4);
    EXPECT_NEAR(coarse[i] / fine[i], 4.0, 0.2) << i;
  }
}

// Newmark's methods move free bodies; their states follow the trapezoidal rule.
TEST_F(Feedback, NewmarkHasOrder2) {
  const std::string disc =
      "[model]\n"
      "dimension = 2\n"
      "gravity = 0\n"
      "[link disc]\n"
      "parent = ground\n"
      "joint = planar\n"
      "coordinates = x, y, turn\n"
      "mass = 2\n"
      "centre = 0, 0\n"
      "inertia = 0.1\n"
      "[actuator push]\n"
      "link = disc\n"
      "force = 1, 0\n"
      "axes = world\n";
  const std::string law =
      "[initial-state]\n"
      "x = 0.3\n"
      "rate(x) = -0.2\n"
      "[feedback]\n"
      "push = -20 N/m*x - 5 N s/m*rate(x) - 30 N/(m s)*sum\n"
      "rate(sum) = x - 0.2 1/s*sum\n";
  Eigen::MatrixXd A(3, 3);
  A << 0, 1, 0, -10, -2.5, -15, 1, 0, -0.2;
  const Eigen::VectorXd exact = flow(A, 2.0, Eigen::Vector3d(0.3, -0.2, 0));
  for (const std::string stepper : {"newmark-explicit", "newmark-implicit", "variational"}) {
    const auto error = [&](double h) {
      const auto states = rows(disc, law, "feedback", {step(h), "--simulation.stepper=" + stepper});
      return states(states.rows() - 1, 1) - exact[2];
    };
    const double coarse = error(0.02), fine = error(0.01);
    EXPECT_LT(std::abs(fine), 1e-4) << stepper;
    EXPECT_NEAR(coarse / fine, 4.0, 0.2) << stepper;
  }
}

// Constant forces move the cart exactly, so samples, delay and states are those of a recursion to rounding.
TEST_F(Feedback, SampledLawsAreTheirRecursion) {
  const std::string law =
      "[initial-state]\n"
      "x = 0.3\n"
      "rate(x) = -0.2\n"
      "[feedback]\n"
      "sample-rate = 50\n"
      "delay = 30 ms\n"
      "push = -12 N/m*x - 6 N s/m*rate(x) - 9 N/(m s)*sum\n"
      "rate(sum) = x\n"
      "sum = 0.05\n";
  const double h = 0.002, T = 0.02;
  double x = 0.3, v = -0.2, sum = 0.05, u = 0.0, effort = 0.0;
  std::deque<std::pair<int, double>> queue;
  for (int i = 0; i < 1000; ++i) {
    if (i % 10 == 0) {
      queue.emplace_back(i + 15, -12 * x - 6 * v - 9 * sum);
      sum += T * x;
    }
    for (; !queue.empty() && queue.front().first <= i; queue.pop_front()) u = queue.front().second;
    x += h * v + h * h / 2 * u / 2;
    v += h * u / 2;
    effort += h * u * u;
  }
  const auto motion = rows(cart, law, "q", {step(h)});
  const auto loop = rows(cart, law, "feedback", {step(h)});
  const Eigen::Index last = motion.rows() - 1;
  EXPECT_NEAR(motion(last, 3), x, 1e-12);
  EXPECT_NEAR(loop(last, 0), u, 1e-11);
  EXPECT_NEAR(loop(last, 1), sum, 1e-12);
  EXPECT_NEAR(loop(last, 2), effort, 1e-11);
}

// The energy of a pendulum changes by the work of its motor alone.
TEST_F(Feedback, WorkIsTheChangeOfEnergy) {
  for (const std::string samples : {"", "sample-rate = 20\n"}) {
    const std::string law =
        "[initial-state]\n"
        "theta = 0.5\n"
        "[feedback]\n" +
        samples + "motor = 2 N m*sin(3 rad/s*t) - 0.4 N m s*rate(theta)\n";
    const auto outcome = run(pendulum, law, {step(0.005)});
    const auto made = evaluator(pendulum, law, {step(0.005)});
    const auto &energy = channel(*made, outcome, "energy"), &loop = channel(*made, outcome, "feedback");
    const Eigen::Index last = energy.rows() - 1;
    const double change = energy(last, 0) + energy(last, 1) - energy(0, 0) - energy(0, 1);
    EXPECT_GT(std::abs(change), 0.05);
    EXPECT_LT(std::abs(metric(*made, outcome, "energy_change")), 2e-5);  // of order 2 in the step
    EXPECT_NEAR(loop(last, 2), change, 2e-5);
  }
}

// A box that is pressed onto the floor does not move, so the press does no work. A box that is pulled over the floor loses
// its work by friction.
TEST_F(Feedback, WorkInContactIsThatOfTheMotion) {
  const std::string driven = std::string(box_on_floor) +
                             "[actuator press]\nlink = box\nforce = 0, -1\naxes = world\n"
                             "[actuator pull]\nlink = box\nforce = 1, 0\naxes = world\n";
  const auto work = [&](const std::string& law) {
    const std::string text = "[initial-state]\ny = half\n[feedback]\n" + law;
    const std::vector<std::string> words = {"--simulation.contact-method=projection", step(0.002)};
    const auto loop = rows(driven, text, "feedback", words);
    EXPECT_NEAR(cost(driven, text, {words[0], words[1], "--cost.cost=energy_change"}), 0.0, 1e-10);
    return loop(loop.rows() - 1, loop.cols() - 1);
  };
  EXPECT_NEAR(work("press = 50\n"), 0.0, 1e-9);
  // mass 10.8 kg, friction 0.4: 60 N accelerate by 60/10.8 - 0.4*9.81 m/s2 for 2 s
  const double acceleration = 60.0 / 10.8 - 0.4 * 9.81;
  EXPECT_NEAR(work("pull = 60\n"), 60.0 * acceleration * 2.0, 0.01 * 60.0 * acceleration * 2.0);
}

TEST_F(Feedback, LimitsSaturateAndRatesKnowTheControl) {
  // at its limit of 1 N for 2 s: x = t^2/4, and the state that follows the control grows by 1
  const std::string law = "[feedback]\npush = 100\nrate(given) = u.push\n";
  EXPECT_NEAR(cost(cart, law, {"--cost.cost=x", "--design.most=1"}), 1.0, 1e-12);
  EXPECT_NEAR(cost(cart, law, {"--cost.cost=given", "--design.most=1"}), 2.0, 1e-12);
  EXPECT_NEAR(cost(cart, law, {"--cost.cost=u.push", "--design.most=1"}), 1.0, 0.0);
  EXPECT_NEAR(cost(cart, law, {"--cost.cost=effort", "--design.most=1"}), 2.0, 1e-12);
  EXPECT_NEAR(
      cost(cart, law + "[outcome far]\nwhen = x > 0.25 and u.push > 0.5\n", {"--cost.cost=t", "--design.most=1"}), 1.01,
      1e-9);
}

// Angles of the plane count turns: the motor holds the rod upright on both sides of theta = pi.
TEST_F(Feedback, AnglesOfThePlaneCountTurns) {
  const auto top = [&](const std::string& angle) {
    return cost(pendulum,
                "[initial-state]\n"
                "theta = " +
                    angle +
                    "\n"
                    "[feedback]\n"
                    "motor = -30 N m*(theta - 3*pi) - 8 N m s*rate(theta)\n",
                {"--cost.cost=theta - 3*pi", "--simulation.end=5 s"});
  };
  EXPECT_NEAR(top("3*pi + 0.2"), 0.0, 1e-4);
  EXPECT_NEAR(top("3*pi - 0.2"), -top("3*pi + 0.2"), 1e-12);
}

// A hinge in space is driven as one in the plane.
TEST_F(Feedback, AHingeInSpaceIsThatOfThePlane) {
  const std::string law =
      "[initial-state]\n"
      "theta = 0.4\n"
      "[feedback]\n"
      "motor = -3 N m*(theta - 1) - 0.5 N m s*rate(theta) - 2 N m/s*sum\n"
      "rate(sum) = theta - 1\n";
  const std::string space = R"([model]
dimension = 3
gravity = 9.8
[link rod]
parent = ground
joint = revolute 0, -1, 0
coordinates = theta
mass = 1
centre = 0, 0, -0.5
inertia = 0.08, 0.08, 0.08
[actuator motor]
coordinate = theta
)";
  const double plane = cost(pendulum, law, {"--cost.cost=theta"});
  EXPECT_NEAR(cost(space, law, {"--cost.cost=theta"}), plane, 1e-4);  // both of order 2 in the step
  EXPECT_NEAR(cost(space, law, {"--cost.cost=theta", step(0.001)}),
              cost(pendulum, law, {"--cost.cost=theta", step(0.001)}), 1e-6);
}

// A force of the model that follows the control acts, too, and its work is that of the law.
TEST_F(Feedback, ForcesOfControlsAct) {
  const std::string curve = std::string(cart) + "[force fade]\ncoordinate = x\nforce = -0.5 s/m*u.push*rate(x)\n";
  const std::string start = "[initial-state]\nx = 0.3\nrate(x) = -0.2\n[feedback]\n";
  EXPECT_NEAR(cost(curve, start + "push = -8 N/m*x\n", {"--cost.cost=x"}),
              cost(cart, start + "push = -8 N/m*x*(1 - 0.5 s/m*rate(x))\n", {"--cost.cost=x"}), 1e-12);
  EXPECT_NEAR(cost(curve, start + "push = -8 N/m*x\n", {"--cost.cost=energy_change"}), 0.0, 1e-12);
}

// Parameters of the configuration are gains, and each initial state has its own target.
TEST_F(Feedback, GainsAreParametersOfTheConfiguration) {
  const std::string text =
      "[parameters]\n"
      "stiffness = 8 N/m\n"
      "[feedback]\n"
      "push = -stiffness*(x - aim) - 5.6568542494923801 N s/m*rate(x) + lift\n"
      "rate(lift) = 0\n"
      "lift = 0 N/m*(x + aim)\n"
      "[initial-states]\n"
      "count = 3\n"
      "aim = 0.1 .. 0.3\n";
  const auto mean = [&](const std::vector<std::string>& more) {
    std::vector<std::string> words = {"--cost.cost=(x - aim)^2", "--simulation.frames=0"};
    words.insert(words.end(), more.begin(), more.end());
    const auto made = evaluator(cart, text, words);
    EXPECT_EQ(made->channels()[0].coordinates.front(), "aim");
    return whole(*made).evaluation.cost;
  };
  EXPECT_EQ(mean({}), mean({"--simulation.initial-states-per-task=1"}));
  EXPECT_LT(mean({}), 1e-2 * mean({"--design.stiffness=0.5"}));
  write("it.model", cart);
  write("study.cfg", study + text);
  const Settings settings =
      read_settings(folder_ / "study.cfg", {"--design.stiffness.min=4", "--design.stiffness.max=9"});
  ASSERT_EQ(settings.variables.size(), 1);
  EXPECT_EQ(settings.variables[0].name, "stiffness");
}

TEST_F(Feedback, MistakesAreNamed) {
  const auto expect = [&](const std::string& law, const std::string& part, const std::string& model = cart,
                          const std::vector<std::string>& words = {}) {
    const std::string line = complaint(model, "[feedback]\n" + law, words);
    EXPECT_NE(line.find(part), std::string::npos) << law << line;
    EXPECT_EQ(line.find('\n'), std::string::npos) << line;
  };
  expect("push = -x\n", "");
  EXPECT_EQ(complaint(cart, "[feedback]\npush = -8 N/m*x\n"), "");
  expect("pusch = -x\n", "'pusch' is not an actuator (did you mean 'push'?)");
  expect("x = 1\npush = 1\n", "'x' is a coordinate; a law has the name of an actuator: push");
  expect("push = 1\npush = 2\n", "twice");
  expect("push = -y\n", "'y' is unknown");
  expect("push = -u.push\n", "'u.push' is a control");
  expect("push = resting\n", "'resting' is known at the end of a step only");
  expect("push = 1 N/m*gap(cart, cart)\n", "is known at the end of a step only");
  expect("push = x > 0\n", "a condition");
  expect("push = 3 N m\n", "expected a force (N, kN, mN)");
  expect("push = -2 N s/m*error\nrate(error) = x\n", "rate(error) = x: is a length");
  expect("push = 1\nrate(x) = 1\n", "the state 'x' is a coordinate of the model");
  expect("push = 1\nrate(m) = 1\n", "the state 'm' is a parameter of the model");
  expect("push = 1\nrate(push) = 1\n", "the state 'push' is an actuator");
  expect("push = 1\nrate(t) = 1\n", "the state 't' is a quantity of every run");
  expect("push = 1\nrate(effort) = 1\n", "the state 'effort' is a quantity of every run");
  expect("push = 1\nrate(e) = 1\ne = e\n", "'e' is unknown");
  expect("rate(e) = x\n", "has no law");
  expect("push = 1\nsample-rate = 200\n", "faster than one sample per simulation.step; allowed: at most 100 1/s");
  expect("push = 1\ndelay = 10 ms\n", "needs samples; set sample-rate, or remove it");
  expect("push = 1\nsample-rate = 20\ndelay = -1 ms\n", "delay");
  std::string passive = cart;
  passive.erase(passive.find("[actuator"));
  expect("push = 1\n", "the model has no actuators", passive);
  expect("push = 1\n", "does not support a model with joints", cart, {"--simulation.max-step=1"});
  expect("push = 1\n", "control.craft is given, too", cart, {"--control.craft=cart"});
  expect("push = 1\n[cost]\n", "", cart);
  expect("push = 1\n", "has no effect, because simulation.fixed holds link cart", cart, {"--simulation.fixed=cart"});
  EXPECT_NE(complaint(cart, "", {"--cost.cost=u.push"}).find("actuators rest; add [feedback]"), std::string::npos);
  EXPECT_NE(complaint(cart, "[parameters]\nm = 3\n").find("is a parameter of the model; set it by design.m"),
            std::string::npos);
  EXPECT_NE(complaint(cart, "[parameters]\nfree = mm\n").find("unknown parameter 'mm' (did you mean 'm'?)"),
            std::string::npos);
}

}  // namespace
}  // namespace dodyn::evaluators::test_feedback
