// Solves the inverse kinematics of the start and the goal: poses of links, through all joints and within their limits.
// Reports contradictions.
#include "evaluators/motion/postures.hpp"

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numbers>
#include <random>

#include "record/text.hpp"

namespace dodyn::evaluators {

namespace {

// Appends the residuals of a link's pose to `all`, in the frame of link `from`: m, then components of directors or rad.
void add_distance(const dmoc::LinkPose& pose, const std::vector<systems::Frame<double>>& frames, int dimension,
                  std::vector<double>& all) {
  using systems::operator-, systems::operator*;
  const auto rest = systems::Frame<double>::at_rest();
  const auto& base = pose.from < 0 ? rest : frames[pose.from];
  const auto& link = frames[pose.link];
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
constexpr int most_starts = 60;   // maximum number of starts of the search for a posture
constexpr double open_joint =
    std::numbers::pi;  // half the range in which starts of a joint without limits lie, m or rad

// Returns the lowest and the highest value of each coordinate, [n].
std::pair<Eigen::VectorXd, Eigen::VectorXd> reaches_of(const systems::Tree<double>& tree) {
  Eigen::VectorXd low = Eigen::VectorXd::Constant(tree.n(), -std::numeric_limits<double>::infinity()), high = -low;
  for (const auto& range : tree.ranges) {
    if (range.from) low(range.coordinate) = *range.from;
    if (range.to) high(range.coordinate) = *range.to;
  }
  return {low, high};
}

// Reduces the norm of a residual by the Levenberg-Marquardt method with differences. Coordinates stay within their
// limits.
void approach(const std::function<Eigen::VectorXd(const Eigen::VectorXd&)>& residual, const Eigen::VectorXd& low,
              const Eigen::VectorXd& high, Eigen::VectorXd& at) {
  using Eigen::Index, Eigen::MatrixXd, Eigen::VectorXd;
  constexpr int most_iterations = 100;
  constexpr double difference = 1e-6, reached = 1e-12, longest_step = 1.0;  // m or rad
  constexpr double most_damping = 1e6;
  VectorXd r = residual(at);
  double damping = 1e-3;  // relative to the squared slopes
  for (int iteration = 0; iteration < most_iterations && r.lpNorm<Eigen::Infinity>() > reached; ++iteration) {
    MatrixXd J(r.size(), at.size());
    for (Index i = 0; i < at.size(); ++i)
      J.col(i) = (residual(at + difference * VectorXd::Unit(at.size(), i)) - r) / difference;
    // Coordinates at a limit that the descent would pass are kept.
    const VectorXd slope = J.transpose() * r;
    for (Index i = 0; i < at.size(); ++i)
      if ((at(i) <= low(i) && slope(i) > 0.0) || (at(i) >= high(i) && slope(i) < 0.0)) J.col(i).setZero();
    const MatrixXd squared = J.transpose() * J;
    const double scale = squared.diagonal().maxCoeff();
    if (!(scale > 0.0)) return;
    bool nearer = false;
    for (; !nearer && damping < most_damping; damping *= nearer ? 0.1 : 10.0) {
      MatrixXd damped = squared;
      damped.diagonal().array() += damping * scale;
      VectorXd step = -damped.ldlt().solve(J.transpose() * r);
      step /= std::max(1.0, step.lpNorm<Eigen::Infinity>() / longest_step);
      const VectorXd next = (at + step).cwiseMax(low).cwiseMin(high), there = residual(next);
      nearer = there.norm() < r.norm();
      if (nearer) at = next, r = there;
    }
    if (!nearer) return;
  }
}

// Returns how a given coordinate or rate conflicts with a [joint-limit] of the model; empty: not at all.
std::string describe_conflict(const systems::Tree<double>& tree, const GivenCoordinate& given, double value) {
  for (const auto& limit : tree.ranges) {
    if (limit.coordinate != given.coordinate) continue;
    const std::string& name = tree.coordinate_names[given.coordinate];
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

Reached reach(const PhasedMotion& motion, const MotionValues& values, bool end, const Eigen::VectorXd& from) {
  using Eigen::Index, Eigen::MatrixXd, Eigen::VectorXd;
  const auto tree = motion.system->model().tree<dmoc::Coefficient>(values.model.numbers).plain();
  const auto evaluate = [&](const Expression& e) { return values.evaluated(e); };
  const auto& placements = motion.at(end).placements;
  const auto& given = motion.at(end).given;
  Reached best{from, 0.0, ""};
  place(placements, given, values, best.q);
  if (placements.empty()) return best;  // coordinates alone are never inconsistent

  std::vector<std::string> sources;  // source of each residual
  const auto residual = [&](const VectorXd& at) {
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
    return VectorXd(Eigen::Map<const VectorXd>(all.data(), all.size()));
  };
  const auto [low, high] = reaches_of(tree);
  VectorXd least = residual(best.q);
  if (least.size() == 0) return best;
  const VectorXd first = best.q;
  std::mt19937_64 random(1);
  std::uniform_real_distribution<double> uniform(-1.0, 1.0);
  for (int start = 0; start < most_starts && least.lpNorm<Eigen::Infinity>() > allowed; ++start) {
    // Near postures first, then all that the joints allow.
    VectorXd at = first;
    const double far = std::min(1.0, static_cast<double>(start) / (most_starts / 2));
    for (Index i = 0; i < at.size() && start > 0; ++i) {
      const double middle = std::isfinite(low(i) + high(i)) ? 0.5 * (low(i) + high(i)) : first(i),
                   half = std::isfinite(low(i) + high(i)) ? 0.5 * (high(i) - low(i)) : open_joint;
      at(i) = (1.0 - far) * first(i) + far * middle + far * half * uniform(random);
    }
    at = at.cwiseMax(low).cwiseMin(high);
    place(placements, given, values, at);
    approach(residual, low, high, at);
    if (const VectorXd r = residual(at); r.norm() < least.norm()) best.q = at, least = r;
  }
  residual(best.q);
  Index worst = 0;
  best.missed = least.cwiseAbs().maxCoeff(&worst);
  best.source = sources[worst];
  return best;
}

Postures postures(const PhasedMotion& motion, const MotionValues& values) {
  const auto tree = motion.system->model().tree<dmoc::Coefficient>(values.model.numbers).plain();
  const auto evaluate = [&](const Expression& e) { return values.evaluated(e); };
  Postures found;
  Eigen::VectorXd q = Eigen::VectorXd::Zero(motion.system->n());
  for (const bool end : {false, true}) {
    for (const Placement& p : motion.at(end).placements)
      for (const auto& range : pose_of(p, evaluate, tree.dimension).place)
        if (found.contradiction.empty() && range && range->first.value > range->second.value)
          found.contradiction =
              p.source + formatted(": the place %g..%g ends before it begins; allowed: A..B, A at most B",
                                   range->first.value, range->second.value);
    for (const GivenCoordinate& g : motion.at(end).given)
      if (found.contradiction.empty())
        found.contradiction = describe_conflict(tree, g, values.evaluated(g.value).value);
    if (!found.contradiction.empty()) {
      found.at = {q, q};
      return found;
    }
    const Reached reached = reach(motion, values, end, q);
    if (reached.missed > 1e3 * allowed)
      found.contradiction =
          reached.source +
          formatted(
              ": [%s]: no posture was found that satisfies all of its entries; the nearest one misses this entry by "
              "%.3g; change it to agree with the others, with the joints and with their limits",
              end ? "goal" : "initial-state", reached.missed);
    found.at[end ? 1 : 0] = q = reached.q;
  }
  return found;
}

}  // namespace dodyn::evaluators
