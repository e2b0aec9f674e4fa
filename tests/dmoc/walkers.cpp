// Gaits of walkers that are trees: the planar biped as one, the underactuated and the spatial biped.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "dmoc/crossing.hpp"
#include "gaits.hpp"
#include "tests/nlp/check_derivatives.hpp"

namespace dodyn::dmoc::test_walkers {
namespace {

using nlp::SolveStatus;

// ---- derivatives

GaitSettings everything(int intervals) {
  GaitSettings s = bounded_work(intervals);
  s.step_length = Coefficient(0.45, 0.0);
  s.positive_work = 0.3;
  s.knee_stops = true;
  s.clearance = 0.05;
  s.clearance_points = 1;
  s.leg_radius = 0.03;
  return s;
}

TEST(TreeGait, DerivativesAreExact) {
  for (const char* name : {"planar-underactuated", "spatial-biped"}) {
    const WalkerGait gait = gait_of(built_in(name, 0.42), everything(4));
    const auto errors = nlp::check_derivatives(gait.problem(), gait.cold_start(3));
    EXPECT_LE(errors.max(), 1e-7) << name << ": " << errors.worst;
  }
}

TEST(TreeGait, DerivativeOfTheLagrangianWithRespectToTheDesignIsExact) {
  for (const char* name : {"planar-underactuated", "spatial-biped"}) {
    const auto gait_at = [&](double step) {
      GaitSettings s = everything(4);
      s.period = Coefficient(0.9 + 0.2 * step, 0.2);
      s.step_length = Coefficient(0.45 - 0.5 * step, -0.5);
      return gait_of(built_in(name, 0.42 + step), s);
    };
    expect_exact_slope(gait_at, name);
  }
}

// ---- evaluation at many points equals evaluation one by one, bit for bit

TEST(TreeGait, AllNodesAtOnceAreTheNodesOneByOne) {
  const auto [walker, numbers] = built_in("spatial-biped", 0.42);
  const PinnedSystem& stance = walker->system->pinned(walker->feet());
  const auto of = [&numbers = numbers](const Function& f) { return element(f, numbers); };
  std::mt19937_64 random(3);
  std::uniform_real_distribution<double> uniform(-0.6, 0.6);
  for (const Element& f : {element(stance.action, numbers, {0.01}), element(stance.action, numbers, {0.02}),
                           of(walker->swing_height), of(stance.momentum), of(walker->exchanged_momentum),
                           of(walker->segments), element(walker->sides, numbers, {0.7, 0.3})}) {
    const int in = f->inputs, out = f->outputs, count = 11;
    std::vector<double> z(count * in), weights(count * out), values(count * out), y(out);
    for (double& x : z) x = uniform(random);
    for (double& x : weights) x = uniform(random);
    std::vector<double> jacobians(count * out * in), J(out * in), hessians(count * in * in), H(in * in);
    f->evaluate_all(count, z.data(), values.data());
    f->derivatives_all(count, z.data(), weights.data(), jacobians.data(), hessians.data());
    for (int k = 0; k < count; ++k) {
      f->evaluate(&z[k * in], y.data());
      f->derivatives(&z[k * in], &weights[k * out], J.data(), H.data());
      for (int j = 0; j < out; ++j) EXPECT_EQ(values[k * out + j], y[j]);
      for (int j = 0; j < out * in; ++j) EXPECT_EQ(jacobians[k * out * in + j], J[j]);
      for (int i = 0; i < in; ++i)
        for (int j = 0; j <= i; ++j) EXPECT_EQ(hessians[(k * in + i) * in + j], H[i * in + j]);
    }
  }
}

// ---- solved gaits

struct SolvedWalker {
  WalkerGait gait;
  nlp::Solution solution;
  SolvedWalker(const char* name, const GaitSettings& settings, int first, int seeds)
      : gait(gait_of(built_in(name, 0.5), settings)), solution(best_of(gait, first, seeds, 400)) {}
};
const SolvedWalker& underactuated() {
  GaitSettings s;
  s.intervals = 30;
  s.clearance_points = 1;
  static const SolvedWalker solved("planar-underactuated", s, 0, 3);
  return solved;
}
const SolvedWalker& spatial() {
  GaitSettings s;
  s.intervals = 16;
  s.step_length = 0.45;
  s.friction = 0.8;
  s.clearance = 0.02;
  s.leg_radius = 0.03;
  s.rate_limit = 12.0;
  s.knee_stops = true;
  static const SolvedWalker solved("spatial-biped", s, 11, 4);
  return solved;
}

class WalkerGaits : public testing::TestWithParam<const SolvedWalker& (*)()> {};
INSTANTIATE_TEST_SUITE_P(Walkers, WalkerGaits, testing::Values(underactuated, spatial),
                         [](const auto& kind) { return kind.index == 0 ? "underactuated" : "spatial"; });

TEST_P(WalkerGaits, AreFirstOrderOptimal) {
  const auto& [gait, solution] = GetParam()();
  ASSERT_EQ(solution.status, SolveStatus::solved) << solution.reason;
  EXPECT_LE(solution.residuals.max(), 1e-8);
  const GaitReport r = gait.report(solution.x);
  EXPECT_NEAR(solution.objective, r.squared_torque / (r.weight * r.step_length), 1e-8);
}

TEST_P(WalkerGaits, GroundImpulsesBalanceTheWeight) {
  const auto& [gait, solution] = GetParam()();
  const GaitMotion m = gait.motion(solution.x);
  const int K = m.u.rows(), base = gait.walker().base;
  const double h = m.t(1) - m.t(0);
  Eigen::VectorXd total = m.impulse + 0.5 * h * (m.contact_force.row(0) + m.contact_force.row(K)).transpose();
  for (int k = 1; k < K; ++k) total += h * m.contact_force.row(k).transpose();
  EXPECT_NEAR(total(0), 0.0, 1e-6);
  EXPECT_NEAR(total(base - 1), gait.report(solution.x).weight * m.t(K), 1e-6);
  // The lateral impulses of one step reverse the lateral motion for the next step, which is its mirror image.
  if (base == 3) {
    EXPECT_GT(std::abs(total(1)), 1e-3);
  }
}

TEST_P(WalkerGaits, StepOnToTheNextFootprint) {
  const auto& [gait, solution] = GetParam()();
  const GaitMotion m = gait.motion(solution.x);
  const int K = m.u.rows(), base = gait.walker().base;
  const Eigen::Index foot = m.points.cols() - base;  // the swing shank is the last link
  const double length = base == 2 ? 0.56 : 0.45;
  EXPECT_NEAR(m.points(K, foot), length, 1e-8);
  EXPECT_NEAR(m.points(0, foot), -length, 1e-8);
  EXPECT_NEAR(m.points(K, foot + base - 1), 0.0, 1e-8);
  if (base == 3) {
    EXPECT_NEAR(m.points(K, foot + 1), 0.2, 1e-8);
    EXPECT_NEAR(m.points(0, foot + 1), 0.2, 1e-8);
  }
}

// Walking is unstable without feedback: the solver's residual of the equations (1e-9) grows over a step.
TEST_P(WalkerGaits, ReintegrateForward) {
  const auto& [gait, solution] = GetParam()();
  EXPECT_LE(reintegration_error(gait, solution.x), 1e-3);
}

// The tape of the exchange is not recorded where there is no exchange.
TEST(WalkerGaits, ALinkWithoutAPartnerIsRefusedBeforeAnythingIsRecorded) {
  std::string text = systems::model_text("torso");
  const std::size_t trunk = text.find("[link trunk]"), counterpart = text.find("counterpart = trunk ", trunk);
  ASSERT_NE(counterpart, std::string::npos);
  text.erase(counterpart, text.find('\n', counterpart) - counterpart);
  try {
    const Walker walker(systems::read_model(text, "lone.model", false));
    FAIL() << "no refusal";
  } catch (const ConfigError& error) {
    const auto line = std::count(text.begin(), text.begin() + trunk, '\n') + 1;
    EXPECT_EQ(std::string(error.what()),
              "lone.model:" + std::to_string(line) +
                  ": link trunk needs a counterpart that names it as its counterpart, for the exchange of "
                  "the legs");
  }
}

TEST(WalkerGaits, UnderactuatedHasNoTorqueAtTheGround) {
  const Walker& w = underactuated().gait.walker();
  EXPECT_EQ(w.inputs(), 3);
  EXPECT_EQ(w.joints, 4);
  for (const auto& actuator : w.system->structure().actuators) EXPECT_GT(actuator.coordinate, 2);
}

TEST(WalkerGaits, SwingFootStaysUpBetweenNodesToo) {
  const auto& [gait, solution] = underactuated();
  const auto height = element(gait.walker().height, gait.numbers(), {0.5, 0.5});
  for (int k = 0; k < 30; ++k) {
    Eigen::VectorXd z(8);
    z << solution.x.segment(gait.index().theta(k), 4), solution.x.segment(gait.index().theta(k + 1), 4);
    double y = 0.0;
    height->evaluate(z.data(), &y);
    EXPECT_GE(y, -1e-8);
  }
}

TEST(WalkerGaits, SpatialKeepsItsLimits) {
  const auto& [gait, solution] = spatial();
  const GaitReport r = gait.report(solution.x);
  EXPECT_GT(r.min_normal_force, 0.0);
  EXPECT_LE(r.max_friction_ratio, 0.8 + 1e-6);
  EXPECT_LE(r.impulse_friction_ratio, 0.8 + 1e-6);
  EXPECT_GE(r.min_leg_distance, 0.9 * 0.06);  // between nodes; at nodes it is a constraint
  EXPECT_EQ(r.leg_crossings, 0);
  EXPECT_GE(gait.motion(solution.x).swing_height(8), 0.02 - 1e-8);
  EXPECT_GE(r.min_knee_flexion, -1e-8);
  EXPECT_GT(r.impact_loss, 0.0);
  const GaitMotion m = gait.motion(solution.x);
  for (int k = 0; k < 16; ++k)
    EXPECT_LE((m.q.row(k + 1) - m.q.row(k)).lpNorm<Eigen::Infinity>(), 12.0 * 0.9 / 16 + 1e-7);
}

// ---- legs that pass each other on their own sides

// Returns the minimum distance between the parts of two segments that the pair compares, on a mesh.
double min_on_a_mesh(const double* p, const Pair& pair, int N) {
  double minimum = 1e9;
  for (int i = 0; i <= N; ++i)
    for (int j = 0; j <= N; ++j) {
      const auto at = [N](const Part& part, int k) { return part.from + (part.to - part.from) * k / N; };
      double sum = 0.0;
      for (int a = 0; a < 3; ++a) {
        const double d =
            p[6 + a] + at(pair.second, j) * (p[9 + a] - p[6 + a]) - p[a] - at(pair.first, i) * (p[3 + a] - p[a]);
        sum += d * d;
      }
      minimum = std::min(minimum, sum);
    }
  return std::sqrt(minimum);
}

TEST(Crossing, DistanceIsTheMinimumOverPairsOfPoints) {
  std::mt19937_64 random(1);
  std::uniform_real_distribution<double> uniform(-1.0, 1.0);
  for (int trial = 0; trial < 120; ++trial) {
    double p[12];
    for (double& x : p) x = uniform(random);
    Pair pair;
    if (trial % 3) pair.first.from = 0.3 + 0.2 * uniform(random);
    if (trial % 3 == 2) pair.second = {1.4, 1.4};  // one point, beyond the segment
    const double minimum = min_on_a_mesh(p, pair, 300), distance = std::sqrt(squared_distance(p, pair));
    EXPECT_LE(distance, minimum + 1e-12);
    EXPECT_NEAR(distance, minimum, 0.015);
  }
}

// The side of a crossing: a ray along y through the point where two segments cross in side view meets the left one
// second.
TEST(Crossing, TheSideIsThatOfTheNearerPointOfARay) {
  std::mt19937_64 random(2);
  std::uniform_real_distribution<double> uniform(-1.0, 1.0);
  int seen = 0;
  for (int trial = 0; trial < 200; ++trial) {
    const double x = uniform(random), z = uniform(random), y_one = uniform(random), y_other = uniform(random);
    const double s = 0.1 + 0.4 * (1.0 + uniform(random)), t = 0.1 + 0.4 * (1.0 + uniform(random));
    double p[12];  // both through (x, ., z), at s and t of their lengths
    for (int a = 0; a < 3; ++a) {
      const double place[] = {x, y_one, z}, other[] = {x, y_other, z};
      const double u = uniform(random), v = uniform(random);
      p[a] = place[a] - s * u, p[3 + a] = place[a] + (1.0 - s) * u;
      p[6 + a] = other[a] - t * v, p[9 + a] = other[a] + (1.0 - t) * v;
    }
    EXPECT_EQ(passes_on_the_right(p, {}, 0.0), y_other < y_one);
    for (const int a : {0, 3}) p[a] += 10.0;  // beside each other
    EXPECT_FALSE(passes_on_the_right(p, {}, 0.0));
    ++seen;
  }
  EXPECT_EQ(seen, 200);
}

// A biped with a pelvis of some width: hips on one body.
Design with_pelvis(const char* width) {
  std::string text = systems::model_text("spatial-biped");
  const std::string thigh = "[link swing_thigh]\nparent = stance_thigh\njoint = spherical ZXY\n";
  const auto at = text.find(thigh);
  EXPECT_NE(at, std::string::npos);
  text.replace(at, thigh.size(), "[link swing_thigh]\nparent = pelvis\njoint = spherical ZXY\n");
  text.insert(at, std::string("[link pelvis]\nparent = stance_thigh\njoint = spherical ZXY\nend = 0, ") + width +
                      ", 0\ncounterpart = pelvis\n\n");
  auto walker = std::make_shared<const Walker>(systems::read_model(text, "with-pelvis"));
  auto numbers = walker->numbers({{"knee", Coefficient(0.4, 1.0)}});
  return {std::move(walker), std::move(numbers)};
}

TEST(Crossing, LegsHaveTheDistancesOfKneesAndFeetFromTheHip) {
  for (const auto& [design, hips] :
       {std::pair{built_in("spatial-biped", 0.4), 0.0}, std::pair{with_pelvis("0.2"), 0.2}}) {
    const Walker::Legs legs = design.walker->legs(design.walker->system->model().tree<Coefficient>(design.numbers));
    EXPECT_NEAR(legs.hips.value, hips, 1e-12);
    ASSERT_EQ(legs.reach.size(), 4u);  // of the stance foot and knee, of the swing knee and foot
    const double reach[] = {1.0, 0.6, 0.6, 1.0}, slopes[] = {0.0, -1.0, -1.0, 0.0};
    for (std::size_t i = 0; i < 4; ++i) {
      EXPECT_NEAR(legs.reach[i].value, reach[i], 1e-12);
      EXPECT_NEAR(legs.reach[i].slope(0), slopes[i], 1e-12);
    }
  }
}

// The condition is sufficient for any posture, also with legs up or sideways: if it is satisfied, no link of the swing
// leg is on the wrong side. It is not vacuous: many postures that violate it have a link on the wrong side.
TEST(Crossing, LegsOnTheirSidesPassOnTheCorrectSide) {
  for (const Design& design : {built_in("spatial-biped", 0.4), with_pelvis("0.2")}) {
    const Walker& walker = *design.walker;
    const Element sides = element(walker.sides, design.numbers, {1.0, 0.0}),
                  segments = element(walker.segments, design.numbers);
    std::mt19937_64 random(4);
    std::uniform_real_distribution<double> uniform(-3.0, 3.0);
    int kept = 0, wrong = 0;
    for (int trial = 0; trial < 40000; ++trial) {
      Eigen::VectorXd theta(walker.joints), z(2 * walker.joints);
      for (double& angle : theta) angle = uniform(random);
      z << theta, theta;
      const bool keeps = value(*sides, z).minCoeff() >= 0.0;
      const Eigen::VectorXd ends = value(*segments, theta);
      bool passes_wrong = false;
      for (const int one : {0, 1})
        for (const int other : {2, 3}) passes_wrong |= passes_on_the_right(ends.data(), {one, other, {}, {}}, 0.02);
      kept += keeps;
      wrong += passes_wrong;
      EXPECT_FALSE(keeps && passes_wrong);
    }
    EXPECT_GT(kept, 100);
    EXPECT_GT(wrong, 1000);
  }
}

TEST(Crossing, BetweenNodesTheSidesAreThoseOfAnglesBetween) {
  const auto [walker, numbers] = built_in("spatial-biped", 0.4);
  const int j = walker->joints;
  const Eigen::VectorXd a = Eigen::VectorXd::LinSpaced(j, -0.5, 0.6), b = Eigen::VectorXd::LinSpaced(j, 0.7, -0.2),
                        c = 0.7 * a + 0.3 * b;
  Eigen::VectorXd between(2 * j), at(2 * j);
  between << a, b;
  at << c, c;
  EXPECT_LE((value(*element(walker->sides, numbers, {0.7, 0.3}), between) -
             value(*element(walker->sides, numbers, {1.0, 0.0}), at))
                .lpNorm<Eigen::Infinity>(),
            1e-14);
}

// Minimum distance between the legs of a posture by pairs of points farther than d from the hip.
double min_by_points(const Eigen::VectorXd& p, double thigh, double shank, double d) {
  const auto point = [&](int i) -> Eigen::Vector3d { return p.segment<3>(3 * i); };
  double minimum = 1e9;
  const int N = 60;
  for (const int one : {0, 1})      // stance shank, stance thigh
    for (const int other : {2, 3})  // swing thigh, swing shank
      for (int i = 0; i <= N; ++i)
        for (int j = 0; j <= N; ++j) {
          const double s = static_cast<double>(i) / N, t = static_cast<double>(j) / N;
          if ((one == 0 ? thigh + (1.0 - s) * shank : (1.0 - s) * thigh) < d) continue;
          if ((other == 3 ? thigh + t * shank : t * thigh) < d) continue;
          minimum = std::min(
              minimum,
              ((1.0 - s) * point(one) + s * point(one + 1) - (1.0 - t) * point(other) - t * point(other + 1)).norm());
        }
  return minimum;
}

// The report of a solved gait against distances of its links on a fine interpolation of its angles.
TEST(WalkerGaits, SpatialLegsStayApartBetweenNodesToo) {
  const auto& [gait, solution] = spatial();
  ASSERT_EQ(solution.status, SolveStatus::solved);
  const int joints = gait.walker().joints;
  double minimum = 1e9;
  for (int k = 0; k < 16; ++k)
    for (int i = 0; i < 20; ++i) {
      const double f = i / 20.0;
      const Eigen::VectorXd theta = (1.0 - f) * solution.x.segment(gait.index().theta(k), joints) +
                                    f * solution.x.segment(gait.index().theta(k + 1), joints);
      const Eigen::VectorXd p = value(*element(gait.walker().points, gait.numbers()), theta);
      minimum = std::min(minimum, min_by_points(p, 0.5, 0.5, 4.0 * 0.03 / 0.2));
    }
  const GaitReport r = gait.report(solution.x);
  EXPECT_NEAR(r.min_leg_distance, minimum, 2e-3);
  EXPECT_GE(minimum, 0.9 * 0.06);
  EXPECT_EQ(r.leg_crossings, 0);
  EXPECT_EQ(r.leg_order_violations, 0);
}

// Between two nodes, legs pass through each other, or around each other on the wrong side.
TEST(WalkerGaits, ACrossingBetweenNodesIsSeen) {
  const WalkerGait gait = gait_of(built_in("spatial-biped", 0.5), everything(4));
  Eigen::VectorXd x = gait.cold_start(1);
  for (const double roll : {0.0, -0.3, 0.3}) {
    for (int k = 0; k <= 4; ++k) {
      auto theta = x.segment(gait.index().theta(k), gait.walker().joints);
      theta.setZero();
      theta(5) = roll;
      theta(6) = k < 2 ? 0.4 : -0.4;  // back, then forward
    }
    ASSERT_EQ(gait.walker().coordinate_names[3 + 6], "swing_thigh_y");
    const GaitReport r = gait.report(x);
    if (roll == 0.0) {
      EXPECT_LT(r.min_leg_distance, 0.01);
      EXPECT_EQ(r.leg_crossings, 1);
    } else {
      EXPECT_EQ(r.leg_order_violations > 0, roll < 0.0) << roll;
    }
  }
}

}  // namespace
}  // namespace dodyn::dmoc::test_walkers
