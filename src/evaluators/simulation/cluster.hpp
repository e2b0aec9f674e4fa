// Which bodies hang together: a clump holds by contacts that come and go, so pairs count that contact has pushed apart lately.
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "rigid/simulation.hpp"

namespace dodyn::evaluators::simulation {

template <int n>
class Cluster {
 public:
  explicit Cluster(const rigid::World<n>& world);

  void start() { last_.clear(); }
  // The contacts of the step that has led to this node.
  void see(const rigid::Simulation<n>& simulation);

  // Bodies that move, of the largest group that contacts within the last second connect; what does not move connects nothing.
  int largest() const;

 private:
  std::vector<bool> moves_;
  std::map<std::pair<int, int>, double> last_;  // of a pair, when contact acted, s
};

extern template class Cluster<2>;
extern template class Cluster<3>;

}  // namespace dodyn::evaluators::simulation
