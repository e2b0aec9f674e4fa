// Small worlds with known behaviour, for animations (`dodyn simulate configs/scene-*.cfg`), tests and measurements.
// Source: Johnson 2013, sections 3.3.5, 3.4.3 and 3.5.6. Values that the source does not give are parameters with a
// default chosen here.
//
// To add a scene, write a struct of parameters and a function that returns the scene.
#pragma once

#include <cstdint>
#include <vector>

#include "rigid/world.hpp"

namespace dodyn::rigid {

// The world and initial state of a simulation. Bodies that move come after those that do not.
template <int n>
struct Scene {
  World<n> world;
  std::vector<Pose<n>> poses;
  std::vector<Twist<n>> twists;

  // `pose` is that of the centre of mass.
  void add(Body<n> body, const Pose<n>& pose, const Twist<n>& twist = Twist<n>::Zero());
};

// A floor of 20 m by 20 m, its upper face at height 0 of the last axis; gravity (m/s^2) against that axis.
template <int n>
void add_floor(Scene<n>& scene, double gravity, const Surface& surface);

// Newton's cradle: a row of cubes along x, a gap apart and at rest, and strikers half a side from its ends.
struct Cradle {
  int cubes = 5;
  bool both_ends = false;                  // a striker at each end, or at the first only
  double side = 0.2 * 1.4142135623730951;  // m
  double gap = 0.1;                        // in sides (1/10; the source has 1/100 for both ends)
  double density = 270.0;                  // kg/m^3
  double speed = 0.105;                    // of the strikers, m/s
  Surface surface = {};
};
template <int n>
Scene<n> cradle(const Cradle& parameters);

// Two cubes in line, plastic in the source: they move on together, or stop.
struct TwoBlocks {
  double side = 0.2 * 1.4142135623730951, density = 270.0;  // m, kg/m^3
  double distance = 0.01;                                   // between the faces, m
  double speed_first = 0.5, speed_second = 0.0;             // along x, m/s
  Surface surface{0.0, 0.0};
};
template <int n>
Scene<n> two_blocks(const TwoBlocks& parameters);

// Two octahedra, tip to tip about a spherical joint, that swing against each other until an edge of the upper one
// strikes a face of the lower one. No gravity.
struct Metronome {
  double edge = 0.2 * 1.7320508075688772, density = 270.0;  // m, kg/m^3
  double spin = 1.0;                  // of the lower one about y, rad/s; the upper one's is minus this
  double gap = 0.01;                  // between the tips, the joint in its middle, m
  double twist = 0.7853981633974483;  // of the upper one about the axis, rad
  Surface surface = {};
};
Scene<3> metronome(const Metronome& parameters);

// A box that slides along x on a floor until friction stops it, after v^2/(2 mu g).
struct SlidingBox {
  double side = 0.2, density = 270.0;  // m, kg/m^3
  double speed = 1.3;                  // m/s
  double height = 0.0;                 // m: it falls first
  double tilt = 0.0;                   // rad about y
  double gravity = 9.81;               // m/s^2
  Surface surface{0.0, 0.4};
};
template <int n>
Scene<n> sliding_box(const SlidingBox& parameters);

// A stack of boxes on a floor; every second box is displaced along x.
struct Stack {
  int boxes = 5;
  double side = 0.1, density = 500.0;  // m, kg/m^3
  double offset = 0.01;                // displacement, m
  double gravity = 9.81;               // m/s^2
  Surface surface{0.5, 0.4};
};
template <int n>
Scene<n> stack(const Stack& parameters);

// Cubes, square pyramids and octahedra in turn, one in the middle and the others in a ring about it, fall on a floor.
struct FallingPolyhedra {
  int bodies = 7;
  double height = 0.8;     // of the centres of mass, m
  double ring = 0.55;      // radius, m
  double speed = 0.01;     // root mean square of each component, m/s
  double density = 270.0;  // kg/m^3
  double gravity = 9.81;   // m/s^2
  std::uint64_t seed = 1;  // of velocities and attitudes
  Surface surface{0.6, 0.5};
};
Scene<3> falling_polyhedra(const FallingPolyhedra& parameters);

// Hexagonal prisms side by side on a hexagonal grid, with charges of alternating sign behind their side faces: they
// attract each other and clump into a flower.
struct HexagonalPrisms {
  int prisms = 7;                   // filled from the middle of the grid
  double side = 0.2, height = 0.4;  // m
  double density = 270.0;           // kg/m^3
  double distance = 0.05;           // between the faces of neighbours, m
  double speed = 0.01;              // root mean square of each component of the velocities in the grid's plane, m/s
  double charge_radius = 0.1;       // of the charges from the axis, m
  double charge_constant = 5e-4;    // K of (3.51), N m^2
  std::uint64_t seed = 1;
  Surface surface{0.8, 0.8};
};
Scene<3> hexagonal_prisms(const HexagonalPrisms& parameters);

}  // namespace dodyn::rigid
