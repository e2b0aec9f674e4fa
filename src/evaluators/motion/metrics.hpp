// Metrics of a configuration along an optimal motion: [metrics] peak = max_over(abs(u.hip)).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "dmoc/path_function.hpp"
#include "evaluators/metrics.hpp"
#include "evaluators/motion/description.hpp"

namespace dodyn::evaluators {

// Section [metrics] of motions and gaits.
ini::SectionKind motion_metrics_section();

class MotionMetrics {
 public:
  // `built_in`: metrics that every motion of this description has. Throws ConfigError.
  MotionMetrics(const Settings& settings, const MotionDescription& description, const std::vector<Quantity>& built_in);

  const std::vector<Quantity>& quantities() const { return expressions_.quantities(); }
  // Returns the values of the entries for a solution. `metrics`: values of the metrics that the motion has without
  // them. `values`: numbers of its design.
  std::vector<double> values(const dmoc::MotionProblem& problem, const Eigen::VectorXd& x, const MotionValues& values,
                             std::vector<double> metrics) const;

 private:
  // An aggregate over phases of the motion.
  struct PhaseFunction {
    int phase = 0;
    dmoc::PathFunction function;
  };
  struct Term {
    std::string function;  // name of the aggregate
    std::vector<PhaseFunction> parts;
  };
  Term read(const MotionDescription& description, const Aggregate& aggregate) const;
  static double value(const Term& term, const dmoc::MotionProblem& problem, const Eigen::VectorXd& x,
                      const dmoc::Lookup& lookup);

  std::vector<std::string> parameters_;  // of the motion
  std::vector<Term> terms_;
  MetricExpressions expressions_;
};

}  // namespace dodyn::evaluators
