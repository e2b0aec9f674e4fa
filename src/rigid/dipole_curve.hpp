// A path into a dock along a field line of a dipole: Johnson 2013, section 4.5.5, (4.41).
//
// A virtual dipole lies on the axis of the receiving craft's ports. The direction of its field, without the decay, is
//
//     b_v = 3 d (c0 . d) - c0,   d: unit vector from the dipole,   |b_v| in [1, 2],
//
// and the velocity along the path is -eta b_v. Along a line sin^2(theta) = sin^2(theta_0) r/r_0, so it ends in the
// dipole. It ends in the dock only if the dipole is there, or if a straight last leg follows.
//
// All quantities are in the frame of the receiving craft, in SI units.
#pragma once

#include <string>

#include "rigid/director.hpp"

namespace dodyn::rigid {

struct DipoleCurveOptions {
  Vector<3> axis = Vector<3>::UnitX();  // c0, unit vector that points out of the ports
  Vector<3> dock = Vector<3>::Zero();   // position of the centre of a docked craft
  double behind = 0.0;                  // distance of the dipole from the dock along -c0, m; negative: in front of the
                                        // dock
  double speed = 0.05;                  // eta, m/s; the speed along the path is at most 2 eta
  // Length of the last leg, m. Over its first half the field lines are blended into a curve that approaches the axis as
  // exp(4 x/leg). 0: none.
  double last_leg = 0.0;
  int roll = 2;  // the director, 2 or 3, that (4.30) keeps nearest to the same director of the docked craft
};

// Desired pose and velocity of a craft. Spins are in the axes of `attitude`.
struct Desired {
  Vector<3> position = Vector<3>::Zero(), velocity = Vector<3>::Zero(), acceleration = Vector<3>::Zero();
  Matrix<3> attitude = Matrix<3>::Identity();  // R_d; its first director is the direction of motion
  Vector<3> spin = Vector<3>::Zero(), spin_rate = Vector<3>::Zero();
  bool docked = false;  // the end of the path is reached
};

class DipoleCurve {
 public:
  DipoleCurve() = default;
  // Throws std::invalid_argument: a speed that is not positive, a negative last leg, an axis that is not of unit
  // length, or a dipole too far in front of the dock.
  explicit DipoleCurve(const DipoleCurveOptions& options);

  const DipoleCurveOptions& options() const { return options_; }
  // Returns R~_0, the attitude of a docked craft, whose first director points into the dock. With (4.30), the first
  // column is -c0.
  const Matrix<3>& docked_attitude() const { return docked_; }

  // Returns why no path leads from this position to the dock, as one line; empty: there is a path.
  std::string refuses(const Vector<3>& position) const;
  // Starts the path at this time and position, which refuses() must accept.
  void start(double t, const Vector<3>& position);
  // Drops the path before this time; at() must not be called for earlier times.
  void pass(double t);
  // Returns the desired state at a time not before the last pass(), from the path's equation and its derivatives.
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
