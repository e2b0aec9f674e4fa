// Two craft that dock by magnets, in the plane (Johnson 2013, section 3.7): a female craft with two cups and a male
// craft with two cones, one magnet in the base of each cup and the tip of each cone.
//
//      female hull |>  cup 1   ...   cone 1  <|  male hull          x: out of the front face of each craft
//                  |>  cup 2   ...   cone 2  <|                     port 1 of the female craft is at y = +spacing/2
//
// A cup's cavity widens from its base to its mouth by the cone's half-angle. In its base sits half of a kinematic
// mount: a groove in one cup, which takes both corners of the cone's flat tip, and a point in the other, on which the
// tip of the second cone rests. Three contacts hold three degrees of freedom of the plane, so a docked craft is held
// exactly and nothing is over-constrained; the cup walls stand clear of a seated cone by `clearance`.
//
// The source shows the ports in pictures only. All sizes here are our own (docs/docking.md).
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <numbers>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rigid/simulation.hpp"

namespace dodyn::evaluators {

inline constexpr double degree = std::numbers::pi / 180.0;

// Lengths in m, angles in rad, masses in kg, forces in N.
struct Docking {
  // ports
  double spacing = 0.05;               // between the centres of a craft's two ports
  double half_angle = 25.0 * degree;   // of cone and cavity, against the port's axis
  double depth = 0.015;                // of the cup from mouth to base; length of the cone
  double clearance = 0.0005;           // between seated cone and cup wall, across the axis
  double wall = 0.001;                 // width of the cup's rim
  double tip = 0.007;                  // width of the cone's flat tip
  double mount_height = 0.002;         // of the seated tip above the cup's base
  double mount_angle = 45.0 * degree;  // of the groove's flanks against the port's axis
  bool groove_first = true;            // the groove is in cup 1, the point in cup 2; or the other way round

  // craft: a rectangle of even density, seen along its long axis; the ports weigh nothing
  double width = 0.1, length = 0.1;  // across and along the line out of the front face
  double male_mass = 1.2, female_mass = 1.2;
  bool female_free = false;  // or held where it is

  // magnets: charges +1 and -1, `thickness` apart on the port's axis
  double magnet_thickness = 0.005;
  double magnet_recess = 0.0032;   // of the nearer charge behind the cup's base and behind the cone's tip
  bool opposite_polarity = false;  // port 2 has its poles the other way round, so that it repels the other's port 1
  double charge_constant = 1e-4;   // K of (3.51), N m^2

  // contact
  double restitution = 0.3, friction = 0.2;
};

// Throws std::invalid_argument with one line: which lengths cannot be.
void check(const Docking& docking);

// Bodies 0 (female) and 1 (male): body coordinates have the hull's centre as origin and x out of the front face.
inline constexpr int female = 0, male = 1;
rigid::World<2> docking_world(const Docking& docking);

// Middle of the tip of cone `port` (0 or 1) in the male craft's coordinates, and where in the female craft's it seats.
rigid::Vector<2> cone_tip(const Docking& docking, int port);
rigid::Vector<2> seat(const Docking& docking, int port);

// Pose of the male craft, fully docked with a female craft at the origin.
rigid::Pose<2> docked_pose(const Docking& docking);
// Pose of the male craft `distance` (m) from a female craft at the origin: between the middles of the front faces where
// both lie on the line of centres. `bearing` (rad) is that of the line of centres from the female craft's x axis. The
// male craft is aligned with the line.
rigid::Pose<2> start_pose(const Docking& docking, double bearing, double distance);

// Smallest distance between the craft, each taken as the rectangle that holds hull and ports, m: a lower bound of the
// true distance; 0 where these overlap.
double clear_distance(const Docking& docking, const rigid::Pose<2>& female_pose, const rigid::Pose<2>& male_pose);

// Pull between one cone and its cup when seated, N.
double seated_pull(const Docking& docking);
// Time in which craft aligned on the line of centres close from `distance` until they are seated, s: a quadrature of
// energy conservation along the axis, on which symmetry keeps them. Throws std::invalid_argument where the magnets do
// not pull them together.
double closing_time(const Docking& docking, double distance);
// K for which the closing time is `seconds`, by root finding.
double calibrated_charge_constant(Docking docking, double distance, double seconds);

// A smooth random force field, fixed in space, as an uneven air table has: a sum of plane waves with random directions
// and phases. Root mean square of each component of the force is `strength`, N; of the torque `strength` x `arm`.
class DisturbanceField {
 public:
  DisturbanceField() = default;  // none
  DisturbanceField(double strength, double arm, double wave_length, std::uint64_t seed);
  rigid::Twist<2> operator()(const rigid::Vector<2>& at) const;

 private:
  struct Wave {
    rigid::Vector<2> number;
    double phase;
    rigid::Twist<2> amplitude;
  };
  std::vector<Wave> waves_;
};

enum class Docked : std::int8_t {
  docked = 0,       // both cones in their own cups, within the tolerances, for the dwell time
  missed = 1,       // the craft never touched, or the male craft's centre went past the female's front face
  jammed = 2,       // came to rest in contact, not seated
  wrong_port = 3,   // came to rest with a cone in the other cone's cup
  bounced_off = 4,  // touched, and parted
  timed_out = 5,    // neither seated nor at rest, still about each other when time was up
  unresolved = 6,   // the simulation could not resolve a contact
};
inline constexpr int docked_kinds = 7;
std::string_view to_string(Docked outcome);

struct DockingRules {
  double position_tolerance = 0.0005;  // of each tip from its seat, m
  double angle_tolerance = degree;     // rad
  double dwell = 0.5;                  // s, for docked and for at rest
  double rest_speed = 2e-4;            // relative speed of any point of the craft, m/s
  double parted = 0.03;                // m: clear distance beyond which craft that touched have bounced off
  double time_out = 120.0;             // s
};

// Tells from a motion, node by node, how it ended.
class DockingReferee {
 public:
  DockingReferee(const Docking& docking, const DockingRules& rules) : docking_(docking), rules_(rules) {}
  // A node at time t (never before the last one). `touching`: contact forces acted since the last node. Returns the
  // outcome once there is one.
  std::optional<Docked> judge(double t, std::span<const rigid::Pose<2>> poses, std::span<const rigid::Twist<2>> twists,
                              bool touching);

 private:
  Docking docking_;
  DockingRules rules_;
  double touched_ = -1.0, seated_since_ = -1.0, rest_since_ = -1.0, start_distance_ = -1.0;
};

struct DockingRun {
  Docked outcome = Docked::unresolved;
  double time = 0.0;   // simulated, s
  std::string reason;  // of `unresolved`
  long steps = 0;
};

// One design under given rules, run from as many starts as you like.
class DockingSimulator {
 public:
  // `step`: s, where craft are near each other; steps of up to 64 times that where they are far apart. Throws
  // std::invalid_argument.
  DockingSimulator(const Docking& docking, const DockingRules& rules, double step, const DisturbanceField& field = {});

  using Observer = std::function<void(const rigid::Simulation<2>&)>;
  // From rest. Throws std::invalid_argument where the craft overlap at the start.
  DockingRun run(double bearing, double distance, const Observer& observe = {});
  // From any state.
  DockingRun run(const std::array<rigid::Pose<2>, 2>& poses, const std::array<rigid::Twist<2>, 2>& twists,
                 const Observer& observe = {});

 private:
  Docking docking_;
  DockingRules rules_;
  std::vector<rigid::Simulation<2>> levels_;  // [0] with contact, the others in free flight
};

}  // namespace dodyn::evaluators
