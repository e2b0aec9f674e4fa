// Reads the sections of a hybrid model: contacts and stops, constraints, exchanges, the initial state.
#include <algorithm>

#include "systems/model_reader.hpp"

namespace dodyn::systems {

// Reads yes, no, or an expression that counts as yes if it is not zero.
Number ModelReader::yes_or_no(const Section& section, const char* key) {
  const Entry* entry = section.find(key);
  if (!entry || entry->value == "no") return 0.0;
  return entry->value == "yes" ? Number(1.0) : number(*entry, "");
}

std::pair<int, bool> ModelReader::coordinate_or_rate(const Entry& entry) const {
  const bool rate = entry.key.starts_with("rate(") && entry.key.ends_with(")");
  const std::string name = rate ? entry.key.substr(5, entry.key.size() - 6) : entry.key;
  const auto& names = model_.structure.coordinate_names;
  const auto at = std::find(names.begin(), names.end(), name);
  if (at == names.end())
    fail(entry.line, "'" + shown(entry.key) + "' is unknown" + did_you_mean(name, names) +
                         "; allowed: COORDINATE, rate(COORDINATE); coordinates: " + listed(names));
  return {static_cast<int>(at - names.begin()), rate};
}

void ModelReader::read_gap_contact(const Section& section) {
  const std::vector<std::string> keys = {"gap", "slip", "restitution", "friction", "latch"};
  for (const Entry& entry : section.entries)
    if (std::find(keys.begin(), keys.end(), entry.key) == keys.end())
      fail(entry.line, "unknown key '" + shown(entry.key) + "' in " + section.title() + did_you_mean(entry.key, keys) +
                           "; allowed: " + listed(keys));
  const Entry& gap = needed(section, "gap");
  GapContact contact;
  contact.name = section.name;
  contact.line = section.line;
  contact.gap = formula(gap.value, gap.line, true, gap.key, "");
  if (const Entry* slip = section.find("slip")) contact.slip = formula(slip->value, slip->line, true, slip->key, "");
  contact.restitution = at_least_zero(section, "restitution", 1.0, "1");
  contact.friction = at_least_zero(section, "friction", 0.0, "1");
  contact.latch = yes_or_no(section, "latch");
  if (section.find("friction") && !contact.slip)
    fail(section.find("friction")->line,
         section.title() + " has friction and no slip; allowed: slip = position along it");
  pieces_.contacts.push_back(std::move(contact));
}

void ModelReader::read_stop(const Section& section) {
  const Entry& of = needed(section, "coordinate");
  coordinate(of);
  if (!section.find("from") && !section.find("to"))
    fail(section.line, section.title() + " has no end; allowed: from, to, or both");
  for (const char* end : {"from", "to"}) {
    const Entry* entry = section.find(end);
    if (!entry) continue;
    GapContact contact;
    contact.name = section.name + (section.find("from") && section.find("to") ? std::string("_") + end : "");
    contact.line = section.line;
    contact.gap = formula(
        std::string(end) == "from" ? of.value + " - (" + entry->value + ")" : "(" + entry->value + ") - " + of.value,
        entry->line, true, end, "");
    contact.restitution = at_least_zero(section, "restitution", 1.0, "1");
    contact.latch = yes_or_no(section, "latch");
    pieces_.contacts.push_back(std::move(contact));
  }
}

// Reads when = guard, COORDINATE = ..., rate(COORDINATE) = ...
void ModelReader::read_reset(const Section& section) {
  const Entry& when = needed(section, "guard");
  Reset exchange{section.name, formula(when.value, when.line, false, when.key, ""), {}, {}};
  for (const Entry& entry : section.entries) {
    if (entry.key == "guard") continue;
    const auto [at, rate] = coordinate_or_rate(entry);
    (rate ? exchange.rates : exchange.coordinates)
        .emplace_back(at, formula(entry.value, entry.line, false, entry.key, rate ? rate_unit(at) : position_unit(at)));
  }
  if (exchange.coordinates.empty() && exchange.rates.empty())
    fail(section.line, section.title() + " changes nothing; allowed: COORDINATE = ..., rate(COORDINATE) = ...");
  pieces_.resets.push_back(std::move(exchange));
}

}  // namespace dodyn::systems
