// Reads an archive and weighs a cube with the libraries as installed.
#include <cmath>
#include <cstdio>

#include "archive/archive.hpp"
#include "geometry/polytope.hpp"

int main(int, char** argv) {
  const auto contents = dodyn::archive::read(argv[1]);
  const auto mass = dodyn::geometry::mass_properties(dodyn::geometry::box(1, 2, 3), 10.0);
  std::printf("%zu evaluations, %g kg\n", contents.evaluations.size(), mass.mass);
  return contents.evaluations.empty() || std::abs(mass.mass - 60.0) > 1e-12;
}
