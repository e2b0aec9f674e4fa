// Evaluator `air-table`: a steady field is measured and cancelled; a field that changes is not. Closed forms and
// mistakes.
#include <gtest/gtest.h>

#include <cmath>

#include "evaluators/evaluator.hpp"
#include "tests/message_of.hpp"

namespace dodyn::evaluators::test_air_table {
namespace {

const std::vector<std::string> few = {"--air-table.spacing=0.3"};  // 3 x 2 states

std::unique_ptr<Evaluator> table(std::vector<std::string> words = {}) {
  words.insert(words.begin(), few.begin(), few.end());
  return make_evaluator(read_settings(std::string(CONFIGS) + "/air-table.cfg", words));
}
Outcome measured(const std::vector<std::string>& words = {}) {
  Task task;
  task.evaluation.id = 0;
  return table(words)->evaluate(task);
}
enum { drift, cancelled, field_error, field_rms };

// The source's finding: the recorded commands cancel a steady field, and do not help if the field has changed.
TEST(AirTable, ASteadyFieldIsCancelledAndAnotherOneIsNot) {
  const Outcome steady = measured();
  ASSERT_TRUE(steady.evaluation.ok()) << steady.evaluation.reason;
  EXPECT_LT(steady.evaluation.cost, 0.1);
  EXPECT_LT(steady.evaluation.metrics[field_error], 0.01);
  EXPECT_GT(steady.evaluation.metrics[drift], 0.01);
  const Outcome changing = measured({"--air-table.time=10 s"});
  ASSERT_TRUE(changing.evaluation.ok()) << changing.evaluation.reason;
  EXPECT_GT(changing.evaluation.cost, 0.5);
}

// Commands that are too rare let the craft go, and too strong a field moves it away. Then its commands are not the field.
TEST(AirTable, ACraftThatIsNotHeldMeasuresNothing) {
  for (const char* word : {"--air-table.sample-rate=0.3", "--air-table.sample-rate=0.05", "--air-table.force=5"}) {
    const Evaluation e = measured({word}).evaluation;
    EXPECT_EQ(e.status, Status::infeasible) << word;
    EXPECT_TRUE(e.reason.starts_with("the commands do not hold the craft: after 35 s it is ")) << e.reason;
  }
  EXPECT_TRUE(measured({"--air-table.sample-rate=7"}).evaluation.ok());
}

// In a nearly uniform field the drift is f t^2/(2 m), and the commands that hold the craft are minus the field.
TEST(AirTable, AnEvenForceIsToldAsItIs) {
  const Outcome even = measured({"--air-table.length=1e5", "--air-table.arm=0"});
  const auto &field = even.trajectory.values[0], &drifts = even.trajectory.values[1];
  ASSERT_EQ(field.rows(), 6);
  const double force = field.row(0).segment<2>(2).norm();
  for (Eigen::Index i = 0; i < field.rows(); ++i) {
    EXPECT_NEAR(field.row(i).segment<2>(2).norm(), force, 1e-3 * force);
    EXPECT_NEAR(drifts(i, 0), force * 25.0 / 2.4, 2e-3 * drifts(i, 0));
    EXPECT_LT(drifts(i, 1), 1e-3 * drifts(i, 0));
  }
  EXPECT_NEAR(even.evaluation.metrics[field_rms], force / std::sqrt(2.0), 1e-3 * force);
}

TEST(AirTable, RefusesTablesThatCannotBeMeasured) {
  const auto complaint = [](const std::string& word) { return message_of<ConfigError>([&] { table({word}); }); };
  EXPECT_NE(complaint("--air-table.sample-rate=200").find("faster than one sample per step; allowed: at most 100"),
            std::string::npos);
  EXPECT_NE(complaint("--air-table.margin=0.3").find("leaves no room on the table"), std::string::npos);
}

}  // namespace
}  // namespace dodyn::evaluators::test_air_table
