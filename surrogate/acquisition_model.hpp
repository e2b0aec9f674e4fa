// What a search believes: models of the evaluations, with the pending designs put into them, and what a further
// design would be worth by them.
//
// Sources: A. Forrester, A. Sobester, A. Keane, Optimization with missing data (2006), for failed designs: imputed by
// the prediction plus a standard deviation; M. Schonlau, Computer experiments and global optimization (1997), for
// feasibility; D. Ginsbourger, R. Le Riche, L. Carraro, Kriging is well-suited to parallelize optimization (2010), for
// pending designs; D. Huang et al. (2006) for noise.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "surrogate/failure_boundary.hpp"
#include "surrogate/hypervolume.hpp"
#include "surrogate/incremental_kriging.hpp"
#include "surrogate/observed_data.hpp"
#include "surrogate/success_classifier.hpp"

namespace dodyn::surrogate {

// Models of the evaluations; brought up to date, not made anew.
class Models {
 public:
  Models(std::size_t objectives, std::size_t constraints) : objectives_(objectives), constraints_(constraints) {}
  void update(const ObservedData& observed, KrigingOptions options, bool gradient);
  const std::vector<IncrementalKriging>& objectives() const { return objectives_; }
  const std::vector<IncrementalKriging>& constraints() const { return constraints_; }
  const SuccessClassifier& success() const { return *success_; }  // after update()

 private:
  std::vector<IncrementalKriging> objectives_, constraints_;
  std::optional<SuccessClassifier> success_;
  std::vector<std::size_t> modelled_;  // evaluations that the models are of, in their order
};

struct AcquisitionModelOptions {
  double longest = 0;                    // no length of the models above it, of the range; 0: as they are
  std::optional<double> incumbent = {};  // compare with this cost, warped, not with the best
  double success_power = 1;              // power of the probability to evaluate and to lie off the plateau
  double margin = 0;                     // ask for so much more than the best, warped
};

class AcquisitionModel {
 public:
  // Models and evidence outlive the beliefs.
  AcquisitionModel(const ObservedData& observed, const Models& models, const AcquisitionModelOptions& options);

  // Log acquisition at a point of the unit cube, and its gradient with respect to the real variables (0 for the others).
  double score(const Eigen::VectorXd& unit, Eigen::VectorXd* gradient) const;
  // The same for many points, without gradients; the plain case by matrices.
  Eigen::VectorXd scores(const Eigen::MatrixXd& units) const;

  // What score() is made of, by the names of parts(): mean and deviation of each objective as its model sees it, log of the gain, log
  // probabilities of keeping each constraint and of evaluating, and what lies nearer to failures than to others is distrusted by.
  Eigen::VectorXd parts_of_score(const Eigen::VectorXd& unit) const;
  static std::vector<std::string> parts(const ObservedData& observed);
  double incumbent() const { return incumbent_; }
  const AcquisitionModelOptions& options() const { return options_; }

  bool any_feasible() const { return any_feasible_; }
  const Front& front() const { return front_; }

 private:
  Kriging with_failures(Kriging model) const;
  Kriging with_pending(const IncrementalKriging& tracked) const;
  // Each adds its part of the score's gradient to `dz`.
  double log_gain(const Eigen::VectorXd& z, Eigen::VectorXd& dz) const;
  double log_kept(std::size_t constraint, const Eigen::VectorXd& z, Eigen::VectorXd& dz) const;
  void compare();

  const ObservedData& observed_;
  const Models& models_;
  AcquisitionModelOptions options_;
  FailureBoundary edge_;
  std::vector<Kriging> fantasies_;   // per objective: with the pending designs
  double incumbent_ = not_a_number;  // as the model sees costs; of one objective
  double noise_variance_ = 0;
  Front front_;
  bool any_feasible_ = false;
};

}  // namespace dodyn::surrogate
