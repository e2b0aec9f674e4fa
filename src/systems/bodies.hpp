// The bodies view of a model: a world of rigid bodies for the contact simulation, and the way from coordinates to poses
// and back.
//
// Every link that moves is a body; links fixed to another one are part of its body. What can be expressed are free bodies
// (a root that is planar, or spatial) and revolute, spherical and prismatic joints; three hinges through one point, with
// links without mass between them, are a spherical joint, too. Springs and
// users' energies are potentials of the world; damping, users' forces and actuators its forces; charges and drag its
// own.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "rigid/world.hpp"
#include "systems/model.hpp"

namespace dodyn::systems {

// What the actuators give at a time (s) and a state: sets u, [actuators]. Beyond an actuator's limit it gives that.
using Control =
    std::function<void(double t, std::span<const double> q, std::span<const double> v, std::span<double> u)>;

template <int n>
struct Bodies {
  rigid::World<n> world;
  Tree<double> tree;

  struct LinkPlace {
    int body = -1;
    Vector3<double> origin;  // of the link's frame, in the body's coordinates
    // Without mass, between hinges through one point: its body is that of the next link, with which it is one joint.
    bool ring = false;
  };
  std::vector<LinkPlace> links;  // where every link is

  struct State {
    std::vector<rigid::Pose<n>> poses;  // one a body of the world
    std::vector<rigid::Twist<n>> twists;
  };
  State state(std::span<const double> q, std::span<const double> v) const;

  // Coordinates and rates of a state that agrees with the joints. Angles of spatial joints are those of turn_angles().
  struct Coordinates {
    std::vector<double> q, v;
  };
  Coordinates coordinates(const State& state) const;
};

// What a world has beyond its model.
struct WorldOptions {
  bool ground = false;  // body 0 is the ground even where nothing hangs on it
  // Where the point of the ground is (m) that the origin of the first link is joined to, in place of its slides: a foot
  // that stands.
  std::optional<Vector3<double>> foot = std::nullopt;
  // Whether limits of actuators and ranges of coordinates act.
  bool limits = true;
};

// n: the model's dimension. Throws ConfigError, one line, of what a world cannot express.
template <int n>
Bodies<n> bodies(const Model& model, const Values<double>& values, Control control = {},
                 const WorldOptions& standing = {});

extern template struct Bodies<2>;
extern template struct Bodies<3>;
extern template Bodies<2> bodies(const Model&, const Values<double>&, Control, const WorldOptions&);
extern template Bodies<3> bodies(const Model&, const Values<double>&, Control, const WorldOptions&);

}  // namespace dodyn::systems
