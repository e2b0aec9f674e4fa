#include "settings/command_line.hpp"

#include <boost/program_options/parsers.hpp>

#include "settings/config_error.hpp"

namespace dodyn {

namespace po = boost::program_options;

std::vector<po::option> take_key(std::vector<std::string>& words) {
  const std::string& first = words.front();
  if (!first.starts_with("--") || first.size() == 2) return {};
  const auto equals = first.find('=');
  const bool next = equals == std::string::npos && words.size() > 1 && !words[1].starts_with("--");
  po::option option;
  option.string_key = first.substr(2, equals == std::string::npos ? equals : equals - 2);
  if (equals != std::string::npos) option.value.push_back(first.substr(equals + 1));
  if (next) option.value.push_back(words[1]);
  option.original_tokens.assign(words.begin(), words.begin() + 1 + next);
  words.erase(words.begin(), words.begin() + 1 + next);
  return {option};
}

std::vector<Word> parse_words(const std::vector<std::string>& words) {
  const po::options_description none;  // the set of keys depends on the values of some
  const po::parsed_options all =
      po::command_line_parser(words)
          .options(none)
          .style(po::command_line_style::allow_long | po::command_line_style::long_allow_next)
          .extra_style_parser(take_key)
          .allow_unregistered()
          .run();
  std::vector<Word> parsed;
  for (const po::option& option : all.options) {
    if (option.string_key.empty())
      throw ConfigError("command line: '" + shown(option.original_tokens.front()) +
                        "' is not understood; allowed: --section.key value");
    parsed.push_back({option.string_key, option.value.empty() ? "" : option.value.front(), !option.value.empty()});
  }
  return parsed;
}

}  // namespace dodyn
