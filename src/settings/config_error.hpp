// Bad input, and how it is shown: one line that says where, what, what is allowed, and the nearest valid name.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace dodyn {

// Bad input. One line fit to show to a user: where, what, what is allowed, nearest valid name. Exit code 2.
struct ConfigError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// What a user wrote, as a message may repeat it: control bytes and what is not UTF-8 as \xNN, of a long text the
// first `longest` bytes and "...".
std::string shown(std::string_view text, std::size_t longest = 80);

// "a, b, c", each as shown(); of a long list the first `most` and how many there are.
std::string listed(const std::vector<std::string>& words, std::size_t most = 60, std::size_t longest = 80);

// "; it is now called 'WORD'" where a candidate is the name that `word` has today (renamed.hpp), else
// " (did you mean 'WORD'?)" with the candidate nearest to `word`, or empty where none is near. Distance: least number
// of insertions, deletions, substitutions and swaps of neighbours (Damerau 1964, in its optimal-string-alignment form).
std::string did_you_mean(const std::string& word, const std::vector<std::string>& candidates);

}  // namespace dodyn
