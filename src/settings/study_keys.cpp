// The keys of [study], and surrogate.strategy.
#include <limits>

#include "settings/settings.hpp"

namespace dodyn {

namespace {
constexpr double infinity = std::numeric_limits<double>::infinity();
}

// Whole: it is a table, one entry for each key in the order of --help.
std::vector<Key> study_keys(const std::vector<EvaluatorKind>& kinds) {
  std::vector<std::string> evaluators;
  for (const auto& kind : kinds) evaluators.push_back(kind.name);
  return {
      {.name = "study.evaluator",
       .type = Type::choice,
       .description = "the inner problem whose cost is minimised",
       .choices = evaluators},
      {.name = "study.scenario-aggregate",
       .type = Type::choice,
       .default_value = "mean",
       .description = "with [scenario NAME] sections: the cost is the weighted mean of theirs, or the worst of them",
       .choices = {"mean", "worst"}},
      {.name = "study.scenarios",
       .type = Type::text,
       .description = "names of the scenarios to take, as in slow, fast; all if empty"},
      {.name = "study.archive",
       .type = Type::text,
       .description =
           "HDF5 file of the results; by default the configuration's name with .h5, in the current directory",
       .identity = false},
      {.name = "study.snapshot",
       .type = Type::text,
       .description =
           "a copy of the archive that every program can open at any time, renewed as rows come; none if empty",
       .identity = false},
      {.name = "study.seed",
       .type = Type::integer,
       .default_value = "1",
       .description = "every random number follows from it and the evaluation's id",
       .minimum = 0},
      {.name = "study.max-evaluations",
       .type = Type::integer,
       .default_value = "40",
       .description = "stop after this many evaluations in all; raise it to continue a study",
       .minimum = 1,
       .identity = false},
      {.name = "study.batch",
       .type = Type::integer,
       .default_value = "automatic",
       .description = "designs evaluated at the same time, the limit of parallelism; automatic: 8 in the synchronous "
                      "mode, whatever "
                      "the number of ranks; in the asynchronous mode as many as keep all ranks busy",
       .minimum = 1,
       .word = "automatic",
       .named_number = 0},
      {.name = "study.workers",
       .type = Type::integer,
       .default_value = "1",
       .description = "evaluations that one process runs at the same time, for the evaluator command, which starts "
                      "programs. dodyn run then needs no mpirun; all: as many as the processors allow",
       .minimum = 1,
       .identity = false,
       .word = "all",
       .named_number = 0},
      {.name = "study.mode",
       .type = Type::choice,
       .default_value = "synchronous",
       .description =
           "synchronous: the search learns from whole batches, with the same designs on any number of ranks; "
           "asynchronous: it learns from each answer at once, and no rank waits for a batch",
       .choices = {"synchronous", "asynchronous"}},
      {.name = "study.time-limit",
       .default_value = "none",
       .unit = "s",
       .description = "time limit of one evaluation, or of each part of a divided one; beyond it the evaluation "
                      "returns its best result as timed_out",
       .minimum = 0,
       .identity = false,
       .word = "none",
       .named_number = infinity,
       .zero_means_named = true},
      {.name = "study.grace-period",
       .default_value = "10",
       .unit = "s",
       .description = "time by which an evaluation may exceed its time limit before it and its rank are given up; also "
                      "the time that running evaluations have to finish after a signal",
       .minimum = 0,
       .identity = false},
      {.name = "study.wall-time",
       .type = Type::duration,
       .default_value = "none",
       .description = "end the run this long after its start, grace included (short: --wall-time); none: where Slurm "
                      "ends the job (SLURM_JOB_END_TIME), if it does",
       .identity = false,
       .word = "none",
       .named_number = infinity,
       .zero_means_named = true},
      {.name = "study.failure-rate",
       .default_value = "1",
       .unit = "1",
       .description = "stop when this fraction of the evaluations failed (neither ok nor infeasible)",
       .minimum = 0,
       .maximum = 1,
       .open_minimum = true,
       .identity = false},
      {.name = "study.failure-rate-after",
       .type = Type::integer,
       .default_value = "20",
       .description = "evaluations before study.failure-rate counts",
       .minimum = 1,
       .identity = false},
      {.name = "study.max-attempts",
       .type = Type::integer,
       .default_value = "3",
       .description = "how often an evaluation is tried if its rank disappears",
       .minimum = 1},
      {.name = "study.heartbeat-timeout",
       .default_value = "10",
       .unit = "s",
       .description = "a rank without a sign of life for this time is lost",
       .minimum = 0.1,
       .identity = false},
      {.name = "study.speculate-after",
       .default_value = "none",
       .description = "an evaluation that takes longer than this many medians is started on an idle rank, too; the "
                      "first answer counts. For machines with slow ranks",
       .minimum = 1,
       .identity = false,
       .word = "none",
       .named_number = infinity},
      {.name = "study.isolate",
       .type = Type::choice,
       .default_value = "none",
       .description = "process: each evaluation in a child process, so that a crash is one failed evaluation",
       .choices = {"none", "process"},
       .identity = false},
      {.name = "study.memory-limit",
       .default_value = "none",
       .unit = "MB",
       .description = "isolate = process: memory that an evaluation may allocate",
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
       .description = "of this scenario in the mean",
       .minimum = 0,
       .open_minimum = true},
      {.name = "reference",
       .default_value = "1",
       .unit = "1",
       .description = "its cost is divided by this, such as the best cost that it alone allows",
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
                                         "a situation that a design must suit: weight, reference, and the settings of "
                                         "the evaluator and values of design variables that differ in it",
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
