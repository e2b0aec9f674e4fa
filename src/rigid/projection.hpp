// Closest-point projection of overlapping bodies: Johnson 2013, (3.81), with g <= 0 instead of g = 0.
#pragma once

#include <vector>

#include "rigid/guess.hpp"
#include "rigid/impulses.hpp"
#include "rigid/response.hpp"

namespace dodyn::rigid {

template <int n>
class Projection {
  using Poses = std::vector<Pose<n>>;

 public:
  explicit Projection(const Pieces<n>& pieces);
  void restart() { guess_.clear(); }

  // The poses `to` nearest to `from` in the kinetic metric in which nothing overlaps, by successive quadratic programs
  // over what is closer than `margin` (m). `points` become the contact points there; those touch that are within the
  // tolerance, and the nearest of each pair that pressed, also where the last program overshot: it would neither carry an
  // impulse nor stay. False if it does not converge;
  // `blame` becomes the pair that overlaps most.
  bool operator()(const Poses& from, double margin, Poses& to, std::vector<ContactPoint<n>>& points,
                  FailureCause& blame);

 private:
  double widest_pressing(const std::vector<ContactPoint<n>>& points);
  void mark_touching(std::vector<ContactPoint<n>>& points) const;

  Pieces<n> pieces_;
  ContactPoints<n> find_points_;
  std::vector<geometry::Frame<n>> frames_;
  Inertia<n> inertia_;
  ContactRows<n> rows_;
  ContactSolver<n> solver_;
  Guess<n> guess_;
  Eigen::VectorXd offset_, kept_;
  std::vector<double> target_, impulse_, unsettled_;
  std::vector<char> skip_;
  std::vector<PairKey> pressing_;
};

extern template class Projection<2>;
extern template class Projection<3>;

}  // namespace dodyn::rigid
