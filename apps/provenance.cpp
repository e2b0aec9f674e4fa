#include "provenance.hpp"

#include <gnu/libc-version.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <set>

#include "farm/farm.hpp"
#include "version.hpp"

namespace dodyn::apps {
namespace {

constexpr const char* compiler =
#ifdef __clang__
    "clang " __clang_version__;
#else
    "g++ " __VERSION__;
#endif

std::string processor() {
  std::ifstream lines("/proc/cpuinfo");
  for (std::string line; std::getline(lines, line);)
    if (const auto colon = line.find(": "); line.starts_with("model name") && colon != std::string::npos)
      return line.substr(colon + 2);
  return "";
}

// "Linux 6.1.0 x86_64, glibc 2.36": the mathematical functions are glibc's.
std::string system() {
  utsname name{};
  uname(&name);
  return std::string(name.sysname) + " " + name.release + " " + name.machine + ", glibc " + gnu_get_libc_version();
}

}  // namespace

archive::Provenance provenance(const std::vector<std::string>& words, int ranks) {
  archive::Provenance where;
  where.program_version = version;
  where.git_commit = git_commit;
  where.command_line = "dodyn run";
  for (const auto& word : words) where.command_line += " " + word;
  char host[256] = "";
  gethostname(host, sizeof host - 1);
  where.host = host;
  where.ranks = ranks;
  const auto environment = [](const char* name) {
    const char* value = std::getenv(name);
    return std::string(value == nullptr ? "" : value);
  };
  std::string job, nodes;
  if (const std::string id = environment("SLURM_JOB_ID"); !id.empty()) {
    job = "Slurm " + id;
    if (const std::string task = environment("SLURM_ARRAY_TASK_ID"); !task.empty())
      job += ", task " + task + " of " + environment("SLURM_ARRAY_JOB_ID");
    if (const std::string restarts = environment("SLURM_RESTART_COUNT"); !restarts.empty() && restarts != "0")
      job += ", requeued " + restarts + (restarts == "1" ? " time" : " times");
    nodes = environment("SLURM_JOB_NODELIST");
  } else if (const std::string other = environment("PBS_JOBID"); !other.empty()) {
    job = "PBS " + other;
    std::ifstream names(environment("PBS_NODEFILE"));
    std::set<std::string> different;
    for (std::string name; std::getline(names, name);) different.insert(name);
    for (const auto& name : different) nodes += (nodes.empty() ? "" : ",") + name;
  }
  where.machine = {{"compiler", compiler},
                   {"mpi", farm::mpi_library()},
                   {"processor", processor()},
                   {"system", system()},
                   {"modules", environment("LOADEDMODULES")},
                   {"job", job},
                   {"nodes", nodes}};
  return where;
}

}  // namespace dodyn::apps
