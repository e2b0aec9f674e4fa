#include "evaluators/motion/initial_guess.hpp"

#include <Eigen/Geometry>
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numbers>
#include <random>

#include "dmoc/attitudes.hpp"
#include "evaluators/motion/contacts.hpp"
#include "evaluators/motion/postures.hpp"
#include "evaluators/motion/projected_path.hpp"
#include "evaluators/motion/transcription.hpp"

namespace dodyn::evaluators {

using dmoc::Coefficient;

namespace {

// Every second guess has larger detours: up to this factor, with this number of harmonics after the first two.
constexpr double largest_detour = 10.0;
constexpr int more_harmonics = 3;
// Amplitude of a coordinate's detour, m or rad. Amplitude of rotations if no phase holds points, rad: bodies may then
// move around other bodies.
constexpr double usual_detour = 0.3, turn_of_a_detour = 1.0;
// Width assumed for a range with only one end, m or rad.
constexpr double open_range = 1.0;

// Changes the first and last coordinates of a periodic motion until exchange(last) = first + ahead. Takes eight
// Gauss-Newton steps: three that change `last` alone, then minimum-norm steps of `first` and `last`. `begins`, `ends`:
// indices of the coordinates that may change in `first` and in `last`.
void close(const autodiff::Element& exchange, const std::vector<int>& begins, const std::vector<int>& ends,
           const Eigen::VectorXd& ahead, Eigen::VectorXd& first, Eigen::VectorXd& last) {
  const Eigen::Index n = first.size(), b = begins.size(), e = ends.size();
  for (int step = 0; step < 8; ++step) {
    const Eigen::VectorXd theta = last(ends);
    Eigen::MatrixXd slopes(n, e + b);
    slopes << dmoc::jacobian(exchange, theta), Eigen::MatrixXd::Zero(n, b);
    if (step >= 3)
      for (Eigen::Index i = 0; i < b; ++i) slopes(begins[i], e + i) = -1.0;
    const Eigen::VectorXd change =
        slopes.completeOrthogonalDecomposition().solve(first + ahead - dmoc::value(exchange, theta));
    last(ends) += change.head(e);
    first(begins) += change.tail(b);
  }
}

// Coordinates that a guess passes at a fraction of the time.
struct Knot {
  double share = 0.0;
  Eigen::VectorXd q;
};

// Interpolates the coordinates between two knots. `share`: fraction of the path from `before` to `after`.
Eigen::VectorXd posture_between(const dmoc::System& system, const Knot& before, const Knot& after, double share) {
  return dmoc::Attitudes(system).between(before.q, system.no_reference(), after.q, system.no_reference(), share);
}

// Returns the index (>= 1) of the first knot at or after this fraction of the time; the last knot if there is none.
std::size_t knot_after(const std::vector<Knot>& knots, double share) {
  std::size_t i = 1;
  while (i + 1 < knots.size() && share > knots[i].share) ++i;
  return i;
}

// Returns the factor in [0, 1] by which detours must be scaled to keep steps between nodes below 90 % of `reach`; 0:
// steps of the path alone are larger.
double share_within(double reach, const Eigen::VectorXd& path, const Eigen::VectorXd& detours) {
  const auto step = [](const Eigen::VectorXd& of) {
    return (of.tail(of.size() - 1) - of.head(of.size() - 1)).cwiseAbs().maxCoeff();
  };
  const double bent = step(detours);
  return bent > 0.0 ? std::clamp((0.9 * reach - step(path)) / bent, 0.0, 1.0) : 1.0;
}

// Sets the coordinates of joints with ranges: 0, moved at least 10 % of the range inside it. Sets the amplitude `size`
// of their detours and its limit `largest` to 20 % of the range.
void enter_ranges(const systems::Tree<Coefficient>& tree, Eigen::VectorXd& q, Eigen::VectorXd& size,
                  Eigen::VectorXd& largest) {
  for (const auto& range : tree.ranges) {
    if (!range.from && !range.to) continue;
    const double reach = range.from && range.to ? range.to->value - range.from->value : open_range;
    double& middle = q(range.coordinate) = 0.0;
    if (range.from) middle = std::max(middle, range.from->value + 0.1 * reach);
    if (range.to) middle = std::min(middle, range.to->value - 0.1 * reach);
    size(range.coordinate) = largest(range.coordinate) = 0.2 * reach;
  }
}

// Returns the durations of the pieces of phases that contacts split, with nodes evenly spaced in time, s; 0: other
// phases.
std::vector<double> durations_of_pieces(const PhasedMotion& motion, const MotionValues& all) {
  std::vector<double> durations(motion.phases.size(), 0.0);
  const auto intervals = [&](int i) { return motion.phases[i].intervals; };
  for (const CutPhase& whole : motion.cut_phases) {
    const double T = 0.5 * (all.evaluated(whole.shortest).value + all.evaluated(whole.longest).value);
    int K = 0;
    for (int i = whole.first; i < whole.first + whole.count; ++i) K += intervals(i);
    for (int i = whole.first; i < whole.first + whole.count; ++i) durations[i] = T * intervals(i) / K;
  }
  return durations;
}

// Returns the fraction of the motion's duration at which a contact happens.
double share_of(const MotionContact& contact, const PhasedMotion& motion, const MotionValues& all,
                const std::vector<double>& pieces) {
  double passed_by = 0.0, whole = 0.0;
  for (std::size_t i = 0; i < motion.phases.size(); ++i) {
    const MotionPhase& phase = motion.phases[i];
    const double T = pieces[i] > 0.0
                         ? pieces[i]
                         : std::sqrt(all.evaluated(phase.shortest).value * all.evaluated(phase.longest).value);
    whole += T;
    const int number = i;
    if (number < contact.phase || (number == contact.phase && contact.node == 0)) passed_by += T;
    if (number == contact.phase) passed_by += T * contact.node / phase.intervals;
  }
  return passed_by / whole;
}

// Returns the knots from the start through waypoints and contacts to the goal.
std::vector<Knot> knots_from(const Eigen::VectorXd& start, const PhasedMotion& motion, const MotionValues& all,
                             const std::vector<double>& pieces) {
  const dmoc::System& system = *motion.system;
  Eigen::VectorXd first = start;
  move_onto_conditions(motion, all, false, start, first);
  Eigen::VectorXd last = first;
  std::vector<Knot> knots = {{0.0, first}};
  for (const Waypoint& way : motion.waypoints) {
    place(way.placements, way.given, all, last);
    knots.push_back({way.share, last});
  }
  if (motion.periodic) last = first;
  // Coordinates that the goal leaves free keep their values of the last waypoint.
  last = reach(motion, all, true, last).q;
  if (!motion.periodic) move_onto_conditions(motion, all, true, first, last);
  for (const GivenCoordinate& g : motion.shift) last(g.coordinate) = first(g.coordinate) + all.evaluated(g.value).value;
  if (motion.exchange) {
    Eigen::VectorXd ahead = Eigen::VectorXd::Zero(system.n());
    for (const GivenCoordinate& g : motion.shift) ahead(g.coordinate) = all.evaluated(g.value).value;
    for (const int c : motion.phases.front().held) first(c) = 0.0;
    last = first;
    close(*dmoc::element(motion.exchange->configuration, all.model.numbers),
          system.pinned(motion.phases.front().held).moving, system.pinned(motion.phases.back().held).moving, ahead,
          first, last);
    knots.front().q = first;
  }
  knots.push_back({1.0, last});
  for (const MotionContact& contact : motion.contacts) {
    const double share = share_of(contact, motion, all, pieces);
    const std::size_t i = knot_after(knots, share);
    const Knot &before = knots[i - 1], &after = knots[i];
    Eigen::VectorXd q =
        posture_between(system, before, after, (share - before.share) / std::max(after.share - before.share, 1e-9));
    touch(motion, contact, all, q);
    knots.insert(knots.begin() + i, {share, std::move(q)});
  }
  return knots;
}

// Sets the amplitudes of detours. Translational coordinates: the largest radius of a moving body, at least 10 % of
// `distance`. Rotations: turn_of_a_detour, or usual_detour if a phase holds points. `largest` limits both.
void size_of_bodies(const PhasedMotion& motion, const MotionValues& all, double distance,
                    const Eigen::VectorXd& largest, Eigen::VectorXd& size) {
  double radius = 0.1 * distance;
  for (const auto& shape : motion.system->model().shapes) {
    if (motion.system->coordinates_of(shape.link).empty()) continue;
    for (const auto& r : motion.system->model().corners(shape, autodiff::values_of(all.model.numbers)))
      radius = std::max(radius, std::sqrt(systems::dot(r, r)));
  }
  const bool held = std::ranges::any_of(motion.phases, [](const MotionPhase& p) { return bool(p.holds); });
  const double turn = held ? usual_detour : turn_of_a_detour;
  for (const auto& link : motion.system->structure().links)
    for (std::size_t i = 0; i < link.moves.size(); ++i) {
      const int c = link.first + static_cast<int>(i);
      size(c) = std::min(link.moves[i].kind == systems::Move::slide ? radius : turn, largest(c));
    }
}

using Uniform = std::function<double()>;  // draws a number in [-1, 1)

// Returns the durations of the phases, s; free ones are random. `large`: with a wide spread.
std::vector<double> durations_of(const PhasedMotion& motion, const MotionValues& all, const std::vector<double>& pieces,
                                 bool large, const Uniform& uniform) {
  const double spread = large ? 1.0 : 0.3;  // durations vary by factors up to 2.7 or 1.35
  std::vector<double> durations;
  for (const MotionPhase& phase : motion.phases) {
    const double shortest = all.evaluated(phase.shortest).value, longest = all.evaluated(phase.longest).value;
    const double piece = pieces[durations.size()];
    const auto guessed = [&] { return std::sqrt(shortest * longest) * std::exp(spread * uniform()); };
    durations.push_back(piece > 0.0      ? piece
                        : !phase.timed() ? shortest
                        : large          ? std::clamp(guessed(), shortest, longest)
                                         : guessed());
  }
  if (!motion.period) return durations;
  // The remaining time of the period is distributed in proportion to the remaining range of each phase.
  double rest = all.evaluated(*motion.period).value, room = 0.0;
  for (const double T : durations) rest -= T;
  const auto limit = [&](std::size_t i) {
    return all.evaluated(rest > 0.0 ? motion.phases[i].longest : motion.phases[i].shortest).value;
  };
  for (std::size_t i = 0; i < durations.size(); ++i) room += std::abs(limit(i) - durations[i]);
  for (std::size_t i = 0; i < durations.size() && room > 0.0; ++i)
    durations[i] += std::abs(limit(i) - durations[i]) * rest / room;
  return durations;
}

// Deviations from the path through the knots: harmonics of each coordinate.
struct Detours {
  Eigen::VectorXd bow, wave;
  Eigen::MatrixXd harmonics;  // [more_harmonics, n]

  double at(int c, double share) const {
    const double angle = std::numbers::pi * share;
    double bent = bow(c) * std::sin(angle) + wave(c) * std::sin(2 * angle);
    for (int h = 0; h < more_harmonics; ++h) bent += harmonics(h, c) * std::sin((h + 3) * angle);
    return bent;
  }
};
Detours draw_detours(const Eigen::VectorXd& size, bool straight, bool large, const Uniform& uniform) {
  const Eigen::Index n = size.size();
  Detours all{Eigen::VectorXd(n), Eigen::VectorXd(n), Eigen::MatrixXd::Zero(more_harmonics, n)};
  for (Eigen::Index c = 0; c < n; ++c) {
    all.bow(c) = size(c) * uniform();
    all.wave(c) = 0.3 * size(c) * uniform();
  }
  if (straight) all.bow.setZero(), all.wave.setZero();
  if (!large) return all;
  const double larger = std::pow(largest_detour, 0.5 * (1.0 + uniform()));
  all.bow *= larger;
  all.wave *= larger;
  for (Eigen::Index i = 0; i < all.harmonics.size(); ++i) all.harmonics(i) = uniform();
  for (Eigen::Index c = 0; c < n; ++c) all.harmonics.col(c) *= larger * size(c) / more_harmonics;
  return all;
}

// Adds the coordinates of all phases to a path that has durations. A coordinate moves from its first to its last value
// during the phases in which it is not held. Detours are reduced to the speed limits of joints.
void follow(const std::vector<Knot>& knots, const Detours& drawn, const PhasedMotion& motion,
            const systems::Tree<Coefficient>& tree, MotionPath& path) {
  const dmoc::System& system = *motion.system;
  const int n = system.n();
  std::vector<double> moving_time(n, 0.0), passed = moving_time;
  std::vector<std::vector<int>> moving;
  for (std::size_t i = 0; i < motion.phases.size(); ++i) {
    moving.push_back(system.pinned(motion.phases[i].held).moving);
    for (const int c : moving[i]) moving_time[c] += path.duration[i];
  }
  const dmoc::Attitudes attitudes(system);
  const auto along = [&](double share) -> Eigen::VectorXd {
    const std::size_t i = knot_after(knots, share);
    const double from = knots[i - 1].share, to = knots[i].share;
    return posture_between(system, knots[i - 1], knots[i], to > from ? (share - from) / (to - from) : 1.0);
  };
  for (std::size_t i = 0; i < motion.phases.size(); ++i) {
    const int K = motion.phases[i].intervals;
    Eigen::MatrixXd q = Eigen::MatrixXd::Zero(K * motion.degree() + 1, n), detours = q;
    const auto share_of = [&](int c, int k) {
      return (passed[c] + path.duration[i] * system.scheme().position(k) / K) / moving_time[c];
    };
    for (int k = 0; k < q.rows(); ++k)
      for (const int c : moving[i]) {
        detours(k, c) = drawn.at(c, share_of(c, k));
        if (!system.is_chart(c)) q(k, c) = along(share_of(c, k))(c);
      }
    for (const auto& range : tree.ranges)
      if (range.speed) {
        const double reach = range.speed->value * path.duration[i] / (K * motion.degree());
        detours.col(range.coordinate) *= share_within(reach, q.col(range.coordinate), detours.col(range.coordinate));
      }
    q += detours;
    for (int k = 0; k < q.rows(); ++k) {
      for (std::size_t c = 0; c < system.charts().size(); ++c) {
        const auto& link = system.structure().links[system.charts()[c]];
        const int turn = link.first + std::ssize(link.moves) - 3;
        if (std::ranges::find(moving[i], turn) == moving[i].end()) continue;
        Eigen::VectorXd row = q.row(k).transpose();
        const Eigen::Vector3d detour = row.segment<3>(turn);
        const Eigen::Matrix3d straight = attitudes.rotation(c, along(share_of(turn, k)), system.no_reference());
        const Eigen::Matrix3d bent =
            detour.norm() > 0.0 ? Eigen::AngleAxisd(detour.norm(), detour.normalized()) * straight : straight;
        attitudes.set(c, bent, system.no_reference(), row);
        q.row(k) = row.transpose();
      }
    }
    path.q.push_back(std::move(q));
    for (const int c : moving[i]) passed[c] += path.duration[i];
  }
}

}  // namespace

void move_into_ranges(const PhasedMotion& motion, const MotionValues& all, MotionPath& path) {
  const auto tree = motion.system->model().tree<Coefficient>(all.model.numbers);
  for (Eigen::MatrixXd& q : path.q)
    for (const auto& range : tree.ranges) {
      if (range.from) q.col(range.coordinate) = q.col(range.coordinate).cwiseMax(range.from->value);
      if (range.to) q.col(range.coordinate) = q.col(range.coordinate).cwiseMin(range.to->value);
    }
}

MotionPath initial_path(const PhasedMotion& motion, const Eigen::VectorXd& design, std::uint64_t seed, int number) {
  const MotionValues all = motion_values(motion, design);
  const auto tree = motion.system->model().tree<Coefficient>(all.model.numbers);
  std::mt19937_64 random(seed);
  const auto uniform = [&] { return static_cast<double>(random() >> 11) * 0x1.0p-52 - 1.0; };
  const int n = motion.system->n();
  Eigen::VectorXd first = Eigen::VectorXd::Zero(n), size = Eigen::VectorXd::Constant(n, usual_detour),
                  largest = Eigen::VectorXd::Constant(n, std::numeric_limits<double>::infinity());
  enter_ranges(tree, first, size, largest);
  for (const GivenCoordinate& g : motion.guess) first(g.coordinate) = all.evaluated(g.value).value;
  first = reach(motion, all, false, first).q;
  const std::vector<double> pieces = durations_of_pieces(motion, all);
  const std::vector<Knot> knots = knots_from(first, motion, all, pieces);
  const bool bodies = !motion.start.placements.empty() || !motion.goal.placements.empty();
  if (bodies) size_of_bodies(motion, all, (knots.back().q - knots.front().q).norm(), largest, size);

  // Every second guess has detours that are 1 to 10 times larger, with three more harmonics, within the ranges of
  // joints.
  const bool large = number % 2 == 1 && !bodies;
  MotionPath path;
  path.duration = durations_of(motion, all, pieces, large, uniform);
  follow(knots, draw_detours(size, bodies && number == 0, large, uniform), motion, tree, path);
  if (large) move_into_ranges(motion, all, path);
  move_onto_holds(motion, all, path);
  if (number == 0 && motion.keys.simulated) simulate_unactuated(motion, path, design);
  refer_path(motion, path, design);
  return path;
}

void refer_path(const PhasedMotion& motion, MotionPath& path, const Eigen::VectorXd& design) {
  path.touching = touching(motion, motion_values(motion, design), path);
  refer_along(*motion.system, path);
}

}  // namespace dodyn::evaluators
