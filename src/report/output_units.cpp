#include "report/output_units.hpp"

#include <algorithm>

#include "settings/config_error.hpp"
#include "settings/expression.hpp"

namespace dodyn::report {
namespace {

bool measure_the_same(const Unit& one, const Unit& other) {
  return one.dimension == other.dimension && one.angle == other.angle;
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
  Eigen::VectorXd factors(static_cast<Eigen::Index>(variables.size()));
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
    const auto k = static_cast<Eigen::Index>(i);
    for (Evaluation& e : evaluations)
      if (factor != 1.0 && k < e.metrics.size()) e.metrics(k) *= factor;
  }
}

void convert(Trajectory& trajectory, Channels& channels, const OutputUnits& units) {
  for (std::size_t c = 0; c < channels.size(); ++c) {
    Channel& channel = channels[c];
    const bool has_values = c < trajectory.values.size();
    if (channel.units.empty()) {
      const double factor = units.convert(channel.unit);
      if (has_values) trajectory.values[c] *= factor;
    }
    for (std::size_t j = 0; j < channel.units.size(); ++j) {
      const double factor = units.convert(channel.units[j]);
      if (has_values && static_cast<Eigen::Index>(j) < trajectory.values[c].cols())
        trajectory.values[c].col(static_cast<Eigen::Index>(j)) *= factor;
    }
  }
}

std::vector<std::string> unused(const OutputUnits& units, const archive::Layout& layout) {
  std::vector<std::string> names;
  for (const auto& [name, wanted] : units.chosen) {
    const auto fits = [&wanted = wanted](const std::string& text) {
      const auto own = parse_unit(text);
      return own && measure_the_same(*own, wanted);
    };
    const bool used = std::ranges::any_of(layout.variables, fits, &Variable::unit) ||
                      std::ranges::any_of(layout.metrics, fits, &Quantity::unit) ||
                      std::ranges::any_of(layout.channels, [&](const Channel& channel) {
                        return channel.units.empty() ? fits(channel.unit) : std::ranges::any_of(channel.units, fits);
                      });
    if (!used) names.push_back(name);
  }
  return names;
}

}  // namespace dodyn::report
