#include "nlp/symmetric_factor.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>

namespace dodyn::nlp {

using Eigen::VectorXd;
using Node = SymmetricPattern::Node;
using Bundle = SymmetricPattern::Bundle;

namespace {

// Limits of the panels' size: this many numbers, or this many times the size without delayed pivots. Delayed pivots
// enlarge the fronts up to the root, in the worst case each to the whole matrix. Motions of 15 500 rows were solved
// with panels that were 140 times larger than without delayed pivots (14e6 numbers).
constexpr long small_panels = 1 << 24, max_growth = 50;

}  // namespace

void SymmetricFactor::analyse(int size, const std::vector<int>& rows, const std::vector<int>& columns,
                              int saddle_rows) {
  assert(rows.size() == columns.size() && saddle_rows >= 0 && saddle_rows <= size);
  constexpr std::size_t max_known = 4;
  thread_local std::vector<std::shared_ptr<const SymmetricPattern>> known;  // the most recent one is last
  const auto same = std::ranges::find_if(known, [&](const auto& s) {
    return s->size == size && s->saddle_rows == saddle_rows && s->rows == rows && s->columns == columns;
  });
  if (same != known.end()) {
    pattern_ = *same;
    known.erase(same);
  } else {
    pattern_ = analyse_pattern(size, rows, columns, saddle_rows);
    if (known.size() == max_known) known.erase(known.begin());
  }
  known.push_back(pattern_);
  const SymmetricPattern& s = *pattern_;
  values_.resize(s.row_of.size());
  leaf_pivot_.resize(s.leaves.size());
  fronts_.reserve(s.nodes.size());
  blocks_.reserve(s.nodes.size());
  const auto with_room = [](long amount) { return amount + amount / 2; };  // additional space for delayed variables
  panels_.resize(with_room(s.panels));
  indices_.resize(with_room(s.indices));
  diagonals_.resize(with_room(s.diagonals));
  for (const int odd : {0, 1}) stack_[odd].resize(with_room(s.stack[odd]));
  scaled_.resize(with_room(s.max_scaled));
  added_.resize(s.max_rest);
  columns_.resize(s.max_bundle);
  block_.resize(s.max_bundle);
  grown_.resize(size);
  local_grown_.resize(size);
  local_.resize(size + 8);  // a front has at most `size` rows, and each of its two parts is padded by up to 3
  delayed_variables_.reserve(size);
  b_.resize(size);
  x_.resize(size);
  residual_.resize(size);
  correction_.resize(size);
}

bool SymmetricFactor::factorise(const VectorXd& values) { return factorise(values, false); }
bool SymmetricFactor::factorise_convex(const VectorXd& values) { return factorise(values, true); }

bool SymmetricFactor::factorise(const VectorXd& values, bool convex) {
  assert(pattern_ && "analysed first");
  assert(values.size() == static_cast<Eigen::Index>(pattern_->slot_of_entry.size()));
  const SymmetricPattern& s = *pattern_;
  std::ranges::fill(values_, 0.0);
  for (std::size_t k = 0; k < s.slot_of_entry.size(); ++k) values_[s.slot_of_entry[k]] += values[k];
  const Eigen::Map<const Eigen::ArrayXd> all(values_.data(), static_cast<long>(values_.size()));
  if (!((all - all).abs().sum() == 0.0)) return false;  // infinity minus infinity is NaN
  max_entry_ = all.size() > 0 ? all.abs().maxCoeff() : 0.0;

  std::ranges::fill(grown_, 0.0);
  inertia_ = {};
  delayed_ = 0;
  fronts_.clear();
  panels_top_ = indices_top_ = diagonals_top_ = 0;
  stack_top_[0] = stack_top_[1] = 0;
  delayed_variables_.clear();
  blocks_.clear();
  for (int at = 0; at < std::ssize(s.nodes); ++at) {
    const Progress progress = eliminate_node(at, convex);
    if (progress == Progress::not_convex) break;
    if (progress == Progress::too_large) return false;
  }
  return true;
}

// Assembles and eliminates one front, and leaves its rest to the parent.
SymmetricFactor::Progress SymmetricFactor::eliminate_node(int at, bool convex) {
  const SymmetricPattern& s = *pattern_;
  const Node& node = s.nodes[at];
  const int own = node.last - node.first, left = node.rows_end - node.rows_begin;
  const int delayed = count_delayed(at);
  DenseFront front{nullptr, nullptr, own + delayed, left};
  const long panel = panels_top_, indices = indices_top_, diagonal = diagonals_top_;
  const long panel_size = static_cast<long>(front.p) * front.stride();
  const long rest_size = static_cast<long>(front.rest_stride()) * front.rest_stride();
  if (panels_top_ + panel_size > std::max(small_panels, max_growth * s.panels)) return Progress::too_large;
  const auto grow = [](auto& memory, long size) {
    if (static_cast<long>(memory.size()) < size) memory.resize(size + size / 2);
  };
  grow(panels_, panels_top_ += panel_size);
  grow(indices_, indices_top_ += front.p + left);
  grow(diagonals_, diagonals_top_ += 2 * front.p);
  grow(local_grown_, front.p);
  grow(scaled_, static_cast<long>(front.rest_stride()) * front.p);
  front.panel = panels_.data() + panel;
  front.rest = room(node.odd, rest_size);
  std::fill(front.panel, front.panel + panel_size, 0.0);
  for (int j = 0, rest = front.rest_stride(); j < rest; ++j)  // zeroes whole blocks of four on the diagonal
    std::fill(front.rest + static_cast<long>(j) * rest + (j & ~3), front.rest + static_cast<long>(j + 1) * rest, 0.0);
  int* const variables = indices_.data() + indices;
  for (int j = 0; j < own; ++j) variables[j] = node.first + j;
  std::copy(s.node_rows.begin() + node.rows_begin, s.node_rows.begin() + node.rows_end, variables + front.p);

  // assembly: entries of the matrix, blocks of the children, leaves
  const int top = front.top(), stride = front.stride();
  for (int j = node.first; j < node.last; ++j) {
    double* column = front.panel + static_cast<long>(j - node.first) * stride;
    for (int k = s.column_start[j]; k < s.column_start[j + 1]; ++k)
      column[s.place[k] < own ? s.place[k] : s.place[k] - own + top] = values_[k];
  }
  int negative = 0;
  const std::size_t first_child = blocks_.size() - node.children;
  for (std::size_t c = first_child; c < blocks_.size(); ++c) {
    const Block& block = blocks_[c];
    const Node& child = s.nodes[block.node];
    add_block(stack_[child.odd].data() + block.values, padded(child.rows_end - child.rows_begin),
              {s.runs.data() + child.runs_begin, s.runs.data() + child.runs_end}, own, front);
    negative += block.negative;
  }
  negative += take_bundles(at, front);
  if (delayed > 0) place_delayed(at, first_child, front);
  if (node.children > 0) {
    stack_top_[!node.odd] = blocks_[first_child].values;
    delayed_variables_.resize(blocks_[first_child].variables);
    blocks_.resize(first_child);
  }

  for (int j = 0; j < front.p; ++j) local_grown_[j] = grown_[variables[j]];
  double* const d = diagonals_.data() + diagonal;
  const Eliminated done = eliminate(front, variables, local_grown_.data(), d, pivot_threshold);
  inertia_.positive += done.positive;
  inertia_.negative += done.negative;
  negative += done.negative;
  // Assume that the matrix is convex on the rows' null space. Then the number of negative pivots is the number of rows,
  // and each row outside of the subtree still needs its negative pivot. So a subtree has at most as many negative
  // pivots as it touches rows.
  if (convex && negative > node.touched) {
    inertia_.negative = std::max(inertia_.negative, s.saddle_rows + 1);
    return Progress::not_convex;
  }
  if (done.pivots > 0 && left > 0) {
    update_rest(front, done.pivots, d, scaled_.data(), added_.data());
    for (int i = 0; i < left; ++i) grown_[variables[front.p + i]] += added_[i];
  }
  fronts_.push_back({done.pivots, front.p, left, panel, indices, diagonal});
  if (node.parent == -1) {
    inertia_.zero += front.p - done.pivots;
    stack_top_[node.odd] -= rest_size;
    return Progress::done;
  }
  blocks_.push_back({at, 0, negative, stack_top_[node.odd] - rest_size, static_cast<long>(delayed_variables_.size())});
  if (done.pivots < front.p) {
    for (int j = done.pivots; j < front.p; ++j) grown_[variables[j]] = local_grown_[j];
    leave_delayed(at, done.pivots, front, variables);
  }
  return Progress::done;
}

// Reserves space on one of the stacks. Returns the begin of the space.
double* SymmetricFactor::room(bool odd, long size) {
  std::vector<double>& stack = stack_[odd];
  const long begin = stack_top_[odd];
  stack_top_[odd] += size;
  if (static_cast<long>(stack.size()) < stack_top_[odd]) stack.resize(2 * stack_top_[odd]);
  return stack.data() + begin;
}

// Counts the variables that children and leaves cannot eliminate, and sets the leaves' pivots. A leaf has only its
// diagonal as a pivot.
int SymmetricFactor::count_delayed(int at) {
  const SymmetricPattern& s = *pattern_;
  const Node& node = s.nodes[at];
  int count = 0;
  for (std::size_t c = blocks_.size() - node.children; c < blocks_.size(); ++c) count += blocks_[c].delayed;
  for (int b = node.bundles_begin; b < node.bundles_end; ++b)
    for (int l = s.bundles[b].leaves_begin; l < s.bundles[b].leaves_end; ++l) {
      const int j = s.leaves[l];
      const double d = values_[s.column_start[j]];
      double off = 0.0;
      for (int k = s.column_start[j] + 1; k < s.column_start[j + 1]; ++k) off = std::max(off, std::abs(values_[k]));
      const bool good = d != 0.0 && std::abs(d) >= std::max(leaf_threshold, pivot_threshold) * off;
      leaf_pivot_[l] = good ? 1.0 / d : 0.0;
      count += !good;
    }
  return count;
}

// Eliminates the leaves below a node and adds their update to its front. Returns the number of their negative pivots.
int SymmetricFactor::take_bundles(int at, const DenseFront& front) {
  const SymmetricPattern& s = *pattern_;
  const Node& node = s.nodes[at];
  int negative = 0;
  for (int b = node.bundles_begin; b < node.bundles_end; ++b) {
    const Bundle& bundle = s.bundles[b];
    const int rows = bundle.rows_end - bundle.rows_begin, stride = padded(rows);
    const int count = bundle.leaves_end - bundle.leaves_begin;
    std::fill_n(columns_.begin(), static_cast<long>(stride) * count, 0.0);
    std::fill_n(block_.begin(), static_cast<long>(stride) * stride, 0.0);
    double* column = columns_.data();
    for (int l = bundle.leaves_begin; l < bundle.leaves_end; ++l, column += stride) {
      const int j = s.leaves[l];
      for (int k = s.column_start[j] + 1; k < s.column_start[j + 1]; ++k) column[s.place[k]] = values_[k];
      if (leaf_pivot_[l] < 0.0) ++negative, ++inertia_.negative;
      if (leaf_pivot_[l] > 0.0) ++inertia_.positive;
    }
    subtract_squares(stride, count, columns_.data(), leaf_pivot_.data() + bundle.leaves_begin, block_.data(),
                     scaled_.data(), added_.data());
    const int own = node.last - node.first;
    for (int i = 0; i < rows; ++i) {
      const int place = s.bundle_rows[bundle.rows_begin + i];
      grown_[place < own ? node.first + place : s.node_rows[node.rows_begin + place - own]] += added_[i];
    }
    add_block(block_.data(), stride, {s.runs.data() + bundle.runs_begin, s.runs.data() + bundle.runs_end}, own, front);
  }
  return negative;
}

// Appends the variables that children and leaves have delayed to the front, behind the front's own variables.
void SymmetricFactor::place_delayed(int at, std::size_t first_child, const DenseFront& front) {
  const SymmetricPattern& s = *pattern_;
  const Node& node = s.nodes[at];
  const int own = node.last - node.first, top = front.top(), stride = front.stride();
  int* const variables = indices_.data() + indices_top_ - front.p - front.left;
  int next = own;
  // returns the entry of the delayed variable at `column` with a position of the front without delayed variables
  const auto entry = [&](int column, int place) -> double& {
    return place < own ? front.panel[static_cast<long>(place) * stride + column]
                       : front.panel[static_cast<long>(column) * stride + top + place - own];
  };
  for (std::size_t c = first_child; c < blocks_.size(); ++c) {
    const Block& block = blocks_[c];
    const Node& child = s.nodes[block.node];
    const int rows = child.rows_end - child.rows_begin, rest = padded(rows);
    const double* from = stack_[child.odd].data() + block.values + static_cast<long>(rest) * rest;
    for (int j = 0; j < block.delayed; ++j, from += block.delayed + rows) {
      variables[next + j] = delayed_variables_[block.variables + j];
      for (int i = j; i < block.delayed; ++i) front.panel[static_cast<long>(next + j) * stride + next + i] = from[i];
      for (int i = 0; i < rows; ++i) entry(next + j, s.parent_place[child.rows_begin + i]) = from[block.delayed + i];
    }
    next += block.delayed;
  }
  for (int b = node.bundles_begin; b < node.bundles_end; ++b) {
    const Bundle& bundle = s.bundles[b];
    for (int l = bundle.leaves_begin; l < bundle.leaves_end; ++l) {
      if (leaf_pivot_[l] != 0.0) continue;
      const int j = s.leaves[l];
      variables[next] = j;
      front.panel[static_cast<long>(next) * stride + next] = values_[s.column_start[j]];
      for (int k = s.column_start[j] + 1; k < s.column_start[j + 1]; ++k)
        entry(next, s.bundle_rows[bundle.rows_begin + s.place[k]]) = values_[k];
      ++next;
      ++delayed_;
    }
  }
}

// Stores the variables without a stable pivot after the block of the last pushed node: of each column the entries of
// the delayed variables (from the diagonal on), then the entries of the rows below.
void SymmetricFactor::leave_delayed(int at, int pivots, const DenseFront& front, const int* variables) {
  const int delayed = front.p - pivots, left = front.left, stride = delayed + left;
  Block& block = blocks_.back();
  block.delayed = delayed;
  double* to = room(pattern_->nodes[at].odd, static_cast<long>(delayed) * stride);
  for (int j = 0; j < delayed; ++j, to += stride) {
    const double* column = front.panel + static_cast<long>(pivots + j) * front.stride();
    std::copy(column + pivots + j, column + front.p, to + j);
    std::copy(column + front.top(), column + front.top() + left, to + delayed);
  }
  delayed_variables_.insert(delayed_variables_.end(), variables + pivots, variables + front.p);
  delayed_ += delayed;
}

void SymmetricFactor::substitute(VectorXd& x) const {
  const SymmetricPattern& s = *pattern_;
  for (std::size_t l = 0; l < s.leaves.size(); ++l) {
    if (leaf_pivot_[l] == 0.0) continue;
    const int j = s.leaves[l];
    const double share = x[j] * leaf_pivot_[l];
    x[j] = share;
    for (int k = s.column_start[j] + 1; k < s.column_start[j + 1]; ++k) x[s.row_of[k]] -= share * values_[k];
  }
  const auto gather = [&](const Front& front) {
    const int* index = indices_.data() + front.indices;
    const int top = padded(front.p), stride = top + padded(front.left);
    for (int i = 0; i < front.p; ++i) local_[i] = x[index[i]];
    for (int i = 0; i < front.left; ++i) local_[top + i] = x[index[front.p + i]];
    for (int i = top + front.left; i < stride; ++i) local_[i] = 0.0;
  };
  for (const Front& front : fronts_) {  // solves with L, then with D
    const int* index = indices_.data() + front.indices;
    gather(front);
    substitute_forward(panels_.data() + front.panel, front.pivots, front.p, front.left,
                       diagonals_.data() + front.diagonal, local_.data());
    const int top = padded(front.p);
    for (int i = 0; i < front.p; ++i) x[index[i]] = local_[i];
    for (int i = 0; i < front.left; ++i) x[index[front.p + i]] = local_[top + i];
  }
  if (inertia_.zero > 0) {  // variables without a pivot are zero
    for (const Front& front : fronts_)
      if (front.left == 0)
        for (int i = front.pivots; i < front.p; ++i) x[indices_[front.indices + i]] = 0.0;
  }
  for (auto front = fronts_.rbegin(); front != fronts_.rend(); ++front) {  // solves with L^T
    gather(*front);
    substitute_backward(panels_.data() + front->panel, front->pivots, front->p, front->left, local_.data());
    for (int i = 0; i < front->pivots; ++i) x[indices_[front->indices + i]] = local_[i];
  }
  for (std::size_t l = 0; l < s.leaves.size(); ++l) {
    const int j = s.leaves[l];
    double sum = 0.0;
    for (int k = s.column_start[j] + 1; k < s.column_start[j + 1]; ++k) sum += values_[k] * x[s.row_of[k]];
    x[j] -= leaf_pivot_[l] * sum;
  }
}

void SymmetricFactor::multiply(const VectorXd& x, VectorXd& y) const {
  y.setZero();
  const SymmetricPattern& s = *pattern_;
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

double SymmetricFactor::solve(const VectorXd& b, VectorXd& x, double tolerance) const {
  assert(pattern_ && b.size() == pattern_->size && &b != &x);
  const std::vector<int>& order = pattern_->order;
  const int size = pattern_->size;
  for (int j = 0; j < size; ++j) b_[j] = b[order[j]];
  const double right = b_.lpNorm<Eigen::Infinity>();
  x_.setZero();
  residual_ = b_;
  double error = 1.0, best = std::numeric_limits<double>::infinity();
  constexpr int max_rounds = 10;
  for (int round = 0; round < max_rounds; ++round) {
    correction_ = residual_;
    substitute(correction_);
    x_ += correction_;
    multiply(x_, residual_);
    residual_ = b_ - residual_;
    error = residual_.lpNorm<Eigen::Infinity>() / (max_entry_ * x_.lpNorm<Eigen::Infinity>() + right + 1e-300);
    if (!(error < best)) {
      x_ -= correction_;
      break;
    }
    const bool slow = error > 0.3 * best;
    best = error;
    if (best <= tolerance || slow) break;
  }
  for (int j = 0; j < size; ++j) x[order[j]] = x_[j];
  return best;
}

}  // namespace dodyn::nlp
