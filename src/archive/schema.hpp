// The archive's layout, and the functions that write and read its rows.
//
//   /evaluations/<field>      [n], design, gradient [n, variables], metrics [n, metrics]; NaN where absent
//   /trajectories/<channel>   [n, node, coordinate]; NaN where an evaluation has no motion
//   /iterations/<field>       [m]; next, recommended [m, variables]; diagnostics [m, numbers] and candidates
//                             [m, 8, columns], with column names in the attribute `names`, NaN where there are fewer;
//                             n_observed: number of rows that /evaluations had when the strategy decided
//   /surrogate/grid           [g]; value, lower, upper [m, g]: for one free variable
//
//   /files                    the files that the configuration names: attributes names, paths, checksums, sizes [f];
//                             `folder`, where the configuration lies among the paths; `left_out`, names of the files
//                             without content. /files/0, 1, ... [bytes] are the contents. Files of the machine
//                             (without a path) and files beyond 16 MiB in all have no content
//   /events/time kind text    [k] events of the study: starts, lost ranks, interruptions
//
//   /evaluations/checksum     [n, 3] CRC-32 of the bytes of a row's fields; of its trajectory (0: it has none); and of
//                             its outcome: design, seed, status, reason, cost, cost_stderr, gradient, metrics, and the
//                             trajectory's CRC-32
//   /iterations/checksum      [m] CRC-32 of a row's bytes; /events/checksum [k] likewise
//   /evaluations/source       [n] in a merged archive: index of the row's group in /sources/0, 1, ... A group has the
//                             attributes path, created, stop_reason and the provenance of one input
//
// /status is the named type of the enum. If a variable is one of several names, /evaluations/design has the attribute
// `choices`: for each variable its names separated by commas, empty for numbers.
//
// Every dimension has a scale. Along the rows: `id`, `n_observed` and `time`. Along the columns: the names `variable`,
// `metric`, `part`, `diagnostic`, `candidate_column` and <channel>_coordinate, and the numbers `candidate` and
// node_<count>. If a dimension's scale belongs to another group, the dataset's group has a hard link to it.
//
// Root attributes: schema, program, version, git_commit, evaluator, configuration, given, folder, command_line, host,
// ranks, machine, created, stop_reason, ending (record/ending.hpp). `configuration` has every setting in use, with its
// value; `given` has the source of each that is not a default.
//
// A row is committed by the first column of its table (`id`, `n_observed`, `time`), which is extended last. The length
// of this column is the number of rows, even if other columns are longer. Every append opens the file as an SWMR writer
// and closes it again. HDF5 orders its writes so that a reader, even after a kill, sees the old or the new state.
// Between appends the file is cleanly closed, so h5dump and every other tool can open it while the study runs.
//
// A later row of an id supersedes the earlier ones: an evaluation whose rank was lost, or one that was repeated.
//
// Schema 7 is the first stable one. A reader refuses every other one, and names the program that reads it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "archive/archive.hpp"
#include "archive/hdf5_file.hpp"

namespace dodyn::archive {

inline constexpr int schema_version = 7;
inline constexpr const char* last_reader_of_older_schemas = "36cac0c";  // last commit (dodyn 0.1.0) that reads schemas
                                                                        // 1 to 6
inline constexpr std::size_t spare_bytes = 1 << 20;  // upper bound of the indices and partly filled chunks that one
                                                     // append allocates

// Runs an action on the archive at `path`; every Error then has the path as its prefix.
template <class Action>
auto on(const std::string& path, Action&& action) {
  try {
    return action();
  } catch (const Busy& busy) {
    throw Busy(path + ": " + busy.what());
  } catch (const Error& error) {
    throw Error(path + ": " + error.what());
  }
}

using Bytes = std::vector<std::byte>;

// One dataset whose first dimension counts rows.
struct Column {
  std::string path;
  std::string_view unit;
  Handle type;                 // type of one element, in the file and in memory
  std::vector<hsize_t> shape;  // shape of a row: {}, {variables}, {node, coordinate}

  std::size_t elements() const;
  std::size_t bytes() const;
  bool trajectory() const { return path.starts_with("/trajectories/"); }
  // Whether each row is a chunk of its own, compressed and written once: trajectories larger than max_unpacked_bytes.
  bool packed() const { return trajectory() && bytes() > max_unpacked_bytes; }
  // Returns the number of rows in a chunk. Packed columns: one. Other columns: about a page, rewritten as it fills.
  hsize_t chunk_rows() const;

  mutable std::size_t cached_bytes = 0;  // result of bytes(), which is needed for each cell and takes HDF5's lock
};

// Columns that grow together; the first one commits a row. Columns of /evaluations: the fields of the record, checksum,
// source, then the trajectory's channels.
using Table = std::vector<Column>;
// The content of one cell. For a packed column: the chunk as it is stored.
struct Cell {
  Bytes bytes;
  bool deflated = true;  // packed columns: whether the chunk is compressed
};
// nullopt: the cell has the fill value (NaN, or zeros for other types).
using Row = std::vector<std::optional<Cell>>;
using Checksums = std::array<std::uint32_t, 3>;  // of the fields, of the trajectory, of the outcome

struct IterationRow {
  std::int64_t evaluations = 0;
  surrogate::Iteration decided;
  Eigen::VectorXd numbers = {};  // decided.numbers in the order of the layout; NaN if missing
};

inline bool has_curve(const Layout& layout) { return layout.variables.size() == 1; }

// Calls the visitor for all fields of /iterations and /surrogate, like dodyn::for_each_field for /evaluations.
template <class R, class Visitor>
void for_each_field(R& row, const Layout& layout, Visitor&& visit) {
  visit(Field{"/iterations/n_observed", ""}, row.evaluations);
  visit(Field{"/iterations/best_id", ""}, row.decided.best_id);
  visit(Field{"/iterations/best_cost", "1"}, row.decided.best_cost);
  visit(Field{"/iterations/predicted_cost", "1"}, row.decided.predicted_cost);
  visit(Field{"/iterations/next", ""}, row.decided.next);
  visit(Field{"/iterations/note", ""}, row.decided.note);
  visit(Field{"/iterations/recommended", ""}, row.decided.recommended);
  visit(Field{"/iterations/diagnostics", ""}, row.numbers);
  visit(Field{"/iterations/candidates", ""}, row.decided.candidates);
  if (!has_curve(layout)) return;
  visit(Field{"/surrogate/value", "1"}, row.decided.value);
  visit(Field{"/surrogate/lower", "1"}, row.decided.lower);
  visit(Field{"/surrogate/upper", "1"}, row.decided.upper);
}

Table evaluation_table(const Layout& layout, bool merged);
Table iteration_table(const Layout& layout);
Table event_table();
// Returns the number of the record's fields, which is the index of the column /evaluations/checksum. The column
// /evaluations/source comes next.
std::size_t field_count();
// Returns the columns of an evaluation table except the trajectory's channels.
inline std::span<const Column> fields_of(const Table& table, const Layout& layout) {
  return std::span(table).first(table.size() - layout.channels.size());
}
// Returns the trajectory's channels of an evaluation table.
inline std::span<const Column> channels_of(const Table& table, const Layout& layout) {
  return std::span(table).last(layout.channels.size());
}

Row encode(const Table& table, const Layout& layout, const Outcome& outcome, std::int32_t source = 0);
Row encode(const Table& table, const Layout& layout, const IterationRow& iteration);
Row encode(const Table& table, const Event& event);

// Returns the CRC-32 of zlib. `before`: the CRC-32 of the bytes that precede these.
std::uint32_t crc32(std::span<const std::byte> bytes, std::uint32_t before = 0);

// ---- the file ------------------------------------------------------------------------------------------------------

// A column that was checked against its description; every read and write of rows uses this.
struct OpenColumn {
  Handle dataset;
  hsize_t rows = 0;
};
// Throws Error if the column has another rank, extent, type or storage than its description.
OpenColumn open_column(hid_t file, const Column& column);
inline hsize_t length(hid_t file, const Column& column) { return open_column(file, column).rows; }
// Returns the number of committed rows of a table with this first column. Throws Error if the column's storage is too
// small for this number. A reader must call this before it opens other columns, which are then at least as long: an
// open dataset keeps the length it had when it was opened.
hsize_t committed(hid_t file, const Column& first);

// Creates all groups, datasets and attributes: SWMR allows no new ones later. Uses layout, provenance, created and
// sources of the contents.
void create_layout(const std::string& path, const Contents& contents);
void write_rows(hid_t file, const Table& table, hsize_t first, std::span<const Row> rows);
// Writes the grid of the strategy. All iterations have the same grid, so each writes the same values.
void write_grid(hid_t file, const Layout& layout, const Eigen::VectorXd& grid);
void write_stopped(hid_t file, Ending ending, const std::string& reason);

void check_schema(hid_t file);  // throws Error if the file is not an archive, or has another schema
bool is_merged(hid_t file);
Layout read_layout(hid_t file);
Provenance read_provenance(hid_t object);
// Reads the stored files into `provenance`. Throws Error if a list or a file is invalid: a path outside the folder,
// more bytes than allowed, or a content that does not match its checksum.
void read_files(hid_t file, Provenance& provenance);
void write_files(hid_t file, const Provenance& provenance);
std::vector<Source> read_sources(hid_t file);
std::string read_stopped(hid_t file);
Ending read_ending(hid_t file);  // none if the archive lacks it: it was written before `ending` existed
Eigen::VectorXd read_grid(hid_t file, const Layout& layout);

Bytes read_rows(hid_t file, const Column& column, hsize_t first, hsize_t rows);
void read_rows(hid_t file, const Column& column, hsize_t first, hsize_t rows, Bytes& bytes);  // into an existing buffer
// Returns the number of rows, at most `rows`, before the first row whose bytes are not within the first `size` bytes of
// the file. Rows before `first` are not checked. Beyond the end of a file HDF5 reads zeros. The end-of-file address, by
// which a closed file is checked, is out of date while a file is open.
hsize_t rows_inside(hid_t file, std::span<const Column> columns, std::size_t size, hsize_t rows, hsize_t first = 0);

// The bytes of rows, column by column, and their conversion to records.
struct Block {
  std::span<const Column> table;
  std::vector<Bytes> columns;  // a row's bytes start at row * table[c].bytes()
  std::span<const std::byte> cell(std::size_t row, std::size_t column) const;
  std::uint32_t checksum(std::size_t row, std::size_t first, std::size_t count) const;
  std::uint32_t outcome_checksum(std::size_t row, std::uint32_t of_motion) const;
};
Block read_block(hid_t file, std::span<const Column> table, hsize_t first, hsize_t rows);
void read_block(hid_t file, std::span<const Column> table, hsize_t first, hsize_t rows, Block& block);
Evaluation evaluation_of(const Block& block, std::size_t row);
IterationRow iteration_of(const Block& block, std::size_t row, const Layout& layout, const Eigen::VectorXd& grid);
Event event_of(const Block& block, std::size_t row);

// The trajectory of a row and its checksum, from a block of the trajectory's columns or from the file.
struct Motion {
  Trajectory trajectory;
  std::uint32_t checksum = 0;
};
Motion motion_of(const Block& block, std::size_t row);
Motion motion_at(hid_t file, const Layout& layout, const Table& table, hsize_t row);

// Flushes a finished `path`.tmp to disk and renames it to `path`, so that a file of that name is never incomplete. If
// `path` is a symbolic link, its target is replaced. Throws Error.
void publish(const std::string& path);
// Runs action(`path`.tmp) after reserving `bytes` for it; removes the file if the action fails.
void make_temporary(const std::string& path, std::size_t bytes, const std::function<void(const std::string&)>& action);
void sync(const std::string& path);  // flushes to disk
std::string utc_now();

}  // namespace dodyn::archive
