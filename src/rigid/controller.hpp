// Feedback control of one body along a curve: Johnson 2013, section 4.5.4, (4.40). The plane is the special case with
// fewer directions.
#pragma once

#include <deque>
#include <limits>
#include <optional>
#include <random>

#include "rigid/attitude.hpp"
#include "rigid/dipole_curve.hpp"
#include "rigid/stateful_force.hpp"

namespace dodyn::rigid {

// Pose and velocity of a body. The angular velocity is in body axes as in the source; in a Twist it is in world axes.
struct BodyState {
  Vector<3> position = Vector<3>::Zero(), velocity = Vector<3>::Zero();
  Matrix<3> attitude = Matrix<3>::Identity();
  Vector<3> spin = Vector<3>::Zero();
};

// Returns the state of a body of the plane z = 0.
BodyState in_space(const geometry::Frame<2>& frame, const Twist<2>& twist);

struct ControlLaw {
  Retraction retraction = Retraction::cayley;
  double position_gain = 1.2;  // k_phi, N/m; default gains from section 4.5.6
  double velocity_gain = 9.6;  // k_v, N s/m
  double attitude_gain = 1.0;  // k_R, N m
  double spin_gain = 0.3;      // k_omega, N m s
  bool feed_forward = true;    // adds M phi_d'' and d/dt(J R_e omega_d), and the force that balances gravity
  double largest_force = std::numeric_limits<double>::infinity();   // limit on the norm, N
  double largest_torque = std::numeric_limits<double>::infinity();  // N m
  bool off() const { return position_gain == 0 && velocity_gain == 0 && attitude_gain == 0 && spin_gain == 0; }
};

// Mass (kg) and inertia tensor (kg m^2, about the centre of mass, body axes) of the controlled body.
struct MassProperties {
  double mass = 1.0;
  Matrix<3> inertia = Matrix<3>::Identity();
};

struct TrackingError {
  Vector<3> position, velocity;  // e_phi, e_v (4.31), (4.32): world axes
  Vector<3> attitude, spin;      // e_R, e_omega (4.33), (4.34): body axes
  double angle;                  // angle of R_e, rad
};
TrackingError tracking_error(Retraction map, const BodyState& state, const Desired& desired);

// The commanded force (world axes) and torque (body axes).
struct Command {
  Vector<3> force = Vector<3>::Zero(), torque = Vector<3>::Zero();
};
// Returns the command (4.40). `gravity`: acceleration, m/s^2. Sets `angle` to the angle of R_e, rad, if not null.
Command command(const ControlLaw& law, const MassProperties& body, const BodyState& state, const Desired& desired,
                const Vector<3>& gravity = Vector<3>::Zero(), double* angle = nullptr);

struct ControllerOptions {
  ControlLaw law;
  DipoleCurveOptions curve;
  int body = 0;         // index of the controlled body
  int receiver = -1;    // index of the body in whose frame the curve is given; -1: the world frame
  double replan = 0.0;  // m: a new curve starts from the body's position when its error exceeds this; 0: never
  double period = 0.0;  // sample period, s: commands are constant between samples; 0: commands are continuous
  double delay = 0.0;   // from measurement to command, s; only for sampled commands
  // Standard deviations of the measurements, for sampled commands: m, rad, m/s, rad/s, each axis
  double position_noise = 0.0, attitude_noise = 0.0, velocity_noise = 0.0, spin_noise = 0.0;
};

// Totals over a run of the controller. Impulses in world axes, N s; torque impulses about the origin, N m s.
struct ControlSums {
  double effort = 0.0;  // integral of |f|^2 + |tau|^2, N^2 s (the torques' part in N^2 m^2 s)
  double work = 0.0;    // J
  Vector<3> impulse = Vector<3>::Zero(), angular_impulse = Vector<3>::Zero();
  double largest_angle = 0.0;  // largest angle of R_e while commands acted (sampled commands: at a sample), rad
  int replanned = 0;
};

template <int n>
class Controller final : public StatefulForce<n> {
 public:
  // `world`: the world in which the controller acts. Throws std::invalid_argument: gains that are neither all positive
  // nor all zero; limits that are not positive; a body or receiver that does not exist; a body that is fixed or has
  // joints; noise or delay of continuous commands; an invalid curve.
  Controller(const World<n>& world, const ControllerOptions& options);

  // Starts a run. Throws std::invalid_argument if no curve leads from the body's position to the dock.
  void start(double t, std::span<const Pose<n>> poses, std::span<const Twist<n>> twists, std::uint64_t seed);

  void node(double t, std::span<const Pose<n>> poses, std::span<const Twist<n>> twists) override;
  void act(double t, Frames<n> frames, std::span<const Twist<n>> twists, std::span<Twist<n>> wrench) override;
  void passed(double t, double h) override;

  const ControllerOptions& options() const { return options_; }
  const MassProperties& mass_properties() const { return mass_; }
  const ControlSums& sums() const { return sums_; }
  // Returns the longest step (s) that resolves the closed loop: a sample period, with a margin for rounding; for
  // continuous commands half of the fastest time constant. Infinite if all gains are zero.
  double longest_step() const;
  // Evaluates at a state: the desired pose (world axes), the command, and the error.
  Desired desired(double t, Frames<n> frames, std::span<const Twist<n>> twists) const;
  Command commanded(double t, Frames<n> frames, std::span<const Twist<n>> twists) const;
  TrackingError error(double t, Frames<n> frames, std::span<const Twist<n>> twists) const;

 private:
  struct CommandWithAngle {
    Command command;
    double angle = 0.0;  // angle of the rotation R_e, rad
  };
  CommandWithAngle commanded(double t, const BodyState& state, Frames<n> frames,
                             std::span<const Twist<n>> twists) const;
  BodyState measured(const BodyState& state);
  bool sample_due(double t) const;
  void sample(double t, const BodyState& state, const Desired& desired);
  void take(double t);  // Activates the pending command that is due at time t.
  double normal();

  ControllerOptions options_;
  MassProperties mass_;
  Vector<3> gravity_ = Vector<3>::Zero();
  DipoleCurve curve_;
  bool receiver_stays_ = true;
  // The desired motion at the time of the last evaluation, cached because an implicit step evaluates one time
  // repeatedly. In the receiver's frame; in world axes if the receiver does not move.
  struct CachedReference {
    double time = std::numeric_limits<double>::quiet_NaN();
    Desired desired;
  };
  mutable CachedReference cached_reference_;
  std::vector<geometry::Frame<n>> frames_;

  // A sampled command: force and torque in body axes (the force in the measured attitude), from time `from`.
  struct QueuedCommand {
    double from;
    Command command;
  };
  Command active_command_;
  std::deque<QueuedCommand> queue_;
  double next_sample_ = 0.0;
  std::mt19937_64 random_;

  // Commands at the last two times of evaluation.
  struct AppliedCommand {
    double time = -1e300;
    Twist<n> wrench = Twist<n>::Zero(), twist = Twist<n>::Zero();
    Vector<n> position = Vector<n>::Zero();
    double squares = 0.0, angle = 0.0;
  };
  AppliedCommand before_, last_;
  ControlSums sums_;
};

extern template class Controller<2>;
extern template class Controller<3>;

}  // namespace dodyn::rigid
