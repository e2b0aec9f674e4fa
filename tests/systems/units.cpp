// A model's numbers have the dimension of their place; mistakes are refused with both.
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "systems/model.hpp"
#include "tests/message_of.hpp"

namespace dodyn::systems {
namespace {

const std::string craft = R"([model]
dimension = 2
gravity = 9.81
[parameters]
motor = 1.5 kg
reach = 0.4      # m, of the arm
density = 5      # kg/m
fold = 30 deg
k = 30
[link body]
parent = ground
joint = planar
coordinates = x, y, turn
mass = 2
inertia = 0.1
[link arm]
parent = body
joint = revolute
end = reach, 0
mass = density*reach + motor
inertia = density*reach^3/12
[point tip]
link = arm
at = reach, 0
)";

std::string with(const std::string& from, const std::string& to) {
  std::string text = craft;
  const auto at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

std::string complaint_of(const std::string& text) {
  return message_of<ConfigError>([&] { read_model(text, "craft.model"); });
}

TEST(Units, OfEachParameterFollow) {
  const Model model = read_model(craft + "[spring s]\ncoordinate = arm\nstiffness = k\nrest = fold\n", "craft.model");
  std::map<std::string, std::string> units;
  for (const Parameter& parameter : model.parameters) units[parameter.name] = parameter.unit;
  EXPECT_EQ(units, (std::map<std::string, std::string>{
                       {"motor", "kg"}, {"reach", "m"}, {"density", "kg/m"}, {"fold", "rad"}, {"k", "N m"}}));
}

TEST(Units, OfTheWrongDimensionAreRefused) {
  ASSERT_EQ(complaint_of(craft), "");
  struct Mistake {
    std::string text, complaint;
  };
  const std::string spring = "[spring s]\ncoordinate = arm\n";
  for (const Mistake& mistake : {
           Mistake{with("mass = 2", "mass = 2 m"), "mass = 2 m is a length (m, cm, mm); expected a mass (kg, g)"},
           {with("mass = 2", "mass = 20 deg"), "mass = 20 deg is an angle (rad, deg); expected a mass (kg, g)"},
           {with("end = reach", "end = 3 kg"), "end = 3 kg is a mass (kg, g); expected a length (m, cm, mm)"},
           {with("gravity = 9.81", "gravity = 9.81 m"), "expected an acceleration (m/s2)"},
           {with("density*reach + motor", "density*reach^2 + motor"),
            "a number in m kg and a mass (kg, g) are added in 'density*reach^2 + motor'; allowed: one dimension"},
           {with("density*reach^3/12", "density*reach^2/12"),
            "inertia = density*reach^2/12 is a number in m kg; expected a moment of inertia (kg m2) (a factor without "
            "a "
            "unit is a pure number)"},
           {craft + spring + "stiffness = 30 m\n",
            "stiffness = 30 m is a length (m, cm, mm); expected a number in N m/rad"},
           {craft + spring + "rest = 30 m\n", "rest = 30 m is a length (m, cm, mm); expected an angle (rad, deg)"},
           {craft + spring + "stiffness = k\n[drag d]\nlink = arm\nlinear = k\n",
            "linear = k is a torque or an energy (N m, J); expected a number in N s/m"},
           {craft + "[joint-limit l]\ncoordinate = arm\nfrom = -60 kg\n",
            "from = -60 kg is a mass (kg, g); expected an angle (rad, deg)"},
           {craft + "[joint-limit l]\ncoordinate = x\nfrom = fold\n",
            "from = fold is an angle (rad, deg); expected a length (m, cm, mm)"},
           {craft + "[surface]\nfriction = 20 deg\n",
            "friction = 20 deg is an angle (rad, deg); expected a number without a unit"},
           {craft + "[actuator a]\ncoordinate = arm\nlimit = 5 N\n",
            "limit = 5 N is a force (N, kN, mN); expected a torque or an energy (N m, J)"},
           {craft + "[spring s]\nfrom = tip\nto = ground : 0, 0\nstiffness = k\n[drag d]\nlink = arm\nlinear = k\n",
            "linear = k is a stiffness (N/m, N/mm); expected a number in N s/m"},
           {craft + "[potential p]\nenergy = sin(tip.x)\n",
            "a sine, cosine or tangent is taken of a length (m, cm, mm) in 'sin(tip.x)'; allowed: an angle or a number "
            "without a unit; divide it by 1 m"},
           {craft + "[require]\nshort = reach < motor\n",
            "a length (m, cm, mm) and a mass (kg, g) are compared in 'reach < motor'; allowed: one dimension"},
       }) {
    const std::string complaint = complaint_of(mistake.text);
    EXPECT_TRUE(complaint.starts_with("craft.model:")) << complaint;
    EXPECT_NE(complaint.find(mistake.complaint), std::string::npos) << complaint << "\n" << mistake.complaint;
  }
}

// A text in other units of the same dimensions is the same model.
TEST(Units, OfTheSameDimensionAreConverted) {
  const auto values = [](const std::string& text) {
    return read_model(text, "craft.model").evaluate<double>().numbers;
  };
  std::string metric = craft, other = with("motor = 1.5 kg", "motor = 1500 g");
  other.replace(other.find("reach = 0.4 "), 12, "reach = 400 mm ");
  other.replace(other.find("density = 5 "), 12, "density = 5 g/mm ");
  const auto one = values(metric), two = values(other);
  ASSERT_EQ(one.size(), two.size());
  for (std::size_t i = 0; i < one.size(); ++i) EXPECT_NEAR(one[i], two[i], 1e-15 + 1e-15 * std::abs(one[i]));
}

}  // namespace
}  // namespace dodyn::systems
