// Evaluations in parts: the study is the same, however the parts are distributed, interrupted and continued.
#include "study/parts.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <filesystem>
#include <fstream>
#include <random>

#include "record/random.hpp"
#include "study/study.hpp"
#include "tests/directory.hpp"

namespace dodyn::study::test_parts {
namespace {

// Answers the latest task first. Has no ranks left after `answers` answers.
class DyingFarm : public farm::Farm {
 public:
  DyingFarm(Work work, int answers) : work_(std::move(work)), left_(answers) {}
  int evaluators() const override { return left_ > 0 ? 1 : 0; }
  int outstanding() const override { return static_cast<int>(tasks_.size()); }
  void submit(Task task) override { tasks_.push_back(std::move(task)); }
  void cancel_queued() override { tasks_.clear(); }
  std::optional<Outcome> next(std::chrono::milliseconds) override {
    if (tasks_.empty() || left_ == 0) return {};
    --left_;
    Outcome outcome = work_(tasks_.back());
    tasks_.pop_back();
    bool lost = lost_each_[{outcome.evaluation.id, outcome.part}]++ < each_;
    if (losses_ > 0 && outcome.part == 2) {
      --losses_;
      lost = true;
    }
    if (lost) outcome.evaluation.status = Status::lost;
    return outcome;
  }
  void lose(int losses) { losses_ = losses; }         // number of losses of part 2, of any evaluation
  void lose_each(int attempts) { each_ = attempts; }  // number of losses of each part of each evaluation

 private:
  Work work_;
  int left_, losses_ = 0, each_ = 0;
  std::map<std::pair<std::int64_t, std::int32_t>, int> lost_each_;
  std::vector<Task> tasks_;
};

class PartsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::ofstream(config) << "[study]\nevaluator = testfunction\n[surrogate]\nstrategy = sweep\npoints = 4\n"
                             "[testfunction]\nname = quadratic\nnoise = 1\nsamples = 5\n"
                             "[design]\nx.min = 0\nx.max = 1\n";
  }

  Summary run(const std::string& archive, int answers = 1000, int losses = 0, int losses_each = 0) {
    const Settings settings = evaluators::read_settings(config, {"--study.archive", directory + "/" + archive});
    const std::shared_ptr<const Evaluator> evaluator = evaluators::make_evaluator(settings);
    const auto strategy = make_strategy(settings, *evaluator);
    const Work work = make_work(evaluator, settings);
    DyingFarm farm(
        [&](const Task& task) {
          ++performed;
          return work(task);
        },
        answers);
    farm.lose(losses);
    farm.lose_each(losses_each);
    return Study(
               settings, *evaluator, *strategy, farm, {}, [] { return ""; }, [](const Progress&) {})
        .run();
  }

  std::vector<double> costs(const std::string& archive) const {
    std::map<std::int64_t, double> by_id;
    for (const auto& row : archive::read(directory + "/" + archive).evaluations) by_id[row.id] = row.cost;
    std::vector<double> all;
    for (const auto& [id, cost] : by_id) all.push_back(cost);
    return all;
  }
  std::string parts_file(const std::string& archive) const { return directory + "/" + archive + ".parts"; }

  const Directory own;
  const std::string directory = own.path.string();
  const std::string config = directory + "/f.cfg";
  int performed = 0;
};

TEST_F(PartsTest, AreJoinedInOrderWhateverOrderTheyComeIn) {
  EXPECT_EQ(run("a.h5").ending, Ending::finished);
  EXPECT_EQ(performed, 20);
  EXPECT_FALSE(std::filesystem::exists(parts_file("a.h5")));
  const auto rows = archive::read(directory + "/a.h5").evaluations;
  ASSERT_EQ(rows.size(), 4u);
  for (const auto& row : rows) {
    EXPECT_NEAR(row.cost_stderr, 1 / std::sqrt(5.0), 1e-15);
    double sum = 0;  // one part after another, without a farm
    for (int part = 0; part < 5; ++part) {
      std::mt19937_64 random(evaluation_seed(row.seed, part));
      const double x = row.design(0);
      sum += (x - 0.3) * (x - 0.3) + 2 * 0.4 * 0.4 + std::normal_distribution<double>()(random);
    }
    EXPECT_EQ(row.cost, sum / 5);
  }
}

TEST_F(PartsTest, OutliveTheRunThatAskedForThem) {
  run("whole.h5");
  for (int answers = 1; answers < 20; ++answers) {
    const std::string archive = "cut" + std::to_string(answers) + ".h5";
    performed = 0;
    EXPECT_EQ(run(archive, answers).ending, Ending::interrupted);
    EXPECT_EQ(performed, answers);
    EXPECT_EQ(std::filesystem::exists(parts_file(archive)), answers % 5 != 0);
    EXPECT_EQ(run(archive).ending, Ending::finished);
    EXPECT_EQ(performed, 20);  // none twice
    EXPECT_EQ(costs(archive), costs("whole.h5"));
    EXPECT_FALSE(std::filesystem::exists(parts_file(archive)));
  }
}

TEST_F(PartsTest, ATornEndIsCutOff) {
  run("whole.h5");
  run("a.h5", 3);
  const auto size = std::filesystem::file_size(parts_file("a.h5"));
  for (const auto cut : {size - 1, size - size / 3 + 5, size / 3 + 4, std::uintmax_t{7}}) {
    std::filesystem::copy(directory + "/a.h5", directory + "/b.h5");
    std::filesystem::copy(parts_file("a.h5"), parts_file("b.h5"));
    std::filesystem::resize_file(parts_file("b.h5"), cut);
    performed = 0;
    run("b.h5");
    EXPECT_EQ(performed, 20 - static_cast<int>(cut / (size / 3)));
    EXPECT_EQ(costs("b.h5"), costs("whole.h5"));
    std::filesystem::remove(directory + "/b.h5");
  }
}

// A length that is damaged on the disk, here 2^60 bytes, does not make the reader allocate memory.
TEST_F(PartsTest, ADamagedLengthIsTheEndOfTheFile) {
  run("whole.h5");
  run("a.h5", 3);
  {
    std::fstream file(parts_file("a.h5"), std::ios::binary | std::ios::in | std::ios::out);
    const std::uint64_t length = std::uint64_t{1} << 60;
    file.write(reinterpret_cast<const char*>(&length), sizeof length);
  }
  performed = 0;
  EXPECT_EQ(run("a.h5").ending, Ending::finished);
  EXPECT_EQ(performed, 20) << "what follows a damaged length is no answer";
  EXPECT_EQ(costs("a.h5"), costs("whole.h5"));
}

// Bytes that changed on the disk are not an answer either.
TEST_F(PartsTest, ADamagedAnswerIsNone) {
  run("whole.h5");
  run("a.h5", 3);
  {
    std::fstream file(parts_file("a.h5"), std::ios::binary | std::ios::in | std::ios::out);
    file.seekp(40);
    file.put('\x5a');
  }
  performed = 0;
  run("a.h5");
  EXPECT_EQ(performed, 20);
  EXPECT_EQ(costs("a.h5"), costs("whole.h5"));
}

// The archive was removed, to start another study of the same name: the remaining file of parts is ignored.
TEST_F(PartsTest, OfAnotherArchiveAreDropped) {
  run("a.h5", 3);
  std::filesystem::remove(directory + "/a.h5");
  performed = 0;
  run("a.h5");
  EXPECT_EQ(performed, 20);
}

TEST_F(PartsTest, ALostPartAloneIsRepeated) {
  run("whole.h5");
  performed = 0;
  EXPECT_EQ(run("a.h5", 1000, 2).ending, Ending::finished);
  EXPECT_EQ(performed, 22);
  EXPECT_EQ(costs("a.h5"), costs("whole.h5"));
  const Summary lost = run("b.h5", 1000, 1000);  // part 2 of every evaluation, always
  EXPECT_FALSE(lost.best);
  EXPECT_FALSE(std::filesystem::exists(parts_file("b.h5")));
}

// If several ranks die together, each of their parts loses one attempt. These do not add up for the evaluation.
TEST_F(PartsTest, AttemptsCountForEachPart) {
  run("whole.h5");
  const Summary twice = run("a.h5", 1000, 0, 2);  // fewer losses than study.max-attempts = 3
  EXPECT_EQ(twice.ending, Ending::finished);
  EXPECT_TRUE(twice.unanswered.empty());
  EXPECT_EQ(costs("a.h5"), costs("whole.h5"));
  EXPECT_EQ(archive::read(directory + "/a.h5").evaluations.size(), 4u);  // no rows of lost attempts
  const Summary thrice = run("b.h5", 1000, 0, 3);
  EXPECT_EQ(thrice.unanswered.at(Status::lost), (std::vector<std::int64_t>{0, 1, 2, 3}));
  const auto rows = archive::read(directory + "/b.h5").evaluations;
  EXPECT_EQ(rows.size(), 4u * 3u);
  EXPECT_EQ(rows.front().reason.rfind("part ", 0), 0u) << rows.front().reason;
  EXPECT_FALSE(std::filesystem::exists(parts_file("b.h5")));
  performed = 0;
  EXPECT_TRUE(run("b.h5").was_finished);  // and a resume knows it
  EXPECT_EQ(performed, 0);
}

// Attempts that were lost in earlier runs count in later runs.
TEST_F(PartsTest, LostAttemptsOutliveTheRun) {
  run("whole.h5");
  for (int answers = 1; answers < 20; answers += 3) {
    const std::string archive = "cut" + std::to_string(answers) + ".h5";
    run(archive, answers, 0, 1);
    run(archive, answers, 0, 1);
    EXPECT_EQ(run(archive).ending, Ending::finished);
    EXPECT_EQ(costs(archive), costs("whole.h5"));
  }
  for (int start = 0; start < 3; ++start) run("c.h5", 1, 1);  // part 4 is submitted last, so it is answered
  performed = 0;
  const Summary lost = run("c.h5", 1000, 3);
  EXPECT_EQ(lost.unanswered.count(Status::lost), 1u);
}

// Scenarios with different numbers of parts: a study that is interrupted anywhere and continued is the same.
TEST_F(PartsTest, ScenariosOutliveTheRunThatAskedForThem) {
  std::ofstream(config, std::ios::app) << "[scenario calm]\nsamples = 2\nnoise = 0.1\n"
                                          "[scenario wild]\nsamples = 3\ny = 0.5\nreference = 2\n[scenario other]\n"
                                          "name = branin\nsamples = 1\nweight = 0.5\n";
  run("whole.h5");
  EXPECT_EQ(performed, 4 * 6);
  for (int answers = 1; answers < 24; answers += 2) {
    const std::string archive = "cut" + std::to_string(answers) + ".h5";
    performed = 0;
    EXPECT_EQ(run(archive, answers).ending, Ending::interrupted);
    EXPECT_EQ(performed, answers);
    EXPECT_EQ(run(archive).ending, Ending::finished);
    EXPECT_EQ(performed, 24);  // none twice
    EXPECT_EQ(costs(archive), costs("whole.h5"));
  }
  performed = 0;
  EXPECT_EQ(run("lossy.h5", 1000, 2).ending, Ending::finished);
  EXPECT_EQ(performed, 26);
  EXPECT_EQ(costs("lossy.h5"), costs("whole.h5"));
}

TEST_F(PartsTest, AFarmWithNothingElseToDoGivesTheSame) {
  run("a.h5");
  const auto row = archive::read(directory + "/a.h5").evaluations[1];
  const Settings settings = evaluators::read_settings(config, {});
  const std::shared_ptr<const Evaluator> evaluator = evaluators::make_evaluator(settings);
  const auto farm = farm::make_local_farm(make_work(evaluator, settings));
  Task task;
  task.evaluation.id = row.id;
  task.evaluation.design = row.design;
  task.evaluation.seed = row.seed;
  const Outcome outcome = evaluate(*evaluator, *farm, task);
  EXPECT_EQ(outcome.evaluation.cost, row.cost);
  EXPECT_GT(outcome.evaluation.seconds, 0);
}

}  // namespace
}  // namespace dodyn::study::test_parts
