#include "dmoc/clearance.hpp"

#include <Eigen/Geometry>
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "dmoc/postures.hpp"
#include "record/text.hpp"

namespace dodyn::dmoc {

using Eigen::VectorXd;

namespace {

// Maximum difference between the lower bound and the computed distance, relative to the width of a part.
constexpr double clearance_tolerance = 1e-6;
// Shortest piece, relative to an interval. Its bound is accepted, even if it is far below the computed distance.
constexpr double shortest_piece = 0x1p-10;
// Samples per interval of the expression that a link follows, and the safety factor on its rate and acceleration
// between them.
constexpr int follower_samples = 16;
constexpr double follower_reserve = 2.0;

// Maxima of |f|, |f'| and |f''| over an interval.
struct FunctionBounds {
  double reach = 0.0, rate = 0.0, acceleration = 0.0;
};

// Bounds over an interval, relative to some link, with the share of the interval (0 to 1) as time: speed and
// acceleration of a point, m; angular velocity and angular acceleration of its link, rad.
struct Bounds {
  double speed = 0.0, acceleration = 0.0, turning = 0.0, speeding_up = 0.0;
};

// Bounds of the joints' motions between two nodes with coordinates q (relative to `from`) and `next` (relative to
// `to`). q, `next`, the system and the tree must outlive the object.
class IntervalBounds {
 public:
  IntervalBounds(const System& system, const systems::Tree<double>& tree, const VectorXd& q, const Reference& from,
                 const VectorXd& next, const Reference& to)
      : system_(system), tree_(tree), q_(q), next_(next) {
    const Attitudes attitudes(system);
    for (std::size_t c = 0; c < system.charts().size(); ++c) {
      const Eigen::Matrix3d turn = attitudes.rotation(c, next, to) * attitudes.rotation(c, q, from).transpose();
      turns_.push_back(Eigen::AngleAxisd(turn).angle());
    }
  }

  // Returns bounds over the interval, relative to `base`, of a point within `radius` of the frame of `link`, and of
  // that frame. Along the chain, a vector of length r that rotates by at most W and lengthens by at most v adds v + W r
  // to the speed, and W^2 r + 2 W v to the acceleration.
  Bounds bounds(int link, int base, double radius) const {
    std::vector<int> chain;
    for (; link != base; link = tree_.links[link].parent) chain.push_back(link);
    Bounds all;
    const auto add = [&all](double length, double growth) {
      all.speed += growth + all.turning * length;
      all.acceleration += (all.turning * all.turning + all.speeding_up) * length + 2.0 * all.turning * growth;
    };
    for (auto l = chain.rbegin(); l != chain.rend(); ++l) {
      const auto& one = tree_.links[*l];
      add(std::sqrt(systems::dot(systems::Vector3<double>(one.at), systems::Vector3<double>(one.at))), 0.0);
      const auto chart = std::ranges::find(system_.charts(), *l);
      for (std::size_t i = 0; i < one.moves.size(); ++i) {  // the slides precede the turns of a chart
        const double here = q_(one.first + i), there = next_(one.first + i);
        if (one.moves[i].kind == systems::Move::slide)
          add(std::max(std::abs(here), std::abs(there)), std::abs(there - here));
        else if (chart == system_.charts().end())
          all.turning += std::abs(there - here);
      }
      if (chart != system_.charts().end()) all.turning += turns_[chart - system_.charts().begin()];
      if (!one.follower) continue;
      const FunctionBounds way = function_bounds(*one.follower);
      if (one.follower->move.kind == systems::Move::slide) {
        add(way.reach, way.rate);
        all.acceleration += way.acceleration;
      } else {
        all.turning += way.rate;
        all.speeding_up += way.acceleration;
      }
    }
    add(radius, 0.0);
    return all;
  }

 private:
  FunctionBounds function_bounds(const systems::Link<double>::Follower& follower) const {
    std::vector<double> f;
    const VectorXd still = VectorXd::Zero(q_.size());
    for (int i = 0; i <= follower_samples; ++i) {
      const double s = static_cast<double>(i) / follower_samples;
      const VectorXd at = (1.0 - s) * q_ + s * next_;
      f.push_back(tree_.moving(follower.place, at.data(), still.data()).value);
    }
    FunctionBounds way;
    for (std::size_t i = 0; i < f.size(); ++i) {
      way.reach = std::max(way.reach, std::abs(f[i]));
      if (i > 0) way.rate = std::max(way.rate, follower_samples * std::abs(f[i] - f[i - 1]));
      if (i > 1)
        way.acceleration = std::max(way.acceleration,
                                    follower_samples * follower_samples * std::abs(f[i] - 2.0 * f[i - 1] + f[i - 2]));
    }
    way.rate += follower_reserve * way.acceleration / follower_samples;
    way.reach += way.rate / follower_samples;
    way.acceleration *= follower_reserve;
    return way;
  }

  const System& system_;
  const systems::Tree<double>& tree_;
  const VectorXd &q_, &next_;
  std::vector<double> turns_;  // [charts] rotation of each spherical joint over the interval, rad
};

// Returns the last common ancestor of two links; -1: the ground.
int carrier_of(const systems::Tree<double>& tree, int one, int other) {
  while (one != other) {  // parents have lower indices than their links
    int& later = one > other ? one : other;
    later = tree.links[later].parent;
  }
  return one;
}

// Returns the minimum width of a part along the normals of its facets, m. In 3D this is an upper bound of the minimum
// width.
template <int n>
double width(const geometry::Polytope<n>& part) {
  double min_width = std::numeric_limits<double>::infinity();
  for (const auto& side : part.facets()) {
    geometry::Vector<n> normal = part.normal(side);
    if (!(normal.norm() > 0.0)) continue;
    normal.normalize();
    double low = std::numeric_limits<double>::infinity(), high = -low;
    for (int i = 0; i < part.size(); ++i) {
      const double height = normal.dot(part.corner(i));
      low = std::min(low, height);
      high = std::max(high, height);
    }
    min_width = std::min(min_width, high - low);
  }
  return min_width;
}

template <int n>
class Search {
 public:
  Search(const MotionProblem& problem, const VectorXd& x, const std::vector<PartPair>& pairs)
      : problem_(problem),
        x_(x),
        pairs_(pairs),
        tree_(problem.system().model().template tree<double>(autodiff::values_of(problem.numbers()))),
        postures_(problem.system(), autodiff::values_of(problem.numbers()), pairs, 1.0) {
    for (const PartPair& pair : pairs) {
      const int one = shape_of(problem.system(), pair.one).link, other = shape_of(problem.system(), pair.other).link;
      Rigid rigid;
      rigid.links = {one, other};
      rigid.base = carrier_of(tree_, one, other);
      for (const int side : {0, 1}) {
        const auto& part = postures_.part(side == 0 ? pair.one : pair.other);
        for (int i = 0; i < part.size(); ++i) rigid.radius[side] = std::max(rigid.radius[side], part.corner(i).norm());
        rigid.width = std::min(rigid.width, width<n>(part));
      }
      rigid_.push_back(rigid);
    }
  }

  Clearance run() {
    for (const bool between : {false, true}) {  // nodes first: their minimum distance decides most pairs
      begin_ = 0.0;
      for (phase_ = 0; phase_ < problem_.phases(); ++phase_) {
        const PhaseIndex& index = problem_.index(phase_);
        const double T = index.duration >= 0 ? x_(index.duration) : problem_.phase(phase_).duration.value;
        length_ = T / index.intervals;
        for (interval_ = 0; interval_ < index.intervals; ++interval_) between ? examine_between() : examine_nodes();
        begin_ += T;
      }
    }
    found_.at_nodes = at_nodes_;
    found_.lower_bound = proven_;
    found_.relative_violation = proven_share_;
    if (found_.pair >= 0) found_.violation = found_.relative_violation * rigid_[found_.pair].width;
    return found_;
  }

 private:
  using Frames = std::vector<geometry::Frame<n>>;
  // Data of a pair that do not depend on the posture.
  struct Rigid {
    std::array<int, 2> links{};
    int base = -1;
    std::array<double, 2> radius{};
    double width = std::numeric_limits<double>::infinity();
  };

  double margin(std::size_t p) const { return pairs_[p].margin_in(phase_, interval_).value; }
  double share_of(std::size_t p, double gap) const { return (margin(p) - gap) / rigid_[p].width; }

  // Records the distance of pair p at the fraction s of the interval.
  void reach(std::size_t p, double gap, double s) {
    nearest_ = std::min(nearest_, gap);
    const double share = share_of(p, gap);
    if (share <= reached_share_) return;
    reached_share_ = share;
    found_.pair = p;
    found_.time = begin_ + length_ * (interval_ + s);
  }

  void examine_nodes() {
    const bool last = interval_ + 1 == problem_.index(phase_).intervals;
    for (int node = interval_; node <= interval_ + (last ? 1 : 0); ++node) {
      postures_.set(posture(problem_, phase_, node, x_), problem_.reference(phase_, node));
      for (std::size_t p = 0; p < pairs_.size(); ++p) {
        const double gap = postures_.separation(pairs_[p]).gap;
        at_nodes_ = std::min(at_nodes_, gap);
        reach(p, gap, node - interval_);
      }
    }
  }

  void examine_between() {
    q_ = posture(problem_, phase_, interval_, x_);
    next_ = posture(problem_, phase_, interval_ + 1, x_);
    const Reference &from = problem_.reference(phase_, interval_), &to = problem_.reference(phase_, interval_ + 1);
    const IntervalBounds ways(problem_.system(), tree_, q_, from, next_, to);
    accelerations_.clear();
    const Frames first = frames_at(0.0), last = frames_at(1.0);
    std::vector<std::size_t> all;
    for (std::size_t p = 0; p < pairs_.size(); ++p) {
      accelerations_.push_back(accelerations(rigid_[p], ways, first));
      all.push_back(p);
    }
    decide(0.0, first, 1.0, last, all);
  }

  // Returns bounds on the relative acceleration of the parts' corners in three frames: the common carrier and the two
  // links. In a link with angular velocity W and angular acceleration A, a point at the distance D with the relative
  // speed v has the additional acceleration 2 W v + (W^2 + A) D.
  static std::array<double, 3> accelerations(const Rigid& r, const IntervalBounds& ways, const Frames& first) {
    std::array<double, 3> all{};
    std::array<Bounds, 2> corners, frames;
    for (std::size_t side = 0; side < 2; ++side) {
      corners[side] = ways.bounds(r.links[side], r.base, r.radius[side]);
      frames[side] = ways.bounds(r.links[side], r.base, 0.0);
      all[0] += corners[side].acceleration;
    }
    const auto origin = [&](int link) -> geometry::Vector<n> {
      if (link < 0) return geometry::Vector<n>::Zero();
      return first[link].position;
    };
    const double apart = (origin(r.links[0]) - origin(r.links[1])).norm();
    for (std::size_t side = 0; side < 2; ++side) {
      const Bounds &point = corners[1 - side], &view = frames[side];
      const double speed = point.speed + view.speed, distance = apart + speed + r.radius[1 - side];
      all[1 + side] = point.acceleration + view.acceleration + 2.0 * view.turning * speed +
                      (view.turning * view.turning + view.speeding_up) * distance;
    }
    return all;
  }

  Frames frames_at(double s) {
    postures_.set_between(q_, problem_.reference(phase_, interval_), next_, problem_.reference(phase_, interval_ + 1),
                          s);
    return postures_.frames();
  }

  // Bounds the distance of these pairs over a piece of the interval. Halves the piece if the bound is not sharp enough.
  void decide(double a, const Frames& at_a, double b, const Frames& at_b, const std::vector<std::size_t>& of) {
    const double middle = 0.5 * (a + b);
    const Frames at_middle = frames_at(middle);
    std::vector<std::size_t> open;
    for (const std::size_t p : of) {
      const auto [gap, normal] = postures_.separation(pairs_[p]);
      reach(p, gap, middle);
      // the maximum bound of three directions: fixed in the common carrier, or in one of the two links
      double bound = -nlp::infinity;
      const std::array<int, 3> views = {rigid_[p].base, rigid_[p].links[0], rigid_[p].links[1]};
      for (std::size_t view = 0; view < views.size(); ++view) {
        const geometry::Vector<n> fixed = axes(views[view], at_middle).transpose() * normal;
        const auto apart = [&](const Frames& frames) {
          const geometry::Vector<n> direction = axes(views[view], frames) * fixed;
          return postures_.extent(pairs_[p].one, direction, frames).first -
                 postures_.extent(pairs_[p].other, direction, frames).second;
        };
        const double chord = std::min({apart(at_a), apart(at_middle), apart(at_b)});
        bound = std::max(bound, chord - accelerations_[p][view] * 0.25 * (b - a) * (b - a) / 8.0);
      }
      if (b - a > shortest_piece && (bound < nearest_ - clearance_tolerance * rigid_[p].width ||
                                     share_of(p, bound) > reached_share_ + clearance_tolerance)) {
        open.push_back(p);
        continue;
      }
      proven_ = std::min(proven_, bound);
      proven_share_ = std::max(proven_share_, share_of(p, bound));
    }
    if (open.empty()) return;
    decide(a, at_a, middle, at_middle, open);
    decide(middle, at_middle, b, at_b, open);
  }

  static const geometry::Matrix<n>& axes(int link, const Frames& frames) {
    static const geometry::Matrix<n> ground = geometry::Matrix<n>::Identity();
    return link < 0 ? ground : frames[link].directors;
  }

  const MotionProblem& problem_;
  const VectorXd& x_;
  const std::vector<PartPair>& pairs_;
  systems::Tree<double> tree_;
  Postures<n> postures_;
  std::vector<Rigid> rigid_;
  int phase_ = 0, interval_ = 0;       // indices of the current phase and interval
  double begin_ = 0.0, length_ = 0.0;  // start of the phase, and length of its intervals, s
  VectorXd q_, next_;
  std::vector<std::array<double, 3>> accelerations_;  // by pair and frame, see accelerations()
  // Minima (distances) and maxima (shares) up to now.
  double at_nodes_ = nlp::infinity, nearest_ = nlp::infinity, proven_ = nlp::infinity;
  double reached_share_ = -nlp::infinity, proven_share_ = -nlp::infinity;
  Clearance found_;
};

}  // namespace

Clearance clearance(const MotionProblem& problem, const VectorXd& x, const std::vector<PartPair>& pairs) {
  return problem.system().structure().dimension == 2 ? Search<2>(problem, x, pairs).run()
                                                     : Search<3>(problem, x, pairs).run();
}

std::string violation_text(const System& system, const PartPair& pair, double violation, double time) {
  const std::string who = part_name(system, pair.one) + " and " + part_name(system, pair.other);
  return who + (pair.margin.value == 0.0
                    ? formatted(" overlap by %.3g mm at t = %.3g s", 1e3 * violation, time)
                    : formatted(" are nearer than their margin by %.3g mm at t = %.3g s", 1e3 * violation, time));
}

}  // namespace dodyn::dmoc
