// The HDF5 design database: one file per study, one writer, crash-safe, readable while it is written (SWMR).
// Layout and history of the schema: archive.cpp.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "record/evaluation.hpp"
#include "record/event.hpp"
#include "record/task.hpp"
#include "record/trajectory.hpp"
#include "surrogate/strategy.hpp"

namespace dodyn::archive {

// What the study will write; fixed when the archive is created.
struct Layout {
  std::vector<Variable> variables;
  std::vector<Quantity> metrics;
  Channels channels;
  int grid_points = 201;                     // of the surrogate's curve; used where there is one variable
  std::vector<std::string> numbers = {};     // that an iteration may hold (Strategy::numbers); others are left out
  std::vector<std::string> candidates = {};  // columns of designs considered (Strategy::candidate_columns); or none
};

// A file that the configuration names, as the archive holds it.
struct HeldFile {
  std::string name;  // as the configuration has it: "../models/torso.model", "docking-craft"
  std::string
      path;  // among the held files: relative, without . and .., "models/torso.model". Empty: a file of the machine
  std::string checksum;  // of its content (record/text.hpp)
  std::string content = {};
  std::size_t size = 0;  // bytes, also where the content is not here
  bool is_held =
      false;  // whether the content is here; it is not of files of the machine, and of those beyond the limit

  bool operator==(const HeldFile&) const = default;
};
bool is_held_path(const std::string& path);              // relative, and stays in the folder where it begins
inline constexpr std::size_t max_held_bytes = 16 << 20;  // of the contents of all files together
inline constexpr std::size_t max_held_files = 1000;

// Where the file came from; written once as root attributes.
struct Provenance {
  std::string evaluator;                                           // "gait", ...
  std::vector<std::pair<std::string, std::string>> configuration;  // every setting that is used, as text: key, value
  std::string program_version, git_commit, command_line, host;
  int ranks = 1;
  // What it ran on when the archive was made: compiler, MPI, modules, job, nodes, ...; key, value
  std::vector<std::pair<std::string, std::string>> machine = {};
  // Settings that were given; the others have their defaults. Key, source: "knee.cfg:12", "command line"
  std::vector<std::pair<std::string, std::string>> given = {};
  std::string folder = {};  // of the configuration, absolute
  std::vector<HeldFile> files = {};
  std::string folder_of_files = {};  // of the configuration among the held files: "configs"
  bool holds_files = false;          // the archive has a list of files, if an empty one; earlier ones have none
};

// The file cannot be used: its message is one line fit to show to a user.
struct Error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// ... just now, since another program has it open for writing, or another run appends to it; once that has ended, it can.
struct Busy : Error {
  using Error::Error;
};

// One of the archives that a merged one is made of.
struct Source {
  std::string path, created, stopped;
  Provenance provenance;
};

// Everything in a file but the trajectories, in memory.
struct Contents {
  Layout layout;
  Provenance provenance;
  int schema = 0;
  std::string created;                  // UTC
  std::string stopped;                  // why the study ended; empty while it runs or after a crash
  std::vector<Evaluation> evaluations;  // by row; a later row of the same id supersedes the earlier ones
  std::vector<surrogate::Iteration> iterations;
  std::vector<std::uint32_t> outcomes;   // of each row outcome_checksum()
  std::vector<std::int64_t> n_observed;  // of each iteration: rows of evaluations that the file held then
  std::vector<Event> events;             // of the study, in the order in which they were written
  std::vector<Source> sources;           // of a merged archive
  std::vector<std::int32_t> origins;     //   and of each row which of them it is from
};

// Reads an archive, also one that another process is writing or that a killed process left behind.
// Throws Error where the file is missing, is not an archive, or has another schema.
// Calls look() now and then, which may throw.
Contents read(const std::string& path, const std::function<void()>& look = {});
// The same of rows that this process has read before or written: their checksums take a tenth of the time.
Contents read_verified(const std::string& path);
// The same without rows: layout, provenance and files. Takes as long for many rows as for few.
Contents read_head(const std::string& path);
// The trajectory of the last row of an id; empty where it has none.
Trajectory read_trajectory(const std::string& path, std::int64_t id);
// Visits the trajectory of each of the first `rows` rows.
void for_each_trajectory(const std::string& path, std::size_t rows,
                         const std::function<void(std::size_t, Trajectory)>& visit);

// A new HDF5 file of plain datasets of numbers, [rows, columns] or, of one column, [rows], in the group `group`, with a
// description and texts as attributes of the group. Throws Error where it cannot be written.
struct Dataset {
  std::string name, description;
  Eigen::MatrixXd values;
};
struct Group {
  std::string name;
  std::vector<std::pair<std::string, std::string>> attributes;
  std::vector<Dataset> datasets;
};
void write_plain(const std::string& path, const std::vector<Group>& groups);

// CRC-32 of what of an evaluation does not depend on when, where and how fast it was done: design, seed, status, reason,
// cost, cost_stderr, gradient, metrics, trajectory. Two that are the same bit for bit have the same one; it is in their rows.
std::uint32_t outcome_checksum(const Layout& layout, const Outcome& outcome);

// A reason as a row holds it: printable, at most 1024 bytes.
std::string stored_reason(const std::string& reason);

// The rows that count: the last one of each id.
std::map<std::int64_t, std::size_t> latest(const Contents& contents);

// The process that has an archive open to append, as "pid 123 on node-1"; empty where there is none.
std::string writer(const std::string& path);

// What a look at every byte found: problems (damage: what `repair` cannot bring back), and notes that are none.
struct Findings {
  std::size_t evaluations = 0, trajectories = 0, iterations = 0;  // sound ones
  std::vector<std::string> problems, notes;                       // one line each
};
// Throws Error where nothing can be read.
Findings verify(const std::string& path);

// Puts an archive of all that is sound in the place of a damaged one, which it keeps as `backup`. Throws Error where
// nothing can be recovered; `path` then stays as it is.
struct Repaired {
  Findings findings;
  std::string backup;  // empty: there was nothing to repair
};
Repaired repair(const std::string& path);

// Writes a new archive `out` of the rows that count of all the others, in their order, their ids counted on. Each row
// keeps where it came from. Throws Error where their designs, metrics or trajectories are of different shapes, naming
// the difference. Iterations stay behind: a surrogate is one study's.
void merge(const std::string& out, const std::vector<std::string>& in);

// Empty, or one line that says in which design variable, metric or channel two layouts differ: then rows of one have no
// place in the other. The ranges of the variables do not matter.
std::string difference(const Layout& one, const Layout& other);

class Archive {
 public:
  // Creates `path`; refuses (Error) where a file exists or the directory cannot be written.
  static Archive create(const std::string& path, const Layout& layout, const Provenance& provenance);
  // Opens `path` to append. A file that a killed process left behind is first copied, complete rows only, to `path`.tmp,
  // flushed to disk and renamed over the old one. Throws Error where it is damaged.
  static Archive resume(const std::string& path);
  // The same, where this process has just read this number of rows without a complaint: they are not read again.
  static Archive resume(const std::string& path, std::size_t rows_read);

  Archive(Archive&&) noexcept;
  Archive& operator=(Archive&&) noexcept;
  ~Archive();  // closes the file

  // Starts to keep a copy of the file at `path`, which no reader is ever refused: replaced as a whole after appends,
  // as long as copying takes no more than a fiftieth of the time, and at stop(). Where it cannot be written, it is left.
  void keep_copy(const std::string& path);

  // One row each; on return they are in the file and a reader sees them, whatever then happens to this process. Several
  // at once cost little more than one, and are there all or none.
  // Throws Error where the disk is full; the rows before stay readable. Throws Busy where another program has the file:
  // then nothing was done, and the same call may be tried again.
  void append(std::span<const Outcome> outcomes);
  void append(const Outcome& outcome) { append(std::span(&outcome, 1)); }
  void append(const surrogate::Iteration& iteration);
  void append(std::span<const Event> events);
  // Root attribute `stopped`, written when the study ends; there is room for it also where append() found the disk
  // full.
  void stop(const std::string& reason);

 private:
  struct File;
  explicit Archive(std::unique_ptr<File> file);
  std::unique_ptr<File> file_;
};

}  // namespace dodyn::archive
