#include "rigid/simulation.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <numeric>
#include <stdexcept>

#include "rigid/contact_points.hpp"
#include "rigid/detection.hpp"
#include "rigid/impulses.hpp"
#include "rigid/multibody.hpp"

namespace dodyn::rigid {
namespace {

std::string number(double x) {
  char text[32];
  std::snprintf(text, sizeof text, "%.6g", x);
  return text;
}

void require(bool good, const std::string& what) {
  if (!good) throw std::invalid_argument(what);
}

template <int n>
geometry::Frame<n> middle(const Pose<n>& a, const Pose<n>& b) {
  if constexpr (n == 2)
    return Pose<2>{0.5 * (a.position + b.position), 0.5 * (a.angle + b.angle)}.frame();
  else  // of the director coordinates: not a rotation
    return {0.5 * (a.position + b.position), 0.5 * (a.directors + b.directors)};
}

// Mean angular velocity over h.
Spin<2> mean_spin(const Pose<2>& a, const Pose<2>& b, double h) { return Spin<2>((b.angle - a.angle) / h); }
Spin<3> mean_spin(const Pose<3>& a, const Pose<3>& b, double h) {
  return logarithm(b.directors * a.directors.transpose()) / h;
}

template <int n>
Spin<n> torque(const ConfigurationGradient<n>& gradient, const Matrix<n>& directors) {
  Spin<n> sum = Spin<n>::Zero();
  for (int i = 0; i < n; ++i) sum += cross(Vector<n>(directors.col(i)), Vector<n>(gradient.col(i + 1)));
  return sum;
}

// Impulses at the contact points of one solution as the start of the next, pair by pair of parts. Points come in the
// order in which pairs are looked at.
template <int n>
struct Guess {
  void clear() { pairs.clear(); }
  void keep(const std::vector<ContactPoint<n>>& points, const std::vector<double>& impulse) {
    pairs.clear();
    places.clear();
    for (const auto& point : points) {
      pairs.push_back(point.pair);
      places.push_back(point.point);
    }
    impulses = impulse;
  }
  void give(const std::vector<ContactPoint<n>>& points, std::vector<double>& impulse) const {
    impulse.assign(n * points.size(), 0.0);
    const auto run = [](std::size_t from, std::size_t size, auto pair) {
      std::size_t to = from + 1;
      while (to < size && pair(to) == pair(from)) ++to;
      return to;
    };
    const auto now = [&](std::size_t i) { return points[i].pair; };
    const auto then = [&](std::size_t i) { return pairs[i]; };
    for (std::size_t i = 0, j = 0; i < points.size() && j < pairs.size();) {
      const std::size_t i_end = run(i, points.size(), now), j_end = run(j, pairs.size(), then);
      if (now(i) == then(j))  // points come and go: each impulse to the point that is nearest now
        for (std::size_t from = j; from < j_end; ++from) {
          std::size_t to = i;
          for (std::size_t k = i; k < i_end; ++k)
            if ((points[k].point - places[from]).squaredNorm() < (points[to].point - places[from]).squaredNorm())
              to = k;
          for (int k = 0; k < n; ++k) impulse[n * to + k] += impulses[n * from + k];
        }
      const bool both = now(i) == then(j), first = now(i) < then(j);
      if (both || first) i = i_end;
      if (both || !first) j = j_end;
    }
  }
  std::vector<int> pairs;
  std::vector<Vector<n>> places;
  std::vector<double> impulses;
};

}  // namespace

template <int n>
struct Simulation<n>::Machine {
  static constexpr int spin = Multibody<n>::spin;
  using Poses = std::vector<Pose<n>>;
  using Twists = std::vector<Twist<n>>;
  using FrameList = std::vector<geometry::Frame<n>>;
  using VectorX = Eigen::VectorXd;

  Machine(World<n> w, Options o) : world(std::move(w)), options(o), multibody(world), detection(world) {
    check();
    for (const auto& body : world.bodies) {
      faces.emplace_back();
      for (const auto& part : body.parts) faces.back().emplace_back(part);
    }
    for (std::size_t i = 0; i < world.charges.size(); ++i)
      for (std::size_t j = i + 1; j < world.charges.size(); ++j)
        if (world.charges[i].body != world.charges[j].body &&
            !(world.bodies[world.charges[i].body].fixed && world.bodies[world.charges[j].body].fixed))
          charge_pairs.emplace_back(static_cast<int>(i), static_cast<int>(j));
    drag = std::any_of(world.bodies.begin(), world.bodies.end(),
                       [](const auto& b) { return b.linear_drag != 0.0 || b.angular_drag != 0.0; });
    moving_forces = drag || (world.charge_constant != 0.0 && !charge_pairs.empty()) || !world.potentials.empty() ||
                    !world.forces.empty() || options.response == Response::penalty;
    const std::size_t count = world.bodies.size();
    for (auto* q : {&poses, &predicted, &before, &projected}) q->resize(count);
    for (auto* f : {&frames0, &frames1, &frames}) f->resize(count);
    gradient.resize(count);
    for (auto* t : {&twists, &scratch_twists, &wrench, &wrench0, &wrench1, &acceleration0, &acceleration1})
      t->assign(count, Twist<n>::Zero());
    p.setZero(multibody.dofs());
    dofs.resize(multibody.dofs());
    touched.assign(detection.pairs(), -1);
  }

  void check() const {
    require(!world.bodies.empty(), "a world needs at least one body");
    require(options.step > 0.0 && std::isfinite(options.step),
            "step is " + number(options.step) + " s, must be positive");
    require(options.tolerance > 0.0, "contact tolerance is " + number(options.tolerance) + " m, must be positive");
    require(options.refine > 0.0 && options.refine <= 1.0, "refine is " + number(options.refine) + ", allowed (0, 1]");
    require(options.max_cuts >= 0, "max_cuts is negative");
    require(options.response != Response::penalty || options.stiffness > 0.0,
            "penalty stiffness is " + number(options.stiffness) + " N/m, must be positive");
    require(options.stepper == Stepper::variational || !multibody.has_joints(),
            "Newmark steppers move free bodies only; this world has joints");
    for (const auto& b : world.bodies) {
      require(b.surface.restitution >= 0.0 && b.surface.restitution <= 1.0,
              "restitution of '" + b.name + "' is " + number(b.surface.restitution) + ", allowed 0 to 1");
      require(b.surface.friction >= 0.0 && std::isfinite(b.surface.friction),
              "friction of '" + b.name + "' is " + number(b.surface.friction) + ", must not be negative");
      require(b.linear_drag >= 0.0 && b.angular_drag >= 0.0, "drag of '" + b.name + "' is negative");
      require(!b.outward || std::abs(b.outward->norm() - 1.0) < 1e-9,
              "the outward normal of '" + b.name + "' is not of unit length");
    }
    const int count = static_cast<int>(world.bodies.size());
    for (const auto& c : world.charges)
      require(c.body >= 0 && c.body < count,
              "a charge sits on body " + std::to_string(c.body) + " of " + std::to_string(count));
    for (const auto& [a, b] : world.no_contact)
      require(a >= 0 && b >= 0 && a < count && b < count && a != b, "no_contact names a pair that does not exist");
  }

  // ---- forces ----------------------------------------------------------------------------------------------------

  // V at these frames; dV/dq in `gradient`. Of the penalty (3.38), (3.39) too where that is the response.
  double potential(const FrameList& at) {
    double V = 0.0;
    for (std::size_t b = 0; b < world.bodies.size(); ++b) {
      gradient[b].setZero();
      if (world.bodies[b].fixed) continue;
      V -= world.bodies[b].mass * world.gravity.dot(at[b].position);
      gradient[b].col(0) = -world.bodies[b].mass * world.gravity;
    }
    if (world.charge_constant != 0.0)
      for (const auto& [i, j] : charge_pairs) {  // (3.51)
        const auto &one = world.charges[i], &two = world.charges[j];
        const Vector<n> d = at[one.body](one.at) - at[two.body](two.at);
        const double r2 = d.squaredNorm(), v = world.charge_constant * one.value * two.value / std::sqrt(r2);
        V += v;
        const Vector<n> slope = -v / r2 * d;
        for (const auto* c : {&one, &two}) {
          const double sign = c == &one ? 1.0 : -1.0;
          gradient[c->body].col(0) += sign * slope;
          for (int k = 0; k < n; ++k) gradient[c->body].col(k + 1) += sign * c->at[k] * slope;
        }
      }
    for (const auto& user : world.potentials) V += user(at, gradient);
    if (options.response == Response::penalty)
      for (const auto& c : detection.find(at)) {
        if (c.gap <= 0.0) continue;
        V += 0.5 * options.stiffness * c.gap * c.gap;
        for (int s = 0; s < 2; ++s) {
          const typename geometry::Contact<n>::Gradient d = geometry::gradient(c, s);
          gradient[c.body[s]] += options.stiffness * c.gap * Eigen::Map<const ConfigurationGradient<n>>(d.data());
        }
      }
    return V;
  }

  // Forces without potential at these frames and twists, added to `wrench`.
  void other_forces(double t, const FrameList& at, const Twists& velocity) {
    for (auto& w : wrench) w.setZero();
    if (drag)
      for (std::size_t b = 0; b < world.bodies.size(); ++b) {
        wrench[b].template head<n>() -= world.bodies[b].linear_drag * velocity[b].template head<n>();
        wrench[b].template tail<spin>() -= world.bodies[b].angular_drag * velocity[b].template tail<spin>();
      }
    for (const auto& user : world.forces) user(t, at, velocity, wrench);
  }

  static void frames_of(const Poses& q, FrameList& out) {
    for (std::size_t b = 0; b < q.size(); ++b) out[b] = q[b].frame();
  }

  // ---- prediction: (q0, p0) -> (q1, p1) as if there were no contact ---------------------------------------------

  bool predict(double t, double h, const Poses& q0, const VectorX& p0, Poses& q1, VectorX& p1) {
    multibody.set(q0);
    multibody.velocity(p0, nu);
    if (options.stepper != Stepper::variational) return newmark(t, h, q0, q1, p1);
    dofs = h * nu;
    multibody.reparametrise(q0, dofs, q1);
    frames_of(q0, frames0);
    double last = std::numeric_limits<double>::infinity();
    for (int k = 0;; ++k) {
      for (int b = 0; b < multibody.size(); ++b) frames[b] = middle(q0[b], q1[b]);
      potential(frames);
      if (drag || !world.forces.empty()) {
        for (int b = 0; b < multibody.size(); ++b) {
          scratch_twists[b].template head<n>() = (q1[b].position - q0[b].position) / h;
          scratch_twists[b].template tail<spin>() = mean_spin(q0[b], q1[b], h);
        }
        other_forces(t + 0.5 * h, frames, scratch_twists);
      }
      rhs = p0;
      for (int b = 0; b < multibody.size(); ++b) {
        if (multibody.is_fixed(b)) continue;
        wrench0[b] = wrench[b];
        wrench0[b].template head<n>() -= gradient[b].col(0);
        wrench0[b].template tail<spin>() -= torque<n>(gradient[b], n == 2 ? frames[b].directors : frames0[b].directors);
        add_reduced(b, 0.5 * h * wrench0[b], rhs);
      }
      before = q1;
      if (!multibody.advance(q0, rhs, h, q1)) return false;
      if (!moving_forces) break;
      double change = 0.0;
      for (int b = 0; b < multibody.size(); ++b)
        if (!multibody.is_fixed(b))
          change = std::max(change, detection.motion(b, before[b].frame(), q1[b].frame()) /
                                        (detection.radius(b) + 0.04 * q1[b].position.norm()));
      if (change <= 1e-14 || (change >= last && change <= 1e-12)) break;
      if (!(change < 1e100) || k == 100) return false;
      last = change;
    }
    multibody.orthonormalise(q1);
    multibody.set(q1);
    p1.setZero(multibody.dofs());
    for (int b = 0; b < multibody.size(); ++b) {
      if (multibody.is_fixed(b)) continue;
      Twist<n> w = wrench[b];
      w.template head<n>() -= gradient[b].col(0);
      w.template tail<spin>() -= torque<n>(gradient[b], n == 2 ? frames[b].directors : q1[b].frame().directors);
      w *= 0.5 * h;
      // of a free body the interval's momentum is what was asked for, without the rounding of positions
      w += multibody.is_free(b) ? Twist<n>(rhs.segment<Multibody<n>::twist>(multibody.range(b).first))
                                : multibody.interval_momentum(b, q0[b], q1[b], h);
      add_reduced(b, w, p1);
    }
    return true;
  }

  void add_reduced(int body, const Twist<n>& w, VectorX& out) {
    const auto range = multibody.range(body);
    if (multibody.is_free(body)) {
      out.segment<Multibody<n>::twist>(range.first) += w;
    } else {
      reduced.resize(range.size);
      multibody.reduce(body, w, reduced.data());
      out.segment(range.first, range.size) += reduced;
    }
  }

  // Linear and angular accelerations (the spatial ones in body axes) at a node.
  void accelerations(double t, const Poses& q, const Twists& velocity, Twists& a) {
    frames_of(q, frames);
    potential(frames);
    other_forces(t, frames, velocity);
    for (int b = 0; b < multibody.size(); ++b) {
      if (multibody.is_fixed(b)) continue;
      a[b].template head<n>() = (wrench[b].template head<n>() - gradient[b].col(0)) / multibody.mass(b);
      const Spin<n> moment = wrench[b].template tail<spin>() - torque<n>(gradient[b], frames[b].directors);
      if constexpr (n == 2) {
        a[b][2] = moment[0] / multibody.body_inertia(b)(0, 0);
      } else {
        const Matrix<3>&X = frames[b].directors, J = multibody.body_inertia(b);
        const Vector<3> w = X.transpose() * velocity[b].template tail<3>();
        a[b].template tail<3>() = J.ldlt().solve(X.transpose() * moment - w.cross(J * w));
      }
    }
  }

  // Newmark (3.3) with gamma = 1/2 and beta = 0 or 1/4; rotations by the exponential map of the increment in body axes.
  bool newmark(double t, double h, const Poses& q0, Poses& q1, VectorX& p1) {
    const double beta = options.stepper == Stepper::newmark_explicit ? 0.0 : 0.25;
    multibody.twists(nu, scratch_twists);
    Twists& v1 = wrench0;
    const Twists v0 = scratch_twists;
    accelerations(t, q0, v0, acceleration0);
    acceleration1 = acceleration0;
    q1 = q0;
    double last = std::numeric_limits<double>::infinity();
    for (int k = 0;; ++k) {
      before = q1;
      double change = 0.0;
      for (int b = 0; b < multibody.size(); ++b) {
        v1[b].setZero();
        if (multibody.is_fixed(b)) continue;
        Twist<n> v = v0[b];
        if constexpr (n == 3) v.template tail<3>() = q0[b].directors.transpose() * v0[b].template tail<3>();
        const Twist<n> u =
            h * v + 0.5 * h * h * ((1.0 - 2.0 * beta) * acceleration0[b] + 2.0 * beta * acceleration1[b]);
        v1[b] = v + 0.5 * h * (acceleration0[b] + acceleration1[b]);
        q1[b] = q0[b];
        q1[b].position += u.template head<n>();
        if constexpr (n == 2) {
          q1[b].angle += u[2];
        } else {
          q1[b].directors = q0[b].directors * exponential(u.template tail<3>());
          v1[b].template tail<3>() = (q1[b].directors * v1[b].template tail<3>()).eval();
        }
      }
      const Twists a = acceleration1;
      const Twists v = v1;
      accelerations(t + h, q1, v, acceleration1);
      for (int b = 0; b < multibody.size(); ++b)
        change = std::max(change, (acceleration1[b] - a[b]).norm() * h / (1e-3 / h + v[b].norm()));
      if (change <= 1e-15 || (change >= last && change < 1e-12)) break;
      if (!(change < 1e100) || k == 100) return false;
      last = change;
    }
    multibody.orthonormalise(q1);
    multibody.set(q1);
    p1.setZero(multibody.dofs());
    for (int b = 0; b < multibody.size(); ++b)
      if (!multibody.is_fixed(b)) add_reduced(b, multibody.body_momentum(b, v1[b]), p1);
    return true;
  }

  // ---- energies and momenta --------------------------------------------------------------------------------------

  double kinetic(const Poses& q, const VectorX& momentum) {
    multibody.set(q);
    multibody.velocity(momentum, nu);
    return multibody.kinetic(momentum, nu);
  }
  double potential_at(const Poses& q) {
    frames_of(q, frames);
    return potential(frames);
  }
  Momenta<n> momenta_at(const Poses& q, const VectorX& momentum) {
    multibody.set(q);
    multibody.velocity(momentum, nu);
    multibody.twists(nu, scratch_twists);
    Momenta<n> sum;
    for (int b = 0; b < multibody.size(); ++b) {
      if (multibody.is_fixed(b)) continue;
      const Twist<n> own = multibody.body_momentum(b, scratch_twists[b]);
      sum.linear += own.template head<n>();
      sum.angular += cross(q[b].position, Vector<n>(own.template head<n>())) + own.template tail<spin>();
    }
    return sum;
  }
  // Discrete energy E_d of an interval.
  double discrete_energy(const Poses& q0, const Poses& q1, double h) {
    double sum = 0.0;
    for (int b = 0; b < multibody.size(); ++b) {
      frames[b] = middle(q0[b], q1[b]);
      if (multibody.is_fixed(b)) continue;
      sum += 0.5 * multibody.mass(b) * (q1[b].position - q0[b].position).squaredNorm() / (h * h);
      if constexpr (n == 2) {
        const double w = (q1[b].angle - q0[b].angle) / h;
        sum += 0.5 * multibody.body_inertia(b)(0, 0) * w * w;
      } else {
        const Matrix<3> D = (q1[b].directors - q0[b].directors) / h;
        sum += 0.5 * (D.transpose() * D).cwiseProduct(multibody.euler_tensor(b)).sum();
      }
    }
    return sum + potential(frames);
  }

  // ---- one step --------------------------------------------------------------------------------------------------

  // What stands in the way, if a step fails.
  struct Blame {
    std::array<int, 2> bodies{-1, -1};
    double gap = 0.0;
    const char* what = "";
  };

  bool step() {
    if (outcome.status == Outcome::failed) return false;
    saved_poses = poses;
    saved_p = p;
    constexpr int most_parts = 2000;
    Blame last_blame;
    const double start = time, end = start_time + (steps + 1) * options.step;
    double interval = end - start;
    int cuts = 0, parts = 0;
    const auto give_up = [&](const Blame& blame, const std::string& after) {
      outcome = {Outcome::failed, time, blame.bodies, blame.gap, blame.what};
      if (blame.bodies[0] >= 0)
        outcome.reason += " between '" + world.bodies[blame.bodies[0]].name + "' and '" +
                          world.bodies[blame.bodies[1]].name + "', overlap " + number(blame.gap) + " m,";
      outcome.reason += " at t = " + number(time) + " s after " + after;
      poses = saved_poses;
      p = saved_p;
      time = start;
      finish();
      return false;
    };
    while (time < end) {
      interval = std::min(interval, end - time);
      if (end - time - interval < 1e-9 * options.step) interval = end - time;
      double cut = 0.5;
      Blame blame;
      double done = 0.0;
      try {
        done = advance(interval, cut, blame);
      } catch (const std::runtime_error& error) {  // a hyperplane program on numbers that have run away
        blame.what = error.what();
        return give_up(blame, "a step");
      }
      if (!p.allFinite()) {
        blame.what = "the motion is not a finite number";
        return give_up(blame, "a step");
      }
      if (done > 0.0) {
        ++updates;
        time = done >= end - time ? end : time + done;
        interval = end - time;
        // bounces that crowd together: infinitely many in a finite time
        if (++parts > most_parts) {
          if (blame.bodies[0] < 0) blame = last_blame;
          blame.what = "contacts without end";
          return give_up(blame, std::to_string(most_parts) + " parts of the step");
        }
        if (blame.bodies[0] >= 0) last_blame = blame;
        continue;
      }
      ++ledger.cuts;
      if (++cuts > options.max_cuts) return give_up(blame, std::to_string(options.max_cuts) + " cuts of the step");
      interval *= cut;
    }
    ++steps;
    finish();
    return true;
  }

  void finish() {
    multibody.set(poses);
    multibody.velocity(p, nu);
    multibody.twists(nu, twists);
    if (outcome.status != Outcome::failed) outcome.time = time;
  }

  // Moves the state on by at most `h`. Returns how far, or 0 with the share of h to try next.
  double advance(double h, double& cut, Blame& blame) {
    if (options.response == Response::exact) return advance_exact(h, cut, blame);
    if (!predict(time, h, poses, p, predicted, p_predicted)) {
      blame.what = "the implicit step did not converge";
      return 0.0;
    }
    if (options.response != Response::decomposition) {
      poses.swap(predicted);
      p.swap(p_predicted);
      return h;
    }
    frames_of(poses, frames0);
    frames_of(predicted, frames1);
    detection.find(frames1);
    if (!passable(cut, blame)) return 0.0;
    double deepest = 0.0;
    for (const auto& c : detection.found()) deepest = std::max(deepest, c.normal_gap());
    if (deepest <= 0.0) {
      poses.swap(predicted);
      p.swap(p_predicted);
      return h;
    }
    return decompose(h, deepest, blame) ? h : 0.0;
  }

  // Whether bodies went from frames0 to frames1 (the frames of the last find) without passing through each other or
  // sinking too deep to tell which way is out. If not, `cut` is the share of the step that brings them to contact.
  bool passable(double& cut, Blame& blame) {
    double share = 1.0;
    for (std::size_t i = 0; i < detection.found().size(); ++i) {
      const auto& c = detection.found()[i];
      const double gap = c.normal_gap();
      double moved = 0.0;
      for (const int b : c.body)
        if (!multibody.is_fixed(b)) moved += detection.motion(b, frames0[b], frames1[b]);
      const int pair = detection.pair(static_cast<int>(i));
      const double limit = options.refine * detection.thickness(pair);
      if (moved <= limit && gap <= limit) continue;
      if (gap <= limit && detection.separation(pair, frames0, c.normal()) >= -options.tolerance) continue;
      const auto at_start = detection.look(pair, frames0);
      const double apart = std::max(0.0, -at_start.normal_gap());
      if (gap <= 0.0 && (apart >= moved || detection.separation(pair, frames1, at_start.normal()) > 0.0)) continue;
      const double now = std::clamp((apart + 0.5 * limit) / moved, 1e-3, 0.5);
      if (now < share) {
        share = now;
        blame = {c.body, gap, "contact not resolved"};
      }
    }
    if (share == 1.0) return true;
    cut = share;
    return false;
  }

  // Points of the contacts last found, at these frames, that overlap or are within `margin`.
  void collect_points(const FrameList& at, double margin) {
    points.clear();
    for (std::size_t i = 0; i < detection.found().size(); ++i) {
      const auto& c = detection.found()[i];
      if (c.normal_gap() <= -margin) continue;
      contact_points(c, detection.pair(static_cast<int>(i)), faces[c.body[0]][c.part[0]], at[c.body[0]],
                     faces[c.body[1]][c.part[1]], at[c.body[1]], margin, options.group == Group::sum, points);
    }
  }

  // Closest-point projection (3.81) in the kinetic metric, with g <= 0 instead of g = 0: from `from` to `to`, by
  // successive quadratic programs; contact points of the result in `points`. Pairs that press touch when it is done:
  // where the last program overshot, they would neither carry an impulse nor stay. False if it does not converge.
  bool project(const Poses& from, Poses& to, double margin, Blame& blame) {
    offset.setZero(multibody.dofs());
    to = from;
    pressing.clear();
    double last = std::numeric_limits<double>::infinity();
    for (int k = 0; k < 40; ++k) {
      frames_of(to, frames);
      detection.find(frames, margin);  // what does not move any more still stands in the way
      collect_points(frames, margin);
      double worst = 0.0;
      for (const auto& point : points)
        if (point.gap > worst) {
          worst = point.gap;
          blame = {point.body, point.gap, "closest-point projection did not converge"};
        }
      // near a corner the last program's plane and the next may take turns, so that the pair never touches
      unsettled.assign(points.size(), 0.0);
      if (k < 4) worst = std::max(worst, widest_pressing());
      if (worst <= 0.1 * options.tolerance || (worst <= options.tolerance && k > 10 && worst >= last)) return true;
      last = worst;
      multibody.set(to);
      rows.build(multibody, points, false);
      target.resize(points.size());
      for (std::size_t i = 0; i < points.size(); ++i)
        target[i] = points[i].gap + rows.relative_velocity(static_cast<int>(i), 0, offset);
      projection_guess.give(points, impulse);
      // islands solved twice in which nothing overlaps and all that presses touches stay where they are
      skip.assign(points.size(), 0);
      kept = offset;
      offset.setZero();
      for (int i = 0; i < rows.islands(); ++i) {
        const auto island = rows.island(i);
        const bool settled = k > 1 && std::all_of(island.begin(), island.end(), [&](int c) {
                               return std::max(points[c].gap, unsettled[c]) <= 0.1 * options.tolerance;
                             });
        for (const int c : island)
          if (settled) {
            skip[c] = 1;
            for (const auto& side : rows.sides(c))
              offset.segment(side.first, side.size) = kept.segment(side.first, side.size);
          } else if (impulse[n * c] != 0.0) {
            rows.add_impulse(c, 0, impulse[n * c], offset);
          }
      }
      solver.solve(rows, target, {}, std::max(1e-2 * options.tolerance, 1e-5 * worst), offset, impulse, skip);
      projection_guess.keep(points, impulse);
      pressing.clear();
      for (std::size_t i = 0; i < points.size(); ++i)
        if (impulse[n * i] > 0.0 && (pressing.empty() || pressing.back() != points[i].pair))
          pressing.push_back(points[i].pair);
      multibody.reparametrise(from, offset, to);
    }
    return false;
  }

  // Largest distance that a pair which the last program of a projection pressed has now; each pair's in `unsettled` at
  // its first point.
  double widest_pressing() {
    double widest = 0.0;
    std::size_t i = 0;  // both lists are in the order of pairs
    for (const int pair : pressing) {
      double nearest = std::numeric_limits<double>::infinity();
      while (i < points.size() && points[i].pair < pair) ++i;
      const std::size_t first = i;
      for (; i < points.size() && points[i].pair == pair; ++i) nearest = std::min(nearest, -points[i].gap);
      if (first == i) continue;
      widest = std::max(widest, nearest);
      unsettled[first] = nearest;
    }
    return widest;
  }

  // Lift of momenta (3.89), (3.99), (3.102) from one configuration to another: they turn with the bodies.
  void lift(const Poses& from, const VectorX& in, const Poses& to, VectorX& out) {
    if constexpr (n == 2) {
      if (!multibody.has_joints()) {
        out = in;
        return;
      }
    }
    multibody.set(from);
    multibody.velocity(in, nu);
    multibody.twists(nu, scratch_twists);
    for (int b = 0; b < multibody.size(); ++b)
      if (!multibody.is_fixed(b)) wrench0[b] = multibody.body_momentum(b, scratch_twists[b]);
    multibody.set(to);
    out.setZero(multibody.dofs());
    for (int b = 0; b < multibody.size(); ++b) {
      if (multibody.is_fixed(b)) continue;
      if constexpr (n == 3)
        wrench0[b].template tail<3>() =
            (to[b].directors * (from[b].directors.transpose() * wrench0[b].template tail<3>())).eval();
      add_reduced(b, wrench0[b], out);
    }
  }

  // Decomposition contact response, Algorithm 3: the prediction overlaps by `deepest`.
  bool decompose(double h, double deepest, Blame& blame) {
    const double margin = std::max(3.0 * deepest, options.tolerance);  // d_b of section 3.5.3
    const double V0 = potential_at(predicted);
    const Momenta<n> L0 = momenta_at(predicted, p_predicted);
    const double T0 = multibody.kinetic(p_predicted, nu);
    if (!project(predicted, projected, margin, blame)) return false;
    lift(predicted, p_predicted, projected, p_lifted);
    force_impulse = p_predicted - p;

    const Momenta<n> L1 = momenta_at(projected, p_lifted);
    const double T1 = multibody.kinetic(p_lifted, nu);
    if (options.group == Group::each)
      impulses_each(h);
    else
      impulses_sum();
    const double T2 = kinetic(projected, p_after);
    const Ledger<n> ledger_before = ledger;
    ledger.projection.kinetic += T1 - T0;
    ledger.impact += T2 - T1;
    ledger.momentum.linear += L1.linear - L0.linear;
    ledger.momentum.angular += L1.angular - L0.angular;
    ++ledger.impulses;

    // A contact that lasts acts over the whole interval, as a force would: it displaces by h/2 M^-1 I from the
    // prediction. What rests then stays where it is and what sticks does not creep; the projection alone undoes
    // neither.
    offset.setZero(multibody.dofs());
    bool lasts = false;
    for (std::size_t i = 0; i < points.size(); ++i)
      if (touched[points[i].pair] == updates)
        for (int k = 0; k < n; ++k)
          if (const double size = impulse[n * i + k]; size != 0.0) {
            rows.add_impulse(static_cast<int>(i), k, 0.5 * h * size, offset);
            lasts = true;
          }
    touching_pairs.clear();
    for (const auto& point : points)
      if (point.gap >= -options.tolerance) touching_pairs.push_back(point.pair);
    if (lasts) {
      const Momenta<n> L2 = momenta_at(projected, p_after);
      multibody.reparametrise(predicted, offset, before);
      if (!project(before, predicted, margin, blame)) {
        ledger = ledger_before;
        return false;
      }
      lift(projected, p_after, predicted, p);
      poses.swap(predicted);
      const Momenta<n> L3 = momenta_at(poses, p);
      ledger.projection.kinetic += multibody.kinetic(p, nu) - T2;
      ledger.momentum.linear += L3.linear - L2.linear;
      ledger.momentum.angular += L3.angular - L2.angular;
    } else {
      poses.swap(projected);
      p.swap(p_after);
    }
    multibody.orthonormalise(poses);
    ledger.projection.potential += potential_at(poses) - V0;
    for (const int pair : touching_pairs) touched[pair] = updates + 1;
    return true;
  }

  double restitution(const ContactPoint<n>& point) const {
    return std::sqrt(world.bodies[point.body[0]].surface.restitution * world.bodies[point.body[1]].surface.restitution);
  }
  double friction_of(const ContactPoint<n>& point) const {
    return std::sqrt(world.bodies[point.body[0]].surface.friction * world.bodies[point.body[1]].surface.friction);
  }

  // Impulses at all points together, `p_lifted` -> `p_after`; `rows` and `impulse` are left for the caller. Newton's
  // restitution u+ >= -e u-, complementary to the normal impulse; the one of a touching point that separates already is
  // never used to reflect it.
  void impulses_each(double h) {
    multibody.set(projected);
    multibody.velocity(p_lifted, nu);
    multibody.velocity(force_impulse, force_velocity);
    rows.build(multibody, points, true);
    target.resize(points.size());
    friction.resize(points.size());
    double scale = 0.0;
    bool slippery = true;
    for (std::size_t i = 0; i < points.size(); ++i) {
      const int c = static_cast<int>(i);
      const double u = rows.relative_velocity(c, 0, nu);
      const double resting = options.resting * rows.speed(c, 0, force_velocity);
      scale = std::max(scale, std::abs(u));
      for (int k = 1; k < n; ++k) scale = std::max(scale, std::abs(rows.relative_velocity(c, k, nu)));
      const bool rests = -u <= resting;
      if (points[i].gap >= -options.tolerance)
        target[i] = rests && u <= 0.0 ? 0.0 : -restitution(points[i]) * u;
      else  // not there yet: may close its gap within the next step, no more; a bounce waits until it touches
        target[i] = rests && resting > 0.0 ? points[i].gap / h : -std::numeric_limits<double>::infinity();
      friction[i] = options.friction == Friction::cone ? friction_of(points[i]) : 0.0;
      slippery = slippery && friction[i] == 0.0;
    }
    const double tolerance = 1e-14 * scale, energy = multibody.kinetic(p_lifted, nu);
    const std::span<const double> rough = slippery ? std::span<const double>() : friction;
    before_impulse = nu;
    impulse_guess.give(points, impulse);
    for (std::size_t i = 0; i < points.size(); ++i)
      for (int k = 0; k < n; ++k) {
        if (k > 0 && friction[i] == 0.0) impulse[n * i + k] = 0.0;
        if (impulse[n * i + k] != 0.0) rows.add_impulse(static_cast<int>(i), k, impulse[n * i + k], nu);
      }
    solver.solve(rows, target, rough, tolerance, nu, impulse);
    apply_impulses();
    if (kinetic(projected, p_after) > energy * (1.0 + 1e-9) + 1e-300) {
      // Newton's law with unequal restitutions may feed energy in; plastic contact never does
      for (auto& t : target)
        if (t != -std::numeric_limits<double>::infinity()) t = std::min(t, 0.0);
      nu = before_impulse;
      std::fill(impulse.begin(), impulse.end(), 0.0);
      solver.solve(rows, target, rough, tolerance, nu, impulse);
      apply_impulses();
    }
    impulse_guess.keep(points, impulse);
    if (options.friction == Friction::squared_ratio) {
      for (std::size_t i = 0; i < points.size(); ++i)
        if (impulse[n * i] > 0.0) printed_friction(static_cast<int>(i), before_impulse, nu);
      apply_impulses();
    }
  }

  void apply_impulses() {
    p_after = p_lifted;
    for (std::size_t i = 0; i < points.size(); ++i)
      for (int k = 0; k < n; ++k)
        if (impulse[n * i + k] != 0.0) rows.add_momentum(static_cast<int>(i), k, impulse[n * i + k], p_after);
  }

  // Impulse components that undo the motion of contact c which is kinetically orthogonal to its normal: p_slide of
  // (3.115), in the directions of the contact, and its squared norm.
  Vector<n> slide_impulse(int c, const VectorX& velocity, double& squared_norm) const {
    Matrix<n> metric;
    Vector<n> u;
    for (int i = 0; i < n; ++i) {
      u[i] = rows.relative_velocity(c, i, velocity);
      for (int j = 0; j < n; ++j) metric(i, j) = rows.metric(c, i, j);
    }
    const Vector<n> nonfix = metric.completeOrthogonalDecomposition().solve(u);
    Vector<n> slide = nonfix;
    slide[0] -= u[0] / metric(0, 0);
    squared_norm = slide.dot(metric * slide);
    return slide;
  }
  // (3.118) as printed: p_slide and p_norm compared by their squared norms. Adds to nu and `impulse`.
  void printed_friction(int c, const VectorX& velocity_before, VectorX& velocity) {
    double S;
    const Vector<n> slide = slide_impulse(c, velocity, S);
    const double u = rows.relative_velocity(c, 0, velocity_before), N = u * u / rows.metric(c, 0, 0);
    const double mu = friction_of(points[c]);
    if (S <= 0.0) return;
    const double share = S <= mu * N ? 1.0 : mu * N / S;
    for (int k = 0; k < n; ++k) {
      rows.add_impulse(c, k, -share * slide[k], velocity);
      impulse[n * c + k] -= share * slide[k];
    }
  }

  // As printed, section 3.5.4: per group of bodies in contact one reflection along the sum of the gradients of its
  // approaching contacts; frictional impulses from the momenta before, summed.
  void impulses_sum() {
    std::erase_if(points, [&](const auto& point) { return point.gap < -options.tolerance; });
    // the program's own point of each pair, the first of its run, stands for the pair
    int last_pair = -1;
    std::erase_if(points, [&](const auto& point) {
      const bool again = point.pair == last_pair;
      last_pair = point.pair;
      return again;
    });
    multibody.set(projected);
    multibody.velocity(p_lifted, nu);
    rows.build(multibody, points, true);
    impulse.assign(n * points.size(), 0.0);
    const int count = static_cast<int>(points.size());
    std::vector<int> group(multibody.size());
    std::iota(group.begin(), group.end(), 0);
    const auto root = [&](int b) {
      while (group[b] != b) b = group[b];
      return b;
    };
    const auto member = [&](int c) { return root(points[c].body[multibody.is_fixed(points[c].body[0]) ? 1 : 0]); };
    for (int c = 0; c < count; ++c) {
      const auto [a, b] = points[c].body;
      if (!multibody.is_fixed(a) && !multibody.is_fixed(b)) group[root(a)] = root(b);
    }
    for (int g = 0; g < multibody.size(); ++g) {
      VectorX direction = VectorX::Zero(multibody.dofs()), column;
      double e = 0.0;
      int members = 0;
      for (int c = 0; c < count; ++c)
        if (member(c) == g && rows.relative_velocity(c, 0, nu) < 0.0) {
          rows.add_momentum(c, 0, 1.0, direction);
          e += restitution(points[c]);
          ++members;
        }
      if (members == 0) continue;
      multibody.velocity(direction, column);
      const double share = -(1.0 + e / members) * direction.dot(nu) / direction.dot(column);
      for (int c = 0; c < count; ++c) {
        if (member(c) != g || rows.relative_velocity(c, 0, nu) >= 0.0) continue;
        impulse[n * c] += share;
        const double mu = friction_of(points[c]);
        if (mu <= 0.0) continue;
        double S;
        const Vector<n> slide = slide_impulse(c, nu, S);
        const double u = rows.relative_velocity(c, 0, nu), N = u * u / rows.metric(c, 0, 0);
        double part = S <= mu * N ? 1.0 : mu * N / S;
        if (options.friction == Friction::cone) {
          const double size = slide.template tail<n - 1>().norm();
          part = size <= mu * share ? 1.0 : mu * share / size;
        }
        impulse.at(n * c) -= part * slide[0];
        for (int k = 1; k < n; ++k) impulse[n * c + k] -= part * slide[k];
      }
    }
    apply_impulses();
  }

  // ---- exact response --------------------------------------------------------------------------------------------

  double advance_exact(double h, double& cut, Blame& blame) {
    // pairs that touch here and approach are reflected before anything moves
    frames_of(poses, frames);
    detection.find(frames);
    for (int round = 0;; ++round) {
      int worst = -1;
      double fastest = 0.0;
      collect_points(frames, options.tolerance);
      multibody.set(poses);
      multibody.velocity(p, nu);
      rows.build(multibody, points, false);
      for (std::size_t i = 0; i < points.size(); ++i)
        if (const double u = rows.relative_velocity(static_cast<int>(i), 0, nu); u < fastest) {
          fastest = u;
          worst = static_cast<int>(i);
        }
      double scale = 0.0;
      multibody.twists(nu, scratch_twists);
      for (const auto& v : scratch_twists) scale = std::max(scale, v.template head<n>().norm());
      if (worst < 0 || -fastest <= 1e-13 * scale) break;
      blame = {points[worst].body, points[worst].gap, "a contact lasts (the exact response has no resting contact)"};
      if (round > 100 * multibody.size()) return 0.0;
      const int pair = points[worst].pair;
      std::erase_if(points, [&](const auto& point) { return point.pair != pair; });
      if (options.jump == JumpCondition::discrete_energy && last_interval > 0.0)
        return reflect_by_energy(h, cut, blame);
      reflect_pair();
      p = p_after;
    }

    if (!predict(time, h, poses, p, predicted, p_predicted)) {
      blame.what = "the implicit step did not converge";
      return 0.0;
    }
    frames_of(poses, frames0);
    frames_of(predicted, frames1);
    detection.find(frames1);
    if (!passable(cut, blame)) return 0.0;
    // earliest of the pairs that overlap at the end
    double first = h;
    int colliding = -1;
    for (std::size_t i = 0; i < detection.found().size(); ++i) {
      const auto& c = detection.found()[i];
      if (c.gap <= 0.0) continue;
      blame = {c.body, c.normal_gap(), "collision time not found"};
      const int pair = detection.pair(static_cast<int>(i));
      const double at = collision_time(pair, first);
      if (at < 0.0) return 0.0;
      if (at < first || colliding < 0) {
        first = at;
        colliding = pair;
      }
    }
    if (colliding >= 0) {
      if (!predict(time, first, poses, p, predicted, p_predicted)) return 0.0;
      frames_of(predicted, frames1);
      detection.find(frames1);
    }
    before_contact = poses;
    last_interval = first;
    poses.swap(predicted);
    p.swap(p_predicted);
    return first;
  }

  // Interval length at which the gap of a pair closes (3.75): from the state, at most `h`. Returns a point where it is
  // not yet positive; -1 where no root is bracketed.
  double collision_time(int pair, double h) {
    const auto gap = [&](double s) {
      if (!predict(time, s, poses, p, trial, p_trial)) return std::numeric_limits<double>::quiet_NaN();
      frames_of(trial, frames1);
      return detection.look(pair, frames1).gap;
    };
    double low = 0.0, high = h;
    double g_low = detection.look(pair, frames0).gap, g_high = gap(h);
    if (g_high <= 0.0) return h;                       // an earlier pair has shortened the interval
    for (int k = 0; g_low >= -1e-14 && k < 30; ++k) {  // touches at the start and leaves: step off it
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
    // Illinois variant of the secant method, keeping the bracket
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

  // The impact (3.73) of the pair that `points` belongs to: the root of the energy condition that is not mu_c = 0, in
  // closed form where the pair touches in one point.
  void reflect_pair() {
    multibody.set(poses);
    multibody.velocity(p, nu);
    rows.build(multibody, points, true);
    impulse.assign(n * points.size(), 0.0);
    target.resize(points.size());
    friction.resize(points.size());
    double fastest = 0.0;
    for (std::size_t i = 0; i < points.size(); ++i) {
      const double u = rows.relative_velocity(static_cast<int>(i), 0, nu);
      target[i] = -restitution(points[i]) * u;
      friction[i] = friction_of(points[i]);
      fastest = std::max(fastest, std::abs(u));
    }
    const double T = multibody.kinetic(p, nu);
    solver.solve(rows, target, friction, 1e-14 * fastest, nu, impulse);
    p_lifted = p;
    apply_impulses();
    ledger.impact += kinetic(poses, p_after) - T;
    ++ledger.impulses;
  }

  // The impact with (3.76b): the discrete energies of the intervals before and after are equal (less what restitution
  // and friction take). The interval after is halved until it ends without contact, section 3.4.2.
  double reflect_by_energy(double h, double& cut, Blame& blame) {
    const double E = discrete_energy(before_contact, poses, last_interval);
    const double T = kinetic(poses, p);
    reflect_pair();
    const double lost = kinetic(poses, p_after) - T;
    const VectorX start = p_after;
    for (double after = h;; after *= 0.5) {
      if (after < 1e-9 * options.step) {
        blame.what = "no interval after the impact is free of contact";
        cut = 0.5;
        return 0.0;
      }
      // secant on the size of the normal impulses, from the closed form
      double extra = 0.0, last_error = 0.0, last_extra = 0.0;
      bool good = false;
      for (int k = 0; k < 50; ++k) {
        p_lifted = start;
        for (std::size_t i = 0; i < points.size(); ++i)
          rows.add_momentum(static_cast<int>(i), 0, extra * impulse[n * i], p_lifted);
        if (!predict(time, after, poses, p_lifted, predicted, p_predicted)) break;
        const double error = discrete_energy(poses, predicted, after) - E - lost;
        if (std::abs(error) <= 1e-14 * (std::abs(E) + T)) {
          good = true;
          break;
        }
        const double slope = k == 0 ? 0.0 : (error - last_error) / (extra - last_extra);
        last_error = error;
        last_extra = extra;
        if (k > 0 && (slope == 0.0 || std::abs(error / slope) <= 1e-16)) {
          good = std::abs(error) <= 1e-12 * (std::abs(E) + T);
          break;
        }
        extra += k == 0 ? 1e-4 : -error / slope;
      }
      if (!good) continue;
      frames_of(poses, frames0);
      frames_of(predicted, frames1);
      detection.find(frames1);
      double ignored = 0.5;
      Blame unused;
      bool free = passable(ignored, unused);
      for (const auto& c : detection.found()) free = free && c.gap <= 0.0;
      if (!free) continue;
      before_contact = poses;
      last_interval = after;
      poses.swap(predicted);
      p.swap(p_predicted);
      return after;
    }
  }

  World<n> world;
  Options options;
  Multibody<n> multibody;
  Detection<n> detection;
  std::vector<std::vector<Faces<n>>> faces;  // [body][part]
  std::vector<std::pair<int, int>> charge_pairs;
  bool drag = false, moving_forces = false;

  // state
  double time = 0.0, start_time = 0.0;
  long steps = 0, updates = 0;
  Poses poses;
  VectorX p;
  Twists twists;
  std::vector<long> touched;  // update in which a pair of parts last touched
  Ledger<n> ledger;
  Outcome outcome;
  Poses before_contact;  // of `exact`: where the interval that ends at the state began
  double last_interval = 0.0;

  // scratch
  Poses predicted, before, projected, saved_poses, trial;
  VectorX p_predicted, p_lifted, p_after, p_trial, saved_p, nu, dofs, rhs, reduced, offset, force_impulse,
      force_velocity, before_impulse;
  FrameList frames0, frames1, frames;
  std::vector<ConfigurationGradient<n>> gradient;
  Twists scratch_twists, wrench, wrench0, wrench1, acceleration0, acceleration1;
  std::vector<ContactPoint<n>> points;
  ContactRows<n> rows;
  ContactSolver<n> solver;
  std::vector<double> target, friction, impulse, unsettled;
  std::vector<char> skip;
  VectorX kept;
  Guess<n> projection_guess, impulse_guess;  // of what the solver will find: what it found last time
  std::vector<int> touching_pairs, pressing;
  std::vector<geometry::Contact<n>> touching;
};

template <int n>
Simulation<n>::Simulation(World<n> world, Options options)
    : machine_(std::make_unique<Machine>(std::move(world), options)) {}
template <int n>
Simulation<n>::~Simulation() = default;
template <int n>
Simulation<n>::Simulation(Simulation&&) noexcept = default;
template <int n>
Simulation<n>& Simulation<n>::operator=(Simulation&&) noexcept = default;

template <int n>
void Simulation<n>::start(std::span<const Pose<n>> poses, std::span<const Twist<n>> twists, double t) {
  Machine& m = *machine_;
  const std::size_t count = m.world.bodies.size();
  require(poses.size() == count && twists.size() == count,
          "start needs a pose and a twist for each of the " + std::to_string(count) + " bodies");
  m.poses.assign(poses.begin(), poses.end());
  m.trial = m.poses;
  m.before_contact = m.poses;
  for (std::size_t b = 0; b < count; ++b) {
    bool finite = poses[b].position.allFinite() && twists[b].allFinite();
    if constexpr (n == 2)
      finite = finite && std::isfinite(poses[b].angle);
    else
      finite = finite && (poses[b].directors.transpose() * poses[b].directors).isIdentity(1e-9) &&
               poses[b].directors.determinant() > 0.0;
    require(finite, "start: pose or twist of '" + m.world.bodies[b].name + "' is not a number or not a rotation");
  }
  m.multibody.remember_joints(m.poses);
  if (const double apart = m.multibody.constraint_residual(m.poses); apart > 1e-9)
    throw std::invalid_argument("start: the poses miss the joints by " + number(apart) + " m");
  m.multibody.set(m.poses);
  m.twists.assign(twists.begin(), twists.end());
  for (std::size_t b = 0; b < count; ++b)
    if (m.world.bodies[b].fixed) m.twists[b].setZero();
  m.multibody.dof_velocities(m.twists, m.nu);
  m.multibody.twists(m.nu, m.scratch_twists);
  for (std::size_t b = 0; b < count; ++b)
    require((m.scratch_twists[b] - m.twists[b]).norm() <= 1e-9 * (1.0 + m.twists[b].norm()),
            "start: the twist of '" + m.world.bodies[b].name + "' does not follow its joint");
  m.multibody.momentum(m.nu, m.p);
  m.time = m.start_time = t;
  m.steps = m.updates = 0;
  m.last_interval = 0.0;
  std::fill(m.touched.begin(), m.touched.end(), -1);
  m.ledger = {};
  m.outcome = {};
  m.detection.restart();
  m.projection_guess.clear();
  m.impulse_guess.clear();
  m.finish();
  m.frames_of(m.poses, m.frames);
  if (m.options.response == Response::none) return;
  const geometry::Contact<n>* worst = nullptr;
  for (const auto& c : m.detection.find(m.frames))
    if (!worst || c.normal_gap() > worst->normal_gap()) worst = &c;
  for (std::size_t i = 0; i < m.detection.found().size(); ++i)
    if (m.detection.found()[i].normal_gap() >= -m.options.tolerance)
      m.touched[m.detection.pair(static_cast<int>(i))] = 0;
  if (worst && worst->normal_gap() > m.options.tolerance)
    throw std::invalid_argument("start: '" + m.world.bodies[worst->body[0]].name + "' (part " +
                                std::to_string(worst->part[0] + 1) + ") and '" + m.world.bodies[worst->body[1]].name +
                                "' (part " + std::to_string(worst->part[1] + 1) + ") overlap by " +
                                number(worst->normal_gap()) + " m");
}

template <int n>
bool Simulation<n>::step() {
  return machine_->step();
}

template <int n>
Outcome Simulation<n>::run(double time, const std::function<bool(const Simulation&)>& event) {
  Machine& m = *machine_;
  while (m.outcome.status != Outcome::failed) {
    if (event && event(*this)) {
      m.outcome.status = Outcome::stopped;
      return m.outcome;
    }
    m.outcome.status = Outcome::reached;
    if (m.time >= time - 0.5 * m.options.step) return m.outcome;
    if (!m.step()) break;
  }
  return m.outcome;
}

template <int n>
const World<n>& Simulation<n>::world() const {
  return machine_->world;
}
template <int n>
const Options& Simulation<n>::options() const {
  return machine_->options;
}
template <int n>
double Simulation<n>::time() const {
  return machine_->time;
}
template <int n>
std::span<const Pose<n>> Simulation<n>::poses() const {
  return machine_->poses;
}
template <int n>
std::span<const Twist<n>> Simulation<n>::twists() const {
  return machine_->twists;
}
template <int n>
const Outcome& Simulation<n>::outcome() const {
  return machine_->outcome;
}
template <int n>
const Ledger<n>& Simulation<n>::ledger() const {
  return machine_->ledger;
}

template <int n>
std::span<const geometry::Contact<n>> Simulation<n>::contacts() const {
  Machine& m = *machine_;
  m.touching.clear();
  m.frames_of(m.poses, m.frames);
  for (const auto& c : m.detection.find(m.frames))
    if (c.normal_gap() >= -m.options.tolerance) m.touching.push_back(c);
  return m.touching;
}

template <int n>
Energies<n> Simulation<n>::energies() const {
  Machine& m = *machine_;
  return {m.kinetic(m.poses, m.p), m.potential_at(m.poses)};
}

template <int n>
Momenta<n> Simulation<n>::momenta() const {
  return machine_->momenta_at(machine_->poses, machine_->p);
}

template <int n>
double Simulation<n>::overlap() const {
  Machine& m = *machine_;
  m.frames_of(m.poses, m.frames);
  m.detection.find(m.frames);
  return m.detection.overlap();
}

template <int n>
double Simulation<n>::constraint_residual() const {
  return machine_->multibody.constraint_residual(machine_->poses);
}

template <int n>
void Recording<n>::operator()(const Simulation<n>& simulation) {
  if (calls++ % every != 0) return;
  time.push_back(simulation.time());
  poses.emplace_back(simulation.poses().begin(), simulation.poses().end());
  twists.emplace_back(simulation.twists().begin(), simulation.twists().end());
  energies.push_back(simulation.energies());
}

template class Simulation<2>;
template class Simulation<3>;
template struct Recording<2>;
template struct Recording<3>;

}  // namespace dodyn::rigid
