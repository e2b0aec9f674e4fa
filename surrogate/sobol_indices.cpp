#include "surrogate/sobol_indices.hpp"

#include <cmath>

#include "surrogate/random.hpp"
#include "surrogate/sampling.hpp"

namespace dodyn::surrogate {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

namespace {

constexpr int resamples = 100;

}  // namespace

SobolIndices sobol_indices(const std::function<VectorXd(const MatrixXd&)>& f, int d, int samples, std::uint64_t seed) {
  const MatrixXd points = sobol(2 * d, samples, seed);
  const MatrixXd a = points.topRows(d), b = points.bottomRows(d);
  const VectorXd fa = f(a), fb = f(b);
  SobolIndices out;
  out.mean = (fa.mean() + fb.mean()) / 2;
  out.variance = ((fa.array() - out.mean).square().mean() + (fb.array() - out.mean).square().mean()) / 2;
  out.first = out.total = out.first_error = out.total_error = VectorXd::Zero(d);
  if (!(out.variance > min_relative_variance * out.mean * out.mean)) return out;
  for (Index i = 0; i < d; ++i) {
    MatrixXd mixed = a;
    mixed.row(i) = b.row(i);
    const VectorXd fm = f(mixed);
    // centred: the expectation is the same, with less variance if the mean is large
    const VectorXd first = (fb.array() - out.mean) * (fm - fa).array();
    const VectorXd total = (fa - fm).array().square() / 2;
    const VectorXd spread = ((fa.array() - out.mean).square() + (fb.array() - out.mean).square()) / 2;
    out.first(i) = first.mean() / out.variance;
    out.total(i) = total.mean() / out.variance;
    Random random(seed + static_cast<std::uint64_t>(i));
    double sums[4] = {};
    for (int k = 0; k < resamples; ++k) {
      double one = 0, all = 0, of = 0;
      for (int j = 0; j < samples; ++j) {
        const auto row = static_cast<Index>(random.uniform() * samples);
        one += first(row), all += total(row), of += spread(row);
      }
      sums[0] += one / of, sums[1] += one / of * (one / of), sums[2] += all / of, sums[3] += all / of * (all / of);
    }
    const auto deviation = [](double sum, double squares) {
      return std::sqrt(std::max(squares / resamples - sum * sum / (resamples * resamples), 0.0));
    };
    out.first_error(i) = deviation(sums[0], sums[1]);
    out.total_error(i) = deviation(sums[2], sums[3]);
  }
  return out;
}

MatrixXd main_effects(const std::function<VectorXd(const MatrixXd&)>& f, int d, int points, int samples,
                      std::uint64_t seed) {
  MatrixXd effects(d, points);
  const MatrixXd others = sobol(d, samples, seed);
  for (Index i = 0; i < d; ++i)
    for (int k = 0; k < points; ++k) {
      MatrixXd at = others;
      at.row(i).setConstant(static_cast<double>(k) / (points - 1));
      effects(i, k) = f(at).mean();
    }
  return effects;
}

}  // namespace dodyn::surrogate
