// A matrix as the archive keeps one of a trajectory. Whoever evaluates packs, on a rank of many, so that the one rank that
// writes has little left to do.
#pragma once

#include <Eigen/Core>
#include <cstddef>
#include <vector>

namespace dodyn {

// The matrix's numbers row by row; of these the first byte of each, the second byte of each, and so on (HDF5's filter
// shuffle); of these the zlib stream (HDF5's filter deflate), unless it would be no shorter.
struct Packed {
  std::vector<std::byte> bytes;
  bool deflated = false;
};

Packed packed(const Eigen::MatrixXd& values);

// Matrices of at most this size stand in the archive as they are, several to a page of 4 KiB; larger ones are packed, and each
// takes whole pages.
constexpr std::size_t max_unpacked_bytes = 2048;

}  // namespace dodyn
