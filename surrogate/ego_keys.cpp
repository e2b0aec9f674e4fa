// The keys of [surrogate] for ego, trust-region and auto.
#include "settings/key_table.hpp"
#include "surrogate/ego.hpp"

namespace dodyn::surrogate {

const KeyTable<EgoOptions>& ego_keys() {
  using Options = EgoOptions;
  static const auto table =
      KeyTable<Options>("surrogate.")
          .add("initial-samples", &Options::initial_samples,
               {.description = "designs evaluated before the first model; automatic: from the number of variables, at "
                               "least surrogate.batch",
                .minimum = 2,
                .word = "automatic",
                .zero_means_named = true})
          .add("gradient", &Options::gradient, {.description = "use gradients where the evaluator gives them"})
          .add("noise", &Options::noise,
               {.description = "costs are noisy (beyond the standard errors that they come with, which always count)"})
          .add("replicate", &Options::repeat,
               {.description = "noisy costs: the same design may be evaluated again; false: a repeated evaluation "
                               "would give the same cost"})
          .add("indifference", &Options::indifference,
               {.description = "paired costs: smaller differences count as equal in the stop rule and in the "
                               "probability that a design is the best; automatic: half the standard error of a cost",
                .minimum = 0,
                .open_minimum = true,
                .word = "automatic",
                .zero_means_named = true})
          .add("batch", &Options::batch,
               {.description = "designs asked for at a time after the initial ones; at most study.batch", .minimum = 1})
          .add("trend", &Options::trend, {{"constant", Trend::constant}, {"linear", Trend::linear}},
               {.description = "mean function of the model"})
          .add("tolerance", &Options::tolerance,
               {.unit = "1",
                .description =
                    "stop when the next sample is expected to improve the best cost by less than this relative amount",
                .minimum = 0,
                .open_minimum = true,
                .identity = false})
          .add("front-tolerance", &Options::front_tolerance,
               {.unit = "1",
                .description = "several objectives: stop when the front's hypervolume grew by less than this relative "
                               "amount in the last "
                               "10 evaluations and 5 for each variable, and the next one is expected to gain less",
                .minimum = 0,
                .identity = false})
          .add("max-failures", &Options::max_failures,
               {.description = "give up after this many evaluations without a usable cost",
                .minimum = 1,
                .identity = false,
                .word = "automatic",
                .zero_means_named = true});
  return table;
}

}  // namespace dodyn::surrogate
