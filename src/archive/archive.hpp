// The HDF5 design database: one file per study, one writer, crash-safe, readable while it is written (SWMR).
// Layout and history of the schema: archive.cpp.
#pragma once

#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "record/evaluation.hpp"
#include "record/task.hpp"
#include "record/trajectory.hpp"
#include "surrogate/strategy.hpp"

namespace dodyn::archive {

// What the study will write; fixed when the archive is created.
struct Layout {
  std::vector<Variable> variables;
  std::vector<Quantity> metrics;
  Channels channels;
  int grid_points = 201;  // of the surrogate's curve; used where there is one variable
};

// Where the file came from; written once as root attributes.
struct Provenance {
  std::string evaluator;                                           // "gait", ...
  std::vector<std::pair<std::string, std::string>> configuration;  // every setting as text: key, value
  std::string program_version, git_commit, command_line, host;
  int ranks = 1;
};

// The file cannot be used: its message is one line fit to show to a user.
struct Error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Everything in a file, in memory.
struct Contents {
  Layout layout;
  Provenance provenance;
  int schema = 0;
  std::string created;  // UTC
  std::string stopped;  // why the study ended; empty while it runs or after a crash
  std::vector<Evaluation> evaluations;
  std::vector<surrogate::Iteration> iterations;
};

// Reads an archive, also one that another process is writing or that a killed process left behind.
// Throws Error where the file is missing, is not an archive, or has a newer schema.
Contents read(const std::string& path);
// The trajectory of one row; empty where it has none.
Trajectory read_trajectory(const std::string& path, std::int64_t id);

class Archive {
 public:
  // Creates `path`; refuses (Error) where a file exists or the directory cannot be written.
  static Archive create(const std::string& path, const Layout& layout, const Provenance& provenance);
  // Opens `path` to append. A file that a killed process left behind is first copied, complete rows only, to
  // `path`.tmp, flushed to disk and renamed over the old one.
  static Archive resume(const std::string& path);

  Archive(Archive&&) noexcept;
  Archive& operator=(Archive&&) noexcept;
  ~Archive();  // closes the file

  // One row each; on return they are in the file and a reader sees them, whatever then happens to this process. Several
  // at once cost little more than one, and are there all or none.
  // Throws Error where the disk is full; the rows before stay readable.
  void append(std::span<const Outcome> outcomes);
  void append(const Outcome& outcome) { append(std::span(&outcome, 1)); }
  void append(const surrogate::Iteration& iteration);
  // Root attribute `stopped`, written when the study ends; there is room for it also where append() found the disk
  // full.
  void stop(const std::string& reason);

 private:
  struct File;
  explicit Archive(std::unique_ptr<File> file);
  std::unique_ptr<File> file_;
};

}  // namespace dodyn::archive
