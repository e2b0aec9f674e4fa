// Metrics of a configuration: [metrics] NAME = an expression of parameters, metrics and aggregates. An aggregate makes
// one number of the values along a motion, or at the ends of all runs: max_over(abs(u.hip)), share(resting).
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "settings/settings.hpp"
#include "systems/model.hpp"

namespace dodyn::evaluators {

// A call of an aggregate: mean(u.knee^2, flight).
struct Aggregate {
  std::string function;
  Expression argument;
  std::string phase = {};  // name after the comma; empty: none
};

class MetricExpressions {
 public:
  // Names that the expressions may use.
  struct Names {
    std::vector<std::string> aggregates, parameters;
    std::vector<Quantity> metrics;  // metrics of the evaluator
  };
  // Reads an aggregate, once for each different text. Throws ConfigError or ExpressionError.
  using Read = std::function<void(const CustomEntry&, const Aggregate&)>;
  // Throws ConfigError. `model`: for the units; see metric_quantities().
  MetricExpressions(const Settings& settings, const systems::Model& model, Names names, const Read& read);

  // Returns name, unit and description of each entry.
  const std::vector<Quantity>& quantities() const { return quantities_; }
  // Returns the values of the entries. `metrics`: values of the evaluator's metrics. `aggregates`: values in the order
  // in which they were read.
  std::vector<double> values(std::vector<double> metrics, const std::function<double(const std::string&)>& parameter,
                             const std::vector<double>& aggregates) const;

 private:
  struct Argument {
    enum Kind { parameter, metric, aggregate } kind = parameter;
    std::size_t index = 0;  // in the parameters' names, the metrics or the aggregates
  };
  struct Entry {
    Expression expression;
    std::vector<Argument> arguments;  // the expression's quantities, in their order
  };
  void read_entry(const CustomSection& section, const CustomEntry& entry, const Read& read);
  Argument argument(const CustomSection& section, const CustomEntry& entry, const Expression::Quantity& quantity,
                    const Read& read);
  Aggregate parsed(const CustomEntry& entry, const Expression::Quantity& call) const;

  Names names_;
  std::vector<Quantity> quantities_;
  std::vector<Expression::Quantity> calls_;  // aggregates in the order in which they were read
  std::vector<Entry> entries_;
};

}  // namespace dodyn::evaluators
