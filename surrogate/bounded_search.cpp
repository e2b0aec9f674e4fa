#include "surrogate/bounded_search.hpp"

#include <cmath>
#include <nlopt.hpp>
#include <stdexcept>
#include <vector>

namespace dodyn::surrogate {

using Eigen::Map;
using Eigen::VectorXd;

Found maximise(const std::function<double(const VectorXd&, VectorXd*)>& f, const VectorXd& start,
               const BoundedSearch& search) {
  Found best;
  nlopt::opt slsqp(nlopt::LD_SLSQP, static_cast<unsigned>(start.size()));
  struct Context {
    const std::function<double(const VectorXd&, VectorXd*)>& f;
    double unusable;
    Found& best;
  } context{f, search.unusable, best};
  slsqp.set_max_objective(
      [](unsigned n, const double* x, double* slope, void* data) {
        auto& c = *static_cast<Context*>(data);
        const VectorXd at = Map<const VectorXd>(x, n);
        VectorXd gradient = VectorXd::Zero(n);
        const double value =
            at.allFinite() ? c.f(at, slope ? &gradient : nullptr) : std::numeric_limits<double>::quiet_NaN();
        const bool usable = std::isfinite(value) && gradient.allFinite();
        if (slope) Map<VectorXd>(slope, n) = usable ? gradient : VectorXd::Zero(n);
        if (!usable) return c.unusable;
        if (value > c.best.value) c.best = {at, value};
        return value;
      },
      &context);
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
  } catch (const std::runtime_error&) {  // rounding; the best so far stands
  }
  return best;
}

}  // namespace dodyn::surrogate
