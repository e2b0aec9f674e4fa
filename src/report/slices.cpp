// The surrogate model of the cost along each variable and each pair of variables, for pictures.
#include <cmath>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "report/predictions.hpp"
#include "study/observed_data.hpp"
#include "surrogate/archive_model.hpp"
#include "surrogate/wrong_gradients.hpp"

namespace dodyn::report {

namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;
using Json = nlohmann::ordered_json;

constexpr int slice_points = 41, pair_points = 24;
constexpr Index max_paired = 8;  // number of variables, which give 28 pairs

Json number_or_null(double value) { return std::isfinite(value) ? Json(value) : Json(); }

Json json_of(const surrogate::PredictionInterval& p) {
  return {{"median", number_or_null(p.middle)}, {"lower", number_or_null(p.lower)}, {"upper", number_or_null(p.upper)}};
}

// Returns the coordinates in the unit cube at which variable i is drawn: equidistant, or all its levels if the search
// tries every level.
std::vector<double> grid_of(const surrogate::DesignSpace& space, Index i, int points) {
  std::vector<double> units;
  if (space.moves(i))
    for (int k = 0; k < points; ++k) units.push_back(static_cast<double>(k) / (points - 1));
  else
    for (int k = 0; k < space.levels(i); ++k) units.push_back(space.unit_of_level(i, k));
  return units;
}

}  // namespace

std::string slices_json(const archive::Contents& contents, const surrogate::ObservedData& observed,
                        const VectorXd& design, const OutputUnits& output) {
  const surrogate::ArchiveModel model(observed, -1);
  const surrogate::DesignSpace& space = observed.space;
  std::vector<Variable> variables = contents.layout.variables;
  const VectorXd factors = convert(variables, output);
  const VectorXd centre = space.unit(design);
  Json all = {{"samples", model.samples()},
              {"available", model.available()},
              {"quality", model.quality()},
              {"quality_over_box", model.quality_over_box()}};
  for (std::size_t i = 0; i < variables.size(); ++i) {
    all["design"][variables[i].name] = factors(i) * design(i);
  }
  all["here"] = json_of(model.at(design));
  all["middle"] = json_of(model.at(space.design(VectorXd::Constant(space.dimensions(), 0.5))));

  all["bounds_to_widen"] = Json::array();
  if (const Evaluation* const best = study::recommended_of(contents, observed))
    for (const surrogate::BoundToWiden& bound : surrogate::bounds_to_widen(observed, *best))
      all["bounds_to_widen"].push_back({{"variable", variables[bound.variable].name},
                                        {"bound", bound.is_upper ? "upper" : "lower"},
                                        {"gain", number_or_null(bound.gain.value_or(not_a_number))},
                                        {"share", surrogate::widening}});

  all["doubtful_gradients"] = surrogate::doubt_text(variables, surrogate::doubtful_gradients(observed));
  all["slices"] = Json::array();
  for (Index i = 0; i < space.dimensions(); ++i) {
    Json slice = {{"x", Json::array()}, {"median", Json::array()}, {"lower", Json::array()}, {"upper", Json::array()}};
    VectorXd unit = centre;
    for (const double u : grid_of(space, i, slice_points)) {
      unit(i) = u;
      const VectorXd at = space.design(unit);
      slice["x"].push_back(factors(i) * at(i));
      const Json there = json_of(model.at(at));
      for (const auto& [name, value] : there.items()) slice[name].push_back(value);
    }
    all["slices"].push_back(slice);
  }

  all["pairs"] = Json::array();
  for (Index j = 0; j < std::min(space.dimensions(), max_paired); ++j)
    for (Index i = 0; i < j; ++i) {
      if (!space.real(i) || !space.real(j)) continue;
      const std::vector<double> across = grid_of(space, i, pair_points), up = grid_of(space, j, pair_points);
      MatrixXd units = centre.replicate(1, pair_points * pair_points);
      Json pair = {{"i", i}, {"j", j}, {"x", Json::array()}, {"y", Json::array()}, {"median", Json::array()}};
      for (Index k = 0; k < units.cols(); ++k) {
        units(i, k) = across[k % pair_points];
        units(j, k) = up[k / pair_points];
      }
      for (Index k = 0; k < pair_points; ++k) {
        pair["x"].push_back(factors(i) * space.design(units.col(k))(i));
        pair["y"].push_back(factors(j) * space.design(units.col(k * pair_points))(j));
      }
      for (const double value : model.middles(units)) pair["median"].push_back(number_or_null(value));
      all["pairs"].push_back(pair);
    }

  try {
    const surrogate::OptimumDistribution optimum = surrogate::sample_optimum(observed);
    all["optimum"]["variables"] = Json::object();  // stays empty if all variables are whole numbers or labels
    for (Index i = 0; i < space.dimensions(); ++i)
      if (space.real(i))
        all["optimum"]["variables"][variables[i].name] = {factors(i) * optimum.lower(i), factors(i) * optimum.upper(i)};
    all["optimum"]["cost"] = json_of(optimum.cost);
  } catch (const std::invalid_argument&) {
    all["optimum"] = Json();  // no feasible evaluation, or too few values of a constraint: no optimum is drawn
  }
  return all.dump() + "\n";
}

}  // namespace dodyn::report
