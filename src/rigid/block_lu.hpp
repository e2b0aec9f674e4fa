// LU factorisation of a sparse matrix of square blocks with symmetric pattern and unsymmetric values. Pivoting stays
// within the diagonal blocks.
#pragma once

#include <Eigen/LU>
#include <vector>

#include "rigid/block_cholesky.hpp"

namespace dodyn::rigid {

template <int width>
class BlockLU : public BlockCholesky<width> {
  using Base = BlockCholesky<width>;
  using Base::below_;
  using Base::diagonal_;
  using Base::row_;
  using Base::start_;
  using Base::target_;

 public:
  using Block = typename Base::Block;

  void set_zero() {
    Base::set_zero();
    above_.resize(below_.size());
    for (auto& block : above_) block.setZero();
  }
  // Returns the mirror block of below(index): row j and column i > j.
  Block& above(int index) { return above_[index]; }

  // Factors in place. Reads whole diagonal blocks. Returns false if a pivot vanishes.
  bool factor() {
    const int* target = target_.data();
    for (int k = 0; k < this->nodes(); ++k) {
      diagonal_[k] = Block(Eigen::PartialPivLU<Block>(diagonal_[k]).inverse());
      if (!diagonal_[k].allFinite()) return false;
      for (int a = start_[k]; a < start_[k + 1]; ++a) below_[a] = below_[a] * diagonal_[k];
      for (int b = start_[k]; b < start_[k + 1]; ++b) {
        diagonal_[row_[b]].noalias() -= below_[b] * above_[b];
        for (int a = b + 1; a < start_[k + 1]; ++a, ++target) {
          below_[*target].noalias() -= below_[a] * above_[b];
          above_[*target].noalias() -= below_[b] * above_[a];
        }
      }
    }
    return true;
  }

  // Solves in place. x: `width` numbers per node, by position.
  void solve(Eigen::VectorXd& x) const {
    for (int k = 0; k < this->nodes(); ++k)
      for (int a = start_[k]; a < start_[k + 1]; ++a)
        x.segment<width>(width * row_[a]).noalias() -= below_[a] * x.segment<width>(width * k);
    for (int k = this->nodes() - 1; k >= 0; --k) {
      Eigen::Matrix<double, width, 1> own = x.segment<width>(width * k);
      for (int a = start_[k]; a < start_[k + 1]; ++a) own.noalias() -= above_[a] * x.segment<width>(width * row_[a]);
      x.segment<width>(width * k).noalias() = diagonal_[k] * own;
    }
  }

 private:
  std::vector<Block> above_;
};

}  // namespace dodyn::rigid
