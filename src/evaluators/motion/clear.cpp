// Who keeps clear of whom, and way points that lead round obstacles.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "evaluators/motion/design.hpp"
#include "record/text.hpp"

namespace dodyn::evaluators {

void MotionDesigns::read_ways() {
  for (const CustomSection* section : settings_.sections_of("waypoint")) {
    Waypoint way;
    const CustomEntry* share = section->find("share");
    if (!share) throw section->error("has no share; allowed: share = of the time that has passed, between 0 and 1");
    const Expression e = expression(*share, share->value);
    way.share = e.is_constant() ? e.constant() : -1.0;
    if (!(way.share > (ways_.empty() ? 0.0 : ways_.back().share)) || !(way.share < 1.0))
      throw share->error("allowed: a number between 0 and 1, larger than that of the way point before");
    for (const CustomEntry& entry : section->entries) {
      if (entry.key == "share") continue;
      if (is_placement(entry, *system_))
        way.places.push_back(
            read_placement(entry, *system_, [&](const std::string& text) { return expression(entry, text); }));
      else
        way.given.push_back(read_one(entry, false));
    }
    ways_.push_back(std::move(way));
  }
}

void MotionDesigns::read_clear() {
  const auto& links = system_->structure().links;
  std::vector<std::string> names;
  for (const auto& link : links) names.push_back(link.name);
  const auto link_of = [&](const CustomEntry& entry, const std::string& name) {
    const auto at = std::find(names.begin(), names.end(), name);
    if (at == names.end()) throw entry.error("there is no link '" + name + "'" + did_you_mean(name, names));
    const int l = static_cast<int>(at - names.begin());
    if (system_->model().shapes_of(l).empty()) throw entry.error("link '" + name + "' has no [shape]");
    return l;
  };
  for (const CustomSection* section : settings_.sections_of("avoid"))
    for (const CustomEntry& entry : section->entries) {
      if (entry.key == "max-rotation") {
        turn_ = expression(entry, entry.value);
        if (!turn_.is_constant() || !(turn_.constant() > 0.0) || !(turn_.constant() < 3.0))
          throw entry.error("allowed: an angle in (0, 3) rad");
        continue;
      }
      if (entry.key == "growth-steps") {
        const Expression e = expression(entry, entry.value);
        const double steps = e.is_constant() ? e.constant() : -1.0;
        if (steps != std::round(steps) || steps < 0 || steps > 100)
          throw entry.error("allowed: an integer in [0, 100]");
        grow_ = static_cast<int>(steps);
        continue;
      }
      const auto pair = split_list(entry.key);
      if (pair.size() != 2)
        throw entry.error("allowed: LINK, LINK = margin (m), max-rotation = angle, growth-steps = steps");
      const int one = link_of(entry, pair[0]), other = link_of(entry, pair[1]);
      if (one == other) throw entry.error("a link cannot keep clear of itself");
      const bool pushed = stiffness_ > 0.0 && std::any_of(contacts_.begin(), contacts_.end(), [&](const Contact& c) {
                            return std::minmax(one, other) == std::minmax(links_of(c).first, links_of(c).second);
                          });
      if (!pushed) clear_.push_back({one, other, expression(entry, entry.value)});
    }
}

// Whether two links are where they are, seen from each other, whatever the motion: links of which one's place and attitude are
// given from the other, or whose joint's coordinates are, lead from one to the other.
bool MotionDesigns::placed(const std::vector<Placement>& all, const std::vector<Given>& given, int one,
                           int other) const {
  const auto& links = system_->structure().links;
  std::vector<int> group(links.size() + 1);  // of links, by their numbers; last: the ground
  std::iota(group.begin(), group.end(), 0);
  const auto of = [&](int link) { return group[link < 0 ? links.size() : static_cast<std::size_t>(link)]; };
  const auto join = [&](int a, int b) { std::replace(group.begin(), group.end(), of(a), of(b)); };
  for (std::size_t l = 0; l < links.size(); ++l) {
    const int first = links[l].first, end = first + static_cast<int>(links[l].moves.size());
    int known = 0;
    for (int c = first; c < end; ++c)
      known += std::any_of(given.begin(), given.end(), [c](const Given& g) { return !g.rate && g.coordinate == c; });
    if (known == end - first) join(static_cast<int>(l), links[l].parent);
  }
  for (const Placement& p : all) {
    bool whole = p.attitude;
    for (std::size_t i = 0; i < static_cast<std::size_t>(system_->structure().dimension); ++i)
      whole = whole && p.place[i] && p.place[i]->first == p.place[i]->second;
    if (whole) join(p.link, p.from);
  }
  return of(one) == of(other);
}

std::vector<std::pair<int, int>> MotionDesigns::part_pairs(const Clear& clear) const {
  const auto& shapes = system_->model().shapes;
  std::vector<std::pair<int, int>> all;
  for (std::size_t i = 0; i < shapes.size(); ++i)
    for (std::size_t j = 0; j < shapes.size(); ++j)
      if (shapes[i].link == clear.one && shapes[j].link == clear.other)
        all.emplace_back(static_cast<int>(i), static_cast<int>(j));
  return all;
}

// A pair of parts in the order of pairs().
std::string MotionDesigns::pair_name(std::size_t pair) const {
  std::vector<std::pair<int, int>> all;
  for (const Clear& clear : clear_)
    for (const auto& one : part_pairs(clear)) all.push_back(one);
  return part_name(*system_, all.at(pair).first) + " and " + part_name(*system_, all.at(pair).second);
}

std::vector<dmoc::PartPair> MotionDesigns::pairs(const Eigen::VectorXd& design) const {
  const Values all = values(design);
  const std::vector<double> numbers = autodiff::values_of(all.model.numbers);
  const auto [first, last] = postures(all).at;
  std::vector<dmoc::PartPair> pairs;
  for (const Clear& clear : clear_) {
    std::vector<dmoc::PartPair> these;
    for (const auto& [one, other] : part_pairs(clear)) these.push_back({one, other, evaluated(clear.margin, all), {}});
    for (const bool end : {false, true}) {
      if (!placed(end ? goal_places_ : start_places_, end ? goal_ : start_, clear.one, clear.other)) continue;
      const auto gaps = dmoc::gaps(*system_, numbers, system_->no_reference(), end ? last : first, these);
      const int phase = end ? static_cast<int>(phases_.size()) - 1 : 0;
      const std::pair<int, int> where = {phase, end ? phases_.back().intervals - 1 : 0};
      for (std::size_t p = 0; p < these.size(); ++p)
        if (gaps[p] < these[p].margin.value + 1e-6)
          these[p].nearer.emplace_back(where, dmoc::Coefficient(gaps[p] - contact_slack));
    }
    for (const Contact& c : contacts_) {  // they touch at its node, and as long as it stays
      const auto [one, other] = links_of(c);
      if (std::minmax(clear.one, clear.other) != std::minmax(one, other)) continue;
      const auto at = [this](int phase) { return phases_[static_cast<std::size_t>(phase)].intervals; };
      std::vector<std::pair<int, int>> beside = {{c.phase, at(c.phase) - 1}, {c.phase + 1, 0}};
      for (int k = 1; c.stays && k < at(c.phase + 1); ++k) beside.emplace_back(c.phase + 1, k);
      if (c.stays && c.phase + 2 < static_cast<int>(phases_.size())) beside.emplace_back(c.phase + 2, 0);
      for (auto& pair : these)
        for (const auto& where : beside) pair.nearer.emplace_back(where, dmoc::Coefficient(-contact_slack));
      if (both_move(c) && keys_.node_planes)
        for (auto& pair : these) pair.plane_turn = evaluated(turn_, all).value;
    }
    pairs.insert(pairs.end(), these.begin(), these.end());
  }
  return pairs;
}

bool MotionDesigns::both_move(const Contact& contact) const {
  const auto [one, other] = links_of(contact);
  return !system_->coordinates_of(one).empty() && !system_->coordinates_of(other).empty();
}

std::string MotionDesigns::overlap(const Values& values, const Eigen::VectorXd& design) const {
  if (clear_.empty()) return "";
  const std::vector<double> numbers = autodiff::values_of(values.model.numbers);
  const auto all = pairs(design);
  const Postures ends = postures(values);
  for (const bool end : {false, true}) {
    const auto gaps = dmoc::gaps(*system_, numbers, system_->no_reference(), ends.at[end ? 1 : 0], all);
    for (std::size_t p = 0; p < all.size(); ++p) {
      const auto& shapes = system_->model().shapes;
      if (!placed(end ? goal_places_ : start_places_, end ? goal_ : start_,
                  shapes[static_cast<std::size_t>(all[p].one)].link,
                  shapes[static_cast<std::size_t>(all[p].other)].link))
        continue;
      if (gaps[p] < -1e-6)
        return formatted("[%s]: %s and %s overlap by %.3g mm", end ? "goal" : "initial-state",
                         part_name(*system_, all[p].one).c_str(), part_name(*system_, all[p].other).c_str(),
                         -1e3 * gaps[p]);
    }
  }
  return "";
}

}  // namespace dodyn::evaluators
