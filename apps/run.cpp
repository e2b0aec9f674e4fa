// dodyn run: runs a whole study, alone or under mpirun. Rank 0 runs the loop and prints; the other ranks evaluate.
#include <unistd.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

#include <algorithm>
#include <atomic>
#include <cctype>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iostream>
#include <optional>
#include <set>
#include <sstream>

#include "command.hpp"
#include "farm/farm.hpp"
#include "progress.hpp"
#include "provenance.hpp"
#include "record/text.hpp"
#include "report/predictions.hpp"
#include "report/report.hpp"
#include "study/observed_data.hpp"
#include "study/running.hpp"
#include "study/study.hpp"
#include "surrogate/strategy.hpp"

namespace dodyn::apps {

namespace po = boost::program_options;
namespace {

// The last signal, which asks the study to end; only rank 0 obeys. A second SIGINT, SIGTERM or SIGHUP ends the process
// at once; stored rows are safe. Batch systems send SIGUSR1 and SIGUSR2 before the end of a job, perhaps twice.
std::atomic<int> signal_received = 0;
std::atomic<std::int64_t> first_urgent = 0;  // time of the first SIGINT, SIGTERM or SIGHUP, ms; 0: none
// Signals within this time count as one request, ms: the command timeout of GNU coreutils signals its child, then the
// child's process group.
constexpr std::int64_t time_of_a_request = 50;
// Message that the signal handler prints at the first request; null: none, as in all ranks except 0. The text must
// exist until the process ends.
std::atomic<const char*> answer_to_signal = nullptr;
std::atomic<bool> is_on_terminal = false;  // whether a progress line may be there

// Writes a line over the progress line. Safe in a signal handler.
void write_from_handler(const char* line) {
  const auto written = [](const char* text) { return write(STDERR_FILENO, text, std::strlen(text)) >= 0; };
  static_cast<void>((!is_on_terminal || written("\r\033[K")) && written(line));
}

void receive_signal(int signal) {
  study::remove_marker();
  const char* const answer = answer_to_signal;
  const bool first = signal_received.exchange(signal) == 0;
  if (signal != SIGINT && signal != SIGTERM && signal != SIGHUP) {
    if (first && answer) write_from_handler(answer);
    return;
  }
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  const std::int64_t ms = 1 + static_cast<std::int64_t>(now.tv_sec) * 1000 + now.tv_nsec / 1'000'000;
  std::int64_t before = 0;
  if (first_urgent.compare_exchange_strong(before, ms)) {
    if (answer) write_from_handler(answer);
    return;
  }
  if (ms - before < time_of_a_request) return;
  if (answer) write_from_handler("stopped at once: the same command continues\n");
  _exit(interrupted);
}

// Sets the message that the signal handler prints to standard error; it states study.grace-period.
void answer_signals(const Settings& settings) {
  static const std::string line = "stopping: running evaluations have up to " + settings.text("study.grace-period") +
                                  " s to finish (study.grace-period); Ctrl-C again stops at once\n";
  is_on_terminal = isatty(STDERR_FILENO) == 1;
  answer_to_signal = line.c_str();
}

void listen_to_signals() {
  struct sigaction action = {};
  action.sa_handler = receive_signal;
  action.sa_flags = SA_RESTART;
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2}) sigaction(signal, &action, nullptr);
}

std::string signal_name(int signal) {
  for (const auto& [number, name] : {std::pair(SIGINT, "SIGINT"),
                                     {SIGTERM, "SIGTERM"},
                                     {SIGHUP, "SIGHUP"},
                                     {SIGUSR1, "SIGUSR1"},
                                     {SIGUSR2, "SIGUSR2"}})
    if (number == signal) return name;
  return std::to_string(signal);
}

// Returns a function that states why the run must end now: a signal, study.wall-time, or the end of the Slurm job;
// empty: it may continue.
study::Study::Interruption interruption(const Settings& settings) {
  using Clock = std::chrono::system_clock;
  const auto seconds = [](double s) {
    return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(s));
  };
  auto end = Clock::time_point::max();
  std::string reason;
  if (const double wall_time = settings.real("study.wall-time"); std::isfinite(wall_time)) {
    const std::string its = "study.wall-time = " + settings.text("study.wall-time"),
                      grace = "study.grace-period = " + settings.text("study.grace-period") + " s";
    end = Clock::now() + seconds(wall_time);
    reason = wall_time > settings.real("study.grace-period")
                 ? "reached " + its + " less " + grace
                 : "no time to evaluate: " + its + " is not longer than " + grace + ", give more or a shorter one";
  }
  if (const char* text = std::getenv("SLURM_JOB_END_TIME")) {
    const auto job_end = Clock::time_point(std::chrono::seconds(std::atoll(text) - 5));  // 5 s to close everything
    if (job_end < end && job_end > Clock::now()) end = job_end, reason = "reached the end of the Slurm job's time";
  }
  if (end != Clock::time_point::max()) end -= seconds(settings.real("study.grace-period"));
  return [end, reason]() -> std::string {
    if (const int signal = signal_received) return "interrupted by a signal (" + signal_name(signal) + ")";
    return Clock::now() >= end ? reason : "";
  };
}

// Ids of evaluations that `rerun` repeats; an empty set: all that failed, timed out or were lost. nullopt: `run`.
using Again = std::optional<std::set<std::int64_t>>;

// Returns the result as text, from the archive. If the archive cannot be read now, or not within 1 s after an
// interruption, the text describes the best evaluation only.
std::string found(const std::string& path, const study::Summary& summary, const Settings& settings,
                  const report::OutputUnits& units) {
  constexpr int rows_read_in_a_second = 20000;
  const bool in_haste =
      summary.ending == Ending::interrupted && summary.evaluated + summary.restored > rows_read_in_a_second;
  const auto best_alone = [&] {
    std::vector<Variable> variables = settings.variables;
    const Eigen::VectorXd factors = report::convert(variables, units);
    std::optional<Evaluation> best = summary.best;
    if (best) best->design = best->design.cwiseProduct(factors).eval();
    return report::best_text(best ? &*best : nullptr, variables,
                             best ? report::bound_note(variables, best->design) : "");
  };
  try {
    if (in_haste) return best_alone();
    const archive::Contents contents = archive::read_verified(path);
    return report::outcome_text(contents, study::observed_data(contents), units);
  } catch (const archive::Error&) {
    return best_alone();
  } catch (const archive::Busy&) {
    return best_alone();
  }
}

// Returns "dodyn COMMAND CONFIG OPTIONS" of this study. Contains the archive instead of CONFIG if the command line had
// keys, which only the archive stores.
std::string command_line_of(const Settings& settings, const std::string& command, const std::string& options) {
  const auto sources = settings.sources();
  const bool has_keys =
      std::ranges::any_of(sources, [](const auto& setting) { return setting.second == "command line"; });
  const bool by_archive = has_keys || study::is_archive(settings.file);
  return "dodyn " + command + " " + as_word(by_archive ? settings.text("study.archive") : settings.file) + options +
         (by_archive && settings.evaluator == "command" ? " --trust" : "");
}

// Returns the result of a rerun that finds no evaluation. The next run repeats attempts that the machine ended.
std::string nothing_to_repeat(const Settings& settings) {
  const archive::Contents contents = archive::read(settings.text("study.archive"));
  const auto rows = archive::latest(contents);
  const auto lost = std::ranges::count_if(
      rows, [&](const auto& found) { return is_retryable(contents.evaluations[found.second].status); });
  if (lost == 0) return "nothing to repeat: no evaluation failed, timed out or was lost\n";
  return "nothing to repeat: the machine ended " + counted(lost, "evaluation") +
         ", which a run continues\nnext: " + command_line_of(settings, "run", "") + "\n";
}

// Runs the study, or repeats the evaluations `again`, on rank 0, and prints the result. `print_notes`: called after the
// last check that can refuse the run, so that a refusal is one line.
ExitCode lead(const Settings& settings, const evaluators::Evaluator& evaluator, surrogate::Strategy& strategy,
              farm::Farm& farm, archive::Provenance where, const Again& again, const report::OutputUnits& units,
              const std::function<void()>& print_notes) {
  const std::string path = settings.text("study.archive");
  if (again && !std::filesystem::exists(path))
    throw ConfigError(path + ": no such archive, so no evaluation to repeat; first: dodyn run " +
                      as_word(settings.file));
  answer_signals(settings);
  ProgressLine line(stderr);
  std::optional<study::Study> opened;
  study::Summary summary;
  try {
    try {
      opened.emplace(settings, evaluator, strategy, farm, std::move(where), interruption(settings),
                     [&](const study::Progress& progress) {
                       if (line.due()) line.show(report::progress_text(progress, settings.variables, units));
                     });
    } catch (const archive::Busy& busy) {
      std::cerr << "dodyn: " << busy.what() << "; try again when that has ended\n";
      return in_use;
    }
    print_notes();
    if (const std::string reason = strategy.reason(); !reason.empty()) std::cout << "strategy: " << reason << std::endl;
    summary = again ? opened->rerun(*again) : opened->run();
  } catch (const study::Interrupted& end) {
    std::cerr << "dodyn: " << end.what() << "; stopped, the same command continues\n";
    return interrupted;
  }
  answer_to_signal = nullptr;  // no evaluation runs any more
  line.end();
  opened.reset();  // its rows are read again next
#ifdef __GLIBC__
  malloc_trim(0);  // returns the study's memory to the system, before the rows take as much again
#endif
  if (again && summary.was_finished) {
    std::cout << path << ": " << nothing_to_repeat(settings);
    return finished;
  }
  std::cout << found(path, summary, settings, units) << path << ": "
            << (summary.was_finished && summary.ending == Ending::finished ? "already " : "")
            << report::ended_text(summary.ending, summary.reason) << report::undecided_text(summary.undecided_fraction)
            << "\n"
            << counted(summary.evaluated, "evaluation") << " now, "
            << (summary.resolved_again > 0
                    ? std::to_string(summary.resolved_again) + " of them again, from a neighbour's motion, "
                    : "")
            << summary.restored << " from the archive\n"
            << report::unanswered_text(summary.unanswered, command_line_of(settings, "rerun", " --failed"));
  if (summary.commonest_count > 0)
    std::cout << "most frequent reason (" << summary.commonest_count << "): " << summary.commonest << "\n";
  if (summary.troubles > 0)
    std::cout << "warning: the machine ended " << counted(summary.troubles, "attempt")
              << ", for reasons that do not depend on the design; the last: " << summary.trouble << "\n";
  if (summary.ending == Ending::interrupted) return interrupted;
  if (summary.ending == Ending::failed) {
    if (summary.commonest_count > 0) std::cout << "next: dodyn show " << as_word(path) << " --failed\n";
    return failure;
  }
  if (summary.unanswered.empty()) std::cout << "next: dodyn report " << as_word(path) << "\n";
  const bool complete = !summary.unanswered.contains(Status::lost) && !summary.unanswered.contains(Status::timed_out);
  return complete ? finished : incomplete;
}

// Throws ConfigError if speculative execution would start an external program twice at a time: two runs share the
// working directory of the evaluation and could disturb each other.
void check_duplicates(const Settings& settings) {
  if (settings.evaluator == "command" && std::isfinite(settings.real("study.speculate-after")))
    throw settings.error("study.speculate-after",
                         "the evaluator command runs a program, which may not be run twice at a "
                         "time; allowed: none");
}

void check_workers(const Settings& settings, const evaluators::Evaluator& evaluator, int ranks) {
  const bool several = settings.text("study.workers") != "1";
  if (several && settings.text("study.evaluator") != "command")
    throw settings.error("study.workers",
                         "the evaluator " + settings.evaluator +
                             " does one evaluation at a time in a process; for more: mpirun -n N dodyn run");
  if (several && ranks > 1 && evaluator.concurrency() > 1)
    throw settings.error("study.workers", "each of the " + std::to_string(ranks) +
                                              " ranks is a worker already; allowed: 1, or dodyn run without mpirun");
}

// Returns the ids for rerun; nullopt for run.
Again ids_to_repeat(const Invocation& call, const Arguments& given) {
  if (call.command.name != "rerun") return std::nullopt;
  const std::string ids = given.text("ids");
  if (given.flag("failed") == !ids.empty())
    throw ConfigError("usage: " + call.command.usage() + "; give one of --failed and --ids");
  return read_ids(ids);
}

void check_folder(const Settings& settings) {
  const std::filesystem::path archive = settings.text("study.archive"), folder = archive.parent_path();
  std::error_code error;
  static_cast<void>(std::filesystem::status(archive, error));
  if (error == std::errc::too_many_symbolic_link_levels)
    throw settings.error("study.archive", "symbolic links lead from it to itself; choose another file");
  if (!folder.empty() && !std::filesystem::exists(folder, error))
    throw settings.error("study.archive",
                         "the folder " + shown(folder.string(), 400) + " does not exist; create it, or choose another");
}

// Throws ConfigError if the snapshot would replace the archive, or an existing file whose name does not end in .h5.
void check_snapshot(const Settings& settings) {
  const std::string path = settings.text("study.snapshot");
  if (path.empty()) return;
  std::error_code none;
  const bool same =
      path == settings.text("study.archive") || std::filesystem::equivalent(path, settings.text("study.archive"), none);
  if (same) throw settings.error("study.snapshot", "is study.archive, too; choose another file");
  if (is_of_another_kind(path, ".h5"))
    throw settings.error("study.snapshot", "exists, and its name does not end in .h5; choose another name");
}

// Reports every exception here: none may leave this function while the MPI session is open.
ExitCode run_session(const Invocation& call, const std::string& exit_code_file) {
  const farm::Session session(call.argc, call.argv);
  listen_to_signals();
  ExitCode code = failure;
  bool started = false;
  // Every rank reads the same settings with the same result; only rank 0 reports errors.
  try {
    const archive::Provenance where = provenance(call.words, session.size());
    const Arguments given = parse(call);
    const Again again = ids_to_repeat(call, given);
    const report::OutputUnits units = units_of(given);
    const study::Problem problem = read_problem(given, study::Use::continued);
    const Settings& settings = problem.settings;
    check_folder(settings);
    check_snapshot(settings);
    const std::shared_ptr<const evaluators::Evaluator> evaluator = study::make_evaluator(problem);
    std::vector<std::string> notes = again ? problem.notes : notes_on(problem, true);
    const auto strategy = study::make_strategy(settings, *evaluator, true, &notes);
    check_workers(settings, *evaluator, session.size());
    check_duplicates(settings);
    const Work work = study::make_work(evaluator, settings);
    const farm::Timeouts timeouts{settings.real("study.grace-period"), settings.real("study.heartbeat-timeout"),
                                  settings.real("study.speculate-after")};
    const auto print_notes = [&] {
      for (const std::string& note : notes) std::cerr << note << "\n";
      note_unused(units,
                  {.variables = settings.variables, .metrics = evaluator->metrics(), .channels = evaluator->channels()},
                  given.operands.front());
    };
    if (session.rank() > 0) {
      farm::serve(session, work, timeouts);
      return finished;
    }
    const auto farm =
        evaluator->concurrency() > 1
            ? farm::make_local_farm(work, timeouts, evaluator->concurrency())
            : farm::make_mpi_farm(session, study::with_marker(work, settings.text("study.archive") + ".running"),
                                  timeouts);
    started = true;
    code = lead(settings, *evaluator, *strategy, *farm, where, again, units, print_notes);
  } catch (const archive::Busy& busy) {
    if (session.rank() == 0)
      std::cerr << "dodyn: " << busy.what()
                << (started ? "; stopped, the same command continues\n" : "; try again when that has ended\n");
    code = started ? interrupted : in_use;
  } catch (const ConfigError& error) {
    if (session.rank() == 0) std::cerr << "dodyn: " << error.what() << "\n";
    code = refused;
  } catch (const std::exception& error) {
    std::cerr << "dodyn: " << error.what() << "\n";
  }
  if (session.rank() == 0 && !exit_code_file.empty()) std::ofstream(exit_code_file) << code << "\n";
  return code;
}

ExitCode start(const Invocation& call) {
  const std::string exit_code_file = find_option(call, "exit-code-file");
  if (!exit_code_file.empty()) unlink(exit_code_file.c_str());
  const ExitCode code = run_session(call, exit_code_file);
  study::remove_marker();
  if (farm::needs_hard_exit()) {
    std::cout.flush();
    std::fflush(nullptr);
    _exit(code);
  }
  return code;
}

}  // namespace

std::set<std::int64_t> read_ids(const std::string& text) {
  std::set<std::int64_t> ids;
  std::istringstream list(text);
  for (std::string word; std::getline(list, word, ',');) {
    if (word.empty() || word.size() > 18 || word.find_first_not_of("0123456789") != std::string::npos)
      throw ConfigError("command line: --ids '" + text + "'; allowed: ids of evaluations, as in 3,7,12");
    ids.insert(std::stoll(word));
  }
  return ids;
}

void add_run_options(AddOptions add) {
  add("exit-code-file", po::value<std::string>()->value_name("FILE"), "a file to write the exit code to");
  add_units_option(add, "of designs and metrics in the printed output; reasons and the archive keep their units");
  add_trust_option(add);
}

ExitCode run(const Invocation& call) { return start(call); }

void add_rerun_options(AddOptions add) {
  add("failed", po::bool_switch(), "all evaluations that failed, timed out or were lost");
  add("ids", po::value<std::string>()->value_name("ID[,ID...]"), "ids of evaluations, as in 3,7,12");
  add_run_options(add);
}

// dodyn rerun: repeats evaluations that failed, timed out or were lost, or the given ids.
ExitCode rerun(const Invocation& call) { return start(call); }

}  // namespace dodyn::apps
