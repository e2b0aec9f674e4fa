// The fitted force (B.1) of Johnson 2013 (coils.hpp) between the coils of a planar world, instead of the potential of
// their poles. It has no potential, so energy is not conserved. Momentum and angular momentum are conserved, because
// the wrenches on both coils are opposite.
#pragma once

#include <numbers>
#include <string>
#include <vector>

#include "rigid/coils.hpp"
#include "rigid/world.hpp"

namespace dodyn::rigid {

// The valid range of a form, from Table B.1.
struct CoilRange {
  double least = 0.1, most = 0.55;        // distance of the centres, m
  double angle = 0.2 * std::numbers::pi;  // largest |phi1| and |phi2|, rad
};

class CoilForce {
 public:
  // Replaces the world's charges by coils: two consecutive opposite charges of a body are the poles of a coil. `form`
  // is fitted for `coil`. The force scales with the product of the pole strengths, and cores must have its length. Coil
  // 1 of a pair belongs to the later body; the form is in its axes. Throws std::invalid_argument if the charges are not
  // such coils.
  CoilForce(World<2>& world, const CoilForm& form, const CoilRange& range, const Coil& coil = {});

  void operator()(double t, Frames<2> at, std::span<const Twist<2>> twists, std::span<Twist<2>> wrench) const;

  // Returns which coils have left the range, as one line; empty: none.
  std::string left(Frames<2> at) const;

 private:
  struct Place {
    int body;
    Vector<2> centre, axis;  // body coordinates
    double strength;         // strength of the pole at the positive end of the axis
  };
  struct Pair {
    int one, other;  // indices of the coils
  };
  // A pair in the convention of the form. If coil 2 lies behind coil 1, the axis of coil 1 is reversed. If the axes
  // then point in opposite directions, the axis of coil 2 is reversed. Each reversal changes `sign`.
  struct RelativePose {
    Vector<2> axis, apart;  // axis of coil 1, and vector from its centre to that of coil 2: world axes
    double r, phi1, phi2, sign;
  };
  RelativePose relative_pose(const Pair& pair, Frames<2> at) const;

  CoilForm form_;
  CoilRange range_;
  double scale_ = 1.0;  // force per product of pole strengths
  std::vector<Place> coils_;
  std::vector<Pair> pairs_;
  std::vector<std::string> names_;  // [bodies]
};

}  // namespace dodyn::rigid
