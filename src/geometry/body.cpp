#include "geometry/body.hpp"

#include <Eigen/Eigenvalues>
#include <Eigen/LU>
#include <algorithm>
#include <sstream>
#include <stdexcept>

#include "geometry/hyperplanes.hpp"

namespace dodyn::geometry {

// Grow from the first part to all that touch; what is left over is across a gap.
template <int n>
void require_connected(const std::string& name, const std::vector<Polytope<n>>& parts) {
  std::vector<std::size_t> reached{0};
  std::vector<bool> seen(parts.size(), false);
  std::vector<double> gap(parts.size(), std::numeric_limits<double>::infinity());
  seen[0] = true;
  for (std::size_t next = 0; next < reached.size(); ++next)
    for (std::size_t j = 0; j < parts.size(); ++j) {
      if (seen[j]) continue;
      const Polytope<n>& part = parts[reached[next]];
      Basis<n> basis;
      Contact<n> contact;
      find_contact(part, Frame<n>{}, parts[j], Frame<n>{}, basis, contact);
      gap[j] = std::min(gap[j], -contact.normal_gap());
      if (gap[j] > 1e-6 * std::min(part.radius(), parts[j].radius())) continue;
      seen[j] = true;
      reached.push_back(j);
    }
  for (std::size_t j = 0; j < parts.size(); ++j)
    if (!seen[j]) {
      std::ostringstream what;
      what << "body " << name << ": parts leave a gap: part " << j + 1 << " of " << parts.size() << " is " << gap[j]
           << " m away from those connected to part 1; parts must touch or overlap";
      throw std::invalid_argument(what.str());
    }
}

template <int n>
Body<n> make_body(const std::string& name, const std::vector<Polytope<n>>& parts, double density) {
  if (parts.empty()) throw std::invalid_argument("body " + name + ": has no parts, needs at least one");
  require_connected(name, parts);
  MassProperties<n> mass = mass_properties(parts[0], density);
  for (std::size_t i = 1; i < parts.size(); ++i) mass = mass + mass_properties(parts[i], density);

  Body<n> body;
  body.name = name;
  body.drawing.position = mass.centre;
  Matrix<n> off = mass.euler_tensor;
  off.diagonal().setZero();
  if (off.norm() > 1e-12 * mass.euler_tensor.trace()) {
    body.drawing.directors = Eigen::SelfAdjointEigenSolver<Matrix<n>>(mass.euler_tensor).eigenvectors();
    if (body.drawing.directors.determinant() < 0.0) body.drawing.directors.col(0) *= -1.0;
  }
  const Matrix<n>& axes = body.drawing.directors;
  const Frame<n> into{-(axes.transpose() * mass.centre), axes.transpose()};
  for (const auto& part : parts) {
    body.parts.push_back(part.moved(into));
    for (const auto& v : body.parts.back().corners()) body.radius = std::max(body.radius, v.norm());
  }
  body.mass.mass = mass.mass;
  body.mass.euler_tensor = Vector<n>((axes.transpose() * mass.euler_tensor * axes).diagonal()).asDiagonal();
  return body;
}

template void require_connected(const std::string&, const std::vector<Polytope<2>>&);
template void require_connected(const std::string&, const std::vector<Polytope<3>>&);
template Body<2> make_body(const std::string&, const std::vector<Polytope<2>>&, double);
template Body<3> make_body(const std::string&, const std::vector<Polytope<3>>&, double);

}  // namespace dodyn::geometry
