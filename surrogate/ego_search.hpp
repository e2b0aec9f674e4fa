// Rules by which ego proposes its next design: maximum of the acquisition, step along a failure boundary or a
// constraint, space filling, step of the descent, or check of the model's prediction. ego.cpp selects the rule. Also
// chooses the initial designs, and decides whether a front is complete.
#pragma once

#include <Eigen/Core>
#include <limits>
#include <string>
#include <vector>

#include "surrogate/acquisition_model.hpp"
#include "surrogate/basin_search.hpp"
#include "surrogate/ego.hpp"
#include "surrogate/local_descent.hpp"
#include "surrogate/selection.hpp"
#include "surrogate/stop_rule.hpp"
#include "surrogate/trust_region.hpp"

namespace dodyn::surrogate {

// State of a search.
struct EgoState {
  static constexpr double resolution = 3e-4;       // smallest distance of two designs, relative to the range
  static constexpr double fine_resolution = 3e-6;  // smallest distance for steps along constraints, where the feasible
                                                   // region may be small
  static constexpr double apart = 5e-3;            // smallest distance of two designs where neighbouring costs jump
  // Paired costs: if an evaluated design is within this distance of a proposed design, the proposed one is not
  // evaluated. The evaluated design, or the recommended one, gets further initial states (instead_of()).
  static constexpr double same_design_distance = 0.02;
  // Maximum of edge_side.
  static constexpr double longest_edge_step = 0.25;
  static constexpr double max_check_length = 0.5;  // limit of the model's length scales for checks (designs far from
                                                   // the best one) and while the best design settles, relative to the
                                                   // range

  EgoOptions options;
  ObservedData observed;
  Models models;
  StopRule stop_rule;
  Selection selection = {};   // uncertain costs of one objective: recommended design by the latest models
  UndecidedRegion open = {};  // uncertain costs of one objective: region where a better design may be
  TrustRegion region = {};
  BasinSearch basin_search = {};
  LocalDescent local = {};
  bool is_local_turn = false;     // whether the descent proposes before the global search; the one that gains continues
  std::size_t initial_total = 0;  // number of initial designs and known evaluations
  int consecutive_failures = 0;   // consecutive latest evaluations that failed or lie on the plateau
  int unpredicted_failures = 0;   // failures among designs of rules except edge and limits; a success halves the count
  double required_log_odds = 0;   // log odds of success that a step by the rules edge and limits must have
  double edge_side = longest_edge_step;  // half side of the box of steps by edge and limits, relative to the range

  Eigen::Index dimensions() const { return observed.space.dimensions(); }
  // Returns the number of designs that are chosen without the results of each other.
  int batch() const { return std::max(options.batch, static_cast<int>(observed.pending.size()) + 1); }
  // Returns the index of the next design. Running evaluations count.
  std::size_t next_number() const { return observed.evaluations.size() + observed.pending.size(); }
  // Returns whether the next design belongs to the descent into another basin. At most max_running() running designs
  // may belong to that descent.
  bool descends() const {
    return basin_search.taken() && basin_search.count_running(observed) < BasinSearch::max_running(batch());
  }
  // Whether the local descent has the first turn, and a further turn after each design of the global search. False in
  // few variables without a trust region, where the global search needs few evaluations and finds more minima.
  bool descends_first() const {
    return options.trust_region || (options.gradient && dimensions() >= BasinSearch::least_variables);
  }
  // Whether a descent may take part. A descent needs one exact cost without constraints.
  bool has_descent() const {
    return observed.objectives.size() == 1 && observed.constraints.empty() && !observed.noisy();
  }
  LocalDescent new_descent() const {
    return options.trust_region && !options.gradient ? LocalDescent(many_variables) : LocalDescent();
  }
  bool is_settling() const { return !options.trust_region && settling(observed, initial_total, batch()); }
  // Whether no evaluated or pending design is within this distance of the point, in the unit cube. With noise the
  // distance is `apart`, and if designs may be evaluated again, every point is distinct.
  bool is_distinct(const Eigen::VectorXd& unit, double within = resolution) const;
  bool possible(const Eigen::VectorXd& unit) const {
    return !options.possible || options.possible(observed.space.design(unit));
  }
  // Returns the conditions on designs as functions of the unit cube that are at most 0 where a design satisfies them.
  std::vector<Smooth> conditions() const;
  // Returns the last allowed point on the line from an allowed point, by bisection. Returns `to` if it is allowed, or
  // if `from` is not.
  Eigen::VectorXd last_possible(const Eigen::VectorXd& from, const Eigen::VectorXd& to) const;
  bool is_within(const Eigen::VectorXd& design) const { return !options.within || options.within(design); }
  Eigen::MatrixXd possible_ones(const Eigen::MatrixXd& units) const;  // returns the allowed columns; all columns, if
                                                                      // none is allowed
  // Returns the minimum significant gain: the tolerance times the magnitude of the best cost, or times a fraction of
  // the variation of costs if the best cost is near 0. For uncertain costs: Selection::indifference.
  double least_gain() const;
  // Whether the search chooses among uncertain costs of one objective, see selection.hpp.
  bool costs_uncertain() const {
    return observed.objectives.size() == 1 && (observed.costs_paired || observed.noisy());
  }
  // Whether costs are uncertain and a design is recommended by now.
  bool compares_designs() const { return costs_uncertain() && selection.recommended.has_value(); }
  // Whether, in addition, designs share their initial states.
  bool compares_pairs() const { return compares_designs() && observed.costs_paired; }
  // Returns the design to evaluate if the acquisition proposes this one. If a similar design was evaluated, returns
  // that design or the recommended one, for additional initial states. Otherwise returns the proposed design.
  Eigen::VectorXd instead_of(const Eigen::VectorXd& design) const;
  // Returns the recommended design if it has no more initial states than an evaluated design, otherwise that design. So
  // each comparison with the recommended design is paired.
  Eigen::VectorXd recommended_or(const Eigen::VectorXd& design) const;
};

// The rule by which a design was chosen.
enum class Rule { acquisition, room, edge, limits, check, descent };

// A design that was considered, and its score by its rule.
struct Candidate {
  Eigen::VectorXd design;
  double score = 0;
  Rule rule = Rule::acquisition;
};

// The next action.
struct Proposal {
  Eigen::VectorXd design;  // next design, in the variables' units; empty: none
  double score = -std::numeric_limits<double>::infinity();
  double predicted = not_a_number;  // predicted cost, in the unit of the cost
  Rule rule = Rule::acquisition;
  std::string note, stopped;
  LocalDescent::Step step = {};              // step that led to `design`, if the descent proposed it
  double undecided_fraction = not_a_number;  // for a check: share of the box where the model cannot rule out a gain
  bool waits = false;  // proposes nothing until running designs finish; with the present results the search would end
  std::vector<Candidate> considered;
  Eigen::MatrixXd candidates;      // the considered designs as a table, see Iteration
  double compared = not_a_number;  // reference of the acquisition, warped
  AcquisitionModelOptions trusted;
};

// Returns designs that fill the box, or its allowed part. For a trust region without gradients they lie along the axes.
std::vector<Eigen::VectorXd> initial_designs(const EgoState& ego);

// Returns the acquisition. During the descent into another basin its reference is the best cost of that basin. If the
// last designs only refine the best one, the model's length scales are limited, and the gain must be at least 1 % of
// the variation of costs.
AcquisitionModel make_acquisition_model(const EgoState& ego);
// Sets the box to search, in the unit cube: around the best of a basin, the trust region, or the whole cube.
void search_box(const EgoState& ego, Eigen::VectorXd& lower, Eigen::VectorXd& upper);
// Returns candidates: quasi-random points of the box, and points around the best designs at steps of all sizes along
// some of the variables.
Eigen::MatrixXd candidates_in(const EgoState& ego, const Eigen::VectorXd& lower, const Eigen::VectorXd& upper);
// Proposes the maximum of the acquisition, or the best candidate if all maxima found were evaluated already. The
// proposal has no design if all candidates were evaluated, too.
Proposal by_acquisition(const EgoState& ego, const AcquisitionModel& acquisition, const Eigen::MatrixXd& candidates,
                        const Eigen::VectorXd& lower, const Eigen::VectorXd& upper);

// Proposes a design for space filling, if there are too few evaluations for a model, or if every maximum of the
// acquisition is evaluated: far from other designs, likely to evaluate, and not on the plateau. `local`: on the usable
// side of the failure boundary; walls of the box do not count.
Proposal fill(const EgoState& ego, const Eigen::MatrixXd& candidates, bool local, const std::string& why);
// Propose the smallest predicted cost outside the failed or flat region, or within the constraints (by the margin of
// their models). The score is the predicted gain.
Proposal along_the_edge(const EgoState& ego);
Proposal along_the_constraints(const EgoState& ego, const Eigen::MatrixXd& candidates);
// Proposes the next step of the local descent. The proposal has no design if the descent has converged.
Proposal step_of_descent(const EgoState& ego);
// Proposes a check of the model's prediction, when the model expects no further gain.
Proposal check(const EgoState& ego, double gain);

Front front_of(const ObservedData& observed);  // front of the designs that satisfy the constraints
// Returns why the front of several objectives is complete: both the expected gain and the gain of the last designs are
// small. Empty: the front is not complete.
std::string settled_front(const EgoState& ego, const Proposal& proposal, const AcquisitionModel& acquisition);

}  // namespace dodyn::surrogate
