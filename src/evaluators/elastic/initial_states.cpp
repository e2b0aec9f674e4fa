#include "evaluators/elastic/initial_states.hpp"

#include <algorithm>

#include "evaluators/simulation/initial_states.hpp"
#include "record/text.hpp"

namespace dodyn::evaluators::elastic_text {

InitialStates::InitialStates(const Settings& settings) {
  std::vector<std::string> known;
  for (const CustomSection* section : settings.sections_of("parameters"))
    for (const CustomEntry& entry : section->entries) known.push_back(entry.key);
  for (const CustomSection* section : settings.sections_of("initial-states")) {
    several_ = true;
    std::vector<bool> wide;
    for (const CustomEntry& entry : section->entries) {
      if (simulation::draws_starts(entry.key)) continue;
      if (std::ranges::find(known, entry.key) == known.end())
        throw entry.error("no parameter of that name" + did_you_mean(entry.key, known) + "; allowed: " + listed(known));
      if (settings.design_given(entry.key))
        throw entry.error("is given as design." + entry.key + ", too; remove one of them");
      try {
        const auto [from, to] = parse_range(entry.value);
        wide.push_back(!(from == to));
        ranges_.push_back({entry, from, to});
      } catch (const ExpressionError& error) {
        throw entry.error(error.what());
      }
    }
    shares_ = simulation::shares_of_ranges(*section, wide);
  }
}

std::vector<std::string> InitialStates::names() const {
  std::vector<std::string> all;
  for (const Range& range : ranges_) all.push_back(range.entry.key);
  return all;
}

Numbers InitialStates::start(int number, const Numbers& parameters) const {
  Numbers all;
  for (std::size_t i = 0; i < ranges_.size(); ++i) {
    const Range& range = ranges_[i];
    const double from = value(range.entry, range.from, parameters), to = value(range.entry, range.to, parameters);
    all[range.entry.key] = from + shares_(i, number) * (to - from);
  }
  return all;
}

Outcomes::Outcomes(const Settings& settings) {
  for (const CustomSection* section : settings.sections_of("outcome")) {
    if (section->name == "end" || section->name == "failed")
      throw section->error(
          "is reserved (end: no outcome's condition holds; failed: the simulation breaks down); choose another name");
    const CustomEntry& entry = *section->find("when");
    rules_.push_back({section->name, entry, entry.condition()});
  }
}

std::vector<std::string> Outcomes::names() const {
  auto all = names_of(rules_);
  all.insert(all.end(), {"end", "failed"});
  return all;
}

int Outcomes::of(const Numbers& known) const {
  int first = rules_.size();
  for (std::size_t i = rules_.size(); i-- > 0;)
    if (value(rules_[i].entry, rules_[i].when, known) != 0.0) first = i;
  return first;
}

}  // namespace dodyn::evaluators::elastic_text
