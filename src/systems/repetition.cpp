#include "systems/repetition.hpp"

#include <algorithm>
#include <cctype>

#include "settings/numbered.hpp"

namespace dodyn::systems {
namespace {

constexpr std::size_t most_copies = 20000;

// Returns whether a name occurs in the text as a whole word.
bool mentions(std::string_view text, std::string_view name) {
  const auto in_name = [&](std::size_t at) {
    return at < text.size() && (std::isalnum(static_cast<unsigned char>(text[at])) || text[at] == '_');
  };
  for (std::size_t at = 0; (at = text.find(name, at)) != std::string_view::npos; ++at)
    if ((at == 0 || !in_name(at - 1)) && !in_name(at + name.size())) return true;
  return false;
}

}  // namespace

std::vector<ini::Section> repeated(const ini::Text& text, const std::vector<RepeatedLink>& families,
                                   std::set<std::string>& counted) {
  std::vector<ini::Section> all;
  for (const ini::Section& section : text.sections) {
    const RepeatedLink* of = nullptr;
    for (const RepeatedLink& family : families) {
      const bool here =
          section.name == family.name || std::ranges::any_of(section.entries, [&](const ini::Entry& entry) {
            return mentions(entry.value, family.name) || mentions(entry.key, family.name);
          });
      if (!here) continue;
      if (of && of->count != family.count)
        text.fail(section.line, section.title() + " uses " + of->name + " and " + family.name +
                                    ", which have different counts; give both the same count");
      of = &family;
    }
    if (!of) {
      all.push_back(section);
      continue;
    }
    const bool one = section.kind == "contact" || section.kind == "parameters";  // in these sections single entries are
                                                                                 // repeated, not the section
    if (one) all.push_back({section.kind, section.name, section.line, {}});
    for (int k = 1; k <= of->count; ++k) {
      if (!one) {
        std::string name = numbered(section.name, k);
        if (name == section.name) name += "_" + std::to_string(k);
        all.push_back({section.kind, name, section.line, {}});
        if (section.kind == "link") counted.insert(name);
      }
      for (const ini::Entry& entry : section.entries) {
        if (entry.key == "count" && section.kind == "link") continue;
        const ini::Entry copy{one ? numbered(entry.key, k) : entry.key, numbered(entry.value, k), entry.comment,
                              entry.line};
        if (!one || k == 1 || copy.key != entry.key) all.back().entries.push_back(copy);
      }
    }
    if (all.size() > most_copies)
      text.fail(section.line, "more than " + std::to_string(most_copies) + " sections with all copies");
  }
  return all;
}

}  // namespace dodyn::systems
