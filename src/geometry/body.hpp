// Rigid bodies, not necessarily convex: unions of convex parts.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "geometry/polytope.hpp"

namespace dodyn::geometry {

// Parts are in body coordinates: origin at the centre of mass, axes along those of the Euler tensor, so that the mass
// matrix of the director formulation is diagonal: diag(m, E_1, ..., E_n), E_I = mass.euler_tensor(I, I).
template <int n>
struct Body {
  std::string name;
  std::vector<Polytope<n>> parts;
  MassProperties<n> mass;  // centre: zero; Euler tensor: diagonal
  Frame<n> drawing;        // body coordinates -> those in which the parts were given: x = drawing(v)
  double radius = 0.0;     // of the ball about the origin that holds the body, m

  bool still = false;  // never moves: two still bodies are not tested against each other
  // Fixed direction for the program of this body's contacts, a unit vector in body coordinates from this body to the
  // other one: a floor's upward normal. Without it the line of centroids is used.
  std::optional<Vector<n>> beta;
};

// Throws std::invalid_argument where parts (at least one) leave a gap between them, that is, where their union is not
// connected; touching within a millionth of the smaller part's radius counts as connected.
template <int n>
void require_connected(const std::string& name, const std::vector<Polytope<n>>& parts);

// Parts as drawn, and one density for all (kg/m^3, kg/m^2 in the plane). Parts may overlap; the mass of the overlap
// then counts twice, so give it a thought. Axes that are principal already stay as drawn. Throws std::invalid_argument:
// no parts; parts that leave a gap between them; density not positive.
template <int n>
Body<n> make_body(const std::string& name, const std::vector<Polytope<n>>& parts, double density);

}  // namespace dodyn::geometry
