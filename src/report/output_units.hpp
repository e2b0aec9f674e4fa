// Units that the user chooses for output: `--units deg,mm`.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "archive/archive.hpp"
#include "settings/units.hpp"

namespace dodyn::report {

// Each chosen unit replaces all units of its dimension. Angles are not pure numbers: deg replaces only rad.
struct OutputUnits {
  std::vector<std::pair<std::string, Unit>> chosen;

  bool empty() const { return chosen.empty(); }
  // Replaces `unit` by the chosen one, and returns the factor of its numbers; 1 if no chosen unit fits.
  double convert(std::string& unit) const;
};

// Reads "deg, mm, N mm". Throws ConfigError if a word is not a unit, if it is the unit of a pure number, or if two have
// the same dimension.
OutputUnits read_output_units(const std::string& list);

// Replaces the units and bounds of variables. Returns the factors of their numbers, [variables].
Eigen::VectorXd convert(std::vector<Variable>& variables, const OutputUnits& units);

// Converts designs, gradients and metrics of evaluations, and the names of their units. Gradients are converted to the
// new units of their variables. Costs and durations of evaluations are unchanged.
void convert(archive::Layout& layout, std::vector<Evaluation>& evaluations, const OutputUnits& units);
// Converts the values of a trajectory, including its time, and the names of their units.
void convert(Trajectory& trajectory, Channels& channels, const OutputUnits& units);

// Returns the chosen units whose dimension no variable, metric or channel has.
std::vector<std::string> unused(const OutputUnits& units, const archive::Layout& layout);

// Returns as JSON the conversions of numbers with the units `own`, and the chosen units that fit no unit in `own`. So
// other programs need no table of units. Example: {"converted": {"m": {"unit": "mm", "factor": 1000.0}}, "unused":
// ["kg"]}.
std::string conversions_json(const OutputUnits& units, const std::vector<std::string>& own);

}  // namespace dodyn::report
