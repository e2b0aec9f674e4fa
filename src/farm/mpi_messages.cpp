#include "farm/mpi_messages.hpp"

#include <climits>
#include <cstdio>
#include <exception>
#include <list>
#include <stdexcept>

namespace dodyn::farm {

std::optional<MPI_Status> look(int source, int tag) {
  int arrived = 0;
  MPI_Status status;
  MPI_Iprobe(source, tag, MPI_COMM_WORLD, &arrived, &status);
  return arrived ? std::optional(status) : std::nullopt;
}

Bytes receive(const MPI_Status& status) {
  int size = 0;
  MPI_Get_count(&status, MPI_BYTE, &size);
  Bytes bytes(size);
  MPI_Recv(bytes.data(), size, MPI_BYTE, status.MPI_SOURCE, status.MPI_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  return bytes;
}

MPI_Request start_send(const Bytes& bytes, int destination, Tag tag) {
  if (bytes.size() > INT_MAX) throw std::length_error("farm: a trajectory above 2 GiB does not fit into a message");
  MPI_Request request;
  MPI_Isend(bytes.data(), bytes.size(), MPI_BYTE, destination, tag, MPI_COMM_WORLD, &request);
  return request;
}

bool finish_send(MPI_Request& request) {
  const auto latest = Clock::now() + farewell_timeout;
  for (PollBackoff pause; Clock::now() < latest; pause.sleep()) {
    int done = 0;
    MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    if (done) return true;
  }
  return false;
}

void abort_all(int rank, const char* why) {
  std::fprintf(stderr, "dodyn: rank %d: %s; ending all ranks\n", rank, why);
  MPI_Abort(MPI_COMM_WORLD, 1);
  std::terminate();  // MPI_Abort does not return
}

void send_unwatched(const std::string& text, int destination, Tag tag) {
  static std::list<std::pair<std::string, MPI_Request>> under_way;
  under_way.remove_if([](auto& message) {
    int done = 0;
    MPI_Test(&message.second, &done, MPI_STATUS_IGNORE);
    return done != 0;
  });
  auto& [bytes, request] = under_way.emplace_back(text, MPI_REQUEST_NULL);
  MPI_Isend(bytes.data(), bytes.size(), MPI_CHAR, destination, tag, MPI_COMM_WORLD, &request);
}

}  // namespace dodyn::farm
