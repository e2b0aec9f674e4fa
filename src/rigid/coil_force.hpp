// (B.1) of Johnson 2013 (coils.hpp) as a force between the coils of a planar world, instead of the potential of their poles.
// It has no potential: energy is not kept. Momentum and angular momentum are, since each coil gets what the other one
// gives.
#pragma once

#include <numbers>
#include <string>
#include <vector>

#include "rigid/coils.hpp"
#include "rigid/world.hpp"

namespace dodyn::rigid {

// Where a form may be used; as stated with Table B.1.
struct CoilRange {
  double least = 0.1, most = 0.55;        // m, between centres
  double angle = 0.2 * std::numbers::pi;  // rad, of phi1 and phi2 either way
};

class CoilForce {
 public:
  // Takes the world's charges: two opposite ones of a body, one after the other, are the poles of a coil. A form is that of
  // `coil`: the force goes with the product of pole strengths, and cores are of its length. Coil 1 of a pair, in whose axes
  // the form is, is that of the later body. Throws std::invalid_argument: charges that are no such coils.
  CoilForce(World<2>& world, const CoilForm& form, const CoilRange& range, const Coil& coil = {});

  void operator()(double t, Frames<2> at, std::span<const Twist<2>> twists, std::span<Twist<2>> wrench) const;

  // Empty, or one line that says which coils have left the range.
  std::string left(Frames<2> at) const;

 private:
  struct Place {
    int body;
    Vector<2> centre, axis;  // body coordinates
    double strength;         // of the pole ahead
  };
  struct Pair {
    int one, other;  // indices of the coils
  };
  // A pair in the form's convention: an axis, and the force with it, is reversed if the other coil or its axis is behind.
  struct Seen {
    Vector<2> axis, apart;  // of coil 1; from its centre to that of coil 2: world axes
    double r, phi1, phi2, sign;
  };
  Seen seen(const Pair& pair, Frames<2> at) const;

  CoilForm form_;
  CoilRange range_;
  double scale_ = 1.0;  // per product of strengths
  std::vector<Place> coils_;
  std::vector<Pair> pairs_;
  std::vector<std::string> names_;  // of bodies
};

}  // namespace dodyn::rigid
