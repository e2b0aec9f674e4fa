#include "rigid/equilibrium_test.hpp"

#include <Eigen/Cholesky>
#include <Eigen/QR>
#include <algorithm>
#include <cmath>
#include <numbers>

namespace dodyn::rigid {

Eigen::VectorXd nonnegative_least_squares(const Eigen::MatrixXd& A, const Eigen::VectorXd& b) {
  const Eigen::Index count = A.cols();
  Eigen::VectorXd x = Eigen::VectorXd::Zero(count);
  std::vector<Eigen::Index> passive;  // indices of the positive variables (Lawson and Hanson's passive set)
  std::vector<char> is_passive(count, 0), refused(is_passive);
  const double small = 1e-12 * (1.0 + b.norm()) * (1.0 + A.norm());
  for (Eigen::Index round = 0; round < 3 * count + 10; ++round) {
    const Eigen::VectorXd slope = A.transpose() * (b - A * x);
    Eigen::Index best = -1;
    for (Eigen::Index j = 0; j < count; ++j)
      if (const std::size_t at = j;
          !is_passive[at] && !refused[at] && slope[j] > small && (best < 0 || slope[j] > slope[best]))
        best = j;
    if (best < 0) break;
    passive.push_back(best);
    is_passive[best] = 1;
    bool entered = true;
    while (!passive.empty()) {
      Eigen::MatrixXd columns(A.rows(), passive.size());
      for (std::size_t k = 0; k < passive.size(); ++k) columns.col(k) = A.col(passive[k]);
      const Eigen::VectorXd z = Eigen::ColPivHouseholderQR<Eigen::MatrixXd>(columns).solve(b);
      if (entered && z[z.size() - 1] <= 0.0) {  // the slope was due to rounding
        refused[best] = 1;
        is_passive[best] = 0;
        passive.pop_back();
        break;
      }
      entered = false;
      double share = 1.0;  // fraction of the step to z
      for (std::size_t k = 0; k < passive.size(); ++k)
        if (const double to = z[k], from = x[passive[k]]; to <= 0.0) share = std::min(share, from / (from - to));
      for (std::size_t k = 0; k < passive.size(); ++k) x[passive[k]] += share * (z[k] - x[passive[k]]);
      if (share == 1.0) {
        std::ranges::fill(refused, 0);
        break;
      }
      std::erase_if(passive, [&](Eigen::Index j) {
        if (x[j] > 1e-14 * (1.0 + x.cwiseAbs().maxCoeff())) return false;
        x[j] = 0.0;
        is_passive[j] = 0;
        return true;
      });
    }
  }
  return x;
}

template <int n>
EquilibriumTest<n>::EquilibriumTest(const World<n>& world)
    : world_(&world),
      bodies_(world),
      inertia_(bodies_),
      forces_(world),
      detection_(world),
      contact_points_(world),
      gradient_(world.bodies.size()),
      still_(world.bodies.size(), Twist<n>::Zero()),
      wrench_(world.bodies.size()) {
  for (const auto& body : world.bodies) radius_.push_back(radius(body));
}

// Writes the generalised force of the force `direction` at the point on its first body, and the opposite force on its
// second body.
template <int n>
void EquilibriumTest<n>::add_column(const ContactPoint<n>& point, const Vector<n>& direction, int column) {
  if (column >= edges_.cols()) edges_.conservativeResize(bodies_.dofs(), 2 * column + 16);
  edges_.col(column).setZero();
  for (int k = 0; k < 2; ++k) {
    const auto range = bodies_.range(point.body[k]);
    if (range.size == 0) continue;
    row_.resize(range.size);
    inertia_.point_row(point.body[k], point.point, direction, row_.data());
    edges_.col(column).segment(range.first, range.size) += (k == 0 ? 1.0 : -1.0) * row_;
  }
}

// Writes the generalised forces of the one-sided constraints that are closed, or that bodies close in two steps: the
// edges of their friction cones. Returns the next column.
template <int n>
int EquilibriumTest<n>::add_constraints(const std::vector<Pose<n>>& poses, const Margin& margin, int column) {
  for (const auto& constraint : bodies_.one_sided()) {
    const std::size_t count = constraint.bodies.size();
    slopes_.resize(2 * count);
    const std::span<Twist<n>> slopes(slopes_);
    const double gap = constraint.gap(poses, slopes.first(count), slopes.last(count));
    double reach = 0.0;
    bool moves = false;
    for (std::size_t i = 0; i < count; ++i) {
      const int b = constraint.bodies[i];
      if (bodies_.is_fixed(b)) continue;
      moves = true;
      if (margin.step > 0.0) reach += 2.0 * margin.step * margin.step * slopes[i].norm() * fall_[b].norm();
    }
    if (!moves || gap > std::max(margin.least, reach)) continue;
    for (const double side : {1.0, -1.0}) {
      if (side < 0.0 && constraint.friction == 0.0) continue;
      if (column >= edges_.cols()) edges_.conservativeResize(bodies_.dofs(), 2 * column + 16);
      row_.setZero(bodies_.dofs());
      for (std::size_t i = 0; i < count; ++i)
        if (!bodies_.is_fixed(constraint.bodies[i]))
          inertia_.add_reduced(constraint.bodies[i],
                               Twist<n>(slopes[i] + side * constraint.friction * slopes[count + i]), row_);
      edges_.col(column++) = row_;
    }
  }
  return column;
}

template <int n>
double EquilibriumTest<n>::unbalanced(const std::vector<Pose<n>>& poses, double time, const Margin& margin) {
  frames_of(poses, frames_);
  inertia_.set(poses);
  forces_.potential(frames_, gradient_);
  forces_.wrench(time, frames_, still_, wrench_);
  Eigen::VectorXd load = Eigen::VectorXd::Zero(bodies_.dofs());
  for (int b = 0; b < bodies_.size(); ++b) {
    if (bodies_.is_fixed(b)) continue;
    Twist<n> w = wrench_[b];
    w.template head<n>() -= gradient_[b].col(0);
    w.template tail<Multibody<n>::spin>() -= torque<n>(gradient_[b], frames_[b].directors);
    inertia_.add_reduced(b, w, load);
  }

  double reach = margin.least;
  if (margin.step > 0.0) {
    inertia_.velocity(load, acceleration_);
    inertia_.twists(acceleration_, fall_);
    for (int b = 0; b < bodies_.size(); ++b) {
      const double fastest =
          fall_[b].template head<n>().norm() + radius_[b] * fall_[b].template tail<Multibody<n>::spin>().norm();
      reach = std::max(reach, std::min(2.0 * margin.step * margin.step * fastest, margin.most));
    }
  }
  detection_.restart();
  detection_.find(frames_, reach);
  contact_points_.collect(detection_, frames_, reach, true, points_);
  edges_.resize(bodies_.dofs(), 0);
  int columns = 0;
  for (const auto& point : points_) {
    if (bodies_.is_fixed(point.body[0]) && bodies_.is_fixed(point.body[1])) continue;
    const double friction =
        std::sqrt(world_->bodies[point.body[0]].surface.friction * world_->bodies[point.body[1]].surface.friction);
    if (friction == 0.0) {
      add_column(point, point.normal, columns++);
    } else if constexpr (n == 2) {
      const Vector<2> along(-point.normal[1], point.normal[0]);
      for (const double side : {1.0, -1.0}) add_column(point, point.normal + side * friction * along, columns++);
    } else {
      const Vector<3> u = point.normal.unitOrthogonal(), v = point.normal.cross(u);
      for (int k = 0; k < 8; ++k) {
        const double angle = 0.25 * std::numbers::pi * k;
        add_column(point, point.normal + friction * (std::cos(angle) * u + std::sin(angle) * v), columns++);
      }
    }
  }
  columns = add_constraints(poses, margin, columns);
  Eigen::MatrixXd edges = edges_.leftCols(columns);

  // M = L L^T, so |L^-1 .| = |M^(-1/2) .|
  const auto scale = [&](int body) {
    const auto range = bodies_.range(body);
    const Eigen::LLT<Eigen::MatrixXd> factor(inertia_.mass_matrix(body));
    factor.matrixL().solveInPlace(load.segment(range.first, range.size));
    auto rows = edges.middleRows(range.first, range.size);
    if (columns > 0) factor.matrixL().solveInPlace(rows);
  };
  for (int b = 0; b < bodies_.size(); ++b)
    if (bodies_.is_free(b)) scale(b);
  for (const auto& tree : bodies_.trees()) scale(tree.bodies.front());
  const double size = load.norm();
  if (size == 0.0) return 0.0;
  if (columns == 0) return 1.0;
  for (int k = 0; k < columns; ++k)
    if (const double length = edges.col(k).norm(); length > 0.0) edges.col(k) /= length;
  load /= size;
  return (load + edges * nonnegative_least_squares(edges, -load)).norm();
}

template class EquilibriumTest<2>;
template class EquilibriumTest<3>;

}  // namespace dodyn::rigid
