// Searches basins other than that of the best design. In four or more variables, expected improvement rarely chooses
// designs outside the best design's basin. So when the last designs only refine the best one, the search descends into
// another basin. It starts at the best sample that has no better one nearby, in a box around it, until there is no more
// gain. Then it takes the next basin.
#pragma once

#include <Eigen/Core>
#include <algorithm>
#include <cstddef>
#include <vector>

#include "surrogate/observed_data.hpp"

namespace dodyn::surrogate {

// Returns whether the last designs (two, or a batch) only refined the best one: half of these designs, and at least
// two, are near the best design before, and none gained significantly. False if costs have noise, if there are several
// objectives, or soon after the initial designs. `initial`: number of evaluations of initial designs.
bool settling(const ObservedData& observed, std::size_t initial, int batch);

class BasinSearch {
 public:
  static constexpr Eigen::Index least_variables = 4;
  static constexpr int running_divisor = 4;  // at most 1/running_divisor of the running designs are in the searched
                                             // basin
  static constexpr int least_running = 4;    // this number of running designs in the searched basin is always allowed

  // Processes the last evaluation: enters a basin, continues in it, or leaves it. `settling`: whether the last
  // designs only refine the best one; only then the search enters a basin. `batch`: number of designs that run at a
  // time. In fewer than four variables the model is reliable over the box. There the search ignores `settling`, and
  // enters a basin only at a design that is better than predicted (`promising`). Does nothing unless all variables are
  // real.
  void observe(const ObservedData& observed, bool settling, bool promising, int batch);

  bool taken() const { return at_ >= 0; }
  const Evaluation& best(const ObservedData& observed) const { return observed.evaluations[at_]; }
  bool holds(const ObservedData& observed, const Evaluation& e) const { return holds(observed, observed.unit(e)); }
  // Returns the number of pending designs in the searched box.
  int count_running(const ObservedData& observed) const;
  // Returns the maximum number of running designs in the searched box. With more, each would be chosen without the
  // results of the others, and the rest of the design range would wait.
  static int max_running(int batch) { return std::max(least_running, batch / running_divisor); }
  // Bounds of the searched box in the unit cube.
  Eigen::VectorXd lower(const ObservedData& observed) const;
  Eigen::VectorXd upper(const ObservedData& observed) const;

 private:
  bool holds(const ObservedData& observed, const Eigen::VectorXd& unit) const;
  // Whether a point of the unit cube is in the basin of the best design or of a finished minimum.
  bool known(const ObservedData& observed, const Eigen::VectorXd& unit) const;

  std::ptrdiff_t at_ = -1;             // index of the basin's best evaluation; -1: no basin
  int stalled_ = 0;                    // consecutive designs in the basin without a gain
  std::vector<Eigen::VectorXd> left_;  // minima of finished basins, in the unit cube
};

}  // namespace dodyn::surrogate
