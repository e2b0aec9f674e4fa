// Bouncing ball and falling bar next to Siconos and Box2D: error of the final position against CPU time.
//
//   bench/impacts          (peers that are installed: libsiconos-kernel-dev, libbox2d-dev)
//
// Siconos (Moreau and Jean's method, theta = 1/2) and Box2D (symplectic Euler in single precision, sequential impulses)
// do not locate the time of an impact within a step; dodyn does. The final position of the ball is known in closed
// form. That of the bar comes from an event-driven program with tolerance 1e-12.
#include <cmath>
#include <cstdio>
#include <ctime>
#include <string>

#include "systems/assembly.hpp"
#include "variational/hybrid.hpp"

struct Result {
  double position, seconds;
};
Result siconos(bool bar, double h, double end);  // siconos_motion.cpp, a file of its own because Siconos requires C++17
Result box2d(bool bar, double h, double end);    // box2d_motion.cpp

namespace {

Result dodyn_motion(bool bar, int order, double h, double end) {
  using namespace dodyn;
  const std::string ball =
      "[model]\ndimension = 2\ngravity = 10\n[link ball]\nparent = ground\njoint = prismatic y\ncoordinates = y\nmass "
      "= 1\n"
      "[contact floor]\ngap = y\nrestitution = 0.8\n[initial-state]\ny = 1.25\n";
  const auto system = systems::read_hybrid_model(bar ? systems::model_text("bar-drop") : ball, "scene");
  const auto values = system.model.evaluate<double>({});
  const variational::Mechanics mechanics(variational::record(systems::formulation(system), variational::Rule::midpoint),
                                         values.numbers);
  const auto assembly = systems::assembly(system, values, mechanics);
  variational::IntegratorOptions options;
  options.order = order;
  options.step = h;
  variational::HybridIntegrator integrator(assembly, options);
  Eigen::VectorXd q = Eigen::VectorXd::Zero(mechanics.n()), v = q;
  for (const auto& one : system.pieces.start)
    (one.rate ? v : q)(one.coordinate) = systems::Model::at(one.value, values.numbers);
  integrator.start(0.0, q, v);
  const std::clock_t before = std::clock();
  const long steps = std::lround(end / h);
  for (long k = 1; k <= steps; ++k)
    if (!integrator.advance(static_cast<double>(k) * h).empty()) break;
  return {integrator.now().q(bar ? 1 : 0), static_cast<double>(std::clock() - before) / CLOCKS_PER_SEC};
}

}  // namespace

int main() {
  std::printf("| scene | program | h, ms | error, m | CPU, ms |\n|---|---|---:|---:|---:|\n");
  for (const bool bar : {false, true}) {
    const double end = 2.0;
    double reference = -0.090149521;
    if (!bar) {  // first impact at 0.5 s with 5 m/s; flights then last 2 speed/10
      double t = 0.5, speed = 5.0;
      for (; t + 2 * 0.8 * speed / 10 < end; speed *= 0.8) t += 2 * 0.8 * speed / 10;
      reference = 0.8 * speed * (end - t) - 5.0 * (end - t) * (end - t);
    }
    const char* scene = bar ? "bar" : "ball, e = 0.8";
    const auto row = [&](const char* program, double h, const Result& r) {
      std::printf("| %s | %s | %g | %.1e | %.2f |\n", scene, program, 1e3 * h, std::abs(r.position - reference),
                  1e3 * r.seconds);
    };
    for ([[maybe_unused]] const double h : {1e-2, 1e-3, 1e-4, 1e-5}) {
#ifdef DODYN_HAVE_SICONOS
      row("Siconos", h, siconos(bar, h, end));
#endif
#ifdef DODYN_HAVE_BOX2D
      row("Box2D", h, box2d(bar, h, end));
#endif
    }
    for (const int order : {2, 6})
      for (const double h : {1e-1, 1e-2, 1e-3})
        row(order == 2 ? "dodyn, order 2" : "dodyn, order 6", h, dodyn_motion(bar, order, h, end));
  }
}
