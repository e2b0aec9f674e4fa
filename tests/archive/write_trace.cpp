// A library for LD_PRELOAD that records the changes of an archive by a process in the file WRITE_TRACE: every write
// with offset and bytes, every change of length, every fsync and rename, in order. power_cut.py simulates power cuts
// from it.
//
// A record: kind (1 byte: w = write, t = truncate, s = sync, r = rename), then 8 bytes each of inode, offset (or
// length), and number of the bytes that follow.
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>

namespace {

template <class Function>
Function* next(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

// Returns the inode if the descriptor belongs to an archive or to one under construction.
std::uint64_t archive_behind(int descriptor) {
  char link[64], path[4096];
  std::snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
  const ssize_t length = readlink(link, path, sizeof path - 1);
  if (length <= 0) return 0;
  path[length] = '\0';
  const std::string name = path;
  struct stat status;
  if ((!name.ends_with(".h5") && !name.ends_with(".h5.tmp")) || fstat(descriptor, &status) != 0) return 0;
  return status.st_ino;
}

void note(char kind, std::uint64_t inode, std::uint64_t offset, const void* bytes, std::uint64_t size) {
  static std::mutex mutex;
  static const int trace = [] {
    const char* path = std::getenv("WRITE_TRACE");
    return path == nullptr
               ? -1
               : next<int(const char*, int, ...)>("open")(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  }();
  if (trace < 0 || inode == 0) return;
  const std::uint64_t numbers[] = {inode, offset, size};
  const iovec parts[] = {
      {&kind, 1}, {const_cast<std::uint64_t*>(numbers), sizeof numbers}, {const_cast<void*>(bytes), size}};
  const std::lock_guard lock(mutex);
  if (writev(trace, parts, 3) != static_cast<ssize_t>(1 + sizeof numbers + size)) std::abort();
}

}  // namespace

extern "C" {

ssize_t pwrite64(int descriptor, const void* bytes, size_t size, off64_t offset) {
  const ssize_t done = next<ssize_t(int, const void*, size_t, off64_t)>("pwrite64")(descriptor, bytes, size, offset);
  if (done > 0)
    note('w', archive_behind(descriptor), static_cast<std::uint64_t>(offset), bytes, static_cast<std::uint64_t>(done));
  return done;
}
ssize_t pwrite(int descriptor, const void* bytes, size_t size, off_t offset) {
  return pwrite64(descriptor, bytes, size, offset);
}

int ftruncate64(int descriptor, off64_t length) noexcept {
  const int result = next<int(int, off64_t)>("ftruncate64")(descriptor, length);
  if (result == 0) note('t', archive_behind(descriptor), static_cast<std::uint64_t>(length), nullptr, 0);
  return result;
}
int ftruncate(int descriptor, off_t length) noexcept { return ftruncate64(descriptor, length); }

int posix_fallocate64(int descriptor, off64_t offset, off64_t length) {
  const int result = next<int(int, off64_t, off64_t)>("posix_fallocate64")(descriptor, offset, length);
  if (result == 0) note('t', archive_behind(descriptor), static_cast<std::uint64_t>(offset + length), nullptr, 0);
  return result;
}
int posix_fallocate(int descriptor, off_t offset, off_t length) {
  return posix_fallocate64(descriptor, offset, length);
}

int fsync(int descriptor) {
  const int result = next<int(int)>("fsync")(descriptor);
  if (result == 0) note('s', archive_behind(descriptor), 0, nullptr, 0);
  return result;
}

int rename(const char* from, const char* to) noexcept {
  struct stat status;
  const bool known = stat(from, &status) == 0;
  const int result = next<int(const char*, const char*)>("rename")(from, to);
  if (result == 0 && known && std::string(to).ends_with(".h5")) note('r', status.st_ino, 0, nullptr, 0);
  return result;
}

}  // extern "C"
