// Derivatives of recorded numbers during the recording. They require a Recording.
#pragma once

#include <vector>

#include "autodiff/tape.hpp"

namespace dodyn::autodiff {

inline std::vector<Var> vars_at(const std::vector<int>& nodes) {
  std::vector<Var> all;
  for (const int node : nodes) all.push_back(Var::at(node));
  return all;
}
// Returns df/dx, [x].
inline std::vector<Var> gradient(const Var& f, const std::vector<Var>& x) {
  return vars_at(Recording::current->gradient(f.node, nodes_of(x)));
}
// Returns df/dx rates, [f]: the rate of change of f if x changes at these rates.
inline std::vector<Var> directional(const std::vector<Var>& f, const std::vector<Var>& x,
                                    const std::vector<Var>& rates) {
  return vars_at(Recording::current->directional(nodes_of(f), nodes_of(x), nodes_of(rates)));
}

}  // namespace dodyn::autodiff
