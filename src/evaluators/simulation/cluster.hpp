// Finds which bodies form a cluster. Contacts between the bodies of a cluster are intermittent. So two bodies count as
// connected if a contact or a one-sided constraint between them has acted recently.
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
  // Adds the contacts and one-sided constraints (ropes, stops) that acted in the step that has led to this node.
  void see(const rigid::Simulation<n>& simulation);

  // Returns the number of moving bodies in the largest cluster. A contact force or a one-sided constraint connects two
  // moving bodies if it acted within the last second. Fixed bodies connect nothing.
  int largest() const;

 private:
  std::vector<bool> moves_;
  std::map<std::pair<int, int>, double> last_;  // by pair: last time of a contact or constraint force, s
};

extern template class Cluster<2>;
extern template class Cluster<3>;

}  // namespace dodyn::evaluators::simulation
