// Feedback that flies one body along a curve: Johnson 2013, section 4.5.4, (4.40). The plane is the case without the
// directions that it does not have.
#pragma once

#include <deque>
#include <limits>
#include <optional>
#include <random>

#include "rigid/attitude.hpp"
#include "rigid/dipole_curve.hpp"
#include "rigid/stateful_force.hpp"

namespace dodyn::rigid {

// Where a body is and how it moves. The angular velocity is in the body's axes, as the source has it here; a Twist has
// that of the world.
struct BodyState {
  Vector<3> position = Vector<3>::Zero(), velocity = Vector<3>::Zero();
  Matrix<3> attitude = Matrix<3>::Identity();
  Vector<3> spin = Vector<3>::Zero();
};

struct ControlLaw {
  Retraction retraction = Retraction::cayley;
  double position_gain = 1.2;  // k_phi, N/m. The gains are those of section 4.5.6
  double velocity_gain = 9.6;  // k_v, N s/m
  double attitude_gain = 1.0;  // k_R, N m
  double spin_gain = 0.3;      // k_omega, N m s
  bool feed_forward = true;    // M phi_d'' and d/dt(J R_e omega_d), and the force that balances gravity
  double largest_force = std::numeric_limits<double>::infinity();   // N; longer ones are shortened
  double largest_torque = std::numeric_limits<double>::infinity();  // N m
  bool off() const { return position_gain == 0 && velocity_gain == 0 && attitude_gain == 0 && spin_gain == 0; }
};

// Of the body that is flown: kg; kg m^2 about the centre of mass in body axes.
struct MassProperties {
  double mass = 1.0;
  Matrix<3> inertia = Matrix<3>::Identity();
};

struct TrackingError {
  Vector<3> position, velocity;  // e_phi, e_v (4.31), (4.32): world axes
  Vector<3> attitude, spin;      // e_R, e_omega (4.33), (4.34): body axes
  double angle;                  // of R_e, rad
};
TrackingError tracking_error(Retraction map, const BodyState& state, const Desired& desired);

// V of Proposition 4.2, J. Its derivative along (4.40) is -k_omega |e_omega|^2 - k_v |e_v|^2.
double lyapunov(const ControlLaw& law, const MassProperties& body, const TrackingError& error);

// The force (world axes) and the torque (body axes).
struct Command {
  Vector<3> force = Vector<3>::Zero(), torque = Vector<3>::Zero();
};
// (4.40); `gravity`: acceleration, m/s^2; `angle` becomes that of R_e, rad.
Command command(const ControlLaw& law, const MassProperties& body, const BodyState& state, const Desired& desired,
                const Vector<3>& gravity = Vector<3>::Zero(), double* angle = nullptr);

struct ControllerOptions {
  ControlLaw law;
  DipoleCurveOptions curve;
  int body = 0;         // that is flown
  int receiver = -1;    // in whose frame the curve is; -1: the world's
  double replan = 0.0;  // m: a new curve from where the body is, once it is off by more; 0: never
  double period = 0.0;  // s, for which a command is held; 0: commands follow the state
  double delay = 0.0;   // s, from measurement to command; of held commands
  // Standard deviations of measurements, of held commands: m, rad, m/s, rad/s, each axis
  double position_noise = 0.0, attitude_noise = 0.0, velocity_noise = 0.0, spin_noise = 0.0;
};

// What a run of a controller comes to; N s and N m s of the world's axes, torques about the origin.
struct ControlSums {
  double effort = 0.0;  // integral of |f|^2 + |tau|^2, N^2 s (the torques' part in N^2 m^2 s)
  double work = 0.0;    // J
  Vector<3> impulse = Vector<3>::Zero(), angular_impulse = Vector<3>::Zero();
  double largest_angle = 0.0;  // of R_e where commands acted, of held ones at a sample, rad
  int replanned = 0;
};

template <int n>
class Controller final : public StatefulForce<n> {
 public:
  // `world`: the one it will act in. Throws std::invalid_argument: gains that are neither all positive nor all zero, a
  // body that is fixed or joined to others, noise or delay of commands that are not held.
  Controller(const World<n>& world, const ControllerOptions& options);

  // A run begins. Throws std::invalid_argument where no curve leads from there to the dock.
  void start(double t, std::span<const Pose<n>> poses, std::span<const Twist<n>> twists, std::uint64_t seed);

  void node(double t, std::span<const Pose<n>> poses, std::span<const Twist<n>> twists) override;
  void act(double t, Frames<n> frames, std::span<const Twist<n>> twists, std::span<Twist<n>> wrench) override;
  void passed(double t, double h) override;

  const ControllerOptions& options() const { return options_; }
  const MassProperties& mass_properties() const { return mass_; }
  const ControlSums& sums() const { return sums_; }
  // The longest step (s) that resolves the closed loop: less than a sample, half of its fastest decay otherwise.
  double longest_step() const;
  // At a state: where the body should be (world axes), what is commanded, and how far off it is.
  Desired desired(double t, Frames<n> frames, std::span<const Twist<n>> twists) const;
  Command commanded(double t, Frames<n> frames, std::span<const Twist<n>> twists) const;
  TrackingError error(double t, Frames<n> frames, std::span<const Twist<n>> twists) const;

 private:
  struct Commanded {
    Command command;
    double angle = 0.0;  // of R_e
  };
  Commanded commanded(double t, const BodyState& state, Frames<n> frames, std::span<const Twist<n>> twists) const;
  BodyState measured(const BodyState& state);
  bool sample_due(double t) const;
  void sample(double t, const BodyState& state, const Desired& desired);
  void take(double t);  // of the commands to come the one whose time it is
  double normal();

  ControllerOptions options_;
  MassProperties mass_;
  Vector<3> gravity_ = Vector<3>::Zero();
  DipoleCurve curve_;
  bool receiver_stays_ = true;
  // The way at the time of the last evaluation: an implicit step evaluates one time repeatedly. In the receiver's frame, or,
  // where that does not move, the world's.
  struct Aim {
    double time = std::numeric_limits<double>::quiet_NaN();
    Desired desired;
  };
  mutable Aim aim_;
  std::vector<geometry::Frame<n>> frames_;

  // of held commands, body axes
  struct Held {
    double from;
    Command command;
  };
  Command held_;
  std::deque<Held> coming_;
  double next_sample_ = 0.0;
  std::mt19937_64 random_;

  // what acted at the last two times of evaluation
  struct Acted {
    double time = -1e300;
    Twist<n> wrench = Twist<n>::Zero(), twist = Twist<n>::Zero();
    Vector<n> position = Vector<n>::Zero();
    double squares = 0.0, angle = 0.0;
  };
  Acted before_, last_;
  ControlSums sums_;
};

extern template class Controller<2>;
extern template class Controller<3>;

}  // namespace dodyn::rigid
