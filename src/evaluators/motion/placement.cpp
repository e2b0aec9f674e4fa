#include "evaluators/motion/placement.hpp"

#include <Eigen/Geometry>
#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <sstream>

#include "dmoc/attitudes.hpp"
#include "record/text.hpp"
#include "settings/config_error.hpp"
#include "settings/units.hpp"

namespace dodyn::evaluators {

using dmoc::Coefficient;
using Words = std::vector<std::string>;

namespace {

const Words clause_names = {"pose", "place", "turn", "velocity", "spin", "rest"};

// Splits at blanks outside parentheses. A unit belongs to the number before it; both sides of `..` form one word.
Words words_of(const std::string& text) {
  Words all;
  int depth = 0;
  bool inside = false;
  for (const char c : text) {
    depth += (c == '(') - (c == ')');
    if (c == ' ' && depth == 0) {
      inside = false;
      continue;
    }
    if (!inside) all.emplace_back();
    inside = true;
    all.back() += c;
  }
  Words joined;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const bool numbered = !joined.empty() && (std::isdigit(joined.back().back()) || joined.back().back() == '.');
    if (all[i] == ".." && !joined.empty() && i + 1 < all.size())
      joined.back() += ".." + all[++i];
    else if (numbered && unit(all[i]))
      joined.back() += " " + all[i];
    else
      joined.push_back(all[i]);
  }
  return joined;
}

std::pair<std::string, std::string> name_and_base(const CustomEntry& entry) {
  const auto at = entry.key.find(" from ");
  if (at == std::string::npos) return {std::string(trimmed(entry.key)), ""};
  return {std::string(trimmed(entry.key.substr(0, at))), std::string(trimmed(entry.key.substr(at + 6)))};
}

int link_index(const dmoc::System& system, const std::string& name) {
  const auto& links = system.structure().links;
  for (std::size_t l = 0; l < links.size(); ++l)
    if (links[l].name == name) return static_cast<int>(l);
  return -1;
}

std::vector<std::string> link_names(const dmoc::System& system) {
  auto all = names_of(system.structure().links);
  return all;
}

std::vector<std::string> coordinates_of(const dmoc::System& system, int link) {
  const auto& tree = system.structure();
  std::size_t first = 0;
  for (int l = 0; l < link; ++l) first += tree.links[l].moves.size();
  const auto begin = tree.coordinate_names.begin() + first;
  const std::size_t count = link < 0 ? 0 : tree.links[link].moves.size();
  return {begin, begin + static_cast<std::ptrdiff_t>(count)};
}

}  // namespace

bool is_placement(const CustomEntry& entry, const dmoc::System& system) {
  const auto& coordinates = system.structure().coordinate_names;
  const Words words = words_of(entry.value);
  const bool is_clause = !words.empty() && std::ranges::find(clause_names, words[0]) != clause_names.end();
  const bool is_link = link_index(system, name_and_base(entry).first) >= 0;
  // A link and its coordinate may have the same name. The value then decides: a clause such as `pose` means the link.
  if (std::ranges::find(coordinates, entry.key) != coordinates.end()) return is_link && is_clause;
  // An unknown name with a clause is a misspelt link
  return entry.key.find(" from ") != std::string::npos || is_link || is_clause;
}

std::vector<std::pair<std::string, std::string>> quantities_of(const std::string& value) {
  static const std::map<std::string, std::string> units = {
      {"pose", "m"}, {"place", "m"}, {"turn", "rad"}, {"velocity", "m/s"}, {"spin", "rad/s"}};
  std::vector<std::pair<std::string, std::string>> all;
  for (const std::string& clause : split_list(value)) {
    const Words words = words_of(clause);
    const auto unit_of = words.empty() ? units.end() : units.find(words[0]);
    if (unit_of == units.end()) continue;
    for (std::size_t i = words[0] == "turn" ? words.size() - 1 : 1; i > 0 && i < words.size(); ++i) {
      const auto dots = words[i].find("..");
      if (words[i] == "free") continue;
      all.emplace_back(words[i].substr(0, dots), unit_of->second);
      if (dots != std::string::npos) all.emplace_back(words[i].substr(dots + 2), unit_of->second);
    }
  }
  return all;
}

Placement read_placement(const CustomEntry& entry, const dmoc::System& system,
                         const std::function<Expression(const std::string&)>& read) {
  const int d = system.structure().dimension;
  const std::array<Expression, 3> none{};
  Placement p;
  p.source = entry.source;
  const auto [name, base] = name_and_base(entry);
  for (const auto& [text, index] : {std::pair{name, &p.link}, std::pair{base, &p.from}}) {
    if (text.empty() || text == "ground") continue;
    *index = link_index(system, text);
    if (*index < 0) throw entry.error("there is no link '" + text + "'" + did_you_mean(text, link_names(system)));
  }
  if (!base.empty() && name == base) throw entry.error("a link has no place relative to itself; name two links");
  const std::string clauses = std::string(": pose ") + (d == 2 ? "X Y" : "X Y Z") + ", place, turn " +
                              (d == 2 ? "ANGLE" : "AXIS ANGLE") + ", velocity, spin, rest, separated by commas";
  const std::string allowed = "; allowed" + clauses;
  std::set<std::string> given;  // properties set by earlier clauses
  for (const std::string& clause : split_list(entry.value)) {
    const Words words = words_of(clause);
    const std::string what = words.empty() ? "" : words[0];
    const auto gives = [&](const char* quantity) {
      if (!given.insert(quantity).second)
        throw entry.error("'" + clause + "' gives the " + quantity + " again; remove one of them");
    };
    const auto three = [&](int count, const char* unit_of) {
      if (std::ssize(words) != count + 1)
        throw entry.error(what + " needs " + counted(count, "number") + unit_of + allowed);
      std::array<Expression, 3> values{};
      for (int i = 0; i < count; ++i) values[count == 1 ? 2 : i] = read(words[i + 1]);
      return values;
    };
    if (what == "pose" || what == "place") {
      if (std::ssize(words) != d + 1)
        throw entry.error(what + " needs " + std::to_string(d) + " numbers (m)" + allowed);
      gives("place");
      for (int i = 0; i < d; ++i) {
        const std::string& word = words[i + 1];
        if (word == "free") continue;
        const auto dots = word.find("..");
        const Expression low = read(word.substr(0, dots));
        p.place[i] = {low, dots == std::string::npos ? low : read(word.substr(dots + 2))};
      }
      p.attitude = p.attitude || what == "pose";
    } else if (what == "turn") {
      const bool plane = d == 2;
      const std::string axes = "xyz";
      if (words.size() != (plane ? 2U : 3U) || (!plane && (words[1].size() != 1 || axes.find(words[1]) > 2)))
        throw entry.error("'" + clause + "' is not a turn" + allowed);
      p.turns.emplace_back(plane ? 2 : static_cast<int>(axes.find(words[1])), read(words.back()));
      p.attitude = true;
    } else if (what == "velocity") {
      gives("velocity");
      p.velocity = three(d, " (m/s)");
    } else if (what == "spin") {
      gives("spin");
      p.spin = three(d == 2 ? 1 : 3, " (rad/s)");
    } else if (clause == "rest" || clause == "momentum 0") {
      gives("velocity");
      gives("spin");
      p.velocity = p.spin = none;
    } else {
      const std::vector<std::string> coordinates = coordinates_of(system, p.link);
      if (base.empty() && words_of(entry.value).size() == 1 && !coordinates.empty() &&
          did_you_mean(entry.value, clause_names).empty())
        throw entry.error(name + " is a link with the " +
                          (coordinates.size() == 1
                               ? "coordinate " + coordinates[0] + ": write " + coordinates[0] + " = " + entry.value
                               : "coordinates " + listed(coordinates) + ": write a line for each") +
                          "; allowed for a link" + clauses);
      throw entry.error("'" + clause + "' is not understood" + allowed);
    }
  }
  return p;
}

namespace {

// Returns the rotation matrix of successive rotations about the body's own axes, row by row.
template <class T>
std::array<T, 9> rotation_of(const std::vector<std::pair<int, T>>& turns) {
  systems::Frame<T> frame = systems::Frame<T>::at_rest();
  for (const auto& [axis, angle] : turns) frame.turn(axis, angle, T(0.0));
  std::array<T, 9> R;
  for (std::size_t i = 0; i < 9; ++i) R[i] = frame.rotation[i / 3][i % 3];
  return R;
}

}  // namespace

dmoc::LinkPose pose_of(const Placement& placement, const Evaluate& evaluate, int dimension) {
  dmoc::LinkPose pose;
  pose.link = placement.link;
  pose.from = placement.from;
  for (std::size_t i = 0; i < 3; ++i)
    if (const auto& range = placement.place[i]) pose.place[i] = {evaluate(range->first), evaluate(range->second)};
  if (!placement.attitude) return pose;
  std::vector<std::pair<int, Coefficient>> turns;
  for (const auto& [axis, angle] : placement.turns) turns.emplace_back(axis, evaluate(angle));
  if (dimension == 3) {
    pose.rotation = rotation_of(turns);
  } else {
    pose.angle = 0.0;
    for (const auto& turn : turns) *pose.angle += turn.second;
  }
  return pose;
}

dmoc::LinkTwist twist_of(const Placement& placement, const Evaluate& evaluate) {
  dmoc::LinkTwist twist;
  twist.link = placement.link;
  twist.from = placement.from;
  const auto values = [&](const std::array<Expression, 3>& e) {
    return std::array<Coefficient, 3>{evaluate(e[0]), evaluate(e[1]), evaluate(e[2])};
  };
  if (placement.velocity) twist.velocity = values(*placement.velocity);
  if (placement.spin) twist.spin = values(*placement.spin);
  return twist;
}

void put(const std::vector<Placement>& placements, const Evaluate& evaluate, const dmoc::System& system,
         const systems::Tree<double>& tree, Eigen::VectorXd& q) {
  const int d = tree.dimension;
  const dmoc::Attitudes attitudes(system);
  for (const Placement& p : placements) {
    const auto& link = tree.links[p.link];
    const dmoc::LinkPose pose = pose_of(p, evaluate, d);
    const auto frames = tree.frames(q.data());
    const auto rest = systems::Frame<double>::at_rest();
    const auto& base = p.from < 0 ? rest : frames[p.from];
    // For a link on the ground whose joint begins with slides along all axes, the slides are the world position.
    int slides = 0;
    while (slides < std::ssize(link.moves) && link.moves[slides].kind == systems::Move::slide &&
           !link.moves[slides].is_oblique())
      ++slides;
    if (link.parent < 0 && slides == d) {
      systems::Vector3<double> wanted{};
      const auto now = frames[p.link].origin;
      for (int i = 0; i < d; ++i) {  // current position in the frame of the base
        for (int j = 0; j < 3; ++j) wanted[i] += base.rotation[j][i] * (now[j] - base.origin[j]);
        if (const auto& range = pose.place[i]) wanted[i] = 0.5 * (range->first.value + range->second.value);
      }
      const auto there = base.point(wanted);
      for (int i = 0; i < d; ++i) {
        const int axis = link.moves[i].axis;
        q(link.first + i) = there[axis] - link.at[axis];
      }
    }
    if (d == 2 && link.parent < 0 && pose.angle && std::ssize(link.moves) == slides + 1)
      q(link.first + slides) = pose.angle->value + base.angle;
    if (pose.rotation)
      for (std::size_t c = 0; c < system.charts().size(); ++c)
        if (system.charts()[c] == p.link) {
          const auto& parent = link.parent < 0 ? rest : frames[link.parent];
          Eigen::Matrix3d R, B, P;
          for (int i = 0; i < 9; ++i) {
            const auto row = static_cast<std::size_t>(i / 3), column = static_cast<std::size_t>(i % 3);
            R(i / 3, i % 3) = (*pose.rotation)[i].value;
            B(i / 3, i % 3) = base.rotation[row][column];
            P(i / 3, i % 3) = parent.rotation[row][column];
          }
          attitudes.set(c, P.transpose() * B * R, system.no_reference(), q);
        }
  }
}

}  // namespace dodyn::evaluators
