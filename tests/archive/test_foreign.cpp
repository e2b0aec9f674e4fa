// Archives from untrusted sources: any wrong contents are refused in one line that names the place. Nothing outside of
// the archive is written.
#include <gmock/gmock-matchers.h>
#include <gmock/gmock-more-matchers.h>
#include <gtest/gtest.h>

#include <fstream>
#include <functional>

#include "archive/archive.hpp"
#include "rows.hpp"

namespace dodyn::archive::test_foreign {
namespace {

using testing::HasSubstr;

Handle open_freely(const std::string& path) { return own(H5Fopen(path.c_str(), H5F_ACC_RDWR, H5P_DEFAULT), path); }

void replace_attribute(hid_t object, const char* name, hid_t type, const std::vector<hsize_t>& shape,
                       const void* data) {
  H5Adelete(object, name);
  const Handle space =
      own(shape.empty() ? H5Screate(H5S_NULL) : H5Screate_simple(shape.size(), shape.data(), nullptr), name);
  const Handle attribute = own(H5Acreate2(object, name, type, space, H5P_DEFAULT, H5P_DEFAULT), name);
  if (data != nullptr) check(H5Awrite(attribute, type, data), name);
}

// Replaces a dataset by one of this shape; `list` specifies its storage.
void replace_dataset(hid_t file, const std::string& path, hid_t type, const std::vector<hsize_t>& shape, hid_t list) {
  H5Ldelete(file, path.c_str(), H5P_DEFAULT);
  const Handle space = own(H5Screate_simple(shape.size(), shape.data(), nullptr), path);
  own(H5Dcreate2(file, path.c_str(), type, space, H5P_DEFAULT, list, H5P_DEFAULT), path);
}

Handle chunks(const std::vector<hsize_t>& chunk) {
  Handle list = own(H5Pcreate(H5P_DATASET_CREATE), "HDF5");
  check(H5Pset_chunk(list, chunk.size(), chunk.data()), "HDF5");
  return list;
}

constexpr hsize_t rows = 6;

struct Damage {
  std::string place;  // text that the refusal contains
  std::function<void(hid_t file, const std::string& victim)> make;
  bool repairable = false;  // repair drops rows
};

Outcome changed(std::int64_t id, const std::function<void(Evaluation&)>& change) {
  Outcome one = outcome(id);
  change(one.evaluation);
  return one;
}

// A row with checksums that fit.
void append(hid_t file, const Outcome& one) {
  const Table table = evaluation_table(example_layout(), false);
  const Row row = encode(table, example_layout(), one);
  write_rows(file, table, rows, {&row, 1});
}

void replace_paths(hid_t file, const std::vector<std::string>& paths) {
  const Handle group = open_group(file, "/files");
  H5Adelete(group, "paths");
  set_attribute(group, "paths", paths);
}

void replace_sizes(hid_t file, const std::vector<double>& sizes) {
  const Handle group = open_group(file, "/files");
  H5Adelete(group, "sizes");
  set_attribute(group, "sizes", sizes);
}

const std::vector<Damage> corpus = {
    {"'stop_reason'",
     [](hid_t file, auto&) {
       const std::vector<char> texts(64 * 1024, 'x');
       replace_attribute(file, "stop_reason", string_type(1024), {64}, texts.data());
     }},
    {"'stop_reason'",
     [](hid_t file, auto&) {
       const std::vector<char> text(4096, 'x');
       replace_attribute(file, "stop_reason", string_type(4096), {1}, text.data());
     }},
    {"'stop_reason'",
     [](hid_t file, auto&) { replace_attribute(file, "stop_reason", string_type(1024), {}, nullptr); }},
    {"'stop_reason'",
     [](hid_t file, auto&) {
       const double number = 1;
       replace_attribute(file, "stop_reason", H5T_NATIVE_DOUBLE, {1}, &number);
     }},
    {"'ending'",
     [](hid_t file, auto&) {
       const std::vector<char> texts(64 * 16, 'x');
       replace_attribute(file, "ending", string_type(16), {64}, texts.data());
     }},
    {"'schema'",
     [](hid_t file, auto&) {
       const std::vector<int> many(1000, schema_version);
       replace_attribute(file, "schema", H5T_NATIVE_INT, {10, 100}, many.data());
     }},
    {"'configuration'",
     [](hid_t file, auto&) {
       const std::vector<double> numbers(3, 1.0);
       replace_attribute(file, "configuration", H5T_NATIVE_DOUBLE, {3}, numbers.data());
     }},
    {"'names'",
     [](hid_t file, auto&) {
       const std::int64_t address = 0x4141414141414141;  // as a text, it would be read from there
       replace_attribute(open_dataset(file, "/evaluations/design"), "names", H5T_NATIVE_INT64, {1}, &address);
     }},
    {"'names'",
     [](hid_t file, auto&) {
       replace_attribute(open_dataset(file, "/evaluations/design"), "names", string_type(16), {4},
                         "0123456789abcdef"
                         "0123456789abcdef0123456789abcdef0123456789abcdef");
     }},
    {"'lower'",
     [](hid_t file, auto&) {
       replace_attribute(open_dataset(file, "/evaluations/design"), "lower", H5T_NATIVE_DOUBLE, {1 << 20}, nullptr);
     }},
    {"names and units",
     [](hid_t file, auto&) {
       const double bounds[] = {0.2, 0.2};
       replace_attribute(open_dataset(file, "/evaluations/design"), "lower", H5T_NATIVE_DOUBLE, {2}, bounds);
     }},
    {"names and units",
     [](hid_t file, auto&) {
       const Handle q = open_dataset(file, "/trajectories/q");
       H5Adelete(q, "coordinate_units");
       set_attribute(q, "coordinate_units", std::vector<std::string>{"rad"});
     }},
    {"'grid_points'",
     [](hid_t file, auto&) {
       const int most = 2147483647;
       replace_attribute(open_group(file, "/surrogate"), "grid_points", H5T_NATIVE_INT, {1}, &most);
     }},
    {"'grid_points'",
     [](hid_t file, auto&) {
       const int none = -5;
       replace_attribute(open_group(file, "/surrogate"), "grid_points", H5T_NATIVE_INT, {1}, &none);
     }},
    {"/surrogate/",
     [](hid_t file, auto&) {
       const int more = 60000;
       replace_attribute(open_group(file, "/surrogate"), "grid_points", H5T_NATIVE_INT, {1}, &more);
     }},
    {"/evaluations/metrics",
     [](hid_t file, auto&) {
       const Handle old = open_dataset(file, "/evaluations/metrics");
       replace_dataset(file, "/evaluations/metrics", H5T_NATIVE_DOUBLE, {rows, 2, 5}, chunks({1, 2, 5}));
       const Handle now = open_dataset(file, "/evaluations/metrics");
       for (const char* name : {"names", "units", "descriptions"})
         set_attribute(now, name, strings_attribute(old, name));
     }},
    {"/evaluations/id",
     [](hid_t file, auto&) {
       replace_dataset(file, "/evaluations/id", H5T_NATIVE_INT64, {rows, 3, 3, 3}, chunks({1, 3, 3, 3}));
     }},
    {"/evaluations/id",
     [](hid_t file, auto&) { replace_dataset(file, "/evaluations/id", H5T_NATIVE_INT8, {rows}, chunks({1})); }},
    {"/evaluations/id",
     [](hid_t file, auto&) {
       const hsize_t many = hsize_t{1} << 40;
       check(H5Dset_extent(open_dataset(file, "/evaluations/id"), &many), "");
     }},
    {"/evaluations/cost has 5 rows of 6",
     [](hid_t file, auto&) { replace_dataset(file, "/evaluations/cost", H5T_NATIVE_DOUBLE, {rows - 1}, chunks({1})); }},
    {"/evaluations/reason",
     [](hid_t file, auto&) {
       replace_dataset(file, "/evaluations/reason", string_type(H5T_VARIABLE), {rows}, chunks({1}));
     }},
    {"/evaluations/checksum",
     [](hid_t file, auto&) {
       replace_dataset(file, "/evaluations/checksum", H5T_NATIVE_UINT32, {rows, 1}, chunks({1, 1}));
     }},
    {"/iterations/n_observed",
     [](hid_t file, auto&) {
       replace_dataset(file, "/iterations/n_observed", H5T_NATIVE_INT64, {2, 9}, chunks({1, 9}));
     }},
    {"/surrogate/grid",
     [](hid_t file, auto&) {
       replace_dataset(file, "/surrogate/grid", H5T_NATIVE_DOUBLE, {11, 11}, H5P_DEFAULT);
     }},
    {"/events/time", [](hid_t file, auto&) { check(H5Ldelete(file, "/events/time", H5P_DEFAULT), ""); }},
    {"/evaluations/cost",
     [](hid_t file, auto& victim) {  // a run would write its costs there
       const Handle list = own(H5Pcreate(H5P_DATASET_CREATE), "HDF5");
       check(H5Pset_external(list, victim.c_str(), 0, H5F_UNLIMITED), "");
       replace_dataset(file, "/evaluations/cost", H5T_NATIVE_DOUBLE, {rows}, list);
     }},
    {"/surrogate/grid",
     [](hid_t file, auto& victim) {
       const Handle list = own(H5Pcreate(H5P_DATASET_CREATE), "HDF5");
       check(H5Pset_external(list, victim.c_str(), 0, 88), "");
       replace_dataset(file, "/surrogate/grid", H5T_NATIVE_DOUBLE, {11}, list);
     }},
    {"/evaluations/cost",
     [](hid_t file, auto& victim) {
       const hsize_t size[] = {rows}, limit[] = {H5S_UNLIMITED};
       const Handle space = own(H5Screate_simple(1, size, limit), ""), list = own(H5Pcreate(H5P_DATASET_CREATE), "");
       check(H5Pset_virtual(list, space, victim.c_str(), "/cost", space), "");
       H5Ldelete(file, "/evaluations/cost", H5P_DEFAULT);
       own(H5Dcreate2(file, "/evaluations/cost", H5T_NATIVE_DOUBLE, space, H5P_DEFAULT, list, H5P_DEFAULT), "");
     }},
    {"/evaluations/cost",
     [](hid_t file, auto& victim) {
       check(H5Ldelete(file, "/evaluations/cost", H5P_DEFAULT), "");
       check(H5Lcreate_external(victim.c_str(), "/cost", file, "/evaluations/cost", H5P_DEFAULT, H5P_DEFAULT), "");
     }},
    {"/evaluations",
     [](hid_t file, auto& victim) {
       check(H5Ldelete(file, "/evaluations", H5P_DEFAULT), "");
       check(H5Lcreate_external(victim.c_str(), "/", file, "/evaluations", H5P_DEFAULT, H5P_DEFAULT), "");
     }},
    {"/trajectories/q",
     [](hid_t file, auto&) {
       check(H5Lmove(file, "/trajectories/q", file, "/elsewhere", H5P_DEFAULT, H5P_DEFAULT), "");
       check(H5Lcreate_soft("/elsewhere", file, "/trajectories/q", H5P_DEFAULT, H5P_DEFAULT), "");
     }},
    {"/files: the path '../models/knee.model'",
     [](hid_t file, auto&) {
       replace_paths(file, {"../models/knee.model", "studies/empty", ""});
     }},
    {"/files: the path '/models/knee.model'",
     [](hid_t file, auto&) {
       replace_paths(file, {"/models/knee.model", "studies/empty", ""});
     }},
    {"/files: the path 'a/../../b'",
     [](hid_t file, auto&) {
       replace_paths(file, {"a/../../b", "studies/empty", ""});
     }},
    {"/files: the path 'a/b/'",
     [](hid_t file, auto&) {
       replace_paths(file, {"a/b/", "studies/empty", ""});
     }},
    {"/files: the path ''",
     [](hid_t file, auto&) {
       replace_paths(file, {"", "studies/empty", ""});
     }},
    {"/files: the path 'a b'",
     [](hid_t file, auto&) {
       replace_paths(file, {"a\nb", "studies/empty", ""});
     }},
    {"/files: the path 'xxxx",
     [](hid_t file, auto&) {
       replace_paths(file, {std::string(300, 'x'), "studies/empty", ""});
     }},
    {"is given twice",
     [](hid_t file, auto&) {
       replace_paths(file, {"a", "a", ""});
     }},
    {"is given twice",
     [](hid_t file, auto&) {
       replace_paths(file, {"a", "a/b", ""});
     }},
    {"is given twice",
     [](hid_t file, auto&) {
       replace_paths(file, {"a/b", "a", ""});
     }},
    {"differ in number", [](hid_t file, auto&) { replace_paths(file, {"a"}); }},
    {"/files: the folder",
     [](hid_t file, auto&) {
       const Handle group = open_group(file, "/files");
       H5Adelete(group, "folder");
       set_attribute(group, "folder", std::string("../.."));
     }},
    {"/files: 1001 files",
     [](hid_t file, auto&) {
       const Handle group = open_group(file, "/files");
       for (const char* name : {"names", "paths", "checksums"}) {
         H5Adelete(group, name);
         set_attribute(group, name, std::vector<std::string>(1001, "a"));
       }
       H5Adelete(group, "sizes");
       set_attribute(group, "sizes", std::vector<double>(1001, 1.0));
     }},
    {"/files: more than 16 MiB",
     [](hid_t file, auto&) {
       replace_sizes(file, {1e14, 0, 0});
       replace_dataset(file, "/files/0", H5T_STD_U8LE, {hsize_t{100000000000000}}, chunks({1 << 20}));
     }},
    {"/files: the size",
     [](hid_t file, auto&) {
       replace_sizes(file, {not_a_number, 0, 0});
     }},
    {"/files: the size",
     [](hid_t file, auto&) {
       replace_sizes(file, {-1, 0, 0});
     }},
    {"/files/0 has another shape",
     [](hid_t file, auto&) {
       replace_sizes(file, {9, 0, 0});
     }},
    {"/files/0 has another shape",
     [](hid_t file, auto&) { replace_dataset(file, "/files/0", H5T_NATIVE_DOUBLE, {8}, H5P_DEFAULT); }},
    {"/files/0 (models/knee.model) does not fit its checksum",
     [](hid_t file, auto&) {
       const Handle dataset = open_dataset(file, "/files/0");
       check(H5Dwrite(dataset, H5T_NATIVE_UINT8, H5S_ALL, H5S_ALL, H5P_DEFAULT, "[mobel]\n"), "");
     }},
    {"/files/0",
     [](hid_t file, auto& victim) {  // a file of the reader's machine would be packed with the study
       const Handle list = own(H5Pcreate(H5P_DATASET_CREATE), "HDF5");
       check(H5Pset_external(list, victim.c_str(), 0, H5F_UNLIMITED), "");
       replace_dataset(file, "/files/0", H5T_STD_U8LE, {8}, list);
     }},
    {"/files",
     [](hid_t file, auto& victim) {
       check(H5Ldelete(file, "/files", H5P_DEFAULT), "");
       check(H5Lcreate_external(victim.c_str(), "/", file, "/files", H5P_DEFAULT, H5P_DEFAULT), "");
     }},
    {"row 6", [](hid_t file, auto&) { append(file, changed(6, [](auto& e) { e.design.resize(0); })); }, true},
    {"row 6", [](hid_t file, auto&) { append(file, changed(6, [](auto& e) { e.status = Status(77); })); }, true},
    {"row 6", [](hid_t file, auto&) { append(file, changed(6, [](auto& e) { e.id = -6; })); }, true},
};

class Foreign : public ::testing::TestWithParam<std::size_t> {};

TEST_P(Foreign, IsRefusedByName) {
  const Damage& damage = corpus[GetParam()];
  const Directory directory;
  const std::string path = directory / "a.h5", victim = directory / "victim", out = directory / "out.h5";
  {
    Archive archive = Archive::create(path, example_layout(), example_provenance());
    for (std::size_t i = 0; i < rows; ++i) archive.append(outcome(static_cast<std::int64_t>(i)));
    for (int i = 0; i < 2; ++i) archive.append(iteration(i));
    archive.stop(Ending::finished, "done");
  }
  const std::string letters(4096, 'v');
  std::ofstream(victim) << letters;
  {
    const Handle file = open_freely(path);
    damage.make(file, victim);
  }
  const auto refused = [&](const std::string& message) {
    EXPECT_THAT(message, testing::StartsWith(path + ": "));
    EXPECT_THAT(message, HasSubstr(damage.place));
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
    EXPECT_LT(message.size(), 300u) << message;
  };
  refused(error_of([&] { read(path); }));
  refused(error_of([&] { Archive::resume(path).append(outcome(9)); }));
  refused(error_of([&] { merge(out, {path}); }));
  error_of([&] { for_each_trajectory(path, rows, [](auto, auto) {}); });  // may be sound
  error_of([&] { read_trajectory(path, 2); });
  error_of([&] { EXPECT_THAT(verify(path).problems, testing::Not(testing::IsEmpty())); });
  const bool repaired = error_of([&] { repair(path); }).empty();
  EXPECT_TRUE(repaired || !damage.repairable);
  if (repaired) {
    EXPECT_LE(read(path).evaluations.size(), rows);
    EXPECT_THAT(verify(path).problems, testing::IsEmpty());
  }
  std::ifstream again(victim);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(again), {}), letters) << "another file was written";
}

INSTANTIATE_TEST_SUITE_P(Archive, Foreign, testing::Range<std::size_t>(0, corpus.size()));

TEST(ForeignMerge, ASourceThatIsNotThereIsNone) {
  const Directory directory;
  const std::string a = directory / "a.h5", out = directory / "out.h5";
  Archive::create(a, example_layout(), example_provenance()).append(outcome(0));
  merge(out, {a});
  {
    const Handle file = open_freely(out);
    const std::int32_t seventh = 7;
    check(
        H5Dwrite(open_dataset(file, "/evaluations/source"), H5T_NATIVE_INT32, H5S_ALL, H5S_ALL, H5P_DEFAULT, &seventh),
        "");
  }
  EXPECT_THAT(error_of([&] { read(out); }), HasSubstr("row 0 is not an evaluation"));
}

}  // namespace
}  // namespace dodyn::archive::test_foreign
