#include "record/trajectory.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace dodyn::test_trajectory {
namespace {

const Channel states{"outcome", "", "", 2, {"time", "cost"}}, other{"q", "m", "", 1, {"cost"}};

TEST(CostsOfStates, AreAColumnOfTheChannelOfStates) {
  const Eigen::Matrix2d rows{{7, 1}, {8, 3}};
  const Trajectory trajectory{{Eigen::MatrixXd::Constant(1, 1, 5), rows}};
  EXPECT_EQ(costs_of_states({other, states}, trajectory), Eigen::Vector2d(1, 3));
  EXPECT_EQ(costs_of_states({other}, trajectory).size(), 0);  // a column of another channel is not meant
  EXPECT_EQ(costs_of_states({other, states}, {}).size(), 0);
}

// A mean over some of the states is not the mean of the column.
TEST(CostsOfStates, AreUnknownIfAStateHasNone) {
  const Eigen::Matrix2d rows{{7, 1}, {8, std::numeric_limits<double>::quiet_NaN()}};
  EXPECT_EQ(costs_of_states({states}, {{rows}}).size(), 0);
}

// The cost of a study with scenarios is not that of one of them.
TEST(CostsOfStates, OfOneScenarioAreNotThoseOfTheStudy) {
  Channel fast = states;
  fast.name = "fast:outcome";
  EXPECT_EQ(costs_of_states({fast}, {{Eigen::Matrix2d::Ones()}}).size(), 0);
}

}  // namespace
}  // namespace dodyn::test_trajectory
