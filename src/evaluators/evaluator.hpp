// The inner problem of a study, and the registry of evaluators. To add an evaluator: a .cpp here, one line in kinds.hpp
// and one in evaluator.cpp (CONTRIBUTING.md has an example).
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "evaluators/simulated.hpp"
#include "record/task.hpp"
#include "settings/settings.hpp"

namespace dodyn::evaluators {

// A file that an evaluator reads.
struct InputFile {
  std::string key;       // name of its checksum in the configuration of an archive: "gait.model-checksum"
  std::string checksum;  // of its content (record/text.hpp)
  std::string name;      // as in the settings. A file in a command line: relative to the configuration's folder, or
                         // absolute if it lies outside
  std::string content;   // the content when it was read; empty if `path` is given
  std::filesystem::path path = {};  // path from which it can be read

  bool operator==(const InputFile&) const = default;
};

// Whether the costs of designs are paired: means over initial states that all designs share.
enum class Pairing {
  none,        // errors of costs are independent
  fixed,       // another evaluation of a design has the same initial states
  extensible,  // evaluations of seed 0, 1, 2, ... have initial states of their own, the same for all designs
};

// An evaluator of one study; equal on every rank. evaluate() is called from one thread at a time, or from `concurrency`
// threads.
class Evaluator {
 public:
  virtual ~Evaluator() = default;
  virtual std::vector<Quantity> metrics() const = 0;
  virtual Channels channels() const = 0;
  // Returns the files that the evaluator reads in addition to its settings. The archive holds them; a resumed study
  // must agree in their checksums.
  virtual std::vector<InputFile> input_files() const { return {}; }
  // Evaluates a task; the result must depend only on the task. Fills status, reason, cost, gradient, metrics and
  // trajectory. The farm fills seconds, rank, host and started.
  virtual Outcome evaluate(const Task& task) const = 0;
  // An evaluation may be split into parts. Ranks evaluate them in parallel, and finished parts survive a killed run.
  // evaluate() then does only task.part, one of 0 ... parts() - 1, and may answer in any form that join() reads.
  // `parts`: all answers, in this order; a part that the farm gave up has its status and no data. join() must give the
  // result of evaluate() without parts.
  virtual int parts() const { return 1; }
  virtual Outcome join(const Evaluation& asked, std::vector<Outcome> parts) const;
  // Returns how many evaluations one process runs concurrently: more than one if separate programs do them
  // (study.workers). Throws ConfigError if this machine or job cannot do that, although another could.
  virtual int concurrency() const { return 1; }
  // Whether evaluations have the gradient of their cost; `surrogate.strategy = auto` depends on it.
  virtual bool has_gradients() const { return false; }
  // Whether costs are paired. If so, a study numbers the evaluations of each design: their seeds are 0, 1, 2, ... The
  // trajectory has the cost of each initial state (costs_of_states() in record/trajectory.hpp).
  virtual Pairing pairing() const { return Pairing::none; }
  // Whether a neighbour's motion as initial guess may give a better result than an evaluation's own guesses. If so, a
  // study solves a design again when its neighbours predict a lower cost.
  virtual bool uses_warm_start() const { return false; }
  // Returns a function that tests a design without an evaluation. The function returns why the design cannot be ok
  // (such as ports that do not fit); empty: it may be ok. Searches call it for all candidates. No function: nothing is
  // known in advance.
  virtual std::function<std::string(const Eigen::VectorXd& design)> infeasibility_test() const { return {}; }
  // For `dodyn simulate`: simulates one motion of the settings and task.evaluation.design, even if an evaluation uses
  // several. nullopt: evaluations are not simulations.
  virtual std::optional<Simulated> simulate(const Task&) const { return std::nullopt; }
  // For `dodyn simulate --from`: applies the controls of an archived motion (channels as in channels()) in the contact
  // simulation. nullopt: evaluations have no controls. Throws ConfigError.
  virtual std::optional<Simulated> rollout(const Outcome&) const { return std::nullopt; }
  // Returns the report that `dodyn solve` prints after the record: optimality and feasibility, several lines.
  virtual std::string report(const Outcome& outcome) const = 0;
  // Returns how this process's evaluations spent their time, for `dodyn solve --verbose`.
  virtual std::string details() const { return ""; }
};

// Returns the registry.
const std::vector<EvaluatorKind>& evaluator_kinds();

// Makes the evaluator that the settings name, with all their scenarios. Throws ConfigError if two settings are
// inconsistent.
std::unique_ptr<Evaluator> make_evaluator(const Settings& settings);

// Calls read_settings() (settings/settings.hpp) with the evaluators of the registry.
Settings read_settings(const std::string& path, const std::vector<std::string>& words);

}  // namespace dodyn::evaluators
