// A matrix of a trajectory in the compressed form of the archive. The evaluating ranks compress, because they are many
// and only one rank writes.
#pragma once

#include <Eigen/Core>
#include <cstddef>
#include <vector>

namespace dodyn {

// The numbers of a matrix, row by row, after two filters of HDF5. `shuffle` writes the first byte of each number, then
// the second byte of each, and so on. `deflate` is the zlib stream of the result; it is left out if it is not shorter.
struct Packed {
  std::vector<std::byte> bytes;
  bool deflated = false;
};

Packed packed(const Eigen::MatrixXd& values);

// Matrices of at most this size are stored uncompressed, several on one page of 4 KiB. Larger ones are compressed and
// start on a page of their own.
constexpr std::size_t max_unpacked_bytes = 2048;

}  // namespace dodyn
