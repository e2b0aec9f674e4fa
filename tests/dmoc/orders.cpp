// Integrators of order 2, 4 and 6: their order by closed forms, their conserved quantities, and their rows.
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "dmoc/path_function.hpp"
#include "dmoc/position_constraint.hpp"
#include "nlp/solve.hpp"
#include "rows.hpp"
#include "tests/nlp/check_derivatives.hpp"

namespace dodyn::dmoc::test_orders {
namespace {

using Eigen::MatrixXd;
using Eigen::VectorXd;

TEST(Orders, SchemesIntegrateAndInterpolatePolynomials) {
  for (const int order : {2, 4, 6}) {
    const Scheme& s = scheme_of_order(order);
    const int d = order / 2;
    ASSERT_EQ(s.degree, d);
    EXPECT_EQ(s.order(), order);
    for (int power = 0; power < order; ++power) {
      double integral = 0.0;
      for (int i = 0; i < d; ++i) integral += s.weights(i) * std::pow(s.points(i), power);
      EXPECT_NEAR(integral, 1.0 / (power + 1), 1e-15) << order << ", " << power;
    }
    const auto f = [&](double x) { return std::pow(x - 0.3, d); };  // of degree d: through the knots exactly
    const auto rate = [&](double x) { return d * std::pow(x - 0.3, d - 1); };
    VectorXd at(d + 1);
    for (int j = 0; j <= d; ++j) at(j) = f(s.position(j));
    for (int i = 0; i < d; ++i) {
      EXPECT_NEAR(s.values.row(i).dot(at), f(s.points(i)), 1e-15);
      EXPECT_NEAR(s.slopes.row(i).dot(at), rate(s.points(i)), 1e-14);
    }
    EXPECT_NEAR(s.values_at(0.7).dot(at), f(0.7), 1e-15);
    EXPECT_NEAR(s.slopes_at(0.7).dot(at), rate(0.7), 1e-14);
    VectorXd controls(d);
    for (int i = 0; i < d; ++i) controls(i) = rate(s.points(i));
    EXPECT_NEAR(s.controls_at(0.9).dot(controls), rate(0.9), 1e-14);
    EXPECT_NEAR(s.knot_weights.dot(at), (std::pow(0.7, d + 1) - std::pow(-0.3, d + 1)) / (d + 1), 1e-15);
    EXPECT_EQ(s.position(3 * d), 3.0);
  }
  EXPECT_EQ(scheme_of_order(2).values(0, 0), 0.5);
  EXPECT_EQ(scheme_of_order(2).slopes(0, 1), 1.0);
}

// A phase about a foot that is held.
Phase swing_of(int intervals, double duration) {
  Phase phase;
  phase.name = "swing";
  phase.held = {0, 1};
  phase.intervals = intervals;
  phase.duration = duration;
  return phase;
}

// A motion without controls from given coordinates and rates. Rows of q and p: knots.
PhaseMotion moved(const std::string& text, int order, int intervals, double duration, const VectorXd& q,
                  const VectorXd& v, const std::vector<int>& held = {}, double* reintegrated = nullptr) {
  MotionProblem problem = problem_of(text, false, order);
  Phase phase;
  phase.name = "only";
  phase.held = held;
  phase.intervals = intervals;
  phase.duration = duration;
  problem.add_phase(std::move(phase));
  Boundary start;
  const auto& moving = problem.functions(0).moving;
  for (std::size_t i = 0; i < moving.size(); ++i) {
    start.coordinates.emplace_back(moving[i], q(i));
    start.rates.emplace_back(moving[i], v(i));
  }
  problem.add_boundary(std::move(start));
  problem.add_boundary({0, true, {}, {}, true});
  problem.transcribe();
  problem.problem().finish();
  const PhaseIndex& at = problem.index(0);
  VectorXd x = VectorXd::Zero(problem.problem().variables());
  for (int r = 0; r < at.knots(); ++r) x.segment(at.knot(r), at.moving) = q;
  problem.fill(x);
  nlp::Options options;
  options.tolerance = 1e-12;
  const nlp::Solution solution = nlp::solve(problem.problem(), x, options);
  EXPECT_LE(solution.residuals.feasibility, 1e-10) << solution.reason;
  const Motion motion = problem.motion(solution.x);
  if (reintegrated) *reintegrated = problem.reintegrate(motion);
  return motion.phases.front();
}

constexpr const char* orbit =
    "[model]\ndimension = 2\ngravity = 0\n[link planet]\nparent = ground\njoint = point\ncoordinates = x, y\nmass = 1\n"
    "[point planet]\nlink = planet\nat = 0, 0\n[potential sun]\nenergy = -(1 N m2)/sqrt(x^2 + y^2)\n";

// Kepler's ellipse of eccentricity 0.3 from the place nearest to the sun: half of a period.
TEST(Orders, KeplersEllipse) {
  const double e = 0.3, T = std::numbers::pi;
  const VectorXd q = Eigen::Vector2d(1.0 - e, 0.0), v = Eigen::Vector2d(0.0, std::sqrt((1.0 + e) / (1.0 - e)));
  for (const int order : {2, 4, 6}) {
    double before = 0.0;
    for (const int K : {16, 32, 64}) {
      double reintegrated = 1.0;
      const PhaseMotion m = moved(orbit, order, K, T, q, v, {}, &reintegrated);
      EXPECT_LE(reintegrated, 1e-9);
      const auto last = m.q.rows() - 1;
      const double error = std::hypot(m.q(last, 0) + 1.0 + e, m.q(last, 1));
      if (before > 0.0 && error > 1e-10) {
        EXPECT_NEAR(std::log2(before / error), order, 0.35) << order << ", " << K;
      }
      before = error;
      // its angular momentum at the nodes is that of the start, to rounding
      const int degree = order / 2;
      const double momentum = q(0) * v(1);
      for (Eigen::Index r = 0; r <= last; r += degree)
        EXPECT_NEAR(m.q(r, 0) * m.p(r, 1) - m.q(r, 1) * m.p(r, 0), momentum, 1e-11) << order << ", " << r;
    }
    EXPECT_LE(before, order == 2 ? 0.02 : order == 4 ? 2e-5 : 1e-7) << order;
  }
}

constexpr const char* chain =
    "[model]\ndimension = 2\ngravity = 0\n[link one]\nparent = ground\njoint = point + revolute\n"
    "coordinates = x, y, a\nend = 1, 0\nmass = 1.3\ninertia = 0.2\n[link two]\nparent = one\njoint = revolute\n"
    "coordinates = b\nmass = 0.7\ninertia = 0.1\ncentre = 0.4, 0.1\n[spring elbow]\ncoordinate = b\nstiffness = 3\n";

// Two free links joined by a spring: linear and angular momentum are conserved exactly at the nodes. The order of the
// error follows from a finer mesh of order 6.
TEST(Orders, AFreeChainKeepsItsMomenta) {
  const VectorXd q = Eigen::Vector4d(0.1, -0.2, 0.3, 0.5), v = Eigen::Vector4d(0.4, 0.1, 1.1, -2.0);
  const PhaseMotion fine = moved(chain, 6, 160, 1.5, q, v);
  const VectorXd end = fine.q.bottomRows(1).transpose();
  for (const int order : {2, 4, 6}) {
    double before = 0.0;
    for (const int K : {16, 32, 64}) {
      const PhaseMotion m = moved(chain, order, K, 1.5, q, v);
      const auto turning = [&](Eigen::Index r) {  // about the origin
        return m.p(r, 2) + m.q(r, 0) * m.p(r, 1) - m.q(r, 1) * m.p(r, 0);
      };
      for (Eigen::Index r = 0; r < m.q.rows(); r += order / 2) {
        EXPECT_NEAR(m.p(r, 0), m.p(0, 0), 1e-11);
        EXPECT_NEAR(m.p(r, 1), m.p(0, 1), 1e-11);
        EXPECT_NEAR(turning(r), turning(0), 1e-11);
      }
      // between the nodes only to the accuracy of the polynomials
      for (Eigen::Index r = 0; r < m.q.rows(); ++r) {
        EXPECT_NEAR(turning(r), turning(0), 1e-2) << order << ", " << r;
      }
      const double error = (m.q.bottomRows(1).transpose() - end).norm();
      if (before > 0.0 && error > 1e-9) {
        EXPECT_NEAR(std::log2(before / error), order, order == 6 ? 0.7 : 0.4) << order << ", " << K;
      }
      before = error;
    }
  }
}

constexpr const char* pendulum =
    "[model]\ndimension = 2\ngravity = 9\n[link rod]\nparent = ground\njoint = point + revolute\n"
    "coordinates = x, y, a\n[mass bob]\nlink = rod\nat = 0, -0.7\nmass = 1.3\n";

// A step maps (q, p) to (q', p') and preserves areas.
TEST(Orders, StepsAreSymplectic) {
  const double l = 0.7, m = 1.3;
  for (const int order : {2, 4, 6}) {
    const auto step = [&](double a, double p) {
      const PhaseMotion moves =
          moved(pendulum, order, 3, 0.9, VectorXd::Constant(1, a), VectorXd::Constant(1, p / (m * l * l)), {0, 1});
      const auto last = moves.q.rows() - 1;
      return Eigen::Vector2d(moves.q(last, 2), moves.p(last, 2));
    };
    const double d = 1e-4;
    const Eigen::Vector2d by_q = (step(1.0 + d, 0.5) - step(1.0 - d, 0.5)) / (2 * d),
                          by_p = (step(1.0, 0.5 + d) - step(1.0, 0.5 - d)) / (2 * d);
    EXPECT_NEAR(by_q(0) * by_p(1) - by_q(1) * by_p(0), 1.0, 1e-6) << order;
  }
}

// Compares the force on the pivot with that of the exact motion, at knots and at both ends. The rates at the ends are
// given.
TEST(Orders, ForcesOnWhatIsFixed) {
  const double l = 0.7, mass = 1.3, g = 9.0;
  const VectorXd a = VectorXd::Constant(1, 1.2), w = VectorXd::Constant(1, -0.4);
  for (const int order : {2, 4, 6}) {
    double before = 0.0;
    for (const int K : {8, 16}) {
      const PhaseMotion m = moved(pendulum, order, K, 0.8, a, w, {0, 1});
      double largest = 0.0;
      for (Eigen::Index r = 0; r < m.q.rows(); ++r) {
        const double angle = m.q(r, 2), rate_squared = w(0) * w(0) + 2.0 * g / l * (std::cos(angle) - std::cos(a(0))),
                     turn = -g / l * std::sin(angle);
        // m (acceleration of the bob) - weight
        const double across = mass * l * (turn * std::cos(angle) - rate_squared * std::sin(angle)),
                     up = mass * l * (turn * std::sin(angle) + rate_squared * std::cos(angle)) + mass * g;
        largest = std::max({largest, std::abs(m.held_force(r, 0) - across), std::abs(m.held_force(r, 1) - up)});
      }
      if (before > 0.0) {
        EXPECT_GE(std::log2(before / largest), order == 2 ? 0.7 : 1.6) << order;
      }
      before = largest;
    }
    EXPECT_LE(before, order == 2 ? 2.0 : 0.1) << order;
  }
}

constexpr const char* driven =
    "[model]\ndimension = 2\ngravity = 9\n[parameters]\nbob = 1.3\n[link rod]\nparent = ground\n"
    "joint = point + revolute\ncoordinates = x, y, a\n[mass bob]\nlink = rod\nat = 0, -0.7\nmass = bob\n"
    "[point bob]\nlink = rod\nat = 0, -0.7\n[spring pivot]\ncoordinate = a\nstiffness = 2\ndamping = 0.3\n"
    "[actuator motor]\ncoordinate = a\n";

// All derivatives, of a phase of given and of unknown duration, with forces, conditions and costs.
TEST(Orders, DerivativesAreExact) {
  for (const int order : {4, 6})
    for (const bool timed : {false, true}) {
      MotionProblem problem = problem_of(driven, false, order);
      Phase phase = swing_of(3, 0.6);
      if (timed) phase.free_duration = {0.2, 2.0};
      phase.forces = {{.forces = {{1, 1.0}, {0, 0.3}}}};
      problem.add_phase(std::move(phase));
      problem.add_boundary({0, false, {{2, 0.4}}, {{2, -0.3}}});
      problem.add_boundary({0, true, {}, {}, true});
      problem.transcribe();
      const auto none = [](const std::string&) { return Coefficient(0.0); };
      const PhaseClock clock{timed, 0};
      const System& system = problem.system();
      add_path_constraint(problem, 0, path_function(system, {0, 1}, clock, Expression::parse("bob.y + t"), {}), none,
                          false);
      add_path_constraint(problem, 0, path_function(system, {0, 1}, clock, Expression::parse("u.motor*rate(a)"), {}),
                          none, false);
      add_path_cost(problem, 0, path_function(system, {0, 1}, clock, Expression::parse("bob.x*t"), {}, true), none,
                    1.0);
      add_speed_limit(problem, 0, 2, 3.0);
      problem.add_effort(0, {0.0, 0.0, 1.0}, 1.0);
      problem.problem().finish();
      VectorXd x = some_point(problem.problem());
      if (timed) x(problem.index(0).duration) = 0.7;
      EXPECT_LE(nlp::check_derivatives(problem.problem(), x).max(), 1e-8) << order << timed;
    }
}

// Compares the work on the driven rod with sums over many points of each interval. Its coordinate is one polynomial of
// time.
TEST(Orders, WorkIsSplitWhereTheRateChangesItsSign) {
  for (const int order : {4, 6})
    for (const bool at_ends : {true, false})
      for (const bool timed : {true, false}) {
        const int K = 3, d = order / 2;
        const double T = 0.9, h = T / K;
        MotionProblem problem = problem_of(driven, false, order);
        Phase phase = swing_of(K, T);
        phase.work = true;
        phase.work_at_ends = at_ends;
        if (timed) phase.free_duration = {0.2, 2.0};
        problem.add_phase(std::move(phase));
        problem.transcribe();
        const int first = next_row(problem);
        problem.add_effort(0, {0.7, 0.3, 0.05}, 2.0);
        problem.problem().finish();
        const PhaseIndex& at = problem.index(0);
        const Scheme& scheme = problem.system().scheme();
        VectorXd x = some_point(problem.problem());
        if (timed) x(at.duration) = T;
        EXPECT_LE(nlp::check_derivatives(problem.problem(), x).max(), 1e-7) << order << at_ends << timed;
        const auto rate = [&](double t) { return d * std::pow(t, d - 1) - 0.4; };  // zero at 0.2 s and at 0.365 s
        for (int r = 0; r < at.knots(); ++r) {
          const double t = h * scheme.position(r);
          x(at.knot(r)) = std::pow(t, d) - 0.4 * t;
        }
        const VectorXd c = rows_at(problem.problem(), x);
        double cost = 0.0;
        int row = first;
        for (int k = 0; k < K; ++k) {
          VectorXd u(d);
          for (int i = 0; i < d; ++i) {
            u(i) = x(at.control(k, i));
            const double share = h * scheme.weights(i);
            cost += 2.0 * share * (0.05 * u(i) * u(i) + 0.15 * u(i) * rate(h * (k + scheme.points(i))));
          }
          // differences to the rates of the nodes; Legendre's polynomial takes their mean
          const double begin = at_ends ? x(at.rate(k)) - rate(h * k) : 0.0,
                       end = at_ends ? x(at.rate(k + 1)) - rate(h * (k + 1)) : 0.0,
                       bow = 0.5 * (d == 2 ? begin + end : end - begin);
          const double from = scheme.controls_at(0.0).dot(u), to = scheme.controls_at(1.0).dot(u),
                       middle = d == 2 ? 0.0 : 2.0 * scheme.controls_at(0.5).dot(u) - 0.5 * (from + to);
          VectorXd expected = VectorXd::Zero(d);
          constexpr int places = 40000;
          for (int i = 0; i < places; ++i) {
            const double s = (i + 0.5) / places,
                         bend = d == 2 ? std::legendre(2U, 2.0 * s - 1.0) : std::legendre(3U, 2.0 * s - 1.0),
                         way = h / places * std::abs(rate(h * (k + s)) + bow * bend);
            if (d == 2)
              expected += way * Eigen::Vector2d(from * (1.0 - s), to * s);
            else
              expected += way * Eigen::Vector3d(from * (1.0 - s) * (1.0 - s), middle * 2.0 * s * (1.0 - s), to * s * s);
          }
          for (int part = 0; part < d; ++part) {
            const double done = x(at.positive(k, 0, part)), taken = x(at.negative(k, 0, part));
            EXPECT_NEAR(c(row++), expected(part) - done + taken, 1e-8) << order << at_ends << timed << k << part;
            cost += 2.0 * (0.7 + 0.15) * (done + taken);
          }
        }
        EXPECT_EQ(row, c.size());
        EXPECT_NEAR(problem.problem().objective(x), cost, 1e-13);
        problem.fill(x);  // satisfies the rows
        EXPECT_LE(rows_at(problem.problem(), x).segment(first, row - first).lpNorm<Eigen::Infinity>(), 1e-14);
        // the same work, without unknowns for it
        double absolute = 0.0;
        for (int k = 0; k < K; ++k)
          for (int part = 0; part < d; ++part) absolute += x(at.positive(k, 0, part)) + x(at.negative(k, 0, part));
        const MotionWork work = problem.work(0, x, at_ends);
        EXPECT_NEAR(work.absolute, absolute, 1e-14);
        EXPECT_NEAR(work.positive, 0.5 * (absolute + work.signed_sum), 1e-14);
      }
}

// The node rates that are unknowns of `work` agree with the momenta, also with damping and with an unknown duration.
TEST(Orders, RatesOfNodesAreThoseOfTheMomenta) {
  for (const int order : {4, 6})
    for (const bool timed : {false, true}) {
      MotionProblem problem = problem_of(driven, false, order);
      Phase phase = swing_of(5, 0.8);
      phase.work = phase.work_at_ends = true;
      if (timed) phase.free_duration = {0.7, 0.9};
      problem.add_phase(std::move(phase));
      problem.add_boundary({0, false, {{2, 0.3}}, {{2, 0.0}}});
      problem.add_boundary({0, true, {{2, -0.9}}, {{2, 0.0}}});
      problem.transcribe();
      problem.add_effort(0, {0.1, 0.0, 1.0}, 1.0);
      problem.problem().finish();
      VectorXd x = VectorXd::Zero(problem.problem().variables());
      const PhaseIndex& at = problem.index(0);
      if (timed) x(at.duration) = 0.8;
      problem.fill(x);
      const nlp::Solution solution = nlp::solve(problem.problem(), x);
      ASSERT_EQ(solution.status, nlp::SolveStatus::solved) << solution.reason;
      const PhaseMotion m = problem.motion(solution.x).phases.front();
      for (int node = 0; node <= 5; ++node)
        EXPECT_NEAR(solution.x(at.rate(node)), m.p(node * order / 2, 2) / (1.3 * 0.7 * 0.7), 1e-8) << order << timed;
    }
}

// The quadrature integrates expressions and controls exactly if they are polynomials of the degree that it supports.
// Conditions on positions have a row at each knot, conditions on rates and controls at each quadrature point.
TEST(Orders, CostsAndConditionsByTheSameQuadrature) {
  for (const int order : {2, 4, 6}) {
    const int K = 3, d = order / 2;
    const double T = 0.9, h = T / K;
    MotionProblem problem = problem_of(driven, false, order);
    Phase phase = swing_of(K, T);
    problem.add_phase(std::move(phase));
    problem.transcribe();
    const auto none = [](const std::string&) { return Coefficient(0.0); };
    const System& system = problem.system();
    const auto function = [&](const char* text, bool integrated = false) {
      return path_function(system, {0, 1}, {}, Expression::parse(text), {}, integrated);
    };
    const int at_knots = next_row(problem);
    add_path_constraint(problem, 0, function("a + t"), none, false);
    const int at_points = next_row(problem);
    add_path_constraint(problem, 0, function("rate(a) + 2*u.motor"), none, false);
    const int last = next_row(problem);
    EXPECT_EQ(at_points - at_knots, K * d + 1);
    EXPECT_EQ(last - at_points, K * d);
    add_path_cost(problem, 0, function("a + u.motor", true), none, 2.0);
    problem.add_effort(0, {0.0, 0.0, 3.0}, 1.0);
    problem.problem().finish();
    const PhaseIndex& at = problem.index(0);
    // a = t^d - t, u = t^(d - 1): the integrals are those of polynomials of degree 2d - 2 at most
    VectorXd x = VectorXd::Zero(problem.problem().variables());
    const Scheme& scheme = system.scheme();
    const auto time = [&](int k, int i) { return h * (k + scheme.points(i)); };
    for (int r = 0; r < at.knots(); ++r) {
      const double t = h * scheme.position(r);
      x(at.knot(r)) = std::pow(t, d) - t;
    }
    for (int k = 0; k < K; ++k)
      for (int i = 0; i < d; ++i) x(at.control(k, i)) = std::pow(time(k, i), d - 1);
    const double a = std::pow(T, d + 1) / (d + 1) - T * T / 2, u = std::pow(T, d) / d,
                 squared = std::pow(T, 2 * d - 1) / (2 * d - 1);
    EXPECT_NEAR(problem.problem().objective(x), 2.0 * (a + u) + 3.0 * squared, 1e-13) << order;
    const VectorXd c = rows_at(problem.problem(), x);
    for (int r = 0; r < at.knots(); ++r) EXPECT_NEAR(c(at_knots + r), std::pow(h * scheme.position(r), d), 1e-14);
    for (int i = 0; i < d; ++i)
      for (int k = 0; k < K; ++k)
        EXPECT_NEAR(c(at_points + i * K + k), (d + 2) * std::pow(time(k, i), d - 1) - 1.0, 1e-12);
  }
}

}  // namespace
}  // namespace dodyn::dmoc::test_orders
