// The contacts of a large island, solved on its bodies: Newton's method on the augmented Lagrangian.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "rigid/block_cholesky.hpp"
#include "rigid/inertia.hpp"

namespace dodyn::rigid {

template <int n>
class ContactRows;

// What a contact's impulse obeys, in `directions` directions: 1 normal, or n with tangents. It is the projection on to
// the impulses allowed, P(l + A e), of itself and what would undo the error e of its velocity, A = 1/metric. The normal
// impulse is not negative; the tangential one has at most the size `friction` times the normal one.
//
// With the impulses l known, a step minimises over the change x of the velocities 1/2 x^T M x plus the envelope whose
// slope is P(l + K (e - J x)), K = stiffness A, and takes that P for the next l: the method of multipliers (proximal
// points of the dual; Rockafellar 1976). The limits of friction are those at the start of the step. Its matrix
// M + J^T P' K J has the pattern of the graph of contacts and stays regular where contacts are redundant.
template <int n, int directions>
class Island {
 public:
  // `friction` is read where directions > 1, `given` (normal impulses that count for its limits) may be empty. All must
  // outlive what follows, as must the rows and their bodies' state.
  void gather(const ContactRows<n>& rows, std::span<const int> contacts, std::span<const double> target,
              std::span<const double> friction, std::span<const double> given = {});
  // Largest change (m/s) that P makes. `impulse` holds n numbers per contact that are in nu.
  double residual(const Eigen::VectorXd& nu, const std::vector<double>& impulse);
  // One step from what residual() saw. False, and nothing changed: Newton's method did not converge.
  bool step(double stiffness, Eigen::VectorXd& nu, std::vector<double>& impulse);

 private:
  static constexpr int width = Multibody<n>::twist;
  using Block = typename BlockCholesky<width>::Block;
  using Along = Eigen::Matrix<double, directions, 1>;
  enum class Mode : char { off, on, slides };
  struct Share {  // of a contact in the momentum of one node
    int place;
    Eigen::Matrix<double, width, directions> rows;
  };
  struct MassBlock {
    int row, column, index;  // index -1: on the diagonal
    Block block;
  };

  Along allowed(const Along& wanted, double limit, Mode& mode) const;
  std::span<const Share> shares(std::size_t i) const {
    return {shares_.data() + first_share_[i], shares_.data() + first_share_[i + 1]};
  }
  bool factor();
  double search(double inertia, double curvature, double steepest) const;

  const ContactRows<n>* rows_ = nullptr;
  std::span<const double> target_, friction_, given_;

  // per contact that can press
  std::vector<int> contact_, first_share_, first_link_;
  std::vector<Along> admittance_, error_, impulse_;
  std::vector<double> limit_;
  std::vector<Along> stiffness_, wanted_, result_, push_;  // of the step
  std::vector<Mode> mode_, factored_;

  // per node
  std::vector<Share> shares_;
  std::vector<int> links_, node_of_;
  std::vector<std::pair<int, int>> pairs_;
  std::vector<MassBlock> mass_;
  std::vector<Block> inverse_mass_;
  BlockCholesky<width> cholesky_;
  bool usable_ = false;  // the factor, for modes `factored_` and this stiffness
  double stiffness_used_ = 0.0;
  Eigen::VectorXd moved_, momentum_, direction_, residual_, pushed_;
};

}  // namespace dodyn::rigid
