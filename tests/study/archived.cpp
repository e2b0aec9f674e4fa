// An archive has the settings of its study with their sources, and everything needed to evaluate its designs elsewhere.
#include "study/archived.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>

#include "farm/farm.hpp"
#include "study/study.hpp"
#include "surrogate/strategy_options.hpp"
#include "tests/directory.hpp"
#include "tests/message_of.hpp"

namespace dodyn::study::test_archived {
namespace {

namespace fs = std::filesystem;

class Archived : public ::testing::Test {
 protected:
  void SetUp() override {
    fs::create_directories(folder / "configs");
    fs::create_directories(folder / "elsewhere");
  }

  std::string configured(const std::string& text) const {
    const std::string path = folder / "configs" / "a.cfg";
    std::ofstream(path) << text;
    return path;
  }

  // Runs three evaluations; the archive is then all that is left.
  archive::Contents run(const std::string& text, std::vector<std::string> words = {}) const {
    words.push_back("--study.archive=" + archive());
    words.push_back("--study.max-evaluations=3");
    const Settings settings = evaluators::read_settings(configured(text), words);
    const std::shared_ptr<const Evaluator> evaluator = evaluators::make_evaluator(settings);
    const auto strategy = make_strategy(settings, *evaluator);
    const auto farm = farm::make_local_farm(make_work(evaluator, settings));
    Study(
        settings, *evaluator, *strategy, *farm, {}, [] { return ""; }, [](const Progress&) {})
        .run();
    fs::remove(folder / "configs" / "a.cfg");
    return archive::read(archive());
  }
  std::string archive() const { return folder / "elsewhere" / "a.h5"; }

  // Evaluates each row again from the archive alone. The checksum of the outcome must be that of the row.
  void expect_replayed(const archive::Contents& contents) const {
    const ArchivedStudy study = archived_study(archive(), {}, 0, true);
    EXPECT_EQ(problem_mismatch(study.problem.settings, *study.evaluator, contents), "");
    const std::shared_ptr<const Evaluator> evaluator = make_evaluator(study.problem);
    const auto farm = farm::make_local_farm(make_work(evaluator, study.problem.settings));
    ASSERT_EQ(contents.evaluations.size(), 3u);
    for (std::size_t row = 0; row < 3; ++row) {
      Task task;
      task.evaluation.id = contents.evaluations[row].id;
      task.evaluation.design = contents.evaluations[row].design;
      task.evaluation.seed = contents.evaluations[row].seed;
      task.time_limit = study.problem.settings.real("study.time-limit");
      const Outcome outcome = evaluate(*evaluator, *farm, task);
      EXPECT_TRUE(contents.evaluations[row].ok()) << contents.evaluations[row].reason;
      EXPECT_EQ(archive::outcome_checksum(contents.layout, outcome), contents.outcomes[row])
          << outcome.evaluation.reason << ", cost " << outcome.evaluation.cost << ", was "
          << contents.evaluations[row].cost;
    }
  }

  static std::string refusal(const std::string& path, bool trusts) {
    return message_of<ConfigError>([&] { archived_study(path, {}, 0, trusts); }, "accepted");
  }

  const Directory own;
  const fs::path folder = own.path;
};

std::string command(const std::string& run, const std::string& design) {
  return "[study]\nevaluator = command\ntime-limit = 30\n[surrogate]\nstrategy = sweep\npoints = 3\n[design]\n" +
         design + "[command]\nrun = " + run + "\n";
}

TEST_F(Archived, AProgramFindsItsFolderAndItsTimeLimit) {
  std::ofstream(folder / "configs" / "cost.sh")
      << "printf '{\"cost\": %s%s}' \"$DODYN_TIME_LIMIT\" \"${DODYN_X#0}\" > $DODYN_RESULT_FILE\n";
  const auto contents = run(command("sh \"$DODYN_STUDY/cost.sh\"", "x.min = 0.1\nx.max = 0.9\n"));
  EXPECT_EQ(contents.provenance.folder, (folder / "configs").string());
  EXPECT_EQ(contents.evaluations[0].cost, 30.1);
  expect_replayed(contents);
  fs::rename(folder / "configs", folder / "gone");
  expect_replayed(contents);  // by the script that the archive holds
  const std::string strange = refusal(archive(), false);
  EXPECT_EQ(strange.find(archive() + ": its designs are evaluated by a program that the archive names: sh "), 0u)
      << strange;
  EXPECT_NE(strange.find("then add --trust"), std::string::npos) << strange;
}

TEST_F(Archived, AnEvaluationThatIsNotThereIsRefused) {
  run("[study]\nevaluator = testfunction\n[design]\nx.min = 0\nx.max = 1\n");
  EXPECT_EQ(archived_study(archive(), {}, 2, true).evaluation.id, 2);
  const std::string line = message_of<ConfigError>([&] { archived_study(archive(), {}, 99, true); });
  EXPECT_EQ(line, archive() + ": no evaluation 99; allowed: an id from 0 to 2");
}

// A list of names, a list of numbers, and a shell command with a character that begins a comment in a configuration.
TEST_F(Archived, ListsAndLinesOfShellAreWhatTheyWere) {
  const auto contents = run(command("", "material = steel, brass\nwidth = 0.02, 0.03\n"),
                            {"--command.run",
                             "test $DODYN_MATERIAL = steel; # a comment\n"
                             "printf '{\"cost\": %s}' \"1$?$DODYN_WIDTH\" > $DODYN_RESULT_FILE"});
  EXPECT_EQ(contents.evaluations.size(), 3u);
  expect_replayed(contents);
}

// Settings without effect, and derived parameters: the archive has no value that was not used.
TEST_F(Archived, NoParameterHasAValueThatWasNotUsed) {
  const auto settings = [&](const std::string& gait) {
    const Settings all = evaluators::read_settings(
        configured("[study]\nevaluator = gait\n[design]\nknee.min = 0.3\nknee.max = 0.7\n[gait]\n" + gait), {});
    const auto pairs = all.configuration();
    return std::map<std::string, std::string>(pairs.begin(), pairs.end());
  };
  auto all = settings("");
  EXPECT_EQ(all.at("design.shank_mass"), "2");
  EXPECT_EQ(all.at("design.thigh"), "leg - knee");
  for (const char* idle : {"design.step-width", "gait.friction"}) EXPECT_FALSE(all.contains(idle)) << idle;
  all = settings("model = spatial-biped\n");
  EXPECT_EQ(all.at("design.step-width"), "0.2");
}

// A default that every scenario replaces is used by none; one that a scenario uses is used.
TEST_F(Archived, ScenariosDecideWhatIsUsed) {
  const auto pairs =
      evaluators::read_settings(configured("[study]\nevaluator = gait\n[design]\nknee.min = 0.3\nknee.max = 0.7\n"
                                           "[scenario slow]\nstep-length = 0.4\ncontact = friction-cone\n"
                                           "[scenario fast]\nstep-length = 0.6\nperiod = 0.7\n"),
                                {})
          .configuration();
  const std::map<std::string, std::string> all(pairs.begin(), pairs.end());
  EXPECT_FALSE(all.contains("design.step-length"));
  EXPECT_EQ(all.at("design.period"), "0.9");
  EXPECT_EQ(all.at("gait.friction"), "0.8");
}

// The thigh depends on the knee. As a fixed value it would describe another walker.
TEST_F(Archived, AGaitIsThatOfTheWalkerThatWalked) {
  const auto contents =
      run("[study]\nevaluator = gait\n[surrogate]\nstrategy = sweep\npoints = 3\n[design]\nknee.min = 0.4\n"
          "knee.max = 0.6\n[gait]\nintervals = 8\ninitial-guesses = 1\nshifts = 0\nvalidity-check = warn\n"
          "coarse-intervals = 0\ntasks = 1\n");
  const std::map<std::string, std::string> given(contents.provenance.given.begin(), contents.provenance.given.end());
  EXPECT_EQ(given.at("gait.intervals"), folder.string() + "/configs/a.cfg:10");
  EXPECT_EQ(given.count("gait.leg-radius"), 0u);
  EXPECT_EQ(archived_study(archive(), {}, 0, true).problem.settings.design_given("thigh"), false);
  const ArchivedStudy study = archived_study(archive(), {}, 0, true);
  const std::shared_ptr<const Evaluator> evaluator = make_evaluator(study.problem);
  Task task;
  task.evaluation = contents.evaluations[0];
  task.evaluation.status = Status::failed;
  const auto farm = farm::make_local_farm(make_work(evaluator, study.problem.settings));
  EXPECT_EQ(archive::outcome_checksum(contents.layout, evaluate(*evaluator, *farm, task)), contents.outcomes[0]);
}

}  // namespace
}  // namespace dodyn::study::test_archived
