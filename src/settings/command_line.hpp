// `--section.key value` and `--section.key=value`: keys of a study on a command line. Boost.Program_options reads them by a
// style of its own (extra_style_parser), since only the evaluator knows which keys there are.
#pragma once

#include <boost/program_options/option.hpp>
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

// A style parser of Boost.Program_options: takes a key and its value off the front of `words`. Its option holds no value
// where the key has none. Takes nothing where the first word is no key.
std::vector<boost::program_options::option> take_key(std::vector<std::string>& words);

}  // namespace dodyn
