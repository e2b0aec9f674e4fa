#include "archive/archive.hpp"
#include "archive/hdf5_file.hpp"
#include "archive/schema.hpp"

namespace dodyn::archive {
namespace {

void write_groups(const std::string& path, const std::vector<Group>& groups) {
  Handle file = create_file(path);
  for (const Group& one : groups) {
    const Handle group = own(H5Gcreate2(file, one.name.c_str(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), one.name);
    for (const auto& [name, text] : one.attributes) set_attribute(group, name.c_str(), text);
    for (const Dataset& dataset : one.datasets) {
      const auto& values = dataset.values;
      const hsize_t shape[] = {static_cast<hsize_t>(values.rows()), static_cast<hsize_t>(values.cols())};
      const Handle space = own(H5Screate_simple(values.cols() == 1 ? 1 : 2, shape, nullptr), dataset.name);
      const Handle set =
          own(H5Dcreate2(group, dataset.name.c_str(), H5T_IEEE_F64LE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT),
              dataset.name);
      const Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor> rows = values;
      check(H5Dwrite(set, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, rows.data()), dataset.name);
      set_attribute(set, "description", dataset.description);
    }
  }
  if (!file.close()) fail("cannot create");
}

}  // namespace

void write_plain(const std::string& path, const std::vector<Group>& groups) {
  std::size_t bytes = spare_bytes;
  for (const Group& one : groups)
    for (const Dataset& dataset : one.datasets) bytes += sizeof(double) * dataset.values.size();
  on(path, [&] {
    make_temporary(path, bytes, [&](const std::string& temporary) {
      write_groups(temporary, groups);
      publish(path);
    });
  });
}

}  // namespace dodyn::archive
