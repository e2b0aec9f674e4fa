#include "surrogate/named.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <stdexcept>
#include <tuple>

#include "record/text.hpp"
#include "settings/choices.hpp"
#include "settings/expression.hpp"

namespace dodyn::surrogate {
namespace {

int index_of(const std::string& name, const std::vector<std::string>& names, bool cost) {
  std::string all = cost ? "cost" : "";
  if (cost && name == "cost") return -1;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i] == name) return static_cast<int>(i);
    all += (all.empty() ? "" : ", ") + names[i];
  }
  throw std::invalid_argument("no '" + name + "'; there are: " + all);
}

std::vector<std::string> names_of(const std::vector<Variable>& variables) {
  std::vector<std::string> names;
  for (const Variable& v : variables) names.push_back(v.name);
  return names;
}

std::optional<double> number(std::string_view text) {
  text = trimmed(text);
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size() || !std::isfinite(value)) return {};
  return value;
}

// Splits a list at commas outside parentheses, and drops empty parts.
std::vector<std::string> parts_of(const std::string& text) {
  std::vector<std::string> parts = split_list(text);
  std::erase(parts, "");
  return parts;
}

using Condition = std::function<bool(const Eigen::VectorXd&)>;

// The value of a quantity in a condition: the value of a variable (its index), or a fixed value (index -1).
struct Value {
  int variable = -1;
  double fixed = 0;
};

struct ParsedCondition {
  Expression expression;
  std::vector<Value> values;  // values of the quantities in the expression
};

std::vector<double> values_at(const std::vector<Value>& values, const Eigen::VectorXd& design) {
  std::vector<double> at;
  for (const Value& v : values) at.push_back(v.variable < 0 ? v.fixed : design(v.variable));
  return at;
}

std::vector<Value> values_of(const Expression& expression, const std::string& text,
                             const std::vector<Variable>& variables, const TextOf& text_of, const std::string& of) {
  const std::vector<std::string> names = names_of(variables);
  std::vector<Value> values;
  for (const Expression::Quantity& q : expression.quantities()) {
    const auto at = std::find(names.begin(), names.end(), q.name);
    if (q.arguments.empty() && at != names.end()) {
      if (q.name == of)
        throw std::invalid_argument("'" + text + "' uses " + of + " itself; a condition is on other variables");
      values.push_back({static_cast<int>(at - names.begin())});
      continue;
    }
    const std::optional<double> fixed = q.arguments.empty() ? number(text_of(q.name)) : std::nullopt;
    if (!fixed) index_of(q.text(), names, false);  // throws if the name is unknown
    values.push_back({-1, *fixed});
  }
  return values;
}

// Parses one condition. `of`: name of the variable to which the condition applies, and which it must not use; empty:
// none.
ParsedCondition parse_expression(const std::string& text, const std::vector<Variable>& variables, const TextOf& text_of,
                                 const std::string& of = "") {
  Expression expression;
  try {
    expression = Expression::parse(text, names_of(variables));
  } catch (const ExpressionError& error) {
    throw std::invalid_argument("'" + text + "': " + error.what());
  }
  if (!expression.is_condition())
    throw std::invalid_argument("'" + text +
                                "' is not a condition; allowed: a comparison of expressions, as in x + y <= 1");
  return {expression, values_of(expression, text, variables, text_of, of)};
}

Condition as_function(ParsedCondition parsed) {
  return [parsed = std::move(parsed)](const Eigen::VectorXd& design) {
    return parsed.expression.holds(values_at(parsed.values, design));
  };
}

// Whether variable `from` uses variable `to`, directly or by the conditions of other variables. `uses` [variables]: the
// variables in the condition of each. No variable may use itself.
bool leads_to(std::size_t from, std::size_t to, const std::vector<std::vector<std::size_t>>& uses) {
  return std::any_of(uses[from].begin(), uses[from].end(),
                     [&](std::size_t next) { return next == to || leads_to(next, to, uses); });
}

}  // namespace

std::vector<int> parse_names(const std::string& text, const std::vector<std::string>& names, bool cost) {
  std::vector<int> indices;
  for (const std::string& word : parts_of(text)) {
    const int index = index_of(word, names, cost);
    if (std::find(indices.begin(), indices.end(), index) != indices.end())
      throw std::invalid_argument("'" + word + "' is named twice; remove one of them");
    indices.push_back(index);
  }
  return indices;
}

namespace {

// Throws if two constraints limit one quantity on the same side, or exclude each other.
void check_limits(const std::vector<Constraint>& constraints) {
  for (std::size_t i = 0; i < constraints.size(); ++i)
    for (std::size_t k = 0; k < i; ++k) {
      const Constraint &one = constraints[k], &other = constraints[i];
      if (one.metric != other.metric) continue;
      if (one.below == other.below)
        throw std::invalid_argument("'" + one.name + "' has two " + (one.below ? "upper" : "lower") +
                                    " limits; remove one of them");
      const double least = one.below ? other.limit : one.limit, most = one.below ? one.limit : other.limit;
      if (least > most)
        throw std::invalid_argument("no value satisfies both " + one.name + " >= " + to_text(least) + " and " +
                                    one.name + " <= " + to_text(most));
    }
}

// Parses constraints without looking their names up.
std::vector<Constraint> parse_limits(const std::string& text) {
  std::vector<Constraint> constraints;
  for (const std::string& part : parts_of(text)) {
    const auto refuse = [&] {
      return std::invalid_argument(
          "'" + part +
          "' is not a constraint; allowed: NAME <= NUMBER, NAME >= NUMBER, NUMBER <= NAME <= NUMBER, "
          "NAME = NUMBER +- NUMBER");
    };
    const auto add = [&](std::string_view name, bool below, std::string_view limit) {
      const std::optional<double> value = number(limit);
      if (!value)
        throw std::invalid_argument("'" + part + "': '" + std::string(trimmed(limit)) +
                                    "' is not a number; a limit is a number in the unit of its metric");
      constraints.push_back({.name = std::string(trimmed(name)), .limit = *value, .below = below});
    };
    const std::string_view all = part;
    const auto sign = std::min(all.find("<="), all.find(">="));
    if (sign == std::string::npos) {  // an equality with a tolerance
      const auto equal = all.find('='), plus = all.find("+-");
      if (equal == std::string::npos || plus == std::string::npos || plus < equal) throw refuse();
      const auto middle = number(all.substr(equal + 1, plus - equal - 1)), half = number(all.substr(plus + 2));
      if (!middle || !half || !(*half > 0)) throw refuse();
      add(all.substr(0, equal), false, to_text(*middle - *half));
      add(all.substr(0, equal), true, to_text(*middle + *half));
      continue;
    }
    const bool below = all[sign] == '<';
    const auto rest = all.substr(sign + 2);
    if (const auto second = rest.find(below ? "<=" : ">="); second != std::string::npos) {  // limits on both sides
      const auto name = rest.substr(0, second);
      add(name, !below, all.substr(0, sign));
      add(name, below, rest.substr(second + 2));
    } else {
      add(all.substr(0, sign), below, rest);
    }
  }
  return constraints;
}

}  // namespace

std::vector<Constraint> parse_constraints(const std::string& text, const std::vector<std::string>& metrics) {
  std::vector<Constraint> constraints = parse_limits(text);
  for (Constraint& c : constraints) c.metric = index_of(c.name, metrics, true);
  check_limits(constraints);
  return constraints;
}

std::vector<std::string> constrained_names(const std::string& text) {
  std::vector<std::string> names;
  for (const Constraint& c : parse_limits(text)) names.push_back(c.name);
  return names;
}

std::vector<Domain> parse_domains(const Named& named, const std::vector<Variable>& variables, const TextOf& text_of) {
  std::vector<Domain> domains(variables.size());
  const std::vector<std::string> names = names_of(variables);
  // [variables] setting that gave the variable its type; empty: none
  std::vector<std::string> sources(variables.size());
  bool any = false;
  const auto one = [&](std::size_t i, Domain domain, const std::string& source) {
    if (domains[i].kind == Domain::integer && domain.kind == Domain::logarithmic) {  // whole numbers on a log scale
      domains[i].on_log_scale = true;
      return;
    }
    if (!sources[i].empty()) throw std::invalid_argument(names[i] + " has a type already, by " + sources[i]);
    domains[i] = std::move(domain);
    sources[i] = source;
    any = true;
  };
  for (std::size_t i = 0; i < variables.size(); ++i)
    if (const std::vector<std::string> words = choices_in(text_of(names[i])); !words.empty()) {
      std::vector<double> values;
      for (const std::string& word : words)
        if (const auto value = number(word)) values.push_back(*value);
      one(i, values.size() == words.size() ? Domain(values) : Domain(Domain::category), "the list design." + names[i]);
    }
  for (const auto& [list, kind, key] : {std::tuple(named.integers, Domain::integer, "surrogate.integers"),
                                        std::tuple(named.categories, Domain::category, "surrogate.categories"),
                                        std::tuple(named.logarithmic, Domain::logarithmic, "surrogate.log-scale")})
    for (const int i : parse_names(list, names, false)) one(i, kind, key);
  std::vector<std::vector<std::size_t>> uses(variables.size());
  for (const std::string& part : parts_of(named.conditional)) {
    const auto at = part.find(" if ");
    if (at == std::string::npos)
      throw std::invalid_argument("'" + part + "' is not understood; allowed: NAME if CONDITION");
    const std::size_t i = index_of(std::string(trimmed(std::string_view(part).substr(0, at))), names, false);
    if (domains[i].active) throw std::invalid_argument(names[i] + " has two conditions; join them with 'and' into one");
    ParsedCondition condition = parse_expression(part.substr(at + 4), variables, text_of, names[i]);
    for (const Value& value : condition.values) {
      if (value.variable < 0) continue;
      const std::size_t other = value.variable;
      if (leads_to(other, i, uses))
        throw std::invalid_argument("'" + part + "' closes a circle: whether " + names[other] + " exists depends on " +
                                    names[i] + "; remove one of the conditions");
      uses[i].push_back(other);
    }
    domains[i].active = as_function(std::move(condition));
    any = true;
  }
  if (!any) domains.clear();
  return domains;
}

std::function<bool(const Eigen::VectorXd&)> parse_conditions(const std::string& text,
                                                             const std::vector<Variable>& variables,
                                                             const TextOf& text_of) {
  std::vector<Condition> conditions;
  for (const std::string& part : parts_of(text))
    conditions.push_back(as_function(parse_expression(part, variables, text_of)));
  if (conditions.empty()) return {};
  return [conditions](const Eigen::VectorXd& design) {
    return std::all_of(conditions.begin(), conditions.end(), [&](const Condition& c) { return c(design); });
  };
}

std::vector<std::function<double(const Eigen::VectorXd&)>> parse_margins(const std::string& text,
                                                                         const std::vector<Variable>& variables,
                                                                         const TextOf& text_of) {
  std::vector<std::function<double(const Eigen::VectorXd&)>> margins;
  for (const std::string& part : parts_of(text)) {
    std::vector<Expression::Comparison> comparisons;
    try {
      comparisons = parse_expression(part, variables, text_of).expression.comparisons();
    } catch (const ExpressionError&) {  // another condition, such as one with 'or'
      return {};
    }
    for (const Expression::Comparison& comparison : comparisons) {
      if (comparison.equality) return {};
      margins.push_back(
          [what = comparison.what, values = values_of(comparison.what, part, variables, text_of, "")](
              const Eigen::VectorXd& design) { return what.evaluate<double>(values_at(values, design)); });
    }
  }
  return margins;
}

}  // namespace dodyn::surrogate
