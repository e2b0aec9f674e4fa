// Large islands of contacts: the sparse factor, and the conserved quantities of a packed clump.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "rigid/block_cholesky.hpp"
#include "rigid/simulation.hpp"
#include "scenes.hpp"

namespace dodyn::rigid::test_clumps {
namespace {

TEST(BlockCholesky, SolvesWhatTheDenseOneSolves) {
  std::mt19937 engine(3);
  std::uniform_real_distribution<double> uniform(-1.0, 1.0);
  constexpr int width = 3, nodes = 12;
  const std::vector<std::pair<int, int>> pairs = {{0, 5}, {5, 2},  {2, 7},  {7, 0}, {1, 3},  {3, 4},
                                                  {4, 1}, {1, 11}, {11, 6}, {6, 1}, {10, 2}, {5, 2}};
  BlockCholesky<width> sparse;
  for (int repeat = 0; repeat < 2; ++repeat) {  // the second time with what the first has left
    sparse.analyse(nodes, pairs);
    Eigen::MatrixXd dense = Eigen::MatrixXd::Zero(width * nodes, width * nodes);
    const auto contribute = [&](int i, int j) {  // J^T J of a contact between two nodes
      const auto at = [&](int k) { return width * sparse.place(k); };
      const Eigen::Vector3d a(uniform(engine), uniform(engine), uniform(engine)),
          b(uniform(engine), uniform(engine), uniform(engine));
      Eigen::VectorXd row = Eigen::VectorXd::Zero(width * nodes);
      row.segment<width>(at(i)) = a;
      row.segment<width>(at(j)) = b;
      dense += row * row.transpose();
      sparse.diagonal(sparse.place(i)) += a * a.transpose();
      sparse.diagonal(sparse.place(j)) += b * b.transpose();
      const bool below = sparse.place(i) > sparse.place(j);
      const int high = std::max(sparse.place(i), sparse.place(j)), low = std::min(sparse.place(i), sparse.place(j));
      sparse.below(sparse.find(high, low)) += below ? Eigen::Matrix3d(a * b.transpose()) : b * a.transpose();
    };
    for (const auto& [i, j] : pairs) contribute(i, j);
    for (int i = 0; i < nodes; ++i) sparse.diagonal(i) += 0.1 * Eigen::Matrix3d::Identity();
    dense += 0.1 * Eigen::MatrixXd::Identity(width * nodes, width * nodes);
    Eigen::VectorXd x = Eigen::VectorXd::LinSpaced(width * nodes, -1.0, 2.0);
    const Eigen::VectorXd right = x;
    ASSERT_TRUE(sparse.factor());
    sparse.solve(x);
    EXPECT_LE((dense * x - right).norm(), 1e-12);
  }
  sparse.set_zero();
  EXPECT_FALSE(sparse.factor());
}

// Prisms on a hexagonal grid that a central force packs, far from any floor: one island of some sixty points.
TEST(Clump, KeepsMomentumMakesNoEnergyAndDoesNotOverlap) {
  HexagonalPrisms parameters;
  parameters.prisms = 12;
  parameters.charge_constant = 0.0;
  parameters.speed = 0.2;
  parameters.distance = 0.01;
  parameters.surface = {0.2, 0.3};
  auto scene = hexagonal_prisms(parameters);
  // potentials between all pairs of centres, so that momentum is kept
  scene.world.potentials.push_back([](Frames<3> q, std::span<ConfigurationGradient<3>> gradient) {
    constexpr double pull = 20.0;  // N
    double V = 0.0;
    for (std::size_t a = 0; a < q.size(); ++a)
      for (std::size_t b = a + 1; b < q.size(); ++b) {
        const Vector<3> apart = q[a].position - q[b].position;
        const double distance = apart.norm();
        V += pull * distance;
        gradient[a].col(0) += pull / distance * apart;
        gradient[b].col(0) -= pull / distance * apart;
      }
    return V;
  });
  Options options;
  options.step = 2e-3;
  Simulation<3> simulation(scene.world, options);
  simulation.start(scene.poses, scene.twists);
  const auto momenta = simulation.momenta();
  double overlap = -1.0, impact = 0.0;
  std::size_t touching = 0;
  const auto end = simulation.run(0.3, [&](const auto& s) {
    overlap = std::max(overlap, s.overlap());
    EXPECT_LE(s.contact_totals().impact, impact + 1e-12);  // impulses only dissipate energy
    impact = s.contact_totals().impact;
    touching = std::max(touching, s.contacts().size());
    return false;
  });
  ASSERT_EQ(end.status, Outcome::reached) << end.reason;
  EXPECT_GE(touching, 8u);
  EXPECT_LT(impact, -0.1);
  EXPECT_LE(overlap, options.tolerance);
  const auto after = simulation.momenta();
  const auto& moved = simulation.contact_totals().momentum;
  EXPECT_LE((after.linear - momenta.linear - moved.linear).norm(), 1e-10);
  EXPECT_LE(moved.linear.norm(), 1e-12);
  EXPECT_LE((after.angular - momenta.angular - moved.angular).norm(), 1e-10);
}

}  // namespace
}  // namespace dodyn::rigid::test_clumps
