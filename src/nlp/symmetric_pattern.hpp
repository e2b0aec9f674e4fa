// The symbolic part of a multifrontal factorisation (symmetric_factor.hpp), which depends only on the pattern: a
// fill-reducing order, the tree of fronts, and the positions of all entries in them.
#pragma once

#include <memory>
#include <vector>

#include "nlp/dense_front.hpp"

namespace dodyn::nlp {

struct SymmetricPattern {
  // A node of the assembly tree: columns [first, last) of the permuted matrix, and the rows below them. In a front
  // without delayed variables the columns come first, then the rows.
  struct Node {
    int first, last, parent;
    int rows_begin, rows_end;          // range in node_rows
    int children = 0;                  // number of child nodes, without single-column leaves
    int runs_begin = 0, runs_end = 0;  // range in runs: its rows in the parent's front
    int bundles_begin = 0, bundles_end = 0;
    int touched = 0;   // number of saddle-point rows among the variables of its subtree and the rows of its front
    bool odd = false;  // parity of the depth
  };
  // Single-column leaves without fill. A saddle point with slacks usually has one for each inequality row. Leaves of
  // one parent with nearly the same rows are eliminated together, in a block with the union of their rows.
  struct Bundle {
    int leaves_begin, leaves_end;  // range in leaves
    int rows_begin, rows_end;      // range in bundle_rows: positions in the parent's front
    int runs_begin, runs_end;
  };

  int size = 0, saddle_rows = 0;
  std::vector<int> rows, columns;  // positions of the entries, as given
  std::vector<int> order;          // permuted position -> original index
  // the permuted lower triangle in compressed columns
  std::vector<int> column_start, row_of, slot_of_entry;
  std::vector<int> place;  // [entries of the triangle] position in the front of its node, or in the block of its bundle
  std::vector<Node> nodes;                   // children before parents
  std::vector<int> node_rows, parent_place;  // rows below a node, and their positions in the parent's front
  std::vector<Bundle> bundles;
  std::vector<int> leaves;  // columns of the leaves, bundle by bundle
  std::vector<int> bundle_rows;
  std::vector<Run> runs;
  // memory of a factorisation without delayed variables
  long panels = 0, indices = 0, diagonals = 0, stack[2] = {0, 0};
  int max_rest = 0, max_scaled = 0, max_bundle = 0;
};

// Analyses the pattern of the entries at (rows[k], columns[k]), in either triangle. `saddle_rows`: see
// SymmetricFactor::analyse().
std::shared_ptr<const SymmetricPattern> analyse_pattern(int size, const std::vector<int>& rows,
                                                        const std::vector<int>& columns, int saddle_rows);

}  // namespace dodyn::nlp
