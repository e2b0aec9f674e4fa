// Articulated trees: links joined by revolute, prismatic, planar, spherical and spatial joints, in the plane or in
// space.
//
// Every link has a frame at its joint. At rest (q = 0) all frames are aligned with the world's. A joint is a list of
// moves, one coordinate each, made in turn in the frame that the ones before have led to: turns about and slides along
// an axis of that frame, x, y, z or any other. So a revolute joint is one turn, a spherical joint three (Euler or Tait-Bryan angles, in any
// order), a point foot that may stand anywhere two or three slides, a planar or spatial root those slides and turns.
//
// Axes: x points forward; in the plane (dimension 2) y points up and turns are about z, counter-clockwise; in space y
// points to the left and z up. Units: m, rad, kg, kg m^2.
#pragma once

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <vector>

#include "autodiff/dual.hpp"
#include "settings/expression.hpp"
#include "systems/frame.hpp"

namespace dodyn::systems {

// What a formula may speak of, next to parameters. index: of a coordinate, point, link or actuator.
struct Variable {
  enum Kind {
    parameter,
    coordinate,
    rate,      // of a coordinate
    position,  // of a point along the world's `axis`, m
    velocity,  // its rate, m/s
    speed,     // of a point, m/s
    distance,  // of two points, m
    angle,     // of a link in the plane, from rest or, if other >= 0, from another link, rad
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
  std::vector<Argument> arguments;  // what the expression's quantities are, in their order
};

template <class P>
struct Link {
  std::string name;
  int parent = -1;                     // index of an earlier link; -1: the ground
  std::array<P, 3> at{};               // place of the joint in the parent's frame
  std::vector<Move> moves;             // the joint, a coordinate each
  std::vector<std::array<P, 3>> axes;  // unit vectors, of the moves that are along none of x, y, z
  // A joint without a coordinate: one move, by a function of coordinates and parameters (m or rad). `moves` is empty then.
  struct Follower {
    Move move{Move::turn, 2};
    Formula<P> place;
  };
  std::optional<Follower> follower;
  P mass{};                     // 0 for a massless one
  std::array<P, 3> centre{};    // of mass, in the link's frame
  std::array<P, 3> inertia{};   // about the centre of mass and the axes of the link's frame (plane: the third)
  bool skew = false;            // whether it has products of inertia:
  std::array<P, 3> products{};  // -int y z dm, -int x z dm, -int x y dm about the centre of mass
  std::array<P, 3> end{};       // far end: a foot, a next joint, what is drawn
  int counterpart = -1;         // the link that takes this one's place when the legs exchange their roles
  // Of a joint of three turns, where the angles are a chart about an attitude: that rotation, made ahead of them.
  std::optional<std::array<std::array<P, 3>, 3>> reference;
  int first = 0;  // its first coordinate
};

// A place on a link, in its frame; link -1: the ground.
template <class P>
struct Place {
  int link = -1;
  std::array<P, 3> at{};
};

// Potential stiffness/2 (x - rest)^2 and force -damping x' of a coordinate x, or of the distance x of two places.
template <class P>
struct Spring {
  std::string name;
  int coordinate = -1;  // -1: from place to place
  Place<P> from, to;
  P stiffness{}, rest{}, damping{};
};
// Two charges on links that may move against each other have the potential charge_constant c1 c2/distance.
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
// A user's energy (J), of positions alone.
template <class P>
struct Potential {
  std::string name;
  Formula<P> energy;
};
// A mass (or a flywheel) beside the links that coordinates drive: at `place` (m, or rad), an expression of them, so that it has the
// kinetic energy mass/2 (d place/dt)^2. It weighs nothing.
template <class P>
struct Rotor {
  std::string name;
  Formula<P> place;
  P mass{};  // kg, or kg m2
};
// A user's force: on a coordinate (one component), or at a place, along the world's axes.
template <class P>
struct AppliedForce {
  std::string name;
  int coordinate = -1;
  Place<P> place;
  std::vector<Formula<P>> components;
};
// Its control is a generalised force on a coordinate, or the size of a force and a torque on a link, whose directions
// are fixed in the link, or in the world.
template <class P>
struct Actuator {
  std::string name;
  int coordinate = -1;  // -1: at a place
  Place<P> place;
  std::array<P, 3> force{}, torque{};
  std::optional<P> limit;  // of its size
  P efficiency = P(1.0);   // mechanical power out per power in
  P loss{};                // W per squared unit of its control
  bool in_world = false;   // whether force and torque are along the world's axes
};
template <class P>
struct Range {
  std::string name;
  int coordinate = 0;
  std::optional<P> from, to;
  std::optional<P> speed;  // the largest size of its rate
};
template <class P>
struct Point {
  std::string name;
  Place<P> place;
};

// Forces that have no potential: on coordinates, [n], and on links.
template <class P, class T>
struct Applied {
  std::vector<T> generalised;
  struct PointForce {
    Place<P> place;
    Vector3<T> force;   // in the world's axes
    Vector3<T> torque;  // in the link's
  };
  std::vector<PointForce> pushes;
};

// `P` is the scalar of the parameters: double, or a type that carries derivatives with respect to the design.
template <class P = double>
struct Tree {
  using Parameter = P;

  std::string name;
  int dimension = 2;
  P gravity = P(9.81);  // m/s^2, downwards
  bool tilted = false;  // whether there is a uniform acceleration across it, too:
  std::array<P, 3> across{};
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

  // A walker, besides: the first link stands on a point foot, and this link's end is the other foot.
  int swing_link = -1;
  struct Knee {
    int coordinate, flexion;  // which way it bends: +1 or -1
  };
  std::vector<Knee> knees;

  int n() const { return static_cast<int>(coordinate_names.size()); }
  double up(int axis) const { return axis == dimension - 1 ? 1.0 : 0.0; }

  // The link that a link is fixed to, through others; -1: the ground.
  int carrier(int link) const {
    while (link >= 0 && links[link].moves.empty() && !links[link].follower) link = links[link].parent;
    return link;
  }

  P mass() const {  // kg
    P sum(0.0);
    for (const auto& link : links) sum += link.mass;
    return sum;
  }
  P weight() const {  // N, on a slope (gravity across it) too
    if (!tilted) return mass() * gravity;
    using std::sqrt;
    P square = gravity * gravity;
    for (const P& part : across) square += part * part;
    return mass() * sqrt(square);
  }

  Tree<double> plain() const {
    return mapped<double>([](const P& x) { return autodiff::value_of(x); });
  }

  // The same tree with every number replaced, f: P -> Q.
  template <class Q, class F>
  Tree<Q> mapped(F f) const;

  // Frames of the links. q, v: [n]
  template <class T>
  std::vector<Frame<T>> frames(const T* q, const T* v) const {
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
  // Makes one move of a link's joint, by q with the rate v.
  template <class T>
  static void make(Frame<T>& f, const Link<P>& link, const Move& move, const T& q, const T& v) {
    if (move.is_oblique()) {
      const Vector3<T> axis = lift<T>(link.axes[static_cast<std::size_t>(move.axis - 3)]);
      move.kind == Move::slide ? f.slide(axis, q, v) : f.turn(axis, q, v);
    } else {
      move.kind == Move::slide ? f.slide(move.axis, q, v) : f.turn(move.axis, q, v);
    }
  }
  template <class T>
  std::vector<Frame<T>> frames(const T* q) const {
    return frames(q, std::vector<T>(n(), T(0.0)).data());
  }

  // L = T - V (J), summed over the links, what they drive, springs, charges and potentials.
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
      if (tilted) L += mass * dot(lift<T>(across), place);
    }
    for (const auto& one : rotors) {
      const T pace = moving(one.place, q, v).tangent;
      L += 0.5 * (lift<T>(one.mass) * (pace * pace));
    }
    return L - potential_energy(at, q);
  }

  // Generalised forces that have no potential, of damping, drag, loads and actuators: [n]. u: [actuators], or null: zero
  template <class T>
  std::vector<T> forces(const T* q, const T* v, const T* u) const;

  // The same before it is projected on the coordinates.
  template <class T>
  Applied<P, T> applied(const std::vector<Frame<T>>& at, const T* q, const T* v, const T* u) const;
  // Energy of springs, charges and users' potentials.
  template <class T>
  T potential_energy(const std::vector<Frame<T>>& at, const T* q) const;

  // What a variable is worth. Without u all controls are zero.
  template <class T>
  T value(const Variable& variable, const std::vector<Frame<T>>& at, const T* q, const T* v, const T* u) const;
  template <class T>
  T value(const Formula<P>& formula, const std::vector<Frame<T>>& at, const T* q, const T* v, const T* u) const;

  // A formula of coordinates and parameters, and its rate as the tangent.
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

  // Position of the foot, then of every link's end: [(1 + links) dimension], m.
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

  // Joint and far end of two links: [12], m.
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

  // Sign of a vector's component in the mirror that a step is seen through: in space each step alternates sides.
  double mirror(int axis) const { return dimension == 3 && axis == 1 ? -1.0 : 1.0; }

  // The same posture, in space its mirror image, with the legs' roles exchanged: the swing foot becomes the base, every
  // link takes its partner's place. An involution.
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
        // The partner's joint, looked at from its other side (hence the minus), in the mirror, which turns the
        // direction of what lies across it, and the sense of turns about what lies in it.
        const auto& [kind, axis] = link.moves[0];
        const double sign = dimension == 2 ? -1.0 : kind == Move::turn ? mirror(axis) : -mirror(axis);
        exchanged.push_back(sign * q[links[k].first]);
      } else if (turns.empty()) {
        continue;  // slides of the root stay as they are
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

  // Double support with the swing foot `step` ahead (and, in space, to the left): where cold starts begin. Joint
  // coordinates only; the least motion from standing on all but straight legs.
  std::vector<double> touch_down(const std::vector<double>& step) const {
    using autodiff::Dual;
    const Tree<double> tree = plain();
    std::vector<double> q(n(), 0.0);
    for (const auto& knee : knees) q[knee.coordinate] = 0.05 * knee.flexion;
    const int d = dimension;
    for (int iteration = 0; iteration < 200; ++iteration) {
      // damped least squares by the conjugate direction of each component in turn (Kaczmarz): tiny, and never singular
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

}  // namespace dodyn::systems

#include "systems/tree_forces.hpp"
