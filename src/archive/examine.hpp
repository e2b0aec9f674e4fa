// Checks every byte of an archive, and copies the undamaged rows. Shared by verify, repair, resume and merge.
#pragma once

#include <string>
#include <vector>

#include "archive/archive.hpp"
#include "archive/schema.hpp"

namespace dodyn::archive {

// Whether a row can be an evaluation, independently of its checksum: it has an id, a known status, a design and, in a
// merged archive, a source.
bool is_whole(const Contents& contents, std::size_t row);

// Whether the fields of a row and its outcome match their checksums.
bool fits_checksum(const Block& block, hsize_t row);
// Whether the trajectory `motion` of a row matches the checksum in the row.
bool fits_checksum(hid_t file, const Table& table, hsize_t row, const Motion& motion);
std::uint32_t motion_checksum(const Block& block, hsize_t row);  // returns the checksum of the trajectory that is
                                                                 // stored in its row
std::uint32_t outcome_of(const Block& block, hsize_t row);       // outcome_checksum() of the row
std::int32_t origin_of(const Block& block, hsize_t row);         // source of the row; only for a merged archive

struct ExaminedRows {
  Contents contents;           // the undamaged rows
  std::vector<hsize_t> rows;   // by evaluation: its row in the file
  std::vector<bool> has_path;  // by evaluation: whether its trajectory is undamaged
  Findings findings;
};
// Reads and checks all rows. Throws Error if the layout itself cannot be read.
ExaminedRows examine(hid_t file);

// Fills a new file, many rows at a time.
class Rewriter {
 public:
  Rewriter(const std::string& path, const Contents& contents, std::size_t bytes);  // creates the layout
  std::int64_t rows() const { return static_cast<std::int64_t>(evaluation_rows_ + pending_.size()); }
  void add(const Outcome& outcome, std::int32_t source = 0);
  void add(const IterationRow& iteration);
  void add(const std::vector<Event>& events);  // call once: writes them from row 0
  void close(Ending ending, const std::string& stopped);

 private:
  void flush();
  const Layout& layout_;
  Table evaluations_, iterations_, events_;
  hsize_t evaluation_rows_ = 0, iteration_rows_ = 0;
  std::vector<Row> pending_;
  Handle file_;
};

// Writes the undamaged rows of the file `from` to a new file, which replaces `path`.
void rewrite(const std::string& from, const std::string& path, const ExaminedRows& sound);

}  // namespace dodyn::archive
