// Distances of legs from each other, measured on segments, and the side on which they pass.
#pragma once

namespace dodyn::dmoc {

// The considered part of a link, as fractions of its segment; empty if from >= to.
struct Part {
  double from = 0.0, to = 1.0;
};

// Two links: parts of two segments of a list.
struct Pair {
  int one = 0, other = 1;
  Part first = {}, second = {};
};

// Returns the squared distance (m^2) of two parts. `ends`: both ends of every segment, three coordinates each.
double squared_distance(const double* ends, const Pair& pair = {});

// Returns whether two segments, projected along y, come within `width` (m) of each other at a point where the second lies to
// the right of the first. The second belongs to the left leg. Straight legs from one hip do not cross as lines, but
// coincide for a moment. So the width is needed. Tests eleven points of the second segment, and the crossing.
bool passes_on_the_right(const double* ends, const Pair& pair, double width);

}  // namespace dodyn::dmoc
