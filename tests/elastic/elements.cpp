// Elements: meshes under linear displacements, closed forms of the energy, and forces as its derivative.
#include "elastic/elements.hpp"

#include <gtest/gtest.h>

#include <Eigen/LU>
#include <Eigen/SVD>
#include <cmath>
#include <random>
#include <set>

namespace dodyn::elastic::test_elements {
namespace {

const Material material{3.0, 2.0, 1.5};

template <int n>
Nodes<n> places(const Mesh<n>& mesh) {
  Nodes<n> x(n, mesh.nodes.size());
  for (std::size_t i = 0; i < mesh.nodes.size(); ++i) x.col(i) = mesh.nodes[i];
  return x;
}

// A block whose inner nodes are moved about at random.
template <int n>
Mesh<n> irregular(const Vector<n>& size, const std::array<int, n>& cells) {
  Mesh<n> mesh = block<n>(size, cells);
  std::mt19937_64 random(5);
  std::uniform_real_distribution<double> share(-0.2, 0.2);
  for (auto& x : mesh.nodes) {
    bool inner = true;
    for (int a = 0; a < n; ++a) inner = inner && std::abs(x[a]) < 0.5 * size[a] - 1e-12;
    for (int a = 0; inner && a < n; ++a) x[a] += share(random) * size[a] / cells[a];
  }
  return mesh;
}

template <int n>
void expect_patch(const Vector<n>& size, const std::array<int, n>& cells, Matrix<n> F) {
  const Mesh<n> mesh = irregular<n>(size, cells);
  Elements<n> elements;
  elements.add("patch", mesh, material);
  const Nodes<n> rest = places(mesh), x = F * rest;
  Nodes<n> force;
  int inverted;
  const double energy = elements.forces(x, force, inverted);
  ASSERT_EQ(inverted, -1);
  // W and P by principal stretches, which the program does not use
  const Eigen::JacobiSVD<Matrix<n>> svd(F, Eigen::ComputeFullU | Eigen::ComputeFullV);
  const Vector<n> stretch = svd.singularValues();
  const double log_J = stretch.array().log().sum();
  EXPECT_NEAR(energy,
              size.prod() * (0.5 * material.mu * (stretch.squaredNorm() - n) - material.mu * log_J +
                             0.5 * material.lambda * log_J * log_J),
              1e-13);
  Vector<n> slope;
  for (int i = 0; i < n; ++i)
    slope[i] = material.mu * (stretch[i] - 1 / stretch[i]) + material.lambda * log_J / stretch[i];
  const Matrix<n> P = svd.matrixU() * slope.asDiagonal() * svd.matrixV().transpose();
  Matrix<n> virial = Matrix<n>::Zero();
  int inner = 0;
  for (Eigen::Index i = 0; i < x.cols(); ++i) {
    if ((rest.col(i).cwiseAbs() - 0.5 * size).maxCoeff() < -1e-12) {
      EXPECT_LT(force.col(i).norm(), 1e-13);  // no force acts on inner nodes
      ++inner;
    }
    virial -= force.col(i) * rest.col(i).transpose();
  }
  EXPECT_GT(inner, 0);
  EXPECT_LT((virial - size.prod() * P).norm(), 1e-12);
  EXPECT_LT(force.rowwise().sum().norm(), 1e-13);
}

TEST(Elements, PassThePatchTest) {
  expect_patch<2>({2.0, 1.0}, {4, 3}, (Matrix<2>() << 1.2, 0.3, -0.1, 0.9).finished());
  expect_patch<3>({2.0, 1.0, 1.5}, {3, 3, 4},
                  (Matrix<3>() << 1.2, 0.3, 0.0, -0.1, 0.9, 0.2, 0.1, -0.2, 1.1).finished());
}

TEST(Elements, ForcesAreTheSlopeOfTheEnergy) {
  const Mesh<3> mesh = irregular<3>({1.0, 1.0, 1.0}, {2, 2, 2});
  Elements<3> elements;
  elements.add("cube", mesh, material);
  std::mt19937_64 random(2);
  std::normal_distribution<double> normal(0.0, 0.03);
  Nodes<3> x = places(mesh), force, other;
  for (double& value : x.reshaped()) value += normal(random);
  int inverted;
  elements.forces(x, force, inverted);
  for (Eigen::Index i = 0; i < x.size(); i += 7) {
    const double at = x.reshaped()[i], h = 1e-5;
    double energy[2];
    for (const int side : {0, 1}) {
      x.reshaped()[i] = at + (side ? h : -h);
      energy[side] = elements.forces(x, other, inverted);
    }
    x.reshaped()[i] = at;
    EXPECT_NEAR(-(energy[1] - energy[0]) / (2 * h), force.reshaped()[i], 1e-8);
  }
}

TEST(Elements, ShareMassAndTellWhatIsInsideOut) {
  const Mesh<3> mesh = block<3>({0.1, 0.2, 0.3}, {2, 1, 3});
  Elements<3> elements;
  elements.add("box", mesh, material);
  EXPECT_EQ(elements.size(), 6 * 6);
  double mass = 0.0;
  for (const double m : elements.mass()) mass += m;
  EXPECT_NEAR(mass, 1.5 * 0.006, 1e-16);
  Nodes<3> x = places(mesh), force;
  x.col(0) = -5.0 * x.col(0);
  int inverted;
  elements.forces(x, force, inverted);
  EXPECT_GE(inverted, 0);
}

TEST(Meshes, AreCutOutAndTheirOwnMirrorImage) {
  const Mesh<2> ring = block<2>({3, 3}, {3, 3}, [](const Vector<2>& c) { return c.norm() > 0.1; });
  EXPECT_EQ(ring.cells.size(), 16u);
  EXPECT_EQ(boundary_cells(ring).size(), 14u);  // two corners are cut off
  EXPECT_NO_THROW(ring.check("ring"));
  EXPECT_THROW((block<2>({3, 1}, {3, 1}, [](const Vector<2>& c) { return std::abs(c[0]) > 0.1; }).check("two")),
               std::invalid_argument);
  const Mesh<3> cube = block<3>({1, 1, 1}, {4, 4, 4});
  EXPECT_EQ(cube.cells.size(), 384u);
  const auto centres = [&](double sign) {
    std::set<std::array<long, 3>> all;
    for (const auto& cell : cube.cells) {
      Vector<3> c = Vector<3>::Zero();
      for (const int i : cell) c += cube.nodes[i];
      all.insert({std::lround(1e6 * sign * c[0]), std::lround(1e6 * c[1]), std::lround(1e6 * c[2])});
    }
    return all;
  };
  EXPECT_EQ(centres(1.0), centres(-1.0));
}

TEST(Meshes, OfNoMaterialAreRefused) {
  const Mesh<2> mesh = block<2>({1, 1}, {1, 1});
  Elements<2> elements;
  EXPECT_THROW(elements.add("a", mesh, {1.0, 0.0, 1.0}), std::invalid_argument);
  EXPECT_THROW(elements.add("a", mesh, {-1.0, 1.0, 1.0}), std::invalid_argument);
  EXPECT_THROW(elements.add("a", mesh, {1.0, 1.0, -1.0}), std::invalid_argument);
  EXPECT_THROW(elements.add("a", Mesh<2>{}, material), std::invalid_argument);
}

}  // namespace
}  // namespace dodyn::elastic::test_elements
