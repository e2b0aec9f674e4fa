// A program that keeps running and answers many evaluations: it reads one line of JSON per evaluation from standard
// input, and writes one line per answer to standard output. Like a program of one evaluation, it has a guardian
// (program.hpp).
#pragma once

#include <atomic>
#include <exception>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "evaluators/program.hpp"

namespace dodyn::evaluators {

class Server {
 public:
  // Starts the program in `program.directory`, which must exist; standard error goes to the file stderr there. Throws
  // std::system_error if no pipes or processes are available.
  explicit Server(Program program);
  // Closes the program's standard input, which asks it to end. Kills it and its descendants after `patience` seconds.
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  struct Answer {
    std::string line = {};   // without the line end; empty: no answer
    bool stopped = false;    // stopped at the task's time limit, or because the run ends; the server has ended then
    ProgramResult end = {};  // how it ended, if it ended by itself
    bool unasked = false;    // written before the request; the request was not sent
    bool surplus = false;    // the server wrote more than this line
  };
  // Sends a line and waits for an answer. The server is not usable any more if there was no answer, if the answer is
  // not a complete line (more than 16 MiB), or if `unasked` or `surplus` is set. Throws std::system_error if the server
  // could not be started.
  Answer ask(const std::string& line, const Task& task);
  bool alive() const { return !ended_; }

 private:
  void stop();
  // Appends available output to `begun_` without waiting. Returns whether there was any.
  bool read_available();

  static constexpr double patience = 2;
  int requests_ = -1, answers_ = -1;
  std::string begun_;  // output that no answer contains yet
  std::atomic<bool> ended_ = false;
  std::stop_source kill_;
  ProgramResult end_;           // valid if ended_
  std::exception_ptr trouble_;  // valid if ended_: why it could not be started
  std::thread life_;
};

}  // namespace dodyn::evaluators
