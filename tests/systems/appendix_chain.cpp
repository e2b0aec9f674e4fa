// The manipulator of Johnson's appendix A, body by body in null-space matrices, against both views of
// models/manipulator.model: rates of the coordinates' chain, null spaces and updates of the joined bodies. Some printed
// signs and blocks of (A.5) to (A.12) are wrong; the test shows the error of each.
#include <gtest/gtest.h>

#include <Eigen/LU>
#include <random>

#include "rigid/multibody.hpp"
#include "systems/bodies.hpp"
#include "systems/model.hpp"

namespace dodyn::systems::test_appendix_chain {
namespace {

using Eigen::Matrix3d;
using Eigen::Vector3d;
using Matrix = Eigen::MatrixXd;
using rigid::exponential, rigid::hat;

enum Misprint { none, sign_of_A12, sign_of_A23, sign_of_A34, block_of_body_4, I33, places_before };

struct Chain {
  Model model = read_model(model_text("manipulator"), "manipulator");
  Bodies<3> view = bodies<3>(model, model.evaluate<double>());
  std::vector<double> q, v;
  Bodies<3>::State state;
  std::array<int, 4> body{};
  std::array<Matrix3d, 4> R;
  std::array<Vector3d, 4> at, omega, pace;
  Vector3d rho11, rho21, rho22, rho32, rho33, rho43;  // from the centre of the first to the joint of the second index
  Vector3d n1, n3;

  explicit Chain(unsigned seed) {
    std::mt19937 random(seed);
    std::uniform_real_distribution<double> uniform(-1.0, 1.0);
    for (int i = 0; i < view.tree.n(); ++i) q.push_back(uniform(random)), v.push_back(2.0 * uniform(random));
    state = view.state(q, v);
    std::array<Vector3d, 4> joint;
    for (std::size_t b = 0; b < 4; ++b) {
      const auto& place = view.links[link("bar_" + std::to_string(b + 1))];
      body[b] = place.body;
      const auto& pose = state.poses[place.body];
      R[b] = pose.directors;
      at[b] = pose.position;
      const auto& twist = state.twists[place.body];
      pace[b] = twist.head<3>();
      omega[b] = twist.tail<3>();
      joint[b] = at[b] + R[b] * Vector3d(place.origin[0], place.origin[1], place.origin[2]);
    }
    rho11 = joint[1] - at[0], rho21 = joint[1] - at[1];
    rho22 = joint[2] - at[1], rho32 = joint[2] - at[2];
    rho33 = joint[3] - at[2], rho43 = joint[3] - at[3];
    n1 = R[0].col(1), n3 = R[2].col(1);
  }
  int link(const std::string& name) const {
    for (std::size_t l = 0; l < view.tree.links.size(); ++l)
      if (view.tree.links[l].name == name) return static_cast<int>(l);
    throw std::logic_error(name);
  }
  double rate(const std::string& name) const {
    const auto& names = view.tree.coordinate_names;
    return v[std::find(names.begin(), names.end(), name) - names.begin()];
  }
  double angle(const std::string& name) const {
    const auto& names = view.tree.coordinate_names;
    return q[std::find(names.begin(), names.end(), name) - names.begin()];
  }
  // (A.4): [phi1'; omega1; theta2'; omega3; theta4'], theta' the whole spin of a body about its hinge.
  Eigen::VectorXd nu() const {
    Eigen::VectorXd all(11);
    all << pace[0], omega[0], n1.dot(omega[1]), omega[2], n3.dot(omega[3]);
    return all;
  }
  // (A.8), [18, 11]: rates of the second to the fourth body.
  Matrix P(Misprint wrong) const {
    const Matrix3d I = Matrix3d::Identity(), N11 = n1 * n1.transpose(), I11 = I - N11, N33 = n3 * n3.transpose();
    const auto sign = [&](Misprint which) { return wrong == which ? -1.0 : 1.0; };
    const Matrix3d A12 = -(hat(rho11 - rho21) + sign(sign_of_A12) * hat(rho21) * N11),
                   A23 = -(hat(rho11 - rho21) + hat(rho21) * N11 + sign(sign_of_A23) * hat(rho22) * I11),
                   A34 = -(hat(rho33 - rho43) + sign(sign_of_A34) * hat(rho43) * N33 - hat(rho32));
    Matrix all = Matrix::Zero(18, 11);
    for (const int row : {0, 6, 12}) all.block<3, 3>(row, 0) = I;
    all.block<3, 3>(0, 3) = A12;
    all.block<3, 3>(6, 3) = A23;
    all.block<3, 3>(12, 3) = wrong == block_of_body_4 ? A34 : A23;
    all.block<3, 3>(3, 3) = I11;
    all.block<3, 1>(0, 6) = rho21.cross(n1);
    all.block<3, 1>(3, 6) = n1;
    all.block<3, 1>(6, 6) = all.block<3, 1>(12, 6) = (rho21 - rho22).cross(n1);
    all.block<3, 3>(6, 7) = hat(rho32);
    all.block<3, 3>(9, 7) = I;
    all.block<3, 3>(12, 7) = A34;
    all.block<3, 3>(15, 7) = wrong == I33 ? N33 : Matrix3d(I - N33);
    all.block<3, 1>(12, 10) = rho43.cross(n3);
    all.block<3, 1>(15, 10) = n3;
    return all;
  }
  // (A.3), [24, 11]: forces and torques on bodies of [tau_phi; tau_T; tau_R1; tau_S; tau_R3].
  Matrix C() const {
    Matrix all = Matrix::Zero(24, 11);
    all.block<3, 3>(0, 0) = all.block<3, 3>(3, 3) = all.block<3, 3>(15, 7) = Matrix3d::Identity();
    all.block<3, 1>(3, 6) = -n1;
    all.block<3, 1>(9, 6) = n1;
    all.block<3, 3>(9, 7) = -Matrix3d::Identity();
    all.block<3, 1>(15, 10) = -n3;
    all.block<3, 1>(21, 10) = n3;
    return all;
  }
  // (A.11) to (A.13): poses after a step u of the same order as nu.
  std::array<rigid::Pose<3>, 4> moved(const Eigen::VectorXd& u, Misprint wrong) const {
    const Vector3d push = u.head<3>(), turn = u.segment<3>(3), spin = u.segment<3>(7);
    const Matrix3d dR1 = exponential(turn), dR2 = exponential(-n1.dot(turn) * n1) * exponential(u(6) * n1),
                   dR3 = exponential(spin), dR4 = exponential(-n3.dot(spin) * n3) * exponential(u(10) * n3);
    std::array<rigid::Pose<3>, 4> next;
    next[0].directors = dR1 * R[0];
    next[1].directors = dR1 * dR2 * R[1];
    next[2].directors = dR3 * R[2];
    next[3].directors = dR3 * dR4 * R[3];
    next[0].position = at[0] + push;
    const auto from = [&](std::size_t b) { return wrong == places_before ? at[b] : Vector3d(next[b].position); };
    next[1].position = from(0) + dR1 * rho11 - dR1 * dR2 * rho21;
    next[2].position = from(1) + dR1 * dR2 * rho22 - dR3 * rho32;
    next[3].position = from(2) + dR3 * rho33 - dR3 * dR4 * rho43;
    return next;
  }
};

TEST(AppendixChain, NullSpacesAreThoseOfBothViewsAndMisprintsAreNot) {
  for (unsigned seed = 1; seed <= 5; ++seed) {
    const Chain chain(seed);
    Eigen::VectorXd rates(18);
    for (Eigen::Index b = 1; b < 4; ++b) rates.segment<6>(6 * (b - 1)) << chain.pace[b], chain.omega[b];
    EXPECT_LT((chain.P(none) * chain.nu() - rates).cwiseAbs().maxCoeff(), 1e-12);
    for (const Misprint wrong : {sign_of_A12, sign_of_A23, sign_of_A34, block_of_body_4, I33})
      EXPECT_GT((chain.P(wrong) * chain.nu() - rates).cwiseAbs().maxCoeff(), 1e-3) << wrong;

    const rigid::Multibody<3> joined(chain.view.world);
    ASSERT_EQ(joined.dofs(), 11);
    std::vector<rigid::Multibody<3>::Jacobian> J(chain.view.world.bodies.size());
    joined.jacobians(chain.state.poses, joined.trees().front(), J);
    for (Eigen::Index b = 1; b < 4; ++b)
      EXPECT_LT((chain.P(none).middleRows<6>(6 * (b - 1)) - J[chain.body[b]]).cwiseAbs().maxCoeff(), 1e-13);
  }
}

// The power of the actuators' forces equals that of their controls on the coordinates. They reach every degree of
// freedom.
TEST(AppendixChain, ActuatorsDoThePowerOfTheirCoordinates) {
  for (unsigned seed = 1; seed <= 5; ++seed) {
    const Chain chain(seed);
    Matrix P(24, 11);
    P << Matrix::Identity(6, 11), chain.P(none);
    const Matrix C = chain.C();
    EXPECT_EQ(Eigen::FullPivLU<Matrix>(P.transpose() * C).rank(), 11);
    const Eigen::VectorXd power = C.transpose() * P * chain.nu();  // of each, of one N or N m
    EXPECT_LT((power.head<3>() - chain.pace[0]).norm() + (power.segment<3>(3) - chain.omega[0]).norm(), 1e-12);
    EXPECT_NEAR(power(6), chain.rate("bar_2"), 1e-12);
    EXPECT_NEAR(power(10), chain.rate("bar_4"), 1e-12);
    // the spherical joint is three hinges, about z, x and y
    const Matrix3d about_z = chain.R[1] * exponential(Vector3d(0, 0, chain.angle("wrist_z")));
    const Vector3d hinges = chain.rate("wrist_z") * about_z.col(2) + chain.rate("wrist_x") * about_z.col(0) +
                            chain.rate("wrist_y") * chain.R[2].col(1);
    EXPECT_LT((power.segment<3>(7) - hinges).norm(), 1e-12);
  }
}

// For steps of any length, joints are satisfied, and poses equal those of the contact simulation's update.
TEST(AppendixChain, UpdatesKeepJointsAndMisprintsDoNot) {
  std::mt19937 random(7);
  std::uniform_real_distribution<double> uniform(-0.5, 0.5);
  for (unsigned seed = 1; seed <= 5; ++seed) {
    const Chain chain(seed);
    Eigen::VectorXd u(11);
    for (double& x : u) x = uniform(random);
    const rigid::Multibody<3> joined(chain.view.world);
    auto poses = chain.state.poses;
    joined.reparametrise(chain.state.poses, u, poses);
    const auto next = chain.moved(u, none), printed = chain.moved(u, places_before);
    for (std::size_t b = 0; b < 4; ++b) {
      const auto& pose = poses[chain.body[b]];
      EXPECT_LT((next[b].position - pose.position).norm(), 1e-13) << b;
      EXPECT_LT((next[b].directors - pose.directors).norm(), 1e-13) << b;
    }
    EXPECT_NEAR((printed[1].position - next[1].position).norm(), u.head<3>().norm(), 1e-13);
    EXPECT_LT(joined.constraint_residual(chain.state.poses, poses), 1e-13);
    for (std::size_t b = 0; b < 4; ++b) poses[chain.body[b]].position = printed[b].position;
    EXPECT_GT(joined.constraint_residual(chain.state.poses, poses), 1e-2);
  }
}

}  // namespace
}  // namespace dodyn::systems::test_appendix_chain
