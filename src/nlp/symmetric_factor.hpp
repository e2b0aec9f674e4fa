// Sparse factorisation of a symmetric indefinite matrix, P A P^T = L D L^T with pivots of order one and two, and the
// inertia that an interior point asks for. Multifrontal (Duff and Reid, ACM TOMS 9, 1983): a fill-reducing order and
// the tree of dense fronts are found once per pattern; every factorisation then reuses all memory. A pivot is taken
// only if it is stable in its whole front and is otherwise delayed to the parent, so that nothing depends on the order
// being a lucky one.
#pragma once

#include <Eigen/Core>
#include <vector>

namespace dodyn::nlp {

class SymmetricFactor {
 public:
  struct Inertia {
    int positive = 0, negative = 0, zero = 0;
  };

  // Fixes the pattern: entry k at (rows[k], columns[k]) in either triangle (never both). A position may repeat: values
  // add up. The diagonal need not be there.
  void analyse(int size, const std::vector<int>& rows, const std::vector<int>& columns);

  // Factorises the matrix of these values, one per entry of the pattern. Returns false if a value is not finite. A
  // pivot column that vanishes (relative to the matrix) is counted as zero and left out of solutions.
  bool factorise(const Eigen::VectorXd& values);
  const Inertia& inertia() const { return inertia_; }

  // Solves A x = b by the factors and iterative refinement; returns |b - A x| / (|A| |x| + |b|), maximum norms.
  double solve(const Eigen::VectorXd& b, Eigen::VectorXd& x) const;

  // Smallest ratio of a pivot to its column: larger is more stable, and slower. Takes effect with the next factorise().
  double pivot_threshold = 1e-8;

  long factor_entries() const { return static_cast<long>(panels_.size()); }
  int delayed_pivots() const { return delayed_; }

 private:
  // A node of the assembly tree: columns [first, last) of the permuted matrix, and the rows below them.
  struct Node {
    int first, last, parent;
    int rows_begin, rows_end;  // in node_rows_
    int children = 0;
  };
  // What a factorised front keeps: `pivots` eliminated columns of a panel with `size` rows.
  struct Front {
    int pivots, size;
    long panel, indices, diagonal;
  };

  void eliminate(int p, int size);
  void update_trailing(int pivots, int p, int size);
  void substitute(Eigen::VectorXd& x) const;
  void multiply(const Eigen::VectorXd& x, Eigen::VectorXd& y) const;

  int size_ = 0;
  std::vector<int> order_;  // permuted position -> original index
  std::vector<int> column_start_, row_of_, slot_of_entry_;
  std::vector<Node> nodes_;
  std::vector<int> node_rows_;

  std::vector<double> values_;  // of the permuted lower triangle, compressed columns
  double largest_ = 0.0;        // entry of the matrix
  // the factors
  std::vector<Front> fronts_;
  std::vector<double> panels_, diagonals_;  // diagonals_: (d, 0) or, over two columns, (a, b), (c, not a number)
  std::vector<int> indices_;
  Inertia inertia_;
  int delayed_ = 0;

  // workspace
  std::vector<double> grown_;  // by variable: size of what elimination added to its diagonal
  std::vector<double> front_, stack_, scaled_;
  std::vector<int> front_indices_, stack_indices_, place_, target_;
  struct Block {
    int size, delayed;  // the first `delayed` of its rows are still to be eliminated
    long values, indices;
  };
  std::vector<Block> blocks_;
  mutable Eigen::VectorXd b_, x_, residual_, correction_;
  mutable std::vector<double> local_;
};

}  // namespace dodyn::nlp
