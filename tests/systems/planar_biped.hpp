// The planar four-link biped of Pekarek 2010, section 4.2.2, by hand: two legs of a shank and a thigh each, joined at
// the hip, with point feet. Reference for models/planar-biped.model and all that is derived from it.
//
// Coordinates q = (x, y, theta1, theta2, theta3, theta4): position of the stance foot (m), then the angle of the stance
// shank from the vertical and the relative angles at the stance knee, the hip and the swing knee (rad,
// counter-clockwise). Links are numbered from the stance foot to the swing foot: stance shank, stance thigh, swing
// thigh, swing shank. The biped walks towards +x; y points up. theta3 = 0: the legs coincide; theta2 = theta4 = 0:
// straight legs.
//
// The source's level function and set S give the swing leg its two lengths in the wrong order (link 3 the
// shank's length); with unequal lengths no gait could then repeat itself. Here link 3 is the thigh, link 4 the shank.
// The source also prints the kinetic energy without its factor 1/2; here it has it.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>

#include "autodiff/dual.hpp"

namespace dodyn::systems {

// `P` is the scalar of the parameters: double, or autodiff::Dual<double> to differentiate with respect to the design.
template <class P = double>
struct PlanarBiped {
  using Parameter = P;
  static constexpr int base = 2;    // coordinates of the point foot
  static constexpr int joints = 4;  // the others
  static constexpr int n = base + joints;
  static constexpr int inputs = 4;  // torques at stance contact, stance knee, hip, swing knee
  static constexpr std::array<int, inputs> input_joints = {0, 1, 2, 3};  // the joint each torque acts on
  static constexpr int links = 4;

  static constexpr std::array<const char*, n> coordinate_names = {"x",           "y",   "stance_shank",
                                                                  "stance_knee", "hip", "swing_knee"};
  static constexpr std::array<const char*, inputs> input_names = {"stance_contact", "stance_knee", "hip", "swing_knee"};
  // Joints that a knee stop would limit, with the sign of flexion: the knee lies in front of the line from hip to foot,
  // theta2 >= 0 in stance and theta4 <= 0 in swing.
  struct Knee {
    int joint, flexion;
  };
  static constexpr std::array<Knee, 2> knees = {{{1, +1}, {3, -1}}};

  std::array<P, links> length, mass, inertia;  // m, kg, kg m^2 about the centre of mass, which is mid-link
  P gravity = P(9.81);                         // m/s^2

  // A biped from its shank: `masses` per link from the stance foot up and down again.
  static PlanarBiped with_masses(P shank, P leg, const std::array<P, links>& masses) {
    PlanarBiped b;
    const P thigh = leg - shank;
    b.length = {shank, thigh, thigh, shank};
    b.mass = masses;
    for (int i = 0; i < links; ++i) b.inertia[i] = b.mass[i] * b.length[i] * b.length[i] / 24.0;
    return b;
  }
  // Legs of uniform linear density (kg/m): a link's mass follows its length.
  static PlanarBiped with_density(P shank, P leg, P density) {
    const P thigh = leg - shank;
    return with_masses(shank, leg, {density * shank, density * thigh, density * thigh, density * shank});
  }

  PlanarBiped<double> plain() const {
    PlanarBiped<double> b;
    for (int i = 0; i < links; ++i) {
      b.length[i] = autodiff::value_of(length[i]);
      b.mass[i] = autodiff::value_of(mass[i]);
      b.inertia[i] = autodiff::value_of(inertia[i]);
    }
    b.gravity = autodiff::value_of(gravity);
    return b;
  }

  P weight() const { return (mass[0] + mass[1] + mass[2] + mass[3]) * gravity; }  // N

  // L = T - V (J).
  template <class T>
  T lagrangian(const std::array<T, n>& q, const std::array<T, n>& v) const {
    using std::cos, std::sin;
    T y = q[1];              // height of the lower, then the upper, end of the link
    T vx = v[0], vy = v[1];  // velocity of that end
    T angle = T(0.0), rate = T(0.0);
    T L = T(0.0);
    for (int i = 0; i < links; ++i) {
      angle += q[base + i];
      rate += v[base + i];
      const double up = i < 2 ? 1.0 : -1.0;  // the stance leg is climbed, the swing leg descended
      const T s = up * sin(angle), c = up * cos(angle);
      // from one end to the other the link runs along length * (-s, c), and turns with length * rate * (-c, -s)
      const T turn = length[i] * rate;
      const T dvx = turn * c, dvy = turn * s;
      const T cx = vx - 0.5 * dvx, cy = vy - 0.5 * dvy;
      const T rise = length[i] * c;
      L += (0.5 * mass[i]) * (cx * cx + cy * cy) + (0.5 * inertia[i]) * (rate * rate) -
           (mass[i] * gravity) * (y + 0.5 * rise);
      vx -= dvx;
      vy -= dvy;
      y += rise;
    }
    return L;
  }

  // Its derivative with respect to v, in one sweep along the links and back.
  template <class T>
  std::array<T, n> momentum(const std::array<T, n>& q, const std::array<T, n>& v) const {
    using std::cos, std::sin;
    std::array<T, links> s, c, px, py;  // px, py: momentum of a link
    std::array<T, n> p;
    T vx = v[0], vy = v[1], angle = T(0.0), rate = T(0.0);
    for (int i = 0; i < links; ++i) {
      angle += q[base + i];
      rate += v[base + i];
      const double up = i < 2 ? 1.0 : -1.0;
      s[i] = up * sin(angle);
      c[i] = up * cos(angle);
      const T turn = length[i] * rate, dvx = turn * c[i], dvy = turn * s[i];
      px[i] = mass[i] * (vx - 0.5 * dvx);
      py[i] = mass[i] * (vy - 0.5 * dvy);
      p[base + i] = inertia[i] * rate;
      vx -= dvx;
      vy -= dvy;
    }
    T above_x = T(0.0), above_y = T(0.0), turning = T(0.0);  // momentum of the links above; of turning, from here on
    for (int i = links - 1; i >= 0; --i) {
      turning += p[base + i] - length[i] * (c[i] * (above_x + 0.5 * px[i]) + s[i] * (above_y + 0.5 * py[i]));
      p[base + i] = turning;
      above_x += px[i];
      above_y += py[i];
    }
    p[0] = above_x;
    p[1] = above_y;
    return p;
  }

  // Ends of the links from the stance foot to the swing foot: x0, y0, x1, y1, ... (m).
  template <class T>
  std::array<T, 2 * (links + 1)> points(const std::array<T, n>& q) const {
    using std::cos, std::sin;
    std::array<T, 2 * (links + 1)> p;
    p[0] = q[0];
    p[1] = q[1];
    T angle = T(0.0);
    for (int i = 0; i < links; ++i) {
      angle += q[base + i];
      const double up = i < 2 ? 1.0 : -1.0;
      p[2 * i + 2] = p[2 * i] - (up * length[i]) * sin(angle);
      p[2 * i + 3] = p[2 * i + 1] + (up * length[i]) * cos(angle);
    }
    return p;
  }

  template <class T>
  std::array<T, base> swing_foot(const std::array<T, n>& q) const {
    const auto p = points(q);
    return {p[2 * links], p[2 * links + 1]};
  }

  // The same posture with the legs' roles exchanged: the swing foot becomes the base, link i becomes link 5 - i. An
  // involution.
  template <class T>
  std::array<T, n> exchange_legs(const std::array<T, n>& q) const {
    const auto foot = swing_foot(q);
    return {foot[0], foot[1], q[2] + q[3] + q[4] + q[5], -q[5], -q[4], -q[3]};
  }
};

}  // namespace dodyn::systems
