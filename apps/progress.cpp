#include "progress.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

namespace dodyn::apps {

ProgressLine::ProgressLine(std::FILE* out)
    : out_(out), terminal_(isatty(fileno(out))), due_(std::chrono::steady_clock::now()) {}

void ProgressLine::show(const std::string& text) {
  const auto now = std::chrono::steady_clock::now();
  if (now < due_) {
    dropped_ = text;
    return;
  }
  due_ = now + (terminal_ ? std::chrono::milliseconds(200) : std::chrono::milliseconds(10000));
  write(text);
}

void ProgressLine::end() {
  if (!dropped_.empty()) write(dropped_);
  if (open_) std::fputc('\n', out_);
  open_ = false;
}

void ProgressLine::write(std::string text) {
  dropped_.clear();
  if (terminal_) {
    winsize size = {};
    const bool known = ioctl(fileno(out_), TIOCGWINSZ, &size) == 0 && size.ws_col > 1;
    // A line that wraps cannot be rewritten in place. ESC [K clears the rest of a longer line.
    std::fprintf(out_, "\r%s\033[K", (known ? text.substr(0, size.ws_col - 1u) : text).c_str());
    open_ = true;
  } else {
    std::fprintf(out_, "%s\n", text.c_str());
  }
  std::fflush(out_);
}

}  // namespace dodyn::apps
