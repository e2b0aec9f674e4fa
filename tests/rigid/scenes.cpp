#include "scenes.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <random>
#include <stdexcept>
#include <string>

#include "drawn.hpp"
#include "rigid/director.hpp"
#include "tests/geometry/solids.hpp"

namespace dodyn::rigid {
namespace {

template <int n>
Body<n> body(const std::string& name, int number, const geometry::Polytope<n>& shape, double density,
             const Surface& surface) {
  Body<n> b = solid<n>(name + " " + std::to_string(number + 1), {shape}, density).body;
  b.surface = surface;
  return b;
}

template <int n>
Pose<n> at(const Vector<n>& position) {
  Pose<n> pose;
  pose.position = position;
  return pose;
}

template <int n>
Twist<n> along_x(double speed) {
  Twist<n> twist = Twist<n>::Zero();
  twist[0] = speed;
  return twist;
}

void require(bool good, const char* what) {
  if (!good) throw std::invalid_argument(what);
}

}  // namespace

template <int n>
void Scene<n>::add(Body<n> body, const Pose<n>& pose, const Twist<n>& twist) {
  world.bodies.push_back(std::move(body));
  poses.push_back(pose);
  twists.push_back(twist);
}

template <int n>
void add_floor(Scene<n>& scene, double gravity, const Surface& surface) {
  const geometry::Polytope<n> slab = [] {
    if constexpr (n == 2)
      return geometry::rectangle(20.0, 1.0);
    else
      return geometry::box(20.0, 20.0, 1.0);
  }();
  geometry::Frame<n> below;
  below.position[n - 1] = -0.5;
  Body<n> floor = fixed_body<n>("floor", {slab.moved(below)}, Vector<n>(Vector<n>::Unit(n - 1)));
  floor.surface = surface;
  scene.add(floor, {});
  scene.world.gravity[n - 1] = -gravity;
}

template <int n>
Scene<n> cradle(const Cradle& c) {
  require(c.cubes >= 2, "a cradle needs at least 2 cubes");
  Scene<n> scene;
  double x = 0.0;
  for (int i = 0; i < c.cubes; ++i) {
    const bool first = i == 0, last = c.both_ends && i == c.cubes - 1;
    scene.add(body<n>("cube", i, cube_shape<n>(c.side), c.density, c.surface), at<n>(x * Vector<n>::Unit(0)),
              along_x<n>(first  ? c.speed
                         : last ? -c.speed
                                : 0.0));
    x += c.side * (1.0 + (first || (c.both_ends && i == c.cubes - 2) ? 0.5 : c.gap));
  }
  return scene;
}

template <int n>
Scene<n> two_blocks(const TwoBlocks& t) {
  Scene<n> scene;
  for (int i = 0; i < 2; ++i)
    scene.add(body<n>("block", i, cube_shape<n>(t.side), t.density, t.surface),
              at<n>(i * (t.side + t.distance) * Vector<n>::Unit(0)),
              along_x<n>(i == 0 ? t.speed_first : t.speed_second));
  return scene;
}

Scene<3> metronome(const Metronome& m) {
  Scene<3> scene;
  const double tip = m.edge / std::numbers::sqrt2 + 0.5 * m.gap;  // from the centre to the joint
  for (int i = 0; i < 2; ++i) {
    Pose<3> pose = at<3>({0.0, 0.0, (i == 0 ? -1.0 : 1.0) * tip});
    if (i == 1) pose.directors = exponential({0.0, 0.0, m.twist});
    Twist<3> twist = Twist<3>::Zero();
    twist[4] = i == 0 ? m.spin : -m.spin;
    scene.add(body<3>("pendulum", i, geometry::octahedron(m.edge), m.density, m.surface), pose, twist);
  }
  Joint<3> joint;
  joint.parent = 0;
  joint.child = 1;
  joint.parent_point = {0.0, 0.0, tip};
  joint.child_point = {0.0, 0.0, -tip};
  scene.world.joints.push_back(joint);
  return scene;
}

template <int n>
Scene<n> sliding_box(const SlidingBox& s) {
  Scene<n> scene;
  add_floor(scene, s.gravity, s.surface);
  Pose<n> pose;
  if constexpr (n == 2)
    pose.angle = -s.tilt;
  else
    pose.directors = exponential({0.0, s.tilt, 0.0});
  const double half = 0.5 * s.side * (std::abs(std::cos(s.tilt)) + std::abs(std::sin(s.tilt)));
  pose.position[n - 1] = half + s.height;
  scene.add(body<n>("box", 0, cube_shape<n>(s.side), s.density, s.surface), pose, along_x<n>(s.speed));
  return scene;
}

template <int n>
Scene<n> stack(const Stack& s) {
  Scene<n> scene;
  add_floor(scene, s.gravity, s.surface);
  for (int i = 0; i < s.boxes; ++i) {
    Pose<n> pose;
    pose.position[0] = i % 2 == 0 ? 0.0 : s.offset;
    pose.position[n - 1] = (i + 0.5) * s.side;
    scene.add(body<n>("box", i, cube_shape<n>(s.side), s.density, s.surface), pose);
  }
  return scene;
}

Scene<3> falling_polyhedra(const FallingPolyhedra& f) {
  require(f.bodies >= 1, "at least one polyhedron must fall");
  Scene<3> scene;
  add_floor(scene, f.gravity, f.surface);
  std::mt19937_64 random(f.seed);
  std::normal_distribution<double> normal;
  const geometry::Polytope<3> shapes[] = {geometry::box(0.2, 0.2, 0.2), geometry::square_pyramid(0.2, 0.4),
                                          geometry::octahedron(0.2 * std::numbers::sqrt3)};
  const char* names[] = {"cube", "pyramid", "octahedron"};
  for (int i = 0; i < f.bodies; ++i) {
    const double angle = 2.0 * std::numbers::pi * i / std::max(1, f.bodies - 1);
    Pose<3> pose = at<3>({0.0, 0.0, f.height});
    if (i > 0) pose.position += f.ring * Vector<3>(std::cos(angle), std::sin(angle), 0.0);
    const Vector<3> turn(normal(random), normal(random), normal(random));
    pose.directors = exponential(turn);
    Twist<3> twist = Twist<3>::Zero();
    for (int k = 0; k < 3; ++k) twist[k] = f.speed * normal(random);
    scene.add(body<3>(names[i % 3], i, shapes[i % 3], f.density, f.surface), pose, twist);
  }
  return scene;
}

Scene<3> hexagonal_prisms(const HexagonalPrisms& h) {
  require(h.prisms >= 1, "at least one prism");
  Scene<3> scene;
  scene.world.charge_constant = h.charge_constant;
  // a prism's flat faces look along angles of 60 degrees; so do its neighbours
  const double apart = std::numbers::sqrt3 * h.side + h.distance;
  const int rings = static_cast<int>(std::ceil(std::sqrt(h.prisms / 3.0))) + 1;
  std::vector<Vector<3>> places;
  for (int i = -rings; i <= rings; ++i)
    for (int j = -rings; j <= rings; ++j)
      places.emplace_back(apart * (i + 0.5 * j), apart * 0.5 * std::numbers::sqrt3 * j, 0.0);
  std::stable_sort(places.begin(), places.end(),
                   [&](const auto& a, const auto& b) { return a.norm() < b.norm() - 1e-9 * apart; });
  std::mt19937_64 random(h.seed);
  std::normal_distribution<double> normal;
  for (int i = 0; i < h.prisms; ++i) {
    // corners of regular_prism lie on its x axis: turn a face there
    Pose<3> pose = at<3>(places[i]);
    pose.directors = exponential({0.0, 0.0, std::numbers::pi / 6.0});
    Twist<3> twist = Twist<3>::Zero();
    for (int k = 0; k < 2; ++k) twist[k] = h.speed * normal(random);
    for (int face = 0; face < 6; ++face) {
      const double angle = std::numbers::pi / 6.0 + face * std::numbers::pi / 3.0;
      scene.world.charges.push_back({static_cast<int>(scene.world.bodies.size()),
                                     h.charge_radius * Vector<3>(std::cos(angle), std::sin(angle), 0.0),
                                     face % 2 == 0 ? 1.0 : -1.0});
    }
    scene.add(body<3>("prism", i, geometry::regular_prism(6, h.side, h.height), h.density, h.surface), pose, twist);
  }
  return scene;
}

template struct Scene<2>;
template struct Scene<3>;
template void add_floor(Scene<2>&, double, const Surface&);
template void add_floor(Scene<3>&, double, const Surface&);
template Scene<2> cradle(const Cradle&);
template Scene<3> cradle(const Cradle&);
template Scene<2> two_blocks(const TwoBlocks&);
template Scene<3> two_blocks(const TwoBlocks&);
template Scene<2> sliding_box(const SlidingBox&);
template Scene<3> sliding_box(const SlidingBox&);
template Scene<2> stack(const Stack&);
template Scene<3> stack(const Stack&);

}  // namespace dodyn::rigid
