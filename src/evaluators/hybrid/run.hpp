// A motion in pieces of a model, for a design: run forward, or its gait; sampled, measured and reported.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "record/trajectory.hpp"
#include "systems/assembly.hpp"
#include "systems/projected.hpp"
#include "variational/return_map.hpp"

namespace dodyn::evaluators::hybrid {

enum class Method { midpoint, stoermer_verlet, projected };
enum class Find { motion, gait };

struct HybridOptions {
  std::string model;
  Method method = Method::midpoint;
  variational::PieceOptions pieces;
  double end = 2.0;  // s
  int nodes = 201;   // rows of a trajectory
  double k = 0.0;    // of the projection, 1/m2; 0: three times the least
  int impacts = 0;   // number of impacts that ends the motion; 0: none does
  Find find = Find::motion;
  std::string travels;  // coordinates, by commas
  bool gradient = false;
  variational::GaitOptions gait;
};

using Numbers = std::map<std::string, double>;

// What a run was.
struct HybridResult {
  std::string reason;  // empty: it came to its end
  bool bad_start = false;
  Trajectory trajectory;  // of channels(); rows: `nodes`, or with `all_nodes` one for each node
  std::vector<variational::Event> events;
  Numbers seen;  // metrics, coordinates and rates at the end, by name
  variational::Gait gait;
  double energy_before = 0.0, energy_after = 0.0;  // J
  long steps = 0;
  double k = 0.0, least_k = 0.0;  // method projected
};

class HybridRun {
 public:
  // Records the model. Throws ConfigError. `system` must outlive it.
  HybridRun(const systems::HybridModel& system, const HybridOptions& options);

  std::vector<std::string> metric_names() const;
  static std::vector<std::string> all_metric_names();  // those of gaits, too
  Channels channels(int nodes) const;
  // `start`: coordinates and rates, [2n], NaN where the model's own [initial-state] counts. `every_step`: rows are all steps and both
  // sides of events instead of evenly spaced nodes.
  HybridResult run(const systems::Values<double>& values, const std::vector<double>& start, bool every_step) const;

  std::string event_name(const variational::Event& event) const;

 private:
  struct Recorder;
  void measure(const variational::HybridIntegrator& integrator, HybridResult& ran) const;
  const systems::HybridModel& system_;
  const systems::Model& model_;
  HybridOptions options_;
  variational::Recorded recorded_;
  std::optional<systems::Projected> projected_;
  std::vector<int> travels_;
};

}  // namespace dodyn::evaluators::hybrid
