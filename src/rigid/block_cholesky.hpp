// Cholesky's factorisation of a sparse symmetric positive definite matrix of square blocks, one row of blocks per body.
//
// The factor is sparse if bodies have few neighbours. The body of minimum degree is eliminated next, so that the cost
// is proportional to the number of bodies in a layer or a chain.
#pragma once

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <iterator>
#include <span>
#include <utility>
#include <vector>

namespace dodyn::rigid {

template <int width>
class BlockCholesky {
 public:
  using Block = Eigen::Matrix<double, width, width>;

  // Sets the pattern and zeroes all blocks. `pairs`: nodes i != j with a block between them, in any order, repetitions
  // allowed.
  void analyse(int nodes, std::span<const std::pair<int, int>> pairs) {
    neighbours_.resize(std::max<std::size_t>(neighbours_.size(), nodes));
    for (int i = 0; i < nodes; ++i) neighbours_[i].clear();
    for (const auto& [i, j] : pairs) {
      neighbours_[i].push_back(j);
      neighbours_[j].push_back(i);
    }
    for (int i = 0; i < nodes; ++i) {
      auto& list = neighbours_[i];
      std::ranges::sort(list);
      list.erase(std::unique(list.begin(), list.end()), list.end());
    }
    // eliminates the node of minimum degree; its neighbours become neighbours of each other
    place_.assign(nodes, -1);
    start_.assign(1, 0);
    row_.clear();
    for (int k = 0; k < nodes; ++k) {
      int least = -1;
      for (int i = 0; i < nodes; ++i)
        if (place_[i] < 0 && (least < 0 || neighbours_[i].size() < neighbours_[least].size())) least = i;
      place_[least] = k;
      const auto& rest = neighbours_[least];
      for (const int i : rest) {
        auto& list = neighbours_[i];
        merged_.clear();
        std::set_union(list.begin(), list.end(), rest.begin(), rest.end(), std::back_inserter(merged_));
        std::erase_if(merged_, [&](int j) { return j == i || j == least; });
        list.swap(merged_);
      }
      row_.insert(row_.end(), rest.begin(), rest.end());
      start_.push_back(row_.size());
    }
    for (int& i : row_) i = place_[i];
    for (int k = 0; k < nodes; ++k) std::sort(row_.begin() + start_[k], row_.begin() + start_[k + 1]);
    // target block of each update by a pair of rows of a column
    target_.clear();
    for (int k = 0; k < nodes; ++k)
      for (int b = start_[k]; b < start_[k + 1]; ++b)
        for (int a = b + 1, at = start_[row_[b]]; a < start_[k + 1]; ++a) {
          while (row_[at] != row_[a]) ++at;
          target_.push_back(at);
        }
    diagonal_.resize(nodes);
    below_.resize(row_.size());
    set_zero();
  }

  int nodes() const { return static_cast<int>(diagonal_.size()); }
  // Returns the position of a node in the elimination order. The functions below use positions.
  int place(int node) const { return place_[node]; }

  void set_zero() {
    for (auto& block : diagonal_) block.setZero();
    for (auto& block : below_) block.setZero();
  }
  // Return the blocks to fill before factor(), by position. diagonal(i): only the lower triangle is read. below(index):
  // row i, column j < i; find(i, j) returns the index.
  Block& diagonal(int i) { return diagonal_[i]; }
  Block& below(int index) { return below_[index]; }
  int find(int i, int j) const {
    return static_cast<int>(std::lower_bound(row_.begin() + start_[j], row_.begin() + start_[j + 1], i) - row_.begin());
  }

  // Factors in place. Returns false if the matrix is not positive definite.
  bool factor() {
    const int* target = target_.data();
    for (int k = 0; k < nodes(); ++k) {
      Block& own = diagonal_[k];
      for (int j = 0; j < width; ++j) {
        for (int i = 0; i < j; ++i) own.col(j) -= own(j, i) * own.col(i);
        if (!(own(j, j) > 0.0)) return false;
        own.col(j) /= std::sqrt(own(j, j));
      }
      for (int a = start_[k]; a < start_[k + 1]; ++a)
        for (int j = 0; j < width; ++j) {
          for (int i = 0; i < j; ++i) below_[a].col(j) -= own(j, i) * below_[a].col(i);
          below_[a].col(j) /= own(j, j);
        }
      for (int b = start_[k]; b < start_[k + 1]; ++b) {
        const Block transposed = below_[b].transpose();
        diagonal_[row_[b]].noalias() -= below_[b] * transposed;
        for (int a = b + 1; a < start_[k + 1]; ++a) below_[*target++].noalias() -= below_[a] * transposed;
      }
    }
    return true;
  }

  // Solves in place. x: `width` numbers per node, by position.
  void solve(Eigen::VectorXd& x) const {
    for (int k = 0; k < nodes(); ++k) {
      auto own = x.segment<width>(width * k);
      diagonal_[k].template triangularView<Eigen::Lower>().solveInPlace(own);
      for (int a = start_[k]; a < start_[k + 1]; ++a) x.segment<width>(width * row_[a]).noalias() -= below_[a] * own;
    }
    for (int k = nodes() - 1; k >= 0; --k) {
      auto own = x.segment<width>(width * k);
      for (int a = start_[k]; a < start_[k + 1]; ++a)
        own.noalias() -= below_[a].transpose() * x.segment<width>(width * row_[a]);
      diagonal_[k].template triangularView<Eigen::Lower>().transpose().solveInPlace(own);
    }
  }

 protected:
  std::vector<int> place_, start_, row_, target_, merged_;
  std::vector<std::vector<int>> neighbours_;
  std::vector<Block> diagonal_, below_;
};

}  // namespace dodyn::rigid
