#include "settings/config_error.hpp"

#include <algorithm>
#include <cstdio>

#include "settings/renamed.hpp"

namespace dodyn {
namespace {

// Returns the length of the UTF-8 character at the beginning of `text`; 0 if there is none. Overlong forms, surrogates
// and the control characters U+0000 to U+001F and U+007F to U+009F do not count.
std::size_t readable_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
  const auto follows = [&](std::size_t i) { return (byte(i) & 0xC0u) == 0x80u; };
  const unsigned first = byte(0);
  if (first < 0x80) return first >= 0x20 && first != 0x7F ? 1 : 0;
  if (first >= 0xC2 && first < 0xE0) return follows(1) && !(first == 0xC2 && byte(1) < 0xA0) ? 2 : 0;
  if (first >= 0xE0 && first < 0xF0)
    return follows(1) && follows(2) && !(first == 0xE0 && byte(1) < 0xA0) && !(first == 0xED && byte(1) >= 0xA0) ? 3
                                                                                                                 : 0;
  if (first >= 0xF0 && first < 0xF5)
    return follows(1) && follows(2) && follows(3) && !(first == 0xF0 && byte(1) < 0x90) &&
                   !(first == 0xF4 && byte(1) >= 0x90)
               ? 4
               : 0;
  return 0;
}

std::size_t distance(const std::string& a, const std::string& b) {
  std::vector<std::vector<std::size_t>> d(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) d[i][0] = i;
  for (std::size_t j = 0; j <= b.size(); ++j) d[0][j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i)
    for (std::size_t j = 1; j <= b.size(); ++j) {
      d[i][j] = std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
    }
  return d[a.size()][b.size()];
}

}  // namespace

std::string shown(std::string_view text, std::size_t longest) {
  std::string result;
  for (std::size_t at = 0; at < text.size();) {
    if (at >= longest) return result + "...";
    if (const std::size_t length = readable_length(text.substr(at))) {
      result += text.substr(at, length);
      at += length;
    } else {
      char hex[5];
      std::snprintf(hex, sizeof hex, "\\x%02x", static_cast<unsigned>(static_cast<unsigned char>(text[at++])));
      result += hex;
    }
  }
  return result;
}

std::string listed(const std::vector<std::string>& words, std::size_t most, std::size_t longest) {
  std::string text;
  for (std::size_t i = 0; i < words.size() && i < most; ++i) text += (i ? ", " : "") + shown(words[i], longest);
  return words.size() > most ? text + ", ... (" + std::to_string(words.size()) + " in all)" : text;
}

std::string did_you_mean(const std::string& word, const std::vector<std::string>& candidates) {
  constexpr std::size_t longest = 200;  // names are shorter; longer words resemble none
  if (word.size() > longest) return "";
  if (const std::string now = renamed(word, candidates); !now.empty()) return "; it is now called '" + now + "'";
  const std::string* nearest = nullptr;
  std::size_t best = 0, best_of_all = 0;
  // The section is the same in all candidates of a section, so only the rest counts for how far a word may be away.
  const std::size_t own_size = word.size() - (word.find('.') == std::string::npos ? 0 : word.find('.') + 1);
  for (const auto& candidate : candidates) {
    if (candidate.size() > longest) continue;
    // Compares without the section too: a key may lack its section ("step-length") or have a wrong one.
    const std::size_t of_all = distance(word, candidate);
    std::size_t d = of_all;
    if (const auto dot = candidate.find('.'); dot != std::string::npos) {
      const bool bare = word.find('.') == std::string::npos;
      const std::string rest = bare ? word : word.substr(word.find('.') + 1);
      if (const auto of_rest = distance(rest, candidate.substr(dot + 1)); bare || of_rest <= rest.size() / 3)
        d = std::min(d, of_rest + 1);
    }
    if (!nearest || d < best || (d == best && of_all < best_of_all))
      nearest = &candidate, best = d, best_of_all = of_all;
  }
  constexpr std::size_t shortest_part = 3;  // minimum length of a part of a name; shorter words occur in too many names
  if (!nearest || best > std::max<std::size_t>(2, own_size / 2)) {
    nearest = nullptr;
    if (word.size() >= shortest_part)
      for (const auto& candidate : candidates)  // a part of a name, such as "cone" of "friction-cone"
        if (!nearest && (candidate.ends_with("-" + word) || candidate.starts_with(word + "-"))) nearest = &candidate;
    if (!nearest) return "";
  }
  return " (did you mean '" + shown(*nearest) + "'?)";
}

}  // namespace dodyn
