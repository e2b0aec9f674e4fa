#include "evaluators/motion/trajectory.hpp"

#include <algorithm>
#include <numeric>

#include "dmoc/attitudes.hpp"
#include "systems/skeleton.hpp"

namespace dodyn::evaluators {

namespace {

// Returns the unit of each coordinate: `slide` of lengths, `turn` of angles.
std::vector<std::string> units_of_coordinates(const systems::Model& model, const char* slide, const char* turn) {
  std::vector<std::string> units;
  for (int c = 0; c < model.structure.n(); ++c) units.emplace_back(model.slides(c) ? slide : turn);
  return units;
}

// Returns the unit of a control; empty for an actuator at a point, which may exert both a force and a torque.
std::string unit_of_control(const systems::Model& model, int coordinate) {
  return coordinate < 0 ? "" : model.slides(coordinate) ? "N" : "N m";
}

}  // namespace

Channels motion_channels(const MotionDescription& description) {
  const systems::Model& model = description.system().model();
  const auto& tree = model.structure;
  std::vector<std::string> controls, control_units, ends;
  for (const auto& actuator : tree.actuators) {
    controls.push_back(actuator.name);
    control_units.push_back(unit_of_control(model, actuator.coordinate));
  }
  const std::string root = description.root_name();
  const std::vector<std::string> letters = {"_x", "_y", "_z"};
  for (std::size_t p = 0; p <= tree.links.size(); ++p)
    for (int i = 0; i < tree.dimension; ++i)
      ends.push_back((p == 0 ? root : tree.links[p - 1].name + "_end") + letters[i]);
  const int N = description.knots();
  const MotionDescription::Forces forces = description.forces();
  const char* const between = description.degree() == 1 ? "controls of the interval that begins at the node"
                                                        : "controls at the quadrature point that follows the knot";
  Channels list = {
      {"t", "s", "time since the start; the last node of a phase and the first of the next share it", N, {"t"}},
      {"q", "", "coordinates", N, tree.coordinate_names, units_of_coordinates(model, "m", "rad")},
      {"p", "",
       "discrete momenta: leaving at the first node of a phase, arriving at the others; with hold or [constraint] they "
       "differ from mass times rate by half an interval's impulse of the constraint forces",
       N, tree.coordinate_names, units_of_coordinates(model, "N s", "N m s")},
      {"u", "", std::string(between) + "; the last node of a phase repeats the last ones", N, controls, control_units},
      {forces.name, forces.unit, forces.description, N, forces.names},
      {"energy", "J", "discrete energy of the interval that begins at the node", N, {"energy"}},
      {"points", "m", "the " + root + " and the ends of the links", N, ends, {}, systems::joined_points(tree, root)},
      {"phase", "1", "number of the phase", N, {"phase"}},
  };
  for (Channel& channel : description.more_channels()) list.push_back(std::move(channel));
  return list;
}

Trajectory read_off(const MotionDescription& mesh, const Eigen::VectorXd& design, const SolvedMotion& solved,
                    const dmoc::Motion& motion) {
  const dmoc::MotionProblem& problem = solved.planned.problem;
  const dmoc::System& system = problem.system();
  const dmoc::Attitudes attitudes(system);
  const auto tree = system.model().tree<double>(autodiff::values_of(problem.numbers()));
  const int n = system.n(), N = mesh.knots();
  Eigen::MatrixXd t(N, 1), q(N, n), p(N, n), u(N, system.inputs()), force = Eigen::MatrixXd::Zero(N, n), energy(N, 1),
                                                                    phase(N, 1), points;
  double time = 0.0;
  Eigen::Index row = 0;
  for (int i = 0; i < problem.phases(); ++i) {
    const dmoc::PhaseMotion& m = motion.phases[i];
    const auto& held = problem.functions(i).held;
    const Eigen::Index K = m.u.rows();
    for (Eigen::Index k = 0; k <= K; ++k, ++row) {
      t(row, 0) = time + system.scheme().position(k) * m.h;
      const dmoc::Reference& reference = problem.reference(i, k);
      q.row(row) = attitudes.moved(m.q.row(k).transpose(), reference, system.no_reference()).transpose();
      p.row(row) = attitudes.along_axes(m.p.row(k).transpose(), m.q.row(k).transpose(), reference).transpose();
      u.row(row) = m.u.row(std::min(k, K - 1));
      energy(row, 0) = m.energy(std::min(k, K - 1));
      phase(row, 0) = i;
      for (std::size_t j = 0; j < held.size(); ++j) force(row, held[j]) = m.held_force(k, j);
      const std::vector<double> at(q.row(row).begin(), q.row(row).end());
      const auto ends = tree.points(at.data());
      if (points.size() == 0) points.resize(N, ends.size());
      for (std::size_t j = 0; j < ends.size(); ++j) points(row, j) = ends[j];
    }
    time += m.h * problem.index(i).intervals;
  }
  const Eigen::MatrixXd forces = force(Eigen::all, mesh.forces().coordinates);
  Trajectory all;
  all.values = {t, q, p, u, forces, energy, points, phase};
  for (auto& values : mesh.more_values({design, solved, motion, all})) all.values.push_back(std::move(values));
  return all;
}

namespace {

// Returns the value at knot `k` of the coarse mesh, from the polynomial of the fine interval that contains the knot.
Eigen::RowVectorXd at_coarse_knot(const dmoc::Scheme& scheme, const Eigen::MatrixXd& rows, Eigen::Index from,
                                  int stride, int k) {
  const double at = stride * scheme.position(k);
  const auto interval = static_cast<int>(at);
  return scheme.values_at(at - interval).transpose() *
         rows.middleRows(from + interval * scheme.degree, scheme.degree + 1);
}

}  // namespace

Trajectory thinned(const MotionDescription& mesh, const Trajectory& fine, int stride) {
  const auto phases = mesh.outline();
  const Eigen::Index nodes = stride * mesh.intervals() * mesh.degree() + static_cast<Eigen::Index>(phases.size());
  Trajectory all;
  for (std::size_t c = 0; c < fine.values.size(); ++c) {
    const Eigen::MatrixXd& rows = fine.values[c];
    if (rows.rows() != nodes) {  // the channel has no row per node
      all.values.push_back(rows);
      continue;
    }
    const bool mean = c == MotionChannel::controls || c == MotionChannel::energies;
    Eigen::MatrixXd& kept = all.values.emplace_back(mesh.knots(), rows.cols());
    Eigen::Index from = 0, to = 0;
    for (const PhaseOutline& phase : phases) {
      const int steps = phase.intervals * mesh.degree();  // number of steps from knot to knot
      for (int k = 0; k <= steps; ++k, ++to) {
        if (mean)
          kept.row(to) = rows.middleRows(from + stride * std::min(k, steps - 1), stride).colwise().mean();
        else if (k % mesh.degree() == 0 || mesh.degree() == 2)
          kept.row(to) = rows.row(from + stride * k);
        else
          kept.row(to) = at_coarse_knot(mesh.system().scheme(), rows, from, stride, k);
      }
      from += stride * steps + 1;
    }
  }
  return all;
}

namespace {

// Returns all phases, with constant spacing in time. For degrees above 1, the steps from knot to knot are treated as
// equal intervals; this is approximate for degree 3.
std::vector<PlannedPhase> phases_of(const MotionDescription& mesh, const Trajectory& trajectory) {
  const auto& values = trajectory.values;
  std::vector<PlannedPhase> phases;
  Eigen::Index row = 0;
  for (const PhaseOutline& phase : mesh.outline()) {
    const Eigen::Index K = phase.intervals * mesh.degree();
    const auto& t = values[MotionChannel::time];
    phases.push_back({phase.held, (t(row + K, 0) - t(row, 0)) / static_cast<double>(K),
                      values[MotionChannel::coordinates].middleRows(row, K + 1),
                      values[MotionChannel::momenta].middleRows(row, K + 1),
                      values[MotionChannel::controls].middleRows(row, K)});
    row += K + 1;
  }
  return phases;
}

}  // namespace

MotionPath path_from(const MotionDescription& mesh, const Trajectory& trajectory) {
  MotionPath path;
  for (PlannedPhase& phase : phases_of(mesh, trajectory)) {
    path.duration.push_back(phase.interval * static_cast<double>(phase.u.rows()));
    path.q.push_back(std::move(phase.q));
    path.controls.push_back(std::move(phase.u));
  }
  return path;
}

MotionPath mapped(const MotionPath& path, const std::function<dmoc::Sampled(const dmoc::Sampled&, std::size_t)>& map) {
  MotionPath all;
  all.duration = path.duration;
  for (std::size_t i = 0; i < path.q.size(); ++i) {
    auto [q, u] = map({path.q[i], path.controls[i]}, i);
    all.q.push_back(std::move(q));
    all.controls.push_back(std::move(u));
  }
  return all;
}

std::vector<PlannedPhase> planned_phases(const MotionDescription& mesh, const Trajectory& trajectory,
                                         const dmoc::MotionProblem& problem) {
  std::vector<PlannedPhase> phases = phases_of(mesh, trajectory);
  const std::vector<bool> restarts = mesh.continuous_plan().restarts;
  phases.resize(restarts.size());
  const int degree = mesh.degree();
  for (std::size_t i = 0; i < phases.size(); ++i) {
    PlannedPhase& phase = phases[i];
    phase.restarts = restarts[i];
    phase.holds = problem.position_constraints(i);
    if (degree == 1) continue;
    const auto nodes = Eigen::seqN(0, phase.u.rows() / degree + 1, degree);
    phase.order = 2 * degree;
    phase.interval *= degree;
    phase.q = Eigen::MatrixXd(phase.q(nodes, Eigen::all));
    phase.p = Eigen::MatrixXd(phase.p(nodes, Eigen::all));
  }
  return phases;
}

Channels feedback_channels(const MotionDescription& description) {
  const systems::Model& model = description.system().model();
  const auto& tree = model.structure;
  const int N = description.knots();
  std::vector<std::string> gains, gain_units, controls, control_units;
  for (const auto& actuator : tree.actuators) {
    const std::string unit = unit_of_control(model, actuator.coordinate);
    controls.push_back(actuator.name);
    control_units.push_back(unit);
    for (const bool rate : {false, true})
      for (int c = 0; c < tree.n(); ++c) {
        const std::string& name = tree.coordinate_names[c];
        gains.push_back(actuator.name + "/" + (rate ? "rate(" + name + ")" : name));
        gain_units.push_back(unit.empty() ? "" : unit + (rate ? " s/" : "/") + (model.slides(c) ? "m" : "rad"));
      }
  }
  return {
      {"gain", "",
       "feedback u + feedforward + gain (planned - actual) of the interval that begins at the node, with the "
       "deviation at the node; coordinates CONTROL/COORDINATE, CONTROL/rate(COORDINATE) for each control",
       N, gains, gain_units},
      {"feedforward", "",
       "correction of the controls of the interval that begins at the node, for the known error of its mesh", N,
       controls, control_units},
      {"v", "", "planned rates at the nodes", N, tree.coordinate_names, units_of_coordinates(model, "m/s", "rad/s")}};
}

std::vector<Eigen::MatrixXd> feedback_values(const MotionDescription& mesh, const Trajectory& trajectory,
                                             const dmoc::MotionProblem& problem) {
  const dmoc::System& system = mesh.system();
  const Eigen::Index n = system.n(), inputs = system.inputs(), N = mesh.knots(), degree = mesh.degree();
  Eigen::MatrixXd gain = Eigen::MatrixXd::Constant(N, 2 * n * inputs, not_a_number),
                  feedforward = Eigen::MatrixXd::Constant(N, inputs, not_a_number),
                  v = Eigen::MatrixXd::Constant(N, n, not_a_number);
  Eigen::Index row = 0;  // first row of the phase
  for (const auto& [moving, rates, laws] :
       plan_feedback(system, autodiff::values_of(problem.numbers()), planned_phases(mesh, trajectory, problem))) {
    const Eigen::Index K = rates.rows() - 1, size = moving.size();
    for (Eigen::Index k = 0; k <= K; ++k) v.row(row + k * degree) = rates.row(k);
    for (Eigen::Index r = 0; r <= K * degree && !laws.empty(); ++r) {
      const Feedback& law = laws[std::min(r / degree, K - 1)];
      Eigen::MatrixXd whole = Eigen::MatrixXd::Zero(inputs, 2 * n);
      for (Eigen::Index j = 0; j < size; ++j) {
        const int c = moving[j];
        whole.col(c) = law.gain.col(j);
        whole.col(n + c) = law.gain.col(size + j);
      }
      for (Eigen::Index i = 0; i < inputs; ++i) gain.row(row + r).segment(2 * n * i, 2 * n) = whole.row(i);
      feedforward.row(row + r) = -law.ahead.transpose();
    }
    row += K * degree + 1;
  }
  return {gain, feedforward, v};
}

PlannedMotion planned(const MotionDescription& description, const Outcome& archived, double loss) {
  std::vector<int> foot(description.system().structure().dimension);
  std::iota(foot.begin(), foot.end(), 0);
  const auto outline = description.outline();
  if (description.degree() > 2)
    throw ConfigError(description.section() + ".order = 6 is not supported by the contact simulation; allowed: 2, 4");
  PlannedMotion motion;
  motion.limit = description.control_limit();
  int landings = 0;
  for (PlannedPhase& phase : phases_of(description, archived.trajectory)) {
    const std::size_t i = motion.phases.size();
    if (!phase.held.empty() && phase.held != foot)
      throw ConfigError("[phase " + outline[i].name +
                        "] fixes coordinates, which the contact simulation does not support; allowed: fixed = the "
                        "point of the first link, or nothing");
    motion.phases.push_back({outline[i].name, !phase.held.empty(), phase.interval, std::move(phase.q),
                             std::move(phase.p), std::move(phase.u),
                             description.landing(i, archived.evaluation.design)});
    landings += motion.phases.back().landing.has_value();
  }
  if (landings == 1) motion.loss = loss;
  return motion;
}

}  // namespace dodyn::evaluators
