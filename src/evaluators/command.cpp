// One evaluation is one run of `command.run` by /bin/sh in a separate directory. The program receives:
//
//   design.json      {"id": 3, "seed": 123, "design": {"x": 0.5, ...}, "time_limit": 60 or null}; also "units", by
//                    name, if a variable has a unit
//   environment      DODYN_ID, DODYN_SEED, DODYN_TIME_LIMIT (if any), one DODYN_X per design variable x (upper case,
//                    - as _), DODYN_X_UNIT (if any), DODYN_DESIGN_FILE, DODYN_RESULT_FILE, and DODYN_STUDY: the folder
//                    of the configuration file
// and it writes:
//   result.json      {"cost": 1.5}; may have "status", "reason", "cost_stderr", "gradient" and "metrics" (both objects
//                    by name), and "id", which must be equal to the id of design.json. With command.paired it has
//                    "costs", a list, instead of "cost". Without a file, or with an exit code other than 0 and no
//                    status, the evaluation has failed. A program that is stopped at its time limit gives the status
//                    timed_out, even with a file. If a signal from outside ended the program, the evaluation is lost
//                    and repeated. If the program could not be started, that is trouble of the machine
//                    (record/machine.hpp).
// Standard output and error go to the files stdout and stderr there; the end of stderr becomes part of the reason.
// Files that the shell line names are part of the study. If such a file changes while a study runs, the study stops.
//
// `command.serve` is a program that keeps running. It reads the contents of design.json as one line from standard
// input, and writes the contents of result.json, with "id", as one line to standard output. If it dies, writes another
// line, or is stopped at a time limit, it is started again for the next evaluation.
//
// A parallel program gets `command.ranks` processors of the allocation. DODYN_LAUNCH is the command line that starts
// its processes on them: as a step of the Slurm job (srun), or on named hosts (mpiexec). One process of dodyn then
// schedules `study.workers` concurrent evaluations, and needs no processor of its own.
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>
#include <system_error>
#include <thread>

#include "evaluators/error_stream.hpp"
#include "evaluators/kinds.hpp"
#include "evaluators/named_files.hpp"
#include "evaluators/processors.hpp"
#include "evaluators/program.hpp"
#include "evaluators/server.hpp"
#include "evaluators/working_directory.hpp"
#include "record/machine.hpp"
#include "settings/choices.hpp"
#include "settings/expression.hpp"
#include "settings/folder.hpp"
#include "surrogate/named.hpp"

namespace dodyn::evaluators {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

// Returns the names in command.metrics. Throws ConfigError for an empty name, and for a name with a blank, which is
// probably two names without a comma between them.
std::vector<std::string> metric_names(const Settings& settings) {
  std::vector<std::string> names = split_list(settings.text("command.metrics"));
  for (const std::string& name : names) {
    if (name.empty()) throw settings.error("command.metrics", "has an empty name; remove a comma");
    if (name.find_first_of(" \t") != std::string::npos)
      throw settings.error("command.metrics",
                           "'" + shown(name) + "' has a blank; separate names by commas, or write _ in a name");
  }
  return names;
}

std::string variable_name(std::string name) {
  for (char& c : name) c = c == '-' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return "DODYN_" + name;
}

// Returns the entries NAME=value of the environment with which this process was started.
std::set<std::string> given_environment() {
  std::set<std::string> entries;
  std::ifstream stream("/proc/self/environ", std::ios::binary);
  for (std::string entry; std::getline(stream, entry, '\0');) entries.insert(entry);
  return entries;
}

// Returns this process's environment without the variables that MPI added, plus `more`. The user's program may call
// mpirun, which refuses to start with such variables. Settings of the user stay: OMPI_ALLOW_RUN_AS_ROOT...,
// PMIX_MCA_gds and, if mpirun has not started this process, OMPI_MCA_..., which mpirun sets itself.
std::vector<std::string> environment_with(std::vector<std::string> more) {
  static const std::set<std::string> given = given_environment();
  static const bool launched = std::ranges::any_of(given, [](const std::string& entry) {
    return entry.starts_with("OMPI_COMM_WORLD_SIZE=") || entry.starts_with("PMI_SIZE=") ||
           entry.starts_with("PMIX_RANK=");
  });
  for (char** entry = environ; *entry; ++entry) {
    const std::string text = *entry;
    const bool mpi_variable = text.starts_with("OMPI_") || text.starts_with("PMIX_") || text.starts_with("PMI_");
    const bool of_the_user = text.starts_with("OMPI_ALLOW_RUN_AS_ROOT") || text.starts_with("PMIX_MCA_gds=") ||
                             (!launched && text.starts_with("OMPI_MCA_") && given.contains(text));
    if (!mpi_variable || of_the_user) more.push_back(text);
  }
  return more;
}

// Returns the last 64 KiB of a file; empty: no such file.
std::string end_of(const fs::path& file) {
  constexpr std::streamoff most = 1 << 16;
  std::error_code error;
  if (!fs::is_regular_file(file, error)) return "";
  std::ifstream stream(file);
  stream.seekg(0, std::ios::end);
  const auto size = static_cast<std::streamoff>(stream.tellg());
  stream.seekg(std::max<std::streamoff>(0, size - most));
  return {std::istreambuf_iterator<char>(stream), {}};
}

std::string shortened(const std::string& line) {
  return line.size() > 160 ? "..." + line.substr(line.size() - 157) : line;
}

// Returns the last line of the program on its error stream; if there is none, the line of its launcher.
std::string last_error_line(const fs::path& directory) {
  const ErrorStreamSummary words = summarise_error_stream(end_of(directory / "stderr"));
  return shortened(words.program.empty() ? words.launcher : words.program);
}

// Removes the shell's prefix, as dash and bash write it: "./cost.sh: not found" from "sh: 1: ./cost.sh: not found".
std::string without_shell(const std::string& words) {
  std::string_view rest = words;
  if (!rest.starts_with("sh: ")) return words;
  rest.remove_prefix(4);
  if (rest.starts_with("line ")) rest.remove_prefix(5);
  const auto digits = rest.find_first_not_of("0123456789");
  return digits > 0 && digits != rest.npos && rest.substr(digits).starts_with(": ")
             ? std::string(rest.substr(digits + 2))
             : words;
}

[[noreturn]] void fail_by_system(const fs::path& path) {
  throw std::system_error(errno ? errno : EIO, std::generic_category(), path.string());
}

bool in_path(const std::string& program) {
  const char* path = std::getenv("PATH");
  std::istringstream directories(path == nullptr ? "" : path);
  for (std::string directory; std::getline(directories, directory, ':');)
    if (access((directory + "/" + program).c_str(), X_OK) == 0) return true;
  return false;
}

int number_in(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? 0 : std::atoi(value);
}

// Returns the processors of this process: one object for all its evaluators, such as the evaluators of scenarios.
std::shared_ptr<Processors> shared_processors(const std::string& hosts, bool by_name) {
  static std::mutex mutex;
  static std::map<std::pair<std::string, bool>, std::weak_ptr<Processors>> all;
  const std::lock_guard lock(mutex);
  auto& known = all[{hosts, by_name}];
  std::shared_ptr<Processors> them = known.lock();
  if (!them) known = them = std::make_shared<Processors>(hosts.empty() ? allocation(by_name) : parse_hosts(hosts));
  return them;
}

class Command final : public Evaluator {
 public:
  explicit Command(const Settings& settings) : settings_(settings), metrics_(metric_names(settings)) {
    if (settings.text("command.run").empty() && settings.text("command.serve").empty())
      throw settings.error(
          "command.run", "there is no command; give a shell command that writes $DODYN_RESULT_FILE, or command.serve");
    if (!settings.text("command.run").empty() && !settings.text("command.serve").empty())
      throw settings.error("command.serve", "cannot be combined with command.run; remove one of them");
    expect_own_environment();
    const std::string archive = settings.text("study.archive");
    const fs::path folder = settings.text("command.directory");
    own_folder_ = folder.empty();
    directories_.emplace(own_folder_ ? fs::path(archive).replace_extension(".work") : folder, archive);
    study_ = absolute_folder(settings);
    line_ = settings.text("command.run") + settings.text("command.serve");  // one of the two is empty
    try {
      files_ = NamedFiles(files_in(line_, {{"DODYN_STUDY", study_.string()}}));
    } catch (const std::exception& error) {
      throw ConfigError(std::string(error.what()) + "; the command names this file");
    }
    // Other scenarios are evaluated under the same id, perhaps at the same time.
    if (settings.given("scenario")) name_ = "-" + settings.text("scenario");
    find_needed_metrics();
    if (settings.given("surrogate.integers"))
      for (const std::string& name : split_list(settings.text("surrogate.integers"))) whole_.insert(name);
    workers_ = settings.integer("study.workers");
    paired_ = settings.integer("command.paired");
    if (settings.given("command.ranks")) {
      find_processors();
    } else {
      for (const char* key : {"command.hosts", "command.launcher", "command.launch-options"})
        if (settings.given(key))
          throw settings.error(key, "has no effect without command.ranks; add command.ranks, or remove it");
    }
    if (workers_ == 0) workers_ = std::max(1U, std::thread::hardware_concurrency());
  }

  ~Command() override {
    for (auto& server : servers_) dismiss(std::move(server), settings_.text("command.keep") != "all");
    std::error_code not_empty;
    if (own_folder_) fs::remove(directories_->folder(), not_empty);
  }

  std::vector<Quantity> metrics() const override {
    std::vector<Quantity> all = {
        {"exit_code", "1", "exit code of the program; 128 + the signal's number if a signal killed it"}};
    for (const auto& name : metrics_) all.push_back({name, "", "reported by the program"});
    return all;
  }
  Channels channels() const override {
    if (paired_ == 1) return {};
    return {{std::string(channel_of_states),
             "",
             "cost: of each draw; the cost of the design is their mean",
             paired_,
             {std::string(cost_of_state)}}};
  }
  Pairing pairing() const override { return paired_ > 1 ? Pairing::extensible : Pairing::none; }
  int concurrency() const override {
    if (!mismatch_.empty()) throw ConfigError(mismatch_);
    return workers_;
  }

  std::vector<InputFile> input_files() const override {
    std::vector<InputFile> all;
    for (const auto& [path, sum] : files_.checksums()) {
      // Files next to the configuration are stored relative to it.
      const std::string beside = study_.string() + "/";
      const std::string name = path.starts_with(beside) ? path.substr(beside.size()) : path;
      all.push_back({"command." + name + "-checksum", sum, name, "", path});
    }
    return all;
  }

  Outcome evaluate(const Task& task) const override {
    refuse_changed_files();
    Outcome outcome = settings_.text("command.serve").empty() ? evaluate_once(task) : be_served(task);
    refuse_changed_files();  // a changed file may have been used in either version
    if (paired_ > 1 && outcome.evaluation.ok()) outcome.trajectory.values = {outcome.evaluation.paired_costs};
    return outcome;
  }

  std::string report(const Outcome& outcome) const override {
    const double code = outcome.evaluation.metrics.size() > 0 ? outcome.evaluation.metrics(0) : not_a_number;
    return "command              " + line_ + (std::isfinite(code) ? "\nexit code            " + to_text(code) : "") +
           "\nworking directories  " + directories_->folder().string() + "\n";
  }

 private:
  // Stores the metrics that the search uses. In the settings, a metric of a scenario has the scenario's name as a
  // prefix.
  void find_needed_metrics() {
    const std::string prefix = settings_.given("scenario") ? settings_.text("scenario") + ":" : "";
    const auto add = [&](const char* key, const auto& names_in) {
      if (!settings_.given(key)) return;
      const std::vector<std::string> names = names_in(settings_.text(key));
      for (const std::string& metric : metrics_)
        if (std::ranges::find(names, prefix + metric) != names.end()) needed_.emplace(metric, key);
    };
    try {
      add("surrogate.constraints", surrogate::constrained_names);
    } catch (const std::invalid_argument& error) {
      throw settings_.error("surrogate.constraints", error.what());
    }
    add("surrogate.objectives", [](const std::string& list) { return split_list(list); });
  }

  void refuse_changed_files() const {
    if (const std::string change = files_.change(); !change.empty()) throw MachineTrouble(change);
  }

  Outcome evaluate_once(const Task& task) const {
    Outcome outcome{task.evaluation, {}};
    Evaluation& evaluation = outcome.evaluation;
    char name[32];
    std::snprintf(name, sizeof name, "%06lld", static_cast<long long>(evaluation.id));
    const fs::path directory = directories_->make(name + name_);
    const std::string keep = settings_.text("command.keep");
    try {
      run_in(directory, task, outcome);
    } catch (...) {
      if (keep == "none") WorkingDirectories::remove(directory);
      throw;
    }
    if (keep == "none" || (keep == "failed" && evaluation.ok())) WorkingDirectories::remove(directory);
    return outcome;
  }

  void run_in(const fs::path& directory, const Task& task, Outcome& outcome) const {
    Evaluation& evaluation = outcome.evaluation;

    auto environment = hand_over(task, directory);
    std::optional<Processors::Share> share;
    if (processors_) {
      share.emplace(processors_->take(ranks_));
      environment.push_back("DODYN_RANKS=" + std::to_string(ranks_));
      environment.push_back("DODYN_HOSTS=" + share->hosts());
      environment.push_back("DODYN_LAUNCH=" + launch_line(*share));
    }
    const ProgramResult end =
        run({settings_.text("command.run"), directory, environment, launcher_ == "srun" ? 3.0 : 0.0}, task,
            settings_.real("study.grace-period") / 2);
    WorkingDirectories::make_readable(directory);
    const fs::path result = directory / "result.json";
    const bool answered = fs::exists(fs::symlink_status(result));
    if (!answered) refuse_unstarted(end, directory);
    evaluation = unanswered(task.evaluation);
    evaluation.metrics(0) = end.code();
    evaluation.status = end.stopped ? Status::timed_out : end.from_outside() ? Status::lost : Status::failed;
    try {
      if (answered)
        evaluation = read_back(text_of(result), end, evaluation);
      else
        evaluation.reason =
            end.text() + (end.stopped ? "" : ", and no result.json") +
            (end.succeeded() ? ": the program writes JSON to $DODYN_RESULT_FILE (docs/own-program.md)" : "");
    } catch (const std::system_error&) {
      throw;
    } catch (const std::exception& error) {
      if (!end.from_outside()) evaluation.status = Status::failed;  // otherwise killed while it wrote the file
      evaluation.reason = end.text() + ", result.json: " + error.what();
    }
    outcome.killed =
        (evaluation.status == Status::lost && end.from_outside()) || (evaluation.status == Status::failed && !answered);
    if (!evaluation.ok())
      if (const std::string words = last_error_line(directory); !words.empty())
        evaluation.reason += "; stderr: " + words;
  }

  // Returns the record of a task without an answer: its identity, and NaN metrics.
  Evaluation unanswered(const Evaluation& asked) const {
    Evaluation evaluation = asked;
    evaluation.metrics = Eigen::VectorXd::Constant(static_cast<Eigen::Index>(metrics_.size()) + 1, not_a_number);
    return evaluation;
  }

  // Throws MachineTrouble if the shell or a launcher reports that it did not start the program.
  void refuse_unstarted(const ProgramResult& end, const fs::path& directory) const {
    const ErrorStreamSummary words = summarise_error_stream(end_of(directory / "stderr"));
    if (end.stopped || end.succeeded()) return;
    if (end.not_found()) {
      const std::string said = without_shell(shortened(words.program));
      throw MachineTrouble((said.empty() ? "the program cannot be started" : said) + " (" + end.text() + ")" +
                           place_hint());
    }
    if (words.program.empty() && words.cannot_start)
      throw MachineTrouble(shortened(words.launcher) + " (" + end.text() + ")");
  }

  // Returns a hint if the program lies next to the configuration but not in the directory in which it runs.
  std::string place_hint() const {
    const std::string first = line_.substr(0, line_.find_first_of(" \t;|&"));
    const fs::path named = first;
    std::error_code error;
    if (named.is_absolute() || first.find('$') != std::string::npos || !fs::is_regular_file(study_ / named, error))
      return "";
    return "; write $DODYN_STUDY/" + named.lexically_normal().string();
  }

  // Determines the launcher and the number of processors of an evaluation. Throws ConfigError for settings that no
  // machine can satisfy. Stores in `mismatch_` a message on the first setting that this machine cannot satisfy.
  void find_processors() {
    const auto note = [&](const char* key, const std::string& what) {
      if (mismatch_.empty()) mismatch_ = settings_.error(key, what).what();
    };
    if (!settings_.text("command.serve").empty())
      throw settings_.error("command.ranks",
                            "has no effect on a server (command.serve); remove it, or use command.run");
    for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS"})
      if (number_in(name) > 1)
        note("command.ranks",
             "start dodyn run without mpirun, because the programs use the processors; study.workers sets how many run "
             "at once");
    ranks_ = settings_.integer("command.ranks");
    const bool slurm = std::getenv("SLURM_JOB_ID") != nullptr;
    launcher_ = settings_.text("command.launcher");
    if (launcher_ == "auto") launcher_ = slurm && in_path("srun") ? "srun" : "mpiexec";
    if (launcher_ == "srun" && !slurm) note("command.launcher", "this is not a Slurm job; allowed here: mpiexec, none");
    const std::string hosts = settings_.text("command.hosts");
    try {
      processors_ = shared_processors(hosts, launcher_ == "mpiexec");
    } catch (const std::exception& error) {
      if (!hosts.empty()) throw settings_.error("command.hosts", error.what());
      return note("command.ranks", error.what());
    }
    const int room = processors_->room_for(ranks_);
    if (room < 1 || workers_ > room) {
      const char* key = room < 1 ? "command.ranks" : "study.workers";
      const std::string what =
          "of " + processors_->text() + " processors, " +
          (room < 1 ? "too few are available"
                    : std::to_string(room) + " evaluations of " + std::to_string(ranks_) + " at most can run at once");
      if (!hosts.empty()) throw settings_.error(key, what);
      note(key, what);
    }
    if (workers_ == 0) workers_ = std::max(1, room);
  }

  // Returns the command line of the launcher. srun finds free processors of the job itself. mpiexec gets the hosts; it
  // binds processes only if no other mpiexec binds its processes on the same host.
  std::string launch_line(const Processors::Share& share) const {
    const std::string ranks = std::to_string(ranks_), options = settings_.text("command.launch-options");
    std::string line;
    if (launcher_ == "srun") {
      const int each = std::max(1, number_in("SLURM_CPUS_PER_TASK"));
      const int tasks = std::max(1, ranks_ / each);
      line = "srun --exclusive --nodes=" + std::to_string(processors_->hosts_for(ranks_)) +
             " --ntasks=" + std::to_string(tasks) + " --cpus-per-task=" + std::to_string(each);
    } else if (launcher_ == "mpiexec") {
      line = "mpiexec -n " + ranks + " --host " + share.hosts() + (share.alone() ? "" : " --bind-to none");
    }
    return line + (options.empty() || line.empty() ? "" : " ") + options;
  }

  struct ServerInstance {
    std::unique_ptr<Server> server;
    fs::path directory;
  };

  // Returns an idle server, or starts one.
  ServerInstance idle_or_new_server() const {
    const std::lock_guard lock(mutex_);
    while (!servers_.empty()) {
      ServerInstance served = std::move(servers_.back());
      servers_.pop_back();
      if (served.server->alive()) return served;
      dismiss(std::move(served), true);
    }
    char host[256] = "";
    gethostname(host, sizeof host - 1);
    const std::string number = servers_started_ == 0 ? "" : "-" + std::to_string(servers_started_);
    ++servers_started_;
    ServerInstance served;
    served.directory =
        directories_->make("server-" + std::string(host) + "-" + std::to_string(getpid()) + name_ + number);
    served.server = std::make_unique<Server>(Program{settings_.text("command.serve"), served.directory,
                                                     environment_with({"DODYN_STUDY=" + study_.string()})});
    return served;
  }

  // Returns the server's answer to one evaluation.
  Outcome be_served(const Task& task) const {
    Outcome outcome{task.evaluation, {}};
    Evaluation& evaluation = outcome.evaluation;
    evaluation = unanswered(task.evaluation);
    evaluation.status = Status::failed;
    ServerInstance served = idle_or_new_server();
    Server::Answer answer;
    try {
      answer = served.server->ask(request(task).dump(), task);
    } catch (...) {
      dismiss(std::move(served), settings_.text("command.keep") == "none");
      throw;
    }
    const bool gone = answer.line.empty() && !answer.stopped && !answer.unasked;
    if (gone && answer.end.not_found()) {
      const std::string said = without_shell(last_error_line(served.directory));
      dismiss(std::move(served), settings_.text("command.keep") == "none");
      throw MachineTrouble((said.empty() ? "the server cannot be started" : said) + " (" + answer.end.text() + ")" +
                           place_hint());
    }
    bool understood = false;
    try {
      if (answer.stopped) {
        evaluation.status = Status::timed_out;
        evaluation.reason = "stopped at its time limit";
      } else if (answer.unasked) {
        evaluation.reason =
            "before this evaluation the server wrote a line that answers no request: " + shown(answer.line) +
            one_line_each;
      } else if (gone) {
        evaluation.status = answer.end.from_outside() ? Status::lost : Status::failed;
        evaluation.metrics(0) = answer.end.code();
        evaluation.reason = "the server ended, " + answer.end.text();
        outcome.killed = evaluation.status == Status::lost;
      } else {
        Evaluation stated = read_back(answer.line, {}, evaluation);
        if (answer.surplus) throw std::runtime_error(std::string("another line follows") + one_line_each);
        evaluation = std::move(stated);
        understood = true;
      }
    } catch (const std::exception& error) {
      evaluation.status = Status::failed;
      evaluation.reason = "its answer " + shown(answer.line) + ": " + error.what();
    }
    if (!evaluation.ok() && !understood) {  // if one line is lost, the next answers would belong to other evaluations
      if (const std::string words = last_error_line(served.directory); !words.empty())
        evaluation.reason += "; stderr: " + words;
      dismiss(std::move(served), settings_.text("command.keep") == "none");
    } else {
      const std::lock_guard lock(mutex_);
      servers_.push_back(std::move(served));
    }
    return outcome;
  }

  static void dismiss(ServerInstance served, bool forget) {
    served.server.reset();
    if (forget) WorkingDirectories::remove(served.directory);
  }

  // Returns the seed for the program. Paired costs: the number of the set of draws, or 0 (the first set) if the
  // strategy does not number the sets.
  std::uint64_t seed_of(const Evaluation& asked) const {
    constexpr std::uint64_t max_sets = 1000;
    return paired_ == 1 || asked.seed < max_sets ? asked.seed : 0;
  }

  // Returns the contents of design.json.
  json request(const Task& task) const {
    const Evaluation& evaluation = task.evaluation;
    json design = json::object();
    for_each_design(evaluation, [&](const std::string& name, double value, const std::string& word) {
      if (!word.empty())
        design[name] = word;
      else if (whole_.contains(name) && std::abs(value) < 1e15)
        design[name] = std::llround(value);  // 4, not 4.0, which many programs refuse as a number of parts
      else
        design[name] = value;
    });
    json text = {{"id", evaluation.id}, {"seed", seed_of(evaluation)}, {"design", design}, {"time_limit", nullptr}};
    for (const auto& [name, unit] : units()) text["units"][name] = unit;
    if (std::isfinite(task.time_limit)) text["time_limit"] = task.time_limit;
    return text;
  }

  // Calls give(name, value, word) for the free and the set design variables. `word`: the name of the value in a list of
  // names, or empty.
  void for_each_design(const Evaluation& evaluation, auto&& give) const {
    for (std::size_t i = 0; i < settings_.variables.size(); ++i) {
      const double value = evaluation.design(i);
      const std::string* const word = settings_.variables[i].choice(value);
      give(settings_.variables[i].name, value, word ? *word : std::string());
    }
    for (const auto& setting : settings_.all)
      if (setting.key.name.starts_with("design.") && setting.key.type == Type::real &&
          !setting.key.name.ends_with(".min") && !setting.key.name.ends_with(".max"))
        give(setting.key.name.substr(7), settings_.real(setting.key.name), overruled_word(setting));
  }

  // Returns the units of the variables that have one, by name.
  std::map<std::string, std::string> units() const {
    std::map<std::string, std::string> all;
    for (const auto& setting : settings_.all)
      if (setting.key.name.starts_with("design.") && setting.key.name.ends_with(".unit"))
        all[setting.key.name.substr(7, setting.key.name.size() - 12)] = setting.value;
    return all;
  }

  // Returns the name of the value if the command line sets a variable to an element of the file's list of names.
  std::string overruled_word(const Setting& setting) const {
    for (const Variable& variable : settings_.overruled)
      if (setting.key.name == "design." + variable.name)
        if (const std::string* const word = variable.choice(settings_.real(setting.key.name))) return *word;
    return {};
  }

  // Throws ConfigError if two variables would have the same name in the program's environment.
  void expect_own_environment() const {
    std::map<std::string, std::string> taken;
    for (const char* own :
         {"ID", "SEED", "DESIGN_FILE", "RESULT_FILE", "STUDY", "TIME_LIMIT", "RANKS", "HOSTS", "LAUNCH"})
      taken.emplace(std::string("DODYN_") + own, "a variable that dodyn sets");
    const auto add = [&](const std::string& variable, const std::string& name) {
      if (const auto [other, is_new] = taken.emplace(name, "'" + variable + "'"); !is_new)
        throw ConfigError(settings_.file + ": design variable '" + shown(variable) + "' is " + name +
                          " in the environment of the program, as " + other->second + " is; choose another name");
    };
    for (const std::string& variable : settings_.given_variables) add(variable, variable_name(variable));
    for (const auto& [variable, unit] : units()) add(variable, variable_name(variable) + "_UNIT");
  }

  // Writes design.json. Returns the environment of the program.
  std::vector<std::string> hand_over(const Task& task, const fs::path& directory) const {
    const Evaluation& evaluation = task.evaluation;
    std::vector<std::string> more = {
        "DODYN_ID=" + std::to_string(evaluation.id), "DODYN_SEED=" + std::to_string(seed_of(evaluation)),
        "DODYN_DESIGN_FILE=" + (directory / "design.json").string(),
        "DODYN_RESULT_FILE=" + (directory / "result.json").string(), "DODYN_STUDY=" + study_.string()};
    for_each_design(evaluation, [&](const std::string& name, double value, const std::string& word) {
      more.push_back(variable_name(name) + "=" + (word.empty() ? to_text(value) : word));
    });
    for (const auto& [name, unit] : units()) more.push_back(variable_name(name) + "_UNIT=" + unit);
    if (std::isfinite(task.time_limit)) more.push_back("DODYN_TIME_LIMIT=" + to_text(task.time_limit));
    std::ofstream file(directory / "design.json");
    file << request(task).dump(2) << "\n";
    file.close();
    if (!file) fail_by_system(directory / "design.json");
    return environment_with(std::move(more));
  }

  static std::string text_of(const fs::path& file) {
    if (!fs::is_regular_file(file)) throw std::runtime_error("is not a regular file");
    if (const auto size = fs::file_size(file); size > most_bytes)
      throw std::runtime_error("has " + std::to_string(size) + " bytes; allowed: " + std::to_string(most_bytes));
    std::ifstream stream(file);
    if (!stream) fail_by_system(file);
    return {std::istreambuf_iterator<char>(stream), {}};
  }

  // Returns the object of an answer. Throws if the text is not JSON, or has a key twice.
  static json parsed_object(const std::string& text) {
    json result;
    try {
      std::map<int, std::set<std::string>> keys;  // keys of the object that is read at each depth
      result = json::parse(text, [&](int depth, json::parse_event_t event, const json& parsed) {
        if (depth > 8) throw std::runtime_error("is nested deeper than 8 levels");
        if (event == json::parse_event_t::object_start) keys[depth + 1].clear();
        if (event == json::parse_event_t::key && !keys[depth].insert(parsed.get<std::string>()).second)
          throw std::runtime_error("has the key " + shown(parsed.dump()) + " twice");
        return true;
      });
    } catch (const json::parse_error& error) {
      // Python's json module writes NaN and Infinity, which JSON does not have.
      const bool not_finite = text.find("NaN") != std::string::npos || text.find("Infinity") != std::string::npos;
      throw std::runtime_error("is not JSON (character " + std::to_string(error.byte) + ")" +
                               (not_finite ? ": it has no NaN and no Infinity; allowed: null" : ""));
    } catch (const json::out_of_range&) {
      throw std::runtime_error("has a number beyond 1.8e308; allowed: null");
    }
    if (!result.is_object()) throw std::runtime_error("is not an object");
    return result;
  }

  // Throws if an answer has an unknown key, is the answer to another request, or has no id although a server wrote it.
  void check_keys(const json& result, std::int64_t id) const {
    std::vector<std::string> known = {"id", "status", "reason", "cost", "cost_stderr", "gradient", "metrics"};
    // Without command.paired, a number under the key "costs" is probably a misspelt "cost".
    if (paired_ > 1 || (result.contains("costs") && result["costs"].is_array())) known.push_back("costs");
    for (const auto& [key, value] : result.items())
      if (std::ranges::find(known, key) == known.end())
        throw std::runtime_error("unknown key '" + key + "'" + did_you_mean(key, known));
    // A late line of a server could otherwise pass as the answer to the next request.
    if (!result.contains("id") && !settings_.text("command.serve").empty())
      throw std::runtime_error("has no id; a server repeats that of the line that it read, here \"id\": " +
                               std::to_string(id));
    if (result.contains("id") && result["id"] != id)
      throw std::runtime_error("id is " + shown(result["id"].dump()) + "; this evaluation is " + std::to_string(id));
  }

  // Returns the evaluation with a program's answer. Throws if the answer is invalid; then no part of it is used.
  Evaluation read_back(const std::string& text, const ProgramResult& end, Evaluation evaluation) const {
    const json result = parsed_object(text);
    check_keys(result, evaluation.id);
    const auto number = [](const std::string& name, const json& value) {
      if (!value.is_null() && !value.is_number())
        throw std::runtime_error(name + " is " + shown(value.dump()) + "; expected a number or null");
      return value.is_null() ? not_a_number : value.get<double>();
    };
    const auto object = [](const std::string& name, const json& value) -> const json& {
      if (!value.is_object())
        throw std::runtime_error(name + " is " + shown(value.dump()) + "; expected an object of numbers by name");
      return value;
    };
    if (result.contains("cost")) evaluation.cost = number("cost", result["cost"]);
    if (result.contains("costs")) add_costs(result, evaluation);
    if (result.contains("cost_stderr")) evaluation.cost_stderr = number("cost_stderr", result["cost_stderr"]);
    for (const char* name : {"reason", "status"})
      if (result.contains(name) && !result[name].is_string())
        throw std::runtime_error(std::string(name) + " is " + shown(result[name].dump()) + "; expected text in quotes");
    if (result.contains("reason")) evaluation.reason = result["reason"].get<std::string>();
    if (result.contains("metrics"))
      for (const auto& [name, value] : object("metrics", result["metrics"]).items()) {
        const auto at = std::ranges::find(metrics_, name);
        if (at == metrics_.end())
          throw std::runtime_error("metric '" + name + "' is not listed in command.metrics" +
                                   did_you_mean(name, metrics_));
        evaluation.metrics(at - metrics_.begin() + 1) = number("metric " + name, value);
      }
    if (result.contains("gradient")) evaluation.gradient = gradient_in(object("gradient", result["gradient"]), number);
    if (end.stopped) {
      evaluation.reason = end.text() + (evaluation.reason.empty() ? "" : ": " + evaluation.reason);
    } else if (result.contains("status")) {
      const auto word = result["status"].get<std::string>();
      const auto* status = std::ranges::find_if(stated_statuses, [&](Status each) { return to_string(each) == word; });
      if (status == std::end(stated_statuses))
        throw std::runtime_error("unknown status '" + word + "'; allowed: ok, infeasible, not_converged, failed");
      evaluation.status = *status;
      if (!evaluation.ok() && evaluation.reason.empty()) evaluation.reason = "the program gives no reason";
    } else if (!end.succeeded()) {
      evaluation.reason = end.text() + (evaluation.reason.empty() ? "" : ": " + evaluation.reason);
    } else if (result.contains("cost") || result.contains("costs")) {
      evaluation.status = Status::ok;
    } else {
      throw std::runtime_error("has neither a cost nor a status");
    }
    if (paired_ > 1 && evaluation.ok() && evaluation.paired_costs.size() == 0)
      throw std::runtime_error("has no costs; with command.paired it has " + std::to_string(paired_) + " of them");
    if (evaluation.ok() && result.contains("cost_stderr") && result["cost_stderr"].is_null())
      throw std::runtime_error("cost_stderr is null; expected a number; leave it out if the cost has no error");
    for (const auto& [metric, key] : needed_)
      if (evaluation.ok() && !(result.contains("metrics") && result["metrics"].contains(metric)))
        throw std::runtime_error("has no metric '" + metric + "', which " + key + R"( names; expected "metrics": {")" +
                                 metric + R"(": NUMBER}; null: it has no value)");
    return evaluation;
  }

  // Reads the costs of the draws; the cost is their mean, with its standard error.
  void add_costs(const json& result, Evaluation& evaluation) const {
    if (paired_ == 1) throw std::runtime_error("has costs; give their number, command.paired");
    for (const char* other : {"cost", "cost_stderr", "gradient"})
      if (result.contains(other))
        throw std::runtime_error(std::string("has costs and ") + other + "; the cost is the mean of costs");
    const json& costs = result["costs"];
    if (!costs.is_array() || std::ssize(costs) != paired_)
      throw std::runtime_error("costs is " + shown(costs.dump()) +
                               "; expected a list of command.paired = " + std::to_string(paired_) + " numbers");
    Eigen::VectorXd all(paired_);
    for (int i = 0; i < paired_; ++i) {
      if (!costs[i].is_number())
        throw std::runtime_error("costs has " + shown(costs[i].dump()) + "; expected a number");
      all(i) = costs[i].get<double>();
    }
    evaluation.cost = all.mean();
    evaluation.cost_stderr = std::sqrt((all.array() - all.mean()).square().sum() / (paired_ - 1) / paired_);
    evaluation.paired_costs = all;
  }

  // Reads one number for each free variable, and no others.
  Eigen::VectorXd gradient_in(const json& slopes, const auto& number) const {
    const auto names = names_of(settings_.variables);
    for (const auto& [name, value] : slopes.items())
      if (std::ranges::find(names, name) == names.end())
        throw std::runtime_error("gradient names '" + shown(name) + "'" + did_you_mean(name, names) +
                                 "; free variables: " + listed(names));
    Eigen::VectorXd gradient(names.size());
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (!slopes.contains(names[i])) throw std::runtime_error("gradient has no " + names[i]);
      gradient(i) = number("gradient of " + names[i], slopes[names[i]]);
    }
    return gradient;
  }

  static constexpr std::uintmax_t most_bytes = 16 << 20;
  static constexpr const char* one_line_each = "; a server writes one line for each line that it reads";

  Settings settings_;
  std::vector<std::string> metrics_;
  std::map<std::string, std::string> needed_;  // metrics that each answer with a cost has, and the key that names them
  std::set<std::string> whole_;                // names of the design variables that are whole numbers
  std::optional<WorkingDirectories> directories_;
  fs::path study_;               // folder of the configuration
  std::string line_;             // value of command.run or command.serve
  NamedFiles files_;             // files that the line names
  std::string name_;             // suffix of the id in the name of a directory
  bool own_folder_;              // whether the folder of the working directories was made for this study
  int workers_ = 1, ranks_ = 1;  // concurrent evaluations; processors of an evaluation
  int paired_ = 1;               // number of costs of an evaluation; 1: not paired
  std::string launcher_;
  std::shared_ptr<Processors> processors_;  // null: programs are started without a launcher
  std::string mismatch_;                    // error of the first setting that this machine cannot satisfy; empty: none
  mutable std::mutex mutex_;                // protects servers_
  mutable std::vector<ServerInstance> servers_;  // idle servers
  mutable int servers_started_ = 0;
};

}  // namespace

EvaluatorKind command_kind() {
  EvaluatorKind kind;
  kind.name = "command";
  kind.description =
      "runs any program; it reads the design from a JSON file or the environment, and writes the cost to a JSON file";
  // the design variables are the names in the user's [design]
  kind.variables = [](const Settings& settings) {
    std::vector<DesignVariable> variables;
    for (const auto& name : settings.given_variables)
      if (!name.empty() &&
          std::ranges::all_of(name, [](unsigned char c) { return std::isalnum(c) || c == '-' || c == '_'; }))
        variables.push_back({.name = name,
                             .unit = "",
                             .description = "variable of the program, without a meaning to dodyn",
                             .default_value = 0,
                             .minimum = -1e308,
                             .maximum = 1e308,
                             .has_unit_key = true});
    return variables;
  };
  kind.keys = {
      {.name = "command.run",
       .type = Type::text,
       .description = "shell command that evaluates a design, in a directory of its own; it reads $DODYN_DESIGN_FILE "
                      "or DODYN_<NAME>, and writes $DODYN_RESULT_FILE; $DODYN_STUDY is the configuration's directory"},
      {.name = "command.serve",
       .type = Type::text,
       .description = "shell command of a server, instead of command.run; it answers each line of its standard input "
                      "(a design as JSON) with a line of JSON on its standard output"},
      {.name = "command.metrics",
       .type = Type::text,
       .description = "names of the metrics that the program reports; separated by commas"},
      {.name = "command.paired",
       .type = Type::integer,
       .default_value = "1",
       .description =
           "number of costs that the program writes, of random draws that all designs share; the cost of the "
           "design is their mean; DODYN_SEED is 0, and 1, 2, ... for further draws; 1: one cost, not paired",
       .minimum = 1},
      {.name = "command.ranks",
       .type = Type::integer,
       .default_value = "1",
       .description = "number of processors per evaluation, for a parallel program; $DODYN_LAUNCH starts that number "
                      "of processes, on processors that no other evaluation uses",
       .minimum = 1,
       .identity = false},
      {.name = "command.launcher",
       .type = Type::choice,
       .default_value = "auto",
       .description = "launcher in $DODYN_LAUNCH; auto: srun within a Slurm job, otherwise mpiexec; none: only "
                      "command.launch-options",
       .choices = {"auto", "srun", "mpiexec", "none"},
       .identity = false},
      {.name = "command.launch-options",
       .type = Type::text,
       .description = "options after the launcher in $DODYN_LAUNCH, such as --mpi=pmix",
       .identity = false},
      {.name = "command.hosts",
       .type = Type::text,
       .description = "processors for command.ranks, such as node1:16,node2:16; empty: those of the Slurm or PBS job, "
                      "otherwise of this machine",
       .identity = false},
      {.name = "command.directory",
       .type = Type::text,
       .description = "folder of the working directories; empty: the archive's name with .work",
       .identity = false},
      {.name = "command.keep",
       .type = Type::choice,
       .default_value = "failed",
       .description = "working directories to keep: those of failed evaluations, all, or none",
       .choices = {"failed", "all", "none"},
       .identity = false}};
  kind.make = make<Command>;
  return kind;
}

}  // namespace dodyn::evaluators
