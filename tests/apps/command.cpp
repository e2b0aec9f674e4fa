// The dodyn command: its output and its exit codes. However a run is stopped, no row is lost.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "archive/archive.hpp"
#include "tests/directory.hpp"

namespace dodyn::test_command {
namespace {

struct Result {
  int code = -1;
  std::string text;  // both streams
};

class Command : public ::testing::Test {
 protected:
  void SetUp() override {
    std::ofstream(directory + "/f.cfg")
        << "[study]\nevaluator = testfunction\n[surrogate]\npoints = 21\n[testfunction]\nname = forrester\n"
           "noise = 0.01\nfail-above = 0.9\n[design]\nx.min = 0\nx.max = 1\n";
  }

  // Runs a line of shell in the test's own directory.
  Result shell(const std::string& line) const {
    Result result;
    std::FILE* pipe = popen(("cd '" + directory + "' && { " + line + "; } 2>&1").c_str(), "r");
    char buffer[4096];
    while (const std::size_t n = std::fread(buffer, 1, sizeof buffer, pipe)) result.text.append(buffer, n);
    const int status = pclose(pipe);
    result.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    return result;
  }
  Result dodyn(const std::string& words) const { return shell(std::string(DODYN) + " " + words); }
  Result ranks(int n, const std::string& words) const {
    return shell("OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1 " +
                 std::string(MPIRUN) + " -n " + std::to_string(n) + " " + DODYN + " " + words);
  }
  // Starts `dodyn run f.cfg WORDS` and gives its process id.
  pid_t start(const std::vector<std::string>& words) const {
    const pid_t child = fork();
    if (child == 0) {
      if (chdir(directory.c_str()) != 0) _exit(99);
      if (!std::freopen("/dev/null", "w", stdout) || !std::freopen("/dev/null", "w", stderr)) _exit(99);
      std::vector<std::string> all = {DODYN, "run", "f.cfg"};
      all.insert(all.end(), words.begin(), words.end());
      std::vector<char*> arguments;
      for (auto& word : all) arguments.push_back(word.data());
      arguments.push_back(nullptr);
      execv(DODYN, arguments.data());
      _exit(99);
    }
    return child;
  }
  static int wait_for(pid_t child) {
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
  std::size_t rows(const std::string& file) const {
    try {
      return archive::read(directory + "/" + file).evaluations.size();
    } catch (const archive::Error&) {
      return 0;  // not there yet
    }
  }
  void wait_for_rows(const std::string& file, std::size_t count) const {
    for (int i = 0; i < 6000 && rows(file) < count; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
    ASSERT_GE(rows(file), count);
  }

  // Same designs, parents, seeds, statuses and costs of the answers, bit for bit.
  void expect_same(const std::string& one, const std::string& other) const {
    const auto sorted = [&](const std::string& file) {
      auto all = archive::read(directory + "/" + file).evaluations;
      std::erase_if(all, [](const auto& row) { return row.status == Status::lost; });  // attempts lost by a kill
      std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.id < b.id; });
      return all;
    };
    const auto a = sorted(one), b = sorted(other);
    ASSERT_EQ(a.size(), b.size());
    for (std::size_t i = 0; i < a.size(); ++i) {
      EXPECT_EQ(a[i].id, b[i].id);
      EXPECT_EQ(a[i].parent, b[i].parent) << i;
      EXPECT_EQ(a[i].seed, b[i].seed) << i;
      EXPECT_EQ(a[i].design, b[i].design) << i;
      EXPECT_EQ(a[i].status, b[i].status) << i;
      EXPECT_TRUE(a[i].cost == b[i].cost || !a[i].ok()) << i;
    }
    EXPECT_EQ(archive::read(directory + "/" + one).stopped, archive::read(directory + "/" + other).stopped);
  }

  const Directory own;
  const std::string directory = own.path.string();
};

#define EXPECT_HAS(text, part) EXPECT_NE((text).find(part), std::string::npos) << (text)

// One rank reads the archive while the others wait for it. All ranks must end, and one message must give the reason.
TEST_F(Command, ADamagedArchiveEndsEveryRank) {
  ASSERT_EQ(dodyn("run f.cfg --strategy sweep").code, 0);
  std::fstream file(directory + "/f.h5", std::ios::binary | std::ios::in | std::ios::out);
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  const auto at = bytes.find("is above testfunction.fail-above");
  ASSERT_NE(at, std::string::npos);
  file.clear();
  file.seekp(static_cast<std::streamoff>(at));
  file.put('X');
  file.close();
  const Result result = ranks(3, "run f.cfg --strategy sweep --study.max-evaluations 30");
  EXPECT_EQ(result.code, 2) << result.text;
  EXPECT_HAS(result.text, "dodyn repair recovers");
  EXPECT_EQ(result.text.find("dodyn: f.h5"), result.text.rfind("dodyn: f.h5")) << result.text;
}

// `dodyn replay` reproduces an archived design on any number of ranks. If it does not, the output names the difference.
TEST_F(Command, ReplaysBitByBit) {
  ASSERT_EQ(ranks(2, "run f.cfg").code, 0);
  Result replay = dodyn("replay f.cfg");
  EXPECT_EQ(replay.code, 0) << replay.text;
  EXPECT_NE(replay.text.find(" the same, bit by bit\n"), std::string::npos) << replay.text;
  EXPECT_EQ(replay.text.find("differs"), std::string::npos) << replay.text;
  EXPECT_EQ(dodyn("replay f.cfg --testfunction.noise 0.02").code, 2);
  EXPECT_EQ(dodyn("replay f.cfg --ids 99999").code, 2);
  EXPECT_EQ(dodyn("replay f.cfg --ids x").code, 2);

  std::ofstream(directory + "/answer") << "1.5\n";
  std::ofstream(directory + "/cost.sh") << "read c < " + directory +
                                               "/answer; echo \"{\\\"cost\\\": $c}\" > $DODYN_RESULT_FILE\n";
  std::ofstream(directory + "/c.cfg") << "[study]\nevaluator = command\nmax-evaluations = 3\n[surrogate]\n"
                                         "strategy = sweep\npoints = 3\n[command]\nrun = sh $DODYN_STUDY/cost.sh\n"
                                         "[design]\nx.min = 0\nx.max = 1\n";
  const Result ran = dodyn("run c.cfg");
  ASSERT_EQ(ran.code, 0) << ran.text;
  EXPECT_EQ(dodyn("replay c.cfg").code, 0);
  std::ofstream(directory + "/answer") << "1.25\n";
  replay = dodyn("replay c.cfg --ids 1");
  EXPECT_EQ(replay.code, 1) << replay.text;
  EXPECT_NE(replay.text.find("): differs; cost was 1.5, is 1.25\nversion, compiler and machine are as they "
                             "were\n0 of 1 the same"),
            std::string::npos)
      << replay.text;
  // a script named by the configuration is part of the study
  std::ofstream(directory + "/cost.sh", std::ios::app) << "# another version\n";
  for (const char* command : {"replay c.cfg --ids 1", "run c.cfg"}) {
    const Result changed = dodyn(command);
    EXPECT_EQ(changed.code, 2) << changed.text;
    EXPECT_NE(changed.text.find("belongs to another study: command.cost.sh has changed"), std::string::npos)
        << changed.text;
  }
}

// A predicted cost agrees with an evaluation, within the band. If a prediction is impossible, the message is one line.
TEST_F(Command, PredictsAndSaysWhatMatters) {
  std::ofstream(directory + "/b.cfg") << "[study]\nevaluator = testfunction\nmax-evaluations = 30\n[surrogate]\n"
                                         "strategy = ego\nobjectives = cost, slope\n[testfunction]\nname = branin\n"
                                         "[design]\nx.min = -5\nx.max = 10\ny.min = 0\ny.max = 15\n";
  const Result ran = dodyn("run b.cfg");
  ASSERT_EQ(ran.code, 0) << ran.text;
  EXPECT_NE(ran.text.find("front of cost and slope: "), std::string::npos) << ran.text;
  EXPECT_NE(ran.text.find(", hypervolume "), std::string::npos) << ran.text;
  const Result text = dodyn("predict b.h5 --design.x 2 --design.y 5 --json");
  ASSERT_EQ(text.code, 0) << text.text;
  const auto number = [&](const std::string& name) {
    const auto at = text.text.find("\"" + name + "\": ");
    return at == std::string::npos ? NAN : std::stod(text.text.substr(at + name.size() + 4));
  };
  const double x = 2, y = 5, pi = M_PI;
  const double truth =
      std::pow(y - 5.1 / (4 * pi * pi) * x * x + 5 / pi * x - 6, 2) + 10 * (1 - 1 / (8 * pi)) * std::cos(x) + 10;
  EXPECT_LT(number("lower"), truth);
  EXPECT_GT(number("upper"), truth);
  EXPECT_NEAR(number("middle"), truth, 2.0);
  EXPECT_EQ(number("evaluates"), 1);
  const Result main = dodyn("sensitivity b.h5");
  EXPECT_EQ(main.code, 0) << main.text;
  EXPECT_NE(main.text.find("with others"), std::string::npos) << main.text;
  EXPECT_EQ(main.text.find("Elementary"), std::string::npos) << main.text;
  std::ofstream(directory + "/s.cfg") << "[study]\nevaluator = testfunction\n[surrogate]\nstrategy = morris\n"
                                         "trajectories = 4\n[testfunction]\nname = branin\n"
                                         "[design]\nx.min = -5\nx.max = 10\ny.min = 0\ny.max = 15\n";
  const Result screened = dodyn("run s.cfg");
  ASSERT_EQ(screened.code, 0) << screened.text;
  EXPECT_NE(screened.text.find("screened 2 variables by 4 trajectories"), std::string::npos) << screened.text;
  const Result effects = dodyn("sensitivity s.h5");
  EXPECT_EQ(effects.text.rfind("Elementary effects", 0), 0u) << effects.text;

  for (const auto& [words, said] : std::vector<std::pair<std::string, std::string>>{
           {"predict b.h5 --design.x 20", "a number from -5 to 10"},
           {"predict b.h5 --design.z 2", "did you mean '--design."},
           {"predict b.h5 --quantity slop", "there are: cost, slope"},
           {"predict none.h5", "none.h5"},
           {"predict b.h5 --optimum --design.x 2", "--optimum takes no design"},
           {"predict b.h5 --export e.h5 --design.x 2", "--export takes no design"},
           {"sensitivity b.h5 --samples 3", "a number from 64"},
           {"sensitivity b.h5 --quantity cost,slope", "takes one name"},
           {"sensitivity b.h5 --quantity ''", "--quantity is empty"},
           {"predict b.h5 --units ''", "--units is empty"},
           {"show b.h5 --columns ''", "--columns is empty"},
           {"simulate b.cfg --from ''", "--from is empty"},
           {"sensitivity", "usage"}}) {
    const Result refused = dodyn(words);
    EXPECT_EQ(refused.code, 2) << words << refused.text;
    EXPECT_NE(refused.text.find(said), std::string::npos) << words << ": " << refused.text;
    EXPECT_EQ(std::count(refused.text.begin(), refused.text.end(), '\n'), 1) << refused.text;
  }
}

// Each member of a request counts, or the answer is an error.
TEST_F(Command, ServeIgnoresNothing) {
  std::ofstream(directory + "/requests") << R"({"design": {"x": 0.5, "x": 0.6}}
{"design": {"x": 0.5}, "id": 3, "id": 4}
{"design": {"x": 0.5}, "trajectory": 1}
{"describe": false}
{"recommend": 1}
{"design": {"x": 1e999}}
{"design": {"x": 0.5}, "trajectory": false}
)";
  const Result served = dodyn("serve f.cfg < requests");
  ASSERT_EQ(served.code, 0) << served.text;
  std::vector<std::string> answers;
  std::istringstream lines(served.text);
  for (std::string line; std::getline(lines, line);) answers.push_back(line);
  ASSERT_EQ(answers.size(), 7u) << served.text;
  EXPECT_EQ(answers[0], R"({"error":"request: the member 'x' is given twice"})");
  EXPECT_EQ(answers[1], R"({"error":"request: the member 'id' is given twice"})");
  EXPECT_EQ(answers[2], R"({"error":"trajectory = 1; expected true or false"})");
  EXPECT_EQ(answers[3], R"({"error":"describe = false; expected true"})");
  EXPECT_EQ(answers[4], R"({"error":"recommend = 1; expected true"})");
  EXPECT_EQ(answers[5],
            R"({"error":"request: {\"design\": {\"x\": 1e999}} has a number beyond the range of doubles"})");
  EXPECT_EQ(answers[6].rfind(R"({"id":0,)", 0), 0u) << answers[6];
}

// The settings of a study are in no folder: only its files are compared there.
TEST_F(Command, AFolderIsComparedByFilesAlone) {
  std::ofstream(directory + "/twice.py")
      << "import json, os\njson.dump({'cost': 2.0}, open(os.environ['DODYN_RESULT_FILE'], 'w'))\n";
  std::ofstream(directory + "/c.cfg") << "[study]\nevaluator = command\nmax-evaluations = 1\n[command]\n"
                                         "run = python3 \"$DODYN_STUDY/twice.py\"\n[design]\nx.min = 0\nx.max = 1\n";
  ASSERT_EQ(dodyn("run c.cfg && " + std::string(DODYN) + " run f.cfg --study.max-evaluations 2").code, 0);
  std::filesystem::create_directory(directory + "/other");
  std::filesystem::copy(directory + "/twice.py", directory + "/other");
  std::ofstream(directory + "/other/c.cfg") << "[study]\nevaluator = command\n[design]\nx.min = 0\nx.max = 9\n";
  const Result same = dodyn("show c.h5 --diff other");
  EXPECT_EQ(same.code, 0);
  EXPECT_EQ(same.text, "c.h5 and other: the same files; a folder has no settings, a configuration has\n");
  const Result none = dodyn("show f.h5 --diff other");
  EXPECT_EQ(none.code, 2);
  EXPECT_EQ(none.text,
            "dodyn: f.h5: has no files that a folder could have; compare it with a configuration or an archive\n");
}

TEST_F(Command, HelpAndVersion) {
  const Result help = dodyn("--help");
  EXPECT_EQ(help.code, 0);
  for (const std::string command : {"run", "show", "solve", "simulate", "rerun", "repair", "merge", "check"}) {
    EXPECT_HAS(help.text, "dodyn " + command + " ");
    const Result its_help = dodyn(command + " --help");
    EXPECT_EQ(its_help.code, 0);
    EXPECT_HAS(its_help.text, "exit codes: 0 finished");
  }
  for (const std::string group : {"\nStudy\n", "\nResults\n", "\nOne design\n"}) EXPECT_HAS(help.text, group);
  const std::string screen = dodyn("run --help").text;
  EXPECT_HAS(screen, "--study.max-evaluations");
  EXPECT_LE(std::count(screen.begin(), screen.end(), '\n'), 40) << screen;
  EXPECT_EQ(dodyn("--version").text.rfind("dodyn ", 0), 0u);
  EXPECT_EQ(dodyn("").code, 2);
  const Result unknown = dodyn("sovle f.cfg");
  EXPECT_EQ(unknown.code, 2);
  EXPECT_EQ(unknown.text, "dodyn: unknown command 'sovle' (did you mean 'solve'?); dodyn --help lists them\n");
}

// Help lists all keys, those of a section, or one key; with a configuration, the keys that the configuration can have.
TEST_F(Command, HelpOnKeys) {
  const std::string all = dodyn("help keys").text;
  EXPECT_HAS(all, "--testfunction.delay");
  EXPECT_HAS(all, "[scenario NAME]");
  EXPECT_EQ(all.find("e+300"), std::string::npos);
  const std::string gait = dodyn("help keys gait").text;
  EXPECT_HAS(gait, "--gait.clearance");
  EXPECT_EQ(gait.find("--study."), std::string::npos);
  EXPECT_HAS(dodyn("help keys phase").text, "[phase NAME]");
  const std::string limit = dodyn("help key study.time-limit").text;
  EXPECT_HAS(limit, "allowed: a number >= 0 s, or none; 0: none\n  default none\n");
  EXPECT_HAS(dodyn("help key gait.clearance").text, "with study.evaluator = gait");
  std::ofstream(directory + "/k.cfg") << "[study]\nevaluator = gait\n[gait]\nclearance = 3 cm\n"
                                         "[design]\nknee.min = 0.3\nknee.max = 0.5\n";
  EXPECT_HAS(dodyn("help key gait.clearance k.cfg").text, "\n  0.03 m (k.cfg:4)\n");
  EXPECT_HAS(dodyn("help key design.knee k.cfg").text, "0.3 m (k.cfg:6)");
  const std::string its = dodyn("run k.cfg --help --strategy sweep").text;
  EXPECT_HAS(its, "sweep (command line)");
  EXPECT_HAS(its, "--gait.clearance");
  EXPECT_EQ(its.find("--testfunction."), std::string::npos);
  EXPECT_EQ(its.find("--motion."), std::string::npos);
  const Result nearest = dodyn("help key gait.clearence");
  EXPECT_EQ(nearest.code, 2);
  EXPECT_HAS(nearest.text, "no key 'gait.clearence' (did you mean 'gait.clearance'?)");
  for (const std::string name : {"phase.swing.duration", "phase"})  // sections whose entries have names of their own
    EXPECT_HAS(
        dodyn("help key " + name).text,
        "'" + name + "' has no description of its own; dodyn help keys phase describes the entries of [phase NAME]\n");
  EXPECT_HAS(dodyn("help key cost.squared-torque").text, "dodyn help keys cost describes the entries of [cost]");
  EXPECT_HAS(dodyn("help keys gaits").text, "no section 'gaits' (did you mean 'gait'?)");
  EXPECT_HAS(dodyn("help key design.x k.cfg k.cfg").text, "usage: dodyn help key NAME");
}

TEST_F(Command, SimulateShowsOneMotion) {
  const std::string configs = std::string(CONFIGS) + "/";
  const Result cradle = dodyn("simulate " + configs + "scene-cradle.cfg --output cradle.csv");
  EXPECT_EQ(cradle.code, 0) << cradle.text;
  std::ifstream file(directory + "/cradle.csv");
  std::string head;
  std::getline(file, head);
  EXPECT_EQ(head.rfind("t", 0), 0u) << head;
  EXPECT_GT(std::count(std::istreambuf_iterator<char>(file), {}, '\n'), 100);
  const Result docking =
      dodyn("simulate " + configs +
            "docking.cfg --design.spacing 0.06 --initial-states.bearing \"12 deg\" --initial-states.distance 0.15");
  EXPECT_EQ(docking.code, 0);
  EXPECT_HAS(docking.text, "docked");
  const Result none = dodyn("simulate f.cfg --design.x 0.5");  // no simulation
  EXPECT_EQ(none.code, 2);
  EXPECT_EQ(std::count(none.text.begin(), none.text.end(), '\n'), 1) << none.text;
}

// `simulate` with an archive alone repeats a start of an archived design with the same numbers as with the
// configuration.
TEST_F(Command, SimulateShowsAStartOfAnArchivedDesign) {
  const std::string few = " --initial-states.count 4 --simulation.end 40 --simulation.step 0.004";
  const std::string config = std::string(CONFIGS) + "/docking-robust.cfg";
  ASSERT_EQ(dodyn("run " + config + few + " --study.archive again.h5 --strategy sweep --surrogate.points 2").code, 0);
  ASSERT_EQ(dodyn("simulate again.h5 --evaluation 1 --initial-state 3 --output archived.csv").code, 0);
  ASSERT_EQ(
      dodyn("simulate " + config + few + " --design.spacing \"75.5 mm\" --initial-state 3 --output given.csv").code, 0);
  const auto text = [this](const char* name) {
    std::ifstream file(directory + "/" + name);
    return std::string(std::istreambuf_iterator<char>(file), {});
  };
  EXPECT_GT(text("archived.csv").size(), 1000u);
  EXPECT_EQ(text("archived.csv"), text("given.csv"));
  const Result wrong = dodyn("simulate again.h5 --evaluation 7");
  EXPECT_EQ(wrong.code, 2);
  EXPECT_HAS(wrong.text, "no evaluation 7; allowed: an id from 0 to 1");
  EXPECT_EQ(dodyn("simulate again.h5 --initial-state 5").code, 2);
  const std::string other = directory + "/scenarios.cfg";  // starts of one of two scenarios
  {
    std::ifstream file(config);
    std::ofstream(other) << file.rdbuf() << "[scenario as-is]\n[scenario rough]\ndesign.mass = 1.5\n";
  }
  ASSERT_EQ(dodyn("run " + other + few + " --study.archive two.h5 --strategy sweep --surrogate.points 2").code, 0);
  EXPECT_HAS(dodyn("simulate two.h5 --initial-state 2").text,
             "choose one scenario with --study.scenarios NAME; there are: as-is, rough");
  ASSERT_EQ(
      dodyn("simulate two.h5 --evaluation 0 --initial-state 2 --study.scenarios rough --output archived.csv").code, 0);
  ASSERT_EQ(dodyn("simulate " + config + few +
                  " --design.spacing \"25.5 mm\" --design.mass 1.5 --initial-state 2 --output given.csv")
                .code,
            0);
  EXPECT_EQ(text("archived.csv"), text("given.csv"));
}

TEST_F(Command, ReplaysAnArchivedGait) {
  const std::string config = std::string(CONFIGS) + "/knee-motor.cfg ",
                    other = std::string(CONFIGS) + "/published/knee-free.cfg ";
  const std::string mesh = "--gait.intervals 40 --gait.initial-guesses 2 ";
  ASSERT_EQ(dodyn("run " + config + mesh + "--study.archive a.h5 --study.max-evaluations 3").code, 0);
  const Result best = dodyn("simulate " + config + mesh + "--from a.h5 --output best.csv");
  EXPECT_EQ(best.code, 0) << best.text;
  EXPECT_HAS(best.text, "touch-down      at 0.8");
  std::ifstream file(directory + "/best.csv");
  EXPECT_GT(std::count(std::istreambuf_iterator<char>(file), {}, '\n'), 700);
  EXPECT_HAS(dodyn("simulate " + config + mesh + "--from a.h5 --evaluation 2").text, "a.h5: evaluation 2, cost");
  for (const std::string& words :
       {config + "--from a.h5", other + mesh + "--from a.h5", config + mesh + "--from nowhere.h5",
        config + mesh + "--from f.cfg", config + mesh + "--from a.h5 --evaluation 9",
        config + mesh + "--from a.h5 --evaluation x", config + mesh + "--from a.h5 --initial-state 2",
        config + mesh + "--evaluation 1", config + mesh + "--from", config + mesh + "--from a.h5 --design.knee 0.4",
        std::string("f.cfg --from a.h5"), config + mesh + "--from a.h5 --rollout.step 0"}) {
    const Result bad = dodyn("simulate " + words + " --output bad.csv");
    EXPECT_EQ(bad.code, 2) << words << "\n" << bad.text;
    EXPECT_EQ(std::count(bad.text.begin(), bad.text.end(), '\n'), 1) << words << "\n" << bad.text;
    EXPECT_FALSE(std::filesystem::exists(directory + "/bad.csv")) << words;
  }
  // an evaluation that has no motion
  ASSERT_EQ(dodyn("run " + config + mesh +
                  "--design.step-length 1.4 --study.archive b.h5 --study.max-evaluations 1 "
                  "--gait.max-iterations 3")
                .code,
            1);
  const Result none =
      dodyn("simulate " + config + mesh + "--design.step-length 1.4 --gait.max-iterations 3 --from b.h5");
  EXPECT_EQ(none.code, 2);
  EXPECT_HAS(none.text, "b.h5: no evaluation is ok");
}

TEST_F(Command, SolveTellsWhereTheTimeWent) {
  const Result result =
      dodyn("solve " + std::string(CONFIGS) +
            "/knee-motor.cfg --design.fold 130deg --design.knee 0.5 --gait.initial-guesses 1 --verbose");
  EXPECT_EQ(result.code, 0) << result.text;
  EXPECT_HAS(result.text, "factori");
  EXPECT_HAS(result.text, "warnings\n  the gait lifts its foot");
}

TEST_F(Command, BadInputIsOneLineAndTouchesNothing) {
  for (const std::string words :
       {"run f.cfg --study.sede 2", "check f.cfg --study.seed", "check f.cfg --design.x.min 2", "check nowhere.cfg",
        "run", "run f.cfg --study.archive nowhere/a.h5", "run f.cfg --study.archive f.cfg",
        "check f.cfg --study.seed -1", "solve f.cfg", "solve f.cfg --design.x 0.5 --output nowhere/a.csv",
        "solve f.cfg --design.x 0.5 --output f.cfg", "run f.cfg --study.snapshot f.cfg",
        "run f.cfg --study.snapshot f.h5", "solve f.cfg --design.x 0.5 --output", "show f.cfg", "show nowhere.h5",
        "show", "show a b", "check --strategy sweep"}) {
    const Result result = dodyn(words);
    EXPECT_EQ(result.code, 2) << words << "\n" << result.text;
    EXPECT_EQ(std::count(result.text.begin(), result.text.end(), '\n'), 1) << words << "\n" << result.text;
    EXPECT_EQ(result.text.rfind("dodyn: ", 0), 0u) << result.text;
  }
  for (const auto& entry : std::filesystem::directory_iterator(directory)) EXPECT_EQ(entry.path().filename(), "f.cfg");
}

// A search that max-evaluations ends is not called finished; the same command with a larger number continues it.
TEST_F(Command, ALimitDoesNotFinishASearch) {
  const Result few = dodyn("run f.cfg --strategy sweep --study.max-evaluations 5");
  EXPECT_EQ(few.code, 0) << few.text;
  EXPECT_HAS(few.text, "f.h5: stopped: reached study.max-evaluations = 5, before the search ended by its own rule");
  const Result same = dodyn("run f.cfg --strategy sweep --study.max-evaluations 5");
  EXPECT_HAS(same.text, "f.h5: stopped: ");
  EXPECT_HAS(same.text, "0 evaluations now, 5 from the archive");
  const Result all = dodyn("run f.cfg --strategy sweep --study.max-evaluations 21");
  EXPECT_HAS(all.text, "f.h5: finished: ");
  EXPECT_HAS(all.text, "16 evaluations now, 5 from the archive");
}

TEST_F(Command, RunThenShow) {
  const Result run = dodyn("run f.cfg --strategy sweep");
  EXPECT_EQ(run.code, 0) << run.text;
  EXPECT_HAS(run.text, "f.h5: finished: ");
  EXPECT_HAS(run.text, "21 evaluations now, 0 from the archive");
  EXPECT_LT(run.text.find("recommended: "), run.text.find("f.h5: finished: "));  // the answer comes first
  const Result show = dodyn("show f.h5");
  EXPECT_EQ(show.code, 0);
  EXPECT_HAS(show.text, "x = 1 is above testfunction.fail-above = 0.9");
  EXPECT_HAS(show.text, "finished: swept all 21 points");
  const Result again = dodyn("run f.cfg --strategy sweep");
  EXPECT_EQ(again.code, 0);
  EXPECT_HAS(again.text, "already finished: ");
  const Result other = dodyn("run f.cfg --strategy sweep --study.seed 2");
  EXPECT_EQ(other.code, 2);
  EXPECT_EQ(other.text,
            "dodyn: f.h5 belongs to another study: study.seed: 1 / 2 (archive / now); remove it or choose another "
            "study.archive\n");
}

TEST_F(Command, AnOptimumAtABoundSaysSo) {
  const Result run = dodyn("run f.cfg --testfunction.name quadratic --testfunction.noise 0 --design.x.min 0.4");
  EXPECT_EQ(run.code, 0);
  EXPECT_HAS(run.text, "note: x is at its lower bound 0.4");
  EXPECT_HAS(dodyn("show f.h5").text, "note: x is at its lower bound 0.4");
}

TEST_F(Command, SolveTellsAllAndWritesTheTrajectory) {
  const Result solve = dodyn("solve f.cfg --design.x 0.5 --testfunction.noise 0 --output a.csv");
  EXPECT_EQ(solve.code, 0) << solve.text;
  EXPECT_HAS(solve.text, "cost                  0.909297426826");  // sin 2
  EXPECT_HAS(solve.text, "status                ok");
  EXPECT_HAS(solve.text, "function            forrester");
  std::ifstream csv(directory + "/a.csv");
  std::string line;
  std::getline(csv, line);
  EXPECT_EQ(line, "t,q.x,q.y,value");
  int count = 0;
  while (std::getline(csv, line)) ++count;
  EXPECT_EQ(count, 11);
  EXPECT_FALSE(std::filesystem::exists(directory + "/a.csv.tmp"));
  EXPECT_HAS(dodyn("solve f.cfg --design.x 0.5 --output /dev/stdout").text, "t,q.x,q.y,value");
  EXPECT_FALSE(std::filesystem::exists(directory + "/f.h5"));
  EXPECT_EQ(dodyn("solve f.cfg --design.x 0.95").code, 1);  // the evaluation failed
}

TEST_F(Command, CheckTellsWhatAModelHas) {
  std::ofstream(directory + "/m.model") << "[model]\ndimension = 2\n[parameters]\nlength = 0.5 # m\n[link rod]\n"
                                           "parent = ground\njoint = revolute\nend = 0, -length\nmass = 2\n";
  const Result check = dodyn("check m.model --design.length 60cm");
  EXPECT_EQ(check.code, 0);
  for (const char* part : {"1 degree of freedom, 2 kg", "length  0.6  m", "rod  rad  turn about z", "0, -0.3",
                           "centre halfway to the end", "9.81 m/s2", "default", "it has no inertia"})
    EXPECT_HAS(check.text, part);
  EXPECT_EQ(dodyn("check hopper").code, 0);
  for (const char* wrong : {"--design.lenght 1", "--design.length", "--length 1", "--design.length 1/0",
                            "--design.length length", "--design.length 1 --design.length"}) {
    const Result refused = dodyn(std::string("check m.model ") + wrong);
    EXPECT_EQ(refused.code, 2) << wrong;
    EXPECT_EQ(std::count(refused.text.begin(), refused.text.end(), '\n'), 1) << refused.text;
  }
}

// Boxes by closed forms: 1 x 1, a corner down over a floor 1 thick; in space also side by side.
TEST_F(Command, CheckShowsTheDistanceOfTwoLinks) {
  std::ofstream(directory + "/plane.model")
      << "[model]\ndimension = 2\n[parameters]\nside = 1 # m\n"
         "[link floor]\nparent = ground\njoint = fixed\n[shape slab]\nlink = floor\nbox = 9, 1\noutward = 0, 1\n"
         "[link crate]\nparent = ground\njoint = planar\ncoordinates = x, y, turn\nmass = 1\ninertia = 1\n"
         "[shape crate]\nlink = crate\nbox = side, side\n[link bare]\nparent = ground\njoint = prismatic x\nmass = 1\n";
  const std::string over =
      "check plane.model --distance crate,floor --initial-state.turn '45 deg' --initial-state.x 2 ";
  EXPECT_EQ(dodyn(over + "--initial-state.y '2 m'").text,
            "crate and floor are 0.792893 m apart: corner-edge\nnormal       0, 1 from floor to crate\n"
            "crate: corner of [shape crate]\n  point      2, 1.29289 m\n  corner 0   2, 1.29289 m\n"
            "floor: edge of [shape slab]\n  point      2, 0.5 m\n  corner 2   -4.5, 0.5 m\n  corner 3   4.5, 0.5 m\n");
  EXPECT_HAS(dodyn(over + "--initial-state.y 1").text, "crate and floor overlap by 0.207107 m: corner-edge\n");
  EXPECT_HAS(dodyn(over + "--initial-state.y '0.5 + sqrt(2)/2'").text, "crate and floor touch: corner-edge\n");
  // deeper than half of the slab: still out of it along `outward`, not the shorter way down
  EXPECT_HAS(dodyn(over + "--initial-state.y=-0.3").text,
             "overlap by 1.50711 m: corner-edge\nnormal       0, 1 from floor");
  EXPECT_HAS(dodyn("check plane.model --distance 'floor, crate' --initial-state.y 2 --design.side 2").text,
             "floor and crate are 0.5 m apart: edge-edge\nnormal       0, 1 from floor to crate\n");

  std::ofstream(directory + "/space.model")
      << "[model]\ndimension = 3\n[link base]\nparent = ground\njoint = fixed\n"
         "[shape left]\nlink = base\nbox = 1, 1, 1\nat = -5, 0, 0\n[shape right]\nlink = base\nbox = 1, 1, 1\n"
         "[link cube]\nparent = ground\njoint = point + revolute z\ncoordinates = x, y, z, a\nmass = 1\n"
         "inertia = 1, 1, 1\n[shape cube]\nlink = cube\nbox = 1, 1, 1\n[initial-state]\nx = 1.3\n";
  EXPECT_HAS(dodyn("check space.model --distance cube,base --initial-state.y 1.4").text,
             "cube and base are 0.5 m apart: edge-edge\nnormal       0.6, 0.8, 0 from base to cube\n"
             "cube: edge of [shape cube]\n  point      0.8, 0.9, 0 m\n");
  const Result faces = dodyn("check space.model --distance cube,base");
  EXPECT_HAS(faces.text, "cube and base are 0.3 m apart: face-face\n");
  EXPECT_HAS(faces.text, "base: face of [shape right]\n  point      0.5, 0, 0 m\n");
  EXPECT_HAS(dodyn("check space.model --distance cube,base --initial-state.x=-1.2 --initial-state.a '45 deg'").text,
             "cube and base overlap by 0.00710678 m: edge-face\n");

  for (const auto& [words, complaint] : std::vector<std::pair<std::string, std::string>>{
           {"--distance crat,floor", "no link 'crat' in plane.model (did you mean 'crate'?)"},
           {"--distance crate,bare", "[link bare] of plane.model has no [shape]; links with shapes: floor, crate"},
           {"--distance crate,crate", "[link crate] is named twice"},
           {"--distance crate", "--distance = crate: allowed: two links, LINK,LINK"},
           {"--distance crate,floor --initial-state.turm 1", "no coordinate of plane.model (did you mean 'turn'?)"},
           {"--distance crate,floor --initial-state.x '3 deg'",
            "initial-state.x = 3 deg has the unit deg; expected a length"},
           {"--distance crate,floor --initial-state.x", "is not understood"},
           {"--initial-state.x 1", "is not understood"}}) {
    const Result refused = dodyn("check plane.model " + words);
    EXPECT_EQ(refused.code, 2) << words;
    EXPECT_HAS(refused.text, complaint);
    EXPECT_EQ(std::count(refused.text.begin(), refused.text.end(), '\n'), 1) << refused.text;
  }
  EXPECT_HAS(dodyn("check f.cfg --distance a,b").text, "--distance needs a model, and f.cfg is none");
}

TEST_F(Command, CheckShowsWhereEachValueComesFrom) {
  const Result check = dodyn("check f.cfg --study.seed 7");
  EXPECT_EQ(check.code, 0);
  EXPECT_HAS(check.text, "command line");
  EXPECT_HAS(check.text, "f.cfg:7");
  EXPECT_HAS(check.text, "default");
  EXPECT_HAS(check.text, "next: dodyn run f.cfg --study.seed 7\n");
  EXPECT_HAS(dodyn("check f.cfg --design.x 1").text,
             "valid, with no free design variable; next: dodyn solve f.cfg --design.x 1\n");
  EXPECT_HAS(dodyn("check f.cfg --design.x.max '0.5 + 0.25'").text,
             "next: dodyn run f.cfg --design.x.max '0.5 + 0.25'\n");
  for (const std::string words : {"help models extra", "help run extra", "--version extra"}) {
    const Result refused = dodyn(words);
    EXPECT_EQ(refused.code, 2) << words;
    EXPECT_EQ(refused.text, "dodyn: 'extra' is not understood; leave it out\n");
  }
  EXPECT_EQ(dodyn("new --list motion").text, "dodyn: command line: --list takes no kind; leave one of them out\n");
}

TEST_F(Command, OneTwoAndFourRanksAreTheSameStudy) {
  for (const std::string strategy : {"spline", "sweep"}) {
    const std::string words = "run f.cfg --testfunction.delay 0.005 --strategy " + strategy + " --study.archive ";
    EXPECT_EQ(dodyn(words + strategy + "0.h5").code, 0);
    for (const int n : strategy == "sweep" ? std::vector{1, 2, 4} : std::vector{2}) {
      const std::string archive = strategy + std::to_string(n) + ".h5";
      const Result run = ranks(n, words + archive);
      EXPECT_EQ(run.code, 0) << run.text;
      expect_same(strategy + "0.h5", archive);
    }
  }
}

// Scenarios and their tasks, on several ranks in any order.
TEST_F(Command, ScenariosAreTheSameOnAnyNumberOfRanks) {
  std::ofstream(directory + "/s.cfg")
      << "[study]\nevaluator = gait\nscenario-aggregate = worst\n[surrogate]\nstrategy = spline\ngradient = true\n"
         "[design]\nknee.min = 0.35\nknee.max = 0.6\nperiod = 0.8\n[gait]\nmodel = motor-biped\nintervals = 16\n"
         "initial-guesses = 4\ntasks = 2\nshifts = 1\n[scenario slow]\nstep-length = 0.4\nreference = 0.034\n"
         "[scenario fast]\nstep-length = 0.6\nreference = 0.45\n[scenario up]\nslope = 1 deg\nstep-length = 0.5\n"
         "tasks = 1\nreference = 0.31\n";
  const std::string words = "run s.cfg --study.max-evaluations 5 --study.archive ";
  EXPECT_EQ(dodyn(words + "1.h5").code, 0);
  EXPECT_EQ(ranks(2, words + "2.h5").code, 0);
  EXPECT_EQ(ranks(3, words + "3.h5").code, 0);
  const auto one = archive::read(directory + "/1.h5");
  ASSERT_EQ(one.evaluations.size(), 5u);
  for (const char* file : {"2.h5", "3.h5"}) {
    expect_same("1.h5", file);
    const auto other = archive::read(directory + "/" + file);
    for (const auto& row : one.evaluations)
      for (const auto& same : other.evaluations)
        if (row.id == same.id) {
          EXPECT_EQ(row.metrics.size(), one.layout.metrics.size());
          for (Eigen::Index k = 0; k < row.metrics.size(); ++k)
            EXPECT_TRUE(row.metrics(k) == same.metrics(k) || std::isnan(row.metrics(k))) << one.layout.metrics[k].name;
          EXPECT_EQ(row.gradient, same.gradient);
        }
  }
  const Result told = dodyn("solve s.cfg --design.knee 0.45 --output all.csv");
  EXPECT_EQ(told.code, 0);
  EXPECT_HAS(told.text, "scenario slow: cost ");
  EXPECT_HAS(told.text, "times its reference of 0.31");
  EXPECT_HAS(dodyn("show 1.h5 --evaluation 2").text, "metrics.fast:cost");
  EXPECT_HAS(dodyn("run s.cfg --study.archive 1.h5 --scenario.slow.reference 0.035").text, "belongs to another study");
  EXPECT_HAS(dodyn("help keys").text, "[scenario NAME]");
  EXPECT_HAS(dodyn("help --markdown").text, "[scenario NAME]");
}

// The list of distinct gaits that the initial guesses of a design lead to. It is joined from parts that ranks evaluate
// in any order; some parts start from a neighbour's gait.
TEST_F(Command, OptimaAreTheSameOnAnyNumberOfRanks) {
  std::ofstream(directory + "/g.cfg") << "[study]\nevaluator = gait\n[surrogate]\nstrategy = spline\n"
                                         "[design]\nknee.min = 0.35\nknee.max = 0.55\n"
                                         "[gait]\njoint-limits = none\nintervals = "
                                         "16\ninitial-guesses = 7\nshifts = 1\nvalidity-check = warn\n";
  const std::string words = "run g.cfg --study.max-evaluations 5 --gait.tasks ";
  EXPECT_EQ(dodyn(words + "3 --study.archive 1.h5").code, 0);
  EXPECT_EQ(ranks(2, words + "3 --study.archive 2.h5").code, 0);
  EXPECT_EQ(ranks(3, words + "3 --study.archive 3.h5").code, 0);
  const auto lists = [&](const std::string& file) {
    const auto contents = archive::read(directory + "/" + file);
    const auto& channels = contents.layout.channels;
    const auto at = std::find_if(channels.begin(), channels.end(), [](const auto& c) { return c.name == "optima"; });
    EXPECT_NE(at, channels.end());
    std::vector<Eigen::MatrixXd> all(contents.evaluations.size());
    for (const auto& row : contents.evaluations)
      all[row.id] = archive::read_trajectory(directory + "/" + file, row.id).values[at - channels.begin()];
    return all;
  };
  const auto one = lists("1.h5");
  ASSERT_EQ(one.size(), 5u);
  int several = 0;
  for (const auto& list : one) {
    EXPECT_TRUE(std::isfinite(list(0, 0)));
    several += std::isfinite(list(1, 0));  // rows past the last optimum are not numbers
  }
  EXPECT_GT(several, 0);
  for (const char* file : {"2.h5", "3.h5"}) {
    expect_same("1.h5", file);
    const auto other = lists(file);
    ASSERT_EQ(other.size(), one.size());
    for (std::size_t i = 0; i < one.size(); ++i) {
      ASSERT_EQ(other[i].rows(), one[i].rows());
      for (Eigen::Index j = 0; j < one[i].size(); ++j)
        EXPECT_TRUE(other[i](j) == one[i](j) || (std::isnan(other[i](j)) && std::isnan(one[i](j)))) << i << ' ' << j;
    }
  }
}

TEST_F(Command, UnderMpirunAMistakeIsSaidOnce) {
  for (const std::string words : {"run f.cfg --study.sede 2", "run f.cfg --study.archive f.cfg"}) {
    const Result run = ranks(3, words);
    EXPECT_EQ(run.code, 2) << run.text;
    const auto first = run.text.find("dodyn: ");
    EXPECT_NE(first, std::string::npos) << run.text;
    EXPECT_EQ(run.text.find("dodyn: ", first + 1), std::string::npos) << run.text;
  }
}

TEST_F(Command, ASignalStopsAndTheSameCommandContinues) {
  ASSERT_EQ(dodyn("run f.cfg --strategy sweep --study.archive whole.h5").code, 0);
  for (const int signal : {SIGINT, SIGTERM}) {
    const std::string archive = "stopped" + std::to_string(signal) + ".h5";
    const pid_t child = start({"--strategy", "sweep", "--testfunction.delay", "0.3", "--study.archive", archive});
    wait_for_rows(archive, 3);
    kill(child, signal);
    EXPECT_EQ(wait_for(child), 3);
    EXPECT_EQ(archive::read(directory + "/" + archive).stopped,
              std::string("interrupted by a signal (") + (signal == SIGINT ? "SIGINT)" : "SIGTERM)"));
    EXPECT_LT(rows(archive), 21u);
    EXPECT_EQ(dodyn("run f.cfg --strategy sweep --study.archive " + archive).code, 0);
    expect_same("whole.h5", archive);
  }
}

TEST_F(Command, KilledAtAnyTimeTheSameCommandFinishesIt) {
  const std::string more = "--surrogate.points 101 --study.max-evaluations 101 --study.archive ";
  const std::string words = "run f.cfg --strategy sweep " + more;
  ASSERT_EQ(dodyn(words + "whole.h5").code, 0);
  for (int kills = 0; kills < 5; ++kills) {
    const std::size_t before = rows("killed.h5");
    const pid_t child = start({"--strategy", "sweep", "--testfunction.delay", "0.05", "--surrogate.points", "101",
                               "--study.max-evaluations", "101", "--study.archive", "killed.h5"});
    wait_for_rows("killed.h5", before + 2);
    std::this_thread::sleep_for(std::chrono::milliseconds(7 * kills));
    kill(child, SIGKILL);
    EXPECT_EQ(wait_for(child), 128 + SIGKILL);
    EXPECT_GE(rows("killed.h5"), before + 2);  // no row that a reader saw is lost
  }
  EXPECT_EQ(dodyn(words + "killed.h5").code, 0);
  expect_same("whole.h5", "killed.h5");
}

TEST_F(Command, OneWriterAtATimeAndReadersMeanwhile) {
  const pid_t child = start({"--strategy", "sweep", "--testfunction.delay", "1"});
  wait_for_rows("f.h5", 2);
  const Result second = dodyn("run f.cfg --strategy sweep");
  EXPECT_EQ(second.code, 5) << second.text;
  EXPECT_EQ(std::count(second.text.begin(), second.text.end(), '\n'), 1) << second.text;
  const Result show = dodyn("show f.h5");
  EXPECT_EQ(show.code, 0);
  EXPECT_HAS(show.text, "not finished");
  kill(child, SIGINT);
  EXPECT_EQ(wait_for(child), 3);
}

}  // namespace
}  // namespace dodyn::test_command
