#include "nlp/symmetric_factor.hpp"

#include <Eigen/OrderingMethods>
#include <Eigen/SparseCore>
#include <algorithm>
#include <cmath>
#include <limits>

// Four numbers at a time where the processor can. No fused multiply-add: the digits are the same on every machine.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__)
#define DODYN_WIDE __attribute__((target_clones("avx2", "default")))
#else
#define DODYN_WIDE
#endif

namespace dodyn::nlp {

using Eigen::VectorXd;

namespace {

// y -= a x
DODYN_WIDE void subtract(int n, double a, const double* __restrict x, double* __restrict y) {
  for (int i = 0; i < n; ++i) y[i] -= a * x[i];
}
// y -= a x1 + b x2
DODYN_WIDE void subtract(int n, double a, const double* __restrict x1, double b, const double* __restrict x2,
                         double* __restrict y) {
  for (int i = 0; i < n; ++i) y[i] -= a * x1[i] + b * x2[i];
}
// Lower triangle of C less A B^T: columns of A and of C have `stride`, row j of B is b + j * pivots.
DODYN_WIDE void subtract_product(int size, int pivots, int stride, const double* __restrict a,
                                 const double* __restrict b, double* __restrict c) {
  for (int j = 0; j < size; ++j, b += pivots) {
    double* __restrict target = c + static_cast<long>(j) * stride;
    const double* column = a;
    int k = 0;
    for (; k + 4 <= pivots; k += 4, column += 4 * static_cast<long>(stride)) {
      const double f0 = b[k], f1 = b[k + 1], f2 = b[k + 2], f3 = b[k + 3];
      const double *c1 = column + stride, *c2 = c1 + stride, *c3 = c2 + stride;
      for (int i = j; i < size; ++i) target[i] -= f0 * column[i] + f1 * c1[i] + f2 * c2[i] + f3 * c3[i];
    }
    for (; k < pivots; ++k, column += stride) {
      const double f = b[k];
      for (int i = j; i < size; ++i) target[i] -= f * column[i];
    }
  }
}

// Elimination tree of a lower triangle in compressed columns (Liu 1990), by rows of its transpose.
std::vector<int> elimination_tree(int n, const std::vector<std::vector<int>>& upper) {
  std::vector<int> parent(n, -1), ancestor(n, -1);
  for (int j = 0; j < n; ++j)
    for (int i : upper[j])
      for (int next; i != -1 && i < j; i = next) {
        next = ancestor[i];
        ancestor[i] = j;
        if (next == -1) parent[i] = j;
      }
  return parent;
}

// Children before parents, the child with the largest column last: it may then be merged with its parent.
std::vector<int> postorder(const std::vector<int>& parent, const std::vector<int>& weight) {
  const int n = static_cast<int>(parent.size());
  std::vector<std::vector<int>> children(n + 1);
  for (int j = 0; j < n; ++j) children[parent[j] == -1 ? n : parent[j]].push_back(j);
  for (auto& c : children) std::stable_sort(c.begin(), c.end(), [&](int a, int b) { return weight[a] < weight[b]; });
  std::vector<int> order, stack(children[n].rbegin(), children[n].rend());
  std::vector<char> open(n, 0);
  while (!stack.empty()) {
    const int j = stack.back();
    if (open[j]) {
      order.push_back(j);
      stack.pop_back();
    } else {
      open[j] = 1;
      stack.insert(stack.end(), children[j].rbegin(), children[j].rend());
    }
  }
  return order;
}

}  // namespace

void SymmetricFactor::analyse(int size, const std::vector<int>& rows, const std::vector<int>& columns) {
  size_ = size;
  const int n = size, entries = static_cast<int>(rows.size());

  // fill-reducing order, then a postorder of its elimination tree
  std::vector<Eigen::Triplet<double>> triplets;
  triplets.reserve(2 * entries + n);
  for (int k = 0; k < entries; ++k) {
    triplets.emplace_back(rows[k], columns[k], 1.0);
    if (rows[k] != columns[k]) triplets.emplace_back(columns[k], rows[k], 1.0);
  }
  for (int j = 0; j < n; ++j) triplets.emplace_back(j, j, 1.0);
  Eigen::SparseMatrix<double> pattern(n, n);
  pattern.setFromTriplets(triplets.begin(), triplets.end());
  Eigen::PermutationMatrix<Eigen::Dynamic, Eigen::Dynamic, int> permutation;
  Eigen::AMDOrdering<int>()(pattern, permutation);
  order_.assign(permutation.indices().data(), permutation.indices().data() + n);

  std::vector<int> position(n), parent;
  std::vector<std::vector<int>> structure;  // of the columns of L, below the diagonal
  const auto symbolic = [&] {
    for (int j = 0; j < n; ++j) position[order_[j]] = j;
    std::vector<std::vector<int>> upper(n), lower(n);
    for (int j = 0; j < n; ++j)
      for (Eigen::SparseMatrix<double>::InnerIterator it(pattern, j); it; ++it) {
        const int a = position[it.row()], b = position[j];
        if (a < b) upper[b].push_back(a), lower[a].push_back(b);
      }
    parent = elimination_tree(n, upper);
    structure = std::move(lower);
    std::vector<int> mark(n, -1);
    for (int j = 0; j < n; ++j) {
      auto& s = structure[j];
      std::sort(s.begin(), s.end());
      s.erase(std::unique(s.begin(), s.end()), s.end());
      if (parent[j] == -1) continue;
      auto& above = structure[parent[j]];
      above.insert(above.end(), s.begin() + 1, s.end());  // the first one is the parent
    }
  };
  symbolic();
  std::vector<int> count(n);
  for (int j = 0; j < n; ++j) count[j] = static_cast<int>(structure[j].size());
  std::vector<int> sorted(n);
  const std::vector<int> post = postorder(parent, count);
  for (int j = 0; j < n; ++j) sorted[j] = order_[post[j]];
  order_ = std::move(sorted);
  symbolic();

  // nodes: a column joins the node before it where that adds few zeros
  nodes_.clear();
  for (int j = 0; j < n; ++j) {
    Node node{j, j + 1, -1, 0, 0};
    while (!nodes_.empty() && parent[node.first - 1] == node.first && nodes_.back().last == node.first) {
      const Node& before = nodes_.back();
      const long below = static_cast<long>(structure[node.last - 1].size());
      const long width = before.last - before.first, own = node.last - node.first;
      const long zeros = width * (own + below - static_cast<long>(structure[before.last - 1].size()));
      const long total = (width + own) * (width + own + below);
      if (zeros > 0 && !(4 * zeros <= total && width + own <= 16)) break;
      node.first = before.first;
      nodes_.pop_back();
    }
    nodes_.push_back(node);
  }
  std::vector<int> node_of(n);
  node_rows_.clear();
  for (int i = 0; i < static_cast<int>(nodes_.size()); ++i) {
    Node& node = nodes_[i];
    for (int j = node.first; j < node.last; ++j) node_of[j] = i;
    node.rows_begin = static_cast<int>(node_rows_.size());
    const auto& below = structure[node.last - 1];
    node_rows_.insert(node_rows_.end(), below.begin(), below.end());
    node.rows_end = static_cast<int>(node_rows_.size());
  }
  for (Node& node : nodes_) {
    const int above = parent[node.last - 1];
    node.parent = above == -1 ? -1 : node_of[above];
    if (node.parent != -1) ++nodes_[node.parent].children;
  }

  // compressed lower triangle, and where each entry of the pattern adds to it: entries by column, then by row
  std::vector<int> start(n + 1, 0);
  std::vector<std::pair<int, int>> entry(entries);  // (row, entry)
  const auto column_of = [&](int k) { return std::min(position[rows[k]], position[columns[k]]); };
  for (int k = 0; k < entries; ++k) ++start[column_of(k) + 1];
  for (int j = 0; j < n; ++j) start[j + 1] += start[j];
  std::vector<int> next(start.begin(), start.end() - 1);
  for (int k = 0; k < entries; ++k)
    entry[next[column_of(k)]++] = {std::max(position[rows[k]], position[columns[k]]), k};
  column_start_.assign(n + 1, 0);
  row_of_.clear();
  slot_of_entry_.resize(entries);
  for (int j = 0; j < n; ++j) {
    std::sort(entry.begin() + start[j], entry.begin() + start[j + 1]);
    for (int i = start[j]; i < start[j + 1]; ++i) {
      if (i == start[j] || entry[i].first != entry[i - 1].first) {
        row_of_.push_back(entry[i].first);
        ++column_start_[j + 1];
      }
      slot_of_entry_[entry[i].second] = static_cast<int>(row_of_.size()) - 1;
    }
  }
  for (int j = 0; j < n; ++j) column_start_[j + 1] += column_start_[j];
  values_.resize(row_of_.size());
  place_.assign(n, -1);
  grown_.assign(n, 0.0);
  b_.resize(n);
  x_.resize(n);
  residual_.resize(n);
  correction_.resize(n);
}

bool SymmetricFactor::factorise(const VectorXd& values) {
  std::fill(values_.begin(), values_.end(), 0.0);
  for (std::size_t k = 0; k < slot_of_entry_.size(); ++k) values_[slot_of_entry_[k]] += values[k];
  largest_ = 0.0;
  bool finite = true;
  for (const double a : values_) {
    finite = finite && std::isfinite(a);
    largest_ = std::max(largest_, std::abs(a));
  }
  if (!finite) return false;

  std::fill(grown_.begin(), grown_.end(), 0.0);
  inertia_ = {};
  delayed_ = 0;
  fronts_.clear();
  panels_.clear();
  diagonals_.clear();
  indices_.clear();
  stack_.clear();
  stack_indices_.clear();
  blocks_.clear();

  for (const Node& node : nodes_) {
    // the front's variables: its own columns, the delayed ones of its children, the rows below
    front_indices_.clear();
    for (int j = node.first; j < node.last; ++j) front_indices_.push_back(j);
    const std::size_t first_child = blocks_.size() - node.children;
    for (std::size_t c = first_child; c < blocks_.size(); ++c)
      front_indices_.insert(front_indices_.end(), stack_indices_.begin() + blocks_[c].indices,
                            stack_indices_.begin() + blocks_[c].indices + blocks_[c].delayed);
    const int p = static_cast<int>(front_indices_.size());
    front_indices_.insert(front_indices_.end(), node_rows_.begin() + node.rows_begin,
                          node_rows_.begin() + node.rows_end);
    const int size = static_cast<int>(front_indices_.size());
    for (int i = 0; i < size; ++i) place_[front_indices_[i]] = i;
    front_.assign(static_cast<std::size_t>(size) * size, 0.0);

    // assembly, into the lower triangle
    for (int j = node.first; j < node.last; ++j) {
      double* column = front_.data() + static_cast<std::size_t>(j - node.first) * size;
      for (int k = column_start_[j]; k < column_start_[j + 1]; ++k) column[place_[row_of_[k]]] += values_[k];
    }
    for (std::size_t c = first_child; c < blocks_.size(); ++c) {
      const Block& block = blocks_[c];
      const int* index = stack_indices_.data() + block.indices;
      const double* from = stack_.data() + block.values;
      // where the block's variables stand in the front: mostly in the same order
      target_.resize(block.size);
      bool ordered = true;
      for (int i = 0; i < block.size; ++i) {
        target_[i] = place_[index[i]];
        ordered = ordered && (i == 0 || target_[i] > target_[i - 1]);
      }
      for (int j = 0; j < block.size; ++j, from += block.size) {
        double* column = front_.data() + static_cast<std::size_t>(target_[j]) * size;
        if (ordered)
          for (int i = j; i < block.size; ++i) column[target_[i]] += from[i];
        else
          for (int i = j; i < block.size; ++i)
            (target_[i] >= target_[j] ? column[target_[i]]
                                      : front_[static_cast<std::size_t>(target_[i]) * size + target_[j]]) += from[i];
      }
    }
    if (node.children > 0) {
      stack_.resize(blocks_[first_child].values);
      stack_indices_.resize(blocks_[first_child].indices);
      blocks_.resize(first_child);
    }

    eliminate(p, size);

    // what is left goes to the parent
    const Front& front = fronts_.back();
    const int left = size - front.pivots;
    if (node.parent != -1) {
      blocks_.push_back(
          {left, p - front.pivots, static_cast<long>(stack_.size()), static_cast<long>(stack_indices_.size())});
      delayed_ += p - front.pivots;
      stack_indices_.insert(stack_indices_.end(), front_indices_.begin() + front.pivots, front_indices_.end());
      for (int j = front.pivots; j < size; ++j) {
        const double* column = front_.data() + static_cast<std::size_t>(j) * size;
        stack_.insert(stack_.end(), column + front.pivots, column + size);
      }
    } else {
      inertia_.zero += p - front.pivots;
    }
  }
  return true;
}

// Eliminates what it can of the first p variables of the front. Their columns are kept whole (both triangles), so that
// a column shows all its entries; the others are updated at the end.
void SymmetricFactor::eliminate(int p, int size) {
  const auto at = [&](int i, int j) -> double& { return front_[static_cast<std::size_t>(j) * size + i]; };
  for (int j = 0; j < p; ++j)
    for (int i = j + 1; i < p; ++i) at(j, i) = at(i, j);
  const auto exchange = [&](int a, int b) {
    if (a == b) return;
    std::swap(front_indices_[a], front_indices_[b]);
    for (int i = 0; i < size; ++i) std::swap(at(i, a), at(i, b));
    for (int j = 0; j < p; ++j) std::swap(at(a, j), at(b, j));
  };

  const long diagonal = static_cast<long>(diagonals_.size());
  constexpr double rounding = 1e-14;
  int k = 0;
  // First the well-sized pivots, then whatever is tolerable.
  for (const double threshold : {std::max(0.01, pivot_threshold), pivot_threshold}) {
    for (int tried = 0; k < p && tried < p - k;) {
      // candidate: column k; its largest entry among the variables to eliminate, and below them
      double* column = &at(0, k);
      int partner = -1;
      double inside = 0.0, outside = 0.0;
      for (int i = k + 1; i < p; ++i)
        if (const double a = std::abs(column[i]); a > inside) inside = a, partner = i;
      for (int i = p; i < size; ++i) outside = std::max(outside, std::abs(column[i]));
      const double off = std::max(inside, outside), d = column[k];
      // what remains of larger numbers that cancelled each other is nothing
      const bool vanished = std::max(std::abs(d), off) <= rounding * grown_[front_indices_[k]];

      if (!vanished && d != 0.0 && std::abs(d) >= threshold * off) {
        (d > 0.0 ? inertia_.positive : inertia_.negative) += 1;
        const double inverse = 1.0 / d;
        for (int j = k + 1; j < p; ++j) {
          const double factor = column[j] * inverse;
          if (factor == 0.0) continue;
          grown_[front_indices_[j]] += std::abs(factor * column[j]);
          double* target = &at(0, j);
          subtract(size - k - 1, factor, column + k + 1, target + k + 1);
        }
        for (int i = k + 1; i < size; ++i) column[i] *= inverse;
        diagonals_.insert(diagonals_.end(), {d, 0.0});
        ++k;
        tried = 0;
        continue;
      }
      if (partner != -1 && !vanished) {
        double* other = &at(0, partner);
        double off_k = outside, off_other = 0.0;  // largest entries outside the block of two
        for (int i = k + 1; i < p; ++i)
          if (i != partner) {
            off_k = std::max(off_k, std::abs(column[i]));
            off_other = std::max(off_other, std::abs(other[i]));
          }
        for (int i = p; i < size; ++i) off_other = std::max(off_other, std::abs(other[i]));
        const double a = d, b = column[partner], c = other[partner], determinant = a * c - b * b;
        // |block^-1| (off_k, off_other) <= 1 / threshold (Duff and Reid 1983)
        if (determinant != 0.0 &&
            threshold * (std::abs(c) * off_k + std::abs(b) * off_other) <= std::abs(determinant) &&
            threshold * (std::abs(b) * off_k + std::abs(a) * off_other) <= std::abs(determinant)) {
          exchange(k + 1, partner);
          other = &at(0, k + 1);
          if (determinant < 0.0) {
            ++inertia_.positive;
            ++inertia_.negative;
          } else {
            (a > 0.0 ? inertia_.positive : inertia_.negative) += 2;
          }
          const double ia = c / determinant, ib = -b / determinant, ic = a / determinant;
          for (int j = k + 2; j < p; ++j) {
            const double f1 = ia * column[j] + ib * other[j], f2 = ib * column[j] + ic * other[j];
            if (f1 == 0.0 && f2 == 0.0) continue;
            grown_[front_indices_[j]] += std::abs(f1 * column[j]) + std::abs(f2 * other[j]);
            double* target = &at(0, j);
            subtract(size - k - 2, f1, column + k + 2, f2, other + k + 2, target + k + 2);
          }
          for (int i = k + 2; i < size; ++i) {
            const double x = column[i], y = other[i];
            column[i] = ia * x + ib * y;
            other[i] = ib * x + ic * y;
          }
          other[k] = column[k + 1] = 0.0;  // no L within the block
          diagonals_.insert(diagonals_.end(), {a, b, c, std::numeric_limits<double>::quiet_NaN()});
          k += 2;
          tried = 0;
          continue;
        }
      }
      // not now: to the end of the queue
      exchange(k, p - 1 - tried);
      ++tried;
    }
  }

  update_trailing(k, p, size);
  fronts_.push_back({k, size, static_cast<long>(panels_.size()), static_cast<long>(indices_.size()), diagonal});
  panels_.insert(panels_.end(), front_.begin(), front_.begin() + static_cast<std::size_t>(k) * size);
  indices_.insert(indices_.end(), front_indices_.begin(), front_indices_.end());
}

// Columns p .. of the front less L D L^T, lower triangle.
void SymmetricFactor::update_trailing(int pivots, int p, int size) {
  if (pivots == 0 || p == size) return;
  const double* d = diagonals_.data() + diagonals_.size() - 2 * static_cast<std::size_t>(pivots);
  scaled_.resize(static_cast<std::size_t>(size - p) * pivots);  // rows of L D
  for (int j = p; j < size; ++j) {
    double* scaled = scaled_.data() + static_cast<std::size_t>(j - p) * pivots;
    double grown = 0.0;
    for (int k = 0; k < pivots; ++k) {
      const double* row = front_.data() + static_cast<std::size_t>(k) * size + j;
      if (d[2 * k + 1] == 0.0) {
        scaled[k] = d[2 * k] * row[0];
        grown += std::abs(scaled[k] * row[0]);
      } else {
        scaled[k] = d[2 * k] * row[0] + d[2 * k + 1] * row[size];
        scaled[k + 1] = d[2 * k + 1] * row[0] + d[2 * k + 2] * row[size];
        grown += std::abs(scaled[k] * row[0]) + std::abs(scaled[k + 1] * row[size]);
        ++k;
      }
    }
    grown_[front_indices_[j]] += grown;
  }
  subtract_product(size - p, pivots, size, front_.data() + p, scaled_.data(),
                   front_.data() + static_cast<std::size_t>(p) * size + p);
}

void SymmetricFactor::substitute(VectorXd& x) const {
  for (const Front& front : fronts_) {  // L, then D
    const int* index = indices_.data() + front.indices;
    const double *column = panels_.data() + front.panel, *d = diagonals_.data() + front.diagonal;
    for (int k = 0; k < front.pivots; ++k, column += front.size) {
      const double pivot = x[index[k]];
      if (pivot != 0.0)
        for (int i = k + 1; i < front.size; ++i) x[index[i]] -= column[i] * pivot;
    }
    for (int k = 0; k < front.pivots; ++k) {
      if (d[2 * k + 1] == 0.0) {
        x[index[k]] /= d[2 * k];
      } else {
        const double a = d[2 * k], b = d[2 * k + 1], c = d[2 * k + 2], determinant = a * c - b * b;
        const double u = x[index[k]], v = x[index[k + 1]];
        x[index[k]] = (c * u - b * v) / determinant;
        x[index[k + 1]] = (a * v - b * u) / determinant;
        ++k;
      }
    }
  }
  if (inertia_.zero > 0) {  // the variables that no pivot was found for
    std::vector<char> eliminated(size_, 0);
    for (const Front& front : fronts_)
      for (int k = 0; k < front.pivots; ++k) eliminated[indices_[front.indices + k]] = 1;
    for (int i = 0; i < size_; ++i)
      if (!eliminated[i]) x[i] = 0.0;
  }
  for (auto front = fronts_.rbegin(); front != fronts_.rend(); ++front) {  // L^T
    const int* index = indices_.data() + front->indices;
    local_.resize(front->size);
    for (int i = 0; i < front->size; ++i) local_[i] = x[index[i]];
    for (int k = front->pivots - 1; k >= 0; --k) {
      const double* column = panels_.data() + front->panel + static_cast<long>(k) * front->size;
      double sum = local_[k];
      for (int i = k + 1; i < front->size; ++i) sum -= column[i] * local_[i];
      local_[k] = sum;
      x[index[k]] = sum;
    }
  }
}

void SymmetricFactor::multiply(const VectorXd& x, VectorXd& y) const {
  y.setZero();
  for (int j = 0; j < size_; ++j) {
    double sum = 0.0;
    for (int k = column_start_[j]; k < column_start_[j + 1]; ++k) {
      const int i = row_of_[k];
      sum += values_[k] * x[i];
      if (i != j) y[i] += values_[k] * x[j];
    }
    y[j] += sum;
  }
}

double SymmetricFactor::solve(const VectorXd& b, VectorXd& x) const {
  for (int j = 0; j < size_; ++j) b_[j] = b[order_[j]];
  const double right = b_.lpNorm<Eigen::Infinity>();
  x_.setZero();
  residual_ = b_;
  double error = 1.0, best = std::numeric_limits<double>::infinity();
  constexpr int most = 10;
  for (int round = 0; round < most; ++round) {
    correction_ = residual_;
    substitute(correction_);
    x_ += correction_;
    multiply(x_, residual_);
    residual_ = b_ - residual_;
    error = residual_.lpNorm<Eigen::Infinity>() / (largest_ * x_.lpNorm<Eigen::Infinity>() + right + 1e-300);
    if (!(error < best)) {
      x_ -= correction_;
      break;
    }
    const bool slow = error > 0.3 * best;
    best = error;
    if (best <= 1e-15 || slow) break;
  }
  for (int j = 0; j < size_; ++j) x[order_[j]] = x_[j];
  return best;
}

}  // namespace dodyn::nlp
