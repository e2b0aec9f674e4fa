// Prints the rows per second that an archive takes, by the number of rows in one commit, and the longest single append.
// Three cases: rows without trajectories, rows with trajectories that the writer packs, and rows with trajectories that
// arrive packed, as ranks send them. Times are processor times, so other programs on the machine do not change them.
//
//   archive_append [DIRECTORY]     DIRECTORY of the file (default: .); the result depends on its file system
#include <chrono>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <string>
#include <vector>

#include "archive/archive.hpp"

using namespace dodyn;

namespace {

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }
double processor_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

// A planar gait's archive: 1 design variable, 20 metrics, 8 channels of 21 nodes.
archive::Layout layout(bool trajectories) {
  archive::Layout all;
  all.variables = {{"knee", "m", 0.2, 0.5}};
  for (int i = 0; i < 20; ++i) all.metrics.push_back({"metric_" + std::to_string(i), "1", ""});
  const auto channel = [&](const char* name, int coordinates) {
    all.channels.push_back({name, "1", "", 21, {}});
    for (int i = 0; i < coordinates; ++i) all.channels.back().coordinates.push_back("c" + std::to_string(i));
  };
  if (trajectories) {
    for (const char* name : {"t", "energy"}) channel(name, 1);
    for (const char* name : {"q", "p"}) channel(name, 6);
    for (const char* name : {"u", "force", "impulse"}) channel(name, 3);
    channel("points", 10);
  }
  return all;
}

Outcome outcome(std::int64_t id, const archive::Layout& layout, bool packs) {
  Outcome out;
  Evaluation& e = out.evaluation;
  e.id = id;
  e.design = e.gradient = Eigen::VectorXd::Constant(1, 0.3);
  e.metrics = Eigen::VectorXd::Random(20);
  e.status = Status::ok;
  e.cost = 1.0;
  e.host = "node-1";
  e.started = "2026-01-31T12:34:56.789Z";
  for (const auto& channel : layout.channels)
    out.trajectory.values.push_back(Eigen::MatrixXd::Random(channel.nodes, channel.coordinates.size()));
  if (packs)
    for (const auto& values : out.trajectory.values) out.packed.push_back(packed(values));
  return out;
}

}  // namespace

int main(int argc, char** argv) {
  const std::filesystem::path directory = argc > 1 ? argv[1] : ".";
  const std::string path = (directory / "dodyn-archive-append.h5").string();
  std::printf("trajectories  rows together  rows/s  rows/processor s  ms/append  worst ms  bytes/row\n");
  for (const std::string trajectories : {"none", "plain", "packed"}) {
    const archive::Layout shape = layout(trajectories != "none");
    for (std::size_t together = 1; together <= 256; together *= 4) {
      std::filesystem::remove(path);
      auto archive = archive::Archive::create(path, shape, {});
      const auto empty = std::filesystem::file_size(path);
      std::vector<Outcome> batch;
      std::int64_t rows = 0;
      int appends = 0;
      double busy = 0, worst = 0, processor = 0;
      while (busy < 1.5) {
        batch.clear();
        for (std::size_t i = 0; i < together; ++i) batch.push_back(outcome(rows++, shape, trajectories == "packed"));
        const double start = now(), processor_start = processor_seconds();
        archive.append(batch);
        const double seconds = now() - start;
        processor += processor_seconds() - processor_start;
        busy += seconds;
        worst = std::max(worst, seconds);
        ++appends;
      }
      std::printf("%-12s  %13zu  %6.0f  %16.0f  %9.2f  %8.1f  %9.0f\n", trajectories.c_str(), together,
                  static_cast<double>(rows) / busy, static_cast<double>(rows) / processor, 1e3 * busy / appends,
                  1e3 * worst,
                  static_cast<double>(std::filesystem::file_size(path) - empty) / static_cast<double>(rows));
      std::fflush(stdout);
    }
  }
  std::filesystem::remove(path);
}
