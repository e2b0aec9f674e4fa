// A primal-dual interior point of our own: the filter line search of Waechter and Biegler (Mathematical Programming
// 106, 2006; equation numbers below are theirs) on
//
//   minimise f(x)   subject to   c(x) - s = 0 (s: slack of an inequality row, or its fixed value),   bounds on (x, s),
//
// with the exact Hessian, a factorisation analysed once (symmetric_factor.hpp), and two differences. The objective is
// scaled up as well as down, so that its slope and curvature at the start are of order one: where they are small, as
// the cost of a gait is, the usual first barrier parameter would outweigh it and the iterates wander. And feasibility
// is restored by regularised Newton steps on the least squares of the constraints inside the bounds.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <optional>
#include <utility>

#include "nlp/backends.hpp"
#include "nlp/kkt.hpp"
#include "nlp/symmetric_factor.hpp"

namespace dodyn::nlp {

using Eigen::VectorXd;

namespace {

// What is infinite or not a number is no zero less itself.
bool finite(const VectorXd& v) { return v.size() == 0 || (v - v).cwiseAbs().sum() == 0.0; }

struct Ending {
  SolveStatus status;
  const char* reason;
};

constexpr const char* no_pivots = "constraints depend on each other where the iterates are";

// Adds its lifetime to a sum of seconds.
class Stopwatch {
 public:
  explicit Stopwatch(double& sum) : sum_(sum), begin_(Clock::now()) {}
  ~Stopwatch() { sum_ += std::chrono::duration<double>(Clock::now() - begin_).count(); }
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;

 private:
  double& sum_;
  Clock::time_point begin_;
};

class InteriorPoint {
 public:
  InteriorPoint(const Problem& problem, const Options& options, Clock::time_point deadline);
  Solution run(const VectorXd& x0, const Solution* neighbour);

 private:
  // A primal point: x and slacks with their function values, all scaled.
  struct Point {
    VectorXd x;  // of the problem, fixed variables included
    VectorXd v;  // [free variables, slacks]
    double f = 0.0, barrier = 0.0;
    VectorXd gap;        // c - s, [rows]
    double theta = 0.0;  // its 1-norm
  };

  Ending iterate();
  void start_at(const VectorXd& x0, const Solution* neighbour);
  bool evaluate(Point& point);  // from v; false where not finite
  bool differentiate(bool with_hessian);
  void set_barrier(Point& point) const;
  // grad f + A^T y - z_lower + z_upper, [v]; without multipliers of bounds grad f + A^T y.
  void stationarity(const VectorXd& y, const VectorXd* lower, const VectorXd* upper, VectorXd& r) const;
  void update_residual();
  double barrier_error(double mu) const;
  bool optimal() const;
  bool feasible_within(double tolerance) const;
  bool late() const { return Clock::now() > deadline_; }
  // Rows that depend on each other: no pivot is tolerable beside multipliers that grow without end, rows are handed on from
  // front to front, and a factorisation takes a hundred times as long. Starts rarely come back from there.
  bool hopeless() const { return pivotless_ > 30; }

  // The system  [H + D, A^T; A, -E] (dv, dy) = -(g, gap)  with A = [J, -1], slacks eliminated.
  // Asked for the right inertia alone, a factorisation ends as soon as it is certain that it has another.
  bool factorise(const VectorXd* hessian, const VectorXd& D, double shift, const VectorXd& E, double extra,
                 bool convex = false);
  double solve(const VectorXd& g, const VectorXd& gap, VectorXd& dv, VectorXd& dy);
  bool right_inertia() const { return factor_.inertia().negative == m_ && factor_.inertia().zero == 0; }

  bool find_direction();
  bool search();
  bool soft_step();
  std::optional<Ending> restore();
  void accept(Point& next, double alpha, double alpha_z);
  void least_squares_multipliers();
  void take_up_multipliers();
  double longest(const VectorXd& value, const VectorXd& step, double tau) const;
  double longest_multiplier_step(double tau) const;
  bool filter_accepts(double theta, double barrier) const;
  void lower_mu();
  void log(const char* what, double alpha) const;

  const Problem& problem_;
  const Options& options_;
  const Clock::time_point deadline_;

  // structure
  int n_ = 0, m_ = 0, N_ = 0;                       // free variables, rows, free variables and slacks
  std::vector<int> free_, rows_;                    // indices in the problem
  std::vector<int> slack_;                          // of each row, position in v or -1
  std::vector<int> slack_row_;                      // of each slack
  VectorXd fixed_value_;                            // [rows] of the rows without slack (scaled)
  VectorXd lower_, upper_;                          // [v]
  std::vector<int> bounded_below_, bounded_above_;  // positions in v
  std::vector<int> hessian_entries_, jacobian_entries_;
  std::vector<int> jacobian_rows_, jacobian_columns_;  // in rows_ and free_
  SymmetricFactor factor_;
  VectorXd matrix_;  // values of the KKT matrix's pattern: Hessian, diagonal of x, Jacobian, diagonal of the rows

  // scaling
  double scale_f_ = 1.0;
  VectorXd scale_c_;  // [rows]

  // iterate
  Point at_;
  VectorXd y_, lower_z_, upper_z_;  // [rows], [v], [v]
  VectorXd gradient_;               // [free], scaled
  VectorXd slope_, residual_;       // stationarity at the iterate, without and with the multipliers of bounds, [v]
  VectorXd jacobian_, hessian_;     // values by entry
  double mu_ = 0.1, tau_ = 0.99;

  // direction
  VectorXd dv_, dy_, dlower_z_, dupper_z_;
  VectorXd D_, E_, eliminated_g_, g_;
  double last_shift_ = 0.0, shift_ = 0.0;  // the last one that was not zero, and that of the last direction
  bool at_once_ = false;                   // it was the first one tried
  VectorXd right_, left_;

  // room for what an iteration tries
  Point trial_, corrected_;
  VectorXd sigma_, corrected_gap_, corrected_dv_, corrected_dy_;

  // filter: pairs (theta, barrier) that may not be dominated
  std::vector<std::pair<double, double>> filter_;
  double theta_max_ = 0.0, theta_min_ = 0.0;

  Solution solution_;
  double tolerance_ = 0.0;
  int corrections_ = 0;
  int pivotless_ = 0;  // factorisations that handed on twice as many variables as there are
  mutable VectorXd values_m_, values_n_;
};

// ---- structure

InteriorPoint::InteriorPoint(const Problem& problem, const Options& options, Clock::time_point deadline)
    : problem_(problem), options_(options), deadline_(deadline), tolerance_(0.5 * options.tolerance) {
  std::vector<int> free_position(problem.variables(), -1), row_position(problem.constraints(), -1);
  for (int i = 0; i < problem.variables(); ++i) {
    if (problem.lower[i] == problem.upper[i]) continue;
    free_position[i] = n_++;
    free_.push_back(i);
  }
  for (int r = 0; r < problem.constraints(); ++r) {
    if (problem.constraint_lower[r] == -infinity && problem.constraint_upper[r] == infinity) continue;
    row_position[r] = m_++;
    rows_.push_back(r);
  }
  N_ = n_;
  for (int i = 0; i < m_; ++i) {
    const bool equality = problem.constraint_lower[rows_[i]] == problem.constraint_upper[rows_[i]];
    slack_.push_back(equality ? -1 : N_++);
    if (!equality) slack_row_.push_back(i);
  }

  std::vector<int> rows, columns;
  for (int k = 0; k < problem.hessian_pattern.size(); ++k) {
    const int i = free_position[problem.hessian_pattern.rows[k]], j = free_position[problem.hessian_pattern.columns[k]];
    if (i < 0 || j < 0) continue;
    hessian_entries_.push_back(k);
    rows.push_back(i);
    columns.push_back(j);
  }
  for (int i = 0; i < n_; ++i) rows.push_back(i), columns.push_back(i);
  for (int k = 0; k < problem.jacobian_pattern.size(); ++k) {
    const int i = row_position[problem.jacobian_pattern.rows[k]],
              j = free_position[problem.jacobian_pattern.columns[k]];
    if (i < 0 || j < 0) continue;
    jacobian_entries_.push_back(k);
    jacobian_rows_.push_back(i);
    jacobian_columns_.push_back(j);
    rows.push_back(n_ + i);
    columns.push_back(j);
  }
  for (int i = 0; i < m_; ++i) rows.push_back(n_ + i), columns.push_back(n_ + i);
  const Stopwatch watch(solution_.timing.factorisation);
  factor_.analyse(n_ + m_, rows, columns, m_);
  matrix_.resize(static_cast<Eigen::Index>(rows.size()));
  right_.resize(n_ + m_);
  left_.resize(n_ + m_);
}

// ---- functions

bool InteriorPoint::evaluate(Point& point) {
  const Stopwatch watch(solution_.timing.functions);
  for (int i = 0; i < n_; ++i) point.x[free_[i]] = point.v[i];
  point.f = scale_f_ * problem_.objective(point.x);
  problem_.constraint_values(point.x, values_m_);
  point.theta = 0.0;
  for (int i = 0; i < m_; ++i) {
    point.gap[i] = scale_c_[i] * values_m_[rows_[i]] - (slack_[i] < 0 ? fixed_value_[i] : point.v[slack_[i]]);
    point.theta += std::abs(point.gap[i]);
  }
  set_barrier(point);
  return std::isfinite(point.theta) && std::isfinite(point.barrier);
}

void InteriorPoint::set_barrier(Point& point) const {
  double sum = 0.0;
  for (const int i : bounded_below_) sum += std::log(point.v[i] - lower_[i]);
  for (const int i : bounded_above_) sum += std::log(upper_[i] - point.v[i]);
  point.barrier = point.f - mu_ * sum;
}

// At the current iterate: gradient and Jacobian, and the Hessian with the multipliers y.
bool InteriorPoint::differentiate(bool with_hessian) {
  const Stopwatch watch(solution_.timing.derivatives);
  if (with_hessian) {
    for (int i = 0; i < m_; ++i) values_m_[rows_[i]] = scale_c_[i] * y_[i];
    problem_.derivatives(at_.x, scale_f_, values_m_, values_n_, jacobian_, hessian_);
  } else {
    problem_.objective_gradient(at_.x, values_n_);
    problem_.jacobian(at_.x, jacobian_);
  }
  for (int i = 0; i < n_; ++i) gradient_[i] = scale_f_ * values_n_[free_[i]];
  double* J = matrix_.data() + hessian_entries_.size() + n_;
  for (std::size_t k = 0; k < jacobian_entries_.size(); ++k)
    J[k] = scale_c_[jacobian_rows_[k]] * jacobian_[jacobian_entries_[k]];
  return finite(gradient_) && finite(jacobian_) && (!with_hessian || finite(hessian_));
}

void InteriorPoint::stationarity(const VectorXd& y, const VectorXd* lower, const VectorXd* upper, VectorXd& r) const {
  if (lower)
    r = *upper - *lower;
  else
    r.setZero(N_);
  r.head(n_) += gradient_;
  const double* J = matrix_.data() + hessian_entries_.size() + n_;
  for (std::size_t k = 0; k < jacobian_rows_.size(); ++k) r[jacobian_columns_[k]] += J[k] * y[jacobian_rows_[k]];
  for (int j = n_; j < N_; ++j) r[j] -= y[slack_row_[j - n_]];
}

void InteriorPoint::update_residual() {
  stationarity(y_, nullptr, nullptr, slope_);
  residual_ = slope_ - lower_z_ + upper_z_;
}

// E_mu (5), with the multipliers' sizes taken into account.
double InteriorPoint::barrier_error(double mu) const {
  const double norm_z = lower_z_.lpNorm<1>() + upper_z_.lpNorm<1>();
  const double bounds = static_cast<double>(bounded_below_.size() + bounded_above_.size());
  const double scale_dual = std::max(100.0, (y_.lpNorm<1>() + norm_z) / std::max(1.0, m_ + bounds)) / 100.0;
  const double scale_complementarity = std::max(100.0, norm_z / std::max(1.0, bounds)) / 100.0;
  double complementarity = 0.0;
  for (const int i : bounded_below_)
    complementarity = std::max(complementarity, std::abs((at_.v[i] - lower_[i]) * lower_z_[i] - mu));
  for (const int i : bounded_above_)
    complementarity = std::max(complementarity, std::abs((upper_[i] - at_.v[i]) * upper_z_[i] - mu));
  const double feasibility = m_ > 0 ? at_.gap.lpNorm<Eigen::Infinity>() : 0.0;
  return std::max(
      {residual_.lpNorm<Eigen::Infinity>() / scale_dual, feasibility, complementarity / scale_complementarity});
}

// The same unscaled, as solve() counts it.
bool InteriorPoint::optimal() const {
  const VectorXd& r = residual_;
  double error = r.head(n_).size() > 0 ? r.head(n_).lpNorm<Eigen::Infinity>() / scale_f_ : 0.0;
  for (const int i : bounded_below_) error = std::max(error, (at_.v[i] - lower_[i]) * lower_z_[i] / scale_f_);
  for (const int i : bounded_above_) error = std::max(error, (upper_[i] - at_.v[i]) * upper_z_[i] / scale_f_);
  for (int j = n_; j < N_; ++j) {
    const int i = slack_row_[j - n_];
    error = std::max(error, std::abs(r[j]) * scale_c_[i] / scale_f_);
    // the row itself is as far from its bound as its slack is but for the gap, and its multiplier is not quite the slack's
    const double row = at_.v[j] + at_.gap[i], distance = y_[i] > 0.0 ? upper_[j] - row : row - lower_[j];
    if (std::isfinite(distance)) error = std::max(error, std::abs(y_[i] * distance) / scale_f_);
  }
  return error <= tolerance_ && feasible_within(tolerance_);
}

// Whether no row, unscaled, is violated by more than this and what rounding x makes of it, with the Jacobian as it is.
bool InteriorPoint::feasible_within(double tolerance) const {
  if ((at_.gap.array().abs() <= tolerance * scale_c_.array()).all()) return true;
  const VectorXd rounding = rounding_of_rows(problem_, at_.x, jacobian_);
  for (int i = 0; i < m_; ++i)
    if (!(std::abs(at_.gap[i]) / scale_c_[i] - rounding[rows_[i]] <= tolerance)) return false;
  return true;
}

// ---- the linear system

bool InteriorPoint::factorise(const VectorXd* hessian, const VectorXd& D, double shift, const VectorXd& E, double extra,
                              bool convex) {
  const Stopwatch watch(solution_.timing.factorisation);
  double* value = matrix_.data();
  for (const int k : hessian_entries_) *value++ = hessian ? (*hessian)[k] : 0.0;
  for (int i = 0; i < n_; ++i) *value++ = D[i] + shift;
  value += jacobian_entries_.size();
  D_ = D;
  D_.array() += shift;
  for (int i = 0; i < m_; ++i) *value++ = -E[i] - extra - (slack_[i] < 0 ? 0.0 : 1.0 / D_[slack_[i]]);
  ++solution_.timing.factorisations;
  const bool whole = convex ? factor_.factorise_convex(matrix_) : factor_.factorise(matrix_);
  pivotless_ += factor_.delayed_pivots() > 2 * (n_ + m_);
  return whole;
}

double InteriorPoint::solve(const VectorXd& g, const VectorXd& gap, VectorXd& dv, VectorXd& dy) {
  const Stopwatch watch(solution_.timing.factorisation);
  right_.head(n_) = -g.head(n_);
  for (int i = 0; i < m_; ++i) right_[n_ + i] = -gap[i] - (slack_[i] < 0 ? 0.0 : g[slack_[i]] / D_[slack_[i]]);
  const double error = factor_.solve(right_, left_, 1e-12);
  dv.head(n_) = left_.head(n_);
  dy = left_.tail(m_);
  for (int j = n_; j < N_; ++j) dv[j] = (dy[slack_row_[j - n_]] - g[j]) / D_[j];
  return error;
}

// ---- start

void InteriorPoint::start_at(const VectorXd& x0, const Solution* neighbour) {
  at_.x = x0;
  at_.v.setZero(N_);
  at_.gap.setZero(m_);
  values_m_.setZero(problem_.constraints());
  values_n_.setZero(problem_.variables());
  gradient_.setZero(n_);
  jacobian_.setZero(problem_.jacobian_pattern.size());
  hessian_.setZero(problem_.hessian_pattern.size());
  scale_c_.setOnes(m_);
  for (int i = 0; i < n_; ++i) at_.v[i] = x0[free_[i]];

  constexpr double largest = 100.0, smallest_scale = 1e-8, largest_scale = 1e4;
  differentiate(false);
  values_m_.setZero();
  problem_.hessian(at_.x, 1.0, values_m_, hessian_);
  const double steepest = gradient_.lpNorm<Eigen::Infinity>();
  double size = steepest;
  for (const int k : hessian_entries_) size = std::max(size, std::abs(hessian_[k]));
  if (steepest > largest)
    scale_f_ = std::max(smallest_scale, largest / steepest);
  else if (size < 0.5)
    scale_f_ = std::min(0.5 / size, largest_scale);
  VectorXd slope = VectorXd::Zero(m_);
  for (std::size_t k = 0; k < jacobian_entries_.size(); ++k)
    slope[jacobian_rows_[k]] = std::max(slope[jacobian_rows_[k]], std::abs(jacobian_[jacobian_entries_[k]]));
  for (int i = 0; i < m_; ++i) scale_c_[i] = std::max(smallest_scale, largest / std::max(largest, slope[i]));

  lower_.setConstant(N_, -infinity);
  upper_.setConstant(N_, infinity);
  fixed_value_.setZero(m_);
  for (int i = 0; i < n_; ++i) {
    lower_[i] = problem_.lower[free_[i]];
    upper_[i] = problem_.upper[free_[i]];
  }
  problem_.constraint_values(x0, values_m_);
  for (int i = 0; i < m_; ++i) {
    const double low = scale_c_[i] * problem_.constraint_lower[rows_[i]];
    if (slack_[i] < 0) {
      fixed_value_[i] = low;
      continue;
    }
    lower_[slack_[i]] = low;
    upper_[slack_[i]] = scale_c_[i] * problem_.constraint_upper[rows_[i]];
    at_.v[slack_[i]] = scale_c_[i] * values_m_[rows_[i]];
  }
  for (int i = 0; i < N_; ++i) {
    if (lower_[i] > -infinity) bounded_below_.push_back(i);
    if (upper_[i] < infinity) bounded_above_.push_back(i);
  }

  // into the interior (section 3.6)
  mu_ = !options_.warm_start ? 0.1 : options_.barrier > 0.0 ? options_.barrier : 1e-5;
  const double push = !options_.warm_start ? (options_.push > 0.0 ? options_.push : 1e-2)
                      : mu_ > 1e-5         ? std::min(mu_, 1e-2)
                                           : 1e-6;
  for (int i = 0; i < N_; ++i) {
    const double width = upper_[i] - lower_[i];
    if (lower_[i] > -infinity)
      at_.v[i] = std::max(at_.v[i], lower_[i] + std::min(push * std::max(1.0, std::abs(lower_[i])), push * width));
    if (upper_[i] < infinity)
      at_.v[i] = std::min(at_.v[i], upper_[i] - std::min(push * std::max(1.0, std::abs(upper_[i])), push * width));
  }
  y_.setZero(m_);
  lower_z_.setZero(N_);
  upper_z_.setZero(N_);
  dlower_z_.setZero(N_);
  dupper_z_.setZero(N_);
  dv_.setZero(N_);
  dy_.setZero(m_);
  E_.setZero(m_);
  corrected_gap_.setZero(m_);
  corrected_dv_.setZero(N_);
  corrected_dy_.setZero(m_);
  filter_.reserve(256);
  for (const int i : bounded_below_) lower_z_[i] = options_.warm_start ? mu_ / (at_.v[i] - lower_[i]) : 1.0;
  for (const int i : bounded_above_) upper_z_[i] = options_.warm_start ? mu_ / (upper_[i] - at_.v[i]) : 1.0;
  evaluate(at_);
  differentiate(false);
  if (neighbour) {
    for (int i = 0; i < m_; ++i) y_[i] = neighbour->multipliers[rows_[i]] * scale_f_ / scale_c_[i];
    for (int i = 0; i < N_; ++i) {
      const double low = i < n_ ? neighbour->lower_multipliers[free_[i]] * scale_f_ : -y_[slack_row_[i - n_]];
      const double up = i < n_ ? neighbour->upper_multipliers[free_[i]] * scale_f_ : y_[slack_row_[i - n_]];
      if (lower_[i] > -infinity) lower_z_[i] = std::max(low, mu_ / std::max(1e-3, at_.v[i] - lower_[i]));
      if (upper_[i] < infinity) upper_z_[i] = std::max(up, mu_ / std::max(1e-3, upper_[i] - at_.v[i]));
    }
  } else {
    least_squares_multipliers();
  }
  trial_ = corrected_ = at_;
  theta_max_ = 1e4 * std::max(1.0, at_.theta);
  theta_min_ = 1e-4 * std::max(1.0, at_.theta);
}

// (36)
void InteriorPoint::least_squares_multipliers() {
  if (m_ == 0) return;
  E_.setZero();
  if (!factorise(nullptr, VectorXd::Ones(N_), 0.0, E_, 0.0)) return;
  if (factor_.inertia().zero > 0) factorise(nullptr, VectorXd::Ones(N_), 0.0, E_, 1e-8);
  VectorXd unused(N_), y(m_);
  const VectorXd none = VectorXd::Zero(m_);
  stationarity(none, &lower_z_, &upper_z_, residual_);
  solve(residual_, none, unused, y);
  if (y.allFinite() && y.lpNorm<Eigen::Infinity>() <= 1e3)
    y_ = y;
  else
    y_.setZero();
}

// ---- direction

bool InteriorPoint::find_direction() {
  VectorXd& sigma = sigma_;
  sigma.setZero(N_);
  g_ = slope_;
  for (const int i : bounded_below_) {
    const double slack = at_.v[i] - lower_[i];
    sigma[i] += lower_z_[i] / slack;
    g_[i] -= mu_ / slack;
  }
  for (const int i : bounded_above_) {
    const double slack = upper_[i] - at_.v[i];
    sigma[i] += upper_z_[i] / slack;
    g_[i] += mu_ / slack;
  }

  // (IC), section 3.1: n positive and m negative eigenvalues
  constexpr double largest_shift = 1e40, negligible_shift = 1e-7;
  E_.setZero();
  double extra = 0.0;
  const auto attempt = [&] {
    if (!factorise(&hessian_, sigma, shift_, E_, extra, true)) return false;
    if (factor_.inertia().zero > 0 && factor_.inertia().negative <= m_ && extra == 0.0) {
      extra = 1e-8 * std::pow(mu_, 0.25);
      if (!factorise(&hessian_, sigma, shift_, E_, extra, true)) return false;
    }
    return right_inertia();
  };
  // Where the last iterate needed a shift this one starts from half of it, or a quarter if that one got by with what it
  // tried first; (IC) starts from none every time, and most of its first factorisations are in vain.
  if (shift_ > 0.0) {
    shift_ *= at_once_ ? 0.25 : 0.5;
    if (shift_ < negligible_shift) shift_ = 0.0;
  }
  bool right = at_once_ = attempt();
  if (!right && shift_ == 0.0) {
    shift_ = last_shift_ == 0.0 ? 1e-4 : std::max(1e-20, last_shift_ / 3.0);
    right = attempt();
  }
  while (!right && shift_ < largest_shift && !late() && !hopeless()) {
    shift_ *= last_shift_ == 0.0 ? 100.0 : 8.0;
    right = attempt();
  }
  if (!right) return false;
  if (shift_ > 0.0) last_shift_ = shift_;

  for (int attempts = 0;; ++attempts) {
    const double error = solve(g_, at_.gap, dv_, dy_);
    if (error > 1e-11) factor_.leaf_threshold = 0.01;  // from the next factorisation on
    if (error <= 1e-10 || attempts == 2) break;
    factor_.pivot_threshold = std::min(0.1, std::pow(factor_.pivot_threshold, 0.5));
    if (!factorise(&hessian_, sigma, shift_, E_, extra)) return false;
  }
  if (!finite(dv_) || !finite(dy_)) return false;
  return true;
}

double InteriorPoint::longest(const VectorXd& value, const VectorXd& step, double tau) const {
  double alpha = 1.0;
  for (const int i : bounded_below_)
    if (step[i] < 0.0) alpha = std::min(alpha, -tau * (value[i] - lower_[i]) / step[i]);
  for (const int i : bounded_above_)
    if (step[i] > 0.0) alpha = std::min(alpha, tau * (upper_[i] - value[i]) / step[i]);
  return alpha;
}

double InteriorPoint::longest_multiplier_step(double tau) const {
  double alpha = 1.0;
  for (const int i : bounded_below_)
    if (dlower_z_[i] < 0.0) alpha = std::min(alpha, -tau * lower_z_[i] / dlower_z_[i]);
  for (const int i : bounded_above_)
    if (dupper_z_[i] < 0.0) alpha = std::min(alpha, -tau * upper_z_[i] / dupper_z_[i]);
  return alpha;
}

// ---- line search

bool InteriorPoint::filter_accepts(double theta, double barrier) const {
  if (!(theta <= theta_max_)) return false;
  return std::none_of(filter_.begin(), filter_.end(),
                      [&](const auto& entry) { return theta >= entry.first && barrier >= entry.second; });
}

// Takes the step; false where the step became too short.
bool InteriorPoint::search() {
  // multipliers of the bounds follow the direction (12)
  for (const int i : bounded_below_) {
    const double slack = at_.v[i] - lower_[i];
    dlower_z_[i] = mu_ / slack - lower_z_[i] - lower_z_[i] / slack * dv_[i];
  }
  for (const int i : bounded_above_) {
    const double slack = upper_[i] - at_.v[i];
    dupper_z_[i] = mu_ / slack - upper_z_[i] + upper_z_[i] / slack * dv_[i];
  }
  const double alpha_z = longest_multiplier_step(tau_);

  // slope of the barrier function
  double slope = gradient_.dot(dv_.head(n_));
  for (const int i : bounded_below_) slope -= mu_ * dv_[i] / (at_.v[i] - lower_[i]);
  for (const int i : bounded_above_) slope += mu_ * dv_[i] / (upper_[i] - at_.v[i]);

  constexpr double gamma_theta = 1e-5, gamma_phi = 1e-8, delta = 1.0, s_theta = 1.1, s_phi = 2.3, eta = 1e-8;
  double alpha_min = gamma_theta;
  if (slope < 0.0) {
    alpha_min = std::min(alpha_min, gamma_phi * at_.theta / -slope);
    if (at_.theta <= theta_min_)
      alpha_min = std::min(alpha_min, delta * std::pow(at_.theta, s_theta) / std::pow(-slope, s_phi));
  }
  alpha_min = std::max(0.05 * alpha_min, 1e-12);

  const double rounding = 10.0 * std::numeric_limits<double>::epsilon() * std::abs(at_.barrier);
  bool f_type = false;
  const auto acceptable = [&](const Point& trial, double alpha) {
    const bool switching =
        slope < 0.0 && alpha * std::pow(-slope, s_phi) > delta * std::pow(at_.theta, s_theta);  // (19)
    f_type = switching && at_.theta <= theta_min_;
    if (!filter_accepts(trial.theta, trial.barrier)) return false;
    if (f_type) return trial.barrier - at_.barrier - rounding <= eta * alpha * slope;  // (20)
    return trial.theta <= (1.0 - gamma_theta) * at_.theta ||
           trial.barrier - rounding <= at_.barrier - gamma_phi * at_.theta;  // (18)
  };
  const auto finish = [&](Point& trial, double alpha) {
    if (!f_type) filter_.emplace_back((1.0 - gamma_theta) * at_.theta, at_.barrier - gamma_phi * at_.theta);  // (22)
    accept(trial, alpha, alpha_z);
    return true;
  };

  trial_ = at_;
  double alpha = longest(at_.v, dv_, tau_);
  for (bool first = true; alpha >= alpha_min; first = false, alpha *= 0.5) {
    if (late()) return true;
    trial_.v = at_.v + alpha * dv_;
    if (!evaluate(trial_)) continue;
    if (acceptable(trial_, alpha)) return finish(trial_, alpha);

    // second-order corrections (section 2.4)
    if (!first || trial_.theta < at_.theta || m_ == 0) continue;
    VectorXd &gap = corrected_gap_, &dv = corrected_dv_;
    gap = alpha * at_.gap + trial_.gap;
    double theta = at_.theta;
    for (int correction = 0; correction < 4; ++correction) {
      solve(g_, gap, dv, corrected_dy_);
      if (!finite(dv)) break;
      const double alpha_soc = longest(at_.v, dv, tau_);
      corrected_ = at_;
      corrected_.v = at_.v + alpha_soc * dv;
      if (!evaluate(corrected_)) break;
      if (acceptable(corrected_, alpha)) {
        ++corrections_;
        return finish(corrected_, alpha);
      }
      if (correction > 0 && corrected_.theta > 0.99 * theta) break;
      theta = corrected_.theta;
      gap = alpha_soc * gap + corrected_.gap;
    }
  }
  return false;
}

void InteriorPoint::accept(Point& next, double alpha, double alpha_z) {
  std::swap(at_, next);
  y_ += alpha * dy_;
  lower_z_ += alpha_z * dlower_z_;
  upper_z_ += alpha_z * dupper_z_;
  // Multipliers stay near mu / slack (16), and slacks away from rounding to zero.
  constexpr double kappa = 1e10;
  for (const int i : bounded_below_) {
    const double centre = mu_ / (at_.v[i] - lower_[i]);
    lower_z_[i] = std::clamp(lower_z_[i], centre / kappa, centre * kappa);
  }
  for (const int i : bounded_above_) {
    const double centre = mu_ / (upper_[i] - at_.v[i]);
    upper_z_[i] = std::clamp(upper_z_[i], centre / kappa, centre * kappa);
  }
  log("", alpha);
}

void InteriorPoint::log(const char* what, double alpha) const {
  if (options_.print_level < 5) return;
  VectorXd r;
  stationarity(y_, &lower_z_, &upper_z_, r);
  std::printf("%4d%s f %.8e theta %.2e dual %.2e mu %.1e shift %.1e step %.1e alpha %.2e delayed %d\n",
              solution_.iterations, what, at_.f / scale_f_, at_.theta, r.lpNorm<Eigen::Infinity>(), mu_, shift_,
              dv_.lpNorm<Eigen::Infinity>(), alpha, factor_.delayed_pivots());
}

// A step that the filter refuses but that reduces the error of the barrier problem's optimality conditions (3.3).
bool InteriorPoint::soft_step() {
  const double before = barrier_error(mu_);
  const double alpha = std::min(longest(at_.v, dv_, tau_), longest_multiplier_step(tau_));
  Point trial = at_;
  trial.v = at_.v + alpha * dv_;
  if (!evaluate(trial)) return false;
  const VectorXd y = y_, lower_z = lower_z_, upper_z = upper_z_, gradient = gradient_, matrix = matrix_;
  Point kept = at_;
  std::swap(at_, trial);
  y_ += alpha * dy_;
  lower_z_ += alpha * dlower_z_;
  upper_z_ += alpha * dupper_z_;
  if (differentiate(false)) {
    update_residual();
    if (barrier_error(mu_) <= 0.9999 * before) {
      log("s", alpha);
      return true;
    }
  }
  at_ = std::move(kept);
  y_ = y;
  lower_z_ = lower_z;
  upper_z_ = upper_z;
  gradient_ = gradient;
  matrix_ = matrix;
  update_residual();
  return false;
}

// After a restoration: of the bounds as the barrier has them, of the rows by least squares.
void InteriorPoint::take_up_multipliers() {
  for (const int i : bounded_below_) lower_z_[i] = std::min(1e3, mu_ / (at_.v[i] - lower_[i]));
  for (const int i : bounded_above_) upper_z_[i] = std::min(1e3, mu_ / (upper_[i] - at_.v[i]));
  least_squares_multipliers();
}

// ---- restoration: minimise |c - s|^2 / 2 + zeta / 2 |R (v - v_0)|^2 inside the bounds by primal-dual Newton steps
// (Gauss-Newton where that is not convex), until the filter takes the point and the constraints are better by a tenth.
std::optional<Ending> InteriorPoint::restore() {
  const Ending not_a_number{SolveStatus::not_converged, "a derivative is not a number at an iterate"};
  const Point first = at_;
  const VectorXd y_first = y_, lower_first = lower_z_, upper_first = upper_z_;
  bool was_feasible = at_.gap.lpNorm<Eigen::Infinity>() <= options_.tolerance;
  // Ends at a point that is feasible. One that was so from the start keeps its multipliers: it may be solved except for
  // rounding, which stops a line search.
  const auto stuck = [&] {
    if (was_feasible) {
      at_ = first;
      y_ = y_first;
      lower_z_ = lower_first;
      upper_z_ = upper_first;
    } else {
      take_up_multipliers();
    }
    return Ending{SolveStatus::not_converged, "no further progress"};
  };
  filter_.emplace_back((1.0 - 1e-5) * at_.theta, at_.barrier - 1e-8 * at_.theta);
  const double theta_0 = at_.theta;
  const VectorXd v_0 = at_.v;
  const VectorXd weight = v_0.array().abs().max(1.0).inverse().square().matrix();
  double zeta = 1e-4 * std::min(1.0, at_.gap.lpNorm<Eigen::Infinity>());
  double mu = std::max(1e-12, 1e-2 * std::min(1.0, at_.gap.squaredNorm())), damping = 0.0;
  for (const int i : bounded_below_) lower_z_[i] = mu / (at_.v[i] - lower_[i]);
  for (const int i : bounded_above_) upper_z_[i] = mu / (upper_[i] - at_.v[i]);
  VectorXd D(N_), g(N_), y(m_), slope(N_);
  const auto merit = [&](const Point& p) {
    double sum = 0.5 * p.gap.squaredNorm() + 0.5 * zeta * weight.dot((p.v - v_0).cwiseAbs2());
    for (const int i : bounded_below_) sum -= mu * std::log(p.v[i] - lower_[i]);
    for (const int i : bounded_above_) sum -= mu * std::log(upper_[i] - p.v[i]);
    return sum;
  };
  E_.setOnes();
  for (; solution_.iterations < options_.max_iterations; ++solution_.iterations) {
    if (late()) return Ending{SolveStatus::timed_out, "time limit"};
    if (hopeless()) return Ending{SolveStatus::not_converged, no_pivots};
    y_ = at_.gap;  // the multipliers of this problem
    if (!differentiate(true)) return not_a_number;
    // least-squares gradient, projected on the bounds: none left means a point of least infeasibility
    stationarity(y_, nullptr, nullptr, slope);
    slope.head(n_) -= gradient_;
    double projected = 0.0;
    for (int i = 0; i < N_; ++i)
      projected = std::max(projected, std::abs(std::clamp(at_.v[i] - slope[i], lower_[i], upper_[i]) - at_.v[i]));
    const double gap = at_.gap.lpNorm<Eigen::Infinity>();
    if (projected <= 1e-6 * std::min(1.0, gap) && gap > 1e2 * options_.tolerance)
      return Ending{SolveStatus::infeasible, "converged to a point of locally minimal infeasibility"};
    if (gap <= 1e-2 * options_.tolerance || feasible_within(0.0)) {
      was_feasible = was_feasible || at_.v == v_0;
      return stuck();
    }
    if (projected <= 1e-2 * gap) zeta *= 0.1;

    D = zeta * weight;
    g = D.cwiseProduct(at_.v - v_0);
    for (const int i : bounded_below_) {
      g[i] -= mu / (at_.v[i] - lower_[i]);
      D[i] += lower_z_[i] / (at_.v[i] - lower_[i]);
    }
    for (const int i : bounded_above_) {
      g[i] += mu / (upper_[i] - at_.v[i]);
      D[i] += upper_z_[i] / (upper_[i] - at_.v[i]);
    }
    if (!factorise(&hessian_, D, damping, E_, 0.0, true)) return not_a_number;
    if (!right_inertia()) factorise(nullptr, D, damping, E_, 0.0);
    solve(g, at_.gap, dv_, y);
    if (!finite(dv_)) return Ending{SolveStatus::not_converged, "feasibility restoration failed"};
    for (const int i : bounded_below_) {
      const double slack = at_.v[i] - lower_[i];
      dlower_z_[i] = mu / slack - lower_z_[i] - lower_z_[i] / slack * dv_[i];
    }
    for (const int i : bounded_above_) {
      const double slack = upper_[i] - at_.v[i];
      dupper_z_[i] = mu / slack - upper_z_[i] + upper_z_[i] / slack * dv_[i];
    }
    const double descent = (g + slope).dot(dv_), before = merit(at_), alpha_z = longest_multiplier_step(0.99);
    Point trial = at_;
    const double alpha_max = longest(at_.v, dv_, 0.99);
    double alpha = alpha_max;
    bool moved = false;
    for (; alpha > 1e-10 && !moved; alpha *= moved ? 1.0 : 0.5) {
      trial.v = at_.v + alpha * dv_;
      moved = evaluate(trial) && merit(trial) <= before + 1e-4 * alpha * descent;
    }
    if (!moved) {
      if (gap <= options_.tolerance) return stuck();
      if (mu <= 1e-14 && damping > 1e6) return Ending{SolveStatus::not_converged, "feasibility restoration failed"};
      mu *= 0.1;
      damping = std::max(1e-6, 10.0 * damping);
      continue;
    }
    std::swap(at_, trial);
    lower_z_ += alpha_z * dlower_z_;
    upper_z_ += alpha_z * dupper_z_;
    log("r", alpha);
    if (alpha < 0.1 * alpha_max)
      damping = std::max(1e-6, 10.0 * damping);
    else
      damping = damping < 1e-6 ? 0.0 : 0.1 * damping;
    mu = std::max(1e-16, std::min(alpha > 0.5 ? 0.2 * mu : mu, 1e-2 * at_.gap.squaredNorm()));
    set_barrier(at_);
    if (at_.theta <= 0.9 * theta_0 && filter_accepts(at_.theta, at_.barrier)) {
      if (!differentiate(false)) return not_a_number;
      take_up_multipliers();
      return std::nullopt;
    }
  }
  return Ending{SolveStatus::not_converged, "iteration limit"};
}

// ---- the algorithm

void InteriorPoint::lower_mu() {
  const double least = 0.1 * tolerance_ * scale_f_;
  bool changed = false;
  while (mu_ > least && barrier_error(mu_) <= 10.0 * mu_) {
    mu_ = std::max(least, std::min(0.2 * mu_, std::pow(mu_, 1.5)));  // (7)
    changed = true;
  }
  if (!changed) return;
  tau_ = std::max(0.99, 1.0 - mu_);
  set_barrier(at_);
  filter_.clear();
}

Ending InteriorPoint::iterate() {
  for (int soft = 0;;) {
    if (!differentiate(true)) return {SolveStatus::not_converged, "a derivative is not a number at an iterate"};
    update_residual();
    if (optimal()) return {SolveStatus::solved, "first-order optimal"};
    if (late()) return {SolveStatus::timed_out, "time limit"};
    if (hopeless()) return {SolveStatus::not_converged, no_pivots};
    if (solution_.iterations >= options_.max_iterations) return {SolveStatus::not_converged, "iteration limit"};
    if (!(at_.v.lpNorm<Eigen::Infinity>() < 1e20))
      return {SolveStatus::not_converged, "iterates diverge, the problem may be unbounded"};
    lower_mu();
    ++solution_.iterations;
    const bool direction = find_direction();
    if (direction && search()) {
      soft = 0;
    } else if (direction && soft < 5 && soft_step()) {
      ++soft;
    } else {
      if (m_ == 0) return {SolveStatus::not_converged, "no further progress"};
      if (const auto end = restore()) return *end;
      soft = 0;
    }
  }
}

Solution InteriorPoint::run(const VectorXd& x0, const Solution* neighbour) {
  start_at(x0, neighbour);
  const Ending end = iterate();
  solution_.status = end.status;
  solution_.reason = end.reason;
  solution_.x = at_.x;
  solution_.multipliers = VectorXd::Zero(problem_.constraints());
  solution_.lower_multipliers = solution_.upper_multipliers = VectorXd::Zero(problem_.variables());
  for (int i = 0; i < m_; ++i) solution_.multipliers[rows_[i]] = y_[i] * scale_c_[i] / scale_f_;
  for (int i = 0; i < n_; ++i) {
    solution_.lower_multipliers[free_[i]] = lower_z_[i] / scale_f_;
    solution_.upper_multipliers[free_[i]] = upper_z_[i] / scale_f_;
  }
  return std::move(solution_);
}

}  // namespace

Solution solve_native(const Problem& problem, const VectorXd& x0, const Solution* neighbour, const Options& options,
                      Clock::time_point deadline) {
  return InteriorPoint(problem, options, deadline).run(x0, neighbour);
}

}  // namespace dodyn::nlp
