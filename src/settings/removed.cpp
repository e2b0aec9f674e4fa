#include "settings/removed.hpp"

#include <algorithm>

namespace dodyn {

const Removed* find_removed(const std::string& key, const std::string& word) {
  static const std::vector<Removed> all = {
      {"gait.leg-check-points", "", "1", "leave it out: gait.leg-radius applies at nodes and midway between them"},
      {"gait.leg-radius-from", "", "0",
       "leave it out: the distance follows from gait.leg-radius, gait.step-width and the length of the legs"},
      {"gait.solver", "slsqp", "", "allowed are native and ipopt"},
      {"motion.solver", "slsqp", "", "allowed are native and ipopt"},
      {"simulation.friction-law", "", "cone", "leave it out: friction is Coulomb's cone"},
      {"simulation.group", "", "each", "leave it out: each contact point has an impulse of its own"},
      {"simulation.max-cuts", "", "40", "leave it out: a step that is cut 40 times in a row fails"},
      {"surrogate.acquisition", "", "expected-improvement",
       "leave it out: the next design maximises expected improvement"},
      {"surrogate.initial-design", "", "latin-hypercube",
       "leave it out: the initial designs are a Latin hypercube; surrogate.initial-designs takes others from a CSV "
       "file"},
      {"surrogate.kernel", "", "matern52", "leave it out: kriging has one kernel, matern52"},
      {"surrogate.pending", "", "believer",
       "leave it out: the model's mean stands for the cost of a design that is being evaluated"},
  };
  const auto at =
      std::find_if(all.begin(), all.end(), [&](const Removed& one) { return one.key == key && one.word == word; });
  return at == all.end() ? nullptr : &*at;
}

}  // namespace dodyn
