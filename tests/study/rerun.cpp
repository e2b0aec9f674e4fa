// A repeated evaluation reaches the strategy at the same point of every replay.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <optional>
#include <set>

#include "report/report.hpp"
#include "study/study.hpp"
#include "surrogate/strategy_options.hpp"
#include "tests/directory.hpp"

namespace dodyn::study::test_rerun {
namespace {

const std::set<std::int64_t> failed_ones;  // none named

struct Case {
  std::string strategy, mode;
};
void PrintTo(const Case& c, std::ostream* out) { *out << c.strategy << ", " << c.mode; }

class Rerun : public ::testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    std::ofstream(directory + "/f.cfg") << "[study]\nevaluator = testfunction\nmax-evaluations = 18\nbatch = 3\n"
                                        << "[surrogate]\npoints = 18\n[testfunction]\nname = forrester\n"
                                        << "[design]\nx.min = 0\nx.max = 1\n";
  }

  std::string path(const std::string& archive) const { return directory + "/" + archive; }

  // A run, or a rerun. `broken`: half of the designs, around the minimum, fail. Interrupted after this number of rows.
  Summary start(const std::string& archive, bool broken, const std::optional<std::set<std::int64_t>>& again = {},
                std::size_t interrupt_at = 1000) const {
    const Settings settings = evaluators::read_settings(
        directory + "/f.cfg",
        {"--study.archive=" + path(archive), "--strategy=" + GetParam().strategy, "--study.mode=" + GetParam().mode});
    const std::shared_ptr<const Evaluator> evaluator = evaluators::make_evaluator(settings);
    const auto strategy = make_strategy(settings, *evaluator);
    const Work works = make_work(evaluator, settings);
    const auto farm = farm::make_local_farm([&](const Task& task) {
      if (!broken || task.evaluation.design(0) < 0.45) return works(task);
      Outcome outcome{task.evaluation, {}};
      outcome.evaluation.reason = "broken";
      return outcome;
    });
    bool interrupted = false;
    Study study(
        settings, *evaluator, *strategy, *farm, {}, [&] { return std::string(interrupted ? "interrupted" : ""); },
        [&](const Progress& progress) { interrupted = interrupted || progress.evaluations.size() >= interrupt_at; });
    return again ? study.rerun(*again) : study.run();
  }

  std::vector<Evaluation> rows(const std::string& archive) const { return archive::read(path(archive)).evaluations; }
  // The rows that count, in the order of the ids.
  std::vector<Evaluation> answers(const std::string& archive) const {
    const archive::Contents contents = archive::read(path(archive));
    std::vector<Evaluation> all;
    for (const auto& [id, row] : archive::latest(contents)) all.push_back(contents.evaluations[row]);
    return all;
  }

  const Directory own;
  const std::string directory = own.path.string();
};

TEST_P(Rerun, KeepsIdDesignAndSeedAndIsToldInEveryReplay) {
  start("a.h5", true, {}, 7);
  const auto before = answers("a.h5");
  const std::size_t failed =
      std::count_if(before.begin(), before.end(), [](const auto& e) { return e.status == Status::failed; });
  ASSERT_GT(failed, 0u);
  const std::size_t earlier = rows("a.h5").size();
  const Summary again = start("a.h5", false, failed_ones);
  EXPECT_EQ(again.evaluated, static_cast<int>(failed));
  ASSERT_EQ(rows("a.h5").size(), earlier + failed);
  const auto after = answers("a.h5");
  ASSERT_EQ(after.size(), before.size());
  for (std::size_t i = 0; i < after.size(); ++i) {
    EXPECT_EQ(after[i].design, before[i].design);
    EXPECT_EQ(after[i].seed, before[i].seed);
    EXPECT_EQ(after[i].status, Status::ok);
  }
  EXPECT_EQ(start("a.h5", false, failed_ones).evaluated, 0) << "nothing is left to do again";

  // Uninterrupted and in several runs: the same study.
  std::filesystem::copy_file(path("a.h5"), path("b.h5"));
  const Summary whole = start("a.h5", false);
  EXPECT_TRUE(whole.ending == Ending::finished || whole.ending == Ending::limit) << whole.reason;
  for (std::size_t at = before.size() + 2; at < 18; at += 2) start("b.h5", false, {}, at);
  start("b.h5", false);
  const auto one = answers("a.h5"), other = answers("b.h5");
  ASSERT_EQ(one.size(), other.size());
  for (std::size_t i = 0; i < one.size(); ++i) {
    if (GetParam().mode == "synchronous") {
      EXPECT_EQ(one[i].design, other[i].design) << i;
    }
    EXPECT_EQ(one[i].status, Status::ok);
  }
  for (const char* archive : {"a.h5", "b.h5"}) {
    const Summary replayed = start(archive, false);
    EXPECT_EQ(replayed.evaluated, 0);
    EXPECT_TRUE(replayed.was_finished) << replayed.reason;
    ASSERT_TRUE(replayed.best);
    EXPECT_EQ(
        replayed.best->cost,
        (*std::min_element(one.begin(), one.end(), [](const auto& a, const auto& b) { return a.cost < b.cost; })).cost);
  }
  EXPECT_TRUE(archive::verify(path("a.h5")).problems.empty());

  // If there is nothing to repeat, the archive is unchanged.
  const archive::Contents finished = archive::read(path("b.h5"));
  const Summary nothing = start("b.h5", false, failed_ones);
  EXPECT_TRUE(nothing.was_finished);
  EXPECT_FALSE(finished.stopped.empty());
  const archive::Contents same = archive::read(path("b.h5"));
  EXPECT_EQ(same.stopped, finished.stopped);
  EXPECT_EQ(same.events.size(), finished.events.size());
  EXPECT_EQ(same.evaluations.size(), finished.evaluations.size());

  // Usable evaluations may be repeated, too. Every strategy accepts two costs of one design.
  EXPECT_EQ(start("b.h5", false, {{0, 1, 2}}).evaluated, 3);
  EXPECT_EQ(archive::read(path("b.h5")).stopped, "repeated 3 evaluations; dodyn run passes the results to the search");
  EXPECT_NE(start("b.h5", false).ending, Ending::repeated);
  EXPECT_EQ(start("b.h5", false).evaluated, 0);
  const std::string stopped = archive::read(path("b.h5")).stopped;
  EXPECT_THROW(start("b.h5", false, {{77}}), ConfigError);
  EXPECT_EQ(archive::read(path("b.h5")).stopped, stopped);  // a refusal leaves the end of the study
}

std::vector<Case> cases() {
  std::vector<Case> all = {{"sweep", "asynchronous"}, {"spline", "asynchronous"}, {"ego", "asynchronous"}};
  for (const auto& kind : surrogate::strategy_kinds())
    if (kind.name != "bobyqa") all.push_back({kind.name, "synchronous"});  // which takes two variables at least
  return all;
}

INSTANTIATE_TEST_SUITE_P(Strategies, Rerun, testing::ValuesIn(cases()), [](const auto& one) {
  std::string name = one.param.strategy + "_" + one.param.mode;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

}  // namespace
}  // namespace dodyn::study::test_rerun
