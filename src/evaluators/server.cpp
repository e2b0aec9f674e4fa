#include "evaluators/server.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <system_error>

namespace dodyn::evaluators {
namespace {

constexpr std::size_t most_bytes = 16 << 20;  // largest size of an answer

// Opens a named pipe at both ends, so that neither side waits for the other.
int named_pipe(const std::filesystem::path& path, int flags) {
  std::filesystem::remove(path);
  const int file = mkfifo(path.c_str(), 0600) == 0 ? open(path.c_str(), O_RDWR | O_CLOEXEC | flags) : -1;
  if (file < 0) throw std::system_error(errno, std::generic_category(), path.string());
  return file;
}

}  // namespace

Server::Server(Program program) : requests_(named_pipe(program.directory / "requests", O_NONBLOCK)) {
  try {
    answers_ = named_pipe(program.directory / "answers", O_NONBLOCK);
  } catch (...) {
    close(requests_);
    throw;
  }
  program.line = "{ " + program.line + "\n} < requests > answers";
  life_ = std::thread([this, program = std::move(program)] {
    Task forever;
    forever.stop = kill_.get_token();
    try {
      end_ = run(program, forever, 0);
    } catch (...) {
      trouble_ = std::current_exception();
    }
    ended_ = true;
  });
}

void Server::stop() {
  kill_.request_stop();
  if (life_.joinable()) life_.join();
}

Server::~Server() {
  close(requests_);
  const auto until = std::chrono::steady_clock::now() + std::chrono::duration<double>(patience);
  while (!ended_ && std::chrono::steady_clock::now() < until) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  stop();
  close(answers_);
}

bool Server::read_available() {
  char block[1 << 16];
  const ssize_t n = read(answers_, block, sizeof block);
  if (n > 0) begun_.append(block, n);
  return n > 0;
}

Server::Answer Server::ask(const std::string& line, const Task& task) {
  // A line that the server wrote before the request would be taken as the answer to it. The true answer would then be
  // taken as the answer to the next request.
  read_available();
  if (!begun_.empty()) return {.line = begun_.substr(0, begun_.find('\n')), .unasked = true};
  const std::string request = line + "\n";
  std::size_t written = 0;
  for (;;) {
    if (const auto end = begun_.find('\n'); end != std::string::npos) {
      Answer answer{.line = begun_.substr(0, end)};
      begun_.erase(0, end + 1);
      read_available();
      answer.surplus = !begun_.empty();
      return answer;
    }
    if (begun_.size() > most_bytes) {
      stop();
      return {.line = begun_.substr(0, 80)};  // truncated; it is not JSON and will be reported so
    }
    if (task.stop.stop_requested() || task.seconds_left() == 0) {
      stop();
      return {.stopped = true};
    }
    pollfd ready[] = {{answers_, POLLIN, 0}, {written < request.size() ? requests_ : -1, POLLOUT, 0}};
    const bool over = ended_;  // read before the remaining output is
    poll(ready, 2, over ? 0 : 20);
    if (ready[1].revents & POLLOUT) {
      const ssize_t n = write(requests_, request.data() + written, request.size() - written);
      if (n > 0) written += static_cast<std::size_t>(n);
    }
    if (read_available()) continue;
    if (over && trouble_) std::rethrow_exception(trouble_);
    if (over) return {.end = end_};
  }
}

}  // namespace dodyn::evaluators
