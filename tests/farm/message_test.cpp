#include "farm/message.hpp"

#include <gtest/gtest.h>

#include <stdexcept>

#include "samples.hpp"

namespace dodyn::farm::test_message {
namespace {

TEST(Message, TaskComesBackBitByBit) {
  Samples samples(1);
  for (int i = 0; i < 2000; ++i) {
    const Task sent{samples.evaluation(), samples.trajectory()};
    const Task received = unpack_task(pack(sent));
    ASSERT_EQ(texts(received.evaluation), texts(sent.evaluation));
    ASSERT_EQ(texts(received.warm_start), texts(sent.warm_start));
  }
}

TEST(Message, OutcomeComesBackBitByBit) {
  Samples samples(2);
  for (int i = 0; i < 2000; ++i) {
    Outcome sent{samples.evaluation(), samples.trajectory()};
    for (const auto& values : sent.trajectory.values) sent.packed.push_back(packed(values));
    const Outcome received = unpack_outcome(pack(sent));
    ASSERT_EQ(texts(received.evaluation), texts(sent.evaluation));
    ASSERT_EQ(texts(received.trajectory), texts(sent.trajectory));
    ASSERT_EQ(received.packed.size(), sent.packed.size());
    for (std::size_t k = 0; k < sent.packed.size(); ++k) {
      ASSERT_EQ(received.packed[k].bytes, sent.packed[k].bytes);
      ASSERT_EQ(received.packed[k].deflated, sent.packed[k].deflated);
    }
  }
}

TEST(Message, EmptyRecordComesBack) {
  const Outcome received = unpack_outcome(pack(Outcome{}));
  EXPECT_EQ(texts(received.evaluation), texts(Evaluation{}));
  EXPECT_TRUE(received.trajectory.empty());
}

TEST(Message, EveryShorterOrLongerMessageIsRefused) {
  Samples samples(3);
  for (int i = 0; i < 20; ++i) {
    const Bytes bytes = pack(Outcome{samples.evaluation(), samples.trajectory()});
    for (std::size_t size = 0; size < bytes.size(); ++size)
      ASSERT_THROW(unpack_outcome(Bytes(bytes.begin(), bytes.begin() + size)), std::runtime_error) << size;
    Bytes longer = bytes;
    longer.push_back(std::byte{0});
    ASSERT_THROW(unpack_outcome(longer), std::runtime_error);
  }
}

// A damaged size must not lead to an allocation of that size, nor to reading beyond the end.
TEST(Message, DamagedBytesNeverCrash) {
  Samples samples(4);
  std::mt19937 random(5);
  for (int i = 0; i < 5000; ++i) {
    Bytes bytes = pack(Task{samples.evaluation(), samples.trajectory()});
    for (int hits = 0; hits < 8; ++hits) bytes[random() % bytes.size()] = std::byte(random());
    try {
      unpack_task(bytes);
    } catch (const std::runtime_error&) {
    }
  }
}

}  // namespace
}  // namespace dodyn::farm::test_message
