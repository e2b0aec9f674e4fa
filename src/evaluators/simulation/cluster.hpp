// Finds which bodies form a cluster. A cluster holds together by intermittent contacts, so pairs count whose contact
// has acted recently.
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
  // Adds the contacts of the step that has led to this node.
  void see(const rigid::Simulation<n>& simulation);

  // Returns the number of moving bodies in the largest cluster: bodies that contacts within the last second connect.
  // Fixed bodies connect nothing.
  int largest() const;

 private:
  std::vector<bool> moves_;
  std::map<std::pair<int, int>, double> last_;  // by pair: time of the last contact force, s
};

extern template class Cluster<2>;
extern template class Cluster<3>;

}  // namespace dodyn::evaluators::simulation
