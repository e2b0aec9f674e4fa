// dodyn show: prints the contents of an archive, even if it is being written or was left by a killed run.
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <iostream>
#include <thread>

#include "archive/archive.hpp"
#include "command.hpp"
#include "report/comparison.hpp"
#include "report/report.hpp"
#include "settings/expression.hpp"
#include "study/study.hpp"

namespace dodyn::apps {

namespace po = boost::program_options;
namespace {

// Returns the width of the terminal at standard output; 0: not a terminal.
std::size_t terminal_width() {
  winsize size{};
  return ::isatty(STDOUT_FILENO) && ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

std::string head(const std::string& path, const archive::Contents& contents) {
  return path + ": " + contents.provenance.evaluator + " study, created " + contents.created + " on " +
         contents.provenance.host + " by dodyn " + contents.provenance.program_version + " (" +
         contents.provenance.git_commit + ")\n\n";
}

ExitCode verify(const std::string& path) {
  const archive::Findings findings = archive::verify(path);
  std::cout << path << ": sound: " << report::counts_text(findings) << "\n";
  for (const auto& note : findings.notes) std::cout << "note: " << note << "\n";
  for (const auto& problem : findings.problems) std::cout << "problem: " << problem << "\n";
  if (findings.problems.empty()) return finished;
  std::cout << "dodyn repair " << path << " recovers the sound rows\n";
  return failure;
}

// Prints rows as they arrive, until the study stops. Reading takes no lock, so the writer never waits.
ExitCode follow(const std::string& path) {
  std::size_t shown = 0;
  bool said = false;
  for (std::filesystem::file_time_type seen{};;) {
    const auto changed = std::filesystem::last_write_time(path);
    const bool written = !archive::writer(path).empty();
    if (changed != seen) {
      seen = changed;
      const archive::Contents contents = archive::read(path);
      if (shown == 0) std::cout << head(path, contents);
      if (contents.evaluations.size() < shown) shown = 0;  // the file was replaced by another one
      std::cout << report::rows_text(contents, shown) << std::flush;
      shown = contents.evaluations.size();
      if (!contents.stopped.empty()) {
        std::cout << report::ended_text(contents.ending, contents.stopped) << std::endl;
        return finished;
      }
    } else if (!written && !said) {
      std::cout << "no process writes it now (killed, or not restarted yet); waiting" << std::endl;
    }
    said = !written;
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
  }
}

// Returns the problem of an archive or a configuration for a comparison.
report::Described described(const std::string& path) {
  if (!study::is_archive(path)) {
    const study::Problem problem = study::read_problem(path, {}, study::Use::described, false);
    const auto evaluator = study::make_evaluator(problem, study::Use::described);
    archive::Provenance provenance;
    study::add_files(problem.settings, *evaluator, provenance);
    return {path, study::identity_of(problem.settings, *evaluator).configuration(), provenance.files};
  }
  const archive::Provenance provenance = archive::read_head(path).provenance;
  return {path, provenance.configuration, provenance.files};
}

// Prints the differences. Exit code 1 if there are any, like diff.
ExitCode compare(const std::string& path, const std::string& other) {
  const report::Described one = described(path);
  std::error_code error;
  const bool is_folder = std::filesystem::is_directory(other, error);
  if (!is_folder) expect_file(other);
  if (is_folder && std::ranges::none_of(one.files, report::is_in_a_folder))
    throw ConfigError(path + ": has no files that a folder could have; compare it with a configuration or an archive");
  const std::string text =
      report::difference_text(one, is_folder ? report::described_folder(one, other) : described(other));
  const std::string equal =
      is_folder ? "the same files; a folder has no settings, a configuration has\n" : "the same problem\n";
  std::cout << (text.empty() ? path + " and " + other + ": " + equal : text);
  return text.empty() ? finished : failure;
}

ExitCode extract(const std::string& path, const std::string& folder) {
  const archive::Provenance provenance = archive::read_head(path).provenance;
  if (!provenance.holds_files) throw ConfigError(path + ": contains no files; archives of earlier versions have none");
  for (const std::string& file : study::extract_files(provenance, folder)) std::cout << file << "\n";
  for (const archive::EmbeddedFile& held : provenance.files)
    if (!held.is_held)
      std::cout << "note: " << shown(held.name, 400) << ", " << held.size << " bytes, checksum " << held.checksum
                << ": the archive has only its name and checksum\n";
  return finished;
}

ExitCode one(const std::string& path, const std::string& text, bool csv, bool json, const report::OutputUnits& units) {
  archive::Contents contents = archive::read(path);
  std::size_t end = 0;
  std::int64_t id = -1;
  try {
    id = std::stoll(text, &end);
  } catch (const std::exception&) {
  }
  const auto rows = archive::latest(contents);
  const auto row = rows.find(id);
  if (end != text.size() || row == rows.end())
    throw ConfigError(path + ": no evaluation " + text + "; allowed: " +
                      (rows.empty() ? "none, it is empty"
                                    : "an id from " + std::to_string(rows.begin()->first) + " to " +
                                          std::to_string(rows.rbegin()->first)));
  Trajectory trajectory = archive::read_trajectory(path, id);
  note_unused(units, contents.layout, path);
  report::convert(contents.layout, contents.evaluations, units);
  report::convert(trajectory, contents.layout.channels, units);
  std::cout << (csv    ? report::csv(trajectory, contents.layout.channels)
                : json ? report::evaluation_json(contents, row->second, trajectory)
                       : report::evaluation_text(contents, row->second, trajectory));
  return finished;
}

}  // namespace

void add_show_options(AddOptions add) {
  const auto text = [] { return po::value<std::string>(); };
  add("sort", text()->value_name("KEY"), "a column, such as cost");
  add("columns", text()->value_name("NAME,..."), "columns, such as cost,status");
  add("failed", po::bool_switch(), "only evaluations without a usable cost, with their causes and reasons");
  add("csv", po::bool_switch(), "print the table as CSV");
  add_units_option(add, "of designs, gradients, metrics and motions");
  add("json", po::bool_switch(), "print the table as JSON");
  add("evaluation", text()->value_name("ID"), "the id of an evaluation");
  add("events", po::bool_switch(), "print the events of the study and its ranks");
  add("follow", po::bool_switch(), "print rows as they come");
  add("verify", po::bool_switch(), "check whether all rows are sound");
  add("diff", text()->value_name("OTHER"), "an archive, a configuration or a folder to compare with");
  add("extract", text()->value_name("FOLDER"), "a new folder for the files of the study");
}

ExitCode show(const Invocation& call) {
  const Arguments given = parse(call);
  report::Listing listing;
  if (const auto key = given.text("sort"); !key.empty()) listing.sort = key;
  listing.columns = split_list(given.text("columns"));
  listing.width = terminal_width();
  listing.units = units_of(given);
  const std::string id = given.text("evaluation");
  listing.failed_only = given.flag("failed");
  const bool csv = given.flag("csv"), json = given.flag("json"), verified = given.flag("verify"),
             followed = given.flag("follow"), events = given.flag("events");
  const std::string other = given.text("diff"), folder = given.text("extract");
  const std::string& path = given.operands.front();
  const bool is_table = !verified && !followed && !events && id.empty() && other.empty() && folder.empty();
  if (csv + json > 1 || verified + followed + events + !id.empty() + !other.empty() + !folder.empty() > 1 ||
      (!is_table && id.empty() && (csv || json || !listing.units.empty())) ||
      (!is_table && (given.options.count("sort") || given.options.count("columns") || listing.failed_only)) ||
      (json && !listing.columns.empty()))
    throw ConfigError("these options cannot be combined; usage: " + call.command.usage());
  expect_archive(path, "show");
  try {
    if (verified) return verify(path);
    if (followed) return follow(path);
    if (!other.empty()) return compare(path, other);
    if (!folder.empty()) return extract(path, folder);
    if (!id.empty()) return one(path, id, csv, json, listing.units);
    const archive::Contents contents = archive::read(path);
    note_unused(listing.units, contents.layout, path);
    std::cout << (events ? report::events_text(contents)
                  : csv  ? report::csv(contents, listing)
                  : json ? report::json(contents, listing)
                         : head(path, contents) + report::table(contents, listing) + report::causes_text(contents));
  } catch (const archive::Error& error) {
    throw ConfigError(error.what());
  } catch (const std::filesystem::filesystem_error& error) {
    throw ConfigError(path + ": " + error.code().message());
  }
  return finished;
}

}  // namespace dodyn::apps
