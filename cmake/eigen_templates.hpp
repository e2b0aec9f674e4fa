#pragma once

#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <Eigen/Eigenvalues>
#include <Eigen/Geometry>
#include <Eigen/LU>
#include <Eigen/QR>
#include <Eigen/SVD>

// Templates of Eigen that many sources use: eigen_templates.cpp compiles each of them once. The list holds what takes longest to
// instantiate, by clang's -ftime-trace. A source that does not find it among its precompiled headers compiles the templates itself.
#ifndef DODYN_EIGEN_TEMPLATE
#define DODYN_EIGEN_TEMPLATE extern template
#endif

namespace Eigen {

DODYN_EIGEN_TEMPLATE class LLT<MatrixXd, Lower>;
DODYN_EIGEN_TEMPLATE class LDLT<MatrixXd, Lower>;
DODYN_EIGEN_TEMPLATE class PartialPivLU<MatrixXd>;
DODYN_EIGEN_TEMPLATE class FullPivLU<MatrixXd>;
DODYN_EIGEN_TEMPLATE class HouseholderQR<MatrixXd>;
DODYN_EIGEN_TEMPLATE class ColPivHouseholderQR<MatrixXd>;
DODYN_EIGEN_TEMPLATE class CompleteOrthogonalDecomposition<MatrixXd>;
DODYN_EIGEN_TEMPLATE class JacobiSVD<MatrixXd>;
DODYN_EIGEN_TEMPLATE class EigenSolver<MatrixXd>;
DODYN_EIGEN_TEMPLATE class RealSchur<MatrixXd>;
DODYN_EIGEN_TEMPLATE class HessenbergDecomposition<MatrixXd>;
DODYN_EIGEN_TEMPLATE class SelfAdjointEigenSolver<MatrixXd>;
DODYN_EIGEN_TEMPLATE class Tridiagonalization<MatrixXd>;

// An explicit instantiation of a class leaves out its member templates.
DODYN_EIGEN_TEMPLATE LLT<MatrixXd>& LLT<MatrixXd>::compute(const EigenBase<MatrixXd>&);
DODYN_EIGEN_TEMPLATE LDLT<MatrixXd>& LDLT<MatrixXd>::compute(const EigenBase<MatrixXd>&);
DODYN_EIGEN_TEMPLATE ColPivHouseholderQR<MatrixXd>& ColPivHouseholderQR<MatrixXd>::compute(const EigenBase<MatrixXd>&);
DODYN_EIGEN_TEMPLATE EigenSolver<MatrixXd>& EigenSolver<MatrixXd>::compute(const EigenBase<MatrixXd>&, bool);
DODYN_EIGEN_TEMPLATE SelfAdjointEigenSolver<MatrixXd>& SelfAdjointEigenSolver<MatrixXd>::compute(
    const EigenBase<MatrixXd>&, int);
DODYN_EIGEN_TEMPLATE void LLT<MatrixXd>::_solve_impl_transposed<true>(const VectorXd&, VectorXd&) const;
DODYN_EIGEN_TEMPLATE void LDLT<MatrixXd>::_solve_impl_transposed<true>(const VectorXd&, VectorXd&) const;
DODYN_EIGEN_TEMPLATE void ColPivHouseholderQR<MatrixXd>::_solve_impl(const VectorXd&, VectorXd&) const;
DODYN_EIGEN_TEMPLATE void CompleteOrthogonalDecomposition<MatrixXd>::_solve_impl(const VectorXd&, VectorXd&) const;
DODYN_EIGEN_TEMPLATE AngleAxisd& AngleAxisd::operator=(const QuaternionBase<Quaterniond>&);
DODYN_EIGEN_TEMPLATE AngleAxisd& AngleAxisd::operator=(const MatrixBase<Matrix3d>&);

namespace internal {

DODYN_EIGEN_TEMPLATE struct partial_lu_impl<double, ColMajor, int, Dynamic>;
using Part = Block<MatrixXd, Dynamic, Dynamic, false>;
using VectorPart = Block<VectorXd, Dynamic, Dynamic, false>;
using Coefficients = VectorBlock<const VectorXd>;
DODYN_EIGEN_TEMPLATE void apply_block_householder_on_the_left(Part&, const Part&, const Coefficients&, bool);
DODYN_EIGEN_TEMPLATE void apply_block_householder_on_the_left(VectorPart&, const Part&, const Coefficients&, bool);

#define DODYN_PRODUCT(LEFT, RIGHT)                                                                            \
  DODYN_EIGEN_TEMPLATE struct general_matrix_matrix_product<Index, double, LEFT, false, double, RIGHT, false, \
                                                            ColMajor, 1>
DODYN_PRODUCT(ColMajor, ColMajor);
DODYN_PRODUCT(ColMajor, RowMajor);
DODYN_PRODUCT(RowMajor, ColMajor);
DODYN_PRODUCT(RowMajor, RowMajor);
#undef DODYN_PRODUCT

using BlockedProduct = gebp_traits<double, double>;
using Writable = blas_data_mapper<double, Index, ColMajor>;
template <int order>
using ReadOnly = const_blas_data_mapper<double, Index, order>;
DODYN_EIGEN_TEMPLATE struct gebp_kernel<double, double, Index, Writable, BlockedProduct::mr, BlockedProduct::nr, false,
                                        false>;
DODYN_EIGEN_TEMPLATE struct gemm_pack_rhs<double, Index, Writable, BlockedProduct::nr, ColMajor>;
DODYN_EIGEN_TEMPLATE struct gemm_pack_rhs<double, Index, ReadOnly<ColMajor>, BlockedProduct::nr, ColMajor>;
DODYN_EIGEN_TEMPLATE struct gemm_pack_rhs<double, Index, ReadOnly<RowMajor>, BlockedProduct::nr, RowMajor>;
DODYN_EIGEN_TEMPLATE struct gemm_pack_lhs<double, Index, ReadOnly<ColMajor>, BlockedProduct::mr,
                                          BlockedProduct::LhsProgress, BlockedProduct::LhsPacket4Packing, ColMajor>;
DODYN_EIGEN_TEMPLATE struct gemm_pack_lhs<double, Index, ReadOnly<RowMajor>, BlockedProduct::mr,
                                          BlockedProduct::LhsProgress, BlockedProduct::LhsPacket4Packing, RowMajor>;
DODYN_EIGEN_TEMPLATE struct general_matrix_vector_product<Index, double, ReadOnly<ColMajor>, ColMajor, false, double,
                                                          ReadOnly<RowMajor>, false>;
DODYN_EIGEN_TEMPLATE struct general_matrix_vector_product<Index, double, ReadOnly<RowMajor>, RowMajor, false, double,
                                                          ReadOnly<ColMajor>, false>;

#define DODYN_TRIANGULAR(MODE, ORDER)                                                                        \
  DODYN_EIGEN_TEMPLATE struct triangular_solve_vector<double, double, Index, OnTheLeft, MODE, false, ORDER>; \
  DODYN_EIGEN_TEMPLATE struct triangular_solve_matrix<double, Index, OnTheLeft, MODE, false, ORDER, ColMajor, 1>
DODYN_TRIANGULAR(Lower, ColMajor);
DODYN_TRIANGULAR(Upper, ColMajor);
DODYN_TRIANGULAR(UnitLower, ColMajor);
DODYN_TRIANGULAR(UnitUpper, ColMajor);
DODYN_TRIANGULAR(Lower, RowMajor);
DODYN_TRIANGULAR(Upper, RowMajor);
DODYN_TRIANGULAR(UnitLower, RowMajor);
DODYN_TRIANGULAR(UnitUpper, RowMajor);
#undef DODYN_TRIANGULAR

}  // namespace internal

}  // namespace Eigen
