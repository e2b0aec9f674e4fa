// How legs pass each other, measured on segments: least distances, and on which side of one another they are seen.
#pragma once

namespace dodyn::dmoc {

// The part of a link that counts, in fractions of its segment; empty where from >= to.
struct Part {
  double from = 0.0, to = 1.0;
};

// Two links, as parts of two of a list of segments.
struct Pair {
  int one = 0, other = 1;
  Part first = {}, second = {};
};

// Squared distance (m^2) of two parts, from both ends of every segment, three coordinates each.
double squared_distance(const double* ends, const Pair& pair = {});

// Seen from the side (along y), do two segments in space come within `width` (m) of each other at a place where the second
// lies to the right of the first? The second is of the leg on the left. (Straight legs from one hip never cross as lines,
// but lie on top of each other for a moment: hence the width.) Looked at in eleven points of the second, and where they cross.
bool passes_on_the_right(const double* ends, const Pair& pair, double width);

}  // namespace dodyn::dmoc
