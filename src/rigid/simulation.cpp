#include "rigid/simulation.hpp"

#include <cmath>
#include <stdexcept>

#include "record/text.hpp"
#include "rigid/invariants.hpp"
#include "rigid/penalty.hpp"
#include "rigid/response.hpp"
#include "rigid/stateful_force.hpp"

namespace dodyn::rigid {
namespace {

std::string number(double x) { return formatted("%.6g", x); }

void require(bool good, const std::string& what) {
  if (!good) throw std::invalid_argument(what);
}

template <int n>
void check(const World<n>& world, const Options& options) {
  require(!world.bodies.empty(), "a world needs at least one body");
  require(options.step > 0.0 && std::isfinite(options.step),
          "step is " + number(options.step) + " s, must be positive");
  require(options.tolerance > 0.0, "contact tolerance is " + number(options.tolerance) + " m, must be positive");
  require(options.refine > 0.0 && options.refine <= 1.0, "refine is " + number(options.refine) + ", allowed (0, 1]");
  require(options.max_cuts >= 0, "max_cuts is negative");
  require(options.response != Response::penalty || options.stiffness > 0.0,
          "penalty stiffness is " + number(options.stiffness) + " N/m, must be positive");
  require(
      options.stepper == Stepper::variational || options.stepper == Stepper::variational_nodal || world.joints.empty(),
      "Newmark steppers move free bodies only; this world has joints");
  for (const auto& b : world.bodies) {
    require(b.surface.restitution >= 0.0 && b.surface.restitution <= 1.0,
            "restitution of '" + b.name + "' is " + number(b.surface.restitution) + "; allowed: 0 to 1");
    require(b.surface.friction >= 0.0 && std::isfinite(b.surface.friction),
            "friction of '" + b.name + "' is " + number(b.surface.friction) + ", must not be negative");
    require(b.linear_drag >= 0.0 && b.angular_drag >= 0.0, "drag of '" + b.name + "' is negative");
    require(b.outward.empty() || b.outward.size() == b.parts.size(),
            "'" + b.name + "' has " + std::to_string(b.outward.size()) + " outward normals for " +
                std::to_string(b.parts.size()) + " parts");
    for (const auto& normal : b.outward)
      require(!normal || std::abs(normal->norm() - 1.0) < 1e-9,
              "an outward normal of '" + b.name + "' is not of unit length");
  }
  const int count = world.bodies.size();
  for (const auto& c : world.charges)
    require(c.body >= 0 && c.body < count,
            "a charge sits on body " + std::to_string(c.body) + " of " + std::to_string(count));
  require(options.response != Response::penalty || world.one_sided.empty(),
          "penalty pushes shapes apart and does not close '" +
              (world.one_sided.empty() ? std::string() : world.one_sided.front().name) + "'");
  for (const auto& [a, b] : world.no_contact)
    require(a >= 0 && b >= 0 && a < count && b < count && a != b, "no_contact names a pair that does not exist");
}

template <int n>
std::vector<Potential<n>> contact_forces(const Options& options, Detection<n>& detection) {
  if (options.response != Response::penalty) return {};
  return {penalty(options.stiffness, detection)};
}

}  // namespace

template <int n>
struct Simulation<n>::Machine {
  Machine(World<n> w, Options o)
      : world(std::move(w)),
        options(o),
        bodies(world),
        detection(world),
        forces(world, contact_forces(options, detection)),
        integrator(make_integrator(options.stepper, world, bodies, forces)),
        response(make_response<n>({world, options, bodies, forces, *integrator, detection})),
        inertia(bodies) {
    twists.assign(bodies.size(), Twist<n>::Zero());
    state.p.setZero(bodies.dofs());
    state.poses.resize(bodies.size());
    for (const auto& force : world.forces)
      if (const auto* acting = force.template target<StatefulForceAdapter<n>>()) actors.push_back(acting->actor.get());
  }

  bool step();
  bool give_up(const FailureCause& cause, const std::string& after);
  double power(double t);
  void finish();

  // the world and the components that advance it
  World<n> world;
  Options options;
  Multibody<n> bodies;
  Detection<n> detection;
  Forces<n> forces;
  std::unique_ptr<Integrator<n>> integrator;
  std::unique_ptr<ContactResponse<n>> response;
  std::vector<StatefulForce<n>*> actors;  // stateful forces of the world

  // the state
  double time = 0.0, start_time = 0.0;
  long steps = 0;
  State<n> state, last_node;
  std::vector<Pose<n>> start_poses;
  std::vector<Twist<n>> twists;
  StepRecord<n> record;
  Outcome outcome;

  // for observers
  Inertia<n> inertia;
  Eigen::VectorXd nu;
  std::vector<geometry::Frame<n>> frames;
  std::vector<Twist<n>> wrench;
  std::vector<geometry::Contact<n>> touching;
};

template <int n>
bool Simulation<n>::Machine::step() {
  if (outcome.status == Outcome::failed) return false;
  constexpr int most_parts = 2000;
  constexpr double just_inside = 1e-9;  // relative to an interval: a user's force may jump at its end
  last_node = state;
  for (auto* actor : actors) actor->node(time, state.poses, twists);
  record.impulses.clear();
  record.constraint_impulses.clear();
  const double end = start_time + (steps + 1) * options.step;
  FailureCause last_cause;
  double interval = end - time;
  int cuts = 0, parts = 0;
  double before = 0.0;
  while (time < end) {
    interval = std::min(interval, end - time);
    if (end - time - interval < 1e-9 * options.step) interval = end - time;
    Progress progress;
    try {
      before = forces.has_wrench() ? power(time + just_inside * interval) : 0.0;
      progress = response->advance(time, interval, state, record);
    } catch (const std::runtime_error& error) {  // the hyperplane program fails on diverged numbers
      progress.cause.what = error.what();
      return give_up(progress.cause, "a step");
    }
    FailureCause& cause = progress.cause;
    if (!state.p.allFinite()) {
      cause.what = "the motion is not a finite number";
      return give_up(cause, "a step");
    }
    if (progress.done > 0.0) {
      for (auto* actor : actors) actor->passed(time, progress.done);
      if (progress.origin == Progress::Origin::corrected_step && !actors.empty()) {
        finish();
        for (auto* actor : actors)
          record.contact_totals.projection.kinetic -= actor->corrected(progress.done, state.poses, twists);
      }
      if (forces.has_wrench()) {
        const bool stepped = progress.origin == Progress::Origin::step;
        const double work = stepped
                                ? integrator->work()
                                : 0.5 * progress.done * (before + power(time + (1.0 - just_inside) * progress.done));
        record.contact_totals.forces += work;
        // Forces acted along the prediction, and contact corrected the motion. The total of the projection gets the
        // difference in work.
        if (progress.origin == Progress::Origin::corrected_step)
          record.contact_totals.projection.kinetic += integrator->work() - work;
      }
      time = progress.done >= end - time ? end : time + progress.done;
      interval = end - time;
      cuts = 0;
      // accumulating bounces: infinitely many in a finite time (Zeno)
      if (++parts > most_parts) {
        if (!cause.is_known()) cause = last_cause;
        cause.what = options.response == Response::exact
                         ? "contacts without end, as of a body that comes to rest, which contact-method event-driven "
                           "does not support; choose projection"
                         : "contacts without end";
        return give_up(cause, std::to_string(most_parts) + " parts of the step");
      }
      if (cause.is_known()) last_cause = cause;
      continue;
    }
    ++record.contact_totals.cuts;
    if (++cuts > options.max_cuts)
      return give_up(cause, std::to_string(options.max_cuts) + " cuts of the step in a row");
    interval *= progress.retry;
  }
  ++steps;
  finish();
  return true;
}

// Returns the power of the forces without potential at the present state and time t, W. Stateful forces keep their own
// sums.
template <int n>
double Simulation<n>::Machine::power(double t) {
  finish();
  frames_of(state.poses, frames);
  wrench.resize(twists.size());
  forces.wrench(t, frames, twists, wrench, false);
  double sum = 0.0;
  for (std::size_t b = 0; b < twists.size(); ++b) sum += wrench[b].dot(twists[b]);
  return sum;
}

// Returns to the last node.
template <int n>
bool Simulation<n>::Machine::give_up(const FailureCause& cause, const std::string& after) {
  outcome = {Outcome::failed, time, cause.bodies, cause.gap, cause.what};
  if (cause.bodies[0] >= 0)
    outcome.reason += " between '" + world.bodies[cause.bodies[0]].name + "' and '" +
                      world.bodies[cause.bodies[1]].name + "', overlap " + number(cause.gap) + " m,";
  if (cause.constraint >= 0)
    outcome.reason += " at '" + world.one_sided[cause.constraint].name + "', gap " + number(-cause.gap) + ",";
  outcome.reason += " at t = " + number(time) + " s after " + after;
  state = last_node;
  time = start_time + steps * options.step;
  finish();
  return false;
}

template <int n>
void Simulation<n>::Machine::finish() {
  inertia.set(state.poses);
  inertia.velocity(state.p, nu);
  inertia.twists(nu, twists);
  if (outcome.status != Outcome::failed) outcome.time = time;
}

template <int n>
Simulation<n>::Simulation(World<n> world, Options options) {
  check(world, options);
  machine_ = std::make_unique<Machine>(std::move(world), options);
}
template <int n>
Simulation<n>::~Simulation() = default;
template <int n>
Simulation<n>::Simulation(Simulation&&) noexcept = default;
template <int n>
Simulation<n>& Simulation<n>::operator=(Simulation&&) noexcept = default;

template <int n>
void Simulation<n>::start(std::span<const Pose<n>> poses, std::span<const Twist<n>> twists, double t) {
  Machine& m = *machine_;
  const std::size_t count = m.world.bodies.size();
  require(poses.size() == count && twists.size() == count,
          "the initial state needs a pose and a twist for each of the " + std::to_string(count) + " bodies");
  m.state.poses.assign(poses.begin(), poses.end());
  m.start_poses = m.state.poses;
  for (std::size_t b = 0; b < count; ++b) {
    bool finite = poses[b].position.allFinite() && twists[b].allFinite();
    if constexpr (n == 2)
      finite = finite && std::isfinite(poses[b].angle);
    else
      finite = finite && (poses[b].directors.transpose() * poses[b].directors).isIdentity(1e-9) &&
               poses[b].directors.determinant() > 0.0;
    require(finite,
            "initial state: pose or twist of '" + m.world.bodies[b].name + "' is not a number or not a rotation");
  }
  if (const double apart = m.bodies.constraint_residual(m.start_poses, m.start_poses); apart > 1e-9)
    throw std::invalid_argument("initial state: the poses miss the joints by " + number(apart) + " m");
  m.inertia.set(m.state.poses);
  m.twists.assign(twists.begin(), twists.end());
  for (std::size_t b = 0; b < count; ++b)
    if (m.world.bodies[b].fixed) m.twists[b].setZero();
  m.inertia.dof_velocities(m.twists, m.nu);
  for (std::size_t b = 0; b < count; ++b)
    require((m.inertia.twist(b, m.nu) - m.twists[b]).norm() <= 1e-9 * (1.0 + m.twists[b].norm()),
            "initial state: the twist of '" + m.world.bodies[b].name + "' does not follow its joint");
  m.inertia.momentum(m.nu, m.state.p);
  m.time = m.start_time = t;
  m.steps = 0;
  m.record.contact_totals = {};
  m.record.impulses.clear();
  m.record.constraint_impulses.clear();
  m.outcome = {};
  m.integrator->restart();
  m.detection.restart();
  m.finish();
  if (m.options.response == Response::none) return;
  frames_of(m.state.poses, m.frames);
  const geometry::Contact<n>* worst = nullptr;
  for (const auto& c : m.detection.find(m.frames, m.options.tolerance))
    if (!worst || c.normal_gap() > worst->normal_gap()) worst = &c;
  m.response->restart();
  if (worst && worst->normal_gap() > m.options.tolerance)
    throw std::invalid_argument("initial state: '" + m.world.bodies[worst->body[0]].name + "' (part " +
                                std::to_string(worst->part[0] + 1) + ") and '" + m.world.bodies[worst->body[1]].name +
                                "' (part " + std::to_string(worst->part[1] + 1) + ") overlap by " +
                                number(worst->normal_gap()) + " m");
  for (const auto& constraint : m.world.one_sided)
    if (const double gap = constraint.gap(m.state.poses, {}, {}); !(gap >= -m.options.tolerance))
      throw std::invalid_argument("initial state: the gap of '" + constraint.name + "' is " + number(gap) +
                                  "; allowed: 0 or more");
}

template <int n>
bool Simulation<n>::step() {
  return machine_->step();
}

template <int n>
Outcome Simulation<n>::run(double time, const std::function<bool(const Simulation&)>& event) {
  Machine& m = *machine_;
  while (m.outcome.status != Outcome::failed) {
    if (event && event(*this)) {
      m.outcome.status = Outcome::stopped;
      return m.outcome;
    }
    m.outcome.status = Outcome::reached;
    if (m.time >= time - 0.5 * m.options.step) return m.outcome;
    if (!m.step()) break;
  }
  return m.outcome;
}

template <int n>
const World<n>& Simulation<n>::world() const {
  return machine_->world;
}
template <int n>
const Options& Simulation<n>::options() const {
  return machine_->options;
}
template <int n>
double Simulation<n>::time() const {
  return machine_->time;
}
template <int n>
std::span<const Pose<n>> Simulation<n>::poses() const {
  return machine_->state.poses;
}
template <int n>
std::span<const Twist<n>> Simulation<n>::twists() const {
  return machine_->twists;
}
template <int n>
const Outcome& Simulation<n>::outcome() const {
  return machine_->outcome;
}
template <int n>
const ContactTotals<n>& Simulation<n>::contact_totals() const {
  return machine_->record.contact_totals;
}

template <int n>
std::span<const ContactImpulse<n>> Simulation<n>::impulses() const {
  return machine_->record.impulses;
}

template <int n>
std::span<const ConstraintImpulse<n>> Simulation<n>::constraint_impulses() const {
  return machine_->record.constraint_impulses;
}

template <int n>
std::span<const geometry::Contact<n>> Simulation<n>::contacts() const {
  Machine& m = *machine_;
  m.touching.clear();
  frames_of(m.state.poses, m.frames);
  for (const auto& c : m.detection.find(m.frames, m.options.tolerance))
    if (c.normal_gap() >= -m.options.tolerance) m.touching.push_back(c);
  return m.touching;
}

template <int n>
Energies<n> Simulation<n>::energies() const {
  Machine& m = *machine_;
  return {kinetic_energy(m.state.p, m.nu), m.forces.energy(m.state.poses)};
}

template <int n>
Momenta<n> Simulation<n>::momenta() const {
  return rigid::momenta(machine_->inertia, machine_->state.poses, machine_->nu);
}

template <int n>
double Simulation<n>::overlap() const {
  Machine& m = *machine_;
  frames_of(m.state.poses, m.frames);
  m.detection.find(m.frames);
  return m.detection.overlap();
}

template <int n>
double Simulation<n>::constraint_residual() const {
  return machine_->bodies.constraint_residual(machine_->start_poses, machine_->state.poses);
}

template class Simulation<2>;
template class Simulation<3>;

}  // namespace dodyn::rigid
