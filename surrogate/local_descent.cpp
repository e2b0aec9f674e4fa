#include "surrogate/local_descent.hpp"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "surrogate/quasi_newton.hpp"
#include "surrogate/sampling.hpp"
#include "surrogate/strategy.hpp"

namespace dodyn::surrogate {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

namespace {

constexpr double error_power = 6;  // the model's error at an evaluation grows with this power of its distance. Taylor's
                                   // theorem gives 3; with 6 the nearest evaluations decide, and descents were faster
// Prior standard deviations of the coefficients, relative to that error at a distance of one range. They are wide, so
// that they matter only where evaluations contain no information.
constexpr double prior_curvature = 3, prior_slope = 900;
constexpr double least_distance = 1e-5;  // relative to the range: of nearer evaluations rounding decides
constexpr double doubt = 10;             // standard deviations by which a design may be lower than predicted
constexpr double least_radius = 1e-9;    // relative to the range
constexpr double other_numbers = 1e-9;   // relative to the range: designs that differ by more in the variables that the
                                         // descent keeps fixed are not in the model
constexpr double poor_share = 0.1;       // a step that gains less than this share of the prediction shrinks the region
constexpr double good_share = 0.5;       // a step to the boundary that gains more than this share enlarges the region
constexpr double boundary = 0.9;         // relative to the radius: a longer step ends on the boundary
constexpr double enlargement = 2, most_radius = 0.5;
constexpr double gradient_shrinkage = 0.5;  // factor on a step that gained too little, if slopes are known
constexpr double rounding = 1e-15;          // relative error of a cost: differences of costs show no smaller gain
constexpr double min_curvature = 1e-4;      // smallest curvature of the metric, relative to the largest
constexpr Index most_per_coefficient = 10;  // evaluations in the model, the nearest ones with the centre
constexpr int most_model_evaluations = 200, points_per_variable = 20;  // limits of the search in the model
// The descent ends when the number of exploring steps (Step::explores) since the last significant gain exceeds patience
// + the number of variables.
constexpr int patience = 2;

// Whether a difference of two points is zero in all variables that are not `free`.
bool is_among(const VectorXd& delta, const std::vector<Index>& free) {
  return delta.cwiseAbs().sum() - delta(free).cwiseAbs().sum() <= other_numbers;
}

// The quadratic model about a centre, in the coordinates of the real variables relative to it.
//
// In a narrow valley an evaluation across the valley misleads more than an evaluation at the same distance along the
// valley. So the fit is repeated with distances in the metric of the curvature that the last fit found.
class Quadratic {
 public:
  Quadratic(const ObservedData& observed, const Evaluation& centre, std::vector<Index> free, double radius,
            const DescentOptions& options)
      : least_distance_(std::max(least_distance, options.equal * radius)),
        prior_(options.prior),
        free_(std::move(free)),
        d_(free_.size()),
        p_(d_ + d_ * (d_ + 1) / 2) {
    const VectorXd at = observed.unit(centre);
    const double base = observed.objective(centre, 0);
    std::vector<Neighbour> neighbours = {{VectorXd::Zero(d_), 0, 0}};
    for (const Evaluation& e : observed.evaluations) {
      const VectorXd delta = observed.unit(e) - at;
      if (!observed.is_informative(e) || !is_among(delta, free_) || delta(free_).isZero(0)) continue;
      neighbours.push_back({delta(free_), 0, observed.objective(e, 0) - base});
    }
    for (int fit = 0; fit < options.fits; ++fit) {
      if (fit > 0) metric_ = metric_of(metric_.transpose() * hessian() * metric_);
      for (Neighbour& n : neighbours) n.distance = (metric_ * n.from_centre).norm();
      std::stable_sort(neighbours.begin(), neighbours.end(),
                       [](const Neighbour& a, const Neighbour& b) { return a.distance < b.distance; });
      fit_to(neighbours);
    }
  }

  // Returns the number of costs in the fit, without the centre's.
  Index data() const { return data_; }
  double value(const VectorXd& s, VectorXd* slope) const {
    const VectorXd z = metric_ * s;
    if (slope) *slope = metric_.transpose() * (basis_slope(z) * coefficients_);
    return basis(z).dot(coefficients_);
  }
  // Returns the standard deviation of the value at a point.
  double deviation(const VectorXd& s, VectorXd* slope) const {
    const auto solve = [&](const MatrixXd& b) -> MatrixXd {
      return upper_.transpose().triangularView<Eigen::Lower>().solve(b);
    };
    const VectorXd z = metric_ * s, half = solve(scale_.cwiseProduct(basis(z)));
    const double length = half.norm() + 1e-300;
    if (slope) {
      const MatrixXd halves = solve(scale_.asDiagonal() * basis_slope(z).transpose());
      *slope = deviation_ / length * (metric_.transpose() * (halves.transpose() * half));
    }
    return deviation_ * length;
  }
  // Returns Newton's step with the absolute values of the curvatures.
  VectorXd newton() const {
    const Eigen::SelfAdjointEigenSolver<MatrixXd> eigen(hessian());
    const VectorXd curvature = eigen.eigenvalues().cwiseAbs().array() + 1e-300;
    const VectorXd z =
        eigen.eigenvectors() * (eigen.eigenvectors().transpose() * coefficients_.head(d_)).cwiseQuotient(curvature);
    return -metric_.inverse() * z;
  }

 private:
  struct Neighbour {
    VectorXd from_centre;
    double distance;  // in the metric
    double higher;    // than the centre's cost
  };
  // `neighbours`: the centre first.
  void fit_to(const std::vector<Neighbour>& neighbours) {
    const auto used = std::min(neighbours.size(), static_cast<std::size_t>(most_per_coefficient * p_));
    data_ = static_cast<Index>(used) - 1;
    MatrixXd rows = MatrixXd::Zero(data_ + p_, p_);
    VectorXd y = VectorXd::Zero(data_ + p_);
    for (Index row = 0; row < data_; ++row) {
      const auto& [s, distance, higher] = neighbours[row + 1];
      const double weight = std::pow(std::max(distance, least_distance_), -error_power);
      rows.row(row) = weight * basis(metric_ * s).transpose();
      y(row) = weight * higher;
    }
    for (Index k = 0; k < p_; ++k) rows(data_ + k, k) = 1 / (prior_ * (k < d_ ? prior_slope : prior_curvature));
    scale_ = rows.colwise().norm().cwiseInverse();
    const Eigen::HouseholderQR<MatrixXd> qr(rows * scale_.asDiagonal());
    const VectorXd right = qr.householderQ().transpose() * y;
    upper_ = qr.matrixQR().topRows(p_).triangularView<Eigen::Upper>();
    coefficients_ = scale_.cwiseProduct(upper_.triangularView<Eigen::Upper>().solve(right.head(p_)));
    deviation_ = std::sqrt(right.tail(data_).squaredNorm() / static_cast<double>(std::max<Index>(data_, 1)));
  }
  // Returns the map into coordinates where the curvatures of this Hessian have one magnitude. Curvatures below
  // min_curvature stay smaller.
  static MatrixXd metric_of(const MatrixXd& hessian) {
    const Eigen::SelfAdjointEigenSolver<MatrixXd> eigen(hessian);
    const VectorXd curvature = eigen.eigenvalues().cwiseAbs();
    const VectorXd relative = (curvature / (curvature.maxCoeff() + 1e-300)).cwiseMax(min_curvature);
    return relative.cwiseSqrt().asDiagonal() * eigen.eigenvectors().transpose();
  }
  MatrixXd hessian() const {  // in the metric
    MatrixXd hessian(d_, d_);
    Index k = d_;
    for (Index i = 0; i < d_; ++i)
      for (Index j = i; j < d_; ++j) hessian(i, j) = hessian(j, i) = coefficients_(k++) * (i == j ? 2 : 1);
    return hessian;
  }
  VectorXd basis(const VectorXd& s) const {
    VectorXd b(p_);
    b.head(d_) = s;
    Index k = d_;
    for (Index i = 0; i < d_; ++i)
      for (Index j = i; j < d_; ++j) b(k++) = s(i) * s(j);
    return b;
  }
  MatrixXd basis_slope(const VectorXd& s) const {  // [variables, coefficients]
    MatrixXd b = MatrixXd::Zero(d_, p_);
    b.leftCols(d_).setIdentity();
    Index k = d_;
    for (Index i = 0; i < d_; ++i)
      for (Index j = i; j < d_; ++j) b(i, k) += s(j), b(j, k++) += s(i);
    return b;
  }

  double least_distance_, prior_;
  std::vector<Index> free_;
  Index d_, p_, data_ = 0;
  MatrixXd metric_ = MatrixXd::Identity(d_, d_);  // from the unit cube to the model's coordinates
  MatrixXd upper_;                                // triangular factor of the scaled rows
  VectorXd scale_, coefficients_;
  double deviation_ = 0;  // standard deviation of the model's error at a distance of one range, from the residuals
};

}  // namespace

LocalDescent::Step LocalDescent::step(const ObservedData& observed, double least_gain, bool gradient,
                                      const std::vector<Smooth>& at_most_zero) const {
  Step out;
  const Evaluation* const best = observed.best_of_region();
  if (!best || radius_ < least_radius) return out;
  std::vector<Index> free;
  for (Index k = 0; k < observed.space.dimensions(); ++k)
    if (observed.space.real(k) && observed.space.active(k, best->design)) free.push_back(k);
  const Index d = free.size();
  if (d == 0 || stalled_ > patience + d) return out;
  if (gradient && observed.slope(*best).size() > 0) return step_by_gradients(observed, *best, free, least_gain);
  const Quadratic model(observed, *best, free, radius_, options_);
  if (model.data() < 1) return out;
  const VectorXd centre = observed.unit(*best)(free);
  BoundedSearch box{(-centre).cwiseMax(-radius_), (1 - centre.array()).matrix().cwiseMin(radius_),
                    most_model_evaluations};
  const auto moved = [&](const VectorXd& s) {
    VectorXd at = observed.unit(*best);
    at(free) += s;
    return VectorXd(at.cwiseMax(0).cwiseMin(1));
  };
  for (const Smooth& condition : at_most_zero)
    box.at_most_zero.push_back([&](const VectorXd& s, VectorXd* slope) {
      VectorXd of_all;
      const double value = condition(moved(s), slope ? &of_all : nullptr);
      if (slope) *slope = of_all(free);
      return value;
    });
  const auto allowed = [&](const VectorXd& s) {
    return std::all_of(box.at_most_zero.begin(), box.at_most_zero.end(),
                       [&](const Smooth& condition) { return condition(s, nullptr) <= 0; });
  };
  const MatrixXd spread = sobol(d, points_per_variable * d, observed.evaluations.size());
  const auto search = [&](const Smooth& worth) {
    Maximum best_of{VectorXd::Zero(d), 0};
    const auto consider = [&](const VectorXd& s) {
      if (const double value = worth(s, nullptr); value > best_of.value && allowed(s)) best_of = {s, value};
    };
    consider(model.newton().cwiseMax(box.lower).cwiseMin(box.upper));
    for (Index i = 0; i < spread.cols(); ++i) consider(box.lower + spread.col(i).cwiseProduct(box.upper - box.lower));
    const Maximum found = maximise(worth, best_of.at, box);
    if (found.value > best_of.value) best_of = found;
    return best_of;
  };
  const auto gain = [&](const VectorXd& s, VectorXd* slope) {
    const double value = -model.value(s, slope);
    if (slope) *slope = -*slope;
    return value;
  };
  const auto possible_gain = [&](const VectorXd& s, VectorXd* slope) {
    VectorXd other;
    const double value = doubt * model.deviation(s, slope ? &other : nullptr) - model.value(s, slope);
    if (slope) *slope = doubt * other - *slope;
    return value;
  };
  Maximum found = search(gain);
  out.explores = found.value < least_gain;
  if (out.explores) found = search(possible_gain);
  if (found.value < least_gain) return out;
  out.at = moved(found.at);
  out.gain = found.value;
  out.length = found.at.cwiseAbs().maxCoeff() / radius_;
  return out;
}

LocalDescent::Step LocalDescent::step_by_gradients(const ObservedData& observed, const Evaluation& best,
                                                   const std::vector<Index>& free, double least_gain) const {
  const VectorXd at = observed.unit(best), slope = observed.slope(best)(free);
  std::vector<Sloped> near;
  for (const Evaluation& e : observed.evaluations) {
    const VectorXd own = observed.slope(e), unit = observed.unit(e);
    if (observed.is_informative(e) && own.size() > 0 && is_among(unit - at, free))
      near.push_back({unit(free), observed.objective(e, 0), own(free)});
  }
  const VectorXd centre = at(free);
  const MatrixXd hessian = positive_hessian(near, centre, slope.norm() / radius_);
  const VectorXd s =
      minimum_in_box(slope, hessian, (-centre).cwiseMax(-radius_), (1 - centre.array()).matrix().cwiseMin(radius_));
  Step out;
  out.gain = -slope.dot(s) - 0.5 * s.dot(hessian * s);
  out.explores = out.gain < least_gain;
  if (!(out.gain > rounding * std::abs(observed.objective(best, 0))) || (out.explores && stalled_ > patience))
    return out;
  out.by_gradients = true;
  out.length = s.cwiseAbs().maxCoeff() / radius_;
  out.at = at;
  out.at(free) += s;
  out.at = out.at.cwiseMax(0).cwiseMin(1);
  return out;
}

void LocalDescent::observe(const ObservedData& observed, const Step& step, double gain, double least_gain) {
  const Evaluation* const best = observed.best_of_region();
  if (!best) return;
  const VectorXd at = observed.unit(*best);
  const double moved = centre_.size() > 0 ? (at - centre_).cwiseAbs().maxCoeff() : infinity;
  centre_ = at;
  if (gain > least_gain) stalled_ = 0;
  if (step.at.size() == 0) {
    if (moved > radius_) radius_ = options_.first_radius;
    return;
  }
  if (step.explores) stalled_ += !(gain > least_gain);
  if (step.explores && !step.by_gradients) return;
  if (gain < poor_share * step.gain)
    radius_ *= step.by_gradients ? gradient_shrinkage * std::min(step.length, 1.0) : options_.shrinkage;
  else if (gain > good_share * step.gain && step.length > boundary)
    radius_ = std::min(enlargement * radius_, most_radius);
}

}  // namespace dodyn::surrogate
