#include "evaluators/docking_craft.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <numbers>
#include <random>
#include <stdexcept>

namespace dodyn::evaluators {
namespace {

using rigid::Pose;
using rigid::Twist;
using Vector2 = rigid::Vector<2>;
using Polytope = geometry::Polytope<2>;

std::string millimetres(double x) {
  char text[32];
  std::snprintf(text, sizeof text, "%.4g mm", 1e3 * x);
  return text;
}

void require(bool good, const std::string& what) {
  if (!good) throw std::invalid_argument(what);
}

double sign(int port) { return port == 0 ? 1.0 : -1.0; }  // of a female port's y

// The cavity at the base, half its width.
double base_width(const Docking& d) { return 0.5 * d.tip + d.clearance; }
double mouth_width(const Docking& d) { return base_width(d) + d.depth * std::tan(d.half_angle); }
// Half the width of a port with everything.
double port_width(const Docking& d) { return mouth_width(d) + d.wall; }

// The groove's flanks run from half width `bottom` at the base to where they meet the cup's walls.
struct Groove {
  double bottom, top_width, top;
};
Groove groove(const Docking& d) {
  const double flank = std::tan(d.mount_angle), cavity = std::tan(d.half_angle);
  Groove g;
  g.bottom = 0.5 * d.tip - d.mount_height * flank;
  g.top = (base_width(d) - g.bottom) / (flank - cavity);
  g.top_width = base_width(d) + g.top * cavity;
  return g;
}

bool has_groove(const Docking& d, int port) { return (port == 0) == d.groove_first; }

// Parts of cup `port` in the female craft's coordinates.
void add_cup(const Docking& d, int port, std::vector<Polytope>& parts) {
  const double x0 = 0.5 * d.length, y0 = 0.5 * sign(port) * d.spacing;
  const std::string name = "cup " + std::to_string(port + 1);
  const auto part = [&](std::vector<Vector2> corners, const std::string& what) {
    for (auto& v : corners) v = Vector2(x0 + v[0], y0 + v[1]);
    parts.emplace_back(corners, name + ", " + what);
  };
  for (const double side : {1.0, -1.0})
    part({{0.0, side * base_width(d)},
          {d.depth, side * mouth_width(d)},
          {d.depth, side * port_width(d)},
          {0.0, side * port_width(d)}},
         "wall");
  if (has_groove(d, port)) {
    const Groove g = groove(d);
    for (const double side : {1.0, -1.0})
      part({{0.0, side * g.bottom}, {0.0, side * base_width(d)}, {g.top, side * g.top_width}}, "groove");
  } else {
    part({{0.0, -0.4 * d.tip}, {0.0, 0.4 * d.tip}, {d.mount_height, 0.0}}, "point");
  }
}

void add_cone(const Docking& d, int port, std::vector<Polytope>& parts) {
  const Vector2 tip = cone_tip(d, port);
  const double half = 0.5 * d.tip, root = half + d.depth * std::tan(d.half_angle);
  parts.emplace_back(std::vector<Vector2>{tip + Vector2(0.0, half), tip - Vector2(0.0, half),
                                          tip + Vector2(-d.depth, -root), tip + Vector2(-d.depth, root)},
                     "cone " + std::to_string(port + 1));
}

rigid::Body<2> craft(const Docking& d, const std::string& name, double mass) {
  rigid::Body<2> body;
  body.name = name;
  body.parts.push_back(geometry::rectangle(d.length, d.width));
  body.mass = mass;
  body.euler_tensor.diagonal() << mass * d.length * d.length / 12.0, mass * d.width * d.width / 12.0;
  body.surface = {d.restitution, d.friction};
  return body;
}

// The same port's poles in either craft, so that cones attract their own cups.
double polarity(const Docking& d, int port) { return d.opposite_polarity && port == 1 ? -1.0 : 1.0; }

// Potential of the charges, aligned craft, with a distance `x` between base of cup and tip of cone.
double axial_potential(const Docking& d, double x) {
  const double first = x + 2.0 * d.magnet_recess, t = d.magnet_thickness;
  double sum = 0.0;
  for (int cup = 0; cup < 2; ++cup)
    for (int cone = 0; cone < 2; ++cone) {
      const double y = cup == cone ? 0.0 : d.spacing;
      sum -= polarity(d, cup) * polarity(d, cone) *
             (1.0 / std::hypot(first, y) - 2.0 / std::hypot(first + t, y) + 1.0 / std::hypot(first + 2.0 * t, y));
    }
  return d.charge_constant * sum;
}

// The rectangle that holds hull and ports.
Vector2 low(const Docking& d) { return {-0.5 * d.length, -0.5 * d.width}; }
Vector2 high(const Docking& d) { return {0.5 * d.length + d.depth, 0.5 * d.width}; }

// Least squared distance of the second pose's corners from the first one's rectangle.
double corner_distance(const Docking& d, const Pose<2>& box, const Pose<2>& other) {
  const auto a = box.frame(), b = other.frame();
  const Vector2 l = low(d), h = high(d);
  double least = std::numeric_limits<double>::infinity();
  for (int i = 0; i < 4; ++i) {
    const Vector2 v = a.directors.transpose() * (b(Vector2(i & 1 ? l[0] : h[0], i & 2 ? l[1] : h[1])) - a.position);
    least = std::min(least, (v - v.cwiseMax(l).cwiseMin(h)).squaredNorm());
  }
  return least;
}

// Whether a line parallel to an axis of the first rectangle separates the two.
bool separated(const Docking& d, const Pose<2>& box, const Pose<2>& other) {
  const auto a = box.frame(), b = other.frame();
  const Vector2 l = low(d), h = high(d);
  Vector2 least = Vector2::Constant(std::numeric_limits<double>::infinity()), most = -least;
  for (int i = 0; i < 4; ++i) {
    const Vector2 v = a.directors.transpose() * (b(Vector2(i & 1 ? l[0] : h[0], i & 2 ? l[1] : h[1])) - a.position);
    least = least.cwiseMin(v);
    most = most.cwiseMax(v);
  }
  return (least.array() > h.array()).any() || (most.array() < l.array()).any();
}

// Bound on the relative speed of any point of the craft.
double relative_speed(const Docking& d, std::span<const Pose<2>> q, std::span<const Twist<2>> v) {
  const Vector2 r = q[male].position - q[female].position;
  const Vector2 carried = v[female].head<2>() + v[female][2] * Vector2(-r[1], r[0]);
  return (v[male].head<2>() - carried).norm() + std::abs(v[male][2] - v[female][2]) * high(d).norm();
}

}  // namespace

std::string_view to_string(Docked outcome) {
  switch (outcome) {
    case Docked::docked:
      return "docked";
    case Docked::missed:
      return "missed";
    case Docked::jammed:
      return "jammed";
    case Docked::wrong_port:
      return "wrong port";
    case Docked::bounced_off:
      return "bounced off";
    case Docked::timed_out:
      return "timed out";
    case Docked::unresolved:
      return "unresolved";
  }
  return "unknown";
}

void check(const Docking& d) {
  for (const auto& [value, name] :
       std::initializer_list<std::pair<double, const char*>>{{d.depth, "depth"},
                                                             {d.clearance, "clearance"},
                                                             {d.wall, "cup wall"},
                                                             {d.tip, "cone tip"},
                                                             {d.mount_height, "mount height"},
                                                             {d.width, "craft width"},
                                                             {d.length, "craft length"}})
    require(value > 0.0 && std::isfinite(value),
            std::string(name) + " is " + millimetres(value) + ", must be positive");
  require(d.magnet_thickness > 0.0, "magnet thickness is " + millimetres(d.magnet_thickness) + ", must be positive");
  require(d.magnet_recess >= 0.0, "magnet recess is " + millimetres(d.magnet_recess) + ", must not be negative");
  require(d.male_mass > 0.0 && d.female_mass > 0.0, "a craft's mass must be positive");
  require(d.half_angle > 0.0 && d.half_angle < d.mount_angle && d.mount_angle < 0.5 * std::numbers::pi,
          "cone half-angle must be above 0 and below the mount's, which must be below 90 degrees");
  const Groove g = groove(d);
  require(g.bottom > 0.0, "mount height is " + millimetres(d.mount_height) +
                              ": the groove closes before its bottom; allowed up to " +
                              millimetres(0.5 * d.tip / std::tan(d.mount_angle)));
  require(g.top < d.depth,
          "depth is " + millimetres(d.depth) + ": the groove alone is " + millimetres(g.top) + " deep");
  require(d.spacing >= 2.0 * port_width(d), "spacing is " + millimetres(d.spacing) + ": the ports, " +
                                                millimetres(2.0 * port_width(d)) + " wide, overlap");
  require(d.spacing + 2.0 * port_width(d) <= d.width,
          "spacing is " + millimetres(d.spacing) + ": ports " + millimetres(2.0 * port_width(d)) +
              " wide reach beyond the face; allowed up to " + millimetres(d.width - 2.0 * port_width(d)));
}

Vector2 cone_tip(const Docking& d, int port) { return {0.5 * d.length + d.depth, -0.5 * sign(port) * d.spacing}; }
Vector2 seat(const Docking& d, int port) { return {0.5 * d.length + d.mount_height, 0.5 * sign(port) * d.spacing}; }

rigid::World<2> docking_world(const Docking& d) {
  check(d);
  rigid::World<2> world;
  world.bodies = {craft(d, "female craft", d.female_mass), craft(d, "male craft", d.male_mass)};
  world.bodies[female].fixed = !d.female_free;
  for (int port = 0; port < 2; ++port) {
    add_cup(d, port, world.bodies[female].parts);
    add_cone(d, port, world.bodies[male].parts);
    const double pole = polarity(d, port);
    const Vector2 base(0.5 * d.length - d.magnet_recess, 0.5 * sign(port) * d.spacing);
    const Vector2 tip = cone_tip(d, port) - Vector2(d.magnet_recess, 0.0), behind(-d.magnet_thickness, 0.0);
    world.charges.insert(
        world.charges.end(),
        {{female, base, pole}, {female, base + behind, -pole}, {male, tip, -pole}, {male, tip + behind, pole}});
  }
  world.charge_constant = d.charge_constant;
  return world;
}

Pose<2> docked_pose(const Docking& d) {
  Pose<2> pose;
  pose.position = {d.length + d.depth + d.mount_height, 0.0};
  pose.angle = std::numbers::pi;
  return pose;
}

Pose<2> start_pose(const Docking& d, double bearing, double distance) {
  Pose<2> pose;
  pose.position = (d.length + distance) * Vector2(std::cos(bearing), std::sin(bearing));
  pose.angle = bearing + std::numbers::pi;
  return pose;
}

double clear_distance(const Docking& d, const Pose<2>& female_pose, const Pose<2>& male_pose) {
  if (!separated(d, female_pose, male_pose) && !separated(d, male_pose, female_pose)) return 0.0;
  // of two convex polygons apart, a corner of one is nearest
  return std::sqrt(std::min(corner_distance(d, female_pose, male_pose), corner_distance(d, male_pose, female_pose)));
}

double seated_pull(const Docking& d) {
  const double a = d.mount_height + 2.0 * d.magnet_recess, t = d.magnet_thickness;
  return d.charge_constant * (1.0 / (a * a) - 2.0 / ((a + t) * (a + t)) + 1.0 / ((a + 2.0 * t) * (a + 2.0 * t)));
}

double closing_time(const Docking& d, double distance) {
  check(d);
  // distance of hulls -> of tip and base
  const double start = distance - d.depth, end = d.mount_height;
  require(start > end, "craft " + millimetres(distance) + " apart are closer than docked ones");
  const double mass = d.female_free ? d.male_mass * d.female_mass / (d.male_mass + d.female_mass) : d.male_mass;
  // t = int dx/v with v = sqrt(2 (V(start) - V(x))/mass); x = start - (start - end) u^2 takes away the singularity at
  // rest. Midpoints: the integrand is finite but of no value at u = 0.
  const int n = 4000;
  const double before = axial_potential(d, start);
  double sum = 0.0;
  for (int i = 0; i < n; ++i) {
    const double u = (i + 0.5) / n, energy = before - axial_potential(d, start - (start - end) * u * u);
    require(energy > 0.0, "the magnets do not pull aligned craft together");
    sum += 2.0 * (start - end) * u / std::sqrt(2.0 * energy / mass);
  }
  return sum / n;
}

double calibrated_charge_constant(Docking d, double distance, double seconds) {
  require(seconds > 0.0 && std::isfinite(seconds), "closing time must be positive");
  // Newton on log K -> log(closing time), whose slope is -1/2 where charges are the only force
  d.charge_constant = 1e-4;
  for (int k = 0; k < 50; ++k) {
    const double error = std::log(closing_time(d, distance) / seconds);
    if (std::abs(error) < 1e-14) break;
    d.charge_constant *= std::exp(2.0 * error);
  }
  return d.charge_constant;
}

DisturbanceField::DisturbanceField(double strength, double arm, double wave_length, std::uint64_t seed) {
  require(strength >= 0.0 && arm >= 0.0, "a disturbance's strength and arm must not be negative");
  require(wave_length > 0.0, "a disturbance's wave length must be positive");
  if (strength == 0.0) return;
  std::mt19937_64 random(seed);
  // not the distributions of <random>, whose numbers differ between standard libraries
  const auto uniform = [&] { return static_cast<double>(random() >> 11) * 0x1p-53; };
  const auto normal = [&] {
    const double u = 1.0 - uniform(), v = uniform();
    return std::sqrt(-2.0 * std::log(u)) * std::cos(2.0 * std::numbers::pi * v);
  };
  const int count = 16;
  const double scale = strength * std::sqrt(2.0 / count);  // a cosine's mean square is 1/2
  for (int i = 0; i < count; ++i) {
    const double direction = 2.0 * std::numbers::pi * uniform();
    const double k = 2.0 * std::numbers::pi / wave_length * (0.5 + 0.5 * uniform());  // one to two wave lengths
    Wave wave;
    wave.number = k * Vector2(std::cos(direction), std::sin(direction));
    wave.phase = 2.0 * std::numbers::pi * uniform();
    for (int c = 0; c < 3; ++c) wave.amplitude[c] = scale * (c == 2 ? arm : 1.0) * normal();
    waves_.push_back(wave);
  }
}

Twist<2> DisturbanceField::operator()(const Vector2& at) const {
  Twist<2> sum = Twist<2>::Zero();
  for (const auto& wave : waves_) sum += std::cos(wave.number.dot(at) + wave.phase) * wave.amplitude;
  return sum;
}

std::optional<Docked> DockingReferee::judge(double t, std::span<const Pose<2>> q, std::span<const Twist<2>> v,
                                            bool touching) {
  const double apart = clear_distance(docking_, q[female], q[male]);
  if (start_distance_ < 0.0) start_distance_ = apart;
  if (touching) touched_ = t;
  const auto lasts = [&](bool now, double& since) {
    if (!now) since = -1.0;
    if (now && since < 0.0) since = t;
    return now && t - since >= rules_.dwell;
  };

  const auto f = q[female].frame(), m = q[male].frame();
  std::array<Vector2, 2> tips;
  for (int port = 0; port < 2; ++port)
    tips[port] = f.directors.transpose() * (m(cone_tip(docking_, port)) - f.position);
  const double turn = std::remainder(q[male].angle - q[female].angle - std::numbers::pi, 2.0 * std::numbers::pi);
  const bool seated = (tips[0] - seat(docking_, 0)).norm() <= rules_.position_tolerance &&
                      (tips[1] - seat(docking_, 1)).norm() <= rules_.position_tolerance &&
                      std::abs(turn) <= rules_.angle_tolerance;
  if (lasts(seated, seated_since_)) return Docked::docked;

  const bool at_rest =
      touched_ >= 0.0 && t - touched_ < rules_.dwell && !seated && relative_speed(docking_, q, v) <= rules_.rest_speed;
  if (lasts(at_rest, rest_since_)) {
    for (int cone = 0; cone < 2; ++cone) {
      const Vector2 in = tips[cone] - Vector2(0.5 * docking_.length, 0.5 * sign(1 - cone) * docking_.spacing);
      if (in[0] >= 0.0 && in[0] <= docking_.depth &&
          std::abs(in[1]) <= base_width(docking_) + in[0] * std::tan(docking_.half_angle))
        return Docked::wrong_port;
    }
    return Docked::jammed;
  }

  // along the hull, past the ports: magnets hold it there, and it may roll about the female craft for ever
  const double ahead = (f.directors.transpose() * (q[male].position - f.position))[0];
  if (touched_ >= 0.0 && ahead < 0.5 * docking_.length) return Docked::missed;
  if (touched_ >= 0.0 && apart > rules_.parted) return Docked::bounced_off;
  if (touched_ < 0.0 && (apart > start_distance_ + rules_.parted || t >= rules_.time_out)) return Docked::missed;
  if (t >= rules_.time_out) return Docked::timed_out;
  return {};
}

DockingSimulator::DockingSimulator(const Docking& docking, const DockingRules& rules, double step,
                                   const DisturbanceField& field)
    : docking_(docking), rules_(rules) {
  rigid::World<2> world = docking_world(docking);
  if (field(Vector2::Zero()) != Twist<2>::Zero())
    world.forces.push_back([field, both = docking.female_free](double, rigid::Frames<2> at, std::span<const Twist<2>>,
                                                               std::span<Twist<2>> wrench) {
      wrench[male] += field(at[male].position);
      if (both) wrench[female] += field(at[female].position);
    });
  rigid::Options options;
  options.step = step;
  for (int level = 0; level < 4; ++level, options.step *= 4.0) {
    levels_.emplace_back(world, options);
    options.response = rigid::Response::none;
  }
}

DockingRun DockingSimulator::run(double bearing, double distance, const Observer& observe) {
  return run({Pose<2>{}, start_pose(docking_, bearing, distance)}, {Twist<2>::Zero(), Twist<2>::Zero()}, observe);
}

DockingRun DockingSimulator::run(const std::array<Pose<2>, 2>& poses, const std::array<Twist<2>, 2>& twists,
                                 const Observer& observe) {
  DockingReferee referee(docking_, rules_);
  DockingRun run;
  std::size_t level = 0;
  levels_[0].start(poses, twists);
  int impulses = 0;
  double acceleration = 0.0;
  for (bool touching = false;;) {
    auto& at = levels_[level];
    run.time = at.time();
    if (observe) observe(at);
    if (const auto outcome = referee.judge(at.time(), at.poses(), at.twists(), touching)) {
      run.outcome = *outcome;
      return run;
    }

    // The longest step in which the craft, at this speed and acceleration, go a small part of the way to each other.
    const double speed = relative_speed(docking_, at.poses(), at.twists());
    const double room = clear_distance(docking_, at.poses()[female], at.poses()[male]);
    std::size_t next = 0;
    while (run.steps > 0 && next + 1 < levels_.size()) {
      const double h = levels_[next + 1].options().step;
      if (h * (speed + h * acceleration) > 0.02 * room || room < 0.002) break;
      ++next;
    }
    if (next != level) {
      const std::vector<Pose<2>> q(at.poses().begin(), at.poses().end());
      const std::vector<Twist<2>> v(at.twists().begin(), at.twists().end());
      levels_[next].start(q, v, at.time());
      level = next;
      impulses = 0;
    }

    auto& moving = levels_[level];
    if (!moving.step()) {
      run.outcome = Docked::unresolved;
      run.reason = moving.outcome().reason;
      return run;
    }
    ++run.steps;
    acceleration = std::abs(relative_speed(docking_, moving.poses(), moving.twists()) - speed) / moving.options().step;
    touching = moving.ledger().impulses > impulses;
    impulses = moving.ledger().impulses;
  }
}

}  // namespace dodyn::evaluators
