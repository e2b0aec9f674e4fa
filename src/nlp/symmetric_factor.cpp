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
// Lower triangle of C less A B^T (and what stands just above its diagonal, which nobody reads): columns of A, B and C
// have `stride`, size and `stride` rows.
DODYN_WIDE void subtract_product(int size, int pivots, int stride, const double* __restrict a,
                                 const double* __restrict b, double* __restrict c) {
  // two columns of C and four of A at a time: what is loaded is used twice
  int j = 0;
  for (; j + 2 <= size; j += 2) {
    double* __restrict target = c + static_cast<long>(j) * stride;
    double* __restrict next = target + stride;
    const double *column = a, *factor = b + j;
    int k = 0;
    for (; k + 4 <= pivots; k += 4, column += 4 * static_cast<long>(stride), factor += 4 * static_cast<long>(size)) {
      const double *f1 = factor + size, *f2 = f1 + size, *f3 = f2 + size;
      const double a0 = factor[0], a1 = f1[0], a2 = f2[0], a3 = f3[0];
      const double b0 = factor[1], b1 = f1[1], b2 = f2[1], b3 = f3[1];
      const double *c1 = column + stride, *c2 = c1 + stride, *c3 = c2 + stride;
      for (int i = j; i < size; ++i) {
        target[i] -= a0 * column[i] + a1 * c1[i] + a2 * c2[i] + a3 * c3[i];
        next[i] -= b0 * column[i] + b1 * c1[i] + b2 * c2[i] + b3 * c3[i];
      }
    }
    for (; k < pivots; ++k, column += stride, factor += size) {
      const double a0 = factor[0], b0 = factor[1];
      for (int i = j; i < size; ++i) {
        target[i] -= a0 * column[i];
        next[i] -= b0 * column[i];
      }
    }
  }
  if (j < size) {
    double* last = c + static_cast<long>(j) * stride + j;
    for (int k = 0; k < pivots; ++k) *last -= a[static_cast<long>(k) * stride + j] * b[static_cast<long>(k) * size + j];
  }
}
// Largest magnitude of x.
double largest_of(int n, const double* x) {
  return n > 0 ? Eigen::Map<const VectorXd>(x, n).lpNorm<Eigen::Infinity>() : 0.0;
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

std::shared_ptr<const SymmetricFactor::Structure> SymmetricFactor::analysed(int size, const std::vector<int>& rows,
                                                                            const std::vector<int>& columns) {
  const int n = size, entries = static_cast<int>(rows.size());
  auto structure_of_pattern = std::make_shared<Structure>();
  Structure& s = *structure_of_pattern;
  s.size = size;
  s.rows = rows;
  s.columns = columns;

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
  s.order.assign(permutation.indices().data(), permutation.indices().data() + n);

  std::vector<int> position(n), parent;
  std::vector<std::vector<int>> structure;  // of the columns of L, below the diagonal
  const auto symbolic = [&] {
    for (int j = 0; j < n; ++j) position[s.order[j]] = j;
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
      auto& below = structure[j];
      std::sort(below.begin(), below.end());
      below.erase(std::unique(below.begin(), below.end()), below.end());
      if (parent[j] == -1) continue;
      auto& above = structure[parent[j]];
      above.insert(above.end(), below.begin() + 1, below.end());  // the first one is the parent
    }
  };
  symbolic();
  std::vector<int> count(n);
  for (int j = 0; j < n; ++j) count[j] = static_cast<int>(structure[j].size());
  std::vector<int> sorted(n);
  const std::vector<int> post = postorder(parent, count);
  for (int j = 0; j < n; ++j) sorted[j] = s.order[post[j]];
  s.order = std::move(sorted);
  symbolic();

  // nodes: a column joins the node before it where that adds few zeros
  s.nodes.clear();
  for (int j = 0; j < n; ++j) {
    Node node{j, j + 1, -1, 0, 0};
    while (!s.nodes.empty() && parent[node.first - 1] == node.first && s.nodes.back().last == node.first) {
      const Node& before = s.nodes.back();
      const long below = static_cast<long>(structure[node.last - 1].size());
      const long width = before.last - before.first, own = node.last - node.first;
      const long zeros = width * (own + below - static_cast<long>(structure[before.last - 1].size()));
      const long total = (width + own) * (width + own + below);
      if (zeros > 0 && !(4 * zeros <= total && width + own <= 8)) break;
      node.first = before.first;
      s.nodes.pop_back();
    }
    s.nodes.push_back(node);
  }
  std::vector<int> node_of(n);
  s.node_rows.clear();
  for (int i = 0; i < static_cast<int>(s.nodes.size()); ++i) {
    Node& node = s.nodes[i];
    for (int j = node.first; j < node.last; ++j) node_of[j] = i;
    node.rows_begin = static_cast<int>(s.node_rows.size());
    const auto& below = structure[node.last - 1];
    s.node_rows.insert(s.node_rows.end(), below.begin(), below.end());
    node.rows_end = static_cast<int>(s.node_rows.size());
  }
  for (Node& node : s.nodes) {
    const int above = parent[node.last - 1];
    node.parent = above == -1 ? -1 : node_of[above];
    if (node.parent != -1) ++s.nodes[node.parent].children;
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
  s.column_start.assign(n + 1, 0);
  s.row_of.clear();
  s.slot_of_entry.resize(entries);
  for (int j = 0; j < n; ++j) {
    std::sort(entry.begin() + start[j], entry.begin() + start[j + 1]);
    for (int i = start[j]; i < start[j + 1]; ++i) {
      if (i == start[j] || entry[i].first != entry[i - 1].first) {
        s.row_of.push_back(entry[i].first);
        ++s.column_start[j + 1];
      }
      s.slot_of_entry[entry[i].second] = static_cast<int>(s.row_of.size()) - 1;
    }
  }
  for (int j = 0; j < n; ++j) s.column_start[j + 1] += s.column_start[j];

  std::vector<int> place(n, -1);
  s.front_entry.resize(s.row_of.size());
  s.parent_row.resize(s.node_rows.size());
  const auto stand = [&](const Node& node) {  // the rows of its front; their number
    int row = 0;
    for (int j = node.first; j < node.last; ++j) place[j] = row++;
    for (int i = node.rows_begin; i < node.rows_end; ++i) place[s.node_rows[i]] = row++;
    return row;
  };
  for (const Node& node : s.nodes) {
    const int front_size = stand(node);
    for (int j = node.first; j < node.last; ++j)
      for (int k = s.column_start[j]; k < s.column_start[j + 1]; ++k)
        s.front_entry[k] = (j - node.first) * front_size + place[s.row_of[k]];
  }
  for (const Node& node : s.nodes) {
    if (node.parent == -1) continue;
    stand(s.nodes[node.parent]);
    for (int i = node.rows_begin; i < node.rows_end; ++i) s.parent_row[i] = place[s.node_rows[i]];
  }
  return structure_of_pattern;
}

void SymmetricFactor::analyse(int size, const std::vector<int>& rows, const std::vector<int>& columns) {
  constexpr std::size_t most = 4;
  thread_local std::vector<std::shared_ptr<const Structure>> known;  // the last one used at the end
  const auto same = std::find_if(known.begin(), known.end(), [&](const auto& s) {
    return s->size == size && s->rows == rows && s->columns == columns;
  });
  if (same != known.end()) {
    structure_ = *same;
    known.erase(same);
  } else {
    structure_ = analysed(size, rows, columns);
    if (known.size() == most) known.erase(known.begin());
  }
  known.push_back(structure_);
  values_.resize(structure_->row_of.size());
  place_.assign(size, -1);
  grown_.assign(size, 0.0);
  b_.resize(size);
  x_.resize(size);
  residual_.resize(size);
  correction_.resize(size);
}

bool SymmetricFactor::factorise(const VectorXd& values) {
  const Structure& s = *structure_;
  std::fill(values_.begin(), values_.end(), 0.0);
  for (std::size_t k = 0; k < s.slot_of_entry.size(); ++k) values_[s.slot_of_entry[k]] += values[k];
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
  stack_top_ = 0;
  stack_indices_.clear();
  blocks_.clear();

  for (std::size_t at = 0; at < s.nodes.size(); ++at) {
    // the front's variables: its own columns, the delayed ones of its children, the rows below
    const Node& node = s.nodes[at];
    if (node.children == 0 && node.last == node.first + 1 && eliminate_leaf(static_cast<int>(at))) continue;
    front_indices_.clear();
    for (int j = node.first; j < node.last; ++j) front_indices_.push_back(j);
    const std::size_t first_child = blocks_.size() - node.children;
    for (std::size_t c = first_child; c < blocks_.size(); ++c)
      front_indices_.insert(front_indices_.end(), stack_indices_.begin() + blocks_[c].indices,
                            stack_indices_.begin() + blocks_[c].indices + blocks_[c].delayed);
    const int p = static_cast<int>(front_indices_.size());
    const bool plain = p == node.last - node.first;  // nothing was delayed
    front_indices_.insert(front_indices_.end(), s.node_rows.begin() + node.rows_begin,
                          s.node_rows.begin() + node.rows_end);
    const int size = static_cast<int>(front_indices_.size());
    front_.assign(static_cast<std::size_t>(size) * size, 0.0);

    // assembly, into the lower triangle
    if (plain) {
      for (int k = s.column_start[node.first]; k < s.column_start[node.last]; ++k)
        front_[s.front_entry[k]] += values_[k];
    } else {
      for (int i = 0; i < size; ++i) place_[front_indices_[i]] = i;
      for (int j = node.first; j < node.last; ++j) {
        double* column = front_.data() + static_cast<std::size_t>(j - node.first) * size;
        for (int k = s.column_start[j]; k < s.column_start[j + 1]; ++k) column[place_[s.row_of[k]]] += values_[k];
      }
    }
    for (std::size_t c = first_child; c < blocks_.size(); ++c) {
      const Block& block = blocks_[c];
      const double* from = stack_.data() + block.values;
      // where the block's variables stand in the front: in the same order, but for delayed ones
      const int* target = s.parent_row.data() + s.nodes[block.node].rows_begin;
      bool ordered = true;
      if (!plain) {
        target_.resize(block.size);
        for (int i = 0; i < block.size; ++i) {
          target_[i] = place_[stack_indices_[block.indices + i]];
          ordered = ordered && (i == 0 || target_[i] > target_[i - 1]);
        }
        target = target_.data();
      }
      for (int j = 0; j < block.size; ++j, from += block.size) {
        double* column = front_.data() + static_cast<std::size_t>(target[j]) * size;
        if (ordered)
          for (int i = j; i < block.size; ++i) column[target[i]] += from[i];
        else
          for (int i = j; i < block.size; ++i)
            (target[i] >= target[j] ? column[target[i]]
                                    : front_[static_cast<std::size_t>(target[i]) * size + target[j]]) += from[i];
      }
    }
    if (node.children > 0) {
      stack_top_ = blocks_[first_child].values;
      stack_indices_.resize(blocks_[first_child].indices);
      blocks_.resize(first_child);
    }

    eliminate(p, size);

    // what is left goes to the parent
    const Front& front = fronts_.back();
    const int left = size - front.pivots;
    if (node.parent != -1) {
      double* to = push_block(static_cast<int>(at), left, p - front.pivots);
      delayed_ += p - front.pivots;
      stack_indices_.insert(stack_indices_.end(), front_indices_.begin() + front.pivots, front_indices_.end());
      for (int j = 0; j < left; ++j) {
        const double* column = front_.data() + static_cast<std::size_t>(front.pivots + j) * size + front.pivots;
        std::copy(column + j, column + left, to + static_cast<std::size_t>(j) * left + j);
      }
    } else {
      inertia_.zero += p - front.pivots;
    }
  }
  return true;
}

// Room on the stack for what a node leaves to its parent, a lower triangle in columns of `left`.
double* SymmetricFactor::push_block(int node, int left, int delayed) {
  blocks_.push_back({node, left, delayed, stack_top_, static_cast<long>(stack_indices_.size())});
  const long begin = stack_top_;
  stack_top_ += static_cast<long>(left) * left;
  if (static_cast<long>(stack_.size()) < stack_top_) stack_.resize(2 * stack_top_);
  return stack_.data() + begin;
}

// A leaf of one column needs no front where its diagonal is a good pivot: its share of the parent's is the product of
// the column with itself. Most nodes of a transcription are such leaves.
bool SymmetricFactor::eliminate_leaf(int at) {
  const Structure& s = *structure_;
  const Node& node = s.nodes[at];
  const int first = s.column_start[node.first], entries = s.column_start[node.first + 1] - first;
  const int left = node.rows_end - node.rows_begin;
  // all entries of the column, the diagonal among them, are there as a rule
  if (entries != left + 1 || node.parent == -1) return false;
  const double* column = values_.data() + first;
  const double d = column[0], off = largest_of(left, column + 1);
  if (d == 0.0 || !(std::abs(d) >= std::max(0.01, pivot_threshold) * off)) return false;
  (d > 0.0 ? inertia_.positive : inertia_.negative) += 1;
  const long panel = static_cast<long>(panels_.size()), indices = static_cast<long>(indices_.size());
  fronts_.push_back({1, left + 1, panel, indices, static_cast<long>(diagonals_.size())});
  diagonals_.insert(diagonals_.end(), {d, 0.0});
  indices_.push_back(node.first);
  indices_.insert(indices_.end(), s.node_rows.begin() + node.rows_begin, s.node_rows.begin() + node.rows_end);
  panels_.insert(panels_.end(), column, column + left + 1);
  double* factor = panels_.data() + panel + 1;
  const double inverse = 1.0 / d;
  for (int i = 0; i < left; ++i) factor[i] *= inverse;
  double* product = push_block(at, left, 0);
  stack_indices_.insert(stack_indices_.end(), s.node_rows.begin() + node.rows_begin,
                        s.node_rows.begin() + node.rows_end);
  for (int j = 0; j < left; ++j, product += left) {
    const double f = column[1 + j];
    for (int i = j; i < left; ++i) product[i] = -f * factor[i];
    grown_[s.node_rows[node.rows_begin + j]] += std::abs(f * factor[j]);
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
    // Candidates in turn, from one that was taken on to the next; a round without success ends it.
    for (int tried = 0, candidate = k; k < p && tried < p - k;) {
      if (candidate < k || candidate >= p) candidate = k;
      // its largest entry among the variables to eliminate, and below them
      double* column = &at(0, candidate);
      const double outside = largest_of(size - p, column + p);
      const double off = std::max(
          {largest_of(candidate - k, column + k), largest_of(p - candidate - 1, column + candidate + 1), outside});
      const double d = column[candidate];
      // what remains of larger numbers that cancelled each other is nothing
      const bool vanished = std::max(std::abs(d), off) <= rounding * grown_[front_indices_[candidate]];

      if (!vanished && d != 0.0 && std::abs(d) >= threshold * off) {
        exchange(k, candidate);
        column = &at(0, k);
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
        ++candidate;
        tried = 0;
        continue;
      }
      int partner = -1;
      for (int i = k; i < p; ++i)
        if (i != candidate && column[i] != 0.0 && (partner == -1 || std::abs(column[i]) > std::abs(column[partner])))
          partner = i;
      if (partner != -1 && !vanished) {
        double* other = &at(0, partner);
        double off_k = outside,
               off_other = largest_of(size - p, other + p);  // largest entries outside the block of two
        for (int i = k; i < p; ++i)
          if (i != partner && i != candidate) {
            off_k = std::max(off_k, std::abs(column[i]));
            off_other = std::max(off_other, std::abs(other[i]));
          }
        const double a = d, b = column[partner], c = other[partner], determinant = a * c - b * b;
        // |block^-1| (off_k, off_other) <= 1 / threshold (Duff and Reid 1983)
        if (determinant != 0.0 &&
            threshold * (std::abs(c) * off_k + std::abs(b) * off_other) <= std::abs(determinant) &&
            threshold * (std::abs(b) * off_k + std::abs(a) * off_other) <= std::abs(determinant)) {
          exchange(k, candidate);
          exchange(k + 1, partner == k ? candidate : partner);
          column = &at(0, k);
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
          ++candidate;
          tried = 0;
          continue;
        }
      }
      ++candidate;
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
  const int left = size - p;
  scaled_.resize(static_cast<std::size_t>(left) * pivots);  // columns of L D
  sums_.assign(left, 0.0);
  using Column = Eigen::Map<Eigen::ArrayXd>;
  Column grown(sums_.data(), left);
  const auto front = [&](int k) { return Column(front_.data() + static_cast<std::size_t>(k) * size + p, left); };
  const auto scaled = [&](int k) { return Column(scaled_.data() + static_cast<std::size_t>(k) * left, left); };
  for (int k = 0; k < pivots; ++k) {
    if (d[2 * k + 1] == 0.0) {
      scaled(k) = d[2 * k] * front(k);
      grown += (scaled(k) * front(k)).abs();
    } else {
      scaled(k) = d[2 * k] * front(k) + d[2 * k + 1] * front(k + 1);
      scaled(k + 1) = d[2 * k + 1] * front(k) + d[2 * k + 2] * front(k + 1);
      grown += (scaled(k) * front(k)).abs() + (scaled(k + 1) * front(k + 1)).abs();
      ++k;
    }
  }
  for (int j = 0; j < left; ++j) grown_[front_indices_[p + j]] += sums_[j];
  subtract_product(left, pivots, size, front_.data() + p, scaled_.data(),
                   front_.data() + static_cast<std::size_t>(p) * size + p);
}

void SymmetricFactor::substitute(VectorXd& x) const {
  using Column = Eigen::Map<const VectorXd>;
  const auto gather = [&](const Front& front) {
    const int* index = indices_.data() + front.indices;
    local_.resize(front.size);
    for (int i = 0; i < front.size; ++i) local_[i] = x[index[i]];
  };
  for (const Front& front : fronts_) {  // L, then D
    const int* index = indices_.data() + front.indices;
    const double *column = panels_.data() + front.panel, *d = diagonals_.data() + front.diagonal;
    gather(front);
    for (int k = 0; k < front.pivots; ++k, column += front.size)
      if (local_[k] != 0.0) subtract(front.size - k - 1, local_[k], column + k + 1, local_.data() + k + 1);
    for (int k = 0; k < front.pivots; ++k) {
      if (d[2 * k + 1] == 0.0) {
        local_[k] /= d[2 * k];
      } else {
        const double a = d[2 * k], b = d[2 * k + 1], c = d[2 * k + 2], determinant = a * c - b * b;
        const double u = local_[k], v = local_[k + 1];
        local_[k] = (c * u - b * v) / determinant;
        local_[k + 1] = (a * v - b * u) / determinant;
        ++k;
      }
    }
    for (int i = 0; i < front.size; ++i) x[index[i]] = local_[i];
  }
  if (inertia_.zero > 0) {  // the variables that no pivot was found for
    std::vector<char> eliminated(structure_->size, 0);
    for (const Front& front : fronts_)
      for (int k = 0; k < front.pivots; ++k) eliminated[indices_[front.indices + k]] = 1;
    for (int i = 0; i < structure_->size; ++i)
      if (!eliminated[i]) x[i] = 0.0;
  }
  for (auto front = fronts_.rbegin(); front != fronts_.rend(); ++front) {  // L^T
    const int* index = indices_.data() + front->indices;
    gather(*front);
    for (int k = front->pivots - 1; k >= 0; --k) {
      const int below = front->size - k - 1;
      const double* column = panels_.data() + front->panel + static_cast<long>(k) * front->size + k + 1;
      if (below > 0) local_[k] -= Column(column, below).dot(Column(local_.data() + k + 1, below));
      x[index[k]] = local_[k];
    }
  }
}

void SymmetricFactor::multiply(const VectorXd& x, VectorXd& y) const {
  y.setZero();
  const Structure& s = *structure_;
  for (int j = 0; j < s.size; ++j) {
    double sum = 0.0;
    for (int k = s.column_start[j]; k < s.column_start[j + 1]; ++k) {
      const int i = s.row_of[k];
      sum += values_[k] * x[i];
      if (i != j) y[i] += values_[k] * x[j];
    }
    y[j] += sum;
  }
}

double SymmetricFactor::solve(const VectorXd& b, VectorXd& x) const {
  const std::vector<int>& order = structure_->order;
  const int size = structure_->size;
  for (int j = 0; j < size; ++j) b_[j] = b[order[j]];
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
  for (int j = 0; j < size; ++j) x[order[j]] = x_[j];
  return best;
}

}  // namespace dodyn::nlp
