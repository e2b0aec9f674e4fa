// The most informative moments of a run, from which pictures and films of many runs are drawn.
#pragma once

#include <string>
#include <vector>

#include "record/trajectory.hpp"
#include "rigid/simulation.hpp"

namespace dodyn::evaluators::simulation {

// Time and the poses of all bodies at every node of a run.
template <int n>
class KeyframeRecorder {
 public:
  explicit KeyframeRecorder(const rigid::World<n>& world);

  void start() { rows_.clear(); }
  // Numbers are rounded to 8 micrometres and 61 microradians, in powers of two, so that they compress.
  void take(const rigid::Simulation<n>& simulation);

  // [count, 1 + poses]: the moments between which the others follow best by straight lines: first and last, then always
  // the one that is farthest off (Douglas and Peucker 1973), a turn counting as the way of the body's outermost point.
  // Rows beyond the last moment are not a number.
  Eigen::MatrixXd keyframes(int count) const;

 private:
  std::size_t width_;
  std::vector<double> rows_;     // of nodes
  std::vector<double> weights_;  // of each column in the square of an error
};

// The channel of `starts` films of `frames` moments each.
Channel film_channel(int starts, int frames, const Channel& q);

extern template class KeyframeRecorder<2>;
extern template class KeyframeRecorder<3>;

}  // namespace dodyn::evaluators::simulation
