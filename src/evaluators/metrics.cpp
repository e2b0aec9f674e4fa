#include "evaluators/metrics.hpp"

#include <algorithm>
#include <cctype>
#include <optional>

#include "evaluators/dimensions.hpp"
#include "evaluators/parameters.hpp"

namespace dodyn::evaluators {

namespace {

bool is_of_name(unsigned char c) { return std::isalnum(c) || c == '_'; }

std::optional<std::size_t> place_of(const std::string& name, const std::vector<std::string>& names) {
  const auto at = std::ranges::find(names, name);
  return at == names.end() ? std::nullopt : std::optional<std::size_t>(at - names.begin());
}

}  // namespace

MetricExpressions::MetricExpressions(const Settings& settings, const systems::Model& model, Names names,
                                     const Read& read)
    : names_(std::move(names)) {
  for (const CustomSection* section : settings.sections_of("metrics"))
    for (const CustomEntry& entry : section->entries) {
      expect_new_name(model, entry);
      if (!std::ranges::all_of(entry.key, is_of_name) || std::isdigit(static_cast<unsigned char>(entry.key.front())))
        throw entry.error("not a valid name; allowed: letters, digits and _");
      if (place_of(entry.key, names_.parameters)) throw entry.error("is a parameter; choose another name");
      try {
        read_entry(*section, entry, read);
      } catch (const ExpressionError& error) {
        throw entry.error(error.what());
      }
    }
  quantities_ = metric_quantities(settings, model, names_.metrics, names_.aggregates);
}

void MetricExpressions::read_entry(const CustomSection& section, const CustomEntry& entry, const Read& read) {
  Entry made{Expression::parse(entry.value, names_.parameters, names_.aggregates), {}};
  if (made.expression.is_condition()) throw entry.error("is a condition; allowed: a number");
  for (const Expression::Quantity& quantity : made.expression.quantities())
    made.arguments.push_back(argument(section, entry, quantity, read));
  entries_.push_back(std::move(made));
}

MetricExpressions::Argument MetricExpressions::argument(const CustomSection& section, const CustomEntry& entry,
                                                        const Expression::Quantity& quantity, const Read& read) {
  const std::string text = quantity.text();
  if (place_of(quantity.name, names_.aggregates) && !quantity.arguments.empty()) {
    if (const auto known = std::ranges::find(calls_, quantity); known != calls_.end())
      return {Argument::aggregate, static_cast<std::size_t>(known - calls_.begin())};
    read(entry, parsed(entry, quantity));
    calls_.push_back(quantity);
    return {Argument::aggregate, calls_.size() - 1};
  }
  std::vector<std::string> metrics = names_of(names_.metrics);
  for (std::size_t i = 0; i < entries_.size(); ++i) metrics.push_back(section.entries[i].key);
  if (const auto parameter = place_of(text, names_.parameters)) return {Argument::parameter, *parameter};
  if (const auto metric = place_of(text, metrics)) return {Argument::metric, *metric};
  if (section.find(text)) throw entry.error("uses " + text + ", which is not above it; change the order");
  std::optional<std::string> unknown;
  try {  // a quantity outside an aggregate
    read(entry, {names_.aggregates.front(), Expression::parse(text, names_.parameters)});
  } catch (const std::runtime_error& error) {
    unknown = error.what();
  }
  if (!unknown)
    throw entry.error("'" + text + "' has many values; take one of them, such as " + names_.aggregates.front() + "(" +
                      text + "); allowed: " + listed(names_.aggregates));
  metrics.insert(metrics.end(), names_.parameters.begin(), names_.parameters.end());
  metrics.insert(metrics.end(), names_.aggregates.begin(), names_.aggregates.end());
  throw entry.error("unknown name '" + shown(text) + "'" +
                    did_you_mean(quantity.arguments.empty() ? text : quantity.name, metrics) +
                    "; allowed: parameters, metrics above, and " + listed(names_.aggregates) + " of an expression");
}

Aggregate MetricExpressions::parsed(const CustomEntry& entry, const Expression::Quantity& call) const {
  const std::vector<std::string> parts = split_list(call.arguments.front());
  if (parts.empty() || parts.size() > 2)
    throw entry.error("'" + shown(call.text()) + "' has " + std::to_string(parts.size()) +
                      " arguments; allowed: an expression, and the name of a phase");
  Aggregate aggregate{call.name, Expression::parse(parts.front(), names_.parameters, names_.aggregates)};
  for (const Expression::Quantity& quantity : aggregate.argument.quantities())
    if (place_of(quantity.name, names_.aggregates) && !quantity.arguments.empty())
      throw entry.error("'" + shown(call.text()) +
                        "' has an aggregate in an aggregate; allowed: one of an expression " + "without " +
                        listed(names_.aggregates));
  if (parts.size() == 2) aggregate.phase = parts.back();
  return aggregate;
}

std::vector<double> MetricExpressions::values(std::vector<double> metrics,
                                              const std::function<double(const std::string&)>& parameter,
                                              const std::vector<double>& aggregates) const {
  const std::size_t first = metrics.size();
  for (const Entry& entry : entries_) {
    std::vector<double> given;
    for (const Argument& argument : entry.arguments)
      given.push_back(argument.kind == Argument::parameter ? parameter(names_.parameters[argument.index])
                      : argument.kind == Argument::metric  ? metrics[argument.index]
                                                           : aggregates[argument.index]);
    metrics.push_back(entry.expression.evaluate<double>(given));
  }
  return {metrics.begin() + static_cast<std::ptrdiff_t>(first), metrics.end()};
}

}  // namespace dodyn::evaluators
