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
  // Records a node. Numbers are rounded to 1/1024 s, 8 micrometres and 61 microradians (powers of two), so that they
  // compress well.
  void take(const rigid::Simulation<n>& simulation);

  // Returns the moments from which linear interpolation approximates the other moments best, [count, 1 + poses]: time
  // and poses. Takes the first and the last moment, then repeatedly the moment with the largest error (Douglas and
  // Peucker 1973). The error of a rotation is the distance at the body's outermost point. Unused rows are NaN.
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
