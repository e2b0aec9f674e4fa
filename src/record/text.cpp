#include "record/text.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdarg>
#include <cstdint>
#include <cstdio>

namespace dodyn {

std::string formatted(const char* pattern, ...) {
  va_list arguments, again;
  va_start(arguments, pattern);
  va_copy(again, arguments);
  std::string text(std::vsnprintf(nullptr, 0, pattern, arguments), '\0');
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

std::string printable(std::string_view text) {
  if (std::ranges::all_of(text, [](char c) { return c >= 0x20 && c < 0x7F; })) return std::string(text);
  std::string out;
  // Well-formed UTF-8 (Unicode 15, table 3-7): the first byte determines how many bytes follow and the range of the
  // second.
  for (std::size_t i = 0; i < text.size();) {
    const auto byte = [&](std::size_t k) { return i + k < text.size() ? static_cast<unsigned char>(text[i + k]) : 0; };
    const auto first = byte(0);
    std::size_t length = 0;
    if (first < 0x80) length = 1;
    if (first >= 0xC2 && first <= 0xDF) length = 2;
    if (first >= 0xE0 && first <= 0xEF) length = 3;
    if (first >= 0xF0 && first <= 0xF4) length = 4;
    const auto second = byte(1);
    if (length > 1 && (second < (first == 0xE0   ? 0xA0
                                 : first == 0xF0 ? 0x90
                                                 : 0x80) ||
                       second > (first == 0xED   ? 0x9F
                                 : first == 0xF4 ? 0x8F
                                                 : 0xBF)))
      length = 0;
    for (std::size_t k = 2; k < length; ++k)
      if ((byte(k) & 0xC0) != 0x80) length = 0;
    const bool control = first < 0x20 || first == 0x7F || (first == 0xC2 && length == 2 && second < 0xA0);
    if (length == 0)
      out += "\uFFFD";
    else if (control)
      out += ' ';
    else
      out += text.substr(i, length);
    i += std::max<std::size_t>(length, 1);
  }
  return out;
}

std::string_view trimmed(std::string_view text, std::string_view these) {
  const auto from = text.find_first_not_of(these);
  return from == text.npos ? "" : text.substr(from, text.find_last_not_of(these) + 1 - from);
}

std::string counted(std::size_t count, const std::string& what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

std::string to_text(double value) {
  char buffer[32];
  return {buffer, std::to_chars(buffer, buffer + sizeof buffer, value).ptr};
}

std::string checksum(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325ULL;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
  return formatted("%016llx", static_cast<unsigned long long>(hash));
}

}  // namespace dodyn
