// How close links come: the squared distances of segments as an element.
#pragma once

#include <memory>
#include <vector>

#include "autodiff/differential.hpp"
#include "autodiff/element.hpp"

namespace dodyn::dmoc {

// The part of a link that counts, in fractions of its segment; beyond 0 and 1 on its axis.
struct Part {
  autodiff::Differential from = 0.0, to = 1.0;
};

// Two links, as parts of two of a list of segments.
//
// `ordered`: the second is of the leg on the left. The first is continued to the right without end, so that the second
// can pass it on its left alone: distances to the right (of y) count as none. This is for two links that leave one
// joint, which without it may go round each other on either side. Bodies that leave one point overlap near it, hence
// the parts.
struct Pair {
  int one = 0, other = 1;
  Part first = {}, second = {};
  bool ordered = false;
};

// Squared distance (m^2) of two parts, from both ends of every segment, three coordinates each.
double squared_distance(const double* ends, const Pair& pair = {});

// theta -> squared distances of pairs, from theta -> the ends of the segments. With a fraction: (theta, theta') ->
// those at theta + fraction (theta' - theta). Derivatives are those of the branch taken (both nearest points inside, or
// one of them or both at an end; the second to the left or not): exact but where branches meet, where the first ones
// still are (the nearest points move continuously), unless the segments are parallel.
std::shared_ptr<const autodiff::Element> crossing_element(std::shared_ptr<const autodiff::Element> segments,
                                                          std::vector<Pair> pairs);
std::shared_ptr<const autodiff::Element> crossing_element(std::shared_ptr<const autodiff::Element> segments,
                                                          std::vector<Pair> pairs, double fraction);

}  // namespace dodyn::dmoc
