#include "settings/ini.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <random>

#include "tests/message_of.hpp"

namespace dodyn::ini::test_ini {
namespace {

template <class Act>
std::string complaint(const Act& act) {
  return message_of<ConfigError>([&] { act(); }, "accepted");
}
std::string parsed(const std::string& text) {
  return complaint([&] { parse(text, "a.model"); });
}

TEST(Ini, ReadsSectionsInTheirOrder) {
  const Text text = parse(
      "\xEF\xBB\xBF# head\r\n"
      "[parameters]\r\n"
      "  knee=0.4 \t # m\r\n"
      "half = 1 - knee\n"
      "\n"
      "[outcome  wrong\tport]\n"
      "when = distance(a, b) <= 3 mm and x == 1 # = [no] section\n"
      "rate(theta) =\n"
      "[ phase ]#\n"
      "[link a]\n[link a]\nchaser, target = 1 mm",
      "a.model");
  ASSERT_EQ(text.sections.size(), 5u);
  const Section& parameters = text.sections[0];
  EXPECT_EQ(parameters.title(), "[parameters]");
  EXPECT_EQ(parameters.line, 2);
  ASSERT_EQ(parameters.entries.size(), 2u);
  EXPECT_EQ(parameters.entries[0].key, "knee");
  EXPECT_EQ(parameters.entries[0].value, "0.4");
  EXPECT_EQ(parameters.entries[0].comment, "m");
  EXPECT_EQ(parameters.entries[0].line, 3);
  EXPECT_EQ(parameters.find("half")->value, "1 - knee");
  EXPECT_EQ(parameters.find("half")->comment, "");
  EXPECT_EQ(parameters.find("nothing"), nullptr);
  const Section& outcome = text.sections[1];
  EXPECT_EQ(outcome.kind, "outcome");
  EXPECT_EQ(outcome.name, "wrong port");
  EXPECT_EQ(outcome.find("when")->value, "distance(a, b) <= 3 mm and x == 1");
  EXPECT_EQ(outcome.find("when")->comment, "= [no] section");
  EXPECT_EQ(outcome.find("rate(theta)")->value, "");
  EXPECT_EQ(text.sections[2].title(), "[phase]");
  EXPECT_EQ(text.sections[4].title(), "[link a]");
  EXPECT_EQ(text.sections[4].find("chaser, target")->line, 12);
  EXPECT_EQ(text.where(12), "a.model:12");
  EXPECT_EQ(text.where(0), "a.model");
}

TEST(Ini, EachMistakeGetsItsLine) {
  const std::string allowed = " is not understood; allowed: [section], key = value, # comment";
  EXPECT_EQ(parsed("[a]\nnonsense"), "a.model:2: 'nonsense'" + allowed);
  EXPECT_EQ(parsed("[a]\n= 1"), "a.model:2: '= 1'" + allowed);
  EXPECT_EQ(parsed("[a"), "a.model:1: '[a'" + allowed);
  EXPECT_EQ(parsed("[]"), "a.model:1: '[]' is not understood; allowed: [kind] or [kind name]");
  EXPECT_EQ(parsed("[a]b]"), "a.model:1: '[a]b]' is not understood; allowed: [kind] or [kind name]");
  EXPECT_EQ(parsed("[a]\nx = 1\ny = 2\nx = 3"), "a.model:4: x is given twice (already at line 2)");
  EXPECT_EQ(parsed(std::string("[a]\nx = \0", 9)),
            "a.model:2: a zero byte; allowed: text, with [section], key = value, # comment");
  EXPECT_EQ(parsed("[a]\n\x1b[31mred\xff\xc2\x85"), "a.model:2: '\\x1b[31mred\\xff\\xc2\\x85'" + allowed);
  EXPECT_EQ(parsed("[a]\n\xC3\xA9t\xC3\xA9"), "a.model:2: '\xC3\xA9t\xC3\xA9'" + allowed);
  EXPECT_EQ(parsed(""), "accepted");
}

TEST(Ini, ChecksKinds) {
  using Name = SectionKind::Name;
  const std::vector<SectionKind> kinds = {
      {.kind = "model", .keys = {"dimension", "gravity"}, .needed = {"dimension"}},
      {.kind = "parameters", .any_key = true},
      {.kind = "link", .name = Name::required, .keys = {"mass"}},
      {.kind = "phase", .name = Name::optional, .any_key = true, .values_may_be_empty = true, .may_be_empty = true}};
  const auto checked = [&](const std::string& text) { return complaint([&] { check(parse(text, "a"), kinds); }); };
  const std::string titles = "; allowed: [model], [parameters], [link NAME], [phase], [phase NAME]";
  EXPECT_EQ(
      checked("[model]\ndimension = 2\n[parameters]\na=1\n[link a]\nmass=1\n[link b]\nmass=a\n[phase]\nx=\n[phase x]"),
      "accepted");
  EXPECT_EQ(checked("[lnik a]"), "a:1: unknown section [lnik a] (did you mean 'link'?)" + titles);
  EXPECT_EQ(checked("a = 1"), "a:1: 'a' stands before any section" + titles);
  EXPECT_EQ(checked("[link]"), "a:1: [link] has no name; allowed: [link NAME]");
  EXPECT_EQ(checked("[model x]"), "a:1: [model x] has a name; allowed: [model]");
  EXPECT_EQ(checked("[link a]\nmass = 1\n[link b]\nmass = 1\n[link a]"),
            "a:5: [link a] is given twice (already at line 1)");
  EXPECT_EQ(checked("[link a]"), "a:1: [link a] has no entries; give one, or leave the section out");
  EXPECT_EQ(checked("[model]\ngravty = 1"),
            "a:2: unknown key 'gravty' in [model] (did you mean 'gravity'?); allowed: dimension, gravity");
  EXPECT_EQ(checked("[model]\ngravity = 1"), "a:1: [model] has no dimension");
  EXPECT_EQ(checked("[parameters]"), "a:1: [parameters] has no entries; give one, or leave the section out");
  EXPECT_EQ(checked("[parameters]\na ="), "a:2: a has no value; allowed: key = value");
}

// Only files with an end can be read: regular files of at most 1 MB.
TEST(Ini, ReadsRegularFilesOnly) {
  const std::string directory = ::testing::TempDir() + "dodyn-ini";
  std::filesystem::create_directories(directory);
  const std::string fifo = directory + "/fifo", large = directory + "/large", full = directory + "/full";
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  std::ofstream(full) << std::string(largest_text, '\n');
  std::ofstream(large) << std::string(largest_text + 1, '\n');
  const auto refused = [](const std::string& path) { return complaint([&] { read(path); }); };
  EXPECT_EQ(refused("/dev/zero"), "/dev/zero: cannot be read: it is not a regular file");
  EXPECT_EQ(refused(fifo), fifo + ": cannot be read: it is not a regular file");
  EXPECT_EQ(refused(directory), directory + ": cannot be read: Is a directory");
  EXPECT_EQ(refused("/nowhere/a"), "/nowhere/a: cannot be read: No such file or directory");
  EXPECT_EQ(refused(large), large + ": cannot be read: it has more than 1048576 bytes");
  EXPECT_EQ(refused(full), "accepted");
  std::filesystem::remove_all(directory);
}

// Random bytes give a text, or one line of message that a terminal can show. The reader always ends.
TEST(Ini, HostileTextsGetOneShortLine) {
  std::string keys = "[a]\n", sections;
  for (int i = 0; i < 100000; ++i)
    keys += "k" + std::to_string(i) + "=\n", sections += "[s" + std::to_string(i) + "]\n";
  EXPECT_EQ(parse(keys, "a").sections.at(0).entries.size(), 100000u);
  EXPECT_EQ(parse(sections, "a").sections.size(), 100000u);
  for (const std::string& text :
       {std::string(1 << 20, '['), "[" + std::string(1 << 20, 'a') + "]]", std::string(1 << 20, 'x'),
        "[a]\n" + std::string(1 << 19, 'k') + "=\n" + std::string(1 << 19, 'k') + "="})
    EXPECT_LT(parsed(text).size(), 200u);

  std::mt19937 random(1);
  const std::string alphabet("[]=#\n\r\t ab\x00\x01\x7f\x80\xc2\xe0\xff", 17);
  for (int trial = 0; trial < 20000; ++trial) {
    std::string text(random() % 40, ' ');
    for (char& c : text) c = alphabet[random() % alphabet.size()];
    const std::string line = parsed(text);
    EXPECT_TRUE(std::none_of(line.begin(), line.end(), [](char c) { return (c >= 0 && c < 32) || c == 127; })) << trial;
  }
}

}  // namespace
}  // namespace dodyn::ini::test_ini
