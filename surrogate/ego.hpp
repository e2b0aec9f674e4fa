// Efficient global optimisation (EGO): a kriging model of the samples. The next design maximises the expected
// improvement over the best, times the probability that the design evaluates and satisfies the constraints (in
// logarithms).
//
//   1. Initial designs: the best known design, the best design of a cheaper study, given ones, then a Latin hypercube.
//   2. Models of the evaluations: kriging of the cost, with gradients if requested and available; kriging of each
//      constrained metric; the probability of evaluating, from the failures. Costs are warped by the monotone map of
//      maximum likelihood, from none to a logarithm above the minimum. So costs over many orders of magnitude do not
//      hide the minimum.
//      The cost of a failed design is imputed: its prediction plus a standard deviation (Forrester et al., 2006).
//   3. Designs that ask() returned and that are not yet evaluated are pending. Their cost is the model's mean (kriging
//      believer).
//   4. The acquisition is maximised over quasi-random candidates, points around the best, and gradient steps from the
//      best candidates.
//   5. Once the best design settles, a local descent about it (local_descent.hpp) and the global search alternate. The
//      one that gains continues.
//   6. In four or more variables other basins than that of the best design are searched too (basin_search.hpp).
//   7. Stop when the largest expected improvement is below the tolerance or its design is already evaluated, and the
//      descent has converged (stop_rule.hpp).
//
// With noise the model smooths the samples. "Best" is then the smallest prediction at a sample plus one standard
// deviation, and the acquisition is the augmented one, which may choose a design again. With two or three objectives
// the acquisition is the expected gain in dominated hypervolume. With `trust_region`, for 10 to 20 variables, steps 2
// to 4 use a box around the best. The box is doubled after successes, halved after failures, and restarted elsewhere
// when it is tiny. The descent comes before the box, and the box restarts when it does not gain about a minimum of the
// descent. Without gradients the initial designs of such a descent lie along the axes (ego_initial.cpp).
//
// Sources: D. Jones, M. Schonlau, W. Welch, Efficient global optimization of expensive black-box functions (1998); S.
// Ament et al. (2023) for log EI; M. Schonlau (1997) for feasibility; D. Ginsbourger, R. Le Riche, L. Carraro, Kriging
// is well-suited to parallelize optimization (2010); E. Snelson et al., Warped Gaussian processes (2004); D. Huang et
// al. (2006) for noise; M. Emmerich et al., Hypervolume-based expected improvement (2011); D. Eriksson et al., Scalable
// global optimization via local Bayesian optimization (2019) for the trust region; E. Garrido-Merchan, D.
// Hernandez-Lobato (2020) for integers (rounded before the kernel) and categories (unit vectors).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "surrogate/acquisition_model.hpp"
#include "surrogate/strategy.hpp"

namespace dodyn::surrogate {

struct EgoOptions {
  int initial_samples = 0;  // number in addition to the given ones; 0: chosen from the number of variables
  Eigen::MatrixXd given;    // [variables, designs] designs to evaluate first, in the variables' units
  // Known evaluations, such as those of another study of the same costs. They count for the models and as initial
  // designs. Only the best known design is evaluated again, before all others.
  std::vector<Evaluation> known;
  // Evaluations of a cheaper study of the same variables, with the same objectives and constrained metrics. The models
  // of that study are terms of the models of this one. The best design of that study is an initial design, and the
  // search needs fewer other ones. Empty: none.
  std::vector<Evaluation> low_fidelity;
  bool low_fidelity_noise = false;  // costs of the cheaper study have noise beyond their standard errors, if any
  std::uint64_t seed = 1;
  bool gradient = false;  // use gradients of the cost if available; only if all variables are real
  bool noise = false;     // costs have noise in addition to their standard errors, if any
  // Costs are paired, see Evaluation::paired_costs; with `repeat` an additional evaluation of a design has other
  // initial states, the same for all designs
  bool paired = false;
  // Uncertain costs: a smaller difference does not matter; 0: half the standard error of a cost
  double indifference = 0;
  bool repeat = true;       // with noise: a design may be evaluated again. False if a design always has the same cost,
                            // as with common random numbers; then designs are at least 1/200 of the ranges apart
  int batch = 1;            // designs per ask() after the initial ones
  double tolerance = 1e-6;  // stop at this expected improvement, relative to the best cost
  double front_tolerance = 5e-4;  // several objectives: stop at this relative growth of the front's hypervolume, see
                                  // ego_front.cpp
  int max_failures = 0;  // number of evaluations after which the search gives up if none has a usable cost; 0: 20 plus
                         // 15 for each variable
  bool trust_region = false;
  std::vector<Domain> domains;          // [variables]; empty: all real
  std::vector<Constraint> constraints;  // constraints on metrics
  // Whether a design is allowed, if that is known in advance. If no allowed design is found, others are evaluated.
  // Empty: all are allowed.
  std::function<bool(const Eigen::VectorXd& design)> possible;
  // Whether a design satisfies the conditions on designs. Others are never evaluated, and known evaluations of others
  // are left out. `possible` implies `within`. Empty: there are no conditions.
  std::function<bool(const Eigen::VectorXd& design)> within;
  // Margins of the conditions on designs, each at least 0 where its condition is satisfied. Searches move along the
  // conditions by these margins. Empty: there are no conditions, or they are not inequalities joined by 'and'.
  std::vector<std::function<double(const Eigen::VectorXd& design)>> margins;
  std::string reason;           // why this strategy was chosen; part of the note of the initial designs
  std::vector<int> objectives;  // two or three entries: index of a metric, or -1 for the cost. Empty: the cost alone
};

// Prefix of the stop reason if all costs are equal, so that there is no best design.
inline constexpr std::string_view same_cost = "the cost is the same";
// Prefix if the search ends although a better design may be in most of the box.
inline constexpr std::string_view mostly_undecided = "most of the design range is undecided";

// Name in Iteration::numbers of the factor of the cheaper study's model in the model of the cost. The factor is 0 if
// that model is left out.
inline constexpr std::string_view low_fidelity_factor = "low_fidelity_factor";
// Name in Iteration::numbers of the number of evaluations in the cheaper study's model of the cost.
inline constexpr std::string_view low_fidelity_evaluations = "low_fidelity_evaluations";

// Message if no design satisfies EgoOptions::within.
inline constexpr std::string_view nothing_within =
    "no design that satisfies surrogate.design-constraints was found; change the conditions or the ranges";

// Throws std::invalid_argument if a variable has no range, an option is out of range, or no design to begin with
// satisfies EgoOptions::within.
std::unique_ptr<Strategy> make_ego(const std::vector<Variable>& variables, const EgoOptions& options);

// Returns the number of initial designs by default. `low_fidelity`: whether a cheaper study contributes to the models.
int default_initial_samples(int variables, bool gradient, bool low_fidelity = false);

// The keys of [surrogate] that fill the options.
const KeyTable<EgoOptions>& ego_keys();

}  // namespace dodyn::surrogate
