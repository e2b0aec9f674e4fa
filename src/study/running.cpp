#include "study/running.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <climits>
#include <cstring>
#include <memory>
#include <utility>

namespace dodyn::study {
namespace {

std::atomic<bool> marker_exists = false, marker_is_final = false;
char marker_path[PATH_MAX];  // path of the file, once there is one

class MarkerFile {
 public:
  explicit MarkerFile(std::string file) : file_(std::move(file)) {}
  ~MarkerFile() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  MarkerFile(const MarkerFile&) = delete;
  MarkerFile& operator=(const MarkerFile&) = delete;

  // If the file cannot be written, the evaluation runs without a marker.
  void write(const InProgressMarker& running) {
    if (marker_is_final || file_.size() >= sizeof marker_path) return;
    if (descriptor_ < 0) {
      descriptor_ = ::open(file_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
      if (descriptor_ < 0) return;
      std::strcpy(marker_path, file_.c_str());
      marker_exists = true;
    }
    if (::pwrite(descriptor_, &running, sizeof running, 0) != sizeof running) remove_marker();
  }

 private:
  const std::string file_;
  int descriptor_ = -1;
};

}  // namespace

Work with_marker(Work work, std::string file) {
  return [work = std::move(work), marker = std::make_shared<MarkerFile>(std::move(file))](const Task& task) {
    struct MarkerGuard {
      MarkerFile& marker;
      ~MarkerGuard() { marker.write({}); }
    };
    marker->write({task.evaluation.id, task.part});
    const MarkerGuard guard{*marker};
    return work(task);
  };
}

void remove_marker() {
  marker_is_final = true;
  if (marker_exists.exchange(false)) ::unlink(marker_path);
}

std::optional<InProgressMarker> take_marker(const std::string& file) {
  const int descriptor = ::open(file.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return std::nullopt;
  InProgressMarker running;
  const auto length = ::pread(descriptor, &running, sizeof running, 0);
  const bool known = length == sizeof running && running.id >= 0;
  ::close(descriptor);
  ::unlink(file.c_str());
  return known ? std::optional(running) : std::nullopt;
}

}  // namespace dodyn::study
