// One evaluation by a program: what it is told, what is made of its answer, and that nothing of it is left.
#include "evaluators/command.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "farm/perform.hpp"

namespace dodyn::evaluators {
namespace {

using Clock = std::chrono::steady_clock;

class CommandTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::remove_all(directory);
    std::filesystem::create_directories(directory);
  }
  void TearDown() override { std::filesystem::remove_all(directory); }

  Outcome evaluate(const std::string& line, std::vector<std::string> words = {}, double time_limit = 60) const {
    std::ofstream(directory + "/c.cfg") << "[study]\nevaluator = command\ngrace = 4\n[command]\nmetrics = mass, drag\n"
                                        << "run = " << line << "\n[design]\nx.min = 0\nx.max = 1\nlong-name = 7\n";
    words.push_back("--study.archive=" + directory + "/c.h5");
    const auto evaluator = make_evaluator(read_settings(directory + "/c.cfg", words));
    Task task;
    task.evaluation.id = 3;
    task.evaluation.seed = 12345678901234567890u;
    task.evaluation.design = Eigen::VectorXd::Constant(1, 0.1);
    task.time_limit = time_limit;
    return farm::perform([&](const Task& now) { return evaluator->evaluate(now); }, task, 0);
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
  // The process that wrote its id to a file; waits until it has.
  pid_t process(const std::string& file) const {
    int pid = 0;
    for (int i = 0; i < 6000 && !(std::ifstream(directory + "/" + file) >> pid); ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    return pid;
  }
  static bool gone(pid_t pid) { return kill(pid, 0) != 0; }
  // Evaluates with a time limit that grows until it sufficed for what writes this file.
  template <class Run>
  auto limited_after(const std::string& file, Run&& run) const {
    for (double limit = 0.3;; limit *= 2) {
      std::filesystem::remove(directory + "/" + file);
      auto result = run(limit);
      if (std::filesystem::exists(directory + "/" + file) || limit > 50) return result;
    }
  }

  const std::string directory =
      ::testing::TempDir() + "dodyn-command-" + ::testing::UnitTest::GetInstance()->current_test_info()->name();
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

TEST_F(CommandTest, AFailureSaysWhatTheProgramSaidLast) {
  const Evaluation e = evaluate("echo first >&2; echo no mesh >&2; exit 3").evaluation;
  EXPECT_EQ(e.status, Status::failed);
  EXPECT_EQ(e.reason, "exit code 3, and no result.json; stderr: no mesh");
  EXPECT_EQ(e.metrics(0), 3);
  EXPECT_EQ(text("c.work/000003/stderr"), "first\nno mesh\n");  // kept, to look at
  EXPECT_EQ(evaluate("echo no slots >&2; echo ------- >&2; exit 1").evaluation.reason,
            "exit code 1, and no result.json; stderr: no slots");  // mpirun frames what it says with such rules
  EXPECT_EQ(evaluate("true").evaluation.status, Status::failed);
  EXPECT_EQ(evaluate("kill -SEGV $$").evaluation.reason,
            "killed by signal 11 (Segmentation fault), and no result.json");
  EXPECT_EQ(evaluate("kill -SEGV $$").evaluation.status, Status::failed);
}

TEST_F(CommandTest, AnswersThatAreNoneAreRefused) {
  const std::string prefix = "exit code 0, result.json: ";
  EXPECT_EQ(answers("{}").evaluation.reason, prefix + "has neither a cost nor a status");
  EXPECT_EQ(answers("[1]").evaluation.reason, prefix + "is not an object");
  EXPECT_EQ(answers(R"({"cots": 1})").evaluation.reason, prefix + "unknown key 'cots' (did you mean 'cost'?)");
  EXPECT_HAS(answers(R"({"cost": 1)").evaluation.reason, "parse error");
  EXPECT_EQ(answers(R"({"cost": null})").evaluation.reason, "the cost is not a finite number");
  EXPECT_EQ(answers(R"({"cost": 1, "cost_stderr": -5})").evaluation.reason,
            "the standard error of the cost is -5; allowed: >= 0");
  EXPECT_EQ(answers(R"({"cost": 1, "cost_stderr": null})").evaluation.status, Status::failed);
  EXPECT_HAS(answers(std::string(2000000, '[')).evaluation.reason, "is nested deeper than 8 levels");
  for (const std::string line : {"mkfifo $DODYN_RESULT_FILE", "ln -s /dev/zero $DODYN_RESULT_FILE"})
    EXPECT_EQ(evaluate(line).evaluation.reason, prefix + "is not a regular file");
  EXPECT_HAS(evaluate("truncate -s 5G $DODYN_RESULT_FILE").evaluation.reason, "has 5368709120 bytes; allowed: ");
}

// A reason is a line of UTF-8 that is nothing but text, wherever it was cut.
// One program that answers many evaluations; where it dies, babbles or is too slow, another one takes its place.
class ServeTest : public CommandTest {
 protected:
  // Evaluates x = 0.1, 0.2, ... in turn by one evaluator.
  std::vector<Outcome> serve(const std::string& line, int count, double time_limit = 60) const {
    std::ofstream(directory + "/server.sh") << line;
    std::ofstream(directory + "/c.cfg") << "[study]\nevaluator = command\ngrace = 4\n[command]\nmetrics = mass\n"
                                        << "serve = sh $DODYN_STUDY/server.sh\n[design]\nx.min = 0\nx.max = 1\n";
    const auto evaluator =
        make_evaluator(read_settings(directory + "/c.cfg", {"--study.archive=" + directory + "/c.h5"}));
    std::vector<Outcome> all;
    for (int i = 0; i < count; ++i) {
      Task task;
      task.evaluation.id = i;
      task.evaluation.design = Eigen::VectorXd::Constant(1, 0.1 * (i + 1));
      task.time_limit = time_limit;
      all.push_back(farm::perform([&](const Task& now) { return evaluator->evaluate(now); }, task, 0));
    }
    return all;
  }
  const std::string answer = "echo '{\"cost\": '$n', \"metrics\": {\"mass\": 2}}'\n";
};

TEST_F(ServeTest, OneProcessAnswersAll) {
  const auto all = serve("echo $$ > " + directory + "/pid\nn=0\nwhile read line; do\nn=$((n+1))\necho \"$line\" >> " +
                             directory + "/asked\n" + answer + "done\n",
                         3);
  for (int i = 0; i < 3; ++i) {
    const Evaluation& e = all[static_cast<std::size_t>(i)].evaluation;
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
  for (const Outcome& one : all) {  // it had gone before the next line came, or died on it
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

TEST_F(ServeTest, ASlowOneIsStoppedWithAllThatItStarted) {
  const auto all = limited_after("pid", [&](double limit) {
    return serve("sleep 1000 &\necho $! > " + directory + "/p\nmv " + directory + "/p " + directory +
                     "/pid\nread line\nsleep 1000\n",
                 1, limit);
  });
  EXPECT_EQ(all[0].evaluation.status, Status::timed_out);
  EXPECT_TRUE(gone(process("pid")));
}

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

// Who ends it from outside says nothing of the design; whether a shell in between says so or the program itself.
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

// At its time limit everything gets SIGTERM and then the grace, also what the shell, which dies of it, has started.
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
  const Evaluation deaf = evaluate("trap '' TERM; while true; do sleep 1; done", {"--study.grace=0.4"}, 0.3).evaluation;
  EXPECT_EQ(deaf.status, Status::timed_out);
}

TEST_F(CommandTest, NothingIsLeftOfIt) {
  const std::string left = directory + "/left";
  const std::string leaves =
      "(setsid sh -c 'echo $$ > " + left + ".new; mv " + left + ".new " + left + "; exec sleep 100' &) ; ";
  const std::string written = "while ! [ -s " + left + " ]; do sleep 0.01; done; ";
  const std::string cost = R"(echo '{"cost": 1}' > $DODYN_RESULT_FILE)";
  EXPECT_TRUE(evaluate(leaves + written + cost).evaluation.ok());  // though it ended well
  EXPECT_TRUE(gone(process("left")));
  const Outcome late =
      limited_after("left", [&](double limit) { return evaluate(leaves + "sleep 100", {"--study.grace=0.2"}, limit); });
  EXPECT_EQ(late.evaluation.status, Status::timed_out);
  EXPECT_TRUE(gone(process("left")));
}

// The process that evaluates is killed: so is the program, whatever it has become of.
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
  std::ofstream(directory + "/c.cfg") << "[study]\nevaluator = command\ngrace = 600\n[command]\nrun = sleep 1000\n"
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
}  // namespace dodyn::evaluators
