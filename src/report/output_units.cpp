#include "report/output_units.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "settings/config_error.hpp"
#include "settings/expression.hpp"

namespace dodyn::report {
namespace {

bool measure_the_same(const Unit& one, const Unit& other) {
  return one.dimension == other.dimension && one.angle == other.angle;
}

std::vector<std::string> unused(const OutputUnits& units, const std::vector<std::string>& own) {
  std::vector<std::string> names;
  for (const auto& [name, wanted] : units.chosen)
    if (std::ranges::none_of(own, [&wanted = wanted](const std::string& text) {
          const auto one = parse_unit(text);
          return one && measure_the_same(*one, wanted);
        }))
      names.push_back(name);
  return names;
}

}  // namespace

double OutputUnits::convert(std::string& unit) const {
  const auto own = parse_unit(unit);
  if (!own) return 1.0;
  for (const auto& [name, wanted] : chosen)
    if (measure_the_same(*own, wanted)) {
      unit = name;
      return own->in_si / wanted.in_si;
    }
  return 1.0;
}

OutputUnits read_output_units(const std::string& list) {
  OutputUnits units;
  for (const std::string& name : split_list(list)) {
    const auto unit = parse_unit(name);
    if (name.empty() || !unit)
      throw ConfigError("command line: --units " + list + ": '" + name +
                        "' is not a unit; expected units such as deg, mm");
    if (unit->is_pure() && unit->angle == 0)
      throw ConfigError("command line: --units " + list + ": '" + name +
                        "' is a pure number; expected units such as deg, mm");
    for (const auto& [other, known] : units.chosen)
      if (measure_the_same(known, *unit))
        throw ConfigError("command line: --units " + list + ": " + other + " and " + name +
                          " measure the same; choose one");
    units.chosen.emplace_back(name, *unit);
  }
  return units;
}

Eigen::VectorXd convert(std::vector<Variable>& variables, const OutputUnits& units) {
  Eigen::VectorXd factors(variables.size());
  Eigen::Index i = 0;
  for (Variable& variable : variables) {
    factors(i) = units.convert(variable.unit);
    variable.lower *= factors(i);
    variable.upper *= factors(i);
    ++i;
  }
  return factors;
}

void convert(archive::Layout& layout, std::vector<Evaluation>& evaluations, const OutputUnits& units) {
  const Eigen::VectorXd factors = convert(layout.variables, units);
  for (Evaluation& e : evaluations) {
    if (e.design.size() == factors.size()) e.design = e.design.cwiseProduct(factors);
    if (e.gradient.size() == factors.size()) e.gradient = e.gradient.cwiseQuotient(factors);
  }
  for (std::size_t i = 0; i < layout.metrics.size(); ++i) {
    const double factor = units.convert(layout.metrics[i].unit);
    const Eigen::Index k = i;
    for (Evaluation& e : evaluations)
      if (factor != 1.0 && k < e.metrics.size()) e.metrics(k) *= factor;
  }
}

void convert(Trajectory& trajectory, Channels& channels, const OutputUnits& units) {
  for (std::size_t c = 0; c < channels.size(); ++c) {
    Channel& channel = channels[c];
    const bool has_values = c < trajectory.values.size();
    // A channel has a unit, and may have a unit per column. The names of both are converted. The values are converted
    // once, by the units of the columns if there are any.
    const double of_channel = units.convert(channel.unit);
    if (channel.units.empty() && has_values) trajectory.values[c] *= of_channel;
    for (std::size_t j = 0; j < channel.units.size(); ++j) {
      const double factor = units.convert(channel.units[j]);
      if (has_values && static_cast<Eigen::Index>(j) < trajectory.values[c].cols())
        trajectory.values[c].col(j) *= factor;
    }
  }
}

std::vector<std::string> unused(const OutputUnits& units, const archive::Layout& layout) {
  std::vector<std::string> own;
  for (const Variable& variable : layout.variables) own.push_back(variable.unit);
  for (const Quantity& metric : layout.metrics) own.push_back(metric.unit);
  for (const Channel& channel : layout.channels)
    if (channel.units.empty())
      own.push_back(channel.unit);
    else
      own.insert(own.end(), channel.units.begin(), channel.units.end());
  return unused(units, own);
}

std::string conversions_json(const OutputUnits& units, const std::vector<std::string>& own) {
  nlohmann::ordered_json all = {{"converted", nlohmann::ordered_json::object()}, {"unused", unused(units, own)}};
  for (const std::string& text : own) {
    std::string unit = text;
    const double factor = units.convert(unit);
    if (unit != text) all["converted"][text] = {{"unit", unit}, {"factor", factor}};
  }
  return all.dump() + "\n";
}

}  // namespace dodyn::report
