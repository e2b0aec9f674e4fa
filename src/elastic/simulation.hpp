// Deformable bodies and free rigid ones, in contact.
//
//   Simulation<3> simulation(world, options);
//   simulation.initial-state(places);                 // as often as you like
//   while (simulation.time() < 1.0 && simulation.step()) ...
//
// To the world of rigid bodies (rigid/world.hpp) an element at the surface of a deformable body is one more body, whose
// directors are free: its frame is {mean of its corners, F}, linear in its nodes, so gap and gradient with respect to
// position and directors (geometry/contact.hpp) are those with respect to the nodes. Gravity, charges and users' potentials
// act on both kinds of bodies by the same code, and so does contact:
//   penalty  a potential C/2 g^2 of each overlap (3.38);
//   exact    the step is divided where a gap closes, and impulses turn closing velocities round;
//   decomposition  where bodies overlap after a step, the part of the momenta that closes them turns round (3.4), at once for all
//            overlaps: v+ = v + (1 + e) (P v - v), P the projection in the metric of the masses on what closes none of them.
//
// Explicit Newmark, gamma = 1/2 and beta = 0 (Johnson 2013, section 3.3.4, which prints beta = 1/2): x += h v + h^2/2 a,
// v += h/2 (a + a+). Rigid bodies turn by rotations about their principal axes in turn, so that linear and angular momentum are
// kept to round-off and the energy's error stays bounded and of order h^2.
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

// Where the bodies are at the start: of rigid ones the pose and twist of the centre of mass, of deformable ones those of
// their coordinates' origin, in which they are at rest.
template <int n>
struct Start {
  std::vector<rigid::Pose<n>> rigid_poses, deformable_poses;
  std::vector<rigid::Twist<n>> rigid_twists, deformable_twists;
};

struct Options {
  double step = 1e-3;        // h, s
  double stiffness = 300.0;  // C of a pair of convex parts that overlap, N/m (N/m per metre of depth)
  rigid::Response response = rigid::Response::penalty;  // or exact, decomposition
  double restitution = 1.0;                             // of the impulses of both
  double tolerance = 1e-9;                              // overlap that `exact` leaves, m
  int most_impacts = 2000;                              // of a step
};

struct Energies {
  double kinetic = 0.0, elastic = 0.0, contact = 0.0, potential = 0.0;  // J; the last: gravity, charges, users'
  double total() const { return kinetic + elastic + contact + potential; }
};

template <int n>
class Simulation {
 public:
  // Throws std::invalid_argument with one line.
  Simulation(World<n> world, const Options& options);

  // Throws std::invalid_argument where the numbers do not fit or bodies overlap.
  void start(const Start<n>& start);
  // One step of h. False: it could not be done, reason() says why.
  bool step();

  double time() const { return time_; }
  const std::string& reason() const { return reason_; }
  const World<n>& world() const { return world_; }
  const Elements<n>& elements() const { return elements_; }

  // Nodes of all deformable bodies, one body after another; first_node()[b] is the first of body b, one more at the end.
  const Nodes<n>& nodes() const { return x_; }
  const Nodes<n>& velocities() const { return v_; }
  std::span<const int> first_node() const { return first_node_; }
  void set_nodes(const Nodes<n>& x, const Nodes<n>& v);  // continues from there, at the same time
  std::span<const rigid::Pose<n>> poses() const { return poses_; }
  rigid::Twist<n> twist(int body) const;  // of a rigid body

  Energies energies() const;
  rigid::Momenta<n> momenta() const;
  Vector<n> centre(int deformable) const;    // of mass, m
  Vector<n> velocity(int deformable) const;  // of the centre of mass, m/s
  // Pairs of bodies that overlap now, or that the last step's impulses parted; rigid ones first, then the deformable ones; ascending.
  std::vector<std::pair<int, int>> touching() const;
  double overlap() const;            // largest one, m; 0 where none
  double smallest_jacobian() const;  // of any element
  // The longest stable step, about: the shortest time in which a wave of pressure crosses an element, or a node swings on
  // one overlap.
  double stable_step() const;

 private:
  bool act();    // forces at x_, poses_ -> force_, wrench_, energies
  void place();  // frames_ of x_, poses_
  bool look();   // contacts there; false: an overlap is too deep
  void kick(double h);
  void drift(double h);
  bool exact_step();
  std::vector<ContactRow<n>> rows(double above) const;  // of contacts with an overlap above this, m
  bool collide();                                       // impulses where gaps are closed
  void turn_round();                                    // the part of the momenta that closes overlaps
  std::vector<rigid::Twist<n>> twists() const;          // of rigid bodies; fixed ones: 0
  int whole(int body) const {                           // the body that one of bodies_ is, or is an element of
    const int kin = kin_[static_cast<std::size_t>(body)];
    return kin < 0 ? body : rigid_ + kin;
  }
  static constexpr double near = 1e-8;  // m: gaps up to this are closed to impulses
  rigid::Twist<n> turned(int body, const rigid::Twist<n>& momentum, bool inverse) const;  // M^-1, or M, of a rigid body

  World<n> world_;
  Options options_;
  Elements<n> elements_;
  rigid::World<n> bodies_;          // the rigid ones and the elements at surfaces
  int rigid_ = 0;                   // how many are rigid
  std::vector<int> kin_, cell_of_;  // of all bodies: number of the deformable body, or -1; cell, or -1
  std::vector<int> first_node_;
  std::unique_ptr<rigid::Detection<n>> detection_;
  std::unique_ptr<rigid::Forces<n>> forces_;
  rigid::Potential<n> penalty_;

  double time_ = 0.0;
  long steps_ = 0;
  std::string reason_;
  Nodes<n> x_, v_, force_;
  std::vector<rigid::Pose<n>> poses_;
  std::vector<rigid::Twist<n>> momentum_, wrench_;  // of rigid bodies: [linear; angular about the centre], world axes
  struct Principal {
    Matrix<n> axes = Matrix<n>::Identity();           // columns, body coordinates
    rigid::Spin<n> moments = rigid::Spin<n>::Zero();  // kg m^2
  };
  std::vector<Principal> principal_;
  double elastic_ = 0.0, contact_ = 0.0, potential_ = 0.0;
  std::vector<geometry::Frame<n>> frames_;
  std::vector<rigid::ConfigurationGradient<n>> gradient_, contact_gradient_;
  std::vector<std::pair<int, int>> hit_;  // pairs of bodies that the last step's impulses parted
};

extern template class Simulation<2>;
extern template class Simulation<3>;

}  // namespace dodyn::elastic
