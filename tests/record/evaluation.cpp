// The list of fields: a visitor receives every field once, with a name of its own, by reference.
#include "record/evaluation.hpp"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <sstream>
#include <type_traits>

namespace dodyn::test_evaluation {
namespace {

// A text form of a record, as an export would write it.
std::map<std::string, std::string> as_text(const Evaluation& e) {
  std::map<std::string, std::string> fields;
  for_each_field(e, [&](const Field& field, const auto& value) {
    std::ostringstream out;
    using T = std::decay_t<decltype(value)>;
    if constexpr (std::is_same_v<T, Status>)
      out << to_string(value);
    else if constexpr (std::is_same_v<T, Eigen::VectorXd>)
      out << value.transpose();
    else
      out << value;
    fields[std::string(field.name)] = out.str();
  });
  return fields;
}

TEST(Evaluation, EveryFieldHasItsOwnName) {
  std::set<std::string_view> names;
  int visited = 0;
  const Evaluation e;
  for_each_field(e, [&](const Field& field, const auto&) {
    ++visited;
    names.insert(field.name);
    EXPECT_FALSE(field.name.empty());
  });
  EXPECT_EQ(std::ssize(names), visited);
  EXPECT_TRUE(names.count("design") && names.count("cost") && names.count("status"));
}

// The list must cover the whole struct: no byte of the record lies outside the visited fields except padding.
TEST(Evaluation, TheListCoversTheStruct) {
  const Evaluation e;
  const char* end = reinterpret_cast<const char*>(&e);
  const char* const begin = end;
  for_each_field(e, [&](const Field& field, const auto& value) {
    const char* at = reinterpret_cast<const char*>(&value);
    EXPECT_GE(at, end) << field.name << " is out of the order of the struct";
    EXPECT_LT(at - end, alignof(std::max_align_t)) << "a field before " << field.name;
    end = at + sizeof(value);
  });
  // The last member is no field: the trajectory holds these costs.
  const char* const last = reinterpret_cast<const char*>(&e.paired_costs);
  EXPECT_LT(last - end, alignof(std::max_align_t));
  EXPECT_LT(begin + sizeof(e) - last - static_cast<std::ptrdiff_t>(sizeof(e.paired_costs)), alignof(std::max_align_t));
}

TEST(Evaluation, AVisitorFillsARecordThatReadsBackTheSame) {
  Evaluation source;
  source.id = 7;
  source.parent = 3;
  source.design = Eigen::Vector2d(0.25, -1.5);
  source.seed = 0xfedcba9876543210;
  source.status = Status::not_converged;
  source.reason = "iteration limit";
  source.cost = 0.125;
  source.cost_stderr = 0.5;
  source.gradient = Eigen::Vector2d(1, 2);
  source.metrics = Eigen::Vector3d(4, 5, 6);
  source.seconds = 1.5;
  source.rank = 2;
  source.host = "node1";
  source.started = "2026-01-31T12:34:56.789Z";

  std::map<std::string_view, const void*> from;
  for_each_field(std::as_const(source), [&](const Field& field, const auto& value) { from[field.name] = &value; });
  Evaluation copy;
  EXPECT_NE(as_text(copy), as_text(source));
  for_each_field(copy, [&](const Field& field, auto& value) {
    value = *static_cast<const std::decay_t<decltype(value)>*>(from.at(field.name));
  });
  EXPECT_EQ(as_text(copy), as_text(source));
  for (const auto& [name, text] : as_text(source)) EXPECT_NE(text, as_text(Evaluation{}).at(name)) << name;
}

TEST(Evaluation, StatusesAreNumberedAsListedAndNamedApart) {
  std::set<std::string_view> names;
  int number = 0;
  for (const Status s : all_statuses) {
    EXPECT_EQ(static_cast<int>(s), number++);
    names.insert(to_string(s));
  }
  EXPECT_EQ(names.size(), std::size(all_statuses));
  EXPECT_EQ(names.count("unknown"), 0u);
  Evaluation e;
  EXPECT_FALSE(e.ok());  // a default record is not a success
  e.status = Status::ok;
  EXPECT_TRUE(e.ok());
}

}  // namespace
}  // namespace dodyn::test_evaluation
