#include "dmoc/attitudes.hpp"

#include <Eigen/Geometry>
#include <Eigen/LU>
#include <algorithm>
#include <cmath>
#include <utility>

namespace dodyn::dmoc {

using Eigen::Matrix3d;
using Eigen::VectorXd;

namespace {

// Returns the index of the first coordinate of a joint's turns, and the turns.
std::pair<int, std::vector<systems::Move>> turns_of(const System& system, std::size_t c) {
  const auto& link = system.structure().links[system.charts()[c]];
  std::vector<systems::Move> turns;
  int slides = 0;
  for (const auto& move : link.moves)
    if (move.kind == systems::Move::turn)
      turns.push_back(move);
    else
      ++slides;
  return {link.first + slides, turns};  // the slides precede the turns
}

Matrix3d matrix_of(const Reference& reference, std::size_t c) {
  Matrix3d R;
  for (int i = 0; i < 9; ++i) R(i / 3, i % 3) = (*reference)[9 * c + static_cast<std::size_t>(i)].value;
  return R;
}

}  // namespace

Matrix3d Attitudes::rotation(std::size_t c, const VectorXd& q, const Reference& reference) const {
  const auto [first, turns] = turns_of(*system_, c);
  Matrix3d R = matrix_of(reference, c);
  for (std::size_t i = 0; i < turns.size(); ++i)
    R = R * Eigen::AngleAxisd(q(first + i), Eigen::Vector3d::Unit(turns[i].axis)).toRotationMatrix();
  return R;
}

void Attitudes::set(std::size_t c, const Matrix3d& rotation, const Reference& reference, VectorXd& q) const {
  const auto [first, turns] = turns_of(*system_, c);
  const Matrix3d R = matrix_of(reference, c).transpose() * rotation;
  systems::Matrix3<double> plain;
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j) plain[i][j] = R(i, j);
  const auto angles = systems::turn_angles(plain, turns);
  for (std::size_t i = 0; i < angles.size(); ++i) q(first + i) = angles[i];
}

VectorXd Attitudes::moved(const VectorXd& q, const Reference& from, const Reference& to) const {
  VectorXd there = q;
  if (from != to)
    for (std::size_t c = 0; c < system_->charts().size(); ++c) set(c, rotation(c, q, from), to, there);
  return there;
}

Reference Attitudes::at(const VectorXd& q, const Reference& reference) const {
  std::vector<Coefficient> all;
  for (std::size_t c = 0; c < system_->charts().size(); ++c) {
    const Matrix3d R = rotation(c, q, reference);
    for (int i = 0; i < 9; ++i) all.emplace_back(R(i / 3, i % 3));
  }
  return std::make_shared<const std::vector<Coefficient>>(std::move(all));
}

VectorXd Attitudes::between(const VectorXd& q, const Reference& from, const VectorXd& next, const Reference& to,
                            double s) const {
  VectorXd middle = (1.0 - s) * q + s * next;
  for (std::size_t c = 0; c < system_->charts().size(); ++c) {
    const Matrix3d here = rotation(c, q, from), there = rotation(c, next, to);
    const Eigen::AngleAxisd turn(there * here.transpose());
    set(c, Eigen::AngleAxisd(s * turn.angle(), turn.axis()) * here, from, middle);
  }
  return middle;
}

namespace {

// Returns the axes of a chart's successive turns in the joint's parent frame, as columns.
Matrix3d axes_of(const Matrix3d& reference, const std::vector<systems::Move>& turns, const Eigen::Vector3d& angles) {
  Matrix3d R = reference, A;
  for (int i = 0; i < 3; ++i) {
    const Eigen::Vector3d axis = Eigen::Vector3d::Unit(turns[i].axis);
    A.col(i) = R * axis;
    R = R * Eigen::AngleAxisd(angles(i), axis).toRotationMatrix();
  }
  return A;
}

}  // namespace

// Returns the components L of momenta p along fixed axes: p = A^T L, with the axes of the turns as columns of A.
VectorXd Attitudes::along_axes(const VectorXd& p, const VectorXd& q, const Reference& reference) const {
  VectorXd along = p;
  for (std::size_t c = 0; c < system_->charts().size(); ++c) {
    const auto [first, turns] = turns_of(*system_, c);
    const Matrix3d A = axes_of(matrix_of(reference, c), turns, q.segment<3>(first));
    along.segment<3>(first) = A.transpose().partialPivLu().solve(p.segment<3>(first));
  }
  return along;
}

VectorXd Attitudes::about_angles(const VectorXd& p, const VectorXd& q, const Reference& reference) const {
  VectorXd about = p;
  for (std::size_t c = 0; c < system_->charts().size(); ++c) {
    const auto [first, turns] = turns_of(*system_, c);
    about.segment<3>(first) =
        axes_of(matrix_of(reference, c), turns, q.segment<3>(first)).transpose() * p.segment<3>(first);
  }
  return about;
}

std::vector<Reference> references_along(const System& system, Eigen::MatrixXd& q, Reference first) {
  if (system.charts().empty()) return {};
  const Attitudes attitudes(system);
  const Reference& none = system.no_reference();
  std::vector<Reference> all;
  Reference now = first ? std::move(first) : attitudes.at(q.row(0).transpose(), none);
  for (Eigen::Index k = 0; k < q.rows(); ++k) {
    for (std::size_t c = 0; c < system.charts().size(); ++c) {
      const Matrix3d turn = matrix_of(now, c).transpose() * attitudes.rotation(c, q.row(k).transpose(), none);
      if (k == 0 || Eigen::AngleAxisd(turn).angle() < 1.0) continue;
      now = attitudes.at(q.row(k).transpose(), none);
      break;
    }
    q.row(k) = attitudes.moved(q.row(k).transpose(), none, now).transpose();
    all.push_back(now);
  }
  return all;
}

}  // namespace dodyn::dmoc
