// Closest-point projection of overlapping bodies: Johnson 2013, (3.81), with g <= 0 instead of g = 0.
#pragma once

#include <vector>

#include "rigid/impulse_guess.hpp"
#include "rigid/impulses.hpp"
#include "rigid/response.hpp"

namespace dodyn::rigid {

template <int n>
class Projection {
  using Poses = std::vector<Pose<n>>;

 public:
  explicit Projection(const ResponseContext<n>& pieces);
  void restart() { guess_.clear(); }

  // Computes the poses `to` without overlap that are nearest to `from` in the kinetic metric. Uses successive quadratic
  // programs over all points closer than `margin` (m). Sets `points` to the contact points there. Points within the
  // tolerance touch, and so does the nearest point of each pair that pressed, even if the last program overshot.
  // Otherwise that pair would carry no impulse. Returns false if it does not converge, with the pair of the largest
  // overlap in `cause`.
  bool operator()(const Poses& from, double margin, Poses& to, std::vector<ContactPoint<n>>& points,
                  FailureCause& cause);

 private:
  double widest_pressing(const std::vector<ContactPoint<n>>& points);
  void mark_touching(std::vector<ContactPoint<n>>& points) const;

  ResponseContext<n> context_;
  ContactPoints<n> find_points_;
  std::vector<geometry::Frame<n>> frames_;
  Inertia<n> inertia_;
  ContactRows<n> rows_;
  ContactSolver<n> solver_;
  ImpulseGuess<n> guess_;
  Eigen::VectorXd offset_, kept_;
  std::vector<double> target_, impulse_, unsettled_;
  std::vector<char> skip_;
  std::vector<PairKey> pressing_;
};

extern template class Projection<2>;
extern template class Projection<3>;

}  // namespace dodyn::rigid
