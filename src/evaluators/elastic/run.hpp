// Simulates a scene of deformable and rigid bodies once, and measures the run.
#pragma once

#include "evaluators/elastic/text.hpp"
#include "record/evaluation.hpp"
#include "record/task.hpp"
#include "settings/key_table.hpp"

namespace dodyn::evaluators::elastic_text {

struct RunOptions {
  double step = 1e-3, duration = 1.0;  // s; step 0: a fifth of the stable step
  rigid::Response response = rigid::Response::penalty;
  double restitution = 1.0;
  int nodes = 101;
  bool points = true;
  int batch = 8, start = 1;
};
const KeyTable<RunOptions>& run_keys();

// Returns the metrics of a run, in the order of the archive.
const std::vector<Quantity>& run_metrics();

struct RunResult {
  std::string reason;  // why the run failed; empty: it reached its end
  bool timed_out = false;
  Numbers seen;  // metrics, and BODY.x ... of all bodies at the end, by name
  Trajectory trajectory;
  int rows = 0;
  long steps = 0, touched = 0;
  int cells = 0, nodes = 0;
  const char* response = "";
  double step = 0.0, stable = 0.0, seconds = 0.0, end = 0.0;
  elastic::Energies before, after;
};

// Returns the names of the bodies, rigid ones first.
template <int n>
std::vector<std::string> names(const Scene<n>& scene);
// Returns the column names of a body: x, y, (z,) vx, vy(, vz).
std::vector<std::string> places(int dimension);

Channels run_channels(const std::vector<std::string>& names, int dimension, int rows);
// Returns the positions of all nodes, and the edges of the surfaces.
template <int n>
Channel points_channel(const Scene<n>& scene, int rows);

// Returns step, stiffness and response of a scene. Throws std::invalid_argument if bodies are invalid.
template <int n>
elastic::Options options_of(const Scene<n>& scene, const RunOptions& options);

// Throws std::invalid_argument if the run cannot start.
template <int n>
RunResult run(Scene<n> scene, const RunOptions& options, const Task& task);

// Describes a run for the user.
std::string describe_run(const RunResult& ran, std::size_t bodies, int dimension);

}  // namespace dodyn::evaluators::elastic_text
