// Sparse factorisation of a symmetric indefinite matrix, P A P^T = L D L^T, with 1 x 1 and 2 x 2 pivots, and the
// inertia for an interior point method. Multifrontal (Duff and Reid, ACM TOMS 9, 1983). A fill-reducing order and the
// tree of dense fronts are computed once per pattern; then every factorisation reuses all memory. A pivot must be
// stable in its whole front; otherwise it is delayed to the parent. So stability does not depend on the order.
#pragma once

#include <Eigen/Core>
#include <memory>
#include <vector>

#include "nlp/symmetric_pattern.hpp"

namespace dodyn::nlp {

class SymmetricFactor {
 public:
  struct Inertia {
    int positive = 0, negative = 0, zero = 0;
  };

  // Fixes the pattern: entry k at (rows[k], columns[k]) in either triangle (never both). A position may repeat: its
  // values are added. The diagonal may be missing. A thread caches its last few patterns, because the problems of a
  // study share one and the order costs as much as ten factorisations. The last `saddle_rows` variables are the rows of
  // a saddle point matrix [H, J^T; J, -E] with E >= 0, for factorise_convex().
  void analyse(int size, const std::vector<int>& rows, const std::vector<int>& columns, int saddle_rows = 0);

  // Factorises the matrix with these values, one per entry of the pattern. Returns false, without usable factors, if a
  // value is not finite, or if so few pivots are stable that the factors become too large. Variables without a stable
  // pivot even in the root, such as those whose column cancels to rounding, count as zero and are zero in solutions.
  bool factorise(const Eigen::VectorXd& values);
  const Inertia& inertia() const { return inertia_; }

  // Like factorise(), but stops as soon as the matrix certainly has more negative eigenvalues than the saddle point has
  // rows. Then returns true, inertia().negative is at least saddle_rows + 1, and there are no usable factors.
  bool factorise_convex(const Eigen::VectorXd& values);

  // Solves A x = b by the factors and iterative refinement, until |b - A x| / (|A| |x| + |b|) <= tolerance (maximum
  // norms), there is no more progress, or ten rounds have passed. Returns that ratio. `b` and `x` must be two vectors,
  // and x must have the size of b.
  double solve(const Eigen::VectorXd& b, Eigen::VectorXd& x, double tolerance = 1e-15) const;

  // Minimum ratio of a pivot to the largest other entry of its column. Larger values are more stable and slower. Used
  // by the next factorise().
  double pivot_threshold = 1e-8;
  // Minimum ratio for single-variable leaves, such as inequality rows, if it is above pivot_threshold. Leaves with
  // smaller pivots move to their parent's front.
  double leaf_threshold = 1e-4;

  // Returns the number of variables that the last factorisation moved to a parent's front; each move counts.
  int delayed_pivots() const { return delayed_; }

 private:
  // Stored part of a factorised front: `pivots` eliminated columns of a panel with p columns, see DenseFront.
  struct Front {
    int pivots, p, left;
    long panel, indices, diagonal;
  };
  // The part of a node that its parent receives: the rest of its front, and `delayed` columns of variables that are not
  // eliminated yet.
  struct Block {
    int node, delayed, negative;  // negative: number of negative pivots in its subtree
    long values, variables;       // indices in a stack, and in delayed_variables_
  };

  bool factorise(const Eigen::VectorXd& values, bool convex);
  enum class Progress { done, not_convex, too_large };
  Progress eliminate_node(int at, bool convex);
  int take_bundles(int at, const DenseFront& front);
  int count_delayed(int at);
  void place_delayed(int at, std::size_t first_child, const DenseFront& front);
  void leave_delayed(int at, int pivots, const DenseFront& front, const int* variables);
  double* room(bool odd, long size);
  void substitute(Eigen::VectorXd& x) const;
  void multiply(const Eigen::VectorXd& x, Eigen::VectorXd& y) const;

  std::shared_ptr<const SymmetricPattern> pattern_;
  std::vector<double> values_;  // entries of the permuted lower triangle in compressed columns
  double max_entry_ = 0.0;      // maximum magnitude of an entry
  // The factors. The columns of L for leaves are columns of the matrix times the inverse pivot.
  std::vector<double> leaf_pivot_;  // inverse; 0 if the leaf has moved to its parent
  std::vector<Front> fronts_;
  std::vector<double> panels_, diagonals_;  // diagonals_: (d, 0); for a 2 x 2 pivot (a, b), (c, NaN)
  std::vector<int> indices_;
  long panels_top_ = 0, indices_top_ = 0, diagonals_top_ = 0;
  Inertia inertia_;
  int delayed_ = 0;

  // workspace
  std::vector<double> grown_;  // by variable: sum of the magnitudes of all updates of its diagonal
  std::vector<double> stack_[2], scaled_, added_, columns_, block_, local_grown_;
  std::vector<int> delayed_variables_;
  std::vector<Block> blocks_;
  long stack_top_[2] = {0, 0};
  mutable Eigen::VectorXd b_, x_, residual_, correction_;
  mutable std::vector<double> local_;
};

}  // namespace dodyn::nlp
