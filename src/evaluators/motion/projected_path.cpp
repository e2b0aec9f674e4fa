#include "evaluators/motion/projected_path.hpp"

#include <Eigen/QR>
#include <algorithm>
#include <functional>
#include <limits>

#include "dmoc/attitudes.hpp"
#include "evaluators/motion/transcription.hpp"

namespace dodyn::evaluators {

using dmoc::Coefficient;
using Eigen::Index, Eigen::MatrixXd, Eigen::VectorXd;

namespace {

// Components of a function of positions that have wanted values. The function may depend on rates, too, which are zero.
struct Wanted {
  std::function<dmoc::Element(const dmoc::Reference&)> function;
  std::vector<int> moving;  // coordinates on which it depends, its first inputs
  std::vector<int> components;
  VectorXd at = {};  // [components]
};

VectorXd inputs_of(const Wanted& wanted, const dmoc::Element& function, const VectorXd& q) {
  VectorXd z = VectorXd::Zero(function->inputs);
  z.head(wanted.moving.size()) = q(wanted.moving);
  return z;
}

// Moves postures onto wanted values.
class Projection {
 public:
  explicit Projection(const dmoc::System& system) : system_(system), attitudes_(system) {}

  // Returns the values of all components at a posture without references.
  VectorXd values(const Wanted& wanted, const VectorXd& q) const {
    const dmoc::Element function = wanted.function(system_.no_reference());
    return dmoc::value(*function, inputs_of(wanted, function, q))(wanted.components);
  }

  // Moves q, [n] without references, by minimum-norm Gauss-Newton steps of the coordinates `free`, to the nearest
  // values found.
  void move(const std::vector<Wanted>& all, const std::vector<int>& free, VectorXd& q) const {
    constexpr int most_steps = 30;
    constexpr double longest_step = 0.5;  // m or rad
    constexpr double reached = 1e-10;     // tolerance on the components, in their units
    constexpr double dependent = 1e-7;    // relative pivot of rows that depend on others
    if (all.empty() || free.empty()) return;
    // Angles of spherical joints are relative to the attitudes of the posture, far from their singular attitudes.
    const dmoc::Reference reference = attitudes_.at(q, system_.no_reference());
    std::vector<dmoc::Element> functions;
    for (const Wanted& wanted : all) functions.push_back(wanted.function(reference));
    VectorXd at = attitudes_.moved(q, system_.no_reference(), reference), best = at;
    double nearest = std::numeric_limits<double>::infinity();
    for (int step = 0; step < most_steps && nearest > reached; ++step) {
      const auto [missed, slopes] = linearised(all, functions, at);
      if (!missed.allFinite() || !slopes.allFinite()) break;
      if (const double distance = missed.lpNorm<Eigen::Infinity>(); distance < nearest) nearest = distance, best = at;
      Eigen::CompleteOrthogonalDecomposition<MatrixXd> factor;
      factor.setThreshold(dependent);
      const VectorXd change = factor.compute(slopes(Eigen::all, free)).solve(missed);
      const double longest = change.lpNorm<Eigen::Infinity>();
      at(free) += longest > longest_step ? VectorXd(change * (longest_step / longest)) : change;
    }
    q = attitudes_.moved(best, reference, system_.no_reference());
  }

 private:
  // Returns wanted minus actual values, and the slopes of the values, [components, n].
  std::pair<VectorXd, MatrixXd> linearised(const std::vector<Wanted>& all, const std::vector<dmoc::Element>& functions,
                                           const VectorXd& q) const {
    Index size = 0, row = 0;
    for (const Wanted& wanted : all) size += wanted.at.size();
    VectorXd missed(size);
    MatrixXd slopes = MatrixXd::Zero(size, system_.n());
    for (std::size_t i = 0; i < all.size(); ++i) {
      const Wanted& wanted = all[i];
      const VectorXd z = inputs_of(wanted, functions[i], q);
      const Index rows = wanted.at.size(), columns = wanted.moving.size();
      missed.segment(row, rows) = wanted.at - VectorXd(dmoc::value(*functions[i], z)(wanted.components));
      slopes(Eigen::seqN(row, rows), wanted.moving) =
          dmoc::jacobian(*functions[i], z)(wanted.components, Eigen::seqN(0, columns));
      row += rows;
    }
    return {missed, slopes};
  }

  const dmoc::System& system_;
  dmoc::Attitudes attitudes_;
};

// Returns the components of a phase's holds that `chosen` selects, with the wanted value zero; nullopt: none.
std::optional<Wanted> held_in(const PhasedMotion& motion, const MotionValues& values, std::size_t phase,
                              const std::function<bool(std::size_t component)>& chosen) {
  const std::optional<HeldPlaces>& holds = motion.phases[phase].holds;
  if (!holds) return std::nullopt;
  Wanted wanted;
  for (std::size_t k = 0; k < holds->names.size(); ++k)
    if (chosen(k)) wanted.components.push_back(k);
  if (wanted.components.empty()) return std::nullopt;
  const dmoc::PositionConstraint hold = holds_of(motion, phase, values).front();
  wanted.function = [&values, hold](const dmoc::Reference& reference) {
    return dmoc::element(hold.function.values, values.model.numbers, hold.parameters, {reference});
  };
  wanted.moving = motion.system->pinned(motion.phases[phase].held).moving;
  wanted.at = VectorXd::Zero(wanted.components.size());
  return wanted;
}

// Returns the equalities of positions at the start or the goal.
std::vector<Wanted> conditions_at(const PhasedMotion& motion, const MotionValues& values, bool end) {
  std::vector<Wanted> all;
  const MotionPhase& phase = end ? motion.phases.back() : motion.phases.front();
  for (const auto& [condition, equality] : motion.at(end).conditions)
    if (equality && condition.place == dmoc::PathFunction::Place::knots)
      all.push_back({[&values, f = &condition](const dmoc::Reference& reference) {
                       return dmoc::end_element(
                           *f, values.model.numbers, [&](const std::string& name) { return values.named(name); },
                           reference);
                     },
                     motion.system->pinned(phase.held).moving,
                     {0},
                     VectorXd::Zero(1)});
  return all;
}

// Returns the coordinates of a phase that an end leaves free: they are not given and move no placed link.
std::vector<int> free_at(const PhasedMotion& motion, bool end) {
  std::vector<int> free = motion.system->pinned((end ? motion.phases.back() : motion.phases.front()).held).moving;
  std::erase_if(free, [&](int c) { return motion.at(end).gives(c); });
  for (const Placement& placement : motion.at(end).placements)
    for (const int moves : motion.system->coordinates_of(placement.link)) std::erase(free, moves);
  return free;
}

// Returns the index of a component in a phase's holds; -1: the phase does not hold it.
Index component(const MotionPhase& phase, const std::string& name) {
  if (!phase.holds) return -1;
  const auto& names = phase.holds->names;
  const auto at = std::ranges::find(names, name);
  return at == names.end() ? -1 : at - names.begin();
}

}  // namespace

void move_onto_conditions(const PhasedMotion& motion, const MotionValues& values, bool end, const VectorXd& start,
                          VectorXd& q) {
  const Projection projection(*motion.system);
  const std::size_t phase = end ? motion.phases.size() - 1 : 0;
  std::vector<Wanted> all = conditions_at(motion, values, end);
  const auto at_zero = [&](std::size_t k) { return bool(motion.phases[phase].holds->at_zero[k]); };
  if (auto zero = held_in(motion, values, phase, at_zero)) all.push_back(std::move(*zero));
  const auto kept = [&](std::size_t k) {
    return end && !at_zero(k) && std::ranges::all_of(motion.phases, [&](const MotionPhase& one) {
             return component(one, motion.phases[phase].holds->names[k]) >= 0;
           });
  };
  if (auto stays = held_in(motion, values, phase, kept)) {
    stays->at = projection.values(*stays, start);
    all.push_back(std::move(*stays));
  }
  const std::vector<int> free = free_at(motion, end);
  if (all.empty() || free.empty()) return;
  if (!end) return projection.move(all, free, q);

  // From the start in small steps, so that a mechanism stays on one branch of its configurations.
  constexpr int steps = 20;
  const dmoc::Attitudes attitudes(*motion.system);
  const dmoc::Reference& none = motion.system->no_reference();
  std::vector<VectorXd> from;
  for (const Wanted& wanted : all) from.push_back(projection.values(wanted, start));
  VectorXd carried = VectorXd::Zero(q.size()), at = q;
  for (int step = 1; step <= steps; ++step) {
    const double share = static_cast<double>(step) / steps;
    std::vector<Wanted> now = all;
    for (std::size_t i = 0; i < all.size(); ++i) now[i].at = (1.0 - share) * from[i] + share * all[i].at;
    const VectorXd straight = attitudes.between(start, none, q, none, share);
    at = straight + carried;
    projection.move(now, free, at);
    carried = at - straight;
  }
  q = at;
}

namespace {

// Returns the held components of each phase with the values that they have along a path (see move_onto_holds());
// nullopt: the phase holds none.
std::vector<std::optional<Wanted>> held_along(const PhasedMotion& motion, const MotionValues& values,
                                              const Projection& projection, const MotionPath& path) {
  const std::size_t count = motion.phases.size();
  std::vector<std::optional<Wanted>> held(count);
  for (std::size_t i = 0; i < count; ++i) {
    held[i] = held_in(motion, values, i, [](std::size_t) { return true; });
    if (!held[i]) continue;
    const HeldPlaces& holds = *motion.phases[i].holds;
    const auto at = [&](const Eigen::MatrixXd& q, Index row) {
      return projection.values(*held[i], q.row(row).transpose());
    };
    const VectorXd here = at(path.q[i], 0), at_goal = at(path.q.back(), path.q.back().rows() - 1);
    for (std::size_t k = 0; k < holds.names.size(); ++k) {
      if (holds.at_zero[k]) continue;
      const Index c = k, before = i > 0 ? component(motion.phases[i - 1], holds.names[k]) : -1;
      bool until_goal = i > 0 && !motion.periodic;
      for (std::size_t later = i; later < count; ++later)
        until_goal = until_goal && component(motion.phases[later], holds.names[k]) >= 0;
      held[i]->at(c) = before >= 0 ? held[i - 1]->at(before) : until_goal ? at_goal(c) : here(c);
    }
  }
  return held;
}

// Returns the coordinates that may change at nodes of these phases: no phase fixes them, and the start or the goal
// leaves them free. If these are fewer than the held components, returns all coordinates that no phase fixes.
std::vector<int> free_between(const PhasedMotion& motion, const std::vector<std::size_t>& phases,
                              const std::vector<Wanted>& held) {
  std::vector<int> all, free;
  for (int c = 0; c < motion.system->n(); ++c)
    if (std::ranges::none_of(phases, [&](std::size_t i) {
          const std::vector<int>& fixed = motion.phases[i].held;
          return std::ranges::find(fixed, c) != fixed.end();
        }))
      all.push_back(c);
  for (const int c : all)
    if (!motion.start.gives(c) || !motion.goal.gives(c)) free.push_back(c);
  std::size_t components = 0;
  for (const Wanted& wanted : held) components += wanted.components.size();
  return free.size() < components ? all : free;
}

}  // namespace

void move_onto_holds(const PhasedMotion& motion, const MotionValues& values, MotionPath& path) {
  const std::size_t count = motion.phases.size();
  if (std::ranges::none_of(motion.phases, [](const MotionPhase& p) { return bool(p.holds); })) return;
  const Projection projection(*motion.system);
  const std::vector<std::optional<Wanted>> held = held_along(motion, values, projection, path);
  const auto all_of = [&](const std::vector<std::size_t>& phases) {
    std::vector<Wanted> all;
    for (const std::size_t i : phases)
      if (held[i]) all.push_back(*held[i]);
    return all;
  };

  // Nodes between two phases satisfy the holds of both. Corrections there are spread over the phases.
  const Index n = motion.system->n();
  std::vector<VectorXd> correction(count + 1, VectorXd::Zero(n));
  for (std::size_t i = 1; i < count; ++i) {
    const VectorXd q = path.q[i].row(0).transpose();
    VectorXd at = q;
    const std::vector<Wanted> both = all_of({i - 1, i});
    projection.move(both, free_between(motion, {i - 1, i}, both), at);
    correction[i] = at - q;
  }
  for (std::size_t i = 0; i < count; ++i) {
    const std::vector<Wanted> all = all_of({i});
    const std::vector<int> free = free_between(motion, {i}, all);
    const Index K = path.q[i].rows() - 1;
    // Correction of the preceding node, and initial correction of the next one. So a mechanism stays on one branch of
    // its configurations.
    VectorXd carried = VectorXd::Zero(n);
    for (Index k = 0; k <= K; ++k) {
      const double share = motion.system->scheme().position(k) / motion.phases[i].intervals;
      const VectorXd spread = path.q[i].row(k).transpose() + (1.0 - share) * correction[i] + share * correction[i + 1];
      VectorXd at = spread;
      if (k > 0 && k < K && !all.empty()) {
        at += carried;
        projection.move(all, free, at);
        carried = at - spread;
      }
      path.q[i].row(k) = at.transpose();
    }
  }
}

}  // namespace dodyn::evaluators
