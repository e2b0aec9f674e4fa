// Dense operations of a multifrontal factorisation, four numbers at a time if the processor can. No fused multiply-add,
// and sums in a fixed order: the digits are equal on every machine.
//
// A front is a symmetric matrix of p variables to eliminate and `left` rows below them. It is stored in two parts: the
// panel, p columns of `stride` numbers (the pivot rows, padded to `top`, a multiple of four, then the rows below,
// padded as well), and the rest, the lower triangle of `left` columns of `rest_stride`. Paddings are zero.
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

// Consecutive rows of a block and their position in the front that receives them: its own variables if to < own,
// otherwise the `to - own` th row below. No run crosses that boundary.
struct Run {
  int from, to, length;
};

// Adds the lower triangle of a block (columns of `stride`) to a front with `own` variables and possibly delayed ones.
void add_block(const double* block, int stride, std::span<const Run> runs, int own, const DenseFront& front);

// Eliminates as many of a front's variables as have stable pivots. Completes their columns (both triangles of the pivot
// rows) and updates them; the rest is unchanged. `variables` [p] are permuted with them. `grown` [p]: the sum of
// the magnitudes of all updates of their diagonals. `diagonal` [2 p]: (d, 0); for a 2 x 2 pivot (a, b), (c, NaN).
struct Eliminated {
  int pivots = 0, positive = 0, negative = 0;
};
Eliminated eliminate(const DenseFront& front, int* variables, double* grown, double* diagonal, double pivot_threshold);

// Subtracts L D L^T of the pivots from the rest. `scaled`: work space of pivots x rest_stride numbers. `added` [left,
// padded]: the sum of the magnitudes of the updates of each diagonal.
void update_rest(const DenseFront& front, int pivots, const double* diagonal, double* scaled, double* added);

// Subtracts w D^-1 w^T from the lower triangle of the block (columns of `stride`). w has `count` columns of `stride`
// numbers, padded. `scaled` and `added` as above.
void subtract_squares(int stride, int count, const double* w, const double* inverse_pivot, double* block,
                      double* scaled, double* added);

// Substitution with a panel of eliminate(), x in the order of its rows. forward: subtracts L of the pivots, then
// divides by D; backward: subtracts L^T.
void substitute_forward(const double* panel, int pivots, int p, int left, const double* diagonal, double* x);
void substitute_backward(const double* panel, int pivots, int p, int left, double* x);

}  // namespace dodyn::nlp
