// Reads the problem of a study from a configuration, or from an archive and the files that the archive holds.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "archive/archive.hpp"
#include "evaluators/evaluator.hpp"
#include "settings/settings.hpp"

namespace dodyn::study {

// A new temporary folder. The destructor removes it. A separate process waits for the end of this one, and removes the
// folder if this process is killed.
class TemporaryFolder {
 public:
  TemporaryFolder();  // throws std::runtime_error
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  int alive_ = -1;  // write end of a pipe; the remover waits at the other end until all processes that hold it have
                    // ended
  int owner_ = 0, remover_ = 0;
};

struct Problem {
  Settings settings;
  std::vector<std::string> notes = {};                         // notes for the user, one line each
  std::string archive = {};                                    // path of the archive; empty: the problem comes from a
                                                               // configuration
  archive::Provenance provenance = {};                         // of the archive, if there is one
  bool is_merged = false;                                      // the archive is merged from several
  std::shared_ptr<const TemporaryFolder> unpacked_files = {};  // must live as long as the evaluator
};

// The purpose for which an archive's study is read.
enum class Use {
  described,  // nothing is evaluated
  evaluated,  // designs are evaluated in separate working directories
  continued,  // rows are added to the archive
};

// Reads a configuration or an archive, and applies the words of a command line. Writes the files that the archive holds
// to a temporary folder. Throws ConfigError if the archive is invalid, if its sources differ in a setting that the
// words do not give, or if it names a program that would be run and `trusts` is false. Throws archive::Busy.
Problem read_problem(const std::string& path, const std::vector<std::string>& words, Use use, bool trusts);

// Makes the evaluator of a problem. Throws ConfigError if a file that the archive does not hold is missing or has
// changed, and if this machine cannot run the evaluator.
std::unique_ptr<evaluators::Evaluator> make_evaluator(const Problem& problem, Use use = Use::evaluated);

// Returns the keys of the files that the search reads: designs and evaluations to begin with.
std::vector<std::string> search_file_keys(const Settings& settings);

// Returns the checksum of a file that the search reads. Only the evaluations of an archive count, not the events and
// times of its runs.
std::string search_file_checksum(const std::string& path);

// Adds the files that the settings name to `provenance`, with their contents up to the archive's limit.
void add_files(const Settings& settings, const evaluators::Evaluator& evaluator, archive::Provenance& provenance);

// Writes the held files to a new folder. Returns their paths. Throws ConfigError if the folder exists.
std::vector<std::string> extract_files(const archive::Provenance& provenance, const std::string& folder);

// Whether the file is HDF5, not text.
bool is_archive(const std::string& path);

// Returns why a variable of the search that is a whole number or a label cannot have a value: "is not one of the
// variable's values; the nearest is 3". Empty: the value is possible, or the variable is real. Values beyond the range
// of the search are allowed.
std::string find_fraction(const Settings& settings, Variable variable, double value);

}  // namespace dodyn::study
