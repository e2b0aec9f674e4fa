// How ego chooses its next design: where the acquisition is largest, by a step along an edge or a limit, where there is room, or as a check
// of what the model predicts. ego.cpp decides which. Its first designs, and when a front needs no more.
#pragma once

#include <Eigen/Core>
#include <limits>
#include <string>
#include <vector>

#include "surrogate/acquisition_model.hpp"
#include "surrogate/basin_search.hpp"
#include "surrogate/ego.hpp"
#include "surrogate/stop_rule.hpp"
#include "surrogate/trust_region.hpp"

namespace dodyn::surrogate {

// What a search stands on.
struct EgoState {
  static constexpr double resolution = 3e-4;  // no two designs closer than that, of the range
  static constexpr double finest = 3e-6;      // the same, of steps along limits: what they leave of a box may be small
  static constexpr double apart = 5e-3;       // the same, where costs are lumpy but repeat
  static constexpr double longest_edge_step = 0.25;
  static constexpr double longest_in_doubt = 0.5;  // largest length scale, of the range, for checks away from the best

  EgoOptions options;
  ObservedData observed;
  Models models;
  StopRule stop_rule;
  TrustRegion region = {};
  BasinSearch basin_search = {};
  std::size_t initial_total = 0;         // initial designs, and those known beforehand
  int consecutive_failures = 0;          // latest evaluations that failed or lie on the plateau
  int unpredicted_failures = 0;          // the same of those that no step along an edge chose; a success halves it
  double required_log_odds = 0;          // logit of the probability that a step at an edge must have
  double edge_side = longest_edge_step;  // of the box that those steps stay in, of the range

  Eigen::Index dimensions() const { return observed.space.dimensions(); }
  // Designs that are chosen before the first of them is evaluated.
  int batch() const { return std::max(options.batch, static_cast<int>(observed.pending.size()) + 1); }
  bool is_settling() const { return !options.trust_region && settling(observed, initial_total, batch()); }
  // A point of the unit cube whose design was not tried yet, nor one as close as that.
  bool fresh(const Eigen::VectorXd& unit, double within = resolution) const;
  bool possible(const Eigen::VectorXd& unit) const {
    return !options.possible || options.possible(observed.space.design(unit));
  }
  Eigen::MatrixXd possible_ones(const Eigen::MatrixXd& units) const;  // those columns; all, if none can be
  // Gain that is worth a design: the tolerance at the incumbent's scale, which is its magnitude, or a little of what costs vary by
  // where it is near 0.
  double least_gain() const;
};

// By what rule a design is chosen.
enum class Rule { acquisition, room, edge, limits, check };

// A design that was thought of, and its score by its own rule.
struct Candidate {
  Eigen::VectorXd design;
  double score = 0;
  Rule rule = Rule::acquisition;
};

// What to do next.
struct Proposal {
  Eigen::VectorXd design;  // the variables' units; empty: none
  double score = -std::numeric_limits<double>::infinity();
  double predicted = not_a_number;  // cost units
  Rule rule = Rule::acquisition;
  std::string note, stopped;
  bool waits = false;  // proposes nothing until running designs arrive; with the present results the search would end
  std::vector<Candidate> considered;
  Eigen::MatrixXd candidates;      // the same as a table, see Iteration
  double compared = not_a_number;  // what the acquisition compared with, as warped
  AcquisitionModelOptions trusted;
};

// A filling of the box, or what of it can be.
std::vector<Eigen::VectorXd> initial_designs(const EgoState& ego);

// Looking away from a best design that is settling takes a model that trusts its extrapolation less, and a gain that is
// worth the while: a hundredth of what costs vary by.
AcquisitionModel make_acquisition_model(const EgoState& ego);
// Where to search, in the unit cube: about the best of a basin, in the trust region, or everywhere.
void search_box(const EgoState& ego, Eigen::VectorXd& lower, Eigen::VectorXd& upper);
// Quasi-random points of the box, and about the best designs: steps of every size along some of the variables.
Eigen::MatrixXd candidates_in(const EgoState& ego, const Eigen::VectorXd& lower, const Eigen::VectorXd& upper);
// What the acquisition says: without a design where all its maxima were evaluated already.
Proposal by_acquisition(const EgoState& ego, const AcquisitionModel& acquisition, const Eigen::MatrixXd& candidates,
                        const Eigen::VectorXd& lower, const Eigen::VectorXd& upper);

// Where nothing is known, or too little for a model: with room about it, likely to evaluate and to lie off the plateau.
Proposal fill(const EgoState& ego, const Eigen::MatrixXd& candidates, bool local, const std::string& why);
// The least cost that the model predicts on this side of what fails or is flat, or within the constraints as far as their models are
// sure. The score is the gain that is predicted.
Proposal along_the_edge(const EgoState& ego);
Proposal along_the_constraints(const EgoState& ego, const Eigen::MatrixXd& candidates);
// A check, where the model sees nothing more to gain.
Proposal check(EgoState& ego, double gain);

Front front_of(const ObservedData& observed);  // of designs that satisfy the constraints
// Empty, or why the front of two objectives needs no more designs. The model's word alone is not taken: what it expects
// must be as small as what the last designs brought.
std::string settled_front(const EgoState& ego, const Proposal& proposal, const AcquisitionModel& acquisition);

}  // namespace dodyn::surrogate
