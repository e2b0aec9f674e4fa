#include "evaluators/simulation/formula.hpp"

#include <algorithm>
#include <cctype>
#include <map>

namespace dodyn::evaluators::simulation {
namespace {

const std::map<std::string, Seen::Kind> plain = {
    {"t", Seen::time},
    {"touching", Seen::touching},
    {"touched", Seen::touched},
    {"since_touch", Seen::since_touch},
    {"resting", Seen::resting},
    {"kinetic", Seen::kinetic},
    {"potential", Seen::potential},
    {"energy_change", Seen::energy_change},
    {"largest_overlap", Seen::largest_overlap},
    {"largest_spin", Seen::largest_spin},
    {"effort", Seen::effort},
    {"position_error", Seen::position_error},
    {"attitude_error", Seen::attitude_error},
};
// ... of a controller
bool of_controller(Seen::Kind kind) {
  return kind == Seen::effort || kind == Seen::position_error || kind == Seen::attitude_error;
}
const std::map<std::string, Seen::Kind> of_links = {{"touching", Seen::touching_links}, {"gap", Seen::gap}};

// The parts of a condition between `and`s outside of parentheses; of one with an `or` there none.
std::vector<std::string> conjuncts(const std::string& text) {
  std::vector<std::string> parts(1);
  int depth = 0;
  std::string word;
  const auto add = [&](const std::string& more) { parts.back() += (parts.back().empty() ? "" : " ") + more; };
  const auto end_word = [&]() {
    if (depth == 0 && word == "or") return false;
    if (depth == 0 && word == "and")
      parts.emplace_back();
    else if (!word.empty())
      add(word);
    word.clear();
    return true;
  };
  for (const char c : text) {
    const bool in_word = std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.';
    if (in_word) {
      word += c;
      continue;
    }
    if (!end_word()) return {};
    if (c == ' ' || c == '\t') continue;
    if (c == '(') ++depth;
    if (c == ')') --depth;
    add(std::string(1, c));
  }
  return end_word() ? parts : std::vector<std::string>{};
}

int link(const systems::Model& model, const std::string& name) {
  const auto& links = model.structure.links;
  const auto at = std::find_if(links.begin(), links.end(), [&](const auto& one) { return one.name == name; });
  return at == links.end() ? -1 : static_cast<int>(at - links.begin());
}

}  // namespace

bool Formula::uses(Seen::Kind kind) const {
  return std::any_of(arguments.begin(), arguments.end(), [&](const Seen& seen) { return seen.kind == kind; });
}

bool Formula::uses_coordinates() const {
  return std::any_of(arguments.begin(), arguments.end(), [](const Seen& seen) {
    return seen.kind == Seen::model && seen.variable.kind != systems::Variable::parameter;
  });
}

Expression parsed(const FreeEntry& entry, const std::string& text) {
  try {
    return Expression::parse(text);
  } catch (const ExpressionError& error) {
    throw entry.error(error.what());
  }
}

Formula FormulaReader::condition(const FreeEntry& entry) {
  Formula f = read(entry, parsed(entry, entry.value), true);
  // a lone name that is true or not is a condition, too
  const bool truth =
      f.arguments.size() == 1 && f.expression == parsed(entry, f.expression.quantities()[0].text()) &&
      (f.uses(Seen::touching) || f.uses(Seen::touched) || f.uses(Seen::resting) || f.uses(Seen::touching_links));
  if (!f.expression.is_condition() && !truth)
    throw entry.error("is no condition; allowed: comparisons, touching, touched, resting, joined by and, or, not");
  for (const std::string& part : conjuncts(entry.value))
    if (const auto at = plain.find(part); at != plain.end())
      for (const Seen& seen : f.arguments)
        if (seen.kind == at->second &&
            (seen.kind == Seen::touching || seen.kind == Seen::touched || seen.kind == Seen::resting))
          f.guards.push_back(seen);
  return f;
}

Formula FormulaReader::number(const FreeEntry& entry) {
  Formula f = read(entry, parsed(entry, entry.value), true);
  if (f.expression.is_condition()) throw entry.error("is a condition; allowed: a number");
  return f;
}

Formula FormulaReader::start(const FreeEntry& entry, const Expression& expression) {
  if (expression.is_condition()) throw entry.error("is a condition; allowed: a number");
  return read(entry, expression, false);
}

Formula FormulaReader::requirement(const FreeEntry& entry) {
  Formula f = read(entry, parsed(entry, entry.value), false);
  if (!f.expression.is_condition()) throw entry.error("is no condition; allowed: comparisons, and, or, not");
  if (f.uses(Seen::start)) throw entry.error("speaks of a start; allowed: parameters of the model");
  return f;
}

Formula FormulaReader::read(const FreeEntry& entry, const Expression& expression, bool of_state) {
  Formula f{expression, {}, {}};
  for (const auto& quantity : expression.quantities()) {
    Seen seen;
    if (const auto at = std::find(starts_.begin(), starts_.end(), quantity.text()); at != starts_.end()) {
      const auto index = static_cast<std::size_t>(at - starts_.begin());
      const bool known = model_.variable(quantity).has_value();  // a coordinate, rate or parameter that starts set
      if (!known || !of_state) {
        used_[index] = true;
        f.arguments.push_back({Seen::start, {}, static_cast<int>(index)});
        continue;
      }
    }
    const auto variable = model_.variable(quantity);
    if (variable && (of_state || variable->kind == systems::Variable::parameter) &&
        variable->kind != systems::Variable::control) {
      f.arguments.push_back({Seen::model, *variable});
      continue;
    }
    if (of_state && quantity.arguments.empty())
      if (const auto at = plain.find(quantity.name); at != plain.end() && (controlled_ || !of_controller(at->second))) {
        f.arguments.push_back({at->second, {}});
        continue;
      }
    if (of_state && quantity.arguments.size() == 2)
      if (const auto at = of_links.find(quantity.name); at != of_links.end()) {
        const int one = link(model_, quantity.arguments[0]), other = link(model_, quantity.arguments[1]);
        std::vector<std::string> links;
        for (const auto& l : model_.structure.links) links.push_back(l.name);
        for (const auto& [index, name] :
             {std::pair(one, quantity.arguments[0]), std::pair(other, quantity.arguments[1])})
          if (index < 0)
            throw entry.error("no link '" + shown(name) + "'" + did_you_mean(name, links) +
                              "; links: " + listed(links));
        f.arguments.push_back({at->second, {}, one, other});
        continue;
      }
    std::vector<std::string> known = starts_;
    for (const auto& parameter : model_.parameters) known.push_back(parameter.name);
    if (of_state) {
      for (const auto& name : model_.structure.coordinate_names) known.push_back(name);
      for (const auto& name : model_.structure.coordinate_names) known.push_back("rate(" + name + ")");
      for (const auto& point : model_.structure.named_points) known.push_back(point.name + ".x");
      for (const auto& [name, kind] : plain)
        if (controlled_ || !of_controller(kind)) known.push_back(name);
    }
    throw entry.error("'" + shown(quantity.text()) + "' is unknown" + did_you_mean(quantity.text(), known) +
                      "; allowed: " +
                      (of_state ? "parameters, coordinates, rate(COORDINATE), POINT.x, speed(POINT), "
                                  "distance(POINT, POINT), angle(LINK, LINK), gap(LINK, LINK), touching(LINK, LINK)"
                                : "parameters and variables of [starts]") +
                      "; known here: " + listed(known));
  }
  return f;
}

}  // namespace dodyn::evaluators::simulation
