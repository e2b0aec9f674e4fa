#include "surrogate/bounded_search.hpp"

#include <algorithm>
#include <cmath>
#include <nlopt.hpp>
#include <stdexcept>
#include <vector>

namespace dodyn::surrogate {

using Eigen::Map;
using Eigen::VectorXd;

Maximum maximise(const Smooth& f, const VectorXd& start, const BoundedSearch& search) {
  Maximum best;
  nlopt::opt slsqp(nlopt::LD_SLSQP, static_cast<unsigned>(start.size()));
  struct Context {
    const Smooth& f;
    const BoundedSearch& search;
    Maximum& best;
  } context{f, search, best};
  slsqp.set_max_objective(
      [](unsigned n, const double* x, double* slope, void* data) {
        auto& c = *static_cast<Context*>(data);
        const VectorXd at = Map<const VectorXd>(x, n);
        VectorXd gradient = VectorXd::Zero(n);
        const double value =
            at.allFinite() ? c.f(at, slope ? &gradient : nullptr) : std::numeric_limits<double>::quiet_NaN();
        const bool usable = std::isfinite(value) && gradient.allFinite();
        if (slope) Map<VectorXd>(slope, n) = usable ? gradient : VectorXd::Zero(n);
        if (!usable) return c.search.unusable;
        const auto kept = [&](const Smooth& g) { return g(at, nullptr) <= 1e-9; };
        if (value > c.best.value && std::all_of(c.search.at_most_zero.begin(), c.search.at_most_zero.end(), kept))
          c.best = {at, value};
        return value;
      },
      &context);
  for (const Smooth& g : search.at_most_zero)
    slsqp.add_inequality_constraint(
        [](unsigned n, const double* x, double* slope, void* data) {
          const VectorXd at = Map<const VectorXd>(x, n);
          VectorXd gradient = VectorXd::Zero(n);
          const double value =
              at.allFinite() ? (*static_cast<const Smooth*>(data))(at, slope ? &gradient : nullptr) : 1.0;
          if (slope) Map<VectorXd>(slope, n) = gradient;
          return value;
        },
        const_cast<Smooth*>(&g), 1e-9);
  slsqp.set_lower_bounds(std::vector<double>(search.lower.begin(), search.lower.end()));
  slsqp.set_upper_bounds(std::vector<double>(search.upper.begin(), search.upper.end()));
  slsqp.set_maxeval(search.max_evaluations);
  if (search.step_tolerance > 0) slsqp.set_xtol_abs(search.step_tolerance);
  if (search.value_tolerance > 0) slsqp.set_ftol_abs(search.value_tolerance);
  const VectorXd inside = start.cwiseMax(search.lower).cwiseMin(search.upper);
  std::vector<double> x(inside.begin(), inside.end());
  double value = 0;
  try {
    slsqp.optimize(x, value);
  } catch (const std::runtime_error&) {  // SLSQP stops on rounding errors: keep the best point found
  }
  return best;
}

}  // namespace dodyn::surrogate
