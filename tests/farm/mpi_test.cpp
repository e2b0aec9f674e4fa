// The farm over MPI ranks; CTest runs this program on 1, 2 and 4 of them, and without mpirun. Every rank runs every
// test: rank 0 schedules and checks, the others serve.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <ctime>
#include <iostream>
#include <map>
#include <set>
#include <stdexcept>
#include <thread>

#include "farm/farm.hpp"
#include "samples.hpp"

namespace dodyn::farm::test_mpi {
namespace {

using namespace std::chrono_literals;
constexpr auto forever = std::chrono::milliseconds::max();

const Session* session = nullptr;

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}
double processor_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }  // all threads

// Submits tasks 0 ... n-1 and returns the outcomes by id. Fails if one is missing or arrives twice.
std::map<std::int64_t, Outcome> run(Farm& farm, int n, Task (*make_task)(std::int64_t) = sample_task) {
  for (int id = 0; id < n; ++id) farm.submit(make_task(id));
  std::map<std::int64_t, Outcome> outcomes;
  while (auto outcome = farm.next(forever)) {
    const std::int64_t id = outcome->evaluation.id;
    EXPECT_TRUE(outcomes.emplace(id, std::move(*outcome)).second) << "twice: " << id;
  }
  EXPECT_EQ(std::ssize(outcomes), n);
  EXPECT_EQ(farm.outstanding(), 0);
  return outcomes;
}

TEST(MpiFarm, AllRanksAreThere) {
  // set by the test's command line; a program that took MPI from Ipopt's sequential stubs would see one rank
  const char* ranks = std::getenv("DODYN_TEST_RANKS");
  ASSERT_TRUE(ranks);
  EXPECT_EQ(session->size(), std::atoi(ranks));
}

// The same bits as from this process alone, so the same on every number of ranks.
TEST(MpiFarm, AnswersAreThoseOfOneProcess) {
  if (session->rank() > 0) return serve(*session, sample_work);
  const auto farm = make_mpi_farm(*session, sample_work);
  EXPECT_EQ(farm->evaluators(), session->size());
  for (const auto& [id, outcome] : run(*farm, 500)) {
    const Outcome expected = sample_work(sample_task(id));
    ASSERT_EQ(texts(outcome.evaluation, circumstances), texts(expected.evaluation, circumstances));
    ASSERT_EQ(texts(outcome.trajectory), texts(expected.trajectory));
  }
}

TEST(MpiFarm, EveryRankEvaluates) {
  const auto slow = [](const Task& task) {
    std::this_thread::sleep_for(20ms);
    return sample_work(task);
  };
  if (session->rank() > 0) return serve(*session, slow);
  const auto farm = make_mpi_farm(*session, slow);
  const int tasks = 10 * session->size();
  const auto start = std::chrono::steady_clock::now();
  std::map<int, int> tasks_of_rank;
  for (const auto& [id, outcome] : run(*farm, tasks)) ++tasks_of_rank[outcome.evaluation.rank];
  const double efficiency = 10 * 0.020 / seconds_since(start);
  for (int rank = 0; rank < session->size(); ++rank) EXPECT_GE(tasks_of_rank[rank], 5) << rank;
  std::cout << "parallel efficiency, 20 ms tasks: " << efficiency << '\n';
  EXPECT_GT(efficiency, 0.5);
}

TEST(MpiFarm, ExceptionsComeBackAsReasons) {
  const auto fragile = [](const Task& task) -> Outcome {
    if (task.evaluation.id % 3 == 1)
      throw std::runtime_error("no gait for design " + std::to_string(task.evaluation.id));
    if (task.evaluation.id % 3 == 2) throw 2;
    return sample_work(task);
  };
  if (session->rank() > 0) return serve(*session, fragile);
  const auto farm = make_mpi_farm(*session, fragile);
  for (const auto& [id, outcome] : run(*farm, 60)) {
    if (id % 3 == 0) {
      EXPECT_EQ(outcome.evaluation.reason, "id " + std::to_string(id));
    } else {
      EXPECT_EQ(outcome.evaluation.status, Status::failed);
      EXPECT_TRUE(outcome.trajectory.empty());
      EXPECT_EQ(outcome.evaluation.design, sample_task(id).evaluation.design);
    }
    if (id % 3 == 1) {
      EXPECT_EQ(outcome.evaluation.reason, "no gait for design " + std::to_string(id));
    }
  }
}

TEST(MpiFarm, ClosesEarlyAndOpensAgain) {
  const auto slow = [](const Task& task) {
    std::this_thread::sleep_for(20ms);
    return sample_work(task);
  };
  if (session->rank() > 0) {
    serve(*session, slow);
    return serve(*session, sample_work);
  }
  const auto start = std::chrono::steady_clock::now();
  {
    const auto farm = make_mpi_farm(*session, slow);
    for (int id = 1000; id < 3000; ++id) farm->submit(sample_task(id));
    EXPECT_TRUE(farm->next(forever));
  }
  EXPECT_LT(seconds_since(start), 2.0) << "2000 tasks take 10 s on four ranks";
  const auto farm = make_mpi_farm(*session, sample_work);
  for (const auto& [id, outcome] : run(*farm, 100)) EXPECT_LT(id, 100) << "an outcome of the farm before";
}

TEST(MpiFarm, TenThousandTinyTasks) {
  const auto echo = [](const Task& task) { return Outcome{task.evaluation, {}}; };
  if (session->rank() > 0) return serve(*session, echo);
  const auto farm = make_mpi_farm(*session, echo);
  const auto start = std::chrono::steady_clock::now();
  run(*farm, 10000);
  std::cout << "tiny tasks: " << 10000 / seconds_since(start) << " per second on " << session->size() << " ranks\n";
}

TEST(MpiFarm, LargeTrajectoriesBothWays) {
  constexpr auto large = [](std::int64_t id) {
    Task task = sample_task(id);
    task.warm_start.values = {Eigen::MatrixXd::Constant(100, 10000, id), Eigen::MatrixXd::Constant(1, 1, id)};  // 8 MB
    return task;
  };
  if (session->rank() > 0) return serve(*session, sample_work);
  const auto farm = make_mpi_farm(*session, sample_work);
  const auto start = std::chrono::steady_clock::now();
  for (const auto& [id, outcome] : run(*farm, 20, large)) {
    ASSERT_EQ(outcome.trajectory.values.size(), 2u);
    EXPECT_EQ(outcome.trajectory.values[0], Eigen::MatrixXd::Constant(100, 10000, 2.0 * id));
  }
  std::cout << "8 MB trajectories: " << 20 / seconds_since(start) << " per second on " << session->size() << " ranks\n";
}

// A slow rank: its task is repeated on another rank, and the first answer counts. Each task has one answer. The slow
// rank is available again as soon as it receives the request to stop. (Only after the answer "lost" does the farm wait for the copy; this work never
// gives that answer.)
TEST(MpiFarm, StragglersAreBegunAgainElsewhere) {
  const Timeouts timeouts{.duplicate_after = 4};
  const auto never_lost = [](const Task& task) {
    Outcome outcome = sample_work(task);
    if (outcome.evaluation.status == Status::lost) outcome.evaluation.status = Status::failed;
    return outcome;
  };
  for (const int slow : {0, 1}) {
    const auto work = [&](const Task& task) {
      for (int i = 0; i < (session->rank() == slow ? 3000 : 2) && task.seconds_left() > 0; ++i)
        std::this_thread::sleep_for(10ms);
      return never_lost(task);
    };
    if (session->rank() > 0) {
      serve(*session, work, timeouts);
      continue;
    }
    if (session->size() < 3) {
      make_mpi_farm(*session, work, timeouts);
      continue;
    }
    const auto farm = make_mpi_farm(*session, work, timeouts);
    for (int batch = 0; batch < 3; ++batch) {
      const auto outcomes = run(*farm, 40);
      ASSERT_EQ(outcomes.size(), 40u);
      for (const auto& [id, outcome] : outcomes) {
        const Outcome expected = never_lost(sample_task(id));
        ASSERT_EQ(texts(outcome.evaluation, circumstances), texts(expected.evaluation, circumstances));
        EXPECT_NE(outcome.evaluation.rank, slow) << id;  // it takes 30 s
      }
      EXPECT_EQ(farm->evaluators(), session->size());
    }
    int again = 0;
    for (const Event& event : farm->take_events()) again += event.kind == "begun again";
    EXPECT_GE(again, 1);  // more, unless the machine is so loaded that the others do a batch while this one wakes up
    EXPECT_LE(again, 40);
  }
}

// Short tasks go out two at a time; none is lost or done twice, with a long one at the end.
TEST(MpiFarm, ShortTasksAreSentAhead) {
  const auto mixed = [](const Task& task) {
    std::this_thread::sleep_for(task.evaluation.id == 300 ? 1000ms : 1ms);
    return sample_work(task);
  };
  if (session->rank() > 0) return serve(*session, mixed);
  run(*make_mpi_farm(*session, mixed), 301);
}

// Waiting costs next to nothing: for workers while rank 0 prepares, and for rank 0 while it waits for an outcome.
TEST(MpiFarm, WaitingIsIdle) {
  const auto sleeper = [](const Task& task) {
    std::this_thread::sleep_for(1s);
    return sample_work(task);
  };
  const double processor_start = processor_seconds();
  const auto start = std::chrono::steady_clock::now();
  if (session->rank() > 0) {
    serve(*session, sleeper);
  } else {
    std::this_thread::sleep_for(1s);
    const auto farm = make_mpi_farm(*session, sleeper);
    run(*farm, 1);
  }
  const double load = (processor_seconds() - processor_start) / seconds_since(start);
  std::cout << "load of waiting rank " << session->rank() << ": " << 100 * load << " %\n";
  EXPECT_LT(load, 0.10);
}

TEST(MpiFarm, RolesAreChecked) {
  if (session->rank() > 0) {
    EXPECT_THROW(make_mpi_farm(*session, sample_work), std::logic_error);
  }
}

}  // namespace
}  // namespace dodyn::farm::test_mpi

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  const dodyn::farm::Session session(argc, argv);
  dodyn::farm::test_mpi::session = &session;
  return RUN_ALL_TESTS();
}
