#include "archive/schema.hpp"

#include <fcntl.h>
#include <hdf5_hl.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <limits>

#include "archive/writer_lock.hpp"
#include "record/packed.hpp"
#include "record/text.hpp"
#include "settings/choices.hpp"
#include "settings/config_error.hpp"

namespace dodyn::archive {
namespace {

constexpr std::size_t reason_bytes = 1024, host_bytes = 64, time_bytes = 32, ending_bytes = 16;

// ---- columns -------------------------------------------------------------------------------------------------------

Handle element_type(std::string_view, const std::int64_t&) { return own(H5Tcopy(H5T_NATIVE_INT64), "HDF5"); }
Handle element_type(std::string_view, const std::uint64_t&) { return own(H5Tcopy(H5T_NATIVE_UINT64), "HDF5"); }
Handle element_type(std::string_view, const std::int32_t&) { return own(H5Tcopy(H5T_NATIVE_INT32), "HDF5"); }
Handle element_type(std::string_view, const double&) { return own(H5Tcopy(H5T_NATIVE_DOUBLE), "HDF5"); }
Handle element_type(std::string_view, const Eigen::VectorXd&) { return own(H5Tcopy(H5T_NATIVE_DOUBLE), "HDF5"); }
Handle element_type(std::string_view, const Eigen::MatrixXd&) { return own(H5Tcopy(H5T_NATIVE_DOUBLE), "HDF5"); }
Handle element_type(std::string_view name, const std::string&) {
  const bool short_text = name == "start_time" || name == "/events/time" || name == "/events/kind";
  return string_type(name == "host" ? host_bytes : short_text ? time_bytes : reason_bytes);
}
Handle element_type(std::string_view, const std::uint32_t&) { return own(H5Tcopy(H5T_NATIVE_UINT32), "HDF5"); }
Handle element_type(std::string_view, const Status&) {
  Handle type = own(H5Tenum_create(H5T_NATIVE_INT8), "HDF5");
  for (const Status status : all_statuses)
    check(H5Tenum_insert(type, std::string(to_string(status)).c_str(), &status), "HDF5");
  return type;
}

template <class T>
std::vector<hsize_t> row_shape(std::string_view name, const T&, const Layout& layout) {
  if constexpr (std::is_same_v<T, Eigen::MatrixXd>) return {surrogate::most_candidates, layout.candidates.size()};
  if constexpr (!std::is_same_v<T, Eigen::VectorXd>) return {};
  if (name == "metrics") return {layout.metrics.size()};
  if (name == "/iterations/diagnostics") return {layout.numbers.size()};
  if (name.starts_with("/surrogate/")) return {static_cast<hsize_t>(layout.grid_points)};
  return {layout.variables.size()};
}

}  // namespace

std::size_t Column::elements() const {
  std::size_t product = 1;
  for (const auto extent : shape) product *= extent;
  return product;
}

std::size_t Column::bytes() const {
  if (cached_bytes == 0) cached_bytes = elements() * H5Tget_size(type);
  return cached_bytes;
}

hsize_t Column::chunk_rows() const {
  return packed() ? 1 : std::max<hsize_t>(1, 4096 / std::max<std::size_t>(1, bytes()));
}

std::size_t field_count() {
  static const std::size_t count = [] {
    std::size_t n = 0;
    const Evaluation one;
    for_each_field(one, [&](const Field&, const auto&) { ++n; });
    return n;
  }();
  return count;
}

Table evaluation_table(const Layout& layout, bool merged) {
  Table table;
  const Evaluation one;
  for_each_field(one, [&](const Field& field, const auto& value) {
    table.push_back({"/evaluations/" + std::string(field.name), field.unit, element_type(field.name, value),
                     row_shape(field.name, value, layout)});
  });
  table.push_back({"/evaluations/checksum", "", element_type("", std::uint32_t{}), {Checksums().size()}});
  if (merged) table.push_back({"/evaluations/source", "", element_type("", std::int32_t{}), {}});
  for (const auto& channel : layout.channels)
    table.push_back({"/trajectories/" + channel.name,
                     "",
                     own(H5Tcopy(H5T_NATIVE_DOUBLE), "HDF5"),
                     {static_cast<hsize_t>(channel.nodes), channel.coordinates.size()}});
  return table;
}

Table iteration_table(const Layout& layout) {
  Table table;
  const IterationRow one;
  for_each_field(one, layout, [&](const Field& field, const auto& value) {
    table.push_back(
        {std::string(field.name), field.unit, element_type(field.name, value), row_shape(field.name, value, layout)});
  });
  table.push_back({"/iterations/checksum", "", element_type("", std::uint32_t{}), {}});
  return table;
}

Table event_table() {
  Table table;
  for (const char* name : {"/events/time", "/events/kind", "/events/text"})
    table.push_back(
        {name, std::string_view(name).ends_with("time") ? "UTC" : "", element_type(name, std::string()), {}});
  table.push_back({"/events/checksum", "", element_type("", std::uint32_t{}), {}});
  return table;
}

std::uint32_t crc32(std::span<const std::byte> bytes, std::uint32_t before) {
  if (bytes.empty()) return before;  // its pointer may be null; zlib would then restart at 0
  return static_cast<std::uint32_t>(::crc32_z(before, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

namespace {

// ---- values to bytes and back --------------------------------------------------------------------------------------

template <class T>
requires std::is_arithmetic_v<T> || std::is_enum_v<T> Bytes encode(const Column&, const T& value) {
  Bytes bytes(sizeof(T));
  std::memcpy(bytes.data(), &value, sizeof(T));
  return bytes;
}

// Truncates a text that is too long, but not inside a UTF-8 sequence (whose later bytes are 10xxxxxx).
Bytes encode(const Column& column, const std::string& anything) {
  const std::string text = printable(anything);
  Bytes bytes(column.bytes());
  std::size_t length = std::min(text.size(), bytes.size());
  if (length < text.size())
    while (length > 0 && (static_cast<unsigned char>(text[length]) & 0xC0) == 0x80) --length;
  std::memcpy(bytes.data(), text.data(), length);
  return bytes;
}

// Encodes numbers row by row; an empty vector or matrix is stored as NaN.
template <class Derived>
Bytes encode(const Column& column, const Eigen::MatrixBase<Derived>& values) {
  const Eigen::Index elements = column.elements();
  const auto columns = column.shape.size() == 2 ? static_cast<Eigen::Index>(column.shape[1]) : 1;
  if (values.size() != 0 && (values.size() != elements || values.cols() != columns))
    throw Error(column.path + ": " + std::to_string(values.rows()) + " x " + std::to_string(values.cols()) +
                " numbers where the archive has room for " + std::to_string(columns > 0 ? elements / columns : 0) +
                " x " + std::to_string(columns));
  Bytes bytes(column.bytes());
  auto* out = reinterpret_cast<double*>(bytes.data());
  if (values.size() == 0) {
    std::fill_n(out, elements, not_a_number);
  } else {
    Eigen::Map<Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>>(out, values.rows(),
                                                                                       values.cols()) = values;
  }
  return bytes;
}

template <class T>
requires std::is_arithmetic_v<T> || std::is_enum_v<T>
void decode(const Column&, std::span<const std::byte> bytes, T& value) { std::memcpy(&value, bytes.data(), sizeof(T)); }

void decode(const Column&, std::span<const std::byte> bytes, std::string& text) {
  const auto* begin = reinterpret_cast<const char*>(bytes.data());
  text = printable({begin, std::find(begin, begin + bytes.size(), '\0')});  // earlier versions wrote arbitrary bytes
}

// Decodes a matrix without the rows of NaN at its end.
void decode(const Column& column, std::span<const std::byte> bytes, Eigen::MatrixXd& values) {
  using RowMajor = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  values = Eigen::Map<const RowMajor>(reinterpret_cast<const double*>(bytes.data()), column.shape[0], column.shape[1]);
  Eigen::Index rows = values.cols() > 0 ? values.rows() : 0;
  while (rows > 0 && values.row(rows - 1).array().isNaN().all()) --rows;
  values.conservativeResize(rows, rows > 0 ? values.cols() : 0);
}

void decode(const Column& column, std::span<const std::byte> bytes, Eigen::VectorXd& values) {
  values.resize(column.elements());
  if (values.size() > 0) std::memcpy(values.data(), bytes.data(), bytes.size());
  if (values.array().isNaN().all()) values.resize(0);
}

bool all_nan(const Trajectory& trajectory) {
  return std::ranges::all_of(trajectory.values, [](const auto& values) { return values.array().isNaN().all(); });
}

Bytes as_bytes(const auto& value) {
  Bytes bytes(sizeof(value));
  std::memcpy(bytes.data(), &value, sizeof(value));
  return bytes;
}

// Returns the fields of the record that belong to the outcome, not to time, place and duration.
const std::vector<std::size_t>& outcome_fields() {
  static const std::vector<std::size_t> fields = [] {
    std::vector<std::size_t> found;
    std::size_t c = 0;
    const Evaluation one;
    for_each_field(one, [&](const Field& field, const auto&) {
      const auto others = {"id", "warm_start_id", "wall_time", "rank", "host", "start_time"};
      if (std::ranges::find(others, field.name) == others.end()) found.push_back(c);
      ++c;
    });
    return found;
  }();
  return fields;
}

// Returns a buffer that collects cells: zlib needs several times as long for many short pieces as for one long piece.
Bytes& gathered() {
  thread_local Bytes bytes;
  bytes.clear();
  return bytes;
}
void add(Bytes& to, std::span<const std::byte> cell) { to.insert(to.end(), cell.begin(), cell.end()); }

std::uint32_t crc32(const Row& row) {
  Bytes& cells = gathered();
  for (const auto& cell : row) add(cells, cell->bytes);
  return archive::crc32(cells, 0);
}

// `cell(c)` returns the bytes of a row in column c.
template <class Cells>
std::uint32_t crc32_of_outcome(std::uint32_t of_motion, Cells&& cell) {
  Bytes& cells = gathered();
  for (const std::size_t c : outcome_fields()) add(cells, cell(c));
  add(cells, std::as_bytes(std::span(&of_motion, 1)));
  return archive::crc32(cells, 0);
}

}  // namespace

Row encode(const Table& table, const Layout& layout, const Outcome& outcome, std::int32_t source) {
  Row row;
  for_each_field(outcome.evaluation,
                 [&](const Field&, const auto& value) { row.emplace_back(Cell{encode(table[row.size()], value)}); });
  const auto channels = channels_of(table, layout);
  const auto& values = outcome.trajectory.values;
  if (!values.empty() && values.size() != channels.size())
    throw Error("a trajectory of " + std::to_string(values.size()) + " channels where the archive has room for " +
                std::to_string(channels.size()));
  std::uint32_t crc_of_motion = 0;
  const bool moves = !all_nan(outcome.trajectory);
  for (std::size_t c = 0; moves && c < values.size(); ++c)
    crc_of_motion = crc32(encode(channels[c], values[c]), crc_of_motion);
  const bool merged = table.size() - channels.size() > field_count() + 1;
  const auto cell = [&](std::size_t c) { return std::span<const std::byte>(row[c]->bytes); };
  const Checksums checksums{crc32(row), crc_of_motion, crc32_of_outcome(crc_of_motion, cell)};
  row.emplace_back(Cell{as_bytes(checksums)});
  if (merged) row.emplace_back(Cell{as_bytes(source)});
  for (std::size_t c = 0; moves && c < values.size(); ++c) {
    if (!channels[c].packed()) {
      row.emplace_back(Cell{encode(channels[c], values[c])});
      continue;
    }
    const Packed chunk = outcome.packed.empty() ? packed(values[c]) : outcome.packed.at(c);
    row.emplace_back(Cell{chunk.bytes, chunk.deflated});
  }
  row.resize(table.size());
  return row;
}

std::uint32_t outcome_checksum(const Layout& layout, const Outcome& outcome) {
  const Table table = evaluation_table(layout, false);
  Checksums checksums;
  std::memcpy(&checksums, encode(table, layout, outcome)[field_count()]->bytes.data(), sizeof checksums);
  return checksums[2];
}

std::string stored_reason(const std::string& reason) {
  const Column column{"reason", "", string_type(reason_bytes), {}};
  std::string text;
  decode(column, encode(column, reason), text);
  return text;
}

Row encode(const Table& table, const Layout& layout, const IterationRow& decided) {
  Row row;
  IterationRow iteration = decided;
  iteration.numbers.setConstant(layout.numbers.size(), not_a_number);
  for (const auto& [name, value] : iteration.decided.numbers)
    for (std::size_t i = 0; i < layout.numbers.size(); ++i)
      if (layout.numbers[i] == name) iteration.numbers(i) = value;
  const Eigen::MatrixXd& considered = decided.decided.candidates;
  const Eigen::Index columns = layout.candidates.size();
  iteration.decided.candidates.setConstant(surrogate::most_candidates, columns, not_a_number);
  if (const auto rows = std::min(considered.rows(), surrogate::most_candidates); considered.cols() == columns)
    iteration.decided.candidates.topRows(rows) = considered.topRows(rows);
  for_each_field(iteration, layout,
                 [&](const Field&, const auto& value) { row.emplace_back(Cell{encode(table[row.size()], value)}); });
  row.emplace_back(Cell{as_bytes(crc32(row))});
  return row;
}

Row encode(const Table& table, const Event& event) {
  Row row;
  for (const std::string* text : {&event.time, &event.kind, &event.text})
    row.emplace_back(Cell{encode(table[row.size()], *text)});
  row.emplace_back(Cell{as_bytes(crc32(row))});
  return row;
}

// ---- datasets ------------------------------------------------------------------------------------------------------

OpenColumn open_column(hid_t file, const Column& column) {
  OpenColumn open{open_dataset(file, column.path)};
  const auto dimensions = extents(open.dataset);
  if (dimensions.size() != column.shape.size() + 1 ||
      !std::equal(column.shape.begin(), column.shape.end(), dimensions.begin() + 1))
    throw Error("not a dodyn archive: " + column.path + " has another shape");
  const Handle type = own(H5Dget_type(open.dataset), column.path);
  if (H5Tequal(type, column.type) <= 0) throw Error("not a dodyn archive: " + column.path + " has another type");
  const Handle list = own(H5Dget_create_plist(open.dataset), column.path);
  if (H5Pget_layout(list) != H5D_CHUNKED) throw Error("not a dodyn archive: " + column.path + " is not in chunks");
  open.rows = dimensions.front();
  return open;
}

namespace {

// Largest allocation of a reader without a comparison with the column's storage in the file, bytes.
constexpr std::size_t unfounded_bytes = 64 << 20;

}  // namespace

hsize_t committed(hid_t file, const Column& first) {
  const OpenColumn open = open_column(file, first);
  // Every row was written, so the allocated storage must cover the rows. Row counts up to this need no such proof.
  constexpr hsize_t few = 1 << 20;
  if (const hsize_t most = std::max<hsize_t>(few, H5Dget_storage_size(open.dataset) / first.bytes()); open.rows > most)
    throw Error("damaged: " + first.path + " claims " + std::to_string(open.rows) + " rows, for which it has no room");
  return open.rows;
}

namespace {

void create_dataset(hid_t file, const Column& column) {
  std::vector<hsize_t> now{0}, limit{H5S_UNLIMITED}, chunk{column.chunk_rows()};
  for (const auto extent : column.shape) {
    now.push_back(extent);
    limit.push_back(std::max<hsize_t>(extent, 1));  // a chunk has at least one element, even if there are no metrics
    chunk.push_back(limit.back());
  }
  const Handle space = own(H5Screate_simple(now.size(), now.data(), limit.data()), column.path);
  const Handle list = own(H5Pcreate(H5P_DATASET_CREATE), "HDF5");
  check(H5Pset_chunk(list, chunk.size(), chunk.data()), column.path);
  check(H5Pset_obj_track_times(list, false), column.path);
  if (column.packed()) {
    check(H5Pset_shuffle(list), column.path);
    check(H5Pset_deflate(list, 4), column.path);
  }
  if (H5Tget_class(column.type) == H5T_FLOAT)
    check(H5Pset_fill_value(list, H5T_NATIVE_DOUBLE, &not_a_number), column.path);
  const Handle dataset =
      own(H5Dcreate2(file, column.path.c_str(), column.type, space, H5P_DEFAULT, list, H5P_DEFAULT), column.path);
  if (!column.unit.empty()) set_attribute(dataset, "unit", std::string(column.unit));
}

// Returns the content of a cell that was not written: NaN or zeros.
Bytes fill_of(const Column& column) {
  Bytes bytes(column.bytes());
  if (H5Tget_class(column.type) == H5T_FLOAT)
    std::fill_n(reinterpret_cast<double*>(bytes.data()), bytes.size() / sizeof(double), not_a_number);
  return bytes;
}

// Extends the column to `first` + n rows and fills the last n with cell `c` of each of the `rows`.
void write_cells(hid_t file, const Column& column, hsize_t first, std::span<const Row> rows, std::size_t c) {
  Handle dataset = open_column(file, column).dataset;
  std::vector<hsize_t> size{first + rows.size()}, start{first}, count{rows.size()};
  for (const auto extent : column.shape) {
    size.push_back(extent);
    start.push_back(0);
    count.push_back(extent);
  }
  check(H5Dset_extent(dataset, size.data()), column.path);
  const Handle space = own(H5Dget_space(dataset), column.path);
  const auto write = [&](const void* data) {
    check(H5Sselect_hyperslab(space, H5S_SELECT_SET, start.data(), nullptr, count.data(), nullptr), column.path);
    const Handle source = own(H5Screate_simple(count.size(), count.data(), nullptr), column.path);
    check(H5Dwrite(dataset, column.type, source, space, H5P_DEFAULT, data), column.path);
  };
  if (column.packed()) {  // one chunk per row, already compressed; left out if there is no trajectory
    constexpr std::uint32_t without_deflate = 1U << 1;  // bit of the second filter, deflate
    for (const Row& row : rows) {
      if (row[c] && !row[c]->bytes.empty())
        check(H5Dwrite_chunk(dataset, H5P_DEFAULT, row[c]->deflated ? 0 : without_deflate, start.data(),
                             row[c]->bytes.size(), row[c]->bytes.data()),
              column.path);
      ++start[0];
    }
  } else if (column.bytes() > 0) {
    // A cell that equals the fill value is not written. So rows without a reason, a gradient, a curve or a trajectory
    // need no space.
    const Bytes fill = fill_of(column);
    Bytes block;
    bool any = c == 0;
    for (const Row& row : rows) {
      const Bytes& bytes = row[c] ? row[c]->bytes : fill;
      any = any || bytes != fill;
      block.insert(block.end(), bytes.begin(), bytes.end());
    }
    if (any) write(block.data());
  }
  if (!dataset.close()) fail("cannot write " + column.path);  // the chunks are written to the file here
}

}  // namespace

void write_rows(hid_t file, const Table& table, hsize_t first, std::span<const Row> rows) {
  // A second writer, if locks do not work or the lock file was removed, would overwrite the rows of the first.
  if (const hsize_t there = length(file, table.front()); there != first)
    throw Error("holds " + std::to_string(there) + " rows in " + table.front().path + " where this process left " +
                std::to_string(first) + ": another process writes to it; start again to continue from its rows");
  for (std::size_t c = 1; c < table.size(); ++c) write_cells(file, table[c], first, rows, c);
  check(H5Fflush(file, H5F_SCOPE_LOCAL), "flush");
  write_cells(file, table.front(), first, rows, 0);
}

Bytes read_rows(hid_t file, const Column& column, hsize_t first, hsize_t rows) {
  Bytes bytes;
  read_rows(file, column, first, rows, bytes);
  return bytes;
}

void read_rows(hid_t file, const Column& column, hsize_t first, hsize_t rows, Bytes& bytes) {
  bytes.resize(0);
  const OpenColumn open = open_column(file, column);
  if (rows > open.rows || first > open.rows - rows)
    throw Error("damaged: " + column.path + " has " + std::to_string(open.rows) + " rows of " +
                std::to_string(first + rows));
  if (column.bytes() == 0) return;
  // HDF5 inspects every chunk to return the stored size. So only large columns without compression are checked.
  if (rows > unfounded_bytes / column.bytes() && !column.trajectory() &&
      rows > H5Dget_storage_size(open.dataset) / column.bytes())
    throw Error("damaged: " + column.path + " has no room for " + std::to_string(rows) + " rows");
  bytes.resize(column.bytes() * rows);
  if (bytes.empty()) return;
  std::vector<hsize_t> start{first}, count{rows};
  for (const auto extent : column.shape) {
    start.push_back(0);
    count.push_back(extent);
  }
  const Handle source = own(H5Dget_space(open.dataset), column.path);
  check(H5Sselect_hyperslab(source, H5S_SELECT_SET, start.data(), nullptr, count.data(), nullptr), column.path);
  const Handle target = own(H5Screate_simple(count.size(), count.data(), nullptr), column.path);
  check(H5Dread(open.dataset, column.type, target, source, H5P_DEFAULT, bytes.data()), column.path);
}

hsize_t rows_inside(hid_t file, std::span<const Column> columns, std::size_t size, hsize_t rows, hsize_t first) {
  if (size == std::numeric_limits<std::size_t>::max()) return rows;
  for (const Column& column : columns) {
    const Handle dataset = open_column(file, column).dataset;
    const Handle list = own(H5Dget_create_plist(dataset), column.path);
    std::vector<hsize_t> chunk(column.shape.size() + 1), offset(chunk.size(), 0);
    if (H5Pget_chunk(list, chunk.size(), chunk.data()) < 1) fail(column.path);
    if (column.elements() == 0) continue;
    const auto outside = [&](hsize_t which) {
      unsigned filters = 0;
      haddr_t address = HADDR_UNDEF;
      hsize_t bytes = 0;
      offset[0] = which * chunk[0];
      check(H5Dget_chunk_info_by_coord(dataset, offset.data(), &filters, &address, &bytes), column.path);
      return address != HADDR_UNDEF && address + bytes > size;
    };
    // A file only grows. So chunks are in the order of their rows, except those of one append. Searches backwards until
    // a whole stretch is inside the file. A look-up takes time in proportion to the chunk's index.
    constexpr hsize_t stretch = 64;
    hsize_t inside = 0;
    for (hsize_t which = (rows + chunk[0] - 1) / chunk[0]; which > first / chunk[0] && inside < stretch; ++inside)
      if (outside(--which)) rows = which * chunk[0], inside = 0;
  }
  return rows;
}

Block read_block(hid_t file, std::span<const Column> table, hsize_t first, hsize_t rows) {
  Block block;
  read_block(file, table, first, rows, block);
  return block;
}

void read_block(hid_t file, std::span<const Column> table, hsize_t first, hsize_t rows, Block& block) {
  block.table = table;
  block.columns.resize(table.size());
  for (std::size_t c = 0; c < table.size(); ++c) read_rows(file, table[c], first, rows, block.columns[c]);
}

std::span<const std::byte> Block::cell(std::size_t row, std::size_t column) const {
  const std::size_t bytes = table[column].bytes();
  return std::span(columns[column]).subspan(row * bytes, bytes);
}

std::uint32_t Block::checksum(std::size_t row, std::size_t first, std::size_t count) const {
  Bytes& cells = gathered();
  for (std::size_t c = first; c < first + count; ++c) add(cells, cell(row, c));
  return crc32(cells, 0);
}

std::uint32_t Block::outcome_checksum(std::size_t row, std::uint32_t of_motion) const {
  return crc32_of_outcome(of_motion, [&](std::size_t c) { return cell(row, c); });
}

Evaluation evaluation_of(const Block& block, std::size_t row) {
  Evaluation evaluation;
  std::size_t c = 0;
  for_each_field(evaluation, [&](const Field&, auto& value) {
    decode(block.table[c], block.cell(row, c), value);
    ++c;
  });
  return evaluation;
}

IterationRow iteration_of(const Block& block, std::size_t row, const Layout& layout, const Eigen::VectorXd& grid) {
  IterationRow iteration;
  std::size_t c = 0;
  for_each_field(iteration, layout, [&](const Field&, auto& value) {
    decode(block.table[c], block.cell(row, c), value);
    ++c;
  });
  for (Eigen::Index i = 0; i < iteration.numbers.size(); ++i)
    if (!std::isnan(iteration.numbers(i)))
      iteration.decided.numbers.emplace_back(layout.numbers[i], iteration.numbers(i));
  if (iteration.decided.value.size() > 0) iteration.decided.grid = grid;
  return iteration;
}

Event event_of(const Block& block, std::size_t row) {
  Event event;
  std::size_t c = 0;
  for (std::string* text : {&event.time, &event.kind, &event.text}) {
    decode(block.table[c], block.cell(row, c), *text);
    ++c;
  }
  return event;
}

Motion motion_at(hid_t file, const Layout& layout, const Table& table, hsize_t row) {
  return motion_of(read_block(file, channels_of(table, layout), row, 1), 0);
}

Motion motion_of(const Block& block, std::size_t row) {
  using RowMajor = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  Motion motion;
  for (std::size_t c = 0; c < block.table.size(); ++c)
    motion.trajectory.values.push_back(Eigen::Map<const RowMajor>(
        reinterpret_cast<const double*>(block.cell(row, c).data()), block.table[c].shape[0], block.table[c].shape[1]));
  if (all_nan(motion.trajectory)) return {};
  motion.checksum = block.checksum(row, 0, block.table.size());
  return motion;
}

namespace {

// ---- the configuration as text -------------------------------------------------------------------------------------

// Writes one "key = value" per line. A backslash escapes itself, line ends, and an equals sign in a key.
std::string configuration_text(const std::vector<std::pair<std::string, std::string>>& configuration) {
  const auto add = [](std::string& text, const std::string& word, bool key) {
    for (const char c : word) {
      if (c == '\\' || (key && c == '=')) text += '\\';
      if (c == '\n')
        text += "\\n";
      else
        text += c;
    }
  };
  std::string text;
  for (const auto& [key, value] : configuration) {
    add(text, key, true);
    text += " = ";
    add(text, value, false);
    text += '\n';
  }
  return text;
}

std::vector<std::pair<std::string, std::string>> parse_configuration(const std::string& text) {
  std::vector<std::pair<std::string, std::string>> configuration;
  std::string key, word;
  bool in_key = true;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 1 < text.size()) {
      ++i;
      word += text[i] == 'n' ? '\n' : text[i];
    } else if (in_key && text[i] == '=' && !word.empty()) {
      key = word.substr(0, word.size() - 1);  // the spaces around the equals sign are not part of key and value
      word.clear();
      in_key = false;
      ++i;
    } else if (text[i] == '\n') {
      if (!in_key) configuration.emplace_back(std::exchange(key, {}), word);
      word.clear();
      in_key = true;
    } else {
      word += text[i];
    }
  }
  return configuration;
}

// ---- the whole file ------------------------------------------------------------------------------------------------

template <class Item, class Member>
auto each(const std::vector<Item>& items, Member Item::*member) {
  std::vector<Member> values;
  for (const auto& item : items) values.push_back(item.*member);
  return values;
}

// The two attributes that are overwritten in place: their names and fixed lengths.
Column stop_reason() { return {"stop_reason", "", string_type(reason_bytes), {}}; }
Column ending_name() { return {"ending", "", string_type(ending_bytes), {}}; }

std::string attribute_text(const Column& column) { return "attribute '" + column.path + "'"; }

void write_text(hid_t file, const Column& column, const std::string& value) {
  const Handle attribute = own(H5Aopen(file, column.path.c_str(), H5P_DEFAULT), attribute_text(column));
  check(H5Awrite(attribute, column.type, encode(column, value).data()), attribute_text(column));
}

std::string read_text(hid_t file, const Column& column, std::size_t size) {
  const Bytes bytes = read_attribute(file, column.path.c_str(), column.type, 1);
  if (bytes.size() != size) throw Error("not a dodyn archive: " + attribute_text(column) + " is not one text");
  std::string text;
  decode(column, bytes, text);
  return text;
}

}  // namespace

void write_stopped(hid_t file, Ending ending, const std::string& reason) {
  write_text(file, stop_reason(), reason);
  if (H5Aexists(file, "ending") > 0) write_text(file, ending_name(), std::string(to_string(ending)));
}

std::string read_stopped(hid_t file) { return read_text(file, stop_reason(), reason_bytes); }

Ending read_ending(hid_t file) {
  return H5Aexists(file, "ending") > 0 ? parse_ending(read_text(file, ending_name(), ending_bytes)) : Ending::none;
}

namespace {

void label(hid_t file, const std::string& path, std::initializer_list<const char*> dimensions) {
  const Handle dataset = open_dataset(file, path);
  unsigned i = 0;
  for (const char* name : dimensions) check(H5DSset_label(dataset, i++, name), path);
}

// Attaches the scale with the coordinate values of dimension `dimension` of the dataset.
void attach_scale(hid_t file, const std::string& path, const std::string& scale, unsigned dimension) {
  check(H5DSattach_scale(open_dataset(file, path), open_dataset(file, scale), dimension), path);
}

// Creates a scale with the names along a dimension, [names].
void create_names(hid_t file, const std::string& path, const std::vector<std::string>& names) {
  std::size_t bytes = 1;
  for (const auto& name : names) bytes = std::max(bytes, name.size());
  std::string text;
  for (const auto& name : names) text += name + std::string(bytes - name.size(), '\0');
  const hsize_t size = names.size();
  const Handle type = string_type(bytes);
  const Handle space = own(H5Screate_simple(1, &size, nullptr), path);
  const Handle dataset = own(H5Dcreate2(file, path.c_str(), type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), path);
  if (size > 0) check(H5Dwrite(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, text.data()), path);
  check(H5DSset_scale(dataset, nullptr), path);
}

// Creates the scale 0, 1, ... size - 1.
void create_numbers(hid_t file, const std::string& path, int size) {
  std::vector<std::int32_t> numbers(size);
  for (int i = 0; i < size; ++i) numbers[i] = i;
  const hsize_t extent = numbers.size();
  const Handle space = own(H5Screate_simple(1, &extent, nullptr), path);
  const Handle dataset =
      own(H5Dcreate2(file, path.c_str(), H5T_NATIVE_INT32, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), path);
  if (size > 0) check(H5Dwrite(dataset, H5T_NATIVE_INT32, H5S_ALL, H5S_ALL, H5P_DEFAULT, numbers.data()), path);
  check(H5DSset_scale(dataset, nullptr), path);
}

// Adds a hard link to a dataset: netCDF searches a dimension in its variable's own group.
void link(hid_t file, const std::string& there, const std::string& here) {
  check(H5Lcreate_hard(file, there.c_str(), file, here.c_str(), H5P_DEFAULT, H5P_DEFAULT), here);
}

// Creates a scale for every dimension of every column, so that netCDF and xarray know its coordinates.
void create_scales(hid_t file, const Layout& layout, const Table& evaluations, const Table& iterations,
                   const Table& events) {
  const auto scale = [&](const Column& column, unsigned dimension, const std::string& path) {
    if (column.path != path) attach_scale(file, column.path, path, dimension);
  };
  const std::string id = evaluations.front().path, n_observed = iterations.front().path;
  check(H5DSset_scale(open_dataset(file, id), nullptr), id);
  check(H5DSset_scale(open_dataset(file, n_observed), nullptr), n_observed);
  check(H5DSset_scale(open_dataset(file, events.front().path), nullptr), events.front().path);
  for (const Column& column : events) scale(column, 0, events.front().path);
  create_names(file, "/evaluations/variable", names_of(layout.variables));
  create_names(file, "/evaluations/metric", names_of(layout.metrics));
  create_names(file, "/evaluations/part", {"fields", "trajectory", "outcome"});
  create_names(file, "/iterations/diagnostic", layout.numbers);
  create_names(file, "/iterations/candidate_column", layout.candidates);
  create_numbers(file, "/iterations/candidate", surrogate::most_candidates);
  link(file, "/evaluations/variable", "/iterations/variable");
  link(file, id, "/trajectories/id");
  if (has_curve(layout)) link(file, n_observed, "/surrogate/n_observed");
  for (const auto& channel : layout.channels) {
    const std::string node = "/trajectories/node_" + std::to_string(channel.nodes);
    if (H5Lexists(file, node.c_str(), H5P_DEFAULT) <= 0) create_numbers(file, node, channel.nodes);
    create_names(file, "/trajectories/" + channel.name + "_coordinate", channel.coordinates);
  }
  for (const Column& column : evaluations) {
    scale(column, 0, id);
    if (column.trajectory()) {
      scale(column, 1, "/trajectories/node_" + std::to_string(column.shape[0]));
      scale(column, 2, column.path + "_coordinate");
    } else if (!column.shape.empty()) {
      const bool metric = column.path.ends_with("metrics"), checksum = column.path.ends_with("checksum");
      scale(column, 1, metric ? "/evaluations/metric" : checksum ? "/evaluations/part" : "/evaluations/variable");
    }
  }
  for (const Column& column : iterations) {
    const bool curve = column.path.starts_with("/surrogate/");
    scale(column, 0, n_observed);
    if (!column.shape.empty() && !curve)
      scale(column, 1,
            column.shape.size() > 1                ? "/iterations/candidate"
            : column.path.ends_with("diagnostics") ? "/iterations/diagnostic"
                                                   : "/iterations/variable");
    if (column.shape.size() > 1) scale(column, 2, "/iterations/candidate_column");
  }
}

void set_provenance(hid_t object, const Provenance& provenance, const std::string& created) {
  set_attribute(object, "version", provenance.program_version);
  set_attribute(object, "git_commit", provenance.git_commit);
  set_attribute(object, "evaluator", provenance.evaluator);
  set_attribute(object, "configuration", configuration_text(provenance.configuration));
  set_attribute(object, "given", configuration_text(provenance.given));
  set_attribute(object, "folder", provenance.folder);
  set_attribute(object, "command_line", provenance.command_line);
  set_attribute(object, "host", provenance.host);
  set_attribute(object, "ranks", provenance.ranks);
  set_attribute(object, "machine", configuration_text(provenance.machine));
  set_attribute(object, "created", created);
}

void write_sources(hid_t file, const std::vector<Source>& sources) {
  if (!sources.empty()) own(H5Gcreate2(file, "/sources", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), "/sources");
  for (std::size_t i = 0; i < sources.size(); ++i) {
    const std::string name = "/sources/" + std::to_string(i);
    const Handle group = own(H5Gcreate2(file, name.c_str(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), name);
    const Source& source = sources[i];
    set_attribute(group, "path", source.path);
    set_attribute(group, "stop_reason", source.stopped);
    set_provenance(group, source.provenance, source.created);
  }
}

// Writes names and units of the columns of designs, gradients, metrics and iterations as attributes.
void describe_columns(hid_t file, const Layout& layout) {
  for (const char* name :
       {"/evaluations/design", "/evaluations/gradient", "/iterations/next", "/iterations/recommended"}) {
    const Handle dataset = open_dataset(file, name);
    auto units = each(layout.variables, &Variable::unit);
    if (std::string_view(name).ends_with("gradient"))
      for (auto& unit : units) unit = unit.empty() || unit == "1" ? "1" : "1/(" + unit + ")";
    set_attribute(dataset, "names", each(layout.variables, &Variable::name));
    set_attribute(dataset, "units", units);
  }
  const Handle design = open_dataset(file, "/evaluations/design");
  set_attribute(design, "lower", each(layout.variables, &Variable::lower));
  set_attribute(design, "upper", each(layout.variables, &Variable::upper));
  if (std::ranges::any_of(layout.variables, [](const Variable& v) { return !v.choices.empty(); })) {
    std::vector<std::string> choices;  // by variable: its names separated by commas
    for (const Variable& variable : layout.variables) {
      std::string& list = choices.emplace_back();
      for (const std::string& name : variable.choices) list += (list.empty() ? "" : ", ") + name;
    }
    set_attribute(design, "choices", choices);
  }
  const Handle metrics = open_dataset(file, "/evaluations/metrics");
  set_attribute(metrics, "names", each(layout.metrics, &Quantity::name));
  set_attribute(metrics, "units", each(layout.metrics, &Quantity::unit));
  set_attribute(metrics, "descriptions", each(layout.metrics, &Quantity::description));
  set_attribute(open_dataset(file, "/iterations/diagnostics"), "names", layout.numbers);
  set_attribute(open_dataset(file, "/iterations/candidates"), "names", layout.candidates);
}

void describe_channels(hid_t file, const Layout& layout) {
  const Handle trajectories = open_group(file, "/trajectories");
  set_attribute(trajectories, "names", each(layout.channels, &Channel::name));
  for (const auto& channel : layout.channels) {
    const std::string name = "/trajectories/" + channel.name;
    const Handle dataset = open_dataset(file, name);
    set_attribute(dataset, "names", channel.coordinates);
    set_attribute(dataset, "units", channel.unit);
    set_attribute(dataset, "coordinate_units",
                  channel.units.empty() ? std::vector(channel.coordinates.size(), channel.unit) : channel.units);
    set_attribute(dataset, "description", channel.description);
    if (!channel.segments.empty()) set_attribute(dataset, "segments", channel.segments);
    label(file, name, {"evaluation", "node", "coordinate"});
  }
}

void create_grid(hid_t file, const Layout& layout) {
  const Handle surrogate = open_group(file, "/surrogate");
  set_attribute(surrogate, "grid_points", layout.grid_points);
  if (!has_curve(layout)) return;
  const std::string name = "/surrogate/grid";
  const hsize_t points = static_cast<hsize_t>(layout.grid_points);
  const Handle list = own(H5Pcreate(H5P_DATASET_CREATE), "HDF5");
  check(H5Pset_alloc_time(list, H5D_ALLOC_TIME_EARLY), name);
  check(H5Pset_fill_value(list, H5T_NATIVE_DOUBLE, &not_a_number), name);
  const Handle space = own(H5Screate_simple(1, &points, nullptr), name);
  const Handle grid =
      own(H5Dcreate2(file, name.c_str(), H5T_NATIVE_DOUBLE, space, H5P_DEFAULT, list, H5P_DEFAULT), name);
  set_attribute(grid, "unit", layout.variables.front().unit);
  check(H5DSset_scale(grid, nullptr), name);
  for (const char* curve : {"/surrogate/value", "/surrogate/lower", "/surrogate/upper"}) {
    label(file, curve, {"iteration", "grid"});
    attach_scale(file, curve, name, 1);
  }
}

}  // namespace

void create_layout(const std::string& path, const Contents& contents) {
  const Layout& layout = contents.layout;
  Handle file = create_file(path);
  set_attribute(file, "program", std::string("dodyn"));
  set_attribute(file, "schema", schema_version);
  set_provenance(file, contents.provenance, contents.created);
  for (const Column& reserved : {stop_reason(), ending_name()})
    own(H5Acreate2(file, reserved.path.c_str(), reserved.type, own(H5Screate(H5S_SCALAR), "HDF5"), H5P_DEFAULT,
                   H5P_DEFAULT),
        attribute_text(reserved));
  write_stopped(file, Ending::none, "");

  for (const char* name : {"/evaluations", "/trajectories", "/iterations", "/surrogate", "/events"})
    own(H5Gcreate2(file, name, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), name);
  const Table evaluations = evaluation_table(layout, !contents.sources.empty());
  const Table iterations = iteration_table(layout);
  const Table events = event_table();
  // netCDF finds an enum by the name of its type, so the type comes before the columns that have it.
  for (const Column& column : evaluations)
    if (column.path == "/evaluations/status")
      check(H5Tcommit2(file, "/status", column.type, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), "/status");
  for (const Table* table : {&evaluations, &iterations, &events})
    for (const Column& column : *table) create_dataset(file, column);
  write_files(file, contents.provenance);
  write_sources(file, contents.sources);
  describe_columns(file, layout);
  describe_channels(file, layout);
  create_grid(file, layout);
  create_scales(file, layout, evaluations, iterations, events);
  if (!file.close()) fail("cannot create");
}

void write_grid(hid_t file, const Layout& layout, const Eigen::VectorXd& grid) {
  if (!has_curve(layout) || grid.size() == 0) return;
  if (grid.size() != layout.grid_points)
    throw Error("a surrogate at " + std::to_string(grid.size()) + " points where the archive has room for " +
                std::to_string(layout.grid_points));
  Handle dataset = open_dataset(file, "/surrogate/grid");
  check(H5Dwrite(dataset, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, grid.data()), "/surrogate/grid");
  if (!dataset.close()) fail("cannot write /surrogate/grid");
}

void check_schema(hid_t file) {
  if (H5Aexists(file, "schema") <= 0) throw Error("an HDF5 file, but not a dodyn archive");
  const int schema = integer_attribute(file, "schema");
  if (schema == schema_version) return;
  const std::string found =
      "schema " + std::to_string(schema) + "; this dodyn reads schema " + std::to_string(schema_version);
  if (schema > schema_version) throw Error("written by a newer dodyn: " + found);
  if (schema < 1) throw Error("not a dodyn archive: " + found);
  throw Error("written by an older dodyn: " + found + "; dodyn 0.1.0 of commit " + last_reader_of_older_schemas +
              " reads it, or run the study again");
}

bool is_merged(hid_t file) { return H5Lexists(file, "/sources", H5P_DEFAULT) > 0; }

Layout read_layout(hid_t file) {
  Layout layout;
  const auto same_length = [](const auto& first, const auto&... others) {
    if (((others.size() != first.size()) || ...)) throw Error("not a dodyn archive: names and units differ in number");
    return first.size();
  };
  const Handle design = open_dataset(file, "/evaluations/design");
  const auto names = strings_attribute(design, "names"), units = strings_attribute(design, "units");
  const auto lower = numbers_attribute(design, "lower"), upper = numbers_attribute(design, "upper");
  for (std::size_t i = 0; i < same_length(names, units, lower, upper); ++i)
    layout.variables.push_back({names[i], units[i], lower[i], upper[i]});
  if (H5Aexists(design, "choices") > 0) {
    const auto choices = strings_attribute(design, "choices");
    for (std::size_t i = 0; i < same_length(names, choices); ++i) layout.variables[i].choices = choices_in(choices[i]);
  }

  const Handle metrics = open_dataset(file, "/evaluations/metrics");
  const auto metric_names = strings_attribute(metrics, "names"), metric_units = strings_attribute(metrics, "units"),
             descriptions = strings_attribute(metrics, "descriptions");
  for (std::size_t i = 0; i < same_length(metric_names, metric_units, descriptions); ++i)
    layout.metrics.push_back({metric_names[i], metric_units[i], descriptions[i]});

  hsize_t numbers = 0;  // count of numbers in one trajectory
  for (const auto& name : strings_attribute(open_group(file, "/trajectories"), "names")) {
    const Handle dataset = open_dataset(file, "/trajectories/" + name);
    const auto dimensions = extents(dataset);
    constexpr hsize_t most = 1 << 27;  // numbers of one trajectory, 1 GiB
    if (dimensions.size() != 3 || dimensions[1] == 0 || dimensions[1] > most || dimensions[2] > most / dimensions[1] ||
        (numbers += dimensions[1] * dimensions[2]) > most)
      throw Error("not a dodyn archive: /trajectories/" + name + " has another shape");
    const auto optional = [&](const char* attribute) {
      return H5Aexists(dataset, attribute) > 0 ? strings_attribute(dataset, attribute) : std::vector<std::string>{};
    };
    layout.channels.push_back({name, string_attribute(dataset, "units"), string_attribute(dataset, "description"),
                               static_cast<int>(dimensions[1]), strings_attribute(dataset, "names"),
                               optional("coordinate_units"), optional("segments")});
    const Channel& channel = layout.channels.back();
    if (!channel.units.empty()) same_length(channel.coordinates, channel.units);
    if (channel.coordinates.empty()) throw Error("not a dodyn archive: /trajectories/" + name + " has no coordinates");
  }
  layout.numbers = strings_attribute(open_dataset(file, "/iterations/diagnostics"), "names");
  layout.candidates = strings_attribute(open_dataset(file, "/iterations/candidates"), "names");
  layout.grid_points = integer_attribute(open_group(file, "/surrogate"), "grid_points");
  constexpr int most_points = most_elements;
  if (layout.grid_points < 1 || layout.grid_points > most_points)
    throw Error("not a dodyn archive: attribute 'grid_points' is " + std::to_string(layout.grid_points) +
                "; allowed: 1 to " + std::to_string(most_points));
  return layout;
}

Provenance read_provenance(hid_t object) {
  Provenance provenance;
  provenance.evaluator = string_attribute(object, "evaluator");
  provenance.configuration = parse_configuration(string_attribute(object, "configuration"));
  provenance.given = parse_configuration(string_attribute(object, "given"));
  provenance.folder = string_attribute(object, "folder");
  provenance.program_version = string_attribute(object, "version");
  provenance.git_commit = string_attribute(object, "git_commit");
  provenance.command_line = string_attribute(object, "command_line");
  provenance.host = string_attribute(object, "host");
  provenance.ranks = integer_attribute(object, "ranks");
  provenance.machine = parse_configuration(string_attribute(object, "machine"));
  return provenance;
}

std::vector<Source> read_sources(hid_t file) {
  std::vector<Source> sources;
  if (!is_merged(file)) return sources;
  while (true) {
    const std::string name = "/sources/" + std::to_string(sources.size());
    if (H5Lexists(file, name.c_str(), H5P_DEFAULT) <= 0) return sources;
    const Handle group = open_group(file, name);
    sources.push_back({string_attribute(group, "path"), string_attribute(group, "created"),
                       string_attribute(group, "stop_reason"), read_provenance(group)});
  }
}

Eigen::VectorXd read_grid(hid_t file, const Layout& layout) {
  Eigen::VectorXd grid(has_curve(layout) ? layout.grid_points : 0);
  if (grid.size() == 0) return grid;
  const Handle dataset = open_dataset(file, "/surrogate/grid");
  const Handle type = own(H5Dget_type(dataset), "/surrogate/grid");
  if (extents(dataset) != std::vector<hsize_t>{static_cast<hsize_t>(layout.grid_points)} ||
      H5Tequal(type, H5T_NATIVE_DOUBLE) <= 0)
    throw Error("not a dodyn archive: /surrogate/grid has another shape");
  check(H5Dread(dataset, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, grid.data()), "/surrogate/grid");
  return grid;
}

std::string utc_now() {
  const std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  std::tm parts{};
  ::gmtime_r(&now, &parts);
  char text[32];
  std::strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

void sync(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  const bool done = descriptor >= 0 && ::fsync(descriptor) == 0;
  const int error = errno;
  if (descriptor >= 0) ::close(descriptor);
  if (!done) throw Error("cannot write to disk: " + std::string(std::strerror(error)));
}

void publish(const std::string& name) {
  const std::string path = target_of(name), temporary = path + ".tmp";
  sync(temporary);
  std::error_code error;
  std::filesystem::rename(temporary, path, error);
  if (error) throw Error("cannot rename " + temporary + ": " + error.message());
  const auto directory = std::filesystem::path(path).parent_path();
  sync(directory.empty() ? "." : directory.string());
}

void make_temporary(const std::string& path, std::size_t bytes, const std::function<void(const std::string&)>& action) {
  const std::string temporary = target_of(path) + ".tmp";
  std::error_code ignored;
  std::filesystem::remove(temporary, ignored);
  try {
    reserve(temporary, bytes, true);
    action(temporary);
  } catch (...) {
    std::filesystem::remove(temporary, ignored);
    throw;
  }
}

}  // namespace dodyn::archive
