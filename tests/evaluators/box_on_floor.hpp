// A model text that tests of simulations share: a square box of 0.2 m and 270 kg/m^2 on a floor, in the plane.
#pragma once

namespace dodyn::evaluators {

inline constexpr const char* box_on_floor = R"([model]
name = box
dimension = 2
gravity = 9.81
[parameters]
side = 0.2                # m
friction = 0.4
restitution = 0
half = side/2
[surface]
restitution = restitution
friction = friction
[link floor]
parent = ground
joint = fixed
[shape floor]
link = floor
box = 20, 1
at = 0, -0.5
outward = 0, 1
[link box]
parent = ground
joint = planar
coordinates = x, y, theta
[shape box]
link = box
box = side, side
density = 270
)";

}  // namespace dodyn::evaluators
