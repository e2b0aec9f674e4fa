#include "evaluators/motion/description.hpp"

#include <algorithm>
#include <numeric>

#include "dmoc/attitudes.hpp"
#include "dmoc/balance.hpp"
#include "evaluators/motion/phased_motion.hpp"

namespace dodyn::evaluators {

int MotionDescription::intervals() const {
  int count = 0;
  for (const PhaseOutline& phase : outline()) count += phase.intervals;
  return count;
}
int MotionDescription::knots() const { return intervals() * degree() + static_cast<int>(outline().size()); }

Eigen::VectorXd MotionDescription::middle(const Settings& settings) {
  Eigen::VectorXd middle(settings.variables.size());
  for (std::size_t i = 0; i < settings.variables.size(); ++i)
    middle(i) = 0.5 * (settings.variables[i].lower + settings.variables[i].upper);
  return middle;
}

std::optional<HeldForce> MotionDescription::held_force(int phase, const Expression::Quantity& quantity) const {
  const std::vector<int> held = outline()[phase].held;
  const auto holds = [&](int coordinate) { return std::ranges::find(held, coordinate) != held.end(); };
  if (quantity.arguments.size() != 1) return {};
  const std::string& name = quantity.arguments.front();
  const bool is_root =
      name == root_name() || std::ranges::any_of(system().structure().named_points, [&](const auto& p) {
        return p.name == name && p.place.link == 0 &&
               std::ranges::all_of(p.place.at, [](const systems::Number& x) { return x.is_zero(); });
      });
  const bool of_point = is_root && system().structure().dimension == 2 && holds(0) && holds(1);
  const int coordinate = held_coordinate(system().structure().coordinate_names, quantity);
  if (!holds(coordinate) || (quantity.name != "reaction" && !of_point)) return {};
  return HeldForce{false, static_cast<int>(std::ranges::find(held, coordinate) - held.begin())};
}

systems::Values<double> MotionDescription::plain(const Eigen::VectorXd& design) const { return values(design).plain(); }

MotionPath MotionDescription::path_about_none(const dmoc::MotionProblem& problem, const Eigen::VectorXd& x) const {
  MotionPath path;
  const dmoc::Attitudes attitudes(system());
  for (int i = 0; i < problem.phases(); ++i) {
    const auto& index = problem.index(i);
    const auto& moving = problem.functions(i).moving;
    Eigen::MatrixXd q = Eigen::MatrixXd::Zero(index.knots(), system().n());
    Eigen::MatrixXd u(index.knots() - 1, index.controls);
    for (int k = 0; k < index.knots(); ++k) {
      for (std::size_t j = 0; j < moving.size(); ++j) q(k, moving[j]) = x(index.knot(k) + j);
      q.row(k) = attitudes.moved(q.row(k).transpose(), problem.reference(i, k), system().no_reference()).transpose();
      if (k < u.rows())
        u.row(k) = x.segment(index.control(k / index.degree, k % index.degree), index.controls).transpose();
    }
    path.q.push_back(std::move(q));
    path.controls.push_back(std::move(u));
    path.duration.push_back(index.duration >= 0 ? x(index.duration) : problem.phase(i).duration.value);
  }
  return path;
}

MotionPath MotionDescription::path_of(const dmoc::MotionProblem& problem, const Eigen::VectorXd& x,
                                      const Eigen::VectorXd& design) const {
  MotionPath path = path_about_none(problem, x);
  path.controls.clear();
  refer(path, design);
  return path;
}

void refer_along(const dmoc::System& system, MotionPath& path) {
  path.references.clear();
  if (system.charts().empty()) return;
  dmoc::Reference last;
  for (Eigen::MatrixXd& q : path.q) {
    path.references.push_back(references_along(system, q, last));
    last = path.references.back().back();
  }
}

void MotionDescription::refer(MotionPath& path, const Eigen::VectorXd&) const { refer_along(system(), path); }

Eigen::VectorXd MotionDescription::start(const TranscribedMotion& planned, const MotionPath& path,
                                         bool balanced) const {
  const dmoc::MotionProblem& problem = planned.problem;
  Eigen::VectorXd x = Eigen::VectorXd::Zero(problem.problem().lower.size());
  for (int i = 0; i < problem.phases(); ++i) {
    const auto& index = problem.index(i);
    const auto& moving = problem.functions(i).moving;
    for (int k = 0; k < index.knots(); ++k)
      for (std::size_t j = 0; j < moving.size(); ++j) x(index.knot(k) + j) = path.q[i](k, moving[j]);
    for (int k = 0; k + 1 < index.knots() && !path.controls.empty(); ++k)
      x.segment(index.control(k / index.degree, k % index.degree), index.controls) =
          path.controls[i].row(k).transpose();
    if (index.duration >= 0) x(index.duration) = path.duration[i];
  }
  problem.fill(x);
  if (balanced && path.controls.empty()) {
    x = dmoc::with_balancing_forces(problem, x);
    problem.fill(x);  // The unknowns of work depend on the balancing forces.
  }
  for (const auto& begin : planned.begin) begin(x);
  planned.separation.fill(problem, x);
  return x;
}

MotionDescription::Forces MotionDescription::forces() const {
  Forces all;
  all.names = system().structure().coordinate_names;
  all.coordinates.resize(all.names.size());
  std::iota(all.coordinates.begin(), all.coordinates.end(), 0);
  return all;
}

}  // namespace dodyn::evaluators
