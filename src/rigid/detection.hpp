// Which parts of which bodies are in contact: the supporting-hyperplane program for the pairs that may be near.
//
// A pair that was found a distance d apart cannot touch before the points of its bodies have moved d in sum, so it is
// not looked at until they have: bodies keep the length of path their farthest point has gone, pairs the sum of paths
// up to which they are apart. The bound holds at all times in between, so a pair not looked at cannot have passed
// through another either.
#pragma once

#include <vector>

#include "geometry/contact.hpp"
#include "geometry/hyperplanes.hpp"
#include "rigid/world.hpp"

namespace dodyn::rigid {

template <int n>
class Detection {
 public:
  using Contact = geometry::Contact<n>;
  using FrameList = std::vector<geometry::Frame<n>>;

  explicit Detection(const World<n>& world);

  // Forgets every distance: the bodies were put somewhere else.
  void restart();

  // Contacts of the pairs looked at with these frames, apart or not, among them all that are closer than `within` (m);
  // the bodies moved there from the frames of the call before. Directors need not be rotations.
  const std::vector<Contact>& find(const FrameList& frames, double within = 0.0);
  const std::vector<Contact>& found() const { return found_; }
  // Number of the pair of parts behind found()[i].
  int pair(int i) const { return pair_[i]; }
  int pairs() const { return static_cast<int>(parts_.size()); }

  // Largest overlap along the normal of the last find(), m; where nothing was near, minus a bound on the distance.
  double overlap() const;

  // One pair at other frames, distances untouched.
  Contact look(int pair, const FrameList& frames) const;
  // Largest distance that a corner of this body has between the two frames.
  double motion(int body, const geometry::Frame<n>& from, const geometry::Frame<n>& to) const;
  // Distance of a plane's support: min over body a's part of <normal, x> minus max over b's; > 0: separates.
  double separation(int pair, const FrameList& frames, const Vector<n>& normal) const;
  double radius(int body) const { return radius_[body]; }  // of the ball about the centre of mass
  // Width of the thinner part of the pair, m.
  double thickness(int pair) const;

 private:
  struct Parts {
    std::array<int, 2> body, part;
    std::array<geometry::Basis<n>, 2> basis{};
    double apart_until = -1.0;
  };
  struct Bodies {
    int a, b, first, count;
    double apart_until;
  };
  void solve(const Parts& p, const FrameList& frames, std::array<geometry::Basis<n>, 2>& basis, Contact& c) const;

  const World<n>* world_;
  std::vector<Bodies> bodies_;
  std::vector<Parts> parts_;
  std::vector<double> radius_, path_;
  std::vector<std::vector<double>> thickness_;  // [body][part]
  FrameList last_;
  std::vector<Contact> found_, found_before_;
  std::vector<int> pair_, pair_before_;
  std::vector<char> moved_;  // bodies, since the call before
};

extern template class Detection<2>;
extern template class Detection<3>;

}  // namespace dodyn::rigid
