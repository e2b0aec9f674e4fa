// Ways to leave a session early, one per word on the command line; leave.sh checks that no rank is left hanging.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <thread>

#include "farm/farm.hpp"
#include "samples.hpp"

using namespace dodyn;

namespace {

int leave(const farm::Session& session, const char* way) {
  const auto is = [&](const char* word) { return std::strcmp(way, word) == 0; };
  const auto slow = [](const Task& task) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    return farm::sample_work(task);
  };
  if (session.rank() > 0) {
    if (is("worker-leaves") && session.rank() == 1) throw std::runtime_error("rank 1 has no model file");
    farm::serve(session, slow);
    return 0;
  }
  if (is("no-farm")) return 2;  // bad input, say
  if (is("exception-before")) throw std::runtime_error("cannot create the archive");
  const auto farm = farm::make_mpi_farm(session, slow);
  for (int id = 0; id < 1000; ++id) farm->submit(farm::sample_task(id));
  farm->next(std::chrono::seconds(10));
  if (is("exception-within")) throw std::runtime_error("disk full");
  if (is("exit")) std::exit(4);
  if (is("terminate")) std::terminate();
  while (farm->next(std::chrono::seconds(10))) {
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const farm::Session session(argc, argv);
  try {
    return leave(session, argc > 1 ? argv[1] : "");
  } catch (const std::exception& error) {
    std::fprintf(stderr, "caught: %s\n", error.what());
    return 3;
  }
}
