// Angles beyond half a turn, which frames of bodies do not contain.
#include "systems/full_turns.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "systems/model.hpp"

namespace dodyn::systems::test_full_turns {
namespace {

Tree<double> wheel(const std::string& more) {
  const Model model = read_model(
      "[model]\ndimension = 2\ncharge-constant = 1\n[link wheel]\nparent = ground\njoint = revolute\nmass = 1\n"
      "[charge one]\nlink = wheel\nvalue = 1\n[charge other]\nlink = ground\nat = 2, 0\nvalue = 1\n" +
          more,
      "wheel.model");
  return model.tree(model.evaluate<double>().numbers);
}

// Charges, periodic energies and damping do not contain full turns.
TEST(FullTurns, MatterToFunctionsOfTheAngleThatAreNotPeriodic) {
  const std::vector<double> beyond = {4.0}, within = {3.0}, rate = {1.0};
  for (const std::string force : {"", "[force f]\ncoordinate = wheel\nforce = -1 N m s*rate(wheel)\n"}) {
    EXPECT_FALSE(has_forces_of_turns(wheel(force))) << force;
    EXPECT_EQ(misread_angle(wheel(force), beyond, rate), "") << force;
  }
  const Tree<double> periodic = wheel("[potential p]\nenergy = 2 N m*cos(wheel)\n");
  EXPECT_TRUE(has_forces_of_turns(periodic));
  EXPECT_EQ(misread_angle(periodic, beyond, rate), "");
  for (const std::string force :
       {"[spring s]\ncoordinate = wheel\nstiffness = 1\n", "[joint-limit l]\ncoordinate = wheel\nto = 3.5\n",
        "[force f]\ncoordinate = wheel\nforce = -1 N m/rad*wheel\n"}) {
    EXPECT_TRUE(has_forces_of_turns(wheel(force))) << force;
    EXPECT_TRUE(misread_angle(wheel(force), beyond, rate).starts_with("the angle wheel is beyond half a turn"))
        << force;
    EXPECT_EQ(misread_angle(wheel(force), within, rate), "") << force;
  }
}

}  // namespace
}  // namespace dodyn::systems::test_full_turns
