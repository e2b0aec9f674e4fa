// Records [contact NAME] and [stop NAME] of a model as one-sided constraints of its world.
#pragma once

#include <vector>

#include "systems/bodies.hpp"
#include "systems/hybrid_model.hpp"

namespace dodyn::systems {

// Returns the constraints with these values of the model's numbers. In 2D angles may exceed half a turn. A constraint
// without bodies has a constant gap.
template <int n>
std::vector<rigid::OneSidedConstraint<n>> recorded_constraints(const Bodies<n>& view,
                                                               const std::vector<GapContact>& contacts,
                                                               const std::vector<double>& numbers);

extern template std::vector<rigid::OneSidedConstraint<2>> recorded_constraints(const Bodies<2>&,
                                                                               const std::vector<GapContact>&,
                                                                               const std::vector<double>&);
extern template std::vector<rigid::OneSidedConstraint<3>> recorded_constraints(const Bodies<3>&,
                                                                               const std::vector<GapContact>&,
                                                                               const std::vector<double>&);

}  // namespace dodyn::systems
