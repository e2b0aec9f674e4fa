#include "rigid/charge_tree.hpp"

#include <algorithm>
#include <cmath>

namespace dodyn::rigid {
namespace {

// Multi-indices up to a total degree, in ascending degree, and tables of their sums.
template <int order>
struct Indices {
  static constexpr int size = (order + 1) * (order + 2) * (order + 3) / 6;
  struct Index {
    int degree[3], total;
    double factorial;         // product of the factorials of the components
    int axis, lower, lowest;  // axis: the first with a positive component; lower, lowest: the index with this component
                              // less one, less two (-1: none)
    std::array<int, 3> next;  // index with one more along each axis (-1: above the order)
  };
  std::array<Index, size> at{};
  std::array<int, order + 2> up_to{};  // number of indices of a smaller total degree
  std::array<std::array<int, size>, size> sum{};

  Indices() {
    int place[order + 1][order + 1][order + 1], count = 0;
    constexpr double factorial[] = {1, 1, 2, 6, 24, 120, 720};
    static_assert(order <= 6);
    for (int total = 0; total <= order; ++total) {
      up_to[total] = count;
      for (int i = total; i >= 0; --i)
        for (int j = total - i; j >= 0; --j) {
          const int k = total - i - j;
          place[i][j][k] = count;
          Index& index = at[count++];
          index = {{i, j, k}, total, factorial[i] * factorial[j] * factorial[k], i > 0 ? 0 : j > 0 ? 1 : 2, -1, -1, {}};
          int less[3] = {i, j, k};
          if (total > 0) {
            --less[index.axis];
            index.lower = place[less[0]][less[1]][less[2]];
            if (--less[index.axis] >= 0) index.lowest = place[less[0]][less[1]][less[2]];
          }
        }
    }
    up_to[order + 1] = count;
    for (int a = 0; a < size; ++a) {
      for (int b = 0; b < size; ++b)
        sum[a][b] = at[a].total + at[b].total > order
                        ? -1
                        : place[at[a].degree[0] + at[b].degree[0]][at[a].degree[1] + at[b].degree[1]]
                               [at[a].degree[2] + at[b].degree[2]];
      for (int k = 0; k < 3; ++k) at[a].next[k] = at[a].total < order ? sum[a][1 + k] : -1;
    }
  }
  // Computes x^m / m! for all multi-indices m.
  template <class Coefficients>
  void powers(const Vector<3>& x, Coefficients& out) const {
    out[0] = 1.0;
    for (int m = 1; m < size; ++m) out[m] = out[at[m].lower] * x[at[m].axis] / at[m].degree[at[m].axis];
  }
  // Computes all derivatives of 1/|x| from (-1)^s (2s-1)!! / r^(2s+1) in s rounds (McMurchie and Davidson 1978).
  template <class Coefficients>
  void derivatives(const Vector<3>& x, Coefficients& out) const {
    const double square = 1.0 / x.squaredNorm();
    std::array<double, order + 1> base;
    base[0] = std::sqrt(square);
    for (int s = 1; s <= order; ++s) base[s] = -(2 * s - 1) * square * base[s - 1];
    Coefficients above{};
    out[0] = base[order];
    for (int s = order - 1; s >= 0; --s) {
      std::swap(out, above);
      out[0] = base[s];
      for (int m = 1; m < up_to[order - s + 1]; ++m) {
        const Index& index = at[m];
        out[m] = x[index.axis] * above[index.lower];
        if (index.lowest >= 0) out[m] += (index.degree[index.axis] - 1) * above[index.lowest];
      }
    }
  }
};

template <int order>
const Indices<order>& indices() {
  static const Indices<order> all;
  return all;
}

template <int n>
Vector<3> in_space(const Vector<n>& x) {
  Vector<3> out = Vector<3>::Zero();
  out.template head<n>() = x;
  return out;
}

}  // namespace

template <int n>
ChargeTree<n>::ChargeTree(const World<n>& world) : world_(&world) {
  std::vector<std::vector<int>> of(world.bodies.size());
  for (std::size_t i = 0; i < world.charges.size(); ++i) of[world.charges[i].body].push_back(i);
  for (const bool fixed : {false, true}) {
    for (std::size_t b = 0; b < of.size(); ++b) {
      if (of[b].empty() || world.bodies[b].fixed != fixed) continue;
      const int first = own_.size();
      own_.insert(own_.end(), of[b].begin(), of[b].end());
      bodies_.push_back({static_cast<int>(b), first, static_cast<int>(own_.size()), Vector<3>::Zero()});
    }
    if (!fixed) moving_ = bodies_.size();
  }
  place_.resize(world.charges.size());
}

template <int n>
double ChargeTree<n>::potential(Frames<n> at, std::span<ConfigurationGradient<n>> gradient) {
  for (std::size_t i = 0; i < place_.size(); ++i) {
    const auto& charge = world_->charges[i];
    place_[i] = in_space<n>(at[charge.body](charge.at));
  }
  for (auto& body : bodies_) {
    body.middle.setZero();
    for (int i = body.first; i < body.last; ++i) body.middle += place_[own_[i]];
    body.middle /= body.last - body.first;
  }
  // sorted, so that the tree does not depend on earlier calls
  std::sort(bodies_.begin(), bodies_.begin() + moving_, [](const auto& a, const auto& b) { return a.body < b.body; });
  std::sort(bodies_.begin() + moving_, bodies_.end(), [](const auto& a, const auto& b) { return a.body < b.body; });
  cells_.clear();
  sorted_.clear();
  start_.clear();
  const int moving = moving_ > 0 ? build(0, moving_) : -1;
  const int all = bodies_.size();
  const int fixed = moving_ < all ? build(moving_, all) : -1;
  start_.push_back(sorted_.size());
  for (int k = 0; k < 3; ++k) {
    x_[k].clear();
    gradient_[k].assign(sorted_.size(), 0.0);
    for (const int i : sorted_) x_[k].push_back(place_[i][k]);
  }
  q_.clear();
  for (const int i : sorted_) q_.push_back(world_->charges[i].value);
  for (auto cell = cells_.rbegin(); cell != cells_.rend(); ++cell) gather(*cell);

  energy_ = 0.0;
  if (moving >= 0) within(moving);
  if (moving >= 0 && fixed >= 0) interact(moving, fixed);
  if (moving >= 0) hand_down(moving);
  for (std::size_t b = 0; b < bodies_.size(); ++b)
    for (int i = start_[b]; i < start_[b + 1]; ++i) {
      const auto& charge = world_->charges[sorted_[i]];
      Vector<n> slope;
      for (int k = 0; k < n; ++k) slope[k] = world_->charge_constant * gradient_[k][i];
      gradient[charge.body].col(0) += slope;
      for (int k = 0; k < n; ++k) gradient[charge.body].col(k + 1) += charge.at[k] * slope;
    }
  return world_->charge_constant * energy_;
}

// Builds the cell of these bodies, which it sorts. Returns its index. Parents precede their children.
template <int n>
int ChargeTree<n>::build(int first, int last) {
  const int place = cells_.size();
  cells_.emplace_back();
  cells_[place].first = first;
  cells_[place].last = last;
  cells_[place].charge = sorted_.size();
  if (last - first <= most_in_leaf) {
    for (int b = first; b < last; ++b) {
      start_.push_back(sorted_.size());
      sorted_.insert(sorted_.end(), own_.begin() + bodies_[b].first, own_.begin() + bodies_[b].last);
    }
  } else {
    Vector<3> low = bodies_[first].middle, high = low;
    for (int b = first; b < last; ++b) {
      low = low.cwiseMin(bodies_[b].middle);
      high = high.cwiseMax(bodies_[b].middle);
    }
    int axis;
    (high - low).maxCoeff(&axis);
    const int middle = first + (last - first) / 2;
    std::nth_element(bodies_.begin() + first, bodies_.begin() + middle, bodies_.begin() + last,
                     [axis](const auto& a, const auto& b) { return a.middle[axis] < b.middle[axis]; });
    const int child = build(first, middle), second = build(middle, last);
    cells_[place].child = child;
    cells_[place].second = second;
  }
  cells_[place].charges = std::ssize(sorted_) - cells_[place].charge;
  return place;
}

// Computes the moments of a cell from those of its children.
template <int n>
void ChargeTree<n>::gather(Cell& cell) {
  const auto& index = indices<order>();
  cell.middle.setZero();
  for (int b = cell.first; b < cell.last; ++b) cell.middle += bodies_[b].middle;
  cell.middle /= cell.last - cell.first;
  cell.radius = cell.magnitude = 0.0;
  cell.moment.fill(0.0);
  cell.local.fill(0.0);
  Coefficients power;
  if (cell.child < 0) {
    for (int i = cell.charge; i < cell.charge + cell.charges; ++i) {
      const Vector<3> x = Vector<3>(x_[0][i], x_[1][i], x_[2][i]) - cell.middle;
      cell.radius = std::max(cell.radius, x.norm());
      cell.magnitude += std::abs(q_[i]);
      index.powers(x, power);
      for (int m = 0; m < size; ++m) cell.moment[m] += q_[i] * power[m];
    }
  } else {
    for (const int c : {cell.child, cell.second}) {
      const Cell& child = cells_[c];
      const Vector<3> x = child.middle - cell.middle;
      cell.radius = std::max(cell.radius, x.norm() + child.radius);
      cell.magnitude += child.magnitude;
      index.powers(x, power);
      for (int m = 0; m < size; ++m)
        for (int k = 0; k < index.up_to[order - index.at[m].total + 1]; ++k)
          cell.moment[index.sum[m][k]] += child.moment[m] * power[k];
    }
  }
  // Frobenius norm of sum q x^k as a tensor
  double factorial = 1.0;
  for (int k = 0; k <= order; ++k) {
    if (k > 0) factorial *= k;
    double sum = 0.0;
    for (int m = index.up_to[k]; m < index.up_to[k + 1]; ++m)
      sum += index.at[m].factorial * cell.moment[m] * cell.moment[m];
    cell.norm[k] = std::sqrt(factorial * sum);
  }
  for (int k = order + 1; k < std::ssize(cell.norm); ++k) cell.norm[k] = cell.magnitude * std::pow(cell.radius, k);
}

// Whether the truncation error of the expansion, estimated by its first three neglected orders, is small enough.
template <int n>
bool ChargeTree<n>::far(const Cell& a, const Cell& b, double distance) const {
  if (distance < 1.5 * (a.radius + b.radius)) return false;
  // (N + 1) |D_N|/N! with the Frobenius norm sqrt(C(2N, N)/2^N)
  constexpr double weight[] = {7.0 * 3.7997, 8.0 * 5.1769, 9.0 * 7.0896};
  double left = 0.0, inverse = 1.0 / distance;
  for (int N = 1; N <= order; ++N) inverse /= distance;
  for (int N = order + 1; N <= order + 3; ++N) {
    inverse /= distance;
    double sum = 0.0, choose = 1.0;
    for (int k = 0; k <= N; ++k) {
      sum += choose * a.norm[k] * b.norm[N - k];
      choose *= static_cast<double>(N - k) / (k + 1);
    }
    left += weight[N - order - 1] * sum * inverse;
  }
  return left * distance <= accuracy * a.magnitude * b.magnitude;
}

template <int n>
void ChargeTree<n>::within(int a) {
  const int child = cells_[a].child, second = cells_[a].second;
  if (child >= 0) {
    within(child);
    within(second);
    interact(child, second);
    return;
  }
  for (int b = cells_[a].first; b < cells_[a].last; ++b)
    for (int c = cells_[a].first; c < b; ++c) direct(start_[b], start_[b + 1], start_[c], start_[c + 1]);
}

template <int n>
void ChargeTree<n>::interact(int a, int b) {
  Cell &one = cells_[a], &two = cells_[b];
  const Vector<3> apart = one.middle - two.middle;
  if (far(one, two, apart.norm())) {
    if (one.charges * two.charges <= 2 * size)
      direct(one.charge, one.charge + one.charges, two.charge, two.charge + two.charges);
    else
      expand(one, two, apart);
    return;
  }
  if (one.child < 0 && two.child < 0) {
    direct(one.charge, one.charge + one.charges, two.charge, two.charge + two.charges);
  } else if (two.child < 0 || (one.child >= 0 && one.radius > two.radius)) {
    const int second = one.second;
    interact(one.child, b);
    interact(second, b);
  } else {
    const int second = two.second;
    interact(a, two.child);
    interact(a, second);
  }
}

template <int n>
void ChargeTree<n>::direct(int first, int last, int other, int other_last) {
  constexpr int run = 64;
  using Run = Eigen::Array<double, Eigen::Dynamic, 1, 0, run, 1>;
  const auto part = [](std::vector<double>& v, int from, int count) {
    return Eigen::Map<Eigen::ArrayXd>(v.data() + from, count);
  };
  for (; other < other_last; other += run) {
    const int count = std::min(run, other_last - other);
    const auto q = part(q_, other, count);
    for (int i = first; i < last; ++i) {
      const Run x = x_[0][i] - part(x_[0], other, count), y = x_[1][i] - part(x_[1], other, count),
                z = x_[2][i] - part(x_[2], other, count);
      const Run inverse = 1.0 / (x * x + y * y + z * z);
      const Run v = q_[i] * q * inverse.sqrt();
      energy_ += v.sum();
      const Run slope = v * inverse;
      gradient_[0][i] -= (slope * x).sum();
      gradient_[1][i] -= (slope * y).sum();
      gradient_[2][i] -= (slope * z).sum();
      part(gradient_[0], other, count) += slope * x;
      part(gradient_[1], other, count) += slope * y;
      part(gradient_[2], other, count) += slope * z;
    }
  }
}

template <int n>
void ChargeTree<n>::expand(Cell& a, Cell& b, const Vector<3>& apart) {
  const auto& index = indices<order>();
  Coefficients derivative, signed_moment, back{};
  index.derivatives(apart, derivative);
  for (int k = 0; k < size; ++k) signed_moment[k] = index.at[k].total % 2 == 0 ? b.moment[k] : -b.moment[k];
  for (int m = 0; m < size; ++m) {
    const auto& sum = index.sum[m];
    const double moment = a.moment[m];
    double here = 0.0;
    for (int k = 0; k < index.up_to[order - index.at[m].total + 1]; ++k) {
      const double d = derivative[sum[k]];
      here += signed_moment[k] * d;
      back[k] += moment * d;
    }
    a.local[m] += here;
    energy_ += moment * here;
  }
  for (int k = 0; k < size; ++k) b.local[k] += index.at[k].total % 2 == 0 ? back[k] : -back[k];
}

// Propagates the fields of far groups from a cell to its charges.
template <int n>
void ChargeTree<n>::hand_down(int place) {
  const auto& index = indices<order>();
  const Cell& cell = cells_[place];
  Coefficients power;
  if (cell.child >= 0) {
    for (const int c : {cell.child, cell.second}) {
      Cell& child = cells_[c];
      index.powers(child.middle - cell.middle, power);
      for (int m = 0; m < size; ++m)
        for (int k = 0; k < index.up_to[order - index.at[m].total + 1]; ++k)
          child.local[m] += cell.local[index.sum[m][k]] * power[k];
      hand_down(c);
    }
    return;
  }
  for (int i = cell.charge; i < cell.charge + cell.charges; ++i) {
    index.powers(Vector<3>(x_[0][i], x_[1][i], x_[2][i]) - cell.middle, power);
    for (int m = 0; m < index.up_to[order]; ++m)
      for (int k = 0; k < 3; ++k) gradient_[k][i] += q_[i] * power[m] * cell.local[index.at[m].next[k]];
  }
}

template class ChargeTree<2>;
template class ChargeTree<3>;

}  // namespace dodyn::rigid
