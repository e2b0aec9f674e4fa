#include "evaluators/motion/open_loop.hpp"

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>

#include "dmoc/attitudes.hpp"
#include "evaluators/motion/contacts.hpp"
#include "record/text.hpp"
#include "rigid/simulation.hpp"
#include "systems/bodies.hpp"

namespace dodyn::evaluators {

namespace {

constexpr double least_impulse = 1e-9;  // N s; smaller impulses between touching parts are rounding errors

template <int n>
double angle_between(const rigid::Pose<n>& a, const rigid::Pose<n>& b) {
  if constexpr (n == 2)
    return std::abs(a.angle - b.angle);
  else
    return Eigen::AngleAxisd(a.directors.transpose() * b.directors).angle();
}

template <int n>
class Driver {
  using State = typename systems::Bodies<n>::State;

 public:
  Driver(const PhasedMotion& plan, const Eigen::VectorXd& design, const Trajectory& motion, int steps,
         bool touching = true)
      : plan_(plan),
        design_(design),
        motion_(motion),
        steps_(steps),
        touching_(touching),
        values_(plain_values(plan, design)) {}

  OpenLoopRun run() {
    const auto& system = *plan_.system;
    result_.channels = {{"t", "s", "time", 0, {"t"}},
                        {"q", "", "coordinates", 0, system.structure().coordinate_names},
                        {"u", "", "controls of the interval that begins here (N, N m)", 0, {}},
                        {"energy", "J", "energies", 0, {"kinetic", "potential"}}};
    for (const auto& actuator : system.structure().actuators) result_.channels[2].coordinates.push_back(actuator.name);
    state_ = first();
    Eigen::Index row = 0;
    for (std::size_t i = 0; i < plan_.phases.size(); ++i) {
      const auto* contact = contact_before(i);
      if (contact && contact->stays) {
        result_.note = "what stays after [contact " + contact->name + "] is not driven forward";
        break;
      }
      // Bodies that touch at the end of a phase may meet slightly earlier, by rounding. So the second half of a phase
      // uses the contact law of its end.
      const auto* next = contact_before(static_cast<int>(i) + 1);
      const int K = plan_.phases[i].intervals * plan_.degree(), half = contact && next && K > 1 ? K / 2 : K;
      if (!move(i, row, 0, half, contact ? contact : next)) break;
      if (half < K && !move(i, row, half, K, next)) break;
      row += K + 1;
    }
    result_.time = time_;
    for (std::size_t c = 0; c < rows_.size(); ++c) {
      Channel& channel = result_.channels[c];
      channel.nodes = rows_[0].size();
      result_.trajectory.values.push_back(by_rows(rows_[c], channel.coordinates.size()));
    }
    if (result_.channels[2].coordinates.empty()) {
      result_.channels.erase(result_.channels.begin() + 2);
      result_.trajectory.values.erase(result_.trajectory.values.begin() + 2);
    }
    return std::move(result_);
  }

 private:
  const MotionContact* contact_before(int phase) const {
    if (plan_.penalty > 0.0) return nullptr;
    for (const auto& c : plan_.contacts)
      if (c.phase + 1 == phase) return &c;
    return nullptr;
  }

  systems::Bodies<n> view(const systems::Control& control) const {
    return systems::bodies<n>(plan_.system->model(), values_, control, {false, std::nullopt, false});
  }
  std::vector<double> row_of(std::size_t channel, Eigen::Index row) const {
    return {motion_.values[channel].row(row).begin(), motion_.values[channel].row(row).end()};
  }

  // Returns the initial state: the posture of the first node, and the velocities of the momenta that leave it. The
  // references are the attitudes of this posture, so no chart is singular.
  State first() const {
    const auto& system = *plan_.system;
    const dmoc::Attitudes attitudes(system);
    const Eigen::VectorXd q = motion_.values[1].row(0).transpose();
    const dmoc::Reference reference =
        system.charts().empty() ? system.no_reference() : attitudes.at(q, system.no_reference());
    const Eigen::VectorXd about = attitudes.moved(q, system.no_reference(), reference),
                          p = attitudes.about_angles(motion_.values[2].row(0).transpose(), about, reference);
    const auto& functions = system.pinned(plan_.phases.front().held);
    const int m = functions.moving.size();
    std::vector<dmoc::Coefficient> numbers(values_.numbers.begin(), values_.numbers.end());
    const dmoc::Element momentum = dmoc::element(functions.momentum, numbers, {}, {reference});
    Eigen::VectorXd z = Eigen::VectorXd::Zero(2 * m), push(m);
    for (int i = 0; i < m; ++i) {
      z(i) = about(functions.moving[i]);
      push(i) = p(functions.moving[i]);
    }
    const Eigen::MatrixXd J = dmoc::jacobian(*momentum, z);
    Eigen::MatrixXd mass(m, m);
    for (int i = 0; i < m; ++i) mass.row(i) = J.row(functions.moving[i]).tail(m);
    const Eigen::VectorXd moving = mass.llt().solve(push);
    std::vector<double> v(system.n(), 0.0);
    for (int i = 0; i < m; ++i) v[functions.moving[i]] = moving(i);

    auto tree = system.model().tree<double>(values_.numbers);
    system.refer(tree, autodiff::values_of(*reference).data());
    const auto frames = tree.frames<double>(about.data(), v.data());
    const auto bodies = view({});
    const std::vector<double> at(q.begin(), q.end()), still(at.size(), 0.0);
    State state = bodies.state(at, still);
    for (std::size_t l = 0; l < bodies.links.size(); ++l) {
      const auto& [body, origin, ring] = bodies.links[l];
      if (body < 0 || ring || tree.links[l].moves.empty()) continue;
      using systems::operator*;
      const auto pace = frames[l].velocity_of({-origin[0], -origin[1], -origin[2]});
      const auto spin = frames[l].rotation * frames[l].spin;
      auto& twist = state.twists[body];
      for (int i = 0; i < n; ++i) twist[i] = pace[i];
      if constexpr (n == 2)
        twist[2] = spin[2];
      else
        for (int i = 0; i < 3; ++i) twist[3 + i] = spin[i];
    }
    return state;
  }

  // Notes hinges whose coordinates the simulation computes differently from the plan. For three hinges through one
  // point, it assumes a middle angle below 90 deg. Beyond that, controls act on other coordinates than planned.
  void check_massless_intermediates(const systems::Bodies<n>& bodies, const State& planned,
                                    const std::vector<double>& q) {
    if (!result_.note.empty()) return;
    const auto seen = bodies.coordinates(planned).q;
    for (std::size_t l = 0; l + 1 < bodies.links.size(); ++l)
      for (int c = bodies.tree.links[l].first; bodies.links[l].ring && c < bodies.tree.links[l + 1].first; ++c)
        if (const std::size_t i = c; std::cos(seen[i] - q[i]) < 0.99)
          result_.note =
              bodies.tree.coordinate_names[i] +
              " is not driven as planned: the middle hinge through its point comes beyond a quarter turn; give it a "
              "[joint-limit]";
  }

  // Simulates the nodes `first` ... `last` of a phase. `row`: row of the phase's first node. Returns false if the
  // simulation ends early.
  bool move(int phase, Eigen::Index row, Eigen::Index first, Eigen::Index last, const MotionContact* contact) {
    const Eigen::Index K = plan_.phases[phase].intervals * plan_.degree();
    const double begin = motion_.values[0](row, 0),
                 h = (motion_.values[0](row + K, 0) - begin) / static_cast<double>(K);
    const auto interval = [=](double t) {
      return row + std::clamp(static_cast<Eigen::Index>((t - begin) / h), Eigen::Index(0), K - 1);
    };
    auto bodies = view([&](double t, std::span<const double>, std::span<const double>, std::span<double> u) {
      for (std::size_t i = 0; i < u.size(); ++i) u[i] = motion_.values[3](interval(t), static_cast<Eigen::Index>(i));
    });
    const bool shaped = std::ranges::any_of(bodies.world.bodies, [](const auto& body) { return !body.parts.empty(); });
    if (contact) {
      const auto [restitution, friction] = bounce(plan_, *contact, design_);
      for (auto& body : bodies.world.bodies) body.surface = {restitution, friction};
    }
    rigid::Options options;
    options.step = h / steps_;
    if (plan_.system->directors()) options.stepper = rigid::Stepper::variational_nodal;  // as in the transcription
    options.stiffness = plan_.penalty;
    options.response = !shaped || !touching_    ? rigid::Response::none
                       : plan_.penalty > 0.0    ? rigid::Response::penalty
                       : plan_.contacts.empty() ? rigid::Response::decomposition
                                                : rigid::Response::exact;
    // A divided step would give another discrete path than the plan's.
    options.refine = 1.0;
    options.tolerance = plan_.contacts.empty() ? 1e-6 : 1e-7;  // touching parts may overlap by contact_slack
    rigid::Simulation<n> simulation(bodies.world, options);
    try {
      simulation.start(state_.poses, state_.twists, begin + static_cast<double>(first) * h);
    } catch (const std::invalid_argument& error) {
      result_.failure = error.what();
      return false;
    }
    const auto look = [&](Eigen::Index node) {
      time_ = simulation.time();
      state_ = bodies.state(simulation);
      result_.overlap = std::max(result_.overlap, simulation.overlap());
      const std::vector<double> q = row_of(1, row + node), still(q.size(), 0.0);
      const State planned = bodies.state(q, still);
      for (std::size_t b = 0; b < planned.poses.size(); ++b) {
        result_.max_position_error =
            std::max(result_.max_position_error, (planned.poses[b].position - state_.poses[b].position).norm());
        result_.max_angle_error =
            std::max(result_.max_angle_error, angle_between<n>(planned.poses[b], state_.poses[b]));
      }
      check_massless_intermediates(bodies, planned, q);
      const auto energies = simulation.energies();
      const auto now = bodies.coordinates(state_);
      rows_[0].push_back(time_);
      rows_[1].insert(rows_[1].end(), now.q.begin(), now.q.end());
      const auto u = row_of(3, interval(time_ + 1e-9 * h));
      rows_[2].insert(rows_[2].end(), u.begin(), u.end());
      rows_[3].push_back(energies.kinetic);
      rows_[3].push_back(energies.potential);
    };
    if (row == 0 && first == 0) look(0);
    for (Eigen::Index k = first; k < last; ++k) {
      for (int i = 0; i < steps_; ++i) {
        if (!simulation.step()) {
          result_.failure = simulation.outcome().reason;
          return false;
        }
        double push = 0.0;
        for (const auto& each : simulation.impulses()) push = std::max(push, each.impulse.norm());
        if (push > least_impulse) result_.impacts.emplace_back(simulation.time() - options.step, simulation.time());
      }
      look(k + 1);
    }
    result_.impact_energy += simulation.contact_totals().impact;
    result_.cuts += simulation.contact_totals().cuts;
    return true;
  }

  const PhasedMotion& plan_;
  const Eigen::VectorXd& design_;
  const Trajectory& motion_;
  const int steps_;
  const bool touching_;
  const systems::Values<double> values_;
  State state_;
  double time_ = 0.0;
  OpenLoopRun result_;
  std::array<std::vector<double>, 4> rows_;  // [channel] row by row
};

template <int n>
OpenLoopRun simulate_bodies(const PhasedMotion& plan, const Eigen::VectorXd& design, const Trajectory& motion,
                            int steps) {
  OpenLoopRun forward = Driver<n>(plan, design, motion, steps).run();
  if (!plan.contacts.empty() || (forward.impacts.empty() && forward.cuts == 0)) return forward;
  const OpenLoopRun alone = Driver<n>(plan, design, motion, steps, false).run();
  if (alone.failure.empty()) forward.without_contacts = {alone.max_position_error, alone.max_angle_error};
  return forward;
}

}  // namespace

OpenLoopRun simulate_open_loop(const PhasedMotion& plan, const Eigen::VectorXd& design, const Trajectory& motion,
                               int steps) {
  return plan.system->structure().dimension == 2 ? simulate_bodies<2>(plan, design, motion, steps)
                                                 : simulate_bodies<3>(plan, design, motion, steps);
}

Simulated to_simulated(const OpenLoopRun& forward, int steps) {
  Simulated s;
  s.completed = forward.failure.empty();
  s.channels = forward.channels;
  s.trajectory = forward.trajectory;
  const auto line = [&](const std::string& words) { s.report += words + "\n"; };
  line(formatted("steps           %d an interval", steps));
  line(formatted("deviation       at most %.3g m of a centre of mass, %.3g rad of an attitude, from the motion's nodes",
                 forward.max_position_error, forward.max_angle_error));
  line(forward.overlap > 0.0 ? formatted("overlap         at most %.3g mm", 1e3 * forward.overlap)
                             : std::string("overlap         none"));
  for (const auto& [from, to] : forward.impacts)
    line(formatted("impact          in the step from %.6g to %.6g s", from, to));
  if (!forward.impacts.empty()) line(formatted("                %.3g J lost in all", std::abs(forward.impact_energy)));
  if (forward.cuts > 0)
    line(
        formatted("cuts            of %d steps, where bodies come close: that is another discrete path", forward.cuts));
  if (forward.without_contacts)
    line(formatted(
        "                without contacts at most %.3g m, %.3g rad: parts that graze by plan push each other here",
        forward.without_contacts->first, forward.without_contacts->second));
  if (!forward.note.empty()) line("note            " + forward.note);
  line(forward.failure.empty() ? formatted("end             at %.6g s", forward.time)
                               : formatted("failed          at %.6g s: ", forward.time) + forward.failure);
  return s;
}

}  // namespace dodyn::evaluators
