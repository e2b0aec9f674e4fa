#include "geometry/connected.hpp"

#include <gtest/gtest.h>

#include <stdexcept>

namespace dodyn::geometry::test_connected {
namespace {

// The corners (5, 0.5) and (9.5, 1.5) are nearest. The separating plane of the contact program is 1 m wide.
TEST(Connected, TheMessageGivesTheDistanceOfAPart) {
  const std::vector<Polytope<2>> parts{rectangle(10, 1), rectangle(1, 1).moved({{10, 2}})};
  try {
    require_connected("plate", parts);
    FAIL();
  } catch (const std::invalid_argument& e) {
    EXPECT_NE(std::string(e.what()).find("part 2 of 2 is 4.60977 m away"), std::string::npos) << e.what();
  }
}

TEST(Connected, PartsThatTouchOrOverlapAreOneBody) {
  const std::vector<Polytope<2>> parts{rectangle(1, 1), rectangle(1, 1).moved({{1, 0.5}}),
                                       rectangle(1, 1).moved({{0, 0.9}})};
  EXPECT_NO_THROW(require_connected("plate", parts));
}

}  // namespace
}  // namespace dodyn::geometry::test_connected
