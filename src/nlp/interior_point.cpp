// A primal-dual interior point method with the filter line search of Waechter and Biegler (Mathematical Programming
// 106, 2006; equation parameters below are theirs) for
//
//   minimise f(x)   subject to   c(x) - s = 0 (s: slack of an inequality row, or its fixed value),   bounds on (x, s),
//
// with the exact Hessian and a factorisation analysed once (symmetric_factor.hpp). There are two differences. First,
// the objective is scaled up as well as down, so that its slope and curvature at the start are of order one. Without
// this, the usual first barrier parameter would dominate a flat objective, such as a gait's cost, and the iterates
// would move far away. Second, feasibility is restored by regularised Newton steps on the least squares of the
// constraints inside the bounds.
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

// v - v is zero exactly for finite v; infinity and NaN give NaN.
bool finite(const VectorXd& v) { return v.size() == 0 || (v - v).cwiseAbs().sum() == 0.0; }

struct Ending {
  SolveStatus status;
  const char* reason;
};

// Parameters of the method, for scaled functions. Parameters with an equation or a section have the name and value of
// the source; all other parameters are specific to this implementation.
struct Parameters {
  // scaling (section 3.8)
  double max_slope = 100.0;  // limit on the mean slope of the objective and the largest slope of each row at the start
  double min_objective_size = 0.5;  // the maximum slope or curvature of a flat objective is scaled up to this value
  double min_scale = 1e-8, max_objective_scale = 1e4;
  double s_max = 100.0;  // (6): mean multiplier above which errors are divided by it
  // barrier parameter (7), (8)
  double cold_mu = 0.1, warm_mu = 1e-5;  // first barrier parameter
  double kappa_epsilon = 10.0, kappa_mu = 0.2, theta_mu = 1.5;
  double final_mu = 0.1;  // last barrier parameter, relative to the tolerance
  double tau_min = 0.99;  // fraction of the distance to a bound
  // start (section 3.6)
  double cold_push = 1e-2, warm_push = 1e-6;  // kappa_1 = kappa_2
  double min_warm_slack = 1e-3;               // multipliers of a neighbour's bounds are >= mu / max(this, slack)
  double max_multiplier = 1e3;                // lambda_max of (36), and of bounds after a restoration
  // inertia correction (section 3.1). The first shift after a needed one is specific to this implementation, see
  // find_direction()
  double first_shift = 1e-4, min_shift = 1e-20, max_shift = 1e40, negligible_shift = 1e-7;
  double shift_growth = 8.0, first_shift_growth = 100.0, shift_decay = 3.0;
  double delta_c = 1e-8, kappa_c = 0.25;  // regularisation of dependent rows: delta_c mu^kappa_c
  double rank_delta = 1e-13;              // see rows_depend()
  double max_dy = 1e8;                    // change of a multiplier above which rows may depend on each other
  int attempts_to_doubt = 4;              // failed corrections of the inertia after which rows_depend() is called
  // relative errors of a solution of the linear system
  double small_error = 1e-11;     // above it the pivots of leaves are chosen by a stricter threshold
  double accepted_error = 1e-10;  // above it the matrix is factorised again with a stricter threshold
  double strict_leaf_threshold = 0.01, max_pivot_threshold = 0.1;
  int factorisations_for_error = 2;      // limit per direction
  double refined_error = 1e-12;          // refinement of a solution stops at this error
  int max_unstable_factorisations = 30;  // see is_stalled()
  // line search (section 2.3), (18) to (23)
  double gamma_theta = 1e-5, gamma_phi = 1e-8, delta = 1.0, s_theta = 1.1, s_phi = 2.3, eta = 1e-8;
  double gamma_alpha = 0.05, min_alpha = 1e-12;
  double rounding = 10.0;                    // error of the barrier function, in units in the last place
  double theta_max = 1e4, theta_min = 1e-4;  // (21), relative to max(1, constraint violation at the start)
  int p_max = 4;                             // second-order corrections (section 2.4)
  double kappa_soc = 0.99;
  double kappa_sigma = 1e10;       // (16)
  double soft_reduction = 0.9999;  // reduction of the error by a soft step (section 3.3)
  int max_soft_steps = 5;          // limit on consecutive soft steps
  double diverged = 1e20;          // magnitude of an unknown above which the iterates diverge
};
constexpr Parameters parameters;

// Parameters of the feasibility restoration, which is specific to this implementation.
struct RestorationParameters {
  // Weight of the distance from the initial point, relative to the violation. It decays if the projected gradient,
  // relative to the violation, is below `stationary`.
  double zeta = 1e-4, stationary = 1e-2, zeta_decay = 0.1;
  double mu = 1e-2, min_first_mu = 1e-12;   // barrier parameter relative to the squared violation
  double mu_decay = 0.2, min_mu = 1e-16;    // mu decays after a step longer than `long_step`
  double long_step = 0.5;                   // relative to the full Newton step
  double short_step = 0.1;                  // below it, relative to the longest step inside the bounds, damping grows
  double tau = 0.99;                        // fraction of the distance to a bound
  double armijo = 1e-4, min_alpha = 1e-10;  // line search
  double min_damping = 1e-6, damping_factor = 10.0, damping_decay = 0.1, max_damping = 1e6;
  double mu_without_step = 0.1, given_up_mu = 1e-14;
  // A point is locally infeasible if its projected gradient, relative to the violation, is below `infeasible`, and its
  // violation, relative to the tolerance, is above `infeasible_gap`.
  double infeasible = 1e-6, infeasible_gap = 1e2;
  double feasible_gap = 1e-2;  // violation that counts as none, relative to the tolerance
  double sufficient = 0.9;     // violation below which it ends if the filter accepts, relative to the start of it
};
constexpr RestorationParameters restoration;

constexpr const char* dependent_rows = "constraints depend on each other where the iterates are";

// Adds its lifetime to a sum, s.
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
  InteriorPoint(const Problem& problem, const Options& options, const Deadline& deadline);
  Solution run(const VectorXd& x0, const Solution* neighbour);

 private:
  // A primal point: x and slacks, and the scaled function values there.
  struct Point {
    VectorXd x;  // point of the original problem, with fixed variables
    VectorXd v;  // [free variables, slacks]
    double f = 0.0, barrier = 0.0;
    VectorXd gap;        // c - s, [rows]
    double theta = 0.0;  // 1-norm of the gap
  };

  Ending iterate();
  void start_at(const VectorXd& x0, const Solution* neighbour);
  void make_room(const VectorXd& x0);
  void scale_functions();
  void set_bounds_and_slacks(const VectorXd& x0);
  void push_inside();
  void take_multipliers_of(const Solution& neighbour);
  bool evaluate(Point& point);  // evaluates at v; false: a value is not finite
  bool differentiate(bool with_hessian);
  void set_barrier(Point& point) const;
  // Computes grad f + A^T y - z_lower + z_upper, [v]; without multipliers of bounds grad f + A^T y.
  void stationarity(const VectorXd& y, const VectorXd* lower, const VectorXd* upper, VectorXd& r) const;
  void update_residual();
  double barrier_error(double mu) const;
  bool optimal() const;
  bool first_order_within(double tolerance, const VectorXd& allowed, double roundoff) const;
  void set_rounding_of_stationarity() const;
  bool feasible_within(double tolerance) const;
  bool late() const { return deadline_.passed(); }
  // Returns whether further iterations are useless because rows depend on each other. Then multipliers grow without
  // bound, pivots are unstable, variables are delayed from front to front, and a factorisation takes a hundred times as
  // long. The iterates rarely recover. Factorisations with a diagonal for dependent rows do not count.
  bool is_stalled() const { return unstable_factorisations_ > parameters.max_unstable_factorisations; }

  // Factorises the system [H + D + shift, A^T; A, -E] (dv, dy) = -(g, gap) with A = [J, -1], slacks eliminated. A null
  // `hessian` counts as zero. `convex`: stops as soon as the inertia is certainly wrong. Returns false, without usable
  // factors, as SymmetricFactor::factorise() does.
  bool factorise(const VectorXd* hessian, const VectorXd& D, double shift, const VectorXd& E, bool convex = false);
  double solve(const VectorXd& g, const VectorXd& gap, VectorXd& dv, VectorXd& dy);
  bool right_inertia() const { return factor_.inertia().negative == m_ && factor_.inertia().zero == 0; }
  // Sets the diagonal E of the rows: zero, unless rows depend on each other.
  void set_row_diagonal(bool dependent);
  // Returns whether rows depend on each other at the iterate. Overwrites the factors and the direction, and sets the
  // row diagonal to zero.
  bool rows_depend();

  void add_barrier();
  bool find_direction();
  bool search();
  bool soft_step();
  void find_multiplier_direction(double mu);
  void extend_filter();

  struct Restoration {
    Point first;                   // initial point
    VectorXd y, lower_z, upper_z;  // multipliers at the initial point
    bool was_feasible = false;
    VectorXd weight;    // R^2, [v]
    VectorXd gradient;  // gradient of merit() without the constraints' least squares, [v]
    double zeta = 0.0, mu = 0.0, damping = 0.0;
    void damp() { damping = std::max(restoration.min_damping, restoration.damping_factor * damping); }
  };
  std::optional<Ending> restore();
  Restoration begin_restoration();
  Ending end_feasible(Restoration& r);
  double merit(const Restoration& r, const Point& p) const;
  bool find_restoring_direction(Restoration& r);
  bool take_restoring_step(Restoration& r, const VectorXd& slope);
  void accept(Point& next, double alpha, double alpha_z);
  void least_squares_multipliers();
  void estimate_multipliers();
  double max_step(const VectorXd& value, const VectorXd& step, double tau) const;
  double max_multiplier_step(double tau) const;
  bool filter_accepts(double theta, double barrier) const;
  void lower_mu();
  void log(const char* what, double alpha) const;

  const Problem& problem_;
  const Options& options_;
  const Deadline& deadline_;

  // structure of the problem
  int n_ = 0, m_ = 0, N_ = 0;                       // free variables, rows, free variables and slacks
  std::vector<int> free_, rows_;                    // indices in the original problem
  std::vector<int> slack_;                          // [rows] index in v of the row's slack, or -1
  std::vector<int> slack_row_;                      // [slacks] row
  VectorXd fixed_value_;                            // [rows] values of rows without slack, scaled
  VectorXd lower_, upper_;                          // [v]
  std::vector<int> bounded_below_, bounded_above_;  // indices in v
  std::vector<int> hessian_entries_, jacobian_entries_;
  std::vector<int> jacobian_rows_, jacobian_columns_;  // in rows_ and free_
  SymmetricFactor factor_;
  // values in the order of the KKT matrix's pattern: Hessian, diagonal of x, Jacobian, diagonal of the rows
  VectorXd matrix_;

  // scaling
  double scale_f_ = 1.0;
  VectorXd scale_c_;  // [rows]

  // current iterate
  Point at_;
  VectorXd y_, lower_z_, upper_z_;  // [rows], [v], [v]
  VectorXd gradient_;               // [free], scaled
  VectorXd slope_, residual_;       // stationarity at the iterate without and with the multipliers of bounds, [v]
  VectorXd jacobian_, hessian_;     // values in the order of the patterns
  double mu_ = parameters.cold_mu, tau_ = parameters.tau_min;

  // search direction
  VectorXd dv_, dy_, dlower_z_, dupper_z_;
  VectorXd D_, E_, g_;
  bool dependent_before_ = false;          // whether rows depended on each other at an earlier iterate
  double last_shift_ = 0.0, shift_ = 0.0;  // last shift that was not zero, and the shift of the last direction
  bool at_once_ = false;                   // whether the first shift tried gave the last direction
  VectorXd right_, left_;

  // work space of an iteration
  Point trial_, corrected_;
  VectorXd sigma_, corrected_gap_, corrected_dv_, corrected_dy_;

  // filter: pairs (theta, barrier); no pair may dominate a new point
  std::vector<std::pair<double, double>> filter_;
  double theta_max_ = 0.0, theta_min_ = 0.0;

  Solution solution_;
  double tolerance_ = 0.0;
  int unstable_factorisations_ = 0;  // factorisations without row diagonal that delay more pivots than twice the size
  mutable VectorXd values_m_, values_n_, rounding_;
  VectorXd no_rounding_;  // zeros, [v]
};

// ---- structure

InteriorPoint::InteriorPoint(const Problem& problem, const Options& options, const Deadline& deadline)
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
  matrix_.resize(rows.size());
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

// Computes gradient and Jacobian at the current iterate; if `with_hessian`, also the Hessian with the multipliers y.
// Returns false if a value is not finite.
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

// Returns E_mu (5): the maximum norm of the barrier problem's optimality conditions, scaled by the multipliers (6).
double InteriorPoint::barrier_error(double mu) const {
  const double norm_z = lower_z_.lpNorm<1>() + upper_z_.lpNorm<1>();
  const double bounds = static_cast<double>(bounded_below_.size() + bounded_above_.size());
  const double scale_dual =
      std::max(parameters.s_max, (y_.lpNorm<1>() + norm_z) / std::max(1.0, m_ + bounds)) / parameters.s_max;
  const double scale_complementarity = std::max(parameters.s_max, norm_z / std::max(1.0, bounds)) / parameters.s_max;
  double complementarity = 0.0;
  for (const int i : bounded_below_)
    complementarity = std::max(complementarity, std::abs((at_.v[i] - lower_[i]) * lower_z_[i] - mu));
  for (const int i : bounded_above_)
    complementarity = std::max(complementarity, std::abs((upper_[i] - at_.v[i]) * upper_z_[i] - mu));
  const double feasibility = m_ > 0 ? at_.gap.lpNorm<Eigen::Infinity>() : 0.0;
  return std::max(
      {residual_.lpNorm<Eigen::Infinity>() / scale_dual, feasibility, complementarity / scale_complementarity});
}

// Returns whether the unscaled optimality conditions are satisfied as solve() verifies them: within tolerance_ (half of
// Options::tolerance), or within tolerance_ plus the effect of rounding.
bool InteriorPoint::optimal() const {
  if (!first_order_within(tolerance_, no_rounding_, 0.0)) {
    set_rounding_of_stationarity();
    if (!first_order_within(tolerance_, rounding_, unit_roundoff)) return false;
  }
  return feasible_within(tolerance_);
}

// Returns whether the unscaled residuals of stationarity and complementarity are within the tolerance. `allowed`:
// additional tolerance of each component, scaled, [v]. `roundoff`: relative error of the unknowns, which changes
// slacks.
bool InteriorPoint::first_order_within(double tolerance, const VectorXd& allowed, double roundoff) const {
  const auto within = [&](double residual) { return residual / scale_f_ <= tolerance; };
  const auto excess = [&](int i) { return std::abs(residual_[i]) - allowed[i]; };
  const auto complementary = [&](int i, double slack, double z) {
    return within(slack * z - roundoff * std::abs(at_.v[i]) * z);
  };
  for (int i = 0; i < n_; ++i)
    if (!within(excess(i))) return false;
  for (const int i : bounded_below_)
    if (!complementary(i, at_.v[i] - lower_[i], lower_z_[i])) return false;
  for (const int i : bounded_above_)
    if (!complementary(i, upper_[i] - at_.v[i], upper_z_[i])) return false;
  for (int j = n_; j < N_; ++j) {
    const int i = slack_row_[j - n_];
    if (!within(excess(j) * scale_c_[i])) return false;
    // The row's distance from its bound differs from its slack's distance by the gap. The row's multiplier differs from
    // the multiplier of the slack's bound.
    const double row = at_.v[j] + at_.gap[i], distance = y_[i] > 0.0 ? upper_[j] - row : row - lower_[j];
    if (std::isfinite(distance) && !complementary(j, std::abs(distance), std::abs(y_[i]))) return false;
  }
  return true;
}

// Sets rounding_ to rounding_of_gradient(), scaled, [v].
void InteriorPoint::set_rounding_of_stationarity() const {
  for (int i = 0; i < m_; ++i) values_m_[rows_[i]] = scale_c_[i] * y_[i];
  rounding_of_gradient(problem_, at_.x, values_m_, jacobian_, hessian_, values_n_);
  rounding_ = unit_roundoff * (lower_z_ + upper_z_);
  for (int i = 0; i < n_; ++i) rounding_[i] += values_n_[free_[i]];
  for (int j = n_; j < N_; ++j) rounding_[j] += unit_roundoff * std::abs(y_[slack_row_[j - n_]]);
}

// Returns whether each unscaled row is violated by at most the tolerance plus its rounding error (from the current
// Jacobian).
bool InteriorPoint::feasible_within(double tolerance) const {
  if ((at_.gap.array().abs() <= tolerance * scale_c_.array()).all()) return true;
  const VectorXd rounding = rounding_of_rows(problem_, at_.x, jacobian_);
  for (int i = 0; i < m_; ++i)
    if (!(std::abs(at_.gap[i]) / scale_c_[i] - rounding[rows_[i]] <= tolerance)) return false;
  return true;
}

// ---- the linear system

bool InteriorPoint::factorise(const VectorXd* hessian, const VectorXd& D, double shift, const VectorXd& E,
                              bool convex) {
  const Stopwatch watch(solution_.timing.factorisation);
  double* value = matrix_.data();
  for (const int k : hessian_entries_) *value++ = hessian ? (*hessian)[k] : 0.0;
  for (int i = 0; i < n_; ++i) *value++ = D[i] + shift;
  value += jacobian_entries_.size();
  D_ = D;
  D_.array() += shift;
  for (int i = 0; i < m_; ++i) *value++ = -E[i] - (slack_[i] < 0 ? 0.0 : 1.0 / D_[slack_[i]]);
  ++solution_.timing.factorisations;
  const bool whole = convex ? factor_.factorise_convex(matrix_) : factor_.factorise(matrix_);
  unstable_factorisations_ += E.isZero(0.0) && factor_.delayed_pivots() > 2 * (n_ + m_);
  return whole;
}

double InteriorPoint::solve(const VectorXd& g, const VectorXd& gap, VectorXd& dv, VectorXd& dy) {
  const Stopwatch watch(solution_.timing.factorisation);
  right_.head(n_) = -g.head(n_);
  for (int i = 0; i < m_; ++i) right_[n_ + i] = -gap[i] - (slack_[i] < 0 ? 0.0 : g[slack_[i]] / D_[slack_[i]]);
  const double error = factor_.solve(right_, left_, parameters.refined_error);
  dv.head(n_) = left_.head(n_);
  dy = left_.tail(m_);
  for (int j = n_; j < N_; ++j) dv[j] = (dy[slack_row_[j - n_]] - g[j]) / D_[j];
  return error;
}

void InteriorPoint::set_row_diagonal(bool dependent) {
  E_.setConstant(dependent ? parameters.delta_c * std::pow(mu_, parameters.kappa_c) : 0.0);
}

// Scales the columns of J to norm one, so that units do not matter, and then the rows. With these rows N, inverse
// iteration finds the smallest eigenvalue of N N^T + delta, which is sigma^2 + delta, sigma the smallest singular
// value. The first vector has pseudo-random signs, so that it is not orthogonal to the combination of rows. Rows depend
// on each other if sigma^2 is below delta, which is above rounding, or if the factorisation fails.
bool InteriorPoint::rows_depend() {
  const double* J = matrix_.data() + hessian_entries_.size() + n_;
  VectorXd &D = corrected_dv_, &size = corrected_gap_, &r = corrected_dy_;
  D.setZero();
  size.setZero();
  for (std::size_t k = 0; k < jacobian_rows_.size(); ++k) D[jacobian_columns_[k]] += J[k] * J[k];
  for (double& d : D)
    if (d == 0.0) d = 1.0;
  for (std::size_t k = 0; k < jacobian_rows_.size(); ++k)
    size[jacobian_rows_[k]] += J[k] * J[k] / D[jacobian_columns_[k]];
  for (double& s : size) s = s > 0.0 ? std::sqrt(s) : 1.0;
  std::minstd_rand signs;
  for (int i = 0; i < m_; ++i) r[i] = signs() % 2 ? size[i] : -size[i];
  E_ = parameters.rank_delta * size.cwiseAbs2();
  double smallest = 1.0;
  if (factorise(nullptr, D, 0.0, E_)) {
    solve(no_rounding_, r, dv_, dy_);
    dy_.array() *= size.array();
    r = size.cwiseProduct(dy_) / dy_.norm();
    solve(no_rounding_, r, dv_, dy_);
    smallest = 1.0 / dy_.cwiseProduct(size).norm();
  }
  set_row_diagonal(false);
  return !(smallest >= 2.0 * parameters.rank_delta);
}

// ---- start

void InteriorPoint::start_at(const VectorXd& x0, const Solution* neighbour) {
  make_room(x0);
  scale_functions();
  set_bounds_and_slacks(x0);
  push_inside();
  for (const int i : bounded_below_) lower_z_[i] = options_.warm_start ? mu_ / (at_.v[i] - lower_[i]) : 1.0;
  for (const int i : bounded_above_) upper_z_[i] = options_.warm_start ? mu_ / (upper_[i] - at_.v[i]) : 1.0;
  evaluate(at_);
  differentiate(false);
  if (neighbour)
    take_multipliers_of(*neighbour);
  else
    least_squares_multipliers();
  trial_ = corrected_ = at_;
  theta_max_ = parameters.theta_max * std::max(1.0, at_.theta);
  theta_min_ = parameters.theta_min * std::max(1.0, at_.theta);
}

void InteriorPoint::make_room(const VectorXd& x0) {
  at_.x = x0;
  at_.v.setZero(N_);
  at_.gap.setZero(m_);
  for (int i = 0; i < n_; ++i) at_.v[i] = x0[free_[i]];
  values_m_.setZero(problem_.constraints());
  values_n_.setZero(problem_.variables());
  rounding_.setZero(N_);
  no_rounding_.setZero(N_);
  gradient_.setZero(n_);
  jacobian_.setZero(problem_.jacobian_pattern.size());
  hessian_.setZero(problem_.hessian_pattern.size());
  for (VectorXd* of_rows : {&y_, &dy_, &E_, &corrected_gap_, &corrected_dy_, &fixed_value_}) of_rows->setZero(m_);
  for (VectorXd* of_v : {&lower_z_, &upper_z_, &dlower_z_, &dupper_z_, &dv_, &corrected_dv_}) of_v->setZero(N_);
  scale_c_.setOnes(m_);
  filter_.reserve(256);
}

// Sets scale_f_ and scale_c_ from slopes and curvatures at the start. The objective is scaled down by the mean of its
// slopes that are not zero, not by the largest slope. A single unknown on which the whole cost depends, such as a
// duration, has a large slope: it would make the cost of the other unknowns smaller than the shift of the inertia
// correction.
void InteriorPoint::scale_functions() {
  differentiate(false);
  values_m_.setZero();
  problem_.hessian(at_.x, 1.0, values_m_, hessian_);
  const double slopes = static_cast<double>((gradient_.array() != 0.0).count());
  const double mean_slope = gradient_.lpNorm<1>() / std::max(1.0, slopes);
  double size = gradient_.lpNorm<Eigen::Infinity>();
  for (const int k : hessian_entries_) size = std::max(size, std::abs(hessian_[k]));
  if (mean_slope > parameters.max_slope)
    scale_f_ = std::max(parameters.min_scale, parameters.max_slope / mean_slope);
  else if (size < parameters.min_objective_size)
    scale_f_ = std::min(parameters.min_objective_size / size, parameters.max_objective_scale);
  VectorXd slope = VectorXd::Zero(m_);
  for (std::size_t k = 0; k < jacobian_entries_.size(); ++k)
    slope[jacobian_rows_[k]] = std::max(slope[jacobian_rows_[k]], std::abs(jacobian_[jacobian_entries_[k]]));
  for (int i = 0; i < m_; ++i)
    scale_c_[i] = std::max(parameters.min_scale, parameters.max_slope / std::max(parameters.max_slope, slope[i]));
}

void InteriorPoint::set_bounds_and_slacks(const VectorXd& x0) {
  lower_.setConstant(N_, -infinity);
  upper_.setConstant(N_, infinity);
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
}

// Sets the barrier parameter and moves the initial point into the interior (section 3.6).
void InteriorPoint::push_inside() {
  mu_ = !options_.warm_start ? parameters.cold_mu : options_.barrier > 0.0 ? options_.barrier : parameters.warm_mu;
  const double push = !options_.warm_start       ? (options_.push > 0.0 ? options_.push : parameters.cold_push)
                      : mu_ > parameters.warm_mu ? std::min(mu_, parameters.cold_push)
                                                 : parameters.warm_push;
  for (int i = 0; i < N_; ++i) {
    const double width = upper_[i] - lower_[i];
    if (lower_[i] > -infinity)
      at_.v[i] = std::max(at_.v[i], lower_[i] + std::min(push * std::max(1.0, std::abs(lower_[i])), push * width));
    if (upper_[i] < infinity)
      at_.v[i] = std::min(at_.v[i], upper_[i] - std::min(push * std::max(1.0, std::abs(upper_[i])), push * width));
  }
}

void InteriorPoint::take_multipliers_of(const Solution& neighbour) {
  for (int i = 0; i < m_; ++i) y_[i] = neighbour.multipliers[rows_[i]] * scale_f_ / scale_c_[i];
  for (int i = 0; i < N_; ++i) {
    const double low = i < n_ ? neighbour.lower_multipliers[free_[i]] * scale_f_ : -y_[slack_row_[i - n_]];
    const double up = i < n_ ? neighbour.upper_multipliers[free_[i]] * scale_f_ : y_[slack_row_[i - n_]];
    if (lower_[i] > -infinity)
      lower_z_[i] = std::max(low, mu_ / std::max(parameters.min_warm_slack, at_.v[i] - lower_[i]));
    if (upper_[i] < infinity)
      upper_z_[i] = std::max(up, mu_ / std::max(parameters.min_warm_slack, upper_[i] - at_.v[i]));
  }
}

// Sets y to the least-squares multipliers (36), or to zero if they exceed max_multiplier or are not finite. Leaves y
// unchanged if the factorisation fails.
void InteriorPoint::least_squares_multipliers() {
  if (m_ == 0) return;
  set_row_diagonal(false);
  if (!factorise(nullptr, VectorXd::Ones(N_), 0.0, E_)) return;
  if (factor_.inertia().zero > 0) {
    set_row_diagonal(true);
    if (!factorise(nullptr, VectorXd::Ones(N_), 0.0, E_)) return;
  }
  VectorXd unused(N_), y(m_);
  const VectorXd none = VectorXd::Zero(m_);
  stationarity(none, &lower_z_, &upper_z_, residual_);
  solve(residual_, none, unused, y);
  if (y.allFinite() && y.lpNorm<Eigen::Infinity>() <= parameters.max_multiplier)
    y_ = y;
  else
    y_.setZero();
}

// ---- direction

// Computes the bounds' part of the Hessian, sigma_, and the gradient of the barrier problem's Lagrangian, g_.
void InteriorPoint::add_barrier() {
  sigma_.setZero(N_);
  g_ = slope_;
  for (const int i : bounded_below_) {
    const double slack = at_.v[i] - lower_[i];
    sigma_[i] += lower_z_[i] / slack;
    g_[i] -= mu_ / slack;
  }
  for (const int i : bounded_above_) {
    const double slack = upper_[i] - at_.v[i];
    sigma_[i] += upper_z_[i] / slack;
    g_[i] += mu_ / slack;
  }
}

// Computes the direction (dv_, dy_). Returns false if no factorisation has the right inertia, if a factorisation fails,
// or if the result is not finite.
bool InteriorPoint::find_direction() {
  add_barrier();
  // (IC), section 3.1: requires n positive and m negative eigenvalues
  bool dependent = dependent_before_ && rows_depend();
  const auto regularise = [&] {
    dependent = true;
    set_row_diagonal(true);
  };
  set_row_diagonal(dependent);
  const auto attempt = [&] {
    bool whole = factorise(&hessian_, sigma_, shift_, E_, true);
    const bool singular = !whole || (factor_.inertia().zero > 0 && factor_.inertia().negative <= m_);
    if (singular && !dependent) {
      dependent_before_ = true;
      regularise();
      whole = factorise(&hessian_, sigma_, shift_, E_, true);
    }
    return whole && right_inertia();
  };
  // Rounding hides that rows depend on each other: their pivots are tiny instead of zero, and their signs are
  // arbitrary.
  const auto attempt_regularised = [&] {
    if (dependent || !rows_depend()) return false;
    dependent_before_ = true;
    regularise();
    return attempt();
  };
  // If the last iterate needed a shift, this iterate starts from half of it, or from a quarter if the first shift tried
  // had succeeded. (IC) starts without a shift every time, and most of its first factorisations fail.
  if (shift_ > 0.0) {
    shift_ *= at_once_ ? 0.25 : 0.5;
    if (shift_ < parameters.negligible_shift) shift_ = 0.0;
  }
  bool right = at_once_ = attempt();
  if (!right && shift_ == 0.0 && last_shift_ == 0.0) right = at_once_ = attempt_regularised();
  if (!right && shift_ == 0.0) {
    shift_ = last_shift_ == 0.0 ? parameters.first_shift
                                : std::max(parameters.min_shift, last_shift_ / parameters.shift_decay);
    right = attempt();
  }
  for (int attempts = 1; !right && shift_ < parameters.max_shift && !late() && !is_stalled(); ++attempts) {
    shift_ *= last_shift_ == 0.0 ? parameters.first_shift_growth : parameters.shift_growth;
    right = attempt();
    if (!right && attempts == parameters.attempts_to_doubt) right = attempt_regularised();
  }
  if (!right) return false;
  if (shift_ > 0.0) last_shift_ = shift_;

  bool tested = dependent;
  for (int attempts = 0;; ++attempts) {
    const double error = solve(g_, at_.gap, dv_, dy_);
    if (error > parameters.small_error)
      factor_.leaf_threshold = parameters.strict_leaf_threshold;  // for the next factorisation
    if (!tested && m_ > 0 && !(dy_.lpNorm<Eigen::Infinity>() <= parameters.max_dy)) {
      tested = true;
      if (rows_depend()) {
        dependent_before_ = true;
        regularise();
      }
    } else if (error <= parameters.accepted_error || attempts == parameters.factorisations_for_error) {
      break;
    } else {
      factor_.pivot_threshold = std::min(parameters.max_pivot_threshold, std::pow(factor_.pivot_threshold, 0.5));
    }
    if (!factorise(&hessian_, sigma_, shift_, E_)) return false;
  }
  return finite(dv_) && finite(dy_);
}

// Returns the longest step in (0, 1] that covers at most the fraction tau of the distance to any bound.
double InteriorPoint::max_step(const VectorXd& value, const VectorXd& step, double tau) const {
  double alpha = 1.0;
  for (const int i : bounded_below_)
    if (step[i] < 0.0) alpha = std::min(alpha, -tau * (value[i] - lower_[i]) / step[i]);
  for (const int i : bounded_above_)
    if (step[i] > 0.0) alpha = std::min(alpha, tau * (upper_[i] - value[i]) / step[i]);
  return alpha;
}

double InteriorPoint::max_multiplier_step(double tau) const {
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
  return std::ranges::none_of(filter_,
                              [&](const auto& entry) { return theta >= entry.first && barrier >= entry.second; });
}

// Computes the directions of the bounds' multipliers from the direction (12).
void InteriorPoint::find_multiplier_direction(double mu) {
  for (const int i : bounded_below_) {
    const double slack = at_.v[i] - lower_[i];
    dlower_z_[i] = mu / slack - lower_z_[i] - lower_z_[i] / slack * dv_[i];
  }
  for (const int i : bounded_above_) {
    const double slack = upper_[i] - at_.v[i];
    dupper_z_[i] = mu / slack - upper_z_[i] + upper_z_[i] / slack * dv_[i];
  }
}

// Searches along the direction for a step that the filter accepts, and takes it. Returns false if the step becomes too
// short. After the time limit: returns true without a step.
bool InteriorPoint::search() {
  constexpr auto& p = parameters;
  find_multiplier_direction(mu_);
  const double alpha_z = max_multiplier_step(tau_);

  // directional derivative of the barrier function
  double slope = gradient_.dot(dv_.head(n_));
  for (const int i : bounded_below_) slope -= mu_ * dv_[i] / (at_.v[i] - lower_[i]);
  for (const int i : bounded_above_) slope += mu_ * dv_[i] / (upper_[i] - at_.v[i]);

  double alpha_min = p.gamma_theta;  // (23)
  if (slope < 0.0) {
    alpha_min = std::min(alpha_min, p.gamma_phi * at_.theta / -slope);
    if (at_.theta <= theta_min_)
      alpha_min = std::min(alpha_min, p.delta * std::pow(at_.theta, p.s_theta) / std::pow(-slope, p.s_phi));
  }
  alpha_min = std::max(p.gamma_alpha * alpha_min, p.min_alpha);

  const double rounding = p.rounding * std::numeric_limits<double>::epsilon() * std::abs(at_.barrier);
  bool f_type = false;
  const auto acceptable = [&](const Point& trial, double alpha) {
    const bool switching =
        slope < 0.0 && alpha * std::pow(-slope, p.s_phi) > p.delta * std::pow(at_.theta, p.s_theta);  // (19)
    f_type = switching && at_.theta <= theta_min_;
    if (!filter_accepts(trial.theta, trial.barrier)) return false;
    if (f_type) return trial.barrier - at_.barrier - rounding <= p.eta * alpha * slope;  // (20)
    return trial.theta <= (1.0 - p.gamma_theta) * at_.theta ||
           trial.barrier - rounding <= at_.barrier - p.gamma_phi * at_.theta;  // (18)
  };
  const auto finish = [&](Point& trial, double alpha) {
    if (!f_type) extend_filter();
    accept(trial, alpha, alpha_z);
    return true;
  };

  trial_ = at_;
  double alpha = max_step(at_.v, dv_, tau_);
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
    for (int correction = 0; correction < p.p_max; ++correction) {
      solve(g_, gap, dv, corrected_dy_);
      if (!finite(dv)) break;
      const double alpha_soc = max_step(at_.v, dv, tau_);
      corrected_ = at_;
      corrected_.v = at_.v + alpha_soc * dv;
      if (!evaluate(corrected_)) break;
      if (acceptable(corrected_, alpha)) return finish(corrected_, alpha);
      if (correction > 0 && corrected_.theta > p.kappa_soc * theta) break;
      theta = corrected_.theta;
      gap = alpha_soc * gap + corrected_.gap;
    }
  }
  return false;
}

// Adds the current point to the filter (22).
void InteriorPoint::extend_filter() {
  filter_.emplace_back((1.0 - parameters.gamma_theta) * at_.theta, at_.barrier - parameters.gamma_phi * at_.theta);
}

void InteriorPoint::accept(Point& next, double alpha, double alpha_z) {
  std::swap(at_, next);
  y_ += alpha * dy_;
  lower_z_ += alpha_z * dlower_z_;
  upper_z_ += alpha_z * dupper_z_;
  // keeps multipliers near mu / slack (16)
  constexpr double kappa = parameters.kappa_sigma;
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

// Takes the full step, although the filter refuses it, if it reduces the error of the barrier problem's optimality
// conditions (section 3.3). Otherwise returns false without a step.
bool InteriorPoint::soft_step() {
  const double before = barrier_error(mu_);
  const double alpha = std::min(max_step(at_.v, dv_, tau_), max_multiplier_step(tau_));
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
    if (barrier_error(mu_) <= parameters.soft_reduction * before) {
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

// Sets the multipliers after a restoration: of bounds from the barrier, of rows by least squares.
void InteriorPoint::estimate_multipliers() {
  for (const int i : bounded_below_) lower_z_[i] = std::min(parameters.max_multiplier, mu_ / (at_.v[i] - lower_[i]));
  for (const int i : bounded_above_) upper_z_[i] = std::min(parameters.max_multiplier, mu_ / (upper_[i] - at_.v[i]));
  least_squares_multipliers();
}

// ---- restoration: minimise |c - s|^2 / 2 + zeta / 2 |R (v - v_0)|^2 inside the bounds by primal-dual Newton steps
// (Gauss-Newton where that is not convex), until the filter accepts the point and the violation is reduced by 10 %.

InteriorPoint::Restoration InteriorPoint::begin_restoration() {
  Restoration r;
  r.first = at_;
  r.y = y_;
  r.lower_z = lower_z_;
  r.upper_z = upper_z_;
  const double gap = at_.gap.lpNorm<Eigen::Infinity>();
  r.was_feasible = gap <= options_.tolerance;
  r.weight = at_.v.array().abs().max(1.0).inverse().square().matrix();
  r.zeta = restoration.zeta * std::min(1.0, gap);
  r.mu = std::max(restoration.min_first_mu, restoration.mu * std::min(1.0, at_.gap.squaredNorm()));
  for (const int i : bounded_below_) lower_z_[i] = r.mu / (at_.v[i] - lower_[i]);
  for (const int i : bounded_above_) upper_z_[i] = r.mu / (upper_[i] - at_.v[i]);
  E_.setOnes();
  return r;
}

// Ends at a feasible point. If the initial point was feasible, returns to it with its multipliers: the problem may be
// solved there up to rounding, which stops a line search.
Ending InteriorPoint::end_feasible(Restoration& r) {
  if (r.was_feasible) {
    at_ = r.first;
    y_ = r.y;
    lower_z_ = r.lower_z;
    upper_z_ = r.upper_z;
  } else {
    estimate_multipliers();
  }
  return {SolveStatus::not_converged, "no further progress"};
}

double InteriorPoint::merit(const Restoration& r, const Point& p) const {
  double sum = 0.5 * p.gap.squaredNorm() + 0.5 * r.zeta * r.weight.dot((p.v - r.first.v).cwiseAbs2());
  for (const int i : bounded_below_) sum -= r.mu * std::log(p.v[i] - lower_[i]);
  for (const int i : bounded_above_) sum -= r.mu * std::log(upper_[i] - p.v[i]);
  return sum;
}

// Computes the gradient and the Newton direction of the restoration's barrier problem. Returns false if the direction
// is not finite or the factorisation fails.
bool InteriorPoint::find_restoring_direction(Restoration& r) {
  VectorXd D = r.zeta * r.weight, y(m_);
  r.gradient = D.cwiseProduct(at_.v - r.first.v);
  for (const int i : bounded_below_) {
    r.gradient[i] -= r.mu / (at_.v[i] - lower_[i]);
    D[i] += lower_z_[i] / (at_.v[i] - lower_[i]);
  }
  for (const int i : bounded_above_) {
    r.gradient[i] += r.mu / (upper_[i] - at_.v[i]);
    D[i] += upper_z_[i] / (upper_[i] - at_.v[i]);
  }
  const bool whole = factorise(&hessian_, D, r.damping, E_, true);
  if ((!whole || !right_inertia()) && !factorise(nullptr, D, r.damping, E_)) return false;
  solve(r.gradient, at_.gap, dv_, y);
  find_multiplier_direction(r.mu);
  return finite(dv_);
}

// Searches along the direction for a step that reduces the merit function, takes it, and adapts damping and barrier.
// Returns false if no step above the minimum length reduces it enough. `slope`: gradient of the constraints' least
// squares.
bool InteriorPoint::take_restoring_step(Restoration& r, const VectorXd& slope) {
  constexpr auto& p = restoration;
  const double descent = (r.gradient + slope).dot(dv_), before = merit(r, at_);
  const double alpha_z = max_multiplier_step(p.tau), alpha_max = max_step(at_.v, dv_, p.tau);
  Point trial = at_;
  double alpha = alpha_max;
  bool moved = false;
  for (; alpha > p.min_alpha && !moved; alpha *= moved ? 1.0 : 0.5) {
    trial.v = at_.v + alpha * dv_;
    moved = evaluate(trial) && merit(r, trial) <= before + p.armijo * alpha * descent;
  }
  if (!moved) return false;
  std::swap(at_, trial);
  lower_z_ += alpha_z * dlower_z_;
  upper_z_ += alpha_z * dupper_z_;
  log("r", alpha);
  if (alpha < p.short_step * alpha_max)
    r.damp();
  else
    r.damping = r.damping < p.min_damping ? 0.0 : p.damping_decay * r.damping;
  const double mu = alpha > p.long_step ? p.mu_decay * r.mu : r.mu;
  r.mu = std::max(p.min_mu, std::min(mu, p.mu * at_.gap.squaredNorm()));
  set_barrier(at_);
  return true;
}

std::optional<Ending> InteriorPoint::restore() {
  constexpr auto& p = restoration;
  const Ending not_a_number{SolveStatus::not_converged, "a derivative is not a number at an iterate"};
  const Ending failed{SolveStatus::not_converged, "feasibility restoration failed"};
  extend_filter();
  const double theta_0 = at_.theta;
  Restoration r = begin_restoration();
  VectorXd slope(N_);
  for (; solution_.iterations < options_.max_iterations; ++solution_.iterations) {
    if (late()) return Ending{SolveStatus::timed_out, "time limit"};
    if (is_stalled()) return Ending{SolveStatus::not_converged, dependent_rows};
    y_ = at_.gap;  // the multipliers of the restoration problem
    if (!differentiate(true)) return not_a_number;
    // least-squares gradient, projected on the bounds; zero at a point of locally minimal infeasibility
    stationarity(y_, nullptr, nullptr, slope);
    slope.head(n_) -= gradient_;
    double projected = 0.0;
    for (int i = 0; i < N_; ++i)
      projected = std::max(projected, std::abs(std::clamp(at_.v[i] - slope[i], lower_[i], upper_[i]) - at_.v[i]));
    const double gap = at_.gap.lpNorm<Eigen::Infinity>();
    if (projected <= p.infeasible * std::min(1.0, gap) && gap > p.infeasible_gap * options_.tolerance)
      return Ending{SolveStatus::infeasible, "converged to a point of locally minimal infeasibility"};
    if (gap <= p.feasible_gap * options_.tolerance || feasible_within(0.0)) {
      r.was_feasible = r.was_feasible || at_.v == r.first.v;
      return end_feasible(r);
    }
    if (projected <= p.stationary * gap) r.zeta *= p.zeta_decay;

    if (!find_restoring_direction(r)) return failed;
    if (!take_restoring_step(r, slope)) {
      if (gap <= options_.tolerance) return end_feasible(r);
      if (r.mu <= p.given_up_mu && r.damping > p.max_damping) return failed;
      r.mu *= p.mu_without_step;
      r.damp();
      continue;
    }
    if (at_.theta <= p.sufficient * theta_0 && filter_accepts(at_.theta, at_.barrier)) {
      if (!differentiate(false)) return not_a_number;
      estimate_multipliers();
      return std::nullopt;
    }
  }
  return Ending{SolveStatus::not_converged, "iteration limit"};
}

// ---- the algorithm

void InteriorPoint::lower_mu() {
  const double min_mu = parameters.final_mu * tolerance_ * scale_f_;
  bool changed = false;
  while (mu_ > min_mu && barrier_error(mu_) <= parameters.kappa_epsilon * mu_) {
    mu_ = std::max(min_mu, std::min(parameters.kappa_mu * mu_, std::pow(mu_, parameters.theta_mu)));  // (7)
    changed = true;
  }
  if (!changed) return;
  tau_ = std::max(parameters.tau_min, 1.0 - mu_);
  set_barrier(at_);
  filter_.clear();
}

Ending InteriorPoint::iterate() {
  for (int soft = 0;;) {
    if (!differentiate(true)) return {SolveStatus::not_converged, "a derivative is not a number at an iterate"};
    update_residual();
    if (optimal()) return {SolveStatus::solved, "first-order optimal"};
    if (late()) return {SolveStatus::timed_out, "time limit"};
    if (is_stalled()) return {SolveStatus::not_converged, dependent_rows};
    if (solution_.iterations >= options_.max_iterations) return {SolveStatus::not_converged, "iteration limit"};
    if (!(at_.v.lpNorm<Eigen::Infinity>() < parameters.diverged))
      return {SolveStatus::not_converged, "iterates diverge, the problem may be unbounded"};
    lower_mu();
    ++solution_.iterations;
    const bool direction = find_direction();
    if (direction && search()) {
      soft = 0;
    } else if (direction && soft < parameters.max_soft_steps && soft_step()) {
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
                      const Deadline& deadline) {
  return InteriorPoint(problem, options, deadline).run(x0, neighbour);
}

}  // namespace dodyn::nlp
