// The surrogate management framework: a pattern search whose convergence does not hang on the surrogate, and a
// surrogate that makes it fast.
//
// All designs lie on a mesh of the box, of size delta (of each range). An iteration is
//   search: the minimum of the kriging model through the samples, moved to the mesh; while that improves, again;
//   poll:   where it does not, the neighbours of the best design along each variable, the most promising first, until
//           one improves. If none does, the best design is a minimum of the mesh, and delta is halved.
// delta is doubled after a poll that improved. On a cost that is continuously differentiable near its limit the designs
// that delta was halved at tend to a point where the gradient vanishes (or points out of the box), whatever the model
// says: the polled directions span every direction. Failed designs count as infinitely bad. A poll is asked at once, so
// it runs in parallel. Costs that are not finite never reach the model.
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
  double design_tolerance = 1e-4;  // of the range: the mesh at which to stop; in (0, 0.1]
  bool gradient = false;           // the model uses gradients where there are any
  int max_failures = 20;           // evaluations without a usable cost, while there is none at all; >= 1
  std::uint64_t seed = 1;
};

// Throws std::invalid_argument on a variable without a range or an option out of range.
std::unique_ptr<Strategy> make_mesh_search(const std::vector<Variable>& variables, const MeshSearchOptions& options);

// The keys of [surrogate] that fill the options.
const KeyTable<MeshSearchOptions>& mesh_search_keys();

}  // namespace dodyn::surrogate
