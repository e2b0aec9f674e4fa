// Other programs that open an archive through HDF5 itself, and links to other files.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <hdf5.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <thread>

#include "archive/holder.hpp"
#include "rows.hpp"

namespace dodyn::archive::test_holder {
namespace {

using ::testing::HasSubstr;
using ::testing::MatchesRegex;

std::string message(const std::function<void()>& action) { return error_of(action, "none"); }

std::string with_rows(const std::string& path, int rows) {
  Archive archive = Archive::create(path, example_layout(), {});
  for (int i = 0; i < rows; ++i) archive.append(outcome(i));
  return path;
}

// A program that opens the file to read and write, like h5py's "r+", and writes an attribute. Then it is killed, or it
// closes the file when a file `path`.close exists.
pid_t other_program(const std::string& path, bool killed) {
  int ready[2];
  if (pipe(ready) != 0) return -1;
  const pid_t child = fork();
  if (child == 0) {
    const hid_t list = H5Pcreate(H5P_FILE_ACCESS);
    H5Pset_libver_bounds(list, H5F_LIBVER_V110, H5F_LIBVER_V110);
    const hid_t file = H5Fopen(path.c_str(), H5F_ACC_RDWR, list);
    const int value = 7;
    const hid_t space = H5Screate(H5S_SCALAR);
    const hid_t note = H5Acreate2(file, "note", H5T_NATIVE_INT, space, H5P_DEFAULT, H5P_DEFAULT);
    H5Awrite(note, H5T_NATIVE_INT, &value);
    H5Fflush(file, H5F_SCOPE_GLOBAL);
    if (write(ready[1], file >= 0 ? "1" : "0", 1) != 1) _exit(1);
    if (killed) std::raise(SIGKILL);
    while (!std::filesystem::exists(path + ".close")) std::this_thread::sleep_for(std::chrono::milliseconds(10));
    H5Aclose(note), H5Sclose(space), H5Pclose(list);
    H5Fclose(file);
    _exit(0);
  }
  char opened = '0';
  EXPECT_EQ(::read(ready[0], &opened, 1), 1);
  EXPECT_EQ(opened, '1');
  close(ready[0]), close(ready[1]);
  if (killed) waitpid(child, nullptr, 0);
  return child;
}

// HDF5 locks a file before it marks it as open. An append in between would be overwritten, so it must wait.
TEST(Holder, AProgramThatHasItsLockAndNoMarkYetIsWaitedFor) {
  const Directory directory;
  const std::string path = with_rows(directory / "a.h5", 2);
  Archive archive = Archive::resume(path);
  const int descriptor = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  ASSERT_EQ(::flock(descriptor, LOCK_EX), 0);
  EXPECT_THAT(message([&] { archive.append(outcome(2)); }), HasSubstr("open for writing in another program"));
  ::close(descriptor);
  archive.append(outcome(2));
  EXPECT_EQ(read(path).evaluations.size(), 3u);
}

TEST(Holder, AProgramThatOpensAndClosesAgainAndAgainCostsNoRow) {
  const Directory directory;
  const std::string path = with_rows(directory / "a.h5", 1);
  const pid_t child = fork();
  if (child == 0) {
    H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
    const hid_t list = H5Pcreate(H5P_FILE_ACCESS);
    H5Pset_libver_bounds(list, H5F_LIBVER_V110, H5F_LIBVER_V110);
    ::alarm(30);  // ends the process even if the test fails
    for (;;) {
      const hid_t file = H5Fopen(path.c_str(), H5F_ACC_RDWR, list);
      if (file >= 0) H5Fclose(file);
      ::usleep(500);
    }
  }
  Archive archive = Archive::resume(path);
  int waits = 0;
  for (int i = 1; i < 150; ++i)
    for (;;) {
      try {
        ::usleep(2000);  // time for the other process
        archive.append(outcome(i));
        break;
      } catch (const Busy&) {
        ++waits;
        ::usleep(300);
      } catch (const Error& error) {
        ADD_FAILURE() << error.what();
        i = 150;
        break;
      }
    }
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  std::cout << waits << " times an append had to wait\n";
  archive.append(outcome(150));  // the process may have been killed with the file open
  const Contents contents = read(path);
  ASSERT_EQ(contents.evaluations.size(), 151u);
  expect_prefix(contents);
  for_each_trajectory(path, 151, [](std::size_t row, const Trajectory& found) {
    expect_same(found, outcome(static_cast<std::int64_t>(row)).trajectory);
  });
}

TEST(Holder, ThatIsGoneIsNoHindrance) {
  const Directory directory;
  const std::string path = with_rows(directory / "a.h5", 5);
  other_program(path, true);
  EXPECT_TRUE(marked_by_others(path));
  EXPECT_EQ(holder(path), "");
  EXPECT_EQ(read(path).evaluations.size(), 5u);
  EXPECT_TRUE(marked_by_others(path));  // a reader changes nothing
  EXPECT_THAT(verify(path).notes, ::testing::Contains(HasSubstr("another program that has ended")));
  std::filesystem::copy(path, directory / "b.h5");
  {
    Archive archive = Archive::resume(path);
    archive.append(outcome(5));
  }
  EXPECT_FALSE(marked_by_others(path));
  EXPECT_EQ(read(path).evaluations.size(), 6u);
  EXPECT_EQ(read(path + ".left-open").evaluations.size(), 5u);

  const Repaired repaired = repair(directory / "b.h5");
  EXPECT_NE(repaired.backup, "");
  EXPECT_EQ(read(directory / "b.h5").evaluations.size(), 5u);
  EXPECT_TRUE(verify(directory / "b.h5").notes.empty());
}

TEST(Holder, ThatIsThereIsNamedAndWaitedFor) {
  const Directory directory;
  const std::string path = with_rows(directory / "a.h5", 5);
  Archive archive = Archive::resume(path);
  const pid_t other = other_program(path, false);
  EXPECT_THAT(holder(path), MatchesRegex(".*, pid " + std::to_string(other)));
  EXPECT_THROW(archive.append(outcome(5)), Busy);
  EXPECT_THAT(message([&] { archive.append(outcome(5)); }), HasSubstr("pid " + std::to_string(other)));
  std::thread closes([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    std::ofstream(path + ".close");
  });
  EXPECT_EQ(read(path).evaluations.size(), 5u);  // waits until the file can be read
  closes.join();
  waitpid(other, nullptr, 0);
  archive.append(outcome(5));
  EXPECT_EQ(read(path).evaluations.size(), 6u);
}

// A program that is killed between two appends does not disturb the run.
TEST(Holder, ThatDiesDuringARunCostsNothing) {
  const Directory directory;
  const std::string path = with_rows(directory / "a.h5", 5);
  Archive archive = Archive::resume(path);
  other_program(path, true);
  archive.append(outcome(5));
  archive.stop(Ending::finished, "done");
  const Contents contents = read(path);
  EXPECT_EQ(contents.evaluations.size(), 6u);
  EXPECT_EQ(contents.stopped, "done");
  EXPECT_TRUE(verify(path).problems.empty());
}

TEST(Holder, AnArchiveRemovedDuringARunIsMissedAndNotReplaced) {
  const Directory directory;
  const std::string path = with_rows(directory / "a.h5", 5);
  Archive archive = Archive::resume(path);
  std::filesystem::rename(path, directory / "b.h5");
  EXPECT_THAT(message([&] { archive.append(outcome(5)); }), HasSubstr("was removed or renamed"));
  EXPECT_FALSE(std::filesystem::exists(path));
  std::filesystem::rename(directory / "b.h5", path);
  archive.append(outcome(5));
  EXPECT_EQ(read(path).evaluations.size(), 6u);
}

TEST(Holder, NamesThatAreNoFilesAreRefused) {
  const Directory directory;
  const std::string precious = directory / "precious", path = directory / "a.h5";
  std::ofstream(precious) << "thesis";
  std::filesystem::create_symlink(precious, path + ".lock");
  EXPECT_THAT(message([&] { Archive::create(path, example_layout(), {}); }), HasSubstr("is not a regular file"));
  EXPECT_EQ(std::filesystem::file_size(precious), 6u);
  std::filesystem::remove(path + ".lock");
  ASSERT_EQ(mkfifo((path + ".lock").c_str(), 0666), 0);
  EXPECT_THAT(message([&] { Archive::create(path, example_layout(), {}); }), HasSubstr("is not a regular file"));
  EXPECT_EQ(writer(path), "");
  ASSERT_EQ(mkfifo((directory / "fifo.h5").c_str(), 0666), 0);
  for (const std::string& file : {directory / "fifo.h5", std::string("/dev/zero")}) {
    EXPECT_THAT(message([&] { read(file); }), HasSubstr("not a regular file"));
    EXPECT_THAT(message([&] { verify(file); }), HasSubstr("not a regular file"));
    EXPECT_THAT(message([&] { repair(file); }), HasSubstr("not a regular file"));
    EXPECT_THAT(message([&] { Archive::resume(file); }), HasSubstr("not a regular file"));
  }
}

// The copy is a closed file at all times, and at least as new as the last stop.
TEST(Holder, TheCopyIsNeverRefused) {
  const Directory directory;
  const std::string path = directory / "a.h5", copy = directory / "copy.h5";
  Archive archive = Archive::create(path, example_layout(), {});
  archive.keep_copy(copy);
  archive.append(outcome(0));
  std::atomic<bool> done = false;
  int looks = 0, refused = 0;
  std::thread reader([&] {
    while (!done) {
      ++looks;
      const int file = ::open(copy.c_str(), O_RDONLY);
      unsigned char flags[12] = {};
      refused += file < 0 || ::pread(file, flags, sizeof flags, 0) != sizeof flags || flags[11] != 0;
      ::close(file);
    }
  });
  for (int i = 1; i < 60; ++i) archive.append(outcome(i));
  archive.stop(Ending::finished, "done");
  done = true;
  reader.join();
  EXPECT_GT(looks, 0);
  EXPECT_EQ(refused, 0);
  EXPECT_EQ(read(copy).evaluations.size(), 60u);
  EXPECT_EQ(read(copy).stopped, "done");
  EXPECT_EQ(verify(copy).problems, verify(path).problems);
}

// For a small file that claims many rows, the reader does not search for these rows.
TEST(Holder, RowsThatTheFileCannotHoldAreRefused) {
  const Directory directory;
  const std::string path = with_rows(directory / "a.h5", 5);
  const hid_t file = H5Fopen(path.c_str(), H5F_ACC_RDWR, H5P_DEFAULT);
  const hid_t id = H5Dopen2(file, "/evaluations/id", H5P_DEFAULT);
  const hsize_t many = 1'000'000'000;
  ASSERT_GE(H5Dset_extent(id, &many), 0);
  H5Dclose(id);
  H5Fclose(file);
  const std::clock_t begin = std::clock();  // processor time, whatever else runs
  const std::string what = "damaged: /evaluations/id claims 1000000000 rows";
  EXPECT_THAT(message([&] { read(path); }), HasSubstr(what));
  EXPECT_THAT(message([&] { verify(path); }), HasSubstr(what));
  EXPECT_THAT(message([&] { repair(path); }), HasSubstr(what));
  EXPECT_THAT(message([&] { Archive::resume(path); }), HasSubstr(what));
  EXPECT_LT(std::clock() - begin, 20 * CLOCKS_PER_SEC);
}

// A link is another name of one archive: one lock excludes a second writer, and no command replaces the link by a file.
TEST(Holder, ALinkIsTheArchiveItself) {
  const Directory directory;
  const std::string path = directory / "a.h5", link = directory / "link.h5", again = directory / "again.h5";
  std::filesystem::create_symlink("a.h5", link);
  std::filesystem::create_symlink(link, again);
  { Archive::create(again, example_layout(), {}).append(outcome(0)); }  // the target did not exist
  EXPECT_TRUE(std::filesystem::is_symlink(again) && std::filesystem::is_symlink(link));
  EXPECT_EQ(read(path).evaluations.size(), 1u);
  {
    const Archive held = Archive::resume(path);
    EXPECT_THAT(message([&] { Archive::resume(again); }), HasSubstr("in use by another process"));
    EXPECT_THAT(message([&] { repair(link); }), HasSubstr("in use by another process"));
    EXPECT_EQ(writer(link), writer(path));
    EXPECT_NE(writer(link), "");
  }
  const auto cut = std::filesystem::file_size(path) - 1;
  std::filesystem::resize_file(path, cut);
  const std::string backup = repair(link).backup;
  EXPECT_TRUE(std::filesystem::is_symlink(link) && std::filesystem::is_regular_file(backup));
  EXPECT_EQ(std::filesystem::file_size(backup), cut);
  EXPECT_TRUE(verify(path).problems.empty());
  const std::string circle = directory / "circle.h5";
  std::filesystem::create_symlink("circle.h5", circle);
  EXPECT_THAT(message([&] { read(circle); }), HasSubstr("symbolic links"));
}

TEST(Holder, AnArchiveIsMergedOnce) {
  const Directory directory;
  const std::string a = with_rows(directory / "a.h5", 5), b = with_rows(directory / "b.h5", 3);
  std::filesystem::copy(a, directory / "copy.h5");
  std::filesystem::create_symlink(a, directory / "link.h5");
  for (const std::string& twice : {a, directory / "copy.h5", directory / "link.h5"})
    EXPECT_THAT(message([&] { merge(directory / "out.h5", {a, b, twice}); }), HasSubstr("is given twice"));
  EXPECT_FALSE(std::filesystem::exists(directory / "out.h5"));
  merge(directory / "out.h5", {a, b});
  EXPECT_EQ(read(directory / "out.h5").evaluations.size(), 8u);
}

}  // namespace
}  // namespace dodyn::archive::test_holder
