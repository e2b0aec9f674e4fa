// Basins beside that of the best design. In four or more variables expected improvement hardly looks beyond the basin
// of its best; so when the last designs only polish that one, the search descends into the next: from the best sample
// that no better one is near, in a box about it, until it gains no more there, and then into the next.
#pragma once

#include <Eigen/Core>
#include <cstddef>
#include <vector>

#include "surrogate/evidence.hpp"

namespace dodyn::surrogate {

// Whether the last designs, two or a batch, did no more than polish the best one: two of them beside it, none gaining
// more than next to nothing. `initial`: how many of those told were initial designs.
bool settling(const Evidence& evidence, std::size_t initial, int batch);

class Niche {
 public:
  static constexpr Eigen::Index least_variables = 4;

  // One more evaluation was told: takes up a basin, goes on with it, or leaves it.
  // In fewer variables the model sees far enough, and only a design that promises more than it predicted, `promising`, is followed.
  void told(const Evidence& evidence, bool settling, bool promising, int batch);

  bool taken() const { return at_ >= 0; }
  const Evaluation& best(const Evidence& evidence) const { return evidence.told[static_cast<std::size_t>(at_)]; }
  bool holds(const Evidence& evidence, const Evaluation& e) const;
  // The box that is searched, in the unit cube.
  Eigen::VectorXd lower(const Evidence& evidence) const;
  Eigen::VectorXd upper(const Evidence& evidence) const;

 private:
  // Whether a point of the unit cube is in the basin of the best or of a minimum done with.
  bool known(const Evidence& evidence, const Eigen::VectorXd& unit) const;

  std::ptrdiff_t at_ = -1;             // its best, in what was told; -1: none
  int stalled_ = 0;                    // designs there without a gain
  std::vector<Eigen::VectorXd> left_;  // minima of those done with, in the unit cube
};

}  // namespace dodyn::surrogate
