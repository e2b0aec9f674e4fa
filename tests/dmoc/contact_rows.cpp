// Rows of contacts and of separating planes, against the kinematics of a bar over a floor written here.
#include "dmoc/contact_rows.hpp"

#include <gtest/gtest.h>

#include <Eigen/Geometry>
#include <algorithm>

#include "dmoc/clearance.hpp"
#include "dmoc/penalty.hpp"
#include "dmoc/separation.hpp"
#include "rows.hpp"

namespace dodyn::dmoc::test_contact_rows {
namespace {

using Eigen::Vector2d;
using Eigen::Vector3d;
using Eigen::VectorXd;

constexpr int K = 3;

// Two phases of free flight, with the posture at the event between them and the rates before and after it.
struct Flight {
  MotionProblem problem;
  explicit Flight(const char* text, bool known_end = false) : problem(problem_of(text)) {
    for (const char* name : {"before", "after"}) {
      Phase phase;
      phase.name = name;
      phase.intervals = K;
      phase.duration = 0.5;
      problem.add_phase(std::move(phase));
    }
    problem.add_event({0, 1, {}, {}, {}});
    if (known_end) problem.add_boundary({1, true, {}, {}, true});
    problem.transcribe();
  }
  const PhaseIndex& index(int phase) const { return problem.index(phase); }
};

// ---- in the plane: a floor whose top is y = 0, from x = -2 to 2; a bar of mass 2 and inertia 0.1 with a tip

constexpr const char* plane =
    "[model]\ndimension = 2\ngravity = 0\n"
    "[link floor]\nparent = ground\njoint = fixed\n[shape floor]\nlink = floor\nbox = 4, 1\nat = 0, -0.5\n"
    "[link bar]\nparent = ground\njoint = planar\ncoordinates = x, y, a\nmass = 2\ninertia = 0.1\ncentre = 0, 0\n"
    "[shape bar]\nlink = bar\nbox = 0.8, 0.2\n[point tip]\nlink = bar\nat = 0.4, -0.1\n";

Vector2d tip(const Vector3d& q) {
  return {q(0) + 0.4 * std::cos(q(2)) + 0.1 * std::sin(q(2)), q(1) + 0.4 * std::sin(q(2)) - 0.1 * std::cos(q(2))};
}
Vector2d tip_rate(const Vector3d& q, const Vector3d& v) {
  return {v(0) + v(2) * (-0.4 * std::sin(q(2)) + 0.1 * std::cos(q(2))),
          v(1) + v(2) * (0.4 * std::cos(q(2)) + 0.1 * std::sin(q(2)))};
}
// The generalised impulse of (tangential, normal) ones at the tip.
Vector3d pushed(const Vector3d& q, const Vector2d& impulse) {
  Vector3d push;
  for (int i = 0; i < 3; ++i) push(i) = tip_rate(q, Vector3d::Unit(i)).dot(impulse);
  return push;
}

ContactEvent on_the_floor() {
  ContactEvent contact;
  contact.point = 0;
  contact.shape = 0;
  contact.outward = {0, 1, 0};
  contact.way = {1, 0, 0};
  contact.restitution = 0.6;
  contact.friction = Coefficient(0.3);
  return contact;
}

struct Told {  // of the unknowns
  Vector3d last, v_before, first, v_after;
  Told(const Flight& flight, const VectorXd& x)
      : last(x.segment<3>(flight.index(0).theta(K))),
        v_before(x.segment<3>(flight.index(0).velocity_before)),
        first(x.segment<3>(flight.index(1).theta(0))),
        v_after(x.segment<3>(flight.index(1).velocity_after)) {}
};

TEST(ContactRows, APointMeetsTheFaceBetweenItsSidesAndSticks) {
  Flight flight(plane);
  const int row = next_row(flight.problem), lambda = next_variable(flight.problem);
  ContactEvent contact = on_the_floor();
  contact.sticks = true;
  const auto fill = add_contact(flight.problem, contact);
  auto& nlp = flight.problem.problem();
  nlp.finish();
  const VectorXd x = some_point(nlp), c = rows_at(nlp, x);
  VectorXd filled = x;
  fill(filled);
  EXPECT_EQ(filled, x);  // nothing besides the impulses is unknown
  const Told at(flight, x);
  ASSERT_EQ(c.size(), row + 7);
  EXPECT_NEAR(c(row), tip(at.last)(1), 1e-14);
  double sides[] = {c(row + 1), c(row + 2)};
  const double expected[] = {-2.0 - std::abs(tip(at.last)(0)), -2.0 + std::abs(tip(at.last)(0))};
  std::sort(std::begin(sides), std::end(sides));
  for (int i = 0; i < 2; ++i) EXPECT_NEAR(sides[i], expected[i], 1e-14);
  EXPECT_NEAR(c(row + 3), 0.6 * tip_rate(at.last, at.v_before)(1) + tip_rate(at.first, at.v_after)(1), 1e-14);
  EXPECT_NEAR(c(row + 4), tip_rate(at.last, at.v_before)(1), 1e-14);
  EXPECT_NEAR(c(row + 5), tip_rate(at.first, at.v_after)(0), 1e-14);
  const double normal = x(lambda), across = x(lambda + 1);
  EXPECT_NEAR(c(row + 6), 0.09 * normal * normal - across * across, 1e-15);
  const Vector3d mass(2.0, 2.0, 0.1),
      jump = mass.cwiseProduct(at.v_before - at.v_after) + pushed(at.last, {across, normal});
  EXPECT_LE((c.segment<3>(flight.problem.jump_row(0)) - jump).norm(), 1e-14);
  const double inf = nlp::infinity;
  for (const auto& [r, low, high] : {std::tuple{0, 0.0, 0.0},
                                     {1, -inf, 0.0},
                                     {2, -inf, 0.0},
                                     {3, 0.0, 0.0},
                                     {4, -inf, 0.0},
                                     {5, 0.0, 0.0},
                                     {6, 0.0, inf}}) {
    EXPECT_EQ(nlp.constraint_lower(row + r), low) << r;
    EXPECT_EQ(nlp.constraint_upper(row + r), high) << r;
  }
  EXPECT_EQ(nlp.lower(lambda), 0.0);
  EXPECT_EQ(nlp.lower(lambda + 1), -inf);
}

TEST(ContactRows, ASlidingPointIsPushedAgainstItsVelocity) {
  for (const double way : {1.0, -1.0}) {
    Flight flight(plane);
    const int row = next_row(flight.problem), lambda = next_variable(flight.problem);
    ContactEvent contact = on_the_floor();
    contact.slides = true;
    contact.way = {way, 0, 0};
    const auto fill = add_contact(flight.problem, contact);
    auto& nlp = flight.problem.problem();
    nlp.finish();
    VectorXd x = some_point(nlp);
    const Told at(flight, x);
    const int pace = lambda + 2, s = lambda + 3;
    x(s) = 1.0;
    const VectorXd c = rows_at(nlp, x);
    ASSERT_EQ(c.size(), row + 8);
    EXPECT_NEAR(c(row + 5), way * tip_rate(at.first, at.v_after)(0) - x(pace), 1e-14);
    EXPECT_NEAR(c(row + 6), 1.0, 1e-15);
    EXPECT_EQ(nlp.constraint_lower(row + 6), 1.0);
    EXPECT_EQ(nlp.constraint_upper(row + 6), 1.0);
    EXPECT_NEAR(c(row + 7), x(lambda + 1) + 0.3 * x(lambda), 1e-15);
    const Vector3d mass(2.0, 2.0, 0.1),
        jump = mass.cwiseProduct(at.v_before - at.v_after) + pushed(at.last, {way * x(lambda + 1), x(lambda)});
    EXPECT_LE((c.segment<3>(flight.problem.jump_row(0)) - jump).norm(), 1e-14);
    EXPECT_EQ(nlp.lower(pace), 0.0);
    EXPECT_EQ(nlp.lower(s), 1.0);
    EXPECT_EQ(nlp.upper(s), 1.0);
    fill(x);
    EXPECT_NEAR(x(pace), std::abs(tip_rate(at.last, at.v_before)(0)), 1e-14);
  }
}

TEST(ContactRows, APointThatStaysIsHeldAtEveryNode) {
  for (const bool known_end : {true, false}) {
    Flight flight(plane, known_end);
    const int row = next_row(flight.problem), variable = next_variable(flight.problem);
    ContactEvent contact = on_the_floor();
    contact.sticks = true;
    contact.friction.reset();
    contact.stays = true;
    add_contact(flight.problem, contact);
    auto& nlp = flight.problem.problem();
    nlp.finish();
    const VectorXd x = some_point(nlp), c = rows_at(nlp, x);
    ASSERT_EQ(c.size(), row + 6 + 2 * K + (known_end ? 2 : 0));
    EXPECT_EQ(nlp.objective(x), 0.0);
    ASSERT_EQ(nlp.variables(), variable + 2 + 2 * (known_end ? K + 1 : K));
    const auto node = [&](int k) -> Vector3d { return x.segment<3>(flight.index(1).theta(k)); };
    for (int k = 0; k < K; ++k)
      for (int i = 0; i < 2; ++i) EXPECT_NEAR(c(row + 6 + K * i + k), tip(node(k + 1))(i) - tip(node(k))(i), 1e-14);
    // forces on the momenta at the nodes, the rest being that of a free body
    const double h = 0.5 / K;
    const Vector3d mass(2.0, 2.0, 0.1), v_after = x.segment<3>(flight.index(1).velocity_after);
    const auto force = [&](int k) { return pushed(node(k), x.segment<2>(variable + 2 + 2 * k)); };
    for (int k = 1; k < K; ++k) {
      const Vector3d momentum = mass.cwiseProduct(2.0 * node(k) - node(k - 1) - node(k + 1)) / (h * h);
      EXPECT_LE((c.segment<3>(flight.problem.momentum_row(1, k)) - momentum - force(k)).norm(), 1e-12);
    }
    EXPECT_LE((c.segment<3>(flight.problem.momentum_row(1, 0)) - mass.cwiseProduct((node(1) - node(0)) / h - v_after) +
               force(0))
                  .norm(),
              1e-13);
    if (!known_end) continue;
    const Vector3d v_end = x.segment<3>(flight.index(1).velocity_before);
    EXPECT_LE((c.tail(2) - tip_rate(node(K), v_end)).norm(), 1e-14);
    EXPECT_LE((c.segment<3>(flight.problem.momentum_row(1, K)) -
               mass.cwiseProduct((node(K) - node(K - 1)) / h - v_end) - force(K))
                  .norm(),
              1e-13);
  }
}

// ---- in space: a face, and an edge of a bar over an edge of a beam

constexpr const char* cube =
    "[model]\ndimension = 3\ngravity = 0\n"
    "[link wall]\nparent = ground\njoint = fixed\n[shape wall]\nlink = wall\nbox = 2, 4, 6\nat = -1, 0, 0\n"
    "[link ball]\nparent = ground\njoint = point\ncoordinates = x, y, z\nmass = 2\n[point middle]\nlink = ball\nat = "
    "0, 0, 0\n";

TEST(ContactRows, InSpaceAPointSticksInTwoDirectionsOrSlidesInOne) {
  for (const bool slides : {false, true}) {
    Flight flight(cube);
    const int row = next_row(flight.problem), lambda = next_variable(flight.problem);
    ContactEvent contact = on_the_floor();
    contact.outward = {1, 0, 0};
    (slides ? contact.slides : contact.sticks) = true;
    const auto fill = add_contact(flight.problem, contact);
    auto& nlp = flight.problem.problem();
    nlp.finish();
    VectorXd x = some_point(nlp);
    const VectorXd c = rows_at(nlp, x);
    const Told at(flight, x);
    EXPECT_NEAR(c(row), at.last(0), 1e-15);
    Eigen::Vector4d sides = c.segment(row + 1, 4), expected;
    const double y = at.last(1), z = at.last(2);
    expected << y - 2, -y - 2, z - 3, -z - 3;
    std::sort(sides.begin(), sides.end());
    std::sort(expected.begin(), expected.end());
    EXPECT_LE((sides - expected).norm(), 1e-14);
    EXPECT_NEAR(c(row + 5), 0.6 * at.v_before(0) + at.v_after(0), 1e-15);
    EXPECT_NEAR(c(row + 6), at.v_before(0), 1e-15);
    // the directions across: of the unit vectors that are least along the normal the first, made normal to it
    const Vector3d one = Vector3d::UnitY(), other = Vector3d::UnitX().cross(one),
                   impulse = x(lambda) * Vector3d::UnitX() + x(lambda + 1) * one + x(lambda + 2) * other;
    EXPECT_LE((c.segment<3>(flight.problem.jump_row(0)) - 2.0 * (at.v_before - at.v_after) - impulse).norm(), 1e-14);
    const Vector2d after(at.v_after.dot(one), at.v_after.dot(other)),
        before(at.v_before.dot(one), at.v_before.dot(other));
    if (!slides) {
      EXPECT_LE((c.segment<2>(row + 7) - after).norm(), 1e-15);
      EXPECT_NEAR(c(row + 9), std::pow(0.3 * x(lambda), 2) - x.segment<2>(lambda + 1).squaredNorm(), 1e-15);
      EXPECT_EQ(c.size(), row + 10);
      continue;
    }
    const double pace = x(lambda + 3);
    const Vector2d s = x.segment<2>(lambda + 4);
    EXPECT_LE((c.segment<2>(row + 7) - (after - pace * s)).norm(), 1e-15);
    EXPECT_NEAR(c(row + 9), s.squaredNorm(), 1e-15);
    EXPECT_LE((c.segment<2>(row + 10) - (x.segment<2>(lambda + 1) + 0.3 * x(lambda) * s)).norm(), 1e-15);
    EXPECT_EQ(c.size(), row + 12);
    fill(x);
    EXPECT_NEAR(x(lambda + 3), before.norm(), 1e-15);
    EXPECT_LE((x.segment<2>(lambda + 4) - before.normalized()).norm(), 1e-15);
  }
}

// The beam's edge lies along y through the origin, the bar's along its own x axis through its own.
constexpr const char* edges =
    "[model]\ndimension = 3\ngravity = 0\n"
    "[link beam]\nparent = ground\njoint = fixed\n[shape beam]\nlink = beam\n"
    "vertices = -0.1, -1, -0.1; 0.1, -1, -0.1; 0, -1, 0; -0.1, 1, -0.1; 0.1, 1, -0.1; 0, 1, 0\n"
    "[link bar]\nparent = ground\njoint = point + revolute z\ncoordinates = x, y, z, a\n"
    "mass = 2\ninertia = 1, 1, 0.1\ncentre = 0, 0, 0\n[shape bar]\nlink = bar\n"
    "vertices = -1, -0.1, 0.1; -1, 0.1, 0.1; -1, 0, 0; 1, -0.1, 0.1; 1, 0.1, 0.1; 1, 0, 0\n";

TEST(ContactRows, EdgesMeetBetweenTheirEnds) {
  Flight flight(edges);
  const int row = next_row(flight.problem);
  ContactEvent contact;
  contact.part = 1;
  contact.shape = 0;
  contact.edges = EdgePair{{2, 5}, {2, 5}};
  contact.restitution = 0.6;
  contact.sticks = true;
  add_contact(flight.problem, contact);
  auto& nlp = flight.problem.problem();
  nlp.finish();
  const VectorXd x = some_point(nlp), c = rows_at(nlp, x);
  ASSERT_EQ(c.size(), row + 7);
  const auto segment = [&](int at) -> Eigen::Vector4d { return x.segment<4>(at); };
  const auto rates = [](const Eigen::Vector4d& q, const Eigen::Vector4d& v) {
    const double along = -q(0) / std::cos(q(3));  // of the meeting from the bar's middle
    return Vector3d(v(0) - v(3) * along * std::sin(q(3)), v(1) + v(3) * along * std::cos(q(3)), v(2));
  };
  const Eigen::Vector4d last = segment(flight.index(0).theta(K));
  const Vector3d comes = rates(last, segment(flight.index(0).velocity_before)),
                 leaves = rates(segment(flight.index(1).theta(0)), segment(flight.index(1).velocity_after));
  EXPECT_NEAR(c(row), last(2), 1e-14);
  EXPECT_NEAR(c(row + 1), 0.5 - 0.5 * last(0) / std::cos(last(3)), 1e-13);
  EXPECT_NEAR(c(row + 2), 0.5 + 0.5 * (last(1) - last(0) * std::tan(last(3))), 1e-13);
  EXPECT_EQ(nlp.constraint_lower(row + 1), 0.0);
  EXPECT_EQ(nlp.constraint_upper(row + 2), 1.0);
  EXPECT_NEAR(c(row + 3), 0.6 * comes(2) + leaves(2), 1e-14);
  EXPECT_NEAR(c(row + 4), comes(2), 1e-14);
  EXPECT_NEAR(c(row + 5), leaves(1), 1e-13);   // along the beam
  EXPECT_NEAR(c(row + 6), -leaves(0), 1e-13);  // across it

  // and they are the nearest ones of a bar that lies over the beam
  VectorXd q(4);
  q << 0.2, -0.3, 0.05, 0.4;
  const auto [pair, gap] = edges_at(flight.problem.system(), autodiff::values_of(flight.problem.numbers()), contact,
                                    flight.problem.system().no_reference(), q);
  EXPECT_EQ(std::min(pair.one[0], pair.one[1]), 2);
  EXPECT_EQ(std::max(pair.one[0], pair.one[1]), 5);
  EXPECT_EQ(std::min(pair.other[0], pair.other[1]), 2);
  EXPECT_EQ(std::max(pair.other[0], pair.other[1]), 5);
  EXPECT_NEAR(gap, 0.05, 1e-14);
}

// ---- heights, overlap, planes

std::vector<Vector2d> corners(const Vector3d& q) {
  std::vector<Vector2d> all;
  for (const double x : {-0.4, 0.4})
    for (const double y : {-0.1, 0.1})
      all.emplace_back(q(0) + x * std::cos(q(2)) - y * std::sin(q(2)), q(1) + x * std::sin(q(2)) + y * std::cos(q(2)));
  return all;
}
std::vector<double> sorted(std::vector<double> v) {
  std::sort(v.begin(), v.end());
  return v;
}

TEST(ContactRows, HeightsAreThoseOfCornersOverTheFace) {
  const MotionProblem problem = problem_of(plane);
  ContactEvent contact = on_the_floor();
  const Vector3d q(0.3, 0.2, -0.5);
  const auto at = [&] {
    return sorted(
        heights(problem.system(), autodiff::values_of(problem.numbers()), contact, problem.system().no_reference(), q));
  };
  ASSERT_EQ(at().size(), 1u);
  EXPECT_NEAR(at()[0], tip(q)(1), 1e-15);
  contact.point = -1;
  contact.part = 1;
  std::vector<double> expected;
  for (const auto& r : corners(q)) expected.push_back(r(1));
  expected = sorted(expected);
  const auto found = at();
  ASSERT_EQ(found.size(), 4u);
  for (std::size_t i = 0; i < 4; ++i) EXPECT_NEAR(found[i], expected[i], 1e-15);
}

// C/2 s(d)^2 of every corner.
TEST(ContactRows, ThePenaltyIsTheEnergyOfRoundedOverlap) {
  constexpr double C = 2000.0, w = 0.01;
  const systems::Model model = systems::read_model(plane, "test");
  const auto numbers = model.evaluate<Coefficient>({}).numbers;
  ContactEvent contact = on_the_floor();
  const Vector3d q(0.3, 0.15, -0.5);
  VectorXd at_rest = VectorXd::Zero(6);
  at_rest.head(3) = q;
  const auto of = [&](double y) {
    const double s = 0.5 * (-y + std::sqrt(y * y + w * w));
    return 0.5 * C * s * s;
  };
  for (const bool point : {true, false}) {
    if (!point) contact.point = -1, contact.part = 1;
    double expected = 0.0;
    if (point)
      expected = of(tip(q)(1));
    else
      for (const auto& r : corners(q)) expected += of(r(1));
    const System system(model, false, {penalty(model, autodiff::values_of(numbers), contact, C, w)});
    EXPECT_NEAR(value(*element(system.energy(), numbers), at_rest)(0), expected, 1e-12 * expected);
    EXPECT_GT(expected, 0.01);
  }
}

constexpr const char* two_bars =
    "[model]\ndimension = 2\ngravity = 0\n"
    "[link one]\nparent = ground\njoint = planar\ncoordinates = x, y, a\nmass = 1\ninertia = 1\n"
    "[shape one]\nlink = one\nbox = 0.8, 0.2\n"
    "[link other]\nparent = ground\njoint = planar\ncoordinates = u, v, b\nmass = 1\ninertia = 1\n"
    "[shape other]\nlink = other\nbox = 0.8, 0.2\n";

struct TwoBars {
  MotionProblem problem = problem_of(two_bars);
  TwoBars() {
    Phase phase;
    phase.name = "flight";
    phase.intervals = 2;
    problem.add_phase(std::move(phase));
    problem.transcribe();
  }
};

// Rows c from `first` on are a.r - b over the corners r of the bar at q, in any order.
void expect_heights(const VectorXd& c, int first, const Vector3d& q, const Vector2d& a, double b) {
  std::vector<double> expected;
  for (const auto& r : corners(q)) expected.push_back(a.dot(r) - b);
  expected = sorted(expected);
  const auto found = sorted({c.begin() + first, c.begin() + first + 4});
  for (std::size_t k = 0; k < 4; ++k) EXPECT_NEAR(found[k], expected[k], 1e-14);
}

TEST(SeparatingPlanes, RowsAreTheHeightsOfCornersOverAPlane) {
  TwoBars bars;
  MotionProblem& problem = bars.problem;
  const SeparatingPlanes separation(problem, {{0, 1, 0.06, {{{0, 1}, Coefficient(0.02)}}}});
  auto& nlp = problem.problem();
  nlp.finish();
  const VectorXd x = some_point(nlp), c = rows_at(nlp, x);
  ASSERT_EQ(separation.planes().size(), 2u);
  EXPECT_EQ(separation.variables(), 6);
  ASSERT_EQ(separation.rows().size(), 8u);
  for (int interval = 0; interval < 2; ++interval) {
    const Plane& between = separation.planes()[interval];
    const Vector2d a = x.segment<2>(between.first);
    const double b = x(between.first + 2), half = interval == 0 ? 0.03 : 0.01;
    EXPECT_EQ(between.interval, interval);
    const auto* rows = &separation.rows()[4 * interval];
    EXPECT_NEAR(c(rows->first - 1), a.squaredNorm(), 1e-15);
    for (int i = 0; i < 4; ++i) {
      const bool other = i >= 2;
      const auto& [of, first, count] = rows[i];
      ASSERT_EQ(count, 4);
      expect_heights(c, first, x.segment<3>(problem.index(0).theta(interval + i % 2) + 3 * other), a, b);
      EXPECT_EQ(nlp.constraint_lower(first), other ? -nlp::infinity : half);
      EXPECT_EQ(nlp.constraint_upper(first), other ? -half : nlp::infinity);
    }
  }
}

// Parts that touch at a planned time have a plane at each node. Its rotation from node to node is limited.
TEST(SeparatingPlanes, PlanesOfNodesTurnWithTheParts) {
  TwoBars bars;
  MotionProblem& problem = bars.problem;
  SeparatingPlanes separation(problem, {{0, 1, 0.06, {{{0, 1}, Coefficient(0.02)}}, 0.4}});
  auto& nlp = problem.problem();
  nlp.finish();
  VectorXd x = some_point(nlp);
  const VectorXd c = rows_at(nlp, x);
  ASSERT_EQ(separation.planes().size(), 3u);
  ASSERT_EQ(separation.rows().size(), 6u);
  const auto normal = [&](int node) { return Vector2d(x.segment<2>(separation.planes()[node].first)); };
  for (int node = 0; node <= 2; ++node) {
    const double half = node == 0 ? 0.03 : 0.01, b = x(separation.planes()[node].first + 2);
    for (const bool other : {false, true}) {
      const auto& [of, first, count] = separation.rows()[2 * node + other];
      EXPECT_EQ(of, node);
      ASSERT_EQ(count, 4);
      expect_heights(c, first, x.segment<3>(problem.index(0).theta(node) + 3 * other), normal(node), b);
      EXPECT_EQ(nlp.constraint_lower(first), other ? -nlp::infinity : half);
      EXPECT_EQ(nlp.constraint_upper(first), other ? -half : nlp::infinity);
      if (node == 0 || !other) continue;
      EXPECT_NEAR(c(first + count), normal(node - 1).dot(normal(node)), 1e-14);
      EXPECT_NEAR(nlp.constraint_lower(first + count), std::cos(0.4), 1e-15);
      EXPECT_EQ(nlp.constraint_upper(first + count), nlp::infinity);
    }
  }
  // fill() places the planes halfway between the parts at every node
  x.setZero();
  for (int k = 0; k <= 2; ++k) x(problem.index(0).theta(k) + 1) = 0.25 + 0.1 * k;
  separation.fill(problem, x);
  for (int node = 0; node <= 2; ++node) {
    EXPECT_LE((normal(node) - Vector2d::UnitY()).norm(), 1e-12);
    EXPECT_NEAR(x(separation.planes()[node].first + 2), 0.5 * (0.15 + 0.1 * node + 0.1), 1e-12);
  }
}

// Heights of a corner that moves evenly over a plane that is affine in time: a polynomial of degree 2 in time. The rows
// are its Bernstein coefficients, so it lies between the lowest and the highest of them.
TEST(SeparatingPlanes, AffinePlanesBoundTheHeightsBetweenNodes) {
  TwoBars bars;
  MotionProblem& problem = bars.problem;
  const SeparatingPlanes separation(problem, {{0, 1, 0.06, {{{0, 1}, Coefficient(0.02)}}, {}, true}});
  auto& nlp = problem.problem();
  nlp.finish();
  const VectorXd x = some_point(nlp), c = rows_at(nlp, x);
  ASSERT_EQ(separation.planes().size(), 3u);
  ASSERT_EQ(separation.rows().size(), 10u);  // both sides at three nodes and in two intervals
  const auto plane_at = [&](int node) -> Eigen::Vector3d { return x.segment<3>(separation.planes()[node].first); };
  const auto corners_of = [&](int node, bool other) {
    return corners(x.segment<3>(problem.index(0).theta(node) + 3 * other));
  };
  const auto rows_of = [&](std::size_t at) {
    const auto& rows = separation.rows()[at];
    return std::vector<double>(c.begin() + rows.first, c.begin() + rows.first + rows.count);
  };
  for (int interval = 0; interval < 2; ++interval)
    for (const bool other : {false, true}) {
      // order of rows: node 0, node 1, interval 0, node 2, interval 1; both sides each
      const auto side = static_cast<std::size_t>(other);
      const auto low = rows_of((interval == 0 ? 0u : 2u) + side), high = rows_of((interval == 0 ? 2u : 6u) + side),
                 middle = rows_of((interval == 0 ? 4u : 8u) + side);
      const int first = separation.rows()[(interval == 0 ? 4u : 8u) + side].first;
      const double half = interval == 0 ? 0.03 : 0.01;
      EXPECT_EQ(nlp.constraint_lower(first), other ? -nlp::infinity : half);
      EXPECT_EQ(nlp.constraint_upper(first), other ? -half : nlp::infinity);
      const auto from = corners_of(interval, other), to = corners_of(interval + 1, other);
      for (int i = 0; i <= 10; ++i) {
        const double s = 0.1 * i;
        std::vector<double> heights, polynomials;
        for (std::size_t corner = 0; corner < 4; ++corner) {
          const Vector2d at = (1 - s) * from[corner] + s * to[corner];
          const Eigen::Vector3d there = (1 - s) * plane_at(interval) + s * plane_at(interval + 1);
          heights.push_back(there.head<2>().dot(at) - there(2));
          polynomials.push_back((1 - s) * (1 - s) * low[corner] + 2 * s * (1 - s) * middle[corner] +
                                s * s * high[corner]);
        }
        heights = sorted(heights), polynomials = sorted(polynomials);
        for (std::size_t k = 0; k < 4; ++k) EXPECT_NEAR(heights[k], polynomials[k], 1e-13);
      }
    }
}

// Parallel bars that part: their planes lie between them, and the distances are those of their sides.
TEST(SeparatingPlanes, PlanesOfAMotionLieBetweenTheParts) {
  TwoBars bars;
  MotionProblem& problem = bars.problem;
  SeparatingPlanes separation(problem, {{0, 1, 0.06, {}}});
  problem.problem().finish();
  VectorXd x = VectorXd::Zero(problem.problem().variables());
  for (int k = 0; k <= 2; ++k) x(problem.index(0).theta(k) + 1) = 0.25 + 0.1 * k;  // one above the other
  separation.fill(problem, x);
  for (int k = 0; k < 2; ++k) {
    const int first = separation.planes()[k].first;
    EXPECT_LE((x.segment<2>(first) - Vector2d::UnitY()).norm(), 1e-12);
    EXPECT_NEAR(x(first + 2), 0.5 * (0.15 + 0.1 * k + 0.1), 1e-12);
  }
  const Clearance all = clearance(problem, x, separation.pairs());
  EXPECT_NEAR(all.at_nodes, 0.05, 1e-12);
  EXPECT_NEAR(all.lower_bound, 0.05, 1e-12);
  EXPECT_NEAR(all.violation, 0.01, 1e-12);
  EXPECT_EQ(all.pair, 0);
  EXPECT_EQ(all.time, 0.0);
  const auto numbers = autodiff::values_of(problem.numbers());
  const auto gap = [&](double height) {
    VectorXd q = VectorXd::Zero(6);
    q(1) = height;
    return gaps(problem.system(), numbers, problem.system().no_reference(), q, separation.pairs())[0];
  };
  EXPECT_NEAR(gap(0.5), 0.3, 1e-12);
  EXPECT_NEAR(gap(0.15), -0.05, 1e-12);  // they overlap
}

}  // namespace
}  // namespace dodyn::dmoc::test_contact_rows
