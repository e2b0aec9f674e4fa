// The design loop: ask for designs, farm them out, archive what comes back, tell the strategy, until something says
// stop.
//
// Synchronous: the strategy receives a batch when all of it is there, in the order of the ids. So the designs do not depend on
// the number of ranks. Asynchronous: as many designs run as keep every rank busy. As soon as one is back, the strategy receives
// it and proposes another. The designs then depend on the order of arrival, which is the order of the archive's rows, and on
// how many designs were allowed to run, which each iteration records.
//
// A study resumes by replay: the strategy is asked again from the beginning, and takes answers from the archive where it has
// them. Missing rows (a killed run may leave gaps) are evaluated.
//
// A lost evaluation is one whose rank disappeared. Each lost attempt leaves a row of status `lost`. The evaluation is repeated
// until there is an answer or study.max-attempts are lost; the strategy receives the last result alone. The evaluation that
// rank 0 itself had begun when it was killed counts as lost in the next run. Where an evaluation is split, each part has
// its own attempts, and the attempts of a part that was given up become rows.
//
// An attempt that the machine's trouble ended (record/machine.hpp) leaves a row of status `lost` and is repeated. The strategy
// never receives it. The run ends where no evaluation could be started, or one met trouble study.max-attempts times; the next
// run tries again.
//
// Batch systems signal all processes of a job, so evaluations often end just before the run does. Once a run must end,
// failed and lost attempts leave no row. An attempt that was killed waits a moment, in case that signal follows.
//
// `rerun` evaluates a design again and appends a row. The strategy receives it as a second result, after as many evaluations as the
// archive held then. So a replay has the order of the run.
//
// Before the strategy receives a batch, designs that their neighbours show to be too expensive are solved again
// (resolve_again.cpp), if the evaluator can start from a neighbour's motion. A better result is a second row too.
//
// Where the evaluator splits an evaluation, its parts are what is farmed out (parts.hpp).
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

// Where a run stands, for the progress line.
struct Progress {
  const std::map<std::int64_t, Evaluation>& evaluations;  // by id: all that are in the archive
  const Evaluation* best;                                 // or null
  int running;
  int limit;            // study.max-evaluations
  double seconds;       // since run() began
  double seconds_left;  // at most, if it goes on to the limit; not a number while it is unknown
};

enum class End {
  finished,   // the strategy or a limit of the study says so
  resumable,  // by a signal, the clock, or for want of evaluators: the same command continues
  failing,    // too many evaluations failed, it ended without one that is ok, or the machine gave trouble
};

struct Summary {
  End end = End::finished;
  std::string reason;               // why the study ended
  bool was_finished = false;        // the archive held all of it already, with this very reason
  bool is_undecided = false;        // as dodyn::study::is_undecided() has it
  bool reached_limit = false;       // study.max-evaluations ended it
  int evaluated = 0, restored = 0;  // evaluations of this run, and of earlier ones
  int second = 0;                   // of this run's, those of designs that had one: started from a neighbour's motion
  std::map<Status, std::vector<std::int64_t>> unanswered;  // ids that another try may have an answer to
  std::string commonest;                                   // reason of these; empty: there are none
  int commonest_count = 0;                                 // how many have it
  int troubles = 0;                                        // attempts of this run that the machine ended
  std::string trouble;                                     // of these the last
  std::optional<Evaluation> best;                          // as best_of() has it
};

// The run must end before its archive was read; the archive is as it was.
struct Interrupted : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class Study {
 public:
  using Watch = std::function<void(const Progress&)>;

  // Why the run must end now, as one line; empty while it may go on. Asked several times a second.
  using Interruption = std::function<std::string()>;

  // Creates the archive, or opens the one that is there. Throws ConfigError where that is refused: another study's, a
  // newer schema, in use, not writable. After an interruption running evaluations have study.grace-period seconds to finish;
  // then they are given back: the next run repeats them. All references outlive the study.
  Study(const Settings& settings, const Evaluator& evaluator, surrogate::Strategy& strategy, farm::Farm& farm,
        archive::Provenance provenance, Interruption interruption, Watch watch);

  // Throws archive::Error where a row cannot be written, ConfigError where the archive does not replay.
  Summary run();
  // Evaluates again, with the same id, design and seed, these evaluations, or where there are none what failed, timed
  // out or was lost. The strategy is not asked; the next run() tells it. Throws ConfigError for an id that is not
  // there.
  Summary rerun(const std::set<std::int64_t>& ids);

 private:
  // The steps of the loop. Each returns whether to go on; where not, reason_ says why.
  bool wanted();
  bool ask();
  void add_design(const Eigen::VectorXd& design);
  int width() const;
  bool evaluate();
  bool resolve_again();
  bool tell();
  bool stop(End end, std::string reason);
  void close(bool was_finished);
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
  void add_start(std::int64_t id);
  void look_while_reading() const;  // throws Interrupted where the run must end
  void read_trajectories();
  bool is_observed(std::int64_t id) const {
    return static_cast<std::size_t>(id) < observed_.size() && observed_[static_cast<std::size_t>(id)];
  }
  Trajectory trajectory_of(std::int64_t id) const;
  std::map<std::int64_t, const Evaluation*> latest() const;
  double excess(const Evaluation& of, const Evaluation& by) const;
  bool better_than_before(const Evaluation& row) const;
  Progress tally() const;

  const Settings& settings_;
  const Evaluator& evaluator_;
  surrogate::Strategy& strategy_;
  farm::Farm& farm_;
  const Interruption interruption_;
  const Watch watch_;
  const int limit_, batch_, attempts_;  // study.max-evaluations, .batch (0: automatic), .attempts
  const std::uint64_t seed_;            // study.seed
  const bool asynchronous_;
  archive::Layout layout_;
  const std::vector<surrogate::Constraint> constraints_;

  std::map<std::int64_t, Evaluation> evaluations_;            // by id: final answers, for the strategy now or later
  std::map<std::int64_t, std::vector<double>> trajectories_;  // of those with status ok: all channels, in a row
  std::vector<std::int64_t> unread_trajectories_;     // ids by row of the archive, -1: not ok; empty once they are read
  std::set<std::pair<double, std::int64_t>> starts_;  // of those that nearest() may find: first variable, id
  std::map<std::int64_t, int> lost_;                  // attempts lost
  std::deque<std::int64_t>
      arrivals_;  // asynchronous: ids of evaluations_ that the strategy has not received, in the order they came
  struct Reevaluation {
    std::size_t after;  // number of evaluations that the strategy must have received before
    Evaluation row;
  };
  std::deque<Reevaluation> reevaluations_;  // later rows of ids in evaluations_ that the strategy has not received
  std::size_t archived_iterations_ = 0;
  std::vector<int> archived_widths_;  // asynchronous: by iteration, width() as it was; empty: not recorded
  std::int64_t archived_ids_ = 0;     // evaluations that earlier runs asked for, as far as rows show
  std::string archived_reason_;
  const bool resumed_;  // the archive was there
  archive::Archive archive_;
  Parts parts_;
  std::optional<InProgressMarker>
      interrupted_evaluation_;  // what rank 0 evaluated when it was killed in an earlier run
  std::vector<Outcome> whole_;  // by the parts that an earlier run left behind

  std::vector<Event> events_;  // not in the archive yet

  struct DeferredLoss {
    Outcome attempt;
    double until;
  };
  std::deque<DeferredLoss> deferred_losses_;  // attempts that were killed; the signal may have been for all of us

  std::map<std::int64_t, Evaluation>
      pending_;                    // proposed, not yet received by the strategy: id, parent, design and seed
  std::vector<std::int64_t> new_;  // of those the ones to farm out
  std::map<std::int64_t, Evaluation> resolved_again_;      // former results of designs that are solved again
  std::set<std::pair<std::int64_t, std::int64_t>> tried_;  // design and neighbour whose motion gave no better result
  std::vector<bool> observed_;                             // by id: the strategy has received it
  std::size_t observed_count_ = 0;
  std::int64_t asked_ = 0;  // the next id
  int width_ = 0;           // width() when the strategy was asked last
  int failures_ = 0;        // that the strategy has received
  std::size_t iterations_ = 0;
  int evaluated_ = 0, restored_ = 0, second_ = 0;
  double started_ = 0, busy_seconds_ = 0, next_watch_ = 0;
  End end_ = End::finished;
  std::string reason_;
  std::string interrupted_;               // why the run must end now
  bool answered_ = false;                 // some evaluation of this run was begun, whatever became of it
  std::map<std::int64_t, int> troubles_;  // attempts of this run that the machine ended, by id
  std::set<int> troubled_;                // ranks whose machines gave trouble
  int most_evaluators_ = 0;               // that the farm had when one did
  std::string trouble_;                   // of the attempts the last
  std::string given_up_;                  // why the machine's trouble ends the run
};

// Whether a study that ended for this reason, undisturbed, has left open which design is best: study.max-evaluations ended it before the
// search's own rule, or no cost differed from another.
bool is_undecided(const std::string& reason);

// The strategy that the settings name. Throws ConfigError where it does not suit the free variables.
// Where they leave it to the program (auto) it asks `evaluator` what there is to go by.
std::unique_ptr<surrogate::Strategy> make_strategy(const Settings& settings, const Evaluator& evaluator);

// The evaluator as work for a farm, in a process of its own where the settings say so, its outcomes held to what it
// declared: an outcome of another shape becomes `failed`.
Work make_work(std::shared_ptr<const Evaluator> evaluator, const Settings& settings);

// Settings with what the evaluator reads besides them: what makes a study this study.
Settings identity_of(Settings settings, const Evaluator& evaluator);

// Empty, or in which setting an archive is of another study than these settings with this evaluator.
std::string study_mismatch(const Settings& settings, const Evaluator& evaluator, const archive::Contents& contents);

// surrogate.constraints as text, read with the evaluator's metrics. Throws std::invalid_argument.
std::vector<surrogate::Constraint> constraints_of(const std::string& text, const std::vector<Quantity>& metrics);

// The evaluation of lowest cost among those with status ok that keep the constraints, the first of equals; null where
// there is none.
const Evaluation* best_of(const std::map<std::int64_t, Evaluation>& evaluations,
                          const std::vector<surrogate::Constraint>& constraints);

}  // namespace dodyn::study
