#include "control/gait.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <random>

#include "mechanics/action_element.hpp"
#include "mechanics/stepping.hpp"
#include "models/planar_biped.hpp"

namespace dodyn::control {

using autodiff::Dual;
using autodiff::make_element;
using nlp::AssembledProblem;

namespace {

// Foot at the origin (or at rest), joints as given.
template <class M, class T>
std::array<T, M::n> pinned(const T* joints) {
  std::array<T, M::n> q;
  for (int i = 0; i < M::n; ++i) q[i] = i < M::base ? T(0.0) : joints[i - M::base];
  return q;
}

// theta -> height of the swing foot
template <class M>
auto swing_height_of(M model) {
  return [model](const auto& theta) {
    using T = std::decay_t<decltype(theta[0])>;
    return std::array<T, 1>{model.swing_foot(pinned<M>(theta.data()))[M::base - 1]};
  };
}

// theta at touch-down -> the same posture with the legs exchanged, seen from the place the new foot should stand at
template <class M, class S>
auto exchanged_posture_of(M model, S step_length) {
  return [model, step_length](const auto& theta) {
    auto q = model.exchange_legs(pinned<M>(theta.data()));
    const auto step = M::step(step_length);
    for (int i = 0; i < M::base; ++i) q[i] = q[i] - step[i];
    return q;
  };
}

// (theta, velocity of theta) -> momentum with the foot pinned, foot's share first
template <class M>
auto momentum_of(M model) {
  return [model](const auto& z) {
    return mechanics::momentum(model, pinned<M>(z.data()), pinned<M>(z.data() + M::joints));
  };
}

// (theta, velocity of theta) -> the same momentum in the coordinates of the exchanged legs, whose foot moves
template <class M>
auto exchanged_momentum_of(M model) {
  return [model](const auto& z) {
    using T = std::decay_t<decltype(z[0])>;
    std::array<Dual<T>, M::n> moving;
    for (int i = 0; i < M::n; ++i)
      moving[i] = i < M::base ? Dual<T>() : Dual<T>(z[i - M::base], z[M::joints + i - M::base]);
    const auto exchanged = model.exchange_legs(moving);
    std::array<T, M::n> q, v;
    for (int i = 0; i < M::n; ++i) {
      q[i] = exchanged[i].value;
      v[i] = exchanged[i].tangent;
    }
    return mechanics::momentum(model, q, v);
  };
}

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

template <template <class> class Model>
Gait<Model>::Gait(const Model<Coefficient>& model, const GaitSettings& settings)
    : design_model_(model), model_(model.plain()), settings_(settings) {
  using M = Model<double>;
  index_ = {M::joints, M::inputs, settings.intervals, settings.absolute_work != 0.0 || settings.positive_work != 0.0};
  const Coefficient h = settings_.period / static_cast<double>(settings_.intervals);
  action_ = std::make_shared<mechanics::ActionElement<mechanics::Midpoint, M::joints, M, Model<Coefficient>>>(
      model_, design_model_, h);
  momentum_ = make_element<2 * M::joints, M::n>(momentum_of(model_), momentum_of(design_model_));
  exchanged_momentum_ =
      make_element<2 * M::joints, M::n>(exchanged_momentum_of(model_), exchanged_momentum_of(design_model_));
  build();
}

template <template <class> class Model>
void Gait<Model>::build() {
  using M = Model<double>;
  constexpr int n = M::n, base = M::base, joints = M::joints, inputs = M::inputs;
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
  const int facets = cone ? 2 * (base - 1) : unilateral ? 1 : 0;
  const int force_rows = p.add_rows(facets * (K + 1), 0.0, inf);
  const int impulse_rows = p.add_rows(facets, 0.0, inf);
  // Adds a share of the ground's force or impulse, output i of an element for coordinate i, to the rows of a cone:
  // mu f_n -+ f_t >= 0 for each tangential direction (a pyramid in space), or f_n >= 0.
  const auto add_force = [&](std::vector<Term>& terms, int row, int first_output, Coefficient coefficient) {
    if (!unilateral) return;
    for (int f = 0; f < facets; ++f) {
      const int normal = first_output + base - 1;
      terms.push_back({normal, row + f, cone ? settings_.friction * coefficient : coefficient});
      if (cone) terms.push_back({first_output + f / 2, row + f, (f % 2 ? -1.0 : 1.0) * coefficient});
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
      const int row = M::input_joints[i], u = index_.torque(k) + i;
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
    p.add_element(momentum_, ends(K, index_.velocity_before()), std::move(before));
    p.add_element(momentum_, ends(0, index_.velocity_after()), std::move(after));
    p.add_element(exchanged_momentum_, ends(K, index_.velocity_before()), std::move(exchanged));
  }
  {  // periodicity
    std::vector<Term> terms;
    for (int i = 0; i < n; ++i) terms.push_back({i, periodicity + i, 1.0});
    p.add_element(make_element<joints, n>(exchanged_posture_of(model_, settings_.step_length.value),
                                          exchanged_posture_of(design_model_, settings_.step_length)),
                  range(index_.theta(K), joints), std::move(terms));
    for (int i = 0; i < joints; ++i) p.add_linear(periodicity + base + i, index_.theta(0) + i, -1.0);
  }

  // ---- swing foot above the ground at inner nodes
  const auto height = make_element<joints, 1>(swing_height_of(model_), swing_height_of(design_model_));
  for (int k = 1; k < K; ++k) {
    const double s = static_cast<double>(k) / K;
    p.add_element(height, range(index_.theta(k), joints),
                  {{0, p.add_rows(1, 4.0 * s * (1.0 - s) * settings_.clearance, inf), 1.0}});
  }

  // ---- knees bend one way
  if (settings_.knee_stops)
    for (int k = 0; k <= K; ++k)
      for (const auto& knee : M::knees)
        p.add_linear(p.add_rows(1, 0.0, inf), index_.theta(k) + knee.joint, static_cast<double>(knee.flexion));

  // ---- cost, and work split into its positive and negative part: u . dtheta = w+ - w-
  const Coefficient per_step = 1.0 / (design_model_.weight() * settings_.step_length);
  const auto work = make_element<3, 1>(IntervalWork{}, IntervalWork{});
  for (int k = 0; k < K; ++k)
    for (int i = 0; i < inputs; ++i) {
      const int u = index_.torque(k) + i, joint = M::input_joints[i];
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

template <template <class> class Model>
Eigen::VectorXd Gait<Model>::cold_start(std::uint64_t seed) const {
  using M = Model<double>;
  constexpr int joints = M::joints;
  const int K = index_.intervals;
  std::mt19937_64 random(seed);
  // uniform in [-1, 1), the same on every standard library
  const auto uniform = [&] { return static_cast<double>(random() >> 11) * 0x1.0p-52 - 1.0; };

  std::array<double, joints> last = model_.touch_down(settings_.step_length.value);
  for (double& angle : last) angle += 0.1 * uniform();
  const std::array<double, M::n> first = model_.exchange_legs(pinned<M>(last.data()));

  Eigen::VectorXd x = Eigen::VectorXd::Zero(index_.size());
  for (int i = 0; i < joints; ++i) {
    const double bow = 0.4 * uniform(), wave = 0.1 * uniform();
    for (int k = 0; k <= K; ++k) {
      const double s = static_cast<double>(k) / K, angle = std::numbers::pi * s;
      x(index_.theta(k) + i) =
          (1.0 - s) * first[M::base + i] + s * last[i] + bow * std::sin(angle) + wave * std::sin(2.0 * angle);
    }
  }
  fill_velocities_and_work(x);
  return x;
}

template <template <class> class Model>
Eigen::VectorXd Gait<Model>::warm_start(const Eigen::MatrixXd& q, const Eigen::MatrixXd& u) const {
  using M = Model<double>;
  Eigen::VectorXd x = Eigen::VectorXd::Zero(index_.size());
  for (int k = 0; k <= index_.intervals; ++k) {
    x.segment(index_.theta(k), M::joints) = q.row(k).tail(M::joints).transpose();
    if (k < index_.intervals) x.segment(index_.torque(k), M::inputs) = u.row(k).transpose();
  }
  fill_velocities_and_work(x);
  return x;
}

template <template <class> class Model>
Eigen::VectorXd Gait<Model>::shifted(const GaitMotion& motion, double nodes) const {
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

template <template <class> class Model>
void Gait<Model>::fill_velocities_and_work(Eigen::VectorXd& x) const {
  using M = Model<double>;
  const int K = index_.intervals;
  const double h = settings_.period.value / K;
  const auto theta = [&](int k) { return x.segment(index_.theta(k), M::joints); };
  x.segment(index_.velocity_before(), M::joints) = (theta(K) - theta(K - 1)) / h;
  x.segment(index_.velocity_after(), M::joints) = (theta(1) - theta(0)) / h;
  if (!index_.work) return;
  for (int k = 0; k < K; ++k)
    for (int i = 0; i < M::inputs; ++i) {
      const int joint = M::input_joints[i];
      const double work = x(index_.torque(k) + i) * (theta(k + 1)(joint) - theta(k)(joint));
      x(index_.positive(k) + i) = std::max(work, 0.0);
      x(index_.negative(k) + i) = std::max(-work, 0.0);
    }
}

template <template <class> class Model>
GaitMotion Gait<Model>::motion(const Eigen::VectorXd& x) const {
  using M = Model<double>;
  constexpr int n = M::n, base = M::base, joints = M::joints;
  const int K = index_.intervals;
  const double h = settings_.period.value / K;
  GaitMotion m;
  m.t = Eigen::VectorXd::LinSpaced(K + 1, 0.0, settings_.period.value);
  m.q = Eigen::MatrixXd::Zero(K + 1, n);
  m.p = Eigen::MatrixXd::Zero(K + 1, n);
  m.u.resize(K, M::inputs);
  m.contact_force = Eigen::MatrixXd::Zero(K + 1, base);
  m.energy.resize(K);
  m.swing_height.resize(K + 1);

  Eigen::Matrix<double, n, 1> before, after, exchanged;
  const auto momentum = [&](const autodiff::Element& element, int node, int velocity, double* values) {
    Eigen::Matrix<double, 2 * joints, 1> z;
    z << x.segment(index_.theta(node), joints), x.segment(velocity, joints);
    element.evaluate(z.data(), values);
  };
  momentum(*momentum_, K, index_.velocity_before(), before.data());
  momentum(*momentum_, 0, index_.velocity_after(), after.data());
  momentum(*exchanged_momentum_, K, index_.velocity_before(), exchanged.data());
  m.impulse = (after - exchanged).head(base);

  for (int k = 0; k <= K; ++k) {
    m.q.row(k).tail(joints) = x.segment(index_.theta(k), joints).transpose();
    std::array<double, n> q;
    for (int i = 0; i < n; ++i) q[i] = m.q(k, i);
    const auto points = model_.points(q);
    if (k == 0) m.points.resize(K + 1, static_cast<Eigen::Index>(points.size()));
    for (std::size_t i = 0; i < points.size(); ++i) m.points(k, static_cast<Eigen::Index>(i)) = points[i];
    m.swing_height(k) = model_.swing_foot(q)[base - 1];
  }
  for (int k = 0; k < K; ++k) {
    m.u.row(k) = x.segment(index_.torque(k), M::inputs).transpose();
    const mechanics::Slots<n> s = mechanics::slots<mechanics::Midpoint>(
        model_, m.t(k), mechanics::Vector<n>(m.q.row(k)), m.t(k + 1), mechanics::Vector<n>(m.q.row(k + 1)));
    m.energy(k) = s.D1;
    Eigen::Matrix<double, n, 1> force = Eigen::Matrix<double, n, 1>::Zero();
    for (int i = 0; i < M::inputs; ++i) force(base + M::input_joints[i]) = 0.5 * h * m.u(k, i);
    m.p.row(k + 1) = (s.D4 + force).transpose();
    if (k == 0) m.p.row(0) = (-s.D2 - force).transpose();
    // see build(): h f = -(D4 + D2) inside, (h/2) f = -(D2 + dL/dv+) and dL/dv- - D4 at the ends
    const double left = (k == 0 ? 2.0 : 1.0) / h, right = (k == K - 1 ? 2.0 : 1.0) / h;
    m.contact_force.row(k) -= left * s.D2.head(base).transpose();
    m.contact_force.row(k + 1) -= right * s.D4.head(base).transpose();
  }
  m.contact_force.row(0) -= 2.0 / h * after.head(base).transpose();
  m.contact_force.row(K) += 2.0 / h * before.head(base).transpose();

  // Kinetic energy before and after; the posture, hence the potential energy, is the same.
  m.impact_loss = 0.5 * (before.tail(joints).dot(x.segment(index_.velocity_before(), joints)) -
                         after.tail(joints).dot(x.segment(index_.velocity_after(), joints)));
  return m;
}

namespace {

// A point foot pinned at the origin: the first coordinates vanish.
template <int coordinates>
struct PinnedFoot {
  static constexpr int m = coordinates;
  template <class T, std::size_t n>
  std::array<T, m> values(const std::array<T, n>& q) const {
    std::array<T, m> g;
    for (int i = 0; i < m; ++i) g[i] = q[i];
    return g;
  }
};

// Do the open segments a-b and c-d cross?
bool cross(const Eigen::Vector2d& a, const Eigen::Vector2d& b, const Eigen::Vector2d& c, const Eigen::Vector2d& d) {
  const auto side = [](const Eigen::Vector2d& p, const Eigen::Vector2d& q, const Eigen::Vector2d& r) {
    return (q.x() - p.x()) * (r.y() - p.y()) - (q.y() - p.y()) * (r.x() - p.x());
  };
  return side(a, b, c) * side(a, b, d) < 0.0 && side(c, d, a) * side(c, d, b) < 0.0;
}

// Drives the model forward with the torques of a motion, foot pinned, from its first node through touch-down, in all n
// coordinates with the foot held by a constraint and its null space: a formulation the transcription does not use.
// Returns the largest difference of a joint angle to the motion's, the first node of the next step included.
template <class M>
double reintegrate(const M& model, const GaitMotion& motion) {
  constexpr int n = M::n, base = M::base, joints = M::joints;
  using Vector = mechanics::Vector<n>;
  const PinnedFoot<base> foot;
  const int K = static_cast<int>(motion.u.rows());
  Vector q = motion.q.row(0).transpose(), p = motion.p.row(0).transpose(), previous = q;
  const auto force = [&](int k) {
    Vector f = Vector::Zero();
    for (int i = 0; i < M::inputs; ++i)
      f(base + M::input_joints[i]) = 0.5 * (motion.t(k + 1) - motion.t(k)) * motion.u(k, i);
    return f;
  };
  double worst = 0.0;
  for (int k = 0; k < K; ++k) {
    const Vector guess = k == 0 ? Vector(motion.q.row(1).transpose()) : Vector(2.0 * q - previous);
    const auto step = mechanics::advance<mechanics::Midpoint>(model, foot, motion.t(k), q, p, motion.t(k + 1), force(k),
                                                              force(k), guess);
    if (!step.converged) return nlp::infinity;
    previous = q;
    q = step.q;
    p = step.p;
    worst = std::max(worst, (q - motion.q.row(k + 1).transpose()).template lpNorm<Eigen::Infinity>());
  }
  // touch-down: on to the constraint's momenta (Q_N), then exchange the legs and let the new foot stick
  const auto G = mechanics::evaluate<n>(foot, q).jacobian;
  const auto at_rest = mechanics::continuous(model, q, Vector(Vector::Zero()));
  const Vector v = at_rest.mass.llt().solve(mechanics::momentum_projection<base, n>(G, at_rest.mass) * p);
  std::array<Dual<double>, n> moving;
  for (int i = 0; i < n; ++i) moving[i] = {q(i), v(i)};
  const auto exchanged = model.exchange_legs(moving);
  Vector q_new, v_new;
  for (int i = 0; i < n; ++i) {
    q_new(i) = i < base ? 0.0 : exchanged[i].value;
    v_new(i) = exchanged[i].tangent;
  }
  worst = std::max(worst, (q_new - motion.q.row(0).transpose()).template lpNorm<Eigen::Infinity>());
  const Vector p_new = mechanics::plastic_jump(
      model, foot, q_new, Vector(mechanics::continuous(model, q_new, Vector(Vector::Zero())).mass * v_new));
  const auto step = mechanics::advance<mechanics::Midpoint>(model, foot, 0.0, q_new, p_new, motion.t(1), force(0),
                                                            force(0), Vector(motion.q.row(1).transpose()));
  if (!step.converged) return nlp::infinity;
  static_cast<void>(joints);
  return std::max(worst, (step.q - motion.q.row(1).transpose()).template lpNorm<Eigen::Infinity>());
}

}  // namespace

template <template <class> class Model>
GaitReport Gait<Model>::report(const Eigen::VectorXd& x) const {
  using M = Model<double>;
  const GaitMotion m = motion(x);
  const int K = index_.intervals;
  const double h = settings_.period.value / K;
  GaitReport r;
  r.weight = model_.weight();
  r.step_length = settings_.step_length.value;
  for (int k = 0; k < K; ++k)
    for (int i = 0; i < M::inputs; ++i) {
      const int joint = M::base + M::input_joints[i];
      const double work = m.u(k, i) * (m.q(k + 1, joint) - m.q(k, joint));
      r.signed_work += work;
      r.absolute_work += std::abs(work);
      r.positive_work += std::max(work, 0.0);
      r.squared_torque += h * m.u(k, i) * m.u(k, i);
    }
  r.largest_torque = m.u.cwiseAbs().maxCoeff();

  const auto friction_ratio = [](const auto& force) {
    const double normal = force(M::base - 1), tangential = force.head(M::base - 1).norm();
    return normal > 0.0 ? tangential / normal : nlp::infinity;
  };
  r.smallest_normal_force = m.contact_force.col(M::base - 1).minCoeff();
  for (int k = 0; k <= K; ++k)
    r.largest_friction_ratio = std::max(r.largest_friction_ratio, friction_ratio(m.contact_force.row(k)));
  r.normal_impulse = m.impulse(M::base - 1);
  r.impulse_friction_ratio = friction_ratio(m.impulse);

  r.smallest_clearance = m.swing_height.segment(1, K - 1).minCoeff();
  r.smallest_knee_flexion = nlp::infinity;
  for (const auto& knee : M::knees)
    r.smallest_knee_flexion =
        std::min(r.smallest_knee_flexion, (knee.flexion * m.q.col(M::base + knee.joint)).minCoeff());
  for (int k = 0; k <= K; ++k) {
    const auto point = [&](int i) { return Eigen::Vector2d(m.points(k, 2 * i), m.points(k, 2 * i + 1)); };
    bool crossing = false;
    for (int i = 0; i < M::links / 2; ++i)
      for (int j = M::links / 2; j < M::links; ++j)
        crossing = crossing || cross(point(i), point(i + 1), point(j), point(j + 1));
    r.leg_crossings += crossing;
  }
  r.impact_loss = m.impact_loss;
  r.energy_balance = r.signed_work - r.impact_loss;
  r.reintegration_error = reintegrate(model_, m);
  return r;
}

template class Gait<models::PlanarBiped>;

}  // namespace dodyn::control
