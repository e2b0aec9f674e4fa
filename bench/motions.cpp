// Motions with clearance: the native solver and Ipopt (exact Hessian, MUMPS) solve seeded starts of shipped
// configurations in one run, with the same derivative callbacks.
//
//   build/release/bench/motions CONFIG [starts [--key value ...]]        default: 20 starts
//
// Start 0 is a straight path, the others are bent at random. Each start prints one line: iterations, processor seconds
// of the thread and cost of both solvers; n: not solved. The last line has the medians over starts that both solve.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "evaluators/evaluator.hpp"
#include "evaluators/motion/design.hpp"
#include "evaluators/motion/initial_guess.hpp"
#include "measure.hpp"
#include "nlp/solve.hpp"
#include "record/random.hpp"

using namespace dodyn;
using bench::cpu_seconds, bench::median;

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  const int starts = argc > 2 ? std::atoi(argv[2]) : 20;
  const Settings settings = evaluators::read_settings(argv[1], {argv + std::min(argc, 3), argv + argc});
  const evaluators::MotionDesigns designs(settings);
  const Eigen::VectorXd design = evaluators::middle_design(designs.motion());
  std::vector<double> ratios, native_seconds, ipopt_seconds;
  int solved[2] = {0, 0};
  for (int i = 0; i < starts; ++i) {
    const auto path = evaluators::initial_path(designs.motion(), design, evaluation_seed(1, i), i);
    const auto planned = designs.plan(design, path);
    const Eigen::VectorXd x = designs.start(planned, path);
    double seconds[2];
    bool both = true;
    std::printf("%2d", i);
    for (int s = 0; s < 2; ++s) {
      nlp::Options options;
      options.backend = s == 0 ? nlp::Backend::native : nlp::Backend::ipopt;
      options.max_iterations = 1000;
      options.max_seconds = 600.0;
      const double begin = cpu_seconds();
      const nlp::Solution solution = nlp::solve(planned.problem.problem(), x, options);
      seconds[s] = cpu_seconds() - begin;
      const bool good = solution.status == nlp::SolveStatus::solved;
      solved[s] += good;
      both = both && good;
      std::printf("  %s %4d %8.3f s %.6g", good ? " " : "n", solution.iterations, seconds[s], solution.objective);
    }
    std::printf("\n");
    std::fflush(stdout);
    if (!both) continue;
    ratios.push_back(seconds[1] / seconds[0]);
    native_seconds.push_back(seconds[0]);
    ipopt_seconds.push_back(seconds[1]);
  }
  std::printf("solved: native %d, Ipopt %d of %d; both %zu: medians %.3f s, %.3f s, ratio %.2f\n", solved[0], solved[1],
              starts, ratios.size(), median(native_seconds), median(ipopt_seconds), median(ratios));
}
