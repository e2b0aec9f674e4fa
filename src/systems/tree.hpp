// Articulated trees: links joined by revolute, prismatic, planar, spherical and spatial joints, in the plane or in
// space.
//
// Every link has a frame at its joint. At rest (q = 0) all frames are aligned with the world's. A joint is a list of
// moves with one coordinate each. Each move is a turn about, or a slide along, an axis of the frame after the previous
// moves: x, y, z or any other. So a revolute joint is one turn, a spherical joint three (Euler or Tait-Bryan angles, in
// any order). A point foot at any position is two or three slides; a planar or spatial root is those slides and turns.
//
// Axes: x points forward; in the plane (dimension 2) y points up and turns are about z, counter-clockwise; in space y
// points to the left and z up. Units: m, rad, kg, kg m^2.
#pragma once

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <vector>

#include "autodiff/differential.hpp"
#include "autodiff/dual.hpp"
#include "settings/expression.hpp"
#include "systems/frame.hpp"

namespace dodyn::systems {

// A quantity in a formula, other than parameters. index: of a coordinate, point, link or actuator.
struct Variable {
  enum Kind {
    parameter,
    coordinate,
    rate,      // of a coordinate
    position,  // of a point, component along the world's `axis`, m
    velocity,  // rate of a position, m/s
    speed,     // of a point, m/s
    distance,  // of two points, m
    angle,     // of a link in the plane, relative to rest or to the link `other` >= 0, rad
    control    // of an actuator
  } kind = parameter;
  int index = -1, other = -1, axis = 0;
};
// A number that depends on the state.
template <class P>
struct Formula {
  Expression expression;
  struct Argument {
    Variable variable;
    P parameter{};
  };
  std::vector<Argument> arguments;  // the expression's quantities, in their order
};

template <class P>
struct Link {
  std::string name;
  int parent = -1;                     // index of an earlier link; -1: the ground
  std::array<P, 3> at{};               // position of the joint in the parent's frame
  std::vector<Move> moves;             // moves of the joint, one coordinate each
  std::vector<std::array<P, 3>> axes;  // unit vectors of the moves along axes other than x, y, z
  // A joint without a coordinate: one move by a function of coordinates and parameters (m or rad). `moves` is then
  // empty.
  struct Follower {
    Move move{Move::turn, 2};
    Formula<P> place;
  };
  std::optional<Follower> follower;
  P mass{};                     // 0: massless
  std::array<P, 3> centre{};    // centre of mass, in the link's frame
  std::array<P, 3> inertia{};   // about the centre of mass, in the link's axes (plane: the third component)
  bool skew = false;            // whether it has products of inertia
  std::array<P, 3> products{};  // -int y z dm, -int x z dm, -int x y dm about the centre of mass
  std::array<P, 3> end{};       // far end: a foot, the next joint, the end of the drawn line
  int counterpart = -1;         // the link of the other leg, whose role this link takes when the legs are exchanged
  // Reference attitude, if the angles of a spherical joint are a chart about it. It is applied before the turns.
  std::optional<std::array<std::array<P, 3>, 3>> reference;
  int first = 0;  // index of its first coordinate
};

// A point on a link, in its frame; link -1: the ground.
template <class P>
struct Place {
  int link = -1;
  std::array<P, 3> at{};
};

// Potential stiffness/2 (x - rest)^2 and force -damping x' for a coordinate x, or for the distance x of two points.
template <class P>
struct Spring {
  std::string name;
  int coordinate = -1;  // -1: between two points
  Place<P> from, to;
  P stiffness{}, rest{}, damping{};
};
// Two charges on links that can move relative to each other have the potential charge_constant c1 c2/distance.
template <class P>
struct Charge {
  std::string name;
  Place<P> place;
  P value{};
};
// Force -linear v at the centre of mass, torque -angular omega.
template <class P>
struct Drag {
  std::string name;
  int link = 0;
  P linear{}, angular{};
};
// A user-defined energy (J), a function of positions.
template <class P>
struct Potential {
  std::string name;
  Formula<P> energy;
};
// A mass (or flywheel) that belongs to no link. Coordinates drive it: its position `place` (m, or rad) is an expression
// of coordinates and parameters. Its kinetic energy is mass/2 (d place/dt)^2; it has no weight.
template <class P>
struct Rotor {
  std::string name;
  Formula<P> place;
  P mass{};  // kg, or kg m2
};
// A user-defined force: on a coordinate (one component), or at a point, in world axes.
template <class P>
struct AppliedForce {
  std::string name;
  int coordinate = -1;
  Place<P> place;
  std::vector<Formula<P>> components;
};
// An actuator. Its control is a generalised force on a coordinate, or the magnitude of a force and a torque on a link.
// Their directions are fixed in the link or in the world.
template <class P>
struct Actuator {
  std::string name;
  int coordinate = -1;  // -1: at a point
  Place<P> place;
  std::array<P, 3> force{}, torque{};
  std::optional<P> limit;  // largest magnitude of the control
  P loss{};                // W per squared unit of its control
  bool in_world = false;   // whether force and torque have world axes
};
template <class P>
struct Range {
  std::string name;
  int coordinate = 0;
  std::optional<P> from, to;
  std::optional<P> speed;  // largest magnitude of its rate
};
template <class P>
struct Point {
  std::string name;
  Place<P> place;
};

// Forces without a potential: on coordinates, [n], and on links.
template <class P, class T>
struct Applied {
  std::vector<T> generalised;
  struct PointForce {
    Place<P> place;
    Vector3<T> force;   // world axes
    Vector3<T> torque;  // link axes
  };
  std::vector<PointForce> pushes;
};

// `P`: number type of the parameters: double, or a type with derivatives with respect to the design.
template <class P = double>
struct Tree {
  using Parameter = P;

  std::string name;
  int dimension = 2;
  P gravity = P(9.81);               // downwards, m/s^2
  bool has_lateral_gravity = false;  // lateral_gravity, m/s^2, acts in addition to gravity
  std::array<P, 3> lateral_gravity{};
  P charge_constant{};  // N m^2 per unit charge squared
  std::vector<Link<P>> links;
  std::vector<std::string> coordinate_names;
  std::vector<systems::Actuator<P>> actuators;
  std::vector<Spring<P>> springs;
  std::vector<Charge<P>> charges;
  std::vector<Drag<P>> drags;
  std::vector<Potential<P>> potentials;
  std::vector<Rotor<P>> rotors;
  std::vector<AppliedForce<P>> loads;
  std::vector<Range<P>> ranges;
  std::vector<Point<P>> named_points;

  // For walkers: the end of this link is the swing foot; the first link stands on the other foot, a point.
  int swing_link = -1;
  struct Knee {
    int coordinate, flexion;  // direction in which it bends: +1 or -1
  };
  std::vector<Knee> knees;

  int n() const { return static_cast<int>(coordinate_names.size()); }
  double up(int axis) const { return axis == dimension - 1 ? 1.0 : 0.0; }

  // Returns the moving link to which a link is fixed, directly or through others; -1: the ground.
  int carrier(int link) const {
    while (link >= 0 && links[link].moves.empty() && !links[link].follower) link = links[link].parent;
    return link;
  }

  P mass() const {  // total, kg
    P sum(0.0);
    for (const auto& link : links) sum += link.mass;
    return sum;
  }
  P weight() const {  // N, including lateral gravity on a slope
    if (!has_lateral_gravity) return mass() * gravity;
    using std::sqrt;
    P square = gravity * gravity;
    for (const P& part : lateral_gravity) square += part * part;
    return mass() * sqrt(square);
  }

  Tree<double> plain() const;

  // Returns the tree with every number replaced by f: P -> Q.
  template <class Q, class F>
  Tree<Q> mapped(F f) const;

  // Computes the frames of the links. q, v: [n]
  template <class T>
  std::vector<Frame<T>> frames(const T* q, const T* v) const;
  // Applies one move of a link's joint, by q with the rate v.
  template <class T>
  static void make(Frame<T>& f, const Link<P>& link, const Move& move, const T& q, const T& v) {
    if (move.is_oblique()) {
      const Vector3<T> axis = lift<T>(link.axes[move.axis - 3]);
      move.kind == Move::slide ? f.slide(axis, q, v) : f.turn(axis, q, v);
    } else {
      move.kind == Move::slide ? f.slide(move.axis, q, v) : f.turn(move.axis, q, v);
    }
  }
  template <class T>
  std::vector<Frame<T>> frames(const T* q) const {
    return frames(q, std::vector<T>(n(), T(0.0)).data());
  }

  // Returns L = T - V (J) of links, rotors, springs, charges and potentials.
  template <class T>
  T lagrangian(const T* q, const T* v) const {
    const auto at = frames(q, v);
    const T g = lift<T>(gravity);
    T L = T(0.0);
    for (std::size_t l = 0; l < links.size(); ++l) {
      const Vector3<T> centre = lift<T>(links[l].centre), inertia = lift<T>(links[l].inertia);
      const Vector3<T> velocity = at[l].velocity_of(centre);
      const T mass = lift<T>(links[l].mass);
      T twice = T(0.0);
      for (int i = 0; i < 3; ++i)
        twice += mass * (velocity[i] * velocity[i]) + inertia[i] * (at[l].spin[i] * at[l].spin[i]);
      if (links[l].skew) {
        const Vector3<T> products = lift<T>(links[l].products);
        for (int i = 0; i < 3; ++i) twice += (2.0 * products[i]) * (at[l].spin[(i + 1) % 3] * at[l].spin[(i + 2) % 3]);
      }
      const Vector3<T> place = at[l].point(centre);
      L += 0.5 * twice - (mass * g) * place[dimension - 1];
      if (has_lateral_gravity) L += mass * dot(lift<T>(lateral_gravity), place);
    }
    for (const auto& one : rotors) {
      const T pace = moving(one.place, q, v).tangent;
      L += 0.5 * (lift<T>(one.mass) * (pace * pace));
    }
    return L - potential_energy(at, q);
  }

  // Returns the generalised forces without potential (damping, drag, loads, actuators): [n]. u: [actuators]; null: zero
  template <class T>
  std::vector<T> forces(const T* q, const T* v, const T* u) const;

  // Returns the forces of forces() before the projection on coordinates.
  template <class T>
  Applied<P, T> applied(const std::vector<Frame<T>>& at, const T* q, const T* v, const T* u) const;
  // Returns the energy of springs, charges and users' potentials.
  template <class T>
  T potential_energy(const std::vector<Frame<T>>& at, const T* q) const;

  // Returns the value of a variable. u null: all controls are zero.
  template <class T>
  T value(const Variable& variable, const std::vector<Frame<T>>& at, const T* q, const T* v, const T* u) const;
  template <class T>
  T value(const Formula<P>& formula, const std::vector<Frame<T>>& at, const T* q, const T* v, const T* u) const;

  // Returns the value of a formula of coordinates and parameters, with its rate as the tangent.
  template <class T>
  autodiff::Dual<T> moving(const Formula<P>& formula, const T* q, const T* v) const;

  template <class T>
  static Vector3<T> position(const std::vector<Frame<T>>& at, const Place<P>& place) {
    return place.link < 0 ? lift<T>(place.at) : at[place.link].point(lift<T>(place.at));
  }
  template <class T>
  static Vector3<T> velocity(const std::vector<Frame<T>>& at, const Place<P>& place) {
    if (place.link < 0) return {T(0.0), T(0.0), T(0.0)};
    return at[place.link].velocity_of(lift<T>(place.at));
  }

  // Returns the positions of the foot and of every link's end: [(1 + links) dimension], m.
  template <class T>
  std::vector<T> points(const T* q) const {
    const auto at = frames(q);
    std::vector<T> p(at[0].origin.begin(), at[0].origin.begin() + dimension);
    for (std::size_t l = 0; l < links.size(); ++l) {
      const Vector3<T> end = at[l].point(lift<T>(links[l].end));
      p.insert(p.end(), end.begin(), end.begin() + dimension);
    }
    return p;
  }

  // Returns joint and far end of two links: [12], m.
  template <class T>
  std::vector<T> segments(const T* q, int one, int other) const {
    const auto at = frames(q);
    std::vector<T> p;
    for (const int l : {one, other})
      for (const Vector3<T>& x : {at[l].origin, at[l].point(lift<T>(links[l].end))})
        p.insert(p.end(), x.begin(), x.end());
    return p;
  }

  template <class T>
  std::vector<T> swing_foot(const T* q) const {
    const Vector3<T> foot = frames(q)[swing_link].point(lift<T>(links[swing_link].end));
    return {foot.begin(), foot.begin() + dimension};
  }

  // Returns the sign of a vector component under the reflection of a step: in space every other step is reflected in y.
  double mirror(int axis) const { return dimension == 3 && axis == 1 ? -1.0 : 1.0; }

  // Returns the posture with exchanged legs, in space reflected: the swing foot becomes the base, and every link takes
  // the coordinates of its counterpart. An involution.
  template <class T>
  std::vector<T> exchange_legs(const T* q) const {
    const auto at = frames(q);
    const auto foot = swing_foot(q);
    const auto mirrored = [&](int link) {
      Matrix3<T> R = at[link].rotation;
      for (int i = 0; i < 3; ++i)
        for (int j = 0; j < 3; ++j) R[i][j] = (mirror(i) * mirror(j)) * R[i][j];
      return R;
    };
    std::vector<T> exchanged;
    for (const auto& link : links) {
      std::vector<Move> turns;
      for (const Move& move : link.moves) {
        if (move.kind == Move::turn)
          turns.push_back(move);
        else if (link.parent < 0)
          exchanged.push_back(mirror(move.axis) * foot[move.axis]);
      }
      if (link.moves.empty()) continue;
      const int j = link.counterpart, k = link.parent < 0 ? -1 : links[link.parent].counterpart;
      if (k >= 0 && links[k].parent == j && link.moves.size() == 1) {
        // The counterpart's joint is traversed in the other direction, therefore the minus. The reflection changes the
        // sign of vectors normal to its plane, and of turns about axes in it.
        const auto& [kind, axis] = link.moves[0];
        const double sign = dimension == 2 ? -1.0 : kind == Move::turn ? mirror(axis) : -mirror(axis);
        exchanged.push_back(sign * q[links[k].first]);
      } else if (turns.empty()) {
        continue;  // slides of the root are unchanged
      } else if (dimension == 2) {
        exchanged.push_back(k < 0 ? at[j].angle : at[j].angle - at[k].angle);
      } else {
        Matrix3<T> R = mirrored(j);
        if (k >= 0) {
          const Matrix3<T> one = mirrored(k), other = R;
          for (int a = 0; a < 3; ++a)
            for (int b = 0; b < 3; ++b)
              R[a][b] = one[0][a] * other[0][b] + one[1][a] * other[1][b] + one[2][a] * other[2][b];
        }
        for (const T& angle : turn_angles(R, turns)) exchanged.push_back(angle);
      }
    }
    return exchanged;
  }

  // Returns the joint coordinates of double support with the swing foot `step` ahead (in space also to the left), for
  // cold starts. Smallest deviation from standing with almost straight legs.
  std::vector<double> touch_down(const std::vector<double>& step) const {
    using autodiff::Dual;
    const Tree<double> tree = plain();
    std::vector<double> q(n(), 0.0);
    for (const auto& knee : knees) q[knee.coordinate] = 0.05 * knee.flexion;
    const int d = dimension;
    for (int iteration = 0; iteration < 200; ++iteration) {
      // damped least squares by one component at a time (Kaczmarz); never singular
      for (int c = 0; c < d; ++c) {
        std::vector<double> slope(n(), 0.0);
        double square = 1e-3, miss = step[c];
        for (int i = d; i < n(); ++i) {
          std::vector<Dual<double>> moving(q.begin(), q.end());
          moving[i].tangent = 1.0;
          const Dual<double> x = tree.swing_foot(moving.data())[c];
          miss = step[c] - x.value;
          slope[i] = x.tangent;
          square += x.tangent * x.tangent;
        }
        for (int i = d; i < n(); ++i) q[i] += std::clamp(miss * slope[i] / square, -0.2, 0.2);
      }
    }
    return {q.begin() + d, q.end()};
  }
};

template <class P>
Tree<double> Tree<P>::plain() const {
  return mapped<double>([](const P& x) { return autodiff::value_of(x); });
}

template <class P>
template <class T>
std::vector<Frame<T>> Tree<P>::frames(const T* q, const T* v) const {
  std::vector<Frame<T>> frames;
  for (const auto& link : links) {
    Frame<T> f = link.parent < 0 ? Frame<T>::at_rest() : frames[link.parent];
    const Vector3<T> at = lift<T>(link.at);
    f.velocity = f.velocity_of(at);
    f.origin = f.point(at);
    bool turned = !link.reference;
    for (std::size_t i = 0; i < link.moves.size(); ++i) {
      const Move& move = link.moves[i];
      if (move.kind == Move::slide) {
        make(f, link, move, q[link.first + i], v[link.first + i]);
        continue;
      }
      if (!turned) {
        const auto& R = *link.reference;
        f.turn_by({lift<T>(R[0]), lift<T>(R[1]), lift<T>(R[2])});
        turned = true;
      }
      make(f, link, move, q[link.first + i], v[link.first + i]);
    }
    if (link.follower) {
      const auto place = moving(link.follower->place, q, v);
      make(f, link, link.follower->move, place.value, place.tangent);
    }
    frames.push_back(std::move(f));
  }
  return frames;
}

}  // namespace dodyn::systems

#include "systems/tree_forces.hpp"

namespace dodyn::systems {

#ifndef DOXYGEN  // it takes these for definitions
// Compiled in tree.cpp, for the number types that many files use.
extern template std::vector<Frame<double>> Tree<double>::frames<double>(const double*, const double*) const;
extern template std::vector<Frame<autodiff::Var>> Tree<autodiff::Var>::frames<autodiff::Var>(
    const autodiff::Var*, const autodiff::Var*) const;
extern template Tree<double> Tree<double>::plain() const;
extern template Tree<double> Tree<autodiff::Differential>::plain() const;
#endif

}  // namespace dodyn::systems
