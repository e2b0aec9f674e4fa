// The walkers that come with the program, as a user would write them.
#include "systems/model.hpp"

namespace dodyn::systems {
namespace {

// Pekarek 2010, section 4.2.2; the same as planar_biped.hpp, coordinate by coordinate.
const char* const planar_biped = R"(
[model]
name = planar-biped
dimension = 2
gravity = gravity
swing-foot = swing_shank

[parameters]
knee = 0.5              # length of the shank, m
leg = 1                 # shank and thigh, m
thigh = leg - knee
shank_mass = 2          # kg
thigh_mass = 3
inertia_factor = 1/24   # of m l^2 about the centre of mass
gravity = 9.81

[link stance_shank]
parent = ground
joint = point + revolute
coordinates = x, y, stance_shank
end = 0, knee
mass = shank_mass
inertia = inertia_factor*shank_mass*knee^2
partner = swing_shank

[link stance_thigh]
parent = stance_shank
joint = revolute
coordinates = stance_knee
end = 0, thigh
mass = thigh_mass
inertia = inertia_factor*thigh_mass*thigh^2
partner = swing_thigh

[link swing_thigh]
parent = stance_thigh
joint = revolute
coordinates = hip
end = 0, -thigh
mass = thigh_mass
inertia = inertia_factor*thigh_mass*thigh^2
partner = stance_thigh

[link swing_shank]
parent = swing_thigh
joint = revolute
coordinates = swing_knee
end = 0, -knee
mass = shank_mass
inertia = inertia_factor*shank_mass*knee^2
partner = stance_shank

[actuator stance_contact]
coordinate = stance_shank
[actuator stance_knee]
coordinate = stance_knee
[actuator hip]
coordinate = hip
[actuator swing_knee]
coordinate = swing_knee

[knee stance]
coordinate = stance_knee
flexion = +1
[knee swing]
coordinate = swing_knee
flexion = -1
)";

// Pekarek and Marsden 2008, section 5.2: a heavy hip, torques at hip and knees, none at the ground. What each of the
// masses is, the inertias and the length of a step are the reader's guess: the hip's a point, rods as in 2010.
const char* const planar_underactuated = R"(
[model]
name = planar-underactuated
dimension = 2
gravity = gravity
swing-foot = swing_shank

[parameters]
knee = 0.5              # length of the shank, m
leg = 1                 # shank and thigh, m
thigh = leg - knee
hip_mass = 10           # kg, a point
thigh_mass = 3
shank_mass = 2
inertia_factor = 1/24   # of m l^2 about the centre of mass
gravity = 9.81

[link stance_shank]
parent = ground
joint = point + revolute
coordinates = x, y, stance_shank
end = 0, knee
mass = shank_mass
inertia = inertia_factor*shank_mass*knee^2
partner = swing_shank

[link stance_thigh]
parent = stance_shank
joint = revolute
coordinates = stance_knee
end = 0, thigh
mass = thigh_mass
inertia = inertia_factor*thigh_mass*thigh^2
partner = swing_thigh

[link hip]
parent = stance_thigh
joint = fixed
mass = hip_mass
partner = hip

[link swing_thigh]
parent = stance_thigh
joint = revolute
coordinates = hip
end = 0, -thigh
mass = thigh_mass
inertia = inertia_factor*thigh_mass*thigh^2
partner = stance_thigh

[link swing_shank]
parent = swing_thigh
joint = revolute
coordinates = swing_knee
end = 0, -knee
mass = shank_mass
inertia = inertia_factor*shank_mass*knee^2
partner = stance_shank

[actuator stance_knee]
coordinate = stance_knee
[actuator hip]
coordinate = hip
[actuator swing_knee]
coordinate = swing_knee

[knee stance]
coordinate = stance_knee
flexion = +1
[knee swing]
coordinate = swing_knee
flexion = -1
)";

// Pekarek 2010, section 4.2.3. The source orients stance shank and swing thigh by ZYZ angles, which are singular where
// the leg is upright; here by yaw, roll and pitch (ZXY), singular only where a leg lies on its side. A knee turns about
// the lateral axis of its thigh, so that its angle adds to the pitch.
const char* const spatial_biped = R"(
[model]
name = spatial-biped
dimension = 3
gravity = gravity
swing-foot = swing_shank

[parameters]
knee = 0.5              # length of the shank, m
leg = 1                 # shank and thigh, m
thigh = leg - knee
shank_mass = 2          # kg
thigh_mass = 3
across = 31/1000        # of m l^2: inertia about the axes across a link, and
along = 3/500           # along it, as printed
gravity = 9.81

[link stance_shank]
parent = ground
joint = point + spherical ZXY
end = 0, 0, knee
mass = shank_mass
inertia = across*shank_mass*knee^2, across*shank_mass*knee^2, along*shank_mass*knee^2
partner = swing_shank

[link stance_thigh]
parent = stance_shank
joint = revolute y
coordinates = stance_knee
end = 0, 0, thigh
mass = thigh_mass
inertia = across*thigh_mass*thigh^2, across*thigh_mass*thigh^2, along*thigh_mass*thigh^2
partner = swing_thigh

[link swing_thigh]
parent = stance_thigh
joint = spherical ZXY
end = 0, 0, -thigh
mass = thigh_mass
inertia = across*thigh_mass*thigh^2, across*thigh_mass*thigh^2, along*thigh_mass*thigh^2
partner = stance_thigh

[link swing_shank]
parent = swing_thigh
joint = revolute y
coordinates = swing_knee
end = 0, 0, -knee
mass = shank_mass
inertia = across*shank_mass*knee^2, across*shank_mass*knee^2, along*shank_mass*knee^2
partner = stance_shank

[actuator stance_yaw]
coordinate = stance_shank_z
[actuator stance_roll]
coordinate = stance_shank_x
[actuator stance_pitch]
coordinate = stance_shank_y
[actuator stance_knee]
coordinate = stance_knee
[actuator hip_yaw]
coordinate = swing_thigh_z
[actuator hip_roll]
coordinate = swing_thigh_x
[actuator hip_pitch]
coordinate = swing_thigh_y
[actuator swing_knee]
coordinate = swing_knee

[knee stance]
coordinate = stance_knee
flexion = -1
[knee swing]
coordinate = swing_knee
flexion = +1
)";

}  // namespace

const std::map<std::string, std::string>& built_in_models() {
  static const std::map<std::string, std::string> trees = {{"planar-biped", planar_biped},
                                                           {"planar-biped-tree", planar_biped},  // its former name
                                                           {"planar-underactuated", planar_underactuated},
                                                           {"spatial-biped", spatial_biped}};
  return trees;
}

std::string model_text(const std::string& name_or_path) {
  if (const auto at = built_in_models().find(name_or_path); at != built_in_models().end()) return at->second;
  try {
    return ini::read_file(name_or_path);
  } catch (const ConfigError& error) {
    std::string names;
    for (const auto& [name, text] : built_in_models()) names += name + ", ";
    throw ConfigError(std::string(error.what()) + "; allowed: " + names + "or the path of a model file");
  }
}

}  // namespace dodyn::systems
