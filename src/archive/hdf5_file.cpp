#include "archive/hdf5_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <tuple>

#include "archive/archive.hpp"
#include "archive/holder.hpp"
#include "archive/writer_lock.hpp"

namespace dodyn::archive {
namespace {

bool every_close_went_well = true;
constexpr double patience_with_others = 10;  // s

// HDF5 prints no error stack, because messages are passed by Error. This program closes HDF5 at exit, and only if every
// object could be closed before. Otherwise, for example on a full disk, HDF5 1.10 crashes.
const bool started = [] {
  H5dont_atexit();
  H5open();
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
  H5PLset_loading_state(0);  // a file could name a filter plugin: no code is loaded for it
  std::atexit([] {
    if (every_close_went_well) H5close();
  });
  return true;
}();

// Every HDF5 version writes the format of HDF5 1.10, which SWMR requires and the tools of 1.10 can read. HDF5's own
// file locks are off: a reader must never stop the writer, and WriterLock excludes a second writer.
Handle access(unsigned attempts = 1) {
  Handle list = own(H5Pcreate(H5P_FILE_ACCESS), "HDF5");
  check(H5Pset_libver_bounds(list, H5F_LIBVER_V110, H5F_LIBVER_V110), "HDF5");
  check(H5Pset_file_locking(list, false, true), "HDF5");
  check(H5Pset_metadata_read_attempts(list, attempts), "HDF5");
  // A kill may end a write between two memory pages. Data across the page border is then inconsistent. In about one of
  // 2000 kills the checksum of a header did not match the header, and the file could not be read. So objects of at most
  // one page do not cross page borders.
  check(H5Pset_alignment(list, 1, 4096), "HDF5");
  check(H5Pset_meta_block_size(list, 0), "HDF5");
  check(H5Pset_small_data_block_size(list, 0), "HDF5");
  return list;
}

std::size_t count(hid_t attribute) {
  const Handle space = own(H5Aget_space(attribute), "attribute");
  return static_cast<std::size_t>(H5Sget_simple_extent_npoints(space));
}

void write_attribute(hid_t object, const char* name, hid_t type, hid_t space, const void* data) {
  const Handle attribute = own(H5Acreate2(object, name, type, space, H5P_DEFAULT, H5P_DEFAULT), name);
  if (count(attribute) > 0) check(H5Awrite(attribute, type, data), name);
}

Handle list_space(std::size_t size) {
  const hsize_t n = size;
  return own(H5Screate_simple(1, &n, nullptr), "HDF5");
}

}  // namespace

bool Handle::close() {
  const bool done = H5Idec_ref(std::exchange(id_, H5I_INVALID_HID)) >= 0;
  every_close_went_well = every_close_went_well && done;
  return done;
}

void fail(const std::string& what) {
  std::string cause;
  H5Ewalk2(
      H5E_DEFAULT, H5E_WALK_UPWARD,
      [](unsigned, const H5E_error2_t* error, void* out) -> herr_t {
        if (error->desc != nullptr) *static_cast<std::string*>(out) = error->desc;
        return 1;  // the innermost message is the most specific
      },
      &cause);
  // The message of a failed system call is a paragraph; its relevant part is in quotes.
  const std::string before = "error message = '";
  if (const auto at = cause.find(before); at != std::string::npos) {
    cause.erase(0, at + before.size());
    cause.erase(std::min(cause.find('\''), cause.size()));
  }
  std::replace(cause.begin(), cause.end(), '\n', ' ');
  throw Error(cause.empty() ? what : what + ": " + cause);
}

namespace {

// HDF5 file format specification 3.0, II.A, superblock version 3: signature (8 bytes), version, size of offsets, size
// of lengths, file consistency flags, base address, extension address, end-of-file address (8 bytes each, little
// endian).
struct Superblock {
  unsigned char flags;  // state of the file: 1 open for writing, 4 in SWMR mode
  std::uint64_t end;
  std::uint64_t size;  // present size of the file
};

Superblock read_superblock(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);  // a FIFO would wait for a writer
  if (descriptor < 0) throw Error(std::strerror(errno));
  unsigned char block[48] = {};
  const auto length = ::pread(descriptor, block, sizeof(block), 0);
  const int error = errno;
  struct stat status;
  const bool known = ::fstat(descriptor, &status) == 0;
  ::close(descriptor);
  if (known && !S_ISREG(status.st_mode)) throw Error(S_ISDIR(status.st_mode) ? "a directory" : "not a regular file");
  if (length < 0 || !known) throw Error(std::strerror(error));
  if (length == 0) throw Error("an empty file; remove it, or restore a copy");
  if (length < 8 || std::memcmp(block, "\211HDF\r\n\032\n", 8) != 0) throw Error("not an HDF5 file");
  if (length == sizeof(block) && block[8] != 3) throw Error("an HDF5 file, but not a dodyn archive");
  std::uint64_t end = 0;
  for (int i = 7; i >= 0; --i) end = end << 8 | block[28 + i];
  if (length < static_cast<long>(sizeof(block))) end = sizeof(block);
  return {length == sizeof(block) ? block[11] : static_cast<unsigned char>(0), end,
          static_cast<std::uint64_t>(status.st_size)};
}

// Checks a global heap, which holds texts of variable length. Heaps have no checksums, and HDF5 1.10 does not check
// their sizes: a damaged one makes it read anywhere, or forever. Format (HDF5 file format specification 3.0, III.E): a
// header of 16 bytes with the heap's size, then objects: index (2 bytes), reference count (2), reserved (4), size (8),
// and that many bytes, padded to 8. Index 0 is the free space at the end, including its own header.
bool is_sound_heap(const unsigned char* heap, std::uint64_t size) {
  const auto number = [&](std::uint64_t at, int bytes) {
    std::uint64_t value = 0;
    while (bytes > 0) value = value << 8 | heap[at + static_cast<std::uint64_t>(--bytes)];
    return value;
  };
  for (std::uint64_t at = 16; size - at >= 16;) {
    const std::uint64_t length = number(at + 8, 8), left = size - at;
    if (number(at, 2) == 0) return length == left;
    if (length > left - 16) return false;
    at += 16 + (length + 7) / 8 * 8;
    if (at > size) return false;
  }
  return true;
}

// Number of bytes at the beginning of a file that are searched for heaps. They contain all heaps, which are written
// when the file is created, before its first row.
constexpr std::size_t heaps_end = 64 << 20;

// Throws Error if a global heap of the file is damaged. Reads the file piece by piece: reading all of it into memory
// took 10 % of the time of a resume.
void check_heaps(const std::string& path) {
  constexpr std::string_view beginning("GCOL\1\0\0\0", 8);
  constexpr std::size_t piece_bytes = 1 << 20, header = 16;
  struct File {
    int descriptor;
    ~File() { ::close(descriptor); }
  } const file{::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
  if (file.descriptor < 0) throw Error(std::strerror(errno));
  const auto read = [&](std::string& into, std::size_t bytes, std::size_t from) {
    into.resize(bytes);
    const auto length = ::pread(file.descriptor, into.data(), bytes, static_cast<off_t>(from));
    if (length < 0) throw Error(std::strerror(errno));
    into.resize(length);
    return into.size();
  };
  const std::size_t end = std::min(file_size(path), heaps_end);
  std::string piece, heap;
  for (std::size_t from = 0; from + beginning.size() <= end; from += piece_bytes - beginning.size() + 1) {
    read(piece, std::min(piece_bytes, end - from), from);
    for (std::size_t at = 0; (at = piece.find(beginning, at)) != std::string::npos; at += beginning.size()) {
      std::uint64_t size = 0;
      if (read(heap, header, from + at) == header)
        for (std::size_t i = header; i-- > beginning.size();) size = size << 8 | static_cast<unsigned char>(heap[i]);
      if (size < header || size > end - from - at || read(heap, size, from + at) < size ||
          !is_sound_heap(reinterpret_cast<const unsigned char*>(heap.data()), size))
        throw Error("damaged: the texts in it cannot be read");
    }
  }
}

}  // namespace

FileState probe(const std::string& path) {
  const Superblock block = read_superblock(path);
  if ((block.flags & 5) == 1) return FileState::foreign;
  if (block.flags != 0) return FileState::marked;
  if (block.size < block.end)
    throw Error("truncated: the file is shorter than it was when it was closed; dodyn repair " + path +
                " recovers the sound rows");
  return FileState::closed;
}

std::size_t stored_size(const std::string& path) { return read_superblock(path).end; }

Handle create_file(const std::string& path) {
  const Handle creation = own(H5Pcreate(H5P_FILE_CREATE), "HDF5");
  check(H5Pset_attr_phase_change(creation, 64, 0), "HDF5");  // the root's attributes stay in its header
  // Free space between page-aligned objects is not tracked: the search for it took half of the time of an append.
  check(H5Pset_file_space_strategy(creation, H5F_FSPACE_STRATEGY_AGGR, false, 1), "HDF5");
  return own(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, creation, access()), "cannot create");
}

Handle open_to_read(const std::string& path, bool alone, const std::function<void()>& look) {
  // If the file is being written, a reader that meets incomplete metadata tries again after 1, 2, 4, ... ns. 24
  // attempts take about 20 ms; the default of 100 would wait forever at a damaged file.
  const bool written = !alone && ::access(lock_file(path).c_str(), F_OK) == 0;
  // HDF5 reads the file's length first and its superblock next. If an append comes in between, the file seems to be
  // truncated. So a failure counts only if the file has not changed meanwhile.
  const auto stamp = [&] {
    struct stat status = {};
    ::stat(path.c_str(), &status);
    return std::tuple(status.st_ino, status.st_size, status.st_mtim.tv_sec, status.st_mtim.tv_nsec);
  };
  probe(path);  // before HDF5 reads it: it may not be an HDF5 file
  check_heaps(path);
  for (int attempt = 0;; ++attempt) {
    const auto before = stamp();
    if (probe(path) == FileState::foreign && wait_for_others(path, patience_with_others, look)) {
      const Handle list = access();
      const hbool_t yes = true;  // the property that h5clear uses to open such a file; nothing is written
      check(H5Pset(list, "clear_status_flags", &yes), "HDF5");
      return own(H5Fopen(path.c_str(), H5F_ACC_RDONLY, list), "cannot open");
    }
    const hid_t file = H5Fopen(path.c_str(), H5F_ACC_RDONLY | H5F_ACC_SWMR_READ, access(written ? 24 : 1));
    if (file >= 0 || attempt == 20 || stamp() == before) return own(file, "cannot open");
  }
}

Handle open_to_append(const std::string& path) {
  return own(H5Fopen(path.c_str(), H5F_ACC_RDWR | H5F_ACC_SWMR_WRITE, access()), "cannot open to append");
}

std::size_t file_size(const std::string& path) {
  struct stat status;
  if (::stat(path.c_str(), &status) != 0) throw Error(std::strerror(errno));
  return static_cast<std::size_t>(status.st_size);
}

void reserve(const std::string& path, std::size_t bytes, bool create) {
  const int descriptor = ::open(path.c_str(), O_RDWR | (create ? O_CREAT : 0) | O_CLOEXEC, 0666);
  if (descriptor < 0) throw Error(std::string("cannot write: ") + std::strerror(errno));
  struct stat status;
  int error = ::fstat(descriptor, &status) == 0 ? 0 : errno;
  if (error == 0) error = ::posix_fallocate(descriptor, status.st_size, static_cast<off_t>(bytes));
  // Releases the space that was reserved before the disk was full.
  if (error != 0 && ::ftruncate(descriptor, status.st_size) != 0) error = errno;
  ::close(descriptor);
  if (error != 0)
    throw Error("no room for " + std::to_string((bytes + 1023) / 1024) + " KiB more: " + std::strerror(error));
}

Handle string_type(std::size_t bytes) {
  Handle type = own(H5Tcopy(H5T_C_S1), "HDF5");
  check(H5Tset_size(type, bytes), "HDF5");
  check(H5Tset_cset(type, H5T_CSET_UTF8), "HDF5");
  if (bytes != H5T_VARIABLE) check(H5Tset_strpad(type, H5T_STR_NULLPAD), "HDF5");
  return type;
}

void set_attribute(hid_t object, const char* name, const std::string& value) {
  const char* data = value.c_str();
  write_attribute(object, name, string_type(H5T_VARIABLE), own(H5Screate(H5S_SCALAR), "HDF5"), &data);
}

void set_attribute(hid_t object, const char* name, const std::vector<std::string>& values) {
  std::vector<const char*> data;
  for (const auto& value : values) data.push_back(value.c_str());
  write_attribute(object, name, string_type(H5T_VARIABLE), list_space(values.size()), data.data());
}

void set_attribute(hid_t object, const char* name, const std::vector<double>& values) {
  write_attribute(object, name, H5T_NATIVE_DOUBLE, list_space(values.size()), values.data());
}

void set_attribute(hid_t object, const char* name, int value) {
  write_attribute(object, name, H5T_NATIVE_INT, own(H5Screate(H5S_SCALAR), "HDF5"), &value);
}

namespace {

// Throws unless every link of `path` is a hard link.
void check_links(hid_t file, const std::string& path) {
  for (std::size_t end = 0; end != path.size();) {
    end = std::min(path.find('/', end + 1), path.size());
    const std::string part = path.substr(0, end);
    H5L_info_t link;
    if (H5Lget_info(file, part.c_str(), &link, H5P_DEFAULT) < 0) throw Error("not a dodyn archive: no " + part);
    if (link.type != H5L_TYPE_HARD)
      throw Error(part + " is " + (link.type == H5L_TYPE_EXTERNAL ? "an external" : "a soft") +
                  " link; an archive is one file: copy it with what it links to (h5repack, h5copy)");
  }
}

}  // namespace

Handle open_group(hid_t file, const std::string& path) {
  check_links(file, path);
  return own(H5Gopen2(file, path.c_str(), H5P_DEFAULT), path);
}

Handle open_dataset(hid_t file, const std::string& path) {
  check_links(file, path);
  Handle dataset = own(H5Dopen2(file, path.c_str(), H5P_DEFAULT), path);
  const Handle list = own(H5Dget_create_plist(dataset), path);
  if (H5Pget_external_count(list) != 0 || H5Pget_layout(list) == H5D_VIRTUAL)
    throw Error(path + " is stored in another file; an archive is one file: copy it with what it holds (h5repack)");
  return dataset;
}

std::vector<hsize_t> extents(hid_t dataset) {
  const Handle space = own(H5Dget_space(dataset), "dataset");
  std::vector<hsize_t> dimensions(std::max(0, H5Sget_simple_extent_ndims(space)));
  check(H5Sget_simple_extent_dims(space, dimensions.data(), nullptr), "dataset");
  return dimensions;
}

std::vector<std::byte> read_attribute(hid_t object, const char* name, hid_t type, std::size_t most) {
  const std::string what = std::string("not a dodyn archive: attribute '") + name + "'";
  const Handle attribute = own(H5Aopen(object, name, H5P_DEFAULT), what);
  const Handle stored = own(H5Aget_type(attribute), what);
  const bool text = H5Tget_class(type) == H5T_STRING;
  if (H5Tget_class(stored) != H5Tget_class(type) || (text && H5Tis_variable_str(stored) != H5Tis_variable_str(type)) ||
      (text && H5Tget_size(stored) != H5Tget_size(type)))
    throw Error(what + " has another type");
  const std::size_t elements = count(attribute);
  if (elements > most) throw Error(what + " has " + std::to_string(elements) + " elements");
  std::vector<std::byte> bytes(elements * H5Tget_size(type));
  if (!bytes.empty()) check(H5Aread(attribute, type, bytes.data()), what);
  return bytes;
}

std::vector<std::string> strings_attribute(hid_t object, const char* name) {
  const Handle type = string_type(H5T_VARIABLE);
  auto bytes = read_attribute(object, name, type);
  std::vector<std::string> values;
  for (std::size_t at = 0; at < bytes.size(); at += sizeof(char*)) {
    const char* text = nullptr;
    std::memcpy(&text, bytes.data() + at, sizeof text);
    values.emplace_back(text != nullptr ? text : "");
  }
  if (!values.empty()) H5Dvlen_reclaim(type, list_space(values.size()), H5P_DEFAULT, bytes.data());
  return values;
}

std::string string_attribute(hid_t object, const char* name) {
  auto values = strings_attribute(object, name);
  if (values.size() != 1) throw Error(std::string("not a dodyn archive: attribute '") + name + "' is not one text");
  return values.front();
}

std::vector<double> numbers_attribute(hid_t object, const char* name) {
  const auto bytes = read_attribute(object, name, H5T_NATIVE_DOUBLE);
  std::vector<double> values(bytes.size() / sizeof(double));
  if (!values.empty()) std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

int integer_attribute(hid_t object, const char* name) {
  const auto bytes = read_attribute(object, name, H5T_NATIVE_INT, 1);
  int value = 0;
  if (bytes.size() != sizeof value)
    throw Error(std::string("not a dodyn archive: attribute '") + name + "' is not one number");
  std::memcpy(&value, bytes.data(), bytes.size());
  return value;
}

}  // namespace dodyn::archive
