// An initial guess without controls: a contact simulation of free motion from the initial state (Johnson 2013, section
// 4.4.3.1).
#include <algorithm>
#include <cmath>

#include "dmoc/attitudes.hpp"
#include "evaluators/motion/contacts.hpp"
#include "evaluators/motion/initial_guess.hpp"
#include "rigid/simulation.hpp"
#include "systems/bodies.hpp"

namespace dodyn::evaluators {

using dmoc::Coefficient;

namespace {

struct FreeMotion {
  std::vector<double> t;           // s, equally spaced
  std::vector<Eigen::VectorXd> q;  // coordinates without references
  std::vector<double> impacts;     // times of impacts, s; if contact lasts several steps, the first
};

struct InitialTwist {  // velocity (m/s) and angular velocity (rad/s) of a link's centre of mass, in world axes
  int link = 0;
  std::optional<std::array<double, 3>> velocity, spin;
};

template <int n>
FreeMotion simulate_free_motion(const systems::Model& model, const systems::Values<double>& values,
                                const Eigen::VectorXd& q, const Eigen::VectorXd& v,
                                const std::vector<InitialTwist>& initial_twists, rigid::Options options,
                                std::optional<std::pair<double, double>> law, int steps) {
  auto bodies = systems::bodies<n>(model, values, {}, {false, std::nullopt, false});
  if (law)
    for (auto& body : bodies.world.bodies) body.surface = {law->first, law->second};
  auto state = bodies.state(std::vector<double>(q.begin(), q.end()), std::vector<double>(v.begin(), v.end()));
  for (const InitialTwist& one : initial_twists) {
    auto& twist = state.twists[bodies.links[one.link].body];
    for (int i = 0; one.velocity && i < n; ++i) twist[i] = (*one.velocity)[i];
    if (one.spin && n == 2) twist[2] = (*one.spin)[2];
    for (int i = 0; one.spin && n == 3 && i < 3; ++i) twist[n + i] = (*one.spin)[i];
  }
  FreeMotion found;
  const auto look = [&](const rigid::Simulation<n>& simulation) {
    const auto now = bodies.coordinates(bodies.state(simulation)).q;
    found.t.push_back(simulation.time());
    found.q.push_back(Eigen::Map<const Eigen::VectorXd>(now.data(), now.size()));
  };
  try {
    rigid::Simulation<n> simulation(bodies.world, options);
    simulation.start(state.poses, state.twists, 0.0);
    look(simulation);
    bool touched = false;
    for (int i = 0; i < steps && simulation.step(); ++i) {
      look(simulation);
      const bool touches =
          std::ranges::any_of(simulation.impulses(), [](const auto& each) { return each.impulse.norm() > 1e-9; });
      if (touches && !touched) found.impacts.push_back(simulation.time());
      touched = touches;
    }
  } catch (const std::invalid_argument&) {
    found.t.clear();  // the simulation cannot start from this state
  }
  return found;
}

}  // namespace

void simulate_unactuated(const PhasedMotion& motion, MotionPath& path, const Eigen::VectorXd& design) {
  const MotionValues all = motion_values(motion, design);
  const auto evaluate = [&](const Expression& e) { return all.evaluated(e); };
  Eigen::VectorXd v = Eigen::VectorXd::Zero(motion.system->n());
  for (const GivenCoordinate& g : motion.start.given)
    if (g.rate) v(g.coordinate) = all.evaluated(g.value).value;
  std::vector<InitialTwist> initial_twists;
  for (const Placement& p : motion.start.placements) {
    if (!p.moves() || p.from >= 0) continue;
    const auto numbers = [](const std::optional<std::array<Coefficient, 3>>& three) {
      std::optional<std::array<double, 3>> plain;
      if (three) plain = {(*three)[0].value, (*three)[1].value, (*three)[2].value};
      return plain;
    };
    const dmoc::LinkTwist twist = twist_of(p, evaluate);
    initial_twists.push_back({p.link, numbers(twist.velocity), numbers(twist.spin)});
  }
  double whole = 0.0;
  int intervals = 0;
  for (std::size_t i = 0; i < motion.phases.size(); ++i) {
    whole += path.duration[i];
    intervals += motion.phases[i].intervals;
  }
  constexpr int finer = 4;
  rigid::Options options;
  options.step = whole / (finer * intervals);
  if (motion.penalty > 0.0) {
    options.response = rigid::Response::penalty;
    options.stiffness = motion.penalty;
  }
  std::optional<std::pair<double, double>> law;
  if (!motion.contacts.empty()) law = bounce(motion, motion.contacts.front(), design);
  const Eigen::VectorXd first = path.q.front().row(0).transpose();
  const auto found = motion.system->structure().dimension == 2
                         ? simulate_free_motion<2>(motion.system->model(), plain_values(motion, design), first, v,
                                                   initial_twists, options, law, finer * intervals)
                         : simulate_free_motion<3>(motion.system->model(), plain_values(motion, design), first, v,
                                                   initial_twists, options, law, finer * intervals);
  if (found.t.size() < 2) return;
  path.simulated = true;

  // Each simulated impact ends one piece. The other pieces share the remaining time in proportion to their durations.
  std::size_t touched = 0;
  double begin = 0.0;
  const dmoc::Attitudes attitudes(*motion.system);
  for (std::size_t i = 0; i < motion.phases.size(); ++i) {
    const bool ends_by_contact = motion.penalty == 0.0 && std::ranges::any_of(motion.contacts, [&](const auto& c) {
                                   return c.phase == static_cast<int>(i);
                                 });
    if (ends_by_contact && touched < found.impacts.size() && found.impacts[touched] > begin) {
      path.duration[i] = found.impacts[touched++] - begin;
      double planned = 0.0;
      for (std::size_t j = i + 1; j < motion.phases.size(); ++j) planned += path.duration[j];
      for (std::size_t j = i + 1; j < motion.phases.size(); ++j)
        path.duration[j] *= std::max(whole - begin - path.duration[i], 1e-3 * whole) / planned;
    }
    for (int k = 0; k <= motion.phases[i].intervals * motion.degree(); ++k) {
      const double passed = motion.system->scheme().position(k),
                   t = std::min(begin + path.duration[i] * passed / motion.phases[i].intervals, found.t.back());
      const auto next = std::max<std::size_t>(1, std::ranges::lower_bound(found.t, t) - found.t.begin());
      const std::size_t at = std::min(next, found.t.size() - 1);
      path.q[i].row(k) =
          attitudes
              .between(found.q[at - 1], motion.system->no_reference(), found.q[at], motion.system->no_reference(),
                       (t - found.t[at - 1]) / (found.t[at] - found.t[at - 1]))
              .transpose();
    }
    begin += path.duration[i];
  }
}

}  // namespace dodyn::evaluators
