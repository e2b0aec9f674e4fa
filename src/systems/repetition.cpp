#include "systems/repetition.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <functional>

#include "record/text.hpp"
#include "settings/numbered.hpp"
#include "systems/model_reader.hpp"

namespace dodyn::systems {
namespace {

constexpr std::size_t most_copies = 20000;

// Whether a name occurs in the text as a whole word.
bool mentions(std::string_view text, std::string_view name) {
  const auto in_name = [&](std::size_t at) {
    return at < text.size() && (std::isalnum(static_cast<unsigned char>(text[at])) || text[at] == '_');
  };
  for (std::size_t at = 0; (at = text.find(name, at)) != std::string_view::npos; ++at)
    if ((at == 0 || !in_name(at - 1)) && !in_name(at + name.size())) return true;
  return false;
}

}  // namespace

// Expands [link box_i] with `count = 5` to five links, box_1 to box_5. Every section that mentions box_i is repeated
// for each of them; in its values i is the number.
void ModelReader::repeat(const std::map<std::string, double>& given) {
  struct Family {
    std::string name;
    int count;
  };
  std::vector<Family> families;
  // returns the value of a parameter on which a count depends; it must be the given one
  const std::function<double(const Definition&)> settled = [&](const Definition& d) {
    std::vector<double> arguments;
    for (const int used : d.uses) {
      Parameter& p = model_.parameters[static_cast<std::size_t>(used)];
      p.counts = true;
      if (const auto at = given.find(p.name); at != given.end())
        p.definition = {Expression::parse(to_text(at->second)), {}, to_text(at->second), p.definition.line};
      arguments.push_back(settled(p.definition));
    }
    return d.expression.evaluate<double>(arguments);
  };
  for (const Section& section : text_.sections) {
    const Entry* entry = section.kind == "link" ? section.find("count") : nullptr;
    if (!entry) continue;
    if (section.name.size() < 3 || !section.name.ends_with("_i"))
      fail(section.line, section.title() + " has a count; allowed: a name that ends in _i, as [link box_i]");
    const Definition count = definition(entry->value, entry->line);
    const double number = settled(count);
    if (!(number >= 1.0 && number <= 5000.0) || number != std::floor(number))
      fail(entry->line,
           "count = " + shown(entry->value) + " is " + to_text(number) + "; allowed: a whole number from 1 to 5000");
    families.push_back({section.name, static_cast<int>(number)});
    if (!count.uses.empty())
      model_.requirements.push_back(
          {"count of " + section.name, definition(entry->value + " == " + to_text(number), entry->line, true)});
  }
  if (families.empty()) return;
  if (parameters_.contains("i"))
    fail(0,
         "a parameter is called i, which is the number of a link that is there several times; allowed: another name");
  std::vector<Section> all;
  for (const Section& section : text_.sections) {
    const Family* of = nullptr;
    for (const Family& family : families) {
      const bool here = section.name == family.name ||
                        std::any_of(section.entries.begin(), section.entries.end(), [&](const Entry& entry) {
                          return mentions(entry.value, family.name) || mentions(entry.key, family.name);
                        });
      if (!here) continue;
      if (of && of->count != family.count)
        fail(section.line, section.title() + " speaks of " + of->name + " and " + family.name +
                               ", which are there different times; allowed: links of one count");
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
        if (section.kind == "link") counted_.insert(name);
      }
      for (const Entry& entry : section.entries) {
        if (entry.key == "count" && section.kind == "link") continue;
        const Entry copy{one ? numbered(entry.key, k) : entry.key, numbered(entry.value, k), entry.comment, entry.line};
        if (!one || k == 1 || copy.key != entry.key) all.back().entries.push_back(copy);
      }
    }
    if (all.size() > most_copies)
      fail(section.line, "more than " + std::to_string(most_copies) + " sections with all copies");
  }
  text_.sections = std::move(all);
}

}  // namespace dodyn::systems
