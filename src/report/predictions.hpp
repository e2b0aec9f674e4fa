// What the evaluations of an archive say of other designs, as text and JSON: `dodyn predict`, `dodyn sensitivity`.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "archive/archive.hpp"
#include "surrogate/archive_model.hpp"
#include "surrogate/morris.hpp"
#include "surrogate/sobol_indices.hpp"

namespace dodyn::report {

// The evaluations that no other one is better than in all objectives, by the first of them.
std::vector<const Evaluation*> front_of(const surrogate::ObservedData& observed);

// What a study found. One objective: its best evaluation. Several: the front of those that no other is better than in
// all, and with two the area between it and a reference a tenth of the ranges beyond the worst. Noisy costs: the design
// that the study recommends (study::recommended_of()), with the model's cost, and the least cost seen.
std::string outcome_text(const archive::Contents& contents, const surrogate::ObservedData& observed);

// "breaks max_torque <= 15 (17.2)"; empty where the evaluation is ok and keeps its constraints, or is not ok.
std::string broken_text(const archive::Contents& contents, const surrogate::ObservedData& observed,
                        const Evaluation& e);

struct Predicted {
  std::string name, unit;
  surrogate::PredictionInterval forecast;
  Eigen::Index samples = 0;  // evaluations that the model is made of
  double quality = 0;        // surrogate::ArchiveModel::quality()
};

struct DesignPrediction {
  std::vector<Variable> variables;
  Eigen::VectorXd design;
  std::vector<Predicted> quantities;
  double evaluates = 1;                              // probability that the design evaluates at all
  std::vector<std::pair<std::string, double>> kept;  // constraint as text, and the probability that it is kept
  std::int64_t nearest = -1;                         // evaluation closest to it
  double distance = 0;                               //   of the ranges, in the variable that differs most
};

// Of the cost, the study's objectives, its constraints' metrics and those in `metrics` (indices; -1: the cost). Throws
// std::invalid_argument where a quantity has too few evaluations.
DesignPrediction prediction_of(const archive::Contents& contents, const surrogate::ObservedData& observed,
                               const Eigen::VectorXd& design, std::vector<int> metrics);
// Where the optimum of the cost may be: a row for each variable.
std::string optimum_text(const archive::Contents& contents, const surrogate::ObservedData& observed);
std::string as_text(const DesignPrediction& prediction);
std::string as_json(const DesignPrediction& prediction);

// Returns JSON for pictures of the model of the cost: along each variable and each pair of real variables through `design`, with its 95 % band; in the
// middle of the ranges; and where the optimum may lie (5 % and 95 % of sampled optima; null where none can be sampled). Throws
// std::invalid_argument where fewer than two evaluations have a cost.
std::string slices_json(const archive::Contents& contents, const surrogate::ObservedData& observed,
                        const Eigen::VectorXd& design);

// The model of a quantity, as datasets that a few lines of numpy evaluate (docs/surrogates.md). Throws
// std::invalid_argument as above, and where variables are labels.
archive::Group exported(const archive::Contents& contents, const surrogate::ObservedData& observed, int metric);

struct Sensitivity {
  std::vector<Variable> variables;
  std::string name, unit;  // of the quantity
  Eigen::Index samples = 0;
  double quality = 0, quality_over_box = 0, even_samples = 0,
         even_samples_of_filling = 0;  // of surrogate::ArchiveModel
  double unlikely = 0;                 // share of the box where a design evaluates with less than even odds
  surrogate::SobolIndices indices;
  Eigen::MatrixXd effects;  // main effects, variables x 21
  // Of a study that screened (strategy morris): from the evaluations themselves, no model between.
  std::optional<surrogate::ElementaryEffects> elementary = {};
};

// Of the kriging model of one quantity over the whole box, by `samples` points. Throws as above.
Sensitivity sensitivity_of(const archive::Contents& contents, const surrogate::ObservedData& observed, int metric,
                           int samples);
std::string as_text(const Sensitivity& found);
std::string as_json(const Sensitivity& found);

}  // namespace dodyn::report
