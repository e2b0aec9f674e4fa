// A progress line: rewritten in place on a terminal; elsewhere a new line from time to time.
#pragma once

#include <chrono>
#include <cstdio>
#include <string>

namespace dodyn::apps {

class ProgressLine {
 public:
  explicit ProgressLine(std::FILE* out);
  ~ProgressLine() { end(); }
  // Returns whether show() would write: five times a second on a terminal, every ten seconds elsewhere.
  bool due() const { return std::chrono::steady_clock::now() >= due_; }
  void show(const std::string& text);
  // Writes the last dropped text and ends the line.
  void end();

 private:
  void write(std::string text);

  std::FILE* out_;
  bool terminal_;
  std::chrono::steady_clock::time_point due_;
  std::string dropped_;
  bool open_ = false;
};

}  // namespace dodyn::apps
