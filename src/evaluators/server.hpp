// A program that stays and answers many evaluations: a line of JSON each on its standard input, a line each on its
// standard output. It and all that it starts are under the same guardian as a program of one evaluation (program.hpp).
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
  // Starts it in `program.directory`, which must be there; its standard error goes to the file stderr in it. Throws
  // std::system_error where there are no more pipes or processes to be had.
  explicit Server(Program program);
  // The end of its input asks it to end; `patience` seconds later it is killed, and all that it started with it.
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  struct Answer {
    std::string line;      // without its newline; empty: there is none
    bool stopped = false;  // at the task's time limit, or since the run ends: the server is gone then
    End end;               // how it ended, where it did so by itself
  };
  // Hands over a line and waits for one. After an answer that is not one line, or none, the server is of no more use.
  // Throws std::system_error where it could not be started.
  Answer ask(const std::string& line, const Task& task);
  bool alive() const { return !ended_; }

 private:
  void stop();

  static constexpr double patience = 2;
  int requests_ = -1, answers_ = -1;
  std::string begun_;  // of a line
  std::atomic<bool> ended_ = false;
  std::stop_source kill_;
  End end_;                     // once ended_
  std::exception_ptr trouble_;  // once ended_: why it could not be started
  std::thread life_;
};

}  // namespace dodyn::evaluators
