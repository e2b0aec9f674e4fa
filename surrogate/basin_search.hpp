// Basins beside that of the best design. In four or more variables expected improvement hardly looks beyond the basin
// of its best; so when the last designs only polish that one, the search descends into the next: from the best sample
// that no better one is near, in a box about it, until it gains no more there, and then into the next.
#pragma once

#include <Eigen/Core>
#include <cstddef>
#include <vector>

#include "surrogate/observed_data.hpp"

namespace dodyn::surrogate {

// Whether the last designs, two or a batch, did no more than polish the best one: two of them beside it, none gaining
// more than next to nothing. `initial`: how many of the evaluations are of initial designs.
bool settling(const ObservedData& observed, std::size_t initial, int batch);

class BasinSearch {
 public:
  static constexpr Eigen::Index least_variables = 4;

  // Takes up one more evaluation: takes up a basin, continues it, or leaves it.
  // In fewer variables the model sees far enough, and only a design that promises more than it predicted, `promising`, is followed.
  void observe(const ObservedData& observed, bool settling, bool promising, int batch);

  bool taken() const { return at_ >= 0; }
  const Evaluation& best(const ObservedData& observed) const {
    return observed.evaluations[static_cast<std::size_t>(at_)];
  }
  bool holds(const ObservedData& observed, const Evaluation& e) const;
  // The box that is searched, in the unit cube.
  Eigen::VectorXd lower(const ObservedData& observed) const;
  Eigen::VectorXd upper(const ObservedData& observed) const;

 private:
  // Whether a point of the unit cube is in the basin of the best or of a minimum done with.
  bool known(const ObservedData& observed, const Eigen::VectorXd& unit) const;

  std::ptrdiff_t at_ = -1;             // its best, in the evaluations; -1: none
  int stalled_ = 0;                    // designs there without a gain
  std::vector<Eigen::VectorXd> left_;  // minima of those done with, in the unit cube
};

}  // namespace dodyn::surrogate
