// The way into a dock along a line of a dipole's field: Johnson 2013, section 4.5.5, (4.41).
//
// A virtual dipole on the axis of the receiving craft's ports; its field's direction, without the decay with distance, is
//
//     b_v = 3 d (c0 . d) - c0,   d: unit vector from the dipole,   |b_v| in [1, 2],
//
// and the way is followed with the velocity -eta b_v. Along a line sin^2(theta) = sin^2(theta_0) r/r_0, so it runs into the
// dipole, and into the dock only where the dipole sits there, or where a straight last leg leads on.
//
// Everything in the frame of the receiving craft, SI.
#pragma once

#include <string>

#include "rigid/director.hpp"

namespace dodyn::rigid {

struct DipoleCurveOptions {
  Vector<3> axis = Vector<3>::UnitX();  // c0, unit: out of the ports
  Vector<3> dock = Vector<3>::Zero();   // where the centre of a docked craft is
  double behind = 0.0;                  // of the dipole, seen from the dock along -c0; negative: ahead of the dock
  double speed = 0.05;                  // eta, m/s; at most 2 eta along the way
  // Length of the last leg, m: over its first half the lines give way to one that nears the axis as exp(4 x/leg); 0: none
  double last_leg = 0.0;
  int roll = 2;  // director, 2 or 3, of the docked craft that (4.30) keeps as near to its own as it can
};

// Where a craft should be, and how it should move. Spins in the axes of `attitude`.
struct Desired {
  Vector<3> position = Vector<3>::Zero(), velocity = Vector<3>::Zero(), acceleration = Vector<3>::Zero();
  Matrix<3> attitude = Matrix<3>::Identity();  // R_d; its first director is the direction of motion
  Vector<3> spin = Vector<3>::Zero(), spin_rate = Vector<3>::Zero();
  bool docked = false;  // the way has come to its end
};

// b_v of (4.41) for a dipole at the origin.
Vector<3> dipole_direction(const Vector<3>& axis, const Vector<3>& from_dipole);

// Time in which a line leads from (r0, theta0) to the distance r1 < r0 of the dipole, s; theta0 below pi.
double dipole_line_time(double r0, double theta0, double r1, double speed);

class DipoleCurve {
 public:
  DipoleCurve() = default;
  explicit DipoleCurve(const DipoleCurveOptions& options);

  const DipoleCurveOptions& options() const { return options_; }
  // R~_0: attitude of a docked craft, whose first director points into the dock. With (4.30), the first column is -c0.
  const Matrix<3>& docked_attitude() const { return docked_; }

  // Empty, or one line that says why no way leads from there to the dock.
  std::string refuses(const Vector<3>& position) const;
  // The way starts there and then. Position: one that is not refused.
  void start(double t, const Vector<3>& position);
  // Forgets the way before this time; at() is not called for it again.
  void pass(double t);
  // At a time not before the last pass(), from the equation of the way and its derivatives.
  Desired at(double t) const;
  bool docked() const { return docked_since_ <= time_; }

 private:
  struct Knot {
    double time;
    Vector<3> position;
    double docked_since;
  };
  Vector<3> direction(const Vector<3>& position) const;
  Knot follow(double t) const;

  DipoleCurveOptions options_;
  Matrix<3> docked_ = Matrix<3>::Identity();
  double time_ = 0.0, docked_since_ = 1e300;
  Vector<3> position_ = Vector<3>::Zero();
};

}  // namespace dodyn::rigid
