// The design loop: ask for designs, farm them out, archive the results and report them to the strategy, until the
// strategy or a limit stops the loop. Synchronous: the strategy receives a batch when all of its results have arrived,
// in the order of the ids. So the designs do not depend on the number of ranks. Asynchronous: as many designs run as
// keep every rank busy. When a result arrives, the strategy receives it and proposes another design. The designs then
// depend on the order of arrival, which is the order of the archive's rows, and on how many designs were allowed to
// run, which each iteration records. A study resumes by replay: the strategy is asked again from the beginning, and
// receives the archive's results. Designs without a row (a killed run may leave gaps) are evaluated.
//
// A lost evaluation is one whose rank disappeared. Each lost attempt leaves a row of status `lost`. The evaluation is
// repeated until there is an answer or study.max-attempts are lost; the strategy receives the last result alone. If
// rank 0 is killed, its own running evaluation counts as lost in the next run. If evaluations are split into parts,
// each part has its own attempts. The attempts of a part that was given up become rows. An attempt that a failure of
// the machine ended (record/machine.hpp) leaves a row of status `lost` and is repeated. The strategy never receives it.
// The run ends if no evaluation could start, or if one evaluation failed this way study.max-attempts times. The next
// run tries again.
//
// Batch systems signal all processes of a job, so evaluations often end just before the run does. Once a run must end,
// failed and lost attempts leave no row. An attempt that was killed waits a moment, in case that signal follows.
//
// `rerun` evaluates a design again and appends a row. The strategy receives it as a second result, after as many
// evaluations as the archive held then. So a replay has the order of the run.
//
// Before the strategy receives a batch, designs that their neighbours show to be too expensive are solved again
// (resolve_again.cpp), if the evaluator can start from a neighbour's motion. A better result is a second row too.
// If the evaluator splits an evaluation, the farm receives its parts as separate tasks (parts.hpp).
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "archive/archive.hpp"
#include "evaluators/evaluator.hpp"
#include "farm/farm.hpp"
#include "settings/settings.hpp"
#include "study/parts.hpp"
#include "study/running.hpp"
#include "surrogate/strategy_options.hpp"

namespace dodyn::study {

using evaluators::Evaluator;

// State of a run, for the progress line.
struct Progress {
  const std::map<std::int64_t, Evaluation>& evaluations;  // by id: all evaluations in the archive
  const Evaluation* best;                                 // null: none, or several objectives
  int running;
  int limit;            // study.max-evaluations
  double seconds;       // since the start of run()
  double seconds_left;  // upper bound, if the study runs until the limit; NaN: unknown
};

struct Summary {
  Ending ending = Ending::none;
  std::string reason;                        // why the study ended
  bool was_finished = false;                 // the archive was already complete, with this reason
  double undecided_fraction = not_a_number;  // after Ending::limit: share of the box where the search cannot rule out a
                                             // better design
  int evaluated = 0, restored = 0;           // evaluations of this run, and of earlier runs
  int resolved_again = 0;  // evaluations of this run that solved a design again from a neighbour's motion
  std::map<Status, std::vector<std::int64_t>> unanswered;  // by status: ids for which another attempt may give an
                                                           // answer
  // The most frequent reason of these evaluations, regardless of numbers in it; if the study failed, of all evaluations
  // without a usable cost. Empty: none.
  std::string commonest;
  int commonest_count = 0;         // number of evaluations with that reason
  int troubles = 0;                // attempts of this run that the machine ended
  std::string trouble;             // message of the last attempt that the machine ended
  std::optional<Evaluation> best;  // result of best_of()
};

// The run had to end before its archive was read; the archive is unchanged.
struct Interrupted : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class Study {
 public:
  using Watch = std::function<void(const Progress&)>;

  // Returns why the run must end now, as one line; empty: it may continue. Called several times a second.
  using Interruption = std::function<std::string()>;

  // Creates or opens the archive. Throws ConfigError if the archive belongs to another study, has another schema, is
  // damaged, or is not writable; archive::Busy if another process writes it; Interrupted if the run must end while the
  // archive is read. After an interruption, running evaluations have study.grace-period seconds to finish. Then they
  // are dropped, and the next run repeats them. All references must outlive the study.
  Study(const Settings& settings, const Evaluator& evaluator, surrogate::Strategy& strategy, farm::Farm& farm,
        archive::Provenance provenance, Interruption interruption, Watch watch);

  // Runs the study. Throws archive::Error if a row cannot be written, ConfigError if the replay does not reproduce the
  // archive, Interrupted if the run must end while trajectories are read.
  Summary run();
  // Repeats these evaluations with the same ids, designs and seeds. Empty set: all evaluations that failed, timed out
  // or were lost. The strategy is not asked; the next run() passes the results to it. Throws ConfigError for an unknown
  // id; otherwise the errors of run().
  Summary rerun(const std::set<std::int64_t>& ids);

 private:
  // The steps of the loop. Each returns whether to continue; if not, reason_ states why.
  bool wanted();
  bool ask();
  void add_design(const Eigen::VectorXd& design);
  int width() const;
  bool evaluate();
  bool resolve_again();
  bool tell();
  bool stop(Ending ending, std::string reason);
  void close(bool was_finished);
  template <class Action>
  void keep_ending(Action&& action);
  Summary summary(bool was_finished) const;
  bool reached_limit();

  archive::Archive open(archive::Provenance provenance);
  bool restore_row(Evaluation row);
  void record_lost_attempt(const Evaluation& asked);
  bool attempts_left(Outcome attempt, std::vector<Outcome>& rows);
  void add_trouble(Outcome attempt, std::vector<Outcome>& rows);
  template <class Write>
  void commit(Write&& write);
  void collect();
  void gather(Outcome answer, std::vector<Outcome>& rows);
  void release_deferred(std::vector<Outcome>& rows);
  void log_event(std::string kind, std::string text) { events_.push_back(event_now(std::move(kind), std::move(text))); }
  void write_events();
  void submit(const Evaluation& asked);
  void submit(const Evaluation& asked, int part);
  std::int64_t nearest(const Eigen::VectorXd& design) const;
  std::uint64_t seed_of(std::int64_t id, const Eigen::VectorXd& design) const;
  void tell(const Evaluation& evaluation);
  void add_warm_start_candidate(std::int64_t id);
  void check_interruption() const;  // throws Interrupted if the run must end
  void read_trajectories();
  bool is_observed(std::int64_t id) const { return static_cast<std::size_t>(id) < observed_.size() && observed_[id]; }
  Trajectory trajectory_of(std::int64_t id) const;
  std::map<std::int64_t, const Evaluation*> latest() const;
  double excess(const Evaluation& of, const Evaluation& by) const;
  bool better_than_before(const Evaluation& row) const;
  Progress progress() const;

  const Settings& settings_;
  const Evaluator& evaluator_;
  surrogate::Strategy& strategy_;
  farm::Farm& farm_;
  const Interruption interruption_;
  const Watch watch_;
  const int limit_, batch_, attempts_;  // study.max-evaluations, .batch (0: automatic), .max-attempts
  const std::uint64_t seed_;            // study.seed
  const bool asynchronous_;
  archive::Layout layout_;
  const std::vector<surrogate::Constraint> constraints_;
  const bool has_front_;  // several objectives

  std::map<std::int64_t, Evaluation> evaluations_;            // by id: final results that the strategy has received or
                                                              // will receive
  std::map<std::int64_t, std::vector<double>> trajectories_;  // by id, status ok only: all channels in one vector
  std::vector<std::int64_t> unread_trajectories_;  // id of each row of the archive, -1: not ok; empty after the
                                                   // trajectories are read
  std::set<std::pair<double, std::int64_t>>
      warm_start_candidates_;         // designs that nearest() may return: first variable, id
  std::map<std::int64_t, int> lost_;  // lost attempts by id
  std::deque<std::int64_t>
      arrivals_;  // asynchronous: ids of evaluations_ that the strategy has not received, in order of arrival
  struct Reevaluation {
    std::size_t after;  // number of evaluations that the strategy must have received before this one
    Evaluation row;
  };
  // Second and later rows of ids in evaluations_. The strategy has not received these rows.
  std::deque<Reevaluation> reevaluations_;
  std::size_t archived_iterations_ = 0;
  std::vector<int> archived_widths_;  // asynchronous: width() of each archived iteration; empty: not recorded
  std::int64_t archived_ids_ = 0;     // number of evaluations that earlier runs asked for, according to the rows
  std::string archived_reason_;
  std::string search_difference_;  // settings that may change in a study and differ from the archive's; empty: none
  Ending archived_ending_ = Ending::none;
  const bool resumed_;  // the archive existed
  archive::Archive archive_;
  Parts parts_;
  std::optional<InProgressMarker>
      interrupted_evaluation_;               // evaluation that rank 0 was running when it was killed in an earlier run
  std::vector<Outcome> completed_outcomes_;  // evaluations that the parts of an earlier run complete

  std::vector<Event> events_;  // not yet archived

  struct DeferredLoss {
    Outcome attempt;
    double until;
  };
  std::deque<DeferredLoss> deferred_losses_;  // killed attempts; the signal may have been meant for the whole job

  std::map<std::int64_t, Evaluation>
      pending_;                    // designs proposed whose results the strategy has not received: id, parent, design
                                   // and seed
  std::vector<std::int64_t> new_;  // ids of pending_ that must be evaluated
  std::map<std::int64_t, Evaluation> resolved_again_;      // previous results of designs that are solved again
  std::set<std::pair<std::int64_t, std::int64_t>> tried_;  // design and neighbour whose motion gave no improvement
  std::vector<bool> observed_;                             // by id: whether the strategy has received the result
  std::size_t observed_count_ = 0;
  std::int64_t asked_ = 0;  // the next id
  int width_ = 0;           // width() at the last call of ask()
  int failures_ = 0;        // failed evaluations that the strategy has received
  std::size_t iterations_ = 0;
  int evaluated_ = 0, restored_ = 0, resolved_again_count_ = 0;
  double started_ = 0, busy_seconds_ = 0, next_watch_ = 0;
  Ending ending_ = Ending::none;
  std::string reason_;
  std::string interrupted_;               // why the run must end now
  bool answered_ = false;                 // an evaluation of this run has started on an evaluator
  std::map<std::int64_t, int> troubles_;  // attempts of this run that the machine ended, by id
  std::set<int> troubled_;                // ranks with a failure of their machines
  int most_evaluators_ = 0;               // largest number of evaluators of the farm when a machine gave trouble
  std::string trouble_;                   // message of the last attempt that the machine ended
  std::string given_up_;                  // why failures of the machine end the run; empty: they do not
};

// Returns the kind of ending for a reason from the strategy or from study.max-evaluations: equal_costs, undecided,
// limit or finished. Empty reason: none.
Ending ending_of(std::string_view reason);

// Makes the strategy that the settings name. The strategy `auto` is chosen by the properties of `evaluator`. Throws
// ConfigError if the strategy does not suit the free variables.
// `compares_pairs`: tell() will receive the costs of paired evaluations. `notes` receives notes for the user, one line
// each; null: they are dropped.
std::unique_ptr<surrogate::Strategy> make_strategy(const Settings& settings, const Evaluator& evaluator,
                                                   bool compares_pairs = true,
                                                   std::vector<std::string>* notes = nullptr);

// Returns the evaluator as work for a farm, in a separate process if the settings request it. An outcome that does not
// have the declared shape becomes `failed`.
Work make_work(std::shared_ptr<const Evaluator> evaluator, const Settings& settings);

// Returns the settings that identify a study, together with the contents of the files that the evaluator reads.
Settings identity_of(Settings settings, const Evaluator& evaluator);

// Returns in which setting an archive's study differs from these settings with this evaluator; empty if they agree.
std::string study_mismatch(const Settings& settings, const Evaluator& evaluator, const archive::Contents& contents);

// Parses surrogate.constraints with the evaluator's metrics. Throws std::invalid_argument.
std::vector<surrogate::Constraint> constraints_of(const std::string& text, const std::vector<Quantity>& metrics);

// Returns the evaluation of lowest cost among those with status ok that satisfy the constraints; the first of equals.
// Null: none.
const Evaluation* best_of(const std::map<std::int64_t, Evaluation>& evaluations,
                          const std::vector<surrogate::Constraint>& constraints);

}  // namespace dodyn::study
