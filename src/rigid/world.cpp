#include "rigid/world.hpp"

#include <stdexcept>

#include "geometry/connected.hpp"

namespace dodyn::rigid {
namespace {

template <int n>
geometry::MassProperties<n> total(const std::string& name, const std::vector<geometry::Polytope<n>>& parts) {
  if (parts.empty()) throw std::invalid_argument("body '" + name + "' has no parts");
  geometry::require_connected(name, parts);
  auto sum = geometry::mass_properties(parts.front(), 1.0);
  for (std::size_t i = 1; i < parts.size(); ++i) sum = sum + geometry::mass_properties(parts[i], 1.0);
  return sum;
}

template <int n>
Solid<n> solid_from(const std::string& name, const std::vector<geometry::Polytope<n>>& parts,
                    const geometry::MassProperties<n>& unit, double density) {
  Solid<n> s;
  s.centre = unit.centre;
  s.body.name = name;
  s.body.mass = density * unit.mass;
  s.body.euler_tensor = density * unit.euler_tensor;
  geometry::Frame<n> shift;
  shift.position = -unit.centre;
  for (const auto& part : parts) s.body.parts.push_back(part.moved(shift));
  return s;
}

}  // namespace

template <int n>
Solid<n> solid(const std::string& name, const std::vector<geometry::Polytope<n>>& parts, double density) {
  if (!(density > 0.0))
    throw std::invalid_argument("density of body '" + name + "' is " + std::to_string(density) + ", must be positive");
  return solid_from(name, parts, total(name, parts), density);
}

template <int n>
Body<n> fixed_body(const std::string& name, const std::vector<geometry::Polytope<n>>& parts,
                   std::optional<Vector<n>> outward) {
  if (parts.empty()) throw std::invalid_argument("body '" + name + "' has no parts");
  Body<n> body;
  body.name = name;
  body.parts = parts;
  body.fixed = true;
  if (outward) body.outward.assign(parts.size(), outward);
  return body;
}

template Solid<2> solid(const std::string&, const std::vector<geometry::Polytope<2>>&, double);
template Solid<3> solid(const std::string&, const std::vector<geometry::Polytope<3>>&, double);
template Body<2> fixed_body(const std::string&, const std::vector<geometry::Polytope<2>>&, std::optional<Vector<2>>);
template Body<3> fixed_body(const std::string&, const std::vector<geometry::Polytope<3>>&, std::optional<Vector<3>>);

}  // namespace dodyn::rigid
