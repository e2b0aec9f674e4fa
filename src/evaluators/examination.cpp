#include "evaluators/examination.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "dmoc/gait.hpp"
#include "record/text.hpp"

namespace dodyn::evaluators {

namespace {

// Factor of the reference effort above which an actuator without a limit is suspicious. The factor is larger if the
// cost depends on the actuator, because the cost then limits the effort: a motion of minimum effort between obstacles
// has short pushes of 13 times the reference (configs/burr.cfg).
constexpr double usual_exertion = 10.0, usual_exertion_at_a_cost = 100.0;
// Minimum range of a coordinate, m or rad, for the reference effort of an actuator whose coordinate does not move.
constexpr double least_range = 0.1;
// Overlap of parts between nodes above which there is a warning, relative to the width of the thinner part.
constexpr double suspicious_overlap = 0.001;
// Work below this is rounding of the solver, J.
constexpr double least_work = 1e-9;
// Number of postures of a motion at which weight and inertia are evaluated.
constexpr Eigen::Index postures = 9;

std::vector<bool> which_turn(const systems::Tree<double>& tree) {
  std::vector<bool> turns(tree.n(), false);
  for (const auto& link : tree.links)
    for (std::size_t i = 0; i < link.moves.size(); ++i)
      turns[link.first + i] = link.moves[i].kind == systems::Move::turn;
  return turns;
}

// Whether the control is a force, N. Otherwise it is a torque, N m.
bool pushes(const systems::Tree<double>& tree, const systems::Actuator<double>& actuator) {
  if (actuator.coordinate >= 0) return !which_turn(tree)[actuator.coordinate];
  return std::ranges::any_of(actuator.force, [](double along) { return along != 0.0; });
}

}  // namespace

std::vector<Finding> examine(const ExaminedQuantities& m) {
  std::vector<Finding> all;
  using enum Finding::Severity;
  const auto find = [&](bool is, Finding::Severity severity, const std::string& words) {
    if (is) all.push_back({severity, words});
  };
  constexpr double degree = 180.0 / std::numbers::pi;
  const double bend = degree * m.smallest_knee_flexion, fold = degree * m.largest_knee_flexion, turn = degree * m.turn,
               balance = std::abs(m.balance), work = std::max(m.work, least_work);
  find(std::isfinite(bend) && bend < -2.0, impossible, formatted("a knee folds the wrong way by %.0f degrees", -bend));
  find(fold > 165.0, impossible, formatted("a knee folds by %.0f degrees", fold));
  find(m.pull > 1e-6, impossible, formatted("the ground would have to pull with %.4g N", m.pull));
  find(m.pulls_at_touch_down, impossible, "the ground would have to pull at touch-down");
  find(m.close_legs > 0, impossible, formatted("the legs come too close in %d time steps", m.close_legs));
  find(m.leg_order_violations > 0, impossible,
       formatted("the swing leg passes on the wrong side of the stance leg in %d time steps", m.leg_order_violations));
  find(m.foot_penetration > 0.01, impossible, formatted("a foot goes %.3f m under the ground", m.foot_penetration));
  find(m.foot_penetration > 0.001 && m.foot_penetration <= 0.01, suspicious,
       formatted("a foot goes %.4f m under the ground between time steps", m.foot_penetration));
  find(m.scrape > 0.1 * m.foot_path, suspicious,
       formatted("a foot scrapes along the ground: %.2f m of its way of %.2f m are lower than %g mm", m.scrape,
                 m.foot_path, 1e3 * dmoc::scrape_height));
  find(m.overlap > overlap_limit, unresolved,
       formatted("%s, %.2g %% of the thinner one's width; more intervals or a smaller max-rotation resolve it",
                 m.overlap_text.c_str(), 100.0 * m.overlap));
  find(m.overlap > suspicious_overlap && m.overlap <= overlap_limit, suspicious,
       formatted("%s, %.2g %% of the thinner one's width", m.overlap_text.c_str(), 100.0 * m.overlap));
  find(turn > 60.0, unresolved, formatted("a joint turns by %.0f degrees in one time step", turn));
  find(balance > 0.2 * work, unresolved, formatted("work and losses differ by %.3g J of %.3g J", balance, m.work));
  if (const auto& [allowed, tracked, intervals, evaluator] = m.accuracy; allowed > 0.0)
    find(tracked > allowed, unresolved,
         formatted("on %.0f intervals the continuous equations of motion depart by %.3g (m, rad) from the plan with "
                   "feedback; %s.accuracy is %.3g",
                   intervals, tracked, evaluator.c_str(), allowed));
  // A large turn in one step suggests a coarse mesh. No warning if the tracking error, which measures the mesh itself,
  // is within its limit.
  const bool is_tracked = m.accuracy.allowed > 0.0 && m.accuracy.tracked <= m.accuracy.allowed;
  find(turn > 20.0 && turn <= 60.0 && !is_tracked, suspicious,
       formatted("a joint turns by %.0f degrees in one time step", turn));
  find(balance > 0.05 * work && balance <= 0.2 * work, suspicious,
       formatted("work and losses differ by %.3g J of %.3g J", balance, m.work));
  find(m.lift > 0.35, suspicious, formatted("the gait lifts its foot by %.2f m", m.lift));
  find(m.spike > 0.25 * m.largest_control, suspicious,
       formatted("a control exceeds its values in both neighbouring time steps by %.3g", m.spike));
  for (const ActuatorEffort& e : m.actuator_efforts)
    find(e.largest > (e.has_cost ? usual_exertion_at_a_cost : usual_exertion) * e.reference, suspicious,
         formatted(
             "actuator %s reaches %.4g, %.0f times the effort that weight and a steady motion need; it has no limit%s",
             e.actuator.c_str(), e.largest, e.largest / e.reference, e.has_cost ? "" : " and no cost"));
  return all;
}

void examine_controls(const systems::Tree<double>& tree, const Eigen::MatrixXd& u, const std::vector<int>& intervals,
                      ExaminedQuantities& m) {
  const auto& actuators = tree.actuators;
  std::vector<double> spike(actuators.size(), 0.0);
  double largest_force = 0.0, largest_torque = 0.0;
  const auto largest_of_kind = [&](const auto& actuator) -> double& {
    return pushes(tree, actuator) ? largest_force : largest_torque;
  };
  for (std::size_t a = 0; a < actuators.size(); ++a) {
    double& largest = largest_of_kind(actuators[a]);
    Eigen::Index first = 0;
    for (const int count : intervals) {
      const auto size = [&](Eigen::Index k) { return std::abs(u(first + k, a)); };
      for (Eigen::Index k = 0; k < count; ++k) largest = std::max(largest, size(k));
      for (Eigen::Index k = 1; k + 1 < count; ++k)
        spike[a] = std::max(spike[a], size(k) - std::max(size(k - 1), size(k + 1)));
      first += count + 1;
    }
  }
  for (std::size_t a = 0; a < actuators.size(); ++a) {
    double reference = largest_of_kind(actuators[a]);
    if (actuators[a].limit) reference = std::min(reference, *actuators[a].limit);
    if (reference > 0.0 && spike[a] * std::max(m.largest_control, 1e-300) >= m.spike * reference) {
      m.spike = spike[a];
      m.largest_control = reference;
    }
  }
}

std::string with_warning(const std::string& words, const std::string& reason) {
  static const std::string warning = "warning: ";
  if (reason.starts_with(warning)) return warning + words + "; " + reason.substr(warning.size());
  return warning + words + (reason.empty() ? "" : "; " + reason);
}

void judge(const std::vector<Finding>& findings, bool rejects, Evaluation& e) {
  if (e.status != Status::ok || findings.empty()) return;
  const auto add = [](std::string& words, const std::string& what) { words += (words.empty() ? "" : "; ") + what; };
  std::string refusals, doubts;
  Status status = Status::ok;
  for (const auto& [severity, what] : findings) {
    const bool doubt = !rejects || severity == Finding::Severity::suspicious;
    add(doubt ? doubts : refusals, what);
    if (doubt) continue;
    if (severity == Finding::Severity::impossible) status = Status::infeasible;
    if (severity == Finding::Severity::unresolved && status == Status::ok) status = Status::not_converged;
  }
  if (!doubts.empty()) e.reason = with_warning(doubts, e.reason);
  if (refusals.empty()) return;
  e.reason = refusals + (e.reason.empty() ? "" : "; ") + e.reason;
  e.status = status;
  e.gradient.resize(0);
}

std::string warnings_text(const std::vector<Finding>& findings) {
  std::string text = "warnings\n";
  for (const Finding& finding : findings) text += "  " + finding.words + "\n";
  return text + (findings.empty() ? "  none\n" : "");
}

std::vector<ActuatorEffort> actuator_efforts(const systems::Tree<double>& tree, const Eigen::VectorXd& t,
                                             const Eigen::MatrixXd& q, const Eigen::MatrixXd& u,
                                             const std::vector<bool>& has_cost) {
  using autodiff::Dual;
  const double duration = t(t.size() - 1) - t(0);
  const auto& actuators = tree.actuators;
  if (std::ranges::all_of(actuators, [](const auto& a) { return a.limit.has_value(); })) return {};
  const std::size_t n = tree.n();
  const std::vector<bool> turns = which_turn(tree);

  std::vector<double> speeds(n, 0.0);  // maximum speed of each coordinate, m/s or rad/s
  for (Eigen::Index k = 0; k + 1 < q.rows(); ++k)
    if (const double h = t(k + 1) - t(k); h > 0.0)
      for (std::size_t c = 0; c < n; ++c) {
        speeds[c] = std::max(speeds[c], std::abs(q(k + 1, c) - q(k, c)) / h);
      }

  // load of each coordinate, N or N m: the static force, plus the inertia times the acceleration that the range or the
  // speed needs; maximum over the postures
  std::vector<double> load(n, 0.0);
  const std::vector<double> still(n, 0.0);
  const Eigen::Index rows = std::min(postures, q.rows());
  for (Eigen::Index r = 0; r < rows; ++r) {
    const Eigen::VectorXd posture = q.row(r * (q.rows() - 1) / std::max<Eigen::Index>(rows - 1, 1)).transpose();
    const std::vector<double> at(posture.begin(), posture.end());
    std::vector<Dual<double>> moved(at.begin(), at.end());
    const std::vector<Dual<double>> rest(n, 0.0);
    const double resting = tree.lagrangian(at.data(), still.data());
    for (std::size_t c = 0; c < n; ++c) {
      moved[c].tangent = 1.0;
      const double push = std::abs(tree.lagrangian(moved.data(), rest.data()).tangent);
      moved[c].tangent = 0.0;
      std::vector<double> rate = still;
      rate[c] = 1.0;
      const double inertia = 2.0 * (tree.lagrangian(at.data(), rate.data()) - resting);
      const auto column = q.col(c);
      const double range = std::max(column.maxCoeff() - column.minCoeff(), least_range), speed = speeds[c];
      load[c] = std::max(load[c],
                         push + inertia * std::max(4.0 * range / (duration * duration), 2.0 * speed * speed / range));
    }
  }
  const auto largest_of = [&](bool turn) {
    double largest = 0.0;
    for (std::size_t c = 0; c < n; ++c)
      if (turns[c] == turn) largest = std::max(largest, load[c]);
    return largest;
  };

  const Eigen::VectorXd first = q.row(0).transpose();
  const auto pushed = [&](const std::vector<double>& control) {
    return tree.forces(first.data(), still.data(), control.data());
  };
  std::vector<ActuatorEffort> all;
  for (std::size_t a = 0; a < actuators.size(); ++a) {
    const auto& actuator = actuators[a];
    if (actuator.limit) continue;
    ActuatorEffort e{actuator.name, u.col(a).cwiseAbs().maxCoeff(), 0.0, has_cost[a]};
    if (actuator.coordinate >= 0) {
      e.reference = largest_of(turns[actuator.coordinate]);
    } else {  // an actuator at a point: the control that overcomes the load of a coordinate
      std::vector<double> control(actuators.size(), 0.0);
      const std::vector<double> without = pushed(control);
      control[a] = 1.0;
      const std::vector<double> with = pushed(control);
      for (std::size_t c = 0; c < n; ++c)
        if (const double lever = std::abs(with[c] - without[c]); lever > 1e-6)
          e.reference = std::max(e.reference, load[c] / lever);
    }
    if (e.reference > 0.0) all.push_back(e);
  }
  return all;
}

std::vector<bool> have_cost(const systems::Tree<systems::Number>& tree, bool all, bool losses,
                            const std::vector<dmoc::PathFunction>& costs) {
  std::vector<bool> have;
  for (const auto& actuator : tree.actuators) {
    const std::string control = "u." + actuator.name;
    have.push_back(
        all || (losses && !actuator.loss.is_zero()) || std::ranges::any_of(costs, [&](const dmoc::PathFunction& cost) {
          const auto& quantities = cost.expression.quantities();
          return std::ranges::any_of(quantities, [&](const auto& quantity) { return quantity.text() == control; });
        }));
  }
  return have;
}

}  // namespace dodyn::evaluators
