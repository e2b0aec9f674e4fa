// Integrates flows that switch from one Lagrangian to another at a surface, without a jump. Both the momentum and the
// velocity of z are continuous ((7) of Pekarek and Murphey, Global projections).
#pragma once

#include <string>
#include <vector>

#include "variational/hybrid.hpp"

namespace dodyn::variational {

// The surface between the two sides. If `coordinate` >= 0, this coordinate is positive inside. If it is -1, the system
// has one angle z (rad): inside is |z| < angle, and outside is the rest of the circle, measured in
// (angle, 2 pi - angle).
struct Switch {
  int coordinate = -1;
  double angle = 0.0;
};

class SwitchedFlow {
 public:
  SwitchedFlow(const Mechanics& inside, const Mechanics& outside, const Switch& law, const IntegratorOptions& options);

  SwitchedFlow(const SwitchedFlow&) = delete;  // not copyable: steps_ refer to sides_
  SwitchedFlow& operator=(const SwitchedFlow&) = delete;

  void start(double time, const Eigen::VectorXd& z, const Eigen::VectorXd& rate);  // starts inside the surface
  std::string advance(double time);  // returns an error message; empty: success

  const HybridState& now() const { return now_; }
  bool outside() const { return outside_; }
  const Mechanics& mechanics() const { return *sides_[outside_ ? 1 : 0].mechanics; }
  Eigen::VectorXd rate() const { return mechanics().velocity(now_.q, now_.p); }
  const std::vector<double>& crossings() const { return crossings_; }  // times, s

 private:
  double depth(const Eigen::VectorXd& z) const;  // distance from the surface, > 0 on the current side
  Switch law_;
  Assembly sides_[2];
  HybridIntegrator steps_[2];
  HybridState now_;
  bool outside_ = false;
  std::vector<double> crossings_;
};

}  // namespace dodyn::variational
