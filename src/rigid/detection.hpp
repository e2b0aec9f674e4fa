// Finds the parts of different bodies that are in contact, by the supporting-hyperplane program for pairs that may be
// near.
//
// Two bounds avoid unnecessary solutions of the program. Both use the path length of the body's farthest point:
// * pairs of bodies farther apart than the reach are not listed. The list is rebuilt, by a grid of cells,
//   when the two bodies that moved most have moved by the reach in sum.
// * a listed pair at the distance d cannot touch before its bodies have moved by d in sum. It is not
//   solved again until then.
// The bounds hold at all times in between. So the bodies of a skipped pair cannot have passed through each other
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

// Key of a pair of parts, ordered by (body, other body, part, part).
using PairKey = std::int64_t;

template <int n>
class Detection {
 public:
  using Contact = geometry::Contact<n>;

  // The world must outlive the detection. `kin`: group of each body, or empty. Bodies of one group >= 0 do not touch
  // each other, and their directors may stretch, like those of the elements of a deformable body.
  explicit Detection(const World<n>& world, std::vector<int> kin = {});

  // Forgets all bounds and pairs. Call it after bodies were moved without steps.
  void restart();

  // Returns the contacts of the pairs solved at these frames, touching or not. Includes all that are closer than
  // `within` (m). Bodies have moved continuously from the frames of the last call. Directors need not be rotations.
  const std::vector<Contact>& find(Frames<n> frames, double within = 0.0);
  const std::vector<Contact>& found() const { return found_; }

  // The functions below take the index of a contact in found(), valid until the next find().
  // Returns the key of the contact's pair of parts.
  PairKey key(int i) const { return parts_[pair_[i]].key; }
  // Returns the contact of the pair at other frames; bounds are unchanged.
  Contact look(int i, Frames<n> frames) const;
  // Returns the separation by a plane, m: min over the part of body 1 of <normal, x> minus max over the part of body 2.
  // Positive: the plane separates the parts.
  double separation(int i, Frames<n> frames, const Vector<n>& normal) const;
  // Returns the width of the thinner part, m: a lower bound, twice the distance from the centroid to the nearest facet.
  double thickness(int i) const;

  // Returns the largest overlap along the normal in the last find(), m. Negative: minus a lower bound of the smallest
  // distance. 0 if there are no pairs.
  double overlap() const;

  // Returns a bound on the displacement of the corners of this body between the two frames, m.
  double motion(int body, const geometry::Frame<n>& from, const geometry::Frame<n>& to) const {
    return motion_bound(radius_[body], from, to);
  }

 private:
  struct Parts {
    std::array<int, 2> body, part;
    PairKey key;
    std::array<geometry::Basis<n>, 2> basis{};  // final bases of the last hyperplane program of the pair
    double apart_until;                         // the sum of path lengths up to which the pair cannot touch, m
  };
  struct Bodies {
    int a, b, first, count;
    double apart_until;
  };
  // Whether two bodies are of one group, whose members do not collide with each other.
  bool are_kin(int a, int b) const { return !kin_.empty() && kin_[a] >= 0 && kin_[a] == kin_[b]; }
  void follow(Frames<n> frames);
  void gather(Frames<n> frames, double reach);
  void solve(const Parts& p, Frames<n> frames, std::array<geometry::Basis<n>, 2>& basis, Contact& c) const;

  const World<n>* world_;
  std::vector<int> kin_;
  std::vector<std::pair<int, int>> ignored_;  // sorted; without pairs of one group
  std::int64_t all_pairs_ = 0, most_parts_ = 1;
  std::vector<double> radius_, ball_;           // radii of the bounding balls, m: undeformed and at the present stretch
  std::vector<std::vector<double>> thickness_;  // [body][part]
  double usual_reach_ = 0.0;                    // minimum reach of the list: median radius of the moving bodies, m

  // the list
  geometry::Grid<n> grid_;
  std::vector<geometry::Box<n>> boxes_;
  std::vector<Bodies> bodies_, bodies_before_;
  std::vector<Parts> parts_, parts_before_;
  double reach_ = -1.0, used_ = 0.0;      // used_: part of the reach that the two bodies that moved most have used, m
  std::vector<double> path_, path_then_;  // path length of each body since restart(), m: now; when the list was built

  std::vector<geometry::Frame<n>> last_;
  std::vector<Contact> found_, found_before_;
  std::vector<int> pair_;  // index in parts_ of each contact in found_
  std::vector<PairKey> key_before_;
  std::vector<double> moved_;  // bound on each body's motion since the last call, m
};

extern template class Detection<2>;
extern template class Detection<3>;

}  // namespace dodyn::rigid
