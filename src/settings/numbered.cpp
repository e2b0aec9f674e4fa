#include "settings/numbered.hpp"

#include <cctype>

namespace dodyn {

std::string numbered(std::string_view text, int number) {
  const auto in_name = [&](std::size_t at) {
    return at < text.size() && (std::isalnum(static_cast<unsigned char>(text[at])) || text[at] == '_');
  };
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool ends = !in_name(i + 1) || text[i + 1] == '_';
    const bool begins = i == 0 || !in_name(i - 1) || text[i - 1] == '_';
    const bool alone = (i == 0 || !in_name(i - 1)) && !in_name(i + 1);
    const bool part = i > 0 && text[i - 1] == '_' && begins && ends;
    if (text[i] == 'i' && (alone || part))
      out += std::to_string(number);
    else
      out += text[i];
  }
  return out;
}

}  // namespace dodyn
