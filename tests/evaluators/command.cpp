// One evaluation by a program: its input and the use of its answer. No process or file of the program may remain.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <set>
#include <sstream>
#include <thread>

#include "evaluators/error_stream.hpp"
#include "evaluators/evaluator.hpp"
#include "evaluators/named_files.hpp"
#include "farm/perform.hpp"
#include "record/machine.hpp"
#include "tests/directory.hpp"
#include "tests/message_of.hpp"

namespace dodyn::evaluators::test_command {
namespace {

using Clock = std::chrono::steady_clock;

class CommandTest : public ::testing::Test {
 protected:
  std::unique_ptr<Evaluator> evaluator_of(const std::string& line, std::vector<std::string> words = {},
                                          const std::string& archive = "c.h5", const std::string& more = "") const {
    std::ofstream(directory + "/c.cfg")
        << "[study]\nevaluator = command\ngrace-period = 4\n[command]\nmetrics = mass, drag\n"
        << "run = " << line << "\n[design]\nx.min = 0\nx.max = 1\nlong-name = 7\n"
        << more;
    words.push_back("--study.archive=" + directory + "/" + archive);
    return make_evaluator(read_settings(directory + "/c.cfg", words));
  }
  Outcome evaluate(const std::string& line, std::vector<std::string> words = {}, double time_limit = 60,
                   const std::string& archive = "c.h5") const {
    return evaluate(*evaluator_of(line, std::move(words), archive), time_limit);
  }
  static Outcome evaluate(const Evaluator& evaluator, double time_limit = 60) {
    Task task;
    task.evaluation.id = 3;
    task.evaluation.seed = 12345678901234567890u;
    task.evaluation.design = Eigen::VectorXd::Constant(1, 0.1);
    task.time_limit = time_limit;
    return farm::perform([&](const Task& now) { return evaluator.evaluate(now); }, task, 0);
  }
  // Runs `test` in a child process of a user without permission to write everywhere. True if this user has none
  // already.
  bool as_nobody(const std::function<bool()>& test) const {
    if (geteuid() != 0) return test();
    std::filesystem::permissions(directory, std::filesystem::perms::all);
    const pid_t child = fork();
    if (child == 0) _exit(setgid(65534) == 0 && setuid(65534) == 0 && test() ? 0 : 1);
    int status = -1;
    waitpid(child, &status, 0);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
  }
  Outcome answers(const std::string& json) const {
    std::ofstream(directory + "/answer") << json;
    return evaluate("cp " + directory + "/answer $DODYN_RESULT_FILE");
  }
  std::string text(const std::string& file) const {
    std::ostringstream all;
    all << std::ifstream(directory + "/" + file).rdbuf();
    return all.str();
  }
  // Returns the id of the process that writes it to a file; waits for the file.
  pid_t process(const std::string& file) const {
    int pid = 0;
    for (int i = 0; i < 6000 && !(std::ifstream(directory + "/" + file) >> pid); ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    return pid;
  }
  static bool gone(pid_t pid) { return kill(pid, 0) != 0; }
  // Evaluates with a time limit that increases until it suffices for the process to write this file.
  template <class Run>
  auto limited_after(const std::string& file, Run&& run) const {
    for (double limit = 0.3;; limit *= 2) {
      std::filesystem::remove(directory + "/" + file);
      auto result = run(limit);
      if (std::filesystem::exists(directory + "/" + file) || limit > 50) return result;
    }
  }

  const Directory own;
  const std::string directory = own.path.string();
};

#define EXPECT_HAS(text, part) EXPECT_NE((text).find(part), std::string::npos) << (text)

TEST_F(CommandTest, TellsTheDesignAndReadsTheAnswer) {
  const Outcome outcome = evaluate(
      "env | grep ^DODYN_ | sort > " + directory + "/told; cp design.json " + directory +
      R"(; printf '{"cost": %s5, "cost_stderr": 0.25, "gradient": {"x": -2}, "metrics": {"drag": 4}}' $DODYN_X > $DODYN_RESULT_FILE)");
  const Evaluation& e = outcome.evaluation;
  EXPECT_EQ(e.status, Status::ok) << e.reason;
  EXPECT_EQ(e.cost, 0.15);
  EXPECT_EQ(e.cost_stderr, 0.25);
  ASSERT_EQ(e.gradient.size(), 1);
  EXPECT_EQ(e.gradient(0), -2);
  ASSERT_EQ(e.metrics.size(), 3);
  EXPECT_EQ(e.metrics(0), 0);
  EXPECT_TRUE(std::isnan(e.metrics(1)));
  EXPECT_EQ(e.metrics(2), 4);
  const std::string told = text("told");
  for (const std::string entry : {"DODYN_ID=3\n", "DODYN_SEED=12345678901234567890\n", "DODYN_X=0.1\n",
                                  "DODYN_LONG_NAME=7\n", "DODYN_TIME_LIMIT=60\n"})
    EXPECT_HAS(told, entry);
  EXPECT_HAS(told, "DODYN_STUDY=" + directory + "\n");
  EXPECT_HAS(text("design.json"), "\"seed\": 12345678901234567890");
  EXPECT_FALSE(std::filesystem::exists(directory + "/c.work"));  // it was empty
}

// Two names that map to one environment variable would give it the value of the other.
TEST_F(CommandTest, NamesInTheEnvironmentAreDistinct) {
  const auto complaint = [&](const std::string& more, std::vector<std::string> words = {}) {
    return message_of<ConfigError>([&] { evaluator_of("true", std::move(words), "c.h5", more); });
  };
  EXPECT_EQ(complaint("y = 2\n"), "");
  EXPECT_NE(complaint("X = 2\n").find("is DODYN_X in the environment"), std::string::npos) << complaint("X = 2\n");
  for (const char* more : {"study = 2\n", "id = 2\n", "result-file = 2\n", "long_name = 2\n"})
    EXPECT_NE(complaint(more).find("choose another name"), std::string::npos) << more;
  for (const char* metrics : {"a, b, a", "a, cost", "x"})
    EXPECT_NE(complaint("", {std::string("--command.metrics=") + metrics}).find("has the name of"), std::string::npos)
        << metrics;
}

// A blank in a name would make two metrics of one.
TEST_F(CommandTest, NamesOfMetricsHaveNoBlanks) {
  const auto complaint = [&](const std::string& metrics) {
    return message_of<ConfigError>([&] { evaluator_of("true", {"--command.metrics=" + metrics}); });
  };
  EXPECT_EQ(complaint("a,b , c"), "");
  EXPECT_HAS(complaint("a b, c"), "'a b' has a blank; separate names by commas, or write _ in a name");
  EXPECT_HAS(complaint("a,, b"), "has an empty name; remove a comma");
}

// Many programs refuse 4.0 where they need a number of parts.
TEST_F(CommandTest, WholeNumbersComeWithoutAPoint) {
  const auto evaluator = evaluator_of("cp design.json " + directory + "; echo '{\"cost\": 1}' > $DODYN_RESULT_FILE", {},
                                      "c.h5", "n.min = 1\nn.max = 9\n[surrogate]\nintegers = n\n");
  Task task;
  task.evaluation.design = Eigen::Vector2d(4, 0);  // n, x
  EXPECT_TRUE(evaluator->evaluate(task).evaluation.ok());
  EXPECT_HAS(text("design.json"), "\"n\": 4,");
  EXPECT_HAS(text("design.json"), "\"x\": 0.0");
}

TEST_F(CommandTest, NumbersComeInTheUnitThatIsAskedFor) {
  const auto with = [&](const std::string& more) {
    return evaluate(*evaluator_of("env | grep ^DODYN_ | sort > " + directory + "/told; cp design.json " + directory +
                                      "; echo '{\"cost\": 1}' > $DODYN_RESULT_FILE",
                                  {}, "c.h5", more))
        .evaluation;
  };
  EXPECT_EQ(with("tilt = 0.5 rad\ntilt.unit = deg\nspeed = 36 km/h\nspeed.unit = m/s\n").status, Status::ok);
  for (const std::string entry :
       {"DODYN_TILT=28.6478897565", "DODYN_TILT_UNIT=deg\n", "DODYN_SPEED=10\n", "DODYN_X=0.1\n"})
    EXPECT_HAS(text("told"), entry);
  EXPECT_HAS(text("design.json"), "\"tilt\": \"deg\"");
  const auto complaint = [&](const std::string& more) {
    return message_of<ConfigError>([&] { with(more); }, "accepted");
  };
  EXPECT_HAS(complaint("tilt = 20 deg\n"), "add design.tilt.unit = deg");
  EXPECT_HAS(complaint("tilt = 20 deg\ntilt.unit = furlongs\n"), "design.tilt.unit = furlongs is not a unit");
  EXPECT_HAS(complaint("tilt = 20 m\ntilt.unit = deg\n"), "has the unit m; expected an angle (rad, deg)");
}

TEST_F(CommandTest, AFailureSaysWhatTheProgramSaidLast) {
  const Evaluation e = evaluate("echo first >&2; echo no mesh >&2; exit 3").evaluation;
  EXPECT_EQ(e.status, Status::failed);
  EXPECT_EQ(e.reason, "exit code 3, and no result.json; stderr: no mesh");
  EXPECT_EQ(e.metrics(0), 3);
  EXPECT_EQ(text("c.work/000003/stderr"), "first\nno mesh\n");  // kept, to look at
  EXPECT_EQ(evaluate("echo no slots >&2; echo ------- >&2; exit 1").evaluation.reason,
            "exit code 1, and no result.json; stderr: no slots");  // mpirun surrounds its messages with such lines
  EXPECT_EQ(evaluate("true").evaluation.status, Status::failed);
  EXPECT_EQ(evaluate("kill -SEGV $$").evaluation.reason,
            "killed by signal 11 (Segmentation fault), and no result.json");
  EXPECT_EQ(evaluate("kill -SEGV $$").evaluation.status, Status::failed);
}

// Costs of draws that all designs share: the cost is their mean, and a study reads each of them from the trajectory.
TEST_F(CommandTest, PairedCosts) {
  const auto answer = [&](const std::string& json, const std::string& number) {
    std::ofstream(directory + "/answer") << json;
    return evaluate("echo $DODYN_SEED > " + directory + "/seed; cp " + directory + "/answer $DODYN_RESULT_FILE",
                    {"--command.paired=" + number});
  };
  const Outcome outcome = answer(R"({"costs": [1, 2, 6], "metrics": {"mass": 2}})", "3");
  const Evaluation& e = outcome.evaluation;
  EXPECT_EQ(e.status, Status::ok) << e.reason;
  EXPECT_EQ(e.cost, 3);
  EXPECT_DOUBLE_EQ(e.cost_stderr, std::sqrt((4 + 1 + 9) / 2.0 / 3));
  EXPECT_EQ(e.metrics(1), 2);
  const auto evaluator = evaluator_of("true", {"--command.paired=3"});
  EXPECT_EQ(evaluator->pairing(), Pairing::extensible);
  EXPECT_EQ(costs_of_states(evaluator->channels(), outcome.trajectory), Eigen::Vector3d(1, 2, 6));
  EXPECT_EQ(text("seed"), "0\n");  // the first set of draws for strategies without such numbers
  EXPECT_EQ(evaluator_of("true")->pairing(), Pairing::none);
  EXPECT_TRUE(evaluator_of("true")->channels().empty());
  EXPECT_EQ(answer(R"({"costs": [1, 2, 6], "status": "infeasible", "reason": "no"})", "3").evaluation.status,
            Status::infeasible);
  const std::string prefix = "exit code 0, result.json: ";
  const auto refusal = [&](const std::string& json, const std::string& number) {
    return answer(json, number).evaluation.reason;
  };
  EXPECT_EQ(refusal(R"({"cost": 3})", "3"), prefix + "has no costs; with command.paired it has 3 of them");
  EXPECT_EQ(refusal(R"({"costs": [1, 2]})", "3"),
            prefix + "costs is [1,2]; expected a list of command.paired = 3 numbers");
  EXPECT_EQ(refusal(R"({"costs": [1, null, 2]})", "3"), prefix + "costs has null; expected a number");
  EXPECT_EQ(refusal(R"({"costs": [1, 2, 3], "cost": 2})", "3"),
            prefix + "has costs and cost; the cost is the mean of costs");
  EXPECT_EQ(refusal(R"({"costs": [1, 2, 3]})", "1"), prefix + "has costs; give their number, command.paired");
}

TEST_F(CommandTest, AnswersThatAreNoneAreRefused) {
  const std::string prefix = "exit code 0, result.json: ";
  EXPECT_EQ(answers("{}").evaluation.reason, prefix + "has neither a cost nor a status");
  EXPECT_EQ(answers("[1]").evaluation.reason, prefix + "is not an object");
  EXPECT_EQ(answers(R"({"cots": 1})").evaluation.reason, prefix + "unknown key 'cots' (did you mean 'cost'?)");
  EXPECT_EQ(answers(R"({"cost": 1)").evaluation.reason, prefix + "is not JSON (character 11)");
  EXPECT_EQ(answers(R"({"cost": NaN})").evaluation.reason,
            prefix + "is not JSON (character 10): it has no NaN and no Infinity; allowed: null");
  EXPECT_EQ(answers(R"({"cost": 1e999})").evaluation.reason, prefix + "has a number beyond 1.8e308; allowed: null");
  EXPECT_EQ(answers(R"({"cost": null})").evaluation.reason, "the cost is not a finite number");
  EXPECT_EQ(answers(R"({"cost": 1, "cost_stderr": -5})").evaluation.reason,
            "the standard error of the cost is -5; allowed: >= 0");
  EXPECT_EQ(answers(R"({"cost": null, "cost_stderr": null, "status": "infeasible"})").evaluation.status,
            Status::infeasible);
  EXPECT_HAS(answers(std::string(2000000, '[')).evaluation.reason, "is nested deeper than 8 levels");
  for (const std::string line : {"mkfifo $DODYN_RESULT_FILE", "ln -s /dev/zero $DODYN_RESULT_FILE"})
    EXPECT_EQ(evaluate(line).evaluation.reason, prefix + "is not a regular file");
  EXPECT_HAS(evaluate("truncate -s 5G $DODYN_RESULT_FILE").evaluation.reason, "has 5368709120 bytes; allowed: ");
}

// An answer that cannot be read leaves nothing in the row, neither parts of itself nor uninitialised memory.
TEST_F(CommandTest, AHalfReadAnswerIsNone) {
  const std::vector<std::pair<std::string, std::string>> wrong = {
      {R"({"cost": 1, "gradient": {"y": 2}})", "gradient names 'y' (did you mean 'x'?); free variables: x"},
      {R"({"cost": 1, "gradient": {}})", "gradient has no x"},
      {R"({"cost": 1, "gradient": null})", "gradient is null; expected an object of numbers by name"},
      {R"({"cost": 1, "gradient": [1]})", "gradient is [1]; expected an object of numbers by name"},
      {R"({"cost": 1, "gradient": {"x": "2"}})", "gradient of x is \"2\"; expected a number or null"},
      {R"({"cost": 1, "cost_stderr": 2, "metrics": {"mass": 3, "speed": 4}})",
       "metric 'speed' is not listed in command.metrics"},
      {R"({"cost": 1, "metrics": 3})", "metrics is 3; expected an object of numbers by name"},
      {R"({"cost": "1"})", "cost is \"1\"; expected a number or null"},
      {R"({"cost": 1, "status": 7})", "status is 7; expected text in quotes"},
      {R"({"cost": 1, "status": "okay"})", "unknown status 'okay'; allowed: ok, infeasible, not_converged, failed"},
      {R"({"status": "lost"})", "unknown status 'lost'; allowed: ok, infeasible, not_converged, failed"},
      {R"({"status": "timed_out"})", "unknown status 'timed_out'; allowed: ok, infeasible, not_converged, failed"},
      {R"({"cost": 1, "cost_stderr": null})",
       "cost_stderr is null; expected a number; leave it out if the cost has no error"},
      {R"({"cost": 1, "cost": 2})", "has the key \"cost\" twice"},
      {R"({"cost": 1, "metrics": {"mass": 3, "drag": 4, "mass": 3}})", "has the key \"mass\" twice"},
      {R"({"cost": 1, "id": 4})", "id is 4; this evaluation is 3"}};
  for (const auto& [text, complaint] : wrong) {
    const Evaluation e = answers(text).evaluation;
    EXPECT_EQ(e.status, Status::failed) << text;
    EXPECT_EQ(e.reason, "exit code 0, result.json: " + complaint) << text;
    EXPECT_TRUE(std::isnan(e.cost)) << text;
    EXPECT_EQ(e.cost_stderr, 0) << text;
    EXPECT_EQ(e.gradient.size(), 0) << text;
    ASSERT_EQ(e.metrics.size(), 3) << text;
    EXPECT_TRUE(std::isnan(e.metrics(1)) && std::isnan(e.metrics(2))) << text;
  }
  EXPECT_TRUE(answers(R"({"id": 3, "gradient": {"x": 1}, "metrics": {"mass": 1}, "cost": 1})").evaluation.ok());
  const Evaluation unknown = answers(R"({"cost": 1, "gradient": {"x": null}})").evaluation;
  EXPECT_TRUE(unknown.ok() && unknown.gradient.size() == 1 && std::isnan(unknown.gradient(0)));
}

// Without the metric no design could satisfy the constraint, and the search would not learn why.
TEST_F(CommandTest, AMetricOfTheSearchThatIsNotWrittenIsNamed) {
  const auto answer = [&](const std::string& json, const std::string& more) {
    std::ofstream(directory + "/answer") << json;
    return evaluate(*evaluator_of("cp " + directory + "/answer $DODYN_RESULT_FILE", {}, "c.h5", more)).evaluation;
  };
  const std::string limit = "[surrogate]\nconstraints = 0.1<=mass<=3\n";
  const Evaluation missing = answer(R"({"cost": 1, "metrics": {"drag": 2}})", limit);
  EXPECT_EQ(missing.status, Status::failed);
  EXPECT_EQ(missing.reason,
            "exit code 0, result.json: has no metric 'mass', which surrogate.constraints names; "
            "expected \"metrics\": {\"mass\": NUMBER}; null: it has no value");
  // A limit is a number, whatever the metrics' names.
  EXPECT_TRUE(evaluate(*evaluator_of("echo '{\"cost\": 1, \"metrics\": {\"mass\": 2}}' > $DODYN_RESULT_FILE",
                                     {"--command.metrics=mass, 3"}, "c.h5", limit))
                  .evaluation.ok());
  EXPECT_HAS(answer(R"({"cost": 1})", "[surrogate]\nobjectives = cost, drag\n").reason,
             "has no metric 'drag', which surrogate.objectives names");
  const std::string of_scenarios = "[surrogate]\nconstraints = slow:mass <= 3\n[scenario slow]\n[scenario fast]\n";
  EXPECT_HAS(answer(R"({"cost": 1})", of_scenarios).reason, "has no metric 'mass', which surrogate.constraints names");
  for (const char* right : {R"({"cost": 1, "metrics": {"mass": 2}})", R"({"cost": 1, "metrics": {"mass": null}})"})
    EXPECT_TRUE(answer(right, limit).ok()) << right;
  EXPECT_EQ(answer(R"({"status": "infeasible"})", limit).status, Status::infeasible);
}

// If a program cannot be started, the design is not at fault.
TEST_F(CommandTest, WhatCannotBeStartedIsTheMachinesTrouble) {
  std::ofstream(directory + "/cost.sh") << "not to be executed\n";
  for (const auto& [line, trouble] : std::vector<std::pair<std::string, std::string>>{
           {"./nowhere.sh", "machine: ./nowhere.sh: not found (exit code 127)"},
           {"./cost.sh", "machine: ./cost.sh: not found (exit code 127); write $DODYN_STUDY/cost.sh"},
           {"$DODYN_STUDY/cost.sh", "machine: " + directory + "/cost.sh: Permission denied (exit code 126)"},
           {"echo no licence >&2; exit 127", "machine: no licence (exit code 127)"}}) {
    const Outcome outcome = evaluate(line);
    EXPECT_EQ(outcome.evaluation.status, Status::lost) << line;
    EXPECT_EQ(outcome.evaluation.reason, trouble);
    EXPECT_TRUE(is_machine_trouble(outcome.evaluation));
    EXPECT_FALSE(outcome.killed);
  }
  for (const std::string keep : {"none", "failed"}) {
    std::filesystem::remove_all(directory + "/c.work");
    evaluate("./nowhere.sh", {"--command.keep=" + keep});
    EXPECT_EQ(std::filesystem::exists(directory + "/c.work/000003"), keep == "failed") << keep;
  }
  // a program that answers has been started, whatever its exit code
  const Evaluation told = evaluate(R"(echo '{"status": "infeasible"}' > $DODYN_RESULT_FILE; exit 127)").evaluation;
  EXPECT_EQ(told.status, Status::infeasible);
}

TEST_F(CommandTest, WantOfHandlesAndRoomIsTheMachinesTrouble) {
  const auto evaluator = evaluator_of(R"(echo '{"cost": 1}' > $DODYN_RESULT_FILE)");
  ASSERT_TRUE(evaluate(*evaluator).evaluation.ok());
  std::vector<int> held;  // raises the limit below, so that the program's shell has enough handles under it
  for (int i = 0; i < 40; ++i) held.push_back(open("/dev/null", O_RDONLY | O_CLOEXEC));
  rlimit before{};
  getrlimit(RLIMIT_NOFILE, &before);
  const int free_handle = open("/dev/null", O_RDONLY | O_CLOEXEC);
  close(free_handle);
  std::vector<std::string> reasons;
  for (int room = 0; room < 12; ++room) {  // from none to enough
    const rlimit few{static_cast<rlim_t>(free_handle + room), before.rlim_max};
    setrlimit(RLIMIT_NOFILE, &few);
    const Evaluation e = evaluate(*evaluator).evaluation;
    setrlimit(RLIMIT_NOFILE, &before);
    EXPECT_TRUE(e.ok() || is_machine_trouble(e)) << room << ": " << e.reason;
    if (!e.ok()) reasons.push_back(e.reason);
  }
  for (const int handle : held) close(handle);
  EXPECT_FALSE(reasons.empty());
  for (const auto& reason : reasons) EXPECT_HAS(reason, "Too many open files");
  std::ofstream(directory + "/file") << "no folder";
  EXPECT_HAS(evaluate("true", {"--command.directory=" + directory + "/file"}).evaluation.reason, "machine: ");
}

// If a program runs under a launcher, the reason contains the program's message, not the launcher's.
TEST_F(CommandTest, TheReasonIsTheProgramsNotItsLaunchers) {
  const std::string rule(74, '-'), sign(83, '=');
  const auto words = [](const std::string& text) { return summarise_error_stream(text).program; };
  EXPECT_EQ(words("mesh is tangled\n" + rule +
                  "\nPrimary job  terminated normally, but 1 process returned\n"
                  "a non-zero exit code. Per user-direction, the job has been aborted.\n" +
                  rule + "\n" + rule +
                  "\nmpiexec detected that one or more processes exited with non-zero status\n\n  Exit code:    3\n" +
                  rule + "\n"),
            "mesh is tangled");
  EXPECT_EQ(words("mesh is tangled\nsrun: error: node1: task 0: Exited with exit code 3\n"
                  "srun: Terminating StepId=17.0\n"),
            "mesh is tangled");
  EXPECT_EQ(words("mesh is tangled\n" + sign +
                  "\n=   BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES\n"
                  "=   EXIT CODE: 3\n" +
                  sign + "\nYOUR APPLICATION TERMINATED WITH THE EXIT STRING: 3\n"),
            "mesh is tangled");
  EXPECT_EQ(words("no slots\n" + rule + "\n"), "no slots");
  EXPECT_EQ(words(rule + "\nMPI_ABORT was invoked on rank 0\n" + rule + "\ndiverged\n"), "diverged");
  const ErrorStreamSummary root =
      summarise_error_stream(rule +
                             "\nmpiexec has detected an attempt to run as root.\n\nRunning as root is\n"
                             "We reiterate our advice against doing so - please proceed at your own risk.\n" +
                             rule);
  EXPECT_EQ(root.program, "");
  EXPECT_EQ(root.launcher, "mpiexec has detected an attempt to run as root.");
  EXPECT_TRUE(root.cannot_start);
  std::ofstream(directory + "/said") << rule << "\nmpiexec has detected an attempt to run as root.\n\nWe reiterate\n"
                                     << rule;
  EXPECT_EQ(evaluate("cat " + directory + "/said >&2; exit 1").evaluation.reason,
            "machine: mpiexec has detected an attempt to run as root. (exit code 1)");
}

// Files that a program leaves in its directory, read-only or not, cost neither the answer nor the process.
TEST_F(CommandTest, HostsThatAreNoneAreRefusedAtOnce) {
  for (const char* const hosts : {",", "node-1:0", "node-1:many"}) try {
      evaluator_of("true", {"--command.ranks=2", "--command.launcher=none", std::string("--command.hosts=") + hosts});
      ADD_FAILURE() << hosts;
    } catch (const ConfigError& error) {
      EXPECT_HAS(std::string(error.what()), "command.hosts");
    }
}

// Keys of a parallel program are not ignored in silence.
TEST_F(CommandTest, KeysOfALauncherNeedRanks) {
  for (const std::string given : {"hosts=localhost:4", "launcher=none", "launch-options=--mpi=pmix"}) {
    const std::string line = message_of<ConfigError>([&] { evaluator_of("true", {"--command." + given}); });
    EXPECT_HAS(line, "command line: command." + given.substr(0, given.find('=')) + " = ");
    EXPECT_HAS(line, ": has no effect without command.ranks; add command.ranks, or remove it");
  }
  EXPECT_NO_THROW(
      evaluator_of("true", {"--command.ranks=1", "--command.launcher=mpiexec", "--command.hosts=localhost:4"}));
}

TEST_F(CommandTest, AReadOnlyFolderCostsNothing) {
  const std::string leaves = "mkdir -p a/b; touch a/b/c; ln -s " + directory + "/precious link; chmod 500 a/b a; ";
  std::filesystem::create_directory(directory + "/precious");
  std::ofstream(directory + "/precious/kept") << "mine";
  EXPECT_TRUE(as_nobody([&] {
    const Evaluation one = evaluate(leaves + R"(echo '{"cost": 1}' > $DODYN_RESULT_FILE; chmod 000 .)").evaluation;
    const Evaluation failed = evaluate(leaves + "chmod 500 .; exit 3").evaluation;
    const Evaluation again = evaluate(leaves + R"(echo '{"cost": 2}' > $DODYN_RESULT_FILE)").evaluation;
    return one.ok() && failed.status == Status::failed && again.ok() && again.cost == 2;
  }));
  EXPECT_EQ(text("precious/kept"), "mine");
  EXPECT_FALSE(std::filesystem::exists(directory + "/c.work"));
}

// Only directories that were created for this study are deleted.
TEST_F(CommandTest, OthersFilesStay) {
  const std::string folder = directory + "/shared", cost = R"(; echo '{"cost": 1}' > $DODYN_RESULT_FILE)";
  const std::vector<std::string> words = {"--command.directory=" + folder};
  std::filesystem::create_directories(folder + "/000003");
  std::ofstream(folder + "/000003/mine") << "mine";
  EXPECT_TRUE(evaluate("pwd > " + directory + "/where" + cost, words).evaluation.ok());
  EXPECT_EQ(text("where"), folder + "/000003.2\n");
  EXPECT_EQ(text("shared/000003/mine"), "mine");
  EXPECT_FALSE(std::filesystem::exists(folder + "/000003.2"));
  // two studies in one folder, at the same time
  EXPECT_EQ(evaluate("exit 3", words).evaluation.status, Status::failed);  // kept in 000003.2
  EXPECT_TRUE(evaluate("pwd > " + directory + "/where" + cost, words, 60, "other.h5").evaluation.ok());
  EXPECT_EQ(text("where"), folder + "/000003.3\n");
  EXPECT_TRUE(std::filesystem::exists(folder + "/000003.2/stderr"));
  // the same study's own is replaced
  EXPECT_TRUE(evaluate("pwd > " + directory + "/where" + cost, words).evaluation.ok());
  EXPECT_EQ(text("where"), folder + "/000003.2\n");
  EXPECT_EQ(text("shared/000003/mine"), "mine");
}

// A directory of a process that still runs is left to it.
TEST_F(CommandTest, ADirectoryInUseStays) {
  const pid_t child = fork();
  if (child == 0) {
    evaluate("touch " + directory + "/begun; sleep 100");
    _exit(0);
  }
  for (int i = 0; i < 6000 && !std::filesystem::exists(directory + "/begun"); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_TRUE(evaluate("pwd > " + directory + R"(/where; echo '{"cost": 1}' > $DODYN_RESULT_FILE)").evaluation.ok());
  EXPECT_EQ(text("where"), directory + "/c.work/000003.2\n");
  EXPECT_TRUE(std::filesystem::exists(directory + "/c.work/000003/design.json"));
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
}

// Scenarios of one evaluation run at the same time, each in a directory named after evaluation and scenario.
TEST_F(CommandTest, ScenariosHaveDirectoriesOfTheirOwn) {
  const auto evaluator = evaluator_of(R"(echo '{"cost": 1}' > $DODYN_RESULT_FILE)", {"--command.keep=all"}, "c.h5",
                                      "[scenario fast]\nweight = 1\n[scenario slow]\nweight = 3\n");
  for (int part = 0; part < 2; ++part) {
    Task task;
    task.evaluation.id = 3;
    task.evaluation.design = Eigen::VectorXd::Constant(1, 0.1);
    task.part = part;
    EXPECT_TRUE(evaluator->evaluate(task).evaluation.ok());
  }
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(directory + "/c.work"))
    names.insert(entry.path().filename());
  EXPECT_EQ(names, (std::set<std::string>{"000003-fast", "000003-slow"}));
}

// A script that is replaced while a study runs, or between two runs, is noticed.
TEST_F(CommandTest, AChangedScriptIsNoticed) {
  const auto write = [&](const std::string& cost) {
    std::ofstream(directory + "/cost.sh") << "echo '{\"cost\": " << cost << "}' > $DODYN_RESULT_FILE\n";
  };
  write("1");
  const std::string line = "sh \"$DODYN_STUDY/cost.sh\" >> " + directory + "/log";
  std::ofstream(directory + "/log") << "grows";
  const auto evaluator = evaluator_of(line);
  const auto input_files = evaluator->input_files();
  ASSERT_EQ(input_files.size(), 1u);  // not the log
  EXPECT_EQ(input_files[0].key, "command.cost.sh-checksum");
  EXPECT_EQ(evaluate(*evaluator).evaluation.cost, 1);
  std::filesystem::last_write_time(directory + "/cost.sh", std::filesystem::file_time_type::clock::now());
  EXPECT_TRUE(evaluate(*evaluator).evaluation.ok());  // another time, the same text
  write("2");
  const Evaluation changed = evaluate(*evaluator).evaluation;
  EXPECT_TRUE(is_machine_trouble(changed)) << changed.reason;
  EXPECT_HAS(changed.reason, "/cost.sh has changed since the run began");
  EXPECT_TRUE(std::isnan(changed.cost));
  EXPECT_NE(evaluator_of(line)->input_files(), input_files);
  // in the middle of an evaluation
  write("3");
  const auto replaced = evaluator_of("sh $DODYN_STUDY/cost.sh; echo ':' > " + directory + "/cost.sh");
  EXPECT_TRUE(is_machine_trouble(evaluate(*replaced).evaluation));
  std::filesystem::remove(directory + "/cost.sh");
  EXPECT_HAS(evaluate(*evaluator).evaluation.reason, "is gone since the run began");
}

TEST_F(CommandTest, FilesOfALineAreFound) {
  for (const char* name : {"a.sh", "b.py", "in.dat", "out.dat", "mesh.msh"})
    std::ofstream(directory + "/" + name) << name;
  const auto names = [&](const std::string& line) {
    std::string all;
    for (const auto& file : files_in(line, {{"DODYN_STUDY", directory}})) all += file.filename().string() + " ";
    return all;
  };
  EXPECT_EQ(names("sh ${DODYN_STUDY}/a.sh"), "a.sh ");
  EXPECT_EQ(names("cd x && python3 '" + directory + "/b.py' --mesh=$DODYN_STUDY/mesh.msh <$DODYN_STUDY/in.dat | tee " +
                  directory + "/out.dat"),
            "in.dat b.py mesh.msh ");
  EXPECT_EQ(names("cp $DODYN_STUDY/in.dat $DODYN_STUDY/out.dat 2>&1; cat $DODYN_STUDY/mesh.msh >>$DODYN_STUDY/out.dat"),
            "in.dat mesh.msh ");
  EXPECT_EQ(names("./a.sh $DODYN_NOTHING_OF_THE_SORT/a.sh $DODYN_STUDY"), "");
}

// One program that answers many evaluations. If it dies, sends invalid lines or is too slow, another one replaces it.
class ServeTest : public CommandTest {
 protected:
  // Evaluates x = 0.1, 0.2, ... in turn by one evaluator. From the second one on, each begins when the file `awaited`
  // exists. The file `answered` exists after the first one.
  std::vector<Outcome> serve(const std::string& line, int count, double time_limit = 60,
                             const std::string& awaited = "") const {
    std::ofstream(directory + "/server.sh") << line;
    std::ofstream(directory + "/c.cfg") << "[study]\nevaluator = command\ngrace-period = 4\n[command]\nmetrics = mass\n"
                                        << "serve = sh $DODYN_STUDY/server.sh\n[design]\nx.min = 0\nx.max = 1\n";
    const auto evaluator =
        make_evaluator(read_settings(directory + "/c.cfg", {"--study.archive=" + directory + "/c.h5"}));
    std::vector<Outcome> all;
    for (int i = 0; i < count; ++i) {
      Task task;
      task.evaluation.id = i;
      task.evaluation.design = Eigen::VectorXd::Constant(1, 0.1 * (i + 1));
      task.time_limit = time_limit;
      for (int tick = 0; i > 0 && tick < 6000 && !awaited.empty() && !std::filesystem::exists(awaited); ++tick)
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
      all.push_back(farm::perform([&](const Task& now) { return evaluator->evaluate(now); }, task, 0));
      std::ofstream(directory + "/answered") << i;
    }
    return all;
  }
  const std::string answer =
      "id=${line#*\\\"id\\\":}\necho '{\"id\": '${id%%,*}', \"cost\": '$n', \"metrics\": {\"mass\": 2}}'\n";
};

TEST_F(ServeTest, OneProcessAnswersAll) {
  const auto all = serve("echo $$ > " + directory + "/pid\nn=0\nwhile read line; do\nn=$((n+1))\necho \"$line\" >> " +
                             directory + "/asked\n" + answer + "done\n",
                         3);
  for (int i = 0; i < 3; ++i) {
    const Evaluation& e = all[i].evaluation;
    EXPECT_TRUE(e.ok()) << e.reason;
    EXPECT_EQ(e.cost, i + 1);  // it counted: one process for all
    EXPECT_EQ(e.metrics(1), 2);
  }
  EXPECT_NE(text("asked").find("{\"design\":{\"x\":0.2},\"id\":1,\"seed\":0,\"time_limit\":60.0}"), std::string::npos)
      << text("asked");
  EXPECT_TRUE(gone(process("pid")));
  EXPECT_FALSE(std::filesystem::exists(directory + "/c.work"));
}

TEST_F(ServeTest, OneThatDiesIsReplaced) {
  const auto all = serve("read line\nn=7\n" + answer + "echo sorry >&2\nexit 5\n", 3);
  EXPECT_TRUE(all[0].evaluation.ok()) << all[0].evaluation.reason;
  for (const Outcome& one : all) {  // the process had ended before the next line, or ended because of it
    if (one.evaluation.ok()) continue;
    EXPECT_EQ(one.evaluation.status, Status::failed);
    EXPECT_EQ(one.evaluation.reason, "the server ended, exit code 5; stderr: sorry");
    EXPECT_EQ(one.evaluation.metrics(0), 5);
  }
}

TEST_F(ServeTest, ABabblerIsReplaced) {
  const auto all = serve("read line\nif [ -e " + directory + "/again ]; then n=3; " + answer + "else touch " +
                             directory + "/again; echo what?; echo '{\"cost\": 9}'; fi\nread line\n",
                         2);
  EXPECT_EQ(all[0].evaluation.status, Status::failed);
  EXPECT_TRUE(all[0].evaluation.reason.starts_with("its answer what?: ")) << all[0].evaluation.reason;
  EXPECT_TRUE(all[1].evaluation.ok()) << all[1].evaluation.reason;
  EXPECT_EQ(all[1].evaluation.cost, 3);  // not the line that the first one had left over
}

// Two lines for one request: either may be the answer, so that the evaluation fails.
TEST_F(ServeTest, TwoLinesAreNoAnswer) {
  const auto all =
      serve("n=0\nwhile read line; do\nn=$((n+1))\nif [ -e " + directory + "/again ]; then " + answer + "else touch " +
                directory + "/again; printf '{\"id\": 0, \"cost\": 8}\\n{\"cost\": 9}\\n' >two; cat two; fi\ndone\n",
            3);
  EXPECT_EQ(all[0].evaluation.status, Status::failed);
  EXPECT_HAS(all[0].evaluation.reason, "its answer {\"id\": 0, \"cost\": 8}: another line follows");
  for (const std::size_t i : {1u, 2u}) {
    EXPECT_TRUE(all[i].evaluation.ok()) << all[i].evaluation.reason;
    EXPECT_EQ(all[i].evaluation.cost, static_cast<double>(i));  // of another process, which counts from 1
  }
}

// A line that comes after an answer is not the answer to the next request.
TEST_F(ServeTest, ALateLineIsNotTheNextAnswer) {
  const std::string late = directory + "/late";
  const auto all =
      serve("n=0\nwhile read line; do\nn=$((n+1))\n" + answer + "[ -e " + late + " ] || { until [ -e " + directory +
                "/answered ]; do sleep 0.1; done; echo '{\"cost\": 9}'; touch " + late + "; }\ndone\n",
            3, 60, late);
  EXPECT_TRUE(all[0].evaluation.ok()) << all[0].evaluation.reason;
  EXPECT_EQ(all[1].evaluation.status, Status::failed);
  EXPECT_HAS(all[1].evaluation.reason, "a line that answers no request: {\"cost\": 9}");
  EXPECT_TRUE(all[2].evaluation.ok()) << all[2].evaluation.reason;
  EXPECT_EQ(all[2].evaluation.cost, 1);
}

// A line that comes when the next request is open could be the answer to either. Without an id it fails.
TEST_F(ServeTest, AnAnswerWithoutAnIdFails) {
  const auto all = serve(
      "n=0\nwhile read line; do\nn=$((n+1))\n[ $n = 2 ] && echo '{\"cost\": 9}' && sleep 1\n" + answer + "done\n", 3);
  EXPECT_TRUE(all[0].evaluation.ok()) << all[0].evaluation.reason;
  EXPECT_EQ(all[1].evaluation.status, Status::failed);
  EXPECT_HAS(all[1].evaluation.reason,
             "its answer {\"cost\": 9}: has no id; a server repeats that of the line that it "
             "read, here \"id\": 1");
  EXPECT_TRUE(all[2].evaluation.ok()) << all[2].evaluation.reason;
  EXPECT_EQ(all[2].evaluation.cost, 1);  // of another process
}

// With the id of another evaluation an answer fails, and the server is replaced.
TEST_F(ServeTest, TheIdOfAnAnswerIsChecked) {
  const auto all = serve("n=0\nwhile read line; do\necho '{\"id\": '$n', \"cost\": 4}'\nn=2\ndone\n", 3);
  EXPECT_TRUE(all[0].evaluation.ok()) << all[0].evaluation.reason;
  EXPECT_EQ(all[1].evaluation.status, Status::failed);
  EXPECT_HAS(all[1].evaluation.reason, "id is 2; this evaluation is 1");
  EXPECT_HAS(all[2].evaluation.reason, "id is 0; this evaluation is 2");
}

TEST_F(ServeTest, AReadOnlyFolderDoesNotEndTheProcess) {
  EXPECT_TRUE(as_nobody([&] {
    const auto all =
        serve("mkdir a; touch a/b; chmod 500 a\nn=0\nwhile read line; do\nn=$((n+1))\n" + answer + "done\n", 2);
    return all[0].evaluation.ok() && all[1].evaluation.ok();
  }));
  EXPECT_FALSE(std::filesystem::exists(directory + "/c.work"));
}

TEST_F(ServeTest, OneThatIsNotThereIsTheMachinesTrouble) {
  for (const Outcome& one : serve("exec /nowhere/server\n", 2)) {
    EXPECT_TRUE(is_machine_trouble(one.evaluation)) << one.evaluation.reason;
    EXPECT_HAS(one.evaluation.reason, "/nowhere/server: not found (exit code 127)");
  }
  EXPECT_TRUE(std::filesystem::exists(directory + "/c.work"));  // command.keep = failed
}

TEST_F(ServeTest, ASlowOneIsStoppedWithAllThatItStarted) {
  const auto all = limited_after("pid", [&](double limit) {
    return serve("sleep 1000 &\necho $! > " + directory + "/p\nmv " + directory + "/p " + directory +
                     "/pid\nread line\nsleep 1000\n",
                 1, limit);
  });
  EXPECT_EQ(all[0].evaluation.status, Status::timed_out);
  EXPECT_TRUE(gone(process("pid")));
}

// A reason is one line of valid UTF-8 text, wherever it was cut.
TEST_F(CommandTest, ReasonsAreText) {
  EXPECT_EQ(evaluate(R"(printf 'a\033[2J\tb\377c\n' >&2; exit 1)").evaluation.reason,
            "exit code 1, and no result.json; stderr: a [2J b\uFFFDc");
  EXPECT_EQ(answers("{\"status\": \"infeasible\", \"reason\": \"too\\n\\u001b[31mlong\"}").evaluation.reason,
            "too  [31mlong");
  std::string umlauts;
  for (int i = 0; i < 200; ++i) umlauts += "\u00e4";
  const std::string cut = evaluate("echo x" + umlauts + " >&2; exit 1").evaluation.reason;
  EXPECT_HAS(cut, "...");
  EXPECT_HAS(cut, "\u00e4\u00e4");
}

// A program that is ended from outside is not the design's fault, whether a shell or the program itself is killed.
TEST_F(CommandTest, KilledFromOutsideIsNoAnswer) {
  for (const std::string line : {"kill -TERM $$", "kill -KILL $$", "sh -c 'kill -KILL $$'; exit $?",
                                 "echo '{\"cost\": 1' > $DODYN_RESULT_FILE; kill -HUP $$"}) {
    const Outcome outcome = evaluate(line);
    EXPECT_EQ(outcome.evaluation.status, Status::lost) << line;
    EXPECT_TRUE(outcome.killed) << line;
  }
  const Outcome told = evaluate(R"(echo '{"cost": 1, "status": "ok"}' > $DODYN_RESULT_FILE; kill -TERM $$)");
  EXPECT_EQ(told.evaluation.status, Status::ok);
  EXPECT_FALSE(told.killed);
}

// At the time limit all processes get SIGTERM and then the grace period, also those that outlive the shell that started
// them.
TEST_F(CommandTest, GraceIsForTheWholeTree) {
  std::ofstream(directory + "/slow.sh") << "trap 'sleep 0.5; echo \"{\\\"cost\\\": 2}\" > $DODYN_RESULT_FILE; exit' "
                                           "TERM\ntouch " +
                                               directory + "/ready\nwhile true; do sleep 0.05; done\n";
  const Evaluation e = limited_after("ready", [&](double limit) {
                         return evaluate("bash " + directory + "/slow.sh; true", {}, limit);
                       }).evaluation;
  EXPECT_EQ(e.status, Status::timed_out);
  EXPECT_EQ(e.cost, 2);
  EXPECT_EQ(e.reason.rfind("stopped at its time limit", 0), 0u) << e.reason;
  const Evaluation deaf =
      evaluate("trap '' TERM; while true; do sleep 1; done", {"--study.grace-period=0.4"}, 0.3).evaluation;
  EXPECT_EQ(deaf.status, Status::timed_out);
}

TEST_F(CommandTest, NothingIsLeftOfIt) {
  const std::string left = directory + "/left";
  const std::string leaves =
      "(setsid sh -c 'echo $$ > " + left + ".new; mv " + left + ".new " + left + "; exec sleep 100' &) ; ";
  const std::string written = "while ! [ -s " + left + " ]; do sleep 0.01; done; ";
  const std::string cost = R"(echo '{"cost": 1}' > $DODYN_RESULT_FILE)";
  EXPECT_TRUE(evaluate(leaves + written + cost).evaluation.ok());  // the process that it left behind changes nothing
  EXPECT_TRUE(gone(process("left")));
  const Outcome late = limited_after(
      "left", [&](double limit) { return evaluate(leaves + "sleep 100", {"--study.grace-period=0.2"}, limit); });
  EXPECT_EQ(late.evaluation.status, Status::timed_out);
  EXPECT_TRUE(gone(process("left")));
}

// If the process that evaluates is killed, the program is killed too.
TEST_F(CommandTest, NothingOutlivesTheProcessThatEvaluates) {
  const pid_t child = fork();
  if (child == 0) {
    evaluate("(setsid sh -c 'echo $$ > " + directory + "/left; exec sleep 100' &) ; sleep 100");
    _exit(0);
  }
  const pid_t left = process("left");
  ASSERT_GT(left, 0);
  ASSERT_FALSE(gone(left));
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  for (int i = 0; i < 1000 && !gone(left); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_TRUE(gone(left));
}

TEST_F(CommandTest, TheRunEndsAtOnceWhenToldTo) {
  std::ofstream(directory + "/c.cfg")
      << "[study]\nevaluator = command\ngrace-period = 600\n[command]\nrun = sleep 1000\n"
         "[design]\nx.min = 0\nx.max = 1\n";
  const auto evaluator =
      make_evaluator(read_settings(directory + "/c.cfg", {"--study.archive=" + directory + "/c.h5"}));
  std::stop_source stop;
  Task task;
  task.evaluation.id = 0;
  task.evaluation.design = Eigen::VectorXd::Constant(1, 0.1);
  task.stop = stop.get_token();
  std::thread later([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    stop.request_stop();
  });
  evaluator->evaluate(task);  // neither its 1000 s nor the 600 s of grace
  later.join();
}

}  // namespace
}  // namespace dodyn::evaluators::test_command
