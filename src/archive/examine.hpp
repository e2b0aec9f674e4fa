// A look at every byte of an archive, and the copy that holds what is sound: what verify, repair, resume and merge
// share.
#pragma once

#include <string>
#include <vector>

#include "archive/archive.hpp"
#include "archive/schema.hpp"

namespace dodyn::archive {

// Whether a row of the contents can be an evaluation, whatever its checksum: with an id, a known status, a design, and
// of a merged archive a source.
bool is_whole(const Contents& contents, std::size_t row);

// Whether a row fits its checksum.
bool fits_checksum(const Block& block, hsize_t row);
bool fits_checksum(hid_t file, const Table& table, hsize_t row, const Motion& motion);
std::uint32_t motion_checksum(const Block& block, hsize_t row);  // of the trajectory, as its row has it
std::uint32_t outcome_of(const Block& block, hsize_t row);       // outcome_checksum()
std::int32_t origin_of(const Block& block, hsize_t row);         // the block's archive is a merged one

struct Sound {
  Contents contents;           // the sound rows
  std::vector<hsize_t> rows;   // of each evaluation, its row in the file
  std::vector<bool> has_path;  // of each evaluation, whether its trajectory is sound
  Findings findings;
};
// Throws Error where the layout itself cannot be read.
Sound examine(hid_t file);

// Fills a new file, many rows at a time.
class Rewriter {
 public:
  Rewriter(const std::string& path, const Contents& contents, std::size_t bytes);  // creates the layout
  std::int64_t rows() const { return static_cast<std::int64_t>(evaluation_rows_ + pending_.size()); }
  void add(const Outcome& outcome, std::int32_t source = 0);
  void add(const IterationRow& iteration);
  void add(const std::vector<Event>& events);  // all of them
  void close(const std::string& stopped);

 private:
  void flush();
  const Layout& layout_;
  Table evaluations_, iterations_, events_;
  hsize_t evaluation_rows_ = 0, iteration_rows_ = 0;
  std::vector<Row> pending_;
  Handle file_;
};

// Writes what is sound of the file `from` to `path`, replacing what is there.
void rewrite(const std::string& from, const std::string& path, const Sound& sound);

}  // namespace dodyn::archive
