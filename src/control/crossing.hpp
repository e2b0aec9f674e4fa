// How close two links come: the squared distance of two segments as an element.
#pragma once

#include <memory>

#include "autodiff/element.hpp"

namespace dodyn::control {

// Squared distance (m^2) of the segments a-b and c-d, as points a, b, c, d of three coordinates each.
double squared_distance(const double* points);

// theta -> squared distance of two segments, from theta -> their ends [12]. Its derivatives are those of the branch
// taken (both nearest points inside, or one of them or both at an end): exact but where branches meet, where the first
// ones still are (the nearest points move continuously), unless the segments are parallel.
std::shared_ptr<const autodiff::Element> crossing_element(std::shared_ptr<const autodiff::Element> segments);

}  // namespace dodyn::control
