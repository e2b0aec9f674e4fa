// HDF5 as this folder uses it: handles that close themselves, failures that throw, attributes, and the ways to open.
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
  // Closes now and says whether that went well: what HDF5 still held back is written at this point.
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

// State of a file on disk, from its superblock alone. Throws Error where there is no readable HDF5 file, or where a
// cleanly closed one is shorter than it says.
enum class Condition {
  closed,   // nobody writes it
  marked,   // open for writing in some process, or left behind by a killed one
  foreign,  // the same, but by another program (holder.hpp): HDF5 opens it for nobody
};
Condition probe(const std::string& path);
// The size that the file had when it was closed last, by its own account.
std::size_t stored_size(const std::string& path);

Handle create_file(const std::string& path);  // replaces what is there; superblock 3, which SWMR needs
// Any condition; where another program has the file open for writing, that is waited for some seconds (throws Busy).
// `alone`: the caller holds the lock, nobody writes. `look` is called several times a second of that wait, and may end it by an
// exception.
Handle open_to_read(const std::string& path, bool alone = false, const std::function<void()>& look = {});
Handle open_to_append(const std::string& path);  // as SWMR writer: a reader sees either the old or the new state

// Makes sure that `bytes` more fit into the file, so that HDF5, which survives a failed write badly, never sees a full
// disk. What is not needed is given back when HDF5 closes the file. A file that is not there is created where `create`
// says so. Throws Error.
void reserve(const std::string& path, std::size_t bytes, bool create = false);
std::size_t file_size(const std::string& path);

Handle string_type(std::size_t bytes);  // UTF-8, zero padded; H5T_VARIABLE for any length

// A group or dataset that lies in the file itself. Throw Error, naming it, of what is elsewhere: a link that is not a
// hard one, external or virtual storage. Writing through such a dataset would change another file.
Handle open_group(hid_t file, const std::string& path);
Handle open_dataset(hid_t file, const std::string& path);
std::vector<hsize_t> extents(hid_t dataset);

// The elements of an attribute as `type`, `most` at most. Throws Error where there is none of that name, or one of
// another kind of type or with more elements.
constexpr std::size_t most_elements = 1 << 16;
std::vector<std::byte> read_attribute(hid_t object, const char* name, hid_t type, std::size_t most = most_elements);

// Attributes. Readers throw Error where there is none of that name and kind.
void set_attribute(hid_t object, const char* name, const std::string& value);
void set_attribute(hid_t object, const char* name, const std::vector<std::string>& values);
void set_attribute(hid_t object, const char* name, const std::vector<double>& values);
void set_attribute(hid_t object, const char* name, int value);
std::string string_attribute(hid_t object, const char* name);
std::vector<std::string> strings_attribute(hid_t object, const char* name);
std::vector<double> numbers_attribute(hid_t object, const char* name);
int integer_attribute(hid_t object, const char* name);

}  // namespace dodyn::archive
