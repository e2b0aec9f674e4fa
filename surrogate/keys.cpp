// The keys of [surrogate].
#include "record/text.hpp"
#include "surrogate/choice.hpp"

namespace dodyn::surrogate {

std::vector<Key> strategy_keys() {
  std::vector<std::string> strategies;
  std::string strategies_described;
  for (const auto& kind : strategy_kinds()) {
    strategies.push_back(kind.name);
    strategies_described += "; " + kind.name + ": " + kind.description;
  }
  const StrawmanOptions strawman;
  const SweepOptions sweep;
  return {
      {.name = "surrogate.strategy",
       .type = Type::choice,
       .default_value = "strawman",
       .description = "how designs are chosen (short: --strategy)" + strategies_described,
       .choices = strategies},
      {.name = "surrogate.initial-samples",
       .type = Type::integer,
       .default_value = std::to_string(strawman.initial_samples),
       .description =
           "designs evaluated before the first model; other strategies than the strawman choose it themselves "
           "unless it is given",
       .minimum = 2},
      {.name = "surrogate.gradient",
       .type = Type::boolean,
       .default_value = "false",
       .description = "use gradients where the evaluator gives them"},
      {.name = "surrogate.noise",
       .type = Type::boolean,
       .default_value = "false",
       .description = "ego: costs are noisy (beyond the standard errors that they come with, which always count)"},
      {.name = "surrogate.repeat",
       .type = Type::boolean,
       .default_value = "true",
       .description = "ego, noisy costs: the same design may be asked for again; false where it costs the same again"},
      {.name = "surrogate.batch",
       .type = Type::integer,
       .default_value = "1",
       .description = "ego: designs asked for at a time after the initial ones; at most study.batch",
       .minimum = 1},
      {.name = "surrogate.kernel",
       .type = Type::choice,
       .default_value = "matern52",
       .description = "ego: covariance of the cost between two designs",
       .choices = {"matern52", "matern32", "squared-exponential"}},
      {.name = "surrogate.trend",
       .type = Type::choice,
       .default_value = "constant",
       .description = "ego: mean of the cost before it is known",
       .choices = {"constant", "linear"}},
      {.name = "surrogate.acquisition",
       .type = Type::choice,
       .default_value = "expected-improvement",
       .description = "ego: what the next design maximises",
       .choices = {"expected-improvement", "lower-confidence-bound"}},
      {.name = "surrogate.pending",
       .type = Type::choice,
       .default_value = "believer",
       .description =
           "ego: cost of a design that is being evaluated: the model's mean, the best so far, or all it may be",
       .choices = {"believer", "liar", "joint"}},
      {.name = "surrogate.initial-design",
       .type = Type::choice,
       .default_value = "latin-hypercube",
       .description = "ego: how the initial designs fill the range",
       .choices = {"latin-hypercube", "sobol", "halton", "corners"}},
      {.name = "surrogate.designs",
       .type = Type::path,
       .description = "ego: CSV file of designs to evaluate first, its header naming the free variables"},
      {.name = "surrogate.samples",
       .type = Type::path,
       .description =
           "ego: evaluations of the same costs done before: a dodyn archive (.h5), or a CSV file as of 'dodyn show "
           "--csv'; the best is evaluated again, first"},
      {.name = "surrogate.constraints",
       .type = Type::text,
       .description = "ego: limits on metrics, as in 'largest_torque <= 15, smallest_normal_force >= 0'"},
      {.name = "surrogate.objectives",
       .type = Type::text,
       .description = "ego: two of cost and the metrics, as in 'cost, largest_torque': their Pareto front"},
      {.name = "surrogate.integers",
       .type = Type::text,
       .description = "ego: free variables that take whole numbers only, as in 'legs, teeth'"},
      {.name = "surrogate.categories",
       .type = Type::text,
       .description = "ego: free variables whose whole numbers are mere labels"},
      {.name = "surrogate.tolerance",
       .type = Type::real,
       .default_value = to_text(strawman.tolerance),
       .unit = "1",
       .description =
           "strawman and ego: stop when a new sample improves the best cost by less than this relative amount",
       .minimum = 0,
       .open_minimum = true,
       .identity = false},
      {.name = "surrogate.design-tolerance",
       .type = Type::real,
       .default_value = to_text(strawman.design_tolerance),
       .unit = "1",
       .description = "strawman, smf: no two designs closer than this fraction of the range",
       .minimum = 0,
       .maximum = 0.1,
       .open_minimum = true},
      {.name = "surrogate.max-failures",
       .type = Type::integer,
       .default_value = std::to_string(strawman.max_failures),
       .description = "give up after this many evaluations without a usable cost",
       .minimum = 1,
       .identity = false},
      {.name = "surrogate.points",
       .type = Type::integer,
       .default_value = std::to_string(sweep.points.at(0)),
       .description = "sweep: points along each free variable, both ends included (one: its middle)",
       .minimum = 1},
  };
}

}  // namespace dodyn::surrogate
