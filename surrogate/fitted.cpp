#include "surrogate/fitted.hpp"

#include <cmath>
#include <stdexcept>

namespace dodyn::surrogate {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

namespace {

constexpr double band = 1.959963984540054;  // standard deviations on either side that hold 95 %
constexpr Index most_left_out = 500;        // samples up to which each is told from the others

}  // namespace

Fitted::Fitted(const Evidence& evidence, int metric) : evidence_(evidence) {
  const DesignSpace& space = evidence.space;
  const auto value = [&](const Evaluation& e) {
    return metric < 0 ? e.cost : metric < e.metrics.size() ? e.metrics(metric) : not_a_number;
  };
  const bool noisy = metric < 0 && evidence.noisy();  // nothing is known of the noise of their gradients
  std::vector<const Evaluation*> good;
  bool gradient = false;
  for (const Evaluation& e : evidence.told) {
    if (!e.ok() || !(std::abs(value(e)) <= Kriging::most_magnitude)) continue;
    good.push_back(&e);
    gradient |= metric < 0 && !noisy && space.all_real() && e.gradient.size() == space.dimensions() && e.gradient.allFinite();
  }
  used_ = static_cast<Index>(good.size());
  if (used_ < 2)
    throw std::invalid_argument("only " + std::to_string(used_) +
                                (used_ == 1 ? " evaluation has" : " evaluations have") + " it; two are needed");
  Samples s;
  s.x.resize(space.embedded(), used_);
  s.y.resize(used_);
  if (gradient) s.gradient = MatrixXd::Constant(space.embedded(), used_, not_a_number);
  if (noisy) s.variance.resize(used_);
  for (Index i = 0; i < used_; ++i) {
    const Evaluation& e = *good[static_cast<std::size_t>(i)];
    s.x.col(i) = space.embed(evidence.unit(e));
    s.y(i) = value(e);
    if (gradient && e.gradient.size() == space.dimensions() && e.gradient.allFinite())
      s.gradient.col(i) = e.gradient.cwiseProduct(space.range());
    if (noisy) s.variance(i) = e.cost_stderr * e.cost_stderr;
  }
  KrigingOptions options;
  options.scale = VectorXd::Ones(space.embedded());
  options.nugget = noisy;
  // The warp moves by a decade at each fit.
  for (double width = not_a_number; tracked_.empty() || tracked_.warp().width != width;) {
    width = tracked_.empty() ? not_a_number : tracked_.warp().width;
    tracked_.update(s, options, metric < 0 && !noisy, true);
    if (noisy || metric >= 0) break;
  }
  if (used_ <= most_left_out)
    quality_ = tracked_.model().leave_one_out().quality();
  else
    quality_ = not_a_number;
}

Forecast Fitted::at(const VectorXd& design) const {
  const Prediction p = tracked_.model().predict(evidence_.space.embed(evidence_.space.unit(design)));
  const double sd = std::sqrt(std::max(p.variance, 0.0));
  const Warp& warp = tracked_.warp();
  return {warp.backward(p.mean), warp.backward(p.mean - band * sd), warp.backward(p.mean + band * sd)};
}

double Fitted::probability_below(const VectorXd& design, double limit) const {
  const Prediction p = tracked_.model().predict(evidence_.space.embed(evidence_.space.unit(design)));
  const double distance = tracked_.warp().forward(limit) - p.mean, sd = std::sqrt(std::max(p.variance, 0.0));
  if (sd == 0) return distance >= 0 ? 1 : 0;
  return 0.5 * std::erfc(-distance / (sd * std::sqrt(2.0)));
}

VectorXd Fitted::middles(const MatrixXd& units) const {
  MatrixXd z(evidence_.space.embedded(), units.cols());
  for (Index i = 0; i < units.cols(); ++i)
    z.col(i) = evidence_.space.embed(evidence_.space.unit(evidence_.space.design(units.col(i))));
  VectorXd mean, variance;
  tracked_.model().predict(z, mean, variance);
  const Warp& warp = tracked_.warp();
  return mean.unaryExpr([&](double w) { return warp.backward(w); });
}

Viability viability_of(const Evidence& evidence) {
  MatrixXd x(evidence.space.embedded(), static_cast<Index>(evidence.told.size()));
  std::vector<bool> viable;
  for (std::size_t i = 0; i < evidence.told.size(); ++i) {
    x.col(static_cast<Index>(i)) = evidence.space.embed(evidence.unit(evidence.told[i]));
    viable.push_back(evidence.told[i].ok());
  }
  return Viability(x, viable);
}

}  // namespace dodyn::surrogate
