#include "geometry/supporting_corner.hpp"

#include <cstring>
#include <limits>

namespace dodyn::geometry {
namespace {

// Four lanes of numbers, as one register or as two. Both give the same results, bit for bit.
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

#if defined(__x86_64__) && defined(__GNUC__)
template <int n>
[[gnu::target("avx2")]] Support lowest_wide(const double* axes, int size, const double* d, double* heights) {
  return lowest_lanes<n, 4>(axes, size, d, heights);
}
const bool wide = __builtin_cpu_supports("avx2");
#else
template <int n>
constexpr auto lowest_wide = lowest_plain<n>;
constexpr bool wide = false;
#endif

}  // namespace

template <int n>
Support lowest(const Polytope<n>& k, const Vector<n>& d, double* heights) {
  return (wide ? lowest_wide<n> : lowest_plain<n>)(k.axis(0), k.padded_size(), d.data(), heights);
}

template <int n>
Support descend_edges(const Polytope<n>& k, const Vector<n>& d, int start) {
  if (k.size() <= few_corners) {
    double heights[few_corners + 4];
    return lowest(k, d, heights);
  }
  Support at{start, d.dot(k.corner(start))};
  for (int from = -1; from != at.corner;) {
    from = at.corner;
    for (const std::int16_t i : k.neighbours(from)) {
      const double height = d.dot(k.corner(i));
      if (height < at.height) at = {i, height};
    }
  }
  return at;
}

int list_below(const double* heights, int size, double limit, std::int16_t* list) {
  int count = 0, i = 0;
  const auto look = [&](int end) {
    for (; i < end; ++i) {
      list[count] = static_cast<std::int16_t>(i);
      count += heights[i] <= limit;
    }
  };
  if (size <= 16) {
    look(size);
    return count;
  }
  using Numbers = Register<2>::Numbers;
  using Indices = Register<2>::Indices;
  while (i + 8 <= size) {
    Numbers h[4];
    std::memcpy(h, heights + i, sizeof h);
    const Indices any = (h[0] <= limit) | (h[1] <= limit) | (h[2] <= limit) | (h[3] <= limit);
    if (any[0] | any[1])
      look(i + 8);
    else
      i += 8;
  }
  look(size);
  return count;
}

template Support lowest(const Polytope<2>&, const Vector<2>&, double*);
template Support lowest(const Polytope<3>&, const Vector<3>&, double*);
template Support descend_edges(const Polytope<2>&, const Vector<2>&, int);
template Support descend_edges(const Polytope<3>&, const Vector<3>&, int);

}  // namespace dodyn::geometry
