// Functions with a cheaper approximation, as published for searches with two fidelities.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <numbers>
#include <string>
#include <vector>

#include "record/evaluation.hpp"
#include "surrogate/random.hpp"
#include "surrogate/sampling.hpp"

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

// Sets the minimum of `high` and the target: pattern searches from the best of 4096 points of the unit cube.
inline void find_minimum(TwoFidelities& pair) {
  constexpr int points = 4096, starts = 20;
  const int d = pair.box.size();
  const Eigen::MatrixXd at = sobol(d, points, 1);
  std::vector<std::pair<double, Eigen::Index>> costs;
  double sum = 0, squares = 0;
  for (Eigen::Index i = 0; i < points; ++i) {
    const double cost = pair.high(at.col(i));
    costs.emplace_back(cost, i);
    sum += cost, squares += cost * cost;
  }
  std::sort(costs.begin(), costs.end());
  pair.least = costs[0].first;
  for (int start = 0; start < starts; ++start) {
    Eigen::VectorXd x = at.col(costs[start].second);
    double cost = costs[start].first;
    for (double step = 0.02; step > 1e-7; step /= 2)
      for (bool moved = true; moved;) {
        moved = false;
        for (int k = 0; k < 2 * d; ++k) {
          Eigen::VectorXd y = x;
          y(k / 2) = std::clamp(y(k / 2) + (k % 2 ? step : -step), 0.0, 1.0);
          if (const double other = pair.high(y); other < cost) x = y, cost = other, moved = true;
        }
      }
    pair.least = std::min(pair.least, cost);
  }
  pair.target = pair.least + 0.01 * std::sqrt(squares / points - std::pow(sum / points, 2));
}

// Pairs whose cheaper function has its minimum elsewhere, although it resembles the other one in most of the unit cube.
// Each seed has other places.
inline std::vector<TwoFidelities> misleading_two_fidelities(int d, std::uint64_t seed) {
  using Eigen::VectorXd;
  using std::numbers::pi;
  Random random(1000 * static_cast<std::uint64_t>(d) + seed);
  constexpr double apart = 0.4;
  std::vector<VectorXd> at;
  while (at.size() < 4) {
    const VectorXd x = VectorXd::NullaryExpr(d, [&] { return 0.1 + 0.8 * random.uniform(); });
    // four places on a line cannot be that far from each other
    const double distance = d == 1 ? apart / 2.5 : apart;
    if (std::all_of(at.begin(), at.end(), [&](const VectorXd& other) { return (x - other).norm() >= distance; }))
      at.push_back(x);
  }
  const double width = (d == 1 ? 0.06 : 0.12) * std::sqrt(static_cast<double>(d));
  const auto well = [=](const VectorXd& x, std::size_t which, double size = 1) {
    return std::exp(-(x - at[which]).squaredNorm() / (2 * std::pow(size * width, 2)));
  };
  const auto wells = [=](const VectorXd& x) { return -well(x, 0) - 0.8 * well(x, 1) - 0.6 * well(x, 2); };
  const auto bowl = [=](const VectorXd& x) { return (x - at[1]).squaredNorm(); };
  const double depth = 0.2 + 1.5 * bowl(at[0]);
  const VectorXd phase = VectorXd::NullaryExpr(d, [&] { return random.uniform(); });
  const auto ripples = [=](const VectorXd& x) { return (1 - (2 * pi * (3 * x - phase).array()).cos()).sum(); };
  std::vector<Variable> box;
  for (int k = 0; k < d; ++k) box.push_back({"x" + std::to_string(k + 1), "1", 0, 1});
  std::vector<TwoFidelities> all = {
      {"swapped minima", "", box, wells,
       [=](const VectorXd& x) { return -0.6 * well(x, 0) - 0.8 * well(x, 1) - well(x, 2); }},
      {"missing minimum", "", box, [=](const VectorXd& x) { return bowl(x) - depth * well(x, 0); }, bowl},
      {"additional minimum", "", box, wells, [=](const VectorXd& x) { return wells(x) - 1.5 * well(x, 3); }},
      {"covered minimum", "", box, wells, [=](const VectorXd& x) { return wells(x) + 2 * well(x, 0, 1.5); }},
      {"missing ripples", "", box, [=](const VectorXd& x) { return 4 * bowl(x) + 0.3 * ripples(x); }, bowl}};
  for (TwoFidelities& pair : all) find_minimum(pair);
  return all;
}

}  // namespace dodyn::surrogate
