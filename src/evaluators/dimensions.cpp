#include "evaluators/dimensions.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "evaluators/motion/placement.hpp"
#include "evaluators/simulation/feedback_law.hpp"
#include "record/text.hpp"
#include "settings/dimensions.hpp"
#include "settings/expression.hpp"

namespace dodyn::evaluators {
namespace {

// Sections that define names. They are checked first, because expressions of further sections use these names.
constexpr std::array<std::string_view, 2> definitions = {"parameters", "initial-states"};
constexpr std::array<std::string_view, 15> uses = {"feedback", "phase",    "initial-state", "goal",    "guess",
                                                   "periodic", "waypoint", "require",       "outcome", "cost",
                                                   "avoid",    "world",    "body",          "rigid",   "wall"};

// Quantities that are not the model's (docs/motions.md, docs/simulation.md).
const std::map<std::string, std::string_view> others = {{"t", "s"},
                                                        {"time_since_contact", "s"},
                                                        {"kinetic", "J"},
                                                        {"potential", "J"},
                                                        {"max_overlap", "m"},
                                                        {"energy_change", "J"},
                                                        {"max_spin", "rad/s"},
                                                        {"max_impulse", "N s"},
                                                        {"radius_of_gyration", "m"},
                                                        {"position_error", "m"},
                                                        {"attitude_error", "rad"},
                                                        {"normal", "N"},
                                                        {"tangential", "N"},
                                                        {"step-length", "m"},
                                                        {"step-width", "m"},
                                                        {"period", "s"},
                                                        {"i", "1"},
                                                        {"j", "1"},
                                                        {"k", "1"},
                                                        {"has_touched", "1"},
                                                        {"resting", "1"},
                                                        {"at_end", "1"}};
// Functions of two points or links.
const std::map<std::string, std::string_view> functions = {
    {"distance", "m"}, {"gap", "m"}, {"x", "m"}, {"y", "m"}, {"z", "m"}, {"angle", "rad"}, {"in_contact", "1"}};

const std::map<std::string, std::string_view> places = {  // units by section and key
    {"phase.duration", "s"}, {"phase.intervals", "1"},      {"periodic.period", "s"},   {"outcome.dwell", "s"},
    {"waypoint.share", "1"}, {"avoid.max-rotation", "rad"}, {"avoid.growth-steps", "1"}};

// Units of the bodies that a configuration describes (docs/elastic.md), by key.
const std::map<std::string, std::string_view> of_bodies = {{"gravity", "m/s2"},  {"stiffness", "N/m"}, {"size", "m"},
                                                           {"cells", "1"},       {"lambda", "Pa"},     {"mu", "Pa"},
                                                           {"density", "kg/m3"}, {"at", "m"},          {"turn", "rad"},
                                                           {"velocity", "m/s"},  {"spin", "rad/s"},    {"repeat", "1"}};

class Check {
 public:
  Check(const Settings& settings, const systems::Model& model) : settings_(settings), model_(model) {}

  void run() {
    define_law_states();
    for (const bool defines : {true, false})
      for (const CustomSection& section : settings_.sections)
        if (defines ? is_one_of(section.kind, definitions) : is_one_of(section.kind, uses))
          for (const CustomEntry& entry : section.entries) check(section, entry);
  }

  std::vector<Quantity> metrics(const std::vector<Quantity>& known, const std::vector<std::string>& aggregates) {
    run();
    aggregates_ = aggregates;
    for (const Quantity& metric : known)
      own_.emplace(metric.name, metric.unit.empty() ? dimensions_.unknown(metric.name) : of_unit(metric.unit));
    std::vector<Quantity> all;
    for (const CustomSection* section : settings_.sections_of("metrics"))
      for (const CustomEntry& entry : section->entries) {
        const Measure found = measured(entry, entry.value).value_or(dimensions_.unknown(entry.key));
        own_.emplace(entry.key, found);
        const Measure known_now = dimensions_.resolved(found);
        const bool has_unit = known_now.unknowns.empty() && !known_now.any;
        all.push_back({entry.key,
                       !has_unit                                ? ""
                       : known_now.is_pure() && known_now.angle ? "rad"
                                                                : si_unit(known_now.exponents),
                       "value" + std::string(has_unit ? "" : ", in SI units,") + " of " + entry.value});
      }
    return all;
  }

 private:
  static bool is_one_of(std::string_view kind, std::span<const std::string_view> kinds) {
    return std::ranges::find(kinds, kind) != kinds.end();
  }
  static Measure of_unit(std::string_view unit) {
    return unit == "1" ? Measure::anything() : Measure::of(parse_unit(unit).value());
  }

  // Returns the dimension of an aggregate of an expression, such as integral(u.hip^2, flight).
  std::optional<Measure> of_aggregate(const CustomEntry& entry, const Expression::Quantity& call) {
    const std::vector<std::string> parts = split_list(call.arguments.front());
    const auto argument = parts.empty() ? std::nullopt : measured(entry, parts.front());
    return argument && call.name == "integral" ? argument->times(of_unit("s"), 1.0) : argument;
  }

  // Returns the dimension of a name; nullopt: the name is unknown here.
  std::optional<Measure> of(const CustomEntry& entry, const Expression::Quantity& quantity) {
    if (std::ranges::find(aggregates_, quantity.name) != aggregates_.end() && !quantity.arguments.empty())
      return of_aggregate(entry, quantity);
    if (const auto at = own_.find(quantity.text()); at != own_.end()) return at->second;
    if (const auto variable = model_.variable(quantity)) {
      const std::string_view unit = model_.unit(*variable);
      if (variable->kind != systems::Variable::parameter || unit != "1") return of_unit(unit);
      return own_.emplace(quantity.text(), dimensions_.unknown(quantity.text())).first->second;
    }
    if (quantity.name == "rate" && quantity.arguments.size() == 1)
      if (const auto control = model_.variable({quantity.arguments[0], {}}))
        return of_unit(std::string(model_.unit(*control)) + "/s");
    if (quantity.name == "reaction" && quantity.arguments.size() == 1)
      if (const auto held = model_.variable({quantity.arguments[0], {}}))
        return of_unit(std::string_view(model_.unit(*held)) == "m" ? "N" : "N m");
    const auto& known = quantity.arguments.size() == 2 ? functions : others;
    const auto at = known.find(quantity.name);
    return at == known.end() ? std::nullopt : std::optional(of_unit(at->second));
  }

  static bool is_condition(const CustomEntry& entry) {
    try {
      return Expression::parse(entry.value).is_condition();
    } catch (const ExpressionError&) {
      return false;
    }
  }

  // Defines the states of [feedback]. Their expressions determine their dimensions.
  void define_law_states() {
    for (const CustomSection* section : settings_.sections_of("feedback"))
      for (const CustomEntry& entry : section->entries)
        if (const std::string name = simulation::rated_state(entry); !name.empty() && !model_.variable({name, {}}))
          own_.emplace(name, dimensions_.unknown(name));
  }

  // Checks an entry of [feedback]. A control has the unit of its actuator. The rate of a state has the unit of the
  // state divided by time.
  void check_law(const CustomEntry& entry) {
    if (is_condition(entry)) return;  // the section's reader refuses it
    const std::optional<Measure> found = measured(entry, entry.value);
    if (!found) return;
    const std::string name = simulation::rated_state(entry);
    if (const auto state = own_.find(name.empty() ? entry.key : name); state != own_.end()) {
      const Measure wanted = name.empty() ? state->second : state->second.times(of_unit("s"), -1.0);
      if (!dimensions_.agree(wanted, *found))
        throw entry.error("is " + dimensions_.described(*found) + "; expected " + dimensions_.described(wanted));
    } else if (const auto actuator = model_.variable({"u." + entry.key, {}})) {
      expect_unit(entry, dimensions_, *found, model_.unit(*actuator));
    }
  }

  // Returns the unit that the entry must have; empty: any.
  std::string_view wanted(const CustomSection& section, const CustomEntry& entry) const {
    const auto place = places.find(section.kind + "." + entry.key);
    if (place != places.end()) return place->second;
    constexpr std::array<std::string_view, 4> bodies = {"world", "body", "rigid", "wall"};
    if (is_one_of(section.kind, bodies)) {
      const auto at = of_bodies.find(entry.key);
      return at == of_bodies.end() ? "" : at->second;
    }
    constexpr std::array<std::string_view, 4> free = {"phase", "parameters", "require", "metrics"};
    if (is_one_of(section.kind, free)) return "";
    if (section.kind == "avoid") return "m";
    try {
      const Expression name = Expression::parse(entry.key);
      if (name.quantities().size() != 1) return "";
      const auto variable = model_.variable(name.quantities()[0]);
      const std::string_view unit = variable ? model_.unit(*variable) : "";
      return unit == "1" ? "" : unit;  // a parameter without a unit may have any
    } catch (const ExpressionError&) {
      return "";
    }
  }

  void check(const CustomSection& section, const CustomEntry& entry) {
    if (entry.key == "cost") return must_be_finite(entry);  // may have any unit
    if (section.kind == "cost") return check_weight(entry);
    if (section.kind == "feedback") return check_law(entry);
    constexpr std::array<std::string_view, 3> placed = {"initial-state", "goal", "waypoint"};
    if (is_one_of(section.kind, placed))
      for (const auto& [expression, unit] : quantities_of(entry.value))
        if (const auto found = measured(entry, expression)) expect_unit(entry, dimensions_, *found, unit);
    std::string_view text = entry.value;
    std::vector<std::string> parts;
    if (const auto dots = text.find(".."); dots != text.npos)
      parts = {std::string(text.substr(0, dots)), std::string(text.substr(dots + 2))};
    else
      parts = split_list(text);
    const bool defines = is_one_of(section.kind, definitions);
    const std::string_view unit = wanted(section, entry);
    std::optional<Measure> first;
    for (const std::string& part : parts) {
      const std::optional<Measure> found = measured(entry, part);
      if (!found) continue;
      if (defines && first && !dimensions_.agree(*first, *found))
        throw entry.error("is a range from " + dimensions_.described(*first) + " to " + dimensions_.described(*found) +
                          "; allowed: one dimension");
      if (const auto own = own_.find(entry.key); section.kind == "initial-states" && !first && own != own_.end())
        if (!dimensions_.agree(own->second, *found))
          throw entry.error("is " + dimensions_.described(*found) + "; expected " + dimensions_.described(own->second) +
                            ", like the parameter");
      if (defines && unit.empty() && (!first || first->any))
        own_[entry.key] = found->any ? dimensions_.unknown(entry.key) : *found;
      if (!first || first->any) first = found;
      if (!unit.empty()) expect_unit(entry, dimensions_, *found, unit);
    }
  }

  // Returns the unit of squared controls times time; empty: some actuators exert forces and some torques.
  std::string unit_of_squared_control() const {
    std::string unit;
    for (std::size_t i = 0; i < model_.structure.actuators.size(); ++i) {
      const std::string own(model_.unit({systems::Variable::control, static_cast<int>(i)}));
      if (!unit.empty() && own != unit) return "";
      unit = own;
    }
    return unit.empty() ? "" : unit + " " + unit + " s";
  }

  // Checks the unit of a weight in [cost]. The cost of a gait is a number: a work divided by a weight and a length. The
  // cost of a motion may have any unit, but weights with units must give all its terms the same unit. Terms of
  // expressions are not checked, because their factors have no units.
  void check_weight(const CustomEntry& entry) {
    must_be_finite(entry);
    const bool gait = settings_.evaluator == "gait";
    std::string unit;  // of the term without its weight
    if (entry.key == "absolute-work" || entry.key == "positive-work" || entry.key == "loss") unit = "J";
    if (entry.key == "squared-torque" && gait) unit = "N2 m2 s";
    if (entry.key == "time" && !gait) unit = "s";
    if (entry.key == "squared-control" && !gait) unit = unit_of_squared_control();
    if (unit.empty()) return;
    const std::optional<Measure> weight = measured(entry, entry.value);
    if (!weight || weight->any) return;
    const Measure term = weight->times(of_unit(unit), 1.0);
    if (gait) return expect_unit(entry, dimensions_, *weight, unit == "J" ? "1" : "1/(N m s)");
    if (cost_.any) cost_ = term;
    if (!dimensions_.agree(cost_, term))
      throw entry.error("makes a cost that is " + dimensions_.described(term) + "; by the weights before it is " +
                        dimensions_.described(cost_) + "; give all weights units of one cost, or none");
  }

  static void must_be_finite(const CustomEntry& entry, const Expression& expression) {
    if (expression.is_constant() && !std::isfinite(expression.constant())) throw entry.error("is not a finite number");
  }
  static void must_be_finite(const CustomEntry& entry) {
    try {
      must_be_finite(entry, Expression::parse(entry.value));
    } catch (const ExpressionError&) {  // the section's reader judges it
    }
  }

  // Returns nullopt if the text is not an expression of names that are known here.
  std::optional<Measure> measured(const CustomEntry& entry, const std::string& text) {
    static const std::vector<std::string> of_gaits = {"step-length", "step-width"};
    Expression expression;
    try {
      expression =
          Expression::parse(text, settings_.evaluator == "gait" ? of_gaits : std::vector<std::string>(), aggregates_);
    } catch (const ExpressionError&) {
      return std::nullopt;
    }
    must_be_finite(entry, expression);
    std::vector<Measure> used;
    for (const auto& quantity : expression.quantities()) {
      const auto one = of(entry, quantity);
      if (!one) return std::nullopt;
      used.push_back(*one);
    }
    try {
      return expression.measure(dimensions_, used);
    } catch (const ExpressionError& error) {
      throw entry.error(error.what());
    }
  }

  const Settings& settings_;
  const systems::Model& model_;
  Dimensions dimensions_;
  Measure cost_ = Measure::anything();  // dimension of the cost, by weights with units
  // Dimension by name: metrics, entries that define names, states of [feedback], and model parameters without a unit.
  std::map<std::string, Measure> own_;
  std::vector<std::string> aggregates_;  // functions of [metrics]
};

}  // namespace

void expect_unit(const CustomEntry& entry, Dimensions& dimensions, const Measure& found, std::string_view unit) {
  const Unit place = parse_unit(unit).value();
  if (!dimensions.agree(found, Measure::of(place)))
    throw entry.error("is " + dimensions.described(found) + "; expected " + described(place, unit));
}

void check_dimensions(const Settings& settings, const systems::Model& model) { Check(settings, model).run(); }

std::vector<Quantity> metric_quantities(const Settings& settings, const systems::Model& model,
                                        const std::vector<Quantity>& known,
                                        const std::vector<std::string>& aggregates) {
  return Check(settings, model).metrics(known, aggregates);
}

}  // namespace dodyn::evaluators
