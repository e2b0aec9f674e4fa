// dodyn show: what an archive holds, also one that is being written or that a killed run left behind.
#include <sys/ioctl.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <iostream>
#include <thread>

#include "archive/archive.hpp"
#include "command.hpp"
#include "report/report.hpp"
#include "settings/expression.hpp"

namespace dodyn::apps {
namespace {

const std::string show_usage =
    "dodyn show ARCHIVE [--sort KEY] [--columns NAME,...] [--failed] [--csv | --json] [--evaluation ID] [--events] "
    "[--follow] [--verify]";

// Of the terminal that standard output is; 0: it is none.
std::size_t terminal_width() {
  winsize size{};
  return ::isatty(STDOUT_FILENO) && ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

bool take_flag(std::vector<std::string>& words, const std::string& name) { return std::erase(words, name) > 0; }

std::string head(const std::string& path, const archive::Contents& contents) {
  return path + ": " + contents.provenance.evaluator + " study, created " + contents.created + " on " +
         contents.provenance.host + " by dodyn " + contents.provenance.program_version + " (" +
         contents.provenance.git_commit + ")\n\n";
}

ExitCode verify(const std::string& path) {
  const archive::Findings findings = archive::verify(path);
  std::cout << path << ": " << findings.evaluations << " evaluations, " << findings.trajectories << " trajectories, "
            << findings.iterations << " iterations are sound\n";
  for (const auto& note : findings.notes) std::cout << "note: " << note << "\n";
  for (const auto& problem : findings.problems) std::cout << "problem: " << problem << "\n";
  if (findings.problems.empty()) return finished;
  std::cout << "dodyn repair " << path << " recovers what is sound\n";
  return failure;
}

// Rows as they come, until the study stops. A reader takes no lock and so keeps nobody waiting.
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
      if (contents.evaluations.size() < shown) shown = 0;  // another file of the same name
      std::cout << report::rows_text(contents, shown) << std::flush;
      shown = contents.evaluations.size();
      if (!contents.stopped.empty()) {
        std::cout << "stopped: " << contents.stopped << std::endl;
        return finished;
      }
    } else if (!written && !said) {
      std::cout << "nobody writes it now (killed, or not started again yet); waiting" << std::endl;
    }
    said = !written;
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
  }
}

ExitCode one(const std::string& path, const std::string& text, bool csv, bool json) {
  const archive::Contents contents = archive::read(path);
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
  const Trajectory trajectory = archive::read_trajectory(path, id);
  std::cout << (csv    ? report::csv(trajectory, contents.layout.channels)
                : json ? report::evaluation_json(contents, row->second, trajectory)
                       : report::evaluation_text(contents, row->second, trajectory));
  return finished;
}

}  // namespace

ExitCode show(Invocation call) {
  report::Listing listing;
  if (const auto key = take_option(call.words, "--sort", "a column, as cost"); !key.empty()) listing.sort = key;
  listing.columns = split_list(take_option(call.words, "--columns", "columns between commas, as cost,status"));
  listing.width = terminal_width();
  const std::string id = take_option(call.words, "--evaluation", "an id");
  listing.failed_only = take_flag(call.words, "--failed");
  const bool csv = take_flag(call.words, "--csv"), json = take_flag(call.words, "--json");
  const bool verified = take_flag(call.words, "--verify"), followed = take_flag(call.words, "--follow");
  const bool events = take_flag(call.words, "--events");
  const std::string path = take_path(call.words, show_usage);
  if (!call.words.empty()) throw ConfigError("'" + call.words[0] + "' is not understood; usage: " + show_usage);
  if (csv + json > 1 || verified + followed + events + !id.empty() > 1 ||
      ((csv || json) && (verified || followed || events)))
    throw ConfigError("these options do not go together; usage: " + show_usage);
  try {
    if (verified) return verify(path);
    if (followed) return follow(path);
    if (!id.empty()) return one(path, id, csv, json);
    const archive::Contents contents = archive::read(path);
    std::cout << (events ? report::events_text(contents)
                  : csv  ? report::csv(contents, listing)
                  : json ? report::json(contents, listing)
                         : head(path, contents) + report::table(contents, listing));
  } catch (const archive::Error& error) {
    throw ConfigError(error.what());
  } catch (const std::filesystem::filesystem_error& error) {
    throw ConfigError(path + ": " + error.code().message());
  }
  return finished;
}

}  // namespace dodyn::apps
