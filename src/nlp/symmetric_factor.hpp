// Sparse factorisation of a symmetric indefinite matrix, P A P^T = L D L^T with pivots of order one and two, and the
// inertia that an interior point asks for. Multifrontal (Duff and Reid, ACM TOMS 9, 1983): a fill-reducing order and
// the tree of dense fronts are found once per pattern; every factorisation then reuses all memory. A pivot is taken
// only if it is stable in its whole front and is otherwise delayed to the parent, so that nothing depends on the order
// being a lucky one.
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

  // Fixes the pattern: entry k at (rows[k], columns[k]) in either triangle (never both). A position may repeat: values
  // add up. The diagonal need not be there. A thread remembers its last few patterns: the problems of a study share
  // one, and finding the order costs as much as ten factorisations. The last `saddle_rows` variables are the rows of a
  // saddle point [H, J^T; J, -E] with E >= 0, for factorise_convex().
  void analyse(int size, const std::vector<int>& rows, const std::vector<int>& columns, int saddle_rows = 0);

  // Factorises the matrix of these values, one per entry of the pattern. Returns false if a value is not finite, or if so
  // few pivots are stable that the factors become too large: there is nothing to solve with then. A pivot column that vanishes (relative to the matrix) is counted as zero and left out of solutions.
  bool factorise(const Eigen::VectorXd& values);
  const Inertia& inertia() const { return inertia_; }

  // The same, but stops as soon as it is certain that the matrix has more negative eigenvalues than rows of the saddle
  // point: inertia().negative is then saddle_rows + 1 or more, and there is nothing to solve with.
  bool factorise_convex(const Eigen::VectorXd& values);

  // Solves A x = b by the factors and iterative refinement, down to |b - A x| / (|A| |x| + |b|) <= enough (maximum
  // norms) where it leads there; returns that.
  double solve(const Eigen::VectorXd& b, Eigen::VectorXd& x, double enough = 1e-15) const;

  // Smallest ratio of a pivot to its column: larger is more stable, and slower. Takes effect with the next factorise().
  double pivot_threshold = 1e-8;
  // The same of the rows that stand by themselves, as inequalities do; smaller ones go to their parent's front.
  double leaf_threshold = 1e-4;

  int delayed_pivots() const { return delayed_; }

 private:
  // What a factorised front keeps: `pivots` eliminated columns of a panel of p, as DenseFront has them.
  struct Front {
    int pivots, p, left;
    long panel, indices, diagonal;
  };
  // What a node leaves to its parent: the rest of its front, and `delayed` columns of variables still to be eliminated.
  struct Block {
    int node, delayed, negative;  // negative: pivots of its subtree
    long values, variables;       // in a stack, and in delayed_variables_
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
  std::vector<double> values_;  // of the permuted lower triangle, compressed columns
  double largest_ = 0.0;        // entry of the matrix
  // the factors: those of the leaves are the matrix's own columns
  std::vector<double> leaf_pivot_;  // inverse; 0 where the leaf went to its parent
  std::vector<Front> fronts_;
  std::vector<double> panels_, diagonals_;  // diagonals_: (d, 0) or, over two columns, (a, b), (c, not a number)
  std::vector<int> indices_;
  long panels_top_ = 0, indices_top_ = 0, diagonals_top_ = 0;
  Inertia inertia_;
  int delayed_ = 0;

  // workspace
  std::vector<double> grown_;  // by variable: size of what elimination added to its diagonal
  std::vector<double> stack_[2], scaled_, added_, columns_, block_, local_grown_;
  std::vector<int> delayed_variables_;
  std::vector<Block> blocks_;
  long stack_top_[2] = {0, 0};
  mutable Eigen::VectorXd b_, x_, residual_, correction_;
  mutable std::vector<double> local_;
};

}  // namespace dodyn::nlp
