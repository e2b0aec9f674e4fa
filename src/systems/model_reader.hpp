// Reader of model files (model_reader.cpp, part_reader.cpp).
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "systems/hybrid_model.hpp"

namespace dodyn::systems {

class ModelReader {
 public:
  ModelReader(std::string_view text, const std::string& origin);
  // `given`: parameters on which counts of links may depend.
  Model model(const std::map<std::string, double>& given = {});
  const HybridParts& pieces() const { return pieces_; }  // valid after the model is read

 private:
  using Entry = ini::Entry;
  using Section = ini::Section;
  using Vector = std::array<Number, 3>;

  // ---- numbers. `unit`: expected unit; empty: any. `key`: name of the key, for messages
  Expression expression(const std::string& text, int line) const;
  Definition definition(const std::string& text, int line, bool condition = false) const;
  Measure measure(const Definition& definition);
  Measure measure(const Formula<Number>& formula, int line);
  void require(const Measure& measure, std::string_view unit, const std::string& key, const std::string& text,
               int line);
  Number number(const std::string& text, int line, const std::string& key, std::string_view unit);
  Number number(const Entry& entry, std::string_view unit) { return number(entry.value, entry.line, entry.key, unit); }
  Number number_or(const Section& section, const char* key, double otherwise, std::string_view unit);
  Number at_least_zero(const Section& section, const char* key, double otherwise, const char* unit);
  Number restitution(const Section& section);
  std::optional<Number> positive(const Section& section, const char* key, const char* unit);
  // Reads one number per dimension.
  Vector vector(const std::string& text, int line, const std::string& key, std::string_view unit);
  Vector vector_or_zero(const Section& section, const char* key, std::string_view unit);
  // Reads an axial vector: one number in the plane (its third component), three in space.
  Vector axial(const Entry& entry, std::string_view unit);
  int count(const Entry& entry, int least, int most);
  Formula<Number> formula(const std::string& text, int line, bool of_positions_alone, const std::string& key,
                          std::string_view unit);
  std::string_view position_unit(int coordinate) const { return model_.slides(coordinate) ? "m" : "rad"; }
  std::string_view rate_unit(int coordinate) const { return model_.slides(coordinate) ? "m/s" : "rad/s"; }
  std::string_view force_unit(int coordinate) const { return model_.slides(coordinate) ? "N" : "N m"; }

  // ---- names
  template <class Named>
  int named(const Entry& entry, const std::vector<Named>& all, const char* what, const char* before = "") const;
  int link(const Entry& entry) const;
  int coordinate(const Entry& entry) const;
  Place<Number> place(const Entry& entry);
  Place<Number> place_of(const Section& section);  // reads the keys link and at

  // ---- sections
  const Section& single(const char* kind) const;
  const Entry& needed(const Section& section, const char* key) const;
  template <class F>
  void each(const char* kind, F f);
  void read_parameters();
  void repeat(const std::map<std::string, double>& given);
  void read_model();
  // Throws if the units of charges and charge-constant do not give an energy, or if there are no charges for it.
  void check_charges();
  // Returns the moves of a joint. Appends axes other than x, y, z to `axes`.
  std::vector<Move> moves(const Entry& entry, std::vector<Vector>& axes);
  Vector direction(const std::string& text, const Entry& entry);
  void read_link(const Section& section);
  void read_names();
  void read_followers();
  // Throws if a formula contains anything except coordinates and parameters.
  void check_of_coordinates(const Formula<Number>& formula, const Entry& entry) const;
  void read_mass(const Section& section);
  void check_counterpart(const Section& mass) const;
  void read_shape(const Section& section);
  void read_spring(const Section& section);
  void read_rotor(const Section& section);
  void read_load(const Section& section);
  void read_actuator(const Section& section);
  void read_joint_limit(const Section& section);
  void read_knee(const Section& section);
  void read_contacts(const Section& section);
  void read_gap_contact(const Section& section);
  void read_stop(const Section& section);
  void read_reset(const Section& section);
  Number yes_or_no(const Section& section, const char* key);
  // Reads a key that is a coordinate or rate(COORDINATE); true: it is a rate.
  std::pair<int, bool> coordinate_or_rate(const Entry& entry) const;
  void complete();
  // Sets the units of parameters that state none, where the expressions that use them determine one.
  void find_parameter_units();

  [[noreturn]] void fail(int line, const std::string& complaint) const { text_.fail(line, complaint); }

  ini::Text text_;
  Model model_;
  HybridParts pieces_;
  std::unordered_map<std::string, int> parameters_;  // index by name
  std::set<std::string> counted_;                    // names of links with a count
  std::unordered_map<std::string, int> numbers_;     // index by text
  Dimensions dimensions_;
  std::vector<Measure> parameter_measures_;
  std::vector<bool> centre_given_;
  int coordinates_ = 0;
};

template <class Named>
int ModelReader::named(const Entry& entry, const std::vector<Named>& all, const char* what, const char* before) const {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i].name == entry.value) return static_cast<int>(i);
    names.push_back(all[i].name);
  }
  fail(entry.line, entry.key + " = " + shown(entry.value) + " is not a known " + what +
                       did_you_mean(entry.value, names) + "; allowed: " + before +
                       (names.empty() && !*before ? "none" : listed(names)));
}

}  // namespace dodyn::systems
