// Signals by which a process may end.
#pragma once

#include <csignal>

namespace dodyn {

// Whether a signal is one that others send: the batch system, the service manager, a person, or the kernel where memory
// is short (SIGKILL). The rest a process brings on itself: SIGSEGV, SIGABRT, SIGFPE, SIGPIPE, ...
constexpr bool sent_by_others(int signal) {
  return signal == SIGTERM || signal == SIGKILL || signal == SIGINT || signal == SIGHUP || signal == SIGQUIT ||
         signal == SIGUSR1 || signal == SIGUSR2 || signal == SIGPWR;
}

}  // namespace dodyn
