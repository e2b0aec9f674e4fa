// One-sided constraints (world.hpp) next to contacts of shapes: how far they are violated, and their contact points.
#pragma once

#include <vector>

#include "rigid/contact_points.hpp"
#include "rigid/multibody.hpp"

namespace dodyn::rigid {

// Returns the largest violation of a constraint at these poses, m or rad; negative: minus the smallest gap. -infinity
// if there is no constraint.
template <int n>
double largest_violation(const Multibody<n>& bodies, const std::vector<Pose<n>>& poses);

// Returns the key of a constraint, which follows the keys of all pairs of shapes.
inline PairKey constraint_key(int constraint) { return (PairKey{1} << 62) + constraint; }

// Appends a point for each constraint with a body that moves and a gap below `margin`.
template <int n>
void add_constraint_points(const Multibody<n>& bodies, const std::vector<Pose<n>>& poses, double margin,
                           std::vector<ContactPoint<n>>& out);

extern template double largest_violation(const Multibody<2>&, const std::vector<Pose<2>>&);
extern template double largest_violation(const Multibody<3>&, const std::vector<Pose<3>>&);
extern template void add_constraint_points(const Multibody<2>&, const std::vector<Pose<2>>&, double,
                                           std::vector<ContactPoint<2>>&);
extern template void add_constraint_points(const Multibody<3>&, const std::vector<Pose<3>>&, double,
                                           std::vector<ContactPoint<3>>&);

}  // namespace dodyn::rigid
