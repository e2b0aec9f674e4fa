// The keys of [surrogate] for ego, trust-region and auto.
#include "settings/key_table.hpp"
#include "surrogate/ego.hpp"

namespace dodyn::surrogate {

const KeyTable<EgoOptions>& ego_keys() {
  using Options = EgoOptions;
  static const auto table =
      KeyTable<Options>("surrogate.")
          .add("initial-samples", &Options::initial_samples,
               {.description = "number of designs evaluated before the first model; automatic: from the number of "
                               "variables, at least surrogate.batch",
                .minimum = 2,
                .word = "automatic",
                .zero_means_named = true})
          .add("gradient", &Options::gradient, {.description = "use gradients of costs, if the evaluator has them"})
          .add("noise", &Options::noise,
               {.description = "costs have noise; standard errors that come with costs always count"})
          .add("replicate", &Options::repeat,
               {.description = "a design may be evaluated again, if costs have noise; false: a repeated evaluation "
                               "would give the same cost"})
          .add("indifference", &Options::indifference,
               {.description = "difference of noisy or paired costs that does not matter; for the stop rule and the "
                               "probability that a design is the best; automatic: half the standard error of a cost",
                .minimum = 0,
                .open_minimum = true,
                .word = "automatic",
                .zero_means_named = true})
          .add("batch", &Options::batch,
               {.description = "number of designs chosen at a time after the initial ones; at most study.batch",
                .minimum = 1})
          .add("tolerance", &Options::tolerance,
               {.unit = "1",
                .description = "relative improvement of the best cost below which the search stops; the expected "
                               "improvement by the next design counts",
                .minimum = 0,
                .open_minimum = true,
                .identity = false})
          .add("front-tolerance", &Options::front_tolerance,
               {.unit = "1",
                .description =
                    "relative growth of the front's hypervolume below which the search stops; in the last 10 "
                    "evaluations, plus 5 for each variable, and as expected of the next one; for several objectives",
                .minimum = 0,
                .identity = false})
          .add("max-failures", &Options::max_failures,
               {.description = "number of evaluations after which a search without a usable cost ends; automatic: 20, "
                               "plus 15 for each variable",
                .minimum = 1,
                .identity = false,
                .word = "automatic",
                .zero_means_named = true});
  return table;
}

}  // namespace dodyn::surrogate
