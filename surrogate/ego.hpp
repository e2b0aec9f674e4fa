// Efficient global optimisation: kriging through the samples, the next design where the expected improvement over the
// best is largest (in its logarithm, times the probability that the design evaluates at all and keeps the constraints).
//
//   1. Initial designs: given ones, then a Latin hypercube.
//   2. Models, of the evaluations: kriging of the cost, with gradients where asked for and there; kriging of each
//      constrained metric; the probability of evaluating (viability) from the failures. Costs are warped by a monotone
//      map, from none to a logarithm above the least cost, whichever makes them likeliest under the model, so that
//      costs over many orders of magnitude neither drown the minimum nor break the model.
//      A failed design counts as one where the cost is its prediction plus a standard deviation (Forrester et al.,
//      2006).
//   3. Designs that are asked for and not yet evaluated are pending: the model believes its own mean there (kriging believer).
//   4. Acquisition maximised over quasi-random candidates, those around the best, and gradient steps from the first
//   few.
//   5. In four or more variables expected improvement hardly looks beyond the basin of its best design. So when the
//   last designs only polish that one, the search descends into the next basin: from the best sample that no better one
//   is near, in a box about it, until it gains no more there, and then into the next.
//   6. Stop when the largest expected improvement falls below the tolerance, or its place is already evaluated.
//
// With noise the samples are smoothed, "best" is the least prediction at a sample plus one standard deviation, and the
// acquisition is the augmented one, under which a repeated design can be the best thing to do. With two or three objectives the
// acquisition is the expected gain in dominated hypervolume. With `trust_region` steps 2 to 4 see a box around the
// best, doubled after successes, halved after failures and started elsewhere once tiny: for 10 to 20 variables.
//
// Sources: D. Jones, M. Schonlau, W. Welch, Efficient global optimization of expensive black-box functions (1998);
// S. Ament et al. (2023) for log EI; M. Schonlau (1997) for feasibility; D. Ginsbourger, R. Le Riche, L. Carraro,
// Kriging is well-suited to parallelize optimization (2010); E. Snelson et al., Warped Gaussian processes (2004);
// D. Huang et al. (2006) for noise; M. Emmerich et al., Hypervolume-based expected improvement (2011); D. Eriksson et
// al., Scalable global optimization via local Bayesian optimization (2019) for the trust region; E. Garrido-Merchan, D.
// Hernandez-Lobato (2020) for integers: rounded before the kernel sees them, categories as unit vectors.
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
  int initial_samples = 0;  // beside the given ones; 0: chosen from the number of variables
  Eigen::MatrixXd given;    // d x m designs to evaluate first, in the variables' units
  // Known beforehand, as from another study of the same costs: they count for the models and as initial designs. Only
  // the best of them is evaluated again, first.
  std::vector<Evaluation> known;
  std::uint64_t seed = 1;
  Trend trend = Trend::constant;
  bool gradient = false;    // use gradients of the cost where there are any (not with integers or categories)
  bool noise = false;       // costs are noisy beyond the standard errors they may come with
  bool repeat = true;       // with noise: a design may be asked for again. Not where the same one costs the same again,
                            // as with common random numbers: then designs stay 1/200 of the ranges apart
  int batch = 1;            // designs per ask after the initial ones
  double tolerance = 1e-6;  // expected improvement at which to stop, of the best cost's magnitude
  double front_tolerance = 5e-4;  // two objectives: growth of the front's hypervolume at which to stop, see ego.cpp
  int max_failures = 0;  // evaluations without a usable cost before giving up while there is none at all; 0: 20, and
                         // 15 for each variable
  bool trust_region = false;
  std::vector<Domain> domains;          // per variable; empty: all real
  std::vector<Constraint> constraints;  // on metrics
  // Whether a design can be at all, where that is known beforehand; it is asked in place of evaluations. Empty: any.
  std::function<bool(const Eigen::VectorXd& design)> possible;
  std::string reason;           // why this strategy; said with the initial designs
  std::vector<int> objectives;  // two or three of: index of a metric, -1 for the cost. Empty: the cost alone
};

// How the reason begins with which a search ends that found no difference between designs, and so no best one.
inline constexpr std::string_view same_cost = "the cost is the same";

// Throws std::invalid_argument on a variable without a range or an option out of range.
std::unique_ptr<Strategy> make_ego(const std::vector<Variable>& variables, const EgoOptions& options);

// The designs of the default initial sample.
int default_initial_samples(int variables, bool gradient);

// The keys of [surrogate] that fill the options.
const KeyTable<EgoOptions>& ego_keys();

}  // namespace dodyn::surrogate
