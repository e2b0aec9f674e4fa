#include "geometry/supporting_corner.hpp"

#include <cstring>
#include <limits>
#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>
#endif

namespace dodyn::geometry {
namespace {

// Four numbers in one register or in two. Both give bit-identical results.
template <int lanes>
struct Register;
template <>
struct Register<2> {
  using Numbers = double __attribute__((vector_size(16)));
  using Indices = long long __attribute__((vector_size(16)));
};
template <>
struct Register<4> {
  using Numbers = double __attribute__((vector_size(32)));
  using Indices = long long __attribute__((vector_size(32)));
};

// `axes`: coordinates axis by axis, `size` a multiple of 4.
template <int n, int lanes>
[[gnu::always_inline]] inline Support lowest_lanes(const double* axes, int size, const double* d, double* heights) {
  using Numbers = typename Register<lanes>::Numbers;
  using Indices = typename Register<lanes>::Indices;
  constexpr int registers = 4 / lanes;
  Numbers low[registers];
  Indices at[registers], number[registers];
  for (int r = 0; r < registers; ++r)
    for (int lane = 0; lane < lanes; ++lane) {
      low[r][lane] = std::numeric_limits<double>::infinity();
      at[r][lane] = 0;
      number[r][lane] = r * lanes + lane;
    }
  for (int i = 0; i < size; i += 4)
    for (int r = 0; r < registers; ++r) {
      Numbers height, x;
      std::memcpy(&x, axes + i + r * lanes, sizeof x);
      height = d[0] * x;
      for (int a = 1; a < n; ++a) {
        std::memcpy(&x, axes + a * size + i + r * lanes, sizeof x);
        height += d[a] * x;
      }
      std::memcpy(heights + i + r * lanes, &height, sizeof height);
      const Indices lower = height < low[r];
      low[r] = lower ? height : low[r];
      at[r] = lower ? number[r] : at[r];
      number[r] += 4;
    }
  double best = low[0][0];
  long long corner = at[0][0];
  for (int k = 1; k < 4; ++k)
    if (low[k / lanes][k % lanes] < best) {
      best = low[k / lanes][k % lanes];
      corner = at[k / lanes][k % lanes];
    }
  return {static_cast<int>(corner), best};
}

template <int n>
Support lowest_plain(const double* axes, int size, const double* d, double* heights) {
  return lowest_lanes<n, 2>(axes, size, d, heights);
}

// Lists the heights up to the limit; below_wide() compares four at a time.
int below_plain(const double* heights, int size, double limit, std::int16_t* list) {
  int count = 0;
  for (int i = 0; i < size; ++i) {
    list[count] = static_cast<std::int16_t>(i);
    count += heights[i] <= limit;
  }
  return count;
}

#if defined(__x86_64__) && defined(__GNUC__)
[[gnu::target("avx2")]] int below_wide(const double* heights, int size, double limit, std::int16_t* list) {
  const __m256d limits = _mm256_set1_pd(limit);
  int count = 0;
  for (int i = 0; i < size; i += 4) {  // heights beyond `size` are copies of the last corner's, and may be listed
    const int some = _mm256_movemask_pd(_mm256_cmp_pd(_mm256_loadu_pd(heights + i), limits, _CMP_LE_OQ));
    if (some == 0) continue;
    if (some == 15) {  // all four are below the limit: a face with many corners
      for (int lane = 0; lane < 4; ++lane) list[count++] = static_cast<std::int16_t>(i + lane);
      continue;
    }
    for (int lane = 0; lane < 4; ++lane) {
      list[count] = static_cast<std::int16_t>(i + lane);
      count += some >> lane & 1;
    }
  }
  while (count > 0 && list[count - 1] >= size) --count;
  return count;
}
template <int n>
[[gnu::target("avx2")]] Support lowest_wide(const double* axes, int size, const double* d, double* heights) {
  return lowest_lanes<n, 4>(axes, size, d, heights);
}
const bool wide = __builtin_cpu_supports("avx2");
#else
template <int n>
constexpr auto lowest_wide = lowest_plain<n>;
constexpr auto below_wide = below_plain;
constexpr bool wide = false;
#endif

}  // namespace

template <int n>
Support lowest(const Polytope<n>& k, const Vector<n>& d, double* heights) {
  return (wide ? lowest_wide<n> : lowest_plain<n>)(k.axis(0), k.padded_size(), d.data(), heights);
}

template <int n>
Support descend_edges(const Polytope<n>& k, const Vector<n>& d) {
  if (k.size() <= few_corners) {
    double heights[few_corners + 4];
    return lowest(k, d, heights);
  }
  const auto height = [&](const double* x, int stride) {
    double sum = d[0] * x[0];
    for (int axis = 1; axis < n; ++axis) sum += d[axis] * x[axis * stride];
    return sum;
  };
  Support at{k.low_corner(d), 0.0};
  at.height = height(k.axis(0) + at.corner, k.padded_size());
  for (int from = -1; from != at.corner;) {
    from = at.corner;
    const double* x = k.neighbour_coordinates(from);
    for (const std::int16_t i : k.neighbours(from)) {
      const double next = height(x, 1);
      if (next < at.height) at = {i, next};
      x += n;
    }
  }
  return at;
}

int list_below(const double* heights, int size, double limit, std::int16_t* list) {
  return (wide ? below_wide : below_plain)(heights, size, limit, list);
}

template Support lowest(const Polytope<2>&, const Vector<2>&, double*);
template Support lowest(const Polytope<3>&, const Vector<3>&, double*);
template Support descend_edges(const Polytope<2>&, const Vector<2>&);
template Support descend_edges(const Polytope<3>&, const Vector<3>&);

}  // namespace dodyn::geometry
