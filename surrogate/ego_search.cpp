#include "surrogate/ego_search.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace dodyn::surrogate {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

bool EgoState::is_distinct(const VectorXd& u, double within) const {
  const bool noisy = observed.noisy();
  if (noisy && options.repeat) return true;
  return !observed.tried(observed.space.unit(observed.space.design(u)), noisy ? apart : within);
}

std::vector<Smooth> EgoState::conditions() const {
  constexpr double step = 1e-6;  // step of finite differences
  std::vector<Smooth> all;
  for (const auto& margin : options.margins) {
    double scale = 1e-300;
    for (const double u : {0.0, 0.5, 1.0}) {
      const double value = std::abs(margin(observed.space.design(VectorXd::Constant(dimensions(), u))));
      if (std::isfinite(value)) scale = std::max(scale, value);
    }
    all.push_back([this, &margin, scale](const VectorXd& u, VectorXd* slope) {
      const auto value_at = [&](const VectorXd& point) {
        const double value = -margin(observed.space.relaxed(point)) / scale;
        return std::isfinite(value) ? value : 1.0;
      };
      const double value = value_at(u);
      if (slope) *slope = VectorXd::Zero(u.size());
      for (Index k = 0; slope && k < u.size(); ++k) {
        if (!observed.space.moves(k)) continue;
        VectorXd other = u;
        other(k) += u(k) < 0.5 ? step : -step;
        (*slope)(k) = (value_at(other) - value) / (other(k) - u(k));
      }
      return value;
    });
  }
  return all;
}

VectorXd EgoState::last_possible(const VectorXd& from, const VectorXd& to) const {
  if (possible(to) || !possible(from)) return to;
  constexpr int halvings = 30;
  VectorXd inside = from, outside = to;
  for (int i = 0; i < halvings; ++i) {
    const VectorXd middle = 0.5 * (inside + outside);
    (possible(middle) ? inside : outside) = middle;
  }
  return observed.space.rounded(inside);
}

MatrixXd EgoState::possible_ones(const MatrixXd& units) const {
  if (!options.possible) return units;
  std::vector<Index> kept;
  for (Index i = 0; i < units.cols(); ++i)
    if (possible(units.col(i))) kept.push_back(i);
  return kept.empty() ? units : MatrixXd(units(Eigen::all, kept));
}

double EgoState::least_gain() const {
  if (compares_designs()) return selection.indifference;
  const double best = std::abs(observed.objective(*observed.best(), 0));
  return options.tolerance * std::max({best, 1e-3 * observed.quantile(0.5, Warp()), 1e-300});
}

VectorXd EgoState::recommended_or(const VectorXd& design) const {
  const VectorXd& best = selection.recommended->design;
  return observed.count_of(best) <= observed.count_of(design) ? best : design;
}

// If an evaluated design is within `same_design_distance` of the proposed one, more initial states of the evaluated
// design are more informative than a new design next to it.
VectorXd EgoState::instead_of(const VectorXd& design) const {
  if (!compares_pairs() || !options.repeat) return design;
  const VectorXd u = observed.space.unit(design);
  const Evaluation* nearest = nullptr;
  double least = same_design_distance;
  for (const Evaluation& e : observed.evaluations) {
    const double distance = (observed.unit(e) - u).cwiseAbs().maxCoeff();
    if (observed.is_informative(e) && distance < least) nearest = &e, least = distance;
  }
  if (!nearest) return design;
  return recommended_or(nearest->design);
}

}  // namespace dodyn::surrogate
