// Damage is detected and affects only the damaged rows. No damage crashes the program. Older archives are refused, and
// archives can be merged.
#include <gmock/gmock-matchers.h>
#include <gmock/gmock-more-matchers.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <iostream>
#include <random>

#include "archive/archive.hpp"
#include "rows.hpp"

namespace dodyn::archive::test_repair {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

void write(const std::string& path, int rows) {
  Archive archive = Archive::create(path, example_layout(), example_provenance());
  std::vector<Outcome> outcomes;
  for (int i = 0; i < rows; ++i) {
    outcomes.push_back(outcome(i));
    // makes the row consistent: `outcome` also draws infinite costs with status ok
    if (outcomes.back().evaluation.ok()) outcomes.back().evaluation.cost = 1.0 + i;
  }
  archive.append(outcomes);
  for (int i = 0; i < 3; ++i) archive.append(iteration(i));
  archive.stop(Ending::finished, "done");
}

Evaluation expected(std::int64_t id) {
  Evaluation e = outcome(id).evaluation;
  if (e.ok()) e.cost = 1.0 + static_cast<double>(id);
  return e;
}

std::string bytes_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}
void put_bytes(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

TEST(Repair, NothingWrongNothingDone) {
  const Directory directory;
  const std::string path = directory / "a.h5";
  write(path, 30);
  const Findings findings = verify(path);
  EXPECT_THAT(findings.problems, IsEmpty());
  EXPECT_THAT(findings.notes, IsEmpty());
  EXPECT_EQ(findings.evaluations, 30u);
  EXPECT_EQ(findings.trajectories, 20u);
  EXPECT_EQ(findings.iterations, 3u);
  const std::string before = bytes_of(path);
  EXPECT_EQ(repair(path).backup, "");
  EXPECT_TRUE(bytes_of(path) == before);
  EXPECT_THAT(error_of([&] { repair(directory / "none.h5"); }), HasSubstr("No such file"));
  EXPECT_FALSE(std::filesystem::exists(directory / "none.h5.lock"));
}

// One bit of one row's text changes: that row is lost, all others are unchanged, and the old file is kept.
TEST(Repair, AFlippedBitCostsItsRowAlone) {
  const Directory directory;
  const std::string path = directory / "a.h5";
  write(path, 30);
  std::string bytes = bytes_of(path);
  const auto at = bytes.find("reason of row 17");
  ASSERT_NE(at, std::string::npos);
  bytes[at + 3] ^= 1;
  put_bytes(path, bytes);
  EXPECT_THAT(error_of([&] { read(path); }), AllOf(HasSubstr("of row 17"), HasSubstr("dodyn repair")));
  EXPECT_THAT(error_of([&] { Archive::resume(path); }), HasSubstr("dodyn repair")) << "or a study would be told of it";
  EXPECT_THAT(verify(path).problems, testing::ElementsAre("/evaluations: damaged rows: 17"));

  const Repaired repaired = repair(path);
  EXPECT_EQ(repaired.backup, path + ".damaged");
  EXPECT_TRUE(bytes_of(repaired.backup) == bytes);
  EXPECT_EQ(repaired.findings.evaluations, 29u);
  const Contents contents = read(path);
  EXPECT_EQ(contents.stopped, "done");
  EXPECT_EQ(contents.ending, Ending::finished);
  EXPECT_EQ(contents.provenance.configuration, example_provenance().configuration);
  ASSERT_THAT(contents.evaluations, SizeIs(29));
  for (const Evaluation& e : contents.evaluations) {
    EXPECT_NE(e.id, 17);
    expect_same(e, expected(e.id));
    expect_same(read_trajectory(path, e.id), outcome(e.id).trajectory);
  }
  EXPECT_THAT(contents.iterations, SizeIs(3));
  EXPECT_THAT(verify(path).problems, IsEmpty());
  Archive::resume(path).append(outcome(17));
  EXPECT_THAT(read(path).evaluations, SizeIs(30));
}

TEST(Repair, ADamagedTrajectoryLeavesItsRow) {
  const Directory directory;
  const std::string path = directory / "a.h5";
  write(path, 30);
  hsize_t offset[3] = {9, 0, 0}, bytes = 0;
  unsigned filters = 0;
  haddr_t address = 0;
  {
    const Handle file = open_to_read(path);
    const Handle q(H5Dopen2(file, "/trajectories/q", H5P_DEFAULT));
    ASSERT_GE(H5Dget_chunk_info_by_coord(q, offset, &filters, &address, &bytes), 0);
  }
  std::string all = bytes_of(path);
  const std::size_t row_bytes = 21 * 3 * 8, rows_before = 9 % (4096 / row_bytes);  // in the chunk
  for (int i = 40; i < 60; ++i) all[address + rows_before * row_bytes + static_cast<std::size_t>(i)] ^= 0x55;
  put_bytes(path, all);
  EXPECT_THAT(error_of([&] { read_trajectory(path, 9); }), HasSubstr("a.h5: "));
  EXPECT_THAT(verify(path).problems, testing::ElementsAre("/trajectories: damaged rows: 9"));
  repair(path);
  EXPECT_THAT(read(path).evaluations, SizeIs(30));
  EXPECT_TRUE(read_trajectory(path, 9).empty());
  expect_same(read_trajectory(path, 10), outcome(10).trajectory);
}

TEST(Repair, ATornFileIsMadeWhole) {
  const Directory directory;
  const std::string path = directory / "a.h5";
  write(path, 10);
  leave_torn(path);
  const Findings torn = verify(path);
  EXPECT_THAT(torn.problems, IsEmpty());
  EXPECT_THAT(torn.notes,
              testing::UnorderedElementsAre(HasSubstr("1 incomplete rows"), "left open by a process that was killed"));
  EXPECT_NE(repair(path).backup, "");
  EXPECT_THAT(verify(path).notes, IsEmpty());
  EXPECT_THAT(read(path).evaluations, SizeIs(10));
}

TEST(Repair, ATruncatedFileGivesWhatIsLeftOfIt) {
  const Directory directory;
  const std::string path = directory / "a.h5";
  write(path, 400);
  std::filesystem::resize_file(path, std::filesystem::file_size(path) - 3000);
  EXPECT_THAT(error_of([&] { verify(path); }), HasSubstr("truncated"));
  const Repaired repaired = repair(path);
  ASSERT_THAT(repaired.findings.problems, testing::Not(IsEmpty()));
  EXPECT_EQ(repaired.findings.problems[0], "truncated: 3000 bytes are missing at its end");
  const Contents contents = read(path);
  EXPECT_EQ(contents.evaluations.size(), repaired.findings.evaluations);
  for (const Evaluation& e : contents.evaluations) expect_same(e, expected(e.id));
  EXPECT_FALSE(std::filesystem::exists(path + ".salvage"));
}

// The beginning of the file has the names of all datasets. Without them there is no archive to repair.
TEST(Repair, AFileWithoutItsBeginningIsBeyondRepair) {
  const Directory directory;
  const std::string path = directory / "a.h5";
  write(path, 40);
  const auto whole = std::filesystem::file_size(path);
  const std::string remedy = "no row can be recovered: restore a copy, or run the study again";
  for (const std::uintmax_t left : {std::uintmax_t{8192}, std::uintmax_t{47}}) {
    std::filesystem::resize_file(path, left);
    EXPECT_EQ(error_of([&] { repair(path); }),
              path + ": truncated: " + std::to_string(left) + " bytes are left; " + remedy);
    EXPECT_THAT(error_of([&] { verify(path); }), HasSubstr("dodyn repair " + path));
  }
  std::filesystem::resize_file(path, whole);  // of zeros
  EXPECT_THAT(error_of([&] { repair(path); }), testing::EndsWith("; if it is a damaged archive, " + remedy));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(directory.path), {}), 1);
}

TEST(Repair, AChecksumOfTheOutcomeIsTheSameWhereverItWasComputed) {
  const Directory directory;
  const std::string path = directory / "a.h5";
  write(path, 10);
  const std::vector<std::uint32_t> outcomes = read(path).outcomes;
  ASSERT_THAT(outcomes, SizeIs(10));
  for (int i = 0; i < 10; ++i)
    EXPECT_EQ(outcomes[i], outcome_checksum(example_layout(), {expected(i), outcome(i).trajectory}));
  Outcome elsewhere{expected(4), outcome(4).trajectory};
  elsewhere.evaluation.id = 17;
  elsewhere.evaluation.rank = 12;
  elsewhere.evaluation.host = "node-17";
  elsewhere.evaluation.seconds = 99;
  elsewhere.evaluation.started = "2027-01-31T12:34:56.789Z";
  EXPECT_EQ(outcome_checksum(example_layout(), elsewhere), outcomes[4]);
  elsewhere.trajectory.values[1](7, 2) = std::nextafter(elsewhere.trajectory.values[1](7, 2), 9.0);
  EXPECT_NE(outcome_checksum(example_layout(), elsewhere), outcomes[4]);
}

TEST(Repair, AnotherSchemaIsRefusedInOneLineThatNamesItsReader) {
  const Directory directory;
  const std::string path = directory / "a.h5";
  write(path, 3);
  {
    const Handle file(H5Fopen(path.c_str(), H5F_ACC_RDWR, H5P_DEFAULT));
    set_schema(file, 6);
  }
  const std::string before = bytes_of(path);
  for (const std::string& refusal :
       {error_of([&] { read(path); }), error_of([&] { read_trajectory(path, 0); }), error_of([&] { verify(path); }),
        error_of([&] { repair(path); }), error_of([&] { Archive::resume(path); })})
    EXPECT_EQ(refusal, path +
                           ": written by an older dodyn: schema 6; this dodyn reads schema 7; dodyn 0.1.0 of commit " +
                           last_reader_of_older_schemas + " reads it, or run the study again");
  EXPECT_TRUE(bytes_of(path) == before);
}

TEST(Repair, TheLastRowOfAnIdCounts) {
  const Directory directory;
  const std::string path = directory / "a.h5";
  write(path, 10);
  Outcome again = outcome(4);
  again.evaluation.status = Status::ok;
  again.evaluation.cost = -7;
  again.trajectory = outcome(7).trajectory;
  Archive::resume(path).append(again);
  const Contents contents = read(path);
  EXPECT_THAT(contents.evaluations, SizeIs(11));
  EXPECT_EQ(latest(contents).size(), 10u);
  EXPECT_EQ(latest(contents).at(4), 10u);
  EXPECT_EQ(latest(contents).at(5), 5u);
  expect_same(read_trajectory(path, 4), again.trajectory);
  EXPECT_THAT(verify(path).problems, IsEmpty());
  EXPECT_THAT(verify(path).notes, testing::ElementsAre("1 rows are later attempts of an evaluation"));
  // a lost attempt and its answer; an answer that is lost when it is repeated
  Outcome lost{outcome(13).evaluation, {}};
  lost.evaluation.status = Status::lost;
  {
    Archive archive = Archive::resume(path);
    archive.append(lost);
    archive.append(outcome(13));
  }
  expect_same(read_trajectory(path, 13), outcome(13).trajectory);
  Archive::resume(path).append(lost);
  EXPECT_TRUE(read_trajectory(path, 13).empty());
  again.evaluation.design(0) = 0.25;
  Archive::resume(path).append(again);
  EXPECT_THAT(verify(path).problems, testing::ElementsAre(HasSubstr("another design or seed than row 4")));
}

// A lost parent of the last row is noted, too.
TEST(Repair, AParentThatIsLostIsNoted) {
  const Directory directory;
  for (const std::int64_t orphan : {0, 3}) {
    const std::string path = directory / ("a" + std::to_string(orphan) + ".h5").c_str();
    {
      Archive archive = Archive::create(path, example_layout(), {});
      for (std::int64_t id = 0; id < 4; ++id) {
        Outcome one{expected(id), outcome(id).trajectory};
        if (id == orphan) one.evaluation.parent = 77;
        archive.append(one);
      }
    }
    EXPECT_THAT(verify(path).notes, testing::ElementsAre("evaluation " + std::to_string(orphan) +
                                                         ": its parent, evaluation 77, is not here"));
    EXPECT_THAT(verify(path).problems, IsEmpty());
  }
}

TEST(Merge, RowsIdsParentsAndProvenanceAreKept) {
  const Directory directory;
  const std::string a = directory / "a.h5", b = directory / "b.h5", out = directory / "out.h5";
  write(a, 10);
  {
    Provenance other = example_provenance();
    other.configuration[2].second = "other";
    other.host = "node-9";
    Archive archive = Archive::create(b, example_layout(), other);
    for (const int id : {2, 0, 1, 4}) archive.append(outcome(id));  // in the original order; 3 is missing
    Outcome again = outcome(1);
    again.evaluation.reason = "better";
    archive.append(again);
  }
  merge(out, {a, b});
  const Contents contents = read(out);
  ASSERT_THAT(contents.evaluations, SizeIs(14));
  ASSERT_THAT(contents.sources, SizeIs(2));
  EXPECT_EQ(contents.sources[1].path, b);
  EXPECT_EQ(contents.sources[0].stopped, "done");
  EXPECT_EQ(contents.sources[1].provenance.host, "node-9");
  EXPECT_EQ(contents.sources[1].provenance.configuration[2].second, "other");
  EXPECT_THAT(contents.provenance.configuration, SizeIs(example_provenance().configuration.size() - 1));
  const std::int64_t of_b[] = {0, 1, 2, 4};
  for (std::size_t i = 0; i < 14; ++i) {
    Evaluation e = i < 10 ? expected(static_cast<std::int64_t>(i)) : outcome(of_b[i - 10]).evaluation;
    const Trajectory trajectory = outcome(e.id).trajectory;
    if (i == 11) e.reason = "better";
    e.id = static_cast<std::int64_t>(i);
    if (i >= 10 && e.parent >= 0) e.parent += 10;
    EXPECT_EQ(contents.origins[i], i < 10 ? 0 : 1);
    expect_same(contents.evaluations[i], e);
    expect_same(read_trajectory(out, e.id), trajectory);
  }
  EXPECT_THAT(verify(out).problems, testing::Each(HasSubstr("status ok, but no cost")));
  EXPECT_THAT(error_of([&] { Archive::resume(out); }), HasSubstr("a merged archive"));
  EXPECT_THAT(error_of([&] { merge(out, {a, b}); }), HasSubstr("out.h5: exists already"));
}

// Archives of different problems have no common best design.
TEST(Merge, OtherQuestionsAreRefusedInOneLine) {
  const Directory directory;
  const std::string a = directory / "a.h5", b = directory / "b.h5", out = directory / "out.h5";
  Provenance limited = example_provenance();
  limited.configuration.emplace_back("surrogate.constraints", "steps <= 3");
  Archive::create(a, example_layout(), limited);
  const auto refusal = [&](auto&& change) {
    Provenance other = limited;
    change(other);
    std::filesystem::remove(b);
    Archive::create(b, example_layout(), other);
    return error_of([&] { merge(out, {a, b}); });
  };
  const std::string head = b + ": cannot be merged with " + a + ": ";
  EXPECT_EQ(refusal([](Provenance& p) { p.configuration.back().second = "steps <= 4"; }),
            head + "surrogate.constraints: steps <= 3 / steps <= 4");
  EXPECT_EQ(refusal([](Provenance& p) { p.configuration.pop_back(); }),
            head + "surrogate.constraints: steps <= 3 / none");
  EXPECT_EQ(refusal([](Provenance& p) { p.configuration.emplace_back("surrogate.objectives", "cost, steps"); }),
            head + "surrogate.objectives: none / cost, steps");
  EXPECT_THAT(refusal([](Provenance& p) { p.evaluator = "other"; }), HasSubstr(" / other"));
  EXPECT_EQ(refusal([](Provenance& p) { p.configuration.emplace_back("study.seed", "8"); }), "");
}

TEST(Merge, OtherShapesAreRefusedInOneLine) {
  const Directory directory;
  const std::string a = directory / "a.h5", b = directory / "b.h5", out = directory / "out.h5";
  write(a, 2);
  const auto refusal = [&](auto&& change) {
    Layout layout = example_layout();
    change(layout);
    std::filesystem::remove(b);
    Archive::create(b, layout, example_provenance());
    return error_of([&] { merge(out, {a, b}); });
  };
  EXPECT_EQ(refusal([](Layout& l) { l.variables[0].name = "hip"; }),
            b + ": cannot be merged with " + a + ": design variable 1: knee [m] / hip [m]");
  EXPECT_THAT(refusal([](Layout& l) { l.metrics.pop_back(); }), HasSubstr("metric 2: steps [1] / none"));
  EXPECT_THAT(refusal([](Layout& l) { l.channels[1].nodes = 20; }),
              HasSubstr("channel 2: q [rad] of 21 x (stance swing hip) / q [rad] of 20 x (stance swing hip)"));
  EXPECT_THAT(refusal([](Layout& l) {
                l.variables[0].choices = {"steel", "brass"};
              }),
              HasSubstr("design variable 1: knee [m] / knee [m] of steel, brass"));
  EXPECT_EQ(refusal([](Layout& l) { l.variables[0].upper = 0.9; }), "");
  EXPECT_EQ(read(out).layout.variables[0].upper, 0.9);
}

// Changes bytes at random. Every row that is read is right, and a repaired file passes verification.
void damage_and_read(const std::string& path, const std::string& original, std::mt19937& random) {
  const auto below = [&](std::size_t n) { return std::uniform_int_distribution<std::size_t>(0, n - 1)(random); };
  std::string bytes = original;
  const std::size_t flips = below(4) == 0 ? 0 : std::size_t{1} << below(8);
  // Half of the changes are anywhere in the file, half near its beginning, which has most of the metadata.
  const std::size_t range = below(2) ? bytes.size() : std::min<std::size_t>(bytes.size(), 20000);
  for (std::size_t i = 0; i < flips; ++i) bytes[below(range)] ^= static_cast<char>(1 + below(255));
  if (flips == 0 || below(4) == 0) bytes.resize(below(bytes.size()));
  put_bytes(path, bytes);
  const auto expect_right = [&](const Contents& contents) {
    for (const Evaluation& e : contents.evaluations) expect_same(e, expected(e.id));
  };
  error_of([&] { expect_right(read(path)); });
  error_of([&] { expect_same(read_trajectory(path, 6), outcome(6).trajectory); });
  error_of([&] { verify(path); });
  Repaired repaired;
  if (error_of([&] { repaired = repair(path); }).empty()) {
    const Contents contents = read(path);
    expect_right(contents);
    EXPECT_EQ(contents.evaluations.size(), repaired.findings.evaluations);
    EXPECT_THAT(verify(path).problems, IsEmpty());
    Archive::resume(path);
  } else {
    EXPECT_TRUE(bytes_of(path) == bytes);
  }
  if (!repaired.backup.empty()) std::filesystem::remove(repaired.backup);
  for (const char* left : {".lock", ".tmp", ".salvage", ".damaged"})
    EXPECT_FALSE(std::filesystem::exists(path + left)) << left;
}

TEST(Repair, NoDamageCrashesOrHangs) {
  const char* wanted = std::getenv("DODYN_DAMAGES");
  const int damages = wanted != nullptr ? std::atoi(wanted) : 100, together = 20;
  const Directory directory;
  const std::string closed = directory / "closed.h5", torn = directory / "torn.h5";
  for (const std::string& path : {closed, torn}) write(path, 12);
  leave_torn(torn);
  const std::string originals[] = {bytes_of(closed), bytes_of(torn)};
  for (int first = 0; first < damages; first += together) {
    int pipe[2];
    ASSERT_EQ(::pipe(pipe), 0);
    std::fflush(stdout);
    const pid_t child = ::fork();
    if (child == 0) {
      for (int i = first; i < first + together && !testing::Test::HasFailure(); ++i) {
        if (::write(pipe[1], &i, sizeof(i)) != sizeof(i)) ::_exit(2);
        std::mt19937 random(static_cast<unsigned>(i));
        ::alarm(60);  // ends the process if it hangs
        try {
          damage_and_read(directory / "damaged.h5", originals[i % 2], random);
        } catch (const std::exception& error) {
          ADD_FAILURE() << "beyond any one-line error: " << error.what();
        }
      }
      ::_exit(testing::Test::HasFailure() ? 1 : 0);
    }
    ::close(pipe[1]);
    int last = -1, status = -1;
    while (::read(pipe[0], &last, sizeof(last)) == sizeof(last)) continue;
    ::close(pipe[0]);
    ::waitpid(child, &status, 0);
    ASSERT_TRUE(WIFEXITED(status)) << "damage " << last << " ended it by signal " << WTERMSIG(status);
    ASSERT_EQ(WEXITSTATUS(status), 0) << "damage " << last;
  }
}

}  // namespace
}  // namespace dodyn::archive::test_repair
