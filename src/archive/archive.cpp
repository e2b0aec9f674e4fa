// The archive's layout, and how a row gets into it.
//
//   /evaluations/<field>      [n], design, gradient [n, variables], metrics [n, metrics]; NaN where absent
//   /trajectories/<channel>   [n, node, coordinate]; NaN where an evaluation has no motion
//   /iterations/<field>       [m], next [m, variables]; `evaluations`: rows of /evaluations the strategy had been told
//   /surrogate/grid           [g]; value, lower, upper [m, g]: for one free variable
//
// Root attributes: schema, program, version, git_commit, evaluator, configuration, command_line, host, ranks, created,
// stopped.
//
// A row is committed by its first column (`id`, `evaluations`), which is extended last: rows = its length, whatever
// more the other columns hold. Every append opens the file as an SWMR writer and closes it again. Inside, HDF5 orders
// its writes so that a reader, or whoever finds the file after a kill, sees the old or the new state; between appends
// the file is an ordinary closed one, which h5dump and every other tool opens while the study runs.
//
// History of the schema (a reader refuses a newer one)
//   1  first
#include "archive/archive.hpp"

#include <fcntl.h>
#include <hdf5_hl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <optional>
#include <span>

#include "archive/hdf5_file.hpp"
#include "archive/writer_lock.hpp"

namespace dodyn::archive {
namespace {

constexpr int schema_version = 1;
constexpr std::size_t reason_bytes = 256, host_bytes = 64, time_bytes = 32;
constexpr std::size_t spare_bytes = 1 << 20;  // more than the indices and part-filled chunks that one append allocates
constexpr std::size_t stop_bytes = 1 << 16;   // `stopped` is overwritten in place

// Runs an action on the archive at `path`; every Error then begins with the path.
template <class Action>
auto on(const std::string& path, Action&& action) {
  try {
    return action();
  } catch (const Error& error) {
    throw Error(path + ": " + error.what());
  }
}

// ---- columns -------------------------------------------------------------------------------------------------------

using Bytes = std::vector<std::byte>;

// One dataset whose first dimension counts rows.
struct Column {
  std::string path;
  std::string_view unit;
  Handle type;                 // of one element, in the file and in memory
  std::vector<hsize_t> shape;  // of one row: {}, {variables}, {node, coordinate}

  std::size_t elements() const {
    std::size_t product = 1;
    for (const auto extent : shape) product *= extent;
    return product;
  }
  std::size_t bytes() const { return elements() * H5Tget_size(type); }
  bool trajectory() const { return shape.size() == 2; }
  // Trajectories: one row, compressed, written once. The others: about a page of rows, rewritten as it fills.
  hsize_t chunk_rows() const {
    return trajectory() ? 1 : std::max<hsize_t>(1, 4096 / std::max<std::size_t>(1, bytes()));
  }
};

// Columns that grow together; the first one commits a row.
using Table = std::vector<Column>;
// One entry per column; nothing where the fill value (NaN) is to stay.
using Row = std::vector<std::optional<Bytes>>;

struct IterationRow {
  std::int64_t evaluations = 0;
  surrogate::Iteration decided;
};

// The list of fields of /iterations and /surrogate, as dodyn::for_each_field is that of /evaluations.
template <class R, class Visitor>
void for_each_field(R& row, bool curve, Visitor&& visit) {
  visit(Field{"/iterations/evaluations", ""}, row.evaluations);
  visit(Field{"/iterations/best_id", ""}, row.decided.best_id);
  visit(Field{"/iterations/best_cost", "1"}, row.decided.best_cost);
  visit(Field{"/iterations/predicted_cost", "1"}, row.decided.predicted_cost);
  visit(Field{"/iterations/next", ""}, row.decided.next);
  visit(Field{"/iterations/note", ""}, row.decided.note);
  if (!curve) return;
  visit(Field{"/surrogate/value", "1"}, row.decided.value);
  visit(Field{"/surrogate/lower", "1"}, row.decided.lower);
  visit(Field{"/surrogate/upper", "1"}, row.decided.upper);
}

bool has_curve(const Layout& layout) { return layout.variables.size() == 1; }

Handle element_type(std::string_view, const std::int64_t&) { return own(H5Tcopy(H5T_NATIVE_INT64), "HDF5"); }
Handle element_type(std::string_view, const std::uint64_t&) { return own(H5Tcopy(H5T_NATIVE_UINT64), "HDF5"); }
Handle element_type(std::string_view, const std::int32_t&) { return own(H5Tcopy(H5T_NATIVE_INT32), "HDF5"); }
Handle element_type(std::string_view, const double&) { return own(H5Tcopy(H5T_NATIVE_DOUBLE), "HDF5"); }
Handle element_type(std::string_view, const Eigen::VectorXd&) { return own(H5Tcopy(H5T_NATIVE_DOUBLE), "HDF5"); }
Handle element_type(std::string_view name, const std::string&) {
  return string_type(name == "host" ? host_bytes : name == "started" ? time_bytes : reason_bytes);
}
Handle element_type(std::string_view, const Status&) {
  Handle type = own(H5Tenum_create(H5T_NATIVE_INT8), "HDF5");
  for (const Status status : all_statuses)
    check(H5Tenum_insert(type, std::string(to_string(status)).c_str(), &status), "HDF5");
  return type;
}

template <class T>
std::vector<hsize_t> row_shape(std::string_view name, const T&, const Layout& layout) {
  if constexpr (!std::is_same_v<T, Eigen::VectorXd>) return {};
  if (name == "metrics") return {layout.metrics.size()};
  if (name.starts_with("/surrogate/")) return {static_cast<hsize_t>(layout.grid_points)};
  return {layout.variables.size()};
}

Table evaluation_table(const Layout& layout) {
  Table table;
  const Evaluation one;
  for_each_field(one, [&](const Field& field, const auto& value) {
    table.push_back({"/evaluations/" + std::string(field.name), field.unit, element_type(field.name, value),
                     row_shape(field.name, value, layout)});
  });
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
  for_each_field(one, has_curve(layout), [&](const Field& field, const auto& value) {
    table.push_back(
        {std::string(field.name), field.unit, element_type(field.name, value), row_shape(field.name, value, layout)});
  });
  return table;
}

// ---- values to bytes and back --------------------------------------------------------------------------------------

template <class T>
requires std::is_arithmetic_v<T> || std::is_enum_v<T> Bytes encode(const Column&, const T& value) {
  Bytes bytes(sizeof(T));
  std::memcpy(bytes.data(), &value, sizeof(T));
  return bytes;
}

// Cut where it is too long, but never inside a UTF-8 sequence (whose bytes after the first are 10xxxxxx).
Bytes encode(const Column& column, const std::string& text) {
  Bytes bytes(column.bytes());
  std::size_t length = std::min(text.size(), bytes.size());
  if (length < text.size())
    while (length > 0 && (static_cast<unsigned char>(text[length]) & 0xC0) == 0x80) --length;
  std::memcpy(bytes.data(), text.data(), length);
  return bytes;
}

// Row-major numbers; an empty vector or matrix is stored as NaN throughout.
template <class Derived>
Bytes encode(const Column& column, const Eigen::MatrixBase<Derived>& values) {
  const auto elements = static_cast<Eigen::Index>(column.elements());
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
  text.assign(begin, std::find(begin, begin + bytes.size(), '\0'));
}

void decode(const Column& column, std::span<const std::byte> bytes, Eigen::VectorXd& values) {
  values.resize(static_cast<Eigen::Index>(column.elements()));
  if (values.size() > 0) std::memcpy(values.data(), bytes.data(), bytes.size());
  if (values.array().isNaN().all()) values.resize(0);
}

Row encode(const Table& table, const Outcome& outcome) {
  Row row;
  for_each_field(outcome.evaluation,
                 [&](const Field&, const auto& value) { row.emplace_back(encode(table[row.size()], value)); });
  const std::size_t channels = table.size() - row.size();
  if (!outcome.trajectory.empty() && outcome.trajectory.values.size() != channels)
    throw Error("a trajectory of " + std::to_string(outcome.trajectory.values.size()) +
                " channels where the archive has room for " + std::to_string(channels));
  for (const auto& values : outcome.trajectory.values) row.emplace_back(encode(table[row.size()], values));
  row.resize(table.size());
  return row;
}

Row encode(const Table& table, const Layout& layout, const IterationRow& iteration) {
  Row row;
  for_each_field(iteration, has_curve(layout),
                 [&](const Field&, const auto& value) { row.emplace_back(encode(table[row.size()], value)); });
  return row;
}

// ---- datasets ------------------------------------------------------------------------------------------------------

Handle open_dataset(hid_t file, const std::string& path) {
  return own(H5Dopen2(file, path.c_str(), H5P_DEFAULT), path);
}

std::vector<hsize_t> extents(hid_t dataset) {
  const Handle space = own(H5Dget_space(dataset), "dataset");
  std::vector<hsize_t> dimensions(static_cast<std::size_t>(std::max(0, H5Sget_simple_extent_ndims(space))));
  check(H5Sget_simple_extent_dims(space, dimensions.data(), nullptr), "dataset");
  return dimensions;
}

hsize_t length(hid_t file, const Column& column) {
  const auto dimensions = extents(open_dataset(file, column.path));
  if (dimensions.size() != column.shape.size() + 1 ||
      !std::equal(column.shape.begin(), column.shape.end(), dimensions.begin() + 1))
    throw Error("not a dodyn archive: " + column.path + " has another shape");
  return dimensions.front();
}

void create_dataset(hid_t file, const Column& column) {
  std::vector<hsize_t> now{0}, limit{H5S_UNLIMITED}, chunk{column.chunk_rows()};
  for (const auto extent : column.shape) {
    now.push_back(extent);
    limit.push_back(std::max<hsize_t>(extent, 1));  // a chunk has at least one element, also where there are no metrics
    chunk.push_back(limit.back());
  }
  const Handle space = own(H5Screate_simple(static_cast<int>(now.size()), now.data(), limit.data()), column.path);
  const Handle list = own(H5Pcreate(H5P_DATASET_CREATE), "HDF5");
  check(H5Pset_chunk(list, static_cast<int>(chunk.size()), chunk.data()), column.path);
  check(H5Pset_obj_track_times(list, false), column.path);
  if (column.trajectory()) {
    check(H5Pset_shuffle(list), column.path);
    check(H5Pset_deflate(list, 4), column.path);
  }
  if (H5Tget_class(column.type) == H5T_FLOAT)
    check(H5Pset_fill_value(list, H5T_NATIVE_DOUBLE, &not_a_number), column.path);
  const Handle dataset =
      own(H5Dcreate2(file, column.path.c_str(), column.type, space, H5P_DEFAULT, list, H5P_DEFAULT), column.path);
  if (!column.unit.empty()) set_attribute(dataset, "unit", std::string(column.unit));
}

// Extends the column to `first` + n rows and fills the last n with cell `c` of each of the `rows`.
void write_cells(hid_t file, const Column& column, hsize_t first, std::span<const Row> rows, std::size_t c) {
  Handle dataset = open_dataset(file, column.path);
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
    const Handle source = own(H5Screate_simple(static_cast<int>(count.size()), count.data(), nullptr), column.path);
    check(H5Dwrite(dataset, column.type, source, space, H5P_DEFAULT, data), column.path);
  };
  if (column.bytes() > 0 && column.chunk_rows() > 1) {
    Bytes block;
    for (const Row& row : rows) block.insert(block.end(), row[c]->begin(), row[c]->end());
    write(block.data());
  } else {  // one chunk a row, left out where there is nothing to put there
    count[0] = 1;
    for (const Row& row : rows) {
      if (row[c] && !row[c]->empty()) write(row[c]->data());
      ++start[0];
    }
  }
  if (!dataset.close()) fail("cannot write " + column.path);  // this is when the chunks go to the file
}

void write_rows(hid_t file, const Table& table, hsize_t first, std::span<const Row> rows) {
  for (std::size_t c = 1; c < table.size(); ++c) write_cells(file, table[c], first, rows, c);
  check(H5Fflush(file, H5F_SCOPE_LOCAL), "flush");
  write_cells(file, table.front(), first, rows, 0);
}

Bytes read_rows(hid_t file, const Column& column, hsize_t first, hsize_t rows) {
  const Handle dataset = open_dataset(file, column.path);
  Bytes bytes(column.bytes() * rows);
  if (bytes.empty()) return bytes;
  std::vector<hsize_t> start{first}, count{rows};
  for (const auto extent : column.shape) {
    start.push_back(0);
    count.push_back(extent);
  }
  const Handle source = own(H5Dget_space(dataset), column.path);
  check(H5Sselect_hyperslab(source, H5S_SELECT_SET, start.data(), nullptr, count.data(), nullptr), column.path);
  const Handle target = own(H5Screate_simple(static_cast<int>(count.size()), count.data(), nullptr), column.path);
  check(H5Dread(dataset, column.type, target, source, H5P_DEFAULT, bytes.data()), column.path);
  return bytes;
}

// Rows committed in a table whose first column is at `path`. A reader asks this before it opens other columns, which
// are then at least as long: an open dataset stays as it was when it was opened.
hsize_t committed(hid_t file, const std::string& path) { return extents(open_dataset(file, path)).at(0); }

// How many of the first `rows` rows lie inside the file. Beyond the end HDF5 reads zeros, and the end-of-file address,
// by which a closed file is checked, is out of date while a file is open.
hsize_t rows_inside(hid_t file, const std::string& path, std::span<const Column> columns, hsize_t rows,
                    hsize_t first = 0) {
  if (probe(path) == Condition::closed) return rows;
  const auto size = file_size(path);
  for (const Column& column : columns) {
    const Handle dataset = open_dataset(file, column.path);
    const Handle list = own(H5Dget_create_plist(dataset), column.path);
    std::vector<hsize_t> chunk(column.shape.size() + 1), offset(chunk.size(), 0);
    if (H5Pget_chunk(list, static_cast<int>(chunk.size()), chunk.data()) < 1) fail(column.path);
    if (column.elements() == 0) continue;
    for (offset[0] = first / chunk[0] * chunk[0]; offset[0] < rows; offset[0] += chunk[0]) {
      unsigned filters = 0;
      haddr_t address = HADDR_UNDEF;
      hsize_t bytes = 0;
      check(H5Dget_chunk_info_by_coord(dataset, offset.data(), &filters, &address, &bytes), column.path);
      if (address != HADDR_UNDEF && address + bytes > size) rows = offset[0];
    }
  }
  return rows;
}

// Calls visit(i, get) for each row i, where get(c, value) decodes column c.
template <class Visit>
void read_table(hid_t file, std::span<const Column> table, hsize_t rows, Visit&& visit) {
  std::vector<Bytes> columns;
  for (const Column& column : table) columns.push_back(read_rows(file, column, 0, rows));
  for (hsize_t i = 0; i < rows; ++i)
    visit(i, [&](std::size_t c, auto& value) {
      const std::size_t bytes = table[c].bytes();
      decode(table[c], std::span(columns[c]).subspan(i * bytes, bytes), value);
    });
}

Trajectory trajectory_at(hid_t file, const Layout& layout, const Table& table, hsize_t row) {
  using RowMajor = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  Trajectory trajectory;
  bool present = false;
  const auto fields = table.size() - layout.channels.size();
  for (const Column& column : std::span(table).subspan(fields)) {
    const Bytes bytes = read_rows(file, column, row, 1);
    trajectory.values.push_back(Eigen::Map<const RowMajor>(reinterpret_cast<const double*>(bytes.data()),
                                                           static_cast<Eigen::Index>(column.shape[0]),
                                                           static_cast<Eigen::Index>(column.shape[1])));
    present = present || !trajectory.values.back().array().isNaN().all();
  }
  return present ? trajectory : Trajectory{};
}

// ---- the configuration as text -------------------------------------------------------------------------------------

// "key = value" per line; a backslash protects itself, line ends, and an equals sign in a key.
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
      key = word.substr(0, word.size() - 1);  // the spaces beside the equals sign are not part of key and value
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

std::string utc_now() {
  const std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  std::tm parts{};
  ::gmtime_r(&now, &parts);
  char text[32];
  std::strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

template <class Item, class Member>
auto each(const std::vector<Item>& items, Member Item::*member) {
  std::vector<Member> values;
  for (const auto& item : items) values.push_back(item.*member);
  return values;
}

void write_stopped(hid_t file, const std::string& reason) {
  const Column text{"stopped", "", string_type(reason_bytes), {}};
  const Handle attribute = own(H5Aopen(file, "stopped", H5P_DEFAULT), "attribute 'stopped'");
  check(H5Awrite(attribute, text.type, encode(text, reason).data()), "attribute 'stopped'");
}

std::string read_stopped(hid_t file) {
  const Column text{"stopped", "", string_type(reason_bytes), {}};
  const Handle attribute = own(H5Aopen(file, "stopped", H5P_DEFAULT), "attribute 'stopped'");
  Bytes bytes(reason_bytes);
  check(H5Aread(attribute, text.type, bytes.data()), "attribute 'stopped'");
  std::string reason;
  decode(text, bytes, reason);
  return reason;
}

void label(hid_t file, const std::string& path, std::initializer_list<const char*> dimensions) {
  const Handle dataset = open_dataset(file, path);
  unsigned i = 0;
  for (const char* name : dimensions) check(H5DSset_label(dataset, i++, name), path);
}

// The scale gives dimension `dimension` of the dataset its coordinate values.
void attach_scale(hid_t file, const std::string& path, const std::string& scale, unsigned dimension) {
  check(H5DSattach_scale(open_dataset(file, path), open_dataset(file, scale), dimension), path);
}

// Creates all groups, datasets and attributes: SWMR allows no new ones later.
void create_layout(const std::string& path, const Layout& layout, const Provenance& provenance,
                   const std::string& created) {
  Handle file = create_file(path);
  set_attribute(file, "program", std::string("dodyn"));
  set_attribute(file, "schema", schema_version);
  set_attribute(file, "version", provenance.program_version);
  set_attribute(file, "git_commit", provenance.git_commit);
  set_attribute(file, "evaluator", provenance.evaluator);
  set_attribute(file, "configuration", configuration_text(provenance.configuration));
  set_attribute(file, "command_line", provenance.command_line);
  set_attribute(file, "host", provenance.host);
  set_attribute(file, "ranks", provenance.ranks);
  set_attribute(file, "created", created);
  own(H5Acreate2(file, "stopped", string_type(reason_bytes), own(H5Screate(H5S_SCALAR), "HDF5"), H5P_DEFAULT,
                 H5P_DEFAULT),
      "attribute 'stopped'");
  write_stopped(file, "");

  for (const char* name : {"/evaluations", "/trajectories", "/iterations", "/surrogate"})
    own(H5Gcreate2(file, name, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), name);
  for (const Column& column : evaluation_table(layout)) create_dataset(file, column);
  for (const Column& column : iteration_table(layout)) create_dataset(file, column);

  for (const char* name : {"/evaluations/design", "/evaluations/gradient", "/iterations/next"}) {
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
  const Handle metrics = open_dataset(file, "/evaluations/metrics");
  set_attribute(metrics, "names", each(layout.metrics, &Quantity::name));
  set_attribute(metrics, "units", each(layout.metrics, &Quantity::unit));
  set_attribute(metrics, "descriptions", each(layout.metrics, &Quantity::description));

  const Handle trajectories = own(H5Gopen2(file, "/trajectories", H5P_DEFAULT), "/trajectories");
  set_attribute(trajectories, "names", each(layout.channels, &Channel::name));
  check(H5DSset_scale(open_dataset(file, "/evaluations/id"), "evaluation"), "/evaluations/id");
  for (const auto& channel : layout.channels) {
    const std::string name = "/trajectories/" + channel.name;
    const Handle dataset = open_dataset(file, name);
    set_attribute(dataset, "names", channel.coordinates);
    set_attribute(dataset, "units", channel.unit);
    set_attribute(dataset, "description", channel.description);
    label(file, name, {"evaluation", "node", "coordinate"});
    attach_scale(file, name, "/evaluations/id", 0);
  }

  const Handle surrogate = own(H5Gopen2(file, "/surrogate", H5P_DEFAULT), "/surrogate");
  set_attribute(surrogate, "grid_points", layout.grid_points);
  if (has_curve(layout)) {
    const std::string name = "/surrogate/grid";
    const hsize_t points = static_cast<hsize_t>(layout.grid_points);
    const Handle list = own(H5Pcreate(H5P_DATASET_CREATE), "HDF5");
    check(H5Pset_alloc_time(list, H5D_ALLOC_TIME_EARLY), name);
    check(H5Pset_fill_value(list, H5T_NATIVE_DOUBLE, &not_a_number), name);
    const Handle space = own(H5Screate_simple(1, &points, nullptr), name);
    const Handle grid =
        own(H5Dcreate2(file, name.c_str(), H5T_NATIVE_DOUBLE, space, H5P_DEFAULT, list, H5P_DEFAULT), name);
    set_attribute(grid, "unit", layout.variables.front().unit);
    check(H5DSset_scale(grid, layout.variables.front().name.c_str()), name);
    for (const char* curve : {"/surrogate/value", "/surrogate/lower", "/surrogate/upper"}) {
      label(file, curve, {"iteration", "grid"});
      attach_scale(file, curve, name, 1);
    }
  }
  if (!file.close()) fail("cannot create");
}

// Where the strategy puts its grid is its own business; all iterations share it, so each writes the same.
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
  if (schema > schema_version)
    throw Error("written by a newer dodyn: schema " + std::to_string(schema) + ", this one reads up to " +
                std::to_string(schema_version));
  if (schema < 1) throw Error("not a dodyn archive: schema " + std::to_string(schema));
}

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

  const Handle metrics = open_dataset(file, "/evaluations/metrics");
  const auto metric_names = strings_attribute(metrics, "names"), metric_units = strings_attribute(metrics, "units"),
             descriptions = strings_attribute(metrics, "descriptions");
  for (std::size_t i = 0; i < same_length(metric_names, metric_units, descriptions); ++i)
    layout.metrics.push_back({metric_names[i], metric_units[i], descriptions[i]});

  for (const auto& name :
       strings_attribute(own(H5Gopen2(file, "/trajectories", H5P_DEFAULT), "/trajectories"), "names")) {
    const Handle dataset = open_dataset(file, "/trajectories/" + name);
    const auto dimensions = extents(dataset);
    if (dimensions.size() != 3) throw Error("not a dodyn archive: /trajectories/" + name + " has another shape");
    layout.channels.push_back({name, string_attribute(dataset, "units"), string_attribute(dataset, "description"),
                               static_cast<int>(dimensions[1]), strings_attribute(dataset, "names")});
  }
  layout.grid_points = integer_attribute(own(H5Gopen2(file, "/surrogate", H5P_DEFAULT), "/surrogate"), "grid_points");
  return layout;
}

struct Everything {
  Contents contents;
  std::vector<IterationRow> iterations;  // with what Contents leaves out
};

Everything read_all(hid_t file, const std::string& path) {
  check_schema(file);
  // Iterations first: an iteration that is there has its evaluations there.
  const hsize_t decided = committed(file, "/iterations/evaluations");
  const hsize_t evaluated = committed(file, "/evaluations/id");
  Everything all;
  Contents& contents = all.contents;
  contents.schema = integer_attribute(file, "schema");
  contents.created = string_attribute(file, "created");
  contents.stopped = read_stopped(file);
  Provenance& provenance = contents.provenance;
  provenance.evaluator = string_attribute(file, "evaluator");
  provenance.configuration = parse_configuration(string_attribute(file, "configuration"));
  provenance.program_version = string_attribute(file, "version");
  provenance.git_commit = string_attribute(file, "git_commit");
  provenance.command_line = string_attribute(file, "command_line");
  provenance.host = string_attribute(file, "host");
  provenance.ranks = integer_attribute(file, "ranks");
  const Layout& layout = contents.layout = read_layout(file);

  const Table iterations = iteration_table(layout);
  all.iterations.resize(rows_inside(file, path, iterations, decided));
  Eigen::VectorXd grid(layout.grid_points);
  if (has_curve(layout) && !all.iterations.empty())
    check(H5Dread(open_dataset(file, "/surrogate/grid"), H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, grid.data()),
          "/surrogate/grid");
  read_table(file, iterations, all.iterations.size(), [&](hsize_t i, auto&& get) {
    std::size_t c = 0;
    for_each_field(all.iterations[i], has_curve(layout), [&](const Field&, auto& value) { get(c++, value); });
    if (all.iterations[i].decided.value.size() > 0) all.iterations[i].decided.grid = grid;
  });
  for (const auto& row : all.iterations) contents.iterations.push_back(row.decided);

  const Table evaluations = evaluation_table(layout);
  const std::span fields = std::span(evaluations).first(evaluations.size() - layout.channels.size());
  contents.evaluations.resize(rows_inside(file, path, evaluations, evaluated));
  read_table(file, fields, contents.evaluations.size(), [&](hsize_t i, auto&& get) {
    std::size_t c = 0;
    for_each_field(contents.evaluations[i], [&](const Field&, auto& value) { get(c++, value); });
  });
  return all;
}

void sync(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  const bool done = descriptor >= 0 && ::fsync(descriptor) == 0;
  const int error = errno;
  if (descriptor >= 0) ::close(descriptor);
  if (!done) throw Error("cannot write to disk: " + std::string(std::strerror(error)));
}

// Puts a finished `path`.tmp in the place of `path`, so that at no moment there is half a file of that name.
void publish(const std::string& path) {
  const std::string temporary = path + ".tmp";
  sync(temporary);
  std::error_code error;
  std::filesystem::rename(temporary, path, error);
  if (error) throw Error("cannot rename " + temporary + ": " + error.message());
  const auto directory = std::filesystem::path(path).parent_path();
  sync(directory.empty() ? "." : directory.string());
}

// Runs an action that makes `path`.tmp; leaves none behind where it fails.
template <class Action>
void make_temporary(const std::string& path, std::size_t bytes, Action&& action) {
  const std::string temporary = path + ".tmp";
  std::error_code ignored;
  std::filesystem::remove(temporary, ignored);
  try {
    reserve(temporary, bytes);
    action(temporary);
  } catch (...) {
    std::filesystem::remove(temporary, ignored);
    throw;
  }
}

// Copies the whole rows of a file that a killed process left behind.
void recover(const std::string& path) {
  const Handle old = open_to_read(path);
  const Everything all = read_all(old, path);
  const Layout& layout = all.contents.layout;
  make_temporary(path, file_size(path) + spare_bytes, [&](const std::string& temporary) {
    create_layout(temporary, layout, all.contents.provenance, all.contents.created);
    reserve(temporary, file_size(path) + spare_bytes);
    Handle file = open_to_append(temporary);
    const Table evaluations = evaluation_table(layout), iterations = iteration_table(layout);
    hsize_t row = 0;
    for (const Evaluation& evaluation : all.contents.evaluations) {
      const Row cells = encode(evaluations, {evaluation, trajectory_at(old, layout, evaluations, row)});
      write_rows(file, evaluations, row++, {&cells, 1});
    }
    row = 0;
    for (const IterationRow& iteration : all.iterations) {
      const Row cells = encode(iterations, layout, iteration);
      write_rows(file, iterations, row++, {&cells, 1});
      write_grid(file, layout, iteration.decided.grid);
    }
    if (!file.close()) fail("cannot write " + temporary);
    publish(path);
  });
}

}  // namespace

Contents read(const std::string& path) {
  return on(path, [&] { return read_all(open_to_read(path), path).contents; });
}

Trajectory read_trajectory(const std::string& path, std::int64_t id) {
  return on(path, [&] {
    const Handle file = open_to_read(path);
    check_schema(file);
    const hsize_t rows = committed(file, "/evaluations/id");
    const Layout layout = read_layout(file);
    const Table table = evaluation_table(layout);
    const Bytes ids = read_rows(file, table.front(), 0, rows_inside(file, path, std::span(table).first(1), rows));
    const auto* begin = reinterpret_cast<const std::int64_t*>(ids.data());
    const auto* end = begin + ids.size() / sizeof(std::int64_t);
    const auto* found = std::find(begin, end, id);
    const auto row = static_cast<hsize_t>(found - begin);
    if (found == end || rows_inside(file, path, table, row + 1, row) <= row)
      throw Error("no evaluation " + std::to_string(id));
    return trajectory_at(file, layout, table, row);
  });
}

struct Archive::File {
  std::string path;
  WriterLock lock;
  Layout layout;
  Table evaluations, iterations;
  hsize_t evaluation_rows = 0, iteration_rows = 0;
  bool broken = false;  // a write failed midway: only a resume can tell what the file holds

  explicit File(const std::string& where) : path(where), lock(where) {}

  // Reads where to go on. False where columns differ in length: rows that were never committed.
  bool open() {
    const Handle file = open_to_read(path);
    layout = read_layout(file);
    evaluations = evaluation_table(layout);
    iterations = iteration_table(layout);
    evaluation_rows = length(file, evaluations.front());
    iteration_rows = length(file, iterations.front());
    const auto even = [&](const Table& table, hsize_t rows) {
      return std::all_of(table.begin(), table.end(),
                         [&](const Column& column) { return length(file, column) == rows; });
    };
    return even(evaluations, evaluation_rows) && even(iterations, iteration_rows);
  }

  template <class Action>
  void write(std::size_t bytes, Action&& action) {
    on(path, [&] {
      if (broken) throw Error("an earlier write failed; start again to resume from the rows before it");
      reserve(path, bytes);
      broken = true;
      Handle file = open_to_append(path);
      action(file);
      if (!file.close()) fail("cannot write");
      broken = false;
    });
  }

  void append(const Table& table, hsize_t& length, std::span<const Row> rows, const Eigen::VectorXd& grid) {
    if (rows.empty()) return;
    std::size_t bytes = spare_bytes;
    for (const Column& column : table) bytes += rows.size() * column.bytes();
    write(bytes, [&](hid_t file) {
      write_grid(file, layout, grid);
      write_rows(file, table, length, rows);
    });
    length += rows.size();
  }
};

Archive::Archive(std::unique_ptr<File> file) : file_(std::move(file)) {}
Archive::Archive(Archive&&) noexcept = default;
Archive& Archive::operator=(Archive&&) noexcept = default;
Archive::~Archive() = default;

Archive Archive::create(const std::string& path, const Layout& layout, const Provenance& provenance) {
  return on(path, [&] {
    auto file = std::make_unique<File>(path);
    if (std::filesystem::exists(path)) throw Error("exists already");
    make_temporary(path, spare_bytes, [&](const std::string& temporary) {
      create_layout(temporary, layout, provenance, utc_now());
      publish(path);
    });
    file->open();
    return Archive(std::move(file));
  });
}

Archive Archive::resume(const std::string& path) {
  return on(path, [&] {
    check_schema(open_to_read(path));  // before the lock leaves its mark beside something that is no archive
    auto file = std::make_unique<File>(path);
    if (probe(path) == Condition::marked || !file->open()) {
      recover(path);
      file->open();
    }
    if (!read_stopped(open_to_read(path)).empty()) file->write(stop_bytes, [](hid_t out) { write_stopped(out, ""); });
    return Archive(std::move(file));
  });
}

void Archive::append(std::span<const Outcome> outcomes) {
  std::vector<Row> rows;
  for (const Outcome& outcome : outcomes) rows.push_back(encode(file_->evaluations, outcome));
  file_->append(file_->evaluations, file_->evaluation_rows, rows, {});
}

void Archive::append(const surrogate::Iteration& iteration) {
  const Row row = encode(file_->iterations, file_->layout,
                         IterationRow{static_cast<std::int64_t>(file_->evaluation_rows), iteration});
  file_->append(file_->iterations, file_->iteration_rows, {&row, 1}, iteration.grid);
}

void Archive::stop(const std::string& reason) {
  file_->write(stop_bytes, [&](hid_t file) { write_stopped(file, reason); });
}

}  // namespace dodyn::archive
