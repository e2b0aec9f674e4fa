#include "geometry/body.hpp"

#include <gtest/gtest.h>

#include <stdexcept>

#include "scenes.hpp"

namespace dodyn::geometry {
namespace {

TEST(Body, AxesArePrincipalAndPartsFollow) {
  const std::vector<Polytope<3>> drawn{box(1, 1, 1).moved({{3, 0, 0}}), box(0.5, 2, 1).moved({{3.75, 0.5, 0.2}})};
  const auto body = make_body<3>("bracket", drawn, 100.0);
  const auto whole = mass_properties(drawn[0], 100.0) + mass_properties(drawn[1], 100.0);
  EXPECT_NEAR(body.mass.mass, 200.0, 1e-10);
  EXPECT_LT((body.drawing.position - whole.centre).norm(), 1e-13);
  // the parts as they now are have the mass that the body says, and lie where they were drawn
  const auto parts = mass_properties(body.parts[0], 100.0) + mass_properties(body.parts[1], 100.0);
  EXPECT_LT(parts.centre.norm(), 1e-13);
  EXPECT_LT((parts.euler_tensor - body.mass.euler_tensor).norm(), 1e-11);
  EXPECT_EQ(body.mass.euler_tensor, Matrix<3>(body.mass.euler_tensor.diagonal().asDiagonal()));
  EXPECT_NEAR(body.drawing.directors.determinant(), 1.0, 1e-13);
  double radius = 0.0;
  for (std::size_t p = 0; p < 2; ++p)
    for (int i = 0; i < 8; ++i) {
      EXPECT_LT((body.drawing(body.parts[p].corner(i)) - drawn[p].corner(i)).norm(), 1e-13);
      radius = std::max(radius, body.parts[p].corner(i).norm());
    }
  EXPECT_EQ(body.radius, radius);
  // a body with principal axes keeps them
  EXPECT_EQ(make_body<3>("box", {box(3, 1, 2)}, 1.0).drawing.directors, Matrix<3>(Matrix<3>::Identity()));
}

TEST(Body, RefusesGaps) {
  const auto at = [](double x) { return rectangle(1.0, 1.0).moved({{x, 0.0}}); };
  EXPECT_NO_THROW(make_body<2>("row", {at(0), at(2), at(1)}, 1.0));
  EXPECT_NO_THROW(make_body<2>("row", {at(0), at(0.5)}, 1.0));
  try {
    make_body<2>("row", {at(0), at(1), at(2.25), at(3.25)}, 1.0);
    FAIL() << "accepted";
  } catch (const std::invalid_argument& e) {
    EXPECT_STREQ(e.what(),
                 "body row: parts leave a gap: part 3 of 4 is 0.25 m away from those connected to part 1; parts must "
                 "touch or overlap");
  }
  EXPECT_THROW(make_body<2>("nothing", {}, 1.0), std::invalid_argument);
  EXPECT_THROW(make_body<2>("ghost", {at(0)}, -1.0), std::invalid_argument);
}

}  // namespace
}  // namespace dodyn::geometry
