// Times one step of a model file next to the same step of a compiled system: the wedge on its left foot, midpoint rule.
//
//   bench/hybrid_steps [steps]
//
// Both solve for the next posture by Newton's method with the foot held. The model file also evaluates its guards for
// the end of the piece. CPU time, the minimum of five interleaved rounds.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>

#include "systems/assembly.hpp"
#include "tests/systems/wedge.hpp"
#include "tests/variational/stepping.hpp"
#include "variational/hybrid.hpp"

using namespace dodyn;
using Vector3 = variational::Vector<3>;

int main(int argc, char** argv) {
  const int steps = argc > 1 ? std::atoi(argv[1]) : 20000;
  const double h = 1e-6;  // short, so that the posture hardly changes
  const auto system = systems::read_hybrid_model(systems::model_text("wedge"), "wedge.model");
  const auto values = system.model.evaluate<double>({});
  const variational::Mechanics mechanics(variational::record(systems::formulation(system), variational::Rule::midpoint),
                                         values.numbers);
  const auto assembly = systems::assembly(system, values, mechanics);
  variational::IntegratorOptions options;
  options.order = 2;
  variational::HybridIntegrator integrator(assembly, options);
  Eigen::VectorXd q = Eigen::VectorXd::Zero(3), v = q;
  for (const auto& one : system.pieces.start)
    (one.rate ? v : q)(one.coordinate) = systems::Model::at(one.value, values.numbers);
  if (const auto wrong = integrator.start(0.0, q, v); !wrong.empty()) {
    std::fprintf(stderr, "%s\n", wrong.c_str());
    return 1;
  }
  const variational::HybridState begin = integrator.now();

  const systems::Wedge wedge;
  const double tilt = 0.3;
  const Vector3 none = Vector3::Zero(), q0(wedge.arm() * std::cos(tilt + wedge.elevation()),
                                           wedge.arm() * std::sin(tilt + wedge.elevation()), tilt);
  const auto seconds = [](auto what) {
    const std::clock_t before = std::clock();
    what();
    return static_cast<double>(std::clock() - before) / CLOCKS_PER_SEC;
  };
  double compiled = 1e9, flow = 1e9, guarded = 1e9, angle[3] = {};
  for (int round = 0; round < 5; ++round) {
    compiled =
        std::min(compiled, seconds([&] {
                   Vector3 at = q0, p = none, velocity = none;
                   for (int k = 0; k < steps; ++k) {
                     const auto step = variational::advance<variational::Midpoint>(
                         wedge, wedge.left_foot(), k * h, at, p, (k + 1) * h, none, none, Vector3(at + h * velocity));
                     velocity = (step.q - at) / h;
                     at = step.q;
                     p = step.p;
                   }
                   angle[0] = at(2);
                 }));
    flow = std::min(flow, seconds([&] {
                      variational::HybridState from = begin, to;
                      for (int k = 0; k < steps; ++k) {
                        if (!integrator.flow(from, h, to)) std::exit(1);
                        std::swap(from, to);
                      }
                      angle[1] = from.q(2);
                    }));
    guarded = std::min(guarded, seconds([&] {
                         integrator.resume(begin);
                         for (int k = 1; k <= steps; ++k)
                           if (!integrator.advance(k * h).empty()) std::exit(1);
                         angle[2] = integrator.now().q(2);
                       }));
  }
  const double us = 1e6 / steps;
  std::printf("compiled %.2f us, text's flow %.2f us (%.2f), with guards %.2f us (%.2f); angle %.9f %.9f %.9f\n",
              compiled * us, flow * us, flow / compiled, guarded * us, guarded / compiled, angle[0], angle[1],
              angle[2]);
}
