// Solves the contacts of a large island in the velocities of its bodies: Newton's method on the augmented Lagrangian.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "rigid/block_lu.hpp"
#include "rigid/inertia.hpp"

namespace dodyn::rigid {

template <int n>
class ContactRows;

// The condition on the impulse l of a contact, in `directions` directions: 1 normal, or n with tangents.
//
//   l = P(l + A (e - mu |u_t| n))     P: projection on to the admissible impulses, in the metric 1/A
//                                     e: error of the contact velocity; u_t: sliding velocity; n: normal
//                                     A: diagonal, inverses of entries of J M^-1 J^T. Normal: the diagonal entry;
//                                        tangents: the maximum of their diagonal entries
//
// The admissible impulses form Coulomb's cone: normal impulses are not negative, and the size of tangential impulses is
// at most mu (`friction`) times the normal impulse. With the term mu |u_t| n the friction law is a projection
// (De Saxcé and Feng 1998). Without the term, a contact that slides would lift off.
//
// With the impulses l known, a step finds the change x of the velocities for which M x = J^T (P(l + K (e - J x)) - l),
// K = stiffness A, and uses that P as the next l: the method of multipliers (proximal points of the dual; Rockafellar
// 1976). Its matrix M + J^T P' K J has the pattern of the contact graph and is regular even if contacts are redundant.
// Without friction it is the Hessian of a convex function, and Newton's method with line search converges. With
// friction the implicit sliding term makes the matrix unsymmetric, and Newton's method may diverge. Then a smaller
// stiffness or a better initial guess helps.
template <int n, int directions>
class Island {
 public:
  // Sets up the island. `friction` is read if directions > 1. `given` (normal impulses that raise the friction limits)
  // may be empty. All arguments, the rows and the bodies' state must outlive the later calls.
  void gather(const ContactRows<n>& rows, std::span<const int> contacts, std::span<const double> target,
              std::span<const double> friction, std::span<const double> given = {});
  // Returns the largest velocity change (m/s) by the projection P. `impulse`: n numbers per contact, already in nu.
  double residual(const Eigen::VectorXd& nu, const std::vector<double>& impulse);
  // Makes one step from the state of residual() with at most `most` Newton steps. Afterwards impulses and velocities
  // are consistent and the impulses admissible. Returns the number of Newton steps (with one direction: of
  // factorisations); more than `most`: no convergence. In that case with friction nothing has changed.
  int step(double stiffness, int most, Eigen::VectorXd& nu, std::vector<double>& impulse) {
    if constexpr (smooth)
      return step_smooth(stiffness, most, nu, impulse);
    else
      return step_rough(stiffness, most, nu, impulse);
  }

 private:
  static constexpr int width = Multibody<n>::twist;
  static constexpr bool smooth = directions == 1;
  using Block = typename BlockCholesky<width>::Block;
  using Along = Eigen::Matrix<double, directions, 1>;
  using Slope = Eigen::Matrix<double, directions, directions>;
  // Regions of P. off: no impulse; sticks: inside the cone; slides: on its surface; friction_only,
  // friction_only_edge: no normal impulse of its own, friction by the given one.
  enum class Mode : char { off, sticks, slides, friction_only, friction_only_edge };
  struct Share {  // effect of a contact on the momentum of one node
    int place;
    Eigen::Matrix<double, width, directions> rows;
  };
  struct MassBlock {
    int row, column, index;  // index -1: a diagonal block
    Block block;
  };

  static int pieces(int size);
  int link(int i, int j) const;  // index of the block of two nodes in the factor; -1: on its diagonal
  int gather_contacts(std::span<const int> contacts, std::span<const double> given);
  void gather_shares();
  void gather_masses(int nodes);
  Along allowed(std::size_t i, const Along& wanted, Mode& mode) const;
  Slope slope(std::size_t i) const;
  std::span<const Share> shares(std::size_t i) const {
    return {shares_.data() + first_share_[i], shares_.data() + first_share_[i + 1]};
  }
  void set_direction();
  double inverse_mass_norm() const;
  void apply(Eigen::VectorXd& nu, std::vector<double>& impulse) const;
  // The first three functions serve for one direction (smooth), the last three for several. The other three are empty.
  int step_smooth(double stiffness, int most, Eigen::VectorXd& nu, std::vector<double>& impulse);
  bool factor_smooth();
  double search(double inertia, double curvature, double steepest) const;
  int step_rough(double stiffness, int most, Eigen::VectorXd& nu, std::vector<double>& impulse);
  bool factor_rough();
  double missed(double s);

  const ContactRows<n>* rows_ = nullptr;
  std::span<const double> target_, friction_;

  // [contacts that can press]
  std::vector<int> contact_, first_share_, first_link_;
  std::vector<Along> admittance_, root_, error_, impulse_;  // root_: square root of the admittance
  std::vector<double> edge_, given_;           // friction coefficient and given normal impulse, scaled by 1/root_
  std::vector<Along> wanted_, result_, push_;  // in the current Newton step: argument of P, its result, J x
  std::vector<Along> open_;                    // velocity error that the impulses have not yet removed
  std::vector<Mode> mode_, factored_;

  // [nodes]
  std::vector<Share> shares_;
  std::vector<int> links_, node_of_;
  std::vector<std::pair<int, int>> pairs_;
  std::vector<MassBlock> mass_;
  std::vector<Block> inverse_mass_;
  std::conditional_t<smooth, BlockCholesky<width>, BlockLU<width>> factor_;
  bool usable_ = false;  // whether the frictionless factor is valid for modes `factored_` and stiffness_
  double stiffness_ = 0.0;
  Eigen::VectorXd moved_, momentum_, direction_, residual_, pushed_;
};

}  // namespace dodyn::rigid
