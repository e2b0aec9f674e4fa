// Flows that switch from one Lagrangian to another where they cross a surface, without a jump: both momentum and velocity
// of z go on ((7) of Pekarek and Murphey, Global projections).
#pragma once

#include <string>
#include <vector>

#include "variational/hybrid.hpp"

namespace dodyn::variational {

// Where the sides are: the sign of a coordinate; or, where `coordinate` is -1, of one angle: inside is |z| < angle, and
// outside what is left of the circle, measured as (angle, 2 pi - angle).
struct Switch {
  int coordinate = -1;
  double angle = 0.0;
};

class SwitchedFlow {
 public:
  SwitchedFlow(const Mechanics& inside, const Mechanics& outside, const Switch& law, const PieceOptions& options);

  SwitchedFlow(const SwitchedFlow&) = delete;  // its steps look at its sides
  SwitchedFlow& operator=(const SwitchedFlow&) = delete;

  void start(double time, const Eigen::VectorXd& z, const Eigen::VectorXd& rate);  // inside
  std::string advance(double time);                                                // empty, or why it could not

  const Piece& now() const { return now_; }
  bool outside() const { return outside_; }
  const Mechanics& mechanics() const { return *sides_[outside_ ? 1 : 0].mechanics; }
  Eigen::VectorXd rate() const { return mechanics().velocity(now_.q, now_.p); }
  const std::vector<double>& crossings() const { return crossings_; }

 private:
  double depth(const Eigen::VectorXd& z) const;  // into the present side
  Switch law_;
  Assembly sides_[2];
  HybridIntegrator steps_[2];
  Piece now_;
  bool outside_ = false;
  std::vector<double> crossings_;
};

}  // namespace dodyn::variational
