#include "report/comparison.hpp"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <string_view>

#include "record/text.hpp"

namespace dodyn::report {
namespace {

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    lines.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

using Lines = std::vector<std::string_view>;

struct Edit {
  char mark;  // ' ', '-' or '+'
  std::string_view line;
};

// Limit of the number of pairs of lines. Above it the differing middle of two texts counts as replaced.
constexpr std::size_t max_pairs = 16 << 20;

// Compares by the longest common subsequence of lines.
std::vector<Edit> edits_between(const Lines& a, const Lines& b) {
  std::size_t head = 0, tail = 0;
  while (head < a.size() && head < b.size() && a[head] == b[head]) ++head;
  while (tail < a.size() - head && tail < b.size() - head && a[a.size() - 1 - tail] == b[b.size() - 1 - tail]) ++tail;
  const std::size_t rows = a.size() - head - tail, columns = b.size() - head - tail;
  const bool is_searched = rows == 0 || columns <= max_pairs / rows;
  // common[i][j]: length for the lines from i and from j on
  std::vector<std::uint32_t> common(is_searched ? (rows + 1) * (columns + 1) : 0);
  const auto at = [&](std::size_t i, std::size_t j) -> std::uint32_t& { return common[i * (columns + 1) + j]; };
  for (std::size_t i = is_searched ? rows : 0; i-- > 0;)
    for (std::size_t j = columns; j-- > 0;)
      at(i, j) = a[head + i] == b[head + j] ? at(i + 1, j + 1) + 1 : std::max(at(i + 1, j), at(i, j + 1));
  std::vector<Edit> edits;
  for (std::size_t i = 0; i < head; ++i) edits.push_back({' ', a[i]});
  std::size_t i = 0, j = 0;
  while (i < rows || j < columns) {
    if (is_searched && i < rows && j < columns && a[head + i] == b[head + j]) {
      edits.push_back({' ', a[head + i]});
      ++i, ++j;
    } else if (i < rows && (j == columns || !is_searched || at(i + 1, j) >= at(i, j + 1))) {
      edits.push_back({'-', a[head + i++]});
    } else {
      edits.push_back({'+', b[head + j++]});
    }
  }
  for (std::size_t k = a.size() - tail; k < a.size(); ++k) edits.push_back({' ', a[k]});
  return edits;
}

std::string titles(const Described& one, const Described& other, const std::string& what) {
  return "--- " + one.name + ": " + what + "\n+++ " + other.name + ": " + what + "\n";
}

bool is_text(const std::string& content) { return content.find('\0') == std::string::npos; }

std::string file_difference(const Described& one, const Described& other, const archive::EmbeddedFile* a,
                            const archive::EmbeddedFile* b) {
  const std::string name = printable((a ? a : b)->name);
  if (!a || !b) return "only " + (a ? one : other).name + " has " + name + "\n";
  if (a->checksum == b->checksum) return "";
  if (a->is_held && b->is_held && is_text(a->content) && is_text(b->content)) {
    const std::string lines = line_difference(a->content, b->content);
    return titles(one, other, name) + (lines.empty() ? "the ends of lines differ\n" : lines);
  }
  return titles(one, other, name) + "-checksum " + a->checksum + "\n+checksum " + b->checksum + "\n";
}

const archive::EmbeddedFile* file_named(const Described& described, const std::string& name) {
  for (const archive::EmbeddedFile& file : described.files)
    if (file.name == name) return &file;
  return nullptr;
}

// Whether a setting describes the problem. Paths of a machine do not. Checksums of files do not either, because the
// contents are compared.
bool is_compared(const std::string& key) {
  return key != "study.archive" && key != "study.snapshot" && key != "command.directory" && !key.ends_with("-checksum");
}

std::string settings_difference(const Described& one, const Described& other) {
  const std::map<std::string, std::string> a(one.configuration.begin(), one.configuration.end()),
      b(other.configuration.begin(), other.configuration.end());
  std::string text;
  const auto line = [&](char mark, const std::string& key, const std::string& value) {
    text += mark + key + " = " + printable(value) + "\n";
  };
  for (const auto& [key, value] : one.configuration) {
    const auto there = b.find(key);
    if (!is_compared(key) || (there != b.end() && there->second == value)) continue;
    line('-', key, value);
    if (there != b.end()) line('+', key, there->second);
  }
  for (const auto& [key, value] : other.configuration)
    if (is_compared(key) && !a.contains(key)) line('+', key, value);
  return text.empty() ? "" : titles(one, other, "settings") + text;
}

}  // namespace

std::string line_difference(const std::string& one, const std::string& other, int context) {
  const std::vector<Edit> edits = edits_between(lines_of(one), lines_of(other));
  std::vector<bool> is_shown(edits.size(), false);
  for (std::size_t i = 0; i < edits.size(); ++i)
    if (edits[i].mark != ' ')
      for (std::size_t k = i - std::min<std::size_t>(i, context);
           k < std::min(edits.size(), i + static_cast<std::size_t>(context) + 1); ++k)
        is_shown[k] = true;
  std::string text;
  std::size_t row = 1, column = 1;
  for (std::size_t i = 0; i < edits.size(); ++i) {
    if (is_shown[i] && (i == 0 || !is_shown[i - 1])) {
      std::size_t rows = 0, columns = 0;
      for (std::size_t k = i; k < edits.size() && is_shown[k]; ++k) {
        rows += edits[k].mark != '+';
        columns += edits[k].mark != '-';
      }
      text += formatted("@@ -%zu,%zu +%zu,%zu @@\n", rows > 0 ? row : row - 1, rows, columns > 0 ? column : column - 1,
                        columns);
    }
    if (is_shown[i]) text += edits[i].mark + printable(edits[i].line) + "\n";
    row += edits[i].mark != '+';
    column += edits[i].mark != '-';
  }
  return text;
}

bool is_in_a_folder(const archive::EmbeddedFile& file) { return !file.path.starts_with("shipped/"); }

Described described_folder(const Described& one, const std::string& folder) {
  Described here{folder, one.configuration, {}};
  for (const archive::EmbeddedFile& held : one.files) {
    const std::filesystem::path path = std::filesystem::path(folder) / held.name;
    std::error_code error;
    if (!is_in_a_folder(held)) {
      here.files.push_back(held);
      continue;
    }
    if (!std::filesystem::is_regular_file(path, error)) continue;
    archive::EmbeddedFile file = held;
    std::ifstream stream(path, std::ios::binary);
    file.content.assign(std::istreambuf_iterator<char>(stream), {});
    file.checksum = checksum(file.content);
    file.is_held = true;
    here.files.push_back(std::move(file));
  }
  return here;
}

std::string difference_text(const Described& one, const Described& other) {
  std::string text = settings_difference(one, other);
  for (const archive::EmbeddedFile& file : one.files)
    text += file_difference(one, other, &file, file_named(other, file.name));
  for (const archive::EmbeddedFile& file : other.files)
    if (!file_named(one, file.name)) text += file_difference(one, other, nullptr, &file);
  return text;
}

}  // namespace dodyn::report
