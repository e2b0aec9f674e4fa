// Where the solver of a motion starts: paths from the start to the goal, by way points, bent at random.
#include <Eigen/Geometry>
#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <random>

#include "dmoc/attitudes.hpp"
#include "evaluators/motion/design.hpp"
#include "record/random.hpp"

namespace dodyn::evaluators {

namespace {

// Of every second guess: detours up to this many times larger than the others', and harmonics beside the first two.
constexpr double largest_detour = 10.0;
constexpr int more_harmonics = 3;
// Detours of coordinates, m or rad, and turns of bodies that may go round others, rad. A body whose points are held goes round
// nothing.
constexpr double usual_detour = 0.3, turn_of_a_detour = 1.0;
// How far guesses go into a range that has one end, m or rad.
constexpr double open_range = 1.0;

// Moves where a periodic motion begins and ends until the end, as the exchange sees it, is `ahead` of where it begins:
// Gauss-Newton steps, of the end alone first and then the least ones of both. `begins`, `ends`: which coordinates may move.
void close(const autodiff::Element& exchange, const std::vector<int>& begins, const std::vector<int>& ends,
           const Eigen::VectorXd& ahead, Eigen::VectorXd& first, Eigen::VectorXd& last) {
  const Eigen::Index n = first.size(), b = static_cast<Eigen::Index>(begins.size()),
                     e = static_cast<Eigen::Index>(ends.size());
  for (int step = 0; step < 8; ++step) {
    const Eigen::VectorXd theta = last(ends);
    Eigen::MatrixXd slopes(n, e + b);
    slopes << dmoc::jacobian(exchange, theta), Eigen::MatrixXd::Zero(n, b);
    if (step >= 3)
      for (Eigen::Index i = 0; i < b; ++i) slopes(begins[static_cast<std::size_t>(i)], e + i) = -1.0;
    const Eigen::VectorXd change =
        slopes.completeOrthogonalDecomposition().solve(first + ahead - dmoc::value(exchange, theta));
    last(ends) += change.head(e);
    first(begins) += change.tail(b);
  }
}

// Returns the largest share, at most 1, of the detours that a path may make with steps of at most 90 % of `reach` between its
// knots; 0 if the path alone has larger ones.
double share_within(double reach, const Eigen::VectorXd& path, const Eigen::VectorXd& detours) {
  const auto step = [](const Eigen::VectorXd& of) {
    return (of.tail(of.size() - 1) - of.head(of.size() - 1)).cwiseAbs().maxCoeff();
  };
  const double bent = step(detours);
  return bent > 0.0 ? std::clamp((0.9 * reach - step(path)) / bent, 0.0, 1.0) : 1.0;
}

}  // namespace

void MotionDesigns::place(const std::vector<Placement>& placements, const std::vector<Given>& given,
                          const Values& values, Eigen::VectorXd& q) const {
  const auto tree = system_->model().tree<dmoc::Coefficient>(values.model.numbers).plain();
  put(
      placements, [&](const Expression& e) { return evaluated(e, values); }, *system_, tree, q);
  for (const Given& g : given)
    if (!g.rate) q(g.coordinate) = evaluated(g.value, values).value;
}

MotionPath MotionDesigns::path(const Eigen::VectorXd& design, std::uint64_t seed, int number) const {
  const Values all = values(design);
  const auto tree = system_->model().tree<Coefficient>(all.model.numbers);
  std::mt19937_64 random(seed);
  const auto uniform = [&] { return static_cast<double>(random() >> 11) * 0x1.0p-52 - 1.0; };
  const int n = system_->n();
  Eigen::VectorXd first = Eigen::VectorXd::Zero(n), size = Eigen::VectorXd::Constant(n, usual_detour),
                  largest = Eigen::VectorXd::Constant(n, std::numeric_limits<double>::infinity());
  for (const auto& range : tree.ranges) {
    if (!range.from && !range.to) continue;
    const double reach = range.from && range.to ? range.to->value - range.from->value : open_range;
    double& middle = first(range.coordinate) = 0.0;
    if (range.from) middle = std::max(middle, range.from->value + 0.1 * reach);
    if (range.to) middle = std::min(middle, range.to->value - 0.1 * reach);
    size(range.coordinate) = largest(range.coordinate) = 0.2 * reach;
  }
  for (const Given& g : guess_) first(g.coordinate) = evaluated(g.value, all).value;
  place(start_places_, start_, all, first);
  // of pieces between contacts, as if nodes were evenly spread: s
  std::vector<double> shares(phases_.size(), 0.0);
  for (const Whole& whole : wholes_) {
    const double T = 0.5 * (evaluated(whole.shortest, all).value + evaluated(whole.longest, all).value);
    int K = 0;
    for (int i = whole.first; i < whole.first + whole.count; ++i) K += phases_[static_cast<std::size_t>(i)].intervals;
    for (int i = whole.first; i < whole.first + whole.count; ++i)
      shares[static_cast<std::size_t>(i)] = T * phases_[static_cast<std::size_t>(i)].intervals / K;
  }
  // way points, and how far the motion is when it passes them
  std::vector<std::pair<double, Eigen::VectorXd>> knots = {{0.0, first}};
  Eigen::VectorXd last = first;
  for (const Waypoint& way : ways_) {
    place(way.places, way.given, all, last);
    knots.emplace_back(way.share, last);
  }
  if (periodic_) last = first;
  place(goal_places_, goal_, all, last);  // what the goal leaves free stays as it was at the last way point
  for (const Given& g : shift_) last(g.coordinate) = first(g.coordinate) + evaluated(g.value, all).value;
  if (exchange_) {
    Eigen::VectorXd ahead = Eigen::VectorXd::Zero(n);
    for (const Given& g : shift_) ahead(g.coordinate) = evaluated(g.value, all).value;
    for (const int c : phases_.front().held) first(c) = 0.0;
    last = first;
    close(*dmoc::element(exchange_->configuration, all.model.numbers), system_->pinned(phases_.front().held).moving,
          system_->pinned(phases_.back().held).moving, ahead, first, last);
    knots.front().second = first;
  }
  knots.emplace_back(1.0, last);
  // where it touches, on the way between those
  for (const Contact& c : contacts_) {
    double passed_by = 0.0, whole = 0.0;
    for (std::size_t i = 0; i < phases_.size(); ++i) {
      const double T =
          shares[i] > 0.0
              ? shares[i]
              : std::sqrt(evaluated(phases_[i].shortest, all).value * evaluated(phases_[i].longest, all).value);
      whole += T;
      if (static_cast<int>(i) < c.phase || (static_cast<int>(i) == c.phase && c.node == 0)) passed_by += T;
      if (static_cast<int>(i) == c.phase) passed_by += T * c.node / phases_[i].intervals;
    }
    const double s = passed_by / whole;
    std::size_t i = 1;
    while (i + 1 < knots.size() && s > knots[i].first) ++i;
    Eigen::VectorXd q = dmoc::Attitudes(*system_).between(
        knots[i - 1].second, system_->no_reference(), knots[i].second, system_->no_reference(),
        (s - knots[i - 1].first) / std::max(knots[i].first - knots[i - 1].first, 1e-9));
    touch(c, all, q);
    knots.insert(knots.begin() + static_cast<std::ptrdiff_t>(i), {s, std::move(q)});
  }
  const bool bodies = !start_places_.empty() || !goal_places_.empty();
  if (bodies) {  // detours as large as what they are to go round
    double radius = 0.1 * (last - first).norm();
    for (const auto& shape : system_->model().shapes) {
      if (system_->coordinates_of(shape.link).empty()) continue;
      for (const auto& r : system_->model().corners(shape, autodiff::values_of(all.model.numbers)))
        radius = std::max(radius, std::sqrt(systems::dot(r, r)));
    }
    const bool held = std::any_of(phases_.begin(), phases_.end(), [](const Phase& p) { return bool(p.holds); });
    const double turn = held ? usual_detour : turn_of_a_detour;
    for (const auto& link : tree.links)
      for (std::size_t i = 0; i < link.moves.size(); ++i) {
        const int c = link.first + static_cast<int>(i);
        size(c) = std::min(link.moves[i].kind == systems::Move::slide ? radius : turn, largest(c));
      }
  }

  // time through the motion, in which a coordinate goes from first to last while it moves
  MotionPath path;
  // Every second guess is of another kind: 1 to 10 times larger, with three more harmonics, but not beyond the ranges of joints.
  const bool large = number % 2 == 1 && !bodies;
  const double spread = large ? 1.0 : 0.3;  // of durations: by factors of 2.7 or 1.35
  std::vector<double> moving_time(static_cast<std::size_t>(n), 0.0), passed = moving_time;
  std::vector<std::vector<int>> moving;
  for (const Phase& phase : phases_) {
    const double shortest = evaluated(phase.shortest, all).value, longest = evaluated(phase.longest, all).value;
    const double piece = shares[path.duration.size()];
    const auto guessed = [&] { return std::sqrt(shortest * longest) * std::exp(spread * uniform()); };
    path.duration.push_back(piece > 0.0      ? piece
                            : !phase.timed() ? shortest
                            : large          ? std::clamp(guessed(), shortest, longest)
                                             : guessed());
    moving.push_back(system_->pinned(phase.held).moving);
  }
  if (period_) {  // what is asked of all together, by shares of what each of them may still be longer or shorter
    double rest = evaluated(*period_, all).value, room = 0.0;
    for (const double T : path.duration) rest -= T;
    const auto limit = [&](std::size_t i) {
      return evaluated(rest > 0.0 ? phases_[i].longest : phases_[i].shortest, all).value;
    };
    for (std::size_t i = 0; i < phases_.size(); ++i) room += std::abs(limit(i) - path.duration[i]);
    for (std::size_t i = 0; i < phases_.size() && room > 0.0; ++i)
      path.duration[i] += std::abs(limit(i) - path.duration[i]) * rest / room;
  }
  for (std::size_t i = 0; i < phases_.size(); ++i)
    for (const int c : moving[i]) moving_time[static_cast<std::size_t>(c)] += path.duration[i];
  Eigen::VectorXd bow(n), wave(n);
  for (int c = 0; c < n; ++c) {
    bow(c) = size(c) * uniform();
    wave(c) = 0.3 * size(c) * uniform();
  }
  if (bodies && number == 0) bow.setZero(), wave.setZero();
  Eigen::MatrixXd harmonics = Eigen::MatrixXd::Zero(more_harmonics, n);
  if (large) {
    const double larger = std::pow(largest_detour, 0.5 * (1.0 + uniform()));
    bow *= larger;
    wave *= larger;
    for (Eigen::Index i = 0; i < harmonics.size(); ++i) harmonics(i) = uniform();
    for (int c = 0; c < n; ++c) harmonics.col(c) *= larger * size(c) / more_harmonics;
  }
  const dmoc::Attitudes attitudes(*system_);
  const auto along = [&](double s) -> Eigen::VectorXd {
    std::size_t i = 1;
    while (i + 1 < knots.size() && s > knots[i].first) ++i;
    const auto& [from, q] = knots[i - 1];
    const auto& [to, next] = knots[i];
    return attitudes.between(q, system_->no_reference(), next, system_->no_reference(),
                             to > from ? (s - from) / (to - from) : 1.0);
  };
  for (std::size_t i = 0; i < phases_.size(); ++i) {
    const int K = phases_[i].intervals;
    Eigen::MatrixXd q = Eigen::MatrixXd::Zero(K * degree() + 1, n), detours = q;
    const auto share_of = [&](int c, int k) {
      const auto at = static_cast<std::size_t>(c);
      return (passed[at] + path.duration[i] * system_->scheme().position(k) / K) / moving_time[at];
    };
    for (int k = 0; k < q.rows(); ++k) {
      for (const int c : moving[i]) {
        const double share = share_of(c, k), angle = std::numbers::pi * share;
        double bent = bow(c) * std::sin(angle) + wave(c) * std::sin(2 * angle);
        for (int h = 0; h < more_harmonics; ++h) bent += harmonics(h, c) * std::sin((h + 3) * angle);
        detours(k, c) = bent;
        if (!system_->is_chart(c)) q(k, c) = along(share)(c);
      }
    }
    for (const auto& range : tree.ranges)
      if (range.speed) {
        const double reach = range.speed->value * path.duration[i] / (K * degree());
        detours.col(range.coordinate) *= share_within(reach, q.col(range.coordinate), detours.col(range.coordinate));
      }
    q += detours;
    for (int k = 0; k < q.rows(); ++k) {
      for (std::size_t c = 0; c < system_->charts().size(); ++c) {
        const auto& link = tree.links[static_cast<std::size_t>(system_->charts()[c])];
        const int turn = link.first + static_cast<int>(link.moves.size()) - 3;
        if (std::find(moving[i].begin(), moving[i].end(), turn) == moving[i].end()) continue;
        Eigen::VectorXd row = q.row(k).transpose();
        const Eigen::Vector3d detour = row.segment<3>(turn);
        const Eigen::Matrix3d straight = attitudes.rotation(c, along(share_of(turn, k)), system_->no_reference());
        const Eigen::Matrix3d bent =
            detour.norm() > 0.0 ? Eigen::AngleAxisd(detour.norm(), detour.normalized()) * straight : straight;
        attitudes.set(c, bent, system_->no_reference(), row);
        q.row(k) = row.transpose();
      }
    }
    for (const auto& range : tree.ranges) {
      if (!large) break;
      if (range.from) q.col(range.coordinate) = q.col(range.coordinate).cwiseMax(range.from->value);
      if (range.to) q.col(range.coordinate) = q.col(range.coordinate).cwiseMin(range.to->value);
    }
    path.q.push_back(std::move(q));
    for (const int c : moving[i]) passed[static_cast<std::size_t>(c)] += path.duration[i];
  }
  if (number == 0 && settings_.text("motion.first-guess") == "simulated") let_go(path, design);
  refer(path, design);
  return path;
}

MotionPath MotionDesigns::initial_guess(const Eigen::VectorXd& design, std::uint64_t seed, int number) const {
  return path(design, evaluation_seed(seed, number), number);
}

void MotionDesigns::refer(MotionPath& path, const Eigen::VectorXd& design) const {
  path.touching = touching(values(design), path);
  MotionDescription::refer(path, design);
}

}  // namespace dodyn::evaluators
