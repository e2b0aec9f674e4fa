// The surrogate management framework: a pattern search that a surrogate accelerates. Its convergence does not depend on
// the surrogate.
//
// All designs lie on a mesh of the box, of size delta (of each range). An iteration is
//   search: evaluate the minimum of the kriging model, moved to the mesh; repeat while it improves;
//   poll:   otherwise evaluate the neighbours of the best design along each variable, the most promising first, until
//           one improves. If none does, the best design is a minimum of the mesh, and delta is halved.
// delta is doubled after a poll that improved. Consider the designs at which delta was halved. If the cost is
// continuously differentiable near their limit, its gradient vanishes there (or points out of the box), whatever the
// model predicts, because the polled directions span the space. The cost of a failed design is infinite. One ask()
// returns all designs of a poll, so they run in parallel. Costs that are not finite do not enter the model.
//
// Sources: A. Booker, J. Dennis, P. Frank, D. Serafini, V. Torczon, M. Trosset, A rigorous framework for optimization
// of expensive functions by surrogates (1999); V. Torczon, On the convergence of pattern search algorithms (1997).
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "surrogate/strategy.hpp"

namespace dodyn::surrogate {

struct MeshSearchOptions {
  int initial_samples = 0;         // Latin hypercube, moved to the mesh; 0: chosen from the number of variables
  double design_tolerance = 1e-4;  // mesh size at which to stop, relative to the range; in (0, 0.1]
  bool gradient = false;           // the model uses gradients if available
  int max_failures = 20;           // number of evaluations after which the search gives up if none has a usable cost;
                                   // >= 1
  std::uint64_t seed = 1;
};

// Throws std::invalid_argument if a variable has no range, or an option is out of range.
std::unique_ptr<Strategy> make_mesh_search(const std::vector<Variable>& variables, const MeshSearchOptions& options);

// The keys of [surrogate] that fill the options.
const KeyTable<MeshSearchOptions>& mesh_search_keys();

}  // namespace dodyn::surrogate
