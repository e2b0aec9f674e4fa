// Feedback that keeps a system near a motion: the linear-quadratic regulator of a time-varying discrete linear system
// with known disturbances r.
//
//   minimise  1/2 sum over k < K of (x_k^T Q x_k + u_k^T R u_k) + 1/2 x_K^T Q_K x_K,  x_k+1 = A_k x_k + B_k u_k + r_k
//
// by the backward Riccati recursion. The value function 1/2 x^T S x + s^T x has a linear term because of r.
#pragma once

#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <algorithm>
#include <vector>

namespace dodyn::evaluators {

// Default weights by Bryson's rule: the inverse squares of these deviations of coordinates (m, rad) and rates, and of
// corrections relative to the largest control. Q_K is the last one times Q.
inline constexpr double usual_deviation = 1e-3, usual_deviation_of_rate = 1e-2, usual_correction = 2e-3,
                        weight_at_the_end = 1e2;

struct LinearInterval {
  Eigen::MatrixXd A, B;
  Eigen::VectorXd r;
};
// The control law u_k = -gain x_k - ahead.
struct Feedback {
  Eigen::MatrixXd gain;
  Eigen::VectorXd ahead;
};

// Returns the control law of each interval, [K]. Q, R: diagonals. Q_K = `last` Q.
inline std::vector<Feedback> regulator(const std::vector<LinearInterval>& intervals, const Eigen::VectorXd& Q,
                                       const Eigen::VectorXd& R, double last) {
  std::vector<Feedback> all(intervals.size());
  Eigen::MatrixXd S = (last * Q).asDiagonal();
  Eigen::VectorXd s = Eigen::VectorXd::Zero(Q.size());
  for (std::size_t k = intervals.size(); k-- > 0;) {
    const auto& [A, B, r] = intervals[k];
    Eigen::MatrixXd H = B.transpose() * S * B;
    H.diagonal() += R;
    const Eigen::LDLT<Eigen::MatrixXd> factor(H);
    const Eigen::VectorXd push = S * r + s;
    all[k].gain = factor.solve(B.transpose() * S * A);
    all[k].ahead = factor.solve(B.transpose() * push);
    s = A.transpose() * (push - S * B * all[k].ahead);
    S = A.transpose() * S * (A - B * all[k].gain);
    S = (0.5 * (S + S.transpose())).eval();
    S.diagonal() += Q;
  }
  return all;
}

// Returns the control laws with the default weights. x: coordinates, then their rates. `largest_control`: largest
// control of the motion, N or N m.
inline std::vector<Feedback> regulator(const std::vector<LinearInterval>& intervals, double largest_control) {
  const Eigen::Index size = intervals.front().A.rows(), inputs = intervals.front().B.cols();
  Eigen::VectorXd Q(size);
  Q << Eigen::VectorXd::Constant(size / 2, 1.0 / (usual_deviation * usual_deviation)),
      Eigen::VectorXd::Constant(size / 2, 1.0 / (usual_deviation_of_rate * usual_deviation_of_rate));
  const double scale = usual_correction * std::max(largest_control, 1e-9);
  return regulator(intervals, Q, Eigen::VectorXd::Constant(inputs, 1.0 / (scale * scale)), weight_at_the_end);
}

}  // namespace dodyn::evaluators
