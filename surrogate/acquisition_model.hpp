// The acquisition of a search: models of the evaluations with the pending designs added, and the expected value of a
// further design.
//
// Sources: A. Forrester, A. Sobester, A. Keane, Optimization with missing data (2006), for failed designs: imputed by
// the prediction plus a standard deviation; M. Schonlau, Computer experiments and global optimization (1997), for
// feasibility; D. Ginsbourger, R. Le Riche, L. Carraro, Kriging is well-suited to parallelize optimization (2010), for
// pending designs; D. Huang et al. (2006) for noise.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "surrogate/failure_boundary.hpp"
#include "surrogate/hypervolume.hpp"
#include "surrogate/incremental_kriging.hpp"
#include "surrogate/observed_data.hpp"
#include "surrogate/success_classifier.hpp"

namespace dodyn::surrogate {

// Minimum probability that a design evaluates and satisfies the constraints. Designs below it count as unusable.
inline constexpr double least_usable = 0.1;

// Models of the evaluations, updated incrementally.
class Models {
 public:
  Models(std::size_t objectives, std::size_t constraints) : objectives_(objectives), constraints_(constraints) {}
  // Bases the models on the models of a cheaper study with the same variables, objectives and constraints (kriging.hpp
  // (1)). Returns the feasible evaluation of the cheaper study whose predicted first objective is lowest, among points
  // of the unit cube that are `possible`; null: none. Throws std::invalid_argument if the cheaper study has fewer than
  // two evaluations with a quantity.
  const Evaluation* set_low_fidelity(const ObservedData& low,
                                     const std::function<bool(const Eigen::VectorXd& unit)>& possible);
  void update(const ObservedData& observed, const KrigingOptions& options, bool gradient);
  const std::vector<IncrementalKriging>& objectives() const { return objectives_; }
  const std::vector<IncrementalKriging>& constraints() const { return constraints_; }
  const SuccessClassifier& success() const { return *success_; }  // valid after update()
  // Returns the log of the probability that each point satisfies all constraints, [columns of z].
  Eigen::VectorXd log_feasible(const ObservedData& observed, const Eigen::MatrixXd& z) const;
  // Returns the feasible evaluation with the lowest predicted cost, for searches with one objective. Designs on the
  // plateau count with its cost. Null: no feasible evaluation, or no model.
  const Evaluation* recommended(const ObservedData& observed) const;
  // Returns the mean error variance of the cost differences between `from` and other evaluations with the same initial
  // states. NaN: there is no such evaluation.
  double difference_variance(const ObservedData& observed, const Evaluation& from) const;

 private:
  std::vector<IncrementalKriging> objectives_, constraints_;
  std::optional<SuccessClassifier> success_;
  std::vector<std::size_t> modelled_;  // indices of the evaluations in the models, in the models' order
  Eigen::MatrixXd covariance_;  // covariance of the errors of the costs in the models; empty: costs are not paired
};

struct AcquisitionModelOptions {
  double longest = 0;                    // upper limit of the models' length scales, relative to the range; 0: none
  std::optional<double> incumbent = {};  // reference cost, warped; nullopt: the best cost
  double success_power = 1;              // exponent on the probability that a design evaluates and is not on the
                                         // plateau
  double margin = 0;                     // improvement over the reference that is required, warped
};

class AcquisitionModel {
 public:
  // Models and data must outlive this object.
  AcquisitionModel(const ObservedData& observed, const Models& models, const AcquisitionModelOptions& options);

  // Returns the log acquisition at a point of the unit cube; -1e300 if it is not finite. Writes its gradient with
  // respect to the variables that move (DesignSpace::moves(); 0 for the others) if the pointer is not null.
  double score(const Eigen::VectorXd& unit, Eigen::VectorXd* gradient) const;
  // Returns the scores of many points, [columns], without gradients. With one objective and a feasible evaluation it
  // uses matrix operations, which are faster.
  Eigen::VectorXd scores(const Eigen::MatrixXd& units) const;

  // Returns the terms of score(), in the order of parts(): mean and standard deviation of each objective in the model's
  // scale; log gain; log probability of satisfying each constraint; log probability of evaluating, times
  // `success_power`; log penalty of points nearer to failures than to usable designs.
  Eigen::VectorXd parts_of_score(const Eigen::VectorXd& unit) const;
  static std::vector<std::string> parts(const ObservedData& observed);
  double incumbent() const { return incumbent_; }
  const AcquisitionModelOptions& options() const { return options_; }

  bool any_feasible() const { return any_feasible_; }
  const Front& front() const { return front_; }

 private:
  Kriging with_failures(Kriging model) const;
  Kriging with_pending(const IncrementalKriging& tracked) const;
  // Return terms of the score. Each adds its gradient to `dz`.
  double log_gain(const Eigen::VectorXd& z, Eigen::VectorXd& dz) const;
  double log_feasible(std::size_t constraint, const Eigen::VectorXd& z, Eigen::VectorXd& dz) const;
  void compare();

  const ObservedData& observed_;
  const Models& models_;
  AcquisitionModelOptions options_;
  FailureBoundary edge_;
  std::vector<Kriging> fantasies_;   // one per objective, with the pending designs
  double incumbent_ = not_a_number;  // reference cost in the model's scale; for one objective
  double noise_variance_ = 0;
  Front front_;
  bool any_feasible_ = false;
};

}  // namespace dodyn::surrogate
