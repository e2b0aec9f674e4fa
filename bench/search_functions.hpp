// Functions for measuring searches, by kind: plateaus, failures, edges, many minima, constraints, whole numbers, noise,
// fronts. Each seed is another instance: the place of the feature is random.
#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "surrogate/random.hpp"
#include "surrogate/strategy_options.hpp"

namespace dodyn::bench {

using Scalar = std::function<double(const Eigen::VectorXd&)>;

// d variables a, b, ..., each from `lower` to `upper`.
std::vector<Variable> cube(int d, double lower, double upper);

// The published four: 2, 2, 3 and 6 variables.
double branin(const Eigen::VectorXd& x);
double goldstein_price(const Eigen::VectorXd& x);
double hartman3(const Eigen::VectorXd& x);
double hartman6(const Eigen::VectorXd& x);

struct Problem {
  std::vector<Variable> box;
  int budget = 60;
  double minimum = 0;
  Scalar f;
  std::function<bool(const Eigen::VectorXd&)> fails = {};
  std::vector<Scalar> metrics = {};  // constraints metric <= 0; or the second objective
  bool two_objectives = false;
  double whole = 0;                             // hypervolume of the true front
  std::vector<surrogate::Domain> domains = {};  // empty: all real
  double noise = 0;                             // standard deviation
};

struct Family {
  std::string name;
  bool aside;  // no setting is tuned on these
  std::function<Problem(surrogate::Random&)> instance;
};

std::vector<Family> families();

// Returns the largest difference between a cost and the minimum that counts as solved: 1 % of the minimum. If the
// minimum is 0: 0.1 % of the function's median over its box. With noise: 3 % of the spread of the function.
double allowance(const Problem& p);

// Returns the median of the costs of designs that evaluate and satisfy the limits; NaN: none was found.
double median_of(const Problem& p);

// Serves optimisers in other programs (bench/search_peers.py). Prints the problem as a line, then answers each line
// with a design. The answer has the status, the cost as a study sees it, the value without noise, and the largest
// violation of a constraint.
void serve(const Problem& p, std::uint64_t seed);

}  // namespace dodyn::bench
