// Predictions and sensitivities from the evaluations of an archive, as text and JSON: `dodyn predict`, `dodyn
// sensitivity`.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "archive/archive.hpp"
#include "report/output_units.hpp"
#include "surrogate/archive_model.hpp"
#include "surrogate/morris.hpp"
#include "surrogate/sobol_indices.hpp"

namespace dodyn::report {

// Returns the Pareto front: feasible evaluations that no other one dominates, sorted by the first objective. Among
// evaluations with equal objectives only the lowest id counts.
std::vector<const Evaluation*> front_of(const surrogate::ObservedData& observed);

// Returns the result of a study as text. One objective: its best evaluation. Several: the front, with the hypervolume
// to a reference that lies 10 % of the ranges beyond the worst. Noisy costs: the recommended design
// (study::recommended_of()) with the cost by the model, and the lowest cost seen. Then study::low_fidelity_text(), if
// there is one.
std::string outcome_text(const archive::Contents& contents, const surrogate::ObservedData& observed,
                         const OutputUnits& units = {});

// Returns a line for the bounds to widen (surrogate::bounds_to_widen()), each with its expected gain if that is known;
// empty if there are no such bounds.
std::string bound_note(const archive::Contents& contents, const surrogate::ObservedData& observed, const Evaluation& e,
                       const OutputUnits& units = {});

// Returns "violates max_torque <= 15 (17.2)", with "no value" in place of a missing number. Empty if the evaluation
// satisfies its constraints, or is not ok.
std::string broken_text(const archive::Contents& contents, const surrogate::ObservedData& observed, const Evaluation& e,
                        const OutputUnits& units = {});

struct Predicted {
  std::string name, unit;
  surrogate::PredictionInterval forecast;
  Eigen::Index samples = 0, available = 0;  // number of evaluations used by the model, and available
  double quality = 0;                       // surrogate::ArchiveModel::quality()
};

struct DesignPrediction {
  std::vector<Variable> variables;
  Eigen::VectorXd design;
  std::vector<Predicted> quantities;
  double evaluates = 1;                              // probability that the design evaluates
  std::vector<std::pair<std::string, double>> kept;  // constraint as text, and the probability that it is satisfied
  std::int64_t nearest = -1;                         // id of the evaluation nearest to the design
  double distance = 0;                               // to evaluation `nearest`: max over the variables, relative to
                                                     // the ranges
  bool is_recommended = false;                       // the recommended design of a search with paired costs; the range
                                                     // of its cost accounts for the choice
  bool is_noisy = false;                             // evaluations of one design may differ
};

// Predicts the cost, the objectives, the metrics of constraints, and `metrics` (indices; -1: the cost) at a design.
// Throws std::invalid_argument if a quantity has too few evaluations.
DesignPrediction prediction_of(const archive::Contents& contents, const surrogate::ObservedData& observed,
                               const Eigen::VectorXd& design, std::vector<int> metrics, const OutputUnits& units = {});
// Returns a table of where the optimum of the cost may lie, a row for each variable: median, 5 % and 95 % quantile of
// optima drawn from the model (surrogate::sample_optimum()).
std::string optimum_text(const archive::Contents& contents, const surrogate::ObservedData& observed,
                         const OutputUnits& units = {});
std::string as_text(const DesignPrediction& prediction);
std::string as_json(const DesignPrediction& prediction);

// Returns JSON for pictures of the model of the cost. Medians with 95 % bands: along each variable through `design`, at
// `design`, and in the middle of the ranges. Medians only: over each pair of the first 8 variables, if both are real.
// Also bounds to widen, doubtful gradients, and where the optimum may lie (5 % and 95 % of sampled optima; null if none
// can be sampled). Designs are in `units`. Throws std::invalid_argument if fewer than two evaluations have a cost.
std::string slices_json(const archive::Contents& contents, const surrogate::ObservedData& observed,
                        const Eigen::VectorXd& design, const OutputUnits& units = {});

// Returns the model of a quantity as datasets that a few lines of numpy evaluate (docs/surrogates.md). Throws
// std::invalid_argument if fewer than two evaluations have the quantity, or if a variable is not a real number on a
// linear scale.
archive::Group exported(const archive::Contents& contents, const surrogate::ObservedData& observed, int metric);

struct Sensitivity {
  std::vector<Variable> variables;
  std::string name, unit;  // of the quantity
  Eigen::Index samples = 0, available = 0;
  // R2 of predictions of left-out evaluations, R2 weighted by the parts of the box, equivalent number of evenly spread
  // samples, and that number for a Sobol sequence of equal size.
  double quality = 0, quality_over_box = 0, even_samples = 0,
         even_samples_of_filling = 0;  // see surrogate::ArchiveModel
  double unlikely = 0;                 // fraction of the box where a design evaluates with probability below 0.5
  surrogate::SobolIndices indices;
  Eigen::MatrixXd effects;   // main effects from the lower to the upper bound, [variables, 21]
  Eigen::VectorXd least_at;  // value of each variable at which its main effect is least, [variables]
  // For a study with the strategy morris: computed from its evaluations, without a model.
  std::optional<surrogate::ElementaryEffects> elementary = {};
};

// Computes Sobol indices and effects of the kriging model of one quantity. `samples`: see surrogate::sobol_indices().
// Throws std::invalid_argument if fewer than two evaluations have the quantity.
Sensitivity sensitivity_of(const archive::Contents& contents, const surrogate::ObservedData& observed, int metric,
                           int samples, const OutputUnits& units = {});
std::string as_text(const Sensitivity& found);
std::string as_json(const Sensitivity& found);

}  // namespace dodyn::report
