#include "evaluators/program.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <system_error>
#include <utility>

#include "record/signals.hpp"

namespace dodyn::evaluators {
namespace {

// ---- the guardian: system calls only, because other threads of the forked process may have held locks --------------

struct Process {
  pid_t pid, parent;
};

// Returns the parent of a process from /proc/PID/stat: "PID (name) state parent ...", where the name may contain any
// character. 0: no such process.
pid_t parent_of(const char* pid) {
  char path[64] = "/proc/", text[512];
  std::strncat(path, pid, 16);
  std::strcat(path, "/stat");
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return 0;
  const ssize_t length = read(file, text, sizeof text - 1);
  close(file);
  if (length <= 0) return 0;
  text[length] = '\0';
  const char* end = std::strrchr(text, ')');
  return end != nullptr && std::strlen(end) > 4 ? std::atoi(end + 4) : 0;
}

// Sends a signal to all descendants of this process.
void signal_descendants(int signal) {
  static Process all[1 << 16];
  static pid_t family[1 << 16];  // this process, followed by the descendants found
  static char entries[1 << 15];
  int count = 0;
  const int directory = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (directory < 0) return;
  for (long length; (length = syscall(SYS_getdents64, directory, entries, sizeof entries)) > 0;) {
    for (long at = 0; at < length && count < static_cast<int>(std::size(all));) {
      const char* entry = entries + at;  // struct linux_dirent64: inode (8), offset (8), length (2), type (1), name
      unsigned short size;
      std::memcpy(&size, entry + 16, sizeof size);
      at += size;
      const char* name = entry + 19;
      if (*name >= '1' && *name <= '9') all[count++] = {std::atoi(name), parent_of(name)};
    }
  }
  close(directory);
  int members = 1;
  family[0] = getpid();
  for (int member = 0; member < members; ++member)
    for (int i = 0; i < count && members < static_cast<int>(std::size(family)); ++i)
      if (all[i].parent == family[member]) family[members++] = all[i].pid;
  for (int member = 1; member < members; ++member) kill(family[member], signal);
}

constexpr char terminate_all = 't', kill_all = 'k';

// The guardian's report at the end.
struct GuardianReport {
  int status;       // how the program ended, as waitpid reports it
  int start_error;  // errno of the failed start; 0: the program started
};

// Set by the child of vfork, which shares its parent's memory until it executes the program.
volatile int start_error = 0;

[[noreturn]] void give_up_start() {
  start_error = errno;
  _exit(127);
}

// Starts the program in a process group of its own. Uses vfork, because this process may have a large memory.
[[gnu::noinline]] pid_t start(const char* directory, const char* out, const char* err, char* const* arguments,
                              char* const* environment) {
  const pid_t guardian = getpid();
  const pid_t program = vfork();
  if (program == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != guardian) _exit(127);
    setpgid(0, 0);
    for (int signal = 1; signal < 32; ++signal) ::signal(signal, SIG_DFL);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, nullptr);
    const int files[] = {open(out, O_WRONLY | O_CREAT | O_TRUNC, 0666), open(err, O_WRONLY | O_CREAT | O_TRUNC, 0666)};
    for (int i = 0; i < 2; ++i)
      if (files[i] < 0 || dup2(files[i], i + 1) < 0) give_up_start();
    close_range(3, ~0U, CLOSE_RANGE_CLOEXEC);
    if (chdir(directory) != 0) give_up_start();
    execve("/bin/sh", arguments, environment);
    give_up_start();
  }
  if (program < 0) start_error = errno;
  return program;
}

long milliseconds_now() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return 1000L * now.tv_sec + now.tv_nsec / 1000000;
}

[[noreturn]] void guard(int socket, const char* directory, const char* out, const char* err, char* const* arguments,
                        char* const* environment, int farewell) {
  setsid();
  prctl(PR_SET_NAME, "dodyn-guardian");  // so that killing all processes named dodyn spares this one
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  sigset_t every;
  sigfillset(&every);
  sigprocmask(SIG_SETMASK, &every, nullptr);  // signals that end the run are handled by the process at the other end of
                                              // the socket
  if (socket != 3 && dup2(socket, 3) < 0) _exit(127);
  close_range(4, ~0U, 0);  // closes handles first, so that enough are available
  socket = 3;
  const int null = open("/dev/null", O_RDWR);
  for (int i = 0; i < 3; ++i) dup2(null, i);
  close(null);
  fcntl(socket, F_SETFD, FD_CLOEXEC);
  const int children = signalfd(-1, &every, SFD_CLOEXEC | SFD_NONBLOCK);

  const pid_t program = start(directory, out, err, arguments, environment);
  if (program < 0) {
    const pid_t none = 0;
    const GuardianReport ended{0, start_error};
    send(socket, &none, sizeof none, MSG_NOSIGNAL);
    send(socket, &ended, sizeof ended, MSG_NOSIGNAL);
    _exit(0);
  }
  send(socket, &program, sizeof program, MSG_NOSIGNAL);

  enum { running, terminating, killing } state = running;
  int status = 0;
  bool ended = false, left = false;  // ended: the program has ended; left: dodyn has ended
  long kill_at = -1;
  for (int rounds = 0;;) {
    int one = 0;
    pid_t reaped;
    while ((reaped = waitpid(-1, &one, WNOHANG)) > 0)
      if (reaped == program) status = one, ended = true;
    const bool all_gone = reaped < 0 && errno == ECHILD;
    // Some processes cannot be killed: they belong to another user, or wait for a disk.
    if (all_gone || rounds > 1000) break;
    if (ended && state == running) state = killing;
    if (kill_at >= 0 && milliseconds_now() >= kill_at) state = killing;
    if (state == killing) {
      signal_descendants(SIGKILL);
      ++rounds;
    }
    pollfd ready[] = {{state == killing || left ? -1 : socket, POLLIN, 0}, {children, POLLIN, 0}};
    poll(ready, 2, state == killing ? 5 : kill_at >= 0 ? 20 : -1);
    if (ready[0].revents != 0) {
      char word = kill_all;  // the default if dodyn has ended
      const ssize_t got = recv(socket, &word, 1, MSG_DONTWAIT);
      left = got == 0;
      if (got < 0 && errno == EAGAIN) word = 0;
      const bool first = state == running && (word == terminate_all || (word == kill_all && farewell > 0));
      if (word == kill_all && farewell == 0) {
        state = killing;
      } else if (word == kill_all && kill_at < 0) {
        kill_at = milliseconds_now() + farewell;
      }
      if (first) {
        state = terminating;
        signal_descendants(SIGTERM);
        signal_descendants(SIGCONT);
      }
    }
    for (signalfd_siginfo info; read(children, &info, sizeof info) > 0;) continue;
  }
  const GuardianReport report{status, start_error};
  send(socket, &report, sizeof report, MSG_NOSIGNAL);
  _exit(0);
}

std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> all;
  for (const auto& text : texts) all.push_back(const_cast<char*>(text.c_str()));
  all.push_back(nullptr);
  return all;
}

}  // namespace

bool ProgramResult::succeeded() const { return !stopped && WIFEXITED(status) && WEXITSTATUS(status) == 0; }
double ProgramResult::code() const { return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status); }
bool ProgramResult::not_found() const {
  return !stopped && WIFEXITED(status) && (WEXITSTATUS(status) == 126 || WEXITSTATUS(status) == 127);
}
std::string ProgramResult::text() const {
  if (stopped) return "stopped at its time limit";
  if (WIFSIGNALED(status))
    return "killed by signal " + std::to_string(WTERMSIG(status)) + " (" + strsignal(WTERMSIG(status)) + ")";
  return "exit code " + std::to_string(WEXITSTATUS(status));
}
bool ProgramResult::from_outside() const {
  if (stopped) return false;
  if (WIFSIGNALED(status)) return sent_by_others(WTERMSIG(status));
  return WEXITSTATUS(status) > 128 && sent_by_others(WEXITSTATUS(status) - 128);  // a shell reports its child so
}

ProgramResult run(const Program& program, const Task& task, double grace) {
  using Clock = std::chrono::steady_clock;
  std::vector<std::string> words = {"sh", "-c", program.line};
  const auto arguments = pointers(words), environment = pointers(program.environment);
  const std::string directory = program.directory, out = directory + "/stdout", err = directory + "/stderr";
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    throw std::system_error(errno, std::generic_category(), "command: socketpair");
  const pid_t guardian = fork();
  if (guardian < 0) {
    const int why = errno;
    close(ends[0]), close(ends[1]);
    throw std::system_error(why, std::generic_category(), "command: fork");
  }
  if (guardian == 0)
    guard(ends[1], directory.c_str(), out.c_str(), err.c_str(), arguments.data(), environment.data(),
          static_cast<int>(1000 * program.farewell));
  close(ends[1]);
  const int socket = ends[0];

  ProgramResult end;
  pid_t group = -1;  // process group of the program; -1: the guardian has not reported it yet
  int cannot_start = 0;
  auto kill_at = Clock::time_point::max();
  const auto say = [&](char word) { send(socket, &word, 1, MSG_NOSIGNAL); };
  for (;;) {
    pollfd ready{socket, POLLIN, 0};
    const double left = std::min(task.seconds_left(), 0.02);
    if (poll(&ready, 1, end.stopped ? 10 : std::max(1, static_cast<int>(1000 * left))) > 0) {
      GuardianReport ended{SIGKILL, 0};
      const bool first = group < 0;
      const std::size_t size = first ? sizeof group : sizeof ended;
      if (recv(socket, first ? static_cast<void*>(&group) : &ended, size, MSG_WAITALL) == static_cast<ssize_t>(size)) {
        if (first) continue;
      } else if (group > 0) {  // the guardian was killed
        ended = {SIGKILL, 0};
        kill(-group, SIGKILL);
      }
      end.status = ended.status;
      cannot_start = ended.start_error;
      break;
    }
    const auto now = Clock::now();
    if (task.stop.stop_requested() || now >= kill_at) {
      say(kill_all);
      end.stopped = true;
    } else if (!end.stopped && task.seconds_left() == 0) {
      say(terminate_all);
      end.stopped = true;
      kill_at = now + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(std::min(grace, 1e9)));
    }
  }
  close(socket);
  while (waitpid(guardian, nullptr, 0) < 0 && errno == EINTR) continue;
  if (cannot_start != 0)
    throw std::system_error(cannot_start, std::generic_category(), "the program cannot be started in " + directory);
  return end;
}

}  // namespace dodyn::evaluators
