// One evaluation is one run of `command.run` by /bin/sh in a directory of its own. What the program finds:
//
//   design.json      {"id": 3, "seed": 123, "design": {"x": 0.5, ...}, "time_limit": 60 or null}
//   environment      DODYN_ID, DODYN_SEED, DODYN_TIME_LIMIT (if any), one DODYN_X per design variable x (upper case, -
//   as
//                    _), DODYN_DESIGN_FILE, DODYN_RESULT_FILE, and DODYN_STUDY: where the configuration file lies
// and what it leaves:
//   result.json      {"cost": 1.5}; may have "status", "reason", "cost_stderr", "gradient" and "metrics" (both objects
//   by
//                    name). Without a file, or with an exit code other than 0 and no status, the evaluation has failed.
// Standard output and error go to the files stdout and stderr there; the end of stderr becomes part of the reason.
#include "evaluators/command.hpp"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cctype>
#include <cerrno>
#include <cmath>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <system_error>
#include <thread>

namespace dodyn::evaluators {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

std::atomic<pid_t> running_group = 0;

std::vector<std::string> words_of(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

std::string variable_name(std::string name) {
  for (char& c : name) c = c == '-' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return "DODYN_" + name;
}

// This process's environment without what MPI told it (a program may itself be started by mpirun), and `more`.
std::vector<std::string> environment_with(std::vector<std::string> more) {
  for (char** entry = environ; *entry; ++entry) {
    const std::string text = *entry;
    if (!text.starts_with("OMPI_") && !text.starts_with("PMIX_") && !text.starts_with("PMI_")) more.push_back(text);
  }
  return more;
}

// The last line of the file that says something, shortened.
std::string last_line(const fs::path& file) {
  std::ifstream stream(file);
  stream.seekg(0, std::ios::end);
  const auto size = static_cast<std::streamoff>(stream.tellg());
  stream.seekg(std::max<std::streamoff>(0, size - 4096));
  std::string last;
  for (std::string line; std::getline(stream, line);)
    if (line.find_first_not_of(" \t\r") != std::string::npos) last = line;
  return last.size() > 160 ? "..." + last.substr(last.size() - 157) : last;
}

// How a program ended.
struct End {
  int status = 0;        // of waitpid
  bool stopped = false;  // by us, at its time limit
  std::string text() const {
    if (stopped) return "stopped at its time limit";
    if (WIFSIGNALED(status))
      return "killed by signal " + std::to_string(WTERMSIG(status)) + " (" + strsignal(WTERMSIG(status)) + ")";
    return "exit code " + std::to_string(WEXITSTATUS(status));
  }
  bool good() const { return !stopped && WIFEXITED(status) && WEXITSTATUS(status) == 0; }
  double code() const { return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status); }
};

// Runs `line` in `directory` as a process group of its own. At the time limit the group gets SIGTERM, to write its best
// so far, and `grace` seconds later SIGKILL; where the run ends, SIGKILL.
End run_program(const std::string& line, const fs::path& directory, const std::vector<std::string>& environment,
                const Task& task, double grace) {
  std::vector<char*> pointers;
  for (const auto& entry : environment) pointers.push_back(const_cast<char*>(entry.c_str()));
  pointers.push_back(nullptr);
  const std::string out = directory / "stdout", err = directory / "stderr", where = directory;
  const pid_t child = fork();
  if (child < 0) throw std::system_error(errno, std::generic_category(), "fork");
  if (child == 0) {  // nothing here but system calls: other threads may hold locks
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    setpgid(0, 0);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, nullptr);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGUSR1, SIGUSR2}) std::signal(signal, SIG_DFL);
    const int files[] = {open("/dev/null", O_RDONLY), open(out.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0666),
                         open(err.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0666)};
    for (int i = 0; i < 3; ++i)
      if (dup2(files[i], i) < 0) _exit(127);
    close_range(3, ~0U, 0);
    if (chdir(where.c_str()) != 0) _exit(127);
    const char* arguments[] = {"sh", "-c", line.c_str(), nullptr};
    execve("/bin/sh", const_cast<char**>(arguments), pointers.data());
    _exit(127);
  }
  setpgid(child, child);  // whoever comes first
  running_group = child;
  End end;
  std::chrono::steady_clock::time_point kill_at = std::chrono::steady_clock::time_point::max();
  for (auto pause = std::chrono::microseconds(500); waitpid(child, &end.status, WNOHANG) == 0;
       pause = std::min<std::chrono::microseconds>(2 * pause, std::chrono::milliseconds(20))) {
    const auto now = std::chrono::steady_clock::now();
    if (task.stop.stop_requested() || now >= kill_at) {
      kill(-child, SIGKILL);
      end.stopped = true;
    } else if (!end.stopped && task.seconds_left() == 0) {
      kill(-child, SIGTERM);
      end.stopped = true;
      kill_at = now + std::chrono::duration_cast<std::chrono::steady_clock::duration>(
                          std::chrono::duration<double>(std::min(grace, 1e6) / 2));
    }
    std::this_thread::sleep_for(pause);
  }
  running_group = 0;
  kill(-child, SIGKILL);  // what it may have left running
  return end;
}

class Command final : public Evaluator {
 public:
  explicit Command(const Settings& settings)
      : settings_(settings), metrics_(words_of(settings.text("command.metrics"))) {
    if (settings.text("command.run").empty())
      throw settings.error("command.run", "there is no command; give a line of shell that writes $DODYN_RESULT_FILE");
    const std::string archive = settings.text("study.archive");
    directory_ = settings.text("command.directory");
    if (directory_.empty()) directory_ = fs::path(archive).replace_extension(".work");
    directory_ = fs::absolute(directory_);
    for (const auto& setting : settings.all)  // "configs/a.cfg:12" or "command line"
      if (setting.key.name == "command.run")
        study_ = fs::absolute(fs::path(setting.source.substr(0, setting.source.rfind(':')))).parent_path();
  }

  std::vector<Quantity> metrics() const override {
    std::vector<Quantity> all = {{"exit_code", "1", "of the command; 128 + the signal's number where one killed it"}};
    for (const auto& name : metrics_) all.push_back({name, "", "told by the command"});
    return all;
  }
  Channels channels() const override { return {}; }

  Outcome evaluate(const Task& task) const override {
    Outcome outcome{task.evaluation, {}};
    Evaluation& evaluation = outcome.evaluation;
    char name[32];
    std::snprintf(name, sizeof name, "%06lld", static_cast<long long>(evaluation.id));
    const fs::path directory = directory_ / name;
    fs::remove_all(directory);
    fs::create_directories(directory);

    const auto environment = hand_over(task, directory);
    const End end =
        run_program(settings_.text("command.run"), directory, environment, task, settings_.real("study.grace"));
    evaluation.metrics = Eigen::VectorXd::Constant(static_cast<Eigen::Index>(metrics_.size()) + 1, not_a_number);
    evaluation.metrics(0) = end.code();
    evaluation.status = end.stopped ? Status::timed_out : Status::failed;
    try {
      if (fs::exists(directory / "result.json")) {
        read_back(directory / "result.json", end, evaluation);
      } else {
        evaluation.reason = end.text() + (end.stopped ? "" : ", and no result.json");
      }
    } catch (const std::exception& error) {
      evaluation.status = Status::failed;
      evaluation.reason = end.text() + ", result.json: " + error.what();
    }
    if (!evaluation.ok() || !evaluation.reason.empty()) {
      if (const std::string line = last_line(directory / "stderr"); !line.empty() && !evaluation.ok())
        evaluation.reason += "; stderr: " + line;
    }
    std::replace(evaluation.reason.begin(), evaluation.reason.end(), '\n', ' ');
    const std::string keep = settings_.text("command.keep");
    if (keep == "none" || (keep == "failed" && evaluation.ok())) fs::remove_all(directory);
    return outcome;
  }

  std::string report(const Outcome& outcome) const override {
    const double code = outcome.evaluation.metrics.size() > 0 ? outcome.evaluation.metrics(0) : not_a_number;
    return "command              " + settings_.text("command.run") + "\nexit code            " + to_text(code) +
           "\nworking directories  " + directory_.string() + "\n";
  }

 private:
  // Writes design.json; returns the environment.
  std::vector<std::string> hand_over(const Task& task, const fs::path& directory) const {
    const Evaluation& evaluation = task.evaluation;
    json design = json::object();
    std::vector<std::string> more = {
        "DODYN_ID=" + std::to_string(evaluation.id), "DODYN_SEED=" + std::to_string(evaluation.seed),
        "DODYN_DESIGN_FILE=" + (directory / "design.json").string(),
        "DODYN_RESULT_FILE=" + (directory / "result.json").string(), "DODYN_STUDY=" + study_.string()};
    const auto give = [&](const std::string& name, double value) {
      design[name] = value;
      more.push_back(variable_name(name) + "=" + to_text(value));
    };
    for (std::size_t i = 0; i < settings_.variables.size(); ++i)
      give(settings_.variables[i].name, evaluation.design(static_cast<Eigen::Index>(i)));
    for (const auto& setting : settings_.all)
      if (setting.key.name.starts_with("design.") && !setting.key.name.ends_with(".min") &&
          !setting.key.name.ends_with(".max"))
        give(setting.key.name.substr(7), settings_.real(setting.key.name));
    json text = {{"id", evaluation.id}, {"seed", evaluation.seed}, {"design", design}, {"time_limit", nullptr}};
    if (std::isfinite(task.time_limit)) {
      text["time_limit"] = task.time_limit;
      more.push_back("DODYN_TIME_LIMIT=" + to_text(task.time_limit));
    }
    std::ofstream(directory / "design.json") << text.dump(2) << "\n";
    return environment_with(std::move(more));
  }

  void read_back(const fs::path& file, const End& end, Evaluation& evaluation) const {
    std::ifstream stream(file);
    const json result = json::parse(stream);
    if (!result.is_object()) throw std::runtime_error("is not an object");
    for (const auto& [key, value] : result.items())
      if (key != "status" && key != "reason" && key != "cost" && key != "cost_stderr" && key != "gradient" &&
          key != "metrics")
        throw std::runtime_error("unknown key '" + key + "'" +
                                 did_you_mean(key, {"status", "reason", "cost", "cost_stderr", "gradient", "metrics"}));
    const auto number = [](const json& value) { return value.is_null() ? not_a_number : value.get<double>(); };
    if (result.contains("cost")) evaluation.cost = number(result["cost"]);
    if (result.contains("cost_stderr")) evaluation.cost_stderr = number(result["cost_stderr"]);
    if (result.contains("reason")) evaluation.reason = result["reason"].get<std::string>();
    if (result.contains("metrics"))
      for (const auto& [name, value] : result["metrics"].items()) {
        const auto at = std::find(metrics_.begin(), metrics_.end(), name);
        if (at == metrics_.end())
          throw std::runtime_error("metric '" + name + "' is not listed in command.metrics" +
                                   did_you_mean(name, metrics_));
        evaluation.metrics(at - metrics_.begin() + 1) = number(value);
      }
    if (result.contains("gradient")) {
      evaluation.gradient.resize(evaluation.design.size());
      for (std::size_t i = 0; i < settings_.variables.size(); ++i)
        evaluation.gradient(static_cast<Eigen::Index>(i)) = number(result["gradient"].at(settings_.variables[i].name));
    }
    if (end.stopped) {
      evaluation.reason = end.text() + (evaluation.reason.empty() ? "" : ": " + evaluation.reason);
    } else if (result.contains("status")) {
      const auto word = result["status"].get<std::string>();
      const auto* status = std::find_if(std::begin(all_statuses), std::end(all_statuses),
                                        [&](Status each) { return to_string(each) == word; });
      if (status == std::end(all_statuses)) throw std::runtime_error("unknown status '" + word + "'");
      evaluation.status = *status;
      if (!evaluation.ok() && evaluation.reason.empty()) evaluation.reason = "says the command";
    } else if (!end.good()) {
      evaluation.reason = end.text() + (evaluation.reason.empty() ? "" : ": " + evaluation.reason);
    } else if (result.contains("cost")) {
      evaluation.status = Status::ok;
    } else {
      throw std::runtime_error("has neither a cost nor a status");
    }
  }

  Settings settings_;
  std::vector<std::string> metrics_;
  fs::path directory_, study_;
};

}  // namespace

void kill_command() {
  if (const pid_t group = running_group; group > 0) kill(-group, SIGKILL);
}

EvaluatorKind command_kind() {
  EvaluatorKind kind;
  kind.name = "command";
  kind.description = "any program: design in by JSON file and environment, cost out by JSON file";
  // whatever the user names
  kind.variables = [](const Settings& settings) {
    std::vector<DesignVariable> variables;
    for (const auto& name : settings.given_variables)
      if (!name.empty() && std::all_of(name.begin(), name.end(),
                                       [](unsigned char c) { return std::isalnum(c) || c == '-' || c == '_'; }))
        variables.push_back({name, "", "of the command", 0, -1e308, 1e308});
    return variables;
  };
  kind.keys = {
      {.name = "command.run",
       .type = Type::text,
       .description = "line of shell, run in a directory of its own; reads $DODYN_DESIGN_FILE or DODYN_<NAME>, "
                      "writes $DODYN_RESULT_FILE; $DODYN_STUDY is the configuration's directory"},
      {.name = "command.metrics", .type = Type::text, .description = "names of the metrics it tells, by spaces"},
      {.name = "command.directory",
       .type = Type::text,
       .description = "where the working directories are made; by default the archive's name with .work",
       .identity = false},
      {.name = "command.keep",
       .type = Type::choice,
       .default_value = "failed",
       .description = "which working directories to keep",
       .choices = {"failed", "all", "none"},
       .identity = false}};
  kind.make = [](const Settings& settings) -> std::unique_ptr<Evaluator> {
    return std::make_unique<Command>(settings);
  };
  return kind;
}

}  // namespace dodyn::evaluators
