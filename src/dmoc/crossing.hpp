// Distances of legs from each other, measured on segments, and the side on which they pass.
#pragma once

namespace dodyn::dmoc {

// The considered part of a link, as fractions of its segment; empty if from >= to.
struct Part {
  double from = 0.0, to = 1.0;
};

// Two links: `first` is a part of segment `one` of a list, `second` a part of segment `other`.
struct Pair {
  int one = 0, other = 1;
  Part first = {}, second = {};
};

// Returns the squared distance (m^2) of two parts. `ends`: both ends of every segment, three coordinates each.
double squared_distance(const double* ends, const Pair& pair = {});

// Returns whether the second segment passes on the right of the first. The second segment belongs to the left leg. True
// if the segments, projected along y, cross or come within `width` (m) of each other at a point where the second lies
// to the right (at smaller y). Tests the crossing and eleven points of the second segment. The width is needed because
// straight legs from one hip do not cross as lines, but coincide for a moment.
bool passes_on_the_right(const double* ends, const Pair& pair, double width);

}  // namespace dodyn::dmoc
