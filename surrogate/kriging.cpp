#include "surrogate/kriging.hpp"

#include <Eigen/Cholesky>
#include <Eigen/QR>
#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <string>

#include "surrogate/bounded_search.hpp"
#include "surrogate/random.hpp"

namespace dodyn::surrogate {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

constexpr double jitter = 1e-10;               // added to each row's variance, relative to it
constexpr double merge_within = 1e-7;          // distance below which samples are merged
constexpr double covariance_rounding = 1e-16;  // rounding error of covariances, relative to the process variance
constexpr double shortest = 5e-3, longest = 1e2, least_nugget = 1e-6, most_nugget = 10;
constexpr double prior_deviation = 1.0;  // standard deviation of the normal prior on a log length, whose mean is
                                         // log(sqrt(d) / 2)

// k and its derivatives with respect to the squared distance q. Derivatives that are infinite at q = 0 are set to 0
// there, since they only appear multiplied by a higher power of the distance.
struct KernelValue {
  double k, d1, d2, d3;
};

KernelValue matern52(double q) {
  const double r = std::sqrt(q), s = std::sqrt(5.0) * r, e = std::exp(-s);
  return {(1 + s + s * s / 3) * e, -5.0 / 6 * (1 + s) * e, 25.0 / 12 * e,
          r > 0 ? -25.0 * std::sqrt(5.0) / 24 * e / r : 0.0};
}

// The difference of two points and the kernel there. One object serves all pairs of a loop, so that they allocate
// nothing.
struct Separation {
  VectorXd delta, scaled;  // p - q; (p - q) / length^2
  KernelValue kernel;

  template <class P, class Q>
  void set(const Eigen::MatrixBase<P>& p, const Eigen::MatrixBase<Q>& q, const VectorXd& inverse_square) {
    delta = p - q;
    scaled = delta.cwiseProduct(inverse_square);
    kernel = matern52(delta.dot(scaled));
  }
};

// Minimum spread of the differences between the samples and the scaled model of lower fidelity, relative to the spread
// of the values. A few samples may agree with that model by chance.
constexpr double least_remainder = 0.01;

}  // namespace

// The model of lower fidelity at the samples.
struct LowFidelityRows {
  std::shared_ptr<const Kriging> model;
  Kriging::JointRows rows;
  MatrixXd covariance;  // [rows, rows], in the squared unit of the model
};

// The factorised correlation matrix. Rows are ordered by sample: the value, then the gradient, if any. So new samples
// append rows.
struct KrigingFactor {
  VectorXd inverse_square;                     // 1 / length^2
  MatrixXd x;                                  // [variables, samples]
  std::vector<Index> first;                    // index of the row of each sample's value; at the end the number of rows
  VectorXd noise;                              // [samples] variances of the values, relative to the process variance
  MatrixXd shared;                             // [samples, samples] their covariances, diagonal unused; empty: none
  MatrixXd excess;                             // [rows, rows] covariance of the errors - that of R; empty: 0
  std::shared_ptr<const LowFidelityRows> low;  // null: none
  double centre = 0, spread = 1;               // the trend has the mean of `low`, standardised like the values
  double share = 0;                            // R contains the covariance of `low`, times this share
  bool in_trend = false;               // whether the trend has the mean of `low`; false: its factor is not determined
  MatrixXd lower;                      // L with L L^T = R, R the correlation matrix of the rows
  MatrixXd trend, whitened, weighted;  // F, L^-1 F, R^-1 F
  Eigen::LLT<MatrixXd> information;    // Cholesky factor of F^T R^-1 F

  Index dimensions() const { return x.rows(); }
  Index samples() const { return x.cols(); }
  Index rows() const { return first.back(); }
  bool has_gradient(Index i) const { return first[i + 1] - first[i] > 1; }
  Index coefficients() const { return in_trend ? 2 : 1; }

  double squared_distance(const VectorXd& delta) const { return delta.cwiseAbs2().dot(inverse_square); }

  // Writes the correlations of the rows of a point with the rows (columns here) of another one.
  void block(const Separation& between, Eigen::Ref<MatrixXd> out) const {
    const VectorXd& a = between.scaled;
    const KernelValue& k = between.kernel;
    const Index d = dimensions();
    const bool down = out.rows() > 1, across = out.cols() > 1;
    out(0, 0) = k.k;
    if (across) out.block(0, 1, 1, d) = -2 * k.d1 * a.transpose();
    if (down) out.block(1, 0, d, 1) = 2 * k.d1 * a;
    if (down && across) {
      out.block(1, 1, d, d) = -4 * k.d2 * a * a.transpose();
      out.block(1, 1, d, d).diagonal() -= 2 * k.d1 * inverse_square;
    }
  }

  void own_block(Index i, Separation& between, Eigen::Ref<MatrixXd> out) const {
    between.set(x.col(i), x.col(i), inverse_square);
    block(between, out);
    out.diagonal() *= 1 + jitter;
    out(0, 0) += noise(i);
  }

  // `kernels`: receives the kernel of each pair of samples, by rows of the lower triangle; null: nothing.
  MatrixXd correlations(std::vector<KernelValue>* kernels = nullptr) const {
    MatrixXd r(rows(), rows());
    Separation between;
    for (Index i = 0; i < samples(); ++i) {
      const Index ri = first[i], ni = first[i + 1] - ri;
      for (Index j = 0; j < i; ++j) {
        const Index rj = first[j], nj = first[j + 1] - rj;
        between.set(x.col(i), x.col(j), inverse_square);
        if (kernels) kernels->push_back(between.kernel);
        block(between, r.block(ri, rj, ni, nj));
        if (shared.size() > 0) r(ri, rj) += shared(i, j);
        r.block(rj, ri, nj, ni) = r.block(ri, rj, ni, nj).transpose();
      }
      own_block(i, between, r.block(ri, ri, ni, ni));
      if (kernels) kernels->push_back(between.kernel);
    }
    if (low) r += share * low->covariance;
    return r;
  }

  // Returns the rows of F of the samples from `from` on.
  MatrixXd trend_rows(Index from) const {
    MatrixXd f = MatrixXd::Zero(rows() - first[from], coefficients());
    for (Index i = from; i < samples(); ++i) {
      const Index r = first[i] - first[from];
      f(r, 0) = 1;
      if (in_trend) {
        f.col(1).segment(r, first[i + 1] - first[i]) =
            low->rows.mean.segment(first[i], first[i + 1] - first[i]) / spread;
        f(r, 1) -= centre / spread;
      }
    }
    return f;
  }

  // Computes `trend`, `whitened`, `weighted` and `information` from `lower`. Returns false if the samples do not
  // determine the factor of the model of lower fidelity: then the trend is a constant.
  bool finish() {
    trend = trend_rows(0);
    whitened = lower.triangularView<Eigen::Lower>().solve(trend);
    weighted = lower.transpose().triangularView<Eigen::Upper>().solve(whitened);
    if (in_trend) {
      Eigen::ColPivHouseholderQR<MatrixXd> qr(whitened);
      qr.setThreshold(1e-7);
      if (rows() <= coefficients() || qr.rank() < coefficients()) {
        in_trend = false;
        finish();
        return false;
      }
    }
    information.compute(whitened.transpose() * whitened);
    return true;
  }

  // Writes the correlations of the rows with f(at), and their derivatives with respect to `at` [rows, variables] if the
  // pointer is not null.
  void cross(const VectorXd& at, Eigen::Ref<VectorXd> k, MatrixXd* derivative) const {
    const Index d = dimensions();
    Separation between;
    const VectorXd& a = between.scaled;
    const KernelValue& v = between.kernel;
    for (Index i = 0; i < samples(); ++i) {
      between.set(at, x.col(i), inverse_square);
      const Index r = first[i];
      k(r) = v.k;
      if (derivative) derivative->row(r) = 2 * v.d1 * a.transpose();
      if (!has_gradient(i)) continue;
      k.segment(r + 1, d) = -2 * v.d1 * a;
      if (!derivative) continue;
      derivative->block(r + 1, 0, d, d) = -4 * v.d2 * a * a.transpose();
      derivative->block(r + 1, 0, d, d).diagonal() -= 2 * v.d1 * inverse_square;
    }
  }

  // Replaces k by L^-1 k. One column is solved as a vector, because the solver of matrices would copy L for one column.
  void whiten(MatrixXd& k) const {
    const auto l = lower.triangularView<Eigen::Lower>();
    if (k.cols() > 1) return l.solveInPlace(k);
    auto column = k.col(0);
    l.solveInPlace(column);
  }

  // Returns the functions of the trend at a point. `low_mean`: mean of the model of lower fidelity at this point.
  VectorXd trend_at(double low_mean = 0) const {
    VectorXd f(coefficients());
    f(0) = 1;
    if (in_trend) f(1) = (low_mean - centre) / spread;
    return f;
  }

  // Returns the rows of the model of lower fidelity at these points, one column each.
  Kriging::JointRows low_rows(const MatrixXd& at, bool has_gradient) const {
    return low->model->joint_rows(at, std::vector<bool>(at.cols(), has_gradient));
  }
  // Returns the part of the model of lower fidelity in the correlations of the rows with f at these points.
  MatrixXd low_cross(const Kriging::JointRows& there) const { return share * low->model->covariance(low->rows, there); }

  // Returns the weights of the rows in the mean, one column per prediction, from L^-1 k and the remaining trend.
  MatrixXd weights(const MatrixXd& white, const MatrixXd& remaining_trend) const {
    return lower.transpose().triangularView<Eigen::Upper>().solve(white) +
           weighted * information.solve(remaining_trend);
  }
  // Returns the change of the variances of predictions with these weights due to the covariance of the errors.
  VectorXd excess_variance(const MatrixXd& white, const MatrixXd& remaining_trend) const {
    if (excess.size() == 0) return VectorXd::Zero(white.cols());
    const MatrixXd w = weights(white, remaining_trend);
    return (excess * w).cwiseProduct(w).colwise().sum();
  }
};

namespace {

// The samples after checks, merging and standardisation.
struct Prepared {
  MatrixXd x;
  std::vector<Index> first;
  VectorXd observed;  // standardised values and gradients, by row
  VectorXd noise;     // [samples] standardised variances
  MatrixXd shared;    // [samples, samples] standardised covariances; empty: none
  MatrixXd excess;    // [samples, samples] standardised covariances of the errors - those of `shared`; empty: 0
  double centre = 0, spread = 1;
  bool noisy = false;                          // some samples have variances of their own
  std::shared_ptr<const LowFidelityRows> low;  // null: none
  double factor = 0;                           // scale of the low-fidelity model

  // Whether the process variance is a parameter of its own. Otherwise it follows from the other parameters.
  bool has_variance() const { return noisy || low; }
  double share(double variance) const { return low ? factor * factor / (variance * spread * spread) : 0; }
};

// Throws std::invalid_argument if there is no sample, shapes differ, a value is not finite, a variance is negative, or
// |y| is above Kriging::most_magnitude.
void check_samples(const Samples& s) {
  const Index d = s.x.rows(), n = s.x.cols();
  if (n < 1 || d < 1) throw std::invalid_argument("kriging: no sample");
  if (s.y.size() != n || (s.gradient.size() > 0 && (s.gradient.rows() != d || s.gradient.cols() != n)) ||
      (s.variance.size() > 0 && s.variance.size() != n) ||
      (s.covariance.size() > 0 && (s.covariance.rows() != n || s.covariance.cols() != n || s.variance.size() != n)))
    throw std::invalid_argument("kriging: the samples' shapes differ");
  if (!s.x.allFinite() || !s.y.allFinite() || !s.variance.allFinite() || !s.covariance.allFinite() ||
      (s.variance.size() > 0 && s.variance.minCoeff() < 0))
    throw std::invalid_argument("kriging: a sample is not finite");
  if (s.y.cwiseAbs().maxCoeff() > Kriging::most_magnitude)
    throw std::invalid_argument("kriging: a sample exceeds 1e150, its square would overflow");
}

// Returns groups of samples at one point. Such samples make R singular unless they have noise.
std::vector<std::vector<Index>> groups_at_one_place(const Samples& s, bool nugget) {
  std::vector<std::vector<Index>> groups;
  for (Index i = 0; i < s.size(); ++i) {
    const auto same = std::find_if(groups.begin(), groups.end(), [&](const auto& group) {
      return (s.x.col(group[0]) - s.x.col(i)).cwiseAbs().maxCoeff() < merge_within;
    });
    const bool has_noise = s.variance.size() > 0 && s.variance(i) > 0;
    if (same != groups.end() && !nugget && !has_noise)
      same->push_back(i);
    else
      groups.push_back({i});
  }
  return groups;
}

// Returns the rows of a model of lower fidelity at the columns of x.
std::shared_ptr<const LowFidelityRows> rows_at(const std::shared_ptr<const Kriging>& model, const MatrixXd& x,
                                               const std::vector<bool>& has_gradient) {
  auto low = std::make_shared<LowFidelityRows>();
  low->model = model;
  low->rows = model->joint_rows(x, has_gradient);
  low->covariance = model->covariance(low->rows, low->rows);
  return low;
}

// Returns the slope of the values by those of the model of lower fidelity, by least squares; 0: not determined.
double slope_of(const VectorXd& values, const VectorXd& low) {
  const VectorXd about = low.array() - low.mean();
  const double square = about.squaredNorm();
  return square > 0 ? about.dot(values) / square : 0;
}

// Returns the spread of values and gradients; 0: they are (almost) constant. Divides by the largest magnitude first, so
// that squares do not overflow or underflow.
double spread_of(const VectorXd& y, const MatrixXd& g) {
  const double centre = y.mean();
  double largest = (y.array() - centre).abs().maxCoeff();
  for (Index k = 0; k < y.size(); ++k)
    if (g.col(k).allFinite()) largest = std::max(largest, g.col(k).cwiseAbs().maxCoeff());
  if (!(largest > 1e-14 * std::abs(centre))) return 0;
  double square = ((y.array() - centre) / largest).square().mean();
  for (Index k = 0; k < y.size(); ++k)
    if (g.col(k).allFinite()) square += (g.col(k) / largest).squaredNorm() / (12.0 * static_cast<double>(y.size()));
  return largest * std::sqrt(square);
}

// Returns the samples after checks, merging and standardisation. `factor`: factor of the model of lower fidelity;
// nullopt: by least squares.
Prepared prepare(const Samples& s, const KrigingOptions& options, std::optional<double> factor = {}) {
  check_samples(s);
  const Index d = s.x.rows();
  Prepared p;
  p.noisy = s.variance.size() > 0 && s.variance.maxCoeff() > 0;

  const auto groups = groups_at_one_place(s, options.nugget);
  const Index merged = groups.size();
  p.x.resize(d, merged);
  p.noise = VectorXd::Zero(merged);
  VectorXd y(merged);
  MatrixXd g = MatrixXd::Constant(d, merged, std::numeric_limits<double>::quiet_NaN());
  for (Index k = 0; k < merged; ++k) {
    const auto& group = groups[k];
    p.x.col(k) = s.x.col(group[0]);
    VectorXd gradient = VectorXd::Zero(d);
    double sum = 0, variance = 0;
    int with_gradient = 0;
    for (const Index i : group) {
      sum += s.y(i) / static_cast<double>(group.size());
      if (p.noisy) variance += s.variance(i) / static_cast<double>(group.size() * group.size());
      if (s.gradient.size() > 0 && s.gradient.col(i).allFinite()) {
        gradient += s.gradient.col(i);
        ++with_gradient;
      }
    }
    y(k) = sum;
    p.noise(k) = variance;
    if (with_gradient > 0) g.col(k) = gradient / with_gradient;
  }

  // Standardises. Gradients count for the spread, so that one sample with a gradient has a spread.
  p.centre = y.mean();
  p.spread = spread_of(y, g);
  if (options.low_fidelity) {  // the process is the difference between f and the scaled model of lower fidelity
    std::vector<bool> has_gradient;
    for (Index k = 0; k < merged; ++k) has_gradient.push_back(g.col(k).allFinite());
    p.low = rows_at(options.low_fidelity, p.x, has_gradient);
    const Kriging::JointRows& low = p.low->rows;
    const VectorXd low_values = low.mean(std::vector<Index>(low.first.begin(), low.first.end() - 1));
    p.factor = factor ? *factor : slope_of(y, low_values);
    MatrixXd remainder = g;
    for (Index k = 0; k < merged; ++k)
      if (g.col(k).allFinite()) remainder.col(k) -= p.factor * low.mean.segment(low.first[k] + 1, d);
    p.spread = std::max(spread_of(y - p.factor * low_values, remainder), least_remainder * p.spread);
  }
  if (!(p.spread > 1e-150)) p.spread = 1e-6 * std::max(1.0, std::abs(p.centre));  // (almost) constant values
  p.noise /= p.spread;
  p.noise /= p.spread;
  if (s.covariance.size() > 0) {  // samples with noise of their own are groups of one
    std::vector<Index> firsts;
    for (const auto& group : groups) firsts.push_back(group[0]);
    const MatrixXd& weighing = s.working.size() > 0 ? s.working : s.covariance;
    p.shared = weighing(firsts, firsts) / p.spread / p.spread;
    if (s.working.size() > 0) p.excess = (s.covariance - s.working)(firsts, firsts) / p.spread / p.spread;
  }

  p.first.push_back(0);
  for (Index k = 0; k < merged; ++k) p.first.push_back(p.first.back() + (g.col(k).allFinite() ? 1 + d : 1));
  p.observed.resize(p.first.back());
  for (Index k = 0; k < merged; ++k) {
    p.observed(p.first[k]) = (y(k) - p.centre) / p.spread;
    if (p.first[k + 1] - p.first[k] > 1) p.observed.segment(p.first[k] + 1, d) = g.col(k) / p.spread;
  }
  return p;
}

// Parameters of the likelihood: log lengths; log variance if samples have variances of their own (otherwise it follows
// from the others); log nugget if it is estimated.
struct Parameters {
  Index d;
  bool variance, nugget;
  Index size() const { return d + variance + nugget; }
};

double prior_mean(Index d) { return std::log(0.5 * std::sqrt(static_cast<double>(d))); }

// Returns the sample points and their correlation data for some parameters; `lower` is left to the caller.
KrigingFactor places(const Prepared& p, const VectorXd& log_length, double nugget, double variance) {
  KrigingFactor f;
  f.inverse_square = (-2 * log_length.array()).exp();
  f.x = p.x;
  f.first = p.first;
  f.noise = (p.noise / variance).array() + nugget;
  f.shared = p.shared / variance;
  if (p.excess.size() > 0) {
    f.excess = MatrixXd::Zero(f.rows(), f.rows());
    const std::vector<Index> values(f.first.begin(), f.first.end() - 1);
    f.excess(values, values) = p.excess / variance;
  }
  f.low = p.low;
  f.in_trend = p.low != nullptr;
  f.centre = p.centre;
  f.spread = p.spread;
  f.share = p.share(variance);
  return f;
}

// Factorises R. If rounding makes it indefinite, increases its diagonal. Returns false if the matrix remains
// indefinite.
bool factorise(KrigingFactor& f, const MatrixXd& r, bool patient) {
  Eigen::LLT<MatrixXd> llt(r);
  for (double extra = 10 * jitter; llt.info() != Eigen::Success || !(llt.matrixLLT().diagonal().minCoeff() > 0);
       extra *= 10) {
    if (!patient || extra > 1) return false;
    MatrixXd more = r;
    more.diagonal() *= 1 + extra;
    llt.compute(more);
  }
  f.lower = llt.matrixL();
  return f.lower.allFinite();
}

// Log posterior density of the standardised samples, up to a constant, with by-products. If no noise is known in
// absolute terms, the variance is the maximising one, with an inverse-gamma prior of `prior_weight` rows.
struct Posterior {
  double value = -std::numeric_limits<double>::infinity();
  double variance = 1;
  VectorXd gradient;
};
constexpr double prior_weight = 0.1;

// Returns the sum over entries of W dR / d log length, [variables]. `kernels`: of the pairs, see correlations().
VectorXd sum_by_lengths(const KrigingFactor& f, const MatrixXd& w, const std::vector<KernelValue>& kernels) {
  const Index d = f.dimensions();
  VectorXd sum = VectorXd::Zero(d);
  // Each pair of samples contributes common * u_m + own_m with u_m = a_m delta_m. This follows from the derivatives of
  // block(): d q / d log length_m = -2 u_m (q: squared scaled distance), and d a_m / d log length_m = -2 a_m.
  VectorXd delta(d), a(d), own(d), right(d), left(d);
  auto kernel = kernels.begin();
  for (Index i = 0; i < f.samples(); ++i) {
    for (Index j = 0; j <= i; ++j) {
      delta = f.x.col(i) - f.x.col(j);
      a = delta.cwiseProduct(f.inverse_square);
      const KernelValue& k = *kernel++;
      const Index ri = f.first[i], rj = f.first[j];
      double common = -2 * k.d1 * w(ri, rj);
      const bool down = f.has_gradient(i), across = f.has_gradient(j);
      const double twice = i == j ? 1 : 2;
      if (!down && !across) {
        sum += twice * (common * a.cwiseProduct(delta));
        continue;
      }
      own.setZero();
      if (across) {
        const auto row = w.row(ri).segment(rj + 1, d).transpose();
        common += 4 * k.d2 * a.dot(row);
        own += 4 * k.d1 * a.cwiseProduct(row);
      }
      if (down) {
        const auto column = w.col(rj).segment(ri + 1, d);
        common -= 4 * k.d2 * a.dot(column);
        own -= 4 * k.d1 * a.cwiseProduct(column);
      }
      if (down && across) {
        const auto both = w.block(ri + 1, rj + 1, d, d);
        right.noalias() = both * a;
        left.noalias() = both.transpose() * a;
        const VectorXd diagonal = both.diagonal().cwiseProduct(f.inverse_square) * (i == j ? 1 + jitter : 1.0);
        common += 8 * k.d3 * a.dot(right) + 4 * k.d2 * diagonal.sum();
        own += 8 * k.d2 * a.cwiseProduct(right + left) + 4 * k.d1 * diagonal;
      }
      sum += twice * (common * a.cwiseProduct(delta) + own);
    }
  }
  return sum;
}

Posterior posterior(const Prepared& p, const KrigingOptions& options, const VectorXd& at, bool want_gradient) {
  const Index d = p.x.rows();
  const Parameters which{d, p.has_variance(), options.nugget};
  const double given_variance = p.has_variance() ? std::exp(at(d)) : 1;
  const double nugget = options.nugget ? std::exp(at(which.size() - 1)) : 0;
  Posterior out;
  KrigingFactor f = places(p, at.head(d), nugget, given_variance);
  std::vector<KernelValue> kernels;
  const MatrixXd r = f.correlations(want_gradient ? &kernels : nullptr);
  if (!r.allFinite() || !factorise(f, r, false)) return out;
  f.finish();
  const auto lower = f.lower.triangularView<Eigen::Lower>();
  const auto upper = f.lower.transpose().triangularView<Eigen::Upper>();
  const VectorXd white = lower.solve(p.observed);
  const VectorXd beta = f.information.solve(f.whitened.transpose() * white);
  const VectorXd residual = white - f.whitened * beta;
  const auto rows = static_cast<double>(p.observed.size());
  const double squares = residual.squaredNorm() + prior_weight;
  out.variance = p.has_variance() ? given_variance : squares / (rows + prior_weight);
  const VectorXd from_prior = (at.head(d).array() - prior_mean(d)) / (prior_deviation * prior_deviation);
  out.value = -0.5 * (rows + prior_weight) * std::log(out.variance) - 0.5 * squares / out.variance -
              f.lower.diagonal().array().log().sum() -
              0.5 * prior_deviation * prior_deviation * from_prior.squaredNorm();
  if (!std::isfinite(out.value)) {
    out.value = -std::numeric_limits<double>::infinity();
    return out;
  }
  if (!want_gradient) return out;

  // d value = 1/2 sum over entries of W dR, W = alpha alpha^T / variance - R^-1.
  const VectorXd alpha = upper.solve(residual);
  MatrixXd w = MatrixXd::Identity(f.rows(), f.rows());
  lower.solveInPlace(w);
  upper.solveInPlace(w);
  w = alpha * (alpha / out.variance).transpose() - w;
  out.gradient.resize(which.size());
  out.gradient.head(d) = 0.5 * sum_by_lengths(f, w, kernels) - from_prior;
  double on_diagonal = 0, of_noise = 0;
  for (Index i = 0; i < f.samples(); ++i) {
    on_diagonal += w(f.first[i], f.first[i]);
    of_noise += w(f.first[i], f.first[i]) * p.noise(i) / out.variance;
    for (Index j = 0; j < i && p.shared.size() > 0; ++j)
      of_noise += 2 * w(f.first[i], f.first[j]) * p.shared(i, j) / out.variance;
  }
  if (p.low) of_noise += f.share * w.cwiseProduct(p.low->covariance).sum();
  if (p.has_variance()) out.gradient(d) = 0.5 * (squares / out.variance - rows - prior_weight) - 0.5 * of_noise;
  if (options.nugget) out.gradient(which.size() - 1) = 0.5 * nugget * on_diagonal;
  return out;
}

// Returns the parameters of posterior() that stand for hyperparameters.
VectorXd parameters_of(const Hyperparameters& h, const Prepared& p, const KrigingOptions& options) {
  const Index d = p.x.rows();
  VectorXd at(Parameters{d, p.has_variance(), options.nugget}.size());
  at.head(d) = h.log_length;
  if (p.has_variance()) at(d) = std::log(h.variance) - 2 * std::log(p.spread);
  if (options.nugget) at(at.size() - 1) = std::log(std::max(h.nugget, least_nugget));
  return at;
}

// Returns parameters whose lengths are one posterior standard deviation shorter, by a common factor, with the variance
// that is expected for these lengths. Evaluates the posterior on a grid about its maximum, at which its logarithm is
// `highest`.
VectorXd shortened(const Prepared& p, const KrigingOptions& options, const VectorXd& maximum, double highest) {
  constexpr int half = 2;       // grid points on each side
  constexpr double step = 0.7;  // spacing of the logarithms; the grid spans a factor of 4 each way
  const Index d = p.x.rows();
  const auto moved = [&](double by_length, double by_variance) {
    VectorXd at = maximum;
    at.head(d).array() += by_length;
    at(d) += by_variance;
    return at;
  };
  double sum = 0, a = 0, b = 0, aa = 0, ab = 0;  // weights, and moments of the two shifts
  for (int i = -half; i <= half; ++i)
    for (int j = -half; j <= half; ++j) {
      const double weight = std::exp(posterior(p, options, moved(i * step, j * step), false).value - highest);
      sum += weight;
      a += weight * i, b += weight * j, aa += weight * i * i, ab += weight * i * j;
    }
  if (!std::isfinite(sum) || !(sum > 0)) return maximum;
  a /= sum, b /= sum;
  const double deviation = std::sqrt(std::max(aa / sum - a * a, 0.0));
  if (!(deviation > 0)) return maximum;
  VectorXd at = moved(step * (a - deviation), step * (b - (ab / sum - a * b) / deviation));
  at.head(d) = at.head(d).cwiseMax(std::log(shortest));
  return at;
}

}  // namespace

double Kriging::log_posterior(const Samples& samples, const KrigingOptions& options, const VectorXd& parameters,
                              VectorXd* gradient) {
  const Posterior p = posterior(prepare(samples, options), options, parameters, gradient != nullptr);
  if (gradient) *gradient = p.gradient;
  return p.value;
}

Samples Samples::chosen(const std::vector<Index>& which) const {
  Samples some;
  some.x = x(Eigen::all, which);
  some.y = y(which);
  if (gradient.size() > 0) some.gradient = gradient(Eigen::all, which);
  if (variance.size() > 0) some.variance = variance(which);
  if (covariance.size() > 0) some.covariance = covariance(which, which);
  if (working.size() > 0) some.working = working(which, which);
  return some;
}

Kriging Kriging::fit(const Samples& samples, const KrigingOptions& options, const Hyperparameters* start) {
  const Prepared p = prepare(samples, options);
  const Index d = p.x.rows();
  const Parameters which{d, p.has_variance(), options.nugget};
  VectorXd lower = VectorXd::Constant(which.size(), std::log(shortest));
  VectorXd upper = VectorXd::Constant(which.size(), std::log(longest));
  if (p.has_variance()) lower(d) = std::log(1e-6), upper(d) = std::log(1e6);
  if (options.nugget) lower(which.size() - 1) = std::log(least_nugget), upper(which.size() - 1) = std::log(most_nugget);

  BoundedSearch limits{lower, upper, options.max_evaluations};
  limits.value_tolerance = 1e-3;  // smaller differences of the log posterior are not significant
  limits.unusable = -1e10;
  Maximum best;
  const auto attempt = [&](const VectorXd& from) {
    const Maximum found = maximise(
        [&](const VectorXd& at, VectorXd* gradient) {
          const Posterior here = posterior(p, options, at, gradient != nullptr);
          if (gradient) *gradient = here.gradient.size() > 0 ? here.gradient : VectorXd::Zero(at.size());
          return here.value;
        },
        from, limits);
    if (found.value > best.value) best = found;
  };

  VectorXd centre = VectorXd::Zero(which.size());
  centre.head(d).setConstant(prior_mean(d));
  if (options.nugget) centre(which.size() - 1) = std::log(1e-2);
  int starts = std::max(options.starts, 1);
  if (start && start->log_length.size() == d) {
    VectorXd from = centre;
    from.head(d) = start->log_length;
    if (p.has_variance() && start->variance > 0) from(d) = std::log(start->variance) - 2 * std::log(p.spread);
    if (options.nugget && start->nugget > 0) from(which.size() - 1) = std::log(start->nugget);
    attempt(from);
    --starts;
  }
  Random random(static_cast<std::uint64_t>(d));
  for (int i = 0; i < starts; ++i) {
    VectorXd from = centre;
    if (i > 0)
      for (Index m = 0; m < d; ++m) from(m) += prior_deviation * (2 * random.uniform() - 1) - (i % 2 ? 0.7 : 0.0);
    attempt(from);
  }
  if (best.at.size() == 0) best.at = centre;

  const Posterior there = posterior(p, options, best.at, false);
  const VectorXd at = p.noisy ? shortened(p, options, best.at, there.value) : best.at;
  Hyperparameters h;
  h.log_length = at.head(d);
  h.nugget = options.nugget ? std::exp(at(which.size() - 1)) : 0;
  h.variance = (p.has_variance() ? std::exp(at(d)) : there.variance) * p.spread * p.spread;
  h.likelihood = there.value - static_cast<double>(p.observed.size()) * std::log(p.spread);
  if (p.low) {
    h.factor = p.factor;
    h.factor = with(samples, options, h).factor();
  }
  return with(samples, options, h);
}

Kriging Kriging::with(const Samples& samples, const KrigingOptions& options, const Hyperparameters& hyperparameters) {
  const Prepared p = prepare(samples, options, hyperparameters.factor);
  if (hyperparameters.log_length.size() != p.x.rows() || !hyperparameters.log_length.allFinite())
    throw std::invalid_argument("kriging: hyperparameters of another number of variables");
  Kriging out;
  out.hyper_ = hyperparameters;
  out.centre_ = p.centre;
  out.spread_ = p.spread;
  out.variance_ = hyperparameters.variance / p.spread / p.spread;
  if (!(out.variance_ > 1e-12 && out.variance_ < 1e12)) out.variance_ = 1;
  out.hyper_.variance = out.variance_ * p.spread * p.spread;
  auto f =
      std::make_shared<KrigingFactor>(places(p, hyperparameters.log_length, hyperparameters.nugget, out.variance_));
  const MatrixXd r = f->correlations();
  if (!factorise(*f, r, true)) throw std::logic_error("kriging: correlations that no nugget makes definite");
  f->finish();
  out.factor_ = f;
  out.observed_ = p.observed;
  out.solve();
  return out;
}

Kriging Kriging::with_lengths_of(const Samples& samples, const KrigingOptions& options,
                                 Hyperparameters hyperparameters) {
  const Prepared p = prepare(samples, options, hyperparameters.factor);
  if (!p.has_variance()) {
    const Posterior there = posterior(p, options, parameters_of(hyperparameters, p, options), false);
    if (std::isfinite(there.value)) hyperparameters.variance = there.variance * p.spread * p.spread;
  }
  return with(samples, options, hyperparameters);
}

std::vector<Kriging::Alternative> Kriging::alternatives(const Samples& samples, const KrigingOptions& options,
                                                        const Hyperparameters& found) {
  constexpr int half = 4;       // number of factors on each side of 1
  constexpr double step = 0.5;  // distance between the logarithms of two factors
  const Prepared p = prepare(samples, options, found.factor);
  std::vector<Alternative> all;
  std::vector<double> densities;  // logarithms of the posterior densities
  for (int i = -half; i <= half; ++i) {
    Hyperparameters h = found;
    h.log_length = (found.log_length.array() + i * step).max(std::log(shortest)).min(std::log(longest));
    const Posterior there = posterior(p, options, parameters_of(h, p, options), false);
    if (!std::isfinite(there.value)) continue;
    h.variance = there.variance * p.spread * p.spread;
    all.push_back({with(samples, options, h), 0});
    densities.push_back(there.value);
  }
  if (all.empty()) return {{with(samples, options, found), 1}};
  const double highest = *std::max_element(densities.begin(), densities.end());
  double sum = 0;
  for (std::size_t i = 0; i < all.size(); ++i) sum += all[i].share = std::exp(densities[i] - highest);
  for (Alternative& one : all) one.share /= sum;
  return all;
}

void Kriging::solve() {
  const auto lower = factor_->lower.triangularView<Eigen::Lower>();
  const auto upper = factor_->lower.transpose().triangularView<Eigen::Upper>();
  const VectorXd white = lower.solve(observed_);
  beta_ = factor_->information.solve(factor_->whitened.transpose() * white);
  alpha_ = upper.solve(white - factor_->whitened * beta_);
}

Index Kriging::samples() const { return factor_->samples(); }
double Kriging::factor() const { return factor_->in_trend ? beta_(beta_.size() - 1) : 0; }
double Kriging::prior_variance() const {
  return hyper_.variance +
         (factor_->low ? hyper_.factor * hyper_.factor * factor_->low->model->hyperparameters().variance : 0);
}
double Kriging::noise_variance() const { return hyper_.nugget * hyper_.variance; }

Prediction Kriging::predict(const VectorXd& x) const {
  assert(factor_ && x.size() == factor_->dimensions());
  const KrigingFactor& f = *factor_;
  const Index d = f.dimensions();
  VectorXd k(f.rows());
  MatrixXd dk(f.rows(), d);
  f.cross(x, k, &dk);
  JointRows low;
  if (f.low) {
    low = f.low_rows(x, true);
    const MatrixXd more = f.low_cross(low);
    k += more.col(0);
    dk += more.rightCols(d);
  }
  const auto lower = f.lower.triangularView<Eigen::Lower>();
  const auto upper = f.lower.transpose().triangularView<Eigen::Upper>();
  const VectorXd trend = f.trend_at(f.low ? low.mean(0) : 0);
  const VectorXd v = lower.solve(k), w = upper.solve(v);
  const VectorXd u = trend - f.whitened.transpose() * v;
  const VectorXd information_u = f.information.solve(u);
  MatrixXd du = -f.weighted.transpose() * dk;  // [coefficients, variables]
  VectorXd trend_slope = VectorXd::Zero(d);
  if (f.in_trend) {
    du.row(du.rows() - 1) += low.mean.tail(d).transpose() / f.spread;
    trend_slope += beta_(beta_.size() - 1) / f.spread * low.mean.tail(d);
  }
  Prediction p;
  p.mean = centre_ + spread_ * (trend.dot(beta_) + k.dot(alpha_));
  p.mean_gradient = spread_ * (trend_slope + dk.transpose() * alpha_);
  double variance = 1 - v.squaredNorm() + u.dot(information_u);
  VectorXd slope = 2 * (du.transpose() * information_u - dk.transpose() * w);
  if (f.excess.size() > 0) {
    const VectorXd weights = f.weights(v, u), of_excess = f.excess * weights;
    variance += of_excess.dot(weights);
    slope += 2 * f.weights(lower.solve(dk), du).transpose() * of_excess;
  }
  if (f.low) {
    const MatrixXd prior = f.share * f.low->model->covariance(low, low);
    variance += prior(0, 0);
    slope += 2 * prior.col(0).tail(d);
  }
  const double unit = variance_ * spread_ * spread_;
  p.variance = unit * std::max(variance, 0.0);
  p.variance_gradient = variance > 0 ? VectorXd(unit * slope) : VectorXd::Zero(d);
  return p;
}

Kriging::Mean Kriging::mean() const {
  const KrigingFactor& f = *factor_;
  assert(!f.low);
  Mean m{f.x,     f.inverse_square, VectorXd(f.samples()), MatrixXd::Zero(f.dimensions(), f.samples()), beta_(0),
         centre_, spread_};
  for (Index i = 0; i < f.samples(); ++i) {
    m.values(i) = alpha_(f.first[i]);
    if (f.has_gradient(i)) m.gradients.col(i) = alpha_.segment(f.first[i] + 1, f.dimensions());
  }
  return m;
}

void Kriging::predict(const MatrixXd& x, VectorXd& mean, VectorXd& variance) const {
  assert(factor_ && x.rows() == factor_->dimensions());
  const KrigingFactor& f = *factor_;
  MatrixXd k(f.rows(), x.cols()), trend(f.coefficients(), x.cols());
  for (Index i = 0; i < x.cols(); ++i) {
    f.cross(x.col(i), k.col(i), nullptr);
    trend.col(i) = f.trend_at();
  }
  VectorXd prior = VectorXd::Ones(x.cols());
  if (f.low) {
    const JointRows low = f.low_rows(x, false);
    k += f.low_cross(low);
    prior += f.share * f.low->model->variances(low);
    if (f.in_trend) trend.bottomRows(1) = ((low.mean.array() - f.centre) / f.spread).matrix().transpose();
  }
  mean = centre_ + (spread_ * (trend.transpose() * beta_ + k.transpose() * alpha_)).array();
  f.whiten(k);
  trend.noalias() -= f.whitened.transpose() * k;
  const VectorXd more =
      VectorXd(trend.cwiseProduct(f.information.solve(trend)).colwise().sum()) + f.excess_variance(k, trend);
  variance = (prior.array() - k.colwise().squaredNorm().transpose().array() + more.array()).max(0.0) *
             (variance_ * spread_ * spread_);
}

void Kriging::predict_difference(const MatrixXd& x, const VectorXd& from, VectorXd& mean, VectorXd& variance) const {
  assert(factor_ && x.rows() == factor_->dimensions() && from.size() == x.rows());
  const KrigingFactor& f = *factor_;
  VectorXd k_of_origin(f.rows()), prior(x.cols());
  f.cross(from, k_of_origin, nullptr);
  MatrixXd k(f.rows(), x.cols()), trend = MatrixXd::Zero(f.coefficients(), x.cols());
  for (Index i = 0; i < x.cols(); ++i) {
    f.cross(x.col(i), k.col(i), nullptr);
    k.col(i) -= k_of_origin;
    prior(i) = 2 - 2 * matern52(f.squared_distance(x.col(i) - from)).k;
  }
  if (f.low) {
    const JointRows there = f.low_rows(x, false), here = f.low_rows(from, false);
    const Kriging& low = *f.low->model;
    k += f.low_cross(there);
    k.colwise() -= VectorXd(f.low_cross(here));
    prior += f.share * (low.variances(there).array() + low.variances(here)(0)).matrix();
    prior -= 2 * f.share * low.covariance(there, here);
    if (f.in_trend) trend.bottomRows(1) = ((there.mean.array() - here.mean(0)) / f.spread).matrix().transpose();
  }
  mean = spread_ * (trend.transpose() * beta_ + k.transpose() * alpha_);
  f.lower.triangularView<Eigen::Lower>().solveInPlace(k);
  trend.noalias() -= f.whitened.transpose() * k;
  const VectorXd more =
      VectorXd(trend.cwiseProduct(f.information.solve(trend)).colwise().sum()) + f.excess_variance(k, trend);
  variance = (prior - k.colwise().squaredNorm().transpose() + more).cwiseMax(0) * (variance_ * spread_ * spread_);
}

MatrixXd Kriging::covariance(const MatrixXd& x) const {
  assert(factor_ && x.rows() == factor_->dimensions());
  const KrigingFactor& f = *factor_;
  const Index m = x.cols();
  MatrixXd k(f.rows(), m), trend(f.coefficients(), m), c(m, m);
  for (Index i = 0; i < m; ++i) {
    f.cross(x.col(i), k.col(i), nullptr);
    trend.col(i) = f.trend_at();
    for (Index j = 0; j <= i; ++j) c(i, j) = c(j, i) = matern52(f.squared_distance(x.col(i) - x.col(j))).k;
  }
  if (f.low) {
    const JointRows low = f.low_rows(x, false);
    k += f.low_cross(low);
    c += f.share * f.low->model->covariance(low, low);
    if (f.in_trend) trend.bottomRows(1) = ((low.mean.array() - f.centre) / f.spread).matrix().transpose();
  }
  f.lower.triangularView<Eigen::Lower>().solveInPlace(k);
  trend.noalias() -= f.whitened.transpose() * k;
  c += trend.transpose() * f.information.solve(trend) - k.transpose() * k;
  if (f.excess.size() > 0) {
    const MatrixXd w = f.weights(k, trend);
    c += w.transpose() * f.excess * w;
  }
  return variance_ * spread_ * spread_ * c;
}

void Kriging::JointRows::append(const JointRows& more) {
  const Index points = x.cols(), before = mean.size(), added = more.mean.size();
  x.conservativeResize(Eigen::NoChange, points + more.x.cols());
  x.rightCols(more.x.cols()) = more.x;
  for (std::size_t i = 1; i < more.first.size(); ++i) first.push_back(before + more.first[i]);
  mean.conservativeResize(before + added);
  mean.tail(added) = more.mean;
  white.conservativeResize(Eigen::NoChange, before + added);
  white.rightCols(added) = more.white;
  trend.conservativeResize(Eigen::NoChange, before + added);
  trend.rightCols(added) = more.trend;
}

Kriging::JointRows Kriging::joint_rows(const MatrixXd& x, const std::vector<bool>& has_gradient) const {
  assert(factor_ && !factor_->low && x.rows() == factor_->dimensions());
  const KrigingFactor& f = *factor_;
  const Index d = f.dimensions();
  JointRows out;
  out.x = x;
  out.first = {0};
  for (const bool with_gradient : has_gradient) out.first.push_back(out.first.back() + (with_gradient ? 1 + d : 1));
  MatrixXd k(f.rows(), out.first.back());
  Separation between;
  out.trend = MatrixXd::Zero(f.coefficients(), out.first.back());
  for (Index i = 0; i < x.cols(); ++i) {
    const Index c = out.first[i], count = out.first[i + 1] - c;
    for (Index j = 0; j < f.samples(); ++j) {
      between.set(f.x.col(j), out.x.col(i), f.inverse_square);
      f.block(between, k.block(f.first[j], c, f.first[j + 1] - f.first[j], count));
    }
    out.trend.col(c) = f.trend_at();
  }
  out.mean = spread_ * (out.trend.transpose() * beta_ + k.transpose() * alpha_);
  for (Index i = 0; i < x.cols(); ++i) out.mean(out.first[i]) += centre_;
  f.lower.triangularView<Eigen::Lower>().solveInPlace(k);
  out.white = std::move(k);
  out.trend -= f.whitened.transpose() * out.white;
  return out;
}

MatrixXd Kriging::covariance(const JointRows& a, const JointRows& b) const {
  const KrigingFactor& f = *factor_;
  MatrixXd c(a.mean.size(), b.mean.size());
  Separation between;
  for (Index i = 0; i < a.x.cols(); ++i)
    for (Index j = 0; j < b.x.cols(); ++j) {
      between.set(a.x.col(i), b.x.col(j), f.inverse_square);
      f.block(between, c.block(a.first[i], b.first[j], a.first[i + 1] - a.first[i], b.first[j + 1] - b.first[j]));
    }
  c.noalias() -= a.white.transpose() * b.white;
  c.noalias() += a.trend.transpose() * f.information.solve(b.trend);
  if (f.excess.size() > 0) c += f.weights(a.white, a.trend).transpose() * f.excess * f.weights(b.white, b.trend);
  return variance_ * spread_ * spread_ * c;
}

VectorXd Kriging::variances(const JointRows& values) const {
  const KrigingFactor& f = *factor_;
  const VectorXd more = VectorXd(values.trend.cwiseProduct(f.information.solve(values.trend)).colwise().sum()) +
                        f.excess_variance(values.white, values.trend);
  return (1 - values.white.colwise().squaredNorm().transpose().array() + more.array()).max(0.0) *
         (variance_ * spread_ * spread_);
}

MatrixXd Kriging::drawn(const MatrixXd& x, const MatrixXd& normal) const {
  VectorXd mean, variance;
  predict(x, mean, variance);
  const MatrixXd joint = covariance(x), one = MatrixXd::Identity(x.cols(), x.cols());
  Eigen::LLT<MatrixXd> llt;
  // The addition to the diagonal is an independent error of each point, which lowers the minimum of drawn functions. So
  // the addition is as small as possible.
  double extra = covariance_rounding * hyper_.variance + 1e-300;
  llt.compute(joint + extra * one);
  for (int i = 0; i < 20 && llt.info() != Eigen::Success; ++i) llt.compute(joint + (extra *= 10) * one);
  const MatrixXd root = llt.matrixL();
  return (root * normal).colwise() + mean;
}

Kriging Kriging::grown(const VectorXd& x, double y, const VectorXd& gradient, double noise) const {
  assert(factor_ && x.size() == factor_->dimensions() && std::isfinite(y) && noise >= 0);
  const KrigingFactor& old = *factor_;
  const Index d = old.dimensions(), n = old.samples(), rows = old.rows();
  const Index more = gradient.size() == d && gradient.allFinite() ? 1 + d : 1;
  auto f = std::make_shared<KrigingFactor>();
  f->inverse_square = old.inverse_square;
  f->x.resize(d, n + 1);
  f->x << old.x, x;
  f->first = old.first;
  f->first.push_back(rows + more);
  f->noise.resize(n + 1);
  f->noise << old.noise, hyper_.nugget + noise / hyper_.variance;

  MatrixXd across(rows, more), own(more, more);
  Separation between;
  for (Index i = 0; i < n; ++i) {
    between.set(f->x.col(i), x, f->inverse_square);
    f->block(between, across.middleRows(old.first[i], old.first[i + 1] - old.first[i]));
  }
  f->own_block(n, between, own);
  if (old.low) {
    auto low = std::make_shared<LowFidelityRows>(*old.low);
    const JointRows there = low->model->joint_rows(x, {more > 1});
    const MatrixXd cross = low->model->covariance(low->rows, there), itself = low->model->covariance(there, there);
    across += old.share * cross;
    own += old.share * itself;
    low->rows.append(there);
    low->covariance.conservativeResize(rows + more, rows + more);
    low->covariance.topRightCorner(rows, more) = cross;
    low->covariance.bottomLeftCorner(more, rows) = cross.transpose();
    low->covariance.bottomRightCorner(more, more) = itself;
    f->low = low;
    f->share = old.share;
    f->in_trend = old.in_trend;
    f->centre = old.centre;
    f->spread = old.spread;
  }
  old.lower.triangularView<Eigen::Lower>().solveInPlace(across);
  const VectorXd unexplained = own.diagonal();
  own.noalias() -= across.transpose() * across;
  if (!((own.diagonal().array() > 1e-9 * unexplained.array()).all())) return *this;
  const Eigen::LLT<MatrixXd> llt(own);
  if (llt.info() != Eigen::Success) return *this;
  f->lower = MatrixXd::Zero(rows + more, rows + more);
  f->lower.topLeftCorner(rows, rows) = old.lower;
  f->lower.bottomLeftCorner(more, rows) = across.transpose();
  f->lower.bottomRightCorner(more, more) = MatrixXd(llt.matrixL());
  if (old.excess.size() > 0) {
    f->excess = MatrixXd::Zero(rows + more, rows + more);
    f->excess.topLeftCorner(rows, rows) = old.excess;
  }
  f->finish();

  Kriging out = *this;
  out.factor_ = f;
  out.observed_.conservativeResize(rows + more);
  out.observed_(rows) = (y - centre_) / spread_;
  if (more > 1) out.observed_.tail(d) = gradient / spread_;
  out.solve();
  return out;
}

MatrixXd Kriging::sample_places() const { return factor_->x; }

Kriging::LeaveOneOut Kriging::leave_one_out() const {
  std::vector<Index> all(factor_->samples());
  std::iota(all.begin(), all.end(), Index(0));
  return leave_one_out(all);
}

// With Q = R^-1 - R^-1 F (F^T R^-1 F)^-1 F^T R^-1 and the rows b of one sample, the error of the prediction of these
// rows from all other rows is (Q_bb)^-1 (Q y)_b. Its covariance is variance (Q_bb)^-1.
Kriging::LeaveOneOut Kriging::leave_one_out(const std::vector<Index>& which) const {
  assert(std::all_of(which.begin(), which.end(), [&](Index i) { return i >= 0 && i < factor_->samples(); }));
  const KrigingFactor& f = *factor_;
  const Index n = which.size();
  std::vector<Index> first = {0};  // index of the column of each sample's value; at the end the number of columns
  for (const Index i : which) first.push_back(first.back() + f.first[i + 1] - f.first[i]);
  // L^-1 and R^-1 F of the sample's rows. They give the diagonal blocks of R^-1 - R^-1 F (F^T R^-1 F)^-1 F^T R^-1.
  MatrixXd root = MatrixXd::Zero(f.rows(), first.back()), weighted(first.back(), f.weighted.cols());
  for (Index k = 0; k < n; ++k) {
    const Index r = f.first[which[k]], m = first[k + 1] - first[k];
    root.block(r, first[k], m, m).setIdentity();
    weighted.middleRows(first[k], m) = f.weighted.middleRows(r, m);
  }
  f.lower.triangularView<Eigen::Lower>().solveInPlace(root);
  LeaveOneOut out;
  out.observed.resize(n);
  out.mean.resize(n);
  out.variance.resize(n);
  for (Index k = 0; k < n; ++k) {
    const Index r = f.first[which[k]], m = first[k + 1] - first[k];
    const auto columns = root.middleCols(first[k], m);
    const auto trend = weighted.middleRows(first[k], m);
    const MatrixXd block = columns.transpose() * columns - trend * f.information.solve(trend.transpose());
    const Eigen::LDLT<MatrixXd> ldlt(block);
    VectorXd unit = VectorXd::Zero(m);
    unit(0) = 1;
    double error = ldlt.solve(VectorXd(alpha_.segment(r, m)))(0), spread = ldlt.solve(unit)(0);
    // no other samples determine this one
    if (f.samples() < 2 || !std::isfinite(error) || !(spread > 0)) error = 0, spread = 1;
    out.observed(k) = centre_ + spread_ * observed_(r);
    out.mean(k) = out.observed(k) - spread_ * error;
    out.variance(k) = variance_ * spread_ * spread_ * spread;
  }
  return out;
}

double Kriging::LeaveOneOut::log_density() const {
  const VectorXd square = (observed - mean).cwiseAbs2().cwiseQuotient(variance);
  return -0.5 * (square.array() + (2 * std::numbers::pi * variance.array()).log()).sum();
}

double Kriging::LeaveOneOut::quality() const {
  if (observed.size() < 2) return 0;
  const double largest = (observed.array() - observed.mean()).abs().maxCoeff();
  if (!(largest > 0)) return 0;
  return 1 - ((observed - mean) / largest).squaredNorm() /
                 ((observed.array() - observed.mean()) / largest).matrix().squaredNorm();
}

}  // namespace dodyn::surrogate
