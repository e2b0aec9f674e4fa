#include "archive/archive.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <iterator>
#include <optional>
#include <thread>

#include "archive/examine.hpp"
#include "archive/holder.hpp"
#include "archive/schema.hpp"
#include "archive/writer_lock.hpp"

namespace dodyn::archive {
namespace {

constexpr std::size_t stop_bytes = 1 << 16;  // bytes that a write of `stop_reason` and `ending` in place can need

// Returns the size against which row counts are checked. It is unlimited for a cleanly closed file, whose counts HDF5
// checks when it opens the file.
std::size_t known_size(const std::string& path) {
  return probe(path) == FileState::closed ? static_cast<std::size_t>(-1) : file_size(path);
}

[[noreturn]] void damaged(const std::string& what, hsize_t row) {
  throw Error("damaged: " + what + " of row " + std::to_string(row) + " does not fit its checksum; dodyn repair " +
              "recovers the others");
}

// Reads rows 0 .. `rows` - 1 in blocks of a few MiB, and calls visit(block, row in the block, row).
template <class Visit>
void for_each_row(hid_t file, std::span<const Column> table, hsize_t rows, Visit&& visit) {
  constexpr std::size_t block_bytes = 8 << 20;
  std::size_t bytes = 1;
  for (const Column& column : table) bytes += column.bytes();
  const hsize_t most = std::max<hsize_t>(1, block_bytes / bytes);
  Block block;
  for (hsize_t first = 0; first < rows; first += most) {
    read_block(file, table, first, std::min(most, rows - first), block);
    for (hsize_t at = 0; at < std::min(most, rows - first); ++at) visit(std::as_const(block), at, first + at);
  }
}

// Reads everything except the rows.
void read_head_of(hid_t file, Contents& contents) {
  contents.schema = schema_version;
  contents.created = string_attribute(file, "created");
  contents.stopped = read_stopped(file);
  contents.ending = read_ending(file);
  contents.provenance = read_provenance(file);
  read_files(file, contents.provenance);
  contents.sources = read_sources(file);
  contents.layout = read_layout(file);
}

// Number and interval of a reader's attempts before it reports rows as lost: during an append the last page of rows may
// not be in the file yet.
constexpr int looks_at_an_append = 20;
constexpr std::chrono::milliseconds between_looks{5};

// Returns the first result of `read(last)`, which may return nothing yet. At the last attempt it returns a result or
// throws.
template <class Read>
auto after_appends(Read&& read) {
  for (int left = looks_at_an_append;; std::this_thread::sleep_for(between_looks))
    if (auto found = read(left-- <= 0)) return std::move(*found);
}

// Reads an archive. Returns nothing if `complete` is true and committed rows are missing in the file. `verified`: the
// checksums of evaluations are not checked. Throws Error if a row is damaged.
std::optional<Contents> read_all(hid_t file, const std::string& path, bool complete, bool verified,
                                 const std::function<void()>& look = {}) {
  Contents contents;
  check_schema(file);
  // Reads iterations first: the evaluations of an existing iteration are then complete. The first columns are those of
  // any layout.
  const Table events = event_table();
  const hsize_t decided = committed(file, iteration_table({}).front());
  const hsize_t evaluated = committed(file, evaluation_table({}, false).front());
  const hsize_t happened = committed(file, events.front());
  read_head_of(file, contents);
  const Layout& layout = contents.layout;
  const std::size_t size = known_size(path);

  const bool merged = !contents.sources.empty();
  const Table iterations = iteration_table(layout), evaluations = evaluation_table(layout, merged);
  const hsize_t whole_iterations = rows_inside(file, iterations, size, decided);
  const hsize_t whole_events = rows_inside(file, events, size, happened);
  const hsize_t rows = rows_inside(file, evaluations, size, evaluated);
  if (complete && (whole_iterations < decided || whole_events < happened || rows < evaluated)) return std::nullopt;

  const Eigen::VectorXd grid = whole_iterations > 0 ? read_grid(file, layout) : Eigen::VectorXd();
  for_each_row(file, iterations, whole_iterations, [&](const Block& decisions, hsize_t at, hsize_t row) {
    if (!fits_checksum(decisions, at)) damaged("the iteration", row);
    const IterationRow iteration = iteration_of(decisions, at, layout, grid);
    contents.n_observed.push_back(iteration.evaluations);
    contents.iterations.push_back(iteration.decided);
  });

  for_each_row(file, events, whole_events, [&](const Block& incidents, hsize_t at, hsize_t row) {
    if (!fits_checksum(incidents, at)) damaged("the event", row);
    contents.events.push_back(event_of(incidents, at));
  });

  contents.evaluations.reserve(rows);
  contents.outcomes.reserve(rows);
  for_each_row(file, fields_of(evaluations, layout), rows, [&](const Block& block, hsize_t at, hsize_t row) {
    if (at == 0 && look) look();
    if (!verified && !fits_checksum(block, at)) damaged("the evaluation", row);
    contents.evaluations.push_back(evaluation_of(block, at));
    contents.outcomes.push_back(outcome_of(block, at));
    if (merged) contents.origins.push_back(origin_of(block, at));
    if (!is_whole(contents, contents.evaluations.size() - 1))
      throw Error("damaged: row " + std::to_string(row) + " is not an evaluation; dodyn repair recovers the others");
  });
  return contents;
}

}  // namespace

Contents read(const std::string& path, const std::function<void()>& look) {
  return on(path, [&] {
    return after_appends(
        [&](bool last) { return read_all(open_to_read(path, false, look), path, !last, false, look); });
  });
}

Contents read_verified(const std::string& path) {
  return on(path,
            [&] { return after_appends([&](bool last) { return read_all(open_to_read(path), path, !last, true); }); });
}

Contents read_head(const std::string& path) {
  return on(path, [&] {
    const Handle file = open_to_read(path);
    check_schema(file);
    Contents contents;
    read_head_of(file, contents);
    return contents;
  });
}

void for_each_trajectory(const std::string& path, std::size_t rows,
                         const std::function<void(std::size_t, Trajectory)>& visit) {
  on(path, [&] {
    const Handle file = open_to_read(path);
    check_schema(file);
    const Layout layout = read_layout(file);
    const Table table = evaluation_table(layout, is_merged(file));
    const Block sums = read_block(file, fields_of(table, layout).subspan(field_count(), 1), 0, rows);
    for_each_row(file, channels_of(table, layout), rows, [&](const Block& block, hsize_t at, hsize_t row) {
      Motion motion = motion_of(block, at);
      if (motion_checksum(sums, row) != motion.checksum) damaged("the trajectory", row);
      visit(row, std::move(motion.trajectory));
    });
  });
}

namespace {

// Returns the trajectory of an evaluation; nothing if the evaluation is not in the file, or not yet.
std::optional<Trajectory> find_trajectory(const std::string& path, std::int64_t id) {
  const Handle file = open_to_read(path);
  check_schema(file);
  const hsize_t rows = committed(file, evaluation_table({}, false).front());
  const Layout layout = read_layout(file);
  const Table table = evaluation_table(layout, is_merged(file));
  const std::size_t size = known_size(path);
  const Bytes bytes = read_rows(file, table.front(), 0, rows_inside(file, {&table.front(), 1}, size, rows));
  const std::span ids(reinterpret_cast<const std::int64_t*>(bytes.data()), bytes.size() / sizeof(std::int64_t));
  const auto found = std::find(ids.rbegin(), ids.rend(), id);
  const auto row = static_cast<hsize_t>(ids.rend() - found) - 1;
  if (found == ids.rend() || rows_inside(file, table, size, row + 1, row) <= row) return std::nullopt;
  Motion motion = motion_at(file, layout, table, row);
  if (!fits_checksum(file, table, row, motion)) damaged("the trajectory", row);
  return std::move(motion.trajectory);
}

}  // namespace

Trajectory read_trajectory(const std::string& path, std::int64_t id) {
  return on(path, [&] {
    return after_appends([&](bool last) {
      auto found = find_trajectory(path, id);
      if (!found && (last || probe(path) == FileState::closed)) throw Error("no evaluation " + std::to_string(id));
      return found;
    });
  });
}

std::map<std::int64_t, std::size_t> latest(const Contents& contents) {
  std::map<std::int64_t, std::size_t> rows;
  for (std::size_t row = 0; row < contents.evaluations.size(); ++row)
    rows.insert_or_assign(rows.end(), contents.evaluations[row].id, row);  // most rows are in the order of their ids
  return rows;
}

struct Archive::File {
  std::string path;
  WriterLock lock;
  Layout layout;
  Table evaluations, iterations, events;
  hsize_t evaluation_rows = 0, iteration_rows = 0, event_rows = 0;
  bool broken = false;  // a write has failed midway: only a resume can find out which rows are valid
  std::chrono::steady_clock::time_point next_sync, next_copy;
  std::string copy;  // path of the copy; empty: none

  explicit File(const std::string& where) : path(where), lock(where) {}

  // Finds the position of the next row. Returns false if the file must be rewritten first: columns differ in length
  // because of rows that were never committed.
  bool open() {
    const Handle file = open_to_read(path);
    check_schema(file);
    if (is_merged(file)) throw Error("a merged archive, which no study can continue; choose another study.archive");
    layout = read_layout(file);
    evaluations = evaluation_table(layout, false);
    iterations = iteration_table(layout);
    events = event_table();
    evaluation_rows = length(file, evaluations.front());
    iteration_rows = length(file, iterations.front());
    event_rows = length(file, events.front());
    const auto even = [&](const Table& table, hsize_t rows) {
      return std::ranges::all_of(table, [&](const Column& column) { return length(file, column) == rows; });
    };
    return even(evaluations, evaluation_rows) && even(iterations, iteration_rows) && even(events, event_rows);
  }

  // Replaces a file that another program had open for writing when it ended by a new file with the same rows. The old
  // file becomes `path`.left-open. Throws Error if a row is damaged.
  void recover_left_open() {
    std::string kept;
    for (int i = 1; kept.empty() || std::filesystem::exists(kept); ++i)
      kept = path + ".left-open" + (i > 1 ? std::to_string(i) : "");
    ExaminedRows sound = examine(open_to_read(path, true));
    if (!sound.findings.problems.empty())
      throw Error("left open by another program, and " + sound.findings.problems.front() +
                  "; dodyn repair recovers the sound rows");
    std::filesystem::create_hard_link(path, kept);
    rewrite(path, path, sound);
    std::fprintf(stderr,
                 "dodyn: %s: another program ended while it had this open for writing; all %zu rows are sound "
                 "and in a new file, the old one is now %s\n",
                 path.c_str(), sound.findings.evaluations, kept.c_str());
  }

  template <class Action>
  void write(std::size_t bytes, Action&& action) {
    on(path, [&] {
      if (broken) throw Error("an earlier write failed; start again to resume from the rows before it");
      if (!std::filesystem::exists(path))
        throw Error(
            "was removed or renamed while this run was writing it; put it back, or choose another study.archive");
      std::optional<AppendLock> alone(std::in_place, path);
      if (wait_for_others(path, 0)) {
        recover_left_open();
        alone.emplace(path);  // the file was replaced
      }
      reserve(path, bytes);
      broken = true;
      Handle file = open_to_append(path);
      action(file);
      if (!file.close()) fail("cannot write");
      broken = false;
      sync_now_and_then();
      copy_now_and_then();
    });
  }

  // Flushes to disk after every append, as long as that takes at most 2 % of the time. A write to a closed file
  // survives a kill anyway; this is for power cuts.
  void sync_now_and_then() {
    using Clock = std::chrono::steady_clock;
    const auto begin = Clock::now();
    if (begin < next_sync) return;
    sync(path);
    const auto end = Clock::now();
    next_sync = end + 50 * (end - begin);
  }

  void copy_now_and_then() {
    using Clock = std::chrono::steady_clock;
    const auto begin = Clock::now();
    if (copy.empty() || begin < next_copy) return;
    std::error_code error;
    const std::string temporary = copy + ".tmp";
    std::filesystem::copy_file(path, temporary, std::filesystem::copy_options::overwrite_existing, error);
    if (!error) std::filesystem::rename(temporary, copy, error);
    if (error) std::filesystem::remove(temporary, error);
    const auto end = Clock::now();
    next_copy = end + 50 * (end - begin);
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
    std::size_t bytes = spare_bytes;
    for (const EmbeddedFile& held : provenance.files) bytes += held.content.size();
    make_temporary(path, bytes, [&](const std::string& temporary) {
      Contents contents;
      contents.layout = layout;
      contents.provenance = provenance;
      contents.created = utc_now();
      create_layout(temporary, contents);
      publish(path);
    });
    file->open();
    return Archive(std::move(file));
  });
}

Archive Archive::resume(const std::string& path) { return resume(path, 0); }

Archive Archive::resume(const std::string& path, std::size_t rows_read) {
  return on(path, [&] {
    // Checks that the file is an archive before the lock file is created, and refuses to continue from damaged rows.
    if (length(open_to_read(path), evaluation_table({}, false).front()) != rows_read || rows_read == 0)
      read_all(open_to_read(path), path, false, false);
    auto file = std::make_unique<File>(path);
    if (wait_for_others(path, 0)) file->recover_left_open();
    if (probe(path) == FileState::marked || !file->open()) {
      ExaminedRows sound = examine(open_to_read(path));
      if (!sound.findings.problems.empty())
        throw Error(sound.findings.problems.front() + "; dodyn repair recovers the sound rows");
      rewrite(path, path, sound);
      file->open();
    }
    bool has_stopped = false;
    {
      const Handle now = open_to_read(path);
      read_ending(now);  // throws before anything is written
      has_stopped = !read_stopped(now).empty();
    }
    if (has_stopped) file->write(stop_bytes, [](hid_t out) { write_stopped(out, Ending::none, ""); });
    return Archive(std::move(file));
  });
}

void Archive::append(std::span<const Outcome> outcomes) {
  std::vector<Row> rows;
  for (const Outcome& outcome : outcomes) rows.push_back(encode(file_->evaluations, file_->layout, outcome));
  file_->append(file_->evaluations, file_->evaluation_rows, rows, {});
}

void Archive::append(const surrogate::Iteration& iteration) {
  const Row row = encode(file_->iterations, file_->layout,
                         IterationRow{static_cast<std::int64_t>(file_->evaluation_rows), iteration});
  file_->append(file_->iterations, file_->iteration_rows, {&row, 1}, iteration.grid);
}

void Archive::append(std::span<const Event> events) {
  std::vector<Row> rows;
  for (const Event& event : events) rows.push_back(encode(file_->events, event));
  file_->append(file_->events, file_->event_rows, rows, {});
}

void Archive::keep_copy(const std::string& path) { file_->copy = path; }

void Archive::stop(Ending ending, const std::string& reason) {
  file_->next_sync = file_->next_copy = {};
  file_->write(stop_bytes, [&](hid_t file) { write_stopped(file, ending, reason); });
}

}  // namespace dodyn::archive
