// The docking craft as a model file (models/docking-craft.model, configs/docking*.cfg): its ports, magnets and rules.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <numbers>
#include <set>

#include "evaluators/evaluator.hpp"
#include "evaluators/simulation/observation.hpp"
#include "evaluators/simulation/outcome_statistics.hpp"
#include "farm/local.hpp"
#include "geometry/hyperplanes.hpp"
#include "study/parts.hpp"
#include "study/study.hpp"
#include "systems/bodies.hpp"
#include "tests/directory.hpp"
#include "tests/message_of.hpp"
#include "whole.hpp"

namespace dodyn::evaluators::test_docking {
namespace {

using geometry::Frame;
using rigid::Pose;
using rigid::Vector;
using simulation::wilson_interval;
using std::numbers::pi;
using Given = std::map<std::string, double>;

constexpr int female = 0, male = 1;

systems::Bodies<2> craft(const Given& given = {}) {
  const auto model = systems::find_model("docking-craft");
  return systems::bodies<2>(model, model.evaluate<double>(given));
}

Pose<2> docked_pose(const systems::Values<double>& values, const systems::Model& model) {
  const auto value = [&](const char* name) { return values.parameters[model.parameter(name)]; };
  Pose<2> pose;
  pose.position = {value("length") + value("depth") + value("mount_height"), 0.0};
  pose.angle = pi;
  return pose;
}
Pose<2> docked_pose(const Given& given = {}) {
  const auto model = systems::find_model("docking-craft");
  return docked_pose(model.evaluate<double>(given), model);
}

// Contacts of the two craft within `margin`, m; the male craft at `pose`, the female at the origin.
std::vector<geometry::Contact<2>> contacts(const rigid::World<2>& world, const Pose<2>& pose, double margin) {
  std::vector<geometry::Contact<2>> near;
  for (const auto& one : world.bodies[female].parts)
    for (const auto& two : world.bodies[male].parts) {
      geometry::Basis<2> basis;
      geometry::Contact<2> c;
      geometry::find_contact(one, Frame<2>{}, two, pose.frame(), basis, c);
      if (c.normal_gap() > -margin) near.push_back(c);
    }
  return near;
}

// Distance of two craft that do not overlap, corner by corner; the female craft at the origin.
double distance(const rigid::World<2>& world, const Pose<2>& pose) {
  double least = 1.0;
  const auto look = [&](const geometry::Polytope<2>& corners, const Frame<2>& at, const geometry::Polytope<2>& edges,
                        const Frame<2>& of) {
    for (const auto& f : edges.facets())
      for (const auto& v : corners.corners()) {
        const Vector<2> a = of(edges.corner(f[0])), e = of(edges.corner(f[1])) - a, x = at(v) - a;
        least = std::min(least, (x - std::clamp(x.dot(e) / e.squaredNorm(), 0.0, 1.0) * e).norm());
      }
  };
  for (const auto& one : world.bodies[female].parts)
    for (const auto& two : world.bodies[male].parts) {
      look(one, Frame<2>{}, two, pose.frame());
      look(two, pose.frame(), one, Frame<2>{});
    }
  return least;
}

// Docked craft touch in three points: both corners of one tip on the groove, and the middle of the other tip on the
// point. The three normals block all three motions in the plane. Nothing else touches.
TEST(DockingCraft, KinematicMountHoldsTheDockedCraftInThreePoints) {
  for (const double spacing : {0.03, 0.05, 0.07})
    for (const double half_angle : {15.0, 25.0, 30.0})
      for (const double tip : {0.006, 0.008}) {
        const Given given{{"spacing", spacing}, {"half_angle", half_angle * pi / 180.0}, {"tip", tip}};
        const auto view = craft(given);
        const Pose<2> docked = docked_pose(given);
        const auto& points = view.tree.named_points;
        for (int port = 0; port < 2; ++port) {
          const auto at = [&](int point) { return Vector<2>(points[point].place.at[0], points[point].place.at[1]); };
          EXPECT_LE((docked.frame()(at(2 * port + 1)) - at(2 * port)).norm(), 1e-15);
        }
        const auto touching = contacts(view.world, docked, 1.5e-4);
        ASSERT_EQ(touching.size(), 3u);
        Eigen::Matrix3d holds;
        std::multiset<int> ports;
        for (int k = 0; k < 3; ++k) {
          const auto& c = touching[k];
          EXPECT_NEAR(c.normal_gap(), 0.0, 1e-12);
          // the slope of the gap with respect to a translation and a rotation of the craft
          const auto turned = [&](const Vector<2>& arm, const Vector<2>& force) {
            const Vector<2> r = docked.frame().directors * arm;
            return r[0] * force[1] - r[1] * force[0];
          };
          holds.col(k) << c.alpha + c.beta_force, turned(c.lever[1], c.alpha) + turned(c.beta_lever[1], c.beta_force);
          ports.insert(c.witness[1][1] > 0.0 ? 0 : 1);
        }
        holds.row(2) /= spacing;
        EXPECT_GT(std::abs(holds.determinant()), 0.1);
        EXPECT_EQ(ports.count(0), 2u);
      }
}

TEST(DockingCraft, OpenedAlongTheAxisNothingTouches) {
  const auto view = craft();
  for (const double back : {1e-4, 1e-3, 5e-3, 0.02}) {
    Pose<2> pose = docked_pose();
    pose.position[0] += back;
    for (const auto& c : contacts(view.world, pose, 1.0)) EXPECT_LT(c.normal_gap(), -0.5 * std::min(back, 5e-4));
  }
}

TEST(DockingCraft, GapOfTheBoxesBoundsTheDistance) {
  const auto view = craft();
  const auto& world = view.world;
  rigid::Options options;
  options.response = rigid::Response::none;
  rigid::Simulation<2> simulation(world, options);
  simulation::Observation<2> observation(view, {}, world, 1e-3, false);
  const std::vector<rigid::Twist<2>> still(2, rigid::Twist<2>::Zero());
  for (int k = 0; k < 200; ++k) {
    const std::vector<Pose<2>> poses{{}, {{0.2 * std::cos(0.1 * k), 0.19 * std::sin(0.1 * k)}, 0.37 * k}};
    simulation.start(poses, still);
    observation.look(simulation, false);
    const double bound = observation.gap(0, 1);
    EXPECT_NEAR(bound, observation.gap(1, 0), 1e-15);
    if (bound > 0.0) {
      EXPECT_LE(bound, distance(world, poses[1]) + 1e-12) << k;
      EXPECT_GT(bound, distance(world, poses[1]) - 0.05) << k;
    }
  }
}

TEST(DockingCraft, AreEvenRectanglesAndNeutral) {
  const auto view = craft({{"width", 0.12}, {"mass", 0.7}});
  const auto& world = view.world;
  EXPECT_NEAR(world.bodies[male].mass, 0.7, 0.0);
  EXPECT_NEAR(world.bodies[female].mass, 0.7, 0.0);
  EXPECT_NEAR(world.bodies[male].euler_tensor.trace(), 0.7 * (0.1 * 0.1 + 0.12 * 0.12) / 12.0, 1e-15);
  double charge = 0.0;
  for (const auto& c : world.charges) charge += c.value;
  EXPECT_EQ(charge, 0.0);
}

class DockingStudy : public testing::Test {
 protected:
  std::unique_ptr<Evaluator> evaluator(std::vector<std::string> words = {}, const char* name = "docking.cfg") const {
    if (std::none_of(words.begin(), words.end(), [](const auto& w) { return w.starts_with("--design.spacing"); }))
      words.emplace_back("--design.spacing=0.05");
    for (const char* more : {"--initial-states.count=12", "--simulation.step=0.004"})
      if (std::none_of(words.begin(), words.end(), [&](const auto& w) {
            return w.starts_with(std::string(more).substr(0, std::string(more).find('=')));
          }))
        words.emplace_back(more);
    return make_evaluator(read_settings(std::string(CONFIGS) + "/" + name, words));
  }
  // Time of the first contact of a run along the axis, s.
  double touch(std::vector<std::string> words) const {
    for (const char* word :
         {"--initial-states.bearing=0", "--initial-states.distance=0.15", "--initial-states.count=1",
          "--simulation.step=0.001", "--outcome.docked.when=has_touched", "--outcome.docked.dwell=0"})
      words.emplace_back(word);
    const auto docking = evaluator(words);
    return metric(*docking, whole(*docking), "docked_time");
  }

  const Directory folder_;
};

// The magnets bring aligned craft together in the time for which they were calibrated (tests/evaluators/docking.py has
// the integral); charges alone, so K and the masses only set the pace, of a free pair by the reduced mass.
TEST_F(DockingStudy, ClosesInTheStatedTime) {
  EXPECT_NEAR(touch({}), 30.0, 0.02);
  EXPECT_NEAR(touch({"--design.pull=4"}), 15.0, 0.02);
  EXPECT_NEAR(touch({"--design.mass=4.8"}), 60.0, 0.04);
  EXPECT_NEAR(touch({"--simulation.fixed=none"}), 30.0 * std::sqrt(0.5), 0.02);
}

// With initial states mirrored in the female craft's axis, motions are mirrored until contact, and outcomes are equal.
TEST_F(DockingStudy, MirroredStartGivesTheMirroredMotion) {
  std::string text = systems::model_text("docking-craft");
  for (const auto& [name, from, to] : {std::array{"groove_upper", "spacing/2", "-spacing/2"},
                                       {"groove_lower", "spacing/2", "-spacing/2"},
                                       {"point", "-spacing/2", "spacing/2"}}) {
    const auto at = text.find(from, text.find(std::string("[shape ") + name + "]"));
    text.replace(at, std::string(from).size(), to);
  }
  std::ofstream(folder_ / "mirrored.model") << text;
  for (const char* hold : {"--simulation.fixed=female", "--simulation.fixed=none"})
    for (const auto& [bearing, distance] : {std::pair{"8 deg", "0.10"}, {"20 deg", "0.13"}}) {
      const std::vector<std::string> words = {hold, std::string("--initial-states.distance=") + distance,
                                              "--initial-states.count=1", "--simulation.nodes=400"};
      auto one = words, other = words;
      one.push_back(std::string("--initial-states.bearing=") + bearing);
      other.push_back(std::string("--initial-states.bearing=-") + bearing);
      other.push_back("--simulation.model=" + folder_ / "mirrored.model");
      const auto a = evaluator(one)->simulate(task()), b = evaluator(other)->simulate(task());
      const auto ended = [](const std::string& report) { return report.substr(report.find("ended"), 25); };
      EXPECT_EQ(ended(a->report), ended(b->report));
      const auto &q = a->trajectory.values[1], &p = b->trajectory.values[1];
      const auto& impact = a->trajectory.values[3];
      for (Eigen::Index k = 0; k < q.rows() && impact(k, 3) == 0.0; ++k)
        for (int body = 0; body < 2; ++body) {
          EXPECT_NEAR(q(k, 3 * body), p(k, 3 * body), 1e-11);
          EXPECT_NEAR(q(k, 3 * body + 1), -p(k, 3 * body + 1), 1e-11);
          EXPECT_NEAR(q(k, 3 * body + 2) - body * pi, -(p(k, 3 * body + 2) - body * pi), 1e-10);
        }
    }
}

TEST_F(DockingStudy, FreeCraftKeepTheirMomentum) {
  const auto docking =
      evaluator({"--simulation.fixed=none", "--design.female_mass=3", "--initial-states.bearing=11 deg",
                 "--initial-states.distance=0.1", "--initial-states.count=1"});
  const auto shown = docking->simulate(task());
  const auto &v = shown->trajectory.values[2], &energy = shown->trajectory.values[3];
  EXPECT_LT(energy(energy.rows() - 1, 3), 0.0);  // they have touched
  for (Eigen::Index k = 0; k < v.rows(); ++k)
    for (int i = 0; i < 2; ++i) EXPECT_NEAR(3.0 * v(k, i) + 1.2 * v(k, 3 + i), 0.0, 1e-12);
  EXPECT_GT(v.col(0).cwiseAbs().maxCoeff(), 1e-4);
}

TEST_F(DockingStudy, ResultsDoNotDependOnTheParts) {
  for (const char* name : {"docking.cfg", "docking-robust.cfg"}) {
    const auto one = evaluator({"--simulation.initial-states-per-task=100"}, name),
               split = evaluator({"--simulation.initial-states-per-task=7"}, name);
    EXPECT_EQ(one->parts(), 1);
    EXPECT_EQ(split->parts(), 2);
    const Outcome a = whole(*one), b = whole(*split);
    ASSERT_TRUE(a.evaluation.ok()) << a.evaluation.reason;
    EXPECT_EQ(a.evaluation.cost, b.evaluation.cost);
    EXPECT_EQ(a.evaluation.metrics, b.evaluation.metrics);
    const auto channels = one->channels();
    ASSERT_EQ(a.trajectory.values.size(), channels.size());
    ASSERT_EQ(b.trajectory.values.size(), channels.size());
    for (std::size_t k = 0; k < channels.size(); ++k) {
      const auto &x = a.trajectory.values[k], &y = b.trajectory.values[k];
      EXPECT_EQ(x.rows(), channels[k].nodes);
      EXPECT_EQ(x.cols(), channels[k].coordinates.size());
      for (Eigen::Index i = 0; i < x.size(); ++i) EXPECT_TRUE(x(i) == y(i) || (std::isnan(x(i)) && std::isnan(y(i))));
    }
  }
}

// The farm must not report a part with failed runs as a failure, or the whole evaluation would fail.
TEST_F(DockingStudy, PartsPassTheFarm) {
  const Settings given =
      read_settings(std::string(CONFIGS) + "/docking.cfg",
                    {"--initial-states.count=12", "--simulation.initial-states-per-task=7", "--design.spacing=0.05"});
  const std::shared_ptr<const Evaluator> docking = make_evaluator(given);
  farm::LocalFarm farm(study::make_work(docking, given), {});
  const Outcome a = study::evaluate(*docking, farm, task()), b = whole(*docking);
  ASSERT_TRUE(a.evaluation.ok()) << a.evaluation.reason;
  EXPECT_EQ(a.evaluation.cost, b.evaluation.cost);
  EXPECT_EQ(a.evaluation.metrics, b.evaluation.metrics);
}

TEST_F(DockingStudy, AlignedStartsDockAndFarOnesMiss) {
  const auto aligned = evaluator({"--initial-states.bearing=-1 deg .. 1 deg", "--initial-states.sampling=grid"});
  const Outcome dock = whole(*aligned);
  EXPECT_EQ(dock.evaluation.cost, 0.0);
  EXPECT_EQ(metric(*aligned, dock, "failure_rate_low"), 0.0);
  EXPECT_GT(dock.evaluation.cost_stderr, 0.0);  // no run failed, but the failure rate is not known to be zero
  EXPECT_EQ(metric(*aligned, dock, "restricted_time"), metric(*aligned, dock, "docked_time"));
  const auto far = evaluator({"--initial-states.distance=0.5 .. 0.6"});
  const Outcome miss = whole(*far);
  EXPECT_EQ(miss.evaluation.cost, 1.0);
  EXPECT_EQ(metric(*far, miss, "missed"), 1.0);
  EXPECT_EQ(metric(*far, miss, "restricted_time"), 120.0);
  EXPECT_TRUE(std::isnan(metric(*far, miss, "docked_time")));
}

TEST_F(DockingStudy, RobustVariantVariesWhatItSaysAndNoMore) {
  const std::vector<std::string> still = {"--initial-states.restitution=0.3", "--initial-states.friction=0.2",
                                          "--initial-states.pull=1", "--disturbance.force=0"};
  const auto plain = evaluator(), same = evaluator(still, "docking-robust.cfg");
  const Outcome a = whole(*plain), b = whole(*same);
  EXPECT_EQ(a.evaluation.cost, b.evaluation.cost);
  EXPECT_EQ(channel(*plain, a, "outcome"), channel(*same, b, "outcome"));
  const auto robust = evaluator({}, "docking-robust.cfg"),
             other = evaluator({"--design.spacing=0.06"}, "docking-robust.cfg");
  const Outcome c = whole(*robust), d = whole(*other);
  EXPECT_EQ(channel(*robust, c, "initial_state"), channel(*other, d, "initial_state"));  // the same for every design
  EXPECT_NE(channel(*robust, c, "outcome"), channel(*plain, a, "outcome"));
  // another field alone changes the runs, too
  auto table = still;
  table.back() = "--disturbance.force=1e-5";
  const auto uneven = evaluator(table, "docking-robust.cfg");
  table.emplace_back("--disturbance.seed=2");
  const auto otherwise = evaluator(table, "docking-robust.cfg");
  const Outcome e = whole(*uneven), f = whole(*otherwise);
  EXPECT_NE(channel(*uneven, e, "outcome"), channel(*same, b, "outcome"));
  EXPECT_NE(channel(*uneven, e, "outcome"), channel(*otherwise, f, "outcome"));
}

// The archived frames of each run begin at its initial state and end at its outcome.
TEST_F(DockingStudy, FilmsShowEveryRun) {
  const auto docking = evaluator({"--simulation.frames=9"});
  const Outcome outcome = whole(*docking);
  const auto &start = channel(*docking, outcome, "initial_state"), &ends = channel(*docking, outcome, "outcome"),
             &runs = channel(*docking, outcome, "runs");
  ASSERT_EQ(runs.rows(), 12 * 9);
  for (int k = 0; k < 12; ++k) {
    EXPECT_EQ(runs(9 * k, 0), 0.0);
    EXPECT_NEAR(runs(9 * k, 4), (0.1 + start(k, 1)) * std::cos(start(k, 0)), 1e-5);
    EXPECT_NEAR(runs(9 * k, 5), (0.1 + start(k, 1)) * std::sin(start(k, 0)), 1e-5);
    EXPECT_NEAR(runs.col(0).segment(9 * k, 9).maxCoeff(), ends(k, 1), 1e-3);
    for (int i = 1; i < 9; ++i) EXPECT_TRUE(!(runs(9 * k + i, 0) <= runs(9 * k + i - 1, 0)));
    EXPECT_EQ(runs.block(9 * k, 1, 1, 3).norm(), 0.0);  // all nodes of the first start
  }
  const auto without = evaluator({"--simulation.frames=0"});
  const Outcome same = whole(*without);
  EXPECT_EQ(same.evaluation.metrics, outcome.evaluation.metrics);
  EXPECT_GT(channel(*without, same, "q").rows(), 100);  // of the first start
}

TEST_F(DockingStudy, SaysWhatIsWrong) {
  const auto reason = [&](std::vector<std::string> words) {
    const Outcome outcome = whole(*evaluator(std::move(words)));
    EXPECT_EQ(outcome.evaluation.status, Status::infeasible);
    return outcome.evaluation.reason;
  };
  EXPECT_NE(reason({"--design.spacing=0.02"}).find("apart"), std::string::npos);
  EXPECT_NE(reason({"--design.spacing=0.09"}).find("fits"), std::string::npos);
  EXPECT_NE(reason({"--design.rim=0"}).find("upper_wall"), std::string::npos);
  EXPECT_NE(reason({"--design.half_angle=50 deg"}).find("angles"), std::string::npos);
  EXPECT_NE(reason({"--design.mount_height=0.004"}).find("groove"), std::string::npos);
  EXPECT_NE(reason({"--design.depth=0.003"}).find("groove"), std::string::npos);
  EXPECT_NE(reason({"--initial-states.distance=0.01"}).find("overlap"), std::string::npos);
  const auto complaint = [&](const char* word) -> std::string {
    return message_of<ConfigError>([&] { evaluator({word}); });
  };
  EXPECT_NE(complaint("--simulation.fixed=femal").find("did you mean 'female'?"), std::string::npos);
  EXPECT_NE(complaint("--disturbance.forse=1").find("did you mean"), std::string::npos);
  EXPECT_NE(complaint("--outcome.missed.when=x(centre, femal) < 1").find("is unknown"), std::string::npos);
}

TEST(DisturbanceField, IsSmoothRepeatableAndOfItsStrength) {
  const auto judge = [](auto dimension) {
    constexpr int n = dimension;
    using Field = simulation::DisturbanceField<n>;
    constexpr int size = rigid::Twist<n>::RowsAtCompileTime;
    const simulation::Disturbance d{1e-3, 0.02, 0.2, 1};
    const Vector<n> at = 0.1 * Vector<n>::Ones();
    EXPECT_EQ(Field()(at).norm(), 0.0);
    EXPECT_EQ(Field(d, 7)(at), Field(d, 7)(at));
    EXPECT_NE(Field(d, 7)(at), Field(d, 8)(at));
    rigid::Twist<n> square = rigid::Twist<n>::Zero();
    for (std::uint64_t seed = 0; seed < 2000; ++seed) square += Field(d, seed)(at).cwiseAbs2() / 2000.0;
    for (int c = 0; c < size; ++c) {
      const double strength = c < n ? 1e-3 : 1e-3 * 0.02;
      EXPECT_NEAR(std::sqrt(square[c]), strength, 0.05 * strength);
    }
    // no wave is shorter than stated: over 1 % of that length the field changes little
    const Field field(d, 3);
    for (int k = 0; k < 100; ++k) {
      const Vector<n> x = 0.013 * k * Vector<n>::Unit(k % n), step = 0.002 * Vector<n>::Unit((k + 1) % n);
      EXPECT_LT((field(x + step) - field(x)).template head<n>().norm(), 0.25 * 1e-3 * std::sqrt(2.0 * n));
    }
  };
  judge(std::integral_constant<int, 2>());
  judge(std::integral_constant<int, 3>());
}

TEST(WilsonInterval, IsThatOfTheTables) {
  const auto some = wilson_interval(10, 100);  // Brown, Cai and DasGupta (2001): 0.0552 to 0.1744
  EXPECT_NEAR(some[0], 0.0552, 5e-5);
  EXPECT_NEAR(some[1], 0.1744, 5e-5);
  for (const int n : {1, 7, 200})
    for (int k = 0; k <= n; ++k) {
      const auto a = wilson_interval(k, n), b = wilson_interval(n - k, n);
      EXPECT_GE(a[0], 0.0);
      EXPECT_LE(a[0], static_cast<double>(k) / n);
      EXPECT_GE(a[1], static_cast<double>(k) / n);
      EXPECT_LE(a[1], 1.0);
      EXPECT_NEAR(a[0], 1.0 - b[1], 1e-14);
      // a limit of the interval is a p at which the score test just rejects: (p^ - p)^2 = z^2 p (1 - p)/n
      const double p = a[1], hat = static_cast<double>(k) / n;
      if (k < n) {
        EXPECT_NEAR((hat - p) * (hat - p), 1.959963984540054 * 1.959963984540054 * p * (1 - p) / n, 1e-13);
      }
    }
}

}  // namespace
}  // namespace dodyn::evaluators::test_docking
