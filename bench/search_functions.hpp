// Functions that searches are measured on, by kind: plateaus, failures, edges, many minima, constraints, whole numbers, noise, fronts.
// Each seed is another instance: where the feature lies is drawn from it.
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
  std::vector<Scalar> metrics = {};  // each to be kept <= 0; or the second objective
  bool two_objectives = false;
  double whole = 0;                             // hypervolume of the true front
  std::vector<surrogate::Domain> domains = {};  // empty: all real
  double noise = 0;                             // standard deviation
};

struct Family {
  std::string name;
  bool aside;  // nothing is chosen on these
  std::function<Problem(surrogate::Random&)> instance;
};

std::vector<Family> families();

// How far above the minimum a cost may be and be called solved: 1 % of it, or where it is 0 a thousandth of the function's median over
// its box; with noise three hundredths of the spread of the function.
double allowance(const Problem& p);

// For optimisers elsewhere (bench/search_peers.py): the problem as a line, then for each line with a design one with its status, the cost
// as a study would see it, its value without noise, and how far the worst constraint is broken.
void serve(const Problem& p, std::uint64_t seed);

}  // namespace dodyn::bench
