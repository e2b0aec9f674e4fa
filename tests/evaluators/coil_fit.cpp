// Evaluator `coil-fit`: the shipped study against what symmetry and a dipole from afar say, mistakes.
#include <gtest/gtest.h>

#include <cmath>

#include "evaluators/evaluator.hpp"

namespace dodyn::evaluators {
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
  try {
    coil_fit({word});
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "";
}

// Mirrored, f_x stays and f_y and the torque change their signs: terms of even powers belong to f_x, of odd ones to the
// others. What is left in the last column is round-off.
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

// In line at the largest distance the form is the force of two poles; B_x(0, 0) is that of dipoles in decimetres but for
// what r^-8 takes over.
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
  // f_x and f_y within a tenth where r begins at 0.2 m; torque is not
  const Outcome far = fitted({"--coil-fit.least-distance=0.2"});
  EXPECT_LT(far.evaluation.cost, 0.1);
  EXPECT_GT(far.evaluation.metrics[2], 0.1);
}

TEST(CoilFit, MistakesAreTold) {
  EXPECT_NE(coil_complaint("--coil-fit.least-distance=0.1").find("the ends of two cores meet"), std::string::npos);
  EXPECT_NE(coil_complaint("--coil-fit.least-distance=0.6").find("is not below largest-distance"), std::string::npos);
  EXPECT_NE(coil_complaint("--coil-fit.table=nowhere.csv").find("nowhere.csv"), std::string::npos);
  EXPECT_NE(coil_complaint("--coil-fit.table=" + std::string(CONFIGS) + "/coil-fit.cfg").find("line"),
            std::string::npos);
}

}  // namespace
}  // namespace dodyn::evaluators
