// dodyn report, watch, plot, animate and import: run the Python package (python/dodyn), which users' scripts share.
// This process is replaced by Python.
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <sstream>
#include <stdexcept>

#include "command.hpp"
#include "settings/settings.hpp"

namespace dodyn::apps {
namespace {

namespace fs = std::filesystem;

// Returns the folder of the package: of the installation, or of the source tree.
std::string package_folder() {
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  for (const fs::path& folder :
       {program.parent_path().parent_path() / DODYN_DATA / "python", fs::path(DODYN_SOURCE) / "python"})
    if (fs::exists(folder / "dodyn" / "__main__.py", error)) return folder.string();
  throw std::runtime_error("the Python package that draws is not where it was installed: " DODYN_DATA "/python");
}

// Removes empty entries and "." from PYTHONPATH (an example is ":/opt/python"). For these entries Python would load
// modules from the working directory.
void leave_out_working_directory() {
  const char* const given = std::getenv("PYTHONPATH");
  if (!given) return;
  std::string kept;
  std::stringstream entries(given);
  for (std::string entry; std::getline(entries, entry, ':');)
    if (const auto folder = fs::path(entry).lexically_normal(); !folder.empty() && folder != "." && folder != "./")
      kept += (kept.empty() ? "" : ":") + entry;
  if (kept.empty())
    ::unsetenv("PYTHONPATH");
  else
    ::setenv("PYTHONPATH", kept.c_str(), 1);
}

// Python searches modules in the working directory first. These words remove it before any import that could be
// affected (`sys` is built in). Python 3.11 has the option -P for this.
constexpr const char* without_working_directory =
    "import sys; sys.path[:] = [folder for folder in sys.path if folder]; ";

// Replaces this process by the program in the words; returns only on failure.
void become(const std::vector<std::string>& words) {
  std::vector<char*> arguments;
  for (const auto& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  ::execvp(arguments.front(), arguments.data());
}

// Whether this interpreter exists and has the modules that the package needs. Only searches the modules: their import
// takes 0.2 s of processor time, and the package imports them again.
bool has_modules(const std::string& interpreter) {
  const pid_t child = ::fork();
  if (child < 0) throw std::runtime_error(std::string("cannot start a process: ") + std::strerror(errno));
  if (child == 0) {
    const int nowhere = ::open("/dev/null", O_RDWR);
    for (const int stream : {0, 1, 2}) ::dup2(nowhere, stream);
    become({interpreter, "-c",
            std::string(without_working_directory) +
                "from importlib.util import find_spec; "
                "sys.exit(sys.version_info < (3, 9) or not find_spec('h5py') or not find_spec('numpy'))"});
    ::_exit(127);
  }
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

std::string interpreter() {
  if (const char* chosen = std::getenv("DODYN_PYTHON")) {
    if (has_modules(chosen)) return chosen;
    throw ConfigError(std::string("DODYN_PYTHON = ") + chosen + ": is no Python from 3.9 on with h5py and numpy");
  }
  for (const char* name : {"python3", "/usr/bin/python3"})
    if (has_modules(name)) return name;
  throw std::runtime_error(
      "needs Python 3 with h5py and numpy, and plot and animate matplotlib (Debian: python3-h5py python3-matplotlib); "
      "DODYN_PYTHON names the interpreter where it is not python3");
}

}  // namespace

ExitCode python(const Invocation& call) {
  leave_out_working_directory();
  const std::string start = std::string(without_working_directory) +
                            "sys.path.insert(0, sys.argv.pop(1)); from dodyn.__main__ import main; sys.exit(main())";
  std::vector<std::string> words = {interpreter(), "-c", start, package_folder(), call.argv[1]};
  words.insert(words.end(), call.words.begin(), call.words.end());
  std::error_code error;
  if (const fs::path program = fs::read_symlink("/proc/self/exe", error); !error)
    ::setenv("DODYN", program.c_str(), 1);  // the program that the package runs, for example for the models of a report
  become(words);
  throw std::runtime_error(words.front() + ": " + std::strerror(errno));
}

}  // namespace dodyn::apps
