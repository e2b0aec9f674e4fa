// Signals by which a process may end.
#pragma once

#include <csignal>

namespace dodyn {

// Whether the sender of a signal is usually outside the process: the batch system, the service manager, a user, or the
// kernel without memory (SIGKILL). A process causes the other signals itself: SIGSEGV, SIGABRT, SIGFPE, SIGPIPE, ...
constexpr bool sent_by_others(int signal) {
  return signal == SIGTERM || signal == SIGKILL || signal == SIGINT || signal == SIGHUP || signal == SIGQUIT ||
         signal == SIGUSR1 || signal == SIGUSR2 || signal == SIGPWR;
}

}  // namespace dodyn
