// A world of rigid bodies that may touch: made from a model, advanced by a simulation (simulation.hpp).
//
// Worlds are planar (n = 2) or in space (n = 3). Lengths in m, masses in kg (kg per metre of depth in the plane),
// forces in N.
#pragma once

#include <Eigen/Core>
#include <Eigen/Geometry>
#include <algorithm>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "geometry/frame.hpp"
#include "geometry/polytope.hpp"

namespace dodyn::rigid {

using geometry::Matrix;
using geometry::Vector;

// Angular velocity or angular momentum: a scalar in the plane, a vector in space.
template <int n>
using Spin = Eigen::Matrix<double, (n * (n - 1)) / 2, 1>;
// [velocity of the centre of mass (m/s); angular velocity (rad/s)] in world axes. Also its dual, [force; torque about
// the centre of mass], and [momentum; angular momentum about the centre of mass].
template <int n>
using Twist = Eigen::Matrix<double, n + (n * (n - 1)) / 2, 1>;

// Pose of a body: position of its centre of mass and attitude. In the plane x, y, theta.
template <int n>
struct Pose;
template <>
struct Pose<2> {
  Vector<2> position = Vector<2>::Zero();
  double angle = 0.0;  // rad, not reduced to one turn
  geometry::Frame<2> frame() const {
    if (angle == 0.0) return {position, Matrix<2>::Identity()};  // fast path for floors, walls and fixed bodies
    const double c = std::cos(angle), s = std::sin(angle);
    return {position, (Matrix<2>() << c, -s, s, c).finished()};
  }
};
template <>
struct Pose<3> {
  Vector<3> position = Vector<3>::Zero();
  Matrix<3> directors = Matrix<3>::Identity();  // a rotation
  geometry::Frame<3> frame() const { return {position, directors}; }
};

// Surface coefficients. Two surfaces in contact use the geometric mean of each.
struct Surface {
  double restitution = 1.0;  // e: 1 elastic, 0 plastic
  double friction = 0.0;     // mu of Coulomb's law
};

template <int n>
struct Body {
  std::string name;
  std::vector<geometry::Polytope<n>> parts;  // convex parts in body coordinates: origin at the centre of mass
  double mass = 0.0;
  Matrix<n> euler_tensor = Matrix<n>::Zero();  // int rho v v^T dV, kg m^2; its trace is the planar inertia
  bool fixed = false;                          // immovable (walls, floors); mass and tensor are ignored
  Surface surface;
  double linear_drag = 0.0, angular_drag = 0.0;  // force -c v (N s/m), torque -c omega (N m s)
  // Outward unit normals of parts that are floors or walls, body coordinates; empty, or one entry per part. Contacts
  // with such a part use this normal.
  std::vector<std::optional<Vector<n>>> outward;

  bool has_outward() const {
    return std::ranges::any_of(outward, [](const auto& normal) { return normal.has_value(); });
  }
  // Returns the outward normal of a part, null if it has none.
  const Vector<n>* outward_of(int part) const {
    const std::size_t at = part;
    return at < outward.size() && outward[at] ? &*outward[at] : nullptr;
  }
};

// A body made of convex parts. `centre` is the centre of mass in the coordinates of the parts: pose.frame()(v - centre)
// is the world position of the parts' point v.
template <int n>
struct Solid {
  Body<n> body;
  Vector<n> centre;
};
// Returns convex parts of one density (kg/m^3; kg/m^2 in the plane) as one body. Throws std::invalid_argument: no
// parts, disconnected parts, or a density that is not positive.
template <int n>
Solid<n> solid(const std::string& name, const std::vector<geometry::Polytope<n>>& parts, double density);
// Returns an immovable body, with the coordinates of the parts as body coordinates. `outward`: the normal of each part.
// Throws std::invalid_argument if there are no parts.
template <int n>
Body<n> fixed_body(const std::string& name, const std::vector<geometry::Polytope<n>>& parts,
                   std::optional<Vector<n>> outward = std::nullopt);

// Returns the radius of the ball about the centre of mass that contains the body, m.
template <int n>
double radius(const Body<n>& body) {
  double largest = 0.0;
  for (const auto& part : body.parts)
    for (const auto& x : part.corners()) largest = std::max(largest, x.norm());
  return largest;
}
// Returns a bound on the displacement of any point within this radius of the origin between two frames.
template <int n>
double motion_bound(double radius, const geometry::Frame<n>& from, const geometry::Frame<n>& to) {
  const double turn = (to.directors - from.directors).norm();  // Frobenius norm, an upper bound of the spectral norm
  return (to.position - from.position).norm() + radius * turn;
}

// A joint attaches a point of the child body to a point of its parent (an earlier body, which may be fixed). A
// prismatic joint attaches the child's point to a line through the parent's point along an axis of the parent; the
// child slides without rotation relative to the parent. A body has at most one parent, so bodies form chains and trees.
// In the plane `spherical` and `revolute` are the pin joint.
template <int n>
struct Joint {
  enum class Kind { spherical, revolute, prismatic };
  Kind kind = Kind::spherical;
  int parent = -1, child = -1;
  Vector<n> parent_point = Vector<n>::Zero(), child_point = Vector<n>::Zero();  // rho, body coordinates (3.25)
  Vector<n> axis =
      Vector<n>::UnitX();  // n of (3.29), parent's coordinates; read for `revolute` in space and `prismatic`
};

// A point charge fixed in a body. Two charges on different bodies have the potential K c1 c2/|d| (3.51).
template <int n>
struct Charge {
  int body = -1;
  Vector<n> at = Vector<n>::Zero();  // body coordinates
  double value = 1.0;
};

// dV/dq per body: column 0 is dV/d position, column I is dV/d d_I.
template <int n>
using ConfigurationGradient = Eigen::Matrix<double, n, n + 1>;
template <int n>
using Frames = std::span<const geometry::Frame<n>>;

// A user's potential: returns V (J) and adds dV/dq to `gradient`. The directors need not be a rotation (at a midpoint).
template <int n>
using Potential = std::function<double(Frames<n>, std::span<ConfigurationGradient<n>> gradient)>;
// A user's force without a potential: adds to the wrench of each body, given time (s), frames and twists.
template <int n>
using Force = std::function<void(double t, Frames<n>, std::span<const Twist<n>>, std::span<Twist<n>> wrench)>;

// A condition gap >= 0 on the configuration that is not a contact of shapes, such as a stop of a joint or a rope. Its
// impulses act along the gradient of the gap, and friction acts along the gradient of the position on the surface.
template <int n>
struct OneSidedConstraint {
  std::string name;
  std::vector<int> bodies;  // bodies on which it depends
  double restitution = 1.0, friction = 0.0;
  // Returns the gap, m or rad. Sets the slopes of the gap and of the position on the surface for each entry of
  // `bodies`: the product of a slope with the twist is the rate. Two empty spans: the gap alone.
  using Function =
      std::function<double(std::span<const Pose<n>>, std::span<Twist<n>> gap_slope, std::span<Twist<n>> slip_slope)>;
  Function gap;
};

template <int n>
struct World {
  std::vector<Body<n>> bodies;
  std::vector<Joint<n>> joints;
  Vector<n> gravity = Vector<n>::Zero();  // acceleration, m/s^2
  double charge_constant = 0.0;           // K, N m^2 per unit charge squared
  std::vector<Charge<n>> charges;
  std::vector<Potential<n>> potentials;
  std::vector<Force<n>> forces;
  std::vector<std::pair<int, int>> no_contact;  // pairs of bodies that may overlap (joined bodies collide unless listed
                                                // here)
  std::vector<OneSidedConstraint<n>> one_sided;
};

}  // namespace dodyn::rigid
