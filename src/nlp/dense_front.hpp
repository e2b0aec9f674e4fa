// Dense operations of a multifrontal factorisation, four numbers at a time if the processor can. No fused multiply-add,
// and sums in a fixed order: the digits are equal on every machine.
//
// A front is a symmetric matrix of p variables to eliminate and `left` rows below them. It is stored in two parts. The
// panel has p columns of `stride` numbers: first the pivot rows, padded to `top`, then the rows below, padded. The rest
// is the lower triangle of `left` columns of `rest_stride` numbers. Sizes are padded to multiples of four, with zeros.
#pragma once

#include <span>

namespace dodyn::nlp {

constexpr int padded(int size) { return (size + 3) & ~3; }

struct DenseFront {
  double* panel;
  double* rest;
  int p, left;
  int top() const { return padded(p); }
  int stride() const { return padded(p) + padded(left); }
  int rest_stride() const { return padded(left); }
};

// Consecutive rows [from, from + length) of a block, and the position `to` of the first row in the front that receives
// them. to < own: an own variable of the front; otherwise row to - own below. No run crosses this boundary.
struct Run {
  int from, to, length;
};

// Adds the lower triangle of a block (columns of `stride`) to a front. `own`: number of the front's own variables,
// which precede delayed variables.
void add_block(const double* block, int stride, std::span<const Run> runs, int own, const DenseFront& front);

// Eliminates the variables of a front that have stable pivots, and moves them to the front of the panel. First
// completes both triangles of the pivot rows. Updates the panel; DenseFront::rest is unchanged. `variables` [p] and
// `grown` [p] are permuted with the columns. `grown`: sum of the magnitudes of all updates of a variable's diagonal; in
// and out. `diagonal` [2 p], out: (d, 0); for a 2 x 2 pivot (a, b), (c, NaN).
struct Eliminated {
  int pivots = 0, positive = 0, negative = 0;
};
Eliminated eliminate(const DenseFront& front, int* variables, double* grown, double* diagonal, double pivot_threshold);

// Subtracts L D L^T of the pivots from the rest. `scaled`: work space of pivots x rest_stride numbers. `added` [left,
// padded]: the sum of the magnitudes of the updates of each diagonal.
void update_rest(const DenseFront& front, int pivots, const double* diagonal, double* scaled, double* added);

// Subtracts w D^-1 w^T from the lower triangle of the block (columns of `stride`). w has `count` columns of `stride`
// numbers, padded. `scaled`: work space of count x stride numbers. `added` [stride]: as in update_rest().
void subtract_squares(int stride, int count, const double* w, const double* inverse_pivot, double* block,
                      double* scaled, double* added);

// Substitute with a panel of eliminate(). x: right side in the order of the panel's rows, in and out. forward: solves
// with L of the pivots, then with D; backward: solves with L^T.
void substitute_forward(const double* panel, int pivots, int p, int left, const double* diagonal, double* x);
void substitute_backward(const double* panel, int pivots, int p, int left, double* x);

}  // namespace dodyn::nlp
