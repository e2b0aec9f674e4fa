// Sparse factorisation of a symmetric indefinite matrix, P A P^T = L D L^T with pivots of order one and two, and the
// inertia that an interior point asks for. Multifrontal (Duff and Reid, ACM TOMS 9, 1983): a fill-reducing order and
// the tree of dense fronts are found once per pattern; every factorisation then reuses all memory. A pivot is taken
// only if it is stable in its whole front and is otherwise delayed to the parent, so that nothing depends on the order
// being a lucky one.
#pragma once

#include <Eigen/Core>
#include <memory>
#include <vector>

namespace dodyn::nlp {

class SymmetricFactor {
 public:
  struct Inertia {
    int positive = 0, negative = 0, zero = 0;
  };

  // Fixes the pattern: entry k at (rows[k], columns[k]) in either triangle (never both). A position may repeat: values
  // add up. The diagonal need not be there. A thread remembers its last few patterns: the problems of a study share
  // one, and finding the order costs as much as ten factorisations.
  void analyse(int size, const std::vector<int>& rows, const std::vector<int>& columns);

  // Factorises the matrix of these values, one per entry of the pattern. Returns false if a value is not finite. A
  // pivot column that vanishes (relative to the matrix) is counted as zero and left out of solutions.
  bool factorise(const Eigen::VectorXd& values);
  const Inertia& inertia() const { return inertia_; }

  // Solves A x = b by the factors and iterative refinement; returns |b - A x| / (|A| |x| + |b|), maximum norms.
  double solve(const Eigen::VectorXd& b, Eigen::VectorXd& x) const;

  // Smallest ratio of a pivot to its column: larger is more stable, and slower. Takes effect with the next factorise().
  double pivot_threshold = 1e-8;

  int delayed_pivots() const { return delayed_; }

 private:
  // A node of the assembly tree: columns [first, last) of the permuted matrix, and the rows below them.
  struct Node {
    int first, last, parent;
    int rows_begin, rows_end;  // in node_rows
    int children = 0;
  };
  // What depends on the pattern alone.
  struct Structure {
    int size = 0;
    std::vector<int> rows, columns;  // of the entries, as given
    std::vector<int> order;          // permuted position -> original index
    std::vector<int> column_start, row_of, slot_of_entry;
    std::vector<Node> nodes;
    std::vector<int> node_rows;
    // Where things stand in fronts without delayed variables: entry of the matrix -> entry of its node's front; row
    // below a node -> row of the parent's front.
    std::vector<int> front_entry, parent_row;
  };
  // What a factorised front keeps: `pivots` eliminated columns of a panel with `size` rows.
  struct Front {
    int pivots, size;
    long panel, indices, diagonal;
  };

  static std::shared_ptr<const Structure> analysed(int size, const std::vector<int>& rows,
                                                   const std::vector<int>& columns);
  double* push_block(int node, int left, int delayed);
  bool eliminate_leaf(int node);
  void eliminate(int p, int size);
  void update_trailing(int pivots, int p, int size);
  void substitute(Eigen::VectorXd& x) const;
  void multiply(const Eigen::VectorXd& x, Eigen::VectorXd& y) const;

  std::shared_ptr<const Structure> structure_;
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
  std::vector<double> front_, stack_, scaled_, sums_;
  std::vector<int> front_indices_, stack_indices_, place_, target_;
  struct Block {
    int node, size, delayed;  // the first `delayed` of its rows are still to be eliminated
    long values, indices;
  };
  std::vector<Block> blocks_;
  long stack_top_ = 0;
  mutable Eigen::VectorXd b_, x_, residual_, correction_;
  mutable std::vector<double> local_;
};

}  // namespace dodyn::nlp
