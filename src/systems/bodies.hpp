// The bodies view of a model: a world of rigid bodies for the contact simulation, and the conversion between
// coordinates and poses.
//
// Every moving link is a body; links fixed to another link are part of its body. Supported are free bodies (a planar or
// spatial root) and revolute, spherical and prismatic joints. Three hinges through one point with massless links
// between them are a spherical joint too. Springs and users' energies become potentials of the world; damping, users'
// forces and actuators become its forces. Charges and drag become charges and drag of the world. Gaps of [contact NAME]
// and [stop NAME] become its one-sided constraints.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "rigid/simulation.hpp"
#include "systems/hybrid_model.hpp"
#include "systems/mass_matrix.hpp"

namespace dodyn::systems {

// A controller: given time (s) and state it sets u, [actuators]. Values beyond an actuator's limit are clipped if
// WorldOptions::limits is true.
using Control =
    std::function<void(double t, std::span<const double> q, std::span<const double> v, std::span<double> u)>;

template <int n>
struct Bodies {
  rigid::World<n> world;
  Tree<double> tree;

  struct LinkPlace {
    int body = -1;
    Vector3<double> origin;  // origin of the link's frame, in body coordinates
    // Massless intermediate link between hinges through one point. It has the body of the next link; the hinges of both
    // form one joint.
    bool ring = false;
  };
  std::vector<LinkPlace> links;  // [links]

  struct State {
    std::vector<rigid::Pose<n>> poses;  // [bodies of the world]
    std::vector<rigid::Twist<n>> twists;
  };
  // Returns the state of the bodies at coordinates q and rates v. Fixed bodies are at rest at the origin.
  State state(std::span<const double> q, std::span<const double> v) const;
  // Returns the current state of a simulation of the world.
  static State state(const rigid::Simulation<n>& simulation) {
    const auto poses = simulation.poses();
    const auto twists = simulation.twists();
    return {{poses.begin(), poses.end()}, {twists.begin(), twists.end()}};
  }

  // Coordinates and rates of a state that satisfies the joints. In 2D angles include full turns; in 3D turn_angles()
  // determines them.
  struct Coordinates {
    std::vector<double> q, v;
  };
  Coordinates coordinates(const State& state) const;
};

// Options of a world in addition to its model.
struct WorldOptions {
  bool ground = false;  // body 0 is the ground even if nothing is attached to it
  // A standing foot: the point of the ground (m) to which the origin of the first link is joined, instead of its
  // slides.
  std::optional<Vector3<double>> foot = std::nullopt;
  bool limits = true;  // limits of actuators and ranges of coordinates apply
  // [force] sections that use controls are left out. recorded_actuators() (body_forces.hpp) then has these forces and
  // the forces of actuators; so pass no Control.
  bool passive = false;
  // The model's [contact NAME] and [stop NAME], which become one-sided constraints of the world. Null: none.
  const std::vector<GapContact>* one_sided = nullptr;
};

// Returns the bodies view of a model of dimension n. Without a Control all controls are zero. Throws ConfigError, one
// line, if a world cannot express the model.
template <int n>
Bodies<n> bodies(const Model& model, const Values<double>& values, Control control = {},
                 const WorldOptions& standing = {});

extern template struct Bodies<2>;
extern template struct Bodies<3>;
extern template Bodies<2> bodies(const Model&, const Values<double>&, Control, const WorldOptions&);
extern template Bodies<3> bodies(const Model&, const Values<double>&, Control, const WorldOptions&);

}  // namespace dodyn::systems
