// Faults of the machine are not failures of a design: the study has the same results, or it stops and states the
// reason.
#include "record/machine.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <fstream>
#include <functional>
#include <map>
#include <mutex>
#include <system_error>
#include <thread>

#include "study/study.hpp"
#include "surrogate/strategy_options.hpp"
#include "tests/directory.hpp"

namespace dodyn::study::test_machine {
namespace {

class MachineTroubles : public ::testing::Test {
 protected:
  void SetUp() override {
    std::ofstream(directory + "/f.cfg") << "[study]\nevaluator = testfunction\nmax-evaluations = 12\nbatch = 3\n"
                                        << "[surrogate]\nstrategy = ego\n[testfunction]\nname = forrester\n"
                                        << "[design]\nx.min = 0\nx.max = 1\n";
  }

  // A run. `trouble` may throw before an attempt is evaluated: (id, attempt of this run, from 1 on).
  Summary run(const std::string& archive, const std::function<void(std::int64_t, int)>& trouble, int workers = 1,
              double rest = 0.02) {
    const Settings settings =
        evaluators::read_settings(directory + "/f.cfg", {"--study.archive=" + directory + "/" + archive});
    const std::shared_ptr<const Evaluator> evaluator = evaluators::make_evaluator(settings);
    const auto strategy = make_strategy(settings, *evaluator);
    const Work works = make_work(evaluator, settings);
    std::map<std::int64_t, int> attempts;
    std::mutex mutex;
    farm::Timeouts timeouts;
    timeouts.rest = rest;
    const auto farm = farm::make_local_farm(
        [&](const Task& task) {
          int attempt = 0;
          {
            const std::lock_guard lock(mutex);
            attempt = ++attempts[task.evaluation.id];
          }
          trouble(task.evaluation.id, attempt);
          return works(task);
        },
        timeouts, workers);
    Study study(
        settings, *evaluator, *strategy, *farm, {}, [] { return std::string(); }, [](const Progress&) {});
    return study.run();
  }
  std::vector<Evaluation> rows(const std::string& archive) const {
    return archive::read(directory + "/" + archive).evaluations;
  }
  void expect_same(const std::string& one, const std::string& other) const {
    const auto answers = [&](const std::string& archive) {
      std::map<std::int64_t, Evaluation> all;
      for (const Evaluation& row : rows(archive))
        if (!is_machine_trouble(row)) all[row.id] = row;
      return all;
    };
    const auto a = answers(one), b = answers(other);
    ASSERT_EQ(a.size(), b.size());
    for (const auto& [id, row] : a) {
      EXPECT_EQ(row.design, b.at(id).design) << id;
      EXPECT_EQ(row.cost, b.at(id).cost) << id;
    }
  }

  const Directory own;
  const std::string directory = own.path.string();
};

void no_trouble(std::int64_t, int) {}

TEST_F(MachineTroubles, AreRepeatedAndNeverTold) {
  run("whole.h5", no_trouble);
  const Summary summary = run("a.h5", [](std::int64_t id, int attempt) {
    if (attempt == 1 && (id == 2 || id == 4 || id == 7))
      throw std::system_error(EMFILE, std::generic_category(), "command: fork");
  });
  EXPECT_EQ(summary.ending, Ending::limit) << summary.reason;
  EXPECT_EQ(summary.troubles, 3);
  EXPECT_EQ(summary.trouble, "command: fork: Too many open files");
  EXPECT_TRUE(summary.unanswered.empty());
  expect_same("whole.h5", "a.h5");
  EXPECT_EQ(rows("a.h5").size(), rows("whole.h5").size() + 3);
}

TEST_F(MachineTroubles, EndTheRunWhereTheyLastAndTheNextOneContinues) {
  run("whole.h5", no_trouble);
  const auto missing = [](std::int64_t id, int) {
    if (id == 5) throw MachineTrouble("./cost.sh: not found");
  };
  for (int start = 0; start < 2; ++start) {  // the second one has answers in the archive, and none of its own
    const Summary summary = run("a.h5", missing);
    EXPECT_EQ(summary.ending, Ending::failed);
    EXPECT_EQ(summary.reason, "evaluation 5 failed: ./cost.sh: not found");
    EXPECT_FALSE(summary.was_finished);
  }
  const Summary summary = run("a.h5", no_trouble);
  EXPECT_EQ(summary.ending, Ending::limit);
  expect_same("whole.h5", "a.h5");
}

TEST_F(MachineTroubles, EndTheRunAtOnceWhereNothingStarts) {
  const Summary summary = run(
      "a.h5", [](std::int64_t, int) { throw MachineTrouble("./cost.sh: not found"); }, 1, 60);
  EXPECT_EQ(summary.ending, Ending::failed);
  EXPECT_EQ(summary.reason, "evaluation 0 failed: ./cost.sh: not found");
  EXPECT_EQ(rows("a.h5").size(), 1u);
  EXPECT_TRUE(is_machine_trouble(rows("a.h5")[0]));
}

// One evaluator of two has a machine on which nothing starts: the other one does the work.
TEST_F(MachineTroubles, OfOneEvaluatorAreNotThoseOfAnother) {
  run("whole.h5", no_trouble);
  std::atomic<std::thread::id> bad = std::thread::id();
  const Summary summary = run(
      "a.h5",
      [&](std::int64_t, int) {
        std::thread::id nobody;
        bad.compare_exchange_strong(nobody, std::this_thread::get_id());
        if (bad == std::this_thread::get_id()) throw MachineTrouble("no licence");
      },
      2);
  EXPECT_EQ(summary.ending, Ending::limit) << summary.reason;
  EXPECT_GT(summary.troubles, 0);
  expect_same("whole.h5", "a.h5");
}

TEST(Cooldown, GrowsWithTroubleInARowAndEndsWithIt) {
  Evaluation fine, trouble;
  mark_machine_trouble(trouble, "no room");
  farm::Cooldown rest(1);
  EXPECT_EQ(rest.after(fine), 0);
  for (const double expected : {1, 2, 4, 8, 16, 32, 60, 60}) EXPECT_EQ(rest.after(trouble), expected);
  EXPECT_EQ(rest.after(fine), 0);
  EXPECT_EQ(rest.after(trouble), 1);
}

}  // namespace
}  // namespace dodyn::study::test_machine
