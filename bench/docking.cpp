// Docking simulations per second on one core, by how they end.
//
//   docking [samples] [spacing, m] [step, s]
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <numbers>

#include "evaluators/docking_craft.hpp"
#include "surrogate/sampling.hpp"

int main(int argc, char** argv) {
  using namespace dodyn::evaluators;
  const auto cpu = [] { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; };
  const int samples = argc > 1 ? std::atoi(argv[1]) : 200;
  Docking docking;
  if (argc > 2) docking.spacing = std::atof(argv[2]);
  const double step = argc > 3 ? std::atof(argv[3]) : 2e-3;
  docking.charge_constant = calibrated_charge_constant(docking, 0.15, 30.0);
  DockingRules rules;
  DockingSimulator simulator(docking, rules, step);
  std::printf("K %.4g N m^2, seated pull %.4g N\n", docking.charge_constant, seated_pull(docking));

  const Eigen::MatrixXd points = dodyn::surrogate::sobol(2, samples, 1);
  int count[docked_kinds] = {};
  double seconds[docked_kinds] = {}, simulated[docked_kinds] = {};
  long steps[docked_kinds] = {};
  const double start = cpu();
  for (int i = 0; i < samples; ++i) {
    const double bearing = (2.0 * points(0, i) - 1.0) * 60.0 * std::numbers::pi / 180.0;
    const double distance = 0.08 + 0.12 * points(1, i);
    const double before = cpu();
    const DockingRun run = simulator.run(bearing, distance);
    const int kind = static_cast<int>(run.outcome);
    const double spent = cpu() - before;
    ++count[kind];
    seconds[kind] += spent;
    simulated[kind] += run.time;
    steps[kind] += run.steps;
  }
  const double total = cpu() - start;
  std::printf("%d simulations in %.2f s of CPU time: %.1f per second, 1000 in %.1f s\n", samples, total,
              samples / total, 1000.0 * total / samples);
  for (int k = 0; k < docked_kinds; ++k)
    if (count[k] > 0)
      std::printf("%-12s %5d  %7.2f s simulated, %7.0f steps, %7.2f ms each, %5.2f us a step\n",
                  std::string(to_string(static_cast<Docked>(k))).c_str(), count[k], simulated[k] / count[k],
                  static_cast<double>(steps[k]) / count[k], 1e3 * seconds[k] / count[k], 1e6 * seconds[k] / steps[k]);
  return 0;
}
