#include "geometry/polytope.hpp"

#include <gtest/gtest.h>

#include <numbers>
#include <stdexcept>

#include "geometry/supporting_corner.hpp"
#include "scenes.hpp"
#include "tests/geometry/solids.hpp"

namespace dodyn::geometry::test_polytope {
namespace {

template <class Make>
std::string refusal(const Make& make) {
  try {
    make();
  } catch (const std::invalid_argument& e) {
    return e.what();
  }
  return "accepted";
}

TEST(Polytope, RefusesWhatIsNotConvexOrFlat) {
  EXPECT_EQ(refusal([] {
              Polytope<2>({{0, 0}, {1, 0}, {0, 1}, {0.3, 0.3}}, "wedge");
            }),
            "wedge: not convex: point 4 of 4 is not a corner of the convex hull (inside, on an edge or face, or given "
            "twice)");
  EXPECT_NE(refusal([] { Polytope<2>({{0, 0}, {1, 0}, {0.5, 0}, {0, 1}}); }).find("point 3 of 4"), std::string::npos);
  EXPECT_NE(refusal([] { Polytope<2>({{0, 0}, {1, 0}, {0, 1}, {1, 0}}); }).find("not convex"), std::string::npos);
  EXPECT_EQ(refusal([] {
              Polytope<2>({{0, 0}, {1, 1}, {2, 2}}, "bar");
            }),
            "bar: degenerate: all corners lie in a line");
  EXPECT_EQ(refusal([] {
              Polytope<3>({{0, 0, 1}, {1, 0, 1}, {0, 1, 1}, {1, 1, 1}}, "sheet");
            }),
            "sheet: degenerate: all corners lie in a plane");
  EXPECT_EQ(refusal([] {
              Polytope<3>({{0, 0, 1}, {1, 0, 1}, {0, 1, 1}}, "triangle");
            }),
            "triangle: has 3 corners, allowed are 4 to 256");
  EXPECT_NE(refusal([] {
              Polytope<3>({{0, 0, 1}, {1, 0, 1}, {0, 1, 1}, {0, 0, std::nan("")}});
            }).find("not a number"),
            std::string::npos);
  auto corners = box(1, 1, 1).corners();
  corners.push_back({0.5, 0.2, 0.1});  // in a face
  EXPECT_NE(refusal([&] { return Polytope<3>(corners); }).find("point 9 of 9"), std::string::npos);
  corners.back() = {0.5, 0.5, 0.0};  // in an edge
  EXPECT_NE(refusal([&] { return Polytope<3>(corners); }).find("point 9 of 9"), std::string::npos);
  EXPECT_NE(refusal([] { return box(1, 0, 1); }).find("must be positive"), std::string::npos);
  EXPECT_NE(refusal([] { return mass_properties(box(1, 1, 1), 0.0); }).find("must be positive"), std::string::npos);
}

TEST(Polytope, CommonSolids) {
  const double a = 0.2 * std::numbers::sqrt2;
  const auto cube = mass_properties(box(a, a, a), 270.0);
  EXPECT_NEAR(cube.mass, 6.10940, 1e-5);
  EXPECT_TRUE(cube.inertia().isApprox(cube.mass * a * a / 6.0 * Matrix<3>::Identity(), 1e-12));
  EXPECT_TRUE(cube.euler_tensor.isApprox(cube.mass * a * a / 12.0 * Matrix<3>::Identity(), 1e-12));
  EXPECT_NEAR(mass_properties(octahedron(0.2 * std::sqrt(3.0)), 270.0).mass, 5.29090, 1e-5);
  EXPECT_NEAR(mass_properties(square_pyramid(0.2, 0.4), 270.0).mass, 1.44, 1e-12);
  EXPECT_LT(square_pyramid(0.2, 0.4).centroid().norm(), 1e-15);
  const auto hexagon = regular_prism(6, 0.2, 0.4);
  EXPECT_NEAR(hexagon.volume(), 1.5 * std::sqrt(3.0) * 0.04 * 0.4, 1e-14);
  const auto plate = mass_properties(rectangle(3.0, 4.0), 2.0);
  EXPECT_NEAR(plate.mass, 24.0, 1e-12);
  EXPECT_NEAR(plate.inertia(), 24.0 * 25.0 / 12.0, 1e-12);
}

// Flattened balls: thick ones become polytopes, thin ones are refused with a reason. The construction always ends.
TEST(Polytope, SliversEndInAReason) {
  Random random(3);
  int accepted = 0, refused = 0;
  for (const double squeezed : {1e-4, 1e-6, 1e-7, 1e-8, 1e-9, 1e-11})
    for (int i = 0; i < 60; ++i) {
      const auto turn = random_rotation<3>(random);
      const Vector<3> place = i % 2 ? random_vector<3>(random) : Vector<3>(Vector<3>::Zero());
      std::vector<Vector<3>> corners;
      for (int k = 0; k < (i % 3 ? 8 : 200); ++k) {
        Vector<3> v = random_vector<3>(random).normalized();
        v[2] *= squeezed;
        corners.push_back(place + turn * v);
      }
      const std::string reason = refusal([&] {
        const Polytope<3> k(corners, "sliver");
        EXPECT_EQ(std::ssize(k.facets()), 2 * k.size() - 4);
        EXPECT_NEAR(k.volume() / squeezed, 1.0, 1.0 + (i % 3 ? 2.0 : 4.0));
      });
      if (squeezed == 1e-4) {
        EXPECT_EQ(reason, "accepted");
      } else if (squeezed < 1e-10 || (i % 3 == 0 && squeezed < 1e-7)) {
        EXPECT_NE(reason.find("sliver: "), std::string::npos) << squeezed << " " << i;
      }
      ++(reason == "accepted" ? accepted : refused);
    }
  EXPECT_GT(accepted, 60);
  EXPECT_GT(refused, 60);
}

// For polytopes that store the neighbours of corners, a descent along edges finds the same corner as a pass over all.
TEST(Polytope, DescentAlongEdgesFindsTheLowestCorner) {
  Random random(4);
  for (const auto& k : {random_polytope<3>(random, 200), regular_prism(120, 0.05, 0.3), regular_prism(60, 0.05, 3.0)}) {
    double heights[max_corners];
    for (int i = 0; i < 500; ++i) {
      const Vector<3> d = i < 6 ? Vector<3>((i % 2 ? 1.0 : -1.0) * Vector<3>::Unit(i / 2)) : random_vector<3>(random);
      const Support all = lowest(k, d, heights), walked = descend_edges(k, d);
      EXPECT_NEAR(all.height, walked.height, 1e-14 * d.norm());
      EXPECT_NEAR(d.dot(k.corner(walked.corner)), walked.height, 1e-14 * d.norm());
    }
  }
}

TEST(Polytope, DescentAlongEdgesOfAPolygonFindsTheLowestCorner) {
  Random random(5);
  for (const auto& k : {regular_polygon(100, 0.03), random_polytope<2>(random, 70)}) {
    double heights[max_corners];
    for (int i = 0; i < 500; ++i) {
      const Vector<2> d = i < 4 ? Vector<2>((i % 2 ? 1.0 : -1.0) * Vector<2>::Unit(i / 2)) : random_vector<2>(random);
      EXPECT_NEAR(lowest(k, d, heights).height, descend_edges(k, d).height, 1e-14 * d.norm());
    }
  }
}

// Every facet has all corners behind it, and the boundary is closed.
TEST(Polytope, FacetsAreTheHull) {
  Random random(1);
  for (int i = 0; i < 20; ++i) {
    const auto k = random_polytope<3>(random, 4 + 5 * i);
    EXPECT_EQ(std::ssize(k.facets()), 2 * k.size() - 4);  // Euler, triangles
    Vector<3> closed = Vector<3>::Zero();
    for (const auto& f : k.facets()) {
      const Vector<3> m = (k.corner(f[1]) - k.corner(f[0])).cross(k.corner(f[2]) - k.corner(f[0]));
      closed += m;
      for (int j = 0; j < k.size(); ++j) EXPECT_LT(m.dot(k.corner(j) - k.corner(f[0])), 1e-9);
    }
    EXPECT_LT(closed.norm(), 1e-12);
  }
  EXPECT_EQ(box(1, 2, 3).facets().size(), 12u);
}

// Volumes and moments of pieces add up to those of the whole, at any place and attitude.
TEST(Polytope, MassOfPiecesIsThatOfTheWhole) {
  Random random(2);
  const Frame<3> frame{random_vector<3>(random), random_rotation<3>(random)};
  const auto whole = mass_properties(box(2, 1, 3).moved(frame), 5.0);
  const auto half = box(1, 1, 3).moved({{0.5, 0, 0}}).moved(frame),
             other = box(1, 1, 3).moved({{-0.5, 0, 0}}).moved(frame);
  const auto sum = mass_properties(half, 5.0) + mass_properties(other, 5.0);
  EXPECT_NEAR(sum.mass, whole.mass, 1e-12);
  EXPECT_LT((sum.centre - whole.centre).norm(), 1e-13);
  EXPECT_LT((sum.euler_tensor - whole.euler_tensor).norm(), 1e-12);
  EXPECT_LT((whole.euler_tensor -
             frame.directors * mass_properties(box(2, 1, 3), 5.0).euler_tensor * frame.directors.transpose())
                .norm(),
            1e-12);
}

}  // namespace
}  // namespace dodyn::geometry::test_polytope
