#include "settings/renamed.hpp"

#include <gtest/gtest.h>

#include "settings/config_error.hpp"

namespace dodyn::test_renamed {
namespace {

TEST(Renamed, AnOldNameIsAnsweredByTheNewOne) {
  EXPECT_EQ(did_you_mean("study.silence", {"study.silent", "study.heartbeat-timeout"}),
            "; it is now called 'study.heartbeat-timeout'");
  EXPECT_EQ(did_you_mean("nonsmooth", {"gait", "hybrid"}), "; it is now called 'hybrid'");
  // below its section, without it
  EXPECT_EQ(did_you_mean("failure-of", {"cost", "success"}), "; it is now called 'success'");
}

// "start" was a section and a metric. A message offers only new names that are valid in that place.
TEST(Renamed, OnlyWhatThePlaceKnowsIsOffered) {
  EXPECT_EQ(renamed("start", {"initial-states"}), "");
  EXPECT_EQ(renamed("start", {"initial-states", "initial-state"}), "initial-state");
  EXPECT_EQ(did_you_mean("start", {"stop"}), "");
}

}  // namespace
}  // namespace dodyn::test_renamed
