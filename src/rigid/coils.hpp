// Forces between two electromagnets in a plane: from the poles of their cores, and by the form (B.1) that Johnson
// (2013) fitted to them.
//
// Coil 1 lies at the origin along x; coil 2 at r (cos phi1, sin phi1), turned by phi2; both are magnetised along their
// axes. The wrench on coil 1, in its axes: [f_x; f_y] in N, torque about its centre in N m.
#pragma once

#include <Eigen/Core>
#include <array>
#include <string>
#include <vector>

namespace dodyn::rigid {

struct Coil {
  double length = 0.1, diameter = 0.01;  // length and diameter of the core, m
  double core_field = 1.0;               // magnetic flux density at the end of the core, T; in the source at a current
                                         // of 0.6 A
  bool discs = false;                    // true: poles spread over the ends of the core; false: point poles
  double pole_strength() const;          // field x area / mu0, A m
};

// Returns the wrench between two equal coils. Poles of the same coil do not act on each other.
Eigen::Vector3d pole_wrench(const Coil& coil, double r, double phi1, double phi2);

// The fit (B.1): f_i = A_i(phi1, phi2)/r^8 - B_i(phi1, phi2)/r^4, A_i and B_i the sums of c phi1^a phi2^b with a + b <=
// 4. r is in decimetres. The source does not state the unit, but with metres f would be 1e8 N.
class CoilForm {
 public:
  static constexpr int terms = 15;
  // Returns the powers (a, b) of the rows of `coefficients` in the order of Table B.1: by a + b, then by b.
  static const std::array<std::array<int, 2>, terms>& powers();
  // Columns A_x, B_x, A_y, B_y, A_theta, B_theta.
  Eigen::Matrix<double, terms, 6> coefficients = Eigen::Matrix<double, terms, 6>::Zero();
  double unit = 0.1;  // unit of r, m

  Eigen::Vector3d operator()(double r, double phi1, double phi2) const;
};

// Reads a text with the header `phi1,phi2,A_x,B_x,A_y,B_y,A_theta,B_theta` and one row for each pair of powers, in any
// order. Lines that begin with # are comments. Reads the output of the study coil-fit too, which has more columns.
// Throws std::invalid_argument, "line N: ...", or a line that names the powers of a missing row.
CoilForm read_coil_form(const std::string& text);

// A grid point and the wrench there.
struct CoilSample {
  double r, phi1, phi2;
  Eigen::Vector3d wrench;
};
// Returns the least-squares form. Residuals are weighted by (r/unit)^weight; 0: unweighted, 4: far and near points
// count about equally. Throws std::invalid_argument if the samples do not determine the form.
CoilForm fit_coil_form(const std::vector<CoilSample>& samples, double weight);

}  // namespace dodyn::rigid
