// Evaluators as a farm with one rank would use them, and their numbers by name.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <stdexcept>
#include <string>
#include <vector>

#include "evaluators/evaluator.hpp"

namespace dodyn::evaluators {

inline Task task(const std::vector<double>& design = {}, std::int64_t id = 0, std::uint64_t seed = 3) {
  Task t;
  t.evaluation.id = id;
  t.evaluation.design = Eigen::Map<const Eigen::VectorXd>(design.data(), design.size());
  t.evaluation.seed = seed;
  return t;
}

// All parts, joined; the last one is evaluated first, as may happen on a farm.
inline Outcome whole(const Evaluator& evaluator, Task t = task()) {
  if (evaluator.parts() == 1) return evaluator.evaluate(t);
  std::vector<Outcome> parts(evaluator.parts());
  for (t.part = evaluator.parts() - 1; t.part >= 0; --t.part) parts[t.part] = evaluator.evaluate(t);
  return evaluator.join(t.evaluation, std::move(parts));
}

inline double metric(const Evaluator& evaluator, const Evaluation& evaluation, const std::string& name) {
  const auto list = evaluator.metrics();
  for (std::size_t i = 0; i < list.size(); ++i)
    if (list[i].name == name) return evaluation.metrics[i];
  ADD_FAILURE() << "no metric " << name;
  return not_a_number;
}
inline double metric(const Evaluator& evaluator, const Outcome& outcome, const std::string& name) {
  return metric(evaluator, outcome.evaluation, name);
}

// The gradient of the optimal cost beside central differences of order 4 of designs that are solved again.
inline void expect_gradient_of_optimal_cost(const Evaluator& evaluator, const std::vector<double>& design,
                                            const std::string& what) {
  const Outcome at = evaluator.evaluate(task(design));
  ASSERT_EQ(at.evaluation.status, Status::ok) << at.evaluation.reason;
  ASSERT_EQ(at.evaluation.gradient.size(), design.size());
  for (std::size_t i = 0; i < design.size(); ++i) {
    const double step = 1e-4;
    const auto cost = [&](double by) {
      std::vector<double> near = design;
      near[i] += by;
      return evaluator.evaluate(task(near)).evaluation.cost;
    };
    const double slope = (8.0 * (cost(step) - cost(-step)) - (cost(2 * step) - cost(-2 * step))) / (12.0 * step);
    EXPECT_NEAR(at.evaluation.gradient(i), slope, 2e-6 * std::max(1.0, std::abs(slope))) << what << ", " << i;
  }
}

inline const Eigen::MatrixXd& channel(const Evaluator& evaluator, const Outcome& outcome, const std::string& name) {
  const auto list = evaluator.channels();
  for (std::size_t i = 0; i < list.size(); ++i)
    if (list[i].name == name) return outcome.trajectory.values.at(i);
  throw std::logic_error("no channel " + name);
}

}  // namespace dodyn::evaluators
