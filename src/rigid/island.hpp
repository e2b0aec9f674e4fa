// The contacts of a large island, solved on its bodies: Newton's method on the augmented Lagrangian.
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

// What a contact's impulse l obeys, in `directions` directions: 1 normal, or n with tangents. It is its own projection
// P(l + A (e - mu |u_t| n)) on to the impulses allowed, in the metric 1/A: e is the error of its velocity, A the inverse
// of the kinetic metric, u_t the velocity of sliding. Allowed are normal impulses that are not negative, with tangential ones of at most the
// size `friction` times them: Coulomb's cone. The term mu |u_t| n makes the law of friction one of projection (De Saxcé
// and Feng 1998): a contact that slides must not lift off.
//
// With the impulses l known, a step finds the change x of the velocities for which M x = J^T (P(l + K (e - J x)) - l),
// K = stiffness A, and takes that P for the next l: the method of multipliers (proximal points of the dual; Rockafellar
// 1976). Its matrix M + J^T P' K J has the pattern of the graph of contacts and stays regular where contacts are
// redundant. Without friction it is the gradient of a convex function, and Newton's method with a search along the line
// ends. With friction the term of sliding, taken where x leads, makes the matrix unsymmetric, and Newton's method may not converge: then a
// smaller stiffness helps, or a better start.
template <int n, int directions>
class Island {
 public:
  // `friction` is read where directions > 1, `given` (normal impulses that count for its limits) may be empty. All must
  // outlive what follows, as must the rows and their bodies' state.
  void gather(const ContactRows<n>& rows, std::span<const int> contacts, std::span<const double> target,
              std::span<const double> friction, std::span<const double> given = {});
  // Largest change (m/s) that P makes. `impulse` holds n numbers per contact that are in nu.
  double residual(const Eigen::VectorXd& nu, const std::vector<double>& impulse);
  // One step from what residual() saw, by at most `most` Newton steps. Impulses and velocities agree afterwards and
  // impulses are allowed ones. Returns the number of Newton steps, more than `most` where they did not converge: with friction
  // nothing has changed then.
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
  // Pieces of P: no impulse; inside the cone; on its edge; no normal impulse of its own, but friction of the one given
  enum class Mode : char { off, sticks, slides, rubs, rubs_edge };
  struct Share {  // of a contact in the momentum of one node
    int place;
    Eigen::Matrix<double, width, directions> rows;
  };
  struct MassBlock {
    int row, column, index;  // index -1: on the diagonal
    Block block;
  };

  static int pieces(int size);
  int link(int i, int j) const;  // where the factor keeps this pair of places; -1: on its diagonal
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
  // Of one direction (smooth) the first three are used, else the others; those of no use are compiled empty.
  int step_smooth(double stiffness, int most, Eigen::VectorXd& nu, std::vector<double>& impulse);
  bool factor_smooth();
  double search(double inertia, double curvature, double steepest) const;
  int step_rough(double stiffness, int most, Eigen::VectorXd& nu, std::vector<double>& impulse);
  bool factor_rough();
  double missed(double s);

  const ContactRows<n>* rows_ = nullptr;
  std::span<const double> target_, friction_;

  // per contact that can press
  std::vector<int> contact_, first_share_, first_link_;
  std::vector<Along> admittance_, root_, error_, impulse_;  // root_: square root of the admittance
  std::vector<double> edge_, given_;  // friction, and the normal impulse given, where impulses are divided by root_
  std::vector<Along> wanted_, result_, push_;  // of the step
  std::vector<Along> open_;                    // what is left of the error
  std::vector<Mode> mode_, factored_;

  // per node
  std::vector<Share> shares_;
  std::vector<int> links_, node_of_;
  std::vector<std::pair<int, int>> pairs_;
  std::vector<MassBlock> mass_;
  std::vector<Block> inverse_mass_;
  std::conditional_t<smooth, BlockCholesky<width>, BlockLU<width>> factor_;
  bool usable_ = false;  // whether the factor without friction fits modes `factored_` and stiffness_
  double stiffness_ = 0.0;
  Eigen::VectorXd moved_, momentum_, direction_, residual_, pushed_;
};

}  // namespace dodyn::rigid
