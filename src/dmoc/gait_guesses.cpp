// Where searches for a gait begin.
#include <algorithm>
#include <cmath>
#include <numbers>
#include <random>

#include "dmoc/gait.hpp"

namespace dodyn::dmoc {

Eigen::VectorXd WalkerGait::cold_start(std::uint64_t seed) const {
  const int joints = walker_->joints, K = index().intervals;
  std::mt19937_64 random(seed);
  // uniform in [-1, 1), the same on every standard library
  const auto uniform = [&] { return static_cast<double>(random() >> 11) * 0x1.0p-52 - 1.0; };

  std::vector<double> step(walker_->base, 0.0), first(walker_->n());
  step[0] = settings_.step_length.value;
  if (walker_->base == 3) step[1] = settings_.step_width.value;
  std::vector<double> last = design_.plain().touch_down(step);
  for (int i = 0; i < joints; ++i) last[i] += 0.1 * walker_->spread[i] * uniform();
  exchanged_->evaluate(last.data(), first.data());

  Eigen::VectorXd x = Eigen::VectorXd::Zero(motion_problem_.size());
  for (int i = 0; i < joints; ++i) {
    const double bow = 0.4 * walker_->spread[i] * uniform(), wave = 0.1 * walker_->spread[i] * uniform();
    for (int k = 0; k <= K; ++k) {
      const double s = static_cast<double>(k) / K, angle = std::numbers::pi * s;
      x(index().theta(k) + i) =
          (1.0 - s) * first[walker_->base + i] + s * last[i] + bow * std::sin(angle) + wave * std::sin(2.0 * angle);
    }
  }
  if (settings_.knee_stops)
    for (const auto& knee : walker_->knees)
      for (int k = 0; k <= K; ++k) {
        double& angle = x(index().theta(k) + knee.joint);
        angle = knee.flexion * std::abs(angle);
      }
  motion_problem_.fill(x);
  return x;
}

Eigen::VectorXd WalkerGait::warm_start(const Eigen::MatrixXd& q, const Eigen::MatrixXd& u) const {
  Eigen::VectorXd x = Eigen::VectorXd::Zero(motion_problem_.size());
  for (int k = 0; k <= index().intervals; ++k) {
    x.segment(index().theta(k), walker_->joints) = q.row(k).tail(walker_->joints).transpose();
    if (k < index().intervals) x.segment(index().control(k), walker_->inputs()) = u.row(k).transpose();
  }
  motion_problem_.fill(x);
  return x;
}

Eigen::VectorXd WalkerGait::shifted(const GaitMotion& motion, double nodes) const {
  const int K = index().intervals;
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
  const Eigen::Index K = index().intervals, old = coarse.u.rows();
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

}  // namespace dodyn::dmoc
