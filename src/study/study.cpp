#include "study/study.hpp"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <thread>
#include <utility>

#include "farm/isolate.hpp"
#include "farm/perform.hpp"
#include "record/machine.hpp"
#include "record/random.hpp"
#include "record/text.hpp"
#include "settings/folder.hpp"
#include "study/archived.hpp"
#include "study/observed_data.hpp"
#include "study/problem.hpp"
#include "surrogate/sampling.hpp"
#include "surrogate/strategy_options.hpp"

namespace dodyn::study {
namespace {

// Returns a reason with "#" for each number, so that reasons of one kind are counted together.
std::string without_numbers(const std::string& reason) {
  constexpr const char *digits = "0123456789", *of_a_number = "0123456789.eE+-";
  std::string text;
  for (std::size_t at = 0; at < reason.size();) {
    const std::size_t number = std::min(reason.find_first_of(digits, at), reason.size());
    text += reason.substr(at, number - at);
    if (number < reason.size()) text += '#';
    at = std::min(reason.find_first_not_of(of_a_number, number), reason.size());
  }
  return text;
}

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

bool same(const Eigen::VectorXd& a, const Eigen::VectorXd& b) { return a.size() == b.size() && a == b; }

// One cause may end an evaluation's process and this run. The signal to this run then comes at most this time after the
// evaluation: first value after a lost evaluation, second value after any other one, s.
constexpr double time_for_a_signal = 2, time_for_another = 0.5;

// Number of designs in a synchronous batch; independent of the number of ranks.
constexpr int synchronous_batch = 8;

// The name under which an iteration stores width().
constexpr const char* width_name = "designs_in_flight";

// The beginning of the reason of a study that its limit ended.
const std::string at_limit = "reached study.max-evaluations = ";

// Rows to read between two checks whether the run must end.
constexpr std::size_t rows_between_looks = 1024;

// Maximum number of rows of one append.
constexpr std::size_t max_rows_at_once = 4096;

// Whether an evaluation failed. An infeasible design has not failed: infeasible is a usable answer.
bool failure(Status status) { return status != Status::ok && status != Status::infeasible; }

// Flattens a trajectory to one vector. A study stores many, and separate matrices would take twice the memory.
std::vector<double> in_a_row(const Trajectory& trajectory) {
  std::vector<double> numbers;
  Eigen::Index size = 0;
  for (const auto& values : trajectory.values) size += values.size();
  numbers.reserve(size);
  for (const auto& values : trajectory.values)
    numbers.insert(numbers.end(), values.data(), values.data() + values.size());
  return numbers;
}

// Describes the columns of a row and its trajectory as one text. Two layouts with equal texts can share a file.
std::string shape(const archive::Layout& layout) {
  std::string text;
  for (const auto& metric : layout.metrics) text += metric.name + "[" + metric.unit + "] ";
  for (const auto& channel : layout.channels) {
    text += channel.name + "[" + channel.unit + "]" + std::to_string(channel.nodes) + "(";
    for (const auto& coordinate : channel.coordinates) text += coordinate + " ";
    text += ") ";
  }
  return text;
}

// Returns a text such as "process 4711 on node-1, 64 ranks, version 1.2 (0123abc), job Slurm 17, nodes node[1-4]".
std::string where(const archive::Provenance& provenance) {
  std::string text = "process " + std::to_string(getpid()) + " on " + provenance.host + ", " +
                     counted(provenance.ranks, "rank") + ", version " + provenance.program_version + " (" +
                     provenance.git_commit + ")";
  for (const auto& [key, value] : provenance.machine)
    if ((key == "job" || key == "nodes") && !value.empty()) text += ", " + key + " " + value;
  return text;
}

// Returns the names of the numbers that an iteration stores: the strategy's, and width() in the asynchronous mode.
std::vector<std::string> numbers_of(const surrogate::Strategy& strategy, bool asynchronous) {
  std::vector<std::string> names = strategy.numbers();
  if (asynchronous) names.emplace_back(width_name);
  return names;
}

}  // namespace

Summary Study::run() {
  started_ = now();
  keep_ending([&] {
    while (wanted() && ask() && evaluate() && resolve_again() && tell()) continue;
  });
  const bool any_ok = std::ranges::any_of(evaluations_, [](const auto& e) { return e.second.ok(); });
  if (ending_ != Ending::interrupted && ending_ != Ending::failed && observed_count_ > 0 && !any_ok)
    stop(Ending::failed, "none of " + std::to_string(observed_count_) + " evaluations has a usable cost: " + reason_);

  const bool was_finished = evaluated_ == 0 && troubles_.empty() && reason_ == archived_reason_;
  close(was_finished);
  return summary(was_finished);
}

// An archive that is opened to append has no ending. If the run is refused before its first evaluation, the archive
// gets its ending back.
template <class Action>
void Study::keep_ending(Action&& action) {
  const auto restore = [&] {
    if (evaluated_ > 0 || !troubles_.empty()) return;
    stop(archived_ending_, archived_reason_);
    close(true);
  };
  try {
    action();
  } catch (const ConfigError&) {
    restore();
    throw;
  } catch (const Interrupted&) {
    restore();
    throw;
  }
}

// Writes no event if the study had finished before this run.
void Study::close(bool was_finished) {
  if (was_finished) {
    events_.clear();
  } else {
    log_event(ending_ == Ending::interrupted ? "interrupted" : "stopped", reason_);
    write_events();
  }
  commit([&] { archive_.stop(ending_, reason_); });
}

void Study::write_events() {
  for (Event& event : farm_.take_events()) events_.push_back(std::move(event));
  if (events_.empty()) return;
  commit([&] { archive_.append(events_); });
  events_.clear();
}

Summary Study::summary(bool was_finished) const {
  const Evaluation* best = best_of(evaluations_, constraints_);
  Summary all;
  all.ending = ending_;
  all.reason = reason_;
  all.was_finished = was_finished;
  if (ending_ == Ending::limit) all.undecided_fraction = strategy_.undecided_fraction();
  all.evaluated = evaluated_;
  all.restored = restored_;
  all.resolved_again = resolved_again_count_;
  if (best) all.best = *best;
  std::map<std::string, int> reasons;
  for (const auto& [id, row] : evaluations_) {
    if (is_retryable(row.status)) all.unanswered[row.status].push_back(id);
    // Infeasible designs are answers, unless no design has a cost.
    if (row.ok() || (!is_retryable(row.status) && ending_ != Ending::failed)) continue;
    if (const int count = ++reasons[without_numbers(row.reason)]; count > all.commonest_count)
      all.commonest = row.reason, all.commonest_count = count;
  }
  for (const auto& [id, count] : troubles_) all.troubles += count;
  all.trouble = trouble_;
  return all;
}

Summary Study::rerun(const std::set<std::int64_t>& ids) {
  started_ = now();
  for (const auto& later : reevaluations_) evaluations_[later.row.id] = later.row;
  reevaluations_.clear();
  keep_ending([&] {
    for (const auto id : ids)
      if (!evaluations_.contains(id))
        throw ConfigError(settings_.text("study.archive") + ": holds no evaluation " + std::to_string(id));
  });
  restored_ = evaluations_.size();

  read_trajectories();
  std::map<std::int64_t, Evaluation> before;
  for (const auto& [id, row] : evaluations_) {
    if (ids.empty() ? !is_retryable(row.status) : !ids.contains(id)) continue;
    before[id] = row;
    Evaluation& asked = pending_[id];
    asked.id = id;
    asked.design = row.design;
    asked.seed = row.seed;
    asked.parent = trajectories_.contains(row.parent) ? row.parent : -1;
    new_.push_back(id);
  }
  if (before.empty()) {  // leaves the archive unchanged
    stop(archived_ending_, archived_reason_);
    close(true);
    return summary(true);
  }
  for (const auto id : new_) evaluations_.erase(id);
  stop(Ending::repeated,
       "repeated " + counted(before.size(), "evaluation") + "; dodyn run passes the results to the search");
  do arrivals_.clear();  // no strategy receives these outcomes
  while (evaluate() && (farm_.outstanding() > 0 || !completed_outcomes_.empty() || !deferred_losses_.empty()));
  evaluations_.merge(before);  // adds ids that an interruption left without a new answer
  close(false);
  return summary(false);
}

bool Study::stop(Ending ending, std::string reason) {
  ending_ = ending;
  reason_ = std::move(reason);
  return false;
}

bool Study::reached_limit() {
  // An archive with more evaluations than this run may have was made with a higher limit, which remains its end.
  const bool is_higher = archived_ending_ == Ending::limit && evaluations_.size() > static_cast<std::size_t>(limit_);
  return stop(Ending::limit, is_higher ? archived_reason_ : at_limit + std::to_string(limit_));
}

bool Study::wanted() {
  if (const std::string reason = strategy_.stopped(); !reason.empty()) return stop(ending_of(reason), reason);
  const int observed = observed_count_;
  // A limit below the number of archived evaluations asks for no new one; the search receives all archived ones.
  if (observed >= std::max(limit_, static_cast<int>(evaluations_.size()))) return reached_limit();
  if (observed >= settings_.integer("study.failure-rate-after") &&
      failures_ >= settings_.real("study.failure-rate") * observed)
    return stop(Ending::failed, std::to_string(failures_) + " of " + std::to_string(observed) +
                                    " evaluations failed; study.failure-rate = " +
                                    settings_.text("study.failure-rate") + " allows no more");
  return true;
}

// Returns how many designs may run at the same time. In the asynchronous mode a replay returns the recorded numbers, so
// that the strategy is asked as in the original run. After the end of the record it returns at least the number that
// the rows show.
int Study::width() const {
  if (!asynchronous_) return batch_ > 0 ? batch_ : synchronous_batch;
  if (iterations_ < archived_widths_.size()) return archived_widths_[iterations_];
  const int tasks = parts_.count(), evaluators = std::max(farm_.evaluators(), 1);
  // one design more if a design consists of several tasks: the last tasks of a design leave evaluators idle
  const int busy = (evaluators + tasks - 1) / tasks + (tasks > 1 ? 1 : 0);
  const int shown = std::max<std::int64_t>(archived_ids_ - asked_, 0);
  return std::max(batch_ > 0 ? batch_ : busy, static_cast<int>(pending_.size()) + shown);
}

// Asks for as many designs as may run. A strategy may return fewer. In the asynchronous mode the study asks again until
// the strategy returns none; then the strategy needs another result first.
bool Study::ask() {
  for (width_ = width(); std::ssize(pending_) < width_;) {
    const std::vector<Eigen::VectorXd> designs = strategy_.ask(width_ - std::ssize(pending_));
    for (const auto& design : designs) add_design(design);
    if (!asynchronous_ || designs.empty()) break;
  }
  return !pending_.empty() || stop(Ending::finished, "the strategy asked for no design");
}

// Returns the seed of an evaluation that is about to run. Paired costs: the number of earlier evaluations of the
// design.
std::uint64_t Study::seed_of(std::int64_t id, const Eigen::VectorXd& design) const {
  if (!strategy_.uses_paired_costs()) return evaluation_seed(seed_, id);
  std::uint64_t earlier = 0;
  for (const auto* asked : {&evaluations_, &pending_})
    for (auto at = asked->begin(); at != asked->end() && at->first < id; ++at)
      earlier += same(at->second.design, design) && (asked == &evaluations_ || !evaluations_.contains(at->first));
  return earlier;
}

// Assigns the next id to a design, and adds it to new_ if the archive does not hold its evaluation.
void Study::add_design(const Eigen::VectorXd& design) {
  const std::int64_t id = asked_++;
  Evaluation& asked = pending_[id];
  asked.id = id;
  asked.design = design;
  asked.seed = seed_of(id, design);
  auto row = evaluations_.find(id);
  if (row == evaluations_.end()) {
    read_trajectories();
    asked.parent = nearest(design);
    if (interrupted_evaluation_ && interrupted_evaluation_->id == id) record_lost_attempt(asked);
    row = evaluations_.find(id);  // its last attempt may have been lost
  }
  if (row == evaluations_.end()) {
    if (id < limit_) new_.push_back(id);
  } else if (!same(row->second.design, design)) {
    throw ConfigError(settings_.text("study.archive") + ": its evaluation " + std::to_string(id) +
                      " has another design than this program and configuration ask for; nothing was changed; " +
                      (search_difference_.empty() ? "choose another study.archive"
                                                  : "choose another study.archive, or restore " + search_difference_));
  } else {
    asked.parent = row->second.parent;
    ++restored_;
  }
}

// Records a lost attempt: rank 0 was killed while it evaluated this design.
void Study::record_lost_attempt(const Evaluation& asked) {
  Task task;
  task.evaluation = asked;
  task.part = static_cast<std::int32_t>(interrupted_evaluation_->part);
  interrupted_evaluation_.reset();
  if (task.part < 0 || task.part >= parts_.count()) return;
  parts_.missing(asked);  // drops stored answers of this id for another design, seed or parent
  Outcome attempt = farm::lost(task, std::chrono::steady_clock::now(), 0, farm::host_name());
  attempt.evaluation.reason = "rank 0 was killed while it evaluated this";
  std::vector<Outcome> rows;
  if (!attempts_left(attempt, rows)) parts_.forget(asked.id);
  commit([&] { archive_.append(rows); });
  for (const Outcome& row : rows) restore_row(row.evaluation);
}

// Counts a lost attempt and adds the rows for the archive. Returns whether another attempt is due.
bool Study::attempts_left(Outcome attempt, std::vector<Outcome>& rows) {
  const int before = lost_[attempt.evaluation.id];
  if (parts_.count() == 1) {
    rows.push_back(std::move(attempt));
    return before + 1 < attempts_;
  }
  const std::string part = "part " + std::to_string(attempt.part) + ": ";
  std::vector<Outcome> lost = parts_.record_lost_attempt(attempt);
  if (std::ssize(lost) < attempts_) return true;
  // a given-up evaluation has attempts_ rows in total, at least one of them new
  lost.erase(lost.begin(), lost.end() - std::max(1, attempts_ - before));
  for (Outcome& row : lost) {
    row.evaluation.reason = part + row.evaluation.reason;
    rows.push_back(std::move(row));
  }
  return false;
}

// Evaluates new_ on the farm, and waits for the results that the next tell() needs. Every outcome is in the archive
// before anything uses it.
bool Study::evaluate() {
  for (const auto id : std::exchange(new_, {})) submit(pending_.at(id));
  double latest = 0;
  while ((farm_.outstanding() > 0 || !completed_outcomes_.empty() || !deferred_losses_.empty()) &&
         !(asynchronous_ && !arrivals_.empty() && interrupted_.empty())) {
    if (interrupted_.empty() && !(interrupted_ = given_up_.empty() ? interruption_() : given_up_).empty()) {
      farm_.cancel_queued();
      deferred_losses_.clear();
      latest = now() + settings_.real("study.grace-period");
    }
    if (!interrupted_.empty() && now() >= latest) break;
    if (farm_.evaluators() == 0 && completed_outcomes_.empty() && deferred_losses_.empty())
      return stop(Ending::interrupted, "no evaluator is left: every rank is lost or hangs in an evaluation");
    collect();
    if (now() >= next_watch_) {  // watch_ reads all rows; it may take up to 10 % of the time
      const double began = now();
      watch_(progress());
      next_watch_ = now() + 10 * (now() - began);
    }
  }
  if (interrupted_.empty()) interrupted_ = interruption_();
  if (interrupted_.empty()) interrupted_ = given_up_;
  return interrupted_.empty() || stop(interrupted_ == given_up_ ? Ending::failed : Ending::interrupted, interrupted_);
}

// Passes results to the strategy: a batch in the order of the ids, or in the order of arrival (asynchronous). Archives
// the strategy's decision.
bool Study::tell() {
  std::vector<std::int64_t> next;
  if (!asynchronous_) {
    for (const auto& [id, asked] : pending_) next.push_back(id);
  } else if (!arrivals_.empty()) {
    next = {arrivals_.front()};
  }
  for (const auto id : next) {
    const auto row = evaluations_.find(id);
    if (row == evaluations_.end()) return reached_limit();
    if (pending_.erase(id) == 0)
      throw ConfigError(settings_.text("study.archive") + ": its evaluation " + std::to_string(id) +
                        " came before this program and configuration ask for it; choose another study.archive");
    tell(row->second);
    if (observed_.size() <= static_cast<std::size_t>(id)) observed_.resize(static_cast<std::size_t>(id) + 1);
    observed_[id] = true;
    ++observed_count_;
    add_warm_start_candidate(id);
    failures_ += failure(row->second.status);
    if (asynchronous_) arrivals_.pop_front();
  }
  for (; !reevaluations_.empty() && observed_count_ >= reevaluations_.front().after &&
         is_observed(reevaluations_.front().row.id);
       reevaluations_.pop_front()) {
    const Evaluation& row = reevaluations_.front().row;
    failures_ += failure(row.status) - failure(evaluations_.at(row.id).status);
    tell(evaluations_[row.id] = row);
  }
  strategy_.decide();
  if (next.empty()) return reached_limit();
  if (iterations_++ < archived_iterations_) return true;
  surrogate::Iteration decided = strategy_.describe(layout_.grid_points);
  decided.numbers.emplace_back(width_name, width_);
  const bool is_last = !strategy_.stopped().empty() || static_cast<int>(observed_count_) >= limit_;
  const auto has_noise = [](const auto& row) { return row.second.ok() && row.second.cost_stderr > 0; };
  if (is_last && decided.recommended.size() == 0 && std::ranges::any_of(evaluations_, has_noise))
    decided.recommended = recommended_by_model(archive::read(settings_.text("study.archive")));
  commit([&] { archive_.append(decided); });
  return true;
}

// Passes a result to the strategy, with the cost of each initial state if it needs them.
void Study::tell(const Evaluation& evaluation) {
  if (!strategy_.uses_paired_costs() || !evaluation.ok()) return strategy_.tell(evaluation);
  read_trajectories();
  Evaluation paired = evaluation;
  paired.paired_costs = costs_of_states(layout_.channels, trajectory_of(evaluation.id));
  strategy_.tell(paired);
}

void Study::submit(const Evaluation& asked) {
  const std::vector<int> missing = parts_.missing(asked);
  for (const int part : missing) submit(asked, part);
  if (missing.empty()) completed_outcomes_.push_back(join(evaluator_, asked, parts_.answers(asked.id)));
}

void Study::submit(const Evaluation& asked, int part) {
  Task task;
  task.evaluation = asked;
  task.part = part;
  if (asked.parent >= 0) task.warm_start = trajectory_of(asked.parent);
  task.time_limit = settings_.real("study.time-limit");
  farm_.submit(std::move(task));
}

// Accesses the archive. While another program uses the archive, repeats `write` every 0.2 s. Throws archive::Busy
// study.grace-period after this run must end.
template <class Write>
void Study::commit(Write&& write) {
  double latest = 0;
  for (bool said = false;;) {
    try {
      return write();
    } catch (const archive::Busy& busy) {
      if (!std::exchange(said, true)) {
        std::fprintf(stderr, "dodyn: %s; waiting for it\n", busy.what());
        log_event("waited", busy.what());
      }
      if (latest == 0 && !interruption_().empty()) latest = now() + settings_.real("study.grace-period");
      if (latest > 0 && now() >= latest) throw;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
  }
}

// Waits briefly for outcomes and archives all that have arrived in one append.
void Study::collect() {
  std::vector<Outcome> outcomes = std::exchange(completed_outcomes_, {});
  auto wait = std::chrono::milliseconds(outcomes.empty() ? 100 : 0);
  while (auto answer = farm_.next(std::exchange(wait, std::chrono::milliseconds(0)))) {
    gather(std::move(*answer), outcomes);
    if (outcomes.size() >= max_rows_at_once) break;
  }
  release_deferred(outcomes);
  std::erase_if(outcomes, [&](const Outcome& outcome) {  // another attempt that is not better than the first leaves no
                                                         // row
    const Evaluation& row = outcome.evaluation;
    if (!resolved_again_.contains(row.id) || better_than_before(row)) return false;
    parts_.forget(row.id);
    return true;
  });
  write_events();
  if (!outcomes.empty()) commit([&] { archive_.append(outcomes); });
  for (auto& [evaluation, trajectory, part, killed, packed] : outcomes) {
    if (!restore_row(evaluation)) {
      if (parts_.count() == 1 && given_up_.empty()) submit(pending_.at(evaluation.id), part);
      continue;
    }
    parts_.forget(evaluation.id);
    if (evaluation.ok()) {
      trajectories_[evaluation.id] = in_a_row(trajectory);
      add_warm_start_candidate(evaluation.id);
    }
    busy_seconds_ += evaluation.seconds;
    ++evaluated_;
  }
}

// Appends to `rows` the result of an answer: the outcome of a complete evaluation, lost attempts, or nothing.
void Study::gather(Outcome answer, std::vector<Outcome>& rows) {
  const Status status = answer.evaluation.status;
  const std::int64_t id = answer.evaluation.id;
  const auto given_up = [&] {  // another part was given up before
    return evaluations_.contains(id) ||
           std::ranges::any_of(rows, [&](const Outcome& row) { return row.evaluation.id == id; });
  };
  if (parts_.count() > 1 && given_up()) return;
  if (!interruption_().empty() && (status == Status::lost || status == Status::failed)) return;
  if (is_machine_trouble(answer.evaluation)) return add_trouble(std::move(answer), rows);
  answered_ = true;
  if (answer.killed) {
    answer.killed = false;
    deferred_losses_.push_back(
        {std::move(answer), now() + (status == Status::lost ? time_for_a_signal : time_for_another)});
  } else if (status == Status::lost) {
    const std::int32_t part = answer.part;
    log_event("attempt lost", "evaluation " + std::to_string(id) +
                                  (parts_.count() > 1 ? ", task " + std::to_string(part) : "") + ": " +
                                  answer.evaluation.reason);
    if (attempts_left(std::move(answer), rows) && parts_.count() > 1) submit(pending_.at(id), part);
  } else if (parts_.count() == 1) {
    rows.push_back(std::move(answer));
  } else if (parts_.add(std::move(answer))) {
    rows.push_back(join(evaluator_, pending_.at(id), parts_.answers(id)));
  }
}

// Handles an attempt that the machine ended: it is repeated, or the run ends.
void Study::add_trouble(Outcome attempt, std::vector<Outcome>& rows) {
  const std::int64_t id = attempt.evaluation.id;
  const std::int32_t part = attempt.part;
  trouble_ = trouble_of(attempt.evaluation);
  const int tries = ++troubles_[id];
  troubled_.insert(attempt.evaluation.rank);
  log_event("machine trouble", "evaluation " + std::to_string(id) + " on " + attempt.evaluation.host + ": " + trouble_);
  most_evaluators_ = std::max(most_evaluators_, farm_.evaluators());  // evaluators of a retired host no longer count
  const bool nothing_starts = !answered_ && std::ssize(troubled_) >= most_evaluators_;
  if (given_up_.empty() && (nothing_starts || tries >= attempts_)) {
    given_up_ = "evaluation " + std::to_string(id) + " failed: " + trouble_;
    farm_.cancel_queued();
  }
  rows.push_back(std::move(attempt));
  if (parts_.count() > 1 && given_up_.empty()) submit(pending_.at(id), part);
}

// Releases killed attempts for which no signal to this run followed in time.
void Study::release_deferred(std::vector<Outcome>& rows) {
  if (deferred_losses_.empty()) return;
  if (farm_.outstanding() == 0)
    std::this_thread::sleep_for(std::chrono::milliseconds(20));  // farm_.next() does not wait
  for (; !deferred_losses_.empty() && deferred_losses_.front().until <= now(); deferred_losses_.pop_front())
    gather(std::move(deferred_losses_.front().attempt), rows);
}

// Restores a row of the archive. Returns false if the row is an attempt that must be repeated.
bool Study::restore_row(Evaluation row) {
  archived_ids_ = std::max(archived_ids_, row.id + 1);
  if (is_machine_trouble(row)) return false;
  if (row.status == Status::lost && ++lost_[row.id] < attempts_) return false;
  // These texts are needed only in the archive
  for (std::string* text : {&row.host, &row.started}) std::exchange(*text, {});
  if (evaluations_.contains(row.id)) {
    reevaluations_.push_back({evaluations_.size(), std::move(row)});
  } else {
    const std::int64_t id = row.id;
    if (asynchronous_) arrivals_.push_back(id);
    evaluations_.emplace_hint(evaluations_.end(), id, std::move(row));
  }
  return true;
}

Study::Study(const Settings& settings, const Evaluator& evaluator, surrogate::Strategy& strategy, farm::Farm& farm,
             archive::Provenance provenance, Interruption interruption, Watch watch)
    : settings_(settings),
      evaluator_(evaluator),
      strategy_(strategy),
      farm_(farm),
      interruption_(std::move(interruption)),
      watch_(std::move(watch)),
      limit_(settings.integer("study.max-evaluations")),
      batch_(settings.integer("study.batch")),
      attempts_(settings.integer("study.max-attempts")),
      seed_(static_cast<std::uint64_t>(settings.integer("study.seed"))),
      asynchronous_(settings.text("study.mode") == "asynchronous"),
      layout_{.variables = settings.variables,
              .metrics = evaluator.metrics(),
              .channels = evaluator.channels(),
              .numbers = numbers_of(strategy, asynchronous_),
              .candidates = strategy.candidate_columns()},
      constraints_(settings.given("surrogate.constraints")
                       ? constraints_of(settings.text("surrogate.constraints"), evaluator.metrics())
                       : std::vector<surrogate::Constraint>()),
      has_front_(settings.given("surrogate.objectives") &&
                 settings.text("surrogate.objectives").find(',') != std::string::npos),
      resumed_(std::filesystem::exists(settings.text("study.archive"))),
      archive_(open(provenance)),
      parts_(settings.text("study.archive") + ".parts", evaluator.parts(), resumed_) {
  log_event(resumed_ ? "resumed" : "started", where(provenance));
  archive_.keep_copy(settings.text("study.snapshot"));
  for (const auto& [id, evaluation] : evaluations_) parts_.forget(id);
  const auto running = take_marker(settings.text("study.archive") + ".running");
  if (resumed_) interrupted_evaluation_ = running;
}

Settings identity_of(Settings settings, const Evaluator& evaluator) {
  for (const auto& file : evaluator.input_files()) {
    const std::string& value = file.checksum;
    settings.all.push_back({{.name = file.key, .type = Type::text}, value, "default"});
    // Files that the command names may be newer than the archive: an archive without their checksums agrees too.
    if (settings.evaluator == "command") settings.all.back().key.default_value = value;
  }
  return settings;
}

namespace {

// Returns the settings that identify a study, with the checksums of the files that its evaluator and its search read.
Settings identity_with_search(const Settings& settings, const Evaluator& evaluator) {
  Settings identity = identity_of(settings, evaluator);
  for (const std::string& key : search_file_keys(settings)) {
    const std::string value = search_file_checksum(settings.path(key));
    // An archive of an earlier version has no checksum, and agrees.
    identity.all.push_back({{.name = key + "-checksum", .type = Type::text, .default_value = value}, value, "default"});
  }
  return identity;
}

}  // namespace

std::string study_mismatch(const Settings& settings, const Evaluator& evaluator, const archive::Contents& contents) {
  return differences(identity_with_search(settings, evaluator), contents.provenance.configuration);
}

namespace {

// Returns the keys of [surrogate] that may change in a study, such as tolerances, and have other values in its archive.
std::string search_difference(Settings settings, std::vector<std::pair<std::string, std::string>> archived) {
  const auto may_change = [](const Key& key) { return key.name.starts_with("surrogate.") && !key.identity; };
  std::erase_if(settings.all, [&](const Setting& setting) { return !may_change(setting.key); });
  for (Setting& setting : settings.all) setting.key.identity = true;
  std::erase_if(archived, [&](const auto& one) {
    return std::ranges::none_of(settings.all, [&](const Setting& setting) { return setting.key.name == one.first; });
  });
  return differences(settings, archived);
}

// Returns the settings in use. A file named on the command line gets its full path, because the archive does not know
// the working directory.
std::vector<std::pair<std::string, std::string>> archived_configuration(Settings settings, const Evaluator& evaluator) {
  settings = identity_with_search(settings, evaluator);
  for (Setting& setting : settings.all)
    if (setting.key.type == Type::path && setting.source == "command line" && std::filesystem::exists(setting.value))
      setting.value = std::filesystem::absolute(setting.value).string();
  return settings.configuration();
}

}  // namespace

archive::Archive Study::open(archive::Provenance provenance) {
  const std::string path = settings_.text("study.archive");
  provenance.evaluator = settings_.evaluator;
  provenance.configuration = archived_configuration(settings_, evaluator_);
  provenance.given = settings_.sources();
  provenance.folder = absolute_folder(settings_).string();
  try {
    if (!std::filesystem::exists(std::filesystem::status(path))) {
      add_files(settings_, evaluator_, provenance);
      return archive::Archive::create(path, layout_, provenance);
    }

    archive::Contents contents = archive::read(path, [&] { check_interruption(); });
    const std::string remedy = "; remove it or choose another study.archive";
    const std::string difference = study_mismatch(settings_, evaluator_, contents);
    // If only the search differs and not the costs, another archive can be initialised from this one.
    const bool same_costs = (difference.starts_with("design.") || difference.starts_with("surrogate.") ||
                             difference.starts_with("study.batch:")) &&
                            cost_mismatch(settings_, evaluator_, contents).empty();
    const bool takes_samples = std::ranges::count(settings_.idle, "surrogate.prior-evaluations") == 0;
    const std::string hint =
        same_costs && takes_samples ? ", and begin it with --surrogate.prior-evaluations " + path : "";
    if (!difference.empty()) throw ConfigError(path + " belongs to another study: " + difference + remedy + hint);
    if (shape(layout_) != shape(contents.layout))
      throw ConfigError(path + " holds other metrics or trajectories than this program writes (it is of version " +
                        contents.provenance.program_version + ")" + remedy);
    search_difference_ = search_difference(settings_, contents.provenance.configuration);
    layout_ = contents.layout;
    archived_iterations_ = contents.iterations.size();
    if (asynchronous_)
      for (const auto& iteration : contents.iterations)
        for (const auto& [name, value] : iteration.numbers)
          if (name == width_name) archived_widths_.push_back(static_cast<int>(value));
    archived_reason_ = contents.stopped;
    archived_ending_ = contents.ending;
    const std::size_t rows = contents.evaluations.size();
    unread_trajectories_.reserve(rows);
    for (Evaluation& evaluation : contents.evaluations) {
      unread_trajectories_.push_back(evaluation.ok() ? evaluation.id : -1);
      restore_row(std::move(evaluation));
    }
    return archive::Archive::resume(path, rows);
  } catch (const archive::Error& error) {
    throw ConfigError(error.what());
  }
}

void Study::check_interruption() const {
  if (const std::string reason = interruption_(); !reason.empty())
    throw Interrupted(settings_.text("study.archive") + ": " + reason + " while it was read");
}

// Reads the trajectories before the first evaluation that may start from another motion. A study that is complete reads
// none.
void Study::read_trajectories() {
  const std::vector<std::int64_t> ids = std::exchange(unread_trajectories_, {});
  if (ids.empty()) return;
  const auto keep = [&](std::size_t row, const Trajectory& trajectory) {
    if (row % rows_between_looks == 0) check_interruption();
    if (ids[row] >= 0) trajectories_[ids[row]] = in_a_row(trajectory);
  };
  try {
    commit([&] { archive::for_each_trajectory(settings_.text("study.archive"), ids.size(), keep); });
  } catch (const archive::Error& error) {
    throw ConfigError(error.what());
  }
  for (const auto& [id, trajectory] : trajectories_) add_warm_start_candidate(id);
}

// Returns the nearest evaluation with a trajectory (ranges scaled to one). Of equal distances the lowest id; -1: none.
// Only evaluations that the strategy has received count: the presence of others depends on timing.
std::int64_t Study::nearest(const Eigen::VectorXd& design) const {
  std::int64_t parent = -1;
  double least = 0;
  const auto squared_in = [&](Eigen::Index i, double other) {
    const Variable& variable = layout_.variables[i];
    return std::pow((other - design(i)) / (variable.upper - variable.lower), 2);
  };
  // Searches outwards along the first variable, until the distance in this variable alone exceeds the distance of the
  // nearest design found.
  const auto closer = [&](const std::pair<double, std::int64_t>& start) {
    const auto& [first, id] = start;
    double squared = squared_in(0, first);
    if (parent >= 0 && squared > least) return false;
    const Eigen::VectorXd& other = evaluations_.at(id).design;
    for (Eigen::Index i = 1; i < design.size(); ++i) squared += squared_in(i, other(i));
    if (parent < 0 || squared < least || (squared == least && id < parent)) parent = id, least = squared;
    return true;
  };
  const auto middle = warm_start_candidates_.lower_bound({design(0), 0});
  auto up = middle, down = middle;
  while (up != warm_start_candidates_.end() || down != warm_start_candidates_.begin()) {
    if (up != warm_start_candidates_.end() && !closer(*up++)) up = warm_start_candidates_.end();
    if (down != warm_start_candidates_.begin() && !closer(*--down)) down = warm_start_candidates_.begin();
  }
  return parent;
}

Trajectory Study::trajectory_of(std::int64_t id) const {
  Trajectory trajectory;
  const std::vector<double>& numbers = trajectories_.at(id);
  const double* from = numbers.data();
  if (!numbers.empty())
    for (const Channel& channel : layout_.channels) {
      const Eigen::Index columns = channel.coordinates.size();
      trajectory.values.emplace_back(Eigen::Map<const Eigen::MatrixXd>(from, channel.nodes, columns));
      from += channel.nodes * columns;
    }
  return trajectory;
}

// Makes this evaluation's motion available to other designs, once the strategy has received it with a trajectory.
void Study::add_warm_start_candidate(std::int64_t id) {
  const auto trajectory = trajectories_.find(id);
  if (trajectory != trajectories_.end() && !trajectory->second.empty() && is_observed(id))
    warm_start_candidates_.emplace(evaluations_.at(id).design(0), id);
}

Progress Study::progress() const {
  const double seconds_each = evaluated_ ? busy_seconds_ / evaluated_ : not_a_number;
  const auto left = static_cast<double>(limit_) - static_cast<double>(evaluations_.size());
  const int evaluators = std::max(farm_.evaluators(), 1);
  return {evaluations_,
          has_front_ ? nullptr : best_of(evaluations_, constraints_),
          std::min(farm_.outstanding(), evaluators),
          limit_,
          now() - started_,
          std::max(left, 0.0) * seconds_each / std::min(evaluators, width() * parts_.count())};
}

namespace {

// Returns the evaluations of another study's archive that are designs of this study, with these metrics. Evaluations
// with values that the variables cannot have, and those that were lost or timed out, are left out.
std::vector<Evaluation> samples_in(const archive::Contents& contents, const std::string& path, const Settings& settings,
                                   const std::vector<std::string>& metrics,
                                   const std::vector<surrogate::Domain>& domains) {
  const auto& theirs = contents.layout.variables;
  // Returns the position of each name in the archive.
  const auto places = [&](const auto& wanted, const auto& there) {
    std::vector<Eigen::Index> at;
    for (const auto& name : wanted) {
      const auto found = std::ranges::find_if(there, [&](const auto& one) { return one.name == name; });
      at.push_back(found == there.end() ? -1 : found - there.begin());
    }
    return at;
  };
  const auto names = names_of(settings.variables);
  const auto variable_at = places(names, theirs), metric_at = places(metrics, contents.layout.metrics);
  if (theirs.size() != names.size() || std::ranges::find(variable_at, -1) != variable_at.end())
    throw ConfigError(path + ": is of a study with other free variables");
  const surrogate::DesignSpace space(settings.variables, domains, path);
  std::vector<Evaluation> samples;
  for (const auto& [id, row] : archive::latest(contents)) {
    const Evaluation& e = contents.evaluations[row];
    Evaluation sample = e;
    sample.design = e.design(variable_at);
    if (e.gradient.size() > 0) sample.gradient = e.gradient(variable_at);
    sample.metrics.setConstant(metrics.size(), not_a_number);
    for (std::size_t k = 0; k < metrics.size(); ++k)
      if (e.metrics.size() > 0 && metric_at[k] >= 0) sample.metrics(k) = e.metrics(metric_at[k]);
    if (e.status == Status::lost || e.status == Status::timed_out) continue;
    if (surrogate::find_invalid_value(space, sample.design) < 0) samples.push_back(sample);
  }
  if (samples.empty())
    throw ConfigError(path +
                      ": none of its evaluations is of a design of this study: compare the ranges and values of "
                      "the variables");
  return samples;
}

// Returns the evaluations of another study's archive that are valid samples of these costs.
std::vector<Evaluation> archived_samples(const std::string& path, const Settings& settings, const Evaluator& evaluator,
                                         const std::vector<std::string>& metrics,
                                         const std::vector<surrogate::Domain>& domains) {
  const archive::Contents contents = contents_of(path);
  if (contents.provenance.evaluator != settings.evaluator)
    throw ConfigError(path + ": is of a study with the evaluator " + contents.provenance.evaluator +
                      ", this study has " + settings.evaluator);
  if (const std::string difference = cost_mismatch(settings, evaluator, contents); !difference.empty())
    throw ConfigError(path + ": its costs may not be those of this study: " + difference +
                      "; if they are the same, pass them on as a CSV file: dodyn show " + path + " --csv > prior.csv");
  return samples_in(contents, path, settings, metrics, domains);
}

// Reads the evaluations of a cheaper study into the options. The study may have any evaluator. Throws
// ConfigError: other variables, a missing metric of the objectives or constraints, or the costs of this study.
void read_low_fidelity(const std::string& path, const Settings& settings, const Evaluator& evaluator,
                       const std::vector<std::string>& metrics, surrogate::EgoOptions& ego) {
  const std::string key = "surrogate.low-fidelity";
  if (!std::filesystem::exists(path)) throw settings.error(key, "does not exist; expected the .h5 file of a study");
  if (!is_archive(path)) throw settings.error(key, "is not an archive; expected the .h5 file of a study");
  archive::Contents contents = contents_of(path);
  for (const Variable& variable : settings.variables)
    for (const Variable& other : contents.layout.variables)
      if (variable.name == other.name &&
          (surrogate::unit_after(variable) != surrogate::unit_after(other) || variable.choices != other.choices))
        throw settings.error(key, "its variable " + other.name +
                                      " has another unit or other names of values; free the same variables there");
  if (contents.provenance.evaluator == settings.evaluator && cost_mismatch(settings, evaluator, contents).empty())
    throw settings.error(key, "its costs are those of this study; use surrogate.prior-evaluations");
  std::vector<int> needed = ego.objectives;
  for (const surrogate::Constraint& c : ego.constraints) needed.push_back(c.metric);
  for (const int metric : needed) {
    if (metric < 0) continue;
    const std::string& name = metrics[metric];
    if (std::ranges::none_of(contents.layout.metrics, [&](const Quantity& theirs) { return theirs.name == name; }))
      throw settings.error(
          key, "its study has no metric " + name + ", which surrogate.objectives or surrogate.constraints names here");
  }
  read_paired_costs(path, contents);
  ego.low_fidelity = samples_in(contents, path, settings, metrics, ego.domains);
  const auto usable =
      std::ranges::count_if(ego.low_fidelity, [](const Evaluation& e) { return e.ok() && std::isfinite(e.cost); });
  if (usable < 2)
    throw settings.error(key, (usable == 0 ? "none" : "only one") +
                                  std::string(" of its evaluations in this study's ranges has a usable cost; two are "
                                              "needed"));
  ego.low_fidelity_noise = text_in(contents.provenance.configuration, "surrogate.noise") == "true";
}

// Sets the type and the domain of each variable, and the conditions on designs. Errors name the key.
void resolve_variables(const surrogate::Named& named, const Settings& settings, const Evaluator& evaluator,
                       surrogate::EgoOptions& ego) {
  const auto text_of = [&](const std::string& name) { return text_in(settings.configuration(), "design." + name); };
  const auto locate = [&](const char* key, const std::string& text, auto&& parse) {
    try {
      if (!text.empty()) parse();
    } catch (const std::invalid_argument& error) {
      throw settings.error(key, error.what());
    }
  };
  using surrogate::Named;
  Named read;  // receives one key at a time, so that the last key causes an error
  for (const auto& [key, member] :
       {std::pair("surrogate.integers", &Named::integers), std::pair("surrogate.categories", &Named::categories),
        std::pair("surrogate.log-scale", &Named::logarithmic),
        std::pair("surrogate.conditional", &Named::conditional)}) {
    read.*member = named.*member;
    locate(key, read.*member, [&] {
      surrogate::DesignSpace(settings.variables, surrogate::parse_domains(read, settings.variables, text_of), "");
    });
  }
  ego.domains = surrogate::parse_domains(named, settings.variables, text_of);
  std::function<bool(const Eigen::VectorXd&)> within;
  locate("surrogate.design-constraints", named.within,
         [&] { within = surrogate::parse_conditions(named.within, settings.variables, text_of); });
  ego.within = within;
  ego.margins = surrogate::parse_margins(named.within, settings.variables, text_of);
  const auto impossible = evaluator.infeasibility_test();
  if (within || impossible)
    ego.possible = [within, impossible](const Eigen::VectorXd& design) {
      return (!within || within(design)) && (!impossible || impossible(design).empty());
    };
}

// Resolves the settings of a strategy that use names of variables and metrics, or files.
void resolve(const surrogate::Named& named, const Settings& settings, const Evaluator& evaluator,
             surrogate::EgoOptions& ego) {
  const auto& variables = settings.variables;
  if (!named.designs.empty()) ego.given = surrogate::read_designs(named.designs, variables, ego.domains, ego.within);
  // Parses a setting; an error names its key.
  const auto read = [&](const std::string& key, auto&& parse) {
    try {
      return parse(settings.text(key));
    } catch (const std::invalid_argument& error) {
      throw settings.error(key, error.what());
    }
  };
  if (named.constraints.empty() && named.objectives.empty() && named.samples.empty() && named.low_fidelity.empty())
    return;
  const std::vector<Quantity> quantities = evaluator.metrics();
  const auto metrics = names_of(quantities);
  if (!named.samples.empty())
    ego.known = named.samples.ends_with(".h5")
                    ? archived_samples(named.samples, settings, evaluator, metrics, ego.domains)
                    : surrogate::read_samples(named.samples, variables, quantities, ego.domains);
  ego.constraints =
      read("surrogate.constraints", [&](const std::string& list) { return constraints_of(list, quantities); });
  ego.objectives = read("surrogate.objectives", [&](const std::string& list) {
    std::vector<int> all = surrogate::parse_names(list, metrics, true);
    if (all == std::vector{-1}) all.clear();  // -1 means the cost alone, as without the key
    if (all.size() == 1 || all.size() > 3)
      throw std::invalid_argument("expected two or three of cost and the metrics, or cost alone");
    return all;
  });
  if (!named.low_fidelity.empty()) read_low_fidelity(named.low_fidelity, settings, evaluator, metrics, ego);
}

// Leaves each design once in EgoOptions::given. Returns a note for the user; empty: no design occurs twice.
std::string drop_repeated_designs(const std::string& path, const Settings& settings, surrogate::EgoOptions& ego) {
  std::vector<Eigen::Index> once;
  Eigen::Index first = -1;  // the first repeated column
  for (Eigen::Index i = 0; i < ego.given.cols(); ++i) {
    const auto design = ego.given.col(i);
    if (std::ranges::none_of(once, [&](Eigen::Index k) { return ego.given.col(k) == design; }))
      once.push_back(i);
    else if (first < 0)
      first = i;
  }
  if (first < 0) return {};
  const std::string note =
      "note: " + path + ": " + counted(static_cast<std::size_t>(ego.given.cols()) - once.size(), "row") +
      " of a design that an earlier row has, such as " + surrogate::place_of(settings.variables, ego.given.col(first)) +
      "; each design is evaluated once; if costs have noise, set surrogate.noise = true, and each row is evaluated";
  ego.given = ego.given(Eigen::all, once).eval();
  return note;
}

}  // namespace

Ending ending_of(std::string_view reason) {
  return reason.empty()                                    ? Ending::none
         : reason.starts_with(at_limit)                    ? Ending::limit
         : reason.starts_with(surrogate::same_cost)        ? Ending::equal_costs
         : reason.starts_with(surrogate::mostly_undecided) ? Ending::undecided
                                                           : Ending::finished;
}

std::unique_ptr<surrogate::Strategy> make_strategy(const Settings& settings, const Evaluator& evaluator,
                                                   bool compares_pairs, std::vector<std::string>* notes) {
  if (settings.variables.empty())
    throw ConfigError(
        "no design variable is free; give design.NAME.min and design.NAME.max, or evaluate one design: dodyn solve "
        "CONFIG");
  const auto without_effect = [&](const Variable& variable) {
    return std::ranges::any_of(settings.all, [&](const Setting& setting) {
      return setting.key.name == "design." + variable.name + ".min" && setting.note.starts_with("not used");
    });
  };
  if (std::ranges::all_of(settings.variables, without_effect))
    throw settings.error("design." + settings.variables.front().name + ".min",
                         "nothing uses this parameter, so all evaluations would be the same; use it in an expression, "
                         "or free another one");
  // Keys that define the problem must not remain unused.
  for (const char* key : {"surrogate.initial-designs", "surrogate.prior-evaluations", "surrogate.low-fidelity",
                          "surrogate.constraints", "surrogate.objectives", "surrogate.integers", "surrogate.categories",
                          "surrogate.log-scale", "surrogate.conditional", "surrogate.design-constraints"})
    if (std::ranges::count(settings.idle, key) > 0 && settings.given(key)) {
      std::string takers;
      for (const StrategyKeys& strategy : surrogate::strategy_keys())
        if (std::ranges::any_of(strategy.keys, [&](const Key& own) { return own.name == key; }))
          takers += (takers.empty() ? "" : ", ") + strategy.name;
      throw settings.error(key, "the strategy " + settings.text("surrogate.strategy") +
                                    " does not support this key; allowed: " + takers);
    }
  try {
    surrogate::StrategyOptions choice = surrogate::read_choice(settings);
    resolve_variables(choice.named, settings, evaluator, choice.ego);
    if (settings.idle.empty() || std::ranges::count(settings.idle, "surrogate.initial-designs") == 0)
      resolve(choice.named, settings, evaluator, choice.ego);
    if (choice.name == "auto" && !settings.given("surrogate.gradient"))
      choice.ego.gradient = evaluator.has_gradients() &&
                            surrogate::DesignSpace(settings.variables, choice.ego.domains, "auto").all_real();
    const evaluators::Pairing pairing = compares_pairs ? evaluator.pairing() : evaluators::Pairing::none;
    choice.ego.paired = pairing != evaluators::Pairing::none;
    const char* const indifference = "surrogate.indifference";
    if (settings.given(indifference) && std::ranges::count(settings.idle, indifference) == 0 &&
        ((!choice.ego.paired && !choice.ego.noise) || choice.ego.objectives.size() > 1))
      throw settings.error(
          indifference,
          "has no effect: it is for noisy or paired costs as the only objective; set surrogate.noise = "
          "true, or remove it");
    if (pairing == evaluators::Pairing::fixed) choice.ego.repeat = false;
    const bool has_news = choice.ego.noise || (pairing == evaluators::Pairing::extensible && choice.ego.repeat);
    const std::string note = has_news ? "" : drop_repeated_designs(choice.named.designs, settings, choice.ego);
    if (!note.empty() && notes) notes->push_back(note);
    return surrogate::make_strategy(choice, settings.variables);
  } catch (const std::invalid_argument& error) {  // errors that only the combination of keys reveals
    throw ConfigError(error.what());
  }
}

Work make_work(std::shared_ptr<const Evaluator> evaluator, const Settings& settings) {
  const Work checked = [evaluator](const Task& task) {
    Outcome outcome = evaluator->evaluate(task);
    if (evaluator->parts() == 1) {
      outcome = validated(*evaluator, task.evaluation, std::move(outcome));
      for (const auto& values : outcome.trajectory.values)
        outcome.packed.push_back(
            static_cast<std::size_t>(values.size()) * sizeof(double) > max_unpacked_bytes ? packed(values) : Packed());
    }
    outcome.part = task.part;
    return outcome;
  };
  if (settings.text("study.isolate") == "none") return checked;
  return farm::isolated(checked, {settings.real("study.memory-limit") * 1e6, settings.real("study.grace-period") / 2});
}

std::vector<surrogate::Constraint> constraints_of(const std::string& text, const std::vector<Quantity>& metrics) {
  return surrogate::parse_constraints(text, names_of(metrics));
}

const Evaluation* best_of(const std::map<std::int64_t, Evaluation>& evaluations,
                          const std::vector<surrogate::Constraint>& constraints) {
  const Evaluation* best = nullptr;
  for (const auto& [id, evaluation] : evaluations)
    if (evaluation.ok() && (!best || evaluation.cost < best->cost) &&
        std::ranges::all_of(constraints,
                            [&evaluation = evaluation](const auto& c) { return c.is_satisfied(evaluation); }))
      best = &evaluation;
  return best;
}

}  // namespace dodyn::study
