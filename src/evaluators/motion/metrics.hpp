// Metrics of a configuration along an optimal motion: [metrics] peak = max_over(abs(u.hip)).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "dmoc/path_function.hpp"
#include "evaluators/metrics.hpp"
#include "evaluators/motion/description.hpp"

namespace dodyn::evaluators {

// Returns the kind of the section [metrics] of motions and gaits.
ini::SectionKind motion_metrics_section();

class MotionMetrics {
 public:
  // Reads [metrics]. `built_in`: metrics that every motion of this description has. Throws ConfigError.
  MotionMetrics(const Settings& settings, const MotionDescription& description, const std::vector<Quantity>& built_in);

  const std::vector<Quantity>& quantities() const { return expressions_.quantities(); }
  // Returns the values of the entries for a motion. `values`: numbers of its design. `metrics`: values of the metrics
  // that the motion has without them.
  std::vector<double> values(const MotionDescription::MetricInputs& seen, const MotionValues& values,
                             std::vector<double> metrics) const;

 private:
  // An expression in a phase, of the motion or of forces.
  struct PhaseFunction {
    int phase = 0;
    dmoc::PathFunction function;
    std::vector<std::optional<HeldForce>> forces = {};  // quantities of `function.expression`; nullopt: a parameter.
                                                        // Empty: an expression of the motion
  };
  // An aggregate over phases.
  struct Term {
    std::string function;  // name of the aggregate
    std::vector<PhaseFunction> parts;
  };
  Term read(const MotionDescription& description, const Aggregate& aggregate) const;
  Term read_forces(const MotionDescription& description, const Aggregate& aggregate,
                   const std::vector<int>& phases) const;
  static double value(const Term& term, const MotionDescription::MetricInputs& seen, const dmoc::Lookup& lookup);
  // Evaluates an expression of forces at the knots of its phase, as path_values(). An end whose velocities are not
  // unknowns has no force. The row of this end has the value of the next knot, and the integral NaN.
  static Eigen::MatrixXd force_values(const PhaseFunction& part, const MotionDescription::MetricInputs& seen,
                                      const dmoc::Lookup& lookup);

  std::vector<std::string> parameters_;  // names of MotionValues::motion, which the expressions may use
  std::vector<Term> terms_;
  MetricExpressions expressions_;
};

}  // namespace dodyn::evaluators
