// Invalid input and its message: one line with place, error, allowed values, and the nearest valid name.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace dodyn {

// Invalid input. what() is one line for the user: place, error, allowed values, nearest valid name. Exit code 2.
struct ConfigError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Returns a user's text for a message: control characters and invalid UTF-8 as \xNN; a long text as its first `longest`
// bytes and "...".
std::string shown(std::string_view text, std::size_t longest = 80);

// Returns the names of all items.
std::vector<std::string> names_of(const auto& items) {
  std::vector<std::string> names;
  for (const auto& item : items) names.push_back(item.name);
  return names;
}

// Returns "a, b, c"; a long list as its first `most` elements and its length. Each word is shown() with at most
// `longest` bytes.
std::string listed(const std::vector<std::string>& words, std::size_t most = 60, std::size_t longest = 80);

// Returns a suggestion for an unknown word. "; it is now called 'WORD'" if a candidate is the present name of `word`
// (renamed.hpp). Otherwise " (did you mean 'WORD'?)" with the nearest candidate, or with a candidate that begins or
// ends with `word` and a hyphen between; empty if there is neither. Distance: minimum number of insertions, deletions,
// substitutions and swaps of neighbours (Damerau 1964, optimal string alignment), also without the section of a key.
std::string did_you_mean(const std::string& word, const std::vector<std::string>& candidates);

}  // namespace dodyn
