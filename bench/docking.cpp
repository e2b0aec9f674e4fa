// Prints simulations per second on one core, by their outcome, for docking or any configuration of `simulation`.
//
//   docking [configuration] [--key value ...]      default: configs/docking.cfg with ports 50 mm apart
#include <cstdio>
#include <ctime>
#include <exception>

#include "evaluators/evaluator.hpp"

int main(int argc, char** argv) {
  using namespace dodyn;
  std::vector<std::string> words(argv + 1, argv + argc);
  std::string configuration = "configs/docking.cfg";
  if (!words.empty() && !words[0].starts_with("--")) {
    configuration = words[0];
    words.erase(words.begin());
  } else {
    words.insert(words.begin(), "--design.spacing=0.05");
  }
  try {
    words.insert(words.begin(), "--simulation.frames=0");
    const auto evaluator = evaluators::make_evaluator(evaluators::read_settings(configuration, words));
    Task task;
    task.evaluation.design.resize(0);
    std::vector<Outcome> parts;
    const std::clock_t start = std::clock();
    for (task.part = 0; task.part < evaluator->parts(); ++task.part) parts.push_back(evaluator->evaluate(task));
    const double seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
    Eigen::Index count = 0;
    for (const auto& part : parts) count += part.trajectory.values.at(0).rows();
    const Outcome whole = evaluator->join(task.evaluation, std::move(parts));
    std::printf("%ld simulations in %.2f s of CPU time: %.1f per second, 1000 in %.1f s\n%s", static_cast<long>(count),
                seconds, static_cast<double>(count) / seconds, 1000.0 * seconds / static_cast<double>(count),
                evaluator->report(whole).c_str());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "docking: %s\n", error.what());
    return 2;
  }
  return 0;
}
