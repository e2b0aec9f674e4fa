// `--section.key value` and `--section.key=value`.
#pragma once

#include <string>
#include <vector>

namespace dodyn {

struct Word {
  std::string key, value;
  bool has_value;
};

// Throws ConfigError on a word that is neither a key nor the value of one. A key that another key follows has no value;
// one that begins with a single dash is a value, such as -1.5.
std::vector<Word> parse_words(const std::vector<std::string>& words);

}  // namespace dodyn
