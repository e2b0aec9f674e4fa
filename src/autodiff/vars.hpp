// Lists of recorded numbers, and derivatives of recorded numbers during the recording.
#pragma once

#include <vector>

#include "autodiff/tape.hpp"

namespace dodyn::autodiff {

inline std::vector<int> nodes_of(const std::vector<Var>& x) {
  std::vector<int> all;
  for (const Var& one : x) all.push_back(one.node);
  return all;
}
inline std::vector<Var> vars_at(const std::vector<int>& nodes) {
  std::vector<Var> all;
  for (const int node : nodes) all.push_back(Var::at(node));
  return all;
}
inline std::vector<Var> gradient(const Var& f, const std::vector<Var>& x) {
  return vars_at(Recording::current->gradient(f.node, nodes_of(x)));
}
// Returns the derivative of f as x moves with `rates`.
inline std::vector<Var> directional(const std::vector<Var>& f, const std::vector<Var>& x,
                                    const std::vector<Var>& rates) {
  return vars_at(Recording::current->directional(nodes_of(f), nodes_of(x), nodes_of(rates)));
}

}  // namespace dodyn::autodiff
