// Evaluator `coil-fit`: the shipped study against symmetries and the far field of dipoles; mistakes.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <fstream>
#include <map>
#include <numbers>
#include <sstream>
#include <string>
#include <vector>

#include "evaluators/evaluator.hpp"
#include "rigid/coils.hpp"
#include "tests/message_of.hpp"
#include "whole.hpp"

namespace dodyn::evaluators::test_coil_fit {
namespace {

std::unique_ptr<Evaluator> coil_fit(const std::vector<std::string>& words = {}) {
  return make_evaluator(read_settings(std::string(CONFIGS) + "/coil-fit.cfg", words));
}
Outcome fitted(const std::vector<std::string>& words = {}) {
  Task task;
  task.evaluation.id = 0;
  return coil_fit(words)->evaluate(task);
}
std::string coil_complaint(const std::string& word) {
  return message_of<ConfigError>([&] { coil_fit({word}); });
}

// By mirror symmetry f_x is even, f_y and the torque are odd: terms of even powers belong to f_x, of odd powers to the
// others. The other coefficients are round-off.
TEST(CoilFit, IsAsSymmetricAsTheCoilsAre) {
  const Outcome outcome = fitted();
  ASSERT_TRUE(outcome.evaluation.ok()) << outcome.evaluation.reason;
  const auto& table = outcome.trajectory.values[0];
  for (Eigen::Index i = 0; i < table.rows(); ++i) {
    const bool even = std::fmod(table(i, 0) + table(i, 1), 2.0) == 0.0;
    for (const Eigen::Index k : {2, 3, 4, 5, 6, 7})
      if (even != (k < 4)) {
        EXPECT_NEAR(table(i, k), 0.0, 1e-11) << i << " " << k;
      }
  }
  EXPECT_EQ(table.cols(), 14);
  EXPECT_EQ(table(0, 8), 1.067);  // Table B.1 beside it
}

// In line, at the largest distance, the form equals the force of two poles. B_x(0, 0) is that of dipoles in decimetres,
// except for the part in r^-8.
TEST(CoilFit, ForcesInLineAreThoseOfPoles) {
  const Outcome outcome = fitted();
  const auto& table = outcome.trajectory.values[0];
  const auto poles = [](double r) {  // of 62.5 A m, 10 cm apart
    const double k = 1e-7 * 62.5 * 62.5;
    return k * (1.0 / std::pow(r - 0.1, 2) - 2.0 / std::pow(r, 2) + 1.0 / std::pow(r + 0.1, 2));
  };
  for (const double r : {0.3, 0.4, 0.55}) {
    const double form = table(0, 2) / std::pow(10.0 * r, 8) - table(0, 3) / std::pow(10.0 * r, 4);
    EXPECT_NEAR(form, poles(r), 0.05 * poles(r)) << r;
  }
  // f_x and f_y are within 10 % if r begins at 0.2 m; the torque is not
  const Outcome far = fitted({"--coil-fit.min-distance=0.2"});
  EXPECT_LT(far.evaluation.cost, 0.1);
  EXPECT_GT(far.evaluation.metrics[2], 0.1);
}

// Each metric is the mean over distances of the mean error of a component over its mean size, nearer or farther than
// halfway.
TEST(CoilFit, MetricsAreMeanErrorsOfTheForm) {
  const Outcome outcome = fitted();
  ASSERT_TRUE(outcome.evaluation.ok()) << outcome.evaluation.reason;
  rigid::CoilForm form;
  form.coefficients = outcome.trajectory.values[0].middleCols(2, 6);
  Eigen::Matrix<double, 6, 1> expected = Eigen::Matrix<double, 6, 1>::Zero(), count = expected;
  for (int d = 0; d < 17; ++d) {
    const double r = 0.15 + d * (0.55 - 0.15) / 16;
    Eigen::Vector3d error = Eigen::Vector3d::Zero(), size = Eigen::Vector3d::Zero();
    for (int i = -4; i <= 4; ++i)
      for (int k = -4; k <= 4; ++k) {
        const double one = 0.25 * i * std::numbers::pi / 5, other = 0.25 * k * std::numbers::pi / 5;
        const Eigen::Vector3d wrench = rigid::pole_wrench({}, r, one, other);
        error += (form(r, one, other) - wrench).cwiseAbs();
        size += wrench.cwiseAbs();
      }
    const int first = r < 0.5 * (0.15 + 0.55) ? 0 : 3;
    expected.segment<3>(first) += error.cwiseQuotient(size);
    count.segment<3>(first).array() += 1.0;
  }
  expected = expected.cwiseQuotient(count).eval();
  EXPECT_LE((outcome.evaluation.metrics - expected).cwiseQuotient(expected).cwiseAbs().maxCoeff(), 1e-9);
  EXPECT_EQ(outcome.evaluation.cost, std::max({outcome.evaluation.metrics[0], outcome.evaluation.metrics[1],
                                               outcome.evaluation.metrics[3], outcome.evaluation.metrics[4]}));
}

// The grid of the source: 15 to 55 cm, 36 degrees either way.
TEST(CoilFit, TheGridIsThatOfTheSource) {
  std::map<std::string, std::string> defaults;
  for (const EvaluatorKind& kind : evaluator_kinds())
    if (kind.name == "coil-fit")
      for (const Key& key : evaluator_keys(kind)) defaults[key.name] = key.default_value;
  EXPECT_EQ(defaults["coil-fit.min-distance"], "0.15");
  EXPECT_EQ(defaults["coil-fit.max-distance"], "0.55");
  EXPECT_EQ(std::stod(defaults["coil-fit.angle"]), 36.0);
}

TEST(CoilFit, MistakesAreTold) {
  EXPECT_NE(coil_complaint("--coil-fit.min-distance=0.1").find("the ends of two cores meet"), std::string::npos);
  EXPECT_NE(coil_complaint("--coil-fit.min-distance=0.6").find("is not below coil-fit.max-distance"),
            std::string::npos);
  EXPECT_NE(coil_complaint("--coil-fit.table=nowhere.csv").find("nowhere.csv"), std::string::npos);
  EXPECT_NE(coil_complaint("--coil-fit.table=" + std::string(CONFIGS) + "/coil-fit.cfg").find("line"),
            std::string::npos);
}

// The table in a simulation: `docking-coils.cfg` with (B.1) for its coils.
std::unique_ptr<Evaluator> with_table(std::vector<std::string> words) {
  words.insert(words.end(),
               {"--design.current=0.48", "--design.spacing=50 mm", "--initial-states.count=1", "--simulation.frames=0",
                "--simulation.max-step=step", "--coils.table=" + std::string(CONFIGS) + "/coil-table.csv"});
  return make_evaluator(read_settings(std::string(CONFIGS) + "/docking-coils.cfg", words));
}

// An independent simulation of one craft with two coils near two held coils: (B.1) term by term from the file, in the
// axes of the moving coils, by the Runge-Kutta method.
class ByHand {
 public:
  ByHand() {
    std::ifstream file(std::string(CONFIGS) + "/coil-table.csv");
    for (std::string line; std::getline(file, line);) {
      if (line[0] == '#' || line[0] == 'p') continue;
      for (char& c : line)
        if (c == ',') c = ' ';
      std::istringstream cells(line);
      for (double& x : rows_.emplace_back()) cells >> x;
    }
  }
  using State = std::array<double, 6>;  // x, y, angle and their rates
  State rate(const State& s) const {
    // Centres of the cores: 5 mm plus half a core behind the front face, or behind the tip of a cone of 15 mm. The
    // moving craft is turned by half a turn; in its own axes its cores lie like those of the held craft.
    const double share = 0.48 / 0.6 * 0.48 / 0.6, mass = 1.2, inertia = 1.2 * (0.01 + 0.01) / 12.0;
    State d{s[3], s[4], s[5], 0.0, 0.0, 0.0};
    for (const double own : {0.025, -0.025})
      for (const double held : {0.025, -0.025}) {
        const double c = std::cos(s[2]), z = std::sin(s[2]);
        const double arm_x = c * 0.01 - z * own, arm_y = z * 0.01 + c * own;  // 0.05 + 0.015 - 0.005 - 0.05
        const double dx = -0.005 - s[0] - arm_x, dy = held - s[1] - arm_y;    // 0.05 - 0.005 - 0.05
        const double r = std::hypot(dx, dy), rho4 = std::pow(10.0 * r, 4.0);
        // angles of (B.1) in the axes of the moving coil, x towards the held craft; the held coil is turned by half a
        // turn
        const double phi1 = std::atan2(c * dy - z * dx, c * dx + z * dy);
        const double phi2 = std::remainder(-s[2], std::acos(-1.0));
        std::array<double, 3> f{};
        for (const auto& row : rows_)
          for (std::size_t i = 0; i < 3; ++i)
            f[i] += std::pow(phi1, row[0]) * std::pow(phi2, row[1]) *
                    (row[2 + 2 * i] / (rho4 * rho4) - row[3 + 2 * i] / rho4);
        for (double& x : f) x *= share;
        const double fx = c * f[0] - z * f[1], fy = z * f[0] + c * f[1];
        d[3] += fx / mass, d[4] += fy / mass, d[5] += (f[2] + arm_x * fy - arm_y * fx) / inertia;
      }
    return d;
  }
  State step(const State& s, double h) const {
    const auto at = [&](const State& k, double a) {
      State x = s;
      for (std::size_t i = 0; i < 6; ++i) x[i] += a * k[i];
      return rate(x);
    };
    const State k1 = rate(s), k2 = at(k1, 0.5 * h), k3 = at(k2, 0.5 * h), k4 = at(k3, h);
    State next = s;
    for (std::size_t i = 0; i < 6; ++i) next[i] += h / 6.0 * (k1[i] + 2.0 * k2[i] + 2.0 * k3[i] + k4[i]);
    return next;
  }

 private:
  std::vector<std::array<double, 8>> rows_;
};

TEST(CoilTable, MovesACraftAsTheEquationsDo) {
  const auto flown =
      with_table({"--initial-states.bearing=3 deg", "--initial-states.distance=150 mm", "--disturbance.force=0",
                  "--simulation.end=2 s", "--simulation.step=1 ms", "--simulation.nodes=201"});
  const Outcome outcome = whole(*flown);
  ASSERT_TRUE(outcome.evaluation.ok()) << outcome.evaluation.reason;
  ASSERT_EQ(metric(*flown, outcome, "end"), 1.0);
  const auto &t = channel(*flown, outcome, "t"), &q = channel(*flown, outcome, "q");
  const double pi = std::acos(-1.0), bearing = pi / 60.0;
  ByHand::State s{0.25 * std::cos(bearing), 0.25 * std::sin(bearing), bearing + pi, 0.0, 0.0, 0.0};
  const ByHand hand;
  ASSERT_NEAR(q(0, 3), s[0], 1e-15);
  for (Eigen::Index k = 1; k < t.rows(); ++k) {
    for (int i = 0; i < 10; ++i) s = hand.step(s, 1e-3);
    ASSERT_NEAR(t(k, 0), 0.01 * static_cast<double>(k), 1e-9);
    EXPECT_NEAR(q(k, 3), s[0], 1e-7);
    EXPECT_NEAR(q(k, 4), s[1], 1e-7);
    EXPECT_NEAR(q(k, 5), s[2], 1e-6);
  }
  EXPECT_GT(std::abs(q(200, 3) - q(0, 3)), 1e-3);  // it has moved
}

// A run that leaves the table's range ends and reports place and time. A study with too many such runs has no rate.
TEST(CoilTable, LeavesRunsUnresolvedOutOfItsRange) {
  const auto wide = with_table({"--initial-states.bearing=40 deg", "--initial-states.distance=150 mm"});
  const Outcome lost = whole(*wide);
  EXPECT_EQ(lost.evaluation.status, Status::failed);
  EXPECT_EQ(lost.evaluation.reason,
            "1 of 1 left the range of coils.table; the first: start 1, coils 2 of 'male' and 1 of 'female' are "
            "turned by -40 deg; the table holds up to 36 deg, at t = 0 s");
  EXPECT_EQ(metric(*wide, lost, "unresolved"), 1.0);
  const auto told = wide->simulate(Task{});
  ASSERT_TRUE(told);
  EXPECT_FALSE(told->completed);
  EXPECT_NE(told->report.find("ended           unresolved: coils"), std::string::npos);
}

TEST(CoilTable, MistakesAreTold) {
  const auto told = [](const std::string& configuration, const std::string& word) -> std::string {
    return message_of<ConfigError>(
        [&] { make_evaluator(read_settings(std::string(CONFIGS) + "/" + configuration, {word})); });
  };
  const std::string table = "--coils.table=" + std::string(CONFIGS) + "/coil-table.csv";
  EXPECT_NE(told("docking-feedback.cfg", table).find("applies to planar models"), std::string::npos);
  EXPECT_NE(told("docking.cfg", table).find("allowed: cores of 0.1 m"), std::string::npos);
  EXPECT_NE(told("docking-coils.cfg", "--coils.table=nowhere.csv").find("nowhere.csv"), std::string::npos);
  EXPECT_NE(told("docking-coils.cfg", "--coils.angle=30 deg").find("has no effect without coils.table"),
            std::string::npos);
}

}  // namespace
}  // namespace dodyn::evaluators::test_coil_fit
