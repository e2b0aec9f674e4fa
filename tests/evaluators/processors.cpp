// Reservation of processors: no two evaluations share a processor, whatever they request and in whatever order they
// end.
#include "evaluators/processors.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <map>
#include <mutex>
#include <random>
#include <stdexcept>
#include <thread>

namespace dodyn::evaluators::test_processors {
namespace {

TEST(Processors, ReadsWhatBatchSystemsSay) {
  EXPECT_EQ(parse_per_node("4"), std::vector({4}));
  EXPECT_EQ(parse_per_node("4(x2),3,2(x3)"), std::vector({4, 4, 3, 2, 2, 2}));
  for (const char* wrong : {"", "x", "4(x", "4(y2)", "0", "-3", "4(x0)"})
    EXPECT_THROW(parse_per_node(wrong), std::invalid_argument) << wrong;

  const auto hosts = parse_hosts("node1:16, node2:8,node3,node1:4");
  ASSERT_EQ(hosts.size(), 3u);
  EXPECT_EQ(hosts[0].name, "node1");
  EXPECT_EQ(hosts[0].processors, 20);
  EXPECT_EQ(hosts[2].processors, 1);
  for (const char* wrong : {"", " , ", ":3", "node:x", "node:0"})
    EXPECT_THROW(parse_hosts(wrong), std::invalid_argument) << wrong;
}

TEST(Processors, TheAllocationIsThatOfTheBatchSystem) {
  const std::string file = ::testing::TempDir() + "dodyn-nodefile";
  std::ofstream(file) << "a\na\nb\na\n";
  setenv("PBS_NODEFILE", file.c_str(), 1);
  EXPECT_EQ(Processors(allocation(true)).text(), "4 (a:3,b:1)");
  unsetenv("PBS_NODEFILE");
  setenv("SLURM_JOB_ID", "7", 1);
  setenv("SLURM_TASKS_PER_NODE", "4(x2),3", 1);
  setenv("SLURM_CPUS_PER_TASK", "2", 1);
  EXPECT_EQ(Processors(allocation(false)).total(), 22);
  for (const char* name : {"SLURM_JOB_ID", "SLURM_TASKS_PER_NODE", "SLURM_CPUS_PER_TASK"}) unsetenv(name);
}

TEST(Processors, RoomIsThatOfWholeEvaluations) {
  Processors two({{"a", 16}, {"b", 10}});
  EXPECT_EQ(two.total(), 26);
  EXPECT_EQ(two.room_for(4), 4 + 2);  // none across two hosts
  EXPECT_EQ(two.room_for(16), 1);
  EXPECT_EQ(two.room_for(20), 1);
  EXPECT_EQ(two.room_for(27), 0);
  EXPECT_EQ(two.hosts_for(16), 1);
  EXPECT_EQ(two.hosts_for(17), 2);
  Processors four({{"a", 4}, {"b", 4}, {"c", 4}, {"d", 4}});
  EXPECT_EQ(four.room_for(8), 2);
  EXPECT_EQ(four.room_for(6), 2);  // hosts of their own

  auto first = two.take(10);
  EXPECT_EQ(first.hosts(), "b:10");  // the fullest that has room, so that large ones find theirs
  EXPECT_TRUE(first.alone());
  auto second = two.take(4);
  EXPECT_EQ(second.hosts(), "a:4");
  EXPECT_FALSE(second.alone());
  auto large = four.take(6);
  EXPECT_EQ(large.hosts(), "a:4,b:2");
  EXPECT_EQ(four.take(6).hosts(), "c:4,d:2");
}

// Many threads that take and give back at random: the shares at any time are disjoint, and everybody gets one.
TEST(Processors, NobodySharesOne) {
  const std::map<std::string, int> sizes = {{"a", 5}, {"b", 8}, {"c", 3}};
  Processors all({{"a", 5}, {"b", 8}, {"c", 3}});
  std::mutex mutex;
  std::map<std::string, int> used;
  int most = 0, shares = 0;
  const auto count = [&](const std::string& text, int sign) {
    const std::lock_guard lock(mutex);
    int sum = 0;
    for (const Host& host : parse_hosts(text))
      EXPECT_LE(used[host.name] += sign * host.processors, sizes.at(host.name));
    for (const auto& [name, processors] : used) sum += processors;
    most = std::max(most, sum);
    ++shares;
  };
  std::vector<std::thread> threads;
  for (unsigned seed = 0; seed < 12; ++seed)
    threads.emplace_back([&, seed] {
      std::mt19937 random(seed);
      for (int i = 0; i < 60; ++i) {
        const int wanted = static_cast<int>(random() % 8) + 1;
        const auto share = all.take(wanted);
        int got = 0;
        for (const Host& host : parse_hosts(share.hosts())) got += host.processors;
        EXPECT_EQ(got, wanted);
        count(share.hosts(), 1);
        std::this_thread::sleep_for(std::chrono::microseconds(random() % 300));
        count(share.hosts(), -1);
      }
    });
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(shares, 2 * 12 * 60);
  EXPECT_GT(most, 8);  // they do run at the same time
}

}  // namespace
}  // namespace dodyn::evaluators::test_processors
