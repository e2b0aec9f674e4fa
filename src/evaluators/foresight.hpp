// Evaluators that can tell of some designs, without an evaluation, that none can be ok.
#pragma once

#include <Eigen/Core>
#include <string>

namespace dodyn::evaluators {

class Foresight {
 public:
  virtual ~Foresight() = default;
  // Why no evaluation of this design can be ok, as of ports that do not fit; empty: it may be. Cheap: searches ask it of all
  // designs that they think of.
  virtual std::string impossible(const Eigen::VectorXd& design) const = 0;
};

}  // namespace dodyn::evaluators
