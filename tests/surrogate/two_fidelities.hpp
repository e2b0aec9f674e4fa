// Functions with a cheaper approximation, as published for searches with two fidelities.
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <numbers>
#include <string>
#include <vector>

#include "record/evaluation.hpp"

namespace dodyn::surrogate {

struct TwoFidelities {
  std::string name, source;
  std::vector<Variable> box;
  std::function<double(const Eigen::VectorXd&)> high, low;
  double least = 0;   // minimum of `high` in the box
  double target = 0;  // cost that a search shall reach: the minimum plus 1 % of the standard deviation over the box
};

namespace two_fidelities {

inline double forrester(double x) { return std::pow(6 * x - 2, 2) * std::sin(12 * x - 4); }

// Of two Branin functions; `b`: coefficient of the square.
inline double branin(const Eigen::VectorXd& x, double b) {
  constexpr double pi = std::numbers::pi;
  return std::pow(x(1) - b * x(0) * x(0) + 5 / pi * x(0) - 6, 2) + 10 * (1 - 1 / (8 * pi)) * std::cos(x(0)) + 10;
}

inline double currin(double x, double y) {
  const double rise = y > 0 ? 1 - std::exp(-1 / (2 * y)) : 1;
  return rise * (2300 * x * x * x + 1900 * x * x + 2092 * x + 60) / (100 * x * x * x + 500 * x * x + 4 * x + 20);
}

}  // namespace two_fidelities

inline std::vector<TwoFidelities> published_two_fidelities() {
  using namespace two_fidelities;
  using Eigen::VectorXd;
  constexpr double pi = std::numbers::pi, b = 5.1 / (4 * pi * pi);
  const auto unit_box = [](int d) {
    std::vector<Variable> box;
    for (int k = 0; k < d; ++k) box.push_back({"x" + std::to_string(k + 1), "1", 0, 1});
    return box;
  };
  std::vector<TwoFidelities> all;
  all.push_back({"Forrester", "A. Forrester, A. Sobester, A. Keane (2007)", unit_box(1),
                 [](const VectorXd& x) { return forrester(x(0)); },
                 [](const VectorXd& x) { return 0.5 * forrester(x(0)) + 10 * (x(0) - 0.5) - 5; }, -6.02074, -5.97618});
  all.push_back({"Branin",
                 "J. Wu et al. (2019)",
                 {{"x1", "1", -5, 10}, {"x2", "1", 0, 15}},
                 [](const VectorXd& x) { return branin(x, b); },
                 [](const VectorXd& x) { return branin(x, b - 0.1); },
                 0.397887,
                 0.910});
  // the maximum is sought
  all.push_back({"Currin", "S. Xiong, P. Qian, C. Wu (2013)", unit_box(2),
                 [](const VectorXd& x) { return -currin(x(0), x(1)); },
                 [](const VectorXd& x) {
                   const double below = std::max(0.0, x(1) - 0.05);
                   return -0.25 * (currin(x(0) + 0.05, x(1) + 0.05) + currin(x(0) + 0.05, below) +
                                   currin(x(0) - 0.05, x(1) + 0.05) + currin(x(0) - 0.05, below));
                 },
                 -13.7987, -13.7722});
  return all;
}

}  // namespace dodyn::surrogate
