// One writer at a time, whose name is reported. A lock left behind by a killed process does not count.
#include <fcntl.h>
#include <gmock/gmock-matchers.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdarg>
#include <fstream>

#include "archive/archive.hpp"
#include "rows.hpp"

// A file system without locks, for tests that request it.
static bool no_locks = false;
extern "C" int fcntl(int descriptor, int command, ...) {
  std::va_list list;
  va_start(list, command);
  void* argument = va_arg(list, void*);
  va_end(list);
  if (no_locks && (command == F_SETLK || command == F_GETLK)) {
    errno = ENOLCK;
    return -1;
  }
  return static_cast<int>(::syscall(SYS_fcntl, descriptor, command, argument));
}

namespace dodyn::archive::test_lock {
namespace {

using testing::HasSubstr;

std::string here(pid_t pid) {
  char name[65] = {};
  ::gethostname(name, sizeof(name) - 1);
  return "pid " + std::to_string(pid) + " on " + name;
}

// Starts a process that holds the archive open to append until it is killed.
pid_t hold(const std::string& path) {
  int pipe[2];
  EXPECT_EQ(::pipe(pipe), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const bool there = std::filesystem::exists(path);
    Archive archive = there ? Archive::resume(path) : Archive::create(path, example_layout(), {});
    if (::write(pipe[1], "r", 1) != 1) ::_exit(1);
    while (true) ::pause();
  }
  char c = 0;
  ::close(pipe[1]);
  EXPECT_EQ(::read(pipe[0], &c, 1), 1);
  ::close(pipe[0]);
  return child;
}

void kill_now(pid_t child) {
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
}

class Lock : public testing::TestWithParam<bool> {
 protected:
  void SetUp() override { no_locks = GetParam(); }
  void TearDown() override { no_locks = false; }
  const Directory directory;
  const std::string path = directory / "a.h5";
};
INSTANTIATE_TEST_SUITE_P(WithAndWithoutLocks, Lock, testing::Bool());

TEST_P(Lock, TheSecondIsRefusedByNameAndAKillFreesIt) {
  for (int round = 0; round < 2; ++round) {  // created, resumed
    const pid_t first = hold(path);
    const std::string refusal = path + ": in use by another process (" + here(first) + ")";
    EXPECT_EQ(error_of([&] { Archive::resume(path); }), refusal);
    EXPECT_EQ(error_of([&] { Archive::create(path, example_layout(), {}); }), refusal);
    EXPECT_EQ(error_of([&] { repair(path); }), refusal);
    EXPECT_EQ(writer(path), here(first));
    kill_now(first);
    EXPECT_TRUE(std::filesystem::exists(path + ".lock"));  // stale
    EXPECT_EQ(writer(path), "");
  }
  Archive::resume(path).append(outcome(0));
  EXPECT_FALSE(std::filesystem::exists(path + ".lock"));
}

TEST_P(Lock, OfThisProcessToo) {
  Archive archive = Archive::create(path, example_layout(), {});
  EXPECT_THAT(error_of([&] { Archive::resume(path); }), HasSubstr(here(::getpid())));
  EXPECT_EQ(writer(path), here(::getpid()));
  const pid_t child = ::fork();  // the query must not have released the lock
  if (child == 0) ::_exit(error_of([&] { Archive::resume(path); }).find("in use") == std::string::npos);
  int status = -1;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

// A process of an evaluation that outlives the killed study does not hold the lock.
TEST_P(Lock, IsNotHandedOnToChildren) {
  int pipe[2];
  ASSERT_EQ(::pipe(pipe), 0);
  const pid_t first = ::fork();
  if (first == 0) {
    Archive archive = Archive::create(path, example_layout(), {});
    const pid_t grandchild = ::fork();
    if (grandchild == 0) {
      while (true) ::pause();
    }
    if (::write(pipe[1], &grandchild, sizeof(grandchild)) != sizeof(grandchild)) ::_exit(1);
    while (true) ::pause();
  }
  pid_t grandchild = 0;
  ASSERT_EQ(::read(pipe[0], &grandchild, sizeof(grandchild)), static_cast<ssize_t>(sizeof(grandchild)));
  kill_now(first);
  EXPECT_EQ(error_of([&] { Archive::resume(path).append(outcome(0)); }), "");
  ::kill(grandchild, SIGKILL);
  ::close(pipe[0]);
  ::close(pipe[1]);
}

// If the lock of a living writer is removed by hand, a second writer can start. The first one must then neither cut off
// the second one's rows nor remove its lock.
TEST_P(Lock, RemovedByHandCostsNoRows) {
  {
    Archive second = [&] {
      Archive first = Archive::create(path, example_layout(), {});
      for (int id = 0; id < 3; ++id) first.append(outcome(id));
      std::filesystem::remove(path + ".lock");
      Archive other = Archive::resume(path);
      for (int id = 3; id < 9; ++id) other.append(outcome(id));
      EXPECT_THAT(error_of([&] { first.append(outcome(3)); }), HasSubstr("holds 9 rows"));
      EXPECT_THAT(error_of([&] { first.append(outcome(3)); }), HasSubstr("start again"));
      return other;
    }();
    EXPECT_TRUE(std::filesystem::exists(path + ".lock"));
    second.append(outcome(9));
  }
  EXPECT_EQ(read(path).evaluations.size(), 10u);
  expect_prefix(read(path));
  EXPECT_FALSE(std::filesystem::exists(path + ".lock"));
}

TEST_P(Lock, OnAnotherHostThereIsNoTellingWithoutLocks) {
  Archive::create(path, example_layout(), {});
  std::ofstream(path + ".lock") << "pid 1 on elsewhere";
  const std::string message = error_of([&] { Archive::resume(path); });
  if (GetParam())
    EXPECT_EQ(message, path + ": in use by another process (pid 1 on elsewhere); if that host is down, remove " + path +
                           ".lock");
  else
    EXPECT_EQ(message, "");
}

// A file server keeps the lock of a client that is down. A living process represents it here; the lock file names
// another host.
TEST_P(Lock, ThatOutlivesItsHostCanBeRemoved) {
  const pid_t first = hold(path);
  std::ofstream(path + ".lock", std::ios::trunc) << "pid 1 on elsewhere";
  const std::string refusal =
      path + ": in use by another process (pid 1 on elsewhere); if that host is down, remove " + path + ".lock";
  EXPECT_EQ(error_of([&] { Archive::resume(path); }), refusal);
  std::filesystem::remove(path + ".lock");
  EXPECT_EQ(error_of([&] { Archive::resume(path).append(outcome(0)); }), "");
  kill_now(first);
  EXPECT_EQ(read(path).evaluations.size(), 1u);
}

}  // namespace
}  // namespace dodyn::archive::test_lock
