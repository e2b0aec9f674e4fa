// What the pattern of a sparse symmetric matrix alone decides of its multifrontal factorisation (symmetric_factor.hpp):
// a fill-reducing order, the tree of fronts, and where everything stands in them.
#pragma once

#include <memory>
#include <vector>

#include "nlp/dense_front.hpp"

namespace dodyn::nlp {

struct SymmetricPattern {
  // A node of the assembly tree: columns [first, last) of the permuted matrix, and the rows below them. Its place in a
  // front without delayed variables: the columns, then the rows.
  struct Node {
    int first, last, parent;
    int rows_begin, rows_end;          // in node_rows
    int children = 0;                  // nodes; leaves of one column are not
    int runs_begin = 0, runs_end = 0;  // in runs: its rows in the parent's front
    int bundles_begin = 0, bundles_end = 0;
    int touched = 0;   // rows of the saddle point that stand in its subtree or below it
    bool odd = false;  // depth in the tree
  };
  // Leaves of one column, all of whose entries are the matrix's own. A saddle point with slacks has one for each of its
  // inequality rows as a rule. Those of one parent with nearly the same rows are eliminated together, in a block of the
  // rows that any of them has.
  struct Bundle {
    int leaves_begin, leaves_end;  // in leaves
    int rows_begin, rows_end;      // in bundle_rows: places in the parent's front
    int runs_begin, runs_end;
  };

  int size = 0, saddle_rows = 0;
  std::vector<int> rows, columns;  // of the entries, as given
  std::vector<int> order;          // permuted position -> original index
  // the permuted lower triangle in compressed columns
  std::vector<int> column_start, row_of, slot_of_entry;
  std::vector<int> place;   // of each of its entries in the front of its node, or in the block of its bundle
  std::vector<Node> nodes;  // children before parents
  std::vector<int> node_rows, parent_place;  // rows below a node, and their places in the parent's front
  std::vector<Bundle> bundles;
  std::vector<int> leaves;  // their columns
  std::vector<int> bundle_rows;
  std::vector<Run> runs;
  // room for what a factorisation without delayed variables needs
  long panels = 0, indices = 0, diagonals = 0, stack[2] = {0, 0};
  int largest_rest = 0, largest_scaled = 0, largest_bundle = 0;
};

// Of the entries at (rows[k], columns[k]), in either triangle; `saddle_rows`: see SymmetricFactor::analyse().
std::shared_ptr<const SymmetricPattern> analyse_pattern(int size, const std::vector<int>& rows,
                                                        const std::vector<int>& columns, int saddle_rows);

}  // namespace dodyn::nlp
