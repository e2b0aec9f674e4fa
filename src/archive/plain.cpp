#include "archive/archive.hpp"
#include "archive/hdf5_file.hpp"

namespace dodyn::archive {

void write_plain(const std::string& path, const std::vector<Group>& groups) {
  const Handle file = create_file(path);
  for (const Group& one : groups) {
    const Handle group =
        own(H5Gcreate2(file, one.name.c_str(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), path + ": " + one.name);
    for (const auto& [name, text] : one.attributes) set_attribute(group, name.c_str(), text);
    for (const Dataset& dataset : one.datasets) {
      const auto& values = dataset.values;
      const hsize_t shape[] = {static_cast<hsize_t>(values.rows()), static_cast<hsize_t>(values.cols())};
      const Handle space = own(H5Screate_simple(values.cols() == 1 ? 1 : 2, shape, nullptr), path);
      const Handle set =
          own(H5Dcreate2(group, dataset.name.c_str(), H5T_IEEE_F64LE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT),
              path + ": " + dataset.name);
      const Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor> rows = values;
      check(H5Dwrite(set, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, rows.data()), path + ": " + dataset.name);
      set_attribute(set, "description", dataset.description);
    }
  }
}

}  // namespace dodyn::archive
