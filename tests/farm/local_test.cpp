#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <cmath>
#include <ctime>
#include <regex>
#include <set>
#include <stdexcept>
#include <thread>

#include "farm/farm.hpp"
#include "farm/perform.hpp"
#include "samples.hpp"

namespace dodyn::farm::test_local {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;
constexpr auto forever = std::chrono::milliseconds::max();

TEST(Perform, KeepsTheAnswerAndAddsTheCircumstances) {
  const Task task = sample_task(6);
  const auto slow = [](const Task& t) {
    std::this_thread::sleep_for(20ms);
    return sample_work(t);
  };
  const auto begin = Clock::now();
  const Outcome outcome = perform(slow, task, 5);
  const std::chrono::duration<double> took = Clock::now() - begin;
  EXPECT_EQ(texts(outcome.evaluation, circumstances), texts(sample_work(task).evaluation, circumstances));
  EXPECT_EQ(texts(outcome.trajectory), texts(sample_work(task).trajectory));
  EXPECT_EQ(outcome.evaluation.rank, 5);
  EXPECT_GE(outcome.evaluation.seconds, 0.020);
  EXPECT_LE(outcome.evaluation.seconds, took.count());
  char host[256] = "";
  ASSERT_EQ(gethostname(host, sizeof host - 1), 0);
  EXPECT_EQ(outcome.evaluation.host, host);
}

TEST(Perform, StampsTheStartInUtc) {
  // not std::time, which may lag behind the clock by a tick of the machine
  const auto now = [] { return std::chrono::system_clock::to_time_t(std::chrono::system_clock::now()); };
  const std::time_t before = now();
  const std::string started = perform(sample_work, sample_task(0), 0).evaluation.started;
  const std::time_t after = now();
  std::smatch match;
  ASSERT_TRUE(std::regex_match(started, match, std::regex(R"((\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)\.\d{3}Z)"))) << started;
  std::tm utc{};
  ASSERT_NE(strptime(match.str(1).c_str(), "%Y-%m-%dT%H:%M:%S", &utc), nullptr);
  EXPECT_GE(timegm(&utc), before);
  EXPECT_LE(timegm(&utc), after);
}

TEST(Perform, IdentityIsThatOfTheTask) {
  const Task task = sample_task(7);
  const Outcome outcome = perform([](const Task&) { return Outcome{}; }, task, 0);
  EXPECT_EQ(outcome.evaluation.id, 7);
  EXPECT_EQ(outcome.evaluation.parent, 6);
  EXPECT_EQ(outcome.evaluation.seed, 1007u);
  EXPECT_EQ(outcome.evaluation.design, task.evaluation.design);
}

TEST(Perform, ExceptionBecomesAReasonOfOneLine) {
  const auto evaluate = [](auto thrown) {
    return perform([&](const Task&) -> Outcome { throw thrown; }, sample_task(3), 0).evaluation;
  };
  const Evaluation standard = evaluate(std::runtime_error("mass matrix\nis singular"));
  EXPECT_EQ(standard.status, Status::failed);
  EXPECT_EQ(standard.reason, "mass matrix is singular");
  EXPECT_TRUE(std::isnan(standard.cost));
  EXPECT_EQ(standard.id, 3);
  const Evaluation other = evaluate(42);
  EXPECT_EQ(other.status, Status::failed);
  EXPECT_FALSE(other.reason.empty());
}

TEST(Perform, NoCostThatIsNotFinitePassesForOk) {
  for (const double cost : {not_a_number, HUGE_VAL, -HUGE_VAL}) {
    const auto work = [&](const Task& task) {
      Outcome outcome{task.evaluation, {}};
      outcome.evaluation.status = Status::ok;
      outcome.evaluation.cost = cost;
      return outcome;
    };
    const Evaluation evaluation = perform(work, sample_task(0), 0).evaluation;
    EXPECT_EQ(evaluation.status, Status::failed);
    EXPECT_FALSE(evaluation.reason.empty());
  }
}

TEST(LocalFarm, ReturnsEveryTaskOnceInOrder) {
  const auto farm = make_local_farm(sample_work);
  EXPECT_EQ(farm->evaluators(), 1);
  for (int id = 0; id < 1000; ++id) farm->submit(sample_task(id));
  EXPECT_EQ(farm->outstanding(), 1000);
  for (int id = 0; id < 1000; ++id) {
    const auto outcome = farm->next(forever);
    ASSERT_TRUE(outcome);
    ASSERT_EQ(texts(outcome->evaluation, circumstances), texts(sample_work(sample_task(id)).evaluation, circumstances));
    ASSERT_EQ(farm->outstanding(), 999 - id);
  }
  EXPECT_FALSE(farm->next(forever)) << "nothing outstanding, nothing to wait for";
}

// Several threads run as many evaluations at once, each exactly once. An evaluation that never stops occupies one
// thread.
TEST(LocalFarm, SeveralWorkersShareTheQueue) {
  std::atomic<int> running = 0, most = 0;
  std::atomic<bool> released = false;
  const auto farm = make_local_farm(
      [&](const Task& task) {
        const int now = ++running;
        for (int before = most; before < now && !most.compare_exchange_weak(before, now);) continue;
        while (most < 3) std::this_thread::sleep_for(1ms);  // the first ones meet
        while (task.evaluation.id == 0 && !released) std::this_thread::sleep_for(1ms);
        --running;
        return sample_work(task);
      },
      Timeouts{0.1, 10}, 3);
  EXPECT_EQ(farm->evaluators(), 3);
  for (int id = 0; id < 20; ++id) {
    Task task = sample_task(id);
    task.time_limit = id == 0 ? 0.1 : 60;
    farm->submit(std::move(task));
  }
  std::set<std::int64_t> ids;
  std::set<int> ranks;
  while (farm->outstanding() > 0) {
    const auto outcome = farm->next(forever);
    ASSERT_TRUE(outcome);
    EXPECT_TRUE(ids.insert(outcome->evaluation.id).second);
    ranks.insert(outcome->evaluation.rank);
    if (outcome->evaluation.id == 0) {
      EXPECT_EQ(outcome->evaluation.status, Status::timed_out);
      EXPECT_EQ(farm->evaluators(), 2);
    }
  }
  EXPECT_EQ(ids.size(), 20u);
  EXPECT_EQ(most, 3);
  EXPECT_EQ(ranks, (std::set<int>{0, 1, 2}));
  released = true;
  while (running > 0) std::this_thread::sleep_for(1ms);
}

TEST(LocalFarm, NextWaitsNoLongerThanAsked) {
  std::atomic<bool> released = false;
  const auto farm = make_local_farm([&](const Task& task) {
    while (!released) std::this_thread::sleep_for(1ms);
    return sample_work(task);
  });
  farm->submit(sample_task(0));
  const auto start = Clock::now();
  EXPECT_FALSE(farm->next(0ms));
  EXPECT_FALSE(farm->next(20ms));
  EXPECT_GE(Clock::now() - start, 20ms);
  EXPECT_EQ(farm->outstanding(), 1);
  released = true;
  EXPECT_TRUE(farm->next(forever));
}

TEST(LocalFarm, ClosesEarlyWithoutTheQueued) {
  std::atomic<int> started = 0, finished = 0;
  {
    const auto farm = make_local_farm([&](const Task& task) {
      ++started;
      std::this_thread::sleep_for(30ms);
      ++finished;
      return sample_work(task);
    });
    for (int id = 0; id < 1000; ++id) farm->submit(sample_task(id));
    ASSERT_TRUE(farm->next(forever));
  }
  EXPECT_EQ(started, finished) << "what ran was waited for";
  EXPECT_LT(started, 100) << "what was queued was dropped";
}

}  // namespace
}  // namespace dodyn::farm::test_local
