// Simulates deformable bodies and free rigid bodies in contact.
//
//   Simulation<3> simulation(world, options);
//   simulation.start(places);                         // repeatable
//   while (simulation.time() < 1.0 && simulation.step()) ...
//
// A surface element of a deformable body is an additional body in the world of rigid bodies (rigid/world.hpp), with
// free directors. Its frame {mean of its corners, F} is linear in its nodes. So gap and gradient with respect to
// position and directors (geometry/contact.hpp) give the gradient with respect to the nodes. Gravity, charges, users'
// potentials and contact use the same code for both kinds of bodies:
//   penalty  a potential C/2 g^2 of each overlap (3.38);
//   exact    the step is divided where a gap closes, and impulses reverse closing velocities;
//   decomposition  if bodies overlap after a step, the closing part of the momenta is reversed (3.4), for all overlaps
//            together: v+ = v + (1 + e) (P v - v), P the projection in the metric of the masses on velocities that
//            close no overlap.
//
// Explicit Newmark, gamma = 1/2 and beta = 0 (Johnson 2013, section 3.3.4, which prints beta = 1/2): x += h v + h^2/2
// a, v += h/2 (a + a+). Rigid bodies rotate about their principal axes in turn. So linear and angular momentum are
// conserved to round-off, and the energy error is bounded and of order h^2.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "elastic/elements.hpp"
#include "elastic/impacts.hpp"
#include "rigid/detection.hpp"
#include "rigid/forces.hpp"
#include "rigid/options.hpp"
#include "rigid/world.hpp"

namespace dodyn::elastic {

template <int n>
struct Deformable {
  std::string name;
  Mesh<n> mesh;
  Material material;
};

template <int n>
struct World {
  rigid::World<n> rigid;  // free and fixed bodies, gravity, charges, potentials; no joints, forces or drag
  std::vector<Deformable<n>> deformable;
};

// Initial state. Rigid bodies: pose and twist of the centre of mass. Deformable bodies: pose and twist of their
// coordinates' origin, undeformed.
template <int n>
struct Start {
  std::vector<rigid::Pose<n>> rigid_poses, deformable_poses;
  std::vector<rigid::Twist<n>> rigid_twists, deformable_twists;
};

struct Options {
  double step = 1e-3;        // h, s
  double stiffness = 300.0;  // stiffness C of a pair of overlapping convex parts, N/m (N/m per metre of depth)
  rigid::Response response = rigid::Response::penalty;  // penalty, exact or decomposition
  double restitution = 1.0;                             // restitution e of exact and decomposition
  double tolerance = 1e-9;                              // remaining overlap with `exact`, m
  int most_impacts = 2000;                              // limit per step with `exact`
};

struct Energies {
  double kinetic = 0.0, elastic = 0.0, contact = 0.0, potential = 0.0;  // J; potential: of gravity, charges, users'
                                                                        // potentials
  double total() const { return kinetic + elastic + contact + potential; }
};

template <int n>
class Simulation {
 public:
  // Throws std::invalid_argument, one line, for invalid options, bodies or meshes, and if there is no deformable body.
  Simulation(World<n> world, const Options& options);

  // Sets the state at time 0. Throws std::invalid_argument if numbers of bodies do not match, if a value is not finite,
  // or if bodies overlap by more than 1e-9 m.
  void start(const Start<n>& start);
  // Makes one step of h. Returns false if it fails; reason() has the reason. Then all later steps fail until start().
  bool step();

  double time() const { return time_; }
  const std::string& reason() const { return reason_; }
  const World<n>& world() const { return world_; }
  const Elements<n>& elements() const { return elements_; }

  // Nodes of all deformable bodies, one body after another.
  const Nodes<n>& nodes() const { return x_; }
  std::span<const rigid::Pose<n>> poses() const { return poses_; }
  rigid::Twist<n> twist(int body) const;  // returns the twist of a rigid body; fixed: zero

  Energies energies() const;
  rigid::Momenta<n> momenta() const;
  Vector<n> centre(int deformable) const;    // returns the centre of mass, m
  Vector<n> velocity(int deformable) const;  // returns the velocity of the centre of mass, m/s
  // Returns the pairs of bodies that overlap now, or (with `exact`) that impulses separated in the last step;
  // ascending. Indices: rigid bodies, then deformable bodies.
  std::vector<std::pair<int, int>> touching() const;
  double overlap() const;            // returns the maximum overlap, m; 0: none
  double smallest_jacobian() const;  // returns the minimum J of all elements
  // Returns an estimate of the longest stable step, s: the shortest time in which a pressure wave crosses an element;
  // with `penalty` at most 2 sqrt(mass/stiffness) of every node.
  double stable_step() const;

 private:
  bool act();    // finds contacts and computes forces at x_, poses_ -> force_, wrench_, energies; false: see reason_
  void place();  // sets frames_ from x_, poses_
  bool look();   // checks the contacts that act() found; false: an overlap is deeper than half an element
  void kick(double h);
  void drift(double h);
  bool exact_step();
  std::vector<ContactRow<n>> rows(double above) const;  // rows of contacts with an overlap above this, m
  bool collide();                                       // applies impulses at closed gaps; false: see reason_
  void turn_round();                                    // reverses the closing part of the momenta
  std::vector<rigid::Twist<n>> twists() const;          // returns the twists of rigid bodies; fixed: zero
  int whole(int body) const {                           // returns the index of the whole body to which an entry of
                                                        // bodies_ belongs
    const int kin = kin_[body];
    return kin < 0 ? body : rigid_ + kin;
  }
  static constexpr double near = 1e-8;  // m: gaps up to this count as closed for impulses
  // Returns M^-1 (inverse) or M times a vector of a rigid body.
  rigid::Twist<n> turned(int body, const rigid::Twist<n>& momentum, bool inverse) const;

  World<n> world_;
  Options options_;
  Elements<n> elements_;
  rigid::World<n> bodies_;          // rigid bodies and surface elements
  int rigid_ = 0;                   // number of rigid bodies
  std::vector<int> kin_, cell_of_;  // [bodies_] index of the deformable body, or -1; of the cell, or -1
  std::vector<int> first_node_;
  std::unique_ptr<rigid::Detection<n>> detection_;
  std::unique_ptr<rigid::Forces<n>> forces_;
  rigid::Potential<n> penalty_;

  double time_ = 0.0;
  long steps_ = 0;
  std::string reason_;
  Nodes<n> x_, v_, force_;
  std::vector<rigid::Pose<n>> poses_;
  std::vector<rigid::Twist<n>> momentum_, wrench_;  // [rigid bodies] [linear; angular about the centre], world axes
  struct PrincipalInertia {
    Matrix<n> axes = Matrix<n>::Identity();           // principal axes as columns, body coordinates
    rigid::Spin<n> moments = rigid::Spin<n>::Zero();  // principal moments, kg m^2
  };
  std::vector<PrincipalInertia> principal_;
  double elastic_ = 0.0, contact_ = 0.0, potential_ = 0.0;
  std::vector<geometry::Frame<n>> frames_;
  std::vector<rigid::ConfigurationGradient<n>> gradient_, contact_gradient_;
  std::vector<std::pair<int, int>> hit_;  // pairs of bodies that the last step's impulses separated
};

extern template class Simulation<2>;
extern template class Simulation<3>;

}  // namespace dodyn::elastic
