#include "dmoc/gait.hpp"

#include <Eigen/Cholesky>
#include <Eigen/LU>
#include <algorithm>
#include <cmath>
#include <numbers>
#include <random>
#include <utility>

namespace dodyn::dmoc {

using autodiff::make_element;
using nlp::AssembledProblem;

namespace {

// (u, theta, theta') -> work of the torque over the interval
struct IntervalWork {
  template <class T>
  std::array<T, 1> operator()(const std::array<T, 3>& z) const {
    return {z[0] * (z[2] - z[1])};
  }
};

std::vector<int> range(int first, int count) {
  std::vector<int> r(count);
  for (int i = 0; i < count; ++i) r[i] = first + i;
  return r;
}

std::vector<int> joined(std::vector<int> a, const std::vector<int>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

}  // namespace

WalkerGait::WalkerGait(Walker walker, const GaitSettings& settings) : walker_(std::move(walker)), settings_(settings) {
  index_ = {walker_.joints, walker_.inputs(), settings.intervals,
            settings.absolute_work != 0.0 || settings.positive_work != 0.0};
  action_ = walker_.action(settings_.period / static_cast<double>(settings_.intervals));
  build();
}

// What of two links is kept apart. Cylinders of radius r whose axes leave one point at an angle touch up to a distance
// of r / sin(angle / 2) from it, so that links that share a joint are kept apart beyond a free distance d only; since
// beyond d they diverge, this is 2 d sin(angle / 2) >= 2 r, smooth in the joint coordinates, whether the links reach d
// or not. By default d is what straight legs of length L with their feet w apart need: 2 r L / w, and from hips e < 2 r
// apart L (2 r - e) / (w - e). The swing leg's link must besides pass the other one on its own side, the left, as hips
// side by side enforce, however close: see Pair::ordered. Limits: the axes are those of straight links, left is that of
// the world, not of a pelvis, and what is nearer than d to the joint may overlap.
Pair WalkerGait::pair(const Walker::Links& links) const {
  const double r = settings_.leg_radius, w = settings_.step_width, e = links.gap.value;
  if (!(e < 2.0 * r)) return {links.one, links.other};
  Coefficient d = settings_.crossing_free;
  if (d.value == 0.0) d = w > 2.0 * r ? links.height * (2.0 * r - links.gap) / (w - links.gap) : links.height;
  const auto beyond = [](const Coefficient& free, int joint) {
    Part part;
    (joint == 0 ? part.from : part.to) = joint == 0 ? free : 1.0 - free;
    if (free.value > 1.0) (joint == 0 ? part.to : part.from) = joint == 0 ? part.from : part.to;
    return part;
  };
  return {links.one, links.other, beyond(d / links.length, links.joint),
          beyond(d / links.other_length, links.other_joint), true};
}

void WalkerGait::build() {
  const int n = walker_.n(), base = walker_.base, joints = walker_.joints, inputs = walker_.inputs();
  const int K = index_.intervals;
  const double inf = nlp::infinity;
  AssembledProblem& p = problem_;
  using Term = AssembledProblem::Term;

  const Coefficient h = settings_.period / static_cast<double>(K);
  const Coefficient per_h = 1.0 / h;

  // ---- unknowns: theta_k, u_k, [w+_k, w-_k] by node; velocities before and after touch-down
  for (int k = 0; k <= K; ++k) {
    p.add_variables(joints, -inf, inf);
    if (k == K) break;
    p.add_variables(inputs, -settings_.torque_limit, settings_.torque_limit);
    if (index_.work) p.add_variables(2 * inputs, 0.0, inf);
  }
  p.add_variables(2 * joints, -inf, inf);

  const auto interval = [&](int k) {
    return joined(range(index_.theta(k), joints), range(index_.theta(k + 1), joints));
  };
  const auto ends = [&](int node, int velocity) {
    return joined(range(index_.theta(node), joints), range(velocity, joints));
  };

  // ---- forced discrete Euler-Lagrange equations (3.1.10) over h, in N m; u acts on both ends of its interval by h/2
  const int dynamics = p.add_rows(joints * (K - 1), 0.0, 0.0);
  // momentum that arrives at K and that leaves 0, and the jump between them, N m s
  const int arrival = p.add_rows(joints, 0.0, 0.0);
  const int departure = p.add_rows(joints, 0.0, 0.0);
  const int jump = p.add_rows(joints, 0.0, 0.0);
  // exchange_legs(theta_K) = (step, theta_0)
  const int periodicity = p.add_rows(n, 0.0, 0.0);

  // ---- the ground's force at every node and its impulse: rows for the cone, if there is one
  const bool cone = std::isfinite(settings_.friction), unilateral = cone || settings_.unilateral;
  // the cone's tangential directions: forth and back; in space eight, the pyramid inscribed in the circle
  std::vector<std::array<double, 2>> directions;
  double friction = settings_.friction;
  if (cone && base == 2) directions = {{1.0, 0.0}, {-1.0, 0.0}};
  if (cone && base == 3) {
    friction *= std::cos(std::numbers::pi / 8.0);
    for (int f = 0; f < 8; ++f) {
      const double angle = (f + 0.5) * std::numbers::pi / 4.0;
      directions.push_back({std::cos(angle), std::sin(angle)});
    }
  }
  const int facets = cone ? static_cast<int>(directions.size()) : unilateral ? 1 : 0;
  const int force_rows = p.add_rows(facets * (K + 1), 0.0, inf);
  const int impulse_rows = p.add_rows(facets, 0.0, inf);
  // Adds a share of the ground's force or impulse, output i of an element for coordinate i, to the rows of a cone:
  // mu f_n + f_t >= 0 for each tangential direction, or f_n >= 0.
  const auto add_force = [&](std::vector<Term>& terms, int row, int first_output, Coefficient coefficient) {
    for (int f = 0; f < facets; ++f) {
      terms.push_back({first_output + base - 1, row + f, cone ? friction * coefficient : coefficient});
      for (int i = 0; cone && i < base - 1; ++i)
        terms.push_back({first_output + i, row + f, directions[f][i] * coefficient});
    }
  };
  const auto force_row = [&](int node) { return force_rows + facets * node; };

  for (int k = 0; k < K; ++k) {
    std::vector<Term> terms;
    for (int i = 0; i < joints; ++i) {
      const int d2 = base + i, d4 = n + base + i;
      if (k == 0)
        terms.push_back({d2, departure + i, -1.0});
      else
        terms.push_back({d2, dynamics + joints * (k - 1) + i, per_h});
      if (k == K - 1)
        terms.push_back({d4, arrival + i, 1.0});
      else
        terms.push_back({d4, dynamics + joints * k + i, per_h});
    }
    // h f_k = -(D4 + D2) at inner nodes; at the ends half an interval and the velocity's momentum: +-(h/2) f
    add_force(terms, force_row(k), 0, k == 0 ? -2.0 * per_h : -per_h);
    add_force(terms, force_row(k + 1), n, k == K - 1 ? -2.0 * per_h : -per_h);
    p.add_element(action_, interval(k), std::move(terms));

    for (int i = 0; i < inputs; ++i) {
      const int row = walker_.input_joints[i], u = index_.torque(k) + i;
      if (k == 0)
        p.add_linear(departure + row, u, -0.5 * h);
      else
        p.add_linear(dynamics + joints * (k - 1) + row, u, 0.5);
      if (k == K - 1)
        p.add_linear(arrival + row, u, 0.5 * h);
      else
        p.add_linear(dynamics + joints * k + row, u, 0.5);
    }
  }

  {  // velocities and the jump
    std::vector<Term> before, after, exchanged;
    for (int i = 0; i < joints; ++i) {
      before.push_back({base + i, arrival + i, -1.0});
      after.push_back({base + i, departure + i, -1.0});
      after.push_back({base + i, jump + i, -1.0});
      exchanged.push_back({base + i, jump + i, 1.0});
    }
    add_force(before, force_row(K), 0, 2.0 * per_h);
    add_force(after, force_row(0), 0, -2.0 * per_h);
    add_force(after, impulse_rows, 0, 1.0);
    add_force(exchanged, impulse_rows, 0, -1.0);
    p.add_element(walker_.momentum, ends(K, index_.velocity_before()), std::move(before));
    p.add_element(walker_.momentum, ends(0, index_.velocity_after()), std::move(after));
    p.add_element(walker_.exchanged_momentum, ends(K, index_.velocity_before()), std::move(exchanged));
  }
  {  // periodicity
    std::vector<Term> terms;
    for (int i = 0; i < n; ++i) terms.push_back({i, periodicity + i, 1.0});
    p.add_element(walker_.exchanged, range(index_.theta(K), joints), std::move(terms));
    p.add_constant(periodicity, -settings_.step_length);
    if (base == 3) p.add_constant(periodicity + 1, -walker_.mirror(1) * settings_.step_width);
    for (int i = 0; i < joints; ++i) p.add_linear(periodicity + base + i, index_.theta(0) + i, -1.0);
  }

  // ---- swing foot above the ground at inner nodes, and between nodes
  const auto least_height = [&](double s) { return 4.0 * s * (1.0 - s) * settings_.clearance; };
  for (int k = 1; k < K; ++k)
    p.add_element(walker_.swing_height, range(index_.theta(k), joints),
                  {{0, p.add_rows(1, least_height(static_cast<double>(k) / K), inf), 1.0}});
  for (int i = 1; i <= settings_.clearance_points; ++i) {
    const double between = i / (settings_.clearance_points + 1.0);
    const auto height = walker_.height(between);
    for (int k = 0; k < K; ++k)
      p.add_element(height, interval(k), {{0, p.add_rows(1, least_height((k + between) / K), inf), 1.0}});
  }

  // ---- legs that do not cross
  if (!may_cross()) {
    std::vector<Pair> pairs;
    for (const auto& links : walker_.pairs) pairs.push_back(pair(links));
    const int count = static_cast<int>(pairs.size());
    const auto apart = [&] {
      const int rows = p.add_rows(count, 4.0 * settings_.leg_radius * settings_.leg_radius, inf);
      std::vector<Term> terms;
      for (int i = 0; i < count; ++i) terms.push_back({i, rows + i, 1.0});
      return terms;
    };
    const auto crossing = crossing_element(walker_.segments, pairs);
    for (int k = 0; k <= K; ++k) p.add_element(crossing, range(index_.theta(k), joints), apart());
    for (int i = 1; i <= settings_.crossing_points; ++i) {
      const auto between = crossing_element(walker_.segments, pairs, i / (settings_.crossing_points + 1.0));
      for (int k = 0; k < K; ++k) p.add_element(between, interval(k), apart());
    }
  }

  // ---- joints of limited speed
  if (std::isfinite(settings_.rate_limit))
    for (int k = 0; k < K; ++k)
      for (int i = 0; i < joints; ++i) {
        const int row = p.add_rows(1, -settings_.rate_limit, settings_.rate_limit);
        p.add_linear(row, index_.theta(k + 1) + i, per_h);
        p.add_linear(row, index_.theta(k) + i, -per_h);
      }

  // ---- knees bend one way
  if (settings_.knee_stops)
    for (int k = 0; k <= K; ++k)
      for (const auto& knee : walker_.knees)
        p.add_linear(p.add_rows(1, 0.0, inf), index_.theta(k) + knee.joint, static_cast<double>(knee.flexion));

  // ---- cost, and work split into its positive and negative part: u . dtheta = w+ - w-
  const Coefficient per_step = 1.0 / (walker_.weight * settings_.step_length);
  const auto work = make_element<3, 1>(IntervalWork{}, IntervalWork{});
  for (int k = 0; k < K; ++k)
    for (int i = 0; i < inputs; ++i) {
      const int u = index_.torque(k) + i, joint = walker_.input_joints[i];
      if (settings_.squared_torque != 0.0) p.add_square(u, settings_.squared_torque * h * per_step);
      if (!index_.work) continue;
      const int row = p.add_rows(1, 0.0, 0.0);
      p.add_element(work, {u, index_.theta(k) + joint, index_.theta(k + 1) + joint}, {{0, row, 1.0}});
      p.add_linear(row, index_.positive(k) + i, -1.0);
      p.add_linear(row, index_.negative(k) + i, 1.0);
      p.add_linear(AssembledProblem::objective_row, index_.positive(k) + i,
                   (settings_.absolute_work + settings_.positive_work) * per_step);
      p.add_linear(AssembledProblem::objective_row, index_.negative(k) + i, settings_.absolute_work * per_step);
    }
  p.finish();
}

Eigen::VectorXd WalkerGait::cold_start(std::uint64_t seed) const {
  const int joints = walker_.joints, K = index_.intervals;
  std::mt19937_64 random(seed);
  // uniform in [-1, 1), the same on every standard library
  const auto uniform = [&] { return static_cast<double>(random() >> 11) * 0x1.0p-52 - 1.0; };

  std::vector<double> step(walker_.base, 0.0), first(walker_.n());
  step[0] = settings_.step_length.value;
  if (walker_.base == 3) step[1] = settings_.step_width;
  std::vector<double> last = walker_.touch_down(step);
  for (int i = 0; i < joints; ++i) last[i] += 0.1 * walker_.spread[i] * uniform();
  walker_.exchanged->evaluate(last.data(), first.data());

  Eigen::VectorXd x = Eigen::VectorXd::Zero(index_.size());
  for (int i = 0; i < joints; ++i) {
    const double bow = 0.4 * walker_.spread[i] * uniform(), wave = 0.1 * walker_.spread[i] * uniform();
    for (int k = 0; k <= K; ++k) {
      const double s = static_cast<double>(k) / K, angle = std::numbers::pi * s;
      x(index_.theta(k) + i) =
          (1.0 - s) * first[walker_.base + i] + s * last[i] + bow * std::sin(angle) + wave * std::sin(2.0 * angle);
    }
  }
  if (settings_.knee_stops)
    for (const auto& knee : walker_.knees)
      for (int k = 0; k <= K; ++k) {
        double& angle = x(index_.theta(k) + knee.joint);
        angle = knee.flexion * std::abs(angle);
      }
  fill_velocities_and_work(x);
  return x;
}

Eigen::VectorXd WalkerGait::warm_start(const Eigen::MatrixXd& q, const Eigen::MatrixXd& u) const {
  Eigen::VectorXd x = Eigen::VectorXd::Zero(index_.size());
  for (int k = 0; k <= index_.intervals; ++k) {
    x.segment(index_.theta(k), walker_.joints) = q.row(k).tail(walker_.joints).transpose();
    if (k < index_.intervals) x.segment(index_.torque(k), walker_.inputs()) = u.row(k).transpose();
  }
  fill_velocities_and_work(x);
  return x;
}

Eigen::VectorXd WalkerGait::shifted(const GaitMotion& motion, double nodes) const {
  const int K = index_.intervals;
  Eigen::MatrixXd q = motion.q, u = motion.u;
  for (int k = 0; k <= K; ++k) {
    const double at = std::clamp(k + nodes * std::sin(std::numbers::pi * k / K), 0.0, static_cast<double>(K));
    const int before = std::min(static_cast<int>(at), K - 1);
    q.row(k) = (before + 1 - at) * motion.q.row(before) + (at - before) * motion.q.row(before + 1);
    if (k < K) u.row(k) = motion.u.row(before);
  }
  return warm_start(q, u);
}

Eigen::VectorXd WalkerGait::refined(const GaitMotion& coarse) const {
  const Eigen::Index K = index_.intervals, old = coarse.u.rows();
  Eigen::MatrixXd q(K + 1, coarse.q.cols()), u(K, coarse.u.cols());
  for (Eigen::Index k = 0; k <= K; ++k) {
    const double at = static_cast<double>(k * old) / static_cast<double>(K);
    const Eigen::Index before = std::min(static_cast<Eigen::Index>(at), old - 1);
    const double part = at - static_cast<double>(before);
    q.row(k) = (1.0 - part) * coarse.q.row(before) + part * coarse.q.row(before + 1);
    if (k < K) u.row(k) = coarse.u.row(before);
  }
  return warm_start(q, u);
}

void WalkerGait::fill_velocities_and_work(Eigen::VectorXd& x) const {
  const int K = index_.intervals;
  const double h = settings_.period.value / K;
  const auto theta = [&](int k) { return x.segment(index_.theta(k), walker_.joints); };
  x.segment(index_.velocity_before(), walker_.joints) = (theta(K) - theta(K - 1)) / h;
  x.segment(index_.velocity_after(), walker_.joints) = (theta(1) - theta(0)) / h;
  if (!index_.work) return;
  for (int k = 0; k < K; ++k)
    for (int i = 0; i < walker_.inputs(); ++i) {
      const int joint = walker_.input_joints[i];
      const double work = x(index_.torque(k) + i) * (theta(k + 1)(joint) - theta(k)(joint));
      x(index_.positive(k) + i) = std::max(work, 0.0);
      x(index_.negative(k) + i) = std::max(-work, 0.0);
    }
}

namespace {

Eigen::VectorXd value(const Walker::Function& f, const Eigen::VectorXd& z) {
  Eigen::VectorXd values(f->outputs);
  f->evaluate(z.data(), values.data());
  return values;
}
Eigen::MatrixXd jacobian(const Walker::Function& f, const Eigen::VectorXd& z) {
  Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor> J(f->outputs, f->inputs);
  f->jacobian(z.data(), J.data());
  return J;
}
Eigen::VectorXd joined(const Eigen::VectorXd& a, const Eigen::VectorXd& b) {
  Eigen::VectorXd z(a.size() + b.size());
  z << a, b;
  return z;
}

}  // namespace

// Steps of an interval at which the legs' distance is looked at.
constexpr int leg_samples = 12;

GaitMotion WalkerGait::motion(const Eigen::VectorXd& x) const {
  const int n = walker_.n(), base = walker_.base, joints = walker_.joints, K = index_.intervals;
  const double h = settings_.period.value / K;
  GaitMotion m;
  m.t = Eigen::VectorXd::LinSpaced(K + 1, 0.0, settings_.period.value);
  m.q = Eigen::MatrixXd::Zero(K + 1, n);
  m.p = Eigen::MatrixXd::Zero(K + 1, n);
  m.u.resize(K, walker_.inputs());
  m.contact_force = Eigen::MatrixXd::Zero(K + 1, base);
  m.energy.resize(K);
  m.swing_height.resize(K + 1);
  m.leg_distance = Eigen::VectorXd::Constant(K, nlp::infinity);
  m.points.resize(K + 1, walker_.points->outputs);

  const auto theta = [&](int k) -> Eigen::VectorXd { return x.segment(index_.theta(k), joints); };
  const Eigen::VectorXd v_before = x.segment(index_.velocity_before(), joints),
                        v_after = x.segment(index_.velocity_after(), joints);
  const Eigen::VectorXd before = value(walker_.momentum, joined(theta(K), v_before)),
                        after = value(walker_.momentum, joined(theta(0), v_after)),
                        exchanged = value(walker_.exchanged_momentum, joined(theta(K), v_before));
  m.impulse = (after - exchanged).head(base);

  for (int k = 0; k <= K; ++k) {
    m.q.row(k).tail(joints) = theta(k).transpose();
    m.points.row(k) = value(walker_.points, theta(k)).transpose();
    m.swing_height(k) = value(walker_.swing_height, theta(k))(0);
  }
  for (int k = 0; k < K; ++k)
    for (int i = 0; i <= leg_samples; ++i) {
      const double f = static_cast<double>(i) / leg_samples;
      const auto ends = value(walker_.segments, (1.0 - f) * theta(k) + f * theta(k + 1));
      for (const auto& links : walker_.pairs)
        if (!links.share_a_joint() || !may_cross())
          m.leg_distance(k) = std::min(m.leg_distance(k), std::sqrt(squared_distance(ends.data(), pair(links))));
    }
  for (int k = 0; k < K; ++k) {
    m.u.row(k) = x.segment(index_.torque(k), walker_.inputs()).transpose();
    const Eigen::VectorXd slots = value(action_, joined(theta(k), theta(k + 1)));
    const Eigen::VectorXd middle = 0.5 * (m.q.row(k) + m.q.row(k + 1)), velocity = (m.q.row(k + 1) - m.q.row(k)) / h;
    const Eigen::VectorXd state = joined(middle, velocity);
    m.energy(k) = value(walker_.moving_momentum, state).dot(velocity) - value(walker_.lagrangian, state)(0);
    Eigen::VectorXd force = Eigen::VectorXd::Zero(n);
    for (int i = 0; i < walker_.inputs(); ++i) force(base + walker_.input_joints[i]) = 0.5 * h * m.u(k, i);
    m.p.row(k + 1) = (slots.tail(n) + force).transpose();
    if (k == 0) m.p.row(0) = (-slots.head(n) - force).transpose();
    // see build(): h f = -(D4 + D2) inside, (h/2) f = -(D2 + dL/dv+) and dL/dv- - D4 at the ends
    const double left = (k == 0 ? 2.0 : 1.0) / h, right = (k == K - 1 ? 2.0 : 1.0) / h;
    m.contact_force.row(k) -= left * slots.head(base).transpose();
    m.contact_force.row(k + 1) -= right * slots.segment(n, base).transpose();
  }
  m.contact_force.row(0) -= 2.0 / h * after.head(base).transpose();
  m.contact_force.row(K) += 2.0 / h * before.head(base).transpose();

  // Kinetic energy before and after; the posture, hence the potential energy, is the same.
  m.impact_loss = 0.5 * (before.tail(joints).dot(v_before) - after.tail(joints).dot(v_after));
  return m;
}

// Drives the model forward with the torques of a motion from its first node through touch-down: every step solved for
// the next posture alone (3.1.8, with the foot's pin the null space is that of the joints), the momentum brought on to
// the constraint by the mass matrix (Q_N), the legs exchanged, the new foot stuck (P_S). Returns the largest difference
// of a joint coordinate to the motion's, the first node of the next step included.
double WalkerGait::reintegrate(const GaitMotion& motion) const {
  const int n = walker_.n(), base = walker_.base, joints = walker_.joints, K = static_cast<int>(motion.u.rows());
  const auto force = [&](int k) {
    Eigen::VectorXd f = Eigen::VectorXd::Zero(n);
    for (int i = 0; i < walker_.inputs(); ++i)
      f(base + walker_.input_joints[i]) = 0.5 * (motion.t(k + 1) - motion.t(k)) * motion.u(k, i);
    return f;
  };
  Eigen::VectorXd theta = motion.q.row(0).tail(joints).transpose(), p = motion.p.row(0).transpose();
  double worst = 0.0;
  // One step: theta and p become those of the next node; false where Newton's method fails.
  const auto advance = [&](int k, Eigen::VectorXd guess) {
    for (int iteration = 0; iteration < 50; ++iteration) {
      const Eigen::VectorXd z = joined(theta, guess), slots = value(action_, z);
      const Eigen::VectorXd residual = (p + slots.head(n) + force(k)).tail(joints);
      const Eigen::VectorXd correction =
          jacobian(action_, z).block(base, joints, joints, joints).partialPivLu().solve(residual);
      if (!(correction.lpNorm<Eigen::Infinity>() < 1e100)) return false;
      if (residual.lpNorm<Eigen::Infinity>() <= 1e-12 ||
          correction.lpNorm<Eigen::Infinity>() <= 1e-15 * (1.0 + guess.lpNorm<Eigen::Infinity>())) {
        p = slots.tail(n) + force(k);
        theta = guess;
        return true;
      }
      guess -= correction;
    }
    return false;
  };
  const auto compare = [&](int k) {
    worst = std::max(worst, (theta - motion.q.row(k).tail(joints).transpose()).lpNorm<Eigen::Infinity>());
  };
  for (int k = 0; k < K; ++k) {
    // Newton's method starts with the motion's own increment: of the roots of an implicit step that one is meant
    if (!advance(k, theta + (motion.q.row(k + 1) - motion.q.row(k)).tail(joints).transpose())) return nlp::infinity;
    compare(k + 1);
  }
  const auto mass = [&](const Eigen::VectorXd& q) {
    return Eigen::MatrixXd(jacobian(walker_.moving_momentum, joined(q, Eigen::VectorXd::Zero(n))).rightCols(n));
  };
  const Eigen::VectorXd pinned = joined(Eigen::VectorXd::Zero(base), theta);
  const Eigen::VectorXd v = mass(pinned).bottomRightCorner(joints, joints).llt().solve(p.tail(joints));
  const Eigen::VectorXd v_new = jacobian(walker_.exchanged, theta) * v;
  theta = value(walker_.exchanged, theta).tail(joints);
  compare(0);
  p = mass(joined(Eigen::VectorXd::Zero(base), theta)) * v_new;  // the impulse changes the foot's share alone
  if (!advance(0, motion.q.row(1).tail(joints).transpose())) return nlp::infinity;
  compare(1);
  return worst;
}

GaitReport WalkerGait::report(const Eigen::VectorXd& x) const {
  const GaitMotion m = motion(x);
  const int base = walker_.base, K = index_.intervals;
  const double h = settings_.period.value / K;
  GaitReport r;
  r.weight = walker_.weight.value;
  r.step_length = settings_.step_length.value;
  for (int k = 0; k < K; ++k)
    for (int i = 0; i < walker_.inputs(); ++i) {
      const int joint = base + walker_.input_joints[i];
      const double work = m.u(k, i) * (m.q(k + 1, joint) - m.q(k, joint));
      r.signed_work += work;
      r.absolute_work += std::abs(work);
      r.positive_work += std::max(work, 0.0);
      r.squared_torque += h * m.u(k, i) * m.u(k, i);
    }
  r.largest_torque = m.u.cwiseAbs().maxCoeff();

  const auto friction_ratio = [&](const auto& force) {
    const double normal = force(base - 1), tangential = force.head(base - 1).norm();
    return normal > 0.0 ? tangential / normal : nlp::infinity;
  };
  r.smallest_normal_force = m.contact_force.col(base - 1).minCoeff();
  for (int k = 0; k <= K; ++k)
    r.largest_friction_ratio = std::max(r.largest_friction_ratio, friction_ratio(m.contact_force.row(k)));
  r.normal_impulse = m.impulse(base - 1);
  r.impulse_friction_ratio = friction_ratio(m.impulse);

  r.smallest_clearance = m.swing_height.segment(1, K - 1).minCoeff();
  r.smallest_knee_flexion = nlp::infinity;
  for (const auto& knee : walker_.knees)
    r.smallest_knee_flexion = std::min(r.smallest_knee_flexion, (knee.flexion * m.q.col(base + knee.joint)).minCoeff());
  r.smallest_leg_distance = m.leg_distance.minCoeff();
  const double near = may_cross() ? 1e-9 : 1.8 * settings_.leg_radius;
  r.leg_crossings = static_cast<int>((m.leg_distance.array() < near).count());
  r.impact_loss = m.impact_loss;
  r.energy_balance = r.signed_work - r.impact_loss;
  r.reintegration_error = reintegrate(m);
  return r;
}

}  // namespace dodyn::dmoc
