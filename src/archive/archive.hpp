// The HDF5 design database: one file per study, one writer, crash-safe, readable while it is written (SWMR). The layout
// is in schema.hpp.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "record/ending.hpp"
#include "record/evaluation.hpp"
#include "record/event.hpp"
#include "record/task.hpp"
#include "record/trajectory.hpp"
#include "surrogate/strategy.hpp"

namespace dodyn::archive {

// The columns that the study writes; fixed when the archive is created.
struct Layout {
  std::vector<Variable> variables;
  std::vector<Quantity> metrics;
  Channels channels;
  int grid_points = 201;                     // points of the surrogate's curve, if there is one variable
  std::vector<std::string> numbers = {};     // names that an iteration may have (Strategy::numbers); others are left
                                             // out
  std::vector<std::string> candidates = {};  // columns of the considered designs (Strategy::candidate_columns); empty:
                                             // none
};

// A file that the configuration names, stored in the archive.
struct EmbeddedFile {
  std::string name;  // name in the configuration: "../models/torso.model", "docking-craft"
  std::string
      path;  // relative path among the stored files, without . and ..: "models/torso.model". Empty: a file of the
             // machine
  std::string checksum;  // of its content (record/text.hpp)
  std::string content = {};
  std::size_t size = 0;  // bytes, even if the content is not stored
  bool is_held =
      false;  // whether the content is stored; it is not for files of the machine, and for files beyond the limit

  bool operator==(const EmbeddedFile&) const = default;
};
bool is_held_path(const std::string& path);              // whether a path is relative and stays inside its folder
inline constexpr std::size_t max_held_bytes = 16 << 20;  // limit for the contents of all files together
inline constexpr std::size_t max_held_files = 1000;

// Origin of the study; written once as root attributes.
struct Provenance {
  std::string evaluator;                                           // "gait", ...
  std::vector<std::pair<std::string, std::string>> configuration;  // every setting in use, as text: key, value
  std::string program_version, git_commit, command_line, host;
  int ranks = 1;
  // Machine and software at the creation of the archive: compiler, MPI, modules, job, nodes, ...; key, value
  std::vector<std::pair<std::string, std::string>> machine = {};
  // Settings that were given; all other settings have their defaults. Key, source: "knee.cfg:12", "command line"
  std::vector<std::pair<std::string, std::string>> given = {};
  std::string folder = {};  // folder of the configuration, absolute
  std::vector<EmbeddedFile> files = {};
  std::string folder_of_files = {};  // folder of the configuration among the stored files: "configs"
  bool holds_files = false;          // the archive has a list of files, possibly empty; earlier archives have none
};

// The file cannot be used. The message is one line for the user.
struct Error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// The file cannot be used now, because another program has it open for writing or another run appends to it. Try again
// when that has ended.
struct Busy : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// One of the archives that were merged.
struct Source {
  std::string path, created, stopped;
  Provenance provenance;
};

// Everything in a file except the trajectories, in memory.
struct Contents {
  Layout layout;
  Provenance provenance;
  int schema = 0;
  std::string created;                  // UTC
  std::string stopped;                  // why the study ended; empty: it runs, or has crashed
  Ending ending = Ending::none;         // how it ended
  std::vector<Evaluation> evaluations;  // by row; a later row of an id supersedes earlier ones
  std::vector<surrogate::Iteration> iterations;
  std::vector<std::uint32_t> outcomes;   // by row: outcome_checksum()
  std::vector<std::int64_t> n_observed;  // by iteration: number of rows that the file had when the strategy decided
  std::vector<Event> events;             // in the order in which they were written
  std::vector<Source> sources;           // of a merged archive
  std::vector<std::int32_t> origins;     // by row: index of its source
};

// Reads an archive, even if another process is writing it or a killed process left it. Calls look() from time to time,
// which may throw. Throws Error if the file is missing, is not an archive, has another schema, or has a damaged row.
// Throws Busy if another program still has it open for writing after 10 s.
Contents read(const std::string& path, const std::function<void()>& look = {});
// Reads rows that this process has read or written before. Does not check their checksums, which saves 10 % of the
// time.
Contents read_verified(const std::string& path);
// Reads layout, provenance and files without rows. The time does not depend on the number of rows.
Contents read_head(const std::string& path);
// Returns the trajectory of the last row of an id; empty: that evaluation has no motion. Throws Error if no row has the
// id, or if the trajectory is damaged.
Trajectory read_trajectory(const std::string& path, std::int64_t id);
// Calls visit(row, trajectory) for each of the first `rows` rows. Throws Error if a trajectory is damaged.
void for_each_trajectory(const std::string& path, std::size_t rows,
                         const std::function<void(std::size_t, Trajectory)>& visit);

// A numeric dataset of a plain HDF5 file: [rows, columns] or, for one column, [rows].
struct Dataset {
  std::string name, description;
  Eigen::MatrixXd values;
};
struct Group {
  std::string name;
  std::vector<std::pair<std::string, std::string>> attributes;  // name, text
  std::vector<Dataset> datasets;
};
// Writes an HDF5 file with these groups; replaces an existing file. Throws Error if the file cannot be written, and
// leaves no temporary file.
void write_plain(const std::string& path, const std::vector<Group>& groups);

// Returns the CRC-32 of the fields of an evaluation that do not depend on time, place and duration: design, seed,
// status, reason, cost, cost_stderr, gradient, metrics, trajectory. Bit-identical evaluations have equal checksums. It
// is stored in their rows.
std::uint32_t outcome_checksum(const Layout& layout, const Outcome& outcome);

// Returns a reason as a row stores it: printable, at most 1024 bytes.
std::string stored_reason(const std::string& reason);

// Returns the valid rows, by id: the last row of each id.
std::map<std::int64_t, std::size_t> latest(const Contents& contents);

// Returns the process that has an archive open to append, such as "pid 123 on node-1"; empty: none.
std::string writer(const std::string& path);

// Result of a check of every byte: problems (damage that `repair` cannot undo) and harmless notes.
struct Findings {
  std::size_t evaluations = 0, trajectories = 0, iterations = 0;  // numbers of undamaged rows; trajectories: not empty
  std::vector<std::string> problems, notes;                       // one line each
};
// Checks every byte. Throws Error if nothing can be read.
Findings verify(const std::string& path);

struct Repaired {
  Findings findings;
  std::string backup;  // path of the old file; empty: nothing to repair
};
// Replaces a damaged archive by one with its undamaged rows. Iterations that follow a damaged one are left out, too.
// Throws Error if nothing can be recovered or a process writes the archive; `path` is then unchanged.
Repaired repair(const std::string& path);

// Writes a new archive `out` with the latest row of each id of all inputs, in the order of the inputs, with consecutive
// ids. Each row stores its source. Iterations of the inputs are left out, because a surrogate belongs to one study. If
// `recommend` returns a design for all rows, one iteration with this recommended design is added. Throws Error if `out`
// exists, an input is given twice, or if the inputs have different metrics, trajectories, evaluators, constraints,
// objectives or variables; the message names the difference.
void merge(const std::string& out, const std::vector<std::string>& in,
           const std::function<Eigen::VectorXd(const Contents&)>& recommend = {});

// Returns the first design variable, metric or channel that differs between two layouts, as one line. Empty: rows of
// one layout fit into the other. The ranges of the variables may differ.
std::string difference(const Layout& one, const Layout& other);

class Archive {
 public:
  // Creates `path`. Throws Error if the file exists or the directory cannot be written.
  static Archive create(const std::string& path, const Layout& layout, const Provenance& provenance);
  // Opens `path` to append. If a killed process left the file, its complete rows are copied to `path`.tmp, which is
  // flushed to disk and renamed over the old file. Removes the ending and its reason. Throws Error if the file is
  // damaged or merged, Busy if another process writes it.
  static Archive resume(const std::string& path);
  // Like resume(path), but does not read the rows again. `rows_read`: number of rows that this process has just read
  // from the file without errors.
  static Archive resume(const std::string& path, std::size_t rows_read);

  Archive(Archive&&) noexcept;
  Archive& operator=(Archive&&) noexcept;
  ~Archive();  // closes the file

  // Maintains a copy of the archive at `path`, which readers can always open. The copy is replaced as a whole at
  // stop(), and after appends as long as copying takes at most 2 % of the time. If it cannot be written, the old copy
  // stays, and later appends try again. Empty path: no copy.
  void keep_copy(const std::string& path);

  // Appends one row per outcome. On return the rows are in the file and visible to readers, whatever happens to this
  // process. Several rows cost little more than one, and are written all or none. Throws Error if the disk is full;
  // previous rows stay readable. After a write that failed midway, every further call throws Error. Throws Busy if
  // another program has the file: nothing was done, and the call may be repeated.
  void append(std::span<const Outcome> outcomes);
  void append(const Outcome& outcome) { append(std::span(&outcome, 1)); }
  void append(const surrogate::Iteration& iteration);
  void append(std::span<const Event> events);
  // Writes the root attributes `stop_reason` and `ending` when the study ends. Their space is reserved in the file, so
  // the call needs only 64 KiB of free space on the disk; it throws Error if these are missing.
  void stop(Ending ending, const std::string& reason);

 private:
  struct File;
  explicit Archive(std::unique_ptr<File> file);
  std::unique_ptr<File> file_;
};

}  // namespace dodyn::archive
