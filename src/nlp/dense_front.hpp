// The dense work of a multifrontal factorisation, four numbers at a time where the processor can. No fused
// multiply-add, and sums in the same order everywhere: the digits are the same on every machine.
//
// A front is a symmetric matrix of p variables to eliminate and `left` rows below them. It stands in two pieces: the
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

// Consecutive rows of a block and where they stand in the front that takes them up: among its own variables where
// to < own, else `to - own` rows below. No run crosses that line.
struct Run {
  int from, to, length;
};

// Adds the lower triangle of a block (columns of `stride`) to a front of `own` variables and perhaps delayed ones.
void add_block(const double* block, int stride, std::span<const Run> runs, int own, const DenseFront& front);

// Eliminates what it can of a front's variables, whose columns it completes (both triangles of the pivot rows) and
// updates; the rest is not touched. `variables` [p] move with them, `grown` [p] is the size of what elimination added
// to their diagonals. Into `diagonal` [2 p]: (d, 0) or, over two columns, (a, b), (c, not a number).
struct Eliminated {
  int pivots = 0, positive = 0, negative = 0;
};
Eliminated eliminate(const DenseFront& front, int* variables, double* grown, double* diagonal, double pivot_threshold);

// The rest less L D L^T of the pivots. `scaled` has room for pivots x rest_stride numbers; into `added` [left, padded]:
// the size of what that adds to the diagonals.
void update_rest(const DenseFront& front, int pivots, const double* diagonal, double* scaled, double* added);

// Lower triangle of the block (columns of `stride`) less the columns of w times their inverse pivots times themselves:
// `count` columns of `stride` numbers, padded. `scaled` and `added` as above.
void subtract_squares(int stride, int count, const double* w, const double* inverse_pivot, double* block,
                      double* scaled, double* added);

// x less L of the pivots, then over D: of a panel as eliminate() leaves it, x as its rows stand; and x less L^T.
void substitute_forward(const double* panel, int pivots, int p, int left, const double* diagonal, double* x);
void substitute_backward(const double* panel, int pivots, int p, int left, double* x);

}  // namespace dodyn::nlp
