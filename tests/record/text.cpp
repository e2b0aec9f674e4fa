// printable(): text as it was, anything else replaced, for every pair and many triples of bytes.
#include "record/text.hpp"

#include <gtest/gtest.h>

#include <random>

namespace dodyn::test_text {
namespace {

// The code points of a text, decoded by their defining sums (RFC 3629, 3); -1 where it is not UTF-8.
std::vector<long> code_points(const std::string& text) {
  std::vector<long> all;
  for (std::size_t i = 0; i < text.size();) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const int length = byte < 0x80 ? 1 : byte >> 5 == 6 ? 2 : byte >> 4 == 14 ? 3 : byte >> 3 == 30 ? 4 : 0;
    if (length == 0 || i + static_cast<std::size_t>(length) > text.size()) return {-1};
    long point = length == 1 ? byte : byte & (0x7F >> length);
    for (int k = 1; k < length; ++k) {
      const auto next = static_cast<unsigned char>(text[i + k]);
      if (next >> 6 != 2) return {-1};
      point = point << 6 | (next & 0x3F);
    }
    const long least[] = {0, 0, 0x80, 0x800, 0x10000};
    if (point < least[length] || point > 0x10FFFF || (point >= 0xD800 && point <= 0xDFFF)) return {-1};
    all.push_back(point);
    i += static_cast<std::size_t>(length);
  }
  return all;
}

void check(const std::string& bytes) {
  const auto before = code_points(bytes), after = code_points(printable(bytes));
  const auto control = [](long point) { return point < 0x20 || (point >= 0x7F && point < 0xA0); };
  for (const long point : after) ASSERT_FALSE(control(point)) << ::testing::PrintToString(bytes);  // nor -1
  if (before == std::vector<long>{-1}) return;
  ASSERT_EQ(after.size(), before.size());
  for (std::size_t i = 0; i < before.size(); ++i) ASSERT_EQ(after[i], control(before[i]) ? ' ' : before[i]);
}

TEST(Checksum, IsThePublishedHash) {  // the authors' test vectors of FNV-1a, 64 bits
  EXPECT_EQ(checksum(""), "cbf29ce484222325");
  EXPECT_EQ(checksum("a"), "af63dc4c8601ec8c");
  EXPECT_EQ(checksum("foobar"), "85944171f73967e8");
}

TEST(Trimmed, LosesBlanksAtItsEndsOnly) {
  EXPECT_EQ(trimmed("\t a b \r"), "a b");
  EXPECT_EQ(trimmed(" \t"), "");
  EXPECT_EQ(trimmed("\"a\"", "\""), "a");
}

TEST(Text, PrintableIsUtf8WithoutControlCharacters) {
  EXPECT_EQ(printable("knee 0.3 m, \xce\xb8 = 1"), "knee 0.3 m, \xce\xb8 = 1");
  EXPECT_EQ(printable("a\033[31m\r\nb\xff"), "a [31m  b\xef\xbf\xbd");
  EXPECT_EQ(printable("cut \xc3"), "cut \xef\xbf\xbd");
  for (int a = 0; a < 256; ++a)
    for (int b = 0; b < 256; ++b) check({static_cast<char>(a), static_cast<char>(b)});
  std::mt19937 random(1);
  for (int i = 0; i < 200000; ++i) {
    std::string bytes(1 + random() % 6, 'x');
    for (char& c : bytes)
      c = static_cast<char>(random() % 3 == 0   ? random() % 256
                            : random() % 2 == 0 ? 0x80 + random() % 0x40
                                                : 0xE0 + random() % 0x18);
    check(bytes);
  }
}

}  // namespace
}  // namespace dodyn::test_text
