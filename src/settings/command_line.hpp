// Parses keys of a study on a command line, `--section.key value` and `--section.key=value`. Boost.Program_options
// reads them by a separate style (extra_style_parser), because only the evaluator knows its keys.
#pragma once

#include <boost/program_options/option.hpp>
#include <string>
#include <vector>

namespace dodyn {

struct Word {
  std::string key, value;
  bool has_value;
};

// Throws ConfigError if a word is neither a key nor its value. A key that is followed by another key has no value. A
// word with a single dash, such as -1.5, is a value.
std::vector<Word> parse_words(const std::vector<std::string>& words);

// A style parser of Boost.Program_options: removes a key and its value from the front of `words`. The returned option
// has no value if the key has none. Removes nothing if the first word is not a key.
std::vector<boost::program_options::option> take_key(std::vector<std::string>& words);

}  // namespace dodyn
