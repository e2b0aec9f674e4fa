// The wedge of Pekarek 2010, section 3.5.1: two thin rods that meet at an apex, rocking from its left foot on to its
// right one. Coordinates q = (x, y, theta): position of the centre of mass (m), angle from resting on both feet (rad).
// It is the smallest example of a transition of constraints: stuck at the left foot before, at the right foot after the
// impact.
//
// The source prints the kinetic energy without its factor 1/2; `literal` keeps it so, which halves gravity's
// share and leaves the jump unchanged.
#pragma once

#include <array>
#include <cmath>

namespace dodyn::systems {

struct Wedge {
  static constexpr int n = 3;
  double mass = 2.0;                               // kg
  double side = 0.2;                               // L1, distance of the feet, m
  double inertia = 13.0 / 48.0 * 2.0 * 0.2 * 0.2;  // about the centre of mass, as printed, kg m^2
  double gravity = 9.81;                           // m/s^2
  bool literal = false;                            // without the factor 1/2

  template <class T>
  T lagrangian(const std::array<T, n>& q, const std::array<T, n>& v) const {
    const double half = literal ? 1.0 : 0.5;
    return (half * mass) * (v[0] * v[0] + v[1] * v[1]) + (half * inertia) * (v[2] * v[2]) - (mass * gravity) * q[1];
  }

  // Distance of the centre of mass from a foot, and its elevation angle seen from there.
  double arm() const { return std::sqrt(7.0 / 16.0) * side; }
  static double elevation() { return std::atan(std::sqrt(3.0) / 2.0); }

  // R: the left foot stands at the origin.
  struct LeftFoot {
    static constexpr int m = 2;
    double arm, elevation;
    template <class T>
    std::array<T, m> values(const std::array<T, n>& q) const {
      using std::cos, std::sin;
      return {q[0] - arm * cos(q[2] + elevation), q[1] - arm * sin(q[2] + elevation)};
    }
  };
  // S: the right foot stands at (side, 0).
  struct RightFoot {
    static constexpr int m = 2;
    double arm, elevation, side;
    template <class T>
    std::array<T, m> values(const std::array<T, n>& q) const {
      using std::cos, std::sin;
      return {q[0] + arm * cos(q[2] - elevation) - side, q[1] + arm * sin(q[2] - elevation)};
    }
  };
  LeftFoot left_foot() const { return {arm(), elevation()}; }
  RightFoot right_foot() const { return {arm(), elevation(), side}; }
};

}  // namespace dodyn::systems
