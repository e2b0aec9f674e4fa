#include "surrogate/design_space.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <stdexcept>

#include "record/text.hpp"
#include "surrogate/strategy.hpp"

namespace dodyn::surrogate {

using Eigen::Index;
using Eigen::VectorXd;

namespace {

// distance that rounding leaves between a search and its bound, relative to the range
constexpr double at_bound = 1e-12;

std::string prefix_of(const std::string& owner) { return owner.empty() ? "" : owner + ": "; }

}  // namespace

void check_ranges(const std::vector<Variable>& variables, const std::string& owner) {
  const std::string prefix = prefix_of(owner);
  if (variables.empty()) throw std::invalid_argument(prefix + "no free variable");
  for (const Variable& v : variables)
    if (!std::isfinite(v.lower) || !std::isfinite(v.upper) || !(v.lower < v.upper))
      throw std::invalid_argument(prefix + "the range of " + v.name + " is empty");
}

DesignSpace::DesignSpace(const std::vector<Variable>& variables, const std::vector<Domain>& domains,
                         const std::string& owner)
    : variables_(variables), domains_(domains.empty() ? std::vector<Domain>(variables.size()) : domains) {
  check_ranges(variables, owner);
  const std::string prefix = prefix_of(owner);
  if (domains_.size() != variables.size()) throw std::invalid_argument(prefix + "a domain for each variable, or none");
  const Index d = dimensions();
  lower_.resize(d);
  range_.resize(d);
  for (Index i = 0; i < d; ++i) {
    Variable& v = variables_[i];
    const Domain& own = domains_[i];
    all_real_ &= real(i);
    plain_ &= own.kind == Domain::real && !own.active;
    conditional_ |= static_cast<bool>(own.active);
    if (own.kind == Domain::integer || own.kind == Domain::category) {
      v.lower = std::ceil(v.lower), v.upper = std::floor(v.upper);
      if (!(v.lower <= v.upper))
        throw std::invalid_argument(prefix + "the range of " + v.name + " holds no whole number");
    }
    lower_(i) = v.lower;
    range_(i) = v.upper - v.lower;
    if (on_log_scale(i)) {
      if (!(v.lower > 0))
        throw std::invalid_argument(prefix + "a logarithmic scale needs a range above 0; that of " + v.name +
                                    " begins at " + to_text(v.lower));
      lower_(i) = std::log(v.lower);
      range_(i) = std::log(v.upper / v.lower);
    } else if (own.kind == Domain::list) {
      if (own.values.size() < 2)
        throw std::invalid_argument(prefix + "the list of " + v.name + " has one value or none");
      lower_(i) = 0;
      range_(i) = static_cast<double>(own.values.size()) - 1;
    }
    if (own.kind == Domain::category && range_(i) >= 30)
      throw std::invalid_argument(prefix + v.name + " has more than 30 categories");
    whole_moves_ |= moves(i) && !real(i);
    embedded_ += width(i);
  }
}

int DesignSpace::levels(Index i) const {
  const Variable& v = variables_[i];
  return static_cast<int>(domain(i) == Domain::list ? range_(i) : v.upper - v.lower) + 1;
}

double DesignSpace::unit_of_level(Index i, int level) const {
  if (!(range_(i) > 0)) return 0;
  if (!on_log_scale(i)) return level / range_(i);
  return (std::log(variables_[i].lower + level) - lower_(i)) / range_(i);
}

int DesignSpace::level(Index i, double u) const { return static_cast<int>(whole_number(i, u) - variables_[i].lower); }

double DesignSpace::whole_number(Index i, double u) const {
  const Variable& v = variables_[i];
  const double at = lower_(i) + u * range_(i);
  return std::round(u >= 1 ? v.upper : std::clamp(on_log_scale(i) ? std::exp(at) : at, v.lower, v.upper));
}

VectorXd DesignSpace::unit(const VectorXd& x) const {
  assert(x.size() == dimensions());
  VectorXd at = x;
  for (Index i = 0; i < x.size(); ++i) {
    const Domain& own = domains_[i];
    if (on_log_scale(i)) at(i) = std::log(std::max(x(i), 1e-300));
    if (own.kind == Domain::list) {  // rounds to the nearest value of the list
      const auto closer = [&](double a, double b) { return std::abs(a - x(i)) < std::abs(b - x(i)); };
      at(i) = static_cast<double>(std::min_element(own.values.begin(), own.values.end(), closer) - own.values.begin());
    }
  }
  return (at - lower_).cwiseQuotient(range_.cwiseMax(1e-300)).cwiseMax(0).cwiseMin(1);
}

VectorXd DesignSpace::design(const VectorXd& u) const {
  assert(u.size() == dimensions() && !u.hasNaN());
  VectorXd x(u.size());
  for (Index i = 0; i < u.size(); ++i) {
    const Variable& v = variables_[i];
    const Domain& own = domains_[i];
    if (own.kind == Domain::list) {
      x(i) = own.values[static_cast<std::size_t>(std::lround(std::clamp(u(i), 0.0, 1.0) * range_(i)))];
      continue;
    }
    if (!real(i)) {
      x(i) = whole_number(i, u(i));
      continue;
    }
    const double at = lower_(i) + u(i) * range_(i);
    x(i) = u(i) <= at_bound       ? v.lower
           : u(i) >= 1 - at_bound ? v.upper
                                  : std::clamp(on_log_scale(i) ? std::exp(at) : at, v.lower, v.upper);
  }
  if (!conditional_) return x;
  // A condition may be on a variable with a condition of its own: each pass decides one more level of conditions.
  const VectorXd all = x;
  for (Index pass = 0; pass < u.size(); ++pass) {
    const VectorXd before = x;
    for (Index i = 0; i < u.size(); ++i)
      if (const Domain& own = domains_[i]; own.active) x(i) = own.active(x) ? all(i) : variables_[i].lower;
    if (x == before) break;
  }
  return x;
}

VectorXd DesignSpace::relaxed(const VectorXd& u) const {
  VectorXd x = design(u);
  for (Index i = 0; whole_moves_ && i < u.size(); ++i) {
    if (real(i) || !moves(i) || !active(i, x)) continue;
    const double at = lower_(i) + u(i) * range_(i);
    x(i) = on_log_scale(i) ? std::exp(at) : at;
  }
  return x;
}

VectorXd DesignSpace::nearest_valid(const VectorXd& x) const {
  VectorXd valid = design(unit(x));
  for (Index i = 0; i < x.size(); ++i)
    if (real(i) && active(i, valid)) valid(i) = x(i);
  return valid;
}

VectorXd DesignSpace::embed(const VectorXd& at) const {
  assert(at.size() == dimensions());
  if (all_real_ && !conditional_) return at;
  const VectorXd u = conditional_ ? unit(design(at)) : at;
  VectorXd z = VectorXd::Zero(embedded_);
  Index k = 0;
  for (Index i = 0; i < u.size(); ++i) {
    const Domain& own = domains_[i];
    const double position = std::round(u(i) * range_(i));
    if (moves(i))
      z(k) = u(i);
    else if (own.kind == Domain::integer)
      z(k) = unit_of_level(i, level(i, u(i)));
    else if (own.kind == Domain::list)
      z(k) = (own.values[static_cast<int>(position)] - own.values.front()) / (own.values.back() - own.values.front());
    else
      z(k + static_cast<Index>(position)) = 1;
    k += width(i);
  }
  return z;
}

VectorXd DesignSpace::slope(const VectorXd& x) const {
  VectorXd out = range_;
  for (Index i = 0; i < x.size(); ++i)
    if (on_log_scale(i)) out(i) *= x(i);
  return out;
}

VectorXd DesignSpace::pull_back(const VectorXd& gradient) const {
  assert(gradient.size() == embedded_);
  VectorXd out = VectorXd::Zero(dimensions());
  Index k = 0;
  for (Index i = 0; i < dimensions(); ++i) {
    if (moves(i)) out(i) = gradient(k);
    k += width(i);
  }
  return out;
}

std::string not_a_value(double nearest) {
  return " is not one of the variable's values; the nearest is " + to_text(nearest);
}

std::string place_of(const std::vector<Variable>& variables, const VectorXd& design) {
  std::string text;
  for (std::size_t k = 0; k < variables.size(); ++k) {
    const Variable& v = variables[k];
    const double x = design(k);
    text += (k ? ", " : "") + v.name + " = ";
    if (const std::string* const name = v.choice(x)) {
      text += *name;
      continue;
    }
    // A value that reads as its bound lies on it.
    const auto read = [](double value) { return formatted("%.6g", value); };
    text += read(x) + unit_after(v);
    if (read(x) == read(v.lower)) text += " (its lower bound)";
    if (read(x) == read(v.upper)) text += " (its upper bound)";
  }
  return text;
}

}  // namespace dodyn::surrogate
