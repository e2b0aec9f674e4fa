// Postures of a motion at its nodes and between them, and the parts' frames there. Used by examinations and initial
// guesses.
#pragma once

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "dmoc/attitudes.hpp"
#include "dmoc/separation.hpp"
#include "geometry/hyperplanes.hpp"

namespace dodyn::dmoc {

inline const systems::Shape& shape_of(const System& system, int shape) { return system.model().shapes[shape]; }

// Returns all coordinates of a node, [n], relative to its reference.
inline Eigen::VectorXd posture(const MotionProblem& problem, int phase, int node, const Eigen::VectorXd& x) {
  Eigen::VectorXd q = Eigen::VectorXd::Zero(problem.system().n());
  int at = problem.index(phase).theta(node);
  for (const int c : problem.functions(phase).moving) q(c) = x(at++);
  return q;
}

// Computes the frames of all links in one posture at a time, and the contacts and distances of pairs of parts there.
// The parts are scaled by `size` about the mean of their corners. `system` must outlive the object.
template <int n>
class Postures {
 public:
  Postures(const System& system, const std::vector<double>& numbers, const std::vector<PartPair>& pairs, double size)
      : system_(&system), tree_(system.model().tree<double>(numbers)), attitudes_(system) {
    for (const PartPair& pair : pairs)
      for (const int shape : {pair.one, pair.other}) {
        if (parts_.contains(shape)) continue;
        std::vector<geometry::Vector<n>> corners;
        geometry::Vector<n> middle = geometry::Vector<n>::Zero();
        for (const auto& r : system.model().corners(shape_of(system, shape), numbers)) {
          geometry::Vector<n> x;
          for (int i = 0; i < n; ++i) x(i) = r[i];
          corners.push_back(x);
          middle += x;
        }
        middle /= static_cast<double>(corners.size());
        for (auto& x : corners) x = middle + size * (x - middle);
        parts_.emplace(shape, geometry::Polytope<n>(corners, part_name(system, shape)));
      }
  }

  void set(const Eigen::VectorXd& q, const Reference& reference) {
    system_->refer(tree_, autodiff::values_of(*reference).data());
    const auto at = tree_.frames(q.data());
    frames_.resize(at.size());
    for (std::size_t l = 0; l < at.size(); ++l)
      for (int i = 0; i < n; ++i) {
        frames_[l].position(i) = at[l].origin[i];
        for (int j = 0; j < n; ++j) frames_[l].directors(i, j) = at[l].rotation[i][j];
      }
  }
  void set_between(const Eigen::VectorXd& q, const Reference& from, const Eigen::VectorXd& next, const Reference& to,
                   double s) {
    set(attitudes_.between(q, from, next, to, s), from);
  }

  const std::vector<geometry::Frame<n>>& frames() const { return frames_; }

  geometry::Contact<n> contact(const PartPair& pair) {
    geometry::Contact<n> c;
    geometry::find_contact(part(pair.one), frame(pair.one), part(pair.other), frame(pair.other),
                           bases_[{pair.one, pair.other}], c);
    return c;
  }
  struct Separation {
    double gap;                  // if apart: Euclidean distance; otherwise minus the minimum overlap found, m
    geometry::Vector<n> normal;  // unit vector along the distance, from part `other` to part `one`
  };
  Separation separation(const PartPair& pair) {
    constexpr double touching = 1e-9;  // relative to a part's radius: for nearer points the direction is undefined
    auto& basis = bases_[{pair.one, pair.other}];
    const auto away =
        geometry::find_distance(part(pair.one), frame(pair.one), part(pair.other), frame(pair.other), basis);
    if (away.distance > touching * part(pair.one).radius())
      return {away.distance, (away.nearest[0] - away.nearest[1]) / away.distance};
    const geometry::Contact<n> touch = contact(pair);
    if (away.distance > 0.0) return {away.distance, touch.normal()};
    // The plane of a contact follows from the parts' centres. Along a facet's normal the parts may overlap by less.
    Separation nearest{-touch.normal_gap(), touch.normal()};
    for (const int side : {pair.one, pair.other})
      for (const auto& facet : part(side).facets()) {
        geometry::Vector<n> outward = frame(side).directors * part(side).normal(facet);
        if (!(outward.norm() > 0.0)) continue;
        outward.normalize();
        const geometry::Vector<n> normal = side == pair.one ? geometry::Vector<n>(-outward) : outward;
        const double gap = extent(pair.one, normal).first - extent(pair.other, normal).second;
        if (gap > nearest.gap) nearest = {gap, normal};
      }
    return nearest;
  }
  // Returns the heights of the lowest and the highest corner of a part in the direction a.
  std::pair<double, double> extent(int shape, const geometry::Vector<n>& a) const { return extent(shape, a, frames_); }
  std::pair<double, double> extent(int shape, const geometry::Vector<n>& a,
                                   const std::vector<geometry::Frame<n>>& frames) const {
    double low = 1e300, high = -1e300;
    const auto& polytope = parts_.at(shape);
    const auto& frame = frames[shape_of(*system_, shape).link];
    for (int i = 0; i < polytope.size(); ++i) {
      const double height = a.dot(frame(polytope.corner(i)));
      low = std::min(low, height);
      high = std::max(high, height);
    }
    return {low, high};
  }

  const geometry::Polytope<n>& part(int shape) const { return parts_.at(shape); }

 private:
  const geometry::Frame<n>& frame(int shape) const { return frames_[shape_of(*system_, shape).link]; }

  const System* system_;
  systems::Tree<double> tree_;
  Attitudes attitudes_;
  std::map<int, geometry::Polytope<n>> parts_;
  std::map<std::pair<int, int>, geometry::Basis<n>> bases_;
  std::vector<geometry::Frame<n>> frames_;
};

}  // namespace dodyn::dmoc
