// Keys bound to the members of a struct: name, unit, range and description in one place; the default is that of the
// member.
//
//   const KeyTable<GaitSettings>& gait_keys() {
//     static const auto table =
//         KeyTable<GaitSettings>("gait.")
//             .add("step-width", &GaitSettings::step_width,
//                  number(from(0, 2), "m", "distance of the feet across"))
//             .add("solver", &GaitSettings::solver, {{"native", Solver::native}, {"ipopt", Solver::ipopt}},
//                  {.description = "solver of the inner problem"});
//     return table;
//   }
//   ...
//   kind.keys = gait_keys().keys();
//   const GaitSettings gait = gait_keys().read(settings);
//
// Members are in SI; if a key has another unit (deg, MB), numbers are converted. A member with the value
// Key::named_number represents the word ("none").
#pragma once

#include <cmath>
#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "record/text.hpp"
#include "settings/settings.hpp"
#include "settings/units.hpp"

namespace dodyn {

// The valid values of a number, in the unit of its key: from(a, b) is [a, b], above(a, b) is (a, b].
struct ValidNumbers {
  double minimum, maximum;
  bool open_minimum;
};
constexpr ValidNumbers from(double minimum, double maximum = 1e308) { return {minimum, maximum, false}; }
constexpr ValidNumbers above(double minimum, double maximum = 1e308) { return {minimum, maximum, true}; }

// Returns the key of a number; KeyTable::add() fills in its name, type and default.
inline Key number(ValidNumbers valid, std::string unit, std::string description) {
  return {.unit = std::move(unit),
          .description = std::move(description),
          .minimum = valid.minimum,
          .maximum = valid.maximum,
          .open_minimum = valid.open_minimum};
}
inline Key number(ValidNumbers valid, std::string description) { return number(valid, "", std::move(description)); }

// Returns the key of a number that a word may replace, such as "none"; `means`: its value, in SI.
inline Key or_word(std::string word, double means, Key key) {
  key.word = std::move(word);
  key.named_number = means;
  return key;
}

// Returns a key whose value may differ between the runs of a study.
inline Key may_change(Key key) {
  key.identity = false;
  return key;
}

// Returns a function from a member of a nested struct to an accessor for KeyTable::add:
//
//   const auto mesh = members_of(&MotionSearch::mesh);    table.add("accuracy", mesh(&MeshLimits::accuracy), ...)
template <class Outer>
auto members_of(Outer outer) {
  return [=](auto member) {
    return [=](auto& s) -> auto& { return s.*outer.*member; };
  };
}
template <class Outer, class Inner>
auto members_of(Outer outer, Inner inner) {
  return [=](auto member) {
    return [=](auto& s) -> auto& { return s.*outer.*inner.*member; };
  };
}

template <class Struct>
class KeyTable {
 public:
  // `section`: prefix of each name, such as "gait."; `defaults`: source of the defaults.
  explicit KeyTable(std::string section, Struct defaults = {})
      : section_(std::move(section)), defaults_(std::move(defaults)) {}

  // Adds a member of type double, int, std::uint64_t, bool or std::string. `member`: a pointer to it, or a function
  // from the struct to a reference in it. The key's type follows from that type; only durations (double) and paths
  // (string) are set in `key`.
  template <class Member>
  KeyTable&& add(const std::string& name, Member member, Key key) && {
    using Value = std::decay_t<std::invoke_result_t<Member, Struct&>>;
    const Value value = std::invoke(member, defaults_);
    key.name = section_ + name;
    if constexpr (std::is_same_v<Value, std::string>) {
      if (key.type != Type::path) key.type = Type::text;
      key.default_value = value;
      bind(key, [member](Struct& s, const std::string& text, const Key&) { std::invoke(member, s) = text; });
    } else if constexpr (std::is_same_v<Value, bool>) {
      key.type = Type::boolean;
      key.default_value = value ? "true" : "false";
      bind(key, [member](Struct& s, const std::string& text, const Key&) { std::invoke(member, s) = text == "true"; });
    } else if constexpr (std::is_integral_v<Value>) {
      key.type = Type::integer;
      key.default_value = is_word(key, static_cast<double>(value)) ? key.word : std::to_string(value);
      bind(key, [member](Struct& s, const std::string& text, const Key& of) {
        std::invoke(member, s) = static_cast<Value>(number_of(of, text));
      });
    } else {
      static_assert(std::is_same_v<Value, double>, "a list of words is needed for an enumeration");
      const double in_si = parse_unit(key.unit).value_or(Unit{}).in_si;
      key.default_value = is_word(key, value) ? key.word : in_si == 1.0 ? to_text(value) : rounded(value / in_si);
      bind(key, [member, in_si](Struct& s, const std::string& text, const Key& of) {
        const bool word = !of.word.empty() && text == of.word;
        std::invoke(member, s) = word ? of.named_number : number_of(of, text) * in_si;
      });
    }
    return std::move(*this);
  }

  // Adds an enumeration; its words are in the order of --help.
  template <class Member, class Value = std::decay_t<std::invoke_result_t<Member, Struct&>>>
  KeyTable&& add(const std::string& name, Member member,
                 std::vector<std::pair<std::string, std::type_identity_t<Value>>> words, Key key) && {
    const Value value = std::invoke(member, defaults_);
    key.name = section_ + name;
    key.type = Type::choice;
    for (const auto& [word, means] : words) {
      key.choices.push_back(word);
      if (means == value && key.default_value.empty()) key.default_value = word;
    }
    if (key.default_value.empty()) throw std::logic_error(key.name + ": no word for the default");
    bind(key, [member, words](Struct& s, const std::string& text, const Key&) {
      for (const auto& [word, means] : words)
        if (word == text) std::invoke(member, s) = means;
    });
    return std::move(*this);
  }

  // Returns the table for the struct `Outer`, whose `member` is of this struct.
  template <class Outer>
  KeyTable<Outer> within(Struct Outer::*member) const {
    KeyTable<Outer> outer(section_);
    for (const Bound& bound : bound_)
      outer.bind(bound.key, [member, set = bound.set](Outer& s, const std::string& text, const Key& key) {
        set(s.*member, text, key);
      });
    return outer;
  }

  // Appends the keys of another table.
  KeyTable&& add(const KeyTable& other) && {
    bound_.insert(bound_.end(), other.bound_.begin(), other.bound_.end());
    return std::move(*this);
  }

  std::vector<Key> keys() const {
    std::vector<Key> all;
    for (const Bound& bound : bound_) all.push_back(bound.key);
    return all;
  }

  // Fills the members from the settings, which must have all the keys.
  void read(const Settings& settings, Struct& into) const {
    for (const Bound& bound : bound_)
      bound.set(into, bound.key.type == Type::path ? settings.path(bound.key.name) : settings.text(bound.key.name),
                bound.key);
  }
  Struct read(const Settings& settings) const {
    Struct s = defaults_;
    read(settings, s);
    return s;
  }
  // Reads from a section of an evaluator; the constructor's `section` is then empty.
  Struct read(const CustomSection& section) const {
    Struct s = defaults_;
    for (const Bound& bound : bound_) bound.set(s, section.text(bound.key), bound.key);
    return s;
  }

 private:
  template <class>
  friend class KeyTable;
  using Set = std::function<void(Struct&, const std::string& canonical, const Key&)>;
  struct Bound {
    Key key;
    Set set;
  };

  void bind(const Key& key, Set set) { bound_.push_back({key, std::move(set)}); }
  static bool is_word(const Key& key, double value) { return !key.word.empty() && value == key.named_number; }
  // recovers 25 deg from 0.4363...
  static std::string rounded(double value) { return to_text(std::stod(formatted("%.12g", value))); }

  std::string section_;
  Struct defaults_;
  std::vector<Bound> bound_;
};

}  // namespace dodyn
