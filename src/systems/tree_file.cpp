#include "systems/tree_file.hpp"

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <numbers>
#include <optional>
#include <set>
#include <sstream>

namespace dodyn::systems {
namespace {

using Number = autodiff::Dual<double>;

std::string trimmed(const std::string& text) {
  const auto from = text.find_first_not_of(" \t\r");
  return from == std::string::npos ? "" : text.substr(from, text.find_last_not_of(" \t\r") + 1 - from);
}

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, separator);) parts.push_back(trimmed(part));
  return parts;
}

std::vector<std::string> words(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> all;
  for (std::string word; stream >> word;) all.push_back(word);
  return all;
}

struct Entry {
  std::string key, value;
  int line;
};
struct Section {
  std::string kind, name;  // [link swing_thigh]
  int line;
  std::vector<Entry> entries;
};

// A text with its sections, and what every complaint starts with.
struct Text {
  std::string origin;
  std::vector<Section> sections;

  [[noreturn]] void fail(int line, const std::string& what) const {
    throw TreeError(origin + (line > 0 ? ":" + std::to_string(line) : "") + ": " + what);
  }
};

Text sections_of(const std::string& text, const std::string& origin) {
  Text result{origin, {}};
  static const std::map<std::string, std::set<std::string>> known = {
      {"model", {"name", "dimension", "gravity", "swing-foot"}},
      {"parameters", {}},
      {"link", {"parent", "joint", "coordinates", "at", "end", "mass", "centre", "inertia", "partner"}},
      {"actuator", {"coordinate"}},
      {"knee", {"coordinate", "flexion"}}};
  std::istringstream stream(text);
  std::string line;
  for (int number = 1; std::getline(stream, line); ++number) {
    line = trimmed(line.substr(0, line.find('#')));
    if (line.empty()) continue;
    if (line.front() == '[' && line.back() == ']') {
      const auto parts = words(line.substr(1, line.size() - 2));
      const bool named = !parts.empty() && parts[0] != "model" && parts[0] != "parameters";
      if (parts.empty() || !known.count(parts[0]) || parts.size() != (named ? 2 : 1))
        result.fail(number, "'" + line +
                                "' is not understood; allowed: [model], [parameters], [link NAME], [actuator "
                                "NAME], [knee NAME]");
      for (const Section& other : result.sections)
        if (other.kind == parts[0] && other.name == (named ? parts[1] : ""))
          result.fail(number, line + " is given twice (already at line " + std::to_string(other.line) + ")");
      result.sections.push_back({parts[0], named ? parts[1] : "", number, {}});
      continue;
    }
    const auto equals = line.find('=');
    if (equals == std::string::npos || result.sections.empty())
      result.fail(number, "'" + line + "' is not understood; allowed: [section], key = value, # comment");
    Section& section = result.sections.back();
    const Entry entry{trimmed(line.substr(0, equals)), trimmed(line.substr(equals + 1)), number};
    if (entry.key.empty() || entry.value.empty())
      result.fail(number, "'" + line + "' is not understood; allowed: key = value");
    const auto& keys = known.at(section.kind);
    if (section.kind != "parameters" && !keys.count(entry.key)) {
      std::string list;
      for (const auto& key : keys) list += (list.empty() ? "" : ", ") + key;
      result.fail(number, "unknown key '" + entry.key + "' in [" + section.kind + "]; allowed: " + list);
    }
    for (const Entry& other : section.entries)
      if (other.key == entry.key)
        result.fail(number, entry.key + " is given twice (already at line " + std::to_string(other.line) + ")");
    section.entries.push_back(entry);
  }
  return result;
}

// Arithmetic on numbers and parameters: + - * / ^ (small integer powers), parentheses, pi.
class Expression {
 public:
  Expression(const Text& file, const Parameters& parameters, const std::string& text, int line)
      : file_(file), parameters_(parameters), text_(text), line_(line) {}

  Number value() {
    const Number x = sum();
    if (at_ < text_.size()) complain();
    if (!std::isfinite(x.value)) file_.fail(line_, "'" + text_ + "' is not a finite number");
    return x;
  }

 private:
  [[noreturn]] void complain() {
    file_.fail(line_, "'" + text_ + "' is not understood at '" + text_.substr(std::min(at_, text_.size())) +
                          "'; allowed: numbers, parameters, pi, + - * / ^ and parentheses");
  }
  char next() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_]))) ++at_;
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool take(char c) { return next() == c && ++at_; }

  Number sum() {
    Number x = product();
    for (;;) {
      if (take('+'))
        x += product();
      else if (take('-'))
        x -= product();
      else
        return x;
    }
  }
  Number product() {
    Number x = factor();
    for (;;) {
      if (take('*'))
        x = x * factor();
      else if (take('/'))
        x = x / factor();
      else
        return x;
    }
  }
  Number factor() {
    if (take('-')) return -factor();
    if (take('+')) return factor();
    const Number base = atom();
    if (!take('^')) return base;
    const char digit = next();
    if (digit < '0' || digit > '9') complain();
    ++at_;
    Number power(1.0);
    for (int i = '0'; i < digit; ++i) power = power * base;
    return power;
  }
  Number atom() {
    if (++depth_ > 200) complain();
    const char c = next();
    if (take('(')) {
      const Number x = sum();
      if (!take(')')) complain();
      --depth_;
      return x;
    }
    --depth_;
    if (std::isalpha(static_cast<unsigned char>(c))) {
      const std::size_t from = at_;
      while (at_ < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[at_])) || text_[at_] == '_')) ++at_;
      const std::string name = text_.substr(from, at_ - from);
      if (const auto found = parameters_.find(name); found != parameters_.end()) return found->second;
      if (name == "pi") return std::numbers::pi;
      std::string list;
      for (const auto& [known, value] : parameters_) list += (list.empty() ? "" : ", ") + known;
      file_.fail(line_, "unknown parameter '" + name + "'; known here: " + (list.empty() ? "none" : list));
    }
    const char* start = text_.c_str() + at_;
    char* end = nullptr;
    const double x = std::isdigit(static_cast<unsigned char>(c)) || c == '.' ? std::strtod(start, &end) : 0.0;
    if (!end || end == start) complain();
    at_ += static_cast<std::size_t>(end - start);
    return x;
  }

  const Text& file_;
  const Parameters& parameters_;
  const std::string text_;
  const int line_;
  std::size_t at_ = 0;
  int depth_ = 0;
};

class Reader {
 public:
  Reader(const std::string& text, const std::string& origin, const Parameters& given)
      : file_(sections_of(text, origin)), given_(given) {}

  Tree<Number> tree() {
    read_parameters();
    read_model();
    for (const Section& section : file_.sections)
      if (section.kind == "link") read_link(section);
    if (tree_.links.empty()) file_.fail(0, "a model needs at least one [link NAME]");
    read_names();
    for (const Section& section : file_.sections) {
      if (section.kind == "actuator") tree_.actuators.push_back({section.name, coordinate(section)});
      if (section.kind != "knee") continue;
      const Entry& flexion = needed(section, "flexion");
      const double way = number(flexion).value;
      if (way != 1.0 && way != -1.0) file_.fail(flexion.line, "flexion = " + flexion.value + "; allowed: +1, -1");
      tree_.knees.push_back({coordinate(section), way > 0.0 ? 1 : -1});
    }
    if (tree_.swing_link >= 0) check_walker();
    return std::move(tree_);
  }

  std::vector<std::string> parameter_names() const {
    std::vector<std::string> names;
    for (const Section& section : file_.sections)
      if (section.kind == "parameters")
        for (const Entry& entry : section.entries) names.push_back(entry.key);
    return names;
  }

 private:
  static const Entry* find(const Section& section, const std::string& key) {
    for (const Entry& entry : section.entries)
      if (entry.key == key) return &entry;
    return nullptr;
  }
  const Entry& needed(const Section& section, const std::string& key) const {
    if (const Entry* entry = find(section, key)) return *entry;
    file_.fail(section.line, "[" + section.kind + (section.name.empty() ? "" : " " + section.name) + "] has no " + key);
  }
  const Section& model() const {
    for (const Section& section : file_.sections)
      if (section.kind == "model") return section;
    file_.fail(0, "no [model] section");
  }
  Number number(const Entry& entry) const { return Expression(file_, parameters_, entry.value, entry.line).value(); }

  // As many numbers as dimensions, or, of an inertia in the plane, one.
  std::array<Number, 3> vector(const Entry& entry, bool inertia = false) const {
    const auto parts = split(entry.value, ',');
    const std::size_t wanted = inertia && tree_.dimension == 2 ? 1 : static_cast<std::size_t>(tree_.dimension);
    if (parts.size() != wanted)
      file_.fail(entry.line, entry.key + " = " + entry.value + "; allowed: " + std::to_string(wanted) +
                                 (wanted == 1 ? " number" : " numbers, separated by commas"));
    std::array<Number, 3> x{};
    for (std::size_t i = 0; i < wanted; ++i)
      x[inertia && wanted == 1 ? 2 : i] = Expression(file_, parameters_, parts[i], entry.line).value();
    return x;
  }

  void read_parameters() {
    for (const Section& section : file_.sections) {
      if (section.kind != "parameters") continue;
      for (const Entry& entry : section.entries) {
        for (const char c : entry.key)
          if (!std::isalnum(static_cast<unsigned char>(c)) && c != '_')
            file_.fail(entry.line, "'" + entry.key + "' is no name; allowed: letters, digits and _");
        if (!std::isalpha(static_cast<unsigned char>(entry.key[0])))
          file_.fail(entry.line, "'" + entry.key + "' is no name; allowed: a letter first");
        const auto at = given_.find(entry.key);
        parameters_[entry.key] = at != given_.end() ? at->second : number(entry);
      }
    }
    for (const auto& [name, value] : given_)
      if (!parameters_.count(name)) file_.fail(0, "has no parameter '" + name + "' in [parameters] to be set");
  }

  void read_model() {
    const Section& section = model();
    const Entry& dimension = needed(section, "dimension");
    if (dimension.value != "2" && dimension.value != "3")
      file_.fail(dimension.line, "dimension = " + dimension.value + "; allowed: 2, 3");
    tree_.dimension = dimension.value == "2" ? 2 : 3;
    if (const Entry* name = find(section, "name")) tree_.name = name->value;
    if (const Entry* gravity = find(section, "gravity")) tree_.gravity = number(*gravity);
  }

  int link(const Entry& entry) const {
    for (std::size_t i = 0; i < tree_.links.size(); ++i)
      if (tree_.links[i].name == entry.value) return static_cast<int>(i);
    std::string list;
    for (const auto& l : tree_.links) list += (list.empty() ? "" : ", ") + l.name;
    file_.fail(entry.line, entry.key + " = " + entry.value + " is no link known here; allowed: " +
                               (entry.key == "parent" ? std::string("ground, ") : "") + list);
  }

  int coordinate(const Section& section) const {
    const Entry& entry = needed(section, "coordinate");
    std::string list;
    for (int i = 0; i < tree_.n(); ++i) {
      if (tree_.coordinate_names[i] == entry.value) return i;
      list += (i ? ", " : "") + tree_.coordinate_names[i];
    }
    file_.fail(entry.line, "coordinate = " + entry.value + " is unknown; allowed: " + list);
  }

  std::vector<Move> moves(const Entry& entry) const {
    const bool plane = tree_.dimension == 2;
    const auto axis = [&](char letter) { return letter >= 'X' ? letter - 'X' : -1; };
    std::vector<Move> all;
    const auto point = [&] {
      for (int i = 0; i < tree_.dimension; ++i) all.push_back({Move::slide, i});
    };
    const auto complain = [&]() {
      file_.fail(entry.line,
                 "joint = " + entry.value + " is not understood; allowed, joined by +: fixed, point, " +
                     (plane ? "revolute, prismatic x|y, planar"
                            : "revolute x|y|z, prismatic x|y|z, spherical ZXY (any order of axes), spatial ZXY"));
    };
    for (const std::string& part : split(entry.value, '+')) {
      auto joint = words(part);
      if (joint.empty()) complain();
      std::string axes = joint.size() == 2 ? joint[1] : "";
      for (char& c : axes) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
      for (const char c : axes)
        if (axis(c) < 0 || axis(c) > 2) complain();
      if (joint.size() > 2) complain();
      const bool three = axes.size() == 3 && axes[0] != axes[1] && axes[1] != axes[2];
      const std::string& kind = joint[0];
      if (kind == "fixed" && axes.empty()) continue;
      if (kind == "point" && axes.empty()) {
        point();
      } else if (kind == "revolute" && plane && (axes.empty() || axes == "Z")) {
        all.push_back({Move::turn, 2});
      } else if (kind == "revolute" && !plane && axes.size() == 1) {
        all.push_back({Move::turn, axis(axes[0])});
      } else if (kind == "prismatic" && axes.size() == 1 && axis(axes[0]) < tree_.dimension) {
        all.push_back({Move::slide, axis(axes[0])});
      } else if (kind == "planar" && plane && axes.empty()) {
        point();
        all.push_back({Move::turn, 2});
      } else if ((kind == "spherical" || kind == "spatial") && !plane && three) {
        if (kind == "spatial") point();
        for (const char c : axes) all.push_back({Move::turn, axis(c)});
      } else {
        complain();
      }
    }
    return all;
  }

  void read_link(const Section& section) {
    Link<Number> l;
    l.name = section.name;
    const Entry& parent = needed(section, "parent");
    l.parent = parent.value == "ground" ? -1 : link(parent);
    if (l.parent < 0 && !tree_.links.empty())
      file_.fail(parent.line, "a second link on the ground; allowed: one, the first (a tree has one root)");
    l.moves = moves(needed(section, "joint"));
    l.first = coordinates_;
    coordinates_ += static_cast<int>(l.moves.size());
    if (const Entry* at = find(section, "at"))
      l.at = vector(*at);
    else if (l.parent >= 0)
      l.at = tree_.links[l.parent].end;
    if (const Entry* end = find(section, "end")) l.end = vector(*end);
    if (const Entry* mass = find(section, "mass")) {
      l.mass = number(*mass);
      if (l.mass.value < 0.0) file_.fail(mass->line, "mass = " + mass->value + " is negative; allowed: 0 or more, kg");
    }
    if (const Entry* centre = find(section, "centre"))
      l.centre = vector(*centre);
    else
      for (int i = 0; i < 3; ++i) l.centre[i] = 0.5 * l.end[i];
    if (const Entry* inertia = find(section, "inertia")) {
      l.inertia = vector(*inertia, true);
      for (const Number& x : l.inertia)
        if (x.value < 0.0)
          file_.fail(inertia->line, "inertia = " + inertia->value + " is negative; allowed: 0 or more, kg m2");
    }
    tree_.links.push_back(std::move(l));
  }

  // Names of coordinates, and partners, which may be links further down.
  void read_names() {
    std::set<std::string> taken;
    std::size_t index = 0;
    for (const Section& section : file_.sections) {
      if (section.kind != "link") continue;
      Link<Number>& l = tree_.links[index++];
      if (const Entry* partner = find(section, "partner")) l.partner = link(*partner);
      std::vector<std::string> names;
      // the root's slides are x, y, z; a single move has its link's name, several have their axis' letter, too
      const auto is_place = [&](const Move& move) { return l.parent < 0 && move.kind == Move::slide; };
      const auto others = std::count_if(l.moves.begin(), l.moves.end(), [&](const Move& m) { return !is_place(m); });
      for (std::size_t i = 0; i < l.moves.size(); ++i) {
        const std::string letter(1, "xyz"[l.moves[i].axis]);
        const bool again =
            std::count(l.moves.begin(), l.moves.begin() + static_cast<std::ptrdiff_t>(i), l.moves[i]) > 0;
        names.push_back(is_place(l.moves[i]) ? letter
                        : others == 1        ? l.name
                                             : l.name + "_" + letter + (again ? "2" : ""));
      }
      if (const Entry* given = find(section, "coordinates")) {
        names = split(given->value, ',');
        if (names.size() != l.moves.size())
          file_.fail(given->line, "coordinates = " + given->value + "; allowed: " + std::to_string(l.moves.size()) +
                                      " names, separated by commas");
      }
      for (const auto& name : names)
        if (!taken.insert(name).second)
          file_.fail(section.line, "coordinate '" + name + "' is there twice; allowed: one of a name");
      tree_.coordinate_names.insert(tree_.coordinate_names.end(), names.begin(), names.end());
    }
    if (const Entry* swing = find(model(), "swing-foot")) tree_.swing_link = link(*swing);
  }

  // What a gait needs, found out by trying: the legs, exchanged, must be the same legs.
  void check_walker() const {
    const Entry& swing = *find(model(), "swing-foot");
    const auto& links = tree_.links;
    const std::size_t d = static_cast<std::size_t>(tree_.dimension);
    for (std::size_t i = 0; i < links[0].moves.size() || i < d; ++i) {
      const bool slide = i < links[0].moves.size() && links[0].moves[i] == Move{Move::slide, static_cast<int>(i)};
      if (slide != (i < d))
        file_.fail(swing.line,
                   "a model with a swing-foot stands on a point: allowed as the joint of its first link: "
                   "point + ... (turns)");
    }
    for (std::size_t i = 0; i < links.size(); ++i) {
      const int j = links[i].partner;
      if (j < 0 || links[j].partner != static_cast<int>(i))
        file_.fail(line_of(links[i].name),
                   "link " + links[i].name + " needs a partner whose partner it is, for the exchange of the legs");
    }
    if (links[tree_.swing_link].partner != 0)
      file_.fail(swing.line,
                 "swing-foot = " + swing.value + " must be the partner of the first link, " + links[0].name);
    const Tree<double> tree = tree_.plain();
    std::vector<double> q(tree.n()), v(tree.n());
    for (int i = 0; i < tree.n(); ++i) {
      q[i] = 0.3 * std::sin(1.0 + 2.7 * i);
      v[i] = std::cos(0.4 + 1.9 * i);
      const auto& [kind, axis] = move_of(i);
      static_cast<void>(axis);
      if (kind == Move::turn) q[i] = std::abs(q[i]);  // Euler angles: where the middle one is positive
    }
    std::vector<autodiff::Dual<double>> moving(tree.n());
    for (int i = 0; i < tree.n(); ++i) moving[i] = {q[i], v[i]};
    const auto exchanged = tree.exchange_legs(moving.data());
    if (static_cast<int>(exchanged.size()) != tree.n())
      file_.fail(swing.line,
                 "the legs cannot be exchanged: beside the root, slides must be joints of their own, between "
                 "links whose partners they join, too");
    std::vector<double> q_new, v_new;
    for (const auto& x : exchanged) {
      q_new.push_back(x.value);
      v_new.push_back(x.tangent);
    }
    const auto before = tree.frames(q.data()), after = tree.frames(q_new.data());
    for (std::size_t i = 0; i < links.size(); ++i) {
      const auto& partner = tree.links[links[i].partner];
      const auto one = after[i].point(tree.links[i].centre), other = before[links[i].partner].point(partner.centre);
      double miss = 0.0;
      if (tree.links[i].mass > 0.0)
        for (int a = 0; a < 3; ++a) miss = std::max(miss, std::abs(one[a] - tree.mirror(a) * other[a]));
      for (int a = 0; a < 3; ++a) miss = std::max(miss, std::abs(tree.links[i].inertia[a] - partner.inertia[a]));
      miss = std::max(miss, std::abs(tree.links[i].mass - partner.mass));
      if (miss > 1e-9)
        file_.fail(line_of(links[i].name), "exchanging the legs does not put link " + partner.name +
                                               " in the place of " + links[i].name +
                                               "; partners must agree in length, mass, centre, inertia "
                                               "and joint");
    }
    const double L = tree.lagrangian(q.data(), v.data()), L_new = tree.lagrangian(q_new.data(), v_new.data());
    if (std::abs(L - L_new) > 1e-9 * (1.0 + std::abs(L)))
      file_.fail(swing.line, "exchanging the legs changes the energy; partners must agree in their joints and inertia");
  }
  int line_of(const std::string& name) const {
    for (const Section& section : file_.sections)
      if (section.kind == "link" && section.name == name) return section.line;
    return 0;
  }
  const Move& move_of(int coordinate) const {
    std::size_t l = tree_.links.size() - 1;
    while (tree_.links[l].first > coordinate) --l;
    return tree_.links[l].moves[static_cast<std::size_t>(coordinate - tree_.links[l].first)];
  }

  Text file_;
  const Parameters& given_;
  Parameters parameters_;
  Tree<Number> tree_;
  int coordinates_ = 0;
};

}  // namespace

Tree<Number> parse_tree(const std::string& text, const std::string& origin, const Parameters& given) {
  return Reader(text, origin, given).tree();
}

std::vector<std::string> tree_parameters(const std::string& text, const std::string& origin) {
  return Reader(text, origin, {}).parameter_names();
}

std::string tree_text(const std::string& name_or_path) {
  if (const auto at = built_in_trees().find(name_or_path); at != built_in_trees().end()) return at->second;
  std::ifstream file(name_or_path);
  if (!file || std::filesystem::is_directory(name_or_path)) {
    std::string names;
    for (const auto& [name, text] : built_in_trees()) names += name + ", ";
    throw TreeError(name_or_path + ": cannot be read: " + std::strerror(file ? EISDIR : errno) + "; allowed: " + names +
                    "or the path of a model file");
  }
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

}  // namespace dodyn::systems
