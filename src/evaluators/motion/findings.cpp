#include "evaluators/motion/findings.hpp"

#include <Eigen/Cholesky>
#include <Eigen/Geometry>
#include <algorithm>
#include <cmath>
#include <numeric>

#include "dmoc/attitudes.hpp"
#include "dmoc/gait.hpp"
#include "systems/mass_matrix.hpp"

namespace dodyn::evaluators {

namespace {

// Rows of the trajectory that are a phase's nodes.
struct Nodes {
  Eigen::Index first = 0, intervals = 0;
};

// Kinetic and potential energy at a row, J, with the momenta of what moves.
double energy_at(const systems::Tree<double>& tree, const std::vector<int>& moving, const Eigen::VectorXd& q,
                 const Eigen::VectorXd& p) {
  const std::vector<double> at(q.begin(), q.end()), still(at.size(), 0.0);
  const Eigen::MatrixXd M = systems::mass_matrix(tree, at);
  const Eigen::MatrixXd moved = M(moving, moving);
  const Eigen::VectorXd push = p(moving);
  return 0.5 * push.dot(moved.llt().solve(push)) - tree.lagrangian(at.data(), still.data());
}

double largest_turn(const dmoc::System& system, const Eigen::MatrixXd& q, const Nodes& nodes) {
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

}  // namespace

Examined examined(const MotionDesigns& designs, const Eigen::VectorXd& design, const Trajectory& trajectory,
                  double clearance) {
  Examined m;
  m.overlap = -clearance;
  if (trajectory.empty()) return m;
  enum { time, coordinates, momenta, controls, held_force };  // channels
  const dmoc::System& system = designs.system();
  const auto tree = system.model().tree<double>(designs.plain(design).numbers);
  const Eigen::MatrixXd &t = trajectory.values[time], &q = trajectory.values[coordinates],
                        &p = trajectory.values[momenta], &u = trajectory.values[controls],
                        &force = trajectory.values[held_force];
  const auto& actuators = tree.actuators;
  const bool on_coordinates =
      std::all_of(actuators.begin(), actuators.end(), [](const auto& a) { return a.coordinate >= 0; });
  // A root whose place is held in some phases and free in others is a foot.
  std::vector<int> root(static_cast<std::size_t>(tree.dimension));
  std::iota(root.begin(), root.end(), 0);
  const auto stands = [&](const MotionDesigns::Phase& phase) {
    return std::includes(phase.held.begin(), phase.held.end(), root.begin(), root.end());
  };
  const auto standing = std::count_if(designs.phases().begin(), designs.phases().end(), stands);
  const bool has_foot = standing > 0 && standing < static_cast<std::ptrdiff_t>(designs.phases().size());
  const int up = tree.dimension - 1;

  std::vector<double> spikes(actuators.size(), 0.0), largest(actuators.size(), 0.0);
  double balance = 0.0, work = 0.0, turn = 0.0;
  Eigen::Index row = 0;
  for (const auto& phase : designs.phases()) {
    const Nodes nodes{row, phase.intervals};
    row += phase.intervals + 1;
    turn = std::max(turn, largest_turn(system, q, nodes));
    for (std::size_t a = 0; a < actuators.size(); ++a) {
      const auto size = [&](Eigen::Index k) { return std::abs(u(nodes.first + k, static_cast<Eigen::Index>(a))); };
      for (Eigen::Index k = 0; k < nodes.intervals; ++k) largest[a] = std::max(largest[a], size(k));
      for (Eigen::Index k = 1; k + 1 < nodes.intervals; ++k)
        spikes[a] = std::max(spikes[a], size(k) - std::max(size(k - 1), size(k + 1)));
      if (!on_coordinates) continue;
      for (Eigen::Index k = nodes.first; k < nodes.first + nodes.intervals; ++k) {
        const double one =
            u(k, static_cast<Eigen::Index>(a)) * (q(k + 1, actuators[a].coordinate) - q(k, actuators[a].coordinate));
        balance += one;
        work += std::abs(one);
      }
    }
    if (system.charts().empty()) {
      const auto& moving = system.pinned(phase.held).moving;
      const auto energy = [&](Eigen::Index at) {
        return energy_at(tree, moving, q.row(at).transpose(), p.row(at).transpose());
      };
      balance -= energy(nodes.first + nodes.intervals) - energy(nodes.first);
    }
    if (!has_foot) continue;
    if (stands(phase)) {
      const double pull = -force.col(up).segment(nodes.first, nodes.intervals + 1).minCoeff();
      m.pull = std::isfinite(m.pull) ? std::max(m.pull, pull) : pull;
      continue;
    }
    if (!std::isfinite(m.scuff)) m.scuff = m.scrape = m.foot_way = 0.0;
    for (Eigen::Index k = nodes.first; k < nodes.first + nodes.intervals; ++k) {
      const double way = (q.row(k + 1) - q.row(k)).head(up).norm();
      m.scuff = std::max(m.scuff, -q(k + 1, up));
      m.foot_way += way;
      if (std::max(q(k, up), q(k + 1, up)) < dmoc::scrape_height) m.scrape += way;
    }
  }
  m.turn = turn;
  for (std::size_t a = 0; a < actuators.size(); ++a)
    if (largest[a] > 0.0 && spikes[a] * std::max(m.largest_control, 1e-300) >= m.spike * largest[a]) {
      m.spike = spikes[a];
      m.largest_control = largest[a];
    }
  // Energies are those of the model alone: no dampers, no overlap of parts, no contacts that take or give some.
  if (!actuators.empty() && system.simply_actuated() && system.charts().empty() && designs.contacts().empty()) {
    m.work = work;
    m.balance = balance;
  }
  m.exertions = exertions(tree, t.col(0), q, u, designs.has_cost());
  for (const auto& knee : tree.knees) {
    const Eigen::VectorXd flexion = knee.flexion * q.col(knee.coordinate);
    const double least = flexion.minCoeff(), most = flexion.maxCoeff();
    m.smallest_knee_flexion = std::isfinite(m.smallest_knee_flexion) ? std::min(m.smallest_knee_flexion, least) : least;
    m.largest_knee_flexion = std::isfinite(m.largest_knee_flexion) ? std::max(m.largest_knee_flexion, most) : most;
  }
  return m;
}

}  // namespace dodyn::evaluators
