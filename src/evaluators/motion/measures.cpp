// Metrics, examined quantities and report of motions in phases.
#include <Eigen/Cholesky>
#include <Eigen/Geometry>
#include <algorithm>
#include <cmath>
#include <numeric>

#include "dmoc/attitudes.hpp"
#include "dmoc/gait.hpp"
#include "evaluators/motion/avoid.hpp"
#include "evaluators/motion/contacts.hpp"
#include "evaluators/motion/design.hpp"
#include "evaluators/motion/open_loop.hpp"
#include "evaluators/motion/pictures.hpp"
#include "evaluators/motion/trajectory.hpp"
#include "evaluators/motion/transcription.hpp"
#include "record/text.hpp"
#include "systems/mass_matrix.hpp"

namespace dodyn::evaluators {

namespace {

// Sums and extremes over the phases of a motion.
struct Totals {
  double time = 0.0, largest = 0.0, squared = 0.0, work = 0.0;
  double normal = not_a_number;   // minimum normal force on a standing link, N
  std::vector<double> durations;  // s
};
Totals totals_of(const MotionDescription::MetricInputs& seen) {
  const dmoc::MotionProblem& problem = seen.solved.planned.problem;
  const auto& tree = problem.system().structure();
  const dmoc::Scheme& scheme = problem.system().scheme();
  const int degree = scheme.degree;
  Totals all;
  for (int i = 0; i < problem.phases(); ++i) {
    const dmoc::PhaseMotion& m = seen.motion.phases[i];
    const auto& held = problem.functions(i).held;
    const Eigen::Index K = m.u.rows();
    if (!held.empty() && held.front() == 0 && std::ssize(held) >= tree.dimension) {
      const double least = m.held_force.col(tree.dimension - 1).minCoeff();
      all.normal = std::isfinite(all.normal) ? std::min(all.normal, least) : least;
    }
    for (Eigen::Index k = 0; k < K; ++k) {
      for (Eigen::Index a = 0; a < m.u.cols(); ++a) {
        const int c = tree.actuators[a].coordinate;
        if (c >= 0) all.work += std::abs(m.u(k, a) * scheme.change(k % degree, m.q, k - k % degree, c));
      }
    }
    if (m.u.size() > 0) all.largest = std::max(all.largest, m.u.cwiseAbs().maxCoeff());
    if (degree == 1)
      all.squared += m.h * m.u.squaredNorm();
    else
      for (Eigen::Index k = 0; k < K; ++k) all.squared += m.h * scheme.weights(k % degree) * m.u.row(k).squaredNorm();
    all.durations.push_back(m.h * problem.index(i).intervals);
    all.time += all.durations.back();
  }
  return all;
}

// The rows of a phase in the trajectory, one per knot: `first` to `first + intervals`. `intervals`: the phase's number
// of intervals times the degree.
struct KnotRows {
  Eigen::Index first = 0, intervals = 0;
};

// Returns the sum of kinetic and potential energy at a row, J. `p`: momenta. If they violate the holds, impulses of the
// holds correct them first.
double energy_at(const dmoc::System& system, const systems::Tree<double>& tree, const std::vector<int>& moving,
                 dmoc::ConstraintEvaluator& holds, const Eigen::VectorXd& q, const Eigen::VectorXd& p) {
  const std::vector<double> at(q.begin(), q.end()), still(at.size(), 0.0);
  const Eigen::MatrixXd M = systems::mass_matrix(tree, at);
  const Eigen::MatrixXd moved = M(moving, moving);
  Eigen::VectorXd push = p(moving);
  if (!holds.empty()) push = dmoc::with_constraint_force(moved, holds.slopes(system.no_reference(), q(moving)), push);
  return 0.5 * push.dot(moved.llt().solve(push)) - tree.lagrangian(at.data(), still.data());
}

double max_joint_step(const dmoc::System& system, const Eigen::MatrixXd& q, const KnotRows& nodes) {
  const auto& tree = system.structure();
  const dmoc::Attitudes attitudes(system);
  double largest = 0.0;
  for (Eigen::Index k = nodes.first; k < nodes.first + nodes.intervals; ++k) {
    for (const auto& link : tree.links)
      for (std::size_t i = 0; i < link.moves.size(); ++i)
        if (const int c = link.first + static_cast<int>(i);
            link.moves[i].kind == systems::Move::turn && !system.is_chart(c))
          largest = std::max(largest, std::abs(q(k + 1, c) - q(k, c)));
    for (std::size_t c = 0; c < system.charts().size(); ++c) {
      const auto attitude = [&](Eigen::Index row) {
        return attitudes.rotation(c, q.row(row).transpose(), system.no_reference());
      };
      largest = std::max(largest, Eigen::AngleAxisd(attitude(k).transpose() * attitude(k + 1)).angle());
    }
  }
  return largest;
}

// Adds the absolute work of the actuators, all on coordinates, to m.work, and their work minus the change of energy to
// m.balance.
void add_energies(const dmoc::System& system, const systems::Tree<double>& tree, const std::vector<int>& moving,
                  dmoc::ConstraintEvaluator holds, const Eigen::MatrixXd& q, const Eigen::MatrixXd& p,
                  const Eigen::MatrixXd& u, const KnotRows& nodes, ExaminedQuantities& m) {
  for (std::size_t a = 0; a < tree.actuators.size(); ++a)
    for (Eigen::Index k = nodes.first; k < nodes.first + nodes.intervals; ++k) {
      const int c = tree.actuators[a].coordinate, point = (k - nodes.first) % system.scheme().degree;
      const double work = u(k, a) * system.scheme().change(point, q, k - point, c);
      m.balance += work;
      m.work += std::abs(work);
    }
  const auto energy = [&](Eigen::Index at) {
    return energy_at(system, tree, moving, holds, q.row(at).transpose(), p.row(at).transpose());
  };
  m.balance -= energy(nodes.first + nodes.intervals) - energy(nodes.first);
}

// Updates the quantities of a foot that is the root. Standing: the largest pull of the ground. Moving: the depth below
// the ground and the path lengths. `up`: index of the vertical coordinate.
void add_foot(int up, bool stands, const Eigen::MatrixXd& q, const Eigen::MatrixXd& force, const KnotRows& nodes,
              ExaminedQuantities& m) {
  if (stands) {
    const double pull = -force.col(up).segment(nodes.first, nodes.intervals + 1).minCoeff();
    m.pull = std::isfinite(m.pull) ? std::max(m.pull, pull) : pull;
    return;
  }
  if (!std::isfinite(m.foot_penetration)) m.foot_penetration = m.scrape = m.foot_path = 0.0;
  for (Eigen::Index k = nodes.first; k < nodes.first + nodes.intervals; ++k) {
    const double way = (q.row(k + 1) - q.row(k)).head(up).norm();
    m.foot_penetration = std::max(m.foot_penetration, -q(k + 1, up));
    m.foot_path += way;
    if (std::max(q(k, up), q(k + 1, up)) < dmoc::scrape_height) m.scrape += way;
  }
}

void examine_knees(const systems::Tree<double>& tree, const Eigen::MatrixXd& q, ExaminedQuantities& m) {
  for (const auto& knee : tree.knees) {
    const Eigen::VectorXd flexion = knee.flexion * q.col(knee.coordinate);
    const double least = flexion.minCoeff(), most = flexion.maxCoeff();
    m.smallest_knee_flexion = std::isfinite(m.smallest_knee_flexion) ? std::min(m.smallest_knee_flexion, least) : least;
    m.largest_knee_flexion = std::isfinite(m.largest_knee_flexion) ? std::max(m.largest_knee_flexion, most) : most;
  }
}

std::vector<std::string> hold_names(const PhasedMotion& motion) {
  std::vector<std::string> names;
  for (const MotionPhase& phase : motion.phases)
    for (const std::string& name : phase.holds ? phase.holds->names : std::vector<std::string>())
      if (std::ranges::find(names, name) == names.end()) names.push_back(name);
  return names;
}

}  // namespace

bool MotionDesigns::pushes_at_a_point() const {
  const auto& actuators = motion_.system->structure().actuators;
  return std::ranges::any_of(actuators, [](const auto& actuator) { return actuator.coordinate < 0; });
}

std::vector<Measure> MotionDesigns::measures(const MetricInputs* seen) const {
  const Totals totals = seen ? totals_of(*seen) : Totals{};
  std::vector<Measure> all = {
      {{"duration", "s", "duration of all phases"}, totals.time},
      {{"max_control", "", "largest |control|"}, totals.largest},
      {{"squared_control", "", "integral of the squared controls"}, totals.squared},
      {{"absolute_work", "J",
        "sum of |control times change of its coordinate|; not a number if an actuator pushes at a point"},
       pushes_at_a_point() ? not_a_number : totals.work},
      {{"min_normal_force", "N",
        "smallest force along the last fixed coordinate; not a number if no coordinate is fixed"},
       totals.normal},
  };
  for (std::size_t i = 0; i < motion_.phases.size(); ++i)
    all.push_back({{"duration_" + motion_.phases[i].name, "s", "duration of this phase"},
                   seen ? totals.durations[i] : not_a_number});
  std::vector<TouchingFeature> touched(motion_.contacts.size());
  if (seen && motion_.penalty == 0.0)
    touched = path_of(seen->solved.planned.problem, seen->solved.solution.x, seen->design).touching;
  for (std::size_t i = 0; i < motion_.contacts.size(); ++i) {
    const MotionContact& contact = motion_.contacts[i];
    double when = not_a_number, depth = not_a_number;
    if (seen && motion_.penalty > 0.0) {
      Eigen::Index deepest = 0;
      const auto& values = seen->trajectory.values;
      depth = depths(motion_, contact, seen->design, values[MotionChannel::coordinates]).maxCoeff(&deepest);
      when = values[MotionChannel::time](deepest, 0);
    } else if (seen) {
      when = std::accumulate(totals.durations.begin(), totals.durations.begin() + contact.phase + 1, 0.0);
    }
    all.push_back({{"contact_" + contact.name, "s",
                    motion_.penalty > 0.0 ? "time of the largest overlap" : "time of the contact"},
                   when});
    if (motion_.penalty > 0.0)
      all.push_back({{"overlap_" + contact.name, "m", "overlap at that time; below zero: no contact"}, depth});
    else if (contact.part >= 0 && !contact.edges)
      all.push_back({{"corner_" + contact.name, "1", "corner of the shape that touches, counted from 0"},
                     static_cast<double>(touched[i].corner)});
  }
  if (motion_.avoided.empty()) return all;
  const dmoc::Clearance clear = seen ? seen->clearance : dmoc::Clearance{};
  all.push_back({{"clearance_at_nodes", "m",
                  "smallest distance, at nodes, of parts that must stay apart; negative: they overlap"},
                 clear.at_nodes});
  all.push_back({{"clearance", "m", "proven lower bound, at all times, of the distance of parts that must stay apart"},
                 clear.lower_bound});
  all.push_back({{"clearance_pair", "1",
                  "pair of parts that misses its margin most, relative to the width of the thinner part; numbered from "
                  "0 in the order of [avoid] and of the shapes"},
                 static_cast<double>(clear.pair)});
  all.push_back({{"clearance_time", "s", "time at which this pair misses its margin most"}, clear.time});
  all.push_back(
      {{"clearance_missing", "m", "distance by which this pair misses its margin; below zero: the margin is satisfied"},
       clear.violation});
  all.push_back(
      {{"clearance_share", "1", "clearance_missing over the width of the thinner part"}, clear.relative_violation});
  return all;
}

ExaminedQuantities MotionDesigns::examined(const Eigen::VectorXd& design, const Trajectory& trajectory,
                                           const MetricOf& metric) const {
  ExaminedQuantities m;
  if (!motion_.avoided.empty() && metric("clearance_pair") >= 0.0) {
    m.overlap = metric("clearance_share");
    m.overlap_text = dmoc::violation_text(*motion_.system,
                                          avoided_parts(motion_, design)[static_cast<int>(metric("clearance_pair"))],
                                          metric("clearance_missing"), metric("clearance_time"));
  }
  if (trajectory.empty()) return m;
  const auto tree = motion_.system->model().tree<double>(plain(design).numbers);
  using C = MotionChannel;
  const auto& values = trajectory.values;
  const Eigen::MatrixXd &q = values[C::coordinates], &u = values[C::controls];
  // The energy balance applies only if no dampers, penalty energies or contacts take or supply energy.
  const bool conserves = !tree.actuators.empty() && motion_.system->simply_actuated() &&
                         motion_.system->charts().empty() && motion_.contacts.empty();
  if (conserves) m.work = m.balance = 0.0;
  const MotionValues given = motion_values(motion_, design);
  const auto& numbers = given.model.numbers;
  // A root whose position is held in some phases and free in others is a foot.
  std::vector<int> root(tree.dimension);
  std::iota(root.begin(), root.end(), 0);
  const auto stands = [&](const MotionPhase& phase) {
    return std::includes(phase.held.begin(), phase.held.end(), root.begin(), root.end());
  };
  const auto standing = std::ranges::count_if(motion_.phases, stands);
  const bool has_foot = standing > 0 && standing < static_cast<std::ptrdiff_t>(motion_.phases.size());
  m.turn = 0.0;
  std::vector<KnotRows> all;
  for (const MotionPhase& phase : motion_.phases) {
    all.push_back({all.empty() ? 0 : all.back().first + all.back().intervals + 1, phase.intervals * degree()});
    m.turn = std::max(m.turn, max_joint_step(*motion_.system, q, all.back()));
    if (conserves)
      add_energies(*motion_.system, tree, motion_.system->pinned(phase.held).moving,
                   {holds_of(motion_, static_cast<int>(all.size()) - 1, given), numbers}, q, values[C::momenta], u,
                   all.back(), m);
    if (has_foot) add_foot(tree.dimension - 1, stands(phase), q, values[C::forces], all.back(), m);
  }
  // A cost of squared controls spreads effort over time. There an isolated peak is required, for example by an
  // obstacle, and is not suspicious.
  if (motion_.effort.squared_control == 0.0 || motion_.effort.work()) {
    std::vector<int> intervals_of;
    for (const MotionPhase& phase : motion_.phases) intervals_of.push_back(phase.intervals * degree());
    examine_controls(tree, u, intervals_of, m);
  }
  examine_knees(tree, q, m);
  if (metric("intervals") > intervals()) {  // a thinned trajectory does not contain the steps of the mesh
    m.turn = m.balance = not_a_number;
    m.spike = 0.0;
  }
  m.actuator_efforts = actuator_efforts(tree, values[C::time].col(0), q, u, has_cost());
  return m;
}

ContinuousPlan MotionDesigns::continuous_plan() const {
  ContinuousPlan plan;
  const auto say = [&](const std::string& words) { plan.note += (plan.note.empty() ? "" : "; ") + words; };
  if (motion_.penalty > 0.0) {
    say("contacts act by an energy of the overlap");
    return plan;
  }
  for (std::size_t i = 0; i < motion_.phases.size(); ++i) {
    const MotionPhase& phase = motion_.phases[i];
    const auto contact = std::ranges::find_if(
        motion_.contacts, [&](const MotionContact& c) { return c.phase + 1 == static_cast<int>(i); });
    bool restarts = true;
    if (i > 0) {
      const auto& before = motion_.phases[i - 1].held;
      const bool catches = !std::includes(before.begin(), before.end(), phase.held.begin(), phase.held.end());
      const bool touches = contact != motion_.contacts.end();
      if (touches) say("restarted after the impact of [contact " + contact->name + "]");
      const bool grips =
          phase.holds && !(motion_.phases[i - 1].holds && phase.holds->continues(*motion_.phases[i - 1].holds));
      if (catches || grips) say("restarted at [phase " + phase.name + "], which holds coordinates that moved");
      restarts = touches || catches || grips;
    }
    plan.restarts.push_back(restarts);
  }
  return plan;
}

std::string MotionDesigns::report(const MetricOf& metric) const {
  const double solved = metric("intervals");  // a refinement halves the time steps of all phases
  const int finer = solved > intervals() ? static_cast<int>(solved) / intervals() : 1;
  const std::string order = degree() > 1 ? " of order " + std::to_string(2 * degree()) : "";
  std::string s = "motion\n";
  for (const MotionPhase& phase : motion_.phases)
    s += formatted("  [phase %s] lasts %.5g s, on %d intervals%s\n", phase.name.c_str(),
                   metric("duration_" + phase.name), finer * phase.intervals, order.c_str());
  for (const MotionContact& contact : motion_.contacts) {
    s += motion_.penalty > 0.0
             ? formatted("  [contact %s] overlaps by %.4g mm at %.4g s", contact.name.c_str(),
                         1e3 * metric("overlap_" + contact.name), metric("contact_" + contact.name))
             : formatted("  [contact %s] touches at %.6g s", contact.name.c_str(), metric("contact_" + contact.name));
    if (motion_.penalty == 0.0 && contact.part >= 0 && !contact.edges)
      s += formatted(" by corner %.0f of %s", metric("corner_" + contact.name),
                     motion_.system->model().shapes[contact.part].name.c_str());
    s += "\n";
  }
  s += formatted("  largest control %.4g; integral of squared controls %.5g", metric("max_control"),
                 metric("squared_control"));
  s += pushes_at_a_point() ? "\n" : formatted("; absolute work %.5g J\n", metric("absolute_work"));
  s += formatted("  events lose %.4g J\n", metric("impact_loss"));
  if (const double normal = metric("min_normal_force"); std::isfinite(normal))
    s += normal >= -1e-6 ? formatted("  the last fixed coordinate is pushed with at least %.4g N\n", normal)
                         : formatted("  the last fixed coordinate would have to be pulled with %.4g N\n", -normal);
  if (!motion_.avoided.empty())
    s += formatted(
        "  parts are at least %.4g mm apart at nodes, %.4g mm at all times; nearest to their margin: %s at %.4g s\n",
        1e3 * metric("clearance_at_nodes"), 1e3 * metric("clearance"),
        pair_name(motion_, static_cast<std::size_t>(metric("clearance_pair"))).c_str(), metric("clearance_time"));
  return s;
}

Channels MotionDesigns::more_channels() const {
  Channels all = picture_channels(motion_, knots());
  if (auto names = hold_names(motion_); !names.empty())
    all.push_back({"hold_force", "",
                   "forces (N, N m) of hold and [constraint]; zero in phases without them; not a number at an end "
                   "whose velocities are not unknowns",
                   knots(), std::move(names)});
  return all;
}
std::vector<Eigen::MatrixXd> MotionDesigns::more_values(const MetricInputs& seen) const {
  auto all = pictures(motion_, seen.design, seen.trajectory.values[MotionChannel::coordinates]);
  const auto names = hold_names(motion_);
  if (names.empty()) return all;
  Eigen::MatrixXd& forces = all.emplace_back(Eigen::MatrixXd::Zero(knots(), names.size()));
  Eigen::Index row = 0;
  const dmoc::MotionProblem& problem = seen.solved.planned.problem;
  for (std::size_t p = 0; p < motion_.phases.size(); ++p) {
    const MotionPhase& phase = motion_.phases[p];
    if (phase.holds) {
      // The hold of a contact that stays, if any, comes first.
      const Eigen::MatrixXd of_phase =
          constraint_forces(problem, problem.position_constraints(p).back(), seen.solved.solution.x);
      for (std::size_t i = 0; i < phase.holds->names.size(); ++i) {
        const auto column = std::ranges::find(names, phase.holds->names[i]) - names.begin();
        forces.col(column).segment(row, of_phase.rows()) = of_phase.col(i);
      }
    }
    row += phase.intervals * degree() + 1;
  }
  return all;
}

std::optional<Simulated> MotionDesigns::open_loop_run(const Outcome& archived) const {
  for (const MotionPhase& phase : motion_.phases)
    if (phase.holds)
      throw ConfigError("[phase " + phase.name + "] holds " + listed(phase.holds->names) +
                        ", which the contact simulation does not support; use fixed, or remove hold");
  if (std::ranges::any_of(motion_.phases, [](const MotionPhase& phase) { return !phase.held.empty(); })) return {};
  if (degree() > 2) throw ConfigError("motion.order = 6 is not supported by the contact simulation; allowed: 2, 4");
  return to_simulated(simulate_open_loop(motion_, archived.evaluation.design, archived.trajectory, motion_.keys.steps),
                      motion_.keys.steps);
}

// A root that is held in the next phase, but not in this one, is a foot that touches down.
std::optional<systems::Place<double>> MotionDesigns::landing(int phase, const Eigen::VectorXd&) const {
  const std::size_t i = phase, count = motion_.phases.size();
  if (!motion_.phases[i].held.empty() || motion_.phases[(i + 1) % count].held.empty() ||
      (i + 1 == count && !motion_.periodic))
    return {};
  return systems::Place<double>{0, {0.0, 0.0, 0.0}};
}

}  // namespace dodyn::evaluators
