// Decides whether the design or the machine is at fault for a failure.
#include "record/machine.hpp"

#include <gtest/gtest.h>

namespace dodyn::test_machine {
namespace {

Evaluation row(std::int64_t id, Status status, const std::string& host, const std::string& reason = "") {
  Evaluation e;
  e.id = id;
  e.status = status;
  e.host = host;
  e.reason = reason;
  return e;
}

TEST(Machine, EachStatusHasACause) {
  std::vector<Evaluation> rows;
  for (const Status status : all_statuses) rows.push_back(row(static_cast<std::int64_t>(rows.size()), status, "a"));
  EXPECT_EQ(causes_of(rows),
            (std::vector{Cause::none, Cause::design, Cause::design, Cause::design, Cause::study, Cause::machine}));
}

// A design is at fault if its evaluations were lost on two hosts and no attempt has an answer.
TEST(Machine, WhatIsLostOnTwoHostsAlikeIsTheDesigns) {
  const std::vector<Evaluation> rows = {
      row(0, Status::lost, "a"),
      row(0, Status::lost, "b"),  // on two hosts
      row(1, Status::lost, "a"),
      row(1, Status::lost, "a"),  // twice on one
      row(2, Status::lost, "a"),
      row(2, Status::lost, "b"),
      row(2, Status::ok, "b"),  // it was accidents
      row(3, Status::lost, "a", "machine: no memory"),
      row(3, Status::lost, "b"),  // trouble, and one accident
  };
  using enum Cause;
  EXPECT_EQ(causes_of(rows), (std::vector{design, design, machine, machine, machine, machine, none, machine, machine}));
}

}  // namespace
}  // namespace dodyn::test_machine
