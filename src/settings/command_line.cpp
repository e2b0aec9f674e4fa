#include "settings/command_line.hpp"

#include "settings/config_error.hpp"

namespace dodyn {

std::vector<Word> parse_words(const std::vector<std::string>& words) {
  std::vector<Word> parsed;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (!words[i].starts_with("--") || words[i].size() == 2)
      throw ConfigError("command line: '" + shown(words[i]) + "' is not understood; allowed: --section.key value");
    const std::string word = words[i].substr(2);
    if (const auto equals = word.find('='); equals != std::string::npos)
      parsed.push_back({word.substr(0, equals), word.substr(equals + 1), true});
    else if (i + 1 < words.size() && !words[i + 1].starts_with("--"))
      parsed.push_back({word, words[++i], true});
    else
      parsed.push_back({word, "", false});
  }
  return parsed;
}

}  // namespace dodyn
