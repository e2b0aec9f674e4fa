// Archives return the written contents. A file that is not an archive is refused in one line.
#include <fcntl.h>
#include <gmock/gmock-matchers.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <bit>
#include <chrono>
#include <fstream>
#include <random>
#include <thread>

#include "archive/archive.hpp"
#include "archive/hdf5_file.hpp"
#include "rows.hpp"

namespace dodyn::archive::test_archive {
namespace {

using testing::HasSubstr;

TEST(Archive, RoundTripOfEveryField) {
  const Directory directory;
  const std::string path = directory / "a.h5";
  {
    Archive archive = Archive::create(path, example_layout(), example_provenance());
    for (int i = 0; i < 30; ++i) {
      archive.append(outcome(i));
      archive.append(iteration(i));
    }
    archive.stop(Ending::finished, "converged: a new sample no longer improves the best");
  }
  const Contents contents = read(path);
  EXPECT_EQ(contents.evaluations.size(), 30u);
  EXPECT_EQ(contents.iterations.size(), 30u);
  expect_prefix(contents);
  for (int i = 0; i < 30; ++i) expect_same(read_trajectory(path, i), outcome(i).trajectory);
  EXPECT_THAT(error_of([&] { read_trajectory(path, 30); }), HasSubstr("no evaluation 30"));

  EXPECT_EQ(contents.schema, schema_version);
  EXPECT_EQ(contents.stopped, "converged: a new sample no longer improves the best");
  EXPECT_EQ(contents.created.size(), std::string("2026-01-31T12:34:56Z").size());
  const Provenance wrote = example_provenance(), &got = contents.provenance;
  EXPECT_EQ(got.evaluator, wrote.evaluator);
  EXPECT_EQ(got.configuration, wrote.configuration);
  EXPECT_EQ(got.program_version, wrote.program_version);
  EXPECT_EQ(got.git_commit, wrote.git_commit);
  EXPECT_EQ(got.command_line, wrote.command_line);
  EXPECT_EQ(got.host, wrote.host);
  EXPECT_EQ(got.ranks, wrote.ranks);
  EXPECT_EQ(got.machine, wrote.machine);
  EXPECT_EQ(got.files, wrote.files);
  EXPECT_EQ(got.folder_of_files, "studies");
  EXPECT_EQ(read_head(path).provenance.files, wrote.files);
  EXPECT_TRUE(read_head(path).evaluations.empty());

  const Layout layout = example_layout(), &read_back = contents.layout;
  ASSERT_EQ(read_back.variables.size(), 1u);
  EXPECT_EQ(read_back.variables[0].name, "knee");
  EXPECT_EQ(read_back.variables[0].unit, "m");
  EXPECT_EQ(read_back.variables[0].lower, 0.2);
  EXPECT_EQ(read_back.variables[0].upper, 0.5);
  ASSERT_EQ(read_back.metrics.size(), 2u);
  EXPECT_EQ(read_back.metrics[1].name, "steps");
  EXPECT_EQ(read_back.metrics[0].description, "mean speed");
  ASSERT_EQ(read_back.channels.size(), 2u);
  EXPECT_EQ(read_back.channels[0].name, "t");  // in the order of the declaration
  EXPECT_EQ(read_back.channels[1].coordinates, layout.channels[1].coordinates);
  EXPECT_EQ(read_back.channels[1].nodes, 21);
  EXPECT_EQ(read_back.channels[1].unit, "rad");
  EXPECT_EQ(read_back.channels[1].description, "angles");
  EXPECT_EQ(read_back.grid_points, 11);
}

// The archive has the events of the study. A later run appends to them.
TEST(Archive, EventsAreKept) {
  const Directory directory;
  const std::string path = directory / "a.h5";
  const auto event = [](int i) {
    return Event{"2026-01-31T12:34:56." + std::to_string(100 + i) + "Z", i % 2 ? "rank lost" : "started",
                 "line " + std::to_string(i)};
  };
  {
    Archive archive = Archive::create(path, example_layout(), example_provenance());
    const std::vector<Event> first = {event(0), event(1)};
    archive.append(first);
    archive.append(outcome(0));
  }
  {
    Archive archive = Archive::resume(path);
    for (int i = 2; i < 40; ++i) archive.append(std::vector{event(i)});
    archive.append(outcome(1));
  }
  const Contents contents = read(path);
  ASSERT_EQ(contents.events.size(), 40u);
  for (int i = 0; i < 40; ++i) {
    EXPECT_EQ(contents.events[i].time, event(i).time);
    EXPECT_EQ(contents.events[i].kind, event(i).kind);
    EXPECT_EQ(contents.events[i].text, event(i).text);
  }
  EXPECT_EQ(contents.evaluations.size(), 2u);
}

// A trajectory that a rank packs gives the same bytes as one that the writer packs. Numbers that no filter of the
// program compresses are also read back, through HDF5's own filters.
TEST(Archive, WhoPacksATrajectoryMakesNoDifference) {
  const Directory directory;
  std::vector<Outcome> rows;
  // nodes are multiplied by 9, since a matrix of q is packed from 2 KiB on
  constexpr int times = 9;
  Layout layout = example_layout();
  for (auto& channel : layout.channels) channel.nodes *= times;
  for (int i = 0; i < 6; ++i) {
    rows.push_back(outcome(i));
    for (auto& values : rows.back().trajectory.values) values = Eigen::MatrixXd(values.replicate(times, 1));
  }
  std::mt19937_64 random(1);
  for (auto& values : rows[1].trajectory.values)
    for (double& value : values.reshaped()) {
      std::uint64_t bits = 0;
      do bits = random();
      while (!std::isfinite(std::bit_cast<double>(bits)));
      value = std::bit_cast<double>(bits);
    }
  EXPECT_FALSE(packed(rows[1].trajectory.values[1]).deflated);
  EXPECT_TRUE(packed(rows[0].trajectory.values[1]).deflated);
  const auto bytes = [&](const char* name) {
    const std::string path = directory / name;
    auto archive = Archive::create(path, layout, {});
    archive.append(rows);
    for (int i = 0; i < 6; ++i) expect_same(read_trajectory(path, i), rows[i].trajectory);
    EXPECT_TRUE(verify(path).problems.empty());
    const Handle file = open_to_read(path);
    const Handle dataset = open_dataset(file, "/trajectories/q");
    std::vector<std::vector<unsigned char>> chunks;
    for (hsize_t row = 0; row < 6; ++row) {
      const hsize_t offset[] = {row, 0, 0};
      hsize_t size = 0;
      std::uint32_t filters = 0;
      chunks.emplace_back();
      if (H5Dget_chunk_storage_size(dataset, offset, &size) < 0 || size == 0) continue;  // it has no motion
      chunks.back().resize(size);
      EXPECT_GE(H5Dread_chunk(dataset, H5P_DEFAULT, offset, &filters, chunks.back().data()), 0);
    }
    return chunks;
  };
  const auto by_the_writer = bytes("a.h5");
  for (Outcome& row : rows)
    for (const auto& values : row.trajectory.values) row.packed.push_back(packed(values));
  EXPECT_EQ(bytes("b.h5"), by_the_writer);
  EXPECT_EQ(by_the_writer[1].size(), times * 21u * 3 * 8);
  EXPECT_LT(by_the_writer[0].size(), times * 21u * 3 * 8);
}

// A row takes the size of its design, metrics and trajectory plus at most 300 bytes, if it has no reason, gradient or
// curve.
TEST(Archive, ARowTakesItsNumbersAndLittleMore) {
  const Directory directory;
  const Layout layout = example_layout();
  std::size_t numbers = layout.variables.size() + layout.metrics.size();
  for (const Channel& channel : layout.channels)
    numbers += static_cast<std::size_t>(channel.nodes) * channel.coordinates.size();
  const auto size_of = [&](int rows) {
    const std::string path = directory / (rows > 1000 ? "many.h5" : "few.h5");
    auto archive = Archive::create(path, layout, {});
    std::vector<Outcome> outcomes;
    for (int i = 0; i < rows; ++i) {
      outcomes.push_back(outcome(0));
      outcomes.back().evaluation.id = i;
      outcomes.back().evaluation.reason.clear();
      outcomes.back().evaluation.gradient.resize(0);
    }
    for (int i = 0; i < rows; i += 500) archive.append(std::span(outcomes).subspan(i, 500));
    EXPECT_TRUE(read(path).evaluations.back().reason.empty());
    EXPECT_EQ(read(path).evaluations.back().gradient.size(), 0);
    expect_same(read_trajectory(path, rows - 1), outcomes.back().trajectory);
    std::size_t visited = 0;
    for_each_trajectory(path, outcomes.size(), [&](std::size_t row, const Trajectory& trajectory) {
      expect_same(trajectory, outcomes[row].trajectory);
      ++visited;
    });
    EXPECT_EQ(visited, outcomes.size());
    return static_cast<double>(std::filesystem::file_size(path));
  };
  const double bytes_a_row = (size_of(5000) - size_of(1000)) / 4000;
  EXPECT_LT(bytes_a_row, static_cast<double>(numbers * sizeof(double)) + 300);
}

// Rows that are appended together equal rows that are appended one by one, for any boundaries of the file's chunks.
TEST(Archive, RowsAppendedTogetherAreTheSameRows) {
  const Directory directory;
  const std::string path = directory / "a.h5";
  std::int64_t rows = 0;
  {
    Archive archive = Archive::create(path, example_layout(), {});
    for (const int together : {0, 1, 300, 0, 2, 17, 64}) {
      std::vector<Outcome> outcomes;
      for (int i = 0; i < together; ++i) outcomes.push_back(outcome(rows++));
      archive.append(outcomes);
    }
  }
  const Contents contents = read(path);
  ASSERT_EQ(contents.evaluations.size(), rows);
  expect_prefix(contents);
  for (std::int64_t id = 0; id < rows; id += 7) expect_same(read_trajectory(path, id), outcome(id).trajectory);
}

TEST(Archive, OneUnfitRowKeepsAllThatCameWithItOut) {
  const Directory directory;
  const std::string path = directory / "a.h5";
  Archive archive = Archive::create(path, example_layout(), {});
  std::vector<Outcome> outcomes = {outcome(0), outcome(1)};
  outcomes[1].evaluation.design.resize(3);
  EXPECT_THAT(error_of([&] { archive.append(outcomes); }), HasSubstr("/evaluations/design"));
  EXPECT_TRUE(read(path).evaluations.empty());
  archive.append(outcome(0));
  expect_prefix(read(path));
}

TEST(Archive, SeveralVariablesAndNoMetricsNorChannels) {
  const Directory directory;
  const std::string path = directory / "a.h5";
  const Layout layout{{{"x", "m", 0, 1}, {"y", "", 0, 1, {"steel", "brass"}}, {"z", "rad", 2, 3}}, {}, {}, 201};
  Outcome out;
  out.evaluation.id = 7;
  out.evaluation.design = Eigen::Vector3d(0.1, 1, 2.3);
  out.evaluation.gradient = Eigen::Vector3d(1.0, not_a_number, -0.0);
  surrogate::Iteration it;
  it.next = Eigen::Vector3d(0.4, 0, 2.6);
  {
    Archive archive = Archive::create(path, layout, {});
    archive.append(out);
    archive.append(it);
  }
  const Contents contents = read(path);
  ASSERT_EQ(contents.evaluations.size(), 1u);
  expect_same(contents.evaluations[0], out.evaluation);
  expect_same(contents.iterations.at(0), it);
  ASSERT_EQ(contents.layout.variables.size(), 3u);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(contents.layout.variables[i].choices, layout.variables[i].choices);
  EXPECT_TRUE(contents.layout.metrics.empty());
  EXPECT_TRUE(contents.provenance.configuration.empty());
  EXPECT_TRUE(read_trajectory(path, 7).empty());
}

// An empty column (here metrics) must not restart the checksum, or changes in earlier columns would not be detected.
TEST(Archive, AChangedBitOfAnyFieldIsNoticed) {
  const Directory directory;
  for (const bool has_metrics : {false, true}) {
    Layout layout = example_layout();
    if (!has_metrics) layout.metrics.clear();
    Outcome row = outcome(4);
    if (!has_metrics) row.evaluation.metrics.resize(0);
    const std::string path = directory / (has_metrics ? "metrics.h5" : "no_metrics.h5");
    Archive::create(path, layout, {}).append(row);
    EXPECT_EQ(error_of([&] { read(path); }), "");
    const Table table = evaluation_table(layout, false);
    for (std::size_t c = 0; c < field_count(); ++c) {
      const std::size_t size = table[c].bytes();
      for (const std::size_t at : {std::size_t(0), size / 2}) {
        if (size == 0) continue;
        const auto flip = [&] {
          const Handle file = own(H5Fopen(path.c_str(), H5F_ACC_RDWR, H5P_DEFAULT), "H5Fopen");
          const Handle dataset = own(H5Dopen2(file, table[c].path.c_str(), H5P_DEFAULT), "H5Dopen");
          Bytes bytes(size);
          check(H5Dread(dataset, table[c].type, H5S_ALL, H5S_ALL, H5P_DEFAULT, bytes.data()), "H5Dread");
          bytes[at] ^= std::byte{1};
          check(H5Dwrite(dataset, table[c].type, H5S_ALL, H5S_ALL, H5P_DEFAULT, bytes.data()), "H5Dwrite");
        };
        flip();
        EXPECT_THAT(error_of([&] { read(path); }), HasSubstr("damaged")) << table[c].path << " byte " << at;
        EXPECT_FALSE(verify(path).problems.empty()) << table[c].path << " byte " << at;
        flip();
        EXPECT_EQ(error_of([&] { read(path); }), "") << table[c].path;
      }
    }
  }
}

TEST(Archive, TextThatIsTooLongIsCutBetweenCharacters) {
  const Directory directory;
  const std::string path = directory / "a.h5";
  Archive archive = Archive::create(path, example_layout(), {});
  // The reason has `shift` one-byte characters, then two- or four-byte ones. The longest prefix of whole characters
  // fits.
  for (int shift = 0; shift < 4; ++shift) {
    Outcome out = outcome(shift);
    out.evaluation.reason = std::string(shift, 'x');
    while (out.evaluation.reason.size() < 1400) out.evaluation.reason += shift % 2 ? "é" : "🦿";
    out.evaluation.host = std::string(64, 'h');  // fills its column exactly
    archive.append(out);
    const std::string got = read(path).evaluations.back().reason;
    const std::size_t unit = shift % 2 ? 2 : 4;
    EXPECT_EQ(got, out.evaluation.reason.substr(0, shift + (1024 - shift) / unit * unit));
    EXPECT_EQ(stored_reason(out.evaluation.reason), got);
    EXPECT_EQ(read(path).evaluations.back().host, out.evaluation.host);
  }
}

TEST(Archive, ResumeGoesOnWhereTheFileEnds) {
  const Directory directory;
  const std::string path = directory / "a.h5";
  for (int round = 0; round < 4; ++round) {
    Archive archive =
        round == 0 ? Archive::create(path, example_layout(), example_provenance()) : Archive::resume(path);
    EXPECT_EQ(read(path).stopped, "");  // it runs again
    EXPECT_EQ(read(path).ending, Ending::none);
    for (int i = 5 * round; i < 5 * round + 5; ++i) {
      archive.append(outcome(i));
      archive.append(iteration(i));
    }
    archive.stop(Ending::finished, "stopped in round " + std::to_string(round));
  }
  const Contents contents = read(path);
  EXPECT_EQ(contents.evaluations.size(), 20u);
  EXPECT_EQ(contents.iterations.size(), 20u);
  expect_prefix(contents);
  EXPECT_EQ(contents.stopped, "stopped in round 3");
  EXPECT_EQ(contents.ending, Ending::finished);
  EXPECT_FALSE(std::filesystem::exists(path + ".lock"));
  EXPECT_FALSE(std::filesystem::exists(path + ".tmp"));
}

TEST(Archive, SecondWriterIsRefusedReadersAreNot) {
  const Directory directory;
  const std::string path = directory / "a.h5";
  Archive archive = Archive::create(path, example_layout(), {});
  archive.append(outcome(0));
  const auto in_use = HasSubstr("a.h5: in use by another process (pid " + std::to_string(::getpid()) + " on ");
  EXPECT_THAT(error_of([&] { Archive::resume(path); }), in_use);
  EXPECT_THAT(error_of([&] { Archive::create(path, example_layout(), {}); }), in_use);
  EXPECT_EQ(read(path).evaluations.size(), 1u);
  archive.append(outcome(1));
  EXPECT_EQ(read(path).evaluations.size(), 2u);
}

TEST(Archive, AReaderIsNoObstacleToTheWriter) {
  const Directory directory;
  const std::string path = directory / "a.h5";
  Archive archive = Archive::create(path, example_layout(), {});
  int ready[2], done[2];
  ASSERT_EQ(::pipe(ready) | ::pipe(done), 0);
  const pid_t child = ::fork();
  if (child == 0) {  // like a notebook: opened with HDF5's lock, and left open
    const Handle reader(H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT));
    char c = reader >= 0 ? 'y' : 'n';
    if (::write(ready[1], &c, 1) != 1 || ::read(done[0], &c, 1) != 1) ::_exit(1);
    ::_exit(0);
  }
  char opened = 0;
  ASSERT_EQ(::read(ready[0], &opened, 1), 1);
  EXPECT_EQ(opened, 'y');
  archive.append(outcome(0));
  EXPECT_EQ(read(path).evaluations.size(), 1u);
  EXPECT_EQ(::write(done[1], "d", 1), 1);
  int status = -1;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

TEST(Archive, RowsOfAnotherShapeAreRefused) {
  const Directory directory;
  const std::string path = directory / "a.h5";
  Archive archive = Archive::create(path, example_layout(), {});
  Outcome out = outcome(0);
  out.evaluation.design = Eigen::Vector2d(0.2, 0.3);
  EXPECT_THAT(error_of([&] { archive.append(out); }), HasSubstr("/evaluations/design"));
  out = outcome(0);
  out.trajectory.values.pop_back();
  EXPECT_THAT(error_of([&] { archive.append(out); }), HasSubstr("a trajectory of 1 channels"));
  out = outcome(0);
  out.trajectory.values[1].transposeInPlace();
  EXPECT_THAT(error_of([&] { archive.append(out); }), HasSubstr("/trajectories/q"));
  surrogate::Iteration it = iteration(1);
  it.grid = it.value = Eigen::VectorXd::Zero(12);
  EXPECT_THAT(error_of([&] { archive.append(it); }), HasSubstr("11"));
  archive.append(outcome(0));
  EXPECT_EQ(read(path).evaluations.size(), 1u);
}

TEST(Archive, BadFilesGiveOneLineAndStayAsTheyAre) {
  const Directory directory;
  const auto both = [](const std::string& path, const std::string& expected) {
    for (const std::string& message : {error_of([&] { read(path); }), error_of([&] { read_trajectory(path, 0); }),
                                       error_of([&] { Archive::resume(path); })}) {
      EXPECT_THAT(message, testing::StartsWith(path + ": "));
      EXPECT_THAT(message, HasSubstr(expected));
      EXPECT_EQ(message.find('\n'), std::string::npos) << message;
    }
  };
  both(directory / "missing.h5", "No such file");
  both(directory / "no/such/directory/a.h5", "No such file");
  both(directory.path.string(), "directory");

  const std::string text = directory / "text.h5";
  std::ofstream(text) << "not what you think, and longer than any superblock would be, so that length says nothing";
  both(text, "not an HDF5 file");
  EXPECT_THAT(error_of([&] { Archive::create(text, example_layout(), {}); }), HasSubstr("exists already"));
  EXPECT_EQ(std::filesystem::file_size(text), 88u);
  const std::string empty = directory / "empty.h5";
  std::ofstream{empty};
  both(empty, "an empty file; remove it");

  const std::string other = directory / "other.h5";
  create_file(other).close();
  both(other, "not a dodyn archive");

  const std::string newer = directory / "newer.h5";
  Archive::create(newer, example_layout(), {}).append(outcome(0));
  {
    const Handle file = open_to_append(newer);
    const Handle schema(H5Aopen(file, "schema", H5P_DEFAULT));
    const int next = schema_version + 1;
    H5Awrite(schema, H5T_NATIVE_INT, &next);
  }
  both(newer, "newer dodyn: schema " + std::to_string(schema_version + 1));

  EXPECT_THAT(error_of([&] { Archive::create(directory / "no/such/a.h5", example_layout(), {}); }),
              HasSubstr("No such file"));
}

TEST(Archive, UnwritableDirectoryIsRefused) {
  const Directory directory;
  const std::string path = directory / "a.h5";
  Archive::create(path, example_layout(), {}).append(outcome(0));
  std::filesystem::permissions(directory.path, std::filesystem::perms(0555));
  const pid_t child = ::fork();  // root may write anywhere, the user nobody may not
  if (child == 0) {
    if (::getuid() == 0 && ::setuid(65534) != 0) ::_exit(2);
    const auto denied = HasSubstr("Permission denied");
    EXPECT_THAT(error_of([&] { Archive::create(directory / "b.h5", example_layout(), {}); }), denied);
    EXPECT_THAT(error_of([&] { Archive::resume(path); }), denied);
    EXPECT_EQ(read(path).evaluations.size(), 1u);
    ::_exit(testing::Test::HasFailure() ? 1 : 0);
  }
  int status = -1;
  ::waitpid(child, &status, 0);
  std::filesystem::permissions(directory.path, std::filesystem::perms(0755));
  if (WEXITSTATUS(status) == 2) GTEST_SKIP() << "cannot become another user";
  EXPECT_EQ(status, 0);
}

// Runs `use` while a child appends `rows` rows with a pause after each. Each byte in the file `path`.go permits
// `rows_a_look` rows, so that a reader sees many states even on a busy machine.
template <class Use>
void while_writing(const std::string& path, int rows, int rows_a_look, std::chrono::milliseconds pause, Use&& use) {
  Archive::create(path, example_layout(), example_provenance());
  const pid_t writer = ::fork();
  if (writer == 0) {
    const auto looks = [&] {
      std::error_code none;
      const auto size = std::filesystem::file_size(path + ".go", none);
      return none ? 0 : static_cast<int>(size);
    };
    while (looks() == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    Archive archive = Archive::resume(path);
    for (int i = 0; i < rows; ++i) {
      while (i >= rows_a_look * looks()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      archive.append(outcome(i));
      archive.append(iteration(i));
      std::this_thread::sleep_for(pause);
    }
    archive.stop(Ending::finished, "done");
    ::_exit(0);
  }
  use();
  int status = -1;
  ::waitpid(writer, &status, 0);
  EXPECT_EQ(status, 0);
}

TEST(Archive, ReadWhileItIsWritten) {
  const Directory directory;
  const std::string path = directory / "a.h5";
  while_writing(path, 120, 10, std::chrono::milliseconds(0), [&] {
    std::ofstream looks(path + ".go");
    std::size_t before = 0;
    int grew = 0;
    for (Contents contents; contents.stopped.empty();) {
      looks << '.' << std::flush;
      contents = read(path);
      const std::size_t rows = contents.evaluations.size();
      EXPECT_GE(rows, before);
      EXPECT_LE(contents.iterations.size(), rows);
      expect_prefix(contents);
      if (rows > 0) {
        const auto last = static_cast<std::int64_t>(rows) - 1;
        expect_same(read_trajectory(path, last), outcome(last).trajectory);
      }
      grew += rows > before;
      before = rows;
      if (HasFailure()) break;
    }
    EXPECT_EQ(before, 120u);
    EXPECT_GT(grew, 5);  // it was read in many states, not just at the end
  });
}

TEST(Archive, H5pyReadsItWhileItIsWritten) {
  if (std::system("/usr/bin/python3 -c 'import h5py' 2>/dev/null") != 0) GTEST_SKIP() << "no h5py";
  const Directory directory;
  const std::string path = directory / "a.h5";
  while_writing(path, 60, 5, std::chrono::milliseconds(10), [&] {
    EXPECT_EQ(std::system(("/usr/bin/python3 " ARCHIVE_TESTS "/check_archive.py " + path).c_str()), 0);
  });
}

TEST(Archive, H5dumpReadsItWhileItIsWritten) {
  if (std::system("h5dump --version >/dev/null 2>&1") != 0) GTEST_SKIP() << "no h5dump";
  const Directory directory;
  const std::string path = directory / "a.h5";
  // h5dump may not end if it reads during an append; that counts as a failure
  const std::string dump = "timeout 20 h5dump -d /evaluations/id " + path + " >/dev/null 2>&1";
  while_writing(path, 20, 2, std::chrono::milliseconds(50), [&] {
    std::ofstream looks(path + ".go");
    int good = 0;  // a read during an append, some milliseconds, is refused
    while (read(path).stopped.empty()) {
      looks << '.' << std::flush;
      good += std::system(dump.c_str()) == 0;
    }
    EXPECT_GT(good, 0);
  });
  EXPECT_EQ(std::system(("h5dump " + path + " >/dev/null 2>&1").c_str()), 0);
}

}  // namespace
}  // namespace dodyn::archive::test_archive
