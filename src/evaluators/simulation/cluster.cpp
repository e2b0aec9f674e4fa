#include "evaluators/simulation/cluster.hpp"

#include <algorithm>
#include <numeric>

namespace dodyn::evaluators::simulation {

template <int n>
Cluster<n>::Cluster(const rigid::World<n>& world) {
  for (const auto& body : world.bodies) moves_.push_back(!body.fixed);
}

template <int n>
void Cluster<n>::see(const rigid::Simulation<n>& simulation) {
  constexpr double lately = 1.0;  // time during which a contact counts after its last force, s
  const auto note = [&](const auto& contacts) {
    for (const auto& contact : contacts) {
      const auto [a, b] = std::minmax(contact.body[0], contact.body[1]);
      if (moves_[a] && moves_[b]) last_[{a, b}] = simulation.time();
    }
  };
  if (simulation.options().response == rigid::Response::penalty)
    note(simulation.contacts());
  else
    note(simulation.impulses());
  const auto ropes = simulation.constraint_impulses();
  for (std::size_t i = 0; i < ropes.size(); ++i)
    for (std::size_t j = 0; j < i; ++j)
      if (const auto [a, b] = std::minmax(ropes[i].body, ropes[j].body);
          ropes[i].constraint == ropes[j].constraint && a != b && moves_[a] && moves_[b])
        last_[{a, b}] = simulation.time();
  std::erase_if(last_, [&](const auto& pair) { return pair.second < simulation.time() - lately; });
}

template <int n>
int Cluster<n>::largest() const {
  std::vector<int> parent(moves_.size()), size(moves_.size(), 0);
  std::iota(parent.begin(), parent.end(), 0);
  const auto root = [&](int i) {
    while (parent[i] != i) i = parent[i];
    return i;
  };
  for (const auto& [pair, time] : last_) parent[root(pair.first)] = root(pair.second);
  for (std::size_t i = 0; i < moves_.size(); ++i)
    if (moves_[i]) ++size[root(i)];
  return size.empty() ? 0 : *std::ranges::max_element(size);
}

template class Cluster<2>;
template class Cluster<3>;

}  // namespace dodyn::evaluators::simulation
