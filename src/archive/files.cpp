// Reads and writes the files that a configuration names, in /files of its archive.
#include <algorithm>
#include <filesystem>
#include <set>

#include "archive/schema.hpp"
#include "record/text.hpp"

namespace dodyn::archive {

inline constexpr std::size_t max_path_bytes = 1000;

bool is_held_path(const std::string& path) {
  if (path.empty() || path.size() > max_path_bytes || path.starts_with('/') || path.ends_with('/') ||
      path.find("//") != path.npos)
    return false;
  for (const auto& part : std::filesystem::path(path)) {
    const std::string name = part.string();
    const bool printed = std::ranges::none_of(name, [](unsigned char c) { return c < 32 || c == 127; });
    if (name.empty() || name == "." || name == ".." || name.size() > 255 || !printed) return false;
  }
  return true;
}

namespace {

std::string dataset_name(std::size_t i) { return "/files/" + std::to_string(i); }

[[noreturn]] void refuse(const std::string& what) { throw Error("not a dodyn archive: /files: " + what); }

Handle create_bytes(hid_t file, const std::string& name, const std::string& content) {
  const hsize_t size = content.size();
  const Handle space = own(H5Screate_simple(1, &size, nullptr), name);
  const Handle list = own(H5Pcreate(H5P_DATASET_CREATE), "HDF5");
  if (size > 0) {
    check(H5Pset_chunk(list, 1, &size), name);
    check(H5Pset_deflate(list, 6), name);
  }
  check(H5Pset_obj_track_times(list, false), name);
  Handle dataset = own(H5Dcreate2(file, name.c_str(), H5T_STD_U8LE, space, H5P_DEFAULT, list, H5P_DEFAULT), name);
  if (size > 0) check(H5Dwrite(dataset, H5T_NATIVE_UINT8, H5S_ALL, H5S_ALL, H5P_DEFAULT, content.data()), name);
  return dataset;
}

std::string read_bytes(hid_t file, const std::string& name, std::size_t size) {
  const Handle dataset = open_dataset(file, name);
  const Handle type = own(H5Dget_type(dataset), name);
  if (extents(dataset) != std::vector<hsize_t>{size} || H5Tequal(type, H5T_STD_U8LE) <= 0)
    throw Error("not a dodyn archive: " + name + " has another shape");
  std::string content(size, '\0');
  if (size > 0) check(H5Dread(dataset, H5T_NATIVE_UINT8, H5S_ALL, H5S_ALL, H5P_DEFAULT, content.data()), name);
  return content;
}

}  // namespace

void write_files(hid_t file, const Provenance& provenance) {
  const Handle group = own(H5Gcreate2(file, "/files", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), "/files");
  std::vector<std::string> names, paths, checksums;
  std::vector<double> sizes;
  std::string left_out;
  for (const EmbeddedFile& held : provenance.files) {
    names.push_back(held.name);
    paths.push_back(held.path);
    checksums.push_back(held.checksum);
    sizes.push_back(static_cast<double>(held.size));
    if (!held.is_held)
      left_out +=
          (left_out.empty() ? "" : ", ") + held.name + (held.path.empty() ? " (of the machine)" : " (too large)");
  }
  set_attribute(group, "names", names);
  set_attribute(group, "paths", paths);
  set_attribute(group, "checksums", checksums);
  set_attribute(group, "sizes", sizes);
  set_attribute(group, "folder", provenance.folder_of_files);
  set_attribute(group, "left_out", left_out);
  for (std::size_t i = 0; i < provenance.files.size(); ++i)
    if (provenance.files[i].is_held) own(create_bytes(file, dataset_name(i), provenance.files[i].content), "/files");
}

void read_files(hid_t file, Provenance& provenance) {
  if (H5Lexists(file, "/files", H5P_DEFAULT) <= 0) return;  // written before archives held files
  const Handle group = open_group(file, "/files");
  const auto names = strings_attribute(group, "names"), paths = strings_attribute(group, "paths"),
             checksums = strings_attribute(group, "checksums");
  const auto sizes = numbers_attribute(group, "sizes");
  const std::string folder = string_attribute(group, "folder");
  if (paths.size() != names.size() || checksums.size() != names.size() || sizes.size() != names.size())
    refuse("names, paths, checksums and sizes differ in number");
  if (names.size() > max_held_files) refuse(std::to_string(names.size()) + " files");
  if (!folder.empty() && !is_held_path(folder)) refuse("the folder " + printable(folder.substr(0, 80)) + " leaves it");
  std::vector<EmbeddedFile> files;
  std::set<std::string> taken;
  std::size_t total = 0;
  for (std::size_t i = 0; i < names.size(); ++i) {
    EmbeddedFile held{names[i], paths[i], checksums[i]};
    const std::string shown = printable(held.path.substr(0, 80));
    if (!(sizes[i] >= 0 && sizes[i] < 1e15)) refuse("the size of file " + std::to_string(i));
    held.size = static_cast<std::size_t>(sizes[i]);
    held.is_held = H5Lexists(file, dataset_name(i).c_str(), H5P_DEFAULT) > 0;
    if (held.is_held) {
      if (!is_held_path(held.path)) refuse("the path '" + shown + "' leaves its folder");
      // Refuses a path that another file has, or that is the folder of another file.
      for (std::filesystem::path above = held.path; !above.empty(); above = above.parent_path()) {
        const bool is_file = above == std::filesystem::path(held.path);
        if (taken.contains(above.string() + (is_file ? "/" : "")) || (taken.contains(above.string()) && is_file))
          refuse("the path '" + shown + "' is given twice");
      }
      for (std::filesystem::path above = std::filesystem::path(held.path).parent_path(); !above.empty();
           above = above.parent_path())
        taken.insert(above.string() + "/");
      taken.insert(held.path);
      if (held.size > max_held_bytes || (total += held.size) > max_held_bytes)
        refuse("more than " + std::to_string(max_held_bytes >> 20) + " MiB");
      held.content = read_bytes(file, dataset_name(i), held.size);
      if (checksum(held.content) != held.checksum)
        throw Error("damaged: " + dataset_name(i) + " (" + shown + ") does not fit its checksum");
    }
    files.push_back(std::move(held));
  }
  provenance.files = std::move(files);
  provenance.folder_of_files = folder;
  provenance.holds_files = true;
}

}  // namespace dodyn::archive
