// Potentials and forces of trees (tree.hpp), and conversion of trees to other number types.
#pragma once

#include <cmath>
#include <type_traits>

#include "systems/tree.hpp"

namespace dodyn::systems {

template <class P>
template <class T>
T Tree<P>::value(const Variable& variable, const std::vector<Frame<T>>& at, const T* q, const T* v, const T* u) const {
  using std::sqrt;
  const auto& point = [&](int i) -> const Place<P>& { return named_points[i].place; };
  const auto length = [](const Vector3<T>& d) { return sqrt(dot(d, d)); };
  switch (variable.kind) {
    case Variable::parameter:
      break;
    case Variable::coordinate:
      return q[variable.index];
    case Variable::rate:
      return v[variable.index];
    case Variable::position:
      return position(at, point(variable.index))[variable.axis];
    case Variable::velocity:
      return velocity(at, point(variable.index))[variable.axis];
    case Variable::speed:
      return length(velocity(at, point(variable.index)));
    case Variable::distance:
      return length(position(at, point(variable.index)) - position(at, point(variable.other)));
    case Variable::angle:
      return variable.other < 0 ? at[variable.index].angle : at[variable.index].angle - at[variable.other].angle;
    case Variable::control:
      return u ? u[variable.index] : T(0.0);
  }
  return T(0.0);
}

template <class P>
template <class T>
T Tree<P>::value(const Formula<P>& formula, const std::vector<Frame<T>>& at, const T* q, const T* v, const T* u) const {
  std::vector<T> values;
  for (const auto& argument : formula.arguments)
    values.push_back(argument.variable.kind == Variable::parameter ? lift<T>(argument.parameter)
                                                                   : value(argument.variable, at, q, v, u));
  return formula.expression.template evaluate<T>(values);
}

template <class P>
template <class T>
autodiff::Dual<T> Tree<P>::moving(const Formula<P>& formula, const T* q, const T* v) const {
  using Moving = autodiff::Dual<T>;
  std::vector<Moving> values;
  for (const auto& argument : formula.arguments) {
    const auto& [variable, parameter] = argument;
    values.push_back(variable.kind == Variable::parameter ? Moving(lift<T>(parameter), T(0.0))
                                                          : Moving(q[variable.index], v[variable.index]));
  }
  return formula.expression.template evaluate<Moving>(values);
}

template <class P>
template <class T>
T Tree<P>::potential_energy(const std::vector<Frame<T>>& at, const T* q) const {
  using std::sqrt;
  T V = T(0.0);
  for (const auto& spring : springs) {
    T x;
    if (spring.coordinate >= 0) {
      x = q[spring.coordinate];
    } else {
      const Vector3<T> d = position(at, spring.to) - position(at, spring.from);
      if constexpr (std::is_same_v<P, double>)
        if (spring.rest == 0.0) {  // has derivatives where the ends coincide; the length has none
          V += 0.5 * (lift<T>(spring.stiffness) * dot(d, d));
          continue;
        }
      x = sqrt(dot(d, d));
    }
    const T stretch = x - lift<T>(spring.rest);
    V += 0.5 * (lift<T>(spring.stiffness) * (stretch * stretch));
  }
  for (std::size_t i = 0; i < charges.size(); ++i)
    for (std::size_t j = 0; j < i; ++j) {
      if (carrier(charges[i].place.link) == carrier(charges[j].place.link)) continue;
      const Vector3<T> d = position(at, charges[i].place) - position(at, charges[j].place);
      V += (lift<T>(charge_constant) * lift<T>(charges[i].value) * lift<T>(charges[j].value)) / sqrt(dot(d, d));
    }
  for (const auto& potential : potentials)
    V += value(potential.energy, at, q, static_cast<const T*>(nullptr), static_cast<const T*>(nullptr));
  return V;
}

template <class P>
template <class T>
Applied<P, T> Tree<P>::applied(const std::vector<Frame<T>>& at, const T* q, const T* v, const T* u) const {
  Applied<P, T> all{std::vector<T>(n(), T(0.0)), {}};
  auto& Q = all.generalised;
  auto& pushes = all.pushes;
  const Vector3<T> none{T(0.0), T(0.0), T(0.0)};
  const auto scaled = [](const T& s, const Vector3<T>& a) { return Vector3<T>{s * a[0], s * a[1], s * a[2]}; };

  for (const auto& spring : springs) {
    if constexpr (std::is_same_v<P, double>)
      if (spring.damping == 0.0) continue;
    const T damping = lift<T>(spring.damping);
    if (spring.coordinate >= 0) {
      Q[spring.coordinate] += -(damping * v[spring.coordinate]);
      continue;
    }
    const Vector3<T> d = position(at, spring.to) - position(at, spring.from);
    const Vector3<T> rate = velocity(at, spring.to) - velocity(at, spring.from);
    const Vector3<T> force = scaled(damping * dot(d, rate) / dot(d, d), d);
    pushes.push_back({spring.from, force, none});
    pushes.push_back({spring.to, none - force, none});
  }
  for (const auto& drag : drags) {
    const Place<P> centre{drag.link, links[drag.link].centre};
    pushes.push_back({centre, none - scaled(lift<T>(drag.linear), velocity(at, centre)),
                      none - scaled(lift<T>(drag.angular), at[drag.link].spin)});
  }
  for (const auto& load : loads) {
    if (load.coordinate >= 0) {
      Q[load.coordinate] += value(load.components[0], at, q, v, u);
      continue;
    }
    Vector3<T> force = none;
    for (std::size_t i = 0; i < load.components.size(); ++i) force[i] = value(load.components[i], at, q, v, u);
    pushes.push_back({load.place, force, none});
  }
  for (std::size_t i = 0; u && i < actuators.size(); ++i) {
    const auto& actuator = actuators[i];
    if (actuator.coordinate >= 0) {
      Q[actuator.coordinate] += u[i];
    } else if (actuator.in_world) {
      const Vector3<T> torque = scaled(u[i], lift<T>(actuator.torque));
      const Matrix3<T>& R = at[actuator.place.link].rotation;
      Vector3<T> turned;
      for (int k = 0; k < 3; ++k) turned[k] = R[0][k] * torque[0] + R[1][k] * torque[1] + R[2][k] * torque[2];
      pushes.push_back({actuator.place, scaled(u[i], lift<T>(actuator.force)), turned});
    } else {
      pushes.push_back({actuator.place, at[actuator.place.link].rotation * scaled(u[i], lift<T>(actuator.force)),
                        scaled(u[i], lift<T>(actuator.torque))});
    }
  }
  return all;
}

template <class P>
template <class T>
std::vector<T> Tree<P>::forces(const T* q, const T* v, const T* u) const {
  auto [Q, pushes] = applied(frames(q, v), q, v, u);
  if (pushes.empty()) return std::move(Q);
  // Virtual power: velocities are linear in the rates, so forces are projected on the velocities of unit rates.
  std::vector<T> unit(n(), T(0.0));
  for (int i = 0; i < n(); ++i) {
    unit[i] = T(1.0);
    const auto moved = frames(q, unit.data());
    for (const auto& push : pushes) {
      if (push.place.link < 0) continue;
      Q[i] += dot(push.force, velocity(moved, push.place)) + dot(push.torque, moved[push.place.link].spin);
    }
    unit[i] = T(0.0);
  }
  return std::move(Q);
}

template <class P>
template <class Q, class F>
Tree<Q> Tree<P>::mapped(F f) const {
  const auto vector = [&](const std::array<P, 3>& r) { return std::array<Q, 3>{f(r[0]), f(r[1]), f(r[2])}; };
  const auto place = [&](const Place<P>& p) { return Place<Q>{p.link, vector(p.at)}; };
  const auto optional = [&](const std::optional<P>& x) { return x ? std::optional<Q>(f(*x)) : std::nullopt; };
  const auto formula = [&](const Formula<P>& x) {
    Formula<Q> y{x.expression, {}};
    for (const auto& argument : x.arguments) y.arguments.push_back({argument.variable, f(argument.parameter)});
    return y;
  };
  Tree<Q> t;
  t.name = name;
  t.dimension = dimension;
  t.gravity = f(gravity);
  t.has_lateral_gravity = has_lateral_gravity;
  t.lateral_gravity = vector(lateral_gravity);
  t.charge_constant = f(charge_constant);
  t.coordinate_names = coordinate_names;
  t.swing_link = swing_link;
  for (const auto& link : links) {
    Link<Q> l;
    l.name = link.name;
    l.parent = link.parent;
    l.at = vector(link.at);
    l.moves = link.moves;
    for (const auto& axis : link.axes) l.axes.push_back(vector(axis));
    if (link.follower) l.follower = typename Link<Q>::Follower{link.follower->move, formula(link.follower->place)};
    l.mass = f(link.mass);
    l.centre = vector(link.centre);
    l.inertia = vector(link.inertia);
    l.skew = link.skew;
    l.products = vector(link.products);
    l.end = vector(link.end);
    l.counterpart = link.counterpart;
    if (link.reference)
      l.reference = {vector((*link.reference)[0]), vector((*link.reference)[1]), vector((*link.reference)[2])};
    l.first = link.first;
    t.links.push_back(std::move(l));
  }
  for (const auto& a : actuators)
    t.actuators.push_back({a.name, a.coordinate, place(a.place), vector(a.force), vector(a.torque), optional(a.limit),
                           f(a.loss), a.in_world});
  for (const auto& s : springs)
    t.springs.push_back({s.name, s.coordinate, place(s.from), place(s.to), f(s.stiffness), f(s.rest), f(s.damping)});
  for (const auto& c : charges) t.charges.push_back({c.name, place(c.place), f(c.value)});
  for (const auto& d : drags) t.drags.push_back({d.name, d.link, f(d.linear), f(d.angular)});
  for (const auto& p : potentials) t.potentials.push_back({p.name, formula(p.energy)});
  for (const auto& d : rotors) t.rotors.push_back({d.name, formula(d.place), f(d.mass)});
  for (const auto& l : loads) {
    AppliedForce<Q> load{l.name, l.coordinate, place(l.place), {}};
    for (const auto& component : l.components) load.components.push_back(formula(component));
    t.loads.push_back(std::move(load));
  }
  for (const auto& r : ranges)
    t.ranges.push_back({r.name, r.coordinate, optional(r.from), optional(r.to), optional(r.speed)});
  for (const auto& p : named_points) t.named_points.push_back({p.name, place(p.place)});
  for (const auto& k : knees) t.knees.push_back({k.coordinate, k.flexion});
  return t;
}

}  // namespace dodyn::systems
