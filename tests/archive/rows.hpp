// Rows with contents that follow from their number, so that a test can check each row of a file by itself.
#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <limits>
#include <sstream>
#include <string>

#include "archive/archive.hpp"
#include "archive/hdf5_file.hpp"
#include "archive/schema.hpp"
#include "record/text.hpp"
#include "tests/directory.hpp"
#include "tests/message_of.hpp"

namespace dodyn::archive {

inline Layout example_layout() {
  return {{{"knee", "m", 0.2, 0.5}},
          {{"speed", "m/s", "mean speed"}, {"steps", "1", "solver steps"}},
          {{"t", "s", "time", 21, {"t"}}, {"q", "rad", "angles", 21, {"stance", "swing", "hip"}}},
          11,
          {"length", "quality"},
          {"knee", "score"}};
}

inline EmbeddedFile held_file(const std::string& name, const std::string& path, const std::string& content) {
  return {name, path, checksum(content), content, content.size(), true};
}

inline Provenance example_provenance() {
  return {"gait",
          {{"study.evaluator", "gait"},
           {"gait.note", "two\nlines, a back\\slash, = signs = and # marks"},
           {"gait.empty", ""},
           {"odd = key", " spaces kept "},
           {"\\", "\\n"}},
          "0.1.0",
          "0123abc",
          "dodyn run knee.cfg --gait.note \"ä = ö\"",
          "node-1",
          4,
          {{"compiler", "g++ 12"}, {"modules", "gcc:openmpi"}, {"job", ""}},
          {{"gait.note", "knee.cfg:12"}, {"odd = key", "command line"}},
          "/home/somebody/studies",
          {held_file("../models/knee.model", "models/knee.model", "[model]\n"),
           held_file("empty", "studies/empty", ""),
           {"/opt/solver", "", "0123456789abcdef", "", 1 << 30, false}},
          "studies",
          true};
}

inline Outcome outcome(std::int64_t id) {
  const double x = static_cast<double>(id);
  Outcome out;
  Evaluation& e = out.evaluation;
  e.id = id;
  e.parent = id / 2 - 1;
  e.design = Eigen::VectorXd::Constant(1, 0.2 + 0.3 * std::fmod(0.618 * x, 1.0));
  e.seed = 0x9E3779B97F4A7C15ull * static_cast<std::uint64_t>(id + 1);
  e.status = all_statuses[id % 6];
  e.reason = e.ok() ? "" : "reason of row " + std::to_string(id);
  e.cost = id % 5 == 1 ? not_a_number : id % 5 == 2 ? std::numeric_limits<double>::infinity() : std::sin(x);
  e.cost_stderr = 0.01 * x;
  if (id % 2 == 0) e.gradient = Eigen::VectorXd::Constant(1, std::cos(x));
  if (id % 4 != 3) e.metrics = Eigen::Vector2d(x, -1.0 / (x + 1.0));
  e.seconds = 0.5 * x;
  e.rank = static_cast<std::int32_t>(id % 4);
  e.host = "node-" + std::to_string(id % 4);
  e.started = "2026-01-31T12:34:56.789Z";
  if (id % 3 != 2) {
    Eigen::MatrixXd t(21, 1), q(21, 3);
    for (int k = 0; k < 21; ++k) {
      t(k, 0) = 0.1 * k;
      for (int j = 0; j < 3; ++j) q(k, j) = std::sin(x + k + 10.0 * j);
    }
    out.trajectory.values = {t, q};
  }
  return out;
}

inline surrogate::Iteration iteration(std::int64_t i) {
  surrogate::Iteration it;
  const double x = static_cast<double>(i);
  it.best_id = i - 1;
  it.note = "decision " + std::to_string(i);
  if (i == 0) return it;  // no model yet
  it.next = Eigen::VectorXd::Constant(1, 0.3 + 0.001 * x);
  it.predicted_cost = -x;
  it.best_cost = 1.0 / x;
  it.grid = Eigen::VectorXd::LinSpaced(11, 0.2, 0.5);
  it.value = it.grid.array().square() * x;
  it.numbers = {{"quality", x}};
  if (i % 3 == 0) it.numbers.insert(it.numbers.begin(), {"length", 0.1 * x});
  it.candidates = Eigen::MatrixXd::NullaryExpr(i % (surrogate::most_candidates + 1), i % 9 ? 2 : 0,
                                               [&](auto row, auto column) { return x + 0.1 * row + column; });
  if (i % 2 == 0) it.recommended = Eigen::VectorXd::Constant(1, 0.3);
  if (i % 2 == 0) {
    it.lower = it.value.array() - 1.0;
    it.upper = it.value.array() + 1.0;
  }
  return it;
}

// Bitwise, so that NaN equals NaN and -0 differs from 0.
inline std::string bits(const Eigen::MatrixXd& m) {
  std::string text(sizeof(double) * static_cast<std::size_t>(m.size()), '\0');
  if (m.size() > 0) std::memcpy(text.data(), m.data(), text.size());
  return std::to_string(m.rows()) + "x" + std::to_string(m.cols()) + ":" + text;
}
inline std::string bits(const std::string& text) { return text; }
template <class T>
requires std::is_arithmetic_v<T> || std::is_enum_v<T> std::string bits(const T& value) {
  return std::string(reinterpret_cast<const char*>(&value), sizeof(T));
}

inline void expect_same(const Evaluation& found, const Evaluation& expected) {
  std::vector<std::string> theirs;
  for_each_field(found, [&](const Field&, const auto& value) { theirs.push_back(bits(value)); });
  std::size_t i = 0;
  for_each_field(expected, [&](const Field& field, const auto& value) {
    EXPECT_EQ(theirs[i++], bits(value)) << field.name << " of row " << expected.id;
  });
}

inline void expect_same(const surrogate::Iteration& found, const surrogate::Iteration& expected) {
  EXPECT_EQ(bits(found.next), bits(expected.next)) << expected.note;
  EXPECT_EQ(bits(found.predicted_cost), bits(expected.predicted_cost)) << expected.note;
  EXPECT_EQ(bits(found.best_cost), bits(expected.best_cost)) << expected.note;
  EXPECT_EQ(found.best_id, expected.best_id) << expected.note;
  EXPECT_EQ(found.note, expected.note);
  EXPECT_EQ(bits(found.recommended), bits(expected.recommended)) << expected.note;
  EXPECT_EQ(found.numbers, expected.numbers) << expected.note;
  EXPECT_EQ(bits(found.candidates), bits(expected.candidates)) << expected.note;
  EXPECT_EQ(bits(found.grid), bits(expected.grid)) << expected.note;
  EXPECT_EQ(bits(found.value), bits(expected.value)) << expected.note;
  EXPECT_EQ(bits(found.lower), bits(expected.lower)) << expected.note;
  EXPECT_EQ(bits(found.upper), bits(expected.upper)) << expected.note;
}

inline void expect_same(const Trajectory& found, const Trajectory& expected) {
  ASSERT_EQ(found.values.size(), expected.values.size());
  for (std::size_t i = 0; i < found.values.size(); ++i) EXPECT_EQ(bits(found.values[i]), bits(expected.values[i]));
}

// The rows are outcome(0), outcome(1), ... and iteration(0), iteration(1), ...
inline void expect_prefix(const Contents& contents) {
  for (std::size_t i = 0; i < contents.evaluations.size(); ++i)
    expect_same(contents.evaluations[i], outcome(static_cast<std::int64_t>(i)).evaluation);
  for (std::size_t i = 0; i < contents.iterations.size(); ++i)
    expect_same(contents.iterations[i], iteration(static_cast<std::int64_t>(i)));
}

inline void set_schema(hid_t file, int schema) {
  const Handle attribute(H5Aopen(file, "schema", H5P_DEFAULT));
  ASSERT_GE(H5Awrite(attribute, H5T_NATIVE_INT, &schema), 0);
}

// Leaves a file as after the death of a process during an append: marked as open, and with a cost without an id.
inline void leave_torn(const std::string& path) {
  const pid_t child = ::fork();
  if (child == 0) {
    const Handle file = open_to_append(path);
    Handle cost(H5Dopen2(file, "/evaluations/cost", H5P_DEFAULT));
    const Handle space(H5Dget_space(cost));
    const hsize_t rows = static_cast<hsize_t>(H5Sget_simple_extent_npoints(space)) + 1;
    H5Dset_extent(cost, &rows);
    cost.close();
    H5Fflush(file, H5F_SCOPE_LOCAL);
    ::_exit(0);
  }
  ::waitpid(child, nullptr, 0);
  ASSERT_EQ(probe(path), FileState::marked);
}

// Returns the message of the Error or Busy that `action` throws; `otherwise`: it throws none.
template <class Action>
std::string error_of(Action&& action, const std::string& otherwise = "") {
  try {
    return message_of<Error>(action, otherwise);
  } catch (const Busy& busy) {
    return busy.what();
  }
}

}  // namespace dodyn::archive
