#include "farm/isolate.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <csignal>
#include <cstring>
#include <fstream>
#include <system_error>
#include <utility>

#include "farm/message.hpp"
#include "farm/perform.hpp"
#include "record/signals.hpp"

namespace dodyn::farm {
namespace {

Outcome without_answer(Status status, std::string reason) {
  Outcome outcome;
  outcome.evaluation.status = status;
  outcome.evaluation.reason = std::move(reason);
  return outcome;
}

void limit_memory(double bytes) {
  double pages = 0;
  std::ifstream("/proc/self/statm") >> pages;  // address space in use now: MPI reserves much of it
  const auto most = static_cast<rlim_t>(pages * static_cast<double>(sysconf(_SC_PAGESIZE)) + bytes);
  const rlimit limit{most, most};
  setrlimit(RLIMIT_AS, &limit);
}

[[noreturn]] void evaluate_in_child(const Work& work, const Task& task, const Isolation& isolation, int answer) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);  // the kernel kills the child when its rank ends
  setpgid(0, 0);                     // a process group of its own: the parent handles Ctrl-C
  // Batch systems send signals to all processes of a job. The child ignores them: its rank decides whether the
  // evaluation may finish.
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2}) std::signal(signal, SIG_IGN);
  const rlimit no_core{0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  if (std::isfinite(isolation.memory_limit)) limit_memory(isolation.memory_limit);
  const Bytes bytes = pack(guarded(work, task));
  for (std::size_t done = 0; done < bytes.size();) {
    const ssize_t n = write(answer, bytes.data() + done, bytes.size() - done);
    if (n < 0) _exit(1);
    done += static_cast<std::size_t>(n);
  }
  _exit(0);
}

// Reads `bytes` until the pipe closes. Returns false if the child must be killed: its time is over, or task.stop is
// requested.
bool read_answer(int pipe, const Task& task, double grace, Bytes& bytes) {
  std::byte buffer[1 << 16];
  const auto give_up = [&, since = std::chrono::steady_clock::now()] {
    if (task.stop.stop_requested()) return true;
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - since;
    return elapsed.count() > task.time_limit + grace;
  };
  for (;;) {
    pollfd ready{pipe, POLLIN, 0};
    if (poll(&ready, 1, 20) > 0) {
      const ssize_t n = read(pipe, buffer, sizeof buffer);
      if (n == 0) return true;
      if (n > 0) bytes.insert(bytes.end(), buffer, buffer + n);
    } else if (give_up()) {
      return false;
    }
  }
}

Outcome evaluate_in_parent(const Work& work, const Task& task, const Isolation& isolation) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) throw std::system_error(errno, std::generic_category(), "isolation: pipe");
  const pid_t child = fork();
  if (child < 0) {
    const int why = errno;
    close(ends[0]), close(ends[1]);
    throw std::system_error(why, std::generic_category(), "isolation: fork");
  }
  if (child == 0) evaluate_in_child(work, task, isolation, ends[1]);
  close(ends[1]);
  Bytes bytes;
  const bool ended = read_answer(ends[0], task, isolation.grace, bytes);
  close(ends[0]);
  if (!ended) kill(-child, SIGKILL), kill(child, SIGKILL);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (!ended) return without_answer(Status::timed_out, "did not stop at its time limit; its process was killed");
  if (WIFSIGNALED(status)) {
    const int signal = WTERMSIG(status);
    Outcome outcome = without_answer(sent_by_others(signal) ? Status::lost : Status::failed,
                                     "killed by signal " + std::to_string(signal) + " (" + strsignal(signal) + ")");
    outcome.killed = sent_by_others(signal);
    return outcome;
  }
  if (bytes.empty())
    return without_answer(Status::failed,
                          "its process ended with exit code " + std::to_string(WEXITSTATUS(status)) + " and no answer");
  return unpack_outcome(bytes);
}

}  // namespace

Work isolated(Work work, Isolation isolation) {
  return [work = std::move(work), isolation](const Task& task) { return evaluate_in_parent(work, task, isolation); };
}

}  // namespace dodyn::farm
