// Solves the inverse kinematics of the start and the goal: poses of links, through all joints. Reports contradictions.
#include "evaluators/motion/postures.hpp"

#include <Eigen/QR>
#include <algorithm>
#include <cmath>
#include <numbers>

#include "record/text.hpp"

namespace dodyn::evaluators {

namespace {

// Appends the residuals of a link's pose to `all`, in the frame of link `from`: m, then components of directors or rad.
void add_distance(const dmoc::LinkPose& pose, const std::vector<systems::Frame<double>>& frames, int dimension,
                  std::vector<double>& all) {
  using systems::operator-, systems::operator*;
  const auto rest = systems::Frame<double>::at_rest();
  const auto& base = pose.from < 0 ? rest : frames[static_cast<std::size_t>(pose.from)];
  const auto& link = frames[static_cast<std::size_t>(pose.link)];
  const auto way = link.origin - base.origin;
  for (std::size_t i = 0; i < static_cast<std::size_t>(dimension); ++i) {
    if (!pose.place[i]) continue;
    double seen = 0.0;
    for (std::size_t k = 0; k < 3; ++k) seen += base.rotation[k][i] * way[k];
    all.push_back(seen - std::clamp(seen, pose.place[i]->first.value, pose.place[i]->second.value));
  }
  if (pose.rotation)
    for (std::size_t i = 0; i < 3; ++i)
      for (std::size_t j = 0; j < 3; ++j) {
        double seen = 0.0;
        for (std::size_t k = 0; k < 3; ++k) seen += base.rotation[k][i] * link.rotation[k][j];
        all.push_back(seen - (*pose.rotation)[3 * i + j].value);
      }
  if (pose.angle) all.push_back(link.angle - base.angle - pose.angle->value);
}

constexpr double allowed = 1e-6;  // largest residual, m or rad

// Returns how a given coordinate or rate conflicts with a [joint-limit] of the model; empty: not at all.
std::string describe_conflict(const systems::Tree<double>& tree, const GivenCoordinate& given, double value) {
  for (const auto& limit : tree.ranges) {
    if (limit.coordinate != given.coordinate) continue;
    const std::string& name = tree.coordinate_names[static_cast<std::size_t>(given.coordinate)];
    const std::string start =
        given.source + ": " + (given.rate ? "rate(" + name + ")" : name) + formatted(" = %.6g", value);
    const std::string end = " of [joint-limit " + limit.name + "]; change one of them (SI)";
    if (given.rate) {
      if (limit.speed && std::abs(value) > *limit.speed + allowed)
        return start + formatted(" exceeds speed = %.6g", *limit.speed) + end;
      continue;
    }
    if (limit.from && value < *limit.from - allowed)
      return start + formatted(" is below from = %.6g", *limit.from) + end;
    if (limit.to && value > *limit.to + allowed) return start + formatted(" is above to = %.6g", *limit.to) + end;
  }
  return "";
}

}  // namespace

void place(const std::vector<Placement>& placements, const std::vector<GivenCoordinate>& given,
           const MotionValues& values, Eigen::VectorXd& q) {
  const auto tree = values.system->model().tree<dmoc::Coefficient>(values.model.numbers).plain();
  put(
      placements, [&](const Expression& e) { return values.evaluated(e); }, *values.system, tree, q);
  for (const GivenCoordinate& g : given)
    if (!g.rate) q(g.coordinate) = values.evaluated(g.value).value;
}

Postures postures(const PhasedMotion& motion, const MotionValues& values) {
  const auto tree = motion.system->model().tree<dmoc::Coefficient>(values.model.numbers).plain();
  const auto evaluate = [&](const Expression& e) { return values.evaluated(e); };
  Postures found;
  Eigen::VectorXd q = Eigen::VectorXd::Zero(motion.system->n());
  for (const bool end : {false, true}) {
    const auto& placements = motion.at(end).placements;
    const auto& given = motion.at(end).given;
    for (const Placement& p : placements)
      for (const auto& range : pose_of(p, evaluate, tree.dimension).place)
        if (found.contradiction.empty() && range && range->first.value > range->second.value)
          found.contradiction =
              p.source + formatted(": the place %g..%g ends before it begins; allowed: A..B, A at most B",
                                   range->first.value, range->second.value);
    for (const GivenCoordinate& g : given)
      if (found.contradiction.empty())
        found.contradiction = describe_conflict(tree, g, values.evaluated(g.value).value);
    if (!found.contradiction.empty()) {
      found.at = {q, q};
      return found;
    }
    std::vector<std::string> sources;  // source of each residual
    const auto residual = [&](const Eigen::VectorXd& at) {
      std::vector<double> all;
      sources.clear();
      const auto frames = tree.frames(at.data());
      for (const Placement& p : placements) {
        add_distance(pose_of(p, evaluate, tree.dimension), frames, tree.dimension, all);
        sources.resize(all.size(), p.source);
      }
      for (const GivenCoordinate& g : given) {
        if (g.rate) continue;
        all.push_back(at(g.coordinate) - values.evaluated(g.value).value);
        sources.push_back(g.source);
      }
      return Eigen::VectorXd(Eigen::Map<const Eigen::VectorXd>(all.data(), static_cast<Eigen::Index>(all.size())));
    };
    place(placements, given, values, q);
    found.at[end ? 1 : 0] = q;
    if (placements.empty()) continue;  // coordinates alone are never inconsistent
    // Gauss-Newton method from q, then from seven other postures in case it stagnates. Steps are limited to 1 rad or 1
    // m.
    Eigen::VectorXd best = q, least = residual(q);
    for (int start = 0; start < 8 && least.size() > 0 && least.lpNorm<Eigen::Infinity>() > allowed; ++start) {
      Eigen::VectorXd at = q;
      for (Eigen::Index i = 0; i < at.size() && start > 0; ++i)
        at(i) += 0.5 * std::sin(static_cast<double>((i + 1) * start) * std::numbers::phi);
      for (int iteration = 0; iteration < 60; ++iteration) {
        const Eigen::VectorXd r = residual(at);
        if (r.norm() < least.norm()) best = at, least = r;
        if (r.lpNorm<Eigen::Infinity>() <= 1e-12) break;
        Eigen::MatrixXd J(r.size(), at.size());
        for (Eigen::Index i = 0; i < at.size(); ++i)
          J.col(i) = (residual(at + 1e-6 * Eigen::VectorXd::Unit(at.size(), i)) - r) / 1e-6;
        Eigen::CompleteOrthogonalDecomposition<Eigen::MatrixXd> factor;
        factor.setThreshold(1e-7);
        const Eigen::VectorXd step = factor.compute(J).solve(-r);
        at += step / std::max(1.0, step.lpNorm<Eigen::Infinity>());
      }
    }
    Eigen::Index worst = 0;
    if (found.contradiction.empty() && least.size() > 0 && least.cwiseAbs().maxCoeff(&worst) > 1e3 * allowed) {
      residual(best);
      found.contradiction =
          sources[static_cast<std::size_t>(worst)] +
          formatted(
              ": [%s]: no posture satisfies all of its entries; the nearest one misses this entry by %.3g; "
              "change it to agree with the others and with the joints",
              end ? "goal" : "initial-state", std::abs(least(worst)));
    }
    found.at[end ? 1 : 0] = q = best;
  }
  return found;
}

}  // namespace dodyn::evaluators
