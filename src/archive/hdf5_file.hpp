// Wrappers of HDF5: handles that close themselves, failures that throw, attributes, and functions to open files.
#pragma once

#include <hdf5.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace dodyn::archive {

// Owns one HDF5 identifier of any kind.
class Handle {
 public:
  Handle() = default;
  explicit Handle(hid_t id) : id_(id) {}
  Handle(Handle&& other) noexcept : id_(std::exchange(other.id_, H5I_INVALID_HID)) {}
  Handle& operator=(Handle&& other) noexcept {
    std::swap(id_, other.id_);
    return *this;
  }
  ~Handle() {
    if (id_ >= 0) close();
  }
  operator hid_t() const { return id_; }
  // Closes now and returns whether that succeeded: HDF5 writes its buffered data at this point.
  bool close();

 private:
  hid_t id_ = H5I_INVALID_HID;
};

// Throws Error "`what`: <HDF5's innermost message>".
[[noreturn]] void fail(const std::string& what);
inline Handle own(hid_t id, const std::string& what) {
  if (id < 0) fail(what);
  return Handle(id);
}
inline void check(herr_t result, const std::string& what) {
  if (result < 0) fail(what);
}

// State of a file on disk, from its superblock.
enum class FileState {
  closed,   // no process writes it
  marked,   // open for writing in a process, or left by a killed one
  foreign,  // open for writing in another program (holder.hpp), or left by one: HDF5 refuses to open it
};
// Throws Error if there is no readable HDF5 file, or if a cleanly closed file is shorter than its superblock states.
FileState probe(const std::string& path);
// Returns the file's size at its last close, from its superblock.
std::size_t stored_size(const std::string& path);

Handle create_file(const std::string& path);  // replaces an existing file; superblock 3, as SWMR requires
// Opens a file that is closed, that a process is writing, or that a killed process left. Throws Error if the file is
// truncated or damaged. If another program has it open for writing, waits up to 10 s, then throws Busy. `alone`: the
// caller has the writer's lock, so no dodyn process writes the file. `look` is called several times a second during the
// wait, and may throw to end it.
Handle open_to_read(const std::string& path, bool alone = false, const std::function<void()>& look = {});
Handle open_to_append(const std::string& path);  // as SWMR writer: a reader sees either the old or the new state

// Reserves `bytes` more in the file, so that HDF5, which handles failed writes badly, never meets a full disk. HDF5
// releases the unused part when it closes the file. `create`: creates a missing file. Throws Error.
void reserve(const std::string& path, std::size_t bytes, bool create = false);
std::size_t file_size(const std::string& path);

// Returns the type of texts in UTF-8. `bytes`: their length, padded by zeros; H5T_VARIABLE: any length.
Handle string_type(std::size_t bytes);

// Open a group or dataset that is stored in the file itself. Throw Error, with its name, for links that are not hard,
// and for external or virtual storage. Writing to such a dataset would change another file.
Handle open_group(hid_t file, const std::string& path);
Handle open_dataset(hid_t file, const std::string& path);
std::vector<hsize_t> extents(hid_t dataset);

// Returns the elements of an attribute as `type`. `most`: largest number of elements that is accepted. Throws Error if
// there is no such attribute, or if it has another kind of type or more elements.
constexpr std::size_t most_elements = 1 << 16;
std::vector<std::byte> read_attribute(hid_t object, const char* name, hid_t type, std::size_t most = most_elements);

// Write and read attributes. Readers throw Error if there is no attribute of that name and kind.
void set_attribute(hid_t object, const char* name, const std::string& value);
void set_attribute(hid_t object, const char* name, const std::vector<std::string>& values);
void set_attribute(hid_t object, const char* name, const std::vector<double>& values);
void set_attribute(hid_t object, const char* name, int value);
std::string string_attribute(hid_t object, const char* name);
std::vector<std::string> strings_attribute(hid_t object, const char* name);
std::vector<double> numbers_attribute(hid_t object, const char* name);
int integer_attribute(hid_t object, const char* name);

}  // namespace dodyn::archive
