#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <optional>

#include "archive/archive.hpp"
#include "archive/examine.hpp"
#include "archive/schema.hpp"
#include "archive/writer_lock.hpp"

namespace dodyn::archive {
namespace {

constexpr hsize_t group_rows = 64;  // number of rows written or checked together

// Returns the index of the checksum column, which is the number of columns that it covers.
std::size_t checksum_column(std::span<const Column> table) {
  const auto found =
      std::ranges::find_if(table, [](const Column& column) { return column.path.ends_with("/checksum"); });
  return static_cast<std::size_t>(found - table.begin());
}

template <class T>
T value_at(std::span<const std::byte> cell, std::size_t i = 0) {
  T value;
  std::memcpy(&value, cell.data() + i * sizeof(T), sizeof(T));
  return value;
}

// Formats row numbers: "17", "3, 4, 9", "0, 1, 2, 3, 4, 5, 6, 7, ... (40 in all)"
std::string list(const std::vector<hsize_t>& rows) {
  std::string text;
  for (std::size_t i = 0; i < std::min<std::size_t>(rows.size(), 8); ++i)
    text += (i ? ", " : "") + std::to_string(rows[i]);
  return rows.size() > 8 ? text + ", ... (" + std::to_string(rows.size()) + " in all)" : text;
}

// Runs visit(block, row of the block, row of the table) for each readable row; appends the unreadable rows to `lost`.
template <class Visit>
void for_each_readable(hid_t file, std::span<const Column> table, hsize_t rows, std::vector<hsize_t>& lost,
                       Visit&& visit) {
  const auto readable = [&](hsize_t first, hsize_t count) {
    try {
      return std::optional(read_block(file, table, first, count));
    } catch (const Error&) {
      return std::optional<Block>();
    }
  };
  for (hsize_t first = 0; first < rows; first += group_rows) {
    const hsize_t count = std::min(group_rows, rows - first);
    const auto group = readable(first, count);
    for (hsize_t i = 0; i < count; ++i) {
      const auto single = group ? std::nullopt : readable(first + i, 1);
      if (group || single)
        visit(group ? *group : *single, group ? i : 0, first + i);
      else
        lost.push_back(first + i);
    }
  }
}

bool known(Status status) {
  return std::find(std::begin(all_statuses), std::end(all_statuses), status) != std::end(all_statuses);
}

// Runs an action and appends its Error to `problems`: rows are recovered even if attributes or the grid are damaged.
template <class Action>
void try_to(std::vector<std::string>& problems, Action&& action) {
  try {
    action();
  } catch (const Error& error) {
    problems.push_back(error.what());
  }
}

// Finds contradictions between rows, which checksums do not reveal.
void look_for_contradictions(const ExaminedRows& sound, Findings& findings) {
  const Contents& contents = sound.contents;
  const auto& evaluations = contents.evaluations;
  std::map<std::int64_t, std::size_t> first;
  std::size_t again = 0;
  const auto problem = [&](std::size_t i, const std::string& what) {
    findings.problems.push_back("row " + std::to_string(sound.rows[i]) + " (evaluation " +
                                std::to_string(evaluations[i].id) + "): " + what);
  };
  for (std::size_t i = 0; i < evaluations.size(); ++i) {
    const Evaluation& e = evaluations[i];
    const auto [earlier, is_new] = first.try_emplace(e.id, i);
    again += !is_new;
    const Evaluation& before = evaluations[earlier->second];
    if (before.design != e.design || before.seed != e.seed)
      problem(i, "another design or seed than row " + std::to_string(sound.rows[earlier->second]) + " has for this id");
    for (std::size_t v = 0; v < contents.layout.variables.size(); ++v) {
      const Variable& variable = contents.layout.variables[v];
      const double value = e.design.size() > 0 ? e.design(v) : not_a_number;
      if (!(value >= variable.lower && value <= variable.upper))
        problem(i, "design." + variable.name + " = " + std::to_string(value) + " outside its range");
    }
    if (e.ok() && !std::isfinite(e.cost)) problem(i, "status ok, but no cost");
    if (!(e.seconds >= 0)) problem(i, "negative seconds");
  }
  const auto missing = [&](std::int64_t id) { return id >= 0 && !first.contains(id); };
  for (std::size_t i = 0; i < evaluations.size(); ++i)
    if (missing(evaluations[i].parent))
      findings.notes.push_back("evaluation " + std::to_string(evaluations[i].id) + ": its parent, evaluation " +
                               std::to_string(evaluations[i].parent) + ", is not here");
  for (std::size_t i = 0; i < contents.iterations.size(); ++i) {
    if (missing(contents.iterations[i].best_id))
      findings.notes.push_back("iteration " + std::to_string(i) + ": its best, evaluation " +
                               std::to_string(contents.iterations[i].best_id) + ", is not here");
    if (contents.n_observed[i] < (i ? contents.n_observed[i - 1] : 0) ||
        contents.n_observed[i] > static_cast<std::int64_t>(evaluations.size()))
      findings.problems.push_back("iteration " + std::to_string(i) + ": had " + std::to_string(contents.n_observed[i]) +
                                  " rows of evaluations, which cannot be");
  }
  if (again > 0) findings.notes.push_back(std::to_string(again) + " rows are later attempts of an evaluation");
}

// Opens a damaged file. If it is truncated, opens a copy at `copy` that is filled with zeros.
Handle open_damaged(const std::string& path, const std::string& copy) {
  try {
    return open_to_read(path, true);
  } catch (const Error&) {
    const std::size_t end = stored_size(path);
    if (end <= file_size(path)) throw;
    std::filesystem::copy_file(path, copy, std::filesystem::copy_options::overwrite_existing);
    std::error_code error;
    std::filesystem::resize_file(copy, end, error);
    if (error) throw;
    return open_to_read(copy);
  }
}

// Returns the message about a file from which no row can be recovered.
std::string beyond_repair(const std::string& path, const std::string& why) {
  if (why.starts_with("written by")) return why;  // another schema is no damage
  const std::string remedy = "no row can be recovered: restore a copy, or run the study again";
  const std::size_t left = file_size(path);
  return left < stored_size(path) ? "truncated: " + std::to_string(left) + " bytes are left; " + remedy
                                  : why + "; if it is a damaged archive, " + remedy;
}

// Removes the file `path` when the object goes out of scope.
struct TemporaryFile {
  std::string path;
  ~TemporaryFile() {
    std::error_code ignored;
    std::filesystem::remove(path, ignored);
  }
};

}  // namespace

bool is_whole(const Contents& contents, std::size_t row) {
  const Evaluation& e = contents.evaluations[row];
  const std::size_t sources = contents.sources.size();
  const bool has_source =
      sources == 0 || (contents.origins[row] >= 0 && static_cast<std::size_t>(contents.origins[row]) < sources);
  return e.id >= 0 && known(e.status) && has_source &&
         e.design.size() == static_cast<Eigen::Index>(contents.layout.variables.size());
}

bool fits_checksum(const Block& block, hsize_t row) {
  const std::size_t c = checksum_column(block.table);
  const auto sums = block.cell(row, c);
  return value_at<std::uint32_t>(sums) == block.checksum(row, 0, c) &&
         (sums.size() < sizeof(Checksums) ||
          value_at<std::uint32_t>(sums, 2) == block.outcome_checksum(row, value_at<std::uint32_t>(sums, 1)));
}

bool fits_checksum(hid_t file, const Table& table, hsize_t row, const Motion& motion) {
  return value_at<std::uint32_t>(read_rows(file, table[checksum_column(table)], row, 1), 1) == motion.checksum;
}

std::uint32_t motion_checksum(const Block& block, hsize_t row) {
  return value_at<std::uint32_t>(block.cell(row, checksum_column(block.table)), 1);
}

std::uint32_t outcome_of(const Block& block, hsize_t row) {
  return value_at<std::uint32_t>(block.cell(row, checksum_column(block.table)), 2);
}

std::int32_t origin_of(const Block& block, hsize_t row) {
  return value_at<std::int32_t>(block.cell(row, checksum_column(block.table) + 1));
}

namespace {

// The examination of an archive: its sound rows, and findings about the damaged ones.
struct Examination {
  hid_t file;
  ExaminedRows sound = {};
  Contents& contents = sound.contents;
  Findings& findings = sound.findings;
  Layout& layout = contents.layout;
  bool merged = false;
  Table evaluations = {}, iterations = {}, events = {};
  hsize_t evaluated = 0, decided = 0, happened = 0;  // numbers of complete rows of evaluations, iterations and events
  std::vector<std::uint32_t> motion_checksums = {};  // by evaluation: checksum of the trajectory that the row states

  explicit Examination(hid_t opened) : file(opened) {}
  void complain(const std::string& what) { findings.problems.push_back(what); }

  void read_head() {
    check_schema(file);
    contents.schema = schema_version;
    layout = read_layout(file);
    merged = is_merged(file);
    evaluations = evaluation_table(layout, merged);
    iterations = iteration_table(layout);
    events = event_table();
    decided = length(file, iterations.front());
    evaluated = length(file, evaluations.front());
    happened = length(file, events.front());
    for (const Table* table : {&evaluations, &iterations, &events}) committed(file, table->front());
    auto& problems = findings.problems;
    try_to(problems, [&] { contents.created = string_attribute(file, "created"); });
    try_to(problems, [&] { contents.stopped = read_stopped(file); });
    try_to(problems, [&] { contents.ending = read_ending(file); });
    try_to(problems, [&] { contents.provenance = read_provenance(file); });
    try_to(problems, [&] { read_files(file, contents.provenance); });
    if (merged) contents.sources = read_sources(file);
  }

  void compare_lengths() {
    hsize_t longest = evaluated;
    for (const auto& [table, rows] : {std::pair(&evaluations, evaluated), {&iterations, decided}, {&events, happened}})
      for (const Column& column : *table)
        try_to(findings.problems, [&, table = table, rows = rows] {
          const hsize_t n = length(file, column);
          if (table == &evaluations) longest = std::max(longest, n);
          if (n < rows) throw Error(column.path + ": " + std::to_string(n) + " of " + std::to_string(rows) + " rows");
        });
    if (longest > evaluated)
      findings.notes.push_back(std::to_string(longest - evaluated) +
                               " incomplete rows (the process was killed while it wrote them)");
  }

  void read_evaluations() {
    std::vector<hsize_t> lost;
    for_each_readable(file, fields_of(evaluations, layout), evaluated, lost,
                      [&](const Block& block, hsize_t i, hsize_t row) {
                        contents.evaluations.push_back(evaluation_of(block, i));
                        if (merged) contents.origins.push_back(origin_of(block, i));
                        if (fits_checksum(block, i) && is_whole(contents, contents.evaluations.size() - 1)) {
                          sound.rows.push_back(row);
                          motion_checksums.push_back(motion_checksum(block, i));
                          return;
                        }
                        contents.evaluations.pop_back();
                        if (merged) contents.origins.pop_back();
                        lost.push_back(row);
                      });
    if (!lost.empty()) complain("/evaluations: damaged rows: " + list(lost));
    findings.evaluations = contents.evaluations.size();
  }

  // Reads the trajectories of the sound rows, and checks them.
  void read_trajectories() {
    sound.has_path.assign(sound.rows.size(), false);
    std::vector<hsize_t> unreadable, lost;
    for_each_readable(file, channels_of(evaluations, layout), evaluated, unreadable,
                      [&](const Block& block, hsize_t i, hsize_t row) {
                        const auto at = std::ranges::lower_bound(sound.rows, row);
                        if (at == sound.rows.end() || *at != row) return;
                        const std::size_t k = at - sound.rows.begin();
                        const Motion motion = motion_of(block, i);
                        sound.has_path[k] = motion.checksum == motion_checksums[k];
                        findings.trajectories += sound.has_path[k] && !motion.trajectory.empty();
                      });
    for (std::size_t k = 0; k < sound.rows.size(); ++k)
      if (!sound.has_path[k]) lost.push_back(sound.rows[k]);
    if (!lost.empty()) complain("/trajectories: damaged rows: " + list(lost));
  }

  // A run counts its iterations, so rows that follow a damaged one are lost too: the run writes them again.
  void read_iterations() {
    std::vector<hsize_t> unreadable;
    hsize_t next = 0;
    Eigen::VectorXd grid;
    try_to(findings.problems, [&] { grid = read_grid(file, layout); });
    for_each_readable(file, iterations, decided, unreadable, [&](const Block& block, hsize_t i, hsize_t row) {
      if (row != next || !fits_checksum(block, i)) return;
      ++next;
      const IterationRow iteration = iteration_of(block, i, layout, grid);
      // counts the undamaged rows only
      contents.n_observed.push_back(std::ranges::lower_bound(sound.rows, static_cast<hsize_t>(iteration.evaluations)) -
                                    sound.rows.begin());
      contents.iterations.push_back(iteration.decided);
    });
    if (next < decided)
      complain("/iterations: row " + std::to_string(next) + " is damaged; rows from there on (" +
               std::to_string(decided - next) + ") are lost until the study continues");
    findings.iterations = contents.iterations.size();
  }

  void read_events() {
    std::vector<hsize_t> lost;
    for_each_readable(file, events, happened, lost, [&](const Block& block, hsize_t i, hsize_t row) {
      if (fits_checksum(block, i))
        contents.events.push_back(event_of(block, i));
      else
        lost.push_back(row);
    });
    if (!lost.empty()) complain("/events: damaged rows: " + list(lost));
  }
};

}  // namespace

ExaminedRows examine(hid_t file) {
  Examination examination(file);
  examination.read_head();
  examination.compare_lengths();
  examination.read_evaluations();
  examination.read_trajectories();
  examination.read_iterations();
  examination.read_events();
  return std::move(examination.sound);
}

Rewriter::Rewriter(const std::string& path, const Contents& contents, std::size_t bytes)
    : layout_(contents.layout),
      evaluations_(evaluation_table(layout_, !contents.sources.empty())),
      iterations_(iteration_table(layout_)),
      events_(event_table()) {
  create_layout(path, contents);
  reserve(path, bytes);
  file_ = open_to_append(path);
}

void Rewriter::add(const Outcome& outcome, std::int32_t source) {
  pending_.push_back(encode(evaluations_, layout_, outcome, source));
  if (pending_.size() == group_rows) flush();
}

void Rewriter::add(const IterationRow& iteration) {
  const Row row = encode(iterations_, layout_, iteration);
  write_rows(file_, iterations_, iteration_rows_++, {&row, 1});
  write_grid(file_, layout_, iteration.decided.grid);
}

void Rewriter::add(const std::vector<Event>& events) {
  std::vector<Row> rows;
  for (const Event& event : events) rows.push_back(encode(events_, event));
  if (!rows.empty()) write_rows(file_, events_, 0, rows);
}

void Rewriter::flush() {
  if (pending_.empty()) return;
  write_rows(file_, evaluations_, evaluation_rows_, pending_);
  evaluation_rows_ += pending_.size();
  pending_.clear();
}

void Rewriter::close(Ending ending, const std::string& stopped) {
  flush();
  write_stopped(file_, ending, stopped);
  if (!file_.close()) fail("cannot write");
}

void rewrite(const std::string& from, const std::string& path, const ExaminedRows& sound) {
  const Contents& contents = sound.contents;
  const Handle old = open_to_read(from, true);
  const Table table = evaluation_table(contents.layout, !contents.sources.empty());
  make_temporary(path, spare_bytes, [&](const std::string& temporary) {
    Rewriter writer(temporary, contents, file_size(from) + spare_bytes);
    for (std::size_t i = 0; i < contents.evaluations.size(); ++i) {
      Outcome outcome{contents.evaluations[i], {}};
      if (sound.has_path[i]) outcome.trajectory = motion_at(old, contents.layout, table, sound.rows[i]).trajectory;
      writer.add(outcome, contents.sources.empty() ? 0 : contents.origins[i]);
    }
    for (std::size_t i = 0; i < contents.iterations.size(); ++i)
      writer.add({contents.n_observed[i], contents.iterations[i]});
    writer.add(contents.events);
    writer.close(contents.ending, contents.stopped);
    publish(path);
  });
}

Findings verify(const std::string& path) {
  return on(path, [&] {
    const FileState condition = probe(path);
    const bool marked = condition != FileState::closed;
    ExaminedRows sound = examine(open_to_read(path));
    Findings& findings = sound.findings;
    look_for_contradictions(sound, findings);
    const std::string now = writer(path);
    if (!now.empty())
      findings.notes.push_back("open to append in " + now);
    else if (condition == FileState::foreign)
      findings.notes.push_back("left open for writing by another program that has ended");
    else if (marked)
      findings.notes.push_back("left open by a process that was killed");
    return findings;
  });
}

Repaired repair(const std::string& path) {
  return on(path, [&] {
    stored_size(path);  // throws unless it is an HDF5 file
    if (const std::string now = writer(path); !now.empty()) throw Error("in use by another process (" + now + ")");
    file_size(path);  // before the lock file is created for a file that does not exist
    const WriterLock lock(path);
    const TemporaryFile salvage{path + ".salvage"};
    Repaired repaired;
    bool whole = false;
    ExaminedRows sound;
    try {
      const Handle file = open_damaged(path, salvage.path);
      sound = examine(file);
      whole = !std::filesystem::exists(salvage.path);
    } catch (const Error& error) {
      throw Error(beyond_repair(path, error.what()));
    }
    repaired.findings = sound.findings;
    if (whole && probe(path) == FileState::closed && sound.findings.problems.empty() && sound.findings.notes.empty())
      return repaired;
    if (!whole)
      repaired.findings.problems.insert(
          repaired.findings.problems.begin(),
          "truncated: " + std::to_string(stored_size(path) - file_size(path)) + " bytes are missing at its end");
    for (int i = 1; repaired.backup.empty() || std::filesystem::exists(repaired.backup); ++i)
      repaired.backup = path + ".damaged" + (i > 1 ? std::to_string(i) : "");
    std::error_code error;
    std::filesystem::create_hard_link(target_of(path), repaired.backup, error);
    if (error) std::filesystem::copy_file(path, repaired.backup);
    try {
      rewrite(whole ? path : salvage.path, path, sound);
    } catch (...) {
      std::filesystem::remove(repaired.backup, error);
      throw;
    }
    return repaired;
  });
}

}  // namespace dodyn::archive
