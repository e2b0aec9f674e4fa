#include "evaluators/rollout/rollout.hpp"

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>
#include <memory>
#include <string_view>

#include "evaluators/rollout/feedback.hpp"
#include "record/evaluation.hpp"
#include "record/text.hpp"
#include "rigid/simulation.hpp"
#include "systems/bodies.hpp"
#include "systems/full_turns.hpp"
#include "systems/mass_matrix.hpp"

namespace dodyn::evaluators {

using systems::Place;
using systems::Vector3;

namespace {

// Dimensions of the wedge that represents a foot. It tapers to the model's point. So this point touches the ground for
// all attitudes of the link up to 84 degrees from the vertical.
constexpr double foot_length = 0.02, foot_half_width = 0.002;  // m
constexpr double ground_reach = 100.0, ground_depth = 1.0;     // m
// Longest delay of a touch-down, relative to the motion's duration.
constexpr double longest_delay = 0.25;
// Height above which a foot has left the ground, m.
constexpr double lifted = 1e-4;

constexpr double difference = 1e-6;  // step of finite differences in coordinates, rates and controls

// Returns the rates of the moving coordinates for these momenta.
std::vector<double> rates(const systems::Tree<double>& tree, const std::vector<double>& q, const Eigen::VectorXd& p,
                          bool stands) {
  const int n = tree.n(), first = stands ? tree.dimension : 0;
  const Eigen::MatrixXd M = systems::mass_matrix(tree, q);
  std::vector<double> v(n, 0.0);
  const int m = n - first;
  const Eigen::VectorXd moving = M.bottomRightCorner(m, m).ldlt().solve(p.tail(m));
  for (int i = 0; i < m; ++i) v[first + i] = moving[i];
  return v;
}

template <int n>
class RolloutSimulator {
  using Simulation = rigid::Simulation<n>;
  using Vector = rigid::Vector<n>;
  struct World {
    systems::Bodies<n> view;
    std::unique_ptr<Simulation> simulation;
  };
  struct Foot {
    Vector place, velocity;
    double height() const { return place[n - 1]; }
  };

 public:
  RolloutSimulator(const systems::Model& model, const systems::Values<double>& values, const PlannedMotion& motion,
                   const RolloutSettings& settings)
      : model_(model),
        values_(values),
        motion_(motion),
        settings_(settings),
        tree_(model.tree<double>(values.numbers)) {
    describe();
  }

  Rollout run() {
    const auto& first = motion_.phases.front();
    q_.assign(first.q.row(0).begin(), first.q.row(0).end());
    v_ = rates(tree_, q_, first.p.row(0).transpose(), first.stands);
    try {
      for (phase_ = 0; phase_ < std::ssize(motion_.phases); ++phase_)
        if (!move()) break;
    } catch (const std::invalid_argument& error) {  // bodies overlap at the start of a contact
      constexpr std::string_view head = "initial state: ";
      const std::string what = error.what();
      result_.failure =
          time_ > 0.0 && what.starts_with(head)
              ? "contact cannot begin, because bodies are in each other, as after a fall: " + what.substr(head.size())
              : what;
    }
    result_.time = time_;
    auto& values = result_.trajectory.values;
    for (std::size_t c = 0; c < rows_.size(); ++c) {
      values.push_back(by_rows(rows_[c], result_.channels[c].coordinates.size()));
      result_.channels[c].nodes = values.back().rows();
    }
    return std::move(result_);
  }

 private:
  const PlannedMotion::Phase& phase() const { return motion_.phases[phase_]; }

  // Returns the number of simulation steps in an interval of the phase.
  int steps() const {
    return std::max(1, static_cast<int>(std::ceil(phase().interval / settings_.step * (1.0 - 1e-12))));
  }

  void describe() {
    const auto units = [&](const char* slide, const char* turn) {
      std::vector<std::string> all;
      for (const auto& link : tree_.links)
        for (const auto& move : link.moves) all.emplace_back(move.kind == systems::Move::slide ? slide : turn);
      return all;
    };
    std::vector<std::string> actuators, points;
    for (const auto& actuator : tree_.actuators) actuators.push_back(actuator.name);
    const std::vector<std::string> letters = {"_x", "_y", "_z"};
    for (std::size_t p = 0; p <= tree_.links.size(); ++p)
      for (std::size_t i = 0; i < n; ++i)
        points.push_back((p == 0 ? "foot" : tree_.links[p - 1].name + "_end") + letters[i]);
    result_.channels = {{"t", "s", "time", 0, {"t"}},
                        {"q", "", "coordinates", 0, tree_.coordinate_names, units("m", "rad")},
                        {"v", "", "rates", 0, tree_.coordinate_names, units("m/s", "rad/s")},
                        {"u", "", "controls of the step that begins here (N, N m)", 0, actuators},
                        {"points", "m", "the first link's origin and the ends of the links", 0, points},
                        {"energy", "J", "energies", 0, {"kinetic", "potential"}}};
    if (actuators.empty()) result_.channels.erase(result_.channels.begin() + 3);
    rows_.resize(result_.channels.size());
  }

  // Returns the interval whose controls apply at a time; after the end of the phase its last interval.
  Eigen::Index interval_at(double t) const {
    const auto k = static_cast<Eigen::Index>((t - phase_start_) / phase().interval);
    return std::clamp<Eigen::Index>(k, 0, phase().u.rows() - 1);
  }

  // Makes a world: on a joint, free, or with feet on the ground. Derivatives use a world without limits: at a limit,
  // where optimal motions often are, they do not exist.
  World world(bool joined, bool feet, bool limits = true) const {
    const auto control = [this](double t, std::span<const double>, std::span<const double>, std::span<double> u) {
      const auto row = phase().u.row(interval_at(t));
      for (std::size_t i = 0; i < u.size(); ++i) u[i] = row[i] + correction_[i];
    };
    systems::WorldOptions standing{feet, std::nullopt, limits};
    if (joined) standing.foot = stand_;
    World made{systems::bodies<n>(model_, values_, control, standing), nullptr};
    if (feet) put_feet(made.view);
    rigid::Options options;
    options.step = phase().interval / steps();
    options.tolerance = 1e-7;
    options.response = feet ? rigid::Response::decomposition : rigid::Response::none;
    made.simulation = std::make_unique<Simulation>(made.view.world, options);
    return made;
  }

  // Returns unit vectors perpendicular to a direction and to each other.
  static std::vector<Vector> across(const Vector& along) {
    if constexpr (n == 2) {
      return {Vector(-along[1], along[0])};
    } else {
      const Vector one = along.unitOrthogonal();
      return {one, Vector(along.cross(one))};
    }
  }

  void put_feet(systems::Bodies<n>& view) const {
    auto& bodies = view.world.bodies;
    std::vector<bool> shaped;
    for (const auto& body : bodies) shaped.push_back(!body.parts.empty());
    std::vector<Vector> corners;
    for (int i = 0; i < (1 << n); ++i) {
      Vector corner;
      for (int a = 0; a < n; ++a) corner[a] = (i >> a) & 1 ? ground_reach : -ground_reach;
      corner[n - 1] = (i >> (n - 1)) & 1 ? 0.0 : -ground_depth;
      corners.push_back(corner);
    }
    bodies[0].parts.emplace_back(corners, "ground");
    bodies[0].outward.resize(bodies[0].parts.size());
    bodies[0].outward.back() = Vector::Unit(n - 1);
    bodies[0].surface = {0.0, settings_.friction};
    for (const auto& foot : feet()) {
      const auto& [b, origin, ring] = view.links[foot.link];
      auto& body = bodies[b];
      // Direction from the foot's point into the link: towards its origin if the point is nearer to the far end,
      // otherwise towards the far end.
      const auto& link = tree_.links[foot.link];
      Vector along = Vector::Unit(n - 1), apex;
      for (int i = 0; i < n; ++i) apex[i] = foot.at[i] + origin[i];
      Vector at, end;
      for (int i = 0; i < n; ++i) {
        at[i] = foot.at[i];
        end[i] = link.end[i];
      }
      if (const Vector way = at.norm() > 0.5 * end.norm() ? Vector(-at) : Vector(end - at); way.norm() > 1e-9)
        along = way.normalized();
      std::vector<Vector> wedge = {apex};
      for (const Vector& side : across(along))
        for (const double sign : {1.0, -1.0})
          wedge.push_back(apex + foot_length * along + sign * foot_half_width * side);
      body.parts.emplace_back(wedge, "foot");
      body.surface.restitution = 0.0;
      body.surface.friction = settings_.friction;
    }
    // only feet touch the ground
    for (int b = 1; b < std::ssize(bodies); ++b)
      for (int a = 1; a < b; ++a)
        if (!bodies[a].parts.empty() && !bodies[b].parts.empty() && !(shaped[a] && shaped[b]))
          view.world.no_contact.emplace_back(a, b);
  }

  std::vector<Place<double>> feet() const {
    std::vector<Place<double>> all;
    const auto add = [&](const Place<double>& place) {
      if (std::ranges::none_of(all, [&](const auto& x) { return x.link == place.link && x.at == place.at; }))
        all.push_back(place);
    };
    for (const auto& phase : motion_.phases) {
      if (phase.stands) add({0, {0.0, 0.0, 0.0}});
      if (phase.landing) add(*phase.landing);
    }
    return all;
  }

  void start(World& w) const {
    const auto state = w.view.state(q_, v_);
    w.simulation->start(state.poses, state.twists, time_);
  }
  void look(const World& w) {
    auto now = w.view.coordinates(w.view.state(*w.simulation));
    if constexpr (n == 3) systems::add_full_turns(tree_, now.q, q_);
    q_ = std::move(now.q);
    v_ = std::move(now.v);
    time_ = w.simulation->time();
  }

  Vector standing_place() const { return Vector(Eigen::Map<const Eigen::Vector3d>(stand_.data()).template head<n>()); }
  Foot foot(const Place<double>& place) const {
    const auto frames = tree_.frames<double>(q_.data(), v_.data());
    const auto x = systems::Tree<double>::position(frames, place), v = systems::Tree<double>::velocity(frames, place);
    Foot at;
    for (int i = 0; i < n; ++i) {
      at.place[i] = x[i];
      at.velocity[i] = v[i];
    }
    return at;
  }
  Vector planned(const Place<double>& place, Eigen::Index node) const {
    const std::vector<double> q(phase().q.row(node).begin(), phase().q.row(node).end());
    const auto x = systems::Tree<double>::position(tree_.frames<double>(q.data()), place);
    Vector at;
    for (int i = 0; i < n; ++i) at[i] = x[i];
    return at;
  }

  void keep(const World& w) {
    std::size_t c = 0;
    const auto put = [&](const auto& numbers) {
      for (const double x : numbers) rows_[c].push_back(x);
      ++c;
    };
    put(std::array<double, 1>{time_});
    put(q_);
    put(v_);
    if (!tree_.actuators.empty())
      put(Eigen::VectorXd(phase().u.row(interval_at(time_ + 1e-9)).transpose() + correction_));
    put(tree_.points<double>(q_.data()));
    const auto energies = w.simulation->energies();
    put(std::array<double, 2>{energies.kinetic, energies.potential});
  }

  void compare() {
    const double k = (time_ - phase_start_) / phase().interval;
    const auto node = static_cast<Eigen::Index>(std::lround(k));
    if (std::abs(k - static_cast<double>(node)) > 1e-6 || node >= phase().q.rows()) return;
    for (Eigen::Index i = 0; i < phase().q.cols(); ++i) {
      // the actual position of the standing foot may differ from the planned one
      const double shift = phase().stands && i < n ? stand_[i] : 0.0;
      const double off = std::abs(q_[i] - shift - phase().q(node, i));
      if (off <= result_.deviation) continue;
      result_.deviation = off;
      result_.worst_coordinate = i;
      result_.deviation_time = time_;
    }
  }

  int first_moving() const { return phase().stands ? n : 0; }
  // Returns the coordinates that move and their rates, [2m].
  Eigen::VectorXd moving(const std::vector<double>& q, const std::vector<double>& v) const {
    const int m = tree_.n() - first_moving();
    Eigen::VectorXd x(2 * m);
    for (int i = 0; i < m; ++i) {
      x[i] = q[first_moving() + i];
      x[m + i] = v[first_moving() + i];
    }
    return x;
  }
  Eigen::VectorXd node(Eigen::Index k) const {
    const std::vector<double> q(phase().q.row(k).begin(), phase().q.row(k).end());
    return moving(q, rates(tree_, q, phase().p.row(k).transpose(), phase().stands));
  }

  // Computes the feedback of a phase from finite differences of the simulation of each interval.
  void regulate() {
    feedback_.clear();
    const Eigen::Index K = phase().u.rows(), inputs = phase().u.cols();
    if (settings_.feedback == RolloutSettings::Feedback::none || inputs == 0) return;
    World w = world(phase().stands, false, false);
    const std::vector<double> place = q_;
    const auto through = [&](Eigen::Index k, const Eigen::VectorXd& x, const Eigen::VectorXd& u) {
      std::vector<double> q = place, v(q.size(), 0.0);
      const auto m = x.size() / 2;
      for (Eigen::Index i = 0; i < m; ++i) {
        q[first_moving() + i] = x[i];
        v[first_moving() + i] = x[m + i];
      }
      const auto state = w.view.state(q, v);
      correction_ = u;
      w.simulation->start(state.poses, state.twists, phase_start_ + static_cast<double>(k) * phase().interval);
      for (int i = 0; i < steps(); ++i)
        if (!w.simulation->step()) throw std::invalid_argument(w.simulation->outcome().reason);
      auto now = w.view.coordinates(w.view.state(*w.simulation));
      if constexpr (n == 3) systems::add_full_turns(tree_, now.q, q);
      return moving(now.q, now.v);
    };
    std::vector<LinearInterval> intervals;
    Eigen::VectorXd x = node(0);
    const Eigen::VectorXd none = Eigen::VectorXd::Zero(inputs);
    const auto size = x.size();
    for (Eigen::Index k = 0; k < K; ++k) {
      LinearInterval interval{Eigen::MatrixXd(size, size), Eigen::MatrixXd(size, inputs), {}};
      for (Eigen::Index i = 0; i < size; ++i) {
        const Eigen::VectorXd e = difference * Eigen::VectorXd::Unit(size, i);
        interval.A.col(i) = (through(k, x + e, none) - through(k, x - e, none)) / (2.0 * difference);
      }
      for (Eigen::Index i = 0; i < inputs; ++i) {
        const Eigen::VectorXd e = difference * Eigen::VectorXd::Unit(inputs, i);
        interval.B.col(i) = (through(k, x, e) - through(k, x, -e)) / (2.0 * difference);
      }
      Eigen::VectorXd next = node(k + 1);
      interval.r = through(k, x, none) - next;
      intervals.push_back(std::move(interval));
      x = std::move(next);
    }
    correction_ = none;
    feedback_ = regulator(intervals, phase().u.cwiseAbs().maxCoeff());
  }

  // Computes the feedback in the interval that begins at this node.
  void correct(Eigen::Index k) {
    correction_.setZero();
    if (k >= static_cast<Eigen::Index>(feedback_.size())) return;
    const auto& [gain, ahead] = feedback_[k];
    correction_ = -gain * (moving(q_, v_) - node(k)) - ahead;
    const auto planned_now = phase().u.row(k);
    for (Eigen::Index i = 0; i < correction_.size(); ++i) {
      const double limit = std::min(motion_.limit, tree_.actuators[i].limit.value_or(motion_.limit));
      correction_[i] = std::max(-limit, std::min(limit, planned_now[i] + correction_[i])) - planned_now[i];
    }
    const double largest = correction_.cwiseAbs().maxCoeff();
    result_.correction = std::max(result_.correction, largest);
  }

  // Simulates a phase. Returns false if the rollout cannot continue.
  bool move() {
    const auto& now = phase();
    phase_start_ = time_;
    const bool joined = now.stands && settings_.stance == RolloutSettings::Stance::joint;
    const bool touching = now.stands && !joined;
    for (int i = 0; i < n; ++i) stand_[i] = q_[i];
    if (joined) std::fill_n(v_.begin(), n, 0.0);
    correction_ = Eigen::VectorXd::Zero(now.u.cols());
    regulate();
    World w = world(joined, touching);
    start(w);
    double total = 0.0;
    for (const auto& each : motion_.phases) total += each.duration();
    const double planned_end = phase_start_ + now.duration();
    const double end = now.landing ? planned_end + longest_delay * total : planned_end;
    std::optional<Vector> from, way;
    if (now.landing) {
      from = foot(*now.landing).place;
      way = planned(*now.landing, now.q.rows() - 1) - planned(*now.landing, 0);
    }
    bool up = false;
    if (rows_[0].empty()) keep(w);
    const double half_a_step = 0.5 * w.simulation->options().step;
    for (int k = 0; time_ < end - half_a_step; ++k) {
      if (k % steps() == 0) correct(k / steps());
      const auto q = q_, v = v_;
      const double t = time_, before = now.landing ? foot(*now.landing).height() : 0.0;
      if (!w.simulation->step()) {
        result_.failure = w.simulation->outcome().reason;
        return false;
      }
      look(w);
      if (turns_matter_)
        if (result_.failure = systems::misread_angle(tree_, q_, v_); !result_.failure.empty()) return false;
      if (touching) result_.slip = std::max(result_.slip, (foot({0, {}}).place - standing_place()).norm());
      if (now.landing) {
        const Foot at = foot(*now.landing);
        // More than half of the way: a foot that touches the ground while it passes the other leg is not the
        // touch-down.
        const bool ahead = way->squaredNorm() < 1e-12 || (at.place - *from).dot(*way) > 0.5 * way->squaredNorm();
        up |= at.height() > lifted;
        if (!ahead) result_.foot_penetration = std::max(result_.foot_penetration, -at.height());
        if (ahead && up && before > 0.0 && at.height() <= (touching ? 1e-6 : 0.0)) {
          const Foot after = at;
          q_ = q;
          v_ = v;
          time_ = t;
          return land(after, planned_end);
        }
      }
      keep(w);
      compare();
    }
    if (!now.landing) return true;
    const double height = foot(*now.landing).height();
    result_.failure = formatted("the foot that [phase %s] ends with has not come down; it is %.3g m %s the ground",
                                now.name.c_str(), std::abs(height), height < 0.0 ? "under" : "above");
    return false;
  }

  // Simulates the touch-down from the last node above the ground. Returns whether the foot touched the ground.
  bool land(const Foot& after, double planned_end) {
    const auto& now = phase();
    World w = world(false, true);
    const Foot before = foot(*now.landing);
    const double step = w.simulation->options().step;
    // The contact may have stopped the foot already: then its speed before the step counts.
    const bool stopped = now.stands && settings_.stance == RolloutSettings::Stance::contact;
    const double fall = stopped ? -before.velocity[n - 1] * step : before.height() - after.height();
    const double share = fall > 0.0 ? std::clamp(before.height() / fall, 0.0, 1.0) : 1.0;
    Rollout::Landing landing;
    landing.phase = now.name;
    landing.time = time_ + share * step;
    landing.planned_time = planned_end;
    landing.place = before.place +
                    (stopped ? Vector(share * step * before.velocity) : Vector(share * (after.place - before.place)));
    Vector place = planned(*now.landing, now.q.rows() - 1);
    landing.planned_place = place;
    start(w);
    const int body = w.view.links[now.landing->link].body;
    bool touched = false;
    for (int k = 0; k < 4 && !touched; ++k) {
      const double impact = w.simulation->contact_totals().impact;
      if (!w.simulation->step()) {
        result_.failure = w.simulation->outcome().reason;
        break;
      }
      for (const auto& each : w.simulation->impulses()) {
        const bool lands = each.body[0] == body || each.body[1] == body;
        (lands ? landing.impulse : landing.other_impulse) += std::abs(each.impulse.dot(each.normal));
        touched |= lands;
      }
      landing.loss = impact - w.simulation->contact_totals().impact;
      look(w);
      keep(w);
    }
    result_.landings.push_back(landing);
    return touched && result_.failure.empty();
  }

  const systems::Model& model_;
  const systems::Values<double>& values_;
  const PlannedMotion& motion_;
  const RolloutSettings& settings_;
  const systems::Tree<double> tree_;
  const bool turns_matter_ = systems::has_forces_of_turns(tree_);
  Rollout result_;
  std::vector<std::vector<double>> rows_;  // [channel] row by row

  // present state
  int phase_ = 0;
  double time_ = 0.0, phase_start_ = 0.0;
  std::vector<double> q_, v_;
  std::vector<Feedback> feedback_;        // feedback laws of the phase
  Eigen::VectorXd correction_;            // feedback in the present interval
  Vector3<double> stand_{0.0, 0.0, 0.0};  // position at which the standing foot touched down
};

}  // namespace

Rollout rollout(const systems::Model& model, const systems::Values<double>& values, const PlannedMotion& motion,
                const RolloutSettings& settings) {
  return model.dimension == 2 ? RolloutSimulator<2>(model, values, motion, settings).run()
                              : RolloutSimulator<3>(model, values, motion, settings).run();
}

}  // namespace dodyn::evaluators
