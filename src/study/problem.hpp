// The study that a configuration describes, or that an archive holds together with the files that it names.
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

// A new folder. It goes with this object, and also when the process is killed: a process of its own waits for its end.
class TemporaryFolder {
 public:
  TemporaryFolder();  // throws std::runtime_error
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  int alive_ = -1;  // the remover reads from the other end of this pipe until all that have it open have ended
  int owner_ = 0, remover_ = 0;
};

struct Problem {
  Settings settings;
  std::vector<std::string> notes = {};                         // a line each, for the user
  std::string archive = {};                                    // empty: of a configuration
  archive::Provenance provenance = {};                         // of the archive
  std::shared_ptr<const TemporaryFolder> unpacked_files = {};  // is to live as long as the evaluator
};

// What is done with an archive's study.
enum class Use {
  described,  // nothing is evaluated
  evaluated,  // designs are evaluated, in working directories of their own
  continued,  // its rows are added to the archive
};

// Reads a configuration or an archive, then the words of a command line, which win. The files that an archive holds are written
// to a temporary folder and used. Throws ConfigError: no archive; a program that an archive brings along, without `trusts`.
Problem read_problem(const std::string& path, const std::vector<std::string>& words, Use use, bool trusts);

// The evaluator of a problem. Throws ConfigError if a file that the archive does not hold is missing here or is another
// version, and if this machine cannot do what is to be done.
std::unique_ptr<evaluators::Evaluator> make_evaluator(const Problem& problem, Use use = Use::evaluated);

// The files that the settings name, with their contents up to the archive's limit, into `provenance`.
void add_files(const Settings& settings, const evaluators::Evaluator& evaluator, archive::Provenance& provenance);

// Writes the held files below a folder that must not exist yet. Returns their paths. Throws ConfigError.
std::vector<std::string> extract_files(const archive::Provenance& provenance, const std::string& folder);

// Whether it is an HDF5 file, rather than a text.
bool is_archive(const std::string& path);

}  // namespace dodyn::study
