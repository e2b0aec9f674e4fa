#include "record/packed.hpp"

#include <zlib.h>

namespace dodyn {

Packed packed(const Eigen::MatrixXd& values) {
  const Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor> rows = values;
  const std::size_t count = rows.size();
  const auto* numbers = reinterpret_cast<const std::byte*>(rows.data());
  std::vector<std::byte> shuffled(count * sizeof(double));
  for (std::size_t i = 0; i < count; ++i)
    for (std::size_t byte = 0; byte < sizeof(double); ++byte)
      shuffled[byte * count + i] = numbers[i * sizeof(double) + byte];

  constexpr int level = 4;
  uLongf size = shuffled.empty() ? 0 : static_cast<uLongf>(shuffled.size() - 1);
  std::vector<std::byte> deflated(size);
  const bool shorter = size > 0 && compress2(reinterpret_cast<Bytef*>(deflated.data()), &size,
                                             reinterpret_cast<const Bytef*>(shuffled.data()),
                                             static_cast<uLong>(shuffled.size()), level) == Z_OK;
  if (!shorter) return {std::move(shuffled), false};
  deflated.resize(size);
  return {std::move(deflated), true};
}

}  // namespace dodyn
