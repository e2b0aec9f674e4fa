#include "settings/choices.hpp"

#include <cctype>

#include "record/text.hpp"

namespace dodyn {

std::vector<std::string> choices_in(std::string_view text) {
  std::vector<std::string> words;
  if (text.find(',') == std::string_view::npos) return words;
  while (true) {
    const auto comma = text.find(',');
    words.emplace_back(trimmed(text.substr(0, comma)));
    if (comma == std::string_view::npos) return words;
    text.remove_prefix(comma + 1);
  }
}

bool are_numbers(const std::vector<std::string>& choices) {
  return !choices.empty() && !choices[0].empty() &&
         (std::isdigit(static_cast<unsigned char>(choices[0][0])) || choices[0].find_first_of("+-.") == 0);
}

}  // namespace dodyn
