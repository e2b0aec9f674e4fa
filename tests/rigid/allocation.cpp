// A step of a simulation allocates no memory once its scene has occurred before. (Exception: islands with more points
// than are solved as one system, if their graph changes.)
#include <gtest/gtest.h>

#include "rigid/simulation.hpp"
#include "scenes.hpp"
#include "tests/allocations.hpp"

namespace dodyn::rigid::test_allocation {
namespace {

// Counts allocations in the second half of a run that is repeated.
template <int n>
long asked_for(const Scene<n>& scene, Response response, double seconds) {
  Options options;
  options.response = response;
  Simulation<n> simulation(scene.world, options);
  long before = 0;
  for (int run = 0; run < 2; ++run) {
    simulation.start(scene.poses, scene.twists);
    for (const double until : {0.5 * seconds, seconds}) {
      before = allocations;
      EXPECT_EQ(simulation.run(until).status, Outcome::reached) << simulation.outcome().reason;
    }
  }
  EXPECT_GT(before, 0);  // the count counts
  return allocations - before;
}

TEST(Allocation, StepsAllocateNothing) {
  for (const Response response : {Response::exact, Response::decomposition, Response::penalty}) {
    EXPECT_EQ(asked_for<2>(cradle<2>({.gap = 0.01, .speed = 1.0}), response, 0.2), 0);
    EXPECT_EQ(asked_for<3>(cradle<3>({.gap = 0.01, .speed = 1.0}), response, 0.2), 0);
    EXPECT_EQ(asked_for<3>(metronome({}), response, 0.5), 0);
    EXPECT_EQ(asked_for<3>(hexagonal_prisms({}), response, 0.5), 0);
  }
  EXPECT_EQ(asked_for<2>(sliding_box<2>({}), Response::decomposition, 0.5), 0);
  EXPECT_EQ(asked_for<3>(sliding_box<3>({}), Response::decomposition, 0.5), 0);
  EXPECT_EQ(asked_for<2>(stack<2>({}), Response::decomposition, 0.2), 0);
  EXPECT_EQ(asked_for<3>(stack<3>({}), Response::decomposition, 0.2), 0);
}

}  // namespace
}  // namespace dodyn::rigid::test_allocation
