#include "elastic/simulation.hpp"

#include <Eigen/Eigenvalues>
#include <Eigen/LU>
#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "record/text.hpp"
#include "rigid/multibody.hpp"
#include "rigid/penalty.hpp"
#include "rigid/state.hpp"

namespace dodyn::elastic {
namespace {

void require(bool good, const std::string& what) {
  if (!good) throw std::invalid_argument(what);
}

std::string number(double x) { return formatted("%.6g", x); }

}  // namespace

template <int n>
Simulation<n>::Simulation(World<n> world, const Options& options) : world_(std::move(world)), options_(options) {
  constexpr int spin = rigid::Multibody<n>::spin;
  require(options.step > 0.0 && std::isfinite(options.step),
          "step is " + number(options.step) + " s, must be positive");
  require(options.response != rigid::Response::none, "deformable bodies need a contact method");
  require(options.restitution >= 0.0 && options.restitution <= 1.0,
          "restitution is " + number(options.restitution) + "; allowed: 0 to 1");
  require(options.stiffness > 0.0, "stiffness is " + number(options.stiffness) + " N/m, must be positive");
  require(!world_.deformable.empty(), "there is no deformable body");
  require(
      world_.rigid.joints.empty() && world_.rigid.forces.empty(),
      "rigid bodies next to deformable ones must be free: without joints, and without forces that have no potential");
  bodies_ = world_.rigid;
  rigid_ = bodies_.bodies.size();
  kin_.assign(bodies_.bodies.size(), -1);
  cell_of_ = kin_;
  principal_.resize(bodies_.bodies.size());
  for (std::size_t b = 0; b < bodies_.bodies.size(); ++b) {
    const auto& body = bodies_.bodies[b];
    require(body.linear_drag == 0.0 && body.angular_drag == 0.0,
            "'" + body.name + "' has drag, which is not supported here; remove it");
    if (body.fixed) continue;
    require(body.mass > 0.0, "mass of '" + body.name + "' is " + number(body.mass) + " kg, must be positive");
    if constexpr (n == 2) {
      principal_[b].moments[0] = body.euler_tensor.trace();
    } else {
      const Matrix<3> J = body.euler_tensor.trace() * Matrix<3>::Identity() - body.euler_tensor;
      const Eigen::SelfAdjointEigenSolver<Matrix<3>> solver(J);
      principal_[b] = {solver.eigenvectors(), solver.eigenvalues()};
      if (principal_[b].axes.determinant() < 0.0) principal_[b].axes.col(0) *= -1.0;
    }
    for (int i = 0; i < spin; ++i)
      require(principal_[b].moments[i] > 0.0, "inertia of '" + body.name + "' is not positive");
  }
  first_node_ = {0};
  for (std::size_t d = 0; d < world_.deformable.size(); ++d) {
    const auto& one = world_.deformable[d];
    const int first_cell = elements_.size();
    elements_.add(one.name, one.mesh, one.material);
    for (const int c : boundary_cells(one.mesh)) {
      const auto& corners = one.mesh.cells[c];
      Vector<n> mean = Vector<n>::Zero();
      for (const int i : corners) mean += one.mesh.nodes[i] / (n + 1);
      std::vector<Vector<n>> places;
      for (const int i : corners) places.push_back(one.mesh.nodes[i] - mean);
      rigid::Body<n> element;  // without mass: gravity acts on the nodes
      element.name = one.name;
      element.parts.emplace_back(places, one.name);
      bodies_.bodies.push_back(std::move(element));
      kin_.push_back(d);
      cell_of_.push_back(first_cell + c);
    }
    first_node_.push_back(elements_.nodes());
  }
  detection_ = std::make_unique<rigid::Detection<n>>(bodies_, kin_);
  forces_ = std::make_unique<rigid::Forces<n>>(bodies_);
  penalty_ = rigid::penalty<n>(options_.stiffness, *detection_);
  frames_.resize(bodies_.bodies.size());
  gradient_.resize(bodies_.bodies.size());
  contact_gradient_ = gradient_;
  wrench_.assign(rigid_, rigid::Twist<n>::Zero());
}

template <int n>
void Simulation<n>::start(const Start<n>& start) {
  constexpr int spin = rigid::Multibody<n>::spin;
  require(std::ssize(start.rigid_poses) == rigid_ && start.rigid_twists.size() == start.rigid_poses.size() &&
              start.deformable_poses.size() == world_.deformable.size() &&
              start.deformable_twists.size() == world_.deformable.size(),
          "the initial state needs a pose and a twist for each body");
  x_.resize(n, elements_.nodes());
  v_.resize(n, elements_.nodes());
  for (std::size_t d = 0; d < world_.deformable.size(); ++d) {
    const auto frame = start.deformable_poses[d].frame();
    const auto& twist = start.deformable_twists[d];
    const auto& places = world_.deformable[d].mesh.nodes;
    for (std::size_t i = 0; i < places.size(); ++i) {
      const auto at = first_node_[d] + static_cast<Eigen::Index>(i);
      x_.col(at) = frame(places[i]);
      const Vector<n> arm = frame.directors * places[i];
      v_.col(at) = twist.template head<n>();
      if constexpr (n == 2)
        v_.col(at) += rigid::cross(rigid::Spin<2>(twist.template tail<1>()), arm);
      else
        v_.col(at) += twist.template tail<3>().cross(arm);
    }
  }
  poses_ = start.rigid_poses;
  momentum_.assign(poses_.size(), rigid::Twist<n>::Zero());
  for (std::size_t b = 0; b < poses_.size(); ++b) {
    if (bodies_.bodies[b].fixed) continue;
    const auto& twist = start.rigid_twists[b];
    momentum_[b].template head<n>() = bodies_.bodies[b].mass * twist.template head<n>();
    if constexpr (n == 2) {
      momentum_[b][2] = principal_[b].moments[0] * twist[2];
    } else {
      const Matrix<3> R = poses_[b].directors * principal_[b].axes;
      momentum_[b].template tail<spin>() =
          R * principal_[b].moments.cwiseProduct(R.transpose() * twist.template tail<3>());
    }
  }
  require(x_.allFinite() && v_.allFinite(), "initial state: a position or a velocity is not a number");
  time_ = 0.0;
  steps_ = 0;
  reason_.clear();
  detection_->restart();
  const bool acts = act();
  require(acts, "initial state: " + reason_);
  for (const auto& c : detection_->found())
    require(c.normal_gap() <= 1e-9, "initial state: '" + bodies_.bodies[c.body[0]].name + "' and '" +
                                        bodies_.bodies[c.body[1]].name + "' overlap by " + number(c.normal_gap()) +
                                        " m");
}

template <int n>
bool Simulation<n>::act() {
  int inverted = -1;
  elastic_ = elements_.forces(x_, force_, inverted);
  if (inverted >= 0 || !std::isfinite(elastic_)) {
    const int node = elements_.cell(std::max(0, inverted)).node[0];
    const auto body = std::ranges::upper_bound(first_node_, node) - first_node_.begin() - 1;
    reason_ = "an element of '" + world_.deformable[body].name + "' is turned inside out at t = " + number(time_) +
              " s; use a shorter step or less speed";
    return false;
  }
  place();
  potential_ = forces_->potential(frames_, gradient_);
  for (auto& g : contact_gradient_) g.setZero();
  contact_ = 0.0;
  if (options_.response == rigid::Response::penalty)
    contact_ = penalty_(frames_, contact_gradient_);
  else
    detection_->find(frames_, near);
  if (!look()) return false;
  for (std::size_t b = 0; b < frames_.size(); ++b) {
    const rigid::ConfigurationGradient<n> slope = gradient_[b] + contact_gradient_[b];
    if (cell_of_[b] < 0) {
      wrench_[b].template head<n>() = -slope.col(0);
      wrench_[b].template tail<rigid::Multibody<n>::spin>() = -rigid::torque<n>(slope, frames_[b].directors);
      continue;
    }
    const auto& cell = elements_.cell(cell_of_[b]);
    for (int j = 0; j <= n; ++j)
      force_.col(cell.node[j]) -= slope.col(0) / (n + 1) + slope.template rightCols<n>() * cell.gradient.col(j);
  }
  const auto& gravity = world_.rigid.gravity;
  if (gravity.squaredNorm() > 0.0)
    for (int i = 0; i < elements_.nodes(); ++i) {
      const double mass = elements_.mass()[i];
      force_.col(i) += mass * gravity;
      potential_ -= mass * gravity.dot(x_.col(i));
    }
  return true;
}

template <int n>
void Simulation<n>::place() {
  for (std::size_t b = 0; b < frames_.size(); ++b) {
    if (cell_of_[b] < 0) {
      frames_[b] = poses_[b].frame();
      continue;
    }
    const auto& cell = elements_.cell(cell_of_[b]);
    frames_[b].position.setZero();
    for (const int i : cell.node) frames_[b].position += x_.col(i) / (n + 1);
    frames_[b].directors = Elements<n>::deformation(cell, x_);
  }
}

template <int n>
bool Simulation<n>::look() {
  for (int i = 0; i < std::ssize(detection_->found()); ++i) {
    const auto& c = detection_->found()[i];
    if (c.normal_gap() <= 0.5 * detection_->thickness(i)) continue;
    reason_ = "'" + bodies_.bodies[c.body[0]].name + "' and '" + bodies_.bodies[c.body[1]].name + "' overlap by " +
              number(c.normal_gap()) + " m";
    if (time_ == 0.0)
      reason_ += "; move them apart";
    else
      reason_ += " at t = " + number(time_) + " s, half of an element; use " +
                 (options_.response == rigid::Response::penalty ? "more stiffness" : "a shorter step") +
                 " or less speed";
    return false;
  }
  return true;
}

template <int n>
void Simulation<n>::kick(double h) {
  for (int i = 0; i < elements_.nodes(); ++i) v_.col(i) += h / elements_.mass()[i] * force_.col(i);
  for (int b = 0; b < rigid_; ++b)
    if (!bodies_.bodies[b].fixed) momentum_[b] += h * wrench_[b];
}

template <int n>
void Simulation<n>::drift(double h) {
  x_ += h * v_;
  for (std::size_t b = 0; b < poses_.size(); ++b) {
    if (bodies_.bodies[b].fixed) continue;
    poses_[b].position += h / bodies_.bodies[b].mass * momentum_[b].template head<n>();
    const auto& principal = principal_[b];
    if constexpr (n == 2) {
      poses_[b].angle += h / principal.moments[0] * momentum_[b][2];
    } else {
      const Vector<3> L = momentum_[b].template tail<3>();
      // exact flows of L_i^2/(2 J_i) for each principal axis in turn; the spatial momentum is constant
      for (const auto& [axis, share] : {std::pair(0, 0.5), {1, 0.5}, {2, 1.0}, {1, 0.5}, {0, 0.5}}) {
        const Vector<3> about = principal.axes.col(axis);
        const double turn = share * h * L.dot(poses_[b].directors * about) / principal.moments[axis];
        poses_[b].directors *= rigid::exponential(turn * about);
      }
      // products of rotations drift off SO(3) by rounding; one Newton step corrects this
      Matrix<3>& R = poses_[b].directors;
      R = (R * (1.5 * Matrix<3>::Identity() - 0.5 * R.transpose() * R)).eval();
    }
  }
}

template <int n>
bool Simulation<n>::step() {
  if (!reason_.empty()) return false;
  hit_.clear();
  time_ = static_cast<double>(++steps_) * options_.step;
  if (options_.response == rigid::Response::exact) return exact_step();
  kick(0.5 * options_.step);
  drift(options_.step);
  if (!act()) return false;
  kick(0.5 * options_.step);
  if (options_.response == rigid::Response::decomposition) turn_round();
  return true;
}

template <int n>
rigid::Twist<n> Simulation<n>::twist(int body) const {
  rigid::Twist<n> twist = rigid::Twist<n>::Zero();
  if (bodies_.bodies[body].fixed) return twist;
  twist.template head<n>() = momentum_[body].template head<n>() / bodies_.bodies[body].mass;
  if constexpr (n == 2) {
    twist[2] = momentum_[body][2] / principal_[body].moments[0];
  } else {
    const Matrix<3> R = poses_[body].directors * principal_[body].axes;
    twist.template tail<3>() =
        R * (R.transpose() * momentum_[body].template tail<3>()).cwiseQuotient(principal_[body].moments);
  }
  return twist;
}

template <int n>
Energies Simulation<n>::energies() const {
  Energies sum{0.0, elastic_, contact_, potential_};
  for (int i = 0; i < elements_.nodes(); ++i) sum.kinetic += 0.5 * elements_.mass()[i] * v_.col(i).squaredNorm();
  for (int b = 0; b < rigid_; ++b) sum.kinetic += 0.5 * momentum_[b].dot(twist(b));
  return sum;
}

template <int n>
rigid::Momenta<n> Simulation<n>::momenta() const {
  rigid::Momenta<n> sum;
  for (int i = 0; i < elements_.nodes(); ++i) {
    const Vector<n> p = elements_.mass()[i] * v_.col(i);
    sum.linear += p;
    sum.angular += rigid::cross(Vector<n>(x_.col(i)), p);
  }
  for (std::size_t b = 0; b < poses_.size(); ++b) {
    const Vector<n> p = momentum_[b].template head<n>();
    sum.linear += p;
    sum.angular += rigid::cross(poses_[b].position, p) + momentum_[b].template tail<rigid::Multibody<n>::spin>();
  }
  return sum;
}

namespace {
template <int n>
Vector<n> mean(const Nodes<n>& what, const std::vector<double>& mass, int first, int end) {
  Vector<n> sum = Vector<n>::Zero();
  double total = 0.0;
  for (int i = first; i < end; ++i) {
    sum += mass[i] * what.col(i);
    total += mass[i];
  }
  return sum / total;
}
}  // namespace

template <int n>
Vector<n> Simulation<n>::centre(int d) const {
  return mean<n>(x_, elements_.mass(), first_node_[d], first_node_[d + 1]);
}
template <int n>
Vector<n> Simulation<n>::velocity(int d) const {
  return mean<n>(v_, elements_.mass(), first_node_[d], first_node_[d + 1]);
}

template <int n>
std::vector<std::pair<int, int>> Simulation<n>::touching() const {
  std::vector<std::pair<int, int>> pairs = hit_;
  for (const auto& c : detection_->found())
    if (c.gap > 0.0) pairs.emplace_back(std::minmax(whole(c.body[0]), whole(c.body[1])));
  std::ranges::sort(pairs);
  pairs.erase(std::unique(pairs.begin(), pairs.end()), pairs.end());
  return pairs;
}

template <int n>
double Simulation<n>::overlap() const {
  double most = 0.0;
  for (const auto& c : detection_->found()) most = std::max(most, c.normal_gap());
  return most;
}

template <int n>
double Simulation<n>::smallest_jacobian() const {
  return elements_.smallest_jacobian(x_);
}

template <int n>
double Simulation<n>::stable_step() const {
  double shortest = std::numeric_limits<double>::infinity();
  std::size_t body = 0;
  for (int c = 0; c < elements_.size(); ++c) {
    const auto& cell = elements_.cell(c);
    while (cell.node[0] >= first_node_[body + 1]) ++body;
    // the smallest height of a simplex is the inverse of its largest shape function gradient
    const double height = 1.0 / cell.gradient.colwise().norm().maxCoeff();
    const double speed = std::sqrt((cell.lambda + 2.0 * cell.mu) / world_.deformable[body].material.density);
    shortest = std::min(shortest, height / speed);
  }
  if (options_.response != rigid::Response::penalty) return shortest;
  for (const double mass : elements_.mass()) shortest = std::min(shortest, 2.0 * std::sqrt(mass / options_.stiffness));
  return shortest;
}

template class Simulation<2>;
template class Simulation<3>;

}  // namespace dodyn::elastic
