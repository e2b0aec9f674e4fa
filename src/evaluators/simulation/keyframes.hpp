// Selects the most informative moments of a run, for drawing many runs.
#pragma once

#include <string>
#include <vector>

#include "record/trajectory.hpp"
#include "rigid/simulation.hpp"

namespace dodyn::evaluators::simulation {

// Records time and the poses of all bodies at every node of a run.
template <int n>
class KeyframeRecorder {
 public:
  explicit KeyframeRecorder(const rigid::World<n>& world);

  void start() { rows_.clear(); }
  // Records a node. Numbers are rounded to 8 micrometres and 61 microradians (powers of two), so that they compress
  // well.
  void take(const rigid::Simulation<n>& simulation);

  // Returns [count, 1 + poses]: the moments from which linear interpolation approximates the others best. Takes the
  // first and the last, then always the moment with the largest error (Douglas and Peucker 1973). A rotation counts by
  // the path of the body's outermost point. Unused rows are NaN.
  Eigen::MatrixXd keyframes(int count) const;

 private:
  std::size_t width_;
  std::vector<double> rows_;     // [nodes]
  std::vector<double> weights_;  // weight of each column in the squared error
};

// Returns the channel for `starts` runs with `frames` moments each.
Channel film_channel(int starts, int frames, const Channel& q);

extern template class KeyframeRecorder<2>;
extern template class KeyframeRecorder<3>;

}  // namespace dodyn::evaluators::simulation
