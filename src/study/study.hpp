// The design loop: ask the strategy for designs, farm them out, archive what comes back, tell the strategy, until
// something says stop. Synchronous: a batch is told when all of it is there, in the order of the ids, so the sequence
// of designs does not depend on the number of ranks.
//
// A study resumes by replay: the strategy is asked again from the start, and a design whose evaluation is in the
// archive is answered from there. What is missing (a killed run may have left holes) is evaluated.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "archive/archive.hpp"
#include "farm/farm.hpp"
#include "study/evaluator.hpp"
#include "study/settings.hpp"
#include "surrogate/strategy.hpp"

namespace dodyn::study {

// Where a run stands, for the progress line.
struct Tally {
  const std::map<std::int64_t, Evaluation>& evaluations;  // by id: all that are in the archive
  int running;
  int limit;            // study.max-evaluations
  double seconds;       // since run() began
  double seconds_left;  // at most, if it goes on to the limit; not a number where nothing tells yet
};

struct Summary {
  std::string reason;               // why the study ended
  bool interrupted = false;         // by a signal: run it again to continue
  bool was_finished = false;        // the archive held all of it already, with this very reason
  int evaluated = 0, recalled = 0;  // evaluations of this run, and of earlier ones
  std::optional<Evaluation> best;   // lowest cost with status ok
};

class Study {
 public:
  using Watch = std::function<void(const Tally&)>;

  // Creates the archive, or opens the one that is there. Throws ConfigError where that is refused: another study's, a
  // newer schema, in use, not writable. `interrupted` may be set from a signal handler; running evaluations are waited
  // for. All references outlive the study.
  Study(const Settings& settings, const Evaluator& evaluator, surrogate::Strategy& strategy, farm::Farm& farm,
        archive::Provenance provenance, const std::atomic<bool>& interrupted, Watch watch);

  // Throws archive::Error where a row cannot be written, ConfigError where the archive does not replay.
  Summary run();

 private:
  // The steps of the loop. Each returns whether to go on; where not, reason_ says why.
  bool wanted();
  bool ask();
  bool evaluate();
  bool tell();
  bool stop(std::string reason);

  archive::Archive open(archive::Provenance provenance);
  Task task(std::int64_t id, const Eigen::VectorXd& design) const;
  std::int64_t nearest(const Eigen::VectorXd& design) const;
  Tally tally() const;

  const Settings& settings_;
  surrogate::Strategy& strategy_;
  farm::Farm& farm_;
  const std::atomic<bool>& interrupted_;
  const Watch watch_;
  const int limit_, batch_limit_;
  archive::Layout layout_;

  std::map<std::int64_t, Evaluation> evaluations_;   // what the archive holds, by id
  std::map<std::int64_t, Trajectory> trajectories_;  // of those with status ok
  std::size_t archived_iterations_ = 0;
  std::string archived_reason_;
  archive::Archive archive_;

  std::vector<Task> pending_;              // of this batch, not in the archive yet
  std::int64_t told_ = 0, batch_end_ = 0;  // ids below told_ are told; the batch is [told_, batch_end_)
  std::size_t iterations_ = 0;
  int evaluated_ = 0, recalled_ = 0;
  double started_ = 0, busy_seconds_ = 0;
  std::string reason_;
};

// The strategy that the settings name. Throws ConfigError where it does not suit the free variables.
std::unique_ptr<surrogate::Strategy> make_strategy(const Settings& settings);

// The evaluator as work for a farm, its outcomes held to what it declared: an outcome of another shape becomes
// `failed`.
Work make_work(std::shared_ptr<const Evaluator> evaluator);

// The seed of one evaluation: SplitMix64 (Steele, Lea, Flood 2014) of study seed and id, so that neighbours differ in
// about half their bits.
std::uint64_t evaluation_seed(std::uint64_t study_seed, std::int64_t id);

// The evaluation of lowest cost among those with status ok, the first of equals; null where there is none.
const Evaluation* best_of(const std::map<std::int64_t, Evaluation>& evaluations);

}  // namespace dodyn::study
