#include "nlp/dense_front.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__)
#define DODYN_WIDE __attribute__((target_clones("avx2", "default")))
#else
#define DODYN_WIDE
#endif
#define DODYN_INLINE [[gnu::always_inline]] inline

namespace dodyn::nlp {
namespace {

// Four numbers in one or two registers.
using Four = double __attribute__((vector_size(32)));
using FourBits = long long __attribute__((vector_size(32)));

#pragma GCC diagnostic ignored "-Wpsabi"  // concerns functions that return a register; these are always inlined
// For unaligned addresses: clang assumes that a reference to a vector is aligned, whatever its type.
DODYN_INLINE Four load(const double* x) {
  Four value;
  std::memcpy(&value, x, sizeof value);
  return value;
}
DODYN_INLINE void store(double* x, const Four& value) { std::memcpy(x, &value, sizeof value); }

DODYN_INLINE void drop_sign(Four& x) {
  const FourBits magnitude = {0x7fffffffffffffff, 0x7fffffffffffffff, 0x7fffffffffffffff, 0x7fffffffffffffff};
  x = reinterpret_cast<Four>(reinterpret_cast<FourBits>(x) & magnitude);
}

// Returns the maximum magnitude of x[begin, end).
DODYN_INLINE double max_magnitude(const double* x, int begin, int end) {
  double maximum = 0.0;
  for (int i = begin; i < end; ++i) maximum = std::max(maximum, std::abs(x[i]));
  return maximum;
}
// Returns the maximum magnitude of x[begin, end); both are multiples of four.
DODYN_INLINE double max_magnitude_of_fours(const double* x, int begin, int end) {
  Four maximum = {0.0, 0.0, 0.0, 0.0};
  for (int i = begin; i < end; i += 4) {
    Four value = load(x + i);
    drop_sign(value);
    maximum = value > maximum ? value : maximum;
  }
  return std::max(std::max(maximum[0], maximum[1]), std::max(maximum[2], maximum[3]));
}

// c -= a b^T for the lower triangle by blocks of four. c and b have columns of `stride`, a of `a_stride` numbers. All
// sizes are padded to multiples of four.
DODYN_INLINE void subtract_product(int stride, int count, const double* a, int a_stride, const double* b, double* c) {
  for (int j = 0; j < stride; j += 4) {
    int i = j;
    for (; i + 8 <= stride; i += 8) {
      double* target = c + static_cast<long>(j) * stride + i;
      Four c00 = load(target), c01 = load(target + 4);
      Four c10 = load(target + stride), c11 = load(target + stride + 4);
      Four c20 = load(target + 2 * stride), c21 = load(target + 2 * stride + 4);
      Four c30 = load(target + 3 * stride), c31 = load(target + 3 * stride + 4);
      const double *column = a + i, *factor = b + j;
      for (int k = 0; k < count; ++k, column += a_stride, factor += stride) {
        const Four a0 = load(column), a1 = load(column + 4);
        c00 -= a0 * factor[0];
        c01 -= a1 * factor[0];
        c10 -= a0 * factor[1];
        c11 -= a1 * factor[1];
        c20 -= a0 * factor[2];
        c21 -= a1 * factor[2];
        c30 -= a0 * factor[3];
        c31 -= a1 * factor[3];
      }
      store(target, c00);
      store(target + 4, c01);
      store(target + stride, c10);
      store(target + stride + 4, c11);
      store(target + 2 * stride, c20);
      store(target + 2 * stride + 4, c21);
      store(target + 3 * stride, c30);
      store(target + 3 * stride + 4, c31);
    }
    if (i < stride) {
      double* target = c + static_cast<long>(j) * stride + i;
      Four c0 = load(target), c1 = load(target + stride), c2 = load(target + 2 * stride),
           c3 = load(target + 3 * stride);
      const double *column = a + i, *factor = b + j;
      for (int k = 0; k < count; ++k, column += a_stride, factor += stride) {
        const Four a0 = load(column);
        c0 -= a0 * factor[0];
        c1 -= a0 * factor[1];
        c2 -= a0 * factor[2];
        c3 -= a0 * factor[3];
      }
      store(target, c0);
      store(target + stride, c1);
      store(target + 2 * stride, c2);
      store(target + 3 * stride, c3);
    }
  }
}

// Threshold of the first pass for a pivot, relative to its column. Size below which a column counts as cancelled,
// relative to the updates of its diagonal.
constexpr double well_sized = 0.01, cancelled = 1e-14;

// State of eliminate(): the first `done.pivots` variables of the front are eliminated.
struct Elimination {
  const DenseFront& front;
  int* variables;
  double *grown, *diagonal;
  Eliminated done;

  DODYN_INLINE double* at(int j) const { return front.panel + static_cast<long>(j) * front.stride(); }
  DODYN_INLINE void exchange(int a, int b) const {
    if (a == b) return;
    std::swap(variables[a], variables[b]);
    std::swap(grown[a], grown[b]);
    std::swap_ranges(at(a), at(a) + front.stride(), at(b));
    for (int j = 0; j < front.p; ++j) std::swap(at(j)[a], at(j)[b]);
  }

  // Eliminates with the pivot d on the diagonal.
  DODYN_INLINE void eliminate_one(int candidate, double d) {
    const int k = done.pivots, p = front.p, top = front.top(), stride = front.stride();
    exchange(k, candidate);
    double* __restrict column = at(k);
    (d > 0.0 ? done.positive : done.negative) += 1;
    const double inverse = 1.0 / d;
    const int begin = (k + 1) & ~3;  // entries above the diagonal are not used afterwards
    for (int j = k + 1; j < p; ++j) {
      const double factor = column[j] * inverse;
      if (factor == 0.0) continue;
      grown[j] += std::abs(factor * column[j]);
      double* __restrict target = at(j);
      for (int i = begin; i < stride; i += 4) store(target + i, load(target + i) - factor * load(column + i));
    }
    for (int i = k + 1; i < top; ++i) column[i] *= inverse;
    for (int i = top; i < stride; i += 4) store(column + i, load(column + i) * inverse);
    diagonal[2 * k] = d;
    diagonal[2 * k + 1] = 0.0;
    ++done.pivots;
  }

  // Eliminates with a 2 x 2 pivot: the candidate and the variable of its largest entry. Returns false if the pivot is
  // not stable. `outside`: the largest entry of the candidate's column below the variables to eliminate.
  DODYN_INLINE bool eliminate_two(int candidate, double outside, double threshold) {
    const int k = done.pivots, p = front.p, top = front.top(), stride = front.stride();
    double* __restrict column = at(candidate);
    int counterpart = -1;
    for (int i = k; i < p; ++i)
      if (i != candidate && column[i] != 0.0 &&
          (counterpart == -1 || std::abs(column[i]) > std::abs(column[counterpart])))
        counterpart = i;
    if (counterpart == -1) return false;
    double* __restrict other = at(counterpart);
    double off_k = outside, off_other = max_magnitude_of_fours(other, top, stride);  // outside the 2 x 2 pivot
    for (int i = k; i < p; ++i)
      if (i != counterpart && i != candidate) {
        off_k = std::max(off_k, std::abs(column[i]));
        off_other = std::max(off_other, std::abs(other[i]));
      }
    const double a = column[candidate], b = column[counterpart], c = other[counterpart], determinant = a * c - b * b;
    // |block^-1| (off_k, off_other) <= 1 / threshold (Duff and Reid 1983)
    const double size = std::abs(determinant);
    if (!(determinant != 0.0 && threshold * (std::abs(c) * off_k + std::abs(b) * off_other) <= size &&
          threshold * (std::abs(b) * off_k + std::abs(a) * off_other) <= size))
      return false;
    exchange(k, candidate);
    exchange(k + 1, counterpart == k ? candidate : counterpart);
    column = at(k);
    other = at(k + 1);
    if (determinant < 0.0) {
      ++done.positive;
      ++done.negative;
    } else {
      (a > 0.0 ? done.positive : done.negative) += 2;
    }
    const double ia = c / determinant, ib = -b / determinant, ic = a / determinant;
    const int begin = (k + 2) & ~3;
    for (int j = k + 2; j < p; ++j) {
      const double f1 = ia * column[j] + ib * other[j], f2 = ib * column[j] + ic * other[j];
      if (f1 == 0.0 && f2 == 0.0) continue;
      grown[j] += std::abs(f1 * column[j]) + std::abs(f2 * other[j]);
      double* __restrict target = at(j);
      for (int i = begin; i < stride; i += 4)
        store(target + i, load(target + i) - (f1 * load(column + i) + f2 * load(other + i)));
    }
    const auto scale = [&](int i) {
      const double x = column[i], y = other[i];
      column[i] = ia * x + ib * y;
      other[i] = ib * x + ic * y;
    };
    for (int i = k + 2; i < top; ++i) scale(i);
    for (int i = top; i < stride; i += 4) {
      const Four x = load(column + i), y = load(other + i);
      store(column + i, ia * x + ib * y);
      store(other + i, ib * x + ic * y);
    }
    other[k] = column[k + 1] = 0.0;  // L is zero within the pivot
    diagonal[2 * k] = a;
    diagonal[2 * k + 1] = b;
    diagonal[2 * k + 2] = c;
    diagonal[2 * k + 3] = std::numeric_limits<double>::quiet_NaN();
    done.pivots += 2;
    return true;
  }
};

}  // namespace

DODYN_WIDE void add_block(const double* block, int stride, std::span<const Run> runs, int own,
                          const DenseFront& front) {
  const int top = front.top(), panel_stride = front.stride(), rest_stride = front.rest_stride();
  for (std::size_t a = 0; a < runs.size(); ++a) {
    const Run& columns = runs[a];
    const bool in_panel = columns.to < own;
    for (int j = 0; j < columns.length; ++j) {
      const double* __restrict from = block + static_cast<long>(columns.from + j) * stride;
      // the column's entry in the first row below the own variables; in front.rest: its first entry
      double* __restrict below = in_panel ? front.panel + static_cast<long>(columns.to + j) * panel_stride + top
                                          : front.rest + static_cast<long>(columns.to - own + j) * rest_stride;
      int skip = j;  // start of the first run: the lower triangle
      for (std::size_t b = a; b < runs.size(); ++b, skip = 0) {
        const Run& rows = runs[b];
        const double* __restrict x = from + rows.from;
        double* __restrict y = rows.to < own ? below - top + rows.to : below + (rows.to - own);
        int i = skip;
        for (; i + 4 <= rows.length; i += 4) store(y + i, load(y + i) + load(x + i));
        for (; i < rows.length; ++i) y[i] += x[i];
      }
    }
  }
}

DODYN_WIDE Eliminated eliminate(const DenseFront& front, int* variables, double* grown, double* diagonal,
                                double pivot_threshold) {
  Elimination e{front, variables, grown, diagonal, {}};
  const int p = front.p, top = front.top();
  for (int j = 0; j < p; ++j)
    for (int i = j + 1; i < p; ++i) e.at(i)[j] = e.at(j)[i];
  // first the well-sized pivots, then all stable ones
  for (const double threshold : {std::max(well_sized, pivot_threshold), pivot_threshold}) {
    // Visits candidates round robin, from the last accepted pivot on. Stops after a full round without one.
    int& k = e.done.pivots;
    for (int tried = 0, candidate = k; k < p && tried < p - k; ++candidate) {
      if (candidate < k || candidate >= p) candidate = k;
      // the largest entry among the variables to eliminate, and below them
      const double* column = e.at(candidate);
      const double outside = max_magnitude_of_fours(column, top, front.stride());
      const double off =
          std::max({max_magnitude(column, k, candidate), max_magnitude(column, candidate + 1, p), outside});
      const double d = column[candidate];
      // the remainder of numbers that cancelled counts as zero
      const bool vanished = std::max(std::abs(d), off) <= cancelled * grown[candidate];
      if (!vanished && d != 0.0 && std::abs(d) >= threshold * off) {
        e.eliminate_one(candidate, d);
        tried = 0;
      } else if (!vanished && e.eliminate_two(candidate, outside, threshold)) {
        tried = 0;
      } else {
        ++tried;
      }
    }
  }
  return e.done;
}

DODYN_WIDE void update_rest(const DenseFront& front, int pivots, const double* d, double* scaled, double* added) {
  const int rows = front.rest_stride(), stride = front.stride();
  std::fill(added, added + rows, 0.0);
  const double* below = front.panel + front.top();
  for (int k = 0; k < pivots; ++k) {
    const double* __restrict column = below + static_cast<long>(k) * stride;
    double* __restrict to = scaled + static_cast<long>(k) * rows;
    if (d[2 * k + 1] == 0.0) {
      for (int i = 0; i < rows; i += 4) {
        const Four l = load(column + i), s = d[2 * k] * l;
        store(to + i, s);
        Four product = s * l;
        drop_sign(product);
        store(added + i, load(added + i) + product);
      }
    } else {
      const double a = d[2 * k], b = d[2 * k + 1], c = d[2 * k + 2];
      for (int i = 0; i < rows; i += 4) {
        const Four l = load(column + i), m = load(column + stride + i), s = a * l + b * m, t = b * l + c * m;
        store(to + i, s);
        store(to + rows + i, t);
        Four first = s * l, second = t * m;
        drop_sign(first);
        drop_sign(second);
        store(added + i, load(added + i) + (first + second));
      }
      ++k;
    }
  }
  subtract_product(rows, pivots, below, stride, scaled, front.rest);
}

DODYN_WIDE void subtract_squares(int stride, int count, const double* w, const double* inverse_pivot, double* block,
                                 double* scaled, double* added) {
  std::fill(added, added + stride, 0.0);
  for (int k = 0; k < count; ++k) {
    const double* __restrict column = w + static_cast<long>(k) * stride;
    double* __restrict to = scaled + static_cast<long>(k) * stride;
    for (int i = 0; i < stride; i += 4) {
      const Four x = load(column + i), s = inverse_pivot[k] * x;
      store(to + i, s);
      Four product = s * x;
      drop_sign(product);
      store(added + i, load(added + i) + product);
    }
  }
  subtract_product(stride, count, w, stride, scaled, block);
}

DODYN_WIDE void substitute_forward(const double* panel, int pivots, int p, int left, const double* d, double* x) {
  const int top = padded(p), stride = top + padded(left);
  for (int k = 0; k < pivots; ++k) {
    const double* column = panel + static_cast<long>(k) * stride;
    for (int i = k + 1; i < p; ++i) x[i] -= x[k] * column[i];
  }
  for (int i = top; i < stride; i += 4) {
    Four sum = load(x + i);
    const double* column = panel + i;
    for (int k = 0; k < pivots; ++k, column += stride) sum -= x[k] * load(column);
    store(x + i, sum);
  }
  for (int k = 0; k < pivots; ++k) {
    if (d[2 * k + 1] == 0.0) {
      x[k] /= d[2 * k];
    } else {
      const double a = d[2 * k], b = d[2 * k + 1], c = d[2 * k + 2], determinant = a * c - b * b;
      const double u = x[k], v = x[k + 1];
      x[k] = (c * u - b * v) / determinant;
      x[k + 1] = (a * v - b * u) / determinant;
      ++k;
    }
  }
}

DODYN_WIDE void substitute_backward(const double* panel, int pivots, int p, int left, double* x) {
  const int top = padded(p), stride = top + padded(left);
  for (int k = pivots - 1; k >= 0; --k) {
    const double* column = panel + static_cast<long>(k) * stride;
    Four sum = {0.0, 0.0, 0.0, 0.0};
    for (int i = top; i < stride; i += 4) sum += load(column + i) * load(x + i);
    double all = (sum[0] + sum[1]) + (sum[2] + sum[3]);
    for (int i = k + 1; i < p; ++i) all += column[i] * x[i];
    x[k] -= all;
  }
}

}  // namespace dodyn::nlp
