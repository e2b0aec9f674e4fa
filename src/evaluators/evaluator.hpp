// The inner problem of a study, and the registry by which `study.evaluator = name` finds it. To add your own: one file
// pair here, one line in evaluator.cpp (CONTRIBUTING.md walks through an example).
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
  std::string key;       // of its checksum in the configuration of an archive: "gait.model-checksum"
  std::string checksum;  // of its content (record/text.hpp)
  std::string name;     // as the settings have it; a file that a command names: relative to the configuration's folder,
                        // or its absolute path where it lies elsewhere
  std::string content;  // as it was read; empty if `path` is given
  std::filesystem::path path = {};  // where it can be read

  bool operator==(const InputFile&) const = default;
};

// An evaluator of one study; the same on every rank. `evaluate` is called from one thread at a time, or from `concurrency`.
class Evaluator {
 public:
  virtual ~Evaluator() = default;
  virtual std::vector<Quantity> metrics() const = 0;
  virtual Channels channels() const = 0;
  // The files that it reads besides its settings: a resumed archive must agree in their checksums, and holds them.
  virtual std::vector<InputFile> input_files() const { return {}; }
  // Must depend on the task alone. Fills status, reason, cost, gradient, metrics and trajectory; the farm fills
  // seconds, rank, host and started.
  virtual Outcome evaluate(const Task& task) const = 0;
  // An evaluation may be split into parts, which ranks do at the same time and which outlive a killed run one by one.
  // `evaluate` then does no more than task.part, one of 0 ... parts() - 1, and answers in any shape that join() reads:
  // `parts` are all the answers, in this order; those that the farm gave up say so by their status and hold nothing.
  // What join() fills is what evaluate() would.
  virtual int parts() const { return 1; }
  virtual Outcome join(const Evaluation& asked, std::vector<Outcome> parts) const;
  // How many evaluations one process is to do at once: more than one where they are done by programs of their own, as
  // study.workers says. Throws ConfigError if this machine or job cannot do that, although another one may.
  virtual int concurrency() const { return 1; }
  // Whether evaluations come with the gradient of their cost; `surrogate.strategy = auto` uses it then.
  virtual bool has_gradients() const { return false; }
  // Whether a start from a neighbour's motion may end in a better answer than an evaluation's own starts: a study then
  // solves a design again that its neighbours say could be cheaper.
  virtual bool uses_warm_start() const { return false; }
  // Tells of a design, cheaply and without an evaluation, why none of it can be ok, as of ports that do not fit; empty: it may
  // be. Searches ask it of all designs that they think of. No function: nothing is known ahead.
  virtual std::function<std::string(const Eigen::VectorXd& design)> infeasibility_test() const { return {}; }
  // What `dodyn simulate` shows: the one motion that the settings and task.evaluation.design describe, whatever number
  // of them an evaluation takes. Nothing where evaluations are no simulations.
  virtual std::optional<Simulated> simulate(const Task&) const { return std::nullopt; }
  // What `dodyn simulate --from` shows: the controls of an archived motion, its channels those of channels(), driven
  // through the contact simulation. Nothing where evaluations have no controls. Throws ConfigError.
  virtual std::optional<Simulated> rollout(const Outcome&) const { return std::nullopt; }
  // What `dodyn solve` prints of an evaluation after its record: an optimality and feasibility report, several lines.
  virtual std::string report(const Outcome& outcome) const = 0;
  // Returns how this process's evaluations spent their time, for `dodyn solve --verbose`.
  virtual std::string details() const { return ""; }
};

// The registry.
const std::vector<EvaluatorKind>& evaluator_kinds();

// The evaluator that the settings name, in all their scenarios. Throws ConfigError if two settings are inconsistent.
std::unique_ptr<Evaluator> make_evaluator(const Settings& settings);

// read_settings() (settings/settings.hpp) with the evaluators of the registry.
Settings read_settings(const std::string& path, const std::vector<std::string>& words);

}  // namespace dodyn::evaluators
