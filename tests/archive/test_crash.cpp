// A process that is killed, a file that is cut short, a disk that is full.
#include <fcntl.h>
#include <gmock/gmock-matchers.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <functional>
#include <iostream>
#include <random>

#include "archive/archive.hpp"
#include "archive/hdf5_file.hpp"
#include "rows.hpp"

// Replaces posix_fallocate(), by which the archive reserves space before it writes. With `promise_anything` it reports
// success without space, as with a quota or on a network file system.
static bool promise_anything = false;
extern "C" int posix_fallocate(int descriptor, off_t offset, off_t length) {
  if (promise_anything) return 0;
  return ::fallocate(descriptor, 0, offset, length) == 0 ? 0 : errno;
}

// After a failed write the program exits without closing HDF5. The leak checker must not report that.
extern "C" const char* __lsan_default_suppressions() { return "leak:libhdf5"; }

namespace dodyn::archive::test_crash {
namespace {

using testing::HasSubstr;

// The report of a child after its append() returned: numbers of rows.
struct Told {
  std::int64_t evaluations = 0, iterations = 0;
};

// Whether this number of rows is a whole number of appends, which have 1, 2, 3, 4, 1, ... rows.
bool whole(std::int64_t rows) { return rows % 10 == 0 || rows % 10 == 1 || rows % 10 == 3 || rows % 10 == 6; }

Archive open_or_create(const std::string& path) {
  return std::filesystem::exists(path) ? Archive::resume(path)
                                       : Archive::create(path, example_layout(), example_provenance());
}

// Appends without pause until killed. Writes the number of rows to the pipe after each append.
[[noreturn]] void write_until_killed(const std::string& path, int pipe) {
  Archive archive = open_or_create(path);
  const Contents contents = read(path);
  Told told{static_cast<std::int64_t>(contents.evaluations.size()),
            static_cast<std::int64_t>(contents.iterations.size())};
  while (true) {
    std::vector<Outcome> together;  // 1, 2, 3 or 4 rows of one append, up to the next whole number of appends
    do together.push_back(outcome(told.evaluations + static_cast<std::int64_t>(together.size())));
    while (!whole(told.evaluations + static_cast<std::int64_t>(together.size())));
    archive.append(together);
    told.evaluations += static_cast<std::int64_t>(together.size());
    if (::write(pipe, &told, sizeof(told)) != sizeof(told)) ::_exit(1);
    archive.append(iteration(told.iterations));
    ++told.iterations;
    if (::write(pipe, &told, sizeof(told)) != sizeof(told)) ::_exit(1);
  }
}

// Starts a child that appends, and kills it after some microseconds, counted from its start or from its first report.
// Returns its last report; nullopt: there was none.
std::optional<Told> kill_after(const std::string& path, int microseconds, bool from_first_row) {
  int pipe[2];
  if (::pipe(pipe) != 0) throw std::runtime_error("pipe");
  const pid_t child = ::fork();
  if (child == 0) {
    ::close(pipe[0]);
    try {
      write_until_killed(path, pipe[1]);
    } catch (const std::exception& error) {
      std::cerr << error.what() << '\n';
      ::_exit(1);
    }
  }
  ::close(pipe[1]);
  std::optional<Told> last;
  Told told;
  if (from_first_row && ::read(pipe[0], &told, sizeof(told)) == sizeof(told)) last = told;
  ::usleep(static_cast<useconds_t>(microseconds));
  ::kill(child, SIGKILL);
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_TRUE(WIFSIGNALED(status)) << "the writer ended by itself";
  while (::read(pipe[0], &told, sizeof(told)) == sizeof(told)) last = told;
  ::close(pipe[0]);
  return last;
}

TEST(Crash, EveryToldRowSurvivesKills) {
  const char* wanted = std::getenv("DODYN_KILLS");
  const int kills = wanted != nullptr ? std::atoi(wanted) : 25;
  std::mt19937 random(20260131);
  Directory directory;
  const std::string path = directory / "a.h5";
  Told told;
  int inside = 0;
  std::int64_t rows = 0;
  for (int i = 0; i < kills; ++i) {
    // A quarter of the kills can happen at any time, also during the creation or recovery; the others among the
    // appends.
    const auto last = kill_after(path, std::uniform_int_distribution<int>(0, 30000)(random), i % 4 != 0);
    if (last) told = *last;
    if (!std::filesystem::exists(path)) {
      EXPECT_EQ(told.evaluations, 0);
      continue;  // killed before the temporary file was renamed
    }
    inside += probe(path) == FileState::marked;
    const Contents contents = read(path);
    EXPECT_GE(static_cast<std::int64_t>(contents.evaluations.size()), told.evaluations);
    EXPECT_GE(static_cast<std::int64_t>(contents.iterations.size()), told.iterations);
    EXPECT_TRUE(whole(static_cast<std::int64_t>(contents.evaluations.size())))
        << contents.evaluations.size() << " rows: part of what was appended together";
    EXPECT_EQ(contents.provenance.configuration, example_provenance().configuration);
    expect_prefix(contents);
    const auto end = static_cast<std::int64_t>(contents.evaluations.size());
    for (std::int64_t id = std::max<std::int64_t>(0, end - 8); id < end; ++id)
      expect_same(read_trajectory(path, id), outcome(id).trajectory);
    if (HasFailure()) FAIL() << "after kill " << i + 1;
    if (end > 120 || i + 1 == kills) {  // start a new file, or every recovery copies more
      Archive::resume(path);
      const Contents resumed = read(path);
      EXPECT_EQ(resumed.evaluations.size(), contents.evaluations.size());
      expect_prefix(resumed);
      for (std::int64_t id = 0; id < end; ++id) expect_same(read_trajectory(path, id), outcome(id).trajectory);
      std::filesystem::remove(path);
      rows += end;
      told = {};
    }
  }
  EXPECT_GT(inside, kills / 10) << "too few kills met an append to test anything";
  std::cout << kills << " kills, " << inside << " of them inside an append; " << rows << " rows checked\n";
}

// Appends up to 30 rows at a time until killed. Half of the time is spent in appends that a reader may see in part.
[[noreturn]] void write_much_until_killed(const std::string& path, int seed) {
  Archive archive = open_or_create(path);
  auto id = static_cast<std::int64_t>(read(path).evaluations.size());
  for (std::mt19937 random(seed);;) {
    std::vector<Outcome> together(std::uniform_int_distribution<std::size_t>(1, 30)(random));
    for (auto& row : together) row = outcome(id++);
    archive.append(together);
  }
}

// A reader that reads all the time: before a kill, during an append, during a recovery. Rows that it has read once are
// in every later read, whichever process was killed in between.
TEST(Crash, WhatAReaderSawStaysThereAcrossKills) {
  const char* wanted = std::getenv("DODYN_KILLS");
  const int kills = wanted != nullptr ? std::atoi(wanted) : 25;
  std::mt19937 random(97);
  Directory directory;
  const std::string path = directory / "a.h5";
  std::size_t seen = 0, looks = 0, vain = 0, changes = 0;
  const auto look = [&] {
    if (!std::filesystem::exists(path)) return;
    Contents contents;
    ++looks;
    if (const std::string error = error_of([&] { contents = read(path); }); !error.empty()) {
      ++vain;
      EXPECT_EQ(seen, 0u) << error;
      return;
    }
    expect_prefix(contents);
    ASSERT_GE(contents.evaluations.size(), seen) << "rows that were there are gone";
    if (contents.evaluations.size() == seen) return;
    ++changes;
    if (!contents.evaluations.empty())
      expect_same(read_trajectory(path, static_cast<std::int64_t>(contents.evaluations.size()) - 1),
                  outcome(static_cast<std::int64_t>(contents.evaluations.size()) - 1).trajectory);
    seen = contents.evaluations.size();
  };
  for (int i = 0; i < kills; ++i) {
    const pid_t child = ::fork();
    if (child == 0) {
      try {
        write_much_until_killed(path, i);
      } catch (const std::exception& error) {
        std::cerr << error.what() << '\n';
        ::_exit(1);
      }
    }
    // A quarter of the kills happen at any time, also during the recovery; the others after a read that found new rows.
    using Clock = std::chrono::steady_clock;
    const auto start = Clock::now();
    for (const auto before = changes;
         i % 4 != 0 && changes == before && Clock::now() < start + std::chrono::seconds(20);)
      look();
    const auto until = Clock::now() + std::chrono::microseconds(std::uniform_int_distribution(0, 30000)(random));
    while (Clock::now() < until && !HasFailure()) look();
    ::kill(child, SIGKILL);
    int status = 0;
    ::waitpid(child, &status, 0);
    EXPECT_TRUE(WIFSIGNALED(status)) << "the writer ended by itself";
    look();
    ASSERT_FALSE(HasFailure()) << "after kill " << i + 1;
    if (seen > 300) {
      std::filesystem::remove(path);
      seen = 0;
    }
  }
  EXPECT_GT(changes, static_cast<std::size_t>(kills) / 2) << "the reader saw too little to test anything";
  std::cout << kills << " kills, " << looks << " looks (" << vain << " before the first row in vain), " << changes
            << " of them saw new rows\n";
}

// Leaves the file in the state after the death of a process that had it open.
void leave_marked(const std::string& path) {
  const pid_t child = ::fork();
  if (child == 0) {
    const Handle file = open_to_append(path);
    H5Fflush(file, H5F_SCOPE_LOCAL);
    ::_exit(0);
  }
  ::waitpid(child, nullptr, 0);
  ASSERT_EQ(probe(path), FileState::marked);
}

TEST(Crash, CutFilesGiveAnErrorOrWholeRows) {
  Directory directory;
  const std::string path = directory / "a.h5", cut = directory / "cut.h5";
  {
    Archive archive = Archive::create(path, example_layout(), example_provenance());
    for (int i = 0; i < 40; ++i) {
      archive.append(outcome(i));
      archive.append(iteration(i));
    }
  }
  std::mt19937 random(7);
  for (const bool marked : {false, true}) {
    if (marked) leave_marked(path);
    const auto size = std::filesystem::file_size(path);
    for (int i = 0; i < 40; ++i) {
      const auto length = std::uniform_int_distribution<std::uintmax_t>(0, size - 1)(random);
      std::filesystem::copy_file(path, cut, std::filesystem::copy_options::overwrite_existing);
      std::filesystem::resize_file(cut, length);
      Contents contents;
      const std::string error = error_of([&] { contents = read(cut); });
      if (!marked) {
        EXPECT_NE(error, "") << "a closed file that is too short, by " << size - length;
      }
      expect_prefix(contents);
      if (error.empty()) {
        EXPECT_EQ(contents.provenance.configuration, example_provenance().configuration);
        for (std::size_t id = i % 8; id < contents.evaluations.size(); id += 8) {
          Trajectory trajectory;
          if (error_of([&] { trajectory = read_trajectory(cut, static_cast<std::int64_t>(id)); }).empty())
            expect_same(trajectory, outcome(static_cast<std::int64_t>(id)).trajectory);
        }
      } else if (i % 4 == 0) {
        EXPECT_NE(error_of([&] { Archive::resume(cut); }), "");
        EXPECT_EQ(std::filesystem::file_size(cut), length);
      }
      ASSERT_FALSE(HasFailure()) << "cut to " << length << " of " << size << " bytes: " << error;
    }
  }
}

TEST(Crash, UncommittedRowsAreDropped) {
  Directory directory;
  const std::string path = directory / "a.h5";
  {
    Archive archive = Archive::create(path, example_layout(), {});
    for (int i = 0; i < 5; ++i) archive.append(outcome(i));
  }
  {  // a cost without its id, in a file closed in order
    const Handle file = open_to_append(path);
    const Handle cost(H5Dopen2(file, "/evaluations/cost", H5P_DEFAULT));
    const hsize_t rows = 7;
    ASSERT_GE(H5Dset_extent(cost, &rows), 0);
  }
  EXPECT_EQ(read(path).evaluations.size(), 5u);
  Archive::resume(path).append(outcome(5));
  const Contents contents = read(path);
  EXPECT_EQ(contents.evaluations.size(), 6u);
  expect_prefix(contents);
  const Handle file = open_to_read(path);
  const Handle cost(H5Dopen2(file, "/evaluations/cost", H5P_DEFAULT)), space(H5Dget_space(cost));
  EXPECT_EQ(H5Sget_simple_extent_npoints(space), 6);
}

// Runs the action in a child, so that HDF5's functions at exit are tested too: the child must leave by exit(), not by a
// signal.
void in_child(const std::function<int()>& action) {
  std::fflush(stdout);
  const pid_t child = ::fork();
  if (child == 0) std::exit(action());
  int status = -1;
  ::waitpid(child, &status, 0);
  ASSERT_TRUE(WIFEXITED(status)) << "ended by signal " << WTERMSIG(status);
  if (WEXITSTATUS(status) == 77) GTEST_SKIP() << "not permitted here";
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

// Mounts a small disk on `directory`, for this process alone.
bool mount_disk(const Directory& directory, const char* size) {
  return ::unshare(CLONE_NEWNS) == 0 && ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
         ::mount("tmpfs", directory.path.c_str(), "tmpfs", 0, size) == 0;
}

// Appends rows until the file system refuses one. Returns the number of rows, and the error.
std::pair<int, std::string> append_until_refused(Archive& archive) {
  int rows = 0;
  std::string error;
  while (error.empty() && rows < 5000) {
    error = error_of([&] { archive.append(outcome(rows)); });
    if (error.empty()) ++rows;
  }
  EXPECT_GT(rows, 0);
  return {rows, error};
}

// Appends until the file system refuses, frees room by `relieve`, and continues.
int fill(const std::string& path, const std::function<void()>& relieve) {
  Archive archive = Archive::create(path, example_layout(), {});
  const auto [rows, error] = append_until_refused(archive);
  EXPECT_THAT(error, HasSubstr("a.h5: no room for"));
  archive.stop(Ending::finished, "disk full");
  EXPECT_EQ(read(path).stopped, "disk full");
  EXPECT_EQ(read(path).evaluations.size(), rows);
  EXPECT_THAT(error_of([&] { Archive::create(path + "2", example_layout(), {}); }), HasSubstr("no room for"));
  EXPECT_FALSE(std::filesystem::exists(path + "2"));
  EXPECT_FALSE(std::filesystem::exists(path + "2.tmp"));
  relieve();
  archive.append(outcome(rows));
  archive.stop(Ending::finished, "had to wait for room");
  const Contents contents = read(path);
  EXPECT_EQ(contents.evaluations.size(), static_cast<std::size_t>(rows) + 1);
  expect_prefix(contents);
  return testing::Test::HasFailure() ? 1 : 0;
}

TEST(Crash, FullDisk) {
  Directory directory;
  in_child([&] {
    if (!mount_disk(directory, "size=2m")) return 77;
    const std::string ballast = directory / "ballast";
    std::ofstream(ballast) << std::string(500000, 'x');
    return fill(directory / "a.h5", [&] { std::filesystem::remove(ballast); });
  });
}

TEST(Crash, FullDiskUnforeseen) {
  Directory directory;
  for (const char* size : {"size=760k", "size=840k", "size=920k"})
    in_child([&] {
      if (!mount_disk(directory, size)) return 77;
      const std::string path = directory / "a.h5";
      promise_anything = true;
      int rows = 0;
      std::string error;
      {
        Archive archive = Archive::create(path, example_layout(), example_provenance());
        while (error.empty() && rows < 5000) {
          error = error_of([&] { archive.append(outcome(rows)); });
          if (error.empty()) ++rows;
        }
        EXPECT_THAT(error_of([&] { archive.append(outcome(rows)); }), HasSubstr("an earlier write failed"));
      }
      EXPECT_GT(rows, 0);
      EXPECT_THAT(error, HasSubstr("No space left on device"));
      EXPECT_EQ(error.find('\n'), std::string::npos);
      const Contents contents = read(path);
      EXPECT_EQ(contents.evaluations.size(), rows);
      expect_prefix(contents);
      for (int id = 0; id < rows; ++id) expect_same(read_trajectory(path, id), outcome(id).trajectory);
      if (::mount("none", directory.path.c_str(), "tmpfs", MS_REMOUNT, "size=8m") != 0) return 77;
      promise_anything = false;
      Archive::resume(path).append(outcome(rows));
      EXPECT_EQ(read(path).evaluations.size(), static_cast<std::size_t>(rows) + 1);
      expect_prefix(read(path));
      return testing::Test::HasFailure() ? 1 : 0;
    });
}

TEST(Crash, FileSizeLimit) {
  Directory directory;
  in_child([&] {
    ::signal(SIGXFSZ, SIG_IGN);
    rlimit old;
    ::getrlimit(RLIMIT_FSIZE, &old);
    const std::string path = directory / "a.h5";
    // The limit is on the size of the file: enough for some rows, and less than a new archive reserves.
    rlimit tight = old;
    tight.rlim_cur = 1700000;
    ::setrlimit(RLIMIT_FSIZE, &tight);
    Archive archive = Archive::create(path, example_layout(), {});
    const auto [rows, error] = append_until_refused(archive);
    EXPECT_THAT(error, HasSubstr("File too large"));
    EXPECT_EQ(read(path).evaluations.size(), rows);
    ::setrlimit(RLIMIT_FSIZE, &old);
    archive.append(outcome(rows));
    expect_prefix(read(path));
    return testing::Test::HasFailure() ? 1 : 0;
  });
}

}  // namespace
}  // namespace dodyn::archive::test_crash
