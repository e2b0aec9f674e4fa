#include "surrogate/design_space.hpp"

#include <algorithm>
#include <cmath>
#include <sstream>
#include <stdexcept>

#include "surrogate/strategy.hpp"

namespace dodyn::surrogate {

using Eigen::Index;
using Eigen::VectorXd;

DesignSpace::DesignSpace(const std::vector<Variable>& variables, const std::vector<Domain>& domains,
                         const std::string& owner)
    : variables_(variables), domains_(domains) {
  if (variables.empty()) throw std::invalid_argument(owner + ": no free variable");
  for (const Variable& v : variables)
    if (!std::isfinite(v.lower) || !std::isfinite(v.upper) || !(v.lower < v.upper))
      throw std::invalid_argument(owner + ": the range of " + v.name + " is empty");
  if (!domains.empty() && domains.size() != variables.size())
    throw std::invalid_argument(owner + ": a domain for each variable, or none");
  const Index d = dimensions();
  lower_.resize(d);
  range_.resize(d);
  for (Index i = 0; i < d; ++i) {
    Variable& v = variables_[static_cast<std::size_t>(i)];
    if (!real(i)) {
      all_real_ = false;
      v.lower = std::ceil(v.lower), v.upper = std::floor(v.upper);
      if (!(v.lower <= v.upper))
        throw std::invalid_argument(owner + ": the range of " + v.name + " holds no whole number");
    }
    lower_(i) = v.lower;
    range_(i) = v.upper - v.lower;
    if (domain(i) == Domain::category && range_(i) >= 30)
      throw std::invalid_argument(owner + ": " + v.name + " has more than 30 categories");
    embedded_ += width(i);
  }
}

VectorXd DesignSpace::unit(const VectorXd& x) const {
  return (x - lower_).cwiseQuotient(range_.cwiseMax(1e-300)).cwiseMax(0).cwiseMin(1);
}

VectorXd DesignSpace::design(const VectorXd& u) const {
  VectorXd x(u.size());
  for (Index i = 0; i < u.size(); ++i) {
    const Variable& v = variables_[static_cast<std::size_t>(i)];
    x(i) = u(i) >= 1 ? v.upper : std::clamp(lower_(i) + u(i) * range_(i), v.lower, v.upper);
    if (!real(i)) x(i) = std::round(x(i));
  }
  return x;
}

VectorXd DesignSpace::embed(const VectorXd& u) const {
  if (all_real_) return u;
  VectorXd z = VectorXd::Zero(embedded_);
  Index k = 0;
  for (Index i = 0; i < u.size(); ++i) {
    if (domain(i) == Domain::real)
      z(k) = u(i);
    else if (domain(i) == Domain::integer)
      z(k) = range_(i) > 0 ? std::round(u(i) * range_(i)) / range_(i) : 0;
    else
      z(k + static_cast<Index>(std::round(u(i) * range_(i)))) = 1;
    k += width(i);
  }
  return z;
}

VectorXd DesignSpace::pull_back(const VectorXd& gradient) const {
  VectorXd out = VectorXd::Zero(dimensions());
  Index k = 0;
  for (Index i = 0; i < dimensions(); ++i) {
    if (real(i)) out(i) = gradient(k);
    k += width(i);
  }
  return out;
}

std::string place_of(const std::vector<Variable>& variables, const VectorXd& design) {
  std::ostringstream out;
  out.precision(6);
  for (std::size_t k = 0; k < variables.size(); ++k) {
    const Variable& v = variables[k];
    const double x = design(static_cast<Index>(k));
    out << (k ? ", " : "") << v.name << " = " << x << unit_after(v);
    if (x == v.lower) out << " (its lower bound)";
    if (x == v.upper) out << " (its upper bound)";
  }
  return out.str();
}

}  // namespace dodyn::surrogate
