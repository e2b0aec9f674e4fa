// From bodies to contacts: the broad phase picks the pairs of parts that may meet during a step, the hyperplane program
// describes each of them, starting from where it last ended.
#pragma once

#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "geometry/broad_phase.hpp"
#include "geometry/hyperplanes.hpp"

namespace dodyn::geometry {

// Convex parts of two bodies. The first body has the smaller number, unless it is the one with a fixed beta.
template <int n>
struct Candidate {
  std::array<int, 2> body, part;
  std::array<Basis<n>, 2> basis;  // where the program starts

  auto key() const { return std::tie(body[0], body[1], part[0], part[1]); }
};

template <int n>
class CollisionDetection {
 public:
  explicit CollisionDetection(std::vector<Body<n>> bodies);

  const std::vector<Body<n>>& bodies() const { return bodies_; }

  // Bodies that may overlap (hinged to each other, say): never tested against each other.
  void ignore(int body, int other);

  // Finds the candidates: pairs of parts whose boxes, swept from one configuration to the other, come within `margin`
  // (m) of each other. One frame per body, rotations. In a fixed order that depends on the bodies' numbers alone.
  void sweep(const std::vector<Frame<n>>& from, const std::vector<Frame<n>>& to, double margin);
  const std::vector<Candidate<n>>& candidates() const { return candidates_; }

  // The candidates that overlap or are less than `margin` (m, along the contact normal) apart at a configuration. Any
  // frames: between nodes the directors need not be a rotation. `found` is overwritten and keeps its memory.
  void contacts(const std::vector<Frame<n>>& frames, double margin, std::vector<Contact<n>>& found);

  // One of them, however far apart.
  void contact(int candidate, const std::vector<Frame<n>>& frames, Contact<n>& contact);

 private:
  std::vector<Body<n>> bodies_;
  std::set<std::pair<int, int>> ignored_;
  Grid<n> grid_;
  std::vector<Box<n>> body_boxes_, part_boxes_;
  std::vector<int> first_part_;  // of each body, in part_boxes_
  std::vector<char> boxed_;      // whether a body's parts have their boxes for this sweep
  std::vector<Candidate<n>> candidates_, previous_;
};

}  // namespace dodyn::geometry
