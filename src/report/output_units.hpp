// Units of the reader's choice for numbers that are shown: `--units deg,mm`.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "archive/archive.hpp"
#include "settings/units.hpp"

namespace dodyn::report {

// Each unit replaces those of its dimension. An angle is no pure number: deg replaces rad alone.
struct OutputUnits {
  std::vector<std::pair<std::string, Unit>> chosen;

  bool empty() const { return chosen.empty(); }
  // Replaces `unit` by the chosen one, and returns the factor of its numbers; 1 if no chosen unit fits.
  double convert(std::string& unit) const;
};

// Reads "deg, mm, N mm". Throws ConfigError if a word is no unit, if it measures a pure number, or if two measure the same.
OutputUnits read_output_units(const std::string& list);

// Replaces the units and bounds of variables. Returns the factors of their numbers, [variables].
Eigen::VectorXd convert(std::vector<Variable>& variables, const OutputUnits& units);

// Convert numbers and the names of their units. A gradient is then per new unit of its variable; costs and times stay.
void convert(archive::Layout& layout, std::vector<Evaluation>& evaluations, const OutputUnits& units);
void convert(Trajectory& trajectory, Channels& channels, const OutputUnits& units);

// Returns the chosen units that no variable, metric or channel has a dimension for.
std::vector<std::string> unused(const OutputUnits& units, const archive::Layout& layout);

}  // namespace dodyn::report
