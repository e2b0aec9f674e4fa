// The exact response solves for the collision time (3.75) and the impact (3.73) or (3.76). It fails if contact lasts.
#include <algorithm>
#include <cmath>
#include <limits>

#include "rigid/impact.hpp"
#include "rigid/invariants.hpp"

namespace dodyn::rigid {
namespace {

constexpr const char* contact_lasts =
    "a contact lasts, which contact-method event-driven does not support; choose projection";

template <int n>
class Exact final : public ContactResponse<n> {
  using VectorX = Eigen::VectorXd;

 public:
  explicit Exact(const ResponseContext<n>& context)
      : context_(context), find_points_(context.world), inertia_(context.bodies) {}

  void restart() override { last_interval_ = 0.0; }

  Progress advance(double t, double h, State<n>& state, StepRecord<n>& record) override {
    // reflects approaching pairs that touch at the start, before anything moves
    Progress progress;
    frames_of(state.poses, frames0_);
    context_.detection.find(frames0_, context_.options.tolerance);
    inertia_.set(state.poses);
    for (int round = 0; approaching(state, progress.cause); ++round) {
      if (round > 100 * context_.bodies.size()) return progress;
      reflect(state.p, p_after_, record);
      if (context_.options.jump == JumpCondition::discrete_energy && last_interval_ > 0.0) {
        by_energy(t, h, state, progress);
        return progress;
      }
      state.p = p_after_;
    }

    if (!context_.integrator.advance(t, h, state, next_)) {
      progress.cause.what = "the implicit step did not converge";
      return progress;
    }
    frames_of(next_.poses, frames1_);
    context_.detection.find(frames1_);
    if (const PenetrationCheck way = check_penetration<n>(context_, frames0_, frames1_); !way.free())
      return {0.0, way.share, way.cause};
    // the earliest collision of the pairs that overlap, and of the constraints that are violated, at the end
    double first = h;
    bool collides = false;
    const auto& constraints = context_.bodies.one_sided();
    for (int i = 0; i < std::ssize(constraints); ++i) {
      const auto overlap = [&](const std::vector<Pose<n>>& poses) { return -constraints[i].gap(poses, {}, {}); };
      const double end = overlap(next_.poses);
      if (end <= 1e-14) continue;  // no overlap, within the limit that shapes have below
      progress.cause = {{-1, -1}, end, "collision time not found", i};
      const double at = collision_time(overlap, t, first, state);
      if (at < 0.0) {
        if (overlap(state.poses) >= -context_.options.tolerance) progress.cause.what = contact_lasts;
        return progress;
      }
      if (at < first || !collides) first = at;
      collides = true;
    }
    for (int i = 0; i < std::ssize(context_.detection.found()); ++i) {
      const auto& c = context_.detection.found()[i];
      if (c.gap <= 1e-14) continue;  // the accuracy of collision times; resting bodies differ by rounding
      progress.cause = {c.body, c.normal_gap(), "collision time not found"};
      const auto overlap = [&](const std::vector<Pose<n>>& poses) {
        frames_of(poses, frames1_);
        return context_.detection.look(i, frames1_).gap;
      };
      const double at = collision_time(overlap, t, first, state);
      if (at < 0.0) {
        if (context_.detection.look(i, frames0_).gap >= -context_.options.tolerance)
          progress.cause.what = contact_lasts;
        return progress;
      }
      if (at < first || !collides) first = at;
      collides = true;
    }
    if (collides) {
      if (!context_.integrator.advance(t, first, state, next_)) return progress;
      frames_of(next_.poses, frames1_);
      context_.detection.find(frames1_);
    }
    accept(first, state, progress);
    return progress;
  }

 private:
  void accept(double interval, State<n>& state, Progress& progress) {
    before_contact_ = state.poses;
    last_interval_ = interval;
    std::swap(state, next_);
    progress.done = interval;
  }

  // Whether a touching pair approaches; stores the points of the fastest in `impact_`.
  bool approaching(const State<n>& state, FailureCause& cause) {
    auto& points = impact_.points;
    find_points_.collect(context_.detection, frames0_, context_.options.tolerance, false, points);
    add_constraint_points(context_.bodies, state.poses, context_.options.tolerance, points);
    inertia_.velocity(state.p, nu_);
    impact_.rows.build(inertia_, points, false);
    int worst = -1;
    double fastest = 0.0, scale = 0.0;
    for (int i = 0; i < std::ssize(points); ++i)
      if (const double u = impact_.rows.relative_velocity(i, 0, nu_); u < fastest) {
        fastest = u;
        worst = i;
      }
    for (int b = 0; b < context_.bodies.size(); ++b)
      scale = std::max(scale, inertia_.twist(b, nu_).template head<n>().norm());
    if (worst >= 0 && points[worst].constraint >= 0) scale = std::max(scale, nu_.template lpNorm<Eigen::Infinity>());
    if (worst < 0 || -fastest <= 1e-13 * scale) return false;
    cause = {points[worst].body, points[worst].gap, contact_lasts, points[worst].constraint};
    const PairKey pair = points[worst].pair;
    std::erase_if(points, [&](const auto& point) { return point.pair != pair; });
    return true;
  }

  // Solves (3.75) for the interval length, at most `h`, after which this overlap, a function of poses, becomes
  // positive. Returns a length at which it is not yet positive; -1: no root is bracketed.
  template <class Overlap>
  double collision_time(const Overlap& overlap, double t, double h, const State<n>& state) {
    const auto gap = [&](double s) {
      if (!context_.integrator.advance(t, s, state, trial_)) return std::numeric_limits<double>::quiet_NaN();
      return overlap(trial_.poses);
    };
    double low = 0.0, high = h;
    double g_low = overlap(state.poses), g_high = gap(h);
    if (g_high <= 0.0) return h;                       // an earlier pair has shortened the interval
    for (int k = 0; g_low >= -1e-14 && k < 30; ++k) {  // the pair touches at the start and separates: start a little
                                                       // later
      low = h * std::ldexp(1.0, -1 - k);
      g_low = gap(low);
      if (g_low > 0.0) {
        high = low;
        g_high = g_low;
        low = 0.0;
      }
    }
    if (!(g_low <= 0.0) || low == 0.0) {
      if (!(g_low < -1e-14)) return -1.0;
    }
    // Illinois variant of the secant method, which keeps the bracket
    double w_low = g_low, w_high = g_high;
    for (int k = 0; k < 200 && high - low > 1e-15 * h && g_low < -1e-14; ++k) {
      double s = low + (high - low) * w_low / (w_low - w_high);
      if (k > 20 || !(s > low && s < high)) s = 0.5 * (low + high);
      const double g = gap(s);
      if (!(g == g)) return -1.0;
      if (g > 0.0) {
        high = s;
        w_high = g;
        w_low *= 0.5;
        if (g <= 1e-14) return s;
      } else {
        low = s;
        g_low = w_low = g;
        w_high *= 0.5;
      }
    }
    return low > 0.0 ? low : -1.0;
  }

  // Solves the impact (3.73) of the pair in `impact_`, at `inertia_`: the root mu_c != 0 of the energy condition.
  // Closed form if the pair touches in one point.
  void reflect(const VectorX& p, VectorX& after, StepRecord<n>& record) {
    auto& points = impact_.points;
    auto& rows = impact_.rows;
    auto& impulse = impact_.impulse;
    inertia_.velocity(p, nu_);
    rows.build(inertia_, points, true);
    impulse.assign(n * points.size(), 0.0);
    target_.resize(points.size());
    friction_.resize(points.size());
    double fastest = 0.0;
    for (std::size_t i = 0; i < points.size(); ++i) {
      const double u = rows.relative_velocity(i, 0, nu_);
      target_[i] = -restitution(context_.world, points[i]) * u;
      friction_[i] = friction(context_.world, points[i]);
      fastest = std::max(fastest, std::abs(u));
    }
    const double T = kinetic_energy(p, nu_);
    solver_.solve(rows, target_, friction_, 1e-14 * fastest, nu_, impulse);
    impact_.apply(p, after);
    inertia_.velocity(after, nu_);
    by_impact_ = kinetic_energy(after, nu_) - T;
    record.contact_totals.impact += by_impact_;
    ++record.contact_totals.impulses;
    impact_.report(record);
  }

  // Solves the impact with (3.76b): the discrete energies of the intervals before and after are equal, except for the
  // losses by restitution and friction. The interval after is halved until it ends without contact (section 3.4.2). The
  // closed form from reflect() is the initial guess.
  void by_energy(double t, double h, State<n>& state, Progress& progress) {
    inertia_.velocity(state.p, nu_);
    const double T = kinetic_energy(state.p, nu_);
    const double E = discrete_energy(context_.bodies, context_.forces, before_contact_, state.poses, last_interval_);
    for (double after = h;; after *= 0.5) {
      if (after < 1e-9 * context_.options.step) {
        progress.cause.what = "no interval after the impact is free of contact";
        return;
      }
      if (!with_energy(t, after, E, std::abs(E) + T, state)) continue;
      frames_of(next_.poses, frames1_);
      context_.detection.find(frames1_);
      bool free = check_penetration<n>(context_, frames0_, frames1_).free();
      for (const auto& c : context_.detection.found()) free = free && c.gap <= 0.0;
      free = free && largest_violation(context_.bodies, next_.poses) <= 0.0;
      if (!free) continue;
      accept(after, state, progress);
      return;
    }
  }

  // Scales the normal impulses by the secant method, so that the interval to `next_` gets the discrete energy E less
  // the impact's loss. Returns false if the method or an implicit step does not converge.
  bool with_energy(double t, double h, double E, double scale, const State<n>& state) {
    double extra = 0.0, last_error = 0.0, last_extra = 0.0;
    for (int k = 0; k < 50; ++k) {
      trial_.poses = state.poses;
      trial_.p = p_after_;
      for (std::size_t i = 0; i < impact_.points.size(); ++i)
        impact_.rows.add_momentum(i, 0, extra * impact_.impulse[n * i], trial_.p);
      if (!context_.integrator.advance(t, h, trial_, next_)) return false;
      const double error =
          discrete_energy(context_.bodies, context_.forces, state.poses, next_.poses, h) - E - by_impact_;
      if (std::abs(error) <= 1e-14 * scale) return true;
      const double slope = k == 0 ? 0.0 : (error - last_error) / (extra - last_extra);
      last_error = error;
      last_extra = extra;
      if (k > 0 && (slope == 0.0 || std::abs(error / slope) <= 1e-16)) return std::abs(error) <= 1e-12 * scale;
      extra += k == 0 ? 1e-4 : -error / slope;
    }
    return false;
  }

  ResponseContext<n> context_;
  std::vector<Pose<n>> before_contact_;  // poses at the start of the interval that ends at the state
  double last_interval_ = 0.0;           // s; 0: there is none

  // work space
  ContactPoints<n> find_points_;
  Inertia<n> inertia_;
  ContactSolver<n> solver_;
  Impact<n> impact_;
  State<n> next_, trial_;
  std::vector<geometry::Frame<n>> frames0_, frames1_;
  VectorX nu_, p_after_;
  std::vector<double> target_, friction_;
  double by_impact_ = 0.0;  // change of kinetic energy by the last reflection, J
};

}  // namespace

template <int n>
std::unique_ptr<ContactResponse<n>> make_exact(const ResponseContext<n>& context) {
  return std::make_unique<Exact<n>>(context);
}
template std::unique_ptr<ContactResponse<2>> make_exact(const ResponseContext<2>&);
template std::unique_ptr<ContactResponse<3>> make_exact(const ResponseContext<3>&);

}  // namespace dodyn::rigid
