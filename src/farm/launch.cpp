#include "farm/launch.hpp"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>

#include "farm/perform.hpp"

namespace dodyn::farm {
namespace {

bool is_alive(pid_t pid) {
  const char state = process_state(pid);
  return state != 0 && state != 'Z' && state != 'X';
}

// Returns the number of a process's living children (zombies excluded). -1: the system does not report it.
int living_children(pid_t parent) {
  int living = -1;
  std::error_code error;
  for (const auto& thread : std::filesystem::directory_iterator("/proc/" + std::to_string(parent) + "/task", error)) {
    std::ifstream children(thread.path() / "children");
    if (children && living < 0) living = 0;
    for (pid_t child; children >> child;) living += is_alive(child);
  }
  return living;
}

void watch(const std::stop_token& done, pid_t launcher, int ranks_here) {
  using namespace std::chrono_literals;
  constexpr int most_looks = 15;  // consecutive looks with a missing rank before the run ends; mpirun starts its ranks
                                  // one after the other
  for (int missing = 0; !done.stop_requested(); std::this_thread::sleep_for(200ms)) {
    const int living = living_children(launcher);
    missing = living >= 0 && living < ranks_here ? missing + 1 : 0;
    if (missing < most_looks || done.stop_requested() || getppid() != launcher) continue;
    std::fprintf(stderr, "dodyn: a rank of this host died while all were starting; ending them\n");
    kill(launcher, SIGTERM);
    std::this_thread::sleep_for(2s);
    _exit(1);
  }
}

}  // namespace

LaunchWatch::LaunchWatch() {
  const char* ranks_here = std::getenv("OMPI_COMM_WORLD_LOCAL_SIZE");
  if (ranks_here == nullptr || std::atoi(ranks_here) < 2) return;
  const pid_t launcher = getppid();
  std::string name;
  std::getline(std::ifstream("/proc/" + std::to_string(launcher) + "/comm"), name);
  if (name != "mpirun" && name != "mpiexec" && name != "orterun" && name != "orted") return;
  thread_ =
      std::jthread([=, count = std::atoi(ranks_here)](const std::stop_token& done) { watch(done, launcher, count); });
}

char process_state(pid_t pid) {
  std::string stat;
  std::getline(std::ifstream("/proc/" + std::to_string(pid) + "/stat"), stat);
  const auto name_end = stat.rfind(')');  // "PID (name) state ..."
  return name_end != std::string::npos && stat.size() > name_end + 2 ? stat[name_end + 2] : '\0';
}

std::string process_address() {
  std::error_code error;
  const auto space = std::filesystem::read_symlink("/proc/self/ns/pid", error).string();
  return space.empty() ? "" : std::to_string(getpid()) + " " + space + " " + host_name();
}

RemoteProcess::RemoteProcess(const std::string& process_address) {
  const std::string here = farm::process_address();
  const auto place = [](const std::string& text) { return text.substr(std::min(text.find(' '), text.size())); };
  if (!here.empty() && place(here) == place(process_address)) pid_ = std::atoi(process_address.c_str());
}

bool RemoteProcess::has_exited() {
  const auto now = std::chrono::steady_clock::now();
  if (pid_ == 0 || now < next_look_) return false;
  next_look_ = now + std::chrono::milliseconds(250);
  return std::exchange(missed_, !is_alive(pid_)) && missed_;
}

}  // namespace dodyn::farm
