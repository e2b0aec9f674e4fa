// Cells of evaluations and their numbers as text, for tables, CSV and JSON.
#pragma once

#include <cmath>
#include <string>
#include <type_traits>
#include <vector>

#include "archive/archive.hpp"
#include "record/evaluation.hpp"
#include "record/text.hpp"
#include "report/report.hpp"
#include "surrogate/observed_data.hpp"

namespace dodyn::report {

inline std::string with_unit(const std::string& value, const std::string& unit) {
  return unit.empty() || unit == "1" ? value : value + " " + unit;
}

inline std::string short_number(double value) { return std::isfinite(value) ? formatted("%.8g", value) : "-"; }

// Returns the name that a value of a design variable stands for, or the number.
inline std::string value_text(const Variable& variable, double value) {
  const std::string* const name = variable.choice(value);
  return name ? *name : short_number(value);
}

inline std::string padded(std::string text, std::size_t width) {
  if (text.size() < width) text.append(width - text.size(), ' ');
  return text;
}

// Returns whether a coordinate has the name of its channel, without the scenario: "t" in the channels "t" and "slow:t".
inline bool of_itself(const Channel& channel, const std::string& coordinate) {
  return channel.name == coordinate || channel.name.ends_with(":" + coordinate);
}

// Calls visit(name, unit, value) for each cell of one evaluation; value is text, a number or an integer.
template <class Visit>
void for_each_cell(const Evaluation& evaluation, const archive::Layout& layout, Visit&& visit) {
  for_each_field(evaluation, [&](const Field& field, const auto& value) {
    using T = std::decay_t<decltype(value)>;
    const std::string name(field.name);
    if constexpr (std::is_same_v<T, Eigen::VectorXd>) {
      const bool metric = name == "metrics";
      const std::size_t count = metric ? layout.metrics.size() : layout.variables.size();
      for (std::size_t i = 0; i < count; ++i) {
        const double number = value.size() > 0 ? value(i) : not_a_number;
        if (metric)
          visit(name + "." + layout.metrics[i].name, layout.metrics[i].unit, number);
        else
          visit(name + "." + layout.variables[i].name, name == "design" ? layout.variables[i].unit : "", number);
      }
    } else if constexpr (std::is_same_v<T, Status>) {
      visit(name, std::string(), std::string(to_string(value)));
    } else {
      visit(name, std::string(field.unit == "1" ? "" : field.unit), value);
    }
  });
}

// Returns the rows to list, in their order. Throws ConfigError if the column to sort by does not exist.
std::vector<std::size_t> listed_rows(const archive::Contents& contents, const surrogate::ObservedData& observed,
                                     const Listing& listing);

}  // namespace dodyn::report
