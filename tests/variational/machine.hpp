// Shared by the tests of hybrid motions: a model file, ready to move.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "systems/assembly.hpp"
#include "variational/hybrid.hpp"

namespace dodyn::variational {

using Given = std::map<std::string, double>;

inline IntegratorOptions options_of(int order, double step, double rest_speed = 1e-6) {
  IntegratorOptions options;
  options.order = order;
  options.step = step;
  options.rest_speed = rest_speed;
  return options;
}

// A model file with values of its parameters, and the inputs of the integrator.
struct Machine {
  systems::HybridModel system;
  systems::Values<double> values;
  Mechanics mechanics;
  Assembly assembly;
  IntegratorOptions options;
  HybridIntegrator integrator;

  Machine(const std::string& text, const Given& given, const IntegratorOptions& piece_options,
          Rule rule = Rule::midpoint)
      : system(systems::read_hybrid_model(text, "test.model")),
        values(system.model.evaluate<double>(given)),
        mechanics(record(systems::formulation(system), rule), values.numbers),
        assembly(systems::assembly(system, values, mechanics)),
        options(piece_options),
        integrator(assembly, options) {}

  std::string start() {
    const int n = mechanics.n();
    Eigen::VectorXd q = Eigen::VectorXd::Zero(n), v = q;
    for (const auto& one : system.pieces.start)
      (one.rate ? v : q)(one.coordinate) = systems::Model::at(one.value, values.numbers);
    return integrator.start(0.0, q, v);
  }
  // From the text's start to `end`, in equal steps.
  void run(double end) {
    ASSERT_EQ(start(), "");
    go(end);
  }
  void go(double end) {
    const double from = integrator.now().time;
    const int steps = static_cast<int>(std::ceil((end - from) / options.step - 1e-9));
    for (int k = 1; k <= steps; ++k) ASSERT_EQ(integrator.advance(from + (end - from) * k / steps), "");
  }
  std::vector<double> times(Event::Kind kind) const {
    std::vector<double> all;
    for (const Event& event : integrator.events())
      if (event.kind == kind) all.push_back(event.time);
    return all;
  }
  const Eigen::VectorXd& q() const { return integrator.now().q; }
  double q(int i) const { return q()(i); }
  double energy() const {
    const auto& state = mechanics.state(integrator.now().q, integrator.velocity());
    return state.kinetic + state.potential;
  }
};

}  // namespace dodyn::variational
