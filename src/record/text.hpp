// Formats numbers and texts for readers.
#pragma once

#include <string>
#include <string_view>

namespace dodyn {

// Returns the text that printf would print.
__attribute__((format(printf, 1, 2))) std::string formatted(const char* pattern, ...);

// Returns a duration as text: "4.3 s", "43 s", "2 min 05 s", "3 h 12 min"; "?" if `seconds` is negative or NaN.
std::string duration(double seconds);

// Returns the text as one line of valid UTF-8 without control sequences. Invalid bytes become U+FFFD; control
// characters (line ends, tabs, escape) become a space.
std::string printable(std::string_view text);

// Returns the text without the characters of `these` at its ends.
std::string_view trimmed(std::string_view text, std::string_view these = " \t\r\v\f");

// Returns a 64-bit hash (FNV-1a of Fowler, Noll and Vo) as 16 hexadecimal digits.
std::string checksum(std::string_view text);

// Returns "1 rank", "2 ranks".
std::string counted(std::size_t count, const std::string& what);

// Returns the shortest text that reads back as the same number.
std::string to_text(double value);

}  // namespace dodyn
