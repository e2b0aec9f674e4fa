// Which parts of which bodies are in contact: the supporting-hyperplane program for the pairs that may be near.
//
// Two bounds avoid unnecessary solutions of the program, both on the path that the farthest point of a body has gone:
// * pairs of bodies farther apart than a reach are not listed at all; the list is gathered anew, by a grid of cells,
//   when the two bodies that moved most have used up the reach;
// * a listed pair that was found a distance d apart cannot touch before its bodies have gone d in sum, and is not
//   looked at until they have.
// The bounds hold at all times in between, so bodies of a pair not looked at cannot have passed through each other
// either.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "geometry/broad_phase.hpp"
#include "geometry/contact.hpp"
#include "geometry/hyperplanes.hpp"
#include "rigid/world.hpp"

namespace dodyn::rigid {

// Names a pair of parts, in the order of (body, other body, part, part).
using PairKey = std::int64_t;

template <int n>
class Detection {
 public:
  using Contact = geometry::Contact<n>;

  // The world must outlive this. `kin`: of each body, or none; bodies of the same kin from 0 on do not touch each other, and
  // their directors may stretch them, as those of the elements of a deformable body do.
  explicit Detection(const World<n>& world, std::vector<int> kin = {});

  // Forgets all it knows: the bodies were put somewhere else.
  void restart();

  // Contacts of the pairs looked at with these frames, apart or not, among them all that are closer than `within` (m);
  // the bodies moved there from the frames of the call before. Directors need not be rotations.
  const std::vector<Contact>& find(Frames<n> frames, double within = 0.0);
  const std::vector<Contact>& found() const { return found_; }

  // Of found()[i], until the next find():
  PairKey key(int i) const { return parts_[pair_[i]].key; }
  // the same pair at other frames, distances untouched;
  Contact look(int i, Frames<n> frames) const;
  // distance of a plane's support: min over body a's part of <normal, x> minus max over b's; > 0: separates;
  double separation(int i, Frames<n> frames, const Vector<n>& normal) const;
  // width of the thinner part, m.
  double thickness(int i) const;

  // Largest overlap along the normal of the last find(), m; where nothing was near, minus a bound on the distance.
  double overlap() const;

  // Largest distance that a corner of this body has between the two frames.
  double motion(int body, const geometry::Frame<n>& from, const geometry::Frame<n>& to) const {
    return motion_bound(radius_[body], from, to);
  }

 private:
  struct Parts {
    std::array<int, 2> body, part;
    PairKey key;
    std::array<geometry::Basis<n>, 2> basis{};  // where the program ended
    double apart_until;                         // sum of paths
  };
  struct Bodies {
    int a, b, first, count;
    double apart_until;
  };
  void follow(Frames<n> frames);
  void gather(Frames<n> frames, double reach);
  void solve(const Parts& p, Frames<n> frames, std::array<geometry::Basis<n>, 2>& basis, Contact& c) const;

  const World<n>* world_;
  std::vector<int> kin_;
  std::vector<std::pair<int, int>> ignored_;  // sorted
  std::int64_t all_pairs_ = 0, most_parts_ = 1;
  std::vector<double> radius_, ball_;  // of the balls that hold bodies, as they were made and are stretched now
  std::vector<std::vector<double>> thickness_;  // [body][part]
  double usual_reach_ = 0.0;                    // m

  // the list
  geometry::Grid<n> grid_;
  std::vector<geometry::Box<n>> boxes_;
  std::vector<Bodies> bodies_, bodies_before_;
  std::vector<Parts> parts_, parts_before_;
  double reach_ = -1.0, used_ = 0.0;      // of the reach, by the two that moved most; m
  std::vector<double> path_, path_then_;  // since restart(); when the list was gathered

  std::vector<geometry::Frame<n>> last_;
  std::vector<Contact> found_, found_before_;
  std::vector<int> pair_;  // in parts_, of found_
  std::vector<PairKey> key_before_;
  std::vector<double> moved_;  // bound on each body's motion since the call before, m
};

extern template class Detection<2>;
extern template class Detection<3>;

}  // namespace dodyn::rigid
