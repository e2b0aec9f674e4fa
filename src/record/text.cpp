#include "record/text.hpp"

#include <charconv>
#include <cmath>
#include <cstdarg>
#include <cstdio>

namespace dodyn {

std::string formatted(const char* pattern, ...) {
  va_list arguments, again;
  va_start(arguments, pattern);
  va_copy(again, arguments);
  std::string text(static_cast<std::size_t>(std::vsnprintf(nullptr, 0, pattern, arguments)), '\0');
  std::vsnprintf(text.data(), text.size() + 1, pattern, again);
  va_end(again);
  va_end(arguments);
  return text;
}

std::string duration(double seconds) {
  if (!(seconds >= 0)) return "?";
  if (seconds < 10) return formatted("%.1f s", seconds);
  const auto whole = static_cast<long>(std::lround(seconds));
  if (whole < 60) return formatted("%ld s", whole);
  if (whole < 3600) return formatted("%ld min %02ld s", whole / 60, whole % 60);
  return formatted("%ld h %02ld min", whole / 3600, whole % 3600 / 60);
}

std::string to_text(double value) {
  char buffer[32];
  return {buffer, std::to_chars(buffer, buffer + sizeof buffer, value).ptr};
}

}  // namespace dodyn
