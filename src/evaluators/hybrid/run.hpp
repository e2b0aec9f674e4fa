// A hybrid motion of a model for a design: simulates it, or finds its gait; samples, measures and reports it.
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
  variational::IntegratorOptions integrator;
  double end = 2.0;  // s
  int nodes = 201;   // number of rows of a trajectory
  double k = 0.0;    // decay constant of the projection, 1/m2; 0: three times the smallest valid value
  int impacts = 0;   // number of impacts that ends the motion; 0: no limit
  Find find = Find::motion;
  std::string travels;  // names of coordinates, separated by commas
  bool gradient = false;
  variational::GaitOptions gait;
};

using Numbers = std::map<std::string, double>;

// The motion of a run, with its events, metrics and gait.
struct HybridResult {
  std::string reason;  // why the run failed; empty: it reached its end
  bool bad_start = false;
  std::string warning;    // why the motion may be wrong; empty: nothing was noticed
  Trajectory trajectory;  // by channels(); [nodes] rows, or with `every_step` one per integration node
  std::vector<variational::Event> events;
  Numbers seen;  // metrics, and coordinates and rates at the end, by name
  variational::Gait gait;
  double energy_before = 0.0, energy_after = 0.0;      // J
  double dissipated_energy = 0.0, reset_energy = 0.0;  // kinetic energy lost in events; potential energy gained in
                                                       // resets; J
  // Returns the energy change without events and resets, J: work of forces, and errors of the steps.
  double energy_change() const { return energy_after - energy_before + dissipated_energy - reset_energy; }
  long steps = 0;
  double k = 0.0, least_k = 0.0;  // only for the method projected
};

class HybridRun {
 public:
  // Records the model. Throws ConfigError. `system` must outlive this object.
  HybridRun(const systems::HybridModel& system, const HybridOptions& options);

  std::vector<std::string> metric_names() const;
  static std::vector<std::string> all_metric_names();  // including those of gaits
  Channels channels(int nodes) const;
  // Runs from `start`: coordinates and rates, [2n]; NaN: the value of the model's [initial-state]. `every_step`: the
  // rows are all steps and both sides of events, not evenly spaced nodes.
  HybridResult run(const systems::Values<double>& values, const std::vector<double>& start, bool every_step) const;

  std::string event_name(const variational::Event& event) const;

 private:
  struct Recorder;
  struct Projection;
  void begin_stride(const variational::Mechanics& mechanics, const variational::Assembly& assembly,
                    variational::HybridIntegrator& integrator, HybridResult& ran) const;
  void drive(double end, bool every_step, variational::HybridIntegrator& integrator, Projection* projection,
             Recorder& recorder, HybridResult& ran) const;
  void measure(const variational::HybridIntegrator& integrator, HybridResult& ran) const;
  const systems::HybridModel& system_;
  const systems::Model& model_;
  HybridOptions options_;
  variational::Recorded recorded_;
  std::optional<systems::Projected> projected_;
  std::vector<int> travels_;
};

}  // namespace dodyn::evaluators::hybrid
