// The keys of [study], and surrogate.strategy.
#include <limits>

#include "settings/settings.hpp"

namespace dodyn {

namespace {
constexpr double infinity = std::numeric_limits<double>::infinity();
}

// Not split into functions: a table with one entry for each key, in the order of --help.
std::vector<Key> study_keys(const std::vector<EvaluatorKind>& kinds) {
  return {
      {.name = "study.evaluator",
       .type = Type::choice,
       .description = "the kind of problem that is solved for each design; its cost is minimised",
       .choices = names_of(kinds)},
      {.name = "study.scenario-aggregate",
       .type = Type::choice,
       .default_value = "mean",
       .description =
           "cost of a study with [scenario NAME] sections; mean: weighted mean of their costs; worst: the largest",
       .choices = {"mean", "worst"}},
      {.name = "study.scenarios",
       .type = Type::text,
       .description = "names of the scenarios to use, such as slow, fast; empty: all"},
      {.name = "study.archive",
       .type = Type::text,
       .description = "HDF5 file of the results; empty: the configuration's name with .h5, in the current directory",
       .identity = false},
      {.name = "study.snapshot",
       .type = Type::text,
       .description =
           "copy of the archive that any program can open at any time; it is updated with new rows; empty: no copy",
       .identity = false},
      {.name = "study.seed",
       .type = Type::integer,
       .default_value = "1",
       .description = "seed of all random numbers, together with the evaluation's id",
       .minimum = 0},
      {.name = "study.max-evaluations",
       .type = Type::integer,
       .default_value = "40",
       .description =
           "number of evaluations, of all runs together, at which the study stops; raise it to continue a study",
       .minimum = 1,
       .identity = false},
      {.name = "study.batch",
       .type = Type::integer,
       .default_value = "automatic",
       .description = "number of designs evaluated at the same time; automatic: 8 in the synchronous mode, for any "
                      "number of ranks; in the asynchronous mode as many as keep all ranks busy",
       .minimum = 1,
       .word = "automatic",
       .named_number = 0},
      {.name = "study.workers",
       .type = Type::integer,
       .default_value = "1",
       .description = "programs that one process runs at the same time; for study.evaluator = command; dodyn run then "
                      "needs no mpirun; all: as many as the processors allow",
       .minimum = 1,
       .identity = false,
       .word = "all",
       .named_number = 0},
      {.name = "study.mode",
       .type = Type::choice,
       .default_value = "synchronous",
       .description = "when the search learns from costs; synchronous: from whole batches, with the same designs on "
                      "any number of ranks; asynchronous: from each cost at once, and no rank waits for a batch",
       .choices = {"synchronous", "asynchronous"}},
      {.name = "study.time-limit",
       .default_value = "none",
       .unit = "s",
       .description = "time limit of an evaluation, or of each of its tasks; at the limit it returns its best result, "
                      "with status timed_out",
       .minimum = 0,
       .identity = false,
       .word = "none",
       .named_number = infinity,
       .zero_means_named = true},
      {.name = "study.grace-period",
       .default_value = "10",
       .unit = "s",
       .description = "time by which an evaluation may exceed its time limit; beyond it the evaluation and its rank "
                      "are given up; also the time that running evaluations have to finish after a signal",
       .minimum = 0,
       .identity = false},
      {.name = "study.wall-time",
       .type = Type::duration,
       .default_value = "none",
       .description = "time after which the run ends, grace period included (short: --wall-time); none: at the end of "
                      "the Slurm job (SLURM_JOB_END_TIME), if there is one",
       .identity = false,
       .word = "none",
       .named_number = infinity,
       .zero_means_named = true},
      {.name = "study.failure-rate",
       .default_value = "1",
       .unit = "1",
       .description = "fraction of failed evaluations at which the study stops; failed: neither ok nor infeasible",
       .minimum = 0,
       .maximum = 1,
       .open_minimum = true,
       .identity = false},
      {.name = "study.failure-rate-after",
       .type = Type::integer,
       .default_value = "20",
       .description = "number of evaluations after which study.failure-rate applies",
       .minimum = 1,
       .identity = false},
      {.name = "study.max-attempts",
       .type = Type::integer,
       .default_value = "3",
       .description = "number of attempts at an evaluation whose rank disappears",
       .minimum = 1},
      {.name = "study.heartbeat-timeout",
       .default_value = "10",
       .unit = "s",
       .description = "time without a message after which a rank is treated as lost",
       .minimum = 0.1,
       .identity = false},
      {.name = "study.speculate-after",
       .default_value = "none",
       .description = "multiple of the median duration after which an evaluation is duplicated; it is started on an "
                      "idle rank, too; the first answer counts; for machines with slow ranks",
       .minimum = 1,
       .identity = false,
       .word = "none",
       .named_number = infinity},
      {.name = "study.isolate",
       .type = Type::choice,
       .default_value = "none",
       .description = "where evaluations run; process: each in a child process, so that a crash is one failed "
                      "evaluation; none: in the rank itself",
       .choices = {"none", "process"},
       .identity = false},
      {.name = "study.memory-limit",
       .default_value = "none",
       .unit = "MB",
       .description = "memory that an evaluation may allocate, with isolate = process",
       .minimum = 0,
       .identity = false,
       .word = "none",
       .named_number = infinity,
       .zero_means_named = true},
  };
}

const std::vector<Key>& scenario_keys() {
  static const std::vector<Key> keys = {
      {.name = "weight",
       .default_value = "1",
       .unit = "1",
       .description = "weight of this scenario in the mean",
       .minimum = 0,
       .open_minimum = true},
      {.name = "reference",
       .default_value = "1",
       .unit = "1",
       .description = "divisor of this scenario's cost, such as its own best cost",
       .minimum = 0,
       .open_minimum = true},
  };
  return keys;
}

const ini::SectionKind& scenario_section() {
  static const ini::SectionKind kind{.kind = "scenario",
                                     .name = ini::SectionKind::Name::required,
                                     .any_key = true,
                                     .description =
                                         "a situation in which each design is judged; weight, reference, and settings "
                                         "of the evaluator and values of design variables that differ in it",
                                     .may_be_empty = true};
  return kind;
}

Key strategy_key(const std::vector<StrategyKeys>& strategies) {
  Key key{.name = "surrogate.strategy",
          .type = Type::choice,
          .default_value = strategies.front().name,
          .description = "how designs are chosen (short: --strategy)"};
  for (const auto& strategy : strategies) {
    key.choices.push_back(strategy.name);
    key.description += "; " + strategy.name + ": " + strategy.description;
  }
  return key;
}

}  // namespace dodyn
