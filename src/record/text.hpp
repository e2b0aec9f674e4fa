// Numbers as people read them.
#pragma once

#include <string>
#include <string_view>

namespace dodyn {

// As printf would print it.
__attribute__((format(printf, 1, 2))) std::string formatted(const char* pattern, ...);

// "43 s", "2 min 05 s", "3 h 12 min".
std::string duration(double seconds);

// One line of valid UTF-8 that a terminal takes for nothing but text: bytes that are no UTF-8 become U+FFFD, control
// characters (line ends, tabs, escape) a space.
std::string printable(std::string_view text);

// Without blanks (or others of `these`) at its ends.
std::string_view trimmed(std::string_view text, std::string_view these = " \t\r\v\f");

// 16 hexadecimal digits that another text hardly has (Fowler, Noll, Vo: FNV-1a, 64 bits).
std::string checksum(std::string_view text);

// The shortest text that reads back as the same number.
std::string to_text(double value);

}  // namespace dodyn
