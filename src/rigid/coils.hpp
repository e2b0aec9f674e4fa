// Forces between two electromagnets in a plane: from the poles of their cores, and by the form (B.1) that Johnson (2013)
// fitted to them.
//
// Coil 1 lies at the origin along x; coil 2 at r (cos phi1, sin phi1), turned by phi2; both are magnetised along their
// axes. What acts on coil 1, in its axes: [f_x; f_y] in N, torque about its centre in N m.
#pragma once

#include <Eigen/Core>
#include <array>
#include <string>
#include <vector>

namespace dodyn::rigid {

struct Coil {
  double length = 0.1, diameter = 0.01;  // of the core, m
  double core_field = 1.0;               // T, where the core ends; that of the sources at 0.6 A
  bool discs = false;                    // poles spread over the ends of the core, or points in their middles
  double pole_strength() const;          // field x area / mu0, A m
};

// Of two equal coils. Poles of the same coil do not act on each other.
Eigen::Vector3d pole_wrench(const Coil& coil, double r, double phi1, double phi2);

// (B.1): f_i = A_i(phi1, phi2)/r^8 - B_i(phi1, phi2)/r^4, A_i and B_i the sums of c phi1^a phi2^b with a + b <= 4. r is
// counted in decimetres: the source does not say so, but in metres f would be 1e8 N.
class CoilForm {
 public:
  static constexpr int terms = 15;
  // Powers (a, b) of the rows of `coefficients`, in the order of Table B.1: by a + b, then by b.
  static const std::array<std::array<int, 2>, terms>& powers();
  // Columns A_x, B_x, A_y, B_y, A_theta, B_theta.
  Eigen::Matrix<double, terms, 6> coefficients = Eigen::Matrix<double, terms, 6>::Zero();
  double unit = 0.1;  // m, of r

  Eigen::Vector3d operator()(double r, double phi1, double phi2) const;
};

// Text with a header `phi1,phi2,A_x,B_x,A_y,B_y,A_theta,B_theta`, a row for each pair of powers in any order, and lines of
// comment from # on; or what the study coil-fit writes, in which more columns follow. Throws std::invalid_argument, "line
// N: ...".
CoilForm read_coil_form(const std::string& text);

// A point of a grid and what acts there.
struct CoilSample {
  double r, phi1, phi2;
  Eigen::Vector3d wrench;
};
// The form that has the least squares of residuals times (r/unit)^weight; 0: as they are, 4: about as far points as near.
// Throws std::invalid_argument where the samples do not determine it.
CoilForm fit_coil_form(const std::vector<CoilSample>& samples, double weight);

}  // namespace dodyn::rigid
